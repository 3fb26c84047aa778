/* Tests of sync/central: sites, centres that change, sites that are left out, restart and come
 * back, under random schedules. Values are sets of the sums that are in them, so that what is
 * lost, or counts twice, is seen. */

#include "sync/central.h"

#include "base/rng.h"

/* cmocka wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITES = 7, CHUNKS = 5, IDS = 4096, QUEUE = 4096, SEEDS = 500, SEEDS_LONG = 4000 };

/* Sums by number. */
struct set {
    uint64_t bits[IDS / 64];
};

static bool set_has(const struct set *s, uint32_t id)
{
    return (s->bits[id / 64] >> (id % 64) & 1) != 0;
}

enum kind { STAND, GO, SUM, RESULT, COPY, ASK, ACK, IDLE, BUSY, SINCE, KINDS };

struct message {
    enum kind kind;
    uint32_t epoch;
    uint32_t chunk;
    uint64_t round;
    uint64_t mask;
    struct set set;
    struct central_stand stand;
    uint64_t numbers[CHUNKS > SITES ? CHUNKS : SITES];
};

struct channel {
    struct message *list[QUEUE];
    uint32_t first;
    uint32_t count;
};

struct site {
    struct central c;
    struct set value[CHUNKS];
    struct set open[CHUNKS]; /* Its own sums that are not in a round yet. */
    struct set kept[CHUNKS];
    struct set total[CHUNKS];  /* Centre: what is added up. */
    struct set result[CHUNKS]; /* Centre: of the last round. */
    uint64_t result_mask[CHUNKS];
    uint64_t result_round[CHUNKS];
    bool busy;                /* It has workers. */
    bool asking;              /* To be busy again. */
    struct central_plan next; /* A plan that is on its way. */
};

static struct {
    struct site sites[SITES];
    uint32_t count;
    struct channel channels[SITES][SITES];
    struct rng rng;
    uint32_t ids;
    uint32_t epoch;
    uint32_t seed;
    bool lost[IDS]; /* With a site that crashed. */
    uint64_t seen[KINDS];
    uint64_t plans, left_out, added, carried, crashes, wholes, laters, unfit;
    bool finishing;
    uint32_t unfit_end; /* Centres of the last plans of a schedule. */
} t;

static void broken_at(const char *what, uint32_t site)
{
    fail_msg("seed %u, site %u, epoch %u: %s", t.seed, site, t.sites[site].c.plan.epoch, what);
}

/* Nothing counts twice. */
static void set_add(struct set *to, const struct set *from, uint32_t site)
{
    for (uint32_t i = 0; i < IDS / 64; i++) {
        if ((to->bits[i] & from->bits[i]) != 0) {
            broken_at("a sum counts twice", site);
        }
        to->bits[i] |= from->bits[i];
    }
}

static void set_clear(struct set *s)
{
    memset(s, 0, sizeof(*s));
}

static struct message *say(uint32_t from, uint32_t to, enum kind kind)
{
    struct channel *ch = &t.channels[from][to];
    struct message *m = calloc(1, sizeof(*m));

    assert_true(ch->count < QUEUE);
    m->kind = kind;
    m->epoch = t.sites[from].c.plan.epoch;
    ch->list[(ch->first + ch->count++) % QUEUE] = m;
    return m;
}

/* What becomes of a site's own sums. */
static void settle(uint32_t me, uint32_t chunk, struct central_own own)
{
    struct site *s = &t.sites[me];
    struct set open = s->open[chunk];

    if (own.kept == CENTRAL_ADD) {
        t.added++;
        set_add(&open, &s->kept[chunk], me);
    }
    if (own.kept != CENTRAL_STAYS) {
        set_clear(&s->kept[chunk]);
    }
    if (own.open == CENTRAL_KEEP || own.open == CENTRAL_DROP) {
        struct set own_sum = s->open[chunk];

        set_clear(&s->open[chunk]);
        if (own.kept == CENTRAL_ADD) {
            broken_at("the open sum counts and the one before does not", me);
        }
        if (own.open == CENTRAL_KEEP) {
            s->kept[chunk] = own_sum;
        }
    } else {
        s->open[chunk] = open;
    }
}

