/* strait tied: run a command that ends when its parent does, whatever ends that. Not for people:
 * `strait run` starts its members by it. */

#include "cli/command/commands.h"
#include "cli/command/context.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static enum cli_exit tied_run(struct cli_context *ctx)
{
    const char *argv[CLI_ARGUMENTS_MAX + 1];
    size_t count = 0;

    for (; cli_argument(ctx, count + 1) != NULL; count++) {
        argv[count] = cli_argument(ctx, count + 1);
    }
    argv[count] = NULL;
    if (count == 0) {
        return cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, NULL, "tied: no command");
    }
    /* A session of its own: Ctrl-C at the terminal is for the parent, who knows the order. The
     * signal stays set across exec. */
    (void)setsid();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != (pid_t)cli_argument_number(ctx, 0)) {
        return cli_error(ctx, CLI_ERROR_RUN_FAILED, NULL, "tied: the parent is gone");
    }
    (void)execvp(argv[0], (char *const *)(uintptr_t)argv);
    return cli_error(ctx, CLI_ERROR_FILE, NULL, "%s: %s", argv[0], strerror(errno));
}

const struct cli_command cli_command_tied = {
    .path = "tied",
    .summary = "run a command that ends with its parent",
    .group = CLI_GROUP_RUN,
    .hidden = true,
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "PID", .help = "the process that started this one", .kind = CLI_NUMBER},
            {.placeholder = "COMMAND", .help = "what to run, behind --", .repeats = true},
            {0}},
    .run = tied_run,
};
