/* The synthetic job: sizes, times, and sums that show what was lost. */

#include "app/jobs.h"
#include "app/testing.h"

static struct app_config config_of(uint32_t workers, const struct app_option *options,
                                   uint32_t count)
{
    struct app_config c = {.workers = workers,
                           .seed = 5,
                           .option_count = count,
                           .options = options,
                           .job = "synthetic"};

    return c;
}

static void test_every_update_of_every_worker_is_counted(void **state)
{
    static const uint32_t workers[] = {1, 2, 5};
    const struct app_option options[] = {{"elements", "1000", 0}, {"width", "7", 0}};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct app_config config = config_of(workers[i], options, 2);
        struct testing_cluster c;
        struct app_score score;

        testing_open(&c, &app_synthetic, &config);
        assert_int_equal(c.tables[0].elements, 1001); /* Whole rows. */
        for (uint32_t t = 1; t <= 10; t++) {
            testing_round(&c);
            /* Under a barrier no read misses an update. */
            assert_true(c.total.loss_sum == 0);
            score = testing_evaluate(&c);
            assert_true(score.objective_sum / score.count == workers[i] * t);
            assert_true(score.count == 1001 && score.tested == 1001 && score.correct == 1001);
        }
        for (uint32_t e = 0; e < 1001; e++) {
            assert_true(c.tables[0].values[e] == (float)(10 * workers[i] * (1 + e % 3)));
        }
        testing_close(&c);
    }
}

static void test_what_is_lost_or_misplaced_shows(void **state)
{
    const struct app_option options[] = {{"elements", "128", 0}};
    struct app_config config = config_of(2, options, 1);
    struct testing_cluster c;
    struct app_score score;
    float *values;

    (void)state;
    testing_open(&c, &app_synthetic, &config);
    testing_rounds(&c, 4);
    values = c.tables[0].values;
    /* One update of one element did not arrive: the mean says so. */
    values[4] -= 2;
    score = testing_evaluate(&c);
    assert_true(score.correct == 128 && score.objective_sum == 8 * 128 - 1);
    /* The next read sees it, if it is the element that a step looks at. */
    values[0] -= 1;
    testing_round(&c);
    assert_true(c.total.loss_sum == 2);
    /* One came to its neighbour instead: the neighbour has no whole number of them. */
    values[4] += 2;
    values[0] += 1;
    values[5] += 2;
    score = testing_evaluate(&c);
    assert_true(score.correct == 127);
    testing_close(&c);
}

static void test_rows_are_ascending_spread_and_the_same_again(void **state)
{
    const struct app_option options[] = {
        {"elements", "6400", 0}, {"width", "64", 0}, {"rows", "10", 0}};
    struct app_config config = config_of(3, options, 3);
    uint32_t seen[100] = {0};
    uint32_t different = 0, first[10];
    struct app *app;

    (void)state;
    config.rank = 1;
    assert_int_equal(app_synthetic.create(&config, &app, NULL), OK);
    for (uint64_t clock = 1; clock <= 200; clock++) {
        const uint32_t *rows;
        uint32_t count;

        assert_int_equal(app_synthetic.rows(app, clock, 0, &rows, &count), OK);
        assert_int_equal(count, 10);
        for (uint32_t i = 0; i < count; i++) {
            assert_in_range(rows[i], 10 * i, 10 * i + 9);
            seen[rows[i]]++;
        }
        if (clock == 1) {
            memcpy(first, rows, sizeof(first));
        }
        different += memcmp(first, rows, sizeof(first)) != 0;
        assert_int_equal(app_synthetic.rows(app, 1, 0, &rows, &count), OK);
        assert_memory_equal(first, rows, sizeof(first));
    }
    assert_true(different > 190);
    for (uint32_t i = 0; i < 100; i++) {
        assert_true(seen[i] > 0);
    }
    app_synthetic.destroy(app);
}

