/* The meter on a made-up link: bytes leave at a rate, arrive after half a round trip, perhaps many
 * at a time, and are known to have arrived after the other half. */

#include "net/probe/meter.h"

#include "base/rng.h"
#include "net/probe/probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

enum { SLOTS = 4096 };

struct wire {
    int64_t now_ns;
    uint64_t rate; /* Bytes per second. */
    int64_t rtt_ns;
    uint64_t quantum; /* So many arrive at once; 1: as they come. */
    uint64_t written;
    uint64_t left;           /* Have left; by millisecond before now: */
    uint64_t history[SLOTS]; /* for what is known of it here. */
    uint64_t connections;
    struct net_meter meter;
    uint32_t news;
    struct rng rng;
};

static struct wire wire_of(uint64_t rate, int64_t rtt_ms)
{
    struct wire w = {.now_ns = 1000 * MS, .rate = rate, .rtt_ns = rtt_ms * MS, .quantum = 1};

    w.written = w.left = 1000; /* Hello. */
    for (uint32_t i = 0; i < SLOTS; i++) {
        w.history[i] = 1000;
    }
    rng_init(&w.rng, 7);
    return w;
}

static void wire_look(struct wire *w)
{
    int64_t then_ms = (w->now_ns - w->rtt_ns) / MS;
    uint64_t acked = w->history[(uint64_t)then_ms % SLOTS];
    struct net_meter_look look = {.now_ns = w->now_ns,
                                  .acked = acked < w->left ? acked - acked % w->quantum : acked,
                                  .waiting = w->written - w->left,
                                  .given = w->written,
                                  .rtt_ns = w->rtt_ns,
                                  .rtt_least_ns = w->rtt_ns,
                                  .connections = w->connections};

    w->news += net_meter_step(&w->meter, &look);
}

/* Time goes by, with a look every 20 ms, give or take @jitter. */
static void wire_run(struct wire *w, int64_t ms, int64_t jitter_ms)
{
    int64_t until_ns = w->now_ns + ms * MS, next_ns = w->now_ns + NET_METER_LOOK_MS * MS;

    while (w->now_ns < until_ns) {
        uint64_t room = w->written - w->left, step = w->rate / 1000;

        w->left += room < step ? room : step;
        w->now_ns += MS;
        w->history[(uint64_t)(w->now_ns / MS) % SLOTS] = w->left;
        if (w->now_ns >= next_ns) {
            wire_look(w);
            next_ns = w->now_ns + (NET_METER_LOOK_MS - jitter_ms) * MS +
                      (int64_t)rng_below(&w->rng, (uint64_t)jitter_ms * 2 + 1) * MS;
        }
    }
}

static void wire_write(struct wire *w, uint64_t bytes)
{
    w->written += bytes;
    wire_look(w);
}

static struct net_meter_reading reading(const struct wire *w)
{
    struct net_meter_reading r;

    assert_true(net_meter_read(&w->meter, w->now_ns, &r));
    return r;
}

static void test_nothing_is_known_at_first(void **state)
{
    struct wire w = wire_of(1000000, 10);
    struct net_meter_reading r;

    (void)state;
    assert_false(net_meter_read(&w.meter, w.now_ns, &r));
    wire_run(&w, 1000, 0);
    assert_int_equal(w.news, 0);
    assert_false(net_meter_busy(&w.meter));
}

static void test_a_busy_link_shows_its_rate(void **state)
{
    static const int64_t rtts_ms[] = {0, 1, 30, 150, 400};
    static const uint64_t rates[] = {100000, 1000000, 40000000};

    (void)state;
    for (size_t i = 0; i < sizeof(rtts_ms) / sizeof(rtts_ms[0]) * 3; i++) {
        struct wire w = wire_of(rates[i % 3], rtts_ms[i / 3]);
        struct net_meter_reading r;

        wire_write(&w, w.rate * 2);
        wire_run(&w, 1500, 5);
        r = reading(&w);
        assert_false(r.at_least);
        assert_in_range(r.bytes_per_s, w.rate * 95 / 100, w.rate * 105 / 100);
        assert_in_range(r.age_ns, 0, 30 * MS);
        assert_true(net_meter_busy(&w.meter));
    }
}

