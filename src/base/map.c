#include "base/map.h"

#include "base/mem.h"

enum { MAP_LIMIT_MAX = 1 << 24 };

static uint32_t map_home(const struct map *m, uint64_t key)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & m->mask;
}

enum err map_init(struct map *m, uint32_t limit)
{
    uint32_t slots = 8;

    CHECK(limit > 0 && limit <= MAP_LIMIT_MAX);
    while (slots < limit * 2) {
        slots *= 2;
    }
    *m = (struct map){.mask = slots - 1, .limit = limit};
    m->slots = mem_calloc(slots, sizeof(*m->slots));
    return m->slots == NULL ? ERR_NOMEM : OK;
}

void map_deinit(struct map *m)
{
    mem_free(m->slots);
    *m = (struct map){0};
}

/* Return the slot of @key, or the free one where it would go. At most half are taken, so the
 * search ends. */
static uint32_t map_find(const struct map *m, uint64_t key)
{
    uint32_t i = map_home(m, key);

    while (m->slots[i].value != NULL && m->slots[i].key != key) {
        i = (i + 1) & m->mask;
    }
    return i;
}

void *map_get(const struct map *m, uint64_t key)
{
    return m->slots[map_find(m, key)].value;
}

enum err map_add(struct map *m, uint64_t key, void *value)
{
    uint32_t i = map_find(m, key);

    CHECK(value != NULL);
    if (m->slots[i].value != NULL) {
        return ERR_EXISTS;
    }
    if (m->count >= m->limit) {
        return ERR_TOO_BIG;
    }
    m->slots[i] = (struct map_slot){key, value};
    m->count++;
    return OK;
}

/* Close the gap at @hole: move back every later entry of the run that may stand there, so that no
 * tombstones are needed. */
static void map_close_gap(struct map *m, uint32_t hole)
{
    uint32_t i = hole;

    for (;;) {
        uint32_t home;

        i = (i + 1) & m->mask;
        if (m->slots[i].value == NULL) {
            break;
        }
        home = map_home(m, m->slots[i].key);
        if (((i - home) & m->mask) >= ((i - hole) & m->mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole] = (struct map_slot){0, NULL};
}

void *map_remove(struct map *m, uint64_t key)
{
    uint32_t i = map_find(m, key);
    void *value = m->slots[i].value;

    if (value != NULL) {
        m->count--;
        map_close_gap(m, i);
    }
    return value;
}

bool map_next(const struct map *m, uint32_t *cursor, uint64_t *key_out, void **value_out)
{
    while (*cursor <= m->mask) {
        const struct map_slot *slot = &m->slots[(*cursor)++];

        if (slot->value != NULL) {
            *key_out = slot->key;
            *value_out = slot->value;
            return true;
        }
    }
    return false;
}
