#include "run/trainer.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TRAINER_RETRY_NS INT64_C(20000000)

enum trainer_state {
    TRAINER_OPENING, /* Tables, one after the other: ids are given in the order of making. */
    TRAINER_JOINING,
    TRAINER_READING,   /* What the step needs; the report of the last clock may be under way. */
    TRAINER_STEPPING,  /* The owner's turn. */
    TRAINER_SENDING,   /* Dense tables go out whole, rows are collected. */
    TRAINER_ENDING,    /* The end of the clock, and the barrier. */
    TRAINER_SURVEYING, /* All tables whole, for an evaluation. */
    TRAINER_JUDGING,   /* The owner's turn. */
    TRAINER_LEAVING,
    TRAINER_ENDED,
};

static const char *const trainer_words[] = {
    [TRAINER_OPENING] = "making tables", [TRAINER_JOINING] = "joining",
    [TRAINER_READING] = "reading",       [TRAINER_STEPPING] = "computing",
    [TRAINER_SENDING] = "sending",       [TRAINER_ENDING] = "ending the clock",
    [TRAINER_SURVEYING] = "reading all", [TRAINER_JUDGING] = "evaluating",
    [TRAINER_LEAVING] = "leaving",       [TRAINER_ENDED] = "done",
};

struct trainer_table {
    struct app_table is;
    struct table_schema schema;
    uint16_t id;
    float *values; /* What the step sees, and what it writes. */
    float *update;
    size_t capacity; /* Elements of both. */
    uint32_t *rows;  /* Those that it sees, if not all. */
    uint32_t rows_capacity;
    float *whole; /* For evaluations: all of it; of dense tables the same as .values. */
};

struct run_trainer {
    struct run_trainer_config config;
    enum trainer_state state;
    uint32_t tables_count;
    struct trainer_table tables[APP_TABLES_MAX];
    struct app_view views[APP_TABLES_MAX];
    struct node_op ops[APP_TABLES_MAX];
    uint32_t under_way;
    uint32_t cursor;      /* Tables opened or sent so far. */
    uint32_t chunk;       /* Of the table at the cursor, once it has to go piece by piece. */
    bool pieces;          /* Its push failed in the middle. */
    bool retry;           /* The timer is to do the same again. */
    bool leave;           /* Asked for. */
    bool computed;        /* The owner has computed. */
    bool surveyed;        /* The whole tables are there. */
    bool attention;       /* The owner's turn, or over. */
    enum err rc;          /* Of the owner's turn; in the end of all. */
    struct err_text text; /* When ended. */
    uint64_t clock;
    uint64_t evaluated; /* The last clock that was judged. */
    uint64_t rebases;   /* When the clock began. */
    struct run_clock now;
    struct app_step step;
    struct run_evaluation judged;
    int64_t since_ns; /* When the present part of the clock began. */
    struct node_op report;
    struct node_report reporting; /* Under way ... */
    bool report_busy;
    struct node_report due; /* ... and the next one. */
    bool report_due;
    uint64_t stop; /* The clock after which it is over; zero: not known. */
    struct loop_timer timer;
};

static void trainer_enter(struct run_trainer *t, enum trainer_state state);
static void trainer_went(struct run_trainer *t);

/* Operations. */

static void trainer_finished(struct node_op *op, void *user)
{
    struct run_trainer *t = user;

    (void)op;
    CHECK(t->under_way > 0);
    if (--t->under_way == 0) {
        trainer_went(t);
    }
}

static struct node_op *trainer_op(struct run_trainer *t, uint32_t index)
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

static void trainer_end(struct run_trainer *t, enum err rc, const char *text)
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
static void trainer_again(struct run_trainer *t)
{
    t->retry = true;
    loop_timer_start_in(&t->timer, TRAINER_RETRY_NS);
}

/* Reports: each clock's loss, and evaluations. The answer says when it is over. */

static void trainer_report(struct run_trainer *t);

static void trainer_reported(struct node_op *op, void *user)
{
    struct run_trainer *t = user;

    t->report_busy = false;
    if (op->rc == ERR_NOMEM) {
        t->due = t->report_due ? t->due : t->reporting;
        t->report_due = true;
        loop_timer_start_in(&t->timer, TRAINER_RETRY_NS);
        return;
    }
    /* A report that was refused is not worth the end of the training. */
    t->stop = op->rc == OK && op->value != 0 ? op->value : t->stop;
    trainer_report(t);
    if (t->state == TRAINER_READING && t->under_way == 0 && !t->retry) {
        trainer_went(t);
    }
}

