/* Files with several sites: each has its servers and workers, as numbers or as lists, in its
 * region. They become those of the file, one site after the other; then the layout makes one site
 * of all, or leaves them. */

#include "run/cost/move.h"
#include "run/file/state.h"
#include "sync/mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)RUN_SERVERS_MAX <= (int)MIRROR_SITES_MAX, "each site has a server");

/* The path of what a site has: "sites[3].KEY". */
static const char *sites_path(struct file_path *path, uint32_t site, const char *key)
{
    (void)snprintf(path->chars, sizeof(path->chars), "sites[%u].%s", site, key);
    return path->chars;
}

/* The same in one of its lists: "sites[3].LIST[0].KEY". */
static const char *sites_entry(struct file_path *path, uint32_t site, const char *list,
                               uint32_t index, const char *key)
{
    (void)snprintf(path->chars, sizeof(path->chars), "sites[%u].%s[%u]%s%s", site, list, index,
                   key[0] != '\0' ? "." : "", key);
    return path->chars;
}

/* What the schema found to be a number; zero if nothing is there. */
static uint32_t sites_u32(const struct file_reader *r, const char *path)
{
    const struct run_yaml *node = file_find(r, path);

    return node == NULL ? 0 : (uint32_t)strtoul(node->chars, NULL, 10);
}

/* The same for a text; NULL if nothing is there. */
static const char *sites_text(const struct file_reader *r, const char *path)
{
    const struct run_yaml *node = file_find(r, path);

    return node == NULL ? NULL : node->chars;
}

static enum err sites_name(struct file_reader *r, uint32_t index)
{
    struct run_site *s = &r->f->parts[index];
    struct file_path path;
    enum err rc = file_region(r, sites_path(&path, index, "region"), s->region_name, &s->region);

    s->name = s->name == NULL ? s->region_name : s->name;
    if (rc == OK) {
        rc = file_name(r, sites_path(&path, index, "name"), s->name);
    }
    for (uint32_t i = 0; i < index && rc == OK; i++) {
        if (r->f->parts[i].region == s->region) {
            rc = file_fail(r, ERR_MALFORMED, sites_path(&path, index, "region"),
                           "site '%s' is in %s already: make one site of both", r->f->parts[i].name,
                           s->region_name);
        } else if (strcmp(r->f->parts[i].name, s->name) == 0) {
            rc = file_fail(r, ERR_MALFORMED, sites_path(&path, index, "name"),
                           "sites[%u] is called '%s' too: names have to differ", i, s->name);
        }
    }
    return rc;
}

/* "servers" or "workers" of a site: how many entries there will be, and what a number says. */
static enum err sites_measure(struct file_reader *r, uint32_t index, const char *key, uint32_t most,
                              uint32_t *entries_out, uint32_t *number_out)
{
    struct file_path path;
    const struct run_yaml *node = file_find(r, sites_path(&path, index, key));

    *number_out = 1;
    *entries_out = 1;
    if (node == NULL) {
        return OK;
    }
    if (node->kind == RUN_YAML_LIST) {
        *entries_out = node->count;
        return most == RUN_SERVERS_MAX ? file_check_servers(r, node, path.chars)
                                       : file_check_workers(r, node, path.chars);
    }
    if (node->kind != RUN_YAML_TEXT || node->chars[0] < '1' || node->chars[0] > '9' ||
        strspn(node->chars, "0123456789") != strlen(node->chars) || strlen(node->chars) > 4 ||
        strtoul(node->chars, NULL, 10) > most) {
        return file_fail(r, ERR_MALFORMED, path.chars,
                         "has to be a whole number from 1 to %u, or a list of %s", most, key);
    }
    *number_out = sites_u32(r, path.chars);
    return OK;
}

static enum err sites_server(struct file_reader *r, uint32_t site, uint32_t index, uint32_t lanes)
{
    struct run_site *p = &r->f->parts[site];
    struct run_server *s = &r->f->servers[p->servers_first + index];
    struct file_path path;
    char made[LIMIT_NAME_BYTES + 16];
    const struct run_yaml *node;
    enum err rc;

    s->name = sites_text(r, sites_entry(&path, site, "servers", index, "name"));
    s->edge = sites_text(r, sites_entry(&path, site, "servers", index, "edge"));
    s->agg = sites_text(r, sites_entry(&path, site, "servers", index, "agg"));
    s->region_name = p->region_name;
    s->region = p->region;
    node = file_find(r, sites_entry(&path, site, "servers", index, ""));
    s->line = node == NULL ? p->line : node->place.line;
    (void)snprintf(made, sizeof(made), "%s-s%u", p->name, index);
    if (s->name == NULL && strlen(made) > LIMIT_NAME_BYTES) {
        return file_fail(r, ERR_MALFORMED, path.chars,
                         "is called '%s', which is too long: give the site a shorter name, or its "
                         "servers names",
                         made);
    }
    rc = file_server_name(r, path.chars, p->servers_first + index, made);
    if (rc == OK) {
        s->lanes = sites_u32(r, sites_entry(&path, site, "servers", index, "lanes"));
        rc = file_u32(r, path.chars, &s->lanes, lanes, 1, RUN_SERVER_LANES_MAX);
    }
    return rc;
}

