/* Who must stay away, and for how long. */

#include "net/session/cooldown.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)

static struct pki_identity member(int number)
{
    struct pki_identity who = {.role = WIRE_ROLE_WORKER, .site = "eu"};

    (void)snprintf(who.name, sizeof(who.name), "w%d", number);
    return who;
}

static void test_each_wait_is_twice_the_one_before_up_to_a_minute(void **state)
{
    struct net_cooldown c = {0};
    struct pki_identity who = member(1), other = member(2);
    int64_t now_ns = 5 * SECOND, expected_ns = SECOND;

    (void)state;
    assert_int_equal(net_cooldown_left_ns(&c, &who, now_ns), 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(net_cooldown_begin(&c, &who, now_ns), expected_ns);
        assert_int_equal(net_cooldown_left_ns(&c, &who, now_ns), expected_ns);
        assert_int_equal(net_cooldown_left_ns(&c, &who, now_ns + expected_ns - 1), 1);
        now_ns += expected_ns;
        assert_int_equal(net_cooldown_left_ns(&c, &who, now_ns), 0);
        assert_int_equal(net_cooldown_left_ns(&c, &other, now_ns - 1), 0);
        expected_ns = 2 * expected_ns < 60 * SECOND ? 2 * expected_ns : 60 * SECOND;
    }
}

static void test_who_behaved_for_ten_minutes_begins_small_again(void **state)
{
    struct net_cooldown c = {0};
    struct pki_identity who = member(1);

    (void)state;
    assert_int_equal(net_cooldown_begin(&c, &who, 0), SECOND);
    assert_int_equal(net_cooldown_begin(&c, &who, 600 * SECOND), 2 * SECOND);
    assert_int_equal(net_cooldown_begin(&c, &who, 1203 * SECOND), SECOND);
}

static void test_with_too_many_the_first_to_come_back_is_forgotten(void **state)
{
    struct net_cooldown c = {0};
    struct pki_identity who;

    (void)state;
    for (int i = 0; i <= NET_COOLDOWN_MEMBERS; i++) {
        who = member(i);
        (void)net_cooldown_begin(&c, &who, SECOND + i);
    }
    for (int i = 0; i <= NET_COOLDOWN_MEMBERS; i++) {
        who = member(i);
        assert_int_equal(net_cooldown_left_ns(&c, &who, SECOND + NET_COOLDOWN_MEMBERS) > 0, i > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_wait_is_twice_the_one_before_up_to_a_minute),
        cmocka_unit_test(test_who_behaved_for_ten_minutes_begins_small_again),
        cmocka_unit_test(test_with_too_many_the_first_to_come_back_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
