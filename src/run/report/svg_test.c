/* Axes, thinned curves, words that come from outside, and pictures made of them. */

#include "run/report/svg.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char chars[64 * 1024];
static struct text out;

static const char *begin(void)
{
    text_init_fixed(&out, chars, sizeof(chars));
    return chars;
}

static void test_what_comes_from_outside_cannot_leave_its_place(void **state)
{
    static const struct {
        const char *in, *shown;
    } cases[] = {
        {"plain", "plain"},
        {"<script>alert(\"1\")</script>", "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;"},
        {"a & 'b'", "a &amp; &#39;b&#39;"},
        {"caf\xc3\xa9 \xe2\x86\x92", "caf\xc3\xa9 \xe2\x86\x92"},
        {"\x1b[31m\x01", "\xef\xbf\xbd[31m\xef\xbf\xbd"},
        {"bad \xff\xc3 end\xe2\x86", "bad \xef\xbf\xbd\xef\xbf\xbd end\xef\xbf\xbd\xef\xbf\xbd"},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)begin();
        run_svg_escape(&out, cases[i].in);
        assert_string_equal(chars, cases[i].shown);
    }
}

/* The ticks of an axis, with spaces between them, and its unit. */
static const char *ticks(const struct run_svg_axis *a)
{
    (void)begin();
    for (uint32_t i = 0; i < a->ticks_count; i++) {
        text_add(&out, i > 0 ? " " : "");
        run_svg_axis_label(a, a->ticks[i], &out);
    }
    text_addf(&out, "|%s", a->unit);
    return chars;
}

static void test_ticks_are_at_round_figures(void **state)
{
    static const struct {
        enum run_svg_unit unit;
        double min, max;
        bool round;
        const char *shown;
    } cases[] = {
        {RUN_SVG_PLAIN, 0, 100, false, "0 20 40 60 80 100|"},
        {RUN_SVG_PLAIN, 0.18, 0.69, true, "0.1 0.2 0.3 0.4 0.5 0.6 0.7|"},
        {RUN_SVG_PLAIN, -3, 7, true, "-4 -2 0 2 4 6 8|"},
        {RUN_SVG_PLAIN, 1000, 1001, true, "1000.0 1000.2 1000.4 1000.6 1000.8 1001.0|"},
        {RUN_SVG_PLAIN, 0, 0, false, "0 0.2 0.4 0.6 0.8 1.0|"},
        {RUN_SVG_PLAIN, 5, 5, true, "2 3 4 5 6 7 8|"},
        {RUN_SVG_PLAIN, 0, 3e9, false, "0 5e+08 1e+09 1.5e+09 2e+09 2.5e+09 3e+09|"},
        {RUN_SVG_SECONDS, 0, 6.6, false, "0 1 2 3 4 5 6|s"},
        {RUN_SVG_SECONDS, 0, 0.2, false, "0 50 100 150 200|ms"},
        {RUN_SVG_SECONDS, 0, 600, false, "0 2 4 6 8 10|min"},
        {RUN_SVG_SECONDS, 0, 36000, false, "0 2 4 6 8 10|h"},
        {RUN_SVG_SECONDS, 0, 864000, false, "0 2 4 6 8 10|days"},
        {RUN_SVG_BYTES, 0, 1.09e6, false, "0 0.2 0.4 0.6 0.8 1.0|MB"},
        {RUN_SVG_BYTES, 0, 2.5e12, false, "0 0.5 1.0 1.5 2.0 2.5|TB"},
        {RUN_SVG_DOLLARS, 0, 12, false, "0 2 4 6 8 10 12|dollars"},
        {RUN_SVG_DOLLARS, 0, 6e-5, false,
         "0 0.01 0.02 0.03 0.04 0.05 0.06|thousandths of a dollar"},
        {RUN_SVG_DOLLARS, 0, 1e-6, false, "0 0.2 0.4 0.6 0.8 1.0|millionths of a dollar"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct run_svg_axis a;

        run_svg_axis_linear(&a, cases[i].unit, cases[i].min, cases[i].max, 5, cases[i].round);
        assert_string_equal(ticks(&a), cases[i].shown);
        assert_true(a.min <= cases[i].min && a.max >= cases[i].max);
    }
}

static void test_logarithmic_ticks_are_decades_or_parts_of_them(void **state)
{
    struct run_svg_axis a;

    (void)state;
    run_svg_axis_log(&a, RUN_SVG_SECONDS, 0.2, 29);
    assert_string_equal(ticks(&a), "0.2 0.5 1 2 5 10 20|s");
    run_svg_axis_log(&a, RUN_SVG_PLAIN, 1e-4, 1e8);
    assert_true(a.ticks_count >= 4 && a.ticks_count <= RUN_SVG_TICKS_MAX);
    run_svg_axis_log(&a, RUN_SVG_BYTES, 5, 5);
    assert_true(a.ticks_count > 0 && a.max > a.min);
    assert_true(run_svg_axis_part(&a, 0) == 0 && run_svg_axis_part(&a, 1e9) == 1);
}

static void test_random_axes_hold_what_they_show(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 4711);
    for (int i = 0; i < 20000; i++) {
        double a = ldexp(rng_unit(&rng) - 0.5, (int)(rng_below(&rng, 120)) - 60);
        double b = ldexp(rng_unit(&rng) - 0.5, (int)(rng_below(&rng, 120)) - 60);
        enum run_svg_unit unit = (enum run_svg_unit)rng_below(&rng, 4);
        struct run_svg_axis axis;

        run_svg_axis_linear(&axis, unit, a < b ? a : b, a < b ? b : a,
                            1 + (uint32_t)rng_below(&rng, 8), rng_below(&rng, 2) == 0);
        assert_true(axis.ticks_count <= RUN_SVG_TICKS_MAX && axis.max > axis.min);
        for (uint32_t j = 1; j < axis.ticks_count; j++) {
            assert_true(axis.ticks[j] > axis.ticks[j - 1]);
        }
        assert_true(run_svg_axis_part(&axis, a) >= 0 && run_svg_axis_part(&axis, a) <= 1);
        if (a > 0 && b > 0) {
            run_svg_axis_log(&axis, unit, a < b ? a : b, a < b ? b : a);
            assert_true(axis.ticks_count <= RUN_SVG_TICKS_MAX);
        }
    }
}

