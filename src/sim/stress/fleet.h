/* Fleets: several sites in one simulated world, each with its own copy of the model, whose workers
 * add whole numbers. So it can be told exactly, after every event, what each copy must hold: what
 * its own workers added, and of every other site just what its pieces say (I8); and whether a
 * reader misses what it must not miss (I9). Everything about a fleet and what goes wrong comes from
 * a seed. */

#ifndef SIM_STRESS_FLEET_H
#define SIM_STRESS_FLEET_H

#include "base/text.h"
#include "node/mirror/mirror.h"
#include "node/site/between.h"
#include "sim/fault.h"

enum {
    SIM_FLEET_SITES_MAX = 6,
    SIM_FLEET_TABLES = 2,
    SIM_FLEET_TRACE_BYTES_MAX = 64 << 20,
};

struct sim_fleet_config {
    uint64_t seed;
    uint32_t sites;  /* 0: by seed, and so with the rest. */
    int groups;      /* -1: by seed; else how many, or 0. */
    int delivery;    /* -1: by seed; else enum node_delivery. */
    int checkpoints; /* -1: by seed; else how many clocks apart, or 0. */
    uint64_t clocks;
    /* Mask of enum sim_fault_kind; zero: none. Processes die only where sites keep checkpoints, and
     * so only with pull delivery. */
    uint64_t faults;
    int64_t storm_ns; /* How long; zero: 6 s. */
    bool trace;
};

struct sim_fleet_result {
    char verdict[320]; /* Empty: everything held. */
    int64_t now_ns;
    uint64_t events;
    uint64_t transcript_hash;
    struct text transcript; /* If asked for. */
    uint64_t reads;         /* That were judged. */
    struct node_mirror_stats totals;
    uint64_t fired[SIM_FAULT_KINDS];
    char about[160];
};

/* Run one. Errors are of this machine; a broken invariant is a verdict. */
MUST_USE enum err sim_fleet_run(const struct sim_fleet_config *config,
                                struct sim_fleet_result *result_out, struct err_text *text);
void sim_fleet_result_deinit(struct sim_fleet_result *r);

#endif
