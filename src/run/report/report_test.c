/* Pages of records: the one of the fixed record to the byte, and what others must and must not
 * have. STRAIT_UPDATE_GOLDEN=1 writes the page anew. */

#include "run/report/report.h"

#include "base/mem.h"
#include "run/record/record.h"
#include "run/report/page.h"
#include "run/testing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define FIXED STRAIT_SOURCE_DIR "/tests/run/record"
#define GOLDEN STRAIT_SOURCE_DIR "/tests/run/report.html"

static struct run_reading *load(const char *dir)
{
    struct run_reading *r = NULL;
    struct err_text text = {""};

    if (run_reading_load(dir, &r, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return r;
}

static void print(const struct run_reading *r, struct text *out)
{
    assert_int_equal(text_init(out, RUN_PAGE_BYTES_MAX), OK);
    assert_int_equal(run_report_print(r, out), OK);
    assert_false(out->failed);
}

static void expect(const struct text *page, const char *part)
{
    if (strstr(page->chars, part) == NULL) {
        fail_msg("'%s' is not in the page", part);
    }
}

static void test_the_page_of_the_fixed_record_is_the_same_to_the_byte(void **state)
{
    struct run_reading *r = load(FIXED);
    struct text page;
    char *golden = NULL;
    size_t size = 0;
    FILE *f;

    (void)state;
    print(r, &page);
    if (getenv("STRAIT_UPDATE_GOLDEN") != NULL) {
        f = fopen(GOLDEN, "w");
        assert_non_null(f);
        assert_int_equal(fwrite(page.chars, 1, page.size, f), page.size);
        assert_int_equal(fclose(f), 0);
    }
    f = fopen(GOLDEN, "r");
    assert_non_null(f);
    golden = calloc(1, RUN_PAGE_BYTES_MAX);
    assert_non_null(golden);
    size = fread(golden, 1, RUN_PAGE_BYTES_MAX - 1, f);
    assert_int_equal(fclose(f), 0);
    if (size != page.size || memcmp(golden, page.chars, size) != 0) {
        size_t at = 0;

        while (golden[at] != '\0' && golden[at] == page.chars[at]) {
            at++;
        }
        fail_msg("tests/run/report.html differs at byte %zu: '%.60s'", at, page.chars + at);
    }
    free(golden);
    text_deinit(&page);
    run_reading_free(r);
}

/* Every element that is opened is closed, in order. */
static void check_balance(const struct text *page)
{
    char stack[64][24];
    size_t depth = 0;

    for (const char *at = strstr(page->chars, "<html"); (at = strchr(at, '<')) != NULL; at++) {
        bool closes = at[1] == '/', alone = strchr(at, '>')[-1] == '/';
        char name[24];

        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 1 + closes, " />\n"),
                       at + 1 + closes);
        if (closes) {
            assert_true(depth > 0);
            assert_string_equal(stack[--depth], name);
            continue;
        }
        if (!alone && strcmp(name, "meta") != 0) {
            assert_true(depth < 64);
            memcpy(stack[depth++], name, sizeof(name));
        }
    }
    assert_int_equal(depth, 0);
}

static void test_the_page_needs_nothing_from_elsewhere(void **state)
{
    static const char *const refused[] = {"http:",  "https:", "<script",     "@import", "src=",
                                          "url(//", "<link",  "javascript:", "nan",     "inf\""};
    struct run_reading *r = load(FIXED);
    struct text page;

    (void)state;
    print(r, &page);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (strstr(page.chars, refused[i]) != NULL) {
            fail_msg("'%s' is in the page: %.80s", refused[i], strstr(page.chars, refused[i]));
        }
    }
    check_balance(&page);
    expect(&page, "prefers-color-scheme:dark");
    expect(&page, "@media print");
    expect(&page, "width=device-width");
    text_deinit(&page);
    run_reading_free(r);
}

