#include "net/session/liveness.h"

void net_liveness_init(struct net_liveness *l, const struct net_liveness_config *config,
                       int64_t now_ns)
{
    CHECK(config->interval_ns > 0 && config->missed_max > 0);
    *l = (struct net_liveness){.config = *config, .ticked_ns = now_ns};
}

enum net_liveness_verdict net_liveness_tick(struct net_liveness *l, int64_t now_ns,
                                            uint64_t received_bytes, uint64_t acked_bytes,
                                            uint64_t sent_frames)
{
    bool late = now_ns - l->ticked_ns > 2 * l->config.interval_ns;
    bool progress = received_bytes != l->received_bytes || acked_bytes != l->acked_bytes;
    bool silent = sent_frames == l->sent_frames;

    l->ticked_ns = now_ns;
    l->received_bytes = received_bytes;
    l->acked_bytes = acked_bytes;
    l->sent_frames = sent_frames;
    if (progress || late) {
        l->missed = 0;
    } else if (++l->missed >= l->config.missed_max) {
        return NET_DEAD;
    }
    return silent ? NET_ALIVE_BEAT : NET_ALIVE;
}

int64_t net_liveness_next_ns(const struct net_liveness *l)
{
    return l->ticked_ns + l->config.interval_ns;
}
