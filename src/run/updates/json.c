/* Lines of recorded updates, read character by character: a line may be longer than memory should
 * be, and what is wrong has a place. */

#include "base/mem.h"
#include "run/updates/file.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    JSON_NUMBER_BYTES = 64,
    JSON_KEY_BYTES = 16,
};

#define JSON_CLOCK_MAX (UINT64_C(1) << 53)

struct json_scan {
    struct updates_file *f;
    struct updates_row *row;
    struct err_text *text;
    uint64_t known; /* Elements that a row must have; zero: not known. */
    uint64_t count; /* Values of this line so far. */
    uint64_t clock; /* That it says; zero: not yet. */
    bool has_values;
};

static int json_look(const struct json_scan *s)
{
    int c = getc_unlocked(s->f->file);

    return c == EOF ? EOF : ungetc(c, s->f->file);
}

/* The next that is no blank, not taken. A line's end is none. */
static int json_next(const struct json_scan *s)
{
    int c;

    while ((c = json_look(s)) == ' ' || c == '\t' || c == '\r') {
        (void)getc_unlocked(s->f->file);
    }
    return c;
}

/* At the end of the file the line is torn: ERR_CLOSED, without a text. */
static enum err json_expected(const struct json_scan *s, const char *what)
{
    int c = json_next(s);

    if (c == EOF && ferror(s->f->file)) {
        return err_text_set(s->text, ERR_IO, "%.300s: cannot be read", s->f->path);
    }
    if (c == EOF) {
        return ERR_CLOSED;
    }
    return c == '\n' ? err_text_set(s->text, ERR_INVALID,
                                    "%.300s:%" PRIu64 ": expected %s, but the line ends",
                                    s->f->path, s->f->line, what)
                     : err_text_set(s->text, ERR_INVALID,
                                    "%.300s:%" PRIu64 ": expected %s, found '%c'; a line is "
                                    "{\"clock\": NUMBER, \"values\": [NUMBER, ...]}",
                                    s->f->path, s->f->line, what, isprint(c) ? c : '?');
}

static bool json_take(const struct json_scan *s, char wanted)
{
    if (json_next(s) != wanted) {
        return false;
    }
    (void)getc_unlocked(s->f->file);
    return true;
}

/* What a number is made of, and words such as NaN. */
static void json_token(const struct json_scan *s, char *out, size_t size)
{
    size_t n = 0;
    int c = json_next(s);

    while (n + 1 < size && c != EOF && (isalnum(c) || strchr("+-.", c) != NULL)) {
        out[n++] = (char)getc_unlocked(s->f->file);
        c = json_look(s);
    }
    out[n] = '\0';
}

/* A token at the end of the file may have been longer. */
static bool json_torn(const struct json_scan *s)
{
    return json_look(s) == EOF && !ferror(s->f->file);
}

static enum err json_value(struct json_scan *s)
{
    char token[JSON_NUMBER_BYTES];
    char *end = NULL;
    float value;
    enum err rc;

    json_token(s, token, sizeof(token));
    if (json_torn(s)) {
        return ERR_CLOSED;
    }
    if (token[0] == '\0') {
        return json_expected(s, "a number");
    }
    value = strtof(token, &end);
    if (*end != '\0' || strspn(token, "0123456789+-.eE") != strlen(token) || token[0] == '+' ||
        !isfinite(value)) {
        return err_text_set(s->text, ERR_INVALID,
                            "%.300s:%" PRIu64 ": value %" PRIu64 " is %.20s, and must be a finite "
                            "number that a float32 can hold",
                            s->f->path, s->f->line, s->count, token);
    }
    if (s->count == (s->known != 0 ? s->known : RUN_UPDATES_ELEMENTS_MAX)) {
        return err_text_set(s->text, ERR_INVALID,
                            "%.300s:%" PRIu64 ": more than %" PRIu64 " values%s", s->f->path,
                            s->f->line, s->count,
                            s->known != 0 ? "; all clocks have the same number of elements" : "");
    }
    rc = s->count < s->row->capacity
             ? OK
             : updates_row_reserve(s->row, s->count < 512 ? 1024 : s->count * 2, s->text);
    if (rc == OK) {
        s->row->values[s->count++] = value;
    }
    return rc;
}

static enum err json_values(struct json_scan *s)
{
    if (!json_take(s, '[')) {
        return json_expected(s, "'['");
    }
    s->has_values = true;
    if (json_take(s, ']')) {
        return OK;
    }
    do {
        enum err rc = json_value(s);

        if (rc != OK) {
            return rc;
        }
    } while (json_take(s, ','));
    return json_take(s, ']') ? OK : json_expected(s, "',' or ']'");
}

