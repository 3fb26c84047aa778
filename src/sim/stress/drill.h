/* Drills: a site in a simulated world whose workers push numbers that are known beforehand, so that
 * a witness can tell to the last bit what must come out. Everything about the site and what goes
 * wrong with it comes from a seed, or from somebody who describes it (sim/scenario/scenario.h). */

#ifndef SIM_STRESS_DRILL_H
#define SIM_STRESS_DRILL_H

#include "base/text.h"
#include "sim/cluster.h"
#include "sim/fault.h"

enum {
    SIM_DRILL_TRACE_BYTES_MAX = 64 << 20,
    SIM_DRILL_TABLES = 5,
    SIM_DRILL_WORKERS_MAX = 32,
    SIM_DRILL_SERVERS_MAX = 16,
    SIM_DRILL_UPDATES_MAX = 16000, /* The witness remembers every one. */
};

struct sim_drill_server {
    const char *name;
    uint32_t region; /* Number of the region in its world. */
    uint32_t lanes;
};

struct sim_drill_worker {
    const char *name;
    uint32_t region;
    uint16_t streams;
    int64_t compute_ns; /* Of each clock; zero: 1 to 60 ms, by seed. */
    int64_t joins_ns;   /* Its host is switched on then. */
    uint64_t leaves;    /* After this clock; zero: after the last one. */
};

/* A site that is described. It and all it points to must outlive the drill. */
struct sim_drill_script {
    struct sim_world_config world; /* But for seed, transcript and limits. */
    struct node_site site;         /* But for name, lanes and the least number of workers. */
    int64_t commit_ns;             /* As in struct sim_cluster_config. */
    int64_t grace_ns;
    int64_t restore_ns;
    uint32_t tables; /* The first so many; 1 to SIM_DRILL_TABLES. */
    uint64_t clocks;
    const struct sim_drill_server *servers;
    uint32_t servers_count;
    const struct sim_drill_worker *workers; /* Ranks are in this order, late joiners last. */
    uint32_t workers_count;
    int64_t faults_ns; /* It is not over before this, */
    int64_t until_ns;  /* and not later than this. */
    /* Make regions and links. */
    enum err (*places)(struct sim_world *w, void *user);
    /* Hosts are there: let things go wrong from now on. */
    enum err (*faults)(struct sim_world *w, void *user);
    void *user;
};

struct sim_drill_config {
    uint64_t seed;
    const struct sim_drill_script *script; /* If not NULL, most of the rest does not count. */
    const char *barrier;                   /* NULL: one by seed, and so with the rest. */
    uint64_t staleness;
    int delivery;     /* -1: by seed; else enum node_delivery. */
    int checkpoints;  /* -1: by seed; else how many clocks apart, or 0. */
    uint32_t workers; /* 0: by seed. */
    uint32_t servers; /* 0: by seed. */
    uint64_t clocks;  /* 0: by seed. */
    bool fixed_order; /* bsp only. */
    bool rough;       /* Updates are no whole numbers: sums depend on their order. Also scripts. */
    uint64_t faults;  /* Mask of enum sim_fault_kind; zero: none. */
    int64_t storm_ns; /* How long; zero: 8 s. */
    int64_t deadline_ns; /* Of a round; zero: by seed, 2 s or 120 s. */
    bool trace;
    bool untraced; /* Not even the transcript's hash. */
    /* The world is about to end, whether the drill was built whole or not; may be NULL. */
    void (*over)(struct sim_world *w, void *user);
    void *user;
};

struct sim_drill_totals {
    uint64_t updates; /* Counted in the end. */
    uint64_t rebases;
    uint64_t restores; /* To an older state. */
    uint64_t duplicates;
    uint64_t refused;
    uint64_t snapshots;
    uint64_t checkpoints;
};

struct sim_drill_result {
    char verdict[320]; /* Empty: everything held. */
    int64_t now_ns;
    uint64_t events;
    uint64_t transcript_hash;
    struct text transcript; /* If asked for. */
    struct sim_drill_totals totals;
    uint64_t values_hash;            /* Of all tables in the end. */
    bool lost_all;                   /* The site had to begin anew, and the drill is over. */
    uint64_t fired[SIM_FAULT_KINDS]; /* Of drills by seed. */
    struct node_site site;           /* What kind of site it was. */
    char about[160];                 /* The same in words. */
};

/* Run one. Errors are of this machine; a broken invariant is a verdict. */
MUST_USE enum err sim_drill_run(const struct sim_drill_config *config,
                                struct sim_drill_result *result_out, struct err_text *text);
void sim_drill_result_deinit(struct sim_drill_result *r);

#endif
