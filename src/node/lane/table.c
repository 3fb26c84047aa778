/* A lane's tables: made with all the memory that they will ever need, and dropped. */

#include "base/figure.h"
#include "base/mem.h"
#include "base/text.h"
#include "node/lane/state.h"

#include <inttypes.h>
#include <string.h>

enum { TABLE_CENTRAL_PLANES = 2 }; /* A site's sum of the last round, and one that is set aside. */

static enum err lane_widen(struct node_session *s, uint32_t chunks)
{
    uint32_t words = (chunks + 63) / 64;
    uint64_t *dirty;

    if (words <= s->dirty_words) {
        return OK;
    }
    dirty = mem_calloc(words, sizeof(*dirty));
    if (dirty == NULL) {
        return ERR_NOMEM;
    }
    memcpy(dirty, s->dirty, s->dirty_words * sizeof(*dirty));
    mem_free(s->dirty);
    s->dirty = dirty;
    s->dirty_words = words;
    return OK;
}

/* How many chunks of a table this lane holds. */
static uint32_t lane_chunks(const struct node_lane *l, uint16_t id,
                            const struct table_schema *schema)
{
    uint32_t count = 0;

    for (uint32_t c = 0; c < table_chunk_count(schema); c++) {
        uint32_t shard = table_chunk_shard(id, c, l->config.site.shards);

        count += shard % l->config.site.lanes == l->config.number;
    }
    return count;
}

/* All that @chunks chunks of it will ever need here: values, optimizer state, sums, what is held
 * back of sums, and what is kept for other sites. */
static uint64_t lane_needs(const struct node_lane *l, const struct table_schema *schema,
                           uint32_t chunks)
{
    uint64_t planes = 2 + table_apply_planes(&schema->apply) +
                      node_sparsify_has_residual(&l->sparsifier) + (l->mirror != NULL) +
                      (l->central != NULL ? TABLE_CENTRAL_PLANES : 0);

    return planes * chunks * table_chunk_size(schema, 0) * sizeof(float);
}

static void lane_text_bytes(uint64_t bytes, char *out, size_t size)
{
    struct text text;

    text_init_fixed(&text, out, size);
    figure_bytes(bytes, &text);
}

/* Does it fit what the operator gives to tables? */
static enum err lane_fits(const struct node_lane *l, const struct table_schema *schema,
                          uint64_t needs, struct err_text *text)
{
    uint64_t left = l->config.table_bytes - l->table_bytes;
    char need[32], rest[32], all[32];

    if (l->config.table_bytes == 0 || needs <= left) {
        return OK;
    }
    lane_text_bytes(needs, need, sizeof(need));
    lane_text_bytes(left, rest, sizeof(rest));
    lane_text_bytes(l->config.table_bytes, all, sizeof(all));
    return err_text_set(
        text, ERR_TOO_BIG,
        "table %s needs %s on lane %u of server %s, and %s of the %s that tables "
        "may take there are left: give the servers more with --table-memory, spread "
        "the model over more servers, or make the table smaller",
        schema->name, need, l->config.number, l->config.identity.name, rest, all);
}

static enum err lane_no_memory(const struct node_lane *l, const struct table_schema *schema,
                               uint64_t needs, struct err_text *text)
{
    char need[32];

    lane_text_bytes(needs, need, sizeof(need));
    return err_text_set(
        text, ERR_NOMEM,
        "table %s needs %s on lane %u of server %s, and the system does not give it "
        "that much memory: look at its limits (ulimit -v, control group), spread "
        "the model over more servers, or make the table smaller",
        schema->name, need, l->config.number, l->config.identity.name);
}

static enum err lane_scratch(struct node_lane *l, uint32_t elements)
{
    float *scratch;

    if (elements <= l->scratch_elements) {
        return OK;
    }
    scratch = mem_calloc(elements, sizeof(*scratch));
    if (scratch == NULL) {
        return ERR_NOMEM;
    }
    mem_free(l->scratch);
    l->scratch = scratch;
    l->scratch_elements = elements;
    return OK;
}

/* Room for what is held back, if anything is. Pages that are never written cost nothing. */
static enum err lane_residuals(const struct node_lane *l, struct node_chunk *block, uint32_t count,
                               const struct table_schema *schema)
{
    for (uint32_t i = 0; node_sparsify_has_residual(&l->sparsifier) && i < count; i++) {
        block[i].residual = mem_calloc(table_chunk_size(schema, 0), sizeof(float));
        if (block[i].residual == NULL) {
            return ERR_NOMEM;
        }
    }
    return OK;
}

static void lane_block_free(struct node_chunk *block, uint32_t count)
{
    for (uint32_t i = 0; block != NULL && i < count; i++) {
        mem_free(block[i].residual);
    }
    mem_free(block);
}

/* Take all that it will need; what others keep by chunk may be larger than wanted afterwards. */
static enum err lane_reserve(struct node_lane *l, uint16_t id, const struct table_schema *schema,
                             struct node_chunk *block, uint32_t more)
{
    uint32_t elements = table_chunk_size(schema, 0);
    enum err rc = lane_residuals(l, block, more, schema);

