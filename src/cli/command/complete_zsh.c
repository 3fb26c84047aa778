/* Completion for zsh: the path is found first, then _arguments does the rest. */

#include "cli/command/complete.h"
#include "cli/command/table.h"

#include <string.h>

/* Text inside single quotes and inside [..] of a specification. */
static void zsh_text(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fprintf(to, "'\\''");
        } else if (strchr("[]:\\", *text) != NULL) {
            fprintf(to, "\\%c", *text);
        } else {
            (void)fputc(*text, to);
        }
    }
}

/* ":PLACEHOLDER:action" */
static void zsh_value(FILE *to, const char *placeholder, enum cli_kind kind, const char *words)
{
    fprintf(to, ":");
    zsh_text(to, placeholder);
    fprintf(to, ":");
    if (kind == CLI_FILE) {
        fprintf(to, "_files");
    } else if (kind == CLI_DIR) {
        fprintf(to, "_files -/");
    } else if (kind == CLI_WORDS) {
        fprintf(to, "(%s)", words);
    } else {
        fprintf(to, " ");
    }
}

static void zsh_options(FILE *to, const struct cli_option *options)
{
    for (; options != NULL && options->name != NULL; options++) {
        if (options->letter != '\0') {
            fprintf(to, "            '%s'{-%c,--%s}'[", options->repeats ? "*" : "",
                    options->letter, options->name);
        } else {
            fprintf(to, "            '%s--%s[", options->repeats ? "*" : "", options->name);
        }
        zsh_text(to, options->help);
        fprintf(to, "]");
        if (options->placeholder != NULL) {
            zsh_value(to, options->placeholder, options->kind, options->words);
        }
        fprintf(to, "' \\\n");
    }
}

/* The commands below @parent as an array for _describe. */
static void zsh_commands(FILE *to, const struct cli_command *parent)
{
    fprintf(to, "            commands=(\n");
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (cli_command_below(cli_commands[i], parent) && !cli_commands[i]->hidden) {
            fprintf(to, "                '%s:", cli_command_word(cli_commands[i]));
            zsh_text(to, cli_commands[i]->summary);
            fprintf(to, "'\n");
        }
    }
    fprintf(to,
            "            )\n"
            "            _arguments -s \"${globals[@]}\" '1: : _describe command commands' ;;\n");
}

static void zsh_command(FILE *to, const struct cli_command *command)
{
    fprintf(to, "        ('%s')\n", command->path);
    if (command->run == NULL) {
        zsh_commands(to, command);
        return;
    }
    fprintf(to, "            _arguments -s \"${globals[@]}\" \\\n");
    zsh_options(to, command->options);
    for (const struct cli_argument *a = command->arguments; a != NULL && a->placeholder != NULL;
         a++) {
        fprintf(to, "            '%s", a->repeats ? "*" : a->optional ? ":" : "");
        zsh_value(to, a->placeholder, a->kind, a->words);
        fprintf(to, "' \\\n");
    }
    fprintf(to, "            && return ;;\n");
}

void complete_zsh(FILE *to)
{
    bool first = true;

    fprintf(to, "#compdef strait\n"
                "# zsh completion for strait, written by: strait completion zsh\n\n"
                "_strait() {\n"
                "    local where='' i depth=0\n"
                "    local -a commands globals\n"
                "    globals=(\n");
    for (const struct cli_option *o = cli_globals; o->name != NULL; o++) {
        fprintf(to, "        '%s--%s[", o->repeats ? "*" : "", o->name);
        zsh_text(to, o->help);
        fprintf(to, "]");
        if (o->placeholder != NULL) {
            zsh_value(to, o->placeholder, o->kind, o->words);
        }
        fprintf(to, "'\n");
    }
    fprintf(to, "    )\n"
                "    for ((i = 2; i < CURRENT; i++)); do\n"
                "        case \"${where:+$where }${words[i]}\" in\n"
                "            (");
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (!cli_commands[i]->hidden) {
            fprintf(to, "%s'%s'", first ? "" : "|", cli_commands[i]->path);
            first = false;
        }
    }
    fprintf(to, ") where=\"${where:+$where }${words[i]}\"; depth=$((i - 1)) ;;\n"
                "        esac\n"
                "    done\n"
                "    shift $depth words\n"
                "    ((CURRENT -= depth))\n"
                "    case \"$where\" in\n"
                "        ('')\n");
    zsh_commands(to, NULL);
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (!cli_commands[i]->hidden) {
            zsh_command(to, cli_commands[i]);
        }
    }
    fprintf(to, "    esac\n"
                "}\n\n"
                "if [[ $funcstack[1] == _strait ]]; then\n"
                "    _strait \"$@\"\n"
                "else\n"
                "    compdef _strait strait\n"
                "fi\n");
}