static void close_chunk(uint32_t me, uint32_t chunk)
{
    struct site *s = &t.sites[me];
    uint64_t mask;
    struct central_own own = central_closed(&s->c, chunk, &mask);

    set_add(&s->value[chunk], &s->total[chunk], me);
    s->result[chunk] = s->total[chunk];
    s->result_mask[chunk] = mask;
    s->result_round[chunk] = s->c.chunks[chunk].version;
    set_clear(&s->total[chunk]);
    settle(me, chunk, own);
}

/* The centre looks at what it can do with a chunk. */
static void look(uint32_t me, uint32_t chunk)
{
    struct site *s = &t.sites[me];
    uint32_t found;

    if (central_own(&s->c, chunk)) {
        enum central_verdict v =
            central_sum(&s->c, s->c.plan.epoch, me, chunk, s->c.chunks[chunk].gathered);

        t.laters += v == CENTRAL_LATER;
        assert_true(v == CENTRAL_TAKE || v == CENTRAL_LATER);
        if (v == CENTRAL_TAKE) {
            set_add(&s->total[chunk], &s->open[chunk], me);
        }
    }
    if (central_complete(&s->c, chunk, &found)) {
        close_chunk(me, found);
    }
}

static void look_all(uint32_t me)
{
    struct site *s = &t.sites[me];
    uint32_t found;

    if (!central_is_centre(&s->c) || !s->c.begun) {
        return;
    }
    for (uint32_t i = 0; i < CHUNKS; i++) {
        look(me, i);
    }
    while (central_complete(&s->c, CENTRAL_SWEEP, &found)) {
        close_chunk(me, found);
    }
}

static void say_stand(uint32_t me)
{
    struct site *s = &t.sites[me];
    struct central_stand stand = central_stand(&s->c);
    struct message *m;

    if (central_is_centre(&s->c)) {
        assert_int_equal(central_stood(&s->c, me, &stand), OK);
        return;
    }
    m = say(me, s->c.plan.centre, STAND);
    m->stand = stand;
    memcpy(m->numbers, stand.versions, CHUNKS * sizeof(uint64_t));
}

/* Rounds begin again. */
static void gone(uint32_t me)
{
    t.sites[me].asking = false;
    look_all(me);
}

/* Does it have more than half of all, and of those who remember anything? */
static bool enough(uint64_t active)
{
    uint32_t in = 0;
    uint32_t out = 0;

    for (uint32_t i = 0; i < t.count; i++) {
        bool active_one = (active >> i & 1) != 0;

        in += t.sites[i].c.alive && active_one;
        out += t.sites[i].c.alive && !active_one;
    }
    return (in > out || in + out == 0) && (uint32_t)__builtin_popcountll(active) * 2 > t.count;
}

/* A plan for more than half of the sites, on its way to all; its centre is none of @unfit. */
static void plan(bool all, uint64_t unfit)
{
    struct central_plan p = {.epoch = ++t.epoch};
    uint64_t everybody = (UINT64_C(1) << t.count) - 1;

    do {
        p.active = all || rng_chance(&t.rng, 300000) ? everybody : rng_next(&t.rng) & everybody;
        p.centre = (uint32_t)rng_below(&t.rng, t.count);
    } while (!enough(p.active) || (p.active >> p.centre & 1) == 0 || (unfit >> p.centre & 1) != 0);
    for (uint32_t i = 0; i < t.count; i++) {
        t.sites[i].next = p;
    }
    t.plans++;
}

