/* A link with real sockets on either side: what goes in comes out, and faults do what they say. */

#include "emu/proxy/proxy.h"

#include "base/mem.h"
#include "base/rng.h"
#include "loop/testing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHUNK_BYTES = 64 * 1024, MANY = 12 };

static const struct emu_shape any = {0};

/* A listening target and the link to it. */
struct rig {
    struct loop *loop;
    struct emu_proxy *proxy;
    int target_fd;
    struct sockaddr_in target;
    struct sockaddr_in door; /* Of the link. */
};

/* One connection through it: 0 is the client, 1 the target. */
struct pair {
    struct rig *rig;
    int fds[2];
    uint64_t sent[2]; /* By each. */
    uint64_t got[2];
};

static int listen_somewhere(struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof(*address);

    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)address, size), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)address, &size), 0);
    return fd;
}

static enum err rig_proxy(struct rig *r, uint32_t way, const struct emu_shape *there,
                          const struct emu_shape *back, uint32_t conns_max)
{
    struct emu_proxy_config config = {.loop = r->loop, .seed = 7, .conns_max = conns_max};
    struct emu_routes routes = {0};
    struct err_text text = {""};
    char route[64];
    enum err rc;

    (void)snprintf(route, sizeof(route), "%s:127.0.0.1:0=127.0.0.1:%u", emu_way_name(way),
                   ntohs(r->target.sin_port));
    rc = emu_routes_add(&routes, route, &text);
    config.routes = &routes;
    config.shapes[EMU_THERE] = *there;
    config.shapes[EMU_BACK] = *back;
    if (rc == OK) {
        rc = emu_proxy_create(&config, &r->proxy, &text);
    }
    emu_routes_deinit(&routes);
    if (rc == OK) {
        r->door = r->target;
        r->door.sin_port = htons((uint16_t)atoi(emu_proxy_bound(r->proxy, 0)->port));
        assert_int_not_equal(r->door.sin_port, 0);
    }
    return rc;
}

static void rig_open(struct rig *r, const struct emu_shape *shape)
{
    *r = (struct rig){0};
    assert_int_equal(loop_create(&r->loop), OK);
    r->target_fd = listen_somewhere(&r->target);
    assert_int_equal(rig_proxy(r, EMU_THERE, shape, shape, EMU_CONNS_MAX), OK);
}

static void rig_close(struct rig *r)
{
    emu_proxy_destroy(r->proxy);
    (void)close(r->target_fd);
    loop_destroy(r->loop);
}

static struct emu_proxy_stats rig_stats(const struct rig *r)
{
    struct emu_proxy_stats stats;

    emu_proxy_stats(r->proxy, &stats);
    return stats;
}

static void rig_order(struct rig *r, const char *line)
{
    struct emu_order order;

    assert_int_equal(emu_order_parse(line, strlen(line), &order, NULL), OK);
    emu_proxy_order(r->proxy, &order);
}

/* Let the link do what it likes for a while: what it may not do would happen now. */
static void rig_idle(struct rig *r)
{
    int64_t end_ns = clock_mono_ns() + 30 * TESTING_MS;

    while (clock_mono_ns() < end_ns) {
        loop_turn(r->loop, 5 * TESTING_MS);
    }
}

static int rig_dial(struct rig *r)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&r->door, sizeof(r->door)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static void pair_open(struct pair *p, struct rig *r)
{
    *p = (struct pair){.rig = r};
    p->fds[0] = rig_dial(r);
    p->fds[1] = -1;
    TESTING_TURN_UNTIL(r->loop, (p->fds[1] = accept4(r->target_fd, NULL, NULL,
                                                     SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0);
}

static void pair_close(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        if (p->fds[i] >= 0) {
            (void)close(p->fds[i]);
            p->fds[i] = -1;
        }
    }
}

/* The byte at a place in what end @from says. */
static uint8_t byte_at(uint32_t from, uint64_t at)
{
    uint64_t x = (at + 1) * UINT64_C(0x9e3779b97f4a7c15) + from;

    return (uint8_t)(x >> 56 ^ x >> 17);
}

/* Write up to @bytes more; false if nothing could be written. */
static bool pair_write(struct pair *p, uint32_t from, uint64_t bytes)
{
    uint8_t chunk[CHUNK_BYTES];
    size_t size = bytes < sizeof(chunk) ? bytes : sizeof(chunk);
    ssize_t n;

    if (size == 0) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        chunk[i] = byte_at(from, p->sent[from] + i);
    }
    n = send(p->fds[from], chunk, size, MSG_NOSIGNAL);
    assert_true(n > 0 || errno == EAGAIN);
    p->sent[from] += n > 0 ? (uint64_t)n : 0;
    return n > 0;
}

