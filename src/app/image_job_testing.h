/* What the tests of the image jobs share: the same training done plainly, by the naive network and
 * a loop of momentum, and several ways to hold a job against it.
 *
 * Included by tests only; each is one program, so all functions are static. */

#ifndef APP_IMAGE_JOB_TESTING_H
#define APP_IMAGE_JOB_TESTING_H

#include "app/batch.h"
#include "app/image.h"
#include "app/layer_testing.h"
#include "app/option.h"
#include "app/testing.h"

/* A job and what it should be. */
struct serial_case {
    const struct app_ops *ops;
    const struct app_stack_layer *layers;
    uint32_t layer_count;
    const struct app_option *options; /* Of its layers. */
    uint32_t option_count;
};

struct serial {
    struct naive net;
    struct batch batch;
    uint32_t train;
    uint8_t *pixels;
    uint8_t *labels;
    float *values;
    float *momentum;
    double *update;
};

/* Options of the job's layers and of the training, in one list. */
struct serial_options {
    struct app_option list[APP_OPTIONS_MAX];
    uint32_t count;
};

static inline void serial_add(struct serial_options *o, const char *key, const char *value)
{
    o->list[o->count++] = (struct app_option){key, value, 0};
}

static inline struct serial_options serial_options_of(const struct serial_case *k,
                                                      const char *train, const char *batch)
{
    struct serial_options o = {0};

    for (uint32_t i = 0; i < k->option_count; i++) {
        o.list[o.count++] = k->options[i];
    }
    serial_add(&o, "train", train);
    serial_add(&o, "batch", batch);
    serial_add(&o, "eval", "50");
    serial_add(&o, "lr", "0.0625");
    serial_add(&o, "mu", "0.5");
    serial_add(&o, "l2", "0.125");
    serial_add(&o, "decay", "none");
    serial_add(&o, "warmup", "0");
    return o;
}

static inline struct app_config serial_config(const struct serial_options *o, uint32_t workers)
{
    struct app_config c = {
        .workers = workers, .seed = 11, .option_count = o->count, .options = o->list};

    return c;
}

static inline void serial_open(struct serial *s, const struct serial_case *k, uint32_t train,
                               uint32_t batch, const float *values)
{
    struct rng seed, order;

    memset(s, 0, sizeof(*s));
    naive_open(&s->net, APP_IMAGE_SIDE, k->layers, k->layer_count);
    s->train = train;
    s->pixels = testing_array(train, APP_IMAGE_PIXELS);
    s->labels = testing_array(train, 1);
    s->values = testing_array(s->net.elements, sizeof(float));
    s->momentum = testing_array(s->net.elements, sizeof(float));
    s->update = testing_array(s->net.elements, sizeof(double));
    memcpy(s->values, values, s->net.elements * sizeof(float));
    for (uint32_t i = 0; i < train; i++) {
        app_image_draw(11, i, s->pixels + (size_t)i * APP_IMAGE_PIXELS, &s->labels[i]);
    }
    /* The order of worker 0. */
    rng_init(&seed, 11);
    order = rng_fork(&seed, 1);
    order = rng_fork(&order, 0);
    assert_int_equal(batch_init(&s->batch, train, batch, &order), OK);
}

static inline void serial_close(struct serial *s)
{
    naive_close(&s->net);
    batch_deinit(&s->batch);
    free(s->pixels);
    free(s->labels);
    free(s->values);
    free(s->momentum);
    free(s->update);
}

/* One clock; returns the sum of the losses before it. */
static inline double serial_step(struct serial *s, uint64_t clock)
{
    float image[APP_IMAGE_PIXELS];
    double loss = 0;
    uint32_t count;
    const uint32_t *order = batch_at(&s->batch, clock, &count);

    naive_load(&s->net, s->values);
    memset(s->net.params_d, 0, s->net.elements * sizeof(double));
    for (uint32_t i = 0; i < count; i++) {
        app_image_floats(s->pixels + (size_t)order[i] * APP_IMAGE_PIXELS, image);
        loss += naive_image(&s->net, image, s->labels[order[i]], true);
    }
    naive_update(&s->net, count, s->update);
    for (uint32_t i = 0; i < s->net.elements; i++) {
        s->update[i] += 0.125 * (double)s->values[i];
        s->momentum[i] = 0.5f * s->momentum[i] + (float)s->update[i];
        s->values[i] -= 0.0625f * s->momentum[i];
    }
    return loss;
}

