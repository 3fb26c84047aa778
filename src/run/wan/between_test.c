/* What sites are told of each other: by hand, from files. */

#include "run/testing.h"
#include "run/wan/between.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define FILE_OF(sites, rest)                                                                       \
    "run: test\n"                                                                                  \
    "topology:\n"                                                                                  \
    "  regions: [eu, us, ap]\n"                                                                    \
    "  default_link: {rate: 100mbit, rtt: 60ms, price: 0.02}\n"                                    \
    "  links: [{from: ap, to: eu, rate: 100mbit, rtt: 60ms, price: 0.1},\n"                        \
    "          {from: eu, to: us, rate: 100mbit, rtt: 60ms, price: 0}]\n" sites                    \
    "job: {name: mf}\nstop: {clocks: 70}\n" rest
#define THREE "sites: [{region: eu}, {name: west, region: us}, {region: ap}]\n"

/* The port is the number of the site. */
static void place(const struct run_file *f, uint32_t site, struct net_address *out, void *user)
{
    *out = (struct net_address){.scheme = NET_SCHEME_SIM};
    (void)snprintf(out->host, sizeof(out->host), "%s", f->servers[site].name);
    (void)snprintf(out->port, sizeof(out->port), "%u", site);
    ++*(uint32_t *)user;
}

static struct run_betweens *create(const struct run_file *f, uint32_t *places)
{
    struct run_betweens *b = NULL;
    struct err_text text = {""};

