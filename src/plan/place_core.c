#include "plan/place_core.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

double place_factor(const struct plan_place_problem *p)
{
    return p->duplex == TOPO_DUPLEX_FULL && p->model == PLAN_PLACE_PIPELINED ? 1 : 2;
}

bool place_priced(const struct plan_place_problem *p)
{
    return p->goal == PLAN_PLACE_DOLLARS || p->usd_limit > 0;
}

uint32_t place_resource(const struct plan_place_problem *p, uint32_t from, uint32_t edge)
{
    return p->duplex == TOPO_DUPLEX_SHARED ? edge : 2 * edge + (p->graph->edges[edge].a != from);
}

double place_seconds(const struct plan_place_problem *p, uint32_t edge)
{
    double bytes_per_s = p->graph->edges[edge].mbps * 125e3 * (1 - p->reserve);

    return place_factor(p) * p->bytes / bytes_per_s;
}

static void place_fill_seconds(struct place_core *c)
{
    const struct topo_graph *g = c->problem->graph;

    for (uint32_t e = 0; e < g->edges_count; e++) {
        c->seconds[place_resource(c->problem, g->edges[e].a, e)] = place_seconds(c->problem, e);
        c->seconds[place_resource(c->problem, g->edges[e].b, e)] = place_seconds(c->problem, e);
    }
}

static void place_fill_paths(struct place_core *c)
{
    const struct plan_routes *r = &c->routes;

    for (uint32_t path = 0; path < r->paths; path++) {
        const uint32_t *node = plan_routes_nodes(r, path);
        const uint32_t *edge = plan_routes_edges(r, path);
        uint32_t *resource = c->resource + (r->at[path] - path);
        double usd_per_gb = 0;

        for (uint32_t i = 0; i < plan_routes_hops(r, path); i++) {
            resource[i] = place_resource(c->problem, node[i], edge[i]);
            usd_per_gb += c->problem->graph->edges[edge[i]].usd_per_gb;
        }
        if (c->usd != NULL) {
            c->usd[path] = 2 * c->problem->bytes * 1e-9 * usd_per_gb;
        }
    }
}

enum err place_core_init(struct place_core *c, const struct plan_place_problem *p, uint32_t server,
                         struct err_text *text)
{
    const struct plan_routes_rules rules = {
        .silent = p->silent, .no_relay = p->no_relay, .no_edge = p->no_edge};
    double usd_per_hour = p->graph->nodes[server].usd_per_hour;
    enum err rc;

    *c = (struct place_core){.problem = p};
    rc = plan_routes_find(p->graph, &rules, server, p->paths, &c->routes, text);
    if (rc != OK) {
        return rc;
    }
    c->resources = p->graph->edges_count * (p->duplex == TOPO_DUPLEX_SHARED ? 1 : 2);
    c->resource = mem_calloc((size_t)c->routes.at[c->routes.paths] + 1, sizeof(*c->resource));
    c->seconds = mem_calloc(c->resources, sizeof(*c->seconds));
    c->load = mem_calloc(c->resources, sizeof(*c->load));
    c->usd = place_priced(p) ? mem_calloc((size_t)c->routes.paths + 1, sizeof(*c->usd)) : NULL;
    if (c->resource == NULL || c->seconds == NULL || c->load == NULL ||
        (c->usd == NULL && place_priced(p))) {
        place_core_deinit(c);
        return err_text_set(text, ERR_NOMEM, "out of memory");
    }
    c->usd_per_s = place_priced(p) && usd_per_hour > 0 ? usd_per_hour / 3600 : 0;
    place_fill_seconds(c);
    place_fill_paths(c);
    return OK;
}

void place_core_deinit(struct place_core *c)
{
    plan_routes_deinit(&c->routes);
    mem_free(c->resource);
    mem_free(c->seconds);
    mem_free(c->load);
    mem_free(c->usd);
    *c = (struct place_core){0};
}

double place_alone(const struct place_core *c, uint32_t path)
{
    const uint32_t *resource = place_resources(c, path);
    double longest = 0;

    for (uint32_t i = 0; i < plan_routes_hops(&c->routes, path); i++) {
        longest = fmax(longest, c->seconds[resource[i]]);
    }
    return longest * place_weight(c, path);
}

/* Put the path's weight on its links, or with a sign take it off; return the longest time there. */
static double place_add(struct place_core *c, uint32_t path, double sign)
{
    const uint32_t *resource = place_resources(c, path);
    double weight = sign * place_weight(c, path);
    double longest = 0;

    for (uint32_t i = 0; i < plan_routes_hops(&c->routes, path); i++) {
        c->load[resource[i]] += weight;
        longest = fmax(longest, c->load[resource[i]] * c->seconds[resource[i]]);
    }
    return longest;
}

struct place_cost place_cost_of(struct place_core *c, const uint32_t *choice)
{
    const struct plan_place_problem *p = c->problem;
    struct place_cost cost = {.usd = -1};
    double usd = 0;

