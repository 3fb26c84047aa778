/* A chunk, and behind it what of which sites is in it. */

#include "wire/delta.h"

static bool delta_valid(const struct wire_chunk *chunk)
{
    return chunk->weight == 1 && chunk->origin != 0 && chunk->codec < WIRE_CODECS_DELTA &&
           (chunk->table & WIRE_TABLE_PLANE) == 0;
}

enum err wire_delta_encode(struct buf_pool *pool, const struct wire_delta *delta,
                           struct buf **frame_out)
{
    if (!delta_valid(&delta->chunk)) {
        return ERR_INVALID;
    }
    return wire_ranges_encode(pool, WIRE_DELTA, &delta->chunk, delta->ranges, delta->range_count,
                              frame_out);
}

void wire_delta_seal(struct buf *frame, const struct wire_delta *delta)
{
    CHECK(delta_valid(&delta->chunk));
    wire_ranges_seal(frame, WIRE_DELTA, &delta->chunk, delta->ranges, delta->range_count);
}

enum err wire_delta_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                           struct wire_delta *out)
{
    struct wire_delta delta;
    enum err rc;

    CHECK(header->type == WIRE_DELTA);
    rc = wire_ranges_decode(header, body, size, &delta.chunk, &delta.ranges, &delta.range_count);
    if (rc != OK) {
        return rc;
    }
    if (!delta_valid(&delta.chunk)) {
        return ERR_MALFORMED;
    }
    *out = delta;
    return OK;
}
