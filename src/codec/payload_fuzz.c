/* Fuzz payloads: u16 elements - 1, u8 encoding, then the bytes. Every kind of loops judges them
 * alike. What is valid can be added, packed anew and merged, and means the same after each. */

#include "base/bytes.h"
#include "codec/loops.h"
#include "codec/sparse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_HEAD_BYTES = 3 };

/* What a payload means: which elements, and what is added to them. */
struct meaning {
    uint64_t bitmap[CODEC_WORDS_MAX];
    float dense[LIMIT_CHUNK_ELEMENTS];
};

static void meaning_of(const struct codec_loops *loops, uint32_t codec, const uint8_t *payload,
                       uint32_t elements, struct meaning *out)
{
    memset(out->bitmap, 0, sizeof(out->bitmap));
    for (uint32_t i = 0; i < elements; i++) {
        out->dense[i] = -0.0F;
    }
    codec_index_or(codec, payload, elements, out->bitmap);
    CHECK(codec_add_by(loops, codec, payload, elements, out->dense) == 0);
}

/* An encoding of all floats names more than it has to, so only the floats are compared. */
static void check_same(const struct meaning *a, const struct meaning *b, uint32_t elements)
{
    CHECK(memcmp(a->dense, b->dense, elements * sizeof(float)) == 0);
}

static void check_index(uint32_t codec, const uint8_t *payload, uint32_t elements,
                        const struct meaning *m)
{
    uint32_t bytes = codec_index_bytes(codec, payload, elements);
    uint32_t count = 0;
    uint64_t left[CODEC_WORDS_MAX];

    CHECK(codec_index_valid(codec, payload, bytes, elements));
    CHECK(!codec_index_valid(codec, payload, bytes + 4, elements));
    for (uint32_t w = 0; w < codec_bitmap_words(elements); w++) {
        count += (uint32_t)__builtin_popcountll(m->bitmap[w]);
    }
    CHECK(codec_index_count(codec, payload, elements) == count);
    memcpy(left, m->bitmap, sizeof(left));
    codec_index_clear(codec, payload, elements, left);
    for (uint32_t w = 0; w < codec_bitmap_words(elements); w++) {
        CHECK(left[w] == 0);
    }
}

/* Packed anew it is no larger than in an encoding that is packed, and in the same one it has the
 * same bytes: there is one way. */
static void check_pack(const struct codec_loops *loops, uint32_t codec, const uint8_t *payload,
                       size_t size, uint32_t elements, const struct meaning *m)
{
    static struct meaning again;
    float *out = malloc(codec_bytes_max(elements));
    struct codec_packed packed;

    CHECK(out != NULL);
    codec_pack_by(loops, elements, m->bitmap, m->dense, out, &packed);
    CHECK(codec >= CODEC_KINDS_PACKED || packed.bytes <= size);
    CHECK(packed.codec != codec || memcmp(out, payload, size) == 0);
    CHECK(codec_payload_valid_by(loops, packed.codec, out, packed.bytes, elements));
    meaning_of(loops, packed.codec, (const uint8_t *)out, elements, &again);
    check_same(m, &again, elements);
    free(out);
}

/* Merged with itself it is what adding it twice makes. */
static void check_merge(uint32_t codec, const uint8_t *payload, uint32_t elements,
                        const struct meaning *m)
{
    static struct codec_sum *sum;
    static struct meaning twice, merged;
    float *out = malloc(codec_bytes_max(elements));
    struct codec_packed packed;
    uint32_t kept;

    CHECK(out != NULL && (sum != NULL || codec_sum_create(&sum) == OK));
    twice = *m;
    kept = codec_add(codec, payload, elements, twice.dense);
    codec_sum_reset(sum, elements);
    CHECK(codec_sum_add(sum, codec, payload) == 0);
    CHECK(codec_sum_add(sum, codec, payload) == kept);
    codec_sum_pack(sum, out, &packed);
    meaning_of(codec_loops_best(), packed.codec, (const uint8_t *)out, elements, &merged);
    check_same(&twice, &merged, elements);
    free(out);
}

static void check_valid(uint32_t codec, const uint8_t *payload, size_t size, uint32_t elements)
{
    static struct meaning plain, other;

    meaning_of(codec_loops_at(0), codec, payload, elements, &plain);
    check_index(codec, payload, elements, &plain);
    for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
        const struct codec_loops *loops = codec_loops_at(k);

        if (loops != NULL) {
            meaning_of(loops, codec, payload, elements, &other);
            check_same(&plain, &other, elements);
            check_pack(loops, codec, payload, size, elements, &plain);
        }
    }
    check_merge(codec, payload, elements, &plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t elements, codec, offset;
    uint8_t *room;
    bool valid;

    if (size < FUZZ_HEAD_BYTES) {
        return 0;
    }
    elements = bytes_load16(data) + 1u;
    codec = data[2];
    size -= FUZZ_HEAD_BYTES;
    /* At any address, and with nothing behind it. */
    offset = elements % 8;
    room = malloc(offset + size);
    CHECK(room != NULL || offset + size == 0);
    if (size > 0) {
        memcpy(room + offset, data + FUZZ_HEAD_BYTES, size);
    }
    valid = codec_payload_valid(codec, room + offset, size, elements);
    for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
        const struct codec_loops *loops = codec_loops_at(k);

        CHECK(loops == NULL ||
              codec_payload_valid_by(loops, codec, room + offset, size, elements) == valid);
    }
    (void)codec_index_valid(codec, room + offset, size, elements);
    if (valid) {
        check_valid(codec, room + offset, size, elements);
    }
    free(room);
    return 0;
}
