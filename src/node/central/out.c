/* Out of the lane, around a centre: sums, results, whole chunks and notes, each with its way; and
 * what others send through this site. */

#include "base/mem.h"
#include "node/central/state.h"
#include "obs/metric.h"

#include <math.h>
#include <string.h>

/* Ways. */

bool node_central_way(const struct node_central *r, uint32_t site, uint32_t *ids,
                      struct wire_route *out)
{
    bool centre = central_is_centre(&r->c);
    const struct node_path *path = &r->plan.paths[centre ? site : r->c.self];

    if (path->count < 2 || (!centre && site != r->c.plan.centre)) {
        return false;
    }
    for (uint32_t i = 0; i < path->count; i++) {
        ids[centre ? path->count - 1 - i : i] = r->ids[path->sites[i]];
    }
    *out = (struct wire_route){.count = path->count, .sites = ids};
    return true;
}

/* The next site on the way. NULL: it is none that this one has a link to. */
static struct node_remote_site *out_next(const struct node_central *r,
                                         const struct wire_route *route)
{
    return node_remote_of(&r->remotes, wire_route_site(route, 1));
}

/* Frames to the next site: now, or when there is room. Takes @body. ERR_NOMEM. */
static enum err out_hand(struct node_central *r, struct node_remote_site *to,
                         const struct wire_header *about, struct buf *body)
{
    bool control = about->type == WIRE_NOTE;
    struct list *queue = &r->passing[control ? r->sites + to->index : to->index];
    struct wire_header header = *about;
    struct node_waiting *w;

    header.flags = 0;
    r->used[to->index] = true;
    if (to->up && list_empty(queue) && net_peer_has_room(to->out, header.body_bytes) &&
        net_peer_send(to->out, control ? NET_CONTROL : NET_DATA, &header, body) == OK) {
        return OK;
    }
    w = mem_zalloc(sizeof(*w));
    if (w == NULL) {
        buf_unref(body);
        return ERR_NOMEM;
    }
    w->header = header;
    w->body = body;
    r->passing_bytes += header.body_bytes;
    list_push_back(queue, &w->link);
    return OK;
}

/* Notes. */

enum err node_central_say_bytes(struct node_central *r, uint32_t site, enum wire_note_kind kind,
                                const uint8_t *bytes, size_t size)
{
    uint32_t ids[WIRE_ROUTE_SITES_MAX];
    struct wire_note note = {.kind = kind,
                             .epoch = r->c.plan.epoch,
                             .origin = r->remotes.id,
                             .size = (uint32_t)size,
                             .bytes = bytes};
    struct wire_header header;
    enum wire_reason reason;
    struct node_remote_site *f;
    struct buf *frame;
    enum err rc;

    if (!node_central_way(r, site, ids, &note.route)) {
        return ERR_NOT_FOUND;
    }
    f = out_next(r, &note.route);
    rc = f == NULL ? ERR_UNREACHABLE : wire_note_encode(r->lane->pool, &note, &frame);
    if (rc != OK) {
        return rc;
    }
    CHECK(wire_header_decode(buf_bytes(frame), &header, &reason) == OK);
    buf_trim_front(frame, WIRE_HEADER_BYTES);
    return out_hand(r, f, &header, frame);
}

enum err node_central_say(struct node_central *r, uint32_t site, enum wire_note_kind kind,
                          const struct node_note *note)
{
    uint8_t bytes[NODE_NOTE_BYTES];

    node_note_write(note, bytes);
    return node_central_say_bytes(r, site, kind, bytes, sizeof(bytes));
}

/* Chunks. */

/* The floats in scratch's packed form; .count is zero if all of them are. What is not finite is
 * left out, as appliers do: others would refuse it, and again when it is sent again. */
void node_central_pack(struct node_central *r, const float *floats, uint32_t elements,
                       struct codec_packed *packed)
{
    uint32_t words = codec_bitmap_words(elements);
    uint32_t endless = 0; /* Sums of what is finite may be. */

    memset(r->bitmap, 0, words * sizeof(*r->bitmap));
    for (uint32_t i = 0; i < elements; i++) {
        bool finite = isfinite(floats[i]);

        r->bitmap[i / 64] |= (uint64_t)(finite && floats[i] != 0) << (i % 64);
        endless += !finite;
    }
    obs_counter_add(r->lane->counters.nonfinite[NODE_IN_CENTRAL], endless);
    *packed = (struct codec_packed){0};
    for (uint32_t i = 0; i < words; i++) {
        if (r->bitmap[i] != 0) {
            codec_pack(elements, r->bitmap, floats, r->scratch, packed);
            return;
        }
    }
}

