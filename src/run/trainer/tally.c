#include "run/trainer/tally.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* A clock that is not complete yet: sums. */
struct tally_row {
    struct run_row row; /* Sums where a mean is wanted. */
    double loss_sum;
    double objective_sum;
    double objective_count;
    double correct;
    double tested;
    uint32_t evaluations;
};

struct run_tally {
    uint32_t workers_count;
    struct run_tally_worker *workers;
    void (*row)(const struct run_row *row, void *user);
    void *user;
    struct tally_row *rows; /* By clock modulo their number. */
    uint64_t given;         /* All clocks up to here have been given out. */
    uint64_t newest;        /* The last clock that somebody ended. */
    struct run_row last;
    struct run_tally_score score;
    double history[RUN_TALLY_HISTORY];
    uint32_t history_count;
};

enum err run_tally_create(uint32_t workers, void (*row)(const struct run_row *row, void *user),
                          void *user, struct run_tally **tally_out)
{
    struct run_tally *t = mem_zalloc(sizeof(*t));

    if (t != NULL) {
        t->workers = mem_calloc(workers, sizeof(*t->workers));
        t->rows = mem_calloc(RUN_TALLY_ROWS_MAX, sizeof(*t->rows));
    }
    if (t == NULL || t->workers == NULL || t->rows == NULL) {
        run_tally_destroy(t);
        return ERR_NOMEM;
    }
    t->workers_count = workers;
    t->row = row;
    t->user = user;
    t->score = (struct run_tally_score){.objective = NAN, .accuracy = NAN};
    t->last = (struct run_row){.loss = NAN, .objective = NAN, .accuracy = NAN};
    *tally_out = t;
    return OK;
}

void run_tally_destroy(struct run_tally *t)
{
    if (t != NULL) {
        mem_free(t->workers);
        mem_free(t->rows);
        mem_free(t);
    }
}

static struct tally_row *tally_row(struct run_tally *t, uint64_t clock)
{
    return &t->rows[clock % RUN_TALLY_ROWS_MAX];
}

/* Oldest first; half of them go when there is no room, every other one. */
static void tally_remember(struct run_tally *t, double objective)
{
    if (t->history_count == RUN_TALLY_HISTORY) {
        for (uint32_t i = 0; i < RUN_TALLY_HISTORY / 2; i++) {
            t->history[i] = t->history[2 * i + 1];
        }
        t->history_count = RUN_TALLY_HISTORY / 2;
    }
    t->history[t->history_count++] = objective;
}

/* The evaluation of a clock, if it is the newest that is complete. */
static void tally_score(struct run_tally *t, const struct tally_row *r)
{
    if (r->evaluations == 0 || r->row.clock <= t->score.clock) {
        return;
    }
    t->score = (struct run_tally_score){
        .clock = r->row.clock,
        .judged = r->objective_count > 0,
        .objective = r->objective_count > 0 ? r->objective_sum / r->objective_count : NAN,
        .accuracy = r->tested > 0 ? r->correct / r->tested : NAN,
    };
    tally_remember(t, t->score.objective);
}

/* Sums become means, and the row goes. */
static void tally_give(struct run_tally *t, struct tally_row *r)
{
    struct run_row *row = &r->row;
    double all = row->workers;

    t->given = row->clock;
    tally_score(t, r);
    if (all > 0) {
        row->loss = row->samples > 0 ? r->loss_sum / row->samples : NAN;
        row->evaluated = r->evaluations > 0;
        row->objective =
            r->objective_count > 0 ? r->objective_sum / r->objective_count : (double)NAN;
        row->accuracy = r->tested > 0 ? r->correct / r->tested : (double)NAN;
        row->read_s /= all;
        row->compute_s /= all;
        row->end_s /= all;
        t->last = *row;
        if (t->row != NULL) {
            t->row(row, t->user);
        }
    }
    memset(r, 0, sizeof(*r));
}

/* The row of that clock, or NULL if it has been given out. */
static struct tally_row *tally_open(struct run_tally *t, uint64_t clock)
{
    struct tally_row *r;

    if (clock <= t->given) {
        return NULL;
    }
    while (clock > t->given + RUN_TALLY_ROWS_MAX) {
        r = tally_row(t, t->given + 1);
        r->row.clock = t->given + 1;
        tally_give(t, r);
    }
    t->newest = clock > t->newest ? clock : t->newest;
    r = tally_row(t, clock);
    r->row.clock = clock;
    return r;
}

/* Give out the rows that nobody who is there will add to. */
static void tally_settle(struct run_tally *t)
{
    uint64_t end = t->newest;
    bool any = false;

    for (uint32_t i = 0; i < t->workers_count; i++) {
        const struct run_tally_worker *w = &t->workers[i];

        /* It may still judge the clock that it ended last. */
        if (w->in) {
            uint64_t past = w->clock > 0 ? w->clock - 1 : 0;

            end = past < end ? past : end;
            any = true;
        }
    }
    while (any && t->given < end) {
        struct tally_row *r = tally_row(t, t->given + 1);

        r->row.clock = t->given + 1;
        tally_give(t, r);
    }
}

