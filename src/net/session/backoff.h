/* When to try again: exponential back-off with jitter, so that a thousand workers that lost one
 * server do not come back in the same instant. A pure machine. */

#ifndef NET_SESSION_BACKOFF_H
#define NET_SESSION_BACKOFF_H

#include "base/rng.h"

struct net_backoff_config {
    int64_t first_ns; /* The mean of the first wait. */
    int64_t max_ns;   /* No wait is longer than this. */
};

/* Fields are private to net/session/backoff.c. */
struct net_backoff {
    struct net_backoff_config config;
    struct rng rng;
    uint32_t failures;
};

void net_backoff_init(struct net_backoff *b, const struct net_backoff_config *config,
                      uint64_t seed);

/* After a failure: how long to wait, between half and one and a half times the doubled wait. */
int64_t net_backoff_next(struct net_backoff *b);

/* It worked: start small again. */
void net_backoff_reset(struct net_backoff *b);

#endif
