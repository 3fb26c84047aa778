#include "store/store.h"

#include <stdio.h>
#include <string.h>

void store_fault_text(struct store *s, enum err rc, char *out, size_t size)
{
    int why = s->why;

    (void)snprintf(out, size, "%s", why != 0 ? strerror(why) : err_string(rc));
}

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

/* Remember if it is the medium that failed. */
static enum err store_note(struct store *s, enum err rc)
{
    s->fault = rc == ERR_IO || rc == ERR_FULL || rc == ERR_DENIED ? rc : s->fault;
    return rc;
}

enum err store_begin(struct store *s, const char *name, struct store_writer **writer_out)
{
    struct store_writer *w;
    enum err rc;

    if (!store_name_valid(name)) {
        return ERR_INVALID;
    }
    rc = store_note(s, s->ops->begin(s, name, &w));
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
    return store_note(s, s->ops->read(s, name, offset, bytes, size, done_out));
}

enum err store_size(struct store *s, const char *name, uint64_t *size_out)
{
    if (!store_name_valid(name)) {
        return ERR_INVALID;
    }
    return store_note(s, s->ops->size(s, name, size_out));
}

enum err store_remove(struct store *s, const char *name)
{
    if (!store_name_valid(name)) {
        return ERR_INVALID;
    }
    return store_note(s, s->ops->remove(s, name));
}

/* Names of a listing, as many as fit. */
struct store_names {
    char names[64][STORE_NAME_BYTES];
    uint32_t count;
};

static void store_name_note(const char *name, uint64_t size, void *user)
{
    struct store_names *n = user;

    (void)size;
    if (n->count < sizeof(n->names) / sizeof(n->names[0])) {
        (void)snprintf(n->names[n->count++], STORE_NAME_BYTES, "%s", name);
    }
}

enum err store_remove_all(struct store *s, const char *prefix)
{
    struct store_names found;
    enum err rc;

    do {
        found.count = 0;
        rc = store_list(s, prefix, store_name_note, &found);
        for (uint32_t i = 0; i < found.count && rc == OK; i++) {
            rc = store_remove(s, found.names[i]);
            rc = rc == ERR_NOT_FOUND ? OK : rc; /* Somebody else was quicker. */
        }
    } while (rc == OK && found.count > 0);
    return rc;
}

enum err store_list(struct store *s, const char *prefix,
                    void (*object)(const char *name, uint64_t size, void *user), void *user)
{
    if (!store_prefix_valid(prefix)) {
        return ERR_INVALID;
    }
    return store_note(s, s->ops->list(s, prefix, object, user));
}

void store_destroy(struct store *s)
{
    if (s != NULL) {
        s->ops->destroy(s);
    }
}
