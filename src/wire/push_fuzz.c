/* Fuzz push. */

#include "wire/push.h"

#include "wire/fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_push message;
    struct buf *frame = NULL;
    struct fuzzing_frame in;
    enum err rc;

    if (fuzzing_open(data, size, &in) && in.header.type == WIRE_PUSH &&
        wire_push_decode(&in.header, in.body, in.size, &message) == OK) {
        rc = wire_push_encode(fuzzing_pool(), &message, &frame);
        fuzzing_same(&in, rc, frame);
    }
    return 0;
}