    for (uint32_t f = 0; f < c->routes.flows; f++) {
        uint32_t path = c->routes.first[f] + choice[f];

        cost.time_s = fmax(cost.time_s, place_add(c, path, 1));
        usd += c->usd == NULL ? 0 : c->usd[path];
    }
    for (uint32_t f = 0; f < c->routes.flows; f++) {
        (void)place_add(c, c->routes.first[f] + choice[f], -1);
    }
    if (c->usd != NULL) {
        cost.usd = usd + c->usd_per_s * cost.time_s;
    }
    cost.value = p->goal == PLAN_PLACE_TIME ? cost.time_s : cost.usd;
    if (p->usd_limit > 0 && cost.usd > p->usd_limit * (1 + PLACE_SAME)) {
        cost.value = INFINITY;
    }
    return cost;
}

/* Is there a path for @flow, now at @path and off the links, which nowhere takes as long as
 * @time_s? Return the one whose slowest link is quickest, or @path. */
static uint32_t place_better(struct place_core *c, uint32_t flow, uint32_t path, double time_s)
{
    uint32_t best = path;

    for (uint32_t q = c->routes.first[flow]; q < c->routes.first[flow + 1]; q++) {
        const uint32_t *resource = place_resources(c, q);
        double weight = place_weight(c, q);
        double longest = 0;

        for (uint32_t i = 0; i < plan_routes_hops(&c->routes, q) && longest < time_s; i++) {
            longest = fmax(longest, (c->load[resource[i]] + weight) * c->seconds[resource[i]]);
        }
        if (longest < time_s * (1 - PLACE_SAME)) {
            time_s = longest;
            best = q;
        }
    }
    return best;
}

static bool place_uses(const struct place_core *c, uint32_t path, uint32_t resource)
{
    const uint32_t *own = place_resources(c, path);
    uint32_t hops = plan_routes_hops(&c->routes, path);

    for (uint32_t i = 0; i < hops; i++) {
        if (own[i] == resource) {
            return true;
        }
    }
    return false;
}

/* The slowest resource, with its time. */
static uint32_t place_slowest(const struct place_core *c, double *time_s_out)
{
    uint32_t slowest = 0;

    *time_s_out = 0;
    for (uint32_t r = 0; r < c->resources; r++) {
        if (c->load[r] * c->seconds[r] > *time_s_out) {
            *time_s_out = c->load[r] * c->seconds[r];
            slowest = r;
        }
    }
    return slowest;
}

/* Each move takes a flow off the slowest link and makes no other as slow as that one was, so the
 * times of all links in falling order only get smaller: it comes to an end. */
void place_improve(struct place_core *c, uint32_t *choice)
{
    bool moved = true;

    for (uint32_t f = 0; f < c->routes.flows; f++) {
        (void)place_add(c, c->routes.first[f] + choice[f], 1);
    }
    while (moved) {
        double time_s;
        uint32_t slowest = place_slowest(c, &time_s);

        moved = false;
        for (uint32_t f = 0; f < c->routes.flows && !moved; f++) {
            uint32_t path = c->routes.first[f] + choice[f];
            uint32_t better;

            if (place_uses(c, path, slowest)) {
                (void)place_add(c, path, -1);
                better = place_better(c, f, path, time_s);
                (void)place_add(c, better, 1);
                choice[f] = better - c->routes.first[f];
                moved = better != path;
            }
        }
    }
    for (uint32_t f = 0; f < c->routes.flows; f++) {
        (void)place_add(c, c->routes.first[f] + choice[f], -1);
    }
}

bool place_may_serve(const struct plan_place_problem *p, uint32_t node)
{
    return (p->server == PLAN_PLACE_NOWHERE || p->server == node) &&
           (p->no_server == NULL || !p->no_server[node]);
}

void place_balance(struct place_core *c, uint32_t *choice)
{
    for (uint32_t f = 0; f < c->routes.flows; f++) {
        double least = INFINITY;
        const uint32_t *resource;

        for (uint32_t q = c->routes.first[f]; q < c->routes.first[f + 1]; q++) {
            double fullest = 0;

            resource = place_resources(c, q);
            for (uint32_t i = 0; i < plan_routes_hops(&c->routes, q); i++) {
                fullest = fmax(fullest, (c->load[resource[i]] + 1) * c->seconds[resource[i]]);
            }
            if (fullest < least * (1 - PLACE_SAME)) {
                least = fullest;
                choice[f] = q - c->routes.first[f];
            }
        }
        resource = place_resources(c, c->routes.first[f] + choice[f]);
        for (uint32_t i = 0; i < plan_routes_hops(&c->routes, c->routes.first[f] + choice[f]);
             i++) {
            c->load[resource[i]] += 1;
        }
    }
    memset(c->load, 0, c->resources * sizeof(*c->load));
}

/* The flows that take the paths @choice; @flows has room for all. */
void place_flows(const struct place_core *c, const uint32_t *choice, struct plan_place_flow *flows)
{
    for (uint32_t f = 0; f < c->routes.flows; f++) {
        uint32_t path = c->routes.first[f] + choice[f];

        flows[f] = (struct plan_place_flow){
            .from = c->routes.source[f],
            .hops = plan_routes_hops(&c->routes, path),
            .nodes = plan_routes_nodes(&c->routes, path),
            .edges = plan_routes_edges(&c->routes, path),
        };
    }
}
