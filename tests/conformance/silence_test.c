/* Slow is not dead, and dead is found out: heartbeats, trickles, half-open connections. */

#include "suites.h"

#include "link.h"
#include "sim/net/link.h"

/* Short for real time, the default for virtual time. */
static int64_t silence_beat_ns(const struct conf_world *w)
{
    return w->carrier->simulated ? CONF_S : 60 * CONF_MS;
}

/* A connection with a pulse at a, and a raw stream at b. */
struct silence {
    struct conf_world *w;
    struct conf_link *link;
    struct conf_raw *raw;
    int64_t beat_ns;
};

static bool silence_opened(void *user)
{
    struct silence *s = user;

    return s->link->opened && s->raw->opened;
}

static void silence_open(struct silence *s, struct conf_world *w, bool deaf)
{
    struct conf_door *door = conf_door_open(&w->b);

    *s = (struct silence){w, conf_link_new(&w->a), conf_raw_new(&w->b), silence_beat_ns(w)};
    s->raw->deaf = deaf;
    s->link->heartbeat_ns = s->beat_ns;
    door->raw = s->raw;
    conf_link_dial(s->link, &door->listener->address);
    conf_until(w, silence_opened, s, CONF_LIMIT_NS);
}

static void test_a_peer_that_never_says_anything_is_closed(void **state)
{
    struct silence s;
    int64_t started_ns, took_ns;

    silence_open(&s, *state, true);
    started_ns = conf_now_ns(s.w);
    conf_until(s.w, conf_link_closed, s.link, CONF_LIMIT_NS);
    took_ns = conf_now_ns(s.w) - started_ns;
    assert_int_equal(s.link->why, ERR_TIMEOUT);
    assert_true(took_ns >= 2 * s.beat_ns &&
                took_ns <= (s.w->carrier->simulated ? 4 : 20) * s.beat_ns);
    assert_int_equal(obs_counter_value(s.w->a.counters.silent), 1);
}

static void test_a_peer_that_reads_but_never_says_anything_is_closed(void **state)
{
    struct silence s;

    silence_open(&s, *state, false);
    conf_until(s.w, conf_link_closed, s.link, CONF_LIMIT_NS);
    assert_int_equal(s.link->why, ERR_TIMEOUT);
    assert_true(s.raw->got > 0);
}

static void test_a_peer_that_stops_reading_a_transfer_is_closed(void **state)
{
    struct silence s;

    silence_open(&s, *state, true);
    while (conf_send(s.link, NET_DATA, 1024 * 1024, 0) == OK) {
    }
    conf_until(s.w, conf_link_closed, s.link, CONF_LIMIT_NS);
    assert_int_equal(s.link->why, ERR_TIMEOUT);
}

static void test_a_peer_that_lost_its_power_is_closed(void **state)
{
    struct conf_world *w = *state;
    struct conf_pair pair;

    if (!w->carrier->simulated) {
        skip();
    }
    conf_pair_open(&pair, w);
    pair.a->heartbeat_ns = pair.b->heartbeat_ns = CONF_S;
    conf_pair_wait(&pair);
    conf_pass(w, 10 * CONF_S);
    assert_int_equal(pair.a->closed + pair.b->closed, 0);
    sim_host_crash(w->b.host, true);
    conf_until(w, conf_link_closed, pair.a, 5 * CONF_S);
    assert_int_equal(pair.a->why, ERR_TIMEOUT);
    assert_int_equal(pair.b->closed, 0);
}

static void test_a_cut_link_is_noticed_at_both_ends(void **state)
{
    struct conf_world *w = *state;
    struct conf_pair pair;
    struct sim_link *there;

    if (!w->carrier->simulated) {
        skip();
    }
    conf_pair_open(&pair, w);
    pair.a->heartbeat_ns = pair.b->heartbeat_ns = CONF_S;
    conf_pair_wait(&pair);
    there = sim_link_between(w->sim, sim_host_region(w->a.host), sim_host_region(w->b.host));
    sim_link_cut(w->sim, there);
    conf_pass(w, 2 * CONF_S);
    sim_link_heal(w->sim, there);
    conf_pass(w, 10 * CONF_S);
    assert_int_equal(pair.a->closed + pair.b->closed, 0);
    sim_link_cut(w->sim, there);
    conf_until(w, conf_pair_closed, &pair, 10 * CONF_S);
}

static void test_a_slow_peer_that_trickles_bytes_is_not_closed(void **state)
{
    uint8_t body[64] = {0}, frame[256];
    size_t size = conf_encode(WIRE_CONTROL, body, sizeof(body), frame);
    struct silence s;

    silence_open(&s, *state, false);
    for (size_t i = 0; i < 16; i++) {
        conf_raw_write(s.raw, frame + i, 1);
        conf_pass(s.w, s.beat_ns * 8 / 10);
    }
    assert_int_equal(s.link->closed, 0);
    conf_raw_write(s.raw, frame + 16, size - 16);
    conf_settle(s.w);
    assert_int_equal(s.link->frames, 1);
}

