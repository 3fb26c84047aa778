/* The loops of every kind of processor against one operation at a time, bit for bit. */

#include "table/kernel.h"

#include "base/limits.h"
#include "table/testing.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { OFFSETS = 5 };

static const uint32_t offsets[OFFSETS] = {0, 1, 3, 8, 15};

static const float bad_floats[] = {NAN, -NAN, INFINITY, -INFINITY};

/* Two arrays with their own alignment, and a copy of the first. */
struct arrays {
    uint32_t count;
    uint32_t sum_offset;
    uint32_t x_offset;
    float *sum;
    float *x;
    float *before;
};

static struct arrays arrays_make(struct rng *r, uint32_t count)
{
    struct arrays a = {.count = count};

    a.sum_offset = offsets[rng_below(r, OFFSETS)];
    a.x_offset = offsets[rng_below(r, OFFSETS)];
    a.sum = testing_array(a.sum_offset, count);
    a.x = testing_array(a.x_offset, count);
    a.before = testing_array(0, count);
    testing_fill(r, a.sum, count);
    testing_fill(r, a.x, count);
    memcpy(a.before, a.sum, count * sizeof(float));
    return a;
}

static void arrays_free(struct arrays *a)
{
    testing_array_free(a->sum, a->sum_offset);
    testing_array_free(a->x, a->x_offset);
    testing_array_free(a->before, 0);
}

static void check_add(const struct table_loops *loops, struct rng *r, uint32_t count)
{
    struct arrays a = arrays_make(r, count);

    loops->add(a.sum, a.x, count);
    for (uint32_t i = 0; i < count; i++) {
        a.before[i] = testing_add(a.before[i], a.x[i]);
    }
    testing_alike(a.sum, a.before, count);
    arrays_free(&a);
}

static void check_add_scaled(const struct table_loops *loops, struct rng *r, uint32_t count)
{
    struct arrays a = arrays_make(r, count);
    float scale = testing_float(r);
    bool finite = loops->sum_finite(a.sum, a.x, scale, count);
    bool expected = true;

    testing_alike(a.sum, a.before, count);
    loops->add_scaled(a.sum, a.x, scale, count);
    for (uint32_t i = 0; i < count; i++) {
        a.before[i] = testing_add(a.before[i], testing_mul(scale, a.x[i]));
        expected = expected && testing_is_finite(a.before[i]);
    }
    testing_alike(a.sum, a.before, count);
    assert_int_equal(finite, expected);
    arrays_free(&a);
}

static void check_scale(const struct table_loops *loops, struct rng *r, uint32_t count)
{
    struct arrays a = arrays_make(r, count);
    float scale = testing_float(r);

    loops->scale(a.sum, scale, count);
    for (uint32_t i = 0; i < count; i++) {
        a.before[i] = testing_mul(a.before[i], scale);
    }
    testing_alike(a.sum, a.before, count);
    arrays_free(&a);
}

static void test_every_kind_of_loop_gives_the_bits_of_single_operations(void **state)
{
    struct rng r;

    (void)state;
    for (uint32_t k = 0; k < TABLE_LOOPS_MAX; k++) {
        const struct table_loops *loops = table_loops_at(k);

        if (loops == NULL) {
            print_message("this processor lacks kind %u of the loops\n", k);
            continue;
        }
        rng_init(&r, 4711 + k);
        for (uint32_t i = 0; i < 40 * TESTING_COUNTS; i++) {
            uint32_t count = testing_counts[i % TESTING_COUNTS];

            if (count > 1000 && i > 5 * TESTING_COUNTS) {
                continue;
            }
            check_add(loops, &r, count);
            check_add_scaled(loops, &r, count);
            check_scale(loops, &r, count);
        }
    }
}

static void test_the_plain_loops_are_always_there_and_the_widest_is_taken(void **state)
{
    const struct table_loops *widest = NULL;

    (void)state;
    assert_non_null(table_loops_at(0));
    for (uint32_t k = 0; k < TABLE_LOOPS_MAX; k++) {
        widest = table_loops_at(k) != NULL ? table_loops_at(k) : widest;
    }
    assert_ptr_equal(table_loops_best(), widest);
    assert_null(table_loops_at(TABLE_LOOPS_MAX));
}

/* Every exponent and both ends of the mantissa, in every place of a small array. */
static void test_finite_is_judged_for_each_exponent_in_each_place(void **state)
{
    float x[40];

    (void)state;
    for (uint32_t k = 0; k < TABLE_LOOPS_MAX; k++) {
        const struct table_loops *loops = table_loops_at(k);

        for (uint32_t i = 0; i < 512 * 4 && loops != NULL; i++) {
            static const uint32_t mantissas[] = {0, 1, 0x400000, 0x7fffff};
            uint32_t bits = (i / 4) << 23 | mantissas[i % 4];
            uint32_t at = i % 40;

            memset(x, 0, sizeof(x));
            x[at] = testing_from_bits(bits);
            assert_int_equal(loops->finite(x, 40), (bits >> 23 & 0xff) != 0xff);
            assert_int_equal(loops->finite(x, at), true);
        }
        for (uint32_t at = 0; at < 40 && loops != NULL; at++) {
            memset(x, 0, sizeof(x));
            x[at] = bad_floats[at % 4];
            assert_false(loops->finite(x, 40));
        }
    }
    assert_true(table_finite(x, 0));
}

