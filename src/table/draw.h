/* Random numbers by place: the @first-th number of a seed can be had without those before it. Only
 * within this module; table/init.h is for others. The caller sets the rounding mode
 * (table/rounding.h). */

#ifndef TABLE_DRAW_H
#define TABLE_DRAW_H

#include <stdint.h>

/* Uniform between -@half_width and @half_width. */
void table_draw_uniform(uint64_t seed, uint64_t first, float half_width, float *out,
                        uint32_t count);

/* Normal around zero. */
void table_draw_normal(uint64_t seed, uint64_t first, float deviation, float *out, uint32_t count);

#endif
