#include "topo/graph.h"

#include "base/mem.h"
#include "topo/graph_build.h"

#include <math.h>
#include <string.h>

#define GRAPH_EARTH_KM 6371.0
#define GRAPH_RADIANS (3.14159265358979323846 / 180)

enum err topo_graph_create(const struct topo_graph *g, struct topo_graph **graph_out,
                           struct err_text *text)
{
    uint32_t node;

    return topo_graph_build(g, graph_out, &node, text);
}

void topo_graph_free(struct topo_graph *g)
{
    if (g != NULL) {
        mem_free(g->nodes);
        mem_free(g->edges);
        mem_free(g->ends);
        mem_free(g);
    }
}

bool topo_graph_find(const struct topo_graph *g, const char *id, uint32_t *node_out)
{
    uint32_t named = 0, last = 0;

    for (uint32_t i = 0; i < g->nodes_count; i++) {
        if (strcmp(g->nodes[i].id, id) == 0) {
            *node_out = i;
            return true;
        }
        if (strcmp(g->nodes[i].name, id) == 0) {
            named++;
            last = i;
        }
    }
    if (named == 1) {
        *node_out = last;
    }
    return named == 1;
}

bool topo_graph_edge(const struct topo_graph *g, uint32_t a, uint32_t b, uint32_t *edge_out)
{
    uint32_t low, high;

    CHECK(a < g->nodes_count && b < g->nodes_count);
    low = g->nodes[a].first;
    high = low + g->nodes[a].degree;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (g->ends[middle].node == b) {
            *edge_out = g->ends[middle].edge;
            return true;
        }
        if (g->ends[middle].node < b) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

/* The haversine formula: exact for near places too. */
double topo_graph_km(double latitude_a, double longitude_a, double latitude_b, double longitude_b)
{
    double north = sin((latitude_b - latitude_a) * GRAPH_RADIANS / 2);
    double east = sin((longitude_b - longitude_a) * GRAPH_RADIANS / 2);
    double part = north * north +
                  cos(latitude_a * GRAPH_RADIANS) * cos(latitude_b * GRAPH_RADIANS) * east * east;

    return 2 * GRAPH_EARTH_KM * asin(part < 1 ? sqrt(part) : 1);
}

void topo_graph_by_distance(struct topo_graph *g, double near_mbps, double far_mbps)
{
    struct topo_graph_rule rule;

    topo_graph_rule_init(&rule, g, near_mbps, far_mbps);
    for (uint32_t i = 0; i < g->edges_count; i++) {
        g->edges[i].mbps = topo_graph_rule_mbps(&rule, g->edges[i].km);
    }
}
