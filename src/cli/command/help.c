#include "cli/command/help.h"

#include "cli/command/commands.h"
#include "cli/command/help_json.h"
#include "cli/command/table.h"

#include <string.h>

enum { HELP_COLUMN_MAX = 28 }; /* Where descriptions start at the latest. */

void help_option_usage(const struct cli_option *option, char *out, size_t size)
{
    char letter[] = {'-', option->letter, ',', ' ', '\0'};

    (void)snprintf(out, size, "%s--%s%s%s", option->letter != '\0' ? letter : "    ", option->name,
                   option->placeholder != NULL ? " " : "",
                   option->placeholder != NULL ? option->placeholder : "");
}

void help_usage(const struct cli_command *command, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (const struct cli_option *o = command->options; o != NULL && o->name != NULL; o++) {
        if (o->required) {
            used += (size_t)snprintf(out + used, size - used, " --%s %s", o->name, o->placeholder);
            CHECK(used < size);
        }
    }
    if (command->run == NULL) {
        used += (size_t)snprintf(out + used, size - used, " COMMAND");
    } else if (command->options != NULL) {
        used += (size_t)snprintf(out + used, size - used, " [OPTIONS]");
    }
    CHECK(used < size);
    for (const struct cli_argument *a = command->arguments; a != NULL && a->placeholder != NULL;
         a++) {
        used += (size_t)snprintf(out + used, size - used, a->optional ? " [%s%s]" : " %s%s",
                                 a->placeholder, a->repeats ? "..." : "");
        CHECK(used < size);
    }
}

static void help_heading(struct cli_context *ctx, const char *title)
{
    cli_out(ctx, "\n%s%s%s\n", cli_style(ctx->color_out, CLI_HEADING), title,
            cli_style(ctx->color_out, CLI_PLAIN));
}

/* Two columns: a name, and what it is. */
static void help_row(struct cli_context *ctx, const char *name, int column, const char *text)
{
    int at = 2 + (int)strlen(name);

    cli_out(ctx, "  %s%s%s", cli_style(ctx->color_out, CLI_NAME), name,
            cli_style(ctx->color_out, CLI_PLAIN));
    if (at + 2 > column) {
        cli_out(ctx, "\n");
        at = 0;
    }
    cli_wrap(ctx->out, text, column, at, ctx->width);
}

/* Where the second column starts if the longest name has @size characters. */
static int help_column(int size)
{
    return 4 + size < HELP_COLUMN_MAX ? 4 + size : HELP_COLUMN_MAX;
}

/* ": a, b, c" */
static void help_words(const char *words, char *out, size_t size)
{
    const char *comma = ": ";
    size_t used = 0;

    for (size_t word; (word = value_next_word(&words)) > 0; words += word) {
        used += (size_t)snprintf(out + used, size - used, "%s%.*s", comma, (int)word, words);
        CHECK(used < size);
        comma = ", ";
    }
}

static void help_options(struct cli_context *ctx, const char *title,
                         const struct cli_option *options)
{
    char name[64];
    int size = 0;

    for (const struct cli_option *o = options; o->name != NULL; o++) {
        help_option_usage(o, name, sizeof(name));
        size = (int)strlen(name) > size ? (int)strlen(name) : size;
    }
    help_heading(ctx, title);
    for (const struct cli_option *o = options; o->name != NULL; o++) {
        char text[512];
        char words[128] = "";
        char fallback[64] = "";

        if (o->kind == CLI_WORDS) {
            help_words(o->words, words, sizeof(words));
        }
        if (o->fallback != NULL) {
            (void)snprintf(fallback, sizeof(fallback), " (default %s)", o->fallback);
        }
        help_option_usage(o, name, sizeof(name));
        (void)snprintf(text, sizeof(text), "%s%s%s%s", o->help, words, fallback,
                       o->repeats && o->placeholder != NULL ? "; may be repeated" : "");
        help_row(ctx, name, help_column(size), text);
    }
}

static void help_arguments(struct cli_context *ctx, const struct cli_argument *arguments)
{
    int size = 0;

    for (const struct cli_argument *a = arguments; a->placeholder != NULL; a++) {
        size = (int)strlen(a->placeholder) > size ? (int)strlen(a->placeholder) : size;
    }
    help_heading(ctx, "Arguments");
    for (const struct cli_argument *a = arguments; a->placeholder != NULL; a++) {
        help_row(ctx, a->placeholder, help_column(size), a->help);
    }
}

static void help_examples(struct cli_context *ctx, const struct cli_example *examples)
{
    help_heading(ctx, "Examples");
    for (; examples->line != NULL; examples++) {
        cli_out(ctx, "  %s# %s%s\n  %s\n", cli_style(ctx->color_out, CLI_FAINT), examples->what,
                cli_style(ctx->color_out, CLI_PLAIN), examples->line);
    }
}

/* The commands below @parent, in the order of the table; of one group if @parent is NULL. */
static void help_commands(struct cli_context *ctx, const struct cli_command *parent,
                          enum cli_group group)
{
    int size = 0;

    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (cli_command_below(cli_commands[i], parent) && !cli_commands[i]->hidden) {
            int length = (int)strlen(cli_command_word(cli_commands[i]));

            size = length > size ? length : size;
        }
    }
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        const struct cli_command *c = cli_commands[i];

        if (cli_command_below(c, parent) && !c->hidden && (parent != NULL || c->group == group)) {
            help_row(ctx, cli_command_word(c), help_column(size), c->summary);
        }
    }
}

