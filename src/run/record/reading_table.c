/* The tables of a record: scalars.csv and links.csv. Columns are found by their names in the first
 * line, so that a newer Strait may add some. */

#include "run/record/reading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_VALUE_BYTES = 80 };

enum table_kind { TABLE_WHOLE, TABLE_TIME, TABLE_NUMBER, TABLE_NAME };

struct table_column {
    const char *name;
    enum table_kind kind;
    size_t offset; /* In the row. */
    bool optional; /* Older records have none. */
};

#define ROW(column, kind_, optional_)                                                              \
    {                                                                                              \
        .name = #column, .kind = (kind_), .offset = offsetof(struct run_reading_row, column),      \
        .optional = (optional_)                                                                    \
    }

static const struct table_column table_scalars[] = {
    ROW(clock, TABLE_WHOLE, false),      ROW(time_s, TABLE_TIME, false),
    ROW(workers, TABLE_WHOLE, false),    ROW(rebased, TABLE_WHOLE, false),
    ROW(samples, TABLE_NUMBER, false),   ROW(loss, TABLE_NUMBER, false),
    ROW(objective, TABLE_NUMBER, false), ROW(accuracy, TABLE_NUMBER, false),
    ROW(read_s, TABLE_NUMBER, false),    ROW(compute_s, TABLE_NUMBER, false),
    ROW(end_s, TABLE_NUMBER, false),     ROW(wan_bytes, TABLE_NUMBER, true),
    ROW(wan_usd, TABLE_NUMBER, true),
};

#define LINK(column, kind_)                                                                        \
    {                                                                                              \
        .name = #column, .kind = (kind_), .offset = offsetof(struct run_reading_link, column)      \
    }

static const struct table_column table_links[] = {
    LINK(time_s, TABLE_TIME), LINK(from, TABLE_NAME),  LINK(to, TABLE_NAME),
    LINK(bytes, TABLE_WHOLE), LINK(usd, TABLE_NUMBER),
};

struct table {
    const struct table_column *columns;
    uint32_t columns_count;
    const struct table_column *at[RUN_READING_COLUMNS_MAX]; /* By place; NULL: not known here. */
    uint32_t places;
};

#define TABLE(columns_)                                                                            \
    (struct table)                                                                                 \
    {                                                                                              \
        .columns = (columns_), .columns_count = sizeof(columns_) / sizeof((columns_)[0])           \
    }

/* The next field of a line that ends at @end; false: there is none. */
static bool table_field(const char **at, const char *end, const char **field, size_t *size)
{
    const char *comma;

    if (*at > end) {
        return false;
    }
    comma = memchr(*at, ',', (size_t)(end - *at));
    *field = *at;
    *size = (size_t)((comma == NULL ? end : comma) - *at);
    *at += *size + 1;
    return true;
}

/* Which column is where. False: that is no head of this table. */
static bool table_head(struct table *t, const char *line, const char *end)
{
    const char *field;
    uint32_t known = 0, wanted = 0;
    size_t size;

    t->places = 0;
    while (table_field(&line, end, &field, &size)) {
        if (t->places == RUN_READING_COLUMNS_MAX) {
            return false;
        }
        t->at[t->places] = NULL;
        for (uint32_t i = 0; i < t->columns_count; i++) {
            const struct table_column *c = &t->columns[i];

            if (strlen(c->name) == size && memcmp(c->name, field, size) == 0) {
                for (uint32_t before = 0; before < t->places; before++) {
                    if (t->at[before] == c) {
                        return false;
                    }
                }
                t->at[t->places] = c;
                known += !c->optional;
            }
        }
        t->places++;
    }
    for (uint32_t i = 0; i < t->columns_count; i++) {
        wanted += !t->columns[i].optional;
    }
    return known == wanted;
}

static bool table_whole(const char *value, size_t size, uint64_t *out)
{
    char *rest;

    *out = strtoull(value, &rest, 10);
    return size > 0 && size < 20 && value[0] >= '0' && value[0] <= '9' && *rest == '\0';
}

static bool table_real(const char *value, size_t size, double *out)
{
    char *rest;

    *out = size == 0 ? (double)NAN : strtod(value, &rest);
    return size == 0 || (*rest == '\0' && isfinite(*out));
}

static bool table_value(const struct table_column *c, const char *field, size_t size, void *row)
{
    char value[TABLE_VALUE_BYTES];
    void *out = (char *)row + c->offset;

    if (size >= sizeof(value) || memchr(field, '\0', size) != NULL) {
        return false;
    }
    memcpy(value, field, size);
    value[size] = '\0';
    switch (c->kind) {
    case TABLE_WHOLE:
        return table_whole(value, size, out);
    case TABLE_TIME:
        return table_real(value, size, out) && *(double *)out >= 0;
    case TABLE_NUMBER:
        return table_real(value, size, out);
    case TABLE_NAME:
        memcpy(out, value, size < TOPO_NAME_BYTES ? size + 1 : 1);
        return topo_name_valid(value);
    }
    return false;
}

