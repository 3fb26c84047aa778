#include "topo/read.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "base/units.h"
#include "topo/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { READ_PATH_BYTES = 48 };

struct read {
    const struct topo_origin *origin;
    struct err_text *text;
    struct topo *t;
    uint16_t entries[TOPO_REGIONS_MAX][TOPO_REGIONS_MAX]; /* Which of links[] set it, plus one. */
};

/* A path such as "links[3]". */
struct read_path {
    char chars[READ_PATH_BYTES];
};

static enum err read_fail(struct read *r, enum err rc, const char *path, const char *key,
                          const char *fmt, ...) PRINTF_LIKE(5, 6);

/* @key is a key of the object at @path that is there, or NULL. */
static enum err read_fail(struct read *r, enum err rc, const char *path, const char *key,
                          const char *fmt, ...)
{
    const char *parts[3] = {r->origin->prefix, path, key == NULL ? "" : key};
    struct topo_place place = r->origin->find(r->origin->user, path, key);
    char what[ERR_TEXT_BYTES / 2 + 64];
    char where[READ_PATH_BYTES * 4];
    struct text whole;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    text_init_fixed(&whole, where, sizeof(where));
    for (size_t i = 0; i < 3; i++) {
        char cut[READ_PATH_BYTES];

        (void)snprintf(cut, sizeof(cut), "%s", parts[i]);
        text_add(&whole, whole.size > 0 && cut[0] != '\0' && cut[0] != '[' ? "." : "");
        text_add_printable(&whole, cut);
    }
    return err_text_set(r->text, rc, "%.128s:%u:%u: %s%s%s", r->origin->name, place.line,
                        place.column, where, where[0] != '\0' ? ": " : "", what);
}

/* @value is an object and has no other keys than @allowed, which ends with NULL. */
static enum err read_object(struct read *r, const char *path, const json_t *value,
                            const char *const *allowed)
{
    struct nearest near;
    const char *key;

    if (!json_is_object(value)) {
        return read_fail(r, ERR_MALFORMED, path, NULL, "is %s, but has to be an object {...}",
                         topo_json_kind(value));
    }
    key = topo_json_stranger(value, allowed, &near);
    return key == NULL ? OK
                       : read_fail(r, ERR_MALFORMED, path, key, "no such key: %s",
                                   nearest_hint(&near, "there are"));
}

/* A text of which no character is special. */
static bool read_is_plain(const json_t *value)
{
    const char *chars = json_string_value(value);

    return chars != NULL && strlen(chars) == json_string_length(value) && topo_text_valid(chars);
}

/* The text at @key, or NULL if there is none. */
static enum err read_text(struct read *r, const char *path, const json_t *object, const char *key,
                          const char *example, const char **out)
{
    const json_t *value = json_object_get(object, key);

    *out = NULL;
    if (value == NULL) {
        return OK;
    }
    if (!json_is_string(value)) {
        return read_fail(r, ERR_MALFORMED, path, key, "is %s: write a text, such as \"%s\"",
                         topo_json_kind(value), example);
    }
    if (!read_is_plain(value)) {
        return read_fail(r, ERR_MALFORMED, path, key, "has a control character: leave it out");
    }
    *out = json_string_value(value);
    return OK;
}

static enum err read_rate(struct read *r, const char *path, const json_t *object, const char *key,
                          uint64_t *rate_out)
{
    struct units_text most;
    struct err_text why;
    const char *chars;
    uint64_t rate = 0;
    enum err rc = read_text(r, path, object, key, "100mbit", &chars);

    if (rc != OK || chars == NULL) {
        return rc;
    }
    rc = units_rate_parse(chars, &rate, &why);
    if (rc != OK) {
        return read_fail(r, rc, path, key, "%.300s", why.text);
    }
    if (rate == 0 || rate > TOPO_RATE_MAX) {
        return read_fail(r, ERR_MALFORMED, path, key, "has to be above zero and at most %s",
                         units_rate_print(TOPO_RATE_MAX, &most));
    }
    *rate_out = rate;
    return OK;
}

