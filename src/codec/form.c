/* What was cut out of a chunk as a plain payload, in a form of choice. */

#include "base/bytes.h"
#include "codec/parts.h"

#include <string.h>

static const uint16_t *form_list(struct codec_coder *coder)
{
    struct codec_taken *t = &coder->taken;

    if (!t->listed) {
        CHECK(coder->loops->list(t->bitmap, codec_bitmap_words(t->elements), t->list) == t->count);
        t->listed = true;
    }
    return t->list;
}

uint32_t codec_form_kind(const struct codec_coder *coder, uint32_t like)
{
    if (coder->taken.whole && like != CODEC_F32) {
        return like == CODEC_BITMAP ? CODEC_BITMAP_I8 : CODEC_LIST_I8;
    }
    return like;
}

uint32_t codec_form_bytes(struct codec_coder *coder, uint32_t kind)
{
    const struct codec_taken *t = &coder->taken;
    uint32_t index_bytes, values_bytes;

    if (kind == CODEC_F32) {
        return codec_bytes_max(t->elements);
    }
    index_bytes = kind == CODEC_BITMAP || kind == CODEC_BITMAP_I8
                      ? codec_bitmap_words(t->elements) * 8
                      : 4 + (t->count * 2 + 3) / 4 * 4;
    values_bytes = kind == CODEC_BITMAP_I8 || kind == CODEC_LIST_I8
                       ? (t->count + 3) / 4 * 4
                       : t->count * (uint32_t)sizeof(float);
    return index_bytes + values_bytes;
}

uint32_t codec_form_smallest(struct codec_coder *coder)
{
    uint32_t best = CODEC_F32;

    for (uint32_t like = CODEC_BITMAP; like <= CODEC_LIST; like++) {
        uint32_t kind = codec_form_kind(coder, like);

        best = codec_form_bytes(coder, kind) < codec_form_bytes(coder, best) ? kind : best;
    }
    return best;
}

/* Those that are not named are -0.0, to which each value is added. */
static void form_write_dense(const struct codec_coder *coder, float *out)
{
    const struct codec_taken *t = &coder->taken;

    if (t->count == t->elements) {
        memcpy(out, t->floats, codec_bytes_max(t->elements));
        return;
    }
    for (uint32_t i = 0; i < t->elements; i++) {
        out[i] = -0.0F;
    }
    (void)coder->loops->add_bitmap(out, (const uint8_t *)t->bitmap, (const uint8_t *)t->floats,
                                   t->elements);
}

static uint32_t form_write_index(struct codec_coder *coder, uint32_t kind, uint8_t *out)
{
    const struct codec_taken *t = &coder->taken;
    uint32_t bytes = codec_bitmap_words(t->elements) * 8;

    if (kind == CODEC_BITMAP || kind == CODEC_BITMAP_I8) {
        memcpy(out, t->bitmap, bytes);
        return bytes;
    }
    bytes_store32(out, t->count);
    memcpy(out + 4, form_list(coder), (size_t)t->count * 2);
    bytes = 4 + t->count * 2;
    for (; bytes % 4 != 0; bytes++) {
        out[bytes] = 0;
    }
    return bytes;
}

void codec_form_write(struct codec_coder *coder, uint32_t kind, void *out)
{
    const struct codec_taken *t = &coder->taken;
    uint8_t *at = out;

    if (kind == CODEC_F32) {
        form_write_dense(coder, out);
        return;
    }
    at += form_write_index(coder, kind, at);
    if (kind != CODEC_BITMAP_I8 && kind != CODEC_LIST_I8) {
        memcpy(at, t->floats, t->count * sizeof(float));
        return;
    }
    memcpy(at, t->bytes, t->count);
    memset(at + t->count, 0, (4 - t->count % 4) % 4);
}
