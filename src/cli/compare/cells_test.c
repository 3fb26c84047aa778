/* Sets that are made up: figures beside a paper's, as a table, CSV, JSON, a picture and a page. */

#include "cli/compare/cells.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct run_cells_paper paper[] = {{"gaia-bsp", 4, 4}, {"gaia-ssp", 2, 3}};
static struct run_cells_papers papers[4];
static const char *against[RUN_CELLS_RUNS_MAX];
static struct run_cells_figure fig;
static struct run_cell kinds[4];
static struct run_cells set;
static struct compare_cells s;
static struct compare with[2];
static char shown[64 * 1024];

static void add(struct compare *c, const char *name, const char *end, double time_s, double usd)
{
    struct compare_run *r = &c->runs[c->count++];

    *r = (struct compare_run){.known = true,
                              .reached = strcmp(end, "goal") == 0,
                              .outcome = {.clocks = 40,
                                          .time_s = time_s,
                                          .objective = 0.125,
                                          .small = {0.3, 0.6, 0.952, 0.99, 1},
                                          .bytes = 100 * usd,
                                          .wan_bytes = 1500,
                                          .workers = 4,
                                          .codec_s = 4,
                                          .compute_s = 8,
                                          .read_s = 20,
                                          .end_s = 12,
                                          .priced = true,
                                          .cost = {.total = usd}},
                              .scalars = {.reached_clock = NAN, .reached_s = NAN}};
    (void)snprintf(r->name, sizeof(r->name), "%s", name);
    (void)snprintf(r->outcome.end, sizeof(r->outcome.end), "%s", end);
}

static int open_all(void **state)
{
    (void)state;
    kinds[0] = (struct run_cell){
        .name = "one", .about = "two <regions>", .path = "one.yaml", .twin = RUN_CELLS_MAX};
    kinds[1] = (struct run_cell){
        .name = "live", .about = "", .path = "one.yaml", .local = true, .twin = 0};
    kinds[2] = (struct run_cell){.name = "bad", .about = "", .path = "x", .twin = RUN_CELLS_MAX};
    kinds[3] = (struct run_cell){.name = "late", .about = "", .path = "x", .twin = RUN_CELLS_MAX};
    papers[0] = (struct run_cells_papers){.of = paper, .count = 2};
    memset(against, 0, sizeof(against));
    fig = (struct run_cells_figure){.name = "fig",
                                    .about = "a figure",
                                    .source = "a paper",
                                    .show = RUN_SHOW_SPEED,
                                    .against = against,
                                    .papers = papers};
    set = (struct run_cells){.name = "fig",
                             .figures = &fig,
                             .figures_count = 1,
                             .base = "plain",
                             .cells = kinds,
                             .count = 4};
    for (int i = 0; i < 2; i++) {
        with[i] = (struct compare){.goal = {.there = true, .objective = 0.125}, .base = 1};
    }
    add(&with[0], "lan", "goal", 10, 1);
    add(&with[0], "plain-bsp", "goal", 50, 12);
    add(&with[0], "plain-ssp", "goal", 30, 8);
    add(&with[0], "gaia-bsp", "goal", 10, 2);
    add(&with[0], "gaia-ssp", "goal", 12, 2);
    add(&with[0], "async", "diverged", 5, 2);
    add(&with[1], "lan", "goal", 1, 1);
    add(&with[1], "plain-bsp", "goal", 5.5, 1);
    add(&with[1], "gaia-bsp", "goal", 1, 1);
    s = (struct compare_cells){.set = &set, .dir = "d", .count = 4};
    for (uint32_t i = 0; i < 4; i++) {
        s.cells[i] = (struct compare_cell){.cell = &kinds[i], .chosen = true};
    }
    s.cells[0].state = s.cells[1].state = COMPARE_CELL_DONE;
    s.cells[0].c = &with[0];
    s.cells[1].c = &with[1];
    s.cells[2].state = COMPARE_CELL_FAILED;
    (void)err_text_set(&s.cells[2].why, OK, "lan, which sets the goal: no");
    return 0;
}

static void expect(const char *part)
{
    if (strstr(shown, part) == NULL) {
        fail_msg("'%s' is not in:\n%s", part, shown);
    }
}

static void view(void)
{
    struct text out;

    text_init_fixed(&out, shown, sizeof(shown));
    compare_cells_view(&s, &fig, false, &out);
    assert_false(out.failed);
}

