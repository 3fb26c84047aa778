/* push: a worker's update of one chunk.
 *
 * Its tail names the update for ever: the header's sequence numbers frames of one session and
 * begins anew when a worker moves to another server, but the update must still count once. */

#ifndef WIRE_PUSH_H
#define WIRE_PUSH_H

#include "wire/chunk.h"

/* Which update of a worker; the worker is the sender, or the origin if a relay sends it. */
struct wire_update_id {
    uint64_t incarnation; /* Of the worker's process; not zero. */
    uint64_t number;      /* Counts that incarnation's updates from one. */
};

struct wire_push {
    struct wire_chunk chunk; /* .clock: the worker's; .weight: samples, not zero. */
    struct wire_update_id id;
};

/* The 16 bytes of an identity, which rows carry too. */
void wire_update_id_write(const struct wire_update_id *id, uint8_t *out);
MUST_USE enum err wire_update_id_read(const uint8_t *bytes, struct wire_update_id *out);
bool wire_update_id_valid(const struct wire_update_id *id);

/* Make a sealed WIRE_PUSH frame with a copy of the payload. */
MUST_USE enum err wire_push_encode(struct buf_pool *pool, const struct wire_push *push,
                                   struct buf **frame_out);

/* Finish a frame from wire_chunk_take() in place; as wire_chunk_seal(). */
void wire_push_seal(struct buf *frame, const struct wire_push *push);

MUST_USE enum err wire_push_decode(const struct wire_header *header, const uint8_t *body,
                                   size_t size, struct wire_push *out);

#endif
