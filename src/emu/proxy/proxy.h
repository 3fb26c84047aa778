/* A link between two regions, as one process that carries TCP connections: with the rate, delay and
 * jitter that were asked for, shared fairly by all connections in each direction, and with faults
 * on order. Needs no privileges.
 *
 *     client --> LISTEN [ there: pipe ] --> TARGET
 *                       [ back:  pipe ]
 *
 * A client's connect() succeeds at once, for the kernel answers; all else takes the time that it
 * would on a link. TARGET is dialled one delay after the client connected, and what the client
 * sends sets out when the answer has come back. Ends of connections travel in order, with the
 * delay; if TARGET cannot be reached, the client is reset a round trip after its connect().
 *
 * Kernel buffers are kept small, so that bytes wait with their sender as they would before a slow
 * link. The memory is that of the windows (emu/proxy/pipe.h) of the connections there are.
 *
 * Lives on one real loop, and its thread. */

#ifndef EMU_PROXY_PROXY_H
#define EMU_PROXY_PROXY_H

#include "emu/proxy/order.h"
#include "emu/proxy/pipe.h"
#include "emu/proxy/route.h"
#include "loop/loop.h"

enum { EMU_CONNS_MAX = 4096 };

struct emu_proxy;

struct emu_proxy_config {
    struct loop *loop;
    const struct emu_routes *routes; /* Copied. */
    struct emu_shape shapes[EMU_WAYS];
    uint64_t seed;      /* Of jitter, and of where faults strike. */
    uint32_t conns_max; /* At once, at most EMU_CONNS_MAX; who comes beyond is reset. */
};

/* Listen on all routes. Errors with @text: ERR_INVALID for figures beyond the limits, ERR_IO where
 * a port cannot be had, ERR_NOMEM. */
MUST_USE enum err emu_proxy_create(const struct emu_proxy_config *config,
                                   struct emu_proxy **proxy_out, struct err_text *text);

/* All connections are reset. NULL is allowed. */
void emu_proxy_destroy(struct emu_proxy *proxy);

/* Where the @index-th route really listens. */
const struct net_address *emu_proxy_bound(const struct emu_proxy *proxy, uint32_t index);

/* Do what an order says; of FAULT and HEAL only, the others are for who reads orders. */
void emu_proxy_order(struct emu_proxy *proxy, const struct emu_order *order);

struct emu_way_stats {
    struct emu_shape shape; /* As it is now. */
    struct emu_pipe_stats pipe;
    uint64_t delivered_bytes; /* Of those that sinks took: not to connections that were gone. */
};

struct emu_proxy_stats {
    int64_t now_ns;  /* Since the start. */
    uint32_t open;   /* Connections. */
    uint64_t total;  /* Ever accepted. */
    uint64_t away;   /* Turned away at the limit. */
    uint64_t missed; /* Their target could not be reached. */
    struct emu_way_stats ways[EMU_WAYS];
    uint64_t fired[EMU_FAULTS];        /* How often each fault has really happened. */
    bool active[EMU_FAULTS][EMU_WAYS]; /* Is it on now? */
};

void emu_proxy_stats(const struct emu_proxy *proxy, struct emu_proxy_stats *out);

#endif
