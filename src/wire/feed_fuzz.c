/* Fuzz feed, due and want. */

#include "wire/feed.h"

#include "wire/fuzzing.h"

static void fuzz_feed(const struct fuzzing_frame *in)
{
    struct wire_feed feed;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_feed_decode(&in->header, in->body, in->size, &feed) == OK) {
        CHECK(feed.address_bytes <= WIRE_FEED_ADDRESS_BYTES_MAX);
        rc = wire_feed_encode(fuzzing_pool(), &feed, &frame);
        fuzzing_same(in, rc, frame);
    }
}

static void fuzz_due(const struct fuzzing_frame *in)
{
    static struct wire_due_item items[WIRE_DUE_CHUNKS_MAX];
    struct wire_due due;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_due_decode(&in->header, in->body, in->size, &due) == OK) {
        for (uint32_t i = 0; i < due.count; i++) {
            items[i] = wire_due_item(&due, i);
            CHECK(i == 0 || items[i].chunk > items[i - 1].chunk);
        }
        due.items = items;
        rc = wire_due_encode(fuzzing_pool(), &due, &frame);
        fuzzing_same(in, rc, frame);
    }
}

static void fuzz_want(const struct fuzzing_frame *in)
{
    struct wire_want want;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_want_decode(&in->header, in->body, in->size, &want) == OK) {
        (void)wire_want_chunk(&want, want.count - 1);
        rc = wire_want_encode(fuzzing_pool(), &want, &frame);
        fuzzing_same(in, rc, frame);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzzing_frame in;

    if (!fuzzing_open(data, size, &in)) {
        return 0;
    }
    if (in.header.type == WIRE_FEED) {
        fuzz_feed(&in);
    } else if (in.header.type == WIRE_DUE) {
        fuzz_due(&in);
    } else if (in.header.type == WIRE_WANT) {
        fuzz_want(&in);
    }
    return 0;
}
