/* Into the lane, around a centre: what is for this site is judged by the machine and entered; what
 * is for others goes on. */

#include "base/mem.h"
#include "node/central/state.h"
#include "obs/metric.h"

#include <inttypes.h>
#include <string.h>

static const struct table_schema *in_schema(const struct node_central *r, uint32_t chunk)
{
    return table_store_schema(r->lane->tables, table_store_table(r->lane->tables, chunk));
}

static float *in_floats(const struct table_accum *a)
{
    return (float *)(void *)buf_bytes(a->sum);
}

/* A zeroed sum to write into. */
static enum err in_prepare(struct node_central *r, uint32_t chunk, struct table_accum *a)
{
    const struct table_schema *schema = in_schema(r, chunk);
    uint32_t number = table_store_chunk(r->lane->tables, chunk);
    enum err rc = table_accum_prepare(a, schema, number, r->lane->pool, false);

    if (rc == OK) {
        table_accum_densify(a, schema, number);
    }
    return rc;
}

/* Sums add up, and so do their weights. An element whose sum would not be finite keeps it. */
static void in_add(struct node_central *r, uint32_t chunk, uint32_t codec, const void *payload,
                   uint32_t weight, struct table_accum *a)
{
    obs_counter_add(
        r->lane->counters.nonfinite[NODE_IN_CENTRAL],
        codec_add(codec, payload, table_store_elements(r->lane->tables, chunk), in_floats(a)));
    a->weight = a->weight > UINT32_MAX - weight ? UINT32_MAX : a->weight + weight;
    a->count++;
}

/* What a packed result stands for: the same bits at every site, the centre included. */
static void in_unpack(uint32_t codec, const void *payload, uint32_t elements, uint32_t weight,
                      struct table_accum *a)
{
    if (codec == CODEC_F32) {
        memcpy(in_floats(a), payload, (size_t)elements * sizeof(float));
    } else {
        (void)codec_add(codec, payload, elements, in_floats(a));
    }
    a->weight = weight;
    a->count = 1;
}

/* Entering. */

static void in_say_have(struct node_central *r, uint32_t chunk)
{
    uint64_t bit = UINT64_C(1) << (chunk % 64);

    if (!central_is_centre(&r->c) && (r->have[chunk / 64] & bit) == 0) {
        r->have[chunk / 64] |= bit;
        r->have_count++;
    }
    node_central_pump(r);
}

/* The result takes the place of the site's own sum while the round is closed. */
static void in_enter(struct node_central *r, uint32_t chunk, uint64_t round,
                     const struct table_accum *result, struct central_own own)
{
    struct node_lane *l = r->lane;
    struct node_central_chunk *k = &r->chunks[chunk];
    struct sync_event event = {
        .type = SYNC_RELEASE, .chunk = chunk, .clock = round, .counted = own.open != CENTRAL_STAYS};

    k->aside = l->chunks[chunk]->accum;
    k->fate = own;
    k->entering = true;
    r->moved_ns = node_central_now(r);
    l->chunks[chunk]->accum = *result;
    l->sums_count += result->sum != NULL;
    if (round > sync_chunk_version(&l->sync, chunk)) {
        CHECK(node_exec(l, &event, NULL, NULL) == OK);
    } else {
        node_central_closed(r, chunk);
    }
    CHECK(!k->entering);
    if (l->held_frames > 0) {
        loop_task_post(&l->drain);
    }
    in_say_have(r, chunk);
}

static void in_add_kept(struct node_central *r, uint32_t chunk, struct node_central_chunk *k)
{
    if (k->aside.sum == NULL) {
        k->aside = k->kept;
        r->lane->sums_count++;
        k->kept = (struct table_accum){0};
        return;
    }
    table_accum_densify(&k->aside, in_schema(r, chunk), table_store_chunk(r->lane->tables, chunk));
    in_add(r, chunk, CODEC_F32, in_floats(&k->kept), k->kept.weight, &k->aside);
}

bool node_central_counts(const struct node_central *r, uint32_t chunk)
{
    return !r->chunks[chunk].entering || r->chunks[chunk].fate.open != CENTRAL_STAYS;
}

