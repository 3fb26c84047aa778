/* heartbeat, probe, probe report: times that could overflow a sum, trains that are too long. */

#include "wire/heartbeat.h"

#include "wire/testing.h"

static enum err decode_beat(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_heartbeat out;

    (void)header;
    return wire_heartbeat_decode(body, size, &out);
}

static enum err decode_probe(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_probe out;

    (void)header;
    return wire_probe_decode(body, size, &out);
}

static enum err decode_report(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_probe_report out;

    (void)header;
    return wire_probe_report_decode(body, size, &out);
}

static void beat_round_trip(const struct wire_heartbeat *beat, uint32_t load_ppm)
{
    struct wire_heartbeat out;
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_heartbeat_encode(testing_pool, beat, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(header.type, WIRE_HEARTBEAT);
    assert_int_equal(wire_heartbeat_decode(body, header.body_bytes, &out), OK);
    assert_int_equal(out.sent_ns, beat->sent_ns);
    assert_int_equal(out.echo_sent_ns, beat->echo_sent_ns);
    assert_int_equal(out.echo_held_ns, beat->echo_held_ns);
    assert_int_equal(out.load_ppm, load_ppm);
    buf_unref(frame);
}

static void test_heartbeat_round_trip(void **state)
{
    struct wire_heartbeat most = {WIRE_TIME_NS_MAX, WIRE_TIME_NS_MAX, WIRE_TIME_NS_MAX, 1000000};
    struct wire_heartbeat zero = {0, 0, 0, 0};
    struct wire_heartbeat boast = {1, 2, 3, UINT32_MAX};

    (void)state;
    beat_round_trip(&most, 1000000);
    beat_round_trip(&zero, 0);
    beat_round_trip(&boast, WIRE_LOAD_PPM_MAX);
}

static void test_heartbeat_golden_and_lies(void **state)
{
    struct wire_heartbeat beat = {0x0102030405060708, 0x1112131415161718, 1500000, 250000};
    struct wire_heartbeat bad = {-1, 0, 0, 0};
    struct wire_heartbeat out;
    struct wire_header header;
    uint8_t body[WIRE_HEARTBEAT_BODY_BYTES];
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_heartbeat_encode(testing_pool, &bad, &frame), ERR_INVALID);
    assert_int_equal(wire_heartbeat_encode(testing_pool, &beat, &frame), OK);
    for (uint32_t at = 0; at < 24; at += 8) {
        testing_refused(decode_beat, frame, at, 8, UINT64_MAX, ERR_MALFORMED);
        testing_refused(decode_beat, frame, at, 8, (uint64_t)INT64_MIN, ERR_MALFORMED);
        testing_refused(decode_beat, frame, at, 8, (uint64_t)INT64_MAX, ERR_MALFORMED);
        testing_refused(decode_beat, frame, at, 8, (uint64_t)WIRE_TIME_NS_MAX + 1, ERR_MALFORMED);
    }
    testing_refused(decode_beat, frame, 28, 4, 1, ERR_MALFORMED);
    memcpy(body, testing_open(frame, &header), sizeof(body));
    bytes_store32(body + 24, UINT32_MAX);
    assert_int_equal(wire_heartbeat_decode(body, sizeof(body), &out), OK);
    assert_int_equal(out.load_ppm, WIRE_LOAD_PPM_MAX);
    testing_message(frame, "heartbeat", "heartbeat that held the last one 1.5 ms, load 25 %",
                    decode_beat);
}

static void test_probe_round_trip(void **state)
{
    static const uint32_t sizes[] = {WIRE_PROBE_FRAME_BYTES_MIN, 1400, WIRE_PROBE_FRAME_BYTES_MAX};
    struct wire_probe probe = {UINT32_MAX, WIRE_PROBE_TRAIN_MAX - 1, WIRE_PROBE_TRAIN_MAX,
                               WIRE_TIME_NS_MAX};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct wire_header header;
        struct wire_probe out;
        struct buf *frame;

        assert_int_equal(wire_probe_encode(testing_pool, &probe, sizes[i], &frame), OK);
        assert_int_equal(buf_size(frame), sizes[i]);
        assert_int_equal(
            wire_probe_decode(testing_open(frame, &header), sizes[i] - WIRE_HEADER_BYTES, &out),
            OK);
        assert_int_equal(out.train, probe.train);
        assert_int_equal(out.index, probe.index);
        assert_int_equal(out.count, probe.count);
        assert_int_equal(out.sent_ns, probe.sent_ns);
        buf_unref(frame);
    }
}