static void test_each_run_is_compared_with_plain_of_its_barrier(void **state)
{
    (void)state;
    assert_true(compare_cells_value(&s, &fig, 0, 3) == 5);
    assert_true(compare_cells_value(&s, &fig, 0, 4) == 2.5);
    assert_true(isnan(compare_cells_value(&s, &fig, 0, 5)));
    assert_true(isnan(compare_cells_value(&s, &fig, 2, 0)));
    set.base = "plain-ssp";
    assert_true(compare_cells_value(&s, &fig, 0, 3) == 3);
    set.base = "centralised";
    assert_true(isnan(compare_cells_value(&s, &fig, 0, 3)));
}

static void test_every_figure_can_be_shown(void **state)
{
    static const double wanted[RUN_SHOWS] = {
        [RUN_SHOW_TIME] = 10,         [RUN_SHOW_SPEED] = 5,
        [RUN_SHOW_BY_LAN] = 1,        [RUN_SHOW_CLOCKS] = 40,
        [RUN_SHOW_DOLLARS] = 2,       [RUN_SHOW_CHEAPER] = 6,
        [RUN_SHOW_BYTES] = 1500,      [RUN_SHOW_INSIGNIFICANT] = 0.952,
        [RUN_SHOW_OBJECTIVE] = 0.125, [RUN_SHOW_SAVED] = 1 - 200.0 / 1200,
        [RUN_SHOW_COMMUNICATION] = 8, [RUN_SHOW_COMPUTATION] = 2};
    static const char *const words[RUN_SHOWS] = {
        [RUN_SHOW_TIME] = "10.0 s",         [RUN_SHOW_SPEED] = "5.00",
        [RUN_SHOW_BY_LAN] = "1.00",         [RUN_SHOW_CLOCKS] = "40",
        [RUN_SHOW_DOLLARS] = "$2.00",       [RUN_SHOW_CHEAPER] = "6.00",
        [RUN_SHOW_BYTES] = "1.5 kB",        [RUN_SHOW_INSIGNIFICANT] = "95.2 %",
        [RUN_SHOW_OBJECTIVE] = "0.125",     [RUN_SHOW_SAVED] = "83.3 %",
        [RUN_SHOW_COMMUNICATION] = "8.0 s", [RUN_SHOW_COMPUTATION] = "2.0 s"};

    (void)state;
    for (int i = 0; i < RUN_SHOWS; i++) {
        struct text out;

        fig.show = (enum run_cells_show)i;
        assert_true(compare_cells_value(&s, &fig, 0, 3) == wanted[i]);
        text_init_fixed(&out, shown, sizeof(shown));
        compare_cells_say(fig.show, wanted[i], &out);
        assert_string_equal(shown, words[i]);
        text_clear(&out);
        compare_cells_say_show(&s, &fig, &out);
        assert_true(out.size > 5);
    }
}

static void test_what_is_saved_and_a_worker_s_time_are_those_to_the_goal(void **state)
{
    (void)state;
    fig.show = RUN_SHOW_SAVED;
    assert_true(compare_cells_value(&s, &fig, 0, 1) == 0);
    assert_true(compare_cells_value(&s, &fig, 0, 4) == 0.75); /* By plain of its barrier. */
    assert_true(isnan(compare_cells_value(&s, &fig, 0, 5)));  /* It did not get there. */
    with[0].runs[4].scalars.reached_clock = 20; /* Of 40: what came later does not count. */
    assert_true(compare_cells_value(&s, &fig, 0, 4) == 0.875);
    with[0].runs[3].outcome.bytes = NAN;
    assert_true(isnan(compare_cells_value(&s, &fig, 0, 3)));
    with[0].runs[1].outcome.bytes = NAN;
    with[0].runs[3].outcome.bytes = 1;
    assert_true(isnan(compare_cells_value(&s, &fig, 0, 3)));
    fig.show = RUN_SHOW_COMPUTATION;
    assert_true(compare_cells_value(&s, &fig, 1, 2) == 3); /* Processes compress while they wait. */
    assert_true(isnan(compare_cells_value(&s, &fig, 0, 5)));
    fig.show = RUN_SHOW_COMMUNICATION;
    assert_true(compare_cells_value(&s, &fig, 1, 2) == 7);
    with[1].runs[2].outcome.codec_s = NAN;
    assert_true(compare_cells_value(&s, &fig, 1, 2) == 8);
    with[1].runs[2].scalars.reached_clock = 30;
    assert_true(compare_cells_value(&s, &fig, 1, 2) == 6);
    with[1].runs[2].outcome.workers = 0;
    assert_true(isnan(compare_cells_value(&s, &fig, 1, 2)));
}

