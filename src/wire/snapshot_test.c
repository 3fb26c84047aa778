/* snapshot: the vector of what is contained, chunks, and totals. */

#include "wire/snapshot.h"

#include "wire/testing_chunk.h"

static const struct wire_snapshot_source snapshot_few[] = {
    {1, 0, 0x0102030405060708}, {1, 1, 0}, {2, 0, UINT64_MAX}};

static enum err decode_begin(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_snapshot_begin out;

    return wire_snapshot_begin_decode(header, body, size, &out);
}

static enum err decode_chunk(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_snapshot_chunk out;

    return wire_snapshot_chunk_decode(header, body, size, &out);
}

static enum err decode_end(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_snapshot_end out;

    return wire_snapshot_end_decode(header, body, size, &out);
}

static struct wire_snapshot_begin begin_sample(void)
{
    return (struct wire_snapshot_begin){
        .epoch = 0x21222324,
        .origin = 0x31323334,
        .clock = 0x4142434445464748,
        .table_count = 5,
        .chunk_count = 0x5152535455565758,
        .source_count = 3,
        .sources = snapshot_few,
    };
}

static void begin_round_trip(const struct wire_snapshot_begin *begin)
{
    struct wire_snapshot_begin out;
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_snapshot_begin_encode(testing_pool, begin, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_snapshot_begin_decode(&header, body, header.body_bytes, &out), OK);
    assert_int_equal(out.epoch, begin->epoch);
    assert_int_equal(out.origin, begin->origin);
    assert_int_equal(out.clock, begin->clock);
    assert_int_equal(out.table_count, begin->table_count);
    assert_int_equal(out.chunk_count, begin->chunk_count);
    assert_int_equal(out.source_count, begin->source_count);
    for (uint32_t i = 0; i < begin->source_count; i++) {
        struct wire_snapshot_source a = wire_snapshot_source(&out, i);
        struct wire_snapshot_source b = wire_snapshot_source(begin, i);

        assert_int_equal(a.site, b.site);
        assert_int_equal(a.shard, b.shard);
        assert_int_equal(a.number, b.number);
    }
    buf_unref(frame);
}

static void test_begin_round_trip_and_limits(void **state)
{
    static struct wire_snapshot_source many[WIRE_SNAPSHOT_SOURCES_MAX + 1];
    struct wire_snapshot_begin begin = begin_sample();
    struct buf *frame;

    (void)state;
    begin_round_trip(&begin);
    begin.source_count = 0;
    begin.sources = NULL;
    begin_round_trip(&begin);
    for (uint32_t i = 0; i <= WIRE_SNAPSHOT_SOURCES_MAX; i++) {
        many[i] = (struct wire_snapshot_source){UINT32_MAX, i, UINT64_MAX};
    }
    begin = (struct wire_snapshot_begin){UINT32_MAX, UINT32_MAX,
                                         UINT64_MAX, WIRE_SNAPSHOT_TABLES_MAX,
                                         UINT64_MAX, WIRE_SNAPSHOT_SOURCES_MAX,
                                         many};
    begin_round_trip(&begin);
    begin.source_count++;
    assert_int_equal(wire_snapshot_begin_encode(testing_pool, &begin, &frame), ERR_INVALID);
    begin.source_count = 2;
    many[1] = many[0];
    assert_int_equal(wire_snapshot_begin_encode(testing_pool, &begin, &frame), ERR_INVALID);
    begin = begin_sample();
    begin.table_count = 0;
    assert_int_equal(wire_snapshot_begin_encode(testing_pool, &begin, &frame), ERR_INVALID);
    begin.table_count = WIRE_SNAPSHOT_TABLES_MAX + 1;
    assert_int_equal(wire_snapshot_begin_encode(testing_pool, &begin, &frame), ERR_INVALID);
}

/* begin and end say nothing of a table, codec, chunk or weight. */
static void refuse_chunk_fields(testing_decode *decode, const struct buf *frame)
{
    struct wire_header header;
    const uint8_t *body = testing_open(frame, &header);

    for (uint32_t i = 0; i < 4; i++) {
        struct wire_header lie = header;

        lie.table = i == 0;
        lie.codec = i == 1;
        lie.chunk = i == 2;
        lie.weight = i == 3;
        assert_int_equal(decode(&lie, body, header.body_bytes), ERR_MALFORMED);
    }
}

