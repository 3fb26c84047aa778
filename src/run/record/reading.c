#include "run/record/reading.h"

#include "base/mem.h"
#include "run/cost/cost.h"
#include "topo/file.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Files. */

enum err run_reading_file(const char *dir, const char *file, size_t bytes_max, char *path,
                          struct text *out, struct err_text *text)
{
    struct err_text why = {""};
    enum err rc;

    if (snprintf(path, RUN_READING_PATH_BYTES, "%s/%s", dir, file) >= RUN_READING_PATH_BYTES) {
        return err_text_set(text, ERR_INVALID, "%.128s...: too long a path", dir);
    }
    rc = topo_file_read(path, bytes_max, out, &why);
    if (rc == ERR_NOT_FOUND) {
        return err_text_set(text, rc,
                            "%.300s: there is no %s: it is no record of a run, or the run has not "
                            "come to its end",
                            dir, file);
    }
    return rc == OK ? OK : err_text_set(text, rc, "%.400s", why.text);
}

static void reading_torn(struct run_reading *r, const char *path, uint32_t line)
{
    if (line > 0 && r->torn_count < RUN_READING_TORN_MAX) {
        (void)err_text_set(&r->torn[r->torn_count++], OK,
                           "%.400s:%u: the last line was cut off, and is left out", path, line);
    }
}

static size_t reading_lines(const struct run_reading_bytes *in)
{
    const char *at = in->chars, *stop = in->chars + in->size;
    size_t lines = 0;

    for (const char *end; at < stop && (end = memchr(at, '\n', (size_t)(stop - at))) != NULL;
         at = end + 1) {
        lines++;
    }
    return lines;
}

/* Each file is parsed by a function of this kind. */
typedef enum err reading_parse(struct run_reading *r, const struct run_reading_bytes *in,
                               struct err_text *text);

static enum err reading_one(struct run_reading *r, const char *dir, const char *file, size_t most,
                            reading_parse *parse, struct err_text *text)
{
    char path[RUN_READING_PATH_BYTES];
    struct text bytes = {0};
    enum err rc = run_reading_file(dir, file, most, path, &bytes, text);

    if (rc == OK) {
        struct run_reading_bytes in = {.name = path, .chars = bytes.chars, .size = bytes.size};

        rc = parse(r, &in, text);
        text_deinit(&bytes);
    }
    return rc;
}

static enum err reading_env(struct run_reading *r, const struct run_reading_bytes *in,
                            struct err_text *text)
{
    return run_reading_env(in, &r->env, text);
}

static enum err reading_run(struct run_reading *r, const struct run_reading_bytes *in,
                            struct err_text *text)
{
    return run_file_parse(in->name, NULL, in->chars, in->size, &r->file, text);
}

static const char *reading_row(const struct run_reading_row *row, void *user)
{
    struct run_reading *r = user;

    r->rows[r->rows_count++] = *row;
    r->last_s = row->time_s > r->last_s ? row->time_s : r->last_s;
    return NULL;
}

static enum err reading_no_memory(const struct run_reading_bytes *in, struct err_text *text)
{
    return err_text_set(text, ERR_NOMEM, "%.300s: out of memory", in->name);
}

static enum err reading_scalars(struct run_reading *r, const struct run_reading_bytes *in,
                                struct err_text *text)
{
    uint32_t torn = 0;
    enum err rc;

    r->rows = mem_calloc(reading_lines(in) + 1, sizeof(*r->rows));
    if (r->rows == NULL) {
        return reading_no_memory(in, text);
    }
    rc = run_reading_rows(in, reading_row, r, &torn, text);
    reading_torn(r, in->name, torn);
    return rc;
}

/* The newest of each link stays. */
static const char *reading_link(const struct run_reading_link *link, void *user)
{
    struct run_reading *r = user;
    uint32_t from, to;
    size_t at;

    if (!topo_region_find(r->file->topo, link->from, &from) ||
        !topo_region_find(r->file->topo, link->to, &to) || from == to) {
        return "it names no link of run.yaml";
    }
    at = (size_t)from * r->traffic.regions + to;
    if (link->bytes < r->traffic.bytes[at]) {
        return "the link has less bytes than before";
    }
    r->traffic.bytes[at] = link->bytes;
    r->usd[at] = link->usd;
    r->last_s = link->time_s > r->last_s ? link->time_s : r->last_s;
    return NULL;
}

static enum err reading_links(struct run_reading *r, const struct run_reading_bytes *in,
                              struct err_text *text)
{
    uint32_t regions = topo_regions(r->file->topo), torn = 0;
    enum err rc = run_traffic_init(&r->traffic, regions);

    r->usd = mem_calloc((size_t)regions * regions, sizeof(*r->usd));
    if (rc != OK || r->usd == NULL) {
        return reading_no_memory(in, text);
    }
    rc = run_reading_links(in, reading_link, r, &torn, text);
    reading_torn(r, in->name, torn);
    return rc;
}

/* Their words lie behind each other; they are never longer than the line that they are of. */
struct reading_words {
    struct run_reading *reading;
    size_t used;
};

