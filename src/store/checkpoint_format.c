#include "store/checkpoint_format.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"

#include <string.h>

enum {
    FORMAT_KIND_BYTES = 8,
    FORMAT_BODY_CHECK_AT = 48,
    FORMAT_CHECK_AT = 56, /* Of a header: over all before it. */
    FORMAT_HASH_AT = 48,
    FORMAT_END_CHECK_AT = 120,
};

static const char format_head_kind[FORMAT_KIND_BYTES + 1] = "STRAITCP";
static const char format_chunk_kind[FORMAT_KIND_BYTES + 1] = "chunk\0\0\0";
static const char format_end_kind[FORMAT_KIND_BYTES + 1] = "end\0\0\0\0\0";

static enum err format_bad(const char **why_out, const char *why)
{
    *why_out = why;
    return ERR_CORRUPT;
}

static bool format_zero(const uint8_t *bytes, size_t size)
{
    uint8_t any = 0;

    for (size_t i = 0; i < size; i++) {
        any |= bytes[i];
    }
    return any == 0;
}

/* The end of every record: both checks, over a body that lies behind its header. */
static void format_seal(uint8_t *record, size_t body_bytes)
{
    bytes_store64(record + FORMAT_BODY_CHECK_AT,
                  hash_bytes(record + FORMAT_HEADER_BYTES, body_bytes));
    bytes_store64(record + FORMAT_CHECK_AT, hash_bytes(record, FORMAT_CHECK_AT));
}

/* Fill up with zeros behind @size bytes; returns the padded size. */
static size_t format_pad(uint8_t *bytes, size_t size)
{
    size_t padded = format_padded(size);

    memset(bytes + size, 0, padded - size);
    return padded;
}

static bool format_text_valid(const char *text, size_t size)
{
    return strlen(text) == size && text_is_utf8(text);
}

enum err format_head_encode(const struct checkpoint_head *head, uint8_t *out, size_t *size_out)
{
    size_t site = strnlen(head->site, LIMIT_NAME_BYTES + 1);
    size_t describe = strnlen(head->describe, CHECKPOINT_TEXT_BYTES_MAX + 1);
    size_t body = format_padded(site + describe);
    uint8_t *texts = out + FORMAT_HEADER_BYTES;

    if (site > LIMIT_NAME_BYTES || describe > CHECKPOINT_TEXT_BYTES_MAX) {
        return ERR_TOO_BIG;
    }
    if (site == 0 || head->shard >= head->shards || !text_is_utf8(head->site) ||
        !text_is_utf8(head->describe)) {
        return ERR_INVALID;
    }
    memcpy(out, format_head_kind, FORMAT_KIND_BYTES);
    bytes_store16(out + 8, FORMAT_VERSION);
    bytes_store16(out + 10, (uint16_t)site);
    bytes_store32(out + 12, (uint32_t)describe);
    bytes_store64(out + 16, head->number);
    bytes_store32(out + 24, head->shard);
    bytes_store32(out + 28, head->shards);
    bytes_store64(out + 32, head->clock);
    bytes_store64(out + 40, (uint64_t)head->wall_us);
    memcpy(texts, head->site, site);
    memcpy(texts + site, head->describe, describe);
    format_seal(out, format_pad(texts, site + describe));
    *size_out = FORMAT_HEADER_BYTES + body;
    return OK;
}

enum err format_head_decode(const uint8_t header[FORMAT_HEADER_BYTES], struct format_head *out,
                            const char **why_out)
{
    struct format_head h = {0};

    if (memcmp(header, format_head_kind, FORMAT_KIND_BYTES) != 0) {
        return format_bad(why_out, "it does not begin as a checkpoint does");
    }
    if (bytes_load64(header + FORMAT_CHECK_AT) != hash_bytes(header, FORMAT_CHECK_AT)) {
        return format_bad(why_out, "its header does not match its check");
    }
    if (bytes_load16(header + 8) != FORMAT_VERSION) {
        *why_out = "it is of another version of the format";
        return ERR_VERSION;
    }
    h.site_bytes = bytes_load16(header + 10);
    h.describe_bytes = bytes_load32(header + 12);
    h.head.number = bytes_load64(header + 16);
    h.head.shard = bytes_load32(header + 24);
    h.head.shards = bytes_load32(header + 28);
    h.head.clock = bytes_load64(header + 32);
    h.head.wall_us = (int64_t)bytes_load64(header + 40);
    h.body_check = bytes_load64(header + FORMAT_BODY_CHECK_AT);
    if (h.site_bytes == 0 || h.site_bytes > LIMIT_NAME_BYTES ||
        h.describe_bytes > CHECKPOINT_TEXT_BYTES_MAX) {
        return format_bad(why_out, "its texts have an impossible length");
    }
    if (h.head.shard >= h.head.shards) {
        return format_bad(why_out, "it is of a shard that does not exist");
    }
    h.body_bytes = (uint32_t)format_padded(h.site_bytes + h.describe_bytes);
    *out = h;
    return OK;
}

