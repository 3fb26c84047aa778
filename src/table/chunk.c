/* Each table has one block of memory: all its chunks' values, then all their states, each chunk
 * aligned. Which chunks of a table are held repeats after as many chunks as there are shards, so
 * the way from a chunk to its index needs a table of that period only. */

#include "table/chunk.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>
#include <sys/mman.h>

enum {
    CHUNK_PAGE_BYTES = 4096,
    CHUNK_MAP_BYTES = 1024 * 1024,      /* Blocks of this size come from the system directly. */
    CHUNK_HUGE_BYTES = 2 * 1024 * 1024, /* And of this size ask for huge pages. */
};

/* Zeroed, aligned memory. */
struct chunk_block {
    uint8_t *bytes;
    void *heap;       /* What mem_free() wants, or NULL: it is mapped. */
    size_t bytes_all; /* Taken for it. */
};

struct chunk_table {
    struct table_schema schema;
    struct chunk_block block;
    uint32_t chunk_count; /* Of the whole table. */
    uint32_t first;       /* Index of its first chunk that is held. */
    uint32_t held;        /* Of each period ... */
    uint32_t ranks[];     /* ... the how-manieth held one each chunk is, or TABLE_STORE_NONE. */
};

/* What is known of the chunk of an index. */
struct chunk_entry {
    float *values;
    float *state;
    uint32_t elements;
    uint32_t chunk;
    uint16_t table;
};

struct table_store {
    uint32_t shards; /* The period: 1 if all are held. */
    bool *held;      /* By shard. */
    uint32_t count;
    struct chunk_entry *entries;
    struct chunk_table *tables[TABLE_COUNT_MAX];
};

static enum err chunk_hold(struct table_store *s, const uint32_t *held, uint32_t held_count)
{
    s->held = mem_calloc(s->shards, sizeof(*s->held));
    if (s->held == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < held_count; i++) {
        if (held[i] >= s->shards || s->held[held[i]]) {
            return ERR_INVALID;
        }
        s->held[held[i]] = true;
    }
    return OK;
}

enum err table_store_create(uint32_t shards, const uint32_t *held, uint32_t held_count,
                            struct table_store **store_out)
{
    static const uint32_t whole = 0;
    struct table_store *s;
    enum err rc;

    if (shards == 0 || shards > TABLE_SHARDS_MAX) {
        return ERR_INVALID;
    }
    s = mem_zalloc(sizeof(*s));
    if (s == NULL) {
        return ERR_NOMEM;
    }
    /* All shards together are one. */
    s->shards = held == NULL ? 1 : shards;
    rc = chunk_hold(s, held == NULL ? &whole : held, held == NULL ? 1 : held_count);
    if (rc != OK) {
        table_store_destroy(s);
        return rc;
    }
    *store_out = s;
    return OK;
}

static void chunk_block_free(struct chunk_block *block)
{
    if (block->heap != NULL) {
        mem_free(block->heap);
    } else if (block->bytes != NULL) {
        (void)munmap(block->bytes, block->bytes_all);
    }
}

static void chunk_table_free(struct chunk_table *t)
{
    if (t != NULL) {
        chunk_block_free(&t->block);
        mem_free(t);
    }
}

void table_store_destroy(struct table_store *s)
{
    if (s == NULL) {
        return;
    }
    for (uint32_t i = 0; i < TABLE_COUNT_MAX; i++) {
        chunk_table_free(s->tables[i]);
    }
    mem_free(s->entries);
    mem_free(s->held);
    mem_free(s);
}

