/* Planner's JSON: {"regions": [...], "links": [...]}; topologies/README.md describes it. */

#include "base/mem.h"
#include "topo/file.h"
#include "topo/graph_build.h"
#include "topo/graph_read.h"
#include "topo/json.h"
#include "topo/locate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { GRAPH_JSON_PATH_BYTES = 32, GRAPH_JSON_KEY_BYTES = 64 };

/* A file that is being read. */
struct graph_json {
    const char *name;
    const char *bytes;
    size_t size;
    struct err_text *text;
    const json_t *root;
    struct topo_graph draft;
    struct topo_graph_index index;
    struct map pairs; /* Links by the nodes they join. */
};

/* "links[3]". */
struct graph_json_path {
    char chars[GRAPH_JSON_PATH_BYTES];
};

static enum err graph_json_fail(const struct graph_json *f, enum err rc, const char *path,
                                const char *key, const char *fmt, ...) PRINTF_LIKE(5, 6);

/* @key is a key of the object at @path that is there, or NULL. */
static enum err graph_json_fail(const struct graph_json *f, enum err rc, const char *path,
                                const char *key, const char *fmt, ...)
{
    struct topo_place place = topo_locate(f->bytes, f->size, path, key);
    char what[ERR_TEXT_BYTES], cut[GRAPH_JSON_KEY_BYTES], where[4 * GRAPH_JSON_KEY_BYTES];
    struct text whole;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    (void)snprintf(cut, sizeof(cut), "%s", key == NULL ? "" : key);
    text_init_fixed(&whole, where, sizeof(where));
    text_add(&whole, path);
    text_add(&whole, path[0] != '\0' && key != NULL ? "." : "");
    text_add_printable(&whole, cut);
    return err_text_set(f->text, rc, "%.128s:%u:%u: %s%s%s", f->name, place.line, place.column,
                        where, where[0] != '\0' ? ": " : "", what);
}

/* @value is an object and has no other keys than @allowed, which ends with NULL. */
static enum err graph_json_object(const struct graph_json *f, const char *path, const json_t *value,
                                  const char *const *allowed)
{
    struct nearest near;
    const char *key;

    if (!json_is_object(value)) {
        return graph_json_fail(f, ERR_MALFORMED, path, NULL, "is %s, but has to be an object {...}",
                               topo_json_kind(value));
    }
    key = topo_json_stranger(value, allowed, &near);
    return key == NULL ? OK
                       : graph_json_fail(f, ERR_MALFORMED, path, key, "no such key: %s",
                                         nearest_hint(&near, "there are"));
}

/* A number at @key from @least to @most; absent: left as it is. */
static enum err graph_json_number(const struct graph_json *f, const char *path,
                                  const json_t *object, const char *key, double least, double most,
                                  double *out)
{
    const json_t *value = json_object_get(object, key);

    if (value == NULL) {
        return OK;
    }
    if (!json_is_number(value)) {
        return graph_json_fail(f, ERR_MALFORMED, path, key, "is %s: write a number, without quotes",
                               topo_json_kind(value));
    }
    if (least > 0 && json_number_value(value) <= 0) {
        return graph_json_fail(f, ERR_MALFORMED, path, key,
                               "has to be above zero, and at most %.10g", most);
    }
    if (!(json_number_value(value) >= least && json_number_value(value) <= most)) {
        return graph_json_fail(f, ERR_MALFORMED, path, key, "has to be from %.10g to %.10g", least,
                               most);
    }
    *out = json_number_value(value);
    return OK;
}

static bool graph_json_is_text(const json_t *value)
{
    const char *chars = json_string_value(value);

    return chars != NULL && strlen(chars) == json_string_length(value) && topo_text_valid(chars);
}

