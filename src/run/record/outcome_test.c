/* What is read of the records of runs: whole ones, strange ones, damaged ones. */

#include "run/record/outcome.h"

#include "base/mem.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* As records were before they had bytes and dollars in this table; run/record/reading_test.c has
 * both. */
#define HEADER                                                                                     \
    "clock,time_s,workers,rebased,samples,loss,objective,accuracy,read_s,compute_s,end_s\n"

static const char whole[] =
    "{\"schema\": 1, \"run\": \"a\", \"layout\": \"sites\", \"end\": \"goal\", \"why\": \"\", "
    "\"time_s\": 12.5,"
    " \"clocks\": 40, \"objective_is\": \"log loss\", \"rising\": false, \"objective\": 0.25,"
    " \"accuracy\": null, \"scale\": 0.5, \"bytes\": 5000000000, \"wan_bytes\": 3000000000,"
    " \"move_s\": null,"
    " \"cost\": {\"compute_usd\": 1, \"waiting_usd\": 2, \"transfer_usd\": 3, \"total_usd\": 6},"
    " \"cost_note\": \"\","
    " \"workers\": [{\"read_s\": 1, \"compute_s\": 2, \"end_s\": 3},"
    "               {\"read_s\": 10, \"compute_s\": 20, \"end_s\": 30}],"
    " \"sites\": [{\"shared\": {\"elements_judged\": 100, \"elements_sent\": 10,"
    "                           \"waited_clock_s\": 1, \"waited_barrier_s\": 2,"
    "                           \"waited_room_s\": 3}},"
    "             {\"shared\": {\"elements_judged\": 300, \"elements_sent\": 10,"
    "                           \"waited_clock_s\": 4, \"waited_barrier_s\": 5,"
    "                           \"waited_room_s\": 6}}],"
    " \"codec_seconds\": 1.5,"
    " \"sparsified\": {\"elements\": 30, \"sent_elements\": 6,"
    "              \"servers\": {\"elements\": 10, \"sent_elements\": 4}},"
    " \"budget\": {\"max_usd\": null, \"max_gb\": 5, \"used_gb\": 3, \"bound\": true}}";

static enum err parse(const char *json, struct run_outcome *out, struct err_text *text)
{
    json_t *summary = json_loads(json, JSON_DECODE_ANY, NULL);
    enum err rc;

    assert_non_null(summary);
    rc = run_outcome_parse(summary, out, text);
    json_decref(summary);
    return rc;
}

static void test_a_summary_is_read(void **state)
{
    struct run_outcome o;
    struct err_text text;

    (void)state;
    assert_int_equal(parse(whole, &o, &text), OK);
    assert_string_equal(o.end, "goal");
    assert_string_equal(o.layout, "sites");
    assert_string_equal(o.objective_is, "log loss");
    assert_int_equal(o.clocks, 40);
    assert_true(o.time_s == 12.5 && o.objective == 0.25 && isnan(o.accuracy) && o.scale == 0.5);
    assert_int_equal(o.wan_bytes, 3000000000);
    assert_true(o.bytes == 5e9 && o.workers == 2);
    assert_true(o.priced && o.cost.total == 6 && o.cost.waiting == 2);
    assert_true(o.read_s == 11 && o.compute_s == 22 && o.end_s == 33);
    assert_true(o.insignificant == 0.95);
    assert_true(o.sent == 0.25 && o.codec_s == 1.5);
    assert_true(o.waited_clock_s == 5 && o.waited_barrier_s == 7 && o.waited_room_s == 9);
    assert_true(o.has_budget && isnan(o.budget.max_usd) && o.budget.max_gb == 5 && o.budget.bound);
}

static void test_what_is_not_there_is_not_made_up(void **state)
{
    struct run_outcome o;
    struct err_text text;

    (void)state;
    assert_int_equal(parse("{\"end\": \"failed\", \"time_s\": 0, \"clocks\": 0, \"wan_bytes\": 0,"
                           "\"cost\": null, \"cost_note\": \"no \\u001b[31mprice\", \"workers\": "
                           "[{\"read_s\": \"x\"}, 7], \"sites\": 3, \"scale\": 7}",
                           &o, &text),
                     OK);
    assert_false(o.priced || o.has_budget);
    assert_true(isnan(o.objective) && isnan(o.insignificant) && isnan(o.move_s));
    assert_true(isnan(o.sent) && isnan(o.codec_s));
    assert_true(o.scale == 1);
    assert_null(strchr(o.note.text, '\033'));
}

