/* Probes over simulated links: the estimate against what is known to be free, and everything that
 * can go wrong on the way. The code under test is that of real endpoints. */

#include "base/buf.h"
#include "loop/loop.h"
#include "net/counters.h"
#include "net/probe/link.h"
#include "net/probe/probe.h"
#include "obs/metric.h"
#include "sim/net/link.h"
#include "sim/net/stream.h"
#include "wire/heartbeat.h"
#include "wire/push.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define MBIT UINT64_C(125000)

enum {
    POOL_BYTES = 64 * 1024 * 1024,
    CROSS_BYTES = 8 * 1024,
    CROSS_STREAMS = 16,
    FORGED_AT_ONCE = 4
};

/* A member on a host of its own. */
struct node {
    struct lab *lab;
    struct sim_host *host;
    struct pki_identity identity;
    const char *dials; /* NULL: it listens. */
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_counters counters;
    struct sim_transport transport;
    struct net_endpoint *endpoint;
    struct net_peer *peer; /* The last one that came up. */
    struct loop_timer tick;
    uint64_t rate; /* Of data that it sends all the time, bytes per second; zero: none. */
    bool forges;   /* Sends reports that nobody asked for. */
    struct rng rng;
    uint64_t lost; /* Calls. */
};

struct lab {
    struct sim_world *world;
    struct sim_region *west, *east;
    struct node nodes[4]; /* Prober, answerer; source and sink of cross traffic. */
    uint32_t nodes_count;
    uint32_t calls; /* Of done(). */
    enum err rc;
    struct net_probe_result result;
};

static void node_up(struct net_peer *peer, bool restarted, void *user)
{
    struct node *n = user;

    (void)restarted;
    n->peer = peer;
    if (n->rate > 0 || n->forges) {
        loop_timer_start_in(&n->tick, 0);
    }
}

static enum err node_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    (void)peer;
    (void)user;
    /* Nobody but the endpoint itself sees probes. */
    assert_int_not_equal(frame->header.type, WIRE_PROBE);
    assert_int_not_equal(frame->header.type, WIRE_PROBE_REPORT);
    return OK;
}

static void node_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct node *n = user;

    (void)peer;
    (void)why;
    (void)text;
    n->peer = NULL;
    n->lost++;
}

static const struct net_endpoint_events node_events = {
    .up = node_up, .frame = node_frame, .lost = node_lost};

/* Send one data frame. */
static enum err node_send(struct node *n, uint32_t bytes)
{
    struct wire_push push = {.chunk = {.chunk = (uint32_t)rng_below(&n->rng, CROSS_STREAMS),
                                       .clock = 1,
                                       .weight = 1,
                                       .payload_bytes = bytes},
                             .id = {.incarnation = 1, .number = 1}};
    struct buf *frame;
    enum err rc = wire_chunk_take(n->pool, bytes, &frame);

    assert_int_equal(rc, OK);
    memset(buf_bytes(frame), 0, bytes);
    wire_push_seal(frame, &push);
    rc = net_peer_send_sealed(n->peer, NET_DATA, frame);
    if (rc != OK) {
        buf_unref(frame);
    }
    return rc;
}

/* A report with numbers out of the air, for a train that may be out. */
static void node_forge(struct node *n)
{
    struct wire_probe_report report = {.train = 1 + (uint32_t)rng_below(&n->rng, 40),
                                       .count = 1 + (uint16_t)rng_below(&n->rng, 128)};
    struct buf *frame;

    for (uint32_t i = 0; i < report.count; i++) {
        switch (rng_below(&n->rng, 4)) {
        case 0:
            report.delay_ns[i] = WIRE_TIME_NS_MAX;
            break;
        case 1:
            report.delay_ns[i] = -WIRE_TIME_NS_MAX;
            break;
        default:
            report.delay_ns[i] = rng_between(&n->rng, -WIRE_TIME_NS_MAX, WIRE_TIME_NS_MAX);
        }
    }
    assert_int_equal(wire_probe_report_encode(n->pool, &report, &frame), OK);
    if (net_peer_send_once(n->peer, frame) != OK) {
        buf_unref(frame);
    }
}

