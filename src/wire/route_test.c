/* route: sums, results, whole chunks and notes come back as they were; ways with loops, ends that
 * are missing and lists that lie are refused. */

#include "wire/route.h"

#include "wire/testing_chunk.h"

enum {
    PAYLOAD_BYTES = 12,
    LISTED_BYTES = 16,
    TYPES = 3,
};

static const enum wire_type route_types[TYPES] = {WIRE_SUM, WIRE_RESULT, WIRE_WHOLE};
static const uint32_t route_sites[] = {0x31323334, 0xd1d2d3d4, 0x51525354}; /* In no order. */
static const struct wire_listed route_listed[] = {{0x31323334, 0x4142434445464748},
                                                  {0x51525354, 0x6162636465666768}};

static enum err decode_routed(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_routed out;

    return wire_routed_decode(header, body, size, &out);
}

static enum err decode_note(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_note out;

    return wire_note_decode(header, body, size, &out);
}

static enum err find_route(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_route out;

    (void)header;
    return wire_route_find(body, size, &out);
}

static struct wire_routed some(enum wire_type type)
{
    return (struct wire_routed){
        .chunk = testing_chunk_small(type == WIRE_WHOLE ? 0 : 7),
        .route = {3, route_sites},
        .listed_count = type == WIRE_SUM ? 0 : 2,
        .listed = route_listed,
    };
}

static struct wire_note some_note(void)
{
    return (struct wire_note){
        .kind = WIRE_NOTE_HAVE,
        .epoch = 0x21222324,
        .origin = 0x31323334,
        .route = {3, route_sites},
        .size = 5,
        .bytes = (const uint8_t *)"notes",
    };
}

static enum err encode_result(struct buf_pool *pool, struct buf **frame_out)
{
    struct wire_routed routed = some(WIRE_RESULT);

    return wire_routed_encode(pool, WIRE_RESULT, &routed, frame_out);
}

static enum err encode_note(struct buf_pool *pool, struct buf **frame_out)
{
    struct wire_note note = some_note();

    return wire_note_encode(pool, &note, frame_out);
}

static struct buf *take(enum wire_type type)
{
    struct wire_routed routed = some(type);
    struct buf *frame;

    assert_int_equal(wire_routed_encode(testing_pool, type, &routed, &frame), OK);
    return frame;
}

static void assert_route_equal(const struct wire_route *a, const struct wire_route *b)
{
    assert_int_equal(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        assert_int_equal(wire_route_site(a, i), wire_route_site(b, i));
    }
}

/* The way is found by those who do not look at the rest. */
static void assert_found(const uint8_t *body, uint32_t size, const struct wire_route *route)
{
    struct wire_route found;

    assert_int_equal(wire_route_find(body, size, &found), OK);
    assert_route_equal(&found, route);
}

