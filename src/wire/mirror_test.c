/* mark, report, barrier and copy: every field that must be zero, every count and order. */

#include "wire/mirror.h"

#include "wire/testing_chunk.h"

static const struct wire_range mirror_ranges[] = {
    {0x51525354, 0x6162636465666768, 0x7172737475767778},
    {UINT32_MAX, 0x0101010101010101, UINT64_MAX}};

static enum err decode_mark(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_mark out;

    return wire_mark_decode(header, body, size, &out);
}

static enum err decode_report(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_report out;

    return wire_report_decode(header, body, size, &out);
}

static enum err decode_barrier(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_barrier out;

    return wire_barrier_decode(header, body, size, &out);
}

static enum err decode_copy(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_copy out;

    return wire_copy_decode(header, body, size, &out);
}

/* Marks. */

static const struct wire_mark_item mark_items[] = {{0x51525354, 0x21222324, 0x31323334,
                                                    WIRE_MARK_WHOLE, 0x0102030405060708,
                                                    0x1112131415161718, 0x4142434445464748},
                                                   {1, 0, 0, 0, 0, 0, 0}};

static const struct wire_mark mark_sample = {3, 0x6162636465666768, 2, mark_items};

static enum err encode_mark(struct buf_pool *pool, struct buf **frame_out)
{
    return wire_mark_encode(pool, &mark_sample, frame_out);
}

static void assert_mark_item_equal(struct wire_mark_item a, struct wire_mark_item b)
{
    assert_int_equal(a.site, b.site);
    assert_int_equal(a.groups, b.groups);
    assert_int_equal(a.answer, b.answer);
    assert_int_equal(a.flags, b.flags);
    assert_int_equal(a.from, b.from);
    assert_int_equal(a.number, b.number);
    assert_int_equal(a.clock, b.clock);
}

static void mark_round_trip(const struct wire_mark *mark)
{
    struct wire_header header;
    struct wire_mark out;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_mark_encode(testing_pool, mark, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_mark_decode(&header, body, header.body_bytes, &out), OK);
    assert_int_equal(out.stream, mark->stream);
    assert_int_equal(out.serial, mark->serial);
    assert_int_equal(out.count, mark->count);
    for (uint32_t i = 0; i < mark->count; i++) {
        assert_mark_item_equal(wire_mark_item(out.items, i), wire_mark_item(mark->items, i));
    }
    buf_unref(frame);
}

static void test_marks_of_every_length_come_back(void **state)
{
    struct wire_mark_item items[WIRE_MARK_ITEMS_MAX];
    struct wire_mark mark = {.serial = UINT64_MAX, .items = items};

    (void)state;
    mark_round_trip(&mark_sample);
    for (uint32_t i = 0; i < WIRE_MARK_ITEMS_MAX; i++) {
        /* One site may have several, in any order. */
        items[i] = (struct wire_mark_item){
            UINT32_MAX - i / 2, UINT32_MAX - i,           UINT32_MAX,    i % 2,
            UINT64_MAX - i,     UINT64_MAX - i + (i > 0), UINT64_MAX - i};
    }
    for (mark.count = 1; mark.count <= WIRE_MARK_ITEMS_MAX; mark.count++) {
        mark.stream = (uint16_t)(mark.count % LIMIT_STREAMS_PER_PEER);
        mark_round_trip(&mark);
    }
}

static void mark_not_encoded(const struct wire_mark *mark)
{
    struct buf *frame = NULL;

    assert_int_equal(wire_mark_encode(testing_pool, mark, &frame), ERR_INVALID);
    assert_null(frame);
}

static void test_bad_marks_are_not_encoded(void **state)
{
    static struct wire_mark_item items[WIRE_MARK_ITEMS_MAX + 1];
    struct wire_mark mark = mark_sample;
    struct buf *frame;

    (void)state;
    for (uint32_t i = 0; i <= WIRE_MARK_ITEMS_MAX; i++) {
        items[i].site = 1;
    }
    mark.stream = LIMIT_STREAMS_PER_PEER;
    mark_not_encoded(&mark);
    mark = mark_sample;
    mark.serial = 0;
    mark_not_encoded(&mark);
    mark = mark_sample;
    mark.count = 0;
    mark_not_encoded(&mark);
    mark.items = items;
    mark.count = WIRE_MARK_ITEMS_MAX + 1;
    mark_not_encoded(&mark);
    for (uint32_t i = 0; i < 16; i++) {
        bool valid = (i & 1) != 0 && (i & 2) == 0 && (i & 12) != 4;

        items[0] = (struct wire_mark_item){
            .site = i & 1, .flags = i & 2, .from = i >> 2 & 1, .number = i >> 3};
        mark.count = 1;
        if (valid) {
            assert_int_equal(wire_mark_encode(testing_pool, &mark, &frame), OK);
            buf_unref(frame);
        } else {
            mark_not_encoded(&mark);
        }
    }
}

