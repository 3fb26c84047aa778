#include "cli/command/value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value_unit {
    const char *name;
    double factor;
};

static const struct value_unit value_sizes[] = {
    {"", 1},        {"B", 1},        {"k", 1e3},      {"K", 1e3},      {"kB", 1e3},
    {"M", 1e6},     {"MB", 1e6},     {"G", 1e9},      {"GB", 1e9},     {"T", 1e12},
    {"TB", 1e12},   {"Ki", 1024.0},  {"KiB", 1024.0}, {"Mi", 1048576}, {"MiB", 1048576},
    {"Gi", 0x1p30}, {"GiB", 0x1p30}, {"Ti", 0x1p40},  {"TiB", 0x1p40}, {NULL, 0},
};

static const struct value_unit value_rates[] = {
    {"", 1},       {"bit", 1},    {"k", 1e3},     {"K", 1e3},     {"kbit", 1e3},
    {"M", 1e6},    {"mbit", 1e6}, {"Mbit", 1e6},  {"G", 1e9},     {"gbit", 1e9},
    {"Gbit", 1e9}, {"T", 1e12},   {"tbit", 1e12}, {"Tbit", 1e12}, {NULL, 0},
};

static const struct value_unit value_durations[] = {
    {"", 1e6},    {"us", 1},    {"ms", 1e3},    {"s", 1e6}, {"m", 6e7},
    {"min", 6e7}, {"h", 3.6e9}, {"d", 8.64e10}, {NULL, 0},
};

size_t value_next_word(const char **words)
{
    const char *at = *words == NULL ? "" : *words;

    at += strspn(at, " ");
    *words = at;
    return strcspn(at, " ");
}

/* True if @text is one of @words. */
static bool value_is_word(const char *words, const char *text)
{
    size_t text_size = strlen(text);

    for (size_t size; (size = value_next_word(&words)) > 0; words += size) {
        if (size == text_size && strncmp(words, text, size) == 0) {
            return true;
        }
    }
    return false;
}

static enum err value_word(const char *words, const char *text, struct err_text *why)
{
    char list[ERR_TEXT_BYTES / 2] = "";
    size_t used = 0;

    if (value_is_word(words, text)) {
        return OK;
    }
    for (size_t size; (size = value_next_word(&words)) > 0; words += size) {
        int n = snprintf(list + used, sizeof(list) - used, "%s%.*s", used > 0 ? ", " : "",
                         (int)size, words);

        used += (size_t)n < sizeof(list) - used ? (size_t)n : 0;
    }
    return err_text_set(why, ERR_INVALID, "must be one of %s", list);
}

static enum err value_decimal(const char *text, double *value_out, struct err_text *why)
{
    char *end = NULL;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(value)) {
        return err_text_set(why, ERR_INVALID, "is not a number");
    }
    *value_out = value;
    return OK;
}

static enum err value_number(const char *text, int64_t *value_out, struct err_text *why)
{
    char *end = NULL;
    long long value;

    errno = 0;
    value = strtoll(text, &end, 10);
    if (end == text || *end != '\0') {
        return err_text_set(why, ERR_INVALID, "is not a whole number");
    }
    if (errno == ERANGE) {
        return err_text_set(why, ERR_INVALID, "is too large");
    }
    *value_out = value;
    return OK;
}

/* A decimal number and one of @units. @example says how a good one looks. */
static enum err value_measure(const struct value_unit *units, const char *example, const char *text,
                              int64_t *value_out, struct err_text *why)
{
    size_t digits = strspn(text, "0123456789.");
    char *end = NULL;
    double value = strtod(text, &end);

    if (digits > 0 && end == text + digits) {
        for (; units->name != NULL; units++) {
            if (strcmp(units->name, end) != 0) {
                continue;
            }
            value *= units->factor;
            if (value > 9e18) {
                return err_text_set(why, ERR_INVALID, "is too large");
            }
            *value_out = llround(value);
            return OK;
        }
    }
    return err_text_set(why, ERR_INVALID, "should look like %s", example);
}

static enum err value_read(enum cli_kind kind, const char *words, const char *text,
                           struct cli_value *value, struct err_text *why)
{
    switch (kind) {
    case CLI_TEXT:
    case CLI_FILE:
    case CLI_DIR:
    case CLI_COMMAND:
        return *text == '\0' ? err_text_set(why, ERR_INVALID, "is empty") : OK;
    case CLI_WORDS:
        return value_word(words, text, why);
    case CLI_NUMBER:
        return value_number(text, &value->number, why);
    case CLI_DECIMAL:
        return value_decimal(text, &value->decimal, why);
    case CLI_SIZE:
        return value_measure(value_sizes, "4096, 64KiB or 1.5MB", text, &value->number, why);
    case CLI_RATE:
        return value_measure(value_rates, "100M or 2.5Gbit", text, &value->number, why);
    case CLI_DURATION:
        return value_measure(value_durations, "250ms, 2s, 15m, 1h or 30d", text, &value->number,
                             why);
    }
    return ERR_INVALID;
}

void value_format(enum cli_kind kind, int64_t number, char *out, size_t size)
{
    const struct value_unit *units = kind == CLI_SIZE       ? value_sizes
                                     : kind == CLI_RATE     ? value_rates
                                     : kind == CLI_DURATION ? value_durations
                                                            : NULL;
    const struct value_unit *best = NULL;

    /* The largest unit that leaves a whole number. */
    for (const struct value_unit *u = units; u != NULL && u->name != NULL; u++) {
        if (number != 0 && number % (int64_t)u->factor == 0 && u->name[0] != '\0' &&
            (best == NULL || u->factor >= best->factor)) {
            best = u;
        }
    }
    (void)snprintf(out, size, "%" PRId64 "%s",
                   best == NULL ? number : number / (int64_t)best->factor,
                   best == NULL ? "" : best->name);
}

static bool value_within(enum cli_kind kind, const struct cli_value *value, int64_t min,
                         int64_t max)
{
    return kind == CLI_DECIMAL ? value->decimal >= (double)min && value->decimal <= (double)max
                               : value->number >= min && value->number <= max;
}

enum err value_parse(enum cli_kind kind, const char *words, int64_t min, int64_t max,
                     const char *text, struct cli_value *value_out, struct err_text *why)
{
    struct cli_value value = {.text = text};
    enum err rc = value_read(kind, words, text, &value, why);

    if (rc != OK) {
        return rc;
    }
    if ((min != 0 || max != 0) && !value_within(kind, &value, min, max)) {
        char low[32], high[32];

        value_format(kind, min, low, sizeof(low));
        value_format(kind, max, high, sizeof(high));
        return err_text_set(why, ERR_INVALID, "must be from %s to %s", low, high);
    }
    *value_out = value;
    return OK;
}
