#include "run/file/set.h"

#include "run/file/yaml.h"
#include "topo/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One setting being put in. */
struct set_one {
    struct run_arena *arena;
    const char *setting; /* All of it, for messages. */
    const char *path;    /* What is left of it to walk. */
    const char *end;
    struct run_yaml *value;
    struct err_text *text;
};

static enum err set_fail(const struct set_one *s, const char *what)
{
    return err_text_set(s->text, ERR_INVALID, "%.200s: %s", s->setting, what);
}

/* Put the value where @node is; it keeps its key and its place in the order. */
static void set_replace(struct run_yaml *node, const struct run_yaml *value)
{
    struct run_yaml old = *node;

    *node = *value;
    node->key = old.key;
    node->key_place = old.key_place;
    node->next = old.next;
    node->place = old.place;
}

/* A new entry of a mapping. */
static enum err set_add(struct set_one *s, struct run_yaml *mapping, const char *key, size_t size,
                        struct run_yaml **node_out)
{
    struct run_yaml *node = run_arena_alloc(s->arena, 1, sizeof(*node));
    char *copy = run_arena_alloc(s->arena, 1, size + 1);

    if (node == NULL || copy == NULL) {
        return ERR_NOMEM;
    }
    memcpy(copy, key, size);
    node->kind = RUN_YAML_MAPPING;
    node->key = copy;
    if (mapping->last == NULL) {
        mapping->first = node;
    } else {
        mapping->last->next = node;
    }
    mapping->last = node;
    mapping->count++;
    *node_out = node;
    return OK;
}

static enum err set_step_key(struct set_one *s, struct run_yaml **node)
{
    size_t size = 0;
    struct run_yaml *n;

    s->path += *s->path == '.';
    while (s->path + size < s->end && s->path[size] != '.' && s->path[size] != '[') {
        size++;
    }
    if (size == 0) {
        return set_fail(s, "write KEY=VALUE, where KEY is such as stop.clocks or workers[0].count");
    }
    if ((*node)->kind != RUN_YAML_MAPPING) {
        return set_fail(s, "what is left of a '.' has to be a mapping in the file");
    }
    for (n = (*node)->first; n != NULL; n = n->next) {
        if (strncmp(n->key, s->path, size) == 0 && n->key[size] == '\0') {
            break;
        }
    }
    if (n == NULL) {
        enum err rc = set_add(s, *node, s->path, size, &n);

        if (rc != OK) {
            return rc;
        }
    }
    s->path += size;
    *node = n;
    return OK;
}

static enum err set_step_index(struct set_one *s, struct run_yaml **node)
{
    char *rest;
    unsigned long index = strtoul(s->path + 1, &rest, 10);
    struct run_yaml *n = (*node)->kind == RUN_YAML_LIST ? (*node)->first : NULL;

    if (rest == s->path + 1 || *rest != ']') {
        return set_fail(s, "write a number between [ and ]");
    }
    for (unsigned long i = 0; n != NULL && i < index; i++) {
        n = n->next;
    }
    if (n == NULL) {
        return set_fail(s, "the list in the file is not so long, or it is no list");
    }
    s->path = rest + 1;
    *node = n;
    return OK;
}

static enum err set_put(struct set_one *s, struct run_yaml *root)
{
    const char *equals = strchr(s->setting, '=');
    struct run_yaml *node = root;
    struct err_text why = {""};
    enum err rc;

    if (equals == NULL) {
        return set_fail(s, "write KEY=VALUE");
    }
    s->path = s->setting;
    s->end = equals;
    rc = run_yaml_parse(s->arena, "value", equals + 1, strlen(equals + 1), &s->value, &why);
    if (rc == ERR_NOMEM) {
        return rc;
    }
    if (rc != OK) {
        return set_fail(s, why.text);
    }
    while (rc == OK && s->path < s->end) {
        rc = *s->path == '[' ? set_step_index(s, &node) : set_step_key(s, &node);
    }
    if (rc == OK && node == root) {
        rc = set_fail(s, "write KEY=VALUE");
    }
    if (rc == OK) {
        set_replace(node, s->value);
    }
    return rc;
}

