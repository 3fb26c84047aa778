/* What is significant, by a measure of our own: a change by the value, but values near zero do not
 * make every change large.
 *
 *     cc -O3 -shared -fPIC -o libsoftened.so significance.c $(pkg-config --cflags strait) -lm
 *
 * and in the run file, or that of `strait server --between`:
 *
 *     between: {significance: custom softened, library: libsoftened.so, threshold: 1%}
 */

#include <strait.h>

#include <math.h>

STRAIT_SIGNIFICANCE_LIBRARY

STRAIT_SIGNIFICANCE(softened)
{
    (void)width;
    for (uint32_t i = 0; i < count; i++) {
        significance[i] = fabsf(held[i]) / (fabsf(values[i]) + 0.01F);
    }
}
