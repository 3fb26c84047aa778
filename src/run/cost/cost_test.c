/* Costs by hand, parts that add up, prices that are not there, and figures that are too large. */

#include "run/cost/cost.h"

#include "base/mem.h"
#include "base/rng.h"
#include "topo/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)
#define HOUR (3600 * SECOND)
#define GB UINT64_C(1000000000)

/* Frankfurt, Virginia and Singapore; what leaves Singapore is dearer. */
static const char json[] =
    "{\"strait_topology\": 1,\n"
    "\"regions\": [{\"name\": \"eu\", \"usd_per_hour\": {\"cpu\": 0.9, \"gpu\": 3}},\n"
    "  {\"name\": \"us\", \"usd_per_hour\": {\"cpu\": 0.8}}, {\"name\": \"ap\", \"usd_per_hour\": "
    "1},\n"
    "  \"moon\"],\n"
    "\"links\": [{\"between\": [\"eu\", \"us\"], \"rate\": \"1gbit\", \"rtt\": \"90ms\", "
    "\"price\": 0.02},\n"
    "  {\"from\": \"ap\", \"to\": \"eu\", \"rate\": \"1gbit\", \"rtt\": \"155ms\", \"price\": "
    "0.09},\n"
    "  {\"from\": \"ap\", \"to\": \"us\", \"rate\": \"1gbit\", \"rtt\": \"155ms\", \"price\": 0},\n"
    "  {\"from\": \"eu\", \"to\": \"ap\", \"rate\": \"1gbit\", \"rtt\": \"155ms\"}]}";

enum { EU, US, AP, MOON, REGIONS };

struct fixture {
    struct topo *topo;
    struct run_traffic traffic;
    struct run_cost_member members[8];
    struct run_cost_config config;
    struct run_cost *cost;
    struct err_text text;
};

static void open_with(struct fixture *f, const char *topology)
{
    *f = (struct fixture){.cost = NULL};
    if (topo_file_parse("map.json", topology, strlen(topology), &f->topo, &f->text) != OK) {
        fail_msg("%s", f->text.text);
    }
    assert_int_equal(run_traffic_init(&f->traffic, topo_regions(f->topo)), OK);
    f->config = (struct run_cost_config){.topo = f->topo,
                                         .file = "map.json",
                                         .class = "cpu",
                                         .members = f->members,
                                         .traffic = &f->traffic};
}

static void close_all(struct fixture *f)
{
    run_cost_destroy(f->cost);
    f->cost = NULL;
    run_traffic_deinit(&f->traffic);
    topo_destroy(f->topo);
}

static void member(struct fixture *f, uint32_t region, int64_t compute_ns, int64_t wait_ns)
{
    f->members[f->config.members_count++] =
        (struct run_cost_member){.region = region, .compute_ns = compute_ns, .wait_ns = wait_ns};
}

static void bytes(struct fixture *f, uint32_t from, uint32_t to, uint64_t count)
{
    f->traffic.bytes[from * f->traffic.regions + to] = count;
}

static void create(struct fixture *f)
{
    run_cost_destroy(f->cost);
    f->cost = NULL;
    if (run_cost_create(&f->config, &f->cost, &f->text) != OK) {
        fail_msg("%s", f->text.text);
    }
}

static void refused(struct fixture *f, enum err rc, const char *complaint)
{
    struct run_cost *none = NULL;

    assert_int_equal(run_cost_create(&f->config, &none, &f->text), rc);
    assert_null(none);
    assert_string_equal(f->text.text, complaint);
}

