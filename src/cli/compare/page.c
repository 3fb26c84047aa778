/* Comparisons as a page: curves of all runs in one picture, what each took to be as good, and a
 * table. Its style is that of run/report/page.h. */

#include "base/mem.h"
#include "cli/compare/compare.h"
#include "cli/output/figure.h"
#include "run/report/page.h"
#include "run/report/svg.h"

#include <math.h>
#include <string.h>

enum {
    PAGE_POINTS_MAX = 24000, /* Of all curves of all pictures together. */
    PAGE_COLUMNS_MAX = 160,
    PAGE_COLUMNS_MIN = 16,
    PAGE_SENTENCE_BYTES = 2048,
};

/* From where on figures are shown by decades. */
#define PAGE_LOG_X 12
#define PAGE_LOG_Y 50

enum page_kind { PAGE_TIME, PAGE_CLOCKS, PAGE_BYTES, PAGE_USD, PAGE_KINDS };

static const struct {
    const char *title, *x_is, *id;
    enum run_svg_unit unit;
} page_kinds[PAGE_KINDS] = {
    [PAGE_TIME] = {"against time", "time since the start", "time", RUN_SVG_SECONDS},
    [PAGE_CLOCKS] = {"against clocks", "clocks", "clocks", RUN_SVG_PLAIN},
    [PAGE_BYTES] = {"against bytes between regions", "sent between regions", "bytes",
                    RUN_SVG_BYTES},
    [PAGE_USD] = {"against dollars for transfer", "paid for transfer", "dollars", RUN_SVG_DOLLARS},
};

static double page_x(const struct run_reading_point *p, enum page_kind kind)
{
    return kind == PAGE_TIME     ? p->time_s
           : kind == PAGE_CLOCKS ? (double)p->clock
           : kind == PAGE_BYTES  ? p->wan_bytes
                                 : p->wan_usd;
}

/* Curves. */

/* What all pictures are made with. */
struct compare_page {
    const struct compare *c;
    struct run_svg_point *all; /* Of one curve. */
    struct run_svg_point *few; /* Of all curves of a picture. */
    uint32_t columns;
    bool loss; /* No run was evaluated. */
    struct run_svg_series series[COMPARE_RUNS_MAX];
    uint32_t series_count;
};

/* Runs that were never evaluated cannot be beside others. */
static bool page_drawn(const struct compare_page *p, uint32_t run)
{
    const struct compare_run *r = &p->c->runs[run];

    return r->known && r->curve.count > 0 && r->curve.loss == p->loss;
}

static void page_series(struct compare_page *p, enum page_kind kind)
{
    uint32_t used = 0;

    p->series_count = 0;
    for (uint32_t i = 0; i < p->c->count; i++) {
        const struct run_reading_curve *curve = &p->c->runs[i].curve;
        uint32_t count = 0;

        for (uint32_t j = 0; page_drawn(p, i) && j < curve->count; j++) {
            double x = page_x(&curve->points[j], kind);

            if (isfinite(x)) {
                p->all[count++] = (struct run_svg_point){x, curve->points[j].value};
            }
        }
        if (count > 0) {
            count = run_svg_thin(p->all, count, p->columns, p->few + used);
            p->series[p->series_count++] = (struct run_svg_series){
                .name = p->c->runs[i].name, .points = p->few + used, .count = count, .style = i};
            used += count;
        }
    }
}

static bool page_diverged(const struct compare_page *p, const struct run_svg_series *s)
{
    return strcmp(p->c->runs[s->style].outcome.end, "diverged") == 0;
}

/* The range of all that did not diverge, unless all did. */
static void page_y(const struct compare_page *p, struct run_svg_axis *y)
{
    double min = NAN, max = NAN;

    for (int pass = 0; pass < 2 && isnan(min); pass++) {
        for (uint32_t i = 0; i < p->series_count; i++) {
            const struct run_svg_series *s = &p->series[i];

            for (uint32_t j = 0; j < s->count && (pass == 1 || !page_diverged(p, s)); j++) {
                min = s->points[j].y >= min ? min : s->points[j].y;
                max = s->points[j].y <= max ? max : s->points[j].y;
            }
        }
    }
    if (min > 0 && max > min * PAGE_LOG_Y) {
        run_svg_axis_log(y, RUN_SVG_PLAIN, min, max);
    } else {
        run_svg_axis_linear(y, RUN_SVG_PLAIN, min, max, 4, true);
    }
}

