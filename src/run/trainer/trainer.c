#include "run/trainer/trainer.h"

#include "base/mem.h"
#include "run/trainer/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const trainer_words[] = {
    [TRAINER_OPENING] = "making tables",
    [TRAINER_JOINING] = "joining",
    [TRAINER_READING] = "reading",
    [TRAINER_STEPPING] = "computing",
    [TRAINER_SAVING] = "saving",
    [TRAINER_SENDING] = "sending",
    [TRAINER_ENDING] = "ending the clock",
    [TRAINER_SURVEYING] = "reading all",
    [TRAINER_JUDGING] = "evaluating",
    [TRAINER_LEAVING] = "leaving",
    [TRAINER_ENDED] = "done",
};

/* Operations. */

static void trainer_finished(struct node_op *op, void *user)
{
    struct run_trainer *t = user;

    (void)op;
    CHECK(t->under_way > 0);
    if (--t->under_way == 0) {
        run_trainer_went(t);
    }
}

struct node_op *run_trainer_op(struct run_trainer *t, uint32_t index)
{
    t->ops[index] = (struct node_op){.finished = trainer_finished, .user = t};
    t->under_way++;
    return &t->ops[index];
}

static int64_t trainer_now(const struct run_trainer *t)
{
    return loop_now_ns(t->config.loop);
}

/* Time since the last call, into one of the parts of a clock. */
static void trainer_count(struct run_trainer *t, int64_t *part)
{
    int64_t now_ns = trainer_now(t);

    *part += now_ns - t->since_ns;
    t->since_ns = now_ns;
}

void run_trainer_end(struct run_trainer *t, enum err rc, const char *text)
{
    t->state = TRAINER_ENDED;
    t->rc = rc;
    (void)err_text_set(&t->text, rc, "%s", text == NULL ? err_string(rc) : text);
    t->attention = true;
    loop_timer_stop(&t->timer);
    if (t->report_busy) {
        node_worker_cancel(t->config.node, &t->report);
        t->report_busy = false;
    }
    if (t->config.events->ended != NULL) {
        t->config.events->ended(t, t->config.user);
    }
}

/* No room or no memory just now: the same again in a moment. */
void run_trainer_again(struct run_trainer *t)
{
    t->retry = true;
    loop_timer_start_in(&t->timer, TRAINER_RETRY_NS);
}

void run_trainer_starved(struct run_trainer *t)
{
    struct err_text text;

    if (++t->starved < TRAINER_STARVED_MAX) {
        run_trainer_again(t);
        return;
    }
    (void)err_text_set(
        &text, ERR_TOO_BIG,
        "the system gives this worker no memory (%s, clock %" PRIu64
        "): look at its limits (ulimit -v, control group), or make the model smaller",
        trainer_words[t->state], t->clock);
    run_trainer_end(t, ERR_TOO_BIG, text.text);
}

/* The walk. */

static void trainer_open(struct run_trainer *t)
{
    node_worker_table(t->config.node, &t->tables[t->cursor].schema, run_trainer_op(t, 0));
}

static void trainer_due(struct run_trainer *t)
{
    t->computed = false;
    t->attention = true;
    if (t->config.events->due != NULL) {
        t->config.events->due(t, t->config.user);
    }
}

static void trainer_notice(struct run_trainer *t, const char *text)
{
    if (t->config.events->notice != NULL && text[0] != '\0') {
        t->config.events->notice(t, text, t->config.user);
    }
}

static void trainer_unrecorded(struct run_trainer *t)
{
    if (t->config.events->unrecorded != NULL && t->record_text.text[0] != '\0') {
        t->config.events->unrecorded(t, t->record_text.text, t->config.user);
    }
    t->record_text.text[0] = '\0';
}

/* It is safe now that the others hear of the step; or it could not be saved, which is no reason to
 * end: what is lost if the process dies is said. */
static void trainer_saved(enum err rc, void *user)
{
    struct run_trainer *t = user;
    struct err_text text;

    CHECK(t->state == TRAINER_SAVING && t->under_way == 1);
    t->under_way = 0;
    if (rc == ERR_NOMEM) {
        run_trainer_starved(t);
        return;
    }
    if (rc == OK) {
        t->saved = t->clock;
    } else if (!t->save_failed) {
        (void)err_text_set(&text, rc,
                           "the state of this worker cannot be saved: %s. It goes on; if it dies, "
                           "what came since the last save is lost",
                           err_string(rc));
        trainer_notice(t, text.text);
    }
    if (rc == OK && t->save_failed) {
        trainer_notice(t, "the state of this worker is saved again");
    }
    t->save_failed = rc != OK;
    run_trainer_enter(t, TRAINER_SENDING);
}

