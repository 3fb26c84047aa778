/* Batches: every pass has each sample once, and any clock can be asked for. */

#include "app/batch.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT_MAX = 40 };

static struct rng seeded(uint64_t seed)
{
    struct rng r;

    rng_init(&r, seed);
    return r;
}

static void test_every_pass_has_each_sample_once(void **state)
{
    struct rng r = seeded(1);
    struct batch b;

    (void)state;
    for (uint32_t count = 1; count <= COUNT_MAX; count++) {
        for (uint32_t size = 1; size <= COUNT_MAX + 1; size++) {
            uint64_t clock = 1;

            assert_int_equal(batch_init(&b, count, size, &r), OK);
            for (uint32_t pass = 0; pass < 3; pass++) {
                uint32_t seen[COUNT_MAX] = {0}, done = 0, n;

                for (; done < count; done += n, clock++) {
                    const uint32_t *samples = batch_at(&b, clock, &n);

                    assert_int_equal(n, count - done < size ? count - done : size);
                    for (uint32_t i = 0; i < n; i++) {
                        assert_true(samples[i] < count);
                        assert_int_equal(seen[samples[i]]++, 0);
                    }
                }
            }
            batch_deinit(&b);
        }
    }
}

static void test_any_clock_may_be_next(void **state)
{
    struct rng r = seeded(2), jumps = seeded(3);
    struct batch a, b;
    uint32_t n, m;

    (void)state;
    assert_int_equal(batch_init(&a, 37, 5, &r), OK);
    for (uint32_t i = 0; i < 200; i++) {
        uint64_t clock = 1 + rng_below(&jumps, 60);
        const uint32_t *x, *y;

        assert_int_equal(batch_init(&b, 37, 5, &r), OK);
        x = batch_at(&a, clock, &n);
        y = batch_at(&b, clock, &m);
        assert_int_equal(n, m);
        assert_memory_equal(x, y, n * sizeof(*x));
        batch_deinit(&b);
    }
    batch_deinit(&a);
}

static void test_orders_differ_by_pass_and_by_seed(void **state)
{
    struct rng r = seeded(4), other = seeded(5);
    uint32_t first[1000], n;
    struct batch b;

    (void)state;
    assert_int_equal(batch_init(&b, 1000, 1000, &r), OK);
    memcpy(first, batch_at(&b, 1, &n), sizeof(first));
    assert_memory_not_equal(batch_at(&b, 2, &n), first, sizeof(first));
    assert_memory_equal(batch_at(&b, 1, &n), first, sizeof(first));
    batch_deinit(&b);
    assert_int_equal(batch_init(&b, 1000, 1000, &other), OK);
    assert_memory_not_equal(batch_at(&b, 1, &n), first, sizeof(first));
    batch_deinit(&b);
}

/* Every sample is as likely at every place: 6 orders of 3, 6,000 draws, far from the edges. */
static void test_no_order_is_preferred(void **state)
{
    struct rng r = seeded(6);
    uint32_t seen[27] = {0}, n;
    struct batch b;

    (void)state;
    assert_int_equal(batch_init(&b, 3, 3, &r), OK);
    for (uint64_t clock = 1; clock <= 6000; clock++) {
        const uint32_t *x = batch_at(&b, clock, &n);

        seen[x[0] * 9 + x[1] * 3 + x[2]]++;
    }
    for (uint32_t i = 0; i < 27; i++) {
        assert_true(seen[i] == 0 || (seen[i] > 850 && seen[i] < 1150));
    }
    batch_deinit(&b);
}

static void test_no_samples_make_no_batches(void **state)
{
    struct rng r = seeded(7);
    struct batch b;
    uint32_t n = 5;

    (void)state;
    assert_int_equal(batch_init(&b, 0, 3, &r), OK);
    (void)batch_at(&b, 9, &n);
    assert_int_equal(n, 0);
    batch_deinit(&b);
    mem_fail_at(1, 1);
    assert_int_equal(batch_init(&b, 4, 3, &r), ERR_NOMEM);
    mem_fail_at(0, 0);
    batch_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pass_has_each_sample_once),
        cmocka_unit_test(test_any_clock_may_be_next),
        cmocka_unit_test(test_orders_differ_by_pass_and_by_seed),
        cmocka_unit_test(test_no_order_is_preferred),
        cmocka_unit_test(test_no_samples_make_no_batches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
