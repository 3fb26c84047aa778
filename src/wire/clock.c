/* Small messages: what they say is in the header as far as it has a place there. */

#include "wire/clock.h"

#include "base/buf.h"
#include "base/bytes.h"

enum { OFFER_HEAD_BYTES = 8 };

_Static_assert(OFFER_HEAD_BYTES + 8 * WIRE_OFFER_CHUNKS_MAX == WIRE_OFFER_BODY_BYTES_MAX,
               "the limit is the longest list");

static const char *const late_names[] = {
    [WIRE_LATE_LATE] = "late",
    [WIRE_LATE_NOT_MEMBER] = "not_member",
    [WIRE_LATE_NOT_FINITE] = "not_finite",
    [WIRE_LATE_AHEAD] = "ahead",
    [WIRE_LATE_SHAPE] = "shape",
};

static bool clock_type_valid(uint8_t type)
{
    return type == WIRE_CLOCK || type == WIRE_ADVANCED;
}

/* True if the header has nothing in the fields that none of these messages uses. */
static bool clock_header_valid(const struct wire_header *header)
{
    return header->codec == 0 && header->epoch == 0 && header->weight == 0;
}

/* Bytes up to the last one that is not zero. */
static uint32_t clock_members_bytes(const struct wire_clock *clock)
{
    uint32_t bytes = WIRE_ADVANCED_BODY_BYTES_MAX;

    while (bytes > 0 && (clock->members[(bytes - 1) / 8] >> ((bytes - 1) % 8 * 8) & 0xff) == 0) {
        bytes--;
    }
    return bytes;
}

enum err wire_clock_encode(struct buf_pool *pool, enum wire_type type,
                           const struct wire_clock *clock, struct buf **frame_out)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX,
        .type = (uint8_t)type,
        .chunk = clock->stream,
        .clock = clock->clock,
        .origin = clock->origin,
        .epoch = clock->view,
    };
    uint32_t bytes = clock_members_bytes(clock);
    uint8_t *body;
    enum err rc;

    CHECK(clock_type_valid(header.type));
    if (clock->stream >= LIMIT_STREAMS_PER_PEER ||
        (type == WIRE_CLOCK && (clock->view != 0 || bytes > 0))) {
        return ERR_INVALID;
    }
    rc = wire_frame_take(pool, bytes, frame_out);
    if (rc != OK) {
        return rc;
    }
    body = bytes == 0 ? NULL : buf_append(*frame_out, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        body[i] = (uint8_t)(clock->members[i / 8] >> (i % 8 * 8));
    }
    wire_frame_seal(*frame_out, &header);
    return OK;
}

enum err wire_clock_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                           struct wire_clock *out)
{
    bool plain = header->type == WIRE_CLOCK;

    CHECK(clock_type_valid(header->type));
    if (size != header->body_bytes || size > (plain ? 0 : WIRE_ADVANCED_BODY_BYTES_MAX) ||
        header->codec != 0 || header->weight != 0 || header->table != 0 ||
        (plain && header->epoch != 0) || header->chunk >= LIMIT_STREAMS_PER_PEER ||
        (size > 0 && body[size - 1] == 0)) {
        return ERR_MALFORMED;
    }
    *out = (struct wire_clock){
        .stream = (uint16_t)header->chunk,
        .origin = header->origin,
        .clock = header->clock,
        .view = header->epoch,
    };
    for (uint32_t i = 0; i < size; i++) {
        out->members[i / 8] |= (uint64_t)body[i] << (i % 8 * 8);
    }
    return OK;
}

static bool late_reason_valid(uint32_t reason)
{
    return reason >= WIRE_LATE_LATE && reason <= WIRE_LATE_SHAPE;
}

const char *wire_late_name(enum wire_late reason)
{
    return late_reason_valid((uint32_t)reason) ? late_names[reason] : "unknown";
}

