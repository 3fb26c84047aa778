/* The files that a run leaves. */

#include "run/record/record.h"

#include "run/testing.h"

#include "base/mem.h"

#include <fcntl.h>
#include <jansson.h>
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

static const char yaml[] = "run: test\n"
                           "topology:\n"
                           "  regions: [eu, us]\n"
                           "  links: [{between: [eu, us], rate: 1gbit, rtt: 10ms, price: 0.5}]\n"
                           "servers: [{region: eu}]\n"
                           "workers: [{region: eu}, {region: us}]\n"
                           "job: {name: mf}\n"
                           "stop: {clocks: 3}\n";

struct folder {
    char dir[32];
    struct run_file *file;
    struct run_tally *tally;
    struct run_traffic traffic;
    struct run_picture picture;
};

static void folder_open_with(struct folder *f, const char *run, uint32_t workers)
{
    struct err_text text = {""};

    memset(f, 0, sizeof(*f));
    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/strait-record-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    assert_int_equal(run_file_parse("a.yaml", NULL, run, strlen(run), &f->file, &text), OK);
    assert_int_equal(run_tally_create(workers, NULL, NULL, &f->tally), OK);
    assert_int_equal(run_traffic_init(&f->traffic, 2), OK);
    f->picture = (struct run_picture){.file = f->file,
                                      .job = app_find("mf"),
                                      .now_ns = INT64_C(7250000000),
                                      .tally = f->tally,
                                      .traffic = &f->traffic};
}

static void folder_open(struct folder *f)
{
    folder_open_with(f, yaml, 2);
}

static void folder_close(struct folder *f)
{
    run_file_free(f->file);
    run_tally_destroy(f->tally);
    run_traffic_deinit(&f->traffic);
    testing_remove(f->dir);
}

/* A record below the folder, with folders in between that are not there yet. */
static enum err begin(const struct folder *f, const char *below, struct run_record **out,
                      struct err_text *text)
{
    char dir[128];
    struct run_record_config config = {.dir = dir,
                                       .file = f->file,
                                       .backend = "sim",
                                       .command = "strait run \"a.yaml\"",
                                       .started_us = INT64_C(1763208000000000)};

    (void)snprintf(dir, sizeof(dir), "%s/%s", f->dir, below);
    return run_record_create(&config, out, text);
}

static char *slurp(const struct folder *f, const char *name)
{
    static char bytes[1 << 16];
    char path[128];
    FILE *file;
    size_t n;

    (void)snprintf(path, sizeof(path), "%s/%s", f->dir, name);
    file = fopen(path, "r");
    assert_non_null(file);
    n = fread(bytes, 1, sizeof(bytes) - 1, file);
    bytes[n] = '\0';
    assert_int_equal(fclose(file), 0);
    return bytes;
}

/* What was run can be run again from there. */
static void check_runs_again(struct folder *f)
{
    struct run_file *file = NULL;
    struct err_text text;

    assert_int_equal(run_file_parse("r", NULL, slurp(f, "deep/er/run.yaml"),
                                    strlen(slurp(f, "deep/er/run.yaml")), &file, &text),
                     OK);
    run_file_free(file);
}

/* The same as was told. */
static void check_summary(struct folder *f)
{
    json_t *again = json_loads(slurp(f, "deep/er/summary.json"), 0, NULL);

    assert_int_equal(json_integer_value(json_object_get(again, "wan_bytes")), 4001000);
    assert_string_equal(json_string_value(json_object_get(again, "end")), "clocks");
    assert_true(json_is_null(json_object_get(again, "objective")));
    assert_int_equal(json_array_size(json_object_get(again, "workers")), 2);
    assert_int_equal(json_array_size(json_object_get(again, "links")), 2);
    assert_true(json_is_null(json_object_get(again, "layout")));
    assert_true(json_is_null(json_object_get(again, "cost")));
    assert_string_equal(json_string_value(json_object_get(again, "cost_note")),
                        "test: region eu has no price for machines of class 'cpu': add \"cpu\" "
                        "(dollars per hour) to the \"usd_per_hour\" of that region");
    assert_true(json_real_value(json_object_get(again, "wan_usd")) == 0.0020005);
    assert_true(json_is_null(json_object_get(again, "budget")));
    assert_int_equal(json_array_size(json_object_get(again, "sites")), 1);
    json_decref(again);
}

