/* A small table for people: cells in columns that are as wide as they need to be. */

#ifndef CLI_OUTPUT_GRID_H
#define CLI_OUTPUT_GRID_H

#include "base/text.h"
#include "cli/command/context.h"

enum { GRID_COLUMNS_MAX = 8 };

struct grid {
    const char *sides; /* Of each column 'l' or 'r': where its cells are. */
    struct text cells; /* Row by row, each ends with a zero byte; the first row is the heading. */
};

MUST_USE enum err grid_init(struct grid *g, const char *sides);
void grid_deinit(struct grid *g);

/* The next cell. */
void grid_add(struct grid *g, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Print all rows, indented by two columns. What did not fit into memory is said. */
void grid_print(struct cli_context *ctx, const struct grid *g);

/* Columns that @chars, which are UTF-8, take on a terminal. */
size_t grid_width(const char *chars);

#endif
