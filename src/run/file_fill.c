/* What libcyaml loaded becomes a run: defaults, limits, names, and what has to go together. */

#include "base/nearest.h"
#include "base/units.h"
#include "run/file_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    FILL_KEEP_MAX = 100,          /* Checkpoints. */
    FILL_CLOCKS_MAX = 1000000000, /* Between checkpoints or evaluations, and in all. */
};

#define FILL_DEADLINE_NS INT64_C(120000000000)       /* 120 s (D3). */
#define FILL_DEADLINE_MAX_NS INT64_C(86400000000000) /* A day. */
#define FILL_TIME_MAX_NS INT64_C(31622400000000000)  /* A year. */

static enum err fill_whole(const struct file_reader *r, const char *path, uint64_t *value,
                           uint64_t fallback, uint64_t least, uint64_t most)
{
    if (file_find(r, path) == NULL) {
        *value = fallback;
        return OK;
    }
    if (*value < least || *value > most) {
        return file_fail(r, ERR_MALFORMED, path,
                         "%" PRIu64 " is out of range: write a whole number from %" PRIu64
                         " to %" PRIu64,
                         *value, least, most);
    }
    return OK;
}

static enum err fill_u32(const struct file_reader *r, const char *path, uint32_t *value,
                         uint32_t fallback, uint32_t least, uint32_t most)
{
    uint64_t whole = *value;
    enum err rc = fill_whole(r, path, &whole, fallback, least, most);

    if (rc == OK) {
        *value = (uint32_t)whole;
    }
    return rc;
}

static enum err fill_number(const struct file_reader *r, const char *path, double *value,
                            double fallback, double least, double most)
{
    if (file_find(r, path) == NULL) {
        *value = fallback;
        return OK;
    }
    if (!(*value >= least && *value <= most)) {
        return file_fail(r, ERR_MALFORMED, path, "%g is out of range: write a number from %g to %g",
                         *value, least, most);
    }
    return OK;
}

static enum err fill_time(const struct file_reader *r, const char *path, int64_t *ns_out,
                          int64_t fallback, int64_t least, int64_t most)
{
    const struct run_yaml *node = file_find(r, path);
    struct units_text low, high;
    struct err_text why;
    int64_t ns = 0;
    enum err rc;

    if (node == NULL) {
        *ns_out = fallback;
        return OK;
    }
    if (node->kind != RUN_YAML_TEXT) {
        return file_fail(r, ERR_MALFORMED, path, "has to be a time, such as 120s, but is %s",
                         run_yaml_kind_name(node->kind));
    }
    rc = units_time_parse(node->chars, &ns, &why);
    if (rc != OK) {
        return file_fail(r, ERR_MALFORMED, path, "%.300s", why.text);
    }
    if (ns < least || ns > most) {
        return file_fail(r, ERR_MALFORMED, path, "is out of range: write a time from %s to %s",
                         units_time_print(least, &low), units_time_print(most, &high));
    }
    *ns_out = ns;
    return OK;
}

static enum err fill_name(const struct file_reader *r, const char *path, const char *name)
{
    if (!topo_name_valid(name)) {
        return file_fail(r, ERR_MALFORMED, path,
                         "'%.40s' is not a name: use 1 to %d of the characters A-Z a-z 0-9 . _ -",
                         name, LIMIT_NAME_BYTES);
    }
    return OK;
}

static enum err fill_region(const struct file_reader *r, const char *path, const char *name,
                            uint32_t *index_out)
{
    const struct topo *t = r->f->topo;
    struct nearest near;

    if (topo_region_find(t, name, index_out)) {
        return OK;
    }
    nearest_init(&near, name);
    for (uint32_t i = 0; i < topo_regions(t); i++) {
        nearest_offer(&near, topo_region_at(t, i)->name);
    }
    return file_fail(r, ERR_MALFORMED, path, "there is no region '%.40s' in the topology: %s", name,
                     nearest_hint(&near, "the regions are"));
}

/* Workers are w0, w1, ...: a server of such a name could not be told from them. */
static bool fill_is_worker(const char *name)
{
    return name[0] == 'w' && name[1] != '\0' && strspn(name + 1, "0123456789") == strlen(name + 1);
}