static void test_figures_are_by_the_paper_s_and_by_the_twin_s(void **state)
{
    (void)state;
    assert_true(compare_cells_by_paper(&s, &fig, 0, 3) == 1.25);
    assert_true(compare_cells_by_paper(&s, &fig, 0, 4) == 1); /* Within. */
    assert_true(isnan(compare_cells_by_paper(&s, &fig, 0, 1)));
    with[0].runs[4].outcome.time_s = 30;
    assert_true(compare_cells_by_paper(&s, &fig, 0, 4) == 0.5); /* Below. */
    with[0].runs[4].outcome.time_s = 5;
    assert_true(compare_cells_by_paper(&s, &fig, 0, 4) == 2); /* Above. */
    assert_true(compare_cells_by_twin(&s, &fig, 1, 2) == 1.1);
    assert_true(isnan(compare_cells_by_twin(&s, &fig, 0, 3)));
}

static void test_the_table_has_all_cells_and_what_became_of_them(void **state)
{
    (void)state;
    view();
    expect(
        "fig: a figure\n  value: times as fast as plain with the same barrier; paper: a paper\n");
    expect("  one (sim): two <regions>\n");
    expect("    gaia-bsp                 5.00           4.00      1.25            reached\n");
    expect("    gaia-ssp                 2.50     2.00..3.00      1.00            reached\n");
    expect("    async                       -              -         -            diverged\n");
    expect("  live (local)\n");
    expect("    gaia-bsp                 5.50              -         -      1.10  reached\n");
    expect("  bad (sim)\n    failed: lan, which sets the goal: no\n");
    expect("  late (sim)\n    did not begin\n");
    fig.show = RUN_SHOW_INSIGNIFICANT;
    view();
    expect("      at most 0.01%: 30.0 %, 0.1%: 60.0 %, 1%: 95.2 %, 5%: 99.0 %, 10%: 100.0 %\n");
    s.cells[0].chosen = false;
    s.cells[1].state = COMPARE_CELL_CUT;
    with[1].goal.there = false;
    view();
    assert_null(strstr(shown, "one (sim)"));
    expect("was interrupted before there was a goal");
}

static void test_runs_of_a_set_s_own_have_room_for_their_names(void **state)
{
    static const struct run_cells_run own[] = {{.name = "plain"},
                                               {.name = "a-name-of-thirty-two-characters."}};
    struct text out;

    (void)state;
    set.runs = own;
    set.runs_count = 2;
    with[0].count = 0;
    with[0].base = with[0].setter = 0;
    with[0].lan = COMPARE_NONE;
    add(&with[0], "plain", "goal", 50, 12);
    add(&with[0], own[1].name, "goal", 10, 2);
    assert_true(compare_cells_value(&s, &fig, 0, 1) ==
                5); /* Not by the plain one of its barrier. */
    view();
    expect("  value: times as fast as plain; paper: a paper\n");
    expect("    plain                                    1.00              -         -     ");
    expect("    a-name-of-thirty-two-characters.         5.00              -         -     ");
    text_init_fixed(&out, shown, sizeof(shown));
    compare_cells_svg(&s, &fig, true, &out);
    expect("<rect class=\"b1\" x=\"240\"");
}

static void test_a_run_that_is_compared_with_another_says_so(void **state)
{
    static const struct run_cells_run own[] = {
        {.name = "plain"}, {.name = "other"}, {.name = "up"}};
    struct text out;
    json_t *json;

    (void)state;
    set.runs = own;
    set.runs_count = 3;
    against[2] = "other";
    with[0].count = 0;
    with[0].lan = COMPARE_NONE;
    add(&with[0], "plain", "goal", 50, 12);
    add(&with[0], "other", "goal", 20, 4);
    add(&with[0], "up", "goal", 10, 3);
    assert_true(compare_cells_value(&s, &fig, 0, 1) == 2.5);
    assert_true(compare_cells_value(&s, &fig, 0, 2) == 2);
    view();
    expect("  value: times as fast as plain or another run; paper: a paper\n");
    expect("    other                    2.50              -         -            reached\n");
    expect("    up                       2.00              -         -            reached; by "
           "other\n");
    text_init_fixed(&out, shown, sizeof(shown));
    compare_cells_page(&s, &out);
    expect("<td>reached; by other</td>");
    fig.show = RUN_SHOW_SAVED;
    assert_true(compare_cells_value(&s, &fig, 0, 2) == 0.25);
    against[0] = against[1] = "other"; /* None is compared with the base. */
    view();
    expect("how much fewer than other; paper");
    json = compare_cells_json(&s);
    assert_string_equal(json_string_value(json_object_get(json_object_get(json, "against"), "up")),
                        "other");
    json_decref(json);
    fig.show = RUN_SHOW_TIME;
    view();
    assert_null(strstr(shown, "by other"));
}

