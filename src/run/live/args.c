/* The commands by which members are started. */

#include "base/mem.h"
#include "base/units.h"
#include "run/live/state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void live_args_add(struct live_args *a, const char *fmt, ...)
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
        live_args_add((a), "--%s", (name));                                                        \
        live_args_add((a), __VA_ARGS__);                                                           \
    } while (0)

static void args_chain(const char *name, const struct node_sparsify_config *config,
                       struct live_args *a)
{
    char chain[CODEC_CHAIN_TEXT_BYTES];

    if (config->on) {
        codec_chain_print(&config->chain, chain, sizeof(chain));
        ARGS_PAIR(a, name, "%s", chain);
    }
}

static void args_flow(const struct run_sync *s, struct live_args *a)
{
    char tree[NODE_TREE_TEXT_BYTES];

    args_chain("push", &s->push, a);
    args_chain("broadcast", &s->broadcast, a);
    if (s->required > 0) {
        ARGS_PAIR(a, "required", "%" PRIu64 "bit", s->required * 8);
    }
    if (s->tree.degree > 0) {
        node_tree_print(&s->tree, tree, sizeof(tree));
        ARGS_PAIR(a, "tree", "%s", tree);
    }
}

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
    args_flow(&f->sync, a);
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
            live_args_add(a, "--rising");
        }
    }
    if (f->stop.accuracy > 0) {
        ARGS_PAIR(a, "stop-accuracy", "%.17g", f->stop.accuracy);
    }
}

static void args_rack(const char *agg, const char *edge, struct live_args *a)
{
    if (agg != NULL) {
        ARGS_PAIR(a, "agg", "%s", agg);
    }
    if (edge != NULL) {
        ARGS_PAIR(a, "edge", "%s", edge);
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
    live_args_add(a, "server");
    ARGS_PAIR(a, "name", "%s", m->name);
    ARGS_PAIR(a, "servers", "%u", s->servers_count);
    ARGS_PAIR(a, "index", "%u", m->number - s->servers_first);
    ARGS_PAIR(a, "lanes", "%s", lanes);
    ARGS_PAIR(a, "status-every", "%dms", LIVE_STATUS_MS);
    args_rack(f->servers[m->number].agg, f->servers[m->number].edge, a);
    if (f->checkpoint.every > 0) {
        ARGS_PAIR(a, "store", "%s/checkpoints/%s", m->dir, m->name);
    }
    if (f->sites_count > 1) {
        ARGS_PAIR(a, "between", "%s/between-%s.yaml", m->dir, f->sites[m->site].name);
    }
    if (m->number == s->servers_first) {
        args_site(l, m->site, a);
    } else {
        ARGS_PAIR(a, "first", "%s", net_address_format(&l->firsts[m->site], address));
    }
}

static void args_worker(const struct live_member *m, struct live_args *a)
{
    const struct run_file *f = m->live->f;
    char address[NET_ADDRESS_BYTES];

    live_args_add(a, "worker");
    ARGS_PAIR(a, "join", "%s", net_address_format(&m->live->firsts[m->site], address));
    ARGS_PAIR(a, "name", "%s", m->name);
    ARGS_PAIR(a, "rank", "%u", m->number - f->sites[m->site].workers_first);
    ARGS_PAIR(a, "part", "%u", m->number);
    ARGS_PAIR(a, "workers", "%u", f->workers);
    ARGS_PAIR(a, "streams", "%u", run_worker_group(f, m->number)->streams);
    args_rack(run_worker_group(f, m->number)->agg, run_worker_group(f, m->number)->edge, a);
    ARGS_PAIR(a, "job", "%s", f->job.name);
    if (f->job.data[0] != '\0') {
        ARGS_PAIR(a, "data", "%s", f->job.data);
    }
    for (uint32_t i = 0; i < f->job.options_count; i++) {
        ARGS_PAIR(a, "option", "%s=%s", f->job.options[i].key, f->job.options[i].value);
    }
    ARGS_PAIR(a, "seed", "%" PRIu64, f->seed);
    ARGS_PAIR(a, "clocks", "%" PRIu64, f->stop.clocks);
    if (f->compute.time_ns > 0) {
        ARGS_PAIR(a, "compute-time", "%.0fus",
                  (double)f->compute.time_ns * run_worker_group(f, m->number)->slowdown * 1e-3);
    }
    ARGS_PAIR(a, "evaluate-every", "%u", f->evaluate.every);
    if (app_find(f->job.name)->state != NULL) {
        ARGS_PAIR(a, "state", "%s/state", m->dir);
        ARGS_PAIR(a, "state-every", "%u", f->state.every);
    }
}

static void args_recording(const struct live_member *m, struct live_args *a)
{
    const struct run_recording *how = m->live->options.recording;

    if (!run_recording_wants(how, m->number)) {
        return;
    }
    ARGS_PAIR(a, "record-updates", "%s", how->dir);
    ARGS_PAIR(a, "record-every", "%u", how->every);
    ARGS_PAIR(a, "record-format", "%s", how->lines ? "jsonl" : "npy");
    if (how->large) {
        live_args_add(a, "--record-large");
    }
}

enum err live_args_make(const struct live_member *m, struct live_args *out)
{
    *out = (struct live_args){.count = 0};
    m->live->ground->before(m, out);
    if (m->server) {
        args_server(m, out);
    } else {
        args_worker(m, out);
        args_recording(m, out);
    }
    m->live->ground->options(m, out);
    live_args_add(out, "--json");
    live_args_add(out, "--no-color");
    if (out->failed) {
        live_args_free(out);
        return ERR_NOMEM;
    }
    return OK;
}

void live_args_tie(const struct live *l, struct live_args *a)
{
    live_args_add(a, "%s", l->options.program);
    live_args_add(a, "tied");
    live_args_add(a, "%d", (int)getpid());
    live_args_add(a, "--");
    live_args_add(a, "%s", l->options.program);
}

void live_args_free(struct live_args *args)
{
    for (uint32_t i = 0; i < args->count; i++) {
        mem_free(args->items[i]);
    }
    args->count = 0;
}
