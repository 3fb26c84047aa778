/* Matrix factorisation by stochastic gradient descent (G10, F9): rating(u, i) is about L[u] . R[i].
 *
 * A worker has its users' ratings and their rows of L; R is the table "r". In a clock it goes
 * through a batch of ratings one after the other, on a copy of the rows of R that they touch; the
 * update of a row is what it has become minus what was read. Nothing but + - * / and sqrt is used,
 * each in a fixed order, so the same calls give the same bits on every machine. */

#include "app/batch.h"
#include "app/file.h"
#include "app/jobs.h"
#include "app/option.h"
#include "app/ratings.h"
#include "app/sparse.h"
#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MF_LANES = 8,             /* Partial sums of a dot product. */
    MF_FLOPS_PER_FACTOR = 10, /* Two for the dot product, eight for both rows. */
    MF_RANK_MAX = 1024,
    MF_STREAM_L = 1, /* Of random numbers. */
    MF_STREAM_ORDER = 2,
};

struct mf {
    struct app app;
    struct ratings data;
    struct batch batch;
    struct sparse_set touched; /* Items of this clock. */
    uint64_t clock;            /* Which that is; zero: none yet. */
    const uint32_t *order;     /* Its ratings. */
    uint32_t order_count;
    float *l; /* user_count x rank */
    uint32_t rank;
    double lr;
    double decay;
    double lambda;
    uint64_t seed;
};

static const char *const mf_generated_keys[] = {"users",   "items", "ratings",
                                                "popular", "skew",  NULL};
static const char *const mf_keys[] = {"rank",  "lr",      "decay",   "lambda", "batch", "users",
                                      "items", "ratings", "popular", "skew",   NULL};

static void mf_destroy(struct app *app)
{
    struct mf *m = (struct mf *)app;

    if (m == NULL) {
        return;
    }
    ratings_deinit(&m->data);
    batch_deinit(&m->batch);
    sparse_set_deinit(&m->touched);
    mem_free(m->l);
    mem_free(m);
}

static enum err mf_load(struct mf *m, const struct app_config *c, struct err_text *text)
{
    uint8_t *bytes;
    size_t size;
    enum err rc = app_file_read(c->data, APP_FILE_BYTES_MAX, &bytes, &size, text);

    if (rc == OK) {
        rc = ratings_parse(c->data, bytes, size, c->rank, c->workers, &m->data, text);
        mem_free(bytes);
    }
    return rc;
}

static enum err mf_generate(struct mf *m, const struct app_config *c, struct err_text *text)
{
    struct ratings_plan plan = {.seed = c->seed};
    enum err rc = app_option_u32(c, "users", 2000, 1, 1 << 28, &plan.users, text);

    if (rc == OK) {
        rc = app_option_u32(c, "items", 1000, 1, 1 << 28, &plan.items, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "ratings", 100000, 1, RATINGS_COUNT_MAX, &plan.ratings, text);
    }
    if (rc == OK) {
        rc = app_option_double(c, "popular", 10, 1, 1e6, &plan.popular, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "skew", 2, 1, 64, &plan.skew, text);
    }
    if (rc == OK && plan.ratings > (uint64_t)plan.users * plan.items) {
        rc = err_text_set(text, ERR_INVALID,
                          "job %s: %u ratings are more than %u users and %u items can have; take "
                          "fewer ratings or more users",
                          c->job, plan.ratings, plan.users, plan.items);
    }
    if (rc == OK) {
        rc = ratings_generate(&plan, c->rank, c->workers, &m->data);
    }
    return rc;
}

static enum err mf_read_options(struct mf *m, const struct app_config *c, uint32_t *batch_out,
                                struct err_text *text)
{
    enum err rc = app_option_check(c, mf_keys, text);

    if (rc == OK) {
        rc = app_option_generated(c, mf_generated_keys, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "rank", 16, 1, MF_RANK_MAX, &m->rank, text);
    }
    if (rc == OK) {
        rc = app_option_double(c, "lr", 0.02, 1e-9, 10, &m->lr, text);
    }
    if (rc == OK) {
        rc = app_option_double(c, "decay", 0, 0, 1e6, &m->decay, text);
    }
    if (rc == OK) {
        rc = app_option_double(c, "lambda", 0.05, 0, 10, &m->lambda, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "batch", 1000, 1, 1 << 24, batch_out, text);
    }
    return rc;
}

/* A user's row of L depends on the seed and on the user only, whoever has it. */
static void mf_init_l(struct mf *m)
{
    double most = 1 / sqrt(m->rank);
    struct rng seed, users;

    rng_init(&seed, m->seed);
    users = rng_fork(&seed, MF_STREAM_L);
    for (uint32_t user = 0; user < m->data.user_count; user++) {
        struct rng r = rng_fork(&users, m->data.user_first + user);

        for (uint32_t k = 0; k < m->rank; k++) {
            m->l[(size_t)user * m->rank + k] = (float)((rng_unit(&r) * 2 - 1) * most);
        }
    }
}

