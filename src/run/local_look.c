/* How a local run looks. */

#include "run/local_state.h"

#include <stdio.h>
#include <string.h>

static void local_count_traffic(struct local *l)
{
    uint32_t n = l->traffic.regions;

    memset(l->traffic.bytes, 0, (size_t)n * n * sizeof(*l->traffic.bytes));
    for (uint32_t w = 0; w < l->f->workers; w++) {
        const struct local_member *m = &l->workers[w];
        uint32_t from = run_worker_group(l->f, w)->region, lane = 0;

        for (uint32_t s = 0; s < l->f->servers_count; s++) {
            uint32_t to = l->f->servers[s].region;

            for (uint32_t k = 0; k < l->f->servers[s].lanes; k++, lane++) {
                l->traffic.bytes[from * n + to] += m->before[lane].sent + m->now[lane].sent;
                l->traffic.bytes[to * n + from] += m->before[lane].received + m->now[lane].received;
            }
        }
    }
}

void local_row(const struct run_row *row, void *user)
{
    struct local *l = user;

    if (l->watcher->row != NULL) {
        local_count_traffic(l);
        l->watcher->row(row, &l->traffic, l->watcher->user);
    }
}

/* The first server that is not there just now, or NULL. */
static const struct local_member *local_missing(const struct local *l)
{
    for (uint32_t i = 0; i < l->f->servers_count && l->phase == LOCAL_TRAINING; i++) {
        if (!l->servers[i].ready || l->servers[i].child == NULL) {
            return &l->servers[i];
        }
    }
    return NULL;
}

static const char *local_state(const struct local *l, const struct local_member *m)
{
    if (m->child == NULL) {
        return m->done ? "done" : NULL;
    }
    if (!m->ready) {
        return m->joined ? "coming back" : "starting";
    }
    return m->stopped                  ? "stopped"
           : l->phase >= LOCAL_LEAVING ? "leaving"
           : local_missing(l) != NULL  ? "waiting"
           : m->state == NULL          ? "training"
                                       : m->state;
}

void local_paint(struct local *l, struct run_picture *out)
{
    const struct local_member *missing = local_missing(l);

    *out = (struct run_picture){
        .file = l->f,
        .job = l->job,
        .simulated = false,
        .now_ns = local_now(l),
        .tally = l->tally,
        .traffic = &l->traffic,
        .states = l->states,
    };
    for (uint32_t i = 0; i < l->f->workers; i++) {
        l->states[i] = local_state(l, &l->workers[i]);
    }
    local_count_traffic(l);
    (void)snprintf(out->waits, sizeof(out->waits), "%s", l->waits);
    if (missing != NULL) {
        (void)snprintf(out->waits, sizeof(out->waits), "all wait for %s, which is %s",
                       missing->name, missing->child == NULL ? "down" : "coming back");
    }
}
