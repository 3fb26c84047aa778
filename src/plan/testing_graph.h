/* Networks for tests of paths and places: random ones. */

#ifndef PLAN_TESTING_GRAPH_H
#define PLAN_TESTING_GRAPH_H

#include "base/rng.h"
#include "plan/place.h"
#include "topo/graph.h"

#include <stdio.h>
#include <stdlib.h>

/* How many times something is tried: a quarter unless STRAIT_LONG, few under valgrind. */
static inline uint32_t testing_graphs(uint32_t runs)
{
    bool valgrind = getenv("STRAIT_VALGRIND") != NULL;

    return valgrind ? (runs + 49) / 50 : getenv("STRAIT_LONG") != NULL ? runs : (runs + 3) / 4;
}

/* A connected graph of @nodes with up to @more links beyond a tree, rates of 1 to 20 Mbit/s, of
 * which many are equal, and prices. */
static inline struct topo_graph *testing_graph(struct rng *rng, uint32_t nodes, uint32_t more)
{
    struct topo_node *node = calloc(nodes, sizeof(*node));
    struct topo_edge *edge = calloc((size_t)nodes + more, sizeof(*edge));
    struct topo_graph g = {.nodes = node, .nodes_count = nodes, .edges = edge};
    struct topo_graph *out = NULL;
    struct err_text text = {""};

    for (uint32_t n = 0; n < nodes; n++) {
        (void)snprintf(node[n].id, sizeof(node[n].id), "n%u", n);
        (void)snprintf(node[n].name, sizeof(node[n].name), "node %u", n);
        node[n].usd_per_hour = (double)rng_below(rng, 100) / 10;
        if (n > 0) {
            edge[g.edges_count++] = (struct topo_edge){.a = (uint32_t)rng_below(rng, n), .b = n};
        }
    }
    for (uint32_t i = 0; i < more; i++) {
        uint32_t a = (uint32_t)rng_below(rng, nodes);
        uint32_t b = (uint32_t)rng_below(rng, nodes);
        bool known = a == b;

        for (uint32_t e = 0; e < g.edges_count; e++) {
            known =
                known || (edge[e].a == a && edge[e].b == b) || (edge[e].a == b && edge[e].b == a);
        }
        if (!known) {
            edge[g.edges_count++] = (struct topo_edge){.a = a, .b = b};
        }
    }
    for (uint32_t e = 0; e < g.edges_count; e++) {
        edge[e].mbps = 1 + (double)rng_below(rng, 20);
        edge[e].usd_per_gb = (double)rng_below(rng, 20) / 100;
        edge[e].rtt_ms = -1;
    }
    if (topo_graph_create(&g, &out, &text) != OK) {
        check_failed(text.text, __FILE__, __LINE__, __func__);
    }
    free(node);
    free(edge);
    return out;
}

#endif
