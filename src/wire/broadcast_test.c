/* broadcast: a received push becomes the broadcast of the same buffer. */

#include "wire/broadcast.h"

#include "wire/push.h"
#include "wire/testing_chunk.h"

static const struct wire_member broadcast_members[] = {{3, 0}, {0x01020304, 2}, {UINT32_MAX, 0}};

static enum err decode_broadcast(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_broadcast out;

    return wire_broadcast_decode(header, body, size, &out);
}

static void round_trip(const struct wire_broadcast *broadcast)
{
    struct wire_broadcast out;
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_broadcast_encode(testing_pool, broadcast, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_broadcast_decode(&header, body, header.body_bytes, &out), OK);
    assert_chunk_equal(&out.chunk, &broadcast->chunk);
    assert_ptr_equal(out.chunk.payload, body);
    assert_members_equal(out.members, out.member_count, broadcast->members,
                         broadcast->member_count);
    buf_unref(frame);
}

static void test_round_trip(void **state)
{
    struct wire_broadcast broadcast = {testing_chunk_small(1), 3, broadcast_members};
    struct buf *frame;

    (void)state;
    round_trip(&broadcast);
    broadcast = (struct wire_broadcast){.chunk = testing_chunk_extreme(UINT32_MAX)};
    round_trip(&broadcast);
    broadcast.chunk.weight = 0;
    assert_int_equal(wire_broadcast_encode(testing_pool, &broadcast, &frame), ERR_INVALID);
}

static void test_golden_and_lies(void **state)
{
    struct wire_broadcast broadcast = {testing_chunk_small(8), 3, broadcast_members};
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_broadcast_encode(testing_pool, &broadcast, &frame), OK);
    testing_weight(decode_broadcast, frame, true);
    testing_message(frame, "broadcast",
                    "broadcast of eight contributions: 1, -2, 0.5; three members are named",
                    decode_broadcast);
    broadcast.member_count = 0;
    assert_int_equal(wire_broadcast_encode(testing_pool, &broadcast, &frame), OK);
    testing_payload_sizes(decode_broadcast, frame, wire_members_bytes(0));
    buf_unref(frame);
}

/* What a receiver does with a push that is the first of its round. */
static void become_broadcast(struct buf *frame, const struct wire_broadcast *broadcast)
{
    struct wire_broadcast out;
    struct wire_header header;
    uint8_t *payload;

    buf_truncate(frame, broadcast->chunk.payload_bytes);
    payload = buf_bytes(frame);
    wire_broadcast_seal(frame, broadcast);
    assert_ptr_equal(testing_open(frame, &header), payload);
    assert_int_equal(wire_broadcast_decode(&header, payload, header.body_bytes, &out), OK);
    assert_chunk_equal(&out.chunk, &broadcast->chunk);
    assert_members_equal(out.members, out.member_count, broadcast->members,
                         broadcast->member_count);
}

static void test_an_accumulator_becomes_a_broadcast_without_a_copy(void **state)
{
    struct wire_push push = {.chunk = testing_chunk_small(3), .id = {1, 1}};
    struct wire_broadcast broadcast = {push.chunk, 3, broadcast_members};
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_push_encode(testing_pool, &push, &frame), OK);
    buf_trim_front(frame, WIRE_HEADER_BYTES);
    become_broadcast(frame, &broadcast);
    buf_unref(frame);
}

/* The longest tail behind the longest chunk, in the buffers where that happens: one of our own, and
 * one that was taken for the body of a push with the room that wire_body_room() asks for. Neither
 * may need the next larger class of buffers. */
static void test_the_longest_list_of_members_fits_behind_a_full_chunk(void **state)
{
    struct wire_chunk chunk = testing_chunk_extreme(1);
    struct wire_member members[WIRE_MEMBERS_MAX];
    struct wire_broadcast broadcast = {chunk, WIRE_MEMBERS_MAX, members};
    size_t body_bytes = LIMIT_CHUNK_BYTES + WIRE_CHUNK_TAIL_BYTES;
    struct buf *frame;

    (void)state;
    for (uint32_t i = 0; i < WIRE_MEMBERS_MAX; i++) {
        members[i] = (struct wire_member){2 * i, 0};
    }
    assert_int_equal(wire_chunk_take(testing_pool, LIMIT_CHUNK_BYTES, &frame), OK);
    assert_true(buf_tailroom(frame) < LIMIT_CHUNK_BYTES);
    memcpy(buf_bytes(frame), chunk.payload, LIMIT_CHUNK_BYTES);
    become_broadcast(frame, &broadcast);
    buf_unref(frame);

    assert_int_equal(wire_frame_take(testing_pool, body_bytes + wire_body_room(WIRE_PUSH), &frame),
                     OK);
    memcpy(buf_append(frame, LIMIT_CHUNK_BYTES), chunk.payload, LIMIT_CHUNK_BYTES);
    memset(buf_append(frame, WIRE_CHUNK_TAIL_BYTES), 0xff, WIRE_CHUNK_TAIL_BYTES);
    assert_true(buf_tailroom(frame) < LIMIT_CHUNK_BYTES);
    become_broadcast(frame, &broadcast);
    buf_unref(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_golden_and_lies),
        cmocka_unit_test(test_an_accumulator_becomes_a_broadcast_without_a_copy),
        cmocka_unit_test(test_the_longest_list_of_members_fits_behind_a_full_chunk),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