static void round_trip(enum wire_type type, const struct wire_routed *routed)
{
    struct wire_header header;
    struct wire_routed out;
    const uint8_t *body;
    struct buf *filled;
    struct buf *frame;

    assert_int_equal(wire_routed_encode(testing_pool, type, routed, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(header.type, type);
    assert_int_equal(wire_routed_decode(&header, body, header.body_bytes, &out), OK);
    assert_chunk_equal(&out.chunk, &routed->chunk);
    assert_ptr_equal(out.chunk.payload, body);
    assert_route_equal(&out.route, &routed->route);
    assert_found(body, header.body_bytes, &routed->route);
    assert_int_equal(out.listed_count, routed->listed_count);
    for (uint32_t i = 0; i < out.listed_count; i++) {
        assert_int_equal(wire_listed(out.listed, i).site, wire_listed(routed->listed, i).site);
        assert_int_equal(wire_listed(out.listed, i).round, wire_listed(routed->listed, i).round);
    }
    assert_int_equal(wire_chunk_take(testing_pool, out.chunk.payload_bytes, &filled), OK);
    memcpy(buf_bytes(filled), out.chunk.payload, out.chunk.payload_bytes);
    wire_routed_seal(filled, type, &out);
    assert_int_equal(buf_size(filled), buf_size(frame));
    assert_memory_equal(buf_bytes(filled), buf_bytes(frame), buf_size(frame));
    buf_unref(filled);
    buf_unref(frame);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < TYPES; i++) {
        struct wire_routed routed = some(route_types[i]);

        round_trip(route_types[i], &routed);
    }
}

static void test_ways_and_lists_of_every_length_come_back(void **state)
{
    struct wire_listed listed[WIRE_ROUTE_LISTED_MAX];
    uint32_t sites[WIRE_ROUTE_SITES_MAX];

    (void)state;
    for (uint32_t i = 0; i < WIRE_ROUTE_LISTED_MAX; i++) {
        listed[i] =
            (struct wire_listed){UINT32_MAX - WIRE_ROUTE_LISTED_MAX + 1 + i, UINT64_MAX - i};
    }
    for (uint32_t i = 0; i < WIRE_ROUTE_SITES_MAX; i++) {
        sites[i] = UINT32_MAX - i;
    }
    for (uint32_t count = 2; count <= WIRE_ROUTE_SITES_MAX; count++) {
        for (uint32_t listed_count = 0; listed_count <= WIRE_ROUTE_LISTED_MAX; listed_count++) {
            struct wire_routed routed = some(WIRE_WHOLE);

            routed.chunk.origin = UINT32_MAX;
            routed.route = (struct wire_route){count, sites};
            routed.listed_count = listed_count;
            routed.listed = listed;
            round_trip(WIRE_WHOLE, &routed);
            if (listed_count > 0) {
                routed.chunk.weight = listed_count;
                round_trip(WIRE_RESULT, &routed);
            }
        }
    }
}

/* Encoded payloads have any length, so that what is behind them is not aligned. */
static void test_extremes_come_back(void **state)
{
    static const uint32_t sites[] = {UINT32_MAX, 1};

    (void)state;
    for (uint32_t bytes = 1; bytes < 18; bytes++) {
        for (uint32_t i = 0; i < 2; i++) {
            struct wire_routed routed = some(route_types[i]);

            routed.chunk = testing_chunk_extreme(UINT32_MAX);
            routed.chunk.table = WIRE_TABLE_PLANE - 1;
            routed.chunk.payload_bytes = bytes == 17 ? LIMIT_CHUNK_BYTES : bytes;
            routed.route = (struct wire_route){2, sites};
            round_trip(route_types[i], &routed);
        }
    }
}

static void test_a_whole_chunk_may_be_a_plane(void **state)
{
    struct wire_routed routed = some(WIRE_WHOLE);

    (void)state;
    routed.chunk.table |= WIRE_TABLE_PLANE;
    routed.chunk.clock = 0;
    round_trip(WIRE_WHOLE, &routed);
}

/* A round that has nothing is told in a note. */
static void test_a_result_has_updates_of_sites(void **state)
{
    struct wire_routed routed = some(WIRE_RESULT);
    struct buf *frame = NULL;

    (void)state;
    routed.chunk.weight = 0;
    assert_int_equal(wire_routed_encode(testing_pool, WIRE_RESULT, &routed, &frame), ERR_INVALID);
    routed.listed_count = 0;
    assert_int_equal(wire_routed_encode(testing_pool, WIRE_RESULT, &routed, &frame), ERR_INVALID);
    routed.chunk.weight = 1;
    assert_int_equal(wire_routed_encode(testing_pool, WIRE_RESULT, &routed, &frame), ERR_INVALID);
    assert_null(frame);
}

/* What the struct has between its fields does not leave the machine. */
static void test_the_hole_in_the_struct_is_written_as_zeros(void **state)
{
    struct wire_routed routed = some(WIRE_RESULT);
    struct wire_listed listed[2];
    struct buf *frame;
    struct buf *clean = take(WIRE_RESULT);

    (void)state;
    memset(listed, 0xa5, sizeof(listed));
    for (uint32_t i = 0; i < 2; i++) {
        listed[i].site = route_listed[i].site;
        listed[i].round = route_listed[i].round;
    }
    routed.listed = listed;
    assert_int_equal(wire_routed_encode(testing_pool, WIRE_RESULT, &routed, &frame), OK);
    assert_int_equal(buf_size(frame), buf_size(clean));
    assert_memory_equal(buf_bytes(frame), buf_bytes(clean), buf_size(clean));
    buf_unref(clean);
    buf_unref(frame);
}

/* In what is given to the encoder, and in what comes from a peer. */
static void refuse(enum wire_type type, const struct wire_chunk *chunk)
{
    struct wire_routed routed = some(type);
    struct buf *frame = take(type);
    struct buf *refused = NULL;
    struct wire_header header;
    const uint8_t *body = testing_open(frame, &header);

    header.table = chunk->table;
    header.codec = chunk->codec;
    header.epoch = chunk->epoch;
    header.origin = chunk->origin;
    header.weight = chunk->weight;
    assert_int_equal(testing_decode_exact(decode_routed, &header, body, header.body_bytes),
                     ERR_MALFORMED);
    buf_unref(frame);
    routed.chunk = *chunk;
    assert_int_equal(wire_routed_encode(testing_pool, type, &routed, &refused), ERR_INVALID);
    assert_null(refused);
}

static void test_a_header_that_no_site_writes_is_refused(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < TYPES; i++) {
        enum wire_type type = route_types[i];
        struct wire_chunk chunk = some(type).chunk;

        chunk.epoch = 0;
        refuse(type, &chunk);
        chunk = some(type).chunk;
        chunk.origin = 0;
        refuse(type, &chunk);
        chunk.origin = 0x51525354; /* Of the way, but not the first. */
        refuse(type, &chunk);
        chunk = some(type).chunk;
        chunk.weight = type == WIRE_WHOLE ? 1 : 0;
        refuse(type, &chunk);
        chunk = some(type).chunk;
        chunk.codec = type == WIRE_WHOLE ? WIRE_CODEC_LIST : WIRE_CODECS;
        refuse(type, &chunk);
        if (type != WIRE_WHOLE) {
            chunk = some(type).chunk;
            chunk.table |= WIRE_TABLE_PLANE;
            refuse(type, &chunk);
        }
    }
}