static void node_tick(struct loop_timer *timer, void *user)
{
    struct node *n = user;

    if (n->peer == NULL) {
        return;
    }
    if (n->forges) {
        for (int i = 0; i < FORGED_AT_ONCE; i++) {
            node_forge(n);
        }
        loop_timer_start_in(timer, 5 * MS);
        return;
    }
    (void)node_send(n, CROSS_BYTES);
    /* Between half and one and a half of the mean gap. */
    loop_timer_start_in(
        timer, (int64_t)((double)CROSS_BYTES / (double)n->rate * 1e9 * (0.5 + rng_unit(&n->rng))));
}

static void node_stop(struct sim_host *host, void *user)
{
    struct node *n = user;

    (void)host;
    loop_timer_deinit(&n->tick);
    net_endpoint_destroy(n->endpoint);
    obs_registry_destroy(n->registry);
    buf_pool_destroy(n->pool);
    n->endpoint = NULL;
    n->registry = NULL;
    n->pool = NULL;
    n->peer = NULL;
}

static enum err node_start(struct sim_host *host, void *user)
{
    struct node *n = user;
    struct net_endpoint_config config = {
        .loop = sim_host_loop(host),
        .identity = n->identity,
        .incarnation = sim_host_starts(host),
        .seed = 1,
        .events = &node_events,
        .user = n,
    };
    struct net_address at = {.scheme = NET_SCHEME_SIM, .port = "7000"};

    sim_transport_init(&n->transport, host, &n->identity);
    assert_int_equal(buf_pool_create(POOL_BYTES, &n->pool), OK);
    assert_int_equal(obs_registry_create(256, &n->registry), OK);
    assert_int_equal(net_counters_init(&n->counters, n->registry), OK);
    assert_int_equal(loop_timer_init(&n->tick, config.loop, node_tick, n), OK);
    config.pool = n->pool;
    config.registry = n->registry;
    assert_int_equal(net_endpoint_create(&config, &n->endpoint), OK);
    if (n->dials == NULL) {
        return net_endpoint_listen(n->endpoint, &n->transport.base, &at, NULL, NULL);
    }
    (void)snprintf(at.host, sizeof(at.host), "%s", n->dials);
    /* One stream carries a mebibyte a round trip: not enough for cross traffic. */
    return net_endpoint_dial(n->endpoint, &n->transport.base, &at, n->rate > 0 ? CROSS_STREAMS : 1,
                             &n->peer);
}

static struct node *lab_add(struct lab *lab, const char *name, struct sim_region *region,
                            const char *dials, uint64_t card)
{
    struct node *n = &lab->nodes[lab->nodes_count++];
    struct sim_program program = {node_start, node_stop, n};
    struct sim_host_config config = {.name = name, .region = region, .rate = card};
    enum wire_role role = dials == NULL ? WIRE_ROLE_SERVER : WIRE_ROLE_WORKER;

    n->lab = lab;
    n->dials = dials;
    n->rng = rng_fork(sim_world_rng(lab->world), lab->nodes_count);
    assert_int_equal(pki_identity_make(role, sim_region_name(region), name, &n->identity, NULL),
                     OK);
    assert_int_equal(sim_host_create(lab->world, &config, &program, &n->host), OK);
    return n;
}

struct setting {
    uint64_t rate; /* Of the link. */
    int64_t delay_ns;
    int64_t jitter_ns;
    uint64_t cross; /* Of data that flows beside. */
    uint64_t card;  /* Of the prober's host; zero: fast. */
    uint64_t seed;
    bool forges;
};

static bool lab_run(struct lab *lab, int64_t for_ns, bool (*until)(struct lab *lab))
{
    int64_t end_ns = sim_world_now_ns(lab->world) + for_ns;

    while (until == NULL || !until(lab)) {
        if (!sim_world_step(lab->world, end_ns)) {
            return until == NULL;
        }
    }
    return true;
}

