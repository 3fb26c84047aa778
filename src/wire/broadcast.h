/* broadcast: the summed update of one chunk, from a server to its workers, directly or by a tree.
 *
 * .clock is the round, .weight how many contributions are in the sum (not zero; one if it is scaled
 * already, as sparsified ones are). In a site with trees .epoch is how many rounds back the one
 * before it of its chunk was, else zero. There is one for a chunk and clock, whoever brings it:
 * that is its identity. The members say whose contributions those are. */

#ifndef WIRE_BROADCAST_H
#define WIRE_BROADCAST_H

#include "wire/members.h"

struct wire_broadcast {
    struct wire_chunk chunk;
    uint32_t member_count; /* At most WIRE_MEMBERS_MAX. */
    const void *members;   /* Ranks ascend: read by wire_member(). */
};

/* Make a sealed WIRE_BROADCAST frame with a copy of the payload; broadcast->members is an array of
 * struct wire_member. */
MUST_USE enum err wire_broadcast_encode(struct buf_pool *pool,
                                        const struct wire_broadcast *broadcast,
                                        struct buf **frame_out);

/* Finish in place a frame from wire_chunk_take(), or an accumulator that was received as a push and
 * cut to its payload; as wire_chunk_seal(). The members go into the tailroom. */
void wire_broadcast_seal(struct buf *frame, const struct wire_broadcast *broadcast);

MUST_USE enum err wire_broadcast_decode(const struct wire_header *header, const uint8_t *body,
                                        size_t size, struct wire_broadcast *out);

#endif