static void test_a_chunk_of_no_size_is_not_encoded(void **state)
{
    struct wire_routed routed = some(WIRE_SUM);
    struct buf *frame = NULL;

    (void)state;
    routed.chunk.payload_bytes = 0;
    assert_int_equal(wire_routed_encode(testing_pool, WIRE_SUM, &routed, &frame), ERR_INVALID);
    routed.chunk.payload_bytes = 7;
    assert_int_equal(wire_routed_encode(testing_pool, WIRE_SUM, &routed, &frame), ERR_INVALID);
    routed = some(WIRE_SUM);
    assert_int_equal(wire_routed_encode(testing_pool, WIRE_DELTA, &routed, &frame), ERR_INVALID);
    assert_null(frame);
}

/* Neither as a chunk nor as a note. */
static void refuse_way(uint32_t count, const uint32_t *sites)
{
    struct wire_routed routed = some(WIRE_SUM);
    struct wire_note note = some_note();
    struct buf *frame = NULL;

    routed.route = (struct wire_route){count, sites};
    routed.chunk.origin = sites[0];
    assert_int_equal(wire_routed_encode(testing_pool, WIRE_SUM, &routed, &frame), ERR_INVALID);
    note.route = routed.route;
    note.origin = sites[0];
    assert_int_equal(wire_note_encode(testing_pool, &note, &frame), ERR_INVALID);
    assert_null(frame);
}

static void test_bad_ways_are_not_encoded(void **state)
{
    uint32_t sites[WIRE_ROUTE_SITES_MAX + 1];

    (void)state;
    for (uint32_t i = 0; i <= WIRE_ROUTE_SITES_MAX; i++) {
        sites[i] = 100 - i;
    }
    refuse_way(0, sites);
    refuse_way(1, sites);
    refuse_way(WIRE_ROUTE_SITES_MAX + 1, sites);
    refuse_way(UINT32_MAX, sites);
    for (uint32_t i = 0; i < WIRE_ROUTE_SITES_MAX; i++) {
        sites[i] = 0;
        refuse_way(WIRE_ROUTE_SITES_MAX, sites);
        sites[i] = 100 - (i + 1) % WIRE_ROUTE_SITES_MAX; /* As another one. */
        refuse_way(WIRE_ROUTE_SITES_MAX, sites);
        sites[i] = 100 - i;
    }
}

static void refuse_list(enum wire_type type, uint32_t count, const struct wire_listed *listed)
{
    struct wire_routed routed = some(type);
    struct buf *frame = NULL;

    routed.listed_count = count;
    routed.listed = listed;
    assert_int_equal(wire_routed_encode(testing_pool, type, &routed, &frame), ERR_INVALID);
    assert_null(frame);
}

