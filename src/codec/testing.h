/* For the tests of this module: elements by name, and payloads written the slow way. */

#ifndef CODEC_TESTING_H
#define CODEC_TESTING_H

#include "base/bytes.h"
#include "base/testing_floats.h"
#include "codec/loops.h"

#include <math.h>
#include <stdio.h>

static const uint32_t testing_counts[] = {1,   2,   3,   4,   5,   7,   8,   9,    15,   16,   17,
                                          31,  32,  33,  63,  64,  65,  66,  127,  128,  129,  130,
                                          191, 192, 193, 250, 256, 500, 999, 1000, 4099, 65536};
enum { TESTING_COUNTS = sizeof(testing_counts) / sizeof(testing_counts[0]) };

/* Changes of counts: mostly -1, 0, 1 or 2. All can be bytes. */
static inline void testing_fill_whole(struct rng *r, float *x, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        x[i] = (float)rng_below(r, 4) - 1;
        if (rng_chance(r, 50000)) {
            x[i] = (float)rng_below(r, 255) - 127;
        }
    }
}

static inline bool testing_in_bytes(uint32_t codec)
{
    return codec == CODEC_BITMAP_I8 || codec == CODEC_LIST_I8 || codec == CODEC_GAPS_I8;
}

static inline bool testing_in_halves(uint32_t codec)
{
    return codec == CODEC_F16 || codec == CODEC_BITMAP_F16 || codec == CODEC_LIST_F16 ||
           codec == CODEC_GAPS_F16;
}

static inline bool testing_is_dense(uint32_t codec)
{
    return codec == CODEC_F32 || codec == CODEC_F16;
}

/* What a half is worth, by its definition. */
static inline float testing_from_half(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    float x = exponent == 0 ? ldexpf((float)fraction, -24)
                            : ldexpf((float)(1024 + fraction), exponent - 25);

    return (half & 0x8000) != 0 ? -x : x;
}

/* The half that is nearest, of two the even one: there is no other with the same sign below it. */
static inline uint16_t testing_to_half(float x)
{
    uint16_t low = 0, high = 0x7c00; /* Which stands for 65536 here. */

    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2);

        if ((double)testing_from_half(middle) <= fabs((double)x)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    if (fabs((double)x) - (double)testing_from_half(low) >
            (double)testing_from_half(high) - fabs((double)x) ||
        (fabs((double)x) - (double)testing_from_half(low) ==
             (double)testing_from_half(high) - fabs((double)x) &&
         low % 2 != 0)) {
        low = high;
    }
    return (uint16_t)(low | (signbit(x) ? 0x8000 : 0));
}

/* What that encoding can carry; if it is any, a third of the times whole numbers all the same, and
 * of these some with one that is none. */
static inline void testing_fill_for(struct rng *r, uint32_t codec, float *x, uint32_t count)
{
    if (testing_in_bytes(codec)) {
        testing_fill_whole(r, x, count);
    } else if (testing_in_halves(codec)) {
        for (uint32_t i = 0; i < count; i++) {
            x[i] = testing_from_half((uint16_t)(rng_below(r, 0x7c00) | rng_below(r, 2) << 15));
        }
    } else if (rng_chance(r, 333333)) {
        testing_fill_whole(r, x, count);
        if (rng_chance(r, 250000)) {
            x[rng_below(r, count)] = testing_float(r);
        }
    } else {
        testing_fill(r, x, count);
    }
}

static inline bool testing_is_byte(float x)
{
    return x >= -127 && x <= 127 && floorf(x) == x && !(x == 0 && signbit(x));
}

static inline bool testing_named(const uint64_t *bitmap, uint32_t element)
{
    return (bitmap[element / 64] >> (element % 64) & 1) != 0;
}

