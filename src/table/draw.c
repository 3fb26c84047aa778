/* SplitMix64 at any place of its sequence makes the bits. Normal numbers come in pairs by
 * Marsaglia's polar method, with a logarithm of our own: the library's may differ between
 * machines. */

#include "table/draw.h"

#include <math.h>
#include <string.h>

static uint64_t draw_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The @place-th number of the sequence; the seed is mixed, so that near seeds have nothing to do
 * with each other. */
static uint64_t draw_bits(uint64_t seed, uint64_t place)
{
    return draw_mix(draw_mix(seed) + (place + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Between -1 and 1, without both and without zero: 52 bits and a half, all of it exact. */
static double draw_between(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * 0x1.0p-51 - 1;
}

/* The natural logarithm of 0 < x < 1, not denormal, within a few units of the last place:
 * x = m 2^e with m near 1, and ln m = 2 (t + t^3/3 + t^5/5 + ...) with t = (m - 1) / (m + 1), so
 * t^2 < 0.03 and twelve terms do. */
static double draw_log(double x)
{
    static const double terms[] = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                                   1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};
    double m, t, square, sum = 0;
    uint64_t bits;
    int exponent;

    memcpy(&bits, &x, sizeof(bits));
    exponent = (int)(bits >> 52) - 1023;
    bits = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000);
    memcpy(&m, &bits, sizeof(m));
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        exponent++;
    }
    t = (m - 1) / (m + 1);
    square = t * t;
    for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
        sum = (sum + terms[i]) * square;
    }
    return 2 * t * (sum + 1) + exponent * 0x1.62e42fefa39efp-1;
}

/* The two normal numbers of a pair of places: a point in the circle, moved outwards. */
static void draw_pair(uint64_t seed, uint64_t pair, double *even_out, double *odd_out)
{
    uint64_t bits = draw_bits(seed, pair);
    double x, y, square;

    do {
        x = draw_between(bits);
        bits = draw_mix(bits + UINT64_C(0x9e3779b97f4a7c15));
        y = draw_between(bits);
        bits = draw_mix(bits + UINT64_C(0x9e3779b97f4a7c15));
        square = x * x + y * y;
    } while (square >= 1);
    square = sqrt(-2 * draw_log(square) / square);
    *even_out = x * square;
    *odd_out = y * square;
}

void table_draw_uniform(uint64_t seed, uint64_t first, float half_width, float *out, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (float)(draw_between(draw_bits(seed, first + i)) * (double)half_width);
    }
}

void table_draw_normal(uint64_t seed, uint64_t first, float deviation, float *out, uint32_t count)
{
    double even = 0, odd = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t place = first + i;

        if (i == 0 || place % 2 == 0) {
            draw_pair(seed, place / 2, &even, &odd);
        }
        out[i] = (float)((place % 2 == 0 ? even : odd) * (double)deviation);
    }
}
