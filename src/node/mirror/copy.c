/* A site that has nothing, or has missed what nobody keeps any more, takes a copy of another one:
 * chunk by chunk what that one has shared, and which pieces of which sites are in it. What the site
 * itself made and the other does not have is added on top; the rest comes as pieces. */

#include "node/floats.h"
#include "node/mirror/state.h"
#include "obs/metric.h"

#include <inttypes.h>
#include <string.h>

enum { COPY_PATIENCE_S = 10 }; /* For sites that never came, before one begins without them. */

/* Asking. */

/* From whom: one who has something of ours, then the one with the shortest way. */
static struct node_remote_site *copy_best(struct node_mirror *r)
{
    struct node_remote_site *best = NULL;
    int64_t best_ns = INT64_MAX;
    bool best_knew = false;

    for (uint32_t i = 1; i < r->remotes.count; i++) {
        struct node_remote_site *f = &r->remotes.list[i];
        bool knew = r->m.sites[i].knew;
        struct net_peer_stats stats;

        if (!f->up || (r->copy_refused >> i & 1) != 0 || !mirror_may_copy(&r->m, i)) {
            continue;
        }
        net_peer_stats(f->out, &stats);
        if ((knew && !best_knew) || (knew == best_knew && stats.rtt_ns < best_ns)) {
            best_knew = knew;
            best_ns = stats.rtt_ns;
            best = f;
        }
    }
    return best;
}

static void copy_set_from(struct node_mirror *r, uint32_t site)
{
    r->copy_from = site;
    mirror_set_copying(&r->m, site != MIRROR_NOBODY);
    node_mirror_release(r);
}

/* First what it has; then, when that is known to fit, for all of it: chunks come by another session
 * than the answer, and could overtake it. */
static bool copy_ask(struct node_mirror *r, struct node_remote_site *f, bool go)
{
    json_t *fields = json_pack("{s:b}", "go", (int)go);
    enum err rc = node_control_send(f->out, r->lane->pool, NODE_OP_COPY, 1, fields);

    json_decref(fields);
    return rc == OK;
}

/* What is known of the others is enough to begin, or to take a copy. */
static bool copy_may_begin(const struct node_mirror *r)
{
    uint32_t seen = 1;

    if (mirror_all_greeted(&r->m)) {
        return true;
    }
    for (uint32_t i = 1; i < r->remotes.count; i++) {
        seen += r->remotes.list[i].up && r->m.sites[i].greeted;
    }
    return r->between->away_ns > 0 &&
           node_mirror_now(r) - r->started_ns >
               r->between->away_ns + (int64_t)COPY_PATIENCE_S * 1000000000 &&
           (!r->between->majority || seen * 2 > r->remotes.count);
}

/* Workers that came while it was not known what to go on from. */
static void copy_let_in(struct node_mirror *r)
{
    r->kept_out = false;
    node_restore_look(r->lane);
    node_operate_newcomers(r->lane);
}

static void copy_begin(struct node_mirror *r, uint64_t clock)
{
    bool fresh = r->m.fresh;

    mirror_begin(&r->m, clock);
    copy_set_from(r, MIRROR_NOBODY);
    r->copy_refused = 0;
    if (fresh) {
        node_lane_trace(r->lane, "begins after clock %" PRIu64, clock);
        copy_let_in(r);
    }
    node_mirror_early(r);
    node_mirror_wake(r);
    node_mirror_pump(r);
}

void node_remote_copy_look(struct node_mirror *r)
{
    struct node_remote_site *from;

    if (!r->started || r->copy_from != MIRROR_NOBODY ||
        (r->m.fresh && (!node_mirror_alive(r) || !copy_may_begin(r)))) {
        return;
    }
    if (!mirror_needs_copy(&r->m)) {
        r->copy_refused = 0;
        if (r->m.fresh) {
            copy_begin(r, 0);
        } else if (r->kept_out) {
            copy_let_in(r);
        }
        return;
    }
    from = copy_best(r);
    if (from != NULL && node_handshake_make_tables(from) && copy_ask(r, from, false)) {
        copy_set_from(r, from->index);
        r->kept_out = true;
        r->copy_left = UINT64_MAX; /* Until it has answered. */
        node_lane_trace(r->lane, "asks site %s for a copy", from->site.name);
    } else {
        r->copy_refused = 0; /* All refused, or nobody is there: once more from the beginning. */
    }
}

