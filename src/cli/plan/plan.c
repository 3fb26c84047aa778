/* strait plan: what should be where, and who talks to whom. */

#include "cli/command/commands.h"

#include <stddef.h>

const struct cli_command cli_command_plan = {
    .path = "plan",
    .summary = "find the best way to connect what there is",
    .group = CLI_GROUP_RUN,
    .paragraphs =
        (const char *const[]){
            "A planner gets a description of what there is and of what everything costs, and "
            "answers with the best arrangement, how good it is, and whether that is proven.",
            NULL},
};
