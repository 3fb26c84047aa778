/* The witness must see each kind of wrong, or the storms would prove nothing. */

#include "sim/echo/oracle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static struct sim_oracle *fresh(void)
{
    struct sim_oracle *o;

    assert_int_equal(sim_oracle_create(2, &o), OK);
    for (uint64_t n = 1; n <= 100; n++) {
        sim_oracle_sent(o, 0, 7, n, n * 10);
    }
    return o;
}

static void expect_broken(struct sim_oracle *o, const char *what)
{
    assert_non_null(sim_oracle_broken(o));
    if (strstr(sim_oracle_broken(o), what) == NULL) {
        fail_msg("expected '%s' in '%s'", what, sim_oracle_broken(o));
    }
    sim_oracle_destroy(o);
}

static void test_a_right_history_is_right(void **state)
{
    struct sim_oracle *o = fresh();

    (void)state;
    for (uint64_t n = 1; n <= 100; n++) {
        sim_oracle_counted(o, 0, 7, n, n * 10);
        sim_oracle_acked(o, 0, 7, n);
        assert_int_equal(sim_oracle_echoes_missing(o, 0), 1);
        sim_oracle_echoed(o, 0, 7, n, n * 10);
        assert_int_equal(sim_oracle_echoes_missing(o, 0), 0);
    }
    assert_null(sim_oracle_broken(o));
    assert_int_equal(sim_oracle_acked_count(o, 0), 100);
    assert_int_equal(sim_oracle_counted_sum(o, 0), 50500);
    assert_int_equal(sim_oracle_acked_count(o, 1), 0);
    sim_oracle_destroy(o);
}

static void test_counting_twice_is_seen(void **state)
{
    struct sim_oracle *o = fresh();

    (void)state;
    sim_oracle_counted(o, 0, 7, 5, 50);
    sim_oracle_counted(o, 0, 7, 5, 50);
    expect_broken(o, "update 5 of client 0, incarnation 7: was counted twice");
}

static void test_an_acknowledged_update_that_is_not_counted_is_seen(void **state)
{
    struct sim_oracle *o = fresh();

    (void)state;
    sim_oracle_counted(o, 0, 7, 1, 10);
    sim_oracle_counted(o, 0, 7, 3, 30);
    sim_oracle_acked(o, 0, 7, 3);
    expect_broken(o, "update 2 of client 0, incarnation 7: was acknowledged but not counted");
}

static void test_changed_values_are_seen(void **state)
{
    struct sim_oracle *o = fresh();

    (void)state;
    sim_oracle_counted(o, 0, 7, 1, 11);
    expect_broken(o, "was counted with another value");
    o = fresh();
    sim_oracle_counted(o, 0, 7, 1, 10);
    sim_oracle_echoed(o, 0, 7, 1, 11);
    expect_broken(o, "came back with another value");
    o = fresh();
    sim_oracle_counted(o, 0, 7, 1, 10);
    sim_oracle_recovered(o, 0, 7, 1, 12);
    expect_broken(o, "is on disk with another value");
}

static void test_inventions_are_seen(void **state)
{
    struct sim_oracle *o = fresh();

    (void)state;
    sim_oracle_counted(o, 0, 7, 101, 1);
    expect_broken(o, "was never sent");
    o = fresh();
    sim_oracle_counted(o, 0, 8, 1, 10);
    expect_broken(o, "was never sent");
    o = fresh();
    sim_oracle_acked(o, 0, 7, 101);
    expect_broken(o, "was acknowledged but never sent");
    o = fresh();
    sim_oracle_echoed(o, 0, 7, 1, 10);
    expect_broken(o, "came back before it was counted");
    o = fresh();
    sim_oracle_sent(o, 0, 7, 102, 1);
    expect_broken(o, "does not follow the last");
}

static void test_going_back_and_coming_back_twice_are_seen(void **state)
{
    struct sim_oracle *o = fresh();

    (void)state;
    sim_oracle_counted(o, 0, 7, 1, 10);
    sim_oracle_counted(o, 0, 7, 2, 20);
    sim_oracle_acked(o, 0, 7, 2);
    sim_oracle_acked(o, 0, 7, 1);
    expect_broken(o, "acknowledgements went back");
    o = fresh();
    sim_oracle_delivered_twice(o, 0, 7, 1);
    expect_broken(o, "was delivered twice");
    o = fresh();
    sim_oracle_counted(o, 0, 7, 1, 10);
    sim_oracle_echoed(o, 0, 7, 1, 10);
    sim_oracle_echoed(o, 0, 7, 1, 10);
    expect_broken(o, "came back twice");
}

static void test_excused_echoes_may_stay_out(void **state)
{
    struct sim_oracle *o = fresh();

    (void)state;
    sim_oracle_counted(o, 0, 7, 1, 10);
    sim_oracle_acked(o, 0, 7, 1);
    assert_int_equal(sim_oracle_echoes_missing(o, 0), 1);
    sim_oracle_excuse_echoes(o);
    assert_int_equal(sim_oracle_echoes_missing(o, 0), 0);
    sim_oracle_recovered(o, 0, 7, 2, 20);
    sim_oracle_acked(o, 0, 7, 2);
    assert_int_equal(sim_oracle_echoes_missing(o, 0), 0);
    assert_null(sim_oracle_broken(o));
    sim_oracle_destroy(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_right_history_is_right),
        cmocka_unit_test(test_counting_twice_is_seen),
        cmocka_unit_test(test_an_acknowledged_update_that_is_not_counted_is_seen),
        cmocka_unit_test(test_changed_values_are_seen),
        cmocka_unit_test(test_inventions_are_seen),
        cmocka_unit_test(test_going_back_and_coming_back_twice_are_seen),
        cmocka_unit_test(test_excused_echoes_may_stay_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
