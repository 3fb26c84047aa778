/* Records that are read: the one in tests/run/record whole, cut off at every byte, and damaged. */

#include "run/record/reading.h"

#include "run/testing.h"

#include "base/mem.h"

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
#define HEAD                                                                                       \
    "clock,time_s,workers,rebased,samples,loss,objective,accuracy,read_s,compute_s,end_s,"         \
    "wan_bytes,wan_usd\n"

static const char *const files[] = {"run.yaml",  "env.json",     "scalars.csv",
                                    "links.csv", "events.jsonl", "summary.json"};

/* A copy of the fixed record that can be damaged. */
struct copy {
    char dir[40];
};

static void copy_write(const struct copy *c, const char *file, const char *chars, size_t size)
{
    char path[128];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", c->dir, file);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(chars, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void copy_text(const struct copy *c, const char *file, const char *chars)
{
    copy_write(c, file, chars, strlen(chars));
}

static void fixed_file(const char *file, struct text *out)
{
    char path[RUN_READING_PATH_BYTES];
    struct err_text text;

    assert_int_equal(run_reading_file(FIXED, file, 1 << 20, path, out, &text), OK);
}

static void copy_open(struct copy *c)
{
    (void)snprintf(c->dir, sizeof(c->dir), "/tmp/strait-reading-XXXXXX");
    assert_non_null(mkdtemp(c->dir));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct text bytes;

        fixed_file(files[i], &bytes);
        copy_write(c, files[i], bytes.chars, bytes.size);
        text_deinit(&bytes);
    }
}

static void copy_remove(const struct copy *c, const char *file)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", c->dir, file);
    assert_int_equal(unlink(path), 0);
}

static void copy_close(struct copy *c)
{
    testing_remove(c->dir);
}

static void test_a_record_is_read_whole(void **state)
{
    struct run_reading *r = NULL;
    struct err_text text = {""};
    uint32_t n, lisbon, osaka;

    (void)state;
    assert_int_equal(run_reading_load(FIXED, &r, &text), OK);
    assert_string_equal(r->env.backend, "sim");
    assert_string_equal(r->env.started, "2026-01-02T03:04:05Z");
    assert_string_equal(r->env.cpu, "A processor of some kind");
    assert_int_equal(r->env.cores, 8);
    assert_int_equal(r->file->seed, 7);
    assert_true(r->finished && r->torn_count == 0);
    assert_int_equal(r->outcome.clocks, 100);
    assert_int_equal(r->rows_count, 100);
    assert_int_equal(r->rows[99].clock, 100);
    assert_true(r->rows[99].objective == 0.18248747830529258);
    assert_true(r->rows[99].wan_bytes == 1091732 && r->rows[99].wan_usd == 0.000057467);
    assert_true(isnan(r->rows[0].objective) && isnan(r->rows[99].accuracy));
    assert_int_equal(r->events_count, 17);
    assert_string_equal(r->events[5].kind, "down");
    assert_string_equal(r->events[5].who, "w2");
    assert_string_equal(r->events[5].text, "its process is gone");
    assert_string_equal(r->events[6].who, "");
    assert_true(r->last_s == r->outcome.time_s);
    n = r->traffic.regions;
    assert_int_equal(n, 4);
    assert_true(topo_region_find(r->file->topo, "lisbon", &lisbon));
    assert_true(topo_region_find(r->file->topo, "osaka", &osaka));
    assert_true(run_traffic_between(&r->traffic, lisbon, osaka) > 100000);
    assert_true(r->usd[lisbon * n + osaka] > 0);
    assert_int_equal(run_traffic_total(&r->traffic), r->outcome.wan_bytes);
    assert_int_equal(r->sites_count, 3);
    assert_string_equal(r->sites[2].name, "osaka");
    assert_true(r->sites[2].shared && r->sites[2].workers == 1 && r->sites[2].read_s > 1);
    run_reading_free(r);
}

static void test_a_run_without_its_end_is_read_as_far_as_it_came(void **state)
{
    static const char row[] = "1,2.500000,5,0,500,0.5,,,0.1,0.2,0.3,10,0.5\n2,3.0";
    char scalars[512];
    struct run_reading *r = NULL;
    struct err_text text = {""};
    struct copy c;

    (void)state;
    copy_open(&c);
    copy_remove(&c, "summary.json");
    (void)snprintf(scalars, sizeof(scalars), "%s%s", HEAD, row);
    copy_text(&c, "scalars.csv", scalars);
    copy_text(&c, "events.jsonl", "{\"time_s\": 1");
    copy_text(&c, "links.csv", "time_s,from,to,bytes,usd\n");
    assert_int_equal(run_reading_load(c.dir, &r, &text), OK);
    assert_true(!r->finished && r->sites_count == 0 && r->events_count == 0);
    assert_int_equal(r->rows_count, 1);
    assert_true(r->last_s == 2.5);
    assert_int_equal(run_traffic_total(&r->traffic), 0);
    assert_int_equal(r->torn_count, 2);
    assert_non_null(strstr(r->torn[0].text, "/scalars.csv:3: the last line was cut off"));
    assert_non_null(strstr(r->torn[1].text, "/events.jsonl:1: the last line was cut off"));
    run_reading_free(r);
    copy_close(&c);
}

