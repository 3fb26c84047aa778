#include "plan/place_model.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

double place_model_cost(const struct place_model *m, uint32_t path)
{
    return m->core->problem->goal == PLAN_PLACE_DOLLARS ? m->core->usd[path] / m->money : 0;
}

/* No choice is quicker than the best path of the flow that has it hardest. */
static void model_scale(struct place_model *m)
{
    struct place_core *c = m->core;
    double dearest = 0;

    for (uint32_t f = 0; f < c->routes.flows; f++) {
        double quickest = INFINITY;

        for (uint32_t path = c->routes.first[f]; path < c->routes.first[f + 1]; path++) {
            quickest = fmin(quickest, place_alone(c, path));
            dearest = fmax(dearest, c->usd == NULL ? 0 : c->usd[path]);
        }
        m->unit = fmax(m->unit, quickest);
    }
    m->money = dearest > 0 ? dearest : 1;
    m->time_cost = c->problem->goal == PLAN_PLACE_TIME ? 1 : c->usd_per_s * m->unit / m->money;
}

static enum err model_take(struct place_model *m, struct place_core *c)
{
    const struct plan_routes *r = &c->routes;
    size_t hops = r->at[r->paths] - (size_t)r->paths;
    size_t entries = hops + 2 * (size_t)r->paths + c->resources + 1;

    *m = (struct place_model){.core = c, .columns = (int)r->paths + 1};
    m->row = mem_calloc(c->resources, sizeof(*m->row));
    m->start = mem_calloc((size_t)m->columns + 1, sizeof(*m->start));
    m->index = mem_calloc(entries, sizeof(*m->index));
    m->value = mem_calloc(entries, sizeof(*m->value));
    m->cost = mem_calloc((size_t)m->columns, sizeof(*m->cost));
    m->most = mem_calloc((size_t)m->columns, sizeof(*m->most));
    if (m->row == NULL || m->start == NULL || m->index == NULL || m->value == NULL ||
        m->cost == NULL || m->most == NULL) {
        return ERR_NOMEM;
    }
    memset(m->row, 0xff, c->resources * sizeof(*m->row));
    for (size_t i = 0; i < hops; i++) {
        if (m->row[c->resource[i]] < 0) {
            m->row[c->resource[i]] = m->links++;
        }
    }
    m->rows = m->links + (int)r->flows + (c->problem->usd_limit > 0);
    m->row_least = mem_calloc((size_t)m->rows, sizeof(*m->row_least));
    m->row_most = mem_calloc((size_t)m->rows, sizeof(*m->row_most));
    if (m->row_least == NULL || m->row_most == NULL) {
        return ERR_NOMEM;
    }
    return OK;
}

void place_model_deinit(struct place_model *m)
{
    mem_free(m->row);
    mem_free(m->start);
    mem_free(m->index);
    mem_free(m->value);
    mem_free(m->cost);
    mem_free(m->most);
    mem_free(m->row_least);
    mem_free(m->row_most);
    *m = (struct place_model){0};
}

static void model_entry(struct place_model *m, int *at, int row, double value)
{
    m->index[*at] = row;
    m->value[(*at)++] = value;
}

static void model_fill_path(struct place_model *m, uint32_t flow, uint32_t path, int *at)
{
    struct place_core *c = m->core;
    const uint32_t *resource = place_resources(c, path);
    double weight = place_weight(c, path) / m->unit;

    m->start[path] = *at;
    for (uint32_t i = 0; i < plan_routes_hops(&c->routes, path); i++) {
        model_entry(m, at, m->row[resource[i]], weight * c->seconds[resource[i]]);
    }
    model_entry(m, at, m->links + (int)flow, 1);
    if (c->problem->usd_limit > 0) {
        model_entry(m, at, m->rows - 1, c->usd[path] / m->money);
    }
    m->cost[path] = place_model_cost(m, path);
    m->most[path] = 1;
}

static void model_fill(struct place_model *m)
{
    struct place_core *c = m->core;
    uint32_t last = c->routes.paths;
    int at = 0;

    for (uint32_t f = 0; f < c->routes.flows; f++) {
        for (uint32_t path = c->routes.first[f]; path < c->routes.first[f + 1]; path++) {
            model_fill_path(m, f, path, &at);
        }
    }
    m->start[last] = at;
    for (int i = 0; i < m->links; i++) {
        model_entry(m, &at, i, -1);
        m->row_least[i] = -INFINITY;
    }
    for (uint32_t f = 0; f < c->routes.flows; f++) {
        m->row_least[m->links + (int)f] = 1;
        m->row_most[m->links + (int)f] = 1;
    }
    if (c->problem->usd_limit > 0) {
        model_entry(m, &at, m->rows - 1, c->usd_per_s * m->unit / m->money);
        m->row_least[m->rows - 1] = -INFINITY;
        m->row_most[m->rows - 1] = c->problem->usd_limit / m->money;
    }
    m->start[last + 1] = at;
    m->cost[last] = m->time_cost;
    m->most[last] = INFINITY;
}

enum err place_model_init(struct place_model *m, struct place_core *c)
{
    enum err rc = model_take(m, c);

    if (rc != OK) {
        place_model_deinit(m);
        return rc;
    }
    model_scale(m);
    model_fill(m);
    return OK;
}
