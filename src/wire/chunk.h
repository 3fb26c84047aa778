/* What push, values, broadcast, delta, copy and snapshot chunk have in common: one chunk per frame.
 *
 *     header | payload ... | tail
 *
 * The payload starts the body, aligned, so that a received buffer can become an accumulator and an
 * accumulator a frame without a copy. What describes it is in the header; what does not fit there
 * (who made an update, whose updates are in a sum) is a tail behind it. */

#ifndef WIRE_CHUNK_H
#define WIRE_CHUNK_H

#include "wire/frame.h"

struct buf;
struct buf_pool;

enum {
    WIRE_CODEC_F32 = 0,    /* Raw float32. */
    WIRE_CODEC_BITMAP = 1, /* Some elements; what is inside is the codec module's affair. */
    WIRE_CODEC_LIST = 2,
    WIRE_CODEC_BITMAP_I8 = 3,
    WIRE_CODEC_LIST_I8 = 4,
    WIRE_CODECS_DELTA = 5, /* Those below are for delta and barrier. */
    WIRE_CODEC_BITMAP_F16 = 5,
    WIRE_CODEC_LIST_F16 = 6,
    WIRE_CODEC_F16 = 7,
    WIRE_CODEC_GAPS = 8,
    WIRE_CODEC_GAPS_F16 = 9,
    WIRE_CODEC_GAPS_I8 = 10,
    WIRE_CODECS = 11,

    WIRE_SQUEEZE_SHIFT = 8, /* What the payload was squeezed with is in the upper byte. */
    WIRE_SQUEEZES = 4,

    WIRE_CHUNK_TAIL_BYTES = 16, /* Of push. */
};

/* The payload is a view into the body: borrowed. */
struct wire_chunk {
    uint16_t table;
    uint16_t codec;
    uint32_t chunk;
    uint32_t epoch;
    uint32_t origin;
    uint64_t clock;
    uint32_t weight;
    uint32_t payload_bytes; /* 1 to LIMIT_CHUNK_BYTES; of raw float32 a multiple of four. */
    const uint8_t *payload;
};

/* True if there is such a codec, squeezed or not. */
bool wire_codec_valid(uint16_t codec);

/* True if there is such a codec and the payload's size suits it. What the bytes are worth is the
 * codec's affair. */
bool wire_payload_valid(uint16_t codec, uint64_t payload_bytes);

/* Take a frame whose body has @payload_bytes to be filled in by the caller, and room for the
 * longest tail of all: it may become any of these messages, also after it was used as an
 * accumulator. ERR_INVALID if that is no size of a chunk. */
MUST_USE enum err wire_chunk_take(struct buf_pool *pool, uint32_t payload_bytes,
                                  struct buf **frame_out);

/* Finish a frame that holds the payload and nothing else, with room for the header before and for
 * the tail behind it; @tail may be NULL if it is empty. about->payload is not used. Must be valid:
 * programmer errors stop here. */
void wire_chunk_seal(struct buf *frame, enum wire_type type, const struct wire_chunk *about,
                     const uint8_t *tail, size_t tail_bytes);

/* Take just what it needs, copy the payload, seal. ERR_INVALID if the payload's size does not suit.
 */
MUST_USE enum err wire_chunk_encode(struct buf_pool *pool, enum wire_type type,
                                    const struct wire_chunk *chunk, const uint8_t *tail,
                                    size_t tail_bytes, struct buf **frame_out);

/* Judge the header of a chunk's frame against the @size bytes of its body, of which the last
 * @tail_bytes are no payload. */
MUST_USE enum err wire_chunk_decode(const struct wire_header *header, const uint8_t *body,
                                    size_t size, size_t tail_bytes, struct wire_chunk *out);

#endif
