/* Reads: from the copy (broadcast), from the cache, or from the servers. */

#include "base/mem.h"
#include "node/worker/state.h"
#include "table/rows.h"
#include "wire/pull.h"
#include "wire/rows.h"

#include <string.h>

/* Requests. */

static struct node_request *read_request(struct node_worker *w, struct node_op_state *t,
                                         uint32_t chunk)
{
    struct list *link = list_first(&w->free_requests);
    struct node_request *r;

    if (link != NULL) {
        list_remove(link);
        r = LIST_ENTRY(link, struct node_request, link);
    } else {
        r = mem_zalloc(sizeof(*r));
    }
    if (r != NULL) {
        *r = (struct node_request){.task = t, .table = t->table, .chunk = chunk, .clock = w->clock};
        list_init(&r->link);
    }
    return r;
}

static void read_release(struct node_worker *w, struct node_request *r)
{
    list_remove(&r->link);
    mem_free(r->rows);
    r->rows = NULL;
    r->places = NULL;
    list_push_back(&w->free_requests, &r->link);
}

void node_read_free(struct node_worker *w)
{
    struct list *link;

    while ((link = list_first(&w->free_requests)) != NULL) {
        struct node_request *r = LIST_ENTRY(link, struct node_request, link);

        list_remove(link);
        mem_free(r->rows);
        mem_free(r);
    }
}

/* Answers to what was given up are thrown away. */
void node_read_forget(struct node_worker *w, struct node_op_state *t)
{
    for (uint32_t i = 0; t->remaining > 0 && i < w->lanes_count; i++) {
        LIST_FOREACH (link, &w->lanes[i]->requests) {
            struct node_request *r = LIST_ENTRY(link, struct node_request, link);

            r->task = r->task == t ? NULL : r->task;
        }
    }
}

/* Operations see for themselves that nothing comes any more. */
void node_read_cancel(struct node_worker *w)
{
    struct list *link;

    for (uint32_t i = 0; i < w->lanes_count; i++) {
        while ((link = list_first(&w->lanes[i]->requests)) != NULL) {
            read_release(w, LIST_ENTRY(link, struct node_request, link));
        }
    }
    node_worker_progress(w);
}

static enum err read_send(struct worker_lane *k, struct buf *frame)
{
    enum err rc = net_peer_send_sealed(k->peer, NET_DATA, frame);

    if (rc != OK) {
        buf_unref(frame);
    } else {
        k->pulls_unacked++;
    }
    return rc;
}

static enum err read_ask(struct worker_lane *k, const struct node_request *r)
{
    struct node_worker *w = k->worker;
    struct buf *frame;
    enum err rc;

    if (r->count == 0) {
        struct wire_pull pull = {.table = r->table,
                                 .origin = w->rank,
                                 .clock = w->clock,
                                 .count = 1,
                                 .chunks = &r->chunk};

        rc = wire_pull_encode(w->config.pool, &pull, &frame);
    } else {
        struct wire_rows rows = {.table = r->table,
                                 .origin = w->rank,
                                 .clock = w->clock,
                                 .chunk = r->chunk,
                                 .count = r->count,
                                 .width = (uint16_t)w->tables[r->table]->schema.width,
                                 .rows = r->rows};

        rc = wire_rows_encode(w->config.pool, WIRE_ROWS_PULL, &rows, &frame);
    }
    return rc == OK ? read_send(k, frame) : rc;
}

/* The server has forgotten what was asked. */
void node_read_again(struct worker_lane *k)
{
    LIST_FOREACH (link, &k->requests) {
        LIST_ENTRY(link, struct node_request, link)->due = true;
    }
    k->reads_due = true;
    node_read_due(k);
}

void node_read_due(struct worker_lane *k)
{
    if (!k->reads_due || k->state != LINK_IN) {
        return; /* All of them are asked again when the lane lets us in. */
    }
    LIST_FOREACH (link, &k->requests) {
        struct node_request *r = LIST_ENTRY(link, struct node_request, link);

        if (r->due && read_ask(k, r) != OK) {
            loop_timer_start_in(&k->worker->poll, (int64_t)WORKER_POLL_MS * 1000000);
            return;
        }
        r->due = false;
    }
    k->reads_due = false;
}

/* Can a request be made there now? A lane that is away or has left us out will be back. */
static bool read_reachable(const struct worker_lane *k)
{
    return k->peer != NULL && k->state == LINK_IN && net_peer_has_room(k->peer, 64 * 1024);
}

/* Dense. */

static void read_copy(struct node_worker *w, const struct node_op_state *t)
{
    uint32_t size = table_chunk_elements(&w->tables[t->table]->schema);
    uint64_t at = t->first;
    uint64_t end = t->first + t->count;

    while (at < end) {
        uint32_t chunk = (uint32_t)(at / size);
        uint32_t index = table_store_find(w->copy, t->table, chunk);
        uint32_t from = (uint32_t)(at % size);
        uint64_t some = table_store_elements(w->copy, index) - from;

        some = some < end - at ? some : end - at;
        memcpy(t->out + (at - t->first), table_store_values(w->copy, index) + from,
               some * sizeof(float));
        at += some;
    }
}

