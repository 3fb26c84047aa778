/* Updates out: what is pushed at once, and what was collected during a clock. */

#include "base/mem.h"
#include "node/worker/state.h"
#include "table/kernel.h"
#include "table/rows.h"
#include "wire/push.h"
#include "wire/rows.h"

#include <string.h>

enum { PUSH_CHUNKS_PER_TURN = 4 };

/* A lane that does not count this clock gets nothing of it. One that has restarted and is about to
 * take us up again does. */
bool node_push_counts(const struct node_worker *w, const struct worker_lane *k)
{
    bool in = k->state == LINK_IN || (k->state == LINK_JOINING && k->resuming);

    return k->peer != NULL && in && k->entry <= w->clock;
}

struct wire_push node_push_about(struct node_worker *w, uint16_t table, uint32_t chunk,
                                 uint32_t bytes, uint32_t weight)
{
    return (struct wire_push){
        .chunk = {.table = table,
                  .chunk = chunk,
                  .origin = w->rank,
                  .clock = w->clock,
                  .weight = weight,
                  .payload_bytes = bytes},
        .id = {.incarnation = w->config.incarnation, .number = ++w->number},
    };
}

/* Send one chunk. On OK @frame, which holds the floats, is taken over. */
static enum err push_send(struct node_worker *w, uint16_t table, uint32_t chunk, uint32_t weight,
                          struct buf *frame)
{
    struct worker_lane *k = node_worker_lane_of(w, table, chunk);
    uint32_t bytes = buf_size(frame);
    struct wire_push push = node_push_about(w, table, chunk, bytes, weight);
    enum err rc;

    wire_push_seal(frame, &push);
    rc = net_peer_send_sealed(k->peer, NET_DATA, frame);
    if (rc != OK) {
        buf_trim_front(frame, WIRE_HEADER_BYTES);
        buf_truncate(frame, bytes); /* As it was, for the next try. */
    }
    return rc;
}

static enum err push_chunk(struct node_worker *w, struct node_op_state *t, uint32_t chunk)
{
    struct node_worker_table *table = w->tables[t->table];
    struct worker_lane *k = node_worker_lane_of(w, t->table, chunk);
    uint32_t bytes = table_chunk_size(&table->schema, chunk) * 4;
    uint64_t from = (uint64_t)chunk * table_chunk_elements(&table->schema) - t->first;
    struct buf *frame;
    enum err rc;

    if (node_sparsify_is_on(&w->sparsifier)) {
        return node_worker_sparsify(w, t->table, chunk, t->in + from, t->weight);
    }
    if (!node_push_counts(w, k)) {
        table->pushed[chunk] = w->clock;
        return OK;
    }
    if (!net_peer_has_room(k->peer, bytes + 64)) {
        return ERR_AGAIN;
    }
    rc = wire_chunk_take(w->config.pool, bytes, &frame);
    if (rc != OK) {
        return rc;
    }
    /* The frame is as long as its payload from the start. */
    memcpy(buf_bytes(frame), t->in + from, bytes);
    rc = push_send(w, t->table, chunk, t->weight, frame);
    if (rc == OK) {
        table->pushed[chunk] = w->clock;
    } else {
        buf_unref(frame);
    }
    return rc;
}

/* Send up to @most chunks of it; *@left_out: there are more. */
static enum err push_some(struct node_worker *w, struct node_op_state *t, uint32_t most,
                          bool *left_out)
{
    uint32_t size = table_chunk_elements(&w->tables[t->table]->schema);
    uint32_t first = (uint32_t)(t->first / size);
    uint32_t end = (uint32_t)((t->first + t->count + size - 1) / size);
    enum err rc = OK;

    for (uint32_t i = 0; i < most && first + t->cursor < end && rc == OK; i++) {
        rc = push_chunk(w, t, first + t->cursor);
        t->cursor += rc == OK;
    }
    *left_out = first + t->cursor < end;
    return rc;
}

/* Some chunks in a turn of the loop, so that the first are on their way, and still in the cache
 * when they go, while the next ones are copied. */
