/* Out of the lane: sums to everybody, whole chunks to those who fell behind, and where we are.
 *
 * A session that has no room for a sum is not waited for and nothing is queued for it: the chunk is
 * marked, and it gets the chunk whole when there is room there, and here (node/lane/room.c). So
 * what a slow worker costs is one bit per chunk, however slow it is. */

#include "base/mem.h"
#include "node/lane/state.h"
#include "obs/metric.h"
#include "wire/broadcast.h"
#include "wire/clock.h"
#include "wire/snapshot.h"

#include <string.h>

/* There was no buffer: look again in a moment. */
static void node_deliver_later(struct node_lane *l)
{
    if (!loop_timer_active(&l->retry)) {
        loop_timer_start_in(&l->retry, (int64_t)NODE_RETRY_MS * 1000000);
    }
}

bool node_deliver_wanted(const struct node_session *s)
{
    return s->state == NODE_IN && s->lane->config.site.delivery == NODE_BROADCAST;
}

void node_deliver_mark(struct node_session *s, uint32_t chunk, bool dirty)
{
    uint64_t bit = UINT64_C(1) << (chunk % 64);
    bool before = node_dirty(s, chunk);

    CHECK(chunk / 64 < s->dirty_words);
    if (dirty && !before) {
        s->dirty[chunk / 64] |= bit;
        s->dirty_count++;
    } else if (!dirty && before) {
        s->dirty[chunk / 64] &= ~bit;
        s->dirty_count--;
    }
}

void node_deliver_all_dirty(struct node_session *s, bool unchanged)
{
    struct node_lane *l = s->lane;

    for (uint32_t c = 0; c < l->chunks_count; c++) {
        node_deliver_mark(s, c,
                          (unchanged || l->chunks[c]->changed) &&
                              node_wants(s, table_store_table(l->tables, c)));
    }
}

/* Whose updates are in the chunk as closed, in the order of ranks: also of those who have left. One
 * who does not know yet that it was left out may be the first to come back after a restart. */
uint32_t node_deliver_members(struct node_lane *l, uint32_t chunk, struct wire_member *members)
{
    uint32_t count = 0;

    for (uint32_t rank = 0; rank < SYNC_MEMBERS_MAX; rank++) {
        if (sync_is_member(&l->sync, rank) || sync_contained(&l->sync, chunk, rank) > 0) {
            members[count++] = (struct wire_member){
                .rank = rank, .clock = (uint32_t)sync_contained(&l->sync, chunk, rank)};
        }
    }
    return count;
}

void node_deliver_to_all(struct node_lane *l, uint32_t chunk, const struct wire_header *header,
                         struct buf *body)
{
    bool spare = node_room_spare(l);
    uint32_t back = node_tree_on(l) ? node_tree_sent(l, chunk, header->clock) : 0;

    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);
        struct wire_header mine = *header;

        mine.epoch = back;
        if (!node_deliver_wanted(s) || !node_tree_direct(s) || !node_wants(s, header->table) ||
            node_dirty(s, chunk)) {
            continue;
        }
        if (!spare) {
            node_deliver_mark(s, chunk, true);
            node_deliver_later(l);
        } else if (!net_peer_has_room(s->peer, header->body_bytes)) {
            node_deliver_mark(s, chunk, true); /* It says when there is room. */
        } else if (net_peer_send(s->peer, NET_DATA, &mine, buf_ref(body)) != OK) {
            buf_unref(body);
            node_deliver_mark(s, chunk, true);
        } else {
            obs_counter_add(l->counters.broadcasts, 1);
        }
    }
}

void node_deliver_all_marked(struct node_lane *l, uint32_t chunk, uint64_t version)
{
    if (node_tree_on(l)) {
        (void)node_tree_sent(l, chunk, version);
    }
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (node_deliver_wanted(s) && node_wants(s, table_store_table(l->tables, chunk))) {
            node_deliver_mark(s, chunk, true);
        }
    }
    node_deliver_later(l);
}

