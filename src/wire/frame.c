/* The header is straight stores and loads plus one hash: it is on the path of every frame. The
 * table of types is the only place that knows who may send what, and how much. */

#include "wire/frame.h"

#include "base/buf.h"
#include "base/bytes.h"
#include "base/hash.h"

#include <string.h>

#define FRAME_GOLDEN UINT32_C(2654435769) /* 2^32 by the golden ratio. */

/* Offsets of the header's fields: docs/PROTOCOL.md. */
enum {
    FRAME_AT_MAGIC = 0,
    FRAME_AT_VERSION = 4,
    FRAME_AT_TYPE = 5,
    FRAME_AT_FLAGS = 6,
    FRAME_AT_BODY_BYTES = 8,
    FRAME_AT_TABLE = 12,
    FRAME_AT_CODEC = 14,
    FRAME_AT_CHUNK = 16,
    FRAME_AT_EPOCH = 20,
    FRAME_AT_CLOCK = 24,
    FRAME_AT_SEQUENCE = 32,
    FRAME_AT_BODY_CHECK = 40,
    FRAME_AT_ORIGIN = 48,
    FRAME_AT_WEIGHT = 52,
    FRAME_AT_CHECK = 56,

    FRAME_MAGIC = 0x54525453,      /* "STRT" */
    FRAME_FLAGS_CRITICAL = 0xff00, /* No bit of the high byte is known yet. */
};

_Static_assert(FRAME_AT_CHECK + 8 == WIRE_HEADER_BYTES, "the header ends with its check");
_Static_assert(WIRE_HEADER_BYTES % BUF_ALIGN == 0, "a body behind its header is aligned");

enum {
    ROLES_MEMBER = WIRE_ROLE_WORKER | WIRE_ROLE_SERVER | WIRE_ROLE_RELAY | WIRE_ROLE_OPERATOR,
    ROLES_SERVING = WIRE_ROLE_SERVER | WIRE_ROLE_RELAY,
    /* In a tree a worker passes broadcasts on, so it answers those who dial it. It has a copy of
     * what it was sent, too. */
    ROLES_TREE = ROLES_SERVING | WIRE_ROLE_WORKER,
};

