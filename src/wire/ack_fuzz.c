/* Fuzz ack. */

#include "wire/ack.h"

#include "wire/fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_window window;
    struct buf *frame = NULL;
    struct fuzzing_frame in;
    enum err rc;

    if (fuzzing_open(data, size, &in) && in.header.type == WIRE_ACK &&
        wire_ack_decode(in.body, in.size, &window) == OK) {
        rc = wire_ack_encode(fuzzing_pool(), &window, &frame);
        fuzzing_same(&in, rc, frame);
    }
    return 0;
}
