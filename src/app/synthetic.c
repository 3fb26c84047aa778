/* A job without a model: so many bytes to move and so much time to compute per clock, with sums
 * that anybody can check.
 *
 * Element e of the table "model" has the weight 1 + e % 3, in units of 2^-fine, and each update
 * adds the weight to each element that it touches. So every element holds its weight times a whole
 * number, the number of updates that are in it; a lost, doubled or misplaced one shows. The
 * objective is the mean of these numbers: after t clocks of n workers it is n t (with rows of R: n
 * t rows / R), exactly, while an element holds less than 2^24, which is to say for five million
 * updates. The loss of a step is how many updates of earlier clocks its read missed: zero under a
 * barrier. */

#include "app/jobs.h"
#include "app/option.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>

enum {
    SYNTHETIC_WEIGHTS = 3,
    SYNTHETIC_WIDTH_MAX = 65535,
    SYNTHETIC_MB_MAX = 100 * 1000,
    SYNTHETIC_ELEMENTS_PER_MB = 1000 * 1000 / 4,
    SYNTHETIC_MS_MAX = 3600 * 1000,
    SYNTHETIC_FINE_MAX = 20,
};

struct synthetic {
    struct app app;
    uint32_t rank;
    uint32_t workers;
    uint64_t rows;
    uint32_t width;
    uint32_t touched;       /* Rows per clock; zero: all, as a dense table. */
    uint32_t *touched_rows; /* As asked for last. */
    struct rng order;
    double seconds;
    float unit;
};

static const char *const synthetic_keys[] = {"mb",   "elements",   "width", "rows",
                                             "fine", "compute_ms", NULL};

static float synthetic_weight(const struct synthetic *s, uint64_t element)
{
    return s->unit * (float)(1 + element % SYNTHETIC_WEIGHTS);
}

static void synthetic_destroy(struct app *a)
{
    struct synthetic *s = (struct synthetic *)a;

    if (s != NULL) {
        mem_free(s->touched_rows);
        mem_free(s);
    }
}

static enum err synthetic_read_size(struct synthetic *s, const struct app_config *c,
                                    struct err_text *text)
{
    uint32_t elements = 0;
    double mb = 0;
    uint64_t wanted;
    enum err rc = app_option_double(c, "mb", 1, 1e-6, SYNTHETIC_MB_MAX, &mb, text);

    if (rc == OK) {
        rc = app_option_u32(c, "elements", 0, 0, UINT32_MAX, &elements, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "width", 64, 1, SYNTHETIC_WIDTH_MAX, &s->width, text);
    }
    if (rc != OK) {
        return rc;
    }
    if (elements != 0 && app_option_text(c, "mb", NULL) != NULL) {
        return err_text_set(text, ERR_INVALID,
                            "job %s: mb and elements both say how large the model is; leave one of "
                            "them out",
                            c->job);
    }
    wanted = elements != 0 ? elements : (uint64_t)ceil(mb * SYNTHETIC_ELEMENTS_PER_MB);
    s->rows = (wanted + s->width - 1) / s->width;
    return OK;
}

static enum err synthetic_read_rest(struct synthetic *s, const struct app_config *c,
                                    struct err_text *text)
{
    uint32_t most = s->rows > UINT32_MAX ? UINT32_MAX : (uint32_t)s->rows;
    uint32_t fine = 0;
    double ms = 0;
    enum err rc = app_option_u32(c, "rows", 0, 0, most, &s->touched, text);

    if (rc == OK) {
        rc = app_option_u32(c, "fine", 0, 0, SYNTHETIC_FINE_MAX, &fine, text);
    }
    if (rc == OK) {
        rc = app_option_double(c, "compute_ms", 10, 0, SYNTHETIC_MS_MAX, &ms, text);
    }
    if (rc == OK && s->touched > 0 && s->rows > UINT32_MAX) {
        rc = err_text_set(text, ERR_INVALID,
                          "job %s: a model read by rows has at most %u of them; make them wider",
                          c->job, UINT32_MAX);
    }
    if (rc == OK && app_option_data(c) != NULL) {
        rc = err_text_set(text, ERR_INVALID, "job %s: it reads no data; leave %.200s out", c->job,
                          c->data);
    }
    s->seconds = ms / 1000;
    s->unit = 1.0F / (float)(1U << fine);
    return rc;
}

static enum err synthetic_fill(struct synthetic *s, const struct app_config *c,
                               struct err_text *text)
{
    enum err rc = app_option_check(c, synthetic_keys, text);
    struct rng seed;

