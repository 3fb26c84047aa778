/* delta: an identity that survives relays. */

#include "wire/delta.h"

#include "wire/testing_chunk.h"

static enum err decode_delta(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_delta out;

    return wire_delta_decode(header, body, size, &out);
}

static void round_trip(const struct wire_delta *delta)
{
    struct wire_header header;
    struct wire_delta out;
    const uint8_t *body;
    struct buf *frame;
    struct buf *filled;

    assert_int_equal(wire_delta_encode(testing_pool, delta, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_delta_decode(&header, body, header.body_bytes, &out), OK);
    assert_chunk_equal(&out.chunk, &delta->chunk);
    assert_int_equal(out.shard, delta->shard);
    assert_int_equal(out.number, delta->number);
    assert_int_equal(wire_chunk_take(testing_pool, out.chunk.payload_bytes, &filled), OK);
    memcpy(buf_bytes(filled), out.chunk.payload, out.chunk.payload_bytes);
    wire_delta_seal(filled, &out);
    assert_int_equal(buf_size(filled), buf_size(frame));
    assert_memory_equal(buf_bytes(filled), buf_bytes(frame), buf_size(frame));
    buf_unref(filled);
    buf_unref(frame);
}

static void test_round_trip(void **state)
{
    struct wire_delta delta = {.chunk = testing_chunk_small(1), .shard = 0, .number = 1};
    struct buf *frame;

    (void)state;
    round_trip(&delta);
    delta = (struct wire_delta){
        .chunk = testing_chunk_extreme(UINT32_MAX), .shard = UINT32_MAX, .number = UINT64_MAX};
    round_trip(&delta);
    delta.number = 0;
    assert_int_equal(wire_delta_encode(testing_pool, &delta, &frame), ERR_INVALID);
    delta.number = 1;
    delta.chunk.weight = 0;
    assert_int_equal(wire_delta_encode(testing_pool, &delta, &frame), ERR_INVALID);
}

static void test_golden_and_lies(void **state)
{
    struct wire_delta delta = {
        .chunk = testing_chunk_small(100), .shard = 0x51525354, .number = 0x6162636465666768};
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_delta_encode(testing_pool, &delta, &frame), OK);
    testing_payload_sizes(decode_delta, frame, WIRE_CHUNK_TAIL_BYTES);
    testing_weight(decode_delta, frame, true);
    testing_refused(decode_delta, frame, 12, 8, 0, ERR_MALFORMED);
    testing_refused(decode_delta, frame, 24, 4, 1, ERR_MALFORMED);
    testing_message(frame, "delta", "delta of three floats (1, -2, 0.5), 100 samples",
                    decode_delta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_golden_and_lies),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
