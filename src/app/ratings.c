#include "app/ratings.h"

#include "app/option.h"
#include "app/scan.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdbool.h>
#include <string.h>

enum {
    RATINGS_TRUE_RANK = 6, /* Of what is generated. */
    RATINGS_DIGITS = 256,  /* Sorting is by bytes. */
};

/* One line, before renumbering. */
struct ratings_line {
    uint64_t user;
    uint64_t item;
    float value;
};

struct ratings_lines {
    struct ratings_line *list;
    uint32_t count;
};

/* A set of ids, ascending. */
struct ratings_ids {
    uint64_t *list;
    uint32_t count;
};

void ratings_deinit(struct ratings *r)
{
    mem_free(r->list);
    *r = (struct ratings){0};
}

/* What separates the columns: taken from the first line, then the same in all. */
static const char *ratings_separator(struct scan line)
{
    while (line.at < line.line_end && *line.at != ',' && *line.at != ':' && *line.at != ' ' &&
           *line.at != '\t') {
        line.at++;
    }
    return scan_word(&line, ",") ? "," : scan_word(&line, "::") ? "::" : " ";
}

static enum err ratings_separate(struct scan *s, const char *separator)
{
    if (separator[0] == ' ') {
        return scan_spaces(s) ? OK : scan_expected(s, "a space");
    }
    (void)scan_spaces(s);
    if (!scan_word(s, separator)) {
        return scan_expected(s, separator[0] == ',' ? "','" : "'::'");
    }
    (void)scan_spaces(s);
    return OK;
}

static enum err ratings_read_line(struct scan *s, const char *separator, struct ratings_line *out)
{
    double value;
    enum err rc = scan_u64(s, "a user", 0, UINT64_MAX, &out->user);

    if (rc == OK) {
        rc = ratings_separate(s, separator);
    }
    if (rc == OK) {
        rc = scan_u64(s, "an item", 0, UINT64_MAX, &out->item);
    }
    if (rc == OK) {
        rc = ratings_separate(s, separator);
    }
    if (rc == OK) {
        rc = scan_double(s, "a rating", &value);
    }
    if (rc == OK && !scan_at_end(s)) {
        /* More columns may follow, but the rating must end here. */
        rc = separator[0] == ' ' && (s->at[-1] == ' ' || s->at[-1] == '\t')
                 ? OK
                 : ratings_separate(s, separator);
    }
    if (rc == OK) {
        out->value = (float)value;
    }
    return rc;
}

/* True if the first line, which begins with @c, has no rating. */
static bool ratings_names_columns(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '"' || c == '#' || c == '%';
}

static enum err ratings_read(struct scan *s, struct ratings_lines *lines)
{
    const char *separator = NULL;
    enum err rc = OK;

    while (rc == OK && scan_line(s)) {
        if (separator == NULL) {
            separator = ratings_separator(*s);
            if (ratings_names_columns(*s->at)) {
                continue;
            }
        }
        rc = ratings_read_line(s, separator, &lines->list[lines->count]);
        lines->count += rc == OK;
    }
    return rc;
}

/* How many lines there are at most. */
static uint64_t ratings_count_lines(const char *chars, size_t size)
{
    const char *end = chars + size;
    uint64_t count = 1;

    while (chars < end && (chars = memchr(chars, '\n', (size_t)(end - chars))) != NULL) {
        count++;
        chars++;
    }
    return count;
}

static enum err ratings_nomem(const char *name, struct err_text *text)
{
    return err_text_set(text, ERR_NOMEM, "%s: out of memory", name);
}

static enum err ratings_read_all(const char *name, const void *bytes, size_t size,
                                 struct ratings_lines *out, struct err_text *text)
{
    struct ratings_lines lines = {0};
    uint64_t most = size == 0 ? 0 : ratings_count_lines(bytes, size);
    struct scan s;
    enum err rc;

    if (most > RATINGS_COUNT_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%s: more than %d lines; split it", name,
                            RATINGS_COUNT_MAX);
    }
    lines.list = mem_calloc((size_t)most, sizeof(*lines.list));
    if (lines.list == NULL) {
        return ratings_nomem(name, text);
    }
    scan_init(&s, name, bytes, size, text);
    rc = ratings_read(&s, &lines);
    if (rc == OK && lines.count == 0) {
        rc = scan_error(&s, "there are no ratings: expected lines of user, item and rating");
    }
    if (rc != OK) {
        mem_free(lines.list);
        return rc;
    }
    *out = lines;
    return OK;
}

