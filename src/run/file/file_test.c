/* Run files: every key, every default, printing as reading backwards, files and limits. The wrong
 * ones are in file/wrong_test.c. */

#include "run/file/file.h"

#include "run/testing.h"

#include "base/mem.h"
#include "base/rng.h"
#include "sim/net/fabric.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MAP                                                                                        \
    "topology:\n"                                                                                  \
    "  regions: [eu, us]\n"                                                                        \
    "  links: [{between: [eu, us], rate: 100mbit, delay: 40ms}]\n"
#define SHORT                                                                                      \
    "run: demo\n" MAP "servers: [{region: eu}]\n"                                                  \
    "workers: [{region: us}]\n"                                                                    \
    "job: {name: mf}\n"                                                                            \
    "stop: {clocks: 10}\n"

static struct run_file *parse(const char *folder, const char *yaml)
{
    struct run_file *f = NULL;
    struct err_text why = {""};

    if (run_file_parse("r.yaml", folder, yaml, strlen(yaml), &f, &why) != OK) {
        fail_msg("%s", why.text);
    }
    return f;
}

static void expect_refused(const char *yaml, size_t size, const char *complaint)
{
    struct run_file *f = NULL;
    struct err_text why = {""};
    enum err rc = run_file_parse("r.yaml", NULL, yaml, size, &f, &why);

    assert_true(rc == ERR_MALFORMED || rc == ERR_TOO_BIG);
    assert_null(f);
    assert_string_equal(why.text, complaint);
}

static const char everything[] = "# A comment.\n"
                                 "run: all-keys\n"
                                 "seed: 18446744073709551615\n" MAP "shards: 8\n"
                                 "servers:\n"
                                 "  - {name: first, region: eu, lanes: 2}\n"
                                 "  - region: us\n"
                                 "workers:\n"
                                 "  - {region: eu, count: 3, streams: 4, slowdown: 1.5}\n"
                                 "  - {region: us}\n"
                                 "job:\n"
                                 "  name: lenet\n"
                                 "  data: sets/fashion\n"
                                 "  options:\n"
                                 "    batch: 64\n"
                                 "    lr: '0.05'\n"
                                 "sync:\n"
                                 "  barrier: ssp\n"
                                 "  staleness: 3\n"
                                 "  delivery: broadcast\n"
                                 "  deadline: 1.5min\n"
                                 "  order: arrival\n"
                                 "checkpoint: {every: 20, keep: 3}\n"
                                 "evaluate: {every: 5}\n"
                                 "state: {every: 3}\n"
                                 "stop: {clocks: 200, objective: -0.3, accuracy: 0.9, converged: "
                                 "{change: 1.5%, clocks: 20, after: 7}, time: 10min}\n"
                                 "faults:\n"
                                 "  - at 3s kill first for 500ms\n"
                                 "  - \"storm from 4s to 9s every 1s only kill,cut\"\n"
                                 "compute: {gflops: 12.5}\n";

static void test_every_key_is_read(void **state)
{
    struct run_file *f = parse("runs", everything);

    (void)state;
    assert_string_equal(f->name, "all-keys");
    assert_true(f->seed == UINT64_MAX);
    assert_null(f->topology);
    assert_int_equal(topo_regions(f->topo), 2);
    assert_int_equal(f->shards, 8);
    assert_int_equal(f->lanes, 3);
    assert_int_equal(f->workers, 4);
    assert_int_equal(f->checkpoint.every, 20);
    assert_int_equal(f->checkpoint.keep, 3);
    assert_int_equal(f->evaluate.every, 5);
    assert_int_equal(f->state.every, 3);
    assert_int_equal(f->stop.clocks, 200);
    assert_true(f->stop.has_objective && f->stop.objective == -0.3);
    assert_true(f->stop.accuracy == 0.9);
    assert_int_equal(f->stop.time_ns, INT64_C(600000000000));
    assert_true(f->compute.gflops == 12.5);
    assert_int_equal(f->sync.barrier, RUN_SSP);
    assert_int_equal(f->sync.staleness, 3);
    assert_int_equal(f->sync.delivery, NODE_BROADCAST);
    assert_int_equal(f->sync.deadline_ns, INT64_C(90000000000));
    assert_int_equal(f->sync.order, RUN_ARRIVAL);
    run_file_free(f);
    run_file_free(NULL);
}

