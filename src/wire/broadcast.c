/* A chunk without a tail: the accumulator is the frame. */

#include "wire/broadcast.h"

enum err wire_broadcast_encode(struct buf_pool *pool, const struct wire_chunk *broadcast,
                               struct buf **frame_out)
{
    if (broadcast->weight == 0) {
        return ERR_INVALID;
    }
    return wire_chunk_encode(pool, WIRE_BROADCAST, broadcast, NULL, frame_out);
}

void wire_broadcast_seal(struct buf *frame, const struct wire_chunk *broadcast)
{
    CHECK(broadcast->weight != 0);
    wire_chunk_seal(frame, WIRE_BROADCAST, broadcast, NULL);
}

enum err wire_broadcast_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                               struct wire_chunk *out)
{
    CHECK(header->type == WIRE_BROADCAST);
    if (header->weight == 0) {
        return ERR_MALFORMED;
    }
    return wire_chunk_decode(header, body, size, 0, out);
}
