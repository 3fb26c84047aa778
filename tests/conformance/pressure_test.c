/* Full queues: back-pressure instead of memory, and control before data. */

#include "suites.h"

#include "link.h"

static void pressure_pause(struct conf_link *link, bool paused)
{
    CONF_CALL(link->side->world, net_conn_pause(link->conn, paused));
}

/* Send until the queue is full and nothing moves any more; returns the number of frames. */
static uint32_t pressure_fill(struct conf_link *link, size_t size, uint32_t first)
{
    uint32_t sent = first;
    uint32_t before;

    do {
        before = sent;
        while (conf_send(link, NET_DATA, size, sent) == OK) {
            sent++;
            assert_true(net_conn_queued_bytes(link->conn) <=
                        LIMIT_SEND_QUEUE_BYTES + LIMIT_CONTROL_QUEUE_BYTES + BUF_BYTES_MAX);
        }
        conf_settle(link->side->world);
    } while (sent != before);
    return sent;
}

struct pressure_order {
    uint32_t control_at; /* Frames before the first control frame. */
    uint32_t control;
    uint32_t data;
};

static enum err pressure_note(struct conf_link *link, const struct net_frame *frame)
{
    struct pressure_order *order = link->user;

    if (frame->header.type == WIRE_CONTROL) {
        if (order->control++ == 0) {
            order->control_at = order->data;
        }
    } else {
        assert_int_equal(frame->header.clock, order->data);
        order->data++;
    }
    return OK;
}

static void test_control_overtakes_data_that_was_not_begun(void **state)
{
    struct pressure_order order = {0};
    struct conf_pair pair;
    uint32_t sent;

    conf_pair_open(&pair, *state);
    pair.b->user = &order;
    pair.b->on_frame = pressure_note;
    conf_pair_wait(&pair);
    pressure_pause(pair.b, true);
    sent = pressure_fill(pair.a, 256 * 1024, 0);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(conf_send(pair.a, NET_CONTROL, 100, i), OK);
    }
    pressure_pause(pair.b, false);
    while (order.data < sent || order.control < 5) {
        assert_true(conf_step(pair.world, conf_now_ns(pair.world) + CONF_LIMIT_NS));
    }
    /* At least the whole queue came after: 9 MiB of 256 KiB frames, less the one begun. */
    assert_true(order.control_at + LIMIT_SEND_QUEUE_BYTES / (256 * 1024 + 64) - 2 <= sent);
    conf_pair_close(&pair);
}

static void test_a_full_queue_of_bytes_says_again_and_writable_follows(void **state)
{
    struct conf_pair pair;
    uint32_t sent, blocked;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    pressure_pause(pair.b, true);
    sent = pressure_fill(pair.a, 1024 * 1024, 0);
    blocked = pair.a->writable[NET_DATA];
    assert_int_equal(conf_send(pair.a, NET_DATA, 1024 * 1024, sent), ERR_AGAIN);
    assert_true(net_conn_queued_bytes(pair.a->conn) > LIMIT_SEND_QUEUE_BYTES / 2);
    assert_true(obs_counter_value(pair.world->a.counters.queue_full) > 0);
    /* A full data queue does not hold control back, and the other way round. */
    assert_int_equal(conf_send(pair.a, NET_CONTROL, 1000, 0), OK);
    pressure_pause(pair.b, false);
    while (pair.b->frames < sent + 1) {
        assert_true(conf_step(pair.world, conf_now_ns(pair.world) + CONF_LIMIT_NS));
    }
    assert_true(pair.a->writable[NET_DATA] > blocked);
    assert_int_equal(net_conn_queued_bytes(pair.a->conn), 0);
    assert_int_equal(conf_send(pair.a, NET_DATA, 1024 * 1024, 0), OK);
    conf_pair_close(&pair);
}

static void test_a_full_queue_of_frames_says_again(void **state)
{
    struct conf_pair pair;
    uint32_t sent;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    pressure_pause(pair.b, true);
    sent = pressure_fill(pair.a, 4000, 0); /* Too large to be put together. */
    assert_true(sent >= LIMIT_SEND_QUEUE_FRAMES);
    assert_true(net_conn_queued_bytes(pair.a->conn) <=
                (LIMIT_SEND_QUEUE_FRAMES + 1) * (4000 + WIRE_HEADER_BYTES));
    pressure_pause(pair.b, false);
    while (pair.b->frames < sent) {
        assert_true(conf_step(pair.world, conf_now_ns(pair.world) + CONF_LIMIT_NS));
    }
    assert_true(pair.a->writable[NET_DATA] > 0);
    conf_pair_close(&pair);
}

static void test_a_full_control_queue_says_again(void **state)
{
    struct conf_pair pair;
    uint32_t sent = 0, before;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    pressure_pause(pair.b, true);
    do {
        before = sent;
        while (conf_send(pair.a, NET_CONTROL, LIMIT_CONTROL_BODY_BYTES, sent) == OK) {
            sent++;
        }
        conf_settle(pair.world);
    } while (sent != before);
    assert_true(net_conn_queued_bytes(pair.a->conn) <= LIMIT_CONTROL_QUEUE_BYTES + 65 * 1024);
    assert_int_equal(conf_send(pair.a, NET_DATA, 1000, 0), OK);
    pressure_pause(pair.b, false);
    while (pair.b->frames < sent + 1) {
        assert_true(conf_step(pair.world, conf_now_ns(pair.world) + CONF_LIMIT_NS));
    }
    assert_true(pair.a->writable[NET_CONTROL] > 0);
    conf_pair_close(&pair);
}

