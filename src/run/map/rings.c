/* Networks without places: rings around one node, by the links between. */

#include "base/mem.h"
#include "run/map/map.h"

#include <math.h>
#include <string.h>

#define RINGS_MARGIN 60.0

/* A tree of the nearest ways to the first node; .order has parents before children. */
struct rings {
    uint32_t *parent;
    uint32_t *depth;
    uint32_t *order;
    uint32_t *leaves; /* Of the tree from here on. */
    uint32_t *first;  /* Of a node's ends in .end. */
    uint32_t *end;
    double *from;  /* Where its part of the circle begins: 0 to 1, ... */
    double *taken; /* ... and how much of it children have. */
};

static bool rings_init(struct rings *r, uint32_t count, uint32_t links_count)
{
    *r = (struct rings){.parent = mem_calloc(count, sizeof(*r->parent)),
                        .depth = mem_calloc(count, sizeof(*r->depth)),
                        .order = mem_calloc(count, sizeof(*r->order)),
                        .leaves = mem_calloc(count, sizeof(*r->leaves)),
                        .first = mem_calloc((size_t)count + 1, sizeof(*r->first)),
                        .end = mem_calloc((size_t)links_count * 2 + 1, sizeof(*r->end)),
                        .from = mem_calloc(count, sizeof(*r->from)),
                        .taken = mem_calloc(count, sizeof(*r->taken))};
    return r->parent != NULL && r->depth != NULL && r->order != NULL && r->leaves != NULL &&
           r->first != NULL && r->end != NULL && r->from != NULL && r->taken != NULL;
}

static void rings_deinit(struct rings *r)
{
    mem_free(r->parent);
    mem_free(r->depth);
    mem_free(r->order);
    mem_free(r->leaves);
    mem_free(r->first);
    mem_free(r->end);
    mem_free(r->from);
    mem_free(r->taken);
}

/* The other ends of every node's links, node by node. .leaves counts what is filled in. */
static void rings_ends(struct rings *r, uint32_t count, const struct run_map_link *links,
                       uint32_t links_count)
{
    for (uint32_t i = 0; i < links_count; i++) {
        r->first[links[i].a + 1]++;
        r->first[links[i].b + 1]++;
    }
    for (uint32_t i = 0; i < count; i++) {
        r->first[i + 1] += r->first[i];
    }
    for (uint32_t i = 0; i < links_count; i++) {
        r->end[r->first[links[i].a] + r->leaves[links[i].a]++] = links[i].b;
        r->end[r->first[links[i].b] + r->leaves[links[i].b]++] = links[i].a;
    }
    memset(r->leaves, 0, count * sizeof(*r->leaves));
}

/* Nearest first. Returns how many were reached. */
static uint32_t rings_reach(struct rings *r, uint32_t first, uint32_t count)
{
    uint32_t reached = 1;

    for (uint32_t i = 0; i < count; i++) {
        r->parent[i] = UINT32_MAX;
    }
    r->parent[first] = first;
    r->order[0] = first;
    for (uint32_t i = 0; i < reached; i++) {
        uint32_t node = r->order[i];

        for (uint32_t k = r->first[node]; k < r->first[node + 1]; k++) {
            uint32_t next = r->end[k];

            if (r->parent[next] == UINT32_MAX) {
                r->parent[next] = node;
                r->depth[next] = r->depth[node] + 1;
                r->order[reached++] = next;
            }
        }
    }
    return reached;
}

enum err run_map_rings(uint32_t first, uint32_t count, const struct run_map_link *links,
                       uint32_t links_count, double wide, double high, struct run_svg_point *out)
{
    uint32_t reached, deepest;
    struct rings r;

    if (!rings_init(&r, count, links_count)) {
        rings_deinit(&r);
        return ERR_NOMEM;
    }
    rings_ends(&r, count, links, links_count);
    reached = rings_reach(&r, first, count);
    deepest = r.depth[r.order[reached - 1]];
    for (uint32_t i = reached; i > 0; i--) {
        uint32_t node = r.order[i - 1];

        r.leaves[node] += r.leaves[node] == 0;
        r.leaves[r.parent[node]] += i > 1 ? r.leaves[node] : 0;
    }
    out[first] = (struct run_svg_point){.x = wide / 2, .y = high / 2};
    for (uint32_t i = 1; i < reached; i++) {
        uint32_t node = r.order[i], above = r.parent[node];
        double part = (double)r.leaves[node] / r.leaves[first], turn, away;

        r.from[node] = r.from[above] + r.taken[above];
        r.taken[above] += part;
        turn = 2 * M_PI * (r.from[node] + part / 2);
        away = (double)r.depth[node] / deepest;
        out[node] = (struct run_svg_point){
            .x = wide / 2 + cos(turn) * away * (wide / 2 - RINGS_MARGIN),
            .y = high / 2 + sin(turn) * away * (high / 2 - RINGS_MARGIN / 2)};
    }
    rings_deinit(&r);
    return OK;
}
