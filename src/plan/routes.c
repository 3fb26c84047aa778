#include "plan/routes.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Paths as they are found. */

struct routes_path {
    uint32_t at; /* In .nodes. */
    uint32_t hops;
};

struct routes_list {
    uint32_t *nodes;
    size_t nodes_count;
    size_t nodes_room;
    struct routes_path *paths;
    size_t paths_count;
    size_t paths_room;
};

static enum err routes_room(void **array, size_t *room, size_t count, size_t size, size_t limit)
{
    size_t wanted = *room == 0 ? 64 : *room * 2;
    void *grown;

    if (count <= *room) {
        return OK;
    }
    if (count > limit) {
        return ERR_TOO_BIG;
    }
    wanted = wanted < count ? count : wanted;
    grown = mem_calloc(wanted, size);
    if (grown == NULL) {
        return ERR_NOMEM;
    }
    if (*array != NULL) {
        memcpy(grown, *array, *room * size);
    }
    mem_free(*array);
    *array = grown;
    *room = wanted;
    return OK;
}

/* Add a path of hops + 1 nodes; @step is 1 or -1: the order in which @nodes has them. */
static enum err routes_add(struct routes_list *l, const uint32_t *nodes, uint32_t hops, int step)
{
    enum err rc = routes_room((void **)&l->nodes, &l->nodes_room, l->nodes_count + hops + 1,
                              sizeof(*l->nodes), PLAN_ROUTES_NODES_MAX);

    if (rc == OK) {
        rc = routes_room((void **)&l->paths, &l->paths_room, l->paths_count + 1, sizeof(*l->paths),
                         SIZE_MAX);
    }
    if (rc == OK) {
        l->paths[l->paths_count++] =
            (struct routes_path){.at = (uint32_t)l->nodes_count, .hops = hops};
        for (uint32_t i = 0; i <= hops; i++) {
            l->nodes[l->nodes_count++] = *nodes;
            nodes += step;
        }
    }
    return rc;
}

static void routes_list_deinit(struct routes_list *l)
{
    mem_free(l->nodes);
    mem_free(l->paths);
}

/* By source, then hops, then nodes. */
static int routes_compare(const void *a, const void *b, void *user)
{
    const struct routes_list *l = user;
    const struct routes_path *p = a;
    const struct routes_path *q = b;
    const uint32_t *m = l->nodes + p->at;
    const uint32_t *n = l->nodes + q->at;

    if (m[0] != n[0]) {
        return m[0] < n[0] ? -1 : 1;
    }
    if (p->hops != q->hops) {
        return p->hops < q->hops ? -1 : 1;
    }
    for (uint32_t i = 1; i <= p->hops; i++) {
        if (m[i] != n[i]) {
            return m[i] < n[i] ? -1 : 1;
        }
    }
    return 0;
}

/* What a search needs; arrays of nodes. */
struct routes_search {
    const struct topo_graph *g;
    const struct plan_routes_rules *rules;
    uint32_t target;
    uint32_t k;
    struct routes_list found;
    uint32_t limit; /* Of simple paths. */
    bool counting;  /* Only how many there are. */

    uint32_t *stack; /* The path at hand. */
    uint32_t *next;  /* Of each of its nodes: which link is to be tried. */
    bool *used;      /* On it. */

    uint32_t *base; /* Hops to the target, UINT32_MAX: none; the whole graph. */
    uint32_t *hops; /* The same without what is not allowed just now, if .seen is .stamp. */
    uint32_t *seen;
    uint32_t stamp;
    uint32_t *queue;
    uint32_t *banned;           /* Nodes that may not follow the spur: .banned[n] is .stamp. */
    uint32_t *goal;             /* Nodes that may, likewise. */
    struct routes_list waiting; /* Candidates, the best first. */
    uint32_t *turned;           /* Where each of these left the path it was made of. */
    size_t turned_room;
};

