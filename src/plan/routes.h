/* Paths by which the others reach one node: all simple ones, or the shortest k of each. Ordered by
 * hops, then by the nodes they pass, so that everybody finds the same ones. */

#ifndef PLAN_ROUTES_H
#define PLAN_ROUTES_H

#include "topo/graph.h"

enum {
    PLAN_ROUTES_K_MAX = 1024,
    PLAN_ROUTES_ALL_MAX = 1 << 20,    /* Paths to one node, when all are wanted. */
    PLAN_ROUTES_NODES_MAX = 64 << 20, /* On all these paths together. */
};

/* What may not be used; each may be NULL. Indexed by node or edge. */
struct plan_routes_rules {
    const bool *silent;   /* Nodes that send nothing: no paths from there. */
    const bool *no_relay; /* Nodes that are not passed. */
    const bool *no_edge;
};

/* Path p of flow f, first[f] <= p < first[f + 1], has the nodes node[at[p]] (the flow's source) to
 * node[at[p + 1] - 1] (the target). */
struct plan_routes {
    uint32_t target;
    uint32_t flows;
    uint32_t *source; /* By index of nodes. */
    uint32_t *first;
    uint32_t paths;
    uint32_t *at;
    uint32_t *node;
    uint32_t *edge; /* Those of path p begin at at[p] - p. */
};

/* Find paths to @target from each other node that sends; at most @k each, zero: all simple ones.
 * ERR_TOO_BIG if these are more than PLAN_ROUTES_ALL_MAX, ERR_NOT_FOUND with @text if a node has
 * none, ERR_NOMEM. */
MUST_USE enum err plan_routes_find(const struct topo_graph *g,
                                   const struct plan_routes_rules *rules, uint32_t target,
                                   uint32_t k, struct plan_routes *out, struct err_text *text);

void plan_routes_deinit(struct plan_routes *r);

/* Are there at most @limit simple paths to @target? */
MUST_USE enum err plan_routes_few(const struct topo_graph *g, const struct plan_routes_rules *rules,
                                  uint32_t target, uint32_t limit, bool *few_out);

static inline uint32_t plan_routes_hops(const struct plan_routes *r, uint32_t path)
{
    return r->at[path + 1] - r->at[path] - 1;
}

static inline const uint32_t *plan_routes_nodes(const struct plan_routes *r, uint32_t path)
{
    return r->node + r->at[path];
}

static inline const uint32_t *plan_routes_edges(const struct plan_routes *r, uint32_t path)
{
    return r->edge + (r->at[path] - path);
}

#endif