static enum err read_time(struct read *r, const char *path, const json_t *object, const char *key,
                          int64_t most_ns, int64_t *ns_out)
{
    struct units_text most;
    struct err_text why;
    const char *chars;
    int64_t ns = 0;
    enum err rc = read_text(r, path, object, key, "40ms", &chars);

    if (rc != OK || chars == NULL) {
        return rc;
    }
    rc = units_time_parse(chars, &ns, &why);
    if (rc != OK) {
        return read_fail(r, rc, path, key, "%.300s", why.text);
    }
    if (ns > most_ns) {
        return read_fail(r, ERR_MALFORMED, path, key, "has to be at most %s",
                         units_time_print(most_ns, &most));
    }
    *ns_out = ns;
    return OK;
}

static enum err read_loss(struct read *r, const char *path, const json_t *object, uint32_t *ppm_out)
{
    struct err_text why;
    const char *chars;
    enum err rc = read_text(r, path, object, "loss", "0.1%", &chars);

    if (rc != OK || chars == NULL) {
        return rc;
    }
    rc = units_percent_parse(chars, ppm_out, &why);
    return rc == OK ? OK : read_fail(r, rc, path, "loss", "%.300s", why.text);
}

/* A number from @least to @most; absent: left as it is. */
static enum err read_number(struct read *r, const char *path, const json_t *object, const char *key,
                            double least, double most, double *out)
{
    const json_t *value = json_object_get(object, key);

    if (value == NULL) {
        return OK;
    }
    if (!json_is_number(value)) {
        return read_fail(r, ERR_MALFORMED, path, key, "is %s: write a number, without quotes",
                         topo_json_kind(value));
    }
    if (!(json_number_value(value) >= least && json_number_value(value) <= most)) {
        return read_fail(r, ERR_MALFORMED, path, key, "has to be from %.10g to %.10g", least, most);
    }
    *out = json_number_value(value);
    return OK;
}

/* Dollars at @key, in billionths. A double tells these apart up to the largest price there is, so
 * that what was written is what is read. */
static enum err read_dollars(struct read *r, const char *path, const json_t *object,
                             const char *key, uint64_t most_nusd, uint64_t *nusd_out)
{
    double dollars = 0;
    enum err rc = read_number(r, path, object, key, 0, (double)most_nusd / 1e9, &dollars);

    if (rc == OK) {
        *nusd_out = (uint64_t)(dollars * 1e9 + 0.5);
    }
    return rc;
}

/* The delay of one direction: "delay", or half of "rtt"; one of them. */
static enum err read_delay(struct read *r, const char *path, const json_t *object, int64_t *ns_out)
{
    bool delay = json_object_get(object, "delay") != NULL;
    bool rtt = json_object_get(object, "rtt") != NULL;
    int64_t ns = 0;
    enum err rc;

    if (delay && rtt) {
        return read_fail(r, ERR_MALFORMED, path, "rtt",
                         "there is a delay too: give one of both (rtt is twice the delay)");
    }
    if (!delay && !rtt) {
        return read_fail(r, ERR_MALFORMED, path, NULL,
                         "needs a delay (one way) or an rtt (both ways), such as \"40ms\"");
    }
    if (delay) {
        return read_time(r, path, object, "delay", TOPO_TIME_MAX_NS, ns_out);
    }
    rc = read_time(r, path, object, "rtt", 2 * TOPO_TIME_MAX_NS, &ns);
    if (rc == OK) {
        *ns_out = (ns + 1) / 2;
    }
    return rc;
}

static enum err read_figures(struct read *r, const char *path, const json_t *object,
                             struct topo_link *link)
{
    enum err rc;

    if (json_object_get(object, "rate") == NULL) {
        return read_fail(r, ERR_MALFORMED, path, NULL, "needs a rate, such as \"100mbit\"");
    }
    rc = read_rate(r, path, object, "rate", &link->bytes_per_s);
    if (rc == OK) {
        rc = read_delay(r, path, object, &link->delay_ns);
    }
    if (rc == OK) {
        rc = read_time(r, path, object, "jitter", TOPO_TIME_MAX_NS, &link->jitter_ns);
    }
    if (rc == OK) {
        rc = read_loss(r, path, object, &link->loss_ppm);
    }
    if (rc == OK) {
        rc = read_rate(r, path, object, "stream", &link->stream_bytes_per_s);
    }
    link->priced = json_object_get(object, "price") != NULL;
    return rc == OK ? read_dollars(r, path, object, "price", TOPO_PRICE_MAX_NUSD,
                                   &link->price_nusd_per_gb)
                    : rc;
}

