/* rows: sparse access. Push some rows of a table, ask for some, get their values.
 *
 *     u32 count | u16 width | u16 flags (zero) | count u32 row numbers      (pull ends here)
 *     | zeros up to a multiple of 64 | values | identity of the update (push only)
 *
 * Row numbers ascend strictly: a client sums what it has for the same row before it sends, and the
 * order of addition is the same everywhere. Values of raw float32 are count * width of them, row
 * after row, aligned as the body is. */

#ifndef WIRE_ROWS_H
#define WIRE_ROWS_H

#include "wire/push.h"

enum { WIRE_ROWS_MAX = 65536 };

/* Views into the body: borrowed. */
struct wire_rows {
    uint16_t table;
    uint16_t codec; /* Of the values; zero in a pull. */
    uint32_t epoch;
    uint32_t origin;
    uint32_t weight; /* Push: samples, not zero; else zero. */
    uint64_t clock;
    uint32_t chunk;           /* All rows are in this one: it decides the way of the frame. */
    uint32_t count;           /* 1 to WIRE_ROWS_MAX. */
    uint16_t width;           /* Elements of a row, not zero. */
    const void *rows;         /* Numbers, 4 bytes each: read by wire_rows_row(). */
    const uint8_t *values;    /* NULL in a pull. */
    uint32_t values_bytes;    /* At most count * width * 4; just that for raw float32. */
    struct wire_update_id id; /* Push only. */
};

/* Return the @index-th row number. */
uint32_t wire_rows_row(const struct wire_rows *rows, uint32_t index);

/* Make a sealed frame of WIRE_ROWS_PUSH, WIRE_ROWS_PULL or WIRE_ROWS_VALUES; rows->rows is an array
 * of uint32_t. ERR_TOO_BIG if it does not fit a data frame: split it. */
MUST_USE enum err wire_rows_encode(struct buf_pool *pool, enum wire_type type,
                                   const struct wire_rows *rows, struct buf **frame_out);

/* Decode either of the three, by header->type. */
MUST_USE enum err wire_rows_decode(const struct wire_header *header, const uint8_t *body,
                                   size_t size, struct wire_rows *out);

#endif
