/* What stands beside recorded updates: which files there are, and how often a clock was written. */

#include "base/fd.h"
#include "base/mem.h"
#include "run/updates/file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

void updates_meta_free(struct updates_meta *m)
{
    for (uint32_t i = 0; m->names != NULL && i < m->count; i++) {
        mem_free(m->names[i]);
    }
    mem_free(m->names);
    *m = (struct updates_meta){.every = 1};
}

static enum err meta_names(const char *path, const json_t *list, struct updates_meta *m,
                           struct err_text *text)
{
    m->names = mem_calloc(json_array_size(list), sizeof(*m->names));
    if (m->names == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory to read %.300s", path);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(list, i), "file"));

        if (name == NULL || name[0] == '\0' || strchr(name, '/') != NULL) {
            return err_text_set(text, ERR_INVALID,
                                "%.300s: updates[%zu].file must be the name of a file beside it",
                                path, i);
        }
        m->names[i] = mem_strdup(name);
        if (m->names[i] == NULL) {
            return err_text_set(text, ERR_NOMEM, "no memory to read %.300s", path);
        }
        m->count++;
    }
    return OK;
}

static enum err meta_take(const char *path, const json_t *meta, struct updates_meta *out,
                          struct err_text *text)
{
    const json_t *list = json_object_get(meta, "updates");
    const json_t *every = json_object_get(meta, "every");
    struct updates_meta m = {.every = 1};
    enum err rc;

    if (json_integer_value(json_object_get(meta, "schema")) != RUN_UPDATES_SCHEMA) {
        return err_text_set(text, ERR_INVALID, "%.300s: schema must be %d", path,
                            RUN_UPDATES_SCHEMA);
    }
    if (every != NULL &&
        (json_integer_value(every) < 1 || json_integer_value(every) > RUN_UPDATES_EVERY_MAX)) {
        return err_text_set(text, ERR_INVALID, "%.300s: every must be a number from 1 to %d", path,
                            RUN_UPDATES_EVERY_MAX);
    }
    if (json_array_size(list) == 0 || json_array_size(list) > RUN_UPDATES_FILES_MAX) {
        return err_text_set(text, ERR_INVALID, "%.300s: updates must list 1 to %d files", path,
                            RUN_UPDATES_FILES_MAX);
    }
    m.every = every == NULL ? 1 : (uint64_t)json_integer_value(every);
    rc = meta_names(path, list, &m, text);
    if (rc != OK) {
        updates_meta_free(&m);
        return rc;
    }
    *out = m;
    return OK;
}

enum err updates_meta_parse(const char *path, const char *chars, size_t size,
                            struct updates_meta *out, struct err_text *text)
{
    json_error_t error;
    json_t *meta = json_loadb(chars, size, JSON_REJECT_DUPLICATES, &error);
    enum err rc = meta == NULL ? err_text_set(text, ERR_INVALID, "%.300s:%d: %.100s", path,
                                              error.line, error.text)
                               : meta_take(path, meta, out, text);

    json_decref(meta);
    return rc;
}

enum err updates_meta_read(const char *dir, struct updates_meta *out, struct err_text *text)
{
    char path[PATH_MAX];
    char *chars;
    ssize_t size;
    enum err rc;
    int fd;

    if (snprintf(path, sizeof(path), "%s/%s", dir, RUN_UPDATES_META) >= (int)sizeof(path)) {
        return ERR_NOT_FOUND;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR
                   ? ERR_NOT_FOUND
                   : err_text_set(text, ERR_IO, "%.300s: %s", path, strerror(errno));
    }
    chars = mem_zalloc(RUN_UPDATES_META_BYTES_MAX + 1);
    size = chars == NULL ? 0 : fd_read_all(fd, chars, RUN_UPDATES_META_BYTES_MAX + 1);
    if (chars == NULL) {
        rc = err_text_set(text, ERR_NOMEM, "no memory to read %.300s", path);
    } else if (size < 0) {
        rc = err_text_set(text, ERR_IO, "%.300s: %s", path, strerror(errno));
    } else if (size > RUN_UPDATES_META_BYTES_MAX) {
        rc = err_text_set(text, ERR_TOO_BIG, "%.300s: it is larger than %d bytes", path,
                          RUN_UPDATES_META_BYTES_MAX);
    } else {
        rc = updates_meta_parse(path, chars, (size_t)size, out, text);
    }
    (void)close(fd);
    mem_free(chars);
    return rc;
}
