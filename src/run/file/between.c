/* How the sites of a run share, in which groups, and what it may cost. */

#include "base/nearest.h"
#include "node/site/between.h"
#include "run/file/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BETWEEN_AWAY_MAX_NS INT64_C(86400000000000) /* A day. */
#define BETWEEN_USD_MAX 1e9
#define BETWEEN_GB_MAX 1e9

static enum err between_threshold(struct file_reader *r)
{
    const struct run_yaml *node = file_find(r, "between.threshold");
    struct run_between *b = &r->f->between;
    struct err_text why = {""};

    b->threshold = 0.01;
    if (node == NULL) {
        return OK;
    }
    if (node->kind != RUN_YAML_TEXT || !file_read_part(node->chars, &b->threshold)) {
        return file_fail(r, ERR_MALFORMED, "between.threshold",
                         "has to be a number or a percentage, such as 0.01 or 1%%");
    }
    return codec_threshold_check("the threshold", b->threshold, &why) == OK
               ? OK
               : file_fail(r, ERR_MALFORMED, "between.threshold", "%.300s", why.text);
}

static enum err between_staleness(struct file_reader *r)
{
    const struct run_yaml *node = file_find(r, "between.staleness");
    struct run_between *b = &r->f->between;
    const char *c = node == NULL || node->kind != RUN_YAML_TEXT ? "" : node->chars;

    if (node == NULL) {
        b->staleness = b->preset == RUN_ASYNC ? MIRROR_UNBOUNDED : NODE_BETWEEN_STALENESS;
        return OK;
    }
    if (strcmp(c, "none") == 0) {
        b->staleness = MIRROR_UNBOUNDED;
        return OK;
    }
    if (c[0] == '\0' || strlen(c) > 8 || strspn(c, "0123456789") != strlen(c) ||
        (c[0] == '0' && c[1] != '\0') || strtoul(c, NULL, 10) > MIRROR_STALENESS_MAX) {
        return file_fail(r, ERR_MALFORMED, "between.staleness",
                         "has to be a whole number of clocks from 0 to %d, or none",
                         MIRROR_STALENESS_MAX);
    }
    b->staleness = strtoul(c, NULL, 10);
    return OK;
}

static enum err between_fresh(struct file_reader *r)
{
    const struct run_yaml *node = file_find(r, "between.fresh");
    struct run_between *b = &r->f->between;

    if (node == NULL) {
        b->fresh = b->preset == RUN_ASYNC ? 0 : NODE_BETWEEN_FRESH;
        return OK;
    }
    if (node->kind != RUN_YAML_TEXT || !file_read_part(node->chars, &b->fresh) ||
        !(b->fresh >= 0 && b->fresh <= 1)) {
        return file_fail(r, ERR_MALFORMED, "between.fresh",
                         "has to be a part of a clock, 0 to 1 or a percentage, such as 5%%");
    }
    return OK;
}

/* The function of a custom significance is in a library, and only that is. */
static enum err between_library(struct file_reader *r)
{
    struct run_between *b = &r->f->between;
    bool custom = b->filter.measure == CODEC_CUSTOM;

    b->library = b->library == NULL ? "" : b->library;
    if (custom && b->library[0] == '\0') {
        return file_fail(r, ERR_MALFORMED, "between.significance",
                         "needs the library that has 'strait_significance_%s': write 'library: "
                         "PATH' beside it",
                         b->filter.name);
    }
    if (!custom && b->library[0] != '\0') {
        return file_fail(r, ERR_MALFORMED, "between.library",
                         "is for 'significance: custom NAME': leave it out, or write that");
    }
    return file_path_from_here(r, &b->library);
}

static enum err between_filter(struct file_reader *r)
{
    struct run_between *b = &r->f->between;
    struct err_text why = {""};
    bool grain = b->grain != NULL;
    bool good = codec_filter_parse(b->significance, NULL, &b->filter, &why) == OK;

    if (!good) {
        return file_fail(r, ERR_MALFORMED, "between.significance", "%.300s", why.text);
    }
    if (grain && codec_filter_parse(b->significance, b->grain, &b->filter, &why) != OK) {
        return file_fail(r, ERR_MALFORMED, "between.grain", "%.300s", why.text);
    }
    return between_library(r);
}

