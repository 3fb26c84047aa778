/* The all-knowing witness of a drill: knows every update that a worker makes, sees what lanes take,
 * close, acknowledge and restore, and says at once when something cannot be right.
 *
 *   I1  an update enters the values at most once, and one that was acknowledged stays in them
 *   I3  values are what a single process would have: the sum of what they contain, to the bit
 *   I4  what a worker reads never goes back, except after a restore
 *   I8  whole numbers, so that sums are exact
 *   I9  what a worker reads is as new as the barrier promises */

#ifndef SIM_STRESS_WITNESS_H
#define SIM_STRESS_WITNESS_H

#include "node/lane/lane.h"
#include "table/schema.h"

struct sim_witness;

enum { SIM_WITNESS_ELEMENTS_MAX = 64 }; /* Of a table; each is one chunk. */

struct sim_witness_config {
    uint32_t tables;
    const struct table_schema *schemas;
    /* What worker @rank adds to a table in @clock: zeros if nothing. */
    void (*update)(uint32_t table, uint32_t rank, uint64_t clock, float *out);
    bool exact; /* Updates are whole numbers: sums can be told to the bit, in any order. */
    struct node_site site;
    /* Broadcast: could the lane have got @version of the table back from the copy of a worker? */
    bool (*held)(uint32_t table, uint64_t version, void *user);
    /* Does this process of a worker live, and has the table's lane not let it go? It must be told
     * what is lost. */
    bool (*works)(uint32_t table, uint32_t rank, uint64_t incarnation, void *user);
    void *user;
};

MUST_USE enum err sim_witness_create(const struct sim_witness_config *config,
                                     struct sim_witness **witness_out);
void sim_witness_destroy(struct sim_witness *w);

/* What to give to lanes, with the witness as user. */
extern const struct node_lane_witness sim_witness_lane;

/* A worker has finished a clock in which it was not left out: its updates must be in the end. */
void sim_witness_finished(struct sim_witness *w, uint32_t rank, uint64_t incarnation,
                          uint64_t clock);

/* A worker read a whole table for @clock. @floor: the version it has seen before; returns the one
 * it has seen now. @known: how many restores there had been when it was admitted. It may not have
 * heard of a later one yet. */
uint64_t sim_witness_read(struct sim_witness *w, uint32_t table, uint64_t clock, uint64_t floor,
                          uint64_t known, const float *values);

/* A worker died, or was left out: its updates from clock @from on that were not acknowledged to it
 * by now need not be in the end. */
void sim_witness_dropped(struct sim_witness *w, uint32_t rank, uint64_t from);

/* A lane went down: the sums that were open are gone. */
void sim_witness_lane_down(struct sim_witness *w, uint32_t lane);

/* How often a lane went back to an older state; readers may see that. */
uint64_t sim_witness_restores(const struct sim_witness *w);

/* Updates in the values now; and those that must be and are not (at the end: zero), with the name
 * of the first of them. */
uint64_t sim_witness_counted(const struct sim_witness *w);
uint64_t sim_witness_missing(const struct sim_witness *w, char *first, size_t size);

/* A hash of what all tables hold now. */
uint64_t sim_witness_hash(const struct sim_witness *w);

/* What is wrong, or NULL. */
const char *sim_witness_broken(const struct sim_witness *w);

#endif
