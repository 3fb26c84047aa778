/* Out of the lane, to the other sites: what is significant becomes pieces, pieces become frames. */

#include "base/mem.h"
#include "node/mirror/state.h"
#include "obs/metric.h"
#include "wire/delta.h"

#include <string.h>

_Static_assert((int)CODEC_F32 == (int)WIRE_CODEC_F32 && (int)CODEC_BITMAP == WIRE_CODEC_BITMAP &&
                   (int)CODEC_LIST == WIRE_CODEC_LIST &&
                   (int)CODEC_BITMAP_I8 == WIRE_CODEC_BITMAP_I8 &&
                   (int)CODEC_LIST_I8 == WIRE_CODEC_LIST_I8 &&
                   (int)CODEC_KINDS_PACKED == WIRE_CODECS_DELTA &&
                   (int)CODEC_GAPS_I8 == WIRE_CODEC_GAPS_I8 && (int)CODEC_KINDS == WIRE_CODECS,
               "codecs have the same numbers on the wire");

/* Payloads. */

struct node_parcel *node_parcel_make(const struct wire_header *header, struct buf *body,
                                     uint32_t payload_bytes)
{
    struct node_parcel *p = mem_zalloc(sizeof(*p));

    if (p != NULL) {
        *p = (struct node_parcel){
            .refs = 1, .payload_bytes = payload_bytes, .header = *header, .body = body};
    }
    return p;
}

void node_parcel_drop(struct node_parcel *p)
{
    if (--p->refs == 0) {
        buf_unref(p->body);
        mem_free(p);
    }
}

void node_mirror_release(struct node_mirror *r)
{
    struct node_parcel *p;

    while ((p = mirror_release(&r->m)) != NULL) {
        node_parcel_drop(p);
    }
}

/* Chunks as they change. */

float node_mirror_share(const struct node_mirror *r, const struct table_schema *schema)
{
    bool mean = r != NULL && r->between->mean && schema->combine != TABLE_SUM;

    return mean ? 1.0F / (float)r->m.sites_count : 1.0F;
}

float *node_mirror_held(struct node_mirror *r, uint32_t chunk)
{
    return r == NULL ? NULL : r->chunks[chunk].held;
}

/* The same chunk of the other tables of a product, if they are here too. */
static bool out_partners(struct node_mirror *r, uint32_t chunk, struct codec_chunk *c)
{
    const struct codec_filter *filter = &r->between->filter;
    struct node_lane *l = r->lane;
    uint16_t own = table_store_table(l->tables, chunk);
    uint32_t number = table_store_chunk(l->tables, chunk);

    if (codec_filter_find(filter, table_store_schema(l->tables, own)->name) ==
        filter->tables_count) {
        return false;
    }
    for (uint16_t id = 0; id < l->next_table; id++) {
        const struct table_schema *s = table_store_schema(l->tables, id);
        uint32_t index =
            id == own || s == NULL || codec_filter_find(filter, s->name) == filter->tables_count
                ? TABLE_STORE_NONE
                : table_store_find(l->tables, id, number);

        if (index != TABLE_STORE_NONE && table_store_elements(l->tables, index) == c->elements &&
            c->partners_count < CODEC_PRODUCT_MAX - 1) {
            c->partners[c->partners_count++] = (struct codec_partner){
                .values = table_store_values(l->tables, index), .held = r->chunks[index].held};
        }
    }
    return c->partners_count == filter->tables_count - 1;
}

static void out_select(struct node_mirror *r, uint32_t chunk, float threshold,
                       struct codec_packed *packed)
{
    struct node_lane *l = r->lane;
    const struct table_schema *schema =
        table_store_schema(l->tables, table_store_table(l->tables, chunk));
    struct codec_filter filter = r->between->filter;
    struct codec_chunk c = {
        .values = table_store_values(l->tables, chunk),
        .held = r->chunks[chunk].held,
        .elements = table_store_elements(l->tables, chunk),
        .width = schema->width,
    };