static void test_a_record_has_all_its_files(void **state)
{
    struct run_result result = {.end = RUN_END_CLOCKS, .took_ns = INT64_C(7250000000)};
    struct run_row row = {.clock = 1,
                          .now_ns = 1500000000,
                          .workers = 2,
                          .samples = 20,
                          .loss = 0.5,
                          .objective = NAN,
                          .accuracy = NAN,
                          .read_s = 0.25};
    struct err_text text = {""};
    struct run_record *r = NULL;
    struct folder f;
    json_t *summary, *again;

    (void)state;
    folder_open(&f);
    assert_int_equal(begin(&f, "deep/er", &r, &text), OK);
    run_record_row(r, &row, &f.traffic);
    row = (struct run_row){.clock = 2,
                           .now_ns = 2000000000,
                           .workers = 2,
                           .rebased = 1,
                           .samples = 20,
                           .loss = 0.25,
                           .evaluated = true,
                           .objective = 0.125,
                           .accuracy = 0.75};
    f.traffic.bytes[1] = 3000000;
    run_record_row(r, &row, &f.traffic);
    f.traffic.bytes[1] = 4000000;
    f.traffic.bytes[2] = 1000;
    run_record_event(r, 1, "joined", "w0", "from \"here\"\n");
    run_record_event(r, 2000, "end", "", "");
    summary = (json_t *)run_summary(&f.picture, "sim", &result);
    assert_non_null(summary);
    assert_int_equal(run_record_finish(r, summary, &f.picture, &text), OK);
    run_record_destroy(r);
    assert_string_equal(
        slurp(&f, "deep/er/scalars.csv"),
        "clock,time_s,workers,rebased,samples,loss,objective,accuracy,read_s,compute_s,end_s,"
        "wan_bytes,wan_usd,upper\n"
        "1,1.500000,2,0,20,0.5,,,0.250000000,0.000000000,0.000000000,0,0.000000000,\n"
        "2,2.000000,2,1,20,0.25,0.125,0.75,0.000000000,0.000000000,0.000000000,3000000,"
        "0.001500000,\n");
    assert_string_equal(slurp(&f, "deep/er/links.csv"), "time_s,from,to,bytes,usd\n"
                                                        "2.000000,eu,us,3000000,0.001500000\n"
                                                        "7.250000,eu,us,4000000,0.002000000\n"
                                                        "7.250000,us,eu,1000,0.000000500\n");
    assert_string_equal(slurp(&f, "deep/er/events.jsonl"),
                        "{\"time_s\":0.000000,\"event\":\"joined\",\"who\":\"w0\",\"text\":"
                        "\"from \\\"here\\\"\\u000a\"}\n"
                        "{\"time_s\":0.000002,\"event\":\"end\"}\n");
    again = json_loads(slurp(&f, "deep/er/env.json"), 0, NULL);
    assert_string_equal(json_string_value(json_object_get(again, "started")),
                        "2025-11-15T12:00:00Z");
    assert_string_equal(json_string_value(json_object_get(again, "command")),
                        "strait run \"a.yaml\"");
    assert_int_equal(json_integer_value(json_object_get(again, "schema")), RUN_RECORD_SCHEMA);
    assert_int_equal(json_integer_value(json_object_get(again, "seed")), 1);
    assert_true(json_integer_value(json_object_get(json_object_get(again, "machine"), "cores")) >
                0);
    json_decref(again);
    check_summary(&f);
    json_decref(summary);
    check_runs_again(&f);
    folder_close(&f);
}