static bool all_up(struct lab *lab)
{
    for (uint32_t i = 0; i < lab->nodes_count; i++) {
        if (lab->nodes[i].peer == NULL || !net_peer_is_up(lab->nodes[i].peer)) {
            return false;
        }
    }
    return true;
}

static bool done(struct lab *lab)
{
    return lab->calls > 0;
}

static void lab_open(struct lab *lab, const struct setting *s)
{
    struct sim_world_config config = {.seed = s->seed};
    struct sim_link_config link = {
        .bytes_per_s = s->rate, .delay_ns = s->delay_ns, .jitter_ns = s->jitter_ns};

    *lab = (struct lab){0};
    assert_int_equal(sim_world_create(&config, &lab->world), OK);
    assert_int_equal(sim_region_create(lab->world, "west", &lab->west), OK);
    assert_int_equal(sim_region_create(lab->world, "east", &lab->east), OK);
    assert_int_equal(sim_link_set(lab->world, lab->west, lab->east, &link), OK);
    lab_add(lab, "prober", lab->west, "answerer", s->card);
    lab_add(lab, "answerer", lab->east, NULL, 0)->forges = s->forges;
    if (s->cross > 0) {
        lab_add(lab, "source", lab->west, "sink", 0)->rate = s->cross;
        lab_add(lab, "sink", lab->east, NULL, 0);
    }
    for (uint32_t i = lab->nodes_count; i-- > 0;) {
        sim_host_start(lab->nodes[i].host);
    }
    assert_true(lab_run(lab, 20 * SECOND, all_up));
}

static void lab_close(struct lab *lab)
{
    for (uint32_t i = 0; i < lab->nodes_count; i++) {
        sim_host_crash(lab->nodes[i].host, true);
    }
    sim_world_destroy(lab->world);
}

static void lab_done(struct net_peer *peer, enum err rc, const struct net_probe_result *result,
                     void *user)
{
    struct lab *lab = user;

    assert_false(net_probe_running(peer));
    lab->calls++;
    lab->rc = rc;
    lab->result = *result;
}

static enum err lab_probe(struct lab *lab)
{
    return net_probe_start(lab->nodes[0].peer, NULL, lab_done, lab);
}

/* Measure once. */
static void measure(const struct setting *s, struct lab *lab)
{
    lab_open(lab, s);
    assert_true(lab_run(lab, rng_between(sim_world_rng(lab->world), 0, SECOND), NULL));
    assert_int_equal(lab_probe(lab), OK);
    assert_int_equal(lab_probe(lab), ERR_EXISTS);
    assert_true(lab_run(lab, 120 * SECOND, done));
    assert_int_equal(lab->calls, 1);
}

/* Measure over some seeds, or one under valgrind; print the worst. */
static void check_within(struct setting s, double percent, uint64_t seeds)
{
    bool valgrind = getenv("STRAIT_VALGRIND") != NULL;
    uint64_t most = s.card != 0 && s.card < s.rate ? s.card : s.rate;
    double truth = (double)(most - s.cross);
    double worst = 0;
    int64_t longest_ns = 0;
    uint64_t bytes = 0;

    for (s.seed = 1; s.seed <= (valgrind ? 1 : seeds); s.seed++) {
        struct lab lab;
        double error;

        measure(&s, &lab);
        error = 100 * (((double)lab.result.low + (double)lab.result.high) / 2 - truth) / truth;
        if (lab.rc != OK || lab.result.at_least || fabs(error) > percent) {
            fail_msg("seed %" PRIu64 ", free %.1f Mbit/s: %s [%.1f, %.1f]%s, %+.1f %%", s.seed,
                     truth / 125e3, err_string(lab.rc), (double)lab.result.low / 125e3,
                     (double)lab.result.high / 125e3, lab.result.at_least ? " at least" : "",
                     error);
        }
        assert_true(lab.result.rtt_ns >= 2 * s.delay_ns);
        assert_true(lab.result.rtt_ns <= 2 * (s.delay_ns + s.jitter_ns) + 20 * MS);
        worst = fabs(error) > fabs(worst) ? error : worst;
        longest_ns = lab.result.duration_ns > longest_ns ? lab.result.duration_ns : longest_ns;
        bytes = lab.result.bytes > bytes ? lab.result.bytes : bytes;
        lab_close(&lab);
    }
    print_message("%4.0f Mbit/s, %3" PRId64
                  " ms, cross %3.0f: worst %+5.1f %%, %4.1f s, %4.1f MB\n",
                  (double)most / 125e3, s.delay_ns / MS, (double)s.cross / 125e3, worst,
                  (double)longest_ns / 1e9, (double)bytes / 1e6);
}

