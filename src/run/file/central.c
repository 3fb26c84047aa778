/* Rounds of sites around a centre (preset central): who may be it, by which links sites are joined,
 * and the plan to begin with, which is written here or is what `strait plan place --json` said. */

#include "base/text.h"
#include "base/units.h"
#include "node/site/between.h"
#include "run/file/state.h"
#include "topo/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CENTRAL_JOINS_MAX = TOPO_REGIONS_MAX * (TOPO_REGIONS_MAX - 1) / 2 };

#define CENTRAL_MOVE_GAIN 0.1
#define CENTRAL_REPLAN 0.25
#define CENTRAL_MBPS_MAX 1e9

_Static_assert((int)TOPO_REGIONS_MAX <= (int)CENTRAL_SITES_MAX, "each site has a region");

/* Which keys go with which preset. */
static enum err central_keys(const struct file_reader *r)
{
    static const char *const theirs[] = {"significance", "library", "grain", "threshold", "goal",
                                         "staleness",    "barrier", "fresh", "weight",    "groups"};
    static const char *const ours[] = {"centre",    "no_centre", "no_relay", "reserve",
                                       "move_gain", "replan",    "plan"};
    bool central = r->f->between.preset == RUN_CENTRAL;
    const char *const *names = central ? theirs : ours;
    size_t count = central ? sizeof(theirs) / sizeof(theirs[0]) : sizeof(ours) / sizeof(ours[0]);

    for (size_t i = 0; i < count; i++) {
        struct file_path path;

        (void)snprintf(path.chars, sizeof(path.chars), "between.%s", names[i]);
        if (file_find(r, path.chars) != NULL) {
            return file_fail(r, ERR_MALFORMED, path.chars,
                             central ? "is not for 'preset: central', where all that changes is "
                                       "sent, and waited for, in every round: leave it out"
                                     : "belongs to 'preset: central': leave it out, or write that");
        }
    }
    if (r->places && !central && file_find(r, "links") != NULL) {
        return file_fail(r, ERR_MALFORMED, "links",
                         "belong to 'preset: central': leave them out, or write between: "
                         "{preset: central}");
    }
    return OK;
}

/* What else a run with rounds around a centre can not have. */
static enum err central_goes_with(const struct file_reader *r)
{
    const struct run_file *f = r->f;

    if (!r->places && f->sync.barrier != RUN_BSP) {
        return file_fail(r, ERR_MALFORMED, "sync.barrier",
                         "'%s' does not go with between.preset central, whose rounds have all "
                         "workers of all sites in them: write bsp",
                         run_barrier_name(f->sync.barrier));
    }
    if (file_find(r, "budget") != NULL) {
        return file_fail(r, ERR_MALFORMED, "budget",
                         "does not go with between.preset central, which sends the same in every "
                         "round: leave it out, or take preset gaia");
    }
    return OK;
}

/* Sites. */

static enum err central_bits(const struct file_reader *r, const char *key, uint32_t count,
                             uint64_t *bits)
{
    enum err rc = OK;

    for (uint32_t i = 0; i < count && rc == OK; i++) {
        struct file_path path;
        uint32_t site = 0;

        (void)snprintf(path.chars, sizeof(path.chars), "between.%s[%u]", key, i);
        rc = file_between_site(r, file_find(r, path.chars), path.chars, false, &site);
        *bits |= rc == OK ? UINT64_C(1) << site : 0;
    }
    return rc;
}

static uint64_t central_all(const struct run_file *f)
{
    return f->parts_count == 64 ? UINT64_MAX : (UINT64_C(1) << f->parts_count) - 1;
}

static enum err central_may(struct file_reader *r)
{
    struct run_central *c = &r->f->between.central;
    uint32_t site = 0;
    enum err rc = central_bits(r, "no_centre", c->no_centre_count, &c->no_centre);

    if (rc == OK) {
        rc = central_bits(r, "no_relay", c->no_relay_count, &c->no_relay);
    }
    if (rc == OK && c->centre_name != NULL && c->no_centre_count > 0) {
        return file_fail(
            r, ERR_MALFORMED, "between.no_centre",
            "does not go with 'centre', which says that no other site may be it: leave "
            "one of the two out");
    }
    if (rc == OK && c->centre_name != NULL) {
        rc = file_between_site(r, file_find(r, "between.centre"), "between.centre", false, &site);
        c->no_centre = central_all(r->f) & ~(UINT64_C(1) << site);
    }
    if (rc == OK && c->no_centre == central_all(r->f)) {
        return file_fail(r, ERR_MALFORMED, "between.no_centre",
                         "names all sites: one of them must be the centre");
    }
    return rc;
}

