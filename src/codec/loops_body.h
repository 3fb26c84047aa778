/* The text of the loops. Each of loops_plain.c, loops_avx2.c and loops_avx512.c includes it once
 * and is compiled with its own flags, as in src/table. The work is done on words: 64 elements and
 * the 64 bits that say which of them are meant. How a word is done is in loops_word_*.h, in four
 * functions of the same names:
 *
 *   word_relative, word_absolute   which elements are significant
 *   word_gather                    copy those to @out, one after the other, perhaps with others
 *                                  behind them (as long as the word), and make them zero in @zero,
 *                                  which is NULL or @from; returns how many
 *   word_add                       add the floats of a payload to them; returns how many
 *
 * What is left at the end of a chunk is done one by one, or in a word that zeros fill up. */

#ifndef CODEC_LOOPS_BODY_H
#define CODEC_LOOPS_BODY_H

#include "base/bytes.h"
#include "codec/loops.h"

#include <math.h>
#include <string.h>

enum { WORD_BITS = 64 };

#define LOOPS_INFINITY_BITS UINT32_C(0x7f800000)

/* The bits without the sign: at least LOOPS_INFINITY_BITS if @x is not finite. As integers, because
 * a comparison of floats may be optimised on assumptions, and sorts NaN nowhere. */
static inline uint32_t loops_magnitude(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits & UINT32_C(0x7fffffff);
}

static inline float loops_float(const uint8_t *at, uint32_t index)
{
    float x;

    memcpy(&x, at + (size_t)index * sizeof(x), sizeof(x));
    return x;
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

static inline uint32_t word_add_each(uint64_t word, float *values, const uint8_t *floats,
                                     uint32_t *kept)
{
    uint32_t count = 0;

    for (; word != 0; word &= word - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(word);
        float sum = values[i] + loops_float(floats, count++);
        bool ok = loops_magnitude(sum) < LOOPS_INFINITY_BITS;

        values[i] = ok ? sum : values[i];
        *kept += !ok;
    }
    return count;
}

#if defined(__AVX512F__)
#include "codec/loops_word_avx512.h"
#elif defined(__AVX2__)
#include "codec/loops_word_avx2.h"
#else
#include "codec/loops_word_plain.h"
#endif

/* Many magnitudes are or-ed together, each raised by one step of the exponent, so that what is not
 * finite carries into the sign. */
static bool loops_finite(const uint8_t *floats, uint32_t count)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < count; i++) {
        seen |= loops_magnitude(loops_float(floats, i)) + UINT32_C(0x00800000);
    }
    return seen >> 31 == 0;
}

static uint32_t loops_bits(const uint8_t *bitmap, uint32_t words)
{
    uint32_t bits = 0;

    for (uint32_t w = 0; w < words; w++) {
        bits += (uint32_t)__builtin_popcountll(bytes_load64(bitmap + (size_t)w * 8));
    }
    return bits;
}

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

static uint32_t loops_add_bitmap(float *values, const uint8_t *bitmap, const uint8_t *floats,
                                 uint32_t elements)
{
    uint32_t full = elements / WORD_BITS;
    uint32_t kept = 0;

    for (uint32_t w = 0; w < full; w++) {
        uint64_t word = bytes_load64(bitmap + (size_t)w * 8);

        if (word != 0) {
            uint32_t count = word_add(word, values + (size_t)w * WORD_BITS, floats, &kept);

            floats += (size_t)count * sizeof(float);
        }
    }
    if (elements % WORD_BITS != 0) {
        (void)word_add_each(bytes_load64(bitmap + (size_t)full * 8),
                            values + (size_t)full * WORD_BITS, floats, &kept);
    }
    return kept;
}

static uint32_t loops_add_list(float *values, const uint8_t *list, const uint8_t *floats,
                               uint32_t count)
{
    uint32_t kept = 0;

    for (uint32_t k = 0; k < count; k++) {
        float *at = values + bytes_load16(list + (size_t)k * sizeof(uint16_t));
        float sum = *at + loops_float(floats, k);
        bool ok = loops_magnitude(sum) < LOOPS_INFINITY_BITS;

        *at = ok ? sum : *at;
        kept += !ok;
    }
    return kept;
}

/* Eight at a time, needed or not: how many there are is hard to predict, and a wrong prediction
 * costs more. */