static bool help_group_has(enum cli_group group)
{
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        const struct cli_command *c = cli_commands[i];

        if (cli_command_below(c, NULL) && !c->hidden && c->group == group) {
            return true;
        }
    }
    return false;
}

void help_overview(struct cli_context *ctx)
{
    cli_out(ctx,
            "%sStrait " STRAIT_VERSION "%s: train one model on data that cannot leave its data "
            "centres\n\nUsage: strait COMMAND [OPTIONS]\n",
            cli_style(ctx->color_out, CLI_HEADING), cli_style(ctx->color_out, CLI_PLAIN));
    for (int group = CLI_GROUP_RUN; group <= CLI_GROUP_HELP; group++) {
        if (help_group_has((enum cli_group)group)) {
            help_heading(ctx, cli_group_title((enum cli_group)group));
            help_commands(ctx, NULL, (enum cli_group)group);
        }
    }
    help_heading(ctx, "Examples");
    help_row(ctx, "strait sim", 26, "three regions, all kinds of faults, a moment of time");
    help_row(ctx, "strait doctor", 26, "is this machine ready to train?");
    help_row(ctx, "strait cert init ca", 26, "start a private certificate authority");
    cli_out(ctx, "\nMore: strait COMMAND --help for a command, strait help for common options.\n");
}

void help_command(struct cli_context *ctx, const struct cli_command *command)
{
    char usage[256];

    help_usage(command, usage, sizeof(usage));
    cli_out(ctx, "%sstrait %s%s: ", cli_style(ctx->color_out, CLI_HEADING), command->path,
            cli_style(ctx->color_out, CLI_PLAIN));
    cli_wrap(ctx->out, command->summary, 2, (int)strlen(command->path) + 9, ctx->width);
    cli_out(ctx, "\nUsage: strait %s%s\n", command->path, usage);
    for (size_t i = 0; command->paragraphs != NULL && command->paragraphs[i] != NULL; i++) {
        cli_out(ctx, "\n");
        cli_wrap(ctx->out, command->paragraphs[i], 0, 0, ctx->width);
    }
    if (command->run == NULL) {
        help_heading(ctx, "Commands");
        help_commands(ctx, command, CLI_GROUP_RUN);
    }
    if (command->arguments != NULL) {
        help_arguments(ctx, command->arguments);
    }
    if (command->options != NULL) {
        help_options(ctx, "Options", command->options);
    }
    if (command->examples != NULL) {
        help_examples(ctx, command->examples);
    }
    cli_out(ctx, "\n");
    cli_wrap(ctx->out,
             "Options of every command: -h, -q, -v, --json, --no-color, --log, --log-format; see "
             "\"strait help\".",
             0, 0, ctx->width);
}

void help_error(struct cli_context *ctx, const struct cli_error *error)
{
    char name[CLI_ERROR_NAME_BYTES];

    cli_out(ctx, "%s%s%s: %s\n\n", cli_style(ctx->color_out, CLI_HEADING),
            cli_error_name(error->id, name), cli_style(ctx->color_out, CLI_PLAIN), error->title);
    cli_wrap(ctx->out, error->meaning, 0, 0, ctx->width);
    cli_out(ctx, "\n");
    cli_wrap(ctx->out, error->remedy, 0, 0, ctx->width);
    cli_out(ctx, "\nExit status: %d\n", (int)error->exit);
}

/* The command whose path is spelled by the arguments; NULL and the path as typed if none. */
static const struct cli_command *help_topic(const struct cli_context *ctx,
                                            char path[CLI_PATH_BYTES])
{
    size_t used = 0;

    for (size_t i = 0; cli_argument(ctx, i) != NULL && used < CLI_PATH_BYTES; i++) {
        used += (size_t)snprintf(path + used, CLI_PATH_BYTES - used, "%s%s", i > 0 ? " " : "",
                                 cli_argument(ctx, i));
    }
    return used < CLI_PATH_BYTES ? cli_command_find(path) : NULL;
}

static enum cli_exit help_run(struct cli_context *ctx)
{
    const char *topic = cli_argument(ctx, 0);
    const struct cli_error *error = topic == NULL ? NULL : cli_error_parse(topic);
    const struct cli_command *command = NULL;
    char path[CLI_PATH_BYTES] = "";

    if (topic != NULL && error == NULL) {
        command = help_topic(ctx, path);
        if (command == NULL) {
            return cli_error(ctx, CLI_ERROR_UNKNOWN_TOPIC, "strait help",
                             "help: \"%s\" is neither a command nor an error id", path);
        }
    }
    if (ctx->json) {
        return cli_json(ctx, error != NULL     ? help_json_error(error)
                             : command != NULL ? help_json_command(command)
                                               : help_json_overview());
    }
    if (error != NULL) {
        help_error(ctx, error);
    } else if (command != NULL) {
        help_command(ctx, command);
    } else {
        help_overview(ctx);
        help_options(ctx, "Options of every command", cli_globals);
    }
    return CLI_DONE;
}

const struct cli_command cli_command_help = {
    .path = "help",
    .summary = "explain a command, or an error by its id",
    .group = CLI_GROUP_HELP,
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "TOPIC",
             .help = "the words of a command, or an error id such as STRAIT-0001",
             .kind = CLI_COMMAND,
             .optional = true,
             .repeats = true},
            {0}},
    .examples = (const struct cli_example[]){{"strait help version", "what a command does"},
                                             {"strait help STRAIT-0003", "what an error means"},
                                             {0}},
    .run = help_run,
};
