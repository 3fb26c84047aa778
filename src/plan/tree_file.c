#include "plan/tree_file.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "topo/json.h"
#include "topo/locate.h"
#include "topo/topo.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FILE_PATH_BYTES = 2 * PLAN_TREE_ID_BYTES_MAX + 32, FILE_NUMBER_MAX = 1000 * 1000 };

/* A file that is being read. */
struct file {
    const char *name;
    const char *bytes;
    size_t size;
    struct err_text *text;
    struct plan_tree_file *out;
    json_t *index; /* From id to number of the node. */
};

static enum err file_fail(const struct file *f, const char *path, const char *key, const char *fmt,
                          ...) PRINTF_LIKE(4, 5);

/* @key is a key of the object at @path that is there, or NULL. */
static enum err file_fail(const struct file *f, const char *path, const char *key, const char *fmt,
                          ...)
{
    struct topo_place place = topo_locate(f->bytes, f->size, path, key);
    char what[ERR_TEXT_BYTES / 2], where[ERR_TEXT_BYTES / 4];
    struct text whole;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    text_init_fixed(&whole, where, sizeof(where));
    text_add_printable(&whole, path);
    text_add(&whole, path[0] != '\0' && key != NULL ? "." : "");
    text_add_printable(&whole, key == NULL ? "" : key);
    return err_text_set(f->text, ERR_MALFORMED, "%.96s:%u:%u: %s%s%s", f->name, place.line,
                        place.column, where, where[0] != '\0' ? ": " : "", what);
}

/* @value is an object and has no other keys than @allowed, which ends with NULL. */
static enum err file_object(const struct file *f, const char *path, const json_t *value,
                            const char *const *allowed)
{
    const char *key;
    json_t *member;

    if (!json_is_object(value)) {
        return file_fail(f, path, NULL, "is %s, but has to be an object {...}",
                         topo_json_kind(value));
    }
    json_object_foreach((json_t *)value, key, member)
    {
        const char *const *a = allowed;
        struct nearest near;

        nearest_init(&near, key);
        while (*a != NULL && strcmp(*a, key) != 0) {
            nearest_offer(&near, *a);
            a++;
        }
        if (*a == NULL) {
            return file_fail(f, path, key, "no such key: %s", nearest_hint(&near, "there are"));
        }
    }
    return OK;
}

/* A cost that is there. */
static enum err file_cost(const struct file *f, const char *path, const char *key,
                          const json_t *value, double *out)
{
    if (!json_is_number(value)) {
        return file_fail(f, path, key, "is %s: write a number, without quotes",
                         topo_json_kind(value));
    }
    if (!(json_number_value(value) >= 0 && json_number_value(value) <= PLAN_TREE_COST_MAX)) {
        return file_fail(f, path, key, "has to be from 0 to %.10g", PLAN_TREE_COST_MAX);
    }
    *out = json_number_value(value);
    return OK;
}

/* A cost at @key of the whole; absent: as it is. */
static enum err file_root_cost(const struct file *f, const char *key, double *out)
{
    const json_t *value = json_object_get(f->out->root, key);

    return value == NULL ? OK : file_cost(f, "", key, value, out);
}

static enum err file_number(const struct file *f, const char *key, const char *what, uint32_t *out)
{
    const json_t *value = json_object_get(f->out->root, key);

    if (value == NULL) {
        return file_fail(f, "", NULL, "needs \"%s\": %s", key, what);
    }
    if (!json_is_integer(value) || json_integer_value(value) < 1 ||
        json_integer_value(value) > FILE_NUMBER_MAX) {
        return file_fail(f, "", key, "has to be a whole number from 1 to %d: %s", FILE_NUMBER_MAX,
                         what);
    }
    *out = (uint32_t)json_integer_value(value);
    return OK;
}

/* Nodes. */

static enum err file_list(const struct file *f, const char *key, uint32_t most, uint32_t *count_out)
{
    const json_t *list = json_object_get(f->out->root, key);

    if (list == NULL || (json_is_array(list) && json_array_size(list) == 0)) {
        return file_fail(f, "", list == NULL ? NULL : key,
                         "there are no %s: \"%s\" needs at least one", key, key);
    }
    if (!json_is_array(list)) {
        return file_fail(f, "", key, "is %s, but has to be a list [...]", topo_json_kind(list));
    }
    if (json_array_size(list) > most) {
        return file_fail(f, "", key, "has %zu entries: at most %u are allowed",
                         json_array_size(list), most);
    }
    *count_out = (uint32_t)json_array_size(list);
    return OK;
}

