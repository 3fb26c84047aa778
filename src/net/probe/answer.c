/* The side that answers: notes when the frames of a train arrived. It holds one train of fixed size
 * per peer, whatever the peer says, and believes nothing but the order of the indices. */

#include "base/buf.h"
#include "net/session/peer_state.h"

enum {
    ANSWER_WAIT_MS = 500, /* After the last frame that came: the rest is lost. */
    ANSWER_MINUTE_MS = 60 * 1000,
};

static void answer_ignore(struct net_peer *p)
{
    obs_counter_add(p->endpoint->counters.probes_ignored, 1);
}

/* Say what came, once. */
static void answer_send(struct net_peer *p)
{
    struct net_probe_answer *a = &p->answer;
    struct buf *frame;

    loop_timer_stop(&a->timer);
    a->expect = a->count; /* What of this train still comes is late. */
    if (wire_probe_report_encode(p->endpoint->config.pool, &a->report, &frame) != OK) {
        return; /* The prober does not wait for ever. */
    }
    if (net_peer_send_once(p, frame) != OK) {
        buf_unref(frame);
    }
}

static void answer_overdue(struct loop_timer *timer, void *user)
{
    (void)timer;
    answer_send(user);
}

/* True if the peer may have another train this minute. */
static bool answer_may(struct net_probe_answer *a, int64_t now_ns)
{
    if (a->trains == 0 || now_ns - a->minute_ns >= (int64_t)ANSWER_MINUTE_MS * 1000000) {
        a->minute_ns = now_ns;
        a->trains = 0;
    }
    if (a->trains == NET_PROBE_ANSWERS_PER_MINUTE) {
        return false;
    }
    a->trains++;
    return true;
}

/* The first frame of a train: forget the one before, finished or not. */
static void answer_begin(struct net_peer *p, const struct wire_probe *probe, int64_t now_ns)
{
    struct net_probe_answer *a = &p->answer;

    loop_timer_stop(&a->timer);
    a->refused = !answer_may(a, now_ns);
    a->expect = 0;
    a->count = probe->count;
    a->report.train = probe->train;
    a->report.count = 0;
    if (!a->refused) {
        obs_counter_add(p->endpoint->counters.probe_trains, 1);
    }
}

enum err net_probe_answer_take(struct net_peer *p, const struct net_frame *frame)
{
    struct net_probe_answer *a = &p->answer;
    int64_t now_ns = loop_now_ns(p->endpoint->config.loop);
    struct wire_probe probe;
    enum err rc = wire_probe_decode(frame->body, frame->header.body_bytes, &probe);

    if (rc != OK) {
        obs_counter_add(p->endpoint->counters.refused[WIRE_REASON_BODY], 1);
        return rc;
    }
    if (probe.index == 0 && (a->count == 0 || probe.train != a->report.train)) {
        answer_begin(p, &probe, now_ns);
    }
    if (a->refused || probe.train != a->report.train || probe.count != a->count ||
        probe.index < a->expect) {
        answer_ignore(p);
        return OK;
    }
    a->expect = probe.index + 1u;
    a->report.delay_ns[a->report.count++] = now_ns - probe.sent_ns;
    if (a->expect == a->count) {
        answer_send(p);
    } else {
        loop_timer_start(&a->timer, now_ns + (int64_t)ANSWER_WAIT_MS * 1000000);
    }
    return OK;
}

enum err net_probe_answer_init(struct net_peer *p)
{
    return loop_timer_init(&p->answer.timer, p->endpoint->config.loop, answer_overdue, p);
}