/* Map more than is wanted and give back both ends, so that the rest starts at a huge page. */
static uint8_t *chunk_map(size_t bytes, size_t align)
{
    uint8_t *p =
        mmap(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t before;

    if (p == MAP_FAILED) {
        return NULL;
    }
    before = (align - (uintptr_t)p % align) % align;
    if (before > 0) {
        (void)munmap(p, before);
    }
    if (align > before) {
        (void)munmap(p + before + bytes, align - before);
    }
    return p + before;
}

static enum err chunk_block_take(size_t bytes, struct chunk_block *block)
{
    if (bytes < CHUNK_MAP_BYTES) {
        block->bytes_all = bytes + TABLE_PLANE_ALIGN;
        block->heap = mem_zalloc(block->bytes_all);
        if (block->heap == NULL) {
            return ERR_NOMEM;
        }
        block->bytes = (uint8_t *)(((uintptr_t)block->heap + TABLE_PLANE_ALIGN - 1) &
                                   ~(uintptr_t)(TABLE_PLANE_ALIGN - 1));
        return OK;
    }
    block->bytes_all = (bytes + CHUNK_PAGE_BYTES - 1) & ~(size_t)(CHUNK_PAGE_BYTES - 1);
    block->bytes = chunk_map(block->bytes_all,
                             bytes >= CHUNK_HUGE_BYTES ? CHUNK_HUGE_BYTES : CHUNK_PAGE_BYTES);
    if (block->bytes == NULL) {
        return ERR_NOMEM;
    }
    if (bytes >= CHUNK_HUGE_BYTES) {
        (void)madvise(block->bytes, block->bytes_all, MADV_HUGEPAGE);
    }
    return OK;
}

static size_t chunk_stride(uint32_t elements)
{
    size_t bytes = (size_t)elements * sizeof(float);

    return (bytes + TABLE_PLANE_ALIGN - 1) / TABLE_PLANE_ALIGN * TABLE_PLANE_ALIGN;
}

static bool chunk_is_held(const struct table_store *s, const struct chunk_table *t, uint32_t chunk)
{
    return t->ranks[chunk % s->shards] != TABLE_STORE_NONE;
}

/* How many chunks of a table before @chunk are held. */
static uint32_t chunk_held_before(const struct table_store *s, const struct chunk_table *t,
                                  uint32_t chunk)
{
    uint32_t before = chunk / s->shards * t->held;

    for (uint32_t i = 0; i < chunk % s->shards; i++) {
        before += chunk_is_held(s, t, i);
    }
    return before;
}

/* Of the held chunks' values. Only the last may be smaller than the others. */
static size_t chunk_plane_bytes(const struct table_store *s, const struct chunk_table *t)
{
    uint32_t last = t->chunk_count - 1;
    size_t bytes = chunk_held_before(s, t, last) * chunk_stride(table_chunk_elements(&t->schema));

    if (chunk_is_held(s, t, last)) {
        bytes += chunk_stride(table_chunk_size(&t->schema, last));
    }
    return bytes;
}

/* A table without its memory. */
static struct chunk_table *chunk_table_make(const struct table_store *s, uint16_t id,
                                            const struct table_schema *schema)
{
    struct chunk_table *t = mem_zalloc(sizeof(*t) + s->shards * sizeof(t->ranks[0]));

    if (t == NULL) {
        return NULL;
    }
    t->schema = *schema;
    t->chunk_count = table_chunk_count(schema);
    t->first = s->count;
    for (uint32_t i = 0; i < s->shards; i++) {
        bool held = s->held[table_chunk_shard(id, i, s->shards)];

        t->ranks[i] = held ? t->held++ : TABLE_STORE_NONE;
    }
    return t;
}

/* Give its chunks their entries from @entry on, their places in the block and their values. */
static void chunk_table_fill(const struct table_store *s, const struct chunk_table *t, uint16_t id,
                             struct chunk_entry *entry)
{
    uint32_t each = table_chunk_elements(&t->schema);
    uint64_t seed_of_name = hash_text(t->schema.name);
    size_t state_at = chunk_plane_bytes(s, t);
    bool state = table_apply_planes(&t->schema.apply) > 0;
    uint8_t *at = t->block.bytes;

    for (uint32_t chunk = 0; chunk < t->chunk_count; chunk++) {
        if (!chunk_is_held(s, t, chunk)) {
            continue;
        }
        *entry = (struct chunk_entry){
            .values = (float *)(void *)at,
            .state = state ? (float *)(void *)(at + state_at) : NULL,
            .elements = table_chunk_size(&t->schema, chunk),
            .chunk = chunk,
            .table = id,
        };
        /* Memory is zeroed, and pages that nobody touched cost nothing. */
        if (t->schema.init.kind != TABLE_INIT_ZEROS) {
            table_init_fill(&t->schema.init, seed_of_name, (uint64_t)chunk * each, entry->values,
                            entry->elements);
        }
        at += chunk_stride(entry->elements);
        entry++;
    }
}

enum err table_store_add_table(struct table_store *s, uint16_t id,
                               const struct table_schema *schema)
{
    struct chunk_entry *entries;
    struct chunk_table *t;
    uint32_t added;

    if (id >= TABLE_COUNT_MAX) {
        return ERR_TOO_BIG;
    }
    if (s->tables[id] != NULL) {
        return ERR_EXISTS;
    }
    t = chunk_table_make(s, id, schema);
    if (t == NULL) {
        return ERR_NOMEM;
    }
    added = chunk_held_before(s, t, t->chunk_count);
    if (chunk_block_take(chunk_plane_bytes(s, t) * (1 + table_apply_planes(&schema->apply)),
                         &t->block) != OK) {
        goto err_table;
    }
    entries = mem_calloc((size_t)s->count + added, sizeof(*entries));
    if (entries == NULL) {
        goto err_table;
    }
    if (s->count > 0) {
        memcpy(entries, s->entries, s->count * sizeof(*entries));
    }
    chunk_table_fill(s, t, id, entries + s->count);
    mem_free(s->entries);
    s->entries = entries;
    s->count += added;
    s->tables[id] = t;
    return OK;

err_table:
    chunk_table_free(t);
    return ERR_NOMEM;
}

void table_store_drop(struct table_store *s, uint16_t id, uint32_t *first_out, uint32_t *count_out)
{
    struct chunk_table *t = id < TABLE_COUNT_MAX ? s->tables[id] : NULL;
    uint32_t first, count;

    CHECK(t != NULL);
    first = t->first;
    count = chunk_held_before(s, t, t->chunk_count);
    if (count > 0) {
        memmove(s->entries + first, s->entries + first + count,
                (size_t)(s->count - first - count) * sizeof(*s->entries));
    }
    s->count -= count;
    for (uint32_t i = 0; i < TABLE_COUNT_MAX; i++) {
        if (s->tables[i] != NULL && s->tables[i]->first > first) {
            s->tables[i]->first -= count;
        }
    }
    s->tables[id] = NULL;
    chunk_table_free(t);
    *first_out = first;
    *count_out = count;
}

const struct table_schema *table_store_schema(const struct table_store *s, uint16_t id)
{
    return id < TABLE_COUNT_MAX && s->tables[id] != NULL ? &s->tables[id]->schema : NULL;
}

uint32_t table_store_count(const struct table_store *s)
{
    return s->count;
}

uint32_t table_store_find(const struct table_store *s, uint16_t id, uint32_t chunk)
{
    const struct chunk_table *t = id < TABLE_COUNT_MAX ? s->tables[id] : NULL;

    if (t == NULL || chunk >= t->chunk_count || !chunk_is_held(s, t, chunk)) {
        return TABLE_STORE_NONE;
    }
    return t->first + chunk / s->shards * t->held + t->ranks[chunk % s->shards];
}

static const struct chunk_entry *chunk_at(const struct table_store *s, uint32_t index)
{
    CHECK(index < s->count);
    return &s->entries[index];
}

uint16_t table_store_table(const struct table_store *s, uint32_t index)
{
    return chunk_at(s, index)->table;
}

uint32_t table_store_chunk(const struct table_store *s, uint32_t index)
{
    return chunk_at(s, index)->chunk;
}

uint32_t table_store_elements(const struct table_store *s, uint32_t index)
{
    return chunk_at(s, index)->elements;
}

float *table_store_values(const struct table_store *s, uint32_t index)
{
    return chunk_at(s, index)->values;
}

float *table_store_state(const struct table_store *s, uint32_t index)
{
    return chunk_at(s, index)->state;
}

uint64_t table_store_bytes(const struct table_store *s)
{
    uint64_t bytes = sizeof(*s) + s->shards * sizeof(*s->held) + s->count * sizeof(*s->entries);

    for (uint32_t i = 0; i < TABLE_COUNT_MAX; i++) {
        const struct chunk_table *t = s->tables[i];

        if (t != NULL) {
            bytes += sizeof(*t) + s->shards * sizeof(t->ranks[0]) + t->block.bytes_all;
        }
    }
    return bytes;
}