static enum err file_id(struct file *f, const char *path, const json_t *node, uint32_t number)
{
    const json_t *id = json_object_get(node, "id"), *other;
    const char *chars = json_string_value(id);

    if (id == NULL) {
        return file_fail(f, path, NULL, "needs an \"id\"");
    }
    if (chars == NULL || chars[0] == '\0' || !topo_text_valid(chars) ||
        strlen(chars) > PLAN_TREE_ID_BYTES_MAX) {
        return file_fail(f, path, "id",
                         "has to be a text of 1 to %d bytes without control characters",
                         PLAN_TREE_ID_BYTES_MAX);
    }
    other = json_object_get(f->index, chars);
    if (other != NULL) {
        uint32_t at = (uint32_t)json_integer_value(other), workers = f->out->problem.workers;

        return file_fail(f, path, "id", "is the id of %s[%u] too: each has its own",
                         at < workers ? "workers" : "servers", at < workers ? at : at - workers);
    }
    return json_object_set_new(f->index, chars, json_integer(number)) == 0 ? OK : ERR_NOMEM;
}

/* The first node whose @key is the same stands for all. */
static uint32_t file_same(const struct file *f, const char *key, uint32_t number)
{
    const json_t *mine = json_object_get(f->out->nodes[number], key);
    uint32_t i = 0;

    while (!json_equal(mine, json_object_get(f->out->nodes[i], key))) {
        i++;
    }
    return i;
}

static enum err file_place(struct file *f, const char *path, const json_t *node, uint32_t number)
{
    static const char *const keys[] = {"agg", "edge"};

    for (size_t i = 0; i < 2; i++) {
        const json_t *value = json_object_get(node, keys[i]);
        const char *chars = json_string_value(value);

        if (value == NULL) {
            return file_fail(f, path, NULL,
                             "needs \"%s\", the name of its %s switch; or give \"costs\" for all",
                             keys[i], i == 0 ? "aggregation" : "edge");
        }
        if (!json_is_integer(value) &&
            (chars == NULL || chars[0] == '\0' || !topo_text_valid(chars) ||
             strlen(chars) > PLAN_TREE_ID_BYTES_MAX)) {
            return file_fail(f, path, keys[i],
                             "has to be a whole number, or a text of 1 to %d bytes without "
                             "control characters",
                             PLAN_TREE_ID_BYTES_MAX);
        }
    }
    f->out->places[number].agg = file_same(f, "agg", number);
    f->out->places[number].edge = file_same(f, "edge", number);
    return OK;
}

static enum err file_node(struct file *f, const char *list, uint32_t index, uint32_t number)
{
    static const char *const placed[] = {"id", "agg", "edge", NULL};
    static const char *const measured[] = {"id", NULL};
    const json_t *node = json_array_get(json_object_get(f->out->root, list), index);
    char path[32];
    enum err rc;

    (void)snprintf(path, sizeof(path), "%s[%u]", list, index);
    if (f->out->costs != NULL &&
        (json_object_get(node, "agg") != NULL || json_object_get(node, "edge") != NULL)) {
        return file_fail(f, path, NULL,
                         "has a place, but there are \"costs\" too: give one of both");
    }
    rc = file_object(f, path, node, f->out->costs != NULL ? measured : placed);
    f->out->nodes[number] = node;
    if (rc == OK) {
        rc = file_id(f, path, node, number);
    }
    return rc == OK && f->out->costs == NULL ? file_place(f, path, node, number) : rc;
}

static enum err file_nodes(struct file *f)
{
    struct plan_tree_problem *p = &f->out->problem;
    enum err rc = OK;

    for (uint32_t i = 0; i < p->workers && rc == OK; i++) {
        rc = file_node(f, "workers", i, i);
    }
    for (uint32_t i = 0; i < p->servers && rc == OK; i++) {
        rc = file_node(f, "servers", i, p->workers + i);
    }
    return rc;
}

/* Measured costs. */

