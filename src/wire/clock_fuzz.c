/* Fuzz clock, advanced, late and offer. */

#include "wire/clock.h"

#include "wire/fuzzing.h"

static void fuzz_clock(const struct fuzzing_frame *in)
{
    struct wire_clock clock;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_clock_decode(&in->header, in->body, in->size, &clock) == OK) {
        CHECK(clock.stream < LIMIT_STREAMS_PER_PEER);
        rc = wire_clock_encode(fuzzing_pool(), (enum wire_type)in->header.type, &clock, &frame);
        fuzzing_same(in, rc, frame);
    }
}

static void fuzz_late(const struct fuzzing_frame *in)
{
    struct wire_late_notice notice;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_late_decode(&in->header, in->body, in->size, &notice) == OK) {
        CHECK(strcmp(wire_late_name(notice.reason), "unknown") != 0);
        rc = wire_late_encode(fuzzing_pool(), &notice, &frame);
        fuzzing_same(in, rc, frame);
    }
}

static void fuzz_offer(const struct fuzzing_frame *in)
{
    struct wire_offer offer;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_offer_decode(&in->header, in->body, in->size, &offer) == OK) {
        CHECK(offer.chunk + (offer.count - 1) >= offer.chunk);
        (void)wire_offer_version(&offer, offer.count - 1);
        rc = wire_offer_encode(fuzzing_pool(), &offer, &frame);
        fuzzing_same(in, rc, frame);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzzing_frame in;

    if (!fuzzing_open(data, size, &in)) {
        return 0;
    }
    if (in.header.type == WIRE_CLOCK || in.header.type == WIRE_ADVANCED) {
        fuzz_clock(&in);
    } else if (in.header.type == WIRE_LATE) {
        fuzz_late(&in);
    } else if (in.header.type == WIRE_OFFER) {
        fuzz_offer(&in);
    }
    return 0;
}
