/* What `strait proxy` says; for cli/proxy*.c only. */

#ifndef CLI_PROXY_H
#define CLI_PROXY_H

#include "cli/context.h"
#include "emu/proxy.h"

void proxy_say_ready(struct cli_context *ctx, const struct emu_proxy *proxy,
                     const struct emu_routes *routes);

/* How it stands, as the event @event; rates and utilisation are those since @before. */
void proxy_say_status(struct cli_context *ctx, const char *event,
                      const struct emu_proxy_stats *before, const struct emu_proxy_stats *now);

/* The same at length, for people who ask. */
void proxy_say_show(struct cli_context *ctx, const struct emu_proxy_stats *before,
                    const struct emu_proxy_stats *now);

/* An order was carried out (@wrong is NULL), or not. */
void proxy_say_answer(struct cli_context *ctx, const char *order, const char *wrong);

#endif
