/* Is the other end alive? A pure machine. Slow is not dead: a peer is alive while bytes move in
 * either direction or heartbeats arrive; it is dead after a number of ticks in which nothing did.
 * Ticks that come late because we ourselves were stopped do not count against the peer. */

#ifndef NET_SESSION_LIVENESS_H
#define NET_SESSION_LIVENESS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct net_liveness_config {
    int64_t interval_ns; /* Between ticks. */
    uint32_t missed_max; /* Silent ticks until death. */
};

/* Fields are private to net/session/liveness.c. */
struct net_liveness {
    struct net_liveness_config config;
    int64_t ticked_ns;
    uint64_t received_bytes;
    uint64_t acked_bytes;
    uint64_t sent_frames;
    uint32_t missed;
};

enum net_liveness_verdict {
    NET_ALIVE,
    NET_ALIVE_BEAT, /* Alive; say something, we were silent for an interval. */
    NET_DEAD,
};

void net_liveness_init(struct net_liveness *l, const struct net_liveness_config *config,
                       int64_t now_ns);

/* To be called every interval with running totals: bytes received from the peer, bytes of ours it
 * has acknowledged, frames we sent. */
enum net_liveness_verdict net_liveness_tick(struct net_liveness *l, int64_t now_ns,
                                            uint64_t received_bytes, uint64_t acked_bytes,
                                            uint64_t sent_frames);

/* When the next tick is wanted. */
int64_t net_liveness_next_ns(const struct net_liveness *l);

#endif
