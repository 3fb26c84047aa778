/* The fabric against a naive model (water-filling from scratch in long double, every flow looked at
 * after every event), on random networks and schedules; and its promises one by one. */

#include "sim/fabric.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "sim/fabric_state.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#ifndef FABRIC_BENCH_EVENTS
#define FABRIC_BENCH_EVENTS 5000 /* Per benchmark; figures worth quoting need a million. */
#endif

enum {
    MODEL_LINKS = 16,
    MODEL_FLOWS = 32,
    MODEL_SEGMENTS = 4, /* Per flow. */
    CHECK_LINKS = 256,
    SECOND_NS = 1000 * 1000 * 1000,
};

struct model_flow {
    bool live;
    sim_flow_id id;
    uint32_t links[SIM_FABRIC_PATH_LINKS_MAX];
    uint32_t links_count;
    long double cap; /* Zero: none. */
    long double rate;
    long double sped; /* The rate before this instant. */
    long double left; /* Of the first segment; may be a little negative. */
    long double slip; /* How far .left may be wrong, because the fabric's rates are rounded. */
    uint64_t bytes[MODEL_SEGMENTS];
    uint64_t tokens[MODEL_SEGMENTS];
    uint32_t count;
};

/* Bytes per second by which rounding may change a rate: some units of 2^-24. */
#define MODEL_SLIP (16.0L / (1 << 24))

/* The fabric under test and the naive model of it. */
struct model {
    struct sim_fabric *fabric;
    struct rng rng;
    int64_t now_ns;
    uint32_t links_count;
    uint64_t capacity[MODEL_LINKS];
    long double carried[MODEL_LINKS];
    uint64_t finished[MODEL_LINKS];
    struct model_flow flows[MODEL_FLOWS];
    uint64_t token;
    bool reentrant; /* Callbacks change things. */
    uint64_t completions;
    int64_t last_ns; /* Of the last completion, for the order. */
    sim_flow_id last_id;
    bool disturbed; /* Something was enqueued at .last_ns. */
};

static struct sim_fabric *fabric_new(uint32_t links, uint32_t flows, uint32_t segments)
{
    struct sim_fabric_limits limits = {links, flows, segments};
    struct sim_fabric *f = NULL;

    assert_int_equal(sim_fabric_create(&limits, &f), OK);
    return f;
}

static sim_link_id link_new(struct sim_fabric *f, uint64_t bytes_per_s)
{
    sim_link_id link = UINT32_MAX;

    assert_int_equal(sim_fabric_link_add(f, bytes_per_s, &link), OK);
    return link;
}

static sim_flow_id flow_new(struct sim_fabric *f, uint32_t count, const sim_link_id *links,
                            uint64_t cap)
{
    sim_flow_id flow = UINT32_MAX;

    assert_int_equal(sim_fabric_flow_add(f, links, count, cap, &flow), OK);
    return flow;
}

#define FLOW_NEW(f, cap, ...)                                                                      \
    flow_new((f), sizeof((sim_link_id[]){__VA_ARGS__}) / sizeof(sim_link_id),                      \
             (sim_link_id[]){__VA_ARGS__}, (cap))

static void enqueue(struct sim_fabric *f, sim_flow_id flow, uint64_t bytes, uint64_t token,
                    int64_t now_ns)
{
    assert_int_equal(sim_fabric_flow_enqueue(f, flow, bytes, token, now_ns), OK);
}

/* The smallest rate at which a link is full or a flow at its cap, the fed ones taken off. */
static long double model_level(const struct model *m, const bool *fed)
{
    long double level = INFINITY;

    for (uint32_t l = 0; l < m->links_count; l++) {
        long double left = (long double)m->capacity[l];
        uint32_t hungry = 0;

        for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
            for (uint32_t k = 0; k < m->flows[i].links_count; k++) {
                if (m->flows[i].count > 0 && m->flows[i].links[k] == l) {
                    left -= fed[i] ? m->flows[i].rate : 0;
                    hungry += !fed[i];
                }
            }
        }
        if (hungry > 0 && left / hungry < level) {
            level = left / hungry;
        }
    }
    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        const struct model_flow *w = &m->flows[i];

        if (w->count > 0 && !fed[i] && w->cap > 0 && w->cap < level) {
            level = w->cap;
        }
    }
    return level < 0 ? 0 : level;
}

static bool model_link_full(const struct model *m, uint32_t link, const bool *fed,
                            long double level)
{
    long double used = 0;

    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        for (uint32_t k = 0; k < m->flows[i].links_count; k++) {
            if (m->flows[i].count > 0 && m->flows[i].links[k] == link) {
                used += fed[i] ? m->flows[i].rate : level;
            }
        }
    }
    return used >= (long double)m->capacity[link] * (1 - 1e-15L);
}

