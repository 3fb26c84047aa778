/* What each type of frame does to a lane. */

#include "node/floats.h"
#include "node/lane/state.h"
#include "obs/metric.h"
#include "table/kernel.h"
#include "table/rows.h"
#include "wire/clock.h"
#include "wire/pull.h"
#include "wire/push.h"
#include "wire/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Out of buffers: look again in a moment. */
static enum err node_take_later(struct node_session *s)
{
    loop_timer_start_in(&s->lane->retry, (int64_t)NODE_RETRY_MS * 1000000);
    return ERR_AGAIN;
}

static enum err node_take_refused(struct node_session *s, const struct wire_header *header,
                                  int reason, uint64_t open_clock)
{
    if (node_deliver_late(s, header, reason, open_clock) != OK) {
        return node_take_later(s);
    }
    node_lane_trace(s->lane, "refuses a frame of worker %u for clock %" PRIu64 ": %s", s->rank,
                    header->clock, wire_late_name((enum wire_late)reason));
    if (s->lane->ack != NODE_ACK_TAKEN && s->notices > 0 &&
        node_claim_room(s, header->sequence) == OK) {
        /* If this lane dies before the notice arrives, the worker must send the frame again. */
        node_claim_make(s, header->sequence, TABLE_STORE_NONE, header->clock, &s->refused);
    } else {
        net_peer_ack(s->peer, header->sequence);
    }
    return OK;
}

/* It is no member any more. */
static void node_take_out(struct node_session *s)
{
    if (s->rank != NODE_RANK_ANY && s->lane->by_rank[s->rank] == s) {
        node_exec_leave(s->lane, s->rank);
    }
    s->state = NODE_OUT;
    s->told = true;
}

/* A clock that no correct worker can have reached: it is out. */
static enum err node_take_ahead(struct node_session *s, const struct wire_header *header,
                                uint64_t allowed)
{
    struct node_lane *l = s->lane;
    char text[LIMIT_REASON_BYTES];

    (void)snprintf(text, sizeof(text),
                   "it sent %s of clock %" PRIu64 ", and %s allows clock %" PRIu64
                   " now, or %d more that wait",
                   header->type == WIRE_CLOCK ? "the end" : "a frame", header->clock,
                   l->config.site.sync.policy->name, allowed, (int)LIMIT_CLOCKS_AHEAD);
    (void)node_take_refused(s, header, WIRE_LATE_AHEAD, allowed);
    node_take_out(s);
    net_peer_expel(s->peer, NET_EXPEL_AHEAD, text);
    return OK;
}

/* What the barrier refused. */
static enum err node_take_verdict(struct node_session *s, const struct wire_header *header,
                                  const struct sync_action *verdict)
{
    if (verdict->reason == SYNC_AHEAD) {
        return node_take_ahead(s, header, verdict->clock);
    }
    return node_take_refused(s, header,
                             verdict->reason == SYNC_LATE ? WIRE_LATE_LATE : WIRE_LATE_NOT_MEMBER,
                             verdict->clock);
}

/* A frame that cannot be what it says it is. The worker is told which clock would count. */
static enum err node_take_wrong(struct node_session *s, const struct wire_header *header,
                                uint32_t index, int reason)
{
    return node_take_refused(s, header, reason, sync_open_clock(&s->lane->sync, index, s->rank));
}

/* Offer an update to the barrier and settle what becomes of the frame. */
static enum err node_take_update(struct node_session *s, const struct wire_header *header,
                                 uint32_t index, struct node_payload *p)
{
    struct node_lane *l = s->lane;
    struct sync_event event = {
        .type = SYNC_PUSH, .member = s->rank, .chunk = index, .clock = header->clock};
    struct sync_action verdict;
    enum err rc;

    p->session = s;
    p->sequence = header->sequence;
    if (node_claim_room(s, header->sequence) != OK) {
        return node_take_later(s);
    }
    rc = node_exec(l, &event, p, &verdict);
    if (rc != OK) {
        return rc;
    }
    switch (verdict.type) {
    case SYNC_TAKE:
        return OK;
    case SYNC_DROP:
        obs_counter_add(l->counters.duplicates, 1);
        node_claim_acknowledge(s, header->sequence, index, header->clock);
        return OK;
    case SYNC_REFUSE:
        return node_take_verdict(s, header, &verdict);
    default:
        return ERR_AGAIN;
    }
}

/* A buffer that holds just the chunk's floats. */
static enum err node_take_own(struct node_lane *l, const struct node_item *item, uint32_t bytes,
                              struct buf **own_out)
{
    enum err rc = OK;

    if (item->held != NULL) {
        *own_out = buf_ref(item->held);
    } else {
        rc = net_frame_keep(item->frame, l->pool, own_out);
    }
    if (rc == OK) {
        buf_truncate(*own_out, bytes);
    }
    return rc;
}

