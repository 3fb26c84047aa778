/* What a site is told of rounds around a centre. Files number sites as they name them; the sites
 * themselves go by the order of their names. */

#include "run/wan/between.h"

#include <string.h>

static uint32_t central_number(const struct run_file *f, uint32_t site)
{
    uint32_t number = 0;

    for (uint32_t i = 0; i < f->sites_count; i++) {
        number += strcmp(f->sites[i].name, f->sites[site].name) < 0;
    }
    return number;
}

static uint64_t central_bits(const struct run_file *f, uint64_t sites)
{
    uint64_t out = 0;

    for (uint32_t i = 0; i < f->sites_count; i++) {
        out |= (sites >> i & 1) << central_number(f, i);
    }
    return out;
}

static const struct run_join *central_join(const struct run_file *f, uint32_t a, uint32_t b)
{
    const struct run_central *c = &f->between.central;

    for (uint32_t i = 0; i < c->joins_count; i++) {
        if ((c->joins[i].a == a && c->joins[i].b == b) ||
            (c->joins[i].a == b && c->joins[i].b == a)) {
            return &c->joins[i];
        }
    }
    return NULL;
}

double run_between_factor(const struct run_file *f)
{
    return f->topo == NULL ? 1 : f->links.scale * f->links.machines;
}

static void central_plan(const struct run_file *f, struct node_plan *plan)
{
    const struct run_central *c = &f->between.central;

    plan->epoch = 1;
    plan->centre = central_number(f, c->centre);
    for (uint32_t i = 0; i < f->sites_count; i++) {
        const struct run_way *way = &c->ways[i];
        struct node_path *path = &plan->paths[central_number(f, i)];

        plan->active |= UINT64_C(1) << i;
        path->count = way->count;
        path->bytes_per_s =
            (uint64_t)(way->mbps * run_between_factor(f) * 125e3 / (c->shared ? 2 : 1));
        for (uint32_t k = 0; k < way->count; k++) {
            path->sites[k] = central_number(f, way->sites[k]);
            if (k > 0) {
                path->rates[k - 1] = central_join(f, way->sites[k - 1], way->sites[k])->bytes_per_s;
            }
        }
    }
}

void run_between_central(const struct run_file *f, uint32_t site, struct site_link *links,
                         struct node_between *out)
{
    const struct run_central *c = &f->between.central;

    for (uint32_t i = 0; i < c->joins_count; i++) {
        links[i] = (struct site_link){.a = central_number(f, c->joins[i].a),
                                      .b = central_number(f, c->joins[i].b),
                                      .bytes_per_s = c->joins[i].bytes_per_s};
    }
    out->central = true;
    out->links = links;
    out->links_count = c->joins_count;
    out->shared = c->shared;
    out->no_centre = central_bits(f, c->no_centre);
    out->no_relay = central_bits(f, c->no_relay);
    out->reserve = c->reserve;
    out->move_gain = c->move_gain;
    out->change_percent = (uint32_t)(c->replan * 100 + 0.5);
    for (uint32_t i = 0, k = 0; i < f->sites_count; i++) {
        if (i != site) {
            out->others[k++].indirect = central_join(f, site, i) == NULL;
        }
    }
    if (c->centre != RUN_NO_SITE) {
        central_plan(f, &out->plan);
    }
}
