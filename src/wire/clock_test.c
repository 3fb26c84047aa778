/* clock, advanced, late and offer: every field that must be zero, every count and reason. */

#include "wire/clock.h"

#include "wire/testing.h"

static enum err decode_clock(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_clock out;

    return wire_clock_decode(header, body, size, &out);
}

static enum err decode_late(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_late_notice out;

    return wire_late_decode(header, body, size, &out);
}

static enum err decode_offer(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_offer out;

    return wire_offer_decode(header, body, size, &out);
}

/* None of them has a codec, an epoch or a weight; with @table none of those either. */
static void refuse_unused_fields(testing_decode *decode, const struct buf *frame, bool table)
{
    struct wire_header header;
    const uint8_t *body = testing_open(frame, &header);

    for (uint32_t i = 0; i < 4; i++) {
        struct wire_header lie = header;

        lie.codec = i == 0;
        lie.epoch = i == 1;
        lie.weight = i == 2;
        lie.table = i == 3 ? WIRE_TABLE_PLANE : lie.table;
        assert_int_equal(decode(&lie, body, header.body_bytes),
                         i < 3 || table ? ERR_MALFORMED : OK);
    }
}

static void clock_round_trip(enum wire_type type, const struct wire_clock *clock)
{
    struct wire_header header;
    struct wire_clock out;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_clock_encode(testing_pool, type, clock, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(header.type, type);
    assert_int_equal(wire_clock_decode(&header, body, header.body_bytes, &out), OK);
    assert_int_equal(out.stream, clock->stream);
    assert_int_equal(out.origin, clock->origin);
    assert_int_equal(out.clock, clock->clock);
    assert_int_equal(out.view, clock->view);
    assert_memory_equal(out.members, clock->members, sizeof(out.members));
    buf_unref(frame);
}

static void test_clock_and_advanced_round_trip(void **state)
{
    (void)state;
    for (uint16_t stream = 0; stream < LIMIT_STREAMS_PER_PEER; stream++) {
        struct wire_clock zero = {.stream = stream};
        struct wire_clock extreme = {stream, UINT32_MAX, UINT64_MAX, 0, {0}};

        clock_round_trip(WIRE_CLOCK, &zero);
        clock_round_trip(WIRE_ADVANCED, &zero);
        clock_round_trip(WIRE_CLOCK, &extreme);
        extreme.view = UINT32_MAX;
        for (uint32_t bit = 0; bit < 64 * WIRE_MEMBERS_WORDS; bit++) {
            extreme.members[bit / 64] |= UINT64_C(1) << (bit % 64);
            clock_round_trip(WIRE_ADVANCED, &extreme);
        }
    }
}

/* What neither may have, with a body that fits. */
static void refuse_clock_lies(const struct buf *frame)
{
    struct wire_header header;
    const uint8_t *body = testing_open(frame, &header);

    for (uint32_t i = 0; i < 5; i++) {
        struct wire_header lie = header;

        lie.codec = i == 0;
        lie.weight = i == 1;
        lie.table = i == 2 ? WIRE_TABLE_PLANE : 0;
        lie.chunk = i == 3 ? LIMIT_STREAMS_PER_PEER : i == 4 ? UINT32_MAX : lie.chunk;
        assert_int_equal(decode_clock(&lie, body, header.body_bytes), ERR_MALFORMED);
    }
    assert_int_equal(decode_clock(&header, body, header.body_bytes), OK);
}

/* The set of members is as long as it must be. */
static void test_members_of_advanced_have_one_form(void **state)
{
    uint8_t body[WIRE_ADVANCED_BODY_BYTES_MAX + 1] = {0};
    struct wire_clock clock = {.clock = 1};
    struct wire_header header;
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_clock_encode(testing_pool, WIRE_ADVANCED, &clock, &frame), OK);
    (void)testing_open(frame, &header);
    for (uint32_t size = 0; size <= sizeof(body); size++) {
        bool fits = size <= WIRE_ADVANCED_BODY_BYTES_MAX;

        header.body_bytes = size;
        assert_int_equal(decode_clock(&header, body, size), size == 0 ? OK : ERR_MALFORMED);
        if (size > 0) {
            body[size - 1] = 0x80;
            assert_int_equal(decode_clock(&header, body, size), fits ? OK : ERR_MALFORMED);
            assert_int_equal(decode_clock(&header, body, size - 1), ERR_MALFORMED);
            body[size - 1] = 0;
        }
    }
    buf_unref(frame);
}

