/* Logistic regression on sparse data (F9): p(positive) = 1 / (1 + exp(-w . x)).
 *
 * The weights are the table "w", rows of so many features as the option width says: weight f is
 * element f % width of row f / width, and weight 0 is the bias. In a clock a worker reads the rows
 * of a batch of its samples and pushes the mean gradient over them, which the servers weigh by
 * samples: n workers do what one does with a batch n times as large.
 *
 * Regularisation is lazy: a sample adds l2 * w to the gradient of just those weights that it uses,
 * not of the bias. Every tenth sample of all data is never trained on, but tested.
 *
 * exp() and log1p() are those of libm: the same library gives the same bits, another one may differ
 * in the last place. */

#include "app/batch.h"
#include "app/file.h"
#include "app/jobs.h"
#include "app/libsvm.h"
#include "app/option.h"
#include "app/sparse.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LOGREG_TEST_EVERY = 10,     /* Samples, of which the last is for the test. */
    LOGREG_FLOPS_PER_ENTRY = 6, /* Two for the score, four for the gradient. */
    LOGREG_FLOPS_PER_SAMPLE = 40,
    LOGREG_STREAM_ORDER = 1,
    LOGREG_CLOCKS_MAX = 1000000,
};

struct logreg {
    struct app app;
    struct libsvm data;
    uint32_t *train; /* Samples to train on; the batch has places in this list. */
    uint32_t train_count;
    struct batch batch;
    struct sparse_set touched; /* Rows of this clock. */
    uint64_t clock;            /* Which that is; zero: none yet. */
    const uint32_t *order;     /* Its samples, as places in .train. */
    uint32_t order_count;
    uint32_t width;
    double lr;
    uint32_t warmup; /* Clocks over which the rate grows. */
    double l2;
    const char *optimiser; /* As table/apply.h calls it. */
    uint64_t seed;
};

static const char *const logreg_generated_keys[] = {"samples", "features", "nonzeros", NULL};
static const char *const logreg_keys[] = {"batch",     "lr",       "warmup",   "l2",
                                          "optimiser", "width",    "unit",     "threshold",
                                          "samples",   "features", "nonzeros", NULL};

static void logreg_destroy(struct app *app)
{
    struct logreg *l = (struct logreg *)app;

    if (l == NULL) {
        return;
    }
    libsvm_deinit(&l->data);
    mem_free(l->train);
    batch_deinit(&l->batch);
    sparse_set_deinit(&l->touched);
    mem_free(l);
}

static enum err logreg_load(struct logreg *l, const struct app_config *c, double threshold,
                            struct err_text *text)
{
    uint8_t *bytes;
    size_t size;
    enum err rc = app_file_read(c->data, APP_FILE_BYTES_MAX, &bytes, &size, text);

    if (rc == OK) {
        rc = libsvm_parse(c->data, bytes, size, threshold, c->rank, c->workers, &l->data, text);
        mem_free(bytes);
    }
    return rc;
}

static enum err logreg_generate(struct logreg *l, const struct app_config *c, struct err_text *text)
{
    struct libsvm_plan plan = {.seed = c->seed};
    enum err rc = app_option_u32(c, "samples", 20000, 1, LIBSVM_SAMPLES_MAX, &plan.samples, text);

    if (rc == OK) {
        rc = app_option_u32(c, "features", 2000, 1, LIBSVM_FEATURES_MAX, &plan.features, text);
    }
    if (rc == OK) {
        uint32_t fallback = plan.features < 20 ? plan.features : 20;

        rc = app_option_u32(c, "nonzeros", fallback, 1, plan.features, &plan.nonzeros, text);
    }
    if (rc == OK) {
        rc = libsvm_generate(&plan, c->rank, c->workers, &l->data);
    }
    return rc;
}

static enum err logreg_read_optimiser(struct logreg *l, const struct app_config *c,
                                      struct err_text *text)
{
    const char *name = app_option_text(c, "optimiser", "adagrad");

    if (strcmp(name, "adagrad") != 0 && strcmp(name, "sgd") != 0) {
        return err_text_set(text, ERR_INVALID,
                            "job %s, option optimiser: '%.32s' is not adagrad or sgd", c->job,
                            name);
    }
    l->optimiser = name[0] == 'a' ? "adagrad" : "sgd";
    return OK;
}

struct logreg_options {
    uint32_t batch;
    uint32_t unit;
    double threshold;
};

static enum err logreg_read_options(struct logreg *l, const struct app_config *c,
                                    struct logreg_options *o, struct err_text *text)
{
    enum err rc = app_option_check(c, logreg_keys, text);