/* At most the line that was cut is lost, and a file that appears whole is never read by half. */
static void test_a_record_that_was_cut_off_anywhere_is_read_or_refused_with_the_line(void **state)
{
    const size_t cuts = getenv("STRAIT_VALGRIND") != NULL ? 13 : 97;
    struct copy c;

    (void)state;
    copy_open(&c);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        bool grows = strcmp(files[i], "scalars.csv") == 0 || strcmp(files[i], "links.csv") == 0 ||
                     strcmp(files[i], "events.jsonl") == 0;
        struct text bytes;

        fixed_file(files[i], &bytes);
        for (size_t size = 0; size < bytes.size; size += 1 + bytes.size / cuts) {
            struct run_reading *r = NULL;
            struct err_text text = {""};
            enum err rc;

            copy_write(&c, files[i], bytes.chars, size);
            rc = run_reading_load(c.dir, &r, &text);
            if (rc == OK) {
                assert_true(grows || strcmp(files[i], "run.yaml") == 0 || size + 1 >= bytes.size);
                assert_true(!grows || size == 0 || bytes.chars[size - 1] == '\n' ||
                            r->torn_count == 1);
            } else {
                char place[160];

                assert_int_equal(rc, ERR_MALFORMED);
                (void)snprintf(place, sizeof(place), "%s/%s:", c.dir, files[i]);
                assert_int_equal(strncmp(text.text, place, strlen(place)), 0);
                assert_true(text.text[strlen(place)] >= '1' && text.text[strlen(place)] <= '9');
            }
            run_reading_free(r);
        }
        copy_write(&c, files[i], bytes.chars, bytes.size);
        text_deinit(&bytes);
    }
    copy_close(&c);
}

/* What is wrong, and where. */
static void test_what_is_damaged_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *file, *chars, *said;
    } cases[] = {
        {"scalars.csv", "clock\n", "scalars.csv:1: it does not begin as the table of a run does"},
        {"scalars.csv", HEAD "1,1,1,1,1,1,1,1,1,1,1,1\n", "scalars.csv:2: it is no row of a run"},
        {"scalars.csv", HEAD "1,1,1,1,1,1,1,1,1,1,1,1,x\n", "scalars.csv:2: it is no row of a run"},
        {"scalars.csv", HEAD "1,1,1,1,1,1,,,1,1,1,,\n1,2,1,1,1,1,1,1,1,1,1,1,1\n",
         "scalars.csv:3: it is no row of a run"},
        {"links.csv", "time_s,from,to,bytes\n", "links.csv:1: it does not begin"},
        {"links.csv", "time_s,from,to,bytes,usd\n1,lisbon,paris,1,\n",
         "links.csv:2: it names no link of run.yaml"},
        {"links.csv", "time_s,from,to,bytes,usd\n1,lisbon,osaka,7,\n2,lisbon,osaka,6,\n",
         "links.csv:3: the link has less bytes than before"},
        {"links.csv", "time_s,from,to,bytes,usd\n1,lis<b>on,osaka,7,\n",
         "links.csv:2: it is no row of a run"},
        {"events.jsonl", "{\"time_s\": 1, \"event\": \"a\"}\n[]\n",
         "events.jsonl:2: it is no event of a run"},
        {"events.jsonl", "{\"time_s\": -1, \"event\": \"a\"}\n",
         "events.jsonl:1: it is no event of a run"},
        {"env.json", "{\n\n}", "env.json:1: 'schema' is missing"},
        {"env.json", "{\"schema\": 1}", "env.json:1: 'backend' is missing"},
        {"env.json", "{\n\"schema\": 1,\n", "env.json:3: "},
        {"env.json", "7", "env.json:1: "},
        {"summary.json", "{\"schema\": 1}", "'end' is missing or is no word"},
        {"summary.json", "{\"schema\": 1, \"end\": \"x\"", "summary.json:1: "},
        {"run.yaml", "run: [\n", "run.yaml:"},
    };
    struct copy c;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct run_reading *r = NULL;
        struct err_text text = {""};

        copy_open(&c);
        copy_text(&c, cases[i].file, cases[i].chars);
        assert_int_equal(run_reading_load(c.dir, &r, &text), ERR_MALFORMED);
        if (strstr(text.text, cases[i].said) == NULL) {
            fail_msg("'%s' is not in '%s'", cases[i].said, text.text);
        }
        copy_close(&c);
    }
}

