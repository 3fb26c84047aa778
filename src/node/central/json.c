#include "node/central/json.h"

#include "node/control.h"

/* A whole number of 0 to @max, not anything else. */
static bool read_number(const json_t *value, uint64_t max, uint64_t *out)
{
    json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < 0 || (uint64_t)number > max) {
        return false;
    }
    *out = (uint64_t)number;
    return true;
}

/* A site, which must be there. */
static bool read_site(const json_t *fields, const char *key, uint32_t sites, uint64_t *out)
{
    return read_number(json_object_get(fields, key), sites - 1, out);
}

/* What is absent is empty. */
static bool read_is_list(const json_t *value)
{
    return value == NULL || json_is_array(value);
}

/* Words. */

json_t *node_word_to_json(const struct links_word *word)
{
    json_t *links = json_array(), *fields;

    for (uint32_t i = 0; i < word->count; i++) {
        (void)json_array_append_new(links, json_pack("[i, b, I]", (int)word->entries[i].neighbour,
                                                     (int)word->entries[i].up,
                                                     (json_int_t)word->entries[i].bytes_per_s));
    }
    fields = json_pack("{s:i, s:I, s:I, s:I, s:I, s:b, s:o}", "site", (int)word->site, "life",
                       (json_int_t)word->life, "number", (json_int_t)word->number, "epoch",
                       (json_int_t)word->epoch, "top", (json_int_t)word->top, "remembers",
                       (int)word->remembers, "links", links);
    if (word->since != 0) {
        (void)json_object_set_new(fields, "since", json_integer((json_int_t)word->since));
    }
    return fields;
}

/* A link of the word's site: to another one, and none twice. */
static bool word_entry(const json_t *entry, uint32_t sites, struct links_word *word)
{
    const json_t *up = json_array_get(entry, 1);
    uint64_t neighbour, rate;

    if (json_array_size(entry) != 3 || !json_is_boolean(up) ||
        !read_number(json_array_get(entry, 0), sites - 1, &neighbour) ||
        !read_number(json_array_get(entry, 2), LINKS_RATE_MAX, &rate) || neighbour == word->site) {
        return false;
    }
    for (uint32_t i = 0; i < word->count; i++) {
        if (word->entries[i].neighbour == neighbour) {
            return false;
        }
    }
    word->entries[word->count++] = (struct links_entry){
        .neighbour = (uint32_t)neighbour, .up = json_is_true(up), .bytes_per_s = rate};
    return true;
}

bool node_word_from_json(const json_t *fields, uint32_t sites, struct links_word *out)
{
    const json_t *links = json_object_get(fields, "links");
    const json_t *remembers = json_object_get(fields, "remembers");
    struct links_word word = {.remembers = json_is_true(remembers)};
    uint64_t site, number, epoch, top, since;

    if (!read_site(fields, "site", sites, &site) ||
        !node_json_u64(fields, "life", INT64_MAX, 0, &word.life) ||
        !node_json_u64(fields, "number", UINT32_MAX, 0, &number) || number == 0 ||
        !node_json_u64(fields, "since", number - 1, 0, &since) ||
        !node_json_u64(fields, "top", LINKS_EPOCH_LAST, 0, &top) ||
        !node_json_u64(fields, "epoch", top, 0, &epoch) ||
        (remembers != NULL && !json_is_boolean(remembers)) || !read_is_list(links) ||
        json_array_size(links) >= sites) {
        return false;
    }
    word.site = (uint32_t)site;
    word.number = (uint32_t)number;
    word.epoch = (uint32_t)epoch;
    word.top = (uint32_t)top;
    word.since = (uint32_t)since;
    for (size_t i = 0; i < json_array_size(links); i++) {
        if (!word_entry(json_array_get(links, i), sites, &word)) {
            return false;
        }
    }
    *out = word;
    return true;
}

/* Plans. */

static json_t *plan_numbers(const uint64_t *numbers, uint32_t count)
{
    json_t *out = json_array();

    for (uint32_t i = 0; i < count; i++) {
        (void)json_array_append_new(out, json_integer((json_int_t)numbers[i]));
    }
    return out;
}

/* Links on a way. */
static uint32_t plan_hops(const struct node_path *path)
{
    return path->count == 0 ? 0 : path->count - 1;
}

