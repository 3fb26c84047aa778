/* strait codec: what is held back of updates, and how the rest is written. */

#include "cli/command/commands.h"

#include <stddef.h>

const struct cli_command cli_command_codec = {
    .path = "codec",
    .summary = "try ways to write updates, on updates that were recorded",
    .group = CLI_GROUP_MEASURE,
    .paragraphs =
        (const char *const[]){
            "A chain says what is cut out of an update and how it is written, as in "
            "\"dvf:delta=0.01 | sparse | snappy\": a run file has it in sync.push, sync.broadcast "
            "or sync.filter, a server in --push and --broadcast. These commands show what there "
            "is, and what it would do to updates of your own (docs/CODEC.md).",
            NULL},
};
