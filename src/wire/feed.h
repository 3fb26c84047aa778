/* feed, due, want: how sums reach workers by a tree (F7, F8), beside the sums themselves, which are
 * passed on as they are.
 *
 * A worker has one parent for each lane: the lane itself, or another worker. All of these are
 * small; feed and want are control, due is data, all of it on the first stream: what is due for a
 * round comes before what is for a later one, and before that round is said to be closed. */

#ifndef WIRE_FEED_H
#define WIRE_FEED_H

#include "wire/frame.h"

enum { WIRE_DUE_CHUNKS_MAX = 4096, WIRE_WANT_CHUNKS_MAX = 4096, WIRE_FEED_ADDRESS_BYTES_MAX = 288 };

/* Never reuse a value. */
enum wire_feed_kind {
    WIRE_FEED_PARENT = 1, /* Lane to worker: .rank at .address is your parent from now on. */
    WIRE_FEED_ASK = 2,    /* Worker to its parent: pass on what comes from lane .lane. */
    WIRE_FEED_GIVEN = 3,  /* Parent to worker: all that comes from now on. */
    WIRE_FEED_END = 4,    /* Worker to a parent that it had: no longer. */
    WIRE_FEED_ON = 5,     /* Worker to lane: the parent of .epoch feeds me. */
    WIRE_FEED_OFF = 6,    /* Worker to lane: it does not: feed me yourself. */
};

/* Why not. Never reuse a value. */
enum wire_feed_why {
    WIRE_FEED_FINE = 0, /* All kinds but off. */
    WIRE_FEED_AWAY = 1, /* The parent cannot be reached, or is gone. */
    WIRE_FEED_SLOW = 2, /* What it should have passed on does not come. */
};

struct wire_feed {
    enum wire_feed_kind kind;
    enum wire_feed_why why;
    uint32_t lane;  /* Number of the lane whose sums this is about. */
    uint32_t epoch; /* Which of the lane's decisions about this worker. */
    uint32_t rank;  /* Parent: its rank. Else the sender's. */
    uint32_t address_bytes;
    const char *address; /* Parent only; not terminated, borrowed when decoded. */
};

MUST_USE enum err wire_feed_encode(struct buf_pool *pool, const struct wire_feed *feed,
                                   struct buf **frame_out);
MUST_USE enum err wire_feed_decode(const struct wire_header *header, const uint8_t *body,
                                   size_t size, struct wire_feed *out);

/* WIRE_DUE, from a lane: a worker that has these chunks of a table in these versions, and those
 * that it was told of before, has all rounds up to .clock, as far as this table is concerned. */
struct wire_due {
    uint16_t table;
    uint64_t clock;
    uint32_t count;    /* 1 to WIRE_DUE_CHUNKS_MAX. */
    const void *items; /* 12 bytes each, chunks ascend: read by wire_due_item(). */
};

struct wire_due_item {
    uint32_t chunk;
    uint64_t version;
};

struct wire_due_item wire_due_item(const struct wire_due *due, uint32_t index);

/* due->items is an array of struct wire_due_item. */
MUST_USE enum err wire_due_encode(struct buf_pool *pool, const struct wire_due *due,
                                  struct buf **frame_out);
MUST_USE enum err wire_due_decode(const struct wire_header *header, const uint8_t *body,
                                  size_t size, struct wire_due *out);

/* WIRE_WANT, from a worker: these chunks whole, please. */
struct wire_want {
    uint16_t table;
    uint32_t count;     /* 1 to WIRE_WANT_CHUNKS_MAX. */
    const void *chunks; /* Numbers, strictly ascending, 4 bytes each: wire_want_chunk(). */
};

uint32_t wire_want_chunk(const struct wire_want *want, uint32_t index);

/* want->chunks is an array of uint32_t. */
MUST_USE enum err wire_want_encode(struct buf_pool *pool, const struct wire_want *want,
                                   struct buf **frame_out);
MUST_USE enum err wire_want_decode(const struct wire_header *header, const uint8_t *body,
                                   size_t size, struct wire_want *out);

#endif
