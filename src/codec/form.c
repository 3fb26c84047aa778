/* What was cut out of a chunk as a plain payload, in a form of choice. */

#include "base/bytes.h"
#include "codec/parts.h"

#include <string.h>

enum {
    FORM_HEAD_BYTES = 4,
    FORM_SKIP = 255,
    FORM_AT_ONCE = 64, /* Distances, so that the compiler makes vectors of them. */
};

static void form_list(struct codec_coder *coder)
{
    struct codec_taken *t = &coder->taken;

    if (!t->listed) {
        CHECK(coder->loops->list(t->bitmap, codec_bitmap_words(t->elements), t->list) == t->count);
        t->listed = true;
        t->spaced = false;
    }
}

/* The skips that the distances between the elements take. */
static uint32_t form_skips(struct codec_coder *coder)
{
    struct codec_taken *t = &coder->taken;

    form_list(coder);
    if (!t->spaced) {
        t->skips = t->list[0] / FORM_SKIP;
        for (uint32_t i = 1; i < t->count; i++) {
            t->skips += (uint16_t)(t->list[i] - t->list[i - 1] - 1) / FORM_SKIP;
        }
        t->spaced = true;
    }
    return t->skips;
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
        return codec_gaps_bytes(t->count + form_skips(coder));
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

static void form_write_f16(struct codec_coder *coder, uint16_t *out)
{
    const struct codec_taken *t = &coder->taken;

    if (t->count == t->elements) {
        memcpy(out, t->halves, t->count * sizeof(uint16_t));
        return;
    }
    form_list(coder);
    for (uint32_t i = 0; i < t->elements; i++) {
        out[i] = 0x8000; /* -0.0 */
    }
    for (uint32_t i = 0; i < t->count; i++) {
        out[t->list[i]] = t->halves[i];
    }
}

/* The elements from @first to before @end, none of them the very first. */
static uint8_t *form_write_distances(const uint16_t *list, uint32_t first, uint32_t end,
                                     uint8_t *out)
{
    for (uint32_t i = first; i < end; i++) {
        uint32_t distance = list[i] - list[i - 1] - 1u;

        for (; distance >= FORM_SKIP; distance -= FORM_SKIP) {
            *out++ = FORM_SKIP;
        }
        *out++ = (uint8_t)distance;
    }
    return out;
}

/* Many at once, as if none was a skip; true if none is. */
static bool form_write_short(const uint16_t *list, uint32_t first, uint8_t *restrict out)
{
    uint16_t seen = 0;

    for (uint32_t i = 0; i < FORM_AT_ONCE; i++) {
        uint16_t distance = (uint16_t)(list[first + i] - list[first + i - 1] - 1);

        out[i] = (uint8_t)distance;
        seen |= (uint16_t)(distance + 1); /* 255 has a bit more then. */
    }
    return seen < FORM_SKIP + 1;
}

static void form_write_gaps(struct codec_coder *coder, uint8_t *out)
{
    const struct codec_taken *t = &coder->taken;
    uint32_t skips = form_skips(coder);
    uint32_t first = t->list[0] / FORM_SKIP;

    bytes_store16(out, (uint16_t)(t->count - 1));
    bytes_store16(out + 2, (uint16_t)skips);
    out += FORM_HEAD_BYTES;
    memset(out, FORM_SKIP, first);
    out += first;
    *out++ = (uint8_t)(t->list[0] - first * FORM_SKIP);
    for (uint32_t i = 1; i < t->count; i += FORM_AT_ONCE) {
        if (i + FORM_AT_ONCE <= t->count && form_write_short(t->list, i, out)) {
            out += FORM_AT_ONCE;
        } else {
            uint32_t end = i + FORM_AT_ONCE < t->count ? i + FORM_AT_ONCE : t->count;

            out = form_write_distances(t->list, i, end, out);
        }
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
        form_write_gaps(coder, out);
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
        form_write_f16(coder, out);
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
