#include "cli/command/table.h"

#include "cli/command/commands.h"

#include <string.h>

/* clang-format off */
const struct cli_command *const cli_commands[] = {
    &cli_command_server,
    &cli_command_why,
    &cli_command_top,
    &cli_command_table,
    &cli_command_table_drop,
    &cli_command_store,
    &cli_command_store_ls,
    &cli_command_store_cat,
    &cli_command_store_export,
    &cli_command_run,
    &cli_command_compare,
    &cli_command_report,
    &cli_command_worker,
    &cli_command_plan,
    &cli_command_plan_place,
    &cli_command_plan_diff,
    &cli_command_plan_links,
    &cli_command_plan_paper,
    &cli_command_plan_tree,
    &cli_command_sim,
    &cli_command_proxy,
    &cli_command_lab,
    &cli_command_lab_up,
    &cli_command_lab_show,
    &cli_command_lab_set,
    &cli_command_lab_exec,
    &cli_command_lab_down,
    &cli_command_lab_keep,
    &cli_command_lab_enter,
    &cli_command_lab_fill,
    &cli_command_bench,
    &cli_command_bench_codec,
    &cli_command_bench_net,
    &cli_command_bench_plan,
    &cli_command_bench_push,
    &cli_command_bench_rows,
    &cli_command_bench_sim,
    &cli_command_bench_tree,
    &cli_command_codec,
    &cli_command_codec_try,
    &cli_command_codec_ls,
    &cli_command_cert,
    &cli_command_cert_init,
    &cli_command_cert_issue,
    &cli_command_cert_token,
    &cli_command_cert_serve,
    &cli_command_cert_join,
    &cli_command_cert_list,
    &cli_command_cert_show,
    &cli_command_cert_revoke,
    &cli_command_doctor,
    &cli_command_version,
    &cli_command_completion,
    &cli_command_help,
    &cli_command_man,
    &cli_command_tied,
    &cli_command_hold,
    NULL,
};
/* clang-format on */

const struct cli_option cli_globals[] = {
    {.name = "help", .letter = 'h', .help = "say how the command is used, and stop"},
    {.name = "version", .letter = 'V', .help = "print the version, and stop"},
    {.name = "quiet", .letter = 'q', .help = "print results and errors only"},
    {.name = "verbose",
     .letter = 'v',
     .help = "log more; -vv for debugging, -vvv for everything",
     .repeats = true},
    {.name = "json", .help = "print results (and errors, on stderr) as JSON"},
    {.name = "no-color", .help = "no colour, even on a terminal"},
    {.name = "log",
     .placeholder = "FILTER",
     .help = "what to log: off, error, warn, info, debug or trace, also for one subsystem, as in "
             "info,net=debug"},
    {.name = "log-format",
     .placeholder = "FORMAT",
     .fallback = "text",
     .kind = CLI_WORDS,
     .words = "text json",
     .help = "how log lines are written"},
    {0},
};

const struct cli_command *cli_command_find(const char *path)
{
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (strcmp(cli_commands[i]->path, path) == 0) {
            return cli_commands[i];
        }
    }
    return NULL;
}

bool cli_command_below(const struct cli_command *command, const struct cli_command *parent)
{
    const char *rest = command->path;

    if (parent != NULL) {
        size_t size = strlen(parent->path);

        if (strncmp(rest, parent->path, size) != 0 || rest[size] != ' ') {
            return false;
        }
        rest += size + 1;
    }
    return strchr(rest, ' ') == NULL;
}

const char *cli_command_word(const struct cli_command *command)
{
    const char *space = strrchr(command->path, ' ');

    return space == NULL ? command->path : space + 1;
}

static const struct cli_option *table_option(const struct cli_option *options, const char *name,
                                             size_t size)
{
    for (; options != NULL && options->name != NULL; options++) {
        if (strncmp(options->name, name, size) == 0 && options->name[size] == '\0') {
            return options;
        }
    }
    return NULL;
}

const struct cli_option *cli_option_find(const struct cli_command *command, const char *name,
                                         size_t size)
{
    const struct cli_option *found = NULL;

    if (command != NULL) {
        found = table_option(command->options, name, size);
    }
    return found != NULL ? found : table_option(cli_globals, name, size);
}

static const struct cli_option *table_letter(const struct cli_option *options, char letter)
{
    for (; options != NULL && options->name != NULL; options++) {
        if (options->letter == letter) {
            return options;
        }
    }
    return NULL;
}

const struct cli_option *cli_option_find_letter(const struct cli_command *command, char letter)
{
    const struct cli_option *found = NULL;

    if (command != NULL) {
        found = table_letter(command->options, letter);
    }
    return found != NULL ? found : table_letter(cli_globals, letter);
}

const char *cli_group_title(enum cli_group group)
{
    switch (group) {
    case CLI_GROUP_RUN:
        return "Run";
    case CLI_GROUP_MEASURE:
        return "Measure";
    case CLI_GROUP_TRUST:
        return "Trust";
    case CLI_GROUP_HELP:
        return "This machine, this program";
    }
    return "";
}
