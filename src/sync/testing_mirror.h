/* Several mirror machines with a network between them that delays, loses sessions and stops
 * processes; payloads are whole numbers, so that everything can be added up exactly.
 *
 * The world remembers what each site made of each chunk, number by number. So it knows at any time
 * what a site must hold that says "I have all up to here" (I8), and whether a mark told the truth
 * (I9). */

#ifndef SYNC_TESTING_MIRROR_H
#define SYNC_TESTING_MIRROR_H

#include "base/rng.h"
#include "sync/mirror.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    TESTING_SITES = 7,
    TESTING_CHUNKS = 3,
    TESTING_MADE_MAX = 4096, /* Of one site and chunk. */
    TESTING_QUEUE_MAX = 128,
    TESTING_HELD_MAX = 24,
    TESTING_AWAY_NS = 400,
    TESTING_ROUND_NS = 10, /* Of settling. */
    TESTING_ROUNDS_MAX = 400,
    TESTING_ROUNDS_QUIET = 2 * TESTING_AWAY_NS / TESTING_ROUND_NS,
};

/* A payload: how much, and how many hold it. */
struct testing_token {
    int64_t value;
    uint32_t refs;
};

/* What is on its way from one site to another. */
struct testing_letter {
    enum { LETTER_PIECE, LETTER_MARKS, LETTER_REPORT } kind;
    uint32_t chunk;
    uint32_t groups;
    uint64_t clock;
    uint32_t count;
    struct mirror_range ranges[TESTING_SITES]; /* Sites as in the world. */
    int64_t value;
    struct mirror_mark marks[TESTING_SITES + 2];
    struct mirror_report report;
};

struct testing_pipe {
    struct testing_letter *letters; /* TESTING_QUEUE_MAX. */
    uint32_t first, count;
    bool open;
    bool paused; /* The session goes on later, with all that is on its way. */
};

struct testing_made {
    uint64_t number;
    uint64_t clock;
    int64_t sum; /* Of all pieces of the chunk up to this one. */
};

/* What is stored of a site, if it stores: enough to begin again. */
struct testing_stored {
    uint64_t number, clock;
    uint64_t contained[TESTING_CHUNKS][TESTING_SITES];
    uint64_t stable[TESTING_SITES], mirror_clock[TESTING_SITES];
    int64_t values[TESTING_CHUNKS];
};

struct sync_testing_site {
    struct mirror m;
    bool on;
    bool durable;
    uint32_t index_of[TESTING_SITES]; /* By place in the world: in this machine. */
    uint32_t place_of[TESTING_SITES]; /* And back. */
    int64_t values[TESTING_CHUNKS];
    uint64_t life;
    struct testing_letter held[TESTING_HELD_MAX];
    uint32_t held_count;
    /* Pieces made: of all lives. Those above .stored may be forgotten at a restart. */
    struct testing_made *made[TESTING_CHUNKS];
    uint32_t made_count[TESTING_CHUNKS];
    struct testing_stored stored;
    bool has_stored;
};

struct testing_fleet {
    struct rng rng;
    int64_t now_ns;
    uint32_t sites_count;
    uint32_t groups;
    uint32_t group_of[TESTING_SITES];
    uint64_t staleness;
    bool durable;
    bool may_forget; /* Processes without a store may be killed. */
    bool forgets;    /* One has begun with nothing, ... */
    int64_t
        forgotten[TESTING_CHUNKS]; /* ... and so much of what it made some other did not have. */
    uint32_t island;               /* Nobody can reach that one ... */
    int64_t island_ns;             /* ... before this. */
    struct sync_testing_site sites[TESTING_SITES];
    struct testing_pipe pieces[TESTING_SITES][TESTING_SITES];  /* [from][to] */
    struct testing_pipe reports[TESTING_SITES][TESTING_SITES]; /* They overtake. */
    uint64_t taken, dropped, held, refused, merged, relayed, copies, restarts, lost_sessions;
    uint64_t paused_sessions, left_out, delivered;
    int tokens;
};

static inline struct testing_token *testing_token(struct testing_fleet *f, int64_t value)
{
    struct testing_token *t = malloc(sizeof(*t));

    assert_non_null(t);
    *t = (struct testing_token){.value = value, .refs = 1};
    f->tokens++;
    return t;
}

static inline void testing_token_drop(struct testing_fleet *f, struct testing_token *t)
{
    assert_true(t->refs > 0);
    if (--t->refs == 0) {
        f->tokens--;
        free(t);
    }
}

