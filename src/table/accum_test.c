/* Sums against a naive model: dense and sparse updates in any order, weights, and what is left
 * untouched. */

#include "base/buf.h"
#include "base/rng.h"
#include "table/accum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

enum { ROWS = 70, WIDTH = 3, ELEMENTS = ROWS * WIDTH, RUNS = 2000 };

static struct table_schema schema_of(const char *apply, const char *combine)
{
    struct table_schema_text in = {
        .name = "t", .rows = ROWS, .width = WIDTH, .apply = apply, .combine = combine};
    struct table_schema out;

    assert_int_equal(table_schema_parse(&in, &out, NULL), OK);
    return out;
}

struct model {
    double sum[ELEMENTS];
    bool touched[ROWS];
    bool dense;
    uint32_t weight;
    uint32_t count;
};

static void model_add(struct model *m, const struct table_schema *s, const uint32_t *rows,
                      uint32_t count, const float *x, uint32_t weight)
{
    double factor = s->combine == TABLE_SAMPLES ? weight : 1;

    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t e = 0; e < WIDTH; e++) {
            m->sum[rows[i] * WIDTH + e] += factor * x[i * WIDTH + e];
        }
        m->touched[rows[i]] = true;
    }
    m->weight += s->combine == TABLE_SAMPLES ? weight : 1;
    m->count++;
}

static struct buf *own_of(struct buf_pool *pool, const float *x)
{
    struct buf *b;

    assert_int_equal(buf_take(pool, 64, ELEMENTS * 4 + 2560, &b), OK);
    memcpy(buf_append(b, ELEMENTS * 4), x, ELEMENTS * 4);
    return b;
}

/* Whole numbers, so that every order gives the same sum. */
static uint32_t pick(struct rng *rng, uint32_t *rows, float *x)
{
    uint32_t count = 0;

    for (uint32_t r = 0; r < ROWS; r++) {
        if (rng_below(rng, 4) == 0) {
            rows[count++] = r;
        }
    }
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        x[i] = (float)rng_below(rng, 100) - 50;
    }
    return count;
}

static void one_update(struct rng *rng, struct table_accum *a, struct model *m,
                       const struct table_schema *s, struct buf_pool *pool)
{
    uint32_t rows[ROWS];
    float x[ELEMENTS];
    uint32_t weight = 1 + (uint32_t)rng_below(rng, 5);
    uint32_t count = pick(rng, rows, x);
    bool dense = rng_below(rng, 2) == 0 || count == 0;

    if (dense) {
        count = ROWS;
        for (uint32_t r = 0; r < ROWS; r++) {
            rows[r] = r;
        }
    }
    assert_int_equal(table_accum_prepare(a, s, 0, pool, dense), OK);
    model_add(m, s, rows, count, x, weight);
    if (dense) {
        m->dense = true;
        table_accum_add(a, s, 0, x, a->sum == NULL ? own_of(pool, x) : NULL, weight);
    } else {
        table_accum_add_rows(a, s, 0, rows, count, x, weight);
    }
}

static void check_rows(const struct table_accum *a, const struct model *m)
{
    uint32_t at = 0;

    for (uint32_t r = 0; r < ROWS; r++) {
        if (a->touched == NULL || m->touched[r]) {
            assert_int_equal(table_accum_next_row(a, at, ROWS), r);
            at = r + 1;
        }
    }
    assert_int_equal(table_accum_next_row(a, at, ROWS), ROWS);
}

static void check_sum(const struct table_accum *a, const struct model *m)
{
    const float *sum = (const float *)(const void *)buf_bytes(a->sum);

    assert_int_equal(a->weight, m->weight);
    assert_int_equal(a->count, m->count);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        assert_true(sum[i] == (float)m->sum[i]);
    }
}