/* By decades if the runs end that far from each other; a run that needs nothing is at the left. */
static void page_x_axis(const struct compare_page *p, enum page_kind kind, struct run_svg_axis *x)
{
    double first = NAN, shortest = NAN, longest = 0;

    for (uint32_t i = 0; i < p->series_count; i++) {
        const struct run_svg_series *s = &p->series[i];
        double end = s->points[s->count - 1].x;

        longest = end > longest ? end : longest;
        shortest = end > 0 && !(end >= shortest) ? end : shortest;
        for (uint32_t j = 0; j < s->count; j++) {
            first = s->points[j].x > 0 && !(s->points[j].x >= first) ? s->points[j].x : first;
        }
    }
    if (kind != PAGE_CLOCKS && longest > shortest * PAGE_LOG_X) {
        run_svg_axis_log(x, page_kinds[kind].unit, first, longest);
    } else {
        run_svg_axis_linear(x, page_kinds[kind].unit, 0, longest, 4, false);
    }
}

static const char *page_objective(const struct compare *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->runs[i].known && c->runs[i].outcome.objective_is[0] != '\0') {
            return c->runs[i].outcome.objective_is;
        }
    }
    return "objective";
}

static void page_words(const struct compare_page *p, struct text *t)
{
    for (uint32_t i = 0; i < p->series_count; i++) {
        const struct run_svg_series *s = &p->series[i];

        text_addf(t, "%s%s ends at ", i > 0 ? "; " : "", s->name);
        figure_number(s->points[s->count - 1].y, t);
    }
    text_add(t, ".");
}

static void page_picture(struct compare_page *p, enum page_kind kind, struct text *out)
{
    char title[256], words[PAGE_SENTENCE_BYTES];
    struct run_svg_chart chart = {.id = page_kinds[kind].id,
                                  .title = title,
                                  .words = words,
                                  .x_is = page_kinds[kind].x_is,
                                  .y_is = p->loss ? "loss per sample" : page_objective(p->c),
                                  .series = p->series,
                                  .named = true,
                                  .goal = p->loss ? (double)NAN : p->c->aim};
    struct text t;

    page_series(p, kind);
    text_addf(out, "<figure><h3>%s %s</h3>", p->loss ? "Loss" : "Objective",
              page_kinds[kind].title);
    if (p->series_count == 0) {
        text_add(out, "<p class=\"soft\">No record says it: a price is missing, or an older Strait "
                      "wrote them.</p></figure>\n");
        return;
    }
    (void)snprintf(title, sizeof(title), "%.120s %s, of %u runs", chart.y_is,
                   page_kinds[kind].title, p->series_count);
    text_init_fixed(&t, words, sizeof(words));
    page_words(p, &t);
    chart.series_count = p->series_count;
    page_x_axis(p, kind, &chart.x);
    page_y(p, &chart.y);
    if (!(chart.goal >= chart.y.min && chart.goal <= chart.y.max)) {
        chart.goal = NAN;
    }
    run_svg_chart(&chart, out);
    text_addf(out, "<figcaption class=\"from\">%s<code>curves.csv</code></figcaption></figure>\n",
              chart.x.log ? "By decades; zero is at the left end. " : "");
}

static void page_legend(const struct compare_page *p, struct text *out)
{
    const char *names[COMPARE_RUNS_MAX];
    uint32_t styles[COMPARE_RUNS_MAX], count = 0;

    for (uint32_t i = 0; i < p->c->count; i++) {
        if (page_drawn(p, i)) {
            names[count] = p->c->runs[i].name;
            styles[count++] = i;
        }
    }
    run_page_legend(out, names, styles, count);
}

static void page_curves(struct compare_page *p, struct text *out)
{
    text_add(out, "<h2>How good, when, and for how much</h2>\n");
    text_addf(out, "<p class=\"soft\">%s is better.%s</p>\n",
              !p->loss && p->c->count > 0 && p->c->runs[0].outcome.rising ? "More" : "Less",
              isfinite(p->c->aim) ? p->c->goal.there
                                        ? " The line across is the goal."
                                        : " The line across is what all of them came to."
                                  : "");
    page_legend(p, out);
    text_add(out, "<div class=\"figures\">\n");
    for (int kind = 0; kind < PAGE_KINDS; kind++) {
        page_picture(p, (enum page_kind)kind, out);
    }
    text_add(out, "</div>\n");
}

