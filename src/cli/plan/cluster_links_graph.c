/* The links of a running cluster as a network for planners: what can be planned with is in it, and
 * what is left out or assumed is noted. */

#include "base/mem.h"
#include "base/text.h"
#include "cli/plan/cluster_links.h"
#include "topo/graph_build.h"

#include <string.h>

enum {
    GRAPH_LINKS_MAX = CLUSTER_SITES_MAX * (CLUSTER_SITES_MAX - 1) / 2,
    GRAPH_LIST_BYTES = 150, /* Of the names in a note. */
};

#define GRAPH_MBPS_OF 8e-6 /* A byte per second. */

/* Names, as many as fit. */
struct graph_list {
    uint32_t count;
    uint32_t left_away;
    struct text text;
    char chars[GRAPH_LIST_BYTES];
};

struct graph_maker {
    const struct cluster_links *c;
    double assume_mbps;
    struct topo_graph draft;
    struct topo_node nodes[CLUSTER_SITES_MAX];
    struct topo_edge edges[GRAPH_LINKS_MAX];
    uint32_t node_of[CLUSTER_SITES_MAX]; /* CLUSTER_NOBODY: the site is left out. */
    struct graph_list down;
    struct graph_list unmeasured;
    struct graph_list away;   /* Sites that are left out. */
    struct graph_list silent; /* Sites that did not answer. */
};

static void graph_list_add(struct graph_list *l, const char *a, const char *b)
{
    size_t size = strlen(a) + (b == NULL ? 0 : strlen(" - ") + strlen(b)) + strlen(", ");

    if (l->text.chars == NULL) {
        text_init_fixed(&l->text, l->chars, sizeof(l->chars));
    }
    if (l->text.size + size >= sizeof(l->chars)) {
        l->left_away++;
    } else {
        text_addf(&l->text, "%s%s%s%s", l->count == 0 ? "" : ", ", a, b == NULL ? "" : " - ",
                  b == NULL ? "" : b);
    }
    l->count++;
}

/* "N links are down and left out: A - B, and 3 more". */
static void graph_note(struct graph_maker *m, const struct graph_list *l, const char *thing,
                       const char *what)
{
    char more[32] = "";

    if (l->count == 0) {
        return;
    }
    if (l->left_away > 0) {
        (void)snprintf(more, sizeof(more), " and %u more", l->left_away);
    }
    topo_graph_note(&m->draft, "%u %s%s %s: %s%s", l->count, thing, l->count == 1 ? "" : "s", what,
                    l->chars, more);
}

static void graph_notes(struct graph_maker *m)
{
    char assumed[64];

    (void)snprintf(assumed, sizeof(assumed), "not measured yet, and taken for %.6g Mbit/s",
                   m->assume_mbps);
    if (m->assume_mbps <= 0) {
        (void)snprintf(assumed, sizeof(assumed), "not measured yet, and left out");
    }
    graph_note(m, &m->down, "link", "down, and left out");
    graph_note(m, &m->unmeasured, "link", assumed);
    graph_note(m, &m->away, "site", "left out, as all links there are down");
    graph_note(m, &m->silent, "site", "without an answer, so only others speak of links there");
}

/* Whose links are not all down: others are gone, and a plan is for those who are there. */
static bool graph_is_there(const struct cluster_links *c, uint32_t site)
{
    uint32_t links = 0, down = 0;

    for (uint32_t i = 0; i < c->count; i++) {
        struct cluster_link link;

        if (cluster_links_get(c, site, i, &link)) {
            links++;
            down += link.state == CLUSTER_DOWN;
        }
    }
    return links == 0 || down < links;
}

static void graph_sites(struct graph_maker *m)
{
    const struct cluster_links *c = m->c;

    for (uint32_t i = 0; i < c->count; i++) {
        struct topo_node *node = &m->nodes[m->draft.nodes_count];

        m->node_of[i] = CLUSTER_NOBODY;
        if (!graph_is_there(c, i)) {
            graph_list_add(&m->away, c->sites[i].name, NULL);
            continue;
        }
        m->node_of[i] = m->draft.nodes_count++;
        (void)strcpy(node->id, c->sites[i].name);
        node->usd_per_hour = -1;
        if (!c->sites[i].answered) {
            graph_list_add(&m->silent, c->sites[i].name, NULL);
        }
    }
}

