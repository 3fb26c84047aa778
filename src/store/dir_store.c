/* The store over a folder. The owner's thread copies bytes and posts them to a lane; the lane
 * writes them, and its results come back through a mailbox.
 *
 *     owner                         lane
 *     append: block     --lane-->   write
 *     commit, abort     --lane-->   flush, rename; or remove
 *     received: report  <-mailbox-- result
 *
 * A writer belongs to the owner's list all its life; the lane touches it only between the post and
 * the result. The lane allocates nothing. */

#include "base/list.h"
#include "base/mem.h"
#include "loop/lane.h"
#include "loop/mailbox.h"
#include "store/dir.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define DIR_RETRY_NS INT64_C(5000000)

struct dir_store {
    struct store base;
    int root;
    struct loop *loop; /* NULL: for reading only, and all below is not there. */
    struct lane *lane;
    struct mailbox *results; /* struct dir_writer. */
    struct list writers;
    uint32_t writer_count;
    uint32_t serial;
    struct list waiting; /* Writers whose last step the lane could not take yet. */
    struct loop_timer retry;
    atomic_bool closing; /* The lane does nothing any more. */
};

struct dir_writer {
    struct store_writer base;
    struct list link;
    struct list wait;
    struct dir_store *store;
    char name[STORE_NAME_BYTES];
    uint32_t serial;
    bool aborted;
    void (*committed)(enum err rc, void *user);
    void *user;
    atomic_size_t pending; /* Bytes posted and not yet written. */
    _Atomic enum err failed;
    struct dir_file file; /* The lane's, until the result. */
    enum err result;
};

struct dir_block {
    struct dir_writer *writer;
    size_t size;
    uint8_t bytes[];
};

static struct dir_store *dir_store_of(struct store *s)
{
    return (struct dir_store *)s;
}

/* On the lane, after a step of a file: errno is of it. */
static void dir_store_note(struct dir_store *s, enum err rc)
{
    if (rc != OK) {
        atomic_store(&s->base.why, errno);
    }
}

/* On the lane: have the file open. */
static enum err dir_writer_ready(struct dir_writer *w)
{
    if (w->file.fd >= 0) {
        return OK;
    }
    return dir_file_open(w->store->root, w->name, w->serial, &w->file);
}

/* On the lane. */
static void dir_block_run(void *user)
{
    struct dir_block *block = user;
    struct dir_writer *w = block->writer;
    enum err rc = atomic_load(&w->failed);

    if (rc == OK && !atomic_load(&w->store->closing)) {
        rc = dir_writer_ready(w);
        if (rc == OK) {
            rc = dir_file_write(&w->file, block->bytes, block->size);
        }
        dir_store_note(w->store, rc);
        atomic_store(&w->failed, rc);
    }
    atomic_fetch_sub(&w->pending, block->size);
    mem_free(block);
}

/* On the lane: the last step of a writer. When the store is closing its owner cleans up. */
static void dir_writer_run(void *user)
{
    struct dir_writer *w = user;
    enum err rc = w->result;

    if (atomic_load(&w->store->closing)) {
        return;
    }
    if (rc == OK) {
        rc = atomic_load(&w->failed);
    }
    if (rc == OK && !w->aborted) {
        rc = dir_writer_ready(w);
        if (rc == OK) {
            rc = dir_file_publish(&w->file);
        }
        dir_store_note(w->store, rc);
    }
    dir_file_discard(&w->file);
    w->result = rc;
    /* There is room for all writers. */
    CHECK(mailbox_post(w->store->results, w) == OK);
}

static void dir_writer_destroy(struct dir_writer *w)
{
    list_remove(&w->link);
    list_remove(&w->wait);
    w->store->writer_count--;
    mem_free(w);
}

static void dir_store_received(void *message, void *user)
{
    struct dir_writer *w = message;
    void (*committed)(enum err rc, void *user) = w->aborted ? NULL : w->committed;
    void *committed_user = w->user;
    enum err rc = w->result;

    (void)user;
    dir_writer_destroy(w);
    if (committed != NULL) {
        committed(rc, committed_user);
    }
}

/* Post last steps in their order, as far as the lane takes them: committing cannot fail for want
 * of room in a queue. */
static void dir_store_post(struct dir_store *s)
{
    struct list *link;

    while ((link = list_first(&s->waiting)) != NULL) {
        if (lane_post(s->lane, dir_writer_run, LIST_ENTRY(link, struct dir_writer, wait)) != OK) {
            loop_timer_start_in(&s->retry, DIR_RETRY_NS);
            return;
        }
        list_remove(link);
    }
}

static void dir_store_retry(struct loop_timer *timer, void *user)
{
    (void)timer;
    dir_store_post(user);
}

static enum err dir_store_begin(struct store *s, const char *name, struct store_writer **writer_out)
{
    struct dir_store *ds = dir_store_of(s);
    struct dir_writer *w;

