#include "node/site/between.h"

#include "node/site/site.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BETWEEN_NUMBER_BYTES = 32 };

void node_between_init(struct node_between *b)
{
    *b = (struct node_between){
        .threshold = NODE_BETWEEN_THRESHOLD,
        .goal = ASP_SPEED,
        .staleness = NODE_BETWEEN_STALENESS,
        .barrier = true,
        .fresh = NODE_BETWEEN_FRESH,
        .mean = true,
        .away_ns = (int64_t)NODE_BETWEEN_AWAY_S * 1000000000,
        .majority = true,
        .stall_ns = (int64_t)NODE_BETWEEN_STALL_MS * 1000000,
        .gather_ns = (int64_t)NODE_BETWEEN_GATHER_MS * 1000000,
        .streams = NODE_BETWEEN_STREAMS,
    };
}

/* The group of a site of that name, or MIRROR_NOBODY. */
static uint32_t between_group(const struct node_between *b, const struct node_site *site,
                              const char *name)
{
    if (strcmp(name, site->name) == 0) {
        return b->group;
    }
    for (uint32_t i = 0; i < b->others_count; i++) {
        if (strcmp(name, b->others[i].name) == 0) {
            return b->others[i].group;
        }
    }
    return MIRROR_NOBODY;
}

static enum err between_check_sites(const struct node_between *b, const struct node_site *site,
                                    struct err_text *text)
{
    for (uint32_t i = 0; i < b->others_count; i++) {
        const struct node_other_site *o = &b->others[i];

        if (strcmp(o->name, site->name) == 0) {
            return err_text_set(text, ERR_INVALID, "site %s is this one: name only the others",
                                o->name);
        }
        if (b->groups > 0 && o->group >= b->groups) {
            return err_text_set(text, ERR_INVALID, "site %s is in group %u: there are %u", o->name,
                                o->group, b->groups);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(o->name, b->others[k].name) == 0) {
                return err_text_set(text, ERR_INVALID, "site %s is named twice", o->name);
            }
        }
    }
    return OK;
}

static enum err between_check_hubs(const struct node_between *b, const struct node_site *site,
                                   struct err_text *text)
{
    for (uint32_t i = 0; i < b->hubs_count; i++) {
        const struct node_hubs *h = &b->hubs[i];

        if (h->from >= b->groups || h->to >= b->groups || h->from == h->to) {
            return err_text_set(text, ERR_INVALID,
                                "hubs from group %u to group %u: there are %u groups", h->from,
                                h->to, b->groups);
        }
        if (h->count == 0 || h->count > MIRROR_SITES_MAX) {
            return err_text_set(text, ERR_INVALID, "group %u has no hub for group %u: name a site",
                                h->from, h->to);
        }
        for (uint32_t k = 0; k < h->count; k++) {
            if (between_group(b, site, h->sites[k]) != h->from) {
                return err_text_set(text, ERR_INVALID,
                                    "hub %s is not a site of group %u: name one that is",
                                    h->sites[k], h->from);
            }
        }
    }
    return OK;
}

/* Rounds around a centre. */
static enum err between_check_central(const struct node_between *b, const struct node_site *site,
                                      struct err_text *text)
{
    uint32_t sites = b->others_count + 1;
    uint64_t all = sites >= 64 ? UINT64_MAX : (UINT64_C(1) << sites) - 1;

    if (!b->central) {
        return OK;
    }
    if (site->sync.policy != &sync_bsp) {
        return err_text_set(text, ERR_INVALID,
                            "rounds around a centre have all workers of all sites in them: they go "
                            "with barrier bsp, and site %s has %s",
                            site->name, site->sync.policy->name);
    }
    if (!(b->reserve >= 0 && b->reserve < 1)) {
        return err_text_set(text, ERR_INVALID, "a reserve is 0 to below 1 of each link");
    }
    if ((b->no_centre & all) == all) {
        return err_text_set(text, ERR_INVALID, "no site may be the centre: allow one");
    }
    for (uint32_t i = 0; i < b->links_count; i++) {
        if (b->links[i].a >= sites || b->links[i].b >= sites || b->links[i].a == b->links[i].b) {
            return err_text_set(text, ERR_INVALID, "link %u is not between two of %u sites", i,
                                sites);
        }
    }
    return OK;
}

