/* The header: every bit guarded, every refusal with its reason, the table of types as documented.
 */

#include "wire/testing.h"

static const struct wire_header frame_extreme = {
    .version = WIRE_VERSION_MAX,
    .type = WIRE_ROWS_PUSH,
    .flags = 0x00ff,
    .body_bytes = LIMIT_DATA_BODY_BYTES,
    .table = UINT16_MAX,
    .codec = UINT16_MAX,
    .chunk = UINT32_MAX,
    .epoch = UINT32_MAX,
    .clock = UINT64_MAX,
    .sequence = UINT64_MAX,
    .body_check = UINT64_MAX,
    .origin = UINT32_MAX,
    .weight = UINT32_MAX,
};

static const struct wire_header frame_distinct = {
    .version = 1,
    .type = WIRE_PUSH,
    .flags = WIRE_FLAG_RESENT,
    .body_bytes = 0x00012345,
    .table = 0x1112,
    .codec = 0x2122,
    .chunk = 0x31323334,
    .epoch = 0x41424344,
    .clock = 0x5152535455565758,
    .sequence = 0x6162636465666768,
    .body_check = 0x7172737475767778,
    .origin = 0x81828384,
    .weight = 0x91929394,
};

static void assert_header_equal(const struct wire_header *a, const struct wire_header *b)
{
    assert_int_equal(a->version, b->version);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->body_bytes, b->body_bytes);
    assert_int_equal(a->table, b->table);
    assert_int_equal(a->codec, b->codec);
    assert_int_equal(a->chunk, b->chunk);
    assert_int_equal(a->epoch, b->epoch);
    assert_int_equal(a->clock, b->clock);
    assert_int_equal(a->sequence, b->sequence);
    assert_int_equal(a->body_check, b->body_check);
    assert_int_equal(a->origin, b->origin);
    assert_int_equal(a->weight, b->weight);
}

/* Encode @header and expect it to be refused for @reason, or accepted if that is NONE. */
static void expect(const struct wire_header *header, enum err rc, enum wire_reason reason)
{
    struct wire_header out = {.clock = 77};
    enum wire_reason got = WIRE_REASON_COUNT;
    uint8_t bytes[WIRE_HEADER_BYTES];

    wire_header_encode(header, bytes);
    assert_int_equal(wire_header_decode(bytes, &out, &got), rc);
    assert_int_equal(got, reason);
    if (rc == OK) {
        assert_header_equal(&out, header);
    } else {
        assert_int_equal(out.clock, 77);
        assert_int_equal(out.type, 0);
    }
}

static void test_round_trip(void **state)
{
    struct wire_header zero = {.version = 1, .type = WIRE_PUSH};

    (void)state;
    expect(&frame_extreme, OK, WIRE_REASON_NONE);
    expect(&frame_distinct, OK, WIRE_REASON_NONE);
    expect(&zero, OK, WIRE_REASON_NONE);
}

static void test_bytes_are_where_the_table_says(void **state)
{
    static const uint8_t expected[56] = {
        'S',  'T',  'R',  'T',  1,    32,   1,    0,    0x45, 0x23, 0x01, 0x00, 0x12, 0x11,
        0x22, 0x21, 0x34, 0x33, 0x32, 0x31, 0x44, 0x43, 0x42, 0x41, 0x58, 0x57, 0x56, 0x55,
        0x54, 0x53, 0x52, 0x51, 0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61, 0x78, 0x77,
        0x76, 0x75, 0x74, 0x73, 0x72, 0x71, 0x84, 0x83, 0x82, 0x81, 0x94, 0x93, 0x92, 0x91,
    };
    uint8_t bytes[WIRE_HEADER_BYTES];

    (void)state;
    wire_header_encode(&frame_distinct, bytes);
    assert_memory_equal(bytes, expected, sizeof(expected));
    assert_int_equal(bytes_load64(bytes + 56), hash_bytes(expected, sizeof(expected)));
}

static void test_every_bit_flip_is_refused(void **state)
{
    (void)state;
    for (uint32_t bit = 0; bit < 8 * WIRE_HEADER_BYTES; bit++) {
        enum wire_reason reason = WIRE_REASON_NONE;
        uint8_t bytes[WIRE_HEADER_BYTES];
        struct wire_header out;

        wire_header_encode(&frame_distinct, bytes);
        bytes[bit / 8] ^= (uint8_t)(1 << (bit % 8));
        assert_int_equal(wire_header_decode(bytes, &out, &reason), ERR_MALFORMED);
        assert_int_equal(reason, bit < 32 ? WIRE_REASON_MAGIC : WIRE_REASON_HEADER_CHECK);
    }
}

static void test_every_flag_value(void **state)
{
    (void)state;
    for (uint32_t flags = 0; flags <= UINT16_MAX; flags++) {
        struct wire_header header = frame_distinct;
        bool known = flags < 0x100;

        header.flags = (uint16_t)flags;
        expect(&header, known ? OK : ERR_VERSION, known ? WIRE_REASON_NONE : WIRE_REASON_FLAGS);
    }
}

