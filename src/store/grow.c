#include "store/grow.h"

#include "base/mem.h"

#include <string.h>

enum { GROW_ROOM_FIRST = 256 };

static enum err grow_reserve(struct grow *g, size_t size)
{
    size_t room = g->room < GROW_ROOM_FIRST ? GROW_ROOM_FIRST : g->room;
    uint8_t *bytes;

    if (size <= g->room) {
        return OK;
    }
    while (room < size) {
        room = room > SIZE_MAX / 2 ? size : room * 2;
    }
    bytes = mem_calloc(room, 1);
    if (bytes == NULL) {
        return ERR_NOMEM;
    }
    if (g->size > 0) {
        memcpy(bytes, g->bytes, g->size);
    }
    mem_free(g->bytes);
    g->bytes = bytes;
    g->room = room;
    return OK;
}

enum err grow_add(struct grow *g, const void *bytes, size_t size, uint64_t limit)
{
    enum err rc;

    if (g->size > limit || size > limit - g->size) {
        return ERR_FULL;
    }
    if (size == 0) {
        return OK;
    }
    rc = grow_reserve(g, g->size + size);
    if (rc == OK) {
        memcpy(g->bytes + g->size, bytes, size);
        g->size += size;
    }
    return rc;
}

void grow_deinit(struct grow *g)
{
    mem_free(g->bytes);
    *g = (struct grow){0};
}
