/* For tests and fuzz targets of checkpoints: put right what a change of the bytes made wrong, so
 * that the reader meets the change itself and not a check. */

#ifndef STORE_SEAL_TESTING_H
#define STORE_SEAL_TESTING_H

#include "base/bytes.h"
#include "base/hash.h"
#include "store/checkpoint_format.h"

#include <openssl/sha.h>

/* The size of a body as its header says, within what is left. */
static inline size_t seal_body(const uint8_t *record, bool head, size_t left)
{
    uint64_t size;

    if (head) {
        size = (uint64_t)bytes_load16(record + 10) + bytes_load32(record + 12);
        size = (size + FORMAT_ALIGN - 1) / FORMAT_ALIGN * FORMAT_ALIGN;
    } else {
        size = (bytes_load32(record + 32) * (uint64_t)FORMAT_MEMBER_BYTES + FORMAT_ALIGN - 1) /
               FORMAT_ALIGN * FORMAT_ALIGN;
        size += (bytes_load32(record + 20) * (uint64_t)sizeof(float) + FORMAT_ALIGN - 1) /
                FORMAT_ALIGN * FORMAT_ALIGN;
    }
    return size < left ? (size_t)size : left;
}

/* Make all checks and the hash of the end right. @size is that of a checkpoint: a multiple of 64,
 * at least 192. */
static inline void seal_checks(uint8_t *bytes, size_t size)
{
    uint8_t *end = bytes + size - FORMAT_END_BYTES;
    uint8_t *record = bytes;

    while (record < end) {
        size_t left = (size_t)(end - record) - FORMAT_HEADER_BYTES;
        size_t body = seal_body(record, record == bytes, left);

        bytes_store64(record + 48, hash_bytes(record + FORMAT_HEADER_BYTES, body));
        bytes_store64(record + 56, hash_bytes(record, 56));
        record += FORMAT_HEADER_BYTES + body;
    }
    (void)SHA256(bytes, size - FORMAT_END_BYTES, end + 48);
    bytes_store64(end + 120, hash_bytes(end, 120));
}

#endif