static enum err sites_group(struct file_reader *r, uint32_t site, uint32_t index, uint32_t count)
{
    struct run_site *p = &r->f->parts[site];
    struct run_group *g = &r->f->groups[p->groups_first + index];
    struct file_path path;
    const struct run_yaml *node =
        file_find(r, sites_entry(&path, site, "workers", index, "slowdown"));
    enum err rc;

    g->region_name = p->region_name;
    g->region = p->region;
    g->slowdown = node == NULL ? 0 : strtod(node->chars, NULL);
    rc = file_number(r, path.chars, &g->slowdown, p->slowdown, 0.001, 1000);
    g->edge = sites_text(r, sites_entry(&path, site, "workers", index, "edge"));
    g->agg = sites_text(r, sites_entry(&path, site, "workers", index, "agg"));
    node = file_find(r, sites_entry(&path, site, "workers", index, ""));
    g->line = node == NULL ? p->line : node->place.line;
    if (rc == OK) {
        g->count = sites_u32(r, sites_entry(&path, site, "workers", index, "count"));
        rc = file_u32(r, path.chars, &g->count, count, 1, RUN_WORKERS_MAX);
    }
    if (rc == OK) {
        g->streams = sites_u32(r, sites_entry(&path, site, "workers", index, "streams"));
        rc = file_u32(r, path.chars, &g->streams, p->streams, 1, LIMIT_STREAMS_PER_PEER);
    }
    return rc;
}

/* Room behind what the file has so far. */
static enum err sites_grow(struct file_reader *r, struct run_site *p)
{
    struct run_file *f = r->f;
    struct run_server *servers;
    struct run_group *groups;

    p->servers_first = f->servers_count;
    p->groups_first = f->groups_count;
    p->workers_first = f->workers;
    f->servers_count += p->servers_count;
    f->groups_count += p->groups_count;
    servers = run_arena_realloc(r->arena, f->servers, f->servers_count * sizeof(*servers));
    if (servers == NULL) {
        return ERR_NOMEM;
    }
    f->servers = servers;
    groups = run_arena_realloc(r->arena, f->groups, f->groups_count * sizeof(*groups));
    if (groups == NULL) {
        return ERR_NOMEM;
    }
    f->groups = groups;
    return OK;
}

/* What the members of a site have unless they say otherwise. */
static enum err sites_defaults(struct file_reader *r, uint32_t index)
{
    struct run_site *p = &r->f->parts[index];
    struct file_path path;
    enum err rc =
        file_u32(r, sites_path(&path, index, "lanes"), &p->lanes, 1, 1, RUN_SERVER_LANES_MAX);

    if (rc == OK) {
        rc = file_u32(r, sites_path(&path, index, "streams"), &p->streams, 1, 1,
                      LIMIT_STREAMS_PER_PEER);
    }
    return rc == OK
               ? file_number(r, sites_path(&path, index, "slowdown"), &p->slowdown, 1, 0.001, 1000)
               : rc;
}

static enum err sites_members(struct file_reader *r, uint32_t index)
{
    struct run_file *f = r->f;
    struct run_site *p = &f->parts[index];
    uint32_t servers = 0, workers = 0, lanes = 0;
    enum err rc = sites_measure(r, index, "servers", RUN_SERVERS_MAX, &p->servers_count, &servers);

    if (rc == OK) {
        rc = sites_measure(r, index, "workers", RUN_WORKERS_MAX, &p->groups_count, &workers);
    }
    p->servers_count = p->servers_count > servers ? p->servers_count : servers;
    if (rc == OK && f->servers_count + p->servers_count > RUN_SERVERS_MAX) {
        return file_fail(r, ERR_MALFORMED, "sites",
                         "have %u servers up to '%s': at most %d are "
                         "allowed in all",
                         f->servers_count + p->servers_count, p->name, RUN_SERVERS_MAX);
    }
    if (rc == OK) {
        rc = sites_grow(r, p);
    }
    for (uint32_t i = 0; i < p->servers_count && rc == OK; i++) {
        rc = sites_server(r, index, i, p->lanes);
        lanes += f->servers[p->servers_first + i].lanes;
    }
    for (uint32_t i = 0; i < p->groups_count && rc == OK; i++) {
        rc = sites_group(r, index, i, workers);
        p->workers += f->groups[p->groups_first + i].count;
    }
    p->lanes = lanes;
    f->workers += p->workers;
    return rc;
}

/* Shard s is on the same lane everywhere, and every site talks with every other one, unless some
 * pass on what is for others. */
static enum err sites_match(const struct file_reader *r, uint32_t index)
{
    const struct run_file *f = r->f;
    const struct run_site *p = &f->parts[index];
    struct file_path path;

