/* Random networks in which links go down and up and sites restart: when that ends, all who are
 * joined know the same network and follow the same plan, after a few proposals and then none. */

#include "sync/links.h"

#include "base/rng.h"

/* cmocka wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

enum {
    SITES = LINKS_SITES_MAX,
    SITES_DRAWN = 12, /* At most, of a random network. */
    PLANS = 4096,
    SEEDS = 1000,
    SEEDS_LONG = 20000, /* With STRAIT_LONG. */
    FAULTS = 40,
    LATE = 3,
};

enum kind { UP, DOWN, WORD, PLAN };

struct plan {
    uint32_t epoch;
    uint32_t centre;
    uint64_t active;
    struct links_path paths[SITES];
};

struct message {
    struct message *next;
    uint64_t at;
    enum kind kind;
    uint32_t session; /* That begins. */
    const struct plan *plan;
    struct links_word word;
};

/* From one site to another: what was sent first comes first. */
struct channel {
    struct message *first;
    struct message **last;
    uint64_t latest;
};

struct site {
    struct links l;
    bool alive;
    uint64_t life;
    uint32_t top;            /* It survives. */
    uint32_t session[SITES]; /* With each neighbour, as this end sees it. */
    uint64_t memory_at;      /* It will have copies of everything, or LINKS_NEVER. */
    const struct plan *plan;
    uint32_t late;    /* Proposals after the last fault. */
    uint64_t wake_at; /* It has to be looked at again. */
};

static struct {
    struct site sites[SITES];
    uint32_t count;
    struct links_config config;
    struct channel channels[SITES][SITES];
    bool link[SITES][SITES];    /* There is one. */
    bool carries[SITES][SITES]; /* It works, if both ends are alive. */
    uint32_t session[SITES][SITES];
    struct plan plans[PLANS];
    uint32_t plans_count;
    struct rng rng;
    uint32_t seed;
    uint64_t now;
    uint64_t why[LINKS_CHANGED + 1];
    uint64_t wholes, apart, restarts;
    struct {
        uint64_t links, ups;   /* Links that there are; ends of links that came up. */
        uint64_t words, plans; /* That were made. */
        uint64_t word_messages, plan_messages, entries;
    } sent; /* By one seed. */
    struct {
        uint64_t word_messages, words_times_sites;
        uint64_t plan_messages, plans_times_sites;
    } all; /* Seeds. */
} t;

static uint64_t bit(uint32_t site)
{
    return UINT64_C(1) << site;
}

static void hold(bool holds, const char *what)
{
    if (!holds) {
        fail_msg("seed %u: not so: %s", t.seed, what);
    }
}

static bool works(uint32_t a, uint32_t b)
{
    return t.link[a][b] && t.carries[a][b] && t.sites[a].alive && t.sites[b].alive;
}

static uint32_t *session(uint32_t a, uint32_t b)
{
    return a < b ? &t.session[a][b] : &t.session[b][a];
}

static void post(uint32_t from, uint32_t to, enum kind kind, const struct plan *plan,
                 const struct links_word *word)
{
    struct channel *c = &t.channels[from][to];
    struct message *m = calloc(1, sizeof(*m));
    uint64_t at = t.now + MS + rng_below(&t.rng, 20 * MS);

    assert_non_null(m);
    c->latest = c->latest > at ? c->latest : at;
    m->at = c->latest;
    m->kind = kind;
    m->plan = plan;
    m->session = *session(from, to);
    if (word != NULL) {
        m->word = *word;
    }
    if (c->first == NULL) {
        c->last = &c->first;
    }
    *c->last = m;
    c->last = &m->next;
}

static struct message *pop(struct channel *c)
{
    struct message *m = c->first;

    c->first = m->next;
    return m;
}

static void clear(uint32_t from, uint32_t to)
{
    while (t.channels[from][to].first != NULL) {
        free(pop(&t.channels[from][to]));
    }
}