static enum err page_draw(const struct compare *c, struct text *out)
{
    struct compare_page p = {.c = c, .loss = true};
    uint32_t longest = 0, curves = 0;

    for (uint32_t i = 0; i < c->count; i++) {
        const struct run_reading_curve *curve = &c->runs[i].curve;

        longest = curve->count > longest ? curve->count : longest;
        curves += curve->count > 0;
        p.loss = p.loss && (!c->runs[i].known || curve->count == 0 || curve->loss);
    }
    if (curves == 0) {
        return OK;
    }
    p.columns = PAGE_POINTS_MAX / 4 / PAGE_KINDS / curves;
    p.columns = p.columns > PAGE_COLUMNS_MAX   ? PAGE_COLUMNS_MAX
                : p.columns < PAGE_COLUMNS_MIN ? PAGE_COLUMNS_MIN
                                               : p.columns;
    p.all = mem_calloc(longest, sizeof(*p.all));
    p.few = mem_calloc((size_t)curves * p.columns * 4, sizeof(*p.few));
    if (p.all != NULL && p.few != NULL) {
        page_curves(&p, out);
    }
    mem_free(p.all);
    mem_free(p.few);
    return p.all != NULL && p.few != NULL ? OK : ERR_NOMEM;
}

/* Bars. */

/* Up to the goal figures are those of the table; else up to what all came to, by the curves. */
static bool page_by_curves(const struct compare *c)
{
    return !c->goal.there && isfinite(c->aim);
}

static double page_bar(const struct compare *c, uint32_t run, enum page_kind kind)
{
    const struct compare_run *r = &c->runs[run];

    if (!r->known) {
        return NAN;
    }
    if (kind == PAGE_TIME) {
        return page_by_curves(c) ? r->reach.time_s : compare_time(c, run);
    }
    if (kind == PAGE_BYTES) {
        return page_by_curves(c) ? r->reach.wan_bytes : (double)r->outcome.wan_bytes;
    }
    return page_by_curves(c)   ? r->reach.wan_usd
           : r->outcome.priced ? r->outcome.cost.total
                               : (double)NAN;
}

static void page_figure(double value, enum page_kind kind, struct text *out)
{
    if (!isfinite(value)) {
        text_add(out, kind == PAGE_USD ? "no price" : "-");
    } else if (kind == PAGE_TIME) {
        figure_time(value, out);
    } else if (kind == PAGE_BYTES) {
        figure_bytes((uint64_t)value, out);
    } else {
        run_page_usd(out, value);
    }
}

/* Bars have the colours of the curves; of runs that did not get there they are pale. */
static const char *const page_colours[2][RUN_SVG_STYLES] = {
    {"b0 pale", "b1 pale", "b2 pale", "b3 pale", "b4 pale", "b5 pale", "b6 pale", "b7 pale"},
    {"b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7"}};

/* The parts of dollars are told apart where they are known. */
static uint32_t page_parts(const struct compare *c, uint32_t run, enum page_kind kind, double value,
                           struct run_svg_part parts[3])
{
    const struct run_outcome_cost *cost = &c->runs[run].outcome.cost;

    if (kind == PAGE_USD && !page_by_curves(c)) {
        parts[0] = (struct run_svg_part){cost->compute, "b2"};
        parts[1] = (struct run_svg_part){cost->waiting, "b1"};
        parts[2] = (struct run_svg_part){cost->transfer, "b0"};
        return 3;
    }
    parts[0] =
        (struct run_svg_part){value, page_colours[compare_timed(c, run)][run % RUN_SVG_STYLES]};
    return 1;
}

