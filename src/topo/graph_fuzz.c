/* Fuzz files of networks: what is read well is whole, and the same made of its own values or by way
 * of a topology; what is not is refused with a place. */

#include "base/mem.h"
#include "topo/graph.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every link is found from both ends, and every node has one. */
static void fuzz_whole(const struct topo_graph *g)
{
    uint32_t ends = 0, found;

    CHECK(g->nodes_count >= 2 && g->edges_count >= g->nodes_count - 1);
    for (uint32_t i = 0; i < g->nodes_count; i++) {
        CHECK(g->nodes[i].degree > 0 && g->nodes[i].first == ends);
        ends += g->nodes[i].degree;
        CHECK(topo_graph_find(g, g->nodes[i].id, &found) && found == i);
    }
    CHECK(ends == 2 * g->edges_count);
    for (uint32_t i = 0; i < g->edges_count; i++) {
        const struct topo_edge *e = &g->edges[i];

        CHECK(topo_graph_edge(g, e->a, e->b, &found) && found == i);
        CHECK(topo_graph_edge(g, e->b, e->a, &found) && found == i);
        CHECK(e->mbps >= TOPO_GRAPH_MBPS_MIN && e->mbps <= TOPO_GRAPH_MBPS_MAX);
    }
}

static void fuzz_again(const struct topo_graph *g)
{
    struct topo_graph *again = NULL;
    struct topo *t = NULL;
    struct err_text why = {""};

    CHECK(topo_graph_create(g, &again, &why) == OK);
    CHECK(again->nodes_count == g->nodes_count && again->edges_count == g->edges_count);
    fuzz_whole(again);
    topo_graph_free(again);
    if (topo_graph_topology(g, &t, &why) == OK) {
        CHECK(topo_graph_from(t, "cpu", &again, &why) == OK);
        CHECK(again->nodes_count == g->nodes_count && again->edges_count == g->edges_count);
        CHECK(again->duplex == g->duplex);
        topo_graph_free(again);
        topo_destroy(t);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct topo_graph *g = NULL;
    struct err_text why = {""};

    if (topo_graph_parse("fuzz", (const char *)data, size, &g, &why) == OK) {
        fuzz_whole(g);
        fuzz_again(g);
        topo_graph_free(g);
    } else {
        CHECK(g == NULL);
        CHECK(strncmp(why.text, "fuzz:", 5) == 0);
        CHECK(why.text[5] >= '0' && why.text[5] <= '9');
        CHECK(strpbrk(why.text, "\n\033") == NULL);
    }
    return 0;
}
