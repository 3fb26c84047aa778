/* Objects are whole files of the simulated disk; writers collect their bytes until they commit. */

#include "sim/store.h"

#include "base/list.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "sim/disk.h"

#include <stdlib.h>
#include <string.h>

enum { SIM_STORE_OBJECT_BYTES_MAX = 256 * 1024 * 1024 };

_Static_assert(STORE_NAME_BYTES <= (int)SIM_DISK_NAME_BYTES, "every object can be a file");

struct sim_store {
    struct store base;
    struct sim_disk *disk;
    struct loop *loop;
    int64_t commit_ns;
    struct list writers;
    uint32_t writers_count;
};

struct sim_store_writer {
    struct store_writer base;
    struct sim_store *store;
    struct list link;
    char name[SIM_DISK_NAME_BYTES];
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    struct loop_timer timer;
    void (*committed)(enum err rc, void *user);
    void *user;
};

static struct sim_store *sim_store_of(struct store *s)
{
    return (struct sim_store *)(void *)s;
}

static struct sim_store_writer *sim_store_writer_of(struct store_writer *w)
{
    return (struct sim_store_writer *)(void *)w;
}

/* The disk knows no folders. */
static enum err sim_store_name(const char *name, char *out)
{
    size_t size = strlen(name);

    if (size >= SIM_DISK_NAME_BYTES) {
        return ERR_TOO_BIG;
    }
    for (size_t i = 0; i <= size; i++) {
        out[i] = name[i] == '/' ? '+' : name[i];
    }
    return OK;
}

static void sim_store_free(struct sim_store_writer *w)
{
    list_remove(&w->link);
    w->store->writers_count--;
    loop_timer_deinit(&w->timer);
    mem_free(w->bytes);
    mem_free(w);
}

static void sim_store_commit_now(struct loop_timer *timer, void *user)
{
    struct sim_store_writer *w = user;
    void (*committed)(enum err rc, void *user) = w->committed;
    void *owner = w->user;
    enum err rc = w->base.rc;

    (void)timer;
    if (rc == OK) {
        rc = sim_disk_write_atomic(w->store->disk, w->name, w->bytes, w->size);
    }
    sim_store_free(w);
    committed(rc, owner);
}

static enum err sim_store_begin(struct store *s, const char *name, struct store_writer **writer_out)
{
    struct sim_store *store = sim_store_of(s);
    struct sim_store_writer *w;
    enum err rc;

    if (store->writers_count == STORE_WRITERS_MAX) {
        return ERR_AGAIN;
    }
    w = mem_zalloc(sizeof(*w));
    if (w == NULL) {
        return ERR_NOMEM;
    }
    w->base.store = s;
    w->store = store;
    list_init(&w->link);
    rc = sim_store_name(name, w->name);
    if (rc == OK) {
        rc = loop_timer_init(&w->timer, store->loop, sim_store_commit_now, w);
    }
    if (rc != OK) {
        mem_free(w);
        return rc;
    }
    list_push_back(&store->writers, &w->link);
    store->writers_count++;
    *writer_out = &w->base;
    return OK;
}

static enum err sim_store_append(struct store_writer *writer, const void *bytes, size_t size)
{
    struct sim_store_writer *w = sim_store_writer_of(writer);

    if (w->base.rc != OK) {
        return w->base.rc;
    }
    if (w->size + size > SIM_STORE_OBJECT_BYTES_MAX) {
        w->base.rc = ERR_TOO_BIG;
        return w->base.rc;
    }
    if (w->size + size > w->capacity) {
        size_t capacity = (w->size + size) * 2;
        uint8_t *more = mem_zalloc(capacity);

        if (more == NULL) {
            w->base.rc = ERR_NOMEM;
            return w->base.rc;
        }
        if (w->size > 0) {
            memcpy(more, w->bytes, w->size);
        }
        mem_free(w->bytes);
        w->bytes = more;
        w->capacity = capacity;
    }
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
    return OK;
}

static void sim_store_commit(struct store_writer *writer,
                             void (*committed)(enum err rc, void *user), void *user)
{
    struct sim_store_writer *w = sim_store_writer_of(writer);

    w->committed = committed;
    w->user = user;
    loop_timer_start_in(&w->timer, w->store->commit_ns + sim_disk_extra_ns(w->store->disk));
}

static void sim_store_abort(struct store_writer *writer)
{
    sim_store_free(sim_store_writer_of(writer));
}

