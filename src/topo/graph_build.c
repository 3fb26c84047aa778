#include "topo/graph_build.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nodes by id. Ids of the same hash are in the slots that follow. */

enum err topo_graph_index_init(struct topo_graph_index *x, uint32_t limit)
{
    return map_init(&x->map, limit);
}

void topo_graph_index_deinit(struct topo_graph_index *x)
{
    map_deinit(&x->map);
}

enum err topo_graph_index_add(struct topo_graph_index *x, struct topo_node *node)
{
    uint64_t key = hash_text(node->id);
    const struct topo_node *other;

    for (other = map_get(&x->map, key); other != NULL; other = map_get(&x->map, ++key)) {
        if (strcmp(other->id, node->id) == 0) {
            return ERR_EXISTS;
        }
    }
    return map_add(&x->map, key, node);
}

struct topo_node *topo_graph_index_find(const struct topo_graph_index *x, const char *id)
{
    uint64_t key = hash_text(id);
    struct topo_node *node = map_get(&x->map, key);

    while (node != NULL && strcmp(node->id, id) != 0) {
        node = map_get(&x->map, ++key);
    }
    return node;
}

uint64_t topo_graph_pair(uint32_t a, uint32_t b)
{
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* Texts. */

_Static_assert(TOPO_GRAPH_ID_BYTES == TOPO_GRAPH_NAME_BYTES, "one rule for ids and names");

bool topo_graph_text_valid(const char *chars)
{
    size_t size = strnlen(chars, TOPO_GRAPH_ID_BYTES);

    return size > 0 && size < TOPO_GRAPH_ID_BYTES && topo_text_valid(chars);
}

bool topo_graph_whole(const char *id)
{
    const char *digits = id + (id[0] == '-');
    size_t size = strlen(digits);

    return size > 0 && size <= 18 && strspn(digits, "0123456789") == size &&
           (digits[0] != '0' || strcmp(id, "0") == 0);
}

const char *topo_graph_say(const struct topo_node *node, struct topo_graph_say *out)
{
    char id[48], name[48];
    struct text t;

    (void)snprintf(id, sizeof(id), "%.47s", node->id);
    (void)snprintf(name, sizeof(name), "%.47s", node->name);
    text_init_fixed(&t, out->chars, sizeof(out->chars));
    text_add(&t, "'");
    text_add_printable(&t, id); /* Printable but for a character that was cut. */
    text_add(&t, "'");
    if (name[0] != '\0' && strcmp(node->name, node->id) != 0) {
        text_add(&t, " (");
        text_add_printable(&t, name);
        text_add(&t, ")");
    }
    return out->chars;
}

void topo_graph_note(struct topo_graph *g, const char *fmt, ...)
{
    va_list args;

    CHECK(g->notes_count < TOPO_GRAPH_NOTES_MAX);
    va_start(args, fmt);
    (void)vsnprintf(g->notes[g->notes_count], TOPO_GRAPH_NOTE_BYTES, fmt, args);
    va_end(args);
    g->notes_count++;
}

/* Lengths. */

void topo_graph_measure(struct topo_graph *g)
{
    for (uint32_t i = 0; i < g->edges_count; i++) {
        struct topo_edge *e = &g->edges[i];
        const struct topo_node *a = &g->nodes[e->a], *b = &g->nodes[e->b];

        e->km = a->placed && b->placed
                    ? topo_graph_km(a->latitude, a->longitude, b->latitude, b->longitude)
                    : -1;
    }
}

void topo_graph_rule_init(struct topo_graph_rule *r, const struct topo_graph *measured,
                          double near_mbps, double far_mbps)
{
    double sum = 0;

    *r = (struct topo_graph_rule){.near_mbps = near_mbps, .far_mbps = far_mbps};
    for (uint32_t i = 0; i < measured->edges_count; i++) {
        double km = measured->edges[i].km;

        if (km >= 0) {
            r->shortest_km = r->known == 0 || km < r->shortest_km ? km : r->shortest_km;
            r->longest_km = km > r->longest_km ? km : r->longest_km;
            sum += km;
            r->known++;
        }
    }
    r->mean_km = r->known > 0 ? sum / r->known : 0;
}

double topo_graph_rule_mbps(const struct topo_graph_rule *r, double km)
{
    double span = r->longest_km - r->shortest_km;

    if (!(span > 0)) {
        return (r->near_mbps + r->far_mbps) / 2;
    }
    km = km < 0 ? r->mean_km : km;
    return r->near_mbps + (r->far_mbps - r->near_mbps) * ((km - r->shortest_km) / span);
}

void topo_graph_note_speeds(struct topo_graph *g, const struct topo_graph_rule *r, uint32_t lacking,
                            uint32_t unplaced)
{
    char who[64];

    if (lacking == 0) {
        return;
    }
    (void)snprintf(who, sizeof(who), "%u of %u links %s no speed in the file", lacking,
                   g->edges_count, lacking == 1 ? "has" : "have");
    if (!(r->longest_km > r->shortest_km)) {
        topo_graph_note(g, "%s: %.10g Mbit/s each, because %s", who, topo_graph_rule_mbps(r, -1),
                        r->known == 0 ? "no length is known" : "all are of one length");
        return;
    }
    topo_graph_note(
        g, "%s: %.10g Mbit/s for the shortest to %.10g for the longest, linear in distance", who,
        r->near_mbps, r->far_mbps);
    if (unplaced > 0) {
        topo_graph_note(g, "%u of these %s an end without a place: as fast as one of mean length",
                        unplaced, unplaced == 1 ? "has" : "have");
    }
}

/* The checks and the lists of links. */

static enum err build_sizes(const struct topo_graph *d, struct err_text *text)
{
    if (d->nodes_count > TOPO_GRAPH_NODES_MAX || d->edges_count > TOPO_GRAPH_LINKS_MAX) {
        return err_text_set(
            text, ERR_TOO_BIG, "%u regions and %u links: at most %d and %d are allowed",
            d->nodes_count, d->edges_count, TOPO_GRAPH_NODES_MAX, TOPO_GRAPH_LINKS_MAX);
    }
    if (d->nodes_count < 2) {
        return err_text_set(text, ERR_INVALID, "%u region%s: a network needs at least 2",
                            d->nodes_count, d->nodes_count == 1 ? "" : "s");
    }
    if (d->name[0] != '\0' && !topo_graph_text_valid(d->name)) {
        return err_text_set(text, ERR_INVALID, "the name is not a text of up to %d bytes",
                            TOPO_GRAPH_NAME_BYTES - 1);
    }
    if (d->edges_count == 0) {
        return err_text_set(text, ERR_INVALID, "there is no link between the %u regions",
                            d->nodes_count);
    }
    return OK;
}

/* Below zero is not known. Written so that NaN is refused too. */
static bool build_figure_valid(double value, double most)
{
    return value < 0 ? value >= -1e300 : value <= most;
}

static bool build_node_valid(const struct topo_node *n)
{
    bool on_map =
        n->latitude >= -90 && n->latitude <= 90 && n->longitude >= -180 && n->longitude <= 180;

    return topo_graph_text_valid(n->id) && topo_graph_text_valid(n->name) &&
           (!n->numbered || topo_graph_whole(n->id)) && (!n->placed || on_map) &&
           build_figure_valid(n->usd_per_hour, TOPO_GRAPH_USD_PER_HOUR_MAX);
}

static enum err build_nodes(struct topo_graph *g, uint32_t *node_out, struct err_text *text)
{
    struct topo_graph_index index;
    enum err rc = topo_graph_index_init(&index, g->nodes_count);

    for (uint32_t i = 0; i < g->nodes_count && rc == OK; i++) {
        struct topo_node *n = &g->nodes[i];

        n->degree = 0;
        if (n->name[0] == '\0') {
            memcpy(n->name, n->id, sizeof(n->name));
        }
        if (!build_node_valid(n)) {
            rc = err_text_set(text, ERR_INVALID, "node %u has a figure out of its limits", i);
        } else {
            rc = topo_graph_index_add(&index, n);
        }
        if (rc == ERR_EXISTS) {
            rc = err_text_set(text, ERR_INVALID, "node %u has the id of another one", i);
        }
        if (rc != OK) {
            *node_out = i;
        }
    }
    topo_graph_index_deinit(&index);
    return rc;
}

static enum err build_edges(struct topo_graph *g, struct err_text *text)
{
    for (uint32_t i = 0; i < g->edges_count; i++) {
        const struct topo_edge *e = &g->edges[i];
        bool valid = e->a < g->nodes_count && e->b < g->nodes_count && e->a != e->b &&
                     e->mbps >= TOPO_GRAPH_MBPS_MIN && e->mbps <= TOPO_GRAPH_MBPS_MAX &&
                     build_figure_valid(e->rtt_ms, TOPO_GRAPH_RTT_MS_MAX) &&
                     build_figure_valid(e->usd_per_gb, TOPO_GRAPH_USD_PER_GB_MAX);

        if (!valid) {
            return err_text_set(text, ERR_INVALID, "link %u has a figure out of its limits", i);
        }
        g->nodes[e->a].degree++;
        g->nodes[e->b].degree++;
    }
    return OK;
}

static int build_order(const void *a, const void *b)
{
    const struct topo_end *x = a, *y = b;

    return x->node < y->node ? -1 : x->node > y->node;
}

/* Each node's links, by the other end; two to the same end are an error. */
static enum err build_ends(struct topo_graph *g, uint32_t *node_out, struct err_text *text)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i < g->nodes_count; i++) {
        g->nodes[i].first = first;
        first += g->nodes[i].degree;
        g->nodes[i].degree = 0;
    }
    for (uint32_t i = 0; i < g->edges_count; i++) {
        struct topo_node *a = &g->nodes[g->edges[i].a], *b = &g->nodes[g->edges[i].b];

        g->ends[a->first + a->degree++] = (struct topo_end){g->edges[i].b, i};
        g->ends[b->first + b->degree++] = (struct topo_end){g->edges[i].a, i};
    }
    for (uint32_t i = 0; i < g->nodes_count; i++) {
        struct topo_end *ends = g->ends + g->nodes[i].first;

        qsort(ends, g->nodes[i].degree, sizeof(*ends), build_order);
        for (uint32_t k = 1; k < g->nodes[i].degree; k++) {
            if (ends[k].node == ends[k - 1].node) {
                *node_out = i;
                return err_text_set(text, ERR_INVALID, "nodes %u and %u are joined twice", i,
                                    ends[k].node);
            }
        }
    }
    return OK;
}

