/* Moving data to one region first: times and dollars, computed by hand. */

#include "run/cost/move.h"

#include "run/backend.h"
#include "run/cost/cost.h"
#include "run/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Eight workers: 4 in eu, 3 in us, 1 in ap. 80 GB: 40, 30 and 10 of them. */
#define MAP(small)                                                                                 \
    "run: r\n"                                                                                     \
    "topology:\n"                                                                                  \
    "  regions:\n"                                                                                 \
    "    - {name: eu, usd_per_hour: {cpu: 1" small "}}\n"                                          \
    "    - {name: us, usd_per_hour: {cpu: 2" small "}}\n"                                          \
    "    - {name: ap, usd_per_hour: {cpu: 3" small "}}\n"                                          \
    "  links:\n"                                                                                   \
    "    - {from: us, to: eu, rate: 10MB/s, delay: 40ms, price: 0.02}\n"                           \
    "    - {from: ap, to: eu, rate: 5MB/s, delay: 90ms, price: 0.1}\n"                             \
    "  default_link: {rate: 1MB/s, delay: 100ms, price: 0.09}\n"
#define SITES                                                                                      \
    "sites: [{region: eu, workers: 4}, {region: us, workers: 3}, {region: ap}]\n"                  \
    "stop: {clocks: 10}\n"
#define CENTRAL SITES "job: {name: mf, data_gb: 80}\nlayout: centralised\n"

static void test_each_site_sends_its_part_and_all_at_once(void **state)
{
    struct run_file *f = testing_parse(MAP(", small: 0.5") CENTRAL "lan_region: eu\n");
    struct run_move m;

    (void)state;
    run_move_of(f, &m);
    assert_true(m.moves);
    assert_int_equal(m.to, 0);
    assert_int_equal(m.parts_count, 2);
    assert_int_equal(m.parts[0].bytes, UINT64_C(30000000000));
    assert_int_equal(m.parts[1].bytes, UINT64_C(10000000000));
    assert_int_equal(m.bytes, UINT64_C(40000000000));
    assert_int_equal(m.parts[0].took_ns, INT64_C(3000040000000)); /* 30 GB at 10 MB/s, and 40 ms */
    assert_int_equal(m.parts[1].took_ns, INT64_C(2000090000000));
    assert_int_equal(m.took_ns, INT64_C(3000040000000));
    assert_string_equal(m.class, "small");
    run_file_free(f);
}

/* 30 GB at 2 cents and 10 at 10; small machines: 3000.04 s here and there, 2000.09 s in ap. */
static void test_traffic_and_machines_at_both_ends_are_paid(void **state)
{
    struct run_file *f = testing_parse(MAP(", small: 0.36") CENTRAL "lan_region: eu\n");
    uint64_t machines = 0, transfer = 0;
    struct run_move m;

    (void)state;
    run_move_of(f, &m);
    assert_true(run_move_cost(f, &m, &machines, &transfer));
    assert_int_equal(transfer, UINT64_C(1600000000));
    assert_int_equal(machines, UINT64_C(300004000) * 2 + 200009000);
    run_file_free(f);
}

static void test_without_small_machines_those_of_the_run_move(void **state)
{
    struct run_file *f = testing_parse(MAP("") CENTRAL "lan_region: eu\n");
    uint64_t machines = 0, transfer = 0;
    struct run_move m;

    (void)state;
    run_move_of(f, &m);
    assert_string_equal(m.class, "cpu");
    assert_true(run_move_cost(f, &m, &machines, &transfer));
    assert_int_equal(machines, UINT64_C(833344444) + 1666688889 + 1666741667);
    run_file_free(f);
}

/* Ten machines in each region, on a tenth of the links: as long, and ten times the machines. */
static void test_rates_are_those_of_the_run_and_bytes_at_full_size(void **state)
{
    struct run_file *f = testing_parse(MAP(", small: 0.36") CENTRAL
                                       "lan_region: eu\nlinks: {scale: 1/10, machines: 10}\n");
    uint64_t machines = 0, transfer = 0;
    struct run_move m;

    (void)state;
    run_move_of(f, &m);
    assert_int_equal(m.bytes, UINT64_C(40000000000));
    assert_int_equal(m.took_ns, INT64_C(300040000000)); /* Ten machines: a tenth of the time. */
    assert_true(run_move_cost(f, &m, &machines, &transfer));
    assert_int_equal(transfer, UINT64_C(1600000000));
    assert_int_equal(machines, UINT64_C(300040000) * 2 + UINT64_C(200090000));
    run_file_free(f);
}

/* To eu: 1.60 of traffic. To us: 50 GB at 9 cents. To ap: 70. */
static void test_the_cheapest_region_is_the_default(void **state)
{
    struct run_file *f = testing_parse(MAP(", small: 0.5") CENTRAL);

    (void)state;
    assert_string_equal(f->lan_region, "eu");
    assert_int_equal(f->sites_count, 1);
    assert_string_equal(f->sites[0].region_name, "eu");
    run_file_free(f);
    f = testing_parse(MAP(", small: 0.5") "sites: [{region: ap}, {region: us}]\nstop: {clocks: 1}\n"
                                          "job: {name: mf, data_gb: 1}\nlayout: centralised\n");
    assert_string_equal(f->lan_region, "us"); /* As dear there and back: cheaper machines. */
    run_file_free(f);
}

