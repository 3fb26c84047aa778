/* What all loops are made of. The work is done on words: 64 elements and the 64 bits that say which
 * of them are meant. How a word is done is in loops_word_*.h, in functions of the same names:
 *
 *   word_relative, word_absolute   which elements are significant
 *   word_gather                    copy those to @out, one after the other, perhaps with others
 *                                  behind them (as long as the word), and make them zero in @zero,
 *                                  which is NULL or @from; returns how many
 *   word_add                       add the values of a payload to them, of which, if they are no
 *                                  floats, as many can be read as the word is long; returns how
 *                                  many
 *   word_halve, word_unhalve       from floats to halves and back */

#ifndef CODEC_LOOPS_WORD_H
#define CODEC_LOOPS_WORD_H

#include "base/bytes.h"
#include "codec/loops.h"

#include <math.h>
#include <string.h>

enum { WORD_BITS = 64 };

#define LOOPS_INFINITY_BITS UINT32_C(0x7f800000)
#define LOOPS_BYTE_MAX_BITS UINT32_C(0x42fe0000) /* 127 */

static inline uint32_t loops_float_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* The bits without the sign: at least LOOPS_INFINITY_BITS if @x is not finite. As integers, because
 * a comparison of floats may be optimised on assumptions, and sorts NaN nowhere. */
static inline uint32_t loops_magnitude(float x)
{
    return loops_float_bits(x) & UINT32_C(0x7fffffff);
}

static inline float loops_float(const uint8_t *at, uint32_t index)
{
    float x;

    memcpy(&x, at + (size_t)index * sizeof(x), sizeof(x));
    return x;
}

static inline size_t loops_value_bytes(enum codec_values how)
{
    static const uint8_t sizes[CODEC_VALUES] = {
        [CODEC_VALUES_F32] = 4, [CODEC_VALUES_F16] = 2, [CODEC_VALUES_I8] = 1};

    return sizes[how];
}

static inline float loops_from_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* All bits if it is so. Choices are made with masks, because gcc makes branches of others, and no
 * vectors then. */
static inline uint32_t loops_mask(bool so)
{
    return 0 - (uint32_t)so;
}

/* A half that is less than normal has a unit of 2^-24, which is that of floats from 0.5 on: adding
 * 0.5 rounds it. Others are rounded by adding just below a half of what is cut off, and one more if
 * the last bit that is left is odd. */
static inline uint16_t loops_halve(float x)
{
    uint32_t bits = loops_float_bits(x), magnitude = bits & UINT32_C(0x7fffffff);
    uint32_t tiny = loops_float_bits(loops_from_bits(magnitude) + 0.5F) - UINT32_C(0x3f000000);
    uint32_t normal = (magnitude - UINT32_C(0x38000000) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    uint32_t is_tiny = loops_mask(magnitude < UINT32_C(0x38800000));
    uint32_t is_huge = loops_mask(magnitude >= UINT32_C(0x477ff000));

    normal = (normal & ~is_huge) | (0x7c00 & is_huge);
    return (uint16_t)((bits >> 16 & 0x8000) | (tiny & is_tiny) | (normal & ~is_tiny));
}

/* Of a half that is finite. */
static inline float loops_unhalve(uint16_t half)
{
    uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13;
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    float step = loops_from_bits(UINT32_C(0x38800000));
    float tiny = loops_from_bits(magnitude + UINT32_C(0x38800000)) - step;
    uint32_t is_tiny = loops_mask(magnitude < UINT32_C(0x00800000));

    return loops_from_bits(sign | (loops_float_bits(tiny) & is_tiny) |
                           ((magnitude + UINT32_C(0x38000000)) & ~is_tiny));
}

/* Of a payload. */
static inline float loops_value(const uint8_t *at, uint32_t index, enum codec_values how)
{
    if (how == CODEC_VALUES_F16) {
        return loops_unhalve(bytes_load16(at + (size_t)index * 2));
    }
    return how == CODEC_VALUES_I8 ? (float)(int8_t)at[index] : loops_float(at, index);
}

static inline uint32_t word_gather_each(uint64_t word, const float *from, float *zero, float *out)
{
    uint32_t count = 0;

    for (; word != 0; word &= word - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(word);

        out[count++] = from[i];
        if (zero != NULL) {
            zero[i] = 0;
        }
    }
    return count;
}

static inline uint32_t word_add_each(uint64_t word, float *values, const uint8_t *from,
                                     enum codec_values how, uint32_t *kept)
{
    uint32_t count = 0;

    for (; word != 0; word &= word - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(word);
        float sum = values[i] + loops_value(from, count++, how);
        bool ok = loops_magnitude(sum) < LOOPS_INFINITY_BITS;

        values[i] = ok ? sum : values[i];
        *kept += !ok;
    }
    return count;
}

static inline void word_halve_each(const float *x, uint16_t *halves)
{
    for (uint32_t i = 0; i < WORD_BITS; i++) {
        halves[i] = loops_halve(x[i]);
    }
}

static inline void word_unhalve_each(const uint16_t *halves, float *x)
{
    for (uint32_t i = 0; i < WORD_BITS; i++) {
        x[i] = loops_unhalve(halves[i]);
    }
}

#if defined(__AVX512F__)
#include "codec/loops_word_avx512.h"
#elif defined(__AVX2__)
#include "codec/loops_word_avx2.h"
#else
#include "codec/loops_word_plain.h"
#endif

static uint32_t loops_add(float *restrict values, const uint8_t *restrict floats, uint32_t elements)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < elements; i++) {
        float sum = values[i] + loops_float(floats, i);
        bool ok = loops_magnitude(sum) < LOOPS_INFINITY_BITS;

        values[i] = ok ? sum : values[i];
        kept += !ok;
    }
    return kept;
}

static inline uint32_t loops_add_some(float *values, const uint8_t *list, const uint8_t *from,
                                      uint32_t count, enum codec_values how)
{
    uint32_t kept = 0;

    for (uint32_t k = 0; k < count; k++) {
        float *at = values + bytes_load16(list + (size_t)k * sizeof(uint16_t));
        float sum = *at + loops_value(from, k, how);
        bool ok = loops_magnitude(sum) < LOOPS_INFINITY_BITS;

        *at = ok ? sum : *at;
        kept += !ok;
    }
    return kept;
}

/* Halves become floats a word at a time. */
static inline uint32_t loops_add_each(float *values, const uint8_t *list, const uint8_t *from,
                                      uint32_t count, enum codec_values how)
{
    uint32_t kept = 0;

    for (uint32_t k = 0; how == CODEC_VALUES_F16 && k < count; k += WORD_BITS) {
        uint32_t some = count - k < WORD_BITS ? count - k : WORD_BITS;
        uint16_t halves[WORD_BITS];
        float floats[WORD_BITS];

        memcpy(halves, from + (size_t)k * sizeof(uint16_t), some * sizeof(uint16_t));
        word_unhalve(halves, floats);
        kept += loops_add_some(values, list + (size_t)k * sizeof(uint16_t), (const uint8_t *)floats,
                               some, CODEC_VALUES_F32);
    }
    return how == CODEC_VALUES_F16 ? kept : loops_add_some(values, list, from, count, how);
}

#endif
