/* feed, due and want: every kind and field, every count. */

#include "wire/feed.h"

#include "wire/testing.h"

static enum err decode_feed(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_feed out;

    return wire_feed_decode(header, body, size, &out);
}

static enum err decode_due(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_due out;

    return wire_due_decode(header, body, size, &out);
}

static enum err decode_want(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_want out;

    return wire_want_decode(header, body, size, &out);
}

static struct wire_feed feed_sample(enum wire_feed_kind kind)
{
    struct wire_feed feed = {.kind = kind, .lane = 7, .epoch = 0x01020304, .rank = 41};

    if (kind == WIRE_FEED_PARENT) {
        feed.address = "tcp://10.0.0.1:7000";
        feed.address_bytes = (uint32_t)strlen(feed.address);
    }
    if (kind == WIRE_FEED_OFF) {
        feed.why = WIRE_FEED_SLOW;
    }
    return feed;
}

static void test_feed_round_trip(void **state)
{
    (void)state;
    for (int kind = WIRE_FEED_PARENT; kind <= WIRE_FEED_OFF; kind++) {
        struct wire_feed feed = feed_sample((enum wire_feed_kind)kind);
        struct wire_header header;
        struct wire_feed out;
        const uint8_t *body;
        struct buf *frame;

        assert_int_equal(wire_feed_encode(testing_pool, &feed, &frame), OK);
        body = testing_open(frame, &header);
        assert_int_equal(wire_feed_decode(&header, body, header.body_bytes, &out), OK);
        assert_int_equal(out.kind, kind);
        assert_int_equal(out.why, feed.why);
        assert_int_equal(out.lane, feed.lane);
        assert_int_equal(out.epoch, feed.epoch);
        assert_int_equal(out.rank, feed.rank);
        assert_int_equal(out.address_bytes, feed.address_bytes);
        if (feed.address_bytes > 0) {
            assert_memory_equal(out.address, feed.address, feed.address_bytes);
        }
        buf_unref(frame);
    }
}

static void test_feed_golden_and_lies(void **state)
{
    struct wire_feed feed = feed_sample(WIRE_FEED_PARENT);
    struct wire_feed off = feed_sample(WIRE_FEED_OFF);
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_feed_encode(testing_pool, &feed, &frame), OK);
    body = testing_open(frame, &header);
    for (uint32_t kind = 0; kind < 300; kind++) {
        header.table = (uint16_t)kind;
        assert_int_equal(decode_feed(&header, body, header.body_bytes),
                         kind == WIRE_FEED_PARENT ? OK : ERR_MALFORMED);
    }
    testing_unused_fields(decode_feed, frame, TESTING_CODEC | TESTING_WEIGHT);
    testing_refused(decode_feed, frame, 0, 1, '\n', ERR_MALFORMED);
    /* Any part of an address is a text: it is the reader's who knows addresses. */
    testing_golden_check("feed_parent", "parent 41 of lane 7 at tcp://10.0.0.1:7000", frame);
    testing_lies(decode_feed, &header, body);
    buf_unref(frame);
    assert_int_equal(wire_feed_encode(testing_pool, &off, &frame), OK);
    body = testing_open(frame, &header);
    header.weight = 0;
    assert_int_equal(decode_feed(&header, body, 0), ERR_MALFORMED);
    header.weight = 3;
    assert_int_equal(decode_feed(&header, body, 0), ERR_MALFORMED);
    header.weight = WIRE_FEED_AWAY;
    assert_int_equal(decode_feed(&header, body, 0), OK);
    header.clock = 1;
    assert_int_equal(decode_feed(&header, body, 0), ERR_MALFORMED);
    testing_golden_check("feed_off", "lane 7, epoch 0x01020304, rank 41: slow", frame);
    buf_unref(frame);
    off.kind = WIRE_FEED_ON;
    assert_int_equal(wire_feed_encode(testing_pool, &off, &frame), ERR_INVALID);
    feed.address_bytes = WIRE_FEED_ADDRESS_BYTES_MAX + 1;
    assert_int_equal(wire_feed_encode(testing_pool, &feed, &frame), ERR_INVALID);
}

static const struct wire_due_item due_items[] = {{0, 1}, {7, 0x0102030405060708}, {UINT32_MAX, 9}};

