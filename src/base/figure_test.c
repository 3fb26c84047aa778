/* Figures as people read them. */

#include "base/figure.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
    } cases[] = {{0, "0.0 s"},
                 {0.25, "250 ms"},
                 {0.0012345, "1.23 ms"},
                 {0.9999, "1.0 s"},
                 {119.94, "119.9 s"},
                 {120, "2 min 00 s"},
                 {7199, "119 min 59 s"},
                 {7200, "2 h 00 min"},
                 {1e9, "277777 h 46 min"},
                 {1e300, "-"},
                 {NAN, "-"}};

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

static void test_what_was_computed_and_is_no_number_is_called_so(void **state)
{
    (void)state;
    begin();
    figure_value(0.123456, &out);
    text_add(&out, ", ");
    figure_value(-NAN, &out);
    text_add(&out, ", ");
    figure_value(INFINITY, &out);
    text_add(&out, ", ");
    figure_value(-INFINITY, &out);
    assert_string_equal(chars, "0.1235, not a number, infinite, infinite, below zero");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_have_three_digits),
        cmocka_unit_test(test_times_have_the_units_of_their_size),
        cmocka_unit_test(test_what_is_no_number_is_a_dash),
        cmocka_unit_test(test_what_was_computed_and_is_no_number_is_called_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