static void test_a_run_costs_machines_waiting_and_traffic(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, json);
    member(&f, EU, HOUR / 2, HOUR / 4);
    member(&f, EU, HOUR / 2, HOUR / 4);
    member(&f, US, HOUR, 0);
    member(&f, AP, 2 * HOUR, HOUR / 10);
    bytes(&f, EU, US, 5 * GB);
    bytes(&f, US, EU, 2 * GB);
    bytes(&f, AP, EU, GB / 2);
    bytes(&f, AP, US, 100 * GB); /* Free, and known to be. */
    create(&f);
    /* By hand: 0.90 + 0.80 + 2.00; 0.45 + 0.00 + 0.10; 0.10 + 0.04 + 0.045. */
    assert_int_equal(run_cost_region(f.cost, EU)->compute_nusd, 900000000);
    assert_int_equal(run_cost_region(f.cost, EU)->wait_nusd, 450000000);
    assert_int_equal(run_cost_region(f.cost, EU)->transfer_nusd, 100000000);
    assert_int_equal(run_cost_region(f.cost, US)->compute_nusd, 800000000);
    assert_int_equal(run_cost_region(f.cost, US)->wait_nusd, 0);
    assert_int_equal(run_cost_region(f.cost, US)->transfer_nusd, 40000000);
    assert_int_equal(run_cost_region(f.cost, AP)->compute_nusd, 2000000000);
    assert_int_equal(run_cost_region(f.cost, AP)->wait_nusd, 100000000);
    assert_int_equal(run_cost_region(f.cost, AP)->transfer_nusd, 45000000);
    assert_int_equal(run_cost_region(f.cost, MOON)->compute_nusd, 0);
    assert_int_equal(run_cost_link(f.cost, EU, US), 100000000);
    assert_int_equal(run_cost_link(f.cost, US, EU), 40000000);
    assert_int_equal(run_cost_link(f.cost, AP, US), 0);
    assert_int_equal(run_cost_parts(f.cost)->compute_nusd, 3700000000);
    assert_int_equal(run_cost_parts(f.cost)->wait_nusd, 550000000);
    assert_int_equal(run_cost_parts(f.cost)->transfer_nusd, 185000000);
    assert_int_equal(run_cost_total(f.cost), 4435000000);
    close_all(&f);
}

static void test_the_class_decides_the_price(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, json);
    member(&f, EU, HOUR, 0);
    member(&f, AP, HOUR, 0);
    f.config.class = "gpu";
    create(&f);
    assert_int_equal(run_cost_region(f.cost, EU)->compute_nusd, 3 * GB);
    assert_int_equal(run_cost_region(f.cost, AP)->compute_nusd, GB);
    close_all(&f);
}

static void test_traffic_inside_a_region_is_free(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, json);
    bytes(&f, EU, EU, UINT64_MAX);
    bytes(&f, MOON, MOON, 1);
    create(&f);
    assert_int_equal(run_cost_link(f.cost, EU, EU), 0);
    assert_int_equal(run_cost_total(f.cost), 0);
    close_all(&f);
}

/* 0.9 dollars an hour are one billionth in 4,000 ns; 0.02 a gigabyte are one in 50 bytes. */
static void test_halves_are_rounded_up_once_per_region_and_link(void **state)
{
    static const struct {
        int64_t ns;
        uint64_t nusd;
    } cases[] = {{0, 0}, {1999, 0}, {2000, 1}, {5999, 1}, {6000, 2}};
    struct fixture f;

    (void)state;
    open_with(&f, json);
    member(&f, EU, 0, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        f.members[0].compute_ns = cases[i].ns;
        create(&f);
        assert_int_equal(run_cost_total(f.cost), cases[i].nusd);
    }
    /* Four machines, each of which would be rounded to nothing. */
    f.members[0].compute_ns = 1999;
    for (uint32_t i = 0; i < 3; i++) {
        member(&f, EU, 1999, 1999);
    }
    bytes(&f, EU, US, 24);
    bytes(&f, US, EU, 25);
    create(&f);
    assert_int_equal(run_cost_parts(f.cost)->compute_nusd, 2); /* 7,996 ns */
    assert_int_equal(run_cost_parts(f.cost)->wait_nusd, 1);    /* 5,997 ns */
    assert_int_equal(run_cost_link(f.cost, EU, US), 0);
    assert_int_equal(run_cost_link(f.cost, US, EU), 1);
    assert_int_equal(run_cost_total(f.cost), 4);
    close_all(&f);
}

static void test_a_machine_without_a_price_is_named(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, json);
    member(&f, EU, HOUR, 0);
    member(&f, MOON, 0, 0); /* It is there, even if it did nothing yet. */
    refused(&f, ERR_INVALID,
            "map.json: region moon has no price for machines of class 'cpu': add \"cpu\" (dollars "
            "per hour) to the \"usd_per_hour\" of that region");
    f.members[1].region = US;
    f.config.class = "gpu";
    refused(&f, ERR_INVALID,
            "map.json: region us has no price for machines of class 'gpu', only for cpu: add "
            "\"gpu\" (dollars per hour) to the \"usd_per_hour\" of that region");
    f.members[1].region = EU;
    f.config.class = "small";
    refused(&f, ERR_INVALID,
            "map.json: region eu has no price for machines of class 'small', only for cpu, gpu: "
            "add \"small\" (dollars per hour) to the \"usd_per_hour\" of that region");
    close_all(&f);
}