/* clang-format off */
static const struct wire_type_info frame_types[] = {
    [WIRE_HELLO] = {"hello", true, WIRE_HELLO_BODY_BYTES_MAX, ROLES_MEMBER},
    [WIRE_WELCOME] = {"welcome", true, WIRE_HELLO_BODY_BYTES_MAX, ROLES_TREE},
    /* Whoever dialled may refuse too: the welcome can come from the wrong member. */
    [WIRE_REFUSE] = {"refuse", true, WIRE_REFUSE_BODY_BYTES_MAX, ROLES_MEMBER},
    [WIRE_HEARTBEAT] = {"heartbeat", true, WIRE_HEARTBEAT_BODY_BYTES, ROLES_MEMBER},
    [WIRE_PROBE] = {"probe", true, LIMIT_CONTROL_BODY_BYTES, ROLES_MEMBER},
    [WIRE_PROBE_REPORT] = {"probe_report", true, WIRE_PROBE_REPORT_BODY_BYTES_MAX, ROLES_MEMBER},
    [WIRE_ACK] = {"ack", true, WIRE_ACK_BODY_BYTES_MAX, ROLES_MEMBER},
    [WIRE_CONTROL] = {"control", true, LIMIT_CONTROL_BODY_BYTES, ROLES_MEMBER},
    [WIRE_ENROLL] = {"enroll", true, WIRE_ENROLL_BODY_BYTES_MAX, WIRE_ROLE_STRANGER},
    [WIRE_ENROLLED] = {"enrolled", true, WIRE_ENROLLED_BODY_BYTES_MAX, ROLES_SERVING},
    [WIRE_PUSH] = {"push", false, WIRE_UPDATE_BODY_BYTES_MAX, WIRE_ROLE_WORKER},
    /* Not control: a pull must not overtake the pushes before it. A server that restarts pulls what
     * its workers' copies have. */
    [WIRE_PULL] =
        {"pull", false, WIRE_PULL_BODY_BYTES_MAX, WIRE_ROLE_WORKER | WIRE_ROLE_SERVER},
    [WIRE_VALUES] = {"values", false, WIRE_CHUNK_BODY_BYTES_MAX, ROLES_SERVING},
    [WIRE_ROWS_PUSH] = {"rows_push", false, LIMIT_DATA_BODY_BYTES, WIRE_ROLE_WORKER},
    [WIRE_ROWS_PULL] = {"rows_pull", false, WIRE_ROWS_PULL_BODY_BYTES_MAX, WIRE_ROLE_WORKER},
    [WIRE_ROWS_VALUES] = {"rows_values", false, LIMIT_DATA_BODY_BYTES, ROLES_SERVING},
    [WIRE_BROADCAST] = {"broadcast", false, WIRE_SUM_BODY_BYTES_MAX, ROLES_TREE},
    /* Not control: each speaks of the chunks before it. */
    [WIRE_CLOCK] = {"clock", false, 0, WIRE_ROLE_WORKER},
    [WIRE_ADVANCED] = {"advanced", false, WIRE_ADVANCED_BODY_BYTES_MAX, ROLES_SERVING},
    [WIRE_LATE] = {"late", false, WIRE_LATE_BODY_BYTES, ROLES_SERVING},
    [WIRE_FEED] = {"feed", true, WIRE_FEED_BODY_BYTES_MAX, WIRE_ROLE_SERVER | WIRE_ROLE_WORKER},
    /* Not control: what it speaks of went before it, as far as the lane sends it itself. */
    [WIRE_DUE] = {"due", false, WIRE_DUE_BODY_BYTES_MAX, WIRE_ROLE_SERVER},
    [WIRE_WANT] = {"want", true, WIRE_WANT_BODY_BYTES_MAX, WIRE_ROLE_WORKER},
    [WIRE_DELTA] = {"delta", false, WIRE_PIECE_BODY_BYTES_MAX, ROLES_SERVING},
    /* Not control: it speaks of the deltas before it. */
    [WIRE_MARK] = {"mark", false, WIRE_MARK_BODY_BYTES_MAX, WIRE_ROLE_SERVER},
    [WIRE_REPORT] = {"report", true, WIRE_REPORT_BODY_BYTES_MAX, WIRE_ROLE_SERVER},
    /* Control: it is of use only if it comes before the deltas that it speaks of. */
    [WIRE_BARRIER] = {"barrier", true, WIRE_BARRIER_BODY_BYTES_MAX, WIRE_ROLE_SERVER},
    [WIRE_COPY] = {"copy", false, WIRE_PIECE_BODY_BYTES_MAX, WIRE_ROLE_SERVER},
    [WIRE_SUM] = {"sum", false, WIRE_ROUTED_BODY_BYTES_MAX, WIRE_ROLE_SERVER},
    [WIRE_RESULT] = {"result", false, WIRE_ROUTED_BODY_BYTES_MAX, WIRE_ROLE_SERVER},
    [WIRE_WHOLE] = {"whole", false, WIRE_ROUTED_BODY_BYTES_MAX, WIRE_ROLE_SERVER},
    /* Not control: neither may overtake the chunks between them. */
    [WIRE_SNAPSHOT_BEGIN] =
        {"snapshot_begin", false, WIRE_SNAPSHOT_BEGIN_BODY_BYTES_MAX, ROLES_SERVING},
    /* A worker answers the pull of a server that restarted. */
    [WIRE_SNAPSHOT_CHUNK] = {"snapshot_chunk", false, WIRE_SUM_BODY_BYTES_MAX, ROLES_TREE},
    [WIRE_SNAPSHOT_END] = {"snapshot_end", false, WIRE_SNAPSHOT_END_BODY_BYTES, ROLES_SERVING},
    [WIRE_OFFER] = {"offer", false, WIRE_OFFER_BODY_BYTES_MAX, WIRE_ROLE_WORKER},
    [WIRE_NOTE] = {"note", true, WIRE_NOTE_BODY_BYTES_MAX, WIRE_ROLE_SERVER},
    [WIRE_BYE] = {"bye", true, WIRE_REFUSE_BODY_BYTES_MAX, ROLES_MEMBER},
};
/* clang-format on */

