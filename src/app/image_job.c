#include "app/image_job.h"

#include "app/batch.h"
#include "app/gemm.h"
#include "app/image.h"
#include "app/layer.h"
#include "app/option.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

enum {
    IMAGE_JOB_SLICE = 16,       /* Images at a time: LeNet's layers take 3 MB for them. */
    IMAGE_JOB_STREAM_ORDER = 1, /* Of random numbers. */
    IMAGE_JOB_CLOCKS_MAX = 1000000000,
};

struct image_job {
    struct app app;
    struct app_image_set train;
    struct app_image_set test;
    struct batch batch;
    struct app_stack *stack;
    uint64_t seed;
    float l2;
    char apply[APP_SPEC_BYTES];
    uint8_t labels[IMAGE_JOB_SLICE]; /* Of the images in the stack. */
};

static enum err image_job_check_rates(const struct app_config *c, struct err_text *text)
{
    uint32_t every, warmup;
    double lr, mu, factor;
    enum err rc = app_option_double(c, "lr", 0.03, 1e-9, 1e3, &lr, text);

    if (rc == OK) {
        rc = app_option_double(c, "mu", 0.9, 0, 0.9999, &mu, text);
    }
    if (rc == OK) {
        rc = app_option_double(c, "factor", 0.4, 1e-6, 1, &factor, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "every", 1000, 1, IMAGE_JOB_CLOCKS_MAX, &every, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "warmup", 100, 0, IMAGE_JOB_CLOCKS_MAX, &warmup, text);
    }
    return rc;
}

/* Say how the table enters an update, in the words of table/apply.h. The numbers are passed on as
 * they were written, so that none of their digits gets lost. */
static enum err image_job_apply(const struct app_config *c, char *out, struct err_text *text)
{
    const char *decay = app_option_text(c, "decay", "step");
    bool step = strcmp(decay, "step") == 0, power = strcmp(decay, "exp") == 0;
    bool none = strcmp(decay, "none") == 0;
    enum err rc = image_job_check_rates(c, text);
    struct text t;

    if (rc != OK) {
        return rc;
    }
    if (!step && !power && !none && strcmp(decay, "sqrt") != 0) {
        return err_text_set(text, ERR_INVALID,
                            "job %s, option decay: '%.32s' is not none, step, sqrt or exp", c->job,
                            decay);
    }
    text_init_fixed(&t, out, APP_SPEC_BYTES);
    text_addf(&t, "momentum lr=%s mu=%s", app_option_text(c, "lr", "0.03"),
              app_option_text(c, "mu", "0.9"));
    text_addf(&t, "%s%s", none ? "" : " decay=", none ? "" : decay);
    if (step) {
        text_addf(&t, " every=%s", app_option_text(c, "every", "1000"));
    }
    if (step || power) {
        text_addf(&t, " factor=%s", app_option_text(c, "factor", "0.4"));
    }
    text_addf(&t, " warmup=%s", app_option_text(c, "warmup", "100"));
    return !t.failed ? OK
                     : err_text_set(text, ERR_INVALID,
                                    "job %s: lr, mu, every, factor and warmup have too many "
                                    "digits; round them",
                                    c->job);
}

static enum err image_job_data(struct image_job *j, const struct app_config *c,
                               struct err_text *text)
{
    struct app_image_config images = {
        .folder = app_option_data(c), .seed = c->seed, .rank = c->rank, .workers = c->workers};
    enum err rc = app_option_u32(c, "train", 0, 0, APP_IMAGE_COUNT_MAX, &images.train, text);

    if (rc == OK) {
        rc = app_option_u32(c, "eval", 2000, 1, APP_IMAGE_COUNT_MAX, &images.test, text);
    }
    if (rc == OK) {
        rc = app_image_read(&images, &j->train, &j->test, text);
    }
    return rc;
}

static enum err image_job_batch(struct image_job *j, const struct app_config *c,
                                struct err_text *text)
{
    struct rng seed, order;
    uint32_t size;
    enum err rc = app_option_u32(c, "batch", 64, 1, 1 << 20, &size, text);

    if (rc != OK) {
        return rc;
    }
    rng_init(&seed, c->seed);
    order = rng_fork(&seed, IMAGE_JOB_STREAM_ORDER);
    order = rng_fork(&order, c->rank);
    return batch_init(&j->batch, j->train.count, size, &order);
}

static enum err image_job_fill(struct image_job *j, const struct app_config *c,
                               const struct app_stack_config *stack, struct err_text *text)
{
    double l2 = 0;
    enum err rc = image_job_apply(c, j->apply, text);

    if (rc == OK) {
        rc = app_option_double(c, "l2", 0.0005, 0, 1, &l2, text);
        j->l2 = (float)l2;
    }
    if (rc == OK) {
        rc = image_job_data(j, c, text);
    }
    if (rc == OK) {
        rc = image_job_batch(j, c, text);
    }
    if (rc == OK) {
        rc = app_gemm_setup(text);
    }
    if (rc == OK) {
        rc = app_stack_create(stack, &j->stack);
    }
    return rc;
}

