/* A YAML text as a tree that knows its places. libcyaml keeps none, and a complaint without a line
 * helps nobody; so the same text is read once more by libyaml, on which libcyaml stands.
 *
 * Strict: one document; no anchors, aliases or tags; keys are texts and none is there twice; no
 * control characters and no line breaks inside of texts. */

#ifndef RUN_FILE_YAML_H
#define RUN_FILE_YAML_H

#include "run/file/arena.h"
#include "topo/locate.h"

#include <stdbool.h>

enum {
    RUN_YAML_DEPTH_MAX = 16,
    RUN_YAML_NODES_MAX = 64 * 1024,
    RUN_YAML_KEYS_MAX = 64, /* Of one mapping. */
};

enum run_yaml_kind { RUN_YAML_TEXT, RUN_YAML_LIST, RUN_YAML_MAPPING };

struct run_yaml {
    enum run_yaml_kind kind;
    struct topo_place place;
    const char *key; /* If it is in a mapping; else NULL. */
    struct topo_place key_place;
    const char *chars;      /* Of a text; else NULL. */
    bool plain;             /* Of a text: without quotes. */
    struct run_yaml *first; /* Of a list or mapping, in their order. */
    struct run_yaml *last;
    struct run_yaml *next;
    uint32_t count;
};

/* Read @size bytes. The tree lives as long as the arena. ERR_MALFORMED, ERR_TOO_BIG with @text:
 * "@name:LINE:COLUMN: ..."; ERR_NOMEM. */
MUST_USE enum err run_yaml_parse(struct run_arena *arena, const char *name, const char *bytes,
                                 size_t size, struct run_yaml **root_out, struct err_text *text);

/* The value of that key in a mapping, or NULL; also if @node is no mapping, or NULL. */
const struct run_yaml *run_yaml_get(const struct run_yaml *node, const char *key);

/* The node at @path, such as "servers[3].lanes", or the last node on the way that is there. Empty
 * path: @root. @found_out (may be NULL) says which. */
const struct run_yaml *run_yaml_find(const struct run_yaml *root, const char *path,
                                     bool *found_out);

/* "a text", "a list", "a mapping" */
const char *run_yaml_kind_name(enum run_yaml_kind kind);

#endif
