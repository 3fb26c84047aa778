/* How long a broadcast takes: a site of hosts with equal network cards, one worker that pushes an
 * update of the whole model, and all of them waiting for it. The round closes when everything has
 * long been pushed, so what is timed is the way from the lanes to the workers and nothing else. */

#ifndef SIM_STRESS_BROADCAST_H
#define SIM_STRESS_BROADCAST_H

#include "node/site/site.h"

enum { SIM_BROADCAST_WORKERS_MAX = 256, SIM_BROADCAST_SERVERS_MAX = 64 };

struct sim_broadcast_config {
    uint32_t workers;
    uint32_t servers;
    uint64_t elements;  /* Of the model. */
    uint64_t card_rate; /* Of each host, bytes per second. */
    uint32_t racks;     /* Hosts are dealt out to so many, half of them in each aggregation; zero:
                         * all are alike. */
    struct node_tree tree;                /* Degree zero: lanes send to all. */
    struct node_sparsify_config sparsify; /* Of what lanes send. */
    double sent; /* The part of the elements that is above the chain's threshold. */
    uint32_t rounds;
    uint64_t seed;
};

struct sim_broadcast_result {
    double last_s; /* Until the last worker has all of it: the mean over rounds. */
    double mean_s; /* Until a worker has: the mean over workers and rounds. */
    uint64_t sent; /* Frames by lanes, in all rounds, */
    uint64_t most; /* and by the busiest worker. */
};

/* ERR_INVALID with a text; ERR_NOMEM. */
MUST_USE enum err sim_broadcast_run(const struct sim_broadcast_config *config,
                                    struct sim_broadcast_result *out, struct err_text *text);

#endif