static bool routes_link_barred(const struct routes_search *s, uint32_t edge)
{
    return s->rules->no_edge != NULL && s->rules->no_edge[edge];
}

static bool routes_relay_barred(const struct routes_search *s, uint32_t node)
{
    return s->rules->no_relay != NULL && s->rules->no_relay[node];
}

static bool routes_silent(const struct routes_search *s, uint32_t node)
{
    return node == s->target || (s->rules->silent != NULL && s->rules->silent[node]);
}

static enum err routes_search_init(struct routes_search *s, const struct topo_graph *g,
                                   const struct plan_routes_rules *rules, uint32_t target,
                                   uint32_t k)
{
    uint32_t n = g->nodes_count;

    *s = (struct routes_search){
        .g = g, .rules = rules, .target = target, .k = k, .limit = PLAN_ROUTES_ALL_MAX};
    s->stack = mem_calloc((size_t)n + 1, sizeof(*s->stack));
    s->next = mem_calloc((size_t)n + 1, sizeof(*s->next));
    s->used = mem_calloc(n, sizeof(*s->used));
    s->base = mem_calloc(n, sizeof(*s->base));
    s->hops = mem_calloc(n, sizeof(*s->hops));
    s->seen = mem_calloc(n, sizeof(*s->seen));
    s->queue = mem_calloc(n, sizeof(*s->queue));
    s->banned = mem_calloc(n, sizeof(*s->banned));
    s->goal = mem_calloc(n, sizeof(*s->goal));
    return s->stack == NULL || s->next == NULL || s->used == NULL || s->base == NULL ||
                   s->hops == NULL || s->seen == NULL || s->queue == NULL || s->banned == NULL ||
                   s->goal == NULL
               ? ERR_NOMEM
               : OK;
}

static void routes_search_deinit(struct routes_search *s)
{
    mem_free(s->stack);
    mem_free(s->next);
    mem_free(s->used);
    mem_free(s->base);
    mem_free(s->hops);
    mem_free(s->seen);
    mem_free(s->queue);
    mem_free(s->banned);
    mem_free(s->goal);
    mem_free(s->turned);
    routes_list_deinit(&s->found);
    routes_list_deinit(&s->waiting);
}

/* All simple paths: every walk from the target outwards that meets nobody twice is one, read
 * backwards. */

static enum err routes_all(struct routes_search *s)
{
    uint32_t depth = 0;
    uint32_t pushed = 0;
    enum err rc = OK;

    s->stack[0] = s->target;
    s->used[s->target] = true;
    while (rc == OK) {
        const struct topo_node *here = &s->g->nodes[s->stack[depth]];
        const struct topo_end *end = s->g->ends + here->first + s->next[depth];

        if (s->next[depth] == here->degree ||
            (depth > 0 && routes_relay_barred(s, s->stack[depth]))) {
            s->used[s->stack[depth]] = false;
            if (depth-- == 0) {
                break;
            }
            continue;
        }
        s->next[depth]++;
        if (s->used[end->node] || routes_link_barred(s, end->edge)) {
            continue;
        }
        s->stack[++depth] = end->node;
        s->next[depth] = 0;
        s->used[end->node] = true;
        rc = ++pushed > s->limit ? ERR_TOO_BIG : OK;
        if (rc == OK && !s->counting && !routes_silent(s, end->node)) {
            rc = routes_add(&s->found, s->stack + depth, depth, -1);
        }
    }
    return rc;
}

/* The k shortest of one source: Yen's algorithm with Lawler's rule, that a path is left only from
 * where it left its own predecessor. */