static const char *reading_keep(struct reading_words *w, const char *word)
{
    char *at = w->reading->words + w->used;
    size_t size = strlen(word) + 1;

    memcpy(at, word, size);
    w->used += size;
    return at;
}

static const char *reading_event(const struct run_reading_event *event, void *user)
{
    struct reading_words *w = user;
    struct run_reading *r = w->reading;

    r->events[r->events_count++] = (struct run_reading_event){.time_s = event->time_s,
                                                              .kind = reading_keep(w, event->kind),
                                                              .who = reading_keep(w, event->who),
                                                              .text = reading_keep(w, event->text)};
    r->last_s = event->time_s > r->last_s ? event->time_s : r->last_s;
    return NULL;
}

static enum err reading_events(struct run_reading *r, const struct run_reading_bytes *in,
                               struct err_text *text)
{
    struct reading_words words = {.reading = r};
    uint32_t torn = 0;
    enum err rc;

    r->events = mem_calloc(reading_lines(in) + 1, sizeof(*r->events));
    r->words = mem_zalloc(in->size + 1);
    if (r->events == NULL || r->words == NULL) {
        return reading_no_memory(in, text);
    }
    rc = run_reading_events(in, reading_event, &words, &torn, text);
    reading_torn(r, in->name, torn);
    return rc;
}

/* The summary. */

static double reading_real(const json_t *object, const char *key, double other)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : other;
}

static void reading_word(const json_t *object, const char *key, char *out, size_t size)
{
    const char *value = json_string_value(json_object_get(object, key));
    struct text t;

    text_init_fixed(&t, out, size);
    text_add_printable(&t, value == NULL ? "" : value);
}

static uint64_t reading_count(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 ? (uint64_t)value : 0;
}

static void reading_site(const json_t *site, struct run_reading_site *out)
{
    const json_t *cost = json_object_get(site, "cost"), *shared = json_object_get(site, "shared");
    const json_t *around = json_object_get(site, "around");

    *out = (struct run_reading_site){
        .workers = reading_count(site, "workers"),
        .compute_usd = reading_real(cost, "compute_usd", NAN),
        .waiting_usd = reading_real(cost, "waiting_usd", NAN),
        .transfer_usd = reading_real(cost, "transfer_usd", NAN),
        .total_usd = reading_real(cost, "total_usd", NAN),
        .shared = json_is_object(shared),
        .insignificant = reading_real(shared, "insignificant", NAN),
        .waited_clock_s = reading_real(shared, "waited_clock_s", 0),
        .waited_barrier_s = reading_real(shared, "waited_barrier_s", 0),
        .waited_fresh_s = reading_real(shared, "waited_fresh_s", 0),
        .waited_room_s = reading_real(shared, "waited_room_s", 0),
        .around = json_is_object(around),
        .sums_sent = reading_count(around, "sums_sent"),
        .sums_taken = reading_count(around, "sums_taken"),
        .wholes_taken = reading_count(around, "wholes_taken"),
        .carried = reading_count(around, "carried"),
        .plans = reading_count(around, "plans"),
        .passed_bytes = reading_count(around, "passed_bytes"),
    };
    reading_word(site, "name", out->name, sizeof(out->name));
    reading_word(site, "region", out->region, sizeof(out->region));
}

/* The time of a worker counts for its site. */
static void reading_worker(struct run_reading *r, const json_t *worker)
{
    char name[RUN_READING_WORD_BYTES];

    reading_word(worker, "site", name, sizeof(name));
    for (uint32_t i = 0; i < r->sites_count; i++) {
        struct run_reading_site *s = &r->sites[i];

        if (strcmp(s->name, name) == 0) {
            s->compute_s += reading_real(worker, "compute_s", 0);
            s->read_s += reading_real(worker, "read_s", 0);
            s->end_s += reading_real(worker, "end_s", 0);
            return;
        }
    }
}

static enum err reading_sites(struct run_reading *r, const json_t *summary)
{
    const json_t *sites = json_object_get(summary, "sites");
    const json_t *workers = json_object_get(summary, "workers");
    size_t count = json_array_size(sites);

    count = count < RUN_SERVERS_MAX ? count : RUN_SERVERS_MAX;
    r->sites = mem_calloc(count + 1, sizeof(*r->sites));
    if (r->sites == NULL) {
        return ERR_NOMEM;
    }
    for (; r->sites_count < count; r->sites_count++) {
        reading_site(json_array_get(sites, r->sites_count), &r->sites[r->sites_count]);
    }
    for (size_t i = 0; i < json_array_size(workers); i++) {
        reading_worker(r, json_array_get(workers, i));
    }
    r->predicted_s = reading_real(json_object_get(summary, "predicted"), "time_s", NAN);
    r->invalid = json_is_false(json_object_get(json_object_get(summary, "network"), "valid"));
    return OK;
}

static enum err reading_summary(struct run_reading *r, const struct run_reading_bytes *in,
                                struct err_text *text)
{
    struct err_text why = {""};
    json_t *summary = NULL;
    enum err rc = run_reading_json(in, &summary, text);

