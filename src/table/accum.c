/* Sums of updates. */

#include "table/accum.h"

#include "base/buf.h"
#include "table/kernel.h"
#include "table/rows.h"

#include <endian.h>
#include <string.h>

enum {
    ACCUM_HEADROOM = 64,
    ACCUM_TAILROOM = 2560
}; /* A frame's header; whose updates are in it. */

static uint32_t accum_bitmap_bytes(const struct table_schema *s)
{
    return (table_rows_per_chunk(s) + 63) / 64 * 8;
}

static bool accum_touch(struct table_accum *a, uint32_t row)
{
    uint8_t *byte = buf_bytes(a->touched) + row / 8;
    uint8_t bit = (uint8_t)(1u << (row % 8));
    bool before = (*byte & bit) != 0;

    *byte = (uint8_t)(*byte | bit);
    return before;
}

static bool accum_touched(const struct table_accum *a, uint32_t row)
{
    return (buf_bytes(a->touched)[row / 8] & (1u << (row % 8))) != 0;
}

/* Words of 64 rows, so that a few rows among thousands are found quickly. */
static uint64_t accum_word(const struct table_accum *a, uint32_t index)
{
    uint64_t word;

    memcpy(&word, buf_bytes(a->touched) + (size_t)index * 8, sizeof(word));
    return le64toh(word);
}

uint32_t table_accum_next_row(const struct table_accum *a, uint32_t from, uint32_t rows)
{
    uint32_t index = from / 64;
    uint64_t word;

    if (a->touched == NULL || from >= rows) {
        return from < rows ? from : rows;
    }
    word = accum_word(a, index) & (UINT64_MAX << (from % 64));
    while (word == 0 && (index + 1) * 64 < rows) {
        word = accum_word(a, ++index);
    }
    if (word == 0) {
        return rows;
    }
    from = index * 64 + (uint32_t)__builtin_ctzll(word);
    return from < rows ? from : rows;
}

static float *accum_floats(const struct table_accum *a)
{
    return (float *)(void *)buf_bytes(a->sum);
}

uint32_t table_accum_bytes(uint32_t elements)
{
    return ACCUM_HEADROOM + elements * (uint32_t)sizeof(float) + ACCUM_TAILROOM;
}

enum err table_accum_prepare(struct table_accum *a, const struct table_schema *s, uint32_t chunk,
                             struct buf_pool *pool, bool dense)
{
    uint32_t bytes = table_chunk_size(s, chunk) * (uint32_t)sizeof(float);
    uint32_t bitmap;
    struct buf *sum;
    struct buf *touched;
    enum err rc;

    if (a->sum != NULL || dense) {
        return OK;
    }
    rc = buf_take(pool, ACCUM_HEADROOM, bytes + ACCUM_TAILROOM, &sum);
    if (rc != OK) {
        return rc;
    }
    if (!table_has_rows(s)) {
        memset(buf_append(sum, bytes), 0, bytes);
        a->sum = sum;
        return OK;
    }
    bitmap = accum_bitmap_bytes(s);
    rc = buf_take(pool, 0, bitmap, &touched);
    if (rc != OK) {
        buf_unref(sum);
        return rc;
    }
    (void)buf_append(sum, bytes);
    memset(buf_append(touched, bitmap), 0, bitmap);
    a->sum = sum;
    a->touched = touched;
    return OK;
}

void table_accum_count(struct table_accum *a, const struct table_schema *s, uint32_t weight)
{
    uint32_t more = s->combine == TABLE_SAMPLES ? weight : 1;

    a->count++;
    a->weight = a->weight > UINT32_MAX - more ? UINT32_MAX : a->weight + more;
}

static float accum_factor(const struct table_schema *s, uint32_t weight)
{
    return s->combine == TABLE_SAMPLES ? (float)weight : 1.0f;
}

void table_accum_densify(struct table_accum *a, const struct table_schema *s, uint32_t chunk)
{
    uint32_t rows = table_chunk_size(s, chunk) / s->width;
    float *sum;

    if (a->touched == NULL) {
        return;
    }
    sum = accum_floats(a);
    for (uint32_t r = 0; r < rows; r++) {
        if (!accum_touched(a, r)) {
            memset(sum + (size_t)r * s->width, 0, s->width * sizeof(float));
        }
    }
    buf_unref(a->touched);
    a->touched = NULL;
}

