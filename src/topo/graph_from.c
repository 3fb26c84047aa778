/* Between graphs and topologies. */

#include "base/mem.h"
#include "base/units.h"
#include "topo/graph_build.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GRAPH_FROM_FIBRE_KM_PER_MS 200.0 /* Light in glass. */
#define GRAPH_FROM_RTT_MS 1.0            /* Where nothing is known. */

/* What both directions of a link are together. */
static struct topo_edge from_edge(const struct topo_link *there, const struct topo_link *back)
{
    uint64_t slower =
        there->bytes_per_s < back->bytes_per_s ? there->bytes_per_s : back->bytes_per_s;
    double price = (double)(there->price_nusd_per_gb + back->price_nusd_per_gb) / 2e9;

    return (struct topo_edge){
        .mbps = (double)slower * 8 / 1e6,
        .rtt_ms = (double)(there->delay_ns + back->delay_ns) / 1e6,
        .usd_per_gb = there->priced && back->priced ? price : -1,
    };
}

static void from_nodes(const struct topo *t, const char *class, struct topo_graph *draft)
{
    for (uint32_t i = 0; i < draft->nodes_count; i++) {
        const struct topo_region *r = topo_region_at(t, i);
        struct topo_node *n = &draft->nodes[i];
        uint64_t nusd = 0;
        bool priced = topo_region_price(t, i, class, &nusd);

        (void)strcpy(n->id, r->name);
        (void)strcpy(n->name, r->name);
        n->placed = r->placed;
        n->latitude = r->latitude;
        n->longitude = r->longitude;
        n->usd_per_hour = priced ? (double)nusd / 1e9 : -1;
    }
}

static void from_edges(const struct topo *t, struct topo_graph *draft)
{
    uint32_t one_way = 0, differ = 0;

    for (uint32_t a = 0; a < draft->nodes_count; a++) {
        for (uint32_t b = a + 1; b < draft->nodes_count; b++) {
            const struct topo_link *there = topo_link_between(t, a, b);
            const struct topo_link *back = topo_link_between(t, b, a);

            if (there != NULL && back != NULL) {
                struct topo_edge *e = &draft->edges[draft->edges_count++];

                *e = from_edge(there, back);
                e->a = a;
                e->b = b;
                differ += there->bytes_per_s != back->bytes_per_s;
            } else {
                one_way += there != back;
            }
        }
    }
    if (differ > 0) {
        topo_graph_note(draft, "%u of %u links %s not as fast both ways: the slower rate for both",
                        differ, draft->edges_count, differ == 1 ? "is" : "are");
    }
    if (one_way > 0) {
        topo_graph_note(draft, "%u link%s one way only: left out", one_way,
                        one_way == 1 ? " goes" : "s go");
    }
}

enum err topo_graph_from_build(const struct topo *t, const char *class,
                               struct topo_graph **graph_out, uint32_t *node_out,
                               struct err_text *text)
{
    uint32_t n = topo_regions(t);
    struct topo_graph *draft = mem_zalloc(sizeof(*draft));
    enum err rc = ERR_NOMEM;

    if (draft != NULL) {
        draft->nodes = mem_calloc(n + 1, sizeof(*draft->nodes));
        draft->edges = mem_calloc((size_t)n * n + 1, sizeof(*draft->edges));
        rc = draft->nodes == NULL || draft->edges == NULL ? ERR_NOMEM : OK;
    }
    if (rc == OK) {
        (void)snprintf(draft->name, sizeof(draft->name), "%s", topo_name(t));
        draft->duplex = topo_duplex(t);
        draft->nodes_count = n;
        from_nodes(t, class, draft);
        from_edges(t, draft);
        rc = topo_graph_build(draft, graph_out, node_out, text);
    } else {
        (void)err_text_set(text, rc, "out of memory");
    }
    if (draft != NULL) {
        mem_free(draft->nodes);
        mem_free(draft->edges);
        mem_free(draft);
    }
    return rc;
}

enum err topo_graph_from(const struct topo *t, const char *class, struct topo_graph **graph_out,
                         struct err_text *text)
{
    uint32_t node;

    return topo_graph_from_build(t, class, graph_out, &node, text);
}

/* The other way round. */

