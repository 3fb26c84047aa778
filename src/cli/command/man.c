/* strait man: the manual page strait(1) in roff, written from the table. The build runs it. */

#include "cli/command/commands.h"
#include "cli/command/context.h"
#include "cli/command/env.h"
#include "cli/command/help.h"
#include "cli/command/table.h"

#include <ctype.h>
#include <string.h>

/* Text with what roff would interpret escaped; long enough texts go on one line. */
static void man_text(FILE *to, const char *text)
{
    if (*text == '.' || *text == '\'') {
        fprintf(to, "\\&");
    }
    for (; *text != '\0'; text++) {
        if (*text == '\\') {
            fprintf(to, "\\e");
        } else if (*text == '-') {
            fprintf(to, "\\-");
        } else {
            (void)fputc(*text, to);
        }
    }
}

static void man_line(FILE *to, const char *before, const char *text, const char *after)
{
    fprintf(to, "%s", before);
    man_text(to, text);
    fprintf(to, "%s\n", after);
}

/* "a, b, c" */
static void man_words(FILE *to, const char *words)
{
    const char *comma = "";

    for (size_t size; (size = value_next_word(&words)) > 0; words += size) {
        fprintf(to, "%s%.*s", comma, (int)size, words);
        comma = ", ";
    }
}

static void man_options(FILE *to, const struct cli_option *options)
{
    char usage[64];

    for (; options != NULL && options->name != NULL; options++) {
        help_option_usage(options, usage, sizeof(usage));
        fprintf(to, ".TP\n");
        man_line(to, "\\fB", usage + strspn(usage, " "), "\\fR");
        man_text(to, options->help);
        if (options->kind == CLI_WORDS) {
            fprintf(to, ": ");
            man_words(to, options->words);
        }
        if (options->fallback != NULL) {
            fprintf(to, " (default ");
            man_text(to, options->fallback);
            fprintf(to, ")");
        }
        fprintf(to, "\n");
    }
}

static void man_examples(FILE *to, const struct cli_example *examples)
{
    for (; examples != NULL && examples->line != NULL; examples++) {
        man_line(to, ".PP\n", examples->what, ":");
        man_line(to, ".RS 4\n.nf\n", examples->line, "\n.fi\n.RE");
    }
}

static void man_command(FILE *to, const struct cli_command *command)
{
    char usage[256];

    help_usage(command, usage, sizeof(usage));
    fprintf(to, ".SS \"strait %s\"\n", command->path);
    fprintf(to, "\\fBstrait %s\\fR", command->path);
    man_line(to, "", usage, "");
    fprintf(to, ".PP\n%c", toupper((unsigned char)command->summary[0]));
    man_line(to, "", command->summary + 1, ".");
    for (size_t i = 0; command->paragraphs != NULL && command->paragraphs[i] != NULL; i++) {
        man_line(to, ".PP\n", command->paragraphs[i], "");
    }
    for (const struct cli_argument *a = command->arguments; a != NULL && a->placeholder != NULL;
         a++) {
        man_line(to, ".TP\n\\fI", a->placeholder, "\\fR");
        man_line(to, "", a->help, "");
    }
    man_options(to, command->options);
    man_examples(to, command->examples);
}

static void man_exit_status(FILE *to)
{
    static const struct {
        enum cli_exit status;
        const char *meaning;
    } statuses[] = {
        {CLI_DONE, "Done."},
        {CLI_FAILED, "Failed."},
        {CLI_USAGE, "The command line was wrong."},
        {CLI_UNREACHABLE, "Nobody answered at that address."},
        {CLI_TRY_AGAIN, "Not now: try again later."},
        {CLI_REFUSED, "Refused: not allowed."},
        {CLI_BAD_CONFIGURATION, "A file of configuration or certificates is wrong."},
        {CLI_INTERRUPTED, "Interrupted (Ctrl\\-C)."},
        {CLI_TERMINATED, "Terminated."},
    };

    fprintf(to, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        fprintf(to, ".TP\n%d\n%s\n", (int)statuses[i].status, statuses[i].meaning);
    }
}

static void man_errors(FILE *to)
{
    char name[CLI_ERROR_NAME_BYTES];

    fprintf(to,
            ".SH ERRORS\nAn error carries an id. \\fBstrait help\\fR \\fIID\\fR explains it.\n");
    for (const struct cli_error *e = cli_errors; e->id != CLI_ERROR_NONE; e++) {
        man_line(to, ".TP\n", cli_error_name(e->id, name), "");
        man_line(to, "", e->title, "");
    }
}

static void man_environment(FILE *to)
{
    fprintf(to, ".SH ENVIRONMENT\nOptions beat the environment.\n");
    for (const struct env_variable *v = env_variables; v->name != NULL; v++) {
        fprintf(to, ".TP\n\\fB%s\\fR\n", v->name);
        man_line(to, "", v->help, "");
    }
}

static enum cli_exit man_run(struct cli_context *ctx)
{
    FILE *to = ctx->out;

    fprintf(to,
            ".\\\" Written by: strait man\n"
            ".TH STRAIT 1 \"\" \"Strait " STRAIT_VERSION "\" \"Strait\"\n"
            ".SH NAME\n"
            "strait \\- train one model on data that cannot leave its data centres\n"
            ".SH SYNOPSIS\n"
            "\\fBstrait\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n"
            ".SH DESCRIPTION\n"
            "Strait is a parameter server for regions that are far apart: data stays where it is, "
            "updates travel.\n"
            ".PP\n"
            "Results go to standard output, everything else to standard error.\n"
            "With \\fB\\-\\-json\\fR results and errors are JSON objects with a \"schema\" number, "
            "which changes when a field changes its meaning or goes away.\n"
            ".SH GLOBAL OPTIONS\n"
            "They may stand before or after the command.\n");
    man_options(to, cli_globals);
    fprintf(to, ".SH COMMANDS\n");
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (!cli_commands[i]->hidden) {
            man_command(to, cli_commands[i]);
        }
    }
    man_exit_status(to);
    man_environment(to);
    man_errors(to);
    return CLI_DONE;
}

const struct cli_command cli_command_man = {
    .path = "man",
    .summary = "write the manual page strait(1) in roff",
    .group = CLI_GROUP_HELP,
    .hidden = true,
    .examples = (const struct cli_example[]){{"strait man | man -l -", "read it"}, {0}},
    .run = man_run,
};
