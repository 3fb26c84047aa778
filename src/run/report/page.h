/* The frame of the pages that we write for people: one file of HTML with everything in it, no
 * scripts, nothing from elsewhere. Light or dark as its reader wants it, for screens from 360
 * pixels on, and for paper. */

#ifndef RUN_REPORT_PAGE_H
#define RUN_REPORT_PAGE_H

#include "base/text.h"

#include <stdint.h>

enum { RUN_PAGE_BYTES_MAX = 8 << 20 };

/* Up to where the content begins, and behind it. @kind is what it is: "record of a run". */
void run_page_open(struct text *out, const char *kind, const char *title);
void run_page_close(struct text *out);

/* One figure; @more may be empty. */
void run_page_tile(struct text *out, const char *name, const char *value, const char *more);

/* A line of code that people type, and what it does. */
void run_page_command(struct text *out, const char *line, const char *what);

/* A dash and a colour for each of the series of a picture, with its name. */
void run_page_legend(struct text *out, const char *const *names, const uint32_t *styles,
                     uint32_t count);

/* The names of parts of bars, behind squares of their classes. */
void run_page_keys(struct text *out, const char *const *names, const char *const *styles,
                   uint32_t count);

/* Figures. */

/* Dollars with as many decimals as are needed for two digits: "$0.00014", "$12.35"; "no price" for
 * what is not finite. */
void run_page_usd(struct text *out, double usd);

/* "12 %", "0.4 %", "< 0.1 %"; "-" for what is not finite. @part is 0 to 1. */
void run_page_percent(struct text *out, double part);

#endif