static void test_mark_golden_and_lies(void **state)
{
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    (void)state;
    assert_int_equal(encode_mark(testing_pool, &frame), OK);
    testing_unused_fields(decode_mark, frame,
                          TESTING_TABLE | TESTING_CODEC | TESTING_EPOCH | TESTING_ORIGIN |
                              TESTING_WEIGHT);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t at = 40 * i;

        testing_refused(decode_mark, frame, at, 4, 0, ERR_MALFORMED);
        testing_refused(decode_mark, frame, at + 12, 4, 2, ERR_MALFORMED);
        testing_refused(decode_mark, frame, at + 12, 4, 1U << 31, ERR_MALFORMED);
        testing_refused(decode_mark, frame, at + 16, 8, UINT64_MAX, ERR_MALFORMED);
    }
    testing_refused(decode_mark, frame, 24, 8, 0, ERR_MALFORMED);
    body = testing_open(frame, &header);
    header.clock = 0;
    assert_int_equal(decode_mark(&header, body, header.body_bytes), ERR_MALFORMED);
    header.clock = 1;
    header.chunk = LIMIT_STREAMS_PER_PEER;
    assert_int_equal(decode_mark(&header, body, header.body_bytes), ERR_MALFORMED);
    header.chunk = 0x10003; /* Not the stream that its low half names. */
    assert_int_equal(decode_mark(&header, body, header.body_bytes), ERR_MALFORMED);
    testing_message(frame, "mark", "mark of two sites, on stream 3; the first to be passed on",
                    decode_mark);
}

/* A list says its length by that of the body: every multiple of an item, and nothing else. */
static void test_a_mark_has_whole_items_and_not_too_many(void **state)
{
    enum { ITEM_BYTES = 40, BYTES = ITEM_BYTES * (WIRE_MARK_ITEMS_MAX + 2) };
    static uint8_t body[BYTES];
    struct wire_header header;
    struct buf *frame;

    (void)state;
    assert_int_equal(encode_mark(testing_pool, &frame), OK);
    (void)testing_open(frame, &header);
    for (uint32_t i = 0; i < BYTES; i += ITEM_BYTES) {
        body[i] = 1;
    }
    for (header.body_bytes = 0; header.body_bytes <= BYTES; header.body_bytes++) {
        bool fits = header.body_bytes > 0 && header.body_bytes % ITEM_BYTES == 0 &&
                    header.body_bytes <= ITEM_BYTES * WIRE_MARK_ITEMS_MAX;

        assert_int_equal(testing_decode_exact(decode_mark, &header, body, header.body_bytes),
                         fits ? OK : ERR_MALFORMED);
    }
    buf_unref(frame);
}

/* Reports. */

static const uint32_t report_away[] = {1, 0x51525354, UINT32_MAX};

static const struct wire_report report_sample = {
    .clock = 0x4142434445464748,
    .number = 0x1112131415161718,
    .floor = 0x0102030405060708,
    .stable = 0x2122232425262728,
    .before = 0x3132333435363738,
    .request = 0x61626364,
    .done = true,
    .away_count = 3,
    .away = report_away,
};

static enum err encode_report(struct buf_pool *pool, struct buf **frame_out)
{
    return wire_report_encode(pool, &report_sample, frame_out);
}

static void report_round_trip(const struct wire_report *report)
{
    struct wire_header header;
    struct wire_report out;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_report_encode(testing_pool, report, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_report_decode(&header, body, header.body_bytes, &out), OK);
    assert_int_equal(out.clock, report->clock);
    assert_int_equal(out.number, report->number);
    assert_int_equal(out.floor, report->floor);
    assert_int_equal(out.stable, report->stable);
    assert_int_equal(out.before, report->before);
    assert_int_equal(out.request, report->request);
    assert_int_equal(out.fresh, report->fresh);
    assert_int_equal(out.done, report->done);
    assert_int_equal(out.knew, report->knew);
    assert_int_equal(out.away_count, report->away_count);
    for (uint32_t i = 0; i < report->away_count; i++) {
        assert_int_equal(wire_report_away(&out, i), wire_report_away(report, i));
    }
    buf_unref(frame);
}

