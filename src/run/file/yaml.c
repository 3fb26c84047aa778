#include "run/file/yaml.h"

#include "topo/topo.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct yaml_reader {
    struct run_arena *arena;
    const char *name;
    const char *bytes;
    struct err_text *text;
    yaml_parser_t parser;
    struct run_yaml *root;
    struct run_yaml *open[RUN_YAML_DEPTH_MAX]; /* Lists and mappings that have not ended. */
    uint32_t depth;
    uint32_t nodes;
    uint32_t documents;
    const char *key; /* Of the value that comes next; NULL: none. */
    struct topo_place key_place;
};

static struct topo_place yaml_place(const yaml_mark_t *mark)
{
    return (struct topo_place){(uint32_t)mark->line + 1, (uint32_t)mark->column + 1};
}

static enum err yaml_fail(struct yaml_reader *r, enum err rc, struct topo_place place,
                          const char *fmt, ...) PRINTF_LIKE(4, 5);

static enum err yaml_fail(struct yaml_reader *r, enum err rc, struct topo_place place,
                          const char *fmt, ...)
{
    char what[ERR_TEXT_BYTES / 2];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return err_text_set(r->text, rc, "%.128s:%u:%u: %s", r->name, place.line, place.column, what);
}

/* What libyaml could not read. Bytes that are no characters have an offset, all else has a mark. */
static enum err yaml_fail_syntax(struct yaml_reader *r)
{
    const yaml_parser_t *p = &r->parser;
    struct topo_place place = yaml_place(&p->problem_mark);
    const char *problem = p->problem == NULL ? "cannot be read" : p->problem;

    if (p->error == YAML_MEMORY_ERROR) {
        return ERR_NOMEM;
    }
    if (p->error == YAML_READER_ERROR) {
        place = (struct topo_place){1, 1};
        for (size_t i = 0; i < p->problem_offset; i++) {
            bool line = r->bytes[i] == '\n';

            place.line += line;
            place.column = line ? 1 : place.column + 1;
        }
    }
    if (p->context != NULL) {
        return yaml_fail(r, ERR_MALFORMED, place, "not YAML: %s, %s", p->context, problem);
    }
    return yaml_fail(r, ERR_MALFORMED, place, "not YAML: %s", problem);
}

/* Put a new node where it belongs. */
static enum err yaml_add(struct yaml_reader *r, enum run_yaml_kind kind, const yaml_mark_t *mark,
                         struct run_yaml **node_out)
{
    struct run_yaml *parent = r->depth > 0 ? r->open[r->depth - 1] : NULL;
    struct run_yaml *node;

    if (r->nodes == RUN_YAML_NODES_MAX) {
        (void)yaml_fail(r, ERR_TOO_BIG, yaml_place(mark), "more than %d values",
                        RUN_YAML_NODES_MAX);
        return ERR_TOO_BIG;
    }
    node = run_arena_alloc(r->arena, 1, sizeof(*node));
    if (node == NULL) {
        return ERR_NOMEM;
    }
    r->nodes++;
    node->kind = kind;
    node->place = yaml_place(mark);
    node->key = r->key;
    node->key_place = r->key_place;
    r->key = NULL;
    if (parent == NULL) {
        r->root = node;
    } else if (parent->last == NULL) {
        parent->first = node;
    } else {
        parent->last->next = node;
    }
    if (parent != NULL) {
        parent->last = node;
        parent->count++;
    }
    *node_out = node;
    return OK;
}

static enum err yaml_take_chars(struct yaml_reader *r, const yaml_event_t *event,
                                const char **chars_out)
{
    const char *chars = (const char *)event->data.scalar.value;

    if (strlen(chars) != event->data.scalar.length || !topo_text_valid(chars)) {
        return yaml_fail(r, ERR_MALFORMED, yaml_place(&event->start_mark),
                         "the text has a control character or a line break: leave it out");
    }
    *chars_out = run_arena_strdup(r->arena, chars);
    return *chars_out == NULL ? ERR_NOMEM : OK;
}

static enum err yaml_take_key(struct yaml_reader *r, const yaml_event_t *event)
{
    const struct run_yaml *mapping = r->open[r->depth - 1];
    enum err rc = yaml_take_chars(r, event, &r->key);

    if (rc != OK) {
        return rc;
    }
    r->key_place = yaml_place(&event->start_mark);
    if (mapping->count == RUN_YAML_KEYS_MAX) {
        return yaml_fail(r, ERR_TOO_BIG, r->key_place, "more than %d keys", RUN_YAML_KEYS_MAX);
    }
    for (const struct run_yaml *n = mapping->first; n != NULL; n = n->next) {
        if (strcmp(n->key, r->key) == 0) {
            return yaml_fail(r, ERR_MALFORMED, r->key_place,
                             "the key '%.64s' is there already, in line %u", r->key,
                             n->key_place.line);
        }
    }
    return OK;
}

/* True if the next text is a key. */
static bool yaml_wants_key(const struct yaml_reader *r)
{
    return r->depth > 0 && r->open[r->depth - 1]->kind == RUN_YAML_MAPPING && r->key == NULL;
}

static enum err yaml_take_scalar(struct yaml_reader *r, const yaml_event_t *event)
{
    const char *chars = NULL;
    struct run_yaml *node = NULL;
    enum err rc;

    if (yaml_wants_key(r)) {
        return yaml_take_key(r, event);
    }
    rc = yaml_take_chars(r, event, &chars);
    if (rc == OK) {
        rc = yaml_add(r, RUN_YAML_TEXT, &event->start_mark, &node);
    }
    if (rc == OK) {
        node->chars = chars;
        node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    }
    return rc;
}

