/* What libcyaml loaded becomes a run: defaults, limits, names, and what has to go together. */

#include "base/nearest.h"
#include "base/units.h"
#include "run/file/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    FILL_KEEP_MAX = 100,          /* Checkpoints. */
    FILL_CLOCKS_MAX = 1000000000, /* Between checkpoints or evaluations. */
};

#define FILL_GB_MAX 1e9
#define FILL_COMPUTE_NS INT64_C(86400000000000) /* A day. */

/* Workers are w0, w1, ...: a server of such a name could not be told from them. */
static bool fill_is_worker(const char *name)
{
    return name[0] == 'w' && name[1] != '\0' && strspn(name + 1, "0123456789") == strlen(name + 1);
}

/* Whose name it is, for a complaint about another one. */
static const char *fill_whose(const struct run_file *f, uint32_t server, char *out, size_t size)
{
    const struct run_site *p = f->parts;

    if (f->parts_count == 0) {
        (void)snprintf(out, size, "servers[%u]", server);
        return out;
    }
    while (server >= p->servers_first + p->servers_count) {
        p++;
    }
    (void)snprintf(out, size, "servers[%u] of site %s", server - p->servers_first, p->name);
    return out;
}

enum err file_server_name(struct file_reader *r, const char *entry, uint32_t index,
                          const char *made)
{
    struct run_server *s = &r->f->servers[index];
    struct file_path path;
    char whose[128];
    enum err rc = OK;

    (void)snprintf(path.chars, sizeof(path.chars), "%.40s.name", entry);
    if (s->name == NULL) {
        s->name = run_arena_strdup(r->arena, made);
        rc = s->name == NULL ? ERR_NOMEM : OK;
    }
    if (rc == OK) {
        rc = file_name(r, path.chars, s->name);
    }
    if (rc == OK && fill_is_worker(s->name)) {
        return file_fail(r, ERR_MALFORMED, path.chars,
                         "'%s' is the name of a worker: workers are called w0, w1, ...", s->name);
    }
    for (uint32_t i = 0; i < index && rc == OK; i++) {
        if (strcmp(r->f->servers[i].name, s->name) == 0) {
            rc = file_fail(r, ERR_MALFORMED, path.chars,
                           "%s is called '%s' too: names have to differ",
                           fill_whose(r->f, i, whose, sizeof(whose)), s->name);
        }
    }
    return rc;
}

static enum err fill_servers(struct file_reader *r)
{
    struct run_file *f = r->f;
    enum err rc = OK;

    for (uint32_t i = 0; i < f->servers_count && rc == OK; i++) {
        struct run_server *s = &f->servers[i];
        struct file_path entry, path;
        char made[16];

        (void)snprintf(entry.chars, sizeof(entry.chars), "servers[%u]", i);
        (void)snprintf(made, sizeof(made), "s%u", i);
        s->line = file_find(r, entry.chars)->place.line;
        rc = file_server_name(r, entry.chars, i, made);
        if (rc == OK) {
            (void)snprintf(path.chars, sizeof(path.chars), "servers[%u].region", i);
            rc = file_region(r, path.chars, s->region_name, &s->region);
        }
        if (rc == OK) {
            (void)snprintf(path.chars, sizeof(path.chars), "servers[%u].lanes", i);
            rc = file_u32(r, path.chars, &s->lanes, 1, 1, RUN_SERVER_LANES_MAX);
        }
        f->lanes += s->lanes;
    }
    return rc;
}

/* Of all servers of a site, and what is spread over them. */
static enum err fill_lanes(struct file_reader *r)
{
    struct run_file *f = r->f;

    f->lanes = f->sites[0].lanes;
    if (f->lanes > NODE_LANES_MAX) {
        return file_fail(r, ERR_MALFORMED, f->parts_count > 0 ? "sites" : "servers",
                         "have %u lanes in all: at most %d are allowed", f->lanes, NODE_LANES_MAX);
    }
    /* So that the layout can be changed and nothing else. */
    if (f->parts_count > f->sites_count && f->shards < f->lanes) {
        f->shards = f->lanes;
    }
    if (file_find(r, "shards") != NULL && f->shards < f->lanes) {
        return file_fail(r, ERR_MALFORMED, "shards",
                         "%u are too few for %u lanes: write %u to %d, or leave it out", f->shards,
                         f->lanes, f->lanes, NODE_SHARDS_MAX);
    }
    return file_u32(r, "shards", &f->shards, f->lanes, f->lanes, NODE_SHARDS_MAX);
}

static enum err fill_group(struct file_reader *r, uint32_t index)
{
    struct run_group *g = &r->f->groups[index];
    struct file_path path;
    enum err rc;

