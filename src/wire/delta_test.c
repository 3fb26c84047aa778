/* delta: what it holds survives hops; a chunk, of any codec, with the longest list of all. */

#include "wire/delta.h"

#include "wire/testing_chunk.h"

static const struct wire_range delta_ranges[] = {
    {0x51525354, 0x6162636465666768, 0x7172737475767778}, {UINT32_MAX, 0, UINT64_MAX}};

static enum err decode_delta(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_delta out;

    return wire_delta_decode(header, body, size, &out);
}

static enum err encode_delta(struct buf_pool *pool, struct buf **frame_out)
{
    struct wire_delta delta = {testing_chunk_small(1), 2, delta_ranges};

    return wire_delta_encode(pool, &delta, frame_out);
}

static struct wire_chunk delta_extreme(void)
{
    struct wire_chunk chunk = testing_chunk_extreme(1);

    chunk.table = WIRE_TABLE_PLANE - 1;
    chunk.codec = WIRE_CODEC_LIST;
    return chunk;
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
    assert_ptr_equal(out.chunk.payload, body);
    assert_ranges_equal(out.ranges, out.range_count, delta->ranges, delta->range_count);
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
    struct wire_range many[WIRE_RANGES_MAX];
    struct wire_delta delta = {testing_chunk_small(1), 2, delta_ranges};

    (void)state;
    round_trip(&delta);
    for (uint32_t i = 0; i < WIRE_RANGES_MAX; i++) {
        many[i] = (struct wire_range){1 + 2 * i, i, UINT64_MAX - i};
    }
    delta = (struct wire_delta){delta_extreme(), WIRE_RANGES_MAX, many};
    for (uint16_t codec = 0; codec < WIRE_CODECS_DELTA; codec++) {
        delta.chunk.codec = codec;
        round_trip(&delta);
    }
}

/* In what is given to the encoder and in what comes from a peer. */
static void refuse(const struct wire_chunk *chunk)
{
    struct wire_delta delta = {testing_chunk_small(1), 2, delta_ranges};
    struct buf *refused = NULL;
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_delta_encode(testing_pool, &delta, &frame), OK);
    body = testing_open(frame, &header);
    header.table = chunk->table;
    header.codec = chunk->codec;
    header.origin = chunk->origin;
    header.weight = chunk->weight;
    assert_int_equal(testing_decode_exact(decode_delta, &header, body, header.body_bytes),
                     ERR_MALFORMED);
    buf_unref(frame);
    delta.chunk = *chunk;
    assert_int_equal(wire_delta_encode(testing_pool, &delta, &refused), ERR_INVALID);
    assert_null(refused);
}

static void test_a_header_that_no_site_writes_is_refused(void **state)
{
    static const uint32_t weights[] = {0, 2, UINT32_MAX};
    static const uint16_t codecs[] = {WIRE_CODECS_DELTA, UINT16_MAX};
    struct wire_chunk chunk;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        chunk = testing_chunk_small(weights[i]);
        refuse(&chunk);
    }
    for (uint32_t i = 0; i < 2; i++) {
        chunk = testing_chunk_small(1);
        chunk.codec = codecs[i];
        refuse(&chunk);
    }
    chunk = testing_chunk_small(1);
    chunk.table |= WIRE_TABLE_PLANE;
    refuse(&chunk);
    chunk = testing_chunk_small(1);
    chunk.origin = 0;
    refuse(&chunk);
}

static void test_a_delta_of_nothing_is_not_encoded(void **state)
{
    struct wire_delta delta = {testing_chunk_small(1), 0, delta_ranges};
    struct buf *frame = NULL;

    (void)state;
    assert_int_equal(wire_delta_encode(testing_pool, &delta, &frame), ERR_INVALID);
    delta.range_count = 2;
    delta.chunk.payload_bytes = 0;
    assert_int_equal(wire_delta_encode(testing_pool, &delta, &frame), ERR_INVALID);
    delta.chunk.payload_bytes = 7; /* No number of floats. */
    assert_int_equal(wire_delta_encode(testing_pool, &delta, &frame), ERR_INVALID);
    delta.chunk.codec = WIRE_CODEC_BITMAP;
    delta.chunk.payload_bytes = LIMIT_CHUNK_BYTES + 1;
    assert_int_equal(wire_delta_encode(testing_pool, &delta, &frame), ERR_INVALID);
    assert_null(frame);
}

static void test_golden_and_lies(void **state)
{
    struct buf *frame;

    (void)state;
    assert_int_equal(encode_delta(testing_pool, &frame), OK);
    testing_payload_sizes(decode_delta, frame, wire_ranges_bytes(2));
    testing_cut_admitted(decode_delta, frame);
    testing_refused(decode_delta, frame, 16, 4, 1, ERR_MALFORMED);
    testing_refused(decode_delta, frame, 12 + 24, 4, 0x51525354, ERR_MALFORMED);
    testing_message(frame, "delta", "delta of three floats (1, -2, 0.5), with parts of two sites",
                    decode_delta);
}

