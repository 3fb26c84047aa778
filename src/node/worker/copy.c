/* A worker's copy of the tables (broadcast delivery): it applies the sums that servers send, and is
 * what a restarted server recovers from. */

#include "base/mem.h"
#include "node/floats.h"
#include "node/worker/state.h"
#include "wire/broadcast.h"
#include "wire/clock.h"
#include "wire/pull.h"
#include "wire/snapshot.h"

#include <string.h>

/* Remember whose updates are in the chunk. */
static enum err copy_members(struct node_copy *c, const void *members, uint32_t count)
{
    if (count > c->member_capacity) {
        struct wire_member *room = mem_calloc(count, sizeof(*room));

        if (room == NULL) {
            return ERR_NOMEM;
        }
        mem_free(c->members);
        c->members = room;
        c->member_capacity = count;
    }
    for (uint32_t i = 0; i < count; i++) {
        c->members[i] = wire_member(members, i);
    }
    c->member_count = count;
    return OK;
}

static uint32_t copy_find(const struct node_worker *w, uint16_t table, uint32_t chunk)
{
    return w->copy == NULL ? TABLE_STORE_NONE : table_store_find(w->copy, table, chunk);
}

/* A chunk is at least of the round that the lane said was closed everywhere; unless it still has to
 * come, because the table is being opened. */
static uint64_t copy_version(const struct worker_lane *k, uint32_t index)
{
    const struct node_worker *w = k->worker;
    uint64_t version = w->copies[index].version;

    if (!w->site.sync.policy->rounds || !w->tables[table_store_table(w->copy, index)]->open) {
        return version; /* Without rounds it counts updates, not clocks. */
    }
    return k->advanced_any && k->advanced > version ? k->advanced : version;
}

static enum err copy_apply(struct node_worker *w, uint32_t index, const struct wire_broadcast *b)
{
    const struct table_schema *schema = &w->tables[b->chunk.table]->schema;

    uint32_t over = table_apply_run(
        &schema->apply, b->chunk.clock, table_accum_scale(schema->combine, b->chunk.weight),
        table_store_values(w->copy, index), table_store_state(w->copy, index),
        node_floats(b->chunk.payload, b->chunk.payload_bytes, w->scratch),
        b->chunk.payload_bytes / 4);

    node_worker_over(w, schema->name, b->chunk.clock, over, "the sum of a round");
    return OK;
}

static enum err copy_apply_packed(struct node_worker *w, uint32_t index,
                                  const struct wire_broadcast *b)
{
    const struct table_schema *schema = &w->tables[b->chunk.table]->schema;
    uint32_t elements = table_store_elements(w->copy, index);
    struct codec_plain plain;

    if (node_sparsify_decode(&w->sparsifier, b->chunk.codec, b->chunk.payload,
                             b->chunk.payload_bytes, elements, &plain) != OK) {
        return ERR_PEER;
    }
    node_worker_over(w, schema->name, b->chunk.clock,
                     node_sparsify_apply(schema, b->chunk.clock,
                                         table_accum_scale(schema->combine, b->chunk.weight),
                                         &plain, table_store_values(w->copy, index),
                                         table_store_state(w->copy, index), NULL, w->scratch,
                                         elements),
                     "the sum of a round");
    return OK;
}

/* Children get what we get, each version once. */
static void copy_pass(struct worker_lane *k, struct node_copy *c, const struct net_frame *frame)
{
    if (node_feed_tree(k->worker) && frame->header.clock > c->passed) {
        node_relay_pass(k, frame);
        if ((frame->header.table & WIRE_TABLE_PLANE) == 0) {
            c->passed = frame->header.clock;
        }
    }
}

static void copy_came(struct worker_lane *k)
{
    if (node_feed_tree(k->worker)) {
        node_feed_progress(k);
    }
}

enum err node_copy_broadcast(struct worker_lane *k, const struct net_frame *frame)
{
    struct node_worker *w = k->worker;
    struct wire_broadcast b;
    struct node_copy *c;
    uint32_t index, elements;
    bool packed;
    enum err rc = wire_broadcast_decode(&frame->header, frame->body, frame->header.body_bytes, &b);

    if (rc != OK) {
        return ERR_PEER;
    }
    index = copy_find(w, b.chunk.table, b.chunk.chunk);
    if (index == TABLE_STORE_NONE) {
        return OK; /* A table that this worker does not use. */
    }
    elements = table_store_elements(w->copy, index);
    packed = b.chunk.codec != WIRE_CODEC_F32;
    if (packed ? w->sparsifier.coder == NULL : b.chunk.payload_bytes != elements * 4) {
        return ERR_PEER;
    }
    c = &w->copies[index];
    copy_pass(k, c, frame);
    if (b.chunk.clock <= c->version) {
        return OK; /* A whole chunk that came before contains it. */
    }
    if (node_feed_tree(w) && copy_version(k, index) + b.chunk.epoch < b.chunk.clock) {
        node_feed_gap(k, index); /* It follows one that did not come. */
        return OK;
    }
    rc = copy_members(c, b.members, b.member_count);
    if (rc != OK) {
        return rc;
    }
    rc = packed ? copy_apply_packed(w, index, &b) : copy_apply(w, index, &b);
    if (rc == OK) {
        c->version = b.chunk.clock;
        copy_came(k);
    }
    return rc;
}