/* Is the state to be saved after the step of this clock? */
static bool trainer_saves(const struct run_trainer *t)
{
    return t->config.state != NULL &&
           (t->saved == 0 || t->save_failed || t->clock - t->saved >= t->state_every);
}

static void trainer_act(struct run_trainer *t)
{
    t->under_way++; /* For want of memory an operation may be done before it is begun. */
    switch (t->state) {
    case TRAINER_OPENING:
        trainer_open(t);
        break;
    case TRAINER_JOINING:
        node_worker_join(t->config.node, run_trainer_op(t, 0));
        break;
    case TRAINER_READING:
        run_trainer_read(t);
        break;
    case TRAINER_SAVING:
        t->under_way++; /* Not an operation of the node; see trainer_saved(). */
        run_state_save(t->config.state, t->clock, trainer_saved, t);
        break;
    case TRAINER_SENDING:
        run_trainer_send(t);
        break;
    case TRAINER_ENDING:
        node_worker_clock(t->config.node, t->step.samples, run_trainer_op(t, 0));
        break;
    case TRAINER_SURVEYING:
        run_trainer_survey(t);
        break;
    case TRAINER_LEAVING:
        node_worker_leave(t->config.node, run_trainer_op(t, 0));
        break;
    case TRAINER_STEPPING:
    case TRAINER_JUDGING:
    case TRAINER_ENDED:
        break;
    }
    if (--t->under_way == 0 && !t->retry) {
        run_trainer_went(t);
    }
}

void run_trainer_enter(struct run_trainer *t, enum trainer_state state)
{
    t->state = state;
    t->starved = 0;
    trainer_act(t);
}

/* Is clock @clock the last one? */
static bool trainer_over(const struct run_trainer *t, uint64_t clock)
{
    return (t->config.clocks != 0 && clock >= t->config.clocks) ||
           (t->stop != 0 && clock >= t->stop);
}

/* A clock begins, or it is over. */
static void trainer_begin(struct run_trainer *t)
{
    t->since_ns = trainer_now(t);
    run_trainer_enter(t, t->leave || trainer_over(t, t->clock - 1) ? TRAINER_LEAVING
                                                                   : TRAINER_READING);
}

/* Go on from what a life before this one has saved. */
static enum err trainer_load(struct run_trainer *t)
{
    struct err_text text = {""};
    uint64_t clock = 0;
    enum err rc = run_state_load(t->config.state, t->clock, &clock, &text);

    if (rc != OK) {
        t->unfit = rc;
        t->unfit_text = text;
        return rc;
    }
    trainer_notice(t, text.text);
    if (clock > 0) {
        (void)err_text_set(&text, OK, "goes on from the state that was saved after clock %" PRIu64,
                           clock);
        trainer_notice(t, text.text);
    }
    return OK;
}

static void trainer_joined(struct run_trainer *t)
{
    t->clock = t->ops[0].value;
    if (t->config.state != NULL && trainer_load(t) != OK) {
        run_trainer_enter(t, TRAINER_LEAVING); /* Nobody shall wait for us. */
        return;
    }
    t->evaluated = t->clock - 1; /* What went before is for others to judge. */
    if (t->config.events->joined != NULL) {
        t->config.events->joined(t, t->clock, t->config.user);
    }
    trainer_begin(t);
}

/* Is the clock that ended to be judged? The last of all is, and a jump does not leave one out;
 * after the goal the evaluation that reached it stands. */
static bool trainer_judges(const struct run_trainer *t)
{
    uint64_t every = t->config.evaluate_every;
    uint64_t ended = t->clock - 1;

    return every != 0 && ended > t->evaluated &&
           (ended / every * every > t->evaluated ||
            (t->config.clocks != 0 && ended >= t->config.clocks));
}

static void trainer_sparsified(struct run_trainer *t)
{
    const struct node_sparsifier *sparsify = node_worker_sparsifier(t->config.node);

    if (sparsify != NULL) {
        t->now.sparsified = node_sparsify_totals_since(&sparsify->totals, &t->sparsified);
        t->sparsified = sparsify->totals;
        t->now.upper = sparsify->up;
    }
}

void run_clock_lost_text(const struct run_clock *c, char out[RUN_LOST_BYTES])
{
    if (c->lost_from < c->clock) {
        (void)snprintf(out, RUN_LOST_BYTES,
                       "clocks %" PRIu64 " to %" PRIu64 " may not count, goes on with %" PRIu64,
                       c->lost_from, c->clock, c->next);
    } else {
        (void)snprintf(out, RUN_LOST_BYTES,
                       "clock %" PRIu64 " may not count, goes on with %" PRIu64, c->clock, c->next);
    }
}

