#include "net/session/backoff.h"

#include "base/err.h"

enum { NET_BACKOFF_DOUBLINGS_MAX = 30 };

void net_backoff_init(struct net_backoff *b, const struct net_backoff_config *config, uint64_t seed)
{
    CHECK(config->first_ns > 0 && config->max_ns >= config->first_ns);
    *b = (struct net_backoff){.config = *config};
    rng_init(&b->rng, seed);
}

int64_t net_backoff_next(struct net_backoff *b)
{
    int64_t max_ns = b->config.max_ns;
    int64_t mean_ns = b->config.first_ns;
    int64_t high_ns;

    for (uint32_t i = 0; i < b->failures && mean_ns < max_ns; i++) {
        mean_ns = mean_ns > max_ns / 2 ? max_ns : mean_ns * 2;
    }
    if (b->failures < NET_BACKOFF_DOUBLINGS_MAX) {
        b->failures++;
    }
    /* Cut before drawing: who waits longest still comes back at a time of their own. */
    high_ns = mean_ns > max_ns - mean_ns / 2 ? max_ns : mean_ns + mean_ns / 2;
    return rng_between(&b->rng, mean_ns / 2, high_ns);
}

void net_backoff_reset(struct net_backoff *b)
{
    b->failures = 0;
}
