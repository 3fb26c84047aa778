/* What trees are agreed on with. */

#include "wire/feed.h"

#include "base/buf.h"
#include "base/bytes.h"
#include "wire/pull.h"
#include "wire/text.h"

enum { FEED_HEAD_BYTES = 8, FEED_DUE_BYTES = 12, FEED_WANT_BYTES = 4 };

_Static_assert(FEED_HEAD_BYTES + FEED_DUE_BYTES * WIRE_DUE_CHUNKS_MAX == WIRE_DUE_BODY_BYTES_MAX,
               "the limit is the longest list");
_Static_assert(FEED_HEAD_BYTES + FEED_WANT_BYTES * WIRE_WANT_CHUNKS_MAX == WIRE_WANT_BODY_BYTES_MAX,
               "the limit is the longest list");
_Static_assert((int)WIRE_FEED_ADDRESS_BYTES_MAX == (int)WIRE_FEED_BODY_BYTES_MAX,
               "it is all of the body");

static bool feed_valid(uint32_t kind, uint32_t why, const uint8_t *address, size_t size)
{
    bool off = kind == WIRE_FEED_OFF;

    if (kind < WIRE_FEED_PARENT || kind > WIRE_FEED_OFF || why > WIRE_FEED_SLOW ||
        (why != WIRE_FEED_FINE) != off) {
        return false;
    }
    return size <= WIRE_FEED_ADDRESS_BYTES_MAX && (size == 0 || kind == WIRE_FEED_PARENT) &&
           wire_text_valid(address, size);
}

enum err wire_feed_encode(struct buf_pool *pool, const struct wire_feed *feed,
                          struct buf **frame_out)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX,
        .type = WIRE_FEED,
        .table = (uint16_t)feed->kind,
        .chunk = feed->lane,
        .epoch = feed->epoch,
        .origin = feed->rank,
        .weight = (uint32_t)feed->why,
    };
    struct buf *frame;
    enum err rc;

    if (!feed_valid((uint32_t)feed->kind, (uint32_t)feed->why, (const uint8_t *)feed->address,
                    feed->address_bytes)) {
        return ERR_INVALID;
    }
    rc = wire_frame_take(pool, feed->address_bytes, &frame);
    if (rc != OK) {
        return rc;
    }
    if (feed->address_bytes > 0) {
        memcpy(buf_append(frame, feed->address_bytes), feed->address, feed->address_bytes);
    }
    wire_frame_seal(frame, &header);
    *frame_out = frame;
    return OK;
}

enum err wire_feed_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                          struct wire_feed *out)
{
    CHECK(header->type == WIRE_FEED);
    if (size != header->body_bytes || header->codec != 0 || header->clock != 0 ||
        !feed_valid(header->table, header->weight, body, size)) {
        return ERR_MALFORMED;
    }
    *out = (struct wire_feed){
        .kind = (enum wire_feed_kind)header->table,
        .why = (enum wire_feed_why)header->weight,
        .lane = header->chunk,
        .epoch = header->epoch,
        .rank = header->origin,
        .address_bytes = (uint32_t)size,
        .address = (const char *)body,
    };
    return OK;
}

/* A count and so many items, which begin with a chunk's number and ascend by that. */
static bool feed_list_valid(const uint8_t *body, size_t size, uint32_t item_bytes, uint32_t max,
                            uint32_t *count_out)
{
    uint32_t count = size < FEED_HEAD_BYTES ? 0 : bytes_load32(body);

    if (count == 0 || count > max || bytes_load32(body + 4) != 0 ||
        size != FEED_HEAD_BYTES + (size_t)item_bytes * count) {
        return false;
    }
    for (uint32_t i = 1; i < count; i++) {
        const uint8_t *at = body + FEED_HEAD_BYTES + (size_t)item_bytes * i;

        if (bytes_load32(at) <= bytes_load32(at - item_bytes)) {
            return false;
        }
    }
    *count_out = count;
    return true;
}

struct wire_due_item wire_due_item(const struct wire_due *due, uint32_t index)
{
    const uint8_t *at = (const uint8_t *)due->items + (size_t)FEED_DUE_BYTES * index;