/* The clock has ended, perhaps for nothing. */
static void trainer_ended(struct run_trainer *t)
{
    uint64_t lost_from;

    trainer_count(t, &t->now.end_ns);
    t->now.ended_ns = trainer_now(t);
    trainer_sparsified(t);
    t->now.next = t->ops[0].value;
    lost_from = node_worker_lost_from(t->config.node);
    t->now.rebased = t->now.next != t->clock + 1 ||
                     node_worker_rebases(t->config.node) != t->rebases ||
                     (lost_from > 0 && lost_from <= t->clock);
    t->now.lost_from = lost_from > 0 && lost_from < t->clock ? lost_from : t->clock;
    t->clock = t->now.next;
    if (t->config.events->clock != NULL) {
        t->config.events->clock(t, &t->now, t->config.user);
    }
    run_trainer_report_clock(t);
    if (!t->leave && trainer_judges(t)) {
        run_trainer_enter(t, TRAINER_SURVEYING); /* The report waits for what comes of it. */
        return;
    }
    t->report_due = true;
    run_trainer_report(t);
    trainer_begin(t);
}

static void trainer_judged(struct run_trainer *t)
{
    t->evaluated = t->clock - 1;
    t->judged.clock = t->clock - 1;
    t->judged.at_ns = trainer_now(t);
    run_trainer_report_score(t);
    if (t->config.events->evaluated != NULL) {
        t->config.events->evaluated(t, &t->judged, t->config.user);
    }
    t->surveyed = false;
    t->report_due = true;
    run_trainer_report(t);
    trainer_begin(t);
}

/* True if an operation failed. */
static bool trainer_failed(struct run_trainer *t)
{
    uint32_t count = run_trainer_is_due(t) || t->state == TRAINER_ENDED ? 0
                     : t->state == TRAINER_READING || t->state == TRAINER_SURVEYING
                         ? t->tables_count
                         : 1;

    for (uint32_t i = 0; i < count; i++) {
        enum err rc = t->ops[i].rc;

        if (rc == ERR_NOMEM) {
            run_trainer_starved(t);
            return true;
        }
        if (rc != OK) {
            run_trainer_end(t, rc, t->ops[i].text.text);
            return true;
        }
    }
    return false;
}

/* All that was under way is done. */
void run_trainer_went(struct run_trainer *t)
{
    if (t->state == TRAINER_SENDING) {
        run_trainer_sent(t);
        return;
    }
    if (trainer_failed(t)) {
        return;
    }
    switch (t->state) {
    case TRAINER_OPENING:
        t->tables[t->cursor++].id = (uint16_t)t->ops[0].value;
        run_trainer_enter(t, t->cursor < t->tables_count ? TRAINER_OPENING : TRAINER_JOINING);
        break;
    case TRAINER_JOINING:
        trainer_joined(t);
        break;
    case TRAINER_READING:
        if (run_trainer_may_step(t)) {
            trainer_count(t, &t->now.read_ns);
            run_trainer_enter(t, t->leave || trainer_over(t, t->clock - 1) ? TRAINER_LEAVING
                                                                           : TRAINER_STEPPING);
        }
        break;
    case TRAINER_SURVEYING:
        t->surveyed = true;
        run_trainer_enter(t, TRAINER_JUDGING);
        break;
    case TRAINER_ENDING:
        trainer_ended(t);
        break;
    case TRAINER_LEAVING:
        run_trainer_end(t, t->unfit, t->unfit == OK ? NULL : t->unfit_text.text);
        break;
    case TRAINER_STEPPING:
    case TRAINER_JUDGING:
        trainer_due(t);
        break;
    case TRAINER_SAVING:
    case TRAINER_SENDING:
    case TRAINER_ENDED:
        break;
    }
}

static void trainer_timer(struct loop_timer *timer, void *user)
{
    struct run_trainer *t = user;

    (void)timer;
    run_trainer_report(t);
    if (t->retry) {
        t->retry = false;
        trainer_act(t);
    }
}

/* The owner's side. */

bool run_trainer_is_due(const struct run_trainer *t)
{
    return t->state == TRAINER_STEPPING || t->state == TRAINER_JUDGING;
}

const bool *run_trainer_attention(const struct run_trainer *t)
{
    return &t->attention;
}

bool run_trainer_steps(const struct run_trainer *t)
{
    return t->state == TRAINER_STEPPING;
}

void run_trainer_compute(struct run_trainer *t, double *flops_out, double *seconds_out)
{
    const struct app_ops *ops = t->config.app->ops;

    CHECK(run_trainer_is_due(t) && !t->computed);
    t->computed = true;
    *flops_out = 0;
    *seconds_out = 0;
    if (t->state == TRAINER_JUDGING) {
        t->judged = (struct run_evaluation){.clock = 0};
        t->rc = ops->evaluate(t->config.app, t->views, &t->judged.score);
        return;
    }
    t->step = (struct app_step){.clock = t->clock, .samples = 1};
    t->rc = ops->step(t->config.app, t->views, &t->step);
    run_trainer_weigh(t);
    run_trainer_record(t);
    *flops_out = t->step.flops;
    *seconds_out = t->step.seconds;
}