static void test_reports_of_every_length_come_back(void **state)
{
    uint32_t away[WIRE_REPORT_AWAY_MAX];
    struct wire_report report = {0};

    (void)state;
    report_round_trip(&report);
    report_round_trip(&report_sample);
    report = (struct wire_report){
        .clock = UINT64_MAX,
        .number = UINT64_MAX,
        .floor = UINT64_MAX,
        .stable = UINT64_MAX,
        .before = UINT64_MAX,
        .request = UINT32_MAX,
        .away = away,
    };
    for (uint32_t i = 0; i < WIRE_REPORT_AWAY_MAX; i++) {
        away[i] = UINT32_MAX - WIRE_REPORT_AWAY_MAX + 1 + i;
    }
    for (report.away_count = 0; report.away_count <= WIRE_REPORT_AWAY_MAX; report.away_count++) {
        report.fresh = report.away_count % 2 != 0;
        report.done = report.away_count % 3 != 0;
        report.knew = report.away_count % 5 != 0;
        report_round_trip(&report);
    }
}

static void report_not_encoded(const struct wire_report *report)
{
    struct buf *frame = NULL;

    assert_int_equal(wire_report_encode(testing_pool, report, &frame), ERR_INVALID);
    assert_null(frame);
}

static void test_bad_reports_are_not_encoded(void **state)
{
    static uint32_t away[WIRE_REPORT_AWAY_MAX + 1];
    struct wire_report report = report_sample;

    (void)state;
    for (uint32_t i = 0; i <= WIRE_REPORT_AWAY_MAX; i++) {
        away[i] = i + 1;
    }
    report.floor = report.number + 1;
    report_not_encoded(&report);
    report = report_sample;
    report.away = away;
    report.away_count = WIRE_REPORT_AWAY_MAX + 1;
    report_not_encoded(&report);
    report.away_count = 2;
    away[0] = 2;
    report_not_encoded(&report);
    away[0] = 3;
    report_not_encoded(&report);
    away[0] = 0;
    report_not_encoded(&report);
}

static void test_report_golden_and_lies(void **state)
{
    struct buf *frame;

    (void)state;
    assert_int_equal(encode_report(testing_pool, &frame), OK);
    testing_unused_fields(decode_report, frame,
                          TESTING_TABLE | TESTING_CODEC | TESTING_CHUNK | TESTING_EPOCH |
                              TESTING_ORIGIN | TESTING_WEIGHT);
    testing_refused(decode_report, frame, 0, 8, 0, ERR_MALFORMED);
    testing_refused(decode_report, frame, 8, 8, UINT64_MAX, ERR_MALFORMED);
    testing_refused(decode_report, frame, 36, 4, 8, ERR_MALFORMED);
    testing_refused(decode_report, frame, 36, 4, 1U << 31, ERR_MALFORMED);
    testing_exact_count(decode_report, frame, 40, 4);
    testing_refused(decode_report, frame, 40, 4, UINT64_C(1) << 30 | 3, ERR_MALFORMED);
    testing_refused(decode_report, frame, 44, 4, 1, ERR_MALFORMED);
    testing_refused(decode_report, frame, 48, 4, 0, ERR_MALFORMED);
    testing_refused(decode_report, frame, 48, 4, 0x51525354, ERR_MALFORMED);
    testing_refused(decode_report, frame, 56, 4, 0x51525353, ERR_MALFORMED);
    testing_truncate_admitted(decode_report, frame);
    testing_message(frame, "report", "report of a site that is done and does not see three others",
                    decode_report);
}

/* One more than allowed, with a count and a length that agree. */
static void test_a_report_of_too_many_sites_is_refused(void **state)
{
    static uint8_t body[48 + 4 * (WIRE_REPORT_AWAY_MAX + 1)];
    struct wire_header header = {.type = WIRE_REPORT};

    (void)state;
    for (uint32_t i = 0; i <= WIRE_REPORT_AWAY_MAX; i++) {
        bytes_store32(body + 48 + (size_t)4 * i, i + 1);
    }
    for (uint32_t count = 0; count <= WIRE_REPORT_AWAY_MAX + 1; count++) {
        bytes_store32(body + 40, count);
        header.body_bytes = 48 + 4 * count;
        assert_int_equal(testing_decode_exact(decode_report, &header, body, header.body_bytes),
                         count <= WIRE_REPORT_AWAY_MAX ? OK : ERR_MALFORMED);
    }
}

