/* snapshot: the state for a newcomer, and what is in it.
 *
 * begin says how much of which sites is contained, and nothing else is; then come the chunks
 * of all tables; end has a hash over all their payloads in the order sent. Epoch, clock and origin
 * (the site whose copy it is) are the same in all three and tell one snapshot from another.
 *
 * A worker may send chunks without begin and end: that is how a server that restarted gets the
 * newest parameters back, from the copies of its workers. */

#ifndef WIRE_SNAPSHOT_H
#define WIRE_SNAPSHOT_H

#include "wire/members.h"

enum {
    WIRE_SNAPSHOT_TABLES_MAX = 4096,
    WIRE_SNAPSHOT_SOURCES_MAX = 4096,
    WIRE_SNAPSHOT_HASH_BYTES = 32, /* SHA-256 */
};

/* Of what a site added to a shard, all up to .number is in the snapshot. */
struct wire_snapshot_source {
    uint32_t site;
    uint32_t shard;
    uint64_t number; /* Zero: none. */
};

struct wire_snapshot_begin {
    uint32_t epoch;
    uint32_t origin;
    uint64_t clock;
    uint16_t table_count;  /* 1 to WIRE_SNAPSHOT_TABLES_MAX. */
    uint64_t chunk_count;  /* How many follow. */
    uint32_t source_count; /* At most WIRE_SNAPSHOT_SOURCES_MAX. */
    const void *sources;   /* Ascending by site, then shard: read by wire_snapshot_source(). */
};

/* .weight is zero. The table may have WIRE_TABLE_PLANE: then the payload is the state that belongs
 * to that chunk. */
struct wire_snapshot_chunk {
    struct wire_chunk chunk;
    uint32_t member_count; /* At most WIRE_MEMBERS_MAX. */
    const void *members;   /* Ranks ascend: read by wire_member(). */
};

struct wire_snapshot_end {
    uint32_t epoch;
    uint32_t origin;
    uint64_t clock;
    uint8_t hash[WIRE_SNAPSHOT_HASH_BYTES];
    uint64_t chunk_count;   /* How many went before. */
    uint64_t payload_bytes; /* Of all chunks. */
};

/* Return the @index-th source. */
struct wire_snapshot_source wire_snapshot_source(const struct wire_snapshot_begin *begin,
                                                 uint32_t index);

/* Make a sealed WIRE_SNAPSHOT_BEGIN frame; begin->sources is an array of the struct. */
MUST_USE enum err wire_snapshot_begin_encode(struct buf_pool *pool,
                                             const struct wire_snapshot_begin *begin,
                                             struct buf **frame_out);
MUST_USE enum err wire_snapshot_begin_decode(const struct wire_header *header, const uint8_t *body,
                                             size_t size, struct wire_snapshot_begin *out);

/* Make a sealed WIRE_SNAPSHOT_CHUNK frame with a copy of the payload; chunk->members is an array of
 * struct wire_member. */
MUST_USE enum err wire_snapshot_chunk_encode(struct buf_pool *pool,
                                             const struct wire_snapshot_chunk *chunk,
                                             struct buf **frame_out);

/* Finish a frame from wire_chunk_take() in place; as wire_chunk_seal(). */
void wire_snapshot_chunk_seal(struct buf *frame, const struct wire_snapshot_chunk *chunk);

MUST_USE enum err wire_snapshot_chunk_decode(const struct wire_header *header, const uint8_t *body,
                                             size_t size, struct wire_snapshot_chunk *out);

MUST_USE enum err wire_snapshot_end_encode(struct buf_pool *pool,
                                           const struct wire_snapshot_end *end,
                                           struct buf **frame_out);
MUST_USE enum err wire_snapshot_end_decode(const struct wire_header *header, const uint8_t *body,
                                           size_t size, struct wire_snapshot_end *out);

#endif