/* Without a word the plan's own, if there is one. */
static enum err central_spare(struct file_reader *r, const char *key)
{
    const struct run_yaml *node = file_find(r, key);
    double *part = &r->f->between.central.reserve;

    if (node != NULL && (node->kind != RUN_YAML_TEXT || !file_read_part(node->chars, part) ||
                         !(*part >= 0 && *part < 1))) {
        return file_fail(r, ERR_MALFORMED, key,
                         "has to be the part of each link that plans leave to others, from 0 to "
                         "below 1, or a percentage, such as 5%%");
    }
    return OK;
}

static enum err central_gain(struct file_reader *r)
{
    const struct run_yaml *node = file_find(r, "between.move_gain");
    double *gain = &r->f->between.central.move_gain;

    *gain = CENTRAL_MOVE_GAIN;
    if (node != NULL && (node->kind != RUN_YAML_TEXT || !file_read_part(node->chars, gain) ||
                         !(*gain >= 0 && *gain < 1))) {
        return file_fail(r, ERR_MALFORMED, "between.move_gain",
                         "has to be a part of a round's time, from 0 to below 1, or a percentage, "
                         "such as 10%%");
    }
    return OK;
}

static enum err central_replan(struct file_reader *r)
{
    const struct run_yaml *node = file_find(r, "between.replan");
    double *part = &r->f->between.central.replan;

    *part = CENTRAL_REPLAN;
    if (node != NULL && (node->kind != RUN_YAML_TEXT || !file_read_part(node->chars, part) ||
                         !(*part >= 0.01 && *part <= 10))) {
        return file_fail(
            r, ERR_MALFORMED, "between.replan",
            "has to be a part of a link's rate, from 1%% to 1000%%, such as 25%%: when "
            "it changes by more, another plan is made");
    }
    return OK;
}

/* Links. */

static struct run_join *central_join(const struct run_file *f, uint32_t a, uint32_t b)
{
    const struct run_central *c = &f->between.central;

    for (uint32_t i = 0; i < c->joins_count; i++) {
        struct run_join *j = &c->joins[i];

        if ((j->a == a && j->b == b) || (j->a == b && j->b == a)) {
            return j;
        }
    }
    return NULL;
}

/* All that are joined both ways, at the slower one's rate. */
static void central_joins_of_map(struct run_file *f)
{
    struct run_central *c = &f->between.central;

    c->shared = topo_duplex(f->topo) == TOPO_DUPLEX_SHARED;
    for (uint32_t i = 0; i < f->parts_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const struct topo_link *there =
                topo_link_between(f->topo, f->parts[k].region, f->parts[i].region);
            const struct topo_link *back =
                topo_link_between(f->topo, f->parts[i].region, f->parts[k].region);

            if (there != NULL && back != NULL) {
                c->joins[c->joins_count++] = (struct run_join){
                    .a = k,
                    .b = i,
                    .bytes_per_s = there->bytes_per_s < back->bytes_per_s ? there->bytes_per_s
                                                                          : back->bytes_per_s};
            }
        }
    }
}

/* One end of a link, or its rate: a text that has to be there. */
static const struct run_yaml *central_end(const struct file_reader *r, uint32_t index,
                                          const char *key, struct file_path *path)
{
    const struct run_yaml *node;

    (void)snprintf(path->chars, sizeof(path->chars), "links[%u].%s", index, key);
    node = file_find(r, path->chars);
    return node == NULL || node->kind != RUN_YAML_TEXT ? NULL : node;
}

static enum err central_rate(const struct file_reader *r, uint32_t index, struct run_join *join)
{
    struct err_text why = {"has to be a rate above zero, such as 100mbit"};
    struct file_path path;
    const struct run_yaml *node = central_end(r, index, "rate", &path);

