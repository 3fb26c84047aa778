/* Machines in two groups, for tests: who is in which, and what comes to be passed on. */

#ifndef SYNC_TESTING_GROUPS_H
#define SYNC_TESTING_GROUPS_H

#include "sync/testing_peers.h"

/* We are in group 0 with sites 1 and 2; sites 3 and 4 are group 1. */
enum { NEAR = 0, FAR = 1, TO_NEAR = 1 << NEAR, TO_FAR = 1 << FAR };
static const uint32_t groups_of[] = {NEAR, NEAR, FAR, FAR};

static const struct mirror_config grouped = {.staleness = 2, .life = 1, .groups = 2};

static inline void hubs_set(struct mirror *m, uint32_t group, uint32_t other, uint32_t first,
                            uint32_t second)
{
    struct mirror_hubs hubs = {.count = second == MIRROR_NOBODY ? 1 : 2, .sites = {first, second}};

    mirror_set_hubs(m, group, other, &hubs);
}

/* @near and @far are hubs; all sites have met. */
static inline void open_groups(struct mirror *m, const struct mirror_config *config, uint32_t near,
                               uint32_t far)
{
    testing_open(m, config, NEAR, groups_of, 4);
    hubs_set(m, NEAR, FAR, near, MIRROR_NOBODY);
    hubs_set(m, FAR, NEAR, far, MIRROR_NOBODY);
    testing_begin_all(m);
}

static inline void way_is(const struct mirror *m, uint32_t near, uint32_t far)
{
    assert_int_equal(m->ways[FAR].near, near);
    assert_int_equal(m->ways[FAR].far, far);
}

/* Payloads that were asked for. */
static inline void *keep(void *user)
{
    uint32_t *kept = user;

    (*kept)++;
    return testing_payload(500);
}

/* A piece of @site's numbers (prev, number] comes from @peer, is passed on and judged. Returns for
 * how many hops it was kept. */
static inline uint32_t passes(struct mirror *m, uint32_t peer, uint32_t chunk, uint32_t groups,
                              uint32_t site, uint64_t prev, uint64_t number)
{
    struct mirror_range range = {.site = site, .prev = prev, .number = number};
    uint32_t kept = 0;

    assert_int_equal(mirror_pass(m, peer, chunk, 1, groups, &range, 1, TESTING_BYTES, keep, &kept),
                     OK);
    (void)mirror_judge(m, chunk, &range, 1, false, true);
    assert_true(mirror_invariant(m));
    return kept;
}

static inline void marks(struct mirror *m, uint32_t peer, uint32_t groups, uint32_t site,
                         uint64_t from, uint64_t number, uint64_t clock)
{
    struct mirror_mark mark = {
        .site = site, .groups = groups, .from = from, .number = number, .clock = clock};

    mirror_marked(m, peer, &mark);
}

static inline uint32_t released(struct mirror *m)
{
    uint32_t count = 0;

    while (mirror_release(m) != NULL) {
        count++;
    }
    return count;
}

#endif