    if (r->flushing) {
        filter = (struct codec_filter){.measure = CODEC_ABSOLUTE};
        threshold = 0;
    } else if (filter.measure == CODEC_PRODUCT && !out_partners(r, chunk, &c)) {
        filter.measure = CODEC_RELATIVE; /* A table that is in no product is judged alone. */
        c.partners_count = 0;
    }
    for (uint32_t i = 0; i < c.elements; i++) {
        r->stats.elements_judged += c.held[i] != 0;
    }
    codec_select(&filter, &c, threshold, r->scratch, packed);
    r->stats.elements_sent += packed->count;
}

/* The payload in scratch as a frame without its header. */
static enum err out_parcel(struct node_mirror *r, uint32_t chunk, uint64_t clock,
                           const struct wire_range *range, const struct codec_packed *packed,
                           struct node_parcel **out)
{
    struct node_lane *l = r->lane;
    struct wire_delta delta = {
        .chunk = {.table = table_store_table(l->tables, chunk),
                  .codec = (uint16_t)packed->codec,
                  .chunk = table_store_chunk(l->tables, chunk),
                  .origin = r->remotes.id,
                  .clock = clock,
                  .weight = 1,
                  .payload_bytes = packed->bytes,
                  .payload = (const uint8_t *)r->scratch},
        .range_count = 1,
        .ranges = range,
    };
    struct wire_header header;
    enum wire_reason reason;
    struct buf *frame;
    enum err rc = wire_delta_encode(l->pool, &delta, &frame);

    if (rc != OK) {
        return rc;
    }
    CHECK(wire_header_decode(buf_bytes(frame), &header, &reason) == OK);
    buf_trim_front(frame, WIRE_HEADER_BYTES);
    *out = node_parcel_make(&header, frame, packed->bytes);
    if (*out == NULL) {
        buf_unref(frame);
        return ERR_NOMEM;
    }
    return OK;
}

/* The payload in scratch as the next piece of the chunk. */
static enum err out_piece(struct node_mirror *r, uint32_t chunk, uint64_t clock,
                          const struct codec_packed *packed)
{
    struct wire_range range = {
        .site = r->remotes.id, .prev = r->m.made[chunk], .number = r->m.number + 1};
    struct node_parcel *parcel;
    enum err rc = node_mirror_keep_room(r, packed->bytes);

    if (rc == OK) {
        rc = out_parcel(r, chunk, clock, &range, packed, &parcel);
    }
    if (rc != OK) {
        return rc;
    }
    rc = mirror_make(&r->m, chunk, clock, buf_size(parcel->body), parcel);
    if (rc != OK) {
        node_parcel_drop(parcel);
        return rc;
    }
    /* The machine knows which clock others may be told. */
    parcel->header.clock = mirror_piece_clock(&r->m, chunk);
    node_mirror_keep_made(r, &parcel->header, &range, r->scratch, packed->bytes);
    r->made_bytes += buf_size(parcel->body);
    r->stats.pieces_made++;
    if (r->lane->config.witness != NULL && r->lane->config.witness->shared != NULL) {
        r->lane->config.witness->shared(parcel->header.table, parcel->header.chunk, range.number,
                                        parcel->header.clock, r->chunks[chunk].held,
                                        r->lane->config.user);
    }
    return OK;
}

enum err node_mirror_restore_piece(struct node_mirror *r, uint32_t chunk,
                                   const struct wire_range *range, uint64_t clock,
                                   const struct codec_packed *packed)
{
    struct node_parcel *parcel;
    enum err rc = out_parcel(r, chunk, clock, range, packed, &parcel);

    if (rc == OK) {
        rc = mirror_restore_piece(&r->m, chunk, range->prev, range->number, clock,
                                  buf_size(parcel->body), parcel);
        if (rc != OK) {
            node_parcel_drop(parcel);
        }
    }
    return rc;
}