static void begin(uint32_t me)
{
    struct site *s = &t.sites[me];

    if (!central_begin(&s->c)) {
        if (central_is_unfit(&s->c) && s->next.epoch == s->c.plan.epoch) {
            t.unfit++;
            if (t.finishing && ++t.unfit_end > 1) {
                broken_at("a site that was not unfit is", me);
            }
            plan(t.finishing, central_unfit(&s->c));
        }
        return;
    }
    for (uint32_t i = 0; i < t.count; i++) {
        if (i != me && central_is_active(&s->c, i)) {
            struct message *m = say(me, i, GO);

            central_voids(&s->c, i, m->numbers);
            m->round = central_since(&s->c, i);
        }
    }
    central_set_busy(&s->c, central_since(&s->c, me), s->c.until);
    gone(me);
}

static void adopt(uint32_t me)
{
    struct site *s = &t.sites[me];

    if (!central_adopt(&s->c, &s->next)) {
        return;
    }
    for (uint32_t i = 0; i < CHUNKS; i++) {
        set_clear(&s->total[i]);
        s->result_round[i] = 0; /* What another plan closed may be another round of that number. */
    }
    if (central_is_active(&s->c, me)) {
        say_stand(me);
        begin(me);
    } else {
        t.left_out++;
    }
}

static void take_sum(uint32_t me, uint32_t from, const struct message *m, bool *again)
{
    struct site *s = &t.sites[me];

    switch (central_sum(&s->c, m->epoch, from, m->chunk, m->round)) {
    case CENTRAL_TAKE:
        set_add(&s->total[m->chunk], &m->set, me);
        look(me, m->chunk);
        break;
    case CENTRAL_LATER:
        t.laters++;
        *again = true;
        break;
    case CENTRAL_WRONG:
        broken_at("a sum cannot be", me);
        break;
    case CENTRAL_KNOWN:
    case CENTRAL_STALE:
        break;
    }
}

static void say_ack(uint32_t me, uint32_t chunk)
{
    struct site *s = &t.sites[me];
    struct message *m = say(me, s->c.plan.centre, ACK);

    m->chunk = chunk;
    m->round = s->c.chunks[chunk].version;
}

static void take_result(uint32_t me, const struct message *m)
{
    struct site *s = &t.sites[me];
    enum central_verdict v = central_result(&s->c, m->epoch, m->chunk, m->round);

    if (v == CENTRAL_WRONG) {
        broken_at("a result cannot be", me);
    }
    if (v == CENTRAL_TAKE) {
        set_add(&s->value[m->chunk], &m->set, me);
        settle(me, m->chunk, central_entered(&s->c, m->chunk, m->round, m->mask));
        say_ack(me, m->chunk);
    }
}

static void take_copy(uint32_t me, const struct message *m)
{
    struct site *s = &t.sites[me];
    enum central_verdict v = central_copy(&s->c, m->epoch, m->chunk, m->round);

    if (v == CENTRAL_WRONG) {
        broken_at("a copy cannot be", me);
    }
    if (v == CENTRAL_TAKE) {
        s->value[m->chunk] = m->set;
        settle(me, m->chunk, central_copied(&s->c, m->chunk, m->round, m->numbers));
        if (central_is_centre(&s->c)) {
            look(me, m->chunk);
        } else {
            say_ack(me, m->chunk);
        }
    }
}

static void give_copy(uint32_t me, uint32_t to, uint32_t chunk)
{
    struct site *s = &t.sites[me];
    struct message *m = say(me, to, COPY);

    m->chunk = chunk;
    m->round = s->c.chunks[chunk].version;
    m->set = s->value[chunk];
    for (uint32_t i = 0; i < t.count; i++) {
        m->numbers[i] = central_counted(&s->c, chunk, i);
    }
    t.wholes++;
}

