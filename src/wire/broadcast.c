/* A chunk, and behind it whose updates are in it: the accumulator is the frame. */

#include "wire/broadcast.h"

enum err wire_broadcast_encode(struct buf_pool *pool, const struct wire_broadcast *broadcast,
                               struct buf **frame_out)
{
    if (broadcast->chunk.weight == 0) {
        return ERR_INVALID;
    }
    return wire_members_encode(pool, WIRE_BROADCAST, &broadcast->chunk, broadcast->members,
                               broadcast->member_count, frame_out);
}

void wire_broadcast_seal(struct buf *frame, const struct wire_broadcast *broadcast)
{
    CHECK(broadcast->chunk.weight != 0);
    wire_members_seal(frame, WIRE_BROADCAST, &broadcast->chunk, broadcast->members,
                      broadcast->member_count);
}

enum err wire_broadcast_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                               struct wire_broadcast *out)
{
    struct wire_broadcast broadcast;
    enum err rc;

    CHECK(header->type == WIRE_BROADCAST);
    if (header->weight == 0) {
        return ERR_MALFORMED;
    }
    rc = wire_members_decode(header, body, size, &broadcast.chunk, &broadcast.members,
                             &broadcast.member_count);
    if (rc == OK) {
        *out = broadcast;
    }
    return rc;
}
