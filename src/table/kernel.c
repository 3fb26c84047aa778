#include "table/kernel.h"

#include "base/rounding.h"
#include "table/loops.h"

void table_add(float *sum, const float *x, uint32_t count)
{
    unsigned mode = rounding_enter();

    table_loops_best()->add(sum, x, count);
    rounding_leave(mode);
}

void table_add_scaled(float *sum, const float *x, float scale, uint32_t count)
{
    unsigned mode = rounding_enter();

    table_loops_best()->add_scaled(sum, x, scale, count);
    rounding_leave(mode);
}

void table_scale(float *x, float scale, uint32_t count)
{
    unsigned mode = rounding_enter();

    table_loops_best()->scale(x, scale, count);
    rounding_leave(mode);
}

bool table_finite(const float *x, uint32_t count)
{
    return table_loops_best()->finite(x, count);
}

/* Sums cannot be taken back, since they were rounded: so all of them are judged before the first is
 * written. The second pass finds a chunk in the cache. */
bool table_add_checked(float *sum, const float *x, float scale, uint32_t count)
{
    const struct table_loops *loops = table_loops_best();
    unsigned mode = rounding_enter();
    bool finite = loops->sum_finite(sum, x, scale, count);

    if (finite) {
        loops->add_scaled(sum, x, scale, count);
    }
    rounding_leave(mode);
    return finite;
}
