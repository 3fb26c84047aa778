/* Arithmetic on arrays of floats, by the widest vectors that the processor has, with the same bits
 * on all of them: element by element, each operation rounded to nearest, whatever the caller's
 * rounding mode is. Only which NaN a NaN is may differ. Arrays may start at any float; fastest if
 * aligned to 64 bytes. No overlap. */

#ifndef TABLE_KERNEL_H
#define TABLE_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* sum += x */
void table_add(float *sum, const float *x, uint32_t count);
/* sum += scale * x; product rounded, then added. */
void table_add_scaled(float *sum, const float *x, float scale, uint32_t count);
/* x *= scale */
void table_scale(float *x, float scale, uint32_t count);
/* True if there is no NaN and no infinity. */
bool table_finite(const float *x, uint32_t count);
/* True if sum += scale * x was done because all of x and of the result is finite; else nothing
 * changed. */
bool table_add_checked(float *sum, const float *x, float scale, uint32_t count);

#endif