static void test_every_version_and_type(void **state)
{
    (void)state;
    for (uint32_t version = 0; version < 256; version++) {
        for (uint32_t type = 0; type < 256; type++) {
            struct wire_header header = {.version = (uint8_t)version, .type = (uint8_t)type};
            bool greets = type == WIRE_HELLO || type == WIRE_WELCOME || type == WIRE_REFUSE ||
                          type == WIRE_BYE;

            if (!greets && (version < WIRE_VERSION_MIN || version > WIRE_VERSION_MAX)) {
                expect(&header, ERR_VERSION, WIRE_REASON_VERSION);
            } else if (wire_type_info((uint8_t)type) == NULL) {
                expect(&header, ERR_MALFORMED, WIRE_REASON_TYPE);
            } else {
                expect(&header, OK, WIRE_REASON_NONE);
            }
        }
    }
}

static void test_length_is_limited_by_type(void **state)
{
    (void)state;
    for (uint32_t type = 0; type < 256; type++) {
        const struct wire_type_info *info = wire_type_info((uint8_t)type);
        struct wire_header header = {.version = 1, .type = (uint8_t)type};

        if (info == NULL) {
            continue;
        }
        header.body_bytes = info->body_bytes_max;
        expect(&header, OK, WIRE_REASON_NONE);
        header.body_bytes = info->body_bytes_max + 1;
        expect(&header, ERR_TOO_BIG, WIRE_REASON_LENGTH);
        header.body_bytes = UINT32_MAX;
        expect(&header, ERR_TOO_BIG, WIRE_REASON_LENGTH);
        header.body_bytes = INT32_MAX;
        expect(&header, ERR_TOO_BIG, WIRE_REASON_LENGTH);
    }
}

static void test_types_have_sane_limits_and_roles(void **state)
{
    uint32_t count = 0;

    (void)state;
    for (uint32_t type = 0; type < 256; type++) {
        const struct wire_type_info *info = wire_type_info((uint8_t)type);

        if (info == NULL) {
            continue;
        }
        count++;
        assert_true(strlen(info->name) > 0);
        assert_true(info->body_bytes_max <=
                    (info->control ? LIMIT_CONTROL_BODY_BYTES : LIMIT_DATA_BODY_BYTES));
        assert_true(info->roles != 0 && info->roles < 1 << 5);
        assert_int_equal((info->roles & WIRE_ROLE_STRANGER) != 0, type == WIRE_ENROLL);
    }
    assert_int_equal(count, 37);
    assert_int_equal(wire_type_info(WIRE_PUSH)->roles, WIRE_ROLE_WORKER);
    assert_int_equal(wire_type_info(WIRE_DELTA)->roles, WIRE_ROLE_SERVER | WIRE_ROLE_RELAY);
    assert_int_equal(wire_type_info(WIRE_BROADCAST)->roles,
                     WIRE_ROLE_SERVER | WIRE_ROLE_RELAY | WIRE_ROLE_WORKER);
    assert_int_equal(wire_type_info(WIRE_SNAPSHOT_CHUNK)->roles,
                     WIRE_ROLE_SERVER | WIRE_ROLE_RELAY | WIRE_ROLE_WORKER);
    assert_int_equal(wire_type_info(WIRE_PULL)->roles, WIRE_ROLE_SERVER | WIRE_ROLE_WORKER);
    assert_int_equal(wire_type_info(WIRE_CLOCK)->roles, WIRE_ROLE_WORKER);
    assert_int_equal(wire_type_info(WIRE_OFFER)->roles, WIRE_ROLE_WORKER);
    assert_int_equal(wire_type_info(WIRE_ADVANCED)->roles, WIRE_ROLE_SERVER | WIRE_ROLE_RELAY);
    assert_int_equal(wire_type_info(WIRE_LATE)->roles, WIRE_ROLE_SERVER | WIRE_ROLE_RELAY);
    for (uint32_t type = WIRE_MARK; type <= WIRE_WHOLE; type++) {
        assert_int_equal(wire_type_info((uint8_t)type)->roles, WIRE_ROLE_SERVER);
        assert_int_equal(wire_type_info((uint8_t)type)->control,
                         type == WIRE_REPORT || type == WIRE_BARRIER);
    }
    assert_int_equal(wire_type_info(WIRE_NOTE)->roles, WIRE_ROLE_SERVER);
    assert_true(wire_type_info(WIRE_NOTE)->control);
    /* A stranger may say one thing, header included, within what it may cost. */
    assert_true(wire_type_info(WIRE_ENROLL)->body_bytes_max + WIRE_HEADER_BYTES <=
                LIMIT_STRANGER_BYTES);
}

static void test_random_bytes_are_refused(void **state)
{
    uint64_t allocations = mem_allocations();
    uint8_t bytes[WIRE_HEADER_BYTES];
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (uint32_t round = 0; round < 100000; round++) {
        enum wire_reason reason = WIRE_REASON_NONE;
        struct wire_header out;

        for (uint32_t i = 0; i < WIRE_HEADER_BYTES; i += 8) {
            bytes_store64(bytes + i, rng_next(&rng));
        }
        if (round % 2 == 0) {
            memcpy(bytes, "STRT", 4);
        }
        assert_int_equal(wire_header_decode(bytes, &out, &reason), ERR_MALFORMED);
        assert_int_not_equal(reason, WIRE_REASON_NONE);
    }
    assert_int_equal(mem_allocations(), allocations);
}

