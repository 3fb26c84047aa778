/* Figures as people read them, for every view and page: bytes, times, numbers. */

#ifndef BASE_FIGURE_H
#define BASE_FIGURE_H

#include "base/text.h"

#include <stdint.h>

/* "1.23 MB"; 10^3 bytes are a kB. */
void figure_bytes(uint64_t bytes, struct text *out);

/* "250 ms", "12.3 s", "3 min 04 s", "5 h 20 min". */
void figure_time(double seconds, struct text *out);

/* Four digits, or "not a number" or "infinite": for what has been computed. */
void figure_value(double value, struct text *out);

/* Four digits, or "-" for what is not finite: for what may not be known. */
void figure_number(double value, struct text *out);

#endif
