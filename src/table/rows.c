/* Rows that follow each other are one stretch of elements: a dense list costs as much as the same
 * elements of a whole chunk. */

#include "table/rows.h"

#include "base/bytes.h"
#include "base/rounding.h"
#include "table/loops.h"

#include <string.h>

uint32_t table_rows_get(const void *rows, uint32_t index)
{
    return bytes_load32((const uint8_t *)rows + (size_t)4 * index);
}

/* The first row of @chunk, and how many it has. */
static uint64_t rows_of_chunk(const struct table_schema *s, uint32_t chunk, uint32_t *count_out)
{
    *count_out = table_chunk_size(s, chunk) / s->width;
    return (uint64_t)chunk * table_rows_per_chunk(s);
}

uint32_t table_rows_run(const struct table_schema *s, const void *rows, uint32_t count)
{
    uint32_t each = table_rows_per_chunk(s);
    uint64_t end;
    uint32_t low = 1, high = count;

    CHECK(count > 0);
    end = ((uint64_t)table_rows_get(rows, 0) / each + 1) * each;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (table_rows_get(rows, middle) < end) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool table_rows_valid(const struct table_schema *s, uint32_t chunk, const void *rows,
                      uint32_t count)
{
    uint32_t in_chunk;
    uint64_t first;

    if (!table_has_rows(s) || chunk >= table_chunk_count(s)) {
        return false;
    }
    if (count == 0) {
        return true;
    }
    for (uint32_t i = 1; i < count; i++) {
        if (table_rows_get(rows, i) <= table_rows_get(rows, i - 1)) {
            return false;
        }
    }
    first = rows_of_chunk(s, chunk, &in_chunk);
    return table_rows_get(rows, 0) >= first && table_rows_get(rows, count - 1) < first + in_chunk;
}

/* Walks the list, one stretch of rows that follow each other at a time. */
struct rows_walk {
    const void *rows;
    uint32_t count;
    uint32_t width;
    uint64_t first;    /* Row of the chunk. */
    uint32_t in_chunk; /* Rows of the chunk. */
    uint32_t next;     /* In the list. */
    /* The stretch, in elements: where it starts in the list's rows and in the chunk, and its size.
     */
    size_t from;
    size_t at;
    uint32_t size;
};

static struct rows_walk rows_walk_start(const struct table_schema *s, uint32_t chunk,
                                        const void *rows, uint32_t count)
{
    struct rows_walk walk = {.rows = rows, .count = count, .width = s->width};

    walk.first = rows_of_chunk(s, chunk, &walk.in_chunk);
    return walk;
}

static bool rows_walk_step(struct rows_walk *walk)
{
    uint32_t start = walk->next, length = 1;
    uint64_t at;

    if (start == walk->count) {
        return false;
    }
    at = (uint64_t)table_rows_get(walk->rows, start) - walk->first;
    while (start + length < walk->count &&
           table_rows_get(walk->rows, start + length) == walk->first + at + length) {
        length++;
    }
    CHECK(at < walk->in_chunk && length <= walk->in_chunk - at);
    walk->next = start + length;
    walk->from = (size_t)start * walk->width;
    walk->at = (size_t)at * walk->width;
    walk->size = length * walk->width;
    return true;
}

void table_rows_add(const struct table_schema *s, uint32_t chunk, const void *rows, uint32_t count,
                    float scale, const float *x, float *sum)
{
    struct rows_walk walk = rows_walk_start(s, chunk, rows, count);
    const struct table_loops *loops = table_loops_best();
    unsigned mode = rounding_enter();

    while (rows_walk_step(&walk)) {
        loops->add_scaled(sum + walk.at, x + walk.from, scale, walk.size);
    }
    rounding_leave(mode);
}

bool table_rows_add_checked(const struct table_schema *s, uint32_t chunk, const void *rows,
                            uint32_t count, float scale, const float *x, float *sum)
{
    struct rows_walk walk = rows_walk_start(s, chunk, rows, count);
    const struct table_loops *loops = table_loops_best();
    unsigned mode = rounding_enter();
    bool finite = true;

    while (finite && rows_walk_step(&walk)) {
        finite = loops->sum_finite(sum + walk.at, x + walk.from, scale, walk.size);
    }
    rounding_leave(mode);
    if (finite) {
        table_rows_add(s, chunk, rows, count, scale, x, sum);
    }
    return finite;
}

void table_rows_gather(const struct table_schema *s, uint32_t chunk, const void *rows,
                       uint32_t count, const float *values, float *out)
{
    struct rows_walk walk = rows_walk_start(s, chunk, rows, count);

    while (rows_walk_step(&walk)) {
        memcpy(out + walk.from, values + walk.at, walk.size * sizeof(*out));
    }
}