static void take(uint32_t me, uint32_t from, const struct message *m, bool *again)
{
    struct site *s = &t.sites[me];
    bool mine = m->epoch == s->c.plan.epoch && s->c.begun;

    t.seen[m->kind]++;
    switch (m->kind) {
    case STAND: {
        struct central_stand stand = m->stand;

        stand.versions = m->numbers;
        if (central_stood(&s->c, from, &stand) == OK) {
            begin(me);
        }
        /* It may be ahead of us: then the stand waits for the plan. */
        *again = m->epoch > s->c.plan.epoch;
        break;
    }
    case GO:
        central_go(&s->c, m->epoch, m->numbers, m->round);
        gone(me);
        break;
    case SUM:
        take_sum(me, from, m, again);
        break;
    case RESULT:
        take_result(me, m);
        break;
    case COPY:
        take_copy(me, m);
        break;
    case ASK:
        if (m->epoch == s->c.plan.epoch) {
            if (s->c.begun) {
                give_copy(me, from, m->chunk);
            } else {
                *again = true; /* The go is behind it. */
            }
        }
        break;
    case ACK:
        central_acked(&s->c, m->epoch, from, m->chunk, m->round);
        if (mine && central_is_centre(&s->c)) {
            look(me, m->chunk);
        }
        break;
    case IDLE:
        if (mine && central_is_centre(&s->c)) {
            central_idle(&s->c, from, m->round);
            look_all(me);
        }
        break;
    case BUSY:
        if (mine && central_is_centre(&s->c)) {
            say(me, from, SINCE)->round = central_busy(&s->c, from);
        }
        break;
    case SINCE:
        if (mine) {
            central_set_busy(&s->c, m->round, CENTRAL_EVER);
            s->busy = true;
            s->asking = false;
        }
        break;
    case KINDS:
        break;
    }
}

static void pump(uint32_t me)
{
    struct site *s = &t.sites[me];
    uint32_t chunk;
    uint32_t holder;
    uint64_t round;
    bool whole;

    while (central_next_sum(&s->c, &chunk, &round)) {
        struct message *m = say(me, s->c.plan.centre, SUM);

        m->chunk = chunk;
        m->round = round;
        m->set = s->open[chunk];
    }
    while (central_next_ask(&s->c, &holder, &chunk)) {
        say(me, holder, ASK)->chunk = chunk;
    }
    for (uint32_t i = 0; i < t.count; i++) {
        while (i != me && central_next_result(&s->c, i, &chunk, &whole)) {
            if (whole || s->result_round[chunk] != s->c.chunks[chunk].version) {
                give_copy(me, i, chunk);
            } else {
                struct message *m = say(me, i, RESULT);

                m->chunk = chunk;
                m->round = s->c.chunks[chunk].version;
                m->mask = s->result_mask[chunk];
                m->set = s->result[chunk];
            }
        }
    }
}

/* Steps. */

static bool deliver(uint32_t from, uint32_t to)
{
    struct channel *ch = &t.channels[from][to];
    struct message *m;
    bool again = false;

    if (ch->count == 0) {
        return false;
    }
    m = ch->list[ch->first];
    take(to, from, m, &again);
    if (again && m->kind != SUM) {
        return false;
    }
    ch->first = (ch->first + 1) % QUEUE;
    if (again) { /* It does not hold up the others. */
        ch->list[(ch->first + ch->count - 1) % QUEUE] = m;
        return false;
    }
    ch->count--;
    free(m);
    return true;
}

static uint64_t oldest(const struct site *s)
{
    uint64_t version = UINT64_MAX;

    for (uint32_t i = 0; i < CHUNKS; i++) {
        version = s->c.chunks[i].version < version ? s->c.chunks[i].version : version;
    }
    return version;
}

