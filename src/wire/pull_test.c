/* pull and values: lists that are too long, not ascending or not there. */

#include "wire/pull.h"

#include "wire/testing_chunk.h"

static enum err decode_pull(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_pull out;

    return wire_pull_decode(header, body, size, &out);
}

static enum err decode_values(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_chunk out;

    return wire_values_decode(header, body, size, &out);
}

static const uint32_t pull_few[] = {0, 7, 0x01020304, UINT32_MAX};

static struct wire_pull pull_sample(void)
{
    return (struct wire_pull){
        .table = 0x0102,
        .epoch = 0x21222324,
        .origin = 0x31323334,
        .clock = 0x4142434445464748,
        .count = 4,
        .chunks = pull_few,
    };
}

static void round_trip(const struct wire_pull *pull)
{
    struct wire_header header;
    struct wire_pull out;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_pull_encode(testing_pool, pull, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_pull_decode(&header, body, header.body_bytes, &out), OK);
    assert_int_equal(out.table, pull->table);
    assert_int_equal(out.epoch, pull->epoch);
    assert_int_equal(out.origin, pull->origin);
    assert_int_equal(out.clock, pull->clock);
    assert_int_equal(out.count, pull->count);
    for (uint32_t i = 0; i < pull->count; i++) {
        assert_int_equal(wire_pull_chunk(&out, i), wire_pull_chunk(pull, i));
    }
    buf_unref(frame);
}

static void test_pull_round_trip_and_limits(void **state)
{
    static uint32_t many[WIRE_PULL_CHUNKS_MAX + 1];
    struct wire_pull pull = pull_sample();
    struct buf *frame;

    (void)state;
    round_trip(&pull);
    for (uint32_t i = 0; i <= WIRE_PULL_CHUNKS_MAX; i++) {
        many[i] = UINT32_MAX - WIRE_PULL_CHUNKS_MAX + i;
    }
    pull = (struct wire_pull){UINT16_MAX, UINT32_MAX,           UINT32_MAX,
                              UINT64_MAX, WIRE_PULL_CHUNKS_MAX, many};
    round_trip(&pull);
    pull.count++;
    assert_int_equal(wire_pull_encode(testing_pool, &pull, &frame), ERR_INVALID);
    pull.count = 0;
    assert_int_equal(wire_pull_encode(testing_pool, &pull, &frame), ERR_INVALID);
    pull.count = 3;
    many[2] = many[1];
    assert_int_equal(wire_pull_encode(testing_pool, &pull, &frame), ERR_INVALID);
}

static void test_pull_golden_and_lies(void **state)
{
    struct wire_pull pull = pull_sample();
    struct wire_header header;
    struct wire_header lie;
    const uint8_t *body;
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_pull_encode(testing_pool, &pull, &frame), OK);
    testing_exact_count(decode_pull, frame, 0, 4);
    testing_refused(decode_pull, frame, 8, 4, 0, ERR_MALFORMED);
    testing_refused(decode_pull, frame, 8, 4, UINT32_MAX, ERR_MALFORMED);
    testing_refused(decode_pull, frame, 12, 4, 7, ERR_MALFORMED);
    body = testing_open(frame, &header);
    lie = header;
    lie.codec = 1;
    assert_int_equal(decode_pull(&lie, body, header.body_bytes), ERR_MALFORMED);
    lie = header;
    lie.chunk = 1;
    assert_int_equal(decode_pull(&lie, body, header.body_bytes), ERR_MALFORMED);
    testing_weight(decode_pull, frame, false);
    testing_truncate_admitted(decode_pull, frame);
    testing_message(frame, "pull", "pull of chunks 0, 7, 0x01020304 and the last", decode_pull);
}

static void test_values(void **state)
{
    struct wire_chunk chunks[] = {testing_chunk_small(0), testing_chunk_extreme(0)};
    struct wire_header header;
    struct wire_chunk out;
    struct buf *frame;
    struct buf *filled;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        const uint8_t *body;

        assert_int_equal(wire_values_encode(testing_pool, &chunks[i], &frame), OK);
        body = testing_open(frame, &header);
        assert_int_equal(wire_values_decode(&header, body, header.body_bytes, &out), OK);
        assert_chunk_equal(&out, &chunks[i]);
        assert_int_equal(wire_chunk_take(testing_pool, out.payload_bytes, &filled), OK);
        memcpy(buf_bytes(filled), out.payload, out.payload_bytes);
        wire_values_seal(filled, &chunks[i]);
        assert_int_equal(buf_size(filled), buf_size(frame));
        assert_memory_equal(buf_bytes(filled), buf_bytes(frame), buf_size(frame));
        buf_unref(filled);
        buf_unref(frame);
    }
    chunks[0].weight = 1;
    assert_int_equal(wire_values_encode(testing_pool, &chunks[0], &frame), ERR_INVALID);
    chunks[0].weight = 0;
    assert_int_equal(wire_values_encode(testing_pool, &chunks[0], &frame), OK);
    testing_payload_sizes(decode_values, frame, 0);
    testing_weight(decode_values, frame, false);
    testing_message(frame, "values", "values of one chunk: three floats (1, -2, 0.5)",
                    decode_values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pull_round_trip_and_limits),
        cmocka_unit_test(test_pull_golden_and_lies),
        cmocka_unit_test(test_values),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
