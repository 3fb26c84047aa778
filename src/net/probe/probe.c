/* The side that measures: one timer, one train at a time. All waiting is bounded: a train by its
 * length, a report by WAIT, repeats by number. */

#include "net/probe/probe.h"

#include "base/buf.h"
#include "base/log.h"
#include "net/session/peer_state.h"

enum {
    PROBE_WAIT_MS = 5000, /* For a report; a train may take long to get through. */
    PROBE_PING_WAIT_MS = 2500,
    PROBE_MISSING_MAX = 2,      /* Reports in a row. */
    PROBE_LATE_NS = 250 * 1000, /* Sooner than this no loop notices. */
    PROBE_HELD_PART = 8,        /* Held back: more than one in so many bytes of the train. */
};

/* One megabit. */
#define PROBE_RATE_MIN UINT64_C(125000)

/* More than frames of that size can reach: the search lowers it. */
#define PROBE_RATE_MAX (UINT64_C(1) << 30)

_Static_assert(NET_PROBE_ANSWERS_PER_MINUTE *(int)NET_PROBE_COUNT <= (int)LIMIT_PROBE_BURST,
               "all trains that are answered may come at once");
_Static_assert((int)NET_PROBE_COUNT <= (int)WIRE_PROBE_TRAIN_MAX, "a report holds a train");
_Static_assert((int)NET_PROBE_FRAME_BYTES <= (int)WIRE_PROBE_FRAME_BYTES_MAX,
               "a frame holds its padding");
_Static_assert(NET_PROBE_FRAME_BYTES *NET_PROBE_COUNT < LIMIT_CONTROL_QUEUE_BYTES,
               "a whole train finds room in the queue");
_Static_assert(2 * (NET_PROBE_PINGS + NET_SLOPS_TRAINS_MAX + NET_PROBE_REPEATS_MAX) <=
                   NET_PROBE_ANSWERS_PER_MINUTE,
               "two measurements a minute are answered");

static int64_t probe_now(const struct net_peer *p)
{
    return loop_now_ns(p->endpoint->config.loop);
}

/* Have done() called from the loop. */
static void probe_end(struct net_peer *p, enum err rc)
{
    p->probe.state = NET_PROBE_ENDING;
    p->probe.rc = rc;
    loop_timer_start(&p->probe.timer, probe_now(p));
}

static void probe_deliver(struct net_peer *p)
{
    struct net_probe *b = &p->probe;
    struct net_probe_result result = {.rtt_ns = b->result.rtt_ns};
    struct net_slops_estimate estimate;

    b->state = NET_PROBE_IDLE;
    loop_timer_stop(&b->timer);
    if (b->rc == OK && net_slops_done(&b->slops, &estimate)) {
        result = b->result;
        result.low = estimate.low;
        result.high = estimate.high;
        result.at_least = estimate.at_least;
        result.held = !estimate.at_least && b->held_lowest <= estimate.high;
        result.trains = estimate.trains;
        result.duration_ns = probe_now(p) - b->began_ns;
        net_link_probed(p, &result);
    }
    b->done(p, b->rc, &result, b->user);
}

/* Trains. */

/* The next train: pings first. False when the search is over. */
static bool probe_choose(struct net_probe *b)
{
    if (b->pings < NET_PROBE_PINGS) {
        b->train = (struct net_slops_train){.count = 1, .frame_bytes = WIRE_PROBE_FRAME_BYTES_MIN};
        return true;
    }
    return net_slops_next(&b->slops, &b->train);
}

/* What the first live stream has not put on the wire yet. */
static uint64_t probe_held(struct net_peer *p)
{
    struct net_slot *slot = net_peer_first_live(p);
    struct net_stream_info info;

    if (slot == NULL) {
        return 0;
    }
    net_conn_info(slot->conn, &info);
    return info.unsent_bytes + net_conn_queued_bytes(slot->conn);
}

/* Send one frame. A full queue swallows it, which the search sees as a loss; a pool without buffers
 * says nothing about the link. */
static enum err probe_send_one(struct net_peer *p)
{
    struct net_probe *b = &p->probe;
    struct wire_probe probe = {.train = b->id,
                               .index = (uint16_t)b->next,
                               .count = (uint16_t)b->train.count,
                               .sent_ns = probe_now(p)};
    struct buf *frame;
    enum err rc = wire_probe_encode(p->endpoint->config.pool, &probe, b->train.frame_bytes, &frame);

