/* The sum of one chunk's updates in a round. The first dense update becomes the sum: its buffer is
 * taken over, nothing is copied or zeroed. Sparse ones fill rows as they come, and only these are
 * looked at when the round closes. */

#ifndef TABLE_ACCUM_H
#define TABLE_ACCUM_H

#include "table/schema.h"

struct buf;
struct buf_pool;

/* Zeroed: empty. Fields are private to table/accum.c but for the reading of .sum, .weight and
 * .count. */
struct table_accum {
    struct buf *sum;     /* NULL: nothing yet. Holds the chunk's floats and nothing else. */
    struct buf *touched; /* One bit per row that is in the sum; NULL: all of it is. */
    uint32_t weight;     /* As a broadcast carries it: samples or contributions. */
    uint32_t count;      /* Contributions. */
};

/* The size of the buffer that the sum of a chunk of @elements takes. */
uint32_t table_accum_bytes(uint32_t elements);

/* Make sure that adding will find memory. @dense: the update brings a buffer of its own. ERR_AGAIN,
 * ERR_NOMEM: try again later. */
MUST_USE enum err table_accum_prepare(struct table_accum *a, const struct table_schema *s,
                                      uint32_t chunk, struct buf_pool *pool, bool dense);

/* Add a dense update of the whole chunk, whose floats are @x; prepared before. @own: a buffer that
 * holds just these floats and may be kept, or NULL if the sum exists. Returns with @own taken over
 * (it is unreferenced if not kept). The update must be finite; a sum that would not be is clipped
 * at the applier. */
void table_accum_add(struct table_accum *a, const struct table_schema *s, uint32_t chunk,
                     const float *x, struct buf *own, uint32_t weight);

/* Add rows, valid by table_rows_valid(); prepared before. */
void table_accum_add_rows(struct table_accum *a, const struct table_schema *s, uint32_t chunk,
                          const void *rows, uint32_t count, const float *x, uint32_t weight);

/* Add in place: the floats of the whole sum, prepared before, zero where nothing was added; then
 * count what was added. For tables whose updates are not multiplied by their weight. */
float *table_accum_open(struct table_accum *a, const struct table_schema *s, uint32_t chunk);
void table_accum_count(struct table_accum *a, const struct table_schema *s, uint32_t weight);

/* The first row from @from on that is in the sum, or @rows: there are so many in the chunk. */
uint32_t table_accum_next_row(const struct table_accum *a, uint32_t from, uint32_t rows);

/* Zero what no update touched, so that the sum can be sent. */
void table_accum_densify(struct table_accum *a, const struct table_schema *s, uint32_t chunk);

/* By what the sum is multiplied when it is applied. */
float table_accum_scale(enum table_combine combine, uint32_t weight);

/* Make of the sum what is entered: densified, and multiplied by its scale and @share, each product
 * rounded. It weighs 1 then, so whoever applies it enters the same bits. */
void table_accum_settle(struct table_accum *a, const struct table_schema *s, uint32_t chunk,
                        float share);

/* Apply it to the values as round @clock. Returns how many elements kept their old value. */
uint32_t table_accum_apply(const struct table_accum *a, const struct table_schema *s,
                           uint32_t chunk, uint64_t clock, float *values, float *state);

/* The same for one of several sites. @share multiplies the scale of the sum (1: alone; a mean over
 * n sites: 1 / n), and is rounded with it. What is added to the values is added to @held, unless
 * that is NULL: see table_apply_run_tracked(). Rows that no update touched are left alone there
 * too. */
uint32_t table_accum_apply_tracked(const struct table_accum *a, const struct table_schema *s,
                                   uint32_t chunk, uint64_t clock, float share, float *values,
                                   float *state, float *held);

/* Let go of the buffers. */
void table_accum_clear(struct table_accum *a);

#endif