static inline void testing_release(struct testing_fleet *f, uint32_t site)
{
    struct testing_token *t;

    while ((t = mirror_release(&f->sites[site].m)) != NULL) {
        testing_token_drop(f, t);
    }
}

static inline struct testing_letter *testing_post(struct testing_pipe *p)
{
    assert_true(p->count < TESTING_QUEUE_MAX);
    return &p->letters[(p->first + p->count++) % TESTING_QUEUE_MAX];
}

static inline void testing_check(struct testing_fleet *f, uint32_t site);

/* Sites as machines. */

static inline uint64_t testing_sum_at(const struct sync_testing_site *s, uint32_t chunk,
                                      uint64_t number, int64_t *sum_out)
{
    uint32_t count = s->made_count[chunk];

    while (count > 0 && s->made[chunk][count - 1].number > number) {
        count--;
    }
    *sum_out = count == 0 ? 0 : s->made[chunk][count - 1].sum;
    return count == 0 ? 0 : s->made[chunk][count - 1].number;
}

static inline void testing_machine(struct testing_fleet *f, uint32_t site)
{
    struct sync_testing_site *s = &f->sites[site];
    struct mirror_config config = {
        .staleness = f->staleness,
        .away_ns = TESTING_AWAY_NS,
        .majority = true,
        .durable = f->durable,
        .life = ++s->life,
        .groups = f->groups,
        .stall_ns = 150,
        .gather_ns = 20,
    };
    struct err_text text;

    assert_int_equal(mirror_init(&s->m, &config, f->group_of[site], &text), OK);
    assert_int_equal(mirror_grow(&s->m, TESTING_CHUNKS), OK);
    s->index_of[site] = MIRROR_SELF;
    s->place_of[MIRROR_SELF] = site;
    for (uint32_t i = 0; i < f->sites_count; i++) {
        uint32_t other = (site + 1 + i) % f->sites_count; /* Another order everywhere. */

        if (other != site) {
            uint32_t index;

            assert_int_equal(mirror_add_site(&s->m, f->group_of[other], f->now_ns, &index), OK);
            s->index_of[other] = index;
            s->place_of[index] = other;
        }
    }
    for (uint32_t g = 0; g < f->groups; g++) {
        for (uint32_t h = 0; h < f->groups; h++) {
            struct mirror_hubs hubs = {0};

            for (uint32_t i = 0; i < f->sites_count; i++) {
                uint32_t candidate = (i + g + h) % f->sites_count;

                if (f->group_of[candidate] == g && hubs.count < 2) {
                    hubs.sites[hubs.count++] = s->index_of[candidate];
                }
            }
            mirror_set_hubs(&s->m, g, h, &hubs);
        }
    }
    s->on = true;
    s->held_count = 0;
}

static inline void testing_pipe_clear(struct testing_pipe *p)
{
    p->count = 0;
}

/* A session begins on both sides, each way; or it goes on. */
static inline void testing_connect(struct testing_fleet *f, uint32_t a, uint32_t b)
{
    struct sync_testing_site *sa = &f->sites[a], *sb = &f->sites[b];
    bool again;

    if (!sa->on || !sb->on || f->pieces[a][b].open ||
        ((a == f->island || b == f->island) && f->now_ns < f->island_ns)) {
        return;
    }
    again = !f->pieces[a][b].paused;
    f->pieces[a][b].open = f->pieces[b][a].open = true;
    f->pieces[a][b].paused = f->pieces[b][a].paused = false;
    mirror_up(&sa->m, sa->index_of[b], again, f->now_ns);
    mirror_up(&sb->m, sb->index_of[a], again, f->now_ns);
    testing_release(f, a);
    testing_release(f, b);
}

/* It is over: what was on its way is lost. */
static inline void testing_disconnect(struct testing_fleet *f, uint32_t a, uint32_t b)
{
    if (!f->pieces[a][b].open && !f->pieces[a][b].paused) {
        return;
    }
    f->lost_sessions++;
    f->pieces[a][b].open = f->pieces[b][a].open = false;
    f->pieces[a][b].paused = f->pieces[b][a].paused = false;
    testing_pipe_clear(&f->pieces[a][b]);
    testing_pipe_clear(&f->pieces[b][a]);
    testing_pipe_clear(&f->reports[a][b]);
    testing_pipe_clear(&f->reports[b][a]);
    if (f->sites[a].on) {
        mirror_down(&f->sites[a].m, f->sites[a].index_of[b], f->now_ns);
    }
    if (f->sites[b].on) {
        mirror_down(&f->sites[b].m, f->sites[b].index_of[a], f->now_ns);
    }
}

