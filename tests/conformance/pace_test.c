/* Pacing: what a session may send is shared out to its streams, and outlives them. Nothing is timed
 * on real carriers, where the kernel keeps the limit: it is asked what it was told. In virtual time
 * every arrival is known to the nanosecond. */

#include "suites.h"

#include "link.h"
#include "node.h"
#include "sim/net/link.h"

#include <sys/resource.h>
#include <sys/socket.h>

enum { PACE_STREAMS = 4, PACE_RATE = 4 * 1000 * 1000, PACE_PART = PACE_RATE / PACE_STREAMS };

/* How many sockets of this process the kernel limits to just this rate. */
static uint32_t pace_sockets(uint64_t bytes_per_s)
{
    struct rlimit limit;
    uint32_t count = 0;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int fd = 0; fd < (int)(limit.rlim_cur < 4096 ? limit.rlim_cur : 4096); fd++) {
        uint64_t rate = 0;
        socklen_t size = sizeof(rate);

        if (getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, &size) == 0) {
            count += size == sizeof(rate) && rate == bytes_per_s;
        }
    }
    return count;
}

static bool pace_possible(const struct conf_world *w)
{
    return w->carrier != &conf_unix;
}

/* When the last frame came, in the carrier's time. */
static enum err pace_arrived(struct conf_node *node, struct net_peer *peer,
                             const struct net_frame *frame)
{
    (void)peer;
    (void)frame;
    *(int64_t *)node->user = conf_now_ns(node->side->world);
    return OK;
}

/* A session that nothing but the test's frames disturbs. */
static void pace_open(struct conf_session *s, struct conf_world *w)
{
    conf_session_open(s, w);
    s->a->config.heartbeat_ns = s->b->config.heartbeat_ns = 1000 * CONF_S;
}

/* The first chunk that goes on that stream. */
static uint32_t pace_chunk(struct conf_session *s, uint32_t stream)
{
    struct wire_header header = {.type = WIRE_PUSH};

    while (wire_stream(&header, net_peer_streams(s->a->peer)) != stream) {
        header.chunk++;
    }
    return header.chunk;
}

/* Send a frame of @bytes on each stream; they take @wanted_ns and the way to arrive, all at once.
 */
static void pace_burst(struct conf_session *s, uint32_t bytes, int64_t wanted_ns)
{
    int64_t way_ns =
        sim_link_config(sim_link_between(s->world->sim, sim_host_region(s->world->a.host),
                                         sim_host_region(s->world->b.host)))
            ->delay_ns;
    uint32_t before = s->b->frames;
    int64_t arrived_ns = 0;
    int64_t start_ns;

    conf_settle(s->world);
    start_ns = conf_now_ns(s->world);
    s->b->user = &arrived_ns;
    s->b->on_frame = pace_arrived;
    for (uint32_t i = 0; i < net_peer_streams(s->a->peer); i++) {
        assert_int_equal(
            conf_node_send(s->a, NET_DATA, pace_chunk(s, i), 0, bytes - WIRE_HEADER_BYTES), OK);
    }
    for (uint32_t i = 1; i <= net_peer_streams(s->a->peer); i++) {
        while (s->b->frames < before + i) {
            assert_true(conf_step(s->world, start_ns + 100 * CONF_S));
        }
        assert_int_equal(arrived_ns - start_ns, wanted_ns + way_ns);
    }
    s->b->on_frame = NULL;
}

/* All streams of a are limited to their part, as far as that can be seen without a clock. */
static void pace_check(struct conf_session *s)
{
    if (s->world->carrier->simulated) {
        pace_burst(s, 250000, (int64_t)250000 * CONF_S / PACE_PART);
    } else {
        assert_int_equal(pace_sockets(PACE_PART), PACE_STREAMS);
    }
}

static void pace_set(struct conf_session *s, uint64_t bytes_per_s, enum err expected)
{
    enum err rc;

    CONF_CALL(s->world, rc = net_peer_pace(s->a->peer, bytes_per_s));
    assert_int_equal(rc, expected);
}

