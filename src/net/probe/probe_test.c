/* Probes over real sockets of this machine: that they end, and end well. What they measure is
 * tested where the truth is known: src/sim/probe_test.c and tests/lab. */

#include "net/probe/probe.h"

#include "base/buf.h"
#include "loop/clock.h"
#include "loop/loop.h"
#include "net/probe/link.h"
#include "net/stream/socket.h"
#include "obs/metric.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)

/* Two endpoints on one loop. */
struct pair {
    struct loop *loop;
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_socket_transport transport;
    struct net_endpoint *near;
    struct net_endpoint *far;
    struct net_peer *peer; /* As near sees it. */
    uint32_t ups;
    uint32_t calls;
    enum err rc;
    struct net_probe_result result;
};

static void pair_up(struct net_peer *peer, bool restarted, void *user)
{
    (void)peer;
    (void)restarted;
    ((struct pair *)user)->ups++;
}

static enum err pair_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    (void)peer;
    (void)frame;
    (void)user;
    return ERR_PEER; /* Nobody sends anything but probes. */
}

static void pair_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    (void)peer;
    (void)why;
    (void)text;
    (void)user;
}

static const struct net_endpoint_events pair_events = {
    .up = pair_up, .frame = pair_frame, .lost = pair_lost};

static struct net_endpoint *pair_endpoint(struct pair *p, enum wire_role role)
{
    struct net_endpoint_config config = {.loop = p->loop,
                                         .pool = p->pool,
                                         .registry = p->registry,
                                         .incarnation = 1,
                                         .seed = 1,
                                         .insecure = true,
                                         .events = &pair_events,
                                         .user = p};
    struct net_endpoint *e = NULL;

    assert_int_equal(pki_identity_make(role, "here", "me", &config.identity, NULL), OK);
    assert_int_equal(net_endpoint_create(&config, &e), OK);
    return e;
}

static void pair_open(struct pair *p)
{
    struct net_address at = {.scheme = NET_SCHEME_TCP, .host = "127.0.0.1", .port = "0"};
    struct net_address bound;

    *p = (struct pair){0};
    assert_int_equal(loop_create(&p->loop), OK);
    assert_int_equal(buf_pool_create(32 << 20, &p->pool), OK);
    assert_int_equal(obs_registry_create(256, &p->registry), OK);
    net_socket_transport_init(&p->transport, p->loop, NULL);
    p->near = pair_endpoint(p, WIRE_ROLE_WORKER);
    p->far = pair_endpoint(p, WIRE_ROLE_SERVER);
    assert_int_equal(net_endpoint_listen(p->far, &p->transport.base, &at, &bound, NULL), OK);
    assert_int_equal(net_endpoint_dial(p->near, &p->transport.base, &bound, 2, &p->peer), OK);
}

static void pair_close(struct pair *p)
{
    net_endpoint_destroy(p->near);
    net_endpoint_destroy(p->far);
    obs_registry_destroy(p->registry);
    buf_pool_destroy(p->pool);
    loop_destroy(p->loop);
}

static void pair_wait(struct pair *p, const uint32_t *number, uint32_t wanted)
{
    int64_t until_ns = clock_mono_ns() + 60 * SECOND;

    while (*number < wanted) {
        assert_true(clock_mono_ns() < until_ns);
        loop_turn(p->loop, SECOND);
    }
}

static void pair_done(struct net_peer *peer, enum err rc, const struct net_probe_result *result,
                      void *user)
{
    struct pair *p = user;

    assert_ptr_equal(peer, p->peer);
    p->calls++;
    p->rc = rc;
    p->result = *result;
}

/* Rates that do not take long. */
static const struct net_probe_config quick = {.rate_min = 20000000, .rate_max = 80000000};

static void test_a_probe_over_loopback_ends(void **state)
{
    struct net_link_estimate e;
    struct net_link_carrier carrier;
    struct pair p;
    (void)state;

    pair_open(&p);
    assert_int_equal(net_probe_start(p.peer, &quick, pair_done, &p), ERR_CLOSED);
    assert_int_equal(net_link_carrier(p.peer, &carrier), ERR_CLOSED);
    pair_wait(&p, &p.ups, 2);
    assert_int_equal(net_probe_start(p.peer, &quick, pair_done, &p), OK);
    assert_true(net_probe_running(p.peer));
    assert_int_equal(p.calls, 0);
    pair_wait(&p, &p.calls, 1);
    assert_int_equal(p.rc, OK);
    assert_true(p.result.rtt_ns > 0 && p.result.rtt_ns < SECOND);
    assert_true(p.result.low <= p.result.high && p.result.high <= quick.rate_max);
    assert_true(p.result.trains > 0 && p.result.bytes > 0 && p.result.duration_ns > 0);
    assert_int_equal(net_link_estimate(p.peer, &e), OK);
    assert_int_equal(e.kind, NET_LINK_PROBE);
    assert_int_equal(e.high, p.result.high);
    assert_int_equal(net_link_carrier(p.peer, &carrier), OK);
    assert_int_equal(carrier.wire_version, WIRE_VERSION_MAX);
    assert_null(carrier.tls_version);
    pair_close(&p);
}

static void test_both_sides_may_probe_at_once(void **state)
{
    struct pair p;
    struct net_peer *back;
    (void)state;

    pair_open(&p);
    pair_wait(&p, &p.ups, 2);
    back = net_endpoint_peer(p.far, 0);
    assert_int_equal(net_probe_start(p.peer, &quick, pair_done, &p), OK);
    assert_int_equal(net_probe_start(back, &quick, pair_done, &p), OK);
    net_probe_cancel(back);
    pair_wait(&p, &p.calls, 1);
    assert_int_equal(p.rc, OK);
    pair_close(&p);
}

static void test_senseless_rates_are_refused(void **state)
{
    const struct net_probe_config upside_down = {.rate_min = 100000000, .rate_max = 1000000};
    const struct net_probe_config too_slow = {.rate_min = 1};
    struct pair p;
    (void)state;

    pair_open(&p);
    pair_wait(&p, &p.ups, 2);
    assert_int_equal(net_probe_start(p.peer, &upside_down, pair_done, &p), ERR_INVALID);
    assert_int_equal(net_probe_start(p.peer, &too_slow, pair_done, &p), ERR_INVALID);
    assert_false(net_probe_running(p.peer));
    pair_close(&p);
}

static void test_destroying_the_endpoint_says_nothing(void **state)
{
    struct pair p;
    (void)state;

    for (int turns = 0; turns < 40; turns += 3) {
        pair_open(&p);
        pair_wait(&p, &p.ups, 2);
        assert_int_equal(net_probe_start(p.peer, NULL, pair_done, &p), OK);
        for (int i = 0; i < turns; i++) {
            loop_turn(p.loop, SECOND / 100);
        }
        pair_close(&p);
        assert_int_equal(p.calls, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_probe_over_loopback_ends),
        cmocka_unit_test(test_both_sides_may_probe_at_once),
        cmocka_unit_test(test_senseless_rates_are_refused),
        cmocka_unit_test(test_destroying_the_endpoint_says_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