/* Progressive filling, from scratch. */
static void model_share(struct model *m)
{
    bool fed[MODEL_FLOWS] = {false};
    bool stop[MODEL_FLOWS];
    bool more = true;

    while (more) {
        long double level = model_level(m, fed);

        more = false;
        memset(stop, 0, sizeof(stop));
        for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
            struct model_flow *w = &m->flows[i];

            if (w->count == 0 || fed[i]) {
                continue;
            }
            stop[i] = w->cap > 0 && level >= w->cap;
            for (uint32_t k = 0; k < w->links_count; k++) {
                stop[i] = stop[i] || model_link_full(m, w->links[k], fed, level);
            }
        }
        for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
            if (stop[i]) {
                m->flows[i].rate = level;
                fed[i] = true;
                more = true;
            }
        }
    }
}

static void model_advance(struct model *m, int64_t now_ns)
{
    long double seconds = (long double)(now_ns - m->now_ns) / SECOND_NS;

    assert_true(now_ns >= m->now_ns);
    if (now_ns == m->now_ns) {
        return;
    }
    model_share(m);
    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        struct model_flow *w = &m->flows[i];

        if (w->count > 0) {
            w->left -= w->rate * seconds;
            w->sped = w->rate;
            w->slip += seconds * MODEL_SLIP;
            for (uint32_t k = 0; k < w->links_count; k++) {
                m->carried[w->links[k]] += w->rate * seconds;
            }
        }
    }
    m->now_ns = now_ns;
}

static uint32_t model_random_live(struct model *m)
{
    uint32_t start = (uint32_t)rng_below(&m->rng, MODEL_FLOWS);

    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        if (m->flows[(start + i) % MODEL_FLOWS].live) {
            return (start + i) % MODEL_FLOWS;
        }
    }
    return MODEL_FLOWS;
}

/* Round numbers make ties, odd ones make remainders. */
static uint64_t model_random_rate(struct model *m)
{
    static const uint64_t round[] = {1000000, 2000000, 4000000, 12500000, 125000000};

    if (rng_chance(&m->rng, 600000)) {
        return round[rng_below(&m->rng, sizeof(round) / sizeof(round[0]))];
    }
    return 500000 + rng_below(&m->rng, 200000000);
}

static void model_add(struct model *m)
{
    struct model_flow *w = NULL;
    uint64_t cap = rng_chance(&m->rng, 300000) ? model_random_rate(m) / 2 : 0;
    uint32_t count = 1 + (uint32_t)rng_below(&m->rng, SIM_FABRIC_PATH_LINKS_MAX);

    for (uint32_t i = 0; i < MODEL_FLOWS && w == NULL; i++) {
        w = m->flows[i].live ? NULL : &m->flows[i];
    }
    if (w == NULL) {
        return;
    }
    *w = (struct model_flow){.live = true, .cap = (long double)cap};
    while (w->links_count < count && w->links_count < m->links_count) {
        uint32_t link = (uint32_t)rng_below(&m->rng, m->links_count);
        bool known = false;

        for (uint32_t k = 0; k < w->links_count; k++) {
            known = known || w->links[k] == link;
        }
        if (!known) {
            w->links[w->links_count++] = link;
        }
    }
    w->id = flow_new(m->fabric, w->links_count, w->links, cap);
}

static void model_enqueue(struct model *m)
{
    uint32_t i = model_random_live(m);
    struct model_flow *w = &m->flows[i % MODEL_FLOWS];
    uint64_t bytes = rng_chance(&m->rng, 500000) ? 1 + rng_below(&m->rng, 2000)
                                                 : 1 + rng_below(&m->rng, 4 << 20);

    if (i == MODEL_FLOWS || w->count == MODEL_SEGMENTS) {
        return;
    }
    enqueue(m->fabric, w->id, bytes, ++m->token, m->now_ns);
    if (w->count == 0) {
        w->left = (long double)bytes;
        w->slip = 1e-9L;
    }
    w->bytes[w->count] = bytes;
    w->tokens[w->count++] = m->token;
    m->disturbed = true;
}

static void dropped(sim_flow_id flow, uint64_t token, void *user)
{
    struct model_flow *w = user;

    assert_int_equal(flow, w->id);
    assert_true(w->count > 0);
    assert_int_equal(token, w->tokens[0]);
    w->count--;
    memmove(w->tokens, w->tokens + 1, w->count * sizeof(w->tokens[0]));
}

static void model_remove(struct model *m)
{
    uint32_t i = model_random_live(m);

    if (i < MODEL_FLOWS) {
        struct model_flow *w = &m->flows[i];
        uint32_t count = w->count;

        assert_int_equal(sim_fabric_flow_remove(m->fabric, w->id, m->now_ns, dropped, w), count);
        assert_int_equal(w->count, 0);
        *w = (struct model_flow){0};
    }
}

static void model_link_change(struct model *m)
{
    uint32_t link = (uint32_t)rng_below(&m->rng, m->links_count);

    m->capacity[link] = rng_chance(&m->rng, 300000) ? 0 : model_random_rate(m);
    assert_int_equal(sim_fabric_link_set(m->fabric, link, m->capacity[link], m->now_ns), OK);
}

/* The theorem, in the fabric's own integers, without tolerance: no flow is faster than the members
 * of a link on its path, and a link with members is full but for less than a unit per member. */