    if (ds->loop == NULL) {
        return ERR_INVALID;
    }
    if (ds->writer_count == STORE_WRITERS_MAX) {
        return ERR_AGAIN;
    }
    w = mem_zalloc(sizeof(*w));
    if (w == NULL) {
        return ERR_NOMEM;
    }
    w->store = ds;
    w->serial = ds->serial++;
    w->file.fd = -1;
    (void)snprintf(w->name, sizeof(w->name), "%s", name);
    list_push_back(&ds->writers, &w->link);
    list_init(&w->wait);
    ds->writer_count++;
    *writer_out = &w->base;
    return OK;
}

static enum err dir_store_append(struct store_writer *base, const void *bytes, size_t size)
{
    struct dir_writer *w = (struct dir_writer *)base;
    enum err rc = atomic_load(&w->failed);
    struct dir_block *block;

    if (rc != OK) {
        return rc;
    }
    if (atomic_load(&w->pending) + size > STORE_WRITER_BYTES_MAX) {
        return ERR_AGAIN;
    }
    block = mem_zalloc(sizeof(*block) + size);
    if (block == NULL) {
        return ERR_NOMEM;
    }
    block->writer = w;
    block->size = size;
    memcpy(block->bytes, bytes, size);
    atomic_fetch_add(&w->pending, size);
    rc = lane_post(w->store->lane, dir_block_run, block);
    if (rc != OK) {
        atomic_fetch_sub(&w->pending, size);
        mem_free(block);
    }
    return rc;
}

static void dir_store_last(struct dir_writer *w)
{
    CHECK(list_empty(&w->wait));
    w->result = w->base.rc;
    list_push_back(&w->store->waiting, &w->wait);
    dir_store_post(w->store);
}

static void dir_store_commit(struct store_writer *base, void (*committed)(enum err rc, void *user),
                             void *user)
{
    struct dir_writer *w = (struct dir_writer *)base;

    w->committed = committed;
    w->user = user;
    dir_store_last(w);
}

static void dir_store_abort(struct store_writer *base)
{
    struct dir_writer *w = (struct dir_writer *)base;

    w->aborted = true;
    dir_store_last(w);
}

static enum err dir_store_read(struct store *s, const char *name, uint64_t offset, void *bytes,
                               size_t size, size_t *done_out)
{
    return dir_read(dir_store_of(s)->root, name, offset, bytes, size, done_out);
}

static enum err dir_store_size(struct store *s, const char *name, uint64_t *size_out)
{
    return dir_size(dir_store_of(s)->root, name, size_out);
}

static enum err dir_store_remove(struct store *s, const char *name)
{
    return dir_remove(dir_store_of(s)->root, name);
}

static enum err dir_store_list(struct store *s, const char *prefix,
                               void (*object)(const char *name, uint64_t size, void *user),
                               void *user)
{
    return dir_list(dir_store_of(s)->root, prefix, object, user);
}

static void dir_store_destroy(struct store *s)
{
    struct dir_store *ds = dir_store_of(s);

    atomic_store(&ds->closing, true);
    lane_stop(ds->lane);
    while (!list_empty(&ds->writers)) {
        struct dir_writer *w = LIST_ENTRY(list_first(&ds->writers), struct dir_writer, link);

        dir_file_discard(&w->file);
        dir_writer_destroy(w);
    }
    mailbox_destroy(ds->results, NULL);
    loop_timer_deinit(&ds->retry);
    dir_close(ds->root);
    mem_free(ds);
}

static const struct store_ops dir_store_ops = {
    .begin = dir_store_begin,
    .append = dir_store_append,
    .commit = dir_store_commit,
    .abort = dir_store_abort,
    .read = dir_store_read,
    .size = dir_store_size,
    .remove = dir_store_remove,
    .list = dir_store_list,
    .destroy = dir_store_destroy,
};

/* All that writing needs. What was made is released by dir_store_destroy(). */
static enum err dir_store_start(struct dir_store *ds, struct loop *loop)
{
    enum err rc = loop_timer_init(&ds->retry, loop, dir_store_retry, ds);

    if (rc != OK) {
        return rc;
    }
    rc = mailbox_create(loop, STORE_WRITERS_MAX, dir_store_received, ds, &ds->results);
    if (rc != OK) {
        return rc;
    }
    dir_sweep(ds->root);
    ds->loop = loop;
    return loop_is_manual(loop) ? lane_start_inline(loop, &ds->lane)
                                : lane_start("store", &ds->lane);
}

enum err store_dir_create(const char *path, struct loop *loop, struct store **store_out,
                          struct err_text *text)
{
    struct dir_store *ds = mem_zalloc(sizeof(*ds));
    enum err rc;

    if (ds == NULL) {
        return err_text_set(text, ERR_NOMEM, "cannot open the folder %s: out of memory", path);
    }
    ds->base.ops = &dir_store_ops;
    list_init(&ds->writers);
    list_init(&ds->waiting);
    rc = dir_open(path, loop != NULL, &ds->root, text);
    if (rc != OK) {
        mem_free(ds);
        return rc;
    }
    rc = loop == NULL ? OK : dir_store_start(ds, loop);
    if (rc != OK) {
        dir_store_destroy(&ds->base);
        return err_text_set(text, rc, "cannot write to the folder %s: %s", path, err_string(rc));
    }
    *store_out = &ds->base;
    return OK;
}
