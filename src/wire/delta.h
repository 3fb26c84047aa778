/* delta: what one or several sites add to a chunk of another one.
 *
 * What it is, is in its ranges, the same over every hop. What the header says of sites and groups
 * is about this hop only: two deltas may be added up on the way, and their ranges with them. */

#ifndef WIRE_DELTA_H
#define WIRE_DELTA_H

#include "wire/ranges.h"

struct wire_delta {
    /* .origin: the site that sends this hop, not zero; .epoch: bits of the groups that it is to be
     * passed on to; .clock: of its newest part; .weight: one; .codec: below WIRE_CODECS_DELTA. The
     * table has no WIRE_TABLE_PLANE. */
    struct wire_chunk chunk;
    uint32_t range_count; /* 1 to WIRE_RANGES_MAX. */
    const void *ranges;   /* Sites ascend: read by wire_range(). */
};

/* Make a sealed WIRE_DELTA frame with a copy of the payload; delta->ranges is an array of
 * struct wire_range. */
MUST_USE enum err wire_delta_encode(struct buf_pool *pool, const struct wire_delta *delta,
                                    struct buf **frame_out);

/* Finish a frame from wire_chunk_take() in place; as wire_chunk_seal(). */
void wire_delta_seal(struct buf *frame, const struct wire_delta *delta);

MUST_USE enum err wire_delta_decode(const struct wire_header *header, const uint8_t *body,
                                    size_t size, struct wire_delta *out);

#endif