enum err format_head_body(const struct format_head *head, const uint8_t *body, char *site,
                          char *describe, const char **why_out)
{
    uint32_t texts = head->site_bytes + head->describe_bytes;

    if (hash_bytes(body, head->body_bytes) != head->body_check) {
        return format_bad(why_out, "its texts do not match their check");
    }
    if (!format_zero(body + texts, head->body_bytes - texts)) {
        return format_bad(why_out, "its padding is not zero");
    }
    memcpy(site, body, head->site_bytes);
    site[head->site_bytes] = '\0';
    memcpy(describe, body + head->site_bytes, head->describe_bytes);
    describe[head->describe_bytes] = '\0';
    if (!format_text_valid(site, head->site_bytes) ||
        !format_text_valid(describe, head->describe_bytes)) {
        return format_bad(why_out, "its texts are not UTF-8");
    }
    return OK;
}

static bool format_members_ascend(const struct checkpoint_member *members, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (members[i - 1].rank >= members[i].rank) {
            return false;
        }
    }
    return true;
}

/* What is asked of a chunk, from both sides. */
static bool format_chunk_valid(const struct checkpoint_chunk *c)
{
    return c->count > 0 && c->count <= LIMIT_CHUNK_ELEMENTS &&
           c->member_count <= CHECKPOINT_MEMBERS_MAX && (c->plane == 0 || c->member_count == 0);
}

enum err format_chunk_encode(const struct checkpoint_chunk *chunk, uint32_t index, uint64_t number,
                             uint8_t *out, size_t *size_out)
{
    uint8_t *body = out + FORMAT_HEADER_BYTES;
    uint8_t *at = body;
    size_t size = chunk->count * sizeof(float);

    if (!format_chunk_valid(chunk) || !format_members_ascend(chunk->members, chunk->member_count)) {
        return ERR_INVALID;
    }
    memcpy(out, format_chunk_kind, FORMAT_KIND_BYTES);
    bytes_store32(out + 8, index);
    bytes_store16(out + 12, chunk->table);
    bytes_store16(out + 14, chunk->plane);
    bytes_store32(out + 16, chunk->chunk);
    bytes_store32(out + 20, chunk->count);
    bytes_store64(out + 24, chunk->version);
    bytes_store32(out + 32, chunk->member_count);
    bytes_store32(out + 36, 0);
    bytes_store64(out + 40, number);
    for (uint32_t i = 0; i < chunk->member_count; i++, at += FORMAT_MEMBER_BYTES) {
        bytes_store32(at, chunk->members[i].rank);
        bytes_store32(at + 4, 0);
        bytes_store64(at + 8, chunk->members[i].incarnation);
        bytes_store64(at + 16, chunk->members[i].clock);
    }
    at = body + format_pad(body, (size_t)(at - body));
    memcpy(at, chunk->values, size);
    at += format_pad(at, size);
    format_seal(out, (size_t)(at - body));
    *size_out = (size_t)(at - out);
    return OK;
}

