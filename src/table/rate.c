/* The learning rate by round. In a file of its own: see table/rounding.h. */

#include "table/apply.h"

#include <math.h>

/* base ^ n, by squaring: the same sequence of products everywhere. */
static double rate_power(double base, uint64_t n)
{
    double power = 1;

    for (; n > 0; n >>= 1) {
        if ((n & 1) != 0) {
            power *= base;
        }
        base *= base;
    }
    return power;
}

float table_apply_rate(const struct table_apply *apply, uint64_t clock)
{
    uint64_t round = clock == 0 ? 1 : clock;
    double rate = (double)apply->lr;

    if (apply->kind == TABLE_ADD) {
        return 1;
    }
    switch (apply->decay) {
    case TABLE_DECAY_NONE:
        break;
    case TABLE_DECAY_STEP:
        rate *= rate_power((double)apply->factor, (round - 1) / apply->every);
        break;
    case TABLE_DECAY_SQRT:
        rate /= sqrt((double)round);
        break;
    case TABLE_DECAY_EXP:
        rate *= rate_power((double)apply->factor, round - 1);
        break;
    }
    if (round < apply->warmup) {
        rate = rate * (double)round / (double)apply->warmup;
    }
    return (float)rate;
}
