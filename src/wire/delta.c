/* A chunk, and behind it which delta of the site it is. */

#include "wire/delta.h"

#include "base/bytes.h"

static bool delta_valid(const struct wire_delta *delta)
{
    return delta->chunk.weight != 0 && delta->number != 0;
}

static void delta_write_tail(const struct wire_delta *delta, uint8_t *out)
{
    bytes_store64(out, delta->number);
    bytes_store32(out + 8, delta->shard);
    bytes_store32(out + 12, 0);
}

enum err wire_delta_encode(struct buf_pool *pool, const struct wire_delta *delta,
                           struct buf **frame_out)
{
    uint8_t tail[WIRE_CHUNK_TAIL_BYTES];

    if (!delta_valid(delta)) {
        return ERR_INVALID;
    }
    delta_write_tail(delta, tail);
    return wire_chunk_encode(pool, WIRE_DELTA, &delta->chunk, tail, sizeof(tail), frame_out);
}

void wire_delta_seal(struct buf *frame, const struct wire_delta *delta)
{
    uint8_t tail[WIRE_CHUNK_TAIL_BYTES];

    CHECK(delta_valid(delta));
    delta_write_tail(delta, tail);
    wire_chunk_seal(frame, WIRE_DELTA, &delta->chunk, tail, sizeof(tail));
}

enum err wire_delta_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                           struct wire_delta *out)
{
    struct wire_delta delta;
    const uint8_t *tail;
    enum err rc;

    CHECK(header->type == WIRE_DELTA);
    rc = wire_chunk_decode(header, body, size, WIRE_CHUNK_TAIL_BYTES, &delta.chunk);
    if (rc != OK) {
        return rc;
    }
    tail = body + delta.chunk.payload_bytes;
    delta.number = bytes_load64(tail);
    delta.shard = bytes_load32(tail + 8);
    if (bytes_load32(tail + 12) != 0 || !delta_valid(&delta)) {
        return ERR_MALFORMED;
    }
    *out = delta;
    return OK;
}
