/* Taking out what is significant. */

#include "base/rounding.h"
#include "codec/filter.h"
#include "codec/loops.h"

#include <math.h>
#include <string.h>

/* The bits of word @w that are elements from @first to before @end. */
static uint64_t select_bits(uint32_t w, uint32_t first, uint32_t end)
{
    uint64_t bits = UINT64_MAX;

    if (first > w * 64) {
        bits <<= first - w * 64;
    }
    if (end < w * 64 + 64) {
        bits &= UINT64_MAX >> (w * 64 + 64 - end);
    }
    return bits;
}

static bool select_any(const uint64_t *bitmap, uint32_t first, uint32_t end)
{
    for (uint32_t w = first / 64; w * 64 < end; w++) {
        if ((bitmap[w] & select_bits(w, first, end)) != 0) {
            return true;
        }
    }
    return false;
}

/* The end of the row that starts at @first. */
static uint32_t select_row_end(const struct codec_chunk *chunk, uint32_t first)
{
    return chunk->width < chunk->elements - first ? first + chunk->width : chunk->elements;
}

/* The whole row goes: what is not zero of it. */
static void select_row(const uint64_t *nonzero, uint32_t first, uint32_t end, uint64_t *bitmap)
{
    for (uint32_t w = first / 64; w * 64 < end; w++) {
        bitmap[w] |= nonzero[w] & select_bits(w, first, end);
    }
}

/* From significant elements to significant rows. */
static void select_rows(const struct codec_loops *loops, const struct codec_chunk *chunk,
                        uint64_t *bitmap)
{
    uint64_t nonzero[CODEC_WORDS_MAX];
    uint32_t end;

    loops->mark_absolute(chunk->held, chunk->elements, 0, nonzero);
    for (uint32_t first = 0; first < chunk->elements; first = end) {
        end = select_row_end(chunk, first);
        if (select_any(bitmap, first, end)) {
            select_row(nonzero, first, end, bitmap);
        }
    }
}

static void select_row_norm(const struct codec_loops *loops, const struct codec_chunk *chunk,
                            float threshold, uint64_t *bitmap)
{
    uint64_t nonzero[CODEC_WORDS_MAX];
    uint32_t end;

    memset(bitmap, 0, codec_bitmap_words(chunk->elements) * sizeof(*bitmap));
    loops->mark_absolute(chunk->held, chunk->elements, 0, nonzero);
    for (uint32_t first = 0; first < chunk->elements; first = end) {
        end = select_row_end(chunk, first);
        if (loops->row_above(chunk->values + first, chunk->held + first, end - first, threshold)) {
            select_row(nonzero, first, end, bitmap);
        }
    }
}

/* The room for the payload is also the room for what is measured: it is used up before a float is
 * taken. */
static void select_mark(const struct codec_loops *loops, const struct codec_filter *filter,
                        const struct codec_chunk *chunk, float threshold, float *room,
                        uint64_t *bitmap)
{
    switch (filter->measure) {
    case CODEC_RELATIVE:
        loops->mark_relative(chunk->values, chunk->held, chunk->elements, threshold, bitmap);
        break;
    case CODEC_ABSOLUTE:
        loops->mark_absolute(chunk->held, chunk->elements, threshold, bitmap);
        break;
    case CODEC_ROW_NORM:
        select_row_norm(loops, chunk, threshold, bitmap);
        return;
    case CODEC_PRODUCT:
        CHECK(chunk->partners_count + 1 == filter->tables_count);
        loops->mark_product(chunk, threshold, bitmap);
        break;
    case CODEC_CUSTOM:
        filter->custom(chunk->values, chunk->held, chunk->elements, chunk->width, room,
                       filter->user);
        loops->mark_measured(room, chunk->held, chunk->elements, threshold, bitmap);
        break;
    case CODEC_MEASURES:
        CHECK(filter->measure < CODEC_MEASURES);
    }
    if (filter->grain == CODEC_ROW && chunk->width > 1) {
        select_rows(loops, chunk, bitmap);
    }
}

void codec_select_by(const struct codec_loops *loops, const struct codec_filter *filter,
                     const struct codec_chunk *chunk, float threshold, void *out,
                     struct codec_packed *packed)
{
    struct codec_out o = codec_out_open(out, chunk->elements);
    uint64_t bitmap[CODEC_WORDS_MAX];
    bool fused = filter->grain == CODEC_ELEMENT;
    unsigned mode = rounding_enter();

    CHECK(threshold >= 0 && isfinite(threshold) && chunk->width > 0);
    if (filter->measure == CODEC_RELATIVE && fused) {
        loops->select_relative(chunk->values, chunk->held, threshold, bitmap, &o);
    } else if (filter->measure == CODEC_ABSOLUTE && fused) {
        loops->select_absolute(chunk->held, threshold, bitmap, &o);
    } else {
        select_mark(loops, filter, chunk, threshold, o.floats, bitmap);
        loops->take(chunk->held, bitmap, &o);
    }
    rounding_leave(mode);
    codec_out_close(loops, &o, bitmap, packed);
}

void codec_select(const struct codec_filter *filter, const struct codec_chunk *chunk,
                  float threshold, void *out, struct codec_packed *packed)
{
    codec_select_by(codec_loops_best(), filter, chunk, threshold, out, packed);
}
