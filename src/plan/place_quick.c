#include "plan/place_quick.h"

#include "base/mem.h"
#include "plan/place_core.h"

#include <math.h>
#include <string.h>

/* Balanced, or everybody's shortest path; the better one, improved. */
static double quick_choose(struct place_core *c, uint32_t *choice, uint32_t *other)
{
    double balanced;
    double shortest;

    memset(other, 0, c->routes.flows * sizeof(*other));
    place_balance(c, choice);
    place_improve(c, choice);
    place_improve(c, other);
    balanced = place_cost_of(c, choice).time_s;
    shortest = place_cost_of(c, other).time_s;
    if (shortest < balanced * (1 - PLACE_SAME)) {
        memcpy(choice, other, c->routes.flows * sizeof(*choice));
        return shortest;
    }
    return balanced;
}

/* One server; infinite if it cannot be reached. */
static enum err quick_try(const struct plan_place_problem *p, uint32_t server, uint32_t *choice,
                          uint32_t *other, struct place_core *c, double *time_s_out)
{
    enum err rc = place_core_init(c, p, server, NULL);

    *time_s_out = INFINITY;
    if (rc == OK) {
        *time_s_out = quick_choose(c, choice, other);
    }
    return rc == ERR_NOT_FOUND ? OK : rc;
}

static enum err quick_best(const struct plan_place_problem *p, uint32_t stay, double gain,
                           uint32_t *choice, uint32_t *other, struct plan_quick *out)
{
    enum err rc = OK;

    out->server = PLAN_PLACE_NOWHERE;
    out->time_s = INFINITY;
    out->kept_s = INFINITY;
    for (uint32_t n = 0; n < p->graph->nodes_count && rc == OK; n++) {
        struct place_core c;
        double time_s;

        if (!place_may_serve(p, n)) {
            continue;
        }
        rc = quick_try(p, n, choice, other, &c, &time_s);
        if (time_s < INFINITY) {
            place_core_deinit(&c);
        }
        out->kept_s = n == stay ? time_s : out->kept_s;
        if (time_s < out->time_s * (1 - PLACE_SAME)) {
            out->time_s = time_s;
            out->server = n;
        }
    }
    if (out->kept_s < INFINITY && out->time_s >= out->kept_s * (1 - gain - PLACE_SAME)) {
        out->server = stay;
        out->time_s = out->kept_s;
    }
    return rc;
}

static enum err quick_take(const struct plan_place_problem *p, uint32_t *choice, uint32_t *other,
                           struct plan_quick *out)
{
    struct place_core c;
    double time_s;
    enum err rc = quick_try(p, out->server, choice, other, &c, &time_s);

    if (rc != OK) {
        return rc;
    }
    out->flows = mem_calloc((size_t)c.routes.flows + 1, sizeof(*out->flows));
    if (out->flows == NULL) {
        place_core_deinit(&c);
        return ERR_NOMEM;
    }
    out->flows_count = c.routes.flows;
    place_flows(&c, choice, out->flows);
    for (uint32_t f = 0; f < out->flows_count; f++) {
        double weight = p->model == PLAN_PLACE_HOPS ? out->flows[f].hops : 1;

        out->flows[f].mbps = place_factor(p) * weight * p->bytes / time_s / 125e3;
    }
    out->routes = c.routes;
    c.routes = (struct plan_routes){0};
    place_core_deinit(&c);
    return OK;
}

enum err plan_place_quick(const struct plan_place_problem *problem, uint32_t stay, double gain,
                          struct plan_quick *out, struct err_text *text)
{
    struct plan_place_problem p = *problem;
    uint32_t *choice = mem_calloc((size_t)p.graph->nodes_count + 1, sizeof(*choice));
    uint32_t *other = mem_calloc((size_t)p.graph->nodes_count + 1, sizeof(*other));
    enum err rc = choice == NULL || other == NULL ? ERR_NOMEM : OK;

    *out = (struct plan_quick){0};
    p.paths = p.paths == PLAN_PLACE_AUTO ? PLAN_QUICK_PATHS : p.paths;
    p.goal = PLAN_PLACE_TIME;
    p.usd_limit = 0;
    if (rc == OK) {
        rc = quick_best(&p, stay, gain, choice, other, out);
    }
    if (rc == OK && out->server == PLAN_PLACE_NOWHERE) {
        rc = err_text_set(text, ERR_NOT_FOUND,
                          "no region can be reached from all others: too much is ruled out");
    }
    if (rc == OK) {
        rc = quick_take(&p, choice, other, out);
    }
    mem_free(choice);
    mem_free(other);
    return rc == ERR_NOMEM ? err_text_set(text, rc, "out of memory") : rc;
}

void plan_quick_deinit(struct plan_quick *q)
{
    mem_free(q->flows);
    plan_routes_deinit(&q->routes);
    *q = (struct plan_quick){0};
}
