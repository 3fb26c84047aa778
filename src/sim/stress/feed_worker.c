/* What workers of a feed do: read, compute, push, end the clock. */

#include "sim/stress/feed_state.h"

#include <stdio.h>

enum { FEED_COMPUTE_MS_MAX = 40, FEED_RETRY_MS = 20, FEED_ROWS = 24, FEED_WIDTH = 3 };

static void feed_went(struct feed_worker *w);

static void feed_finished(struct node_op *op, void *user)
{
    struct feed_worker *w = user;

    (void)op;
    if (--w->under_way == 0) {
        feed_went(w);
    }
}

static struct node_op *feed_op(struct feed_worker *w, uint32_t index)
{
    w->ops[index] = (struct node_op){.finished = feed_finished, .user = w};
    w->under_way++;
    return &w->ops[index];
}

static void feed_read(struct feed_worker *w)
{
    for (uint32_t t = 0; t < SIM_FEED_TABLES; t++) {
        node_worker_read(w->worker->node, w->ids[t], 0, table_elements(&w->feed->schemas[t]),
                         w->values[t], feed_op(w, t));
    }
}

/* Mostly small, now and then large, of both signs; some zero. */
static float feed_draw(struct rng *rng)
{
    static const int64_t most[] = {0, 3, 40, 3, 700, 3, 40, 12000};
    int64_t range = most[rng_below(rng, 8)];

    return (float)rng_between(rng, -range, range) / FEED_UNITS;
}

static void feed_push(struct feed_worker *w)
{
    struct feed *f = w->feed;
    uint32_t rows[FEED_ROWS];
    uint32_t count = 0;
    enum err rc = OK;

    for (uint32_t t = 0; t < SIM_FEED_TABLES; t += 2) {
        for (uint32_t i = 0; i < table_elements(&f->schemas[t]); i++) {
            w->values[t][i] = feed_draw(&w->rng);
        }
    }
    for (uint32_t r = 0; r < FEED_ROWS; r++) {
        if (rng_below(&w->rng, 4) == 0) {
            for (uint32_t k = 0; k < FEED_WIDTH; k++) {
                w->values[1][count * FEED_WIDTH + k] = feed_draw(&w->rng);
            }
            rows[count++] = r;
        }
    }
    if (count > 0) {
        rc = node_worker_update_rows(w->worker->node, w->ids[1], rows, count, w->values[1]);
    }
    if (rc != OK && rc != ERR_NOMEM) {
        (void)snprintf(f->broken, sizeof(f->broken), "a worker cannot update: %s", err_string(rc));
    }
    if (rng_below(&w->rng, 5) != 0) { /* Sometimes a clock has nothing for a table. */
        node_worker_push(w->worker->node, w->ids[0], 0, table_elements(&f->schemas[0]),
                         w->values[0], 1, feed_op(w, 0));
    }
    node_worker_push(w->worker->node, w->ids[2], 0, table_elements(&f->schemas[2]), w->values[2],
                     1 + (uint32_t)rng_below(&w->rng, 5), feed_op(w, 2));
}

static void feed_act(struct feed_worker *w)
{
    struct feed *f = w->feed;

    w->under_way++; /* Some operations are done at once. */
    switch (w->state) {
    case FEED_OPENING:
        node_worker_table(w->worker->node, &f->schemas[w->opened], feed_op(w, 0));
        break;
    case FEED_JOINING:
        node_worker_join(w->worker->node, feed_op(w, 0));
        break;
    case FEED_READING:
        feed_read(w);
        break;
    case FEED_COMPUTING:
        loop_timer_start_in(&w->timer,
                            (int64_t)(1 + rng_below(&w->rng, FEED_COMPUTE_MS_MAX)) * 1000000);
        break;
    case FEED_PUSHING:
        feed_push(w);
        break;
    case FEED_ENDING:
        w->ended = node_worker_clock_now(w->worker->node);
        node_worker_clock(w->worker->node, 1, feed_op(w, 0));
        break;
    case FEED_LEAVING:
        node_worker_leave(w->worker->node, feed_op(w, 0));
        break;
    case FEED_DONE:
        break;
    }
    w->under_way--;
    if (w->under_way == 0 && w->state != FEED_COMPUTING && w->state != FEED_DONE) {
        feed_went(w);
    }
}

static void feed_enter(struct feed_worker *w, enum feed_state state)
{
    for (uint32_t i = 0; i < SIM_FEED_TABLES; i++) {
        w->ops[i].rc = OK;
    }
    w->state = state;
    feed_act(w);
}

/* For want of memory it is tried again; anything else is wrong. */
static bool feed_failed(struct feed_worker *w)
{
    bool failed = false;

    for (uint32_t i = 0; i < SIM_FEED_TABLES; i++) {
        enum err rc = w->ops[i].rc;

        if (rc == ERR_EXISTS && w->state == FEED_PUSHING) {
            continue; /* Pushed at the first try. */
        }
        failed = failed || rc != OK;
        if (sim_cluster_worker_ends(w->worker, rc)) {
            return true;
        }
        if (rc != OK && rc != ERR_NOMEM) {
            (void)snprintf(w->feed->broken, sizeof(w->feed->broken),
                           "an operation of a worker failed: %.200s", w->ops[i].text.text);
        }
    }
    if (failed) {
        w->retry = true;
        w->starved = w->clock;
        loop_timer_start_in(&w->timer, (int64_t)FEED_RETRY_MS * 1000000);
    }
    return failed;
}

static void feed_begin_clock(struct feed_worker *w, uint64_t clock)
{
    w->clock = clock;
    feed_enter(w, clock > w->feed->clocks ? FEED_LEAVING : FEED_READING);
}

static void feed_went(struct feed_worker *w)
{
    if (feed_failed(w)) {
        return;
    }
    switch (w->state) {
    case FEED_OPENING:
        w->ids[w->opened++] = (uint16_t)w->ops[0].value;
        feed_enter(w, w->opened < SIM_FEED_TABLES ? FEED_OPENING : FEED_JOINING);
        break;
    case FEED_JOINING:
    case FEED_ENDING:
        feed_begin_clock(w, w->ops[0].value);
        break;
    case FEED_READING:
        feed_enter(w, FEED_COMPUTING);
        break;
    case FEED_PUSHING:
        feed_enter(w, FEED_ENDING);
        break;
    case FEED_LEAVING:
        w->done = true;
        feed_enter(w, FEED_DONE);
        break;
    case FEED_COMPUTING:
    case FEED_DONE:
        break;
    }
}

static void feed_timer(struct loop_timer *timer, void *user)
{
    struct feed_worker *w = user;

    (void)timer;
    if (w->retry) {
        w->retry = false;
        feed_act(w);
    } else if (w->state == FEED_COMPUTING) {
        feed_enter(w, FEED_PUSHING);
    }
}

static enum err feed_worker_start(struct sim_worker *worker, void *user)
{
    struct feed_worker *w = user;
    enum err rc = loop_timer_init(&w->timer, sim_host_loop(worker->host), feed_timer, w);

    if (rc != OK) {
        return rc;
    }
    w->worker = worker;
    w->under_way = 0;
    w->opened = 0;
    w->ended = 0;
    w->retry = false;
    if (!w->done) {
        feed_enter(w, FEED_OPENING);
    }
    return OK;
}

static void feed_worker_stop(struct sim_worker *worker, void *user)
{
    struct feed_worker *w = user;

    (void)worker;
    feed_mourn(w);
    loop_timer_deinit(&w->timer);
}

const struct sim_brain feed_brain = {.start = feed_worker_start, .stop = feed_worker_stop};
