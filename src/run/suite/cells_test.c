/* Sets: what they say, and what is refused with its place. */

#include "run/suite/cells.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const runs[] = {"lan", "plain-bsp", "plain-ssp", "gaia-bsp", "gaia-ssp", NULL};

static const char whole[] =
    "set: fig\n"
    "about: \"a figure\"\n"
    "source: \"a paper\"\n"
    "show: by_lan\n"
    "base: plain\n"
    "cells:\n"
    "  - {name: one, file: one.yaml, only: [plain-bsp, gaia-bsp], set: {stop.clocks: 400,\n"
    "     faults: \"[]\"}, paper: {gaia-bsp: 3.8, plain-bsp: [1, 2.5], lan: 95.2%}}\n"
    "  - {name: one-live, about: small, file: /abs/one.yaml, only: [gaia-bsp], on: local, twin: "
    "one}\n";

static const char with_runs[] =
    "set: flow\n"
    "show: speed\n"
    "base: plain\n"
    "runs:\n"
    "  broad: {sync.delivery: broadcast, sync.filter: \"dvf:delta=2e-4 | auto\"}\n"
    "  plain: {}\n"
    "  tree.5: {sync.tree: \"{degree: 5, depth: 3}\"}\n"
    "cells:\n"
    "  - {name: one, file: one.yaml, paper: {tree.5: 3.8}}\n"
    "  - {name: two, file: one.yaml, only: [tree.5], set: {seed: 2}, paper: {plain: 1}}\n";

static struct run_cells *parse(const char *yaml)
{
    struct err_text text = {""};
    struct run_cells *s = NULL;