static struct wire_routed out_about(const struct node_central *r, uint32_t chunk, uint64_t clock)
{
    return (struct wire_routed){.chunk = {.table = table_store_table(r->lane->tables, chunk),
                                          .chunk = table_store_chunk(r->lane->tables, chunk),
                                          .epoch = r->c.plan.epoch,
                                          .origin = r->remotes.id,
                                          .clock = clock}};
}

/* Send it on its way. ERR_AGAIN: there is no room now. */
static enum err out_send(struct node_central *r, uint32_t site, enum wire_type type,
                         struct wire_routed *routed)
{
    uint32_t ids[WIRE_ROUTE_SITES_MAX];
    uint64_t bytes = 0;
    struct node_remote_site *f;
    struct buf *frame;
    enum err rc;

    if (!node_central_way(r, site, ids, &routed->route)) {
        return ERR_NOT_FOUND;
    }
    f = out_next(r, &routed->route);
    if (f == NULL || !f->up || !list_empty(&r->passing[f->index]) ||
        !net_peer_has_room(f->out, routed->chunk.payload_bytes + 2048)) {
        return ERR_AGAIN; /* Those who are on their way already go first. */
    }
    rc = wire_routed_encode(r->lane->pool, type, routed, &frame);
    if (rc == OK) {
        bytes = buf_size(frame) - WIRE_HEADER_BYTES;
        r->used[f->index] = true;
        rc = net_peer_send_sealed(f->out, NET_DATA, frame);
        if (rc != OK) {
            buf_unref(frame);
        }
    }
    if (rc == OK) {
        struct node_flow *flow = &r->flows[site];

        flow->sent_bytes += bytes;
        bucket_take(&flow->bucket, bytes, node_central_now(r));
    }
    return rc;
}

static enum err out_sum(struct node_central *r, uint32_t chunk, uint64_t round)
{
    struct node_lane *l = r->lane;
    struct table_accum *a = &l->chunks[chunk]->accum;
    struct wire_routed routed = out_about(r, chunk, round);
    struct codec_packed packed = {0};
    const struct table_schema *schema = table_store_schema(l->tables, routed.chunk.table);
    enum err rc;

    if (a->sum != NULL) {
        table_accum_densify(a, schema, routed.chunk.chunk);
        node_central_pack(r, (const float *)(const void *)buf_bytes(a->sum),
                          table_store_elements(l->tables, chunk), &packed);
    }
    if (packed.count == 0 && a->weight == 0) {
        rc = node_central_say(r, r->c.plan.centre, WIRE_NOTE_NOTHING,
                              &(struct node_note){.table = routed.chunk.table,
                                                  .chunk = routed.chunk.chunk,
                                                  .round = round});
    } else {
        if (packed.count == 0) { /* Updates of nothing count all the same. */
            packed = (struct codec_packed){.bytes = table_store_elements(l->tables, chunk) *
                                                    (uint32_t)sizeof(float)};
            memset(r->scratch, 0, packed.bytes);
        }
        routed.chunk.codec = (uint16_t)packed.codec;
        routed.chunk.weight = a->weight;
        routed.chunk.payload = (const uint8_t *)r->scratch;
        routed.chunk.payload_bytes = packed.bytes;
        rc = out_send(r, r->c.plan.centre, WIRE_SUM, &routed);
    }
    r->stats.sums_sent += rc == OK;
    return rc;
}

/* Whose sums are in a chunk, up to which round. */
static uint32_t out_counted(const struct node_central *r, uint32_t chunk, uint64_t sites,
                            struct wire_listed *listed)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < r->sites; i++) {
        struct wire_listed its = {.site = r->ids[i], .round = central_counted(&r->c, chunk, i)};
        uint32_t at;

        if ((sites >> i & 1) == 0) {
            continue;
        }
        for (at = count++; at > 0 && listed[at - 1].site > its.site; at--) {
            listed[at] = listed[at - 1];
        }
        listed[at] = its;
    }
    return count;
}