static void test_members_and_texts_keep_their_lines(void **state)
{
    struct run_file *f = parse("runs", everything);

    (void)state;
    assert_int_equal(f->servers_count, 2);
    assert_string_equal(f->servers[0].name, "first");
    assert_int_equal(f->servers[0].region, 0);
    assert_int_equal(f->servers[0].lanes, 2);
    assert_int_equal(f->servers[0].line, 9);
    assert_string_equal(f->servers[1].name, "s1");
    assert_string_equal(f->servers[1].region_name, "us");
    assert_int_equal(f->servers[1].region, 1);
    assert_int_equal(f->servers[1].line, 10);
    assert_int_equal(f->groups_count, 2);
    assert_int_equal(f->groups[0].count, 3);
    assert_int_equal(f->groups[0].streams, 4);
    assert_true(f->groups[0].slowdown == 1.5);
    assert_int_equal(f->groups[1].region, 1);
    assert_int_equal(f->groups[1].line, 13);
    assert_string_equal(f->job.name, "lenet");
    assert_string_equal(f->job.data, "runs/sets/fashion");
    assert_int_equal(f->job.line, 15);
    assert_int_equal(f->job.options_count, 2);
    assert_string_equal(f->job.options[0].key, "batch");
    assert_string_equal(f->job.options[0].value, "64");
    assert_int_equal(f->job.options[0].line, 18);
    assert_string_equal(f->job.options[1].value, "0.05");
    assert_int_equal(f->faults_count, 2);
    assert_string_equal(f->faults[0].chars, "at 3s kill first for 500ms");
    assert_int_equal(f->faults[0].line, 31);
    assert_int_equal(f->faults[1].line, 32);
    run_file_free(f);
}

static void test_defaults_are_filled_in(void **state)
{
    struct run_file *f = parse(NULL, SHORT);

    (void)state;
    assert_int_equal(f->seed, 1);
    assert_int_equal(f->shards, 1);
    assert_string_equal(f->servers[0].name, "s0");
    assert_int_equal(f->servers[0].lanes, 1);
    assert_int_equal(f->groups[0].count, 1);
    assert_int_equal(f->groups[0].streams, 1);
    assert_true(f->groups[0].slowdown == 1);
    assert_string_equal(f->job.data, "");
    assert_int_equal(f->job.options_count, 0);
    assert_int_equal(f->sync.barrier, RUN_BSP);
    assert_int_equal(f->sync.staleness, 0);
    assert_int_equal(f->sync.delivery, NODE_PULL);
    assert_int_equal(f->sync.deadline_ns, INT64_C(120000000000));
    assert_int_equal(f->sync.order, RUN_ARRIVAL);
    assert_int_equal(f->checkpoint.every, 0);
    assert_int_equal(f->checkpoint.keep, 2);
    assert_int_equal(f->evaluate.every, 10);
    assert_int_equal(f->state.every, 0);
    assert_false(f->stop.has_objective);
    assert_true(f->stop.accuracy == 0 && f->stop.time_ns == 0);
    assert_int_equal(f->faults_count, 0);
    assert_true(f->compute.gflops == 20 && f->compute.time_ns == 0);
    run_file_free(f);
    f = parse(NULL, SHORT "compute: {time: 0.25s}\n");
    assert_int_equal(f->compute.time_ns, 250000000);
    run_file_free(f);
    f = parse(NULL, SHORT "sync: {barrier: ssp}\n");
    assert_int_equal(f->sync.staleness, 2);
    run_file_free(f);
}

static void test_faults_may_name_all_there_is(void **state)
{
    struct run_file *f = parse(NULL, SHORT "faults:\n"
                                           "  - at 1s pause w0 for 1s\n"
                                           "  - at 1s  power  s0 for 1s # and a comment\n"
                                           "  - at 2s cut-one us eu for 1s\n"
                                           "  - at 3s flip\n");

    (void)state;
    assert_int_equal(f->faults_count, 4);
    assert_string_equal(f->faults[1].chars, "at 1s  power  s0 for 1s");
    assert_int_equal(f->faults[3].line, 13);
    run_file_free(f);
}

