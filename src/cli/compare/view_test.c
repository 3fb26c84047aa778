/* Comparisons that are made up: table, bars, sentences, CSV, JSON. */

#include "cli/compare/compare.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct compare c;
static char shown[16 * 1024];

static struct compare_run *add(const char *name, const char *end, uint64_t clocks, double time_s,
                               uint64_t wan_bytes)
{
    struct compare_run *r = &c.runs[c.count++];

    *r = (struct compare_run){.known = true,
                              .state = COMPARE_DONE,
                              .outcome = {.clocks = clocks,
                                          .time_s = time_s,
                                          .objective = 0.1234567,
                                          .scale = 1,
                                          .wan_bytes = wan_bytes,
                                          .priced = true,
                                          .cost = {1, 2, 3, 6},
                                          .insignificant = NAN,
                                          .codec_s = NAN,
                                          .compute_s = 30,
                                          .read_s = 60,
                                          .end_s = 10,
                                          .move_s = NAN},
                              .scalars = {.last_clock = clocks,
                                          .last = 0.1234567,
                                          .best = 0.1234567,
                                          .best_clock = clocks,
                                          .reached_clock = NAN,
                                          .reached_s = NAN}};
    (void)snprintf(r->name, sizeof(r->name), "%s", name);
    (void)snprintf(r->record, sizeof(r->record), "d/%s", name);
    (void)snprintf(r->outcome.end, sizeof(r->outcome.end), "%s", end);
    (void)snprintf(r->outcome.objective_is, sizeof(r->outcome.objective_is), "log loss");
    r->reached = strcmp(end, "goal") == 0 || strcmp(end, "converged") == 0;
    return r;
}

static int open_all(void **state)
{
    struct compare_run *r;

    (void)state;
    c = (struct compare){.title = "some-run",
                         .dir = "d",
                         .goal = {.there = true,
                                  .objective = 0.125,
                                  .converged = true,
                                  .change = 0.02,
                                  .change_clocks = 10,
                                  .clock = 40,
                                  .limit_clocks = 400}};
    (void)add("lan", "converged", 40, 10, 0);
    (void)add("plain-bsp", "goal", 40, 200, UINT64_C(20000000000));
    r = add("gaia-bsp", "goal", 50, 12.5, UINT64_C(1500000000));
    r->outcome.insignificant = 0.957;
    r->outcome.has_budget = true;
    r->outcome.budget = (struct run_outcome_budget){.max_usd = NAN, .max_gb = 2, .bound = true};
    r = add("async", "diverged", 30, 5, 1000);
    (void)err_text_set(&r->outcome.why, OK, "the objective was nan at clock 30");
    r->outcome.objective = NAN;
    r->scalars.best = 0.3;
    r->scalars.best_clock = 20;
    r->outcome.waited_clock_s = 3;
    c.lan = 0;
    c.base = 1;
    return 0;
}

static const char *view(bool wide, bool utf8)
{
    struct compare_view v = {.compare = &c, .wide = wide, .utf8 = utf8, .width = 72};
    struct text out;

    text_init_fixed(&out, shown, sizeof(shown));
    compare_view(&v, &out);
    assert_false(out.failed);
    return shown;
}

static void expect(const char *part)
{
    if (strstr(shown, part) == NULL) {
        fail_msg("'%s' is not in:\n%s", part, shown);
    }
}

/* The same, wherever lines end. */
static void expect_words(const char *words)
{
    char flat[sizeof(shown)];
    size_t n = 0;

    for (const char *at = shown; *at != '\0'; at++) {
        bool space = *at == ' ' || *at == '\n';

        if (!space || (n > 0 && flat[n - 1] != ' ')) {
            flat[n++] = space ? ' ' : *at;
        }
    }
    flat[n] = '\0';
    if (strstr(flat, words) == NULL) {
        fail_msg("'%s' is not in:\n%s", words, flat);
    }
}

static void test_the_table_has_times_by_plain_and_by_lan(void **state)
{
    (void)state;
    (void)view(false, false);
    expect("                 end          clocks         time x plain   x lan    WAN GB    dollars "
           "kept back  objective\n");
    expect("  lan            converged        40       10.0 s   20.00    1.00         0    $6.0000 "
           "        -     0.1235\n");
    expect("  plain-bsp      reached          40   3 min 20 s    1.00   20.00        20    $6.0000 "
           "        -     0.1235\n");
    expect("  gaia-bsp       reached          50       12.5 s   16.00    1.25       1.5    $6.0000 "
           "   95.7 %     0.1235\n");
    expect("  async          diverged         30        5.0 s       -       -     1e-06    $6.0000 "
           "        -          -\n");
}