    if (rc == OK) {
        rc = app_option_generated(c, logreg_generated_keys, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "batch", 200, 1, 1 << 24, &o->batch, text);
    }
    if (rc == OK) {
        rc = app_option_double(c, "lr", 0.1, 1e-9, 1e3, &l->lr, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "warmup", 0, 0, LOGREG_CLOCKS_MAX, &l->warmup, text);
    }
    if (rc == OK) {
        rc = app_option_double(c, "l2", 0, 0, 10, &l->l2, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "width", 16, 1, 4096, &l->width, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "unit", 0, 0, 1, &o->unit, text);
    }
    if (rc == OK) {
        rc = app_option_double(c, "threshold", 0, -1e9, 1e9, &o->threshold, text);
    }
    return rc == OK ? logreg_read_optimiser(l, c, text) : rc;
}

/* Make every sample a vector of length one. */
static void logreg_make_unit(struct libsvm *data)
{
    for (uint32_t i = 0; i < data->count; i++) {
        double squares = 0;

        for (uint64_t k = data->starts[i]; k < data->starts[i + 1]; k++) {
            squares += (double)data->entries[k].value * (double)data->entries[k].value;
        }
        for (uint64_t k = data->starts[i]; squares > 0 && k < data->starts[i + 1]; k++) {
            data->entries[k].value = (float)((double)data->entries[k].value / sqrt(squares));
        }
    }
}

static bool logreg_is_test(const struct logreg *l, uint32_t sample)
{
    return (l->data.first + sample) % LOGREG_TEST_EVERY == LOGREG_TEST_EVERY - 1;
}

static uint32_t logreg_row_count(const struct logreg *l)
{
    return l->data.features / l->width + 1;
}

static enum err logreg_prepare(struct logreg *l, uint32_t worker, uint32_t batch)
{
    struct rng seed, order;
    enum err rc;

    l->train = mem_calloc(l->data.count, sizeof(*l->train));
    if (l->train == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < l->data.count; i++) {
        if (!logreg_is_test(l, i)) {
            l->train[l->train_count++] = i;
        }
    }
    rng_init(&seed, l->seed);
    order = rng_fork(&seed, LOGREG_STREAM_ORDER);
    order = rng_fork(&order, worker);
    rc = batch_init(&l->batch, l->train_count, batch, &order);
    return rc == OK ? sparse_set_init(&l->touched, logreg_row_count(l)) : rc;
}

static enum err logreg_create(const struct app_config *c, struct app **app_out,
                              struct err_text *text)
{
    struct logreg *l = mem_zalloc(sizeof(*l));
    struct logreg_options o = {0};
    enum err rc;

    if (l == NULL) {
        return err_text_set(text, ERR_NOMEM, "job %s: out of memory", c->job);
    }
    l->app.ops = &app_logreg;
    l->seed = c->seed;
    rc = logreg_read_options(l, c, &o, text);
    if (rc == OK) {
        rc = app_option_data(c) == NULL ? logreg_generate(l, c, text)
                                        : logreg_load(l, c, o.threshold, text);
    }
    if (rc == OK) {
        rc = logreg_prepare(l, c->rank, o.batch);
    }
    if (rc != OK) {
        logreg_destroy(&l->app);
        return rc == ERR_NOMEM ? err_text_set(text, rc, "job %s: out of memory", c->job) : rc;
    }
    if (o.unit != 0) {
        logreg_make_unit(&l->data);
    }
    *app_out = &l->app;
    return OK;
}

static uint32_t logreg_tables(const struct app *app, struct app_table *tables_out)
{
    const struct logreg *l = (const struct logreg *)app;
    struct app_table w = {.name = "w",
                          .rows = logreg_row_count(l),
                          .width = l->width,
                          .access = APP_ROWS,
                          .init = "zeros",
                          .combine = "samples"};

    if (l->warmup > 0) {
        (void)snprintf(w.apply, sizeof(w.apply), "%s lr=%.9g warmup=%u", l->optimiser, l->lr,
                       l->warmup);
    } else {
        (void)snprintf(w.apply, sizeof(w.apply), "%s lr=%.9g", l->optimiser, l->lr);
    }
    tables_out[0] = w;
    return 1;
}

/* Find the samples of a clock and the rows of their features. */
static void logreg_seek(struct logreg *l, uint64_t clock)
{
    if (clock == l->clock) {
        return;
    }
    l->clock = clock;
    l->order = batch_at(&l->batch, clock, &l->order_count);
    for (uint32_t i = 0; i < l->order_count; i++) {
        uint32_t sample = l->train[l->order[i]];

        sparse_set_add(&l->touched, 0); /* The bias. */
        for (uint64_t k = l->data.starts[sample]; k < l->data.starts[sample + 1]; k++) {
            sparse_set_add(&l->touched, l->data.entries[k].feature / l->width);
        }
    }
    sparse_set_list(&l->touched);
}

