/* A tail that is read from the end: two counts, the way, and the list. The struct of the list has a
 * hole where the wire has zeros, so it is written item by item. */

#include "wire/route.h"

#include "base/buf.h"
#include "base/bytes.h"

enum {
    ROUTE_SITE_BYTES = 4,
    ROUTE_END_BYTES = 8, /* Both counts. */
    LISTED_BYTES = 16,
    LISTED_AT_ZERO = 4,
    LISTED_AT_ROUND = 8,
    ROUTE_BYTES_MAX = ROUTE_SITE_BYTES * WIRE_ROUTE_SITES_MAX + ROUTE_END_BYTES,
};

_Static_assert(sizeof(struct wire_listed) == LISTED_BYTES, "the array is read as the wire is");
_Static_assert(LISTED_BYTES *WIRE_ROUTE_LISTED_MAX + ROUTE_BYTES_MAX == WIRE_ROUTED_BYTES_MAX,
               "the limit is the longest list with the longest way");
_Static_assert((int)WIRE_ROUTED_BYTES_MAX <= (int)WIRE_MEMBERS_BYTES_MAX,
               "wire_chunk_take() and wire_body_room() leave room for the longest tail of all");
_Static_assert(ROUTE_SITE_BYTES * 2 + ROUTE_END_BYTES == WIRE_CHUNK_TAIL_BYTES,
               "wire_body_room() takes the shortest way to be as long as the tail of push");
_Static_assert(WIRE_NOTE_BYTES_MAX + ROUTE_BYTES_MAX == WIRE_NOTE_BODY_BYTES_MAX,
               "the limit is the longest note with the longest way");
_Static_assert(WIRE_NOTE_BODY_BYTES_MAX + WIRE_HEADER_BYTES <= LIMIT_CONTROL_BODY_BYTES,
               "a note is control");

uint32_t wire_route_site(const struct wire_route *route, uint32_t index)
{
    return bytes_load32((const uint8_t *)route->sites + (size_t)ROUTE_SITE_BYTES * index);
}

uint32_t wire_route_index(const struct wire_route *route, uint32_t site)
{
    for (uint32_t i = 0; i < route->count; i++) {
        if (wire_route_site(route, i) == site) {
            return i;
        }
    }
    return WIRE_ROUTE_SITES_MAX;
}

void wire_route_reverse(const struct wire_route *route, uint32_t *sites_out)
{
    for (uint32_t i = 0; i < route->count; i++) {
        sites_out[route->count - 1 - i] = wire_route_site(route, i);
    }
}

struct wire_listed wire_listed(const void *listed, uint32_t index)
{
    const uint8_t *at = (const uint8_t *)listed + (size_t)LISTED_BYTES * index;

    return (struct wire_listed){bytes_load32(at), bytes_load64(at + LISTED_AT_ROUND)};
}

static bool route_valid(const struct wire_route *route)
{
    if (route->count < 2 || route->count > WIRE_ROUTE_SITES_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < route->count; i++) {
        uint32_t site = wire_route_site(route, i);

        if (site == 0 || wire_route_index(route, site) != i) {
            return false;
        }
    }
    return true;
}

static bool route_listed_valid(const void *listed, uint32_t count)
{
    uint32_t last = 0;

    if (count > WIRE_ROUTE_LISTED_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t site = wire_listed(listed, i).site;

        if (site <= last) {
            return false;
        }
        last = site;
    }
    return true;
}

static uint32_t route_bytes(uint32_t count, uint32_t listed_count)
{
    return LISTED_BYTES * listed_count + ROUTE_SITE_BYTES * count + ROUTE_END_BYTES;
}

/* @out has room for route_bytes(). */
static void route_write(const struct wire_route *route, const void *listed, uint32_t listed_count,
                        uint8_t *out)
{
    for (uint32_t i = 0; i < listed_count; i++) {
        struct wire_listed item = wire_listed(listed, i);

        bytes_store32(out, item.site);
        bytes_store32(out + LISTED_AT_ZERO, 0);
        bytes_store64(out + LISTED_AT_ROUND, item.round);
        out += LISTED_BYTES;
    }
    for (uint32_t i = 0; i < route->count; i++) {
        bytes_store32(out, wire_route_site(route, i));
        out += ROUTE_SITE_BYTES;
    }
    bytes_store32(out, listed_count);
    bytes_store32(out + 4, route->count);
}

/* Find the tail. What the list holds is not judged. */
static enum err route_find(const uint8_t *body, size_t size, struct wire_route *route_out,
                           const uint8_t **listed_out, uint32_t *listed_count_out)
{
    struct wire_route route;
    uint32_t listed_count;

    if (size < ROUTE_END_BYTES) {
        return ERR_MALFORMED;
    }
    listed_count = bytes_load32(body + size - ROUTE_END_BYTES);
    route.count = bytes_load32(body + size - 4);
    if (route.count > WIRE_ROUTE_SITES_MAX || listed_count > WIRE_ROUTE_LISTED_MAX ||
        size < route_bytes(route.count, listed_count)) {
        return ERR_MALFORMED;
    }
    route.sites = body + size - route_bytes(route.count, 0);
    if (!route_valid(&route)) {
        return ERR_MALFORMED;
    }
    *route_out = route;
    *listed_out = body + size - route_bytes(route.count, listed_count);
    *listed_count_out = listed_count;
    return OK;
}

