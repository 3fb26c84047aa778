/* Completion for fish: one `complete` line per command, option and value. */

#include "cli/command/complete.h"
#include "cli/command/table.h"

#include <string.h>

/* Text inside single quotes. */
static void fish_text(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\') {
            (void)fputc('\\', to);
        }
        (void)fputc(*text, to);
    }
}

/* What may follow an option or stand as an argument. */
static void fish_value(FILE *to, enum cli_kind kind, const char *words)
{
    if (kind == CLI_FILE) {
        fprintf(to, " -F");
    } else if (kind == CLI_DIR) {
        fprintf(to, " -a '(__fish_complete_directories)'");
    } else if (kind == CLI_WORDS) {
        fprintf(to, " -a '%s'", words);
    }
}

/* @condition: the -n part, or "". */
static void fish_options(FILE *to, const char *condition, const struct cli_option *options)
{
    for (; options != NULL && options->name != NULL; options++) {
        fprintf(to, "complete -c strait%s", condition);
        if (options->letter != '\0') {
            fprintf(to, " -s %c", options->letter);
        }
        fprintf(to, " -l %s", options->name);
        if (options->placeholder != NULL) {
            fprintf(to, options->kind == CLI_FILE ? " -r" : " -x");
            fish_value(to, options->kind, options->words);
        }
        fprintf(to, " -d '");
        fish_text(to, options->help);
        fprintf(to, "'\n");
    }
}

/* The commands below @parent. */
static void fish_commands(FILE *to, const struct cli_command *parent)
{
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        const struct cli_command *c = cli_commands[i];

        if (cli_command_below(c, parent) && !c->hidden) {
            fprintf(to, "complete -c strait -n '__strait_at \"%s\"' -a %s -d '",
                    parent == NULL ? "" : parent->path, cli_command_word(c));
            fish_text(to, c->summary);
            fprintf(to, "'\n");
        }
    }
}

void complete_fish(FILE *to)
{
    fprintf(to, "# fish completion for strait, written by: strait completion fish\n\n"
                "function __strait_at -d 'is the command so far exactly this?'\n"
                "    set -l where\n"
                "    for word in (commandline -opc)[2..-1]\n"
                "        switch (string join ' ' -- $where $word)\n"
                "            case");
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (!cli_commands[i]->hidden) {
            fprintf(to, " '%s'", cli_commands[i]->path);
        }
    }
    fprintf(to, "\n                set -a where $word\n"
                "        end\n"
                "    end\n"
                "    test \"$where\" = \"$argv[1]\"\n"
                "end\n\n"
                "complete -c strait -f\n");
    fish_options(to, "", cli_globals);
    fish_commands(to, NULL);
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        const struct cli_command *c = cli_commands[i];
        char condition[CLI_PATH_BYTES + 32];

        if (c->hidden) {
            continue;
        }
        (void)snprintf(condition, sizeof(condition), " -n '__strait_at \"%s\"'", c->path);
        fish_commands(to, c);
        fish_options(to, condition, c->options);
        for (const struct cli_argument *a = c->arguments; a != NULL && a->placeholder != NULL;
             a++) {
            if (a->kind == CLI_FILE || a->kind == CLI_DIR || a->kind == CLI_WORDS) {
                fprintf(to, "complete -c strait%s", condition);
                fish_value(to, a->kind, a->words);
                fprintf(to, "\n");
            }
        }
    }
}
