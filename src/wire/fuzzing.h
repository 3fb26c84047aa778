/* What the fuzz targets of this module share. The input is a frame; its checks and its length are
 * put right first, so that a mutation reaches the decoder instead of the hash. Fields that the
 * messages do not carry are cleared: what decodes must then encode to the same bytes. */

#ifndef WIRE_FUZZING_H
#define WIRE_FUZZING_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzing_frame {
    uint8_t bytes[WIRE_HEADER_BYTES];
    struct wire_header header;
    const uint8_t *body;
    size_t size; /* Of the body. */
};

static inline struct buf_pool *fuzzing_pool(void)
{
    static struct buf_pool *pool;

    if (pool == NULL) {
        CHECK(buf_pool_create((uint64_t)64 << 20, &pool) == OK);
    }
    return pool;
}

/* Return false if even a frame with right checks is refused by its header. */
static inline bool fuzzing_open(const uint8_t *data, size_t size, struct fuzzing_frame *out)
{
    enum wire_reason reason;

    if (size < WIRE_HEADER_BYTES || size > UINT32_MAX) {
        return false;
    }
    memcpy(out->bytes, data, WIRE_HEADER_BYTES);
    out->body = data + WIRE_HEADER_BYTES;
    out->size = size - WIRE_HEADER_BYTES;
    memcpy(out->bytes, "STRT\1", 5);
    bytes_store16(out->bytes + 6, 0);
    bytes_store32(out->bytes + 8, (uint32_t)out->size);
    if (data[5] < WIRE_PUSH || data[5] == WIRE_BYE) {
        memset(out->bytes + 12, 0, 44);
    }
    bytes_store64(out->bytes + 32, 0);
    bytes_store64(out->bytes + 40, hash_bytes(out->body, out->size));
    bytes_store64(out->bytes + 56, hash_bytes(out->bytes, 56));
    if (wire_header_decode(out->bytes, &out->header, &reason) != OK) {
        return false;
    }
    CHECK(wire_body_valid(&out->header, out->body));
    return true;
}

/* Give back @encoded, which must be the input. */
static inline void fuzzing_same(const struct fuzzing_frame *in, enum err rc, struct buf *encoded)
{
    CHECK(rc == OK);
    CHECK(buf_size(encoded) == WIRE_HEADER_BYTES + in->size);
    CHECK(memcmp(buf_bytes(encoded), in->bytes, WIRE_HEADER_BYTES) == 0);
    CHECK(in->size == 0 || memcmp(buf_bytes(encoded) + WIRE_HEADER_BYTES, in->body, in->size) == 0);
    buf_unref(encoded);
}

#endif
