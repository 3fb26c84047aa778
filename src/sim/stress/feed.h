/* Feeds: a site whose workers and lanes hold back what is too small (F3, F4), in a simulated world.
 * Workers add multiples of a small power of two, so sums are exact and it can be told after every
 * event
 *
 *   I8  that nothing is lost: all that was made is held back somewhere, on its way, in an open sum,
 *       or in the values
 *   I9  that no more is held back than Lemma 1 of the paper allows
 *   F1  that copies of a chunk which are of one version are the same bits
 *
 * Everything about the site and what goes wrong with it comes from a seed. Workers die; servers do
 * not, since what they hold back would go with them (drills kill servers). */

#ifndef SIM_STRESS_FEED_H
#define SIM_STRESS_FEED_H

#include "base/text.h"
#include "node/site/site.h"
#include "sim/fault.h"

enum {
    SIM_FEED_WORKERS_MAX = 16,
    SIM_FEED_TABLES = 3,
    SIM_FEED_TRACE_BYTES_MAX = 64 << 20,
};

struct sim_feed_config {
    uint64_t seed;
    uint32_t workers; /* 0: by seed, and so with the rest. */
    uint32_t servers;
    uint64_t clocks;
    const char *barrier;
    const char *chain; /* NULL: by seed, for either direction; "": nothing is sparsified, and
                        * nothing accounted for. */
    int tree;          /* -1: by seed; 0: no; 1: whenever it broadcasts. */
    uint64_t faults;   /* Mask of enum sim_fault_kind; zero: none. */
    int64_t storm_ns;  /* How long; zero: 6 s. */
    bool trace;
};

struct sim_feed_result {
    char verdict[320]; /* Empty: everything held. */
    int64_t now_ns;
    uint64_t events;
    uint64_t transcript_hash;
    struct text transcript; /* If asked for. */
    uint64_t values_hash;   /* Of all tables in the end. */
    uint64_t pushes;        /* Sent by workers, */
    uint64_t taken;         /* taken by lanes. */
    uint64_t bounds;        /* Rounds in which the bound was looked at. */
    double tightest;        /* The most that was held back of what was allowed. */
    uint64_t copies;        /* Copies that were compared. */
    uint64_t deaths;
    uint64_t trees;      /* That lanes made; */
    uint64_t detours;    /* workers whose parent did not feed them any longer; */
    uint64_t passed;     /* frames that workers passed on, */
    uint64_t broadcasts; /* and that lanes sent themselves; */
    uint64_t snapshots;  /* chunks sent whole. */
    uint64_t fired[SIM_FAULT_KINDS];
    char about[200];
};

/* Run one. Errors are of this machine; a broken invariant is a verdict. */
MUST_USE enum err sim_feed_run(const struct sim_feed_config *config,
                               struct sim_feed_result *result_out, struct err_text *text);
void sim_feed_result_deinit(struct sim_feed_result *r);

#endif