/* Writing: in braces and brackets, where lines mean nothing, so that everything can stay in the
 * line that it was in. */
struct set_writer {
    struct text *out;
    uint32_t line;
};

static void set_move(struct set_writer *w, struct topo_place place)
{
    for (; w->line < place.line; w->line++) {
        text_add(w->out, "\n");
    }
}

static void set_write_text(struct set_writer *w, const char *chars, bool plain)
{
    bool safe = plain && strpbrk(chars, "[]{},:#&*!|>'\"%@`?") == NULL && chars[0] != '-' &&
                chars[0] != ' ';

    if (safe || (plain && chars[0] == '\0')) {
        text_add(w->out, chars);
    } else {
        text_add_json(w->out, chars);
    }
}

static void set_write(struct set_writer *w, const struct run_yaml *node)
{
    bool mapping = node->kind == RUN_YAML_MAPPING;

    set_move(w, node->place);
    if (node->kind == RUN_YAML_TEXT) {
        set_write_text(w, node->chars, node->plain);
        return;
    }
    text_add(w->out, mapping ? "{" : "[");
    for (const struct run_yaml *n = node->first; n != NULL; n = n->next) {
        if (mapping) {
            set_move(w, n->key_place);
            set_write_text(w, n->key, true);
            text_add(w->out, ": ");
        }
        set_write(w, n); /* At most RUN_YAML_DEPTH_MAX deep, in the file and in a setting. */
        text_add(w->out, n->next == NULL ? " " : ", ");
    }
    text_add(w->out, mapping ? "}" : "]");
}

enum err run_set_apply(const char *name, const char *bytes, size_t size,
                       const char *const *settings, uint32_t count, struct text *out,
                       struct err_text *text)
{
    struct run_yaml *root = NULL;
    struct run_arena *arena = NULL;
    enum err rc = run_arena_create(&arena);

    if (rc == OK) {
        rc = run_yaml_parse(arena, name, bytes, size, &root, text);
    }
    for (uint32_t i = 0; i < count && rc == OK; i++) {
        struct set_one one = {.arena = arena, .setting = settings[i], .text = text};

        rc = set_put(&one, root);
    }
    if (rc == OK) {
        struct set_writer w = {.out = out, .line = 1};

        set_write(&w, root);
        text_add(out, "\n");
    }
    run_arena_destroy(arena);
    return rc == ERR_NOMEM ? err_text_set(text, rc, "%.128s: out of memory", name) : rc;
}

/* The folder of the file, good in any working directory. */
static enum err set_folder(const char *path, char out[PATH_MAX], struct err_text *text)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int size = slash == NULL ? 1 : (int)(slash - path) + 1;

    if (size >= PATH_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%.128s...: too long a path", path);
    }
    (void)snprintf(folder, sizeof(folder), "%.*s", size, slash == NULL ? "." : path);
    return realpath(folder, out) != NULL
               ? OK
               : err_text_set(text, ERR_IO, "%.200s: %s", folder, strerror(errno));
}

enum err run_set_load(const char *path, const char *const *settings, uint32_t count,
                      struct run_file **file_out, struct err_text *text)
{
    struct text bytes = {0}, changed = {0};
    char folder[PATH_MAX];
    enum err rc;

    if (count == 0) {
        return run_file_load(path, file_out, text);
    }
    rc = topo_file_read(path, RUN_FILE_BYTES_MAX, &bytes, text);
    if (rc != OK) {
        return rc;
    }
    rc = set_folder(path, folder, text);
    if (rc == OK) {
        rc = text_init(&changed, RUN_FILE_BYTES_MAX);
    }
    if (rc == OK) {
        rc = run_set_apply(path, bytes.chars, bytes.size, settings, count, &changed, text);
    }
    if (rc == OK && changed.failed) {
        rc = err_text_set(text, ERR_TOO_BIG, "%.128s: too large with the settings in it", path);
    }
    if (rc == OK) {
        rc = run_file_parse(path, folder, changed.chars, changed.size, file_out, text);
    }
    text_deinit(&changed);
    text_deinit(&bytes);
    return rc;
}
