/* ranges: lists that are too long, not in order, empty, or not what their count says; and the
 * numbers that stand for sites. */

#include "wire/ranges.h"

#include "wire/testing_chunk.h"

enum { PAYLOAD_BYTES = 12, RANGE_BYTES = 24 };

static enum err decode_ranges(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_chunk chunk;
    const void *ranges;
    uint32_t count;

    return wire_ranges_decode(header, body, size, &chunk, &ranges, &count);
}

static void take(const struct wire_range *ranges, uint32_t count, struct buf **frame_out)
{
    struct wire_chunk chunk = testing_chunk_small(1);

    assert_int_equal(wire_ranges_encode(testing_pool, WIRE_DELTA, &chunk, ranges, count, frame_out),
                     OK);
}

static void test_lists_of_every_length_come_back(void **state)
{
    struct wire_range ranges[WIRE_RANGES_MAX];

    (void)state;
    for (uint32_t i = 0; i < WIRE_RANGES_MAX; i++) {
        ranges[i] = (struct wire_range){UINT32_MAX - WIRE_RANGES_MAX + 1 + i, i, UINT64_MAX - i};
    }
    for (uint32_t count = 1; count <= WIRE_RANGES_MAX; count++) {
        struct wire_chunk chunk = testing_chunk_small(1);
        const void *out_ranges;
        struct wire_header header;
        struct wire_chunk out;
        struct buf *filled;
        struct buf *frame;
        uint32_t out_count;
        const uint8_t *body;

        take(ranges, count, &frame);
        body = testing_open(frame, &header);
        assert_int_equal(header.body_bytes, PAYLOAD_BYTES + wire_ranges_bytes(count));
        assert_int_equal(
            wire_ranges_decode(&header, body, header.body_bytes, &out, &out_ranges, &out_count),
            OK);
        assert_chunk_equal(&out, &chunk);
        assert_ranges_equal(out_ranges, out_count, ranges, count);
        assert_int_equal(wire_chunk_take(testing_pool, PAYLOAD_BYTES, &filled), OK);
        memcpy(buf_bytes(filled), chunk.payload, PAYLOAD_BYTES);
        wire_ranges_seal(filled, WIRE_DELTA, &chunk, ranges, count);
        assert_int_equal(buf_size(filled), buf_size(frame));
        assert_memory_equal(buf_bytes(filled), buf_bytes(frame), buf_size(frame));
        buf_unref(filled);
        buf_unref(frame);
    }
}

/* An encoded payload may have any size: the list is then not aligned. */
static void test_a_list_behind_an_odd_payload_comes_back(void **state)
{
    static const struct wire_range ranges[] = {{1, 2, 3}, {4, 0, UINT64_MAX}};

    (void)state;
    for (uint32_t bytes = 1; bytes < 9; bytes++) {
        struct wire_chunk chunk = {
            .codec = WIRE_CODEC_LIST, .payload_bytes = bytes, .payload = testing_payload};
        const void *out_ranges;
        struct wire_header header;
        struct wire_chunk out;
        struct buf *frame;
        uint32_t count;
        const uint8_t *body;

        assert_int_equal(wire_ranges_encode(testing_pool, WIRE_DELTA, &chunk, ranges, 2, &frame),
                         OK);
        body = testing_open(frame, &header);
        assert_int_equal(
            wire_ranges_decode(&header, body, header.body_bytes, &out, &out_ranges, &count), OK);
        assert_int_equal(out.payload_bytes, bytes);
        assert_ranges_equal(out_ranges, count, ranges, 2);
        buf_unref(frame);
    }
}

/* What the struct has between its fields does not leave the machine. */
static void test_the_hole_in_the_struct_is_written_as_zeros(void **state)
{
    struct wire_range ranges[2];
    struct buf *frame;

    (void)state;
    memset(ranges, 0xa5, sizeof(ranges));
    for (uint32_t i = 0; i < 2; i++) {
        ranges[i].site = 1 + i;
        ranges[i].prev = 0;
        ranges[i].number = 1;
    }
    take(ranges, 2, &frame);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(bytes_load32(buf_bytes(frame) + WIRE_HEADER_BYTES + PAYLOAD_BYTES +
                                      RANGE_BYTES * i + 4),
                         0);
    }
    buf_unref(frame);
}

/* All lists of up to two ranges with numbers below three, against the words of the contract. */
static void test_validity_is_what_the_contract_says(void **state)
{
    enum { ONE = 27 };
    struct wire_range r[2];

    (void)state;
    for (uint32_t i = 0; i < ONE * ONE; i++) {
        uint32_t n[6] = {i % 3, i / 3 % 3, i / 9 % 3, i / ONE % 3, i / (3 * ONE) % 3, i / 9 / ONE};
        bool first = n[0] > 0 && n[1] < n[2];
        bool second = n[3] > n[0] && n[4] < n[5];

        r[0] = (struct wire_range){n[0], n[1], n[2]};
        r[1] = (struct wire_range){n[3], n[4], n[5]};
        assert_int_equal(wire_ranges_valid(r, 1), first);
        assert_int_equal(wire_ranges_valid(r, 2), first && second);
        assert_int_equal(wire_ranges_contents_valid(r, 1), n[0] > 0 && n[1] == 0);
        assert_int_equal(wire_ranges_contents_valid(r, 2),
                         n[0] > 0 && n[1] == 0 && n[3] > n[0] && n[4] == 0);
    }
    assert_false(wire_ranges_valid(NULL, 0));
    assert_true(wire_ranges_contents_valid(NULL, 0));
}