    if (run_cells_parse("set.yaml", "runs", yaml, strlen(yaml), runs, &s, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return s;
}

static void test_a_set_says_what_is_run_and_what_a_paper_has(void **state)
{
    struct run_cells *s = parse(whole);
    const struct run_cell *one = &s->cells[0], *live = &s->cells[1];

    (void)state;
    assert_string_equal(s->name, "fig");
    assert_string_equal(s->figures[0].about, "a figure");
    assert_string_equal(s->figures[0].source, "a paper");
    assert_string_equal(s->base, "plain");
    assert_int_equal(s->figures[0].show, RUN_SHOW_BY_LAN);
    assert_string_equal(run_cells_show_name(s->figures[0].show), "by_lan");
    assert_int_equal(s->count, 2);
    assert_string_equal(one->path, "runs/one.yaml");
    assert_int_equal(one->only_count, 2);
    assert_string_equal(one->only[1], "gaia-bsp");
    assert_int_equal(one->settings_count, 2);
    assert_string_equal(one->settings[0], "stop.clocks=400");
    assert_string_equal(one->settings[1], "faults=[]");
    assert_false(one->local);
    assert_int_equal(one->twin, RUN_CELLS_MAX);
    assert_true(run_cells_paper(s->figures, 0, "gaia-bsp")->low == 3.8);
    assert_true(run_cells_paper(s->figures, 0, "gaia-bsp")->high == 3.8);
    assert_true(run_cells_paper(s->figures, 0, "plain-bsp")->high == 2.5);
    assert_true(run_cells_paper(s->figures, 0, "lan")->low > 0.951 &&
                run_cells_paper(s->figures, 0, "lan")->low < 0.953);
    assert_null(run_cells_paper(s->figures, 0, "gaia-ssp"));
    assert_string_equal(live->path, "/abs/one.yaml");
    assert_string_equal(live->about, "small");
    assert_true(live->local);
    assert_int_equal(live->twin, 0);
    run_cells_free(s);
    run_cells_free(NULL);
}

static void test_a_set_can_have_runs_of_its_own(void **state)
{
    struct run_cells *s = parse(with_runs);
    const struct run_cell *one = &s->cells[0], *two = &s->cells[1];

    (void)state;
    assert_string_equal(s->base, "plain");
    assert_int_equal(s->runs_count, 3);
    assert_string_equal(s->runs[0].name, "broad");
    assert_int_equal(s->runs[0].settings_count, 2);
    assert_string_equal(s->runs[0].settings[1], "sync.filter=dvf:delta=2e-4 | auto");
    assert_int_equal(s->runs[1].settings_count, 0);
    assert_ptr_equal(run_cells_find(s, "tree.5"), &s->runs[2]);
    assert_null(run_cells_find(s, "lan"));
    assert_int_equal(one->only_count, 3); /* All of them, in their order. */
    assert_string_equal(one->only[0], "broad");
    assert_string_equal(one->only[2], "tree.5");
    assert_int_equal(two->only_count, 2); /* Never without the one that sets the goal. */
    assert_string_equal(two->only[0], "plain");
    assert_string_equal(two->only[1], "tree.5");
    assert_true(run_cells_paper(s->figures, 1, "plain")->low == 1);
    run_cells_free(s);
}

static const char compared[] = "set: flow\n"
                               "show: speed\n"
                               "base: plain\n"
                               "runs: {low: {}, up: {}, plain: {}, other: {}, last: {}}\n"
                               "against: {low: other, other: last}\n"
                               "cells:\n"
                               "  - {name: one, file: one.yaml, only: [low]}\n"
                               "  - {name: two, file: one.yaml, only: [up]}\n";

static void test_a_run_can_be_compared_with_another_than_the_base(void **state)
{
    struct run_cells *s = parse(compared);
    const struct run_cell *one = &s->cells[0], *two = &s->cells[1];

    (void)state;
    assert_string_equal(run_cells_against(s, s->figures, "low"), "other");
    assert_string_equal(run_cells_against(s, s->figures, "other"), "last");
    assert_string_equal(run_cells_against(s, s->figures, "up"), "plain");
    assert_string_equal(run_cells_against(s, s->figures, "plain"), "plain");
    assert_int_equal(one->only_count, 4); /* With what it is compared with, and so on. */
    assert_string_equal(one->only[0], "low");
    assert_string_equal(one->only[1], "plain");
    assert_string_equal(one->only[2], "other");
    assert_string_equal(one->only[3], "last");
    assert_int_equal(two->only_count, 2);
    run_cells_free(s);
}

static const char several[] = "set: flow\n"
                              "about: first\n"
                              "show: speed\n"
                              "base: plain\n"
                              "runs: {low: {}, up: {}, plain: {}, other: {}, last: {}}\n"
                              "also:\n"
                              "  - {name: fig9, show: time}\n"
                              "  - name: fig10\n"
                              "    about: traffic\n"
                              "    source: figure 10\n"
                              "    show: saved\n"
                              "    only: [up, low]\n"
                              "    against: {low: other, other: last}\n"
                              "    paper: {two: {low: 50%, up: [0.1, 0.2]}, one: {low: 40%}}\n"
                              "cells:\n"
                              "  - {name: one, file: one.yaml, only: [low]}\n"
                              "  - {name: two, file: one.yaml, only: [low, up], paper: {low: 2}}\n";

static void test_a_set_can_show_more_of_its_runs(void **state)
{
    struct run_cells *s = parse(several);
    const struct run_cells_figure *first = &s->figures[0], *time = &s->figures[1],
                                  *saved = &s->figures[2];

    (void)state;
    assert_int_equal(s->figures_count, 3);
    assert_string_equal(first->name, "flow");
    assert_true(run_cells_shows(first, "last"));
    assert_string_equal(run_cells_against(s, first, "low"), "plain"); /* Each has its own. */
    assert_true(run_cells_paper(first, 1, "low")->low == 2);
    assert_null(run_cells_paper(first, 0, "low"));
    assert_string_equal(time->name, "fig9");
    assert_string_equal(time->about, "");
    assert_string_equal(time->source, "");
    assert_int_equal(time->show, RUN_SHOW_TIME);
    assert_true(run_cells_shows(time, "plain"));
    assert_null(run_cells_paper(time, 1, "low"));
    assert_string_equal(saved->about, "traffic");
    assert_string_equal(saved->source, "figure 10");
    assert_int_equal(saved->show, RUN_SHOW_SAVED);
    assert_true(run_cells_shows(saved, "low") && run_cells_shows(saved, "up"));
    assert_false(run_cells_shows(saved, "plain"));
    assert_string_equal(run_cells_against(s, saved, "low"), "other");
    assert_string_equal(run_cells_against(s, saved, "up"), "plain");
    assert_true(run_cells_paper(saved, 0, "low")->low == 0.4);
    assert_true(run_cells_paper(saved, 1, "up")->high == 0.2);
    assert_int_equal(s->cells[0].only_count, 3); /* Last is for one that is not shown. */
    assert_string_equal(s->cells[0].only[2], "other");
    run_cells_free(s);
}

static void test_without_a_word_it_is_as_by_default(void **state)
{
    struct run_cells *s = parse("{set: x, show: time, cells: [{name: a, file: b, only: [lan]}]}");

    (void)state;
    assert_string_equal(s->base, "plain-bsp");
    assert_string_equal(s->figures[0].about, "");
    assert_string_equal(s->cells[0].about, "");
    assert_int_equal(s->cells[0].settings_count, 0);
    assert_int_equal(s->figures[0].papers[0].count, 0);
    assert_int_equal(s->runs_count, 0);
    run_cells_free(s);
}

/* All of it with one line changed. */
static void refused_of(const char *all, const char *line, const char *instead, const char *words)
{
    char yaml[4096];
    const char *at = strstr(all, line);
    struct err_text text = {""};
    struct run_cells *s = NULL;

    assert_non_null(at);
    (void)snprintf(yaml, sizeof(yaml), "%.*s%s%s", (int)(at - all), all, instead,
                   at + strlen(line));
    assert_int_equal(run_cells_parse("f", ".", yaml, strlen(yaml), runs, &s, &text), ERR_MALFORMED);
    assert_null(s);
    if (strstr(text.text, words) == NULL) {
        fail_msg("'%s' is not in '%s'", words, text.text);
    }
}

static void refused(const char *line, const char *instead, const char *words)
{
    refused_of(whole, line, instead, words);
}

static void refused_run(const char *line, const char *instead, const char *words)
{
    refused_of(with_runs, line, instead, words);
}

static void test_what_is_wrong_is_refused_with_its_place(void **state)
{
    (void)state;
    refused("about: \"a", "abuot: \"a", "f:2:1: abuot: no such key: did you mean 'about'?");
    refused("set: fig\n", "", "f:1:1: 'set' is missing: add a line such as 'set: NAME'");
    refused("set: fig", "set: a b", "f:1:6: set: 'a b' is not a name");
    refused("set: fig", "set: []", "f:1:6: set: has to be a text, but is a list");
    refused("show: by_lan", "show: tiem",
            "f:4:7: show: there is no figure 'tiem': did you mean "
            "'time'?");
    refused("base: plain", "base: plane-bsp", "f:5:7: base: there is no run 'plane-bsp'");
    refused("name: one,", "name: ../one,", "f:7:12: cells[0].name: '../one' is not a name");
    refused("name: one,", "name: .one,", "no point first");
    refused("name: one,", "name: one-live,", "the cell in line 7 is called 'one-live' too");
    refused("file: one.yaml", "flie: one.yaml", "cells[0].flie: no such key");
    refused("file: one.yaml, ", "", "cells[0]: 'file' is missing");
    refused("file: one.yaml", "file: \"\"", "cells[0].file: has to be a text, but is empty");
    refused("only: [plain-bsp, gaia-bsp]", "only: []", "cells[0].only: has to have 1 to 24 runs");
    refused("only: [plain-bsp, gaia-bsp]", "only: [gaia-bps]", "did you mean 'gaia-bsp'?");
    refused("only: [plain-bsp, gaia-bsp]", "only: [lan, lan]", "'lan' is there twice");
    refused("only: [plain-bsp, gaia-bsp]", "only: [gaia-bsp]", "'plain-bsp' is not among 'only'");
    refused("stop.clocks: 400", "stop: {clocks: 4}", "cells[0].set: a setting is a key and a text");
    refused("gaia-bsp: 3.8", "gaia-bsp: much", "cells[0].paper: has to be a number");
    refused("gaia-bsp: 3.8", "gaia-bsp: [2, 1]", "has to be a number, a percentage, or a range");
    refused("gaia-bsp: 3.8", "gaia-bsp: [1, 2, 3]", "or a range such as [1.3, 3.0]");
    refused("gaia-bsp: 3.8", "gaia-bsp: []", "or a range such as [1.3, 3.0]");
    refused("on: local", "on: locale", "cells[1].on: there is no place 'locale': did you mean");
    refused("twin: one", "twin: one-live", "cells[1].twin: there is no other cell 'one-live'");
    refused("set: fig", "set: &a fig", "anchors (&name) are not allowed");
    refused(strstr(whole, "cells:"), "cells: []\n", "cells: has to have 1 to 64 cells");
}

static void test_runs_that_cannot_be_are_refused_with_their_place(void **state)
{
    char many[1024] = "runs:\n";
    size_t size = strlen(many);

    (void)state;
    for (int i = 0; i < RUN_CELLS_RUNS_MAX - 2; i++) {
        size += (size_t)snprintf(many + size, sizeof(many) - size, "  r%d: {}\n", i);
    }
    refused_run("runs:\n", many, "f:5:3: runs: has to have 1 to 24 runs");
    refused_run("base: plain\n", "",
                "f:3:1: runs: 'base' is missing, the run that sets the goal: add a line such as "
                "'base: broad'");
    refused_run("base: plain", "base: lan", "f:3:7: base: there is no run 'lan': there are broad");
    refused_run("show: speed", "show: by_lan", "f:2:7: show: a set with 'runs' has no lan");
    refused_run("broad:", "broad/x:", "f:5:3: runs.broad/x: 'broad/x' is not a name: use 1 to 32");
    refused_run("broad:", ".broad:", "no point first");
    refused_run("broad:", "a23456789012345678901234567890123:", "is not a name");
    refused_run("broad:", "plain-converged:", "names that end with -converged are taken");
    refused_run("broad:", "compare.json:", "names that end with .json are taken");
    refused_run("plain: {}", "plain:", "runs.plain: has to be a mapping, but is empty");
    refused_run("plain: {}", "broad: {}", "f:6:3: the key 'broad' is there already, in line 5");
    refused_run("plain: {}", "plain: {seed: [1]}", "runs.plain: a setting is a key and a text");
    refused_run("plain: {}", "plain: {seed: 1, stop.clocks: 5}",
                "f:6:20: runs.plain: 'stop.clocks' is the same for all runs of a cell: say it in "
                "cells[].set, or in the file");
    refused_run("only: [tree.5]", "only: [gaia-bsp]",
                "f:10:40: cells[1].only: there is no run 'gaia-bsp': there are broad");
    refused_run("only: [tree.5]", "only: [tree.5, tree.5]", "'tree.5' is there twice");
    refused_run("paper: {plain: 1}", "paper: {broad: 1}", "'broad' is not among 'only'");
    refused_run("paper: {plain: 1}", "paper: {lan: 1}", "there is no run 'lan'");
}

static void test_what_runs_cannot_be_compared_with_is_refused_with_its_place(void **state)
{
    (void)state;
    refused("base: plain\n", "base: plain\nagainst: {lan: lan}\n",
            "f:6:1: against: only a set with 'runs' can have it: use 'base'");
    refused_of(compared, "{low: other", "{lwo: other",
               "f:5:11: against: there is no run 'lwo': did you mean 'low'?");
    refused_of(compared, "{low: other", "{low: othre",
               "f:5:16: against: there is no run 'othre': did you mean 'other'?");
    refused_of(compared, "{low: other", "{low: [other]",
               "f:5:16: against: has to be a text, but is a list");
    refused_of(compared, "{low: other, other: last}", "other",
               "f:5:10: against: has to be a mapping, but is a text");
}

static void refused_more(const char *line, const char *instead, const char *words)
{
    refused_of(several, line, instead, words);
}

static void test_figures_that_cannot_be_are_refused_with_their_place(void **state)
{
    char many[512] = "also:\n";
    size_t size = strlen(many);

    (void)state;
    for (int i = 0; i < RUN_CELLS_ALSO_MAX - 1; i++) {
        size +=
            (size_t)snprintf(many + size, sizeof(many) - size, "  - {name: f%d, show: time}\n", i);
    }
    refused_more("also:\n", many, "f:7:3: also: has to have 1 to 8 figures");
    refused_more("  - {name: fig9, show: time}\n", "  - fig9\n",
                 "f:7:5: also[0]: has to be a mapping, but is a text");
    refused_more("{name: fig9, ", "{nmae: fig9, ",
                 "f:7:6: also[0].nmae: no such key: did you mean 'name'?");
    refused_more("{name: fig9, ", "{", "f:7:5: also[0]: 'name' is missing: add a line such as");
    refused_more(", show: time", "",
                 "also[0]: 'show' is missing: add a line such as 'show: saved'");
    refused_more("name: fig9", "name: a/b",
                 "f:7:12: also[0].name: 'a/b' is not a name: use 1 to 48");
    refused_more("name: fig10", "name: fig9",
                 "f:8:11: also[1].name: another figure is called 'fig9' too: names have to differ");
    refused_more("name: fig10", "name: flow", "also[1].name: the set is called 'flow' too");
    refused_more("show: saved", "show: svaed",
                 "f:11:11: also[1].show: there is no figure 'svaed': did you mean 'saved'?");
    refused_more("show: saved", "show: by_lan", "also[1].show: a set with 'runs' has no lan");
    refused_more("only: [up, low]", "only: [up, lwo]",
                 "f:12:16: also[1].only: there is no run 'lwo': did you mean 'low'?");
    refused_more("only: [up, low]", "only: []", "also[1].only: has to have 1 to 24 runs");
    refused_more("only: [up, low]", "only: [up, up]", "also[1].only: 'up' is there twice");
    refused_more("low: other", "low: othre",
                 "f:13:20: also[1].against: there is no run 'othre': did you mean 'other'?");
    refused_more("paper: {two", "paper: {tow",
                 "f:14:13: also[1].paper: there is no cell 'tow': did you mean 'two'?");
    refused_more("one: {low: 40%}", "one: 40%",
                 "f:14:51: also[1].paper.one: has to be a mapping, but is a text");
    refused_more("one: {low: 40%}", "one: {lwo: 40%}",
                 "f:14:52: also[1].paper.one: there is no run 'lwo': did you mean 'low'?");
    refused_more("one: {low: 40%}", "one: {plain: 40%}",
                 "'plain' is not among 'only' of figure fig10: add it there, or leave it out here");
    refused_more("one: {low: 40%}", "one: {up: 40%}", "'up' is not among 'only' of cell one: add");
    refused_more("one: {low: 40%}", "one: {low: much}", "also[1].paper.one: has to be a number");
    refused("base: plain\n", "base: plain\nalso: [{name: x, show: time, against: {lan: lan}}]\n",
            "also[0].against: only a set with 'runs' can have it");
}

static void test_files_that_are_not_there_or_too_large_are_named(void **state)
{
    static char much[RUN_CELLS_BYTES_MAX + 1];
    struct err_text text = {""};
    struct run_cells *s = NULL;

    (void)state;
    assert_int_equal(run_cells_load("no/such.yaml", runs, &s, &text), ERR_NOT_FOUND);
    assert_non_null(strstr(text.text, "no/such.yaml"));
    assert_int_equal(run_cells_parse("f", ".", much, sizeof(much), runs, &s, &text), ERR_TOO_BIG);
    assert_null(s);
}

static void no_memory_for(const char *yaml)
{
    enum err rc = ERR_NOMEM;

    for (uint64_t k = 1; rc != OK; k++) {
        struct err_text text = {""};
        struct run_cells *s = NULL;

        assert_true(k < 10000);
        mem_fail_at(k, 1);
        rc = run_cells_parse("f", ".", yaml, strlen(yaml), runs, &s, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK ? s != NULL : rc == ERR_NOMEM && s == NULL && text.text[0] != '\0');
        run_cells_free(s);
    }
}

static void test_no_memory_is_reported(void **state)
{
    (void)state;
    no_memory_for(whole);
    no_memory_for(with_runs);
    no_memory_for(compared);
    no_memory_for(several);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_set_says_what_is_run_and_what_a_paper_has),
        cmocka_unit_test(test_a_set_can_have_runs_of_its_own),
        cmocka_unit_test(test_a_run_can_be_compared_with_another_than_the_base),
        cmocka_unit_test(test_a_set_can_show_more_of_its_runs),
        cmocka_unit_test(test_without_a_word_it_is_as_by_default),
        cmocka_unit_test(test_what_is_wrong_is_refused_with_its_place),
        cmocka_unit_test(test_runs_that_cannot_be_are_refused_with_their_place),
        cmocka_unit_test(test_what_runs_cannot_be_compared_with_is_refused_with_its_place),
        cmocka_unit_test(test_figures_that_cannot_be_are_refused_with_their_place),
        cmocka_unit_test(test_files_that_are_not_there_or_too_large_are_named),
        cmocka_unit_test(test_no_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