void node_remote_copy_over(struct node_mirror *r, const struct node_remote_site *f)
{
    if (r->copy_from == f->index) {
        copy_set_from(r, MIRROR_NOBODY);
    }
}

/* Giving. */

/* Which pieces of which sites the chunk contains, those of our own included. */
static uint32_t copy_ranges(const struct node_mirror *r, uint32_t chunk, struct wire_range *out)
{
    for (uint32_t i = 0; i < r->remotes.count; i++) {
        struct wire_range its = {.site = i == MIRROR_SELF ? r->remotes.id : r->remotes.list[i].id,
                                 .number = i == MIRROR_SELF ? r->m.made[chunk]
                                                            : mirror_contained(&r->m, chunk, i)};
        uint32_t at = i;

        for (; at > 0 && out[at - 1].site > its.site; at--) {
            out[at] = out[at - 1];
        }
        out[at] = its;
    }
    return r->remotes.count;
}

/* All of it now. */
static enum err copy_give(struct node_mirror *r, struct node_remote_site *f)
{
    node_drain_of(f)->copy_next = 1;
    r->stats.copies++;
    node_lane_trace(r->lane, "gives site %s a copy", f->site.name);
    node_mirror_pump(r);
    return OK;
}

enum err node_remote_copy_asked(struct node_mirror *r, struct node_remote_site *f, uint32_t call,
                                bool go)
{
    json_t *sites = json_array();
    json_t *fields;
    enum err rc;

    if (go) {
        json_decref(sites);
        return copy_give(r, f);
    }
    if (r->m.fresh || r->copy_from != MIRROR_NOBODY) {
        json_decref(sites);
        return node_control_refuse(f->in, r->lane->pool, NODE_OP_COPY, call, ERR_AGAIN,
                                   "this site has no whole copy itself");
    }
    for (uint32_t i = 0; i < r->remotes.count; i++) {
        const struct mirror_site *s = &r->m.sites[i];
        bool stored = r->m.stored >= r->m.number; /* Else nobody may build on the last ones. */
        uint64_t stable = i != MIRROR_SELF ? s->stable : stored ? r->m.number : r->m.stored;
        uint64_t clock = i != MIRROR_SELF                 ? s->clock
                         : stored                         ? r->m.clock
                         : r->m.clock < r->m.stored_clock ? r->m.clock
                                                          : r->m.stored_clock;

        (void)json_array_append_new(
            sites, json_pack("{s:I, s:I, s:I}", "site",
                             (json_int_t)(i == MIRROR_SELF ? r->remotes.id : r->remotes.list[i].id),
                             "stable", (json_int_t)stable, "clock", (json_int_t)clock));
    }
    fields = json_pack("{s:I, s:I, s:o}", "clock", (json_int_t)r->m.clock, "chunks",
                       (json_int_t)r->chunks_count, "sites", sites);
    rc = node_control_send(f->in, r->lane->pool, NODE_OP_COPY | NODE_ANSWER, call, fields);
    json_decref(fields);
    return rc;
}

static enum err copy_send(struct node_mirror *r, struct node_remote_site *f, uint32_t chunk)
{
    struct node_lane *l = r->lane;
    uint32_t elements = table_store_elements(l->tables, chunk);
    const float *values = table_store_values(l->tables, chunk);
    const float *held = r->chunks[chunk].held;
    struct wire_range ranges[WIRE_RANGES_MAX];
    struct wire_copy copy = {
        .chunk = {.table = table_store_table(l->tables, chunk),
                  .chunk = table_store_chunk(l->tables, chunk),
                  .origin = r->remotes.id,
                  .clock = r->m.clock,
                  .payload_bytes = elements * 4,
                  .payload = (const uint8_t *)r->scratch},
        .range_count = copy_ranges(r, chunk, ranges),
        .ranges = ranges,
    };
    struct buf *frame;
    enum err rc;

