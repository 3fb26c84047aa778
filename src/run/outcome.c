#include "run/outcome.h"

#include "base/text.h"
#include "topo/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OUTCOME_PATH_BYTES = 4096,
    OUTCOME_PEEK_BYTES = 4096,
    OUTCOME_FIELD_TIME = 1, /* Columns of scalars.csv. */
    OUTCOME_FIELD_OBJECTIVE = 6,
    OUTCOME_FIELDS = 11,
};

static const char outcome_header[] =
    "clock,time_s,workers,rebased,samples,loss,objective,accuracy,read_s,compute_s,end_s\n";

/* Summaries. */

static enum err outcome_wrong(struct err_text *text, const char *key, const char *wanted)
{
    return err_text_set(text, ERR_MALFORMED, "'%s' is missing or is no %s", key, wanted);
}

static double outcome_real(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* What is not there counts as nothing. */
static double outcome_sum(const json_t *object, const char *key)
{
    double value = outcome_real(object, key);

    return isfinite(value) ? value : 0;
}

/* Nothing that is shown later may move the cursor. */
static void outcome_text(const json_t *object, const char *key, char *out, size_t size)
{
    const char *value = json_string_value(json_object_get(object, key));
    struct text t;

    text_init_fixed(&t, out, size);
    text_add_printable(&t, value == NULL ? "" : value);
}

static bool outcome_whole(const json_t *object, const char *key, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);

    *out = (uint64_t)json_integer_value(value);
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static void outcome_cost(const json_t *summary, struct run_outcome *out)
{
    const json_t *cost = json_object_get(summary, "cost");

    out->cost = (struct run_outcome_cost){.compute = outcome_real(cost, "compute_usd"),
                                          .waiting = outcome_real(cost, "waiting_usd"),
                                          .transfer = outcome_real(cost, "transfer_usd"),
                                          .total = outcome_real(cost, "total_usd")};
    out->priced = isfinite(out->cost.compute) && isfinite(out->cost.waiting) &&
                  isfinite(out->cost.transfer) && isfinite(out->cost.total);
    outcome_text(summary, "cost_note", out->note.text, sizeof(out->note.text));
}

static void outcome_workers(const json_t *summary, struct run_outcome *out)
{
    const json_t *workers = json_object_get(summary, "workers");

    for (size_t i = 0; i < json_array_size(workers); i++) {
        const json_t *w = json_array_get(workers, i);

        out->compute_s += outcome_sum(w, "compute_s");
        out->read_s += outcome_sum(w, "read_s");
        out->end_s += outcome_sum(w, "end_s");
    }
}

static void outcome_sites(const json_t *summary, struct run_outcome *out)
{
    const json_t *sites = json_object_get(summary, "sites");
    double judged = 0, sent = 0;

    for (size_t i = 0; i < json_array_size(sites); i++) {
        const json_t *shared = json_object_get(json_array_get(sites, i), "shared");

        judged += outcome_sum(shared, "elements_judged");
        sent += outcome_sum(shared, "elements_sent");
        out->waited_clock_s += outcome_sum(shared, "waited_clock_s");
        out->waited_barrier_s += outcome_sum(shared, "waited_barrier_s");
        out->waited_fresh_s += outcome_sum(shared, "waited_fresh_s");
        out->waited_room_s += outcome_sum(shared, "waited_room_s");
    }
    out->insignificant = judged > 0 ? 1 - sent / judged : (double)NAN;
}

static void outcome_budget(const json_t *summary, struct run_outcome *out)
{
    const json_t *budget = json_object_get(summary, "budget");

    out->has_budget = json_is_object(budget);
    out->budget =
        (struct run_outcome_budget){.max_usd = outcome_real(budget, "max_usd"),
                                    .max_gb = outcome_real(budget, "max_gb"),
                                    .used_gb = outcome_real(budget, "used_gb"),
                                    .bound = json_is_true(json_object_get(budget, "bound"))};
}

enum err run_outcome_parse(const struct json_t *summary, struct run_outcome *out,
                           struct err_text *text)
{
    *out = (struct run_outcome){.time_s = outcome_real(summary, "time_s"),
                                .objective = outcome_real(summary, "objective"),
                                .accuracy = outcome_real(summary, "accuracy"),
                                .scale = outcome_real(summary, "scale"),
                                .move_s = outcome_real(summary, "move_s"),
                                .rising = json_is_true(json_object_get(summary, "rising"))};
    outcome_text(summary, "run", out->run, sizeof(out->run));
    outcome_text(summary, "layout", out->layout, sizeof(out->layout));
    outcome_text(summary, "end", out->end, sizeof(out->end));
    outcome_text(summary, "objective_is", out->objective_is, sizeof(out->objective_is));
    outcome_text(summary, "why", out->why.text, sizeof(out->why.text));
    if (!json_is_object(summary)) {
        return err_text_set(text, ERR_MALFORMED, "it is no JSON object");
    }
    if (out->end[0] == '\0') {
        return outcome_wrong(text, "end", "word");
    }
    if (!(isfinite(out->time_s) && out->time_s >= 0)) {
        return outcome_wrong(text, "time_s", "time");
    }
    if (!outcome_whole(summary, "clocks", &out->clocks)) {
        return outcome_wrong(text, "clocks", "whole number");
    }
    if (!outcome_whole(summary, "wan_bytes", &out->wan_bytes)) {
        return outcome_wrong(text, "wan_bytes", "whole number");
    }
    out->scale = out->scale > 0 && out->scale <= 1 ? out->scale : 1;
    outcome_cost(summary, out);
    outcome_workers(summary, out);
    outcome_sites(summary, out);
    outcome_budget(summary, out);
    return OK;
}

static enum err outcome_read(const char *dir, const char *file, size_t most, char *path,
                             struct text *out, struct err_text *text)
{
    struct err_text why = {""};
    enum err rc;

    if (snprintf(path, OUTCOME_PATH_BYTES, "%s/%s", dir, file) >= OUTCOME_PATH_BYTES) {
        return err_text_set(text, ERR_INVALID, "%.128s...: too long a path", dir);
    }
    rc = topo_file_read(path, most, out, &why);
    if (rc == ERR_NOT_FOUND) {
        return err_text_set(text, rc,
                            "%.300s: there is no %s: it is no record of a run, or the run has not "
                            "come to its end",
                            dir, file);
    }
    return rc == OK ? OK : err_text_set(text, rc, "%.400s", why.text);
}

enum err run_outcome_load(const char *dir, struct run_outcome *out, struct err_text *text)
{
    char path[OUTCOME_PATH_BYTES];
    struct err_text why = {""};
    json_error_t error;
    struct text bytes;
    json_t *summary;
    enum err rc =
        outcome_read(dir, "summary.json", RUN_OUTCOME_SUMMARY_BYTES_MAX, path, &bytes, text);

    if (rc != OK) {
        return rc;
    }
    summary = json_loadb(bytes.chars, bytes.size, JSON_REJECT_DUPLICATES, &error);
    text_deinit(&bytes);
    if (summary == NULL) {
        char shown[JSON_ERROR_TEXT_LENGTH * 4];
        struct text t;

        text_init_fixed(&t, shown, sizeof(shown));
        text_add_printable(&t, error.text);
        return err_text_set(text, ERR_MALFORMED,
                            "%.300s:%d: %.160s: the record is damaged; run it again", path,
                            error.line, shown);
    }
    rc = run_outcome_parse(summary, out, &why);
    json_decref(summary);
    return rc == OK ? OK
                    : err_text_set(text, rc, "%.300s: %.160s: it is no summary of a run", path,
                                   why.text);
}

/* Evaluations. */

struct outcome_row {
    uint64_t clock;
    double time_s;
    double objective; /* NaN: it was not evaluated, or diverged. */
};

/* How a table is read: first as a whole, then for what was how good when. */
struct outcome_reader {
    const char *name;
    bool rising;
    double goal;
    struct run_scalars *s;
    struct outcome_row before; /* The last evaluation; clock zero: none yet. */
};

/* A line without its end. False: it is none of ours. */
static bool outcome_row(const char *line, const char *end, struct outcome_row *out)
{
    uint32_t field = 0;
    bool good = true;

    *out = (struct outcome_row){.objective = NAN};
    for (const char *at = line; at <= end && good; field++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t size = (size_t)((comma == NULL ? end : comma) - at);
        char value[64], *rest = value;

        if (size >= sizeof(value)) {
            return false;
        }
        memcpy(value, at, size);
        value[size] = '\0';
        if (field == 0) {
            out->clock = strtoull(value, &rest, 10);
            good = size > 0 && size < 20 && value[0] >= '1' && value[0] <= '9' && *rest == '\0';
        } else if (field == OUTCOME_FIELD_TIME) {
            out->time_s = strtod(value, &rest);
            good = size > 0 && *rest == '\0' && isfinite(out->time_s);
        } else if (field == OUTCOME_FIELD_OBJECTIVE && size > 0) {
            out->objective = strtod(value, &rest);
            good = *rest == '\0' && isfinite(out->objective);
        }
        at += size + 1;
    }
    return good && field == OUTCOME_FIELDS;
}

static bool outcome_as_good(double a, double b, bool rising)
{
    return rising ? a >= b : a <= b;
}

static void outcome_take(struct outcome_reader *r, const struct outcome_row *row)
{
    struct run_scalars *s = r->s;

    s->clock = row->clock;
    if (isnan(row->objective)) {
        return;
    }
    s->last_clock = row->clock;
    s->last = row->objective;
    s->last_s = row->time_s;
    if (s->best_clock == 0 || !outcome_as_good(s->best, row->objective, r->rising)) {
        s->best_clock = row->clock;
        s->best = row->objective;
    }
}

/* The straight line from the evaluation before, which was not there yet, to this one, which is. */
static void outcome_reach(const struct outcome_reader *r, const struct outcome_row *row)
{
    const struct outcome_row *before = &r->before;
    double part = 0; /* Of the way back. */

    if (before->clock > 0) {
        part = (row->objective - r->goal) / (row->objective - before->objective);
        part = part >= 0 && part <= 1 ? part : 0; /* Not so: numbers beyond all measure. */
    }
    r->s->reached_clock = (double)row->clock - part * (double)(row->clock - before->clock);
    r->s->reached_s = row->time_s - part * (row->time_s - before->time_s);
}

static void outcome_judge(struct outcome_reader *r, const struct outcome_row *row)
{
    if (isnan(row->objective)) {
        return;
    }
    if (r->s->first_clock == 0 && outcome_as_good(row->objective, r->s->last, r->rising)) {
        r->s->first_clock = row->clock;
    }
    if (isnan(r->s->reached_s) && outcome_as_good(row->objective, r->goal, r->rising)) {
        outcome_reach(r, row);
    }
    r->before = *row;
}

static enum err outcome_rows(struct outcome_reader *r, const char *bytes, size_t size,
                             void (*see)(struct outcome_reader *r, const struct outcome_row *row),
                             struct err_text *text)
{
    const char *at = bytes + sizeof(outcome_header) - 1, *stop = bytes + size;
    uint64_t clock = 0;
    uint32_t line = 2;

    for (const char *end; (end = memchr(at, '\n', (size_t)(stop - at))) != NULL; line++) {
        struct outcome_row row;

        if (!outcome_row(at, end, &row) || row.clock <= clock) {
            return err_text_set(text, ERR_MALFORMED,
                                "%.300s:%u: it is no row of a run: the record is damaged", r->name,
                                line);
        }
        see(r, &row);
        clock = row.clock;
        at = end + 1;
    }
    return OK;
}

enum err run_scalars_parse(const char *name, const char *bytes, size_t size, bool rising,
                           double goal, struct run_scalars *out, struct err_text *text)
{
    struct outcome_reader r = {.name = name, .rising = rising, .goal = goal, .s = out};
    enum err rc;

    *out = (struct run_scalars){
        .last = NAN, .last_s = NAN, .best = NAN, .reached_clock = NAN, .reached_s = NAN};
    if (size < sizeof(outcome_header) - 1 ||
        memcmp(bytes, outcome_header, sizeof(outcome_header) - 1) != 0) {
        return err_text_set(text, ERR_MALFORMED,
                            "%.300s:1: it does not begin as the table of a run does", name);
    }
    rc = outcome_rows(&r, bytes, size, outcome_take, text);
    return rc == OK ? outcome_rows(&r, bytes, size, outcome_judge, text) : rc;
}

enum err run_scalars_load(const char *dir, bool rising, double goal, struct run_scalars *out,
                          struct err_text *text)
{
    char path[OUTCOME_PATH_BYTES];
    struct text bytes;
    enum err rc =
        outcome_read(dir, "scalars.csv", RUN_OUTCOME_SCALARS_BYTES_MAX, path, &bytes, text);

    if (rc == OK) {
        rc = run_scalars_parse(path, bytes.chars, bytes.size, rising, goal, out, text);
        text_deinit(&bytes);
    }
    return rc;
}

uint64_t run_scalars_peek(const char *dir, double *objective_out)
{
    char path[OUTCOME_PATH_BYTES], tail[OUTCOME_PEEK_BYTES];
    const char *at, *end;
    uint64_t clock = 0;
    ssize_t size = 0;
    int fd;

    *objective_out = NAN;
    (void)snprintf(path, sizeof(path), "%s/scalars.csv", dir);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    if (lseek(fd, -(off_t)sizeof(tail), SEEK_END) < 0) {
        (void)lseek(fd, 0, SEEK_SET);
    }
    size = read(fd, tail, sizeof(tail));
    (void)close(fd);
    at = tail;
    for (; size > 0 && (end = memchr(at, '\n', (size_t)(tail + size - at))) != NULL; at = end + 1) {
        struct outcome_row row;

        if (outcome_row(at, end, &row)) {
            clock = row.clock;
            *objective_out = isnan(row.objective) ? *objective_out : row.objective;
        }
    }
    return clock;
}