static void test_the_page_says_what_the_record_says(void **state)
{
    struct run_reading *r = load(FIXED);
    struct text page;

    (void)state;
    print(r, &page);
    expect(&page,
           "mf at 3 sites with 5 workers, simulated: times are virtual. It ended all its 100 "
           "clocks, after 6.6 s, with squared error per rating 0.1825. 1.09 MB went between "
           "regions, for $0.000057; with its machines it cost $0.0045.");
    expect(&page, "lisbon to osaka: 184 kB, 74 % of what it could carry; it was down for 500 ms<");
    expect(&page, "lisbon to spare: 0 B, 0 % of what it could carry; it was down for 3.6 s, until "
                  "the end");
    expect(&page, "boston to spare: they are not joined");
    expect(&page, "1.5 s: w2 down: its process is gone; fault: kill</title>");
    expect(&page, "clock 100 %, fresh &lt; 0.1 %");
    expect(&page, "strait run run.yaml --on sim -o again");
    expect(&page, "A processor of some kind");
    text_deinit(&page);
    run_reading_free(r);
}

static void test_a_real_run_has_the_simulators_word_and_says_if_it_is_not_valid(void **state)
{
    struct run_reading *r = load(FIXED);
    struct text page;

    (void)state;
    r->predicted_s = 12.5;
    r->invalid = true;
    (void)snprintf(r->env.backend, sizeof(r->env.backend), "lab");
    print(r, &page);
    expect(&page, "as processes in a lab on one machine. ");
    expect(&page, " The simulator says 12.5 s for it.");
    expect(&page, "Not valid: packets of the lab were late");
    text_deinit(&page);
    run_reading_free(r);
}

static void test_what_was_sparsified_has_a_tile(void **state)
{
    struct run_reading *r = load(FIXED);
    struct text page;

    (void)state;
    r->outcome.sent = 0.125;
    r->outcome.codec_s = 2.5;
    print(r, &page);
    expect(&page, "of all entries; compressing took workers 2.5 s");
    text_deinit(&page);
    run_reading_free(r);
}

static void test_a_link_above_its_rate_has_another_colour(void **state)
{
    struct run_reading *r = load(FIXED);
    struct text page;
    uint32_t from, to;

    (void)state;
    assert_true(topo_region_find(r->file->topo, "boston", &from));
    assert_true(topo_region_find(r->file->topo, "osaka", &to));
    r->traffic.bytes[from * r->traffic.regions + to] = 1000000;
    print(r, &page);
    expect(&page,
           "boston to osaka: 1 MB, 241 % of what it could carry</title><rect class=\"over\"");
    text_deinit(&page);
    run_reading_free(r);
}

static void test_a_link_that_is_shared_is_used_by_both_directions(void **state)
{
    struct run_reading *r = load(FIXED);
    struct text page;
    uint32_t from, to;

    (void)state;
    assert_true(topo_region_find(r->file->topo, "boston", &from));
    assert_true(topo_region_find(r->file->topo, "osaka", &to));
    topo_duplex_set(r->file->topo, TOPO_DUPLEX_SHARED);
    r->traffic.bytes[from * r->traffic.regions + to] = 250000;
    r->traffic.bytes[to * r->traffic.regions + from] = 125000;
    print(r, &page);
    expect(&page, "boston to osaka: 250 kB, with the way back 90 % of what it could carry<");
    expect(&page, "osaka to boston: 125 kB, with the way back 90 % of what it could carry<");
    expect(&page, "percentages are of both together");
    text_deinit(&page);
    run_reading_free(r);
}

static void test_rounds_around_a_centre_have_their_plans(void **state)
{
    struct run_reading *r = load(FIXED);
    struct text page;

    (void)state;
    assert_true(r->events_count > 1 && r->sites_count > 1);
    print(r, &page);
    assert_null(strstr(page.chars, ">plans</text>"));
    assert_null(strstr(page.chars, "Around the centre"));
    text_deinit(&page);
    r->events[1] = (struct run_reading_event){
        .time_s = 1.25, .kind = "plan", .who = "", .text = "plan 6: centre <c>"};
    for (uint32_t i = 0; i < r->sites_count; i++) {
        r->sites[i].around = true;
        r->sites[i].shared = false;
    }
    r->sites[1].sums_sent = 1733;
    r->sites[1].passed_bytes = 71700000;
    r->sites[1].carried = 4;
    print(r, &page);
    expect(&page, ">plans</text>");
    expect(&page, "<td class=\"n\">1.2 s</td><td>plan 6: centre &lt;c&gt;</td>");
    expect(&page, "<td class=\"n\">1733</td><td class=\"n\">0</td><td class=\"n\">71.7 MB</td>"
                  "<td class=\"n\">0</td><td class=\"n\">4</td><td class=\"n\">0</td></tr>");
    text_deinit(&page);
    run_reading_free(r);
}

