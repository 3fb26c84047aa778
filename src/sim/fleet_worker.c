/* What workers of a fleet do: read, compute, push whole numbers, end the clock. */

#include "sim/fleet_state.h"

#include <stdio.h>
#include <string.h>

enum { FLEET_COMPUTE_MS_MAX = 60, FLEET_RETRY_MS = 20 };

static void fleet_went(struct fleet_worker *w);

static void fleet_finished(struct node_op *op, void *user)
{
    struct fleet_worker *w = user;

    (void)op;
    if (--w->under_way == 0) {
        fleet_went(w);
    }
}

static struct node_op *fleet_op(struct fleet_worker *w, uint32_t index)
{
    w->ops[index] = (struct node_op){.finished = fleet_finished, .user = w};
    w->under_way++;
    return &w->ops[index];
}

static void fleet_read(struct fleet_worker *w)
{
    static const uint32_t rows[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    struct fleet *f = w->site->fleet;

    node_worker_read(w->worker->node, w->ids[0], 0, table_elements(&f->schemas[0]), w->values[0],
                     fleet_op(w, 0));
    node_worker_read_rows(w->worker->node, w->ids[1], rows, 16, w->values[1], fleet_op(w, 1));
}

/* Small whole numbers of both signs, so that significance comes and goes. */
static void fleet_push(struct fleet_worker *w)
{
    struct fleet *f = w->site->fleet;
    uint32_t rows[16];
    uint32_t count = 0;

    for (uint32_t i = 0; i < table_elements(&f->schemas[0]); i++) {
        w->values[0][i] = (float)rng_between(&w->rng, -3, 5);
    }
    for (uint32_t r = 0; r < 16; r++) {
        if (rng_below(&w->rng, 3) == 0) {
            for (uint32_t k = 0; k < 3; k++) {
                w->values[1][count * 3 + k] = (float)rng_between(&w->rng, -9, 20);
            }
            rows[count++] = r;
        }
    }
    if (count > 0) {
        enum err rc =
            node_worker_update_rows(w->worker->node, w->ids[1], rows, count, w->values[1]);

        if (rc != OK && rc != ERR_NOMEM) {
            (void)snprintf(f->broken, sizeof(f->broken), "a worker cannot update: %s",
                           err_string(rc));
        }
    }
    node_worker_push(w->worker->node, w->ids[0], 0, table_elements(&f->schemas[0]), w->values[0], 1,
                     fleet_op(w, 0));
}

static void fleet_act(struct fleet_worker *w)
{
    struct fleet *f = w->site->fleet;

    w->under_way++; /* Some operations are done at once. */
    switch (w->state) {
    case FLEET_OPENING:
        node_worker_table(w->worker->node, &f->schemas[w->opened], fleet_op(w, 0));
        break;
    case FLEET_JOINING:
        node_worker_join(w->worker->node, fleet_op(w, 0));
        break;
    case FLEET_READING:
        fleet_read(w);
        break;
    case FLEET_COMPUTING:
        loop_timer_start_in(&w->timer,
                            (int64_t)(1 + rng_below(&w->rng, FLEET_COMPUTE_MS_MAX)) * 1000000);
        break;
    case FLEET_PUSHING:
        fleet_push(w);
        break;
    case FLEET_ENDING:
        node_worker_clock(w->worker->node, 1, fleet_op(w, 0));
        break;
    case FLEET_LEAVING:
        node_worker_leave(w->worker->node, fleet_op(w, 0));
        break;
    case FLEET_DONE:
        break;
    }
    w->under_way--;
    if (w->under_way == 0 && w->state != FLEET_COMPUTING && w->state != FLEET_DONE) {
        fleet_went(w);
    }
}

static void fleet_enter(struct fleet_worker *w, enum fleet_state state)
{
    w->state = state;
    fleet_act(w);
}

/* For want of memory it is tried again; anything else is wrong. */
static bool fleet_failed(struct fleet_worker *w)
{
    uint32_t count = w->state == FLEET_READING ? SIM_FLEET_TABLES : 1;
    bool failed = false;

    for (uint32_t i = 0; i < count; i++) {
        enum err rc = w->ops[i].rc;

        failed = failed || rc != OK;
        if (rc == ERR_EXISTS && w->state == FLEET_PUSHING) {
            failed = false; /* Pushed at the first try. */
        } else if (rc != OK && rc != ERR_NOMEM) {
            (void)snprintf(w->site->fleet->broken, sizeof(w->site->fleet->broken),
                           "site %s: an operation of a worker failed: %.200s", w->site->name,
                           w->ops[i].text.text);
        }
    }
    if (failed) {
        w->retry = true;
        loop_timer_start_in(&w->timer, (int64_t)FLEET_RETRY_MS * 1000000);
    }
    return failed;
}

static void fleet_begin_clock(struct fleet_worker *w, uint64_t clock)
{
    w->clock = clock;
    fleet_enter(w, clock > w->site->fleet->clocks ? FLEET_LEAVING : FLEET_READING);
}

static void fleet_went(struct fleet_worker *w)
{
    if (fleet_failed(w)) {
        return;
    }
    switch (w->state) {
    case FLEET_OPENING:
        w->ids[w->opened++] = (uint16_t)w->ops[0].value;
        fleet_enter(w, w->opened < SIM_FLEET_TABLES ? FLEET_OPENING : FLEET_JOINING);
        break;
    case FLEET_JOINING:
    case FLEET_ENDING:
        fleet_begin_clock(w, w->ops[0].value);
        break;
    case FLEET_READING:
        fleet_enter(w, FLEET_COMPUTING);
        break;
    case FLEET_PUSHING:
        fleet_enter(w, FLEET_ENDING);
        break;
    case FLEET_LEAVING:
        w->done = true;
        fleet_enter(w, FLEET_DONE);
        break;
    case FLEET_COMPUTING:
    case FLEET_DONE:
        break;
    }
}

static void fleet_timer(struct loop_timer *timer, void *user)
{
    struct fleet_worker *w = user;

    (void)timer;
    if (w->retry) {
        w->retry = false;
        fleet_act(w);
    } else if (w->state == FLEET_COMPUTING) {
        fleet_enter(w, FLEET_PUSHING);
    }
}

static enum err fleet_worker_start(struct sim_worker *worker, void *user)
{
    struct fleet_worker *w = user;
    enum err rc = loop_timer_init(&w->timer, sim_host_loop(worker->host), fleet_timer, w);

    if (rc != OK) {
        return rc;
    }
    w->worker = worker;
    w->under_way = 0;
    w->opened = 0;
    w->retry = false;
    if (!w->done) {
        fleet_enter(w, FLEET_OPENING);
    }
    return OK;
}

static void fleet_worker_stop(struct sim_worker *worker, void *user)
{
    struct fleet_worker *w = user;

    (void)worker;
    loop_timer_deinit(&w->timer);
}

const struct sim_brain fleet_brain = {.start = fleet_worker_start, .stop = fleet_worker_stop};