static void test_another_schema_is_refused_and_what_is_new_in_this_one_is_left_alone(void **state)
{
    struct run_reading *r = NULL;
    struct err_text text = {""};
    struct copy c;

    (void)state;
    copy_open(&c);
    copy_text(&c, "env.json", "{\"schema\": 2}");
    assert_int_equal(run_reading_load(c.dir, &r, &text), ERR_VERSION);
    assert_non_null(strstr(text.text, "it is of schema 2, and this Strait"));
    assert_non_null(strstr(text.text, "use the Strait that wrote it"));
    copy_text(&c, "env.json", "{\"new\": [1], \"schema\": 1, \"backend\": \"lab\"}");
    copy_text(&c, "scalars.csv",
              "new,loss,clock,time_s,workers,rebased,samples,objective,accuracy,read_s,compute_s,"
              "end_s\nwhatever,0.25,3,1.5,1,0,8,,,0,0,0\n");
    copy_text(&c, "links.csv", "bytes,usd,time_s,colour,from,to\n5,,1,red,osaka,lisbon\n");
    assert_int_equal(run_reading_load(c.dir, &r, &text), OK);
    assert_true(r->rows_count == 1 && r->rows[0].clock == 3 && r->rows[0].loss == 0.25);
    assert_true(isnan(r->rows[0].wan_bytes) && isnan(r->rows[0].wan_usd));
    assert_int_equal(run_traffic_total(&r->traffic), 5);
    assert_string_equal(r->env.cpu, "");
    run_reading_free(r);
    copy_close(&c);
}

static void test_what_is_no_record_is_refused(void **state)
{
    struct run_reading *r = NULL;
    struct err_text text = {""};

    (void)state;
    assert_int_equal(run_reading_load("/tmp/strait-there-is-nothing", &r, &text), ERR_NOT_FOUND);
    assert_non_null(strstr(text.text, "there is no run.yaml: it is no record of a run"));
}

static void test_memory_may_run_out_while_a_record_is_read(void **state)
{
    enum err rc = ERR_NOMEM;
    uint64_t k;

    (void)state;
    for (k = 1; rc != OK; k++) {
        struct run_reading *r = NULL;
        struct err_text text = {""};

        mem_fail_at(k, 1);
        rc = run_reading_load(FIXED, &r, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        assert_true((rc == OK) == (text.text[0] == '\0'));
        run_reading_free(r);
    }
    assert_true(k > 20);
}

static void test_a_curve_has_the_evaluations_or_else_the_losses(void **state)
{
    struct run_reading_row rows[] = {
        {.clock = 1, .time_s = 1, .loss = 9, .objective = NAN, .wan_bytes = NAN, .wan_usd = NAN},
        {.clock = 2, .time_s = 2, .loss = 8, .objective = 5, .wan_bytes = 100, .wan_usd = 1},
        {.clock = 4, .time_s = 6, .loss = NAN, .objective = 3, .wan_bytes = 200, .wan_usd = 3},
    };
    struct run_reading_reach reach;
    struct run_reading_curve curve;

    (void)state;
    assert_int_equal(run_reading_curve(rows, 3, &curve), OK);
    assert_true(curve.count == 2 && !curve.loss && curve.points[1].value == 3);
    run_reading_reach(curve.points, curve.count, false, 4, &reach);
    assert_true(reach.clock == 3 && reach.time_s == 4 && reach.wan_bytes == 150);
    assert_true(reach.wan_usd == 2);
    run_reading_reach(curve.points, curve.count, false, 2, &reach);
    assert_true(isnan(reach.clock) && isnan(reach.time_s) && isnan(reach.wan_usd));
    run_reading_reach(curve.points, curve.count, false, 7, &reach);
    assert_true(reach.clock == 2 && reach.time_s == 2);
    mem_free(curve.points);
    rows[1].objective = rows[2].objective = NAN;
    assert_int_equal(run_reading_curve(rows, 3, &curve), OK);
    assert_true(curve.count == 2 && curve.loss && curve.points[1].value == 8);
    mem_free(curve.points);
    mem_fail_at(1, 1);
    assert_int_equal(run_reading_curve(rows, 3, &curve), ERR_NOMEM);
    mem_fail_at(0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_record_is_read_whole),
        cmocka_unit_test(test_a_run_without_its_end_is_read_as_far_as_it_came),
        cmocka_unit_test(test_a_record_that_was_cut_off_anywhere_is_read_or_refused_with_the_line),
        cmocka_unit_test(test_what_is_damaged_is_refused_with_its_line),
        cmocka_unit_test(test_another_schema_is_refused_and_what_is_new_in_this_one_is_left_alone),
        cmocka_unit_test(test_what_is_no_record_is_refused),
        cmocka_unit_test(test_memory_may_run_out_while_a_record_is_read),
        cmocka_unit_test(test_a_curve_has_the_evaluations_or_else_the_losses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