static void test_the_kernels_do_what_they_say(void **state)
{
    float sum[3] = {1, 2, 3};
    const float x[3] = {10, 20, 30};

    (void)state;
    table_add(sum, x, 3);
    assert_true(sum[0] == 11 && sum[1] == 22 && sum[2] == 33);
    table_add_scaled(sum, x, 0.5F, 3);
    assert_true(sum[0] == 16 && sum[1] == 32 && sum[2] == 48);
    table_scale(sum, 0.25F, 3);
    assert_true(sum[0] == 4 && sum[1] == 8 && sum[2] == 12);
    assert_true(table_finite(sum, 3));
    assert_true(table_add_checked(sum, x, 2, 3));
    assert_true(sum[0] == 24 && sum[1] == 48 && sum[2] == 72);
}

static void test_a_product_is_rounded_before_it_is_added(void **state)
{
    /* 1 + 2^-12 squared is 1 + 2^-11 + 2^-24: the last part is lost, unless it is fused. */
    float x[16], sum[16];

    (void)state;
    for (uint32_t i = 0; i < 16; i++) {
        x[i] = 1 + 0x1p-12F;
        sum[i] = -(1 + 0x1p-11F);
    }
    table_add_scaled(sum, x, 1 + 0x1p-12F, 16);
    for (uint32_t i = 0; i < 16; i++) {
        assert_true(sum[i] == 0);
    }
}

static void test_a_checked_addition_with_a_bad_element_changes_nothing(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, 99);
    for (uint32_t i = 0; i < 600; i++) {
        uint32_t count = 1 + (uint32_t)rng_below(&r, 200);
        struct arrays a = arrays_make(&r, count);
        uint32_t at = (uint32_t)rng_below(&r, count);

        for (uint32_t k = 0; k < count; k++) {
            a.sum[k] = a.before[k] = (float)k;
            a.x[k] = -1.5F;
        }
        if (i % 3 == 0) {
            a.x[at] = bad_floats[rng_below(&r, 4)];
        } else if (i % 3 == 1) {
            /* Both finite, but not their sum. */
            a.sum[at] = a.before[at] = -3e38F;
            a.x[at] = -3e38F;
        } else {
            a.sum[at] = a.before[at] = bad_floats[rng_below(&r, 4)];
        }
        assert_false(table_add_checked(a.sum, a.x, 1, count));
        testing_alike(a.sum, a.before, count);
        a.x[at] = 1;
        a.sum[at] = a.before[at] = 1;
        assert_true(table_add_checked(a.sum, a.x, 1, count));
        assert_true(a.sum[at] == 2);
        arrays_free(&a);
    }
}

static void test_a_scale_that_makes_an_infinity_is_refused(void **state)
{
    float sum[2] = {1, 1};
    const float x[2] = {0, 1e30F};

    (void)state;
    assert_false(table_add_checked(sum, x, 1e30F, 2));
    assert_false(table_add_checked(sum, x, INFINITY, 2));
    assert_false(table_add_checked(sum, x, NAN, 2));
    assert_true(sum[0] == 1 && sum[1] == 1);
    assert_true(table_add_checked(sum, x, 1e8F, 2));
}

static void test_a_whole_chunk_is_checked_to_its_last_element(void **state)
{
    float *sum = testing_array(0, LIMIT_CHUNK_ELEMENTS);
    float *x = testing_array(0, LIMIT_CHUNK_ELEMENTS);

    (void)state;
    memset(sum, 0, LIMIT_CHUNK_BYTES);
    memset(x, 0, LIMIT_CHUNK_BYTES);
    x[0] = 1;
    x[LIMIT_CHUNK_ELEMENTS - 1] = NAN;
    assert_false(table_add_checked(sum, x, 1, LIMIT_CHUNK_ELEMENTS));
    assert_true(sum[0] == 0);
    assert_true(table_add_checked(sum, x, 1, LIMIT_CHUNK_ELEMENTS - 1));
    assert_true(sum[0] == 1);
    testing_array_free(sum, 0);
    testing_array_free(x, 0);
}

static void test_the_callers_rounding_mode_is_kept_but_not_used(void **state)
{
#if defined(__x86_64__)
    static const unsigned modes[] = {0x9fc0, 0x5f80, 0x1f80, 0x1fbf};
    float sum[8], x[8];

    (void)state;
    for (uint32_t m = 0; m < 4; m++) {
        unsigned before = _mm_getcsr();
        unsigned taken, after;

        for (uint32_t i = 0; i < 8; i++) {
            sum[i] = testing_from_bits(1);
            x[i] = testing_from_bits(2 + i);
        }
        sum[7] = 1;
        x[7] = 0x1p-30F;
        _mm_setcsr(modes[m]);
        /* Valgrind takes only the direction of rounding. */
        taken = _mm_getcsr();
        table_add(sum, x, 8);
        after = _mm_getcsr();
        _mm_setcsr(before);
        assert_int_equal(after & 0xffc0, taken & 0xffc0);
        for (uint32_t i = 0; i < 7; i++) {
            assert_int_equal(testing_bits(sum[i]), 3 + i);
        }
        assert_true(sum[7] == 1);
    }
#else
    (void)state;
    skip();
#endif
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_of_loop_gives_the_bits_of_single_operations),
        cmocka_unit_test(test_the_plain_loops_are_always_there_and_the_widest_is_taken),
        cmocka_unit_test(test_finite_is_judged_for_each_exponent_in_each_place),
        cmocka_unit_test(test_the_kernels_do_what_they_say),
        cmocka_unit_test(test_a_product_is_rounded_before_it_is_added),
        cmocka_unit_test(test_a_checked_addition_with_a_bad_element_changes_nothing),
        cmocka_unit_test(test_a_scale_that_makes_an_infinity_is_refused),
        cmocka_unit_test(test_a_whole_chunk_is_checked_to_its_last_element),
        cmocka_unit_test(test_the_callers_rounding_mode_is_kept_but_not_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