enum err node_between_check(const struct node_between *b, const struct node_site *site,
                            struct err_text *text)
{
    struct mirror probe;
    struct mirror_config config = {.staleness = b->staleness, .groups = b->groups};
    enum err rc = codec_threshold_check("threshold", (double)b->threshold, text);

    if (rc == OK && b->others_count >= MIRROR_SITES_MAX) {
        rc = err_text_set(text, ERR_INVALID, "%u sites: at most %d are possible",
                          b->others_count + 1, MIRROR_SITES_MAX);
    }
    if (rc == OK && (b->streams == 0 || b->streams > LIMIT_STREAMS_PER_PEER)) {
        rc = err_text_set(text, ERR_INVALID, "%u streams between sites: 1 to %d are possible",
                          b->streams, LIMIT_STREAMS_PER_PEER);
    }
    if (rc == OK && b->filter.measure == CODEC_PRODUCT && site->lanes > 1) {
        rc = err_text_set(text, ERR_INVALID,
                          "significance by a product needs its tables on one lane, and site %s has "
                          "%u: give it one server with one lane, or take another significance",
                          site->name, site->lanes);
    }
    if (rc == OK && !(b->fresh >= 0 && b->fresh <= 1)) {
        rc = err_text_set(text, ERR_INVALID, "fresh is %g: it is a part of a clock, 0 to 1",
                          b->fresh);
    }
    if (rc == OK && (b->away_ns < 0 || b->stall_ns < 0 || b->gather_ns < 0)) {
        rc = err_text_set(text, ERR_INVALID, "a time between sites is negative");
    }
    if (rc == OK) {
        rc = between_check_sites(b, site, text);
    }
    if (rc == OK) {
        rc = between_check_hubs(b, site, text);
    }
    if (rc == OK) {
        rc = between_check_central(b, site, text);
    }
    if (rc == OK) {
        rc = mirror_init(&probe, &config, b->group, text);
        if (rc == OK) {
            mirror_deinit(&probe);
        }
    }
    return rc;
}

/* Who is in which group; zero: there are none. */
static json_t *between_groups(const struct node_between *b, const struct node_site *site)
{
    json_t *out = b->groups == 0 ? json_integer(0) : json_object();

    if (b->groups > 0) {
        (void)json_object_set_new(out, site->name, json_integer(b->group));
    }
    for (uint32_t i = 0; b->groups > 0 && i < b->others_count; i++) {
        (void)json_object_set_new(out, b->others[i].name, json_integer(b->others[i].group));
    }
    return out;
}

static int between_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Those of @bits, this one too, in one order everywhere: that by which bits are counted. */
static json_t *between_sites(const struct node_between *b, const struct node_site *site,
                             uint64_t bits)
{
    const char *names[MIRROR_SITES_MAX] = {site->name};
    json_t *out = json_array();

    CHECK(b->others_count < MIRROR_SITES_MAX);
    for (uint32_t i = 0; i < b->others_count; i++) {
        names[i + 1] = b->others[i].name;
    }
    qsort(names, b->others_count + 1, sizeof(names[0]), between_order);
    for (uint32_t i = 0; i <= b->others_count; i++) {
        if ((bits >> i & 1) != 0) {
            (void)json_array_append_new(out, json_string(names[i]));
        }
    }
    return out;
}

/* In as few digits as say all of it. */
static const char *between_number(float value, char *out)
{
    for (int digits = 1; digits <= 9; digits++) {
        (void)snprintf(out, BETWEEN_NUMBER_BYTES, "%.*g", digits, (double)value);
        if (strtof(out, NULL) == value) {
            break;
        }
    }
    return out;
}

