/* What the tests of this module share: a pool, golden frames, and ways to damage a message.
 * Included by tests only; each is one program, so all functions are static. */

#ifndef WIRE_TESTING_H
#define WIRE_TESTING_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "wire/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TESTING_POOL_BYTES ((uint64_t)32 << 20)
enum { TESTING_BODY_BYTES_MAX = 8192 };

/* Decode a body whose header is @header, into something that is thrown away. */
typedef enum err testing_decode(const struct wire_header *header, const uint8_t *body, size_t size);

/* Make some frame from @pool. */
typedef enum err testing_encode(struct buf_pool *pool, struct buf **frame_out);

static struct buf_pool *testing_pool;

static inline int testing_setup(void **state)
{
    (void)state;
    return buf_pool_create(TESTING_POOL_BYTES, &testing_pool) == OK ? 0 : -1;
}

static inline int testing_teardown(void **state)
{
    (void)state;
    buf_pool_destroy(testing_pool);
    return 0;
}

/* Decode from a block of exactly @size bytes, so that a byte too far is seen by the sanitizer, and
 * insist that nothing was allocated. */
static inline enum err testing_decode_exact(testing_decode *decode,
                                            const struct wire_header *header, const uint8_t *body,
                                            size_t size)
{
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    uint64_t allocations;
    enum err rc;

    assert_non_null(copy);
    memcpy(copy, body, size);
    allocations = mem_allocations();
    rc = decode(header, copy, size);
    assert_int_equal(mem_allocations(), allocations);
    free(copy);
    return rc;
}

static inline void testing_golden_path(char *path, size_t size, const char *name)
{
    (void)snprintf(path, size, "%s/tests/wire/v1/%s.hex", STRAIT_SOURCE_DIR, name);
}

static inline void testing_golden_write(const char *name, const char *about, const uint8_t *bytes,
                                        size_t size)
{
    char path[512];
    FILE *file;

    testing_golden_path(path, sizeof(path), name);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "# %s\n", about);
    for (size_t i = 0; i < size; i++) {
        (void)fprintf(file, "%02x%s", bytes[i], i % 16 == 15 || i + 1 == size ? "\n" : " ");
    }
    assert_int_equal(fclose(file), 0);
}

/* Return the size of the golden frame read into @out. */
static inline size_t testing_golden_read(const char *name, uint8_t *out, size_t size)
{
    char path[512];
    char line[512];
    size_t count = 0;
    FILE *file;

    testing_golden_path(path, sizeof(path), name);
    file = fopen(path, "r");
    if (file == NULL) {
        fail_msg("%s is missing: run with STRAIT_UPDATE_GOLDEN=1", path);
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        char *at = line;
        unsigned int byte;
        int used;

        while (line[0] != '#' && sscanf(at, "%2x%n", &byte, &used) == 1) {
            assert_true(count < size);
            out[count++] = (uint8_t)byte;
            at += used;
        }
    }
    (void)fclose(file);
    return count;
}

static inline void testing_golden_check(const char *name, const char *about,
                                        const struct buf *frame)
{
    uint8_t golden[WIRE_HEADER_BYTES + TESTING_BODY_BYTES_MAX];

    if (getenv("STRAIT_UPDATE_GOLDEN") != NULL) {
        testing_golden_write(name, about, buf_bytes(frame), buf_size(frame));
    }
    assert_int_equal(testing_golden_read(name, golden, sizeof(golden)), buf_size(frame));
    assert_memory_equal(golden, buf_bytes(frame), buf_size(frame));
}

/* Decode the header of a whole frame, check its body, and return where that starts. */
static inline const uint8_t *testing_open(const struct buf *frame, struct wire_header *header_out)
{
    const uint8_t *bytes = buf_bytes(frame);
    enum wire_reason reason;

    assert_true(buf_size(frame) >= WIRE_HEADER_BYTES);
    assert_int_equal(wire_header_decode(bytes, header_out, &reason), OK);
    assert_int_equal(reason, WIRE_REASON_NONE);
    assert_int_equal(header_out->body_bytes, buf_size(frame) - WIRE_HEADER_BYTES);
    assert_true(wire_body_valid(header_out, bytes + WIRE_HEADER_BYTES));
    assert_int_equal((uintptr_t)(bytes + WIRE_HEADER_BYTES) % BUF_ALIGN, 0);
    return bytes + WIRE_HEADER_BYTES;
}

