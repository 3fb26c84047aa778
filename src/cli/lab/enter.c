/* strait lab enter: become another program inside a namespace. Not for people, who have `strait lab
 * exec`: a run starts its members by it, behind `strait tied`. */

#include "cli/command/commands.h"
#include "cli/command/context.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static enum cli_exit enter_run(struct cli_context *ctx)
{
    const char *argv[CLI_ARGUMENTS_MAX + 1];
    const char *path = cli_argument(ctx, 0);
    int ns = open(path, O_RDONLY | O_CLOEXEC);
    size_t count = 0;

    for (; cli_argument(ctx, count + 1) != NULL; count++) {
        argv[count] = cli_argument(ctx, count + 1);
    }
    argv[count] = NULL;
    if (count == 0) {
        return cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, NULL, "lab enter: no command");
    }
    if (ns < 0 || setns(ns, CLONE_NEWNET) != 0) {
        return cli_error(ctx, CLI_ERROR_LAB, NULL, "%s: %s", path, strerror(errno));
    }
    (void)execvp(argv[0], (char *const *)(uintptr_t)argv);
    return cli_error(ctx, CLI_ERROR_FILE, NULL, "%s: %s", argv[0], strerror(errno));
}

const struct cli_command cli_command_lab_enter = {
    .path = "lab enter",
    .summary = "become another program inside a namespace",
    .hidden = true,
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "PATH", .help = "of the namespace", .kind = CLI_FILE},
            {.placeholder = "COMMAND", .help = "what to become, behind --", .repeats = true},
            {0}},
    .run = enter_run,
};