static const uint64_t rates[] = {10 * MBIT, 100 * MBIT, 400 * MBIT};
static const int64_t delays[] = {5 * MS, 30 * MS, 100 * MS};

static void test_quiet_links_within_fifteen_percent(void **state)
{
    (void)state;
    for (int r = 0; r < 3; r++) {
        for (int d = 0; d < 3; d++) {
            check_within((struct setting){.rate = rates[r], .delay_ns = delays[d]}, 15, 5);
        }
    }
}

static void test_jittery_links_within_twenty_five_percent(void **state)
{
    (void)state;
    for (int r = 0; r < 3; r++) {
        check_within((struct setting){.rate = rates[r], .delay_ns = 20 * MS, .jitter_ns = 1 * MS},
                     25, 5);
    }
}

static void test_busy_links_within_twenty_five_percent(void **state)
{
    (void)state;
    for (int r = 0; r < 3; r++) {
        for (int d = 0; d < 3; d++) {
            check_within((struct setting){.rate = rates[r],
                                          .delay_ns = delays[d],
                                          .cross = rates[r] / 100 * (15 + 10 * (uint64_t)d)},
                         25, 5);
        }
    }
}

static void test_the_card_is_the_bottleneck(void **state)
{
    (void)state;
    check_within((struct setting){.rate = 8000 * MBIT, .delay_ns = 10 * MS, .card = 100 * MBIT}, 15,
                 3);
}

static void test_a_faster_link_is_at_least_the_limit(void **state)
{
    struct setting s = {.rate = 8000 * MBIT, .delay_ns = 10 * MS, .seed = 1};
    struct lab lab;
    (void)state;

    measure(&s, &lab);
    assert_int_equal(lab.rc, OK);
    assert_true(lab.result.at_least);
    assert_true(lab.result.low >= 1000 * MBIT);
    lab_close(&lab);
}

static void test_a_cut_session_ends_the_probe(void **state)
{
    struct setting s = {.rate = 100 * MBIT, .delay_ns = 10 * MS};
    (void)state;

    for (s.seed = 1; s.seed <= 20; s.seed++) {
        struct lab lab;

        lab_open(&lab, &s);
        assert_int_equal(lab_probe(&lab), OK);
        assert_true(lab_run(&lab, (int64_t)s.seed * 37 * MS, NULL));
        assert_int_equal(lab.calls, 0);
        if (s.seed % 2 == 0) {
            struct rng rng;

            rng_init(&rng, s.seed);
            assert_true(sim_stream_reset(lab.world, &rng));
        } else {
            sim_host_crash(lab.nodes[1].host, false);
        }
        assert_true(lab_run(&lab, 5 * SECOND, done));
        assert_int_equal(lab.rc, ERR_CLOSED);
        assert_int_equal(lab.result.high, 0);
        if (s.seed % 2 != 0) {
            assert_int_equal(lab_probe(&lab), ERR_CLOSED);
            sim_host_start(lab.nodes[1].host);
        }
        /* It can be measured again once it is back. */
        lab.calls = 0;
        assert_true(lab_run(&lab, 20 * SECOND, all_up));
        assert_int_equal(lab_probe(&lab), OK);
        assert_true(lab_run(&lab, 60 * SECOND, done));
        assert_int_equal(lab.rc, OK);
        lab_close(&lab);
    }
}