static void test_probe_golden_and_lies(void **state)
{
    struct wire_probe probe = {0x01020304, 2, 16, 0x1112131415161718};
    struct wire_probe bad = {1, 16, 16, 0};
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_probe_encode(testing_pool, &bad, 100, &frame), ERR_INVALID);
    assert_int_equal(
        wire_probe_encode(testing_pool, &probe, WIRE_PROBE_FRAME_BYTES_MIN - 1, &frame),
        ERR_INVALID);
    assert_int_equal(
        wire_probe_encode(testing_pool, &probe, WIRE_PROBE_FRAME_BYTES_MAX + 1, &frame),
        ERR_INVALID);
    assert_int_equal(wire_probe_encode(testing_pool, &probe, 96, &frame), OK);
    testing_refused(decode_probe, frame, 4, 2, 16, ERR_MALFORMED);
    testing_refused(decode_probe, frame, 4, 2, UINT16_MAX, ERR_MALFORMED);
    testing_refused(decode_probe, frame, 6, 2, 0, ERR_MALFORMED);
    testing_refused(decode_probe, frame, 6, 2, 2, ERR_MALFORMED);
    testing_refused(decode_probe, frame, 6, 2, WIRE_PROBE_TRAIN_MAX + 1, ERR_MALFORMED);
    testing_refused(decode_probe, frame, 8, 8, UINT64_MAX, ERR_MALFORMED);
    testing_exact_count(decode_probe, frame, 16, 4);
    testing_refused(decode_probe, frame, 20, 4, 1, ERR_MALFORMED);
    testing_refused(decode_probe, frame, 31, 1, 1, ERR_MALFORMED);
    testing_message(frame, "probe", "probe 2 of 16, a frame of 96 bytes", decode_probe);
}

static void test_report_round_trip(void **state)
{
    struct wire_probe_report report = {.train = UINT32_MAX, .count = WIRE_PROBE_TRAIN_MAX};
    struct wire_probe_report out;
    struct wire_header header;
    const uint8_t *body;
    struct buf *frame;

    (void)state;
    for (uint32_t i = 0; i < WIRE_PROBE_TRAIN_MAX; i++) {
        report.delay_ns[i] = i % 2 == 0 ? WIRE_TIME_NS_MAX : -WIRE_TIME_NS_MAX;
    }
    assert_int_equal(wire_probe_report_encode(testing_pool, &report, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(header.body_bytes, WIRE_PROBE_REPORT_BODY_BYTES_MAX);
    assert_int_equal(wire_probe_report_decode(body, header.body_bytes, &out), OK);
    assert_int_equal(out.train, report.train);
    assert_int_equal(out.count, report.count);
    assert_memory_equal(out.delay_ns, report.delay_ns, sizeof(out.delay_ns));
    buf_unref(frame);
}

static void test_report_golden_and_lies(void **state)
{
    struct wire_probe_report report = {
        .train = 7, .count = 3, .delay_ns = {-5, 0, 0x0102030405060708}};
    struct buf *frame;

    (void)state;
    report.count = 0;
    assert_int_equal(wire_probe_report_encode(testing_pool, &report, &frame), ERR_INVALID);
    report.count = WIRE_PROBE_TRAIN_MAX + 1;
    assert_int_equal(wire_probe_report_encode(testing_pool, &report, &frame), ERR_INVALID);
    report.count = 3;
    assert_int_equal(wire_probe_report_encode(testing_pool, &report, &frame), OK);
    testing_exact_count(decode_report, frame, 4, 2);
    testing_refused(decode_report, frame, 6, 2, 1, ERR_MALFORMED);
    testing_refused(decode_report, frame, 16, 8, (uint64_t)INT64_MIN, ERR_MALFORMED);
    testing_refused(decode_report, frame, 16, 8, (uint64_t)INT64_MAX, ERR_MALFORMED);
    testing_message(frame, "probe_report", "report on train 7: three delays", decode_report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heartbeat_round_trip),
        cmocka_unit_test(test_heartbeat_golden_and_lies),
        cmocka_unit_test(test_probe_round_trip),
        cmocka_unit_test(test_probe_golden_and_lies),
        cmocka_unit_test(test_report_round_trip),
        cmocka_unit_test(test_report_golden_and_lies),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