static void trainer_report(struct run_trainer *t)
{
    if (t->report_busy || !t->report_due) {
        return;
    }
    t->reporting = t->due;
    t->report_due = false;
    t->report_busy = true;
    t->report = (struct node_op){.finished = trainer_reported, .user = t};
    node_worker_report(t->config.node, &t->reporting, &t->report);
}

/* What is not finite cannot be told: a job that has diverged reaches no goal. */
static void trainer_report_clock(struct run_trainer *t)
{
    t->due = (struct node_report){
        .clock = t->clock - 1,
        .loss_sum = isfinite(t->now.loss_sum) ? t->now.loss_sum : 0,
        .samples = isfinite(t->now.loss_sum) ? t->now.samples : 0,
    };
}

static void trainer_report_score(struct run_trainer *t)
{
    const struct app_score *score = &t->judged.score;

    if (isfinite(score->objective_sum)) {
        t->due.evaluated = true;
        t->due.objective_sum = score->objective_sum;
        t->due.objective_count = score->count;
        t->due.correct = score->correct;
        t->due.tested = score->tested;
    }
}

/* All must hear of the end before they are beyond it, so nobody computes while two reports are not
 * answered for (node/report.c counts on that). */
static bool trainer_may_step(const struct run_trainer *t)
{
    return !(t->report_busy && t->report_due);
}

/* Tables. */

static void trainer_open(struct run_trainer *t)
{
    node_worker_table(t->config.node, &t->tables[t->cursor].schema, trainer_op(t, 0));
}

/* Room for @count elements that are seen and written. */
static enum err trainer_reserve(struct trainer_table *table, size_t count)
{
    float *values, *update;

    if (count <= table->capacity) {
        return OK;
    }
    values = mem_calloc(count, sizeof(float));
    update = mem_calloc(count, sizeof(float));
    if (values == NULL || update == NULL) {
        mem_free(values);
        mem_free(update);
        return ERR_NOMEM;
    }
    if (table->whole == table->values) {
        table->whole = NULL;
    }
    mem_free(table->values);
    mem_free(table->update);
    table->values = values;
    table->update = update;
    table->capacity = count;
    return OK;
}

/* Which rows the step wants. They are copied: the job's own list is good until the next call. */
static enum err trainer_rows(struct run_trainer *t, uint32_t index, struct app_view *view)
{
    struct trainer_table *table = &t->tables[index];
    const uint32_t *rows = NULL;
    uint32_t count = 0;
    enum err rc = t->config.app->ops->rows(t->config.app, t->clock, index, &rows, &count);

    if (rc == OK && count > table->rows_capacity) {
        mem_free(table->rows);
        table->rows = mem_calloc(count, sizeof(uint32_t));
        table->rows_capacity = table->rows == NULL ? 0 : count;
        rc = table->rows == NULL ? ERR_NOMEM : OK;
    }
    if (rc == OK && count > 0) {
        memcpy(table->rows, rows, count * sizeof(uint32_t));
    }
    view->rows = table->rows;
    view->row_count = count;
    return rc;
}

/* What the step will see and write: which part, and room for it. */
static enum err trainer_prepare(struct run_trainer *t, uint32_t index)
{
    struct trainer_table *table = &t->tables[index];
    struct app_view *view = &t->views[index];
    size_t count = table_elements(&table->schema);
    enum err rc = OK;

    *view = (struct app_view){.row_count = (uint32_t)table->is.rows};
    if (table->is.access == APP_ROWS) {
        rc = trainer_rows(t, index, view);
        count = (size_t)view->row_count * table->is.width;
    }
    if (rc == OK) {
        rc = trainer_reserve(table, count);
    }
    if (rc == OK) {
        view->values = table->values;
        view->update = table->update;
        if (count > 0) {
            memset(table->update, 0, count * sizeof(float));
        }
    }
    return rc;
}

