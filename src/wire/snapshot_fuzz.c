/* Fuzz snapshot begin, chunk and end. */

#include "wire/snapshot.h"

#include "wire/fuzzing.h"

static void fuzz_begin(const struct fuzzing_frame *in)
{
    struct wire_snapshot_begin begin;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_snapshot_begin_decode(&in->header, in->body, in->size, &begin) == OK) {
        rc = wire_snapshot_begin_encode(fuzzing_pool(), &begin, &frame);
        fuzzing_same(in, rc, frame);
    }
}

static void fuzz_chunk(const struct fuzzing_frame *in)
{
    struct wire_snapshot_chunk chunk;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_snapshot_chunk_decode(&in->header, in->body, in->size, &chunk) == OK) {
        rc = wire_snapshot_chunk_encode(fuzzing_pool(), &chunk, &frame);
        fuzzing_same(in, rc, frame);
    }
}

static void fuzz_end(const struct fuzzing_frame *in)
{
    struct wire_snapshot_end end;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_snapshot_end_decode(&in->header, in->body, in->size, &end) == OK) {
        rc = wire_snapshot_end_encode(fuzzing_pool(), &end, &frame);
        fuzzing_same(in, rc, frame);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzzing_frame in;

    if (!fuzzing_open(data, size, &in)) {
        return 0;
    }
    if (in.header.type == WIRE_SNAPSHOT_BEGIN) {
        fuzz_begin(&in);
    } else if (in.header.type == WIRE_SNAPSHOT_CHUNK) {
        fuzz_chunk(&in);
    } else if (in.header.type == WIRE_SNAPSHOT_END) {
        fuzz_end(&in);
    }
    return 0;
}
