/* Back-off: how long, how different, and the same for the same seed. */

#include "net/session/backoff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SEEDS = 500, FAILURES = 40 };

static const struct net_backoff_config config = {.first_ns = 100000, .max_ns = 3000000};

static void test_each_wait_is_around_twice_the_one_before(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct net_backoff b;
        int64_t mean_ns = config.first_ns;

        net_backoff_init(&b, &config, seed);
        for (int i = 0; i < 4; i++) {
            int64_t wait_ns = net_backoff_next(&b);

            assert_in_range(wait_ns, mean_ns / 2, mean_ns + mean_ns / 2);
            mean_ns *= 2;
        }
    }
}

static void test_no_wait_is_longer_than_the_cap(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct net_backoff b;

        net_backoff_init(&b, &config, seed);
        for (int i = 0; i < FAILURES; i++) {
            int64_t wait_ns = net_backoff_next(&b);

            assert_in_range(wait_ns, 1, config.max_ns);
            if (i > 5) {
                assert_true(wait_ns >= config.max_ns / 2);
            }
        }
    }
}

/* How many of many machines wait for exactly the most frequent time, after @failures each. */
static int largest_crowd(int failures)
{
    int64_t waits[SEEDS];
    int largest = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct net_backoff b;

        net_backoff_init(&b, &config, seed);
        for (int i = 0; i <= failures; i++) {
            waits[seed] = net_backoff_next(&b);
        }
    }
    for (int i = 0; i < SEEDS; i++) {
        int same = 0;

        for (int k = 0; k < SEEDS; k++) {
            same += waits[k] == waits[i];
        }
        largest = same > largest ? same : largest;
    }
    return largest;
}

static void test_many_machines_do_not_come_back_together(void **state)
{
    (void)state;
    assert_true(largest_crowd(0) < 5);
    assert_true(largest_crowd(3) < 5);
    /* At the cap too: that is when all of them have lost the same server for long. */
    assert_true(largest_crowd(FAILURES) < 5);
}

static void test_success_makes_the_next_wait_small_again(void **state)
{
    struct net_backoff b;

    (void)state;
    net_backoff_init(&b, &config, 7);
    for (int i = 0; i < FAILURES; i++) {
        (void)net_backoff_next(&b);
    }
    net_backoff_reset(&b);
    assert_in_range(net_backoff_next(&b), config.first_ns / 2, config.first_ns * 3 / 2);
    assert_in_range(net_backoff_next(&b), config.first_ns, config.first_ns * 3);
}

static void test_the_seed_decides_the_waits(void **state)
{
    struct net_backoff a, b, c;
    int different = 0;

    (void)state;
    net_backoff_init(&a, &config, 42);
    net_backoff_init(&b, &config, 42);
    net_backoff_init(&c, &config, 43);
    for (int i = 0; i < FAILURES; i++) {
        int64_t wait_ns = net_backoff_next(&a);

        assert_int_equal(net_backoff_next(&b), wait_ns);
        different += net_backoff_next(&c) != wait_ns;
    }
    assert_true(different > FAILURES / 2);
}

static void test_extreme_times_do_not_overflow(void **state)
{
    static const struct net_backoff_config extremes[] = {
        {1, 1}, {1, 2}, {1, INT64_MAX}, {INT64_MAX, INT64_MAX}, {INT64_MAX / 2 + 1, INT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(extremes) / sizeof(extremes[0]); i++) {
        struct net_backoff b;

        net_backoff_init(&b, &extremes[i], i);
        for (int k = 0; k < 100; k++) {
            int64_t wait_ns = net_backoff_next(&b);

            assert_true(wait_ns >= 0 && wait_ns <= extremes[i].max_ns);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_wait_is_around_twice_the_one_before),
        cmocka_unit_test(test_no_wait_is_longer_than_the_cap),
        cmocka_unit_test(test_many_machines_do_not_come_back_together),
        cmocka_unit_test(test_success_makes_the_next_wait_small_again),
        cmocka_unit_test(test_the_seed_decides_the_waits),
        cmocka_unit_test(test_extreme_times_do_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
