/* Which of a worker's samples go into which clock: pass after pass over all of them, each in a
 * seeded order of its own, a batch per clock; the last one of a pass may be smaller. Any clock may
 * be asked for next, so a worker that comes back takes the same samples as one that never left. */

#ifndef APP_BATCH_H
#define APP_BATCH_H

#include "base/err.h"
#include "base/rng.h"

#include <stdint.h>

/* Fields are private to app/batch.c. */
struct batch {
    uint32_t *order;
    uint32_t count;
    uint32_t size;
    uint64_t pass; /* Whose order this is, from 1; zero: none yet. */
    struct rng rng;
};

/* @count samples, @size of them per clock (not zero). Only @rng's state is used, not changed.
 * ERR_NOMEM. */
MUST_USE enum err batch_init(struct batch *b, uint32_t count, uint32_t size, const struct rng *rng);
void batch_deinit(struct batch *b);

/* The samples of @clock, from 1: *@count_out of them, none if there are none at all. Valid until
 * the next call. */
const uint32_t *batch_at(struct batch *b, uint64_t clock, uint32_t *count_out);

#endif
