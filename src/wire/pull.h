/* pull: chunks wanted. values: one of them.
 *
 * A pull asks for many chunks at once and is answered by as many values. Chunk numbers ascend, so
 * that nobody can ask for the same one a thousand times in a frame. A server that restarted pulls
 * from its workers' copies, which answer with chunks of a snapshot. */

#ifndef WIRE_PULL_H
#define WIRE_PULL_H

#include "wire/chunk.h"

enum { WIRE_PULL_CHUNKS_MAX = 4096 };

struct wire_pull {
    uint16_t table;
    uint32_t epoch;
    uint32_t origin;
    uint64_t clock;     /* Values of this clock or a later one are wanted. */
    uint32_t count;     /* 1 to WIRE_PULL_CHUNKS_MAX. */
    const void *chunks; /* Numbers, strictly ascending, 4 bytes each: read by wire_pull_chunk(). */
};

/* Return the @index-th wanted chunk. */
uint32_t wire_pull_chunk(const struct wire_pull *pull, uint32_t index);

/* Make a sealed WIRE_PULL frame; pull->chunks is an array of uint32_t. */
MUST_USE enum err wire_pull_encode(struct buf_pool *pool, const struct wire_pull *pull,
                                   struct buf **frame_out);

MUST_USE enum err wire_pull_decode(const struct wire_header *header, const uint8_t *body,
                                   size_t size, struct wire_pull *out);

/* True if @count numbers of 4 bytes ascend strictly. */
bool wire_ascending(const void *numbers, uint32_t count);

/* WIRE_VALUES: .clock is the one the values are of, .weight is zero. */
MUST_USE enum err wire_values_encode(struct buf_pool *pool, const struct wire_chunk *values,
                                     struct buf **frame_out);

/* Finish a frame from wire_chunk_take() in place; as wire_chunk_seal(). */
void wire_values_seal(struct buf *frame, const struct wire_chunk *values);

MUST_USE enum err wire_values_decode(const struct wire_header *header, const uint8_t *body,
                                     size_t size, struct wire_chunk *out);

#endif
