/* One site of a network that hears words of others, for tests of sync/links. */

#ifndef SYNC_TESTING_LINKS_H
#define SYNC_TESTING_LINKS_H

#include "sync/links.h"

/* cmocka wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define S LINKS_RATE_TURN_NS

enum { AWAY = 1000, TURN = 10, LATE = 500, SETTLE = 100 };

static struct links l;
static uint32_t number; /* Of the last word that was heard. */

static inline struct links_config config(void)
{
    struct links_config c = links_config_default();

    c.away_ns = AWAY;
    c.turn_ns = TURN;
    c.quiet_ns = 0;
    c.late_ns = LATE;
    c.settle_ns = SETTLE;
    c.majority = false;
    return c;
}

static inline void start_with(uint32_t sites, uint32_t self, struct links_config c)
{
    number = 0;
    assert_int_equal(links_init(&l, sites, self, 1, &c, 0), OK);
}

static inline void start(uint32_t sites, uint32_t self)
{
    start_with(sites, self, config());
}

static inline int end(void **state)
{
    (void)state;
    links_deinit(&l);
    return 0;
}

/* @up: bits of neighbours. */
static inline struct links_word word_of(uint32_t site, uint64_t life, uint64_t up)
{
    struct links_word word = {.site = site, .life = life, .number = ++number, .remembers = true};

    for (uint32_t n = 0; n < 64; n++) {
        if ((up >> n & 1) != 0) {
            word.entries[word.count++] = (struct links_entry){.neighbour = n, .up = true};
        }
    }
    return word;
}

/* From some neighbour. */
static inline enum links_verdict take(const struct links_word *word, uint64_t now)
{
    return links_take(&l, l.self == 0 ? 1 : 0, word, now);
}

static inline void hear(const struct links_word *word, uint64_t now)
{
    assert_int_equal(take(word, now), LINKS_NEW);
}

static inline void heard(uint32_t site, uint64_t up, uint64_t now)
{
    struct links_word word = word_of(site, 1, up);

    word.epoch = word.top = l.epoch;
    hear(&word, now);
}

static inline void sees(uint64_t up, uint64_t now)
{
    for (uint32_t n = 0; n < l.sites; n++) {
        if (n != l.self) {
            links_set_up(&l, n, (up >> n & 1) != 0, now);
        }
    }
}

/* Four in a ring, 0 - 1 - 2 - 3 - 0, of which this is one; all remember. */
static inline void ring(uint32_t self, struct links_config c)
{
    start_with(4, self, c);
    links_set_memory(&l, true, 0);
    for (uint32_t s = 0; s < 4; s++) {
        uint64_t up = UINT64_C(1) << (s + 1) % 4 | UINT64_C(1) << (s + 3) % 4;

        if (s == self) {
            sees(up, 0);
        } else {
            heard(s, up, 0);
        }
    }
}

static inline struct links_path path(uint32_t count, uint32_t a, uint32_t b, uint32_t c)
{
    return (struct links_path){.life = 1, .count = count, .sites = {a, b, c}};
}

/* All four around 0: 2 through 1. */
static inline void follow_around_zero(uint32_t epoch)
{
    struct links_path paths[] = {path(1, 0, 0, 0), path(2, 1, 0, 0), path(3, 2, 1, 0),
                                 path(2, 3, 0, 0)};

    assert_int_equal(links_plan_set(&l, epoch, 0, 0xf, paths), LINKS_NEW);
}

static inline void ring_around_zero(uint32_t self)
{
    struct links_wish wish;

    ring(self, config());
    follow_around_zero(4);
    assert_false(links_look(&l, 0, &wish));
    assert_true(links_deadline(&l) == LINKS_NEVER);
}

static inline struct links_wish expect(uint64_t now, enum links_why why, uint64_t active)
{
    struct links_wish wish;

    assert_true(links_look(&l, now, &wish));
    assert_int_equal(wish.why, why);
    assert_int_equal(wish.active, active);
    return wish;
}

/* And look again at @next. */
static inline void content(uint64_t now, uint64_t next)
{
    struct links_wish wish;

    assert_false(links_look(&l, now, &wish));
    assert_true(links_deadline(&l) == next);
}

#endif