    if (node == NULL && file_find(r, path.chars) == NULL) {
        return OK;
    }
    if (node == NULL || units_rate_parse(node->chars, &join->bytes_per_s, &why) != OK ||
        join->bytes_per_s == 0 || join->bytes_per_s > TOPO_RATE_MAX) {
        return file_fail(r, ERR_MALFORMED, path.chars, "%.300s", why.text);
    }
    return OK;
}

static enum err central_joins_entry(struct file_reader *r, uint32_t index)
{
    static const char *const keys[] = {"a", "b", "rate"};
    struct run_central *c = &r->f->between.central;
    struct run_join join = {0};
    uint32_t ends[2] = {0};
    struct file_path path;
    const struct run_yaml *entry;
    enum err rc = OK;

    (void)snprintf(path.chars, sizeof(path.chars), "links[%u]", index);
    entry = file_find(r, path.chars);
    for (const struct run_yaml *n = entry->first; n != NULL; n = n->next) {
        if (n->key == NULL || (strcmp(n->key, keys[0]) != 0 && strcmp(n->key, keys[1]) != 0 &&
                               strcmp(n->key, keys[2]) != 0)) {
            return file_fail_at(r, ERR_MALFORMED, n->place, path.chars,
                                "has to be {a: SITE, b: SITE, rate: 100mbit}");
        }
    }
    for (uint32_t i = 0; i < 2 && rc == OK; i++) {
        const struct run_yaml *node = central_end(r, index, keys[i], &path);

        rc = node == NULL ? file_fail(r, ERR_MALFORMED, path.chars, "has to be the name of a site")
                          : file_between_site(r, node, path.chars, false, &ends[i]);
    }
    if (rc == OK && (ends[0] == ends[1] || central_join(r->f, ends[0], ends[1]) != NULL)) {
        rc = file_fail(r, ERR_MALFORMED, path.chars,
                       ends[0] == ends[1] ? "a link has two ends"
                                          : "there is a link between these two already");
    }
    join.a = ends[0];
    join.b = ends[1];
    if (rc == OK) {
        rc = central_rate(r, index, &join);
    }
    if (rc == OK) {
        c->joins[c->joins_count++] = join;
    }
    return rc;
}

/* As the file says; without a word all are joined. */
static enum err central_joins_said(struct file_reader *r)
{
    struct run_file *f = r->f;
    struct run_central *c = &f->between.central;
    const struct run_yaml *list = file_find(r, "links");
    enum err rc = OK;

    if (list == NULL) {
        for (uint32_t i = 0; i < f->parts_count; i++) {
            for (uint32_t k = 0; k < i; k++) {
                c->joins[c->joins_count++] = (struct run_join){.a = k, .b = i};
            }
        }
        return OK;
    }
    if (list->kind != RUN_YAML_LIST || list->count == 0 || list->count > CENTRAL_JOINS_MAX) {
        return file_fail(r, ERR_MALFORMED, "links",
                         "has to be a list of links such as {a: SITE, b: SITE, rate: 100mbit}, at "
                         "most %d of them",
                         CENTRAL_JOINS_MAX);
    }
    for (uint32_t i = 0; i < list->count && rc == OK; i++) {
        rc = central_joins_entry(r, i);
    }
    return rc;
}

/* Bits of sites that have a way to a centre: itself, and on through those who pass things on. */
static uint64_t central_reach(const struct run_file *f, uint32_t centre)
{
    const struct run_central *c = &f->between.central;
    uint64_t reached = UINT64_C(1) << centre, before;

    do {
        before = reached;
        for (uint32_t i = 0; i < c->joins_count; i++) {
            const uint32_t ends[2] = {c->joins[i].a, c->joins[i].b};

            for (uint32_t k = 0; k < 2; k++) {
                uint64_t from = UINT64_C(1) << ends[k];
                bool passes = ends[k] == centre || (c->no_relay & from) == 0;

                reached |= (reached & from) != 0 && passes ? UINT64_C(1) << ends[1 - k] : 0;
            }
        }
    } while (reached != before);
    return reached;
}

/* Is there a centre that all can reach? */
static enum err central_joined(const struct file_reader *r)
{
    const struct run_file *f = r->f;
    const struct run_central *c = &f->between.central;
    uint32_t lonely = RUN_NO_SITE, centre = RUN_NO_SITE;

