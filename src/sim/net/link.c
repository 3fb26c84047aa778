#include "sim/net/link.h"

#include "base/mem.h"
#include "sim/world_state.h"

#include <stdio.h>
#include <string.h>

#define SIM_RTO_MIN_NS INT64_C(200000000) /* What a lost segment costs at least. */

/* What both directions carry together: as much as the one that has more left of its rate. */
static void sim_link_apply_shared(struct sim_world *w, const struct sim_link *link)
{
    uint64_t there, back;

    if (link->shares == NULL) {
        return;
    }
    there = sim_fabric_link_capacity(w->fabric, link->fabric_id);
    back = sim_fabric_link_capacity(w->fabric, link->shares->fabric_id);
    CHECK(sim_fabric_link_set(w->fabric, link->shared_id, there > back ? there : back, w->now_ns) ==
          OK);
}

static enum err sim_link_open(struct sim_world *w, struct sim_region *from, struct sim_region *to,
                              const struct sim_link_config *config)
{
    struct sim_link *link = &from->links[to->index];
    enum err rc;

    if (link->joined) {
        rc = sim_fabric_link_set(w->fabric, link->fabric_id, config->bytes_per_s, w->now_ns);
        if (rc == OK) {
            link->config = *config;
            sim_link_apply_shared(w, link);
        }
        return rc;
    }
    rc = sim_fabric_link_add(w->fabric, config->bytes_per_s, &link->fabric_id);
    if (rc == OK) {
        link->from = from;
        link->to = to;
        link->config = *config;
        link->joined = true;
        link->rng = rng_fork(&w->rng, ((uint64_t)from->index << 32) | to->index);
    }
    return rc;
}

enum err sim_region_create(struct sim_world *w, const char *name, struct sim_region **region_out)
{
    struct sim_link_config lan = {.bytes_per_s = w->config.lan_rate,
                                  .delay_ns = w->config.lan_delay_ns};
    struct sim_region *region;
    enum err rc;

    if (w->regions_count == SIM_REGIONS_MAX || strlen(name) >= SIM_NAME_BYTES) {
        return ERR_TOO_BIG;
    }
    if (sim_world_region(w, name) != NULL) {
        return ERR_EXISTS;
    }
    region = mem_zalloc(sizeof(*region));
    if (region == NULL) {
        return ERR_NOMEM;
    }
    region->world = w;
    region->index = w->regions_count;
    (void)snprintf(region->name, sizeof(region->name), "%s", name);
    rc = sim_link_open(w, region, region, &lan);
    if (rc != OK) {
        mem_free(region);
        return rc;
    }
    w->regions[w->regions_count++] = region;
    *region_out = region;
    return OK;
}

struct sim_region *sim_world_region(struct sim_world *w, const char *name)
{
    for (uint32_t i = 0; i < w->regions_count; i++) {
        if (strcmp(w->regions[i]->name, name) == 0) {
            return w->regions[i];
        }
    }
    return NULL;
}

struct sim_region *sim_world_region_at(struct sim_world *w, uint32_t index)
{
    return index < w->regions_count ? w->regions[index] : NULL;
}

uint32_t sim_world_regions(const struct sim_world *w)
{
    return w->regions_count;
}

const char *sim_region_name(const struct sim_region *region)
{
    return region->name;
}

enum err sim_link_set(struct sim_world *w, struct sim_region *a, struct sim_region *b,
                      const struct sim_link_config *config)
{
    enum err rc = sim_link_open(w, a, b, config);

    return rc == OK && a != b ? sim_link_open(w, b, a, config) : rc;
}

enum err sim_link_set_one(struct sim_world *w, struct sim_region *from, struct sim_region *to,
                          const struct sim_link_config *config)
{
    return sim_link_open(w, from, to, config);
}

enum err sim_link_share(struct sim_world *w, struct sim_region *a, struct sim_region *b)
{
    struct sim_link *there = sim_link_between(w, a, b), *back = sim_link_between(w, b, a);
    sim_link_id shared;
    enum err rc;

    if (a == b || there == NULL || back == NULL || there->pipes + back->pipes > 0) {
        return ERR_INVALID;
    }
    if (there->shares != NULL) {
        return OK;
    }
    rc = sim_fabric_link_add(w->fabric, there->config.bytes_per_s, &shared);
    if (rc == OK) {
        there->shares = back;
        back->shares = there;
        there->shared_id = back->shared_id = shared;
        sim_link_apply_shared(w, there);
    }
    return rc;
}

struct sim_link *sim_link_between(struct sim_world *w, const struct sim_region *a,
                                  const struct sim_region *b)
{
    struct sim_link *link = &w->regions[a->index]->links[b->index];

    return link->joined ? link : NULL;
}

const struct sim_link_config *sim_link_config(const struct sim_link *link)
{
    return &link->config;
}

const struct sim_region *sim_link_from(const struct sim_link *link)
{
    return link->from;
}