static void test_a_thinned_curve_keeps_its_ends_and_extremes(void **state)
{
    enum { COUNT = 10000, COLUMNS = 50 };
    struct run_svg_point *in = calloc(COUNT, sizeof(*in)), few[COLUMNS * 4];
    uint32_t count, at = 0, least = 0, most = 0;
    struct rng rng;

    (void)state;
    assert_non_null(in);
    rng_init(&rng, 7);
    for (uint32_t i = 0; i < COUNT; i++) {
        in[i] = (struct run_svg_point){i, rng_unit(&rng)};
    }
    in[6000].y = 99;
    in[123].y = -99;
    count = run_svg_thin(in, COUNT, COLUMNS, few);
    assert_true(count <= COLUMNS * 4 && count >= COLUMNS);
    assert_true(few[0].x == 0 && few[count - 1].x == COUNT - 1);
    for (uint32_t i = 0; i < count; i++) {
        least = few[i].y < few[least].y ? i : least;
        most = few[i].y > few[most].y ? i : most;
        assert_true(i == 0 || few[i].x > few[i - 1].x); /* In order, none twice, ... */
        while (in[at].x < few[i].x) {
            at++;
        }
        assert_true(in[at].x == few[i].x && in[at].y == few[i].y); /* ... and none made up. */
    }
    assert_true(few[least].x == 123 && few[most].x == 6000);
    assert_int_equal(run_svg_thin(in, COLUMNS * 4, COLUMNS, few), COLUMNS * 4);
    assert_int_equal(run_svg_thin(in, 0, COLUMNS, few), 0);
    free(in);
}

/* How often @part is in the picture. */
static uint32_t times(const char *part)
{
    uint32_t n = 0;

    for (const char *at = chars; (at = strstr(at, part)) != NULL; at++) {
        n++;
    }
    return n;
}

