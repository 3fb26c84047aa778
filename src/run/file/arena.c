#include "run/file/arena.h"

#include "base/list.h"
#include "base/mem.h"

#include <stdint.h>
#include <string.h>

struct run_arena {
    struct list blocks;
};

/* Before each piece of memory. */
struct arena_block {
    struct list link;
    size_t size;
    _Alignas(max_align_t) uint8_t bytes[];
};

enum err run_arena_create(struct run_arena **arena_out)
{
    struct run_arena *a = mem_zalloc(sizeof(*a));

    if (a == NULL) {
        return ERR_NOMEM;
    }
    list_init(&a->blocks);
    *arena_out = a;
    return OK;
}

static void arena_release(struct arena_block *b)
{
    list_remove(&b->link);
    mem_free(b);
}

void run_arena_destroy(struct run_arena *a)
{
    if (a == NULL) {
        return;
    }
    while (!list_empty(&a->blocks)) {
        arena_release(LIST_ENTRY(list_first(&a->blocks), struct arena_block, link));
    }
    mem_free(a);
}

void *run_arena_alloc(struct run_arena *a, size_t count, size_t size)
{
    struct arena_block *b;

    if (size != 0 && count > (SIZE_MAX - sizeof(*b)) / size) {
        return NULL;
    }
    b = mem_zalloc(sizeof(*b) + count * size);
    if (b == NULL) {
        return NULL;
    }
    b->size = count * size;
    list_push_back(&a->blocks, &b->link);
    return b->bytes;
}

char *run_arena_strdup(struct run_arena *a, const char *chars)
{
    size_t size = strlen(chars) + 1;
    char *copy = run_arena_alloc(a, 1, size);

    return copy == NULL ? NULL : memcpy(copy, chars, size);
}

void *run_arena_realloc(void *arena, void *p, size_t size)
{
    struct arena_block *old = p == NULL ? NULL : LIST_ENTRY(p, struct arena_block, bytes);
    void *moved = NULL;

    if (size > 0) {
        moved = run_arena_alloc(arena, 1, size);
        if (moved == NULL) {
            return NULL;
        }
        if (old != NULL) {
            memcpy(moved, p, size < old->size ? size : old->size);
        }
    }
    if (old != NULL) {
        arena_release(old);
    }
    return moved;
}