    for (uint32_t i = 0; i < elements; i++) {
        r->scratch[i] = values[i] - held[i]; /* What is held back is not shared yet. */
    }
    rc = wire_copy_encode(l->pool, &copy, &frame);
    if (rc == OK) {
        rc = net_peer_send_sealed(f->out, NET_DATA, frame);
        if (rc != OK) {
            buf_unref(frame);
        }
    }
    return rc;
}

void node_remote_copy_flow(struct node_mirror *r, struct node_remote_site *f)
{
    struct node_drain *d = node_drain_of(f);
    while (d->copy_next > 0 &&
           net_peer_has_room(f->out, LIMIT_CHUNK_BYTES + WIRE_MEMBERS_BYTES_MAX) &&
           node_room_spare(r->lane)) {
        if (d->copy_next > r->chunks_count) {
            d->copy_next = 0;
            return;
        }
        if (!node_mirror_keep_ready(r, (uint32_t)d->copy_next - 1) ||
            copy_send(r, f, (uint32_t)d->copy_next - 1) != OK) {
            return; /* The journal's commit looks again; or the tick. */
        }
        d->copy_next++;
    }
}

/* Taking. */

static bool copy_read_sites(struct node_mirror *r, const json_t *fields)
{
    const json_t *sites = json_object_get(fields, "sites");

    memset(r->copy_stable, 0, sizeof(r->copy_stable));
    memset(r->copy_clocks, 0, sizeof(r->copy_clocks));
    for (size_t i = 0; i < json_array_size(sites); i++) {
        const json_t *site = json_array_get(sites, i);
        const struct node_remote_site *f;
        uint64_t id, stable, clock;

        if (!node_json_u64(site, "site", UINT32_MAX, 0, &id) ||
            !node_json_u64(site, "stable", INT64_MAX, 0, &stable) ||
            !node_json_u64(site, "clock", INT64_MAX, 0, &clock)) {
            return false;
        }
        f = node_remote_of(&r->remotes, (uint32_t)id);
        if (f != NULL) {
            r->copy_stable[f->index] = stable;
            r->copy_clocks[f->index] = clock;
        }
    }
    return true;
}

/* Of what follows chunk by chunk no more is claimed than both have. */
static void copy_announce(struct node_mirror *r)
{
    for (uint32_t i = 1; i < r->remotes.count; i++) {
        const struct mirror_site *s = &r->m.sites[i];
        bool less = s->stable < r->copy_stable[i];

        mirror_adopt_site(&r->m, i, less ? s->stable : r->copy_stable[i],
                          less ? s->clock : r->copy_clocks[i]);
    }
}

static void copy_finish(struct node_mirror *r)
{
    struct node_lane *l = r->lane;
    uint64_t clock = r->copy_clock;

    for (uint32_t i = 1; i < r->remotes.count; i++) {
        mirror_adopt_site(&r->m, i, r->copy_stable[i], r->copy_clocks[i]);
    }
    if (r->m.fresh) {
        sync_restart(&l->sync);
        for (uint32_t c = 0; c < l->chunks_count; c++) {
            sync_restore(&l->sync, c, clock);
        }
    } else {
        clock = r->m.clock;
    }
    copy_begin(r, clock);
    node_mirror_keep_copy(r);
}

