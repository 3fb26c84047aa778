/* For the tests of this module: floats that are alike, and how many of them. */

#ifndef TABLE_TESTING_H
#define TABLE_TESTING_H

#include "base/testing_floats.h"
#include "table/loops.h"

#include <math.h>
#include <stdio.h>

/* Bit for bit, but that a NaN is a NaN. */
static inline void testing_alike(const float *a, const float *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (testing_bits(a[i]) != testing_bits(b[i]) && !(isnan(a[i]) && isnan(b[i]))) {
            fail_msg("element %u of %u: %a (%08x), not %a (%08x)", i, count, (double)a[i],
                     testing_bits(a[i]), (double)b[i], testing_bits(b[i]));
        }
    }
}

static const uint32_t testing_counts[] = {0,  1,  2,  3,  4,  5,  7,   8,   9,    15,   16,   17,
                                          31, 32, 33, 63, 64, 65, 127, 130, 1000, 4099, 65536};
enum { TESTING_COUNTS = sizeof(testing_counts) / sizeof(testing_counts[0]) };

#endif