static void page_bars(const struct compare *c, enum page_kind kind, const char *title,
                      const char *from, struct text *out)
{
    static const char *const names[] = {"computing", "waiting", "transfer"};
    static const char *const styles[] = {"b2", "b1", "b0"};
    double most = 0;

    for (uint32_t i = 0; i < c->count; i++) {
        most = page_bar(c, i, kind) > most ? page_bar(c, i, kind) : most;
    }
    text_addf(out, "<div class=\"card\"><h3>%s</h3>", title);
    if (kind == PAGE_USD && !page_by_curves(c)) {
        run_page_keys(out, names, styles, 3);
    }
    text_add(out, "<div class=\"bars\">\n");
    for (uint32_t i = 0; i < c->count; i++) {
        double value = page_bar(c, i, kind);
        char words[COMPARE_NAME_BYTES + 64];
        struct run_svg_part parts[3] = {{0, ""}};
        struct text t;

        text_init_fixed(&t, words, sizeof(words));
        text_addf(&t, "%s: ", c->runs[i].name);
        page_figure(value, kind, &t);
        text_add(out, "<span class=\"who\">");
        run_svg_escape(out, c->runs[i].name);
        text_add(out, "</span>");
        run_svg_bar(parts, isfinite(value) ? page_parts(c, i, kind, value, parts) : 0, most, words,
                    out);
        text_add(out, "<span class=\"how\">");
        page_figure(value, kind, out);
        text_addf(out, "</span>%s\n",
                  c->runs[i].known && !compare_timed(c, i)
                      ? "<span class=\"words\">and not there</span>"
                      : "");
    }
    text_addf(out, "</div><p class=\"from\"><code>%s</code></p></div>\n", from);
}

static void page_all_bars(const struct compare *c, struct text *out)
{
    const char *from = page_by_curves(c) ? "curves.csv" : "compare.csv";
    const char *what = c->goal.there       ? "What it took to the goal"
                       : page_by_curves(c) ? "What it took to be as good as all of them came to be"
                                           : "What it took";

    text_addf(out, "<h2>%s</h2>\n", what);
    page_bars(c, PAGE_TIME, "Time", from, out);
    page_bars(c, PAGE_BYTES, "Bytes between regions", from, out);
    page_bars(c, PAGE_USD, page_by_curves(c) ? "Dollars for transfer" : "Dollars", from, out);
}

/* The table. */

static void page_ratio(double value, struct text *out)
{
    text_add(out, "<td class=\"n\">");
    if (isfinite(value)) {
        text_addf(out, value >= 100 ? "%.0f" : "%.2f", value);
    } else {
        text_add(out, "-");
    }
    text_add(out, "</td>");
}

/* A record that lies beside the page has its own page there. */
static void page_name(const struct compare *c, const struct compare_run *r, struct text *out)
{
    size_t size = strlen(c->dir);
    bool inside = size > 0 && strncmp(r->record, c->dir, size) == 0 && r->record[size] == '/';

    text_add(out, "<tr><td>");
    if (r->known && inside) {
        text_add(out, "<a href=\"./");
        run_svg_escape(out, r->record + size + 1);
        text_add(out, "/report.html\">");
    }
    run_svg_escape(out, r->name);
    text_add(out, r->known && inside ? "</a></td><td>" : "</td><td>");
    run_svg_escape(out, compare_end(c, r));
    text_add(out, "</td>");
}

static void page_row(const struct compare *c, uint32_t run, struct text *out)
{
    const struct compare_run *r = &c->runs[run];
    const struct run_outcome *o = &r->outcome;

    page_name(c, r, out);
    if (!r->known) {
        text_add(out, "<td colspan=\"8\">");
        run_svg_escape(out, r->why.text);
        text_add(out, "</td></tr>\n");
        return;
    }
    text_addf(out, "<td class=\"n\">%.10g</td><td class=\"n\">",
              round(compare_clocks(c, run) * 10) / 10);
    figure_time(compare_time(c, run), out);
    text_add(out, "</td>");
    page_ratio(compare_speed(c, run), out);
    if (c->lan != COMPARE_NONE) {
        page_ratio(compare_by_lan(c, run), out);
    }
    text_add(out, "<td class=\"n\">");
    figure_bytes(o->wan_bytes, out);
    text_add(out, "</td><td class=\"n\">");
    run_page_usd(out, o->priced ? o->cost.total : (double)NAN);
    text_add(out, "</td><td class=\"n\">");
    run_page_percent(out, o->insignificant);
    text_add(out, "</td><td class=\"n\">");
    figure_number(o->objective, out);
    text_add(out, "</td></tr>\n");
}

