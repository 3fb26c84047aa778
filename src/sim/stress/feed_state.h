/* A feed under way; for sim/feed*.c only. */

#ifndef SIM_STRESS_FEED_STATE_H
#define SIM_STRESS_FEED_STATE_H

#include "base/rng.h"
#include "loop/loop.h"
#include "sim/cluster.h"
#include "sim/stress/feed.h"

enum {
    FEED_ELEMENTS_MAX = 200,     /* Of a table. */
    FEED_FLYING_MAX = 32 * 1024, /* Updates that were sent and not taken. */
    FEED_UNITS = 256,            /* Of one: all that is added is a multiple of 1 / this. */
};

enum feed_state {
    FEED_OPENING,
    FEED_JOINING,
    FEED_READING,
    FEED_COMPUTING,
    FEED_PUSHING,
    FEED_ENDING,
    FEED_LEAVING,
    FEED_DONE,
};

struct feed;

struct feed_worker {
    struct feed *feed;
    struct sim_worker *worker;
    enum feed_state state;
    struct node_op ops[SIM_FEED_TABLES];
    uint16_t ids[SIM_FEED_TABLES];
    uint32_t opened;
    uint32_t under_way;
    uint64_t clock;
    uint64_t ended; /* The last clock that it has begun to end in this life. */
    bool retry;
    uint64_t starved; /* The last clock in which it had no memory for an update. */
    float values[SIM_FEED_TABLES][FEED_ELEMENTS_MAX];
    struct loop_timer timer;
    struct rng rng;
    struct sim_event death;
    bool done;
};

/* A sparsified update on its way, in units. */
struct feed_flying {
    bool used;
    uint32_t rank;
    uint64_t incarnation;
    uint64_t clock;
    uint16_t table;
    uint32_t chunk;
    int64_t *units; /* Of the chunk's elements. */
};

/* What is known of one table whose updates are just added: by element, in units. */
struct feed_table {
    float values[FEED_ELEMENTS_MAX]; /* As closed last, of every table. */
    int64_t made[FEED_ELEMENTS_MAX];
    int64_t flying[FEED_ELEMENTS_MAX];
    int64_t open[FEED_ELEMENTS_MAX];    /* In sums of rounds that are not closed. */
    int64_t entered[FEED_ELEMENTS_MAX]; /* In the values. */
    int64_t gone[FEED_ELEMENTS_MAX];    /* Held back by workers that died. */
};

struct feed {
    struct sim_feed_config config;
    struct sim_world *world;
    struct sim_cluster *cluster;
    struct sim_faults *faults;
    struct table_schema schemas[SIM_FEED_TABLES];
    struct node_site site;
    uint32_t servers;
    uint64_t clocks;
    struct feed_worker workers[SIM_FEED_WORKERS_MAX];
    uint32_t workers_count;
    struct feed_table tables[SIM_FEED_TABLES];
    struct feed_flying *flying;
    uint32_t flying_end; /* Beyond the last that is used. */
    uint64_t versions[NODE_LANES_MAX];
    uint64_t looks;
    uint64_t pushes, taken, bounds, copies, deaths;
    double tightest;
    char broken[320];
};

/* Is the table just added to, so that all of it can be accounted for? */
bool feed_counts(const struct feed *f, uint32_t table);

/* feed_worker.c. The user is a struct feed_worker. */
extern const struct sim_brain feed_brain;

/* feed_witness.c. The users are the feed and a struct sim_worker whose .user is the feed's. */
extern const struct node_lane_witness feed_lane_witness;
extern const struct node_worker_witness feed_worker_witness;
const char *feed_look(void *user);      /* The user is the feed: after every event. */
void feed_mourn(struct feed_worker *w); /* It is about to die. */
bool feed_ends_well(struct feed *f, char *out, size_t size);
uint64_t feed_hash(struct feed *f);

#endif
