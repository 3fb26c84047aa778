/* The rows of a table that one clock touches: collected in any order, listed in ascending order,
 * each with its place in the list. Clearing and listing cost as much as a bit per row of the table,
 * so nothing is sorted. */

#ifndef APP_SPARSE_H
#define APP_SPARSE_H

#include "base/err.h"

#include <stdint.h>

/* .rows and .count may be read once listed; the rest is private. */
struct sparse_set {
    uint32_t *rows;  /* The list. */
    uint32_t count;  /* How many there are in it. */
    uint32_t *slots; /* By row: its place in the list, if it is there. */
    uint64_t *bits;  /* By row: collected since the last list was made. */
    uint32_t words;  /* Of .bits. */
};

/* For a table of @rows rows. ERR_NOMEM. */
MUST_USE enum err sparse_set_init(struct sparse_set *s, uint32_t rows);
void sparse_set_deinit(struct sparse_set *s);

static inline void sparse_set_add(struct sparse_set *s, uint32_t row)
{
    s->bits[row / 64] |= UINT64_C(1) << (row % 64);
}

/* List what was collected since the last call, and forget the list from then. */
void sparse_set_list(struct sparse_set *s);

/* Where a row of the list is in it. */
static inline uint32_t sparse_set_slot(const struct sparse_set *s, uint32_t row)
{
    return s->slots[row];
}

#endif
