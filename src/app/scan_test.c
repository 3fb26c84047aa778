/* Scanning: lines, numbers against the C library's, and errors that say where. */

#include "app/scan.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void scan_of(struct scan *s, const char *chars, struct err_text *text)
{
    scan_init(s, "file", chars, strlen(chars), text);
}

static void test_blank_lines_count_but_are_passed_over(void **state)
{
    struct scan s;

    (void)state;
    scan_of(&s, "\n  \t\r\n a\r\n\nb", NULL);
    assert_true(scan_line(&s));
    assert_int_equal(s.line, 3);
    assert_true(scan_word(&s, "a"));
    assert_true(scan_at_end(&s));
    assert_true(scan_line(&s));
    assert_int_equal(s.line, 5);
    assert_true(scan_word(&s, "b"));
    assert_false(scan_word(&s, "b"));
    assert_false(scan_line(&s));
    assert_false(scan_line(&s));
}

static void test_nothing_has_no_lines(void **state)
{
    struct scan s;

    (void)state;
    scan_init(&s, "file", NULL, 0, NULL);
    assert_false(scan_line(&s));
    scan_of(&s, "\n\n", NULL);
    assert_false(scan_line(&s));
    assert_int_equal(s.line, 2);
}

static void test_the_mark_of_utf8_is_passed_over(void **state)
{
    struct scan s;
    uint64_t value;

    (void)state;
    scan_of(&s,
            "\xef\xbb\xbf"
            "7",
            NULL);
    assert_true(scan_line(&s));
    assert_int_equal(scan_u64(&s, "x", 0, 9, &value), OK);
    assert_int_equal(value, 7);
}

static void test_whole_numbers_have_limits(void **state)
{
    struct err_text text;
    struct scan s;
    uint64_t value = 5;

    (void)state;
    scan_of(&s, "18446744073709551615 18446744073709551616 007 8 -1", &text);
    assert_true(scan_line(&s));
    assert_int_equal(scan_u64(&s, "a thing", 0, UINT64_MAX, &value), OK);
    assert_true(value == UINT64_MAX);
    assert_true(scan_spaces(&s));
    assert_false(scan_spaces(&s));
    assert_int_equal(scan_u64(&s, "a thing", 0, UINT64_MAX, &value), ERR_MALFORMED);
    assert_string_equal(text.text, "file:1: expected a thing, a whole number from 0 to "
                                   "18446744073709551615, found '18446744073709551616 007'...");
    assert_true(scan_word(&s, "18446744073709551616 "));
    assert_int_equal(scan_u64(&s, "a thing", 7, 7, &value), OK);
    assert_int_equal(value, 7);
    assert_true(scan_spaces(&s));
    assert_int_equal(scan_u64(&s, "a thing", 1, 7, &value), ERR_MALFORMED);
    assert_int_equal(scan_u64(&s, "a thing", 9, 10, &value), ERR_MALFORMED);
    assert_string_equal(text.text,
                        "file:1: expected a thing, a whole number from 9 to 10, found '8 -1'");
    assert_true(scan_word(&s, "8 "));
    assert_int_equal(scan_u64(&s, "a thing", 0, 7, &value), ERR_MALFORMED);
    assert_int_equal(value, 7);
    scan_skip(&s);
    assert_int_equal(scan_u64(&s, "a thing", 0, 7, &value), ERR_MALFORMED);
    assert_non_null(strstr(text.text, "found the end of the line"));
}

static void test_what_is_quoted_cannot_move_the_cursor(void **state)
{
    struct err_text text;
    struct scan s;

    (void)state;
    scan_of(&s, "x\x1b[2J\xff", &text);
    assert_true(scan_line(&s));
    assert_int_equal(scan_expected(&s, "peace"), ERR_MALFORMED);
    assert_string_equal(text.text, "file:1: expected peace, found 'x\\x1b[2J\\xff'");
}

static const char *const good[] = {
    "0",
    "-0",
    "1",
    "+1",
    "-12.5",
    "0.1",
    ".5",
    "5.",
    "1e3",
    "1E-3",
    "2.5e+2",
    "3.4028234e38",
    "1e-45",
    "1e-60",
    "0e9999",
    "00000001",
    "123456789012345678901234567890",
    "0.000000000000000000000000000000123",
    "1.7976931348623157e-308",
    "0.30000001192092896",
    "1e-99999999999999999999",
};

