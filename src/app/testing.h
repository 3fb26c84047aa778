/* What the tests of the jobs share: tables in memory, and several workers of one job in lock-step
 * over them. A round is bulk-synchronous: every worker steps with the same values, then the
 * updates are summed in the order of the workers and applied. All of it is written naively, and
 * apart from src/table, which this module may not know; see table/apply.h for what it imitates.
 *
 * Included by tests only; each is one program, so all functions are static. */

#ifndef APP_TESTING_H
#define APP_TESTING_H

#include "app/app.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TESTING_WORKERS_MAX = 64 };

/* How a table's update enters it: app_table.apply in pieces. */
struct testing_apply {
    char kind[16];
    char decay[16]; /* Empty: none. */
    double lr, mu, eps, factor, every, warmup;
};

struct testing_table {
    struct app_table is;
    struct testing_apply apply;
    size_t elements;
    float *values;
    float *state; /* Momentum, or the sum of squares. */
    float *sum;   /* Of this round's updates. */
};

struct testing_cluster {
    uint32_t workers;
    struct app *apps[TESTING_WORKERS_MAX];
    uint32_t table_count;
    struct testing_table tables[APP_TABLES_MAX];
    uint64_t clock;        /* Rounds done. */
    struct app_step total; /* Of the last round, over all workers. */
};

static inline void *testing_array(size_t count, size_t size)
{
    void *p = calloc(count == 0 ? 1 : count, size);

    assert_non_null(p);
    return p;
}

static inline double testing_number(const char *spec, const char *key, double fallback)
{
    const char *at = strstr(spec, key);

    return at == NULL ? fallback : strtod(at + strlen(key), NULL);
}

static inline void testing_apply_parse(const char *spec, struct testing_apply *out)
{
    const char *decay = strstr(spec, "decay=");

    memset(out, 0, sizeof(*out));
    assert_int_equal(sscanf(spec, "%15s", out->kind), 1);
    if (decay != NULL) {
        assert_int_equal(sscanf(decay, "decay=%15s", out->decay), 1);
    }
    out->lr = testing_number(spec, "lr=", 0);
    out->mu = testing_number(spec, "mu=", 0);
    out->eps = testing_number(spec, "eps=", 1e-8);
    out->factor = testing_number(spec, "factor=", 1);
    out->every = testing_number(spec, "every=", 1);
    out->warmup = testing_number(spec, "warmup=", 0);
}

/* The learning rate of a round. */
static inline float testing_rate(const struct testing_apply *a, uint64_t clock)
{
    double lr = a->lr, t = (double)clock;

    if (strcmp(a->decay, "sqrt") == 0) {
        lr /= sqrt(t);
    } else if (strcmp(a->decay, "step") == 0) {
        lr *= pow(a->factor, floor((t - 1) / a->every));
    } else if (strcmp(a->decay, "exp") == 0) {
        lr *= pow(a->factor, t - 1);
    } else {
        assert_true(a->decay[0] == '\0' || strcmp(a->decay, "none") == 0);
    }
    return (float)(t < a->warmup ? lr * t / a->warmup : lr);
}

/* Enter the sum @u times @scale into the values. */
static inline void testing_apply_run(const struct testing_apply *a, uint64_t clock, float scale,
                                     float *w, float *state, const float *u, size_t count)
{
    float lr = testing_rate(a, clock);

    for (size_t i = 0; i < count; i++) {
        float x = u[i] * scale;

        if (strcmp(a->kind, "add") == 0) {
            w[i] += x;
        } else if (strcmp(a->kind, "sgd") == 0) {
            w[i] -= lr * x;
        } else if (strcmp(a->kind, "momentum") == 0) {
            state[i] = (float)a->mu * state[i] + x;
            w[i] -= lr * state[i];
        } else {
            assert_string_equal(a->kind, "adagrad");
            state[i] += x * x;
            w[i] -= lr * x / (sqrtf(state[i]) + (float)a->eps);
        }
    }
}

/* Fill as app_table.init says; the numbers are not those of table/init.h, but as good. */
static inline void testing_init(const struct app_table *is, float *out, size_t count)
{
    double value = 0;
    char kind[16];
    struct rng r;

    rng_init(&r, hash_text(is->name));
    assert_true(sscanf(is->init, "%15s %lf", kind, &value) >= 1);
    for (size_t i = 0; i < count; i++) {
        double x = 0;

        if (strcmp(kind, "uniform") == 0) {
            x = (rng_unit(&r) * 2 - 1) * value;
        } else if (strcmp(kind, "normal") == 0) {
            for (int k = 0; k < 12; k++) {
                x += rng_unit(&r);
            }
            x = (x - 6) * value;
        } else if (strcmp(kind, "constant") == 0) {
            x = value;
        } else {
            assert_string_equal(kind, "zeros");
        }
        out[i] = (float)x;
    }
}