#define SITES                                                                                      \
    "run: test\n"                                                                                  \
    "topology:\n"                                                                                  \
    "  regions: [{name: eu, usd_per_hour: 3.6}, {name: us, usd_per_hour: 7.2}]\n"                  \
    "  links: [{from: eu, to: us, rate: 1gbit, rtt: 10ms, price: 0.5},\n"                          \
    "          {from: us, to: eu, rate: 1gbit, rtt: 10ms%s}]\n"                                    \
    "sites: [{region: eu, workers: 2}, {name: west, region: us}]\n"                                \
    "job: {name: mf}\nstop: {clocks: 3}\n%s"

static double usd(const json_t *object, const char *key)
{
    return json_real_value(json_object_get(object, key));
}

/* Every worker computes for a second and waits for two; a gigabyte goes each way. */
static json_t *summary_of_sites(const char *price, const char *rest)
{
    struct run_share shares[2] = {{.sums = {.elements_judged = 200,
                                            .elements_sent = 50,
                                            .pieces_made = 7,
                                            .barriers_raised = 3,
                                            .barriers_met = 4,
                                            .barriers_passed = 5,
                                            .soft = 0.5,
                                            .waited_barrier_ns = 1500000000,
                                            .log_bytes = 99},
                                   .lanes = 1,
                                   .bound = true},
                                  {.lanes = 1}};
    struct run_clock clock = {.clock = 1,
                              .next = 2,
                              .compute_ns = 1000000000,
                              .read_ns = 500000000,
                              .sparsified = {.elements = 100,
                                             .sent_elements = 10,
                                             .bytes = 80,
                                             .encode_ns = 1000000000,
                                             .decode_ns = 500000000},
                              .end_ns = 1500000000};
    struct run_result result = {.end = RUN_END_GOAL};
    char text[1024];
    struct folder f;
    json_t *summary;

    (void)snprintf(text, sizeof(text), SITES, price, rest);
    folder_open_with(&f, text, 3);
    for (uint32_t i = 0; i < 3; i++) {
        run_tally_joined(f.tally, i, 1);
        run_tally_clock(f.tally, i, &clock, 1);
    }
    f.traffic.bytes[1] = 1000000000;
    f.traffic.bytes[2] = 1000000000;
    f.picture.shares = shares;
    f.picture.served = (struct node_sparsify_totals){.elements = 50,
                                                     .sent_elements = 20,
                                                     .bytes = 160,
                                                     .encode_ns = 500000000,
                                                     .decode_ns = 250000000};
    summary = (json_t *)run_summary(&f.picture, "sim", &result);
    assert_non_null(summary);
    folder_close(&f);
    return summary;
}

static void test_sites_have_their_parts_of_the_summary(void **state)
{
    json_t *summary = summary_of_sites(", price: 0.25", "budget: {max_gb: 5}\n");
    const json_t *cost = json_object_get(summary, "cost");
    const json_t *first = json_array_get(json_object_get(summary, "sites"), 0);
    const json_t *second = json_array_get(json_object_get(summary, "sites"), 1);
    const json_t *budget = json_object_get(summary, "budget");
    const json_t *shared = json_object_get(first, "shared");

    (void)state;
    assert_string_equal(json_string_value(json_object_get(summary, "layout")), "sites");
    assert_string_equal(json_string_value(json_object_get(summary, "cost_note")), "");
    assert_string_equal(json_string_value(json_object_get(cost, "machine")), "cpu");
    assert_true(usd(cost, "compute_usd") == 0.004 && usd(cost, "waiting_usd") == 0.008);
    assert_true(usd(cost, "transfer_usd") == 0.75 && usd(cost, "total_usd") == 0.762);
    assert_string_equal(json_string_value(json_object_get(second, "name")), "west");
    assert_string_equal(json_string_value(json_object_get(second, "region")), "us");
    assert_true(usd(json_object_get(first, "cost"), "transfer_usd") == 0.5);
    assert_true(usd(json_object_get(second, "cost"), "waiting_usd") == 0.004);
    assert_true(usd(shared, "insignificant") == 0.75 && usd(shared, "soft") == 0.5);
    assert_true(usd(shared, "waited_barrier_s") == 1.5);
    assert_int_equal(json_integer_value(json_object_get(shared, "pieces_made")), 7);
    assert_int_equal(json_integer_value(json_object_get(shared, "barriers_raised")), 3);
    assert_int_equal(json_integer_value(json_object_get(shared, "barriers_met")), 4);
    assert_int_equal(json_integer_value(json_object_get(shared, "barriers_passed")), 5);
    assert_int_equal(json_integer_value(json_object_get(shared, "log_bytes")), 99);
    assert_true(json_is_null(json_object_get(json_object_get(second, "shared"), "insignificant")));
    assert_true(usd(budget, "max_gb") == 5 && usd(budget, "used_gb") == 2);
    assert_true(json_is_null(json_object_get(budget, "max_usd")));
    assert_true(usd(budget, "used_usd") == 0.75);
    assert_true(json_is_true(json_object_get(budget, "bound")));
    assert_true(json_is_true(json_object_get(budget, "holds")));
    json_decref(summary);
}