static void graph_link(struct graph_maker *m, const struct cluster_link *link)
{
    const char *a = m->c->sites[link->a].name, *b = m->c->sites[link->b].name;
    double mbps =
        link->bytes_per_s > 0 ? (double)link->bytes_per_s * GRAPH_MBPS_OF : m->assume_mbps;

    if (link->state == CLUSTER_DOWN) {
        graph_list_add(&m->down, a, b);
        return;
    }
    if (link->bytes_per_s == 0) {
        graph_list_add(&m->unmeasured, a, b);
    }
    if (mbps > 0) {
        /* It is not down, so both ends are there. */
        m->edges[m->draft.edges_count++] = (struct topo_edge){
            .a = m->node_of[link->a],
            .b = m->node_of[link->b],
            .mbps = mbps,
            .rtt_ms = link->rtt_us > 0 ? (double)link->rtt_us * 1e-3 : -1,
            .usd_per_gb = -1,
        };
    }
}

/* Why there is nothing to plan with, and what to do. */
static enum err graph_refuse(const struct graph_maker *m, struct err_text *text)
{
    struct err_text why = *text;
    const char *waits = m->unmeasured.count == 0 || m->assume_mbps > 0
                            ? ""
                            : "; links are measured when there is traffic on them: wait, or say "
                              "--assume RATE for those that are not yet";

    if (m->draft.edges_count == 0) {
        return err_text_set(
            text, ERR_NOT_FOUND,
            "of the links between its %u sites none is up and of known rate (%u down, "
            "%u not measured)%s",
            m->c->count, m->down.count, m->unmeasured.count, waits);
    }
    return err_text_set(text, ERR_NOT_FOUND, "%s (of its links %u down, %u not measured)%s",
                        why.text, m->down.count, m->unmeasured.count, waits);
}

static enum err graph_make(struct graph_maker *m, struct topo_graph **graph_out,
                           struct err_text *text)
{
    const struct cluster_links *c = m->c;
    enum err rc;

    graph_sites(m);
    for (uint32_t i = 0; i < c->count; i++) {
        for (uint32_t k = i + 1; k < c->count; k++) {
            struct cluster_link link;

            if (cluster_links_get(c, i, k, &link)) {
                graph_link(m, &link);
            }
        }
    }
    graph_notes(m);
    m->draft.nodes = m->nodes;
    m->draft.edges = m->edges;
    m->draft.duplex = c->shared ? TOPO_DUPLEX_SHARED : TOPO_DUPLEX_FULL;
    if (m->draft.edges_count == 0) {
        return graph_refuse(m, text);
    }
    rc = topo_graph_create(&m->draft, graph_out, text);
    return rc == OK || rc == ERR_NOMEM ? rc : graph_refuse(m, text);
}

enum err cluster_links_graph(const struct cluster_links *c, const char *name, double assume_mbps,
                             struct topo_graph **graph_out, struct err_text *text)
{
    struct graph_maker *m = mem_zalloc(sizeof(*m));
    enum err rc;

    if (m == NULL) {
        return err_text_set(text, ERR_NOMEM, "out of memory");
    }
    m->c = c;
    m->assume_mbps = assume_mbps;
    if (topo_graph_text_valid(name)) {
        (void)strcpy(m->draft.name, name);
    }
    rc = graph_make(m, graph_out, text);
    mem_free(m);
    return rc;
}

/* As a file. */

static json_t *graph_links_json(const struct topo_graph *g)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < g->edges_count; i++) {
        const struct topo_edge *e = &g->edges[i];

        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:s, s:f, s:o*}", "a", g->nodes[e->a].id, "b",
                                              g->nodes[e->b].id, "mbps", e->mbps, "rtt_ms",
                                              e->rtt_ms >= 0 ? json_real(e->rtt_ms) : NULL));
    }
    return list;
}

json_t *cluster_links_json(const struct topo_graph *g, const char *source)
{
    json_t *regions = json_array();
    json_t *sources = json_array();

    for (uint32_t i = 0; i < g->nodes_count; i++) {
        (void)json_array_append_new(
            regions, json_pack("{s:s, s:s}", "id", g->nodes[i].id, "name", g->nodes[i].name));
    }
    (void)json_array_append_new(sources, json_string(source));
    for (uint32_t i = 0; i < g->notes_count; i++) {
        (void)json_array_append_new(sources, json_string(g->notes[i]));
    }
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "name", g->name, "duplex",
                     g->duplex == TOPO_DUPLEX_SHARED ? "shared" : "full", "source", sources,
                     "regions", regions, "links", graph_links_json(g));
}
