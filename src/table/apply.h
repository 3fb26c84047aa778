/* F(W, U): how the summed update of a round enters the parameters. Server and workers apply the
 * same function to the same sum and must get the same bits (F1), on any machine: element by
 * element, no contraction, no reordering. Each operation is rounded, in the order in which the
 * formulas below have them; U is the sum times the scale, rounded first.
 *
 * An element whose new value or state would not be finite keeps its old ones (NaN and Inf never
 * enter a table); that is part of the function, so it happens alike everywhere. */

#ifndef TABLE_APPLY_H
#define TABLE_APPLY_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum table_apply_kind {
    TABLE_ADD,      /* W += U */
    TABLE_SGD,      /* W -= lr(t) U */
    TABLE_MOMENTUM, /* M = mu M + U; W -= lr(t) M */
    TABLE_ADAGRAD,  /* G += U U; W -= lr(t) U / (sqrt(G) + eps) */
};

enum table_decay {
    TABLE_DECAY_NONE,
    TABLE_DECAY_STEP, /* lr * factor ^ floor((t - 1) / every) */
    TABLE_DECAY_SQRT, /* lr / sqrt(t) */
    TABLE_DECAY_EXP,  /* lr * factor ^ (t - 1) */
};

enum {
    TABLE_APPLY_KINDS = TABLE_ADAGRAD + 1,
    TABLE_DECAYS = TABLE_DECAY_EXP + 1,
    TABLE_APPLY_TEXT_BYTES = 160, /* Room for every printed applier. */
};

/* What a kind or decay does not use is zero. */
struct table_apply {
    enum table_apply_kind kind;
    enum table_decay decay;
    float lr;     /* Above 0. */
    float mu;     /* At least 0, below 1. */
    float eps;    /* Above 0. */
    float factor; /* Above 0, at most 1. */
    uint32_t every;
    uint32_t warmup; /* Clocks over which lr grows from lr / warmup; zero: none. */
};

/* "add", "sgd lr=0.1", "sgd lr=0.1 decay=step every=10 factor=0.5 warmup=5", "momentum lr=0.01
 * mu=0.9", "adagrad lr=0.1 eps=1e-8" (the default). Decays: none, step (needs every and factor),
 * sqrt, exp (needs factor). ERR_INVALID with a text that names the bad word and what is allowed. */
MUST_USE enum err table_apply_parse(const char *in, struct table_apply *out, struct err_text *text);

/* The same as text, for schemas on the wire and in checkpoints: parsing it gives the same. @size is
 * at least TABLE_APPLY_TEXT_BYTES. */
void table_apply_print(const struct table_apply *apply, char *out, size_t size);

MUST_USE bool table_apply_equal(const struct table_apply *a, const struct table_apply *b);

/* How many arrays of state there are beside the values: 0 or 1. */
uint32_t table_apply_planes(const struct table_apply *apply);

/* The learning rate of round @clock, from 1 (zero counts as 1); 1 if there is none. Deterministic
 * on every machine: in double, by multiplication, division and square root only, which IEEE 754
 * rounds exactly; powers by squaring. No libm, whose results differ between versions. */
float table_apply_rate(const struct table_apply *apply, uint64_t clock);

/* Enter the sum @u times @scale, of round @clock. @state is NULL without planes. Returns how many
 * elements kept their old value because the new one would not have been finite. */
uint32_t table_apply_run(const struct table_apply *apply, uint64_t clock, float scale, float *w,
                         float *state, const float *u, uint32_t count);

/* The same, and whatever is added to an element of @w is added to that of @held too: what the other
 * sites do not have yet (G3). An element of @held that would not be finite keeps its value, and so
 * do the element's value and state. @held is NULL: as above. */
uint32_t table_apply_run_tracked(const struct table_apply *apply, uint64_t clock, float scale,
                                 float *w, float *state, const float *u, float *held,
                                 uint32_t count);

#endif
