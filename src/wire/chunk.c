/* One chunk per frame: the header's fields in and out, and the size of the payload. */

#include "wire/chunk.h"

#include "base/buf.h"

#include <string.h>

_Static_assert(WIRE_CHUNK_BODY_BYTES_MAX + WIRE_CHUNK_TAIL_BYTES == WIRE_UPDATE_BODY_BYTES_MAX,
               "an update is a chunk with a tail");

bool wire_codec_valid(uint16_t codec)
{
    return (codec & ((1u << WIRE_SQUEEZE_SHIFT) - 1)) < WIRE_CODECS &&
           codec >> WIRE_SQUEEZE_SHIFT < WIRE_SQUEEZES;
}

bool wire_payload_valid(uint16_t codec, uint64_t payload_bytes)
{
    return wire_codec_valid(codec) && payload_bytes > 0 && payload_bytes <= LIMIT_CHUNK_BYTES &&
           (codec != WIRE_CODEC_F32 || payload_bytes % 4 == 0);
}

enum err wire_chunk_take(struct buf_pool *pool, uint32_t payload_bytes, struct buf **frame_out)
{
    enum err rc;

    if (payload_bytes == 0 || payload_bytes > LIMIT_CHUNK_BYTES) {
        return ERR_INVALID;
    }
    rc = wire_frame_take(pool, (size_t)payload_bytes + WIRE_MEMBERS_BYTES_MAX, frame_out);
    if (rc == OK) {
        (void)buf_append(*frame_out, payload_bytes);
    }
    return rc;
}

void wire_chunk_seal(struct buf *frame, enum wire_type type, const struct wire_chunk *about,
                     const uint8_t *tail, size_t tail_bytes)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX,
        .type = (uint8_t)type,
        .table = about->table,
        .codec = about->codec,
        .chunk = about->chunk,
        .epoch = about->epoch,
        .clock = about->clock,
        .origin = about->origin,
        .weight = about->weight,
    };

    CHECK(wire_payload_valid(about->codec, buf_size(frame)));
    if (tail_bytes > 0) {
        memcpy(buf_append(frame, tail_bytes), tail, tail_bytes);
    }
    wire_frame_seal(frame, &header);
}

enum err wire_chunk_encode(struct buf_pool *pool, enum wire_type type,
                           const struct wire_chunk *chunk, const uint8_t *tail, size_t tail_bytes,
                           struct buf **frame_out)
{
    struct buf *frame;
    enum err rc;

    if (!wire_payload_valid(chunk->codec, chunk->payload_bytes)) {
        return ERR_INVALID;
    }
    rc = wire_frame_take(pool, chunk->payload_bytes + tail_bytes, &frame);
    if (rc != OK) {
        return rc;
    }
    memcpy(buf_append(frame, chunk->payload_bytes), chunk->payload, chunk->payload_bytes);
    wire_chunk_seal(frame, type, chunk, tail, tail_bytes);
    *frame_out = frame;
    return OK;
}

enum err wire_chunk_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                           size_t tail_bytes, struct wire_chunk *out)
{
    if (size != header->body_bytes || size < tail_bytes ||
        !wire_payload_valid(header->codec, size - tail_bytes)) {
        return ERR_MALFORMED;
    }
    *out = (struct wire_chunk){
        .table = header->table,
        .codec = header->codec,
        .chunk = header->chunk,
        .epoch = header->epoch,
        .origin = header->origin,
        .clock = header->clock,
        .weight = header->weight,
        .payload_bytes = (uint32_t)(size - tail_bytes),
        .payload = body,
    };
    return OK;
}