static void test_a_limit_is_shared_by_the_streams_and_outlives_them(void **state)
{
    struct faulty_transport *way;
    struct conf_session s;

    pace_open(&s, *state);
    if (!pace_possible(s.world)) {
        skip();
    }
    way = conf_faulty(&s.world->a);
    conf_session_wait(&s, PACE_STREAMS);
    assert_int_equal(net_peer_streams(s.a->peer), PACE_STREAMS);
    assert_int_equal(net_peer_streams(s.b->peer), PACE_STREAMS);
    pace_set(&s, PACE_RATE, OK);
    pace_check(&s);
    for (uint32_t i = 0; i < PACE_STREAMS; i++) {
        faulty_reset(way, i);
    }
    conf_until(s.world, conf_node_down, s.a, CONF_LIMIT_NS);
    conf_until(s.world, conf_session_up, &s, CONF_LIMIT_NS);
    pace_check(&s);
    conf_node_stop(s.a);
}

static void test_a_limit_set_while_nobody_is_there_holds_from_the_start(void **state)
{
    struct conf_session s;

    pace_open(&s, *state);
    if (!pace_possible(s.world)) {
        skip();
    }
    conf_node_start(s.b);
    conf_node_listen(s.b);
    conf_node_start(s.a);
    conf_node_dial(s.a, &s.b->at, PACE_STREAMS);
    pace_set(&s, PACE_RATE, OK);
    conf_until(s.world, conf_session_up, &s, CONF_LIMIT_NS);
    pace_check(&s);
}

static void test_the_limit_of_an_endpoint_holds_for_those_it_dials(void **state)
{
    struct conf_session s;

    pace_open(&s, *state);
    if (!pace_possible(s.world)) {
        skip();
    }
    s.a->config.pace_bytes_per_s = PACE_RATE;
    conf_session_wait(&s, PACE_STREAMS);
    pace_check(&s);
}

static void test_the_limit_of_an_endpoint_holds_for_those_who_dial_it(void **state)
{
    struct conf_session s;
    struct conf_node *dialler;

    pace_open(&s, *state);
    if (!pace_possible(s.world)) {
        skip();
    }
    s.b->config.pace_bytes_per_s = PACE_RATE;
    conf_session_wait(&s, PACE_STREAMS);
    dialler = s.a;
    s.a = s.b;
    s.b = dialler;
    pace_check(&s);
}

static void test_the_parts_of_a_limit_add_up_and_none_is_zero(void **state)
{
    struct conf_session s;

    pace_open(&s, *state);
    if (!pace_possible(s.world) || s.world->carrier->simulated) {
        skip();
    }
    conf_session_wait(&s, PACE_STREAMS);
    pace_set(&s, PACE_RATE + 3, OK);
    assert_int_equal(pace_sockets(PACE_PART + 1), 3);
    assert_int_equal(pace_sockets(PACE_PART), 1);
    pace_set(&s, 3, OK);
    assert_int_equal(pace_sockets(1), PACE_STREAMS);
    pace_set(&s, 0, OK);
    assert_int_equal(pace_sockets(1) + pace_sockets(0), 0);
    assert_int_equal(pace_sockets(UINT64_MAX), 2 * PACE_STREAMS + 1); /* All, and the listener. */
}

static void test_a_session_without_a_limit_leaves_the_carrier_alone(void **state)
{
    struct conf_session s;

    pace_open(&s, *state);
    if (s.world->carrier != &conf_tcp) {
        skip();
    }
    s.world->a.socket.options.pacing_bytes_per_s = PACE_PART;
    conf_session_wait(&s, PACE_STREAMS);
    assert_int_equal(pace_sockets(PACE_PART), PACE_STREAMS);
    pace_set(&s, 0, OK); /* But whoever says so means it. */
    assert_int_equal(pace_sockets(PACE_PART), 0);
}

