/* Traffic is measured by what the peer acknowledges, over all streams together, between two
 * acknowledgements while data was waiting: so it means the same on every carrier, and probes do not
 * count. Samples are as old as the traffic, however late somebody asks. */

#include "net/probe/link.h"

#include "net/session/peer_state.h"
#include "net/stream/tls.h"

enum {
    LINK_SAMPLE_BYTES_MIN = LIMIT_CHUNK_BYTES,
    LINK_SAMPLE_MS_MIN = 100,
    LINK_RECENT_MS = 10000,
    LINK_SMOOTH = 4, /* Weight of the past, in samples. */
};

static int64_t link_ms(int64_t ms)
{
    return ms * 1000000;
}

/* Bytes that wait for the link on our side. */
static uint64_t link_waiting(struct net_peer *p)
{
    uint64_t waiting = 0;

    for (uint16_t i = 0; i < p->streams; i++) {
        struct net_stream_info info;

        if (p->slots[i].live) {
            net_conn_info(p->slots[i].conn, &info);
            waiting += info.unsent_bytes + net_conn_queued_bytes(p->slots[i].conn);
        }
    }
    return waiting;
}

static bool link_recent(const struct net_link_sample *s, int64_t now_ns)
{
    return s->rate > 0 && now_ns - s->at_ns <= link_ms(LINK_RECENT_MS);
}

/* @full: the link was the limit, so that the rate says what it can carry. */
static void link_sampled(struct net_link *l, uint64_t rate, bool full, int64_t now_ns)
{
    if (full) {
        uint64_t past = link_recent(&l->full, now_ns) ? l->full.rate : rate;

        rate = past - past / LINK_SMOOTH + rate / LINK_SMOOTH;
        l->full = (struct net_link_sample){rate, now_ns};
    } else if (!link_recent(&l->partly, now_ns) || rate >= l->partly.rate) {
        l->partly = (struct net_link_sample){rate, now_ns};
    }
}

void net_link_acked(struct net_peer *p, uint64_t bytes)
{
    struct net_link *l = &p->traffic;
    int64_t now_ns = loop_now_ns(p->endpoint->config.loop);
    int64_t passed_ns = now_ns - l->start_ns;

    l->bytes += bytes;
    if (l->busy && (passed_ns < link_ms(LINK_SAMPLE_MS_MIN) || l->bytes < LINK_SAMPLE_BYTES_MIN)) {
        l->busy = net_outbox_bytes(&p->outbox) > 0;
        return;
    }
    if (l->busy) {
        uint64_t waiting = link_waiting(p);
        double rate = (double)l->bytes * 1e9 / (double)passed_ns;

        link_sampled(l, (uint64_t)rate, waiting > 0 || l->waiting > l->bytes / 2, now_ns);
    }
    l->busy = net_outbox_bytes(&p->outbox) > 0;
    l->start_ns = now_ns;
    l->bytes = 0;
    l->waiting = l->busy ? link_waiting(p) : 0;
}

void net_link_probed(struct net_peer *p, const struct net_probe_result *result)
{
    p->traffic.probe = *result;
    p->traffic.probe_ns = loop_now_ns(p->endpoint->config.loop);
}

enum err net_link_estimate(struct net_peer *p, struct net_link_estimate *out)
{
    const struct net_link *l = &p->traffic;
    int64_t now_ns = loop_now_ns(p->endpoint->config.loop);
    bool full = link_recent(&l->full, now_ns);
    struct net_peer_stats stats;

    if (!full && l->probe_ns == 0 && !link_recent(&l->partly, now_ns)) {
        return ERR_NOT_FOUND;
    }
    net_peer_stats(p, &stats);
    if (!full && l->probe_ns != 0) {
        *out = (struct net_link_estimate){.kind = NET_LINK_PROBE,
                                          .low = l->probe.low,
                                          .high = l->probe.high,
                                          .at_least = l->probe.at_least,
                                          .age_ns = now_ns - l->probe_ns,
                                          .rtt_ns = l->probe.rtt_ns};
    } else {
        const struct net_link_sample *s = full ? &l->full : &l->partly;

        *out = (struct net_link_estimate){.kind = NET_LINK_TRAFFIC,
                                          .low = s->rate,
                                          .high = s->rate,
                                          .at_least = !full,
                                          .age_ns = now_ns - s->at_ns,
                                          .rtt_ns = stats.rtt_ns};
    }
    return OK;
}

enum err net_link_carrier(struct net_peer *p, struct net_link_carrier *out)
{
    struct net_slot *slot = net_peer_first_live(p);

    if (slot == NULL) {
        return ERR_CLOSED;
    }
    *out = (struct net_link_carrier){.wire_version = p->version};
    net_conn_info(slot->conn, &out->info);
    (void)net_tls_describe(net_conn_stream(slot->conn), &out->tls_version, &out->tls_cipher);
    return OK;
}