const struct sim_region *sim_link_to(const struct sim_link *link)
{
    return link->to;
}

uint32_t sim_link_path(const struct sim_link *link, const struct sim_host *from,
                       const struct sim_host *to, sim_link_id path[SIM_FABRIC_PATH_LINKS_MAX])
{
    uint32_t count = 0;

    path[count++] = from->egress;
    path[count++] = link->fabric_id;
    if (link->shares != NULL) {
        path[count++] = link->shared_id;
    }
    path[count++] = to->ingress;
    return count;
}

/* The rate that is left by the faults in force. */
static void sim_link_apply_rate(struct sim_world *w, struct sim_link *link)
{
    uint64_t rate = link->config.bytes_per_s;
    uint32_t ppm = 1000000;

    for (uint32_t i = 0; i < link->slows_count; i++) {
        ppm = link->slows[i] < ppm ? link->slows[i] : ppm;
    }
    rate = rate / 1000000 * ppm + rate % 1000000 * ppm / 1000000;
    if (rate == 0) {
        rate = 1;
    }
    CHECK(sim_fabric_link_set(w->fabric, link->fabric_id, link->cuts > 0 ? 0 : rate, w->now_ns) ==
          OK);
    sim_link_apply_shared(w, link);
}

void sim_link_cut(struct sim_world *w, struct sim_link *link)
{
    link->cuts++;
    sim_link_apply_rate(w, link);
}

void sim_link_heal(struct sim_world *w, struct sim_link *link)
{
    struct sim_waiter *waiters;

    CHECK(link->cuts > 0);
    if (--link->cuts > 0) {
        return;
    }
    sim_link_apply_rate(w, link);
    waiters = link->waiters;
    link->waiters = NULL;
    while (waiters != NULL) {
        struct sim_waiter *waiter = waiters;

        waiters = waiter->next;
        waiter->waiting = false;
        waiter->healed(waiter, w);
    }
}

bool sim_link_is_cut(const struct sim_link *link)
{
    return link->cuts > 0;
}

void sim_link_slow(struct sim_world *w, struct sim_link *link, uint32_t ppm)
{
    if (link->slows_count < SIM_SLOWS_MAX) {
        link->slows[link->slows_count++] = ppm;
        sim_link_apply_rate(w, link);
    }
}

void sim_link_unslow(struct sim_world *w, struct sim_link *link, uint32_t ppm)
{
    for (uint32_t i = 0; i < link->slows_count; i++) {
        if (link->slows[i] == ppm) {
            link->slows[i] = link->slows[--link->slows_count];
            sim_link_apply_rate(w, link);
            return;
        }
    }
}

void sim_link_delay(struct sim_link *link, int64_t extra_ns)
{
    link->extra_delay_ns += extra_ns;
    CHECK(link->extra_delay_ns >= 0);
}

void sim_link_lose(struct sim_link *link, int32_t ppm)
{
    int64_t sum = (int64_t)link->extra_loss_ppm + ppm;

    CHECK(sum >= 0);
    link->extra_loss_ppm = (uint32_t)sum;
}

int64_t sim_link_travel_ns(struct sim_world *w, struct sim_link *link)
{
    int64_t delay_ns = link->config.delay_ns + link->extra_delay_ns;
    uint32_t loss_ppm = link->config.loss_ppm + link->extra_loss_ppm;

    (void)w;
    if (link->config.jitter_ns > 0) {
        delay_ns += rng_between(&link->rng, 0, link->config.jitter_ns);
    }
    if (loss_ppm > 0 && rng_chance(&link->rng, loss_ppm)) {
        int64_t rto_ns = 2 * (link->config.delay_ns + link->extra_delay_ns);

        delay_ns += rto_ns > SIM_RTO_MIN_NS ? rto_ns : SIM_RTO_MIN_NS;
        link->losses++;
    }
    return delay_ns;
}

uint64_t sim_link_losses(const struct sim_link *link)
{
    return link->losses;
}

uint64_t sim_link_bytes(struct sim_world *w, const struct sim_link *link)
{
    return sim_fabric_link_bytes(w->fabric, link->fabric_id);
}

uint64_t sim_link_cost_nusd(struct sim_world *w, const struct sim_link *link)
{
    uint64_t bytes = sim_link_bytes(w, link);
    uint64_t price = link->config.price_nusd_per_gb;

    return bytes / 1000000000 * price + bytes % 1000000000 * price / 1000000000;
}

void sim_link_wait(struct sim_link *link, struct sim_waiter *waiter)
{
    if (!waiter->waiting) {
        waiter->waiting = true;
        waiter->next = link->waiters;
        link->waiters = waiter;
    }
}

void sim_link_unwait(struct sim_link *link, struct sim_waiter *waiter)
{
    struct sim_waiter **at = &link->waiters;

    if (!waiter->waiting) {
        return;
    }
    while (*at != waiter) {
        at = &(*at)->next;
    }
    *at = waiter->next;
    waiter->waiting = false;
}
