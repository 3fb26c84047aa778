/* Tests of the limits on strangers, in virtual time. */

#include "net/session/admit.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)

enum { INTERVAL_MS = 1000 / LIMIT_SOURCE_RATE_PER_S };

struct address {
    uint8_t bytes[16];
};

static struct address ipv4(uint32_t number)
{
    return (struct address){{[10] = 0xff,
                             0xff,
                             (uint8_t)(number >> 24),
                             (uint8_t)(number >> 16),
                             (uint8_t)(number >> 8),
                             (uint8_t)number}};
}

static struct address ipv6(uint64_t prefix, uint64_t host)
{
    struct address address;

    for (int i = 0; i < 8; i++) {
        address.bytes[i] = (uint8_t)(prefix >> (56 - 8 * i));
        address.bytes[8 + i] = (uint8_t)(host >> (56 - 8 * i));
    }
    return address;
}

/* Try, and leave at once if admitted. */
static enum net_admit_verdict knock(struct net_admit *a, struct address from, int64_t now_ns)
{
    enum net_admit_verdict verdict = net_admit_try(a, from.bytes, now_ns);

    if (verdict == NET_ADMIT) {
        net_admit_done(a);
    }
    return verdict;
}

/* Knock until refused; return how often it was admitted. */
static uint32_t drain(struct net_admit *a, struct address from, int64_t now_ns)
{
    uint32_t count = 0;

    while (knock(a, from, now_ns) == NET_ADMIT) {
        count++;
        assert_true(count <= LIMIT_SOURCE_BURST);
    }
    return count;
}

static int setup(void **state)
{
    struct net_admit *a = mem_zalloc(sizeof(*a));

    assert_non_null(a);
    assert_int_equal(net_admit_init(a), OK);
    *state = a;
    return 0;
}

static int teardown(void **state)
{
    net_admit_deinit(*state);
    mem_free(*state);
    return 0;
}

static void test_burst_then_rate_for_an_hour(void **state)
{
    struct net_admit *a = *state;
    struct address from = ipv4(0x0a000001);
    uint32_t admitted = drain(a, from, 5 * SECOND), last_second = 0;

    assert_int_equal(admitted, LIMIT_SOURCE_BURST);
    for (int64_t ms = 1; ms <= 3600 * 1000; ms++) {
        if (knock(a, from, 5 * SECOND + ms * MS) == NET_ADMIT) {
            admitted++;
            last_second++;
        }
        if (ms % 1000 == 0) {
            assert_int_equal(last_second, LIMIT_SOURCE_RATE_PER_S);
            last_second = 0;
        }
    }
    assert_int_equal(admitted, LIMIT_SOURCE_BURST + 3600 * LIMIT_SOURCE_RATE_PER_S);
    /* Silence brings the burst back, and no more than that. */
    assert_int_equal(drain(a, from, 90000 * SECOND), LIMIT_SOURCE_BURST);
}

static void test_half_a_bucket_comes_back_in_half_the_time(void **state)
{
    struct net_admit *a = *state;
    struct address from = ipv4(1);

    assert_int_equal(drain(a, from, 0), LIMIT_SOURCE_BURST);
    assert_int_equal(drain(a, from, INTERVAL_MS * MS - 1), 0);
    assert_int_equal(drain(a, from, INTERVAL_MS * MS), 1);
    assert_int_equal(drain(a, from, (1 + LIMIT_SOURCE_BURST / 2) * INTERVAL_MS * MS),
                     LIMIT_SOURCE_BURST / 2);
}

static void test_sources_do_not_pay_for_each_other(void **state)
{
    struct net_admit *a = *state;

    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(drain(a, ipv4(i), 0), LIMIT_SOURCE_BURST);
    }
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(drain(a, ipv4(i), MS), 0);
    }
    assert_int_equal(a->sources, 100);
}