static enum err sim_store_size(struct store *s, const char *name, uint64_t *size_out)
{
    char file[SIM_DISK_NAME_BYTES];
    const uint8_t *bytes;
    size_t size;
    enum err rc = sim_store_name(name, file);

    if (rc == OK) {
        rc = sim_disk_read(sim_store_of(s)->disk, file, &bytes, &size);
    }
    if (rc == OK) {
        *size_out = size;
    }
    return rc;
}

static enum err sim_store_read(struct store *s, const char *name, uint64_t offset, void *out,
                               size_t wanted, size_t *done_out)
{
    char file[SIM_DISK_NAME_BYTES];
    const uint8_t *bytes;
    size_t size;
    enum err rc = sim_store_name(name, file);

    if (rc == OK) {
        rc = sim_disk_read(sim_store_of(s)->disk, file, &bytes, &size);
    }
    if (rc == OK) {
        size_t left = offset < size ? size - (size_t)offset : 0;

        *done_out = wanted < left ? wanted : left;
        if (*done_out > 0) {
            memcpy(out, bytes + offset, *done_out);
        }
    }
    return rc;
}

static enum err sim_store_remove(struct store *s, const char *name)
{
    char file[SIM_DISK_NAME_BYTES];
    enum err rc = sim_store_name(name, file);

    return rc == OK ? sim_disk_remove(sim_store_of(s)->disk, file) : rc;
}

struct sim_store_object {
    char name[SIM_DISK_NAME_BYTES];
    uint64_t size;
};

/* What is listed; without .objects they are counted only. */
struct sim_store_list {
    struct sim_store_object *objects;
    uint32_t count;
};

static void sim_store_listed(const char *file, size_t size, void *user)
{
    struct sim_store_list *list = user;
    struct sim_store_object object = {.size = size};
    size_t length = strlen(file);

    for (size_t i = 0; i <= length; i++) {
        object.name[i] = file[i] == '+' ? '/' : file[i];
    }
    if (list->objects != NULL) {
        list->objects[list->count] = object;
    }
    list->count++;
}

static int sim_store_compare(const void *a, const void *b)
{
    const struct sim_store_object *one = a, *other = b;

    return strcmp(one->name, other->name);
}

/* The disk's order is another one: its names have no folders. */
static enum err sim_store_list(struct store *s, const char *prefix,
                               void (*object)(const char *name, uint64_t size, void *user),
                               void *user)
{
    struct sim_disk *disk = sim_store_of(s)->disk;
    struct sim_store_list list = {0};
    char start[SIM_DISK_NAME_BYTES];
    enum err rc = sim_store_name(prefix, start);

    if (rc != OK) {
        return rc;
    }
    sim_disk_list(disk, start, sim_store_listed, &list);
    if (list.count == 0) {
        return OK;
    }
    list.objects = mem_calloc(list.count, sizeof(*list.objects));
    if (list.objects == NULL) {
        return ERR_NOMEM;
    }
    list.count = 0;
    sim_disk_list(disk, start, sim_store_listed, &list);
    qsort(list.objects, list.count, sizeof(*list.objects), sim_store_compare);
    for (uint32_t i = 0; i < list.count; i++) {
        object(list.objects[i].name, list.objects[i].size, user);
    }
    mem_free(list.objects);
    return OK;
}

static void sim_store_destroy(struct store *s)
{
    struct sim_store *store = sim_store_of(s);
    struct list *link;

    while ((link = list_first(&store->writers)) != NULL) {
        sim_store_free(LIST_ENTRY(link, struct sim_store_writer, link));
    }
    mem_free(store);
}

static const struct store_ops sim_store_ops = {
    .begin = sim_store_begin,
    .append = sim_store_append,
    .commit = sim_store_commit,
    .abort = sim_store_abort,
    .read = sim_store_read,
    .size = sim_store_size,
    .remove = sim_store_remove,
    .list = sim_store_list,
    .destroy = sim_store_destroy,
};

enum err sim_store_create(struct sim_disk *disk, struct loop *loop, int64_t commit_ns,
                          struct store **store_out)
{
    struct sim_store *s = mem_zalloc(sizeof(*s));

    if (s == NULL) {
        return ERR_NOMEM;
    }
    s->base.ops = &sim_store_ops;
    s->disk = disk;
    s->loop = loop;
    s->commit_ns = commit_ns;
    list_init(&s->writers);
    *store_out = &s->base;
    return OK;
}