    if (p->lanes != f->parts[0].lanes) {
        (void)snprintf(path.chars, sizeof(path.chars), "sites[%u]", index);
        return file_fail(r, ERR_MALFORMED, path.chars,
                         "'%s' has %u lanes in all, and '%s' has %u: all sites must have as many; "
                         "change its servers or their lanes",
                         p->name, p->lanes, f->parts[0].name, f->parts[0].lanes);
    }
    for (uint32_t i = 0; i < index && f->between.preset != RUN_CENTRAL; i++) {
        const struct run_site *o = &f->parts[i];
        bool there = topo_link_between(f->topo, p->region, o->region) != NULL;
        bool back = topo_link_between(f->topo, o->region, p->region) != NULL;

        if (!there || !back) {
            return file_fail(r, ERR_MALFORMED, sites_path(&path, index, "region"),
                             "the topology has no link from %.64s to %.64s, and site %.64s is in "
                             "%.64s: add the link, or a default_link",
                             there ? o->region_name : p->region_name,
                             there ? p->region_name : o->region_name, o->name, o->region_name);
        }
    }
    return OK;
}

/* All of them as one site, everybody where he is, or all in one region. */
static enum err sites_join(struct file_reader *r, uint32_t lan_region)
{
    struct run_file *f = r->f;
    struct run_site *one = run_arena_alloc(r->arena, 1, sizeof(*one));
    bool lan = f->layout != RUN_PLAIN;

    if (one == NULL) {
        return ERR_NOMEM;
    }
    *one = (struct run_site){.name = f->name,
                             .region_name = lan ? f->lan_region : NULL,
                             .region = lan ? lan_region : 0,
                             .servers_count = f->servers_count,
                             .groups_count = f->groups_count,
                             .workers = f->workers};
    for (uint32_t i = 0; i < f->parts_count; i++) {
        one->lanes += f->parts[i].lanes;
    }
    for (uint32_t i = 0; i < f->servers_count && lan; i++) {
        f->servers[i].region = lan_region;
        f->servers[i].region_name = f->lan_region;
    }
    for (uint32_t i = 0; i < f->groups_count && lan; i++) {
        f->groups[i].region = lan_region;
        f->groups[i].region_name = f->lan_region;
    }
    f->sites = one;
    f->sites_count = 1;
    return OK;
}

/* In which region one site would be, and whether all data can go there if it has to. */
static enum err sites_lan(struct file_reader *r, uint32_t *region_out)
{
    struct run_file *f = r->f;
    bool moves = f->layout == RUN_CENTRALISED;
    enum err rc;

    if (moves && file_find(r, "job.data_gb") == NULL) {
        return file_fail(r, ERR_MALFORMED, "layout",
                         "'centralised' moves the data first, and nobody says how much that is: "
                         "write job: {data_gb: 100}, the gigabytes of all workers' data together");
    }
    f->lan_region_said = f->lan_region != NULL;
    if (!f->lan_region_said) {
        *region_out = moves ? run_move_cheapest(f) : f->parts[0].region;
        f->lan_region = topo_region_at(f->topo, *region_out)->name;
        return OK;
    }
    rc = file_region(r, "lan_region", f->lan_region, region_out);
    for (uint32_t i = 0; i < f->parts_count && rc == OK && moves; i++) {
        if (topo_link_between(f->topo, f->parts[i].region, *region_out) == NULL) {
            rc =
                file_fail(r, ERR_MALFORMED, "lan_region",
                          "the topology has no link from %.64s to %.64s: add it, or choose another "
                          "region",
                          f->parts[i].region_name, f->lan_region);
        }
    }
    return rc;
}

enum err file_sites(struct file_reader *r)
{
    struct run_file *f = r->f;
    uint32_t lan_region = 0;
    enum err rc = OK;

    f->parts = f->sites;
    f->parts_count = f->sites_count;
    for (uint32_t i = 0; i < f->parts_count && rc == OK; i++) {
        struct file_path path;

        (void)snprintf(path.chars, sizeof(path.chars), "sites[%u]", i);
        f->parts[i].line = file_find(r, path.chars)->place.line;
        rc = sites_name(r, i);
        if (rc == OK) {
            rc = sites_defaults(r, i);
        }
        if (rc == OK) {
            rc = sites_members(r, i);
        }
        if (rc == OK) {
            rc = sites_match(r, i);
        }
    }
    if (rc == OK) {
        rc = sites_lan(r, &lan_region);
    }
    return rc == OK && f->layout != RUN_SITES ? sites_join(r, lan_region) : rc;
}

const struct run_site *run_worker_site(const struct run_file *f, uint32_t worker)
{
    uint32_t i = 0;

    CHECK(worker < f->workers);
    while (worker >= f->sites[i].workers_first + f->sites[i].workers) {
        i++;
    }
    return &f->sites[i];
}
