/* route: what sites send each other through sites between them (A8): sums to the centre, results
 * and whole chunks from there, and notes. The way is in the frame, as the tail of its body:
 *
 *     payload ... | listed x { u32 site, u32 zero, u64 round } | count x u32 site |
 *     u32 listed, u32 count
 *
 * Sites by wire_site_id(), none twice, from the one that made the frame to the one it is for; so a
 * way has no loops, and an end. Whoever gets a frame finds itself in it: the last one takes it, the
 * others send it on, unopened, to the one behind them. The list says whose sums are in a result, or
 * up to which round whose sums are in a whole chunk. */

#ifndef WIRE_ROUTE_H
#define WIRE_ROUTE_H

#include "wire/chunk.h"

enum {
    WIRE_ROUTE_SITES_MAX = 16,  /* On a way, both ends included. At least two. */
    WIRE_ROUTE_LISTED_MAX = 64, /* In the list. */
    WIRE_NOTE_BYTES_MAX = 60 * 1024,
};

struct wire_route {
    uint32_t count;
    const void *sites; /* Read by wire_route_site(); borrowed. */
};

/* Of a list: a site's sums up to this round are in. Of a result it is the one of the header. */
struct wire_listed {
    uint32_t site;
    uint64_t round;
};

/* WIRE_SUM, WIRE_RESULT and WIRE_WHOLE. */
struct wire_routed {
    /* .epoch: of the plan, not zero; .origin: the site that made it, the first of the way; .clock:
     * the round, or the version of a whole chunk; .weight: how many updates are in it, not zero but
     * in a result with an empty list: of a round in which nobody had anything, its payload is not
     * to be added (of a whole chunk: zero). Of a whole chunk .codec is WIRE_CODEC_F32, and the
     * table may have WIRE_TABLE_PLANE: the state beside the values, which comes before them; else
     * it has not. */
    struct wire_chunk chunk;
    struct wire_route route;
    uint32_t listed_count; /* Zero for a sum. */
    const void *listed;    /* Sites ascend strictly; read by wire_listed(); borrowed. */
};

enum wire_note_kind {
    WIRE_NOTE_STAND,   /* How a site stands when a plan begins. */
    WIRE_NOTE_GO,      /* It begins. */
    WIRE_NOTE_ASK,     /* The centre needs a chunk whole. */
    WIRE_NOTE_HAVE,    /* A version of a chunk is here. */
    WIRE_NOTE_ROOM,    /* So many bytes of chunks have come: as many more may follow. */
    WIRE_NOTE_NOTHING, /* A site's sum of a chunk is nothing. */
    WIRE_NOTE_EMPTY,   /* The result of a round is. */
    WIRE_NOTE_IDLE,    /* A site has no workers after a round; */
    WIRE_NOTE_BUSY,    /* it has again; */
    WIRE_NOTE_SINCE,   /* from this round on it counts. */
    WIRE_NOTES,
};

/* WIRE_NOTE: control. What is in it is the receiver's affair. */
struct wire_note {
    enum wire_note_kind kind; /* In header.table. */
    uint32_t epoch;           /* Not zero. */
    uint32_t origin;          /* The first of the way. */
    struct wire_route route;
    uint32_t size; /* 0 to WIRE_NOTE_BYTES_MAX. */
    const uint8_t *bytes;
};

/* The @index-th site of a way; the caller knows how many there are. */
uint32_t wire_route_site(const struct wire_route *route, uint32_t index);

/* The way of any of these frames, without judging the rest: for those who only pass it on.
 * ERR_MALFORMED unless it is a way. */
MUST_USE enum err wire_route_find(const uint8_t *body, size_t size, struct wire_route *out);

/* Where @site is on the way, or WIRE_ROUTE_SITES_MAX. */
uint32_t wire_route_index(const struct wire_route *route, uint32_t site);

/* The way of the others: the same sites, the other end first. @sites_out has room for them. */
void wire_route_reverse(const struct wire_route *route, uint32_t *sites_out);

struct wire_listed wire_listed(const void *listed, uint32_t index);

/* Make a sealed frame with a copy of the payload; route.sites is an array of uint32_t, listed one
 * of struct wire_listed. @type is one of the three. ERR_INVALID if it is not as described above. */
MUST_USE enum err wire_routed_encode(struct buf_pool *pool, enum wire_type type,
                                     const struct wire_routed *routed, struct buf **frame_out);

/* Finish a frame from wire_chunk_take() in place; as wire_chunk_seal(). */
void wire_routed_seal(struct buf *frame, enum wire_type type, const struct wire_routed *routed);

MUST_USE enum err wire_routed_decode(const struct wire_header *header, const uint8_t *body,
                                     size_t size, struct wire_routed *out);

MUST_USE enum err wire_note_encode(struct buf_pool *pool, const struct wire_note *note,
                                   struct buf **frame_out);
MUST_USE enum err wire_note_decode(const struct wire_header *header, const uint8_t *body,
                                   size_t size, struct wire_note *out);

#endif