/* One of each class in the same region, and the class of movers is looked up for itself. */
static void test_machines_that_move_data_have_their_own_class(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, json);
    member(&f, EU, HOUR, 0);
    member(&f, EU, 0, 2 * HOUR);
    f.members[1].moves = true;
    f.config.class = "gpu";
    f.config.move_class = "cpu";
    create(&f);
    assert_int_equal(run_cost_region(f.cost, EU)->compute_nusd, UINT64_C(3000000000));
    assert_int_equal(run_cost_region(f.cost, EU)->wait_nusd, UINT64_C(1800000000));
    f.config.move_class = "small";
    refused(&f, ERR_INVALID,
            "map.json: region eu has no price for machines of class 'small', only for cpu, gpu: "
            "add \"small\" (dollars per hour) to the \"usd_per_hour\" of that region");
    close_all(&f);
}

static void test_a_link_without_a_price_is_named(void **state)
{
    static const char fallback[] = "{\"strait_topology\": 1, \"regions\": [\"eu\", \"us\"],\n"
                                   "\"default_link\": {\"rate\": \"1gbit\", \"delay\": \"1ms\"}}";
    struct fixture f;

    (void)state;
    open_with(&f, json);
    create(&f); /* Nothing went over it. */
    bytes(&f, EU, AP, 1);
    refused(&f, ERR_INVALID,
            "map.json: the link from eu to ap has no price: add \"price\" (dollars per gigabyte, 0 "
            "if it is free) to that entry of \"links\"");
    bytes(&f, EU, AP, 0);
    bytes(&f, US, AP, 1);
    refused(&f, ERR_INVALID,
            "map.json: there is no link from us to ap, but traffic: add one to \"links\", with a "
            "\"price\"");
    close_all(&f);
    open_with(&f, fallback);
    bytes(&f, 1, 0, 1);
    refused(&f, ERR_INVALID,
            "map.json: the link from us to eu has no price: add \"price\" (dollars per gigabyte, 0 "
            "if it is free) to \"default_link\", which it has");
    close_all(&f);
}

/* Two regions with the largest prices that there may be. */
static const char dear[] =
    "{\"strait_topology\": 1, \"regions\": [{\"name\": \"eu\", \"usd_per_hour\": 1000000},\n"
    "{\"name\": \"us\", \"usd_per_hour\": 1000000}],\n"
    "\"default_link\": {\"rate\": \"1gbit\", \"delay\": \"1ms\", \"price\": 1000}}";

static const char too_big[] =
    "map.json: the cost is beyond what can be counted: look for a price, a time or a count that is "
    "far too large";

static void test_times_beyond_the_limits_are_refused(void **state)
{
    /* 2^64 - 1 billionths are 18,446.744 hours at the largest price. */
    const int64_t most = INT64_C(66408278665354384);
    struct fixture f;

    (void)state;
    open_with(&f, dear);
    member(&f, 0, most, 0);
    create(&f);
    assert_true(run_cost_total(f.cost) > UINT64_MAX - 1000);
    f.members[0].compute_ns = most + 10;
    refused(&f, ERR_TOO_BIG, too_big);
    f.members[0].compute_ns = INT64_MAX;
    refused(&f, ERR_TOO_BIG, too_big);
    f.members[0].compute_ns = most;
    f.members[0].wait_ns = 3600; /* Each part fits, the total does not. */
    refused(&f, ERR_TOO_BIG, too_big);
    f.members[0].wait_ns = 0;
    member(&f, 1, 3600, 0); /* Each region fits, the sum does not. */
    refused(&f, ERR_TOO_BIG, too_big);
    close_all(&f);
    open_with(&f, json);
    member(&f, AP, INT64_MAX, 0);
    create(&f); /* 292 years at a dollar an hour: 2^63 - 1 by 3,600, which leaves 1,807. */
    assert_int_equal(run_cost_total(f.cost), UINT64_C(2562047788015216));
    member(&f, AP, 1, 0);
    refused(&f, ERR_TOO_BIG, too_big);
    member(&f, AP, 0, 0); /* Once too much, always too much. */
    refused(&f, ERR_TOO_BIG, too_big);
    close_all(&f);
}

