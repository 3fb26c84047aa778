/* A walk through the lines of a data file: numbers and separators, and errors that say where.
 *
 * Locales do not matter, and nothing outside the bytes is read. Lines end with \n or \r\n; blank
 * ones are passed over, as is the mark of UTF-8 at the beginning. */

#ifndef APP_SCAN_H
#define APP_SCAN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* May be copied, to look ahead. .line may be read; the rest is private. */
struct scan {
    const char *name; /* Of the file, for errors. */
    uint64_t line;    /* The current one, from 1. */
    const char *at;
    const char *line_end;
    const char *next;
    const char *end;
    struct err_text *text; /* May be NULL. */
};

/* The bytes and the name are borrowed. Call scan_line() before all else. */
void scan_init(struct scan *s, const char *name, const void *bytes, size_t size,
               struct err_text *text);

/* Go to the next line that is not blank, before its first character that is no space; false at the
 * end of the file. */
bool scan_line(struct scan *s);

/* Pass over spaces and tabs; return whether there were any. */
bool scan_spaces(struct scan *s);

/* Pass over spaces and return whether the line ends there. */
bool scan_at_end(struct scan *s);

/* Take @word if it is next. */
bool scan_word(struct scan *s, const char *word);

/* Pass over the rest of the line. */
void scan_skip(struct scan *s);

/* Take a whole number from @min to @max: digits only. ERR_MALFORMED: "expected @what, a whole
 * number from @min to @max". */
MUST_USE enum err scan_u64(struct scan *s, const char *what, uint64_t min, uint64_t max,
                           uint64_t *out);

/* Take a number such as -12, 0.5 or 1e-3 that a float can hold. The value is within two units in
 * the last place of double. */
MUST_USE enum err scan_double(struct scan *s, const char *what, double *out);

/* Fail with ERR_MALFORMED: "NAME:LINE: " and the message; and "expected @what, found" what is
 * there. */
enum err scan_error(const struct scan *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
enum err scan_expected(const struct scan *s, const char *what);

/* The same numbers, alone in a text. */
bool scan_text_u64(const char *chars, uint64_t *out);
bool scan_text_double(const char *chars, double *out);

#endif