    CHECK(index < due->count);
    return (struct wire_due_item){.chunk = bytes_load32(at), .version = bytes_load64(at + 4)};
}

enum err wire_due_encode(struct buf_pool *pool, const struct wire_due *due, struct buf **frame_out)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX, .type = WIRE_DUE, .table = due->table, .clock = due->clock};
    const struct wire_due_item *items = due->items;
    size_t size = FEED_HEAD_BYTES + (size_t)FEED_DUE_BYTES * due->count;
    struct buf *frame;
    uint8_t *body;
    enum err rc;

    if (due->count == 0 || due->count > WIRE_DUE_CHUNKS_MAX) {
        return ERR_INVALID;
    }
    for (uint32_t i = 1; i < due->count; i++) {
        if (items[i].chunk <= items[i - 1].chunk) {
            return ERR_INVALID;
        }
    }
    rc = wire_frame_take(pool, size, &frame);
    if (rc != OK) {
        return rc;
    }
    body = buf_append(frame, size);
    bytes_store32(body, due->count);
    bytes_store32(body + 4, 0);
    for (uint32_t i = 0; i < due->count; i++) {
        bytes_store32(body + FEED_HEAD_BYTES + (size_t)FEED_DUE_BYTES * i, items[i].chunk);
        bytes_store64(body + FEED_HEAD_BYTES + (size_t)FEED_DUE_BYTES * i + 4, items[i].version);
    }
    wire_frame_seal(frame, &header);
    *frame_out = frame;
    return OK;
}

/* True if the header has nothing in the fields that lists do not use. */
static bool feed_header_plain(const struct wire_header *header)
{
    return header->codec == 0 && header->chunk == 0 && header->epoch == 0 && header->weight == 0 &&
           header->origin == 0;
}

enum err wire_due_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                         struct wire_due *out)
{
    uint32_t count;

    CHECK(header->type == WIRE_DUE);
    if (size != header->body_bytes || !feed_header_plain(header) ||
        !feed_list_valid(body, size, FEED_DUE_BYTES, WIRE_DUE_CHUNKS_MAX, &count)) {
        return ERR_MALFORMED;
    }
    *out = (struct wire_due){.table = header->table,
                             .clock = header->clock,
                             .count = count,
                             .items = body + FEED_HEAD_BYTES};
    return OK;
}

uint32_t wire_want_chunk(const struct wire_want *want, uint32_t index)
{
    CHECK(index < want->count);
    return bytes_load32((const uint8_t *)want->chunks + (size_t)FEED_WANT_BYTES * index);
}

enum err wire_want_encode(struct buf_pool *pool, const struct wire_want *want,
                          struct buf **frame_out)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX, .type = WIRE_WANT, .table = want->table};
    size_t size = FEED_HEAD_BYTES + (size_t)FEED_WANT_BYTES * want->count;
    struct buf *frame;
    uint8_t *body;
    enum err rc;

    if (want->count == 0 || want->count > WIRE_WANT_CHUNKS_MAX ||
        !wire_ascending(want->chunks, want->count)) {
        return ERR_INVALID;
    }
    rc = wire_frame_take(pool, size, &frame);
    if (rc != OK) {
        return rc;
    }
    body = buf_append(frame, size);
    bytes_store32(body, want->count);
    bytes_store32(body + 4, 0);
    memcpy(body + FEED_HEAD_BYTES, want->chunks, size - FEED_HEAD_BYTES);
    wire_frame_seal(frame, &header);
    *frame_out = frame;
    return OK;
}

enum err wire_want_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                          struct wire_want *out)
{
    uint32_t count;

    CHECK(header->type == WIRE_WANT);
    if (size != header->body_bytes || !feed_header_plain(header) || header->clock != 0 ||
        !feed_list_valid(body, size, FEED_WANT_BYTES, WIRE_WANT_CHUNKS_MAX, &count)) {
        return ERR_MALFORMED;
    }
    *out = (struct wire_want){
        .table = header->table, .count = count, .chunks = body + FEED_HEAD_BYTES};
    return OK;
}