/* Read what has come and compare it. Returns 0 for the end, -1 for nothing, -2 for a reset. */
static ssize_t pair_read(struct pair *p, uint32_t from)
{
    uint8_t chunk[CHUNK_BYTES];
    ssize_t n = recv(p->fds[1 - from], chunk, sizeof(chunk), 0);

    if (n < 0) {
        assert_true(errno == EAGAIN || errno == ECONNRESET);
        return errno == EAGAIN ? -1 : -2;
    }
    for (ssize_t i = 0; i < n; i++) {
        if (chunk[i] != byte_at(from, p->got[from] + (uint64_t)i)) {
            fail_msg("byte %llu differs", (unsigned long long)p->got[from] + (uint64_t)i);
        }
    }
    p->got[from] += (uint64_t)n;
    return n;
}

/* Write and read what there is, both ways, up to those counts in all. */
static bool pair_step(struct pair *p, uint64_t there, uint64_t back)
{
    (void)pair_write(p, 0, there - p->sent[0]);
    (void)pair_write(p, 1, back - p->sent[1]);
    (void)pair_read(p, 0);
    (void)pair_read(p, 1);
    return p->got[0] == there && p->got[1] == back;
}

static void pair_carry(struct pair *p, uint64_t there, uint64_t back)
{
    there += p->sent[0];
    back += p->sent[1];
    TESTING_TURN_UNTIL(p->rig->loop, pair_step(p, there, back));
}

/* Calm links. */

static void test_bytes_come_through_unchanged_both_ways(void **state)
{
    const struct emu_shape shapes[] = {
        {0},
        {.bytes_per_s = 12500000, .delay_ns = 2 * TESTING_MS},
        {.bytes_per_s = 50000000, .jitter_ns = 3 * TESTING_MS},
        {.delay_ns = 5 * TESTING_MS, .stream_bytes_per_s = 20000000},
    };
    struct emu_proxy_stats stats;
    struct rig r;
    struct pair p;

    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        rig_open(&r, &shapes[i]);
        pair_open(&p, &r);
        pair_carry(&p, 1, 0);
        pair_carry(&p, 0, 1);
        pair_carry(&p, 1000000, 700000);
        stats = rig_stats(&r);
        assert_int_equal(stats.ways[EMU_THERE].pipe.sent_bytes, 1000001);
        assert_int_equal(stats.ways[EMU_THERE].delivered_bytes, 1000001);
        assert_int_equal(stats.ways[EMU_BACK].delivered_bytes, 700001);
        assert_int_equal(stats.ways[EMU_THERE].pipe.queued_bytes, 0);
        assert_int_equal(stats.open, 1);
        pair_close(&p);
        TESTING_TURN_UNTIL(r.loop, rig_stats(&r).open == 0);
        assert_int_equal(rig_stats(&r).total, 1);
        rig_close(&r);
    }
}

static void test_clients_of_a_route_back_send_in_that_direction(void **state)
{
    const struct emu_shape other = {.delay_ns = TESTING_MS};
    struct emu_proxy_stats stats;
    struct rig r = {0};
    struct pair p;

    (void)state;
    assert_int_equal(loop_create(&r.loop), OK);
    r.target_fd = listen_somewhere(&r.target);
    assert_int_equal(rig_proxy(&r, EMU_BACK, &any, &other, 10), OK);
    pair_open(&p, &r);
    pair_carry(&p, 5000, 100);
    stats = rig_stats(&r);
    assert_int_equal(stats.ways[EMU_BACK].delivered_bytes, 5000);
    assert_int_equal(stats.ways[EMU_THERE].delivered_bytes, 100);
    assert_int_equal(stats.ways[EMU_BACK].shape.delay_ns, TESTING_MS);
    pair_close(&p);
    rig_close(&r);
}

static void test_an_end_goes_one_way_and_the_other_way_goes_on(void **state)
{
    const struct emu_shape shape = {.delay_ns = 3 * TESTING_MS};
    struct rig r;
    struct pair p;
    ssize_t n = -1;

    (void)state;
    rig_open(&r, &shape);
    pair_open(&p, &r);
    assert_true(pair_write(&p, 0, 1000));
    assert_int_equal(shutdown(p.fds[0], SHUT_WR), 0);
    TESTING_TURN_UNTIL(r.loop, (n = pair_read(&p, 0)) == 0);
    assert_int_equal(p.got[0], 1000);
    pair_carry(&p, 0, 200000);
    assert_int_equal(rig_stats(&r).open, 1);
    assert_int_equal(shutdown(p.fds[1], SHUT_WR), 0);
    TESTING_TURN_UNTIL(r.loop, (n = pair_read(&p, 1)) == 0);
    TESTING_TURN_UNTIL(r.loop, rig_stats(&r).open == 0);
    pair_close(&p);
    rig_close(&r);
}