static void test_a_silent_peer_ends_the_probe(void **state)
{
    struct setting s = {.rate = 100 * MBIT, .delay_ns = 10 * MS, .seed = 1};
    struct lab lab;
    (void)state;

    lab_open(&lab, &s);
    assert_int_equal(lab_probe(&lab), OK);
    assert_true(lab_run(&lab, 300 * MS, NULL));
    sim_host_crash(lab.nodes[1].host, true);
    assert_true(lab_run(&lab, 20 * SECOND, done));
    assert_int_equal(lab.rc, ERR_CLOSED); /* Liveness is faster than patience with reports. */
    lab_close(&lab);
}

static void test_the_end_of_a_session_says_done_before_lost(void **state)
{
    struct setting s = {.rate = 100 * MBIT, .delay_ns = 10 * MS, .seed = 1};
    struct lab lab;
    (void)state;

    lab_open(&lab, &s);
    assert_int_equal(lab_probe(&lab), OK);
    assert_true(lab_run(&lab, 300 * MS, NULL));
    net_peer_close(lab.nodes[0].peer, "enough");
    assert_true(lab_run(&lab, 1 * SECOND, done));
    assert_int_equal(lab.rc, ERR_CLOSED);
    assert_true(lab_run(&lab, 1 * SECOND, NULL));
    assert_int_equal(lab.nodes[0].lost, 1);
    assert_int_equal(lab.calls, 1);
    lab_close(&lab);
}

static void test_cancel_says_nothing(void **state)
{
    struct setting s = {.rate = 100 * MBIT, .delay_ns = 10 * MS};
    (void)state;

    for (s.seed = 1; s.seed <= 10; s.seed++) {
        struct lab lab;

        lab_open(&lab, &s);
        net_probe_cancel(lab.nodes[0].peer);
        assert_int_equal(lab_probe(&lab), OK);
        assert_true(lab_run(&lab, (int64_t)s.seed * 41 * MS, NULL));
        net_probe_cancel(lab.nodes[0].peer);
        assert_false(net_probe_running(lab.nodes[0].peer));
        assert_true(lab_run(&lab, 10 * SECOND, NULL));
        assert_int_equal(lab.calls, 0);
        assert_int_equal(lab_probe(&lab), OK);
        assert_true(lab_run(&lab, 60 * SECOND, done));
        assert_int_equal(lab.rc, OK);
        lab_close(&lab);
    }
}

static void test_data_goes_first(void **state)
{
    struct setting s = {.rate = 10 * MBIT, .delay_ns = 20 * MS, .seed = 1};
    struct lab lab;
    (void)state;

    lab_open(&lab, &s);
    assert_int_equal(node_send(&lab.nodes[0], 100000), OK);
    assert_int_equal(lab_probe(&lab), ERR_AGAIN);
    assert_true(lab_run(&lab, 1 * SECOND, NULL));
    assert_int_equal(lab_probe(&lab), OK);
    assert_true(lab_run(&lab, 700 * MS, NULL));
    assert_int_equal(lab.calls, 0);
    for (int i = 0; i < 50; i++) { /* Four seconds: longer than any pause. */
        assert_int_equal(node_send(&lab.nodes[0], 100000), OK);
    }
    assert_true(lab_run(&lab, 10 * SECOND, done));
    assert_int_equal(lab.rc, ERR_AGAIN);
    assert_true(lab.result.rtt_ns > 0);
    lab_close(&lab);
}

/* Reports that were made up may spoil the answer, but nothing else. */
static void test_forged_reports_are_harmless(void **state)
{
    struct setting s = {.rate = 100 * MBIT, .delay_ns = 10 * MS, .forges = true};
    (void)state;

    for (s.seed = 1; s.seed <= 5; s.seed++) {
        struct lab lab;

        measure(&s, &lab);
        assert_int_equal(lab.rc, OK);
        assert_true(lab.result.low <= lab.result.high);
        assert_true(lab.result.high <= UINT64_C(8192) * 20000);
        assert_true(lab.result.rtt_ns > 0);
        assert_true(obs_counter_value(lab.nodes[0].counters.probes_ignored) > 0);
        assert_true(net_peer_is_up(lab.nodes[0].peer));
        lab_close(&lab);
    }
}