    b->sent_ns = probe.sent_ns;
    b->next++;
    if (rc != OK) {
        b->late = true;
        return OK;
    }
    rc = net_peer_send_once(p, frame);
    if (rc != OK) {
        buf_unref(frame);
        return rc == ERR_AGAIN ? OK : ERR_CLOSED;
    }
    b->result.bytes += b->train.frame_bytes;
    return OK;
}

/* Send what is due. */
static void probe_send_due(struct net_peer *p)
{
    struct net_probe *b = &p->probe;
    int64_t now_ns = probe_now(p);
    int64_t spacing_ns = b->train.spacing_ns;
    int64_t late_ns = spacing_ns / 2;

    late_ns = late_ns > PROBE_LATE_NS ? late_ns : PROBE_LATE_NS;
    while (b->next < b->train.count) {
        int64_t due_ns = b->start_ns + spacing_ns * b->next;
        enum err rc = net_outbox_frames(&p->outbox) > 0 ? ERR_AGAIN : OK;

        if (due_ns > now_ns) {
            loop_timer_start(&b->timer, due_ns);
            return;
        }
        b->late = b->late || now_ns - due_ns > late_ns;
        if (rc == OK) {
            rc = probe_send_one(p);
        }
        if (rc != OK) {
            probe_end(p, rc);
            return;
        }
        now_ns = probe_now(p);
    }
    b->held_bytes = probe_held(p);
    b->state = NET_PROBE_WAITING;
    loop_timer_start(&b->timer,
                     now_ns + (b->pings < NET_PROBE_PINGS ? PROBE_PING_WAIT_MS : PROBE_WAIT_MS) *
                                  INT64_C(1000000));
}

/* Start the next train, or finish. */
static void probe_begin_train(struct net_peer *p)
{
    struct net_probe *b = &p->probe;

    if (!probe_choose(b)) {
        probe_end(p, OK);
        return;
    }
    b->id++;
    b->next = 0;
    b->late = false;
    b->start_ns = probe_now(p);
    b->state = NET_PROBE_SENDING;
    probe_send_due(p);
}

static void probe_pause(struct net_peer *p, int64_t until_ns)
{
    p->probe.state = NET_PROBE_PAUSING;
    loop_timer_start(&p->probe.timer, until_ns);
}

/* Reports. */

static void probe_ponged(struct net_peer *p, int64_t rtt_ns)
{
    struct net_probe *b = &p->probe;
    uint32_t at = b->pings++;

    for (; at > 0 && b->ping_ns[at - 1] > rtt_ns; at--) {
        b->ping_ns[at] = b->ping_ns[at - 1];
    }
    b->ping_ns[at] = rtt_ns;
    b->result.rtt_ns = b->ping_ns[b->pings / 2];
    probe_pause(p, probe_now(p));
}

static bool probe_was_held(const struct net_probe *b)
{
    return b->held_bytes > (uint64_t)b->train.count * b->train.frame_bytes / PROBE_HELD_PART;
}

/* The stream's own window may have held the train back, rather than the link. Windows grow with
 * each attempt, links do not: go on while that helps. */
static bool probe_window_grows(struct net_probe *b)
{
    bool held = probe_was_held(b);
    bool same = b->held_rate == b->train.rate;
    bool grows = held && (!same || b->held_bytes < b->held_before / 4 * 3);

    b->held_rate = b->train.rate;
    b->held_before = b->held_bytes;
    return grows;
}

/* Judge the train that is out by @n delays, or send it again. */
static void probe_judge(struct net_peer *p, const int64_t *delays_ns, uint32_t n, uint32_t lost)
{
    struct net_probe *b = &p->probe;
    int64_t now_ns = probe_now(p);
    int64_t quiet_ns = b->sent_ns + b->train.pause_ns;
    bool again = b->result.repeated < NET_PROBE_REPEATS_MAX;

    if (again && n > 0 && probe_window_grows(b)) {
        b->result.repeated++;
        probe_pause(p, now_ns); /* At once: an idle window shrinks again. */
        return;
    }
    if (again && b->late) {
        b->result.repeated++;
    } else {
        if (probe_was_held(b) && b->train.rate < b->held_lowest) {
            b->held_lowest = b->train.rate;
        }
        CHECK(net_slops_report(&b->slops, delays_ns, n, lost) == OK);
    }
    probe_pause(p, now_ns > quiet_ns ? now_ns : quiet_ns);
}

