/* Fuzz rows: push, pull and values. */

#include "wire/rows.h"

#include "wire/fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_rows rows;
    struct buf *frame = NULL;
    struct fuzzing_frame in;
    enum err rc;

    if (!fuzzing_open(data, size, &in) ||
        (in.header.type != WIRE_ROWS_PUSH && in.header.type != WIRE_ROWS_PULL &&
         in.header.type != WIRE_ROWS_VALUES)) {
        return 0;
    }
    if (wire_rows_decode(&in.header, in.body, in.size, &rows) == OK) {
        CHECK(wire_rows_row(&rows, rows.count - 1) >= rows.count - 1);
        rc = wire_rows_encode(fuzzing_pool(), (enum wire_type)in.header.type, &rows, &frame);
        fuzzing_same(&in, rc, frame);
    }
    return 0;
}
