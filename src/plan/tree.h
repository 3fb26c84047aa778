/* Broadcast trees inside a site (Parameter Flow, section 3.4): who passes on to whom what the
 * servers broadcast, so that all costs together are least. docs/PLAN.md has the model.
 *
 * The root, at depth 0, stands for all servers. A tree costs what its edges cost, where an edge
 * from the root counts once for each server, and leaf_cost for every worker without children
 * (eq. 12). Nobody, the root included, has more than .degree children, and nobody is deeper than
 * .depth. */

#ifndef PLAN_TREE_H
#define PLAN_TREE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PLAN_TREE_WORKERS_MAX = 1024,
    PLAN_TREE_SERVERS_MAX = 64,
};

#define PLAN_TREE_ROOT UINT32_MAX
#define PLAN_TREE_COST_MAX 1e9

/* What the paper has for three tiers of switches. */
#define PLAN_TREE_EDGE_COST 0.1
#define PLAN_TREE_AGG_COST 0.5
#define PLAN_TREE_CORE_COST 1.0

/* Where a node is: behind which edge switch (rack) of which aggregation. Racks of different
 * aggregations are different even if their numbers are the same. */
struct plan_tree_place {
    uint32_t agg;
    uint32_t edge;
};

/* What the arrays hold is borrowed. Costs are finite, from zero to PLAN_TREE_COST_MAX. */
struct plan_tree_problem {
    uint32_t workers;                     /* At least one. */
    uint32_t servers;                     /* At least one. */
    const struct plan_tree_place *places; /* Of workers, then servers; NULL: .costs is given. */
    const double *costs;   /* [from * workers + to]; from: workers, then servers; to: workers. */
    double edge_cost;      /* Between places: same rack, ... */
    double agg_cost;       /* ... same aggregation, */
    double core_cost;      /* ... other. */
    uint32_t degree;       /* At least one. */
    uint32_t depth;        /* At least one. */
    double leaf_cost;      /* Alpha. */
    const bool *leaf_only; /* Workers that must not have children; NULL: none. */

    bool quick; /* For plan_tree_grow(): a part of the time, a tree that is a little dearer. */

    /* Children that a worker has in other trees. Among trees that cost the same, those are taken
     * in which children are more evenly spread, these included. NULL: not looked at. */
    const uint32_t *load;
};

enum plan_tree_method { PLAN_TREE_EXACT, PLAN_TREE_HEURISTIC };

struct plan_tree_answer {
    double objective;
    double bound; /* No tree costs less. */
    bool optimal; /* Proven: the bound is the objective. */
    uint32_t depth;
    uint32_t leaves;
    enum plan_tree_method method;
};

/* What the edge costs. @from below .workers is a worker, from there on servers; or
 * PLAN_TREE_ROOT. */
double plan_tree_cost(const struct plan_tree_problem *p, uint32_t from, uint32_t to);

/* Is there a tree? ERR_INVALID with @text: why not, and which numbers would do. */
MUST_USE enum err plan_tree_possible(const struct plan_tree_problem *p, struct err_text *text);

/* Fill .objective, .depth and .leaves of the tree in which worker i has the parent @parent[i], a
 * worker or PLAN_TREE_ROOT. False if that is no tree as @p wants it. */
MUST_USE bool plan_tree_measure(const struct plan_tree_problem *p, const uint32_t *parent,
                                struct plan_tree_answer *out);

/* Find a good tree in milliseconds, without a solver; the same one each time. @parent_out has
 * room for all workers. ERR_INVALID with @text if there is none, ERR_NOMEM. */
MUST_USE enum err plan_tree_grow(const struct plan_tree_problem *p, uint32_t *parent_out,
                                 struct plan_tree_answer *out, struct err_text *text);

#endif