static void test_ipv6_is_counted_by_64_bits_and_ipv4_by_32(void **state)
{
    struct net_admit *a = *state;

    assert_int_equal(drain(a, ipv6(0x20010db800000001, 1), 0), LIMIT_SOURCE_BURST);
    assert_int_equal(drain(a, ipv6(0x20010db800000001, 0xffffffffffffffff), 0), 0);
    assert_int_equal(drain(a, ipv6(0x20010db800000002, 1), 0), LIMIT_SOURCE_BURST);
    assert_int_equal(drain(a, ipv4(0x7f000001), 0), LIMIT_SOURCE_BURST);
    assert_int_equal(drain(a, ipv4(0x7f000002), 0), LIMIT_SOURCE_BURST);
    assert_int_equal(drain(a, ipv4(0x7f000001), 0), 0);
    assert_int_equal(drain(a, ipv6(0, 1), 0), LIMIT_SOURCE_BURST); /* ::1 */
    assert_int_equal(a->sources, 5);
}

static void test_strangers_are_counted(void **state)
{
    struct net_admit *a = *state;

    for (uint32_t i = 0; i < LIMIT_STRANGERS; i++) {
        assert_int_equal(net_admit_try(a, ipv4(i).bytes, 0), NET_ADMIT);
    }
    assert_int_equal(a->strangers, LIMIT_STRANGERS);
    assert_int_equal(net_admit_try(a, ipv4(9999).bytes, 0), NET_ADMIT_REFUSE_FULL);
    assert_int_equal(a->strangers, LIMIT_STRANGERS);
    net_admit_done(a);
    assert_int_equal(net_admit_try(a, ipv4(9999).bytes, 0), NET_ADMIT);
    /* Who knocks at a full house is charged: otherwise the fastest knocker gets each free place. */
    for (uint32_t i = 0; i < LIMIT_SOURCE_BURST; i++) {
        assert_int_equal(net_admit_try(a, ipv4(7777).bytes, 0), NET_ADMIT_REFUSE_FULL);
    }
    assert_int_equal(net_admit_try(a, ipv4(7777).bytes, 0), NET_ADMIT_REFUSE_RATE);
    while (a->strangers > 0) {
        net_admit_done(a);
    }
}

static void test_full_bucket_is_forgotten_first(void **state)
{
    struct net_admit *a = *state;
    struct address greedy = ipv4(0xffffffff);

    assert_int_equal(drain(a, greedy, 0), LIMIT_SOURCE_BURST);
    for (uint32_t i = 1; i < LIMIT_SOURCES; i++) {
        assert_int_equal(knock(a, ipv4(i), MS), NET_ADMIT);
    }
    assert_int_equal(a->sources, LIMIT_SOURCES);
    /* One interval later all but the greedy one are full: new ones take their places, not its. */
    for (uint32_t i = 0; i < LIMIT_SOURCES - 1; i++) {
        assert_int_equal(knock(a, ipv4(100000 + i), (1 + INTERVAL_MS) * MS), NET_ADMIT);
        assert_int_equal(a->sources, LIMIT_SOURCES);
    }
    assert_int_equal(drain(a, greedy, (1 + INTERVAL_MS) * MS), 1);
    assert_int_equal(drain(a, greedy, (1 + INTERVAL_MS) * MS), 0);
}

static void test_busy_table_sends_newcomers_to_one_bucket(void **state)
{
    struct net_admit *a = *state;
    uint32_t admitted = 0;

    for (uint32_t i = 0; i < LIMIT_SOURCES; i++) {
        assert_int_equal(knock(a, ipv4(i), 0), NET_ADMIT);
    }
    for (uint32_t i = 0; i < 10000; i++) {
        admitted += knock(a, ipv4(1000000 + i), 0) == NET_ADMIT;
    }
    assert_int_equal(admitted, LIMIT_STRANGERS);
    /* Those who are remembered keep what they have. */
    for (uint32_t i = 0; i < LIMIT_SOURCES; i++) {
        assert_int_equal(drain(a, ipv4(i), 0), LIMIT_SOURCE_BURST - 1);
    }
    /* They stay busy for two seconds; meanwhile the one bucket refills. */
    admitted = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        admitted += knock(a, ipv4(2000000 + i), i * 10000) == NET_ADMIT;
    }
    assert_in_range(admitted, LIMIT_STRANGERS - 1, LIMIT_STRANGERS + 1);
    assert_int_equal(knock(a, ipv4(3000000), 10 * SECOND), NET_ADMIT);
    assert_int_equal(drain(a, ipv4(3000000), 10 * SECOND), LIMIT_SOURCE_BURST - 1);
}

