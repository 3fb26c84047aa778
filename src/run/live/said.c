/* What members of a run of processes say of themselves, and what lanes say of them. */

#include "node/control.h"
#include "run/live/state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool live_field(const json_t *event, const char *key, int64_t *out)
{
    const json_t *value = json_object_get(event, key);

    *out = json_integer_value(value);
    return json_is_integer(value);
}

/* What is not a number cannot be written in JSON. */
static double live_real(const json_t *event, const char *key)
{
    const json_t *value = json_object_get(event, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void live_lanes(struct live_member *m, const json_t *event)
{
    const json_t *lanes = json_object_get(event, "lanes");

    for (uint32_t i = 0; i < json_array_size(lanes) && i < m->live->f->lanes; i++) {
        const json_t *lane = json_array_get(lanes, i);

        m->now[i].sent = (uint64_t)json_integer_value(json_array_get(lane, 0));
        m->now[i].received = (uint64_t)json_integer_value(json_array_get(lane, 1));
    }
}

/* When it was: a worker has news to tell while it computes or waits, and is listened to later. */
static int64_t live_when(const struct live_member *m, const json_t *event)
{
    int64_t now_ns = live_now(m->live), ago_ns;

    return live_field(event, "ago_ns", &ago_ns) && ago_ns > 0 && ago_ns < now_ns - m->live->move_ns
               ? now_ns - ago_ns
               : now_ns;
}

/* How many of its changes were large; of what makes no sense nothing counts. */
static void live_worker_sizes(const json_t *event, struct run_clock *c)
{
    const json_t *large = json_object_get(event, "large");
    json_int_t most = json_integer_value(json_object_get(event, "elements"));
    uint64_t counts[RUN_PARTS];

    if (json_array_size(large) != RUN_PARTS || most < 0) {
        return;
    }
    c->elements = (uint64_t)most;
    for (uint32_t i = 0; i < RUN_PARTS; i++) {
        json_int_t count = json_integer_value(json_array_get(large, i));

        if (count < 0 || count > most) {
            c->elements = 0;
            return;
        }
        most = count; /* What is larger than a large part is larger than a small one. */
        counts[i] = (uint64_t)count;
    }
    memcpy(c->large, counts, sizeof(counts));
}

static void live_worker_clock(struct live_member *m, const json_t *event)
{
    struct run_clock c = {.rebased = json_is_true(json_object_get(event, "rebased")),
                          .upper = json_is_true(json_object_get(event, "upper")),
                          .loss_sum = live_real(event, "loss_sum")};
    char lost[RUN_LOST_BYTES];
    int64_t clock, next, samples, lost_from;

    if (!live_field(event, "clock", &clock) || !live_field(event, "next", &next) ||
        !live_field(event, "samples", &samples) || !live_field(event, "read_ns", &c.read_ns) ||
        !live_field(event, "compute_ns", &c.compute_ns) ||
        !live_field(event, "end_ns", &c.end_ns) || clock < 1 || next <= clock || samples < 0) {
        return;
    }
    live_worker_sizes(event, &c);
    (void)node_sparsify_totals_from_json(json_object_get(event, "sparsified"), &c.sparsified);
    c.clock = (uint64_t)clock;
    c.next = (uint64_t)next;
    c.lost_from = c.clock;
    if (live_field(event, "lost_from", &lost_from) && lost_from > 0 && lost_from < clock) {
        c.lost_from = (uint64_t)lost_from;
    }
    c.ended_ns = live_when(m, event);
    c.samples = (uint32_t)samples;
    m->quick = 0;
    live_lanes(m, event);
    run_tally_clock(m->live->tally, m->number, &c, c.ended_ns);
    if (c.rebased) {
        run_clock_lost_text(&c, lost);
        live_event(m->live, "rebased", m->name, "%s", lost);
    }
}

static void live_worker_evaluated(struct live_member *m, const json_t *event)
{
    struct run_evaluation e = {.score = {.objective_sum = live_real(event, "objective_sum"),
                                         .count = live_real(event, "count"),
                                         .correct = live_real(event, "correct"),
                                         .tested = live_real(event, "tested")}};
    int64_t clock;

    if (live_field(event, "clock", &clock) && clock >= 1) {
        e.clock = (uint64_t)clock;
        e.at_ns = live_when(m, event);
        run_tally_evaluated(m->live->tally, m->number, &e, e.at_ns);
        live_judge(m->live);
    }
}

/* It may hear while it leaves that a server has restarted without its last clocks. */
static void live_worker_left(struct live_member *m, const json_t *event)
{
    int64_t clock, lost_from;

    if (live_field(event, "clock", &clock) && live_field(event, "lost_from", &lost_from) &&
        lost_from > 0 && lost_from <= clock) {
        live_event(m->live, "rebased", m->name, "clocks %" PRId64 " to %" PRId64 " may not count",
                   lost_from, clock);
    }
}

static void live_worker_said(struct live_member *m, const char *kind, const json_t *event)
{
    const char *text = json_string_value(json_object_get(event, "text"));
    int64_t clock = 1;

    if (strcmp(kind, "joined") == 0 && live_field(event, "clock", &clock) && clock >= 1) {
        m->ready = true;
        m->joined = true;
        run_tally_joined(m->live->tally, m->number, (uint64_t)clock);
        live_event(m->live, "joined", m->name, "from clock %" PRId64, clock);
    } else if (strcmp(kind, "clock") == 0) {
        live_worker_clock(m, event);
    } else if (strcmp(kind, "evaluated") == 0) {
        live_worker_evaluated(m, event);
    } else if (strcmp(kind, "left") == 0) {
        live_lanes(m, event);
        live_worker_left(m, event);
    } else if (strcmp(kind, "notice") == 0 || strcmp(kind, "waiting") == 0 ||
               strcmp(kind, "unrecorded") == 0) {
        live_event(m->live, kind, m->name, "%s", text == NULL ? "" : text);
    }
}

bool run_live_waits(const json_t *status, const json_t *member)
{
    const char *barrier = json_string_value(json_object_get(status, "barrier"));
    double clock = (double)json_integer_value(json_object_get(member, "clock"));
    double version = (double)json_integer_value(json_object_get(status, "version"));
    double staleness = (double)json_integer_value(json_object_get(status, "staleness"));

    return json_integer_value(json_object_get(member, "held")) > 0 ||
           (barrier != NULL && strcmp(barrier, "tap") != 0 && clock > version + staleness);
}

static void live_seen(struct live *l, uint32_t lane, const json_t *status)
{
    const json_t *members = json_object_get(status, "members");

    live_sites_seen(l, lane, status);
    live_settled(l);
    if (lane % l->f->lanes != 0) {
        return; /* The first of a site speaks for all. */
    }
    for (size_t i = 0; i < json_array_size(members); i++) {
        const json_t *member = json_array_get(members, i);
        const char *name = json_string_value(json_object_get(member, "name"));
        struct live_member *m = name == NULL ? NULL : live_find(l, name);

        if (m != NULL && !m->server) {
            m->state = run_live_waits(status, member) ? "waiting" : "computing";
        }
    }
}

/* How a lane of a server is. */
static void live_server_status(struct live_member *m, const json_t *event)
{
    const json_t *status = json_object_get(event, "status");
    int64_t lane;

    if (json_is_object(status) && live_field(event, "lane", &lane) && lane >= 0 &&
        lane < m->live->f->lanes && m->live->phase >= LIVE_TRAINING) {
        live_seen(m->live, m->site * m->live->f->lanes + (uint32_t)lane, status);
    }
}

void live_said(struct live_member *m, const json_t *event)
{
    const char *kind = json_string_value(json_object_get(event, "event"));

    if (kind == NULL) {
        return;
    }
    if (!m->server) {
        live_worker_said(m, kind, event);
    } else if (strcmp(kind, "ready") == 0) {
        live_server_ready(m);
    } else if (strcmp(kind, "status") == 0) {
        live_server_status(m, event);
    }
}
