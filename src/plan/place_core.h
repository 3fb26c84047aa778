/* Inside plan/place: one server with its paths, and what these load on whom. */

#ifndef PLAN_PLACE_CORE_H
#define PLAN_PLACE_CORE_H

#include "plan/place.h"

/* What is not told apart: a part of a value. */
#define PLACE_SAME 1e-9

struct place_core {
    const struct plan_place_problem *problem;
    struct plan_routes routes;
    uint32_t resources; /* Links, or directions of links. */
    uint32_t *resource; /* Beside routes.edge: which one each hop uses. */
    double *seconds;    /* Of each resource: what one flow of weight one takes there. */
    double *usd;        /* Of each path, both ways. NULL: prices do not matter. */
    double usd_per_s;   /* Of the server. */
    double *load;       /* Of each resource, for whoever needs it: zero between calls. */
};

/* Paths of all flows to @server. Errors as plan_routes_find(). */
MUST_USE enum err place_core_init(struct place_core *c, const struct plan_place_problem *p,
                                  uint32_t server, struct err_text *text);
void place_core_deinit(struct place_core *c);

/* The factor F of plan/place.h. */
double place_factor(const struct plan_place_problem *p);

/* Do prices matter? */
bool place_priced(const struct plan_place_problem *p);

/* Resource of a hop that leaves @from by @edge. */
uint32_t place_resource(const struct plan_place_problem *p, uint32_t from, uint32_t edge);

/* Seconds that one flow of weight one takes on a link. */
double place_seconds(const struct plan_place_problem *p, uint32_t edge);

static inline uint32_t place_weight(const struct place_core *c, uint32_t path)
{
    return c->problem->model == PLAN_PLACE_HOPS ? plan_routes_hops(&c->routes, path) : 1;
}

static inline const uint32_t *place_resources(const struct place_core *c, uint32_t path)
{
    return c->resource + (c->routes.at[path] - path);
}

/* The longest that a path alone takes on one of its links. */
double place_alone(const struct place_core *c, uint32_t path);

struct place_cost {
    double value; /* Of the goal; infinite if the limit is not kept. */
    double time_s;
    double usd;
};

/* What the paths @choice cost, of each flow one by its number among the flow's paths. */
struct place_cost place_cost_of(struct place_core *c, const uint32_t *choice);

/* May the node be the server? */
bool place_may_serve(const struct plan_place_problem *p, uint32_t node);

/* Flows in order, each by the path whose fullest link has the fewest flows for its rate. */
void place_balance(struct place_core *c, uint32_t *choice);

/* @choice as flows, which borrow from the routes; without rates. */
void place_flows(const struct place_core *c, const uint32_t *choice,
                 struct plan_place_flow *flows_out);

/* Lower the value of @choice by moving flows off the slowest link, until no move does. */
void place_improve(struct place_core *c, uint32_t *choice);

/* The linear relaxation. @share_out has room for all paths: which part of its flow each takes.
 * @bound_out: no choice is below it. ERR_NOT_FOUND if the limit cannot be kept, ERR_NOMEM. */
MUST_USE enum err place_lp(struct place_core *c, double *share_out, double *bound_out);

/* Draw a path for each flow by @share, many times, and keep the best. Its value is infinite if
 * none keeps the limit. ERR_NOMEM. */
MUST_USE enum err place_round(struct place_core *c, const double *share,
                              const struct plan_place_effort *effort, uint32_t *choice_out,
                              struct place_cost *cost_out);

/* Look for a choice below @candidate->value and below @best, until there is none or time is up. */
MUST_USE enum err place_prove(struct place_core *c, const struct plan_place_effort *effort,
                              double best, struct plan_place_candidate *candidate);

/* plan_place_measure() with room for the load of each resource, all zero; nothing else is taken. */
MUST_USE bool place_measure(const struct plan_place_problem *p, uint32_t server,
                            struct plan_place_flow *flows, uint32_t flows_count, double *load,
                            double *time_s_out, double *usd_out);

#endif