static void test_seal_puts_the_header_before_the_body(void **state)
{
    struct wire_header header = frame_distinct;
    struct wire_header out;
    struct buf *frame;
    const uint8_t *body;
    uint8_t damaged[5];

    (void)state;
    assert_int_equal(wire_frame_take(testing_pool, 5, &frame), OK);
    memcpy(buf_append(frame, 5), "abcde", 5);
    wire_frame_seal(frame, &header);
    assert_int_equal(header.body_bytes, 5);
    assert_int_equal(header.body_check, hash_bytes("abcde", 5));
    body = testing_open(frame, &out);
    assert_header_equal(&out, &header);
    for (uint32_t bit = 0; bit < 40; bit++) {
        memcpy(damaged, body, 5);
        damaged[bit / 8] ^= (uint8_t)(1 << (bit % 8));
        assert_false(wire_body_valid(&out, damaged));
    }
    buf_unref(frame);
}

static void test_an_empty_body_has_a_check_too(void **state)
{
    struct wire_header out;
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_frame_take(testing_pool, 0, &frame), OK);
    wire_frame_seal_plain(frame, WIRE_CONTROL);
    (void)testing_open(frame, &out);
    assert_int_equal(out.body_bytes, 0);
    assert_int_equal(out.body_check, hash_bytes("", 0));
    assert_true(wire_body_valid(&out, NULL));
    buf_unref(frame);
}

static void test_words(void **state)
{
    (void)state;
    for (uint32_t role = WIRE_ROLE_WORKER; role <= WIRE_ROLE_OPERATOR; role <<= 1) {
        assert_int_equal(wire_role_parse(wire_role_name((enum wire_role)role)), role);
    }
    assert_string_equal(wire_role_name(WIRE_ROLE_STRANGER), "stranger");
    assert_int_equal(wire_role_parse("stranger"), 0);
    assert_int_equal(wire_role_parse("unknown"), 0);
    assert_int_equal(wire_role_parse(""), 0);
    assert_int_equal(wire_role_parse("Worker"), 0);
    assert_string_equal(wire_role_name((enum wire_role)0), "unknown");
    assert_string_equal(wire_role_name((enum wire_role)6), "unknown");
    for (uint32_t reason = 0; reason < WIRE_REASON_COUNT; reason++) {
        assert_string_not_equal(wire_reason_name((enum wire_reason)reason), "unknown");
    }
    assert_string_equal(wire_reason_name(WIRE_REASON_COUNT), "unknown");
    assert_null(wire_type_info(0));
    assert_null(wire_type_info(255));
    assert_string_equal(wire_type_info(WIRE_ROWS_VALUES)->name, "rows_values");
}

/* Whichever part of a table's chunks a lane has, its streams have about as many of them each. */
static void test_chunks_spread_over_streams(void **state)
{
    (void)state;
    for (uint16_t streams = 1; streams <= LIMIT_STREAMS_PER_PEER; streams++) {
        for (uint32_t lanes = 1; lanes <= 16; lanes++) {
            uint32_t counts[LIMIT_STREAMS_PER_PEER] = {0};

            for (uint32_t i = 0; i < 100u * streams; i++) {
                struct wire_header header = {.type = WIRE_PUSH, .table = 3, .chunk = i * lanes};
                struct wire_header plane = header;

                plane.table |= WIRE_TABLE_PLANE;
                assert_int_equal(wire_stream(&plane, streams), wire_stream(&header, streams));
                counts[wire_stream(&header, streams)]++;
            }
            for (uint16_t i = 0; i < streams; i++) {
                assert_in_range(counts[i], 85, 115);
            }
        }
    }
}

static void test_what_goes_behind_everything_says_on_which_stream(void **state)
{
    static const uint8_t types[] = {WIRE_CLOCK, WIRE_ADVANCED, WIRE_MARK};

    (void)state;
    for (size_t i = 0; i < sizeof(types); i++) {
        for (uint32_t stream = 0; stream < LIMIT_STREAMS_PER_PEER; stream++) {
            struct wire_header header = {.type = types[i], .chunk = stream};

            assert_int_equal(wire_stream(&header, LIMIT_STREAMS_PER_PEER), stream);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_bytes_are_where_the_table_says),
        cmocka_unit_test(test_every_bit_flip_is_refused),
        cmocka_unit_test(test_every_flag_value),
        cmocka_unit_test(test_every_version_and_type),
        cmocka_unit_test(test_length_is_limited_by_type),
        cmocka_unit_test(test_types_have_sane_limits_and_roles),
        cmocka_unit_test(test_random_bytes_are_refused),
        cmocka_unit_test(test_seal_puts_the_header_before_the_body),
        cmocka_unit_test(test_an_empty_body_has_a_check_too),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_chunks_spread_over_streams),
        cmocka_unit_test(test_what_goes_behind_everything_says_on_which_stream),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
