/* Drills: a site in a simulated world whose workers push whole numbers, so that a witness can tell
 * to the last bit what must come out; with every kind of fault, by seed. */

#ifndef SIM_DRILL_H
#define SIM_DRILL_H

#include "base/text.h"
#include "sim/cluster.h"
#include "sim/fault.h"

enum { SIM_DRILL_TRACE_BYTES_MAX = 64 << 20 };

struct sim_drill_config {
    uint64_t seed;
    const char *barrier; /* NULL: one by seed, and so with the rest. */
    uint64_t staleness;
    int delivery;        /* -1: by seed; else enum node_delivery. */
    int checkpoints;     /* -1: by seed; else how many clocks apart, or 0. */
    uint32_t workers;    /* 0: by seed. */
    uint32_t servers;    /* 0: by seed. */
    uint64_t clocks;     /* 0: by seed. */
    bool fixed_order;    /* bsp only. */
    bool rough;          /* Updates are no whole numbers: sums depend on their order. */
    uint64_t faults;     /* Mask of enum sim_fault_kind; zero: none. */
    int64_t storm_ns;    /* How long; zero: 8 s. */
    int64_t deadline_ns; /* Of a round; zero: by seed, 2 s or 120 s. */
    bool trace;
};

struct sim_drill_result {
    char verdict[320]; /* Empty: everything held. */
    int64_t now_ns;
    uint64_t events;
    uint64_t transcript_hash;
    struct text transcript; /* If asked for. */
    uint64_t updates;       /* Counted in the end. */
    uint64_t values_hash;   /* Of all tables in the end. */
    uint64_t rebases;
    uint64_t restores; /* To an older state. */
    uint64_t duplicates;
    uint64_t refused;
    uint64_t snapshots;
    uint64_t checkpoints;
    uint64_t fired[SIM_FAULT_KINDS];
    struct node_site site; /* What kind of site it was. */
    char about[96];        /* The same in words. */
};

/* Run one. Errors are of this machine; a broken invariant is a verdict. */
MUST_USE enum err sim_drill_run(const struct sim_drill_config *config,
                                struct sim_drill_result *result_out, struct err_text *text);
void sim_drill_result_deinit(struct sim_drill_result *r);

/* Kinds of faults that a site must survive with all invariants. */
uint64_t sim_drill_faults(void);

#endif