static void test_clock_and_advanced_golden_and_lies(void **state)
{
    struct wire_clock clock = {.stream = 3, .origin = 0x31323334, .clock = 0x4142434445464748};
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_clock_encode(testing_pool, WIRE_CLOCK, &clock, &frame), OK);
    refuse_unused_fields(decode_clock, frame, true);
    refuse_clock_lies(frame);
    testing_truncate_admitted(decode_clock, frame);
    testing_message(frame, "clock", "clock of a worker, on stream 3", decode_clock);
    clock.view = 0x21222324;
    assert_int_equal(wire_clock_encode(testing_pool, WIRE_CLOCK, &clock, &frame), ERR_INVALID);
    clock.members[1] = 0x61626364;
    assert_int_equal(wire_clock_encode(testing_pool, WIRE_ADVANCED, &clock, &frame), OK);
    refuse_clock_lies(frame);
    testing_message(frame, "advanced", "advanced, on stream 3, with the members of a view",
                    decode_clock);
    clock.view = 0;
    assert_int_equal(wire_clock_encode(testing_pool, WIRE_CLOCK, &clock, &frame), ERR_INVALID);
    clock.members[1] = 0;
    clock.stream = LIMIT_STREAMS_PER_PEER;
    assert_int_equal(wire_clock_encode(testing_pool, WIRE_CLOCK, &clock, &frame), ERR_INVALID);
}

static struct wire_late_notice late_sample(void)
{
    return (struct wire_late_notice){
        .table = 0x0102,
        .chunk = 0x11121314,
        .origin = 0x31323334,
        .clock = 0x4142434445464748,
        .reason = WIRE_LATE_NOT_MEMBER,
        .open_clock = 0x5152535455565758,
    };
}

static void test_late_round_trip(void **state)
{
    struct wire_late_notice notice = late_sample();
    struct wire_late_notice out;
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    (void)state;
    for (int reason = WIRE_LATE_LATE; reason <= WIRE_LATE_SHAPE; reason++) {
        notice.reason = (enum wire_late)reason;
        assert_int_equal(wire_late_encode(testing_pool, &notice, &frame), OK);
        body = testing_open(frame, &header);
        assert_int_equal(wire_late_decode(&header, body, header.body_bytes, &out), OK);
        assert_int_equal(out.table, notice.table);
        assert_int_equal(out.chunk, notice.chunk);
        assert_int_equal(out.origin, notice.origin);
        assert_int_equal(out.clock, notice.clock);
        assert_int_equal(out.reason, notice.reason);
        assert_int_equal(out.open_clock, notice.open_clock);
        assert_string_not_equal(wire_late_name(notice.reason), "unknown");
        buf_unref(frame);
    }
    notice.reason = (enum wire_late)0;
    assert_int_equal(wire_late_encode(testing_pool, &notice, &frame), ERR_INVALID);
    notice.reason = (enum wire_late)(WIRE_LATE_SHAPE + 1);
    assert_int_equal(wire_late_encode(testing_pool, &notice, &frame), ERR_INVALID);
    assert_string_equal(wire_late_name(WIRE_LATE_NOT_FINITE), "not_finite");
    assert_string_equal(wire_late_name((enum wire_late)0), "unknown");
    assert_string_equal(wire_late_name((enum wire_late)(WIRE_LATE_SHAPE + 1)), "unknown");
}

static void test_late_golden_and_lies(void **state)
{
    struct wire_late_notice notice = late_sample();
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_late_encode(testing_pool, &notice, &frame), OK);
    testing_refused(decode_late, frame, 0, 4, 0, ERR_MALFORMED);
    testing_refused(decode_late, frame, 0, 4, WIRE_LATE_SHAPE + 1, ERR_MALFORMED);
    testing_refused(decode_late, frame, 0, 4, UINT32_MAX, ERR_MALFORMED);
    testing_refused(decode_late, frame, 4, 4, 1, ERR_MALFORMED);
    refuse_unused_fields(decode_late, frame, false);
    testing_truncate_admitted(decode_late, frame);
    testing_message(frame, "late", "an update of somebody who is not a member of that round",
                    decode_late);
}