void node_push_run(struct node_worker *w, struct node_op_state *t)
{
    bool left;
    enum err rc = push_some(w, t, PUSH_CHUNKS_PER_TURN, &left);

    if (rc == ERR_AGAIN) {
        loop_timer_start_in(&w->poll, (int64_t)WORKER_POLL_MS * 1000000);
    } else if (rc == OK && left) {
        loop_timer_start_in(&w->more, 0);
    } else {
        node_task_end(w, t, rc, NULL);
    }
}

bool node_push_rest(struct node_worker *w, struct node_op_state *t)
{
    bool left;

    if (push_some(w, t, UINT32_MAX, &left) != OK || left) {
        return false;
    }
    node_task_end(w, t, OK, NULL);
    return true;
}

/* What is wrong with a range, or NULL. */
static const char *push_range(const struct node_worker *w, uint16_t table, uint64_t first,
                              uint64_t count, bool chunks)
{
    const struct table_schema *schema = node_worker_schema(w, table);
    uint64_t elements = schema == NULL ? 0 : table_elements(schema);

    if (schema == NULL) {
        return "no such table: make it with table() first";
    }
    if (count == 0 || first > elements || count > elements - first) {
        return "the range is empty or beyond the end of the table";
    }
    if (chunks &&
        (first % table_chunk_elements(schema) != 0 ||
         (first + count != elements && (first + count) % table_chunk_elements(schema) != 0))) {
        return "the range does not cover whole chunks: use update()";
    }
    return NULL;
}

/* Was a chunk of the range sent in this clock? */
static bool push_again(const struct node_worker *w, uint16_t table, uint64_t first, uint64_t count)
{
    const struct node_worker_table *t = w->tables[table];
    uint32_t size = table_chunk_elements(&t->schema);

    for (uint64_t c = first / size; c * size < first + count; c++) {
        if (t->pushed[c] == w->clock) {
            return true;
        }
    }
    return false;
}

/* Or will it be, because something was collected for it? */
static bool push_collected(const struct node_worker *w, uint16_t table, uint64_t first,
                           uint64_t count)
{
    const struct node_worker_table *t = w->tables[table];
    uint32_t size = table_chunk_elements(&t->schema);

    for (uint64_t c = first / size; c * size < first + count; c++) {
        if (t->pending[c].sum != NULL) {
            return true;
        }
    }
    return false;
}

void node_worker_push(struct node_worker *w, uint16_t table, uint64_t first, uint64_t count,
                      const float *update, uint32_t weight, struct node_op *op)
{
    struct node_op_state *t = node_task_begin(w, TASK_PUSH, op);
    const char *wrong;

    if (t == NULL) {
        return;
    }
    wrong = push_range(w, table, first, count, true);
    if (!w->in) {
        wrong = "not joined";
    } else if (wrong == NULL && weight == 0) {
        wrong = "an update needs a weight of at least one";
    }
    if (wrong != NULL) {
        node_task_end(w, t, ERR_INVALID, wrong);
        return;
    }
    if (push_again(w, table, first, count) || push_collected(w, table, first, count)) {
        node_task_end(w, t, ERR_EXISTS, "a chunk of it was pushed or updated in this clock");
        return;
    }
    t->table = table;
    t->first = first;
    t->count = count;
    t->in = update;
    t->weight = weight;
    node_push_run(w, t);
}

/* Collecting. */

/* The chunks that an update has begun to collect for; taken back if one of them cannot be: an
 * update is collected whole or not at all. */
struct push_fresh {
    uint32_t few[8];
    uint32_t *chunks;
    uint32_t count;
};

static enum err push_fresh_init(struct push_fresh *fresh, uint64_t chunks)
{
    bool fits = chunks <= sizeof(fresh->few) / sizeof(fresh->few[0]);

    fresh->count = 0;
    fresh->chunks = fits ? fresh->few : mem_calloc(chunks, sizeof(uint32_t));
    return fresh->chunks == NULL ? ERR_NOMEM : OK;
}

static enum err push_prepare(struct node_worker *w, struct node_worker_table *t, uint32_t chunk,
                             struct push_fresh *fresh)
{
    bool there = t->pending[chunk].sum != NULL;
    enum err rc = table_accum_prepare(&t->pending[chunk], &t->plain, chunk, w->config.pool, false);

    if (rc == OK && !there) {
        fresh->chunks[fresh->count++] = chunk;
    }
    return rc;
}

