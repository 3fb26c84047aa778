/* Sparsification. */

#include "node/sparsify/sparsify.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "codec/filter.h"
#include "obs/metric.h"
#include "table/apply.h"

enum { SIFT_LIST_BYTES = 12 }; /* A list of one element, and its value. */

void node_sparsify_totals_add(struct node_sparsify_totals *sum,
                              const struct node_sparsify_totals *more)
{
    sum->chunks += more->chunks;
    sum->elements += more->elements;
    sum->sent_elements += more->sent_elements;
    sum->bytes += more->bytes;
    sum->encode_ns += more->encode_ns;
    sum->decode_ns += more->decode_ns;
}

struct node_sparsify_totals node_sparsify_totals_since(const struct node_sparsify_totals *now,
                                                       const struct node_sparsify_totals *before)
{
    return (struct node_sparsify_totals){
        .chunks = now->chunks - before->chunks,
        .elements = now->elements - before->elements,
        .sent_elements = now->sent_elements - before->sent_elements,
        .bytes = now->bytes - before->bytes,
        .encode_ns = now->encode_ns - before->encode_ns,
        .decode_ns = now->decode_ns - before->decode_ns,
    };
}

static int64_t sparsify_tick(void *user)
{
    const struct node_sparsifier *f = user;

    return f->mono_ns();
}

static void sparsify_costs(struct node_sparsifier *f, const struct codec_costs *costs)
{
    f->costs = costs != NULL ? *costs : codec_costs_default;
    if (f->mono_ns != NULL && node_sparsify_is_auto(f->how)) {
        codec_costs_measure(f->coder, sparsify_tick, f, &f->costs);
    }
    codec_coder_set_costs(f->coder, &f->costs);
}

enum err node_sparsify_open(struct node_sparsifier *f, const struct node_sparsify_config *how,
                            const struct codec_costs *costs, int64_t (*mono_ns)(void))
{
    enum err rc;

    *f = (struct node_sparsifier){.how = how, .mono_ns = mono_ns};
    rc = codec_coder_create(&f->coder);
    if (rc == OK && how->on) {
        f->room = mem_calloc(LIMIT_CHUNK_ELEMENTS, sizeof(*f->room));
        rc = f->room == NULL ? ERR_NOMEM : OK;
    }
    if (rc != OK) {
        node_sparsify_close(f);
        return rc;
    }
    sparsify_costs(f, costs);
    return OK;
}

void node_sparsify_close(struct node_sparsifier *f)
{
    codec_coder_destroy(f->coder);
    mem_free(f->room);
    *f = (struct node_sparsifier){0};
}

static enum err sparsify_gauge(struct obs_registry *registry, const struct obs_label *label,
                               const char *name, const char *help, struct obs_gauge **out)
{
    struct obs_desc desc = {
        .name = name, .help = help, .labels = label, .labels_count = 1, .merge = OBS_MERGE_LAST};

    return obs_gauge_create(registry, &desc, out);
}

static enum err sparsify_counter(struct obs_registry *registry, const struct obs_label *label,
                                 uint32_t divisor, const char *name, const char *help,
                                 struct obs_counter **out)
{
    struct obs_desc desc = {
        .name = name, .help = help, .labels = label, .labels_count = 1, .divisor = divisor};

    return obs_counter_create(registry, &desc, out);
}

enum err node_sparsify_add_metrics(struct node_sparsifier *f, struct obs_registry *registry,
                                   const char *direction)
{
    const struct obs_label label = {"direction", direction};
    const struct obs_label encode = {"work", "encode"}, decode = {"work", "decode"};
    struct node_sparsify_metrics m = {0};
    enum err rc =
        sparsify_gauge(registry, &label, "strait_sparsify_threshold",
                       "Threshold in use: what is not above it is held back.", &m.threshold);

    if (rc == OK) {
        rc = sparsify_gauge(registry, &label, "strait_sparsify_high_threshold",
                            "1: links are too slow for the lower threshold.", &m.upper);
    }
    if (rc == OK) {
        rc = sparsify_counter(registry, &label, 0, "strait_sparsify_elements_total",
                              "Elements that were looked at.", &m.elements);
    }
    if (rc == OK) {
        rc = sparsify_counter(registry, &label, 0, "strait_sparsify_sent_elements_total",
                              "Elements that were not held back.", &m.sent_elements);
    }
    if (rc == OK) {
        rc = sparsify_counter(registry, &label, 0, "strait_sparsify_bytes_total",
                              "Bytes that these took, for each receiver.", &m.bytes);
    }
    if (rc == OK) {
        rc = sparsify_counter(registry, &encode, OBS_NS, "strait_codec_seconds_total",
                              "Time that compression took.", &m.encode_ns);
    }
    if (rc == OK) {
        rc = sparsify_counter(registry, &decode, OBS_NS, "strait_codec_seconds_total",
                              "Time that compression took.", &m.decode_ns);
    }
    if (rc == OK) {
        f->metrics = m;
    }
    return rc;
}

