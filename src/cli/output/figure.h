/* Figures as people read them on a terminal: those of base/figure.h, and bars. */

#ifndef CLI_OUTPUT_FIGURE_H
#define CLI_OUTPUT_FIGURE_H

#include "base/figure.h"

#include <stdbool.h>

/* Does the terminal take UTF-8, as far as the environment says? */
bool figure_utf8(void);

/* @part of @cells is full; the rest is empty cells. */
void figure_bar(double part, int cells, bool utf8, struct text *out);

/* The same without the rest, and to an eighth of a cell: never nothing, unless @part is not above
 * zero. */
void figure_length(double part, int cells, bool utf8, struct text *out);

#endif