void node_remote_copy_answered(struct node_mirror *r, struct node_remote_site *f,
                               const json_t *fields)
{
    struct err_text text = {""};
    uint64_t chunks;
    bool ok = node_control_error(fields, &text) == OK && copy_read_sites(r, fields) &&
              node_json_u64(fields, "clock", INT64_MAX, 0, &r->copy_clock) &&
              node_json_u64(fields, "chunks", UINT32_MAX, 0, &chunks) &&
              /* Else it has a table of which we have not heard yet. */
              (chunks <= r->chunks_count || r->lane->config.closed) &&
              mirror_copy_fits(&r->m, f->index, r->copy_stable);

    if (r->copy_from != f->index) {
        return;
    }
    if (!ok || !copy_ask(r, f, true)) {
        copy_set_from(r, MIRROR_NOBODY);
        r->copy_refused |= UINT64_C(1) << f->index;
        return;
    }
    r->copy_left = chunks;
    copy_announce(r);
    if (chunks == 0) {
        copy_finish(r);
    }
}

/* The chunk as the other has shared it; then what we made that is not in it. */
static void copy_install(struct node_mirror *r, uint32_t index, const struct wire_copy *copy)
{
    struct node_lane *l = r->lane;
    uint32_t elements = table_store_elements(l->tables, index);
    float *values = table_store_values(l->tables, index);
    uint64_t ours = 0, over = 0;
    struct node_parcel *p;

    memcpy(values, copy->chunk.payload, (size_t)elements * 4);
    for (uint32_t i = 0; i < copy->range_count; i++) {
        struct wire_range range = wire_range(copy->ranges, i);
        const struct node_remote_site *site = node_remote_of(&r->remotes, range.site);

        if (site != NULL) {
            mirror_adopt(&r->m, index, site->index, range.number);
        } else if (range.site == r->remotes.id) {
            ours = range.number;
            if (r->m.fresh) {
                mirror_adopt(&r->m, index, MIRROR_SELF, range.number);
            }
        }
    }
    for (uint32_t i = 0; (p = mirror_above(&r->m, index, ours, i)) != NULL; i++) {
        over += codec_add(p->header.codec, buf_bytes(p->body), elements, values);
    }
    over += codec_add(CODEC_F32, r->chunks[index].held, elements, values);
    obs_counter_add(l->counters.nonfinite[NODE_IN_DELTAS], over);
    l->chunks[index]->changed = true;
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (s->state == NODE_IN && l->config.site.delivery == NODE_BROADCAST &&
            node_wants(s, table_store_table(l->tables, index))) {
            node_deliver_mark(s, index, true);
        }
    }
    (void)selective_look(&r->selective, &r->m, index);
    if (l->config.witness != NULL && l->config.witness->mirrored != NULL) {
        l->config.witness->mirrored(table_store_table(l->tables, index),
                                    table_store_chunk(l->tables, index), values, elements,
                                    l->config.user);
    }
}

enum err node_remote_copy_take(struct node_mirror *r, struct node_remote_site *f,
                               const struct net_frame *frame)
{
    struct node_lane *l = r->lane;
    struct wire_copy copy;
    uint32_t index;
    int16_t table;

    if (wire_copy_decode(&frame->header, frame->body, frame->header.body_bytes, &copy) != OK) {
        return ERR_PEER;
    }
    if (r->copy_from != f->index || r->copy_left == UINT64_MAX || r->copy_left == 0) {
        return OK; /* Of one that was given up. */
    }
    table = frame->header.table < TABLE_COUNT_MAX ? f->tables[frame->header.table] : -1;
    index = table < 0 ? TABLE_STORE_NONE
                      : table_store_find(l->tables, (uint16_t)table, frame->header.chunk);
    if (index != TABLE_STORE_NONE) {
        uint32_t elements = table_store_elements(l->tables, index);

        if (copy.chunk.payload_bytes != elements * 4 ||
            !codec_payload_valid(CODEC_F32, copy.chunk.payload, copy.chunk.payload_bytes,
                                 elements)) {
            return ERR_PEER;
        }
        copy_install(r, index, &copy);
    }
    if (--r->copy_left == 0) {
        copy_finish(r);
    }
    return OK;
}