static void node_deliver_sum(struct node_lane *l, uint32_t chunk, uint64_t version)
{
    struct table_accum *a = &l->chunks[chunk]->accum;
    struct wire_member members[SYNC_MEMBERS_MAX];
    struct wire_broadcast b = {
        .chunk = {.table = table_store_table(l->tables, chunk),
                  .chunk = table_store_chunk(l->tables, chunk),
                  .clock = version,
                  .weight = a->weight,
                  .payload_bytes = buf_size(a->sum)},
        .member_count = node_deliver_members(l, chunk, members),
        .members = members,
    };
    struct wire_header header;
    enum wire_reason reason;

    wire_broadcast_seal(a->sum, &b);
    CHECK(wire_header_decode(buf_bytes(a->sum), &header, &reason) == OK);
    buf_trim_front(a->sum, WIRE_HEADER_BYTES);
    node_deliver_to_all(l, chunk, &header, a->sum);
}

/* Apply the sum and say so to the workers. False: there was nothing. */
static bool node_deliver_apply(struct node_lane *l, uint32_t chunk, uint64_t version)
{
    struct node_chunk *c = l->chunks[chunk];
    uint32_t number = table_store_chunk(l->tables, chunk);
    const struct table_schema *schema =
        table_store_schema(l->tables, table_store_table(l->tables, chunk));
    bool broadcast = l->config.site.delivery == NODE_BROADCAST;
    float share = node_mirror_share(l->mirror, schema);

    if (broadcast && l->config.site.broadcast.on) {
        return node_deliver_sparsified(l, chunk, version);
    }
    if (c->accum.sum == NULL) {
        return false;
    }
    if (broadcast && share != 1.0F) {
        table_accum_settle(&c->accum, schema, number, share); /* Workers know of no shares. */
        share = 1.0F;
    } else if (broadcast) {
        table_accum_densify(&c->accum, schema, number); /* Before: both ends apply the same. */
    }
    obs_counter_add(l->counters.nonfinite[NODE_IN_VALUES],
                    table_accum_apply_tracked(&c->accum, schema, number, version, share,
                                              table_store_values(l->tables, chunk),
                                              table_store_state(l->tables, chunk),
                                              node_mirror_held(l->mirror, chunk)));
    if (broadcast) {
        node_deliver_sum(l, chunk, version);
    }
    return true;
}

void node_deliver_close(struct node_lane *l, uint32_t chunk, uint64_t version)
{
    struct node_chunk *c = l->chunks[chunk];
    bool fresh = c->accum.sum != NULL;

    if (!node_deliver_apply(l, chunk, version)) {
        return;
    }
    obs_counter_add(l->counters.rounds, fresh);
    c->changed = true;
    if (l->config.witness != NULL && l->config.witness->closed != NULL) {
        l->config.witness->closed(table_store_table(l->tables, chunk),
                                  table_store_chunk(l->tables, chunk), version,
                                  table_store_values(l->tables, chunk),
                                  table_store_elements(l->tables, chunk), l->config.user);
    }
    table_accum_clear(&c->accum);
    l->sums_count -= fresh;
    if (l->mirror != NULL) {
        node_mirror_closed(l->mirror, chunk, version);
    }
}

/* A plane of a chunk as it is now. */
static enum err node_deliver_plane(struct node_session *s, uint32_t chunk, const float *floats,
                                   uint16_t plane)
{
    struct node_lane *l = s->lane;
    struct wire_member members[SYNC_MEMBERS_MAX];
    uint64_t version = sync_chunk_version(&l->sync, chunk);
    struct wire_snapshot_chunk out = {
        .chunk = {.table = (uint16_t)(table_store_table(l->tables, chunk) | plane),
                  .chunk = table_store_chunk(l->tables, chunk),
                  .clock = version,
                  .payload = (const uint8_t *)floats,
                  .payload_bytes = table_store_elements(l->tables, chunk) * 4},
        .member_count = node_deliver_members(l, chunk, members),
        .members = members,
    };
    struct buf *frame;
    enum err rc = wire_snapshot_chunk_encode(l->pool, &out, &frame);

    if (rc == OK) {
        rc = net_peer_send_sealed(s->peer, NET_DATA, frame);
        if (rc != OK) {
            buf_unref(frame);
        }
    }
    return rc;
}

static enum err node_deliver_chunk(struct node_session *s, uint32_t chunk)
{
    struct node_lane *l = s->lane;
    const float *state = table_store_state(l->tables, chunk);
    enum err rc = OK;