/* @path of a name, and the name itself. */
static enum err read_region_name(struct read *r, const char *path, const char *key,
                                 const json_t *value, struct topo_region *region)
{
    const char *name = json_string_value(value);

    if (name == NULL) {
        return read_fail(r, ERR_MALFORMED, path, key, "is %s: write a name in quotes",
                         topo_json_kind(value));
    }
    if (strlen(name) != json_string_length(value) || !topo_name_valid(name)) {
        return read_fail(r, ERR_MALFORMED, path, key,
                         "not a name: use 1 to %d of the characters A-Z a-z 0-9 . _ -",
                         LIMIT_NAME_BYTES);
    }
    (void)strcpy(region->name, name);
    return OK;
}

static enum err read_region_place(struct read *r, const char *path, const json_t *value,
                                  struct topo_region *region)
{
    bool latitude = json_object_get(value, "latitude") != NULL;
    bool longitude = json_object_get(value, "longitude") != NULL;
    enum err rc;

    if (latitude != longitude) {
        return read_fail(r, ERR_MALFORMED, path, latitude ? "latitude" : "longitude",
                         "a place needs both latitude and longitude");
    }
    region->placed = latitude;
    rc = read_number(r, path, value, "latitude", -90, 90, &region->latitude);
    return rc == OK ? read_number(r, path, value, "longitude", -180, 180, &region->longitude) : rc;
}

/* The prices of classes. @path is theirs. */
static enum err read_classes(struct read *r, const char *path, const json_t *classes,
                             struct topo_region *region)
{
    const char *class;
    json_t *price;
    enum err rc = OK;

    if (json_object_size(classes) == 0 || json_object_size(classes) > TOPO_CLASSES_MAX) {
        return read_fail(r, ERR_MALFORMED, path, NULL,
                         "has %zu classes: 1 to %d are allowed, as in {\"cpu\": 0.796}",
                         json_object_size(classes), TOPO_CLASSES_MAX);
    }
    json_object_foreach((json_t *)classes, class, price)
    {
        struct topo_price *p = &region->prices[region->prices_count];

        if (!topo_class_valid(class)) {
            return read_fail(r, ERR_MALFORMED, path, class,
                             "not a class of machines: use 1 to %d of the characters a-z 0-9 -",
                             TOPO_CLASS_BYTES - 1);
        }
        rc = read_dollars(r, path, classes, class, TOPO_HOUR_MAX_NUSD, &p->nusd_per_hour);
        if (rc != OK) {
            break;
        }
        (void)strcpy(p->class, class);
        region->prices_count++;
    }
    return rc;
}

/* What machines cost: a number for every class, or an object with one for each. */
static enum err read_region_prices(struct read *r, const char *path, const json_t *value,
                                   struct topo_region *region)
{
    const json_t *prices = json_object_get(value, "usd_per_hour");
    struct read_path below;

    if (prices == NULL) {
        return OK;
    }
    if (json_is_object(prices)) {
        (void)snprintf(below.chars, sizeof(below.chars), "%.30s.usd_per_hour", path);
        return read_classes(r, below.chars, prices, region);
    }
    if (!json_is_number(prices)) {
        return read_fail(r, ERR_MALFORMED, path, "usd_per_hour",
                         "is %s: write a number, or one for each class, as in {\"cpu\": 0.796}",
                         topo_json_kind(prices));
    }
    region->prices_count = 1;
    return read_dollars(r, path, value, "usd_per_hour", TOPO_HOUR_MAX_NUSD,
                        &region->prices[0].nusd_per_hour);
}

/* A name alone, or an object. */
static enum err read_region(struct read *r, uint32_t index, const json_t *value)
{
    static const char *const keys[] = {"name", "latitude", "longitude", "usd_per_hour", NULL};
    struct topo_region region = {.placed = false};
    const char *key = NULL;
    struct read_path path;
    enum err rc = OK;