/* It is lost where the session is over and this end has not seen that yet. */
static void send(uint32_t from, uint32_t to, enum kind kind, const struct plan *plan,
                 const struct links_word *word)
{
    if (works(from, to) && t.sites[from].session[to] == *session(from, to)) {
        post(from, to, kind, plan, word);
    }
}

/* What neighbours are to be sent. */
static void send_pending(uint32_t from)
{
    struct site *site = &t.sites[from];

    for (uint32_t to = 0; to < t.count; to++) {
        uint64_t pending = to == from ? 0 : links_pending(&site->l, to, t.now);

        for (uint32_t about = 0; about < t.count; about++) {
            struct links_word word;

            if ((pending & bit(about)) != 0) {
                links_pending_get(&site->l, to, about, t.now, &word);
                send(from, to, WORD, NULL, &word);
                t.sent.word_messages++;
                t.sent.entries += word.count;
            }
        }
        if (to != from && links_plan_is_pending(&site->l, to)) {
            links_plan_known(&site->l, to, site->plan->epoch);
            send(from, to, PLAN, site->plan, NULL);
            t.sent.plan_messages++;
        }
    }
}

/* Plans. */

/* Paths to the centre by the links that the proposer knows. */
static void make_paths(const struct links *l, struct plan *plan)
{
    uint64_t done = bit(plan->centre);
    uint32_t order[SITES] = {plan->centre};
    uint32_t count = 1;

    plan->paths[plan->centre] = (struct links_path){
        .life = links_life(l, plan->centre), .count = 1, .sites = {plan->centre}};
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t s = 0; s < t.count; s++) {
            struct links_path *path = &plan->paths[s];
            const struct links_path *way = &plan->paths[order[i]];

            if ((done & bit(s)) != 0 || !links_joined(l, s, order[i])) {
                continue;
            }
            path->life = links_life(l, s);
            path->count = way->count + 1;
            path->sites[0] = s;
            memcpy(path->sites + 1, way->sites, way->count * sizeof(way->sites[0]));
            path->rates[0] = links_rate(l, s, order[i]);
            memcpy(path->rates + 1, way->rates, (way->count - 1) * sizeof(way->rates[0]));
            done |= bit(s);
            order[count++] = s;
        }
    }
    hold(done == plan->active, "who is reached can be");
}

static void check_majority(const struct links *l, uint64_t active)
{
    uint32_t in = 0;
    uint32_t out = 0;

    if (!t.config.majority) {
        return;
    }
    for (uint32_t s = 0; s < t.count; s++) {
        struct links_word word;
        bool remembers =
            s == l->self ? l->list[s].remembers : !links_word_get(l, s, &word) || word.remembers;

        in += remembers && (active & bit(s)) != 0;
        out += remembers && (active & bit(s)) == 0;
    }
    hold((uint32_t)__builtin_popcountll(active) * 2 > t.count, "most are in a plan");
    hold(in > out || in + out == 0, "most of those that remember are in a plan");
}

static void follow(uint32_t s, const struct plan *plan)
{
    struct site *site = &t.sites[s];

    site->plan = plan;
    site->top = site->top > plan->epoch ? site->top : plan->epoch;
    if ((plan->active & bit(s)) != 0 && plan->paths[s].life == site->life) {
        site->memory_at = t.now + 50 * MS + rng_below(&t.rng, 500 * MS);
    }
}

static void propose(uint32_t s, const struct links_wish *wish)
{
    struct links *l = &t.sites[s].l;
    struct plan *plan = &t.plans[t.plans_count++];
    uint32_t centre = (uint32_t)rng_below(&t.rng, t.count);

    assert_true(t.plans_count < PLANS);
    t.why[wish->why]++;
    t.sites[s].late++;
    check_majority(l, wish->active);
    for (uint32_t i = 0; i + 1 < t.plans_count; i++) {
        hold(t.plans[i].epoch != wish->epoch, "epochs are unique");
    }
    while ((wish->active & bit(centre)) == 0) {
        centre = (centre + 1) % t.count;
    }
    *plan = (struct plan){.epoch = wish->epoch, .centre = centre, .active = wish->active};
    make_paths(l, plan);
    assert_int_equal(links_plan_set(l, plan->epoch, centre, plan->active, plan->paths), LINKS_NEW);
    follow(s, plan);
    t.sent.plans++;
}

