/* A list whose length stands behind it. The struct has a hole where the wire has zeros, so ranges
 * are written one by one. */

#include "wire/ranges.h"

#include "base/bytes.h"
#include "base/hash.h"

enum {
    RANGE_BYTES = 24,
    RANGE_AT_ZERO = 4,
    RANGES_END_BYTES = 8, /* The count and four zeros. */
};

_Static_assert(sizeof(struct wire_range) == RANGE_BYTES, "the array is read as the wire is");
_Static_assert(RANGE_BYTES *WIRE_RANGES_MAX + RANGES_END_BYTES == WIRE_RANGES_BYTES_MAX,
               "the limit is the longest list");
_Static_assert((int)WIRE_RANGES_BYTES_MAX <= (int)WIRE_MEMBERS_BYTES_MAX,
               "wire_chunk_take() and wire_body_room() leave room for the longest tail of all");

uint32_t wire_site_id(const char *name)
{
    uint32_t id = (uint32_t)hash_text(name);

    return id == 0 ? 1 : id;
}

struct wire_range wire_range(const void *ranges, uint32_t index)
{
    struct wire_range range;

    memcpy(&range, (const uint8_t *)ranges + (size_t)RANGE_BYTES * index, sizeof(range));
    return range;
}

static bool ranges_ascend(const void *ranges, uint32_t count)
{
    uint32_t last = 0;

    if (count > WIRE_RANGES_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct wire_range range = wire_range(ranges, i);

        if (range.site <= last) {
            return false;
        }
        last = range.site;
    }
    return true;
}

bool wire_ranges_valid(const void *ranges, uint32_t count)
{
    if (count == 0 || !ranges_ascend(ranges, count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct wire_range range = wire_range(ranges, i);

        if (range.prev >= range.number) {
            return false;
        }
    }
    return true;
}

bool wire_ranges_contents_valid(const void *ranges, uint32_t count)
{
    if (!ranges_ascend(ranges, count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (wire_range(ranges, i).prev != 0) {
            return false;
        }
    }
    return true;
}

uint32_t wire_ranges_bytes(uint32_t count)
{
    return RANGES_END_BYTES + RANGE_BYTES * count;
}

void wire_ranges_write(const void *ranges, uint32_t count, uint8_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        struct wire_range range = wire_range(ranges, i);

        bytes_store32(out, range.site);
        bytes_store32(out + RANGE_AT_ZERO, 0);
        bytes_store64(out + 8, range.prev);
        bytes_store64(out + 16, range.number);
        out += RANGE_BYTES;
    }
    bytes_store32(out, count);
    bytes_store32(out + 4, 0);
}

enum err wire_ranges_find(const uint8_t *body, size_t size, const void **ranges_out,
                          uint32_t *count_out)
{
    const uint8_t *ranges;
    uint32_t count;

    if (size < RANGES_END_BYTES) {
        return ERR_MALFORMED;
    }
    count = bytes_load32(body + size - RANGES_END_BYTES);
    if (count > WIRE_RANGES_MAX || bytes_load32(body + size - 4) != 0 ||
        size < wire_ranges_bytes(count)) {
        return ERR_MALFORMED;
    }
    ranges = body + size - wire_ranges_bytes(count);
    for (uint32_t i = 0; i < count; i++) {
        if (bytes_load32(ranges + (size_t)RANGE_BYTES * i + RANGE_AT_ZERO) != 0) {
            return ERR_MALFORMED;
        }
    }
    *ranges_out = ranges;
    *count_out = count;
    return OK;
}

enum err wire_ranges_encode(struct buf_pool *pool, enum wire_type type,
                            const struct wire_chunk *chunk, const void *ranges, uint32_t count,
                            struct buf **frame_out)
{
    uint8_t tail[WIRE_RANGES_BYTES_MAX];

    if (!wire_ranges_valid(ranges, count)) {
        return ERR_INVALID;
    }
    wire_ranges_write(ranges, count, tail);
    return wire_chunk_encode(pool, type, chunk, tail, wire_ranges_bytes(count), frame_out);
}

void wire_ranges_seal(struct buf *frame, enum wire_type type, const struct wire_chunk *about,
                      const void *ranges, uint32_t count)
{
    uint8_t tail[WIRE_RANGES_BYTES_MAX];

    CHECK(wire_ranges_valid(ranges, count));
    wire_ranges_write(ranges, count, tail);
    wire_chunk_seal(frame, type, about, tail, wire_ranges_bytes(count));
}

enum err wire_ranges_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                            struct wire_chunk *chunk_out, const void **ranges_out,
                            uint32_t *count_out)
{
    const void *ranges;
    uint32_t count;
    enum err rc = wire_ranges_find(body, size, &ranges, &count);

    if (rc != OK) {
        return rc;
    }
    if (!wire_ranges_valid(ranges, count)) {
        return ERR_MALFORMED;
    }
    rc = wire_chunk_decode(header, body, size, wire_ranges_bytes(count), chunk_out);
    if (rc == OK) {
        *ranges_out = ranges;
        *count_out = count;
    }
    return rc;
}
