#include "run/report/report.h"

#include "run/record/record.h"
#include "run/report/state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { REPORT_RUN_BYTES_MAX = 96 * 1024 };

const char *report_objective(const struct run_reading *r)
{
    const struct app_ops *job = app_find(r->file->job.name);

    return r->finished && r->outcome.objective_is[0] != '\0' ? r->outcome.objective_is
           : job != NULL                                     ? job->objective
                                                             : "objective";
}

bool report_rising(const struct run_reading *r)
{
    const struct app_ops *job = app_find(r->file->job.name);

    return r->finished ? r->outcome.rising : job != NULL && job->rising;
}

static const struct run_reading_row *report_last(const struct run_reading *r)
{
    return r->rows_count == 0 ? NULL : &r->rows[r->rows_count - 1];
}

static uint64_t report_clocks(const struct run_reading *r)
{
    return r->finished ? r->outcome.clocks : report_last(r) == NULL ? 0 : report_last(r)->clock;
}

/* The newest evaluation that there is. */
static double report_newest(const struct run_reading *r)
{
    for (uint32_t i = r->rows_count; i > 0 && !r->finished; i--) {
        if (isfinite(r->rows[i - 1].objective)) {
            return r->rows[i - 1].objective;
        }
    }
    return r->finished ? r->outcome.objective : (double)NAN;
}

/* What went between regions costs; NaN: a price is missing. */
static double report_transfer(const struct run_reading *r)
{
    uint32_t n = r->traffic.regions;
    double sum = 0;

    for (uint32_t i = 0; i < n * n; i++) {
        sum += r->traffic.bytes[i] > 0 ? r->usd[i] : 0;
    }
    return sum;
}

/* The heading. */

/* How it ended: a word, its colour, and a sentence around the clock. */
static const struct report_end {
    const char *end, *colour, *word, *sentence, *behind;
} report_ends[] = {
    {"clocks", "good", "all clocks", "It ended all its", " clocks"},
    {"goal", "good", "goal reached", "It reached its goal at clock", ""},
    {"converged", "good", "converged", "It had converged at clock", ""},
    {"diverged", "bad", "diverged", "It had diverged at clock", ""},
    {"time", "good", "time over", "Its time was over at clock", ""},
    {"interrupted", "warn", "interrupted", "Somebody ended it at clock", ""},
    {"failed", "bad", "failed", "It failed at clock", ""},
};

static const struct report_end *report_end(const struct run_reading *r)
{
    static const struct report_end unfinished = {
        "", "warn", "not finished",
        "It has not come to its end (it still goes on, or was killed). So far it is at clock", ""};
    static const struct report_end other = {"", "warn", "over", "It was over at clock", ""};

    for (size_t i = 0; i < sizeof(report_ends) / sizeof(report_ends[0]) && r->finished; i++) {
        if (strcmp(report_ends[i].end, r->outcome.end) == 0) {
            return &report_ends[i];
        }
    }
    return r->finished ? &other : &unfinished;
}

static void report_count(struct text *t, uint64_t count, const char *one, const char *many)
{
    text_addf(t, "%" PRIu64 " %s", count, count == 1 ? one : many);
}

/* "mf at 3 sites with 6 workers, simulated." */
static void report_what(const struct run_reading *r, struct text *t)
{
    const struct run_file *f = r->file;

    text_addf(t, "%s ", f->job.name);
    if (f->sites_count > 1) {
        text_add(t, "at ");
        report_count(t, f->sites_count, "site", "sites");
    } else if (f->parts_count > 1) {
        text_addf(t, "of %u sites as one (layout %s)", f->parts_count, run_layout_name(f->layout));
    } else {
        text_add(t, "at one site");
    }
    text_add(t, " with ");
    report_count(t, f->workers, "worker", "workers");
    text_add(t, ", ");
    if (strcmp(r->env.backend, "sim") == 0) {
        text_add(t, "simulated: times are virtual. ");
    } else if (strcmp(r->env.backend, "local") == 0) {
        text_add(t, "as processes on one machine, with emulated links. ");
    } else if (strcmp(r->env.backend, "lab") == 0) {
        text_add(t, "as processes in a lab on one machine. ");
    } else {
        text_addf(t, "on %s. ", r->env.backend);
    }
}