enum err wire_late_encode(struct buf_pool *pool, const struct wire_late_notice *notice,
                          struct buf **frame_out)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX,
        .type = WIRE_LATE,
        .table = notice->table,
        .chunk = notice->chunk,
        .clock = notice->clock,
        .origin = notice->origin,
    };
    struct buf *frame;
    uint8_t *body;
    enum err rc;

    if (!late_reason_valid((uint32_t)notice->reason)) {
        return ERR_INVALID;
    }
    rc = wire_frame_take(pool, WIRE_LATE_BODY_BYTES, &frame);
    if (rc != OK) {
        return rc;
    }
    body = buf_append(frame, WIRE_LATE_BODY_BYTES);
    bytes_store32(body, (uint32_t)notice->reason);
    bytes_store32(body + 4, 0);
    bytes_store64(body + 8, notice->open_clock);
    wire_frame_seal(frame, &header);
    *frame_out = frame;
    return OK;
}

enum err wire_late_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                          struct wire_late_notice *out)
{
    uint32_t reason;

    CHECK(header->type == WIRE_LATE);
    if (size != header->body_bytes || size != WIRE_LATE_BODY_BYTES || !clock_header_valid(header)) {
        return ERR_MALFORMED;
    }
    reason = bytes_load32(body);
    if (!late_reason_valid(reason) || bytes_load32(body + 4) != 0) {
        return ERR_MALFORMED;
    }
    *out = (struct wire_late_notice){
        .table = header->table,
        .chunk = header->chunk,
        .origin = header->origin,
        .clock = header->clock,
        .reason = (enum wire_late)reason,
        .open_clock = bytes_load64(body + 8),
    };
    return OK;
}

/* True if that many chunks follow each other from @first on. */
static bool offer_range_valid(uint32_t first, uint32_t count)
{
    return count > 0 && count <= WIRE_OFFER_CHUNKS_MAX && count - 1 <= UINT32_MAX - first;
}

uint64_t wire_offer_version(const struct wire_offer *offer, uint32_t index)
{
    CHECK(index < offer->count);
    return bytes_load64((const uint8_t *)offer->versions + (size_t)8 * index);
}

enum err wire_offer_encode(struct buf_pool *pool, const struct wire_offer *offer,
                           struct buf **frame_out)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX,
        .type = WIRE_OFFER,
        .table = offer->table,
        .chunk = offer->chunk,
        .clock = offer->clock,
        .origin = offer->origin,
    };
    struct buf *frame;
    uint8_t *body;
    size_t size;
    enum err rc;

    if (!offer_range_valid(offer->chunk, offer->count)) {
        return ERR_INVALID;
    }
    size = OFFER_HEAD_BYTES + (size_t)8 * offer->count;
    rc = wire_frame_take(pool, size, &frame);
    if (rc != OK) {
        return rc;
    }
    body = buf_append(frame, size);
    bytes_store32(body, offer->count);
    bytes_store32(body + 4, 0);
    memcpy(body + OFFER_HEAD_BYTES, offer->versions, size - OFFER_HEAD_BYTES);
    wire_frame_seal(frame, &header);
    *frame_out = frame;
    return OK;
}

enum err wire_offer_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                           struct wire_offer *out)
{
    uint32_t count;

    CHECK(header->type == WIRE_OFFER);
    if (size != header->body_bytes || size < OFFER_HEAD_BYTES || !clock_header_valid(header)) {
        return ERR_MALFORMED;
    }
    count = bytes_load32(body);
    if (bytes_load32(body + 4) != 0 || !offer_range_valid(header->chunk, count) ||
        size != OFFER_HEAD_BYTES + (size_t)8 * count) {
        return ERR_MALFORMED;
    }
    *out = (struct wire_offer){
        .table = header->table,
        .chunk = header->chunk,
        .origin = header->origin,
        .clock = header->clock,
        .count = count,
        .versions = body + OFFER_HEAD_BYTES,
    };
    return OK;
}
