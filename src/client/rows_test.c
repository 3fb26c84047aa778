/* Rows in any order against a naive model. */

#include "base/mem.h"
#include "base/rng.h"
#include "client/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every row is there once, in order, and each place knows its row. */
static void check(const struct client_rows *r, const int64_t *rows, uint32_t count)
{
    assert_int_equal(r->named, count);
    for (uint32_t i = 1; i < r->count; i++) {
        assert_true(r->rows[i] > r->rows[i - 1]);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = r->places == NULL ? i : r->places[i];

        assert_true(place < r->count);
        assert_int_equal(r->rows[place], rows[i]);
    }
    for (uint32_t k = 0; k < r->count; k++) {
        bool found = false;

        for (uint32_t i = 0; i < count && !found; i++) {
            found = rows[i] == r->rows[k];
        }
        assert_true(found);
    }
}

static void test_random_rows_are_put_in_order(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (int round = 0; round < 2000; round++) {
        uint32_t count = (uint32_t)rng_below(&rng, 60);
        uint64_t max = UINT64_C(1) << rng_below(&rng, 33);
        bool ascending = round % 5 == 0;
        struct client_rows r, moved;
        int64_t rows[60];

        for (uint32_t i = 0; i < count; i++) {
            rows[i] = (int64_t)rng_below(&rng, max);
            if (ascending) {
                rows[i] = i;
                max = 60;
            }
        }
        assert_int_equal(client_rows_init(&r, rows, count, max, NULL), OK);
        check(&r, rows, count);
        assert_true(!ascending || r.places == NULL);
        client_rows_move(&moved, &r);
        memset(&r, 0x55, sizeof(r));
        check(&moved, rows, count);
        client_rows_deinit(&moved);
    }
}

static void test_a_long_list_is_put_in_order(void **state)
{
    enum { COUNT = 200000 };
    int64_t *rows = calloc(COUNT, sizeof(*rows));
    struct client_rows r;
    struct rng rng;

    (void)state;
    rng_init(&rng, 2);
    for (uint32_t i = 0; i < COUNT; i++) {
        rows[i] = (int64_t)rng_below(&rng, UINT64_C(1) << 32);
    }
    assert_int_equal(client_rows_init(&r, rows, COUNT, UINT64_C(1) << 32, NULL), OK);
    for (uint32_t i = 1; i < r.count; i++) {
        assert_true(r.rows[i] > r.rows[i - 1]);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(r.rows[r.places[i]], rows[i]);
    }
    client_rows_deinit(&r);
    free(rows);
}

static void test_values_are_spread_and_gathered(void **state)
{
    const int64_t rows[5] = {9, 2, 9, 0, 9};
    const float updates[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, values[6] = {1, 2, 3, 4, 5, 6};
    const float sums[6] = {7, 8, 3, 4, 1 + 5 + 9, 2 + 6 + 10};
    const float spread[10] = {5, 6, 3, 4, 5, 6, 1, 2, 5, 6};
    float out[10] = {0};
    struct client_rows r;

    (void)state;
    assert_int_equal(client_rows_init(&r, rows, 5, 10, NULL), OK);
    assert_int_equal(r.count, 3);
    client_rows_gather(&r, updates, 2, out);
    assert_memory_equal(out, sums, sizeof(sums));
    client_rows_spread(&r, values, 2, out);
    assert_memory_equal(out, spread, sizeof(spread));
    client_rows_deinit(&r);
}

static void test_rows_that_are_not_there_are_named(void **state)
{
    struct client_rows r;
    struct err_text text;

    (void)state;
    assert_int_equal(client_rows_init(&r, (int64_t[3]){1, 2, 3}, 3, 3, &text), ERR_INVALID);
    assert_string_equal(text.text,
                        "row 3 (number 2 of the list, from 0) is not in the table of 3 rows");
    assert_int_equal(client_rows_init(&r, (int64_t[1]){INT64_MIN}, 1, 3, &text), ERR_INVALID);
    assert_int_equal(client_rows_init(&r, (int64_t[1]){0}, UINT64_C(1) << 32, 3, &text),
                     ERR_TOO_BIG);
}

static void test_memory_may_end_at_every_allocation(void **state)
{
    int64_t ascending[100], descending[100];
    struct client_rows r;

    (void)state;
    for (int i = 0; i < 100; i++) {
        ascending[i] = i;
        descending[i] = 99 - i;
    }
    for (uint64_t k = 1; k <= 3; k++) {
        mem_fail_at(k, 1);
        assert_int_equal(client_rows_init(&r, descending, 100, 100, NULL), ERR_NOMEM);
        mem_fail_at(0, 0);
    }
    mem_fail_at(1, 1);
    assert_int_equal(client_rows_init(&r, ascending, 100, 100, NULL), ERR_NOMEM);
    mem_fail_at(1, 1);
    assert_int_equal(client_rows_init(&r, ascending, 16, 100, NULL), OK); /* Few need none. */
    mem_fail_at(0, 0);
    client_rows_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_rows_are_put_in_order),
        cmocka_unit_test(test_a_long_list_is_put_in_order),
        cmocka_unit_test(test_values_are_spread_and_gathered),
        cmocka_unit_test(test_rows_that_are_not_there_are_named),
        cmocka_unit_test(test_memory_may_end_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
