/* Quantities are parsed to (digits, decimals), multiplied by their unit's fraction in 128 bits and
 * divided once: exact until the one rounding at the end. */

#include "base/units.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 units_wide;

/* One of the unit is @num / @den of the result's unit. */
struct units_unit {
    const char *name;
    uint64_t num;
    uint32_t den;
};

struct units_kind {
    const char *what;    /* "a rate" */
    const char *example; /* "100mbit" */
    const char *list;    /* The units, for people. */
    uint64_t max;
    const struct units_unit *units; /* Ends with a NULL name; the order is that of printing. */
};

#define UNITS_K UINT64_C(1000)
#define UNITS_M UINT64_C(1000000)
#define UNITS_G UINT64_C(1000000000)
#define UNITS_T UINT64_C(1000000000000)
#define UNITS_KI (UINT64_C(1) << 10)
#define UNITS_MI (UINT64_C(1) << 20)
#define UNITS_GI (UINT64_C(1) << 30)
#define UNITS_TI (UINT64_C(1) << 40)

static const struct units_unit units_rates[] = {
    {"tbit", UNITS_T, 8},   {"gbit", UNITS_G, 8},   {"mbit", UNITS_M, 8},   {"kbit", UNITS_K, 8},
    {"bit", 1, 8},          {"B/s", 1, 1},          {"kB/s", UNITS_K, 1},   {"MB/s", UNITS_M, 1},
    {"GB/s", UNITS_G, 1},   {"TB/s", UNITS_T, 1},   {"KiB/s", UNITS_KI, 1}, {"MiB/s", UNITS_MI, 1},
    {"GiB/s", UNITS_GI, 1}, {"TiB/s", UNITS_TI, 1}, {NULL, 0, 0},
};

static const struct units_unit units_times[] = {
    {"s", UNITS_G, 1},        {"ms", UNITS_M, 1},       {"us", UNITS_K, 1}, {"ns", 1, 1},
    {"min", 60 * UNITS_G, 1}, {"h", 3600 * UNITS_G, 1}, {NULL, 0, 0},
};

static const struct units_unit units_sizes[] = {
    {"TiB", UNITS_TI, 1}, {"TB", UNITS_T, 1}, {"GiB", UNITS_GI, 1}, {"GB", UNITS_G, 1},
    {"MiB", UNITS_MI, 1}, {"MB", UNITS_M, 1}, {"KiB", UNITS_KI, 1}, {"kB", UNITS_K, 1},
    {"B", 1, 1},          {"", 1, 1},         {NULL, 0, 0},
};

static const struct units_unit units_percents[] = {
    {"%", 10 * UNITS_K, 1},
    {NULL, 0, 0},
};

static const struct units_kind units_rate = {
    "a rate", "100mbit",
    "bit, kbit, mbit, gbit, tbit, B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s or TiB/s",
    UINT64_MAX, units_rates};
static const struct units_kind units_time = {"a time", "40ms", "ns, us, ms, s, min or h", INT64_MAX,
                                             units_times};
static const struct units_kind units_size = {
    "a size", "64KiB", "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB, or none for bytes", UINT64_MAX,
    units_sizes};
static const struct units_kind units_percent = {"a percentage", "10%", "%", UNITS_PPM_MAX,
                                                units_percents};

struct units_number {
    units_wide digits;
    units_wide scale; /* Ten to the number of decimals. */
};

static bool units_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Read a number and move @at behind it. */
static enum err units_number_read(const char **at, struct units_number *n)
{
    uint32_t significant = 0; /* Digits behind the leading zeros. */
    uint32_t decimals = 0;
    bool point = false;

    *n = (struct units_number){0, 1};
    for (const char *c = *at;; c++) {
        if (*c == '.' && !point && c > *at && units_is_digit(c[1])) {
            point = true;
        } else if (units_is_digit(*c)) {
            significant += n->digits > 0 || *c != '0';
            decimals += point;
            if (significant > UNITS_DIGITS_MAX || decimals > UNITS_DIGITS_MAX) {
                return ERR_TOO_BIG;
            }
            n->digits = n->digits * 10 + (uint32_t)(*c - '0');
            n->scale *= point ? 10 : 1;
        } else if (c == *at) {
            return ERR_MALFORMED;
        } else {
            *at = c;
            return OK;
        }
    }
}

static const struct units_unit *units_find(const struct units_kind *kind, const char *name)
{
    for (const struct units_unit *u = kind->units; u->name != NULL; u++) {
        if (strcmp(u->name, name) == 0) {
            return u;
        }
    }
    return NULL;
}

/* What was refused, cut and made printable, for the error's text. */
struct units_shown {
    char chars[64];
};

