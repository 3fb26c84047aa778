#include "app/scan.h"

#include "base/text.h"

#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    SCAN_QUOTE_CHARS = 24,     /* Of the line, in an error. */
    SCAN_DIGITS_MAX = 19,      /* Of a decimal that fit into 64 bits. */
    SCAN_EXPONENT_MAX = 10000, /* More is as good as this. */
};

void scan_init(struct scan *s, const char *name, const void *bytes, size_t size,
               struct err_text *text)
{
    const char *chars = size == 0 ? "" : bytes;

    if (size >= 3 && memcmp(chars, "\xef\xbb\xbf", 3) == 0) {
        chars += 3;
        size -= 3;
    }
    *s = (struct scan){.name = name,
                       .at = chars,
                       .line_end = chars,
                       .next = chars,
                       .end = chars + size,
                       .text = text};
}

bool scan_spaces(struct scan *s)
{
    const char *before = s->at;

    while (s->at < s->line_end && (*s->at == ' ' || *s->at == '\t')) {
        s->at++;
    }
    return s->at > before;
}

bool scan_at_end(struct scan *s)
{
    (void)scan_spaces(s);
    return s->at == s->line_end;
}

bool scan_line(struct scan *s)
{
    while (s->next < s->end) {
        const char *newline = memchr(s->next, '\n', (size_t)(s->end - s->next));

        s->line++;
        s->at = s->next;
        s->line_end = newline == NULL ? s->end : newline;
        s->next = newline == NULL ? s->end : newline + 1;
        if (s->line_end > s->at && s->line_end[-1] == '\r') {
            s->line_end--;
        }
        if (!scan_at_end(s)) {
            return true;
        }
    }
    s->at = s->line_end;
    return false;
}

bool scan_word(struct scan *s, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(s->line_end - s->at) < size || memcmp(s->at, word, size) != 0) {
        return false;
    }
    s->at += size;
    return true;
}

void scan_skip(struct scan *s)
{
    s->at = s->line_end;
}

enum err scan_error(const struct scan *s, const char *fmt, ...)
{
    char message[ERR_TEXT_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    return err_text_set(s->text, ERR_MALFORMED, "%s:%llu: %s", s->name, (unsigned long long)s->line,
                        message);
}

enum err scan_expected(const struct scan *s, const char *what)
{
    char piece[SCAN_QUOTE_CHARS + 1] = "", quoted[SCAN_QUOTE_CHARS * 4 + 1];
    size_t left = (size_t)(s->line_end - s->at);
    struct text text;

    if (left == 0) {
        return scan_error(s, "expected %s, found the end of the line", what);
    }
    memcpy(piece, s->at, left < SCAN_QUOTE_CHARS ? left : SCAN_QUOTE_CHARS);
    text_init_fixed(&text, quoted, sizeof(quoted));
    text_add_printable(&text, piece);
    return scan_error(s, "expected %s, found '%s'%s", what, quoted,
                      left > SCAN_QUOTE_CHARS ? "..." : "");
}

static bool scan_is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

/* Take digits; NULL if there are none or too many. */
static const char *scan_take_u64(const char *at, const char *end, uint64_t *out)
{
    uint64_t value = 0;
    const char *first = at;

    for (; scan_is_digit(at, end); at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (value >= UINT64_MAX / 10 && (value > UINT64_MAX / 10 || digit > UINT64_MAX % 10)) {
            return NULL;
        }
        value = value * 10 + digit;
    }
    *out = value;
    return at > first ? at : NULL;
}

/* The digits of a decimal, as digits * 10^exponent. Those beyond the 19th only count for the
 * exponent. */
static const char *scan_take_digits(const char *at, const char *end, uint64_t *digits_out,
                                    int *exponent_out)
{
    uint64_t digits = 0;
    int taken = 0, exponent = 0;
    bool point = false, any = false;

    for (; scan_is_digit(at, end) || (!point && at < end && *at == '.'); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        any = true;
        if (taken < SCAN_DIGITS_MAX) {
            digits = digits * 10 + (uint64_t)(*at - '0');
            taken += digits > 0;
            exponent -= point;
        } else if (!point && exponent < SCAN_EXPONENT_MAX) {
            exponent++;
        }
    }
    *digits_out = digits;
    *exponent_out = exponent < -SCAN_EXPONENT_MAX ? -SCAN_EXPONENT_MAX : exponent;
    return any ? at : NULL;
}

/* The part from "e" on, if it is there and whole. */
static const char *scan_take_exponent(const char *at, const char *end, int *exponent)
{
    const char *digit = at + 1;
    bool minus = false;
    int value = 0;

    if (at == end || (*at != 'e' && *at != 'E')) {
        return at;
    }
    if (digit < end && (*digit == '+' || *digit == '-')) {
        minus = *digit == '-';
        digit++;
    }
    if (!scan_is_digit(digit, end)) {
        return at;
    }
    for (; scan_is_digit(digit, end); digit++) {
        value = value < SCAN_EXPONENT_MAX ? value * 10 + (*digit - '0') : value;
    }
    *exponent += minus ? -value : value;
    return digit;
}

/* Powers of ten up to 22 are exact in double, so most numbers are rounded once. */
static double scan_scale(double value, int exponent)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

    for (; exponent > 22 && value < DBL_MAX / 1e22; exponent -= 22) {
        value *= 1e22;
    }
    for (; exponent < -22 && value > 0; exponent += 22) {
        value /= 1e22;
    }
    if (exponent > 22 || exponent < -22) {
        return exponent > 22 ? DBL_MAX : 0;
    }
    return exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
}

static const char *scan_take_double(const char *at, const char *end, double *out)
{
    bool minus = at < end && *at == '-';
    uint64_t digits;
    double value;
    int exponent;

    at = scan_take_digits(at + (at < end && (*at == '-' || *at == '+')), end, &digits, &exponent);
    if (at == NULL) {
        return NULL;
    }
    at = scan_take_exponent(at, end, &exponent);
    value = digits == 0 ? 0 : scan_scale((double)digits, exponent);
    if (!(value <= FLT_MAX)) {
        return NULL;
    }
    *out = minus ? -value : value;
    return at;
}

enum err scan_u64(struct scan *s, const char *what, uint64_t min, uint64_t max, uint64_t *out)
{
    char expected[128];
    uint64_t value;
    const char *at = scan_take_u64(s->at, s->line_end, &value);

    if (at == NULL || value < min || value > max) {
        (void)snprintf(expected, sizeof(expected), "%s, a whole number from %llu to %llu", what,
                       (unsigned long long)min, (unsigned long long)max);
        return scan_expected(s, expected);
    }
    s->at = at;
    *out = value;
    return OK;
}

enum err scan_double(struct scan *s, const char *what, double *out)
{
    char expected[128];
    double value;
    const char *at = scan_take_double(s->at, s->line_end, &value);

    if (at == NULL) {
        (void)snprintf(expected, sizeof(expected), "%s, a number such as 0.5", what);
        return scan_expected(s, expected);
    }
    s->at = at;
    *out = value;
    return OK;
}

bool scan_text_u64(const char *chars, uint64_t *out)
{
    uint64_t value;
    const char *at = scan_take_u64(chars, chars + strlen(chars), &value);

    if (at == NULL || *at != '\0') {
        return false;
    }
    *out = value;
    return true;
}

bool scan_text_double(const char *chars, double *out)
{
    double value;
    const char *at = scan_take_double(chars, chars + strlen(chars), &value);

    if (at == NULL || *at != '\0') {
        return false;
    }
    *out = value;
    return true;
}