static void check_fabric(const struct sim_fabric *f)
{
    uint64_t load[CHECK_LINKS] = {0};
    uint32_t members[CHECK_LINKS] = {0};

    assert_true(f->links_count <= CHECK_LINKS);
    for (uint32_t i = 0; i < f->flows_used; i++) {
        const struct fabric_flow *w = &f->flows[i];

        assert_true(!w->active || w->group != FABRIC_NONE);
        for (uint32_t k = 0; w->active && k < w->links_count; k++) {
            const struct fabric_group *g = &f->groups[w->links[k]];

            load[w->links[k]] += w->rate;
            members[w->links[k]] += w->group == w->links[k];
            assert_true(g->members == 0 || w->rate <= g->level);
            assert_true(w->group != w->links[k] || w->rate == g->level);
        }
        if (w->active && w->group >= f->limits.links_max) {
            assert_int_equal(w->group, f->limits.links_max + i);
            assert_int_equal(w->rate, w->cap);
        }
    }
    for (uint32_t l = 0; l < f->links_count; l++) {
        assert_int_equal(f->links[l].load, load[l]);
        assert_int_equal(f->groups[l].members, members[l]);
        assert_true(load[l] <= f->links[l].capacity);
        assert_true(members[l] == 0 || f->links[l].capacity - load[l] < members[l]);
    }
}

/* The rates are those of the model; no link is overloaded; each flow has a bottleneck. */
static void model_check_rates(struct model *m)
{
    long double load[MODEL_LINKS] = {0};
    long double fastest[MODEL_LINKS] = {0};

    model_share(m);
    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        const struct model_flow *w = &m->flows[i];
        long double want = w->count > 0 ? w->rate : 0;
        long double rate = w->live ? (long double)sim_fabric_flow_rate_exact(m->fabric, w->id) : 0;

        assert_true(fabsl(rate - want) <= 1e-9L * want);
        for (uint32_t k = 0; k < w->links_count; k++) {
            load[w->links[k]] += rate;
            fastest[w->links[k]] = fmaxl(fastest[w->links[k]], rate);
        }
    }
    for (uint32_t l = 0; l < m->links_count; l++) {
        assert_true(load[l] <= (long double)m->capacity[l]);
        assert_int_equal(sim_fabric_link_load(m->fabric, l), (uint64_t)load[l]);
    }
    check_fabric(m->fabric);
    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        const struct model_flow *w = &m->flows[i];
        long double rate = w->live ? (long double)sim_fabric_flow_rate_exact(m->fabric, w->id) : 0;
        bool limited = w->count == 0 || (w->cap > 0 && rate == w->cap);

        for (uint32_t k = 0; k < w->links_count; k++) {
            uint32_t l = w->links[k];
            long double slack = (long double)m->capacity[l] - load[l];

            limited = limited || (slack < 1e-4L && rate >= fastest[l] - 1e-4L);
        }
        assert_true(limited);
    }
}

static void model_check_bytes(struct model *m)
{
    for (uint32_t l = 0; l < m->links_count; l++) {
        long double fluid = (long double)sim_fabric_link_fluid_bytes(m->fabric, l);

        assert_int_equal(sim_fabric_link_bytes(m->fabric, l), m->finished[l]);
        assert_true(fabsl(fluid - m->carried[l]) < 2);
    }
    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        const struct model_flow *w = &m->flows[i];
        uint64_t backlog = 0;

        for (uint32_t k = 0; k < w->count; k++) {
            backlog += w->bytes[k];
        }
        if (w->live) {
            assert_int_equal(sim_fabric_flow_backlog(m->fabric, w->id), backlog);
        }
    }
}

static void model_callback_change(struct model *m)
{
    m->disturbed = true;
    switch (rng_below(&m->rng, 6)) {
    case 0:
        model_remove(m);
        break;
    case 1:
        model_add(m);
        break;
    case 2:
        model_link_change(m);
        break;
    case 3:
        model_check_rates(m);
        break;
    default:
        model_enqueue(m);
    }
}

/* A completion must be the model's, within a nanosecond: never early, at most one late. */
static void model_done(sim_flow_id flow, uint64_t token, int64_t at_ns, void *user)
{
    struct model *m = user;
    struct model_flow *w = NULL;

    if (at_ns != m->last_ns) {
        m->disturbed = false;
    }
    assert_true(at_ns > m->last_ns ||
                (at_ns == m->last_ns && (flow >= m->last_id || m->disturbed)));
    m->last_ns = at_ns;
    m->last_id = flow;
    model_advance(m, at_ns);
    assert_int_equal(sim_fabric_now_ns(m->fabric), at_ns);
    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        w = m->flows[i].live && m->flows[i].id == flow ? &m->flows[i] : w;
    }
    assert_non_null(w);
    assert_true(w->count > 0);
    assert_int_equal(w->tokens[0], token);
    assert_true(w->left <= w->slip);
    assert_true(w->left >= -w->sped * 1e-9L - w->slip);
    for (uint32_t k = 0; k < w->links_count; k++) {
        m->finished[w->links[k]] += w->bytes[0];
    }
    w->count--;
    memmove(w->tokens, w->tokens + 1, w->count * sizeof(w->tokens[0]));
    memmove(w->bytes, w->bytes + 1, w->count * sizeof(w->bytes[0]));
    w->left = w->count > 0 ? w->left + (long double)w->bytes[0] : 0;
    m->completions++;
    while (m->reentrant && rng_chance(&m->rng, 400000)) {
        model_callback_change(m);
    }
}

