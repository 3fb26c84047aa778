/* What `strait proxy` says; for cli/proxy*.c only. */

#ifndef CLI_PROXY_PROXY_H
#define CLI_PROXY_PROXY_H

#include "cli/command/context.h"
#include "emu/proxy/proxy.h"

void proxy_say_ready(struct cli_context *ctx, const struct emu_proxy *proxy,
                     const struct emu_routes *routes);

/* How a link stands, and what what it carries costs. */
struct proxy_view {
    struct emu_proxy_stats before; /* Rates and utilisation are those since then. */
    struct emu_proxy_stats now;
    double usd_per_gb[EMU_WAYS]; /* NaN: no price is known. */
};

/* How it stands, as the event @event. */
void proxy_say_status(struct cli_context *ctx, const char *event, const struct proxy_view *view);

/* The same at length, for people who ask. */
void proxy_say_show(struct cli_context *ctx, const struct proxy_view *view);

/* An order was carried out (@wrong is NULL), or not. */
void proxy_say_answer(struct cli_context *ctx, const char *order, const char *wrong);

#endif
