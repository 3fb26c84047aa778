/* Options of jobs, and the parts of workers. */

#include "app/option.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct app_option options[] = {
    {"rank", "32", 7},   {"lr", "0.5", 8},     {"kind", "soft", 0}, {"large", "4294967296", 9},
    {"minus", "-1", 10}, {"words", "many", 0}, {"empty", "", 0},    {"half", "1.5", 0},
    {"hex", "0x10", 11}, {"huge", "1e39", 0},
};

enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

static const struct app_config config = {
    .job = "mf", .workers = 1, .options = options, .option_count = OPTIONS};

static void test_what_is_given_is_taken(void **state)
{
    struct err_text text;
    uint32_t whole;
    double number;

    (void)state;
    assert_int_equal(app_option_u32(&config, "rank", 5, 1, 100, &whole, &text), OK);
    assert_int_equal(whole, 32);
    assert_int_equal(app_option_double(&config, "lr", 5, 0, 10, &number, &text), OK);
    assert_true(number == 0.5);
    assert_int_equal(app_option_double(&config, "minus", 5, -1, 10, &number, &text), OK);
    assert_true(number == -1);
    assert_string_equal(app_option_text(&config, "kind", "hard"), "soft");
}

static void test_what_is_not_given_is_the_default(void **state)
{
    uint32_t whole;
    double number;

    (void)state;
    assert_int_equal(app_option_u32(&config, "other", 5, 1, 100, &whole, NULL), OK);
    assert_int_equal(whole, 5);
    assert_int_equal(app_option_double(&config, "other", 2.5, 0, 10, &number, NULL), OK);
    assert_true(number == 2.5);
    assert_string_equal(app_option_text(&config, "other", "hard"), "hard");
    assert_null(app_option_text(&config, "other", NULL));
}

static void test_bad_values_are_refused_with_what_is_allowed(void **state)
{
    static const char *const wholes[] = {"large", "minus", "words", "empty", "half", "hex"};
    static const char *const numbers[] = {"words", "empty", "hex", "huge", "minus"};
    uint32_t whole = 77;
    double number = 77;
    struct err_text text;

    (void)state;
    for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
        assert_int_equal(app_option_u32(&config, wholes[i], 5, 1, UINT32_MAX, &whole, &text),
                         ERR_INVALID);
        assert_non_null(strstr(text.text, "is not a whole number from 1 to 4294967295"));
        assert_non_null(strstr(text.text, wholes[i]));
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_int_equal(app_option_double(&config, numbers[i], 5, 0, 10, &number, &text),
                         ERR_INVALID);
        assert_non_null(strstr(text.text, "is not a number from 0 to 10"));
    }
    assert_int_equal(app_option_u32(&config, "rank", 5, 1, 31, &whole, &text), ERR_INVALID);
    assert_string_equal(text.text, "job mf, option rank (line 7): '32' is not a whole number from "
                                   "1 to 31");
    assert_int_equal(app_option_u32(&config, "half", 5, 1, 31, &whole, &text), ERR_INVALID);
    assert_string_equal(text.text, "job mf, option half: '1.5' is not a whole number from 1 to 31");
    assert_true(whole == 77 && number == 77);
}

static void test_every_key_must_be_known(void **state)
{
    static const char *const all[] = {"rank",  "lr",   "kind", "large", "minus", "words",
                                      "empty", "half", "hex",  "huge",  NULL};
    static const char *const near[] = {"rnak", "tank", "lr", NULL};
    static const char *const far[] = {"alpha", "beta", NULL};
    struct err_text text;

    (void)state;
    assert_int_equal(app_option_check(&config, all, &text), OK);
    assert_int_equal(app_option_check(&config, near, &text), ERR_INVALID);
    assert_string_equal(
        text.text, "job mf, option rank (line 7): it has no such option; did you mean 'rnak'?");
    assert_int_equal(app_option_check(&config, far, &text), ERR_INVALID);
    assert_string_equal(text.text, "job mf, option rank (line 7): it has no such option; there "
                                   "are alpha, beta");
}

