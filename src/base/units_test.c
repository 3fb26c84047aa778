/* Quantities: tables of what is taken and what is refused, and random round trips. */

#include "base/units.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct sample {
    const char *chars;
    uint64_t value;
};

static void test_rates(void **state)
{
    static const struct sample samples[] = {
        {"100mbit", 12500000},
        {"1.5gbit", 187500000},
        {"20kbit", 2500},
        {"3MB/s", 3000000},
        {"0.008kbit", 1},
        {"1tbit", UINT64_C(125000000000)},
        {"2.5KiB/s", 2560},
        {"1MiB/s", 1 << 20},
        {"10bit", 1}, /* 1.25, to the nearest. */
        {"12bit", 2}, /* 1.5, up. */
        {"1bit", 1},  /* Never to zero. */
        {"0", 0},
        {"0mbit", 0},
        {"000100.500kbit", 12563}, /* 12562.5 */
        {"18446744073709551615B/s", UINT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(samples); i++) {
        uint64_t value = 0;

        assert_int_equal(units_rate_parse(samples[i].chars, &value, NULL), OK);
        assert_int_equal(value, samples[i].value);
    }
}

static void test_times(void **state)
{
    static const struct sample samples[] = {
        {"40ms", 40000000},
        {"2s", 2000000000},
        {"1.5us", 1500},
        {"3min", UINT64_C(180000000000)},
        {"0.5h", UINT64_C(1800000000000)},
        {"7ns", 7},
        {"0", 0},
        {"9223372036.854775807s", INT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(samples); i++) {
        int64_t value = 0;

        assert_int_equal(units_time_parse(samples[i].chars, &value, NULL), OK);
        assert_int_equal(value, samples[i].value);
    }
}

static void test_sizes_and_percentages(void **state)
{
    static const struct sample sizes[] = {
        {"64KiB", 65536}, {"4MiB", 4194304},      {"10MB", 10000000},
        {"123", 123},     {"0.5TiB", 1ull << 39},
    };
    static const struct sample percents[] = {
        {"10%", 100000},      {"0%", 0},       {"100%", 1000000}, {"0.5%", 5000}, {"0.0001%", 1},
        {"33.3333%", 333333}, {"0.00001%", 1},
    };
    uint64_t bytes = 0;
    uint32_t ppm = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        assert_int_equal(units_size_parse(sizes[i].chars, &bytes, NULL), OK);
        assert_int_equal(bytes, sizes[i].value);
    }
    for (size_t i = 0; i < COUNT(percents); i++) {
        assert_int_equal(units_percent_parse(percents[i].chars, &ppm, NULL), OK);
        assert_int_equal(ppm, percents[i].value);
    }
}

static void test_what_is_no_quantity_is_refused(void **state)
{
    static const char *const bad[] = {
        "",       "mbit",   "-1mbit", "+1mbit",    "1 mbit", " 1mbit", "1mbit ", "1.mbit", ".5mbit",
        "1..5ms", "1.5.2s", "1e3s",   "0x10s",     "1Mbit",  "1mb",    "1mbps",  "1m",     "ms",
        "10 %",   "%",      "1,5s",   "\xd9\xa1s", "nan",    "inf",    "5",      "1KB",    "1k",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        uint64_t value = 7;
        int64_t ns = 7;
        uint32_t ppm = 7;
        struct err_text text;

        assert_int_equal(units_rate_parse(bad[i], &value, &text), ERR_MALFORMED);
        assert_non_null(strstr(text.text, "kbit"));
        assert_int_equal(units_time_parse(bad[i], &ns, &text), ERR_MALFORMED);
        assert_non_null(strstr(text.text, "ns, us, ms, s, min or h"));
        assert_int_equal(units_percent_parse(bad[i], &ppm, NULL), ERR_MALFORMED);
        if (strcmp(bad[i], "5") != 0) {
            assert_int_equal(units_size_parse(bad[i], &value, &text), ERR_MALFORMED);
            assert_non_null(strstr(text.text, "KiB"));
        }
        assert_int_equal(value, 7);
        assert_int_equal(ns, 7);
        assert_int_equal(ppm, 7);
    }
}

static void test_the_text_says_what_to_write(void **state)
{
    struct err_text text;
    int64_t ns;

    (void)state;
    assert_int_equal(units_time_parse("40\033[2Jmsec", &ns, &text), ERR_MALFORMED);
    assert_string_equal(text.text, "'40\\x1b[2Jmsec' is not a time: write a number and its unit "
                                   "(ns, us, ms, s, min or h), such as 40ms");
}

static void test_what_does_not_fit_is_refused(void **state)
{
    struct err_text text;
    uint64_t value = 7;
    int64_t ns = 7;
    uint32_t ppm = 7;

    (void)state;
    assert_int_equal(units_rate_parse("18446744073709551616B/s", &value, &text), ERR_TOO_BIG);
    assert_int_equal(units_size_parse("16777216TiB", &value, &text), ERR_TOO_BIG);
    assert_int_equal(units_time_parse("9223372036.854775808s", &ns, &text), ERR_TOO_BIG);
    assert_int_equal(units_time_parse("9999999999999999999999999h", &ns, &text), ERR_TOO_BIG);
    assert_int_equal(units_percent_parse("100.0001%", &ppm, &text), ERR_TOO_BIG);
    assert_string_equal(text.text, "'100.0001%' is too large for a percentage");
    assert_int_equal(units_size_parse("10000000000000000000000000", &value, &text), ERR_TOO_BIG);
    assert_int_equal(units_time_parse("0.00000000000000000000000001s", &ns, &text), ERR_TOO_BIG);
    assert_non_null(strstr(text.text, "at most 25"));
    assert_int_equal(value + (uint64_t)ns + ppm, 21);
}

static void test_printing_is_short(void **state)
{
    struct units_text out;

    (void)state;
    assert_string_equal(units_rate_print(12500000, &out), "100mbit");
    assert_string_equal(units_rate_print(187500000, &out), "1.5gbit");
    assert_string_equal(units_rate_print(1, &out), "8bit");
    assert_string_equal(units_rate_print(0, &out), "0bit");
    assert_string_equal(units_rate_print(UINT64_MAX, &out), "147573952.58967641292tbit");
    assert_string_equal(units_time_print(0, &out), "0ns");
    assert_string_equal(units_time_print(1500, &out), "1.5us");
    assert_string_equal(units_time_print(90000000000, &out), "90s");
    assert_string_equal(units_time_print(40000001, &out), "40.000001ms");
    assert_string_equal(units_size_print(65536, &out), "64KiB");
    assert_string_equal(units_size_print(10000000, &out), "10MB");
    assert_string_equal(units_size_print(123, &out), "123");
    assert_string_equal(units_size_print(0, &out), "0");
    assert_string_equal(units_percent_print(5000, &out), "0.5%");
    assert_string_equal(units_percent_print(UNITS_PPM_MAX, &out), "100%");
}

/* So often, and less under valgrind. */
static uint32_t many(uint32_t times)
{
    return getenv("STRAIT_VALGRIND") != NULL ? times / 20 : times;
}

static void test_what_is_printed_parses_to_the_same(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (uint32_t i = 0; i < many(100000); i++) {
        uint64_t value = rng_next(&rng) >> rng_below(&rng, 64);
        struct units_text out;
        uint64_t back = 0;
        int64_t ns = 0;
        uint32_t ppm = 0;

        if (rng_chance(&rng, 300000)) {
            value -= value % 1000000;
        }
        assert_int_equal(units_rate_parse(units_rate_print(value, &out), &back, NULL), OK);
        assert_int_equal(back, value);
        assert_int_equal(units_size_parse(units_size_print(value, &out), &back, NULL), OK);
        assert_int_equal(back, value);
        value >>= 1;
        assert_int_equal(units_time_parse(units_time_print((int64_t)value, &out), &ns, NULL), OK);
        assert_int_equal(ns, value);
        value %= UNITS_PPM_MAX + 1;
        assert_int_equal(
            units_percent_parse(units_percent_print((uint32_t)value, &out), &ppm, NULL), OK);
        assert_int_equal(ppm, value);
    }
}

/* Any bytes: an answer, never a crash, and a text that stays on its line. */
static void test_random_texts_are_answered(void **state)
{
    static const char letters[] = "0123456789.kmgtKMGTiBbs/h%un- e\n\033\xff\xc3";
    struct rng rng;
    uint32_t taken = 0;

    (void)state;
    rng_init(&rng, 2);
    for (uint32_t i = 0; i < many(300000); i++) {
        char chars[64] = "";
        uint64_t size = rng_below(&rng, rng_chance(&rng, 900000) ? 8 : sizeof(chars));
        uint64_t value;
        int64_t ns;
        uint32_t ppm;
        struct err_text text = {""};

        for (uint64_t k = 0; k < size; k++) {
            chars[k] =
                letters[rng_below(&rng, rng_chance(&rng, 500000) ? 10 : sizeof(letters) - 1)];
        }
        taken += units_rate_parse(chars, &value, &text) == OK;
        taken += units_time_parse(chars, &ns, &text) == OK && ns >= 0;
        taken += units_size_parse(chars, &value, &text) == OK;
        taken += units_percent_parse(chars, &ppm, &text) == OK && ppm <= UNITS_PPM_MAX;
        assert_null(strpbrk(text.text, "\n\033\xff"));
    }
    assert_true(taken > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_sizes_and_percentages),
        cmocka_unit_test(test_what_is_no_quantity_is_refused),
        cmocka_unit_test(test_the_text_says_what_to_write),
        cmocka_unit_test(test_what_does_not_fit_is_refused),
        cmocka_unit_test(test_printing_is_short),
        cmocka_unit_test(test_what_is_printed_parses_to_the_same),
        cmocka_unit_test(test_random_texts_are_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