static void test_bytes_beyond_the_limits_are_refused(void **state)
{
    const uint64_t most = UINT64_C(18446744073709551); /* At a thousand billionths a byte. */
    struct fixture f;

    (void)state;
    open_with(&f, dear);
    bytes(&f, 0, 1, most);
    create(&f);
    assert_int_equal(run_cost_total(f.cost), most * 1000);
    bytes(&f, 0, 1, most + 1);
    refused(&f, ERR_TOO_BIG, too_big);
    bytes(&f, 0, 1, UINT64_MAX);
    refused(&f, ERR_TOO_BIG, too_big);
    bytes(&f, 0, 1, most);
    bytes(&f, 1, 0, 1);
    refused(&f, ERR_TOO_BIG, too_big);
    close_all(&f);
}

/* A map of @n regions, all joined, with prices by seed. */
static void random_map(struct rng *rng, uint32_t n, struct text *out)
{
    text_add(out, "{\"strait_topology\": 1, \"regions\": [");
    for (uint32_t i = 0; i < n; i++) {
        text_addf(out, "%s{\"name\": \"r%u\", \"usd_per_hour\": %u.%09u}", i > 0 ? "," : "", i,
                  (uint32_t)rng_below(rng, 5), (uint32_t)rng_below(rng, 1000000000));
    }
    text_add(out, "], \"links\": [");
    for (uint32_t i = 0; i < n * n; i++) {
        if (i / n != i % n) {
            text_addf(out,
                      "%s{\"from\": \"r%u\", \"to\": \"r%u\", \"rate\": \"1gbit\", \"rtt\": "
                      "\"1ms\", \"price\": 0.%09u}",
                      i > 1 ? "," : "", i / n, i % n, (uint32_t)rng_below(rng, 1000000000));
        }
    }
    text_add(out, "]}");
}

/* The same in floating point, which is right to a billionth here and there. */
static double naive(const struct fixture *f)
{
    uint32_t n = f->traffic.regions;
    double usd = 0;

    for (uint32_t i = 0; i < f->config.members_count; i++) {
        const struct run_cost_member *m = &f->members[i];
        uint64_t price = 0;

        assert_true(topo_region_price(f->topo, m->region, "cpu", &price));
        usd += ((double)m->compute_ns + (double)m->wait_ns) / 3.6e12 * (double)price / 1e9;
    }
    for (uint32_t i = 0; i < n * n; i++) {
        uint32_t from = i / n, to = i % n;

        if (from != to) {
            usd += (double)f->traffic.bytes[i] / 1e18 *
                   (double)topo_link_own(f->topo, from, to)->price_nusd_per_gb;
        }
    }
    return usd;
}

static void check_sums(const struct run_cost *c, uint32_t n)
{
    const struct run_cost_part *total = run_cost_parts(c);
    struct run_cost_part sum = {0};

    for (uint32_t a = 0; a < n; a++) {
        const struct run_cost_part *r = run_cost_region(c, a);
        uint64_t links = 0;

        for (uint32_t b = 0; b < n; b++) {
            links += run_cost_link(c, a, b);
        }
        assert_int_equal(links, r->transfer_nusd);
        sum.compute_nusd += r->compute_nusd;
        sum.wait_nusd += r->wait_nusd;
        sum.transfer_nusd += r->transfer_nusd;
    }
    assert_int_equal(sum.compute_nusd, total->compute_nusd);
    assert_int_equal(sum.wait_nusd, total->wait_nusd);
    assert_int_equal(sum.transfer_nusd, total->transfer_nusd);
    assert_int_equal(sum.compute_nusd + sum.wait_nusd + sum.transfer_nusd, run_cost_total(c));
}