/* Which nodes hang together. */

/* Mark all that can be reached from @start, which is not marked, as its part; return how many. */
static uint32_t build_part(const struct topo_graph *g, uint32_t start, uint32_t *parts,
                           uint32_t *queue)
{
    uint32_t count = 1;

    queue[0] = start;
    parts[start] = start;
    for (uint32_t at = 0; at < count; at++) {
        const struct topo_node *n = &g->nodes[queue[at]];

        for (uint32_t k = 0; k < n->degree; k++) {
            uint32_t other = g->ends[n->first + k].node;

            if (parts[other] == TOPO_GRAPH_NOBODY) {
                parts[other] = start;
                queue[count++] = other;
            }
        }
    }
    return count;
}

struct build_split {
    uint32_t base;    /* The first node of the largest part. */
    uint32_t with_it; /* Nodes there. */
    uint32_t lost;    /* The first node that is not. */
    uint32_t others;  /* Nodes in the part of the lost one. */
};

static enum err build_apart(const struct topo_graph *g, const struct build_split *s,
                            struct err_text *text)
{
    const struct topo_node *lost = &g->nodes[s->lost];
    uint32_t neither = g->nodes_count - s->with_it - s->others;
    struct topo_graph_say base, far;
    char rest[48] = "";

    (void)topo_graph_say(&g->nodes[s->base], &base);
    (void)topo_graph_say(lost, &far);
    if (neither > 0) {
        (void)snprintf(rest, sizeof(rest), ", %u with neither", neither);
    }
    if (lost->degree == 0) {
        return err_text_set(text, ERR_INVALID,
                            "not connected: %s has no link, so it cannot be reached from %s; %u of "
                            "the %u regions hang together with %s%s",
                            far.chars, base.chars, s->with_it, g->nodes_count, base.chars, rest);
    }
    return err_text_set(text, ERR_INVALID,
                        "not connected: %s cannot be reached from %s; of the %u regions %u hang "
                        "together with %s, %u with %s%s",
                        far.chars, base.chars, g->nodes_count, s->with_it, base.chars, s->others,
                        far.chars, rest);
}

