/* Sums out, sparsified: a round's sum is added to what the lane holds back of the chunk; what is
 * large enough of that enters the values here and goes to the workers, who enter the same. A chunk
 * that had no updates in a round is looked at too: thresholds fall. */

#include "node/lane/state.h"
#include "obs/metric.h"
#include "wire/broadcast.h"

/* Where the round's update is taken from. The sum of what is entered is what counts, so it is made
 * of the sum what the applier would make of it: scaled, and rounded. */
static float *sparsified_fold(struct node_lane *l, uint32_t chunk,
                              const struct table_schema *schema)
{
    struct node_chunk *c = l->chunks[chunk];
    uint32_t elements = table_store_elements(l->tables, chunk);
    float *sum;

    if (c->accum.sum == NULL) {
        return c->residual;
    }
    table_accum_settle(&c->accum, schema, table_store_chunk(l->tables, chunk),
                       node_mirror_share(l->mirror, schema));
    sum = (float *)(void *)buf_bytes(c->accum.sum);
    if (c->residual == NULL) {
        return sum;
    }
    obs_counter_add(l->counters.nonfinite[NODE_IN_RESIDUAL],
                    node_sparsify_add(c->residual, sum, elements));
    c->residual_used = true;
    return c->residual;
}

static void sparsified_send(struct node_lane *l, uint32_t chunk, uint64_t version,
                            const struct codec_packed *packed)
{
    struct wire_member members[SYNC_MEMBERS_MAX];
    struct wire_broadcast b = {
        .chunk = {.table = table_store_table(l->tables, chunk),
                  .chunk = table_store_chunk(l->tables, chunk),
                  .clock = version,
                  .weight = 1, /* It is scaled already. */
                  .codec = (uint16_t)packed->codec,
                  .payload = (const uint8_t *)l->sparsifier.room,
                  .payload_bytes = packed->bytes},
        .member_count = node_deliver_members(l, chunk, members),
        .members = members,
    };
    struct wire_header header;
    enum wire_reason reason;
    struct buf *frame;

    if (wire_broadcast_encode(l->pool, &b, &frame) != OK) {
        node_deliver_all_marked(l, chunk, version);
        return;
    }
    CHECK(wire_header_decode(buf_bytes(frame), &header, &reason) == OK);
    buf_trim_front(frame, WIRE_HEADER_BYTES);
    node_deliver_to_all(l, chunk, &header, frame);
    buf_unref(frame);
    node_look_sent(&l->look);
}

static uint32_t sparsified_links(struct node_look_link *out, void *user)
{
    struct node_lane *l = user;
    uint32_t count = 0;

    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (node_deliver_wanted(s) && node_tree_direct(s) && count < NODE_LOOK_LINKS_MAX) {
            out[count++] = (struct node_look_link){.peer = s->peer, .meter = &s->meter};
        }
    }
    return count;
}

enum err node_deliver_begin(struct node_lane *l)
{
    const struct node_lane_config *c = &l->config;
    enum err rc = OK;

    if (c->site.push.on || c->site.broadcast.on) {
        rc = node_sparsify_open(&l->sparsifier, &c->site.broadcast, c->costs, c->mono_ns);
        if (rc == OK) {
            rc = node_sparsify_add_metrics(&l->sparsifier, c->registry, "broadcast");
        }
        if (rc == OK) {
            rc = node_look_open(&l->look, c->loop, &l->sparsifier, c->site.required,
                                c->heartbeat_ns, sparsified_links, l);
        }
    }
    return rc;
}

bool node_deliver_sparsified(struct node_lane *l, uint32_t chunk, uint64_t version)
{
    struct node_chunk *c = l->chunks[chunk];
    const struct table_schema *schema =
        table_store_schema(l->tables, table_store_table(l->tables, chunk));
    uint32_t elements = table_store_elements(l->tables, chunk);
    bool fresh = c->accum.sum != NULL;
    struct codec_packed packed;
    struct codec_plain plain;
    float *held;

    if (!fresh && !c->residual_used) {
        return false;
    }
    held = sparsified_fold(l, chunk, schema);
    node_sparsify_encode(&l->sparsifier, node_sparsify_threshold(&l->sparsifier, version), held,
                         elements, &packed);
    if (packed.count == 0 && !fresh) {
        return false;
    }
    if (packed.count == 0) {
        /* It is sent all the same: whose updates are in the chunk is news. */
        node_sparsify_encode_empty(&l->sparsifier, elements, &packed);
    }
    CHECK(node_sparsify_decode(&l->sparsifier, packed.codec, l->sparsifier.room, packed.bytes,
                               elements, &plain) == OK);
    obs_counter_add(l->counters.nonfinite[NODE_IN_VALUES],
                    node_sparsify_apply(schema, version, 1, &plain,
                                        table_store_values(l->tables, chunk),
                                        table_store_state(l->tables, chunk),
                                        node_mirror_held(l->mirror, chunk), l->scratch, elements));
    sparsified_send(l, chunk, version, &packed);
    return true;
}

const float *node_lane_held(const struct node_lane *l, uint16_t table, uint32_t chunk)
{
    uint32_t index = table_store_find(l->tables, table, chunk);

    return index == TABLE_STORE_NONE ? NULL : l->chunks[index]->residual;
}