static char *print(const struct run_file *f)
{
    struct text out;

    assert_int_equal(text_init(&out, RUN_PRINT_BYTES_MAX), OK);
    run_file_print(f, &out);
    assert_false(out.failed);
    return out.chars; /* Released by mem_free(), as text_deinit() would. */
}

static void test_what_is_printed_is_complete(void **state)
{
    struct run_file *f = parse("runs", everything);
    char *printed = print(f);

    (void)state;
    assert_string_equal(
        printed,
        "run: all-keys\n"
        "seed: 18446744073709551615\n"
        "topology: {\n"
        "    \"strait_topology\": 1,\n"
        "    \"lan\": {\"rate\": \"40gbit\", \"delay\": \"50us\"},\n"
        "    \"regions\": [\n"
        "      {\"name\": \"eu\"},\n"
        "      {\"name\": \"us\"}\n"
        "    ],\n"
        "    \"links\": [\n"
        "      {\"between\": [\"eu\", \"us\"], \"rate\": \"100mbit\", \"delay\": \"40ms\"}\n"
        "    ]\n"
        "  }\n"
        "links: {scale: 1, machines: 1, lan: {rate: 40gbit, delay: 50us}}\n"
        "shards: 8\n"
        "servers:\n"
        "  - {name: first, region: eu, lanes: 2}\n"
        "  - {name: s1, region: us, lanes: 1}\n"
        "workers:\n"
        "  - {region: eu, count: 3, streams: 4, slowdown: 1.5}\n"
        "  - {region: us, count: 1, streams: 1, slowdown: 1}\n"
        "job:\n"
        "  name: lenet\n"
        "  data: \"runs/sets/fashion\"\n"
        "  options:\n"
        "    batch: 64\n"
        "    lr: 0.05\n"
        "sync: {barrier: ssp, staleness: 3, delivery: broadcast, deadline: 90s, order: arrival}\n"
        "checkpoint: {every: 20, keep: 3}\n"
        "evaluate: {every: 5}\n"
        "state: {every: 3}\n"
        "stop: {clocks: 200, objective: -0.3, accuracy: 0.9, converged: {change: 0.015, clocks: "
        "20, after: 7}, time: 600s}\n"
        "faults:\n"
        "  - \"at 3s kill first for 500ms\"\n"
        "  - \"storm from 4s to 9s every 1s only kill,cut\"\n"
        "compute: {gflops: 12.5}\n");
    mem_free(printed);
    run_file_free(f);
}

/* Read, print, read, print: twice the same, and every odd text survives. */
static void test_what_is_printed_is_read_the_same(void **state)
{
    static const char *const texts[] = {
        everything,
        SHORT,
        "run: -.-\n" MAP "servers: [{name: '-', region: eu}]\n"
        "workers: [{region: us}]\n"
        "job: {name: mf, data: \"a \\\"b\\\" \\\\ \xc3\xa4\", options: {'a: b': '{x', yes: no,\n"
        "      \"null\": '~', n: -5, '#': '- a'}}\n"
        "stop: {objective: 1e-300}\n"
        "sync: {barrier: bsp, order: fixed, deadline: 0}\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct run_file *f = parse(NULL, texts[i]), *again;
        char *first = print(f), *second;

        again = parse(NULL, first);
        second = print(again);
        assert_string_equal(first, second);
        assert_true(topo_equal(f->topo, again->topo));
        assert_int_equal(f->job.options_count, again->job.options_count);
        for (uint32_t k = 0; k < f->job.options_count; k++) {
            assert_string_equal(f->job.options[k].key, again->job.options[k].key);
            assert_string_equal(f->job.options[k].value, again->job.options[k].value);
        }
        assert_string_equal(f->job.data, again->job.data);
        mem_free(first);
        mem_free(second);
        run_file_free(f);
        run_file_free(again);
    }
}