static void report_sentence(const struct run_reading *r, struct text *t)
{
    double transfer = report_transfer(r), newest = report_newest(r);
    const struct report_end *end = report_end(r);
    bool reasons = r->finished && r->outcome.why.text[0] != '\0';

    report_what(r, t);
    text_addf(t, "%s %" PRIu64 "%s, after ", end->sentence, report_clocks(r), end->behind);
    figure_time(r->last_s, t);
    if (isfinite(newest)) {
        text_addf(t, ", with %s ", report_objective(r));
        figure_number(newest, t);
    }
    text_addf(t, "%s%s. ", reasons ? ": " : "", reasons ? r->outcome.why.text : "");
    figure_bytes(run_traffic_total(&r->traffic), t);
    text_add(t, " went between regions");
    if (isfinite(transfer) && transfer > 0) {
        text_add(t, ", for ");
        run_page_usd(t, transfer);
    }
    if (r->finished && r->outcome.priced) {
        text_add(t, "; with its machines it cost ");
        run_page_usd(t, r->outcome.cost.total);
    }
    text_add(t, ".");
    if (r->finished && isfinite(r->predicted_s)) {
        text_add(t, " The simulator says ");
        figure_time(r->predicted_s, t);
        text_add(t, " for it.");
    }
    if (r->file->links.scale < 1) {
        text_addf(t, " Scale 1:%.6g: bytes and dollars are as at full size.",
                  1 / r->file->links.scale);
    }
}

static void report_head(const struct run_reading *r, struct text *out)
{
    const struct report_end *end = report_end(r);
    char sentence[2 * ERR_TEXT_BYTES + 512];
    struct text t;

    text_init_fixed(&t, sentence, sizeof(sentence));
    report_sentence(r, &t);
    text_addf(out, "<p class=\"lead\"><span class=\"pill %s\">%s</span>", end->colour, end->word);
    run_svg_escape(out, sentence);
    text_add(out, "</p>\n");
    if (r->invalid) {
        text_add(out, "<p class=\"note\">Not valid: packets of the lab were late by more than a "
                      "millisecond on average. The machine was too slow for these links, or too "
                      "busy.</p>\n");
    }
    for (uint32_t i = 0; i < r->torn_count; i++) {
        text_add(out, "<p class=\"note\">");
        run_svg_escape(out, strrchr(r->torn[i].text, '/') == NULL
                                ? r->torn[i].text
                                : strrchr(r->torn[i].text, '/') + 1);
        text_add(out, ".</p>\n");
    }
}

/* Tiles. */

static void report_tile_time(const struct run_reading *r, struct text *out)
{
    struct report_words value, more;
    uint64_t clocks = report_clocks(r);

    figure_time(r->last_s, report_words(&value));
    (void)report_words(&more);
    if (clocks > 0) {
        figure_time(r->last_s / (double)clocks, &more.text);
        text_add(&more.text, " a clock");
    }
    run_page_tile(out, strcmp(r->env.backend, "sim") == 0 ? "virtual time" : "time", value.chars,
                  more.chars);
    text_addf(report_words(&value), "%" PRIu64, clocks);
    (void)report_words(&more);
    if (r->file->stop.clocks > 0) {
        text_addf(&more.text, "of %" PRIu64, r->file->stop.clocks);
    }
    run_page_tile(out, "clocks", value.chars, more.chars);
}