/* Hops to the target of all nodes that reach it. */
static void routes_base(struct routes_search *s)
{
    uint32_t head = 0;
    uint32_t tail = 0;

    memset(s->base, 0xff, s->g->nodes_count * sizeof(*s->base));
    s->base[s->target] = 0;
    s->queue[tail++] = s->target;
    while (head < tail) {
        uint32_t n = s->queue[head++];
        const struct topo_end *end = s->g->ends + s->g->nodes[n].first;

        if (n != s->target && routes_relay_barred(s, n)) {
            continue;
        }
        for (uint32_t i = s->g->nodes[n].degree; i > 0; i--, end++) {
            if (s->base[end->node] == UINT32_MAX && !routes_link_barred(s, end->edge)) {
                s->base[end->node] = s->base[n] + 1;
                s->queue[tail++] = end->node;
            }
        }
    }
}

/* May the path go from the spur to this neighbour? */
static bool routes_step(const struct routes_search *s, const struct topo_end *end)
{
    return !s->used[end->node] && s->banned[end->node] != s->stamp &&
           s->base[end->node] != UINT32_MAX && !routes_link_barred(s, end->edge) &&
           (end->node == s->target || !routes_relay_barred(s, end->node));
}

/* Note who may follow the spur. Return the fewest hops from there, if nothing else were barred. */
static uint32_t routes_goals(struct routes_search *s, uint32_t spur)
{
    const struct topo_end *end = s->g->ends + s->g->nodes[spur].first;
    uint32_t least = UINT32_MAX;

    for (uint32_t i = s->g->nodes[spur].degree; i > 0; i--, end++) {
        if (routes_step(s, end)) {
            s->goal[end->node] = s->stamp;
            least = s->base[end->node] + 1 < least ? s->base[end->node] + 1 : least;
        }
    }
    return least;
}

/* Count hops from the target outwards, around what is used, until somebody who may follow the
 * spur has been met; return that one's hops, or UINT32_MAX. */
static uint32_t routes_spread(struct routes_search *s)
{
    uint32_t head = 0;
    uint32_t tail = 0;
    uint32_t met = UINT32_MAX;

    s->seen[s->target] = s->stamp;
    s->hops[s->target] = 0;
    s->queue[tail++] = s->target;
    while (head < tail && s->hops[s->queue[head]] < met) {
        uint32_t n = s->queue[head++];
        const struct topo_end *end = s->g->ends + s->g->nodes[n].first;

        met = s->goal[n] == s->stamp ? s->hops[n] : met;
        for (uint32_t i = s->g->nodes[n].degree; i > 0; i--, end++) {
            if (s->seen[end->node] != s->stamp && !s->used[end->node] &&
                !routes_relay_barred(s, end->node) && !routes_link_barred(s, end->edge)) {
                s->seen[end->node] = s->stamp;
                s->hops[end->node] = s->hops[n] + 1;
                s->queue[tail++] = end->node;
            }
        }
    }
    return met;
}

/* Go on from the spur, stack[depth], by the shortest way that is left, of several by the first in
 * the order of nodes. Return the hops of the whole path, or UINT32_MAX. */
static uint32_t routes_finish(struct routes_search *s, uint32_t depth)
{
    uint32_t at = s->stack[depth];
    uint32_t left = routes_spread(s);
    uint32_t hops = left == UINT32_MAX ? UINT32_MAX : depth + 1 + left;

    for (bool first = true; left != UINT32_MAX; first = false) {
        const struct topo_end *end = s->g->ends + s->g->nodes[at].first;

        while (s->seen[end->node] != s->stamp || s->hops[end->node] != left ||
               routes_link_barred(s, end->edge) || (first && s->goal[end->node] != s->stamp)) {
            end++;
        }
        at = end->node;
        s->stack[++depth] = at;
        left = left == 0 ? UINT32_MAX : left - 1;
    }
    return hops;
}

/* Put the path at hand among the candidates, by hops and nodes. */
static enum err routes_wait(struct routes_search *s, uint32_t hops, uint32_t turned)
{
    struct routes_list *w = &s->waiting;
    enum err rc = routes_room((void **)&s->turned, &s->turned_room, w->paths_count + 1,
                              sizeof(*s->turned), SIZE_MAX);
    size_t i;