/* A random run: the file that says it, and what must come out. Keys are left out at random; what is
 * left out has its default. */
struct random_run {
    struct rng rng;
    struct text yaml;
    struct run_file expected;
    struct run_server servers[8];
    struct run_group groups[8];
};

static bool say(struct random_run *m)
{
    return rng_chance(&m->rng, 500000);
}

static uint32_t some(struct random_run *m, uint32_t least, uint32_t most)
{
    return least + (uint32_t)rng_below(&m->rng, most - least + 1);
}

/* "key: value" of a whole number in braces, or nothing. */
static uint32_t random_figure(struct random_run *m, const char *key, uint32_t fallback,
                              uint32_t least, uint32_t most)
{
    uint32_t value = say(m) ? some(m, least, most) : fallback;

    if (value != fallback || say(m)) {
        text_addf(&m->yaml, say(m) ? ", %s: %u" : ",\n   %s: '%u'", key, value);
    }
    return value;
}

static void random_members(struct random_run *m)
{
    static const char *const regions[] = {"eu", "us"};
    struct run_file *f = &m->expected;

    f->servers_count = some(m, 1, 8);
    text_add(&m->yaml, "servers:\n");
    for (uint32_t i = 0; i < f->servers_count; i++) {
        m->servers[i].region = some(m, 0, 1);
        text_addf(&m->yaml, "  - {region: %s", regions[m->servers[i].region]);
        m->servers[i].lanes = random_figure(m, "lanes", 1, 1, RUN_SERVER_LANES_MAX);
        text_add(&m->yaml, "}\n");
        f->lanes += m->servers[i].lanes;
    }
    f->groups_count = some(m, 1, 8);
    text_add(&m->yaml, "workers:\n");
    for (uint32_t i = 0; i < f->groups_count; i++) {
        m->groups[i].region = some(m, 0, 1);
        text_addf(&m->yaml, "  - {region: \"%s\"", regions[m->groups[i].region]);
        m->groups[i].count = random_figure(m, "count", 1, 1, 32);
        m->groups[i].streams = random_figure(m, "streams", 1, 1, LIMIT_STREAMS_PER_PEER);
        text_add(&m->yaml, "}\n");
        f->workers += m->groups[i].count;
    }
    f->shards = f->lanes;
    if (say(m)) {
        f->shards = some(m, f->lanes, NODE_SHARDS_MAX);
        text_addf(&m->yaml, "shards: %u\n", f->shards);
    }
}

static void random_rest(struct random_run *m)
{
    struct run_file *f = &m->expected;

    f->seed = 1;
    if (say(m)) {
        f->seed = rng_next(&m->rng);
        text_addf(&m->yaml, "seed: %llu\n", (unsigned long long)f->seed);
    }
    f->sync.barrier = (enum run_barrier)some(m, 0, 2);
    text_addf(&m->yaml, "sync: {barrier: %s", run_barrier_name(f->sync.barrier));
    if (f->sync.barrier == RUN_SSP) {
        f->sync.staleness = random_figure(m, "staleness", 2, 0, SYNC_STALENESS_MAX);
    } else if (f->sync.barrier == RUN_BSP && say(m)) {
        f->sync.order = RUN_FIXED;
        text_add(&m->yaml, ", order: fixed");
    }
    f->sync.deadline_ns = INT64_C(120000000000);
    if (say(m)) {
        f->sync.deadline_ns = INT64_C(1000000) * some(m, 0, 86400000);
        text_addf(&m->yaml, ", deadline: %lldus", (long long)(f->sync.deadline_ns / 1000));
    }
    text_add(&m->yaml, "}\n");
    f->stop.clocks = some(m, 1, 1000000000);
    text_addf(&m->yaml, "stop: {clocks: %llu}\n", (unsigned long long)f->stop.clocks);
    f->checkpoint.keep = 2;
    f->evaluate.every = 10;
    if (say(m)) {
        f->checkpoint.every = some(m, 1, 1000000000);
        text_addf(&m->yaml, "checkpoint: {every: %u", f->checkpoint.every);
        f->checkpoint.keep = random_figure(m, "keep", 2, 1, 100);
        text_add(&m->yaml, "}\n");
    }
}

