#include "store/store.h"

#include <stdio.h>
#include <string.h>

static bool store_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

bool store_name_valid(const char *name)
{
    size_t size = strnlen(name, STORE_NAME_BYTES);
    bool first = true; /* Of its part. */

    if (size == 0 || size == STORE_NAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        bool slash = name[i] == '/';

        if (first && (slash || name[i] == '.')) {
            return false;
        }
        if (!slash && !store_name_char(name[i])) {
            return false;
        }
        first = slash;
    }
    return !first;
}

/* A prefix is good if a name can start with it. */
static bool store_prefix_valid(const char *prefix)
{
    char name[STORE_NAME_BYTES];
    int n = snprintf(name, sizeof(name), "%sx", prefix);

    return n > 0 && n < STORE_NAME_BYTES && store_name_valid(name);
}

enum err store_begin(struct store *s, const char *name, struct store_writer **writer_out)
{
    struct store_writer *w;
    enum err rc;

    if (!store_name_valid(name)) {
        return ERR_INVALID;
    }
    rc = s->ops->begin(s, name, &w);
    if (rc == OK) {
        *w = (struct store_writer){s, OK};
        *writer_out = w;
    }
    return rc;
}

enum err store_append(struct store_writer *w, const void *bytes, size_t size)
{
    enum err rc;

    if (w->rc != OK || size == 0) {
        return w->rc;
    }
    rc = size > STORE_APPEND_BYTES_MAX ? ERR_TOO_BIG : w->store->ops->append(w, bytes, size);
    if (rc != ERR_AGAIN) {
        w->rc = rc;
    }
    return rc;
}

void store_commit(struct store_writer *w, void (*committed)(enum err rc, void *user), void *user)
{
    w->store->ops->commit(w, committed, user);
}

void store_abort(struct store_writer *w)
{
    if (w != NULL) {
        w->store->ops->abort(w);
    }
}

enum err store_read(struct store *s, const char *name, uint64_t offset, void *bytes, size_t size,
                    size_t *done_out)
{
    if (!store_name_valid(name)) {
        return ERR_INVALID;
    }
    return s->ops->read(s, name, offset, bytes, size, done_out);
}

enum err store_size(struct store *s, const char *name, uint64_t *size_out)
{
    if (!store_name_valid(name)) {
        return ERR_INVALID;
    }
    return s->ops->size(s, name, size_out);
}

enum err store_remove(struct store *s, const char *name)
{
    if (!store_name_valid(name)) {
        return ERR_INVALID;
    }
    return s->ops->remove(s, name);
}

enum err store_list(struct store *s, const char *prefix,
                    void (*object)(const char *name, uint64_t size, void *user), void *user)
{
    if (!store_prefix_valid(prefix)) {
        return ERR_INVALID;
    }
    return s->ops->list(s, prefix, object, user);
}

void store_destroy(struct store *s)
{
    if (s != NULL) {
        s->ops->destroy(s);
    }
}
