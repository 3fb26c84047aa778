/* What jobs keep of their own between clocks, as bytes: a job that was given back what another one
 * had goes on as that one would have, to the last bit; and it belongs to one part of one data. */

#include "app/jobs.h"
#include "app/testing.h"

enum { WORKERS = 3, SEED = 5, PIECE = 64 };

struct kind {
    const struct app_ops *ops;
    struct app_option options[6];
    uint32_t count;
    struct app_option other; /* One that gives the bytes another meaning. */
};

static const struct kind kinds[] = {
    {&app_lda,
     {{"documents", "40", 0},
      {"vocabulary", "30", 0},
      {"tokens", "15", 0},
      {"truth", "4", 0},
      {"topics", "6", 0},
      {"batch", "3", 0}},
     6,
     {"topics", "7", 0}},
    {&app_mf,
     {{"users", "30", 0},
      {"items", "20", 0},
      {"ratings", "300", 0},
      {"rank", "5", 0},
      {"batch", "20", 0}},
     5,
     {"items", "21", 0}},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static struct app_config config_of(const struct kind *k)
{
    return (struct app_config){.job = k->ops->name,
                               .workers = WORKERS,
                               .seed = SEED,
                               .options = k->options,
                               .option_count = k->count};
}

static struct app *make(const struct app_config *config)
{
    struct err_text text = {""};
    struct app *a = NULL;

    if (app_create(config, &a, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return a;
}

/* Everything that @from keeps, to @to, piece by piece. */
static void hand_over(const struct app *from, struct app *to)
{
    const struct app_state_ops *s = from->ops->state;
    uint64_t size = s->size(from);
    uint8_t piece[PIECE];

    assert_int_equal(s->size(to), size);
    for (uint64_t at = 0; at < size; at += PIECE) {
        size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;

        s->save(from, at, piece, n);
        assert_int_equal(s->load(to, at, piece, n), OK);
    }
}

static void test_a_job_goes_on_where_another_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        struct app_config config = config_of(&kinds[i]);
        struct testing_cluster whole, changed;

        testing_open(&whole, kinds[i].ops, &config);
        testing_open(&changed, kinds[i].ops, &config);
        testing_rounds(&whole, 7);
        testing_rounds(&changed, 7);
        for (uint32_t w = 0; w < WORKERS; w++) {
            struct app *fresh;

            config.rank = w;
            fresh = make(&config);
            hand_over(changed.apps[w], fresh);
            app_destroy(changed.apps[w]);
            changed.apps[w] = fresh;
        }
        for (uint32_t round = 0; round < 30; round++) {
            testing_round(&whole);
            testing_round(&changed);
            for (uint32_t t = 0; t < whole.table_count; t++) {
                assert_memory_equal(whole.tables[t].values, changed.tables[t].values,
                                    whole.tables[t].elements * sizeof(float));
            }
        }
        assert_true(testing_objective(&whole) == testing_objective(&changed));
        testing_close(&whole);
        testing_close(&changed);
    }
}

/* And without it, not: the test above could fail. */
static void test_a_fresh_job_would_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        struct app_config config = config_of(&kinds[i]);
        struct testing_cluster whole, changed;

        testing_open(&whole, kinds[i].ops, &config);
        testing_open(&changed, kinds[i].ops, &config);
        testing_rounds(&whole, 7);
        testing_rounds(&changed, 7);
        app_destroy(changed.apps[0]);
        changed.apps[0] = make(&config);
        testing_rounds(&whole, 5);
        testing_rounds(&changed, 5);
        assert_memory_not_equal(whole.tables[0].values, changed.tables[0].values,
                                whole.tables[0].elements * sizeof(float));
        testing_close(&whole);
        testing_close(&changed);
    }
}

static uint64_t about_of(const struct app_config *config)
{
    struct app *a = make(config);
    uint64_t about = a->ops->state->about(a);

    app_destroy(a);
    return about;
}

static void test_it_belongs_to_one_part_of_one_data(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        struct app_config config = config_of(&kinds[i]);
        struct app_option options[7];
        uint64_t about = about_of(&config), others[4];

        assert_true(about_of(&config) == about);
        config.rank = 1;
        others[0] = about_of(&config);
        config.rank = 0;
        config.workers = 2;
        others[1] = about_of(&config);
        config.workers = WORKERS;
        config.seed = SEED + 1;
        others[2] = about_of(&config);
        config.seed = SEED;
        memcpy(options, kinds[i].options, sizeof(kinds[i].options));
        for (uint32_t o = 0; o < config.option_count; o++) {
            if (strcmp(options[o].key, kinds[i].other.key) == 0) {
                options[o] = kinds[i].other;
            }
        }
        config.options = options;
        others[3] = about_of(&config);
        for (size_t o = 0; o < 4; o++) {
            assert_true(others[o] != about);
        }
    }
}

static void test_a_topic_that_is_none_is_refused(void **state)
{
    struct app_config config = config_of(&kinds[0]);
    struct app *a = make(&config);
    const uint8_t good[] = {0, 0, 5, 0, 0xff, 0xff}, six[] = {6, 0}, most[] = {0xfe, 0xff};

    (void)state;
    assert_true(a->ops->state->exact);
    assert_int_equal(a->ops->state->load(a, 4, good, sizeof(good)), OK);
    assert_int_equal(a->ops->state->load(a, 4, six, sizeof(six)), ERR_CORRUPT);
    assert_int_equal(a->ops->state->load(a, 4, most, sizeof(most)), ERR_CORRUPT);
    app_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_goes_on_where_another_was),
        cmocka_unit_test(test_a_fresh_job_would_not),
        cmocka_unit_test(test_it_belongs_to_one_part_of_one_data),
        cmocka_unit_test(test_a_topic_that_is_none_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