static void test_an_unfinished_run_is_shown_as_far_as_it_came(void **state)
{
    struct run_reading *r = load(FIXED);
    struct text page;

    (void)state;
    r->finished = false;
    r->rows_count = 50;
    r->last_s = r->rows[49].time_s;
    (void)err_text_set(&r->torn[0], OK, "d/scalars.csv:52: the last line was cut off");
    r->torn_count = 1;
    print(r, &page);
    expect(&page, "not finished</span>");
    expect(&page, "It has not come to its end (it still goes on, or was killed). So far it is at "
                  "clock 50, after ");
    expect(&page, "<p class=\"note\">scalars.csv:52: the last line was cut off.</p>");
    expect(&page, "is known when the run is over");
    expect(&page, "transfer alone");
    check_balance(&page);
    text_deinit(&page);
    r->rows_count = 0;
    r->events_count = 0;
    r->last_s = 0;
    print(r, &page);
    expect(&page, "Nothing was judged yet.");
    assert_null(strstr(page.chars, "nan"));
    check_balance(&page);
    text_deinit(&page);
    run_reading_free(r);
}

static void test_a_run_that_failed_says_why_and_its_words_stay_words(void **state)
{
    struct run_reading *r = load(FIXED);
    struct text page;

    (void)state;
    (void)snprintf(r->outcome.end, sizeof(r->outcome.end), "failed");
    (void)err_text_set(&r->outcome.why, OK, "w1: <img src=x onerror=alert(1)>");
    r->events[0].who = "</title><script>";
    r->outcome.priced = false;
    (void)err_text_set(&r->outcome.note, OK, "region \"x\" has no price");
    for (uint32_t i = 0; i < r->rows_count; i++) {
        r->rows[i].wan_usd = NAN;
    }
    print(r, &page);
    expect(&page, "class=\"pill bad\">failed</span>");
    expect(&page, "It failed at clock 100, after 6.6 s, with squared error per rating 0.1825: w1: "
                  "&lt;img src=x");
    expect(&page, "a link that was used has no price");
    expect(&page, "Dollars are not known: region &quot;x&quot; has no price.");
    assert_null(strstr(page.chars, "<script>"));
    assert_null(strstr(page.chars, "<img"));
    check_balance(&page);
    text_deinit(&page);
    run_reading_free(r);
}

/* Ten thousand clocks, all of them evaluated, and thousands of events. */
static void test_a_long_run_still_makes_a_small_page(void **state)
{
    enum { CLOCKS = 10000 };
    struct run_reading *r = load(FIXED);
    struct text page;

    (void)state;
    mem_free(r->rows);
    mem_free(r->events);
    r->rows = mem_calloc(CLOCKS, sizeof(*r->rows));
    r->events = mem_calloc(CLOCKS, sizeof(*r->events));
    assert_non_null(r->rows);
    assert_non_null(r->events);
    r->rows_count = r->events_count = CLOCKS;
    r->last_s = r->outcome.time_s = CLOCKS;
    for (uint32_t i = 0; i < CLOCKS; i++) {
        r->rows[i] = (struct run_reading_row){.clock = i + 1,
                                              .time_s = i + 1,
                                              .objective = 2 + sin(i),
                                              .accuracy = NAN,
                                              .wan_bytes = i * 1e6,
                                              .wan_usd = i * 1e-3};
        r->events[i] = (struct run_reading_event){
            .time_s = i, .kind = i % 2 == 0 ? "joined" : "fault", .who = "w0", .text = "words"};
    }
    print(r, &page);
    assert_true(page.size < 500 * 1000);
    expect(&page, "What happened: 10000 events");
    expect(&page, "The first and the last; all are in ");
    text_deinit(&page);
    run_reading_free(r);
}