static void test_a_target_that_speaks_first_is_heard(void **state)
{
    struct rig r;
    struct pair p;

    (void)state;
    rig_open(&r, &any);
    pair_open(&p, &r);
    pair_carry(&p, 0, 10);
    pair_carry(&p, 10, 0);
    pair_close(&p);
    rig_close(&r);
}

/* Closed with a reset. */
static void close_hard(int *fd)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};

    assert_int_equal(setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    (void)close(*fd);
    *fd = -1;
}

static void test_a_reset_is_passed_on_behind_the_bytes(void **state)
{
    const struct emu_shape shape = {.delay_ns = 3 * TESTING_MS};
    struct rig r;
    struct pair p;
    ssize_t n = -1;

    (void)state;
    for (uint32_t from = 0; from < 2; from++) {
        rig_open(&r, &shape);
        pair_open(&p, &r);
        pair_carry(&p, 10, 10);
        assert_true(pair_write(&p, from, 1000));
        TESTING_TURN_UNTIL(r.loop, rig_stats(&r).ways[from].pipe.sent_bytes == 1010);
        close_hard(&p.fds[from]);
        TESTING_TURN_UNTIL(r.loop, (n = pair_read(&p, from)) == -2);
        assert_int_equal(p.got[from], 1010);
        assert_int_equal(rig_stats(&r).open, 0);
        pair_close(&p);
        rig_close(&r);
    }
}

static void test_what_is_said_to_one_that_is_gone_is_not_delivered(void **state)
{
    const struct emu_shape shape = {.delay_ns = 20 * TESTING_MS};
    struct rig r;
    struct pair p;

    (void)state;
    rig_open(&r, &shape);
    pair_open(&p, &r);
    pair_carry(&p, 10, 10);
    assert_true(pair_write(&p, 1, 5000));
    TESTING_TURN_UNTIL(r.loop, rig_stats(&r).ways[EMU_BACK].pipe.sent_bytes == 5010);
    close_hard(&p.fds[0]);
    TESTING_TURN_UNTIL(r.loop, rig_stats(&r).open == 0);
    assert_int_equal(rig_stats(&r).ways[EMU_BACK].delivered_bytes, 10);
    pair_close(&p);
    rig_close(&r);
}

static void test_a_target_that_refuses_resets_the_client(void **state)
{
    const struct emu_shape shape = {.delay_ns = 2 * TESTING_MS};
    struct rig r;
    char byte;
    int fd;

    (void)state;
    rig_open(&r, &shape);
    (void)close(r.target_fd);
    r.target_fd = -1;
    fd = rig_dial(&r);
    TESTING_TURN_UNTIL(r.loop, recv(fd, &byte, 1, 0) < 0 && errno == ECONNRESET);
    assert_int_equal(rig_stats(&r).missed, 1);
    assert_int_equal(rig_stats(&r).open, 0);
    (void)close(fd);
    rig_close(&r);
}

static void test_what_a_client_says_at_once_waits_for_the_answer_of_the_target(void **state)
{
    struct rig r;
    struct pair p;

    (void)state;
    rig_open(&r, &any);
    rig_order(&r, "cut back");
    pair_open(&p, &r); /* The target has been dialled, but cannot answer. */
    assert_true(pair_write(&p, 0, 1));
    rig_idle(&r);
    assert_int_equal(pair_read(&p, 0), -1);
    rig_order(&r, "heal");
    TESTING_TURN_UNTIL(r.loop, pair_read(&p, 0) == 1);
    pair_close(&p);
    rig_close(&r);
}

/* Faults. */