    (void)snprintf(path.chars, sizeof(path.chars), "workers[%u]", index);
    g->line = file_find(r, path.chars)->place.line;
    (void)snprintf(path.chars, sizeof(path.chars), "workers[%u].region", index);
    rc = file_region(r, path.chars, g->region_name, &g->region);
    if (rc == OK) {
        (void)snprintf(path.chars, sizeof(path.chars), "workers[%u].count", index);
        rc = file_u32(r, path.chars, &g->count, 1, 1, RUN_WORKERS_MAX);
    }
    if (rc == OK) {
        (void)snprintf(path.chars, sizeof(path.chars), "workers[%u].streams", index);
        rc = file_u32(r, path.chars, &g->streams, 1, 1, LIMIT_STREAMS_PER_PEER);
    }
    if (rc == OK) {
        (void)snprintf(path.chars, sizeof(path.chars), "workers[%u].slowdown", index);
        rc = file_number(r, path.chars, &g->slowdown, 1, 0.001, 1000);
    }
    return rc;
}

/* Every worker talks with every server: the map must have a way there and back. */
static enum err fill_ways(const struct file_reader *r, uint32_t index)
{
    const struct run_group *g = &r->f->groups[index];
    struct file_path path;

    for (uint32_t i = 0; i < r->f->servers_count; i++) {
        const struct run_server *s = &r->f->servers[i];
        bool there = topo_link_between(r->f->topo, g->region, s->region) != NULL;
        bool back = topo_link_between(r->f->topo, s->region, g->region) != NULL;

        if (!there || !back) {
            (void)snprintf(path.chars, sizeof(path.chars), "workers[%u].region", index);
            return file_fail(r, ERR_MALFORMED, path.chars,
                             "the topology has no link from %.64s to %.64s, and server %.64s is in "
                             "%.64s: add the link, or a default_link",
                             there ? s->region_name : g->region_name,
                             there ? g->region_name : s->region_name, s->name, s->region_name);
        }
    }
    return OK;
}

static enum err fill_groups(struct file_reader *r)
{
    struct run_file *f = r->f;
    enum err rc = OK;

    for (uint32_t i = 0; i < f->groups_count && rc == OK; i++) {
        rc = fill_group(r, i);
        if (rc == OK) {
            rc = fill_ways(r, i);
        }
        f->workers += f->groups[i].count;
    }
    return rc;
}

/* All servers and workers of the file are one site. */
static enum err fill_home(struct file_reader *r)
{
    struct run_file *f = r->f;
    enum err rc = fill_servers(r);

    if (rc == OK) {
        rc = fill_groups(r);
    }
    if (rc == OK) {
        f->sites = run_arena_alloc(r->arena, 1, sizeof(*f->sites));
        rc = f->sites == NULL ? ERR_NOMEM : OK;
    }
    if (rc == OK) {
        f->sites_count = 1;
        f->sites[0] = (struct run_site){.name = f->name,
                                        .servers_count = f->servers_count,
                                        .groups_count = f->groups_count,
                                        .workers = f->workers,
                                        .lanes = f->lanes};
    }
    return rc;
}

static enum err fill_members(struct file_reader *r)
{
    struct run_file *f = r->f;
    enum err rc = file_find(r, "sites") != NULL ? file_sites(r) : fill_home(r);

    if (rc == OK && f->workers > RUN_WORKERS_MAX) {
        return file_fail(r, ERR_MALFORMED, f->parts_count > 0 ? "sites" : "workers",
                         f->parts_count > 0 ? "have %u workers in all: at most %d are allowed"
                                            : "are %u in all: at most %d are allowed",
                         f->workers, RUN_WORKERS_MAX);
    }
    if (rc == OK) {
        rc = file_racks(r);
    }
    return rc == OK ? fill_lanes(r) : rc;
}

static enum err fill_job_name(struct file_reader *r)
{
    const struct app_ops *const *all;
    struct nearest near;
    uint32_t count = 0;

    r->f->job.line = file_find(r, "job.name")->place.line;
    if (app_find(r->f->job.name) != NULL) {
        return OK;
    }
    all = app_all(&count);
    nearest_init(&near, r->f->job.name);
    for (uint32_t i = 0; i < count; i++) {
        nearest_offer(&near, all[i]->name);
    }
    return file_fail(r, ERR_MALFORMED, "job.name", "there is no job '%.40s': %s", r->f->job.name,
                     nearest_hint(&near, "there are"));
}

enum err file_path_from_here(struct file_reader *r, const char **path)
{
    size_t size;
    char *whole;