static void test_a_sum_is_what_was_added_in_any_mix_of_dense_and_rows(void **state)
{
    static const char *const combines[] = {"sum", "mean", "samples"};
    struct buf_pool *pool;
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    assert_int_equal(buf_pool_create(1 << 24, &pool), OK);
    for (uint32_t run = 0; run < RUNS; run++) {
        struct table_schema s = schema_of("add", combines[run % 3]);
        struct table_accum a = {0};
        struct model m = {.dense = false};
        uint32_t updates = 1 + (uint32_t)rng_below(&rng, 5);

        for (uint32_t i = 0; i < updates; i++) {
            one_update(&rng, &a, &m, &s, pool);
        }
        check_rows(&a, &m);
        table_accum_densify(&a, &s, 0);
        check_sum(&a, &m);
        table_accum_clear(&a);
    }
    buf_pool_destroy(pool);
}

/* Shares that are no powers of two: what is settled is applied to the same bits by everybody. */
static void test_a_settled_sum_weighs_one_and_is_what_is_entered(void **state)
{
    static const char *const combines[] = {"sum", "mean", "samples"};
    struct buf_pool *pool;
    struct rng rng;

    (void)state;
    rng_init(&rng, 8);
    assert_int_equal(buf_pool_create(1 << 24, &pool), OK);
    for (uint32_t run = 0; run < RUNS; run++) {
        struct table_schema s = schema_of("add", combines[run % 3]);
        float share = 1.0F / (float)(1 + run % 7);
        float values[ELEMENTS] = {0};
        struct table_accum a = {0};
        struct model m = {.dense = false};
        float scale;

        one_update(&rng, &a, &m, &s, pool);
        one_update(&rng, &a, &m, &s, pool);
        scale = table_accum_scale(s.combine, a.weight) * share;
        table_accum_settle(&a, &s, 0, share);
        assert_int_equal(a.weight, 1);
        assert_int_equal(a.count, 2);
        assert_int_equal(table_accum_apply(&a, &s, 0, 1, values, NULL), 0);
        for (uint32_t i = 0; i < ELEMENTS; i++) {
            assert_true(values[i] == (float)m.sum[i] * scale);
        }
        table_accum_clear(&a);
    }
    buf_pool_destroy(pool);
}

static void test_applying_leaves_rows_alone_that_nobody_touched(void **state)
{
    struct table_schema s = schema_of("momentum lr=1 mu=0.5", "sum");
    const uint32_t rows[] = {3, 4, 69};
    float values[ELEMENTS], state_plane[ELEMENTS], x[3 * WIDTH];
    struct table_accum a = {0};
    struct buf_pool *pool;

    (void)state;
    assert_int_equal(buf_pool_create(1 << 20, &pool), OK);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        values[i] = 1;
        state_plane[i] = 2;
    }
    for (uint32_t i = 0; i < 3 * WIDTH; i++) {
        x[i] = 4;
    }
    assert_int_equal(table_accum_prepare(&a, &s, 0, pool, false), OK);
    table_accum_add_rows(&a, &s, 0, rows, 3, x, 1);
    assert_int_equal(table_accum_apply(&a, &s, 0, 1, values, state_plane), 0);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        uint32_t row = i / WIDTH;
        bool touched = row == 3 || row == 4 || row == 69;

        assert_true(state_plane[i] == (touched ? 5.0f : 2.0f));
        assert_true(values[i] == (touched ? -4.0f : 1.0f));
    }
    table_accum_clear(&a);
    buf_pool_destroy(pool);
}

static void test_what_is_added_to_touched_rows_is_held_and_the_others_are_not(void **state)
{
    struct table_schema s = schema_of("sgd lr=1", "mean");
    const uint32_t rows[] = {3, 4, 69};
    float values[ELEMENTS], held[ELEMENTS], x[3 * WIDTH];
    struct table_accum a = {0};
    struct buf_pool *pool;

    (void)state;
    assert_int_equal(buf_pool_create(1 << 20, &pool), OK);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        values[i] = 1;
        held[i] = -0.0F;
    }
    for (uint32_t i = 0; i < 3 * WIDTH; i++) {
        x[i] = 4;
    }
    assert_int_equal(table_accum_prepare(&a, &s, 0, pool, false), OK);
    table_accum_add_rows(&a, &s, 0, rows, 3, x, 1);
    table_accum_add_rows(&a, &s, 0, rows, 3, x, 1);
    assert_int_equal(table_accum_apply_tracked(&a, &s, 0, 1, 0.25F, values, NULL, held), 0);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        uint32_t row = i / WIDTH;
        bool touched = row == 3 || row == 4 || row == 69;

        /* Two updates of 4, halved by the mean, then a quarter of it. */
        assert_true(values[i] == (touched ? 0.0f : 1.0f));
        assert_true(held[i] == (touched ? -1.0f : 0.0f) && signbit(held[i]));
    }
    table_accum_clear(&a);
    buf_pool_destroy(pool);
}