/* The connection is lost, the session is not. */
static inline void testing_pause(struct testing_fleet *f, uint32_t a, uint32_t b)
{
    if (!f->pieces[a][b].open) {
        return;
    }
    f->paused_sessions++;
    f->pieces[a][b].open = f->pieces[b][a].open = false;
    f->pieces[a][b].paused = f->pieces[b][a].paused = true;
    mirror_down(&f->sites[a].m, f->sites[a].index_of[b], f->now_ns);
    mirror_down(&f->sites[b].m, f->sites[b].index_of[a], f->now_ns);
    testing_release(f, a);
    testing_release(f, b);
}

static inline void testing_fleet_open(struct testing_fleet *f, uint64_t seed, uint32_t sites,
                                      uint32_t groups, bool durable, uint64_t staleness)
{
    memset(f, 0, sizeof(*f));
    rng_init(&f->rng, seed);
    f->sites_count = sites;
    f->groups = groups;
    f->durable = durable;
    f->staleness = staleness;
    for (uint32_t i = 0; i < sites; i++) {
        f->group_of[i] = groups == 0 ? 0 : i % groups;
        for (uint32_t c = 0; c < TESTING_CHUNKS; c++) {
            f->sites[i].made[c] = calloc(TESTING_MADE_MAX, sizeof(struct testing_made));
        }
        for (uint32_t j = 0; j < sites; j++) {
            f->pieces[i][j].letters = calloc(TESTING_QUEUE_MAX, sizeof(struct testing_letter));
            f->reports[i][j].letters = calloc(TESTING_QUEUE_MAX, sizeof(struct testing_letter));
        }
    }
    for (uint32_t i = 0; i < sites; i++) {
        testing_machine(f, i);
    }
}

/* All payloads of a machine go with it. */
static inline void testing_kill(struct testing_fleet *f, uint32_t site)
{
    struct sync_testing_site *s = &f->sites[site];
    uint32_t index = 0;
    struct testing_token *t;

    s->on = false;
    for (uint32_t i = 0; i < f->sites_count; i++) {
        if (i != site) {
            testing_disconnect(f, site, i);
        }
    }
    for (uint32_t i = 1; i < f->sites_count; i++) {
        mirror_down(&s->m, i, f->now_ns);
    }
    testing_release(f, site);
    for (uint32_t c = 0; c < TESTING_CHUNKS; c++) {
        for (index = 0; (t = mirror_above(&s->m, c, 0, index)) != NULL; index++) {
            testing_token_drop(f, t);
        }
    }
    mirror_deinit(&s->m);
}

static inline void testing_fleet_close(struct testing_fleet *f)
{
    for (uint32_t i = 0; i < f->sites_count; i++) {
        if (f->sites[i].on) {
            testing_kill(f, i);
        }
        for (uint32_t c = 0; c < TESTING_CHUNKS; c++) {
            free(f->sites[i].made[c]);
        }
        for (uint32_t j = 0; j < f->sites_count; j++) {
            free(f->pieces[i][j].letters);
            free(f->reports[i][j].letters);
        }
    }
    assert_int_equal(f->tokens, 0);
}

/* What happens. */

static inline void testing_make(struct testing_fleet *f, uint32_t site, uint32_t chunk)
{
    struct sync_testing_site *s = &f->sites[site];
    int64_t value = (int64_t)rng_below(&f->rng, 1000) - (f->may_forget ? 0 : 300);
    uint32_t n = s->made_count[chunk];
    int64_t before = n == 0 ? 0 : s->made[chunk][n - 1].sum;

    if (n == TESTING_MADE_MAX) {
        return;
    }
    assert_int_equal(mirror_make(&s->m, chunk, s->m.clock + 1, 8, testing_token(f, value)), OK);
    s->made[chunk][n] = (struct testing_made){
        .number = s->m.number, .clock = s->m.clock + 1, .sum = before + value};
    s->made_count[chunk]++;
    s->values[chunk] += value;
}

/* A clock: a few chunks change, then it is over. */
static inline void testing_clock(struct testing_fleet *f, uint32_t site)
{
    struct sync_testing_site *s = &f->sites[site];
    uint32_t whom;

    if (s->m.fresh || !mirror_may_read(&s->m, s->m.clock + 1, &whom)) {
        return;
    }
    for (uint32_t c = 0; c < TESTING_CHUNKS; c++) {
        if (rng_chance(&f->rng, 600000)) {
            testing_make(f, site, c);
        }
    }
    mirror_advance(&s->m, s->m.clock + 1);
    testing_release(f, site);
}

