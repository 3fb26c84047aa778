/* broadcast: the summed update of one chunk, from a server to its workers, directly or by a tree.
 *
 * .clock is the round, .weight how many contributions are in the sum (not zero), .origin the server
 * that made it when somebody else passes it on. There is one for a chunk, clock and epoch, whoever
 * brings it: that is its identity. */

#ifndef WIRE_BROADCAST_H
#define WIRE_BROADCAST_H

#include "wire/chunk.h"

/* Make a sealed WIRE_BROADCAST frame with a copy of the payload. */
MUST_USE enum err wire_broadcast_encode(struct buf_pool *pool, const struct wire_chunk *broadcast,
                                        struct buf **frame_out);

/* Finish a frame from wire_chunk_take(), or an accumulator with headroom, in place; as
 * wire_chunk_seal(). */
void wire_broadcast_seal(struct buf *frame, const struct wire_chunk *broadcast);

MUST_USE enum err wire_broadcast_decode(const struct wire_header *header, const uint8_t *body,
                                        size_t size, struct wire_chunk *out);

#endif