static void test_a_share_of_one_and_nothing_held_is_the_plain_way(void **state)
{
    struct table_schema s = schema_of("add", "mean");
    float x[ELEMENTS], values[ELEMENTS], tracked[ELEMENTS], held[ELEMENTS] = {0};
    struct table_accum a = {0};
    struct buf_pool *pool;
    struct rng rng;

    (void)state;
    rng_init(&rng, 41);
    assert_int_equal(buf_pool_create(1 << 20, &pool), OK);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        x[i] = (float)rng_unit(&rng);
        values[i] = tracked[i] = (float)rng_unit(&rng);
    }
    table_accum_add(&a, &s, 0, x, own_of(pool, x), 1);
    table_accum_add(&a, &s, 0, x, NULL, 1);
    table_accum_add(&a, &s, 0, x, NULL, 1);
    assert_int_equal(table_accum_apply(&a, &s, 0, 1, values, NULL), 0);
    assert_int_equal(table_accum_apply_tracked(&a, &s, 0, 1, 1, tracked, NULL, NULL), 0);
    assert_memory_equal(values, tracked, sizeof(values));
    assert_int_equal(table_accum_apply_tracked(&a, &s, 0, 1, 0.5F, tracked, NULL, held), 0);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        volatile float sum = x[i] + x[i], third = 1.0f / 3, half = third * 0.5f, change;

        sum = sum + x[i];
        change = half * sum;
        assert_true(held[i] == change);
    }
    table_accum_clear(&a);
    buf_pool_destroy(pool);
}

static void test_the_first_dense_update_becomes_the_sum_without_a_copy(void **state)
{
    struct table_schema s = schema_of("add", "sum");
    float x[ELEMENTS] = {1};
    struct table_accum a = {0};
    struct buf_pool *pool;
    struct buf *own;

    (void)state;
    assert_int_equal(buf_pool_create(1 << 20, &pool), OK);
    own = own_of(pool, x);
    table_accum_add(&a, &s, 0, x, own, 1);
    assert_ptr_equal(a.sum, own);
    table_accum_clear(&a);
    assert_null(a.sum);
    buf_pool_destroy(pool);
}

static void test_means_and_samples_divide_by_what_they_weigh(void **state)
{
    (void)state;
    assert_true(table_accum_scale(TABLE_SUM, 8) == 1.0f);
    assert_true(table_accum_scale(TABLE_MEAN, 8) == 0.125f);
    assert_true(table_accum_scale(TABLE_SAMPLES, 4) == 0.25f);
    assert_true(table_accum_scale(TABLE_MEAN, 0) == 1.0f);
}

static void test_a_pool_that_is_full_is_said_before_anything_changes(void **state)
{
    struct table_schema s = schema_of("add", "sum");
    struct table_accum a = {0};
    struct buf_pool *pool;

    (void)state;
    assert_int_equal(buf_pool_create(4096, &pool), OK);
    assert_int_not_equal(table_accum_prepare(&a, &s, 0, pool, false), OK);
    assert_null(a.sum);
    assert_null(a.touched);
    buf_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sum_is_what_was_added_in_any_mix_of_dense_and_rows),
        cmocka_unit_test(test_a_settled_sum_weighs_one_and_is_what_is_entered),
        cmocka_unit_test(test_applying_leaves_rows_alone_that_nobody_touched),
        cmocka_unit_test(test_what_is_added_to_touched_rows_is_held_and_the_others_are_not),
        cmocka_unit_test(test_a_share_of_one_and_nothing_held_is_the_plain_way),
        cmocka_unit_test(test_the_first_dense_update_becomes_the_sum_without_a_copy),
        cmocka_unit_test(test_means_and_samples_divide_by_what_they_weigh),
        cmocka_unit_test(test_a_pool_that_is_full_is_said_before_anything_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
