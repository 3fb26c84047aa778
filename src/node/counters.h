/* What a lane or a worker counts; names are in docs and stable. */

#ifndef NODE_COUNTERS_H
#define NODE_COUNTERS_H

#include "base/err.h"
#include "wire/clock.h"

struct obs_counter;
struct obs_registry;

enum { NODE_REFUSALS = WIRE_LATE_SHAPE + 1 };

struct node_counters {
    struct obs_counter *updates;
    struct obs_counter *duplicates;
    struct obs_counter *refused[NODE_REFUSALS]; /* By enum wire_late. */
    struct obs_counter *rounds;
    struct obs_counter *broadcasts;
    struct obs_counter *snapshots;
    struct obs_counter *trees;
    struct obs_counter *detours;
    struct obs_counter *kept;
    struct obs_counter *expired;
    struct obs_counter *checkpoints;
    struct obs_counter *checkpoint_failures;
};

MUST_USE enum err node_counters_init(struct node_counters *c, struct obs_registry *registry);

#endif