static void test_rows_are_counted_too(void **state)
{
    const struct app_option options[] = {
        {"elements", "640", 0}, {"width", "16", 0}, {"rows", "4", 0}};
    struct app_config config = config_of(3, options, 3);
    struct testing_cluster c;
    struct app_score score;

    (void)state;
    testing_open(&c, &app_synthetic, &config);
    assert_int_equal(c.tables[0].is.access, APP_ROWS);
    testing_rounds(&c, 25);
    score = testing_evaluate(&c);
    /* 3 workers, 25 clocks, 4 of 40 rows. */
    assert_true(score.objective_sum / score.count == 3 * 25 * 4 / 40.0);
    assert_true(score.correct == 640);
    testing_close(&c);
}

static void test_size_and_time_are_as_asked(void **state)
{
    const struct app_option options[] = {{"mb", "2.5", 0}, {"compute_ms", "12.5", 0}};
    struct app_config config = config_of(1, options, 2);
    struct app_step step = {.clock = 1};
    struct app_table table;
    struct app_view view = {0};
    struct app *app;
    float *room;

    (void)state;
    assert_int_equal(app_synthetic.create(&config, &app, NULL), OK);
    assert_int_equal(app_synthetic.tables(app, &table), 1);
    assert_int_equal(table.rows * table.width, 625024); /* The next whole row after 2.5 MB. */
    assert_string_equal(table.apply, "add");
    assert_string_equal(table.combine, "sum");
    room = testing_array((size_t)table.rows * table.width, sizeof(float));
    view.values = room;
    view.update = room;
    assert_int_equal(app_synthetic.step(app, &view, &step), OK);
    assert_true(step.seconds == 0.0125);
    assert_int_equal(step.samples, 1);
    free(room);
    app_synthetic.destroy(app);
}

static void test_more_workers_than_elements(void **state)
{
    const struct app_option options[] = {{"elements", "3", 0}, {"width", "1", 0}};
    struct app_config config = config_of(8, options, 2);
    struct testing_cluster c;

    (void)state;
    testing_open(&c, &app_synthetic, &config);
    testing_rounds(&c, 3);
    assert_true(testing_objective(&c) == 24);
    testing_close(&c);
}

static void refused(const struct app_option *options, uint32_t count, const char *data,
                    const char *what)
{
    struct app_config config = config_of(1, options, count);
    struct err_text text = {""};
    struct app *app;

    config.data = data;
    assert_int_equal(app_synthetic.create(&config, &app, &text), ERR_INVALID);
    if (strstr(text.text, what) == NULL) {
        fail_msg("'%s' does not say '%s'", text.text, what);
    }
}

static void test_wrong_options_are_refused(void **state)
{
    const struct app_option both[] = {{"mb", "1", 0}, {"elements", "5", 0}};
    const struct app_option many[] = {{"elements", "640", 0}, {"rows", "11", 0}};
    const struct app_option near[] = {{"row", "1", 0}};
    const struct app_option zero[] = {{"mb", "0", 0}};
    const struct app_option wide[] = {{"width", "65536", 0}};
    const struct app_option late[] = {{"compute_ms", "1e9", 0}};
    const struct app_option huge[] = {{"mb", "50000", 0}, {"width", "1", 0}, {"rows", "1", 0}};

    (void)state;
    refused(both, 2, NULL, "mb and elements");
    refused(many, 2, NULL, "from 0 to 10");
    refused(near, 1, NULL, "did you mean 'rows'");
    refused(zero, 1, NULL, "mb");
    refused(wide, 1, NULL, "from 1 to 65535");
    refused(late, 1, NULL, "compute_ms");
    refused(huge, 3, NULL, "make them wider");
    refused(NULL, 0, "file.csv", "leave file.csv out");
}

static void test_every_allocation_may_fail(void **state)
{
    const struct app_option options[] = {{"rows", "4", 0}};
    struct app_config config = config_of(1, options, 1);

    (void)state;
    testing_create_fails_clean(&app_synthetic, &config);
    app_synthetic.destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_update_of_every_worker_is_counted),
        cmocka_unit_test(test_what_is_lost_or_misplaced_shows),
        cmocka_unit_test(test_rows_are_ascending_spread_and_the_same_again),
        cmocka_unit_test(test_rows_are_counted_too),
        cmocka_unit_test(test_size_and_time_are_as_asked),
        cmocka_unit_test(test_more_workers_than_elements),
        cmocka_unit_test(test_wrong_options_are_refused),
        cmocka_unit_test(test_every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
