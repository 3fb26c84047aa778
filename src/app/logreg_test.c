/* The job logreg: against a plain serial program, bit for bit; its gradient against differences of
 * the loss; several workers in lock-step; odd data. */

#include "app/batch.h"
#include "app/job_testing.h"
#include "app/jobs.h"
#include "app/libsvm.h"

enum { SAMPLES = 500, FEATURES = 83, NONZEROS = 9, SEED = 33, TRAINED = SAMPLES - SAMPLES / 10 };

#define SIZES                                                                                      \
    {"samples", "500", 0}, {"features", "83", 0},                                                  \
    {                                                                                              \
        "nonzeros", "9", 0                                                                         \
    }

static struct app_config config_of(const struct app_option *options, uint32_t count,
                                   uint32_t workers)
{
    return (struct app_config){
        .workers = workers, .seed = SEED, .options = options, .option_count = count};
}

/* The same job as a program of its own: one array of weights. */
struct serial {
    struct libsvm data;
    struct batch batch;
    float w[FEATURES + 1];
    float squares[FEATURES + 1];
};

static void serial_open(struct serial *s, uint32_t batch)
{
    const struct libsvm_plan plan = {
        .samples = SAMPLES, .features = FEATURES, .nonzeros = NONZEROS, .seed = SEED};
    struct rng seed, order;

    memset(s, 0, sizeof(*s));
    assert_int_equal(libsvm_generate(&plan, 0, 1, &s->data), OK);
    rng_init(&seed, SEED);
    order = rng_fork(&seed, 1);
    order = rng_fork(&order, 0);
    assert_int_equal(batch_init(&s->batch, TRAINED, batch, &order), OK);
}

static void serial_close(struct serial *s)
{
    libsvm_deinit(&s->data);
    batch_deinit(&s->batch);
}

static double serial_score(const struct serial *s, uint32_t sample)
{
    double score = (double)s->w[0];

    for (uint64_t k = s->data.starts[sample]; k < s->data.starts[sample + 1]; k++) {
        score += (double)s->w[s->data.entries[k].feature] * (double)s->data.entries[k].value;
    }
    return score;
}

/* One clock. Nine samples of ten are trained on: the i-th of them is i + i / 9. */
static void serial_clock(struct serial *s, uint64_t clock, bool adagrad, float lr, double l2)
{
    float gradient[FEATURES + 1] = {0};
    const uint32_t *order;
    uint32_t count;

    order = batch_at(&s->batch, clock, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sample = order[i] + order[i] / 9;
        double p = 1 / (1 + exp(-serial_score(s, sample)));
        double slope = (p - (s->data.positive[sample] ? 1 : 0)) / count;

        gradient[0] += (float)slope;
        for (uint64_t k = s->data.starts[sample]; k < s->data.starts[sample + 1]; k++) {
            uint32_t f = s->data.entries[k].feature;

            gradient[f] +=
                (float)(slope * (double)s->data.entries[k].value + l2 / count * (double)s->w[f]);
        }
    }
    for (uint32_t f = 0; f <= FEATURES; f++) {
        /* Weighted by samples, and divided by them again. */
        float u = gradient[f] * (float)count * (1 / (float)count);

        if (adagrad) {
            s->squares[f] += u * u;
            s->w[f] -= lr * u / (sqrtf(s->squares[f]) + 1e-8f);
        } else {
            s->w[f] -= lr * u;
        }
    }
}

static struct app_score serial_evaluate(const struct serial *s)
{
    struct app_score total = {0};

    for (uint32_t i = 0; i < SAMPLES; i++) {
        double score = serial_score(s, i);
        double p = 1 / (1 + exp(-score));

        if (i % 10 == 9) {
            total.tested++;
            total.correct += (score > 0) == s->data.positive[i];
        } else {
            total.count++;
            total.objective_sum -= log(s->data.positive[i] ? p : 1 - p);
        }
    }
    return total;
}

static void compare_with_serial(const char *optimiser, const char *width, const char *l2)
{
    const struct app_option options[] = {SIZES,
                                         {"batch", "64", 0},
                                         {"optimiser", optimiser, 0},
                                         {"lr", "0.25", 0},
                                         {"width", width, 0},
                                         {"l2", l2, 0}};
    struct app_config config = config_of(options, 8, 1);
    struct app_score score, expected;
    struct testing_cluster c;
    struct serial s;

    testing_open(&c, &app_logreg, &config);
    assert_true(c.tables[0].elements > FEATURES);
    serial_open(&s, 64);
    for (uint64_t clock = 1; clock <= 60; clock++) {
        testing_round(&c);
        serial_clock(&s, clock, optimiser[0] == 'a', 0.25f, strtod(l2, NULL));
        assert_memory_equal(c.tables[0].values, s.w, sizeof(s.w));
        for (size_t k = FEATURES + 1; k < c.tables[0].elements; k++) {
            assert_true(c.tables[0].values[k] == 0);
        }
    }
    score = testing_evaluate(&c);
    expected = serial_evaluate(&s);
    assert_true(score.count == TRAINED && score.tested == SAMPLES / 10);
    assert_true(score.correct == expected.correct);
    assert_true(fabs(score.objective_sum / expected.objective_sum - 1) < 1e-9);
    serial_close(&s);
    testing_close(&c);
}

