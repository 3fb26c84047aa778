/* Sets of rows against a naive model. */

#include "app/sparse.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS_MAX = 300 };

static void test_lists_are_those_of_a_naive_set(void **state)
{
    struct sparse_set s;
    struct rng r;

    (void)state;
    rng_init(&r, 5);
    for (uint32_t rows = 1; rows <= ROWS_MAX; rows++) {
        assert_int_equal(sparse_set_init(&s, rows), OK);
        for (uint32_t round = 0; round < 20; round++) {
            bool model[ROWS_MAX] = {false};
            uint32_t adds = (uint32_t)rng_below(&r, (uint64_t)rows * 2), at = 0;

            for (uint32_t i = 0; i < adds; i++) {
                uint32_t row = (uint32_t)rng_below(&r, rows);

                model[row] = true;
                sparse_set_add(&s, row);
            }
            sparse_set_list(&s);
            for (uint32_t row = 0; row < rows; row++) {
                if (model[row]) {
                    assert_true(at < s.count);
                    assert_int_equal(s.rows[at], row);
                    assert_int_equal(sparse_set_slot(&s, row), at);
                    at++;
                }
            }
            assert_int_equal(s.count, at);
        }
        sparse_set_deinit(&s);
    }
}

static void test_out_of_memory_leaves_nothing_behind(void **state)
{
    struct sparse_set s;

    (void)state;
    for (uint64_t k = 1; k <= 3; k++) {
        mem_fail_at(k, 1);
        assert_int_equal(sparse_set_init(&s, 100), ERR_NOMEM);
        mem_fail_at(0, 0);
        assert_null(s.rows);
    }
    sparse_set_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_are_those_of_a_naive_set),
        cmocka_unit_test(test_out_of_memory_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