enum err format_chunk_decode(const uint8_t header[FORMAT_HEADER_BYTES], struct format_chunk *out,
                             const char **why_out)
{
    struct format_chunk c = {0};

    if (memcmp(header, format_chunk_kind, FORMAT_KIND_BYTES) != 0) {
        return format_bad(why_out, "a chunk should begin there");
    }
    if (bytes_load64(header + FORMAT_CHECK_AT) != hash_bytes(header, FORMAT_CHECK_AT)) {
        return format_bad(why_out, "its header does not match its check");
    }
    c.index = bytes_load32(header + 8);
    c.chunk.table = bytes_load16(header + 12);
    c.chunk.plane = bytes_load16(header + 14);
    c.chunk.chunk = bytes_load32(header + 16);
    c.chunk.count = bytes_load32(header + 20);
    c.chunk.version = bytes_load64(header + 24);
    c.chunk.member_count = bytes_load32(header + 32);
    c.number = bytes_load64(header + 40);
    c.body_check = bytes_load64(header + FORMAT_BODY_CHECK_AT);
    if (!format_chunk_valid(&c.chunk)) {
        return format_bad(why_out, "it has an impossible number of values or members");
    }
    if (bytes_load32(header + 36) != 0) {
        return format_bad(why_out, "a reserved field is not zero");
    }
    c.members_bytes = (uint32_t)format_padded(c.chunk.member_count * (size_t)FORMAT_MEMBER_BYTES);
    c.body_bytes = c.members_bytes + (uint32_t)format_padded(c.chunk.count * sizeof(float));
    *out = c;
    return OK;
}

enum err format_chunk_body(const struct format_chunk *chunk, const uint8_t *body,
                           struct checkpoint_member *members, const char **why_out)
{
    size_t members_end = chunk->chunk.member_count * (size_t)FORMAT_MEMBER_BYTES;
    size_t values_end = chunk->members_bytes + chunk->chunk.count * sizeof(float);
    const uint8_t *at = body;
    uint32_t reserved = 0;

    if (hash_bytes(body, chunk->body_bytes) != chunk->body_check) {
        return format_bad(why_out, "its members or values do not match their check");
    }
    for (uint32_t i = 0; i < chunk->chunk.member_count; i++, at += FORMAT_MEMBER_BYTES) {
        members[i] = (struct checkpoint_member){
            .rank = bytes_load32(at),
            .incarnation = bytes_load64(at + 8),
            .clock = bytes_load64(at + 16),
        };
        reserved |= bytes_load32(at + 4);
    }
    if (!format_members_ascend(members, chunk->chunk.member_count)) {
        return format_bad(why_out, "its members are not in order");
    }
    if (reserved != 0 || !format_zero(body + members_end, chunk->members_bytes - members_end) ||
        !format_zero(body + values_end, chunk->body_bytes - values_end)) {
        return format_bad(why_out, "its padding is not zero");
    }
    return OK;
}

void format_end_encode(const struct format_end *end, uint8_t out[FORMAT_END_BYTES])
{
    memset(out, 0, FORMAT_END_BYTES);
    memcpy(out, format_end_kind, FORMAT_KIND_BYTES);
    bytes_store32(out + 8, end->index);
    bytes_store64(out + 16, end->number);
    bytes_store64(out + 24, end->bytes);
    bytes_store64(out + 32, end->chunks);
    bytes_store64(out + 40, end->elements);
    memcpy(out + FORMAT_HASH_AT, end->hash, FORMAT_HASH_BYTES);
    bytes_store64(out + FORMAT_END_CHECK_AT, hash_bytes(out, FORMAT_END_CHECK_AT));
}

enum err format_end_decode(const uint8_t bytes[FORMAT_END_BYTES], struct format_end *out,
                           const char **why_out)
{
    const size_t rest = FORMAT_HASH_AT + FORMAT_HASH_BYTES;
    struct format_end e = {0};

    if (memcmp(bytes, format_end_kind, FORMAT_KIND_BYTES) != 0) {
        return format_bad(why_out, "its end is missing");
    }
    if (bytes_load64(bytes + FORMAT_END_CHECK_AT) != hash_bytes(bytes, FORMAT_END_CHECK_AT)) {
        return format_bad(why_out, "its end does not match its check");
    }
    e.index = bytes_load32(bytes + 8);
    e.number = bytes_load64(bytes + 16);
    e.bytes = bytes_load64(bytes + 24);
    e.chunks = bytes_load64(bytes + 32);
    e.elements = bytes_load64(bytes + 40);
    memcpy(e.hash, bytes + FORMAT_HASH_AT, FORMAT_HASH_BYTES);
    if (bytes_load32(bytes + 12) != 0 || !format_zero(bytes + rest, FORMAT_END_CHECK_AT - rest)) {
        return format_bad(why_out, "a reserved field of its end is not zero");
    }
    *out = e;
    return OK;
}