static inline void testing_send(struct testing_fleet *f, uint32_t from, uint32_t to)
{
    static struct mirror_frame frame;
    struct sync_testing_site *s = &f->sites[from];
    uint32_t peer = s->index_of[to];
    struct testing_letter *l;

    if (!s->on || !f->pieces[from][to].open || f->pieces[from][to].count > TESTING_QUEUE_MAX / 2) {
        return;
    }
    mirror_next(&s->m, peer, &frame);
    if (frame.kind == MIRROR_NOTHING) {
        return;
    }
    l = testing_post(&f->pieces[from][to]);
    *l = (struct testing_letter){.kind = frame.kind == MIRROR_MARKS ? LETTER_MARKS : LETTER_PIECE,
                                 .chunk = frame.chunk,
                                 .groups = frame.groups,
                                 .clock = frame.clock};
    if (frame.kind == MIRROR_MARKS) {
        l->count = frame.mark_count;
        memcpy(l->marks, frame.marks, frame.mark_count * sizeof(l->marks[0]));
        for (uint32_t i = 0; i < l->count; i++) {
            l->marks[i].site = s->place_of[l->marks[i].site];
        }
    } else {
        l->count = frame.range_count;
        memcpy(l->ranges, frame.ranges, frame.range_count * sizeof(l->ranges[0]));
        for (uint32_t i = 0; i < l->count; i++) {
            l->ranges[i].site = s->place_of[l->ranges[i].site];
        }
        for (uint32_t i = 0; i < frame.token_count; i++) {
            l->value += ((struct testing_token *)frame.tokens[i])->value;
        }
        f->merged += frame.token_count > 1;
        f->relayed += frame.relay_count;
    }
    mirror_sent(&s->m, peer, &frame, f->now_ns);
    testing_release(f, from);
}

/* Bits of sites, each moved to where @to says. */
static inline uint64_t testing_bits(const struct testing_fleet *f, uint64_t bits,
                                    const uint32_t *to)
{
    uint64_t out = 0;

    for (uint32_t i = 0; i < f->sites_count; i++) {
        out |= (bits >> i & 1) << to[i];
    }
    return out;
}

static inline void testing_say(struct testing_fleet *f, uint32_t from, uint32_t to)
{
    struct sync_testing_site *s = &f->sites[from];

    if (s->on && f->pieces[from][to].open && mirror_say_due(&s->m, s->index_of[to]) &&
        f->reports[from][to].count < TESTING_QUEUE_MAX / 2) {
        struct testing_letter *l = testing_post(&f->reports[from][to]);

        *l = (struct testing_letter){.kind = LETTER_REPORT};
        mirror_say(&s->m, s->index_of[to], &l->report);
        l->report.away = testing_bits(f, l->report.away, s->place_of);
    }
}

/* Durable: all that it did so far is stored now. */
static inline void testing_store(struct testing_fleet *f, uint32_t site)
{
    struct sync_testing_site *s = &f->sites[site];

    if (!f->durable || s->m.fresh) {
        return;
    }
    s->has_stored = true;
    s->stored.number = s->m.number;
    s->stored.clock = s->m.clock;
    memcpy(s->stored.values, s->values, sizeof(s->values));
    for (uint32_t i = 0; i < f->sites_count; i++) {
        const struct mirror_site *o = &s->m.sites[s->index_of[i]];

        s->stored.stable[i] = o->stable;
        s->stored.mirror_clock[i] = o->clock;
        for (uint32_t c = 0; c < TESTING_CHUNKS; c++) {
            s->stored.contained[c][i] = mirror_contained(&s->m, c, s->index_of[i]);
        }
    }
    mirror_store(&s->m, s->m.number, s->m.clock);
    for (uint32_t i = 0; i < f->sites_count; i++) {
        if (i != site) {
            mirror_stored(&s->m, s->index_of[i], s->stored.stable[i]);
        }
    }
    testing_release(f, site);
}

