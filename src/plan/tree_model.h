/* The layered model of a tree as a matrix: columns for the solver, and trees made of its answer.
 *
 *     x[k][h]      workers of class k at depth h = 1 .. H
 *     y[k][l][h]   edges from workers of class k at depth h to workers of class l below them
 *     z[k][h]      workers of class k at depth h that have children
 *
 * Only x has to be integer: once it is, the rest is a flow with whole capacities for each level,
 * and so are its corners. docs/PLAN.md has the rows. */

#ifndef PLAN_TREE_MODEL_H
#define PLAN_TREE_MODEL_H

#include "plan/tree_core.h"

/* Column by column, as solvers take it. Fields are private to src/plan. */
struct plan_model {
    const struct plan_core *core;
    int columns;
    int integers; /* The first so many columns. */
    int rows;
    int filled;  /* Columns so far, ... */
    int entries; /* ... and what is in them. */
    int *start;  /* Of each column, and the end. */
    int *row;
    double *value;
    double *least; /* Of each column. */
    double *most;
    double *cost; /* Divided by the core's scale. */
    double *row_least;
    double *row_most;
    int *narrow; /* Of each class: its index among those with fewer workers than the degree. */
    int narrows;
    uint32_t gates;      /* Racks and aggregations to be entered; none for measured costs. */
    uint32_t *gate_size; /* How many workers are in there. */
    uint32_t *group;     /* Of each class: its aggregation. */
    uint32_t *holds;     /* Of each depth: who is there and all below it, at most. */
};

/* How many columns there would be. */
uint64_t plan_model_columns(const struct plan_core *c);

MUST_USE enum err plan_model_init(struct plan_model *m, const struct plan_core *c);
void plan_model_deinit(struct plan_model *m);

/* The columns of a tree. @values has room for all. */
MUST_USE enum err plan_model_from_tree(const struct plan_model *m, const uint32_t *parent,
                                       double *values);

/* A tree with these columns. ERR_MALFORMED if they are not whole. */
MUST_USE enum err plan_model_to_tree(const struct plan_model *m, const double *values,
                                     uint32_t *parent_out);

/* Fix x at @values: what is left is linear. */
void plan_model_fix(struct plan_model *m, const double *values);

#endif