static void test_flood_of_a_million_sources_takes_no_memory(void **state)
{
    struct net_admit *a = *state;
    struct rng rng;
    uint64_t allocations = mem_allocations();
    struct address member = ipv4(0x01020304);

    rng_init(&rng, 1);
    for (int64_t i = 0; i < 1000000; i++) {
        uint64_t r = rng_next(&rng);

        /* A hundred thousand sources a second; one that is remembered does not feel them. */
        if (i % 9000 == 0) {
            assert_int_equal(knock(a, member, i * 10000), NET_ADMIT);
            assert_int_equal(knock(a, member, i * 10000), NET_ADMIT);
        }
        (void)knock(a, r & 1 ? ipv6(r, 0) : ipv4((uint32_t)(r >> 32)), i * 10000);
        assert_true(a->sources <= LIMIT_SOURCES);
    }
    assert_int_equal(mem_allocations(), allocations);
    assert_int_equal(a->strangers, 0);
    /* Soon after the flood everything is as before. */
    assert_int_equal(drain(a, member, 13 * SECOND), LIMIT_SOURCE_BURST);
}

static void test_time_that_jumps_is_harmless(void **state)
{
    struct net_admit *a = *state;
    struct address from = ipv4(5);
    static const int64_t jumps[] = {0, INT64_MAX, INT64_MIN, INT64_MAX, -1, INT64_MIN, 1};
    uint32_t admitted = 0;

    assert_int_equal(drain(a, from, 100 * SECOND), LIMIT_SOURCE_BURST);
    assert_int_equal(drain(a, from, 50 * SECOND), 0);
    assert_int_equal(drain(a, from, -50 * SECOND), 0);
    /* From there it goes on at the usual pace. */
    assert_int_equal(drain(a, from, -50 * SECOND + INTERVAL_MS * MS), 1);
    for (int round = 0; round < 10000; round++) {
        for (size_t i = 0; i < sizeof(jumps) / sizeof(*jumps); i++) {
            admitted += knock(a, from, jumps[i]) == NET_ADMIT;
        }
    }
    assert_true(admitted > 0);
    (void)knock(a, from, 0);
    (void)drain(a, from, 10 * SECOND);
    assert_int_equal(drain(a, from, 10 * SECOND), 0);
    assert_int_equal(drain(a, from, 11 * SECOND), LIMIT_SOURCE_RATE_PER_S);
}

static void test_members_behind_one_address_may_join_at_once(void **state)
{
    struct net_admit *a = *state;
    struct address from = ipv4(6);

    for (int i = 0; i < 10000; i++) {
        assert_int_equal(knock(a, from, i), NET_ADMIT);
        net_admit_credit(a, from.bytes);
    }
    assert_int_equal(drain(a, from, 10000), LIMIT_SOURCE_BURST);
    /* Credit fills no bucket beyond its brim, and is nothing to the unknown. */
    for (int i = 0; i < 1000; i++) {
        net_admit_credit(a, from.bytes);
        net_admit_credit(a, ipv4(7).bytes);
    }
    assert_int_equal(drain(a, from, 10000), LIMIT_SOURCE_BURST);
    assert_int_equal(a->sources, 1);
}

static void test_each_allocation_may_fail(void **state)
{
    bool failed = true;
    (void)state;

    for (uint64_t k = 1; failed; k++) {
        struct net_admit a;
        uint64_t before = mem_failures();
        enum err rc;

        mem_fail_at(k, 1);
        rc = net_admit_init(&a);
        mem_fail_at(0, 0);
        failed = mem_failures() != before;
        assert_int_equal(rc, failed ? ERR_NOMEM : OK);
        if (rc == OK) {
            net_admit_deinit(&a);
        }
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_burst_then_rate_for_an_hour),
        CASE(test_half_a_bucket_comes_back_in_half_the_time),
        CASE(test_sources_do_not_pay_for_each_other),
        CASE(test_ipv6_is_counted_by_64_bits_and_ipv4_by_32),
        CASE(test_strangers_are_counted),
        CASE(test_full_bucket_is_forgotten_first),
        CASE(test_busy_table_sends_newcomers_to_one_bucket),
        CASE(test_flood_of_a_million_sources_takes_no_memory),
        CASE(test_time_that_jumps_is_harmless),
        CASE(test_members_behind_one_address_may_join_at_once),
        cmocka_unit_test(test_each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