static uint64_t out_log_limit(const struct node_mirror *r)
{
    uint64_t limit = r->between->log_bytes;

    return limit > 0 ? limit : (uint64_t)(r->chunks_count + 1) * LIMIT_CHUNK_BYTES;
}

bool node_mirror_send_barrier(struct node_mirror *r, struct node_remote_site *f,
                              const struct wire_barrier *barrier)
{
    struct buf *frame;

    if (!net_peer_has_room(f->out, barrier->index_bytes + 4096) ||
        wire_barrier_encode(r->lane->pool, barrier, &frame) != OK) {
        return false;
    }
    if (net_peer_send_sealed(f->out, NET_CONTROL, frame) != OK) {
        buf_unref(frame);
        return false;
    }
    return true;
}

/* The elements of a piece are known to be old at the other end until it comes. If they are most of
 * their chunk, about everybody would wait: that is what the mirror clock is for. */
void node_mirror_announce(struct node_mirror *r, struct node_remote_site *f,
                          const struct node_parcel *p, uint32_t groups)
{
    struct node_lane *l = r->lane;
    struct wire_delta delta;
    struct wire_barrier barrier;
    uint32_t elements;

    CHECK(wire_delta_decode(&p->header, buf_bytes(p->body), buf_size(p->body), &delta) == OK);
    elements = table_store_elements(l->tables,
                                    table_store_find(l->tables, p->header.table, p->header.chunk));
    if (codec_index_count(p->header.codec, delta.chunk.payload, elements) > elements / 2) {
        return;
    }
    barrier = (struct wire_barrier){
        .table = p->header.table,
        .codec = p->header.codec,
        .chunk = p->header.chunk,
        .origin = r->remotes.id,
        .groups = groups,
        .clock = p->header.clock,
        .index_bytes = codec_index_bytes(p->header.codec, delta.chunk.payload, elements),
        .index = delta.chunk.payload,
        .range_count = delta.range_count,
        .ranges = delta.ranges,
    };
    r->stats.barriers_raised += node_mirror_send_barrier(r, f, &barrier);
}

/* What of the chunk is significant now goes. False: there is no room for it. */
static bool out_judge(struct node_mirror *r, uint32_t chunk, uint64_t clock)
{
    float hard = codec_threshold(r->between->threshold, clock);
    float *held = r->chunks[chunk].held;
    struct codec_packed packed;

    if (r->m.log_bytes > out_log_limit(r) || !node_room_spare(r->lane)) {
        return false;
    }
    out_select(r, chunk, (float)((double)hard * asp_soft(&r->asp)), &packed);
    if (packed.count == 0) {
        return true;
    }
    if (out_piece(r, chunk, clock, &packed) != OK) {
        /* Back to where it was. */
        (void)codec_add(packed.codec, r->scratch, table_store_elements(r->lane->tables, chunk),
                        held);
        return false;
    }
    for (uint32_t i = 1; i < r->remotes.count; i++) {
        struct node_remote_site *f = &r->remotes.list[i];
        uint32_t groups;
        struct node_parcel *p =
            f->up && node_drain_of(f)->raises ? mirror_newest(&r->m, chunk, i, &groups) : NULL;

        if (p != NULL) {
            node_mirror_announce(r, f, p, groups);
        }
    }
    return true;
}

/* The site's clock that what was just closed belongs to. Without rounds a chunk has a version for
 * each update, and an update may be of the clock that the slowest worker has not ended. */
static uint64_t out_clock(const struct node_mirror *r, uint64_t version)
{
    const struct sync *s = &r->lane->sync;

    return s->config.policy->rounds ? version : sync_version(s) + 1;
}

void node_mirror_closed(struct node_mirror *r, uint32_t chunk, uint64_t version)
{
    bool judged = r->chunks[chunk].due ? false : out_judge(r, chunk, out_clock(r, version));

    if (!judged && !r->chunks[chunk].due) {
        r->chunks[chunk].due = true;
        r->due_count++;
    }
    node_mirror_pump(r);
}

