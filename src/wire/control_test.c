/* control, enroll, enrolled: fields as a later version might send them, sizes as a liar would. */

#include "wire/control.h"

#include "wire/hello.h"
#include "wire/testing.h"

static const uint8_t big[LIMIT_CONTROL_BODY_BYTES];

static enum err decode_control(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_control out;

    (void)header;
    return wire_control_decode(body, size, &out);
}

static enum err decode_enroll(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_enroll out;

    (void)header;
    return wire_enroll_decode(body, size, &out);
}

static enum err decode_enrolled(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_enrolled out;

    (void)header;
    return wire_enrolled_decode(body, size, &out);
}

static struct buf *control_frame(const struct wire_control *control,
                                 const struct wire_field *fields)
{
    struct buf *frame;

    assert_int_equal(wire_control_encode(testing_pool, control, fields, &frame), OK);
    return frame;
}

static void test_control_round_trip(void **state)
{
    struct wire_control control = {.operation = UINT16_MAX, .field_count = 2, .call = UINT32_MAX};
    const struct wire_field fields[] = {
        {5, 3, (const uint8_t *)"abc"},
        {WIRE_FIELD_TAG_MAX | WIRE_FIELD_CRITICAL, 0, (const uint8_t *)""},
    };
    const struct wire_field_rule rules[] = {
        {WIRE_FIELD_TAG_MAX, 0, 4, true}, {6, 1, 1, false}, {5, 3, 3, true}};
    struct buf *frame = control_frame(&control, fields);
    struct wire_field got[3];
    struct wire_control out;
    struct wire_header header;
    enum wire_reason reason;
    const uint8_t *body = testing_open(frame, &header);

    (void)state;
    assert_int_equal(wire_control_decode(body, header.body_bytes, &out), OK);
    assert_int_equal(out.operation, control.operation);
    assert_int_equal(out.call, control.call);
    assert_int_equal(out.field_count, 2);
    assert_int_equal(out.fields_bytes, 11);
    assert_int_equal(wire_control_fields(&out, rules, 3, got, &reason), OK);
    assert_int_equal(reason, WIRE_REASON_NONE);
    assert_int_equal(got[0].size, 0);
    assert_non_null(got[0].bytes);
    assert_null(got[1].bytes);
    assert_int_equal(got[2].size, 3);
    assert_memory_equal(got[2].bytes, "abc", 3);
    buf_unref(frame);
}

/* Encode @count fields and judge them by rules for tags 1 (required, 2 to 4 bytes) and 2. */
static enum err judge(const struct wire_field *fields, uint16_t count, enum wire_reason *reason_out)
{
    static const struct wire_field_rule rules[] = {{1, 2, 4, true}, {2, 0, 100, false}};
    struct wire_control control = {.operation = 1, .field_count = count};
    struct buf *frame = control_frame(&control, fields);
    struct wire_header header;
    struct wire_control out;
    struct wire_field got[2];
    const uint8_t *body = testing_open(frame, &header);
    enum err rc;

    assert_int_equal(wire_control_decode(body, header.body_bytes, &out), OK);
    rc = wire_control_fields(&out, rules, 2, got, reason_out);
    buf_unref(frame);
    return rc;
}

static void test_rules_of_fields(void **state)
{
    static const struct {
        struct wire_field fields[3];
        uint16_t count;
        enum err rc;
        enum wire_reason reason;
    } cases[] = {
        {{{1, 2, big}}, 1, OK, WIRE_REASON_NONE},
        {{{1 | WIRE_FIELD_CRITICAL, 4, big}}, 1, OK, WIRE_REASON_NONE},
        {{{3, 9, big}, {1, 2, big}, {3, 9, big}}, 3, OK, WIRE_REASON_NONE},
        {{{0}}, 0, ERR_MALFORMED, WIRE_REASON_BODY},
        {{{2, 2, big}}, 1, ERR_MALFORMED, WIRE_REASON_BODY},
        {{{1, 1, big}}, 1, ERR_MALFORMED, WIRE_REASON_BODY},
        {{{1, 5, big}}, 1, ERR_MALFORMED, WIRE_REASON_BODY},
        {{{1, 2, big}, {1, 2, big}}, 2, ERR_MALFORMED, WIRE_REASON_BODY},
        {{{1, 2, big}, {1 | WIRE_FIELD_CRITICAL, 2, big}}, 2, ERR_MALFORMED, WIRE_REASON_BODY},
        {{{1, 2, big}, {2, 0, big}, {2, 0, big}}, 3, ERR_MALFORMED, WIRE_REASON_BODY},
        {{{1, 2, big}, {0xffff, 2, big}}, 2, ERR_VERSION, WIRE_REASON_FIELD},
        {{{0x8000, 0, big}, {1, 2, big}}, 2, ERR_VERSION, WIRE_REASON_FIELD},
        {{{0x8003, 0, big}, {1, 2, big}, {1, 2, big}}, 3, ERR_MALFORMED, WIRE_REASON_BODY},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum wire_reason reason = WIRE_REASON_COUNT;

        assert_int_equal(judge(cases[i].fields, cases[i].count, &reason), cases[i].rc);
        assert_int_equal(reason, cases[i].reason);
    }
}

