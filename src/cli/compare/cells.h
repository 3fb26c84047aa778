/* What came out of the cells of a set (run/suite/cells.h): figures beside those of a paper, as a
 * table, a picture and a page. All of it is pure; compare/cells.c does the running. */

#ifndef CLI_COMPARE_CELLS_H
#define CLI_COMPARE_CELLS_H

#include "cli/compare/compare.h"
#include "run/suite/cells.h"

enum { COMPARE_CELLS_FILE_BYTES = 64 };

enum compare_cell_state {
    COMPARE_CELL_WAITS,  /* It has not begun, or was not asked for. */
    COMPARE_CELL_DONE,   /* There is something of every run, be it that it failed. */
    COMPARE_CELL_CUT,    /* Somebody ended it. */
    COMPARE_CELL_FAILED, /* There is no goal, so nothing can be compared; .why says why. */
};

struct compare_cell {
    const struct run_cell *cell;
    bool chosen;
    enum compare_cell_state state;
    struct compare *c; /* NULL: nothing is known. */
    struct err_text why;
};

struct compare_cells {
    const struct run_cells *set;
    char dir[COMPARE_PATH_BYTES];
    struct compare_cell cells[RUN_CELLS_MAX];
    uint32_t count;
};

/* What the figure shows of a run; NaN: it did not get there, or nobody knows. */
double compare_cells_value(const struct compare_cells *s, const struct run_cells_figure *f,
                           uint32_t cell, uint32_t run);

/* The same by the paper's figure, or by the nearer end of its range (1 within it), and by the same
 * run of the cell's twin. NaN: there is none. */
double compare_cells_by_paper(const struct compare_cells *s, const struct run_cells_figure *f,
                              uint32_t cell, uint32_t run);
double compare_cells_by_twin(const struct compare_cells *s, const struct run_cells_figure *f,
                             uint32_t cell, uint32_t run);

/* The value as people read it, "-" for NaN; and what all values of a figure are, as words. */
void compare_cells_say(enum run_cells_show show, double value, struct text *out);
void compare_cells_say_paper(enum run_cells_show show, const struct run_cells_paper *paper,
                             struct text *out);
void compare_cells_say_show(const struct compare_cells *s, const struct run_cells_figure *f,
                            struct text *out);

/* How the run ended, and what its value is by unless that is the base. */
void compare_cells_say_end(const struct compare_cells *s, const struct run_cells_figure *f,
                           uint32_t cell, uint32_t run, struct text *out);

/* Of a cell that has no table: why. Empty: it has one. */
void compare_cells_say_state(const struct compare_cell *cell, struct text *out);

/* Is there something of the cell in the figure: a run, or why there is none? */
bool compare_cells_has(const struct compare_cells *s, const struct run_cells_figure *f,
                       uint32_t cell);

/* "set.csv" for @end "csv", "set-NAME.csv" if the figure is not the first. */
void compare_cells_file(const struct compare_cells *s, const struct run_cells_figure *f,
                        const char *end, char out[COMPARE_CELLS_FILE_BYTES]);

/* The table (compare/cells_view.c). All figures in one CSV have a column with their names, unless
 * there is only one. @json: NULL: no memory. */
void compare_cells_view(const struct compare_cells *s, const struct run_cells_figure *f, bool color,
                        struct text *out);
void compare_cells_csv(const struct compare_cells *s, const struct run_cells_figure *f,
                       struct text *out);
void compare_cells_csv_all(const struct compare_cells *s, struct text *out);
json_t *compare_cells_json(const struct compare_cells *s);

/* Bars for every run of every cell, with marks where the paper has a figure (compare/cells_svg.c):
 * for a page, whose style it has, or as a file of its own. */
void compare_cells_svg(const struct compare_cells *s, const struct run_cells_figure *f, bool alone,
                       struct text *out);

/* The page (compare/cells_page.c). */
void compare_cells_page(const struct compare_cells *s, struct text *out);

#endif