static void test_without_prices_the_fastest_way_is_the_default(void **state)
{
    struct run_file *f =
        testing_parse("run: r\ntopology:\n  regions: [eu, us, ap]\n"
                      "  links: [{from: us, to: ap, rate: 9MB/s, delay: 1ms, price: 9},\n"
                      "          {from: eu, to: ap, rate: 9MB/s, delay: 1ms}]\n"
                      "  default_link: {rate: 1MB/s, delay: 1ms, price: 0}\n" CENTRAL);
    uint64_t machines, transfer;
    struct run_move m;

    (void)state;
    assert_string_equal(f->lan_region, "ap");
    run_move_of(f, &m);
    assert_false(run_move_cost(f, &m, &machines, &transfer));
    run_file_free(f);
}

static void test_other_layouts_move_nothing(void **state)
{
    static const char *const layouts[] = {"sites", "plain", "lan"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char yaml[2048];
        struct run_traffic t;
        struct run_file *f;
        struct run_move m;

        (void)snprintf(yaml, sizeof(yaml), "%slayout: %s\n",
                       MAP("") SITES "job: {name: mf, data_gb: 80}\n", layouts[i]);
        f = testing_parse(yaml);
        run_move_of(f, &m);
        assert_false(m.moves);
        assert_int_equal(m.took_ns, 0);
        assert_int_equal(run_traffic_init(&t, 3), OK);
        run_traffic_complete(&t, f);
        assert_int_equal(run_traffic_total(&t), 0);
        run_traffic_deinit(&t);
        run_file_free(f);
    }
}

static void test_what_was_moved_counts_as_traffic_at_full_size(void **state)
{
    struct run_file *f = testing_parse(MAP("") CENTRAL "lan_region: eu\nlinks: {scale: 0.01}\n");
    struct run_traffic t;

    (void)state;
    assert_int_equal(run_traffic_init(&t, 3), OK);
    t.bytes[1] = 7;
    t.bytes[3] = 5;
    run_traffic_complete(&t, f);
    assert_int_equal(t.bytes[1], 700);
    assert_int_equal(t.bytes[3], UINT64_C(30000000500));
    assert_int_equal(t.bytes[6], UINT64_C(10000000000));
    run_traffic_deinit(&t);
    run_file_free(f);
}

static void test_what_is_missing_is_refused_with_what_to_do(void **state)
{
    static const struct {
        const char *yaml, *why;
    } cases[] = {
        {MAP("") SITES "job: {name: mf}\nlayout: centralised\n",
         "r:14:9: layout: 'centralised' moves the data first, and nobody says how much that is: "
         "write job: {data_gb: 100}, the gigabytes of all workers' data together"},
        {MAP("") SITES "job: {name: mf, data_gb: 0}\n",
         "r:13:26: job.data_gb: 0 is out of range: write a number from 1e-06 to 1e+09"},
        {"run: r\ntopology:\n  regions: [eu, us, ap]\n"
         "  links: [{between: [eu, us], rate: 1mbit, delay: 1ms}]\n"
         "sites: [{region: eu}, {region: us}]\nstop: {clocks: 1}\n"
         "job: {name: mf, data_gb: 1}\nlayout: centralised\nlan_region: ap\n",
         "r:9:13: lan_region: the topology has no link from eu to ap: add it, or choose another "
         "region"},
        {"run: r\ntopology:\n  regions: [{name: eu, usd_per_hour: 1}, {name: us, usd_per_hour: "
         "1}]\n"
         "  links: [{between: [eu, us], rate: 1mbit, delay: 1ms}]\n"
         "sites: [{region: eu}, {region: us}]\nstop: {clocks: 1}\n"
         "job: {name: mf, data_gb: 1}\nlayout: centralised\nmachine: cpu\n",
         "r:9:10: machine: needs prices, and the link from eu to us has none: add a price (dollars "
         "per gigabyte, 0 if it is free) to it"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct run_file *f = NULL;
        struct err_text why = {""};

        assert_int_equal(run_file_parse("r", NULL, cases[i].yaml, strlen(cases[i].yaml), &f, &why),
                         ERR_MALFORMED);
        assert_string_equal(why.text, cases[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_site_sends_its_part_and_all_at_once),
        cmocka_unit_test(test_traffic_and_machines_at_both_ends_are_paid),
        cmocka_unit_test(test_without_small_machines_those_of_the_run_move),
        cmocka_unit_test(test_rates_are_those_of_the_run_and_bytes_at_full_size),
        cmocka_unit_test(test_the_cheapest_region_is_the_default),
        cmocka_unit_test(test_without_prices_the_fastest_way_is_the_default),
        cmocka_unit_test(test_other_layouts_move_nothing),
        cmocka_unit_test(test_what_was_moved_counts_as_traffic_at_full_size),
        cmocka_unit_test(test_what_is_missing_is_refused_with_what_to_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
