/* The commands by which members are started. */

#include "base/mem.h"
#include "base/units.h"
#include "run/live_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void args_add(struct live_args *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void args_add(struct live_args *a, const char *fmt, ...)
{
    char item[LIVE_PATH_BYTES + RUN_WORK_PATH_BYTES];
    va_list args;
    int size;

    va_start(args, fmt);
    size = vsnprintf(item, sizeof(item), fmt, args);
    va_end(args);
    a->failed = a->failed || size < 0 || (size_t)size >= sizeof(item) || a->count == LIVE_ARGS_MAX;
    if (!a->failed) {
        a->items[a->count] = mem_strdup(item);
        a->failed = a->items[a->count] == NULL;
        a->count += !a->failed;
    }
}

/* "--name value" */
#define ARGS_PAIR(a, name, ...)                                                                    \
    do {                                                                                           \
        args_add((a), "--%s", (name));                                                             \
        args_add((a), __VA_ARGS__);                                                                \
    } while (0)

static void args_site(const struct live *l, uint32_t site, struct live_args *a)
{
    const struct run_file *f = l->f;

    ARGS_PAIR(a, "site", "%s", f->sites[site].name);
    ARGS_PAIR(a, "workers", "%u", f->sites[site].workers);
    ARGS_PAIR(a, "shards", "%u", f->shards);
    ARGS_PAIR(a, "barrier", "%s", run_barrier_name(f->sync.barrier));
    if (f->sync.barrier == RUN_SSP) {
        ARGS_PAIR(a, "staleness", "%u", f->sync.staleness);
    }
    ARGS_PAIR(a, "delivery", "%s", node_delivery_name(f->sync.delivery));
    ARGS_PAIR(a, "deadline", "%" PRId64 "ms", f->sync.deadline_ns / 1000000);
    ARGS_PAIR(a, "order", "%s", run_order_name(f->sync.order));
    if (f->checkpoint.every > 0) {
        ARGS_PAIR(a, "checkpoint-every", "%u", f->checkpoint.every);
        ARGS_PAIR(a, "keep", "%u", f->checkpoint.keep);
    }
    if (f->sites_count > 1) {
        return; /* Whoever sees all sites judges the goal. */
    }
    if (f->stop.has_objective) {
        ARGS_PAIR(a, "stop-objective", "%.17g", f->stop.objective);
        if (app_find(f->job.name)->rising) {
            args_add(a, "--rising");
        }
    }
    if (f->stop.accuracy > 0) {
        ARGS_PAIR(a, "stop-accuracy", "%.17g", f->stop.accuracy);
    }
}

static void args_server(const struct live_member *m, struct live_args *a)
{
    const struct live *l = m->live;
    const struct run_file *f = l->f;
    const struct run_site *s = &f->sites[m->site];
    char address[NET_ADDRESS_BYTES], lanes[RUN_SERVERS_MAX * 4] = "";
    struct text list;

    text_init_fixed(&list, lanes, sizeof(lanes));
    for (uint32_t i = 0; i < s->servers_count; i++) {
        text_addf(&list, "%s%u", i == 0 ? "" : ",", f->servers[s->servers_first + i].lanes);
    }
    args_add(a, "server");
    ARGS_PAIR(a, "listen", "tcp://127.0.0.1:%u", m->port);
    ARGS_PAIR(a, "name", "%s", m->name);
    ARGS_PAIR(a, "servers", "%u", s->servers_count);
    ARGS_PAIR(a, "index", "%u", m->number - s->servers_first);
    ARGS_PAIR(a, "lanes", "%s", lanes);
    ARGS_PAIR(a, "status-every", "%dms", LIVE_STATUS_MS);
    if (f->checkpoint.every > 0) {
        ARGS_PAIR(a, "store", "%s/checkpoints/%s", l->options.dir, m->name);
    }
    if (f->sites_count > 1) {
        char path[LIVE_PATH_BYTES];

        live_sites_path(l, m->site, path, sizeof(path));
        ARGS_PAIR(a, "between", "%s", path);
    }
    if (m->number == s->servers_first) {
        args_site(l, m->site, a);
    } else {
        ARGS_PAIR(a, "first", "%s", net_address_format(&l->firsts[m->site], address));
    }
}

