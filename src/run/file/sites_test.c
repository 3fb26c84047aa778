/* Run files with several sites: every key, both forms of members, layouts, printing as reading
 * backwards. The wrong ones are in file/wrong_test.c. */

#include "run/file/file.h"
#include "run/testing.h"

#include "base/mem.h"
#include "base/rng.h"
#include "sync/mirror.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAP                                                                                        \
    "topology:\n"                                                                                  \
    "  regions: [{name: eu, usd_per_hour: {cpu: 1, gpu: 3}}, {name: us, usd_per_hour: 2},\n"       \
    "            {name: ap, usd_per_hour: {gpu: 4, cpu: 1.5}}]\n"                                  \
    "  default_link: {rate: 100mbit, delay: 40ms, price: 0.02}\n"
#define REST                                                                                       \
    "job: {name: mf}\n"                                                                            \
    "stop: {clocks: 10}\n"

static const char everything[] =
    "run: all-keys\n" MAP "shards: 8\n"
    "sites:\n"
    "  - {name: home, region: eu, servers: 2, lanes: 2, workers: 3, streams: 4, slowdown: 1.5}\n"
    "  - name: far\n"
    "    region: ap\n"
    "    lanes: 3\n"
    "    slowdown: 2\n"
    "    servers: [{name: one}, {lanes: 1}]\n"
    "    workers:\n"
    "      - {count: 2, streams: 3}\n"
    "      - {slowdown: 0.5}\n"
    "  - {region: us, servers: 4}\n"
    "between:\n"
    "  preset: gaia\n"
    "  significance: product a b\n"
    "  grain: element\n"
    "  threshold: 0.3%\n"
    "  goal: cost\n"
    "  staleness: 0\n"
    "  barrier: false\n"
    "  fresh: 2.5%\n"
    "  weight: sum\n"
    "  streams: 2\n"
    "  away: 1.5min\n"
    "  leave_out: any\n"
    "  groups:\n"
    "    - {name: a, sites: [us, home], hubs: {b: [home, us]}}\n"
    "    - {name: b, sites: [far]}\n"
    "layout: sites\n"
    "lan_region: us\n"
    "machine: gpu\n"
    "budget: {max_usd: 5, max_gb: 20.5}\n" REST "faults: [at 3s kill site far for 1s]\n";

static void test_sites_have_their_members_one_after_the_other(void **state)
{
    struct run_file *f = testing_parse(everything);

    (void)state;
    assert_int_equal(f->sites_count, 3);
    assert_ptr_equal(f->sites, f->parts);
    assert_int_equal(f->servers_count, 8);
    assert_int_equal(f->groups_count, 4);
    assert_int_equal(f->workers, 7);
    assert_int_equal(f->lanes, 4);
    assert_int_equal(f->shards, 8);
    assert_string_equal(f->sites[1].name, "far");
    assert_string_equal(f->sites[1].region_name, "ap");
    assert_int_equal(f->sites[1].region, 2);
    assert_int_equal(f->sites[1].line, 9);
    assert_int_equal(f->sites[1].servers_first, 2);
    assert_int_equal(f->sites[1].servers_count, 2);
    assert_int_equal(f->sites[1].groups_first, 1);
    assert_int_equal(f->sites[1].groups_count, 2);
    assert_int_equal(f->sites[1].workers_first, 3);
    assert_int_equal(f->sites[1].workers, 3);
    assert_int_equal(f->sites[1].lanes, 4);
    assert_string_equal(f->sites[2].name, "us"); /* As its region. */
    assert_int_equal(f->sites[2].workers, 1);
    assert_int_equal(f->sites[2].workers_first, 6);
    for (uint32_t i = 0; i < 7; i++) {
        assert_ptr_equal(run_worker_site(f, i), &f->sites[i < 3 ? 0 : i < 6 ? 1 : 2]);
    }
    run_file_free(f);
}