/* The pieces that were stored, as far as anybody may miss them. */
static inline void testing_restore_pieces(struct testing_fleet *f, uint32_t site, uint64_t floor)
{
    struct sync_testing_site *s = &f->sites[site];
    uint64_t last = floor;

    for (;;) {
        uint64_t best = UINT64_MAX;
        uint32_t chunk = 0, at = 0;

        for (uint32_t c = 0; c < TESTING_CHUNKS; c++) {
            for (uint32_t i = 0; i < s->made_count[c]; i++) {
                if (s->made[c][i].number > last && s->made[c][i].number < best) {
                    best = s->made[c][i].number;
                    chunk = c;
                    at = i;
                }
            }
        }
        if (best == UINT64_MAX) {
            return;
        }
        last = best;
        {
            const struct testing_made *made = &s->made[chunk][at];
            bool first = at == 0 || mirror_life(made[-1].number) < mirror_life(best);
            uint64_t prev = first ? mirror_life(best) << MIRROR_LIFE_SHIFT : made[-1].number;
            int64_t value = made->sum - (at == 0 ? 0 : made[-1].sum);

            assert_int_equal(mirror_restore_piece(&s->m, chunk, prev, best, made->clock, 8,
                                                  testing_token(f, value)),
                             OK);
        }
    }
}

/* What it made and not all others have may be gone with it; the rest may not. */
static inline void testing_forget(struct testing_fleet *f, uint32_t site)
{
    struct sync_testing_site *s = &f->sites[site];

    f->forgets = true;
    for (uint32_t c = 0; c < TESTING_CHUNKS; c++) {
        uint64_t shared = UINT64_MAX;
        int64_t made, had;

        for (uint32_t i = 0; i < f->sites_count; i++) {
            const struct sync_testing_site *o = &f->sites[i];
            uint64_t has = i == site ? shared : mirror_contained(&o->m, c, o->index_of[site]);

            shared = has < shared ? has : shared;
        }
        (void)testing_sum_at(s, c, UINT64_MAX, &made);
        (void)testing_sum_at(s, c, shared, &had);
        f->forgotten[c] += made - had;
    }
    s->has_stored = false;
    memset(s->values, 0, sizeof(s->values));
}

static inline void testing_restart(struct testing_fleet *f, uint32_t site, bool forget)
{
    struct sync_testing_site *s = &f->sites[site];
    uint64_t floor = s->on ? s->m.floor : 0;

    testing_kill(f, site);
    f->restarts++;
    if (!f->durable || !s->has_stored || forget) {
        testing_forget(f, site);
        testing_machine(f, site);
        return;
    }
    for (uint32_t c = 0; c < TESTING_CHUNKS; c++) {
        while (s->made_count[c] > 0 && s->made[c][s->made_count[c] - 1].number > s->stored.number) {
            s->made_count[c]--; /* Nobody has seen them. */
        }
    }
    s->life = mirror_life(s->stored.number) - 1;
    testing_machine(f, site);
    memcpy(s->values, s->stored.values, sizeof(s->values));
    for (uint32_t c = 0; c < TESTING_CHUNKS; c++) {
        int64_t sum;
        uint64_t made = testing_sum_at(s, c, s->stored.number, &sum);

        mirror_restore_chunk(&s->m, c, made);
        for (uint32_t i = 0; i < f->sites_count; i++) {
            mirror_adopt(&s->m, c, s->index_of[i], s->stored.contained[c][i]);
        }
    }
    for (uint32_t i = 0; i < f->sites_count; i++) {
        if (i != site) {
            mirror_restore_site(&s->m, s->index_of[i], s->stored.stable[i],
                                s->stored.mirror_clock[i]);
        }
    }
    testing_restore_pieces(f, site, floor);
    mirror_restore(&s->m, s->stored.number, s->stored.clock);
}

static inline void testing_held(struct testing_fleet *f, uint32_t at);

/* A site takes a copy of another one. */
static inline void testing_copy(struct testing_fleet *f, uint32_t to, uint32_t from)
{
    struct sync_testing_site *d = &f->sites[to], *s = &f->sites[from];
    uint64_t clock = s->m.clock > d->m.clock ? s->m.clock : d->m.clock;

    f->copies++;
    testing_store(f, from); /* Nobody may have what a restart would take back. */
    for (uint32_t c = 0; c < TESTING_CHUNKS; c++) {
        struct testing_token *t;
        int64_t value = s->values[c];

        for (uint32_t i = 0; i < f->sites_count; i++) {
            uint64_t number = i == from ? s->m.made[c] : mirror_contained(&s->m, c, s->index_of[i]);

            if (i != to || d->m.fresh) {
                mirror_adopt(&d->m, c, d->index_of[i], number);
            }
        }
        for (uint32_t i = 0;
             (t = mirror_above(&d->m, c, mirror_contained(&s->m, c, s->index_of[to]), i)) != NULL;
             i++) {
            value += t->value;
        }
        d->values[c] = value;
    }
    for (uint32_t i = 0; i < f->sites_count; i++) {
        const struct mirror_site *o = &s->m.sites[s->index_of[i]];

        mirror_adopt_site(&d->m, d->index_of[i], i == from ? s->m.number : o->stable,
                          i == from ? s->m.clock : o->clock);
    }
    mirror_begin(&d->m, clock);
    testing_held(f, to);
}

