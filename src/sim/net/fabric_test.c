/* The fabric's promises one by one; large meshes; and how fast it is. */

#include "sim/net/testing_fabric.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

#include <time.h>

#ifndef FABRIC_BENCH_EVENTS
#define FABRIC_BENCH_EVENTS 5000 /* Per benchmark; figures worth quoting need a million. */
#endif

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

static void log_done_squeeze(sim_flow_id flow, uint64_t token, int64_t at_ns, void *user)
{
    struct log *log = user;

    log_done(flow, token, at_ns, user);
    if (log->count == 1) {
        assert_int_equal(sim_fabric_link_set(log->fabric, 1, 1000, at_ns), OK);
        assert_int_equal(sim_fabric_flow_rate(log->fabric, log->victim), 1000);
    }
}

/* Rates that change in a callback change nothing for what is due already. */
static void test_what_is_due_is_reported_in_order_whatever_callbacks_do(void **state)
{
    struct sim_fabric *f = fabric_new(2, 3, 8);
    struct log log = {.fabric = f};
    sim_link_id wide = link_new(f, 3000000);
    sim_link_id narrow = link_new(f, 3000000);
    sim_flow_id flows[3] = {FLOW_NEW(f, 0, wide), FLOW_NEW(f, 0, wide, narrow),
                            FLOW_NEW(f, 0, wide)};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        enqueue(f, flows[i], 1000, i, 0);
        enqueue(f, flows[i], 1000, 10 + i, 0);
    }
    log.victim = flows[1];
    assert_int_equal(sim_fabric_advance(f, 1000000, log_done_squeeze, &log), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(log.tokens[i], i);
        assert_int_equal(log.at_ns[i], 1000000);
    }
    assert_int_equal(sim_fabric_next_ns(f), 1000000 + 666889); /* 2000 bytes at 2999 kB/s. */
    sim_fabric_advance(f, 2 * (int64_t)SECOND_NS, log_done, &log);
    assert_int_equal(log.tokens[5], 11);
    assert_int_equal(log.at_ns[5], 1000000 + SECOND_NS);
    sim_fabric_destroy(f);
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