static void test_bad_lists_are_not_encoded(void **state)
{
    struct wire_listed listed[WIRE_ROUTE_LISTED_MAX + 1];

    (void)state;
    for (uint32_t i = 0; i <= WIRE_ROUTE_LISTED_MAX; i++) {
        listed[i] = (struct wire_listed){1 + i, 1};
    }
    refuse_list(WIRE_SUM, 1, listed);
    for (uint32_t i = 1; i < TYPES; i++) {
        refuse_list(route_types[i], WIRE_ROUTE_LISTED_MAX + 1, listed);
        refuse_list(route_types[i], UINT32_MAX, listed);
        listed[0].site = 0;
        refuse_list(route_types[i], WIRE_ROUTE_LISTED_MAX, listed);
        listed[0].site = 2;
        refuse_list(route_types[i], WIRE_ROUTE_LISTED_MAX, listed);
        listed[0].site = 1;
        listed[WIRE_ROUTE_LISTED_MAX - 1].site = WIRE_ROUTE_LISTED_MAX - 2;
        refuse_list(route_types[i], WIRE_ROUTE_LISTED_MAX, listed);
        listed[WIRE_ROUTE_LISTED_MAX - 1].site = WIRE_ROUTE_LISTED_MAX;
    }
}

/* The way of three sites is at @at, the counts behind it. */
static void refuse_ways(testing_decode *decode, const struct buf *frame, uint32_t at)
{
    static const uint32_t counts[] = {0, 1, WIRE_ROUTE_SITES_MAX + 1, 1U << 31, UINT32_MAX};

    for (uint32_t i = 0; i < 3; i++) {
        testing_refused(decode, frame, at + 4 * i, 4, 0, ERR_MALFORMED);
        testing_refused(decode, frame, at + 4 * i, 4, route_sites[(i + 1) % 3], ERR_MALFORMED);
        testing_refused(decode, frame, at + 4 * i, 4, route_sites[(i + 2) % 3], ERR_MALFORMED);
    }
    for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        testing_refused(decode, frame, at + 16, 4, counts[i], ERR_MALFORMED);
    }
    testing_refused(decode, frame, at + 12, 4, WIRE_ROUTE_LISTED_MAX + 1, ERR_MALFORMED);
    testing_refused(decode, frame, at + 12, 4, WIRE_ROUTE_LISTED_MAX, ERR_MALFORMED);
    testing_refused(decode, frame, at + 12, 4, UINT32_MAX, ERR_MALFORMED);
}

static void test_bad_ways_are_refused(void **state)
{
    struct buf *note;

    (void)state;
    for (uint32_t i = 0; i < TYPES; i++) {
        uint32_t at = PAYLOAD_BYTES + LISTED_BYTES * some(route_types[i]).listed_count;
        struct buf *frame = take(route_types[i]);

        refuse_ways(decode_routed, frame, at);
        refuse_ways(find_route, frame, at);
        /* Not the way of the site that made it. */
        testing_refused(decode_routed, frame, at, 4, 77, ERR_MALFORMED);
        testing_refused(decode_routed, frame, at + 16, 4, 2, ERR_MALFORMED);
        buf_unref(frame);
    }
    assert_int_equal(encode_note(testing_pool, &note), OK);
    refuse_ways(decode_note, note, 5);
    testing_refused(decode_note, note, 5, 4, 77, ERR_MALFORMED);
    testing_refused(decode_note, note, 5 + 12, 4, 1, ERR_MALFORMED); /* It has no list. */
    buf_unref(note);
}

static void test_bad_lists_are_refused(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < TYPES; i++) {
        struct buf *frame = take(route_types[i]);
        uint32_t at = PAYLOAD_BYTES;
        uint32_t end = at + LISTED_BYTES * 2 + 4 * 3;

        testing_refused(decode_routed, frame, at, 4, 0, ERR_MALFORMED);
        testing_refused(decode_routed, frame, at, 4, 0x51525354, ERR_MALFORMED);
        testing_refused(decode_routed, frame, at, 4, UINT32_MAX, ERR_MALFORMED);
        testing_refused(decode_routed, frame, at + LISTED_BYTES, 4, 0x31323334, ERR_MALFORMED);
        testing_refused(decode_routed, frame, at + LISTED_BYTES, 4, 1, ERR_MALFORMED);
        for (uint32_t item = 0; item < 2; item++) {
            testing_refused(decode_routed, frame, at + LISTED_BYTES * item + 4, 4, 1,
                            ERR_MALFORMED);
            testing_refused(decode_routed, frame, at + LISTED_BYTES * item + 4, 4, 1U << 31,
                            ERR_MALFORMED);
        }
        testing_refused(decode_routed, frame, end, 4, 3, ERR_MALFORMED); /* More than there is. */
        buf_unref(frame);
    }
}