/* Nothing that is due at the model's time was kept back. */
static void model_check_due(struct model *m)
{
    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        assert_true(m->flows[i].count == 0 || m->flows[i].left > -m->flows[i].slip);
    }
}

static void model_run_until(struct model *m, int64_t now_ns)
{
    sim_fabric_advance(m->fabric, now_ns, model_done, m);
    model_advance(m, now_ns);
    model_check_due(m);
}

static void model_step(struct model *m)
{
    int64_t next_ns = sim_fabric_next_ns(m->fabric);

    switch (rng_below(&m->rng, 12)) {
    case 0:
        model_add(m);
        break;
    case 1:
        if (rng_chance(&m->rng, 300000)) {
            model_remove(m);
        }
        break;
    case 2:
        if (rng_chance(&m->rng, 300000)) {
            model_link_change(m);
        }
        break;
    case 3: /* To a time at which nothing happens, perhaps. */
        model_run_until(m, m->now_ns + rng_between(&m->rng, 0, 20 * 1000 * 1000));
        break;
    case 4:
    case 5:
    case 6:
        if (next_ns != SIM_FABRIC_NEVER) {
            model_run_until(m, next_ns);
        }
        break;
    default:
        model_enqueue(m);
    }
}

static uint64_t model_run(uint64_t seed, uint32_t steps, bool reentrant)
{
    struct model m = {.reentrant = reentrant, .last_ns = -1};

    rng_init(&m.rng, seed);
    m.fabric = fabric_new(MODEL_LINKS, MODEL_FLOWS, MODEL_FLOWS * MODEL_SEGMENTS);
    m.links_count = 1 + (uint32_t)rng_below(&m.rng, MODEL_LINKS);
    for (uint32_t l = 0; l < m.links_count; l++) {
        m.capacity[l] = model_random_rate(&m);
        assert_int_equal(link_new(m.fabric, m.capacity[l]), l);
    }
    for (uint32_t n = (uint32_t)rng_below(&m.rng, MODEL_FLOWS + 1); n > 0; n--) {
        model_add(&m);
    }
    for (uint32_t i = 0; i < steps; i++) {
        model_step(&m);
        model_check_rates(&m);
        model_check_bytes(&m);
    }
    sim_fabric_destroy(m.fabric);
    return m.completions;
}

static void test_random_networks_match_the_naive_model(void **state)
{
    uint64_t completions = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        completions += model_run(seed, 60, seed % 2 == 1);
    }
    assert_true(completions > 10000);
}

enum { BENCH_FLOWS = 1000, BENCH_HOSTS = 22, BENCH_REGIONS = 11 };

struct bench {
    struct sim_fabric *fabric;
    struct rng rng;
    sim_flow_id flows[BENCH_FLOWS];
    uint32_t flows_count;
    uint64_t done;
    uint64_t hash;
    bool elsewhere; /* The next segment goes to a random flow, so that flows start and stop. */
};

static uint64_t bench_bytes(struct bench *b)
{
    return rng_chance(&b->rng, 700000) ? 200 + rng_below(&b->rng, 2000)
                                       : 1 + rng_below(&b->rng, 256 * 1024);
}

static void bench_done(sim_flow_id flow, uint64_t token, int64_t at_ns, void *user)
{
    struct bench *b = user;
    uint64_t record[4] = {b->hash, flow, token, (uint64_t)at_ns};

    b->hash = hash_bytes(record, sizeof(record));
    b->done++;
    if (b->elsewhere) {
        flow = b->flows[rng_below(&b->rng, b->flows_count)];
    }
    enqueue(b->fabric, flow, bench_bytes(b), b->done, at_ns);
}

static void bench_begin(struct bench *b, uint32_t links, uint32_t flows)
{
    *b = (struct bench){.fabric = fabric_new(links, flows, 4 * flows)};
    rng_init(&b->rng, 1);
}