void node_central_closed(struct node_central *r, uint32_t chunk)
{
    struct node_central_chunk *k = &r->chunks[chunk];
    struct node_lane *l = r->lane;

    if (!k->entering) {
        return;
    }
    k->entering = false;
    r->carrying = true;
    if (k->fate.kept == CENTRAL_ADD && k->kept.sum != NULL) {
        in_add_kept(r, chunk, k);
    }
    if (k->fate.kept != CENTRAL_STAYS) {
        table_accum_clear(&k->kept);
    }
    if (k->fate.open == CENTRAL_STAYS) {
        r->stats.carried += k->aside.sum != NULL;
        l->chunks[chunk]->accum = k->aside;
        k->aside = (struct table_accum){0};
        return;
    }
    l->sums_count -= k->aside.sum != NULL;
    if (k->fate.open == CENTRAL_KEEP && k->aside.sum != NULL) {
        table_accum_densify(&k->aside, in_schema(r, chunk), table_store_chunk(l->tables, chunk));
        table_accum_clear(&k->kept);
        k->kept = k->aside;
        k->aside = (struct table_accum){0};
    }
    table_accum_clear(&k->aside);
}

/* The centre. */

static enum err in_pack(struct node_central *r, uint32_t chunk, struct table_accum *result)
{
    struct node_central_chunk *k = &r->chunks[chunk];
    uint32_t elements = table_store_elements(r->lane->tables, chunk);
    enum err rc;

    *result = (struct table_accum){0};
    k->packed = (struct codec_packed){0};
    if (k->total.sum == NULL) {
        return OK;
    }
    rc = in_prepare(r, chunk, result);
    if (rc == OK) {
        node_central_pack(r, in_floats(&k->total), elements, &k->packed);
        rc = buf_take(r->lane->pool, 0, k->packed.bytes, &k->result);
    }
    if (rc != OK) {
        table_accum_clear(result);
        return rc;
    }
    memcpy(buf_append(k->result, k->packed.bytes), r->scratch, k->packed.bytes);
    in_unpack(k->packed.codec, buf_bytes(k->result), elements, k->total.weight, result);
    return OK;
}

static void in_close(struct node_central *r, uint32_t chunk)
{
    struct node_central_chunk *k = &r->chunks[chunk];
    struct table_accum result;
    struct central_own own;

    buf_unref(k->result);
    k->result = NULL;
    k->result_round = 0;
    if (in_pack(r, chunk, &result) != OK) {
        r->close_due = true;
        return;
    }
    k->result_weight = k->total.weight;
    table_accum_clear(&k->total);
    own = central_closed(&r->c, chunk, &k->result_sites);
    k->result_round = r->c.chunks[chunk].version;
    in_enter(r, chunk, k->result_round, &result, own);
}

/* Nothing was added after all: there is no sum yet. */
static void in_unprepare(struct table_accum *a)
{
    if (a->weight == 0) {
        table_accum_clear(a);
    }
}

/* This site's own sum, as any other's. */
static bool in_own(struct node_central *r, uint32_t chunk)
{
    struct node_central_chunk *k = &r->chunks[chunk];
    struct table_accum *a = &r->lane->chunks[chunk]->accum;

    if (a->sum != NULL && in_prepare(r, chunk, &k->total) != OK) {
        r->close_due = true;
        return false;
    }
    if (central_sum(&r->c, r->c.plan.epoch, r->c.self, chunk, r->c.chunks[chunk].gathered) !=
        CENTRAL_TAKE) {
        in_unprepare(&k->total);
        return false; /* Others come first: when they have, it is looked at again. */
    }
    if (a->sum != NULL) {
        table_accum_densify(a, in_schema(r, chunk), table_store_chunk(r->lane->tables, chunk));
        in_add(r, chunk, CODEC_F32, in_floats(a), a->weight, &k->total);
    }
    return true;
}

void node_central_look(struct node_central *r, uint32_t chunk)
{
    uint32_t found;

    if (central_own(&r->c, chunk) && in_own(r, chunk) && r->c.ordered) {
        node_central_early(r); /* Those behind it may have waited. */
    }
    if (central_complete(&r->c, chunk, &found)) {
        in_close(r, found);
    }
}

void node_central_look_all(struct node_central *r)
{
    node_central_early(r); /* Nobody may have to be waited for any longer. */
    for (uint32_t i = 0; i < r->chunks_count; i++) {
        node_central_look(r, i);
    }
}