static enum err yaml_open(struct yaml_reader *r, const yaml_event_t *event, enum run_yaml_kind kind)
{
    struct run_yaml *node = NULL;
    enum err rc;

    if (yaml_wants_key(r)) {
        return yaml_fail(r, ERR_MALFORMED, yaml_place(&event->start_mark),
                         "a key has to be a text");
    }
    if (r->depth == RUN_YAML_DEPTH_MAX) {
        return yaml_fail(r, ERR_TOO_BIG, yaml_place(&event->start_mark), "more than %d levels deep",
                         RUN_YAML_DEPTH_MAX);
    }
    rc = yaml_add(r, kind, &event->start_mark, &node);
    if (rc == OK) {
        r->open[r->depth++] = node;
    }
    return rc;
}

/* Names and types of values have no meaning here. */
static enum err yaml_refuse_extras(struct yaml_reader *r, const yaml_event_t *event,
                                   const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor != NULL) {
        return yaml_fail(r, ERR_MALFORMED, yaml_place(&event->start_mark),
                         "anchors (&name) are not allowed: write the value where it is needed");
    }
    if (tag != NULL) {
        return yaml_fail(r, ERR_MALFORMED, yaml_place(&event->start_mark),
                         "tags (!name) are not allowed: leave it out");
    }
    return OK;
}

static enum err yaml_take(struct yaml_reader *r, const yaml_event_t *event)
{
    enum err rc;

    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        r->documents++;
        return r->documents == 1 ? OK
                                 : yaml_fail(r, ERR_MALFORMED, yaml_place(&event->start_mark),
                                             "a second document begins: only one is allowed");
    case YAML_ALIAS_EVENT:
        return yaml_fail(r, ERR_MALFORMED, yaml_place(&event->start_mark),
                         "aliases (*name) are not allowed: write the value again");
    case YAML_SCALAR_EVENT:
        rc = yaml_refuse_extras(r, event, event->data.scalar.anchor, event->data.scalar.tag);
        return rc == OK ? yaml_take_scalar(r, event) : rc;
    case YAML_SEQUENCE_START_EVENT:
        rc = yaml_refuse_extras(r, event, event->data.sequence_start.anchor,
                                event->data.sequence_start.tag);
        return rc == OK ? yaml_open(r, event, RUN_YAML_LIST) : rc;
    case YAML_MAPPING_START_EVENT:
        rc = yaml_refuse_extras(r, event, event->data.mapping_start.anchor,
                                event->data.mapping_start.tag);
        return rc == OK ? yaml_open(r, event, RUN_YAML_MAPPING) : rc;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        r->depth--;
        return OK;
    default:
        return OK;
    }
}

static enum err yaml_read(struct yaml_reader *r)
{
    bool over = false;
    enum err rc = OK;

    while (rc == OK && !over) {
        yaml_event_t event;

        if (yaml_parser_parse(&r->parser, &event) == 0) {
            return yaml_fail_syntax(r);
        }
        rc = yaml_take(r, &event);
        over = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    if (rc == OK && r->root == NULL) {
        return yaml_fail(r, ERR_MALFORMED, (struct topo_place){1, 1}, "there is nothing in it");
    }
    return rc;
}

enum err run_yaml_parse(struct run_arena *arena, const char *name, const char *bytes, size_t size,
                        struct run_yaml **root_out, struct err_text *text)
{
    struct yaml_reader r = {.arena = arena, .name = name, .bytes = bytes, .text = text};
    enum err rc;

    if (yaml_parser_initialize(&r.parser) == 0) {
        return ERR_NOMEM;
    }
    yaml_parser_set_input_string(&r.parser, (const yaml_char_t *)bytes, size);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    rc = yaml_read(&r);
    yaml_parser_delete(&r.parser);
    if (rc == OK) {
        *root_out = r.root;
    }
    return rc;
}

const struct run_yaml *run_yaml_get(const struct run_yaml *node, const char *key)
{
    const struct run_yaml *n = NULL;

    if (node != NULL && node->kind == RUN_YAML_MAPPING) {
        for (n = node->first; n != NULL && strcmp(n->key, key) != 0; n = n->next) {
        }
    }
    return n;
}

static const struct run_yaml *yaml_at(const struct run_yaml *node, unsigned long index)
{
    const struct run_yaml *n = node->kind == RUN_YAML_LIST ? node->first : NULL;

    for (; n != NULL && index > 0; index--) {
        n = n->next;
    }
    return n;
}

const struct run_yaml *run_yaml_find(const struct run_yaml *root, const char *path, bool *found_out)
{
    const struct run_yaml *node = root, *next = root;

    while (*path != '\0' && next != NULL) {
        if (*path == '[') {
            char *rest;

            next = yaml_at(node, strtoul(path + 1, &rest, 10));
            path = *rest == ']' ? rest + 1 : rest;
        } else {
            char key[64];
            size_t size;

            path += *path == '.';
            size = strcspn(path, ".[");
            CHECK(size < sizeof(key)); /* Paths are made of our own keys. */
            memcpy(key, path, size);
            key[size] = '\0';
            next = run_yaml_get(node, key);
            path += size;
        }
        node = next != NULL ? next : node;
    }
    if (found_out != NULL) {
        *found_out = next != NULL;
    }
    return node;
}

const char *run_yaml_kind_name(enum run_yaml_kind kind)
{
    switch (kind) {
    case RUN_YAML_TEXT:
        return "a text";
    case RUN_YAML_LIST:
        return "a list";
    case RUN_YAML_MAPPING:
        break;
    }
    return "a mapping";
}