static void test_one_worker_equals_a_serial_program_bit_for_bit(void **state)
{
    (void)state;
    compare_with_serial("adagrad", "16", "0");
    compare_with_serial("sgd", "16", "0.01");
    compare_with_serial("adagrad", "1", "0.01");
    compare_with_serial("sgd", "7", "0");
    compare_with_serial("adagrad", "84", "0");
    compare_with_serial("sgd", "4096", "0.5");
}

/* The update is the derivative of the mean loss over the batch: here the whole part. */
static void test_the_gradient_is_the_slope_of_the_loss(void **state)
{
    const struct app_option options[] = {SIZES, {"batch", "1000", 0}, {"width", "1", 0}};
    struct app_config config = config_of(options, 5, 1);
    struct app_step step = {.clock = 1};
    struct testing_cluster c;
    struct app_view view;
    struct rng r;

    (void)state;
    testing_open(&c, &app_logreg, &config);
    rng_init(&r, 1);
    for (size_t k = 0; k < c.tables[0].elements; k++) {
        c.tables[0].values[k] = (float)(rng_unit(&r) - 0.5);
    }
    view = testing_view_open(&c, c.apps[0], 0);
    assert_int_equal(app_logreg.step(c.apps[0], &view, &step), OK);
    for (uint32_t i = 0; i < view.row_count; i++) {
        float *w = &c.tables[0].values[view.rows[i]], was = *w;
        double up, down;

        *w = was + 0x1p-8f;
        up = testing_objective(&c);
        *w = was - 0x1p-8f;
        down = testing_objective(&c);
        *w = was;
        assert_true(fabs((up - down) * 0x1p7 - (double)view.update[i]) < 1e-5);
    }
    assert_true(fabs(step.loss_sum / step.samples - testing_objective(&c)) < 1e-6);
    testing_view_close(&c.tables[0], &view, 1);
    testing_close(&c);
}

static struct app_score score_after(uint32_t workers, const char *batch, uint32_t clocks)
{
    const struct app_option options[] = {SIZES, {"batch", batch, 0}};
    struct app_config config = config_of(options, 4, workers);
    struct app_score score;
    struct testing_cluster c;

    testing_open(&c, &app_logreg, &config);
    testing_rounds(&c, clocks);
    score = testing_evaluate(&c);
    testing_close(&c);
    return score;
}

/* The same number of samples per clock in all. Within 2 %. */
static void test_workers_in_lock_step_reach_the_serial_objective(void **state)
{
    static const struct {
        uint32_t workers;
        const char *batch;
    } clusters[] = {{2, "45"}, {5, "18"}, {15, "6"}};
    struct app_score serial = score_after(1, "90", 500);
    double objective = serial.objective_sum / serial.count;

    (void)state;
    assert_true(objective < 0.3);
    for (size_t i = 0; i < sizeof(clusters) / sizeof(clusters[0]); i++) {
        struct app_score s = score_after(clusters[i].workers, clusters[i].batch, 500);

        assert_true(s.count == serial.count && s.tested == serial.tested);
        assert_true(fabs(s.objective_sum / s.count / objective - 1) < 0.02);
    }
}

/* Much better than guessing, on samples that were never trained on. */
static void test_what_is_learnt_holds_for_the_test_part(void **state)
{
    struct app_config config = config_of(NULL, 0, 22);
    struct testing_cluster c;
    struct app_score score;

    (void)state;
    testing_open(&c, &app_logreg, &config);
    assert_true(fabs(testing_objective(&c) - log(2)) < 1e-12);
    testing_rounds(&c, 60);
    score = testing_evaluate(&c);
    assert_true(score.tested == 2000 && score.count == 18000);
    assert_true(score.correct / score.tested > 0.85);
    assert_true(score.objective_sum / score.count < 0.4);
    testing_close(&c);
}

static void test_a_worker_without_samples_takes_part(void **state)
{
    static const struct app_option options[] = {
        {"samples", "3", 0}, {"features", "4", 0}, {"nonzeros", "2", 0}};
    struct app_config config = config_of(options, 3, 5);
    struct testing_cluster c;
    double before;

    (void)state;
    testing_open(&c, &app_logreg, &config);
    before = testing_objective(&c);
    testing_rounds(&c, 20);
    assert_true(testing_objective(&c) < before);
    assert_true(testing_evaluate(&c).count == 3);
    testing_close(&c);
}