    if (rc == OK) {
        rc = routes_add(w, s->stack, hops, 1);
    }
    if (rc != OK) {
        return rc;
    }
    for (i = w->paths_count - 1; i > 0; i--) {
        struct routes_path path = w->paths[i];

        if (routes_compare(&path, &w->paths[i - 1], w) > 0) {
            break;
        }
        w->paths[i] = w->paths[i - 1];
        w->paths[i - 1] = path;
        s->turned[i] = s->turned[i - 1];
    }
    s->turned[i] = turned;
    return OK;
}

/* Bar what paths that were found already do behind the first @depth + 1 nodes at hand. */
static void routes_bar(struct routes_search *s, size_t found_from, uint32_t depth)
{
    s->stamp++;
    for (size_t i = found_from; i < s->found.paths_count; i++) {
        const struct routes_path *p = &s->found.paths[i];
        const uint32_t *nodes = s->found.nodes + p->at;

        if (p->hops > depth && memcmp(nodes, s->stack, ((size_t)depth + 1) * sizeof(*nodes)) == 0) {
            s->banned[nodes[depth + 1]] = s->stamp;
        }
    }
}

/* Find how the path that was found last can be left, from its @turned-th node on. */
static enum err routes_leave(struct routes_search *s, size_t found_from, uint32_t turned)
{
    struct routes_path last = s->found.paths[s->found.paths_count - 1];
    size_t wanted = s->k - (s->found.paths_count - found_from);
    enum err rc = OK;

    for (uint32_t i = 0; i < last.hops && rc == OK; i++) {
        uint32_t limit =
            s->waiting.paths_count < wanted ? UINT32_MAX - 1 : s->waiting.paths[wanted - 1].hops;
        uint32_t least;
        uint32_t hops;

        s->stack[i] = s->found.nodes[last.at + i];
        if (i >= turned) {
            routes_bar(s, found_from, i);
            s->used[s->stack[i]] = true;
            least = routes_goals(s, s->stack[i]);
            hops = least == UINT32_MAX || least + i > limit ? UINT32_MAX : routes_finish(s, i);
            rc = hops <= limit ? routes_wait(s, hops, i) : OK;
        }
        s->used[s->stack[i]] = true;
    }
    for (uint32_t i = 0; i < last.hops; i++) {
        s->used[s->found.nodes[last.at + i]] = false;
    }
    return rc;
}

static enum err routes_shortest(struct routes_search *s, uint32_t source)
{
    size_t from = s->found.paths_count;
    uint32_t turned = 0;
    enum err rc;

    if (s->base[source] == UINT32_MAX) {
        return OK;
    }
    s->waiting.paths_count = 0;
    s->waiting.nodes_count = 0;
    s->stamp++;
    s->stack[0] = source;
    s->used[source] = true;
    (void)routes_goals(s, source);
    rc = routes_wait(s, routes_finish(s, 0), 0);
    s->used[source] = false;
    while (rc == OK && s->waiting.paths_count > 0) {
        struct routes_path best = s->waiting.paths[0];

        turned = s->turned[0];
        rc = routes_add(&s->found, s->waiting.nodes + best.at, best.hops, 1);
        s->waiting.paths_count--;
        memmove(s->waiting.paths, s->waiting.paths + 1,
                s->waiting.paths_count * sizeof(*s->waiting.paths));
        memmove(s->turned, s->turned + 1, s->waiting.paths_count * sizeof(*s->turned));
        if (rc != OK || s->found.paths_count - from == s->k) {
            break;
        }
        rc = routes_leave(s, from, turned);
    }
    return rc;
}

static enum err routes_some(struct routes_search *s)
{
    enum err rc = OK;

    routes_base(s);
    for (uint32_t n = 0; n < s->g->nodes_count && rc == OK; n++) {
        if (!routes_silent(s, n)) {
            rc = routes_shortest(s, n);
        }
    }
    return rc;
}

/* From the list to the answer. */

