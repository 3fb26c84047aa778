/* Some elements of a chunk as bytes: what one site sends another of a table, and what workers and
 * servers send each other (codec/coder.h).
 *
 * A payload is an index part, which says which elements, followed by their values in ascending
 * order of the elements: little-endian floats, halves (IEEE 754 binary16), or signed bytes if all
 * are small whole numbers (as changes of counts are). The index part is also a message of its own:
 * the names of elements whose values are to follow (a selective barrier, G5).
 *
 *   CODEC_F32        no index part: all elements
 *   CODEC_BITMAP     one bit per element of the chunk, the first one lowest; a multiple of 8 bytes,
 *                    unused bits zero
 *   CODEC_LIST       u32 count, that many u16 numbers that ascend strictly, zero bytes up to a
 *                    multiple of 4
 *   CODEC_BITMAP_I8  as CODEC_BITMAP, but one signed byte per value, not -128; zero bytes up to a
 *                    multiple of 4
 *   CODEC_LIST_I8    the same with the index part of CODEC_LIST
 *   CODEC_BITMAP_F16, CODEC_LIST_F16, CODEC_F16
 *                    as CODEC_BITMAP, CODEC_LIST and CODEC_F32, but halves; zero bytes up to a
 *                    multiple of 4
 *   CODEC_GAPS       u16 count - 1, u16 skips, that many bytes together, zero bytes up to a
 *                    multiple of 4. A byte below 255 passes over so many elements and names the
 *                    next; 255 is a skip, which passes over 255 and names none. The last is none
 *   CODEC_GAPS_F16, CODEC_GAPS_I8
 *                    the same, but values as above
 *
 * A byte stands for the float that it is equal to, zero for +0.0: such a payload does to values,
 * bit for bit, what the one with floats does. An element may be named and its value be zero: what
 * was added to it came to nothing, and -0.0 becomes 0.0 by it. A half stands for the float that it
 * is equal to.
 *
 * At least one element is named. Payloads that come in may start at any address. A chunk has 1 to
 * LIMIT_CHUNK_ELEMENTS elements; both ends know how many. Functions that are not called *_valid
 * rely on that having been asked before. Nothing here allocates but codec_sum_create(). The bits
 * are the same on every processor and whatever the caller's rounding mode is. */

#ifndef CODEC_SPARSE_H
#define CODEC_SPARSE_H

#include "base/err.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* In the header of frames: never reuse a number. */
enum codec_kind {
    CODEC_F32 = 0,
    CODEC_BITMAP = 1,
    CODEC_LIST = 2,
    CODEC_BITMAP_I8 = 3,
    CODEC_LIST_I8 = 4,
    CODEC_BITMAP_F16 = 5,
    CODEC_LIST_F16 = 6,
    CODEC_F16 = 7,
    CODEC_GAPS = 8,
    CODEC_GAPS_F16 = 9,
    CODEC_GAPS_I8 = 10,
    CODEC_KINDS = 11,
    CODEC_KINDS_PACKED = 5, /* codec_pack() writes those below. */
};

enum { CODEC_WORDS_MAX = LIMIT_CHUNK_ELEMENTS / 64 };

/* What was written. */
struct codec_packed {
    uint32_t codec; /* Of enum codec_kind, unless it comes from codec/coder.h. */
    uint32_t bytes; /* At most codec_bytes_max(); of a kind alone a multiple of 4. */
    uint32_t count; /* Elements that were asked for; zero: nothing was written. */
};

/* "bitmap", "list f16"; "dense" has no index part. */
const char *codec_kind_name(uint32_t kind);

/* How many 64-bit words a bitmap of so many elements has. Bitmaps in memory are of this form: bit
 * i % 64 of word i / 64 is element i, unused bits zero. */
uint32_t codec_bitmap_words(uint32_t elements);

/* Room for every payload: no more than all floats take. */
uint32_t codec_bytes_max(uint32_t elements);

/* All lengths, the order of the elements, unused bits and bytes, that there is an element, that all
 * floats and halves are finite and no byte is -128. @codec is any number. */
MUST_USE bool codec_payload_valid(uint32_t codec, const void *bytes, size_t size,
                                  uint32_t elements);

/* The same for an index part alone. It is the same for all codecs that have it. */
MUST_USE bool codec_index_valid(uint32_t codec, const void *bytes, size_t size, uint32_t elements);

/* Bytes of the index part that a payload starts with. */
uint32_t codec_index_bytes(uint32_t codec, const void *bytes, uint32_t elements);

/* How many elements an index part names. */
uint32_t codec_index_count(uint32_t codec, const void *bytes, uint32_t elements);

/* Set, or clear, the bits of the elements that an index part names. */
void codec_index_or(uint32_t codec, const void *bytes, uint32_t elements, uint64_t *bitmap);
void codec_index_clear(uint32_t codec, const void *bytes, uint32_t elements, uint64_t *bitmap);

/* values += payload. An element whose sum would not be finite keeps its value; returns how many
 * did. */
uint32_t codec_add(uint32_t codec, const void *payload, uint32_t elements, float *values);

/* Write the elements of @dense that @bitmap names in the smallest of the first encodings, those
 * that all sites know; of two that are equal the one with the lower number. Bytes are for values
 * that are all whole numbers from -127 to 127, and none is -0.0. @out has room for
 * codec_bytes_max() and is aligned for floats. If all floats are the smallest although not all are
 * named, those that are not are -0.0: adding it changes nothing. */
void codec_pack(uint32_t elements, const uint64_t *bitmap, const float *dense, void *out,
                struct codec_packed *packed);

/* Several payloads of one chunk become one. */
struct codec_sum;

MUST_USE enum err codec_sum_create(struct codec_sum **out);
void codec_sum_destroy(struct codec_sum *sum); /* NULL is allowed. */

/* Start anew with nothing, for a chunk of @elements. A new sum needs this first. */
void codec_sum_reset(struct codec_sum *sum, uint32_t elements);

/* Add a payload: each element is the sum of what was added to it, in the order of the calls. An
 * element whose sum would not be finite keeps it; returns how many did. */
uint32_t codec_sum_add(struct codec_sum *sum, uint32_t codec, const void *payload);

/* Write the elements that some payload had, as codec_pack() does. The sum stays as it is. */
void codec_sum_pack(const struct codec_sum *sum, void *out, struct codec_packed *packed);

#endif