/* Sort by the byte at @shift; equal ones stay in order. False if all have the same byte there:
 * then nothing was copied. */
static bool ratings_sort_byte(const uint64_t *in, uint64_t *out, uint32_t count, uint32_t shift)
{
    uint32_t places[RATINGS_DIGITS] = {0};
    uint32_t place = 0;

    for (uint32_t i = 0; i < count; i++) {
        places[in[i] >> shift & 0xff]++;
    }
    if (places[in[0] >> shift & 0xff] == count) {
        return false;
    }
    for (uint32_t digit = 0; digit < RATINGS_DIGITS; digit++) {
        uint32_t here = places[digit];

        places[digit] = place;
        place += here;
    }
    for (uint32_t i = 0; i < count; i++) {
        out[places[in[i] >> shift & 0xff]++] = in[i];
    }
    return true;
}

/* Make a set of @count ids (not none), in place. ERR_NOMEM. */
static enum err ratings_ids_sort(struct ratings_ids *ids)
{
    uint64_t *spare = mem_calloc(ids->count, sizeof(*spare));
    uint32_t distinct = 1;

    if (spare == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t shift = 0; shift < 64; shift += 8) {
        if (ratings_sort_byte(ids->list, spare, ids->count, shift)) {
            uint64_t *sorted = spare;

            spare = ids->list;
            ids->list = sorted;
        }
    }
    mem_free(spare);
    for (uint32_t i = 1; i < ids->count; i++) {
        if (ids->list[i] != ids->list[distinct - 1]) {
            ids->list[distinct++] = ids->list[i];
        }
    }
    ids->count = distinct;
    return OK;
}

static enum err ratings_ids_init(struct ratings_ids *ids, const struct ratings_lines *lines,
                                 bool items)
{
    enum err rc;

    *ids = (struct ratings_ids){.count = lines->count};
    ids->list = mem_calloc(lines->count, sizeof(*ids->list));
    if (ids->list == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < lines->count; i++) {
        ids->list[i] = items ? lines->list[i].item : lines->list[i].user;
    }
    rc = ratings_ids_sort(ids);
    if (rc != OK) {
        mem_free(ids->list);
        *ids = (struct ratings_ids){0};
    }
    return rc;
}