static bool to_is_id(const struct topo_graph *g, const char *name)
{
    bool found = false;

    for (uint32_t i = 0; i < g->nodes_count && !found; i++) {
        found = strcmp(g->nodes[i].id, name) == 0;
    }
    return found;
}

/* The id, or "r" and the index if it may not be a region's name. If that is another one's id, a
 * number follows. */
static void to_name(const struct topo_graph *g, uint32_t index, char name[TOPO_NAME_BYTES])
{
    if (topo_name_valid(g->nodes[index].id)) {
        (void)strcpy(name, g->nodes[index].id);
        return;
    }
    (void)snprintf(name, TOPO_NAME_BYTES, "r%u", index);
    for (uint32_t i = 2; to_is_id(g, name); i++) {
        (void)snprintf(name, TOPO_NAME_BYTES, "r%u.%u", index, i);
    }
}

static enum err to_region(const struct topo_graph *g, uint32_t index, struct topo *t)
{
    const struct topo_node *n = &g->nodes[index];
    struct topo_region r = {
        .placed = n->placed, .latitude = n->latitude, .longitude = n->longitude};

    to_name(g, index, r.name);
    if (n->usd_per_hour >= 0) {
        r.prices_count = 1;
        r.prices[0].nusd_per_hour = (uint64_t)llround(n->usd_per_hour * 1e9);
    }
    return topo_region_add(t, &r);
}

static enum err to_link(const struct topo_graph *g, const struct topo_edge *e, struct topo *t,
                        struct err_text *text)
{
    double bytes_per_s = e->mbps * 1e6 / 8;
    double rtt_ms = e->rtt_ms >= 0 ? e->rtt_ms
                    : e->km >= 0   ? 2 * e->km / GRAPH_FROM_FIBRE_KM_PER_MS
                                   : GRAPH_FROM_RTT_MS;
    struct topo_link link = {.delay_ns = llround(rtt_ms * 1e6 / 2), .priced = e->usd_per_gb >= 0};
    struct units_text most;
    enum err rc;

    if (bytes_per_s > (double)TOPO_RATE_MAX) {
        struct topo_graph_say a, b;

        return err_text_set(text, ERR_TOO_BIG,
                            "the link between %s and %s has %.10g Mbit/s: what runs has at most %s",
                            topo_graph_say(&g->nodes[e->a], &a),
                            topo_graph_say(&g->nodes[e->b], &b), e->mbps,
                            units_rate_print(TOPO_RATE_MAX, &most));
    }
    link.bytes_per_s = bytes_per_s < 1 ? 1 : (uint64_t)llround(bytes_per_s);
    link.price_nusd_per_gb = link.priced ? (uint64_t)llround(e->usd_per_gb * 1e9) : 0;
    rc = topo_link_set(t, e->a, e->b, &link);
    return rc == OK ? topo_link_set(t, e->b, e->a, &link) : rc;
}

/* As much of the name as fits, up to the end of a character. */
static enum err to_describe(const struct topo_graph *g, struct topo *t)
{
    char name[TOPO_NAME_BYTES];
    size_t size = strlen(g->name);

    size = size < sizeof(name) ? size : sizeof(name) - 1;
    while (size > 0 && ((unsigned char)g->name[size] & 0xc0) == 0x80) {
        size--;
    }
    memcpy(name, g->name, size);
    name[size] = '\0';
    topo_duplex_set(t, g->duplex);
    return topo_describe(t, name, "");
}

enum err topo_graph_topology(const struct topo_graph *g, struct topo **topo_out,
                             struct err_text *text)
{
    struct topo *t = NULL;
    enum err rc;

    if (g->nodes_count > TOPO_REGIONS_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%u regions: what runs has at most %d",
                            g->nodes_count, TOPO_REGIONS_MAX);
    }
    rc = topo_create(&t);
    if (rc == OK) {
        rc = to_describe(g, t);
    }
    for (uint32_t i = 0; i < g->nodes_count && rc == OK; i++) {
        rc = to_region(g, i, t);
    }
    for (uint32_t i = 0; i < g->edges_count && rc == OK; i++) {
        rc = to_link(g, &g->edges[i], t, text);
    }
    if (rc != OK) {
        topo_destroy(t);
        return rc == ERR_NOMEM ? err_text_set(text, rc, "out of memory") : rc;
    }
    *topo_out = t;
    return OK;
}
