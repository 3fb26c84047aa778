/* Figures as people read them, for all views: bytes, times, numbers, bars. */

#ifndef CLI_FIGURE_H
#define CLI_FIGURE_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Does the terminal take UTF-8, as far as the environment says? */
bool figure_utf8(void);

/* "1.23 MB"; 10^3 bytes are a kB. */
void figure_bytes(uint64_t bytes, struct text *out);

/* "250 ms", "12.3 s", "3 min 04 s", "5 h 20 min". */
void figure_time(double seconds, struct text *out);

/* Four digits, or "-" for what is not finite. */
void figure_number(double value, struct text *out);

/* @part of @cells is full; the rest is empty cells. */
void figure_bar(double part, int cells, bool utf8, struct text *out);

/* The same without the rest, and to an eighth of a cell: never nothing, unless @part is not above
 * zero. */
void figure_length(double part, int cells, bool utf8, struct text *out);

#endif
