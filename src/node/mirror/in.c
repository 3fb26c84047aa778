/* Into the lane, from the other sites: pieces, marks, reports, barriers. */

#include "base/mem.h"
#include "node/floats.h"
#include "node/mirror/state.h"
#include "obs/metric.h"
#include "wire/delta.h"

#include <string.h>

/* Ranges of a frame as the machine knows them. ERR_PEER: a site that nobody knows here. */
static enum err in_ranges(struct node_mirror *r, const void *ranges, uint32_t count,
                          struct mirror_range *out)
{
    for (uint32_t i = 0; i < count; i++) {
        struct wire_range range = wire_range(ranges, i);
        const struct node_remote_site *f = node_remote_of(&r->remotes, range.site);

        if (f == NULL && range.site != r->remotes.id) {
            return ERR_PEER;
        }
        out[i] = (struct mirror_range){
            .site = f == NULL ? MIRROR_SELF : f->index, .prev = range.prev, .number = range.number};
    }
    return OK;
}

/* Our index of a chunk that another site numbers its own way; TABLE_STORE_NONE: not here (yet). */
static uint32_t in_index(const struct node_mirror *r, const struct node_remote_site *f,
                         uint16_t table, uint32_t chunk)
{
    int16_t ours = table < TABLE_COUNT_MAX ? f->tables[table] : -1;

    return ours < 0 ? TABLE_STORE_NONE : table_store_find(r->lane->tables, (uint16_t)ours, chunk);
}

/* Add it, and tell our workers. */
static void in_apply(struct node_mirror *r, uint32_t index, const struct wire_delta *delta)
{
    struct node_lane *l = r->lane;
    float *values = table_store_values(l->tables, index);
    uint32_t elements = table_store_elements(l->tables, index);

    obs_counter_add(l->counters.nonfinite[NODE_IN_DELTAS],
                    codec_add(delta->chunk.codec, delta->chunk.payload, elements, values));
    l->chunks[index]->changed = true;
    r->stats.pieces_taken++;
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (s->state == NODE_IN && l->config.site.delivery == NODE_BROADCAST &&
            node_wants(s, table_store_table(l->tables, index))) {
            node_deliver_mark(s, index, true);
        }
    }
    if (selective_look(&r->selective, &r->m, index)) {
        node_mirror_wake(r);
    }
    if (l->config.witness != NULL && l->config.witness->mirrored != NULL) {
        l->config.witness->mirrored(table_store_table(l->tables, index),
                                    table_store_chunk(l->tables, index), values, elements,
                                    l->config.user);
    }
}

static enum mirror_verdict in_judge(struct node_mirror *r, const struct node_remote_site *f,
                                    uint32_t index, const struct wire_delta *delta,
                                    const struct mirror_range *ranges, bool held)
{
    bool straight = delta->range_count == 1 && ranges[0].site == f->index;
    enum mirror_verdict verdict =
        mirror_judge(&r->m, index, ranges, delta->range_count, held, straight);

    switch (verdict) {
    case MIRROR_TAKE:
        node_mirror_keep_took(r, table_store_table(r->lane->tables, index),
                              table_store_chunk(r->lane->tables, index), delta);
        in_apply(r, index, delta);
        break;
    case MIRROR_DROP:
        r->stats.pieces_dropped++;
        break;
    case MIRROR_HOLD:
        r->stats.pieces_held += !held;
        break;
    case MIRROR_REFUSE:
        r->stats.pieces_refused++;
        break;
    }
    return verdict;
}

/* Held pieces. */

static void early_free(struct node_mirror *r, struct node_early *e)
{
    list_remove(&e->link);
    r->early_count--;
    buf_unref(e->body);
    mem_free(e);
}

void node_mirror_early_drop(struct node_mirror *r)
{
    struct list *link;

    while ((link = list_first(&r->early)) != NULL) {
        early_free(r, LIST_ENTRY(link, struct node_early, link));
    }
}