static uint64_t wake_at(const struct site *site)
{
    uint64_t at = LINKS_NEVER;

    if (site->alive) {
        uint64_t pending_at = links_pending_deadline(&site->l);

        at = links_deadline(&site->l);
        at = at < pending_at ? at : pending_at;
        at = at < site->memory_at ? at : site->memory_at;
    }
    return at;
}

/* After whatever has happened to a site. */
static void settle(uint32_t s)
{
    struct site *site = &t.sites[s];
    struct links_wish wish;
    struct links_word word;

    if (!site->alive) {
        return;
    }
    if (t.now >= site->memory_at) {
        site->memory_at = LINKS_NEVER;
        links_set_memory(&site->l, true, t.now);
    }
    if (links_look(&site->l, t.now, &wish)) {
        propose(s, &wish);
        hold(!links_look(&site->l, t.now, &wish), "who has proposed is content");
    }
    if (links_due(&site->l, t.now)) {
        links_say(&site->l, t.now, &word);
        t.sent.words++;
    }
    send_pending(s);
    site->wake_at = wake_at(site);
}

/* Faults. */

static void birth(uint32_t s, bool keeps)
{
    struct site *site = &t.sites[s];

    site->alive = true;
    site->life++;
    site->memory_at = LINKS_NEVER;
    site->plan = NULL;
    assert_int_equal(links_init(&site->l, t.count, s, site->life, &t.config, t.now), OK);
    links_set_top(&site->l, site->top);
    links_set_memory(&site->l, keeps, t.now);
}

static void open_link(uint32_t a, uint32_t b)
{
    if (works(a, b)) {
        post(a, b, UP, NULL, NULL);
        post(b, a, UP, NULL, NULL);
    }
}

/* What is under way is lost, and each end sees it some time later. */
static void cut_link(uint32_t a, uint32_t b)
{
    clear(a, b);
    clear(b, a);
    (*session(a, b))++;
    if (t.sites[a].alive) {
        post(b, a, DOWN, NULL, NULL);
    }
    if (t.sites[b].alive) {
        post(a, b, DOWN, NULL, NULL);
    }
}

static void die(uint32_t s)
{
    t.sites[s].alive = false;
    links_deinit(&t.sites[s].l);
    for (uint32_t b = 0; b < t.count; b++) {
        clear(b, s);
        if (t.link[s][b] && t.carries[s][b]) {
            cut_link(s, b);
        }
    }
}

static void come_back(uint32_t s)
{
    birth(s, rng_chance(&t.rng, 500000));
    t.restarts++;
    for (uint32_t b = 0; b < t.count; b++) {
        open_link(s, b);
    }
    settle(s);
}

static void toggle(uint32_t a, uint32_t b)
{
    bool carried = t.carries[a][b];

    if (!carried) {
        t.carries[a][b] = t.carries[b][a] = true;
        open_link(a, b);
    } else {
        if (works(a, b)) {
            cut_link(a, b);
        }
        t.carries[a][b] = t.carries[b][a] = false;
    }
}

static void fault(void)
{
    uint32_t a = (uint32_t)rng_below(&t.rng, t.count);
    uint32_t b = (uint32_t)rng_below(&t.rng, t.count);
    uint32_t dice = (uint32_t)rng_below(&t.rng, 10);

    if (!t.sites[a].alive) {
        come_back(a);
    } else if (dice == 0) {
        die(a);
    } else if (dice == 1 && a != b) {
        links_set_rate(&t.sites[a].l, b, 1 + rng_below(&t.rng, 1000000));
        settle(a);
    } else if (dice == 2 && rng_chance(&t.rng, 200000)) {
        links_set_memory(&t.sites[a].l, false, t.now);
        settle(a);
    } else if (dice == 3 && rng_chance(&t.rng, 200000)) {
        links_ask(&t.sites[a].l);
        settle(a);
    } else if (t.link[a][b]) {
        toggle(a, b);
    }
}