    if ((*path)[0] == '\0' || (*path)[0] == '/' || r->data_folder == NULL) {
        return OK;
    }
    size = strlen(r->data_folder) + 1 + strlen(*path) + 1;
    whole = run_arena_alloc(r->arena, 1, size);
    if (whole == NULL) {
        return ERR_NOMEM;
    }
    (void)snprintf(whole, size, "%s/%s", r->data_folder, *path);
    *path = whole;
    return OK;
}

static enum err fill_option(struct file_reader *r, const struct run_yaml *node,
                            struct app_option *option)
{
    if (node->key[0] == '\0') {
        return file_fail_at(r, ERR_MALFORMED, node->key_place, "job.options",
                            "an option needs a name");
    }
    if (node->kind != RUN_YAML_TEXT || node->chars[0] == '\0') {
        return file_fail_at(r, ERR_MALFORMED, node->place, "job.options",
                            "'%.40s' has to be a number or a word, but is %s", node->key,
                            node->kind == RUN_YAML_TEXT ? "empty" : run_yaml_kind_name(node->kind));
    }
    *option = (struct app_option){node->key, node->chars, node->key_place.line};
    return OK;
}

static enum err fill_options(struct file_reader *r)
{
    const struct run_yaml *options = file_find(r, "job.options");
    struct run_job *job = &r->f->job;
    enum err rc = OK;

    if (options == NULL) {
        return OK;
    }
    if (options->kind != RUN_YAML_MAPPING) {
        return file_fail(r, ERR_MALFORMED, "job.options",
                         "has to be a mapping (key: value), but is "
                         "%s",
                         run_yaml_kind_name(options->kind));
    }
    if (options->count > APP_OPTIONS_MAX) {
        return file_fail(r, ERR_MALFORMED, "job.options", "are %u: at most %d are allowed",
                         options->count, APP_OPTIONS_MAX);
    }
    job->options = run_arena_alloc(r->arena, options->count, sizeof(*job->options));
    if (job->options == NULL) {
        return ERR_NOMEM;
    }
    for (const struct run_yaml *n = options->first; n != NULL && rc == OK; n = n->next) {
        rc = fill_option(r, n, &job->options[job->options_count++]);
    }
    return rc;
}

static enum err fill_job(struct file_reader *r)
{
    enum err rc = fill_job_name(r);

    if (rc == OK) {
        r->f->job.data = r->f->job.data == NULL ? "" : r->f->job.data;
        rc = file_path_from_here(r, &r->f->job.data);
    }
    return rc == OK ? fill_options(r) : rc;
}

/* How long a step takes is given, or made of its work. */
static enum err fill_compute(struct file_reader *r)
{
    struct run_compute *c = &r->f->compute;
    enum err rc = file_number(r, "compute.gflops", &c->gflops, 20, 0.001, 100000);

    if (rc == OK) {
        rc = file_time(r, "compute.time", &c->time_ns, 0, 1, FILL_COMPUTE_NS);
    }
    return rc == OK && c->time_ns > 0 && file_find(r, "compute.gflops") != NULL
               ? file_fail(r, ERR_MALFORMED, "compute.time",
                           "does not go together with compute.gflops: a step takes this time, or "
                           "what its work takes")
               : rc;
}

static enum err fill_figures(struct file_reader *r)
{
    struct run_file *f = r->f;
    enum err rc = file_name(r, "run", f->name);

    if (rc == OK) {
        rc = file_whole(r, "seed", &f->seed, 1, 0, UINT64_MAX);
    }
    if (rc == OK) {
        rc = file_u32(r, "checkpoint.every", &f->checkpoint.every, 0, 0, FILL_CLOCKS_MAX);
    }
    if (rc == OK) {
        rc = file_u32(r, "checkpoint.keep", &f->checkpoint.keep, 2, 1, FILL_KEEP_MAX);
    }
    if (rc == OK) {
        rc = file_u32(r, "evaluate.every", &f->evaluate.every, 10, 0, FILL_CLOCKS_MAX);
    }
    if (rc == OK) {
        rc = file_u32(r, "state.every", &f->state.every, 0, 0, FILL_CLOCKS_MAX);
    }
    if (rc == OK) {
        rc = file_number(r, "job.data_gb", &f->job.data_gb, 0, 1e-6, FILL_GB_MAX);
    }
    if (rc == OK) {
        rc = file_machine(r);
    }
    return rc == OK ? fill_compute(r) : rc;
}

enum err file_fill(struct file_reader *r)
{
    enum err rc = fill_figures(r);

    if (rc == OK) {
        rc = fill_members(r);
    }
    if (rc == OK) {
        rc = fill_job(r);
    }
    if (rc == OK) {
        rc = file_sync(r);
    }
    if (rc == OK) {
        rc = file_stop(r);
    }
    return rc == OK ? file_between(r) : rc;
}