/* Has the other one all that nobody keeps any more? */
static inline bool testing_fits(struct testing_fleet *f, uint32_t site, uint32_t whom)
{
    uint64_t stable[MIRROR_SITES_MAX] = {0};

    for (uint32_t i = 0; i < f->sites_count; i++) {
        stable[f->sites[site].index_of[i]] =
            f->sites[whom].m.sites[f->sites[whom].index_of[i]].stable;
    }
    return mirror_copy_fits(&f->sites[site].m, f->sites[site].index_of[whom], stable);
}

static inline void testing_begin(struct testing_fleet *f, uint32_t site)
{
    struct sync_testing_site *s = &f->sites[site];

    if (s->m.fresh && !mirror_all_greeted(&s->m)) {
        return; /* All must keep for us what they make, before we take a copy. */
    }
    if (!mirror_needs_copy(&s->m)) {
        if (s->m.fresh) {
            mirror_begin(&s->m, 0);
        }
        return;
    }
    for (uint32_t i = 0; i < f->sites_count; i++) {
        uint32_t whom = (site + 1 + i) % f->sites_count;

        if (whom != site && f->pieces[site][whom].open && !f->sites[whom].m.fresh &&
            mirror_may_copy(&s->m, s->index_of[whom]) && testing_fits(f, site, whom)) {
            testing_copy(f, site, whom);
            return;
        }
    }
}

static inline void testing_take(struct testing_fleet *f, uint32_t at,
                                const struct testing_letter *l)
{
    f->sites[at].values[l->chunk] += l->value;
    f->taken++;
}

/* What was early may fit now. */
static inline void testing_held(struct testing_fleet *f, uint32_t at)
{
    struct sync_testing_site *s = &f->sites[at];
    bool moved = true;

    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < s->held_count && !moved; i++) {
            struct testing_letter l = s->held[i];
            enum mirror_verdict v = mirror_judge(&s->m, l.chunk, l.ranges, l.count, true, true);

            if (v == MIRROR_HOLD) {
                continue;
            }
            if (v == MIRROR_TAKE) {
                testing_take(f, at, &l);
            }
            s->held[i] = s->held[--s->held_count];
            moved = true;
        }
    }
}

static inline void *testing_keep(void *user)
{
    struct testing_token *t = user;

    t->refs++;
    return t;
}

static inline void testing_piece(struct testing_fleet *f, uint32_t from, uint32_t at,
                                 struct testing_letter *l)
{
    struct sync_testing_site *s = &f->sites[at];

    for (uint32_t i = 0; i < l->count; i++) {
        l->ranges[i].site = s->index_of[l->ranges[i].site];
    }
    if (l->groups != 0) {
        struct testing_token *t = testing_token(f, l->value);

        assert_int_equal(mirror_pass(&s->m, s->index_of[from], l->chunk, l->clock, l->groups,
                                     l->ranges, l->count, 8, testing_keep, t),
                         OK);
        testing_token_drop(f, t);
    }
    switch (mirror_judge(&s->m, l->chunk, l->ranges, l->count, false,
                         l->count == 1 && l->ranges[0].site == s->index_of[from])) {
    case MIRROR_TAKE:
        testing_take(f, at, l);
        testing_held(f, at);
        break;
    case MIRROR_DROP:
        f->dropped++;
        break;
    case MIRROR_HOLD:
        f->held++;
        if (s->held_count == TESTING_HELD_MAX) {
            mirror_lose(&s->m, l->ranges, l->count);
        } else {
            s->held[s->held_count++] = *l;
        }
        break;
    case MIRROR_REFUSE:
        f->refused++;
        break;
    }
}

