/* The request is a short list; the answer is a chunk without a tail. */

#include "wire/pull.h"

#include "base/buf.h"
#include "base/bytes.h"

enum { PULL_HEAD_BYTES = 4 };

_Static_assert(PULL_HEAD_BYTES + 4 * WIRE_PULL_CHUNKS_MAX == WIRE_PULL_BODY_BYTES_MAX,
               "the limit is the longest list");

bool wire_ascending(const void *numbers, uint32_t count)
{
    const uint8_t *at = numbers;

    for (uint32_t i = 1; i < count; i++) {
        if (bytes_load32(at + (size_t)4 * i) <= bytes_load32(at + (size_t)4 * (i - 1))) {
            return false;
        }
    }
    return true;
}

uint32_t wire_pull_chunk(const struct wire_pull *pull, uint32_t index)
{
    CHECK(index < pull->count);
    return bytes_load32((const uint8_t *)pull->chunks + (size_t)4 * index);
}

enum err wire_pull_encode(struct buf_pool *pool, const struct wire_pull *pull,
                          struct buf **frame_out)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX,
        .type = WIRE_PULL,
        .table = pull->table,
        .epoch = pull->epoch,
        .clock = pull->clock,
        .origin = pull->origin,
    };
    struct buf *frame;
    uint8_t *body;
    size_t size;
    enum err rc;

    if (pull->count == 0 || pull->count > WIRE_PULL_CHUNKS_MAX ||
        !wire_ascending(pull->chunks, pull->count)) {
        return ERR_INVALID;
    }
    size = PULL_HEAD_BYTES + (size_t)4 * pull->count;
    rc = wire_frame_take(pool, size, &frame);
    if (rc != OK) {
        return rc;
    }
    body = buf_append(frame, size);
    bytes_store32(body, pull->count);
    memcpy(body + PULL_HEAD_BYTES, pull->chunks, size - PULL_HEAD_BYTES);
    wire_frame_seal(frame, &header);
    *frame_out = frame;
    return OK;
}

enum err wire_pull_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                          struct wire_pull *out)
{
    uint32_t count;

    CHECK(header->type == WIRE_PULL);
    if (size != header->body_bytes || size < PULL_HEAD_BYTES || header->codec != 0 ||
        header->chunk != 0 || header->weight != 0) {
        return ERR_MALFORMED;
    }
    count = bytes_load32(body);
    if (count == 0 || count > WIRE_PULL_CHUNKS_MAX || size != PULL_HEAD_BYTES + (size_t)4 * count ||
        !wire_ascending(body + PULL_HEAD_BYTES, count)) {
        return ERR_MALFORMED;
    }
    *out = (struct wire_pull){
        .table = header->table,
        .epoch = header->epoch,
        .origin = header->origin,
        .clock = header->clock,
        .count = count,
        .chunks = body + PULL_HEAD_BYTES,
    };
    return OK;
}

enum err wire_values_encode(struct buf_pool *pool, const struct wire_chunk *values,
                            struct buf **frame_out)
{
    if (values->weight != 0) {
        return ERR_INVALID;
    }
    return wire_chunk_encode(pool, WIRE_VALUES, values, NULL, 0, frame_out);
}

void wire_values_seal(struct buf *frame, const struct wire_chunk *values)
{
    CHECK(values->weight == 0);
    wire_chunk_seal(frame, WIRE_VALUES, values, NULL, 0);
}

enum err wire_values_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                            struct wire_chunk *out)
{
    CHECK(header->type == WIRE_VALUES);
    if (header->weight != 0) {
        return ERR_MALFORMED;
    }
    return wire_chunk_decode(header, body, size, 0, out);
}