static enum err read_pull(struct node_worker *w, struct node_op_state *t)
{
    uint32_t size = table_chunk_elements(&w->tables[t->table]->schema);
    uint32_t first = (uint32_t)(t->first / size);
    uint32_t end = (uint32_t)((t->first + t->count + size - 1) / size);

    while (first + t->cursor < end) {
        uint32_t chunk = first + t->cursor;
        struct worker_lane *k = node_worker_lane_of(w, t->table, chunk);
        struct node_request *r;
        enum err rc;

        if (!read_reachable(k)) {
            return ERR_AGAIN;
        }
        r = read_request(w, t, chunk);
        rc = r == NULL ? ERR_NOMEM : read_ask(k, r);
        if (rc != OK) {
            if (r != NULL) {
                read_release(w, r);
            }
            return rc;
        }
        list_push_back(&k->requests, &r->link);
        t->remaining++;
        t->cursor++;
    }
    return OK;
}

static struct node_request *read_find(struct worker_lane *k, uint16_t table, uint32_t chunk,
                                      bool rows)
{
    LIST_FOREACH (link, &k->requests) {
        struct node_request *r = LIST_ENTRY(link, struct node_request, link);

        if (r->table == table && r->chunk == chunk && (r->count > 0) == rows) {
            return r;
        }
    }
    return NULL;
}

static void read_answered(struct node_worker *w, struct node_request *r)
{
    struct node_op_state *t = r->task;

    read_release(w, r);
    if (t != NULL) {
        t->remaining--;
        node_worker_progress(w);
    }
}

enum err node_read_values(struct worker_lane *k, const struct net_frame *frame)
{
    struct node_worker *w = k->worker;
    struct node_op_state *t;
    struct node_request *r;
    struct wire_chunk in;
    uint64_t start, from, end;

    if (wire_values_decode(&frame->header, frame->body, frame->header.body_bytes, &in) != OK) {
        return ERR_PEER;
    }
    r = read_find(k, in.table, in.chunk, false);
    if (r == NULL) {
        return OK; /* Asked twice, because of a restart. */
    }
    if (!w->site.sync.policy->read(&w->site.sync, r->clock, in.clock)) {
        return OK; /* An answer to an older question; ours is coming. */
    }
    if (in.payload_bytes != table_chunk_size(&w->tables[in.table]->schema, in.chunk) * 4) {
        return ERR_PEER;
    }
    t = r->task;
    if (t != NULL) {
        start = (uint64_t)in.chunk * table_chunk_elements(&w->tables[in.table]->schema);
        from = t->first > start ? t->first : start;
        end = start + in.payload_bytes / 4;
        end = t->first + t->count < end ? t->first + t->count : end;
        memcpy(t->out + (from - t->first), in.payload + (from - start) * 4, (end - from) * 4);
    }
    read_answered(w, r);
    return OK;
}

void node_worker_read(struct node_worker *w, uint16_t table, uint64_t first, uint64_t count,
                      float *out, struct node_op *op)
{
    struct node_op_state *t = node_task_begin(w, TASK_READ, op);
    const struct table_schema *schema = node_worker_schema(w, table);

    if (t == NULL) {
        return;
    }
    if (!w->in || schema == NULL || count == 0 || first > table_elements(schema) ||
        count > table_elements(schema) - first) {
        node_task_end(w, t, ERR_INVALID,
                      !w->in           ? "not joined"
                      : schema == NULL ? "no such table: make it with table() first"
                                       : "the range is empty or beyond the end of the table");
        return;
    }
    t->table = table;
    t->first = first;
    t->count = count;
    t->out = out;
    node_read_run(w, t);
}

/* Rows. */

static void read_copy_rows(struct node_worker *w, const struct node_op_state *t)
{
    const struct table_schema *schema = &w->tables[t->table]->schema;
    uint32_t at = 0;

    while (at < t->count) {
        uint32_t run = table_rows_run(schema, t->rows + at, (uint32_t)t->count - at);
        uint32_t chunk = table_row_chunk(schema, t->rows[at]);
        uint32_t index = table_store_find(w->copy, t->table, chunk);

        table_rows_gather(schema, chunk, t->rows + at, run, table_store_values(w->copy, index),
                          t->out + (size_t)at * schema->width);
        at += run;
    }
}

static bool read_cached(const struct node_worker *w, const struct node_worker_table *table,
                        uint32_t row)
{
    uint64_t version = table->cache == NULL ? 0 : table->cache_version[row];

    return version != 0 && w->site.sync.policy->read(&w->site.sync, w->clock, version - 1);
}

/* The rows of one chunk that are not cached, as one request; NULL: all are. */
static enum err read_run(struct node_worker *w, struct node_op_state *t, uint32_t run,
                         struct node_request **request_out)
{
    const struct node_worker_table *table = w->tables[t->table];
    uint32_t width = table->schema.width;
    struct node_request *r;
    uint32_t missing = 0;