/* A name at @key for people; absent or empty: left as it is. */
static enum err graph_json_name(const struct graph_json *f, const char *path, const json_t *object,
                                char name[TOPO_GRAPH_NAME_BYTES])
{
    const json_t *value = json_object_get(object, "name");

    if (value == NULL) {
        return OK;
    }
    if (!json_is_string(value)) {
        return graph_json_fail(f, ERR_MALFORMED, path, "name", "is %s: write a text in quotes",
                               topo_json_kind(value));
    }
    if (!graph_json_is_text(value) || json_string_length(value) >= TOPO_GRAPH_NAME_BYTES) {
        return graph_json_fail(f, ERR_MALFORMED, path, "name",
                               "has to be a text of up to %d bytes without control characters",
                               TOPO_GRAPH_NAME_BYTES - 1);
    }
    (void)strcpy(name, json_string_value(value));
    return OK;
}

/* An id as text. */
static enum err graph_json_id(const struct graph_json *f, const char *path, const char *key,
                              const json_t *value, struct topo_node *node)
{
    node->numbered = json_is_integer(value);
    if (node->numbered) {
        (void)snprintf(node->id, sizeof(node->id), "%" JSON_INTEGER_FORMAT,
                       json_integer_value(value));
        return OK;
    }
    if (!graph_json_is_text(value) || !topo_graph_text_valid(json_string_value(value))) {
        return graph_json_fail(f, ERR_MALFORMED, path, key,
                               "is not an id: write a text of 1 to %d bytes without control "
                               "characters, or a whole number",
                               TOPO_GRAPH_ID_BYTES - 1);
    }
    (void)strcpy(node->id, json_string_value(value));
    return OK;
}

/* Regions. */

static enum err graph_json_place(const struct graph_json *f, const char *path, const json_t *value,
                                 struct topo_node *node)
{
    bool latitude = json_object_get(value, "lat") != NULL;
    bool longitude = json_object_get(value, "lon") != NULL;
    enum err rc;

    if (latitude != longitude) {
        return graph_json_fail(f, ERR_MALFORMED, path, latitude ? "lat" : "lon",
                               "a place needs both lat and lon");
    }
    node->placed = latitude;
    rc = graph_json_number(f, path, value, "lat", -90, 90, &node->latitude);
    return rc == OK ? graph_json_number(f, path, value, "lon", -180, 180, &node->longitude) : rc;
}

static enum err graph_json_region_object(const struct graph_json *f, const char *path,
                                         const json_t *value, struct topo_node *node)
{
    static const char *const keys[] = {"id", "name", "lat", "lon", "usd_per_hour", NULL};
    enum err rc = graph_json_object(f, path, value, keys);

    if (rc == OK && json_object_get(value, "id") == NULL) {
        rc = graph_json_fail(f, ERR_MALFORMED, path, NULL, "needs an \"id\"");
    }
    if (rc == OK) {
        rc = graph_json_id(f, path, "id", json_object_get(value, "id"), node);
    }
    if (rc == OK) {
        rc = graph_json_name(f, path, value, node->name);
    }
    if (rc == OK) {
        rc = graph_json_place(f, path, value, node);
    }
    return rc == OK ? graph_json_number(f, path, value, "usd_per_hour", 0,
                                        TOPO_GRAPH_USD_PER_HOUR_MAX, &node->usd_per_hour)
                    : rc;
}

/* An object, or only an id. */
static enum err graph_json_region(struct graph_json *f, uint32_t index, const json_t *value)
{
    struct topo_node *node = &f->draft.nodes[index];
    bool whole = json_is_object(value);
    const struct topo_node *other;
    struct graph_json_path path;
    enum err rc;

    (void)snprintf(path.chars, sizeof(path.chars), "regions[%u]", index);
    node->usd_per_hour = -1;
    rc = whole ? graph_json_region_object(f, path.chars, value, node)
               : graph_json_id(f, path.chars, NULL, value, node);
    if (rc != OK) {
        return rc;
    }
    other = topo_graph_index_find(&f->index, node->id);
    if (other != NULL) {
        return graph_json_fail(
            f, ERR_MALFORMED, path.chars, whole ? "id" : NULL,
            "'%s' is the id of regions[%u] too: each has its own%s", node->id,
            (uint32_t)(other - f->draft.nodes),
            other->numbered != node->numbered ? ", and a number is the same as its text" : "");
    }
    if (node->name[0] == '\0') {
        (void)strcpy(node->name, node->id);
    }
    return topo_graph_index_add(&f->index, node);
}

