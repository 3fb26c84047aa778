/* One mirror machine alone: the test plays all other sites by hand. */

#ifndef SYNC_TESTING_PEERS_H
#define SYNC_TESTING_PEERS_H

#include "base/mem.h"
#include "sync/mirror.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TESTING_CHUNKS = 3, TESTING_BYTES = 8, TESTING_PAYLOADS = 1024 };

static char testing_payloads[TESTING_PAYLOADS];

/* The k-th number of a site's first life, and of a later one. */
static inline uint64_t nr_of(uint64_t life, uint64_t k)
{
    return (life << MIRROR_LIFE_SHIFT) + k;
}

static inline uint64_t nr(uint64_t k)
{
    return nr_of(1, k);
}

/* The payload of our k-th piece. */
static inline void *testing_payload(uint64_t k)
{
    return &testing_payloads[k % TESTING_PAYLOADS];
}

/* A machine in group @group with one more site for each of @groups. All are fresh. */
static inline void testing_open(struct mirror *m, const struct mirror_config *config,
                                uint32_t group, const uint32_t *groups, uint32_t count)
{
    struct err_text text;

    assert_int_equal(mirror_init(m, config, group, &text), OK);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t site;

        assert_int_equal(mirror_add_site(m, groups[i], 0, &site), OK);
        assert_int_equal(site, i + 1);
    }
    assert_int_equal(mirror_grow(m, TESTING_CHUNKS), OK);
}

/* Any report of a site that has made all up to @number. */
static inline void testing_hear(struct mirror *m, uint32_t site, uint64_t number, uint64_t clock,
                                uint64_t stable, int64_t now_ns)
{
    struct mirror_report report = {.clock = clock,
                                   .number = number,
                                   .floor = m->sites[site].floor,
                                   .stable = stable,
                                   .request = m->sites[site].answered,
                                   .away = m->sites[site].away};

    report.floor = report.floor == 0 ? nr(0) : report.floor;
    assert_int_equal(mirror_hear(m, site, &report, now_ns), OK);
    assert_true(mirror_invariant(m));
}

/* It has our pieces up to @stable, and made none. */
static inline void testing_confirm(struct mirror *m, uint32_t site, uint64_t stable)
{
    testing_hear(m, site, nr(0), 0, stable, 0);
}

/* It has our pieces up to @stable, and wants the rest again. */
static inline void testing_request(struct mirror *m, uint32_t site, uint64_t stable)
{
    struct mirror_report report = {
        .number = nr(0), .floor = nr(0), .stable = stable, .request = m->sites[site].answered + 1};

    assert_int_equal(mirror_hear(m, site, &report, 0), OK);
}

/* A mark of @site that came from @peer; from the site itself it answers all. */
static inline void testing_mark(struct mirror *m, uint32_t peer, uint32_t site, uint64_t from,
                                uint64_t number, uint64_t clock)
{
    struct mirror_mark mark = {.site = site, .from = from, .number = number, .clock = clock};

    if (peer == site) {
        mark.answer = m->sites[site].request;
        mark.whole = true;
    }
    mirror_marked(m, peer, &mark);
    assert_true(mirror_invariant(m));
}

/* A session begins, and each believes the other. */
static inline void testing_meet(struct mirror *m, uint32_t site)
{
    mirror_up(m, site, true, 0);
    testing_hear(m, site, m->sites[site].number == 0 ? nr(0) : m->sites[site].number,
                 m->sites[site].announced, m->sites[site].confirmed, 0);
    testing_mark(m, site, site, nr(0), m->sites[site].stable == 0 ? nr(0) : m->sites[site].stable,
                 m->sites[site].clock);
    assert_false(m->sites[site].doubt);
}

/* Our next piece. */
static inline void testing_make(struct mirror *m, uint32_t chunk, uint64_t clock)
{
    void *token = testing_payload(m->number + 1 - nr(0));

    assert_int_equal(mirror_make(m, chunk, clock, TESTING_BYTES, token), OK);
    assert_true(mirror_invariant(m));
}

static inline const struct mirror_frame *testing_look(struct mirror *m, uint32_t peer)
{
    static struct mirror_frame frame;

    mirror_next(m, peer, &frame);
    return &frame;
}

/* The next frame for the peer is sent. */
static inline const struct mirror_frame *testing_send(struct mirror *m, uint32_t peer)
{
    const struct mirror_frame *frame = testing_look(m, peer);

    if (frame->kind != MIRROR_NOTHING) {
        mirror_sent(m, peer, frame, 0);
        assert_true(mirror_invariant(m));
    }
    return frame;
}

/* Everything that is there for the peer is sent. */
static inline void testing_drain(struct mirror *m, uint32_t peer)
{
    while (testing_send(m, peer)->kind != MIRROR_NOTHING) {
    }
}

static inline void testing_quiet(struct mirror *m, uint32_t peer)
{
    assert_int_equal(testing_look(m, peer)->kind, MIRROR_NOTHING);
}

/* The machine begins, meets all of its sites, and has told them so. */
static inline void testing_begin_all(struct mirror *m)
{
    mirror_begin(m, 0);
    for (uint32_t i = 1; i < m->sites_count; i++) {
        testing_meet(m, i);
    }
    for (uint32_t i = 1; i < m->sites_count; i++) {
        testing_drain(m, i);
        testing_quiet(m, i);
    }
    (void)mirror_moved(m);
}

/* @count other sites without groups. */
static inline void testing_mesh(struct mirror *m, const struct mirror_config *config,
                                uint32_t count)
{
    uint32_t groups[MIRROR_SITES_MAX] = {0};

    testing_open(m, config, 0, groups, count);
    testing_begin_all(m);
}

/* The next frame is a piece of @chunk with our numbers (prev, number] alone. */
static inline const struct mirror_frame *
testing_sends_own(struct mirror *m, uint32_t peer, uint32_t chunk, uint64_t prev, uint64_t number)
{
    const struct mirror_frame *frame = testing_send(m, peer);

    assert_int_equal(frame->kind, MIRROR_PIECE);
    assert_int_equal(frame->chunk, chunk);
    assert_int_equal(frame->range_count, 1);
    assert_int_equal(frame->ranges[0].site, MIRROR_SELF);
    assert_int_equal(frame->ranges[0].prev, prev);
    assert_int_equal(frame->ranges[0].number, number);
    return frame;
}

/* The next frame is one mark. */
static inline struct mirror_mark testing_sends_mark(struct mirror *m, uint32_t peer)
{
    const struct mirror_frame *frame = testing_send(m, peer);

    assert_int_equal(frame->kind, MIRROR_MARKS);
    assert_int_equal(frame->mark_count, 1);
    return frame->marks[0];
}

/* A piece with one range comes. */
static inline enum mirror_verdict testing_judge(struct mirror *m, uint32_t chunk, uint32_t site,
                                                uint64_t prev, uint64_t number)
{
    struct mirror_range range = {.site = site, .prev = prev, .number = number};
    enum mirror_verdict verdict = mirror_judge(m, chunk, &range, 1, false, true);

    assert_true(mirror_invariant(m));
    return verdict;
}

static inline enum mirror_verdict testing_judge_held(struct mirror *m, uint32_t chunk,
                                                     uint32_t site, uint64_t prev, uint64_t number)
{
    struct mirror_range range = {.site = site, .prev = prev, .number = number};

    return mirror_judge(m, chunk, &range, 1, true, true);
}

#endif