static void mend(void)
{
    for (uint32_t a = 0; a < t.count; a++) {
        if (!t.sites[a].alive) {
            come_back(a);
        }
        for (uint32_t b = 0; b < a; b++) {
            if (t.link[a][b] && !t.carries[a][b]) {
                toggle(a, b);
            }
        }
    }
}

/* Time. */

static void receive(uint32_t from, uint32_t to, const struct message *m)
{
    struct site *site = &t.sites[to];
    enum links_verdict verdict;

    switch (m->kind) {
    case UP:
        t.sent.ups++;
        site->session[from] = m->session;
        links_set_up(&site->l, from, true, t.now);
        break;
    case DOWN:
        links_neighbour_reset(&site->l, from);
        links_set_up(&site->l, from, false, t.now);
        break;
    case WORD:
        assert_int_not_equal(links_take(&site->l, from, &m->word, t.now), LINKS_WRONG);
        break;
    default:
        links_plan_known(&site->l, from, m->plan->epoch);
        verdict = links_plan_set(&site->l, m->plan->epoch, m->plan->centre, m->plan->active,
                                 m->plan->paths);
        assert_int_not_equal(verdict, LINKS_WRONG);
        if (verdict == LINKS_NEW) {
            follow(to, m->plan);
        }
    }
    settle(to);
}

/* Do what is next, if it is before @until. */
static bool step(uint64_t until)
{
    uint64_t at = LINKS_NEVER;
    uint32_t from = SITES;
    uint32_t to = 0;

    for (uint32_t a = 0; a < t.count; a++) {
        if (t.sites[a].alive && t.sites[a].wake_at < at) {
            at = t.sites[a].wake_at;
            from = SITES;
            to = a;
        }
        for (uint32_t b = 0; b < t.count; b++) {
            if (t.channels[a][b].first != NULL && t.channels[a][b].first->at < at) {
                at = t.channels[a][b].first->at;
                from = a;
                to = b;
            }
        }
    }
    if (at >= until) {
        return false;
    }
    t.now = at > t.now ? at : t.now;
    if (from == SITES) {
        settle(to);
    } else {
        struct message *m = pop(&t.channels[from][to]);

        receive(from, to, m);
        free(m);
    }
    return true;
}

/* The end. */

static uint64_t component(uint32_t s)
{
    uint64_t reached = bit(s);
    uint64_t todo = reached;

    while (todo != 0) {
        uint32_t a = (uint32_t)__builtin_ctzll(todo);

        todo &= todo - 1;
        for (uint32_t b = 0; b < t.count; b++) {
            if ((reached & bit(b)) == 0 && works(a, b)) {
                reached |= bit(b);
                todo |= bit(b);
            }
        }
    }
    return reached;
}

static void check_same_word(uint32_t a, uint32_t b, uint32_t about)
{
    struct links_word of_a;
    struct links_word of_b;
    bool known = links_word_get(&t.sites[a].l, about, &of_a);

    hold(links_word_get(&t.sites[b].l, about, &of_b) == known, "both have a word");
    if (!known) {
        return;
    }
    hold(of_a.life == of_b.life && of_a.number == of_b.number && of_a.epoch == of_b.epoch &&
             of_a.top == of_b.top && of_a.remembers == of_b.remembers && of_a.count == of_b.count,
         "both have the same word");
    for (uint32_t i = 0; i < of_a.count; i++) {
        hold(of_a.entries[i].neighbour == of_b.entries[i].neighbour &&
                 of_a.entries[i].up == of_b.entries[i].up &&
                 of_a.entries[i].bytes_per_s == of_b.entries[i].bytes_per_s,
             "its links are the same");
    }
}