    *request_out = NULL;
    for (uint32_t i = t->cursor; i < t->cursor + run; i++) {
        if (read_cached(w, table, t->rows[i])) {
            memcpy(t->out + (size_t)i * width, table->cache + (size_t)t->rows[i] * width,
                   width * sizeof(float));
        } else {
            w->scratch_rows[missing++] = i;
        }
    }
    if (missing == 0) {
        return OK;
    }
    r = read_request(w, t, table_row_chunk(&table->schema, t->rows[t->cursor]));
    if (r == NULL) {
        return ERR_NOMEM;
    }
    r->rows = mem_calloc((size_t)missing * 2, sizeof(uint32_t));
    if (r->rows == NULL) {
        read_release(w, r);
        return ERR_NOMEM;
    }
    r->places = r->rows + missing;
    r->count = missing;
    for (uint32_t i = 0; i < missing; i++) {
        r->places[i] = w->scratch_rows[i];
        r->rows[i] = t->rows[w->scratch_rows[i]];
    }
    *request_out = r;
    return OK;
}

static enum err read_pull_rows(struct node_worker *w, struct node_op_state *t)
{
    const struct table_schema *schema = &w->tables[t->table]->schema;

    while (t->cursor < t->count) {
        uint32_t run = table_rows_run(schema, t->rows + t->cursor, (uint32_t)t->count - t->cursor);
        struct worker_lane *k =
            node_worker_lane_of(w, t->table, table_row_chunk(schema, t->rows[t->cursor]));
        struct node_request *r;
        enum err rc = read_reachable(k) ? read_run(w, t, run, &r) : ERR_AGAIN;

        if (rc == OK && r != NULL) {
            rc = read_ask(k, r);
            if (rc != OK) {
                read_release(w, r);
            } else {
                list_push_back(&k->requests, &r->link);
                t->remaining++;
            }
        }
        if (rc != OK) {
            return rc;
        }
        t->cursor += run;
    }
    return OK;
}

enum err node_read_rows(struct worker_lane *k, const struct net_frame *frame)
{
    struct node_worker *w = k->worker;
    struct node_worker_table *table;
    struct node_request *r;
    struct wire_rows in;

    if (wire_rows_decode(&frame->header, frame->body, frame->header.body_bytes, &in) != OK) {
        return ERR_PEER;
    }
    r = read_find(k, in.table, in.chunk, true);
    if (r == NULL) {
        return OK;
    }
    table = w->tables[in.table];
    if (in.codec != WIRE_CODEC_F32 || in.width != table->schema.width || in.count != r->count ||
        memcmp(in.rows, r->rows, (size_t)in.count * 4) != 0 ||
        !w->site.sync.policy->read(&w->site.sync, r->clock, in.clock)) {
        return OK; /* An answer to an older question; ours is coming. */
    }
    for (uint32_t i = 0; i < in.count; i++) {
        size_t bytes = (size_t)in.width * sizeof(float);

        if (r->task != NULL) {
            memcpy(r->task->out + (size_t)r->places[i] * in.width, in.values + i * bytes, bytes);
        }
        if (table->cache != NULL) {
            memcpy(table->cache + (size_t)r->rows[i] * in.width, in.values + i * bytes, bytes);
            table->cache_version[r->rows[i]] = in.clock + 1;
        }
    }
    read_answered(w, r);
    return OK;
}

void node_worker_read_rows(struct node_worker *w, uint16_t table, const uint32_t *rows,
                           uint32_t count, float *out, struct node_op *op)
{
    struct node_op_state *t = node_task_begin(w, TASK_ROWS, op);
    const struct table_schema *schema = node_worker_schema(w, table);
    bool valid = w->in && schema != NULL && table_has_rows(schema);

    if (t == NULL) {
        return;
    }
    for (uint32_t i = 0; i < count && valid; i++) {
        valid = rows[i] < schema->rows && (i == 0 || rows[i] > rows[i - 1]);
    }
    if (!valid) {
        node_task_end(w, t, ERR_INVALID,
                      !w->in ? "not joined"
                             : "rows must exist and ascend, in a table that has been made");
        return;
    }
    t->table = table;
    t->count = count;
    t->rows = rows;
    t->out = out;
    node_read_run(w, t);
}

void node_read_run(struct node_worker *w, struct node_op_state *t)
{
    enum err rc = OK;

    if (!w->want_in) {
        node_task_end(w, t, ERR_CANCELLED, "the worker leaves");
        return;
    }
    if (w->site.delivery == NODE_BROADCAST) {
        if (!node_worker_may_compute(w, w->clock)) {
            return;
        }
        if (t->kind == TASK_READ) {
            read_copy(w, t);
        } else {
            read_copy_rows(w, t);
        }
    } else {
        rc = t->kind == TASK_READ ? read_pull(w, t) : read_pull_rows(w, t);
    }
    if (rc == ERR_AGAIN) {
        loop_timer_start_in(&w->poll, (int64_t)WORKER_POLL_MS * 1000000);
    } else if (rc != OK || t->remaining == 0) {
        node_task_end(w, t, rc, NULL);
    }
}