/* Shorter at every byte, and longer by one: refused. */
static inline void testing_truncate(testing_decode *decode, const struct wire_header *header,
                                    const uint8_t *body)
{
    uint8_t longer[TESTING_BODY_BYTES_MAX + 8] = {0};

    for (uint32_t size = 0; size < header->body_bytes; size++) {
        assert_int_not_equal(testing_decode_exact(decode, header, body, size), OK);
    }
    memcpy(longer, body, header->body_bytes);
    for (uint32_t more = 1; more <= 8; more++) {
        size_t size = header->body_bytes + more;

        assert_int_not_equal(testing_decode_exact(decode, header, longer, size), OK);
    }
}

/* Shorter at every byte with a header that admits it. */
static inline void testing_cut_admitted(testing_decode *decode, const struct buf *frame)
{
    struct wire_header header;
    const uint8_t *body = testing_open(frame, &header);
    uint32_t whole = header.body_bytes;

    for (header.body_bytes = 0; header.body_bytes < whole; header.body_bytes++) {
        assert_int_equal(testing_decode_exact(decode, &header, body, header.body_bytes),
                         ERR_MALFORMED);
    }
}

/* Shorter or longer with a header that admits it, for messages that count what they hold. */
static inline void testing_truncate_admitted(testing_decode *decode, const struct buf *frame)
{
    uint8_t copy[TESTING_BODY_BYTES_MAX + 8] = {0};
    struct wire_header header;
    const uint8_t *body = testing_open(frame, &header);
    uint32_t whole = header.body_bytes;

    memcpy(copy, body, whole);
    for (header.body_bytes = 0; header.body_bytes <= whole + 8; header.body_bytes++) {
        enum err rc = testing_decode_exact(decode, &header, copy, header.body_bytes);

        assert_int_equal(rc, header.body_bytes == whole ? OK : ERR_MALFORMED);
    }
}

/* Numbers of every width at every place set to what a liar would choose, and random bytes. What
 * comes of it is the decoder's affair; it must not crash, allocate or read beyond. */
static inline void testing_lies(testing_decode *decode, const struct wire_header *header,
                                const uint8_t *body)
{
    uint8_t copy[TESTING_BODY_BYTES_MAX];
    uint32_t size = header->body_bytes;
    uint32_t heads = size < 160 ? size : 160;

    memcpy(copy, body, size);
    for (uint32_t at = 0; at < heads; at++) {
        for (size_t width = 1; width <= 8 && at + width <= size; width *= 2) {
            uint64_t old = 0;

            memcpy(&old, body + at, width);
            for (uint32_t i = 0; i < 6; i++) {
                uint64_t lies[] = {0, 1, UINT64_MAX, old + 1, old - 1, old ^ (UINT64_C(1) << 63)};

                memcpy(copy + at, &lies[i], width);
                (void)testing_decode_exact(decode, header, copy, size);
            }
            memcpy(copy + at, body + at, width);
        }
    }
}

static inline void testing_noise(testing_decode *decode, const struct wire_header *header)
{
    uint8_t noise[256];
    struct rng rng;

    rng_init(&rng, header->type);
    for (uint32_t round = 0; round < 2000; round++) {
        struct wire_header claim = *header;

        claim.body_bytes = (uint32_t)rng_below(&rng, sizeof(noise) + 1);
        for (uint32_t i = 0; i < claim.body_bytes; i++) {
            /* Many small numbers: they get further. */
            noise[i] = (uint8_t)(rng_chance(&rng, 600000) ? rng_below(&rng, 4) : rng_next(&rng));
        }
        (void)testing_decode_exact(decode, &claim, noise, claim.body_bytes);
    }
}

/* Every allocation fails once: the encoder says so and gives nothing. */
static inline void testing_no_memory(testing_encode *encode)
{
    bool failed = true;
    uint64_t k;

    for (k = 1; failed; k++) {
        uint64_t before = mem_failures();
        struct buf *frame = NULL;
        struct buf_pool *pool;
        enum err rc;

        assert_int_equal(buf_pool_create(TESTING_POOL_BYTES, &pool), OK);
        mem_fail_at(k, 1);
        rc = encode(pool, &frame);
        mem_fail_at(0, 0);
        failed = mem_failures() != before;
        assert_int_equal(rc, failed ? ERR_NOMEM : OK);
        assert_int_equal(frame == NULL, failed);
        buf_unref(frame);
        buf_pool_destroy(pool);
    }
    assert_true(k > 2); /* There was something to fail. */
}