/* As slow simulated links deliver, and packets that are joined on the way. */
static void test_it_may_arrive_in_large_pieces(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct wire w = wire_of(1000000, 20);

        rng_init(&w.rng, seed);
        w.quantum = 100000;
        wire_write(&w, w.rate * 4);
        for (int i = 0; i < 20; i++) {
            wire_run(&w, 150, 5);
            if (i >= 3) {
                assert_in_range(reading(&w).bytes_per_s, w.rate * 75 / 100, w.rate * 130 / 100);
            }
        }
    }
}

static void test_a_link_that_changes_is_seen_to(void **state)
{
    struct wire w = wire_of(4000000, 10);

    (void)state;
    wire_write(&w, 100000000);
    wire_run(&w, 1000, 0);
    assert_in_range(reading(&w).bytes_per_s, 3900000, 4100000);
    w.rate = 500000;
    wire_run(&w, 300, 0);
    assert_in_range(reading(&w).bytes_per_s, 400000, 2000000);
    wire_run(&w, 1000, 0);
    assert_in_range(reading(&w).bytes_per_s, 480000, 560000);
    w.rate = 4000000;
    wire_run(&w, 1500, 0);
    assert_in_range(reading(&w).bytes_per_s, 3800000, 4100000);
}

static void test_what_is_gone_before_the_next_look_shows_the_least(void **state)
{
    struct wire w = wire_of(100000000, 2);
    struct net_meter_reading r;

    (void)state;
    wire_write(&w, 1000000);
    wire_run(&w, 100, 0);
    r = reading(&w);
    assert_true(r.at_least);
    assert_in_range(r.bytes_per_s, 40000000, 100000000);
    assert_false(net_meter_busy(&w.meter));
}

/* The time of the last acknowledgement is not that of the link. */
static void test_a_burst_on_a_long_link_shows_the_least_too(void **state)
{
    struct wire w = wire_of(20000000, 200);
    struct net_meter_reading r;

    (void)state;
    wire_write(&w, 2000000);
    wire_run(&w, 150, 0);
    assert_true(net_meter_busy(&w.meter)); /* It has left, and has not arrived. */
    wire_run(&w, 300, 0);
    r = reading(&w);
    assert_true(r.at_least);
    assert_in_range(r.bytes_per_s, 14000000, 20500000);
}

static void test_small_bursts_show_nothing(void **state)
{
    struct wire w = wire_of(10000000, 1);
    struct net_meter_reading r;

    (void)state;
    for (int i = 0; i < 50; i++) {
        wire_write(&w, 30000);
        wire_run(&w, 40, 3);
    }
    assert_int_equal(w.news, 0);
    assert_false(net_meter_read(&w.meter, w.now_ns, &r));
}

/* Bursts that no longer fill it show that a link has healed. */
static void test_a_burst_that_was_faster_than_the_link_was_counts(void **state)
{
    struct wire w = wire_of(200000, 1);

    (void)state;
    wire_write(&w, 400000);
    wire_run(&w, 2100, 0);
    assert_false(reading(&w).at_least);
    assert_in_range(reading(&w).bytes_per_s, 190000, 210000);
    w.rate = 50000000;
    wire_write(&w, 400000);
    wire_run(&w, 100, 0);
    assert_true(reading(&w).at_least);
    assert_true(reading(&w).bytes_per_s > 5000000);
}

static void test_a_stalled_link_becomes_slow(void **state)
{
    struct wire w = wire_of(1000000, 10);

    (void)state;
    wire_write(&w, 100000000);
    wire_run(&w, 1000, 0);
    w.rate = 0;
    wire_run(&w, 2000, 0);
    assert_in_range(reading(&w).bytes_per_s, 900000, 1100000); /* It may be a pause. */
    wire_run(&w, 2000, 0);
    assert_true(reading(&w).bytes_per_s < 100000);
}

static void test_what_is_old_is_forgotten(void **state)
{
    struct wire w = wire_of(1000000, 10);
    struct net_meter_reading r;

    (void)state;
    wire_write(&w, 1000000);
    wire_run(&w, 1100, 0);
    assert_int_equal(reading(&w).at_least, false);
    w.now_ns += 9000 * MS;
    assert_in_range(reading(&w).age_ns, 9000 * MS, 9200 * MS);
    w.now_ns += 1500 * MS;
    assert_false(net_meter_read(&w.meter, w.now_ns, &r));
}