static void random_compare(const struct random_run *m, const struct run_file *f)
{
    const struct run_file *e = &m->expected;

    assert_true(f->seed == e->seed);
    assert_int_equal(f->shards, e->shards);
    assert_int_equal(f->lanes, e->lanes);
    assert_int_equal(f->workers, e->workers);
    assert_int_equal(f->servers_count, e->servers_count);
    assert_int_equal(f->groups_count, e->groups_count);
    for (uint32_t i = 0; i < f->servers_count; i++) {
        assert_int_equal(f->servers[i].region, m->servers[i].region);
        assert_int_equal(f->servers[i].lanes, m->servers[i].lanes);
    }
    for (uint32_t i = 0; i < f->groups_count; i++) {
        assert_int_equal(f->groups[i].region, m->groups[i].region);
        assert_int_equal(f->groups[i].count, m->groups[i].count);
        assert_int_equal(f->groups[i].streams, m->groups[i].streams);
    }
    assert_memory_equal(&f->sync, &e->sync, sizeof(f->sync));
    assert_memory_equal(&f->checkpoint, &e->checkpoint, sizeof(f->checkpoint));
    assert_int_equal(f->evaluate.every, e->evaluate.every);
    assert_int_equal(f->stop.clocks, e->stop.clocks);
}

static void test_random_runs_come_out_as_they_were_said(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct random_run m = {.expected = {0}};
        struct run_file *f;
        char *printed;

        rng_init(&m.rng, seed);
        assert_int_equal(text_init(&m.yaml, 1 << 16), OK);
        text_add(&m.yaml, "run: random\n" MAP "job: {name: lda}\n");
        random_members(&m);
        random_rest(&m);
        f = parse(NULL, m.yaml.chars);
        random_compare(&m, f);
        printed = print(f);
        run_file_free(f);
        f = parse(NULL, printed);
        random_compare(&m, f);
        run_file_free(f);
        mem_free(printed);
        text_deinit(&m.yaml);
    }
}

static void test_spoilt_files_are_answered_with_a_place(void **state)
{
    (void)state;
    testing_spoil(everything, 21, 40);
}

static void test_any_map_can_be_simulated(void **state)
{
    (void)state;
    assert_true(TOPO_RATE_MAX <= SIM_FABRIC_RATE_MAX);
}

static void test_more_than_the_limits_is_refused(void **state)
{
    char *large = test_calloc(1, RUN_FILE_BYTES_MAX + 1);
    struct text yaml;

    (void)state;
    expect_refused(large, RUN_FILE_BYTES_MAX + 1, "r.yaml: larger than 1048576 bytes");
    test_free(large);
    assert_int_equal(text_init(&yaml, 1 << 20), OK);
    text_add(&yaml, "run: x\nservers:\n");
    for (uint32_t i = 0; i <= RUN_SERVERS_MAX; i++) {
        text_add(&yaml, "  - {region: eu}\n");
    }
    expect_refused(yaml.chars, yaml.size,
                   "r.yaml:3:3: servers: has 65 entries: write 1 to 64 of them");
    text_clear(&yaml);
    text_add(&yaml, "run: x\n" MAP "workers: [{region: eu}]\nstop: {clocks: 1}\n"
                    "job: {name: mf}\nservers:\n");
    for (uint32_t i = 0; i < 17; i++) {
        text_add(&yaml, "  - {region: eu, lanes: 16}\n");
    }
    expect_refused(yaml.chars, yaml.size,
                   "r.yaml:9:3: servers: have 272 lanes in all: at most 256 are allowed");
    text_clear(&yaml);
    text_add(&yaml, SHORT "job2: {options: {");
    for (uint32_t i = 0; i < 100; i++) {
        text_addf(&yaml, "k%u: 1,", i);
    }
    expect_refused(yaml.chars, yaml.size, "r.yaml:9:456: more than 64 keys");
    text_clear(&yaml);
    text_add(&yaml, SHORT "faults: [");
    for (uint32_t i = 0; i <= RUN_FAULTS_MAX; i++) {
        text_add(&yaml, "at 1s flip,");
    }
    text_add(&yaml, "]\n");
    expect_refused(yaml.chars, yaml.size, "r.yaml:9:9: faults: are 1025: at most 1024 are allowed");
    text_clear(&yaml);
    text_add(&yaml, "[");
    for (uint32_t i = 0; i < 70000; i++) {
        text_add(&yaml, "a,");
    }
    text_add(&yaml, "]\n");
    expect_refused(yaml.chars, yaml.size, "r.yaml:1:131072: more than 65536 values");
    text_deinit(&yaml);
}

