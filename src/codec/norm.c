/* The smallest elements, as many as keep the norm of what is dropped within a bound (F4).
 *
 * With a bound of threshold^2 * elements for the sum of squares, all that is not above the
 * threshold is dropped, and nothing that is above 256 times it, because a chunk has no more than
 * 256^2 elements. In between magnitudes are counted in steps of their last bit: 26 bits, of which
 * each level looks at some. A level adds up the squares by these bits, takes all that fits from the
 * smallest on, and leaves it to the next to divide the first that does not. What the last level
 * cannot divide is equal, and dropped from the lowest element on.
 *
 * Sums are made in this order on every processor: first those that are not above the threshold, as
 * codec/loops.h says; then the sum of each step, which is made from the lowest element on. */

#include "codec/parts.h"

#include <float.h>
#include <string.h>

enum { NORM_LEVELS = 3, NORM_STEPS = 512 };

static const struct {
    uint32_t shift, bits;
} norm_levels[NORM_LEVELS] = {{17, 9}, {8, 9}, {0, 8}};

struct norm {
    const float *held;
    uint32_t first; /* The bits of the smallest that is above the threshold. */
    uint32_t step;  /* How far above that the cut is, as far as it is known. */
    double sum;
    double bound;
    double sums[NORM_STEPS];
};

static uint32_t norm_magnitude(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits & UINT32_C(0x7fffffff);
}

static double norm_square(const struct norm *n, uint32_t element)
{
    return (double)n->held[element] * (double)n->held[element];
}

static void norm_add(struct norm *n, uint32_t element, uint32_t level)
{
    uint32_t above = (norm_magnitude(n->held[element]) - n->first) >> norm_levels[level].shift;
    uint32_t steps = UINT32_C(1) << norm_levels[level].bits;

    if (above / steps == n->step) {
        n->sums[above % steps] += norm_square(n, element);
    }
}

/* Take all steps that fit. False if all do: then there is nothing to divide. */
static bool norm_climb(struct norm *n, uint32_t level)
{
    uint32_t steps = UINT32_C(1) << norm_levels[level].bits;
    uint32_t taken = 0;

    for (; taken < steps && n->sum + n->sums[taken] <= n->bound; taken++) {
        n->sum += n->sums[taken];
    }
    n->step = n->step * steps + taken;
    memset(n->sums, 0, sizeof(n->sums));
    return taken < steps;
}

/* The elements in the step that the first level stopped at. */
static uint32_t norm_list(const struct norm *n, const uint64_t *bitmap, uint32_t words,
                          uint16_t *list)
{
    uint32_t count = 0;

    for (uint32_t w = 0; w < words; w++) {
        for (uint64_t word = bitmap[w]; word != 0; word &= word - 1) {
            uint32_t element = w * 64 + (uint32_t)__builtin_ctzll(word);
            uint32_t above = norm_magnitude(n->held[element]) - n->first;

            list[count] = (uint16_t)element;
            count += above >> norm_levels[0].shift == n->step;
        }
    }
    return count;
}

/* Return the bits of the smallest magnitude that is left. */
static uint32_t norm_cut(struct norm *n, const uint64_t *bitmap, uint32_t words, uint16_t *list,
                         uint32_t *count)
{
    *count = 0;
    for (uint32_t w = 0; w < words; w++) {
        for (uint64_t word = bitmap[w]; word != 0; word &= word - 1) {
            norm_add(n, w * 64 + (uint32_t)__builtin_ctzll(word), 0);
        }
    }
    if (!norm_climb(n, 0)) {
        return n->first + (n->step << norm_levels[0].shift);
    }
    *count = norm_list(n, bitmap, words, list);
    for (uint32_t level = 1; level < NORM_LEVELS; level++) {
        for (uint32_t i = 0; i < *count; i++) {
            norm_add(n, list[i], level);
        }
        if (!norm_climb(n, level)) {
            return n->first + (n->step << norm_levels[level].shift);
        }
    }
    return n->first + n->step;
}

double codec_norm_bound(float threshold, uint32_t elements)
{
    return (double)threshold * (double)threshold * (double)elements;
}

double codec_norm_mark(const struct codec_loops *loops, const float *held, uint32_t elements,
                       float threshold, uint64_t *bitmap, uint16_t *list)
{
    struct norm n = {
        .held = held,
        .first = norm_magnitude(threshold) + 1,
        .sum = loops->squares(held, elements, threshold),
        .bound = codec_norm_bound(threshold, elements),
    };
    const uint32_t infinity = UINT32_C(0x7f800000);
    uint32_t cut, below, count;
    float limit;

    loops->mark_absolute(held, elements, threshold, bitmap);
    cut = norm_cut(&n, bitmap, codec_bitmap_words(elements), list, &count);
    below = (cut < infinity ? cut : infinity) - 1;
    memcpy(&limit, &below, sizeof(limit));
    loops->mark_absolute(held, elements, limit, bitmap);
    for (uint32_t i = 0; i < count; i++) {
        if (norm_magnitude(held[list[i]]) == cut && n.sum + norm_square(&n, list[i]) <= n.bound) {
            n.sum += norm_square(&n, list[i]);
            bitmap[list[i] / 64] &= ~(UINT64_C(1) << (list[i] % 64));
        }
    }
    return n.sum;
}

bool codec_norm_allows(const struct codec_loops *loops, double sum, double bound,
                       const float *errors, uint32_t count)
{
    return sum + loops->squares(errors, count, FLT_MAX) <= bound;
}