/* Ratings count from this worker's mean, so that the factors need not learn it first. */
static void mf_centre(struct mf *m)
{
    double sum = 0;

    for (uint32_t i = 0; i < m->data.count; i++) {
        sum += (double)m->data.list[i].value;
    }
    for (uint32_t i = 0; i < m->data.count; i++) {
        m->data.list[i].value -= (float)(sum / m->data.count);
    }
}

static enum err mf_prepare(struct mf *m, uint32_t worker, uint32_t batch)
{
    struct rng seed, order;
    enum err rc;

    rng_init(&seed, m->seed);
    order = rng_fork(&seed, MF_STREAM_ORDER);
    order = rng_fork(&order, worker);
    rc = batch_init(&m->batch, m->data.count, batch, &order);
    if (rc == OK) {
        rc = sparse_set_init(&m->touched, m->data.items);
    }
    if (rc == OK) {
        m->l = mem_calloc((size_t)m->data.user_count * m->rank, sizeof(*m->l));
        rc = m->l == NULL ? ERR_NOMEM : OK;
    }
    if (rc == OK) {
        mf_init_l(m);
        mf_centre(m);
    }
    return rc;
}

static enum err mf_create(const struct app_config *c, struct app **app_out, struct err_text *text)
{
    struct mf *m = mem_zalloc(sizeof(*m));
    uint32_t batch = 0;
    enum err rc;

    if (m == NULL) {
        return err_text_set(text, ERR_NOMEM, "job %s: out of memory", c->job);
    }
    m->app.ops = &app_mf;
    m->seed = c->seed;
    rc = mf_read_options(m, c, &batch, text);
    if (rc == OK) {
        rc = app_option_data(c) == NULL ? mf_generate(m, c, text) : mf_load(m, c, text);
    }
    if (rc == OK) {
        rc = mf_prepare(m, c->rank, batch);
    }
    if (rc != OK) {
        mf_destroy(&m->app);
        return rc == ERR_NOMEM ? err_text_set(text, rc, "job %s: out of memory", c->job) : rc;
    }
    *app_out = &m->app;
    return OK;
}

static uint32_t mf_tables(const struct app *app, struct app_table *tables_out)
{
    const struct mf *m = (const struct mf *)app;
    struct app_table r = {.name = "r",
                          .rows = m->data.items,
                          .width = m->rank,
                          .access = APP_ROWS,
                          .apply = "add",
                          .combine = "sum"};

    (void)snprintf(r.init, sizeof(r.init), "uniform %.6f", 1 / sqrt(m->rank));
    app_table_seed(&r, m->seed);
    tables_out[0] = r;
    return 1;
}

/* Find the ratings of a clock and the items in them. */
static void mf_seek(struct mf *m, uint64_t clock)
{
    if (clock == m->clock) {
        return;
    }
    m->clock = clock;
    m->order = batch_at(&m->batch, clock, &m->order_count);
    for (uint32_t i = 0; i < m->order_count; i++) {
        sparse_set_add(&m->touched, m->data.list[m->order[i]].item);
    }
    sparse_set_list(&m->touched);
}

static enum err mf_rows(struct app *app, uint64_t clock, uint32_t table, const uint32_t **rows_out,
                        uint32_t *count_out)
{
    struct mf *m = (struct mf *)app;

    CHECK(table == 0);
    mf_seek(m, clock);
    *rows_out = m->touched.rows;
    *count_out = m->touched.count;
    return OK;
}

/* Four floats that are added and multiplied at once, from any place. */
typedef float mf_four __attribute__((vector_size(16), aligned(4), may_alias));

/* Element k goes to lane k % 8, and the lanes are added in pairs: an order that compilers keep in
 * vectors, whichever they have. */
