/* Words of 64 elements, as four groups of sixteen. See loops_word.h. */

#ifndef CODEC_LOOPS_WORD_AVX512_H
#define CODEC_LOOPS_WORD_AVX512_H

#include <immintrin.h>

enum { GROUP_LANES = 16, GROUPS = WORD_BITS / GROUP_LANES };

static inline uint64_t word_relative(const float *values, const float *held, float threshold)
{
    __m512 t = _mm512_set1_ps(threshold);
    uint64_t word = 0;

    for (uint32_t g = 0; g < GROUPS; g++) {
        __m512 h = _mm512_abs_ps(_mm512_loadu_ps(held + (size_t)g * GROUP_LANES));
        __m512 v = _mm512_abs_ps(_mm512_loadu_ps(values + (size_t)g * GROUP_LANES));
        __mmask16 above = _mm512_cmp_ps_mask(h, _mm512_mul_ps(t, v), _CMP_GT_OQ);

        word |= (uint64_t)above << (g * GROUP_LANES);
    }
    return word;
}

static inline uint64_t word_absolute(const float *held, float threshold)
{
    __m512 t = _mm512_set1_ps(threshold);
    uint64_t word = 0;

    for (uint32_t g = 0; g < GROUPS; g++) {
        __m512 h = _mm512_abs_ps(_mm512_loadu_ps(held + (size_t)g * GROUP_LANES));
        __mmask16 above = _mm512_cmp_ps_mask(h, t, _CMP_GT_OQ);

        word |= (uint64_t)above << (g * GROUP_LANES);
    }
    return word;
}

/* The picked lanes are moved together in a register and stored with the zeros behind them, which
 * the next group overwrites: the instruction that stores only them takes a hundred cycles on some
 * processors. */
static inline uint32_t word_gather(uint64_t word, const float *from, float *zero, float *out)
{
    uint32_t count = 0;

    for (uint32_t g = 0; g < GROUPS; g++) {
        __mmask16 group = (__mmask16)(word >> (g * GROUP_LANES));
        __m512 x = _mm512_loadu_ps(from + (size_t)g * GROUP_LANES);

        _mm512_storeu_ps(out + count, _mm512_maskz_compress_ps(group, x));
        if (zero != NULL) {
            _mm512_mask_storeu_ps(zero + (size_t)g * GROUP_LANES, group, _mm512_setzero_ps());
        }
        count += (uint32_t)__builtin_popcount(group);
    }
    return count;
}

/* The next @bits values. Nothing is read beyond the last float. */
static inline __m512 group_values(const uint8_t *from, uint32_t bits, enum codec_values how)
{
    if (how == CODEC_VALUES_F16) {
        return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)from));
    }
    if (how == CODEC_VALUES_I8) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);

        return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
    }
    return _mm512_maskz_loadu_ps((__mmask16)((1u << bits) - 1), from);
}

static inline uint32_t word_add(uint64_t word, float *values, const uint8_t *from,
                                enum codec_values how, uint32_t *kept)
{
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    const __m512i infinity = _mm512_set1_epi32(0x7f800000);
    uint32_t count = 0;

    for (uint32_t g = 0; g < GROUPS; g++) {
        __mmask16 group = (__mmask16)(word >> (g * GROUP_LANES));
        uint32_t bits = (uint32_t)__builtin_popcount(group);
        float *at = values + (size_t)g * GROUP_LANES;
        __m512 x = group_values(from + count * loops_value_bytes(how), bits, how);
        __m512 sum = _mm512_add_ps(_mm512_loadu_ps(at), _mm512_maskz_expand_ps(group, x));
        __mmask16 taken = _mm512_mask_cmplt_epu32_mask(
            group, _mm512_and_si512(_mm512_castps_si512(sum), magnitude), infinity);

        _mm512_mask_storeu_ps(at, taken, sum);
        *kept += bits - (uint32_t)__builtin_popcount(taken);
        count += bits;
    }
    return count;
}

static inline void word_halve(const float *x, uint16_t *halves)
{
    for (uint32_t g = 0; g < GROUPS; g++) {
        __m512 floats = _mm512_loadu_ps(x + (size_t)g * GROUP_LANES);

        _mm256_storeu_si256((__m256i *)(void *)(halves + (size_t)g * GROUP_LANES),
                            _mm512_cvtps_ph(floats, _MM_FROUND_TO_NEAREST_INT));
    }
}

static inline void word_unhalve(const uint16_t *halves, float *x)
{
    for (uint32_t g = 0; g < GROUPS; g++) {
        const __m256i *at = (const __m256i *)(const void *)(halves + (size_t)g * GROUP_LANES);

        _mm512_storeu_ps(x + (size_t)g * GROUP_LANES, _mm512_cvtph_ps(_mm256_loadu_si256(at)));
    }
}

#endif