/* Frames for this site. */

static enum err in_verdict(struct node_central *r, enum central_verdict v)
{
    r->stats.stale += v == CENTRAL_STALE;
    r->stats.refused += v == CENTRAL_WRONG;
    return v == CENTRAL_WRONG ? ERR_PEER : v == CENTRAL_LATER ? ERR_AGAIN : OK;
}

static enum err in_sum(struct node_central *r, const struct wire_routed *routed, uint32_t site,
                       uint32_t chunk)
{
    struct node_central_chunk *k = &r->chunks[chunk];
    uint32_t elements = table_store_elements(r->lane->tables, chunk);
    enum central_verdict v;

    if (!codec_payload_valid(routed->chunk.codec, routed->chunk.payload,
                             routed->chunk.payload_bytes, elements)) {
        return ERR_PEER;
    }
    if (in_prepare(r, chunk, &k->total) != OK) {
        return ERR_AGAIN;
    }
    v = central_sum(&r->c, routed->chunk.epoch, site, chunk, routed->chunk.clock);
    if (v != CENTRAL_TAKE) {
        in_unprepare(&k->total);
        return in_verdict(r, v);
    }
    in_add(r, chunk, routed->chunk.codec, routed->chunk.payload, routed->chunk.weight, &k->total);
    r->stats.sums_taken++;
    node_central_look(r, chunk);
    return OK;
}

/* Bits of the sites in a list. False: one is not known. */
static bool in_sites(const struct node_central *r, const struct wire_routed *routed,
                     uint64_t *sites_out, uint64_t *rounds)
{
    *sites_out = 0;
    for (uint32_t i = 0; i < routed->listed_count; i++) {
        struct wire_listed listed = wire_listed(routed->listed, i);
        uint32_t site = node_central_index(r, listed.site);

        if (site == CENTRAL_SITES_MAX || listed.round > routed->chunk.clock) {
            return false;
        }
        *sites_out |= UINT64_C(1) << site;
        rounds[site] = listed.round;
    }
    return true;
}

static enum err in_result(struct node_central *r, const struct wire_routed *routed, uint32_t chunk)
{
    uint32_t elements = table_store_elements(r->lane->tables, chunk);
    uint64_t rounds[CENTRAL_SITES_MAX];
    struct table_accum result = {0};
    enum central_verdict v;
    uint64_t sites;

    if (!codec_payload_valid(routed->chunk.codec, routed->chunk.payload,
                             routed->chunk.payload_bytes, elements) ||
        !in_sites(r, routed, &sites, rounds)) {
        return ERR_PEER;
    }
    v = central_result(&r->c, routed->chunk.epoch, chunk, routed->chunk.clock);
    if (v != CENTRAL_TAKE) {
        return in_verdict(r, v);
    }
    if (in_prepare(r, chunk, &result) != OK) {
        return ERR_AGAIN;
    }
    in_unpack(routed->chunk.codec, routed->chunk.payload, elements, routed->chunk.weight, &result);
    r->stats.results_taken++;
    in_enter(r, chunk, routed->chunk.clock, &result,
             central_entered(&r->c, chunk, routed->chunk.clock, sites));
    return OK;
}

/* Workers get it whole. */
static void in_changed(struct node_central *r, uint32_t chunk)
{
    struct node_lane *l = r->lane;
    uint16_t table = table_store_table(l->tables, chunk);

    l->chunks[chunk]->changed = true;
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (s->state == NODE_IN && l->config.site.delivery == NODE_BROADCAST &&
            node_wants(s, table)) {
            node_deliver_mark(s, chunk, true);
        }
    }
    if (l->config.witness != NULL && l->config.witness->mirrored != NULL) {
        l->config.witness->mirrored(table, table_store_chunk(l->tables, chunk),
                                    table_store_values(l->tables, chunk),
                                    table_store_elements(l->tables, chunk), l->config.user);
    }
}

