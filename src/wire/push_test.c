/* push: sizes of payloads, the identity in the tail, and frames made in place. */

#include "wire/push.h"

#include "wire/testing_chunk.h"

static enum err decode_push(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_push out;

    return wire_push_decode(header, body, size, &out);
}

static struct wire_push push_sample(void)
{
    return (struct wire_push){
        .chunk = testing_chunk_small(32),
        .id = {.incarnation = 0x5152535455565758, .number = 0x6162636465666768},
    };
}

static void round_trip(const struct wire_push *push)
{
    struct wire_header header;
    struct wire_push out;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_push_encode(testing_pool, push, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_push_decode(&header, body, header.body_bytes, &out), OK);
    assert_chunk_equal(&out.chunk, &push->chunk);
    assert_ptr_equal(out.chunk.payload, body);
    assert_int_equal(out.id.incarnation, push->id.incarnation);
    assert_int_equal(out.id.number, push->id.number);
    buf_unref(frame);
}

static void test_round_trip(void **state)
{
    struct wire_push push = push_sample();

    (void)state;
    round_trip(&push);
    push.chunk = testing_chunk_extreme(UINT32_MAX);
    push.id = (struct wire_update_id){UINT64_MAX, UINT64_MAX};
    round_trip(&push);
    push.chunk.payload_bytes = 1;
    push.id = (struct wire_update_id){1, 1};
    round_trip(&push);
}

static void test_golden_and_lies(void **state)
{
    struct wire_push push = push_sample();
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_push_encode(testing_pool, &push, &frame), OK);
    testing_payload_sizes(decode_push, frame, WIRE_CHUNK_TAIL_BYTES);
    testing_weight(decode_push, frame, true);
    testing_refused(decode_push, frame, 12, 8, 0, ERR_MALFORMED);
    testing_refused(decode_push, frame, 20, 8, 0, ERR_MALFORMED);
    testing_message(frame, "push", "push of three floats (1, -2, 0.5), 32 samples", decode_push);
}

static void test_invalid_pushes_are_not_encoded(void **state)
{
    struct wire_push bad[7];
    struct buf *frame;

    (void)state;
    for (uint32_t i = 0; i < 7; i++) {
        bad[i] = push_sample();
        bad[i].chunk.payload = testing_payload;
    }
    bad[0].chunk.payload_bytes = 0;
    bad[1].chunk.payload_bytes = 6;
    bad[2].chunk.payload_bytes = LIMIT_CHUNK_BYTES + 4;
    bad[3].chunk.codec = 1;
    bad[3].chunk.payload_bytes = LIMIT_CHUNK_BYTES + 1;
    bad[4].chunk.weight = 0;
    bad[5].id.incarnation = 0;
    bad[6].id.number = 0;
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(wire_push_encode(testing_pool, &bad[i], &frame), ERR_INVALID);
    }
    assert_int_equal(wire_chunk_take(testing_pool, 0, &frame), ERR_INVALID);
    assert_int_equal(wire_chunk_take(testing_pool, LIMIT_CHUNK_BYTES + 1, &frame), ERR_INVALID);
}

static void test_a_codec_has_a_known_kind_and_a_known_squeezer(void **state)
{
    struct buf *frame;

    (void)state;
    for (uint32_t codec = 0; codec <= UINT16_MAX; codec++) {
        assert_int_equal(wire_codec_valid((uint16_t)codec), codec % 256 < 11 && codec / 256 < 4);
    }
    for (uint32_t i = 0; i < 16; i++) {
        struct wire_push push = push_sample();

        push.chunk.codec = (uint16_t)(1u << i);
        assert_int_equal(wire_push_encode(testing_pool, &push, &frame),
                         wire_codec_valid(push.chunk.codec) ? OK : ERR_INVALID);
        if (wire_codec_valid(push.chunk.codec)) {
            buf_unref(frame);
        }
    }
}

static void test_in_place_is_the_same_frame(void **state)
{
    struct wire_push push = push_sample();
    struct buf *copied;
    struct buf *filled;

    (void)state;
    assert_int_equal(wire_push_encode(testing_pool, &push, &copied), OK);
    assert_int_equal(wire_chunk_take(testing_pool, push.chunk.payload_bytes, &filled), OK);
    assert_int_equal(buf_size(filled), push.chunk.payload_bytes);
    assert_int_equal((uintptr_t)buf_bytes(filled) % BUF_ALIGN, 0);
    memcpy(buf_bytes(filled), push.chunk.payload, push.chunk.payload_bytes);
    wire_push_seal(filled, &push);
    assert_int_equal(buf_size(filled), buf_size(copied));
    assert_memory_equal(buf_bytes(filled), buf_bytes(copied), buf_size(copied));
    buf_unref(copied);
    buf_unref(filled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_golden_and_lies),
        cmocka_unit_test(test_invalid_pushes_are_not_encoded),
        cmocka_unit_test(test_a_codec_has_a_known_kind_and_a_known_squeezer),
        cmocka_unit_test(test_in_place_is_the_same_frame),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
