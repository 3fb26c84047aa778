/* What a site tells its workers: there and back, and what is refused. */

#include "run/trainer/work.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void set(struct run_work *w, const char *key, const char *value)
{
    struct err_text text = {""};

    assert_int_equal(run_work_set_option(w, key, strlen(key), value, &text), OK);
}

static void test_it_comes_back_as_it_was(void **state)
{
    struct err_text text = {""};
    struct run_work in, out;
    char chars[NODE_JOB_BYTES];

    (void)state;
    run_work_init(&in);
    assert_int_equal(run_work_set_job(&in, "mf", &text), OK);
    assert_int_equal(run_work_set_data(&in, "/data/\"odd\" name.csv", &text), OK);
    in.seed = UINT64_MAX;
    in.workers = 7;
    in.clocks = 123456789;
    in.evaluate_every = 0;
    set(&in, "rank", "8");
    set(&in, "lr", "0.1");
    set(&in, "rank", "16"); /* The last one counts. */
    assert_int_equal(run_work_print(&in, chars), OK);
    assert_int_equal(run_work_parse(chars, &out, &text), OK);
    assert_string_equal(out.job, "mf");
    assert_string_equal(out.data, in.data);
    assert_true(out.seed == UINT64_MAX);
    assert_int_equal(out.workers, 7);
    assert_int_equal(out.clocks, 123456789);
    assert_int_equal(out.evaluate_every, 0);
    assert_int_equal(out.options_count, 2);
    assert_string_equal(out.options[0].key, "rank");
    assert_string_equal(out.options[0].value, "16");
    assert_string_equal(out.options[1].value, "0.1");
}

static void test_what_is_left_out_has_its_default(void **state)
{
    struct err_text text = {""};
    struct run_work w;

    (void)state;
    assert_int_equal(run_work_parse("{\"job\":\"lda\"}", &w, &text), OK);
    assert_string_equal(w.job, "lda");
    assert_string_equal(w.data, "");
    assert_int_equal(w.seed, 1);
    assert_int_equal(w.workers, 0);
    assert_int_equal(w.clocks, 0);
    assert_int_equal(w.evaluate_every, 10);
    assert_int_equal(w.options_count, 0);
}

static void test_what_cannot_be_is_refused_with_its_key(void **state)
{
    static const char *const wrong[][2] = {
        {"", "not an object"},
        {"[]", "not an object"},
        {"{\"job\":1}", "'job' has to be a text"},
        {"{\"data\":null}", "'data' has to be a text"},
        {"{\"seed\":7}", "'seed' has to be a whole number in quotes"},
        {"{\"seed\":\"-1\"}", "'seed' has to be a whole number in quotes"},
        {"{\"seed\":\"\"}", "'seed' has to be a whole number in quotes"},
        {"{\"seed\":\"18446744073709551616\"}", "'seed' has to be below 2^64"},
        {"{\"workers\":257}", "'workers' has to be a whole number"},
        {"{\"workers\":-1}", "'workers' has to be a whole number"},
        {"{\"clocks\":\"5\"}", "'clocks' has to be a whole number"},
        {"{\"evaluate\":1.5}", "'evaluate' has to be a whole number"},
        {"{\"options\":[]}", "'options' has to be an object"},
        {"{\"options\":{\"a\":1}}", "'a' has to be a text"},
        {"{\"options\":{\"\":\"1\"}}", "an option needs a name"},
        {"{\"jobs\":\"mf\"}", "not known here: 'jobs'"},
        {"{\"job\":\"mf\",\"job\":\"mf\"}", "not an object"},
        {"{\"job\":\"0123456789012345678901234567890123456789\"}", "is not the name of a job"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct err_text text = {""};
        struct run_work w;

        if (run_work_parse(wrong[i][0], &w, &text) == OK ||
            strstr(text.text, wrong[i][1]) == NULL) {
            fail_msg("%s: %s", wrong[i][0], text.text);
        }
    }
}

static void test_too_many_or_too_long_options_are_refused(void **state)
{
    static char long_value[NODE_JOB_BYTES + 1];
    struct err_text text = {""};
    struct run_work w;
    char chars[NODE_JOB_BYTES];

    (void)state;
    memset(long_value, 'x', NODE_JOB_BYTES);
    run_work_init(&w);
    assert_int_equal(run_work_set_option(&w, "k", 1, long_value, &text), ERR_TOO_BIG);
    assert_int_equal(w.options_count, 0);
    run_work_init(&w);
    for (uint32_t i = 0; i < APP_OPTIONS_MAX; i++) {
        char key[16];

        (void)snprintf(key, sizeof(key), "k%u", i);
        set(&w, key, "1");
    }
    assert_int_equal(run_work_set_option(&w, "one-more", 8, "1", &text), ERR_TOO_BIG);
    set(&w, "k3", "2");
    long_value[1020] = '\0';
    assert_int_equal(run_work_set_data(&w, long_value, &text), OK);
    set(&w, "k4", long_value);
    set(&w, "k5", long_value);
    assert_int_equal(run_work_print(&w, chars), OK);
    set(&w, "k6", long_value); /* It fits here, but not into what is sent. */
    assert_int_equal(run_work_print(&w, chars), ERR_TOO_BIG);
    long_value[1020] = 'x';
    assert_int_equal(run_work_set_data(&w, long_value, &text), ERR_TOO_BIG);
}

static void test_the_job_gets_what_it_says(void **state)
{
    struct err_text text = {""};
    struct app_config c;
    struct run_work w;

    (void)state;
    assert_int_equal(
        run_work_parse("{\"job\":\"mf\",\"seed\":\"9\",\"options\":{\"rank\":\"4\"}}", &w, &text),
        OK);
    c = run_work_app(&w, 2, 5);
    assert_string_equal(c.job, "mf");
    assert_int_equal(c.rank, 2);
    assert_int_equal(c.workers, 5);
    assert_int_equal(c.seed, 9);
    assert_int_equal(c.option_count, 1);
    assert_string_equal(c.options[0].value, "4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_comes_back_as_it_was),
        cmocka_unit_test(test_what_is_left_out_has_its_default),
        cmocka_unit_test(test_what_cannot_be_is_refused_with_its_key),
        cmocka_unit_test(test_too_many_or_too_long_options_are_refused),
        cmocka_unit_test(test_the_job_gets_what_it_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