/* Barriers. */

static const uint8_t barrier_list[] = {2, 0, 0, 0, 1, 0, 5, 0};

static const struct wire_barrier barrier_sample = {
    .table = 0x0102,
    .codec = WIRE_CODEC_LIST,
    .chunk = 0x11121314,
    .origin = 0x31323334,
    .clock = 0x4142434445464748,
    .index_bytes = sizeof(barrier_list),
    .index = barrier_list,
    .range_count = 2,
    .ranges = mirror_ranges,
};

static enum err encode_barrier(struct buf_pool *pool, struct buf **frame_out)
{
    return wire_barrier_encode(pool, &barrier_sample, frame_out);
}

static void barrier_round_trip(const struct wire_barrier *barrier)
{
    struct wire_header header;
    struct wire_barrier out;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_barrier_encode(testing_pool, barrier, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_barrier_decode(&header, body, header.body_bytes, &out), OK);
    assert_int_equal(out.table, barrier->table);
    assert_int_equal(out.codec, barrier->codec);
    assert_int_equal(out.chunk, barrier->chunk);
    assert_int_equal(out.origin, barrier->origin);
    assert_int_equal(out.groups, barrier->groups);
    assert_int_equal(out.clock, barrier->clock);
    assert_int_equal(out.index_bytes, barrier->index_bytes);
    if (barrier->index_bytes > 0) {
        assert_memory_equal(out.index, barrier->index, out.index_bytes);
    }
    assert_ranges_equal(out.ranges, out.range_count, barrier->ranges, barrier->range_count);
    buf_unref(frame);
}

static void barrier_not_encoded(const struct wire_barrier *barrier)
{
    struct buf *frame = NULL;

    assert_int_equal(wire_barrier_encode(testing_pool, barrier, &frame), ERR_INVALID);
    assert_null(frame);
}

static void test_barriers_of_every_codec_come_back(void **state)
{
    struct wire_range many[WIRE_RANGES_MAX];
    struct wire_barrier barrier = barrier_sample;

    (void)state;
    for (uint16_t codec = WIRE_CODEC_F32 + 1; codec < WIRE_CODECS_DELTA; codec++) {
        barrier.codec = codec;
        barrier_round_trip(&barrier);
    }
    barrier.groups = 0x21222324;
    barrier_round_trip(&barrier);
    barrier.codec = WIRE_CODEC_F32;
    barrier.index_bytes = 0;
    barrier.index = NULL;
    barrier_round_trip(&barrier);
    for (uint32_t i = 0; i < WIRE_RANGES_MAX; i++) {
        many[i] = (struct wire_range){1 + i, i, UINT64_MAX - i};
    }
    barrier = (struct wire_barrier){WIRE_TABLE_PLANE - 1,
                                    WIRE_CODEC_BITMAP,
                                    UINT32_MAX,
                                    UINT32_MAX,
                                    UINT32_MAX,
                                    UINT64_MAX,
                                    LIMIT_CHUNK_ELEMENTS / 8,
                                    testing_payload,
                                    WIRE_RANGES_MAX,
                                    many};
    barrier_round_trip(&barrier);
    barrier.index_bytes = WIRE_BARRIER_INDEX_BYTES_MAX;
    barrier_round_trip(&barrier);
    barrier.index_bytes++;
    barrier_not_encoded(&barrier);
    barrier.index_bytes = UINT32_MAX;
    barrier_not_encoded(&barrier);
}

/* In what is given to the encoder and in what comes from a peer. */
static void barrier_refuse(const struct wire_barrier *barrier)
{
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    barrier_not_encoded(barrier);
    assert_int_equal(encode_barrier(testing_pool, &frame), OK);
    body = testing_open(frame, &header);
    header.table = barrier->table;
    header.codec = barrier->codec;
    header.origin = barrier->origin;
    assert_int_equal(testing_decode_exact(decode_barrier, &header, body, header.body_bytes),
                     ERR_MALFORMED);
    buf_unref(frame);
}

