/* Fuzz pull and values. */

#include "wire/pull.h"

#include "wire/fuzzing.h"

static void fuzz_pull(const struct fuzzing_frame *in)
{
    struct wire_pull pull;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_pull_decode(&in->header, in->body, in->size, &pull) == OK) {
        CHECK(wire_pull_chunk(&pull, pull.count - 1) >= pull.count - 1);
        rc = wire_pull_encode(fuzzing_pool(), &pull, &frame);
        fuzzing_same(in, rc, frame);
    }
}

static void fuzz_values(const struct fuzzing_frame *in)
{
    struct wire_chunk values;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_values_decode(&in->header, in->body, in->size, &values) == OK) {
        rc = wire_values_encode(fuzzing_pool(), &values, &frame);
        fuzzing_same(in, rc, frame);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzzing_frame in;

    if (!fuzzing_open(data, size, &in)) {
        return 0;
    }
    if (in.header.type == WIRE_PULL) {
        fuzz_pull(&in);
    } else if (in.header.type == WIRE_VALUES) {
        fuzz_values(&in);
    }
    return 0;
}
