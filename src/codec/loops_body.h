/* The text of the loops. Each of loops_plain.c, loops_avx2.c and loops_avx512.c includes it once
 * and is compiled with its own flags, as in src/table.
 *
 * What is left at the end of a chunk is done one by one, or in a word that zeros fill up. */

#ifndef CODEC_LOOPS_BODY_H
#define CODEC_LOOPS_BODY_H

#include "codec/loops_gaps.h"
#include "codec/loops_half.h"
#include "codec/loops_word.h"

#include <float.h>

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

/* The words in front that have so many values behind their start that a vector of bytes can be read
 * whole. */
static uint32_t loops_words_safe(const uint8_t *bitmap, uint32_t words)
{
    uint32_t behind = 0;

    while (words > 0 && behind < WORD_BITS) {
        behind += (uint32_t)__builtin_popcountll(bytes_load64(bitmap + (size_t)--words * 8));
    }
    return words;
}

static inline uint32_t loops_add_words(float *values, const uint8_t *bitmap, const uint8_t *from,
                                       uint32_t elements, enum codec_values how)
{
    uint32_t words = (elements + WORD_BITS - 1) / WORD_BITS;
    uint32_t full =
        how != CODEC_VALUES_F32 ? loops_words_safe(bitmap, words) : elements / WORD_BITS;
    uint32_t kept = 0;

    for (uint32_t w = 0; w < words; w++) {
        uint64_t word = bytes_load64(bitmap + (size_t)w * 8);
        float *at = values + (size_t)w * WORD_BITS;

        if (word != 0) {
            uint32_t count = w < full ? word_add(word, at, from, how, &kept)
                                      : word_add_each(word, at, from, how, &kept);

            from += count * loops_value_bytes(how);
        }
    }
    return kept;
}

static uint32_t loops_add_bitmap(float *values, const uint8_t *bitmap, const uint8_t *from,
                                 uint32_t elements)
{
    return loops_add_words(values, bitmap, from, elements, CODEC_VALUES_F32);
}

static uint32_t loops_add_bitmap_f16(float *values, const uint8_t *bitmap, const uint8_t *from,
                                     uint32_t elements)
{
    return loops_add_words(values, bitmap, from, elements, CODEC_VALUES_F16);
}

static uint32_t loops_add_bitmap_i8(float *values, const uint8_t *bitmap, const uint8_t *from,
                                    uint32_t elements)
{
    return loops_add_words(values, bitmap, from, elements, CODEC_VALUES_I8);
}

static uint32_t loops_add_list(float *values, const uint8_t *list, const uint8_t *from,
                               uint32_t count)
{
    return loops_add_each(values, list, from, count, CODEC_VALUES_F32);
}

static uint32_t loops_add_list_f16(float *values, const uint8_t *list, const uint8_t *from,
                                   uint32_t count)
{
    return loops_add_each(values, list, from, count, CODEC_VALUES_F16);
}

static uint32_t loops_add_list_i8(float *values, const uint8_t *list, const uint8_t *from,
                                  uint32_t count)
{
    return loops_add_each(values, list, from, count, CODEC_VALUES_I8);
}

/* What is too large for a byte becomes zero first, since no integer may be made of it. A float has
 * the bits that it would have after it was a byte, or it cannot be one. */
static uint32_t loops_byte_differs(float x)
{
    uint32_t bits = loops_float_bits(x);
    uint32_t small_bits = bits & loops_mask(loops_magnitude(x) <= LOOPS_BYTE_MAX_BITS);

    return loops_float_bits((float)(int32_t)loops_from_bits(small_bits)) ^ bits;
}

static inline bool loops_word_whole(const float *x)
{
    uint32_t differs = 0;

    for (uint32_t i = 0; i < WORD_BITS; i++) {
        differs |= loops_byte_differs(x[i]);
    }
    return differs == 0;
}

static bool loops_whole(const float *floats, uint32_t count)
{
    float last[WORD_BITS] = {0};

    for (; count >= WORD_BITS; floats += WORD_BITS, count -= WORD_BITS) {
        if (!loops_word_whole(floats)) {
            return false;
        }
    }
    memcpy(last, floats, count * sizeof(float));
    return loops_word_whole(last);
}

static inline void loops_word_narrow(const float *x, int8_t *bytes)
{
    for (uint32_t i = 0; i < WORD_BITS; i++) {
        bytes[i] = (int8_t)(int32_t)x[i];
    }
}