static void test_a_chart_has_its_curves_names_marks_and_words(void **state)
{
    static const struct run_svg_point a[] = {{0, 3}, {5, 2}, {10, 1}}, b[] = {{0, 3}, {10, 1}};
    static const struct run_svg_series series[] = {
        {.name = "one", .points = a, .count = 3, .style = 0},
        {.name = "<two>", .points = b, .count = 2, .style = 9},
        {.name = "nothing", .points = NULL, .count = 0, .style = 2}};
    static const char *const lanes[] = {"faults", "joins"};
    static const struct run_svg_mark marks[] = {{.x = 4, .lane = 0, .words = "w1 \"gone\""},
                                                {.x = 6, .lane = 1, .words = "w1 back"}};
    struct run_svg_chart c = {.id = "pic",
                              .title = "a & b",
                              .words = "both fall",
                              .x_is = "time",
                              .y_is = "error",
                              .series = series,
                              .series_count = 3,
                              .named = true,
                              .goal = 1.5,
                              .lanes = lanes,
                              .lanes_count = 2,
                              .marks = marks,
                              .marks_count = 2};

    (void)state;
    (void)begin();
    run_svg_axis_linear(&c.x, RUN_SVG_SECONDS, 0, 10, 5, false);
    run_svg_axis_linear(&c.y, RUN_SVG_PLAIN, 1, 3, 4, true);
    run_svg_chart(&c, &out);
    assert_false(out.failed);
    assert_int_equal(times("<path class=\"line s"), 2);
    assert_int_equal(times("class=\"line s1\""), 1); /* Styles begin again. */
    assert_int_equal(times("class=\"goal\""), 1);
    assert_int_equal(times("class=\"mark m"), 2);
    assert_int_equal(times("class=\"when\""), 1);
    assert_int_equal(times("&lt;two&gt;</text>"), 1);
    assert_int_equal(times("class=\"leader s"), 1); /* Both end at one place: one had to move. */
    assert_int_equal(times("w1 &quot;gone&quot;</title>"), 1);
    assert_int_equal(times("<title id=\"pic-t\">a &amp; b</title>"), 1);
    assert_int_equal(times("<desc id=\"pic-d\">both fall</desc>"), 1);
    assert_int_equal(times("time (s)</text>"), 1);
    assert_int_equal(times("nan"), 0);
    assert_int_equal(times("<svg"), times("</svg>"));
}

static void test_bars_are_as_long_as_their_parts_and_never_nothing(void **state)
{
    static const struct run_svg_part parts[] = {
        {25, "b0"}, {0, "b1"}, {74.9999, "b2"}, {0.0001, "b3"}};

    (void)state;
    (void)begin();
    run_svg_bar(parts, 4, 100, "a \"b\"", &out);
    assert_non_null(strstr(chars, "class=\"b0\" x=\"0.0\" y=\"0\" width=\"250.0\""));
    assert_null(strstr(chars, "class=\"b1\""));
    assert_non_null(strstr(chars, "class=\"b2\" x=\"250.0\" y=\"0\" width=\"750.0\""));
    assert_non_null(strstr(chars, "class=\"b3\" x=\"999.0\" y=\"0\" width=\"1.0\""));
    assert_non_null(strstr(chars, "aria-label=\"a &quot;b&quot;\""));
    (void)begin();
    run_svg_bar(parts, 4, 0, "", &out);
    assert_int_equal(times("<rect"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_comes_from_outside_cannot_leave_its_place),
        cmocka_unit_test(test_ticks_are_at_round_figures),
        cmocka_unit_test(test_logarithmic_ticks_are_decades_or_parts_of_them),
        cmocka_unit_test(test_random_axes_hold_what_they_show),
        cmocka_unit_test(test_a_thinned_curve_keeps_its_ends_and_extremes),
        cmocka_unit_test(test_a_chart_has_its_curves_names_marks_and_words),
        cmocka_unit_test(test_bars_are_as_long_as_their_parts_and_never_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
