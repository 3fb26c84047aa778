#include "run/background.h"

#include <math.h>

#define DRAW_STREAM UINT64_C(0x6261636b67726f75) /* Apart from other uses of the seed. */
#define DRAW_STEP_NS 1000                        /* Times are whole microseconds. */

enum { DRAW_LONG, DRAW_PAIRS, DRAW_USES }; /* What a phase's randomness is for. */

uint32_t run_background_hosts(const struct run_file *f, enum run_among among, uint32_t *first_out)
{
    *first_out = among == RUN_AMONG_WORKERS ? f->servers_count : 0;
    return among == RUN_AMONG_ALL       ? run_members(f)
           : among == RUN_AMONG_WORKERS ? f->workers
                                        : f->servers_count;
}

void run_draw_open(struct run_draw *d, const struct run_file *f, uint32_t index)
{
    struct rng seed;

    rng_init(&seed, f->seed);
    *d = (struct run_draw){.f = f,
                           .b = &f->backgrounds[index],
                           .rng = rng_fork(&seed, DRAW_STREAM + index),
                           .to_ns = f->backgrounds[index].after_ns};
}

static struct rng draw_rng(const struct run_draw *d, uint64_t use)
{
    return rng_fork(&d->rng, d->number * DRAW_USES + use);
}

/* Exponential around its mean: how long it still goes on does not depend on how long it did. */
static int64_t draw_long(const struct run_draw *d)
{
    int64_t mean_ns = d->on ? d->b->on_ns : d->b->off_ns;
    struct rng rng = draw_rng(d, DRAW_LONG);

    if (d->b->steady) {
        return mean_ns;
    }
    return (int64_t)ceil((double)mean_ns * -log(1 - rng_unit(&rng)) / DRAW_STEP_NS) * DRAW_STEP_NS;
}

bool run_draw_next(struct run_draw *d)
{
    int64_t until_ns = d->b->until_ns == 0 ? INT64_MAX : d->b->until_ns;
    int64_t length_ns;

    d->number++;
    d->on = d->number % 2 == 1;
    d->from_ns = d->to_ns;
    length_ns = draw_long(d);
    d->to_ns = length_ns < until_ns - d->from_ns ? d->from_ns + length_ns : until_ns;
    return d->from_ns < until_ns;
}

void run_draw_pairs(const struct run_draw *d, struct run_pair *pairs)
{
    uint32_t first, count = run_background_hosts(d->f, d->b->among, &first);
    struct rng rng = draw_rng(d, DRAW_PAIRS);

    for (uint32_t i = 0; i < d->b->flows; i++) {
        uint32_t from = (uint32_t)rng_below(&rng, count);
        uint32_t to = (uint32_t)rng_below(&rng, count - 1);

        pairs[i] = (struct run_pair){first + from, first + (to >= from ? to + 1 : to)};
    }
}
