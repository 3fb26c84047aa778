/* For tests of arithmetic: floats of all sizes, sums that no compiler can fuse, reorder or keep in
 * a wider register, and arrays whose ends the sanitizer sees. */

#ifndef BASE_TESTING_FLOATS_H
#define BASE_TESTING_FLOATS_H

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline float testing_mul(float a, float b)
{
    volatile float product = a * b;

    return product;
}

static inline float testing_add(float a, float b)
{
    volatile float sum = a + b;

    return sum;
}

static inline float testing_divide(float a, float b)
{
    volatile float quotient = a / b;

    return quotient;
}

static inline uint32_t testing_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float testing_from_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline bool testing_is_finite(float x)
{
    return (testing_bits(x) >> 23 & 0xff) != 0xff;
}

/* Mostly like gradients, some tiny, some huge, some zero; finite. */
static inline float testing_float(struct rng *r)
{
    uint64_t kind = rng_below(r, 16);
    float x;

    if (kind == 0) {
        return testing_from_bits((uint32_t)rng_next(r) & 0x807fffffu);
    }
    if (kind == 1) {
        do {
            x = testing_from_bits((uint32_t)rng_next(r));
        } while (!testing_is_finite(x));
        return x;
    }
    if (kind == 2) {
        return rng_chance(r, 500000) ? 0.0F : -0.0F;
    }
    return (float)(rng_unit(r) * 2 - 1);
}

static inline void testing_fill(struct rng *r, float *x, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        x[i] = testing_float(r);
    }
}

/* Exactly @count floats that start @offset floats behind an aligned place: the sanitizer sees each
 * step beyond the end. */
static inline float *testing_array(uint32_t offset, uint32_t count)
{
    void *p = NULL;

    assert_int_equal(posix_memalign(&p, 64, ((size_t)offset + count) * 4 + 1), 0);
    assert_non_null(p);
    return (float *)p + offset;
}

static inline void testing_array_free(float *x, uint32_t offset)
{
    free(x - offset);
}

/* Bit for bit. */
static inline void testing_same(const float *a, const float *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (testing_bits(a[i]) != testing_bits(b[i])) {
            fail_msg("element %u of %u: %a (%08x), not %a (%08x)", i, count, (double)a[i],
                     testing_bits(a[i]), (double)b[i], testing_bits(b[i]));
        }
    }
}

#endif