/* As many regions as there can be, all of them joined and busy. */
static void test_the_largest_map_still_makes_a_small_page(void **state)
{
    struct run_reading *r = load(FIXED);
    struct run_file *file = NULL;
    struct text yaml, page;
    struct err_text text;

    (void)state;
    assert_int_equal(text_init(&yaml, 1 << 20), OK);
    text_add(&yaml, "run: large\ntopology:\n  regions: [r0");
    for (int i = 1; i < TOPO_REGIONS_MAX; i++) {
        text_addf(&yaml, ", a-region-with-a-long-name-%d", i);
    }
    text_add(&yaml, "]\n  default_link: {rate: 1mbit, rtt: 20ms}\n"
                    "servers: [{region: r0}]\nworkers: [{region: r0}]\n"
                    "job: {name: mf}\nstop: {clocks: 3}\n");
    assert_int_equal(run_file_parse("a", NULL, yaml.chars, yaml.size, &file, &text), OK);
    text_deinit(&yaml);
    run_file_free(r->file);
    run_traffic_deinit(&r->traffic);
    mem_free(r->usd);
    r->file = file;
    assert_int_equal(run_traffic_init(&r->traffic, TOPO_REGIONS_MAX), OK);
    r->usd = mem_calloc(TOPO_REGIONS_MAX * TOPO_REGIONS_MAX, sizeof(*r->usd));
    assert_non_null(r->usd);
    for (uint32_t i = 0; i < TOPO_REGIONS_MAX * TOPO_REGIONS_MAX; i++) {
        r->traffic.bytes[i] = 1000 * i;
    }
    print(r, &page);
    assert_true(page.size < 500 * 1000);
    expect(&page, "The 40 with the most bytes, of 4032.");
    text_deinit(&page);
    run_reading_free(r);
}

static void test_a_page_is_kept_in_its_record_even_if_memory_runs_out_before(void **state)
{
    static const char *const files[] = {"run.yaml",  "env.json",     "scalars.csv",
                                        "links.csv", "events.jsonl", "summary.json"};
    char dir[] = "/tmp/strait-report-XXXXXX", path[RUN_READING_PATH_BYTES];
    struct err_text text = {""};
    enum err rc = ERR_NOMEM;
    struct text bytes;
    uint64_t k;

    (void)state;
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        assert_int_equal(run_reading_file(FIXED, files[i], 1 << 20, path, &bytes, &text), OK);
        assert_int_equal(run_folder_put(dir, files[i], bytes.chars, bytes.size, &text), OK);
        text_deinit(&bytes);
    }
    for (k = 1; rc != OK; k++) {
        text.text[0] = '\0';
        mem_fail_at(k, 1);
        rc = run_report_keep(dir, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        assert_true((rc == OK) == (text.text[0] == '\0'));
        (void)snprintf(path, sizeof(path), "%s/report.html", dir);
        assert_int_equal(access(path, F_OK) == 0, rc == OK);
    }
    assert_true(k > 30);
    testing_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_page_of_the_fixed_record_is_the_same_to_the_byte),
        cmocka_unit_test(test_the_page_needs_nothing_from_elsewhere),
        cmocka_unit_test(test_the_page_says_what_the_record_says),
        cmocka_unit_test(test_a_real_run_has_the_simulators_word_and_says_if_it_is_not_valid),
        cmocka_unit_test(test_what_was_sparsified_has_a_tile),
        cmocka_unit_test(test_a_link_above_its_rate_has_another_colour),
        cmocka_unit_test(test_a_link_that_is_shared_is_used_by_both_directions),
        cmocka_unit_test(test_rounds_around_a_centre_have_their_plans),
        cmocka_unit_test(test_an_unfinished_run_is_shown_as_far_as_it_came),
        cmocka_unit_test(test_a_run_that_failed_says_why_and_its_words_stay_words),
        cmocka_unit_test(test_a_long_run_still_makes_a_small_page),
        cmocka_unit_test(test_the_largest_map_still_makes_a_small_page),
        cmocka_unit_test(test_a_page_is_kept_in_its_record_even_if_memory_runs_out_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
