/* Completion for bash 4 and newer. The "help" command is transparent: the words after it complete
 * as commands do. */

#include "cli/command/complete.h"
#include "cli/command/table.h"

#include <string.h>

/* Case patterns for all paths but "help": 'cert'|'cert init'. */
static void bash_paths(FILE *to)
{
    bool first = true;

    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (!cli_commands[i]->hidden && strcmp(cli_commands[i]->path, "help") != 0) {
            fprintf(to, "%s'%s'", first ? "" : " | ", cli_commands[i]->path);
            first = false;
        }
    }
}

/* The command that offers @kind at the cursor. */
static void bash_offer(FILE *to, enum cli_kind kind, const char *words)
{
    switch (kind) {
    case CLI_FILE:
        fprintf(to, "_strait_files -f");
        break;
    case CLI_DIR:
        fprintf(to, "_strait_files -d");
        break;
    case CLI_WORDS:
        fprintf(to, "_strait_words '%s'", words);
        break;
    case CLI_TEXT:
    case CLI_COMMAND:
    case CLI_NUMBER:
    case CLI_DECIMAL:
    case CLI_SIZE:
    case CLI_RATE:
    case CLI_DURATION:
        fprintf(to, ":");
        break;
    }
}

/* Values of options: one case per option, matched on "path option". */
static void bash_option_values(FILE *to, const char *path, const struct cli_option *options)
{
    for (; options != NULL && options->name != NULL; options++) {
        if (options->placeholder == NULL) {
            continue;
        }
        fprintf(to, "        %s' --%s'", path, options->name);
        if (options->letter != '\0') {
            fprintf(to, " | %s' -%c'", path, options->letter);
        }
        fprintf(to, ") ");
        bash_offer(to, options->kind, options->words);
        fprintf(to, "; return ;;\n");
    }
}

static void bash_option_names(FILE *to, const struct cli_option *options)
{
    for (; options != NULL && options->name != NULL; options++) {
        fprintf(to, " --%s", options->name);
    }
}

static void bash_command(FILE *to, const struct cli_command *command)
{
    const struct cli_argument *a = command->arguments;

    fprintf(to, "        '%s')\n            options='", command->path);
    bash_option_names(to, command->options);
    fprintf(to, "'\n            offer=(");
    if (command->run == NULL) {
        fprintf(to, "_strait_words '");
        for (size_t i = 0; cli_commands[i] != NULL; i++) {
            if (cli_command_below(cli_commands[i], command) && !cli_commands[i]->hidden) {
                fprintf(to, "%s ", cli_command_word(cli_commands[i]));
            }
        }
        fprintf(to, "'");
    } else {
        /* The first argument that can be completed stands for all. */
        while (a != NULL && a->placeholder != NULL && a->kind != CLI_FILE && a->kind != CLI_DIR &&
               a->kind != CLI_WORDS) {
            a++;
        }
        bash_offer(to, a == NULL || a->placeholder == NULL ? CLI_TEXT : a->kind,
                   a == NULL ? NULL : a->words);
    }
    fprintf(to, ") ;;\n");
}

static void bash_helpers(FILE *to)
{
    fprintf(to, "# bash completion for strait, written by: strait completion bash\n"
                "# shellcheck shell=bash\n\n"
                "_strait_words() {\n"
                "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
                "}\n\n"
                "_strait_files() {\n"
                "    compopt -o filenames 2> /dev/null\n"
                "    mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n"
                "}\n\n");
}

void complete_bash(FILE *to)
{
    bash_helpers(to);
    fprintf(to, "_strait() {\n"
                "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
                "    local path='' helping='' options='' offer=() i\n"
                "    COMPREPLY=()\n"
                "    if [[ $cur == '=' ]]; then\n"
                "        cur=''\n"
                "    elif [[ $prev == '=' ]]; then\n"
                "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
                "    fi\n"
                "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                "        case \"${path:+$path }${COMP_WORDS[i]}\" in\n"
                "        'help') helping=1 ;;\n        ");
    bash_paths(to);
    fprintf(to, ") path=\"${path:+$path }${COMP_WORDS[i]}\" ;;\n"
                "        esac\n"
                "    done\n"
                "    case \"$path $prev\" in\n");
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        char quoted[CLI_PATH_BYTES + 2];

        (void)snprintf(quoted, sizeof(quoted), "'%s'", cli_commands[i]->path);
        bash_option_values(to, quoted, cli_commands[i]->options);
    }
    bash_option_values(to, "*", cli_globals);
    fprintf(to, "    esac\n    case \"$path\" in\n        '') offer=(_strait_words '");
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (cli_command_below(cli_commands[i], NULL) && !cli_commands[i]->hidden) {
            fprintf(to, "%s ", cli_command_word(cli_commands[i]));
        }
    }
    fprintf(to, "') ;;\n");
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (!cli_commands[i]->hidden && strcmp(cli_commands[i]->path, "help") != 0) {
            bash_command(to, cli_commands[i]);
        }
    }
    fprintf(to, "    esac\n"
                "    if [[ $cur == -* ]]; then\n"
                "        _strait_words \"$options");
    bash_option_names(to, cli_globals);
    fprintf(to, "\"\n"
                "    elif [[ -z $helping || ${offer[0]} == _strait_words ]]; then\n"
                "        \"${offer[@]}\"\n"
                "    fi\n"
                "}\n\n"
                "complete -F _strait strait\n");
}
