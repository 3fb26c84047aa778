/* The job mf: against a plain serial program, bit for bit; several workers in lock-step; odd data.
 */

#include "app/batch.h"
#include "app/job_testing.h"
#include "app/jobs.h"
#include "app/ratings.h"

enum { USERS = 60, ITEMS = 40, RATINGS = 900, SEED = 21 };

#define SIZES                                                                                      \
    {"users", "60", 0}, {"items", "40", 0},                                                        \
    {                                                                                              \
        "ratings", "900", 0                                                                        \
    }

static struct app_config config_of(const struct app_option *options, uint32_t count,
                                   uint32_t workers)
{
    return (struct app_config){
        .workers = workers, .seed = SEED, .options = options, .option_count = count};
}

/* The same job as a program of its own: arrays, no tables, no sets of rows. */
struct serial {
    struct ratings data;
    struct batch batch;
    uint32_t rank;
    float *l, *r;
};

/* Sum over lanes k % 8, then the lanes in pairs. */
static float serial_dot(const float *a, const float *b, uint32_t count)
{
    float lane[8] = {0};

    for (uint32_t k = 0; k < count; k++) {
        lane[k % 8] += a[k] * b[k];
    }
    lane[0] += lane[4];
    lane[1] += lane[5];
    lane[2] += lane[6];
    lane[3] += lane[7];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

static void serial_open(struct serial *s, uint32_t rank, uint32_t batch, const float *r)
{
    const struct ratings_plan plan = {
        .users = USERS, .items = ITEMS, .ratings = RATINGS, .popular = 10, .skew = 2, .seed = SEED};
    struct rng seed, users, order;
    double mean = 0;

    s->rank = rank;
    assert_int_equal(ratings_generate(&plan, 0, 1, &s->data), OK);
    for (uint32_t i = 0; i < RATINGS; i++) {
        mean += (double)s->data.list[i].value;
    }
    for (uint32_t i = 0; i < RATINGS; i++) {
        s->data.list[i].value -= (float)(mean / RATINGS);
    }
    rng_init(&seed, SEED);
    users = rng_fork(&seed, 1);
    order = rng_fork(&seed, 2);
    order = rng_fork(&order, 0);
    assert_int_equal(batch_init(&s->batch, RATINGS, batch, &order), OK);
    s->l = testing_array((size_t)USERS * rank, sizeof(float));
    s->r = testing_array((size_t)ITEMS * rank, sizeof(float));
    for (uint32_t u = 0; u < USERS; u++) {
        struct rng own = rng_fork(&users, u);

        for (uint32_t k = 0; k < rank; k++) {
            s->l[u * rank + k] = (float)((rng_unit(&own) * 2 - 1) * (1 / sqrt(rank)));
        }
    }
    memcpy(s->r, r, (size_t)ITEMS * rank * sizeof(float));
}

static void serial_close(struct serial *s)
{
    ratings_deinit(&s->data);
    batch_deinit(&s->batch);
    free(s->l);
    free(s->r);
}

/* One clock; returns the sum of squared errors on the way. */
static double serial_clock(struct serial *s, uint64_t clock, float lr, float lambda)
{
    size_t elements = (size_t)ITEMS * s->rank;
    float *work = testing_array(elements, sizeof(float));
    const uint32_t *order;
    double loss = 0;
    uint32_t count;

    memcpy(work, s->r, elements * sizeof(float));
    order = batch_at(&s->batch, clock, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct rating x = s->data.list[order[i]];
        float *l = s->l + (size_t)x.user * s->rank, *r = work + (size_t)x.item * s->rank;
        float error = x.value - serial_dot(l, r, s->rank);

        loss += (double)error * (double)error;
        for (uint32_t k = 0; k < s->rank; k++) {
            float old_l = l[k], old_r = r[k];

            l[k] = old_l + lr * (error * old_r - lambda * old_l);
            r[k] = old_r + lr * (error * old_l - lambda * old_r);
        }
    }
    for (size_t k = 0; k < elements; k++) {
        s->r[k] += work[k] - s->r[k];
    }
    free(work);
    return loss;
}

static double serial_objective(const struct serial *s)
{
    double sum = 0;

    for (uint32_t i = 0; i < RATINGS; i++) {
        struct rating x = s->data.list[i];
        float error = x.value - serial_dot(s->l + (size_t)x.user * s->rank,
                                           s->r + (size_t)x.item * s->rank, s->rank);

        sum += (double)error * (double)error;
    }
    return sum / RATINGS;
}

static void test_one_worker_equals_a_serial_program_bit_for_bit(void **state)
{
    static const uint32_t ranks[] = {1, 3, 8, 13, 16, 40};

    (void)state;
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        char rank[8];
        const struct app_option options[] = {
            SIZES, {"rank", rank, 0}, {"batch", "70", 0}, {"lr", "0.05", 0}, {"decay", "0.1", 0}};
        struct app_config config = config_of(options, 7, 1);
        struct testing_cluster c;
        struct serial s;

        (void)snprintf(rank, sizeof(rank), "%u", ranks[i]);
        testing_open(&c, &app_mf, &config);
        serial_open(&s, ranks[i], 70, c.tables[0].values);
        for (uint64_t clock = 1; clock <= 40; clock++) {
            float lr = (float)(0.05 / sqrt(1 + 0.1 * (double)(clock - 1)));
            double loss = serial_clock(&s, clock, lr, 0.05f);

            testing_round(&c);
            assert_memory_equal(c.tables[0].values, s.r, (size_t)ITEMS * ranks[i] * sizeof(float));
            assert_true(c.total.loss_sum == loss);
            assert_true(c.total.samples == (clock % 13 == 0 ? 60 : 70));
        }
        assert_true(testing_objective(&c) == serial_objective(&s));
        serial_close(&s);
        testing_close(&c);
    }
}