    (void)snprintf(path.chars, sizeof(path.chars), "regions[%u]", index);
    if (!json_is_string(value) && !json_is_object(value)) {
        return read_fail(r, ERR_MALFORMED, path.chars, NULL,
                         "is %s: write a name in quotes, or an object {\"name\": ...}",
                         topo_json_kind(value));
    }
    if (json_is_object(value)) {
        rc = read_object(r, path.chars, value, keys);
        if (rc == OK && json_object_get(value, "name") == NULL) {
            rc = read_fail(r, ERR_MALFORMED, path.chars, NULL, "needs a name");
        }
        if (rc == OK) {
            rc = read_region_place(r, path.chars, value, &region);
        }
        if (rc == OK) {
            rc = read_region_prices(r, path.chars, value, &region);
        }
        value = json_object_get(value, "name");
        key = "name";
    }
    if (rc == OK) {
        rc = read_region_name(r, path.chars, key, value, &region);
    }
    if (rc != OK) {
        return rc;
    }
    rc = topo_region_add(r->t, &region);
    return rc == OK
               ? OK
               : read_fail(r, ERR_MALFORMED, path.chars, key, "'%s' is there already", region.name);
}

/* The list at @key; NULL if there is none. */
static enum err read_list(struct read *r, const json_t *root, const char *key, size_t most,
                          const json_t **list_out)
{
    const json_t *list = json_object_get(root, key);

    if (list != NULL && !json_is_array(list)) {
        return read_fail(r, ERR_MALFORMED, "", key, "is %s, but has to be a list [...]",
                         topo_json_kind(list));
    }
    if (json_array_size(list) > most) {
        return read_fail(r, ERR_TOO_BIG, "", key, "has %zu entries: at most %zu are allowed",
                         json_array_size(list), most);
    }
    *list_out = list;
    return OK;
}

static enum err read_regions(struct read *r, const json_t *root)
{
    const json_t *list = NULL;
    enum err rc = read_list(r, root, "regions", TOPO_REGIONS_MAX, &list);

    if (rc == OK && json_array_size(list) == 0) {
        return read_fail(r, ERR_MALFORMED, "", list == NULL ? NULL : "regions",
                         "there is no region: \"regions\" needs at least one");
    }
    for (uint32_t i = 0; i < json_array_size(list) && rc == OK; i++) {
        rc = read_region(r, i, json_array_get(list, i));
    }
    return rc;
}

/* One end of a link. @key is NULL if @path is the whole way. */
static enum err read_end(struct read *r, const char *path, const char *key, const json_t *value,
                         uint32_t *index_out)
{
    struct topo_region region;
    struct nearest near;
    enum err rc = read_region_name(r, path, key, value, &region);

    if (rc != OK || topo_region_find(r->t, region.name, index_out)) {
        return rc;
    }
    nearest_init(&near, region.name);
    for (uint32_t i = 0; i < topo_regions(r->t); i++) {
        nearest_offer(&near, topo_region_at(r->t, i)->name);
    }
    return read_fail(r, ERR_MALFORMED, path, key, "there is no region '%s': %s", region.name,
                     nearest_hint(&near, "the regions are"));
}

/* "between" two regions. */
static enum err read_between(struct read *r, const char *path, const json_t *list, uint32_t ends[2])
{
    enum err rc = OK;

    if (json_array_size(list) != 2) {
        return read_fail(r, ERR_MALFORMED, path, "between",
                         "write a list of two regions, such as [\"a\", \"b\"]");
    }
    for (uint32_t i = 0; i < 2 && rc == OK; i++) {
        struct read_path end;

        (void)snprintf(end.chars, sizeof(end.chars), "%.30s.between[%u]", path, i);
        rc = read_end(r, end.chars, NULL, json_array_get(list, i), &ends[i]);
    }
    return rc;
}

static enum err read_ends(struct read *r, const char *path, const json_t *value, bool *both_out,
                          uint32_t ends[2])
{
    const json_t *between = json_object_get(value, "between");
    const json_t *from = json_object_get(value, "from");
    const json_t *to = json_object_get(value, "to");
    enum err rc;

    if ((between != NULL) == (from != NULL && to != NULL) ||
        (between != NULL && (from != NULL || to != NULL))) {
        return read_fail(r, ERR_MALFORMED, path, NULL,
                         "needs either \"between\" with two regions (both ways alike) or \"from\" "
                         "and \"to\" (one way)");
    }
    *both_out = between != NULL;
    if (between != NULL) {
        rc = read_between(r, path, between, ends);
    } else {
        rc = read_end(r, path, "from", from, &ends[0]);
        if (rc == OK) {
            rc = read_end(r, path, "to", to, &ends[1]);
        }
    }
    if (rc == OK && ends[0] == ends[1]) {
        return read_fail(r, ERR_MALFORMED, path, NULL,
                         "joins a region with itself: its inside is the \"lan\"");
    }
    return rc;
}