/* @busy segments are under way at any time. */
static void bench_run(struct bench *b, const char *name, uint32_t busy, uint64_t events)
{
    struct timespec start, end;
    struct sim_fabric_stats stats;
    double ns;

    for (uint32_t i = 0; i < busy; i++) {
        enqueue(b->fabric, b->flows[i % b->flows_count], bench_bytes(b), i, 0);
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    while (b->done < events) {
        sim_fabric_advance(b->fabric, sim_fabric_next_ns(b->fabric), bench_done, b);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    ns = (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
    sim_fabric_stats(b->fabric, &stats);
    print_message("%-44s %8.0f ns/segment, %.1f flows/share, %.1f through others\n", name,
                  ns / (double)b->done, (double)stats.shares_flows / (double)(stats.shares + 1),
                  (double)stats.shares_grown / (double)(stats.shares + 1));
    sim_fabric_destroy(b->fabric);
}

static void bench_alone(const char *name, bool elsewhere)
{
    struct bench b;

    bench_begin(&b, 2 * BENCH_FLOWS, BENCH_FLOWS);
    for (uint32_t i = 0; i < BENCH_FLOWS; i++) {
        sim_link_id out = link_new(b.fabric, 125000000);
        sim_link_id in = link_new(b.fabric, 12500000);

        b.flows[b.flows_count++] = FLOW_NEW(b.fabric, 0, out, in);
    }
    b.elsewhere = elsewhere;
    bench_run(&b, name, elsewhere ? 50 : BENCH_FLOWS, FABRIC_BENCH_EVENTS);
}

static void bench_shared(const char *name, bool elsewhere)
{
    struct bench b;
    sim_link_id link;

    bench_begin(&b, 65, 64);
    link = link_new(b.fabric, 125000000);
    for (uint32_t i = 0; i < 64; i++) {
        b.flows[b.flows_count++] = FLOW_NEW(b.fabric, 0, link_new(b.fabric, 1250000000), link);
    }
    b.elsewhere = elsewhere;
    bench_run(&b, name, 64, FABRIC_BENCH_EVENTS);
}

/* All-to-all between hosts in regions: out, (pair,) in. */
static void bench_mesh_build(struct bench *b, uint64_t card, uint64_t pair)
{
    uint32_t pairs[BENCH_REGIONS][BENCH_REGIONS];

    bench_begin(b, 2 * BENCH_HOSTS + BENCH_REGIONS * (BENCH_REGIONS - 1), 462);
    for (uint32_t i = 0; i < 2 * BENCH_HOSTS; i++) {
        link_new(b->fabric, card);
    }
    for (uint32_t i = 0; i < BENCH_REGIONS * BENCH_REGIONS; i++) {
        uint32_t from = i / BENCH_REGIONS;
        uint32_t to = i % BENCH_REGIONS;

        pairs[from][to] = from == to ? 0 : link_new(b->fabric, pair * (1 + (from * to) % 5));
    }
    for (uint32_t i = 0; i < BENCH_HOSTS * BENCH_HOSTS; i++) {
        uint32_t from = i / BENCH_HOSTS;
        uint32_t to = i % BENCH_HOSTS;
        sim_link_id links[3] = {from, BENCH_HOSTS + to, pairs[from / 2][to / 2]};

        if (from != to) {
            b->flows[b->flows_count++] = flow_new(b->fabric, from / 2 == to / 2 ? 2 : 3, links, 0);
        }
    }
    b->elsewhere = true;
}

static void bench_mesh(const char *name, uint64_t card, uint64_t pair, uint32_t busy)
{
    struct bench b;

    bench_mesh_build(&b, card, pair);
    bench_run(&b, name, busy, FABRIC_BENCH_EVENTS);
}

static void test_benchmarks_run(void **state)
{
    (void)state;
    bench_alone("1000 flows alone, start and stop", true);
    bench_alone("1000 flows alone, continuous", false);
    bench_shared("64 flows on a link, continuous", false);
    bench_shared("64 flows on a link, start and stop", true);
    bench_mesh("22 hosts, slow pairs, 100 under way", 1250000000, 12500000, 100);
    bench_mesh("22 hosts, slow pairs, 462 under way", 1250000000, 12500000, 462);
    bench_mesh("22 hosts, slow cards, 100 under way", 125000000, 125000000, 100);
    bench_mesh("22 hosts, slow cards, 462 under way", 125000000, 125000000, 462);
    bench_mesh("22 hosts, both, 100 under way", 125000000, 12500000, 100);
    bench_mesh("22 hosts, both, 462 under way", 125000000, 12500000, 462);
}

/* Large networks, in which changes spread: the theorem after every instant, bytes at the end. */
static void test_a_mesh_stays_fair_and_loses_nothing(void **state)
{
    static const uint64_t cards[] = {1250000000, 125000000, 33333333};
    struct bench b;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t fluid = 0;
        uint64_t finished = 0;
        int64_t now_ns = 0;

        bench_mesh_build(&b, cards[i], 12500000);
        for (uint32_t k = 0; k < 462; k++) {
            enqueue(b.fabric, b.flows[k], bench_bytes(&b), k, 0);
        }
        while (b.done < 1500) {
            now_ns = sim_fabric_next_ns(b.fabric);
            check_fabric(b.fabric);
            sim_fabric_advance(b.fabric, now_ns, bench_done, &b);
        }
        for (uint32_t l = 0; l < BENCH_HOSTS; l++) {
            uint64_t bytes = sim_fabric_link_fluid_bytes(b.fabric, l);

            assert_true((double)bytes <= (double)cards[i] * (double)now_ns / SECOND_NS);
            fluid += bytes;
            finished += sim_fabric_link_bytes(b.fabric, l);
        }
        for (uint32_t k = 0; k < 462; k++) {
            uint64_t backlog = sim_fabric_flow_backlog(b.fabric, b.flows[k]);

            sim_fabric_flow_remove(b.fabric, b.flows[k], now_ns, NULL, NULL);
            finished += backlog; /* At most: what was sent of it has flowed. */
        }
        assert_true(fluid <= finished + b.done);
        sim_fabric_destroy(b.fabric);
    }
}

struct log {
    struct sim_fabric *fabric;
    uint32_t count;
    uint64_t tokens[64];
    int64_t at_ns[64];
    sim_flow_id flows[64];
    sim_flow_id victim; /* Removed by the first callback. */
    bool remove;
    bool replace; /* By a new flow on link 0. */
};

static void log_done(sim_flow_id flow, uint64_t token, int64_t at_ns, void *user)
{
    struct log *log = user;

    assert_true(log->count < 64);
    log->flows[log->count] = flow;
    log->tokens[log->count] = token;
    log->at_ns[log->count++] = at_ns;
    if (log->remove) {
        log->remove = false;
        sim_fabric_flow_remove(log->fabric, log->victim, at_ns, NULL, NULL);
        if (log->replace) {
            log->victim = FLOW_NEW(log->fabric, 0, 0);
            enqueue(log->fabric, log->victim, 1000, 99, at_ns);
        }
    }
}

static void test_times_are_exact_and_rounded_up(void **state)
{
    struct sim_fabric *f = fabric_new(2, 4, 8);
    struct log log = {.fabric = f};
    sim_link_id slow = link_new(f, 3);
    sim_link_id fast = link_new(f, 1000000);
    sim_flow_id a = FLOW_NEW(f, 0, slow);
    sim_flow_id b = FLOW_NEW(f, 0, fast);

    (void)state;
    assert_int_equal(sim_fabric_next_ns(f), SIM_FABRIC_NEVER);
    enqueue(f, a, 1, 1, 0);
    enqueue(f, a, 1, 2, 0);
    enqueue(f, a, 1, 3, 0);
    enqueue(f, b, 1000, 4, 0);
    assert_int_equal(sim_fabric_next_ns(f), 1000000);
    assert_int_equal(sim_fabric_advance(f, 999999, log_done, &log), 0);
    assert_int_equal(sim_fabric_advance(f, 2 * (int64_t)SECOND_NS, log_done, &log), 4);
    assert_int_equal(log.tokens[0], 4);
    assert_int_equal(log.at_ns[0], 1000000);
    assert_int_equal(log.at_ns[1], 333333334); /* The thirds do not add up their roundings. */
    assert_int_equal(log.at_ns[2], 666666667);
    assert_int_equal(log.at_ns[3], 1000000000);
    assert_int_equal(sim_fabric_next_ns(f), SIM_FABRIC_NEVER);
    sim_fabric_destroy(f);
}

static void test_segments_shorter_than_a_nanosecond_keep_the_rate(void **state)
{
    struct sim_fabric *f = fabric_new(1, 1, 64);
    struct log log = {.fabric = f};
    sim_flow_id a;

    (void)state;
    a = FLOW_NEW(f, 0, link_new(f, UINT64_C(8000000000)));
    for (uint64_t i = 0; i < 64; i++) {
        enqueue(f, a, 1, i, 5);
    }
    assert_int_equal(sim_fabric_next_ns(f), 6);
    assert_int_equal(sim_fabric_advance(f, 100, log_done, &log), 64);
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(log.tokens[i], i);
        assert_int_equal(log.at_ns[i], 6 + i / 8);
    }
    sim_fabric_destroy(f);
}

static void test_what_takes_too_long_never_completes(void **state)
{
    struct sim_fabric *f = fabric_new(1, 1, 2);
    struct log log = {.fabric = f};
    sim_link_id link = link_new(f, 1);
    sim_flow_id a = FLOW_NEW(f, 0, link);

    (void)state;
    enqueue(f, a, SIM_FABRIC_SEGMENT_BYTES_MAX, 1, 0);
    assert_int_equal(sim_fabric_next_ns(f), SIM_FABRIC_NEVER);
    assert_int_equal(sim_fabric_advance(f, INT64_MAX / 2, log_done, &log), 0);
    assert_int_equal(sim_fabric_link_set(f, link, SIM_FABRIC_RATE_MAX, INT64_MAX / 2), OK);
    assert_true(sim_fabric_next_ns(f) > INT64_MAX / 2);
    assert_int_equal(sim_fabric_advance(f, INT64_MAX, log_done, &log), 1);
    sim_fabric_destroy(f);
}

static void test_simultaneous_completions_come_by_flow(void **state)
{
    struct sim_fabric *f = fabric_new(40, 40, 40);
    struct log log = {.fabric = f};
    sim_flow_id flows[40];

    (void)state;
    for (uint32_t i = 0; i < 40; i++) {
        flows[i] = FLOW_NEW(f, 0, link_new(f, 1000000 * (1 + i % 3)));
    }
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t k = (i * 7) % 40;

        enqueue(f, flows[k], 1000 * (1 + k % 3), k, 0);
    }
    assert_int_equal(sim_fabric_advance(f, 1000000, log_done, &log), 40);
    for (uint32_t i = 0; i < 40; i++) {
        assert_int_equal(log.flows[i], flows[i]);
    }
    sim_fabric_destroy(f);
}

