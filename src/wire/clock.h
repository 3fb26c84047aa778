/* clock, advanced, late, offer: what workers and servers tell each other about rounds, beside the
 * chunks themselves. None of them holds a float; all are data, so that none overtakes the chunks
 * that it speaks of.
 *
 * .origin is the sender's rank in all four, or zero. */

#ifndef WIRE_CLOCK_H
#define WIRE_CLOCK_H

#include "wire/frame.h"

enum { WIRE_OFFER_CHUNKS_MAX = 4096, WIRE_MEMBERS_WORDS = WIRE_ADVANCED_BODY_BYTES_MAX / 8 };

/* WIRE_CLOCK, from a worker: everything I have for clocks up to .clock went before this, on this
 * stream. WIRE_ADVANCED, from a server: all that I send for rounds up to .clock went before this,
 * on this stream. Each stream gets its own. */
struct wire_clock {
    uint16_t stream; /* Below LIMIT_STREAMS_PER_PEER; the session sends it on that one. */
    uint32_t origin;
    uint64_t clock;
    /* Advanced only: which members the server has. */
    uint32_t view;                        /* Another number whenever one comes. */
    uint64_t members[WIRE_MEMBERS_WORDS]; /* Bit r % 64 of word r / 64: rank r. */
};

/* Why an update was refused. Never reuse a value. */
enum wire_late {
    WIRE_LATE_LATE = 1,       /* Its round is over. */
    WIRE_LATE_NOT_MEMBER = 2, /* The worker is not counted in that round. */
    WIRE_LATE_NOT_FINITE = 3, /* Infinite, or not a number. */
    WIRE_LATE_AHEAD = 4,      /* Its round may not begin yet. */
    WIRE_LATE_SHAPE = 5,      /* No such table or chunk, or not of that size. */
};

/* WIRE_LATE, from a server: the update of that chunk and clock does not count. */
struct wire_late_notice {
    uint16_t table;
    uint32_t chunk;
    uint32_t origin;
    uint64_t clock;
    enum wire_late reason;
    uint64_t open_clock; /* What the server would take now. */
};

/* WIRE_OFFER, from a worker: which versions its copy of a table holds, for chunks that follow each
 * other. */
struct wire_offer {
    uint16_t table;
    uint32_t chunk; /* The first; the last must be a chunk number too. */
    uint32_t origin;
    uint64_t clock;       /* The worker's. */
    uint32_t count;       /* 1 to WIRE_OFFER_CHUNKS_MAX. */
    const void *versions; /* 8 bytes each: read by wire_offer_version(). */
};

/* Make a sealed frame; @type is WIRE_CLOCK or WIRE_ADVANCED. ERR_INVALID: no such stream. */
MUST_USE enum err wire_clock_encode(struct buf_pool *pool, enum wire_type type,
                                    const struct wire_clock *clock, struct buf **frame_out);
MUST_USE enum err wire_clock_decode(const struct wire_header *header, const uint8_t *body,
                                    size_t size, struct wire_clock *out);

/* Static word for logs and counters; "unknown" for a bad value. */
const char *wire_late_name(enum wire_late reason);

MUST_USE enum err wire_late_encode(struct buf_pool *pool, const struct wire_late_notice *notice,
                                   struct buf **frame_out);
MUST_USE enum err wire_late_decode(const struct wire_header *header, const uint8_t *body,
                                   size_t size, struct wire_late_notice *out);

/* Return the version of chunk (.chunk + @index). */
uint64_t wire_offer_version(const struct wire_offer *offer, uint32_t index);

/* Make a sealed WIRE_OFFER frame; offer->versions is an array of uint64_t. */
MUST_USE enum err wire_offer_encode(struct buf_pool *pool, const struct wire_offer *offer,
                                    struct buf **frame_out);
MUST_USE enum err wire_offer_decode(const struct wire_header *header, const uint8_t *body,
                                    size_t size, struct wire_offer *out);

#endif
