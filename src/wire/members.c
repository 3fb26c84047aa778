/* A list whose length stands behind it. */

#include "wire/members.h"

#include "base/bytes.h"

enum {
    MEMBER_BYTES = 8,
    MEMBERS_END_BYTES = 8, /* The count and four zeros. */
};

_Static_assert(sizeof(struct wire_member) == MEMBER_BYTES, "the array is the wire");
_Static_assert(MEMBER_BYTES *WIRE_MEMBERS_MAX + MEMBERS_END_BYTES == WIRE_MEMBERS_BYTES_MAX,
               "the limit is the longest list");

struct wire_member wire_member(const void *members, uint32_t index)
{
    struct wire_member member;

    memcpy(&member, (const uint8_t *)members + (size_t)MEMBER_BYTES * index, sizeof(member));
    return member;
}

bool wire_members_valid(const void *members, uint32_t count)
{
    struct wire_member last = {0};

    if (count > WIRE_MEMBERS_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct wire_member member = wire_member(members, i);

        if (i > 0 && member.rank <= last.rank) {
            return false;
        }
        last = member;
    }
    return true;
}

uint32_t wire_members_bytes(uint32_t count)
{
    return MEMBERS_END_BYTES + MEMBER_BYTES * count;
}

/* Write the tail and return its size. */
static size_t members_write(const void *members, uint32_t count, uint8_t *out)
{
    size_t list_bytes = (size_t)MEMBER_BYTES * count;

    if (count > 0) {
        memcpy(out, members, list_bytes);
    }
    bytes_store32(out + list_bytes, count);
    bytes_store32(out + list_bytes + 4, 0);
    return list_bytes + MEMBERS_END_BYTES;
}

enum err wire_members_encode(struct buf_pool *pool, enum wire_type type,
                             const struct wire_chunk *chunk, const void *members, uint32_t count,
                             struct buf **frame_out)
{
    uint8_t tail[WIRE_MEMBERS_BYTES_MAX];
    size_t tail_bytes;

    if (!wire_members_valid(members, count)) {
        return ERR_INVALID;
    }
    tail_bytes = members_write(members, count, tail);
    return wire_chunk_encode(pool, type, chunk, tail, tail_bytes, frame_out);
}

void wire_members_seal(struct buf *frame, enum wire_type type, const struct wire_chunk *about,
                       const void *members, uint32_t count)
{
    uint8_t tail[WIRE_MEMBERS_BYTES_MAX];
    size_t tail_bytes;

    CHECK(wire_members_valid(members, count));
    tail_bytes = members_write(members, count, tail);
    wire_chunk_seal(frame, type, about, tail, tail_bytes);
}

enum err wire_members_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                             struct wire_chunk *chunk_out, const void **members_out,
                             uint32_t *count_out)
{
    const uint8_t *members;
    size_t tail_bytes;
    uint32_t count;
    enum err rc;

    if (size < MEMBERS_END_BYTES) {
        return ERR_MALFORMED;
    }
    count = bytes_load32(body + size - MEMBERS_END_BYTES);
    if (count > WIRE_MEMBERS_MAX || bytes_load32(body + size - 4) != 0) {
        return ERR_MALFORMED;
    }
    tail_bytes = wire_members_bytes(count);
    if (size < tail_bytes) {
        return ERR_MALFORMED;
    }
    members = body + size - tail_bytes;
    if (!wire_members_valid(members, count)) {
        return ERR_MALFORMED;
    }
    rc = wire_chunk_decode(header, body, size, tail_bytes, chunk_out);
    if (rc == OK) {
        *members_out = members;
        *count_out = count;
    }
    return rc;
}
