/* begin and end are small and keep their place between the chunks: they are data, not control. */

#include "wire/snapshot.h"

#include "base/buf.h"
#include "base/bytes.h"

enum {
    SNAPSHOT_BEGIN_HEAD_BYTES = 16,
    SNAPSHOT_SOURCE_BYTES = 16,
};

_Static_assert(sizeof(struct wire_snapshot_source) == SNAPSHOT_SOURCE_BYTES,
               "the array is the wire");
_Static_assert(SNAPSHOT_BEGIN_HEAD_BYTES + SNAPSHOT_SOURCE_BYTES * WIRE_SNAPSHOT_SOURCES_MAX ==
                   WIRE_SNAPSHOT_BEGIN_BODY_BYTES_MAX,
               "the limit is the longest vector");
_Static_assert(WIRE_SNAPSHOT_HASH_BYTES + 16 == WIRE_SNAPSHOT_END_BODY_BYTES, "hash and totals");

struct wire_snapshot_source wire_snapshot_source(const struct wire_snapshot_begin *begin,
                                                 uint32_t index)
{
    struct wire_snapshot_source source;

    CHECK(index < begin->source_count);
    memcpy(&source, (const uint8_t *)begin->sources + (size_t)SNAPSHOT_SOURCE_BYTES * index,
           sizeof(source));
    return source;
}

static bool snapshot_sources_ascend(const struct wire_snapshot_begin *begin)
{
    for (uint32_t i = 1; i < begin->source_count; i++) {
        struct wire_snapshot_source a = wire_snapshot_source(begin, i - 1);
        struct wire_snapshot_source b = wire_snapshot_source(begin, i);

        if (b.site < a.site || (b.site == a.site && b.shard <= a.shard)) {
            return false;
        }
    }
    return true;
}

static bool snapshot_counts_valid(const struct wire_snapshot_begin *begin)
{
    return begin->table_count > 0 && begin->table_count <= WIRE_SNAPSHOT_TABLES_MAX &&
           begin->source_count <= WIRE_SNAPSHOT_SOURCES_MAX;
}

/* True if the header has nothing in the fields that only chunks use. */
static bool snapshot_header_valid(const struct wire_header *header)
{
    return header->table == 0 && header->codec == 0 && header->chunk == 0 && header->weight == 0;
}

enum err wire_snapshot_begin_encode(struct buf_pool *pool, const struct wire_snapshot_begin *begin,
                                    struct buf **frame_out)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX,
        .type = WIRE_SNAPSHOT_BEGIN,
        .epoch = begin->epoch,
        .clock = begin->clock,
        .origin = begin->origin,
    };
    struct bytes_writer w;
    struct buf *frame;
    size_t size;
    enum err rc;

    if (!snapshot_counts_valid(begin) || !snapshot_sources_ascend(begin)) {
        return ERR_INVALID;
    }
    size = SNAPSHOT_BEGIN_HEAD_BYTES + (size_t)SNAPSHOT_SOURCE_BYTES * begin->source_count;
    rc = wire_frame_take(pool, size, &frame);
    if (rc != OK) {
        return rc;
    }
    bytes_writer_init(&w, buf_append(frame, size), size);
    bytes_write16(&w, begin->table_count);
    bytes_write16(&w, 0);
    bytes_write32(&w, begin->source_count);
    bytes_write64(&w, begin->chunk_count);
    bytes_write(&w, begin->sources, size - SNAPSHOT_BEGIN_HEAD_BYTES);
    CHECK(!w.failed && w.left == 0);
    wire_frame_seal(frame, &header);
    *frame_out = frame;
    return OK;
}

enum err wire_snapshot_begin_decode(const struct wire_header *header, const uint8_t *body,
                                    size_t size, struct wire_snapshot_begin *out)
{
    struct wire_snapshot_begin begin = {
        .epoch = header->epoch,
        .origin = header->origin,
        .clock = header->clock,
    };
    struct bytes_reader r;
    uint16_t reserved;

    CHECK(header->type == WIRE_SNAPSHOT_BEGIN);
    bytes_reader_init(&r, body, size);
    begin.table_count = bytes_read16(&r);
    reserved = bytes_read16(&r);
    begin.source_count = bytes_read32(&r);
    begin.chunk_count = bytes_read64(&r);
    if (r.failed || size != header->body_bytes || !snapshot_header_valid(header) || reserved != 0 ||
        !snapshot_counts_valid(&begin) ||
        r.left != (size_t)SNAPSHOT_SOURCE_BYTES * begin.source_count) {
        return ERR_MALFORMED;
    }
    begin.sources = r.at;
    if (!snapshot_sources_ascend(&begin)) {
        return ERR_MALFORMED;
    }
    *out = begin;
    return OK;
}

enum err wire_snapshot_chunk_encode(struct buf_pool *pool, const struct wire_snapshot_chunk *chunk,
                                    struct buf **frame_out)
{
    if (chunk->chunk.weight != 0) {
        return ERR_INVALID;
    }
    return wire_members_encode(pool, WIRE_SNAPSHOT_CHUNK, &chunk->chunk, chunk->members,
                               chunk->member_count, frame_out);
}

void wire_snapshot_chunk_seal(struct buf *frame, const struct wire_snapshot_chunk *chunk)
{
    CHECK(chunk->chunk.weight == 0);
    wire_members_seal(frame, WIRE_SNAPSHOT_CHUNK, &chunk->chunk, chunk->members,
                      chunk->member_count);
}

enum err wire_snapshot_chunk_decode(const struct wire_header *header, const uint8_t *body,
                                    size_t size, struct wire_snapshot_chunk *out)
{
    struct wire_snapshot_chunk chunk;
    enum err rc;

    CHECK(header->type == WIRE_SNAPSHOT_CHUNK);
    if (header->weight != 0) {
        return ERR_MALFORMED;
    }
    rc = wire_members_decode(header, body, size, &chunk.chunk, &chunk.members, &chunk.member_count);
    if (rc == OK) {
        *out = chunk;
    }
    return rc;
}

enum err wire_snapshot_end_encode(struct buf_pool *pool, const struct wire_snapshot_end *end,
                                  struct buf **frame_out)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX,
        .type = WIRE_SNAPSHOT_END,
        .epoch = end->epoch,
        .clock = end->clock,
        .origin = end->origin,
    };
    struct buf *frame;
    uint8_t *body;
    enum err rc = wire_frame_take(pool, WIRE_SNAPSHOT_END_BODY_BYTES, &frame);

    if (rc != OK) {
        return rc;
    }
    body = buf_append(frame, WIRE_SNAPSHOT_END_BODY_BYTES);
    memcpy(body, end->hash, WIRE_SNAPSHOT_HASH_BYTES);
    bytes_store64(body + 32, end->chunk_count);
    bytes_store64(body + 40, end->payload_bytes);
    wire_frame_seal(frame, &header);
    *frame_out = frame;
    return OK;
}

enum err wire_snapshot_end_decode(const struct wire_header *header, const uint8_t *body,
                                  size_t size, struct wire_snapshot_end *out)
{
    CHECK(header->type == WIRE_SNAPSHOT_END);
    if (size != header->body_bytes || size != WIRE_SNAPSHOT_END_BODY_BYTES ||
        !snapshot_header_valid(header)) {
        return ERR_MALFORMED;
    }
    out->epoch = header->epoch;
    out->origin = header->origin;
    out->clock = header->clock;
    memcpy(out->hash, body, WIRE_SNAPSHOT_HASH_BYTES);
    out->chunk_count = bytes_load64(body + 32);
    out->payload_bytes = bytes_load64(body + 40);
    return OK;
}
