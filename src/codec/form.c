/* What was cut out of a chunk as a plain payload, in a form of choice. */

#include "base/bytes.h"
#include "codec/parts.h"

#include <string.h>

enum { FORM_HEAD_BYTES = 4, FORM_SKIP = 255 };

/* The numbers of the elements, and how many skips their distances take. */
static void form_list(struct codec_coder *coder)
{
    struct codec_taken *t = &coder->taken;
    uint32_t next = 0;

    if (t->listed) {
        return;
    }
    CHECK(coder->loops->list(t->bitmap, codec_bitmap_words(t->elements), t->list) == t->count);
    t->listed = true;
    t->skips = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        t->skips += (t->list[i] - next) / FORM_SKIP;
        next = t->list[i] + 1u;
    }
}

uint32_t codec_form_kind(const struct codec_coder *coder, uint32_t index)
{
    const struct codec_taken *t = &coder->taken;

    switch (index) {
    case CODEC_BITMAP:
        return t->whole ? CODEC_BITMAP_I8 : t->half ? CODEC_BITMAP_F16 : CODEC_BITMAP;
    case CODEC_LIST:
        return t->whole ? CODEC_LIST_I8 : t->half ? CODEC_LIST_F16 : CODEC_LIST;
    case CODEC_GAPS:
        return t->whole ? CODEC_GAPS_I8 : t->half ? CODEC_GAPS_F16 : CODEC_GAPS;
    default:
        return t->half ? CODEC_F16 : CODEC_F32;
    }
}

static uint32_t form_index_bytes(struct codec_coder *coder, uint32_t kind)
{
    const struct codec_taken *t = &coder->taken;

    switch (codec_kind_index(kind)) {
    case CODEC_BITMAP:
        return codec_bitmap_words(t->elements) * 8;
    case CODEC_LIST:
        return codec_list_bytes(t->count);
    default:
        form_list(coder);
        return codec_gaps_bytes(t->count + t->skips);
    }
}

uint32_t codec_form_bytes(struct codec_coder *coder, uint32_t kind)
{
    const struct codec_taken *t = &coder->taken;

    if (codec_kind_index(kind) == CODEC_F32) {
        return codec_values_bytes(kind, t->elements);
    }
    return form_index_bytes(coder, kind) + codec_values_bytes(kind, t->count);
}

/* Those that are not named are -0.0, to which each value is added. */
static void form_write_f32(const struct codec_coder *coder, float *out)
{
    const struct codec_taken *t = &coder->taken;

    if (t->count == t->elements) {
        memcpy(out, t->floats, t->count * sizeof(float));
        return;
    }
    for (uint32_t i = 0; i < t->elements; i++) {
        out[i] = -0.0F;
    }
    (void)coder->loops->add_bitmap[CODEC_VALUES_F32](out, (const uint8_t *)t->bitmap,
                                                     (const uint8_t *)t->floats, t->elements);
}

static void form_write_f16(struct codec_coder *coder, uint8_t *out)
{
    const struct codec_taken *t = &coder->taken;

    form_list(coder);
    for (uint32_t i = 0; i < t->elements; i++) {
        bytes_store16(out + (size_t)i * 2, 0x8000);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        bytes_store16(out + (size_t)t->list[i] * 2, t->halves[i]);
    }
}

static void form_write_gaps(const struct codec_taken *t, uint8_t *out)
{
    uint32_t next = 0;

    bytes_store16(out, (uint16_t)(t->count - 1));
    bytes_store16(out + 2, (uint16_t)t->skips);
    out += FORM_HEAD_BYTES;
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t distance = t->list[i] - next;

        for (; distance >= FORM_SKIP; distance -= FORM_SKIP) {
            *out++ = FORM_SKIP;
        }
        *out++ = (uint8_t)distance;
        next = t->list[i] + 1u;
    }
}

static void form_write_index(struct codec_coder *coder, uint32_t kind, uint8_t *out)
{
    const struct codec_taken *t = &coder->taken;

    switch (codec_kind_index(kind)) {
    case CODEC_BITMAP:
        memcpy(out, t->bitmap, (size_t)codec_bitmap_words(t->elements) * 8);
        break;
    case CODEC_LIST:
        form_list(coder);
        bytes_store32(out, t->count);
        memcpy(out + FORM_HEAD_BYTES, t->list, (size_t)t->count * 2);
        break;
    default:
        form_list(coder);
        form_write_gaps(t, out);
    }
}

/* The bytes that fill a part up to a multiple of 4 are among its last 4, which are made zero before
 * the others are written. */
void codec_form_write(struct codec_coder *coder, uint32_t kind, void *out)
{
    const struct codec_taken *t = &coder->taken;
    uint32_t index_bytes = codec_form_bytes(coder, kind) - codec_values_bytes(kind, t->count);
    uint8_t *at = out;

    if (kind == CODEC_F32) {
        form_write_f32(coder, out);
        return;
    }
    bytes_store32(at + codec_form_bytes(coder, kind) - 4, 0);
    if (kind == CODEC_F16) {
        form_write_f16(coder, at);
        return;
    }
    bytes_store32(at + index_bytes - 4, 0);
    form_write_index(coder, kind, at);
    at += index_bytes;
    switch (codec_kind_values(kind)) {
    case CODEC_VALUES_F32:
        memcpy(at, t->floats, t->count * sizeof(float));
        break;
    case CODEC_VALUES_F16:
        memcpy(at, t->halves, t->count * sizeof(uint16_t));
        break;
    default:
        memcpy(at, t->spare, t->count);
    }
}