static enum err probe_take_report(struct net_peer *p, const struct net_frame *frame)
{
    struct net_probe *b = &p->probe;
    struct wire_probe_report report;
    enum err rc = wire_probe_report_decode(frame->body, frame->header.body_bytes, &report);

    if (rc != OK) {
        obs_counter_add(p->endpoint->counters.refused[WIRE_REASON_BODY], 1);
        return rc;
    }
    if (b->state != NET_PROBE_WAITING || report.train != b->id || report.count > b->train.count) {
        obs_counter_add(p->endpoint->counters.probes_ignored, 1);
        return OK;
    }
    b->missing = 0;
    if (b->pings < NET_PROBE_PINGS) {
        probe_ponged(p, probe_now(p) - b->sent_ns);
    } else {
        probe_judge(p, report.delay_ns, report.count, b->train.count - report.count);
    }
    return OK;
}

static void probe_no_report(struct net_peer *p)
{
    struct net_probe *b = &p->probe;

    if (b->pings < NET_PROBE_PINGS || ++b->missing == PROBE_MISSING_MAX) {
        probe_end(p, ERR_TIMEOUT);
        return;
    }
    probe_judge(p, NULL, 0, 0);
}

static void probe_tick(struct loop_timer *timer, void *user)
{
    struct net_peer *p = user;

    (void)timer;
    switch (p->probe.state) {
    case NET_PROBE_IDLE:
        break;
    case NET_PROBE_SENDING:
        probe_send_due(p);
        break;
    case NET_PROBE_WAITING:
        probe_no_report(p);
        break;
    case NET_PROBE_PAUSING:
        probe_begin_train(p);
        break;
    case NET_PROBE_ENDING:
        probe_deliver(p);
        break;
    }
}

/* What the session calls. */

enum err net_probe_init(struct net_peer *p)
{
    enum err rc = loop_timer_init(&p->probe.timer, p->endpoint->config.loop, probe_tick, p);

    return rc == OK ? net_probe_answer_init(p) : rc;
}

void net_probe_deinit(struct net_peer *p)
{
    loop_timer_deinit(&p->probe.timer);
    loop_timer_deinit(&p->answer.timer);
}

enum err net_probe_take(struct net_peer *p, const struct net_frame *frame)
{
    return frame->header.type == WIRE_PROBE ? net_probe_answer_take(p, frame)
                                            : probe_take_report(p, frame);
}

void net_probe_down(struct net_peer *p)
{
    loop_timer_stop(&p->answer.timer);
    if (p->probe.state != NET_PROBE_IDLE && p->probe.state != NET_PROBE_ENDING) {
        probe_end(p, ERR_CLOSED);
    }
}

void net_probe_settle(struct net_peer *p)
{
    net_probe_down(p);
    if (p->probe.state == NET_PROBE_ENDING) {
        probe_deliver(p);
    }
}

/* What the owner calls. */

enum err net_probe_start(struct net_peer *p, const struct net_probe_config *config,
                         net_probe_done *done, void *user)
{
    struct net_probe *b = &p->probe;
    struct net_slops_config slops = {.rate_min = PROBE_RATE_MIN,
                                     .rate_max = PROBE_RATE_MAX,
                                     .frame_bytes = NET_PROBE_FRAME_BYTES,
                                     .count = NET_PROBE_COUNT};
    enum err rc;

    if (config != NULL) {
        slops.rate_min = config->rate_min != 0 ? config->rate_min : slops.rate_min;
        slops.rate_max = config->rate_max != 0 ? config->rate_max : slops.rate_max;
    }
    if (b->state != NET_PROBE_IDLE) {
        return ERR_EXISTS;
    }
    if (!p->up || p->closing) {
        return ERR_CLOSED;
    }
    if (net_outbox_frames(&p->outbox) > 0) {
        return ERR_AGAIN;
    }
    rc = net_slops_init(&b->slops, &slops);
    if (rc != OK) {
        return rc;
    }
    b->pings = 0;
    b->missing = 0;
    b->held_rate = 0;
    b->held_lowest = UINT64_MAX;
    b->result = (struct net_probe_result){0};
    b->done = done;
    b->user = user;
    b->began_ns = probe_now(p);
    probe_pause(p, b->began_ns);
    return OK;
}

void net_probe_cancel(struct net_peer *p)
{
    p->probe.state = NET_PROBE_IDLE;
    loop_timer_stop(&p->probe.timer);
}

bool net_probe_running(const struct net_peer *p)
{
    return p->probe.state != NET_PROBE_IDLE;
}