static void test_a_paused_receiver_takes_little_memory(void **state)
{
    struct buf_pool_stats stats;
    struct conf_pair pair;
    uint32_t sent;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    pressure_pause(pair.b, true);
    sent = pressure_fill(pair.a, 1024 * 1024, 0);
    assert_int_equal(pair.b->frames, 0);
    buf_pool_stats(pair.world->b.pool, &stats);
    assert_true(stats.bytes_used <= 128 * 1024);
    buf_pool_stats(pair.world->a.pool, &stats);
    assert_true(stats.bytes_used_max <= LIMIT_SEND_QUEUE_BYTES + 2 * BUF_BYTES_MAX);
    pressure_pause(pair.b, false);
    while (pair.b->frames < sent) {
        assert_true(conf_step(pair.world, conf_now_ns(pair.world) + CONF_LIMIT_NS));
    }
    buf_pool_stats(pair.world->b.pool, &stats);
    assert_true(stats.bytes_used_max <= 2 * BUF_BYTES_MAX + 128 * 1024);
    conf_pair_close(&pair);
}

static enum err pressure_pause_each(struct conf_link *link, const struct net_frame *frame)
{
    (void)frame;
    net_conn_pause(link->conn, true);
    return OK;
}

static void test_pausing_in_frame_holds_back_what_is_there_already(void **state)
{
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    pair.b->on_frame = pressure_pause_each;
    conf_pair_wait(&pair);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(conf_send(pair.a, NET_DATA, i % 3 == 2 ? 50000 : 100, i), OK);
    }
    for (uint32_t i = 1; i <= 20; i++) {
        while (pair.b->frames < i) {
            assert_true(conf_step(pair.world, conf_now_ns(pair.world) + CONF_LIMIT_NS));
        }
        conf_settle(pair.world);
        assert_int_equal(pair.b->frames, i);
        pressure_pause(pair.b, false);
    }
    conf_settle(pair.world);
    conf_pair_close(&pair);
}

static void test_an_empty_pool_holds_the_sender_back(void **state)
{
    struct buf *all[CONF_POOL_BYTES / BUF_BYTES_MAX * 2];
    struct conf_pair pair;
    uint32_t count = 0, sent;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    while (buf_take(pair.world->b.pool, 0, BUF_BYTES_MAX, &all[count]) == OK) {
        count++;
    }
    sent = pressure_fill(pair.a, 4 * 1024 * 1024, 0);
    assert_int_equal(pair.b->frames, 0);
    while (count > 0) {
        buf_unref(all[--count]);
    }
    while (pair.b->frames < sent) {
        assert_true(conf_step(pair.world, conf_now_ns(pair.world) + CONF_LIMIT_NS));
    }
    conf_pair_close(&pair);
}

static struct buf *pressure_kept[8];

static enum err pressure_keep(struct conf_link *link, const struct net_frame *frame)
{
    struct buf **body = &pressure_kept[link->frames - 1];

    assert_int_equal(net_frame_keep(frame, link->side->pool, body), OK);
    assert_int_equal(buf_size(*body), frame->header.body_bytes);
    assert_memory_equal(buf_bytes(*body), frame->body, frame->header.body_bytes);
    assert_int_equal((uintptr_t)buf_bytes(*body) % BUF_ALIGN, 0);
    return OK;
}

static void test_a_kept_frame_outlives_the_call(void **state)
{
    static const uint32_t sizes[] = {0, 1, 2000, 32768, 40000, 65536, 300000, 64};
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    pair.b->on_frame = pressure_keep;
    conf_pair_wait(&pair);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(conf_send(pair.a, NET_DATA, sizes[i], i), OK);
    }
    while (pair.b->frames < 8) {
        assert_true(conf_step(pair.world, conf_now_ns(pair.world) + CONF_LIMIT_NS));
    }
    conf_pair_close(&pair);
    for (uint32_t i = 0; i < 8; i++) {
        struct buf *body = conf_body(&pair.world->a, sizes[i], i);

        assert_memory_equal(buf_bytes(body), buf_bytes(pressure_kept[i]), sizes[i]);
        buf_unref(body);
        buf_unref(pressure_kept[i]);
    }
}

const struct CMUnitTest conf_pressure_tests[] = {
    CONF_TEST(test_control_overtakes_data_that_was_not_begun),
    CONF_TEST(test_a_full_queue_of_bytes_says_again_and_writable_follows),
    CONF_TEST(test_a_full_queue_of_frames_says_again),
    CONF_TEST(test_a_full_control_queue_says_again),
    CONF_TEST(test_a_paused_receiver_takes_little_memory),
    CONF_TEST(test_pausing_in_frame_holds_back_what_is_there_already),
    CONF_TEST(test_an_empty_pool_holds_the_sender_back),
    CONF_TEST(test_a_kept_frame_outlives_the_call),
};
const size_t conf_pressure_count = sizeof(conf_pressure_tests) / sizeof(conf_pressure_tests[0]);
