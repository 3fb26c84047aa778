/* members: lists that are too long, not in order, or not what their count says. */

#include "wire/members.h"

#include "wire/testing_chunk.h"

enum { PAYLOAD_BYTES = 12 };

static enum err decode_members(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_chunk chunk;
    const void *members;
    uint32_t count;

    return wire_members_decode(header, body, size, &chunk, &members, &count);
}

static void take(const struct wire_member *members, uint32_t count, struct buf **frame_out)
{
    struct wire_chunk chunk = testing_chunk_small(1);

    assert_int_equal(
        wire_members_encode(testing_pool, WIRE_BROADCAST, &chunk, members, count, frame_out), OK);
}

static void test_lists_of_every_length_come_back(void **state)
{
    struct wire_member members[WIRE_MEMBERS_MAX];

    (void)state;
    for (uint32_t i = 0; i < WIRE_MEMBERS_MAX; i++) {
        members[i] = (struct wire_member){UINT32_MAX - WIRE_MEMBERS_MAX + 1 + i, UINT32_MAX - i};
    }
    for (uint32_t count = 0; count <= WIRE_MEMBERS_MAX; count++) {
        struct wire_chunk chunk = testing_chunk_small(1);
        const struct wire_member *first = count == 0 ? NULL : members;
        const void *out_members;
        struct wire_header header;
        struct wire_chunk out;
        struct buf *filled;
        struct buf *frame;
        uint32_t out_count;
        const uint8_t *body;

        take(first, count, &frame);
        body = testing_open(frame, &header);
        assert_int_equal(header.body_bytes, PAYLOAD_BYTES + wire_members_bytes(count));
        assert_int_equal(
            wire_members_decode(&header, body, header.body_bytes, &out, &out_members, &out_count),
            OK);
        assert_chunk_equal(&out, &chunk);
        assert_members_equal(out_members, out_count, members, count);
        assert_int_equal(wire_chunk_take(testing_pool, PAYLOAD_BYTES, &filled), OK);
        memcpy(buf_bytes(filled), chunk.payload, PAYLOAD_BYTES);
        wire_members_seal(filled, WIRE_BROADCAST, &chunk, first, count);
        assert_int_equal(buf_size(filled), buf_size(frame));
        assert_memory_equal(buf_bytes(filled), buf_bytes(frame), buf_size(frame));
        buf_unref(filled);
        buf_unref(frame);
    }
}

/* An encoded payload may have any size: the list is then not aligned. */
static void test_a_list_behind_an_odd_payload_comes_back(void **state)
{
    static const struct wire_member members[] = {{1, 2}, {3, 4}};

    (void)state;
    for (uint32_t bytes = 1; bytes < 9; bytes++) {
        struct wire_chunk chunk = {.codec = 1, .payload_bytes = bytes, .payload = testing_payload};
        const void *out_members;
        struct wire_header header;
        struct wire_chunk out;
        struct buf *frame;
        uint32_t count;
        const uint8_t *body;

        assert_int_equal(
            wire_members_encode(testing_pool, WIRE_BROADCAST, &chunk, members, 2, &frame), OK);
        body = testing_open(frame, &header);
        assert_int_equal(
            wire_members_decode(&header, body, header.body_bytes, &out, &out_members, &count), OK);
        assert_int_equal(out.payload_bytes, bytes);
        assert_members_equal(out_members, count, members, 2);
        buf_unref(frame);
    }
}

static void refuse(const struct wire_member *members, uint32_t count)
{
    struct wire_chunk chunk = testing_chunk_small(1);
    struct buf *frame;

    assert_false(wire_members_valid(members, count));
    assert_int_equal(
        wire_members_encode(testing_pool, WIRE_BROADCAST, &chunk, members, count, &frame),
        ERR_INVALID);
}

static void test_bad_lists_are_not_encoded(void **state)
{
    static const struct wire_member same[] = {{1, 0}, {1, 1}};
    static const struct wire_member falling[] = {{0, 0}, {2, 0}, {1, 0}};
    struct wire_member many[WIRE_MEMBERS_MAX + 1];

    (void)state;
    for (uint32_t i = 0; i <= WIRE_MEMBERS_MAX; i++) {
        many[i] = (struct wire_member){i, 0};
    }
    refuse(many, WIRE_MEMBERS_MAX + 1);
    refuse(many, UINT32_MAX);
    refuse(same, 2);
    refuse(falling, 3);
    assert_true(wire_members_valid(many, WIRE_MEMBERS_MAX));
    assert_true(wire_members_valid(NULL, 0));
}

static void test_bad_lists_are_refused(void **state)
{
    static const struct wire_member members[] = {{4, 0}, {5, 9}, {8, 1}};
    uint32_t end = PAYLOAD_BYTES + 3 * 8;
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    (void)state;
    take(members, 3, &frame);
    testing_refused(decode_members, frame, PAYLOAD_BYTES, 4, 5, ERR_MALFORMED);
    testing_refused(decode_members, frame, PAYLOAD_BYTES + 8, 4, 8, ERR_MALFORMED);
    testing_refused(decode_members, frame, PAYLOAD_BYTES + 16, 4, 0, ERR_MALFORMED);
    testing_refused(decode_members, frame, end, 4, WIRE_MEMBERS_MAX + 1, ERR_MALFORMED);
    testing_refused(decode_members, frame, end, 4, UINT32_MAX, ERR_MALFORMED);
    testing_refused(decode_members, frame, end, 4, 5, ERR_MALFORMED); /* No payload is left. */
    testing_refused(decode_members, frame, end + 4, 4, 1, ERR_MALFORMED);
    body = testing_open(frame, &header);
    header.clock = UINT64_MAX; /* Members have clocks of their own. */
    assert_int_equal(decode_members(&header, body, header.body_bytes), OK);
    testing_truncate(decode_members, &header, body);
    testing_lies(decode_members, &header, body);
    testing_noise(decode_members, &header);
    buf_unref(frame);
}

/* Cut at any byte with a header that admits it: what is then at the end is no tail. */
static void test_a_list_that_was_cut_is_refused(void **state)
{
    struct wire_member members[] = {{UINT32_MAX - 2, 7}, {UINT32_MAX - 1, 7}, {UINT32_MAX, 7}};
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;
    uint32_t whole;

    (void)state;
    take(members, 3, &frame);
    body = testing_open(frame, &header);
    whole = header.body_bytes;
    for (header.body_bytes = 0; header.body_bytes < whole; header.body_bytes++) {
        assert_int_equal(testing_decode_exact(decode_members, &header, body, header.body_bytes),
                         ERR_MALFORMED);
    }
    buf_unref(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_of_every_length_come_back),
        cmocka_unit_test(test_a_list_behind_an_odd_payload_comes_back),
        cmocka_unit_test(test_bad_lists_are_not_encoded),
        cmocka_unit_test(test_bad_lists_are_refused),
        cmocka_unit_test(test_a_list_that_was_cut_is_refused),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