/* Workers are done with a chunk's round: as bsp has it, when all of the round before is here. */
static void gather(uint32_t me, uint32_t chunk, bool anew)
{
    struct site *s = &t.sites[me];
    uint64_t round = s->c.chunks[chunk].version + 1;

    if (s->c.chunks[chunk].version != oldest(s) || s->c.chunks[chunk].gathered != 0 || !s->busy ||
        round < s->c.since || !central_is_whole(&s->c)) {
        return;
    }
    for (uint32_t i = 0; i < IDS / 64 && t.seed % 2 == 0; i++) {
        t.carried += s->open[chunk].bits[i] != 0;
    }
    if (anew && t.ids < IDS - 1) {
        uint32_t id = t.ids++;

        s->open[chunk].bits[id / 64] |= UINT64_C(1) << (id % 64);
    }
    central_gathered(&s->c, chunk, round);
    if (central_is_centre(&s->c) && s->c.begun) {
        look(me, chunk);
    }
}

/* The last worker leaves, when nothing is begun. */
static void idle(uint32_t me)
{
    struct site *s = &t.sites[me];

    for (uint32_t i = 0; i < CHUNKS; i++) {
        if (s->c.chunks[i].gathered != 0 || s->c.chunks[i].version != oldest(s)) {
            return;
        }
    }
    if (!s->busy || !s->c.begun || s->c.since > oldest(s) + 1) {
        return;
    }
    s->busy = false;
    central_set_busy(&s->c, s->c.since, oldest(s));
    if (central_is_centre(&s->c)) {
        central_idle(&s->c, me, oldest(s));
        look_all(me);
    } else {
        say(me, s->c.plan.centre, IDLE)->round = oldest(s);
    }
}

static void busy(uint32_t me)
{
    struct site *s = &t.sites[me];

    if (s->busy || s->asking || !s->c.begun) {
        return;
    }
    if (central_is_centre(&s->c)) {
        central_set_busy(&s->c, central_busy(&s->c, me), CENTRAL_EVER);
        s->busy = true;
    } else {
        s->asking = true;
        (void)say(me, s->c.plan.centre, BUSY);
    }
}

static void cut(uint32_t site)
{
    for (uint32_t i = 0; i < t.count; i++) {
        for (uint32_t way = 0; way < 2; way++) {
            struct channel *ch = way == 0 ? &t.channels[site][i] : &t.channels[i][site];

            while (ch->count > 0) {
                free(ch->list[ch->first]);
                ch->first = (ch->first + 1) % QUEUE;
                ch->count--;
            }
        }
    }
}

static void make(uint32_t me)
{
    struct site *s = &t.sites[me];

    *s = (struct site){.busy = true};
    assert_int_equal(central_init(&s->c, t.count, me, t.seed % 3 == 0), OK);
    assert_int_equal(central_reserve(&s->c, CHUNKS), OK);
    central_grow(&s->c, CHUNKS, 0);
}

/* Its memory is gone, and what it sent is, too. Only while more than half of all keep theirs: what
 * all forget is lost. */
static void crash(uint32_t me)
{
    struct site *s = &t.sites[me];
    uint32_t remember = 0;

    for (uint32_t i = 0; i < t.count; i++) {
        const struct central *c = &t.sites[i].c;

        remember += i != me && central_is_whole(c) && c->begun && c->last == t.epoch;
    }
    if (remember * 2 <= t.count) {
        return;
    }

    t.crashes++;
    for (uint32_t id = 0; id < t.ids; id++) {
        for (uint32_t i = 0; i < CHUNKS; i++) {
            t.lost[id] = t.lost[id] || set_has(&s->open[i], id) || set_has(&s->kept[i], id) ||
                         set_has(&s->value[i], id);
        }
    }
    central_deinit(&s->c);
    cut(me);
    make(me);
}

/* Sites that went by the same last plan, and believe what they have, have the same. */
static void check(void)
{
    for (uint32_t a = 0; a < t.count; a++) {
        const struct site *x = &t.sites[a];
        const char *broken = central_broken(&x->c);

        if (broken != NULL) {
            broken_at(broken, a);
        }
        for (uint32_t b = 0; b < a; b++) {
            const struct site *y = &t.sites[b];

            for (uint32_t i = 0; i < CHUNKS && x->c.last == y->c.last; i++) {
                if (!x->c.chunks[i].empty && !y->c.chunks[i].empty &&
                    x->c.chunks[i].version == y->c.chunks[i].version &&
                    memcmp(&x->value[i], &y->value[i], sizeof(x->value[i])) != 0) {
                    broken_at("two sites differ in the same version", a);
                }
            }
        }
    }
}