static void push_fresh_end(struct push_fresh *fresh, struct node_worker_table *t, enum err rc)
{
    for (uint32_t i = 0; rc != OK && i < fresh->count; i++) {
        table_accum_clear(&t->pending[fresh->chunks[i]]);
    }
    if (fresh->chunks != fresh->few) {
        mem_free(fresh->chunks);
    }
}

static void push_collect(struct node_worker_table *t, uint64_t first, uint64_t count,
                         const float *update)
{
    uint32_t size = table_chunk_elements(&t->schema);

    while (count > 0) {
        uint32_t chunk = (uint32_t)(first / size);
        uint32_t from = (uint32_t)(first % size);
        uint64_t room = table_chunk_size(&t->schema, chunk) - from;
        uint32_t some = (uint32_t)(count < room ? count : room);
        struct table_accum *a = &t->pending[chunk];

        table_accum_densify(a, &t->plain, chunk);
        table_add((float *)(void *)buf_bytes(a->sum) + from, update, some);
        first += some;
        count -= some;
        update += some;
    }
}

enum err node_worker_update(struct node_worker *w, uint16_t table, uint64_t first, uint64_t count,
                            const float *update)
{
    struct node_worker_table *t;
    struct push_fresh fresh;
    uint64_t chunk, end;
    enum err rc;

    if (!w->in || push_range(w, table, first, count, false) != NULL) {
        return ERR_INVALID;
    }
    if (push_again(w, table, first, count)) {
        return ERR_EXISTS;
    }
    t = w->tables[table];
    chunk = first / table_chunk_elements(&t->schema);
    end = (first + count - 1) / table_chunk_elements(&t->schema) + 1;
    rc = push_fresh_init(&fresh, end - chunk);
    if (rc != OK) {
        return rc;
    }
    for (; chunk < end && rc == OK; chunk++) {
        rc = push_prepare(w, t, (uint32_t)chunk, &fresh);
    }
    if (rc == OK) {
        push_collect(t, first, count, update);
    }
    push_fresh_end(&fresh, t, rc);
    return rc;
}

/* Make the chunks of some rows ready, or none of them. */
static enum err push_prepare_rows(struct node_worker *w, struct node_worker_table *t,
                                  const uint32_t *rows, uint32_t count)
{
    struct push_fresh fresh;
    uint32_t at = 0;
    enum err rc = push_fresh_init(&fresh, count < t->chunks ? count : t->chunks);

    if (rc != OK) {
        return rc;
    }
    while (at < count && rc == OK) {
        uint32_t chunk = table_row_chunk(&t->schema, rows[at]);

        rc = t->pushed[chunk] == w->clock ? ERR_EXISTS : push_prepare(w, t, chunk, &fresh);
        at += table_rows_run(&t->schema, rows + at, count - at);
    }
    push_fresh_end(&fresh, t, rc);
    return rc;
}

/* A worker sees its own updates in what it has cached for several clocks, where that is just
 * adding. */
static void push_cached(const struct node_worker *w, struct node_worker_table *t,
                        const uint32_t *rows, uint32_t count, const float *update)
{
    if (t->cache == NULL || w->site.sync.staleness == 0 || t->schema.apply.kind != TABLE_ADD ||
        t->schema.combine != TABLE_SUM) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (t->cache_version[rows[i]] != 0) {
            table_add(t->cache + (size_t)rows[i] * t->schema.width,
                      update + (size_t)i * t->schema.width, t->schema.width);
        }
    }
}

enum err node_worker_update_rows(struct node_worker *w, uint16_t table, const uint32_t *rows,
                                 uint32_t count, const float *update)
{
    const struct table_schema *schema = node_worker_schema(w, table);
    struct node_worker_table *t;
    uint32_t at = 0;
    enum err rc;

    if (!w->in || schema == NULL || !table_has_rows(schema)) {
        return ERR_INVALID;
    }
    t = w->tables[table];
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i] >= schema->rows || (i > 0 && rows[i] <= rows[i - 1])) {
            return ERR_INVALID;
        }
    }
    rc = push_prepare_rows(w, t, rows, count);
    if (rc != OK) {
        return rc;
    }
    while (at < count) {
        uint32_t run = table_rows_run(schema, rows + at, count - at);
        uint32_t chunk = table_row_chunk(schema, rows[at]);

        table_accum_add_rows(&t->pending[chunk], &t->plain, chunk, rows + at, run,
                             update + (size_t)at * schema->width, 1);
        at += run;
    }
    push_cached(w, t, rows, count, update);
    return OK;
}

