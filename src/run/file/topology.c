/* The topology of a run: a file beside it, or a mapping inside it. A mapping is handed over as JSON
 * values to the reader of topology files, so that both are the same. */

#include "run/file/state.h"
#include "topo/file.h"
#include "topo/read.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plain text that looks like a number, true, false or nothing is one, as everywhere in YAML. */
static json_t *topology_text(const struct run_yaml *node)
{
    const char *c = node->chars;
    bool digits = strpbrk(c, "0123456789") != NULL && strspn(c, "+-.0123456789eE") == strlen(c);
    char *end;

    if (node->plain && digits) {
        long long whole;
        double value;

        errno = 0;
        whole = strtoll(c, &end, 10);
        if (*end == '\0' && errno == 0) {
            return json_integer(whole);
        }
        value = strtod(c, &end);
        if (*end == '\0' && isfinite(value)) {
            return json_real(value);
        }
    }
    if (node->plain && (strcmp(c, "true") == 0 || strcmp(c, "false") == 0)) {
        return json_boolean(c[0] == 't');
    }
    if (node->plain && (c[0] == '\0' || strcmp(c, "~") == 0 || strcmp(c, "null") == 0)) {
        return json_null();
    }
    return json_string(c);
}

/* NULL: out of memory. As deep as the tree, which is bounded. */
static json_t *topology_json(const struct run_yaml *node)
{
    json_t *json = node->kind == RUN_YAML_TEXT   ? topology_text(node)
                   : node->kind == RUN_YAML_LIST ? json_array()
                                                 : json_object();
    int failed = 0;

    for (const struct run_yaml *n = node->first; n != NULL && json != NULL && !failed;
         n = n->next) {
        failed = node->kind == RUN_YAML_LIST ? json_array_append_new(json, topology_json(n))
                                             : json_object_set_new(json, n->key, topology_json(n));
    }
    if (failed) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static struct topo_place topology_place(const void *user, const char *path, const char *key)
{
    bool found = false;
    const struct run_yaml *node = run_yaml_find(user, path, &found);
    const struct run_yaml *member = found && key != NULL ? run_yaml_get(node, key) : NULL;

    return member != NULL ? member->key_place : node->place;
}

static enum err topology_inside(struct file_reader *r, const struct run_yaml *node)
{
    const struct topo_origin origin = {
        .name = r->name, .prefix = "topology", .find = topology_place, .user = node};
    json_t *json = topology_json(node);
    enum err rc = json == NULL ? ERR_NOMEM : topo_read(json, &origin, &r->f->map, r->text);

    json_decref(json);
    return rc;
}

/* A complaint of the topology's reader has a place in that file; any other one gets ours. */
static enum err topology_beside(struct file_reader *r, const struct run_yaml *node)
{
    char path[PATH_MAX];
    struct err_text why = {""};
    bool here;
    int size;
    enum err rc;

    if (node->chars[0] == '\0') {
        return file_fail(r, ERR_MALFORMED, "topology",
                         "is empty: write the path of a topology file, or regions and links");
    }
    if (r->folder == NULL) {
        return file_fail(r, ERR_MALFORMED, "topology",
                         "names a file, but here the topology has to be in the run file itself");
    }
    here = node->chars[0] == '/' || strcmp(r->folder, ".") == 0;
    size =
        snprintf(path, sizeof(path), "%s%s%s", here ? "" : r->folder, here ? "" : "/", node->chars);
    if (size >= (int)sizeof(path)) {
        return file_fail(r, ERR_TOO_BIG, "topology", "the path is too long");
    }
    rc = topo_file_load(path, &r->f->map, &why);
    if (rc == ERR_MALFORMED) {
        return err_text_set(r->text, rc, "%s", why.text);
    }
    if (rc != OK) {
        return file_fail(r, rc, "topology", "%.300s", why.text);
    }
    r->f->topology = node->chars;
    return OK;
}

enum err file_topology(struct file_reader *r)
{
    const struct run_yaml *node = file_find(r, "topology");

    switch (node->kind) {
    case RUN_YAML_TEXT:
        return topology_beside(r, node);
    case RUN_YAML_MAPPING:
        return topology_inside(r, node);
    case RUN_YAML_LIST:
        break;
    }
    return file_fail(r, ERR_MALFORMED, "topology",
                     "has to be the path of a topology file, or a mapping with regions and links");
}