static void test_what_is_cut_moves_when_it_is_healed(void **state)
{
    struct emu_proxy_stats stats;
    struct rig r;
    struct pair p;

    (void)state;
    rig_open(&r, &any);
    pair_open(&p, &r);
    pair_carry(&p, 10, 10);
    rig_order(&r, "cut there");
    assert_true(pair_write(&p, 0, 100));
    rig_idle(&r);
    assert_int_equal(pair_read(&p, 0), -1);
    assert_true(pair_write(&p, 1, 1000)); /* The other way is open. */
    TESTING_TURN_UNTIL(r.loop, pair_read(&p, 1) > 0 && p.got[1] == 1010);
    assert_int_equal(pair_read(&p, 0), -1);
    stats = rig_stats(&r);
    assert_int_equal(stats.ways[EMU_THERE].pipe.sent_bytes, 10);
    assert_true(stats.active[EMU_FAULT_CUT][EMU_THERE]);
    assert_false(stats.active[EMU_FAULT_CUT][EMU_BACK]);
    rig_order(&r, "heal");
    TESTING_TURN_UNTIL(r.loop, pair_step(&p, p.sent[0], p.sent[1]));
    rig_order(&r, "cut for 50ms");
    assert_true(pair_write(&p, 0, 1) && pair_write(&p, 1, 1));
    TESTING_TURN_UNTIL(r.loop, pair_step(&p, p.sent[0], p.sent[1]));
    stats = rig_stats(&r);
    assert_int_equal(stats.fired[EMU_FAULT_CUT], 3);
    assert_false(stats.active[EMU_FAULT_CUT][EMU_THERE]);
    pair_close(&p);
    rig_close(&r);
}

static void test_nobody_comes_through_a_cut(void **state)
{
    struct rig r;
    struct pair p = {.fds = {-1, -1}};

    (void)state;
    rig_open(&r, &any);
    rig_order(&r, "cut");
    p.rig = &r;
    p.fds[0] = rig_dial(&r);
    rig_idle(&r);
    assert_int_equal(accept(r.target_fd, NULL, NULL), -1);
    rig_order(&r, "heal");
    TESTING_TURN_UNTIL(r.loop, (p.fds[1] = accept4(r.target_fd, NULL, NULL, SOCK_NONBLOCK)) >= 0);
    pair_carry(&p, 100, 100);
    pair_close(&p);
    rig_close(&r);
}

static void test_a_stall_keeps_what_is_not_yet_on_the_way(void **state)
{
    struct rig r;
    struct pair p;

    (void)state;
    rig_open(&r, &any);
    pair_open(&p, &r);
    pair_carry(&p, 10, 10);
    rig_order(&r, "stall");
    assert_true(pair_write(&p, 0, 100));
    rig_idle(&r);
    assert_int_equal(pair_read(&p, 0), -1);
    assert_int_equal(rig_stats(&r).fired[EMU_FAULT_STALL], 2);
    assert_true(rig_stats(&r).active[EMU_FAULT_STALL][EMU_BACK]);
    rig_order(&r, "stall for 20ms");
    TESTING_TURN_UNTIL(r.loop, pair_step(&p, p.sent[0], p.sent[1]));
    assert_false(rig_stats(&r).active[EMU_FAULT_STALL][EMU_BACK]);
    pair_close(&p);
    rig_close(&r);
}

static void test_a_reset_comes_in_the_middle(void **state)
{
    struct rig r;
    struct pair p, q;
    ssize_t n = -1;

    (void)state;
    rig_open(&r, &any);
    pair_open(&p, &r);
    pair_open(&q, &r);
    pair_carry(&p, 10, 10);
    pair_carry(&q, 10, 10);
    rig_order(&r, "reset");
    assert_true(pair_write(&p, 0, 1000));
    TESTING_TURN_UNTIL(r.loop, (n = pair_read(&p, 0)) == -2 || n == 0);
    TESTING_TURN_UNTIL(r.loop, (n = pair_read(&p, 1)) == -2);
    assert_true(p.got[0] < 1010);
    assert_int_equal(rig_stats(&r).fired[EMU_FAULT_RESET], 1);
    assert_int_equal(rig_stats(&r).open, 1);
    rig_order(&r, "heal"); /* The other one has carried nothing since: it is spared. */
    pair_carry(&q, 1000, 1000);
    pair_close(&p);
    pair_close(&q);
    rig_close(&r);
}

static void test_resets_for_a_time_hit_those_who_come_too(void **state)
{
    struct rig r;
    struct pair p;
    ssize_t n = -1;

    (void)state;
    rig_open(&r, &any);
    rig_order(&r, "reset for 1h");
    for (uint64_t i = 1; i <= 3; i++) {
        pair_open(&p, &r);
        assert_true(pair_write(&p, 1, 501));
        TESTING_TURN_UNTIL(r.loop, (n = pair_read(&p, 0)) == -2);
        assert_int_equal(rig_stats(&r).fired[EMU_FAULT_RESET], i);
        pair_close(&p);
    }
    rig_order(&r, "heal");
    pair_open(&p, &r);
    pair_carry(&p, 1000, 1000);
    pair_close(&p);
    rig_close(&r);
}

