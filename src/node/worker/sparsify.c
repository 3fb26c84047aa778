/* Updates out, sparsified: each is added to what is held back of its chunk, and what is large
 * enough of that goes. Every clock looks at all that is held back, also where there was no update:
 * thresholds fall, and what was small enough is not for ever. */

#include "node/worker/state.h"
#include "table/kernel.h"
#include "wire/push.h"

#include <inttypes.h>

/* Write what goes of a chunk and send it. ERR_AGAIN: all is held as before. */
static enum err sparsify_send(struct node_worker *w, uint16_t table, uint32_t chunk,
                              float threshold, uint32_t weight, bool fresh)
{
    struct node_worker_table *t = w->tables[table];
    struct worker_lane *k = node_worker_lane_of(w, table, chunk);
    uint32_t elements = table_chunk_size(&t->schema, chunk);
    float *held = t->held[chunk].floats;
    struct codec_packed packed;
    struct wire_push push;
    struct buf *frame;
    enum err rc;

    node_sparsify_encode(&w->sparsifier, threshold, held, elements, &packed);
    if (packed.count == 0 && (!fresh || node_sparsify_may_skip(&t->schema))) {
        return OK;
    }
    if (packed.count == 0) {
        node_sparsify_encode_empty(&w->sparsifier, elements, &packed);
    }
    push = node_push_about(w, table, chunk, packed.bytes, weight);
    push.chunk.codec = (uint16_t)packed.codec;
    push.chunk.payload = (const uint8_t *)w->sparsifier.room;
    rc = wire_push_encode(w->config.pool, &push, &frame);
    if (rc == OK) {
        rc = net_peer_send_sealed(k->peer, NET_DATA, frame);
        if (rc != OK) {
            buf_unref(frame);
        }
    }
    if (rc != OK) {
        node_sparsify_undo(&w->sparsifier, &packed, held, elements);
        return rc;
    }
    node_look_sent(&w->look);
    if (w->config.witness != NULL) {
        w->config.witness->pushed(table, chunk, w->clock, packed.codec, w->sparsifier.room,
                                  packed.bytes, w->config.user);
    }
    return OK;
}

/* Once for each clock and chunk, however often sending is tried. */
static void sparsify_fold(struct node_worker *w, uint16_t table, uint32_t chunk,
                          const float *update)
{
    struct node_worker_table *t = w->tables[table];
    struct worker_residual *h = &t->held[chunk];
    uint32_t elements = table_chunk_size(&t->schema, chunk);

    if (h->folded == w->clock) {
        return;
    }
    h->folded = w->clock;
    if (!table_finite(update, elements)) {
        w->refused++;
        node_worker_notice(w,
                           "table %s: an update of clock %" PRIu64 " is not sent: it is not finite",
                           t->schema.name, w->clock);
        return;
    }
    if (w->config.witness != NULL) {
        w->config.witness->made(table, chunk, w->clock, update, elements, w->config.user);
    }
    h->used = true;
    node_worker_over(w, t->schema.name, w->clock, node_sparsify_add(h->floats, update, elements),
                     "an update");
}

static enum err sparsify_chunk(struct node_worker *w, uint16_t table, uint32_t chunk,
                               float threshold, uint32_t weight)
{
    struct node_worker_table *t = w->tables[table];
    struct worker_lane *k = node_worker_lane_of(w, table, chunk);
    const struct worker_residual *h = &t->held[chunk];
    enum err rc = OK;

    if (h->used && node_push_counts(w, k)) {
        if (!net_peer_has_room(k->peer, table_chunk_size(&t->schema, chunk) * 4 + 64)) {
            return ERR_AGAIN;
        }
        rc = sparsify_send(w, table, chunk, threshold, weight, h->folded == w->clock);
    }
    if (rc == OK) {
        t->pushed[chunk] = w->clock;
    }
    return rc;
}

enum err node_worker_sparsify(struct node_worker *w, uint16_t table, uint32_t chunk,
                              const float *update, uint32_t weight)
{
    struct node_worker_table *t = w->tables[table];

    if (!node_push_counts(w, node_worker_lane_of(w, table, chunk))) {
        t->pushed[chunk] = w->clock; /* Nothing of this clock counts there. */
        return OK;
    }
    sparsify_fold(w, table, chunk, update);
    return sparsify_chunk(w, table, chunk, node_sparsify_threshold(&w->sparsifier, w->clock),
                          weight);
}

