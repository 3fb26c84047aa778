/* Words of 64 elements, as eight groups of eight. See loops_word.h. */

#ifndef CODEC_LOOPS_WORD_AVX2_H
#define CODEC_LOOPS_WORD_AVX2_H

#include "codec/lanes.h"

#include <immintrin.h>

enum { GROUP_LANES = 8, GROUPS = WORD_BITS / GROUP_LANES };

static inline __m256 group_abs(__m256 x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), x);
}

/* All bits of the lanes that @group names. */
static inline __m256i group_mask(uint32_t group)
{
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);

    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)group), bits), bits);
}

static inline __m256i group_lanes(uint64_t lanes)
{
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)lanes));
}

static inline uint64_t word_relative(const float *values, const float *held, float threshold)
{
    __m256 t = _mm256_set1_ps(threshold);
    uint64_t word = 0;

    for (uint32_t g = 0; g < GROUPS; g++) {
        __m256 h = group_abs(_mm256_loadu_ps(held + (size_t)g * GROUP_LANES));
        __m256 v = group_abs(_mm256_loadu_ps(values + (size_t)g * GROUP_LANES));
        __m256 above = _mm256_cmp_ps(h, _mm256_mul_ps(t, v), _CMP_GT_OQ);

        word |= (uint64_t)(uint32_t)_mm256_movemask_ps(above) << (g * GROUP_LANES);
    }
    return word;
}

static inline uint64_t word_absolute(const float *held, float threshold)
{
    __m256 t = _mm256_set1_ps(threshold);
    uint64_t word = 0;

    for (uint32_t g = 0; g < GROUPS; g++) {
        __m256 h = group_abs(_mm256_loadu_ps(held + (size_t)g * GROUP_LANES));
        __m256 above = _mm256_cmp_ps(h, t, _CMP_GT_OQ);

        word |= (uint64_t)(uint32_t)_mm256_movemask_ps(above) << (g * GROUP_LANES);
    }
    return word;
}

/* The picked lanes are moved together and stored with what is behind them, which the next group
 * overwrites. Groups without any are not skipped, only words are: which of them have one is hard to
 * predict, and a wrong prediction costs more (5 % significant: 8.0 GB/s instead of 6.5). */
static inline uint32_t word_gather(uint64_t word, const float *from, float *zero, float *out)
{
    uint32_t count = 0;

    for (uint32_t g = 0; g < GROUPS; g++) {
        uint32_t group = (uint32_t)(word >> (g * GROUP_LANES)) & 0xff;
        __m256 x = _mm256_loadu_ps(from + (size_t)g * GROUP_LANES);

        _mm256_storeu_ps(out + count,
                         _mm256_permutevar8x32_ps(x, group_lanes(codec_lanes_pack[group])));
        if (zero != NULL) {
            x = _mm256_andnot_ps(_mm256_castsi256_ps(group_mask(group)), x);
            _mm256_storeu_ps(zero + (size_t)g * GROUP_LANES, x);
        }
        count += (uint32_t)__builtin_popcount(group);
    }
    return count;
}

/* As loops_unhalve(): some processors with AVX2 may not have the instruction for it. */
static inline __m256 group_unhalve(__m128i halves)
{
    const __m256 step = _mm256_castsi256_ps(_mm256_set1_epi32(0x38800000));
    __m256i wide = _mm256_cvtepu16_epi32(halves);
    __m256i sign = _mm256_slli_epi32(_mm256_and_si256(wide, _mm256_set1_epi32(0x8000)), 16);
    __m256i bits = _mm256_slli_epi32(_mm256_and_si256(wide, _mm256_set1_epi32(0x7fff)), 13);
    __m256i up = _mm256_add_epi32(bits, _mm256_set1_epi32(0x38800000));
    __m256 tiny = _mm256_sub_ps(_mm256_castsi256_ps(up), step);
    __m256i normal = _mm256_add_epi32(bits, _mm256_set1_epi32(0x38000000));
    __m256i is_tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x00800000), bits);
    __m256 x = _mm256_blendv_ps(_mm256_castsi256_ps(normal), tiny, _mm256_castsi256_ps(is_tiny));

    return _mm256_or_ps(x, _mm256_castsi256_ps(sign));
}

/* The next @bits values. Nothing is read beyond the last float. */
static inline __m256 group_values(const uint8_t *from, int bits, enum codec_values how)
{
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

    if (how == CODEC_VALUES_F16) {
        return group_unhalve(_mm_loadu_si128((const __m128i *)(const void *)from));
    }
    if (how == CODEC_VALUES_I8) {
        __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)from);

        return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
    }
    return _mm256_maskload_ps((const float *)(const void *)from,
                              _mm256_cmpgt_epi32(_mm256_set1_epi32(bits), numbers));
}

static inline uint32_t word_add(uint64_t word, float *values, const uint8_t *from,
                                enum codec_values how, uint32_t *kept)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    const __m256i infinity = _mm256_set1_epi32(0x7f800000);
    uint32_t count = 0;

    for (uint32_t g = 0; g < GROUPS; g++) {
        uint32_t group = (uint32_t)(word >> (g * GROUP_LANES)) & 0xff;
        int bits = __builtin_popcount(group);
        float *at = values + (size_t)g * GROUP_LANES;
        __m256 x, v, sum;
        __m256i taken;

        x = group_values(from + count * loops_value_bytes(how), bits, how);
        x = _mm256_permutevar8x32_ps(x, group_lanes(codec_lanes_spread[group]));
        v = _mm256_loadu_ps(at);
        sum = _mm256_add_ps(v, x);
        taken = _mm256_cmpgt_epi32(infinity, _mm256_and_si256(_mm256_castps_si256(sum), magnitude));
        taken = _mm256_and_si256(taken, group_mask(group));
        _mm256_storeu_ps(at, _mm256_blendv_ps(v, sum, _mm256_castsi256_ps(taken)));
        *kept += (uint32_t)(bits - __builtin_popcount(
                                       (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(taken))));
        count += (uint32_t)bits;
    }
    return count;
}

static inline void word_halve(const float *x, uint16_t *halves)
{
    word_halve_each(x, halves);
}

static inline void word_unhalve(const uint16_t *halves, float *x)
{
    for (uint32_t g = 0; g < GROUPS; g++) {
        const __m128i *at = (const __m128i *)(const void *)(halves + (size_t)g * GROUP_LANES);

        _mm256_storeu_ps(x + (size_t)g * GROUP_LANES, group_unhalve(_mm_loadu_si128(at)));
    }
}

#endif