static const uint64_t offer_few[] = {0, 0x0102030405060708, UINT64_MAX};

static struct wire_offer offer_sample(void)
{
    return (struct wire_offer){
        .table = 0x0102,
        .chunk = 0x11121314,
        .origin = 0x31323334,
        .clock = 0x4142434445464748,
        .count = 3,
        .versions = offer_few,
    };
}

static void offer_round_trip(const struct wire_offer *offer)
{
    struct wire_header header;
    struct wire_offer out;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_offer_encode(testing_pool, offer, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_offer_decode(&header, body, header.body_bytes, &out), OK);
    assert_int_equal(out.table, offer->table);
    assert_int_equal(out.chunk, offer->chunk);
    assert_int_equal(out.origin, offer->origin);
    assert_int_equal(out.clock, offer->clock);
    assert_int_equal(out.count, offer->count);
    for (uint32_t i = 0; i < offer->count; i++) {
        assert_int_equal(wire_offer_version(&out, i), wire_offer_version(offer, i));
    }
    buf_unref(frame);
}

static void test_offer_round_trip_and_limits(void **state)
{
    static uint64_t many[WIRE_OFFER_CHUNKS_MAX + 1];
    struct wire_offer offer = offer_sample();
    struct buf *frame;

    (void)state;
    offer_round_trip(&offer);
    for (uint32_t i = 0; i <= WIRE_OFFER_CHUNKS_MAX; i++) {
        many[i] = UINT64_MAX - i;
    }
    offer = (struct wire_offer){UINT16_MAX,
                                UINT32_MAX - WIRE_OFFER_CHUNKS_MAX + 1,
                                UINT32_MAX,
                                UINT64_MAX,
                                WIRE_OFFER_CHUNKS_MAX,
                                many};
    offer_round_trip(&offer);
    offer.chunk++; /* The last chunk would have no number. */
    assert_int_equal(wire_offer_encode(testing_pool, &offer, &frame), ERR_INVALID);
    offer.chunk = 0;
    offer.count++;
    assert_int_equal(wire_offer_encode(testing_pool, &offer, &frame), ERR_INVALID);
    offer.count = 0;
    assert_int_equal(wire_offer_encode(testing_pool, &offer, &frame), ERR_INVALID);
}

static void test_offer_golden_and_lies(void **state)
{
    struct wire_offer offer = offer_sample();
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_offer_encode(testing_pool, &offer, &frame), OK);
    testing_exact_count(decode_offer, frame, 0, 4);
    testing_refused(decode_offer, frame, 4, 4, 1, ERR_MALFORMED);
    refuse_unused_fields(decode_offer, frame, false);
    body = testing_open(frame, &header);
    header.chunk = UINT32_MAX - 1;
    assert_int_equal(decode_offer(&header, body, header.body_bytes), ERR_MALFORMED);
    header.chunk = UINT32_MAX - 2;
    assert_int_equal(decode_offer(&header, body, header.body_bytes), OK);
    testing_truncate_admitted(decode_offer, frame);
    testing_message(frame, "offer", "versions of three chunks: 0, 0x0102030405060708, the last",
                    decode_offer);
}

static void test_a_pool_without_room_says_so(void **state)
{
    struct wire_late_notice notice = late_sample();
    struct wire_offer offer = offer_sample();
    struct wire_clock clock = {.clock = 1};
    struct buf_pool *pool;
    struct buf *frame;

    (void)state;
    assert_int_equal(buf_pool_create(0, &pool), OK);
    assert_int_not_equal(wire_clock_encode(pool, WIRE_CLOCK, &clock, &frame), OK);
    assert_int_not_equal(wire_late_encode(pool, &notice, &frame), OK);
    assert_int_not_equal(wire_offer_encode(pool, &offer, &frame), OK);
    buf_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_and_advanced_round_trip),
        cmocka_unit_test(test_clock_and_advanced_golden_and_lies),
        cmocka_unit_test(test_members_of_advanced_have_one_form),
        cmocka_unit_test(test_late_round_trip),
        cmocka_unit_test(test_late_golden_and_lies),
        cmocka_unit_test(test_offer_round_trip_and_limits),
        cmocka_unit_test(test_offer_golden_and_lies),
        cmocka_unit_test(test_a_pool_without_room_says_so),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