static uint32_t loops_list(const uint64_t *bitmap, uint32_t words, uint16_t *out)
{
    uint32_t count = 0;

    for (uint32_t w = 0; w < words; w++) {
        uint64_t word = bitmap[w];
        uint32_t bits = (uint32_t)__builtin_popcountll(word);

        for (uint32_t done = 0; done < bits; done += 8) {
            for (uint32_t k = 0; k < 8; k++) {
                uint32_t bit = (uint32_t)__builtin_ctzll(word | UINT64_C(1) << 63);

                out[count + done + k] = (uint16_t)(w * WORD_BITS + bit);
                word &= word - 1;
            }
        }
        count += bits;
    }
    return count;
}

/* See struct codec_out: a word may be stored whole after this. In front there is always room: no
 * more floats are there than elements went by. */
static inline float *loops_out_next(struct codec_out *out)
{
    if (out->base != 0 && out->base + out->count + WORD_BITS > out->elements) {
        memmove(out->floats, out->floats + out->base, out->count * sizeof(float));
        out->base = 0;
    }
    return out->floats + out->base + out->count;
}

static inline void loops_out_word(uint64_t word, const float *from, float *zero,
                                  struct codec_out *out)
{
    float *to = loops_out_next(out);

    if (word == UINT64_MAX) {
        memcpy(to, from, WORD_BITS * sizeof(float));
        if (zero != NULL) {
            memset(zero, 0, WORD_BITS * sizeof(float));
        }
        out->count += WORD_BITS;
    } else if (word != 0) {
        out->count += word_gather(word, from, zero, to);
    }
}

static inline void loops_out_tail(uint64_t word, const float *from, float *zero,
                                  struct codec_out *out)
{
    if (word != 0) {
        out->count += word_gather_each(word, from, zero, loops_out_next(out));
    }
}

static void loops_gather(const float *from, const uint64_t *bitmap, struct codec_out *out)
{
    uint32_t full = out->elements / WORD_BITS;

    for (uint32_t w = 0; w < full; w++) {
        loops_out_word(bitmap[w], from + (size_t)w * WORD_BITS, NULL, out);
    }
    if (out->elements % WORD_BITS != 0) {
        loops_out_tail(bitmap[full], from + (size_t)full * WORD_BITS, NULL, out);
    }
}

static void loops_take(float *from, const uint64_t *bitmap, struct codec_out *out)
{
    uint32_t full = out->elements / WORD_BITS;

    for (uint32_t w = 0; w < full; w++) {
        float *at = from + (size_t)w * WORD_BITS;

        loops_out_word(bitmap[w], at, at, out);
    }
    if (out->elements % WORD_BITS != 0) {
        float *at = from + (size_t)full * WORD_BITS;

        loops_out_tail(bitmap[full], at, at, out);
    }
}

/* The last elements of a chunk, fewer than a word. */
static uint64_t loops_tail_relative(const float *values, const float *held, uint32_t count,
                                    float threshold)
{
    float v[WORD_BITS] = {0}, h[WORD_BITS] = {0};

    memcpy(v, values, count * sizeof(float));
    memcpy(h, held, count * sizeof(float));
    return word_relative(v, h, threshold);
}

static uint64_t loops_tail_absolute(const float *held, uint32_t count, float threshold)
{
    float h[WORD_BITS] = {0};

    memcpy(h, held, count * sizeof(float));
    return word_absolute(h, threshold);
}

static void loops_mark_relative(const float *values, const float *held, uint32_t elements,
                                float threshold, uint64_t *bitmap)
{
    uint32_t full = elements / WORD_BITS;
    size_t at = (size_t)full * WORD_BITS;

    for (uint32_t w = 0; w < full; w++) {
        bitmap[w] =
            word_relative(values + (size_t)w * WORD_BITS, held + (size_t)w * WORD_BITS, threshold);
    }
    if (elements % WORD_BITS != 0) {
        bitmap[full] = loops_tail_relative(values + at, held + at, elements % WORD_BITS, threshold);
    }
}

static void loops_mark_absolute(const float *held, uint32_t elements, float threshold,
                                uint64_t *bitmap)
{
    uint32_t full = elements / WORD_BITS;

    for (uint32_t w = 0; w < full; w++) {
        bitmap[w] = word_absolute(held + (size_t)w * WORD_BITS, threshold);
    }
    if (elements % WORD_BITS != 0) {
        bitmap[full] =
            loops_tail_absolute(held + (size_t)full * WORD_BITS, elements % WORD_BITS, threshold);
    }
}

