/* ranges: the tail of a chunk that says what of which sites is in it.
 *
 *     header | payload ... | count x { u32 site, u32 zero, u64 prev, u64 number } | u32 count, u32
 * zero
 *
 * It is read from the end, as that of wire/members.h. What a site adds to a chunk has numbers that
 * grow; a range (prev, number] says that the payload holds all that the site added to this chunk
 * above the one number, up to the other. Whoever has .prev adds it, whoever has .number drops it.
 */

#ifndef WIRE_RANGES_H
#define WIRE_RANGES_H

#include "wire/chunk.h"

enum { WIRE_RANGES_MAX = 64 };

struct wire_range {
    uint32_t site; /* As wire_site_id(); not zero. */
    uint64_t prev;
    uint64_t number;
};

/* Return what stands for a site's name on the wire: never zero. Two names may have the same; who
 * knows all sites must look. */
uint32_t wire_site_id(const char *name);

/* Return the @index-th range of a list, which is an array of the struct or bytes of a frame. The
 * caller knows how many there are. */
struct wire_range wire_range(const void *ranges, uint32_t index);

/* True if there are 1 to WIRE_RANGES_MAX, sites ascend strictly, and none is empty. */
bool wire_ranges_valid(const void *ranges, uint32_t count);

/* The same for a list of what a copy contains, where every range begins at zero: there may be none,
 * and those there are may be empty. */
bool wire_ranges_contents_valid(const void *ranges, uint32_t count);

/* Size of the tail with @count ranges. */
uint32_t wire_ranges_bytes(uint32_t count);

/* The tail alone. Write it to @out, which has room for wire_ranges_bytes(). */
void wire_ranges_write(const void *ranges, uint32_t count, uint8_t *out);

/* Find it at the end of a body. What follows from sites and numbers is not judged here. */
MUST_USE enum err wire_ranges_find(const uint8_t *body, size_t size, const void **ranges_out,
                                   uint32_t *count_out);

/* As wire_chunk_encode() and wire_chunk_seal() with this tail. ERR_INVALID, or a stop in seal, if
 * the ranges are not valid. */
MUST_USE enum err wire_ranges_encode(struct buf_pool *pool, enum wire_type type,
                                     const struct wire_chunk *chunk, const void *ranges,
                                     uint32_t count, struct buf **frame_out);
void wire_ranges_seal(struct buf *frame, enum wire_type type, const struct wire_chunk *about,
                      const void *ranges, uint32_t count);

/* As wire_chunk_decode(). @ranges_out points into the body, behind the payload. */
MUST_USE enum err wire_ranges_decode(const struct wire_header *header, const uint8_t *body,
                                     size_t size, struct wire_chunk *chunk_out,
                                     const void **ranges_out, uint32_t *count_out);

#endif