/* A report that does not decode ends the connection, and so the probe. */
static void test_a_malformed_report_ends_the_connection(void **state)
{
    struct setting s = {.rate = 100 * MBIT, .delay_ns = 10 * MS, .seed = 1};
    struct buf *frame;
    struct lab lab;
    (void)state;

    lab_open(&lab, &s);
    assert_int_equal(lab_probe(&lab), OK);
    assert_true(lab_run(&lab, 300 * MS, NULL));
    assert_int_equal(wire_frame_take(lab.nodes[1].pool, 16, &frame), OK);
    memset(buf_append(frame, 16), 0xff, 16);
    wire_frame_seal_plain(frame, WIRE_PROBE_REPORT);
    assert_int_equal(net_peer_send_once(lab.nodes[1].peer, frame), OK);
    assert_true(lab_run(&lab, 1 * SECOND, done));
    assert_int_equal(lab.rc, ERR_CLOSED);
    assert_int_equal(obs_counter_value(lab.nodes[0].counters.refused[WIRE_REASON_BODY]), 1);
    lab_close(&lab);
}

static void send_probe(struct node *n, uint32_t train, uint16_t index, uint16_t count)
{
    struct wire_probe probe = {.train = train, .index = index, .count = count, .sent_ns = 1};
    struct buf *frame;

    assert_int_equal(wire_probe_encode(n->pool, &probe, WIRE_PROBE_FRAME_BYTES_MIN, &frame), OK);
    assert_int_equal(net_peer_send_once(n->peer, frame), OK);
}

static void test_answers_are_limited(void **state)
{
    struct setting s = {.rate = 100 * MBIT, .delay_ns = 1 * MS, .seed = 1};
    struct node *n, *answerer;
    struct lab lab;
    (void)state;

    lab_open(&lab, &s);
    n = &lab.nodes[0];
    answerer = &lab.nodes[1];
    for (uint32_t train = 1; train <= NET_PROBE_ANSWERS_PER_MINUTE + 20; train++) {
        send_probe(n, train, 0, 1);
        assert_true(lab_run(&lab, 10 * MS, NULL));
    }
    assert_int_equal(obs_counter_value(answerer->counters.probe_trains),
                     NET_PROBE_ANSWERS_PER_MINUTE);
    assert_int_equal(obs_counter_value(answerer->counters.probes_ignored), 20);
    /* The reports are not asked for here. */
    assert_int_equal(obs_counter_value(n->counters.probes_ignored), NET_PROBE_ANSWERS_PER_MINUTE);
    assert_int_equal(lab_probe(&lab), OK);
    assert_true(lab_run(&lab, 10 * SECOND, done));
    assert_int_equal(lab.rc, ERR_TIMEOUT);
    assert_true(lab_run(&lab, 60 * SECOND, NULL));
    lab.calls = 0;
    assert_int_equal(lab_probe(&lab), OK);
    assert_true(lab_run(&lab, 60 * SECOND, done));
    assert_int_equal(lab.rc, OK);
    lab_close(&lab);
}

static void test_late_and_foreign_frames_are_ignored(void **state)
{
    struct setting s = {.rate = 100 * MBIT, .delay_ns = 1 * MS, .seed = 1};
    static const struct wire_probe frames[] = {
        {.train = 0, .index = 1, .count = 3}, /* No train has begun. */
        {.train = 7, .index = 0, .count = 3}, {.train = 7, .index = 0, .count = 3}, /* Again. */
        {.train = 8, .index = 1, .count = 3},                                       /* Another. */
        {.train = 7, .index = 1, .count = 4}, /* Not as announced. */
        {.train = 7, .index = 2, .count = 3}, /* The last: answered with two. */
        {.train = 7, .index = 1, .count = 3}, /* Late. */
        {.train = 7, .index = 0, .count = 3},
    };
    struct lab lab;
    (void)state;

    lab_open(&lab, &s);
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        send_probe(&lab.nodes[0], frames[i].train, frames[i].index, frames[i].count);
    }
    assert_true(lab_run(&lab, 100 * MS, NULL));
    assert_int_equal(obs_counter_value(lab.nodes[1].counters.probes_ignored), 6);
    assert_int_equal(obs_counter_value(lab.nodes[1].counters.probe_trains), 1);
    assert_int_equal(obs_counter_value(lab.nodes[0].counters.probes_ignored), 1);
    /* A train without its end is answered after a time. */
    send_probe(&lab.nodes[0], 9, 0, 3);
    assert_true(lab_run(&lab, 2 * SECOND, NULL));
    assert_int_equal(obs_counter_value(lab.nodes[0].counters.probes_ignored), 2);
    lab_close(&lab);
}

