/* Intrusive priority queue of things that are due at a time: a 4-ary heap ordered by (time, then
 * order of insertion), so that equal times come out first in, first out on every machine.
 *
 * The heap stores keys beside the pointers: comparing never touches the elements. */

#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define HEAP_NOWHERE UINT32_MAX /* Too large for an enum constant of C17. */

/* Embedded in the element; fields are private to base/heap.c. */
struct heap_node {
    uint32_t index; /* HEAP_NOWHERE when not queued. */
};

struct heap_slot {
    int64_t at_ns;
    uint64_t order;
    struct heap_node *node;
};

struct heap {
    struct heap_slot *slots;
    uint32_t count;
    uint32_t capacity;
    uint32_t limit;
    uint64_t order;
};

/* Prepare an empty heap that grows up to @limit elements. */
void heap_init(struct heap *h, uint32_t limit);
void heap_deinit(struct heap *h);

/* Make room for @count elements in all, so that pushing up to that many cannot fail. */
MUST_USE enum err heap_reserve(struct heap *h, uint32_t count);

static inline void heap_node_init(struct heap_node *n)
{
    n->index = HEAP_NOWHERE;
}

static inline bool heap_contains(const struct heap_node *n)
{
    return n->index != HEAP_NOWHERE;
}

/* Queue @n, which must not be queued. ERR_NOMEM, or ERR_TOO_BIG at the limit. */
MUST_USE enum err heap_push(struct heap *h, struct heap_node *n, int64_t at_ns);

/* Give the queued @n another time; it goes behind those of the same time. */
void heap_move(struct heap *h, struct heap_node *n, int64_t at_ns);

/* Not queued is allowed. */
void heap_remove(struct heap *h, struct heap_node *n);

/* Return the earliest element, or NULL. Its time goes to @at_ns_out unless that is NULL. */
struct heap_node *heap_first(const struct heap *h, int64_t *at_ns_out);

#endif
