/* Objects by name: a place that keeps what was committed, whatever happens to the process.
 *
 *     begin -> append ... -> commit -> committed() later, on the owner's loop
 *
 * An object appears whole or not at all: a crash, a full disk or a failed sync leaves the old one.
 * Backends: a directory (store/dir.c; files written by a lane of its own, so that the owner never
 * waits for a disk), memory with faults (store/memory.c), later S3. Small reads happen at start-up
 * and block. */

#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct store;
struct store_writer;

enum {
    STORE_NAME_BYTES = 128,                   /* With its end; parts separated by '/'. */
    STORE_APPEND_BYTES_MAX = 1024 * 1024,     /* Of one append. */
    STORE_WRITER_BYTES_MAX = 4 * 1024 * 1024, /* Appended and not yet written. */
    STORE_WRITERS_MAX = 64,                   /* Under way at once in one store. */
    STORE_OBJECTS_MAX = 64 * 1024,            /* In one listing. */
};

/* What a backend does. Names and sizes were judged before; an append has at least one byte. */
struct store_ops {
    enum err (*begin)(struct store *s, const char *name, struct store_writer **writer_out);
    enum err (*append)(struct store_writer *w, const void *bytes, size_t size);
    void (*commit)(struct store_writer *w, void (*committed)(enum err rc, void *user), void *user);
    void (*abort)(struct store_writer *w);
    enum err (*read)(struct store *s, const char *name, uint64_t offset, void *bytes, size_t size,
                     size_t *done_out);
    enum err (*size)(struct store *s, const char *name, uint64_t *size_out);
    enum err (*remove)(struct store *s, const char *name);
    enum err (*list)(struct store *s, const char *prefix,
                     void (*object)(const char *name, uint64_t size, void *user), void *user);
    void (*destroy)(struct store *s);
};

/* First field of every backend's own state. */
struct store {
    const struct store_ops *ops;
    enum err
        fault; /* ERR_IO, ERR_FULL or ERR_DENIED: how the medium failed last; OK: it never has. */
    _Atomic int why; /* errno of the last failure to write; 0: none. */
};

/* Why the store failed: with what the system said, if that is known. */
void store_fault_text(struct store *s, enum err rc, char *out, size_t size);

/* First field of every backend's writer; filled in by store_begin(). Once @rc is not OK nothing is
 * appended any more, and the backend's commit must report it: an object with a hole never appears.
 */
struct store_writer {
    struct store *store;
    enum err rc;
};

/* Names are parts of letters, digits, '-', '_', '.' (not first) between '/'. All functions refuse
 * others with ERR_INVALID. A name should not be the folder of another one ("a" and "a/b"): a
 * backend may refuse the second with ERR_IO. */
bool store_name_valid(const char *name);

/* Begin an object; several may be under way at once, ERR_AGAIN beyond STORE_WRITERS_MAX. ERR_IO,
 * ERR_FULL, ERR_NOMEM. */
MUST_USE enum err store_begin(struct store *s, const char *name, struct store_writer **writer_out);

/* Add bytes, which are copied. ERR_AGAIN: nothing was added, because too much is not yet written;
 * try again later (a timer or the next turn). Errors of the disk may be reported here or by
 * committed(). After any error but ERR_AGAIN the object is lost: later calls say the same, and so
 * does committed(). ERR_TOO_BIG beyond STORE_APPEND_BYTES_MAX. */
MUST_USE enum err store_append(struct store_writer *w, const void *bytes, size_t size);

/* Make it durable and visible. @committed follows from the owner's loop, never from inside this
 * call, exactly once unless the store is destroyed before; the writer is gone at once. An error
 * means that the old object is still there, with one exception: if the disk fails after the change
 * of names, the new one may be there, whole, and not yet durable. */
void store_commit(struct store_writer *w, void (*committed)(enum err rc, void *user), void *user);

/* Give it up: no trace is left. NULL is allowed. */
void store_abort(struct store_writer *w);

/* Read up to @size bytes from @offset; @done_out is less only at the end. ERR_NOT_FOUND, ERR_IO;
 * ERR_CORRUPT if the medium no longer has them. */
MUST_USE enum err store_read(struct store *s, const char *name, uint64_t offset, void *bytes,
                             size_t size, size_t *done_out);
MUST_USE enum err store_size(struct store *s, const char *name, uint64_t *size_out);

/* Durably; blocks. ERR_NOT_FOUND, ERR_IO. */
MUST_USE enum err store_remove(struct store *s, const char *name);

/* Remove all objects whose names start with @prefix, durably; blocks. What was removed before an
 * error stays so. */
MUST_USE enum err store_remove_all(struct store *s, const char *prefix);

/* Call @object for every object whose name starts with @prefix ("" for all), in the order of names
 * (strcmp). It must not change the store. ERR_TOO_BIG beyond STORE_OBJECTS_MAX; then, as after any
 * error, nothing was called. */
MUST_USE enum err store_list(struct store *s, const char *prefix,
                             void (*object)(const char *name, uint64_t size, void *user),
                             void *user);

/* Writers under way are aborted, nothing is called. Not from committed(). NULL is allowed. */
void store_destroy(struct store *s);

/* A directory, made if absent. @text says what is wrong with it. Commits are reported on @loop,
 * which may be NULL for those who only read: then begin is ERR_INVALID, and an absent directory is
 * ERR_NOT_FOUND. Several stores, also of several processes, may share a directory; what writers
 * that died have left is removed here. On a manual loop the files are written in its turns. */
MUST_USE enum err store_dir_create(const char *path, struct loop *loop, struct store **store_out,
                                   struct err_text *text);

#endif
