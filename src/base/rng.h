/* Seeded pseudo-random numbers (xoshiro256**): the same seed gives the same numbers everywhere.
 * Not for secrets; those come from net/entropy.h. */

#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdbool.h>
#include <stdint.h>

/* May be copied; a copy goes on with the same numbers. */
struct rng {
    uint64_t state[4];
};

void rng_init(struct rng *r, uint64_t seed);

/* Return a generator that depends on @r's seed and on @stream only, and leave @r unchanged: so a
 * new consumer of randomness does not shift the numbers of the others. */
struct rng rng_fork(const struct rng *r, uint64_t stream);

uint64_t rng_next(struct rng *r);

/* Uniform in [0, bound); @bound is not zero. Without modulo bias. */
uint64_t rng_below(struct rng *r, uint64_t bound);

/* Uniform in [low, high]. */
int64_t rng_between(struct rng *r, int64_t low, int64_t high);

/* True @ppm times in a million. */
bool rng_chance(struct rng *r, uint32_t ppm);

/* Uniform in [0, 1). */
double rng_unit(struct rng *r);

#endif
