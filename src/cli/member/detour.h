/* The option --detours: addresses that are dialled instead of others (net/detour.h). */

#ifndef CLI_MEMBER_DETOUR_H
#define CLI_MEMBER_DETOUR_H

#include "cli/command/context.h"

#define DETOUR_OPTION                                                                              \
    {                                                                                              \
        .name = "detours", .placeholder = "FILE", .kind = CLI_FILE,                                \
        .help = "dial other addresses than those that members announce, as where ports are "       \
                "forwarded: a line FROM TO for each, as tcp://10.0.0.7:7400 tcp://127.0.0.1:9001"  \
    }

/* Read what the option names into ctx->detours, where it stays until the process ends. The error is
 * printed. */
enum cli_exit cli_detours_read(struct cli_context *ctx);

#endif