/* Set one direction, once. */
static enum err read_direction(struct read *r, uint32_t entry, uint32_t from, uint32_t to,
                               const struct topo_link *link)
{
    struct read_path path;

    if (r->entries[from][to] != 0) {
        (void)snprintf(path.chars, sizeof(path.chars), "links[%u]", entry);
        return read_fail(r, ERR_MALFORMED, path.chars, NULL,
                         "the way from %s to %s is there already, in links[%u]",
                         topo_region_at(r->t, from)->name, topo_region_at(r->t, to)->name,
                         r->entries[from][to] - 1);
    }
    r->entries[from][to] = (uint16_t)(entry + 1);
    return topo_link_set(r->t, from, to, link);
}

static enum err read_link(struct read *r, uint32_t index, const json_t *value)
{
    static const char *const keys[] = {"between", "from", "to",     "rate",  "delay", "rtt",
                                       "jitter",  "loss", "stream", "price", NULL};
    struct topo_link link = {0};
    uint32_t ends[2] = {0};
    bool both = false;
    struct read_path path;
    enum err rc;

    (void)snprintf(path.chars, sizeof(path.chars), "links[%u]", index);
    rc = read_object(r, path.chars, value, keys);
    if (rc == OK) {
        rc = read_ends(r, path.chars, value, &both, ends);
    }
    if (rc == OK) {
        rc = read_figures(r, path.chars, value, &link);
    }
    if (rc == OK) {
        rc = read_direction(r, index, ends[0], ends[1], &link);
    }
    if (rc == OK && both) {
        rc = read_direction(r, index, ends[1], ends[0], &link);
    }
    return rc;
}

static enum err read_links(struct read *r, const json_t *root)
{
    const json_t *list = NULL;
    enum err rc = read_list(r, root, "links", TOPO_LINKS_MAX, &list);

    for (uint32_t i = 0; i < json_array_size(list) && rc == OK; i++) {
        rc = read_link(r, i, json_array_get(list, i));
    }
    return rc;
}

static enum err read_default(struct read *r, const json_t *root)
{
    static const char *const keys[] = {"rate", "delay",  "rtt",   "jitter",
                                       "loss", "stream", "price", NULL};
    const json_t *value = json_object_get(root, "default_link");
    struct topo_link link = {0};
    enum err rc;

    if (value == NULL) {
        return OK;
    }
    rc = read_object(r, "default_link", value, keys);
    if (rc == OK) {
        rc = read_figures(r, "default_link", value, &link);
    }
    return rc == OK ? topo_default_set(r->t, &link) : rc;
}

static enum err read_lan(struct read *r, const json_t *root)
{
    static const char *const keys[] = {"rate", "delay", NULL};
    const json_t *value = json_object_get(root, "lan");
    struct topo_link lan = *topo_lan(r->t);
    enum err rc;

    if (value == NULL) {
        return OK;
    }
    rc = read_object(r, "lan", value, keys);
    if (rc == OK) {
        rc = read_rate(r, "lan", value, "rate", &lan.bytes_per_s);
    }
    if (rc == OK) {
        rc = read_time(r, "lan", value, "delay", TOPO_TIME_MAX_NS, &lan.delay_ns);
    }
    return rc == OK ? topo_lan_set(r->t, &lan) : rc;
}

/* One text or a list of them, to lines. */
static enum err read_source(struct read *r, const json_t *value, struct text *lines)
{
    size_t count = json_is_array(value) ? json_array_size(value) : 1;

    for (size_t i = 0; i < count; i++) {
        const json_t *part = json_is_array(value) ? json_array_get(value, i) : value;

        if (!read_is_plain(part)) {
            return read_fail(r, ERR_MALFORMED, "", "source",
                             "write a text or a list of texts, each without control characters");
        }
        text_add(lines, i > 0 ? "\n" : "");
        text_add(lines, json_string_value(part));
    }
    return OK;
}

static enum err read_description(struct read *r, const json_t *root)
{
    const json_t *source = json_object_get(root, "source");
    char storage[TOPO_SOURCE_BYTES_MAX + 1];
    const char *name = NULL;
    struct text lines;
    enum err rc = read_text(r, "", root, "name", "three regions", &name);

