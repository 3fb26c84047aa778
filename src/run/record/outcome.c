#include "run/record/outcome.h"

#include "base/text.h"
#include "run/record/reading.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OUTCOME_PEEK_BYTES = 4096 };

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

    out->workers = (uint32_t)json_array_size(workers);
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

static void outcome_sparsified(const json_t *summary, struct run_outcome *out)
{
    const json_t *workers = json_object_get(summary, "sparsified");
    const json_t *servers = json_object_get(workers, "servers");
    double elements = outcome_sum(workers, "elements") + outcome_sum(servers, "elements");
    double sent_elements =
        outcome_sum(workers, "sent_elements") + outcome_sum(servers, "sent_elements");

    out->sent = elements > 0 ? sent_elements / elements : (double)NAN;
    out->codec_s = outcome_real(summary, "codec_seconds");
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
                                .bytes = outcome_real(summary, "bytes"),
                                .move_s = outcome_real(summary, "move_s"),
                                .rising = json_is_true(json_object_get(summary, "rising"))};
    for (uint32_t i = 0; i < RUN_PARTS; i++) {
        out->small[i] =
            outcome_real(json_object_get(summary, "insignificant_at"), run_part_names[i]);
    }
    out->small[RUN_PART_ONE_PERCENT] = outcome_real(summary, "insignificant");
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
    outcome_sparsified(summary, out);
    outcome_budget(summary, out);
    return OK;
}

enum err run_outcome_load(const char *dir, struct run_outcome *out, struct err_text *text)
{
    char path[RUN_READING_PATH_BYTES];
    struct err_text why = {""};
    struct run_reading_bytes in;
    json_t *summary = NULL;
    struct text bytes;
    enum err rc =
        run_reading_file(dir, "summary.json", RUN_READING_JSON_BYTES_MAX, path, &bytes, text);

    if (rc != OK) {
        return rc;
    }
    in = (struct run_reading_bytes){.name = path, .chars = bytes.chars, .size = bytes.size};
    rc = run_reading_json(&in, &summary, text);
    text_deinit(&bytes);
    if (rc != OK) {
        return rc;
    }
    rc = run_outcome_parse(summary, out, &why);
    json_decref(summary);
    return rc == OK ? OK
                    : err_text_set(text, rc, "%.300s: %.160s: it is no summary of a run", path,
                                   why.text);
}

/* Evaluations. */

/* How a table is read: first as a whole, then for what was how good when. */
struct outcome_reader {
    bool rising;
    double goal;
    struct run_scalars *s;
    struct run_reading_point before; /* The last evaluation; clock zero: none yet. */
};

static bool outcome_as_good(double a, double b, bool rising)
{
    return rising ? a >= b : a <= b;
}

static const char *outcome_take(const struct run_reading_row *row, void *user)
{
    struct outcome_reader *r = user;
    struct run_scalars *s = r->s;

    s->clock = row->clock;
    if (isnan(row->objective)) {
        return NULL;
    }
    s->last_clock = row->clock;
    s->last = row->objective;
    s->last_s = row->time_s;
    if (s->best_clock == 0 || !outcome_as_good(s->best, row->objective, r->rising)) {
        s->best_clock = row->clock;
        s->best = row->objective;
    }
    return NULL;
}

static const char *outcome_judge(const struct run_reading_row *row, void *user)
{
    struct outcome_reader *r = user;
    struct run_reading_point pair[] = {
        r->before, {.clock = row->clock, .time_s = row->time_s, .value = row->objective}};
    bool first = r->before.clock == 0;

    if (isnan(row->objective)) {
        return NULL;
    }
    if (r->s->first_clock == 0 && outcome_as_good(row->objective, r->s->last, r->rising)) {
        r->s->first_clock = row->clock;
    }
    if (isnan(r->s->reached_s)) {
        struct run_reading_reach reach;

        run_reading_reach(&pair[first], first ? 1 : 2, r->rising, r->goal, &reach);
        r->s->reached_clock = reach.clock;
        r->s->reached_s = reach.time_s;
    }
    r->before = pair[1];
    return NULL;
}

enum err run_scalars_parse(const char *name, const char *bytes, size_t size, bool rising,
                           double goal, struct run_scalars *out, struct err_text *text)
{
    struct run_reading_bytes in = {.name = name, .chars = bytes, .size = size};
    struct outcome_reader r = {.rising = rising, .goal = goal, .s = out};
    uint32_t torn;
    enum err rc;

    *out = (struct run_scalars){
        .last = NAN, .last_s = NAN, .best = NAN, .reached_clock = NAN, .reached_s = NAN};
    rc = run_reading_rows(&in, outcome_take, &r, &torn, text);
    return rc == OK ? run_reading_rows(&in, outcome_judge, &r, &torn, text) : rc;
}

enum err run_scalars_load(const char *dir, bool rising, double goal, struct run_scalars *out,
                          struct err_text *text)
{
    char path[RUN_READING_PATH_BYTES];
    struct text bytes;
    enum err rc =
        run_reading_file(dir, "scalars.csv", RUN_READING_TABLE_BYTES_MAX, path, &bytes, text);

    if (rc == OK) {
        rc = run_scalars_parse(path, bytes.chars, bytes.size, rising, goal, out, text);
        text_deinit(&bytes);
    }
    return rc;
}

struct outcome_peek {
    uint64_t clock;
    double *objective;
};

static void outcome_newest(const struct run_reading_row *row, void *user)
{
    struct outcome_peek *p = user;

    p->clock = row->clock;
    *p->objective = isnan(row->objective) ? *p->objective : row->objective;
}

uint64_t run_scalars_peek(const char *dir, double *objective_out)
{
    char path[RUN_READING_PATH_BYTES], head[OUTCOME_PEEK_BYTES], tail[OUTCOME_PEEK_BYTES];
    struct outcome_peek peek = {.objective = objective_out};
    ssize_t first, last;
    int fd;

    *objective_out = NAN;
    (void)snprintf(path, sizeof(path), "%s/scalars.csv", dir);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    first = read(fd, head, sizeof(head));
    if (lseek(fd, -(off_t)sizeof(tail), SEEK_END) < 0) {
        (void)lseek(fd, 0, SEEK_SET);
    }
    last = read(fd, tail, sizeof(tail));
    (void)close(fd);
    if (first > 0 && last > 0) {
        struct run_reading_bytes a = {.chars = head, .size = (size_t)first};
        struct run_reading_bytes b = {.chars = tail, .size = (size_t)last};

        run_reading_peek(&a, &b, outcome_newest, &peek);
    }
    return peek.clock;
}
