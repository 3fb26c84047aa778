/* Fuzz a coder: u16 elements - 1, u16 number of the encoding, u16 chain, then bytes. They are a
 * payload, which is read and added if it is valid; and they are floats, which are written by the
 * chain and read again, and nothing of them is lost. */

#include "codec/coder.h"

#include "base/bytes.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_HEAD_BYTES = 6 };

struct room {
    float before[LIMIT_CHUNK_ELEMENTS], held[LIMIT_CHUNK_ELEMENTS], out[LIMIT_CHUNK_ELEMENTS];
};

static struct codec_coder *fuzz_coder(void)
{
    static struct codec_coder *coder;

    CHECK(coder != NULL || codec_coder_create(&coder) == OK);
    return coder;
}

static void check_payload(struct room *r, uint32_t codec, uint32_t elements, const uint8_t *data,
                          size_t size)
{
    uint64_t bitmap[CODEC_WORDS_MAX] = {0};
    struct codec_plain plain;
    uint8_t *exact = malloc(size);

    CHECK(exact != NULL || size == 0);
    if (size > 0) {
        memcpy(exact, data, size);
    }
    if (codec_decode(fuzz_coder(), codec, exact, size, elements, &plain) == OK) {
        CHECK(plain.bytes <= codec_bytes_max(elements));
        CHECK(codec_payload_valid(plain.codec, plain.payload, plain.bytes, elements));
        memset(r->held, 0, sizeof(r->held));
        CHECK(codec_add(plain.codec, plain.payload, elements, r->held) == 0);
        codec_index_or(plain.codec, plain.payload, elements, bitmap);
        codec_index_clear(plain.codec, plain.payload, elements, bitmap);
    }
    free(exact);
}

static struct codec_chain fuzz_chain(uint32_t number)
{
    return (struct codec_chain){
        .cut = (enum codec_cut)(number % CODEC_CUTS),
        .form = (enum codec_form)(number / CODEC_CUTS % CODEC_FORMS),
        .squeeze = (enum codec_squeeze)(number / CODEC_CUTS / CODEC_FORMS % (CODEC_SQUEEZES + 1)),
        .half = number >> 15 != 0,
    };
}

/* What is not finite becomes 1; what the bytes do not reach is zero. */
static void fill(struct room *r, uint32_t elements, const uint8_t *data, size_t size)
{
    memset(r->before, 0, elements * sizeof(float));
    memcpy(r->before, data, size < elements * 4u ? size : elements * 4u);
    for (uint32_t i = 0; i < elements; i++) {
        uint32_t bits;

        memcpy(&bits, &r->before[i], sizeof(bits));
        r->before[i] = (bits & 0x7f800000) == 0x7f800000 ? 1 : r->before[i];
    }
    memcpy(r->held, r->before, elements * sizeof(float));
}

static void check_trip(struct room *r, const struct codec_chain *chain, float threshold,
                       uint32_t elements)
{
    struct codec_packed packed;
    struct codec_plain plain;

    codec_encode(fuzz_coder(), chain, threshold, elements % 3 * 1e7, r->held, elements, r->out,
                 &packed);
    CHECK(packed.bytes <= codec_bytes_max(elements));
    for (uint32_t i = 0; i < elements; i++) {
        CHECK(chain->cut != CODEC_CUT_NONE || r->held[i] == 0);
        CHECK(chain->cut != CODEC_CUT_VALUE ||
              (r->held[i] <= threshold && r->held[i] >= -threshold));
    }
    if (packed.count > 0) {
        CHECK(codec_decode(fuzz_coder(), packed.codec, r->out, packed.bytes, elements, &plain) ==
              OK);
        CHECK(codec_add(plain.codec, plain.payload, elements, r->held) == 0);
    }
    CHECK(memcmp(r->held, r->before, elements * sizeof(float)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const float thresholds[] = {0, 1e-40F, 0.01F, 1, 1e30F};
    static struct room room;
    uint32_t elements, number;
    struct codec_chain chain;

    if (size < FUZZ_HEAD_BYTES) {
        return 0;
    }
    elements = bytes_load16(data) + 1u;
    number = bytes_load16(data + 4);
    chain = fuzz_chain(number);
    data += FUZZ_HEAD_BYTES;
    size -= FUZZ_HEAD_BYTES;
    check_payload(&room, bytes_load16(data - 4), elements, data, size);
    fill(&room, elements, data, size);
    check_trip(&room, &chain, thresholds[number / 90 % 5], elements);
    return 0;
}