static enum err between_figures(struct file_reader *r)
{
    struct run_between *b = &r->f->between;
    enum err rc = between_filter(r);

    if (file_find(r, "between.barrier") == NULL) {
        b->barrier = b->preset != RUN_ASYNC;
    }
    if (rc == OK) {
        rc = between_threshold(r);
    }
    if (rc == OK) {
        rc = between_staleness(r);
    }
    if (rc == OK) {
        rc = between_fresh(r);
    }
    if (rc == OK) {
        rc = file_u32(r, "between.streams", &b->streams, NODE_BETWEEN_STREAMS, 1,
                      LIMIT_STREAMS_PER_PEER);
    }
    return rc == OK ? file_time(r, "between.away", &b->away_ns,
                                (b->preset == RUN_CENTRAL ? (int64_t)NODE_CENTRAL_AWAY_S
                                                          : (int64_t)NODE_BETWEEN_AWAY_S) *
                                    1000000000,
                                0, BETWEEN_AWAY_MAX_NS)
                    : rc;
}

/* Groups of sites. */

enum err file_between_site(const struct file_reader *r, const struct run_yaml *node,
                           const char *path, bool regions, uint32_t *index_out)
{
    const struct run_file *f = r->f;
    struct nearest near;

    nearest_init(&near, node->chars);
    for (uint32_t i = 0; i < f->parts_count; i++) {
        if (strcmp(f->parts[i].name, node->chars) == 0) {
            *index_out = i;
            return OK;
        }
        nearest_offer(&near, f->parts[i].name);
    }
    for (uint32_t i = 0; i < f->parts_count && regions; i++) {
        if (strcmp(f->parts[i].region_name, node->chars) == 0) {
            *index_out = i;
            return OK;
        }
    }
    return file_fail_at(r, ERR_MALFORMED, node->place, path, "there is no site '%.40s': %s",
                        node->chars, nearest_hint(&near, "the sites are"));
}

static enum err between_circle(struct file_reader *r, uint32_t index, bool *taken)
{
    struct run_between *b = &r->f->between;
    struct run_circle *c = &b->circles[index];
    struct file_path path;
    enum err rc;

    (void)snprintf(path.chars, sizeof(path.chars), "between.groups[%u].name", index);
    rc = file_name(r, path.chars, c->name);
    for (uint32_t i = 0; i < index && rc == OK; i++) {
        if (strcmp(b->circles[i].name, c->name) == 0) {
            rc = file_fail(r, ERR_MALFORMED, path.chars,
                           "groups[%u] is called '%s' too: names have to differ", i, c->name);
        }
    }
    for (uint32_t i = 0; i < c->sites_count && rc == OK; i++) {
        uint32_t site = 0;

        (void)snprintf(path.chars, sizeof(path.chars), "between.groups[%u].sites[%u]", index, i);
        rc = file_between_site(r, file_find(r, path.chars), path.chars, false, &site);
        if (rc == OK && taken[site]) {
            rc = file_fail(r, ERR_MALFORMED, path.chars,
                           "site '%s' is in group '%s' already: a site is in one group",
                           r->f->parts[site].name, b->circles[r->f->parts[site].circle].name);
        }
        if (rc == OK) {
            taken[site] = true;
            r->f->parts[site].circle = index;
        }
    }
    return rc;
}

/* One hub of a list, or the only one. */
static enum err between_hub(const struct file_reader *r, uint32_t index,
                            const struct run_yaml *node, struct run_hubs *h)
{
    const struct run_file *f = r->f;
    struct file_path path;
    uint32_t site = 0;
    enum err rc;

    (void)snprintf(path.chars, sizeof(path.chars), "between.groups[%u].hubs", index);
    if (node->kind != RUN_YAML_TEXT) {
        return file_fail_at(r, ERR_MALFORMED, node->place, path.chars,
                            "a hub has to be the name of a site, but is %s",
                            run_yaml_kind_name(node->kind));
    }
    rc = file_between_site(r, node, path.chars, false, &site);
    if (rc == OK && f->parts[site].circle != index) {
        return file_fail_at(r, ERR_MALFORMED, node->place, path.chars,
                            "site '%s' is in group '%s': a hub is a site of its own group, '%s'",
                            f->parts[site].name, f->between.circles[f->parts[site].circle].name,
                            f->between.circles[index].name);
    }
    for (uint32_t i = 0; i < h->count && rc == OK; i++) {
        if (h->sites[i] == site) {
            rc = file_fail_at(r, ERR_MALFORMED, node->place, path.chars,
                              "'%s' is named twice: leave one out", f->parts[site].name);
        }
    }
    if (rc == OK) {
        h->sites[h->count++] = site;
    }
    return rc;
}