/* True if it need not wait any longer. */
static bool early_look(struct node_mirror *r, struct node_early *e)
{
    struct mirror_range ranges[WIRE_RANGES_MAX];
    struct wire_delta delta;
    uint32_t index;

    CHECK(wire_delta_decode(&e->header, buf_bytes(e->body), buf_size(e->body), &delta) == OK);
    CHECK(in_ranges(r, delta.ranges, delta.range_count, ranges) == OK);
    index = in_index(r, e->remote, e->header.table, e->header.chunk);
    if (index == TABLE_STORE_NONE || node_mirror_keep_room(r, delta.chunk.payload_bytes) != OK) {
        return false;
    }
    if (!codec_payload_valid(delta.chunk.codec, delta.chunk.payload, delta.chunk.payload_bytes,
                             table_store_elements(r->lane->tables, index))) {
        mirror_lose(&r->m, ranges, delta.range_count);
        return true;
    }
    return in_judge(r, e->remote, index, &delta, ranges, true) != MIRROR_HOLD;
}

void node_mirror_early(struct node_mirror *r)
{
    bool moved = true;

    while (moved) {
        struct list *next;

        moved = false;
        for (struct list *link = r->early.next; link != &r->early; link = next) {
            struct node_early *e = LIST_ENTRY(link, struct node_early, link);

            next = link->next;
            if (early_look(r, e)) {
                early_free(r, e);
                moved = true;
            }
        }
    }
}

static void in_hold(struct node_mirror *r, struct node_remote_site *f,
                    const struct net_frame *frame, const struct mirror_range *ranges,
                    uint32_t count)
{
    struct node_early *e =
        r->early_count < NODE_EARLY_MAX && node_room_spare(r->lane) ? mem_zalloc(sizeof(*e)) : NULL;

    if (e == NULL || net_frame_keep(frame, r->lane->pool, &e->body) != OK) {
        mem_free(e);
        mirror_lose(&r->m, ranges, count);
        return;
    }
    e->remote = f;
    e->header = frame->header;
    list_init(&e->link);
    list_push_back(&r->early, &e->link);
    r->early_count++;
}

/* Passing on. */

struct in_passing {
    struct node_parcel *parcel;
};

static void *in_keep(void *user)
{
    struct in_passing *p = user;

    p->parcel->refs++;
    return p->parcel;
}

/* What comes here to be passed on may have to wait before it goes. */
static void in_pass_announce(struct node_mirror *r, const struct node_remote_site *f,
                             uint32_t groups, const struct node_parcel *parcel)
{
    uint64_t hops = mirror_next_hops(&r->m, f->index, groups);

    for (uint32_t i = 1; i < r->remotes.count; i++) {
        struct node_remote_site *to = &r->remotes.list[i];

        if ((hops >> i & 1) != 0 && to->up && node_drain_of(to)->raises) {
            node_mirror_announce(r, to, parcel, mirror_hop_groups(&r->m, i));
        }
    }
}

static void in_pass(struct node_mirror *r, struct node_remote_site *f,
                    const struct net_frame *frame, uint32_t index, const struct wire_delta *delta,
                    const struct mirror_range *ranges)
{
    struct wire_header header = frame->header;
    struct in_passing passing = {0};
    struct buf *body = NULL;

    header.table = table_store_table(r->lane->tables, index);
    if (net_frame_keep(frame, r->lane->pool, &body) == OK) {
        passing.parcel = node_parcel_make(&header, body, delta->chunk.payload_bytes);
    }
    if (passing.parcel == NULL) {
        buf_unref(body);
        mirror_pass_failed(&r->m, delta->chunk.epoch, ranges, delta->range_count);
        return; /* Their sites notice, and send directly. */
    }
    if (mirror_pass(&r->m, f->index, index, delta->chunk.clock, delta->chunk.epoch, ranges,
                    delta->range_count, buf_size(body), in_keep, &passing) != OK) {
        LOG_WRN("node", "no memory to pass on what came from site %s", f->site.name);
    }
    r->passed_bytes += buf_size(body);
    in_pass_announce(r, f, delta->chunk.epoch, passing.parcel);
    node_parcel_drop(passing.parcel);
    node_mirror_pump(r);
}

