#include "topo/graph_merge.h"

#include "base/mem.h"
#include "topo/graph_build.h"

#include <math.h>

enum err topo_graph_merge_init(struct topo_graph_merge *m, struct topo_graph *draft, uint32_t limit)
{
    *m = (struct topo_graph_merge){.draft = draft, .limit = limit};
    draft->edges = mem_calloc(limit, sizeof(*draft->edges));
    m->bundles = mem_calloc(limit, sizeof(*m->bundles));
    return draft->edges == NULL || m->bundles == NULL ? ERR_NOMEM : map_init(&m->pairs, limit);
}

void topo_graph_merge_deinit(struct topo_graph_merge *m)
{
    map_deinit(&m->pairs);
    mem_free(m->bundles);
    if (m->draft != NULL) {
        mem_free(m->draft->edges);
        m->draft->edges = NULL;
    }
    *m = (struct topo_graph_merge){0};
}

/* The edges of the pair, perhaps the first one. */
static enum err merge_bundle(struct topo_graph_merge *m, const struct topo_graph_merge_edge *edge,
                             struct topo_graph_bundle **bundle_out)
{
    uint64_t pair = topo_graph_pair(edge->from, edge->to);
    struct topo_edge *link = map_get(&m->pairs, pair);
    uint32_t index = m->draft->edges_count;
    enum err rc;

    if (link != NULL) {
        *bundle_out = &m->bundles[link - m->draft->edges];
        return OK;
    }
    if (index == m->limit) {
        return ERR_TOO_BIG;
    }
    link = &m->draft->edges[index];
    rc = map_add(&m->pairs, pair, link);
    if (rc == OK) {
        *link = (struct topo_edge){.a = edge->from, .b = edge->to, .rtt_ms = -1, .usd_per_gb = -1};
        m->bundles[index].place = edge->place;
        m->draft->edges_count++;
        *bundle_out = &m->bundles[index];
    }
    return rc;
}

enum err topo_graph_merge_add(struct topo_graph_merge *m, const struct topo_graph_merge_edge *edge)
{
    struct topo_graph_bundle *b = NULL;
    uint32_t way;
    enum err rc;

    if (edge->from == edge->to) {
        m->loops++;
        return OK;
    }
    rc = merge_bundle(m, edge, &b);
    if (rc != OK) {
        return rc;
    }
    way = m->draft->edges[b - m->bundles].a == edge->from ? 0 : 1;
    b->directed = b->directed || edge->directed;
    for (uint32_t i = 0; i < 2; i++) {
        if (!edge->directed || i == way) {
            b->edges[i]++;
            b->lacking[i] += edge->mbps < 0;
            b->mbps[i] += edge->mbps < 0 ? 0 : edge->mbps;
        }
    }
    return OK;
}

/* Both directions together; @each is what an edge without a speed has. */
static double merge_mbps(const struct topo_graph_bundle *b, double each)
{
    double rates[2];

    for (uint32_t i = 0; i < 2; i++) {
        rates[i] = b->edges[i] == 0 ? INFINITY : b->mbps[i] + b->lacking[i] * each;
    }
    return rates[0] < rates[1] ? rates[0] : rates[1];
}

static void merge_notes(struct topo_graph_merge *m)
{
    uint32_t several = 0, both = 0, one = 0, all = m->draft->edges_count;

    for (uint32_t i = 0; i < all; i++) {
        const struct topo_graph_bundle *b = &m->bundles[i];

        several += b->edges[0] > 1 || b->edges[1] > 1;
        both += b->directed && b->edges[0] > 0 && b->edges[1] > 0;
        one += b->edges[0] == 0 || b->edges[1] == 0;
    }
    if (m->loops > 0) {
        topo_graph_note(m->draft, "%u edge%s a node with itself: left out", m->loops,
                        m->loops == 1 ? " joins" : "s join");
    }
    if (several > 0) {
        topo_graph_note(m->draft,
                        "%u of %u links %s made of several edges: the sum of their speeds", several,
                        all, several == 1 ? "is" : "are");
    }
    if (both > 0) {
        topo_graph_note(m->draft, "%u of %u links %s edges for each direction: the slower speed",
                        both, all, both == 1 ? "has" : "have");
    }
    if (one > 0) {
        topo_graph_note(m->draft, "%u of %u links %s edges for one direction only: taken as both",
                        one, all, one == 1 ? "has" : "have");
    }
}

enum err topo_graph_merge_finish(struct topo_graph_merge *m, struct topo_place *place_out)
{
    uint32_t lacking = 0, unplaced = 0;
    struct topo_graph_rule rule;

    topo_graph_measure(m->draft);
    topo_graph_rule_init(&rule, m->draft, TOPO_GRAPH_NEAR_MBPS, TOPO_GRAPH_FAR_MBPS);
    for (uint32_t i = 0; i < m->draft->edges_count; i++) {
        const struct topo_graph_bundle *b = &m->bundles[i];
        struct topo_edge *link = &m->draft->edges[i];

        link->mbps = merge_mbps(b, topo_graph_rule_mbps(&rule, link->km));
        if (link->mbps > TOPO_GRAPH_MBPS_MAX) {
            *place_out = b->place;
            return ERR_TOO_BIG;
        }
        if (b->lacking[0] + b->lacking[1] > 0) {
            lacking++;
            unplaced += link->km < 0;
        }
    }
    merge_notes(m);
    topo_graph_note_speeds(m->draft, &rule, lacking, unplaced);
    return OK;
}