static bool has_majority(const struct links *l, uint64_t active)
{
    uint32_t in = 0;
    uint32_t out = 0;

    for (uint32_t s = 0; s < t.count; s++) {
        struct links_word word;
        bool remembers = !links_word_get(l, s, &word) || word.remembers;

        in += remembers && (active & bit(s)) != 0;
        out += remembers && (active & bit(s)) == 0;
    }
    return !t.config.majority ||
           ((uint32_t)__builtin_popcountll(active) * 2 > t.count && (in > out || in + out == 0));
}

/* The plan is one for just those who are there. */
static void check_plan(uint32_t s, uint64_t joined)
{
    const struct plan *plan = t.sites[s].plan;

    hold(plan != NULL && plan->active == joined, "all who are there are active");
    for (uint32_t a = 0; a < t.count; a++) {
        if ((joined & bit(a)) == 0) {
            continue;
        }
        hold(plan->paths[a].life == t.sites[a].life, "the plan is for who is there now");
        for (uint32_t i = 1; i < plan->paths[a].count; i++) {
            hold(works(plan->paths[a].sites[i - 1], plan->paths[a].sites[i]), "paths work");
        }
    }
}

static void check_site(uint32_t s)
{
    const struct links *l = &t.sites[s].l;
    uint64_t all = UINT64_MAX >> (64 - t.count);
    uint64_t joined = component(s);
    uint32_t late = 0;

    hold(links_reached(l) == joined, "who is joined is reached");
    hold(wake_at(&t.sites[s]) == LINKS_NEVER && !links_due(l, t.now), "all is quiet");
    for (uint32_t b = 0; b < t.count; b++) {
        if ((joined & bit(b)) == 0) {
            continue;
        }
        late += t.sites[b].late;
        hold(t.sites[b].plan == t.sites[s].plan, "all follow the same plan");
        for (uint32_t about = 0; about < t.count; about++) {
            check_same_word(s, b, about);
        }
        for (uint32_t a = 0; a < t.count; a++) {
            hold(((joined & bit(a)) != 0 && links_joined(l, a, b)) == works(a, b),
                 "links are known");
        }
    }
    hold(late <= LATE, "there are few proposals after the last fault");
    t.wholes += joined == all;
    t.apart += joined != all;
    if (joined == all || (t.config.away_ns != 0 && has_majority(l, joined))) {
        check_plan(s, joined);
    }
}

static void draw(void)
{
    uint32_t density_ppm;

    t.count = 2 + (uint32_t)rng_below(&t.rng, SITES_DRAWN - 1);
    t.config = links_config_default();
    t.config.settle_ns = 2000 * MS;
    t.config.away_ns = rng_chance(&t.rng, 250000) ? 0 : 500 * MS + rng_below(&t.rng, 3000 * MS);
    t.config.majority = rng_chance(&t.rng, 700000);
    density_ppm = rng_chance(&t.rng, 700000) ? 150000 : (uint32_t)rng_below(&t.rng, 1000000);
    memset(t.link, 0, sizeof(t.link));
    for (uint32_t a = 1; a < t.count; a++) {
        uint32_t b = (uint32_t)rng_below(&t.rng, a);

        t.link[a][b] = t.link[b][a] = true;
        for (uint32_t i = 0; i < a; i++) {
            if (rng_chance(&t.rng, density_ppm)) {
                t.link[a][i] = t.link[i][a] = true;
            }
        }
    }
    memcpy(t.carries, t.link, sizeof(t.link));
}

static void begin(void)
{
    t.now = 1;
    t.plans_count = 0;
    memset(&t.sent, 0, sizeof(t.sent));
    memset(t.sites, 0, sizeof(t.sites));
    memset(t.channels, 0, sizeof(t.channels));
    for (uint32_t s = 0; s < t.count; s++) {
        birth(s, false);
    }
    for (uint32_t a = 0; a < t.count; a++) {
        for (uint32_t b = 0; b < a; b++) {
            t.sent.links += t.link[a][b];
            open_link(a, b);
        }
        settle(a);
    }
}

