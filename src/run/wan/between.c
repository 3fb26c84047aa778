#include "run/wan/between.h"

#include "base/mem.h"
#include "run/backend.h"
#include "run/wan/library.h"

#include <stdio.h>
#include <string.h>

struct run_betweens {
    uint32_t count;
    struct node_between *each;
    struct node_other_site *others; /* count - 1 of each. */
    struct node_hubs *hubs;         /* The same for all, as are */
    struct site_link *links;        /* these. */
    struct codec_filter filter;     /* Likewise. */
    struct run_library *library;    /* NULL: none is needed. */
};

uint64_t run_between_budget(const struct run_file *f, uint32_t site)
{
    double lanes = (double)f->sites_count * f->lanes;
    double bytes = f->budget.max_gb * 1e9 / lanes;
    uint64_t dearest = 0;

    for (uint32_t i = 0; i < f->sites_count; i++) {
        const struct topo_link *link =
            topo_link_between(f->topo, f->sites[site].region, f->sites[i].region);

        if (i != site && link != NULL && link->price_nusd_per_gb > dearest) {
            dearest = link->price_nusd_per_gb;
        }
    }
    if (f->budget.max_usd > 0 && dearest > 0) {
        double bought = f->budget.max_usd * 1e9 / (double)dearest * 1e9 / lanes;

        bytes = bytes > 0 && bytes < bought ? bytes : bought;
    }
    bytes *= f->links.scale;
    return bytes <= 0 ? 0 : bytes < 1 ? 1 : bytes > 1e18 ? (uint64_t)1e18 : (uint64_t)bytes;
}

static void between_hubs(struct run_betweens *b, const struct run_file *f)
{
    struct node_hubs *h = b->hubs;

    for (uint32_t c = 0; c < f->between.circles_count; c++) {
        const struct run_circle *circle = &f->between.circles[c];

        for (uint32_t i = 0; i < circle->hubs_count; i++, h++) {
            *h = (struct node_hubs){
                .from = c, .to = circle->hubs[i].to, .count = circle->hubs[i].count};
            for (uint32_t k = 0; k < h->count; k++) {
                (void)snprintf(h->sites[k], sizeof(h->sites[k]), "%s",
                               f->sites[circle->hubs[i].sites[k]].name);
            }
        }
    }
}

static void between_site(struct run_betweens *b, const struct run_file *f, uint32_t index,
                         run_between_place *place, void *user)
{
    const struct run_between *said = &f->between;
    struct node_between *n = &b->each[index];
    uint32_t hubs = 0;

    for (uint32_t c = 0; c < said->circles_count; c++) {
        hubs += said->circles[c].hubs_count;
    }
    node_between_init(n);
    n->others = &b->others[(size_t)index * (b->count - 1)];
    n->group = f->sites[index].circle;
    n->groups = said->circles_count;
    n->hubs = b->hubs;
    n->hubs_count = hubs;
    n->filter = b->filter;
    n->threshold = (float)said->threshold;
    n->goal = said->goal;
    n->budget_bytes = f->topo == NULL ? 0 : run_between_budget(f, index);
    n->clocks = f->stop.clocks;
    n->staleness = said->staleness;
    n->fresh = said->fresh;
    n->barrier = said->barrier;
    n->mean = said->weight == RUN_MEAN;
    n->away_ns = said->away_ns;
    n->majority = said->leave_out == RUN_MAJORITY;
    n->streams = (uint16_t)said->streams;
    for (uint32_t i = 0; i < f->sites_count; i++) {
        struct node_other_site *o = &n->others[n->others_count];

        if (i != index) {
            (void)snprintf(o->name, sizeof(o->name), "%s", f->sites[i].name);
            o->group = f->sites[i].circle;
            place(f, i, &o->first, user);
            n->others_count++;
        }
    }
    if (said->preset == RUN_CENTRAL) {
        run_between_central(f, index, b->links, n);
    }
}

/* Room for all of it; for one site there is nothing to be made. */
static enum err between_alloc(struct run_betweens *b, const struct run_file *f)
{
    uint32_t hubs = 0;

    for (uint32_t c = 0; c < f->between.circles_count; c++) {
        hubs += f->between.circles[c].hubs_count;
    }
    b->count = f->sites_count;
    b->each = mem_calloc(b->count, sizeof(*b->each));
    b->others = mem_calloc((size_t)b->count * (b->count - 1), sizeof(*b->others));
    b->hubs = mem_calloc(hubs == 0 ? 1 : hubs, sizeof(*b->hubs));
    b->links = mem_calloc((size_t)f->between.central.joins_count + 1, sizeof(*b->links));
    return b->each == NULL || b->others == NULL || b->hubs == NULL || b->links == NULL ? ERR_NOMEM
                                                                                       : OK;
}

enum err run_betweens_create(const struct run_file *f, run_between_place *place, void *user,
                             struct run_betweens **out, struct err_text *text)
{
    struct run_betweens *b = mem_zalloc(sizeof(*b));
    enum err rc = b == NULL ? ERR_NOMEM : OK;

    if (rc == OK && f->sites_count > 1) {
        rc = between_alloc(b, f);
    }
    if (rc == OK && f->sites_count > 1) {
        between_hubs(b, f);
        b->filter = f->between.filter;
    }
    if (rc == OK && b->filter.measure == CODEC_CUSTOM) {
        rc = run_library_open(f->between.library, &b->filter, &b->library, text);
    }
    for (uint32_t i = 0; rc == OK && i < b->count; i++) {
        struct node_site site;

        between_site(b, f, i, place, user);
        run_site(f, i, &site);
        rc = node_between_check(&b->each[i], &site, text);
    }
    if (rc != OK) {
        run_betweens_destroy(b);
        return rc;
    }
    *out = b;
    return OK;
}

void run_betweens_destroy(struct run_betweens *b)
{
    if (b != NULL) {
        mem_free(b->each);
        mem_free(b->others);
        mem_free(b->hubs);
        mem_free(b->links);
        run_library_close(b->library);
        mem_free(b);
    }
}

const struct node_between *run_between_at(const struct run_betweens *b, uint32_t site)
{
    CHECK(b->count == 0 || site < b->count);
    return b->count == 0 ? NULL : &b->each[site];
}