/* Frames. */

static bool in_groups_known(const struct node_mirror *r, uint32_t groups)
{
    return (uint64_t)groups >> r->between->groups == 0;
}

static enum err in_delta(struct node_mirror *r, struct node_remote_site *f,
                         const struct net_frame *frame)
{
    struct mirror_range ranges[WIRE_RANGES_MAX];
    struct wire_delta delta;
    uint32_t index;

    if (wire_delta_decode(&frame->header, frame->body, frame->header.body_bytes, &delta) != OK ||
        in_ranges(r, delta.ranges, delta.range_count, ranges) != OK ||
        !in_groups_known(r, delta.chunk.epoch)) {
        return ERR_PEER;
    }
    index = in_index(r, f, frame->header.table, frame->header.chunk);
    if (index == TABLE_STORE_NONE) {
        mirror_pass_failed(&r->m, delta.chunk.epoch, ranges, delta.range_count);
        mirror_hold(&r->m, ranges, delta.range_count);
        in_hold(r, f, frame, ranges, delta.range_count);
        return OK;
    }
    if (!codec_payload_valid(delta.chunk.codec, delta.chunk.payload, delta.chunk.payload_bytes,
                             table_store_elements(r->lane->tables, index))) {
        return ERR_PEER;
    }
    if (node_mirror_keep_room(r, delta.chunk.payload_bytes) != OK) {
        return ERR_NOMEM; /* It comes again. */
    }
    if (delta.chunk.epoch != 0) {
        in_pass(r, f, frame, index, &delta, ranges);
    }
    switch (in_judge(r, f, index, &delta, ranges, false)) {
    case MIRROR_TAKE:
        node_mirror_early(r);
        break;
    case MIRROR_HOLD:
        in_hold(r, f, frame, ranges, delta.range_count);
        break;
    default:
        break;
    }
    return OK;
}

static enum err in_mark(struct node_mirror *r, struct node_remote_site *f,
                        const struct net_frame *frame)
{
    struct node_drain *d = node_drain_of(f);
    struct wire_mark mark;

    if (wire_mark_decode(&frame->header, frame->body, frame->header.body_bytes, &mark) != OK ||
        mark.stream >= net_peer_streams(f->in) || mark.serial != d->mark_seen[mark.stream] + 1) {
        return ERR_PEER;
    }
    d->mark_seen[mark.stream] = mark.serial;
    for (uint16_t i = 0; i < net_peer_streams(f->in); i++) {
        if (d->mark_seen[i] < mark.serial) {
            return OK; /* Not on all streams yet. */
        }
    }
    for (uint32_t i = 0; i < mark.count; i++) {
        struct wire_mark_item item = wire_mark_item(mark.items, i);
        const struct node_remote_site *site = node_remote_of(&r->remotes, item.site);
        struct mirror_mark its = {.site = site == NULL ? MIRROR_SELF : site->index,
                                  .groups = item.groups,
                                  .answer = item.answer,
                                  .whole = (item.flags & WIRE_MARK_WHOLE) != 0,
                                  .from = item.from,
                                  .number = item.number,
                                  .clock = item.clock};

        if ((site == NULL && item.site != r->remotes.id) || !in_groups_known(r, item.groups)) {
            return ERR_PEER;
        }
        mirror_marked(&r->m, f->index, &its);
    }
    if (mirror_moved(&r->m)) {
        (void)selective_look_all(&r->selective, &r->m);
        node_mirror_changed(r);
        node_mirror_wake(r);
    }
    node_mirror_pump(r);
    return OK;
}

