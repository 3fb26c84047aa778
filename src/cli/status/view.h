/* How a running site looks: two reports of cli/status/status.h and the time between them in, a
 * screen, a line or an object out. Pure. */

#ifndef CLI_STATUS_VIEW_H
#define CLI_STATUS_VIEW_H

#include "base/text.h"

#include <jansson.h>

struct status_view {
    const json_t *before; /* NULL: there is none, and no rates. */
    const json_t *now;    /* With a status of lane 0. */
    double seconds;       /* Between the two. */
    const char *time;     /* "12:01:22"; for people. */
    int width;            /* Columns; lines are cut. */
    int height;           /* Lines at most. */
    bool color;
};

/* A screen of lines, each ending in a newline. */
void view_screen(const struct status_view *v, struct text *out);

/* All of it in one line, with its newline. */
void view_line(const struct status_view *v, struct text *out);

/* Clock, rates, progress, members, reasons to wait. NULL: no memory. */
json_t *view_json(const struct status_view *v);

#endif