/* What was collected for a chunk is folded in; it is sent with all the rest. */
static void sparsify_collected(struct node_worker *w, uint16_t table, uint32_t chunk)
{
    struct node_worker_table *t = w->tables[table];
    struct table_accum *a = &t->pending[chunk];

    if (a->sum != NULL) {
        table_accum_densify(a, &t->plain, chunk);
        if (node_push_counts(w, node_worker_lane_of(w, table, chunk))) {
            sparsify_fold(w, table, chunk, (const float *)(const void *)buf_bytes(a->sum));
        }
        table_accum_clear(a);
    }
}

static enum err sparsify_all(struct node_worker *w, float threshold, uint32_t weight)
{
    enum err rc = OK;

    for (uint16_t id = 0; id < TABLE_COUNT_MAX && rc == OK; id++) {
        struct node_worker_table *t = w->tables[id];

        for (uint32_t c = 0; t != NULL && c < t->chunks && rc == OK; c++) {
            sparsify_collected(w, id, c);
            if (t->pushed[c] != w->clock) {
                rc = sparsify_chunk(w, id, c, threshold, weight);
            }
        }
    }
    if (rc != OK) {
        loop_timer_start_in(&w->poll, (int64_t)WORKER_POLL_MS * 1000000);
    }
    return rc;
}

enum err node_worker_sparsify_flush(struct node_worker *w, uint32_t weight)
{
    return sparsify_all(w, node_sparsify_threshold(&w->sparsifier, w->clock), weight);
}

/* Nothing stays behind with who leaves: what is held back is its last clock. */
enum err node_worker_flush_residuals(struct node_worker *w)
{
    return sparsify_all(w, 0, 1);
}

static uint32_t sparsify_links(struct node_look_link *out, void *user)
{
    struct node_worker *w = user;
    uint32_t count = 0;

    for (uint32_t i = 0; i < w->lanes_count; i++) {
        struct worker_lane *k = w->lanes[i];

        if (k->peer != NULL && net_peer_is_up(k->peer)) {
            out[count++] = (struct node_look_link){.peer = k->peer, .meter = &k->meter};
        }
    }
    return count;
}

/* Once the site is known; also again, if there was no memory. */
enum err node_worker_sparsify_start(struct node_worker *w)
{
    enum err rc = OK;

    if (!w->site.push.on && !w->site.broadcast.on) {
        return OK;
    }
    if (w->sparsifier.coder == NULL) {
        rc = node_sparsify_open(&w->sparsifier, &w->site.push, w->config.costs, w->config.mono_ns);
    }
    if (rc == OK) {
        rc = node_sparsify_add_metrics(&w->sparsifier, w->config.registry, "push");
    }
    if (rc == OK && !node_look_opened(&w->look)) {
        rc = node_look_open(&w->look, w->config.loop, &w->sparsifier, w->site.required,
                            w->config.heartbeat_ns, sparsify_links, w);
    }
    return rc;
}

bool node_worker_has_residuals(const struct node_worker *w)
{
    for (uint32_t id = 0; node_sparsify_has_residual(&w->sparsifier) && id < TABLE_COUNT_MAX;
         id++) {
        const struct node_worker_table *t = w->tables[id];

        for (uint32_t c = 0; t != NULL && c < t->chunks; c++) {
            uint32_t elements = table_chunk_size(&t->schema, c);

            for (uint32_t i = 0; t->held[c].used && i < elements; i++) {
                if (t->held[c].floats[i] != 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

bool node_worker_unsent(const struct node_worker *w, uint16_t table, uint32_t chunk)
{
    const struct node_worker_table *t = table < TABLE_COUNT_MAX ? w->tables[table] : NULL;

    return t != NULL && t->held != NULL && chunk < t->chunks &&
           t->held[chunk].folded > t->pushed[chunk];
}

const float *node_worker_held(const struct node_worker *w, uint16_t table, uint32_t chunk)
{
    const struct node_worker_table *t = table < TABLE_COUNT_MAX ? w->tables[table] : NULL;

    return t == NULL || t->held == NULL || chunk >= t->chunks ? NULL : t->held[chunk].floats;
}