static void test_a_link_that_is_down_holds_its_flows(void **state)
{
    struct sim_fabric *f = fabric_new(2, 2, 4);
    struct log log = {.fabric = f};
    sim_link_id shared = link_new(f, 2000000);
    sim_link_id other = link_new(f, 0);
    sim_flow_id a = FLOW_NEW(f, 0, shared);
    sim_flow_id b = FLOW_NEW(f, 0, shared, other);

    (void)state;
    enqueue(f, a, 2000, 1, 0);
    enqueue(f, b, 2000, 2, 0);
    assert_int_equal(sim_fabric_flow_rate(f, a), 2000000);
    assert_int_equal(sim_fabric_flow_rate(f, b), 0);
    sim_fabric_advance(f, 500000, log_done, &log); /* Half of the first is through. */
    assert_int_equal(sim_fabric_link_set(f, other, 5000000, 500000), OK);
    assert_int_equal(sim_fabric_flow_rate(f, b), 1000000);
    assert_int_equal(sim_fabric_link_set(f, shared, 0, 500000), OK);
    assert_int_equal(sim_fabric_next_ns(f), SIM_FABRIC_NEVER);
    assert_int_equal(sim_fabric_link_load(f, shared), 0);
    sim_fabric_advance(f, 10 * (int64_t)SECOND_NS, log_done, &log);
    assert_int_equal(sim_fabric_link_fluid_bytes(f, shared), 1000);
    assert_int_equal(sim_fabric_link_set(f, shared, 2000000, 10 * (int64_t)SECOND_NS), OK);
    sim_fabric_advance(f, 11 * (int64_t)SECOND_NS, log_done, &log);
    assert_int_equal(log.count, 2);
    assert_int_equal(log.at_ns[0], 10 * (int64_t)SECOND_NS + 1000000);
    assert_int_equal(log.at_ns[1], 10 * (int64_t)SECOND_NS + 1500000);
    assert_int_equal(sim_fabric_link_bytes(f, shared), 4000);
    assert_int_equal(sim_fabric_link_bytes(f, other), 2000);
    assert_int_equal(sim_fabric_link_capacity(f, other), 5000000);
    sim_fabric_destroy(f);
}

