/* Buckets as one number each (the generic cell rate algorithm): the time at which the bucket will
 * be full again. An attempt moves it by one interval; it may be at most a burst ahead. Free places
 * of the table are sources that were full for ever, so the heap always holds all of them. */

#include "net/session/admit.h"

#include "base/list.h"
#include "base/mem.h"

#include <string.h>

enum {
    ADMIT_INTERVAL_NS = 1000000000 / LIMIT_SOURCE_RATE_PER_S,
    ADMIT_OVERFLOW_INTERVAL_NS = 1000000000 / LIMIT_STRANGERS,
};

/* A longer silence refills no more than this. */
static const int64_t admit_elapsed_max_ns = INT64_C(1000000000) * 60;

_Static_assert(LIMIT_SOURCE_BURST / LIMIT_SOURCE_RATE_PER_S < 60, "a minute fills a bucket");

/* IPv4 is keyed by the low half of its mapped form. The IPv6 prefixes that would read the same,
 * 0:ffff::/32, are not routed. */
static uint64_t admit_key(const uint8_t source[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    size_t from = memcmp(source, mapped, sizeof(mapped)) == 0 ? 8 : 0;
    uint64_t key = 0;

    for (size_t i = 0; i < 8; i++) {
        key = (key << 8) | source[from + i];
    }
    return key;
}

enum err net_admit_init(struct net_admit *admit)
{
    enum err rc;

    *admit = (struct net_admit){.overflow_ns = INT64_MIN};
    heap_init(&admit->by_full, LIMIT_SOURCES);
    rc = map_init(&admit->by_key, LIMIT_SOURCES);
    if (rc != OK) {
        return rc;
    }
    admit->table = mem_calloc(LIMIT_SOURCES, sizeof(*admit->table));
    rc = admit->table == NULL ? ERR_NOMEM : OK;
    for (uint32_t i = 0; i < LIMIT_SOURCES && rc == OK; i++) {
        heap_node_init(&admit->table[i].node);
        admit->table[i].full_at_ns = INT64_MIN;
        rc = heap_push(&admit->by_full, &admit->table[i].node, INT64_MIN);
    }
    if (rc != OK) {
        net_admit_deinit(admit);
    }
    return rc;
}

void net_admit_deinit(struct net_admit *admit)
{
    heap_deinit(&admit->by_full);
    map_deinit(&admit->by_key);
    mem_free(admit->table);
    *admit = (struct net_admit){0};
}

/* Move our time on by what passed on the caller's clock; a jump back is no time at all. */
static void admit_advance(struct net_admit *admit, int64_t now_ns)
{
    if (admit->started && now_ns > admit->seen_ns) {
        uint64_t elapsed_ns = (uint64_t)now_ns - (uint64_t)admit->seen_ns;

        admit->time_ns += elapsed_ns < (uint64_t)admit_elapsed_max_ns ? (int64_t)elapsed_ns
                                                                      : admit_elapsed_max_ns;
    }
    admit->started = true;
    admit->seen_ns = now_ns;
}

/* Take one from a bucket of @burst with one more each @interval_ns. */
static bool admit_take(int64_t *full_at_ns, int64_t time_ns, int64_t interval_ns, int64_t burst)
{
    int64_t from_ns = *full_at_ns > time_ns ? *full_at_ns : time_ns;

    if (from_ns - time_ns > (burst - 1) * interval_ns) {
        return false;
    }
    *full_at_ns = from_ns + interval_ns;
    return true;
}

/* Return the place of @key, which may be that of a forgotten source, or NULL if all are needed. */
static struct net_admit_source *admit_place(struct net_admit *admit, uint64_t key)
{
    struct net_admit_source *source = map_get(&admit->by_key, key);
    int64_t full_at_ns;

    if (source != NULL) {
        return source;
    }
    source = LIST_ENTRY(heap_first(&admit->by_full, &full_at_ns), struct net_admit_source, node);
    if (full_at_ns > admit->time_ns) {
        return NULL;
    }
    if (source->used) {
        (void)map_remove(&admit->by_key, source->key);
        admit->sources--;
    }
    source->key = key;
    source->used = true;
    source->full_at_ns = admit->time_ns;
    CHECK(map_add(&admit->by_key, key, source) == OK);
    admit->sources++;
    return source;
}

enum net_admit_verdict net_admit_try(struct net_admit *admit, const uint8_t source[16],
                                     int64_t now_ns)
{
    struct net_admit_source *place;
    bool taken;

    admit_advance(admit, now_ns);
    place = admit_place(admit, admit_key(source));
    if (place != NULL) {
        taken =
            admit_take(&place->full_at_ns, admit->time_ns, ADMIT_INTERVAL_NS, LIMIT_SOURCE_BURST);
        heap_move(&admit->by_full, &place->node, place->full_at_ns);
    } else {
        taken = admit_take(&admit->overflow_ns, admit->time_ns, ADMIT_OVERFLOW_INTERVAL_NS,
                           LIMIT_STRANGERS);
    }
    if (!taken) {
        return NET_ADMIT_REFUSE_RATE;
    }
    if (admit->strangers >= LIMIT_STRANGERS) {
        return NET_ADMIT_REFUSE_FULL;
    }
    admit->strangers++;
    return NET_ADMIT;
}

void net_admit_done(struct net_admit *admit)
{
    CHECK(admit->strangers > 0);
    admit->strangers--;
}

void net_admit_credit(struct net_admit *admit, const uint8_t source[16])
{
    struct net_admit_source *place = map_get(&admit->by_key, admit_key(source));

    /* A full bucket takes no more: what is in it beyond the present counts as nothing. */
    if (place != NULL && place->full_at_ns > admit->time_ns) {
        place->full_at_ns -= ADMIT_INTERVAL_NS;
        heap_move(&admit->by_full, &place->node, place->full_at_ns);
    }
}