static void test_control_limits(void **state)
{
    struct wire_control control = {.operation = 1, .field_count = 1};
    struct wire_field field = {1, LIMIT_CONTROL_BODY_BYTES - 12, big};
    struct wire_control out;
    struct wire_header header;
    struct buf *frame = control_frame(&control, &field);
    const uint8_t *body = testing_open(frame, &header);

    (void)state;
    assert_int_equal(header.body_bytes, LIMIT_CONTROL_BODY_BYTES);
    assert_int_equal(wire_control_decode(body, header.body_bytes, &out), OK);
    buf_unref(frame);
    field.size++;
    assert_int_equal(wire_control_encode(testing_pool, &control, &field, &frame), ERR_TOO_BIG);
    control.operation = 0;
    assert_int_equal(wire_control_encode(testing_pool, &control, &field, &frame), ERR_INVALID);
    control = (struct wire_control){.operation = 1, .field_count = WIRE_CONTROL_FIELDS_MAX + 1};
    assert_int_equal(wire_control_encode(testing_pool, &control, &field, &frame), ERR_INVALID);
}

static void test_control_golden_and_lies(void **state)
{
    struct wire_control control = {.operation = 0x0102, .field_count = 2, .call = 0x11121314};
    const struct wire_field fields[] = {
        {1, 3, (const uint8_t *)"abc"},
        {2 | WIRE_FIELD_CRITICAL, 8, (const uint8_t *)"\1\2\3\4\5\6\7\10"},
    };
    struct wire_control empty = {.operation = 9};
    struct buf *frame = control_frame(&control, fields);

    (void)state;
    testing_refused(decode_control, frame, 0, 2, 0, ERR_MALFORMED);
    testing_exact_count(decode_control, frame, 2, 2);
    testing_exact_count(decode_control, frame, 10, 2);
    testing_exact_count(decode_control, frame, 17, 2);
    testing_message(frame, "control", "control: operation 0x0102 with two fields", decode_control);
    testing_message(control_frame(&empty, NULL), "control_empty", "control: operation 9, no fields",
                    decode_control);
}

static struct wire_enroll enroll_sample(void)
{
    return (struct wire_enroll){
        .token = (const uint8_t *)"0123456789abcdef",
        .token_bytes = 16,
        .name = "worker-1",
        .name_bytes = 8,
        .request = (const uint8_t *)"-----BEGIN",
        .request_bytes = 10,
    };
}

static void enroll_round_trip(const struct wire_enroll *enroll)
{
    struct wire_enroll out;
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_enroll_encode(testing_pool, enroll, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_enroll_decode(body, header.body_bytes, &out), OK);
    assert_int_equal(out.token_bytes, enroll->token_bytes);
    assert_memory_equal(out.token, enroll->token, enroll->token_bytes);
    assert_int_equal(out.name_bytes, enroll->name_bytes);
    assert_memory_equal(out.name, enroll->name, enroll->name_bytes);
    assert_int_equal(out.request_bytes, enroll->request_bytes);
    assert_memory_equal(out.request, enroll->request, enroll->request_bytes);
    buf_unref(frame);
}

static void test_enroll_round_trip_and_limits(void **state)
{
    static const char name[] = "0123456789012345678901234567890123456789012345678901234567890123";
    struct wire_enroll enroll = enroll_sample();
    struct buf *frame;

    (void)state;
    enroll_round_trip(&enroll);
    enroll = (struct wire_enroll){
        .token = big,
        .token_bytes = WIRE_ENROLL_TOKEN_BYTES_MAX,
        .name = name,
        .name_bytes = LIMIT_NAME_BYTES,
        .request = big,
        .request_bytes = WIRE_ENROLL_REQUEST_BYTES_MAX,
    };
    enroll_round_trip(&enroll);
    enroll.name_bytes = 0;
    enroll_round_trip(&enroll);
    enroll.token_bytes++;
    assert_int_equal(wire_enroll_encode(testing_pool, &enroll, &frame), ERR_INVALID);
    enroll.token_bytes = 0;
    assert_int_equal(wire_enroll_encode(testing_pool, &enroll, &frame), ERR_INVALID);
    enroll = enroll_sample();
    enroll.request_bytes = WIRE_ENROLL_REQUEST_BYTES_MAX + 1;
    assert_int_equal(wire_enroll_encode(testing_pool, &enroll, &frame), ERR_INVALID);
    enroll = enroll_sample();
    enroll.name = "a worker";
    assert_int_equal(wire_enroll_encode(testing_pool, &enroll, &frame), ERR_INVALID);
}