static void page_table(const struct compare *c, struct text *out)
{
    text_add(out, "<div class=\"card\"><div class=\"scroll\"><table><tr><th>run</th><th>end</th>"
                  "<th class=\"n\">clocks</th><th class=\"n\">time</th><th class=\"n\">x ");
    run_svg_escape(out, c->base < c->count ? c->runs[c->base].name : "base");
    text_add(out, c->lan != COMPARE_NONE ? "</th><th class=\"n\">x lan" : "");
    text_add(out, "</th><th class=\"n\">between regions</th>"
                  "<th class=\"n\">dollars</th><th class=\"n\">kept back</th>"
                  "<th class=\"n\">objective</th></tr>\n");
    for (uint32_t i = 0; i < c->count; i++) {
        page_row(c, i, out);
    }
    text_addf(out,
              "</table></div><p class=\"from\"><code>compare.csv</code>; x: how many times as fast "
              "it was%s; kept back: the part of all changes that was not significant</p></div>\n",
              c->lan != COMPARE_NONE ? ", and how many times the time of lan it took" : "");
}

/* Words. */

static void page_sentence(const char *class, const char *sentence, struct text *out)
{
    if (sentence[0] != '\0') {
        text_addf(out, "<p class=\"%s\">", class);
        run_svg_escape(out, sentence);
        text_add(out, "</p>\n");
    }
}

static void page_say(const struct compare *c, const char *class,
                     void (*say)(const struct compare *c, struct text *out), struct text *out)
{
    char chars[PAGE_SENTENCE_BYTES];
    struct text t;

    text_init_fixed(&t, chars, sizeof(chars));
    say(c, &t);
    page_sentence(class, chars, out);
}

/* What people want to know first. */
static void page_lead(const struct compare *c, struct text *t)
{
    uint32_t best = COMPARE_NONE;

    for (uint32_t i = 0; i < c->count; i++) {
        double time = page_bar(c, i, PAGE_TIME);

        if (compare_timed(c, i) && i != c->lan && isfinite(time) &&
            (best == COMPARE_NONE || time < page_bar(c, best, PAGE_TIME))) {
            best = i;
        }
    }
    text_addf(t, "%u runs side by side. ", c->count);
    if (best == COMPARE_NONE || (!c->goal.there && !page_by_curves(c))) {
        return;
    }
    text_addf(t, "The fastest%s to ", c->lan < c->count ? " but lan" : "");
    if (c->goal.there) {
        text_add(t, "the goal is ");
    } else {
        figure_number(c->aim, t);
        text_addf(t, " (%s), which all of them came to, is ", page_objective(c));
    }
    text_addf(t, "%s, after ", c->runs[best].name);
    figure_time(page_bar(c, best, PAGE_TIME), t);
    if (c->base < c->count && c->base != best && compare_timed(c, c->base)) {
        text_addf(t, ": %.3g times as fast as %s",
                  page_bar(c, c->base, PAGE_TIME) / page_bar(c, best, PAGE_TIME),
                  c->runs[c->base].name);
    }
    text_add(t, ".");
}

static void page_remarks(const struct compare *c, struct text *out)
{
    text_add(out, "<h2>In words</h2>\n");
    page_say(c, "soft", compare_say_goal, out);
    for (uint32_t i = 0; i < c->count; i++) {
        char chars[PAGE_SENTENCE_BYTES];
        struct text t;

        if (c->runs[i].known) {
            text_init_fixed(&t, chars, sizeof(chars));
            compare_say_missed(c, &c->runs[i], &t);
            page_sentence("soft", chars, out);
        }
    }
    page_say(c, "soft", compare_say_budget, out);
    page_say(c, "soft", compare_say_prices, out);
    page_sentence("soft", c->note.text, out);
}

enum err compare_page(const struct compare *c, struct text *out)
{
    enum err rc;

    run_page_open(out, "comparison of runs", c->title);
    page_say(c, "lead", page_lead, out);
    page_table(c, out);
    rc = page_draw(c, out);
    page_all_bars(c, out);
    page_remarks(c, out);
    text_add(out, "<footer>Written by Strait " STRAIT_VERSION " with <code>compare.csv</code>, "
                  "<code>curves.csv</code> and <code>compare.json</code> beside it. docs/RECORD.md "
                  "says what every column means.</footer>\n");
    run_page_close(out);
    return rc;
}