static void test_parts_add_up_to_the_total(void **state)
{
    struct rng rng;
    struct text map;

    (void)state;
    rng_init(&rng, 12);
    assert_int_equal(text_init(&map, 1 << 16), OK);
    for (uint32_t k = 0; k < 300; k++) {
        uint32_t n = 1 + k % 9;
        double expected;
        struct fixture f;

        text_clear(&map);
        random_map(&rng, n, &map);
        open_with(&f, map.chars);
        for (uint32_t i = 0; i < k % 8; i++) {
            member(&f, (uint32_t)rng_below(&rng, n), (int64_t)rng_below(&rng, 100 * HOUR),
                   (int64_t)rng_below(&rng, 100 * HOUR));
        }
        for (uint32_t i = 0; i < n * n; i++) {
            f.traffic.bytes[i] = rng_below(&rng, 1000 * GB);
        }
        create(&f);
        check_sums(f.cost, n);
        expected = naive(&f);
        assert_true((double)run_cost_total(f.cost) / 1e9 <= expected + 1e-7 + expected * 1e-12);
        assert_true((double)run_cost_total(f.cost) / 1e9 >= expected - 1e-7 - expected * 1e-12);
        close_all(&f);
    }
    text_deinit(&map);
}

static void test_traffic_has_its_price_while_machines_have_none(void **state)
{
    uint64_t nusd = 7;
    struct fixture f;

    (void)state;
    open_with(&f, json);
    bytes(&f, EU, EU, GB); /* Inside. */
    bytes(&f, EU, US, 2 * GB);
    bytes(&f, AP, EU, GB);
    assert_true(run_cost_transfer(f.topo, &f.traffic, EU, EU, &nusd));
    assert_int_equal(nusd, 0);
    assert_true(run_cost_transfer(f.topo, &f.traffic, EU, US, &nusd));
    assert_int_equal(nusd, 40000000);
    assert_true(run_cost_transfer(f.topo, &f.traffic, EU, AP, &nusd)); /* Nothing went there. */
    assert_int_equal(nusd, 0);
    assert_true(run_cost_transfer_total(f.topo, &f.traffic, &nusd));
    assert_int_equal(nusd, 130000000);
    bytes(&f, EU, AP, 1);
    assert_false(run_cost_transfer(f.topo, &f.traffic, EU, AP, &nusd));
    assert_false(run_cost_transfer_total(f.topo, &f.traffic, &nusd));
    bytes(&f, EU, AP, 0);
    bytes(&f, MOON, EU, 1); /* There is no link. */
    assert_false(run_cost_transfer(f.topo, &f.traffic, MOON, EU, &nusd));
    assert_int_equal(nusd, 130000000);
    close_all(&f);
}

static void test_dollars_are_printed_with_four_decimals(void **state)
{
    static const struct {
        uint64_t nusd;
        const char *chars;
    } cases[] = {
        {0, "0.0000"},          {49999, "0.0000"},
        {50000, "0.0001"},      {99950000, "0.1000"},
        {999949999, "0.9999"},  {999950000, "1.0000"},
        {4435000000, "4.4350"}, {UINT64_MAX, "18446744073.7096"},
    };
    struct run_cost_text out;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(run_cost_print(cases[i].nusd, &out), cases[i].chars);
    }
}

static void test_memory_may_run_out(void **state)
{
    struct run_cost *none = NULL;
    struct fixture f;

    (void)state;
    open_with(&f, json);
    mem_fail_at(1, 1);
    assert_int_equal(run_cost_create(&f.config, &none, &f.text), ERR_NOMEM);
    mem_fail_at(2, 1); /* There is no second one. */
    create(&f);
    mem_fail_at(0, 0);
    assert_null(none);
    assert_string_equal(f.text.text, "map.json: out of memory");
    run_cost_destroy(NULL);
    close_all(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_costs_machines_waiting_and_traffic),
        cmocka_unit_test(test_the_class_decides_the_price),
        cmocka_unit_test(test_traffic_inside_a_region_is_free),
        cmocka_unit_test(test_halves_are_rounded_up_once_per_region_and_link),
        cmocka_unit_test(test_a_machine_without_a_price_is_named),
        cmocka_unit_test(test_machines_that_move_data_have_their_own_class),
        cmocka_unit_test(test_a_link_without_a_price_is_named),
        cmocka_unit_test(test_times_beyond_the_limits_are_refused),
        cmocka_unit_test(test_bytes_beyond_the_limits_are_refused),
        cmocka_unit_test(test_parts_add_up_to_the_total),
        cmocka_unit_test(test_traffic_has_its_price_while_machines_have_none),
        cmocka_unit_test(test_dollars_are_printed_with_four_decimals),
        cmocka_unit_test(test_memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