static void test_begin_golden_and_lies(void **state)
{
    struct wire_snapshot_begin begin = begin_sample();
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_snapshot_begin_encode(testing_pool, &begin, &frame), OK);
    testing_refused(decode_begin, frame, 0, 2, 0, ERR_MALFORMED);
    testing_refused(decode_begin, frame, 0, 2, WIRE_SNAPSHOT_TABLES_MAX + 1, ERR_MALFORMED);
    testing_refused(decode_begin, frame, 2, 2, 1, ERR_MALFORMED);
    testing_exact_count(decode_begin, frame, 4, 4);
    testing_refused(decode_begin, frame, 16 + 16 + 4, 4, 0, ERR_MALFORMED);
    testing_refused(decode_begin, frame, 16 + 32, 4, 0, ERR_MALFORMED);
    refuse_chunk_fields(decode_begin, frame);
    testing_truncate_admitted(decode_begin, frame);
    testing_message(frame, "snapshot_begin", "snapshot of five tables with deltas of three shards",
                    decode_begin);
}

static const struct wire_member snapshot_members[] = {{0, 1}, {7, 0}};

static void chunk_round_trip(const struct wire_snapshot_chunk *chunk)
{
    struct wire_snapshot_chunk out;
    struct wire_header header;
    struct buf *filled;
    struct buf *frame;
    const uint8_t *body;

    assert_int_equal(wire_snapshot_chunk_encode(testing_pool, chunk, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_snapshot_chunk_decode(&header, body, header.body_bytes, &out), OK);
    assert_chunk_equal(&out.chunk, &chunk->chunk);
    assert_members_equal(out.members, out.member_count, chunk->members, chunk->member_count);
    assert_int_equal(wire_chunk_take(testing_pool, out.chunk.payload_bytes, &filled), OK);
    memcpy(buf_bytes(filled), out.chunk.payload, out.chunk.payload_bytes);
    wire_snapshot_chunk_seal(filled, chunk);
    assert_int_equal(buf_size(filled), buf_size(frame));
    assert_memory_equal(buf_bytes(filled), buf_bytes(frame), buf_size(frame));
    buf_unref(filled);
    buf_unref(frame);
}

static void test_chunk(void **state)
{
    struct wire_snapshot_chunk chunk = {.chunk = testing_chunk_extreme(0)};
    struct buf *frame;

    (void)state;
    chunk_round_trip(&chunk);
    chunk = (struct wire_snapshot_chunk){testing_chunk_small(0), 2, snapshot_members};
    chunk_round_trip(&chunk);
    assert_int_equal(wire_snapshot_chunk_encode(testing_pool, &chunk, &frame), OK);
    testing_weight(decode_chunk, frame, false);
    testing_message(frame, "snapshot_chunk",
                    "chunk of a snapshot: three floats (1, -2, 0.5), two members", decode_chunk);
    chunk.member_count = 0;
    assert_int_equal(wire_snapshot_chunk_encode(testing_pool, &chunk, &frame), OK);
    testing_payload_sizes(decode_chunk, frame, wire_members_bytes(0));
    buf_unref(frame);
    chunk.chunk.weight = 1;
    assert_int_equal(wire_snapshot_chunk_encode(testing_pool, &chunk, &frame), ERR_INVALID);
}

static void test_state_of_an_applier_travels_as_a_plane_of_its_table(void **state)
{
    struct wire_snapshot_chunk chunk = {.chunk = testing_chunk_small(0)};

    (void)state;
    chunk.chunk.table |= WIRE_TABLE_PLANE;
    assert_int_equal(chunk.chunk.table, 0x8102);
    chunk_round_trip(&chunk);
}

static void test_end(void **state)
{
    struct wire_snapshot_end end = {
        .epoch = UINT32_MAX,
        .origin = UINT32_MAX,
        .clock = UINT64_MAX,
        .chunk_count = UINT64_MAX,
        .payload_bytes = 0x0102030405060708,
    };
    struct wire_snapshot_end out;
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    (void)state;
    for (uint32_t i = 0; i < WIRE_SNAPSHOT_HASH_BYTES; i++) {
        end.hash[i] = (uint8_t)(0xe0 + i);
    }
    assert_int_equal(wire_snapshot_end_encode(testing_pool, &end, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_snapshot_end_decode(&header, body, header.body_bytes, &out), OK);
    assert_memory_equal(out.hash, end.hash, sizeof(end.hash));
    assert_int_equal(out.epoch, end.epoch);
    assert_int_equal(out.origin, end.origin);
    assert_int_equal(out.clock, end.clock);
    assert_int_equal(out.chunk_count, end.chunk_count);
    assert_int_equal(out.payload_bytes, end.payload_bytes);
    refuse_chunk_fields(decode_end, frame);
    testing_truncate_admitted(decode_end, frame);
    testing_message(frame, "snapshot_end", "end of a snapshot: hash e0 e1 ... ff, totals",
                    decode_end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begin_round_trip_and_limits),
        cmocka_unit_test(test_begin_golden_and_lies),
        cmocka_unit_test(test_chunk),
        cmocka_unit_test(test_state_of_an_applier_travels_as_a_plane_of_its_table),
        cmocka_unit_test(test_end),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