static const char *const bad[] = {
    "",         "-",    "+",      ".",    "e5",    "-.",    "nan",           "inf",
    "infinity", "x1",   "3.5e38", "1e39", "-1e39", "1e400", "1e99999999999", "- 1",
    "--1",      "\xb2",
};

static void test_decimals_are_those_of_the_library(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        double value = 77, expected = strtod(good[i], NULL);

        if (!scan_text_double(good[i], &value)) {
            fail_msg("%s was refused", good[i]);
        }
        assert_true(fabs(value - expected) <= fabs(expected) * 0x1p-51);
        assert_true(signbit(value) == signbit(expected));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        double value = 77;

        if (scan_text_double(bad[i], &value)) {
            fail_msg("%s was accepted", bad[i]);
        }
        assert_true(value == 77);
    }
}

/* Numbers with up to 15 digits and small exponents are exact; others within two units. */
static void test_random_decimals_are_those_of_the_library(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, 11);
    for (int i = 0; i < 200000; i++) {
        int64_t digits = rng_between(&r, -999999999999999, 999999999999999);
        int exponent = (int)rng_between(&r, -60, 23);
        double value, expected;
        char chars[64];

        (void)snprintf(chars, sizeof(chars), "%llde%d", (long long)digits, exponent);
        expected = strtod(chars, NULL);
        assert_true(scan_text_double(chars, &value));
        if (exponent >= -22 && exponent <= 22) {
            assert_true(value == expected);
        } else {
            assert_true(fabs(value - expected) <= fabs(expected) * 0x1p-51);
        }
    }
}

static void test_a_number_ends_where_it_ends(void **state)
{
    struct scan s;
    double value;

    (void)state;
    scan_of(&s, "1.5.5 2e 3e+ 4e5x", NULL);
    assert_true(scan_line(&s));
    assert_int_equal(scan_double(&s, "x", &value), OK);
    assert_true(value == 1.5 && scan_word(&s, ".5 "));
    assert_int_equal(scan_double(&s, "x", &value), OK);
    assert_true(value == 2 && scan_word(&s, "e "));
    assert_int_equal(scan_double(&s, "x", &value), OK);
    assert_true(value == 3 && scan_word(&s, "e+ "));
    assert_int_equal(scan_double(&s, "x", &value), OK);
    assert_true(value == 4e5 && scan_word(&s, "x"));
    assert_int_equal(scan_double(&s, "x", &value), ERR_MALFORMED);
}

static void test_texts_are_taken_whole(void **state)
{
    uint64_t value = 3;
    double number = 3;

    (void)state;
    assert_true(scan_text_u64("12", &value) && value == 12);
    assert_false(scan_text_u64("12 ", &value) || scan_text_u64("", &value));
    assert_false(scan_text_u64("-1", &value) || scan_text_u64("1.0", &value));
    assert_true(scan_text_double("1e-2", &number) && number == 1e-2);
    assert_false(scan_text_double("1 ", &number) || scan_text_double("0x10", &number));
    assert_true(value == 12 && number == 1e-2);
}

/* A block of just the right size: the sanitizer sees a step too far. */
static void test_nothing_outside_the_bytes_is_read(void **state)
{
    static const char all[] = "12 3.5e+2 x\n7";

    (void)state;
    for (size_t size = 0; size <= strlen(all); size++) {
        char *copy = malloc(size == 0 ? 1 : size);
        uint64_t whole;
        double number;
        struct scan s;

        assert_non_null(copy);
        memcpy(copy, all, size);
        scan_init(&s, "file", copy, size, NULL);
        while (scan_line(&s)) {
            (void)!scan_u64(&s, "x", 0, 100, &whole);
            (void)scan_spaces(&s);
            (void)!scan_double(&s, "y", &number);
            (void)scan_word(&s, " x");
            (void)scan_expected(&s, "z");
        }
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blank_lines_count_but_are_passed_over),
        cmocka_unit_test(test_nothing_has_no_lines),
        cmocka_unit_test(test_the_mark_of_utf8_is_passed_over),
        cmocka_unit_test(test_whole_numbers_have_limits),
        cmocka_unit_test(test_what_is_quoted_cannot_move_the_cursor),
        cmocka_unit_test(test_decimals_are_those_of_the_library),
        cmocka_unit_test(test_random_decimals_are_those_of_the_library),
        cmocka_unit_test(test_a_number_ends_where_it_ends),
        cmocka_unit_test(test_texts_are_taken_whole),
        cmocka_unit_test(test_nothing_outside_the_bytes_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