/* Links. */

/* One end at @key. */
static enum err graph_json_end(const struct graph_json *f, const char *path, const json_t *link,
                               const char *key, uint32_t *node_out)
{
    const json_t *value = json_object_get(link, key);
    struct topo_node wanted;
    const struct topo_node *found;
    struct nearest near;
    enum err rc;

    if (value == NULL) {
        return graph_json_fail(f, ERR_MALFORMED, path, NULL,
                               "needs \"a\" and \"b\", the ids of the regions it joins");
    }
    rc = graph_json_id(f, path, key, value, &wanted);
    if (rc != OK) {
        return rc;
    }
    found = topo_graph_index_find(&f->index, wanted.id);
    if (found != NULL) {
        *node_out = (uint32_t)(found - f->draft.nodes);
        return OK;
    }
    nearest_init(&near, wanted.id);
    for (uint32_t i = 0; i < f->draft.nodes_count; i++) {
        if (strcmp(f->draft.nodes[i].name, wanted.id) == 0) {
            return graph_json_fail(f, ERR_MALFORMED, path, key,
                                   "'%s' is the name of the region '%s': write its id", wanted.id,
                                   f->draft.nodes[i].id);
        }
        nearest_offer(&near, f->draft.nodes[i].id);
    }
    return graph_json_fail(f, ERR_MALFORMED, path, key, "there is no region '%s': %s", wanted.id,
                           nearest_hint(&near, "the regions are"));
}

static enum err graph_json_ends(struct graph_json *f, const char *path, const json_t *value,
                                struct topo_edge *edge)
{
    const struct topo_edge *other;
    enum err rc = graph_json_end(f, path, value, "a", &edge->a);

    if (rc == OK) {
        rc = graph_json_end(f, path, value, "b", &edge->b);
    }
    if (rc != OK) {
        return rc;
    }
    if (edge->a == edge->b) {
        return graph_json_fail(f, ERR_MALFORMED, path, NULL,
                               "joins the region '%s' with itself: a link joins two",
                               f->draft.nodes[edge->a].id);
    }
    other = map_get(&f->pairs, topo_graph_pair(edge->a, edge->b));
    if (other != NULL) {
        uint32_t index = (uint32_t)(other - f->draft.edges);
        struct graph_json_path there;
        struct topo_place place;

        (void)snprintf(there.chars, sizeof(there.chars), "links[%u]", index);
        place = topo_locate(f->bytes, f->size, there.chars, NULL);
        return graph_json_fail(f, ERR_MALFORMED, path, NULL,
                               "joins '%s' and '%s', as links[%u] in line %u, column %u does: "
                               "one link joins a pair, both ways",
                               f->draft.nodes[edge->a].id, f->draft.nodes[edge->b].id, index,
                               place.line, place.column);
    }
    return map_add(&f->pairs, topo_graph_pair(edge->a, edge->b), edge);
}

static enum err graph_json_link(struct graph_json *f, uint32_t index, const json_t *value)
{
    static const char *const keys[] = {"a", "b", "mbps", "rtt_ms", "usd_per_gb", NULL};
    struct topo_edge *edge = &f->draft.edges[index];
    struct graph_json_path path;
    enum err rc;

    (void)snprintf(path.chars, sizeof(path.chars), "links[%u]", index);
    *edge = (struct topo_edge){.rtt_ms = -1, .usd_per_gb = -1};
    rc = graph_json_object(f, path.chars, value, keys);
    if (rc == OK) {
        rc = graph_json_ends(f, path.chars, value, edge);
    }
    if (rc == OK) {
        rc = graph_json_number(f, path.chars, value, "mbps", TOPO_GRAPH_MBPS_MIN,
                               TOPO_GRAPH_MBPS_MAX, &edge->mbps);
    }
    if (rc == OK) {
        rc = graph_json_number(f, path.chars, value, "rtt_ms", 0, TOPO_GRAPH_RTT_MS_MAX,
                               &edge->rtt_ms);
    }
    return rc == OK ? graph_json_number(f, path.chars, value, "usd_per_gb", 0,
                                        TOPO_GRAPH_USD_PER_GB_MAX, &edge->usd_per_gb)
                    : rc;
}

