/* Pages and curves of comparisons that are made up. */

#include "base/mem.h"
#include "cli/compare/compare.h"
#include "run/report/page.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct compare *c;
static struct text page;

/* A run whose objective falls from 1 to @last in @count evaluations. */
static struct compare_run *add(const char *name, const char *end, uint32_t count, double last,
                               double second_s)
{
    struct compare_run *r = &c->runs[c->count++];

    (void)snprintf(r->name, sizeof(r->name), "%s", name);
    (void)snprintf(r->record, sizeof(r->record), "d/%s", name);
    (void)snprintf(r->outcome.end, sizeof(r->outcome.end), "%s", end);
    (void)snprintf(r->outcome.objective_is, sizeof(r->outcome.objective_is), "log loss");
    r->known = true;
    r->state = COMPARE_DONE;
    r->reached = strcmp(end, "goal") == 0;
    r->curve.points = mem_calloc(count, sizeof(*r->curve.points));
    assert_non_null(r->curve.points);
    r->curve.count = count;
    for (uint32_t i = 0; i < count; i++) {
        r->curve.points[i] = (struct run_reading_point){
            .clock = i + 1,
            .time_s = second_s * (i + 1),
            .wan_bytes = 1000.0 * i,
            .wan_usd = 0.5 * i,
            .value = 1 + (last - 1) * i / (count - 1.0),
        };
    }
    r->outcome.clocks = count;
    r->outcome.time_s = second_s * count;
    r->outcome.objective = last;
    r->outcome.wan_bytes = 1000 * (count - 1);
    r->outcome.priced = true;
    r->outcome.cost = (struct run_outcome_cost){1, 2, 3, 6};
    r->outcome.insignificant = NAN;
    r->outcome.move_s = NAN;
    r->outcome.scale = 1;
    r->scalars = (struct run_scalars){.last_clock = count,
                                      .last = last,
                                      .best_clock = count,
                                      .best = last,
                                      .reached_clock = NAN,
                                      .reached_s = NAN};
    return r;
}

static int begin(void **state)
{
    (void)state;
    c = mem_zalloc(sizeof(*c));
    assert_non_null(c);
    (void)snprintf(c->title, sizeof(c->title), "<a> & b");
    (void)snprintf(c->dir, sizeof(c->dir), "d");
    c->lan = COMPARE_NONE;
    assert_int_equal(text_init(&page, RUN_PAGE_BYTES_MAX), OK);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    compare_free(c);
    text_deinit(&page);
    return 0;
}

static void print(void)
{
    text_clear(&page);
    compare_align(c);
    assert_int_equal(compare_page(c, &page), OK);
    assert_false(page.failed);
}

static void expect(const char *part)
{
    if (strstr(page.chars, part) == NULL) {
        fail_msg("'%s' is not in the page", part);
    }
}

static uint32_t times(const char *part)
{
    uint32_t n = 0;

    for (const char *at = page.chars; (at = strstr(at, part)) != NULL; at++) {
        n++;
    }
    return n;
}

static void test_runs_are_compared_up_to_what_all_of_them_came_to(void **state)
{
    (void)state;
    (void)add("slow", "clocks", 11, 0.5, 2);
    (void)add("fast", "clocks", 11, 0, 1);
    print();
    assert_true(c->aim == 0.5);
    assert_true(c->runs[0].reach.time_s == 22 && c->runs[0].reach.wan_bytes == 10000);
    assert_true(c->runs[1].reach.time_s == 6 && c->runs[1].reach.wan_usd == 2.5);
    expect("The fastest to 0.5 (log loss), which all of them came to, is fast, after 6.0 s: 3.67 "
           "times as fast as slow.");
    expect("What it took to be as good as all of them came to be");
    expect("aria-label=\"fast: 6.0 s\"");
    expect("aria-label=\"slow: 10 kB\"");
    expect("Dollars for transfer");
    expect("&lt;a&gt; &amp; b</h1>");
    expect("<a href=\"./slow/report.html\">slow</a>");
    assert_int_equal(times("class=\"line s0\" d=\"M"), 5); /* Four pictures and the legend. */
    assert_int_equal(times("class=\"line s1\" d=\"M"), 5);
    assert_int_equal(times("class=\"goal\""), 4);
    assert_int_equal(times("x lan"), 0);
    assert_int_equal(times("nan"), 0);
}

