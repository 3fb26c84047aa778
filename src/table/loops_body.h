/* The text of the loops. Each of loops_plain.c, loops_avx2.c and loops_avx512.c includes it once
 * and is compiled with its own flags. That is target_clones by hand: clang 14 has those only for
 * C++, a test cannot call one clone, and resolvers run before the sanitizers do. */

#ifndef TABLE_LOOPS_BODY_H
#define TABLE_LOOPS_BODY_H

#include "table/loops.h"

#include <math.h>
#include <string.h>

#define LOOPS_INFINITY_BITS UINT32_C(0x7f800000)

/* The bits without the sign: at least LOOPS_INFINITY_BITS if @x is not finite. As integers, because
 * a comparison of floats may be optimised on assumptions, and sorts NaN nowhere. */
static inline uint32_t loops_magnitude(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits & UINT32_C(0x7fffffff);
}

/* Has its highest bit set if @x is not finite: adding one exponent step carries into it. Many of
 * these are or-ed together and looked at once. */
static inline uint32_t loops_overflow(float x)
{
    return loops_magnitude(x) + UINT32_C(0x00800000);
}

static void loops_add(float *restrict sum, const float *restrict x, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sum[i] += x[i];
    }
}

static void loops_add_scaled(float *restrict sum, const float *restrict x, float scale,
                             uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sum[i] += scale * x[i];
    }
}

static void loops_scale(float *x, float scale, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        x[i] *= scale;
    }
}

static bool loops_finite(const float *x, uint32_t count)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < count; i++) {
        seen |= loops_overflow(x[i]);
    }
    return seen >> 31 == 0;
}

static bool loops_sum_finite(const float *sum, const float *x, float scale, uint32_t count)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < count; i++) {
        seen |= loops_overflow(sum[i] + scale * x[i]);
    }
    return seen >> 31 == 0;
}

static uint32_t loops_step_add(const struct table_step *step, float *restrict w, float *state,
                               const float *restrict u, uint32_t count)
{
    float scale = step->scale;
    uint32_t kept = 0;

    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        float next = w[i] + scale * u[i];
        bool ok = loops_magnitude(next) < LOOPS_INFINITY_BITS;

        w[i] = ok ? next : w[i];
        kept += !ok;
    }
    return kept;
}

static uint32_t loops_step_sgd(const struct table_step *step, float *restrict w, float *state,
                               const float *restrict u, uint32_t count)
{
    float scale = step->scale, rate = step->rate;
    uint32_t kept = 0;

    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        float next = w[i] - rate * (scale * u[i]);
        bool ok = loops_magnitude(next) < LOOPS_INFINITY_BITS;

        w[i] = ok ? next : w[i];
        kept += !ok;
    }
    return kept;
}

/* A state that is not finite makes a value that is not: rate * infinity is infinite, or NaN. */
static uint32_t loops_step_momentum(const struct table_step *step, float *restrict w,
                                    float *restrict state, const float *restrict u, uint32_t count)
{
    float scale = step->scale, rate = step->rate, mu = step->mu;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        float m = mu * state[i] + scale * u[i];
        float next = w[i] - rate * m;
        bool ok = loops_magnitude(next) < LOOPS_INFINITY_BITS;

        w[i] = ok ? next : w[i];
        state[i] = ok ? m : state[i];
        kept += !ok;
    }
    return kept;
}

/* Here an infinite state would make a finite value (anything / infinity is zero) and stop the
 * element for ever, so both are judged. */
static uint32_t loops_step_adagrad(const struct table_step *step, float *restrict w,
                                   float *restrict state, const float *restrict u, uint32_t count)
{
    float scale = step->scale, rate = step->rate, eps = step->eps;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        float g = scale * u[i];
        float squares = state[i] + g * g;
        float next = w[i] - rate * g / (sqrtf(squares) + eps);
        bool ok = ((loops_overflow(next) | loops_overflow(squares)) >> 31) == 0;

        w[i] = ok ? next : w[i];
        state[i] = ok ? squares : state[i];
        kept += !ok;
    }
    return kept;
}