/* Links without a rate have it by length, among the lengths of all. */
static void graph_json_speeds(struct topo_graph *g)
{
    uint32_t lacking = 0, unplaced = 0;
    struct topo_graph_rule rule;

    topo_graph_measure(g);
    topo_graph_rule_init(&rule, g, TOPO_GRAPH_NEAR_MBPS, TOPO_GRAPH_FAR_MBPS);
    for (uint32_t i = 0; i < g->edges_count; i++) {
        struct topo_edge *e = &g->edges[i];

        if (e->mbps <= 0) {
            e->mbps = topo_graph_rule_mbps(&rule, e->km);
            lacking++;
            unplaced += e->km < 0;
        }
    }
    topo_graph_note_speeds(g, &rule, lacking, unplaced);
}

/* The whole. */

static enum err graph_json_list(const struct graph_json *f, const char *key, uint32_t least,
                                uint32_t most, uint32_t *count_out)
{
    const json_t *list = json_object_get(f->root, key);

    if (list == NULL) {
        return graph_json_fail(f, ERR_MALFORMED, "", NULL,
                               "there are no %s: \"%s\" needs at least %u", key, key, least);
    }
    if (!json_is_array(list)) {
        return graph_json_fail(f, ERR_MALFORMED, "", key, "is %s, but has to be a list [...]",
                               topo_json_kind(list));
    }
    if (json_array_size(list) > most) {
        return graph_json_fail(f, ERR_TOO_BIG, "", key, "has %zu entries: at most %u are allowed",
                               json_array_size(list), most);
    }
    if (json_array_size(list) < least) {
        return graph_json_fail(f, ERR_MALFORMED, "", key, "has %s: at least %u %s needed",
                               json_array_size(list) == 0 ? "no entry" : "one entry", least,
                               least == 1 ? "is" : "are");
    }
    *count_out = (uint32_t)json_array_size(list);
    return OK;
}

static enum err graph_json_duplex(struct graph_json *f)
{
    const json_t *value = json_object_get(f->root, "duplex");
    const char *duplex = json_string_value(value);

    if (value == NULL) {
        return OK;
    }
    if (duplex == NULL || (strcmp(duplex, "shared") != 0 && strcmp(duplex, "full") != 0)) {
        return graph_json_fail(f, ERR_MALFORMED, "", "duplex",
                               "has to be \"shared\" (both directions of a link share its rate) "
                               "or \"full\" (each has it)");
    }
    f->draft.duplex = duplex[0] == 's' ? TOPO_DUPLEX_SHARED : TOPO_DUPLEX_FULL;
    return OK;
}

/* Where the figures come from is for people, and a text or a list of them. */
static enum err graph_json_source(const struct graph_json *f)
{
    const json_t *source = json_object_get(f->root, "source");
    bool texts = source == NULL || json_is_string(source) || json_is_array(source);

    for (size_t i = 0; i < json_array_size(source); i++) {
        texts = texts && json_is_string(json_array_get(source, i));
    }
    return texts
               ? OK
               : graph_json_fail(f, ERR_MALFORMED, "", "source", "write a text or a list of texts");
}

static enum err graph_json_head(struct graph_json *f)
{
    static const char *const keys[] = {"schema",  "name",  "duplex", "source",
                                       "regions", "links", NULL};
    const json_t *schema = json_object_get(f->root, "schema");
    enum err rc = graph_json_object(f, "", f->root, keys);

    if (rc == OK && schema != NULL &&
        (!json_is_integer(schema) || json_integer_value(schema) != 1)) {
        rc = graph_json_fail(f, ERR_MALFORMED, "", "schema",
                             "this program reads version 1 of such files only");
    }
    if (rc == OK) {
        rc = graph_json_name(f, "", f->root, f->draft.name);
    }
    if (rc == OK) {
        rc = graph_json_duplex(f);
    }
    return rc == OK ? graph_json_source(f) : rc;
}

