/* Fuzz broadcast. */

#include "wire/broadcast.h"

#include "wire/fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_broadcast message;
    struct buf *frame = NULL;
    struct fuzzing_frame in;
    enum err rc;

    if (fuzzing_open(data, size, &in) && in.header.type == WIRE_BROADCAST &&
        wire_broadcast_decode(&in.header, in.body, in.size, &message) == OK) {
        rc = wire_broadcast_encode(fuzzing_pool(), &message, &frame);
        fuzzing_same(&in, rc, frame);
    }
    return 0;
}