/* Has everybody judged that clock who is there? */
static bool tally_judged(const struct run_tally *t, uint64_t clock)
{
    for (uint32_t i = 0; i < t->workers_count; i++) {
        if (t->workers[i].in && t->workers[i].evaluated < clock) {
            return false;
        }
    }
    return true;
}

/* An evaluation counts for people as soon as all have judged, which is before its row is given. */
static void tally_look(struct run_tally *t, const struct tally_row *r)
{
    if (tally_judged(t, r->row.clock)) {
        tally_score(t, r);
    }
}

void run_tally_joined(struct run_tally *t, uint32_t rank, uint64_t clock)
{
    struct run_tally_worker *w = &t->workers[rank];

    w->in = true;
    w->done = false;
    w->lives++;
    w->clock = clock - 1;
}

void run_tally_clock(struct run_tally *t, uint32_t rank, const struct run_clock *c, int64_t now_ns)
{
    struct run_tally_worker *w = &t->workers[rank];
    struct tally_row *r = tally_open(t, c->clock);

    w->clock = c->next - 1;
    w->clocks++;
    w->rebased += c->rebased;
    w->samples += c->samples;
    w->elements += c->elements;
    for (uint32_t i = 0; i < RUN_PARTS; i++) {
        w->large[i] += c->large[i];
    }
    node_sparsify_totals_add(&w->sparsified, &c->sparsified);
    w->read_ns += c->read_ns;
    w->compute_ns += c->compute_ns;
    w->end_ns += c->end_ns;
    if (r != NULL) {
        r->row.workers++;
        r->row.rebased += c->rebased;
        r->row.upper += c->upper;
        r->row.samples += c->samples;
        r->loss_sum += c->loss_sum;
        r->row.read_s += (double)c->read_ns * 1e-9;
        r->row.compute_s += (double)c->compute_ns * 1e-9;
        r->row.end_s += (double)c->end_ns * 1e-9;
        r->row.now_ns = now_ns > r->row.now_ns ? now_ns : r->row.now_ns;
    }
    tally_settle(t);
}

void run_tally_evaluated(struct run_tally *t, uint32_t rank, const struct run_evaluation *e,
                         int64_t now_ns)
{
    struct tally_row *r = tally_open(t, e->clock);

    t->workers[rank].evaluated = e->clock;
    if (r == NULL) {
        return;
    }
    r->evaluations++;
    r->objective_sum += e->score.objective_sum;
    r->objective_count += e->score.count;
    r->correct += e->score.correct;
    r->tested += e->score.tested;
    r->row.now_ns = now_ns > r->row.now_ns ? now_ns : r->row.now_ns;
    tally_look(t, r);
}

void run_tally_left(struct run_tally *t, uint32_t rank)
{
    t->workers[rank].in = false;
    t->workers[rank].done = true;
    tally_settle(t);
}

void run_tally_away(struct run_tally *t, uint32_t rank)
{
    t->workers[rank].in = false;
    tally_settle(t);
}

void run_tally_finish(struct run_tally *t)
{
    while (t->given < t->newest) {
        struct tally_row *r = tally_row(t, t->given + 1);

        r->row.clock = t->given + 1;
        if (!tally_judged(t, r->row.clock)) {
            /* Only some got that far, and of what they saw nothing can be said of all. */
            r->evaluations = 0;
            r->objective_count = 0;
            r->tested = 0;
        }
        tally_give(t, r);
    }
}

uint32_t run_tally_workers(const struct run_tally *t)
{
    return t->workers_count;
}

const struct run_tally_worker *run_tally_worker(const struct run_tally *t, uint32_t rank)
{
    CHECK(rank < t->workers_count);
    return &t->workers[rank];
}

uint64_t run_tally_clock_all(const struct run_tally *t)
{
    uint64_t here = UINT64_MAX, all = UINT64_MAX;

    for (uint32_t i = 0; i < t->workers_count; i++) {
        const struct run_tally_worker *w = &t->workers[i];

        all = w->clock < all ? w->clock : all;
        here = w->in && w->clock < here ? w->clock : here;
    }
    return here != UINT64_MAX ? here : all;
}

const struct run_row *run_tally_last(const struct run_tally *t)
{
    return &t->last;
}

const struct run_tally_score *run_tally_score(const struct run_tally *t)
{
    return &t->score;
}

const double *run_tally_history(const struct run_tally *t, uint32_t *count_out)
{
    *count_out = t->history_count;
    return t->history;
}

struct node_sparsify_totals run_tally_sparsified(const struct run_tally *t)
{
    struct node_sparsify_totals sum = {0};

    for (uint32_t i = 0; i < t->workers_count; i++) {
        node_sparsify_totals_add(&sum, &t->workers[i].sparsified);
    }
    return sum;
}

double run_tally_waiting(const struct run_tally *t)
{
    double waiting = 0, all = 0;

    for (uint32_t i = 0; i < t->workers_count; i++) {
        const struct run_tally_worker *w = &t->workers[i];

        waiting += (double)(w->read_ns + w->end_ns);
        all += (double)(w->read_ns + w->end_ns + w->compute_ns);
    }
    return all > 0 ? waiting / all : 0;
}
