/* The bytes of a checkpoint: pure, for the files of src/store. docs/CHECKPOINT.md has the tables.
 *
 * Everything starts at a multiple of 64 bytes. Whoever reads a header judges it before using a
 * length from it: the decoders do so, against the limits of store/checkpoint.h. */

#ifndef STORE_CHECKPOINT_FORMAT_H
#define STORE_CHECKPOINT_FORMAT_H

#include "store/checkpoint.h"

enum {
    FORMAT_VERSION = 1,
    FORMAT_ALIGN = 64,
    FORMAT_HEADER_BYTES = 64, /* Of the head and of each chunk. */
    FORMAT_END_BYTES = 128,
    FORMAT_MEMBER_BYTES = 24,
    FORMAT_HASH_BYTES = 32,
    FORMAT_MEMBERS_BYTES_MAX = CHECKPOINT_MEMBERS_MAX * FORMAT_MEMBER_BYTES,
    /* The largest record: header, members, values. The members need no padding then. */
    FORMAT_RECORD_BYTES_MAX = FORMAT_HEADER_BYTES + FORMAT_MEMBERS_BYTES_MAX + LIMIT_CHUNK_BYTES,
};

_Static_assert(FORMAT_MEMBERS_BYTES_MAX % FORMAT_ALIGN == 0, "the largest record is that large");
_Static_assert(LIMIT_NAME_BYTES + CHECKPOINT_TEXT_BYTES_MAX < LIMIT_CHUNK_BYTES,
               "the head is not larger");

static inline size_t format_padded(size_t size)
{
    return (size + FORMAT_ALIGN - 1) / FORMAT_ALIGN * FORMAT_ALIGN;
}

/* Of a record's header. */
struct format_head {
    struct checkpoint_head head; /* Without its texts. */
    uint32_t site_bytes;
    uint32_t describe_bytes;
    uint32_t body_bytes;
    uint64_t body_check;
};

struct format_chunk {
    struct checkpoint_chunk chunk; /* Without its members and values. */
    uint32_t index;
    uint64_t number;        /* Of the checkpoint. */
    uint32_t members_bytes; /* Padded: the values start here in the body. */
    uint32_t body_bytes;
    uint64_t body_check;
};

struct format_end {
    uint32_t index;
    uint64_t number;
    uint64_t bytes; /* Of the whole object. */
    uint64_t chunks;
    uint64_t elements; /* In all chunks. */
    uint8_t hash[FORMAT_HASH_BYTES];
};

/* Encoders write at most FORMAT_RECORD_BYTES_MAX bytes to @out. ERR_INVALID or ERR_TOO_BIG if the
 * decoder would refuse them. */
MUST_USE enum err format_head_encode(const struct checkpoint_head *head, uint8_t *out,
                                     size_t *size_out);
MUST_USE enum err format_chunk_encode(const struct checkpoint_chunk *chunk, uint32_t index,
                                      uint64_t number, uint8_t *out, size_t *size_out);
void format_end_encode(const struct format_end *end, uint8_t out[FORMAT_END_BYTES]);

/* Decoders of headers and of the end. ERR_CORRUPT, or ERR_VERSION for a head of another version;
 * @why_out then has a static text. */
MUST_USE enum err format_head_decode(const uint8_t header[FORMAT_HEADER_BYTES],
                                     struct format_head *out, const char **why_out);
MUST_USE enum err format_chunk_decode(const uint8_t header[FORMAT_HEADER_BYTES],
                                      struct format_chunk *out, const char **why_out);
MUST_USE enum err format_end_decode(const uint8_t bytes[FORMAT_END_BYTES], struct format_end *out,
                                    const char **why_out);

/* Decoders of bodies, which have .body_bytes bytes. Texts are terminated: @site has room for
 * LIMIT_NAME_BYTES + 1, @describe for CHECKPOINT_TEXT_BYTES_MAX + 1, @members for
 * CHECKPOINT_MEMBERS_MAX. */
MUST_USE enum err format_head_body(const struct format_head *head, const uint8_t *body, char *site,
                                   char *describe, const char **why_out);
MUST_USE enum err format_chunk_body(const struct format_chunk *chunk, const uint8_t *body,
                                    struct checkpoint_member *members, const char **why_out);

#endif
