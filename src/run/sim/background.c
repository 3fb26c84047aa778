#include "run/sim/background.h"

#include "base/list.h"
#include "base/mem.h"
#include "sim/net/background.h"

#include <stdio.h>

/* An entry of the file. */
struct background_entry {
    struct run_sim_background *all;
    struct run_draw draw;
    struct sim_event next; /* The next phase. */
    struct sim_background *flows;
    struct run_pair *pairs;
    uint32_t flowing;
    uint64_t sent; /* In phases that are over. */
};

struct run_sim_background {
    struct sim_world *world;
    const struct run_file *f;
    run_sim_background_told *told;
    void *user;
    struct sim_host **hosts; /* By member. */
    struct background_entry *entries;
};

static uint64_t background_flowed(const struct background_entry *e)
{
    uint64_t sent = 0;

    for (uint32_t i = 0; i < e->flowing; i++) {
        sent += sim_background_sent(&e->flows[i]);
    }
    return sent;
}

static uint64_t background_off(struct background_entry *e)
{
    uint64_t sent = background_flowed(e);

    for (uint32_t i = 0; i < e->flowing; i++) {
        sim_background_end(&e->flows[i]);
    }
    e->flowing = 0;
    e->sent += sent;
    return sent;
}

static void background_on(struct background_entry *e)
{
    struct run_sim_background *s = e->all;

    run_draw_pairs(&e->draw, e->pairs);
    while (e->flowing < e->draw.b->flows) {
        const struct run_pair *p = &e->pairs[e->flowing];

        if (sim_background_begin(&e->flows[e->flowing], s->hosts[p->from], s->hosts[p->to],
                                 e->draw.b->rate_run) != OK) {
            return;
        }
        e->flowing++;
    }
}

/* One phase is over and the next begins. */
static void background_next(struct sim_event *event, struct sim_world *w)
{
    struct background_entry *e = LIST_ENTRY(event, struct background_entry, next);
    bool was_on = e->flowing > 0;
    uint64_t sent = background_off(e);
    bool more = run_draw_next(&e->draw);

    if (more && e->draw.on) {
        background_on(e);
        e->all->told(e->draw.b, e->flowing, 0, e->all->user);
    } else if (was_on) {
        e->all->told(e->draw.b, 0, sent, e->all->user);
    }
    if (more) {
        CHECK(sim_event_at(w, event, e->draw.to_ns) == OK);
    }
}

static enum err background_open(struct run_sim_background *s, uint32_t index)
{
    struct background_entry *e = &s->entries[index];

    e->all = s;
    run_draw_open(&e->draw, s->f, index);
    sim_event_init(&e->next, background_next);
    e->flows = mem_calloc(e->draw.b->flows, sizeof(*e->flows));
    e->pairs = mem_calloc(e->draw.b->flows, sizeof(*e->pairs));
    if (e->flows == NULL || e->pairs == NULL) {
        return ERR_NOMEM;
    }
    return sim_event_at(s->world, &e->next, e->draw.to_ns);
}

static struct sim_host *background_host(const struct run_sim_background *s, uint32_t member)
{
    char worker[16];

    if (member < s->f->servers_count) {
        return sim_world_host(s->world, s->f->servers[member].name);
    }
    (void)snprintf(worker, sizeof(worker), "w%u", member - s->f->servers_count);
    return sim_world_host(s->world, worker);
}

enum err run_sim_background_create(struct sim_world *w, const struct run_file *f,
                                   run_sim_background_told *told, void *user,
                                   struct run_sim_background **out)
{
    struct run_sim_background *s = mem_zalloc(sizeof(*s));
    enum err rc = s == NULL ? ERR_NOMEM : OK;

    if (rc == OK) {
        *s = (struct run_sim_background){.world = w, .f = f, .told = told, .user = user};
        s->hosts = mem_calloc(run_members(f), sizeof(struct sim_host *));
        s->entries = mem_calloc((size_t)f->backgrounds_count + 1, sizeof(*s->entries));
        rc = s->hosts == NULL || s->entries == NULL ? ERR_NOMEM : OK;
    }
    for (uint32_t i = 0; rc == OK && i < run_members(f); i++) {
        s->hosts[i] = background_host(s, i);
    }
    for (uint32_t i = 0; rc == OK && i < f->backgrounds_count; i++) {
        rc = background_open(s, i);
    }
    if (rc != OK) {
        run_sim_background_destroy(s);
        return rc;
    }
    *out = s;
    return OK;
}

void run_sim_background_destroy(struct run_sim_background *s)
{
    if (s == NULL) {
        return;
    }
    for (uint32_t i = 0; s->entries != NULL && i < s->f->backgrounds_count; i++) {
        (void)background_off(&s->entries[i]);
        sim_event_cancel(s->world, &s->entries[i].next);
        mem_free(s->entries[i].flows);
        mem_free(s->entries[i].pairs);
    }
    mem_free(s->entries);
    mem_free(s->hosts);
    mem_free(s);
}

uint64_t run_sim_background_bytes(const struct run_sim_background *s)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < s->f->backgrounds_count; i++) {
        bytes += s->entries[i].sent + background_flowed(&s->entries[i]);
    }
    return bytes;
}