static inline void testing_open_tables(struct testing_cluster *c)
{
    struct app_table tables[APP_TABLES_MAX], again[APP_TABLES_MAX];

    memset(tables, 0, sizeof(tables));
    c->table_count = c->apps[0]->ops->tables(c->apps[0], tables);
    assert_in_range(c->table_count, 1, APP_TABLES_MAX);
    for (uint32_t w = 1; w < c->workers; w++) {
        /* All workers want the same tables, or the job cannot run. */
        memset(again, 0, sizeof(again));
        assert_int_equal(c->apps[w]->ops->tables(c->apps[w], again), c->table_count);
        assert_memory_equal(again, tables, sizeof(tables));
    }
    for (uint32_t i = 0; i < c->table_count; i++) {
        struct testing_table *t = &c->tables[i];

        t->is = tables[i];
        t->elements = (size_t)t->is.rows * t->is.width;
        assert_true(t->elements > 0);
        t->values = testing_array(t->elements, sizeof(float));
        t->state = testing_array(t->elements, sizeof(float));
        t->sum = testing_array(t->elements, sizeof(float));
        testing_apply_parse(t->is.apply, &t->apply);
        testing_init(&t->is, t->values, t->elements);
    }
}

/* Create config->workers workers of the job; config->rank and config->job do not matter. */
static inline void testing_open(struct testing_cluster *c, const struct app_ops *ops,
                                const struct app_config *config)
{
    struct app_config mine = *config;
    struct err_text text = {""};

    memset(c, 0, sizeof(*c));
    assert_in_range(config->workers, 1, TESTING_WORKERS_MAX);
    c->workers = config->workers;
    mine.job = ops->name;
    for (uint32_t w = 0; w < c->workers; w++) {
        mine.rank = w;
        if (ops->create(&mine, &c->apps[w], &text) != OK) {
            fail_msg("worker %u of %u: %s", w, c->workers, text.text);
        }
        assert_ptr_equal(c->apps[w]->ops, ops);
    }
    testing_open_tables(c);
}

static inline void testing_close(struct testing_cluster *c)
{
    for (uint32_t w = 0; w < c->workers; w++) {
        c->apps[w]->ops->destroy(c->apps[w]);
    }
    for (uint32_t i = 0; i < c->table_count; i++) {
        free(c->tables[i].values);
        free(c->tables[i].state);
        free(c->tables[i].sum);
    }
    memset(c, 0, sizeof(*c));
}

/* What one worker sees of a table: blocks of just the right size, so that the sanitizer sees a
 * step too far. */
static inline struct app_view testing_view_open(struct testing_cluster *c, struct app *app,
                                                uint32_t table)
{
    struct testing_table *t = &c->tables[table];
    uint32_t width = t->is.width, count = (uint32_t)t->is.rows;
    const uint32_t *rows = NULL;
    struct app_view view = {0};
    uint32_t *copy = NULL;
    float *values;

    if (t->is.access == APP_ROWS) {
        assert_int_equal(app->ops->rows(app, c->clock + 1, table, &rows, &count), OK);
        copy = testing_array(count, sizeof(uint32_t));
        view.rows = copy;
        view.row_count = count;
    }
    values = testing_array((size_t)count * width, sizeof(float));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = copy == NULL ? i : rows[i];

        assert_true(row < t->is.rows);
        if (copy != NULL) {
            assert_true(i == 0 || row > copy[i - 1]);
            copy[i] = row;
        }
        memcpy(values + (size_t)i * width, t->values + (size_t)row * width, width * sizeof(float));
    }
    view.values = values;
    view.update = testing_array((size_t)count * width, sizeof(float));
    return view;
}