static void test_members_have_what_their_site_says_unless_they_say_it(void **state)
{
    static const struct run_server servers[] = {
        {"home-s0", "eu", 0, 2, NULL, NULL, 8}, {"home-s1", "eu", 0, 2, NULL, NULL, 8},
        {"one", "ap", 2, 3, NULL, NULL, 13},    {"far-s1", "ap", 2, 1, NULL, NULL, 13},
        {"us-s0", "us", 1, 1, NULL, NULL, 17},  {"us-s1", "us", 1, 1, NULL, NULL, 17},
    };
    static const struct run_group groups[] = {{"eu", 0, 3, 4, 1.5, NULL, NULL, 8},
                                              {"ap", 2, 2, 3, 2, NULL, NULL, 15},
                                              {"ap", 2, 1, 1, 0.5, NULL, NULL, 16},
                                              {"us", 1, 1, 1, 1, NULL, NULL, 17}};
    struct run_file *f = testing_parse(everything);

    (void)state;
    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        assert_string_equal(f->servers[i].name, servers[i].name);
        assert_string_equal(f->servers[i].region_name, servers[i].region_name);
        assert_int_equal(f->servers[i].region, servers[i].region);
        assert_int_equal(f->servers[i].lanes, servers[i].lanes);
        assert_int_equal(f->servers[i].line, servers[i].line);
    }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        assert_string_equal(f->groups[i].region_name, groups[i].region_name);
        assert_int_equal(f->groups[i].region, groups[i].region);
        assert_int_equal(f->groups[i].count, groups[i].count);
        assert_int_equal(f->groups[i].streams, groups[i].streams);
        assert_true(f->groups[i].slowdown == groups[i].slowdown);
        assert_int_equal(f->groups[i].line, groups[i].line);
    }
    run_file_free(f);
}

static void test_how_they_share_is_read(void **state)
{
    struct run_file *f = testing_parse(everything);
    const struct run_between *b = &f->between;

    (void)state;
    assert_int_equal(b->filter.measure, CODEC_PRODUCT);
    assert_int_equal(b->filter.grain, CODEC_ELEMENT);
    assert_true(b->threshold == 0.003);
    assert_int_equal(b->goal, ASP_COST);
    assert_int_equal(b->staleness, 0);
    assert_false(b->barrier);
    assert_true(b->fresh == 0.025);
    assert_int_equal(b->weight, RUN_SUM);
    assert_int_equal(b->streams, 2);
    assert_int_equal(b->away_ns, INT64_C(90000000000));
    assert_int_equal(b->leave_out, RUN_ANY);
    assert_int_equal(b->circles_count, 2);
    assert_string_equal(b->circles[0].name, "a");
    assert_int_equal(b->circles[0].sites_count, 2);
    assert_int_equal(b->circles[0].hubs_count, 1);
    assert_int_equal(b->circles[0].hubs[0].to, 1);
    assert_int_equal(b->circles[0].hubs[0].count, 2);
    assert_int_equal(b->circles[0].hubs[0].sites[0], 0);
    assert_int_equal(b->circles[0].hubs[0].sites[1], 2);
    assert_int_equal(b->circles[1].hubs_count, 0);
    assert_int_equal(f->sites[0].circle, 0);
    assert_int_equal(f->sites[1].circle, 1);
    assert_int_equal(f->sites[2].circle, 0);
    assert_int_equal(f->layout, RUN_SITES);
    assert_string_equal(f->lan_region, "us");
    assert_true(f->machine_said);
    assert_string_equal(f->machine, "gpu");
    assert_true(f->budget.max_usd == 5 && f->budget.max_gb == 20.5);
    run_file_free(f);
}

#define TWO "run: x\n" MAP "sites: [{region: eu}, {region: us}]\n" REST

static void test_defaults_are_gaias(void **state)
{
    struct run_file *f = testing_parse(TWO);

    (void)state;
    assert_int_equal(f->between.preset, RUN_GAIA);
    assert_int_equal(f->between.filter.measure, CODEC_RELATIVE);
    assert_true(f->between.threshold == 0.01);
    assert_int_equal(f->between.goal, ASP_SPEED);
    assert_int_equal(f->between.staleness, 4);
    assert_true(f->between.barrier);
    assert_true(f->between.fresh == 0.1);
    assert_int_equal(f->between.weight, RUN_MEAN);
    assert_int_equal(f->between.streams, 4);
    assert_int_equal(f->between.away_ns, INT64_C(30000000000));
    assert_int_equal(f->between.leave_out, RUN_MAJORITY);
    assert_int_equal(f->between.circles_count, 0);
    assert_int_equal(f->layout, RUN_SITES);
    assert_string_equal(f->lan_region, "eu");
    assert_false(f->machine_said);
    assert_string_equal(f->machine, "cpu");
    assert_true(f->budget.max_usd == 0 && f->budget.max_gb == 0);
    run_file_free(f);
}

static void test_async_waits_for_nobody_unless_it_is_said(void **state)
{
    struct run_file *f = testing_parse(TWO "between: {preset: async}\n");

    (void)state;
    assert_true(f->between.staleness == MIRROR_UNBOUNDED);
    assert_false(f->between.barrier);
    assert_true(f->between.fresh == 0);
    run_file_free(f);
    f = testing_parse(TWO "between: {preset: async, staleness: 7, barrier: true}\n");
    assert_int_equal(f->between.staleness, 7);
    assert_true(f->between.barrier);
    run_file_free(f);
    f = testing_parse(TWO "between: {staleness: none}\n");
    assert_true(f->between.staleness == MIRROR_UNBOUNDED);
    assert_true(f->between.barrier);
    run_file_free(f);
}