static void test_what_was_sparsified_is_in_the_summary(void **state)
{
    json_t *summary = summary_of_sites(
        "", "sync: {delivery: broadcast, filter: dvf:delta=1}\nlinks: {scale: 1/2}\n");
    const json_t *sparsified = json_object_get(summary, "sparsified");
    const json_t *servers = json_object_get(sparsified, "servers");

    (void)state;
    assert_true(usd(summary, "codec_seconds") == 4.5); /* Of three workers. */
    assert_int_equal(json_integer_value(json_object_get(sparsified, "elements")), 300);
    assert_int_equal(json_integer_value(json_object_get(sparsified, "sent_elements")), 30);
    assert_int_equal(json_integer_value(json_object_get(sparsified, "bytes")),
                     480); /* Full size. */
    assert_int_equal(json_integer_value(json_object_get(servers, "elements")), 50);
    assert_int_equal(json_integer_value(json_object_get(servers, "sent_elements")), 20);
    assert_int_equal(json_integer_value(json_object_get(servers, "bytes")), 320);
    assert_true(usd(servers, "codec_seconds") == 0.75);
    json_decref(summary);
    summary = summary_of_sites("", "");
    assert_true(json_is_null(json_object_get(summary, "codec_seconds")));
    assert_true(json_is_null(json_object_get(summary, "sparsified")));
    json_decref(summary);
}

static void test_what_has_no_price_is_null_and_is_named(void **state)
{
    json_t *summary = summary_of_sites("", "");
    const json_t *links = json_object_get(summary, "links");

    (void)state;
    assert_true(json_is_null(json_object_get(summary, "cost")));
    assert_true(json_is_null(json_object_get(summary, "wan_usd")));
    assert_true(usd(json_array_get(links, 0), "usd") == 0.5);
    assert_true(json_is_null(json_object_get(json_array_get(links, 1), "usd")));
    assert_non_null(strstr(json_string_value(json_object_get(summary, "cost_note")),
                           "the link from us to eu has no price"));
    assert_true(json_is_null(
        json_object_get(json_array_get(json_object_get(summary, "sites"), 0), "cost")));
    json_decref(summary);
}

/* docs/RECORD.md has @word as code. */
static void check_documented(const char *page, const char *word)
{
    char code[96];

    (void)snprintf(code, sizeof(code), "`%s`", word);
    if (strstr(page, code) == NULL) {
        fail_msg("docs/RECORD.md does not say what %s is", code);
    }
}

static void check_keys(const char *page, const json_t *value)
{
    const char *key;
    json_t *inner;
    size_t i;

    json_object_foreach((json_t *)value, key, inner)
    {
        check_documented(page, key);
        check_keys(page, inner);
    }
    json_array_foreach(value, i, inner)
    {
        check_keys(page, inner);
    }
}

static void check_columns(const char *page, char *table)
{
    char *rest = NULL;

    table[strcspn(table, "\n")] = '\0';
    for (char *c = strtok_r(table, ",", &rest); c != NULL; c = strtok_r(NULL, ",", &rest)) {
        check_documented(page, c);
    }
}

