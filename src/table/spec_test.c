/* Words and numbers of the texts that people write. */

#include "table/spec.h"

#include "table/testing.h"

#include <locale.h>

static void test_words_are_split_at_spaces(void **state)
{
    struct table_spec spec;

    (void)state;
    assert_int_equal(table_spec_split("  one two=2   three ", &spec), OK);
    assert_int_equal(spec.count, 3);
    assert_string_equal(spec.words[0], "one");
    assert_string_equal(spec.words[1], "two=2");
    assert_string_equal(spec.words[2], "three");
    assert_int_equal(table_spec_split("", &spec), ERR_INVALID);
    assert_int_equal(table_spec_split("   ", &spec), ERR_INVALID);
}

static void test_too_many_words_or_too_long_a_text_is_refused(void **state)
{
    char chars[2 * TABLE_SPEC_BYTES] = "";
    struct table_spec spec;

    (void)state;
    for (uint32_t i = 0; i < TABLE_SPEC_WORDS_MAX; i++) {
        memcpy(chars + (size_t)2 * i, "a ", 3);
    }
    assert_int_equal(table_spec_split(chars, &spec), OK);
    assert_int_equal(spec.count, TABLE_SPEC_WORDS_MAX);
    memcpy(chars + (size_t)2 * TABLE_SPEC_WORDS_MAX, "a", 2);
    assert_int_equal(table_spec_split(chars, &spec), ERR_INVALID);
    memset(chars, 'a', TABLE_SPEC_BYTES - 1);
    chars[TABLE_SPEC_BYTES - 1] = '\0';
    assert_int_equal(table_spec_split(chars, &spec), OK);
    chars[TABLE_SPEC_BYTES - 1] = 'a';
    chars[TABLE_SPEC_BYTES] = '\0';
    assert_int_equal(table_spec_split(chars, &spec), ERR_INVALID);
}

static void test_numbers_are_read(void **state)
{
    static const struct {
        const char *chars;
        float value;
    } rows[] = {
        {"0", 0},
        {"1", 1},
        {"-1.5", -1.5F},
        {"1e-8", 1e-8F},
        {"1E+3", 1000},
        {".5", 0.5F},
        {"5.", 5},
        {"007", 7},
        {"1e-60", 0},
        {"-0", -0.0F},
        {"3.4028235e38", 0x1.fffffep127F},
        {"1e-45", 0x1p-149F},
        {"0.1", 0.1F},
        {"16777217", 16777216},
    };
    float value;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(table_spec_float(rows[i].chars, &value), OK);
        assert_int_equal(testing_bits(value), testing_bits(rows[i].value));
    }
}

static void test_what_is_no_number_is_refused(void **state)
{
    static const char *const bad[] = {
        "",    "-",   ".",    "e5",    "1e",  "1e+",  "+1",    " 1", "1 ",    "1,5", "0x10",
        "inf", "nan", "-inf", "1.2.3", "--1", "1e99", "-1e39", "1-", "1e5e5", "1f",  "\xd9\xa1"};
    float value = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(table_spec_float(bad[i], &value), ERR_INVALID);
    }
    assert_true(value == 7);
}

static void test_whole_numbers_are_read_up_to_their_limit(void **state)
{
    static const char *const bad[] = {
        "", "-1", "+1", "1.0", "1e3", "0x1", " 1", "18446744073709551616", "99999999999999999999"};
    uint64_t value = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(table_spec_whole(bad[i], UINT64_MAX, &value), ERR_INVALID);
    }
    assert_int_equal(value, 7);
    assert_int_equal(table_spec_whole("11", 10, &value), ERR_INVALID);
    assert_int_equal(table_spec_whole("10", 10, &value), OK);
    assert_int_equal(value, 10);
    assert_int_equal(table_spec_whole("18446744073709551615", UINT64_MAX, &value), OK);
    assert_int_equal(value, UINT64_MAX);
}

static void test_a_printed_number_is_short_and_reads_as_the_same(void **state)
{
    char chars[TABLE_SPEC_NUMBER_BYTES];
    struct rng r;

    (void)state;
    assert_string_equal(table_spec_print(0.1F, chars), "0.1");
    assert_string_equal(table_spec_print(1e-8F, chars), "1e-08");
    assert_string_equal(table_spec_print(0.30000001F, chars), "0.3");
    assert_string_equal(table_spec_print(0.30000004F, chars), "0.30000004");
    rng_init(&r, 5);
    for (uint32_t i = 0; i < 20000; i++) {
        float value = testing_float(&r);
        float again;

        assert_int_equal(table_spec_float(table_spec_print(value, chars), &again), OK);
        assert_int_equal(testing_bits(again), testing_bits(value));
    }
}

static void test_the_locale_of_the_process_does_not_matter(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
    char chars[TABLE_SPEC_NUMBER_BYTES];
    const char *set = NULL;
    float value;

    (void)state;
    for (uint32_t i = 0; i < 4 && set == NULL; i++) {
        set = setlocale(LC_NUMERIC, names[i]);
    }
    if (set == NULL) {
        print_message("no locale with another decimal point is installed\n");
        skip();
    }
    assert_int_equal(table_spec_float("0.5", &value), OK);
    assert_true(value == 0.5F);
    assert_string_equal(table_spec_print(0.5F, chars), "0.5");
    assert_string_equal(setlocale(LC_NUMERIC, NULL), set);
    assert_non_null(setlocale(LC_NUMERIC, "C"));
}

static void test_names_are_found(void **state)
{
    static const char *const names[] = {"a", "bc"};

    (void)state;
    assert_int_equal(table_spec_find(names, 2, "a"), 0);
    assert_int_equal(table_spec_find(names, 2, "bc"), 1);
    assert_int_equal(table_spec_find(names, 2, "b"), 2);
    assert_int_equal(table_spec_find(names, 2, ""), 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_are_split_at_spaces),
        cmocka_unit_test(test_too_many_words_or_too_long_a_text_is_refused),
        cmocka_unit_test(test_numbers_are_read),
        cmocka_unit_test(test_what_is_no_number_is_refused),
        cmocka_unit_test(test_whole_numbers_are_read_up_to_their_limit),
        cmocka_unit_test(test_a_printed_number_is_short_and_reads_as_the_same),
        cmocka_unit_test(test_the_locale_of_the_process_does_not_matter),
        cmocka_unit_test(test_names_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
