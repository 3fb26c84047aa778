/* Several edges of a pair of nodes become one link of a draft (topo/graph_build.h): parallel ones
 * have the sum of their speeds, the two directions of a pair the slower one, and who has no speed
 * has it by distance. What was done is noted. */

#ifndef TOPO_GRAPH_MERGE_H
#define TOPO_GRAPH_MERGE_H

#include "base/map.h"
#include "topo/graph.h"
#include "topo/locate.h"

/* The edges of one pair: from .a of its link to .b, and back. Undirected ones are both. */
struct topo_graph_bundle {
    double mbps[2]; /* The sum of those that have a speed. */
    uint32_t edges[2];
    uint32_t lacking[2]; /* Those that have none. */
    bool directed;       /* One of them is. */
    struct topo_place place;
};

/* Fields are private to topo/graph_merge.c. */
struct topo_graph_merge {
    struct topo_graph *draft;
    struct topo_graph_bundle *bundles; /* Of the draft's links. */
    struct map pairs;                  /* Links by the nodes they join. */
    uint32_t limit;
    uint32_t loops;
};

/* Edge from node to node. */
struct topo_graph_merge_edge {
    uint32_t from;
    uint32_t to;
    bool directed;
    double mbps;             /* Below zero: not known. */
    struct topo_place place; /* In the file. */
};

/* Prepare for edges between the nodes of @draft that make up to @limit links, at least one. It may
 * be released at once, even if that fails. */
MUST_USE enum err topo_graph_merge_init(struct topo_graph_merge *m, struct topo_graph *draft,
                                        uint32_t limit);
void topo_graph_merge_deinit(struct topo_graph_merge *m);

/* ERR_TOO_BIG beyond the limit. */
MUST_USE enum err topo_graph_merge_add(struct topo_graph_merge *m,
                                       const struct topo_graph_merge_edge *edge);

/* Set the rates of the links. ERR_TOO_BIG if that of a pair is too high: @place_out is its first
 * edge's. */
MUST_USE enum err topo_graph_merge_finish(struct topo_graph_merge *m, struct topo_place *place_out);

#endif
