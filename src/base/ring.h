/* Bounded first-in first-out queue of pointers; its memory is taken once, at creation. */

#ifndef BASE_RING_H
#define BASE_RING_H

#include "base/err.h"

#include <stdint.h>

/* Fields are private to base/ring.c. */
struct ring {
    void **slots;
    uint32_t mask;
    uint32_t limit;
    uint32_t head; /* Counts pops; wraps. */
    uint32_t tail; /* Counts pushes; wraps. */
};

/* Prepare an empty queue for at most @limit elements (at least one, at most 2^24). */
MUST_USE enum err ring_init(struct ring *r, uint32_t limit);
void ring_deinit(struct ring *r);

static inline uint32_t ring_count(const struct ring *r)
{
    return r->tail - r->head;
}

/* ERR_AGAIN when full. */
MUST_USE enum err ring_push(struct ring *r, void *element);

/* Return the oldest element and remove it, or NULL. */
void *ring_pop(struct ring *r);

/* Return the @index-th oldest element, or NULL. */
void *ring_peek(const struct ring *r, uint32_t index);

#endif
