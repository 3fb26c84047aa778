/* The list of jobs: names, creation by name, and help that is true. */

#include "app/app.h"

#include "app/testing.h"

static const struct app_config one_worker = {.workers = 1, .seed = 1};

static void test_jobs_are_found_by_name(void **state)
{
    static const char *const names[] = {"lenet", "mlp", "mf", "logreg", "lda", "synthetic"};
    const struct app_ops *const *all;
    uint32_t count;

    (void)state;
    all = app_all(&count);
    assert_int_equal(count, 6);
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(all[i]->name, names[i]);
        assert_ptr_equal(app_find(names[i]), all[i]);
        assert_true(all[i]->summary[0] != '\0' && strchr(all[i]->summary, '\n') == NULL);
        assert_true(all[i]->objective[0] != '\0');
    }
    assert_null(app_find(""));
    assert_null(app_find("MF"));
    assert_null(app_find("mf "));
}

static void test_an_unknown_job_is_answered_with_the_known_ones(void **state)
{
    struct app_config config = one_worker;
    struct err_text text;
    struct app *app;

    (void)state;
    config.job = "fm";
    assert_int_equal(app_create(&config, &app, &text), ERR_NOT_FOUND);
    assert_string_equal(text.text, "there is no job 'fm': choose one of lenet, mlp, mf, logreg, "
                                   "lda, synthetic");
}

static void test_a_rank_is_below_the_number_of_workers(void **state)
{
    struct app_config config = one_worker;
    struct err_text text;
    struct app *app;

    (void)state;
    config.job = "mf";
    config.rank = 3;
    config.workers = 3;
    assert_int_equal(app_create(&config, &app, &text), ERR_INVALID);
    assert_string_equal(text.text, "job mf: there is no worker 3 of 3: they count from 0");
    config.rank = 0;
    config.workers = 0;
    assert_int_equal(app_create(&config, &app, &text), ERR_INVALID);
}

static void test_jobs_are_created_by_name(void **state)
{
    struct app_config config = one_worker;
    struct err_text text;
    struct app *app;

    (void)state;
    config.job = "mf";
    assert_int_equal(app_create(&config, &app, &text), OK);
    assert_ptr_equal(app->ops, app_find("mf"));
    app_destroy(app);
    app_destroy(NULL);
}

/* Take the next "key=DEFAULT what" line; false at the end. */
static bool help_next(const char **at, char *key, char *value)
{
    int size = 0;

    if (**at == '\0') {
        return false;
    }
    assert_int_equal(sscanf(*at, "%31[^= \n]=%31[^ \n] %n", key, value, &size), 2);
    assert_true(size > 0 && (*at)[size] != '\0');
    *at = strchr(*at, '\n');
    assert_non_null(*at);
    (*at)++;
    return true;
}

/* Every option that help lists exists, and its default is the default: all of them together make
 * the same tables as none of them. */
static void test_help_lists_what_there_is(void **state)
{
    const struct app_ops *const *all;
    uint32_t count;

    (void)state;
    if (getenv("STRAIT_VALGRIND") != NULL) {
        print_message("SKIPPED [app] jobs of their usual size take too long under valgrind\n");
        skip();
    }
    all = app_all(&count);
    for (uint32_t i = 0; i < count; i++) {
        static char keys[APP_OPTIONS_MAX][32], values[APP_OPTIONS_MAX][32];
        struct app_table tables[2][APP_TABLES_MAX];
        struct app_option options[APP_OPTIONS_MAX];
        struct app_config config = one_worker;
        const char *at = all[i]->options_help;
        struct err_text text = {""};

        config.job = all[i]->name;
        config.options = options;
        while (help_next(&at, keys[config.option_count], values[config.option_count])) {
            options[config.option_count] = (struct app_option){
                .key = keys[config.option_count], .value = values[config.option_count]};
            config.option_count++;
            assert_true(config.option_count < APP_OPTIONS_MAX);
        }
        memset(tables, 0, sizeof(tables));
        for (uint32_t k = 0; k < 2; k++) {
            struct app *app;

            if (app_create(&config, &app, &text) != OK) {
                fail_msg("%s", text.text);
            }
            assert_true(app->ops->tables(app, tables[k]) > 0);
            app_destroy(app);
            config.option_count = 0;
        }
        assert_memory_equal(tables[0], tables[1], sizeof(tables[0]));
    }
}

static void test_every_job_refuses_what_it_does_not_know(void **state)
{
    static const struct app_option options[] = {{"no-such-thing", "1", 9}};
    const struct app_ops *const *all;
    uint32_t count;

    (void)state;
    all = app_all(&count);
    for (uint32_t i = 0; i < count; i++) {
        struct app_config config = one_worker;
        struct err_text text = {""};
        struct app *app;

        config.job = all[i]->name;
        config.options = options;
        config.option_count = 1;
        assert_int_equal(app_create(&config, &app, &text), ERR_INVALID);
        assert_non_null(strstr(text.text, "option no-such-thing (line 9): it has no such option"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_are_found_by_name),
        cmocka_unit_test(test_an_unknown_job_is_answered_with_the_known_ones),
        cmocka_unit_test(test_a_rank_is_below_the_number_of_workers),
        cmocka_unit_test(test_jobs_are_created_by_name),
        cmocka_unit_test(test_help_lists_what_there_is),
        cmocka_unit_test(test_every_job_refuses_what_it_does_not_know),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
