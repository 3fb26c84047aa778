/* When other people's traffic is on, and between which hosts: drawn by the run's seed and the place
 * of the entry in the file, so that every ground has the same. Pure.
 *
 *     draw_open -> draw_next -> draw_next -> ... false
 *
 * Phases follow each other without a gap: on, off, on, ... from .after on. Each has its own
 * randomness, so that what is asked of one changes no other. */

#ifndef RUN_BACKGROUND_H
#define RUN_BACKGROUND_H

#include "base/rng.h"
#include "run/backend.h"

struct run_draw {
    const struct run_file *f;
    const struct run_background *b;
    struct rng rng;
    /* The phase. */
    uint64_t number; /* From 1 on; odd ones are on. */
    bool on;
    int64_t from_ns;
    int64_t to_ns;
};

/* A flow, from one member to another. */
struct run_pair {
    uint32_t from;
    uint32_t to;
};

/* Whose hosts these are: so many members from the first on. */
uint32_t run_background_hosts(const struct run_file *f, enum run_among among, uint32_t *first_out);

/* The entry with that number in the file; it is before its first phase. */
void run_draw_open(struct run_draw *d, const struct run_file *f, uint32_t index);

/* Go on to the next phase; false: there is none any more. */
bool run_draw_next(struct run_draw *d);

/* The flows of a phase that is on: @pairs has room for b->flows. */
void run_draw_pairs(const struct run_draw *d, struct run_pair *pairs);

#endif