static void test_a_barrier_that_no_site_writes_is_refused(void **state)
{
    struct wire_barrier barrier = barrier_sample;

    (void)state;
    barrier.table |= WIRE_TABLE_PLANE;
    barrier_refuse(&barrier);
    barrier = barrier_sample;
    barrier.origin = 0;
    barrier_refuse(&barrier);
    barrier = barrier_sample;
    barrier.codec = WIRE_CODECS_DELTA;
    barrier_refuse(&barrier);
    barrier.codec = WIRE_CODEC_F32; /* All elements, and some. */
    barrier_refuse(&barrier);
    barrier = barrier_sample;
    barrier.index_bytes = 0;
    barrier_not_encoded(&barrier);
    barrier = barrier_sample;
    barrier.range_count = 0;
    barrier_not_encoded(&barrier);
    barrier.range_count = WIRE_RANGES_MAX + 1;
    barrier_not_encoded(&barrier);
}

static void test_barrier_golden_and_lies(void **state)
{
    static const uint8_t bitmap[] = {0x22, 0, 0, 0, 0, 0, 0, 0};
    struct wire_barrier barrier = barrier_sample;
    struct buf *frame;

    (void)state;
    assert_int_equal(encode_barrier(testing_pool, &frame), OK);
    testing_unused_fields(decode_barrier, frame, TESTING_WEIGHT);
    testing_refused(decode_barrier, frame, 8 + 4, 4, 1, ERR_MALFORMED);
    testing_refused(decode_barrier, frame, 8 + 8, 8, UINT64_MAX, ERR_MALFORMED);
    testing_refused(decode_barrier, frame, 8 + 24, 4, 1, ERR_MALFORMED);
    /* One range less would be a longer index, which is opaque here. */
    testing_refused(decode_barrier, frame, 8 + 48, 4, 0, ERR_MALFORMED);
    testing_refused(decode_barrier, frame, 8 + 48, 4, 3, ERR_MALFORMED);
    testing_refused(decode_barrier, frame, 8 + 48, 4, UINT32_MAX, ERR_MALFORMED);
    testing_refused(decode_barrier, frame, 8 + 52, 4, 1, ERR_MALFORMED);
    testing_cut_admitted(decode_barrier, frame);
    testing_message(frame, "barrier", "barrier for two elements, named by a list", decode_barrier);
    barrier.groups = 0x21222324;
    assert_int_equal(wire_barrier_encode(testing_pool, &barrier, &frame), OK);
    testing_message(frame, "barrier_groups", "barrier for two elements, to be passed on to groups",
                    decode_barrier);
    barrier.groups = 0;
    barrier.codec = WIRE_CODEC_BITMAP;
    barrier.index = bitmap;
    assert_int_equal(wire_barrier_encode(testing_pool, &barrier, &frame), OK);
    testing_message(frame, "barrier_bitmap", "barrier for two elements of at most 64: a bitmap",
                    decode_barrier);
    barrier.codec = WIRE_CODEC_BITMAP_I8;
    assert_int_equal(wire_barrier_encode(testing_pool, &barrier, &frame), OK);
    testing_message(frame, "barrier_bitmap_i8",
                    "barrier for two elements of at most 64, whose changes are in a byte each",
                    decode_barrier);
    barrier.codec = WIRE_CODEC_F32;
    barrier.index_bytes = 0;
    assert_int_equal(wire_barrier_encode(testing_pool, &barrier, &frame), OK);
    testing_exact_count(decode_barrier, frame, 48, 4);
    testing_cut_admitted(decode_barrier, frame);
    testing_message(frame, "barrier_all", "barrier for all elements of a chunk", decode_barrier);
}

/* With a list that is as long as it may be there is no room for an index beyond its limit; with a
 * shorter one there is, and it is refused all the same. */
static void test_an_index_beyond_its_limit_is_refused(void **state)
{
    static uint8_t body[WIRE_BARRIER_INDEX_BYTES_MAX + 64];
    struct wire_header header = {.type = WIRE_BARRIER, .codec = WIRE_CODEC_LIST, .origin = 1};
    uint32_t tail_bytes = wire_ranges_bytes(1);

    (void)state;
    for (uint32_t more = 0; more < 8; more++) {
        uint32_t index_bytes = WIRE_BARRIER_INDEX_BYTES_MAX - 2 + more;

        wire_ranges_write(mirror_ranges, 1, body + index_bytes);
        header.body_bytes = index_bytes + tail_bytes;
        assert_true(header.body_bytes <= wire_type_info(WIRE_BARRIER)->body_bytes_max);
        assert_int_equal(testing_decode_exact(decode_barrier, &header, body, header.body_bytes),
                         more <= 2 ? OK : ERR_MALFORMED);
    }
}