static void test_a_carrier_that_cannot_be_paced_says_so(void **state)
{
    struct conf_session s;

    pace_open(&s, *state);
    if (pace_possible(s.world)) {
        skip();
    }
    s.b->config.pace_bytes_per_s = PACE_RATE; /* A default is no reason to fail. */
    conf_session_wait(&s, 2);
    pace_set(&s, PACE_RATE, ERR_INVALID);
    pace_set(&s, 0, OK);
    assert_int_equal(conf_node_send(s.a, NET_DATA, 0, 0, 1000), OK);
    conf_until(s.world, conf_node_idle, s.a, CONF_LIMIT_NS);
    assert_int_equal(s.b->frames, 1);
}

static void test_a_simulated_stream_keeps_to_its_limit_exactly(void **state)
{
    struct conf_session s;

    pace_open(&s, *state);
    if (!s.world->carrier->simulated) {
        skip();
    }
    conf_session_wait(&s, 1);
    pace_burst(&s, 1000000, CONF_MS); /* 10^9 bytes per second, as the link is. */
    pace_set(&s, 500000, OK);
    pace_burst(&s, 1000, 2 * CONF_MS);
    pace_burst(&s, 300000, 600 * CONF_MS);
    pace_set(&s, 999, OK); /* Slower than the smallest piece in a second. */
    pace_burst(&s, 999, CONF_S);
    pace_set(&s, UINT64_MAX, OK);
    pace_burst(&s, 1000000, CONF_MS);
    pace_set(&s, 0, OK);
    pace_burst(&s, 1000000, CONF_MS);
}

static void test_a_simulated_limit_that_changes_holds_for_what_is_under_way(void **state)
{
    struct conf_session s;
    int64_t start_ns, arrived_ns = 0;

    pace_open(&s, *state);
    if (!s.world->carrier->simulated) {
        skip();
    }
    conf_session_wait(&s, 1);
    pace_set(&s, 1000000, OK);
    conf_settle(s.world);
    s.b->user = &arrived_ns;
    s.b->on_frame = pace_arrived;
    start_ns = conf_now_ns(s.world);
    assert_int_equal(conf_node_send(s.a, NET_DATA, 0, 0, 200000 - WIRE_HEADER_BYTES), OK);
    conf_pass(s.world, 150 * CONF_MS);
    pace_set(&s, 100000, OK); /* 50,000 bytes are left. */
    while (s.b->frames == 0) {
        assert_true(conf_step(s.world, start_ns + 10 * CONF_S));
    }
    assert_int_equal(arrived_ns - start_ns, (150 + 500 + 1) * CONF_MS);
}

/* A slow limit is not death: what is left of a chunk comes piece by piece. */
static void test_a_frame_that_takes_longer_than_patience_arrives(void **state)
{
    struct conf_session s;

    conf_session_open(&s, *state);
    if (!s.world->carrier->simulated) {
        skip();
    }
    conf_session_wait(&s, 1);
    pace_set(&s, 20000, OK);
    assert_int_equal(conf_node_send(s.a, NET_DATA, 0, 0, LIMIT_CHUNK_BYTES), OK);
    conf_until(s.world, conf_node_idle, s.a, 20 * CONF_S);
    assert_int_equal(s.b->frames, 1);
    assert_int_equal(s.a->downs + s.b->downs, 0);
}

const struct CMUnitTest conf_pace_tests[] = {
    CONF_TEST(test_a_limit_is_shared_by_the_streams_and_outlives_them),
    CONF_TEST(test_a_limit_set_while_nobody_is_there_holds_from_the_start),
    CONF_TEST(test_the_limit_of_an_endpoint_holds_for_those_it_dials),
    CONF_TEST(test_the_limit_of_an_endpoint_holds_for_those_who_dial_it),
    CONF_TEST(test_the_parts_of_a_limit_add_up_and_none_is_zero),
    CONF_TEST(test_a_session_without_a_limit_leaves_the_carrier_alone),
    CONF_TEST(test_a_carrier_that_cannot_be_paced_says_so),
    CONF_TEST(test_a_simulated_stream_keeps_to_its_limit_exactly),
    CONF_TEST(test_a_simulated_limit_that_changes_holds_for_what_is_under_way),
    CONF_TEST(test_a_frame_that_takes_longer_than_patience_arrives),
};
const size_t conf_pace_count = sizeof(conf_pace_tests) / sizeof(conf_pace_tests[0]);
