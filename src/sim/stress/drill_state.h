/* A drill under way; for sim/drill*.c only. */

#ifndef SIM_STRESS_DRILL_STATE_H
#define SIM_STRESS_DRILL_STATE_H

#include "base/rng.h"
#include "loop/loop.h"
#include "sim/stress/drill.h"
#include "sim/stress/witness.h"

enum drill_state {
    DRILL_OPENING,
    DRILL_JOINING,
    DRILL_READING,
    DRILL_COMPUTING,
    DRILL_PUSHING,
    DRILL_ENDING,
    DRILL_LEAVING,
    DRILL_DONE,
};

enum { DRILL_PARTS_MAX = 16 }; /* Updates of a sum that a line names. */

struct drill;

struct drill_worker {
    struct drill *drill;
    struct sim_worker *worker;
    enum drill_state state;
    struct node_op ops[SIM_DRILL_TABLES];
    uint16_t ids[SIM_DRILL_TABLES];
    uint32_t opened;
    uint64_t entered; /* The clock it joined at; zero: it has not. */
    uint64_t in_as;   /* The incarnation that was let in last. */
    uint32_t under_way;
    uint64_t clock;
    uint64_t floor[SIM_DRILL_TABLES];
    uint64_t floor_restores;
    uint64_t known_restores; /* When it asked to join last. */
    uint64_t read_restores;  /* When reading began: what came before belongs to another life. */
    uint64_t floor_rebases;
    bool retry;
    uint64_t read_rebases;
    uint64_t rebases; /* At the start of this clock. */
    bool partial;     /* Some update of this clock could not be collected. */
    float values[SIM_DRILL_TABLES][SIM_WITNESS_ELEMENTS_MAX];
    struct loop_timer timer;
    struct rng rng;
    int64_t compute_ns;    /* Zero: by chance. */
    uint64_t leaves;       /* After this clock; zero: after the last. */
    struct sim_host *host; /* Of a late joiner, */
    struct sim_event join; /* and when it is switched on. */
    struct sim_event wait; /* When it has waited long enough for a line. */
    bool done;
};

/* What entered the sum of a table since its last round. */
struct drill_sum {
    uint32_t count;
    uint32_t ranks[DRILL_PARTS_MAX]; /* Of the first of them. */
    uint64_t clocks[DRILL_PARTS_MAX];
    uint64_t version; /* The last round. */
    bool down;        /* Its lane is, and has not said where it goes on. */
};

struct drill {
    struct sim_drill_config config;
    struct sim_world *world;
    struct sim_cluster *cluster;
    struct sim_witness *witness;
    struct sim_faults *faults; /* By seed only: a script has its own. */
    uint32_t tables;
    struct table_schema schemas[SIM_DRILL_TABLES];
    struct node_site site;
    struct drill_worker workers[SIM_DRILL_WORKERS_MAX];
    uint32_t workers_count;
    uint64_t clocks;
    uint64_t rebases;
    uint64_t pushes;   /* Of tables: what the witness may have to remember at most. */
    int64_t commit_ns; /* As in struct sim_cluster_config. */
    int64_t grace_ns;
    int64_t restore_ns;
    uint32_t shards;  /* Zero: one per lane. */
    uint16_t streams; /* By seed: of every worker. */
    uint32_t late;    /* By seed: so many workers join when the others are at it. */
    bool join_first;  /* Workers join with one table, and open the others then. */
    struct sim_host *lane_hosts[NODE_LANES_MAX];
    bool lane_on[NODE_LANES_MAX];
    uint64_t lane_starts[NODE_LANES_MAX];  /* It may go off and on between two looks. */
    bool lane_begun[NODE_LANES_MAX];       /* In this life. */
    uint32_t lane_lives[NODE_LANES_MAX];   /* In which it has begun. */
    uint32_t lane_members[NODE_LANES_MAX]; /* As it had them last, by rank. */
    bool began_anew;                       /* New workers did not know that there were others. */
    struct drill_sum sums[SIM_DRILL_TABLES];
    uint64_t looks;
    char broken[320];
};

/* drill_site.c: what is learned, and by whom. */

extern const struct table_schema_text drill_tables[SIM_DRILL_TABLES];

/* What worker @rank adds to a table in @clock: as the witness knows it, and as it is sent. */
void drill_update(uint32_t table, uint32_t rank, uint64_t clock, float *out);
void drill_make(const struct drill *d, uint32_t table, uint32_t rank, uint64_t clock, float *out);

/* Lanes of one server count together: true for the first of them. */
bool drill_counts_here(const struct drill *d, uint32_t lane);

/* World, hosts, witness and faults; the hosts are on. */
MUST_USE enum err drill_build(struct drill *d, struct err_text *text);

/* drill_worker.c: what workers do. The user is a struct drill_worker. */

extern const struct sim_brain drill_brain;

/* drill_say.c: lines of the transcript. They cost memory that is not the host's: that must not
 * change what happens on it. */

void drill_say(struct drill *d, const struct sim_host *who, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* What lanes tell goes through here to the witness. The user is the drill. */
extern const struct node_lane_witness drill_lane_witness;

/* It begins to wait: if it still does after a while (sim_event_cancel() if not), say for what, and
 * whom the lanes wait for. */
void drill_waits(struct drill_worker *w);

#endif
