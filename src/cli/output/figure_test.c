/* Bars, and what the environment says of the terminal. */

#include "cli/output/figure.h"

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
        cmocka_unit_test(test_bars_are_as_long_as_their_part),
        cmocka_unit_test(test_lengths_are_exact_to_an_eighth_and_never_nothing),
        cmocka_unit_test(test_the_environment_says_whether_it_is_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