static void test_what_is_no_summary_is_refused(void **state)
{
    static const char *const cases[][2] = {
        {"[]", "it is no JSON object"},
        {"{}", "'end' is missing or is no word"},
        {"{\"end\": 3}", "'end' is missing or is no word"},
        {"{\"end\": \"goal\"}", "'time_s' is missing or is no time"},
        {"{\"end\": \"goal\", \"time_s\": -1}", "'time_s' is missing or is no time"},
        {"{\"end\": \"goal\", \"time_s\": 1}", "'clocks' is missing or is no whole number"},
        {"{\"end\": \"goal\", \"time_s\": 1, \"clocks\": -1}",
         "'clocks' is missing or is no whole number"},
        {"{\"end\": \"goal\", \"time_s\": 1, \"clocks\": 1, \"wan_bytes\": 1.5}",
         "'wan_bytes' is missing or is no whole number"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct run_outcome o;
        struct err_text text;

        assert_int_equal(parse(cases[i][0], &o, &text), ERR_MALFORMED);
        assert_string_equal(text.text, cases[i][1]);
    }
}

static enum err rows(const char *csv, bool rising, struct run_scalars *out, struct err_text *text)
{
    return run_scalars_parse("s.csv", csv, strlen(csv), rising, NAN, out, text);
}

#define ROW(clock, objective) #clock ",1.5,2,0,10,0.5," #objective ",,0,0,0\n"

static void test_the_first_evaluation_as_good_as_the_last_is_found(void **state)
{
    static const char csv[] =
        HEADER ROW(1, ) ROW(2, 5) ROW(3, ) ROW(4, 3) ROW(6, 2) ROW(8, 3) ROW(9, );
    struct run_scalars s;
    struct err_text text;

    (void)state;
    assert_int_equal(rows(csv, false, &s, &text), OK);
    assert_int_equal(s.clock, 9);
    assert_int_equal(s.last_clock, 8);
    assert_true(s.last == 3 && s.best == 2);
    assert_int_equal(s.first_clock, 4);
    assert_int_equal(s.best_clock, 6);
    assert_int_equal(rows(csv, true, &s, &text), OK);
    assert_int_equal(s.first_clock, 2);
    assert_int_equal(s.best_clock, 2);
}

#define AT(clock, time, objective) #clock "," #time ",2,0,10,0.5," #objective ",,0,0,0\n"

static void test_a_goal_is_reached_on_the_straight_line_between_two_evaluations(void **state)
{
    static const char csv[] =
        HEADER AT(1, 1, ) AT(2, 2, 5) AT(4, 6, 3) AT(5, 7, ) AT(6, 8.5, 2) AT(7, 8, );
    static const double cases[][3] = {
        /* Goal, clock, time. */
        {4, 3, 4},   {3, 4, 6},     {2.5, 5, 7.25},    {2, 6, 8.5},
        {5.5, 2, 2}, {4.5, 2.5, 3}, {4.75, 2.25, 2.5},
    };
    static const double never[] = {1.5, -INFINITY, NAN};
    struct run_scalars s;
    struct err_text text;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(
            run_scalars_parse("s.csv", csv, sizeof(csv) - 1, false, cases[i][0], &s, &text), OK);
        assert_true(s.reached_clock == cases[i][1] && s.reached_s == cases[i][2]);
    }
    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
        assert_int_equal(
            run_scalars_parse("s.csv", csv, sizeof(csv) - 1, false, never[i], &s, &text), OK);
        assert_true(isnan(s.reached_clock) && isnan(s.reached_s));
    }
    assert_int_equal(run_scalars_parse("s.csv", csv, sizeof(csv) - 1, true, 5, &s, &text), OK);
    assert_true(s.reached_clock == 2 && s.reached_s == 2);
}

static void test_a_line_that_is_being_written_is_left_out(void **state)
{
    struct run_scalars s;
    struct err_text text;

    (void)state;
    assert_int_equal(rows(HEADER, false, &s, &text), OK);
    assert_int_equal(s.clock, 0);
    assert_int_equal(rows(HEADER ROW(1, 7) "2,1.5,2", false, &s, &text), OK);
    assert_int_equal(s.clock, 1);
    assert_int_equal(s.first_clock, 1);
}

