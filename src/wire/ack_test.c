/* ack: windows from empty to full, and what cannot be a window. */

#include "wire/ack.h"

#include "wire/testing.h"

static enum err decode_ack(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_window out;

    (void)header;
    return wire_ack_decode(body, size, &out);
}

static void round_trip(const struct wire_window *window, uint32_t words)
{
    struct wire_header header;
    struct wire_window out;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_ack_encode(testing_pool, window, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(header.type, WIRE_ACK);
    assert_int_equal(header.sequence, 0);
    assert_int_equal(header.body_bytes, 16 + 8 * words);
    assert_int_equal(wire_ack_decode(body, header.body_bytes, &out), OK);
    assert_memory_equal(&out, window, sizeof(out));
    buf_unref(frame);
}

static void test_round_trip(void **state)
{
    struct wire_window window = {.base = 0};

    (void)state;
    round_trip(&window, 0);
    window.base = UINT64_MAX;
    round_trip(&window, 0);
    window.base = UINT64_MAX - 1;
    window.bits[0] = 1;
    round_trip(&window, 1);
    window.base = UINT64_MAX - LIMIT_WINDOW_FRAMES;
    window.bits[WIRE_WINDOW_WORDS - 1] = UINT64_C(1) << 63;
    round_trip(&window, WIRE_WINDOW_WORDS);
    memset(window.bits, 0xff, sizeof(window.bits));
    round_trip(&window, WIRE_WINDOW_WORDS);
}

static void test_a_window_past_the_last_number_is_refused(void **state)
{
    struct wire_window window = {.base = UINT64_MAX, .bits = {1}};
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_ack_encode(testing_pool, &window, &frame), ERR_INVALID);
    window = (struct wire_window){.base = UINT64_MAX - 1, .bits = {2}};
    assert_int_equal(wire_ack_encode(testing_pool, &window, &frame), ERR_INVALID);
    window = (struct wire_window){.base = 5, .bits = {2}};
    assert_int_equal(wire_ack_encode(testing_pool, &window, &frame), OK);
    testing_refused(decode_ack, frame, 0, 8, UINT64_MAX, ERR_MALFORMED);
    testing_refused(decode_ack, frame, 0, 8, UINT64_MAX - 1, ERR_MALFORMED);
    testing_refused(decode_ack, frame, 0, 8, UINT64_MAX - 2, OK);
    buf_unref(frame);
}

static void test_golden_and_lies(void **state)
{
    struct wire_window window = {.base = 0x0102030405060708, .bits = {[0] = 0xfe, [2] = 1}};
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_ack_encode(testing_pool, &window, &frame), OK);
    testing_exact_count(decode_ack, frame, 8, 2);
    testing_refused(decode_ack, frame, 10, 2, 1, ERR_MALFORMED);
    testing_refused(decode_ack, frame, 12, 4, 1, ERR_MALFORMED);
    testing_refused(decode_ack, frame, 32, 8, 0, ERR_MALFORMED);
    testing_message(frame, "ack", "ack of all up to 0x0102030405060708, seven more and one far",
                    decode_ack);
}

static void test_more_words_than_a_window_are_refused(void **state)
{
    uint8_t body[16 + 8 * (WIRE_WINDOW_WORDS + 1)];
    struct wire_window out = {.base = 3};

    (void)state;
    memset(body, 0, sizeof(body));
    body[8] = WIRE_WINDOW_WORDS + 1;
    body[sizeof(body) - 1] = 1;
    assert_int_equal(wire_ack_decode(body, sizeof(body), &out), ERR_MALFORMED);
    assert_int_equal(wire_ack_decode(NULL, 0, &out), ERR_MALFORMED);
    assert_int_equal(out.base, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_a_window_past_the_last_number_is_refused),
        cmocka_unit_test(test_golden_and_lies),
        cmocka_unit_test(test_more_words_than_a_window_are_refused),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