static const char *const frame_reasons[WIRE_REASON_COUNT] = {
    [WIRE_REASON_NONE] = "none",
    [WIRE_REASON_MAGIC] = "magic",
    [WIRE_REASON_HEADER_CHECK] = "header_check",
    [WIRE_REASON_VERSION] = "version",
    [WIRE_REASON_TYPE] = "type",
    [WIRE_REASON_FLAGS] = "flags",
    [WIRE_REASON_LENGTH] = "length",
    [WIRE_REASON_BODY_CHECK] = "body_check",
    [WIRE_REASON_BODY] = "body",
    [WIRE_REASON_FIELD] = "field",
    [WIRE_REASON_ROLE] = "role",
};

static const struct {
    enum wire_role role;
    const char *name;
} frame_roles[] = {
    {WIRE_ROLE_STRANGER, "stranger"}, {WIRE_ROLE_WORKER, "worker"},
    {WIRE_ROLE_SERVER, "server"},     {WIRE_ROLE_RELAY, "relay"},
    {WIRE_ROLE_OPERATOR, "operator"},
};

enum { FRAME_ROLES = sizeof(frame_roles) / sizeof(frame_roles[0]) };

const struct wire_type_info *wire_type_info(uint8_t type)
{
    if (type >= sizeof(frame_types) / sizeof(frame_types[0]) || frame_types[type].name == NULL) {
        return NULL;
    }
    return &frame_types[type];
}

uint16_t wire_stream(const struct wire_header *header, uint16_t streams)
{
    bool fence = header->type == WIRE_CLOCK || header->type == WIRE_ADVANCED ||
                 header->type == WIRE_MARK || header->type == WIRE_DUE;
    uint32_t place = (header->table & ~(uint32_t)WIRE_TABLE_PLANE) + header->chunk;

    return (uint16_t)(fence ? header->chunk % streams
                            : (uint64_t)(place * FRAME_GOLDEN) * streams >> 32);
}

uint32_t wire_body_room(uint8_t type)
{
    /* The shortest way of two sites takes as much as who made an update. */
    uint32_t tail_bytes = WIRE_UPDATE_BODY_BYTES_MAX - WIRE_CHUNK_BODY_BYTES_MAX;
    bool grows = type == WIRE_PUSH || type == WIRE_SUM || type == WIRE_RESULT;

    return grows ? WIRE_MEMBERS_BYTES_MAX - tail_bytes : 0;
}

const char *wire_reason_name(enum wire_reason reason)
{
    return (unsigned int)reason < WIRE_REASON_COUNT ? frame_reasons[reason] : "unknown";
}

const char *wire_role_name(enum wire_role role)
{
    for (uint32_t i = 0; i < FRAME_ROLES; i++) {
        if (frame_roles[i].role == role) {
            return frame_roles[i].name;
        }
    }
    return "unknown";
}

enum wire_role wire_role_parse(const char *name)
{
    for (uint32_t i = 0; i < FRAME_ROLES; i++) {
        if (frame_roles[i].role != WIRE_ROLE_STRANGER && strcmp(frame_roles[i].name, name) == 0) {
            return frame_roles[i].role;
        }
    }
    return (enum wire_role)0;
}

void wire_header_encode(const struct wire_header *header, uint8_t *out)
{
    bytes_store32(out + FRAME_AT_MAGIC, FRAME_MAGIC);
    out[FRAME_AT_VERSION] = header->version;
    out[FRAME_AT_TYPE] = header->type;
    bytes_store16(out + FRAME_AT_FLAGS, header->flags);
    bytes_store32(out + FRAME_AT_BODY_BYTES, header->body_bytes);
    bytes_store16(out + FRAME_AT_TABLE, header->table);
    bytes_store16(out + FRAME_AT_CODEC, header->codec);
    bytes_store32(out + FRAME_AT_CHUNK, header->chunk);
    bytes_store32(out + FRAME_AT_EPOCH, header->epoch);
    bytes_store64(out + FRAME_AT_CLOCK, header->clock);
    bytes_store64(out + FRAME_AT_SEQUENCE, header->sequence);
    bytes_store64(out + FRAME_AT_BODY_CHECK, header->body_check);
    bytes_store32(out + FRAME_AT_ORIGIN, header->origin);
    bytes_store32(out + FRAME_AT_WEIGHT, header->weight);
    bytes_store64(out + FRAME_AT_CHECK, hash_bytes(out, FRAME_AT_CHECK));
}

