/* What members of a local run say of themselves, and what lanes say of them. */

#include "run/local_state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool local_field(const json_t *event, const char *key, int64_t *out)
{
    const json_t *value = json_object_get(event, key);

    *out = json_integer_value(value);
    return json_is_integer(value);
}

/* What is not a number cannot be written in JSON. */
static double local_real(const json_t *event, const char *key)
{
    const json_t *value = json_object_get(event, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void local_lanes(struct local_member *m, const json_t *event)
{
    const json_t *lanes = json_object_get(event, "lanes");

    for (uint32_t i = 0; i < json_array_size(lanes) && i < m->local->f->lanes; i++) {
        const json_t *lane = json_array_get(lanes, i);

        m->now[i].sent = (uint64_t)json_integer_value(json_array_get(lane, 0));
        m->now[i].received = (uint64_t)json_integer_value(json_array_get(lane, 1));
    }
}

static void local_worker_clock(struct local_member *m, const json_t *event)
{
    struct run_clock c = {.rebased = json_is_true(json_object_get(event, "rebased")),
                          .loss_sum = local_real(event, "loss_sum")};
    int64_t clock, next, samples;

    if (!local_field(event, "clock", &clock) || !local_field(event, "next", &next) ||
        !local_field(event, "samples", &samples) || !local_field(event, "read_ns", &c.read_ns) ||
        !local_field(event, "compute_ns", &c.compute_ns) ||
        !local_field(event, "end_ns", &c.end_ns) || clock < 1 || next <= clock || samples < 0) {
        return;
    }
    c.clock = (uint64_t)clock;
    c.next = (uint64_t)next;
    c.samples = (uint32_t)samples;
    m->quick = 0;
    local_lanes(m, event);
    run_tally_clock(m->local->tally, m->number, &c, local_now(m->local));
    if (c.rebased) {
        local_event(m->local, "rebased", m->name,
                    "clock %" PRIu64 " may not count, goes on with %" PRIu64, c.clock, c.next);
    }
}

static void local_worker_evaluated(struct local_member *m, const json_t *event)
{
    struct run_evaluation e = {.score = {.objective_sum = local_real(event, "objective_sum"),
                                         .count = local_real(event, "count"),
                                         .correct = local_real(event, "correct"),
                                         .tested = local_real(event, "tested")}};
    int64_t clock;

    if (local_field(event, "clock", &clock) && clock >= 1) {
        e.clock = (uint64_t)clock;
        run_tally_evaluated(m->local->tally, m->number, &e, local_now(m->local));
        local_judge(m->local);
    }
}

static void local_worker_said(struct local_member *m, const char *kind, const json_t *event)
{
    const char *text = json_string_value(json_object_get(event, "text"));
    int64_t clock = 1;

    if (strcmp(kind, "joined") == 0 && local_field(event, "clock", &clock) && clock >= 1) {
        m->ready = true;
        m->joined = true;
        run_tally_joined(m->local->tally, m->number, (uint64_t)clock);
        local_event(m->local, "joined", m->name, "from clock %" PRId64, clock);
    } else if (strcmp(kind, "clock") == 0) {
        local_worker_clock(m, event);
    } else if (strcmp(kind, "evaluated") == 0) {
        local_worker_evaluated(m, event);
    } else if (strcmp(kind, "left") == 0) {
        local_lanes(m, event);
    } else if (strcmp(kind, "notice") == 0 || strcmp(kind, "waiting") == 0) {
        local_event(m->local, kind, m->name, "%s", text == NULL ? "" : text);
    }
}

void local_said(struct local_member *m, const json_t *event)
{
    const char *kind = json_string_value(json_object_get(event, "event"));

    if (kind == NULL) {
        return;
    }
    if (!m->server) {
        local_worker_said(m, kind, event);
    } else if (strcmp(kind, "ready") == 0) {
        local_server_ready(m);
    }
}

void local_seen(uint32_t lane, const struct json_t *status, void *user)
{
    struct local *l = user;
    const json_t *members = json_object_get(status, "members");

    local_sites_seen(l, lane, status);
    local_settled(l);
    if (lane % l->f->lanes != 0) {
        return; /* The first of a site speaks for all. */
    }
    for (size_t i = 0; i < json_array_size(members); i++) {
        const json_t *member = json_array_get(members, i);
        const char *name = json_string_value(json_object_get(member, "name"));
        struct local_member *m = name == NULL ? NULL : local_find(l, name);

        if (m != NULL && !m->server) {
            m->state =
                json_is_true(json_object_get(member, "waited_for")) ? "computing" : "waiting";
        }
    }
}
