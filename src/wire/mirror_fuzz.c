/* Fuzz mark, report, barrier and copy. */

#include "wire/mirror.h"

#include "wire/fuzzing.h"

static void fuzz_mark(const struct fuzzing_frame *in)
{
    struct buf *frame = NULL;
    struct wire_mark mark;
    enum err rc;

    if (wire_mark_decode(&in->header, in->body, in->size, &mark) == OK) {
        CHECK(mark.stream < LIMIT_STREAMS_PER_PEER && mark.serial != 0);
        for (uint32_t i = 0; i < mark.count; i++) {
            struct wire_mark_item item = wire_mark_item(mark.items, i);

            CHECK(item.site != 0 && item.from <= item.number && item.flags <= WIRE_MARK_WHOLE);
        }
        rc = wire_mark_encode(fuzzing_pool(), &mark, &frame);
        fuzzing_same(in, rc, frame);
    }
}

static void fuzz_report(const struct fuzzing_frame *in)
{
    struct wire_report report;
    struct buf *frame = NULL;
    uint32_t last = 0;
    enum err rc;

    if (wire_report_decode(&in->header, in->body, in->size, &report) == OK) {
        CHECK(report.floor <= report.number);
        for (uint32_t i = 0; i < report.away_count; i++) {
            CHECK(wire_report_away(&report, i) > last);
            last = wire_report_away(&report, i);
        }
        rc = wire_report_encode(fuzzing_pool(), &report, &frame);
        fuzzing_same(in, rc, frame);
    }
}

static void fuzz_barrier(const struct fuzzing_frame *in)
{
    struct wire_barrier barrier;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_barrier_decode(&in->header, in->body, in->size, &barrier) == OK) {
        CHECK(barrier.index_bytes <= WIRE_BARRIER_INDEX_BYTES_MAX);
        CHECK(barrier.index_bytes + wire_ranges_bytes(barrier.range_count) == in->size);
        rc = wire_barrier_encode(fuzzing_pool(), &barrier, &frame);
        fuzzing_same(in, rc, frame);
    }
}

static void fuzz_copy(const struct fuzzing_frame *in)
{
    struct buf *frame = NULL;
    struct wire_copy copy;
    enum err rc;

    if (wire_copy_decode(&in->header, in->body, in->size, &copy) == OK) {
        for (uint32_t i = 0; i < copy.range_count; i++) {
            CHECK(wire_range(copy.ranges, i).prev == 0);
        }
        rc = wire_copy_encode(fuzzing_pool(), &copy, &frame);
        fuzzing_same(in, rc, frame);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzzing_frame in;

    if (!fuzzing_open(data, size, &in)) {
        return 0;
    }
    if (in.header.type == WIRE_MARK) {
        fuzz_mark(&in);
    } else if (in.header.type == WIRE_REPORT) {
        fuzz_report(&in);
    } else if (in.header.type == WIRE_BARRIER) {
        fuzz_barrier(&in);
    } else if (in.header.type == WIRE_COPY) {
        fuzz_copy(&in);
    }
    return 0;
}