/* Elements 1 and 5 of a chunk of at most 64 are 1 and -2. */
static void test_golden_of_some_elements(void **state)
{
    static const uint8_t bitmap[] = {0x22, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0};
    static const uint8_t list[] = {2, 0, 0, 0, 1, 0, 5, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0};
    struct wire_delta delta = {testing_chunk_small(1), 2, delta_ranges};
    struct buf *frame;

    (void)state;
    delta.chunk.codec = WIRE_CODEC_BITMAP;
    delta.chunk.payload = bitmap;
    delta.chunk.payload_bytes = sizeof(bitmap);
    assert_int_equal(wire_delta_encode(testing_pool, &delta, &frame), OK);
    testing_message(frame, "delta_bitmap", "delta of two elements of at most 64: a bitmap, 1, -2",
                    decode_delta);
    delta.chunk.codec = WIRE_CODEC_LIST;
    delta.chunk.payload = list;
    delta.chunk.payload_bytes = sizeof(list);
    assert_int_equal(wire_delta_encode(testing_pool, &delta, &frame), OK);
    testing_message(frame, "delta_list", "delta of two elements: a list of them, 1, -2",
                    decode_delta);
}

/* The same with a byte for each. */
static void test_golden_of_whole_numbers(void **state)
{
    static const uint8_t bitmap[] = {0x22, 0, 0, 0, 0, 0, 0, 0, 1, 0xfe, 0, 0};
    static const uint8_t list[] = {2, 0, 0, 0, 1, 0, 5, 0, 1, 0xfe, 0, 0};
    struct wire_delta delta = {testing_chunk_small(1), 2, delta_ranges};
    struct buf *frame;

    (void)state;
    delta.chunk.codec = WIRE_CODEC_BITMAP_I8;
    delta.chunk.payload = bitmap;
    delta.chunk.payload_bytes = sizeof(bitmap);
    assert_int_equal(wire_delta_encode(testing_pool, &delta, &frame), OK);
    testing_message(frame, "delta_bitmap_i8",
                    "delta of two elements of at most 64: a bitmap, 1, -2 in a byte each",
                    decode_delta);
    delta.chunk.codec = WIRE_CODEC_LIST_I8;
    delta.chunk.payload = list;
    delta.chunk.payload_bytes = sizeof(list);
    assert_int_equal(wire_delta_encode(testing_pool, &delta, &frame), OK);
    testing_message(frame, "delta_list_i8",
                    "delta of two elements: a list of them, 1, -2 in a byte each", decode_delta);
}

/* A round's accumulator, which was the body of a push, goes to other sites as it is. */
static void test_a_received_push_becomes_the_longest_delta_without_a_copy(void **state)
{
    size_t body_bytes = LIMIT_CHUNK_BYTES + WIRE_CHUNK_TAIL_BYTES;
    struct wire_range many[WIRE_RANGES_MAX];
    struct wire_delta delta = {delta_extreme(), WIRE_RANGES_MAX, many};
    struct wire_header header;
    struct wire_delta out;
    uint8_t *payload;
    struct buf *frame;

    (void)state;
    for (uint32_t i = 0; i < WIRE_RANGES_MAX; i++) {
        many[i] = (struct wire_range){1 + i, 0, 1};
    }
    assert_int_equal(wire_frame_take(testing_pool, body_bytes + wire_body_room(WIRE_PUSH), &frame),
                     OK);
    payload = buf_append(frame, body_bytes);
    memset(payload, 0, LIMIT_CHUNK_BYTES);
    buf_truncate(frame, LIMIT_CHUNK_BYTES);
    wire_delta_seal(frame, &delta);
    assert_ptr_equal(testing_open(frame, &header), payload);
    assert_int_equal(header.body_bytes, wire_type_info(WIRE_DELTA)->body_bytes_max);
    assert_int_equal(wire_delta_decode(&header, payload, header.body_bytes, &out), OK);
    assert_ranges_equal(out.ranges, out.range_count, many, WIRE_RANGES_MAX);
    assert_int_equal(wire_body_room(WIRE_DELTA), 0);
    buf_unref(frame);
}

static void test_without_memory_there_is_no_frame(void **state)
{
    (void)state;
    testing_no_memory(encode_delta);
    testing_no_buffer(encode_delta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_a_header_that_no_site_writes_is_refused),
        cmocka_unit_test(test_a_delta_of_nothing_is_not_encoded),
        cmocka_unit_test(test_golden_and_lies),
        cmocka_unit_test(test_golden_of_some_elements),
        cmocka_unit_test(test_golden_of_whole_numbers),
        cmocka_unit_test(test_a_received_push_becomes_the_longest_delta_without_a_copy),
        cmocka_unit_test(test_without_memory_there_is_no_frame),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
