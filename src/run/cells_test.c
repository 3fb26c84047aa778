/* Sets: what they say, and what is refused with its place. */

#include "run/cells.h"

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
    assert_string_equal(s->about, "a figure");
    assert_string_equal(s->source, "a paper");
    assert_string_equal(s->base, "plain");
    assert_int_equal(s->show, RUN_SHOW_BY_LAN);
    assert_string_equal(run_cells_show_name(s->show), "by_lan");
    assert_int_equal(s->count, 2);
    assert_string_equal(one->path, "runs/one.yaml");
    assert_int_equal(one->only_count, 2);
    assert_string_equal(one->only[1], "gaia-bsp");
    assert_int_equal(one->settings_count, 2);
    assert_string_equal(one->settings[0], "stop.clocks=400");
    assert_string_equal(one->settings[1], "faults=[]");
    assert_false(one->local);
    assert_int_equal(one->twin, RUN_CELLS_MAX);
    assert_true(run_cell_paper(one, "gaia-bsp")->low == 3.8);
    assert_true(run_cell_paper(one, "gaia-bsp")->high == 3.8);
    assert_true(run_cell_paper(one, "plain-bsp")->high == 2.5);
    assert_true(run_cell_paper(one, "lan")->low > 0.951 && run_cell_paper(one, "lan")->low < 0.953);
    assert_null(run_cell_paper(one, "gaia-ssp"));
    assert_string_equal(live->path, "/abs/one.yaml");
    assert_string_equal(live->about, "small");
    assert_true(live->local);
    assert_int_equal(live->twin, 0);
    run_cells_free(s);
    run_cells_free(NULL);
}

static void test_without_a_word_it_is_as_by_default(void **state)
{
    struct run_cells *s = parse("{set: x, show: time, cells: [{name: a, file: b, only: [lan]}]}");

    (void)state;
    assert_string_equal(s->base, "plain-bsp");
    assert_string_equal(s->about, "");
    assert_string_equal(s->cells[0].about, "");
    assert_int_equal(s->cells[0].settings_count, 0);
    assert_int_equal(s->cells[0].paper_count, 0);
    run_cells_free(s);
}

/* The whole with one line of it changed. */
static void refused(const char *line, const char *instead, const char *words)
{
    char yaml[2048];
    const char *at = strstr(whole, line);
    struct err_text text = {""};
    struct run_cells *s = NULL;

    assert_non_null(at);
    (void)snprintf(yaml, sizeof(yaml), "%.*s%s%s", (int)(at - whole), whole, instead,
                   at + strlen(line));
    assert_int_equal(run_cells_parse("f", ".", yaml, strlen(yaml), runs, &s, &text), ERR_MALFORMED);
    assert_null(s);
    if (strstr(text.text, words) == NULL) {
        fail_msg("'%s' is not in '%s'", words, text.text);
    }
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
    refused("only: [plain-bsp, gaia-bsp]", "only: []", "cells[0].only: has to have 1 to 16 runs");
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

static void test_no_memory_is_reported(void **state)
{
    enum err rc = ERR_NOMEM;

    (void)state;
    for (uint64_t k = 1; rc != OK; k++) {
        struct err_text text = {""};
        struct run_cells *s = NULL;

        assert_true(k < 10000);
        mem_fail_at(k, 1);
        rc = run_cells_parse("f", ".", whole, strlen(whole), runs, &s, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK ? s != NULL : rc == ERR_NOMEM && s == NULL && text.text[0] != '\0');
        run_cells_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_set_says_what_is_run_and_what_a_paper_has),
        cmocka_unit_test(test_without_a_word_it_is_as_by_default),
        cmocka_unit_test(test_what_is_wrong_is_refused_with_its_place),
        cmocka_unit_test(test_files_that_are_not_there_or_too_large_are_named),
        cmocka_unit_test(test_no_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
