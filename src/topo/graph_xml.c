/* GraphML, as the Internet Topology Zoo and others write it. Nodes have ids, and perhaps Latitude,
 * Longitude and label; edges perhaps LinkSpeedRaw, in bit/s; the rest is left aside.
 *
 *     <graphml> <key .../> ... <graph> <node> <data/> </node> ... <edge> <data/> </edge> </graph>
 *
 * The text is parsed twice, for nodes and then for edges, so that they may come in any order. */

#include "base/mem.h"
#include "base/nearest.h"
#include "topo/graph_build.h"
#include "topo/graph_merge.h"
#include "topo/graph_read.h"
#include "topo/locate.h"

#include <expat.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRAPH_XML_DEPTH_MAX = 64,
    GRAPH_XML_KEYS_MAX = 32, /* Of those that mean something here. */
    GRAPH_XML_KEY_BYTES = 64 + 1,
    GRAPH_XML_TEXT_BYTES = 512,
};

#define GRAPH_XML_SPACE " \t\r\n"

/* What an element is, by where it is. */
enum graph_xml_kind {
    KIND_NONE,
    KIND_ROOT,
    KIND_KEY,
    KIND_DEFAULT,
    KIND_GRAPH,
    KIND_NODE,
    KIND_EDGE,
    KIND_DATA
};

/* What is told by data. */
enum graph_xml_field {
    FIELD_LATITUDE,
    FIELD_LONGITUDE,
    FIELD_LABEL,
    FIELD_SPEED,
    FIELD_NETWORK,
    FIELDS
};

static const struct {
    const char *name;
    enum graph_xml_kind whose; /* KIND_NONE: everybody's. */
    double least, most;
} graph_xml_fields[FIELDS] = {
    [FIELD_LATITUDE] = {"Latitude", KIND_NODE, -90, 90},
    [FIELD_LONGITUDE] = {"Longitude", KIND_NODE, -180, 180},
    [FIELD_LABEL] = {"label", KIND_NONE, 0, 0},
    [FIELD_SPEED] = {"LinkSpeedRaw", KIND_EDGE, TOPO_GRAPH_MBPS_MIN * 1e6,
                     TOPO_GRAPH_MBPS_MAX * 1e6},
    [FIELD_NETWORK] = {"Network", KIND_GRAPH, 0, 0},
};

struct graph_xml_key {
    char id[GRAPH_XML_KEY_BYTES];
    enum graph_xml_field field;
    enum graph_xml_kind whose; /* As above. */
};

/* What data say of one node or edge. */
struct graph_xml_told {
    bool known[FIELDS];
    double numbers[FIELDS];
};

struct graph_xml {
    const char *name;
    struct err_text *text;
    XML_Parser parser;
    enum err rc;                 /* The first complaint. */
    enum graph_xml_kind reading; /* Nodes or edges. */
    uint32_t depth;
    uint32_t aside;               /* The depth of an element that is left aside; zero: none. */
    enum graph_xml_kind kinds[6]; /* By depth; below .aside. */

    struct graph_xml_key keys[GRAPH_XML_KEYS_MAX];
    uint32_t keys_count;
    const struct graph_xml_key *key; /* Whose text is being read. */
    char chars[GRAPH_XML_TEXT_BYTES];
    size_t chars_count;
    struct topo_place chars_place;
    struct graph_xml_told defaults, told;

    bool graph_seen;
    bool directed; /* Edges that do not say. */
    bool edge_directed;
    uint32_t ends[2];
    struct topo_place place; /* Of the node or edge. */
    struct topo_graph draft;
    struct topo_place *places; /* Of nodes. */
    struct topo_graph_index index;
    struct topo_graph_merge merge;
};

static struct topo_place graph_xml_here(const struct graph_xml *x)
{
    return (struct topo_place){(uint32_t)XML_GetCurrentLineNumber(x->parser),
                               (uint32_t)XML_GetCurrentColumnNumber(x->parser) + 1};
}

