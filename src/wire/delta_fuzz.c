/* Fuzz delta. */

#include "wire/delta.h"

#include "wire/fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_delta message;
    struct buf *frame = NULL;
    struct fuzzing_frame in;
    enum err rc;

    if (fuzzing_open(data, size, &in) && in.header.type == WIRE_DELTA &&
        wire_delta_decode(&in.header, in.body, in.size, &message) == OK) {
        for (uint32_t i = 0; i < message.range_count; i++) {
            struct wire_range range = wire_range(message.ranges, i);

            CHECK(range.site != 0 && range.prev < range.number);
        }
        rc = wire_delta_encode(fuzzing_pool(), &message, &frame);
        fuzzing_same(&in, rc, frame);
    }
    return 0;
}