    text_init_fixed(&lines, storage, sizeof(storage));
    if (rc == OK && source != NULL) {
        rc = read_source(r, source, &lines);
    }
    if (rc == OK && name != NULL && strlen(name) > LIMIT_NAME_BYTES) {
        rc = read_fail(r, ERR_TOO_BIG, "", "name", "has more than %d bytes", LIMIT_NAME_BYTES);
    }
    if (rc == OK && lines.failed) {
        rc = read_fail(r, ERR_TOO_BIG, "", "source", "has more than %d bytes in all",
                       TOPO_SOURCE_BYTES_MAX);
    }
    return rc == OK ? topo_describe(r->t, name == NULL ? "" : name, storage) : rc;
}

static enum err read_version(struct read *r, const json_t *root)
{
    const json_t *version = json_object_get(root, "strait_topology");

    if (version == NULL && r->origin->versioned) {
        return read_fail(r, ERR_MALFORMED, "", NULL,
                         "not a topology: it has to say \"strait_topology\": 1");
    }
    if (version != NULL && (!json_is_integer(version) || json_integer_value(version) != 1)) {
        return read_fail(r, ERR_MALFORMED, "", "strait_topology",
                         "this program reads version 1 of topologies only");
    }
    return OK;
}

static enum err read_duplex(struct read *r, const json_t *root)
{
    const char *duplex = NULL;
    enum err rc = read_text(r, "", root, "duplex", "shared", &duplex);

    if (rc != OK || duplex == NULL) {
        return rc;
    }
    if (strcmp(duplex, "shared") != 0 && strcmp(duplex, "full") != 0) {
        return read_fail(r, ERR_MALFORMED, "", "duplex",
                         "has to be \"full\" (each direction of a link has its rate) or "
                         "\"shared\" (both share it)");
    }
    topo_duplex_set(r->t, duplex[0] == 's' ? TOPO_DUPLEX_SHARED : TOPO_DUPLEX_FULL);
    return OK;
}

/* What both directions share is one rate. */
static enum err read_shared(struct read *r)
{
    struct units_text there, back;
    struct read_path path;
    uint32_t a, b;

    if (topo_duplex(r->t) == TOPO_DUPLEX_FULL || !topo_link_uneven(r->t, &a, &b)) {
        return OK;
    }
    /* One of both is not the default. */
    (void)snprintf(path.chars, sizeof(path.chars), "links[%u]",
                   (r->entries[a][b] != 0 ? r->entries[a][b] : r->entries[b][a]) - 1U);
    return read_fail(r, ERR_MALFORMED, path.chars, NULL,
                     "has %s from %s to %s and %s back, but with \"duplex\": \"shared\" there is "
                     "one rate for both",
                     units_rate_print(topo_link_between(r->t, a, b)->bytes_per_s, &there),
                     topo_region_at(r->t, a)->name, topo_region_at(r->t, b)->name,
                     units_rate_print(topo_link_between(r->t, b, a)->bytes_per_s, &back));
}

static enum err read_root(struct read *r, const json_t *root)
{
    static const char *const keys[] = {"strait_topology", "name",  "source",       "duplex", "lan",
                                       "regions",         "links", "default_link", NULL};
    enum err rc = read_object(r, "", root, keys);

    if (rc == OK) {
        rc = read_version(r, root);
    }
    if (rc == OK) {
        rc = read_description(r, root);
    }
    if (rc == OK) {
        rc = read_duplex(r, root);
    }
    if (rc == OK) {
        rc = read_lan(r, root);
    }
    if (rc == OK) {
        rc = read_regions(r, root);
    }
    if (rc == OK) {
        rc = read_links(r, root);
    }
    if (rc == OK) {
        rc = read_default(r, root);
    }
    return rc == OK ? read_shared(r) : rc;
}

enum err topo_read(const json_t *root, const struct topo_origin *origin, struct topo **topo_out,
                   struct err_text *text)
{
    struct read *r = mem_zalloc(sizeof(*r));
    enum err rc = r == NULL ? ERR_NOMEM : OK;

    if (rc == OK) {
        r->origin = origin;
        r->text = text;
        rc = topo_create(&r->t);
    }
    if (rc == OK) {
        rc = read_root(r, root);
        if (rc == OK) {
            *topo_out = r->t;
        } else {
            topo_destroy(r->t);
        }
    }
    mem_free(r);
    return rc == ERR_NOMEM ? err_text_set(text, rc, "%.128s: out of memory", origin->name) : rc;
}
