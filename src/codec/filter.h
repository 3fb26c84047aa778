/* What of a chunk is significant, and so is sent to the other sites now (G3, G4, G8). The rest is
 * held back and adds up until it is.
 *
 * @held is what was added to a chunk's values since it was last sent; @values are those now, after
 * the updates. Both are finite. An element is significant if its significance is above (not at) the
 * threshold t. Floats that are compared were rounded as the formulas below say.
 *
 *   relative  |held / value|, computed as |held| > t * |value|, the product rounded: with a value
 *             of 0 everything is significant; with a product that overflows nothing is
 *   absolute  |held|
 *   row-norm  ||held|| / ||value|| of a row, computed as sum(held^2) > t^2 * sum(value^2) in
 *             double, where squares are exact; in which order the sums are made is in codec/loops.h
 *   product   of tables of one shape that are used as a * b * c: |P1 - P0| > t * |P1| in double,
 *             where P1 is the product of the values now and P0 the product of all (value - held):
 *             this table's first, then its partners' in their order. A partner that is and was 0
 *             makes a change insignificant
 *   custom    as the program's own function says; NaN is insignificant
 *
 * Nothing held (0 or -0.0) is never significant, and never goes.
 *
 * By row, a row is as significant as its most significant element, and all of it goes that is not
 * zero. Rows are counted from the chunk's first element; what is left at its end, if the width does
 * not divide its elements, is a row too. */

#ifndef CODEC_FILTER_H
#define CODEC_FILTER_H

#include "codec/sparse.h"

enum codec_measure {
    CODEC_RELATIVE,
    CODEC_ABSOLUTE,
    CODEC_ROW_NORM,
    CODEC_PRODUCT,
    CODEC_CUSTOM,
    CODEC_MEASURES,
};

enum codec_grain {
    CODEC_ELEMENT,
    CODEC_ROW,
    CODEC_GRAINS,
};

enum {
    CODEC_PRODUCT_MIN = 2,         /* Tables of a product. */
    CODEC_PRODUCT_MAX = 4,         /* So that no product of floats leaves the range of a double. */
    CODEC_TABLE_BYTES = 32,        /* A table's name, with its end. */
    CODEC_FILTER_TEXT_BYTES = 160, /* Room for every printed measure. */
};

#define CODEC_THRESHOLD_MAX 1e6F

/* Write the significance of @count elements. Rows of @width; @count is a whole chunk's. It is
 * called on the thread of the lane that owns the chunk, and must not keep the pointers. */
typedef void codec_measure_fn(const float *values, const float *held, uint32_t count,
                              uint32_t width, float *significance, void *user);

/* Zeroed: relative, by element. A custom measure that was read has a name but no function: whoever
 * knows where it is puts it in. */
struct codec_filter {
    enum codec_measure measure;
    enum codec_grain grain;
    uint32_t tables_count; /* Of a product, else zero. */
    char tables[CODEC_PRODUCT_MAX][CODEC_TABLE_BYTES];
    char name[CODEC_TABLE_BYTES]; /* Of a custom one, else empty. */
    codec_measure_fn *custom;
    void *user;
};

/* The same chunk of another table of a product. */
struct codec_partner {
    const float *values;
    const float *held;
};

struct codec_chunk {
    const float *values;
    float *held;
    uint32_t elements;
    uint32_t width;
    uint32_t partners_count; /* Of a product: one less than it has tables. */
    struct codec_partner partners[CODEC_PRODUCT_MAX - 1];
};

/* @measure is "relative", "absolute", "row-norm", "product TABLE TABLE ..." or "custom NAME"; NULL:
 * relative.
 * @grain is "element" or "row"; NULL: element, or row for row-norm, which has no other. ERR_INVALID
 * with a text that names the bad word and what is allowed. */
MUST_USE enum err codec_filter_parse(const char *measure, const char *grain,
                                     struct codec_filter *out, struct err_text *text);

/* The measure as people write it. @size is at least CODEC_FILTER_TEXT_BYTES. */
void codec_filter_print(const struct codec_filter *filter, char *out, size_t size);

const char *codec_measure_name(enum codec_measure measure);
const char *codec_grain_name(enum codec_grain grain);

MUST_USE bool codec_filter_equal(const struct codec_filter *a, const struct codec_filter *b);

/* Where @table is in a product, or .tables_count. */
uint32_t codec_filter_find(const struct codec_filter *filter, const char *table);

/* A threshold is finite, at least 0 and at most CODEC_THRESHOLD_MAX. Else ERR_INVALID with a text
 * that calls it @what. */
MUST_USE enum err codec_threshold_check(const char *what, double v, struct err_text *text);

/* The threshold at @clock: v / sqrt(clock). Clocks count from 1; zero counts as 1. In double, by a
 * square root and a division, which IEEE 754 rounds exactly; then rounded to a float. */
float codec_threshold(float v, uint64_t clock);

/* Take what is significant out of @chunk->held (zero is left there) and write it to @out as
 * codec_pack() does. What was written plus what is held now is what was held before, bit for bit.
 * @threshold is at least 0. */
void codec_select(const struct codec_filter *filter, const struct codec_chunk *chunk,
                  float threshold, void *out, struct codec_packed *packed);

#endif