static enum err in_whole(struct node_central *r, const struct wire_routed *routed, uint32_t chunk,
                         const struct node_waiting *frame)
{
    struct node_lane *l = r->lane;
    struct node_central_chunk *k = &r->chunks[chunk];
    float *state = table_store_state(l->tables, chunk);
    bool plane = (frame->header.table & WIRE_TABLE_PLANE) != 0;
    size_t bytes = table_store_elements(l->tables, chunk) * sizeof(float);
    uint64_t rounds[CENTRAL_SITES_MAX] = {0};
    const struct table_accum none = {0};
    enum central_verdict v;
    uint64_t sites;

    if (routed->chunk.payload_bytes != bytes || !in_sites(r, routed, &sites, rounds) ||
        (plane && state == NULL) ||
        !codec_payload_valid(CODEC_F32, routed->chunk.payload, bytes,
                             (uint32_t)(bytes / sizeof(float)))) {
        return ERR_PEER;
    }
    v = central_copy(&r->c, routed->chunk.epoch, chunk, routed->chunk.clock);
    if (v != CENTRAL_TAKE) {
        return in_verdict(r, v);
    }
    if (plane) {
        buf_unref(k->plane);
        k->plane = buf_ref(frame->body);
        return OK;
    }
    if (state != NULL && k->plane == NULL) {
        return ERR_PEER;
    }
    if (state != NULL) {
        memcpy(state, buf_bytes(k->plane), bytes);
        buf_unref(k->plane);
        k->plane = NULL;
    }
    memcpy(table_store_values(l->tables, chunk), routed->chunk.payload, bytes);
    r->stats.wholes_taken++;
    in_enter(r, chunk, routed->chunk.clock, &none,
             central_copied(&r->c, chunk, routed->chunk.clock, rounds));
    in_changed(r, chunk);
    if (central_is_centre(&r->c)) {
        node_central_look(r, chunk);
    }
    if (node_central_began(r)) {
        node_central_joined(r);
        node_restore_look(l);
        node_operate_newcomers(l);
    }
    return OK;
}

/* Of a chunk, for this site, by this plan. ERR_AGAIN: it must wait. */
static enum err in_routed(struct node_central *r, const struct node_waiting *frame)
{
    struct wire_routed routed;
    uint32_t site, chunk;

    if (wire_routed_decode(&frame->header, buf_bytes(frame->body), frame->header.body_bytes,
                           &routed) != OK) {
        return ERR_PEER;
    }
    site = node_central_index(r, routed.chunk.origin);
    chunk = table_store_find(r->lane->tables, (uint16_t)(routed.chunk.table & ~WIRE_TABLE_PLANE),
                             routed.chunk.chunk);
    if (site == CENTRAL_SITES_MAX) {
        return ERR_PEER;
    }
    if (chunk == TABLE_STORE_NONE || !r->c.begun) {
        return ERR_AGAIN; /* Workers make the table; the go is behind it. */
    }
    return frame->header.type == WIRE_SUM      ? in_sum(r, &routed, site, chunk)
           : frame->header.type == WIRE_RESULT ? in_result(r, &routed, chunk)
                                               : in_whole(r, &routed, chunk, frame);
}

/* Notes. */

static enum err in_stand(struct node_central *r, const struct wire_note *wire, uint32_t site)
{
    struct central_stand stand;
    uint64_t tables;
    enum err rc =
        node_stand_read(wire->bytes, wire->size, r->chunks_count, r->words, &stand, &tables);

    if (rc == ERR_AGAIN) {
        return OK; /* Its workers, or ours, have not made all tables yet: it says so again. */
    }
    stand.epoch = wire->epoch;
    if (rc == OK && tables != node_central_tables(r)) {
        LOG_WRN("node", "a site has other tables than this one, or in another order: all sites "
                        "must make them alike");
        return OK; /* It says so again. */
    }
    if (rc == OK) {
        rc = central_stood(&r->c, site, &stand);
    }
    if (rc == OK) {
        node_central_begin(r);
    }
    return rc == ERR_AGAIN ? OK : rc == ERR_MALFORMED ? ERR_PEER : rc;
}

static enum err in_go(struct node_central *r, const struct wire_note *wire)
{
    uint64_t since;
    enum err rc;

    if (r->c.begun || !node_central_is_ours(r)) {
        return OK;
    }
    rc = node_go_read(wire->bytes, wire->size, r->chunks_count, r->words, &since);
    if (rc != OK) {
        return rc == ERR_AGAIN ? OK : ERR_PEER; /* It is for an earlier process of this site. */
    }
    central_go(&r->c, wire->epoch, r->words, since);
    if (r->c.begun) {
        node_central_went(r);
    }
    return OK;
}

