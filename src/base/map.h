/* Bounded hash table from 64-bit keys to pointers, with open addressing and linear probing.
 *
 * Its memory is taken once, at creation; adding beyond the limit is refused, never grown. The order
 * of iteration depends on the keys and on the order in which they came and went, so it is the same
 * on every machine, but two tables with the same keys may differ. */

#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct map_slot {
    uint64_t key;
    void *value; /* NULL: free. */
};

/* Fields are private to base/map.c. */
struct map {
    struct map_slot *slots;
    uint32_t mask;
    uint32_t count;
    uint32_t limit;
};

/* Prepare an empty table for at most @limit entries (at least one, at most 2^24). */
MUST_USE enum err map_init(struct map *m, uint32_t limit);
void map_deinit(struct map *m);

/* Return the value, or NULL. */
void *map_get(const struct map *m, uint64_t key);

/* Add @value, which is not NULL. ERR_EXISTS if the key is there, ERR_TOO_BIG at the limit. */
MUST_USE enum err map_add(struct map *m, uint64_t key, void *value);

/* Remove and return the value, or NULL. */
void *map_remove(struct map *m, uint64_t key);

static inline uint32_t map_count(const struct map *m)
{
    return m->count;
}

/* Walk all entries: start with *@cursor zero; false at the end. The table must not change. */
bool map_next(const struct map *m, uint32_t *cursor, uint64_t *key_out, void **value_out);

#endif