json_t *node_between_to_json(const struct node_between *b, const struct node_site *site)
{
    char filter[CODEC_FILTER_TEXT_BYTES];
    char number[BETWEEN_NUMBER_BYTES];

    codec_filter_print(&b->filter, filter, sizeof(filter));
    if (b->central) {
        return json_pack(
            "{s:o, s:i, s:i, s:s, s:b, s:s, s:o, s:o}", "sites", between_sites(b, site, UINT64_MAX),
            "lanes", (int)site->lanes, "shards", (int)site->shards, "deliver", "central",
            "fixed_order", (int)site->sync.fixed_order, "reserve",
            between_number((float)b->reserve, number), "no_centre",
            between_sites(b, site, b->no_centre), "no_relay", between_sites(b, site, b->no_relay));
    }
    return json_pack(
        "{s:o, s:i, s:i, s:s, s:s, s:s, s:s, s:I, s:b, s:b, s:o}", "sites",
        between_sites(b, site, UINT64_MAX), "lanes", (int)site->lanes, "shards", (int)site->shards,
        "deliver", "all", "significance", filter, "grain", codec_grain_name(b->filter.grain),
        "threshold", between_number(b->threshold, number), "staleness",
        b->staleness == MIRROR_UNBOUNDED ? (json_int_t)-1 : (json_int_t)b->staleness, "barrier",
        (int)b->barrier, "mean", (int)b->mean, "groups", between_groups(b, site));
}

/* As people write it; the caller frees it. NULL: it is not there, or no memory. */
static char *between_word(const json_t *value)
{
    return value == NULL           ? NULL
           : json_is_string(value) ? strdup(json_string_value(value))
                                   : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

/* The first of @list that @other lacks, or NULL. What is not a name is passed over. */
static const char *between_missing(const json_t *list, const json_t *other)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        bool found = name == NULL;

        for (size_t k = 0; k < json_array_size(other) && !found; k++) {
            const char *that = json_string_value(json_array_get(other, k));

            found = that != NULL && strcmp(name, that) == 0;
        }
        if (!found) {
            return name;
        }
    }
    return NULL;
}

/* OK: it is not about one site that only one of the lists has. */
static enum err between_compare_sites(const json_t *one, const char *here, const json_t *two,
                                      const char *there, struct err_text *text)
{
    const char *only_one = between_missing(one, two);
    const char *only_two = between_missing(two, one);

    if (!json_is_array(one) || !json_is_array(two) || (only_one == NULL && only_two == NULL)) {
        return OK;
    }
    return err_text_set(
        text, ERR_INVALID,
        "site %.64s is in the list of site %s and not in that of site %s: all sites "
        "must have the same list; start one of them again with the other's",
        only_one != NULL ? only_one : only_two, only_one != NULL ? here : there,
        only_one != NULL ? there : here);
}

enum err node_between_compare(const json_t *ours, const char *us, const json_t *theirs,
                              const char *them, struct err_text *text)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)ours, key, value)
    {
        const json_t *other = json_object_get(theirs, key);

        if (other == NULL || json_equal(value, other) == 0) {
            /* Both sites say it in the same words. */
            bool first = strcmp(us, them) < 0;
            const json_t *here = first ? value : other, *there = first ? other : value;
            char *one, *two;
            enum err rc =
                strcmp(key, "sites") == 0
                    ? between_compare_sites(here, first ? us : them, there, first ? them : us, text)
                    : OK;

            if (rc != OK) {
                return rc;
            }
            one = between_word(here);
            two = between_word(there);
            rc = err_text_set(
                text, ERR_INVALID,
                "%s: %.40s at site %s, %.40s at site %s: all sites must have the same; start one "
                "of them again with the other's",
                key, one == NULL ? "none" : one, first ? us : them, two == NULL ? "none" : two,
                first ? them : us);

            free(one);
            free(two);
            return rc;
        }
    }
    return OK;
}
