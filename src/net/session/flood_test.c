/* How often each kind of frame may come. */

#include "net/session/flood.h"

#include "base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)

static uint32_t take_all(struct net_flood *f, enum net_flood_kind kind, int64_t now_ns)
{
    uint32_t count = 0;

    while (count < 100000 && net_flood_take(f, kind, now_ns)) {
        count++;
    }
    return count;
}

static void test_a_burst_may_come_at_once_and_then_the_rate(void **state)
{
    (void)state;
    for (int kind = 0; kind < NET_FLOOD_KINDS; kind++) {
        struct net_flood f = {0};
        uint32_t rate = net_flood_rate((enum net_flood_kind)kind);
        uint32_t burst = net_flood_burst((enum net_flood_kind)kind);
        int64_t now_ns = 7 * SECOND;

        assert_int_equal(take_all(&f, (enum net_flood_kind)kind, now_ns), burst);
        for (int i = 1; i <= 5; i++) {
            now_ns += SECOND;
            assert_in_range(take_all(&f, (enum net_flood_kind)kind, now_ns), rate - 1, rate);
        }
        assert_int_equal(take_all(&f, (enum net_flood_kind)kind, now_ns + 3600 * SECOND), burst);
    }
}

static void test_each_control_frame_is_of_a_kind_and_data_of_none(void **state)
{
    (void)state;
    for (uint32_t type = 0; type < 256; type++) {
        const struct wire_type_info *info = wire_type_info((uint8_t)type);
        bool greets =
            type <= WIRE_REFUSE || type == WIRE_BYE || type == WIRE_ENROLL || type == WIRE_ENROLLED;
        bool limited = net_flood_kind((uint8_t)type, WIRE_ROLE_WORKER) != NET_FLOOD_KINDS;

        assert_int_equal(limited, info != NULL && info->control && !greets);
    }
    assert_int_equal(net_flood_kind(WIRE_CONTROL, WIRE_ROLE_WORKER), NET_FLOOD_OPERATIONS);
    assert_int_equal(net_flood_kind(WIRE_CONTROL, WIRE_ROLE_OPERATOR), NET_FLOOD_OPERATIONS);
    assert_int_equal(net_flood_kind(WIRE_CONTROL, WIRE_ROLE_SERVER), NET_FLOOD_SITES);
}

static void test_the_rate_may_come_for_ever(void **state)
{
    (void)state;
    for (int kind = 0; kind < NET_FLOOD_KINDS; kind++) {
        struct net_flood f = {0};
        int64_t rate = net_flood_rate((enum net_flood_kind)kind);

        for (int64_t i = 0; i < 10 * rate; i++) {
            assert_true(net_flood_take(&f, (enum net_flood_kind)kind, i * SECOND / rate));
        }
    }
}

static void test_no_kind_takes_what_another_needs(void **state)
{
    struct net_flood f = {0};

    (void)state;
    for (int kind = 0; kind < NET_FLOOD_KINDS; kind++) {
        assert_int_equal(take_all(&f, (enum net_flood_kind)kind, SECOND),
                         net_flood_burst((enum net_flood_kind)kind));
    }
    assert_int_equal(take_all(&f, NET_FLOOD_KINDS, SECOND), 100000); /* Data has windows. */
}

static void test_each_frame_that_was_sent_is_worth_an_acknowledgement(void **state)
{
    struct net_flood f = {0};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        net_flood_sent(&f);
    }
    assert_int_equal(take_all(&f, NET_FLOOD_ACKS, 0), LIMIT_ACK_BURST + 3);
    for (uint32_t i = 0; i < 2 * LIMIT_WINDOW_FRAMES; i++) {
        net_flood_sent(&f); /* More than can be under way. */
    }
    assert_int_equal(take_all(&f, NET_FLOOD_ACKS, 0), LIMIT_WINDOW_FRAMES);
}

/* A worker with quick clocks says how each was. */
static void test_a_report_for_each_clock_is_no_flood(void **state)
{
    struct net_flood f = {0};

    (void)state;
    for (int64_t i = 0; i < 100000; i++) {
        assert_true(net_flood_take(&f, NET_FLOOD_KINDS, i * SECOND / 10000));
        assert_true(net_flood_take(&f, NET_FLOOD_OPERATIONS, i * SECOND / 10000));
    }
    assert_int_equal(take_all(&f, NET_FLOOD_OPERATIONS, 10 * SECOND), LIMIT_OPERATION_BURST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_burst_may_come_at_once_and_then_the_rate),
        cmocka_unit_test(test_each_control_frame_is_of_a_kind_and_data_of_none),
        cmocka_unit_test(test_the_rate_may_come_for_ever),
        cmocka_unit_test(test_no_kind_takes_what_another_needs),
        cmocka_unit_test(test_each_frame_that_was_sent_is_worth_an_acknowledgement),
        cmocka_unit_test(test_a_report_for_each_clock_is_no_flood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