/* Of the same runs also the dollars of two, of which the live cell has one. */
static void show_also(void)
{
    static const struct run_cells_paper usd[] = {{"gaia-ssp", 1, 1}};
    static const char *only[] = {"async", "gaia-ssp"};
    static struct run_cells_papers by_cell[4];
    static struct run_cells_figure both[2];

    by_cell[0] = (struct run_cells_papers){.of = usd, .count = 1};
    both[0] = fig;
    both[1] = (struct run_cells_figure){.name = "fig11",
                                        .about = "what it costs",
                                        .source = "figure 11",
                                        .show = RUN_SHOW_DOLLARS,
                                        .only = only,
                                        .only_count = 2,
                                        .against = against,
                                        .papers = by_cell};
    set.figures = both;
    set.figures_count = 2;
}

static void test_each_figure_has_a_table_and_a_picture_of_its_runs(void **state)
{
    char file[COMPARE_CELLS_FILE_BYTES];
    struct text out;

    (void)state;
    show_also();
    text_init_fixed(&out, shown, sizeof(shown));
    compare_cells_view(&s, &set.figures[1], false, &out);
    expect("fig11: what it costs\n  value: dollars; paper: figure 11\n");
    expect("    gaia-ssp                $2.00          $1.00      2.00            reached\n");
    expect("    async                       -              -         -            diverged\n");
    expect("  bad (sim)\n    failed: ");
    assert_null(strstr(shown, "gaia-bsp"));
    assert_null(strstr(shown, "live")); /* It has none of them. */
    text_clear(&out);
    compare_cells_svg(&s, &set.figures[1], true, &out);
    expect("viewBox=\"0 0 720 152\" aria-label=\"fig11\"");
    expect("<rect class=\"b4\""); /* As gaia-ssp is in the first. */
    expect("$2.00 ($1.00)");
    assert_null(strstr(shown, "gaia-bsp"));
    assert_null(strstr(shown, "live"));
    compare_cells_file(&s, &set.figures[0], "csv", file);
    assert_string_equal(file, "set.csv");
    compare_cells_file(&s, &set.figures[1], "svg", file);
    assert_string_equal(file, "set-fig11.svg");
}

static void test_csv_and_json_have_all_figures(void **state)
{
    json_t *json = compare_cells_json(&s), *also, *runs;
    struct text out;

    (void)state;
    assert_null(json_object_get(json, "also"));
    assert_null(json_object_get(json, "against"));
    json_decref(json);
    text_init_fixed(&out, shown, sizeof(shown));
    compare_cells_csv_all(&s, &out);
    expect("cell,on,run,end,");
    assert_null(strstr(shown, "figure"));
    show_also();
    text_clear(&out);
    compare_cells_csv_all(&s, &out);
    expect("figure,cell,on,run,end,");
    expect("\nfig,one,sim,gaia-bsp,reached,5,4,4,1.25,,");
    expect("\nfig11,one,sim,gaia-ssp,reached,2,1,1,2,,");
    assert_null(strstr(shown, "fig11,one,sim,gaia-bsp"));
    text_clear(&out);
    compare_cells_csv(&s, &set.figures[1], &out);
    expect("total_usd,insignificant,objective\none,sim,gaia-ssp,reached,2,1,1,2,,");
    assert_null(strstr(shown, "fig11"));
    json = compare_cells_json(&s);
    also = json_array_get(json_object_get(json, "also"), 0);
    assert_string_equal(json_string_value(json_object_get(also, "name")), "fig11");
    assert_string_equal(json_string_value(json_object_get(also, "about")), "what it costs");
    assert_string_equal(json_string_value(json_object_get(also, "source")), "figure 11");
    assert_string_equal(json_string_value(json_object_get(also, "show")), "dollars");
    runs = json_object_get(json_array_get(json_object_get(also, "cells"), 0), "runs");
    assert_int_equal(json_array_size(runs), 2);
    assert_true(json_number_value(json_object_get(json_array_get(runs, 0), "by_paper")) == 2);
    json_decref(json);
}

static void test_the_page_has_all_figures_and_then_the_cells(void **state)
{
    static const char *const wanted[] = {"<h1>fig</h1>",
                                         "aria-label=\"fig\"",
                                         "<code>set.csv</code>",
                                         "<h2>fig11</h2>",
                                         "what it costs",
                                         "paper: figure 11",
                                         "aria-label=\"fig11\"",
                                         "<td>gaia-ssp</td><td class=\"n\">$2.00</td>",
                                         "<code>set-fig11.csv</code>",
                                         "<h2>Cells</h2>"};
    const char *at = shown;
    struct text out;

    (void)state;
    show_also();
    text_init_fixed(&out, shown, sizeof(shown));
    compare_cells_page(&s, &out);
    assert_false(out.failed);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        at = strstr(at, wanted[i]);
        if (at == NULL) {
            fail_msg("'%s' is not there, or not after the one before", wanted[i]);
        }
    }
}

