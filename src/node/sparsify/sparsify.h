/* Sparsification with error feedback (Parameter Flow: value-bounded filter): add the update to the
 * residual, send the elements above the threshold, keep the rest as residual. A worker does so with
 * what it pushes, a lane with what it broadcasts.
 *
 * Sent + residual = produced, exactly, as far as sums of floats are exact. The residual is in
 * memory only: a crash loses at most the threshold per element. */

#ifndef NODE_SPARSIFY_SPARSIFY_H
#define NODE_SPARSIFY_SPARSIFY_H

#include "codec/coder.h"
#include "table/schema.h"

struct obs_counter;
struct obs_gauge;
struct obs_registry;

struct node_sparsify_config {
    bool on;
    struct codec_chain chain;
};

/* Two thresholds, chosen by the rate of the links (Parameter Flow: network-aware)? */
static inline bool node_sparsify_is_adaptive(const struct node_sparsify_config *s)
{
    return s->on && s->chain.low < s->chain.up;
}

struct node_sparsify_totals {
    uint64_t chunks;
    uint64_t elements;      /* Compared with the threshold. */
    uint64_t sent_elements; /* Above it. */
    uint64_t bytes;         /* Of payloads that were sent. */
    int64_t encode_ns;      /* Measured, or by the costs of node_sparsify_open(). */
    int64_t decode_ns;      /* The same, for payloads that were received. */
};

void node_sparsify_totals_add(struct node_sparsify_totals *sum,
                              const struct node_sparsify_totals *more);

/* The difference of two totals. */
struct node_sparsify_totals node_sparsify_totals_since(const struct node_sparsify_totals *now,
                                                       const struct node_sparsify_totals *before);

/* For reports and status. */
struct node_sparsify_state {
    bool upper;         /* The high threshold is in use. */
    double threshold;   /* Used last. */
    uint64_t link_rate; /* Of the slowest link, bytes per second; zero: unknown. */
    struct node_sparsify_totals totals;
};

struct node_sparsify_metrics {
    struct obs_gauge *threshold; /* NULL: no metrics. */
    struct obs_gauge *upper;
    struct obs_counter *elements;
    struct obs_counter *sent_elements;
    struct obs_counter *bytes;
    struct obs_counter *encode_ns;
    struct obs_counter *decode_ns;
};

/* Fields are private to src/node but for .totals and .up. */
struct node_sparsifier {
    const struct node_sparsify_config *how; /* NULL or off: nothing is sparsified here. */
    struct codec_coder *coder;
    float *room;        /* The payload written last. */
    bool up;            /* A link is slow: the high threshold is in use. */
    uint64_t link_rate; /* Of the slowest link that it sends on, bytes per second; zero: unknown. */
    struct codec_costs costs;
    int64_t (*mono_ns)(void); /* NULL: time is taken from the costs. */
    float threshold;          /* Used last. */
    struct node_sparsify_totals totals;
    struct node_sparsify_metrics metrics;
};

/* @how must outlive this; it may be off: payloads of other members can still be decoded. @mono_ns
 * is a clock: the cost of compression is measured once, where the encoding is chosen by cost, and
 * its time at each use. NULL: both are taken from @costs (NULL: the default ones), as simulations
 * need it. */
MUST_USE enum err node_sparsify_open(struct node_sparsifier *f,
                                     const struct node_sparsify_config *how,
                                     const struct codec_costs *costs, int64_t (*mono_ns)(void));
void node_sparsify_close(struct node_sparsifier *f);

/* Export metrics with the label @direction: "push" or "broadcast". */
MUST_USE enum err node_sparsify_add_metrics(struct node_sparsifier *f,
                                            struct obs_registry *registry, const char *direction);

struct node_sparsify_state node_sparsify_state(const struct node_sparsifier *f);

static inline bool node_sparsify_is_on(const struct node_sparsifier *f)
{
    return f->how != NULL && f->how->on;
}

/* Is the format or the compression chosen by cost? */
static inline bool node_sparsify_is_auto(const struct node_sparsify_config *s)
{
    return s->on && (s->chain.form == CODEC_FORM_AUTO || s->chain.squeeze == CODEC_SQUEEZE_AUTO);
}

/* Can there be a residual? */
static inline bool node_sparsify_has_residual(const struct node_sparsifier *f)
{
    return node_sparsify_is_on(f) && f->how->chain.cut != CODEC_CUT_NONE;
}

/* The threshold at @clock. */
float node_sparsify_threshold(const struct node_sparsifier *f, uint64_t clock);

/* Add @update to the residual @held. An element whose sum would not be finite keeps its value;
 * returns the number of these. */
uint32_t node_sparsify_add(float *held, const float *update, uint32_t elements);

/* Move the elements above the threshold from @held to a payload in .room. */
void node_sparsify_encode(struct node_sparsifier *f, float threshold, float *held,
                          uint32_t elements, struct codec_packed *packed);

/* The payload of the last node_sparsify_encode() was not sent: add it to the residual again. */
void node_sparsify_undo(struct node_sparsifier *f, const struct codec_packed *packed, float *held,
                        uint32_t elements);

/* Write a payload that changes no value. */
void node_sparsify_encode_empty(struct node_sparsifier *f, uint32_t elements,
                                struct codec_packed *packed);

/* May an empty payload be left out? Not where receivers count updates, or where the optimizer moves
 * without one. */
bool node_sparsify_may_skip(const struct table_schema *schema);

/* Validate a received payload. ERR_INVALID: malformed. @out is valid until the next call. */
MUST_USE enum err node_sparsify_decode(struct node_sparsifier *f, uint32_t codec, const void *bytes,
                                       uint32_t size, uint32_t elements, struct codec_plain *out);

/* Enter the payload into the values as round @clock, as table_apply_run_tracked() would enter it
 * with all that it does not name as -0.0. @dense has room for the elements. Returns how many
 * sent_elements their value. */
uint32_t node_sparsify_apply(const struct table_schema *schema, uint64_t clock, float scale,
                             const struct codec_plain *plain, float *values, float *state,
                             float *held, float *dense, uint32_t elements);

#endif