/* The objective after so many clocks with the default options but these sizes. */
static double objective_after(uint32_t workers, const char *batch, uint32_t clocks)
{
    const struct app_option options[] = {SIZES, {"batch", batch, 0}, {"lr", "0.05", 0}};
    struct app_config config = config_of(options, 5, workers);
    struct testing_cluster c;
    double objective;

    testing_open(&c, &app_mf, &config);
    testing_rounds(&c, clocks);
    objective = testing_objective(&c);
    testing_close(&c);
    return objective;
}

/* After 100 passes over the data; a worker of n takes an n-th of the batch. Within 2 %. */
static void test_workers_in_lock_step_reach_the_serial_objective(void **state)
{
    double serial = objective_after(1, "60", 1500);

    (void)state;
    assert_true(serial < 0.05);
    assert_true(fabs(objective_after(2, "30", 1500) / serial - 1) < 0.02);
    assert_true(fabs(objective_after(6, "10", 1500) / serial - 1) < 0.02);
    assert_true(fabs(objective_after(15, "4", 1500) / serial - 1) < 0.02);
}

static void test_the_objective_falls(void **state)
{
    struct app_config config = config_of(NULL, 0, 22);
    struct testing_cluster c;
    double before, after;

    (void)state;
    testing_open(&c, &app_mf, &config);
    before = testing_objective(&c);
    for (uint32_t i = 0; i < 3; i++) {
        testing_rounds(&c, 10);
        after = testing_objective(&c);
        assert_true(after < before);
        before = after;
    }
    testing_close(&c);
}

static void test_every_rating_has_one_worker(void **state)
{
    static const uint32_t workers[] = {1, 7, 59, 60, 61, 64};
    const struct app_option options[] = {SIZES};

    (void)state;
    for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
        struct app_config config = config_of(options, 3, workers[i]);
        struct testing_cluster c;

        testing_open(&c, &app_mf, &config);
        assert_true(testing_evaluate(&c).count == RATINGS);
        testing_close(&c);
    }
}

/* More workers than users: some have nothing to do and say so. */
static void test_a_worker_without_ratings_takes_part(void **state)
{
    static const struct app_option options[] = {
        {"users", "3", 0}, {"items", "4", 0}, {"ratings", "9", 0}, {"batch", "2", 0}};
    struct app_config config = config_of(options, 4, 5);
    struct testing_cluster c;
    const uint32_t *rows;
    uint32_t count;
    double before;

    (void)state;
    testing_open(&c, &app_mf, &config);
    assert_int_equal(app_mf.rows(c.apps[4], 1, 0, &rows, &count), OK);
    assert_int_equal(count, 0);
    before = testing_objective(&c);
    testing_rounds(&c, 50);
    assert_true(testing_objective(&c) < before);
    testing_close(&c);
}

static void test_one_rating_is_enough(void **state)
{
    static const struct app_option options[] = {
        {"users", "1", 0}, {"items", "1", 0}, {"ratings", "1", 0}};
    struct app_config config = config_of(options, 3, 1);
    struct testing_cluster c;

    (void)state;
    testing_open(&c, &app_mf, &config);
    testing_rounds(&c, 200);
    assert_true(testing_objective(&c) < 0.01);
    testing_close(&c);
}

