/* What workers of a drill do: read, compute, push, end the clock, and tell the witness. */

#include "sim/stress/drill_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DRILL_COMPUTE_MS_MAX = 60, DRILL_RETRY_MS = 20 };

static void drill_went(struct drill_worker *w);

static void drill_finished(struct node_op *op, void *user)
{
    struct drill_worker *w = user;

    (void)op;
    if (--w->under_way == 0) {
        drill_went(w);
    }
}

static struct node_op *drill_op(struct drill_worker *w, uint32_t index)
{
    w->ops[index] = (struct node_op){.finished = drill_finished, .user = w};
    w->under_way++;
    return &w->ops[index];
}

/* What each state does; it may be done again after a failure for want of memory. */

/* One after the other: ids are given in the order of making. */
static void drill_open(struct drill_worker *w)
{
    node_worker_table(w->worker->node, &w->drill->schemas[w->opened], drill_op(w, 0));
}

static void drill_read(struct drill_worker *w)
{
    static const uint32_t rows[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

    w->read_rebases = node_worker_rebases(w->worker->node);
    w->read_restores = sim_witness_restores(w->drill->witness);
    for (uint32_t t = 0; t < w->drill->tables; t++) {
        if (t == 1) {
            node_worker_read_rows(w->worker->node, w->ids[t], rows, 16, w->values[t],
                                  drill_op(w, t));
        } else {
            node_worker_read(w->worker->node, w->ids[t], 0, table_elements(&w->drill->schemas[t]),
                             w->values[t], drill_op(w, t));
        }
    }
}

static void drill_compute(struct drill_worker *w)
{
    int64_t ns = w->compute_ns != 0
                     ? w->compute_ns
                     : (int64_t)(1 + rng_below(&w->rng, DRILL_COMPUTE_MS_MAX)) * 1000000;

    loop_timer_start_in(&w->timer, ns);
}

static void drill_collect(struct drill_worker *w, uint32_t table)
{
    const struct table_schema *s = &w->drill->schemas[table];
    float update[SIM_WITNESS_ELEMENTS_MAX];
    uint32_t rows[SIM_WITNESS_ELEMENTS_MAX];
    uint32_t count = 0;
    enum err rc;

    drill_make(w->drill, table, w->worker->rank, w->clock, update);
    for (uint32_t r = 0; r < s->rows; r++) {
        if (update[(size_t)r * s->width] == 0) {
            continue;
        }
        if (count < r) {
            memmove(update + (size_t)count * s->width, update + (size_t)r * s->width,
                    s->width * sizeof(float));
        }
        rows[count++] = r;
    }
    if (count == 0) {
        return;
    }
    if (table == 1) {
        rc = node_worker_update_rows(w->worker->node, w->ids[table], rows, count, update);
    } else {
        rc = node_worker_update(w->worker->node, w->ids[table], 0, table_elements(s), update);
    }
    w->partial = w->partial || rc != OK;
    if (rc != OK && rc != ERR_NOMEM) {
        (void)snprintf(w->drill->broken, sizeof(w->drill->broken), "worker %u cannot update: %s",
                       w->worker->rank, err_string(rc));
    }
}

/* The first table goes out at once, the others are collected. */
static void drill_push(struct drill_worker *w)
{
    struct drill *d = w->drill;

    d->pushes += d->tables;
    if (d->pushes > SIM_DRILL_UPDATES_MAX) {
        (void)snprintf(d->broken, sizeof(d->broken),
                       "more than %d updates: take fewer clocks, workers or faults",
                       SIM_DRILL_UPDATES_MAX);
        return;
    }
    drill_say(d, w->worker->host, "pushes clock %" PRIu64, w->clock);
    drill_make(d, 0, w->worker->rank, w->clock, w->values[0]);
    node_worker_push(w->worker->node, w->ids[0], 0, table_elements(&d->schemas[0]), w->values[0], 1,
                     drill_op(w, 0));
}

static void drill_act(struct drill_worker *w)
{
    w->under_way++; /* Some operations are done at once. */
    switch (w->state) {
    case DRILL_OPENING:
        drill_open(w);
        break;
    case DRILL_JOINING:
        node_worker_join(w->worker->node, drill_op(w, 0));
        break;
    case DRILL_READING:
        drill_read(w);
        break;
    case DRILL_COMPUTING:
        drill_compute(w);
        break;
    case DRILL_PUSHING:
        drill_push(w);
        break;
    case DRILL_ENDING:
        node_worker_clock(w->worker->node, 1, drill_op(w, 0));
        break;
    case DRILL_LEAVING:
        node_worker_leave(w->worker->node, drill_op(w, 0));
        break;
    case DRILL_DONE:
        break;
    }
    w->under_way--;
    if (w->under_way == 0 && w->state != DRILL_COMPUTING && w->state != DRILL_DONE) {
        drill_went(w);
    }
}

static void drill_enter(struct drill_worker *w, enum drill_state state)
{
    w->state = state;
    if (state == DRILL_COMPUTING || state == DRILL_DONE) {
        sim_event_cancel(w->drill->world, &w->wait);
    } else {
        drill_waits(w);
    }
    drill_act(w);
}

/* True if an operation failed. For want of memory it is tried again, as a process would be started
 * again; anything else is wrong. */
static bool drill_failed(struct drill_worker *w)
{
    uint32_t count = w->state == DRILL_READING ? w->drill->tables : 1;
    bool failed = false;

    for (uint32_t i = 0; i < count; i++) {
        enum err rc = w->ops[i].rc;

        failed = failed || rc != OK;
        if (rc == ERR_EXISTS && w->state == DRILL_PUSHING) {
            failed = false; /* Pushed at the first try. */
        } else if (sim_cluster_worker_ends(w->worker, rc)) {
            return true;
        } else if (rc != OK && rc != ERR_NOMEM) {
            (void)snprintf(w->drill->broken, sizeof(w->drill->broken),
                           "worker %u: an operation failed: %.240s", w->worker->rank,
                           w->ops[i].text.text);
        }
    }
    if (failed) {
        w->retry = true;
        drill_say(w->drill, w->worker->host, "has no memory, and tries again");
        loop_timer_start_in(&w->timer, (int64_t)DRILL_RETRY_MS * 1000000);
    }
    return failed;
}

/* Cached rows have the worker's own updates too: they are no version of the table. */
static bool drill_mixed(const struct drill *d, uint32_t table)
{
    return table == 1 && d->site.delivery == NODE_PULL && d->site.sync.staleness > 0;
}

/* "with round 3" or, if they differ, "with rounds 3 2 3": the last one that changed each table. A
 * dash: cannot be told. */
static void drill_say_read(struct drill_worker *w)
{
    char rounds[SIM_DRILL_TABLES * 24];
    bool same = true;
    size_t size = 0;

    for (uint32_t t = 0; t < w->drill->tables; t++) {
        bool told = !drill_mixed(w->drill, t) && !w->drill->sums[t].down;

        same = same && told && w->floor[t] == w->floor[0];
        size +=
            (size_t)(told ? snprintf(rounds + size, sizeof(rounds) - size, " %" PRIu64, w->floor[t])
                          : snprintf(rounds + size, sizeof(rounds) - size, " -"));
    }
    if (same) {
        (void)snprintf(rounds, sizeof(rounds), " %" PRIu64, w->floor[0]);
    }
    drill_say(w->drill, w->worker->host, "computes clock %" PRIu64 " with round%s%s", w->clock,
              same ? "" : "s", rounds);
}

/* What was read is checked against all that ever was. */
static void drill_check(struct drill_worker *w)
{
    struct drill *d = w->drill;
    uint64_t rebases = node_worker_rebases(w->worker->node);
    bool known;

    if (w->floor_restores != sim_witness_restores(d->witness) || w->floor_rebases != rebases) {
        memset(w->floor, 0, sizeof(w->floor)); /* Going back was announced. */
        w->known_restores =
            w->floor_rebases != rebases ? sim_witness_restores(d->witness) : w->known_restores;
        w->floor_restores = sim_witness_restores(d->witness);
        w->floor_rebases = rebases;
    }
    known = w->read_rebases == rebases && w->read_restores == w->floor_restores;
    for (uint32_t t = 0; t < d->tables && known; t++) {
        if (!drill_mixed(d, t)) {
            w->floor[t] = sim_witness_read(d->witness, t, w->clock, w->floor[t], w->known_restores,
                                           w->values[t]);
        }
    }
    if (known) {
        drill_say_read(w);
    } else {
        drill_say(d, w->worker->host,
                  "computes clock %" PRIu64 " (restored or rebased while it read)", w->clock);
    }
}

static void drill_begin_clock(struct drill_worker *w, uint64_t clock, uint64_t rebases)
{
    uint64_t last = w->leaves != 0 ? w->leaves : w->drill->clocks;

    w->clock = clock;
    w->partial = false;
    w->rebases = rebases;
    if (clock > last) {
        drill_say(w->drill, w->worker->host, "has ended clock %" PRIu64 " and leaves", clock - 1);
    }
    drill_enter(w, clock > last ? DRILL_LEAVING : DRILL_READING);
}

/* Was the worker left out since its clock began? What it had sent may be lost then. */
static bool drill_left_out(struct drill_worker *w, bool skipped)
{
    uint64_t lost_from = node_worker_lost_from(w->worker->node);
    uint64_t first, last;

    node_worker_lost(w->worker->node, &first, &last);
    if (lost_from > 0 && (lost_from < first || last < first || last > w->clock)) {
        (void)snprintf(w->drill->broken, sizeof(w->drill->broken),
                       "worker %u lost clocks from %" PRIu64 " on, and shows %" PRIu64
                       " to %" PRIu64,
                       w->worker->rank, lost_from, first, last);
    }
    if (w->rebases == node_worker_rebases(w->worker->node) && !skipped &&
        (lost_from == 0 || lost_from > w->clock)) {
        return false;
    }
    lost_from = lost_from > 0 && lost_from < w->clock ? lost_from : w->clock;
    sim_witness_dropped(w->drill->witness, w->worker->rank, lost_from);
    w->drill->rebases++;
    if (lost_from < w->clock) {
        drill_say(w->drill, w->worker->host,
                  "was left out and let in again during clock %" PRIu64 "; clock %" PRIu64
                  " and what followed may be lost",
                  w->clock, lost_from);
    } else {
        drill_say(w->drill, w->worker->host, "was left out and let in again during clock %" PRIu64,
                  w->clock);
    }
    return true;
}

static void drill_ended(struct drill_worker *w)
{
    uint64_t next = w->ops[0].value;

    if (!drill_left_out(w, next != w->clock + 1) && !w->partial) {
        sim_witness_finished(w->drill->witness, w->worker->rank, w->worker->incarnation, w->clock);
    }
    drill_begin_clock(w, next, node_worker_rebases(w->worker->node));
}

/* Some tables are open, and it may be in: what comes next? */
static void drill_opened(struct drill_worker *w)
{
    const struct drill *d = w->drill;

    if (w->entered == 0 && (d->join_first || w->opened == d->tables)) {
        w->known_restores = sim_witness_restores(d->witness); /* It may stand still from now on. */
        drill_enter(w, DRILL_JOINING);
    } else if (w->opened < d->tables) {
        drill_enter(w, DRILL_OPENING);
    } else {
        drill_begin_clock(w, w->entered, w->rebases); /* It may have been left out since. */
    }
}

static void drill_went(struct drill_worker *w)
{
    if (drill_failed(w)) {
        return;
    }
    switch (w->state) {
    case DRILL_OPENING:
        if (w->ops[0].value != w->opened) {
            (void)snprintf(w->drill->broken, sizeof(w->drill->broken), "table %u has id %" PRIu64,
                           w->opened, w->ops[0].value);
        }
        w->ids[w->opened++] = (uint16_t)w->ops[0].value;
        drill_opened(w);
        break;
    case DRILL_JOINING:
        drill_say(w->drill, w->worker->host, "is in, from clock %" PRIu64, w->ops[0].value);
        w->entered = w->ops[0].value;
        w->in_as = w->worker->incarnation;
        w->rebases = node_worker_rebases(w->worker->node);
        drill_opened(w);
        break;
    case DRILL_READING:
        drill_check(w);
        drill_enter(w, DRILL_COMPUTING);
        break;
    case DRILL_PUSHING:
        for (uint32_t t = 1; t < w->drill->tables; t++) {
            drill_collect(w, t);
        }
        drill_enter(w, DRILL_ENDING);
        break;
    case DRILL_ENDING:
        drill_ended(w);
        break;
    case DRILL_LEAVING:
        (void)drill_left_out(w, false);
        drill_say(w->drill, w->worker->host, "has left");
        w->done = true;
        drill_enter(w, DRILL_DONE);
        break;
    case DRILL_COMPUTING:
    case DRILL_DONE:
        break;
    }
}

static void drill_timer(struct loop_timer *timer, void *user)
{
    struct drill_worker *w = user;

    (void)timer;
    if (w->retry) {
        w->retry = false;
        drill_act(w);
    } else if (w->state == DRILL_COMPUTING) {
        drill_enter(w, DRILL_PUSHING);
    }
}

static enum err drill_worker_start(struct sim_worker *worker, void *user)
{
    struct drill_worker *w = user;
    enum err rc = loop_timer_init(&w->timer, sim_host_loop(worker->host), drill_timer, w);

    if (rc != OK) {
        return rc;
    }
    w->worker = worker;
    w->under_way = 0;
    w->opened = 0;
    w->entered = 0;
    w->retry = false;
    w->partial = false;
    memset(w->floor, 0, sizeof(w->floor));
    if (!w->done) {
        drill_enter(w, DRILL_OPENING);
    }
    return OK;
}

static void drill_worker_stop(struct sim_worker *worker, void *user)
{
    struct drill_worker *w = user;

    loop_timer_deinit(&w->timer);
    sim_event_cancel(w->drill->world, &w->wait);
    sim_witness_dropped(w->drill->witness, worker->rank, 0);
}

const struct sim_brain drill_brain = {
    .start = drill_worker_start,
    .stop = drill_worker_stop,
};