/* A sum that says that it has a list of what is the end of its payload. */
static void test_a_sum_with_a_list_is_refused(void **state)
{
    struct wire_routed routed = some(WIRE_SUM);
    uint32_t payload[8] = {1, 0, 0, 0, 1, 0, 0, 0};
    struct buf *frame;

    (void)state;
    routed.chunk.payload = (const uint8_t *)payload;
    routed.chunk.payload_bytes = sizeof(payload);
    assert_int_equal(wire_routed_encode(testing_pool, WIRE_SUM, &routed, &frame), OK);
    testing_refused(decode_routed, frame, sizeof(payload) + 12, 4, 1, ERR_MALFORMED);
    buf_unref(frame);
}

static void test_golden_and_lies(void **state)
{
    static const char *const names[TYPES] = {"sum", "result", "whole"};
    static const char *const about[TYPES] = {
        "sum of three floats (1, -2, 0.5), by way of a third site",
        "result of three floats (1, -2, 0.5), with the sums of two sites, by way of a third one",
        "whole chunk of three floats (1, -2, 0.5), with the sums of two sites, by way of a third",
    };

    (void)state;
    for (uint32_t i = 0; i < TYPES; i++) {
        uint32_t listed_count = some(route_types[i]).listed_count;
        struct buf *frame = take(route_types[i]);

        if (route_types[i] != WIRE_WHOLE) {
            testing_payload_sizes(decode_routed, frame, LISTED_BYTES * listed_count + 4 * 3 + 8);
            testing_weight(decode_routed, frame, true);
        } else {
            testing_weight(decode_routed, frame, false);
        }
        testing_cut_admitted(decode_routed, frame);
        testing_message(frame, names[i], about[i], decode_routed);
    }
}

/* A whole chunk is raw: nothing but the limit and the size of a float is judged. */
static void test_whole_chunks_have_the_sizes_of_chunks(void **state)
{
    static const uint32_t sizes[] = {4, 64, LIMIT_CHUNK_BYTES};
    static const uint32_t bad[] = {0, 1, 6, LIMIT_CHUNK_BYTES - 1, LIMIT_CHUNK_BYTES + 4};
    struct wire_routed routed = some(WIRE_WHOLE);
    struct buf *frame = NULL;

    (void)state;
    routed.chunk.payload = testing_payload;
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        routed.chunk.payload_bytes = sizes[i];
        round_trip(WIRE_WHOLE, &routed);
    }
    for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        routed.chunk.payload_bytes = bad[i];
        assert_int_equal(wire_routed_encode(testing_pool, WIRE_WHOLE, &routed, &frame),
                         ERR_INVALID);
    }
    assert_null(frame);
}

static void note_round_trip(const struct wire_note *note)
{
    struct wire_header header;
    struct wire_note out;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_note_encode(testing_pool, note, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_note_decode(&header, body, header.body_bytes, &out), OK);
    assert_int_equal(out.kind, note->kind);
    assert_int_equal(out.epoch, note->epoch);
    assert_int_equal(out.origin, note->origin);
    assert_int_equal(out.size, note->size);
    assert_memory_equal(out.bytes, note->bytes, note->size);
    assert_route_equal(&out.route, &note->route);
    assert_found(body, header.body_bytes, &note->route);
    buf_unref(frame);
}