static void test_times_are_those_of_the_goal(void **state)
{
    (void)state;
    c.runs[2].scalars.reached_s = 10;
    c.runs[2].scalars.reached_clock = 46.25;
    (void)view(false, false);
    expect("  gaia-bsp       reached        46.3       10.0 s   20.00    1.00       1.5    $6.0000 "
           "   95.7 %     0.1235\n");
    expect("  gaia-bsp       ## 10.0 s\n");
}

static void test_wide_tables_have_the_parts_of_the_cost(void **state)
{
    (void)state;
    (void)view(true, false);
    expect(" dollars  computing    waiting   transfer kept back");
    expect("$6.0000    $1.0000    $2.0000    $3.0000");
    expect_words("lan came to 0.1235 at clock 40; 30 % of the workers' time computing");
}

static void test_bars_are_as_long_as_the_times(void **state)
{
    (void)state;
    (void)view(false, false);
    expect("  plain-bsp      ######################################## 3 min 20 s\n");
    expect("  lan            ## 10.0 s\n");
    expect("  async          # 5.0 s, and not there\n");
    (void)view(false, true);
    expect("  gaia-bsp       ██▌ 12.5 s\n");
}

static void test_the_goal_and_how_it_was_found_are_said(void **state)
{
    (void)state;
    (void)view(false, false);
    expect_words(
        "The goal is 0.125 (log loss): what lan had when it had changed by less than 2 % over 10 "
        "clocks; it was that good at clock 40 for the first time. The others have 400 clocks for "
        "it (ten times those of lan); when they reached it is read off the straight line between "
        "two evaluations.");
    c.goal.converged = false;
    c.goal.limit_said = true;
    c.runs[0].outcome.scale = 1.0 / 140;
    (void)view(false, false);
    expect_words("what lan had at its end, without having converged");
    expect_words("(stop.clocks of the file)");
    expect_words("Scale 1:140: bytes and dollars as at full size.");
}

static void test_who_did_not_get_there_is_told_how_near_and_why(void **state)
{
    (void)state;
    (void)view(false, false);
    expect_words(
        "async came to 0.3 at clock 20; the objective was nan at clock 30; 30 % of the workers' "
        "time computing, 60 % reading, 10 % ending clocks; reads waited 3.0 s for other sites' "
        "clocks, 0.0 s for barriers, 0.0 s for what was about to come, 0.0 s for room.");
    assert_null(strstr(shown, "  gaia-bsp came to"));
}

static void test_what_a_budget_cost_and_saved_is_said(void **state)
{
    (void)state;
    (void)view(false, false);
    assert_null(strstr(shown, "The budget"));
    (void)add("gaia-bsp-free", "goal", 40, 10, UINT64_C(3000000000));
    c.runs[2].outcome.cost.total = 3;
    (void)view(false, false);
    expect_words(
        "The budget (2 GB) bound gaia-bsp: 50 clocks instead of 40, time +25.0 %, objective "
        "0.1235 instead of 0.1235; traffic -50.0 %, dollars -50.0 %.");
}

static void test_a_missing_price_and_a_missing_result_are_said(void **state)
{
    (void)state;
    c.runs[1].outcome.priced = false;
    c.runs[1].outcome.cost.total = NAN;
    (void)err_text_set(&c.runs[1].outcome.note, OK, "map: no price for eu");
    c.runs[2].known = false;
    (void)err_text_set(&c.runs[2].why, OK, "it was ended by signal 9");
    (void)view(false, false);
    expect("20   no price         -");
    expect_words("Dollars are not known: map: no price for eu.");
    expect("  gaia-bsp       no result   it was ended by signal 9\n");
}