static void report_tile_cost(const struct run_reading *r, struct text *out)
{
    const struct run_outcome_cost *cost = &r->outcome.cost;
    bool whole = r->finished && r->outcome.priced;
    struct report_words value, more;

    run_page_usd(report_words(&value), whole ? cost->total : report_transfer(r));
    (void)report_words(&more);
    if (whole) {
        text_add(&more.text, "machines ");
        run_page_usd(&more.text, cost->compute + cost->waiting);
        text_add(&more.text, ", transfer ");
        run_page_usd(&more.text, cost->transfer);
    } else {
        text_add(&more.text, "transfer alone");
    }
    run_page_tile(out, "cost", value.chars, more.chars);
}

static void report_tile_waiting(const struct run_reading *r, struct text *out)
{
    double compute = r->outcome.compute_s, wait = r->outcome.read_s + r->outcome.end_s;
    struct report_words value;

    for (uint32_t i = 0; i < r->rows_count && !r->finished; i++) {
        double workers = (double)r->rows[i].workers;

        compute += r->rows[i].compute_s * workers;
        wait += (r->rows[i].read_s + r->rows[i].end_s) * workers;
    }
    run_page_percent(report_words(&value),
                     compute + wait > 0 ? wait / (compute + wait) : (double)NAN);
    run_page_tile(out, "waiting", value.chars, "of the workers' time");
}

/* What members of sites held back, and what it took them. */
static void report_tile_sparsified(const struct run_reading *r, struct text *out)
{
    struct report_words value, more;

    if (!r->finished || !isfinite(r->outcome.codec_s)) {
        return;
    }
    run_page_percent(report_words(&value), r->outcome.sent);
    text_add(report_words(&more), "of all entries; compressing took workers ");
    figure_time(r->outcome.codec_s, &more.text);
    run_page_tile(out, "sent inside", value.chars, more.chars);
}

static void report_tiles(const struct run_reading *r, struct text *out)
{
    struct report_words value, more;
    uint64_t bytes = run_traffic_total(&r->traffic), clocks = report_clocks(r);

    text_add(out, "<div class=\"tiles\">\n");
    report_tile_time(r, out);
    figure_number(report_newest(r), report_words(&value));
    text_addf(report_words(&more), "%s", report_objective(r));
    if (r->finished && isfinite(r->outcome.accuracy)) {
        text_add(&more.text, "; accuracy ");
        run_page_percent(&more.text, r->outcome.accuracy);
    }
    run_page_tile(out, "objective", value.chars, more.chars);
    figure_bytes(bytes, report_words(&value));
    (void)report_words(&more);
    if (clocks > 0) {
        figure_bytes(bytes / clocks, &more.text);
        text_add(&more.text, " a clock");
    }
    run_page_tile(out, "between regions", value.chars, more.chars);
    report_tile_cost(r, out);
    report_tile_waiting(r, out);
    report_tile_sparsified(r, out);
    text_add(out, "</div>\n");
}

/* The rest. */

static void report_again(const struct run_reading *r, struct text *out)
{
    struct report_words line;

    text_add(out, "<h2>Again</h2>\n<p class=\"soft\">In the folder of this record:</p>\n"
                  "<dl class=\"commands\">\n");
    text_addf(report_words(&line), "strait run run.yaml --on %s -o again", r->env.backend);
    run_page_command(out, line.chars,
                     strcmp(r->env.backend, "sim") == 0
                         ? "the same run once more: the same times and bytes, exactly"
                         : "the same run once more");
    run_page_command(out, "strait compare . ../ANOTHER",
                     "this run beside others: a table, CSV and a page");
    if (r->file->parts_count > 1) {
        run_page_command(out, "strait compare run.yaml",
                         "the same file with every way to synchronise");
    }
    run_page_command(out, "strait report .", "this page, written anew");
    text_add(out, "</dl>\n");
    if (r->env.command[0] != '\0') {
        text_add(out, "<p class=\"soft\">It was run as <code>");
        run_svg_escape(out, r->env.command);
        text_add(out, "</code></p>\n");
    }
}

/* A run file with a large map is not for people: its beginning is. */
static enum err report_run(const struct run_reading *r, struct text *out)
{
    struct text yaml;