/* No word and no plan goes over a link twice, but for what a link that comes up brings; and
 * altogether hardly more often than once to each site. */
static void check_messages(void)
{
    hold(t.sent.word_messages <= 2 * t.sent.links * t.sent.words + t.sent.ups * t.count,
         "words are sent at most as often as links times changes");
    hold(t.sent.plan_messages <= 2 * t.sent.plans * t.count + t.sent.ups,
         "plans are sent at most as often as sites times plans");
    t.all.word_messages += t.sent.word_messages;
    t.all.plan_messages += t.sent.plan_messages;
    t.all.words_times_sites += t.sent.words * t.count;
    t.all.plans_times_sites += t.sent.plans * t.count;
}

/* Until nothing happens any more. */
static void finish(void)
{
    uint32_t steps = 0;

    while (step(LINKS_NEVER)) {
        hold(steps++ < 1000000, "it ends");
    }
    for (uint32_t s = 0; s < t.count; s++) {
        if (t.sites[s].alive) {
            check_site(s);
        }
    }
    for (uint32_t s = 0; s < t.count; s++) {
        if (t.sites[s].alive) {
            links_deinit(&t.sites[s].l);
        }
    }
    check_messages();
}

static void run(uint32_t seed)
{
    uint32_t faults;

    t.seed = seed;
    rng_init(&t.rng, seed);
    draw();
    begin();
    faults = (uint32_t)rng_below(&t.rng, FAULTS);
    for (uint32_t i = 0; i < faults; i++) {
        uint64_t until = t.now + rng_below(&t.rng, (i % 8 == 0 ? 5000 : 300) * MS);

        while (step(until)) {
        }
        t.now = until;
        fault();
    }
    if (rng_chance(&t.rng, 500000)) {
        mend();
    }
    for (uint32_t s = 0; s < t.count; s++) {
        t.sites[s].late = 0;
    }
    finish();
}

static void all_who_are_joined_end_with_the_same_plan(void **state)
{
    uint32_t seeds = getenv("STRAIT_VALGRIND") != NULL ? 20
                     : getenv("STRAIT_LONG") != NULL   ? SEEDS_LONG
                                                       : SEEDS;

    (void)state;
    for (uint32_t seed = 0; seed < seeds; seed++) {
        run(seed);
    }
    for (uint32_t why = LINKS_FIRST; why <= LINKS_CHANGED; why++) {
        assert_true(t.why[why] > 0);
    }
    assert_true(t.wholes > seeds && t.apart > seeds && t.restarts > seeds);
    assert_true(t.all.word_messages < t.all.words_times_sites);
    assert_true(t.all.plan_messages < t.all.plans_times_sites * 5 / 4);
}

/* All links of a full mesh come up at about the same time: words go from the site that says them to
 * all others and no further. */
static void in_a_full_mesh_nothing_is_passed_on(void **state)
{
    uint32_t most = getenv("STRAIT_VALGRIND") != NULL ? 16 : SITES;

    (void)state;
    for (uint32_t count = 4; count <= most; count *= 2) {
        t.seed = count;
        rng_init(&t.rng, count);
        t.count = count;
        t.config = links_config_default();
        for (uint32_t a = 0; a < count; a++) {
            for (uint32_t b = 0; b < count; b++) {
                t.link[a][b] = t.carries[a][b] = a != b;
            }
        }
        begin();
        finish();
        hold(t.sent.word_messages <= 6 * (uint64_t)count * count, "words go to each site once");
        hold(t.sent.entries <= 2 * t.sent.ups * count, "so does what they say");
        hold(t.sent.plan_messages == t.sent.plans * (count - 1), "so do plans");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_who_are_joined_end_with_the_same_plan),
        cmocka_unit_test(in_a_full_mesh_nothing_is_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