static void test_fragments_are_the_same_bytes_one_by_one(void **state)
{
    struct rig r;
    struct pair p;

    (void)state;
    rig_open(&r, &any);
    pair_open(&p, &r);
    rig_order(&r, "fragments on there");
    pair_carry(&p, 5000, 300);
    assert_int_equal(rig_stats(&r).fired[EMU_FAULT_FRAGMENTS], 5000);
    rig_order(&r, "fragments off");
    pair_carry(&p, 5000, 300);
    assert_int_equal(rig_stats(&r).fired[EMU_FAULT_FRAGMENTS], 5000);
    pair_close(&p);
    rig_close(&r);
}

/* Carry @bytes from the client, as one message, and count the bits that differ. */
static int flipped_bits(struct pair *p, size_t bytes)
{
    uint8_t sent[1000] = {0}, got[1000];
    size_t done = 0;
    int bits = 0;

    assert_true(bytes <= sizeof(sent));
    assert_int_equal(send(p->fds[0], sent, bytes, 0), bytes);
    while (done < bytes) {
        ssize_t n = -1;

        TESTING_TURN_UNTIL(p->rig->loop, (n = recv(p->fds[1], got + done, bytes - done, 0)) > 0);
        done += (size_t)n;
    }
    for (size_t i = 0; i < bytes; i++) {
        bits += __builtin_popcount(got[i]);
    }
    return bits;
}

static void test_one_bit_is_flipped_in_each_of_so_many_pieces(void **state)
{
    struct rig r;
    struct pair p;

    (void)state;
    rig_open(&r, &any);
    pair_open(&p, &r);
    rig_order(&r, "flip 2");
    assert_int_equal(flipped_bits(&p, 1), 1);
    assert_int_equal(flipped_bits(&p, 1000), 1);
    assert_int_equal(flipped_bits(&p, 1000), 0);
    assert_int_equal(rig_stats(&r).fired[EMU_FAULT_FLIP], 2);
    rig_order(&r, "flip every 1500");
    assert_int_equal(flipped_bits(&p, 1000), 0);
    assert_int_equal(flipped_bits(&p, 1000), 1);
    assert_int_equal(flipped_bits(&p, 1000), 0);
    assert_int_equal(flipped_bits(&p, 1000), 1);
    rig_order(&r, "flip off");
    assert_int_equal(flipped_bits(&p, 1000), 0);
    rig_order(&r, "flip 1 back");
    assert_int_equal(flipped_bits(&p, 1000), 0);
    assert_int_equal(rig_stats(&r).fired[EMU_FAULT_FLIP], 4);
    pair_close(&p);
    rig_close(&r);
}

static void test_a_slow_drain_holds_the_sender_back_and_nothing_is_lost(void **state)
{
    struct rig r;
    struct pair p;
    struct emu_proxy_stats stats;

    (void)state;
    rig_open(&r, &any);
    pair_open(&p, &r);
    rig_order(&r, "drain 10kbit there");
    while (pair_write(&p, 0, CHUNK_BYTES)) {
        loop_turn(r.loop, 0);
    }
    rig_idle(&r);
    stats = rig_stats(&r);
    assert_true(stats.ways[EMU_THERE].delivered_bytes < 50000);
    assert_true(stats.ways[EMU_THERE].pipe.queued_bytes > 100000);
    assert_true(stats.active[EMU_FAULT_DRAIN][EMU_THERE]);
    assert_int_equal(stats.fired[EMU_FAULT_DRAIN], 1);
    rig_order(&r, "drain off");
    TESTING_TURN_UNTIL(r.loop, pair_step(&p, p.sent[0], 0));
    pair_close(&p);
    rig_close(&r);
}

static void test_who_comes_is_refused_on_order(void **state)
{
    struct rig r;
    struct pair p, old;
    char byte;
    int fd;

    (void)state;
    rig_open(&r, &any);
    pair_open(&old, &r);
    rig_order(&r, "refuse");
    fd = rig_dial(&r);
    TESTING_TURN_UNTIL(r.loop, recv(fd, &byte, 1, 0) < 0 && errno == ECONNRESET);
    assert_int_equal(rig_stats(&r).fired[EMU_FAULT_REFUSE], 1);
    (void)close(fd);
    pair_carry(&old, 100, 100);
    rig_order(&r, "heal");
    pair_open(&p, &r);
    pair_carry(&p, 100, 100);
    pair_close(&p);
    pair_close(&old);
    rig_close(&r);
}