static inline void testing_deliver(struct testing_fleet *f, uint32_t from, uint32_t to, bool report)
{
    struct testing_pipe *p = report ? &f->reports[from][to] : &f->pieces[from][to];
    struct sync_testing_site *s = &f->sites[to];
    struct testing_letter l;

    if (p->count == 0 || !s->on || !f->pieces[from][to].open) {
        return;
    }
    f->delivered++;
    l = p->letters[p->first];
    p->first = (p->first + 1) % TESTING_QUEUE_MAX;
    p->count--;
    if (l.kind == LETTER_REPORT) {
        l.report.away = testing_bits(f, l.report.away, s->index_of);
        assert_int_equal(mirror_hear(&s->m, s->index_of[from], &l.report, f->now_ns), OK);
        testing_held(f, to); /* What is held may be of a life that is over. */
    } else if (l.kind == LETTER_MARKS) {
        for (uint32_t i = 0; i < l.count; i++) {
            l.marks[i].site = s->index_of[l.marks[i].site];
            mirror_marked(&s->m, s->index_of[from], &l.marks[i]);
        }
    } else {
        testing_piece(f, from, to, &l);
    }
    testing_release(f, to);
    testing_check(f, to);
}

/* What must hold. */

static inline void testing_check_values(struct testing_fleet *f, uint32_t site)
{
    struct sync_testing_site *d = &f->sites[site];

    for (uint32_t c = 0; c < TESTING_CHUNKS; c++) {
        int64_t expected = 0, sum;

        for (uint32_t i = 0; i < f->sites_count; i++) {
            uint64_t number = i == site ? UINT64_MAX : mirror_contained(&d->m, c, d->index_of[i]);

            (void)testing_sum_at(&f->sites[i], c, number, &sum);
            expected += sum;
        }
        if (d->values[c] != expected && !f->forgets) {
            fail_msg("site %u, chunk %u: has %" PRId64 ", should have %" PRId64, site, c,
                     d->values[c], expected);
        }
    }
}

static inline void testing_check_marks(struct testing_fleet *f, uint32_t site)
{
    struct sync_testing_site *d = &f->sites[site];

    for (uint32_t i = 0; i < f->sites_count; i++) {
        const struct mirror_site *o = &d->m.sites[d->index_of[i]];
        struct sync_testing_site *s = &f->sites[i];

        for (uint32_t c = 0; c < TESTING_CHUNKS && i != site; c++) {
            uint64_t has = mirror_contained(&d->m, c, d->index_of[i]);

            for (uint32_t k = s->made_count[c]; k > 0 && s->made[c][k - 1].number > has; k--) {
                const struct testing_made *made = &s->made[c][k - 1];

                if (mirror_life(made->number) != mirror_life(o->stable)) {
                    continue;
                }
                if (made->number <= o->stable) {
                    fail_msg("site %u says it has all of %u up to %" PRIu64 ", but not %" PRIu64
                             " of chunk %u",
                             site, i, o->stable, made->number, c);
                }
                if (made->clock <= o->clock) {
                    fail_msg("site %u: mirror clock of %u is %" PRIu64 ", but number %" PRIu64
                             " is missing",
                             site, i, o->clock, made->number);
                }
            }
        }
    }
}

static inline void testing_check(struct testing_fleet *f, uint32_t site)
{
    struct sync_testing_site *s = &f->sites[site];

    assert_true(mirror_invariant(&s->m));
    if (!s->m.fresh) {
        testing_check_values(f, site);
        testing_check_marks(f, site);
    }
}

/* Everybody has begun, and is connected to everybody. */
static inline bool testing_calm(struct testing_fleet *f)
{
    bool calm = true;

    for (uint32_t a = 0; a < f->sites_count; a++) {
        const struct mirror *m = &f->sites[a].m;

        calm = calm && !m->fresh && !mirror_needs_copy(m);
        for (uint32_t i = 1; i < m->sites_count; i++) {
            calm = calm && m->sites[i].up && m->sites[i].greeted && !m->sites[i].fresh;
        }
    }
    return calm;
}

static inline void testing_tick(struct testing_fleet *f, uint32_t site)
{
    f->left_out += mirror_tick(&f->sites[site].m, f->now_ns);
    testing_release(f, site);
}

/* A site is cut off from all others, long enough to be left out. Not where sites forget: if the
 * same site does both, and others take a copy of it, what they let go in between is lost. */