static void test_csv_has_a_row_for_each_and_empty_fields(void **state)
{
    struct text out;
    uint32_t commas = 0;

    (void)state;
    (void)snprintf(c.runs[3].name, sizeof(c.runs[3].name), "a,\"b\"");
    text_init_fixed(&out, shown, sizeof(shown));
    compare_csv(&c, &out);
    expect("\nlan,converged,1,40,10,20,1,0,1,2,3,6,,0.1234567,0.1234567,30,60,10,0,0,0,0,,\n");
    expect("\ngaia-bsp,goal,1,50,12.5,16,1.25,1500000000,1,2,3,6,0.957,");
    expect("\n\"a,\"\"b\"\"\",diverged,0,30,5,,,1000,1,2,3,6,,,0.3,");
    c.runs[1].known = false;
    text_init_fixed(&out, shown, sizeof(shown));
    compare_csv(&c, &out);
    for (const char *at = strstr(shown, "\nplain-bsp") + 1; *at != '\n'; at++) {
        commas += *at == ',';
    }
    assert_int_equal(commas, 23);
}

static void test_json_has_what_the_table_has(void **state)
{
    json_t *json = compare_json(&c);
    const json_t *runs = json_object_get(json, "runs");
    const json_t *gaia = json_array_get(runs, 2), *async = json_array_get(runs, 3);
    const json_t *goal = json_object_get(json, "goal");

    (void)state;
    assert_int_equal(json_array_size(runs), 4);
    assert_string_equal(json_string_value(json_object_get(json, "base")), "plain-bsp");
    assert_true(json_number_value(json_object_get(gaia, "speed")) == 16);
    assert_true(json_number_value(json_object_get(gaia, "by_lan")) == 1.25);
    assert_true(json_number_value(json_object_get(gaia, "total_usd")) == 6);
    assert_true(json_is_true(json_object_get(gaia, "reached")));
    assert_true(json_is_null(json_object_get(gaia, "codec_seconds")));
    assert_true(json_is_null(json_object_get(async, "speed")));
    assert_true(json_is_null(json_object_get(async, "objective")));
    assert_int_equal(json_integer_value(json_object_get(goal, "limit_clocks")), 400);
    json_decref(json);
}

/* Records that there are: no goal, and any of them may be the base. */
static void test_records_are_compared_with_one_of_them(void **state)
{
    json_t *json;

    (void)state;
    c.goal.there = false;
    c.aim = NAN;
    c.lan = COMPARE_NONE;
    c.base = 2;
    c.dir[0] = '\0';
    (void)view(false, false);
    expect("x gaia-bsp");
    expect("  async          diverged         30        5.0 s           2.50");
    assert_null(strstr(shown, "x lan"));
    assert_null(strstr(shown, "The goal"));
    expect("\n  time\n");
    expect_words("plain-bsp 30 % of the workers' time computing");
    json = compare_json(&c);
    assert_true(json_is_null(json_object_get(json, "goal")));
    assert_true(json_is_null(json_object_get(json, "dir")));
    assert_true(json_is_null(json_object_get(json, "aim")));
    json_decref(json);
    c.aim = 0.3;
    for (uint32_t i = 0; i < c.count; i++) {
        c.runs[i].reach = (struct run_reading_reach){10 * (i + 1), i + 1, NAN, NAN};
    }
    (void)view(false, false);
    expect("\n  time to 0.3, which all of them came to\n");
    expect("# 4.0 s\n");
    json = compare_json(&c);
    assert_true(json_number_value(json_object_get(json, "aim")) == 0.3);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_the_table_has_times_by_plain_and_by_lan, open_all),
        cmocka_unit_test_setup(test_times_are_those_of_the_goal, open_all),
        cmocka_unit_test_setup(test_wide_tables_have_the_parts_of_the_cost, open_all),
        cmocka_unit_test_setup(test_bars_are_as_long_as_the_times, open_all),
        cmocka_unit_test_setup(test_the_goal_and_how_it_was_found_are_said, open_all),
        cmocka_unit_test_setup(test_who_did_not_get_there_is_told_how_near_and_why, open_all),
        cmocka_unit_test_setup(test_what_a_budget_cost_and_saved_is_said, open_all),
        cmocka_unit_test_setup(test_a_missing_price_and_a_missing_result_are_said, open_all),
        cmocka_unit_test_setup(test_csv_has_a_row_for_each_and_empty_fields, open_all),
        cmocka_unit_test_setup(test_json_has_what_the_table_has, open_all),
        cmocka_unit_test_setup(test_records_are_compared_with_one_of_them, open_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