/* A chunk that the lane said it would send whole is here: a table may be open now. */
static void copy_have(struct worker_lane *k, struct node_copy *c, uint16_t table)
{
    struct node_worker *w = k->worker;

    if ((table & WIRE_TABLE_PLANE) == 0) {
        w->tables[table]->changed[k->number].have += !c->have;
        c->have = true;
        node_worker_progress(w);
    }
}

enum err node_copy_snapshot(struct worker_lane *k, const struct net_frame *frame)
{
    struct node_worker *w = k->worker;
    struct wire_snapshot_chunk in;
    struct node_copy *c;
    uint16_t table;
    uint32_t index;
    float *to;
    enum err rc =
        wire_snapshot_chunk_decode(&frame->header, frame->body, frame->header.body_bytes, &in);

    if (rc != OK) {
        return ERR_PEER;
    }
    table = in.chunk.table & (uint16_t)~WIRE_TABLE_PLANE;
    index = copy_find(w, table, in.chunk.chunk);
    if (index == TABLE_STORE_NONE) {
        return OK;
    }
    c = &w->copies[index];
    if (in.chunk.payload_bytes != table_store_elements(w->copy, index) * 4) {
        return ERR_PEER;
    }
    copy_pass(k, c, frame);
    if (in.chunk.clock < c->version) {
        /* What a worker sees never goes back (I4). Sums that came by a tree were faster. */
        copy_have(k, c, in.chunk.table);
        return OK;
    }
    to = table == in.chunk.table ? table_store_values(w->copy, index)
                                 : table_store_state(w->copy, index);
    if (to == NULL) {
        return ERR_PEER;
    }
    if (table == in.chunk.table) {
        rc = copy_members(c, in.members, in.member_count);
        if (rc != OK) {
            return rc;
        }
        c->version = in.chunk.clock;
        copy_have(k, c, table);
    }
    memcpy(to, in.chunk.payload, in.chunk.payload_bytes);
    copy_came(k);
    return OK;
}

/* For a server that restarted. */

static bool copy_is_on(const struct worker_lane *k, uint32_t index)
{
    struct node_worker *w = k->worker;

    return node_worker_lane_of(w, table_store_table(w->copy, index),
                               table_store_chunk(w->copy, index)) == k;
}

uint32_t node_copy_offers(struct worker_lane *k)
{
    struct node_worker *w = k->worker;
    uint32_t count = 0;

    for (uint32_t i = 0; w->copy != NULL && i < w->copies_count; i++) {
        count += copy_is_on(k, i);
    }
    return count;
}

/* Chunks [first, first + count) of a table; those of other lanes as zero. */
static enum err copy_offer_some(struct worker_lane *k, uint16_t table, uint32_t first,
                                uint32_t count)
{
    struct node_worker *w = k->worker;
    uint64_t versions[WIRE_OFFER_CHUNKS_MAX] = {0};
    struct wire_offer offer = {.table = table,
                               .chunk = first,
                               .origin = w->rank,
                               .clock = w->clock,
                               .count = count,
                               .versions = versions};
    struct buf *frame;
    enum err rc;

    for (uint32_t i = 0; i < count; i++) {
        if (node_worker_lane_of(w, table, first + i) == k) {
            versions[i] = copy_version(k, table_store_find(w->copy, table, first + i));
        }
    }
    rc = wire_offer_encode(w->config.pool, &offer, &frame);
    if (rc == OK) {
        rc = net_peer_send_sealed(k->peer, NET_CONTROL, frame);
        if (rc != OK) {
            buf_unref(frame);
        }
    }
    return rc;
}

void node_copy_offer(struct worker_lane *k)
{
    struct node_worker *w = k->worker;
    enum err rc = OK;

    for (uint16_t id = 0; w->copy != NULL && id < TABLE_COUNT_MAX && rc == OK; id++) {
        uint32_t chunks = w->tables[id] == NULL ? 0 : w->tables[id]->chunks;

        for (uint32_t c = 0; c < chunks && rc == OK; c += WIRE_OFFER_CHUNKS_MAX) {
            uint32_t left = chunks - c;

            rc = copy_offer_some(k, id, c,
                                 left < WIRE_OFFER_CHUNKS_MAX ? left : WIRE_OFFER_CHUNKS_MAX);
        }
    }
    if (rc != OK) {
        /* The server goes on after a while with what others have. */
        node_worker_notice(w, "lane %u: no room to say what our copy holds", k->number);
    }
}