static void test_what_a_capped_flow_leaves_goes_to_the_others(void **state)
{
    struct sim_fabric *f = fabric_new(1, 3, 4);
    sim_link_id link = link_new(f, 10000000);
    sim_flow_id a = FLOW_NEW(f, 1000000, link);
    sim_flow_id b = FLOW_NEW(f, 0, link);
    sim_flow_id c = FLOW_NEW(f, 9000000, link);

    (void)state;
    enqueue(f, a, 1000000, 1, 0);
    assert_int_equal(sim_fabric_flow_rate(f, a), 1000000);
    assert_int_equal(sim_fabric_next_ns(f), SECOND_NS);
    enqueue(f, b, 1000000, 2, 0);
    assert_int_equal(sim_fabric_flow_rate(f, b), 9000000);
    enqueue(f, c, 1000000, 3, 0);
    assert_int_equal(sim_fabric_flow_rate(f, a), 1000000);
    assert_int_equal(sim_fabric_flow_rate(f, b), 4500000);
    assert_int_equal(sim_fabric_flow_rate(f, c), 4500000);
    assert_int_equal(sim_fabric_link_load(f, link), 10000000);
    assert_int_equal(sim_fabric_flow_remove(f, b, 0, NULL, NULL), 1);
    assert_int_equal(sim_fabric_flow_rate(f, c), 9000000);
    sim_fabric_destroy(f);
}

static void test_a_flow_removed_in_a_callback_reports_nothing_more(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 2; victim++) {
        struct sim_fabric *f = fabric_new(1, 2, 8);
        struct log log = {.fabric = f, .remove = true, .replace = true};
        sim_link_id link = link_new(f, 2000000);
        sim_flow_id flows[2] = {FLOW_NEW(f, 0, link), FLOW_NEW(f, 0, link)};

        for (uint64_t i = 0; i < 3; i++) {
            enqueue(f, flows[0], 1000, i, 0);
            enqueue(f, flows[1], 1000, 10 + i, 0);
        }
        log.victim = flows[victim];
        sim_fabric_advance(f, SECOND_NS, log_done, &log);
        assert_int_equal(log.tokens[0], 0); /* Both were due at this instant. */
        assert_int_equal(log.count, victim == 0 ? 5 : 4);
        for (uint32_t i = 1; i < log.count; i++) {
            assert_true(log.flows[i] != flows[victim]);
        }
        assert_true(log.victim != flows[victim]);
        assert_int_equal(log.at_ns[log.count - 1], 2500000);
        sim_fabric_destroy(f);
    }
}