static float mf_dot(const float *a, const float *b, uint32_t count)
{
    mf_four low = {0}, high = {0};
    float lanes[MF_LANES];
    uint32_t k = 0;

    for (; k + MF_LANES <= count; k += MF_LANES) {
        low += *(const mf_four *)(a + k) * *(const mf_four *)(b + k);
        high += *(const mf_four *)(a + k + 4) * *(const mf_four *)(b + k + 4);
    }
    memcpy(lanes, &low, sizeof(low));
    memcpy(lanes + 4, &high, sizeof(high));
    for (uint32_t j = 0; k < count; j++, k++) {
        lanes[j] += a[k] * b[k];
    }
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/* One step down the slope of (x - l.r)^2 + lambda (l.l + r.r), halved, for both rows. */
static void mf_descend(float *restrict l, float *restrict r, uint32_t count, float error, float lr,
                       float lambda)
{
    for (uint32_t k = 0; k < count; k++) {
        float lk = l[k], rk = r[k];

        l[k] = lk + lr * (error * rk - lambda * lk);
        r[k] = rk + lr * (error * lk - lambda * rk);
    }
}

static enum err mf_step(struct app *app, struct app_view *views, struct app_step *step)
{
    struct mf *m = (struct mf *)app;
    float lr = (float)(m->lr / sqrt(1 + m->decay * (double)(step->clock - 1)));
    const struct app_view *v = &views[0];
    size_t elements = (size_t)v->row_count * m->rank;
    float lambda = (float)m->lambda;
    double loss = 0;

    mf_seek(m, step->clock);
    CHECK(v->row_count == m->touched.count);
    if (elements > 0) {
        memcpy(v->update, v->values, elements * sizeof(float));
    }
    for (uint32_t i = 0; i < m->order_count; i++) {
        const struct rating *x = &m->data.list[m->order[i]];
        float *l = m->l + (size_t)x->user * m->rank;
        float *r = v->update + (size_t)sparse_set_slot(&m->touched, x->item) * m->rank;
        float error = x->value - mf_dot(l, r, m->rank);

        loss += (double)error * (double)error;
        mf_descend(l, r, m->rank, error, lr, lambda);
    }
    for (size_t k = 0; k < elements; k++) {
        v->update[k] -= v->values[k];
    }
    step->samples = m->order_count == 0 ? 1 : m->order_count;
    step->loss_sum = loss;
    step->flops = (double)m->order_count * m->rank * MF_FLOPS_PER_FACTOR;
    return OK;
}

static enum err mf_evaluate(struct app *app, const struct app_view *views, struct app_score *score)
{
    const struct mf *m = (const struct mf *)app;
    double sum = 0;

    for (uint32_t i = 0; i < m->data.count; i++) {
        const struct rating *x = &m->data.list[i];
        float error = x->value - mf_dot(m->l + (size_t)x->user * m->rank,
                                        views[0].values + (size_t)x->item * m->rank, m->rank);

        sum += (double)error * (double)error;
    }
    *score = (struct app_score){.objective_sum = sum, .count = m->data.count};
    return OK;
}

/* The state: L. */

static uint64_t mf_state_size(const struct app *app)
{
    const struct mf *m = (const struct mf *)app;

    return (uint64_t)m->data.user_count * m->rank * sizeof(*m->l);
}

/* Ratings have no bytes between their fields. */
_Static_assert(sizeof(struct rating) == 12, "ratings can be hashed");

static uint64_t mf_state_about(const struct app *app)
{
    const struct mf *m = (const struct mf *)app;
    uint64_t parts[] = {m->data.users,
                        m->data.items,
                        m->data.user_first,
                        m->data.user_count,
                        m->rank,
                        hash_bytes(m->data.list, m->data.count * sizeof(*m->data.list))};

    return hash_bytes(parts, sizeof(parts));
}

static void mf_state_save(const struct app *app, uint64_t offset, uint8_t *out, size_t size)
{
    memcpy(out, (const uint8_t *)((const struct mf *)app)->l + offset, size);
}

/* Any bits are factors: those of a job that has diverged are not finite. */
static enum err mf_state_load(struct app *app, uint64_t offset, const uint8_t *bytes, size_t size)
{
    memcpy((uint8_t *)((struct mf *)app)->l + offset, bytes, size);
    return OK;
}

static const struct app_state_ops mf_state = {
    .size = mf_state_size,
    .about = mf_state_about,
    .save = mf_state_save,
    .load = mf_state_load,
};

const struct app_ops app_mf = {
    .name = "mf",
    .summary = "matrix factorisation of ratings by stochastic gradient descent",
    .objective = "squared error per rating",
    .options_help = "rank=16 factors per user and item\n"
                    "lr=0.02 learning rate; lower it for more workers if the objective rises\n"
                    "decay=0 the rate of clock t is lr / sqrt(1 + decay (t - 1))\n"
                    "lambda=0.05 regularisation\n"
                    "batch=1000 ratings per clock and worker\n"
                    "users=2000 generated data: users\n"
                    "items=1000 generated data: items\n"
                    "ratings=100000 generated data: ratings\n"
                    "popular=10 generated data: times the mean that the first item is rated\n"
                    "skew=2 generated data: how fast other items fall behind it\n",
    .create = mf_create,
    .destroy = mf_destroy,
    .tables = mf_tables,
    .rows = mf_rows,
    .step = mf_step,
    .evaluate = mf_evaluate,
    .state = &mf_state,
};
