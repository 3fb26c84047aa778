/* members: the tail of a chunk that says whose updates are in it.
 *
 *     header | payload ... | count x { u32 rank, u32 clock } | u32 count, u32 zero
 *
 * It is read from the end, because only the end is where one knows it to be. A broadcast and a
 * chunk of a snapshot always have it, with no members if there is nothing to say. A worker learns
 * from it which of its own updates came back, and whoever gets a copy which of them it must not
 * add again. */

#ifndef WIRE_MEMBERS_H
#define WIRE_MEMBERS_H

#include "wire/chunk.h"

enum { WIRE_MEMBERS_MAX = 256 };

/* All updates of a worker up to .clock are contained: its own clock, which may be before or after
 * that of the header. Zero: none. */
struct wire_member {
    uint32_t rank;
    uint32_t clock;
};

/* Return the @index-th member of a list, which is an array of the struct or bytes of a frame. The
 * caller knows how many there are. */
struct wire_member wire_member(const void *members, uint32_t index);

/* True if there are not too many and ranks ascend strictly. */
bool wire_members_valid(const void *members, uint32_t count);

/* Size of the tail with @count members. */
uint32_t wire_members_bytes(uint32_t count);

/* As wire_chunk_encode() and wire_chunk_seal() with this tail; @members may be NULL if there are
 * none. ERR_INVALID, or a stop in seal, if they are not valid. */
MUST_USE enum err wire_members_encode(struct buf_pool *pool, enum wire_type type,
                                      const struct wire_chunk *chunk, const void *members,
                                      uint32_t count, struct buf **frame_out);
void wire_members_seal(struct buf *frame, enum wire_type type, const struct wire_chunk *about,
                       const void *members, uint32_t count);

/* As wire_chunk_decode(). @members_out points into the body, behind the payload. */
MUST_USE enum err wire_members_decode(const struct wire_header *header, const uint8_t *body,
                                      size_t size, struct wire_chunk *chunk_out,
                                      const void **members_out, uint32_t *count_out);

#endif