static void test_notes_of_every_kind_come_back(void **state)
{
    uint32_t sites[WIRE_ROUTE_SITES_MAX];

    (void)state;
    for (uint32_t i = 0; i < WIRE_ROUTE_SITES_MAX; i++) {
        sites[i] = 1 + i * 5 % WIRE_ROUTE_SITES_MAX;
    }
    for (uint32_t kind = 0; kind < WIRE_NOTES; kind++) {
        for (uint32_t count = 2; count <= WIRE_ROUTE_SITES_MAX; count++) {
            struct wire_note note = {
                .kind = (enum wire_note_kind)kind,
                .epoch = 1,
                .origin = 1,
                .route = {count, sites},
                .size = count == 2    ? 0
                        : count == 16 ? WIRE_NOTE_BYTES_MAX
                                      : count,
                .bytes = testing_payload,
            };

            note_round_trip(&note);
        }
    }
}

static void refuse_note(const struct wire_note *note)
{
    struct buf *frame = NULL;

    assert_int_equal(wire_note_encode(testing_pool, note, &frame), ERR_INVALID);
    assert_null(frame);
}

static void test_bad_notes_are_not_encoded(void **state)
{
    struct wire_note note = some_note();

    (void)state;
    note.kind = WIRE_NOTES;
    refuse_note(&note);
    note.kind = (enum wire_note_kind)(1 << 16); /* More than the header has. */
    refuse_note(&note);
    note = some_note();
    note.epoch = 0;
    refuse_note(&note);
    note = some_note();
    note.origin++;
    refuse_note(&note);
    note = some_note();
    note.size = WIRE_NOTE_BYTES_MAX + 1;
    note.bytes = testing_payload;
    refuse_note(&note);
}

static void expect_note(const struct buf *frame, struct wire_header header)
{
    const uint8_t *body = buf_bytes(frame) + WIRE_HEADER_BYTES;

    assert_int_equal(testing_decode_exact(decode_note, &header, body, header.body_bytes),
                     ERR_MALFORMED);
}

static void test_bad_notes_are_refused(void **state)
{
    struct wire_header header;
    struct wire_header lie;
    struct buf *frame;

    (void)state;
    assert_int_equal(encode_note(testing_pool, &frame), OK);
    (void)testing_open(frame, &header);
    testing_unused_fields(decode_note, frame, TESTING_CODEC | TESTING_CHUNK | TESTING_WEIGHT);
    lie = header;
    lie.clock = 1;
    expect_note(frame, lie);
    lie = header;
    lie.table = WIRE_NOTES;
    expect_note(frame, lie);
    lie = header;
    lie.epoch = 0;
    expect_note(frame, lie);
    lie = header;
    lie.origin++;
    expect_note(frame, lie);
    testing_cut_admitted(decode_note, frame);
    testing_message(frame, "note", "note of five bytes, by way of a third site", decode_note);
}

/* With a short way the limit of the type would let in more than a note has. */
static void test_a_note_that_is_too_long_is_refused(void **state)
{
    static const uint32_t sites[] = {5, 6};
    struct wire_note note = {
        .epoch = 1,
        .origin = 5,
        .route = {2, sites},
        .size = WIRE_NOTE_BYTES_MAX,
        .bytes = testing_payload,
    };
    struct wire_header header;
    struct buf *frame;
    const uint8_t *body;
    uint8_t *longer;

    (void)state;
    assert_int_equal(wire_note_encode(testing_pool, &note, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(header.body_bytes, WIRE_NOTE_BYTES_MAX + 16);
    longer = calloc(1, header.body_bytes + 1);
    assert_non_null(longer);
    memcpy(longer + 1, body, header.body_bytes);
    header.body_bytes++;
    assert_true(header.body_bytes <= wire_type_info(WIRE_NOTE)->body_bytes_max);
    assert_int_equal(decode_note(&header, longer, header.body_bytes), ERR_MALFORMED);
    free(longer);
    buf_unref(frame);
}

static void test_a_way_knows_who_is_where_and_turns_round(void **state)
{
    struct wire_route route = {3, route_sites};
    uint32_t back[3];
    struct wire_route reverse = {3, back};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(wire_route_index(&route, route_sites[i]), i);
    }
    assert_int_equal(wire_route_index(&route, 1), WIRE_ROUTE_SITES_MAX);
    assert_int_equal(wire_route_index(&route, 0), WIRE_ROUTE_SITES_MAX);
    wire_route_reverse(&route, back);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(wire_route_index(&reverse, route_sites[i]), 2 - i);
    }
}

