#include "codec/coder.h"

#include "base/mem.h"
#include "base/rounding.h"
#include "codec/parts.h"

#include <math.h>
#include <string.h>

enum { CODER_PAPER_ZEROS = 80 }; /* Percent, above which the paper sends few. */

enum err codec_coder_create(struct codec_coder **out)
{
    struct codec_coder *coder = mem_zalloc(sizeof(*coder));

    if (coder == NULL) {
        return ERR_NOMEM;
    }
    coder->loops = codec_loops_best();
    coder->costs = codec_costs_default;
    *out = coder;
    return OK;
}

void codec_coder_destroy(struct codec_coder *coder)
{
    mem_free(coder);
}

void codec_coder_set_costs(struct codec_coder *coder, const struct codec_costs *costs)
{
    coder->costs = *costs;
}

static void coder_cut(struct codec_coder *coder, float threshold, float *held, uint32_t elements)
{
    struct codec_taken *t = &coder->taken;
    struct codec_out out = {.floats = t->floats, .elements = elements};

    coder->loops->select_absolute(held, threshold, t->bitmap, &out);
    t->elements = elements;
    t->count = out.count;
    t->listed = false;
}

static void coder_narrow(struct codec_coder *coder)
{
    struct codec_taken *t = &coder->taken;

    t->whole = coder->loops->whole(t->floats, t->count);
    if (t->whole) {
        memcpy(t->bytes, t->floats, t->count * sizeof(float));
        coder->loops->narrow(t->bytes, t->count);
    }
}

/* Forms that would be larger than all floats are not written. */
static uint32_t coder_kind(struct codec_coder *coder, enum codec_form form)
{
    const struct codec_taken *t = &coder->taken;
    bool sparse = (uint64_t)t->count * 100 < (uint64_t)t->elements * (100 - CODER_PAPER_ZEROS);
    uint32_t kind = CODEC_F32;

    switch (form) {
    case CODEC_FORM_AUTO:
        return codec_form_smallest(coder);
    case CODEC_FORM_BITMAP:
    case CODEC_FORM_GAPS:
        kind = codec_form_kind(coder, CODEC_BITMAP);
        break;
    case CODEC_FORM_SPARSE:
        kind = codec_form_kind(coder, CODEC_LIST);
        break;
    case CODEC_FORM_PAPER:
        kind = sparse ? CODEC_LIST : CODEC_F32;
        break;
    case CODEC_FORM_DENSE:
    case CODEC_FORMS:
        break;
    }
    return codec_form_bytes(coder, kind) <= codec_bytes_max(t->elements) ? kind : CODEC_F32;
}

void codec_encode(struct codec_coder *coder, const struct codec_chain *chain, float threshold,
                  double link_bytes_per_s, float *held, uint32_t elements, void *out,
                  struct codec_packed *packed)
{
    unsigned mode = rounding_enter();
    uint32_t kind;

    CHECK(threshold >= 0 && isfinite(threshold) && elements > 0 &&
          elements <= LIMIT_CHUNK_ELEMENTS && (uintptr_t)out % _Alignof(float) == 0);
    (void)link_bytes_per_s;
    *packed = (struct codec_packed){0};
    coder_cut(coder, chain->cut == CODEC_CUT_NONE ? 0 : threshold, held, elements);
    if (coder->taken.count > 0) {
        coder_narrow(coder);
        kind = coder_kind(coder, chain->form);
        codec_form_write(coder, kind, out);
        *packed = (struct codec_packed){
            .codec = kind, .bytes = codec_form_bytes(coder, kind), .count = coder->taken.count};
    }
    rounding_leave(mode);
}

enum err codec_decode(struct codec_coder *coder, uint32_t codec, const void *bytes, size_t size,
                      uint32_t elements, struct codec_plain *out)
{
    if (elements == 0 || elements > LIMIT_CHUNK_ELEMENTS || size > codec_bytes_max(elements) ||
        !codec_payload_valid_by(coder->loops, codec, bytes, size, elements)) {
        return ERR_INVALID;
    }
    *out = (struct codec_plain){.codec = codec, .payload = bytes, .bytes = (uint32_t)size};
    return OK;
}
