/* The frame: a fixed 64-byte header, then the body. docs/PROTOCOL.md has the byte table.
 *
 * Nothing here allocates or follows a peer's number: a header is refused, with a reason that can be
 * counted, before anybody acts on its length. */

#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include "base/err.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct buf_pool;

enum {
    WIRE_HEADER_BYTES = LIMIT_FRAME_HEADER_BYTES,
    WIRE_VERSION_MIN = 1, /* Oldest version this build speaks. */
    WIRE_VERSION_MAX = 1, /* Newest. */
};

/* Never reuse a value. */
enum wire_type {
    WIRE_HELLO = 1, /* hello: who am I, what do I speak. */
    WIRE_WELCOME = 2,
    WIRE_REFUSE = 3,

    WIRE_HEARTBEAT = 8, /* heartbeat: alive; probes of a link. */
    WIRE_PROBE = 9,
    WIRE_PROBE_REPORT = 10,

    WIRE_ACK = 16,     /* control: acknowledgement. */
    WIRE_CONTROL = 17, /* control: a named operation with fields. */
    WIRE_ENROLL = 18,  /* control: a token and a request for a certificate. */
    WIRE_ENROLLED = 19,

    WIRE_PUSH = 32, /* push: a worker's update of one chunk. */

    WIRE_PULL = 40, /* pull: chunks wanted. */
    WIRE_VALUES = 41,

    WIRE_ROWS_PUSH = 48, /* rows: sparse access. */
    WIRE_ROWS_PULL = 49,
    WIRE_ROWS_VALUES = 50,

    WIRE_BROADCAST = 56, /* broadcast: the summed update of one chunk. */

    WIRE_CLOCK = 57, /* clock: how far the sender of a stream is; refused updates. */
    WIRE_ADVANCED = 58,
    WIRE_LATE = 59,

    WIRE_FEED = 60, /* feed: who passes sums on to whom; what is due. */
    WIRE_DUE = 61,
    WIRE_WANT = 62,

    WIRE_DELTA = 64, /* delta: what sites add to a chunk of another one. */

    WIRE_MARK = 65, /* mirror: what else lanes of different sites tell each other. */
    WIRE_REPORT = 66,
    WIRE_BARRIER = 67,
    WIRE_COPY = 68,

    WIRE_SUM = 69, /* route: what sites send each other through sites between them. */
    WIRE_RESULT = 70,
    WIRE_WHOLE = 71,

    WIRE_SNAPSHOT_BEGIN = 72, /* snapshot: state for a newcomer. */
    WIRE_SNAPSHOT_CHUNK = 73,
    WIRE_SNAPSHOT_END = 74,

    WIRE_OFFER = 75, /* clock: versions of chunks that a worker's copy holds. */

    WIRE_NOTE = 76, /* route, too. */

    WIRE_BYE = 80, /* bye: a clean end, with a reason. */
};

/* Roles that may send a message; in certificates and hello as the words in wire_role_name(). */
enum wire_role {
    WIRE_ROLE_STRANGER = 1 << 0, /* Not authenticated: enrolment only. */
    WIRE_ROLE_WORKER = 1 << 1,
    WIRE_ROLE_SERVER = 1 << 2,
    WIRE_ROLE_RELAY = 1 << 3,
    WIRE_ROLE_OPERATOR = 1 << 4, /* A person's tool: doctor, top, why. */
};

enum wire_flag {
    /* Low byte: a receiver that does not know the bit ignores it. */
    WIRE_FLAG_RESENT = 1 << 0, /* Sent before on an earlier connection. */
    /* High byte: a receiver that does not know the bit refuses the frame. */
};

/* Why a header or a body was refused; counted by the receiver (I7). */
enum wire_reason {
    WIRE_REASON_NONE,
    WIRE_REASON_MAGIC,
    WIRE_REASON_HEADER_CHECK,
    WIRE_REASON_VERSION,
    WIRE_REASON_TYPE,
    WIRE_REASON_FLAGS,
    WIRE_REASON_LENGTH,
    WIRE_REASON_BODY_CHECK,
    WIRE_REASON_BODY,  /* The body does not decode. */
    WIRE_REASON_FIELD, /* An unknown critical field. */
    WIRE_REASON_ROLE,  /* The sender's role may not send this type. */
    WIRE_REASON_COUNT,
};

/* In header.table of a chunk of a snapshot or a whole chunk: not the values of table (id & 0x7fff)
 * but the state that its applier keeps beside each of them. Tables therefore have numbers below
 * this. */
enum { WIRE_TABLE_PLANE = 0x8000 };

struct wire_header {
    uint8_t version;
    uint8_t type; /* enum wire_type */
    uint16_t flags;
    uint32_t body_bytes;
    uint16_t table;
    uint16_t codec;
    uint32_t chunk;
    uint32_t epoch; /* Plan or view the sender believes in. */
    uint64_t clock;
    uint64_t sequence;   /* Of the sender's session; zero: not to be acknowledged. */
    uint64_t body_check; /* XXH3 of the body. */
    uint32_t origin;     /* Member or site that made the content, if a relay sends it. */
    uint32_t weight;     /* Samples (push) or contributions (broadcast). */
};

