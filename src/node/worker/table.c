/* Tables as a worker has them: the copy, what is collected, the cache. */

#include "base/figure.h"
#include "base/mem.h"
#include "base/text.h"
#include "node/worker/state.h"

#include <string.h>

static void table_free(struct node_worker_table *t)
{
    if (t == NULL) {
        return;
    }
    for (uint32_t c = 0; t->pending != NULL && c < t->chunks; c++) {
        table_accum_clear(&t->pending[c]);
    }
    for (uint32_t c = 0; t->held != NULL && c < t->chunks; c++) {
        mem_free(t->held[c].floats);
    }
    mem_free(t->held);
    mem_free(t->pushed);
    mem_free(t->pending);
    mem_free(t->cache);
    mem_free(t->cache_version);
    mem_free(t->changed);
    mem_free(t);
}

static uint64_t table_cache_bytes(const struct table_schema *schema)
{
    return table_elements(schema) * sizeof(float) + schema->rows * sizeof(uint64_t);
}

/* A cache of rows, if it fits; without it every read asks. */
static void table_cache(struct node_worker *w, struct node_worker_table *t)
{
    uint64_t bytes = table_cache_bytes(&t->schema);

    if (w->site.delivery != NODE_PULL || !table_has_rows(&t->schema) || bytes > w->cache_left ||
        w->site.sync.policy == &sync_tap) {
        return;
    }
    t->cache = mem_calloc(table_elements(&t->schema), sizeof(float));
    t->cache_version = mem_calloc(t->schema.rows, sizeof(uint64_t));
    if (t->cache == NULL || t->cache_version == NULL) {
        mem_free(t->cache);
        mem_free(t->cache_version);
        t->cache = NULL;
        t->cache_version = NULL;
    } else {
        w->cache_left -= bytes;
    }
}

static enum err table_copy(struct node_worker *w, uint16_t id, const struct table_schema *schema)
{
    uint32_t count = w->copies_count + table_chunk_count(schema);
    struct node_copy *copies = mem_calloc((size_t)count + 1, sizeof(*copies));
    enum err rc = copies == NULL ? ERR_NOMEM : table_store_add_table(w->copy, id, schema);

    if (rc != OK) {
        mem_free(copies);
        return rc;
    }
    if (w->copies != NULL) {
        memcpy(copies, w->copies, w->copies_count * sizeof(*copies));
    }
    mem_free(w->copies);
    w->copies = copies;
    w->copies_count = count;
    return OK;
}

/* Room for one chunk to work on. */
static enum err table_scratch(struct node_worker *w, const struct table_schema *schema)
{
    uint32_t elements = table_chunk_size(schema, 0);
    float *scratch;
    uint32_t *rows;

    if (elements <= w->scratch_elements) {
        return OK;
    }
    scratch = mem_calloc(elements, sizeof(*scratch));
    rows = mem_calloc(elements, sizeof(*rows));
    if (scratch == NULL || rows == NULL) {
        mem_free(scratch);
        mem_free(rows);
        return ERR_NOMEM;
    }
    mem_free(w->scratch);
    mem_free(w->scratch_rows);
    w->scratch = scratch;
    w->scratch_rows = rows;
    w->scratch_elements = elements;
    return OK;
}

/* Buffers for some chunks on their way from and to each lane, before the first one goes: what is
 * beyond them waits until these are free, if the system gives no more. */
static enum err table_reserve(struct node_worker *w, const struct table_schema *schema)
{
    uint32_t elements = table_chunk_size(schema, 0);
    uint64_t bytes = table_accum_bytes(elements), count = WORKER_CHUNKS_RESERVED * w->lanes_count;
    struct buf_pool_stats stats;
    enum err rc;

    buf_pool_stats(w->config.pool, &stats);
    if (elements <= w->reserved_elements ||
        stats.bytes_reserved + 2 * count * bytes > stats.bytes_limit) {
        return OK; /* There are such; or the pool's own limit is the narrower one. */
    }
    rc = buf_pool_reserve(w->config.pool, bytes, (uint32_t)count, 0);
    w->reserved_elements = rc == OK ? elements : w->reserved_elements;
    return rc;
}

static enum err table_held(struct node_worker_table *t)
{
    t->held = mem_calloc(t->chunks, sizeof(*t->held));
    for (uint32_t c = 0; t->held != NULL && c < t->chunks; c++) {
        t->held[c].floats = mem_calloc(table_chunk_size(&t->schema, c), sizeof(float));
        if (t->held[c].floats == NULL) {
            return ERR_NOMEM;
        }
    }
    return t->held == NULL ? ERR_NOMEM : OK;
}