static enum err out_result(struct node_central *r, uint32_t site, uint32_t chunk)
{
    const struct node_central_chunk *k = &r->chunks[chunk];
    struct wire_listed listed[WIRE_ROUTE_LISTED_MAX];
    struct wire_routed routed = out_about(r, chunk, k->result_round);
    enum err rc;

    if (k->result == NULL) {
        rc = node_central_say(r, site, WIRE_NOTE_EMPTY,
                              &(struct node_note){.table = routed.chunk.table,
                                                  .chunk = routed.chunk.chunk,
                                                  .round = k->result_round,
                                                  .sites = k->result_sites});
    } else {
        routed.chunk.codec = (uint16_t)k->packed.codec;
        routed.chunk.weight = k->result_weight;
        routed.chunk.payload = buf_bytes(k->result);
        routed.chunk.payload_bytes = k->packed.bytes;
        routed.listed_count = out_counted(r, chunk, k->result_sites, listed);
        routed.listed = listed;
        rc = out_send(r, site, WIRE_RESULT, &routed);
    }
    r->stats.results_sent += rc == OK;
    return rc;
}

/* The state first: with the values it is whole. */
static enum err out_whole(struct node_central *r, uint32_t site, uint32_t chunk)
{
    struct node_lane *l = r->lane;
    const float *state = table_store_state(l->tables, chunk);
    struct wire_listed listed[WIRE_ROUTE_LISTED_MAX];
    struct wire_routed routed = out_about(r, chunk, r->c.chunks[chunk].version);
    enum err rc = OK;

    routed.chunk.payload_bytes = table_store_elements(l->tables, chunk) * (uint32_t)sizeof(float);
    routed.listed_count = out_counted(r, chunk, UINT64_MAX, listed);
    routed.listed = listed;
    if (state != NULL) {
        routed.chunk.table |= WIRE_TABLE_PLANE;
        routed.chunk.payload = (const uint8_t *)state;
        rc = out_send(r, site, WIRE_WHOLE, &routed);
        routed.chunk.table &= (uint16_t)~WIRE_TABLE_PLANE;
    }
    if (rc == OK) {
        routed.chunk.payload = (const uint8_t *)table_store_values(l->tables, chunk);
        rc = out_send(r, site, WIRE_WHOLE, &routed);
    }
    r->stats.wholes_sent += rc == OK;
    return rc;
}

enum err node_central_give(struct node_central *r, uint32_t site, uint32_t chunk)
{
    return out_whole(r, site, chunk);
}

/* Flows. */

static bool flow_may(struct node_central *r, struct node_flow *flow)
{
    int64_t now_ns = node_central_now(r);

    if (flow->sent_bytes - flow->room_bytes >= flow->window_bytes) {
        return false;
    }
    if (!bucket_may(&flow->bucket, now_ns)) {
        if (r->pace_ns == 0 || r->pace_ns > flow->bucket.free_ns) {
            r->pace_ns = flow->bucket.free_ns;
            loop_timer_start(&r->pace, r->pace_ns);
        }
        return false;
    }
    return true;
}

/* The next chunk to that site, or false. */
static bool flow_next(struct node_central *r, uint32_t site, struct node_flow *flow)
{
    if (!flow->due) {
        flow->due = central_is_centre(&r->c)
                        ? central_next_result(&r->c, site, &flow->chunk, &flow->whole)
                        : central_next_sum(&r->c, &flow->chunk, &flow->round);
    }
    return flow->due;
}

static enum err flow_send(struct node_central *r, uint32_t site, const struct node_flow *flow)
{
    const struct node_central_chunk *k = &r->chunks[flow->chunk];

    if (!central_is_centre(&r->c)) {
        bool open = r->c.chunks[flow->chunk].gathered == flow->round;

        return open ? out_sum(r, flow->chunk, flow->round) : OK; /* Else it is closed already. */
    }
    return flow->whole || k->result_round != r->c.chunks[flow->chunk].version
               ? out_whole(r, site, flow->chunk)
               : out_result(r, site, flow->chunk);
}

static bool flow_one(struct node_central *r, uint32_t site)
{
    struct node_flow *flow = &r->flows[site];

    if (!flow_may(r, flow) || !flow_next(r, site, flow) || flow_send(r, site, flow) != OK) {
        return false;
    }
    flow->due = false;
    return true;
}

