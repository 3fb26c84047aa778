#include "base/ring.h"

#include "base/mem.h"

enum { RING_LIMIT_MAX = 1 << 24 };

enum err ring_init(struct ring *r, uint32_t limit)
{
    uint32_t slots = 1;

    CHECK(limit > 0 && limit <= RING_LIMIT_MAX);
    while (slots < limit) {
        slots *= 2;
    }
    *r = (struct ring){.mask = slots - 1, .limit = limit};
    r->slots = mem_calloc(slots, sizeof(*r->slots));
    return r->slots == NULL ? ERR_NOMEM : OK;
}

void ring_deinit(struct ring *r)
{
    mem_free(r->slots);
    *r = (struct ring){0};
}

enum err ring_push(struct ring *r, void *element)
{
    if (ring_count(r) >= r->limit) {
        return ERR_AGAIN;
    }
    r->slots[r->tail++ & r->mask] = element;
    return OK;
}

void *ring_pop(struct ring *r)
{
    return r->head == r->tail ? NULL : r->slots[r->head++ & r->mask];
}

void *ring_peek(const struct ring *r, uint32_t index)
{
    return index >= ring_count(r) ? NULL : r->slots[(r->head + index) & r->mask];
}