/* Every id in @object is that of a node. */
static enum err file_known(const struct file *f, const char *path, const json_t *object)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object)) {
        return file_fail(f, path, NULL, "is %s, but has to be an object {...}",
                         topo_json_kind(object));
    }
    json_object_foreach((json_t *)object, key, value)
    {
        if (json_object_get(f->index, key) == NULL) {
            return file_fail(f, path, key, "there is no worker or server of that id");
        }
    }
    return OK;
}

/* What is not needed, such as from a worker to a server, may be there. */
static enum err file_row(struct file *f, const json_t *all, uint32_t from)
{
    const struct plan_tree_problem *p = &f->out->problem;
    const char *id = plan_tree_file_id(f->out, from);
    const json_t *row = json_object_get(all, id);
    char path[FILE_PATH_BYTES];
    enum err rc;

    (void)snprintf(path, sizeof(path), "costs.%s", id);
    if (row == NULL && (from >= p->workers || p->workers > 1)) {
        return file_fail(f, "costs", NULL, "needs \"%s\": what it costs from there to every worker",
                         id);
    }
    rc = row == NULL ? OK : file_known(f, path, row);
    for (uint32_t to = 0; to < p->workers && rc == OK; to++) {
        const json_t *cost = json_object_get(row, plan_tree_file_id(f->out, to));

        if (cost == NULL && to != from) {
            return file_fail(f, path, NULL, "needs \"%s\": what it costs from there to that worker",
                             plan_tree_file_id(f->out, to));
        }
        if (cost != NULL) {
            rc = file_cost(f, path, plan_tree_file_id(f->out, to), cost,
                           &f->out->costs[(size_t)from * p->workers + to]);
        }
    }
    return rc;
}

static enum err file_costs(struct file *f)
{
    const struct plan_tree_problem *p = &f->out->problem;
    const json_t *all = json_object_get(f->out->root, "costs");
    enum err rc = file_known(f, "costs", all);

    for (uint32_t from = 0; from < p->workers + p->servers && rc == OK; from++) {
        rc = file_row(f, all, from);
    }
    return rc;
}

static enum err file_distances(struct file *f)
{
    static const char *const keys[] = {"edge_cost", "agg_cost", "core_cost"};
    struct plan_tree_problem *p = &f->out->problem;
    double *const costs[] = {&p->edge_cost, &p->agg_cost, &p->core_cost};
    enum err rc = OK;

    p->edge_cost = PLAN_TREE_EDGE_COST;
    p->agg_cost = PLAN_TREE_AGG_COST;
    p->core_cost = PLAN_TREE_CORE_COST;
    for (size_t i = 0; i < 3 && rc == OK; i++) {
        if (f->out->costs != NULL && json_object_get(f->out->root, keys[i]) != NULL) {
            return file_fail(f, "", keys[i], "there are \"costs\" too: give one of both");
        }
        rc = file_root_cost(f, keys[i], costs[i]);
    }
    return rc;
}

/* The whole. */

static enum err file_memory(struct file *f)
{
    struct plan_tree_file *out = f->out;
    uint32_t nodes = out->problem.workers + out->problem.servers;

    f->index = json_object();
    out->nodes = mem_calloc(nodes, sizeof(json_t *));
    if (json_object_get(out->root, "costs") != NULL) {
        out->costs = mem_calloc((size_t)nodes * out->problem.workers, sizeof(*out->costs));
        out->problem.costs = out->costs;
    } else {
        out->places = mem_calloc(nodes, sizeof(*out->places));
        out->problem.places = out->places;
    }
    return f->index == NULL || out->nodes == NULL || (out->costs == NULL && out->places == NULL)
               ? ERR_NOMEM
               : OK;
}

static enum err file_sizes(struct file *f)
{
    static const char *const keys[] = {"workers",   "servers",  "degree",    "depth", "leaf_cost",
                                       "edge_cost", "agg_cost", "core_cost", "costs", NULL};
    struct plan_tree_problem *p = &f->out->problem;
    enum err rc = file_object(f, "", f->out->root, keys);

