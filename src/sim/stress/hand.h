/* Hands: workers of simulated sites that read two tables, compute for a while, push whole numbers
 * that their owner chooses, end the clock, and leave when their time is over. For want of memory
 * they try again; anything else that fails is wrong. */

#ifndef SIM_STRESS_HAND_H
#define SIM_STRESS_HAND_H

#include "base/rng.h"
#include "loop/loop.h"
#include "sim/cluster.h"

enum {
    SIM_HAND_TABLES = 2,
    SIM_HAND_ELEMENTS_MAX = 48,
    SIM_HAND_ROWS = 16, /* Of the second table, ... */
    SIM_HAND_WIDTH = 3, /* ... which is updated by rows. */
};

enum sim_hand_state {
    SIM_HAND_OPENING,
    SIM_HAND_JOINING,
    SIM_HAND_READING,
    SIM_HAND_COMPUTING,
    SIM_HAND_PUSHING,
    SIM_HAND_ENDING,
    SIM_HAND_LEAVING,
    SIM_HAND_DONE,
};

struct sim_hand;

/* What they have in common. */
struct sim_hand_job {
    const struct table_schema *schemas; /* A dense one, and one of rows. */
    uint64_t clocks;
    /* Fill .values[0] and, of so many .rows, .values[1]. */
    void (*fill)(struct sim_hand *h);
    char *broken; /* Where to say what is wrong. */
    size_t broken_bytes;
};

struct sim_hand {
    const struct sim_hand_job *job;
    const char *site;
    uint32_t number; /* In its site. */
    void *user;
    struct rng rng;
    bool done;
    uint64_t clock;
    float values[SIM_HAND_TABLES][SIM_HAND_ELEMENTS_MAX];
    uint32_t rows[SIM_HAND_ROWS];
    uint32_t rows_count;

    struct sim_worker *worker;
    enum sim_hand_state state;
    struct node_op ops[SIM_HAND_TABLES];
    uint16_t ids[SIM_HAND_TABLES];
    uint32_t opened;
    uint32_t under_way;
    bool retry;
    struct loop_timer timer;
};

/* The user is a struct sim_hand. */
extern const struct sim_brain sim_hand_brain;

/* Why it does not get on; false if it has. */
bool sim_hand_why(const struct sim_hand *h, char *out, size_t size);

#endif