static void test_every_key_and_column_that_is_written_is_documented(void **state)
{
    static char page[1 << 16];
    struct err_text text = {""};
    struct run_record *r = NULL;
    struct folder f;
    json_t *object;
    FILE *file = fopen(STRAIT_SOURCE_DIR "/docs/RECORD.md", "r");

    (void)state;
    assert_non_null(file);
    page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    folder_open(&f);
    assert_int_equal(begin(&f, "a", &r, &text), OK);
    run_record_event(r, 1, "joined", "w0", "hello");
    assert_int_equal(run_record_finish(r, NULL, NULL, &text), OK);
    run_record_destroy(r);
    check_columns(page, slurp(&f, "a/scalars.csv"));
    check_columns(page, slurp(&f, "a/links.csv"));
    object = json_loads(slurp(&f, "a/env.json"), 0, NULL);
    check_keys(page, object);
    json_decref(object);
    object = json_loads(slurp(&f, "a/events.jsonl"), 0, NULL);
    check_keys(page, object);
    json_decref(object);
    object = summary_of_sites(", price: 0.25", "budget: {max_gb: 5}\nsync: {push: dvf:delta=1}\n");
    assert_int_equal(json_object_size(object), 36);
    check_keys(page, object);
    json_decref(object);
    folder_close(&f);
}

static void test_a_record_is_not_written_over(void **state)
{
    struct err_text text = {""};
    struct run_record *r = NULL, *other = NULL;
    struct folder f;

    (void)state;
    folder_open(&f);
    assert_int_equal(begin(&f, "a", &r, &text), OK);
    assert_int_equal(begin(&f, "a", &other, &text), ERR_EXISTS);
    assert_non_null(strstr(text.text, "holds the record of another run"));
    run_record_destroy(r);
    folder_close(&f);
}

static void test_a_folder_that_cannot_be_made_is_told(void **state)
{
    struct err_text text = {""};
    struct run_record *r = NULL;
    struct folder f;
    char path[64];
    FILE *file;

    (void)state;
    folder_open(&f);
    (void)snprintf(path, sizeof(path), "%s/file", f.dir);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(begin(&f, "file/a", &r, &text), ERR_IO);
    assert_non_null(strstr(text.text, "/file/a"));
    folder_close(&f);
}

/* The disk is full: the run goes on, and it is told in the end. */
static void test_what_cannot_be_written_is_told_in_the_end(void **state)
{
    struct run_row row = {.clock = 1};
    struct err_text text = {""};
    struct run_record *r = NULL;
    struct folder f;
    char path[64];
    json_t *summary = json_object();

    (void)state;
    folder_open(&f);
    (void)snprintf(path, sizeof(path), "%s/a", f.dir);
    assert_int_equal(mkdir(path, 0777), 0);
    (void)snprintf(path, sizeof(path), "%s/a/scalars.csv", f.dir);
    if (symlink("/dev/full", path) != 0 || access("/dev/full", W_OK) != 0) {
        folder_close(&f);
        json_decref(summary);
        skip(); /* No device that is always full. */
    }
    assert_int_equal(begin(&f, "a", &r, &text), ERR_FULL);
    assert_non_null(strstr(text.text, "scalars.csv: No space left on device"));
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof(path), "%s/a/run.yaml", f.dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(begin(&f, "a", &r, &text), OK);
    (void)snprintf(path, sizeof(path), "%s/a/summary.json.part", f.dir);
    assert_int_equal(symlink("/dev/full", path), 0);
    run_record_row(r, &row, &f.traffic);
    assert_int_equal(run_record_finish(r, summary, &f.picture, &text), ERR_FULL);
    json_decref(summary);
    assert_non_null(strstr(text.text, "summary.json"));
    assert_int_equal(access(path, F_OK), -1); /* Nothing that is half there stays. */
    run_record_destroy(r);
    folder_close(&f);
}