static enum err fill_server_name(struct file_reader *r, const char *entry, uint32_t index)
{
    struct run_server *s = &r->f->servers[index];
    struct file_path path;
    char made[16];
    enum err rc = OK;

    (void)snprintf(path.chars, sizeof(path.chars), "%.40s.name", entry);
    if (s->name == NULL) {
        (void)snprintf(made, sizeof(made), "s%u", index);
        s->name = run_arena_strdup(r->arena, made);
        rc = s->name == NULL ? ERR_NOMEM : OK;
    } else {
        rc = fill_name(r, path.chars, s->name);
    }
    if (rc == OK && fill_is_worker(s->name)) {
        return file_fail(r, ERR_MALFORMED, path.chars,
                         "'%s' is the name of a worker: workers are called w0, w1, ...", s->name);
    }
    for (uint32_t i = 0; i < index && rc == OK; i++) {
        if (strcmp(r->f->servers[i].name, s->name) == 0) {
            rc = file_fail(r, ERR_MALFORMED, path.chars,
                           "servers[%u] is called '%s' too: names have to differ", i, s->name);
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

        (void)snprintf(entry.chars, sizeof(entry.chars), "servers[%u]", i);
        s->line = file_find(r, entry.chars)->place.line;
        rc = fill_server_name(r, entry.chars, i);
        if (rc == OK) {
            (void)snprintf(path.chars, sizeof(path.chars), "servers[%u].region", i);
            rc = fill_region(r, path.chars, s->region_name, &s->region);
        }
        if (rc == OK) {
            (void)snprintf(path.chars, sizeof(path.chars), "servers[%u].lanes", i);
            rc = fill_u32(r, path.chars, &s->lanes, 1, 1, RUN_SERVER_LANES_MAX);
        }
        f->lanes += s->lanes;
    }
    if (rc == OK && f->lanes > NODE_LANES_MAX) {
        return file_fail(r, ERR_MALFORMED, "servers",
                         "have %u lanes in all: at most %d are allowed", f->lanes, NODE_LANES_MAX);
    }
    if (rc == OK && file_find(r, "shards") != NULL && f->shards < f->lanes) {
        return file_fail(r, ERR_MALFORMED, "shards",
                         "%u are too few for %u lanes: write %u to %d, or leave it out", f->shards,
                         f->lanes, f->lanes, NODE_SHARDS_MAX);
    }
    return rc == OK ? fill_u32(r, "shards", &f->shards, f->lanes, f->lanes, NODE_SHARDS_MAX) : rc;
}

static enum err fill_group(struct file_reader *r, uint32_t index)
{
    struct run_group *g = &r->f->groups[index];
    struct file_path path;
    enum err rc;

    (void)snprintf(path.chars, sizeof(path.chars), "workers[%u]", index);
    g->line = file_find(r, path.chars)->place.line;
    (void)snprintf(path.chars, sizeof(path.chars), "workers[%u].region", index);
    rc = fill_region(r, path.chars, g->region_name, &g->region);
    if (rc == OK) {
        (void)snprintf(path.chars, sizeof(path.chars), "workers[%u].count", index);
        rc = fill_u32(r, path.chars, &g->count, 1, 1, RUN_WORKERS_MAX);
    }
    if (rc == OK) {
        (void)snprintf(path.chars, sizeof(path.chars), "workers[%u].streams", index);
        rc = fill_u32(r, path.chars, &g->streams, 1, 1, LIMIT_STREAMS_PER_PEER);
    }
    if (rc == OK) {
        (void)snprintf(path.chars, sizeof(path.chars), "workers[%u].slowdown", index);
        rc = fill_number(r, path.chars, &g->slowdown, 1, 0.001, 1000);
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
    if (rc == OK && f->workers > RUN_WORKERS_MAX) {
        return file_fail(r, ERR_MALFORMED, "workers", "are %u in all: at most %d are allowed",
                         f->workers, RUN_WORKERS_MAX);
    }
    return rc;
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

static enum err fill_job_data(struct file_reader *r)
{
    struct run_job *job = &r->f->job;
    size_t size;
    char *path;

    if (job->data == NULL) {
        job->data = "";
    }
    if (job->data[0] == '\0' || job->data[0] == '/' || r->data_folder == NULL) {
        return OK;
    }
    size = strlen(r->data_folder) + 1 + strlen(job->data) + 1;
    path = run_arena_alloc(r->arena, 1, size);
    if (path == NULL) {
        return ERR_NOMEM;
    }
    (void)snprintf(path, size, "%s/%s", r->data_folder, job->data);
    job->data = path;
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
        rc = fill_job_data(r);
    }
    return rc == OK ? fill_options(r) : rc;
}

static enum err fill_sync(struct file_reader *r)
{
    struct run_sync *s = &r->f->sync;
    const char *barrier = run_barrier_name(s->barrier);