enum err wire_route_find(const uint8_t *body, size_t size, struct wire_route *out)
{
    const uint8_t *listed;
    uint32_t listed_count;

    return route_find(body, size, out, &listed, &listed_count);
}

static bool routed_type_valid(uint8_t type)
{
    return type == WIRE_SUM || type == WIRE_RESULT || type == WIRE_WHOLE;
}

/* Does the header suit the type and the tail? Route and list are valid. */
static bool routed_header_valid(uint8_t type, const struct wire_routed *routed)
{
    const struct wire_chunk *chunk = &routed->chunk;
    bool plane = (chunk->table & WIRE_TABLE_PLANE) != 0;

    if (chunk->epoch == 0 || chunk->origin != wire_route_site(&routed->route, 0)) {
        return false;
    }
    switch (type) {
    case WIRE_SUM:
        return !plane && chunk->weight != 0 && routed->listed_count == 0;
    case WIRE_RESULT:
        return !plane && chunk->weight != 0 && routed->listed_count != 0;
    default:
        return chunk->weight == 0 && chunk->codec == WIRE_CODEC_F32;
    }
}

static bool routed_valid(enum wire_type type, const struct wire_routed *routed)
{
    return routed_type_valid((uint8_t)type) && route_valid(&routed->route) &&
           route_listed_valid(routed->listed, routed->listed_count) &&
           routed_header_valid((uint8_t)type, routed);
}

enum err wire_routed_encode(struct buf_pool *pool, enum wire_type type,
                            const struct wire_routed *routed, struct buf **frame_out)
{
    uint8_t tail[WIRE_ROUTED_BYTES_MAX];

    if (!routed_valid(type, routed)) {
        return ERR_INVALID;
    }
    route_write(&routed->route, routed->listed, routed->listed_count, tail);
    return wire_chunk_encode(pool, type, &routed->chunk, tail,
                             route_bytes(routed->route.count, routed->listed_count), frame_out);
}

void wire_routed_seal(struct buf *frame, enum wire_type type, const struct wire_routed *routed)
{
    uint8_t tail[WIRE_ROUTED_BYTES_MAX];

    CHECK(routed_valid(type, routed));
    route_write(&routed->route, routed->listed, routed->listed_count, tail);
    wire_chunk_seal(frame, type, &routed->chunk, tail,
                    route_bytes(routed->route.count, routed->listed_count));
}

enum err wire_routed_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                            struct wire_routed *out)
{
    struct wire_routed routed;
    const uint8_t *listed;
    enum err rc;

    CHECK(routed_type_valid(header->type));
    rc = route_find(body, size, &routed.route, &listed, &routed.listed_count);
    if (rc != OK) {
        return rc;
    }
    for (uint32_t i = 0; i < routed.listed_count; i++) {
        if (bytes_load32(listed + (size_t)LISTED_BYTES * i + LISTED_AT_ZERO) != 0) {
            return ERR_MALFORMED;
        }
    }
    routed.listed = listed;
    rc = wire_chunk_decode(header, body, size, route_bytes(routed.route.count, routed.listed_count),
                           &routed.chunk);
    if (rc != OK) {
        return rc;
    }
    if (!routed_valid((enum wire_type)header->type, &routed)) {
        return ERR_MALFORMED;
    }
    *out = routed;
    return OK;
}

/* The way is valid. */
static bool note_valid(const struct wire_note *note)
{
    return (uint32_t)note->kind < WIRE_NOTES && note->epoch != 0 &&
           note->origin == wire_route_site(&note->route, 0) && note->size <= WIRE_NOTE_BYTES_MAX;
}

enum err wire_note_encode(struct buf_pool *pool, const struct wire_note *note,
                          struct buf **frame_out)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX,
        .type = WIRE_NOTE,
        .table = (uint16_t)note->kind,
        .epoch = note->epoch,
        .origin = note->origin,
    };
    struct buf *frame;
    uint32_t bytes;
    enum err rc;

    if (!route_valid(&note->route) || !note_valid(note)) {
        return ERR_INVALID;
    }
    bytes = route_bytes(note->route.count, 0);
    rc = wire_frame_take(pool, (size_t)note->size + bytes, &frame);
    if (rc != OK) {
        return rc;
    }
    if (note->size > 0) {
        memcpy(buf_append(frame, note->size), note->bytes, note->size);
    }
    route_write(&note->route, NULL, 0, buf_append(frame, bytes));
    wire_frame_seal(frame, &header);
    *frame_out = frame;
    return OK;
}

enum err wire_note_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                          struct wire_note *out)
{
    struct wire_note note = {
        .kind = (enum wire_note_kind)header->table,
        .epoch = header->epoch,
        .origin = header->origin,
        .bytes = body,
    };
    const uint8_t *listed;
    uint32_t listed_count;
    enum err rc;

    CHECK(header->type == WIRE_NOTE);
    if (size != header->body_bytes || header->codec != 0 || header->chunk != 0 ||
        header->clock != 0 || header->weight != 0) {
        return ERR_MALFORMED;
    }
    rc = route_find(body, size, &note.route, &listed, &listed_count);
    if (rc != OK) {
        return rc;
    }
    note.size = (uint32_t)(size - route_bytes(note.route.count, 0));
    if (listed_count != 0 || !note_valid(&note)) {
        return ERR_MALFORMED;
    }
    *out = note;
    return OK;
}
