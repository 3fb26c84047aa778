/* A chunk, and behind it whose update it is. */

#include "wire/push.h"

#include "base/bytes.h"

_Static_assert(sizeof(struct wire_update_id) == WIRE_CHUNK_TAIL_BYTES, "it is the tail");

bool wire_update_id_valid(const struct wire_update_id *id)
{
    return id->incarnation != 0 && id->number != 0;
}

void wire_update_id_write(const struct wire_update_id *id, uint8_t *out)
{
    bytes_store64(out, id->incarnation);
    bytes_store64(out + 8, id->number);
}

enum err wire_update_id_read(const uint8_t *bytes, struct wire_update_id *out)
{
    struct wire_update_id id = {bytes_load64(bytes), bytes_load64(bytes + 8)};

    if (!wire_update_id_valid(&id)) {
        return ERR_MALFORMED;
    }
    *out = id;
    return OK;
}

static bool push_valid(const struct wire_push *push)
{
    return push->chunk.weight != 0 && wire_update_id_valid(&push->id);
}

enum err wire_push_encode(struct buf_pool *pool, const struct wire_push *push,
                          struct buf **frame_out)
{
    uint8_t tail[WIRE_CHUNK_TAIL_BYTES];

    if (!push_valid(push)) {
        return ERR_INVALID;
    }
    wire_update_id_write(&push->id, tail);
    return wire_chunk_encode(pool, WIRE_PUSH, &push->chunk, tail, sizeof(tail), frame_out);
}

void wire_push_seal(struct buf *frame, const struct wire_push *push)
{
    uint8_t tail[WIRE_CHUNK_TAIL_BYTES];

    CHECK(push_valid(push));
    wire_update_id_write(&push->id, tail);
    wire_chunk_seal(frame, WIRE_PUSH, &push->chunk, tail, sizeof(tail));
}

enum err wire_push_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                          struct wire_push *out)
{
    struct wire_push push;
    enum err rc;

    CHECK(header->type == WIRE_PUSH);
    rc = wire_chunk_decode(header, body, size, WIRE_CHUNK_TAIL_BYTES, &push.chunk);
    if (rc != OK) {
        return rc;
    }
    rc = wire_update_id_read(body + push.chunk.payload_bytes, &push.id);
    if (rc != OK || push.chunk.weight == 0) {
        return ERR_MALFORMED;
    }
    *out = push;
    return OK;
}