static void graph_xml_fail(struct graph_xml *x, enum err rc, struct topo_place place,
                           const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Complain once; nothing is read any more. */
static void graph_xml_fail(struct graph_xml *x, enum err rc, struct topo_place place,
                           const char *fmt, ...)
{
    char what[ERR_TEXT_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    if (x->rc == OK) {
        x->rc =
            err_text_set(x->text, rc, "%.128s:%u:%u: %s", x->name, place.line, place.column, what);
        (void)XML_StopParser(x->parser, XML_FALSE);
    }
}

/* A text of the file's, short and for people. */
struct graph_xml_shown {
    char chars[4 * 48];
};

static const char *graph_xml_show(const char *chars, struct graph_xml_shown *out)
{
    char cut[48];
    struct text t;

    (void)snprintf(cut, sizeof(cut), "%.47s", chars);
    text_init_fixed(&t, out->chars, sizeof(out->chars));
    text_add_printable(&t, cut);
    return out->chars;
}

/* The value of an attribute, or NULL. */
static const char *graph_xml_attribute(const char **attributes, const char *name)
{
    for (; attributes[0] != NULL; attributes += 2) {
        if (strcmp(attributes[0], name) == 0) {
            return attributes[1];
        }
    }
    return NULL;
}

/* Texts. */

/* Set @name to @chars: one line, no longer than there is room. What cannot be a name is none. */
static void graph_xml_name(const char *chars, char name[TOPO_GRAPH_NAME_BYTES])
{
    char line[TOPO_GRAPH_NAME_BYTES] = "";
    size_t size = 0;

    for (; *chars != '\0' && size < sizeof(line); chars++) {
        bool space = strchr(GRAPH_XML_SPACE, *chars) != NULL;

        if (!space) {
            line[size++] = *chars;
        } else if (size > 0 && line[size - 1] != ' ') {
            line[size++] = ' ';
        }
    }
    if (size == sizeof(line)) { /* Cut it, between characters. */
        size--;
        while (size > 0 && ((unsigned char)line[size] & 0xc0) == 0x80) {
            size--;
        }
    }
    while (size > 0 && line[size - 1] == ' ') {
        size--;
    }
    line[size] = '\0';
    if (topo_graph_text_valid(line)) {
        memcpy(name, line, size + 1);
    }
}

/* Whom data belong to, for complaints. */
struct graph_xml_owner {
    char chars[2 * sizeof(struct graph_xml_shown) + 16];
};

static const char *graph_xml_owner(const struct graph_xml *x, struct graph_xml_owner *out)
{
    const struct topo_node *nodes = x->draft.nodes;
    enum graph_xml_kind kind = x->kinds[x->depth - 1];
    struct graph_xml_shown a, b;

    if (kind == KIND_NODE) {
        (void)snprintf(out->chars, sizeof(out->chars), "node '%s'",
                       graph_xml_show(nodes[x->draft.nodes_count].id, &a));
    } else if (kind == KIND_EDGE) {
        (void)snprintf(out->chars, sizeof(out->chars), "edge '%s' - '%s'",
                       graph_xml_show(nodes[x->ends[0]].id, &a),
                       graph_xml_show(nodes[x->ends[1]].id, &b));
    } else {
        (void)snprintf(out->chars, sizeof(out->chars), "default");
    }
    return out->chars;
}

/* The text that was read is a number of @field. */
static void graph_xml_number(struct graph_xml *x, enum graph_xml_field field,
                             struct graph_xml_told *told)
{
    double least = graph_xml_fields[field].least, most = graph_xml_fields[field].most;
    const char *name = graph_xml_fields[field].name;
    char *start = x->chars + strspn(x->chars, GRAPH_XML_SPACE), *end = x->chars + x->chars_count;
    struct graph_xml_shown shown;
    struct graph_xml_owner owner;
    double value;

    while (end > start && strchr(GRAPH_XML_SPACE, end[-1]) != NULL) {
        *--end = '\0';
    }
    value = strtod(start, &end);
    if (end == start || *end != '\0' || strspn(start, "+-.0123456789eE") != strlen(start) ||
        x->chars_count == sizeof(x->chars) - 1) {
        graph_xml_fail(x, ERR_MALFORMED, x->chars_place,
                       "%s: %s: '%s' is not a number: write one such as 48.86, or leave it out",
                       graph_xml_owner(x, &owner), name, graph_xml_show(start, &shown));
    } else if (field == FIELD_SPEED && value <= 0) {
        graph_xml_fail(x, ERR_MALFORMED, x->chars_place,
                       "%s: %s: is %s: has to be above zero, in bit/s; leave it out if it is not "
                       "known",
                       graph_xml_owner(x, &owner), name, graph_xml_show(start, &shown));
    } else if (!(value >= least && value <= most)) {
        graph_xml_fail(x, ERR_MALFORMED, x->chars_place, "%s: %s: has to be from %.10g to %.10g",
                       graph_xml_owner(x, &owner), name, least, most);
    } else {
        told->known[field] = true;
        told->numbers[field] = value;
    }
}

/* Data of a node, an edge or the graph, or the default of a key, are at their end. */
static void graph_xml_text_end(struct graph_xml *x)
{
    enum graph_xml_kind whose = x->kinds[x->depth - 1];
    enum graph_xml_field field = x->key->field;

    x->chars[x->chars_count] = '\0';
    if (field != FIELD_LABEL && field != FIELD_NETWORK) {
        graph_xml_number(x, field, whose == KIND_KEY ? &x->defaults : &x->told);
    } else if (whose == KIND_NODE && field == FIELD_LABEL) {
        graph_xml_name(x->chars, x->draft.nodes[x->draft.nodes_count].name);
    } else if (whose == KIND_GRAPH && (field == FIELD_NETWORK || x->draft.name[0] == '\0')) {
        graph_xml_name(x->chars, x->draft.name);
    }
    x->key = NULL;
}

static void graph_xml_chars(void *user, const char *chars, int size)
{
    struct graph_xml *x = user;
    size_t room = sizeof(x->chars) - 1 - x->chars_count;
    size_t taken = (size_t)size < room ? (size_t)size : room;

    if (x->rc == OK && x->aside == 0 && x->key != NULL) {
        memcpy(x->chars + x->chars_count, chars, taken);
        x->chars_count += taken;
    }
}

static void graph_xml_text_start(struct graph_xml *x, const struct graph_xml_key *key)
{
    x->key = key;
    x->chars_count = 0;
    x->chars_place = graph_xml_here(x);
}

/* Elements: each returns what it is, or KIND_NONE if it is left aside. */

static enum graph_xml_kind graph_xml_key_start(struct graph_xml *x, const char **attributes)
{
    static const struct {
        const char *word;
        enum graph_xml_kind whose;
    } owners[] = {
        {"node", KIND_NODE}, {"edge", KIND_EDGE}, {"graph", KIND_GRAPH}, {"all", KIND_NONE}};
    const char *id = graph_xml_attribute(attributes, "id");
    const char *name = graph_xml_attribute(attributes, "attr.name");
    const char *whose = graph_xml_attribute(attributes, "for");
    struct graph_xml_key *key = &x->keys[x->keys_count];
    enum graph_xml_kind meant, asked;
    size_t field = 0, owner = 0;

    while (name != NULL && field < FIELDS && strcmp(graph_xml_fields[field].name, name) != 0) {
        field++;
    }
    while (whose != NULL && owner < 4 && strcmp(owners[owner].word, whose) != 0) {
        owner++;
    }
    if (id == NULL || name == NULL || field == FIELDS || owner == 4) {
        return KIND_NONE;
    }
    meant = graph_xml_fields[field].whose;
    asked = whose == NULL ? KIND_NONE : owners[owner].whose;
    if (meant != KIND_NONE && asked != KIND_NONE && meant != asked) {
        return KIND_NONE; /* The latitude of an edge, say. */
    }
    if (strlen(id) >= sizeof(key->id) || x->keys_count == GRAPH_XML_KEYS_MAX) {
        graph_xml_fail(x, ERR_TOO_BIG, graph_xml_here(x),
                       "more than %d keys of the same names, or one with an id of more than %d "
                       "bytes",
                       GRAPH_XML_KEYS_MAX, GRAPH_XML_KEY_BYTES - 1);
        return KIND_NONE;
    }
    (void)strcpy(key->id, id);
    key->field = (enum graph_xml_field)field;
    key->whose = meant != KIND_NONE ? meant : asked;
    x->keys_count++;
    return KIND_KEY;
}

static enum graph_xml_kind graph_xml_data_start(struct graph_xml *x, const char **attributes)
{
    const char *id = graph_xml_attribute(attributes, "key");
    enum graph_xml_kind whose = x->kinds[x->depth - 1];

    for (uint32_t i = 0; id != NULL && i < x->keys_count; i++) {
        const struct graph_xml_key *k = &x->keys[i];

        if (strcmp(k->id, id) == 0 && (k->whose == KIND_NONE || k->whose == whose)) {
            graph_xml_text_start(x, k);
            return KIND_DATA;
        }
    }
    return KIND_NONE;
}

static enum graph_xml_kind graph_xml_graph_start(struct graph_xml *x, const char **attributes)
{
    const char *edges = graph_xml_attribute(attributes, "edgedefault");

    if (x->graph_seen) {
        graph_xml_fail(x, ERR_MALFORMED, graph_xml_here(x),
                       "a second <graph>: one file is one network");
        return KIND_NONE;
    }
    x->graph_seen = true;
    x->directed = edges != NULL && strcmp(edges, "directed") == 0;
    return KIND_GRAPH;
}

static enum graph_xml_kind graph_xml_node_start(struct graph_xml *x, const char **attributes)
{
    const char *id = graph_xml_attribute(attributes, "id");
    struct topo_node *node = &x->draft.nodes[x->draft.nodes_count];
    const struct topo_node *other;

    x->place = graph_xml_here(x);
    x->told = x->defaults;
    if (id == NULL || !topo_graph_text_valid(id)) {
        graph_xml_fail(x, ERR_MALFORMED, x->place,
                       "a node needs an id of 1 to %d bytes without control characters",
                       TOPO_GRAPH_ID_BYTES - 1);
        return KIND_NONE;
    }
    if (x->draft.nodes_count == TOPO_GRAPH_NODES_MAX) {
        graph_xml_fail(x, ERR_TOO_BIG, x->place, "more than %d nodes", TOPO_GRAPH_NODES_MAX);
        return KIND_NONE;
    }
    other = topo_graph_index_find(&x->index, id);
    if (other != NULL) {
        graph_xml_fail(x, ERR_MALFORMED, x->place,
                       "'%s' is the id of the node in line %u too: each has its own", id,
                       x->places[other - x->draft.nodes].line);
        return KIND_NONE;
    }
    (void)strcpy(node->id, id);
    node->numbered = topo_graph_whole(id);
    node->usd_per_hour = -1;
    return KIND_NODE;
}

static void graph_xml_node_end(struct graph_xml *x)
{
    struct topo_node *node = &x->draft.nodes[x->draft.nodes_count];

    node->placed = x->told.known[FIELD_LATITUDE] && x->told.known[FIELD_LONGITUDE];
    node->latitude = node->placed ? x->told.numbers[FIELD_LATITUDE] : 0;
    node->longitude = node->placed ? x->told.numbers[FIELD_LONGITUDE] : 0;
    if (node->name[0] == '\0') {
        (void)strcpy(node->name, node->id);
    }
    x->places[x->draft.nodes_count++] = x->place;
    CHECK(topo_graph_index_add(&x->index, node) == OK);
}

static bool graph_xml_end_find(struct graph_xml *x, const char *id, uint32_t *node_out)
{
    const struct topo_node *node = topo_graph_index_find(&x->index, id);
    struct graph_xml_shown shown;
    struct nearest near;

    if (node != NULL) {
        *node_out = (uint32_t)(node - x->draft.nodes);
        return true;
    }
    nearest_init(&near, id);
    for (uint32_t i = 0; i < x->draft.nodes_count; i++) {
        nearest_offer(&near, x->draft.nodes[i].id);
    }
    graph_xml_fail(x, ERR_MALFORMED, x->place, "there is no node '%s': %s",
                   graph_xml_show(id, &shown), nearest_hint(&near, "the nodes are"));
    return false;
}

static enum graph_xml_kind graph_xml_edge_start(struct graph_xml *x, const char **attributes)
{
    const char *source = graph_xml_attribute(attributes, "source");
    const char *target = graph_xml_attribute(attributes, "target");
    const char *directed = graph_xml_attribute(attributes, "directed");

    x->place = graph_xml_here(x);
    x->told = x->defaults;
    x->edge_directed = directed == NULL ? x->directed : strcmp(directed, "true") == 0;
    if (source == NULL || target == NULL) {
        graph_xml_fail(x, ERR_MALFORMED, x->place,
                       "an edge needs source and target, the ids of the nodes it joins");
        return KIND_NONE;
    }
    return graph_xml_end_find(x, source, &x->ends[0]) && graph_xml_end_find(x, target, &x->ends[1])
               ? KIND_EDGE
               : KIND_NONE;
}

static void graph_xml_edge_end(struct graph_xml *x)
{
    const struct topo_graph_merge_edge edge = {
        .from = x->ends[0],
        .to = x->ends[1],
        .directed = x->edge_directed,
        .mbps = x->told.known[FIELD_SPEED] ? x->told.numbers[FIELD_SPEED] / 1e6 : -1,
        .place = x->place,
    };

    if (topo_graph_merge_add(&x->merge, &edge) != OK) {
        graph_xml_fail(x, ERR_TOO_BIG, x->place, "more than %d pairs of nodes are joined",
                       TOPO_GRAPH_LINKS_MAX);
    }
}

/* The element @name inside of the graph. */
static enum graph_xml_kind graph_xml_inside(struct graph_xml *x, const char *name,
                                            const char **attributes)
{
    bool nodes = x->reading == KIND_NODE;

    if (strcmp(name, "node") == 0) {
        return nodes ? graph_xml_node_start(x, attributes) : KIND_NONE;
    }
    if (strcmp(name, "edge") == 0) {
        return nodes ? KIND_NONE : graph_xml_edge_start(x, attributes);
    }
    if (strcmp(name, "hyperedge") == 0) {
        graph_xml_fail(x, ERR_MALFORMED, graph_xml_here(x),
                       "a hyperedge is not read: write an <edge> for each pair it joins");
    }
    return nodes && strcmp(name, "data") == 0 ? graph_xml_data_start(x, attributes) : KIND_NONE;
}

static enum graph_xml_kind graph_xml_element(struct graph_xml *x, const char *name,
                                             const char **attributes)
{
    bool nodes = x->reading == KIND_NODE;
    struct graph_xml_shown shown;

    switch (x->kinds[x->depth - 1]) {
    case KIND_NONE:
        if (strcmp(name, "graphml") == 0) {
            return KIND_ROOT;
        }
        graph_xml_fail(x, ERR_MALFORMED, graph_xml_here(x),
                       "begins with <%s>: GraphML begins with <graphml>, and anything else is JSON",
                       graph_xml_show(name, &shown));
        return KIND_NONE;
    case KIND_ROOT:
        if (strcmp(name, "graph") == 0) {
            return graph_xml_graph_start(x, attributes);
        }
        return nodes && strcmp(name, "key") == 0 ? graph_xml_key_start(x, attributes) : KIND_NONE;
    case KIND_KEY:
        if (strcmp(name, "default") != 0) {
            return KIND_NONE;
        }
        graph_xml_text_start(x, &x->keys[x->keys_count - 1]);
        return KIND_DEFAULT;
    case KIND_GRAPH:
        return graph_xml_inside(x, name, attributes);
    case KIND_NODE:
    case KIND_EDGE:
        if (strcmp(name, "graph") == 0) {
            graph_xml_fail(x, ERR_MALFORMED, graph_xml_here(x),
                           "a graph inside of a node or an edge is not read: put its nodes beside "
                           "the others");
        }
        return strcmp(name, "data") == 0 ? graph_xml_data_start(x, attributes) : KIND_NONE;
    case KIND_DEFAULT:
    case KIND_DATA:
        break;
    }
    return KIND_NONE;
}

static void graph_xml_start(void *user, const char *name, const char **attributes)
{
    struct graph_xml *x = user;
    const char *colon = strrchr(name, ':'); /* Behind a prefix of a namespace. */
    enum graph_xml_kind kind;

    if (x->rc != OK) {
        return;
    }
    if (++x->depth > GRAPH_XML_DEPTH_MAX) {
        graph_xml_fail(x, ERR_TOO_BIG, graph_xml_here(x), "elements in more than %d others",
                       GRAPH_XML_DEPTH_MAX);
    }
    if (x->rc != OK || x->aside != 0) {
        return;
    }
    kind = graph_xml_element(x, colon == NULL ? name : colon + 1, attributes);
    if (kind == KIND_NONE) {
        x->aside = x->depth;
    } else {
        x->kinds[x->depth] = kind;
    }
}

static void graph_xml_end(void *user, const char *name)
{
    struct graph_xml *x = user;

    (void)name;
    if (x->rc != OK) {
        return;
    }
    if (x->aside == 0) {
        switch (x->kinds[x->depth]) {
        case KIND_NODE:
            graph_xml_node_end(x);
            break;
        case KIND_EDGE:
            graph_xml_edge_end(x);
            break;
        case KIND_DATA:
        case KIND_DEFAULT:
            graph_xml_text_end(x);
            break;
        case KIND_NONE:
        case KIND_ROOT:
        case KIND_KEY:
        case KIND_GRAPH:
            break;
        }
    }
    x->aside = x->aside == x->depth ? 0 : x->aside;
    x->depth--;
}

/* A file has no business with definitions of its own: entities grow without end. */
static void graph_xml_doctype(void *user, const char *name, const char *system, const char *public,
                              int internal)
{
    struct graph_xml *x = user;

    (void)name;
    (void)system;
    (void)public;
    if (internal) {
        graph_xml_fail(x, ERR_MALFORMED, graph_xml_here(x),
                       "defines entities or the like in its <!DOCTYPE>: leave these out");
    }
}

static void graph_xml_skipped(void *user, const char *name, int parameter)
{
    struct graph_xml *x = user;
    struct graph_xml_shown shown;

    (void)parameter;
    graph_xml_fail(x, ERR_MALFORMED, graph_xml_here(x),
                   "the entity '%s' is not known: write the characters themselves",
                   graph_xml_show(name, &shown));
}

/* The whole. */

static enum err graph_xml_pass(struct graph_xml *x, enum graph_xml_kind reading, const char *bytes,
                               size_t size)
{
    x->parser = XML_ParserCreate(NULL);
    if (x->parser == NULL) {
        return ERR_NOMEM;
    }
    x->reading = reading;
    x->graph_seen = false;
    XML_SetUserData(x->parser, x);
    XML_SetElementHandler(x->parser, graph_xml_start, graph_xml_end);
    XML_SetCharacterDataHandler(x->parser, graph_xml_chars);
    XML_SetStartDoctypeDeclHandler(x->parser, graph_xml_doctype);
    XML_SetSkippedEntityHandler(x->parser, graph_xml_skipped);
    if (XML_Parse(x->parser, bytes, (int)size, XML_TRUE) != XML_STATUS_OK && x->rc == OK) {
        enum XML_Error why = XML_GetErrorCode(x->parser);

        if (why == XML_ERROR_NO_MEMORY) {
            x->rc = ERR_NOMEM;
        } else {
            graph_xml_fail(x, ERR_MALFORMED, graph_xml_here(x), "not XML: %s",
                           XML_ErrorString(why));
        }
    }
    if (x->rc == OK && !x->graph_seen) {
        graph_xml_fail(x, ERR_MALFORMED, (struct topo_place){1, 1}, "there is no <graph>");
    }
    XML_ParserFree(x->parser);
    return x->rc;
}

static enum err graph_xml_build(struct graph_xml *x, struct topo_graph **graph_out)
{
    struct topo_place place = {1, 1};
    struct err_text why = {"the edges of this pair have more than 1e9 Mbit/s together"};
    uint32_t node = TOPO_GRAPH_NOBODY;
    enum err rc = topo_graph_merge_finish(&x->merge, &place);

    if (rc == OK) {
        rc = topo_graph_build(&x->draft, graph_out, &node, &why);
    }
    if (rc == OK || rc == ERR_NOMEM) {
        return rc;
    }
    if (node != TOPO_GRAPH_NOBODY) {
        place = x->places[node];
    }
    return err_text_set(x->text, rc == ERR_TOO_BIG ? rc : ERR_MALFORMED, "%.128s:%u:%u: %s",
                        x->name, place.line, place.column, why.text);
}

/* As much as a file of @size bytes may need: a node or an edge has at least eight. */
static enum err graph_xml_memory(struct graph_xml *x, size_t size)
{
    uint32_t most = (uint32_t)(size / 8 + 1);
    uint32_t nodes = most < TOPO_GRAPH_NODES_MAX ? most : TOPO_GRAPH_NODES_MAX;
    uint32_t links = most < TOPO_GRAPH_LINKS_MAX ? most : TOPO_GRAPH_LINKS_MAX;

    x->draft.nodes = mem_calloc(nodes, sizeof(*x->draft.nodes));
    x->places = mem_calloc(nodes, sizeof(*x->places));
    return x->draft.nodes == NULL || x->places == NULL ||
                   topo_graph_index_init(&x->index, nodes) != OK
               ? ERR_NOMEM
               : topo_graph_merge_init(&x->merge, &x->draft, links);
}

enum err topo_graph_xml_parse(const char *name, const char *bytes, size_t size,
                              struct topo_graph **graph_out, struct err_text *text)
{
    struct graph_xml *x = mem_zalloc(sizeof(*x));
    enum err rc = ERR_NOMEM;

    if (x != NULL) {
        x->name = name;
        x->text = text;
        rc = graph_xml_memory(x, size);
        if (rc == OK) {
            rc = graph_xml_pass(x, KIND_NODE, bytes, size);
        }
        if (rc == OK) {
            rc = graph_xml_pass(x, KIND_EDGE, bytes, size);
        }
        if (rc == OK) {
            rc = graph_xml_build(x, graph_out);
        }
        topo_graph_merge_deinit(&x->merge);
        topo_graph_index_deinit(&x->index);
        mem_free(x->places);
        mem_free(x->draft.nodes);
        mem_free(x);
    }
    return rc == ERR_NOMEM ? err_text_set(text, rc, "%.128s: out of memory", name) : rc;
}