static void trainer_read(struct run_trainer *t)
{
    enum err rc = OK;

    t->now = (struct run_clock){.clock = t->clock};
    t->rebases = node_worker_rebases(t->config.node);
    memset(t->ops, 0, sizeof(t->ops));
    for (uint32_t i = 0; i < t->tables_count && rc == OK; i++) {
        rc = trainer_prepare(t, i);
    }
    if (rc == ERR_NOMEM) {
        trainer_again(t);
        return;
    }
    if (rc != OK) {
        trainer_end(t, rc, NULL);
        return;
    }
    for (uint32_t i = 0; i < t->tables_count; i++) {
        struct trainer_table *table = &t->tables[i];

        if (table->is.access == APP_DENSE) {
            node_worker_read(t->config.node, table->id, 0, table_elements(&table->schema),
                             table->values, trainer_op(t, i));
        } else if (t->views[i].row_count > 0) {
            node_worker_read_rows(t->config.node, table->id, t->views[i].rows,
                                  t->views[i].row_count, table->values, trainer_op(t, i));
        }
    }
}

/* All of every table, for an evaluation. */
static void trainer_survey(struct run_trainer *t)
{
    for (uint32_t i = 0; i < t->tables_count; i++) {
        struct trainer_table *table = &t->tables[i];

        if (table->whole == NULL) {
            table->whole = table->is.access == APP_DENSE
                               ? table->values
                               : mem_calloc(table_elements(&table->schema), sizeof(float));
        }
        if (table->whole == NULL) {
            trainer_again(t);
            return;
        }
    }
    memset(t->ops, 0, sizeof(t->ops));
    for (uint32_t i = 0; i < t->tables_count; i++) {
        struct trainer_table *table = &t->tables[i];

        t->views[i] =
            (struct app_view){.row_count = (uint32_t)table->is.rows, .values = table->whole};
        node_worker_read(t->config.node, table->id, 0, table_elements(&table->schema), table->whole,
                         trainer_op(t, i));
    }
}

/* Sending. */

/* The next chunk of a table whose push failed in the middle. */
static void trainer_send_piece(struct run_trainer *t)
{
    struct trainer_table *table = &t->tables[t->cursor];
    uint64_t first = (uint64_t)t->chunk * table_chunk_elements(&table->schema);

    node_worker_push(t->config.node, table->id, first, table_chunk_size(&table->schema, t->chunk),
                     table->update + first, t->step.samples, trainer_op(t, 0));
}

/* One table after the other, each where the last one ended. */
static void trainer_send(struct run_trainer *t)
{
    enum err rc = OK;

    while (t->cursor < t->tables_count && rc == OK) {
        struct trainer_table *table = &t->tables[t->cursor];

        if (table->is.access == APP_DENSE) {
            if (t->pieces) {
                trainer_send_piece(t);
            } else {
                node_worker_push(t->config.node, table->id, 0, table_elements(&table->schema),
                                 table->update, t->step.samples, trainer_op(t, 0));
            }
            return;
        }
        if (t->views[t->cursor].row_count > 0) {
            rc = node_worker_update_rows(t->config.node, table->id, t->views[t->cursor].rows,
                                         t->views[t->cursor].row_count, table->update);
        }
        t->cursor += rc == OK;
    }
    if (rc == ERR_NOMEM || rc == ERR_AGAIN) {
        trainer_again(t);
    } else if (rc != OK) {
        trainer_end(t, rc, "an update was not taken");
    }
}

/* A push is done, one way or the other; or there is nothing more to send. */
static void trainer_sent(struct run_trainer *t)
{
    struct trainer_table *table = &t->tables[t->cursor];
    enum err rc = t->ops[0].rc;

    if (t->cursor == t->tables_count) {
        trainer_enter(t, TRAINER_ENDING);
        return;
    }
    if (rc == ERR_NOMEM) {
        /* Some chunks may have gone out: those that have will be refused the second time. */
        t->pieces = true;
        trainer_again(t);
        return;
    }
    if (rc != OK && !(rc == ERR_EXISTS && t->pieces)) {
        trainer_end(t, rc, t->ops[0].text.text);
        return;
    }
    if (!t->pieces || ++t->chunk == table_chunk_count(&table->schema)) {
        t->pieces = false;
        t->chunk = 0;
        t->cursor++;
    }
    trainer_enter(t, TRAINER_SENDING);
}

/* The walk. */

static void trainer_due(struct run_trainer *t)
{
    t->computed = false;
    t->attention = true;
    if (t->config.events->due != NULL) {
        t->config.events->due(t, t->config.user);
    }
}