static enum err json_clock(struct json_scan *s)
{
    char token[JSON_NUMBER_BYTES];
    uint64_t clock;

    json_token(s, token, sizeof(token));
    if (json_torn(s)) {
        return ERR_CLOSED;
    }
    clock = strtoull(token, NULL, 10);
    if (token[0] == '\0' || strspn(token, "0123456789") != strlen(token) || clock == 0 ||
        clock > JSON_CLOCK_MAX || strlen(token) > 16) {
        return err_text_set(s->text, ERR_INVALID,
                            "%.300s:%" PRIu64 ": clock '%.20s' must be a whole number from 1 on",
                            s->f->path, s->f->line, token);
    }
    if (clock <= s->row->clock) {
        return err_text_set(s->text, ERR_INVALID,
                            "%.300s:%" PRIu64 ": clock %" PRIu64 " comes after clock %" PRIu64
                            "; put them in order",
                            s->f->path, s->f->line, clock, s->row->clock);
    }
    s->clock = clock;
    return OK;
}

static enum err json_entry(struct json_scan *s)
{
    char key[JSON_KEY_BYTES];
    size_t n = 0;
    int c;

    if (!json_take(s, '"')) {
        return json_expected(s, "a key in quotes");
    }
    while (n + 1 < sizeof(key) && (c = json_look(s)) != EOF && c != '"' && isprint(c)) {
        key[n++] = (char)getc_unlocked(s->f->file);
    }
    key[n] = '\0';
    if (json_torn(s)) {
        return ERR_CLOSED;
    }
    if ((strcmp(key, "clock") != 0 || s->clock != 0) &&
        (strcmp(key, "values") != 0 || s->has_values)) {
        return err_text_set(s->text, ERR_INVALID,
                            "%.300s:%" PRIu64 ": key '%s' is not known, or there twice; a line is "
                            "{\"clock\": NUMBER, \"values\": [NUMBER, ...]}",
                            s->f->path, s->f->line, key);
    }
    if (!json_take(s, '"') || !json_take(s, ':')) {
        return json_expected(s, "':'");
    }
    return key[0] == 'c' ? json_clock(s) : json_values(s);
}

static enum err json_object(struct json_scan *s)
{
    if (!json_take(s, '{')) {
        return json_expected(s, "'{' or '['");
    }
    do {
        enum err rc = json_entry(s);

        if (rc != OK) {
            return rc;
        }
    } while (json_take(s, ','));
    return json_take(s, '}') ? OK : json_expected(s, "',' or '}'");
}

static enum err json_line(struct json_scan *s)
{
    enum err rc = json_next(s) == '[' ? json_values(s) : json_object(s);

    if (rc == OK && json_next(s) != '\n' && json_next(s) != EOF) {
        return json_expected(s, "the end of the line");
    }
    if (rc == OK && (!s->has_values || s->count == 0)) {
        return err_text_set(s->text, ERR_INVALID, "%.300s:%" PRIu64 ": there are no values",
                            s->f->path, s->f->line);
    }
    if (rc == OK && s->known != 0 && s->count != s->known) {
        return err_text_set(s->text, ERR_INVALID,
                            "%.300s:%" PRIu64 ": %" PRIu64
                            " values, but the clocks before have %" PRIu64
                            "; all clocks have the same number of elements",
                            s->f->path, s->f->line, s->count, s->known);
    }
    return rc;
}

enum err updates_json_next(struct updates_file *f, uint64_t every, struct updates_row *row,
                           bool *got_out, struct err_text *text)
{
    struct json_scan s = {.f = f, .row = row, .text = text, .known = row->elements};
    enum err rc;

    f->line += f->line == 0;
    while (json_take(&s, '\n')) {
        f->line++;
    }
    *got_out = false;
    if (json_next(&s) == EOF && !ferror(f->file)) {
        return OK;
    }
    rc = json_line(&s);
    if (rc == ERR_CLOSED) {
        f->torn = true;
        return f->row > 0 ? OK
                          : err_text_set(text, ERR_INVALID,
                                         "%.300s:%" PRIu64 ": the file ends in the middle of its "
                                         "first clock",
                                         f->path, f->line);
    }
    if (rc == OK) {
        f->row++;
        row->elements = s.count;
        row->clock = s.clock != 0 ? s.clock : row->clock == 0 ? 1 : row->clock + every;
        *got_out = true;
    }
    return rc;
}
