/* A pipe shares as the simulator's fabric does: flows with caps of their own, on links of any rate,
 * each get what is max-min fair. */

#include "base/rng.h"
#include "emu/testing.h"
#include "sim/net/fabric.h"

/* What the fabric gives each flow, in bytes per second. */
static void fabric_rates(uint64_t rate, const uint64_t *caps, uint32_t count, double *rates)
{
    const struct sim_fabric_limits limits = {1, TESTING_FLOWS, TESTING_FLOWS};
    sim_flow_id flows[TESTING_FLOWS];
    struct sim_fabric *fabric;
    sim_link_id link;

    assert_int_equal(sim_fabric_create(&limits, &fabric), OK);
    assert_int_equal(sim_fabric_link_add(fabric, rate, &link), OK);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(sim_fabric_flow_add(fabric, &link, 1, caps[i], &flows[i]), OK);
        assert_int_equal(
            sim_fabric_flow_enqueue(fabric, flows[i], SIM_FABRIC_SEGMENT_BYTES_MAX, i, 0), OK);
    }
    for (uint32_t i = 0; i < count; i++) {
        rates[i] = sim_fabric_flow_rate_exact(fabric, flows[i]);
    }
    sim_fabric_destroy(fabric);
}

/* Let all of them send for ten seconds, and compare; each look may be late. */
static void compare(uint64_t rate, uint64_t stream, const uint64_t *caps, uint32_t count,
                    int64_t late_ns)
{
    const struct emu_shape shape = {
        .bytes_per_s = rate, .stream_bytes_per_s = stream, .delay_ns = 20 * TESTING_MS};
    uint64_t both[TESTING_FLOWS] = {0};
    double rates[TESTING_FLOWS];
    struct testing_rig rig;

    for (uint32_t i = 0; i < count; i++) {
        both[i] = caps[i] == 0 || (stream != 0 && stream < caps[i]) ? stream : caps[i];
    }
    fabric_rates(rate, both, count, rates);
    testing_open(&rig, &shape, 0);
    for (uint32_t i = 0; i < count; i++) {
        rig.flows[i].name = i;
        assert_int_equal(emu_flow_add(rig.pipe, &rig.flows[i].flow, caps[i], &rig.flows[i]), OK);
        testing_give(&rig, i, UINT64_C(1) << 50);
    }
    testing_run_late(&rig, 10 * TESTING_S, late_ns);
    for (uint32_t i = 0; i < count; i++) {
        double got = (double)rig.flows[i].sent / 10;
        double slack = 2.0 * emu_pipe_quantum(rig.pipe) / 10 + rates[i] * 0.005;

        if (got < rates[i] - slack || got > rates[i] + slack) {
            fail_msg("flow %u of %u: %.0f B/s instead of %.0f, link %" PRIu64 ", cap %" PRIu64, i,
                     count, got, rates[i], rate, both[i]);
        }
    }
    testing_close(&rig);
}

static void test_equal_flows_get_equal_shares(void **state)
{
    const uint64_t caps[TESTING_FLOWS] = {0};

    (void)state;
    for (uint32_t count = 1; count <= TESTING_FLOWS; count++) {
        compare(2500000, 0, caps, count, 0);
        compare(62500000, 0, caps, count, TESTING_MS);
        compare(2500000, 400000, caps, count, 0);
    }
}

static void test_what_capped_flows_leave_is_shared_by_the_others(void **state)
{
    const uint64_t caps[] = {100000, 200000, 0, 1000000, 0, 50000};

    (void)state;
    compare(2500000, 0, caps, 6, 0);
    compare(1250000, 0, caps, 6, 2 * TESTING_MS);
    compare(125000000, 0, caps, 6, 0);
    compare(300000, 0, caps, 6, 0);
}

static void test_random_links_with_random_caps_share_as_the_fabric_does(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 4711);
    for (int run = 0; run < 40; run++) {
        uint64_t caps[TESTING_FLOWS];
        uint64_t rate = 100000 + rng_below(&rng, UINT64_C(1) << rng_between(&rng, 17, 26));
        uint32_t count = (uint32_t)rng_between(&rng, 1, TESTING_FLOWS);

        for (uint32_t i = 0; i < count; i++) {
            caps[i] = rng_chance(&rng, 400000) ? 0 : 20000 + rng_below(&rng, rate);
        }
        compare(rate, rng_chance(&rng, 300000) ? rate / 3 : 0, caps, count,
                (int64_t)rng_below(&rng, 2 * TESTING_MS));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_flows_get_equal_shares),
        cmocka_unit_test(test_what_capped_flows_leave_is_shared_by_the_others),
        cmocka_unit_test(test_random_links_with_random_caps_share_as_the_fabric_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