/* A worker that comes back asks for the rows of a later clock first. */
static void test_any_clock_may_be_the_first(void **state)
{
    const struct app_option options[] = {SIZES, {"batch", "70", 0}};
    struct app_config config = config_of(options, 4, 1);
    const uint32_t *rows, *fresh_rows;
    uint32_t count, fresh_count;
    struct testing_cluster c, fresh;

    (void)state;
    testing_open(&c, &app_mf, &config);
    testing_open(&fresh, &app_mf, &config);
    testing_rounds(&c, 30);
    assert_int_equal(app_mf.rows(c.apps[0], 31, 0, &rows, &count), OK);
    assert_int_equal(app_mf.rows(fresh.apps[0], 31, 0, &fresh_rows, &fresh_count), OK);
    assert_int_equal(count, fresh_count);
    assert_memory_equal(rows, fresh_rows, count * sizeof(*rows));
    testing_close(&c);
    testing_close(&fresh);
}

static void test_the_seed_decides_everything(void **state)
{
    const struct app_option options[] = {SIZES};
    struct app_config config = config_of(options, 3, 3);
    struct testing_cluster a, b, other;

    (void)state;
    testing_open(&a, &app_mf, &config);
    testing_open(&b, &app_mf, &config);
    config.seed++;
    testing_open(&other, &app_mf, &config);
    testing_rounds(&a, 10);
    testing_rounds(&b, 10);
    testing_rounds(&other, 10);
    assert_memory_equal(a.tables[0].values, b.tables[0].values,
                        a.tables[0].elements * sizeof(float));
    assert_memory_not_equal(a.tables[0].values, other.tables[0].values,
                            a.tables[0].elements * sizeof(float));
    testing_close(&a);
    testing_close(&b);
    testing_close(&other);
}

static void test_files_are_read(void **state)
{
    struct testing_file f;
    struct app_config config = config_of(NULL, 0, 2);
    struct testing_cluster c;

    (void)state;
    testing_file_make(&f, "user,item,rating\n5,70,1\n5,71,4\n9,70,2\n9,72,5\n7,71,3\n");
    config.data = f.path;
    testing_open(&c, &app_mf, &config);
    assert_int_equal(c.tables[0].is.rows, 3);
    assert_int_equal(c.tables[0].is.width, 16);
    testing_rounds(&c, 1000);
    assert_true(testing_evaluate(&c).count == 5);
    assert_true(testing_objective(&c) < 0.05);
    testing_close(&c);
    testing_file_remove(&f);
}

static void test_bad_files_are_refused(void **state)
{
    (void)state;
    testing_file_refused(&app_mf, "1 2 3\n1 2\n", ":2: expected a space");
}

static void test_bad_options_are_refused(void **state)
{
    static const struct testing_bad_option bad[] = {
        {{"rank", "0", 4}, "job mf, option rank (line 4): '0' is not a whole number from 1 to"},
        {{"lr", "0", 0}, "job mf, option lr: '0' is not a number from"},
        {{"decay", "-1", 0}, "job mf, option decay: '-1' is not"},
        {{"lambda", "x", 0}, "job mf, option lambda: 'x' is not"},
        {{"batch", "0", 0}, "job mf, option batch: '0' is not"},
        {{"users", "0", 0}, "job mf, option users: '0' is not"},
        {{"items", "0", 0}, "job mf, option items: '0' is not"},
        {{"ratings", "0", 0}, "job mf, option ratings: '0' is not"},
        {{"ratings", "2000001", 0},
         "job mf: 2000001 ratings are more than 2000 users and 1000 "
         "items can have"},
        {{"rnk", "1", 0}, "job mf, option rnk: it has no such option; did you mean 'rank'?"},
    };

    (void)state;
    testing_options_refused(&app_mf, bad, sizeof(bad) / sizeof(bad[0]));
}

static void test_out_of_memory_at_every_allocation(void **state)
{
    const struct app_option options[] = {SIZES};
    struct app_config config = config_of(options, 3, 2);

    (void)state;
    testing_memory_fails_clean(&app_mf, &config, "1 2 3\n1 3 3\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_worker_equals_a_serial_program_bit_for_bit),
        cmocka_unit_test(test_workers_in_lock_step_reach_the_serial_objective),
        cmocka_unit_test(test_the_objective_falls),
        cmocka_unit_test(test_every_rating_has_one_worker),
        cmocka_unit_test(test_a_worker_without_ratings_takes_part),
        cmocka_unit_test(test_one_rating_is_enough),
        cmocka_unit_test(test_any_clock_may_be_the_first),
        cmocka_unit_test(test_the_seed_decides_everything),
        cmocka_unit_test(test_files_are_read),
        cmocka_unit_test(test_bad_files_are_refused),
        cmocka_unit_test(test_bad_options_are_refused),
        cmocka_unit_test(test_out_of_memory_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