    for (uint32_t i = 0; i < f->parts_count; i++) {
        uint64_t missing = central_all(f) & ~central_reach(f, i);

        if ((c->no_centre >> i & 1) == 0 && missing == 0) {
            return OK;
        }
        if ((c->no_centre >> i & 1) == 0 && lonely == RUN_NO_SITE) {
            lonely = (uint32_t)__builtin_ctzll(missing);
            centre = i;
        }
    }
    return file_fail(r, ERR_MALFORMED, r->places ? "links" : "sites",
                     "no site can be the centre of all: from '%s' there is no way to '%s'; add "
                     "links%s",
                     f->parts[lonely].name, f->parts[centre].name,
                     c->no_centre != 0 || c->no_relay != 0 ? ", or take sites out of no_centre or "
                                                             "no_relay"
                                                           : "");
}

/* Plans. */

/* Where in a file the plan is. */
struct central_plan_reader {
    struct file_reader *r;
    const char *at; /* Before each key: "", or "between.plan.". */
};

static const struct run_yaml *central_plan_find(const struct central_plan_reader *p,
                                                struct file_path *path, const char *key)
{
    (void)snprintf(path->chars, sizeof(path->chars), "%s%s", p->at, key);
    return file_find(p->r, path->chars);
}

static enum err central_plan_site(const struct central_plan_reader *p, const char *key,
                                  uint32_t *site_out)
{
    struct file_path path;
    const struct run_yaml *node = central_plan_find(p, &path, key);

    if (node == NULL || node->kind != RUN_YAML_TEXT) {
        return file_fail(p->r, ERR_MALFORMED, path.chars, "has to be the name of a site");
    }
    return file_between_site(p->r, node, path.chars, !p->r->places, site_out);
}

/* Each site on the way is joined with the next, and nobody is there twice. */
static enum err central_way_check(const struct central_plan_reader *p, const struct run_way *way,
                                  uint32_t from, const char *path)
{
    const struct run_file *f = p->r->f;
    const struct run_central *c = &f->between.central;

    if (way->sites[0] != from || way->sites[way->count - 1] != c->centre) {
        return file_fail(p->r, ERR_MALFORMED, path, "has to lead from '%s' to '%s'",
                         f->parts[from].name, f->parts[c->centre].name);
    }
    for (uint32_t i = 1; i < way->count; i++) {
        uint32_t site = way->sites[i];

        for (uint32_t k = 0; k < i; k++) {
            if (way->sites[k] == site) {
                return file_fail(p->r, ERR_MALFORMED, path, "'%s' is there twice",
                                 f->parts[site].name);
            }
        }
        if (central_join(f, way->sites[i - 1], site) == NULL) {
            return file_fail(p->r, ERR_MALFORMED, path, "there is no link from '%s' to '%s'",
                             f->parts[way->sites[i - 1]].name, f->parts[site].name);
        }
        if (i + 1 < way->count && (c->no_relay >> site & 1) != 0) {
            return file_fail(p->r, ERR_MALFORMED, path,
                             "leads through '%s', which may not pass on what is for others "
                             "(no_relay)",
                             f->parts[site].name);
        }
    }
    return OK;
}

static enum err central_way_rate(const struct central_plan_reader *p, uint32_t index,
                                 struct run_way *way)
{
    struct file_path path;
    char key[32];
    const struct run_yaml *node;
    char *end = NULL;

    (void)snprintf(key, sizeof(key), "flows[%u].mbps", index);
    node = central_plan_find(p, &path, key);
    if (node == NULL) {
        return OK;
    }
    way->mbps = node->kind == RUN_YAML_TEXT ? strtod(node->chars, &end) : NAN;
    if (end == NULL || *end != '\0' || !(way->mbps > 0 && way->mbps <= CENTRAL_MBPS_MAX)) {
        return file_fail(p->r, ERR_MALFORMED, path.chars,
                         "has to be a number of Mbit/s above zero, up to %g", CENTRAL_MBPS_MAX);
    }
    return OK;
}

static enum err central_way(const struct central_plan_reader *p, uint32_t index)
{
    struct run_central *c = &p->r->f->between.central;
    const struct run_yaml *list;
    struct file_path path;
    struct run_way *way;
    uint32_t from = 0;
    char key[40];
    enum err rc;