/* No byte is written over a float that is still to be read. */
static void loops_narrow(float *floats, uint32_t count)
{
    uint8_t *to = (uint8_t *)floats;
    float last[WORD_BITS] = {0};
    int8_t bytes[WORD_BITS];

    for (; count >= WORD_BITS; floats += WORD_BITS, to += WORD_BITS, count -= WORD_BITS) {
        loops_word_narrow(floats, bytes);
        memcpy(to, bytes, WORD_BITS);
    }
    memcpy(last, floats, count * sizeof(float));
    loops_word_narrow(last, bytes);
    memcpy(to, bytes, count);
}

static bool loops_whole_bytes(const uint8_t *bytes, uint32_t count)
{
    uint8_t seen = 0;

    for (uint32_t i = 0; i < count; i++) {
        seen |= bytes[i] == 0x80;
    }
    return seen == 0;
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

/* Four at a time, as vectors of the compiler's: gcc makes none of such loops by itself. */
typedef uint32_t loops_four_bits __attribute__((vector_size(16)));
typedef float loops_four_floats __attribute__((vector_size(16)));
typedef double loops_four_doubles __attribute__((vector_size(32)));

static inline void loops_square_four(const float *x, uint32_t limit_bits, loops_four_doubles *s)
{
    loops_four_floats within;
    loops_four_doubles wide;
    loops_four_bits bits;

    memcpy(&bits, x, sizeof(bits));
    bits &= (loops_four_bits)((bits & UINT32_C(0x7fffffff)) <= limit_bits);
    memcpy(&within, &bits, sizeof(within));
    wide = __builtin_convertvector(within, loops_four_doubles);
    *s += wide * wide;
}

static double loops_squares(const float *x, uint32_t count, float limit)
{
    uint32_t limit_bits = loops_magnitude(limit);
    loops_four_doubles low = {0}, high = {0};
    float last[8] = {0};

    for (; count >= 8; x += 8, count -= 8) {
        loops_square_four(x, limit_bits, &low);
        loops_square_four(x + 4, limit_bits, &high);
    }
    memcpy(last, x, count * sizeof(float));
    loops_square_four(last, limit_bits, &low);
    loops_square_four(last + 4, limit_bits, &high);
    low += high;
    return (low[0] + low[2]) + (low[1] + low[3]);
}

static bool loops_row_above(const float *values, const float *held, uint32_t count, float threshold)
{
    double t = (double)threshold;

    return loops_squares(held, count, FLT_MAX) > t * t * loops_squares(values, count, FLT_MAX);
}

#define LOOPS_TABLE(text)                                                                          \
    {                                                                                              \
        .name = (text), .finite = loops_finite, .finite_halves = loops_finite_halves,              \
        .bits = loops_bits, .gaps = loops_gaps,                                                    \
        .add = {[CODEC_VALUES_F32] = loops_add, [CODEC_VALUES_F16] = loops_add_f16},               \
        .add_bitmap = {[CODEC_VALUES_F32] = loops_add_bitmap,                                      \
                       [CODEC_VALUES_F16] = loops_add_bitmap_f16,                                  \
                       [CODEC_VALUES_I8] = loops_add_bitmap_i8},                                   \
        .add_list = {[CODEC_VALUES_F32] = loops_add_list,                                          \
                     [CODEC_VALUES_F16] = loops_add_list_f16,                                      \
                     [CODEC_VALUES_I8] = loops_add_list_i8},                                       \
        .add_gaps = {[CODEC_VALUES_F32] = loops_add_gaps,                                          \
                     [CODEC_VALUES_F16] = loops_add_gaps_f16,                                      \
                     [CODEC_VALUES_I8] = loops_add_gaps_i8},                                       \
        .halve = loops_halve_all, .whole = loops_whole, .narrow = loops_narrow,                    \
        .whole_bytes = loops_whole_bytes, .list = loops_list, .gather = loops_gather,              \
        .take = loops_take, .mark_relative = loops_mark_relative,                                  \
        .mark_absolute = loops_mark_absolute, .mark_product = loops_mark_product,                  \
        .mark_measured = loops_mark_measured, .select_relative = loops_select_relative,            \
        .select_absolute = loops_select_absolute, .row_above = loops_row_above,                    \
        .squares = loops_squares,                                                                  \
    }

#endif