static enum err in_report(struct node_mirror *r, struct node_remote_site *f,
                          const struct net_frame *frame)
{
    struct mirror_report its = {0};
    struct wire_report report;
    enum err rc;

    if (wire_report_decode(&frame->header, frame->body, frame->header.body_bytes, &report) != OK) {
        return ERR_PEER;
    }
    its = (struct mirror_report){.clock = report.clock,
                                 .number = report.number,
                                 .floor = report.floor,
                                 .stable = report.stable,
                                 .before = report.before,
                                 .request = report.request,
                                 .fresh = report.fresh,
                                 .knew = report.knew,
                                 .done = report.done};
    for (uint32_t i = 0; i < report.away_count; i++) {
        const struct node_remote_site *away =
            node_remote_of(&r->remotes, wire_report_away(&report, i));

        its.away |= away == NULL ? 0 : UINT64_C(1) << away->index;
    }
    rc = mirror_hear(&r->m, f->index, &its, node_mirror_now(r));
    node_mirror_release(r);
    node_mirror_early(r); /* What it has forgotten nobody waits for any longer. */
    (void)selective_look_all(&r->selective, &r->m);
    node_mirror_wake(r); /* Nor for one that is done. */
    node_mirror_pump(r);
    return rc;
}

/* Those who get the pieces from here have to hear of them too; before they have come, that is. */
static void in_pass_barrier(struct node_mirror *r, const struct node_remote_site *f, uint32_t index,
                            const struct wire_barrier *barrier, const struct mirror_range *ranges)
{
    uint64_t hops = mirror_next_hops(&r->m, f->index, barrier->groups);
    struct wire_barrier on = *barrier;

    if (hops == 0 ||
        selective_is_late(&r->m, index, barrier->clock, ranges, barrier->range_count)) {
        return;
    }
    on.table = table_store_table(r->lane->tables, index);
    on.origin = r->remotes.id;
    for (uint32_t i = 1; i < r->remotes.count; i++) {
        if ((hops >> i & 1) != 0 && r->remotes.list[i].up) {
            on.groups = mirror_hop_groups(&r->m, i);
            r->stats.barriers_passed += node_mirror_send_barrier(r, &r->remotes.list[i], &on);
        }
    }
}

static enum err in_barrier(struct node_mirror *r, struct node_remote_site *f,
                           const struct net_frame *frame)
{
    uint64_t bitmap[CODEC_WORDS_MAX] = {0};
    struct mirror_range ranges[WIRE_RANGES_MAX];
    struct wire_barrier barrier;
    uint32_t index, elements;

    if (wire_barrier_decode(&frame->header, frame->body, frame->header.body_bytes, &barrier) !=
            OK ||
        in_ranges(r, barrier.ranges, barrier.range_count, ranges) != OK ||
        !in_groups_known(r, barrier.groups)) {
        return ERR_PEER;
    }
    index = in_index(r, f, barrier.table, barrier.chunk);
    if (index == TABLE_STORE_NONE) {
        return OK; /* Nobody can read it, nor is it known what to call it further on. */
    }
    elements = table_store_elements(r->lane->tables, index);
    if (!codec_index_valid(barrier.codec, barrier.index, barrier.index_bytes, elements)) {
        return ERR_PEER;
    }
    codec_index_or(barrier.codec, barrier.index, elements, bitmap);
    r->stats.barriers_met++;
    in_pass_barrier(r, f, index, &barrier, ranges);
    if (selective_raise(&r->selective, &r->m, index, barrier.clock, ranges, barrier.range_count,
                        bitmap, codec_bitmap_words(elements), node_mirror_now(r)) != OK) {
        LOG_WRN("node", "no memory for a barrier of site %s: its readers go on", f->site.name);
    }
    return OK;
}

enum err node_mirror_take(struct node_mirror *r, struct node_remote_site *f,
                          const struct net_frame *frame)
{
    switch (frame->header.type) {
    case WIRE_DELTA:
        return in_delta(r, f, frame);
    case WIRE_MARK:
        return in_mark(r, f, frame);
    case WIRE_REPORT:
        return in_report(r, f, frame);
    case WIRE_BARRIER:
        return in_barrier(r, f, frame);
    case WIRE_COPY:
        return node_remote_copy_take(r, f, frame);
    default:
        return ERR_PEER;
    }
}
