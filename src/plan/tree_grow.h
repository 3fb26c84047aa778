/* A tree in the making. The root is the node behind the last worker, so that it needs no case of
 * its own, and children of one parent are in a list. */

#ifndef PLAN_TREE_GROW_H
#define PLAN_TREE_GROW_H

#include "plan/tree_core.h"

#define PLAN_GROW_NONE UINT32_MAX

enum { PLAN_GROW_LOAD_MAX = 1 << 20 }; /* More is the same: its squares are added up. */

struct rng;

/* Fields are private to src/plan. Arrays are of workers and the root, in one piece of memory. */
struct plan_grow {
    const struct plan_core *core;
    uint32_t root;    /* Its index: the number of workers. */
    uint32_t *parent; /* PLAN_GROW_NONE: not in the tree. */
    uint32_t *depth;
    uint32_t *children; /* How many. */
    uint32_t *first;    /* The first of them, and each one's neighbours. */
    uint32_t *next;
    uint32_t *before;
    uint32_t *kept;   /* The parents of the best tree so far, ... */
    double cost;      /* ... what it costs, ... */
    int64_t spread;   /* ... and its sum of squares of children. */
    uint32_t *active; /* Not zero: it may have a better place. */
    uint64_t looks;   /* Pairs of workers that may still be looked at. */
};

static inline double plan_grow_cost(const struct plan_grow *g, uint32_t from, uint32_t to)
{
    return plan_core_cost(g->core, g->core->class_of[from], g->core->class_of[to]);
}

static inline bool plan_grow_relays(const struct plan_grow *g, uint32_t i)
{
    return i == g->root || !g->core->leaf_only[g->core->class_of[i]];
}

static inline uint32_t plan_grow_load(const struct plan_grow *g, uint32_t i)
{
    const uint32_t *load = g->core->problem->load;

    if (load == NULL || i == g->root) {
        return 0;
    }
    return load[i] < PLAN_GROW_LOAD_MAX ? load[i] : PLAN_GROW_LOAD_MAX;
}

/* Only the root is there. */
void plan_grow_clear(struct plan_grow *g);

/* Take @i, with all below it, off its parent; put it below another. */
void plan_grow_take(struct plan_grow *g, uint32_t i);
void plan_grow_put(struct plan_grow *g, uint32_t i, uint32_t parent);

/* Levels below @i. */
uint32_t plan_grow_height(const struct plan_grow *g, uint32_t i);

/* Put all workers below each other: whoever is cheapest next; if @ahead, less what it will save
 * others as their parent. ERR_NOMEM. tree_start.c */
MUST_USE enum err plan_grow_start(struct plan_grow *g, bool ahead);

/* Change the tree in @steps small random steps. At first they may make it worse by @warmth, and
 * less and less. tree_improve.c */
void plan_grow_wander(struct plan_grow *g, double warmth, uint64_t steps);

/* Change the tree around active nodes as long as a step makes it cheaper, or spreads children
 * better. */
void plan_grow_improve(struct plan_grow *g);

/* Move some worker somewhere. */
void plan_grow_shake(struct plan_grow *g, struct rng *rng);

#endif