static enum err in_nothing(struct node_central *r, const struct wire_note *wire, uint32_t site,
                           uint32_t chunk, uint64_t round)
{
    enum central_verdict v = central_sum(&r->c, wire->epoch, site, chunk, round);

    if (v == CENTRAL_TAKE) {
        node_central_look(r, chunk);
    }
    return in_verdict(r, v);
}

static enum err in_empty(struct node_central *r, const struct wire_note *wire, uint32_t chunk,
                         const struct node_note *note)
{
    const struct table_accum none = {0};
    enum central_verdict v = central_result(&r->c, wire->epoch, chunk, note->round);

    if (v == CENTRAL_TAKE) {
        in_enter(r, chunk, note->round, &none,
                 central_entered(&r->c, chunk, note->round, note->sites));
    }
    return in_verdict(r, v);
}

/* The centre asks for a chunk whole. */
static enum err in_ask(struct node_central *r, uint32_t site, uint32_t chunk)
{
    if (site != r->c.plan.centre || central_is_centre(&r->c)) {
        return ERR_PEER;
    }
    return r->flows[site].due ? ERR_AGAIN : node_central_give(r, site, chunk);
}

static enum err in_busy(struct node_central *r, uint32_t site)
{
    const struct node_note note = {.round = central_busy(&r->c, site)};

    if (node_central_say(r, site, WIRE_NOTE_SINCE, &note) != OK) {
        links_ask(&r->links); /* It would wait for ever. */
    }
    node_central_look_all(r);
    return OK;
}

static enum err in_note(struct node_central *r, const struct node_waiting *frame)
{
    struct wire_note wire;
    struct node_note note;
    uint32_t site, chunk;

    if (wire_note_decode(&frame->header, buf_bytes(frame->body), frame->header.body_bytes, &wire) !=
        OK) {
        return ERR_PEER;
    }
    site = node_central_index(r, wire.origin);
    if (site == CENTRAL_SITES_MAX) {
        return ERR_PEER;
    }
    if (wire.kind == WIRE_NOTE_STAND) {
        return in_stand(r, &wire, site);
    }
    if (wire.kind == WIRE_NOTE_GO) {
        return in_go(r, &wire);
    }
    if (node_note_read(wire.bytes, wire.size, &note) != OK) {
        return ERR_PEER;
    }
    if (!r->c.begun) {
        return ERR_AGAIN;
    }
    chunk = table_store_find(r->lane->tables, note.table, note.chunk);
    switch (wire.kind) {
    case WIRE_NOTE_ASK:
        return chunk == TABLE_STORE_NONE ? ERR_AGAIN : in_ask(r, site, chunk);
    case WIRE_NOTE_HAVE:
        if (chunk != TABLE_STORE_NONE) {
            central_acked(&r->c, wire.epoch, site, chunk, note.round);
            node_central_look(r, chunk);
        }
        return OK;
    case WIRE_NOTE_ROOM:
        r->flows[site].room_bytes =
            note.bytes <= r->flows[site].sent_bytes ? note.bytes : r->flows[site].sent_bytes;
        node_central_pump(r);
        return OK;
    case WIRE_NOTE_NOTHING:
        return chunk == TABLE_STORE_NONE ? ERR_AGAIN
                                         : in_nothing(r, &wire, site, chunk, note.round);
    case WIRE_NOTE_EMPTY:
        return chunk == TABLE_STORE_NONE ? ERR_AGAIN : in_empty(r, &wire, chunk, &note);
    case WIRE_NOTE_IDLE:
        if (central_is_centre(&r->c)) {
            central_idle(&r->c, site, note.round);
            node_central_look_all(r);
        }
        return OK;
    case WIRE_NOTE_BUSY:
        return central_is_centre(&r->c) ? in_busy(r, site) : OK;
    case WIRE_NOTE_SINCE:
        node_central_busy(r, note.round);
        return OK;
    default:
        return ERR_PEER;
    }
}

/* What comes. */

static enum err in_look(struct node_central *r, const struct node_waiting *frame)
{
    if (frame->header.epoch != r->c.plan.epoch) {
        r->stats.stale += frame->header.epoch < r->c.plan.epoch;
        return frame->header.epoch < r->c.plan.epoch ? OK : ERR_AGAIN;
    }
    return frame->header.type == WIRE_NOTE ? in_note(r, frame) : in_routed(r, frame);
}