/* Largest bodies of the types that have a natural maximum; the messages' headers say why. */
enum {
    WIRE_HELLO_BODY_BYTES_MAX = 4096,
    WIRE_ADVANCED_BODY_BYTES_MAX = 32,
    WIRE_REFUSE_BODY_BYTES_MAX = 8 + LIMIT_REASON_BYTES,
    WIRE_HEARTBEAT_BODY_BYTES = 32,
    WIRE_PROBE_REPORT_BODY_BYTES_MAX = 8 + 128 * 8,
    WIRE_ACK_BODY_BYTES_MAX = 16 + LIMIT_WINDOW_FRAMES / 8,
    WIRE_ENROLL_BODY_BYTES_MAX = 8 + 64 + LIMIT_NAME_BYTES + 8 * 1024,
    WIRE_ENROLLED_BODY_BYTES_MAX = 16 + 2 * 16 * 1024,
    WIRE_CHUNK_BODY_BYTES_MAX = LIMIT_CHUNK_BYTES,
    WIRE_UPDATE_BODY_BYTES_MAX = LIMIT_CHUNK_BYTES + 16, /* A chunk and who made it. */
    WIRE_MEMBERS_BYTES_MAX = 8 * 256 + 8,
    WIRE_SUM_BODY_BYTES_MAX = LIMIT_CHUNK_BYTES + WIRE_MEMBERS_BYTES_MAX, /* And who is in it. */
    WIRE_RANGES_BYTES_MAX = 24 * 64 + 8,
    WIRE_PIECE_BODY_BYTES_MAX = LIMIT_CHUNK_BYTES + WIRE_RANGES_BYTES_MAX, /* And of which sites. */
    WIRE_ROUTED_BYTES_MAX = 16 * 64 + 4 * 16 + 8,
    WIRE_ROUTED_BODY_BYTES_MAX = LIMIT_CHUNK_BYTES + WIRE_ROUTED_BYTES_MAX, /* And which way. */
    WIRE_NOTE_BODY_BYTES_MAX = 60 * 1024 + 4 * 16 + 8,
    WIRE_MARK_BODY_BYTES_MAX = 40 * 66,
    WIRE_REPORT_BODY_BYTES_MAX = 48 + 4 * 64,
    WIRE_BARRIER_BODY_BYTES_MAX = 16 * 1024 + WIRE_RANGES_BYTES_MAX,
    WIRE_PULL_BODY_BYTES_MAX = 4 + 4 * 4096,
    WIRE_ROWS_PULL_BODY_BYTES_MAX = 8 + 4 * 65536,
    WIRE_SNAPSHOT_BEGIN_BODY_BYTES_MAX = 16 + 16 * 4096,
    WIRE_SNAPSHOT_END_BODY_BYTES = 48,
    WIRE_LATE_BODY_BYTES = 16,
    WIRE_FEED_BODY_BYTES_MAX = 288,
    WIRE_DUE_BODY_BYTES_MAX = 8 + 12 * 4096,
    WIRE_WANT_BODY_BYTES_MAX = 8 + 4 * 4096,
    WIRE_OFFER_BODY_BYTES_MAX = 8 + 8 * 4096,
};

struct wire_type_info {
    const char *name; /* "push"; lower case, for logs and metrics. */
    bool control;     /* Overtakes data, has the small limit. */
    uint32_t body_bytes_max;
    uint32_t roles; /* Mask of enum wire_role. */
};

/* Return what is known of a type, or NULL. */
const struct wire_type_info *wire_type_info(uint8_t type);

/* On which of @streams (not zero) a frame of data goes. Frames of one chunk stay on one, its state
 * too: they must not overtake each other. A lane has every second, third, ... chunk of a table, and
 * these spread as well as all of them do. What goes behind everything on a stream says which. */
uint16_t wire_stream(const struct wire_header *header, uint16_t streams);

/* How many bytes to keep free behind a received body of that type, so that the buffer can be sent
 * on as something longer: a push becomes the broadcast of its round or a sum, a sum the result of
 * its round, and a result a broadcast, which have longer tails. */
uint32_t wire_body_room(uint8_t type);

/* Static words; "unknown" for a bad value. */
const char *wire_reason_name(enum wire_reason reason);
const char *wire_role_name(enum wire_role role);

/* Return the role for a word as in wire_role_name(), or zero. The stranger has none. */
enum wire_role wire_role_parse(const char *name);

/* Write the 64 bytes, check included. */
void wire_header_encode(const struct wire_header *header, uint8_t *out);

/* Decode and judge 64 bytes. On ERR_MALFORMED, ERR_TOO_BIG or ERR_VERSION the reason is in
 * @reason_out and @out is unchanged. A decoded body_bytes is within the limit of its type. */
MUST_USE enum err wire_header_decode(const uint8_t *bytes, struct wire_header *out,
                                     enum wire_reason *reason_out);

/* Take an empty frame for a body of @body_bytes: appending that many never fails, and the header
 * has its headroom. The body will start at an address aligned to BUF_ALIGN. ERR_AGAIN if the pool
 * has no buffer. */
MUST_USE enum err wire_frame_take(struct buf_pool *pool, size_t body_bytes, struct buf **frame_out);

/* Finish a frame: @frame holds the body and has headroom for the header, which is prepended.
 * header->body_bytes and body_check are computed and stored. */
void wire_frame_seal(struct buf *frame, struct wire_header *header);

/* Finish a frame whose header has nothing but a type to say. */
void wire_frame_seal_plain(struct buf *frame, enum wire_type type);

/* True if the body has the check that the header announces. */
MUST_USE bool wire_body_valid(const struct wire_header *header, const uint8_t *body);

#endif