/* Copies. */

static const struct wire_range copy_ranges[] = {{0x51525354, 0, 0x7172737475767778},
                                                {UINT32_MAX, 0, UINT64_MAX}};

static enum err encode_copy(struct buf_pool *pool, struct buf **frame_out)
{
    struct wire_copy copy = {testing_chunk_small(0), 2, copy_ranges};

    return wire_copy_encode(pool, &copy, frame_out);
}

static void copy_round_trip(const struct wire_copy *copy)
{
    struct wire_header header;
    struct wire_copy out;
    const uint8_t *body;
    struct buf *filled;
    struct buf *frame;

    assert_int_equal(wire_copy_encode(testing_pool, copy, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_copy_decode(&header, body, header.body_bytes, &out), OK);
    assert_chunk_equal(&out.chunk, &copy->chunk);
    assert_ptr_equal(out.chunk.payload, body);
    assert_ranges_equal(out.ranges, out.range_count, copy->ranges, copy->range_count);
    assert_int_equal(wire_chunk_take(testing_pool, copy->chunk.payload_bytes, &filled), OK);
    memcpy(buf_bytes(filled), copy->chunk.payload, copy->chunk.payload_bytes);
    wire_copy_seal(filled, &out);
    assert_int_equal(buf_size(filled), buf_size(frame));
    assert_memory_equal(buf_bytes(filled), buf_bytes(frame), buf_size(frame));
    buf_unref(filled);
    buf_unref(frame);
}

static void test_copies_come_back(void **state)
{
    struct wire_copy copy = {.chunk = testing_chunk_small(0)};
    struct wire_range many[WIRE_RANGES_MAX];

    (void)state;
    copy_round_trip(&copy);
    for (uint32_t i = 0; i < WIRE_RANGES_MAX; i++) {
        /* Of some sites there is nothing in it yet. */
        many[i] = (struct wire_range){1 + i, 0, i % 2 == 0 ? 0 : UINT64_MAX - i};
    }
    copy.chunk = testing_chunk_extreme(0);
    copy.chunk.table = WIRE_TABLE_PLANE - 1;
    copy.chunk.codec = WIRE_CODEC_F32;
    copy.ranges = many;
    for (copy.range_count = 0; copy.range_count <= WIRE_RANGES_MAX; copy.range_count += 8) {
        copy_round_trip(&copy);
    }
}

/* In what is given to the encoder and in what comes from a peer. */
static void copy_refuse(const struct wire_chunk *chunk)
{
    struct wire_copy copy = {*chunk, 2, copy_ranges};
    struct buf *refused = NULL;
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_copy_encode(testing_pool, &copy, &refused), ERR_INVALID);
    assert_null(refused);
    assert_int_equal(encode_copy(testing_pool, &frame), OK);
    body = testing_open(frame, &header);
    header.table = chunk->table;
    header.codec = chunk->codec;
    header.origin = chunk->origin;
    header.weight = chunk->weight;
    assert_int_equal(testing_decode_exact(decode_copy, &header, body, header.body_bytes),
                     ERR_MALFORMED);
    buf_unref(frame);
}

static void test_a_copy_that_no_site_writes_is_refused(void **state)
{
    struct wire_copy copy = {testing_chunk_small(0), 2, mirror_ranges};
    struct wire_chunk chunk = testing_chunk_small(1);
    struct buf *frame = NULL;

    (void)state;
    copy_refuse(&chunk);
    chunk = testing_chunk_small(0);
    chunk.table |= WIRE_TABLE_PLANE;
    copy_refuse(&chunk);
    chunk = testing_chunk_small(0);
    chunk.origin = 0;
    copy_refuse(&chunk);
    for (uint16_t codec = 1; codec <= WIRE_CODECS_DELTA; codec++) {
        chunk = testing_chunk_small(0);
        chunk.codec = codec;
        copy_refuse(&chunk);
    }
    assert_int_equal(wire_copy_encode(testing_pool, &copy, &frame), ERR_INVALID); /* .prev */
    copy.range_count = WIRE_RANGES_MAX + 1;
    assert_int_equal(wire_copy_encode(testing_pool, &copy, &frame), ERR_INVALID);
    copy.range_count = 0;
    copy.chunk.payload_bytes = 0;
    assert_int_equal(wire_copy_encode(testing_pool, &copy, &frame), ERR_INVALID);
    assert_null(frame);
}

