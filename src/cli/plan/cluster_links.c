#include "cli/plan/cluster_links.h"

#include "base/mem.h"
#include "net/pki/pki.h"
#include "node/site/site.h"

#include <stdlib.h>
#include <string.h>

/* What no network has: such a figure is not known. */
#define CLUSTER_RATE_MAX (TOPO_GRAPH_MBPS_MAX * 125e3) /* Bytes per second. */
#define CLUSTER_RTT_US_MAX (TOPO_GRAPH_RTT_MS_MAX * 1e3)
#define CLUSTER_BYTES_MAX 0x1p50

struct cluster_links *cluster_links_create(void)
{
    return mem_zalloc(sizeof(struct cluster_links));
}

void cluster_links_destroy(struct cluster_links *c)
{
    mem_free(c);
}

/* Reading what may be anything. */

/* Zero: there is no number, or none that can be. */
static uint64_t cluster_figure(const json_t *value, double most)
{
    double figure = json_number_value(value);

    return figure >= 1 && figure <= most ? (uint64_t)figure : 0;
}

static bool cluster_flag(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/* NULL: no name of a site. */
static const char *cluster_name(const json_t *value)
{
    const char *name = json_string_value(value);

    return name != NULL && strlen(name) == json_string_length(value) && pki_name_valid(name) ? name
                                                                                             : NULL;
}

static const json_t *cluster_lane(const json_t *report, size_t index)
{
    return json_object_get(json_array_get(json_object_get(report, "lanes"), index), "status");
}

static size_t cluster_lanes(const json_t *report)
{
    size_t count = json_array_size(json_object_get(report, "lanes"));

    return count < NODE_LANES_MAX ? count : NODE_LANES_MAX;
}

static const json_t *cluster_between(const json_t *report, size_t lane)
{
    return json_object_get(cluster_lane(report, lane), "between");
}

static const json_t *cluster_central(const json_t *report)
{
    return json_object_get(cluster_between(report, 0), "central");
}

/* Sites. */

static uint32_t cluster_find(const struct cluster_links *c, const char *name)
{
    for (uint32_t i = 0; i < c->count && name != NULL; i++) {
        if (strcmp(c->sites[i].name, name) == 0) {
            return i;
        }
    }
    return CLUSTER_NOBODY;
}

/* False: there are too many. */
static bool cluster_note_site(struct cluster_links *c, const char *name)
{
    if (name == NULL || cluster_find(c, name) != CLUSTER_NOBODY) {
        return true;
    }
    if (c->count == CLUSTER_SITES_MAX) {
        return false;
    }
    (void)strcpy(c->sites[c->count++].name, name);
    return true;
}

static int cluster_order(const void *a, const void *b)
{
    const struct cluster_site *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* Everybody whom the first report names; by name, so that it is the same whoever is asked first. */
static enum err cluster_gather(struct cluster_links *c, const char *self, const json_t *report,
                               struct err_text *text)
{
    const json_t *names = json_object_get(cluster_central(report), "names");
    bool fits = cluster_note_site(c, self);

    for (size_t i = 0; i < cluster_lanes(report); i++) {
        const json_t *sites = json_object_get(cluster_between(report, i), "sites");

        for (size_t k = 0; k < json_array_size(sites) && fits; k++) {
            const json_t *site = json_object_get(json_array_get(sites, k), "site");

            fits = cluster_note_site(c, cluster_name(site));
        }
    }
    for (size_t i = 0; i < json_array_size(names) && fits; i++) {
        fits = cluster_note_site(c, cluster_name(json_array_get(names, i)));
    }
    if (!fits) {
        return err_text_set(text, ERR_INVALID, "it names more than %d sites", CLUSTER_SITES_MAX);
    }
    qsort(c->sites, c->count, sizeof(c->sites[0]), cluster_order);
    return c->count > 1 ? OK
                        : err_text_set(text, ERR_NOT_FOUND, "site %s knows of no others", self);
}

/* Links of sites that share by pieces: each lane says what it has with the others. */

/* Of two figures the smaller one; zero is not known. */
static uint64_t cluster_least(uint64_t a, uint64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

static void cluster_take_address(struct cluster_site *site, const json_t *value)
{
    const char *address = json_string_value(value);

    if (address != NULL && site->address[0] == '\0' && strlen(address) < sizeof(site->address)) {
        (void)strcpy(site->address, address);
    }
}

/* A lane's part of a link. */
static void cluster_take_part(struct cluster_word *word, const json_t *entry)
{
    bool up = cluster_flag(entry, "up") && !cluster_flag(entry, "left_out");

    word->up = up && (word->up || !word->said);
    word->said = true;
    word->bytes_per_s += cluster_figure(json_object_get(entry, "delivery"), CLUSTER_RATE_MAX);
}

static void cluster_take_lane(struct cluster_links *c, uint32_t self, const json_t *sites)
{
    bool seen[CLUSTER_SITES_MAX] = {false};

    for (size_t i = 0; i < json_array_size(sites); i++) {
        const json_t *entry = json_array_get(sites, i);
        uint32_t other = cluster_find(c, cluster_name(json_object_get(entry, "site")));
        struct cluster_word *word;

        if (other == CLUSTER_NOBODY || other == self || seen[other]) {
            continue;
        }
        seen[other] = true;
        word = &c->own[self][other];
        cluster_take_address(&c->sites[other], json_object_get(entry, "address"));
        /* What waits in queues makes it longer, and nothing makes it shorter. */
        word->rtt_us = cluster_least(
            word->rtt_us, cluster_figure(json_object_get(entry, "rtt_us"), CLUSTER_RTT_US_MAX));
        if (!c->central) {
            cluster_take_part(word, entry);
        }
    }
}

/* Links of sites around a centre: any of them has heard of all. */

static void cluster_take_link(struct cluster_links *c, uint32_t self, const uint32_t ends[2],
                              const json_t *entry)
{
    uint32_t a = ends[0] < ends[1] ? ends[0] : ends[1];
    uint32_t b = ends[0] < ends[1] ? ends[1] : ends[0];
    bool heard = a != self && b != self;
    struct cluster_word *word = heard ? &c->heard[a][b] : a == self ? &c->own[a][b] : &c->own[b][a];
    const json_t *up = json_array_get(entry, 2);

    if (a == b || word->said) {
        return;
    }
    c->heard_from[a][b] = heard ? self : c->heard_from[a][b];
    word->said = true;
    word->up = json_is_true(up) || json_integer_value(up) == 1;
    word->bytes_per_s = cluster_figure(json_array_get(entry, 3), CLUSTER_RATE_MAX);
}

/* A site by its number among those around a centre. */
static uint32_t cluster_numbered(const struct cluster_links *c, const json_t *central,
                                 const json_t *number)
{
    json_int_t at = json_is_integer(number) ? json_integer_value(number) : -1;
    const json_t *names = json_object_get(central, "names");

    return at < 0 || at >= CLUSTER_SITES_MAX
               ? CLUSTER_NOBODY
               : cluster_find(c, cluster_name(json_array_get(names, (size_t)at)));
}

/* Who may not do something, as the operator told the sites. */
static void cluster_take_rules(struct cluster_links *c, const json_t *central)
{
    const json_t *no_centre = json_object_get(central, "no_centre");
    const json_t *no_relay = json_object_get(central, "no_relay");
    double reserve = json_number_value(json_object_get(central, "reserve"));

    if (reserve > 0 && reserve < 1) {
        c->reserve = reserve;
    }
    for (size_t i = 0; i < CLUSTER_SITES_MAX; i++) {
        uint32_t site = cluster_numbered(c, central, json_array_get(no_centre, i));

        if (site != CLUSTER_NOBODY) {
            c->sites[site].no_centre = true;
        }
        site = cluster_numbered(c, central, json_array_get(no_relay, i));
        if (site != CLUSTER_NOBODY) {
            c->sites[site].no_relay = true;
        }
    }
}

static void cluster_take_central(struct cluster_links *c, uint32_t self, const json_t *central)
{
    const json_t *links = json_object_get(central, "links");

    for (size_t i = 0; i < json_array_size(links); i++) {
        const json_t *entry = json_array_get(links, i);
        const uint32_t ends[2] = {cluster_numbered(c, central, json_array_get(entry, 0)),
                                  cluster_numbered(c, central, json_array_get(entry, 1))};

        if (ends[0] != CLUSTER_NOBODY && ends[1] != CLUSTER_NOBODY) {
            cluster_take_link(c, self, ends, entry);
        }
    }
    c->shared = c->shared || cluster_flag(central, "shared");
    cluster_take_rules(c, central);
}

/* The model. */

/* Each lane takes the others for as large as itself, so the mean is right. */
static uint64_t cluster_round_bytes(const json_t *report)
{
    uint64_t sum = 0, lanes = 0;

    for (size_t i = 0; i < cluster_lanes(report); i++) {
        const json_t *central = json_object_get(cluster_between(report, i), "central");
        uint64_t bytes = cluster_figure(json_object_get(central, "round_bytes"), CLUSTER_BYTES_MAX);

        sum += bytes >= sizeof(float) ? bytes : 0;
        lanes += central != NULL;
    }
    return lanes == 0 ? 0 : sum / lanes;
}

/* Zero unless all lanes have answered, and have begun: before that there are no tables. */
static uint64_t cluster_table_bytes(const json_t *report)
{
    const json_t *lanes = json_object_get(cluster_lane(report, 0), "lanes");
    uint64_t sum = 0;

    for (size_t i = 0; i < cluster_lanes(report); i++) {
        const json_t *status = cluster_lane(report, i);

        if (!cluster_flag(status, "begun")) {
            return 0;
        }
        sum += cluster_figure(json_object_get(status, "table_bytes"), CLUSTER_BYTES_MAX);
    }
    return (size_t)json_integer_value(lanes) == cluster_lanes(report) ? sum : 0;
}

/* The whole. */

static enum err cluster_check(const struct cluster_links *c, uint32_t site, const char *name,
                              const json_t *report, struct err_text *text)
{
    if (name == NULL || !json_is_object(cluster_lane(report, 0))) {
        return err_text_set(text, ERR_INVALID, "it does not say which site it is");
    }
    if (c->count > 0 && strcmp(name, c->sites[site].name) != 0) {
        return err_text_set(text, ERR_INVALID, "it says that it is site %s", name);
    }
    if (c->count > 0 && c->sites[site].answered) {
        return err_text_set(text, ERR_INVALID, "site %s has answered already", name);
    }
    if (!json_is_object(cluster_between(report, 0))) {
        return err_text_set(text, c->count == 0 ? ERR_NOT_FOUND : ERR_INVALID,
                            "site %s has no others to share with", name);
    }
    if (c->count > 0 && c->central != json_is_object(cluster_central(report))) {
        return err_text_set(text, ERR_INVALID, "it is%s around a centre, and the others are%s",
                            c->central ? " not" : "", c->central ? "" : " not");
    }
    return OK;
}

/* The first report: who there is. */
static enum err cluster_begin(struct cluster_links *c, const char *name, const json_t *report,
                              struct err_text *text)
{
    enum err rc = cluster_gather(c, name, report, text);

    if (rc != OK) {
        memset(c, 0, sizeof(*c));
        return rc;
    }
    c->first = cluster_find(c, name);
    c->central = json_is_object(cluster_central(report));
    return OK;
}

enum err cluster_links_add(struct cluster_links *c, uint32_t site, const json_t *report,
                           struct err_text *text)
{
    const char *name = cluster_name(json_object_get(report, "site"));
    enum err rc = cluster_check(c, site, name, report, text);
    uint64_t bytes = cluster_round_bytes(report);

    if (rc == OK && c->count == 0) {
        rc = cluster_begin(c, name, report, text);
        site = c->first;
    }
    if (rc != OK) {
        return rc;
    }
    c->sites[site].answered = true;
    c->sites[site].table_bytes = cluster_table_bytes(report);
    c->round_bytes = bytes > c->round_bytes ? bytes : c->round_bytes;
    for (size_t i = 0; i < cluster_lanes(report); i++) {
        cluster_take_lane(c, site, json_object_get(cluster_between(report, i), "sites"));
    }
    if (c->central) {
        cluster_take_central(c, site, cluster_central(report));
    }
    return OK;
}

/* What they say together. */

static void cluster_join(struct cluster_link *link, const struct cluster_word *word)
{
    bool can_be = word->bytes_per_s <= (uint64_t)CLUSTER_RATE_MAX; /* The sum of all lanes. */

    link->rtt_us = cluster_least(link->rtt_us, word->rtt_us);
    if (word->said) {
        link->state = word->up && link->state != CLUSTER_DOWN ? CLUSTER_UP : CLUSTER_DOWN;
        link->bytes_per_s = cluster_least(link->bytes_per_s, can_be ? word->bytes_per_s : 0);
    }
}

bool cluster_links_get(const struct cluster_links *c, uint32_t a, uint32_t b,
                       struct cluster_link *out)
{
    const struct cluster_word *heard = a < b ? &c->heard[a][b] : &c->heard[b][a];
    struct cluster_link link = {.a = a,
                                .b = b,
                                .state = CLUSTER_UNSAID,
                                .by_a = c->own[a][b].said,
                                .by_b = c->own[b][a].said,
                                .by = CLUSTER_NOBODY};

    cluster_join(&link, &c->own[a][b]);
    cluster_join(&link, &c->own[b][a]);
    if (!link.by_a && !link.by_b && heard->said) {
        link.by = a < b ? c->heard_from[a][b] : c->heard_from[b][a];
        cluster_join(&link, heard);
    }
    if (a == b || (c->central && link.state == CLUSTER_UNSAID)) {
        return false; /* Sites that share by pieces are all joined, sites around a centre not. */
    }
    *out = link;
    return true;
}

uint64_t cluster_links_bytes(const struct cluster_links *c)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < c->count; i++) {
        most = c->sites[i].table_bytes > most ? c->sites[i].table_bytes : most;
    }
    return c->round_bytes > 0 ? c->round_bytes : most;
}