/* An update that was sparsified. One that is multiplied by its weight is unpacked first. */
static enum err node_take_packed(struct node_session *s, const struct node_item *item,
                                 const struct wire_push *push, uint32_t index)
{
    struct node_lane *l = s->lane;
    const struct table_schema *schema = table_store_schema(l->tables, push->chunk.table);
    struct table_accum *a = &l->chunks[index]->accum;
    uint32_t elements = table_store_elements(l->tables, index);
    struct node_payload p = {.weight = push->chunk.weight};
    struct codec_plain plain;
    enum err rc;

    if (l->sparsifier.coder == NULL ||
        node_sparsify_decode(&l->sparsifier, push->chunk.codec, push->chunk.payload,
                             push->chunk.payload_bytes, elements, &plain) != OK) {
        bool finite = l->sparsifier.coder == NULL || !codec_was_not_finite(l->sparsifier.coder);

        return node_take_wrong(s, item->header, index,
                               finite ? WIRE_LATE_SHAPE : WIRE_LATE_NOT_FINITE);
    }
    if (table_accum_prepare(a, schema, push->chunk.chunk, l->pool, false) != OK) {
        return node_take_later(s);
    }
    if (schema->combine == TABLE_SAMPLES) {
        memset(l->scratch, 0, elements * sizeof(float));
        (void)codec_add(plain.codec, plain.payload, elements, l->scratch);
        p.values = l->scratch;
    } else {
        p.packed = &plain;
    }
    rc = node_take_update(s, item->header, index, &p);
    if (a->weight == 0) {
        table_accum_clear(a); /* Not taken: there is no sum yet. */
    }
    return rc;
}

static enum err node_take_push(struct node_session *s, const struct node_item *item)
{
    struct node_lane *l = s->lane;
    struct node_payload p = {0};
    struct wire_push push;
    uint32_t index;
    enum err rc = wire_push_decode(item->header, item->body, item->header->body_bytes, &push);

    if (rc != OK) {
        return ERR_PEER;
    }
    index = table_store_find(l->tables, push.chunk.table, push.chunk.chunk);
    if (index != TABLE_STORE_NONE && push.chunk.codec != WIRE_CODEC_F32) {
        return node_take_packed(s, item, &push, index);
    }
    if (index == TABLE_STORE_NONE ||
        push.chunk.payload_bytes != table_store_elements(l->tables, index) * 4) {
        return node_take_wrong(s, item->header, index, WIRE_LATE_SHAPE);
    }
    p.values = node_floats(push.chunk.payload, push.chunk.payload_bytes, l->scratch);
    p.weight = push.chunk.weight;
    if (!table_finite(p.values, push.chunk.payload_bytes / 4)) {
        return node_take_wrong(s, item->header, index, WIRE_LATE_NOT_FINITE);
    }
    if (l->chunks[index]->accum.sum == NULL) {
        rc = node_take_own(l, item, push.chunk.payload_bytes, &p.own);
        if (rc != OK) {
            return node_take_later(s);
        }
    }
    rc = node_take_update(s, item->header, index, &p);
    if (p.own != NULL) {
        /* Not taken after all: a held buffer must show its whole body again. */
        (void)buf_append(p.own, item->header->body_bytes - push.chunk.payload_bytes);
        buf_unref(p.own);
    }
    return rc;
}

static enum err node_take_rows_push(struct node_session *s, const struct node_item *item)
{
    struct node_lane *l = s->lane;
    const struct table_schema *schema;
    struct node_payload p = {0};
    struct wire_rows rows;
    uint32_t index;
    enum err rc = wire_rows_decode(item->header, item->body, item->header->body_bytes, &rows);

    if (rc != OK) {
        return ERR_PEER;
    }
    index = table_store_find(l->tables, rows.table, item->header->chunk);
    schema = table_store_schema(l->tables, rows.table);
    if (index == TABLE_STORE_NONE || rows.codec != WIRE_CODEC_F32 || rows.width != schema->width ||
        !table_has_rows(schema) ||
        !table_rows_valid(schema, item->header->chunk, rows.rows, rows.count)) {
        return node_take_wrong(s, item->header, index, WIRE_LATE_SHAPE);
    }
    p.values = node_floats(rows.values, rows.values_bytes, l->scratch);
    p.rows = rows.rows;
    p.row_count = rows.count;
    p.weight = rows.weight;
    if (!table_finite(p.values, rows.count * rows.width)) {
        return node_take_wrong(s, item->header, index, WIRE_LATE_NOT_FINITE);
    }
    if (table_accum_prepare(&l->chunks[index]->accum, schema, item->header->chunk, l->pool,
                            false) != OK) {
        return node_take_later(s);
    }
    rc = node_take_update(s, item->header, index, &p);
    if (l->chunks[index]->accum.weight == 0) {
        table_accum_clear(&l->chunks[index]->accum); /* Not taken: there is no sum yet. */
    }
    return rc;
}