/* A mark goes behind the pieces, so when it is acknowledged all of them have come: what was ahead
 * of it took so long, but for the way itself. If that was next to nothing, the link carries at
 * least so much, and nobody knows how much more. */
static void out_drained(struct node_drain *d)
{
    uint64_t ahead = d->marks[d->mark_acked & (NODE_MARKS_TIMED - 1)].ahead_bytes;
    int64_t took_ns = d->mark_took_ns - d->rtt_ns;
    int64_t least_ns = (int64_t)NODE_BUSY_MS * 1000000 + d->rtt_ns / 4;
    uint64_t rate =
        took_ns <= 0 || ahead == 0 ? 0 : (uint64_t)((double)ahead * 1e9 / (double)took_ns);

    if (took_ns >= least_ns) {
        d->bytes_per_s = d->bytes_per_s == 0 ? rate : (d->bytes_per_s + rate) / 2;
        d->busy_bytes_per_s = d->busy_bytes_per_s == 0 ? rate : (d->busy_bytes_per_s + rate) / 2;
    } else if (d->bytes_per_s > 0 && rate > d->bytes_per_s) {
        d->bytes_per_s = rate;
    }
}

static struct asp_link out_link(const struct node_mirror *r, struct node_remote_site *f)
{
    struct node_drain *d = node_drain_of(f);
    struct net_peer_stats stats;
    uint64_t backlog, under_way;

    net_peer_stats(f->out, &stats);
    d->rtt_ns = stats.rtt_least_ns > 0 ? stats.rtt_least_ns : d->rtt_ns;
    if (d->mark_acked > d->mark_judged) {
        d->mark_judged = d->mark_acked;
        out_drained(d);
    }
    /* What has left, and is only not acknowledged yet, waits for nothing. */
    backlog = stats.unacked_bytes + mirror_waiting_bytes(&r->m, f->index);
    under_way = (uint64_t)((double)d->bytes_per_s * (double)d->rtt_ns / 1e9);
    backlog = backlog > under_way ? backlog - under_way : 0;
    return (struct asp_link){.bytes_per_s = d->bytes_per_s,
                             .backlog_bytes = backlog > r->made_bytes ? backlog : r->made_bytes};
}

/* How the links did in the clock that is over. */
static void out_measure(struct node_mirror *r, uint64_t version)
{
    struct asp_link links[MIRROR_SITES_MAX];
    struct node_remote_site *remotes[MIRROR_SITES_MAX] = {NULL};
    int64_t now_ns = node_mirror_now(r);
    struct asp_clock clock = {.clock = version,
                              .took_ns = now_ns - r->clock_ns,
                              .made_bytes = r->made_bytes,
                              .passed_bytes = r->passed_bytes,
                              .links = links};

    for (uint32_t i = 1; i < r->remotes.count; i++) {
        struct node_remote_site *f = &r->remotes.list[i];

        if (f->up) {
            remotes[clock.links_count] = f;
            links[clock.links_count++] = out_link(r, f);
        }
    }
    clock.copies = clock.links_count;
    for (uint32_t k = 0; k < clock.links_count; k++) {
        struct node_remote_site *f = remotes[k];
        struct node_drain *d = node_drain_of(f);
        bool before = d->raises;
        struct node_parcel *p;
        uint32_t groups;

        d->raises = asp_raises(&r->asp, &clock, &links[k]);
        for (uint32_t n = 0;
             d->raises && !before && (p = mirror_waiting(&r->m, f->index, n, &groups)) != NULL;
             n++) {
            node_mirror_announce(r, f, p, groups);
        }
    }
    asp_step(&r->asp, &clock);
    r->clock_ns = now_ns;
    r->made_bytes = 0;
    r->passed_bytes = 0;
}

static void out_advance(struct node_mirror *r)
{
    uint64_t clock = r->clock_due;

    r->clock_due = 0;
    out_measure(r, clock);
    mirror_advance(&r->m, clock);
    fresh_closed(&r->fresh, &r->m, clock, node_mirror_now(r));
    node_mirror_changed(r);
    node_mirror_release(r);
    node_mirror_pump(r);
}

