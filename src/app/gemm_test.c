/* Products against three loops, at sizes around those where kernels change. */

#include "app/gemm.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE_MAX_TRIED = 70 };

typedef void gemm(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float add,
                  float *c);

static float a[SIZE_MAX_TRIED * SIZE_MAX_TRIED];
static float b[SIZE_MAX_TRIED * SIZE_MAX_TRIED];

static int setup(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, 1);
    for (uint32_t i = 0; i < SIZE_MAX_TRIED * SIZE_MAX_TRIED; i++) {
        a[i] = (float)(rng_unit(&r) * 2 - 1);
        b[i] = (float)(rng_unit(&r) * 2 - 1);
    }
    assert_int_equal(app_gemm_setup(NULL), OK);
    return 0;
}

/* One size; @a_step and @b_step are how far apart the elements of a product are. */
static void compare(gemm *product, uint32_t m, uint32_t n, uint32_t k, bool a_turned, bool b_turned)
{
    size_t elements = (size_t)m * n;
    float *c = malloc(elements * sizeof(*c));

    assert_non_null(c);
    for (uint32_t add = 0; add <= 1; add++) {
        for (size_t i = 0; i < elements; i++) {
            /* Nothing is read of it unless it is added to. */
            c[i] = add == 1 ? 0.5f : NAN;
        }
        product(m, n, k, a, b, (float)add, c);
        for (uint32_t i = 0; i < m; i++) {
            for (uint32_t j = 0; j < n; j++) {
                double sum = 0.5 * add;

                for (uint32_t l = 0; l < k; l++) {
                    sum += (double)(a_turned ? a[l * m + i] : a[i * k + l]) *
                           (double)(b_turned ? b[j * k + l] : b[l * n + j]);
                }
                assert_true(fabs(sum - (double)c[i * n + j]) < 1e-5);
            }
        }
    }
    free(c);
}

static void test_products_are_those_of_three_loops(void **state)
{
    static const uint32_t sizes[] = {1, 2, 5, 16, 33, SIZE_MAX_TRIED};

    (void)state;
    for (uint32_t i = 0; i < 6 * 6 * 6; i++) {
        uint32_t m = sizes[i % 6], n = sizes[i / 6 % 6], k = sizes[i / 36];

        compare(app_gemm, m, n, k, false, false);
        compare(app_gemm_bt, m, n, k, false, true);
        compare(app_gemm_at, m, n, k, true, false);
    }
}

static void test_the_same_product_gives_the_same_bits(void **state)
{
    static float one[SIZE_MAX_TRIED * SIZE_MAX_TRIED], two[SIZE_MAX_TRIED * SIZE_MAX_TRIED];
    uint32_t n = SIZE_MAX_TRIED;

    (void)state;
    app_gemm(n, n, n, a, b, 0, one);
    for (uint32_t i = 0; i < 20; i++) {
        app_gemm(n, n, n, a, b, 0, two);
        assert_memory_equal(one, two, sizeof(one));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_are_those_of_three_loops),
        cmocka_unit_test(test_the_same_product_gives_the_same_bits),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
