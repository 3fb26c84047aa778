/* Hash table: limits, gaps, and thousands of random steps beside a naive array. */

#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { KEYS = 64, LIMIT = 40, STEPS = 50000 };

static char values[KEYS];

static void test_what_was_added_is_found(void **state)
{
    struct map m;

    (void)state;
    assert_int_equal(map_init(&m, 3), OK);
    assert_int_equal(map_add(&m, 0, &values[0]), OK);
    assert_int_equal(map_add(&m, UINT64_MAX, &values[1]), OK);
    assert_ptr_equal(map_get(&m, 0), &values[0]);
    assert_ptr_equal(map_get(&m, UINT64_MAX), &values[1]);
    assert_null(map_get(&m, 1));
    assert_int_equal(map_add(&m, 0, &values[2]), ERR_EXISTS);
    assert_ptr_equal(map_get(&m, 0), &values[0]);
    assert_ptr_equal(map_remove(&m, 0), &values[0]);
    assert_null(map_remove(&m, 0));
    assert_int_equal(map_count(&m), 1);
    map_deinit(&m);
}

static void test_beyond_the_limit_is_refused_and_room_comes_back(void **state)
{
    struct map m;

    (void)state;
    for (uint32_t limit = 1; limit < 20; limit++) {
        assert_int_equal(map_init(&m, limit), OK);
        for (uint32_t i = 0; i < limit; i++) {
            assert_int_equal(map_add(&m, i, &values[i]), OK);
        }
        assert_int_equal(map_add(&m, 1000, &values[0]), ERR_TOO_BIG);
        assert_int_equal(map_add(&m, 0, &values[0]), ERR_EXISTS);
        assert_ptr_equal(map_remove(&m, 0), &values[0]);
        assert_int_equal(map_add(&m, 1000, &values[0]), OK);
        map_deinit(&m);
    }
}

static void test_no_memory_is_reported(void **state)
{
    struct map m;

    (void)state;
    mem_fail_at(1, 1);
    assert_int_equal(map_init(&m, 10), ERR_NOMEM);
    map_deinit(&m);
}

/* Check every key, and that a walk visits each entry once. */
static void map_compare(const struct map *m, void *const *naive)
{
    uint32_t cursor = 0, visited = 0, count = 0;
    uint64_t key;
    void *value;

    for (uint64_t k = 0; k < KEYS; k++) {
        assert_ptr_equal(map_get(m, k), naive[k]);
        count += naive[k] != NULL;
    }
    while (map_next(m, &cursor, &key, &value)) {
        assert_true(key < KEYS);
        assert_ptr_equal(value, naive[key]);
        visited++;
    }
    assert_int_equal(visited, count);
    assert_int_equal(map_count(m), count);
}

static void test_random_steps_agree_with_a_naive_array(void **state)
{
    void *naive[KEYS] = {0};
    struct map m;
    struct rng r;

    (void)state;
    rng_init(&r, 1);
    assert_int_equal(map_init(&m, LIMIT), OK);
    for (int step = 0; step < STEPS; step++) {
        uint64_t key = rng_below(&r, KEYS);

        if (rng_chance(&r, 550000)) {
            enum err expected = naive[key] != NULL       ? ERR_EXISTS
                                : map_count(&m) >= LIMIT ? ERR_TOO_BIG
                                                         : OK;

            assert_int_equal(map_add(&m, key, &values[key]), expected);
            naive[key] = expected == OK ? &values[key] : naive[key];
        } else {
            assert_ptr_equal(map_remove(&m, key), naive[key]);
            naive[key] = NULL;
        }
        if (step % 16 == 0) {
            map_compare(&m, naive);
        }
    }
    map_compare(&m, naive);
    map_deinit(&m);
}

static void test_the_same_steps_give_the_same_walk(void **state)
{
    struct map a, b;
    uint32_t at_a = 0, at_b = 0;
    uint64_t key_a, key_b;
    void *value;

    (void)state;
    assert_int_equal(map_init(&a, KEYS), OK);
    assert_int_equal(map_init(&b, KEYS), OK);
    for (uint64_t k = 0; k < KEYS; k++) {
        assert_int_equal(map_add(&a, k * k, &values[k]), OK);
        assert_int_equal(map_add(&b, k * k, &values[k]), OK);
    }
    while (map_next(&a, &at_a, &key_a, &value)) {
        assert_true(map_next(&b, &at_b, &key_b, &value));
        assert_int_equal(key_a, key_b);
    }
    map_deinit(&a);
    map_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_added_is_found),
        cmocka_unit_test(test_beyond_the_limit_is_refused_and_room_comes_back),
        cmocka_unit_test(test_no_memory_is_reported),
        cmocka_unit_test(test_random_steps_agree_with_a_naive_array),
        cmocka_unit_test(test_the_same_steps_give_the_same_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