/* Name elements at random: few, many, all, or in runs. At least one. */
static inline void testing_name(struct rng *r, uint32_t elements, uint64_t *bitmap)
{
    static const uint32_t ppms[] = {2000, 10000, 50000, 200000, 500000, 900000, 985000, 1000000};
    uint32_t ppm = ppms[rng_below(r, 8)];
    bool runs = rng_chance(r, 250000), on = false;
    uint32_t count = 0, any = (uint32_t)rng_below(r, elements);

    memset(bitmap, 0, codec_bitmap_words(elements) * sizeof(*bitmap));
    for (uint32_t i = 0; i < elements; i++) {
        on = runs && !rng_chance(r, 30000) ? on : rng_chance(r, ppm);
        bitmap[i / 64] |= (uint64_t)on << (i % 64);
        count += on;
    }
    if (count == 0) {
        bitmap[any / 64] |= UINT64_C(1) << (any % 64);
    }
}

static inline uint32_t testing_count(const uint64_t *bitmap, uint32_t elements)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < elements; i++) {
        count += testing_named(bitmap, i);
    }
    return count;
}

/* The index part; return its bytes. */
static inline uint32_t testing_encode_index(uint32_t codec, uint32_t elements,
                                            const uint64_t *bitmap, uint8_t *out)
{
    uint32_t count = testing_count(bitmap, elements), next = 0;
    uint32_t index = codec_kind_index(codec);
    uint32_t size = index == CODEC_BITMAP ? (elements + 63) / 64 * 8 : 4;

    memset(out, 0, size);
    bytes_store32(out, index == CODEC_LIST ? count : index == CODEC_GAPS ? count - 1 : 0);
    for (uint32_t i = 0; i < elements; i++) {
        if (!testing_named(bitmap, i)) {
            continue;
        }
        if (index == CODEC_BITMAP) {
            out[i / 8] = (uint8_t)(out[i / 8] | 1u << (i % 8));
        } else if (index == CODEC_LIST) {
            bytes_store16(out + size, (uint16_t)i);
            size += 2;
        } else {
            for (; i - next >= 255; next += 255) {
                out[size++] = 255;
                bytes_store16(out + 2, (uint16_t)(bytes_load16(out + 2) + 1));
            }
            out[size++] = (uint8_t)(i - next);
            next = i + 1;
        }
    }
    for (; size % 4 != 0; size++) {
        out[size] = 0;
    }
    return size;
}

/* Write the named elements of @dense to @out in the given encoding; return the bytes. */
static inline uint32_t testing_encode(uint32_t codec, uint32_t elements, const uint64_t *bitmap,
                                      const float *dense, uint8_t *out)
{
    uint32_t size =
        testing_is_dense(codec) ? 0 : testing_encode_index(codec, elements, bitmap, out);

    for (uint32_t i = 0; i < elements; i++) {
        float x = testing_named(bitmap, i) ? dense[i] : -0.0F;

        if (!testing_is_dense(codec) && !testing_named(bitmap, i)) {
            continue;
        }
        if (testing_in_bytes(codec)) {
            out[size++] = (uint8_t)(int)x;
        } else if (testing_in_halves(codec)) {
            bytes_store16(out + size, testing_to_half(x));
            size += 2;
        } else {
            bytes_store32(out + size, testing_bits(x));
            size += 4;
        }
    }
    while (size % 4 != 0) {
        out[size++] = 0;
    }
    return size;
}

/* Room for testing_encode() in any encoding. */
static inline size_t testing_room(uint32_t elements)
{
    return (size_t)elements * 6 + 64;
}

/* The encoding that is the smallest of those that can carry the named elements. */
static inline uint32_t testing_best(uint32_t elements, const uint64_t *bitmap, const float *dense)
{
    uint32_t count = testing_count(bitmap, elements);
    uint32_t bits = (elements + 63) / 64 * 8, list = 4 + (count + 1) / 2 * 4;
    uint32_t sizes[] = {elements * 4, bits + count * 4, list + count * 4,
                        bits + (count + 3) / 4 * 4, list + (count + 3) / 4 * 4};
    uint32_t best = CODEC_F32;
    bool whole = true;

    for (uint32_t i = 0; i < elements; i++) {
        whole = whole && (!testing_named(bitmap, i) || testing_is_byte(dense[i]));
    }
    for (uint32_t codec = 1; codec < (whole ? 5 : 3); codec++) {
        best = sizes[codec] < sizes[best] ? codec : best;
    }
    return best;
}

#endif