/* The end of a clock counts when it has come on every stream. */
static enum err node_take_clock(struct node_session *s, const struct node_item *item)
{
    struct node_lane *l = s->lane;
    struct sync_event event = {.type = SYNC_CLOCK, .member = s->rank, .clock = UINT64_MAX};
    struct sync_action verdict;
    struct wire_clock clock;
    enum err rc = wire_clock_decode(item->header, item->body, item->header->body_bytes, &clock);

    if (rc != OK || clock.stream >= net_peer_streams(s->peer)) {
        return ERR_PEER;
    }
    if (node_claim_room(s, item->header->sequence) != OK) {
        return node_take_later(s);
    }
    if (s->clock_seen[clock.stream] < clock.clock) {
        s->clock_seen[clock.stream] = clock.clock;
    }
    for (uint16_t i = 0; i < net_peer_streams(s->peer); i++) {
        event.clock = s->clock_seen[i] < event.clock ? s->clock_seen[i] : event.clock;
    }
    rc = event.clock == 0 ? OK : node_exec(l, &event, NULL, &verdict);
    if (rc != OK) {
        return rc;
    }
    if (event.clock != 0 && verdict.type == SYNC_REFUSE) {
        return node_take_verdict(s, item->header, &verdict);
    }
    if (event.clock != 0 && verdict.type != SYNC_DROP && event.clock > l->counted[s->rank].clock) {
        l->counted[s->rank].clock = event.clock;
    }
    if (l->ack == NODE_ACK_STORED && clock.clock > l->saved_clock) {
        node_claim_make(s, item->header->sequence, TABLE_STORE_NONE, clock.clock, &l->clock_claims);
    } else {
        net_peer_ack(s->peer, item->header->sequence);
    }
    return OK;
}

static enum err node_take_may_read(struct node_session *s, const struct wire_header *header,
                                   uint32_t index, bool *refused_out)
{
    struct sync_event event = {
        .type = SYNC_READ, .member = s->rank, .chunk = index, .clock = header->clock};
    struct sync_action verdict;
    enum err rc = node_exec(s->lane, &event, NULL, &verdict);

    *refused_out = rc == OK && verdict.type == SYNC_REFUSE;
    if (rc == OK && verdict.type == SYNC_WAIT) {
        rc = ERR_AGAIN;
    }
    return *refused_out ? node_take_verdict(s, header, &verdict) : rc;
}

/* Do other sites allow it too? Of rows, only those that are asked for count. */
static bool node_take_others_allow(struct node_session *s, const struct wire_header *header,
                                   uint32_t index, const struct table_schema *schema,
                                   const struct wire_rows *rows)
{
    struct node_lane *l = s->lane;
    uint32_t elements = table_store_elements(l->tables, index);
    bool allow = true;

    if (l->mirror == NULL) {
        return true;
    }
    if (rows == NULL || !node_mirror_has_barrier(l->mirror, index)) {
        return node_mirror_may_read(l->mirror, &s->gate, header->clock, index, 0,
                                    rows == NULL ? elements : 0);
    }
    for (uint32_t i = 0; i < rows->count && allow; i++) {
        uint32_t row = table_rows_get(rows->rows, i) - table_rows_per_chunk(schema) * header->chunk;

        allow = node_mirror_may_read(l->mirror, &s->gate, header->clock, index, row * schema->width,
                                     schema->width);
    }
    return allow;
}

static bool node_take_others_witnessed(struct node_session *s, const struct wire_header *header,
                                       uint32_t index, const struct table_schema *schema,
                                       const struct wire_rows *rows)
{
    const struct node_lane_config *config = &s->lane->config;
    bool allow = node_take_others_allow(s, header, index, schema, rows);

    if (allow && s->lane->mirror != NULL && config->witness != NULL &&
        config->witness->allowed != NULL) {
        config->witness->allowed(table_store_table(s->lane->tables, index),
                                 table_store_chunk(s->lane->tables, index), header->clock,
                                 config->user);
    }
    return allow;
}

static enum err node_take_answer(struct node_session *s, struct buf *frame)
{
    enum err rc = net_peer_send_sealed(s->peer, NET_DATA, frame);

    if (rc != OK) {
        buf_unref(frame);
    }
    return rc == ERR_NOMEM ? node_take_later(s) : rc;
}