static void test_due_round_trip_golden_and_lies(void **state)
{
    static struct wire_due_item many[WIRE_DUE_CHUNKS_MAX + 1];
    struct wire_due due = {.table = 3, .clock = 0x41, .count = 3, .items = due_items};
    struct wire_header header;
    struct wire_due out;
    const uint8_t *body;
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_due_encode(testing_pool, &due, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_due_decode(&header, body, header.body_bytes, &out), OK);
    assert_int_equal(out.table, 3);
    assert_int_equal(out.clock, 0x41);
    assert_int_equal(out.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(wire_due_item(&out, i).chunk, due_items[i].chunk);
        assert_int_equal(wire_due_item(&out, i).version, due_items[i].version);
    }
    testing_exact_count(decode_due, frame, 0, 4);
    testing_refused(decode_due, frame, 4, 4, 1, ERR_MALFORMED);
    testing_refused(decode_due, frame, 20, 4, 0, ERR_MALFORMED);
    testing_unused_fields(decode_due, frame,
                          TESTING_CODEC | TESTING_CHUNK | TESTING_EPOCH | TESTING_ORIGIN |
                              TESTING_WEIGHT);
    testing_message(frame, "due", "chunks 0, 7 and the last, in rounds up to 0x41", decode_due);
    for (uint32_t i = 0; i <= WIRE_DUE_CHUNKS_MAX; i++) {
        many[i].chunk = i;
    }
    due = (struct wire_due){.count = WIRE_DUE_CHUNKS_MAX, .items = many};
    assert_int_equal(wire_due_encode(testing_pool, &due, &frame), OK);
    buf_unref(frame);
    due.count++;
    assert_int_equal(wire_due_encode(testing_pool, &due, &frame), ERR_INVALID);
    due.count = 0;
    assert_int_equal(wire_due_encode(testing_pool, &due, &frame), ERR_INVALID);
    many[1].chunk = 0;
    due.count = 2;
    assert_int_equal(wire_due_encode(testing_pool, &due, &frame), ERR_INVALID);
}

static void test_want_round_trip_golden_and_lies(void **state)
{
    static const uint32_t chunks[] = {2, 5, UINT32_MAX};
    struct wire_want want = {.table = 9, .count = 3, .chunks = chunks};
    struct wire_header header;
    struct wire_want out;
    const uint8_t *body;
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_want_encode(testing_pool, &want, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_want_decode(&header, body, header.body_bytes, &out), OK);
    assert_int_equal(out.table, 9);
    assert_int_equal(out.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(wire_want_chunk(&out, i), chunks[i]);
    }
    testing_exact_count(decode_want, frame, 0, 4);
    testing_refused(decode_want, frame, 12, 4, 2, ERR_MALFORMED);
    testing_unused_fields(decode_want, frame,
                          TESTING_CODEC | TESTING_CHUNK | TESTING_EPOCH | TESTING_ORIGIN |
                              TESTING_WEIGHT);
    testing_message(frame, "want", "chunks 2, 5 and the last of table 9", decode_want);
    want.count = 0;
    assert_int_equal(wire_want_encode(testing_pool, &want, &frame), ERR_INVALID);
}

static void test_a_pool_without_room_says_so(void **state)
{
    static const uint32_t chunk = 1;
    struct wire_feed feed = feed_sample(WIRE_FEED_PARENT);
    struct wire_due due = {.count = 3, .items = due_items};
    struct wire_want want = {.count = 1, .chunks = &chunk};
    struct buf_pool *pool;
    struct buf *frame;

    (void)state;
    assert_int_equal(buf_pool_create(0, &pool), OK);
    assert_int_not_equal(wire_feed_encode(pool, &feed, &frame), OK);
    assert_int_not_equal(wire_due_encode(pool, &due, &frame), OK);
    assert_int_not_equal(wire_want_encode(pool, &want, &frame), OK);
    buf_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feed_round_trip),
        cmocka_unit_test(test_feed_golden_and_lies),
        cmocka_unit_test(test_due_round_trip_golden_and_lies),
        cmocka_unit_test(test_want_round_trip_golden_and_lies),
        cmocka_unit_test(test_a_pool_without_room_says_so),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