/* Add what the worker wrote to the sum of the round. */
static inline void testing_view_close(struct testing_table *t, struct app_view *view, float weight)
{
    uint32_t width = t->is.width;
    uint32_t count = view->rows == NULL ? (uint32_t)t->is.rows : view->row_count;

    for (uint32_t i = 0; i < count; i++) {
        float *sum = t->sum + (size_t)(view->rows == NULL ? i : view->rows[i]) * width;

        for (uint32_t k = 0; k < width; k++) {
            float u = view->update[(size_t)i * width + k];

            assert_true(isfinite(u));
            sum[k] += u * weight;
        }
    }
    free((void *)(uintptr_t)view->rows);
    free((void *)(uintptr_t)view->values);
    free(view->update);
}

static inline void testing_step(struct testing_cluster *c, struct app *app)
{
    struct app_step step = {.clock = c->clock + 1};
    struct app_view views[APP_TABLES_MAX];
    uint64_t allocations;

    for (uint32_t i = 0; i < c->table_count; i++) {
        views[i] = testing_view_open(c, app, i);
    }
    allocations = mem_allocations();
    assert_int_equal(app->ops->step(app, views, &step), OK);
    assert_int_equal(mem_allocations(), allocations);
    assert_true(step.samples > 0 && isfinite(step.loss_sum));
    assert_true(step.flops >= 0 && isfinite(step.flops));
    for (uint32_t i = 0; i < c->table_count; i++) {
        struct testing_table *t = &c->tables[i];
        bool weighted = strcmp(t->is.combine, "samples") == 0;

        testing_view_close(t, &views[i], weighted ? (float)step.samples : 1);
    }
    c->total.samples += step.samples;
    c->total.loss_sum += step.loss_sum;
    c->total.flops += step.flops;
}

/* One clock of all workers. */
static inline void testing_round(struct testing_cluster *c)
{
    memset(&c->total, 0, sizeof(c->total));
    for (uint32_t i = 0; i < c->table_count; i++) {
        memset(c->tables[i].sum, 0, c->tables[i].elements * sizeof(float));
    }
    for (uint32_t w = 0; w < c->workers; w++) {
        testing_step(c, c->apps[w]);
    }
    c->clock++;
    c->total.clock = c->clock;
    for (uint32_t i = 0; i < c->table_count; i++) {
        struct testing_table *t = &c->tables[i];
        float scale = 1;

        if (strcmp(t->is.combine, "mean") == 0) {
            scale = 1 / (float)c->workers;
        } else if (strcmp(t->is.combine, "samples") == 0) {
            scale = 1 / (float)c->total.samples;
        } else {
            assert_string_equal(t->is.combine, "sum");
        }
        testing_apply_run(&t->apply, c->clock, scale, t->values, t->state, t->sum, t->elements);
    }
}

static inline void testing_rounds(struct testing_cluster *c, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        testing_round(c);
    }
}

/* Let every worker judge the model; the sums of all. */
static inline struct app_score testing_evaluate(struct testing_cluster *c)
{
    struct app_view views[APP_TABLES_MAX];
    struct app_score total = {0};

    memset(views, 0, sizeof(views));
    for (uint32_t i = 0; i < c->table_count; i++) {
        views[i].values = c->tables[i].values;
        views[i].row_count = (uint32_t)c->tables[i].is.rows;
    }
    for (uint32_t w = 0; w < c->workers; w++) {
        struct app_score score = {0};

        assert_int_equal(c->apps[w]->ops->evaluate(c->apps[w], views, &score), OK);
        assert_true(isfinite(score.objective_sum) && score.count >= 0);
        assert_true(score.correct >= 0 && score.correct <= score.tested);
        total.objective_sum += score.objective_sum;
        total.count += score.count;
        total.correct += score.correct;
        total.tested += score.tested;
    }
    return total;
}

static inline double testing_objective(struct testing_cluster *c)
{
    struct app_score score = testing_evaluate(c);

    return score.objective_sum / score.count;
}

/* Create one worker with the k-th allocation failing, for every k: it must say ERR_NOMEM and leave
 * nothing behind. */
static inline void testing_create_fails_clean(const struct app_ops *ops,
                                              const struct app_config *config)
{
    struct app_config mine = *config;
    struct app *app = NULL;
    enum err rc = ERR_NOMEM;
    uint64_t k;

    mine.job = ops->name;
    for (k = 1; rc == ERR_NOMEM; k++) {
        struct err_text text = {""};
        uint64_t failures = mem_failures();

        mem_fail_at(k, 1);
        rc = ops->create(&mine, &app, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        assert_int_equal(mem_failures() - failures, rc == ERR_NOMEM);
    }
    assert_true(k > 2);
    ops->destroy(app);
}

#endif