    (void)snprintf(key, sizeof(key), "flows[%u].from", index);
    rc = central_plan_site(p, key, &from);
    if (rc != OK) {
        return rc;
    }
    way = &c->ways[from];
    (void)snprintf(key, sizeof(key), "flows[%u].path", index);
    list = central_plan_find(p, &path, key);
    if (from == c->centre || way->count > 0) {
        return file_fail(p->r, ERR_MALFORMED, path.chars, "'%s' %s", p->r->f->parts[from].name,
                         way->count > 0 ? "has another flow already" : "is the server itself");
    }
    if (list == NULL || list->kind != RUN_YAML_LIST || list->count < 2 ||
        list->count > NODE_PATH_SITES_MAX) {
        return file_fail(p->r, ERR_MALFORMED, path.chars,
                         "has to be a list of 2 to %d sites, from the first to the server",
                         NODE_PATH_SITES_MAX);
    }
    way->sites = run_arena_alloc(p->r->arena, list->count, sizeof(*way->sites));
    rc = way->sites == NULL ? ERR_NOMEM : OK;
    for (uint32_t i = 0; i < list->count && rc == OK; i++) {
        (void)snprintf(key, sizeof(key), "flows[%u].path[%u]", index, i);
        rc = central_plan_site(p, key, &way->sites[i]);
    }
    if (rc == OK) {
        way->count = list->count;
        rc = central_way_check(p, way, from, path.chars);
    }
    return rc == OK ? central_way_rate(p, index, way) : rc;
}

static enum err central_plan_read(const struct central_plan_reader *p)
{
    struct run_file *f = p->r->f;
    struct run_central *c = &f->between.central;
    const struct run_yaml *flows;
    struct file_path path;
    enum err rc = central_plan_site(p, "server", &c->centre);

    CHECK(rc != OK || c->centre < f->parts_count);
    if (rc == OK && (c->no_centre >> c->centre & 1) != 0) {
        (void)central_plan_find(p, &path, "server");
        rc = file_fail(p->r, ERR_MALFORMED, path.chars, "'%s' may not be the centre",
                       f->parts[c->centre].name);
    }
    flows = central_plan_find(p, &path, "flows");
    if (rc == OK && (flows == NULL || flows->kind != RUN_YAML_LIST)) {
        rc = file_fail(p->r, ERR_MALFORMED, path.chars,
                       "has to be a list of {from: SITE, path: [SITE, ...], mbps: NUMBER}");
    }
    c->ways = rc == OK ? run_arena_alloc(p->r->arena, f->parts_count, sizeof(*c->ways)) : NULL;
    rc = rc == OK && c->ways == NULL ? ERR_NOMEM : rc;
    for (uint32_t i = 0; rc == OK && flows != NULL && i < flows->count; i++) {
        rc = central_way(p, i);
    }
    for (uint32_t i = 0; rc == OK && i < f->parts_count; i++) {
        if (i != c->centre && c->ways[i].count == 0) {
            rc = file_fail(p->r, ERR_MALFORMED, path.chars, "no flow is from '%s'",
                           f->parts[i].name);
        }
    }
    return rc;
}

/* A plan of another file. */
static enum err central_plan_beside(struct file_reader *r, const char *chars)
{
    struct file_reader its = *r;
    const struct central_plan_reader p = {.r = &its, .at = ""};
    bool said = file_find(r, "between.reserve") != NULL;
    struct text bytes = {0};
    struct err_text why = {""};
    const char *path = chars;
    enum err rc;

    if (r->folder == NULL || path[0] == '\0') {
        return file_fail(r, ERR_MALFORMED, "between.plan",
                         "has to be {server: SITE, flows: [...]}%s",
                         r->folder == NULL ? "" : ", or the path of a plan");
    }
    rc = file_path_from_here(r, &path);
    if (rc == OK) {
        rc = topo_file_read(path, RUN_FILE_BYTES_MAX, &bytes, &why);
        if (rc != OK) {
            return file_fail(r, rc, "between.plan", "%.300s", why.text);
        }
    }
    its.name = path;
    its.bytes = bytes.chars;
    its.size = bytes.size;
    if (rc == OK) {
        rc = run_yaml_parse(r->arena, path, bytes.chars, bytes.size, &its.root, r->text);
    }
    if (rc == OK) {
        rc = central_plan_read(&p);
    }
    if (rc == OK && !said) {
        rc = central_spare(&its, "reserve");
    }
    text_deinit(&bytes);
    return rc;
}

