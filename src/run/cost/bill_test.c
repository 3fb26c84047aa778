/* Bills of pictures that are made up. */

#include "run/cost/bill.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define HOUR INT64_C(3600000000000)

#define FILE_OF(price, rest)                                                                       \
    "run: test\n"                                                                                  \
    "topology:\n"                                                                                  \
    "  regions: [{name: eu, usd_per_hour: {gpu: 3}}, {name: us, usd_per_hour: {gpu: 2}}]\n"        \
    "  links: [{between: [eu, us], rate: 1gbit, rtt: 10ms" price "}]\n"                            \
    "sites: [{region: eu, workers: 2}, {region: us}]\n"                                            \
    "job: {name: mf}\nstop: {clocks: 3}\n" rest

struct scene {
    struct run_file *file;
    struct run_tally *tally;
    struct run_traffic traffic;
    struct run_picture picture;
};

/* Each worker has computed for an hour and waited for half of one; 2 GB and 1 GB have gone. */
static void scene_open(struct scene *s, const char *yaml)
{
    struct run_clock clock = {
        .clock = 1, .next = 2, .compute_ns = HOUR, .read_ns = HOUR / 4, .end_ns = HOUR / 4};
    struct err_text text = {""};

    memset(s, 0, sizeof(*s));
    if (run_file_parse("test.yaml", NULL, yaml, strlen(yaml), &s->file, &text) != OK) {
        fail_msg("%s", text.text);
    }
    assert_int_equal(run_tally_create(3, NULL, NULL, &s->tally), OK);
    assert_int_equal(run_traffic_init(&s->traffic, 2), OK);
    for (uint32_t i = 0; i < 3; i++) {
        run_tally_joined(s->tally, i, 1);
        run_tally_clock(s->tally, i, &clock, 1);
    }
    s->traffic.bytes[1] = 2000000000;
    s->traffic.bytes[2] = 1000000000;
    s->picture = (struct run_picture){.file = s->file, .tally = s->tally, .traffic = &s->traffic};
}

static void scene_close(struct scene *s)
{
    run_file_free(s->file);
    run_tally_destroy(s->tally);
    run_traffic_deinit(&s->traffic);
}

static void test_sites_pay_for_their_workers_and_what_they_send(void **state)
{
    struct run_cost *cost = NULL;
    struct run_cost_part part;
    struct err_text text;
    struct scene s;

    (void)state;
    scene_open(&s, FILE_OF(", price: 0.5", ""));
    assert_string_equal(s.file->machine, "gpu"); /* The only class there is. */
    assert_int_equal(run_bill_create(&s.picture, &cost, &text), OK);
    run_bill_site(cost, s.file, 0, &part);
    assert_int_equal(part.compute_nusd, UINT64_C(6000000000));
    assert_int_equal(part.wait_nusd, UINT64_C(3000000000));
    assert_int_equal(part.transfer_nusd, UINT64_C(1000000000));
    run_bill_site(cost, s.file, 1, &part);
    assert_int_equal(part.compute_nusd, UINT64_C(2000000000));
    assert_int_equal(part.wait_nusd, UINT64_C(1000000000));
    assert_int_equal(part.transfer_nusd, UINT64_C(500000000));
    run_cost_destroy(cost);
    scene_close(&s);
}

static void test_one_site_pays_for_all_regions(void **state)
{
    struct run_cost *cost = NULL;
    struct run_cost_part part;
    struct err_text text;
    struct scene s;

    (void)state;
    scene_open(&s, FILE_OF(", price: 0.5", "layout: plain\n"));
    assert_int_equal(run_bill_create(&s.picture, &cost, &text), OK);
    run_bill_site(cost, s.file, 0, &part);
    assert_int_equal(part.compute_nusd, UINT64_C(8000000000));
    assert_int_equal(part.wait_nusd, UINT64_C(4000000000));
    assert_int_equal(part.transfer_nusd, UINT64_C(1500000000));
    run_cost_destroy(cost);
    scene_close(&s);
}