    for (struct list *link = l->sessions.next; link != &l->sessions && rc == OK;
         link = link->next) {
        rc = lane_widen(LIST_ENTRY(link, struct node_session, link), l->chunks_count + more);
    }
    if (rc == OK) {
        rc = lane_scratch(l, elements);
    }
    if (rc == OK) {
        rc = sync_reserve(&l->sync, more);
    }
    if (rc == OK && l->mirror != NULL) {
        rc = node_mirror_room(l->mirror, id, schema, more);
    }
    if (rc == OK && l->central != NULL) {
        rc = node_central_room(l->central, more);
    }
    if (rc == OK) {
        rc = table_store_add_table(l->tables, id, schema);
    }
    if (rc == OK) {
        rc = buf_pool_reserve(l->pool, table_accum_bytes(elements), more,
                              (uint64_t)more * NODE_SUM_BYTES);
        if (rc != OK) {
            uint32_t first, count;

            table_store_drop(l->tables, id, &first, &count);
        }
    }
    return rc;
}

enum err node_lane_add_table(struct node_lane *l, uint16_t id, const struct table_schema *schema,
                             struct err_text *text)
{
    uint32_t more = lane_chunks(l, id, schema);
    uint32_t count = l->chunks_count + more;
    uint64_t needs = lane_needs(l, schema, more);
    struct node_chunk *block;
    struct node_chunk **chunks;
    enum err rc = lane_fits(l, schema, needs, text);

    if (rc != OK) {
        return rc;
    }
    block = mem_calloc((size_t)more + 1, sizeof(*block));
    chunks = mem_calloc((size_t)count + 1, sizeof(struct node_chunk *));
    rc = block == NULL || chunks == NULL ? ERR_NOMEM : lane_reserve(l, id, schema, block, more);
    if (rc != OK) {
        lane_block_free(block, more);
        mem_free(chunks);
        return rc == ERR_NOMEM ? lane_no_memory(l, schema, needs, text)
                               : err_text_set(text, rc, "no room for table %s", schema->name);
    }
    CHECK(sync_grow(&l->sync, more) == OK);
    CHECK(table_store_count(l->tables) == count);
    for (uint32_t i = 0; i < l->chunks_count; i++) {
        chunks[i] = l->chunks[i];
    }
    for (uint32_t i = 0; i < more; i++) {
        list_init(&block[i].open);
        list_init(&block[i].closed);
        chunks[l->chunks_count + i] = &block[i];
    }
    mem_free(l->chunks);
    l->chunks = chunks;
    l->blocks[id] = block;
    l->chunks_count = count;
    l->table_bytes += needs;
    l->next_table = id >= l->next_table ? (uint16_t)(id + 1) : l->next_table;
    if (l->mirror != NULL) {
        node_mirror_grown(l->mirror);
    }
    if (l->central != NULL) {
        node_central_grown(l->central, more);
    }
    return OK;
}

/* Dropping. */

/* The chunks from @first on are no more: what a session keeps of those behind them moves down. */
static void lane_session_shift(struct node_session *s, uint32_t first, uint32_t count)
{
    struct node_lane *l = s->lane;

    for (uint32_t c = first; c < l->chunks_count; c++) {
        node_deliver_mark(s, c, c + count < l->chunks_count && node_dirty(s, c + count));
    }
    node_claim_shift(s, first, count);
}

void node_lane_drop_table(struct node_lane *l, uint16_t id)
{
    const struct table_schema schema = *table_store_schema(l->tables, id);
    uint32_t more = lane_chunks(l, id, &schema);
    struct sync_event go_on = {.type = SYNC_CONTINUE};
    struct node_chunk *block = l->blocks[id];
    uint32_t first, count;

    CHECK(l->mirror == NULL && l->central == NULL && !l->saving && !l->restoring);
    for (uint32_t i = 0; i < more; i++) {
        struct table_accum *a = &block[i].accum;

        node_claim_settle(&block[i].open);
        node_claim_settle(&block[i].closed);
        l->sums_count -= a->sum != NULL;
        table_accum_clear(a);
    }
    table_store_drop(l->tables, id, &first, &count);
    CHECK(count == more);
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        lane_session_shift(s, first, count);
        s->wants[id / 64] &= ~(UINT64_C(1) << (id % 64));
        s->uses[id / 64] &= ~(UINT64_C(1) << (id % 64));
    }
    sync_shrink(&l->sync, first, count);
    for (uint32_t c = first; c + count < l->chunks_count; c++) {
        l->chunks[c] = l->chunks[c + count];
    }
    l->chunks_count -= count;
    l->blocks[id] = NULL;
    l->table_bytes -= lane_needs(l, &schema, more);
    buf_pool_lower(l->pool, (uint64_t)more * NODE_SUM_BYTES);
    lane_block_free(block, more);
    CHECK(node_exec(l, &go_on, NULL, NULL) == OK); /* They may have been the oldest. */
}
