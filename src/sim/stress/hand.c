#include "sim/stress/hand.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HAND_COMPUTE_MS_MAX = 60, HAND_RETRY_MS = 20 };

static void hand_went(struct sim_hand *h);

static void hand_finished(struct node_op *op, void *user)
{
    struct sim_hand *h = user;

    (void)op;
    if (--h->under_way == 0) {
        hand_went(h);
    }
}

static struct node_op *hand_op(struct sim_hand *h, uint32_t index)
{
    h->ops[index] = (struct node_op){.finished = hand_finished, .user = h};
    h->under_way++;
    return &h->ops[index];
}

static void hand_read(struct sim_hand *h)
{
    static const uint32_t rows[SIM_HAND_ROWS] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                 8, 9, 10, 11, 12, 13, 14, 15};

    node_worker_read(h->worker->node, h->ids[0], 0, table_elements(&h->job->schemas[0]),
                     h->values[0], hand_op(h, 0));
    node_worker_read_rows(h->worker->node, h->ids[1], rows, SIM_HAND_ROWS, h->values[1],
                          hand_op(h, 1));
}

static void hand_break(struct sim_hand *h, const char *what)
{
    (void)snprintf(h->job->broken, h->job->broken_bytes,
                   "site %s: an operation of a worker failed: %.200s", h->site, what);
}

static void hand_push(struct sim_hand *h)
{
    h->job->fill(h);
    if (h->rows_count > 0) {
        enum err rc = node_worker_update_rows(h->worker->node, h->ids[1], h->rows, h->rows_count,
                                              h->values[1]);

        if (rc != OK && rc != ERR_NOMEM) {
            hand_break(h, err_string(rc));
        }
    }
    node_worker_push(h->worker->node, h->ids[0], 0, table_elements(&h->job->schemas[0]),
                     h->values[0], 1, hand_op(h, 0));
}

static void hand_act(struct sim_hand *h)
{
    h->under_way++; /* Some operations are done at once. */
    switch (h->state) {
    case SIM_HAND_OPENING:
        node_worker_table(h->worker->node, &h->job->schemas[h->opened], hand_op(h, 0));
        break;
    case SIM_HAND_JOINING:
        node_worker_join(h->worker->node, hand_op(h, 0));
        break;
    case SIM_HAND_READING:
        hand_read(h);
        break;
    case SIM_HAND_COMPUTING:
        loop_timer_start_in(&h->timer,
                            (int64_t)(1 + rng_below(&h->rng, HAND_COMPUTE_MS_MAX)) * 1000000);
        break;
    case SIM_HAND_PUSHING:
        hand_push(h);
        break;
    case SIM_HAND_ENDING:
        node_worker_clock(h->worker->node, 1, hand_op(h, 0));
        break;
    case SIM_HAND_LEAVING:
        node_worker_leave(h->worker->node, hand_op(h, 0));
        break;
    case SIM_HAND_DONE:
        break;
    }
    h->under_way--;
    if (h->under_way == 0 && h->state != SIM_HAND_COMPUTING && h->state != SIM_HAND_DONE) {
        hand_went(h);
    }
}

static void hand_enter(struct sim_hand *h, enum sim_hand_state state)
{
    h->state = state;
    hand_act(h);
}

/* For want of memory it is tried again; anything else is wrong. */
static bool hand_failed(struct sim_hand *h)
{
    uint32_t count = h->state == SIM_HAND_READING ? SIM_HAND_TABLES : 1;
    bool failed = false;

    for (uint32_t i = 0; i < count; i++) {
        enum err rc = h->ops[i].rc;

        failed = failed || rc != OK;
        if (rc == ERR_EXISTS && h->state == SIM_HAND_PUSHING) {
            failed = false; /* Pushed at the first try. */
        } else if (sim_cluster_worker_ends(h->worker, rc)) {
            return true;
        } else if (rc != OK && rc != ERR_NOMEM) {
            hand_break(h, h->ops[i].text.text);
        }
    }
    if (failed) {
        h->retry = true;
        loop_timer_start_in(&h->timer, (int64_t)HAND_RETRY_MS * 1000000);
    }
    return failed;
}

static void hand_begin_clock(struct sim_hand *h, uint64_t clock)
{
    h->clock = clock;
    hand_enter(h, clock > h->job->clocks ? SIM_HAND_LEAVING : SIM_HAND_READING);
}

static void hand_went(struct sim_hand *h)
{
    if (hand_failed(h)) {
        return;
    }
    switch (h->state) {
    case SIM_HAND_OPENING:
        h->ids[h->opened++] = (uint16_t)h->ops[0].value;
        hand_enter(h, h->opened < SIM_HAND_TABLES ? SIM_HAND_OPENING : SIM_HAND_JOINING);
        break;
    case SIM_HAND_JOINING:
    case SIM_HAND_ENDING:
        hand_begin_clock(h, h->ops[0].value);
        break;
    case SIM_HAND_READING:
        hand_enter(h, SIM_HAND_COMPUTING);
        break;
    case SIM_HAND_PUSHING:
        hand_enter(h, SIM_HAND_ENDING);
        break;
    case SIM_HAND_LEAVING:
        h->done = true;
        hand_enter(h, SIM_HAND_DONE);
        break;
    case SIM_HAND_COMPUTING:
    case SIM_HAND_DONE:
        break;
    }
}

static void hand_timer(struct loop_timer *timer, void *user)
{
    struct sim_hand *h = user;

    (void)timer;
    if (h->retry) {
        h->retry = false;
        hand_act(h);
    } else if (h->state == SIM_HAND_COMPUTING) {
        hand_enter(h, SIM_HAND_PUSHING);
    }
}

static enum err hand_start(struct sim_worker *worker, void *user)
{
    struct sim_hand *h = user;
    enum err rc = loop_timer_init(&h->timer, sim_host_loop(worker->host), hand_timer, h);

    if (rc != OK) {
        return rc;
    }
    h->worker = worker;
    h->under_way = 0;
    h->opened = 0;
    h->retry = false;
    if (!h->done) {
        hand_enter(h, SIM_HAND_OPENING);
    }
    return OK;
}

static void hand_stop(struct sim_worker *worker, void *user)
{
    struct sim_hand *h = user;

    (void)worker;
    loop_timer_deinit(&h->timer);
}

const struct sim_brain sim_hand_brain = {.start = hand_start, .stop = hand_stop};

bool sim_hand_why(const struct sim_hand *h, char *out, size_t size)
{
    char why[160] = "its host is off";

    if (h->done) {
        return false;
    }
    if (h->worker != NULL && h->worker->node != NULL &&
        !node_worker_why(h->worker->node, why, sizeof(why))) {
        (void)snprintf(why, sizeof(why), "nothing is under way");
    }
    (void)snprintf(out, size, "I6: worker %u of site %s does not get beyond clock %" PRIu64 ": %s",
                   h->number, h->site, h->clock, why);
    return true;
}
