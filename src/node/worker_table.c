/* Tables as a worker has them: the copy, what is collected, the cache. */

#include "base/mem.h"
#include "node/worker_state.h"

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

/* A cache of rows, if it fits; without it every read asks. */
static void table_cache(struct node_worker *w, struct node_worker_table *t)
{
    uint64_t bytes = table_elements(&t->schema) * sizeof(float) + t->schema.rows * 8;

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

enum err node_worker_open(struct node_worker *w, uint16_t id, const struct table_schema *schema)
{
    struct node_worker_table *t;
    enum err rc;

    if (w->tables[id] != NULL) {
        return table_schema_equal(schema, &w->tables[id]->schema) ? OK : ERR_EXISTS;
    }
    t = mem_zalloc(sizeof(*t));
    if (t == NULL) {
        return ERR_NOMEM;
    }
    t->schema = *schema;
    t->plain = *schema;
    t->plain.combine = TABLE_SUM;
    t->chunks = table_chunk_count(schema);
    t->pushed = mem_calloc(t->chunks, sizeof(*t->pushed));
    t->pending = mem_calloc(t->chunks, sizeof(*t->pending));
    t->changed = mem_calloc(w->links_count, sizeof(*t->changed));
    rc = t->pushed == NULL || t->pending == NULL || t->changed == NULL ? ERR_NOMEM
                                                                       : table_scratch(w, schema);
    if (rc == OK && node_sift_on(&w->sift)) {
        rc = table_held(t);
    }
    if (rc == OK && w->site.delivery == NODE_BROADCAST) {
        rc = table_copy(w, id, schema);
    }
    if (rc != OK) {
        table_free(t);
        return rc;
    }
    table_cache(w, t);
    w->tables[id] = t;
    return OK;
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