static enum err routes_take(struct routes_search *s, struct plan_routes *out, struct err_text *text)
{
    struct routes_list *l = &s->found;
    const struct topo_graph *g = s->g;
    uint32_t path = 0;

    if (l->paths_count > 0) {
        qsort_r(l->paths, l->paths_count, sizeof(*l->paths), routes_compare, l);
    }
    for (uint32_t n = 0; n < g->nodes_count; n++) {
        if (routes_silent(s, n)) {
            continue;
        }
        if (path == l->paths_count || l->nodes[l->paths[path].at] != n) {
            return err_text_set(text, ERR_NOT_FOUND, "no path is left from %s to %s",
                                g->nodes[n].name, g->nodes[s->target].name);
        }
        out->source[out->flows] = n;
        out->first[out->flows++] = path;
        for (; path < l->paths_count && l->nodes[l->paths[path].at] == n; path++) {
            const uint32_t *nodes = l->nodes + l->paths[path].at;
            uint32_t hops = l->paths[path].hops;

            memcpy(out->node + out->at[path], nodes, ((size_t)hops + 1) * sizeof(*nodes));
            for (uint32_t i = 0; i < hops; i++) {
                bool joined = topo_graph_edge(g, nodes[i], nodes[i + 1],
                                              &out->edge[out->at[path] - path + i]);

                CHECK(joined);
            }
            out->at[path + 1] = out->at[path] + hops + 1;
        }
        out->first[out->flows] = path;
    }
    return OK;
}

enum err plan_routes_find(const struct topo_graph *g, const struct plan_routes_rules *rules,
                          uint32_t target, uint32_t k, struct plan_routes *out,
                          struct err_text *text)
{
    struct routes_search s;
    enum err rc = routes_search_init(&s, g, rules, target, k);

    *out = (struct plan_routes){.target = target};
    if (rc == OK) {
        rc = k == 0 ? routes_all(&s) : routes_some(&s);
    }
    if (rc == OK) {
        out->paths = (uint32_t)s.found.paths_count;
        out->source = mem_calloc(g->nodes_count, sizeof(*out->source));
        out->first = mem_calloc((size_t)g->nodes_count + 1, sizeof(*out->first));
        out->at = mem_calloc((size_t)out->paths + 1, sizeof(*out->at));
        out->node = mem_calloc(s.found.nodes_count + 1, sizeof(*out->node));
        out->edge = mem_calloc(s.found.nodes_count + 1, sizeof(*out->edge));
        rc = out->source == NULL || out->first == NULL || out->at == NULL || out->node == NULL ||
                     out->edge == NULL
                 ? ERR_NOMEM
                 : routes_take(&s, out, text);
    }
    if (rc == ERR_TOO_BIG) {
        (void)err_text_set(text, rc, "there are more than %u simple paths to %s",
                           (unsigned)PLAN_ROUTES_ALL_MAX, g->nodes[target].name);
    }
    if (rc != OK) {
        plan_routes_deinit(out);
    }
    routes_search_deinit(&s);
    return rc == ERR_NOMEM ? err_text_set(text, rc, "out of memory") : rc;
}

enum err plan_routes_few(const struct topo_graph *g, const struct plan_routes_rules *rules,
                         uint32_t target, uint32_t limit, bool *few_out)
{
    struct routes_search s;
    enum err rc = routes_search_init(&s, g, rules, target, PLAN_ROUTES_K_MAX);

    if (rc == OK) {
        s.limit = limit;
        s.counting = true;
        rc = routes_all(&s);
    }
    routes_search_deinit(&s);
    *few_out = rc == OK;
    return rc == ERR_TOO_BIG ? OK : rc;
}

void plan_routes_deinit(struct plan_routes *r)
{
    mem_free(r->source);
    mem_free(r->first);
    mem_free(r->at);
    mem_free(r->node);
    mem_free(r->edge);
    *r = (struct plan_routes){0};
}
