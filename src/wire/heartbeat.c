/* Times of a peer are bounded so that no difference or sum of two of them overflows. */

#include "wire/heartbeat.h"

#include "base/buf.h"
#include "base/bytes.h"

enum { PROBE_REPORT_HEAD_BYTES = 8 };

_Static_assert(PROBE_REPORT_HEAD_BYTES + 8 * WIRE_PROBE_TRAIN_MAX ==
                   WIRE_PROBE_REPORT_BODY_BYTES_MAX,
               "the limit is the largest report");

static bool heartbeat_time_valid(int64_t ns)
{
    return ns >= 0 && ns <= WIRE_TIME_NS_MAX;
}

static bool heartbeat_valid(const struct wire_heartbeat *beat)
{
    return heartbeat_time_valid(beat->sent_ns) && heartbeat_time_valid(beat->echo_sent_ns) &&
           heartbeat_time_valid(beat->echo_held_ns);
}

static uint32_t heartbeat_load(uint32_t load_ppm)
{
    return load_ppm < WIRE_LOAD_PPM_MAX ? load_ppm : (uint32_t)WIRE_LOAD_PPM_MAX;
}

enum err wire_heartbeat_encode(struct buf_pool *pool, const struct wire_heartbeat *beat,
                               struct buf **frame_out)
{
    struct buf *frame;
    uint8_t *body;
    enum err rc;

    if (!heartbeat_valid(beat)) {
        return ERR_INVALID;
    }
    rc = wire_frame_take(pool, WIRE_HEARTBEAT_BODY_BYTES, &frame);
    if (rc != OK) {
        return rc;
    }
    body = buf_append(frame, WIRE_HEARTBEAT_BODY_BYTES);
    bytes_store64(body, (uint64_t)beat->sent_ns);
    bytes_store64(body + 8, (uint64_t)beat->echo_sent_ns);
    bytes_store64(body + 16, (uint64_t)beat->echo_held_ns);
    bytes_store32(body + 24, heartbeat_load(beat->load_ppm));
    bytes_store32(body + 28, 0);
    wire_frame_seal_plain(frame, WIRE_HEARTBEAT);
    *frame_out = frame;
    return OK;
}

enum err wire_heartbeat_decode(const uint8_t *body, size_t size, struct wire_heartbeat *out)
{
    struct wire_heartbeat beat;

    if (size != WIRE_HEARTBEAT_BODY_BYTES || bytes_load32(body + 28) != 0) {
        return ERR_MALFORMED;
    }
    beat.sent_ns = (int64_t)bytes_load64(body);
    beat.echo_sent_ns = (int64_t)bytes_load64(body + 8);
    beat.echo_held_ns = (int64_t)bytes_load64(body + 16);
    beat.load_ppm = heartbeat_load(bytes_load32(body + 24));
    if (!heartbeat_valid(&beat)) {
        return ERR_MALFORMED;
    }
    *out = beat;
    return OK;
}

static bool probe_valid(const struct wire_probe *probe)
{
    return probe->count > 0 && probe->count <= WIRE_PROBE_TRAIN_MAX &&
           probe->index < probe->count && heartbeat_time_valid(probe->sent_ns);
}

enum err wire_probe_encode(struct buf_pool *pool, const struct wire_probe *probe,
                           uint32_t frame_bytes, struct buf **frame_out)
{
    struct buf *frame;
    uint32_t size;
    uint8_t *body;
    enum err rc;

    if (!probe_valid(probe) || frame_bytes < WIRE_PROBE_FRAME_BYTES_MIN ||
        frame_bytes > WIRE_PROBE_FRAME_BYTES_MAX) {
        return ERR_INVALID;
    }
    size = frame_bytes - WIRE_HEADER_BYTES;
    rc = wire_frame_take(pool, size, &frame);
    if (rc != OK) {
        return rc;
    }
    body = buf_append(frame, size);
    bytes_store32(body, probe->train);
    bytes_store16(body + 4, probe->index);
    bytes_store16(body + 6, probe->count);
    bytes_store64(body + 8, (uint64_t)probe->sent_ns);
    bytes_store32(body + 16, size - WIRE_PROBE_HEAD_BYTES);
    memset(body + 20, 0, size - 20);
    wire_frame_seal_plain(frame, WIRE_PROBE);
    *frame_out = frame;
    return OK;
}

static bool probe_zeros(const uint8_t *bytes, size_t size)
{
    uint8_t seen = 0;

    for (size_t i = 0; i < size; i++) {
        seen |= bytes[i];
    }
    return seen == 0;
}

enum err wire_probe_decode(const uint8_t *body, size_t size, struct wire_probe *out)
{
    struct wire_probe probe;

    if (size < WIRE_PROBE_HEAD_BYTES || bytes_load32(body + 16) != size - WIRE_PROBE_HEAD_BYTES ||
        !probe_zeros(body + 20, size - 20)) {
        return ERR_MALFORMED;
    }
    probe.train = bytes_load32(body);
    probe.index = bytes_load16(body + 4);
    probe.count = bytes_load16(body + 6);
    probe.sent_ns = (int64_t)bytes_load64(body + 8);
    if (!probe_valid(&probe)) {
        return ERR_MALFORMED;
    }
    *out = probe;
    return OK;
}

static bool probe_delay_valid(int64_t ns)
{
    return ns >= -WIRE_TIME_NS_MAX && ns <= WIRE_TIME_NS_MAX;
}

static bool probe_report_valid(const struct wire_probe_report *report)
{
    if (report->count == 0 || report->count > WIRE_PROBE_TRAIN_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < report->count; i++) {
        if (!probe_delay_valid(report->delay_ns[i])) {
            return false;
        }
    }
    return true;
}

enum err wire_probe_report_encode(struct buf_pool *pool, const struct wire_probe_report *report,
                                  struct buf **frame_out)
{
    struct buf *frame;
    uint8_t *body;
    size_t size;
    enum err rc;

    if (!probe_report_valid(report)) {
        return ERR_INVALID;
    }
    size = PROBE_REPORT_HEAD_BYTES + (size_t)8 * report->count;
    rc = wire_frame_take(pool, size, &frame);
    if (rc != OK) {
        return rc;
    }
    body = buf_append(frame, size);
    bytes_store32(body, report->train);
    bytes_store16(body + 4, report->count);
    bytes_store16(body + 6, 0);
    for (uint32_t i = 0; i < report->count; i++) {
        bytes_store64(body + PROBE_REPORT_HEAD_BYTES + (size_t)8 * i,
                      (uint64_t)report->delay_ns[i]);
    }
    wire_frame_seal_plain(frame, WIRE_PROBE_REPORT);
    *frame_out = frame;
    return OK;
}

enum err wire_probe_report_decode(const uint8_t *body, size_t size, struct wire_probe_report *out)
{
    struct wire_probe_report report = {.count = 0};
    struct bytes_reader r;
    uint16_t reserved;

    bytes_reader_init(&r, body, size);
    report.train = bytes_read32(&r);
    report.count = bytes_read16(&r);
    reserved = bytes_read16(&r);
    if (r.failed || reserved != 0 || report.count > WIRE_PROBE_TRAIN_MAX ||
        r.left != (size_t)8 * report.count) {
        return ERR_MALFORMED;
    }
    for (uint32_t i = 0; i < report.count; i++) {
        report.delay_ns[i] = (int64_t)bytes_read64(&r);
    }
    if (!probe_report_valid(&report)) {
        return ERR_MALFORMED;
    }
    *out = report;
    return OK;
}