static void flow_asks(struct node_central *r)
{
    uint32_t site;
    uint32_t chunk;

    while (central_next_ask(&r->c, &site, &chunk)) {
        const struct node_note note = {.table = table_store_table(r->lane->tables, chunk),
                                       .chunk = table_store_chunk(r->lane->tables, chunk)};

        if (node_central_say(r, site, WIRE_NOTE_ASK, &note) != OK) {
            links_ask(&r->links); /* Else nobody gets it. */
        }
    }
}

/* Tell the centre which versions are here. */
static void flow_haves(struct node_central *r)
{
    for (uint32_t w = 0; r->have_count > 0 && w < (r->chunks_count + 63) / 64; w++) {
        while (r->have[w] != 0) {
            uint32_t chunk = w * 64 + (uint32_t)__builtin_ctzll(r->have[w]);
            const struct node_note note = {.table = table_store_table(r->lane->tables, chunk),
                                           .chunk = table_store_chunk(r->lane->tables, chunk),
                                           .round = r->c.chunks[chunk].version};

            if (node_central_say(r, r->c.plan.centre, WIRE_NOTE_HAVE, &note) != OK) {
                return;
            }
            r->have[w] &= r->have[w] - 1;
            r->have_count--;
        }
    }
}

/* Tell those who send chunks how much has come. */
static void flow_rooms(struct node_central *r)
{
    for (uint32_t i = 0; i < r->sites; i++) {
        struct node_flow *flow = &r->flows[i];

        if (flow->came_bytes - flow->told_bytes >= flow->window_bytes / 8 &&
            node_central_say(r, i, WIRE_NOTE_ROOM,
                             &(struct node_note){.bytes = flow->came_bytes}) == OK) {
            flow->told_bytes = flow->came_bytes;
        }
    }
}

static void flow_queue(struct node_central *r, struct node_remote_site *f, struct list *queue,
                       enum net_priority priority)
{
    struct list *link;

    while (f->up && (link = list_first(queue)) != NULL) {
        struct node_waiting *w = LIST_ENTRY(link, struct node_waiting, link);

        if (!net_peer_has_room(f->out, w->header.body_bytes) ||
            net_peer_send(f->out, priority, &w->header, w->body) != OK) {
            break;
        }
        r->passing_bytes -= w->header.body_bytes;
        list_remove(&w->link);
        mem_free(w);
    }
}

static void flow_passing(struct node_central *r)
{
    for (uint32_t i = 1; i < r->remotes.count; i++) {
        flow_queue(r, &r->remotes.list[i], &r->passing[r->sites + i], NET_CONTROL);
        flow_queue(r, &r->remotes.list[i], &r->passing[i], NET_DATA);
    }
}

void node_central_flow(struct node_central *r)
{
    bool centre = central_is_centre(&r->c);
    bool more = true;

    flow_passing(r);
    if (!r->c.begun) {
        return;
    }
    flow_asks(r);
    flow_haves(r);
    flow_rooms(r);
    for (uint32_t n = 0; n < NODE_CENTRAL_PUMP_FRAMES && more; n++) {
        more = false;
        for (uint32_t i = 0; i < r->sites; i++) {
            bool to =
                centre ? i != r->c.self && central_is_active(&r->c, i) : i == r->c.plan.centre;

            more = (to && flow_one(r, i)) || more;
        }
    }
    if (more) {
        node_central_pump(r);
    }
}

/* What is for others. */

enum err node_central_pass(struct node_central *r, struct node_remote_site *to,
                           const struct net_frame *frame)
{
    struct buf *body;
    enum err rc = net_frame_keep(frame, r->lane->pool, &body);

    if (rc == OK) {
        r->stats.passed++;
        r->stats.passed_bytes += frame->header.body_bytes;
        rc = out_hand(r, to, &frame->header, body);
    }
    return rc;
}

void node_central_forget(struct node_central *r)
{
    for (uint32_t i = 0; i < 2 * r->sites; i++) {
        struct list *link;

        while ((link = list_first(&r->passing[i])) != NULL) {
            struct node_waiting *w = LIST_ENTRY(link, struct node_waiting, link);

            list_remove(&w->link);
            buf_unref(w->body);
            mem_free(w);
        }
    }
    r->passing_bytes = 0;
    r->have_count = 0;
    if (r->have != NULL) {
        memset(r->have, 0, ((size_t)r->chunks_count + 63) / 64 * sizeof(*r->have));
    }
}