static void test_as_many_options_as_a_job_takes(void **state)
{
    struct text yaml;
    struct run_file *f;

    (void)state;
    assert_int_equal(text_init(&yaml, 1 << 16), OK);
    text_add(&yaml, "run: x\n" MAP "servers: [{region: eu}]\nworkers: [{region: us}]\n"
                    "stop: {clocks: 1}\njob: {name: mf, options: {k0: 1");
    for (uint32_t i = 1; i < APP_OPTIONS_MAX; i++) {
        text_addf(&yaml, ", k%u: 1", i);
    }
    text_add(&yaml, "}}\n");
    f = parse(NULL, yaml.chars);
    assert_int_equal(f->job.options_count, APP_OPTIONS_MAX);
    run_file_free(f);
    yaml.size -= 3;
    text_add(&yaml, ", more: 1}}\n");
    expect_refused(yaml.chars, yaml.size,
                   "r.yaml:8:26: job.options: are 33: at most 32 are allowed");
    text_deinit(&yaml);
}

/* A folder of its own for each test of files. */
struct folder {
    char path[64];
};

static void folder_write(const struct folder *d, const char *name, const char *text)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", d->path, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void folder_remove(const struct folder *d, const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", d->path, name);
    assert_int_equal(remove(path), 0);
}

#define BESIDE(topology)                                                                           \
    "run: demo\n"                                                                                  \
    "topology: " topology "\n"                                                                     \
    "servers: [{region: eu}]\n"                                                                    \
    "workers: [{region: eu}]\n"                                                                    \
    "job: {name: mf, data: ratings.csv}\n"                                                         \
    "stop: {clocks: 10}\n"

static void test_paths_start_at_the_run_file(void **state)
{
    struct folder d = {"/tmp/strait-run-XXXXXX"};
    char path[128], expected[256];
    struct run_file *f = NULL;
    struct err_text why = {""};

    (void)state;
    assert_non_null(mkdtemp(d.path));
    folder_write(&d, "map.json", "{\"strait_topology\": 1, \"regions\": [\"eu\"]}");
    folder_write(&d, "r.yaml", BESIDE("map.json"));
    (void)snprintf(path, sizeof(path), "%s/r.yaml", d.path);
    if (run_file_load(path, &f, &why) != OK) {
        fail_msg("%s", why.text);
    }
    assert_string_equal(f->topology, "map.json");
    (void)snprintf(expected, sizeof(expected), "%s/ratings.csv", d.path);
    assert_string_equal(f->job.data, expected);
    run_file_free(f);
    f = NULL;
    folder_write(&d, "map.json", "{\"strait_topology\": 1,\n \"regions\": [5]}");
    assert_int_equal(run_file_load(path, &f, &why), ERR_MALFORMED);
    (void)snprintf(expected, sizeof(expected),
                   "%s/map.json:2:14: regions[0]: is a number: write a name in quotes, or an "
                   "object {\"name\": ...}",
                   d.path);
    assert_string_equal(why.text, expected);
    folder_remove(&d, "map.json");
    assert_int_equal(run_file_load(path, &f, &why), ERR_NOT_FOUND);
    (void)snprintf(expected, sizeof(expected),
                   "%s:2:11: topology: %s/map.json: No such file or directory", path, d.path);
    assert_string_equal(why.text, expected);
    folder_remove(&d, "r.yaml");
    assert_int_equal(run_file_load(path, &f, &why), ERR_NOT_FOUND);
    (void)snprintf(expected, sizeof(expected), "%s: No such file or directory", path);
    assert_string_equal(why.text, expected);
    assert_int_equal(run_file_load(d.path, &f, &why), ERR_IO);
    assert_null(f);
    assert_int_equal(rmdir(d.path), 0);
}

