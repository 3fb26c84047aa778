/* Inside plan/place: the program that CLP and CBC solve. Paths may be shared, x >= 0, and
 *
 *     sum over paths p on e of w(p) s(e) x(p) - T <= 0     for each link e, s: seconds for weight 1
 *     sum over paths p of f of x(p) = 1                    for each flow f
 *     sum of usd(p) x(p) + h T <= limit                    if there is one
 *
 * least T, or least sum of usd(p) x(p) + h T. Rows: links that some path uses, then flows, then
 * the limit. Columns: paths, then T. */

#ifndef PLAN_PLACE_MODEL_H
#define PLAN_PLACE_MODEL_H

#include "plan/place_core.h"

struct place_model {
    struct place_core *core;
    int *row;  /* Of each resource, or -1. */
    int links; /* Rows of resources. */
    int rows;
    int columns;
    double unit;      /* Seconds: T is counted in these, so that figures are near one. */
    double money;     /* Dollars, likewise. */
    double time_cost; /* Of T in the goal, per unit. */
    int *start;
    int *index;
    double *value;
    double *cost;
    double *most;
    double *row_least;
    double *row_most;
};

MUST_USE enum err place_model_init(struct place_model *m, struct place_core *c);
void place_model_deinit(struct place_model *m);

/* The path's own part in the goal. */
double place_model_cost(const struct place_model *m, uint32_t path);

#endif
