/* Significance functions for tests, as a library of a user's. */

#include <strait.h>

#include <math.h>

STRAIT_SIGNIFICANCE_LIBRARY

STRAIT_SIGNIFICANCE(everything)
{
    (void)values;
    (void)held;
    (void)width;
    for (uint32_t i = 0; i < count; i++) {
        significance[i] = INFINITY;
    }
}

STRAIT_SIGNIFICANCE(nothing)
{
    (void)values;
    (void)held;
    (void)width;
    for (uint32_t i = 0; i < count; i++) {
        significance[i] = 0;
    }
}

/* Makes visible what it was given. */
STRAIT_SIGNIFICANCE(mixed)
{
    for (uint32_t i = 0; i < count; i++) {
        significance[i] = values[i] + held[i] * 10 + (float)width * 100;
    }
}