static void refuse(const struct wire_range *ranges, uint32_t count)
{
    struct wire_chunk chunk = testing_chunk_small(1);
    struct buf *frame = NULL;

    assert_false(wire_ranges_valid(ranges, count));
    assert_int_equal(wire_ranges_encode(testing_pool, WIRE_DELTA, &chunk, ranges, count, &frame),
                     ERR_INVALID);
    assert_null(frame);
}

static void test_bad_lists_are_not_encoded(void **state)
{
    struct wire_range many[WIRE_RANGES_MAX + 1];

    (void)state;
    for (uint32_t i = 0; i <= WIRE_RANGES_MAX; i++) {
        many[i] = (struct wire_range){1 + i, 0, 1};
    }
    refuse(many, 0);
    refuse(many, WIRE_RANGES_MAX + 1);
    refuse(many, UINT32_MAX);
    assert_true(wire_ranges_valid(many, WIRE_RANGES_MAX));
    assert_true(wire_ranges_contents_valid(many, WIRE_RANGES_MAX));
    assert_false(wire_ranges_contents_valid(many, WIRE_RANGES_MAX + 1));
    many[WIRE_RANGES_MAX - 1].prev = 1;
    refuse(many, WIRE_RANGES_MAX);
    assert_false(wire_ranges_contents_valid(many, WIRE_RANGES_MAX));
    many[WIRE_RANGES_MAX - 1] = many[WIRE_RANGES_MAX - 2];
    refuse(many, WIRE_RANGES_MAX);
}

static void test_bad_lists_are_refused(void **state)
{
    static const struct wire_range ranges[] = {{4, 0, 1}, {5, 9, 12}, {8, 1, UINT64_MAX}};
    uint32_t at = PAYLOAD_BYTES;
    uint32_t end = PAYLOAD_BYTES + 3 * RANGE_BYTES;
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    (void)state;
    take(ranges, 3, &frame);
    testing_refused(decode_ranges, frame, at, 4, 5, ERR_MALFORMED);
    testing_refused(decode_ranges, frame, at, 4, 0, ERR_MALFORMED);
    testing_refused(decode_ranges, frame, at + RANGE_BYTES, 4, 8, ERR_MALFORMED);
    testing_refused(decode_ranges, frame, at + 2 * RANGE_BYTES, 4, 5, ERR_MALFORMED);
    for (uint32_t i = 0; i < 3; i++) {
        testing_refused(decode_ranges, frame, at + i * RANGE_BYTES + 4, 4, 1, ERR_MALFORMED);
        testing_refused(decode_ranges, frame, at + i * RANGE_BYTES + 4, 4, 1U << 31, ERR_MALFORMED);
        testing_refused(decode_ranges, frame, at + i * RANGE_BYTES + 8, 8, ranges[i].number,
                        ERR_MALFORMED);
        testing_refused(decode_ranges, frame, at + i * RANGE_BYTES + 16, 8, 0, ERR_MALFORMED);
    }
    testing_refused(decode_ranges, frame, end, 4, 0, ERR_MALFORMED);
    testing_refused(decode_ranges, frame, end, 4, 4, ERR_MALFORMED); /* More than there is. */
    testing_refused(decode_ranges, frame, end, 4, WIRE_RANGES_MAX + 1, ERR_MALFORMED);
    testing_refused(decode_ranges, frame, end, 4, UINT32_MAX, ERR_MALFORMED);
    testing_refused(decode_ranges, frame, end + 4, 4, 1, ERR_MALFORMED);
    body = testing_open(frame, &header);
    testing_truncate(decode_ranges, &header, body);
    testing_lies(decode_ranges, &header, body);
    testing_noise(decode_ranges, &header);
    buf_unref(frame);
}

/* Cut at any byte with a header that admits it: what is then at the end is no tail. */
static void test_a_list_that_was_cut_is_refused(void **state)
{
    static const struct wire_range ranges[] = {{UINT32_MAX - 1, 0x0101010101010101, UINT64_MAX},
                                               {UINT32_MAX, 0x0101010101010101, UINT64_MAX}};
    struct buf *frame;

    (void)state;
    take(ranges, 2, &frame);
    testing_cut_admitted(decode_ranges, frame);
    buf_unref(frame);
}

/* Low half of XXH3-64; the first is that of the empty text in the specification of XXH3. */
static void test_sites_have_numbers_that_never_change(void **state)
{
    (void)state;
    assert_int_equal(wire_site_id(""), 0x38d394c2);
    assert_int_equal(wire_site_id("home"), (uint32_t)hash_bytes("home", 4));
    assert_int_equal(wire_site_id("virginia"), 0xc4892841);
}

static void test_no_site_has_the_number_zero(void **state)
{
    (void)state;
    assert_int_equal((uint32_t)hash_text("sakhotri"), 0); /* Found by trying. */
    assert_int_equal(wire_site_id("sakhotri"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_of_every_length_come_back),
        cmocka_unit_test(test_a_list_behind_an_odd_payload_comes_back),
        cmocka_unit_test(test_the_hole_in_the_struct_is_written_as_zeros),
        cmocka_unit_test(test_validity_is_what_the_contract_says),
        cmocka_unit_test(test_bad_lists_are_not_encoded),
        cmocka_unit_test(test_bad_lists_are_refused),
        cmocka_unit_test(test_a_list_that_was_cut_is_refused),
        cmocka_unit_test(test_sites_have_numbers_that_never_change),
        cmocka_unit_test(test_no_site_has_the_number_zero),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