    if (s->barrier != RUN_SSP && file_find(r, "sync.staleness") != NULL) {
        return file_fail(r, ERR_MALFORMED, "sync.staleness",
                         "belongs to the barrier ssp, and the barrier is %s: leave it out, or "
                         "write 'barrier: ssp'",
                         barrier);
    }
    if (s->order == RUN_FIXED && s->barrier != RUN_BSP) {
        return file_fail(r, ERR_MALFORMED, "sync.order",
                         "'fixed' belongs to the barrier bsp, and the barrier is %s: leave it out, "
                         "or write 'barrier: bsp'",
                         barrier);
    }
    if (s->barrier == RUN_SSP) {
        enum err rc = fill_u32(r, "sync.staleness", &s->staleness, 2, 0, SYNC_STALENESS_MAX);

        if (rc != OK) {
            return rc;
        }
    }
    return fill_time(r, "sync.deadline", &s->deadline_ns, FILL_DEADLINE_NS, 0,
                     FILL_DEADLINE_MAX_NS);
}

static enum err fill_stop(struct file_reader *r)
{
    struct run_stop *s = &r->f->stop;
    enum err rc = fill_whole(r, "stop.clocks", &s->clocks, 0, 1, FILL_CLOCKS_MAX);

    s->has_objective = file_find(r, "stop.objective") != NULL;
    if (rc == OK) {
        rc = fill_number(r, "stop.accuracy", &s->accuracy, 0, 0.001, 1);
    }
    if (rc == OK) {
        rc = fill_time(r, "stop.time", &s->time_ns, 0, 1, FILL_TIME_MAX_NS);
    }
    if (rc == OK && file_find(r, "stop")->count == 0) {
        return file_fail(r, ERR_MALFORMED, "stop",
                         "nothing ends the run: write one of clocks, objective, accuracy, time");
    }
    if (rc == OK && r->f->evaluate.every == 0 && (s->has_objective || s->accuracy > 0)) {
        return file_fail(r, ERR_MALFORMED, s->has_objective ? "stop.objective" : "stop.accuracy",
                         "needs evaluations, and evaluate.every is 0: write a number of clocks");
    }
    return rc;
}

static enum err fill_figures(struct file_reader *r)
{
    struct run_file *f = r->f;
    enum err rc = fill_name(r, "run", f->name);

    if (rc == OK) {
        rc = fill_whole(r, "seed", &f->seed, 1, 0, UINT64_MAX);
    }
    if (rc == OK) {
        rc = fill_u32(r, "checkpoint.every", &f->checkpoint.every, 0, 0, FILL_CLOCKS_MAX);
    }
    if (rc == OK) {
        rc = fill_u32(r, "checkpoint.keep", &f->checkpoint.keep, 2, 1, FILL_KEEP_MAX);
    }
    if (rc == OK) {
        rc = fill_u32(r, "evaluate.every", &f->evaluate.every, 10, 0, FILL_CLOCKS_MAX);
    }
    if (rc == OK) {
        rc = fill_u32(r, "state.every", &f->state.every, 0, 0, FILL_CLOCKS_MAX);
    }
    return rc == OK ? fill_number(r, "compute.gflops", &f->compute.gflops, 20, 0.001, 100000) : rc;
}

enum err file_fill(struct file_reader *r)
{
    enum err rc = fill_figures(r);

    if (rc == OK) {
        rc = fill_servers(r);
    }
    if (rc == OK) {
        rc = fill_groups(r);
    }
    if (rc == OK) {
        rc = fill_job(r);
    }
    if (rc == OK) {
        rc = fill_sync(r);
    }
    return rc == OK ? fill_stop(r) : rc;
}
