/* delta: what one site adds to one chunk of another.
 *
 * Its identity is (site, shard, number), the same over every hop: the site is the header's origin,
 * shard and number are the tail. A delta counts once however often and by whatever way it comes. */

#ifndef WIRE_DELTA_H
#define WIRE_DELTA_H

#include "wire/chunk.h"

struct wire_delta {
    struct wire_chunk
        chunk; /* .origin: the site; .clock: the site's; .weight: samples, not zero. */
    uint32_t shard;
    uint64_t number; /* Counts the site's deltas of that shard from one. */
};

/* Make a sealed WIRE_DELTA frame with a copy of the payload. */
MUST_USE enum err wire_delta_encode(struct buf_pool *pool, const struct wire_delta *delta,
                                    struct buf **frame_out);

/* Finish a frame from wire_chunk_take() in place; as wire_chunk_seal(). */
void wire_delta_seal(struct buf *frame, const struct wire_delta *delta);

MUST_USE enum err wire_delta_decode(const struct wire_header *header, const uint8_t *body,
                                    size_t size, struct wire_delta *out);

#endif