void run_trainer_computed(struct run_trainer *t)
{
    CHECK(run_trainer_is_due(t) && t->computed);
    t->attention = false;
    if (t->rc != OK) {
        run_trainer_end(t, t->rc,
                        t->state == TRAINER_JUDGING ? "the job could not judge the model"
                                                    : "the job could not compute a step");
        return;
    }
    if (t->state == TRAINER_JUDGING) {
        trainer_judged(t);
        return;
    }
    trainer_unrecorded(t);
    trainer_count(t, &t->now.compute_ns);
    t->now.samples = t->step.samples;
    t->now.loss_sum = t->step.loss_sum;
    t->cursor = 0;
    t->chunk = 0;
    t->pieces = false;
    run_trainer_enter(t, t->leave           ? TRAINER_LEAVING
                         : trainer_saves(t) ? TRAINER_SAVING
                                            : TRAINER_SENDING);
}

/* What was saved must be sent too, or the next life takes for counted what is not. */
static bool trainer_must_end_clock(const struct run_trainer *t)
{
    return t->config.state != NULL && (t->state == TRAINER_SAVING || t->state == TRAINER_SENDING ||
                                       t->state == TRAINER_ENDING);
}

void run_trainer_leave(struct run_trainer *t)
{
    bool in = node_worker_clock_now(t->config.node) != 0;

    if (t->leave || t->state == TRAINER_LEAVING || t->state == TRAINER_ENDED) {
        return;
    }
    t->leave = true;
    if (run_trainer_is_due(t) || trainer_must_end_clock(t)) {
        return; /* When the owner hands back, or the clock has ended. */
    }
    for (uint32_t i = 0; i < APP_TABLES_MAX; i++) {
        node_worker_cancel(t->config.node, &t->ops[i]);
    }
    t->under_way = 0;
    t->retry = false;
    if (in) {
        run_trainer_enter(t, TRAINER_LEAVING);
    } else {
        run_trainer_end(t, OK, NULL);
    }
}

bool run_trainer_result(const struct run_trainer *t, enum err *rc_out, struct err_text *text)
{
    if (t->state != TRAINER_ENDED) {
        return false;
    }
    *rc_out = t->rc;
    *text = t->text;
    return true;
}

bool run_trainer_is_unfit(const struct run_trainer *t)
{
    return t->unfit != OK;
}

const char *run_trainer_state(const struct run_trainer *t)
{
    return trainer_words[t->state];
}

uint64_t run_trainer_clock(const struct run_trainer *t)
{
    return t->clock;
}

const struct app_view *run_trainer_tables(const struct run_trainer *t, uint32_t *count_out)
{
    *count_out = t->tables_count;
    return t->surveyed ? t->views : NULL;
}

const struct table_schema *run_trainer_schema(const struct run_trainer *t, uint32_t table)
{
    CHECK(table < t->tables_count);
    return &t->tables[table].schema;
}

/* Making and ending. */

enum err run_trainer_create(const struct run_trainer_config *config,
                            struct run_trainer **trainer_out, struct err_text *text)
{
    struct run_trainer *t = mem_zalloc(sizeof(*t));
    enum err rc = t == NULL ? ERR_NOMEM : OK;

    if (rc == OK) {
        t->config = *config;
        t->state_every =
            config->state == NULL ? 0 : run_state_every(config->app, config->state_every);
        rc = run_trainer_schemas(t, text);
    }
    if (rc == OK) {
        rc = run_trainer_open_recorder(t, text);
    }
    if (rc == OK) {
        rc = loop_timer_init(&t->timer, config->loop, trainer_timer, t);
    }
    if (rc != OK) {
        if (t != NULL) {
            run_recorder_destroy(t->recorder);
        }
        mem_free(t);
        return rc == ERR_NOMEM ? err_text_set(text, rc, "no memory to train") : rc;
    }
    run_trainer_enter(t, TRAINER_OPENING);
    *trainer_out = t;
    return OK;
}

void run_trainer_destroy(struct run_trainer *t)
{
    if (t == NULL) {
        return;
    }
    for (uint32_t i = 0; i < APP_TABLES_MAX; i++) {
        node_worker_cancel(t->config.node, &t->ops[i]);
    }
    run_trainer_free_tables(t);
    run_recorder_destroy(t->recorder);
    node_worker_cancel(t->config.node, &t->report);
    loop_timer_deinit(&t->timer);
    mem_free(t);
}