/* A line without its end. False: it is no row of this table. */
static bool table_row(const struct table *t, const char *line, const char *end, void *row)
{
    const char *field;
    uint32_t place = 0;
    size_t size;

    for (; table_field(&line, end, &field, &size); place++) {
        if (place >= t->places ||
            (t->at[place] != NULL && !table_value(t->at[place], field, size, row))) {
            return false;
        }
    }
    return place == t->places;
}

static enum err table_wrong(struct err_text *text, const char *name, uint32_t line,
                            const char *what)
{
    return err_text_set(text, ERR_MALFORMED, "%.300s:%u: %s: the record is damaged; run it again",
                        name, line, what);
}

/* Every line through @each, which returns NULL or what is wrong with it. */
static enum err table_read(struct table *t, const struct run_reading_bytes *in,
                           const char *(*each)(const struct table *t, const char *line,
                                               const char *end, void *user),
                           void *user, uint32_t *torn_out, struct err_text *text)
{
    const char *at = in->chars, *stop = in->chars + in->size;
    const char *end = in->size == 0 ? NULL : memchr(at, '\n', in->size);
    uint32_t line = 2;

    *torn_out = 0;
    if (end == NULL || !table_head(t, at, end)) {
        return table_wrong(text, in->name, 1, "it does not begin as the table of a run does");
    }
    for (at = end + 1; (end = memchr(at, '\n', (size_t)(stop - at))) != NULL; line++) {
        const char *what = each(t, at, end, user);

        if (what != NULL) {
            return table_wrong(text, in->name, line, what);
        }
        at = end + 1;
    }
    *torn_out = at < stop ? line : 0;
    return OK;
}

/* scalars.csv. */

struct table_rows {
    const char *(*see)(const struct run_reading_row *row, void *user);
    void *user;
    uint64_t clock;
};

static bool table_scalar(const struct table *t, const char *line, const char *end,
                         struct run_reading_row *row)
{
    *row = (struct run_reading_row){.wan_bytes = NAN, .wan_usd = NAN};
    return table_row(t, line, end, row) && isfinite(row->time_s) && row->clock > 0;
}

static const char *table_each_row(const struct table *t, const char *line, const char *end,
                                  void *user)
{
    struct table_rows *r = user;
    struct run_reading_row row;

    if (!table_scalar(t, line, end, &row) || row.clock <= r->clock) {
        return "it is no row of a run";
    }
    r->clock = row.clock;
    /* cppcheck-suppress returnDanglingLifetime ; what see() says is no part of the row */
    return r->see(&row, r->user);
}

enum err run_reading_rows(const struct run_reading_bytes *in,
                          const char *(*see)(const struct run_reading_row *row, void *user),
                          void *user, uint32_t *torn_out, struct err_text *text)
{
    struct table_rows rows = {.see = see, .user = user};
    struct table t = TABLE(table_scalars);

    return table_read(&t, in, table_each_row, &rows, torn_out, text);
}

void run_reading_peek(const struct run_reading_bytes *head, const struct run_reading_bytes *tail,
                      void (*see)(const struct run_reading_row *row, void *user), void *user)
{
    const char *at = tail->chars, *stop = tail->chars + tail->size;
    const char *end = head->size == 0 ? NULL : memchr(head->chars, '\n', head->size);
    struct table t = TABLE(table_scalars);

    if (end == NULL || !table_head(&t, head->chars, end)) {
        return;
    }
    for (; at < stop && (end = memchr(at, '\n', (size_t)(stop - at))) != NULL; at = end + 1) {
        struct run_reading_row row;

        if (table_scalar(&t, at, end, &row)) {
            see(&row, user);
        }
    }
}

/* links.csv. */

struct table_link_rows {
    const char *(*see)(const struct run_reading_link *link, void *user);
    void *user;
};

static const char *table_each_link(const struct table *t, const char *line, const char *end,
                                   void *user)
{
    struct table_link_rows *l = user;
    struct run_reading_link link = {.usd = NAN};

    if (!table_row(t, line, end, &link) || !isfinite(link.time_s)) {
        return "it is no row of a run";
    }
    /* cppcheck-suppress returnDanglingLifetime ; what see() says is no part of the link */
    return l->see(&link, l->user);
}

enum err run_reading_links(const struct run_reading_bytes *in,
                           const char *(*see)(const struct run_reading_link *link, void *user),
                           void *user, uint32_t *torn_out, struct err_text *text)
{
    struct table_link_rows rows = {.see = see, .user = user};
    struct table t = TABLE(table_links);

    return table_read(&t, in, table_each_link, &rows, torn_out, text);
}