static enum err in_hold(struct node_central *r, const struct node_waiting *frame)
{
    struct node_waiting *w;

    if (r->early_count == NODE_EARLY_FRAMES_MAX) {
        return ERR_PEER;
    }
    w = mem_zalloc(sizeof(*w));
    if (w == NULL) {
        return ERR_NOMEM;
    }
    *w = *frame;
    (void)buf_ref(w->body);
    list_push_back(&r->early, &w->link);
    r->early_count++;
    return OK;
}

/* Look once at everything that waits. True if something no longer does. */
static bool in_early(struct node_central *r)
{
    uint32_t before = r->early_count;
    struct list again;
    struct list *link;

    list_init(&again);
    list_take(&again, &r->early);
    while ((link = list_first(&again)) != NULL) {
        struct node_waiting *w = LIST_ENTRY(link, struct node_waiting, link);
        enum err rc = in_look(r, w);

        list_remove(link);
        if (rc == ERR_AGAIN) {
            list_push_back(&r->early, link);
            continue;
        }
        if (rc != OK) {
            LOG_WRN("node", "a frame from site %s cannot be: %s", w->remote->site.name,
                    err_string(rc));
        }
        r->early_count--;
        buf_unref(w->body);
        mem_free(w);
    }
    return r->early_count < before;
}

/* Those that were looked at before may have waited for one behind them. */
void node_central_early(struct node_central *r)
{
    if (r->looking) {
        return;
    }
    r->looking = true;
    while (r->early_count > 0 && in_early(r)) {
    }
    r->looking = false;
}

void node_central_early_drop(struct node_central *r)
{
    struct list *link;

    while ((link = list_first(&r->early)) != NULL) {
        struct node_waiting *w = LIST_ENTRY(link, struct node_waiting, link);

        list_remove(link);
        buf_unref(w->body);
        mem_free(w);
    }
    r->early_count = 0;
}

/* A chunk came by the flow of a site. */
static void in_came(struct node_central *r, const struct wire_header *header)
{
    uint32_t site = node_central_index(r, header->origin);

    if (header->type != WIRE_NOTE && header->epoch == r->c.plan.epoch && site < CENTRAL_SITES_MAX) {
        r->flows[site].came_bytes += header->body_bytes;
        node_central_pump(r);
    }
}

static enum err in_mine(struct node_central *r, struct node_remote_site *f,
                        const struct net_frame *frame)
{
    struct node_waiting w = {.header = frame->header, .remote = f};
    enum err rc = net_frame_keep(frame, r->lane->pool, &w.body);

    if (rc != OK) {
        return rc;
    }
    in_came(r, &frame->header);
    rc = in_look(r, &w);
    if (rc == ERR_AGAIN) {
        rc = in_hold(r, &w);
    } else if (rc == OK && r->early_count > 0) {
        node_central_early(r);
    }
    buf_unref(w.body);
    return rc;
}

enum err node_central_take(struct node_central *r, struct node_remote_site *f,
                           const struct net_frame *frame)
{
    struct wire_route route;
    struct node_remote_site *next;
    uint32_t at;

    if (frame->header.type != WIRE_SUM && frame->header.type != WIRE_RESULT &&
        frame->header.type != WIRE_WHOLE && frame->header.type != WIRE_NOTE) {
        return ERR_PEER;
    }
    if (wire_route_find(frame->body, frame->header.body_bytes, &route) != OK) {
        return ERR_PEER;
    }
    at = wire_route_index(&route, r->remotes.id);
    if (at == WIRE_ROUTE_SITES_MAX || at == 0 || wire_route_site(&route, at - 1) != f->id) {
        r->stats.refused++;
        return ERR_PEER;
    }
    if (at + 1 == route.count) {
        return in_mine(r, f, frame);
    }
    next = node_remote_of(&r->remotes, wire_route_site(&route, at + 1));
    if (next == NULL || (r->between->no_relay >> r->c.self & 1) != 0) {
        r->stats.refused++;
        return ERR_PEER;
    }
    if (frame->header.epoch < r->c.plan.epoch) {
        r->stats.stale++;
        return OK;
    }
    return node_central_pass(r, next, frame);
}