/* The part of a link that one worker gets: those of its region share it. */
static uint64_t args_pace(const struct run_file *f, uint32_t from, uint32_t to, uint32_t region)
{
    const struct topo_link *link = topo_link_between(f->topo, from, to);
    uint64_t workers = 0;

    for (uint32_t i = 0; i < f->groups_count; i++) {
        workers += f->groups[i].region == region ? f->groups[i].count : 0;
    }
    return link == NULL || from == to || workers == 0 ? 0 : link->bytes_per_s / workers;
}

/* By lane: how fast it is sent to, and how fast it shall send. */
static void args_paces(const struct live_member *m, struct live_args *a)
{
    const struct run_file *f = m->live->f;
    const struct run_site *site = &f->sites[m->site];
    uint32_t region = run_worker_group(f, m->number)->region, lane = 0;
    char list[NODE_LANES_MAX * 32] = "";
    struct text text;

    text_init_fixed(&text, list, sizeof(list));
    for (uint32_t i = 0; i < site->servers_count; i++) {
        const struct run_server *s = &f->servers[site->servers_first + i];
        uint64_t to = args_pace(f, region, s->region, region);
        uint64_t from = args_pace(f, s->region, region, region);

        for (uint32_t k = 0; k < s->lanes; k++, lane++) {
            /* Lanes of a server share its link too. */
            text_addf(&text, "%s%u=%" PRIu64 "/%" PRIu64, lane == 0 ? "" : ",", lane, to / s->lanes,
                      from / s->lanes);
        }
    }
    a->failed = a->failed || text.failed;
    ARGS_PAIR(a, "pace-lanes", "%s", list);
}

static void args_worker(const struct live_member *m, struct live_args *a)
{
    const struct run_file *f = m->live->f;
    char address[NET_ADDRESS_BYTES];

    args_add(a, "worker");
    ARGS_PAIR(a, "join", "%s", net_address_format(&m->live->firsts[m->site], address));
    ARGS_PAIR(a, "name", "%s", m->name);
    ARGS_PAIR(a, "rank", "%u", m->number - f->sites[m->site].workers_first);
    ARGS_PAIR(a, "part", "%u", m->number);
    ARGS_PAIR(a, "workers", "%u", f->workers);
    ARGS_PAIR(a, "streams", "%u", run_worker_group(f, m->number)->streams);
    ARGS_PAIR(a, "job", "%s", f->job.name);
    if (f->job.data[0] != '\0') {
        ARGS_PAIR(a, "data", "%s", f->job.data);
    }
    for (uint32_t i = 0; i < f->job.options_count; i++) {
        ARGS_PAIR(a, "option", "%s=%s", f->job.options[i].key, f->job.options[i].value);
    }
    ARGS_PAIR(a, "seed", "%" PRIu64, f->seed);
    ARGS_PAIR(a, "clocks", "%" PRIu64, f->stop.clocks);
    ARGS_PAIR(a, "evaluate-every", "%u", f->evaluate.every);
    if (app_find(f->job.name)->state != NULL) {
        ARGS_PAIR(a, "state", "%s/state", m->live->options.dir);
        ARGS_PAIR(a, "state-every", "%u", f->state.every);
    }
    args_paces(m, a);
}

enum err live_args_make(const struct live_member *m, struct live_args *out)
{
    *out = (struct live_args){.count = 0};
    /* First a command that ties the process to ours, then its own. */
    args_add(out, "%s", m->live->options.program);
    args_add(out, "tied");
    args_add(out, "%d", (int)getpid());
    args_add(out, "--");
    args_add(out, "%s", m->live->options.program);
    if (m->server) {
        args_server(m, out);
    } else {
        args_worker(m, out);
    }
    args_add(out, "--insecure");
    args_add(out, "--json");
    args_add(out, "--no-color");
    if (out->failed) {
        live_args_free(out);
        return ERR_NOMEM;
    }
    return OK;
}

void live_args_free(struct live_args *args)
{
    for (uint32_t i = 0; i < args->count; i++) {
        mem_free(args->items[i]);
    }
    args->count = 0;
}
