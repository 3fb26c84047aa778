/* How a run looks: a picture of it in, a screen, a line or a table out. Pure. */

#ifndef CLI_RUN_VIEW_H
#define CLI_RUN_VIEW_H

#include "base/text.h"
#include "run/backend.h"

struct run_view {
    int width; /* Columns; lines of a screen are cut. */
    bool color;
    bool utf8; /* Blocks for bars and curves; else plain characters. */
    const struct run_picture *picture;
    /* Of the picture before, for rates; zero seconds: none. */
    double seconds;
    uint64_t clock_before;
    uint64_t bytes_before;
    const uint64_t *links_before; /* As .bytes of its traffic; NULL: not known. */
    const char *news;             /* What happened last; empty: nothing. */
};

/* A few lines that are drawn over the last ones. Each ends in a newline. */
void run_view_screen(const struct run_view *v, struct text *out);

/* All of it in one line, without a newline. */
void run_view_line(const struct run_view *v, struct text *out);

/* What came out, for the end. */
void run_view_table(const struct run_view *v, const struct run_result *result, struct text *out);

/* How it ended, as a sentence: "all 100 clocks, after 28.9 s of virtual time". */
void run_view_end(const struct run_picture *p, const struct run_result *result, struct text *out);

#endif
