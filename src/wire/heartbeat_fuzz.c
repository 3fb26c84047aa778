/* Fuzz heartbeat, probe and probe report. */

#include "wire/heartbeat.h"

#include "wire/fuzzing.h"

static void fuzz_heartbeat(const struct fuzzing_frame *in)
{
    struct wire_heartbeat beat;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_heartbeat_decode(in->body, in->size, &beat) != OK) {
        return;
    }
    CHECK(beat.load_ppm <= WIRE_LOAD_PPM_MAX);
    rc = wire_heartbeat_encode(fuzzing_pool(), &beat, &frame);
    if (bytes_load32(in->body + 24) > WIRE_LOAD_PPM_MAX) {
        CHECK(rc == OK);
        buf_unref(frame); /* The load was cut. */
    } else {
        fuzzing_same(in, rc, frame);
    }
}

static void fuzz_probe(const struct fuzzing_frame *in)
{
    struct wire_probe probe;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_probe_decode(in->body, in->size, &probe) == OK) {
        rc = wire_probe_encode(fuzzing_pool(), &probe, (uint32_t)in->size + WIRE_HEADER_BYTES,
                               &frame);
        fuzzing_same(in, rc, frame);
    }
}

static void fuzz_probe_report(const struct fuzzing_frame *in)
{
    struct wire_probe_report report;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_probe_report_decode(in->body, in->size, &report) == OK) {
        rc = wire_probe_report_encode(fuzzing_pool(), &report, &frame);
        fuzzing_same(in, rc, frame);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzzing_frame in;

    if (!fuzzing_open(data, size, &in)) {
        return 0;
    }
    if (in.header.type == WIRE_HEARTBEAT) {
        fuzz_heartbeat(&in);
    } else if (in.header.type == WIRE_PROBE) {
        fuzz_probe(&in);
    } else if (in.header.type == WIRE_PROBE_REPORT) {
        fuzz_probe_report(&in);
    }
    return 0;
}