/* The rows that were touched, ascending, with their sums. */
static uint32_t push_gather(struct node_worker *w, const struct node_worker_table *t,
                            uint32_t chunk)
{
    const struct table_accum *a = &t->pending[chunk];
    uint32_t rows = table_chunk_size(&t->schema, chunk) / t->schema.width;
    uint32_t first = chunk * table_rows_per_chunk(&t->schema);
    const float *sum = (const float *)(const void *)buf_bytes(a->sum);
    uint32_t count = 0;

    for (uint32_t r = table_accum_next_row(a, 0, rows); r < rows;
         r = table_accum_next_row(a, r + 1, rows)) {
        w->scratch_rows[count] = first + r;
        memcpy(w->scratch + (size_t)count * t->schema.width, sum + (size_t)r * t->schema.width,
               t->schema.width * sizeof(float));
        count++;
    }
    return count;
}

static enum err push_rows(struct node_worker *w, uint16_t table, uint32_t chunk, uint32_t weight)
{
    const struct node_worker_table *t = w->tables[table];
    struct worker_lane *k = node_worker_lane_of(w, table, chunk);
    struct wire_rows out = {
        .table = table,
        .origin = w->rank,
        .weight = weight,
        .clock = w->clock,
        .chunk = chunk,
        .count = push_gather(w, t, chunk),
        .width = (uint16_t)t->schema.width,
        .rows = w->scratch_rows,
        .values = (const uint8_t *)w->scratch,
        .id = {.incarnation = w->config.incarnation, .number = w->number + 1},
    };
    struct buf *frame;
    enum err rc;

    out.values_bytes = out.count * t->schema.width * 4;
    if (!net_peer_has_room(k->peer, out.values_bytes + out.count * 4 + 256)) {
        return ERR_AGAIN;
    }
    rc = wire_rows_encode(w->config.pool, WIRE_ROWS_PUSH, &out, &frame);
    if (rc == OK) {
        rc = net_peer_send_sealed(k->peer, NET_DATA, frame);
        if (rc != OK) {
            buf_unref(frame);
        }
    }
    w->number += rc == OK;
    return rc;
}

/* Send what was collected for a chunk, as rows or whole. */
static enum err push_pending(struct node_worker *w, uint16_t table, uint32_t chunk, uint32_t weight)
{
    struct node_worker_table *t = w->tables[table];
    struct table_accum *a = &t->pending[chunk];
    struct worker_lane *k = node_worker_lane_of(w, table, chunk);
    enum err rc = OK;

    if (node_push_counts(w, k)) {
        if (a->touched != NULL) {
            rc = push_rows(w, table, chunk, weight);
        } else if (!net_peer_has_room(k->peer, buf_size(a->sum) + 64)) {
            rc = ERR_AGAIN;
        } else {
            rc = push_send(w, table, chunk, weight, a->sum);
            a->sum = rc == OK ? NULL : a->sum;
        }
    }
    if (rc == OK) {
        table_accum_clear(a);
        t->pushed[chunk] = w->clock;
    }
    return rc;
}

enum err node_push_flush(struct node_worker *w, uint32_t weight)
{
    enum err rc = OK;

    if (node_sparsify_is_on(&w->sparsifier)) {
        return node_worker_sparsify_flush(w, weight);
    }
    for (uint16_t id = 0; id < TABLE_COUNT_MAX && rc == OK; id++) {
        struct node_worker_table *t = w->tables[id];

        for (uint32_t c = 0; t != NULL && c < t->chunks && rc == OK; c++) {
            if (t->pending[c].sum != NULL) {
                rc = push_pending(w, id, c, weight);
            }
        }
    }
    if (rc != OK) {
        loop_timer_start_in(&w->poll, (int64_t)WORKER_POLL_MS * 1000000);
    }
    return rc;
}