void node_mirror_advanced(struct node_mirror *r, uint64_t version)
{
    r->clock_due = version;
    if (r->due_count == 0) {
        out_advance(r);
    }
}

void node_mirror_due(struct node_mirror *r)
{
    bool before = r->due_count > 0;

    for (uint32_t c = 0; c < r->chunks_count && r->due_count > 0; c++) {
        if (r->chunks[c].due) {
            if (!out_judge(r, c, sync_version(&r->lane->sync) + 1)) {
                return;
            }
            r->chunks[c].due = false;
            r->due_count--;
        }
    }
    if (before && r->due_count == 0) {
        if (r->clock_due > 0) {
            out_advance(r);
        }
        node_mirror_wake(r);
    }
}

/* Nobody is left: all that is held back goes. */
void node_mirror_finished(struct node_mirror *r)
{
    r->flushing = true;
    for (uint32_t c = 0; c < r->chunks_count; c++) {
        if (!r->chunks[c].due) {
            r->chunks[c].due = true;
            r->due_count++;
        }
    }
    mirror_finish(&r->m);
    node_mirror_pump(r);
}

void node_mirror_working(struct node_mirror *r)
{
    if (r->flushing || r->m.clock == 0) {
        fresh_begin(&r->fresh, node_mirror_now(r));
    }
    if (r->flushing) {
        r->flushing = false;
        mirror_go_on(&r->m);
    }
}

/* Frames. */

/* Several payloads become one. */
static enum err flow_merge(struct node_mirror *r, const struct mirror_frame *frame,
                           struct wire_delta *delta, struct buf **out)
{
    struct node_lane *l = r->lane;
    struct codec_packed packed;

    codec_sum_reset(r->sum, table_store_elements(l->tables, frame->chunk));
    for (uint32_t i = 0; i < frame->token_count; i++) {
        const struct node_parcel *p = frame->tokens[i];

        obs_counter_add(l->counters.nonfinite[NODE_IN_DELTAS],
                        codec_sum_add(r->sum, p->header.codec, buf_bytes(p->body)));
    }
    codec_sum_pack(r->sum, r->scratch, &packed);
    delta->chunk.codec = (uint16_t)packed.codec;
    delta->chunk.payload_bytes = packed.bytes;
    delta->chunk.payload = (const uint8_t *)r->scratch;
    return wire_delta_encode(l->pool, delta, out);
}

static uint32_t flow_ranges(const struct node_mirror *r, const struct mirror_frame *frame,
                            struct wire_range *out)
{
    for (uint32_t i = 0; i < frame->range_count; i++) {
        const struct mirror_range *range = &frame->ranges[i];
        struct wire_range its = {
            .site = range->site == MIRROR_SELF ? r->remotes.id : r->remotes.list[range->site].id,
            .prev = range->prev,
            .number = range->number};
        uint32_t at = i;

        for (; at > 0 && out[at - 1].site > its.site; at--) {
            out[at] = out[at - 1];
        }
        out[at] = its;
    }
    return frame->range_count;
}

static enum err flow_piece(struct node_mirror *r, struct node_remote_site *f,
                           const struct mirror_frame *frame)
{
    struct node_lane *l = r->lane;
    struct wire_range ranges[WIRE_RANGES_MAX];
    struct wire_delta delta = {
        .chunk = {.table = table_store_table(l->tables, frame->chunk),
                  .chunk = table_store_chunk(l->tables, frame->chunk),
                  .epoch = frame->groups,
                  .origin = r->remotes.id,
                  .clock = frame->clock,
                  .weight = 1},
        .range_count = flow_ranges(r, frame, ranges),
        .ranges = ranges,
    };
    struct buf *out;
    enum err rc;

    if (frame->token_count == 1) {
        const struct node_parcel *p = frame->tokens[0];
        struct wire_header header = p->header;

        header.epoch = frame->groups;
        header.origin = r->remotes.id;
        header.flags = 0;
        rc = net_peer_send(f->out, NET_DATA, &header, buf_ref(p->body));
        if (rc != OK) {
            buf_unref(p->body);
        }
        return rc;
    }
    rc = flow_merge(r, frame, &delta, &out);
    if (rc == OK) {
        rc = net_peer_send_sealed(f->out, NET_DATA, out);
        if (rc != OK) {
            buf_unref(out);
        }
    }
    return rc;
}

