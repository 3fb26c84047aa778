/* What a lane or a worker counts; names are in docs and stable. */

#ifndef NODE_COUNTERS_H
#define NODE_COUNTERS_H

#include "node/permit.h"
#include "wire/clock.h"

struct obs_counter;
struct obs_registry;

enum { NODE_REFUSALS = WIRE_LATE_SHAPE + 1 };

/* Where an addition would have made an element infinite, or not a number: it keeps its value then,
 * and is counted once for each addition. */
enum node_place_of_sum {
    NODE_IN_SUM,    /* A filtered update into the sum of its round. */
    NODE_IN_VALUES, /* The sum of a round into the values, or the updates in it into each other. */
    NODE_IN_RESIDUAL, /* The sum of a round into what is held back of sums. */
    NODE_IN_DELTAS,   /* Deltas of other sites into the values, or into each other. */
    NODE_IN_CENTRAL,  /* Sums of sites into each other. */
    NODE_PLACES,
};

/* The word for a place, as the metric has it. */
const char *node_place_of_sum_name(enum node_place_of_sum place);

struct node_counters {
    struct obs_counter *updates;
    struct obs_counter *duplicates;
    struct obs_counter *refused[NODE_REFUSALS];           /* By enum wire_late. */
    struct obs_counter *operations_refused[NODE_PERMITS]; /* By enum node_permit. */
    struct obs_counter *rounds;
    struct obs_counter *broadcasts;
    struct obs_counter *snapshots;
    struct obs_counter *trees;
    struct obs_counter *detours;
    struct obs_counter *nonfinite[NODE_PLACES];
    struct obs_counter *expired;
    struct obs_counter *checkpoints;
    struct obs_counter *checkpoint_failures;
};

MUST_USE enum err node_counters_init(struct node_counters *c, struct obs_registry *registry);

#endif
