/* Sums of payloads. */

#include "base/mem.h"
#include "codec/sparse.h"

/* Elements that no payload had are -0.0: adding to it gives what is added, bit for bit. (0 + -0.0
 * would be 0.) */
struct codec_sum {
    uint32_t elements;
    uint64_t bitmap[CODEC_WORDS_MAX];
    float dense[LIMIT_CHUNK_ELEMENTS];
};

static void sum_forget(struct codec_sum *sum, uint32_t word)
{
    sum->bitmap[word] = 0;
    for (uint32_t i = 0; i < 64; i++) {
        sum->dense[(size_t)word * 64 + i] = -0.0F;
    }
}

enum err codec_sum_create(struct codec_sum **out)
{
    struct codec_sum *sum = mem_zalloc(sizeof(*sum));

    if (sum == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t w = 0; w < CODEC_WORDS_MAX; w++) {
        sum_forget(sum, w);
    }
    *out = sum;
    return OK;
}

void codec_sum_destroy(struct codec_sum *sum)
{
    mem_free(sum);
}

void codec_sum_reset(struct codec_sum *sum, uint32_t elements)
{
    CHECK(elements > 0 && elements <= LIMIT_CHUNK_ELEMENTS);
    for (uint32_t w = 0; w < codec_bitmap_words(sum->elements); w++) {
        if (sum->bitmap[w] != 0) {
            sum_forget(sum, w);
        }
    }
    sum->elements = elements;
}

uint32_t codec_sum_add(struct codec_sum *sum, uint32_t codec, const void *payload)
{
    codec_index_or(codec, payload, sum->elements, sum->bitmap);
    return codec_add(codec, payload, sum->elements, sum->dense);
}

void codec_sum_pack(const struct codec_sum *sum, void *out, struct codec_packed *packed)
{
    codec_pack(sum->elements, sum->bitmap, sum->dense, out, packed);
}
