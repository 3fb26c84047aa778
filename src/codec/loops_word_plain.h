/* Words of 64 elements, for every processor. See loops_word.h. */

#ifndef CODEC_LOOPS_WORD_PLAIN_H
#define CODEC_LOOPS_WORD_PLAIN_H

/* Eight bytes that are 0 or 1 become eight bits: the product moves each to its place in the highest
 * byte. Compilers make vectors of the comparisons that way, and not of shifts. */
static inline uint64_t word_of_bytes(const uint8_t *bytes)
{
    uint64_t word = 0;

    for (uint32_t i = 0; i < WORD_BITS; i += 8) {
        word |= bytes_load64(bytes + i) * UINT64_C(0x0102040810204080) >> 56 << i;
    }
    return word;
}

static inline uint64_t word_relative(const float *values, const float *held, float threshold)
{
    uint8_t above[WORD_BITS];

    for (uint32_t i = 0; i < WORD_BITS; i++) {
        above[i] = fabsf(held[i]) > threshold * fabsf(values[i]);
    }
    return word_of_bytes(above);
}

static inline uint64_t word_absolute(const float *held, float threshold)
{
    uint8_t above[WORD_BITS];

    for (uint32_t i = 0; i < WORD_BITS; i++) {
        above[i] = fabsf(held[i]) > threshold;
    }
    return word_of_bytes(above);
}

static inline uint32_t word_gather(uint64_t word, const float *from, float *zero, float *out)
{
    return word_gather_each(word, from, zero, out);
}

static inline uint32_t word_add(uint64_t word, float *values, const uint8_t *from,
                                enum codec_values how, uint32_t *kept)
{
    return word_add_each(word, values, from, how, kept);
}

static inline void word_halve(const float *x, uint16_t *halves)
{
    word_halve_each(x, halves);
}

static inline void word_unhalve(const uint16_t *halves, float *x)
{
    word_unhalve_each(halves, x);
}

#endif
