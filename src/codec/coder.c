#include "codec/coder.h"

#include "base/mem.h"
#include "base/rounding.h"
#include "codec/parts.h"

#include <math.h>
#include <string.h>

enum err codec_coder_create(struct codec_coder **out)
{
    struct codec_coder *coder = mem_zalloc(sizeof(*coder));
    enum err rc;

    if (coder == NULL) {
        return ERR_NOMEM;
    }
    rc = codec_squeezer_create(&coder->squeezer);
    if (rc != OK) {
        mem_free(coder);
        return rc;
    }
    coder->loops = codec_loops_best();
    coder->costs = codec_costs_default;
    *out = coder;
    return OK;
}

void codec_coder_destroy(struct codec_coder *coder)
{
    if (coder != NULL) {
        codec_squeezer_destroy(coder->squeezer);
        mem_free(coder);
    }
}

void codec_coder_use(struct codec_coder *coder, const struct codec_loops *loops)
{
    coder->loops = loops;
}

void codec_coder_set_costs(struct codec_coder *coder, const struct codec_costs *costs)
{
    coder->costs = *costs;
}

double codec_coder_cut(struct codec_coder *coder, enum codec_cut cut, float threshold, float *held,
                       uint32_t elements)
{
    struct codec_taken *t = &coder->taken;
    struct codec_out out = {.floats = t->floats, .elements = elements};
    double sum = 0;

    if (cut == CODEC_CUT_NORM) {
        sum = codec_norm_mark(coder->loops, held, elements, threshold, t->bitmap, t->list);
        coder->loops->take(held, t->bitmap, &out);
    } else {
        coder->loops->select_absolute(held, cut == CODEC_CUT_NONE ? 0 : threshold, t->bitmap, &out);
    }
    t->elements = elements;
    t->count = out.count;
    t->listed = t->whole = t->half = false;
    return sum;
}

/* What is held at the elements that were taken is zero, so adding the errors there leaves them. */
static void coder_halve(struct codec_coder *coder, const struct codec_chain *chain, float threshold,
                        double sum, float *held)
{
    struct codec_taken *t = &coder->taken;
    uint32_t most = coder->loops->halve(t->floats, t->count, t->halves, t->spare);
    uint32_t bits;

    memcpy(&bits, &threshold, sizeof(bits));
    bits = chain->cut == CODEC_CUT_NONE ? 0 : bits & UINT32_C(0x7fffffff);
    if (most > bits ||
        (most > 0 && chain->cut == CODEC_CUT_NORM &&
         !codec_norm_allows(coder->loops, sum, codec_norm_bound(threshold, t->elements), t->spare,
                            t->count))) {
        return;
    }
    t->half = true;
    if (most > 0) {
        (void)coder->loops->add_bitmap[CODEC_VALUES_F32](held, (const uint8_t *)t->bitmap,
                                                         (const uint8_t *)t->spare, t->elements);
    }
}

void codec_coder_narrow(struct codec_coder *coder)
{
    struct codec_taken *t = &coder->taken;

    t->whole = coder->loops->whole(t->floats, t->count);
    if (t->whole) {
        memcpy(t->spare, t->floats, t->count * sizeof(float));
        coder->loops->narrow(t->spare, t->count);
    }
}

/* Return the bytes at @out, and in @way what became of it. */
static uint32_t coder_write(struct codec_coder *coder, struct codec_way *way, void *out)
{
    uint32_t bytes = codec_form_bytes(coder, way->kind);
    uint32_t squeezed_bytes = bytes;
    const void *squeezed = NULL;

    codec_form_write(coder, way->kind, out);
    if (way->squeeze == CODEC_PLAIN) {
        return bytes;
    }
    squeezed = codec_squeeze(coder->squeezer, way->squeeze, out, bytes, &squeezed_bytes);
    codec_choice_note(coder, way, bytes, squeezed_bytes);
    if (squeezed == NULL) {
        way->squeeze = CODEC_PLAIN;
    } else {
        memcpy(out, squeezed, squeezed_bytes);
    }
    return squeezed_bytes;
}

void codec_encode(struct codec_coder *coder, const struct codec_chain *chain, float threshold,
                  double link_bytes_per_s, float *held, uint32_t elements, void *out,
                  struct codec_packed *packed)
{
    const struct codec_taken *t = &coder->taken;
    unsigned mode = rounding_enter();
    struct codec_way way;
    double sum;

    CHECK(threshold >= 0 && isfinite(threshold) && elements > 0 &&
          elements <= LIMIT_CHUNK_ELEMENTS && (uintptr_t)out % _Alignof(float) == 0);
    *packed = (struct codec_packed){0};
    sum = codec_coder_cut(coder, chain->cut, threshold, held, elements);
    if (t->count > 0) {
        if (chain->half) {
            coder_halve(coder, chain, threshold, sum, held);
        }
        if (chain->form != CODEC_FORM_DENSE && chain->form != CODEC_FORM_PAPER) {
            codec_coder_narrow(coder);
        }
        if (codec_choice_trial(coder, chain, link_bytes_per_s, &way)) {
            (void)coder_write(coder, &way, out);
        }
        way = codec_choice_best(coder, chain, link_bytes_per_s);
        packed->bytes = coder_write(coder, &way, out);
        packed->codec = way.kind | (uint32_t)way.squeeze << CODEC_SQUEEZE_SHIFT;
        packed->count = t->count;
    }
    rounding_leave(mode);
}

bool codec_was_not_finite(const struct codec_coder *coder)
{
    return coder->not_finite;
}

enum err codec_decode(struct codec_coder *coder, uint32_t codec, const void *bytes, size_t size,
                      uint32_t elements, struct codec_plain *out)
{
    uint32_t kind = codec & ((1u << CODEC_SQUEEZE_SHIFT) - 1);
    uint32_t squeeze = codec >> CODEC_SQUEEZE_SHIFT;
    uint32_t plain_bytes = 0;

    coder->not_finite = false;
    if (elements == 0 || elements > LIMIT_CHUNK_ELEMENTS || kind >= CODEC_KINDS ||
        squeeze >= CODEC_SQUEEZES || size > codec_bytes_max(elements)) {
        return ERR_INVALID;
    }
    if (squeeze != CODEC_PLAIN) {
        bytes = codec_unsqueeze(coder->squeezer, (enum codec_squeeze)squeeze, bytes, size,
                                codec_bytes_max(elements), &plain_bytes);
        size = plain_bytes;
    }
    if (bytes == NULL || !codec_payload_valid_by(coder->loops, kind, bytes, size, elements)) {
        coder->not_finite =
            bytes != NULL && codec_payload_shaped_by(coder->loops, kind, bytes, size, elements);
        return ERR_INVALID;
    }
    *out = (struct codec_plain){.codec = kind, .payload = bytes, .bytes = (uint32_t)size};
    return OK;
}