/* The same four with a second sum: what is added to the value, or subtracted, is so in held. Kept
 * apart from those above, which are what runs without other sites. */
static uint32_t loops_track_add(const struct table_step *step, float *restrict w, float *state,
                                const float *restrict u, float *restrict held, uint32_t count)
{
    float scale = step->scale;
    uint32_t kept = 0;

    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        float change = scale * u[i];
        float next = w[i] + change, sum = held[i] + change;
        bool ok = ((loops_overflow(next) | loops_overflow(sum)) >> 31) == 0;

        w[i] = ok ? next : w[i];
        held[i] = ok ? sum : held[i];
        kept += !ok;
    }
    return kept;
}

static uint32_t loops_track_sgd(const struct table_step *step, float *restrict w, float *state,
                                const float *restrict u, float *restrict held, uint32_t count)
{
    float scale = step->scale, rate = step->rate;
    uint32_t kept = 0;

    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        float change = rate * (scale * u[i]);
        float next = w[i] - change, sum = held[i] - change;
        bool ok = ((loops_overflow(next) | loops_overflow(sum)) >> 31) == 0;

        w[i] = ok ? next : w[i];
        held[i] = ok ? sum : held[i];
        kept += !ok;
    }
    return kept;
}

static uint32_t loops_track_momentum(const struct table_step *step, float *restrict w,
                                     float *restrict state, const float *restrict u,
                                     float *restrict held, uint32_t count)
{
    float scale = step->scale, rate = step->rate, mu = step->mu;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        float m = mu * state[i] + scale * u[i];
        float change = rate * m;
        float next = w[i] - change, sum = held[i] - change;
        bool ok = ((loops_overflow(next) | loops_overflow(sum)) >> 31) == 0;

        w[i] = ok ? next : w[i];
        state[i] = ok ? m : state[i];
        held[i] = ok ? sum : held[i];
        kept += !ok;
    }
    return kept;
}

static uint32_t loops_track_adagrad(const struct table_step *step, float *restrict w,
                                    float *restrict state, const float *restrict u,
                                    float *restrict held, uint32_t count)
{
    float scale = step->scale, rate = step->rate, eps = step->eps;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        float g = scale * u[i];
        float squares = state[i] + g * g;
        float change = rate * g / (sqrtf(squares) + eps);
        float next = w[i] - change, sum = held[i] - change;
        uint32_t seen = loops_overflow(next) | loops_overflow(sum) | loops_overflow(squares);
        bool ok = seen >> 31 == 0;

        w[i] = ok ? next : w[i];
        state[i] = ok ? squares : state[i];
        held[i] = ok ? sum : held[i];
        kept += !ok;
    }
    return kept;
}

#define LOOPS_TABLE(text)                                                                          \
    {                                                                                              \
        .name = (text), .add = loops_add, .add_scaled = loops_add_scaled, .scale = loops_scale,    \
        .finite = loops_finite, .sum_finite = loops_sum_finite,                                    \
        .step =                                                                                    \
            {                                                                                      \
                [TABLE_ADD] = loops_step_add,                                                      \
                [TABLE_SGD] = loops_step_sgd,                                                      \
                [TABLE_MOMENTUM] = loops_step_momentum,                                            \
                [TABLE_ADAGRAD] = loops_step_adagrad,                                              \
            },                                                                                     \
        .track = {                                                                                 \
            [TABLE_ADD] = loops_track_add,                                                         \
            [TABLE_SGD] = loops_track_sgd,                                                         \
            [TABLE_MOMENTUM] = loops_track_momentum,                                               \
            [TABLE_ADAGRAD] = loops_track_adagrad,                                                 \
        },                                                                                         \
    }

#endif
