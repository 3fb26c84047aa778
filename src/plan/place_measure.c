/* What a plan takes, from its paths and the links alone. Shares nothing with those who search, so
 * that what they report can be checked. */

#include "base/mem.h"
#include "plan/place_core.h"

#include <math.h>

/* A path from the flow's node to the server that meets nobody twice and uses what may be used. */
static bool measure_path(const struct plan_place_problem *p, uint32_t server,
                         const struct plan_place_flow *f)
{
    const struct topo_graph *g = p->graph;

    if (f->hops == 0 || f->nodes[0] != f->from || f->nodes[f->hops] != server) {
        return false;
    }
    for (uint32_t i = 0; i < f->hops; i++) {
        const struct topo_edge *e = &g->edges[f->edges[i]];
        bool joins = (e->a == f->nodes[i] && e->b == f->nodes[i + 1]) ||
                     (e->b == f->nodes[i] && e->a == f->nodes[i + 1]);

        if (!joins || (p->no_edge != NULL && p->no_edge[f->edges[i]]) ||
            (i > 0 && p->no_relay != NULL && p->no_relay[f->nodes[i]])) {
            return false;
        }
        for (uint32_t k = 0; k < i; k++) {
            if (f->nodes[k] == f->nodes[i]) {
                return false;
            }
        }
    }
    return true;
}

static double *measure_room(const struct plan_place_problem *p)
{
    return mem_calloc((size_t)p->graph->edges_count * 2, sizeof(double));
}

/* Sum of weights, or of rates, per resource. */
static void measure_loads(const struct plan_place_problem *p, const struct plan_place_flow *flows,
                          uint32_t flows_count, bool rates, double *load)
{
    for (uint32_t f = 0; f < flows_count; f++) {
        double weight = p->model == PLAN_PLACE_HOPS ? flows[f].hops : 1;

        for (uint32_t i = 0; i < flows[f].hops; i++) {
            load[place_resource(p, flows[f].nodes[i], flows[f].edges[i])] +=
                rates ? flows[f].mbps : weight;
        }
    }
}

/* Every node that sends has one flow, and nobody else. */
static bool measure_flows(const struct plan_place_problem *p, uint32_t server,
                          const struct plan_place_flow *flows, uint32_t flows_count)
{
    uint32_t f = 0;

    for (uint32_t n = 0; n < p->graph->nodes_count; n++) {
        if (n == server || (p->silent != NULL && p->silent[n])) {
            continue;
        }
        if (f == flows_count || flows[f].from != n || !measure_path(p, server, &flows[f])) {
            return false;
        }
        f++;
    }
    return f == flows_count;
}

bool place_measure(const struct plan_place_problem *p, uint32_t server,
                   struct plan_place_flow *flows, uint32_t flows_count, double *load,
                   double *time_s_out, double *usd_out)
{
    const struct topo_graph *g = p->graph;
    double factor = p->duplex == TOPO_DUPLEX_FULL && p->model == PLAN_PLACE_PIPELINED ? 1 : 2;
    double usd_per_hour = g->nodes[server].usd_per_hour;

    if (!measure_flows(p, server, flows, flows_count)) {
        return false;
    }
    measure_loads(p, flows, flows_count, false, load);
    *time_s_out = 0;
    *usd_out = 0;
    for (uint32_t f = 0; f < flows_count; f++) {
        for (uint32_t i = 0; i < flows[f].hops; i++) {
            const struct topo_edge *e = &g->edges[flows[f].edges[i]];
            double weight = load[place_resource(p, flows[f].nodes[i], flows[f].edges[i])];
            double bytes_per_s = e->mbps * 1e6 / 8 * (1 - p->reserve);

            *time_s_out = fmax(*time_s_out, factor * weight * p->bytes / bytes_per_s);
            *usd_out = e->usd_per_gb < 0 || *usd_out < 0
                           ? -1
                           : *usd_out + 2 * p->bytes * 1e-9 * e->usd_per_gb;
        }
    }
    *usd_out += *usd_out < 0 || usd_per_hour < 0 ? 0 : usd_per_hour / 3600 * *time_s_out;
    for (uint32_t f = 0; f < flows_count; f++) {
        double weight = p->model == PLAN_PLACE_HOPS ? flows[f].hops : 1;

        flows[f].mbps = factor * weight * p->bytes * 8e-6 / *time_s_out;
    }
    return true;
}

bool plan_place_measure(const struct plan_place_problem *p, uint32_t server,
                        struct plan_place_flow *flows, uint32_t flows_count, double *time_s_out,
                        double *usd_out)
{
    double *load = measure_room(p);
    bool measured =
        load != NULL && place_measure(p, server, flows, flows_count, load, time_s_out, usd_out);

    mem_free(load);
    return measured;
}

void plan_place_loads(const struct plan_place_problem *p, const struct plan_place_flow *flows,
                      uint32_t flows_count, double *mbps_out)
{
    const struct topo_graph *g = p->graph;
    double *load = measure_room(p);

    if (load != NULL) {
        measure_loads(p, flows, flows_count, true, load);
    }
    for (uint32_t e = 0; e < g->edges_count; e++) {
        mbps_out[e] = load == NULL ? 0
                                   : fmax(load[place_resource(p, g->edges[e].a, e)],
                                          load[place_resource(p, g->edges[e].b, e)]);
    }
    mem_free(load);
}
