/* What only tcp has: congestion control, pacing, facts from the kernel. */

#include "suites.h"

#include "link.h"
#include "net/stream/socket_fd.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static void tcp_set_congestion(const char *name)
{
    struct net_socket_options options = {0};
    char got[NET_CONGESTION_BYTES] = {0};
    socklen_t size = sizeof(got);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    (void)snprintf(options.congestion, sizeof(options.congestion), "%s", name);
    net_socket_tune(fd, true, &options);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, got, &size), 0);
    assert_string_equal(got, name);
    assert_int_equal(close(fd), 0);
}

static void test_congestion_control_reads_back(void **state)
{
    (void)state;
    tcp_set_congestion("reno");
    tcp_set_congestion("cubic");
}

static void test_an_unknown_congestion_control_is_no_obstacle(void **state)
{
    struct conf_world *w = *state;
    struct conf_pair pair;

    strcpy(w->a.socket.options.congestion, "no-such");
    conf_pair_open(&pair, w);
    conf_pair_wait(&pair);
    conf_pair_close(&pair);
}

/* Send @frames of 64 KiB; returns how long it took. */
static int64_t tcp_transfer(struct conf_pair *pair, uint32_t frames)
{
    uint32_t sent = 0, before = pair->b->frames;
    int64_t started_ns = conf_now_ns(pair->world);

    while (pair->b->frames < before + frames) {
        while (sent < frames && conf_send(pair->a, NET_DATA, 65536 - WIRE_HEADER_BYTES, 0) == OK) {
            sent++;
        }
        assert_true(conf_step(pair->world, conf_now_ns(pair->world) + CONF_LIMIT_NS));
    }
    return conf_now_ns(pair->world) - started_ns;
}

static void test_pacing_holds_a_transfer_back(void **state)
{
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    assert_int_equal(net_conn_pace(pair.a->conn, 20000000), OK);
    assert_true(tcp_transfer(&pair, 64) >= 150 * CONF_MS);
    assert_int_equal(net_conn_pace(pair.a->conn, 0), OK);
    assert_true(tcp_transfer(&pair, 64) < 150 * CONF_MS);
    conf_pair_close(&pair);
}

static void test_pacing_can_be_set_from_the_start(void **state)
{
    struct conf_world *w = *state;
    struct conf_pair pair;

    w->a.socket.options.pacing_bytes_per_s = 20000000;
    conf_pair_open(&pair, w);
    conf_pair_wait(&pair);
    assert_true(tcp_transfer(&pair, 64) >= 150 * CONF_MS);
    conf_pair_close(&pair);
}

static void test_the_kernel_tells_of_the_connection(void **state)
{
    struct net_stream_info info;
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    (void)tcp_transfer(&pair, 64);
    conf_settle(pair.world);
    net_conn_info(pair.a->conn, &info);
    assert_true(info.rtt_ns > 0 && info.rtt_ns < CONF_S);
    assert_true(info.delivery_bytes_per_s > 0);
    assert_true(info.acked_bytes >= 64 * 65536);
    assert_int_equal(info.unsent_bytes, 0);
    assert_false(info.ktls);
    conf_pair_close(&pair);
}

static void test_little_unsent_lets_control_overtake_more(void **state)
{
    struct conf_world *w = *state;
    struct net_stream_info info;
    struct conf_pair pair;

    w->a.socket.options.unsent_bytes_max = 128 * 1024;
    conf_pair_open(&pair, w);
    conf_pair_wait(&pair);
    CONF_CALL(w, net_conn_pause(pair.b->conn, true));
    while (conf_send(pair.a, NET_DATA, 256 * 1024, 0) == OK) {
        conf_settle(w);
    }
    net_conn_info(pair.a->conn, &info);
    assert_true(info.unsent_bytes <= 2 * 1024 * 1024);
    CONF_CALL(w, net_conn_pause(pair.b->conn, false));
    conf_settle(w);
    conf_pair_close(&pair);
}

const struct CMUnitTest conf_tcp_tests[] = {
    CONF_TEST(test_congestion_control_reads_back),
    CONF_TEST(test_an_unknown_congestion_control_is_no_obstacle),
    CONF_TEST(test_pacing_holds_a_transfer_back),
    CONF_TEST(test_pacing_can_be_set_from_the_start),
    CONF_TEST(test_the_kernel_tells_of_the_connection),
    CONF_TEST(test_little_unsent_lets_control_overtake_more),
};
const size_t conf_tcp_count = sizeof(conf_tcp_tests) / sizeof(conf_tcp_tests[0]);