enum err app_image_job_create(const struct app_config *config, const struct app_ops *ops,
                              const char *const *keys, const struct app_stack_layer *layers,
                              uint32_t layer_count, struct app **app_out, struct err_text *text)
{
    struct app_stack_config stack = {.side = APP_IMAGE_SIDE,
                                     .slice = IMAGE_JOB_SLICE,
                                     .layer_count = layer_count,
                                     .layers = layers};
    enum err rc = app_option_check(config, keys, text);
    struct image_job *j;

    if (rc != OK) {
        return rc;
    }
    j = mem_zalloc(sizeof(*j));
    if (j == NULL) {
        return err_text_set(text, ERR_NOMEM, "job %s: out of memory", ops->name);
    }
    j->app.ops = ops;
    j->seed = config->seed;
    rc = image_job_fill(j, config, &stack, text);
    if (rc != OK) {
        app_image_job_destroy(&j->app);
        return rc == ERR_NOMEM ? err_text_set(text, rc, "job %s: out of memory", ops->name) : rc;
    }
    *app_out = &j->app;
    return OK;
}

void app_image_job_destroy(struct app *a)
{
    struct image_job *j = (struct image_job *)a;

    if (j == NULL) {
        return;
    }
    app_stack_destroy(j->stack);
    batch_deinit(&j->batch);
    app_image_free(&j->train);
    app_image_free(&j->test);
    mem_free(j);
}

uint32_t app_image_job_tables(const struct app *a, struct app_table *tables_out)
{
    const struct image_job *j = (const struct image_job *)a;
    struct app_table model = {.name = "model",
                              .rows = app_stack_elements(j->stack),
                              .width = 1,
                              .access = APP_DENSE,
                              .init = "normal 1",
                              .combine = "samples"};

    app_table_seed(&model, j->seed);
    memcpy(model.apply, j->apply, sizeof(model.apply));
    tables_out[0] = model;
    return 1;
}

/* Put images into the stack: those that @order names, or those from @first on. */
static void image_job_feed(struct image_job *j, const struct app_image_set *set,
                           const uint32_t *order, uint32_t first, uint32_t count)
{
    float *to = app_stack_images(j->stack);

    for (uint32_t i = 0; i < count; i++, to += APP_IMAGE_PIXELS) {
        uint32_t at = order == NULL ? first + i : order[first + i];

        app_image_floats(set->pixels + (size_t)at * APP_IMAGE_PIXELS, to);
        j->labels[i] = set->labels[at];
    }
}

enum err app_image_job_step(struct app *a, struct app_view *views, struct app_step *step)
{
    struct image_job *j = (struct image_job *)a;
    uint32_t elements = app_stack_elements(j->stack);
    float *update = views[0].update;
    uint32_t correct = 0, samples, count;
    const uint32_t *order = batch_at(&j->batch, step->clock, &samples);

    step->samples = samples == 0 ? 1 : samples;
    step->loss_sum = 0;
    step->flops = app_stack_flops(j->stack) * samples;
    app_stack_load(j->stack, views[0].values);
    for (uint32_t first = 0; first < samples; first += count) {
        const float *scores;

        count = samples - first < IMAGE_JOB_SLICE ? samples - first : IMAGE_JOB_SLICE;
        image_job_feed(j, &j->train, order, first, count);
        scores = app_stack_forward(j->stack, count);
        step->loss_sum += app_layer_softmax(APP_IMAGE_CLASSES, count, scores, j->labels,
                                            app_stack_scores_d(j->stack), &correct);
        app_stack_backward(j->stack, count, update);
    }
    app_stack_scale(j->stack, step->samples, update);
    for (uint32_t i = 0; samples > 0 && i < elements; i++) {
        update[i] += j->l2 * views[0].values[i];
    }
    return OK;
}

enum err app_image_job_evaluate(struct app *a, const struct app_view *views,
                                struct app_score *score)
{
    struct image_job *j = (struct image_job *)a;
    uint32_t correct = 0, count;
    double loss = 0;

    app_stack_load(j->stack, views[0].values);
    for (uint32_t first = 0; first < j->test.count; first += count) {
        uint32_t left = j->test.count - first;

        count = left < IMAGE_JOB_SLICE ? left : IMAGE_JOB_SLICE;
        image_job_feed(j, &j->test, NULL, first, count);
        loss += app_layer_softmax(APP_IMAGE_CLASSES, count, app_stack_forward(j->stack, count),
                                  j->labels, NULL, &correct);
    }
    *score = (struct app_score){
        .objective_sum = loss, .count = j->test.count, .correct = correct, .tested = j->test.count};
    return OK;
}