/* Four machines in each region: the workers of a site share them, wherever the layout puts them. */
static void test_workers_stand_for_the_machines_of_their_region(void **state)
{
    static const struct {
        const char *yaml;
        uint64_t compute, wait;
    } cases[] = {
        {FILE_OF(", price: 0.5", "links: {machines: 4}\n"), 4 * 3 + 4 * 2, 2 * 3 + 2 * 2},
        {FILE_OF(", price: 0.5", "links: {machines: 4}\nlayout: lan\n"), 8 * 3, 4 * 3},
        {FILE_OF(", price: 0.5", "links: {machines: 1}\n"), 2 * 3 + 2, 3 + 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct run_cost *cost = NULL;
        struct err_text text;
        struct scene s;

        scene_open(&s, cases[i].yaml);
        assert_int_equal(run_bill_create(&s.picture, &cost, &text), OK);
        assert_int_equal(run_cost_parts(cost)->compute_nusd, cases[i].compute * 1000000000);
        assert_int_equal(run_cost_parts(cost)->wait_nusd, cases[i].wait * 1000000000);
        run_cost_destroy(cost);
        scene_close(&s);
    }
}

static void test_the_price_that_is_missing_is_named(void **state)
{
    struct run_cost *cost = NULL;
    struct err_text text = {""};
    struct scene s;

    (void)state;
    scene_open(&s, FILE_OF("", ""));
    assert_int_equal(run_bill_create(&s.picture, &cost, &text), ERR_INVALID);
    assert_null(cost);
    assert_string_equal(text.text, "test: the link from eu to us has no price: add \"price\" "
                                   "(dollars per gigabyte, 0 if it is free) to that entry of "
                                   "\"links\"");
    scene_close(&s);
}

static void test_a_budget_that_is_used_up_has_bound(void **state)
{
    static const struct {
        const char *yaml;
        bool has, bound;
    } cases[] = {
        {FILE_OF(", price: 0.5", ""), false, false},
        {FILE_OF(", price: 0.5", "budget: {max_gb: 3}\n"), true, true},
        {FILE_OF(", price: 0.5", "budget: {max_gb: 3.1}\n"), true, false},
        {FILE_OF(", price: 0.5", "budget: {max_gb: 9, max_usd: 1.5}\n"), true, true},
        {FILE_OF(", price: 0.5", "budget: {max_usd: 1.6}\n"), true, false},
    };
    struct run_share held[2] = {{.bound = false}, {.bound = true}};
    struct scene s;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        scene_open(&s, cases[i].yaml);
        assert_int_equal(run_bill_has_budget(s.file), cases[i].has);
        assert_int_equal(run_bill_bound(&s.picture), cases[i].bound);
        s.picture.shares = held; /* Or it held a threshold up. */
        assert_int_equal(run_bill_bound(&s.picture), cases[i].has);
        scene_close(&s);
    }
}

static void test_memory_may_run_out(void **state)
{
    struct run_cost *cost = NULL;
    struct err_text text;
    struct scene s;

    (void)state;
    scene_open(&s, FILE_OF(", price: 0.5", ""));
    for (uint64_t k = 1; k <= 2; k++) {
        mem_fail_at(k, 1);
        assert_int_equal(run_bill_create(&s.picture, &cost, &text), ERR_NOMEM);
        mem_fail_at(0, 0);
        assert_null(cost);
        assert_string_equal(text.text, "test: out of memory");
    }
    mem_fail_at(3, 1);
    assert_int_equal(run_bill_create(&s.picture, &cost, &text), OK);
    mem_fail_at(0, 0);
    run_cost_destroy(cost);
    scene_close(&s);
}

static void test_a_budget_holds_if_no_more_has_gone(void **state)
{
    static const struct {
        const char *yaml;
        bool holds;
    } cases[] = {
        {FILE_OF(", price: 0.5", ""), true},
        {FILE_OF(", price: 0.5", "budget: {max_gb: 3}\n"), true},
        {FILE_OF(", price: 0.5", "budget: {max_gb: 2.9}\n"), false},
        {FILE_OF(", price: 0.5", "budget: {max_gb: 9, max_usd: 1.5}\n"), true},
        {FILE_OF(", price: 0.5", "budget: {max_gb: 9, max_usd: 1.4}\n"), false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene s;

        scene_open(&s, cases[i].yaml);
        assert_int_equal(run_bill_holds(&s.picture), cases[i].holds);
        scene_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sites_pay_for_their_workers_and_what_they_send),
        cmocka_unit_test(test_one_site_pays_for_all_regions),
        cmocka_unit_test(test_workers_stand_for_the_machines_of_their_region),
        cmocka_unit_test(test_the_price_that_is_missing_is_named),
        cmocka_unit_test(test_a_budget_that_is_used_up_has_bound),
        cmocka_unit_test(test_memory_may_run_out),
        cmocka_unit_test(test_a_budget_holds_if_no_more_has_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
