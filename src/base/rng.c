#include "base/rng.h"

#include "base/err.h"

static uint64_t rng_mix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rng_rotate(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void rng_init(struct rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        r->state[i] = rng_mix(&seed);
    }
}

struct rng rng_fork(const struct rng *r, uint64_t stream)
{
    uint64_t seed = r->state[0] ^ rng_rotate(r->state[2], 17) ^ (stream * 0xd1342543de82ef95u);
    struct rng child;

    rng_init(&child, seed);
    return child;
}

uint64_t rng_next(struct rng *r)
{
    uint64_t *s = r->state;
    uint64_t result = rng_rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rng_rotate(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *r, uint64_t bound)
{
    uint64_t threshold, x;

    CHECK(bound != 0);
    threshold = (0 - bound) % bound;
    do {
        x = rng_next(r);
    } while (x < threshold);
    return x % bound;
}

int64_t rng_between(struct rng *r, int64_t low, int64_t high)
{
    uint64_t span = (uint64_t)high - (uint64_t)low + 1;

    CHECK(low <= high);
    if (span == 0) {
        return (int64_t)rng_next(r);
    }
    return (int64_t)((uint64_t)low + rng_below(r, span));
}

bool rng_chance(struct rng *r, uint32_t ppm)
{
    return rng_below(r, 1000000) < ppm;
}

double rng_unit(struct rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1.0p-53;
}