static enum err central_plan(struct file_reader *r)
{
    const struct central_plan_reader p = {.r = r, .at = "between.plan."};
    const struct run_yaml *node = file_find(r, "between.plan");

    r->f->between.central.centre = RUN_NO_SITE;
    if (node == NULL) {
        return OK;
    }
    if (node->kind == RUN_YAML_TEXT) {
        return central_plan_beside(r, node->chars);
    }
    if (node->kind == RUN_YAML_MAPPING) {
        return central_plan_read(&p);
    }
    return file_fail(r, ERR_MALFORMED, "between.plan",
                     "has to be the path of a plan, or {server: SITE, flows: [...]}");
}

enum err file_central(struct file_reader *r)
{
    struct run_central *c = &r->f->between.central;
    enum err rc = central_keys(r);

    if (rc != OK || r->f->between.preset != RUN_CENTRAL) {
        return rc;
    }
    c->joins = run_arena_alloc(r->arena, CENTRAL_JOINS_MAX, sizeof(*c->joins));
    rc = c->joins == NULL ? ERR_NOMEM : central_goes_with(r);
    if (rc == OK) {
        rc = central_may(r);
    }
    if (rc == OK) {
        c->reserve = 0;
        rc = central_spare(r, "between.reserve");
    }
    if (rc == OK) {
        rc = central_gain(r);
    }
    if (rc == OK) {
        rc = central_replan(r);
    }
    if (rc == OK && r->places) {
        rc = central_joins_said(r);
    } else if (rc == OK) {
        central_joins_of_map(r->f);
    }
    if (rc == OK) {
        rc = central_joined(r);
    }
    return rc == OK ? central_plan(r) : rc;
}

/* Printing. */

static void central_print_sites(const struct run_file *f, const char *key, uint64_t bits,
                                struct text *out)
{
    const char *comma = "";

    if (bits == 0) {
        return;
    }
    text_addf(out, "  %s: [", key);
    for (uint32_t i = 0; i < f->parts_count; i++) {
        if ((bits >> i & 1) != 0) {
            text_add(out, comma);
            text_add_json(out, f->parts[i].name);
            comma = ", ";
        }
    }
    text_add(out, "]\n");
}

static void central_print_way(const struct run_file *f, uint32_t site, double factor,
                              struct text *out)
{
    const struct run_way *way = &f->between.central.ways[site];

    if (way->count == 0) {
        return;
    }
    text_add(out, "      - {from: ");
    text_add_json(out, f->parts[site].name);
    text_add(out, ", path: [");
    for (uint32_t i = 0; i < way->count; i++) {
        text_add(out, i == 0 ? "" : ", ");
        text_add_json(out, f->parts[way->sites[i]].name);
    }
    text_add(out, "]");
    if (way->mbps > 0) {
        text_add(out, ", mbps: ");
        topo_print_number(way->mbps * factor, out);
    }
    text_add(out, "}\n");
}

void file_print_central(const struct run_file *f, double factor, struct text *out)
{
    const struct run_central *c = &f->between.central;

    if (c->centre_name != NULL) {
        text_add(out, "  centre: ");
        text_add_json(out, c->centre_name);
        text_add(out, "\n");
    } else {
        central_print_sites(f, "no_centre", c->no_centre, out);
    }
    central_print_sites(f, "no_relay", c->no_relay, out);
    text_add(out, "  reserve: ");
    topo_print_number(c->reserve, out);
    text_add(out, "\n  move_gain: ");
    topo_print_number(c->move_gain, out);
    text_add(out, "\n  replan: ");
    topo_print_number(c->replan, out);
    text_add(out, "\n");
    if (c->centre != RUN_NO_SITE) {
        text_add(out, "  plan:\n    server: ");
        text_add_json(out, f->parts[c->centre].name);
        text_add(out, "\n    flows:\n");
        for (uint32_t i = 0; i < f->parts_count; i++) {
            central_print_way(f, i, factor, out);
        }
    }
}