static void test_a_key_is_given_once(void **state)
{
    static const struct app_option twice[] = {{"rank", "1", 3}, {"lr", "1", 4}, {"rank", "1", 5}};
    static const char *const keys[] = {"rank", "lr", NULL};
    struct app_config c = {.job = "mf", .workers = 1, .options = twice, .option_count = 3};
    struct err_text text;

    (void)state;
    assert_int_equal(app_option_check(&c, keys, &text), ERR_INVALID);
    assert_string_equal(text.text, "job mf, option rank (line 5): it was given before; leave one "
                                   "of them out");
    c.option_count = 2;
    assert_int_equal(app_option_check(&c, keys, &text), OK);
}

static void test_very_long_words_are_cut(void **state)
{
    static char word[5000];
    const struct app_option o[] = {{word, word, 1}};
    static const char *const keys[] = {"rank", NULL};
    struct app_config c = {.job = "mf", .workers = 1, .options = o, .option_count = 1};
    struct err_text text;
    uint32_t whole;

    (void)state;
    memset(word, 'a', sizeof(word) - 1);
    assert_int_equal(app_option_check(&c, keys, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, "there are rank"));
    assert_int_equal(app_option_u32(&c, word, 5, 1, 31, &whole, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, "from 1 to 31"));
}

static void test_what_to_generate_is_not_for_files(void **state)
{
    static const char *const keys[] = {"users", "rank", NULL};
    struct app_config c = config;
    struct err_text text;

    (void)state;
    assert_null(app_option_data(&c));
    assert_int_equal(app_option_generated(&c, keys, &text), OK);
    c.data = "";
    assert_null(app_option_data(&c));
    assert_int_equal(app_option_generated(&c, keys, &text), OK);
    c.data = "u.data";
    assert_string_equal(app_option_data(&c), "u.data");
    assert_int_equal(app_option_generated(&c, keys, &text), ERR_INVALID);
    assert_string_equal(text.text, "job mf, option rank (line 7): it is for generated data; leave "
                                   "it or the file out");
    assert_int_equal(app_option_generated(&c, keys + 2, &text), OK);
}

static void test_a_seed_is_added_unless_it_is_zero(void **state)
{
    struct app_table table = {.init = "uniform 0.25"};

    (void)state;
    app_table_seed(&table, 0);
    assert_string_equal(table.init, "uniform 0.25");
    app_table_seed(&table, UINT64_MAX);
    assert_string_equal(table.init, "uniform 0.25 seed=18446744073709551615");
}

static void test_parts_differ_by_at_most_one(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 40; workers++) {
        for (uint64_t count = 0; count <= 100; count++) {
            uint64_t at = 0;

            for (uint32_t rank = 0; rank < workers; rank++) {
                uint64_t first, end;

                app_part(count, rank, workers, &first, &end);
                assert_int_equal(first, at);
                assert_in_range(end - first, count / workers, (count + workers - 1) / workers);
                at = end;
            }
            assert_int_equal(at, count);
        }
    }
}

static void test_parts_of_very_much_do_not_overflow(void **state)
{
    uint64_t first, end;

    (void)state;
    app_part(UINT64_MAX, UINT32_MAX - 1, UINT32_MAX, &first, &end);
    assert_true(end == UINT64_MAX && first < end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_given_is_taken),
        cmocka_unit_test(test_what_is_not_given_is_the_default),
        cmocka_unit_test(test_bad_values_are_refused_with_what_is_allowed),
        cmocka_unit_test(test_every_key_must_be_known),
        cmocka_unit_test(test_a_key_is_given_once),
        cmocka_unit_test(test_very_long_words_are_cut),
        cmocka_unit_test(test_what_to_generate_is_not_for_files),
        cmocka_unit_test(test_a_seed_is_added_unless_it_is_zero),
        cmocka_unit_test(test_parts_differ_by_at_most_one),
        cmocka_unit_test(test_parts_of_very_much_do_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