static void test_a_cap_that_changes_leaves_sent_what_was_sent(void **state)
{
    struct sim_fabric *f = fabric_new(1, 2, 8);
    sim_link_id link = link_new(f, 1000);
    sim_flow_id flow = FLOW_NEW(f, 0, link);
    sim_flow_id other;

    (void)state;
    enqueue(f, flow, 1000, 1, 0);
    /* 500 bytes at full rate, 100 at the cap, the rest at full rate again. */
    assert_int_equal(sim_fabric_flow_set(f, flow, 100, SECOND_NS / 2), OK);
    assert_int_equal(sim_fabric_next_ns(f), SECOND_NS / 2 + 5 * (int64_t)SECOND_NS);
    assert_int_equal(sim_fabric_flow_rate(f, flow), 100);
    assert_int_equal(sim_fabric_flow_set(f, flow, 100, SECOND_NS), OK); /* Nothing new. */
    assert_int_equal(sim_fabric_next_ns(f), SECOND_NS / 2 + 5 * (int64_t)SECOND_NS);
    assert_int_equal(sim_fabric_flow_set(f, flow, 0, 3 * (int64_t)SECOND_NS / 2), OK);
    assert_int_equal(sim_fabric_next_ns(f), 19 * (int64_t)SECOND_NS / 10);
    assert_int_equal(
        sim_fabric_flow_set(f, flow, SIM_FABRIC_RATE_MAX + 1, 3 * (int64_t)SECOND_NS / 2),
        ERR_TOO_BIG);
    check_fabric(f);
    /* An idle flow can be given a cap too; what it does not take the other one gets. */
    other = FLOW_NEW(f, 0, link);
    assert_int_equal(sim_fabric_flow_set(f, other, 250, 3 * (int64_t)SECOND_NS / 2), OK);
    enqueue(f, other, 250, 2, 3 * (int64_t)SECOND_NS / 2);
    assert_int_equal(sim_fabric_flow_rate(f, other), 250);
    assert_int_equal(sim_fabric_flow_rate(f, flow), 750);
    check_fabric(f);
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

/* By hand, of 3000 bytes a second: all for a second, a third for two, and 100 for ten. */
static void test_a_flow_that_does_not_end_has_its_fair_share_and_is_counted_apart(void **state)
{
    struct sim_fabric *f = fabric_new(2, 3, 4);
    struct log log = {.fabric = f};
    sim_link_id link = link_new(f, 3000), other = link_new(f, 5000);
    sim_flow_id filled = FLOW_NEW(f, 0, link, other);
    sim_flow_id flows[2] = {FLOW_NEW(f, 0, link), FLOW_NEW(f, 0, link)};

    (void)state;
    assert_int_equal(sim_fabric_flow_fill(f, filled, 0), OK);
    assert_true(sim_fabric_next_ns(f) > INT64_C(1000000000000000000));
    assert_int_equal(sim_fabric_flow_sent(f, filled), 0);
    assert_int_equal(sim_fabric_advance(f, SECOND_NS, log_done, &log), 0);
    assert_int_equal(sim_fabric_flow_sent(f, filled), 3000);
    enqueue(f, flows[0], 2000, 1, SECOND_NS);
    enqueue(f, flows[1], 2000, 2, SECOND_NS);
    assert_int_equal(sim_fabric_flow_rate(f, filled), 1000);
    check_fabric(f);
    assert_int_equal(sim_fabric_advance(f, 2 * SECOND_NS, log_done, &log), 0);
    assert_int_equal(sim_fabric_flow_sent(f, filled), 4000);
    assert_int_equal(sim_fabric_advance(f, INT64_C(3000000000), log_done, &log), 2);
    assert_int_equal(sim_fabric_flow_set(f, filled, 100, INT64_C(3000000000)), OK);
    assert_int_equal(sim_fabric_advance(f, INT64_C(13000000000), log_done, &log), 0);
    assert_int_equal(sim_fabric_flow_sent(f, filled), 6000);
    assert_int_equal(sim_fabric_link_bytes(f, link), 4000);
    assert_int_equal(sim_fabric_link_bytes(f, other), 0);
    assert_int_equal(sim_fabric_flow_remove(f, filled, INT64_C(13000000000), NULL, NULL), 1);
    assert_int_equal(sim_fabric_next_ns(f), SIM_FABRIC_NEVER);
    sim_fabric_destroy(f);
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
        cmocka_unit_test(test_a_mesh_stays_fair_and_loses_nothing),
        cmocka_unit_test(test_times_are_exact_and_rounded_up),
        cmocka_unit_test(test_segments_shorter_than_a_nanosecond_keep_the_rate),
        cmocka_unit_test(test_what_takes_too_long_never_completes),
        cmocka_unit_test(test_simultaneous_completions_come_by_flow),
        cmocka_unit_test(test_a_link_that_is_down_holds_its_flows),
        cmocka_unit_test(test_what_a_capped_flow_leaves_goes_to_the_others),
        cmocka_unit_test(test_a_cap_that_changes_leaves_sent_what_was_sent),
        cmocka_unit_test(test_a_flow_removed_in_a_callback_reports_nothing_more),
        cmocka_unit_test(test_what_is_due_is_reported_in_order_whatever_callbacks_do),
        cmocka_unit_test(test_a_flow_that_does_not_end_has_its_fair_share_and_is_counted_apart),
        cmocka_unit_test(test_limits_are_kept),
        cmocka_unit_test(test_every_failed_allocation_is_survived),
        cmocka_unit_test(test_completions_are_the_same_everywhere),
        cmocka_unit_test(test_benchmarks_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