static void test_a_peer_that_only_sends_is_not_closed(void **state)
{
    uint8_t body[16] = {0}, frame[128];
    size_t size = conf_encode(WIRE_CONTROL, body, sizeof(body), frame);
    struct silence s;

    silence_open(&s, *state, true);
    for (int i = 0; i < 12; i++) {
        conf_raw_write(s.raw, frame, size);
        conf_pass(s.w, s.beat_ns * 8 / 10);
    }
    assert_int_equal(s.link->closed, 0);
    assert_true(s.link->frames >= 11);
}

static void test_an_idle_connection_stays_and_measures_its_round_trip(void **state)
{
    struct conf_pair pair;
    int64_t beat_ns;

    conf_pair_open(&pair, *state);
    beat_ns = silence_beat_ns(pair.world);
    pair.a->heartbeat_ns = pair.b->heartbeat_ns = beat_ns;
    conf_pair_wait(&pair);
    conf_pass(pair.world, 10 * beat_ns);
    assert_int_equal(pair.a->closed + pair.b->closed, 0);
    assert_int_equal(pair.a->frames + pair.b->frames, 0); /* Heartbeats are not for the owner. */
    assert_true(net_conn_rtt_ns(pair.a->conn) > 0 && net_conn_rtt_ns(pair.b->conn) > 0);
    assert_true(net_conn_rtt_ns(pair.a->conn) < CONF_S);
    conf_pair_close(&pair);
}

static void test_a_pause_of_our_own_is_not_the_silence_of_the_peer(void **state)
{
    struct conf_pair pair;
    int64_t beat_ns;

    conf_pair_open(&pair, *state);
    beat_ns = silence_beat_ns(pair.world);
    pair.a->heartbeat_ns = pair.b->heartbeat_ns = beat_ns;
    conf_pair_wait(&pair);
    CONF_CALL(pair.world, net_conn_pause(pair.b->conn, true));
    conf_pass(pair.world, 8 * beat_ns);
    assert_int_equal(pair.a->closed + pair.b->closed, 0);
    while (conf_send(pair.a, NET_DATA, 1024 * 1024, 0) == OK) {
    }
    conf_pass(pair.world, 8 * beat_ns);
    assert_int_equal(pair.a->closed + pair.b->closed, 0);
    CONF_CALL(pair.world, net_conn_pause(pair.b->conn, false));
    conf_pass(pair.world, 4 * beat_ns);
    assert_true(pair.b->frames > 0);
    conf_pair_close(&pair);
}

static void test_an_empty_pool_is_not_the_silence_of_the_peer(void **state)
{
    struct buf *all[CONF_POOL_BYTES / BUF_BYTES_MAX * 2];
    struct conf_pair pair;
    uint32_t count = 0;
    int64_t beat_ns;

    conf_pair_open(&pair, *state);
    beat_ns = silence_beat_ns(pair.world);
    pair.a->heartbeat_ns = pair.b->heartbeat_ns = beat_ns;
    conf_pair_wait(&pair);
    conf_pass(pair.world, 3 * beat_ns);
    while (buf_take(pair.world->b.pool, 0, BUF_BYTES_MAX, &all[count]) == OK) {
        count++;
    }
    assert_int_equal(conf_send(pair.a, NET_DATA, 4 * 1024 * 1024, 0), OK);
    conf_pass(pair.world, 8 * beat_ns);
    assert_int_equal(pair.b->frames + pair.a->closed + pair.b->closed, 0);
    while (count > 0) {
        buf_unref(all[--count]);
    }
    while (pair.b->frames == 0) {
        assert_true(conf_step(pair.world, conf_now_ns(pair.world) + CONF_LIMIT_NS));
    }
    conf_pair_close(&pair);
}

const struct CMUnitTest conf_silence_tests[] = {
    CONF_TEST(test_a_peer_that_never_says_anything_is_closed),
    CONF_TEST(test_a_peer_that_reads_but_never_says_anything_is_closed),
    CONF_TEST(test_a_peer_that_stops_reading_a_transfer_is_closed),
    CONF_TEST(test_a_peer_that_lost_its_power_is_closed),
    CONF_TEST(test_a_cut_link_is_noticed_at_both_ends),
    CONF_TEST(test_a_slow_peer_that_trickles_bytes_is_not_closed),
    CONF_TEST(test_a_peer_that_only_sends_is_not_closed),
    CONF_TEST(test_an_idle_connection_stays_and_measures_its_round_trip),
    CONF_TEST(test_a_pause_of_our_own_is_not_the_silence_of_the_peer),
    CONF_TEST(test_an_empty_pool_is_not_the_silence_of_the_peer),
};
const size_t conf_silence_count = sizeof(conf_silence_tests) / sizeof(conf_silence_tests[0]);