/* Whatever was the body of @type becomes the longest @next. */
static void become(uint8_t type, uint32_t tail_bytes, enum wire_type next)
{
    size_t body_bytes = LIMIT_CHUNK_BYTES + tail_bytes;
    struct wire_listed listed[WIRE_ROUTE_LISTED_MAX];
    uint32_t sites[WIRE_ROUTE_SITES_MAX];
    struct wire_routed routed = some(next);
    struct wire_header header;
    struct buf *frame;
    uint8_t *payload;

    for (uint32_t i = 0; i < WIRE_ROUTE_LISTED_MAX; i++) {
        listed[i] = (struct wire_listed){1 + i, i};
    }
    for (uint32_t i = 0; i < WIRE_ROUTE_SITES_MAX; i++) {
        sites[i] = 0x31323334 + i;
    }
    routed.route = (struct wire_route){WIRE_ROUTE_SITES_MAX, sites};
    routed.listed = listed;
    routed.listed_count = next == WIRE_SUM ? 0 : WIRE_ROUTE_LISTED_MAX;
    assert_int_equal(wire_frame_take(testing_pool, body_bytes + wire_body_room(type), &frame), OK);
    payload = buf_append(frame, body_bytes);
    memset(payload, 0, LIMIT_CHUNK_BYTES);
    buf_truncate(frame, LIMIT_CHUNK_BYTES);
    wire_routed_seal(frame, next, &routed);
    assert_ptr_equal(testing_open(frame, &header), payload);
    assert_int_equal(testing_decode_exact(decode_routed, &header, payload, header.body_bytes), OK);
    if (next != WIRE_SUM) {
        assert_int_equal(header.body_bytes, wire_type_info((uint8_t)next)->body_bytes_max);
    }
    buf_unref(frame);
}

static void test_what_was_received_becomes_what_is_sent_without_a_copy(void **state)
{
    uint32_t shortest = 4 * 2 + 8;

    (void)state;
    become(WIRE_PUSH, WIRE_CHUNK_TAIL_BYTES, WIRE_SUM);
    become(WIRE_PUSH, WIRE_CHUNK_TAIL_BYTES, WIRE_RESULT);
    become(WIRE_SUM, shortest, WIRE_RESULT);
    /* A broadcast, which has the longest tail of all. */
    assert_int_equal(shortest + wire_body_room(WIRE_SUM), WIRE_MEMBERS_BYTES_MAX);
    assert_int_equal(shortest + wire_body_room(WIRE_RESULT), WIRE_MEMBERS_BYTES_MAX);
    assert_int_equal(wire_body_room(WIRE_WHOLE), 0);
    assert_int_equal(wire_body_room(WIRE_NOTE), 0);
}

static void test_without_memory_there_is_no_frame(void **state)
{
    (void)state;
    testing_no_memory(encode_result);
    testing_no_buffer(encode_result);
    testing_no_memory(encode_note);
    testing_no_buffer(encode_note);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_ways_and_lists_of_every_length_come_back),
        cmocka_unit_test(test_extremes_come_back),
        cmocka_unit_test(test_a_whole_chunk_may_be_a_plane),
        cmocka_unit_test(test_a_result_has_updates_of_sites),
        cmocka_unit_test(test_the_hole_in_the_struct_is_written_as_zeros),
        cmocka_unit_test(test_a_header_that_no_site_writes_is_refused),
        cmocka_unit_test(test_a_chunk_of_no_size_is_not_encoded),
        cmocka_unit_test(test_bad_ways_are_not_encoded),
        cmocka_unit_test(test_bad_lists_are_not_encoded),
        cmocka_unit_test(test_bad_ways_are_refused),
        cmocka_unit_test(test_bad_lists_are_refused),
        cmocka_unit_test(test_a_sum_with_a_list_is_refused),
        cmocka_unit_test(test_golden_and_lies),
        cmocka_unit_test(test_whole_chunks_have_the_sizes_of_chunks),
        cmocka_unit_test(test_notes_of_every_kind_come_back),
        cmocka_unit_test(test_bad_notes_are_not_encoded),
        cmocka_unit_test(test_bad_notes_are_refused),
        cmocka_unit_test(test_a_note_that_is_too_long_is_refused),
        cmocka_unit_test(test_a_way_knows_who_is_where_and_turns_round),
        cmocka_unit_test(test_what_was_received_becomes_what_is_sent_without_a_copy),
        cmocka_unit_test(test_without_memory_there_is_no_frame),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