static void test_enroll_golden_and_lies(void **state)
{
    struct wire_enroll enroll = enroll_sample();
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_enroll_encode(testing_pool, &enroll, &frame), OK);
    testing_exact_count(decode_enroll, frame, 0, 2);
    testing_exact_count(decode_enroll, frame, 2, 2);
    testing_exact_count(decode_enroll, frame, 4, 4);
    testing_refused(decode_enroll, frame, 8 + 16, 1, '\n', ERR_MALFORMED);
    testing_message(frame, "enroll", "enroll: token of 16 bytes, worker-1, request of 10 bytes",
                    decode_enroll);
}

static void test_enrolled_granted(void **state)
{
    struct wire_enrolled enrolled = {.chain = big,
                                     .chain_bytes = WIRE_ENROLLED_CERT_BYTES_MAX,
                                     .authority = big,
                                     .authority_bytes = WIRE_ENROLLED_CERT_BYTES_MAX};
    struct wire_enrolled out;
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_enrolled_encode(testing_pool, &enrolled, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(header.body_bytes, WIRE_ENROLLED_BODY_BYTES_MAX);
    assert_int_equal(wire_enrolled_decode(body, header.body_bytes, &out), OK);
    assert_int_equal(out.chain_bytes, WIRE_ENROLLED_CERT_BYTES_MAX);
    assert_int_equal(out.authority_bytes, WIRE_ENROLLED_CERT_BYTES_MAX);
    assert_ptr_equal(out.chain, body + 16);
    assert_ptr_equal(out.authority, body + 16 + WIRE_ENROLLED_CERT_BYTES_MAX);
    buf_unref(frame);
    enrolled.chain_bytes++;
    assert_int_equal(wire_enrolled_encode(testing_pool, &enrolled, &frame), ERR_INVALID);
    enrolled.chain_bytes = 0;
    assert_int_equal(wire_enrolled_encode(testing_pool, &enrolled, &frame), ERR_INVALID);
}

static void test_enrolled_golden_and_lies(void **state)
{
    struct wire_enrolled granted = {.chain = (const uint8_t *)"certificate",
                                    .chain_bytes = 11,
                                    .authority = (const uint8_t *)"authority",
                                    .authority_bytes = 9};
    struct wire_enrolled refused = {
        .code = WIRE_REFUSAL_IDENTITY, .text = "token expired", .text_bytes = 13};
    struct wire_enrolled bad = {.code = 1, .text = "a\nb", .text_bytes = 3};
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_enrolled_encode(testing_pool, &bad, &frame), ERR_INVALID);
    assert_int_equal(wire_enrolled_encode(testing_pool, &granted, &frame), OK);
    for (uint32_t at = 4; at < 16; at += 4) {
        testing_exact_count(decode_enrolled, frame, at, 4);
    }
    testing_refused(decode_enrolled, frame, 0, 4, 1, ERR_MALFORMED);
    testing_message(frame, "enrolled", "enrolled: granted, two (short) certificates",
                    decode_enrolled);
    assert_int_equal(wire_enrolled_encode(testing_pool, &refused, &frame), OK);
    testing_exact_count(decode_enrolled, frame, 12, 4);
    testing_refused(decode_enrolled, frame, 0, 4, 0, ERR_MALFORMED);
    testing_refused(decode_enrolled, frame, 16, 1, 0x1b, ERR_MALFORMED);
    testing_message(frame, "enrolled_refused", "enrolled: refused, \"token expired\"",
                    decode_enrolled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_round_trip),
        cmocka_unit_test(test_rules_of_fields),
        cmocka_unit_test(test_control_limits),
        cmocka_unit_test(test_control_golden_and_lies),
        cmocka_unit_test(test_enroll_round_trip_and_limits),
        cmocka_unit_test(test_enroll_golden_and_lies),
        cmocka_unit_test(test_enrolled_granted),
        cmocka_unit_test(test_enrolled_golden_and_lies),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