static const char *units_show(const char *chars, struct units_shown *out)
{
    char cut[sizeof(out->chars) / 4]; /* A byte becomes at most \xNN. */
    struct text t;

    snprintf(cut, sizeof(cut), "%s", chars);
    text_init_fixed(&t, out->chars, sizeof(out->chars));
    text_add_printable(&t, cut);
    return out->chars;
}

/* The number in the result's unit, rounded. */
static units_wide units_value(const struct units_number *n, const struct units_unit *unit)
{
    units_wide num = n->digits * unit->num;
    units_wide den = n->scale * unit->den;
    units_wide value = (num + den / 2) / den;

    return value == 0 && num > 0 ? 1 : value;
}

static enum err units_parse(const struct units_kind *kind, const char *chars, uint64_t *value_out,
                            struct err_text *text)
{
    static const struct units_unit zero = {"", 1, 1};
    const char *at = chars;
    const struct units_unit *unit = NULL;
    struct units_number n;
    struct units_shown shown;
    enum err rc = units_number_read(&at, &n);

    if (rc == ERR_TOO_BIG) {
        return err_text_set(text, rc, "'%s...' has too many digits: at most %d count",
                            units_show(chars, &shown), UNITS_DIGITS_MAX);
    }
    if (rc == OK) {
        unit = n.digits == 0 && *at == '\0' ? &zero : units_find(kind, at);
    }
    if (unit == NULL) {
        return err_text_set(text, ERR_MALFORMED,
                            "'%s' is not %s: write a number and its unit (%s), such as %s",
                            units_show(chars, &shown), kind->what, kind->list, kind->example);
    }
    if (units_value(&n, unit) > kind->max) {
        return err_text_set(text, ERR_TOO_BIG, "'%s' is too large for %s",
                            units_show(chars, &shown), kind->what);
    }
    *value_out = (uint64_t)units_value(&n, unit);
    return OK;
}

enum err units_rate_parse(const char *chars, uint64_t *bytes_per_s_out, struct err_text *text)
{
    return units_parse(&units_rate, chars, bytes_per_s_out, text);
}

enum err units_time_parse(const char *chars, int64_t *ns_out, struct err_text *text)
{
    uint64_t value = 0;
    enum err rc = units_parse(&units_time, chars, &value, text);

    if (rc == OK) {
        *ns_out = (int64_t)value;
    }
    return rc;
}

enum err units_size_parse(const char *chars, uint64_t *bytes_out, struct err_text *text)
{
    return units_parse(&units_size, chars, bytes_out, text);
}

enum err units_percent_parse(const char *chars, uint32_t *ppm_out, struct err_text *text)
{
    uint64_t value = 0;
    enum err rc = units_parse(&units_percent, chars, &value, text);

    if (rc == OK) {
        *ppm_out = (uint32_t)value;
    }
    return rc;
}

/* Print @value / @one, exactly: @one is a power of ten. */
static const char *units_print(units_wide value, uint64_t one, const char *unit,
                               struct units_text *out)
{
    uint64_t whole = (uint64_t)(value / one);
    uint64_t rest = (uint64_t)(value % one);
    char decimals[16] = ""; /* No unit has more than 12. */
    size_t count = 0;

    for (uint64_t digit = one; rest > 0 && digit >= 10;) {
        digit /= 10;
        decimals[count++] = (char)('0' + rest / digit);
        rest %= digit;
    }
    decimals[count] = '\0';
    snprintf(out->chars, sizeof(out->chars), "%" PRIu64 "%s%s%s", whole, count > 0 ? "." : "",
             decimals, unit);
    return out->chars;
}

/* Print in the first unit that is not above the value; the first @count units go down to one. */
static const char *units_print_first(const struct units_unit *units, uint32_t count,
                                     units_wide value, struct units_text *out)
{
    uint32_t i = 0;

    while (i + 1 < count && units[i].num > value) {
        i++;
    }
    return units_print(value, units[i].num, units[i].name, out);
}

const char *units_rate_print(uint64_t bytes_per_s, struct units_text *out)
{
    return units_print_first(units_rates, 5, (units_wide)bytes_per_s * 8, out);
}

const char *units_time_print(int64_t ns, struct units_text *out)
{
    CHECK(ns >= 0);
    return units_print_first(units_times, 4, (units_wide)ns, out);
}

const char *units_size_print(uint64_t bytes, struct units_text *out)
{
    const struct units_unit *unit = units_sizes;

    while (*unit->name != '\0' && (bytes < unit->num || bytes % unit->num != 0)) {
        unit++;
    }
    if (unit->num == 1) {
        unit = &units_sizes[sizeof(units_sizes) / sizeof(units_sizes[0]) - 2]; /* Without a unit. */
    }
    return units_print(bytes / unit->num, 1, unit->name, out);
}

const char *units_percent_print(uint32_t ppm, struct units_text *out)
{
    return units_print(ppm, units_percents[0].num, "%", out);
}