    if (rc == OK) {
        rc = synthetic_read_size(s, c, text);
    }
    if (rc == OK) {
        rc = synthetic_read_rest(s, c, text);
    }
    if (rc == OK && s->touched > 0) {
        s->touched_rows = mem_calloc(s->touched, sizeof(*s->touched_rows));
        if (s->touched_rows == NULL) {
            rc = err_text_set(text, ERR_NOMEM, "job %s: out of memory", c->job);
        }
    }
    rng_init(&seed, c->seed);
    s->order = rng_fork(&seed, c->rank);
    return rc;
}

static enum err synthetic_create(const struct app_config *config, struct app **app_out,
                                 struct err_text *text)
{
    struct synthetic *s = mem_zalloc(sizeof(*s));
    enum err rc;

    if (s == NULL) {
        return err_text_set(text, ERR_NOMEM, "job %s: out of memory", config->job);
    }
    s->app.ops = &app_synthetic;
    s->rank = config->rank;
    s->workers = config->workers;
    rc = synthetic_fill(s, config, text);
    if (rc != OK) {
        synthetic_destroy(&s->app);
        return rc;
    }
    *app_out = &s->app;
    return OK;
}

static uint32_t synthetic_tables(const struct app *a, struct app_table *tables_out)
{
    const struct synthetic *s = (const struct synthetic *)a;

    tables_out[0] = (struct app_table){.name = "model",
                                       .rows = s->rows,
                                       .width = s->width,
                                       .access = s->touched > 0 ? APP_ROWS : APP_DENSE,
                                       .init = "zeros",
                                       .apply = "add",
                                       .combine = "sum"};
    return 1;
}

/* One row out of each of .touched stretches of the table: ascending, and spread all over it. */
static enum err synthetic_rows(struct app *a, uint64_t clock, uint32_t table,
                               const uint32_t **rows_out, uint32_t *count_out)
{
    struct synthetic *s = (struct synthetic *)a;
    struct rng r = rng_fork(&s->order, clock);

    CHECK(table == 0 && s->touched > 0);
    for (uint32_t i = 0; i < s->touched; i++) {
        uint64_t first, end;

        app_part(s->rows, i, s->touched, &first, &end);
        s->touched_rows[i] = (uint32_t)(first + rng_below(&r, end - first));
    }
    *rows_out = s->touched_rows;
    *count_out = s->touched;
    return OK;
}

static enum err synthetic_step(struct app *a, struct app_view *views, struct app_step *step)
{
    const struct synthetic *s = (const struct synthetic *)a;
    struct app_view *v = &views[0];
    uint64_t rows = v->rows == NULL ? s->rows : v->row_count;
    double due = (double)s->workers * (double)(step->clock - 1);
    float *update = v->update;

    for (uint64_t i = 0; i < rows; i++, update += s->width) {
        uint64_t first = (v->rows == NULL ? i : v->rows[i]) * s->width;

        for (uint32_t k = 0; k < s->width; k++) {
            update[k] = synthetic_weight(s, first + k);
        }
    }
    step->samples = 1;
    step->loss_sum = v->rows == NULL ? due - (double)v->values[0] / (double)s->unit : 0;
    step->flops = 0;
    step->seconds = s->seconds;
    return OK;
}

static enum err synthetic_evaluate(struct app *a, const struct app_view *views,
                                   struct app_score *score)
{
    const struct synthetic *s = (const struct synthetic *)a;
    uint64_t first, end, whole = 0;
    double sum = 0;

    app_part(s->rows * s->width, s->rank, s->workers, &first, &end);
    for (uint64_t e = first; e < end; e++) {
        double updates = (double)views[0].values[e] / (double)synthetic_weight(s, e);

        sum += updates;
        whole += updates >= 0 && updates == floor(updates);
    }
    *score = (struct app_score){.objective_sum = sum,
                                .count = (double)(end - first),
                                .correct = (double)whole,
                                .tested = (double)(end - first)};
    return OK;
}

const struct app_ops app_synthetic = {
    .name = "synthetic",
    .summary = "bytes to move and time to wait, with sums that can be checked",
    .objective = "updates in the model, per element",
    .rising = true,
    .options_help = "mb=1 size of the model, 10^6 bytes\n"
                    "elements=0 the same in elements of 4 bytes; 0: see mb\n"
                    "width=64 elements of a row; the model has whole rows\n"
                    "rows=0 rows that a clock reads and updates; 0: all\n"
                    "fine=0 updates are of units of 2^-fine: whole numbers are sent in less\n"
                    "compute_ms=10 time that a clock computes\n",
    .create = synthetic_create,
    .destroy = synthetic_destroy,
    .tables = synthetic_tables,
    .rows = synthetic_rows,
    .step = synthetic_step,
    .evaluate = synthetic_evaluate,
};
