/* strait completion: scripts for bash, zsh and fish, written from the table.
 *
 * Each script first finds the path of the command in the words before the cursor, then offers
 * subcommands, options or values of that path. Scripts are static: completing runs nothing. */

#include "cli/command/commands.h"
#include "cli/command/complete.h"
#include "cli/command/context.h"

#include <string.h>

static enum cli_exit completion_run(struct cli_context *ctx)
{
    const char *shell = cli_argument(ctx, 0);

    if (strcmp(shell, "bash") == 0) {
        complete_bash(ctx->out);
    } else if (strcmp(shell, "zsh") == 0) {
        complete_zsh(ctx->out);
    } else {
        complete_fish(ctx->out);
    }
    return CLI_DONE;
}

const struct cli_command cli_command_completion = {
    .path = "completion",
    .summary = "write a completion script for a shell",
    .group = CLI_GROUP_HELP,
    .paragraphs = (const char *const[]){"The script goes to standard output. \"make install\" puts "
                                        "it where shells look for it; "
                                        "the commands below load it by hand.",
                                        NULL},
    .arguments = (const struct cli_argument[]){{.placeholder = "SHELL",
                                                .help = "bash, zsh or fish",
                                                .kind = CLI_WORDS,
                                                .words = "bash zsh fish"},
                                               {0}},
    .examples =
        (const struct cli_example[]){
            {"source <(strait completion bash)", "for this bash session"},
            {"strait completion zsh > \"${fpath[1]}/_strait\"",
             "for zsh, from the next session on"},
            {"strait completion fish > ~/.config/fish/completions/strait.fish", "for fish"},
            {0}},
    .run = completion_run,
};