/* "GROUP: SITE" or "GROUP: [SITE, ...]" */
static enum err between_hubs_of(struct file_reader *r, uint32_t index, const struct run_yaml *node,
                                struct run_hubs *h)
{
    const struct run_between *b = &r->f->between;
    uint32_t count = node->kind == RUN_YAML_TEXT ? 1 : node->count;
    struct file_path path;
    struct nearest near;
    enum err rc = OK;

    (void)snprintf(path.chars, sizeof(path.chars), "between.groups[%u].hubs", index);
    nearest_init(&near, node->key);
    for (h->to = 0; h->to < b->circles_count; h->to++) {
        if (strcmp(b->circles[h->to].name, node->key) == 0) {
            break;
        }
        nearest_offer(&near, b->circles[h->to].name);
    }
    if (h->to == b->circles_count) {
        return file_fail_at(r, ERR_MALFORMED, node->key_place, path.chars,
                            "there is no group '%.40s': %s", node->key,
                            nearest_hint(&near, "the groups are"));
    }
    if (h->to == index) {
        return file_fail_at(r, ERR_MALFORMED, node->key_place, path.chars,
                            "'%.40s' is this group: name hubs for the others", node->key);
    }
    if (node->kind == RUN_YAML_MAPPING || count == 0 || count > r->f->parts_count) {
        return file_fail_at(r, ERR_MALFORMED, node->place, path.chars,
                            "has to be the name of a site, or a list of them");
    }
    h->sites = run_arena_alloc(r->arena, count, sizeof(*h->sites));
    if (h->sites == NULL) {
        return ERR_NOMEM;
    }
    if (node->kind == RUN_YAML_TEXT) {
        return between_hub(r, index, node, h);
    }
    for (const struct run_yaml *n = node->first; n != NULL && rc == OK; n = n->next) {
        rc = between_hub(r, index, n, h);
    }
    return rc;
}

static enum err between_hubs(struct file_reader *r, uint32_t index)
{
    struct run_circle *c = &r->f->between.circles[index];
    const struct run_yaml *node;
    struct file_path path;
    enum err rc = OK;

    (void)snprintf(path.chars, sizeof(path.chars), "between.groups[%u].hubs", index);
    node = file_find(r, path.chars);
    if (node == NULL) {
        return OK;
    }
    if (node->kind != RUN_YAML_MAPPING) {
        return file_fail(r, ERR_MALFORMED, path.chars,
                         "has to be a mapping (group: site), but is %s",
                         run_yaml_kind_name(node->kind));
    }
    c->hubs = run_arena_alloc(r->arena, node->count, sizeof(*c->hubs));
    if (c->hubs == NULL) {
        return ERR_NOMEM;
    }
    for (const struct run_yaml *n = node->first; n != NULL && rc == OK; n = n->next) {
        rc = between_hubs_of(r, index, n, &c->hubs[c->hubs_count++]);
    }
    return rc;
}

static enum err between_circles(struct file_reader *r)
{
    const struct run_between *b = &r->f->between;
    bool taken[MIRROR_SITES_MAX] = {false};
    enum err rc = OK;

    for (uint32_t i = 0; i < b->circles_count && rc == OK; i++) {
        rc = between_circle(r, i, taken);
    }
    for (uint32_t i = 0; i < r->f->parts_count && rc == OK && b->circles_count > 0; i++) {
        if (!taken[i]) {
            rc = file_fail(r, ERR_MALFORMED, "between.groups",
                           "site '%s' is in no group: add it to one", r->f->parts[i].name);
        }
    }
    for (uint32_t i = 0; i < b->circles_count && rc == OK; i++) {
        rc = between_hubs(r, i);
    }
    return rc;
}

/* Money. */