static void test_a_file_without_sites_is_one_site(void **state)
{
    struct run_file *f = testing_parse("run: alone\n" MAP "servers: [{region: eu}, {region: us}]\n"
                                       "workers: [{region: us, count: 3}, {region: ap}]\n" REST);

    (void)state;
    assert_int_equal(f->parts_count, 0);
    assert_int_equal(f->sites_count, 1);
    assert_string_equal(f->sites[0].name, "alone");
    assert_null(f->sites[0].region_name);
    assert_int_equal(f->sites[0].servers_count, 2);
    assert_int_equal(f->sites[0].groups_count, 2);
    assert_int_equal(f->sites[0].workers, 4);
    assert_int_equal(f->sites[0].lanes, 2);
    run_file_free(f);
}

static void test_a_layout_makes_one_site_of_all(void **state)
{
    static const char *const yamls[] = {TWO "layout: plain\nshards: 1\n", TWO "layout: lan\n",
                                        TWO "layout: lan\nlan_region: ap\nshards: 5\n"};
    static const uint32_t regions[][2] = {{0, 1}, {0, 0}, {2, 2}};
    static const uint32_t shards[] = {2, 2, 5};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct run_file *f = testing_parse(yamls[i]);

        assert_int_equal(f->parts_count, 2);
        assert_int_equal(f->sites_count, 1);
        assert_string_equal(f->sites[0].name, "x");
        assert_int_equal(f->sites[0].workers, 2);
        assert_int_equal(f->sites[0].servers_count, 2);
        assert_int_equal(f->lanes, 2);
        assert_int_equal(f->shards, shards[i]);
        for (uint32_t k = 0; k < 2; k++) {
            assert_int_equal(f->servers[k].region, regions[i][k]);
            assert_int_equal(f->groups[k].region, regions[i][k]);
            assert_string_equal(f->servers[k].region_name,
                                topo_region_at(f->topo, regions[i][k])->name);
        }
        assert_ptr_equal(run_worker_site(f, 1), &f->sites[0]);
        run_file_free(f);
    }
}