    if (rc == OK) {
        rc = file_list(f, "workers", PLAN_TREE_WORKERS_MAX, &p->workers);
    }
    if (rc == OK) {
        rc = file_list(f, "servers", PLAN_TREE_SERVERS_MAX, &p->servers);
    }
    if (rc == OK) {
        rc = file_number(f, "degree", "how many children each may have", &p->degree);
    }
    if (rc == OK) {
        rc = file_number(f, "depth", "how far from the root a worker may be", &p->depth);
    }
    return rc == OK ? file_root_cost(f, "leaf_cost", &p->leaf_cost) : rc;
}

static enum err file_fill(struct file *f)
{
    enum err rc = file_sizes(f);

    if (rc == OK) {
        rc = file_memory(f);
    }
    if (rc == OK) {
        rc = file_distances(f);
    }
    if (rc == OK) {
        rc = file_nodes(f);
    }
    return rc == OK && f->out->costs != NULL ? file_costs(f) : rc;
}

/* The parser quotes the text near the mistake, whatever it is. */
static enum err file_not_json(const struct file *f, const json_error_t *why)
{
    char shown[ERR_TEXT_BYTES / 2];
    struct text t;

    text_init_fixed(&t, shown, sizeof(shown));
    text_add_printable(&t, why->text);
    return err_text_set(f->text, ERR_MALFORMED, "%.96s:%d:%d: not JSON: %s", f->name,
                        why->line > 0 ? why->line : 1, why->column > 0 ? why->column : 1, shown);
}

static enum err file_load(struct file *f)
{
    json_error_t why;

    f->out->root = json_loadb(f->bytes, f->size, JSON_REJECT_DUPLICATES, &why);
    if (f->out->root == NULL) {
        return json_error_code(&why) == json_error_out_of_memory ? ERR_NOMEM
                                                                 : file_not_json(f, &why);
    }
    return file_fill(f);
}

enum err plan_tree_file_parse(const char *name, const char *bytes, size_t size,
                              struct plan_tree_file **file_out, struct err_text *text)
{
    struct file f = {.name = name, .bytes = bytes, .size = size, .text = text};
    enum err rc = ERR_NOMEM;

    if (size > PLAN_TREE_FILE_BYTES_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%.96s: larger than %d bytes", name,
                            PLAN_TREE_FILE_BYTES_MAX);
    }
    f.out = mem_zalloc(sizeof(*f.out));
    if (f.out != NULL) {
        rc = file_load(&f);
    }
    json_decref(f.index);
    if (rc == OK) {
        *file_out = f.out;
    } else {
        plan_tree_file_free(f.out);
    }
    return rc == ERR_NOMEM ? err_text_set(text, rc, "%.96s: out of memory", name) : rc;
}

void plan_tree_file_free(struct plan_tree_file *f)
{
    if (f != NULL) {
        json_decref(f->root);
        mem_free(f->nodes);
        mem_free(f->places);
        mem_free(f->costs);
        mem_free(f);
    }
}

const char *plan_tree_file_id(const struct plan_tree_file *f, uint32_t node)
{
    return json_string_value(json_object_get(f->nodes[node], "id"));
}

static void file_add_name(const json_t *value, struct text *out)
{
    if (json_is_integer(value)) {
        text_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else {
        text_add(out, json_string_value(value));
    }
}

void plan_tree_file_place(const struct plan_tree_file *f, uint32_t node, struct text *out)
{
    if (f->places != NULL) {
        file_add_name(json_object_get(f->nodes[node], "agg"), out);
        text_add(out, "/");
        file_add_name(json_object_get(f->nodes[node], "edge"), out);
    }
}

enum err plan_tree_file_choose(struct plan_tree_file *f, const char *server, struct err_text *text)
{
    uint32_t first = f->problem.workers, at = first, end = first + f->problem.servers;
    struct nearest near;

    nearest_init(&near, server);
    while (at < end && strcmp(plan_tree_file_id(f, at), server) != 0) {
        nearest_offer(&near, plan_tree_file_id(f, at));
        at++;
    }
    if (at == end) {
        return err_text_set(text, ERR_NOT_FOUND, "there is no such server: %s",
                            nearest_hint(&near, "there are"));
    }
    f->nodes[first] = f->nodes[at];
    if (f->places != NULL) {
        f->places[first] = f->places[at];
    } else {
        memmove(&f->costs[(size_t)first * first], &f->costs[(size_t)at * first],
                first * sizeof(*f->costs));
    }
    f->problem.servers = 1;
    return OK;
}
