#include "client/rows.h"

#include "base/mem.h"
#include "table/kernel.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { ROWS_DIGIT_BITS = 11, ROWS_DIGITS = 1 << ROWS_DIGIT_BITS };

/* A row and where it was named. */
struct rows_pair {
    uint32_t row;
    uint32_t place;
};

/* Are all of them in the table? And in order already? */
static enum err rows_check(const int64_t *rows, uint64_t count, uint64_t rows_max, bool *ascends,
                           struct err_text *text)
{
    *ascends = true;
    for (uint64_t i = 0; i < count; i++) {
        if (rows[i] < 0 || (uint64_t)rows[i] >= rows_max) {
            return err_text_set(text, ERR_INVALID,
                                "row %" PRId64 " (number %" PRIu64
                                " of the list, from 0) is not in the table of %" PRIu64 " rows",
                                rows[i], i, rows_max);
        }
        *ascends = *ascends && (i == 0 || rows[i] > rows[i - 1]);
    }
    return OK;
}

/* One pass of a radix sort, from @from to @to: stable, by the digit at @shift. */
static void rows_pass(const struct rows_pair *from, struct rows_pair *to, uint32_t count,
                      uint32_t shift)
{
    uint32_t starts[ROWS_DIGITS] = {0};
    uint32_t sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        starts[from[i].row >> shift & (ROWS_DIGITS - 1)]++;
    }
    for (uint32_t d = 0; d < ROWS_DIGITS; d++) {
        uint32_t many = starts[d];

        starts[d] = sum;
        sum += many;
    }
    for (uint32_t i = 0; i < count; i++) {
        to[starts[from[i].row >> shift & (ROWS_DIGITS - 1)]++] = from[i];
    }
}

/* Sort by row; rows that are equal stay in the order of their places. Returns @a or @b. */
static struct rows_pair *rows_sort(struct rows_pair *a, struct rows_pair *b, uint32_t count,
                                   uint64_t rows_max)
{
    for (uint32_t shift = 0; shift < 32 && rows_max > UINT64_C(1) << shift;
         shift += ROWS_DIGIT_BITS) {
        struct rows_pair *sorted = b;

        rows_pass(a, b, count, shift);
        b = a;
        a = sorted;
    }
    return a;
}

/* Each row once, and for each place which one that is. */
static void rows_unique(struct client_rows *r, const struct rows_pair *sorted)
{
    r->count = 0;
    for (uint32_t i = 0; i < r->named; i++) {
        if (i == 0 || sorted[i].row != sorted[i - 1].row) {
            r->rows[r->count++] = sorted[i].row;
        }
        r->places[sorted[i].place] = r->count - 1;
    }
}

static enum err rows_order(struct client_rows *r, const int64_t *rows, uint64_t rows_max)
{
    struct rows_pair *pairs = mem_calloc(r->named, 2 * sizeof(*pairs));

    r->rows = mem_calloc(r->named, sizeof(*r->rows));
    r->places = mem_calloc(r->named, sizeof(*r->places));
    if (pairs == NULL || r->rows == NULL || r->places == NULL) {
        mem_free(pairs);
        client_rows_deinit(r);
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < r->named; i++) {
        pairs[i] = (struct rows_pair){(uint32_t)rows[i], i};
    }
    rows_unique(r, rows_sort(pairs, pairs + r->named, r->named, rows_max));
    mem_free(pairs);
    return OK;
}

enum err client_rows_init(struct client_rows *r, const int64_t *rows, uint64_t count,
                          uint64_t rows_max, struct err_text *text)
{
    bool ascends;
    enum err rc;

    *r = (struct client_rows){.named = (uint32_t)count};
    if (count > UINT32_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%" PRIu64 " rows in one call: at most 2^32 - 1",
                            count);
    }
    rc = rows_check(rows, count, rows_max, &ascends, text);
    if (rc != OK) {
        return rc;
    }
    if (!ascends) {
        return rows_order(r, rows, rows_max);
    }
    r->rows =
        count <= sizeof(r->few) / sizeof(r->few[0]) ? r->few : mem_calloc(count, sizeof(*r->rows));
    if (r->rows == NULL) {
        return ERR_NOMEM;
    }
    r->count = r->named;
    for (uint32_t i = 0; i < r->count; i++) {
        r->rows[i] = (uint32_t)rows[i];
    }
    return OK;
}

void client_rows_deinit(struct client_rows *r)
{
    if (r->rows != r->few) {
        mem_free(r->rows);
    }
    mem_free(r->places);
    r->rows = NULL;
    r->places = NULL;
}

void client_rows_move(struct client_rows *to, struct client_rows *from)
{
    *to = *from;
    if (from->rows == from->few) {
        to->rows = to->few;
    }
    *from = (struct client_rows){0};
}

void client_rows_spread(const struct client_rows *r, const float *values, uint32_t width,
                        float *out)
{
    for (uint32_t i = 0; i < r->named; i++) {
        memcpy(out + (size_t)i * width, values + (size_t)r->places[i] * width,
               width * sizeof(float));
    }
}

void client_rows_gather(const struct client_rows *r, const float *values, uint32_t width,
                        float *out)
{
    for (uint32_t i = 0; i < r->named; i++) {
        table_add(out + (size_t)r->places[i] * width, values + (size_t)i * width, width);
    }
}