    if (run_betweens_create(f, place, places, &b, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return b;
}

static void test_each_site_is_told_where_the_others_are(void **state)
{
    struct run_file *f = testing_parse(FILE_OF(THREE, ""));
    uint32_t places = 0;
    struct run_betweens *b = create(f, &places);
    const struct node_between *second = run_between_at(b, 1);

    (void)state;
    assert_int_equal(places, 6);
    assert_int_equal(second->others_count, 2);
    assert_string_equal(second->others[0].name, "eu");
    assert_string_equal(second->others[0].first.host, "eu-s0");
    assert_string_equal(second->others[1].name, "ap");
    assert_string_equal(second->others[1].first.port, "2");
    assert_string_equal(run_between_at(b, 0)->others[0].name, "west");
    run_betweens_destroy(b);
    run_betweens_destroy(NULL);
    run_file_free(f);
}

static void test_without_a_word_it_is_as_by_default(void **state)
{
    struct run_file *f = testing_parse(FILE_OF(THREE, ""));
    uint32_t places = 0;
    struct run_betweens *b = create(f, &places);
    const struct node_between *got = run_between_at(b, 2);
    struct node_between expected;

    (void)state;
    node_between_init(&expected);
    assert_true(codec_filter_equal(&got->filter, &expected.filter));
    assert_true(got->threshold == expected.threshold);
    assert_int_equal(got->goal, expected.goal);
    assert_int_equal(got->budget_bytes, 0);
    assert_int_equal(got->staleness, expected.staleness);
    assert_true(got->barrier && got->mean && got->majority);
    assert_int_equal(got->away_ns, expected.away_ns);
    assert_int_equal(got->stall_ns, expected.stall_ns);
    assert_int_equal(got->gather_ns, expected.gather_ns);
    assert_int_equal(got->streams, expected.streams);
    assert_int_equal(got->groups, 0);
    assert_int_equal(got->hubs_count, 0);
    assert_int_equal(got->clocks, 70);
    run_betweens_destroy(b);
    run_file_free(f);
}

static void test_every_choice_of_the_file_arrives(void **state)
{
    struct run_file *f = testing_parse(
        FILE_OF(THREE, "between:\n"
                       "  {preset: async, significance: product a b, grain: row, threshold: 2.5%,\n"
                       "   goal: cost, weight: sum, streams: 7, away: 0, leave_out: any,\n"
                       "   groups: [{name: one, sites: [eu]},\n"
                       "            {name: two, sites: [ap, west], hubs: {one: [west, ap]}}]}\n"));
    uint32_t places = 0;
    struct run_betweens *b = create(f, &places);
    const struct node_between *got = run_between_at(b, 1);

    (void)state;
    assert_int_equal(got->filter.measure, CODEC_PRODUCT);
    assert_int_equal(got->filter.grain, CODEC_ROW);
    assert_string_equal(got->filter.tables[1], "b");
    assert_true(got->threshold == 0.025F);
    assert_int_equal(got->goal, ASP_COST);
    assert_true(got->staleness == MIRROR_UNBOUNDED);
    assert_false(got->barrier || got->mean || got->majority);
    assert_int_equal(got->streams, 7);
    assert_int_equal(got->away_ns, 0);
    assert_int_equal(got->groups, 2);
    assert_int_equal(got->group, 1);
    assert_int_equal(got->others[0].group, 0);
    assert_int_equal(got->others[1].group, 1);
    assert_int_equal(got->hubs_count, 1);
    assert_int_equal(got->hubs[0].from, 1);
    assert_int_equal(got->hubs[0].to, 0);
    assert_int_equal(got->hubs[0].count, 2);
    assert_string_equal(got->hubs[0].sites[0], "west");
    assert_string_equal(got->hubs[0].sites[1], "ap");
    run_betweens_destroy(b);
    run_file_free(f);
}

static void test_a_product_of_tables_needs_them_on_one_lane(void **state)
{
    struct run_file *f =
        testing_parse(FILE_OF("sites: [{region: eu, lanes: 2}, {region: us, lanes: 2}]\n",
                              "between: {significance: product a b}\n"));
    struct run_betweens *b = NULL;
    struct err_text text = {""};
    uint32_t places = 0;

    (void)state;
    assert_int_equal(run_betweens_create(f, place, &places, &b, &text), ERR_INVALID);
    assert_string_equal(text.text, "significance by a product needs its tables on one lane, and "
                                   "site eu has 2: give it one server with one lane, or take "
                                   "another significance");
    assert_null(b);
    run_file_free(f);
}

static void test_one_site_is_told_nothing(void **state)
{
    static const char *const yamls[] = {
        FILE_OF("servers: [{region: eu}]\nworkers: [{region: us}]\n", ""),
        FILE_OF("sites: [{region: eu}]\n", ""),
        FILE_OF(THREE, "layout: plain\n"),
        FILE_OF(THREE, "layout: lan\n"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(yamls) / sizeof(yamls[0]); i++) {
        struct run_file *f = testing_parse(yamls[i]);
        uint32_t places = 0;
        struct run_betweens *b = create(f, &places);

        assert_null(run_between_at(b, 0));
        assert_int_equal(places, 0);
        run_betweens_destroy(b);
        run_file_free(f);
    }
}

/* Three sites of two lanes: a sixth for each. */
static void test_a_budget_is_divided_and_the_smaller_one_counts(void **state)
{
#define LANES "sites: [{region: eu, lanes: 2}, {region: us, lanes: 2}, {region: ap, lanes: 2}]\n"
    static const struct {
        const char *budget;
        uint64_t bytes[3];
    } cases[] = {
        {"", {0, 0, 0}},
        {"budget: {max_gb: 6}\n", {1000000000, 1000000000, 1000000000}},
        /* By the dearest: 0.02, 0.02 and 0.1 dollars a gigabyte. */
        {"budget: {max_usd: 0.6}\n", {5000000000, 5000000000, 1000000000}},
        {"budget: {max_usd: 0.6, max_gb: 24}\n", {4000000000, 4000000000, 1000000000}},
        {"budget: {max_usd: 0.6, max_gb: 0.000001}\n", {166, 166, 166}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char yaml[1024];
        struct run_file *f;

        (void)snprintf(yaml, sizeof(yaml), "%s%s", FILE_OF(LANES, ""), cases[i].budget);
        f = testing_parse(yaml);
        for (uint32_t s = 0; s < 3; s++) {
            assert_int_equal(run_between_budget(f, s), cases[i].bytes[s]);
        }
        run_file_free(f);
    }
}

static void test_free_links_are_not_limited_by_dollars(void **state)
{
    struct run_file *f =
        testing_parse(FILE_OF("sites: [{region: eu}, {region: us}]\n", "budget: {max_usd: 1}\n"));

    (void)state;
    assert_int_equal(run_between_budget(f, 0), 0);
    assert_int_equal(run_between_budget(f, 1), UINT64_C(25000000000));
    run_file_free(f);
}

static void test_a_budget_is_for_the_model_at_full_size(void **state)
{
    struct run_file *f = testing_parse(FILE_OF("sites: [{region: eu}, {region: us}]\n",
                                               "budget: {max_gb: 4}\nlinks: {scale: 1/1000}\n"));

    (void)state;
    assert_int_equal(run_between_budget(f, 0), 2000000);
    run_file_free(f);
}

static void test_memory_may_run_out(void **state)
{
    struct run_file *f = testing_parse(FILE_OF(
        THREE, "between: {groups: [{name: a, sites: [eu, ap], hubs: {b: ap}}, {name: b, sites: "
               "[west]}]}\n"));
    struct run_betweens *b = NULL;
    enum err rc = ERR_NOMEM;
    uint64_t k;

    (void)state;
    for (k = 1; rc != OK; k++) {
        struct err_text text = {""};
        uint32_t places = 0;

        mem_fail_at(k, 1);
        rc = run_betweens_create(f, place, &places, &b, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        assert_true((rc == OK) == (b != NULL));
    }
    assert_true(k > 4);
    run_betweens_destroy(b);
    run_file_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_site_is_told_where_the_others_are),
        cmocka_unit_test(test_without_a_word_it_is_as_by_default),
        cmocka_unit_test(test_every_choice_of_the_file_arrives),
        cmocka_unit_test(test_a_product_of_tables_needs_them_on_one_lane),
        cmocka_unit_test(test_one_site_is_told_nothing),
        cmocka_unit_test(test_a_budget_is_divided_and_the_smaller_one_counts),
        cmocka_unit_test(test_free_links_are_not_limited_by_dollars),
        cmocka_unit_test(test_a_budget_is_for_the_model_at_full_size),
        cmocka_unit_test(test_memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
