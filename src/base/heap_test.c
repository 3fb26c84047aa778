/* Priority queue: order, moves, limits, and thousands of random steps beside a naive list. */

#include "base/heap.h"
#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { NODES = 200, STEPS = 20000 };

static void test_elements_leave_in_order_of_time(void **state)
{
    static const int64_t times[] = {5, -3, 9, 0, INT64_MAX, 7, INT64_MIN, 1};
    enum { COUNT = sizeof(times) / sizeof(times[0]) };
    struct heap_node nodes[COUNT];
    struct heap h;
    int64_t last = INT64_MIN, at;

    (void)state;
    heap_init(&h, COUNT);
    for (int i = 0; i < COUNT; i++) {
        heap_node_init(&nodes[i]);
        assert_int_equal(heap_push(&h, &nodes[i], times[i]), OK);
        assert_true(heap_contains(&nodes[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        struct heap_node *n = heap_first(&h, &at);

        assert_true(at >= last);
        assert_int_equal(times[n - nodes], at);
        last = at;
        heap_remove(&h, n);
        assert_false(heap_contains(n));
    }
    assert_null(heap_first(&h, NULL));
    heap_deinit(&h);
}

static void test_equal_times_leave_in_order(void **state)
{
    struct heap_node nodes[100];
    struct heap h;

    (void)state;
    heap_init(&h, 100);
    for (int i = 0; i < 100; i++) {
        heap_node_init(&nodes[i]);
        assert_int_equal(heap_push(&h, &nodes[i], i % 2), OK);
    }
    for (int i = 0; i < 100; i++) {
        int expected = i < 50 ? 2 * i : 2 * (i - 50) + 1;

        assert_ptr_equal(heap_first(&h, NULL), &nodes[expected]);
        heap_remove(&h, &nodes[expected]);
    }
    heap_deinit(&h);
}

static void test_a_moved_element_goes_behind_its_equals(void **state)
{
    struct heap_node a, b;
    struct heap h;

    (void)state;
    heap_init(&h, 2);
    heap_node_init(&a);
    heap_node_init(&b);
    assert_int_equal(heap_push(&h, &a, 10), OK);
    assert_int_equal(heap_push(&h, &b, 10), OK);
    heap_move(&h, &a, 10);
    assert_ptr_equal(heap_first(&h, NULL), &b);
    heap_move(&h, &a, 9);
    assert_ptr_equal(heap_first(&h, NULL), &a);
    heap_deinit(&h);
}

static void test_beyond_the_limit_is_refused(void **state)
{
    struct heap_node nodes[3];
    struct heap h;

    (void)state;
    heap_init(&h, 2);
    for (int i = 0; i < 3; i++) {
        heap_node_init(&nodes[i]);
        assert_int_equal(heap_push(&h, &nodes[i], i), i < 2 ? OK : ERR_TOO_BIG);
    }
    assert_false(heap_contains(&nodes[2]));
    heap_remove(&h, &nodes[2]);
    heap_remove(&h, &nodes[0]);
    assert_int_equal(heap_push(&h, &nodes[2], 0), OK);
    heap_deinit(&h);
}

static void test_no_memory_leaves_the_heap_as_it_was(void **state)
{
    struct heap_node nodes[17];
    struct heap h;

    (void)state;
    heap_init(&h, 100);
    for (int i = 0; i < 17; i++) {
        heap_node_init(&nodes[i]);
        mem_fail_at(1, 1);
        if (heap_push(&h, &nodes[i], -i) != OK) {
            assert_false(heap_contains(&nodes[i]));
            assert_int_equal(heap_push(&h, &nodes[i], -i), OK);
        }
        mem_fail_at(0, 0);
        assert_ptr_equal(heap_first(&h, NULL), &nodes[i]);
    }
    heap_deinit(&h);
}

static void test_after_reserving_no_push_allocates(void **state)
{
    struct heap_node nodes[100];
    struct heap h;
    uint64_t allocations;

    (void)state;
    heap_init(&h, 100);
    assert_int_equal(heap_reserve(&h, 101), ERR_TOO_BIG);
    mem_fail_at(1, 1);
    assert_int_equal(heap_reserve(&h, 100), ERR_NOMEM);
    assert_int_equal(heap_reserve(&h, 100), OK);
    allocations = mem_allocations();
    for (int i = 0; i < 100; i++) {
        heap_node_init(&nodes[i]);
        assert_int_equal(heap_push(&h, &nodes[i], i), OK);
    }
    assert_int_equal(mem_allocations(), allocations);
    heap_deinit(&h);
}

/* The naive version: unsorted, the first is searched for. */
struct naive {
    int64_t at[NODES];
    uint64_t order[NODES]; /* Zero: not queued. */
    uint64_t next;
};

static int naive_first(const struct naive *v)
{
    int best = -1;

    for (int i = 0; i < NODES; i++) {
        if (v->order[i] != 0 && (best < 0 || v->at[i] < v->at[best] ||
                                 (v->at[i] == v->at[best] && v->order[i] < v->order[best]))) {
            best = i;
        }
    }
    return best;
}

static void naive_step(struct naive *v, struct heap *h, struct heap_node *nodes, struct rng *r)
{
    int64_t i = rng_between(r, 0, NODES - 1);
    int64_t at = rng_between(r, -50, 50);

    if (v->order[i] != 0 && rng_chance(r, 500000)) {
        heap_remove(h, &nodes[i]);
        v->order[i] = 0;
        return;
    }
    if (v->order[i] != 0) {
        heap_move(h, &nodes[i], at);
    } else {
        assert_int_equal(heap_push(h, &nodes[i], at), OK);
    }
    v->at[i] = at;
    v->order[i] = ++v->next;
}

static void test_random_steps_agree_with_a_naive_list(void **state)
{
    static struct heap_node nodes[NODES];
    struct naive v = {0};
    struct heap h;
    struct rng r;

    (void)state;
    rng_init(&r, 1);
    heap_init(&h, NODES);
    for (int i = 0; i < NODES; i++) {
        heap_node_init(&nodes[i]);
    }
    for (int step = 0; step < STEPS; step++) {
        int64_t at = 0;
        int first;

        naive_step(&v, &h, nodes, &r);
        first = naive_first(&v);
        assert_ptr_equal(heap_first(&h, &at), first < 0 ? NULL : &nodes[first]);
        assert_int_equal(at, first < 0 ? 0 : v.at[first]);
    }
    heap_deinit(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_leave_in_order_of_time),
        cmocka_unit_test(test_equal_times_leave_in_order),
        cmocka_unit_test(test_a_moved_element_goes_behind_its_equals),
        cmocka_unit_test(test_beyond_the_limit_is_refused),
        cmocka_unit_test(test_no_memory_leaves_the_heap_as_it_was),
        cmocka_unit_test(test_after_reserving_no_push_allocates),
        cmocka_unit_test(test_random_steps_agree_with_a_naive_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
