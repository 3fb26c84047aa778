/* mark, report, barrier, copy: what lanes of different sites tell each other, beside the deltas.
 *
 *     mark     behind the deltas: up to where all of them have gone
 *     report   back: how far the sender is, and what it has safe
 *     barrier  ahead of deltas: which elements they will change
 *     copy     a whole chunk, for a site that has nothing
 *
 * Sites are named by wire_site_id(). What all this means is in docs/PROTOCOL.md; who does what with
 * it is decided elsewhere. */

#ifndef WIRE_MIRROR_H
#define WIRE_MIRROR_H

#include "wire/ranges.h"

enum {
    WIRE_MARK_ITEMS_MAX = 66,
    WIRE_REPORT_AWAY_MAX = 64,
    /* The longest list that is worth it is no longer than a bitmap: half of this. */
    WIRE_BARRIER_INDEX_BYTES_MAX = 16 * 1024,
};

enum wire_mark_flag {
    WIRE_MARK_WHOLE = 1 << 0, /* All that the site made before it heard of .answer has gone. */
};

/* All that .site made in (from, number] went before this; that is all up to .clock. */
struct wire_mark_item {
    uint32_t site;   /* Not zero. */
    uint32_t groups; /* Bits: to be passed on there. */
    uint32_t answer; /* Which request this answers; zero: none. */
    uint32_t flags;  /* enum wire_mark_flag; no other bit. */
    uint64_t from;   /* At most .number. */
    uint64_t number;
    uint64_t clock;
};

/* WIRE_MARK: each stream gets its own, with the same serial number; it counts when it has come on
 * all of them. */
struct wire_mark {
    uint16_t stream;   /* Below LIMIT_STREAMS_PER_PEER; the session sends it on that one. */
    uint64_t serial;   /* Of the mark in its session; not zero. */
    uint32_t count;    /* 1 to WIRE_MARK_ITEMS_MAX. */
    const void *items; /* In any order: read by wire_mark_item(). */
};

/* WIRE_REPORT. Numbers of pieces: .number, .floor are the sender's, .stable is the receiver's. */
struct wire_report {
    uint64_t clock;      /* Closed at the sender. */
    uint64_t number;     /* The last piece that it made. */
    uint64_t floor;      /* It keeps none up to here; at most .number. */
    uint64_t stable;     /* It has all up to here safe. */
    uint64_t before;     /* What it began with contains of its own life before, as a hash. */
    uint32_t request;    /* Another one than before: send directly again what is above .stable. */
    bool fresh;          /* It has nothing yet. */
    bool knew;           /* It contains pieces of the receiver, of this life or one before. */
    bool done;           /* Its clock will not move any more. */
    uint32_t away_count; /* At most WIRE_REPORT_AWAY_MAX. */
    const void *away;    /* Sites that it does not see, ascending: read by wire_report_away(). */
};

/* WIRE_BARRIER: deltas with these ranges are on their way, and will change these elements. */
struct wire_barrier {
    uint16_t table; /* Without WIRE_TABLE_PLANE. */
    uint16_t codec; /* Of the index part; WIRE_CODEC_F32: all elements. */
    uint32_t chunk;
    uint32_t origin; /* The site that sends it; not zero. */
    uint32_t groups; /* Bits: to be passed on there. */
    uint64_t clock;
    uint32_t index_bytes; /* 1 to WIRE_BARRIER_INDEX_BYTES_MAX; of WIRE_CODEC_F32 zero. */
    const uint8_t *index; /* What a payload of that codec starts with: borrowed. */
    uint32_t range_count; /* As in struct wire_delta. */
    const void *ranges;
};

/* WIRE_COPY: a chunk as its sender has it. */
struct wire_copy {
    /* .origin: the sender's site, not zero; .weight: zero; .codec: WIRE_CODEC_F32. The table has no
     * WIRE_TABLE_PLANE. */
    struct wire_chunk chunk;
    uint32_t range_count; /* 0 to WIRE_RANGES_MAX. */
    const void *ranges;   /* Of each site all up to .number is contained; .prev is zero. */
};

/* Return the @index-th item of a mark, from an array of the struct or bytes of a frame. The caller
 * knows how many there are. */
struct wire_mark_item wire_mark_item(const void *items, uint32_t index);

/* Make a sealed frame; mark->items is an array of struct wire_mark_item. All functions here that
 * encode return ERR_INVALID if what they are given is not as described above. */
MUST_USE enum err wire_mark_encode(struct buf_pool *pool, const struct wire_mark *mark,
                                   struct buf **frame_out);
MUST_USE enum err wire_mark_decode(const struct wire_header *header, const uint8_t *body,
                                   size_t size, struct wire_mark *out);

/* Return the @index-th site that is away. */
uint32_t wire_report_away(const struct wire_report *report, uint32_t index);

/* Make a sealed frame; report->away is an array of uint32_t, or NULL if it is empty. */
MUST_USE enum err wire_report_encode(struct buf_pool *pool, const struct wire_report *report,
                                     struct buf **frame_out);
MUST_USE enum err wire_report_decode(const struct wire_header *header, const uint8_t *body,
                                     size_t size, struct wire_report *out);

/* Make a sealed frame with a copy of the index part; barrier->ranges is an array of
 * struct wire_range, or bytes of a frame. */
MUST_USE enum err wire_barrier_encode(struct buf_pool *pool, const struct wire_barrier *barrier,
                                      struct buf **frame_out);
MUST_USE enum err wire_barrier_decode(const struct wire_header *header, const uint8_t *body,
                                      size_t size, struct wire_barrier *out);

/* Make a sealed frame with a copy of the payload; copy->ranges is an array of struct wire_range. */
MUST_USE enum err wire_copy_encode(struct buf_pool *pool, const struct wire_copy *copy,
                                   struct buf **frame_out);

/* Finish a frame from wire_chunk_take() in place; as wire_chunk_seal(). */
void wire_copy_seal(struct buf *frame, const struct wire_copy *copy);

MUST_USE enum err wire_copy_decode(const struct wire_header *header, const uint8_t *body,
                                   size_t size, struct wire_copy *out);

#endif