static void test_the_only_class_of_machines_is_the_default(void **state)
{
    static const struct {
        const char *eu, *us, *class;
    } cases[] = {
        {"{gpu: 3}", "{gpu: 2}", "gpu"},
        {"{gpu: 3}", "{cpu: 2}", "cpu"},
        {"{gpu: 3, small: 1}", "{gpu: 2}", "cpu"},
        {"1", "{gpu: 2}", "cpu"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char yaml[1024];
        struct run_file *f;

        (void)snprintf(yaml, sizeof(yaml),
                       "run: x\ntopology:\n"
                       "  regions: [{name: eu, usd_per_hour: %s}, {name: us, usd_per_hour: %s}]\n"
                       "  default_link: {rate: 100mbit, delay: 40ms}\n"
                       "sites: [{region: eu}, {region: us}]\n" REST,
                       cases[i].eu, cases[i].us);
        f = testing_parse(yaml);
        assert_string_equal(f->machine, cases[i].class);
        assert_false(f->machine_said);
        run_file_free(f);
    }
}

static void test_faults_may_hit_all_of_a_site(void **state)
{
    struct run_file *f = testing_parse(everything);
    struct run_fault_site hit;

    (void)state;
    assert_true(run_fault_site(f, f->faults[0].chars, &hit));
    assert_ptr_equal(hit.site, &f->parts[1]);
    assert_int_equal(hit.head, strlen("at 3s kill "));
    assert_string_equal(hit.rest, " for 1s");
    assert_false(run_fault_site(f, "at 3s kill one for 1s", &hit));
    assert_false(run_fault_site(f, "at 3s kill site nowhere for 1s", &hit));
    assert_false(run_fault_site(f, "storm from 1s to 2s every 1s", &hit));
    run_file_free(f);
    /* Whose server has that name. */
    f = testing_parse("run: x\n" MAP "sites: [{region: eu, servers: [{name: site}]}]\n" REST
                      "faults: [at 3s kill site for 1s]\n");
    assert_false(run_fault_site(f, f->faults[0].chars, &hit));
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
    struct run_file *f = testing_parse(everything);
    char *printed = print(f);

    (void)state;
    assert_non_null(strstr(printed, "shards: 8\n"
                                    "sites:\n"
                                    "  - name: home\n"
                                    "    region: eu\n"
                                    "    servers:\n"
                                    "      - {name: home-s0, lanes: 2}\n"
                                    "      - {name: home-s1, lanes: 2}\n"
                                    "    workers:\n"
                                    "      - {count: 3, streams: 4, slowdown: 1.5}\n"
                                    "  - name: far\n"
                                    "    region: ap\n"
                                    "    servers:\n"
                                    "      - {name: one, lanes: 3}\n"
                                    "      - {name: far-s1, lanes: 1}\n"
                                    "    workers:\n"
                                    "      - {count: 2, streams: 3, slowdown: 2}\n"
                                    "      - {count: 1, streams: 1, slowdown: 0.5}\n"
                                    "  - name: us\n"));
    assert_non_null(strstr(printed, "between:\n"
                                    "  preset: gaia\n"
                                    "  significance: \"product a b\"\n"
                                    "  grain: element\n"
                                    "  threshold: 0.003\n"
                                    "  goal: cost\n"
                                    "  staleness: 0\n"
                                    "  barrier: false\n"
                                    "  fresh: 0.025\n"
                                    "  weight: sum\n"
                                    "  streams: 2\n"
                                    "  away: 90s\n"
                                    "  leave_out: any\n"
                                    "  groups:\n"
                                    "    - name: a\n"
                                    "      sites: [us, home]\n"
                                    "      hubs: {b: [home, us]}\n"
                                    "    - name: b\n"
                                    "      sites: [far]\n"
                                    "      hubs: {}\n"
                                    "layout: sites\n"
                                    "lan_region: us\n"
                                    "budget: {max_usd: 5, max_gb: 20.5}\n"
                                    "machine: gpu\n"
                                    "job:\n"));
    mem_free(printed);
    run_file_free(f);
}

static void test_what_is_printed_is_read_the_same(void **state)
{
    static const char *const texts[] = {
        everything,
        TWO,
        TWO "layout: plain\nbetween: {preset: async, threshold: 0, significance: row-norm}\n",
        TWO "layout: lan\nlan_region: ap\nbudget: {max_gb: 0.5}\n",
        TWO "between: {preset: async, barrier: true, away: 0}\nbudget: {max_usd: 1e-6}\n",
        "run: x\n" MAP "sites: [{name: '-', region: eu}, {name: '7', region: us}]\n" REST
        "between: {groups: [{name: '_', sites: ['-']},\n"
        "                   {name: '-.', sites: ['7'], hubs: {'_': '7'}}]}\n",
        "run: x\n" MAP "servers: [{region: eu}]\nworkers: [{region: us}]\nmachine: cpu\n" REST,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct run_file *f = testing_parse(texts[i]);
        char *first = print(f), *second;
        struct run_file *again = testing_parse(first);

        second = print(again);
        assert_string_equal(first, second);
        assert_int_equal(f->sites_count, again->sites_count);
        assert_int_equal(f->parts_count, again->parts_count);
        assert_int_equal(f->shards, again->shards);
        assert_int_equal(f->machine_said, again->machine_said);
        assert_true(codec_filter_equal(&f->between.filter, &again->between.filter));
        assert_true(f->between.staleness == again->between.staleness);
        mem_free(first);
        mem_free(second);
        run_file_free(f);
        run_file_free(again);
    }
}

static void test_spoilt_files_are_answered_with_a_place(void **state)
{
    (void)state;
    testing_spoil(everything, 22, 50);
}

static void test_memory_may_run_out(void **state)
{
    enum err rc = ERR_NOMEM;
    uint64_t k;

    (void)state;
    for (k = 1; rc != OK; k++) {
        struct run_file *f = NULL;
        struct err_text why = {""};

        mem_fail_at(k, 1);
        rc = run_file_parse("r.yaml", NULL, everything, strlen(everything), &f, &why);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        assert_true((rc == OK) == (f != NULL));
        if (rc != OK) {
            assert_string_equal(why.text, "r.yaml: out of memory");
        }
        run_file_free(f);
    }
    assert_true(k > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sites_have_their_members_one_after_the_other),
        cmocka_unit_test(test_members_have_what_their_site_says_unless_they_say_it),
        cmocka_unit_test(test_how_they_share_is_read),
        cmocka_unit_test(test_defaults_are_gaias),
        cmocka_unit_test(test_async_waits_for_nobody_unless_it_is_said),
        cmocka_unit_test(test_a_file_without_sites_is_one_site),
        cmocka_unit_test(test_a_layout_makes_one_site_of_all),
        cmocka_unit_test(test_the_only_class_of_machines_is_the_default),
        cmocka_unit_test(test_faults_may_hit_all_of_a_site),
        cmocka_unit_test(test_what_is_printed_is_complete),
        cmocka_unit_test(test_what_is_printed_is_read_the_same),
        cmocka_unit_test(test_spoilt_files_are_answered_with_a_place),
        cmocka_unit_test(test_memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
