/* How a table starts. Every element is a function of the seed and of its place in the table, so all
 * servers and workers make the same values whatever part of it they hold. The same bits on every
 * machine: nothing but operations that IEEE 754 rounds exactly. */

#ifndef TABLE_INIT_H
#define TABLE_INIT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum table_init_kind {
    TABLE_INIT_ZEROS,
    TABLE_INIT_CONSTANT,
    TABLE_INIT_UNIFORM,
    TABLE_INIT_NORMAL,
};

enum {
    TABLE_INIT_KINDS = TABLE_INIT_NORMAL + 1,
    TABLE_INIT_TEXT_BYTES = 96, /* Room for every printed init. */
};

/* The largest half width or deviation: nothing drawn is beyond a float. */
#define TABLE_INIT_SPREAD_MAX 1e30F

struct table_init {
    enum table_init_kind kind;
    float value;   /* The constant; half the width of the uniform; the deviation of the normal. */
    uint64_t seed; /* Zero: one made of the table's name. */
};

/* "zeros", "constant 0.5", "uniform 0.1" (-0.1 to 0.1), "normal 0.02", each with an optional
 * "seed=7" at the end. ERR_INVALID with a text that names the bad word and what is allowed. */
MUST_USE enum err table_init_parse(const char *in, struct table_init *out, struct err_text *text);

/* The same as text: parsing it gives the same. @size is at least TABLE_INIT_TEXT_BYTES. */
void table_init_print(const struct table_init *init, char *out, size_t size);

MUST_USE bool table_init_equal(const struct table_init *a, const struct table_init *b);

/* Fill @count elements that start at element @first of the table. @seed_of_name is hash_text() of
 * the table's name. */
void table_init_fill(const struct table_init *init, uint64_t seed_of_name, uint64_t first,
                     float *out, uint32_t count);

#endif