/* The number of an id that is in the set. */
static uint32_t ratings_ids_find(const struct ratings_ids *ids, uint64_t id)
{
    uint32_t low = 0, high = ids->count - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (ids->list[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void ratings_set_part(struct ratings *r, uint32_t rank, uint32_t workers)
{
    uint64_t first, end;

    app_part(r->users, rank, workers, &first, &end);
    r->user_first = (uint32_t)first;
    r->user_count = (uint32_t)(end - first);
}

/* Keep this worker's part of the lines, renumbered. */
static enum err ratings_keep(const struct ratings_lines *lines, const struct ratings_ids *users,
                             const struct ratings_ids *items, struct ratings *r)
{
    uint64_t low, high;

    if (r->user_count == 0) {
        r->list = mem_calloc(0, sizeof(*r->list));
        return r->list == NULL ? ERR_NOMEM : OK;
    }
    low = users->list[r->user_first];
    high = users->list[r->user_first + r->user_count - 1];
    for (uint32_t i = 0; i < lines->count; i++) {
        r->count += lines->list[i].user >= low && lines->list[i].user <= high;
    }
    r->list = mem_calloc(r->count, sizeof(*r->list));
    if (r->list == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0, kept = 0; i < lines->count; i++) {
        const struct ratings_line *line = &lines->list[i];

        if (line->user >= low && line->user <= high) {
            r->list[kept++] =
                (struct rating){.user = ratings_ids_find(users, line->user) - r->user_first,
                                .item = ratings_ids_find(items, line->item),
                                .value = line->value};
        }
    }
    return OK;
}

enum err ratings_parse(const char *name, const void *bytes, size_t size, uint32_t rank,
                       uint32_t workers, struct ratings *out, struct err_text *text)
{
    struct ratings_ids users = {0}, items = {0};
    struct ratings_lines lines = {0};
    struct ratings r = {0};
    enum err rc = ratings_read_all(name, bytes, size, &lines, text);

    if (rc != OK) {
        return rc;
    }
    rc = ratings_ids_init(&users, &lines, false);
    if (rc == OK) {
        rc = ratings_ids_init(&items, &lines, true);
    }
    if (rc == OK) {
        r.users = users.count;
        r.items = items.count;
        ratings_set_part(&r, rank, workers);
        rc = ratings_keep(&lines, &users, &items, &r);
    }
    mem_free(lines.list);
    mem_free(users.list);
    mem_free(items.list);
    if (rc != OK) {
        return ratings_nomem(name, text);
    }
    *out = r;
    return OK;
}

/* True factors, one row per user or item, each from a stream of its own. */
static void ratings_true_row(const struct rng *seed, uint64_t stream, float *row)
{
    struct rng r = rng_fork(seed, stream);

    for (uint32_t k = 0; k < RATINGS_TRUE_RANK; k++) {
        row[k] = (float)(rng_unit(&r) * 2 - 1);
    }
}

static float ratings_true_value(const float *user, const float *item, struct rng *r)
{
    double value = 3 + (rng_unit(r) - 0.5);
    int halves;

    for (uint32_t k = 0; k < RATINGS_TRUE_RANK; k++) {
        value += (double)user[k] * (double)item[k];
    }
    halves = value < 0.5 ? 1 : value > 5 ? 10 : (int)(value * 2 + 0.5);
    return (float)halves / 2;
}

/* The ratings of one user, @count of them: *@list onwards. @seen is zero before and after. */
static void ratings_generate_user(const struct ratings_plan *plan, const struct rng *seed,
                                  uint32_t user, const float *items, uint8_t *seen,
                                  struct rating *list, uint32_t count)
{
    struct rng r = rng_fork(seed, ((uint64_t)2 << 32) + user);
    float row[RATINGS_TRUE_RANK];

    ratings_true_row(seed, ((uint64_t)1 << 32) + user, row);
    for (uint32_t i = 0; i < count; i++) {
        double u = rng_unit(&r), power = 1;
        uint32_t item;

        for (uint32_t k = 1; k < plan->skew; k++) {
            power *= u;
        }
        item = (uint32_t)((1 / plan->popular + (1 - 1 / plan->popular) * power) * u * plan->items);
        while (seen[item]) {
            item = item + 1 == plan->items ? 0 : item + 1;
        }
        seen[item] = 1;
        list[i].item = item;
        list[i].value = ratings_true_value(row, items + (size_t)item * RATINGS_TRUE_RANK, &r);
    }
    for (uint32_t i = 0; i < count; i++) {
        seen[list[i].item] = 0;
    }
}

static void ratings_generate_part(const struct ratings_plan *plan, float *items, uint8_t *seen,
                                  struct ratings *r)
{
    uint32_t done = 0;
    struct rng seed;

    rng_init(&seed, plan->seed);
    for (uint32_t item = 0; item < plan->items; item++) {
        ratings_true_row(&seed, item, items + (size_t)item * RATINGS_TRUE_RANK);
    }
    for (uint32_t i = 0; i < r->user_count; i++) {
        uint64_t first, end;

        app_part(plan->ratings, r->user_first + i, plan->users, &first, &end);
        ratings_generate_user(plan, &seed, r->user_first + i, items, seen, r->list + done,
                              (uint32_t)(end - first));
        for (; first < end; first++) {
            r->list[done++].user = i;
        }
    }
}

enum err ratings_generate(const struct ratings_plan *plan, uint32_t rank, uint32_t workers,
                          struct ratings *out)
{
    struct ratings r = {.users = plan->users, .items = plan->items};
    float *items = mem_calloc((size_t)plan->items * RATINGS_TRUE_RANK, sizeof(*items));
    uint8_t *seen = mem_calloc(plan->items, sizeof(*seen));
    uint64_t first = 0, end = 0, unused;
    bool ok;

    CHECK(plan->ratings <= (uint64_t)plan->users * plan->items);
    ratings_set_part(&r, rank, workers);
    if (r.user_count > 0) {
        app_part(plan->ratings, r.user_first, plan->users, &first, &unused);
        app_part(plan->ratings, r.user_first + r.user_count - 1, plan->users, &unused, &end);
    }
    r.count = (uint32_t)(end - first);
    r.list = mem_calloc(r.count, sizeof(*r.list));
    ok = items != NULL && seen != NULL && r.list != NULL;
    if (ok) {
        ratings_generate_part(plan, items, seen, &r);
        *out = r;
    } else {
        mem_free(r.list);
    }
    mem_free(items);
    mem_free(seen);
    return ok ? OK : ERR_NOMEM;
}