static enum err graph_json_memory(struct graph_json *f)
{
    f->draft.nodes = mem_calloc(f->draft.nodes_count, sizeof(*f->draft.nodes));
    f->draft.edges = mem_calloc(f->draft.edges_count, sizeof(*f->draft.edges));
    return f->draft.nodes == NULL || f->draft.edges == NULL ||
                   topo_graph_index_init(&f->index, f->draft.nodes_count) != OK ||
                   map_init(&f->pairs, f->draft.edges_count) != OK
               ? ERR_NOMEM
               : OK;
}

static enum err graph_json_fill(struct graph_json *f)
{
    enum err rc = graph_json_head(f);

    if (rc == OK) {
        rc = graph_json_list(f, "regions", 2, TOPO_GRAPH_NODES_MAX, &f->draft.nodes_count);
    }
    if (rc == OK) {
        rc = graph_json_list(f, "links", 1, TOPO_GRAPH_LINKS_MAX, &f->draft.edges_count);
    }
    if (rc == OK) {
        rc = graph_json_memory(f);
    }
    for (uint32_t i = 0; i < f->draft.nodes_count && rc == OK; i++) {
        rc = graph_json_region(f, i, json_array_get(json_object_get(f->root, "regions"), i));
    }
    for (uint32_t i = 0; i < f->draft.edges_count && rc == OK; i++) {
        rc = graph_json_link(f, i, json_array_get(json_object_get(f->root, "links"), i));
    }
    if (rc == OK) {
        graph_json_speeds(&f->draft);
    }
    return rc;
}

/* What the last steps complained of, with its place. */
static enum err graph_json_built(const struct graph_json *f, enum err rc, uint32_t node,
                                 const struct err_text *why)
{
    struct graph_json_path path = {""};

    if (rc == OK || rc == ERR_NOMEM) {
        return rc;
    }
    if (node != TOPO_GRAPH_NOBODY) {
        (void)snprintf(path.chars, sizeof(path.chars), "regions[%u]", node);
    }
    return graph_json_fail(f, rc == ERR_TOO_BIG ? rc : ERR_MALFORMED, path.chars, NULL, "%s",
                           why->text);
}

static enum err graph_json_planner(struct graph_json *f, struct topo_graph **graph_out)
{
    uint32_t node = TOPO_GRAPH_NOBODY;
    struct err_text why = {""};
    enum err rc = graph_json_fill(f);

    if (rc == OK) {
        rc = topo_graph_build(&f->draft, graph_out, &node, &why);
        rc = graph_json_built(f, rc, node, &why);
    }
    map_deinit(&f->pairs);
    topo_graph_index_deinit(&f->index);
    mem_free(f->draft.edges);
    mem_free(f->draft.nodes);
    return rc;
}

static enum err graph_json_topology(struct graph_json *f, struct topo_graph **graph_out)
{
    uint32_t node = TOPO_GRAPH_NOBODY;
    struct err_text why = {""};
    struct topo *t = NULL;
    enum err rc = topo_file_parse(f->name, f->bytes, f->size, &t, f->text);

    if (rc == OK) {
        rc = topo_graph_from_build(t, "cpu", graph_out, &node, &why);
        rc = graph_json_built(f, rc, node, &why);
    }
    topo_destroy(t);
    return rc;
}

enum err topo_graph_json_parse(const char *name, const char *bytes, size_t size,
                               struct topo_graph **graph_out, struct err_text *text)
{
    struct graph_json *f = mem_zalloc(sizeof(*f));
    json_t *root = NULL;
    enum err rc;

    if (f == NULL) {
        return err_text_set(text, ERR_NOMEM, "%.128s: out of memory", name);
    }
    *f = (struct graph_json){.name = name, .bytes = bytes, .size = size, .text = text};
    rc = topo_json_parse(name, bytes, size, &root, text);
    if (rc == OK) {
        f->root = root;
        rc = json_object_get(root, "strait_topology") != NULL ? graph_json_topology(f, graph_out)
                                                              : graph_json_planner(f, graph_out);
    }
    json_decref(root);
    mem_free(f);
    return rc == ERR_NOMEM ? err_text_set(text, rc, "%.128s: out of memory", name) : rc;
}
