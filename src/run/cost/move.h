/* Moving the data of all sites into one region before anything is trained (layout: centralised).
 * Each site's part goes over its own link, all at once, so it takes as long as the slowest of them;
 * machines at both ends of a link wait meanwhile, the receiving ones until all is there. All is at
 * full size. Pure: it is computed, nothing is sent. */

#ifndef RUN_COST_MOVE_H
#define RUN_COST_MOVE_H

#include "run/file/file.h"

#define RUN_MOVE_CLASS "small" /* Of the machines that move, if there are such everywhere. */

struct run_move_part {
    uint32_t region;
    uint64_t bytes;
    int64_t took_ns;
};

struct run_move {
    bool moves; /* Else there is nothing to be moved, and all of this is zero. */
    uint32_t to;
    uint64_t bytes;  /* Of all parts. */
    int64_t took_ns; /* Of the slowest. */
    const char *class;
    uint32_t parts_count;
    struct run_move_part parts[RUN_SERVERS_MAX]; /* Of the other regions. */
};

/* What the file moves: nothing, unless its layout is centralised. */
void run_move_of(const struct run_file *f, struct run_move *out);

/* What moving all to region @to would be: the data of a site is its part by number of workers. */
void run_move_to(const struct run_file *f, uint32_t to, struct run_move *out);

/* What the machines and the traffic of it cost. False: a price is not known, or too much. */
MUST_USE bool run_move_cost(const struct run_file *f, const struct run_move *m,
                            uint64_t *machines_nusd_out, uint64_t *transfer_nusd_out);

/* The region of a site to which moving costs least, of several the one with the cheapest machines
 * for training, then the first; if a price is not known, the one to which it takes the least
 * time. */
uint32_t run_move_cheapest(const struct run_file *f);

#endif