static enum err flow_marks(struct node_mirror *r, struct node_remote_site *f,
                           const struct mirror_frame *frame)
{
    struct node_drain *d = node_drain_of(f);
    struct wire_mark_item items[WIRE_MARK_ITEMS_MAX];
    struct wire_mark mark = {
        .serial = d->mark_serial + 1, .count = frame->mark_count, .items = items};
    struct net_peer_stats stats;

    for (uint32_t i = 0; i < frame->mark_count; i++) {
        const struct mirror_mark *m = &frame->marks[i];

        items[i] = (struct wire_mark_item){
            .site = m->site == MIRROR_SELF ? r->remotes.id : r->remotes.list[m->site].id,
            .groups = m->groups,
            .answer = m->answer,
            .flags = m->whole ? WIRE_MARK_WHOLE : 0,
            .from = m->from,
            .number = m->number,
            .clock = m->clock};
    }
    for (uint16_t i = 0; i < net_peer_streams(f->out); i++) {
        struct buf *out;
        enum err rc;

        mark.stream = i;
        rc = wire_mark_encode(r->lane->pool, &mark, &out);
        if (rc == OK) {
            rc = net_peer_send_sealed(f->out, NET_DATA, out);
            if (rc != OK) {
                buf_unref(out);
            }
        }
        if (rc != OK) {
            /* Some streams have it, some do not: no later one could be told from it. */
            net_peer_close(f->out, "no room for a mark");
            return rc;
        }
    }
    d->mark_serial++;
    net_peer_stats(f->out, &stats);
    d->marks[d->mark_serial & (NODE_MARKS_TIMED - 1)] =
        (struct node_mark_sent){.sent_ns = node_mirror_now(r), .ahead_bytes = stats.unacked_bytes};
    return OK;
}

/* A link that is busy gets what keeps it so, and no more: what waits here meets later pieces of its
 * chunk and goes together with them, what waits further on does not. */
static bool flow_enough(const struct node_remote_site *f)
{
    struct node_drain *d = node_drain_of(f);
    struct net_peer_stats stats;
    double ahead_s = (double)d->rtt_ns / 1e9 + NODE_AHEAD_MS / 1e3;

    net_peer_stats(f->out, &stats);
    return d->bytes_per_s > 0 && stats.unacked_bytes > 0 &&
           (double)stats.unacked_bytes >= (double)d->bytes_per_s * ahead_s;
}

void node_mirror_flow(struct node_mirror *r, struct node_remote_site *f)
{
    struct mirror_frame frame;

    for (uint32_t i = 0; i < NODE_PUMP_FRAMES; i++) {
        enum err rc;

        if (!net_peer_has_room(f->out, LIMIT_CHUNK_BYTES + WIRE_MEMBERS_BYTES_MAX)) {
            return; /* It says when there is. */
        }
        if (flow_enough(f)) {
            return; /* An acknowledgement brings us back. */
        }
        mirror_next(&r->m, f->index, &frame);
        if (frame.kind == MIRROR_NOTHING) {
            return;
        }
        rc = frame.kind == MIRROR_PIECE ? flow_piece(r, f, &frame) : flow_marks(r, f, &frame);
        if (rc != OK) {
            return; /* The tick tries again. */
        }
        r->stats.relayed += frame.relay_count;
        mirror_sent(&r->m, f->index, &frame, node_mirror_now(r));
    }
    node_mirror_pump(r);
}
