/* Rows as applications name them, in any order and more than once, made into what the worker wants:
 * ascending, each once. Pure. */

#ifndef CLIENT_ROWS_H
#define CLIENT_ROWS_H

#include "base/err.h"

#include <stdint.h>

/* Zeroed: none. Fields are for reading. */
struct client_rows {
    uint32_t *rows; /* Ascending strictly. */
    uint32_t count; /* Of them. */
    uint32_t
        *places;    /* For each row as it was named: its index in .rows. NULL: it was so before. */
    uint32_t named; /* How many were named. */
    uint32_t few[16]; /* Where .rows is if it is short and needs no order. */
};

/* ERR_INVALID with @text if one is not in a table of @rows_max rows; ERR_TOO_BIG beyond what one
 * call takes; ERR_NOMEM. May not be copied. */
MUST_USE enum err client_rows_init(struct client_rows *r, const int64_t *rows, uint64_t count,
                                   uint64_t rows_max, struct err_text *text);

void client_rows_deinit(struct client_rows *r);

/* @to, which holds none, gets them; @from holds none from now on. */
void client_rows_move(struct client_rows *to, struct client_rows *from);

/* Spread @values, one row of @width after the other as in .rows, to the order that was named. */
void client_rows_spread(const struct client_rows *r, const float *values, uint32_t width,
                        float *out);

/* Add up @values as they were named to one row each, in the order of naming. @out is zeroed. */
void client_rows_gather(const struct client_rows *r, const float *values, uint32_t width,
                        float *out);

#endif