/* The descriptor of this process that has the file open. */
static int descriptor_of(const char *path)
{
    char link[64], target[128];

    for (int fd = 3; fd < 256; fd++) {
        ssize_t n;

        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, target, sizeof(target) - 1);
        target[n < 0 ? 0 : n] = '\0';
        if (strcmp(target, path) == 0) {
            return fd;
        }
    }
    fail_msg("%s is not open", path);
    return -1;
}

static void test_lines_wait_for_space_on_a_full_disk(void **state)
{
    struct run_row row = {.clock = 1};
    struct err_text text = {""};
    struct run_record *r = NULL;
    struct folder f;
    char path[64], *scalars;
    int file, fd, full = open("/dev/full", O_WRONLY | O_CLOEXEC);

    (void)state;
    if (full < 0) {
        skip(); /* No device that is always full. */
    }
    folder_open(&f);
    assert_int_equal(begin(&f, "a", &r, &text), OK);
    (void)snprintf(path, sizeof(path), "%s/a/scalars.csv", f.dir);
    fd = descriptor_of(path);
    file = dup(fd);
    assert_int_equal(dup2(full, fd), fd);
    run_record_row(r, &row, &f.traffic);
    assert_true(run_record_waits(r));
    row.clock = 2;
    run_record_row(r, &row, &f.traffic);
    assert_int_equal(dup2(file, fd), fd);
    assert_true(run_record_waits(r));
    row.clock = 3;
    run_record_row(r, &row, &f.traffic);
    assert_false(run_record_waits(r));
    assert_int_equal(dup2(full, fd), fd);
    row.clock = 4;
    run_record_row(r, &row, &f.traffic);
    assert_int_equal(run_record_finish(r, NULL, NULL, &text), ERR_FULL);
    assert_non_null(strstr(text.text, "scalars.csv: No space left on device"));
    run_record_destroy(r);
    scalars = slurp(&f, "a/scalars.csv");
    assert_non_null(strstr(scalars, "\n1,"));
    assert_non_null(strstr(strstr(scalars, "\n1,"), "\n2,"));
    assert_non_null(strstr(strstr(scalars, "\n2,"), "\n3,"));
    assert_null(strstr(scalars, "\n4,"));
    (void)close(file);
    (void)close(full);
    folder_close(&f);
}

static void test_no_memory_is_told(void **state)
{
    struct run_record *r = NULL;
    struct folder f;
    enum err rc = ERR_NOMEM;
    uint64_t k;

    (void)state;
    folder_open(&f);
    for (k = 1; rc != OK; k++) {
        struct err_text text = {""};
        char below[16];

        (void)snprintf(below, sizeof(below), "k%u", (unsigned)k);
        mem_fail_at(k, 1);
        rc = begin(&f, below, &r, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || text.text[0] != '\0');
        assert_true(k < 100);
    }
    assert_true(k > 3);
    run_record_destroy(r);
    folder_close(&f);
}

static void test_traffic_inside_a_region_is_not_the_wan(void **state)
{
    struct folder f;

    (void)state;
    folder_open(&f);
    f.traffic.bytes[0] = 999;
    f.traffic.bytes[1] = 2000000000;
    assert_int_equal(run_traffic_total(&f.traffic), 2000000000);
    folder_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_record_has_all_its_files),
        cmocka_unit_test(test_sites_have_their_parts_of_the_summary),
        cmocka_unit_test(test_what_was_sparsified_is_in_the_summary),
        cmocka_unit_test(test_what_has_no_price_is_null_and_is_named),
        cmocka_unit_test(test_every_key_and_column_that_is_written_is_documented),
        cmocka_unit_test(test_a_record_is_not_written_over),
        cmocka_unit_test(test_a_folder_that_cannot_be_made_is_told),
        cmocka_unit_test(test_what_cannot_be_written_is_told_in_the_end),
        cmocka_unit_test(test_lines_wait_for_space_on_a_full_disk),
        cmocka_unit_test(test_no_memory_is_told),
        cmocka_unit_test(test_traffic_inside_a_region_is_not_the_wan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
