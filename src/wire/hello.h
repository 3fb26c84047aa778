/* hello, welcome, refuse, bye: how two members meet and part.
 *
 * The one who dialled sends hello on each stream; the other answers welcome or refuse. Both carry
 * what the sender of the message has received so far in the session (a receive window), so that a
 * reconnected pair resends just what is missing. Texts are views into the body: borrowed. */

#ifndef WIRE_HELLO_H
#define WIRE_HELLO_H

#include "wire/frame.h"

struct buf;
struct buf_pool;

enum { WIRE_WINDOW_WORDS = LIMIT_WINDOW_FRAMES / 64 };

/* What a receiver holds of a sender's sequence: everything up to .base, and beyond it the bits of
 * .bits (bit i: base + 1 + i). Only the words up to the last bit set travel. */
struct wire_window {
    uint64_t base;
    uint64_t bits[WIRE_WINDOW_WORDS];
};

/* Not terminated; at most LIMIT_NAME_BYTES. Names are [A-Za-z0-9._-]+ : decoding refuses others. */
struct wire_name {
    const char *chars;
    uint32_t size;
};

struct wire_hello {
    uint8_t version_min;
    uint8_t version_max; /* In welcome both are the chosen one. */
    enum wire_role role;
    uint16_t stream_index; /* Which of the session's streams this is. */
    uint16_t stream_count;
    uint64_t incarnation;      /* Of the sender: new with each start of its process. */
    uint64_t peer_incarnation; /* Of the receiver as the sender last knew it; zero: never met. */
    uint64_t send_base;        /* Everything the sender sent up to here has been acknowledged. */
    uint64_t session;          /* How many sessions that incarnation had dialled before this one. */
    struct wire_name site;
    struct wire_name name;
    struct wire_window received;
};

/* Codes of refusal; never reuse a value. */
enum wire_refusal {
    WIRE_REFUSAL_VERSION = 1,
    WIRE_REFUSAL_FIELD = 2,      /* Unknown critical field. */
    WIRE_REFUSAL_IDENTITY = 3,   /* Hello and certificate disagree. */
    WIRE_REFUSAL_SUPERSEDED = 4, /* A newer incarnation or session of it is here. */
    WIRE_REFUSAL_BUSY = 5,       /* Limits; try again later. */
    WIRE_REFUSAL_ROLE = 6,       /* That role is not wanted here. */
    WIRE_REFUSAL_REVOKED = 7,
    WIRE_REFUSAL_SELF = 8,   /* You have reached yourself. */
    WIRE_REFUSAL_LOST = 9,   /* The session you want to resume is not known here. */
    WIRE_REFUSAL_TOKEN = 10, /* Used, expired, unknown, or not for that name. */
};

struct wire_refuse {
    uint32_t code;       /* enum wire_refusal; unknown values are kept as they are. */
    const char *text;    /* UTF-8, not terminated. */
    uint32_t text_bytes; /* At most LIMIT_REASON_BYTES. */
};

/* Make a sealed frame of WIRE_HELLO or WIRE_WELCOME. ERR_AGAIN if the pool has no buffer. */
MUST_USE enum err wire_hello_encode(struct buf_pool *pool, enum wire_type type,
                                    const struct wire_hello *hello, struct buf **frame_out);

/* Decode the body of either. ERR_MALFORMED, or ERR_VERSION with WIRE_REASON_FIELD when it holds a
 * critical field that we do not know. */
MUST_USE enum err wire_hello_decode(const uint8_t *body, size_t size, struct wire_hello *out,
                                    enum wire_reason *reason_out);

/* Pick the highest version both ends speak, or zero. */
uint8_t wire_version_choose(const struct wire_hello *theirs);

/* Make and read WIRE_REFUSE and WIRE_BYE, which share a body. @text is terminated and may be
 * longer than the limit: it is cut. */
MUST_USE enum err wire_refuse_encode(struct buf_pool *pool, enum wire_type type, uint32_t code,
                                     const char *text, struct buf **frame_out);
MUST_USE enum err wire_refuse_decode(const uint8_t *body, size_t size, struct wire_refuse *out);

#endif