static enum err node_take_pull_one(struct node_session *s, const struct wire_header *header,
                                   uint32_t index, bool *refused_out)
{
    struct node_lane *l = s->lane;
    struct wire_chunk values;
    struct buf *frame;
    enum err rc = node_take_may_read(s, header, index, refused_out);

    if (rc != OK || *refused_out) {
        return rc;
    }
    if (!node_take_others_witnessed(s, header, index, NULL, NULL)) {
        return ERR_AGAIN;
    }
    values = (struct wire_chunk){.table = table_store_table(l->tables, index),
                                 .chunk = table_store_chunk(l->tables, index),
                                 .clock = sync_chunk_version(&l->sync, index),
                                 .payload_bytes = table_store_elements(l->tables, index) * 4,
                                 .payload = (const uint8_t *)table_store_values(l->tables, index)};
    if (!net_peer_has_room(s->peer, values.payload_bytes)) {
        return ERR_AGAIN;
    }
    if (wire_values_encode(l->pool, &values, &frame) != OK) {
        return node_take_later(s);
    }
    return node_take_answer(s, frame);
}

static enum err node_take_pull(struct node_session *s, const struct node_item *item)
{
    struct node_lane *l = s->lane;
    struct wire_pull pull;
    enum err rc = wire_pull_decode(item->header, item->body, item->header->body_bytes, &pull);

    if (rc != OK) {
        return ERR_PEER;
    }
    for (uint32_t i = *item->cursor; i < pull.count; i++) {
        uint32_t index = table_store_find(l->tables, pull.table, wire_pull_chunk(&pull, i));
        bool refused;

        if (index == TABLE_STORE_NONE) {
            return node_take_wrong(s, item->header, index, WIRE_LATE_SHAPE);
        }
        rc = node_take_pull_one(s, item->header, index, &refused);
        if (rc != OK || refused) {
            *item->cursor = rc == OK ? 0 : i;
            return rc;
        }
    }
    *item->cursor = 0;
    net_peer_ack(s->peer, item->header->sequence);
    return OK;
}

static enum err node_take_rows_pull(struct node_session *s, const struct node_item *item)
{
    struct node_lane *l = s->lane;
    const struct table_schema *schema;
    struct wire_rows rows;
    struct buf *frame;
    bool refused;
    uint32_t index;
    enum err rc = wire_rows_decode(item->header, item->body, item->header->body_bytes, &rows);

    if (rc != OK) {
        return ERR_PEER;
    }
    index = table_store_find(l->tables, rows.table, item->header->chunk);
    schema = table_store_schema(l->tables, rows.table);
    if (index == TABLE_STORE_NONE || rows.width != schema->width || !table_has_rows(schema) ||
        !table_rows_valid(schema, item->header->chunk, rows.rows, rows.count)) {
        return node_take_wrong(s, item->header, index, WIRE_LATE_SHAPE);
    }
    rc = node_take_may_read(s, item->header, index, &refused);
    if (rc != OK || refused) {
        return rc;
    }
    if (!node_take_others_witnessed(s, item->header, index, schema, &rows)) {
        return ERR_AGAIN;
    }
    if (!net_peer_has_room(s->peer, rows.count * (rows.width + 1u) * 4 + 128)) {
        return ERR_AGAIN;
    }
    table_rows_gather(schema, item->header->chunk, rows.rows, rows.count,
                      table_store_values(l->tables, index), l->scratch);
    rows.clock = sync_chunk_version(&l->sync, index);
    rows.values = (const uint8_t *)l->scratch;
    rows.values_bytes = rows.count * rows.width * 4;
    if (wire_rows_encode(l->pool, WIRE_ROWS_VALUES, &rows, &frame) != OK) {
        return node_take_later(s);
    }
    rc = node_take_answer(s, frame);
    if (rc == OK) {
        net_peer_ack(s->peer, item->header->sequence);
    }
    return rc;
}

enum err node_take_item(struct node_session *s, const struct node_item *item)
{
    if (!node_session_is_worker(s)) {
        return ERR_PEER;
    }
    if (item->header->sequence < s->since) {
        /* Sent before it asked to count as new: an update of a later clock than ours would wait for
         * clocks that nobody is going to have. The worker knows. */
        obs_counter_add(s->lane->counters.refused[WIRE_LATE_NOT_MEMBER], 1);
        node_lane_trace(s->lane, "drops a frame that worker %u sent before it asked to join",
                        s->rank);
        net_peer_ack(s->peer, item->header->sequence);
        return OK;
    }
    switch (item->header->type) {
    case WIRE_PUSH:
        return node_take_push(s, item);
    case WIRE_ROWS_PUSH:
        return node_take_rows_push(s, item);
    case WIRE_CLOCK:
        return node_take_clock(s, item);
    case WIRE_PULL:
        return node_take_pull(s, item);
    case WIRE_ROWS_PULL:
        return node_take_rows_pull(s, item);
    default:
        return ERR_PEER;
    }
}