static void trainer_act(struct run_trainer *t)
{
    t->under_way++; /* For want of memory an operation may be done before it is begun. */
    switch (t->state) {
    case TRAINER_OPENING:
        trainer_open(t);
        break;
    case TRAINER_JOINING:
        node_worker_join(t->config.node, trainer_op(t, 0));
        break;
    case TRAINER_READING:
        trainer_read(t);
        break;
    case TRAINER_SENDING:
        trainer_send(t);
        break;
    case TRAINER_ENDING:
        node_worker_clock(t->config.node, t->step.samples, trainer_op(t, 0));
        break;
    case TRAINER_SURVEYING:
        trainer_survey(t);
        break;
    case TRAINER_LEAVING:
        node_worker_leave(t->config.node, trainer_op(t, 0));
        break;
    case TRAINER_STEPPING:
    case TRAINER_JUDGING:
    case TRAINER_ENDED:
        break;
    }
    if (--t->under_way == 0 && !t->retry) {
        trainer_went(t);
    }
}

static void trainer_enter(struct run_trainer *t, enum trainer_state state)
{
    t->state = state;
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
    trainer_enter(t, t->leave || trainer_over(t, t->clock - 1) ? TRAINER_LEAVING : TRAINER_READING);
}

static void trainer_joined(struct run_trainer *t)
{
    t->clock = t->ops[0].value;
    t->evaluated = t->clock - 1; /* What went before is for others to judge. */
    if (t->config.events->joined != NULL) {
        t->config.events->joined(t, t->clock, t->config.user);
    }
    trainer_begin(t);
}

/* Is the clock that ended to be judged? The last one is, and a jump does not leave one out. */
static bool trainer_judges(const struct run_trainer *t)
{
    uint64_t every = t->config.evaluate_every;
    uint64_t ended = t->clock - 1;

    return every != 0 && ended > t->evaluated &&
           (ended / every * every > t->evaluated || trainer_over(t, ended));
}

/* The clock has ended, perhaps for nothing. */
static void trainer_ended(struct run_trainer *t)
{
    trainer_count(t, &t->now.end_ns);
    t->now.next = t->ops[0].value;
    t->now.lost = t->now.next != t->clock + 1 || node_worker_rebases(t->config.node) != t->rebases;
    t->clock = t->now.next;
    if (t->config.events->clock != NULL) {
        t->config.events->clock(t, &t->now, t->config.user);
    }
    trainer_report_clock(t);
    if (trainer_judges(t)) {
        trainer_enter(t, TRAINER_SURVEYING); /* The report waits for what comes of it. */
        return;
    }
    t->report_due = true;
    trainer_report(t);
    trainer_begin(t);
}

static void trainer_judged(struct run_trainer *t)
{
    t->evaluated = t->clock - 1;
    t->judged.clock = t->clock - 1;
    trainer_report_score(t);
    if (t->config.events->evaluated != NULL) {
        t->config.events->evaluated(t, &t->judged, t->config.user);
    }
    t->surveyed = false;
    t->report_due = true;
    trainer_report(t);
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
            trainer_again(t);
            return true;
        }
        if (rc != OK) {
            trainer_end(t, rc, t->ops[i].text.text);
            return true;
        }
    }
    return false;
}

/* All that was under way is done. */
static void trainer_went(struct run_trainer *t)
{
    if (t->state == TRAINER_SENDING) {
        trainer_sent(t);
        return;
    }
    if (trainer_failed(t)) {
        return;
    }
    switch (t->state) {
    case TRAINER_OPENING:
        t->tables[t->cursor++].id = (uint16_t)t->ops[0].value;
        trainer_enter(t, t->cursor < t->tables_count ? TRAINER_OPENING : TRAINER_JOINING);
        break;
    case TRAINER_JOINING:
        trainer_joined(t);
        break;
    case TRAINER_READING:
        if (trainer_may_step(t)) {
            trainer_count(t, &t->now.read_ns);
            trainer_enter(t, t->leave || trainer_over(t, t->clock - 1) ? TRAINER_LEAVING
                                                                       : TRAINER_STEPPING);
        }
        break;
    case TRAINER_SURVEYING:
        t->surveyed = true;
        trainer_enter(t, TRAINER_JUDGING);
        break;
    case TRAINER_ENDING:
        trainer_ended(t);
        break;
    case TRAINER_LEAVING:
        trainer_end(t, OK, NULL);
        break;
    case TRAINER_STEPPING:
    case TRAINER_JUDGING:
        trainer_due(t);
        break;
    case TRAINER_SENDING:
    case TRAINER_ENDED:
        break;
    }
}