/* With all memory of the pool in use the encoder says so; with one frame given back it works. */
static inline void testing_no_buffer(testing_encode *encode)
{
    enum { HELD_MAX = 2048 };
    static struct buf *held[HELD_MAX];
    struct buf *frame = NULL;
    struct buf_pool *pool;
    uint32_t count = 0;
    enum err rc;

    assert_int_equal(buf_pool_create(512 * 1024, &pool), OK);
    while ((rc = encode(pool, &frame)) == OK) {
        assert_true(count < HELD_MAX);
        held[count++] = frame;
        frame = NULL;
    }
    assert_int_equal(rc, ERR_AGAIN);
    assert_null(frame);
    assert_true(count > 0);
    buf_unref(held[--count]);
    assert_int_equal(encode(pool, &held[count]), OK);
    for (uint32_t i = 0; i <= count; i++) {
        buf_unref(held[i]);
    }
    buf_pool_destroy(pool);
}

/* Golden bytes, truncation, lies and noise for one frame, which is given back. */
static inline void testing_message(struct buf *frame, const char *name, const char *about,
                                   testing_decode *decode)
{
    struct wire_header header;
    const uint8_t *body = testing_open(frame, &header);

    testing_golden_check(name, about, frame);
    assert_true(header.body_bytes <= TESTING_BODY_BYTES_MAX);
    assert_int_equal(testing_decode_exact(decode, &header, body, header.body_bytes), OK);
    testing_truncate(decode, &header, body);
    testing_lies(decode, &header, body);
    testing_noise(decode, &header);
    buf_unref(frame);
}

/* Fields of the header that a message does not use. */
enum testing_field {
    TESTING_TABLE = 1 << 0,
    TESTING_CODEC = 1 << 1,
    TESTING_CHUNK = 1 << 2,
    TESTING_EPOCH = 1 << 3,
    TESTING_ORIGIN = 1 << 4,
    TESTING_WEIGHT = 1 << 5,
};

/* Each field of @fields must be zero. */
static inline void testing_unused_fields(testing_decode *decode, const struct buf *frame,
                                         uint32_t fields)
{
    struct wire_header header;
    const uint8_t *body = testing_open(frame, &header);

    for (uint32_t bit = 1; bit <= TESTING_WEIGHT; bit *= 2) {
        struct wire_header lie = header;

        lie.table = bit == TESTING_TABLE ? 1 : lie.table;
        lie.codec = bit == TESTING_CODEC ? 1 : lie.codec;
        lie.chunk = bit == TESTING_CHUNK ? 1 : lie.chunk;
        lie.epoch = bit == TESTING_EPOCH ? 1 : lie.epoch;
        lie.origin = bit == TESTING_ORIGIN ? 1 : lie.origin;
        lie.weight = bit == TESTING_WEIGHT ? 1 : lie.weight;
        if ((fields & bit) != 0) {
            assert_int_equal(testing_decode_exact(decode, &lie, body, header.body_bytes),
                             ERR_MALFORMED);
        }
    }
}

/* Set @width bytes at @at to @value in a copy of the body: refused with @expected. */
static inline void testing_refused(testing_decode *decode, const struct buf *frame, uint32_t at,
                                   size_t width, uint64_t value, enum err expected)
{
    uint8_t copy[TESTING_BODY_BYTES_MAX];
    struct wire_header header;
    const uint8_t *body = testing_open(frame, &header);

    assert_true(header.body_bytes <= sizeof(copy) && at + width <= header.body_bytes);
    memcpy(copy, body, header.body_bytes);
    memcpy(copy + at, &value, width);
    assert_memory_not_equal(copy, body, header.body_bytes);
    assert_int_equal(testing_decode_exact(decode, &header, copy, header.body_bytes), expected);
}

/* The count at @at, @width bytes wide, must be just what it is. */
static inline void testing_exact_count(testing_decode *decode, const struct buf *frame, uint32_t at,
                                       size_t width)
{
    const uint8_t *body = buf_bytes(frame) + WIRE_HEADER_BYTES;
    uint64_t mask = width == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * width)) - 1;
    uint64_t old = 0;

    memcpy(&old, body + at, width);
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t lies[] = {0, 1, mask, (old + 1) & mask, (old - 1) & mask};

        if (lies[i] != old) {
            testing_refused(decode, frame, at, width, lies[i], ERR_MALFORMED);
        }
    }
}

#endif