static void step(bool faults)
{
    uint32_t a = (uint32_t)rng_below(&t.rng, t.count);
    uint32_t b = (uint32_t)rng_below(&t.rng, t.count);
    uint32_t what = (uint32_t)rng_below(&t.rng, 100);

    if (what < 55) {
        (void)deliver(a, b);
    } else if (what < 85) {
        gather(a, (uint32_t)rng_below(&t.rng, CHUNKS), true);
    } else if (what < 90) {
        adopt(a);
    } else if (what < 93 && faults) {
        idle(a);
    } else if (what < 97) {
        busy(a);
    } else if (what == 98 && faults && rng_chance(&t.rng, 100000)) {
        plan(false, 0);
    } else if (what == 99 && faults && rng_chance(&t.rng, 20000)) {
        crash(a);
        plan(false, 0);
    }
    pump(a);
    pump(b);
    check();
}

/* No more faults: after a plan with all, and a round or two, everything is everywhere. */
static void finish(void)
{
    t.finishing = true;
    t.unfit_end = 0;
    plan(true, 0);
    for (uint32_t i = 0; i < 40000; i++) {
        uint32_t a = (uint32_t)rng_below(&t.rng, t.count);
        bool open = false;

        adopt(a);
        busy(a);
        for (uint32_t b = 0; b < t.count; b++) {
            while (deliver(a, b)) {
            }
            pump(b);
        }
        pump(a);
        gather(a, (uint32_t)rng_below(&t.rng, CHUNKS), false);
        if (i % 100 == 0) {
            check();
        }
        for (uint32_t s = 0; s < t.count; s++) {
            const struct set none = {{0}};

            for (uint32_t k = 0; k < CHUNKS; k++) {
                open = open || memcmp(&t.sites[s].open[k], &none, sizeof(none)) != 0 ||
                       oldest(&t.sites[s]) != oldest(&t.sites[0]);
            }
        }
        if (!open && i > 2000) {
            break;
        }
    }
    for (uint32_t s = 0; s < t.count; s++) {
        for (uint32_t id = 0; id < t.ids; id++) {
            uint32_t in = 0;

            for (uint32_t k = 0; k < CHUNKS; k++) {
                in += set_has(&t.sites[s].value[k], id);
            }
            if (in > 1 || (in == 0 && !t.lost[id])) {
                fail_msg("seed %u: sum %u counts %u times at site %u", t.seed, id, in, s);
            }
        }
    }
}

static void run(uint32_t seed)
{
    t.seed = seed;
    rng_init(&t.rng, seed);
    t.count = 2 + (uint32_t)rng_below(&t.rng, SITES - 1);
    t.ids = 0;
    t.epoch = 0;
    t.finishing = false;
    memset(t.lost, 0, sizeof(t.lost));
    for (uint32_t i = 0; i < t.count; i++) {
        make(i);
    }
    plan(true, 0);
    for (uint32_t i = 0; i < 3000; i++) {
        step(true);
    }
    finish();
    for (uint32_t i = 0; i < t.count; i++) {
        cut(i);
        central_deinit(&t.sites[i].c);
    }
}

