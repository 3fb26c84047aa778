/* Quantities in scripts: "100mbit", "40ms", "64KiB", "10%". Exact decimal arithmetic, no floats.
 *
 * A quantity is a decimal number (digits, perhaps a point and more digits; no sign, no exponent)
 * directly followed by its unit, in the spelling of the table of units in units.c. What is not a
 * whole number of the result's unit is rounded to the nearest one, halves up, but never to zero.
 * Zero needs no unit. */

#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "base/err.h"

#include <stdint.h>

enum {
    UNITS_DIGITS_MAX = 25,       /* Of a number, without leading zeros; and behind the point. */
    UNITS_TEXT_BYTES = 48,       /* Room for every printed quantity. */
    UNITS_PPM_MAX = 1000 * 1000, /* 100 %. */
};

struct units_text {
    char chars[UNITS_TEXT_BYTES];
};

/* ERR_MALFORMED if @chars is not a number with one of the units, ERR_TOO_BIG if the result does not
 * fit; @text (may be NULL) then says what is wrong and which units there are. */

/* Bytes per second: bit kbit mbit gbit tbit, B/s kB/s MB/s GB/s TB/s, KiB/s MiB/s GiB/s TiB/s. */
MUST_USE enum err units_rate_parse(const char *chars, uint64_t *bytes_per_s_out,
                                   struct err_text *text);

/* Nanoseconds: ns us ms s min h. */
MUST_USE enum err units_time_parse(const char *chars, int64_t *ns_out, struct err_text *text);

/* Bytes: no unit or B, kB MB GB TB, KiB MiB GiB TiB. */
MUST_USE enum err units_size_parse(const char *chars, uint64_t *bytes_out, struct err_text *text);

/* Parts per million, from 0 % to 100 %. */
MUST_USE enum err units_percent_parse(const char *chars, uint32_t *ppm_out, struct err_text *text);

/* Print what parses to the same value again, in the largest unit that is not above it: a rate in
 * bits, a size in the unit of which it is a whole number. Return @out's characters. */
const char *units_rate_print(uint64_t bytes_per_s, struct units_text *out);
const char *units_time_print(int64_t ns, struct units_text *out); /* Not negative. */
const char *units_size_print(uint64_t bytes, struct units_text *out);
const char *units_percent_print(uint32_t ppm, struct units_text *out);

#endif
