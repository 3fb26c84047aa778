/* The problem as solvers see it: workers that can take each other's places, whatever the tree, are
 * a class, and costs are between classes. Workers of one rack are a class; of measured costs those
 * are that have the same rows and columns. */

#ifndef PLAN_TREE_CORE_H
#define PLAN_TREE_CORE_H

#include "plan/tree.h"

/* Fields are private to src/plan. */
struct plan_core {
    const struct plan_tree_problem *problem;
    uint32_t workers;
    uint32_t degree; /* No more than there are workers; .depth too. */
    uint32_t depth;
    uint32_t classes;
    double leaf_cost;
    double scale;       /* The largest cost there is, or one. */
    uint32_t *class_of; /* Of each worker; behind them the root, which is class .classes. */
    uint32_t *start;    /* Of each class in .member, and the end. */
    uint32_t *member;   /* The workers class by class, those with less load first. */
    bool *leaf_only;    /* Of each class. */
    double *cost;       /* [from class * classes + to class]; the last row is the root's. */
};

/* @plain: each worker is a class of its own. ERR_INVALID with @text if there is no tree, or
 * ERR_NOMEM. */
MUST_USE enum err plan_core_init(struct plan_core *c, const struct plan_tree_problem *p, bool plain,
                                 struct err_text *text);
void plan_core_deinit(struct plan_core *c);

/* No tree has fewer leaves, or fewer children of the root. */
uint32_t plan_core_leaves_least(const struct plan_core *c);
uint32_t plan_core_firsts_least(const struct plan_core *c);

/* No tree costs less: everybody has the parent that is cheapest for it. */
MUST_USE enum err plan_core_bound(const struct plan_core *c, double *bound_out);

static inline uint32_t plan_core_count(const struct plan_core *c, uint32_t class)
{
    return c->start[class + 1] - c->start[class];
}

static inline double plan_core_cost(const struct plan_core *c, uint32_t from, uint32_t to)
{
    return c->cost[(size_t)from * c->classes + to];
}

#endif
