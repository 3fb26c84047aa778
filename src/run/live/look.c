/* How a run of processes looks. */

#include "run/live/state.h"

#include <stdio.h>
#include <string.h>

static void live_count_traffic(struct live *l)
{
    uint32_t n = l->traffic.regions;

    memset(l->traffic.bytes, 0, (size_t)n * n * sizeof(*l->traffic.bytes));
    for (uint32_t w = 0; w < l->f->workers; w++) {
        const struct live_member *m = &l->workers[w];
        const struct run_site *site = &l->f->sites[m->site];
        uint32_t from = run_worker_group(l->f, w)->region, lane = 0;

        for (uint32_t s = 0; s < site->servers_count; s++) {
            const struct run_server *server = &l->f->servers[site->servers_first + s];
            uint32_t to = server->region;

            for (uint32_t k = 0; k < server->lanes; k++, lane++) {
                l->traffic.bytes[from * n + to] += m->before[lane].sent + m->now[lane].sent;
                l->traffic.bytes[to * n + from] += m->before[lane].received + m->now[lane].received;
            }
        }
    }
    live_sites_traffic(l, &l->traffic);
    if (l->ground->traffic != NULL) {
        l->ground->traffic(l, &l->traffic);
    }
    run_traffic_complete(&l->traffic, l->f);
}

void live_row(const struct run_row *row, void *user)
{
    struct live *l = user;

    if (l->watcher->row != NULL) {
        live_count_traffic(l);
        l->watcher->row(row, &l->traffic, l->watcher->user);
    }
}

/* The first server of a site (UINT32_MAX: of any) that is not there just now, or NULL. */
static const struct live_member *live_missing(const struct live *l, uint32_t site)
{
    for (uint32_t i = 0; i < l->f->servers_count && l->phase == LIVE_TRAINING; i++) {
        const struct live_member *m = &l->servers[i];

        if ((site == UINT32_MAX || m->site == site) && (!m->ready || !live_runs(m))) {
            return m;
        }
    }
    return NULL;
}

static const char *live_state(const struct live *l, const struct live_member *m)
{
    if (!live_runs(m)) {
        return m->done ? "done" : NULL;
    }
    if (!m->ready) {
        return m->joined ? "coming back" : "starting";
    }
    return m->stopped                         ? "stopped"
           : l->phase >= LIVE_LEAVING         ? "leaving"
           : live_missing(l, m->site) != NULL ? "waiting"
           : m->state == NULL                 ? "training"
                                              : m->state;
}

void live_paint(struct live *l, struct run_picture *out)
{
    const struct live_member *missing = live_missing(l, UINT32_MAX);

    *out = (struct run_picture){
        .file = l->f,
        .job = l->job,
        .simulated = false,
        .now_ns = live_now(l),
        .tally = l->tally,
        .traffic = &l->traffic,
        .background_bytes = live_background_bytes(l),
        .states = l->states,
    };
    for (uint32_t i = 0; i < l->f->workers; i++) {
        l->states[i] = live_state(l, &l->workers[i]);
    }
    live_count_traffic(l);
    live_sites_waits(l, out->waits, sizeof(out->waits));
    if (missing != NULL) {
        (void)snprintf(out->waits, sizeof(out->waits), "%s%s wait%s for %s, which is %s",
                       l->f->sites_count > 1 ? "site " : "",
                       l->f->sites_count > 1 ? l->f->sites[missing->site].name : "all",
                       l->f->sites_count > 1 ? "s" : "", missing->name,
                       !live_runs(missing) ? "down" : "coming back");
    }
}
