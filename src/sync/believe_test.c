/* What a link is believed to carry, over time. */

#include "sync/believe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define S UINT64_C(1000000000)

static void test_what_is_said_counts_until_something_was_measured(void **state)
{
    struct believe b = {0};

    (void)state;
    assert_int_equal(believe_rate(&b, 0, 5 * S), 0);
    assert_int_equal(believe_rate(&b, 100, 5 * S), 100);
    assert_false(believe_is_measured(&b, 5 * S));
    believe_measured(&b, 40, 4 * S);
    believe_measured(&b, 40, 5 * S);
    assert_true(believe_is_measured(&b, 5 * S));
    assert_int_equal(believe_rate(&b, 100, 24 * S), 40);
    assert_int_equal(believe_rate(&b, 100, 25 * S), 100); /* It is tried again. */
}

static void test_of_two_measures_the_larger_one_counts(void **state)
{
    struct believe b = {0};

    (void)state;
    believe_measured(&b, 40, S);
    assert_int_equal(believe_rate(&b, 0, S), 40); /* Nothing else is known. */
    assert_int_equal(believe_rate(&b, 30, S), 40);
    assert_int_equal(believe_rate(&b, 100, S), 100); /* It may have been for a moment. */
    believe_measured(&b, 30, 2 * S);
    assert_int_equal(believe_rate(&b, 100, 2 * S), 40);
    believe_measured(&b, 90, 3 * S);
    assert_int_equal(believe_rate(&b, 100, 3 * S), 90);
    believe_measured(&b, 10, 4 * S);
    assert_int_equal(believe_rate(&b, 100, 4 * S), 90);
    believe_measured(&b, 20, 5 * S);
    assert_int_equal(believe_rate(&b, 100, 5 * S), 20);
    believe_measured(&b, 20, 25 * S); /* It was tried again: the first one anew. */
    assert_int_equal(believe_rate(&b, 100, 25 * S), 100);
}

static void test_the_last_measures_count_and_for_as_long_as_the_first(void **state)
{
    struct believe b = {0};

    (void)state;
    believe_measured(&b, 40, 5 * S);
    believe_measured(&b, 30, 6 * S);
    believe_measured(&b, 50, 15 * S);
    assert_int_equal(believe_rate(&b, 100, 34 * S), 50);
    assert_int_equal(believe_rate(&b, 100, 35 * S), 100);
}

static void test_a_link_that_stays_slow_is_tried_ever_more_rarely(void **state)
{
    static const uint64_t holds_s[] = {20, 40, 80, 160, 320, 640, 640};
    struct believe b = {0};
    uint64_t now = 7 * S;

    (void)state;
    for (uint32_t i = 0; i < sizeof(holds_s) / sizeof(holds_s[0]); i++) {
        believe_measured(&b, 40, now);
        assert_true(believe_is_measured(&b, now + holds_s[i] * S - 1));
        assert_false(believe_is_measured(&b, now + holds_s[i] * S));
        now += holds_s[i] * S + S;
    }
}

static void test_a_link_that_was_well_for_long_is_tried_soon(void **state)
{
    struct believe b = {0};

    (void)state;
    believe_measured(&b, 40, S);
    believe_measured(&b, 40, 22 * S);
    believe_measured(&b, 40, 150 * S);
    assert_true(believe_is_measured(&b, 169 * S));
    assert_false(believe_is_measured(&b, 170 * S));
}

static void test_a_link_that_carries_nothing_is_known_to(void **state)
{
    struct believe b = {0};

    (void)state;
    believe_measured(&b, 0, S);
    believe_measured(&b, 0, 2 * S);
    assert_int_equal(believe_rate(&b, 100, 2 * S), 1);
}

static void test_one_reading_is_nothing(void **state)
{
    struct believe b = {0};

    (void)state;
    believe_read(&b, 1, S);
    assert_int_equal(believe_rate(&b, 100, S), 100);
    /* Too late to be of the same measure; and at first it is slow. */
    for (uint64_t i = 0; i < 30; i++) {
        believe_read(&b, i, 5 * S + i * S / 20);
    }
    for (uint64_t i = 30; i < 60; i++) {
        believe_read(&b, i == 30 ? 336 : 36, 5 * S + i * S / 20);
        assert_false(believe_is_measured(&b, 5 * S + i * S / 20));
    }
    believe_read(&b, 46, 8 * S);
    assert_int_equal(believe_rate(&b, 0, 8 * S), (336 + 29 * 36 + 46) / 31);
    /* It goes on: the next one does not begin slowly. */
    for (uint64_t i = 1; i <= 30; i++) {
        believe_read(&b, 50, 8 * S + i * S / 20);
    }
    assert_int_equal(believe_rate(&b, 100, 10 * S), 50);
}

static void test_readings_that_come_slowly_are_as_good(void **state)
{
    struct believe b = {0};

    (void)state;
    for (uint64_t i = 0; i <= 4; i++) {
        assert_false(believe_is_measured(&b, (i + 1) * 2 * S));
        believe_read(&b, 10 * i, (i + 1) * 2 * S);
    }
    assert_int_equal(believe_rate(&b, 0, 11 * S), 25); /* Without the first. */
    believe_read(&b, 90, 11 * S);                      /* Of the next one. */
    assert_int_equal(believe_rate(&b, 0, 11 * S), 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_said_counts_until_something_was_measured),
        cmocka_unit_test(test_of_two_measures_the_larger_one_counts),
        cmocka_unit_test(test_the_last_measures_count_and_for_as_long_as_the_first),
        cmocka_unit_test(test_a_link_that_stays_slow_is_tried_ever_more_rarely),
        cmocka_unit_test(test_a_link_that_was_well_for_long_is_tried_soon),
        cmocka_unit_test(test_a_link_that_carries_nothing_is_known_to),
        cmocka_unit_test(test_one_reading_is_nothing),
        cmocka_unit_test(test_readings_that_come_slowly_are_as_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