static inline void testing_cut_off(struct testing_fleet *f, uint32_t site)
{
    if (f->may_forget || f->now_ns < f->island_ns || rng_chance(&f->rng, 700000)) {
        return;
    }
    f->island = site;
    f->island_ns = f->now_ns + 2 * TESTING_AWAY_NS;
    for (uint32_t i = 0; i < f->sites_count; i++) {
        if (i != site && rng_chance(&f->rng, 500000)) {
            testing_pause(f, site, i);
        } else if (i != site) {
            testing_disconnect(f, site, i);
        }
    }
}

/* A fault, or what follows one. */
static inline void testing_fault(struct testing_fleet *f, uint32_t a, uint32_t b)
{
    switch (rng_below(&f->rng, 24)) {
    case 0:
    case 1:
        testing_disconnect(f, a, b);
        break;
    case 2:
        testing_pause(f, a, b);
        break;
    case 3:
        if (f->durable) {
            testing_restart(f, a, false);
        } else if (f->may_forget && testing_calm(f)) {
            testing_restart(f, a, true);
        }
        break;
    case 4:
        testing_cut_off(f, a);
        break;
    default:
        testing_connect(f, a, b);
        break;
    }
}

/* One random thing. */
static inline void testing_step(struct testing_fleet *f, bool faults)
{
    uint32_t a = (uint32_t)rng_below(&f->rng, f->sites_count);
    uint32_t b = (a + 1 + (uint32_t)rng_below(&f->rng, f->sites_count - 1)) % f->sites_count;
    uint64_t what = rng_below(&f->rng, 100);
    uint32_t times = 1 + (uint32_t)rng_below(&f->rng, 6);

    f->now_ns++;
    for (uint32_t i = 0; i < times; i++) {
        if (what < 40) {
            testing_send(f, a, b);
            testing_say(f, a, b);
        } else if (what < 80) {
            testing_deliver(f, a, b, rng_chance(&f->rng, 400000));
        }
    }
    if (what >= 80 && what < 90) {
        testing_clock(f, a);
    } else if (what >= 90 && what < 93) {
        testing_store(f, a);
    } else if (what == 93 || what == 94) {
        testing_tick(f, a);
    } else if (what == 95) {
        testing_begin(f, a);
    } else if (what >= 96 && faults) {
        testing_fault(f, a, b);
    }
    testing_release(f, a);
    testing_check(f, a);
}

/* Everything that two sites have for each other now. */
static inline void testing_exchange(struct testing_fleet *f, uint32_t a, uint32_t b)
{
    testing_connect(f, a, b);
    for (uint32_t k = 0; k < 8; k++) {
        testing_say(f, a, b);
        testing_deliver(f, a, b, true);
        testing_send(f, a, b);
        testing_deliver(f, a, b, false);
    }
}

/* All of it is there, but for what only some had of those who forgot; and nothing twice. */
static inline void testing_check_kept(struct testing_fleet *f, uint32_t site)
{
    for (uint32_t c = 0; c < TESTING_CHUNKS && f->may_forget; c++) {
        int64_t value = f->sites[site].values[c], made = 0, sum;

        for (uint32_t i = 0; i < f->sites_count; i++) {
            (void)testing_sum_at(&f->sites[i], c, UINT64_MAX, &sum);
            made += sum;
        }
        if (value > made || value < made - f->forgotten[c]) {
            fail_msg("site %u, chunk %u: has %" PRId64 " of %" PRId64 ", and only %" PRId64
                     " may be forgotten",
                     site, c, value, made, f->forgotten[c]);
        }
    }
}

/* No more faults and no more clocks: everything arrives, and then nobody says anything. */
static inline void testing_settle(struct testing_fleet *f)
{
    uint32_t quiet = 0;

    f->island_ns = 0;
    for (uint32_t round = 0; round < TESTING_ROUNDS_MAX && quiet < TESTING_ROUNDS_QUIET; round++) {
        uint64_t before = f->delivered;

        f->now_ns += TESTING_ROUND_NS;
        for (uint32_t a = 0; a < f->sites_count; a++) {
            testing_tick(f, a);
            testing_begin(f, a);
            testing_store(f, a);
            for (uint32_t b = 0; b < f->sites_count; b++) {
                if (a != b) {
                    testing_exchange(f, a, b);
                }
            }
            testing_check(f, a);
        }
        quiet = f->delivered == before ? quiet + 1 : 0;
    }
    if (quiet < TESTING_ROUNDS_QUIET) {
        fail_msg("they do not come to rest in %d rounds", TESTING_ROUNDS_MAX);
    }
    for (uint32_t a = 0; a < f->sites_count; a++) {
        testing_check_kept(f, a);
    }
}

#endif
