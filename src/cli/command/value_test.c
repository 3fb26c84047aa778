/* Values with units: what they are worth, and what is refused. */

#include "cli/command/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_units_are_worth_what_they_say(void **state)
{
    static const struct {
        enum cli_kind kind;
        const char *text;
        int64_t number;
    } good[] = {
        {CLI_NUMBER, "42", 42},
        {CLI_NUMBER, "-7", -7},
        {CLI_SIZE, "4096", 4096},
        {CLI_SIZE, "64KiB", 65536},
        {CLI_SIZE, "64kB", 64000},
        {CLI_SIZE, "1.5M", 1500000},
        {CLI_SIZE, "2Gi", INT64_C(2147483648)},
        {CLI_RATE, "2.5Gbit", INT64_C(2500000000)},
        {CLI_RATE, "100mbit", INT64_C(100000000)},
        {CLI_RATE, "100M", 100000000},
        {CLI_DURATION, "2", 2000000},
        {CLI_DURATION, "250ms", 250000},
        {CLI_DURATION, "15m", INT64_C(900000000)},
        {CLI_DURATION, "0.5us", 1},
        {CLI_DURATION, "30d", INT64_C(2592000000000)},
    };
    struct cli_value value;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(value_parse(good[i].kind, NULL, 0, 0, good[i].text, &value, NULL), OK);
        assert_int_equal(value.number, good[i].number);
        assert_string_equal(value.text, good[i].text);
    }
    assert_int_equal(value_parse(CLI_DECIMAL, NULL, 0, 0, "-1.5e3", &value, NULL), OK);
    assert_true(value.decimal > -1500.5 && value.decimal < -1499.5);
    assert_int_equal(value_parse(CLI_DECIMAL, NULL, 0, 5, "5", &value, NULL), OK);
    assert_int_equal(value_parse(CLI_DECIMAL, NULL, 0, 5, "-0.1", &value, NULL), ERR_INVALID);
    assert_int_equal(value_parse(CLI_DECIMAL, NULL, 0, 5, "5.001", &value, NULL), ERR_INVALID);
}

static void test_nonsense_is_refused_with_a_reason(void **state)
{
    static const struct {
        enum cli_kind kind;
        const char *text, *why;
    } bad[] = {
        {CLI_TEXT, "", "empty"},
        {CLI_NUMBER, "", "whole number"},
        {CLI_NUMBER, "1x", "whole number"},
        {CLI_NUMBER, "1.5", "whole number"},
        {CLI_NUMBER, "99999999999999999999", "too large"},
        {CLI_DECIMAL, "nan", "not a number"},
        {CLI_DECIMAL, "inf", "not a number"},
        {CLI_DECIMAL, "1e999", "not a number"},
        {CLI_SIZE, "-1", "should look like"},
        {CLI_SIZE, "0x10", "should look like"},
        {CLI_SIZE, "1.2.3", "should look like"},
        {CLI_SIZE, "12 KiB", "should look like"},
        {CLI_SIZE, "12kib", "should look like"},
        {CLI_SIZE, "99999999TiB", "too large"},
        {CLI_RATE, "1GiB", "should look like"},
        {CLI_DURATION, "ms", "should look like"},
        {CLI_DURATION, "1y", "should look like"},
        {CLI_WORDS, "re", "must be one of red, green"},
        {CLI_WORDS, "red green", "must be one of red, green"},
    };
    struct cli_value value = {.number = 5};
    struct err_text why;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(value_parse(bad[i].kind, "red green", 0, 0, bad[i].text, &value, &why),
                         ERR_INVALID);
        assert_non_null(strstr(why.text, bad[i].why));
        assert_int_equal(value.number, 5);
    }
}

static void test_limits_are_said_in_units(void **state)
{
    struct cli_value value;
    struct err_text why;

    (void)state;
    assert_int_equal(
        value_parse(CLI_DURATION, NULL, 1000000, INT64_C(604800000000), "8d", &value, &why),
        ERR_INVALID);
    assert_string_equal(why.text, "must be from 1s to 7d");
    assert_int_equal(value_parse(CLI_SIZE, NULL, 1024, 65536, "1", &value, &why), ERR_INVALID);
    assert_string_equal(why.text, "must be from 1KiB to 64KiB");
    assert_int_equal(value_parse(CLI_NUMBER, NULL, 1, 3, "4", &value, &why), ERR_INVALID);
    assert_string_equal(why.text, "must be from 1 to 3");
    assert_int_equal(value_parse(CLI_NUMBER, NULL, 1, 3, "3", &value, &why), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_are_worth_what_they_say),
        cmocka_unit_test(test_nonsense_is_refused_with_a_reason),
        cmocka_unit_test(test_limits_are_said_in_units),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
