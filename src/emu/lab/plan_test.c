/* Tests of plans: addresses, links, queues, and what cannot be. */

#include "emu/lab/plan.h"

#include "emu/lab/testing.h"

static void test_a_plan_has_the_links_of_its_topology(void **state)
{
    struct lab_plan *plan = lab_testing_plan();

    (void)state;
    assert_int_equal(plan->regions, 3);
    assert_string_equal(plan->names[2], "c");
    assert_int_equal(plan->hosts[0], 2);
    assert_true(lab_plan_link(plan, 0, 1)->joined);
    assert_int_equal(lab_plan_link(plan, 0, 1)->bytes_per_s, 12500000);
    assert_int_equal(lab_plan_link(plan, 0, 1)->delay_ns, 40000000);
    assert_int_equal(lab_plan_link(plan, 1, 0)->loss_ppm, 1000);
    assert_int_equal(lab_plan_link(plan, 1, 2)->jitter_ns, 1000000);
    assert_false(lab_plan_link(plan, 0, 2)->joined);
    assert_false(lab_plan_link(plan, 0, 0)->joined);
    assert_int_equal(plan->lan_bytes_per_s, 1250000000);
    assert_false(lab_plan_lossy(plan, 0));
    assert_true(lab_plan_lossy(plan, 1));
    mem_free(plan);
}

static void test_addresses_are_computed_and_lead_back(void **state)
{
    struct lab_plan *plan = lab_testing_plan();
    const uint8_t first[] = {10, 64, 0, 2}, last[] = {10, 66, 255, 255};
    const uint8_t strange[][4] = {{10, 63, 0, 1}, {10, 67, 0, 1}, {11, 64, 0, 1}, {10, 0, 0, 1}};
    char out[LAB_ADDRESS_BYTES];
    uint32_t region = 9;

    (void)state;
    assert_string_equal(lab_address_host(0, 0, out), "10.64.0.2");
    assert_string_equal(lab_address_host(63, LAB_HOSTS_MAX - 1, out), "10.127.0.251");
    assert_string_equal(lab_address_router(5, out), "10.69.0.1");
    assert_string_equal(lab_address_net(1, out), "10.65.0.0/16");
    assert_true(lab_plan_region_of(plan, first, &region) && region == 0);
    assert_true(lab_plan_region_of(plan, last, &region) && region == 2);
    for (size_t i = 0; i < 4; i++) {
        assert_false(lab_plan_region_of(plan, strange[i], &region));
    }
    mem_free(plan);
}

static void test_queues_hold_a_round_trip_or_a_short_time_or_two_bursts(void **state)
{
    struct lab_plan *plan = lab_testing_plan();

    (void)state;
    assert_int_equal(lab_plan_queue_bytes(plan, 0, 1), 1000000); /* 100 Mbit/s x 80 ms. */
    assert_int_equal(lab_plan_queue_bytes(plan, 1, 0), 200000);  /* 20 Mbit/s x 80 ms. */
    assert_int_equal(lab_plan_queue_bytes(plan, 1, 2), 6250000); /* 1 Gbit/s x 50 ms. */
    lab_plan_link_at(plan, 0, 1)->bytes_per_s = LAB_RATE_MIN;
    assert_int_equal(lab_plan_queue_bytes(plan, 0, 1), 2 * 68 * 1024);
    lab_plan_link_at(plan, 0, 1)->bytes_per_s = TOPO_RATE_MAX;
    lab_plan_link_at(plan, 0, 1)->delay_ns = TOPO_TIME_MAX_NS;
    assert_int_equal(lab_plan_queue_bytes(plan, 0, 1), 1 << 30);
    mem_free(plan);
}

static void check_refused(const char *topology, const uint32_t *hosts, uint32_t mtu,
                          const char *wanted)
{
    struct topo *topo = lab_testing_topo(topology);
    struct err_text text = {""};
    struct lab_plan *plan = NULL;

    assert_int_equal(lab_plan_create(topo, hosts, mtu, &plan, &text), ERR_INVALID);
    assert_null(plan);
    assert_non_null(strstr(text.text, wanted));
    topo_destroy(topo);
}

static void test_what_a_lab_cannot_be_is_refused_with_its_place(void **state)
{
    const uint32_t one[] = {1, 1, 1}, many[] = {1, 251, 1};
    static const char slow[] =
        "{\"strait_topology\": 1, \"regions\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"links\": "
        "[{\"from\": \"b\", \"to\": \"a\", \"rate\": \"10kbit\", \"rtt\": \"1ms\"}]}";
    static const char shared[] =
        "{\"strait_topology\": 1, \"duplex\": \"shared\", \"regions\": [\"a\", \"b\"], \"links\": "
        "[{\"between\": [\"b\", \"a\"], \"rate\": \"1mbit\", \"rtt\": \"1ms\"}]}";

    (void)state;
    check_refused(LAB_TEST_TOPOLOGY, one, 500, "mtu 500: must be 576 to 32000");
    check_refused(LAB_TEST_TOPOLOGY, many, 1500, "region b: 251 hosts, at most 250");
    check_refused(slow, one, 1500, "link b to a: rate 10kbit: a lab does 64kbit to");
    check_refused(shared, one, 1500, "both directions of a link share its rate (duplex: shared)");
}

static void test_an_unknown_region_gets_a_hint(void **state)
{
    struct lab_plan *plan = lab_testing_plan();
    struct err_text text = {""};
    uint32_t index = 0;

    (void)state;
    assert_int_equal(lab_plan_find(plan, "b", &index, &text), OK);
    assert_int_equal(index, 1);
    assert_int_equal(lab_plan_find(plan, "nowhere\n", &index, &text), ERR_INVALID);
    assert_string_equal(text.text, "no region 'nowhere\\n': there are a, b, c");
    mem_free(plan);
}

static void test_figures_have_limits(void **state)
{
    struct lab_link link = {.bytes_per_s = LAB_RATE_MIN, .delay_ns = TOPO_TIME_MAX_NS};
    struct err_text text = {""};

    (void)state;
    assert_int_equal(lab_link_check(&link, &text), OK);
    link.delay_ns++;
    assert_int_equal(lab_link_check(&link, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, "delay"));
    link.delay_ns = 0;
    link.jitter_ns = TOPO_TIME_MAX_NS + 1;
    assert_int_equal(lab_link_check(&link, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, "jitter"));
    link.jitter_ns = 0;
    link.bytes_per_s = 0;
    assert_int_equal(lab_link_check(&link, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, "rate"));
}

static void test_a_plan_needs_memory(void **state)
{
    const uint32_t hosts[] = {1, 1, 1};
    struct topo *topo = lab_testing_topo(LAB_TEST_TOPOLOGY);
    struct lab_plan *plan = NULL;

    (void)state;
    mem_fail_at(1, 1);
    assert_int_equal(lab_plan_create(topo, hosts, LAB_MTU, &plan, NULL), ERR_NOMEM);
    mem_fail_at(0, 0);
    assert_null(plan);
    topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plan_has_the_links_of_its_topology),
        cmocka_unit_test(test_addresses_are_computed_and_lead_back),
        cmocka_unit_test(test_queues_hold_a_round_trip_or_a_short_time_or_two_bursts),
        cmocka_unit_test(test_what_a_lab_cannot_be_is_refused_with_its_place),
        cmocka_unit_test(test_an_unknown_region_gets_a_hint),
        cmocka_unit_test(test_figures_have_limits),
        cmocka_unit_test(test_a_plan_needs_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
