#include "net/probe/meter.h"

#include "net/session/peer_state.h"

enum {
    METER_MEAN_US = 200 * 1000, /* Over about so much time is the mean. */
    METER_RECENT_MS = 10 * 1000,
    METER_PROBE_MS = 60 * 1000, /* So long counts what a probe found. */
    METER_STALL_MS = 2500,      /* Nothing arrives any more: that is a rate too. */
    METER_SHIFT = 56,
    METER_TRICKLE_BYTES = 4096, /* Paced: small frames that wait behind each other show nothing. */
};

static int64_t meter_ms(int64_t ms)
{
    return ms * 1000000;
}

static bool meter_recent(int64_t at_ns, int64_t now_ns, int64_t ms)
{
    return at_ns != 0 && now_ns - at_ns <= meter_ms(ms);
}

/* The link carried @bytes in the time since the edge, and could not have carried more. */
static void meter_full(struct net_meter *m, const struct net_meter_look *k)
{
    uint64_t us = (uint64_t)(k->now_ns - m->edge_ns) / 1000;
    uint64_t kept = METER_MEAN_US;

    if (!meter_recent(m->sum_ns, k->now_ns, METER_RECENT_MS)) {
        m->sum_bytes = m->sum_us = 0;
    }
    m->sum_bytes = m->sum_bytes * kept / (kept + us) + (k->acked - m->edge_at);
    m->sum_us = m->sum_us * kept / (kept + us) + us;
    m->sum_ns = k->now_ns;
    m->seen = true;
}

/* Some of what waits has arrived, or nothing has for long. */
static bool meter_edge(struct net_meter *m, const struct net_meter_look *k)
{
    int64_t waited_ns = k->now_ns - m->waiting_ns;
    int64_t since_ns = m->edge ? m->edge_ns : m->waiting_ns;
    bool arrived = k->acked > m->acked && waited_ns >= k->rtt_ns;
    bool stalled =
        k->acked == m->acked && k->now_ns - since_ns >= meter_ms(METER_STALL_MS) + 2 * k->rtt_ns;
    bool news = (arrived && m->edge && k->now_ns - m->edge_ns >= 1000) || stalled;

    if (stalled && !m->edge) {
        m->edge_ns = m->waiting_ns;
        m->edge_at = k->acked;
    }
    if (news) {
        meter_full(m, k);
    }
    if (arrived || stalled) {
        m->edge = true;
        m->edge_ns = k->now_ns;
        m->edge_at = k->acked;
    }
    return news;
}

static bool meter_waiting(struct net_meter *m, const struct net_meter_look *k)
{
    if (!m->busy) {
        m->busy = true;
        m->busy_ns = k->now_ns;
        m->busy_from = k->acked;
        m->busy_given = k->given - k->waiting;
        m->seen = false;
    }
    if (!m->waiting) {
        m->waiting = true;
        m->waiting_ns = k->now_ns;
        m->edge = false;
    }
    return meter_edge(m, k);
}

/* Nothing waits. All of it took the time until now, without that of the last acknowledgement. */
static bool meter_drained(struct net_meter *m, const struct net_meter_look *k)
{
    uint64_t bytes = k->acked - m->busy_from;
    int64_t took_ns = k->now_ns - m->busy_ns, sent_ns = took_ns - k->rtt_least_ns;

    m->waiting = m->edge = false;
    if (!m->busy || bytes < k->given - m->busy_given) {
        return false;
    }
    m->busy = false;
    if (m->seen || bytes < NET_METER_BURST_BYTES || took_ns <= 0) {
        return false;
    }
    sent_ns = sent_ns > took_ns / 4 ? sent_ns : took_ns / 4 + 1;
    m->partly.bytes_per_s = (uint64_t)((double)bytes * 1e9 / (double)sent_ns);
    m->partly.at_ns = k->now_ns;
    return true;
}

bool net_meter_step(struct net_meter *m, const struct net_meter_look *k)
{
    bool news;

    if (k->connections != m->connections || k->acked < m->acked || k->acked == 0) {
        m->busy = m->waiting = m->edge = false;
        m->connections = k->connections;
        m->acked = k->acked;
        m->given = k->given;
    }
    if (k->acked == 0) {
        return false;
    }
    if (m->paced && k->waiting <= k->given - m->given + METER_TRICKLE_BYTES) {
        m->waiting = m->edge = false; /* All that was here at the last look has left. */
    }
    m->given = k->given;
    news = k->waiting > 0 ? meter_waiting(m, k) : meter_drained(m, k);
    m->acked = k->acked;
    return news;
}

bool net_meter_look(struct net_meter *m, struct net_peer *p, int64_t now_ns)
{
    struct net_meter_look look = {.now_ns = now_ns, .connections = p->sent_bytes};
    uint64_t received = 0;

    for (uint16_t i = 0; i < p->streams; i++) {
        struct net_stream_info info;

        if (!p->slots[i].live) {
            continue;
        }
        net_conn_info(p->slots[i].conn, &info);
        look.acked += info.acked_bytes;
        look.waiting += info.unsent_bytes + net_conn_queued_bytes(p->slots[i].conn);
        look.connections += UINT64_C(1) << METER_SHIFT;
        net_conn_traffic(p->slots[i].conn, &look.given, &received);
        look.rtt_ns = info.rtt_ns > look.rtt_ns ? info.rtt_ns : look.rtt_ns;
        if (look.rtt_least_ns == 0 || info.rtt_least_ns < look.rtt_least_ns) {
            look.rtt_least_ns = info.rtt_least_ns;
        }
    }
    return net_meter_step(m, &look);
}

void net_meter_probed(struct net_meter *m, const struct net_probe_result *result, int64_t now_ns)
{
    m->probe = (struct net_meter_sample){.bytes_per_s = result->low, .at_ns = now_ns};
    m->probe_at_least = result->at_least;
}

bool net_meter_read(const struct net_meter *m, int64_t now_ns, struct net_meter_reading *out)
{
    bool full = m->sum_us > 0 && meter_recent(m->sum_ns, now_ns, METER_RECENT_MS);
    bool probed = meter_recent(m->probe.at_ns, now_ns, METER_PROBE_MS);
    bool partly = meter_recent(m->partly.at_ns, now_ns, METER_RECENT_MS);
    struct net_meter_sample best = {0};

    *out = (struct net_meter_reading){0};
    if (full) {
        best.bytes_per_s = m->sum_bytes * 1000000 / m->sum_us;
        best.at_ns = m->sum_ns;
    } else if (probed) {
        best = m->probe;
        out->at_least = m->probe_at_least;
    }
    /* It is faster now than it was. */
    if (partly && m->partly.at_ns >= best.at_ns && m->partly.bytes_per_s > best.bytes_per_s) {
        best = m->partly;
        out->at_least = true;
    }
    out->bytes_per_s = best.bytes_per_s;
    out->age_ns = now_ns - best.at_ns;
    return full || probed || partly;
}
