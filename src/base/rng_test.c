/* Random numbers: the same on every machine and in every version, and fair enough. */

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Golden numbers come from a second implementation (Python). Changing them breaks every seed that
 * somebody wrote down. */
static void test_a_seed_gives_its_numbers_forever(void **state)
{
    static const uint64_t golden[] = {0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1,
                                      0xecb8ad4703b360a1};
    struct rng r;

    (void)state;
    rng_init(&r, 42);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(rng_next(&r), golden[i]);
    }
    rng_init(&r, 0);
    assert_int_equal(rng_next(&r), 0x99ec5f36cb75f2b4);
    assert_int_equal(rng_next(&r), 0xbf6e1f784956452a);
}

static void test_a_fork_has_its_own_numbers_and_leaves_the_parent_alone(void **state)
{
    struct rng parent, untouched, child, sibling;

    (void)state;
    rng_init(&parent, 42);
    untouched = parent;
    child = rng_fork(&parent, 7);
    sibling = rng_fork(&parent, 8);
    assert_memory_equal(&parent, &untouched, sizeof(parent));
    assert_int_equal(rng_next(&child), 0xf31a6ee6eecbc943);
    assert_int_equal(rng_next(&child), 0xc383ed8c19c11be1);
    assert_int_not_equal(rng_next(&sibling), 0xf31a6ee6eecbc943);
}

static void test_a_copy_goes_on_with_the_same_numbers(void **state)
{
    struct rng r, copy;

    (void)state;
    rng_init(&r, 3);
    (void)rng_next(&r);
    copy = r;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(rng_next(&r), rng_next(&copy));
    }
}

static void test_below_is_fair(void **state)
{
    enum { BOUND = 7, DRAWS = 70000 };
    int counts[BOUND] = {0};
    struct rng r;

    (void)state;
    rng_init(&r, 5);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t x = rng_below(&r, BOUND);

        assert_true(x < BOUND);
        counts[x]++;
    }
    /* Five standard deviations are 463. */
    for (int i = 0; i < BOUND; i++) {
        assert_in_range(counts[i], DRAWS / BOUND - 463, DRAWS / BOUND + 463);
    }
}

/* With a bound of 3 * 2^62, taking the remainder alone would hit the lowest third twice as often
 * as the others. */
static void test_below_has_no_modulo_bias(void **state)
{
    enum { DRAWS = 30000 };
    struct rng r;
    int low = 0;

    (void)state;
    rng_init(&r, 6);
    for (int i = 0; i < DRAWS; i++) {
        low += rng_below(&r, UINT64_C(3) << 62) < UINT64_C(1) << 62;
    }
    assert_in_range(low, DRAWS / 3 - 408, DRAWS / 3 + 408);
    assert_int_equal(rng_below(&r, 1), 0);
}

static void test_between_reaches_both_ends_and_no_further(void **state)
{
    int seen_low = 0, seen_high = 0;
    struct rng r;

    (void)state;
    rng_init(&r, 7);
    for (int i = 0; i < 1000; i++) {
        int64_t x = rng_between(&r, -2, 2);

        assert_true(x >= -2 && x <= 2);
        seen_low += x == -2;
        seen_high += x == 2;
    }
    assert_true(seen_low > 0 && seen_high > 0);
    assert_int_equal(rng_between(&r, 9, 9), 9);
    assert_int_equal(rng_between(&r, INT64_MIN, INT64_MIN), INT64_MIN);
    (void)rng_between(&r, INT64_MIN, INT64_MAX);
}

static void test_chance_is_in_parts_per_million(void **state)
{
    struct rng r;
    int hits = 0;

    (void)state;
    rng_init(&r, 8);
    for (int i = 0; i < 100000; i++) {
        hits += rng_chance(&r, 250000);
        assert_false(rng_chance(&r, 0));
        assert_true(rng_chance(&r, 1000000));
    }
    assert_in_range(hits, 25000 - 685, 25000 + 685);
}

static void test_unit_is_below_one(void **state)
{
    struct rng r;
    double sum = 0;

    (void)state;
    rng_init(&r, 9);
    for (int i = 0; i < 100000; i++) {
        double x = rng_unit(&r);

        assert_true(x >= 0 && x < 1);
        sum += x;
    }
    assert_true(sum > 49500 && sum < 50500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_seed_gives_its_numbers_forever),
        cmocka_unit_test(test_a_fork_has_its_own_numbers_and_leaves_the_parent_alone),
        cmocka_unit_test(test_a_copy_goes_on_with_the_same_numbers),
        cmocka_unit_test(test_below_is_fair),
        cmocka_unit_test(test_below_has_no_modulo_bias),
        cmocka_unit_test(test_between_reaches_both_ends_and_no_further),
        cmocka_unit_test(test_chance_is_in_parts_per_million),
        cmocka_unit_test(test_unit_is_below_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