static void test_limits_are_kept(void **state)
{
    struct sim_fabric_limits none = {1, 0, 1};
    struct sim_fabric_limits many = {SIM_FABRIC_LINKS_LIMIT + 1, 1, 1};
    struct sim_fabric *f = NULL;
    sim_link_id links[5] = {0, 0, 1, 2, 3};
    sim_flow_id flow = UINT32_MAX;

    (void)state;
    assert_int_equal(sim_fabric_create(&none, &f), ERR_TOO_BIG);
    assert_int_equal(sim_fabric_create(&many, &f), ERR_TOO_BIG);
    f = fabric_new(1, 1, 2);
    assert_int_equal(sim_fabric_flow_add(f, links, 1, 0, &flow), ERR_INVALID);
    assert_int_equal(sim_fabric_link_add(f, SIM_FABRIC_RATE_MAX + 1, links), ERR_TOO_BIG);
    link_new(f, SIM_FABRIC_RATE_MAX);
    assert_int_equal(sim_fabric_link_add(f, 1, links), ERR_TOO_BIG);
    assert_int_equal(sim_fabric_link_set(f, 0, SIM_FABRIC_RATE_MAX + 1, 0), ERR_TOO_BIG);
    assert_int_equal(sim_fabric_flow_add(f, links, 0, 0, &flow), ERR_INVALID);
    assert_int_equal(sim_fabric_flow_add(f, links, 2, 0, &flow), ERR_INVALID);
    assert_int_equal(sim_fabric_flow_add(f, links, 5, 0, &flow), ERR_INVALID);
    assert_int_equal(sim_fabric_flow_add(f, links, 1, SIM_FABRIC_RATE_MAX + 1, &flow), ERR_TOO_BIG);
    flow = FLOW_NEW(f, SIM_FABRIC_RATE_MAX, 0);
    assert_int_equal(sim_fabric_flow_add(f, links, 1, 0, &flow), ERR_TOO_BIG);
    assert_int_equal(sim_fabric_flow_enqueue(f, flow, SIM_FABRIC_SEGMENT_BYTES_MAX + 1, 1, 0),
                     ERR_TOO_BIG);
    enqueue(f, flow, 1, 1, 0);
    enqueue(f, flow, 1, 2, 0);
    assert_int_equal(sim_fabric_flow_enqueue(f, flow, 1, 3, 0), ERR_TOO_BIG);
    assert_int_equal(sim_fabric_flow_backlog(f, flow), 2);
    assert_int_equal(sim_fabric_flow_remove(f, flow, 0, NULL, NULL), 2);
    flow = FLOW_NEW(f, 0, 0);
    enqueue(f, flow, 1, 1, 0);
    assert_int_equal(sim_fabric_next_ns(f), 1);
    sim_fabric_destroy(f);
    sim_fabric_destroy(NULL);
}

static void test_every_failed_allocation_is_survived(void **state)
{
    struct sim_fabric_limits limits = {2, 2, 2};
    struct sim_fabric *f = NULL;
    struct log log = {0};
    uint64_t before;
    uint64_t k = 1;

    (void)state;
    for (;; k++) {
        enum err rc;

        mem_fail_at(k, 1);
        rc = sim_fabric_create(&limits, &f);
        mem_fail_at(0, 0);
        if (rc == OK) {
            break;
        }
        assert_int_equal(rc, ERR_NOMEM);
        assert_null(f);
    }
    assert_true(k > 10);
    before = mem_allocations();
    enqueue(f, FLOW_NEW(f, 0, link_new(f, 1000)), 10, 1, 0);
    assert_int_equal(sim_fabric_advance(f, SECOND_NS, log_done, &log), 1);
    assert_int_equal(mem_allocations(), before); /* Nothing after creation. */
    sim_fabric_destroy(f);
}

/* The same nanoseconds from every compiler: a constant. It changes only if the model does. */
static void test_completions_are_the_same_everywhere(void **state)
{
    struct bench b;
    uint64_t hash = 0;

    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        bench_mesh_build(&b, 33333333 * (1 + 9 * i), 12500000);
        for (uint32_t k = 0; k < 462; k++) {
            enqueue(b.fabric, b.flows[k], bench_bytes(&b), k, 0);
        }
        b.hash = hash;
        while (b.done < 1000) {
            sim_fabric_advance(b.fabric, sim_fabric_next_ns(b.fabric), bench_done, &b);
        }
        hash = b.hash;
        sim_fabric_destroy(b.fabric);
    }
    assert_int_equal(hash, UINT64_C(0xfc9bdc778f20b4f1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_networks_match_the_naive_model),
        cmocka_unit_test(test_a_mesh_stays_fair_and_loses_nothing),
        cmocka_unit_test(test_times_are_exact_and_rounded_up),
        cmocka_unit_test(test_segments_shorter_than_a_nanosecond_keep_the_rate),
        cmocka_unit_test(test_what_takes_too_long_never_completes),
        cmocka_unit_test(test_simultaneous_completions_come_by_flow),
        cmocka_unit_test(test_a_link_that_is_down_holds_its_flows),
        cmocka_unit_test(test_what_a_capped_flow_leaves_goes_to_the_others),
        cmocka_unit_test(test_a_flow_removed_in_a_callback_reports_nothing_more),
        cmocka_unit_test(test_limits_are_kept),
        cmocka_unit_test(test_every_failed_allocation_is_survived),
        cmocka_unit_test(test_completions_are_the_same_everywhere),
        cmocka_unit_test(test_benchmarks_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
