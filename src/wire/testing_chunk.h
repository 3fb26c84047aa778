/* What the tests of messages that hold a chunk share. */

#ifndef WIRE_TESTING_CHUNK_H
#define WIRE_TESTING_CHUNK_H

#include "wire/members.h"
#include "wire/ranges.h"
#include "wire/testing.h"

/* Zeros, as long as a chunk and one byte more. */
static uint8_t testing_payload[LIMIT_CHUNK_BYTES + 4];

static inline struct wire_chunk testing_chunk_small(uint32_t weight)
{
    static const float values[] = {1.0F, -2.0F, 0.5F};

    return (struct wire_chunk){
        .table = 0x0102,
        .chunk = 0x11121314,
        .epoch = 0x21222324,
        .origin = 0x31323334,
        .clock = 0x4142434445464748,
        .weight = weight,
        .payload_bytes = sizeof(values),
        .payload = (const uint8_t *)values,
    };
}

static inline struct wire_chunk testing_chunk_extreme(uint32_t weight)
{
    return (struct wire_chunk){
        .table = UINT16_MAX,
        .codec = WIRE_CODECS - 1 + ((WIRE_SQUEEZES - 1) << WIRE_SQUEEZE_SHIFT),
        .chunk = UINT32_MAX,
        .epoch = UINT32_MAX,
        .origin = UINT32_MAX,
        .clock = UINT64_MAX,
        .weight = weight,
        .payload_bytes = LIMIT_CHUNK_BYTES,
        .payload = testing_payload,
    };
}

static inline void assert_chunk_equal(const struct wire_chunk *a, const struct wire_chunk *b)
{
    assert_int_equal(a->table, b->table);
    assert_int_equal(a->codec, b->codec);
    assert_int_equal(a->chunk, b->chunk);
    assert_int_equal(a->epoch, b->epoch);
    assert_int_equal(a->origin, b->origin);
    assert_int_equal(a->clock, b->clock);
    assert_int_equal(a->weight, b->weight);
    assert_int_equal(a->payload_bytes, b->payload_bytes);
    assert_memory_equal(a->payload, b->payload, a->payload_bytes);
}

static inline void assert_members_equal(const void *a, uint32_t a_count, const void *b,
                                        uint32_t b_count)
{
    assert_int_equal(a_count, b_count);
    for (uint32_t i = 0; i < a_count; i++) {
        assert_int_equal(wire_member(a, i).rank, wire_member(b, i).rank);
        assert_int_equal(wire_member(a, i).clock, wire_member(b, i).clock);
    }
}

static inline void assert_ranges_equal(const void *a, uint32_t a_count, const void *b,
                                       uint32_t b_count)
{
    assert_int_equal(a_count, b_count);
    for (uint32_t i = 0; i < a_count; i++) {
        assert_int_equal(wire_range(a, i).site, wire_range(b, i).site);
        assert_int_equal(wire_range(a, i).prev, wire_range(b, i).prev);
        assert_int_equal(wire_range(a, i).number, wire_range(b, i).number);
    }
}

/* Every size of a payload from zero to beyond the limit at its edges, raw and encoded, with a tail
 * of @tail_bytes taken from the end of @frame. */
static inline void testing_payload_sizes(testing_decode *decode, const struct buf *frame,
                                         uint32_t tail_bytes)
{
    static const uint32_t sizes[] = {0,
                                     1,
                                     2,
                                     3,
                                     4,
                                     5,
                                     64,
                                     LIMIT_CHUNK_BYTES - 1,
                                     LIMIT_CHUNK_BYTES,
                                     LIMIT_CHUNK_BYTES + 1,
                                     LIMIT_CHUNK_BYTES + 4};
    uint8_t *body = calloc(1, LIMIT_CHUNK_BYTES + 4 + tail_bytes);
    struct wire_header header;

    assert_non_null(body);
    (void)testing_open(frame, &header);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memcpy(body + sizes[i], buf_bytes(frame) + buf_size(frame) - tail_bytes, tail_bytes);
        header.body_bytes = sizes[i] + tail_bytes;
        for (uint32_t codec = 0; codec < 3; codec++) {
            bool fits = sizes[i] > 0 && sizes[i] <= LIMIT_CHUNK_BYTES &&
                        (codec != WIRE_CODEC_F32 || sizes[i] % 4 == 0);

            header.codec = (uint16_t)codec;
            assert_int_equal(testing_decode_exact(decode, &header, body, header.body_bytes),
                             fits ? OK : ERR_MALFORMED);
        }
    }
    for (uint32_t size = 0; size < tail_bytes; size++) {
        header.body_bytes = size;
        assert_int_equal(testing_decode_exact(decode, &header, body, size), ERR_MALFORMED);
    }
    free(body);
}

/* The weight in the header must be zero, or must not be. */
static inline void testing_weight(testing_decode *decode, const struct buf *frame, bool weighs)
{
    struct wire_header header;
    const uint8_t *body = testing_open(frame, &header);

    assert_int_equal(header.weight != 0, weighs);
    header.weight = weighs ? 0 : 1;
    assert_int_equal(testing_decode_exact(decode, &header, body, header.body_bytes), ERR_MALFORMED);
    header.weight = UINT32_MAX;
    assert_int_equal(testing_decode_exact(decode, &header, body, header.body_bytes),
                     weighs ? OK : ERR_MALFORMED);
}

#endif
