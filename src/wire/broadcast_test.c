/* broadcast: a received push becomes the broadcast of the same buffer. */

#include "wire/broadcast.h"

#include "wire/push.h"
#include "wire/testing_chunk.h"

static enum err decode_broadcast(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_chunk out;

    return wire_broadcast_decode(header, body, size, &out);
}

static void round_trip(const struct wire_chunk *chunk)
{
    struct wire_header header;
    struct wire_chunk out;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_broadcast_encode(testing_pool, chunk, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_broadcast_decode(&header, body, header.body_bytes, &out), OK);
    assert_chunk_equal(&out, chunk);
    buf_unref(frame);
}

static void test_round_trip(void **state)
{
    struct wire_chunk small = testing_chunk_small(1);
    struct wire_chunk extreme = testing_chunk_extreme(UINT32_MAX);
    struct buf *frame;

    (void)state;
    round_trip(&small);
    round_trip(&extreme);
    small.weight = 0;
    assert_int_equal(wire_broadcast_encode(testing_pool, &small, &frame), ERR_INVALID);
}

static void test_golden_and_lies(void **state)
{
    struct wire_chunk chunk = testing_chunk_small(8);
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_broadcast_encode(testing_pool, &chunk, &frame), OK);
    testing_payload_sizes(decode_broadcast, frame, 0);
    testing_weight(decode_broadcast, frame, true);
    testing_message(frame, "broadcast", "broadcast of eight contributions: 1, -2, 0.5",
                    decode_broadcast);
}

static void test_an_accumulator_becomes_a_broadcast_without_a_copy(void **state)
{
    struct wire_push push = {.chunk = testing_chunk_small(3), .id = {1, 1}};
    struct wire_header header;
    struct wire_chunk out;
    struct buf *frame;
    uint8_t *payload;

    (void)state;
    assert_int_equal(wire_push_encode(testing_pool, &push, &frame), OK);
    buf_trim_front(frame, WIRE_HEADER_BYTES);
    buf_truncate(frame, push.chunk.payload_bytes);
    payload = buf_bytes(frame);
    wire_broadcast_seal(frame, &push.chunk);
    assert_ptr_equal(testing_open(frame, &header), payload);
    assert_int_equal(wire_broadcast_decode(&header, payload, header.body_bytes, &out), OK);
    assert_chunk_equal(&out, &push.chunk);
    buf_unref(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_golden_and_lies),
        cmocka_unit_test(test_an_accumulator_becomes_a_broadcast_without_a_copy),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