static void test_a_file_from_nowhere_may_not_name_a_topology(void **state)
{
    static const char yaml[] = BESIDE("map.json");
    char path[4200];
    struct text text;
    struct run_file *f = NULL;
    struct err_text why = {""};

    (void)state;
    expect_refused(
        yaml, strlen(yaml),
        "r.yaml:2:11: topology: names a file, but here the topology has to be in the run "
        "file itself");
    memset(path, 'x', sizeof(path));
    assert_int_equal(text_init(&text, 1 << 16), OK);
    text_add(&text, "topology: ");
    text_add_bytes(&text, path, sizeof(path));
    text_add(&text, "\nrun: demo\nservers: [{region: eu}]\nworkers: [{region: eu}]\n"
                    "job: {name: mf}\nstop: {clocks: 10}\n");
    assert_int_equal(run_file_parse("r.yaml", ".", text.chars, text.size, &f, &why), ERR_TOO_BIG);
    assert_string_equal(why.text, "r.yaml:1:11: topology: the path is too long");
    text_deinit(&text);
}

/* The job takes its options; data that has to be installed first is left out. */
static void expect_job(const struct run_file *f)
{
    const struct app_config config = {.job = f->job.name,
                                      .workers = f->workers,
                                      .seed = f->seed,
                                      .option_count = f->job.options_count,
                                      .options = f->job.options};
    struct err_text why = {""};
    struct app *app = NULL;

    if (app_create(&config, &app, &why) != OK) {
        fail_msg("%s: %s", f->name, why.text);
    }
    app_destroy(app);
}

static void test_the_runs_of_this_repository_are_good(void **state)
{
    glob_t found;

    (void)state;
    assert_int_equal(glob("runs/*.yaml", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 5);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct run_file *f = NULL, *again;
        struct err_text why = {""};
        char *printed;

        if (run_file_load(found.gl_pathv[i], &f, &why) != OK) {
            fail_msg("%s", why.text);
        }
        assert_non_null(strstr(found.gl_pathv[i], f->name));
        expect_job(f);
        printed = print(f);
        again = parse(NULL, printed);
        assert_true(topo_equal(f->topo, again->topo));
        mem_free(printed);
        run_file_free(again);
        run_file_free(f);
    }
    globfree(&found);
}

static void test_memory_may_run_out_anywhere(void **state)
{
    uint64_t failed = 0;

    (void)state;
    for (uint64_t k = 1;; k++) {
        struct run_file *f = NULL;
        struct err_text why = {""};
        enum err rc;

        mem_fail_at(k, 1);
        rc = run_file_parse("r.yaml", "runs", everything, strlen(everything), &f, &why);
        mem_fail_at(0, 0);
        if (rc == OK) {
            run_file_free(f);
            break;
        }
        failed++;
        assert_int_equal(rc, ERR_NOMEM);
        assert_null(f);
        assert_string_equal(why.text, "r.yaml: out of memory");
    }
    assert_true(failed > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_is_read),
        cmocka_unit_test(test_members_and_texts_keep_their_lines),
        cmocka_unit_test(test_defaults_are_filled_in),
        cmocka_unit_test(test_faults_may_name_all_there_is),
        cmocka_unit_test(test_what_is_printed_is_complete),
        cmocka_unit_test(test_what_is_printed_is_read_the_same),
        cmocka_unit_test(test_random_runs_come_out_as_they_were_said),
        cmocka_unit_test(test_spoilt_files_are_answered_with_a_place),
        cmocka_unit_test(test_any_map_can_be_simulated),
        cmocka_unit_test(test_more_than_the_limits_is_refused),
        cmocka_unit_test(test_as_many_options_as_a_job_takes),
        cmocka_unit_test(test_paths_start_at_the_run_file),
        cmocka_unit_test(test_a_file_from_nowhere_may_not_name_a_topology),
        cmocka_unit_test(test_the_runs_of_this_repository_are_good),
        cmocka_unit_test(test_memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
