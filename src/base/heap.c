#include "base/heap.h"

#include "base/mem.h"

#include <string.h>

enum { HEAP_WAYS = 4, HEAP_CAPACITY_FIRST = 16 };

void heap_init(struct heap *h, uint32_t limit)
{
    *h = (struct heap){.limit = limit};
}

void heap_deinit(struct heap *h)
{
    mem_free(h->slots);
    *h = (struct heap){0};
}

static bool heap_before(const struct heap_slot *a, const struct heap_slot *b)
{
    return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

static void heap_place(struct heap *h, uint32_t index, struct heap_slot slot)
{
    h->slots[index] = slot;
    slot.node->index = index;
}

static void heap_rise(struct heap *h, uint32_t index, struct heap_slot slot)
{
    while (index > 0) {
        uint32_t parent = (index - 1) / HEAP_WAYS;

        if (!heap_before(&slot, &h->slots[parent])) {
            break;
        }
        heap_place(h, index, h->slots[parent]);
        index = parent;
    }
    heap_place(h, index, slot);
}

static void heap_sink(struct heap *h, uint32_t index, struct heap_slot slot)
{
    for (;;) {
        uint64_t first = (uint64_t)index * HEAP_WAYS + 1;
        uint64_t last = first + HEAP_WAYS < h->count ? first + HEAP_WAYS : h->count;
        uint64_t best = first;

        if (first >= h->count) {
            break;
        }
        for (uint64_t i = first + 1; i < last; i++) {
            if (heap_before(&h->slots[i], &h->slots[best])) {
                best = i;
            }
        }
        if (!heap_before(&h->slots[best], &slot)) {
            break;
        }
        heap_place(h, index, h->slots[best]);
        index = (uint32_t)best;
    }
    heap_place(h, index, slot);
}

enum err heap_reserve(struct heap *h, uint32_t count)
{
    uint32_t capacity = h->capacity == 0 ? HEAP_CAPACITY_FIRST : h->capacity;
    struct heap_slot *slots;

    if (count > h->limit) {
        return ERR_TOO_BIG;
    }
    while (capacity < count) {
        capacity *= 2;
    }
    if (capacity == h->capacity) {
        return OK;
    }
    slots = mem_calloc(capacity, sizeof(*slots));
    if (slots == NULL) {
        return ERR_NOMEM;
    }
    if (h->count > 0) {
        memcpy(slots, h->slots, h->count * sizeof(*slots));
    }
    mem_free(h->slots);
    h->slots = slots;
    h->capacity = capacity;
    return OK;
}

enum err heap_push(struct heap *h, struct heap_node *n, int64_t at_ns)
{
    CHECK(!heap_contains(n));
    if (h->count == h->capacity || h->count >= h->limit) {
        enum err rc = heap_reserve(h, h->count + 1);

        if (rc != OK) {
            return rc;
        }
    }
    h->count++;
    heap_rise(h, h->count - 1, (struct heap_slot){at_ns, h->order++, n});
    return OK;
}

void heap_move(struct heap *h, struct heap_node *n, int64_t at_ns)
{
    uint32_t index = n->index;
    struct heap_slot slot = {at_ns, h->order++, n};

    CHECK(index < h->count && h->slots[index].node == n);
    if (heap_before(&slot, &h->slots[index])) {
        heap_rise(h, index, slot);
    } else {
        heap_sink(h, index, slot);
    }
}

void heap_remove(struct heap *h, struct heap_node *n)
{
    uint32_t index = n->index;
    struct heap_slot last;

    if (index == HEAP_NOWHERE) {
        return;
    }
    CHECK(index < h->count && h->slots[index].node == n);
    n->index = HEAP_NOWHERE;
    last = h->slots[--h->count];
    if (index == h->count) {
        return;
    }
    if (index > 0 && heap_before(&last, &h->slots[(index - 1) / HEAP_WAYS])) {
        heap_rise(h, index, last);
    } else {
        heap_sink(h, index, last);
    }
}

struct heap_node *heap_first(const struct heap *h, int64_t *at_ns_out)
{
    if (h->count == 0) {
        return NULL;
    }
    if (at_ns_out != NULL) {
        *at_ns_out = h->slots[0].at_ns;
    }
    return h->slots[0].node;
}