static void trainer_timer(struct loop_timer *timer, void *user)
{
    struct run_trainer *t = user;

    (void)timer;
    trainer_report(t);
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
    *flops_out = t->step.flops;
    *seconds_out = t->step.seconds;
}

void run_trainer_computed(struct run_trainer *t)
{
    CHECK(run_trainer_is_due(t) && t->computed);
    t->attention = false;
    if (t->rc != OK) {
        trainer_end(t, t->rc,
                    t->state == TRAINER_JUDGING ? "the job could not judge the model"
                                                : "the job could not compute a step");
        return;
    }
    if (t->state == TRAINER_JUDGING) {
        trainer_judged(t);
        return;
    }
    trainer_count(t, &t->now.compute_ns);
    t->now.samples = t->step.samples;
    t->now.loss_sum = t->step.loss_sum;
    t->cursor = 0;
    t->chunk = 0;
    t->pieces = false;
    trainer_enter(t, t->leave ? TRAINER_LEAVING : TRAINER_SENDING);
}

void run_trainer_leave(struct run_trainer *t)
{
    bool in = node_worker_clock_now(t->config.node) != 0;

    if (t->leave || t->state == TRAINER_LEAVING || t->state == TRAINER_ENDED) {
        return;
    }
    t->leave = true;
    if (run_trainer_is_due(t)) {
        return; /* When the owner hands back. */
    }
    for (uint32_t i = 0; i < APP_TABLES_MAX; i++) {
        node_worker_cancel(t->config.node, &t->ops[i]);
    }
    t->under_way = 0;
    t->retry = false;
    if (in) {
        trainer_enter(t, TRAINER_LEAVING);
    } else {
        trainer_end(t, OK, NULL);
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

static enum err trainer_schemas(struct run_trainer *t, struct err_text *text)
{
    struct app_table tables[APP_TABLES_MAX];
    enum err rc = OK;

    memset(tables, 0, sizeof(tables));
    t->tables_count = t->config.app->ops->tables(t->config.app, tables);
    CHECK(t->tables_count >= 1 && t->tables_count <= APP_TABLES_MAX);
    for (uint32_t i = 0; i < t->tables_count && rc == OK; i++) {
        struct table_schema_text in = {.name = tables[i].name,
                                       .rows = tables[i].rows,
                                       .width = tables[i].width,
                                       .init = tables[i].init,
                                       .apply = tables[i].apply,
                                       .combine = tables[i].combine};

        t->tables[i].is = tables[i];
        rc = table_schema_parse(&in, &t->tables[i].schema, text);
    }
    return rc;
}

enum err run_trainer_create(const struct run_trainer_config *config,
                            struct run_trainer **trainer_out, struct err_text *text)
{
    struct run_trainer *t = mem_zalloc(sizeof(*t));
    enum err rc = t == NULL ? ERR_NOMEM : OK;

    if (rc == OK) {
        t->config = *config;
        rc = trainer_schemas(t, text);
    }
    if (rc == OK) {
        rc = loop_timer_init(&t->timer, config->loop, trainer_timer, t);
    }
    if (rc != OK) {
        mem_free(t);
        return rc == ERR_NOMEM ? err_text_set(text, rc, "no memory to train") : rc;
    }
    trainer_enter(t, TRAINER_OPENING);
    *trainer_out = t;
    return OK;
}

void run_trainer_destroy(struct run_trainer *t)
{
    if (t == NULL) {
        return;
    }
    for (uint32_t i = 0; i < APP_TABLES_MAX; i++) {
        struct trainer_table *table = &t->tables[i];

        node_worker_cancel(t->config.node, &t->ops[i]);
        if (table->whole != table->values) {
            mem_free(table->whole);
        }
        mem_free(table->values);
        mem_free(table->update);
        mem_free(table->rows);
    }
    node_worker_cancel(t->config.node, &t->report);
    loop_timer_deinit(&t->timer);
    mem_free(t);
}