    if (rc != OK) {
        return rc;
    }
    rc = run_outcome_parse(summary, &r->outcome, &why);
    if (rc != OK) {
        (void)err_text_set(text, rc, "%.300s: %.160s: it is no summary of a run", in->name,
                           why.text);
    } else if (reading_sites(r, summary) != OK) {
        rc = reading_no_memory(in, text);
    } else {
        r->finished = true;
        r->last_s = r->outcome.time_s;
    }
    json_decref(summary);
    return rc;
}

/* In this order: links are those of the run file, and the last word is the summary's. */
static enum err reading_all(struct run_reading *r, const char *dir, struct err_text *text)
{
    static const struct {
        const char *file;
        size_t most;
        reading_parse *parse;
    } files[] = {
        {"run.yaml", RUN_PRINT_BYTES_MAX, reading_run},
        {"env.json", RUN_READING_JSON_BYTES_MAX, reading_env},
        {"scalars.csv", RUN_READING_TABLE_BYTES_MAX, reading_scalars},
        {"links.csv", RUN_READING_TABLE_BYTES_MAX, reading_links},
        {"events.jsonl", RUN_READING_EVENTS_BYTES_MAX, reading_events},
    };
    enum err rc = OK;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && rc == OK; i++) {
        rc = reading_one(r, dir, files[i].file, files[i].most, files[i].parse, text);
    }
    if (rc == OK) {
        rc = reading_one(r, dir, "summary.json", RUN_READING_JSON_BYTES_MAX, reading_summary, text);
        rc = rc == ERR_NOT_FOUND ? OK : rc;
    }
    return rc;
}

enum err run_reading_load(const char *dir, struct run_reading **reading_out, struct err_text *text)
{
    struct run_reading *r = mem_zalloc(sizeof(*r));
    enum err rc;

    if (r == NULL) {
        return err_text_set(text, ERR_NOMEM, "%.300s: out of memory", dir);
    }
    rc = reading_all(r, dir, text);
    if (rc != OK) {
        run_reading_free(r);
        return rc;
    }
    *reading_out = r;
    return OK;
}

enum err run_reading_rows_load(const char *dir, struct run_reading_row **rows_out,
                               uint32_t *count_out, struct err_text *text)
{
    struct run_reading r = {.rows = NULL};
    enum err rc =
        reading_one(&r, dir, "scalars.csv", RUN_READING_TABLE_BYTES_MAX, reading_scalars, text);

    if (rc != OK) {
        mem_free(r.rows);
        return rc;
    }
    *rows_out = r.rows;
    *count_out = r.rows_count;
    return OK;
}

void run_reading_free(struct run_reading *r)
{
    if (r == NULL) {
        return;
    }
    run_file_free(r->file);
    run_traffic_deinit(&r->traffic);
    mem_free(r->usd);
    mem_free(r->sites);
    mem_free(r->rows);
    mem_free(r->events);
    mem_free(r->words);
    mem_free(r);
}

/* Curves. */

enum err run_reading_curve(const struct run_reading_row *rows, uint32_t count,
                           struct run_reading_curve *out)
{
    *out = (struct run_reading_curve){.loss = true};
    for (uint32_t i = 0; i < count && out->loss; i++) {
        out->loss = !isfinite(rows[i].objective);
    }
    out->points = mem_calloc((size_t)count + 1, sizeof(*out->points));
    if (out->points == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        double value = out->loss ? rows[i].loss : rows[i].objective;

        if (isfinite(value)) {
            out->points[out->count++] = (struct run_reading_point){.clock = rows[i].clock,
                                                                   .time_s = rows[i].time_s,
                                                                   .wan_bytes = rows[i].wan_bytes,
                                                                   .wan_usd = rows[i].wan_usd,
                                                                   .value = value};
        }
    }
    return OK;
}

void run_reading_reach(const struct run_reading_point *points, uint32_t count, bool rising,
                       double goal, struct run_reading_reach *out)
{
    *out =
        (struct run_reading_reach){.clock = NAN, .time_s = NAN, .wan_bytes = NAN, .wan_usd = NAN};
    for (uint32_t i = 0; i < count; i++) {
        const struct run_reading_point *p = &points[i], *q = i > 0 ? &points[i - 1] : p;
        double part = 0; /* Of the way back to the point before, which was not there yet. */

        if (rising ? p->value >= goal : p->value <= goal) {
            if (i > 0) {
                part = (p->value - goal) / (p->value - q->value);
                part = part >= 0 && part <= 1 ? part : 0; /* Not so: numbers beyond all measure. */
            }
            *out = (struct run_reading_reach){
                .clock = (double)p->clock - part * (double)(p->clock - q->clock),
                .time_s = p->time_s - part * (p->time_s - q->time_s),
                .wan_bytes = p->wan_bytes - part * (p->wan_bytes - q->wan_bytes),
                .wan_usd = p->wan_usd - part * (p->wan_usd - q->wan_usd)};
            return;
        }
    }
}