static void test_estimate_prefers_traffic(void **state)
{
    struct setting s = {.rate = 10 * MBIT, .delay_ns = 20 * MS, .seed = 1};
    struct net_link_estimate e;
    struct lab lab;
    (void)state;

    lab_open(&lab, &s);
    assert_int_equal(net_link_estimate(lab.nodes[0].peer, &e), ERR_NOT_FOUND);
    assert_int_equal(lab_probe(&lab), OK);
    assert_true(lab_run(&lab, 60 * SECOND, done));
    assert_true(lab_run(&lab, 3 * SECOND, NULL));
    assert_int_equal(net_link_estimate(lab.nodes[0].peer, &e), OK);
    assert_int_equal(e.kind, NET_LINK_PROBE);
    assert_int_equal(e.low, lab.result.low);
    assert_int_equal(e.high, lab.result.high);
    assert_in_range(e.age_ns, 2 * SECOND, 3 * SECOND); /* The host's clock stands between events. */
    for (int i = 0; i < 40; i++) { /* Four megabytes, more than three seconds. */
        assert_int_equal(node_send(&lab.nodes[0], 100000), OK);
    }
    assert_true(lab_run(&lab, 5 * SECOND, NULL));
    assert_int_equal(net_link_estimate(lab.nodes[0].peer, &e), OK);
    assert_int_equal(e.kind, NET_LINK_TRAFFIC);
    assert_false(e.at_least);
    assert_in_range(e.low, s.rate * 85 / 100, s.rate * 115 / 100); /* Acknowledged in lumps. */
    assert_in_range(e.age_ns, SECOND / 2, 3 * SECOND);
    assert_true(e.rtt_ns >= 40 * MS);
    assert_true(lab_run(&lab, 20 * SECOND, NULL));
    assert_int_equal(net_link_estimate(lab.nodes[0].peer, &e), OK);
    assert_int_equal(e.kind, NET_LINK_PROBE);
    assert_true(e.age_ns > 24 * SECOND);
    lab_close(&lab);
}

/* The same seed gives the same answer, to the byte. */
static void test_measuring_is_deterministic(void **state)
{
    struct setting s = {.rate = 100 * MBIT,
                        .delay_ns = 30 * MS,
                        .jitter_ns = 1 * MS,
                        .cross = 30 * MBIT,
                        .seed = 5};
    struct lab first, second;
    (void)state;

    measure(&s, &first);
    measure(&s, &second);
    assert_memory_equal(&first.result, &second.result, sizeof(first.result));
    lab_close(&first);
    lab_close(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quiet_links_within_fifteen_percent),
        cmocka_unit_test(test_jittery_links_within_twenty_five_percent),
        cmocka_unit_test(test_busy_links_within_twenty_five_percent),
        cmocka_unit_test(test_the_card_is_the_bottleneck),
        cmocka_unit_test(test_a_faster_link_is_at_least_the_limit),
        cmocka_unit_test(test_a_cut_session_ends_the_probe),
        cmocka_unit_test(test_a_silent_peer_ends_the_probe),
        cmocka_unit_test(test_the_end_of_a_session_says_done_before_lost),
        cmocka_unit_test(test_cancel_says_nothing),
        cmocka_unit_test(test_data_goes_first),
        cmocka_unit_test(test_forged_reports_are_harmless),
        cmocka_unit_test(test_a_malformed_report_ends_the_connection),
        cmocka_unit_test(test_answers_are_limited),
        cmocka_unit_test(test_late_and_foreign_frames_are_ignored),
        cmocka_unit_test(test_estimate_prefers_traffic),
        cmocka_unit_test(test_measuring_is_deterministic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