static void test_one_sample_is_enough(void **state)
{
    struct testing_file f;
    struct app_config config = config_of(NULL, 0, 2);
    struct testing_cluster c;

    (void)state;
    testing_file_make(&f, "+1");
    config.data = f.path;
    testing_open(&c, &app_logreg, &config);
    testing_rounds(&c, 50);
    assert_true(testing_evaluate(&c).count == 1 && testing_objective(&c) < 0.3);
    testing_close(&c);
    testing_file_remove(&f);
}

static void test_files_are_read(void **state)
{
    static const struct app_option options[] = {
        {"threshold", "1.5", 0}, {"unit", "1", 0}, {"lr", "0.5", 0}};
    struct testing_file f;
    struct app_config config = config_of(options, 3, 3);
    struct app_score score;
    struct testing_cluster c;

    (void)state;
    testing_file_make(&f, "1 1:100\n2 40:7 41:9\n1 1:5\n2 40:1\n1 1:1\n2 41:1\n1 1:2\n2 40:3\n"
                          "1 1:8\n2 40:1 41:1\n1 1:4\n");
    config.data = f.path;
    testing_open(&c, &app_logreg, &config);
    assert_int_equal(c.tables[0].is.rows, 41 / 16 + 1);
    testing_rounds(&c, 200);
    score = testing_evaluate(&c);
    assert_true(score.count == 10 && score.tested == 1 && score.correct == 1);
    assert_true(score.objective_sum / score.count < 0.1);
    testing_close(&c);
    testing_file_remove(&f);
}

static void test_bad_files_are_refused(void **state)
{
    (void)state;
    testing_file_refused(&app_logreg, "1 1:1\n1 2:x\n", ":2: expected the value");
}

static void test_the_rate_may_grow_at_first(void **state)
{
    static const struct app_option options[] = {{"lr", "0.25", 0}, {"warmup", "20", 0}};
    static const char *const expected[] = {"adagrad lr=0.25", "adagrad lr=0.25 warmup=20"};

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct app_config config = config_of(options, i + 1, 1);
        struct app_table table;
        struct err_text text;
        struct app *app;

        assert_int_equal(app_logreg.create(&config, &app, &text), OK);
        assert_int_equal(app_logreg.tables(app, &table), 1);
        assert_string_equal(table.apply, expected[i]);
        app_logreg.destroy(app);
    }
}

static void test_bad_options_are_refused(void **state)
{
    static const struct testing_bad_option bad[] = {
        {{"optimiser", "adam", 0}, "job logreg, option optimiser: 'adam' is not adagrad or sgd"},
        {{"batch", "0", 0}, "job logreg, option batch: '0' is not"},
        {{"lr", "-1", 0}, "job logreg, option lr: '-1' is not"},
        {{"warmup", "-1", 0}, "job logreg, option warmup: '-1' is not"},
        {{"l2", "11", 0}, "job logreg, option l2: '11' is not"},
        {{"width", "0", 0}, "job logreg, option width: '0' is not"},
        {{"unit", "2", 0}, "job logreg, option unit: '2' is not"},
        {{"threshold", "", 0}, "job logreg, option threshold: '' is not"},
        {{"samples", "0", 0}, "job logreg, option samples: '0' is not"},
        {{"features", "0", 0}, "job logreg, option features: '0' is not"},
        {{"nonzeros", "2001", 0}, "job logreg, option nonzeros: '2001' is not"},
        {{"optimizer", "sgd", 0},
         "job logreg, option optimizer: it has no such option; did you "
         "mean 'optimiser'?"},
    };

    (void)state;
    testing_options_refused(&app_logreg, bad, sizeof(bad) / sizeof(bad[0]));
}

static void test_out_of_memory_at_every_allocation(void **state)
{
    const struct app_option options[] = {SIZES};
    struct app_config config = config_of(options, 3, 2);

    (void)state;
    testing_memory_fails_clean(&app_logreg, &config, "1 2:3\n-1 3:3\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_worker_equals_a_serial_program_bit_for_bit),
        cmocka_unit_test(test_the_gradient_is_the_slope_of_the_loss),
        cmocka_unit_test(test_workers_in_lock_step_reach_the_serial_objective),
        cmocka_unit_test(test_what_is_learnt_holds_for_the_test_part),
        cmocka_unit_test(test_a_worker_without_samples_takes_part),
        cmocka_unit_test(test_one_sample_is_enough),
        cmocka_unit_test(test_files_are_read),
        cmocka_unit_test(test_bad_files_are_refused),
        cmocka_unit_test(test_the_rate_may_grow_at_first),
        cmocka_unit_test(test_bad_options_are_refused),
        cmocka_unit_test(test_out_of_memory_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
