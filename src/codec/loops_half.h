/* Loops over halves: a part of the text of loops_body.h. */

#ifndef CODEC_LOOPS_HALF_H
#define CODEC_LOOPS_HALF_H

#include "codec/loops_word.h"

static bool loops_finite_halves(const uint8_t *halves, uint32_t count)
{
    uint16_t seen = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint16_t magnitude = bytes_load16(halves + (size_t)i * 2) & 0x7fff;

        seen = (uint16_t)(seen | (magnitude + 0x0400));
    }
    return seen >> 15 == 0;
}

static uint32_t loops_add_f16(float *values, const uint8_t *from, uint32_t elements)
{
    uint16_t halves[WORD_BITS];
    float floats[WORD_BITS];
    uint32_t kept = 0;

    for (uint32_t i = 0; i < elements; i += WORD_BITS) {
        uint32_t count = elements - i < WORD_BITS ? elements - i : WORD_BITS;

        memcpy(halves, from + (size_t)i * 2, (size_t)count * 2);
        word_unhalve(halves, floats);
        kept += loops_add(values + i, (const uint8_t *)floats, count);
    }
    return kept;
}

static inline uint32_t loops_word_errors(const float *x, const uint16_t *halves, float *errors)
{
    float back[WORD_BITS];
    uint32_t most = 0;

    word_unhalve(halves, back);
    for (uint32_t i = 0; i < WORD_BITS; i++) {
        uint32_t magnitude;

        errors[i] = x[i] - back[i];
        magnitude = loops_magnitude(errors[i]);
        most = magnitude > most ? magnitude : most;
    }
    return most;
}

/* What is too large for a half is another number when it comes back, in some of the loops, so it is
 * found before: by the largest magnitude. */
static uint32_t loops_halve_all(const float *floats, uint32_t count, uint16_t *halves,
                                float *errors)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < count; i += WORD_BITS) {
        uint32_t left = count - i < WORD_BITS ? count - i : WORD_BITS;
        float x[WORD_BITS] = {0}, lost[WORD_BITS];
        uint16_t to[WORD_BITS];
        uint32_t error;

        memcpy(x, floats + i, left * sizeof(float));
        word_halve(x, to);
        error = loops_finite_halves((const uint8_t *)to, WORD_BITS) ? loops_word_errors(x, to, lost)
                                                                    : LOOPS_INFINITY_BITS;
        if (error == LOOPS_INFINITY_BITS) {
            return error;
        }
        most = error > most ? error : most;
        memcpy(halves + i, to, left * sizeof(uint16_t));
        memcpy(errors + i, lost, left * sizeof(float));
    }
    return most;
}

#endif
