/* Objects are in an array sorted by name, so that listing needs no sorting. */

#include "store/memory.h"

#include "base/mem.h"
#include "store/gather.h"

#include <string.h>

struct memory_object {
    char name[STORE_NAME_BYTES];
    struct grow content;
};

struct memory_fault {
    uint64_t countdown; /* Operations until it is met; zero: never. */
    uint64_t met;
};

struct memory {
    struct store base;
    struct loop *loop;
    struct store_memory_config config;
    uint64_t used_bytes;
    struct memory_object **objects;
    uint32_t object_count;
    uint32_t object_room;
    struct list writers; /* struct gather. */
    uint32_t writer_count;
    struct memory_fault faults[STORE_FAULTS];
};

static const struct store_ops memory_ops;

static struct memory *memory_of(struct store *s)
{
    CHECK(s->ops == &memory_ops);
    return (struct memory *)s;
}

static bool memory_fault(struct memory *m, enum store_fault fault)
{
    struct memory_fault *f = &m->faults[fault];

    if (f->countdown == 0 || --f->countdown > 0) {
        return false;
    }
    f->met++;
    return true;
}

/* Return where the object is, or where it would have to be. */
static uint32_t memory_find(const struct memory *m, const char *name, bool *found_out)
{
    uint32_t low = 0;
    uint32_t high = m->object_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (strcmp(m->objects[middle]->name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *found_out = low < m->object_count && strcmp(m->objects[low]->name, name) == 0;
    return low;
}

static const struct memory_object *memory_get(const struct memory *m, const char *name)
{
    bool found;
    uint32_t index = memory_find(m, name, &found);

    return found ? m->objects[index] : NULL;
}

/* Have room for one more. */
static enum err memory_reserve(struct memory *m)
{
    uint32_t room = m->object_room == 0 ? 16 : m->object_room * 2;
    struct memory_object **objects;

    if (m->object_count < m->object_room) {
        return OK;
    }
    if (m->object_count == STORE_OBJECTS_MAX) {
        return ERR_FULL;
    }
    objects = mem_calloc(room, sizeof(struct memory_object *));
    if (objects == NULL) {
        return ERR_NOMEM;
    }
    if (m->object_count > 0) {
        memcpy(objects, m->objects, m->object_count * sizeof(struct memory_object *));
    }
    mem_free(m->objects);
    m->objects = objects;
    m->object_room = room;
    return OK;
}

/* Find the object or add an empty one. */
static enum err memory_make(struct memory *m, const char *name, struct memory_object **object_out)
{
    struct memory_object *object;
    bool found;
    uint32_t index = memory_find(m, name, &found);
    enum err rc;

    if (found) {
        *object_out = m->objects[index];
        return OK;
    }
    rc = memory_reserve(m);
    if (rc != OK) {
        return rc;
    }
    object = mem_zalloc(sizeof(*object));
    if (object == NULL) {
        return ERR_NOMEM;
    }
    memcpy(object->name, name, strlen(name) + 1);
    memmove(&m->objects[index + 1], &m->objects[index],
            (m->object_count - index) * sizeof(struct memory_object *));
    m->objects[index] = object;
    m->object_count++;
    *object_out = object;
    return OK;
}

/* The writer's bytes become the object's. */
static enum err memory_publish(struct memory *m, struct gather *g)
{
    struct memory_object *object;
    enum err rc;

    if (g->base.rc != OK) {
        return g->base.rc;
    }
    if (memory_fault(m, STORE_FAULT_SYNC) || memory_fault(m, STORE_FAULT_RENAME)) {
        return ERR_IO;
    }
    rc = memory_make(m, g->name, &object);
    if (rc == OK) {
        m->used_bytes -= object->content.size;
        grow_deinit(&object->content);
        object->content = g->content;
        g->content = (struct grow){0};
    }
    return rc;
}

/* A writer is about to be gone, with the bytes that it still has. */
static void memory_let_go(struct memory *m, struct gather *g)
{
    m->used_bytes -= g->content.size;
    m->writer_count--;
}

static void memory_due(struct gather *g)
{
    struct memory *m = memory_of(g->base.store);
    enum err rc = memory_publish(m, g);

    memory_let_go(m, g);
    gather_report(g, rc);
}

static enum err memory_begin(struct store *s, const char *name, struct store_writer **writer_out)
{
    struct memory *m = memory_of(s);
    struct gather *g;
    enum err rc;

    if (m->writer_count == STORE_WRITERS_MAX) {
        return ERR_AGAIN;
    }
    rc = gather_open(m->loop, &m->writers, name, memory_due, &g);
    if (rc == OK) {
        m->writer_count++;
        *writer_out = &g->base;
    }
    return rc;
}

static enum err memory_append(struct store_writer *w, const void *bytes, size_t size)
{
    struct memory *m = memory_of(w->store);
    struct gather *g = gather_of(w);
    uint64_t free_bytes = m->config.capacity_bytes - m->used_bytes;
    enum err rc = OK;

    if (memory_fault(m, STORE_FAULT_FULL)) {
        return ERR_FULL;
    }
    if (memory_fault(m, STORE_FAULT_SHORT)) {
        size /= 2;
        rc = ERR_IO;
    }
    if (size > free_bytes) {
        return ERR_FULL;
    }
    if (grow_add(&g->content, bytes, size, UINT64_MAX) != OK) {
        return ERR_NOMEM;
    }
    m->used_bytes += size;
    return rc;
}

static void memory_commit(struct store_writer *w, void (*committed)(enum err rc, void *user),
                          void *user)
{
    gather_commit(gather_of(w), memory_of(w->store)->config.commit_ns, committed, user);
}

static void memory_abort(struct store_writer *w)
{
    memory_let_go(memory_of(w->store), gather_of(w));
    gather_destroy(gather_of(w));
}

static enum err memory_read(struct store *s, const char *name, uint64_t offset, void *bytes,
                            size_t size, size_t *done_out)
{
    const struct memory_object *object = memory_get(memory_of(s), name);
    size_t done;

    if (object == NULL) {
        return ERR_NOT_FOUND;
    }
    done = offset >= object->content.size ? 0 : object->content.size - (size_t)offset;
    if (done > size) {
        done = size;
    }
    if (done > 0) {
        memcpy(bytes, object->content.bytes + offset, done);
    }
    *done_out = done;
    return OK;
}

static enum err memory_size(struct store *s, const char *name, uint64_t *size_out)
{
    const struct memory_object *object = memory_get(memory_of(s), name);

    if (object == NULL) {
        return ERR_NOT_FOUND;
    }
    *size_out = object->content.size;
    return OK;
}

static enum err memory_remove(struct store *s, const char *name)
{
    struct memory *m = memory_of(s);
    bool found;
    uint32_t index = memory_find(m, name, &found);

    if (!found) {
        return ERR_NOT_FOUND;
    }
    m->used_bytes -= m->objects[index]->content.size;
    grow_deinit(&m->objects[index]->content);
    mem_free(m->objects[index]);
    m->object_count--;
    memmove(&m->objects[index], &m->objects[index + 1],
            (m->object_count - index) * sizeof(struct memory_object *));
    return OK;
}

static enum err memory_list(struct store *s, const char *prefix,
                            void (*object)(const char *name, uint64_t size, void *user), void *user)
{
    const struct memory *m = memory_of(s);
    size_t size = strlen(prefix);
    bool found;

    for (uint32_t i = memory_find(m, prefix, &found); i < m->object_count; i++) {
        if (strncmp(m->objects[i]->name, prefix, size) != 0) {
            break;
        }
        object(m->objects[i]->name, m->objects[i]->content.size, user);
    }
    return OK;
}

static void memory_destroy(struct store *s)
{
    struct memory *m = memory_of(s);

    while (!list_empty(&m->writers)) {
        gather_destroy(LIST_ENTRY(list_first(&m->writers), struct gather, link));
    }
    for (uint32_t i = 0; i < m->object_count; i++) {
        grow_deinit(&m->objects[i]->content);
        mem_free(m->objects[i]);
    }
    mem_free(m->objects);
    mem_free(m);
}

static const struct store_ops memory_ops = {
    .begin = memory_begin,
    .append = memory_append,
    .commit = memory_commit,
    .abort = memory_abort,
    .read = memory_read,
    .size = memory_size,
    .remove = memory_remove,
    .list = memory_list,
    .destroy = memory_destroy,
};

enum err store_memory_create(const struct store_memory_config *config, struct loop *loop,
                             struct store **store_out)
{
    struct memory *m = mem_zalloc(sizeof(*m));

    if (m == NULL) {
        return ERR_NOMEM;
    }
    m->base.ops = &memory_ops;
    m->loop = loop;
    m->config = *config;
    list_init(&m->writers);
    *store_out = &m->base;
    return OK;
}

void store_memory_crash(struct store *s)
{
    struct memory *m = memory_of(s);
    struct list *next;

    for (struct list *link = m->writers.next; link != &m->writers; link = next) {
        struct gather *g = LIST_ENTRY(link, struct gather, link);

        next = link->next;
        if (g->committing) {
            memory_let_go(m, g);
            gather_destroy(g);
        } else {
            m->used_bytes -= g->content.size;
            grow_deinit(&g->content);
            g->base.rc = ERR_CANCELLED;
        }
    }
    for (uint32_t i = 0; i < STORE_FAULTS; i++) {
        m->faults[i].countdown = 0;
    }
}

void store_memory_fault_at(struct store *s, enum store_fault fault, uint64_t k)
{
    CHECK(fault < STORE_FAULTS);
    memory_of(s)->faults[fault].countdown = k;
}

uint64_t store_memory_fault_count(const struct store *s, enum store_fault fault)
{
    CHECK(fault < STORE_FAULTS);
    return ((const struct memory *)s)->faults[fault].met;
}

uint64_t store_memory_used_bytes(const struct store *s)
{
    return ((const struct memory *)s)->used_bytes;
}