static enum err build_connected(const struct topo_graph *g, uint32_t *node_out,
                                struct err_text *text)
{
    uint32_t *parts = mem_calloc(g->nodes_count, 2 * sizeof(*parts));
    struct build_split s = {.lost = TOPO_GRAPH_NOBODY};
    enum err rc = OK;

    if (parts == NULL) {
        return ERR_NOMEM;
    }
    memset(parts, 0xff, g->nodes_count * sizeof(*parts));
    for (uint32_t i = 0; i < g->nodes_count; i++) {
        if (parts[i] == TOPO_GRAPH_NOBODY) {
            uint32_t count = build_part(g, i, parts, parts + g->nodes_count);

            s.base = count > s.with_it ? i : s.base;
            s.with_it = count > s.with_it ? count : s.with_it;
        }
    }
    for (uint32_t i = g->nodes_count; i-- > 0;) {
        s.lost = parts[i] != s.base ? i : s.lost;
    }
    if (s.lost != TOPO_GRAPH_NOBODY) {
        for (uint32_t i = 0; i < g->nodes_count; i++) {
            s.others += parts[i] == parts[s.lost];
        }
        *node_out = s.lost;
        rc = build_apart(g, &s, text);
    }
    mem_free(parts);
    return rc;
}

static enum err build_copy(const struct topo_graph *draft, struct topo_graph *g)
{
    *g = *draft;
    g->nodes = mem_calloc(draft->nodes_count, sizeof(*g->nodes));
    g->edges = mem_calloc(draft->edges_count, sizeof(*g->edges));
    g->ends = mem_calloc(draft->edges_count, 2 * sizeof(*g->ends));
    if (g->nodes == NULL || g->edges == NULL || g->ends == NULL) {
        return ERR_NOMEM;
    }
    memcpy(g->nodes, draft->nodes, draft->nodes_count * sizeof(*g->nodes));
    memcpy(g->edges, draft->edges, draft->edges_count * sizeof(*g->edges));
    return OK;
}

enum err topo_graph_build(const struct topo_graph *draft, struct topo_graph **graph_out,
                          uint32_t *node_out, struct err_text *text)
{
    enum err rc = build_sizes(draft, text);
    struct topo_graph *g;

    *node_out = TOPO_GRAPH_NOBODY;
    if (rc != OK) {
        return rc;
    }
    g = mem_zalloc(sizeof(*g));
    rc = g == NULL ? ERR_NOMEM : build_copy(draft, g);
    if (rc == OK) {
        rc = build_nodes(g, node_out, text);
    }
    if (rc == OK) {
        rc = build_edges(g, text);
    }
    if (rc == OK) {
        rc = build_ends(g, node_out, text);
    }
    if (rc == OK) {
        topo_graph_measure(g);
        rc = build_connected(g, node_out, text);
    }
    if (rc != OK) {
        topo_graph_free(g);
        return rc == ERR_NOMEM ? err_text_set(text, rc, "out of memory") : rc;
    }
    *graph_out = g;
    return OK;
}