json_t *node_plan_to_json(const struct node_plan *plan, uint32_t sites)
{
    const uint64_t about[] = {plan->about.sites[0], plan->about.sites[1]};
    json_t *paths = json_array();

    CHECK(plan->about.count <= 2);
    for (uint32_t i = 0; i < sites; i++) {
        const struct node_path *path = &plan->paths[i];
        uint64_t way[NODE_PATH_SITES_MAX] = {0};

        if ((plan->active >> i & 1) == 0) {
            continue;
        }
        for (uint32_t k = 0; k < path->count; k++) {
            way[k] = path->sites[k];
        }
        (void)json_array_append_new(paths, json_pack("{s:i, s:I, s:I, s:o, s:o}", "site", (int)i,
                                                     "life", (json_int_t)path->life, "rate",
                                                     (json_int_t)path->bytes_per_s, "sites",
                                                     plan_numbers(way, path->count), "rates",
                                                     plan_numbers(path->rates, plan_hops(path))));
    }
    return json_pack("{s:I, s:i, s:s, s:o, s:o}", "epoch", (json_int_t)plan->epoch, "centre",
                     (int)plan->centre, "why", links_why_name(plan->why), "about",
                     plan_numbers(about, plan->about.count), "paths", paths);
}

static bool plan_read_numbers(const json_t *list, uint64_t max, uint32_t count, uint64_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!read_number(json_array_get(list, i), max, &out[i])) {
            return false;
        }
    }
    return read_is_list(list) && json_array_size(list) == count;
}

/* From the site to the centre, nobody twice. */
static bool plan_path_valid(const struct node_path *path, uint32_t site, uint32_t centre)
{
    for (uint32_t i = 0; i < path->count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (path->sites[i] == path->sites[k]) {
                return false;
            }
        }
    }
    return site == centre ? path->count == 0
                          : path->count >= 2 && path->sites[0] == site &&
                                path->sites[path->count - 1] == centre;
}

static bool plan_path(const json_t *fields, uint32_t sites, struct node_plan *plan)
{
    const json_t *list = json_object_get(fields, "sites");
    size_t count = json_array_size(list);
    uint64_t way[NODE_PATH_SITES_MAX] = {0};
    struct node_path *path;
    uint64_t site;

    if (!read_site(fields, "site", sites, &site) || (plan->active >> site & 1) != 0 ||
        count > NODE_PATH_SITES_MAX) {
        return false;
    }
    path = &plan->paths[site];
    path->count = (uint32_t)count;
    if (!node_json_u64(fields, "life", INT64_MAX, 0, &path->life) ||
        !node_json_u64(fields, "rate", LINKS_RATE_MAX, 0, &path->bytes_per_s) ||
        !plan_read_numbers(list, sites - 1, path->count, way) ||
        !plan_read_numbers(json_object_get(fields, "rates"), LINKS_RATE_MAX, plan_hops(path),
                           path->rates)) {
        return false;
    }
    for (uint32_t i = 0; i < path->count; i++) {
        path->sites[i] = (uint32_t)way[i];
    }
    plan->active |= UINT64_C(1) << site;
    return plan_path_valid(path, (uint32_t)site, plan->centre);
}

/* Why it was made is for people: a reason that is not known here is none to refuse it. */
static bool plan_why(const json_t *fields, uint32_t sites, struct node_plan *plan)
{
    const json_t *why = json_object_get(fields, "why");
    const json_t *list = json_object_get(fields, "about");
    uint64_t about[2] = {0, 0};
    size_t count = json_array_size(list);

    if ((why != NULL && !json_is_string(why)) || count > 2 ||
        !plan_read_numbers(list, sites - 1, (uint32_t)count, about)) {
        return false;
    }
    if (why == NULL || !links_why_find(json_string_value(why), &plan->why)) {
        plan->why = LINKS_CONTENT;
    }
    plan->about = (struct links_about){.count = (uint32_t)count,
                                       .sites = {(uint32_t)about[0], (uint32_t)about[1]}};
    return true;
}

bool node_plan_from_json(const json_t *fields, uint32_t sites, struct node_plan *out)
{
    const json_t *paths = json_object_get(fields, "paths");
    uint64_t epoch, centre;

    if (!node_json_u64(fields, "epoch", LINKS_EPOCH_LAST, 0, &epoch) || epoch == 0 ||
        !read_site(fields, "centre", sites, &centre) || !read_is_list(paths)) {
        return false;
    }
    *out = (struct node_plan){.epoch = (uint32_t)epoch, .centre = (uint32_t)centre};
    if (!plan_why(fields, sites, out)) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(paths); i++) {
        if (!plan_path(json_array_get(paths, i), sites, out)) {
            return false;
        }
    }
    return (out->active >> out->centre & 1) != 0;
}
