/* Barriers of chunks: bits of elements, and what they wait for. */

#include "sync/selective.h"

#include "base/mem.h"

#include <string.h>

struct selective_barrier {
    struct list link;
    uint32_t site;
    uint64_t number;
    uint64_t clock;
    int64_t since_ns;
    uint32_t words;
    uint64_t bitmap[];
};

void selective_init(struct selective *s)
{
    *s = (struct selective){0};
}

static struct selective_barrier *selective_of(struct list *link)
{
    return LIST_ENTRY(link, struct selective_barrier, link);
}

void selective_deinit(struct selective *s)
{
    for (uint32_t c = 0; c < s->chunks_count; c++) {
        struct list *link;

        while ((link = list_first(&s->barriers[c])) != NULL) {
            list_remove(link);
            mem_free(selective_of(link));
        }
    }
    mem_free(s->barriers);
    *s = (struct selective){0};
}

enum err selective_grow(struct selective *s, uint32_t chunks)
{
    uint32_t count = s->chunks_count + chunks;
    struct list *barriers = mem_calloc((size_t)count + 1, sizeof(*barriers));

    if (barriers == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t c = 0; c < count; c++) {
        list_init(&barriers[c]);
        if (c < s->chunks_count) {
            list_take(&barriers[c], &s->barriers[c]);
        }
    }
    mem_free(s->barriers);
    s->barriers = barriers;
    s->chunks_count = count;
    return OK;
}

static struct selective_barrier *selective_find(struct selective *s, uint32_t chunk, uint32_t site)
{
    LIST_FOREACH (link, &s->barriers[chunk]) {
        if (selective_of(link)->site == site) {
            return selective_of(link);
        }
    }
    return NULL;
}

/* Marks tell that all has come up to a number and a clock of the same life. */
static bool selective_is_marked(const struct mirror_site *s, uint64_t number, uint64_t clock)
{
    return s->stable >= number ||
           (s->clock >= clock && mirror_life(s->stable) == mirror_life(number)) ||
           (s->done && s->stable >= s->number);
}

/* Has it come, or is it not waited for any more? What a site announced in a life before may be
 * lost with it; then it never comes. */
static bool selective_is_over(const struct mirror *m, uint32_t chunk, uint32_t site,
                              uint64_t number, uint64_t clock)
{
    const struct mirror_site *s = &m->sites[site];

    return site == MIRROR_SELF || s->left_out || mirror_contained(m, chunk, site) >= number ||
           mirror_life(number) < s->life || selective_is_marked(s, number, clock);
}

static struct selective_barrier *selective_barrier(uint32_t site, uint32_t words, int64_t since_ns)
{
    struct selective_barrier *b = mem_zalloc(sizeof(*b) + words * sizeof(b->bitmap[0]));

    if (b != NULL) {
        b->site = site;
        b->since_ns = since_ns;
        b->words = words;
        list_init(&b->link);
    }
    return b;
}

/* The chunk's barrier for that site, of so many words at least: found, made or made longer. */
static struct selective_barrier *selective_place(struct selective *s, uint32_t chunk, uint32_t site,
                                                 uint32_t words, int64_t now_ns)
{
    struct selective_barrier *old = selective_find(s, chunk, site);
    struct selective_barrier *b;

    if (old != NULL && old->words >= words) {
        return old;
    }
    b = selective_barrier(site, words, old == NULL ? now_ns : old->since_ns);
    if (b == NULL) {
        return NULL;
    }
    list_push_back(&s->barriers[chunk], &b->link);
    s->count++;
    if (old != NULL) {
        b->number = old->number;
        b->clock = old->clock;
        memcpy(b->bitmap, old->bitmap, old->words * sizeof(b->bitmap[0]));
        list_remove(&old->link);
        mem_free(old);
        s->count--;
    }
    return b;
}

static enum err selective_raise_one(struct selective *s, uint32_t chunk, uint64_t clock,
                                    const struct mirror_range *range, const uint64_t *bitmap,
                                    uint32_t words, int64_t now_ns)
{
    struct selective_barrier *b = selective_place(s, chunk, range->site, words, now_ns);

    if (b == NULL) {
        return ERR_NOMEM;
    }
    b->number = range->number > b->number ? range->number : b->number;
    b->clock = clock > b->clock ? clock : b->clock;
    for (uint32_t i = 0; i < words; i++) {
        b->bitmap[i] |= bitmap[i];
    }
    return OK;
}

enum err selective_raise(struct selective *s, const struct mirror *m, uint32_t chunk,
                         uint64_t clock, const struct mirror_range *ranges, uint32_t count,
                         const uint64_t *bitmap, uint32_t words, int64_t now_ns)
{
    enum err rc = OK;

    for (uint32_t i = 0; i < count && rc == OK; i++) {
        if (!selective_is_over(m, chunk, ranges[i].site, ranges[i].number, clock)) {
            rc = selective_raise_one(s, chunk, clock, &ranges[i], bitmap, words, now_ns);
        }
    }
    return rc;
}

bool selective_is_late(const struct mirror *m, uint32_t chunk, uint64_t clock,
                       const struct mirror_range *ranges, uint32_t count)
{
    bool late = true;

    for (uint32_t i = 0; i < count && late; i++) {
        late = selective_is_over(m, chunk, ranges[i].site, ranges[i].number, clock);
    }
    return late;
}

bool selective_look(struct selective *s, const struct mirror *m, uint32_t chunk)
{
    struct list *next;
    bool freed = false;

    for (struct list *link = s->barriers[chunk].next; link != &s->barriers[chunk]; link = next) {
        struct selective_barrier *b = selective_of(link);

        next = link->next;
        if (selective_is_over(m, chunk, b->site, b->number, b->clock)) {
            list_remove(link);
            mem_free(b);
            s->count--;
            freed = true;
        }
    }
    return freed;
}

bool selective_look_all(struct selective *s, const struct mirror *m)
{
    bool freed = false;

    for (uint32_t c = 0; c < s->chunks_count && s->count > 0; c++) {
        freed = selective_look(s, m, c) || freed;
    }
    return freed;
}

/* Is one of the bits set? */
static bool selective_hits(const struct selective_barrier *b, uint32_t first, uint32_t count)
{
    uint64_t end = (uint64_t)first + count;

    for (uint64_t w = first / 64; w < b->words && w * 64 < end; w++) {
        uint64_t mask = UINT64_MAX;

        if (w == first / 64) {
            mask &= UINT64_MAX << (first % 64);
        }
        if (end - w * 64 < 64) {
            mask &= (UINT64_C(1) << (end - w * 64)) - 1;
        }
        if ((b->bitmap[w] & mask) != 0) {
            return true;
        }
    }
    return false;
}

bool selective_may_read(const struct selective *s, uint32_t chunk, uint32_t first, uint32_t count,
                        uint32_t *site_out, int64_t *since_ns_out)
{
    LIST_FOREACH (link, &s->barriers[chunk]) {
        const struct selective_barrier *b = selective_of(link);

        if (selective_hits(b, first, count)) {
            *site_out = b->site;
            *since_ns_out = b->since_ns;
            return false;
        }
    }
    return true;
}