static void test_copy_golden_and_lies(void **state)
{
    struct buf *frame;

    (void)state;
    assert_int_equal(encode_copy(testing_pool, &frame), OK);
    testing_weight(decode_copy, frame, false);
    testing_refused(decode_copy, frame, 12, 4, 0, ERR_MALFORMED);
    testing_refused(decode_copy, frame, 12 + 4, 4, 1, ERR_MALFORMED);
    testing_refused(decode_copy, frame, 12 + 8, 8, 1, ERR_MALFORMED);
    testing_refused(decode_copy, frame, 12 + 24, 4, 0x51525354, ERR_MALFORMED);
    testing_refused(decode_copy, frame, 12 + 24 + 8, 8, UINT64_MAX, ERR_MALFORMED);
    testing_refused(decode_copy, frame, 12 + 48, 4, WIRE_RANGES_MAX + 1, ERR_MALFORMED);
    testing_refused(decode_copy, frame, 12 + 52, 4, 1, ERR_MALFORMED);
    testing_message(frame, "copy",
                    "copy of three floats (1, -2, 0.5), with what it has of two sites",
                    decode_copy);
}

/* A short tail may turn up inside of a longer one, but never a payload that is no list of floats.
 */
static void test_sizes_of_a_copy(void **state)
{
    static const uint32_t sizes[] = {
        0, 1, 3, 4, 6, 8, LIMIT_CHUNK_BYTES - 4, LIMIT_CHUNK_BYTES, LIMIT_CHUNK_BYTES + 4};
    static uint8_t body[LIMIT_CHUNK_BYTES + 64];
    struct wire_header header = {.type = WIRE_COPY, .origin = 1};

    (void)state;
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        bool fits = sizes[i] > 0 && sizes[i] <= LIMIT_CHUNK_BYTES && sizes[i] % 4 == 0;

        for (uint32_t count = 0; count < 2; count++) {
            memset(body, 0xff, sizeof(body));
            wire_ranges_write(copy_ranges, count, body + sizes[i]);
            header.body_bytes = sizes[i] + wire_ranges_bytes(count);
            assert_int_equal(testing_decode_exact(decode_copy, &header, body, header.body_bytes),
                             fits ? OK : ERR_MALFORMED);
            assert_int_equal(testing_decode_exact(decode_copy, &header, body, 7), ERR_MALFORMED);
        }
    }
}

static void test_without_memory_there_is_no_frame(void **state)
{
    static testing_encode *const encoders[] = {encode_mark, encode_report, encode_barrier,
                                               encode_copy};

    (void)state;
    for (uint32_t i = 0; i < sizeof(encoders) / sizeof(encoders[0]); i++) {
        testing_no_memory(encoders[i]);
        testing_no_buffer(encoders[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks_of_every_length_come_back),
        cmocka_unit_test(test_bad_marks_are_not_encoded),
        cmocka_unit_test(test_mark_golden_and_lies),
        cmocka_unit_test(test_a_mark_has_whole_items_and_not_too_many),
        cmocka_unit_test(test_reports_of_every_length_come_back),
        cmocka_unit_test(test_bad_reports_are_not_encoded),
        cmocka_unit_test(test_report_golden_and_lies),
        cmocka_unit_test(test_a_report_of_too_many_sites_is_refused),
        cmocka_unit_test(test_barriers_of_every_codec_come_back),
        cmocka_unit_test(test_a_barrier_that_no_site_writes_is_refused),
        cmocka_unit_test(test_barrier_golden_and_lies),
        cmocka_unit_test(test_an_index_beyond_its_limit_is_refused),
        cmocka_unit_test(test_copies_come_back),
        cmocka_unit_test(test_a_copy_that_no_site_writes_is_refused),
        cmocka_unit_test(test_copy_golden_and_lies),
        cmocka_unit_test(test_sizes_of_a_copy),
        cmocka_unit_test(test_without_memory_there_is_no_frame),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