static enum err table_fill(struct node_worker *w, uint16_t id, const struct table_schema *schema,
                           struct node_worker_table *t)
{
    enum err rc;

    t->schema = *schema;
    t->plain = *schema;
    t->plain.combine = TABLE_SUM;
    t->chunks = table_chunk_count(schema);
    t->pushed = mem_calloc(t->chunks, sizeof(*t->pushed));
    t->pending = mem_calloc(t->chunks, sizeof(*t->pending));
    t->changed = mem_calloc(w->lanes_count, sizeof(*t->changed));
    rc = t->pushed == NULL || t->pending == NULL || t->changed == NULL ? ERR_NOMEM
                                                                       : table_scratch(w, schema);
    if (rc == OK) {
        rc = table_reserve(w, schema);
    }
    if (rc == OK && node_sparsify_is_on(&w->sparsifier)) {
        rc = table_held(t);
    }
    if (rc == OK && w->site.delivery == NODE_BROADCAST) {
        rc = table_copy(w, id, schema);
    }
    return rc;
}

/* What a worker keeps of a table: its copy and what is held back of updates. */
static uint64_t table_needs(const struct node_worker *w, const struct table_schema *schema)
{
    uint64_t planes =
        node_sparsify_is_on(&w->sparsifier) +
        (w->site.delivery == NODE_BROADCAST ? 1 + table_apply_planes(&schema->apply) : 0);

    return planes * table_elements(schema) * sizeof(float);
}

enum err node_worker_open(struct node_worker *w, uint16_t id, const struct table_schema *schema,
                          struct err_text *text)
{
    struct node_worker_table *t;
    struct text line;
    char need[32];
    enum err rc;

    if (w->tables[id] != NULL) {
        return table_schema_equal(schema, &w->tables[id]->schema)
                   ? OK
                   : err_text_set(text, ERR_EXISTS,
                                  "table %s has the number of another table of this worker",
                                  schema->name);
    }
    t = mem_zalloc(sizeof(*t));
    rc = t == NULL ? ERR_NOMEM : table_fill(w, id, schema, t);
    if (rc != OK) {
        table_free(t);
        text_init_fixed(&line, need, sizeof(need));
        figure_bytes(table_needs(w, schema), &line);
        return err_text_set(text, rc,
                            "table %s needs %s on worker %s, and the system does not give it that "
                            "much memory: look at its limits (ulimit -v, control group), or make "
                            "the table smaller",
                            schema->name, need, w->config.identity.name);
    }
    table_cache(w, t);
    w->tables[id] = t;
    return OK;
}

void node_worker_forget(struct node_worker *w, uint16_t id)
{
    uint32_t first, count;

    if (w->tables[id] == NULL) {
        return;
    }
    if (w->tables[id]->cache != NULL) {
        w->cache_left += table_cache_bytes(&w->tables[id]->schema);
    }
    table_free(w->tables[id]);
    w->tables[id] = NULL;
    if (w->copy == NULL) {
        return;
    }
    table_store_drop(w->copy, id, &first, &count);
    for (uint32_t i = first; i < first + count; i++) {
        mem_free(w->copies[i].members);
    }
    memmove(w->copies + first, w->copies + first + count,
            (size_t)(w->copies_count - first - count) * sizeof(*w->copies));
    w->copies_count -= count;
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        node_copy_shift(w->lanes[i], first, count);
        node_feed_shift(w->lanes[i], first, count);
    }
}

void node_worker_close_tables(struct node_worker *w)
{
    for (uint32_t i = 0; i < TABLE_COUNT_MAX; i++) {
        table_free(w->tables[i]);
        w->tables[i] = NULL;
    }
    for (uint32_t i = 0; i < w->copies_count; i++) {
        mem_free(w->copies[i].members);
    }
    mem_free(w->copies);
    table_store_destroy(w->copy);
}

const struct table_schema *node_worker_schema(const struct node_worker *w, uint16_t table)
{
    return table < TABLE_COUNT_MAX && w->tables[table] != NULL ? &w->tables[table]->schema : NULL;
}

int32_t node_worker_find(const struct node_worker *w, const char *name)
{
    for (int32_t i = 0; i < TABLE_COUNT_MAX; i++) {
        if (w->tables[i] != NULL && strcmp(w->tables[i]->schema.name, name) == 0) {
            return i;
        }
    }
    return -1;
}