static void nothing_is_lost_and_nothing_counts_twice(void **state)
{
    uint32_t seeds = getenv("STRAIT_VALGRIND") != NULL ? 20
                     : getenv("STRAIT_LONG") != NULL   ? SEEDS_LONG
                                                       : SEEDS;

    (void)state;
    for (uint32_t seed = 0; seed < seeds; seed++) {
        run(seed);
    }
    if (seeds < SEEDS) {
        return; /* Too few for everything to happen. */
    }
    for (uint32_t i = 0; i < KINDS; i++) {
        assert_true(t.seen[i] > seeds);
    }
    assert_true(t.plans > seeds && t.left_out > seeds / 4 && t.added > 0 && t.carried > 0 &&
                t.crashes > seeds / 10 && t.wholes > seeds && t.laters > seeds && t.unfit > 0);
}

/* All sites but the restarted one wait for copies of what was lost with others: the newest of that
 * is what there is to go on from, not what tables start with. */
static void a_restarted_site_does_not_undo_rounds(void **state)
{
    const uint64_t void_ten = 10 | CENTRAL_VOID, void_zero = CENTRAL_VOID;
    const struct central_stand stands[] = {
        {.epoch = 36, .last = 24, .until = CENTRAL_EVER, .chunks = 1, .versions = &void_ten},
        {.epoch = 36, .last = 24, .until = CENTRAL_EVER, .chunks = 1, .versions = &void_zero},
    };
    const struct central_plan plan = {.epoch = 36, .centre = 0, .active = 7};
    struct central_stand own;
    struct central c;
    uint32_t site, chunk;

    (void)state;
    assert_int_equal(central_init(&c, 3, 0, false), OK);
    assert_int_equal(central_reserve(&c, 1), OK);
    central_grow(&c, 1, 0);
    assert_true(central_adopt(&c, &plan));
    own = central_stand(&c);
    assert_int_equal(central_stood(&c, 0, &own), OK);
    assert_int_equal(central_stood(&c, 1, &stands[0]), OK);
    assert_int_equal(central_stood(&c, 2, &stands[1]), OK);
    assert_true(central_begin(&c));
    assert_true(central_next_ask(&c, &site, &chunk));
    assert_int_equal(site, 1);
    assert_false(central_next_ask(&c, &site, &chunk));
    central_deinit(&c);
}

/* A site that named @until as its last round, and is to have sums from @since on, asks the centre,
 * which has the chunk as of round 3, to be busy again. */
static uint64_t entry(uint64_t since, uint64_t until, bool ask)
{
    const uint64_t three = 3;
    const struct central_plan plan = {.epoch = 2, .centre = 0, .active = 3};
    struct central_stand stand = {
        .epoch = 2, .last = 1, .since = since, .until = until, .chunks = 1, .versions = &three};
    struct central_stand own;
    struct central c;
    uint64_t round;

    assert_int_equal(central_init(&c, 2, 0, false), OK);
    assert_int_equal(central_reserve(&c, 1), OK);
    central_grow(&c, 1, 3);
    central_restore_last(&c, 1);
    assert_true(central_adopt(&c, &plan));
    own = central_stand(&c);
    assert_int_equal(central_stood(&c, 0, &own), OK);
    assert_int_equal(central_stood(&c, 1, &stand), OK);
    assert_true(central_begin(&c));
    round = ask ? central_busy(&c, 1) : central_since(&c, 1);
    central_deinit(&c);
    return round;
}

/* Its sum of the last round that it named may be on its way still, behind what it asks; the same if
 * nobody was let in before another plan came. What it cannot have sent is not waited for. */
static void who_is_let_in_adds_to_no_sum_that_was_made(void **state)
{
    (void)state;
    assert_true(entry(1, 2, true) == 4);
    assert_true(entry(1, 3, true) == 4);
    assert_true(entry(1, 4, true) == 5);
    assert_true(entry(4, CENTRAL_EVER, false) == 4);
    assert_true(entry(5, CENTRAL_EVER, false) == 5);
    assert_true(entry(9, CENTRAL_EVER, false) == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_and_nothing_counts_twice),
        cmocka_unit_test(a_restarted_site_does_not_undo_rounds),
        cmocka_unit_test(who_is_let_in_adds_to_no_sum_that_was_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