    if (!net_peer_has_room(s->peer, 2 * NODE_SUM_BYTES) || !node_room_spare(l)) {
        return ERR_AGAIN;
    }
    if (state != NULL) {
        rc = node_deliver_plane(s, chunk, state, WIRE_TABLE_PLANE);
    }
    if (rc == OK) {
        rc = node_deliver_plane(s, chunk, table_store_values(l->tables, chunk), 0);
    }
    if (rc == OK) {
        obs_counter_add(l->counters.snapshots, 1);
    }
    return rc;
}

/* On every stream, behind all that went before on it. */
static enum err node_deliver_where(struct node_session *s)
{
    struct node_lane *l = s->lane;
    struct wire_clock where = {.clock = sync_version(&l->sync), .view = l->view};

    node_copied_members(l, where.members);
    for (uint16_t i = 0; i < net_peer_streams(s->peer); i++) {
        struct buf *frame;
        enum err rc;

        where.stream = i;
        rc = net_peer_has_room(s->peer, WIRE_ADVANCED_BODY_BYTES_MAX)
                 ? wire_clock_encode(l->pool, WIRE_ADVANCED, &where, &frame)
                 : ERR_AGAIN;
        if (rc == OK) {
            rc = net_peer_send_sealed(s->peer, NET_DATA, frame);
            if (rc != OK) {
                buf_unref(frame);
            }
        }
        if (rc != OK) {
            return rc; /* All of them again, later: a second one changes nothing. */
        }
    }
    return OK;
}

void node_deliver_flush(struct node_session *s)
{
    struct node_lane *l = s->lane;
    enum err rc = OK;

    if (!node_deliver_wanted(s) || l->restoring) {
        return;
    }
    node_tree_flush(s);
    for (uint32_t w = 0; s->dirty_count > 0 && w < s->dirty_words && rc == OK; w++) {
        while (s->dirty[w] != 0 && rc == OK) {
            uint32_t chunk = w * 64 + (uint32_t)__builtin_ctzll(s->dirty[w]);

            rc = node_deliver_chunk(s, chunk);
            if (rc == OK) {
                node_deliver_mark(s, chunk, false);
            }
        }
    }
    if (rc == OK && s->advance_due && l->mirror != NULL &&
        !node_mirror_may_read(l->mirror, &s->gate, sync_version(&l->sync) + 1, NODE_MIRROR_ALL, 0,
                              0)) {
        return; /* It is told when the other sites allow it. */
    }
    if (rc == OK && s->advance_due) {
        rc = node_tree_due(s);
    }
    if (rc == OK && s->advance_due) {
        rc = node_deliver_where(s);
        s->advance_due = rc != OK;
    }
    if (rc != OK && net_peer_has_room(s->peer, 2 * NODE_SUM_BYTES)) {
        node_deliver_later(l);
    }
}

void node_deliver_advance(struct node_lane *l)
{
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (node_deliver_wanted(s)) {
            s->advance_due = true;
            node_deliver_flush(s);
        }
    }
}

/* A worker that does not know that it is out would wait for ever: without room for the notice, its
 * frame is refused later. */
enum err node_deliver_late(struct node_session *s, const struct wire_header *about, int reason,
                           uint64_t open_clock)
{
    struct node_lane *l = s->lane;
    struct wire_late_notice notice = {.table = about->table,
                                      .chunk = about->chunk,
                                      .clock = about->clock,
                                      .reason = (enum wire_late)reason,
                                      .open_clock = open_clock};
    bool member = reason != WIRE_LATE_NOT_MEMBER;
    struct buf *frame;
    enum err rc = OK;

    if (member || !s->told) {
        rc = wire_late_encode(l->pool, &notice, &frame);
        if (rc == OK) {
            rc = net_peer_send_sealed(s->peer, NET_DATA, frame);
            if (rc != OK) {
                buf_unref(frame);
            }
            s->notices += rc == OK;
        }
    }
    if (rc == OK) {
        obs_counter_add(l->counters.refused[reason], 1);
        s->told = s->told || !member;
    }
    return rc;
}

/* The worker knows what was refused: now it may forget it. */
void node_deliver_late_acked(struct node_session *s)
{
    if (s->notices > 0 && --s->notices == 0) {
        node_claim_settle(&s->refused);
    }
}