/* The only class that any region has a price of, else "cpu". */
static const char *between_machine(const struct topo *t)
{
    const char *only = NULL;

    for (uint32_t i = 0; i < topo_regions(t); i++) {
        const struct topo_region *region = topo_region_at(t, i);

        for (uint32_t k = 0; k < region->prices_count; k++) {
            const char *class = region->prices[k].class;

            if (class[0] == '\0' || (only != NULL && strcmp(only, class) != 0)) {
                return "cpu";
            }
            only = class;
        }
    }
    return only == NULL ? "cpu" : only;
}

/* Prices that @path needs: those of the links between regions in which somebody is. */
static enum err between_priced(const struct file_reader *r, const char *path)
{
    const struct run_file *f = r->f;
    bool here[TOPO_REGIONS_MAX] = {false};

    for (uint32_t i = 0; i < f->servers_count; i++) {
        here[f->servers[i].region] = true;
    }
    for (uint32_t i = 0; i < f->groups_count; i++) {
        here[f->groups[i].region] = true;
    }
    for (uint32_t i = 0; i < f->parts_count && f->layout == RUN_CENTRALISED; i++) {
        here[f->parts[i].region] = true;
    }
    for (uint32_t i = 0; i < topo_regions(f->topo); i++) {
        for (uint32_t k = 0; k < topo_regions(f->topo); k++) {
            const struct topo_link *link = topo_link_between(f->topo, i, k);

            if (i != k && here[i] && here[k] && link != NULL && !link->priced) {
                return file_fail(r, ERR_MALFORMED, path,
                                 "needs prices, and the link from %s to %s has none: add a price "
                                 "(dollars per gigabyte, 0 if it is free) to it",
                                 topo_region_at(f->topo, i)->name,
                                 topo_region_at(f->topo, k)->name);
            }
        }
    }
    return OK;
}

enum err file_machine(struct file_reader *r)
{
    struct run_file *f = r->f;

    f->machine_said = f->machine != NULL;
    if (!f->machine_said) {
        f->machine = between_machine(f->topo);
    }
    if (!topo_class_valid(f->machine)) {
        return file_fail(r, ERR_MALFORMED, "machine",
                         "'%.40s' is not a class of machines: use 1 to %d of the characters "
                         "a-z 0-9 -",
                         f->machine, TOPO_CLASS_BYTES - 1);
    }
    return OK;
}

/* Whoever names a class wants to know what it costs. */
static enum err between_machines(const struct file_reader *r)
{
    const struct run_file *f = r->f;
    uint64_t price;

    for (uint32_t i = 0; i < f->groups_count && f->machine_said; i++) {
        if (!topo_region_price(f->topo, f->groups[i].region, f->machine, &price)) {
            return file_fail(r, ERR_MALFORMED, "machine",
                             "region %s has no price for machines of class '%s': add it to the "
                             "usd_per_hour of that region, or leave 'machine' out",
                             f->groups[i].region_name, f->machine);
        }
    }
    return f->machine_said ? between_priced(r, "machine") : OK;
}

static enum err between_budget(struct file_reader *r)
{
    struct run_budget *b = &r->f->budget;
    enum err rc = OK;

    if (file_find(r, "budget") == NULL) {
        return OK;
    }
    if (file_find(r, "budget")->count == 0) {
        return file_fail(r, ERR_MALFORMED, "budget", "write max_usd, max_gb or both");
    }
    rc = file_number(r, "budget.max_usd", &b->max_usd, 0, 1e-6, BETWEEN_USD_MAX);
    if (rc == OK) {
        rc = file_number(r, "budget.max_gb", &b->max_gb, 0, 1e-6, BETWEEN_GB_MAX);
    }
    return rc == OK && b->max_usd > 0 ? between_priced(r, "budget.max_usd") : rc;
}

enum err file_between_terms(struct file_reader *r)
{
    enum err rc = file_central(r);

    if (rc == OK) {
        rc = between_figures(r);
    }
    return rc == OK ? between_circles(r) : rc;
}

enum err file_between(struct file_reader *r)
{
    enum err rc = file_between_terms(r);

    if (rc == OK) {
        rc = between_machines(r);
    }
    return rc == OK ? between_budget(r) : rc;
}
