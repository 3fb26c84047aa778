/* Bounded queue. */

#include "base/mem.h"
#include "base/ring.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char elements[1000];

static void test_elements_leave_in_the_order_they_came(void **state)
{
    struct ring r;

    (void)state;
    assert_int_equal(ring_init(&r, 3), OK);
    assert_null(ring_pop(&r));
    assert_null(ring_peek(&r, 0));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ring_push(&r, &elements[i]), OK);
    }
    assert_ptr_equal(ring_peek(&r, 2), &elements[2]);
    assert_null(ring_peek(&r, 3));
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(ring_peek(&r, 0), &elements[i]);
        assert_ptr_equal(ring_pop(&r), &elements[i]);
    }
    assert_null(ring_pop(&r));
    ring_deinit(&r);
}

static void test_a_full_queue_says_again_at_its_limit_exactly(void **state)
{
    (void)state;
    for (uint32_t limit = 1; limit < 20; limit++) {
        struct ring r;

        assert_int_equal(ring_init(&r, limit), OK);
        for (uint32_t i = 0; i < limit; i++) {
            assert_int_equal(ring_push(&r, &elements[i]), OK);
        }
        assert_int_equal(ring_push(&r, &elements[0]), ERR_AGAIN);
        assert_int_equal(ring_count(&r), limit);
        assert_ptr_equal(ring_pop(&r), &elements[0]);
        assert_int_equal(ring_push(&r, &elements[limit]), OK);
        ring_deinit(&r);
    }
}

static void test_the_counters_may_wrap(void **state)
{
    struct ring r;

    (void)state;
    assert_int_equal(ring_init(&r, 5), OK);
    r.head = r.tail = UINT32_MAX - 2;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ring_push(&r, &elements[i]), OK);
    }
    assert_int_equal(ring_count(&r), 5);
    assert_int_equal(ring_push(&r, &elements[5]), ERR_AGAIN);
    for (uint32_t i = 0; i < 5; i++) {
        assert_ptr_equal(ring_peek(&r, i), &elements[i]);
    }
    for (int i = 0; i < 5; i++) {
        assert_ptr_equal(ring_pop(&r), &elements[i]);
    }
    assert_int_equal(ring_count(&r), 0);
    ring_deinit(&r);
}

static void test_random_steps_keep_the_order(void **state)
{
    uint32_t pushed = 0, popped = 0;
    struct ring r;
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    assert_int_equal(ring_init(&r, 7), OK);
    for (int step = 0; step < 20000; step++) {
        if (rng_chance(&rng, 500000)) {
            enum err expected = pushed - popped == 7 ? ERR_AGAIN : OK;

            assert_int_equal(ring_push(&r, &elements[pushed % 1000]), expected);
            pushed += expected == OK;
        } else {
            void *expected = pushed == popped ? NULL : &elements[popped % 1000];

            assert_ptr_equal(ring_pop(&r), expected);
            popped += expected != NULL;
        }
    }
    ring_deinit(&r);
}

static void test_no_memory_is_reported(void **state)
{
    struct ring r;

    (void)state;
    mem_fail_at(1, 1);
    assert_int_equal(ring_init(&r, 10), ERR_NOMEM);
    ring_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_leave_in_the_order_they_came),
        cmocka_unit_test(test_a_full_queue_says_again_at_its_limit_exactly),
        cmocka_unit_test(test_the_counters_may_wrap),
        cmocka_unit_test(test_random_steps_keep_the_order),
        cmocka_unit_test(test_no_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