/* One worker is held against the naive network for some clocks, over more than one pass of the
 * data. Tolerances: 1e-4 of the loss of every batch, 1e-3 for values, which are about 1. */
static inline void serial_compare(const struct serial_case *k)
{
    struct serial_options o = serial_options_of(k, "20", "8");
    struct app_config config = serial_config(&o, 1);
    struct testing_cluster c;
    struct serial s;

    testing_open(&c, k->ops, &config);
    serial_open(&s, k, 20, 8, c.tables[0].values);
    assert_int_equal(c.tables[0].elements, s.net.elements);
    for (uint64_t t = 1; t <= 8; t++) {
        double loss = serial_step(&s, t);

        testing_round(&c);
        assert_int_equal(c.total.samples, t % 3 == 0 ? 4 : 8);
        assert_true(fabs(c.total.loss_sum - loss) < 1e-4 * loss);
    }
    for (uint32_t i = 0; i < s.net.elements; i++) {
        assert_true(fabs((double)(c.tables[0].values[i] - s.values[i])) < 1e-3);
    }
    serial_close(&s);
    testing_close(&c);
}

/* The way of an update into the table, bit for bit: the job's own updates through a plain loop. */
static inline void serial_compare_bits(const struct serial_case *k)
{
    struct serial_options o = serial_options_of(k, "64", "16");
    struct app_config config = serial_config(&o, 1);
    struct testing_cluster c;
    float *values, *momentum, *update;
    struct app *app;
    size_t elements;

    testing_open(&c, k->ops, &config);
    config.job = k->ops->name;
    assert_int_equal(k->ops->create(&config, &app, NULL), OK);
    elements = c.tables[0].elements;
    values = testing_array(elements, sizeof(float));
    momentum = testing_array(elements, sizeof(float));
    update = testing_array(elements, sizeof(float));
    memcpy(values, c.tables[0].values, elements * sizeof(float));
    for (uint64_t t = 1; t <= 9; t++) {
        struct app_view view = {.values = values, .update = update};
        struct app_step step = {.clock = t};

        memset(update, 0, elements * sizeof(float));
        assert_int_equal(k->ops->step(app, &view, &step), OK);
        for (size_t i = 0; i < elements; i++) {
            momentum[i] = 0.5f * momentum[i] + update[i];
            values[i] -= 0.0625f * momentum[i];
        }
        testing_round(&c);
        assert_memory_equal(values, c.tables[0].values, elements * sizeof(float));
    }
    free(values);
    free(momentum);
    free(update);
    k->ops->destroy(app);
    testing_close(&c);
}

/* The objective after some clocks in which every worker takes all of its images. */
static inline double serial_whole(const struct serial_case *k, uint32_t workers, uint32_t clocks)
{
    struct serial_options o = serial_options_of(k, "60", "60");
    struct app_config config = serial_config(&o, workers);
    struct testing_cluster c;
    double objective;

    testing_open(&c, k->ops, &config);
    testing_rounds(&c, clocks);
    assert_int_equal(c.total.samples, clocks == 0 ? 0 : 60);
    objective = testing_objective(&c);
    testing_close(&c);
    return objective;
}

/* Then it does not matter how many they are, or whether their parts are equal. */
static inline void serial_compare_workers(const struct serial_case *k)
{
    double alone = serial_whole(k, 1, 12);

    assert_true(serial_whole(k, 1, 0) > alone);
    assert_true(fabs(serial_whole(k, 4, 12) - alone) < 1e-3 * alone);
    assert_true(fabs(serial_whole(k, 7, 12) - alone) < 1e-3 * alone);
}

#endif