static enum err copy_send(struct worker_lane *k, uint32_t index, const float *floats,
                          uint16_t plane)
{
    struct node_worker *w = k->worker;
    const struct node_copy *c = &w->copies[index];
    uint64_t version = copy_version(k, index);
    struct wire_snapshot_chunk out = {
        .chunk = {.table = (uint16_t)(table_store_table(w->copy, index) | plane),
                  .chunk = table_store_chunk(w->copy, index),
                  .origin = w->rank,
                  .clock = version,
                  .payload = (const uint8_t *)floats,
                  .payload_bytes = table_store_elements(w->copy, index) * 4},
        .member_count = c->member_count,
        .members = c->members,
    };
    struct buf *frame;
    enum err rc;

    rc = wire_snapshot_chunk_encode(w->config.pool, &out, &frame);
    if (rc == OK) {
        rc = net_peer_send_sealed(k->peer, NET_DATA, frame);
        if (rc != OK) {
            buf_unref(frame);
        }
    }
    return rc;
}

/* Send what was asked for, as far as there is room. */
void node_copy_flush(struct worker_lane *k)
{
    struct node_worker *w = k->worker;
    enum err rc = OK;

    for (uint32_t i = 0; k->asked_count > 0 && i < k->asked_size && rc == OK; i++) {
        if (!k->asked[i]) {
            continue;
        }
        if (k->peer == NULL || !net_peer_has_room(k->peer, 2 * (LIMIT_CHUNK_BYTES + 4096))) {
            return;
        }
        if (table_store_state(w->copy, i) != NULL) {
            rc = copy_send(k, i, table_store_state(w->copy, i), WIRE_TABLE_PLANE);
        }
        if (rc == OK) {
            rc = copy_send(k, i, table_store_values(w->copy, i), 0);
        }
        if (rc == OK) {
            k->asked[i] = 0;
            k->asked_count--;
        }
    }
    if (rc != OK) {
        loop_timer_start_in(&w->poll, (int64_t)WORKER_POLL_MS * 1000000); /* No buffer. */
    }
}

void node_copy_forget_asked(struct worker_lane *k)
{
    mem_free(k->asked);
    k->asked = NULL;
    k->asked_size = 0;
    k->asked_count = 0;
}

void node_copy_shift(struct worker_lane *k, uint32_t first, uint32_t count)
{
    uint32_t end = first + count < k->asked_size ? first + count : k->asked_size;

    for (uint32_t i = first; i < end; i++) {
        k->asked_count -= k->asked[i];
    }
    if (first < k->asked_size) {
        memmove(k->asked + first, k->asked + end, k->asked_size - end);
        k->asked_size -= end - first;
    }
}

/* A server that restarted asks for chunks of our copy. */
enum err node_copy_asked(struct worker_lane *k, const struct net_frame *frame)
{
    struct node_worker *w = k->worker;
    struct wire_pull pull;

    if (wire_pull_decode(&frame->header, frame->body, frame->header.body_bytes, &pull) != OK) {
        return ERR_PEER;
    }
    if (k->asked_size < w->copies_count) {
        node_copy_forget_asked(k);
        k->asked = mem_calloc(w->copies_count, 1);
        if (k->asked == NULL) {
            return ERR_NOMEM;
        }
        k->asked_size = w->copies_count;
    }
    for (uint32_t i = 0; i < pull.count; i++) {
        uint32_t index = copy_find(w, pull.table, wire_pull_chunk(&pull, i));

        if (index == TABLE_STORE_NONE) {
            return ERR_PEER;
        }
        k->asked_count += !k->asked[index];
        k->asked[index] = 1;
    }
    node_worker_progress(w);
    return OK;
}

/* The lane may have gone back: its versions mean other values now. */
void node_copy_forget_rows(struct worker_lane *k)
{
    struct node_worker *w = k->worker;

    for (uint32_t id = 0; id < TABLE_COUNT_MAX; id++) {
        struct node_worker_table *t = w->tables[id];

        for (uint32_t row = 0; t != NULL && t->cache != NULL && row < t->schema.rows; row++) {
            if (node_worker_lane_of(w, (uint16_t)id, table_row_chunk(&t->schema, row)) == k) {
                t->cache_version[row] = 0;
            }
        }
    }
}

/* The lane counts us as new: it will say anew what its chunks are, and what is cached of them may
 * have updates in it that do not count. The copy has only what the lane had closed: until it is
 * replaced, the @same process of the lane may be restored from it if it dies. */
void node_copy_reset(struct worker_lane *k, bool same)
{
    struct node_worker *w = k->worker;

    for (uint32_t i = 0; !same && w->copy != NULL && i < w->copies_count; i++) {
        if (copy_is_on(k, i)) {
            w->copies[i].version = 0;
        }
    }
    node_copy_forget_rows(k);
}

const float *node_worker_chunk(const struct node_worker *w, uint16_t table, uint32_t chunk,
                               uint64_t *version_out)
{
    uint32_t index = copy_find(w, table, chunk);

    if (index == TABLE_STORE_NONE) {
        return NULL;
    }
    *version_out = w->copies[index].version;
    return table_store_values(w->copy, index);
}