static void test_a_shape_for_a_time_goes_back_to_what_it_was(void **state)
{
    const struct emu_shape shape = {.bytes_per_s = 1000000, .delay_ns = TESTING_MS};
    struct emu_proxy_stats stats;
    struct rig r;

    (void)state;
    rig_open(&r, &shape);
    rig_order(&r, "rate 16mbit for 1h");
    rig_order(&r, "delay 5ms there for 20ms");
    rig_order(&r, "jitter 2ms back");
    stats = rig_stats(&r);
    assert_int_equal(stats.ways[EMU_THERE].shape.bytes_per_s, 2000000);
    assert_int_equal(stats.ways[EMU_BACK].shape.bytes_per_s, 2000000);
    assert_int_equal(stats.ways[EMU_THERE].shape.delay_ns, 5 * TESTING_MS);
    assert_int_equal(stats.ways[EMU_BACK].shape.delay_ns, TESTING_MS);
    assert_int_equal(stats.ways[EMU_BACK].shape.jitter_ns, 2 * TESTING_MS);
    assert_true(stats.active[EMU_FAULT_RATE][EMU_THERE]);
    assert_false(stats.active[EMU_FAULT_JITTER][EMU_BACK]); /* It is so from now on. */
    TESTING_TURN_UNTIL(r.loop, rig_stats(&r).ways[EMU_THERE].shape.delay_ns == TESTING_MS);
    rig_order(&r, "heal");
    stats = rig_stats(&r);
    assert_int_equal(stats.ways[EMU_THERE].shape.bytes_per_s, 1000000);
    assert_int_equal(stats.ways[EMU_BACK].shape.jitter_ns, 2 * TESTING_MS);
    assert_int_equal(stats.fired[EMU_FAULT_RATE], 2);
    rig_close(&r);
}

/* Limits. */

static void test_a_receiver_that_does_not_read_costs_a_window(void **state)
{
    const struct emu_shape shape = {.bytes_per_s = 125000000, .delay_ns = TESTING_MS};
    struct rig r;
    struct pair p;
    int64_t before;
    uint64_t sent = 1;

    (void)state;
    rig_open(&r, &shape);
    pair_open(&p, &r);
    pair_carry(&p, 1, 1);
    before = mem_bytes_held();
    while (sent != p.sent[0]) {
        sent = p.sent[0];
        while (pair_write(&p, 0, CHUNK_BYTES)) {
        }
        rig_idle(&r);
    }
    /* Blocks and pieces for what is on the way, and little else. */
    assert_true(rig_stats(&r).ways[EMU_THERE].pipe.queued_bytes <= 2 * 1024 * 1024);
    assert_true(mem_bytes_held() - before < 3 * 1024 * 1024);
    TESTING_TURN_UNTIL(r.loop, pair_step(&p, p.sent[0], 1));
    pair_carry(&p, 500000, 500000);
    pair_close(&p);
    rig_close(&r);
}

static void test_who_comes_beyond_the_limit_is_reset(void **state)
{
    struct rig r = {0};
    struct pair p, q;
    char byte;
    int fd;

    (void)state;
    assert_int_equal(loop_create(&r.loop), OK);
    r.target_fd = listen_somewhere(&r.target);
    assert_int_equal(rig_proxy(&r, EMU_THERE, &any, &any, 1), OK);
    pair_open(&p, &r);
    fd = rig_dial(&r);
    TESTING_TURN_UNTIL(r.loop, recv(fd, &byte, 1, 0) < 0 && errno == ECONNRESET);
    assert_int_equal(rig_stats(&r).away, 1);
    (void)close(fd);
    pair_carry(&p, 100, 100);
    pair_close(&p);
    TESTING_TURN_UNTIL(r.loop, rig_stats(&r).open == 0);
    pair_open(&q, &r);
    pair_carry(&q, 100, 100);
    pair_close(&q);
    rig_close(&r);
}

static void test_out_of_descriptors_it_waits_and_goes_on(void **state)
{
    struct rlimit before, limit;
    struct rig r;
    struct pair p = {.fds = {-1, -1}};
    int top;

    (void)state;
    rig_open(&r, &any);
    p.rig = &r;
    p.fds[0] = rig_dial(&r);
    top = dup(p.fds[0]);
    (void)close(top);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)top;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    rig_idle(&r);
    assert_int_equal(rig_stats(&r).total, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (getenv("STRAIT_VALGRIND") != NULL) { /* At the limit it takes who comes, and drops it. */
        (void)close(p.fds[0]);
        p.fds[0] = rig_dial(&r);
    }
    TESTING_TURN_UNTIL(r.loop, (p.fds[1] = accept4(r.target_fd, NULL, NULL, SOCK_NONBLOCK)) >= 0);
    pair_carry(&p, 1000, 1000);
    pair_close(&p);
    rig_close(&r);
}

