/* The short texts in which people write appliers and initial values: words between spaces, numbers
 * in them. The point of a number is '.', whatever the locale of the process is. */

#ifndef TABLE_SPEC_H
#define TABLE_SPEC_H

#include "base/err.h"

#include <stdint.h>

enum {
    TABLE_SPEC_BYTES = 256, /* Of a text, with its end. */
    TABLE_SPEC_WORDS_MAX = 16,
    TABLE_SPEC_NUMBER_BYTES = 32, /* Room for every printed number. */
};

/* The words are in .chars: do not copy. */
struct table_spec {
    uint32_t count; /* Not zero. */
    char *words[TABLE_SPEC_WORDS_MAX];
    char chars[TABLE_SPEC_BYTES];
};

/* Split @in. ERR_INVALID if there is no word, or more or longer ones than anything needs. */
MUST_USE enum err table_spec_split(const char *in, struct table_spec *out);

/* Return where @name is in @names, or @count. */
uint32_t table_spec_find(const char *const *names, uint32_t count, const char *name);

/* A decimal number, perhaps with an exponent; ERR_INVALID if there is anything else, or if a float
 * cannot hold it. */
MUST_USE enum err table_spec_float(const char *chars, float *out);

/* A whole number up to @max: digits only. */
MUST_USE enum err table_spec_whole(const char *chars, uint64_t max, uint64_t *out);

/* Print the shortest text that table_spec_float() reads as @value, which is finite. Returns @out,
 * of TABLE_SPEC_NUMBER_BYTES. */
char *table_spec_print(float value, char *out);

#endif
