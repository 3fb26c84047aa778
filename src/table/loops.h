/* The loops over floats, compiled once for each kind of processor. Only within this module: others
 * use table/kernel.h and table/apply.h, which pick the widest that the processor has. Each gives
 * the same bits: element by element, each operation rounded (-ffp-contract=off), no reordering.
 * Only which NaN a NaN is may differ. */

#ifndef TABLE_LOOPS_H
#define TABLE_LOOPS_H

#include "table/apply.h"

/* What the appliers of a round have in common. */
struct table_step {
    float scale; /* Of the update. */
    float rate;
    float mu;
    float eps;
};

struct table_loops {
    const char *name;
    void (*add)(float *sum, const float *x, uint32_t count);
    void (*add_scaled)(float *sum, const float *x, float scale, uint32_t count);
    void (*scale)(float *x, float scale, uint32_t count);
    bool (*finite)(const float *x, uint32_t count);
    /* True if add_scaled() would leave finite numbers only. A product with an infinity or a NaN is
     * one of them again, and so is a sum: judging the result judges both arrays. */
    bool (*sum_finite)(const float *sum, const float *x, float scale, uint32_t count);
    /* By enum table_apply_kind: enter @u into @w and @state; returns how many elements were left as
     * they were, because the new ones would not have been finite. */
    uint32_t (*step[TABLE_APPLY_KINDS])(const struct table_step *step, float *w, float *state,
                                        const float *u, uint32_t count);
    /* The same, and what was added to @w is added to @held too. An element whose held would not be
     * finite is left as it was as well. */
    uint32_t (*track[TABLE_APPLY_KINDS])(const struct table_step *step, float *w, float *state,
                                         const float *u, float *held, uint32_t count);
};

enum { TABLE_LOOPS_MAX = 3 };

/* The @index-th kind, from the plainest on, below TABLE_LOOPS_MAX; NULL if this processor or this
 * build has none. */
const struct table_loops *table_loops_at(uint32_t index);

/* The widest. */
const struct table_loops *table_loops_best(void);

/* For loops.c. */
extern const struct table_loops table_loops_plain;
extern const struct table_loops table_loops_avx2;
extern const struct table_loops table_loops_avx512;

#endif
