#include "cli/output/grid.h"

#include <stdarg.h>
#include <string.h>

enum { GRID_BYTES_MAX = 4 << 20, GRID_CELL_BYTES = 4096 };

enum err grid_init(struct grid *g, const char *sides)
{
    CHECK(strlen(sides) <= GRID_COLUMNS_MAX);
    *g = (struct grid){.sides = sides};
    return text_init(&g->cells, GRID_BYTES_MAX);
}

void grid_deinit(struct grid *g)
{
    text_deinit(&g->cells);
}

void grid_add(struct grid *g, const char *fmt, ...)
{
    char cell[GRID_CELL_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(cell, sizeof(cell), fmt, args);
    va_end(args);
    text_add_bytes(&g->cells, cell, strlen(cell) + 1);
}

size_t grid_width(const char *chars)
{
    size_t columns = 0;

    for (; *chars != '\0'; chars++) {
        columns += ((unsigned char)*chars & 0xC0) != 0x80;
    }
    return columns;
}

static void grid_measure(const struct grid *g, size_t *widths)
{
    size_t columns = strlen(g->sides), i = 0;

    for (size_t at = 0; at < g->cells.size; at += strlen(g->cells.chars + at) + 1, i++) {
        size_t width = grid_width(g->cells.chars + at);

        if (width > widths[i % columns]) {
            widths[i % columns] = width;
        }
    }
}

/* Nothing follows the last cell of a row. */
static void grid_print_cell(struct cli_context *ctx, const struct grid *g, const char *cell,
                            size_t index, size_t width)
{
    size_t columns = strlen(g->sides);
    size_t column = index % columns;
    int rest = (int)(width - grid_width(cell));
    bool last = column + 1 == columns;
    bool right = g->sides[column] == 'r';

    cli_out(ctx, "  %*s%s%s%s%*s%s", right ? rest : 0, "",
            index < columns ? cli_style(ctx->color_out, CLI_FAINT) : "", cell,
            index < columns ? cli_style(ctx->color_out, CLI_PLAIN) : "", right || last ? 0 : rest,
            "", last ? "\n" : "");
}

void grid_print(struct cli_context *ctx, const struct grid *g)
{
    size_t widths[GRID_COLUMNS_MAX] = {0};
    size_t columns = strlen(g->sides), i = 0;

    grid_measure(g, widths);
    for (size_t at = 0; at < g->cells.size; at += strlen(g->cells.chars + at) + 1, i++) {
        grid_print_cell(ctx, g, g->cells.chars + at, i, widths[i % columns]);
    }
    if (g->cells.failed || i % columns != 0) {
        cli_note(ctx, "there was no memory for the whole table");
    }
}
