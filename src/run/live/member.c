/* Members of a run of processes: opened, started, ended. */

#include "base/mem.h"
#include "net/entropy.h"
#include "run/live/state.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static void member_said(struct run_child *c, const json_t *news, void *user)
{
    struct live_member *m = user;

    (void)c;
    if (m->live->ground->said == NULL || !m->live->ground->said(m, news)) {
        live_said(m, news);
    }
}

static void member_ended(struct run_child *c, int64_t status, int signum, void *user)
{
    struct live_member *m = user;

    (void)c;
    if (m->live->ground->ended != NULL) {
        m->live->ground->ended(m, &status, &signum);
    }
    live_died(m, status, signum);
}

static const struct run_child_events member_events = {.said = member_said, .ended = member_ended};

static enum err member_open(struct live *l, struct live_member *m, const char *name,
                            uint32_t number, bool server)
{
    const struct run_site *s = l->f->sites;
    char log[LIVE_PATH_BYTES + 64];
    enum err rc;

    m->live = l;
    m->number = number;
    while (server ? number >= s[m->site].servers_first + s[m->site].servers_count
                  : number >= s[m->site].workers_first + s[m->site].workers) {
        m->site++;
    }
    m->server = server;
    (void)snprintf(m->name, sizeof(m->name), "%s", name);
    m->before = mem_calloc(l->f->lanes, sizeof(*m->before));
    m->now = mem_calloc(l->f->lanes, sizeof(*m->now));
    m->dir = l->options.dir;
    m->region = server ? l->f->servers[number].region : run_worker_group(l->f, number)->region;
    (void)snprintf(log, sizeof(log), "%s/%s.log", l->options.dir, name);
    rc = run_child_init(&m->child, l->loop, log, &member_events, m);
    if (rc == OK) {
        rc = loop_timer_init(&m->timer, l->loop, live_timer, m);
    }
    return rc == OK && (m->before == NULL || m->now == NULL) ? ERR_NOMEM : rc;
}

enum err live_open_members(struct live *l)
{
    const struct run_file *f = l->f;
    enum err rc = entropy_u64(&l->ports);

    for (uint32_t i = 0; i < f->servers_count && rc == OK; i++) {
        rc = member_open(l, &l->servers[i], f->servers[i].name, i, true);
    }
    for (uint32_t i = 0; i < f->workers && rc == OK; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "w%u", i);
        rc = member_open(l, &l->workers[i], name, i, false);
    }
    return rc;
}

struct live_member *live_find(struct live *l, const char *name)
{
    for (uint32_t i = 0; i < l->f->servers_count; i++) {
        if (strcmp(l->servers[i].name, name) == 0) {
            return &l->servers[i];
        }
    }
    for (uint32_t i = 0; i < l->f->workers; i++) {
        if (strcmp(l->workers[i].name, name) == 0) {
            return &l->workers[i];
        }
    }
    return NULL;
}

bool live_runs(const struct live_member *m)
{
    return run_child_runs(&m->child);
}

enum err live_start(struct live_member *m)
{
    struct live_args args;
    enum err rc = live_args_make(m, &args);

    if (rc != OK) {
        return rc;
    }
    rc = m->live->ground->launch != NULL
             ? m->live->ground->launch(m, &args)
             : run_child_start(&m->child, (const char *const *)args.items, false);
    live_args_free(&args);
    if (rc != OK) {
        return rc;
    }
    m->ready = false;
    m->stopped = false;
    m->lives++;
    m->started_ns = live_now(m->live);
    return OK;
}

void live_signal(struct live_member *m, int signum)
{
    if (m->live->ground->signal != NULL) {
        m->live->ground->signal(m, signum);
    } else {
        run_child_signal(&m->child, signum);
    }
}

void live_release(struct live_member *m)
{
    run_child_release(&m->child);
    loop_timer_deinit(&m->timer);
    mem_free(m->before);
    mem_free(m->now);
}
