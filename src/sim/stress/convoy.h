/* Convoys: several sites in one simulated world that close their rounds together, around a centre
 * (node/central/central.h), over links that not all of them have. Workers add whole numbers that
 * follow from who they are, so that after every event it can be told whether two sites differ in
 * the same round (I2), and in the end whether every update that was taken counts, once (I1, I8).
 * Everything about a convoy and what goes wrong comes from a seed. */

#ifndef SIM_STRESS_CONVOY_H
#define SIM_STRESS_CONVOY_H

#include "base/text.h"
#include "node/central/central.h"
#include "sim/fault.h"

enum {
    SIM_CONVOY_SITES_MAX = 6,
    SIM_CONVOY_TABLES = 2,
    SIM_CONVOY_TRACE_BYTES_MAX = 64 << 20,
};

/* Deaths of processes; and everything else but what disks do: nobody has one. */
#define SIM_CONVOY_DEATHS (SIM_FAULTS_DEATHS & ~SIM_FAULTS_DISKS)
#define SIM_CONVOY_STORM (SIM_FAULTS_ALL & ~SIM_FAULTS_DEATHS & ~SIM_FAULTS_DISKS)

struct sim_convoy_config {
    uint64_t seed;
    uint32_t sites; /* 0: by seed, and so with the rest. */
    int delivery;   /* -1: by seed; else enum node_delivery. */
    uint64_t clocks;
    uint64_t faults;  /* Mask of enum sim_fault_kind; zero: none. */
    int64_t storm_ns; /* How long; zero: 15 s. */
    bool trace;
};

struct sim_convoy_result {
    char verdict[320]; /* Empty: everything held. */
    int64_t now_ns;
    uint64_t events;
    uint64_t transcript_hash;
    struct text transcript; /* If asked for. */
    uint64_t rounds;        /* That were seen closed. */
    bool lost_all;          /* All sites had lost the last rounds: nothing to go on from. */
    struct node_central_stats totals;
    uint64_t fired[SIM_FAULT_KINDS];
    char about[160];
};

/* What strait sim --convoy runs: every second seed has processes that die and take along what they
 * have not sent, of so many sites that one of them is mostly left. */
struct sim_convoy_config sim_convoy_by_seed(uint64_t seed);

/* Run one. Errors are of this machine; a broken invariant is a verdict. */
MUST_USE enum err sim_convoy_run(const struct sim_convoy_config *config,
                                 struct sim_convoy_result *result_out, struct err_text *text);
void sim_convoy_result_deinit(struct sim_convoy_result *r);

#endif
