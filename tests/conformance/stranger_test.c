/* Strangers: what somebody costs who connects and does not say who he is. */

#include "suites.h"

#include "link.h"
#include "node.h"

/* An endpoint at b that listens, and raw streams from a. */
static struct conf_node *stranger_open(struct conf_world *w)
{
    struct conf_node *node = conf_node_new(&w->b);

    conf_node_start(node);
    conf_node_listen(node);
    return node;
}

static struct conf_raw *stranger_dial(struct conf_node *node)
{
    struct conf_raw *raw = conf_raw_new(&node->side->world->a);

    conf_raw_dial(raw, &node->at);
    return raw;
}

static uint64_t stranger_refused(const struct conf_node *node)
{
    return obs_counter_value(node->side->counters.strangers_refused);
}

static void test_a_stranger_that_says_nothing_is_closed_after_two_seconds(void **state)
{
    struct conf_node *node = stranger_open(*state);
    struct conf_world *w = *state;
    struct conf_raw *raw = stranger_dial(node);
    int64_t started_ns;

    conf_until(w, conf_raw_opened, raw, CONF_LIMIT_NS);
    started_ns = conf_now_ns(w);
    conf_pass(w, 1500 * CONF_MS);
    assert_false(raw->failed);
    conf_until(w, conf_raw_failed, raw, CONF_LIMIT_NS);
    assert_true(conf_now_ns(w) - started_ns < 3 * CONF_S);
    assert_int_equal(stranger_refused(node), 1);
    assert_int_equal(raw->got, 0);
}

static void test_a_stranger_that_trickles_a_hello_is_closed_too(void **state)
{
    struct conf_node *node = stranger_open(*state);
    struct conf_world *w = *state;
    struct conf_raw *raw = stranger_dial(node);
    uint8_t frame[128], body[64] = {0};
    size_t size = conf_encode(WIRE_HELLO, body, sizeof(body), frame);

    conf_until(w, conf_raw_opened, raw, CONF_LIMIT_NS);
    for (size_t i = 0; i < size && !raw->failed; i++) {
        conf_raw_write(raw, frame + i, 1);
        conf_pass(w, 100 * CONF_MS);
    }
    assert_true(raw->failed);
    assert_int_equal(stranger_refused(node), 1);
}

/* Send bytes as a stranger and be thrown out for that reason. */
static void stranger_says(struct conf_world *w, struct conf_node *node, const void *bytes,
                          size_t size, enum wire_reason reason)
{
    struct conf_raw *raw = stranger_dial(node);
    uint64_t before = obs_counter_value(node->side->counters.refused[reason]);

    conf_until(w, conf_raw_opened, raw, CONF_LIMIT_NS);
    conf_raw_write(raw, bytes, size);
    conf_until(w, conf_raw_failed, raw, CONF_S);
    assert_int_equal(obs_counter_value(node->side->counters.refused[reason]), before + 1);
}

static void test_a_stranger_that_talks_nonsense_is_closed_at_once(void **state)
{
    struct conf_world *w = *state;
    struct conf_node *node = stranger_open(w);
    static uint8_t frame[70000], body[66000];
    const char http[] =
        "GET / HTTP/1.1\r\nHost: strait\r\nAccept: everything and a little more\r\n";
    size_t size;

    stranger_says(w, node, http, sizeof(http) - 1, WIRE_REASON_MAGIC);
    size = conf_encode(WIRE_CONTROL, body, 100, frame);
    stranger_says(w, node, frame, size, WIRE_REASON_TYPE);
    size = conf_encode(WIRE_HEARTBEAT, body, 32, frame);
    stranger_says(w, node, frame, size, WIRE_REASON_TYPE);
    size = conf_encode(WIRE_HELLO, body, 100, frame);
    stranger_says(w, node, frame, size, WIRE_REASON_BODY);
    size = conf_encode(WIRE_HELLO, body, 100, frame);
    frame[20] ^= 1;
    stranger_says(w, node, frame, size, WIRE_REASON_HEADER_CHECK);
    conf_encode(WIRE_HELLO, body, 5000, frame);
    stranger_says(w, node, frame, 64, WIRE_REASON_LENGTH);
}

static void test_a_stranger_may_not_say_much(void **state)
{
    struct conf_world *w = *state;
    struct conf_node *node = stranger_open(w);
    struct buf_pool_stats stats;
    static uint8_t frame[70000], body[66000];

    /* A frame that a member might send, but larger than all that a stranger may. */
    conf_encode(WIRE_ROWS_PUSH, body, LIMIT_STRANGER_BYTES + 1, frame);
    stranger_says(w, node, frame, WIRE_HEADER_BYTES, WIRE_REASON_LENGTH);
    buf_pool_stats(w->b.pool, &stats);
    assert_true(stats.bytes_used_max <= 2 * LIMIT_STRANGER_BYTES);
}

static void test_a_burst_from_one_source_is_limited(void **state)
{
    struct conf_world *w = *state;
    struct conf_node *node = stranger_open(w);
    struct conf_raw *raws[100];
    uint32_t alive = 0;

    for (int i = 0; i < 100; i++) {
        raws[i] = stranger_dial(node);
    }
    conf_pass(w, w->carrier->simulated ? 200 * CONF_MS : CONF_S);
    for (int i = 0; i < 100; i++) {
        alive += raws[i]->opened && !raws[i]->failed;
    }
    /* The burst, and what the rate allowed while they came. */
    assert_true(alive >= LIMIT_SOURCE_BURST);
    assert_true(alive <= LIMIT_SOURCE_BURST + LIMIT_SOURCE_RATE_PER_S + 1);
    assert_int_equal(stranger_refused(node), 100 - alive);
    for (int i = 0; i < 100; i++) {
        conf_raw_end(raws[i], true);
    }
    conf_pass(w, CONF_S);
    raws[0] = stranger_dial(node);
    conf_until(w, conf_raw_opened, raws[0], CONF_LIMIT_NS);
    conf_pass(w, 300 * CONF_MS);
    assert_false(raws[0]->failed);
}

static void test_members_are_not_held_back_by_the_limit_for_strangers(void **state)
{
    struct conf_world *w = *state;
    struct conf_node *node = stranger_open(w);
    struct conf_node *member = conf_node_new(&w->a);

    /* Each hello gives its attempt back, so that more than a burst may join from one address. */
    for (uint64_t i = 0; i < 3 * LIMIT_SOURCE_BURST; i++) {
        member->incarnation = 100 + i;
        conf_node_start(member);
        conf_node_dial(member, &node->at, 1);
        conf_until(w, conf_node_up, member, 5 * CONF_S);
        conf_node_stop(member);
        member->ups = 0;
    }
    assert_int_equal(stranger_refused(node), 0);
}

const struct CMUnitTest conf_stranger_tests[] = {
    CONF_TEST(test_a_stranger_that_says_nothing_is_closed_after_two_seconds),
    CONF_TEST(test_a_stranger_that_trickles_a_hello_is_closed_too),
    CONF_TEST(test_a_stranger_that_talks_nonsense_is_closed_at_once),
    CONF_TEST(test_a_stranger_may_not_say_much),
    CONF_TEST(test_a_burst_from_one_source_is_limited),
    CONF_TEST(test_members_are_not_held_back_by_the_limit_for_strangers),
};
const size_t conf_stranger_count = sizeof(conf_stranger_tests) / sizeof(conf_stranger_tests[0]);