static void loops_select_relative(const float *values, float *held, float threshold,
                                  uint64_t *bitmap, struct codec_out *out)
{
    uint32_t full = out->elements / WORD_BITS;
    uint32_t left = out->elements % WORD_BITS;
    float *at = held;

    for (uint32_t w = 0; w < full; w++, at += WORD_BITS) {
        bitmap[w] = word_relative(values + (size_t)w * WORD_BITS, at, threshold);
        loops_out_word(bitmap[w], at, at, out);
    }
    if (left != 0) {
        bitmap[full] = loops_tail_relative(values + (size_t)full * WORD_BITS, at, left, threshold);
        loops_out_tail(bitmap[full], at, at, out);
    }
}

static void loops_select_absolute(float *held, float threshold, uint64_t *bitmap,
                                  struct codec_out *out)
{
    uint32_t full = out->elements / WORD_BITS;
    uint32_t left = out->elements % WORD_BITS;
    float *at = held;

    for (uint32_t w = 0; w < full; w++, at += WORD_BITS) {
        bitmap[w] = word_absolute(at, threshold);
        loops_out_word(bitmap[w], at, at, out);
    }
    if (left != 0) {
        bitmap[full] = loops_tail_absolute(at, left, threshold);
        loops_out_tail(bitmap[full], at, at, out);
    }
}

static uint64_t loops_word_product(const struct codec_chunk *chunk, size_t first, uint32_t count,
                                   double threshold)
{
    double now[WORD_BITS], before[WORD_BITS];
    uint64_t word = 0;

    for (uint32_t i = 0; i < count; i++) {
        now[i] = (double)chunk->values[first + i];
        before[i] = now[i] - (double)chunk->held[first + i];
    }
    for (uint32_t k = 0; k < chunk->partners_count; k++) {
        const float *values = chunk->partners[k].values + first;
        const float *held = chunk->partners[k].held + first;

        for (uint32_t i = 0; i < count; i++) {
            now[i] *= (double)values[i];
            before[i] *= (double)values[i] - (double)held[i];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        bool above = fabs(now[i] - before[i]) > threshold * fabs(now[i]);

        word |= (uint64_t)(above && chunk->held[first + i] != 0) << i;
    }
    return word;
}

static void loops_mark_product(const struct codec_chunk *chunk, float threshold, uint64_t *bitmap)
{
    for (uint32_t first = 0; first < chunk->elements; first += WORD_BITS) {
        uint32_t left = chunk->elements - first;

        bitmap[first / WORD_BITS] = loops_word_product(
            chunk, first, left < WORD_BITS ? left : WORD_BITS, (double)threshold);
    }
}

static void loops_mark_measured(const float *significance, const float *held, uint32_t elements,
                                float threshold, uint64_t *bitmap)
{
    for (uint32_t first = 0; first < elements; first += WORD_BITS) {
        uint32_t end = elements - first < WORD_BITS ? elements : first + WORD_BITS;
        uint64_t word = 0;

        for (uint32_t i = first; i < end; i++) {
            word |= (uint64_t)(significance[i] > threshold && held[i] != 0) << (i - first);
        }
        bitmap[first / WORD_BITS] = word;
    }
}

static double loops_squares(const float *x, uint32_t count)
{
    double s[8] = {0};
    uint32_t i = 0;

    for (; i + 8 <= count; i += 8) {
        for (uint32_t k = 0; k < 8; k++) {
            s[k] += (double)x[i + k] * (double)x[i + k];
        }
    }
    for (uint32_t k = 0; i + k < count; k++) {
        s[k] += (double)x[i + k] * (double)x[i + k];
    }
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

static bool loops_row_above(const float *values, const float *held, uint32_t count, float threshold)
{
    double t = (double)threshold;

    return loops_squares(held, count) > t * t * loops_squares(values, count);
}

#define LOOPS_TABLE(text)                                                                          \
    {                                                                                              \
        .name = (text), .finite = loops_finite, .bits = loops_bits, .add = loops_add,              \
        .add_bitmap = loops_add_bitmap, .add_list = loops_add_list, .list = loops_list,            \
        .gather = loops_gather, .take = loops_take, .mark_relative = loops_mark_relative,          \
        .mark_absolute = loops_mark_absolute, .mark_product = loops_mark_product,                  \
        .mark_measured = loops_mark_measured, .select_relative = loops_select_relative,            \
        .select_absolute = loops_select_absolute, .row_above = loops_row_above,                    \
    }

#endif