/* Types with which two versions find out about each other: they are the same in every version. */
static bool frame_type_versionless(uint8_t type)
{
    return type == WIRE_HELLO || type == WIRE_WELCOME || type == WIRE_REFUSE || type == WIRE_BYE;
}

/* Return why the 64 bytes are refused, or WIRE_REASON_NONE. */
static enum wire_reason frame_judge(const uint8_t *bytes)
{
    uint8_t version = bytes[FRAME_AT_VERSION];
    uint8_t type = bytes[FRAME_AT_TYPE];
    const struct wire_type_info *info;

    if (bytes_load32(bytes + FRAME_AT_MAGIC) != FRAME_MAGIC) {
        return WIRE_REASON_MAGIC;
    }
    if (bytes_load64(bytes + FRAME_AT_CHECK) != hash_bytes(bytes, FRAME_AT_CHECK)) {
        return WIRE_REASON_HEADER_CHECK;
    }
    if ((version < WIRE_VERSION_MIN || version > WIRE_VERSION_MAX) &&
        !frame_type_versionless(type)) {
        return WIRE_REASON_VERSION;
    }
    info = wire_type_info(type);
    if (info == NULL) {
        return WIRE_REASON_TYPE;
    }
    if ((bytes_load16(bytes + FRAME_AT_FLAGS) & FRAME_FLAGS_CRITICAL) != 0) {
        return WIRE_REASON_FLAGS;
    }
    if (bytes_load32(bytes + FRAME_AT_BODY_BYTES) > info->body_bytes_max) {
        return WIRE_REASON_LENGTH;
    }
    return WIRE_REASON_NONE;
}

static enum err frame_reason_err(enum wire_reason reason)
{
    switch (reason) {
    case WIRE_REASON_NONE:
        return OK;
    case WIRE_REASON_VERSION:
    case WIRE_REASON_FLAGS:
        return ERR_VERSION;
    case WIRE_REASON_LENGTH:
        return ERR_TOO_BIG;
    default:
        return ERR_MALFORMED;
    }
}

enum err wire_header_decode(const uint8_t *bytes, struct wire_header *out,
                            enum wire_reason *reason_out)
{
    enum wire_reason reason = frame_judge(bytes);

    *reason_out = reason;
    if (reason != WIRE_REASON_NONE) {
        return frame_reason_err(reason);
    }
    out->version = bytes[FRAME_AT_VERSION];
    out->type = bytes[FRAME_AT_TYPE];
    out->flags = bytes_load16(bytes + FRAME_AT_FLAGS);
    out->body_bytes = bytes_load32(bytes + FRAME_AT_BODY_BYTES);
    out->table = bytes_load16(bytes + FRAME_AT_TABLE);
    out->codec = bytes_load16(bytes + FRAME_AT_CODEC);
    out->chunk = bytes_load32(bytes + FRAME_AT_CHUNK);
    out->epoch = bytes_load32(bytes + FRAME_AT_EPOCH);
    out->clock = bytes_load64(bytes + FRAME_AT_CLOCK);
    out->sequence = bytes_load64(bytes + FRAME_AT_SEQUENCE);
    out->body_check = bytes_load64(bytes + FRAME_AT_BODY_CHECK);
    out->origin = bytes_load32(bytes + FRAME_AT_ORIGIN);
    out->weight = bytes_load32(bytes + FRAME_AT_WEIGHT);
    return OK;
}

enum err wire_frame_take(struct buf_pool *pool, size_t body_bytes, struct buf **frame_out)
{
    return buf_take(pool, WIRE_HEADER_BYTES, body_bytes, frame_out);
}

void wire_frame_seal(struct buf *frame, struct wire_header *header)
{
    header->body_bytes = buf_size(frame);
    header->body_check = hash_bytes(buf_bytes(frame), buf_size(frame));
    wire_header_encode(header, buf_prepend(frame, WIRE_HEADER_BYTES));
}

void wire_frame_seal_plain(struct buf *frame, enum wire_type type)
{
    struct wire_header header = {.version = WIRE_VERSION_MAX, .type = (uint8_t)type};

    wire_frame_seal(frame, &header);
}

bool wire_body_valid(const struct wire_header *header, const uint8_t *body)
{
    return hash_bytes(body, header->body_bytes) == header->body_check;
}