    if (text_init(&yaml, RUN_PRINT_BYTES_MAX) != OK) {
        return ERR_NOMEM;
    }
    run_file_print(r->file, &yaml);
    text_add(out, "<details><summary>The run file, with all defaults</summary><pre>");
    if (yaml.size > REPORT_RUN_BYTES_MAX) {
        size_t size = REPORT_RUN_BYTES_MAX;

        while (size > 0 && yaml.chars[size - 1] != '\n') {
            size--;
        }
        yaml.chars[size] = '\0';
    }
    run_svg_escape(out, yaml.chars);
    text_add(out, "</pre>");
    text_add(out, yaml.size > REPORT_RUN_BYTES_MAX
                      ? "<p class=\"from\">All of it is in <code>run.yaml</code>.</p>"
                      : "");
    text_add(out, "</details>\n");
    text_deinit(&yaml);
    return OK;
}

static void report_fact(struct text *out, const char *name, const char *value)
{
    if (value[0] != '\0') {
        text_addf(out, "<tr><td>%s</td><td>", name);
        run_svg_escape(out, value);
        text_add(out, "</td></tr>");
    }
}

static void report_env(const struct run_reading *r, struct text *out)
{
    const struct run_reading_env *e = &r->env;
    struct report_words value;

    text_add(out, "<details><summary>With what, where and when</summary><div class=\"scroll\">"
                  "<table>");
    report_fact(out, "Strait", e->strait);
    report_fact(out, "compiler", e->compiler);
    report_fact(out, "backend", e->backend);
    report_fact(out, "started (UTC)", e->started);
    text_addf(report_words(&value), "%" PRIu64, r->file->seed);
    report_fact(out, "seed", value.chars);
    report_fact(out, "processor", e->cpu);
    text_addf(report_words(&value), "%s%s%s", e->system, e->system[0] == '\0' ? "" : " ",
              e->kernel);
    report_fact(out, "system", value.chars);
    if (e->cores > 0) {
        text_addf(report_words(&value), "%" PRIu64 " (%s)", e->cores, e->architecture);
        report_fact(out, "cores", value.chars);
    }
    if (e->memory_bytes > 0) {
        figure_bytes(e->memory_bytes, report_words(&value));
        report_fact(out, "memory", value.chars);
    }
    text_add(out, "</table></div><p class=\"from\">From <code>env.json</code> and "
                  "<code>run.yaml</code>.</p></details>\n");
}

enum err run_report_print(const struct run_reading *r, struct text *out)
{
    enum err rc;

    run_page_open(out, "record of a run", r->file->name);
    report_head(r, out);
    report_tiles(r, out);
    rc = report_curves(r, out);
    if (rc != OK) {
        return rc;
    }
    report_links(r, out);
    report_sites(r, out);
    report_events(r, out);
    report_again(r, out);
    rc = report_run(r, out);
    report_env(r, out);
    text_add(out, "<footer>Written by Strait " STRAIT_VERSION " from the files beside it: "
                  "<code>run.yaml</code>, <code>env.json</code>, <code>events.jsonl</code>, "
                  "<code>scalars.csv</code>, <code>links.csv</code>, <code>summary.json</code>. "
                  "docs/RECORD.md says what every column and key means.</footer>\n");
    run_page_close(out);
    return rc;
}

enum err run_report_keep(const char *dir, struct err_text *text)
{
    struct run_reading *r = NULL;
    struct text page;
    enum err rc = run_reading_load(dir, &r, text);

    if (rc != OK) {
        return rc;
    }
    rc = text_init(&page, RUN_PAGE_BYTES_MAX);
    if (rc == OK) {
        rc = run_report_print(r, &page);
        rc = rc == OK && page.failed ? ERR_NOMEM : rc;
        if (rc == OK) {
            rc = run_folder_put(dir, "report.html", page.chars, page.size, text);
        }
        text_deinit(&page);
    }
    run_reading_free(r);
    return rc == ERR_NOMEM ? err_text_set(text, rc, "%.300s: no memory for its page", dir) : rc;
}