static void test_a_port_that_is_taken_is_named(void **state)
{
    struct emu_routes routes = {0};
    struct emu_proxy_config config = {.routes = &routes, .conns_max = 1};
    struct emu_proxy *proxy;
    struct err_text text = {""};
    struct rig r;
    char route[64], port[8];

    (void)state;
    rig_open(&r, &any);
    (void)snprintf(port, sizeof(port), "%u", ntohs(r.target.sin_port));
    (void)snprintf(route, sizeof(route), "127.0.0.1:%s=127.0.0.1:1", port);
    config.loop = r.loop;
    assert_int_equal(emu_proxy_create(&config, &proxy, &text), ERR_INVALID);
    assert_int_equal(emu_routes_add(&routes, "127.0.0.1:0=127.0.0.1:1", NULL), OK);
    assert_int_equal(emu_routes_add(&routes, route, NULL), OK);
    assert_int_equal(emu_proxy_create(&config, &proxy, &text), ERR_IO);
    assert_non_null(strstr(text.text, port));
    config.conns_max = EMU_CONNS_MAX + 1;
    assert_int_equal(emu_proxy_create(&config, &proxy, &text), ERR_INVALID);
    config.conns_max = 1;
    config.shapes[EMU_BACK].delay_ns = -1;
    assert_int_equal(emu_proxy_create(&config, &proxy, &text), ERR_INVALID);
    emu_routes_deinit(&routes);
    rig_close(&r);
}

static void test_without_memory_there_is_no_link(void **state)
{
    enum err rc = ERR_NOMEM;
    struct rig r = {0};

    (void)state;
    assert_int_equal(loop_create(&r.loop), OK);
    r.target_fd = listen_somewhere(&r.target);
    for (uint64_t k = 2; rc != OK; k++) { /* The first is that of the route. */
        assert_true(k < 1000);
        mem_fail_at(k, 1);
        rc = rig_proxy(&r, EMU_THERE, &any, &any, 1);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
    }
    rig_close(&r);
}

/* A client whose target greets it with a byte. Says what became of it: 1 for greeted, -1 for reset,
 * 0 for neither yet. */