static void test_other_connections_begin_anew(void **state)
{
    struct wire w = wire_of(1000000, 10);

    (void)state;
    wire_write(&w, 10000000);
    wire_run(&w, 1000, 0);
    w.connections = 1;
    w.written = w.left = 500;
    for (uint32_t i = 0; i < SLOTS; i++) {
        w.history[i] = 500;
    }
    w.news = 0;
    wire_look(&w);
    assert_int_equal(w.news, 0);
    assert_in_range(reading(&w).bytes_per_s, 950000, 1050000); /* The link is the same. */
    w.rate = 3000000;
    wire_write(&w, 20000000);
    wire_run(&w, 2000, 0);
    assert_in_range(reading(&w).bytes_per_s, 2900000, 3100000);
}

static void test_a_carrier_that_knows_nothing_says_nothing(void **state)
{
    struct net_meter m = {0};
    struct net_meter_reading r;

    (void)state;
    for (int64_t i = 1; i < 1000; i++) {
        struct net_meter_look look = {.now_ns = i * 20 * MS, .waiting = (uint64_t)(i % 7) * 100000};

        assert_false(net_meter_step(&m, &look));
        assert_false(net_meter_busy(&m));
    }
    assert_false(net_meter_read(&m, 1, &r));
}

static void test_a_probe_counts_where_traffic_showed_nothing(void **state)
{
    struct net_probe_result found = {.low = 2000000, .high = 3000000, .at_least = true};
    struct wire w = wire_of(1000000, 10);
    struct net_meter_reading r;

    (void)state;
    net_meter_probed(&w.meter, &found, w.now_ns);
    assert_true(reading(&w).at_least);
    assert_int_equal(reading(&w).bytes_per_s, 2000000);
    wire_write(&w, 1000000);
    wire_run(&w, 900, 0);
    assert_false(reading(&w).at_least); /* Traffic knows better. */
    assert_in_range(reading(&w).bytes_per_s, 950000, 1050000);
    w.now_ns += 61000 * MS;
    assert_false(net_meter_read(&w.meter, w.now_ns, &r));
}

/* A link that is half full never is busy for long, whenever one looks; one that is too slow is. */
static void test_what_is_paced_shows_a_rate_only_if_it_is_too_fast(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct wire half = wire_of(1000000, 80), full = wire_of(400000, 80);
        struct net_meter_reading r;

        half.meter.paced = full.meter.paced = true;
        rng_init(&half.rng, seed);
        rng_init(&full.rng, seed);
        for (int i = 0; i < 100; i++) { /* 500 kB/s. */
            wire_write(&half, 20000);
            wire_run(&half, 40, 5);
            wire_write(&full, 20000);
            wire_run(&full, 40, 5);
        }
        assert_false(net_meter_read(&half.meter, half.now_ns, &r) && !r.at_least);
        assert_false(reading(&full).at_least);
        assert_in_range(reading(&full).bytes_per_s, 380000, 420000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_known_at_first),
        cmocka_unit_test(test_a_busy_link_shows_its_rate),
        cmocka_unit_test(test_it_may_arrive_in_large_pieces),
        cmocka_unit_test(test_a_link_that_changes_is_seen_to),
        cmocka_unit_test(test_what_is_gone_before_the_next_look_shows_the_least),
        cmocka_unit_test(test_a_burst_on_a_long_link_shows_the_least_too),
        cmocka_unit_test(test_small_bursts_show_nothing),
        cmocka_unit_test(test_a_burst_that_was_faster_than_the_link_was_counts),
        cmocka_unit_test(test_a_stalled_link_becomes_slow),
        cmocka_unit_test(test_what_is_old_is_forgotten),
        cmocka_unit_test(test_other_connections_begin_anew),
        cmocka_unit_test(test_a_carrier_that_knows_nothing_says_nothing),
        cmocka_unit_test(test_a_probe_counts_where_traffic_showed_nothing),
        cmocka_unit_test(test_what_is_paced_shows_a_rate_only_if_it_is_too_fast),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