static void test_runs_that_are_measured_differently_have_nothing_in_common(void **state)
{
    struct compare_run *r;

    (void)state;
    (void)add("a", "clocks", 11, 0.5, 2);
    r = add("b", "clocks", 11, 0, 1);
    (void)snprintf(r->outcome.objective_is, sizeof(r->outcome.objective_is), "likelihood");
    print();
    assert_true(isnan(c->aim));
    expect("<h2>What it took</h2>");
    assert_int_equal(times("class=\"goal\""), 0);
    r->outcome.rising = true;
    (void)snprintf(r->outcome.objective_is, sizeof(r->outcome.objective_is), "log loss");
    print();
    assert_true(isnan(c->aim));
}

static void test_the_goal_of_lan_is_that_of_the_page(void **state)
{
    struct compare_run *r;

    (void)state;
    (void)add("lan", "goal", 11, 0.2, 0.001);
    (void)add("plain-bsp", "goal", 11, 0.2, 10);
    r = add("async", "diverged", 11, 1e6, 1);
    r->scalars.best = 1;
    c->runs[2].outcome.priced = false;
    (void)err_text_set(&c->runs[2].outcome.note, OK, "a link has no price");
    c->lan = 0;
    c->base = 1;
    c->goal = (struct compare_goal){.there = true, .objective = 0.2, .change = 0.02, .clock = 11};
    print();
    assert_true(c->aim == 0.2 && isnan(c->runs[2].reach.time_s));
    expect("The fastest but lan to the goal is plain-bsp");
    expect("x lan");
    expect("By decades; zero is at the left end.");
    expect("class=\"b2 pale\"");
    expect("and not there</span>");
    expect("no price");
    expect("Dollars are not known: a link has no price.");
    expect(">0.8</text>"); /* What diverged does not flatten the others. */
    assert_int_equal(times("nan"), 0);
}

static void test_runs_without_a_result_are_named(void **state)
{
    struct compare_run *r;

    (void)state;
    (void)add("a", "clocks", 11, 0.5, 2);
    r = &c->runs[c->count++];
    (void)snprintf(r->name, sizeof(r->name), "gone");
    (void)err_text_set(&r->why, OK, "it was ended by signal 9 <b>");
    print();
    expect("no result</td><td colspan=\"8\">it was ended by signal 9 &lt;b&gt;</td>");
    assert_int_equal(times("class=\"line s1\""), 0);
}

static void test_runs_that_were_never_evaluated_have_losses(void **state)
{
    struct compare_run *r;

    (void)state;
    r = add("a", "clocks", 11, 0.5, 2);
    r->curve.loss = true;
    r->scalars = (struct run_scalars){.best = NAN, .last = NAN};
    print();
    expect("Loss against time");
    assert_true(isnan(c->aim));
    (void)add("b", "clocks", 11, 0.5, 2);
    print();
    expect("Objective against time");
    assert_int_equal(times("class=\"line s0\""), 0);
    assert_int_equal(times("class=\"line s1\""), 5);
}

static void test_curves_are_a_table_with_a_row_for_each_point(void **state)
{
    struct compare_run *r;

    (void)state;
    r = add("a,b", "clocks", 2, 0.5, 1.5);
    r->curve.points[1].wan_usd = NAN;
    text_clear(&page);
    compare_curves(c, &page);
    assert_string_equal(page.chars, "run,clock,time_s,wan_bytes,usd,objective\n"
                                    "\"a,b\",1,1.5,0,0,1\n"
                                    "\"a,b\",2,3,1000,,0.5\n");
}

/* As many runs as there can be, each with ten thousand evaluations. */
static void test_many_long_runs_still_make_a_small_page(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < COMPARE_RUNS_MAX; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "run-%u", i);
        (void)add(name, "clocks", 10000, 0.5, 1 + i);
    }
    print();
    assert_true(page.size < 500 * 1000);
}

static void test_memory_may_run_out_before_the_page_is_drawn(void **state)
{
    (void)state;
    (void)add("a", "clocks", 11, 0.5, 2);
    print();
    for (uint64_t k = 1; k <= 2; k++) {
        text_clear(&page);
        mem_fail_at(k, 1);
        assert_int_equal(compare_page(c, &page), ERR_NOMEM);
        mem_fail_at(0, 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_runs_are_compared_up_to_what_all_of_them_came_to),
        TEST(test_runs_that_are_measured_differently_have_nothing_in_common),
        TEST(test_the_goal_of_lan_is_that_of_the_page),
        TEST(test_runs_without_a_result_are_named),
        TEST(test_runs_that_were_never_evaluated_have_losses),
        TEST(test_curves_are_a_table_with_a_row_for_each_point),
        TEST(test_many_long_runs_still_make_a_small_page),
        TEST(test_memory_may_run_out_before_the_page_is_drawn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
