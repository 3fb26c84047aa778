/* The meter (net/probe/meter.h) on every carrier: traffic that the session holds to a rate shows
 * that rate. Real carriers are as late as the machine is busy, so there only the order is checked.
 */

#include "suites.h"

#include "net/probe/meter.h"
#include "node.h"

enum {
    METER_RATE = 2 * 1000 * 1000,
    METER_FRAME = 100 * 1000,
    METER_FRAMES = 12, /* 600 ms. */
};

static void meter_send(struct conf_session *s)
{
    for (uint32_t i = 0; i < METER_FRAMES; i++) {
        assert_int_equal(conf_node_send(s->a, NET_DATA, 0, i, METER_FRAME), OK);
    }
}

/* Look until nothing is left; how often there was news. */
static uint32_t meter_watch(struct conf_session *s, struct net_meter *m)
{
    int64_t start_ns = conf_now_ns(s->world);
    uint32_t news = 0;
    bool new;

    do {
        CONF_CALL(s->world, new = net_meter_look(m, s->a->peer, conf_now_ns(s->world)));
        news += new;
        conf_pass(s->world, NET_METER_LOOK_MS * CONF_MS);
    } while (net_meter_busy(m) && conf_now_ns(s->world) - start_ns < CONF_LIMIT_NS);
    return news;
}

static void test_traffic_shows_the_rate_of_its_link(void **state)
{
    struct net_meter_reading r;
    struct net_meter m = {0};
    struct conf_session s;
    uint32_t news;
    enum err rc;

    conf_session_open(&s, *state);
    conf_session_wait(&s, 2);
    if (s.world->carrier == &conf_unix) {
        meter_send(&s);
        assert_int_equal(meter_watch(&s, &m), 0); /* It cannot tell, and says nothing. */
        assert_false(net_meter_read(&m, conf_now_ns(s.world), &r));
        return;
    }
    CONF_CALL(s.world, rc = net_peer_pace(s.a->peer, (uint64_t)METER_RATE * 2));
    assert_int_equal(rc, OK); /* Only one of two streams is used. */
    meter_send(&s);
    news = meter_watch(&s, &m);
    assert_true(news > 0);
    assert_false(net_meter_busy(&m));
    assert_true(net_meter_read(&m, conf_now_ns(s.world), &r));
    if (s.world->carrier->simulated) {
        assert_in_range(r.bytes_per_s, METER_RATE * 9 / 10, METER_RATE * 11 / 10);
    } else {
        assert_in_range(r.bytes_per_s, METER_RATE / 100, METER_RATE * 3 / 2);
    }
    conf_until(s.world, conf_node_idle, s.a, CONF_LIMIT_NS);
}

const struct CMUnitTest conf_meter_tests[] = {
    CONF_TEST(test_traffic_shows_the_rate_of_its_link),
};
const size_t conf_meter_count = sizeof(conf_meter_tests) / sizeof(conf_meter_tests[0]);
