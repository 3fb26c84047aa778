/* Figures as people read them. */

#include "cli/figure.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char chars[256];
static struct text out;

static void begin(void)
{
    text_init_fixed(&out, chars, sizeof(chars));
}

static void test_bytes_have_three_digits(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *shown;
    } cases[] = {{0, "0 B"},         {999, "999 B"},
                 {1000, "1 kB"},     {1234567, "1.23 MB"},
                 {999499, "999 kB"}, {UINT64_C(5000000000), "5 GB"},
                 {999500, "1 MB"},   {UINT64_C(1) << 60, "1152922 TB"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin();
        figure_bytes(cases[i].bytes, &out);
        assert_string_equal(chars, cases[i].shown);
    }
}

static void test_times_have_the_units_of_their_size(void **state)
{
    static const struct {
        double seconds;
        const char *shown;
    } cases[] = {{0, "0.0 s"},           {0.25, "250 ms"},     {0.0012345, "1.23 ms"},
                 {0.9999, "1.0 s"},      {119.94, "119.9 s"},  {120, "2 min 00 s"},
                 {7199, "119 min 59 s"}, {7200, "2 h 00 min"}, {1e9, "277777 h 46 min"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin();
        figure_time(cases[i].seconds, &out);
        assert_string_equal(chars, cases[i].shown);
    }
}

static void test_what_is_no_number_is_a_dash(void **state)
{
    (void)state;
    begin();
    figure_number(0.123456, &out);
    text_add(&out, " ");
    figure_number(NAN, &out);
    figure_number(-INFINITY, &out);
    assert_string_equal(chars, "0.1235 --");
}

static void test_bars_are_as_long_as_their_part(void **state)
{
    (void)state;
    begin();
    figure_bar(0.5, 4, false, &out);
    figure_bar(7, 2, false, &out);
    figure_bar(-1, 2, true, &out);
    assert_string_equal(chars, "##..##░░");
}

static void test_lengths_are_exact_to_an_eighth_and_never_nothing(void **state)
{
    static const struct {
        double part;
        const char *utf8, *plain;
    } cases[] = {{1, "████", "####"},  {0.5, "██", "##"},   {0.40625, "█▋", "##"},
                 {0.0001, "▏", "#"},   {0, "", ""},         {-1, "", ""},
                 {12, "████", "####"}, {0.28125, "█▏", "#"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin();
        figure_length(cases[i].part, 4, true, &out);
        assert_string_equal(chars, cases[i].utf8);
        begin();
        figure_length(cases[i].part, 4, false, &out);
        assert_string_equal(chars, cases[i].plain);
    }
}

static void test_the_environment_says_whether_it_is_utf8(void **state)
{
    (void)state;
    assert_int_equal(setenv("LC_ALL", "", 1), 0);
    assert_int_equal(setenv("LC_CTYPE", "de_DE.UTF-8", 1), 0);
    assert_true(figure_utf8());
    assert_int_equal(setenv("LC_ALL", "C", 1), 0);
    assert_false(figure_utf8());
    assert_int_equal(setenv("LC_ALL", "C.utf8", 1), 0);
    assert_true(figure_utf8());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_have_three_digits),
        cmocka_unit_test(test_times_have_the_units_of_their_size),
        cmocka_unit_test(test_what_is_no_number_is_a_dash),
        cmocka_unit_test(test_bars_are_as_long_as_their_part),
        cmocka_unit_test(test_lengths_are_exact_to_an_eighth_and_never_nothing),
        cmocka_unit_test(test_the_environment_says_whether_it_is_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
