/* What a member of a site sends to the others is sifted (F3, F4, F6): what is too small is held
 * back and added to what comes later, the rest is written as the site says. A worker sifts what it
 * pushes, a lane what it broadcasts.
 *
 * Sent + held back is what was made, to the bit, as far as sums of floats are exact. What is held
 * back is in memory only: who dies takes it along, at most the threshold of each element. */

#ifndef NODE_SPARSIFY_SIFT_H
#define NODE_SPARSIFY_SIFT_H

#include "codec/coder.h"
#include "table/schema.h"

struct obs_counter;
struct obs_gauge;
struct obs_registry;

struct node_sifting {
    bool on;
    struct codec_chain chain;
};

/* Are there two thresholds, between which the network chooses (F5)? */
static inline bool node_sifting_moves(const struct node_sifting *s)
{
    return s->on && s->chain.low < s->chain.up;
}

struct node_sift_totals {
    uint64_t chunks;
    uint64_t elements; /* That were looked at, ... */
    uint64_t kept;     /* ... and went. */
    uint64_t bytes;    /* That they took. */
    int64_t encode_ns; /* How long that took, and reading what others sent: by the clock, or as */
    int64_t decode_ns; /* the costs say, see node_sift_open(). */
};

void node_sift_totals_add(struct node_sift_totals *sum, const struct node_sift_totals *more);

/* What came after @before. */
struct node_sift_totals node_sift_totals_since(const struct node_sift_totals *now,
                                               const struct node_sift_totals *before);

/* How a member sifts, for people. */
struct node_sift_state {
    bool upper;         /* The upper threshold counts. */
    double threshold;   /* The last that was used. */
    uint64_t link_rate; /* Of the slowest link, bytes per second; zero: unknown. */
    struct node_sift_totals totals;
};

struct node_sift_metrics {
    struct obs_gauge *threshold; /* NULL: nobody counts. */
    struct obs_gauge *upper;
    struct obs_counter *elements;
    struct obs_counter *kept;
    struct obs_counter *bytes;
    struct obs_counter *encode_ns;
    struct obs_counter *decode_ns;
};

/* Fields are private to src/node but for .totals and .up. */
struct node_sift {
    const struct node_sifting *how; /* What is sent: NULL or off: nothing is sifted here. */
    struct codec_coder *coder;
    float *room;        /* The payload that was written last. */
    bool up;            /* The network is short: the upper threshold counts (F5). */
    uint64_t link_rate; /* Of the slowest link that it sends on, bytes per second; zero: unknown. */
    struct codec_costs costs;
    int64_t (*mono_ns)(void); /* NULL: time is what the costs say. */
    float threshold;          /* The last that was used. */
    struct node_sift_totals totals;
    struct node_sift_metrics metrics;
};

/* @how must stay where it is; it may be off: then this can still take in what others sifted.
 * @mono_ns is a clock: what compression costs is measured once, for what is chosen by it, and how
 * long it takes is measured each time. NULL: @costs say it (NULL: the default ones), which
 * simulations need. */
MUST_USE enum err node_sift_open(struct node_sift *f, const struct node_sifting *how,
                                 const struct codec_costs *costs, int64_t (*mono_ns)(void));
void node_sift_close(struct node_sift *f);

/* Count for others too, as what is sent in @direction: "push" or "broadcast". */
MUST_USE enum err node_sift_count(struct node_sift *f, struct obs_registry *registry,
                                  const char *direction);

struct node_sift_state node_sift_state(const struct node_sift *f);

static inline bool node_sift_on(const struct node_sift *f)
{
    return f->how != NULL && f->how->on;
}

/* Is some of the form chosen by what costs least on the link? */
static inline bool node_sifting_chooses(const struct node_sifting *s)
{
    return s->on && (s->chain.form == CODEC_FORM_AUTO || s->chain.squeeze == CODEC_SQUEEZE_AUTO);
}

/* Is anything ever held back? */
static inline bool node_sift_holds(const struct node_sift *f)
{
    return node_sift_on(f) && f->how->chain.cut != CODEC_CUT_NONE;
}

/* The threshold at @clock. */
float node_sift_threshold(const struct node_sift *f, uint64_t clock);

/* Add @update to what is held. An element whose sum would not be finite keeps its value; returns
 * how many did. */
uint32_t node_sift_fold(float *held, const float *update, uint32_t elements);

/* Take what goes out of @held and write it to .room. */
void node_sift_take(struct node_sift *f, float threshold, float *held, uint32_t elements,
                    struct codec_packed *packed);

/* It could not be sent after all: back with what node_sift_take() has just written. */
void node_sift_back(struct node_sift *f, const struct codec_packed *packed, float *held,
                    uint32_t elements);

/* Write to .room that nothing goes: a payload that changes no value. */
void node_sift_nothing(struct node_sift *f, uint32_t elements, struct codec_packed *packed);

/* Need a sum of nothing not be sent at all? It must where others count it, or where an applier
 * moves by itself. */
bool node_sift_may_skip(const struct table_schema *schema);

/* Judge what came in. ERR_INVALID: no peer of ours wrote that. Good until the next call of any of
 * these. */
MUST_USE enum err node_sift_decode(struct node_sift *f, uint32_t codec, const void *bytes,
                                   uint32_t size, uint32_t elements, struct codec_plain *out);

/* Enter the payload into the values as round @clock, as table_apply_run_tracked() would enter it
 * with all that it does not name as -0.0. @dense has room for the elements. Returns how many kept
 * their value. */
uint32_t node_sift_apply(const struct table_schema *schema, uint64_t clock, float scale,
                         const struct codec_plain *plain, float *values, float *state, float *held,
                         float *dense, uint32_t elements);

#endif