static int greeting_step(struct rig *r, int client_fd, int *target_fd)
{
    char byte = 1;
    ssize_t n = recv(client_fd, &byte, 1, 0);

    if (n == 1 || (n < 0 && errno == ECONNRESET)) {
        return n == 1 ? 1 : -1;
    }
    if (*target_fd < 0) {
        *target_fd = accept4(r->target_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (*target_fd >= 0) {
            (void)send(*target_fd, &byte, 1, MSG_NOSIGNAL);
        }
    }
    return 0;
}

static void test_without_memory_a_connection_is_reset_and_the_link_lives_on(void **state)
{
    struct rig r;
    struct pair p;
    int resets = 0, outcome = 0;
    bool failed = true;

    (void)state;
    rig_open(&r, &any);
    for (uint64_t k = 1; failed; k++) {
        uint64_t failures = mem_failures();
        int target_fd = -1, client_fd = rig_dial(&r);

        assert_true(k < 100);
        mem_fail_at(k, 1);
        TESTING_TURN_UNTIL(r.loop, (outcome = greeting_step(&r, client_fd, &target_fd)) != 0);
        mem_fail_at(0, 0);
        failed = mem_failures() != failures;
        assert_true(failed || outcome == 1);
        resets += outcome == -1;
        (void)close(client_fd);
        if (target_fd >= 0) {
            (void)close(target_fd);
        }
        TESTING_TURN_UNTIL(r.loop, rig_stats(&r).open == 0);
    }
    assert_true(resets >= 4);
    pair_open(&p, &r);
    pair_carry(&p, 1000, 1000);
    pair_close(&p);
    rig_close(&r);
}

/* Many connections, all kinds of faults that lose nothing, and every byte arrives. */

static void storm_fault(struct rig *r, struct rng *rng)
{
    static const char *const lines[] = {
        "cut for 5ms",         "cut there for 3ms",    "stall for 5ms",        "stall back for 4ms",
        "drain 8mbit for 9ms", "fragments on for 2ms", "rate 40mbit for 10ms", "delay 7ms for 8ms",
        "jitter 4ms for 9ms",  "refuse for 1ms",       "rate 900mbit",         "delay 1ms",
    };
    const char *line = lines[rng_below(rng, sizeof(lines) / sizeof(lines[0]))];

    rig_order(r, line);
}

struct storm {
    struct rig rig;
    struct rng rng;
    struct pair pairs[MANY];
    uint64_t bytes[MANY][2];
};

/* True when all has arrived. */
static bool storm_step(struct storm *s)
{
    bool all = true;

    for (int i = 0; i < MANY; i++) {
        all = pair_step(&s->pairs[i], s->bytes[i][0], s->bytes[i][1]) && all;
    }
    if (rng_chance(&s->rng, 200000)) {
        storm_fault(&s->rig, &s->rng);
    }
    return all;
}

static void storm(uint64_t seed, uint64_t fired[EMU_FAULTS])
{
    const struct emu_shape shape = {.bytes_per_s = 100000000, .delay_ns = TESTING_MS};
    struct storm s = {0};

    rng_init(&s.rng, seed);
    rig_open(&s.rig, &shape);
    for (int i = 0; i < MANY; i++) {
        pair_open(&s.pairs[i], &s.rig);
        s.bytes[i][0] = rng_below(&s.rng, UINT64_C(1) << rng_between(&s.rng, 1, 20));
        s.bytes[i][1] = rng_below(&s.rng, UINT64_C(1) << rng_between(&s.rng, 1, 20));
    }
    TESTING_TURN_UNTIL(s.rig.loop, storm_step(&s));
    for (int i = 0; i < MANY; i++) {
        pair_close(&s.pairs[i]);
    }
    for (int i = 0; i < EMU_FAULTS; i++) {
        fired[i] += rig_stats(&s.rig).fired[i];
    }
    rig_order(&s.rig, "heal");
    TESTING_TURN_UNTIL(s.rig.loop, rig_stats(&s.rig).open == 0);
    rig_close(&s.rig);
}

static void test_every_byte_arrives_whatever_happens_to_the_link(void **state)
{
    uint64_t fired[EMU_FAULTS] = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        storm(seed, fired);
    }
    for (int i = 0; i <= EMU_FAULT_FRAGMENTS; i++) {
        assert_true(fired[i] > 0 || i == EMU_FAULT_FLIP);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_come_through_unchanged_both_ways),
        cmocka_unit_test(test_clients_of_a_route_back_send_in_that_direction),
        cmocka_unit_test(test_an_end_goes_one_way_and_the_other_way_goes_on),
        cmocka_unit_test(test_a_target_that_speaks_first_is_heard),
        cmocka_unit_test(test_a_reset_is_passed_on_behind_the_bytes),
        cmocka_unit_test(test_what_is_said_to_one_that_is_gone_is_not_delivered),
        cmocka_unit_test(test_a_target_that_refuses_resets_the_client),
        cmocka_unit_test(test_what_a_client_says_at_once_waits_for_the_answer_of_the_target),
        cmocka_unit_test(test_what_is_cut_moves_when_it_is_healed),
        cmocka_unit_test(test_nobody_comes_through_a_cut),
        cmocka_unit_test(test_a_stall_keeps_what_is_not_yet_on_the_way),
        cmocka_unit_test(test_a_reset_comes_in_the_middle),
        cmocka_unit_test(test_resets_for_a_time_hit_those_who_come_too),
        cmocka_unit_test(test_fragments_are_the_same_bytes_one_by_one),
        cmocka_unit_test(test_one_bit_is_flipped_in_each_of_so_many_pieces),
        cmocka_unit_test(test_a_slow_drain_holds_the_sender_back_and_nothing_is_lost),
        cmocka_unit_test(test_who_comes_is_refused_on_order),
        cmocka_unit_test(test_a_shape_for_a_time_goes_back_to_what_it_was),
        cmocka_unit_test(test_a_receiver_that_does_not_read_costs_a_window),
        cmocka_unit_test(test_who_comes_beyond_the_limit_is_reset),
        cmocka_unit_test(test_out_of_descriptors_it_waits_and_goes_on),
        cmocka_unit_test(test_a_port_that_is_taken_is_named),
        cmocka_unit_test(test_without_memory_there_is_no_link),
        cmocka_unit_test(test_without_memory_a_connection_is_reset_and_the_link_lives_on),
        cmocka_unit_test(test_every_byte_arrives_whatever_happens_to_the_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