float *table_accum_open(struct table_accum *a, const struct table_schema *s, uint32_t chunk)
{
    table_accum_densify(a, s, chunk);
    return accum_floats(a);
}

void table_accum_add(struct table_accum *a, const struct table_schema *s, uint32_t chunk,
                     const float *x, struct buf *own, uint32_t weight)
{
    uint32_t count = table_chunk_size(s, chunk);
    float factor = accum_factor(s, weight);

    if (a->sum == NULL) {
        CHECK(own != NULL && buf_size(own) == count * sizeof(float));
        a->sum = own;
        if (factor != 1.0f) {
            table_scale(accum_floats(a), factor, count);
        }
    } else {
        table_accum_densify(a, s, chunk);
        if (factor != 1.0f) {
            table_add_scaled(accum_floats(a), x, factor, count);
        } else {
            table_add(accum_floats(a), x, count);
        }
        buf_unref(own);
    }
    table_accum_count(a, s, weight);
}

void table_accum_add_rows(struct table_accum *a, const struct table_schema *s, uint32_t chunk,
                          const void *rows, uint32_t count, const float *x, uint32_t weight)
{
    uint32_t first = chunk * table_rows_per_chunk(s);
    float factor = accum_factor(s, weight);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = table_rows_get(rows, i) - first;
        float *to = accum_floats(a) + (size_t)row * s->width;
        const float *from = x + (size_t)i * s->width;

        if (a->touched != NULL && !accum_touch(a, row)) {
            memset(to, 0, s->width * sizeof(float));
        }
        table_add_scaled(to, from, factor, s->width);
    }
    table_accum_count(a, s, weight);
}

float table_accum_scale(enum table_combine combine, uint32_t weight)
{
    return combine == TABLE_SUM || weight == 0 ? 1.0f : 1.0f / (float)weight;
}

static float accum_scale(const struct table_accum *a, const struct table_schema *s, float share)
{
    float scale = table_accum_scale(s->combine, a->weight);

    table_scale(&scale, share, 1); /* Rounded as everything else here is. */
    return scale;
}

void table_accum_settle(struct table_accum *a, const struct table_schema *s, uint32_t chunk,
                        float share)
{
    table_accum_densify(a, s, chunk);
    table_scale(accum_floats(a), accum_scale(a, s, share), table_chunk_size(s, chunk));
    a->weight = 1;
}

/* Rows that follow each other are applied in one go. */
static uint32_t accum_apply_rows(const struct table_accum *a, const struct table_schema *s,
                                 uint32_t rows, uint64_t clock, float scale, float *values,
                                 float *state, float *held)
{
    uint32_t kept = 0;
    uint32_t r = table_accum_next_row(a, 0, rows);

    while (r < rows) {
        uint32_t end = r + 1;
        size_t at = (size_t)r * s->width;

        while (end < rows && accum_touched(a, end)) {
            end++;
        }
        kept += table_apply_run_tracked(&s->apply, clock, scale, values + at,
                                        state == NULL ? NULL : state + at, accum_floats(a) + at,
                                        held == NULL ? NULL : held + at, (end - r) * s->width);
        r = table_accum_next_row(a, end, rows);
    }
    return kept;
}

uint32_t table_accum_apply_tracked(const struct table_accum *a, const struct table_schema *s,
                                   uint32_t chunk, uint64_t clock, float share, float *values,
                                   float *state, float *held)
{
    uint32_t count = table_chunk_size(s, chunk);
    float scale = accum_scale(a, s, share);

    if (a->touched != NULL) {
        return accum_apply_rows(a, s, count / s->width, clock, scale, values, state, held);
    }
    return table_apply_run_tracked(&s->apply, clock, scale, values, state, accum_floats(a), held,
                                   count);
}

uint32_t table_accum_apply(const struct table_accum *a, const struct table_schema *s,
                           uint32_t chunk, uint64_t clock, float *values, float *state)
{
    return table_accum_apply_tracked(a, s, chunk, clock, 1, values, state, NULL);
}

void table_accum_clear(struct table_accum *a)
{
    buf_unref(a->sum);
    buf_unref(a->touched);
    *a = (struct table_accum){0};
}