static void test_csv_and_json_say_the_same(void **state)
{
    json_t *json = compare_cells_json(&s), *cells = json_object_get(json, "cells"), *run;
    struct text out;

    (void)state;
    text_init_fixed(&out, shown, sizeof(shown));
    compare_cells_csv(&s, &fig, &out);
    expect("cell,on,run,end,value,paper_low,paper_high,by_paper,by_twin,clocks,time_s,");
    expect("\none,sim,gaia-bsp,reached,5,4,4,1.25,,40,10,1500,2,0.952,0.125\n");
    expect("\nlive,local,gaia-bsp,reached,5.5,,,,1.1,40,1,1500,1,0.952,0.125\n");
    assert_int_equal(json_array_size(cells), 4);
    assert_string_equal(json_string_value(json_object_get(json, "show")), "speed");
    assert_string_equal(json_string_value(json_object_get(json_array_get(cells, 2), "state")),
                        "failed");
    run = json_array_get(json_object_get(json_array_get(cells, 0), "runs"), 3);
    assert_true(json_number_value(json_object_get(run, "value")) == 5);
    assert_true(json_number_value(json_object_get(run, "by_paper")) == 1.25);
    assert_true(json_is_null(json_object_get(run, "by_twin")));
    run = json_object_get(run, "insignificant_at");
    assert_true(json_number_value(json_object_get(run, "5%")) == 0.99);
    json_decref(json);
}

static void test_the_picture_has_bars_and_marks(void **state)
{
    struct text out;

    (void)state;
    text_init_fixed(&out, shown, sizeof(shown));
    compare_cells_svg(&s, &fig, true, &out);
    assert_false(out.failed);
    expect("<svg xmlns=\"http://www.w3.org/2000/svg\"");
    expect("one: two &lt;regions&gt;");
    expect("5.00 (4.00)");
    expect("2.50 (2.00..3.00)");
    expect("<rect class=\"b3\"");
    expect("class=\"paper\"");
    expect("bad; failed: ");
    expect("diverged");
    expect("</svg>");
    with[0].runs[3].outcome.time_s = 0.01; /* 5000 times as fast: by decades. */
    text_clear(&out);
    compare_cells_svg(&s, &fig, false, &out);
    expect(", by decades; marks and brackets: the paper");
    assert_null(strstr(shown, "xmlns"));
}

static void test_the_page_leads_to_the_pages_of_cells(void **state)
{
    struct text out;

    (void)state;
    text_init_fixed(&out, shown, sizeof(shown));
    compare_cells_page(&s, &out);
    assert_false(out.failed);
    expect("<h1>fig</h1>");
    expect("<a href=\"./one/compare.html\">one</a>: two &lt;regions&gt;");
    expect("<td>live</td><td>local</td><td>gaia-bsp</td><td class=\"n\">5.50</td>");
    expect("did not begin");
    assert_null(strstr(shown, "./bad/compare.html"));
    expect("</html>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_run_is_compared_with_plain_of_its_barrier, open_all),
        cmocka_unit_test_setup(test_every_figure_can_be_shown, open_all),
        cmocka_unit_test_setup(test_what_is_saved_and_a_worker_s_time_are_those_to_the_goal,
                               open_all),
        cmocka_unit_test_setup(test_figures_are_by_the_paper_s_and_by_the_twin_s, open_all),
        cmocka_unit_test_setup(test_the_table_has_all_cells_and_what_became_of_them, open_all),
        cmocka_unit_test_setup(test_runs_of_a_set_s_own_have_room_for_their_names, open_all),
        cmocka_unit_test_setup(test_a_run_that_is_compared_with_another_says_so, open_all),
        cmocka_unit_test_setup(test_each_figure_has_a_table_and_a_picture_of_its_runs, open_all),
        cmocka_unit_test_setup(test_csv_and_json_have_all_figures, open_all),
        cmocka_unit_test_setup(test_the_page_has_all_figures_and_then_the_cells, open_all),
        cmocka_unit_test_setup(test_csv_and_json_say_the_same, open_all),
        cmocka_unit_test_setup(test_the_picture_has_bars_and_marks, open_all),
        cmocka_unit_test_setup(test_the_page_leads_to_the_pages_of_cells, open_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