static enum err logreg_rows(struct app *app, uint64_t clock, uint32_t table,
                            const uint32_t **rows_out, uint32_t *count_out)
{
    struct logreg *l = (struct logreg *)app;

    CHECK(table == 0);
    logreg_seek(l, clock);
    *rows_out = l->touched.rows;
    *count_out = l->touched.count;
    return OK;
}

/* Where weight @feature is among the rows of this clock. */
static size_t logreg_place(const struct logreg *l, uint32_t feature)
{
    return (size_t)sparse_set_slot(&l->touched, feature / l->width) * l->width + feature % l->width;
}

/* -log p(the sample's class), without overflow. */
static double logreg_loss(double score, bool positive)
{
    double margin = positive ? score : -score;

    return margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin;
}

/* Add one sample's part of the mean gradient over @count samples. Returns its loss. */
static double logreg_descend(const struct logreg *l, const struct app_view *v, uint32_t sample,
                             uint32_t count)
{
    const struct libsvm_entry *first = l->data.entries + l->data.starts[sample];
    const struct libsvm_entry *end = l->data.entries + l->data.starts[sample + 1];
    bool positive = l->data.positive[sample];
    double score = (double)v->values[0];
    double slope, decay = l->l2 / count;

    for (const struct libsvm_entry *e = first; e < end; e++) {
        score += (double)v->values[logreg_place(l, e->feature)] * (double)e->value;
    }
    slope = (1 / (1 + exp(-score)) - (positive ? 1 : 0)) / count;
    v->update[0] += (float)slope;
    for (const struct libsvm_entry *e = first; e < end; e++) {
        size_t place = logreg_place(l, e->feature);

        v->update[place] += (float)(slope * (double)e->value + decay * (double)v->values[place]);
    }
    return logreg_loss(score, positive);
}

static enum err logreg_step(struct app *app, struct app_view *views, struct app_step *step)
{
    struct logreg *l = (struct logreg *)app;
    uint64_t entries = 0;
    double loss = 0;

    logreg_seek(l, step->clock);
    CHECK(views[0].row_count == l->touched.count);
    for (uint32_t i = 0; i < l->order_count; i++) {
        uint32_t sample = l->train[l->order[i]];

        entries += l->data.starts[sample + 1] - l->data.starts[sample];
        loss += logreg_descend(l, &views[0], sample, l->order_count);
    }
    step->samples = l->order_count == 0 ? 1 : l->order_count;
    step->loss_sum = loss;
    step->flops =
        (double)entries * LOGREG_FLOPS_PER_ENTRY + (double)l->order_count * LOGREG_FLOPS_PER_SAMPLE;
    return OK;
}

/* Log loss of the samples that are trained on, right answers of the others. */
static enum err logreg_evaluate(struct app *app, const struct app_view *views,
                                struct app_score *score_out)
{
    const struct logreg *l = (const struct logreg *)app;
    const float *w = views[0].values;
    struct app_score total = {0};

    for (uint32_t i = 0; i < l->data.count; i++) {
        double score = (double)w[0];

        for (uint64_t k = l->data.starts[i]; k < l->data.starts[i + 1]; k++) {
            /* Rows lie one after the other, so a feature's number is its place. */
            score += (double)w[l->data.entries[k].feature] * (double)l->data.entries[k].value;
        }
        if (logreg_is_test(l, i)) {
            total.tested++;
            total.correct += (score > 0) == l->data.positive[i];
        } else {
            total.count++;
            total.objective_sum += logreg_loss(score, l->data.positive[i]);
        }
    }
    *score_out = total;
    return OK;
}

const struct app_ops app_logreg = {
    .name = "logreg",
    .summary = "logistic regression on sparse samples",
    .objective = "log loss",
    .options_help = "batch=200 samples per clock and worker\n"
                    "optimiser=adagrad or sgd\n"
                    "lr=0.1 learning rate\n"
                    "warmup=0 clocks in which the rate grows from nothing to that\n"
                    "l2=0 regularisation of the weights that a sample uses\n"
                    "width=16 features per row of the table\n"
                    "unit=0 1: make every sample a vector of length one\n"
                    "threshold=0 a label above it is positive\n"
                    "samples=20000 generated data: samples\n"
                    "features=2000 generated data: features\n"
                    "nonzeros=20 generated data: features of a sample\n",
    .create = logreg_create,
    .destroy = logreg_destroy,
    .tables = logreg_tables,
    .rows = logreg_rows,
    .step = logreg_step,
    .evaluate = logreg_evaluate,
};