static void test_a_table_that_is_damaged_is_refused_with_its_line(void **state)
{
    static const char *const cases[][2] = {
        {"", "s.csv:1: it does not begin as the table of a run does: the record is damaged; run it "
             "again"},
        {"clock,time_s\n", "s.csv:1: it does not begin as the table of a run does: the record is "
                           "damaged; run it again"},
        {HEADER "x\n", "s.csv:2: it is no row of a run: the record is damaged; run it again"},
        {HEADER ROW(1, 7) "\n",
         "s.csv:3: it is no row of a run: the record is damaged; run it again"},
        {HEADER ROW(1, 7) ROW(1, 7),
         "s.csv:3: it is no row of a run: the record is damaged; run it again"},
        {HEADER ROW(0, 7), "s.csv:2: it is no row of a run: the record is damaged; run it again"},
        {HEADER "1,,3,4,5,6,7,8,9,10,11\n",
         "s.csv:2: it is no row of a run: the record is damaged; run it again"},
        {HEADER ROW(1, nan), "s.csv:2: it is no row of a run: the record is damaged; run it again"},
        {HEADER ROW(1, 1x), "s.csv:2: it is no row of a run: the record is damaged; run it again"},
        {HEADER "1,2,3,4,5,6,7,8,9,10,11,12\n",
         "s.csv:2: it is no row of a run: the record is damaged; run it again"},
        {HEADER "1111111111111111111111111111111111111111111111111111111111111111111,2,,,,,,,,,\n",
         "s.csv:2: it is no row of a run: the record is damaged; run it again"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct run_scalars s;
        struct err_text text;

        assert_int_equal(rows(cases[i][0], false, &s, &text), ERR_MALFORMED);
        assert_string_equal(text.text, cases[i][1]);
    }
}

/* Records as folders. */

static void write_file(const char *dir, const char *name, const char *chars)
{
    char path[256];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fputs(chars, f) >= 0, 1);
    assert_int_equal(fclose(f), 0);
}

static void remove_file(const char *dir, const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_true(unlink(path) == 0 || errno == ENOENT);
}

static void test_records_are_read_from_their_folders(void **state)
{
    char dir[] = "/tmp/strait-outcome-XXXXXX", cut[200];
    struct run_outcome o;
    struct run_scalars s;
    struct err_text text;
    double objective;

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(run_outcome_load(dir, &o, &text), ERR_NOT_FOUND);
    assert_non_null(strstr(text.text, "there is no summary.json"));
    assert_int_equal(run_scalars_peek(dir, &objective), 0);
    write_file(dir, "summary.json", whole);
    assert_int_equal(run_outcome_load(dir, &o, &text), OK);
    assert_int_equal(o.clocks, 40);
    (void)snprintf(cut, sizeof(cut), "%.150s", whole);
    write_file(dir, "summary.json", cut);
    assert_int_equal(run_outcome_load(dir, &o, &text), ERR_MALFORMED);
    assert_non_null(strstr(text.text, "/summary.json:1: "));
    assert_non_null(strstr(text.text, "the record is damaged; run it again"));
    write_file(dir, "summary.json", "{\"schema\": 1, \"end\": \"goal\"}");
    assert_int_equal(run_outcome_load(dir, &o, &text), ERR_MALFORMED);
    assert_non_null(strstr(text.text, "it is no summary of a run"));
    write_file(dir, "summary.json", "{\"schema\": 2, \"end\": \"goal\"}");
    assert_int_equal(run_outcome_load(dir, &o, &text), ERR_VERSION);
    assert_non_null(strstr(text.text, "it is of schema 2, and this Strait ("));
    write_file(dir, "scalars.csv", HEADER ROW(1, 7) ROW(2, ) "3,1");
    assert_int_equal(run_scalars_load(dir, false, NAN, &s, &text), OK);
    assert_int_equal(s.clock, 2);
    assert_int_equal(run_scalars_peek(dir, &objective), 2);
    assert_true(objective == 7);
    remove_file(dir, "summary.json");
    remove_file(dir, "scalars.csv");
    assert_int_equal(rmdir(dir), 0);
}

static void test_memory_may_run_out(void **state)
{
    char dir[] = "/tmp/strait-outcome-XXXXXX";
    enum err rc = ERR_NOMEM;
    uint64_t k;

    (void)state;
    assert_non_null(mkdtemp(dir));
    write_file(dir, "summary.json", whole);
    write_file(dir, "scalars.csv", HEADER ROW(1, 7));
    for (k = 1; rc != OK; k++) {
        struct run_outcome o;
        struct run_scalars s;
        struct err_text text = {""};

        mem_fail_at(k, 1);
        rc = run_outcome_load(dir, &o, &text);
        if (rc == OK) {
            rc = run_scalars_load(dir, o.rising, NAN, &s, &text);
        }
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        assert_true((rc == OK) == (text.text[0] == '\0'));
    }
    assert_true(k > 2);
    remove_file(dir, "summary.json");
    remove_file(dir, "scalars.csv");
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_summary_is_read),
        cmocka_unit_test(test_what_is_not_there_is_not_made_up),
        cmocka_unit_test(test_what_is_no_summary_is_refused),
        cmocka_unit_test(test_the_first_evaluation_as_good_as_the_last_is_found),
        cmocka_unit_test(test_a_goal_is_reached_on_the_straight_line_between_two_evaluations),
        cmocka_unit_test(test_a_line_that_is_being_written_is_left_out),
        cmocka_unit_test(test_a_table_that_is_damaged_is_refused_with_its_line),
        cmocka_unit_test(test_records_are_read_from_their_folders),
        cmocka_unit_test(test_memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