struct node_sparsify_state node_sparsify_state(const struct node_sparsifier *f)
{
    return (struct node_sparsify_state){.upper = f->up,
                                        .threshold = (double)f->threshold,
                                        .link_rate = f->link_rate,
                                        .totals = f->totals};
}

float node_sparsify_threshold(const struct node_sparsifier *f, uint64_t clock)
{
    return codec_threshold(f->up ? f->how->chain.up : f->how->chain.low, clock);
}

uint32_t node_sparsify_add(float *held, const float *update, uint32_t elements)
{
    return codec_add(CODEC_F32, update, elements, held);
}

static int64_t sparsify_now(const struct node_sparsifier *f)
{
    return f->mono_ns == NULL ? 0 : f->mono_ns();
}

static void sparsify_taken(struct node_sparsifier *f, const struct codec_packed *packed,
                           uint32_t elements, int64_t begun_ns)
{
    const struct node_sparsify_metrics *m = &f->metrics;
    int64_t took_ns = f->mono_ns != NULL
                          ? sparsify_now(f) - begun_ns
                          : codec_encode_ns(&f->costs, packed, elements, f->how->chain.cut);

    f->totals.chunks++;
    f->totals.elements += elements;
    f->totals.sent_elements += packed->count;
    f->totals.bytes += packed->bytes;
    f->totals.encode_ns += took_ns;
    if (m->threshold != NULL) {
        obs_gauge_set(m->threshold, (double)f->threshold);
        obs_gauge_set(m->upper, f->up ? 1 : 0);
        obs_counter_add(m->elements, elements);
        obs_counter_add(m->sent_elements, packed->count);
        obs_counter_add(m->bytes, packed->bytes);
        obs_counter_add(m->encode_ns, (uint64_t)took_ns);
    }
}

void node_sparsify_encode(struct node_sparsifier *f, float threshold, float *held,
                          uint32_t elements, struct codec_packed *packed)
{
    int64_t begun_ns = sparsify_now(f);

    codec_encode(f->coder, &f->how->chain, threshold, (double)f->link_rate, held, elements, f->room,
                 packed);
    f->threshold = threshold;
    sparsify_taken(f, packed, elements, begun_ns);
}

void node_sparsify_undo(struct node_sparsifier *f, const struct codec_packed *packed, float *held,
                        uint32_t elements)
{
    struct codec_plain plain;

    if (packed->count == 0) {
        return;
    }
    CHECK(codec_decode(f->coder, packed->codec, f->room, packed->bytes, elements, &plain) == OK);
    (void)codec_add(plain.codec, plain.payload, elements, held);
}

void node_sparsify_encode_empty(struct node_sparsifier *f, uint32_t elements,
                                struct codec_packed *packed)
{
    uint8_t *bytes = (uint8_t *)f->room;

    *packed = (struct codec_packed){.codec = CODEC_F32, .bytes = elements * 4};
    if (packed->bytes > SIFT_LIST_BYTES) {
        bytes_store32(bytes, 1);
        bytes_store32(bytes + 4, 0);
        f->room[2] = -0.0F;
        *packed = (struct codec_packed){.codec = CODEC_LIST, .bytes = SIFT_LIST_BYTES};
        return;
    }
    for (uint32_t i = 0; i < elements; i++) {
        f->room[i] = -0.0F;
    }
}

bool node_sparsify_may_skip(const struct table_schema *schema)
{
    return schema->combine == TABLE_SUM && schema->apply.kind != TABLE_MOMENTUM;
}

enum err node_sparsify_decode(struct node_sparsifier *f, uint32_t codec, const void *bytes,
                              uint32_t size, uint32_t elements, struct codec_plain *out)
{
    int64_t begun_ns = sparsify_now(f), took_ns = 0;
    enum err rc = codec_decode(f->coder, codec, bytes, size, elements, out);

    if (f->mono_ns != NULL) {
        took_ns = sparsify_now(f) - begun_ns;
    } else if (rc == OK) {
        took_ns = codec_decode_ns(&f->costs, codec, size,
                                  codec_index_count(out->codec, out->payload, elements), elements);
    }
    f->totals.decode_ns += took_ns;
    if (f->metrics.decode_ns != NULL) {
        obs_counter_add(f->metrics.decode_ns, (uint64_t)took_ns);
    }
    return rc;
}

uint32_t node_sparsify_apply(const struct table_schema *schema, uint64_t clock, float scale,
                             const struct codec_plain *plain, float *values, float *state,
                             float *held, float *dense, uint32_t elements)
{
    if (schema->apply.kind == TABLE_ADD && scale == 1.0F && held == NULL) {
        return codec_add(plain->codec, plain->payload, elements, values);
    }
    for (uint32_t i = 0; i < elements; i++) {
        dense[i] = -0.0F; /* Adding it changes nothing. */
    }
    (void)codec_add(plain->codec, plain->payload, elements, dense);
    return table_apply_run_tracked(&schema->apply, clock, scale, values, state, dense, held,
                                   elements);
}
