/* Figures of sets: what is shown of each run, beside the paper's, as a table, CSV and JSON. */

#include "cli/compare/cells.h"

#include "base/figure.h"
#include "run/report/page.h"

#include <math.h>
#include <string.h>

enum { VIEW_NAME = 16 }; /* Columns of a name, at least. */

/* Values. */

static bool cells_is_ssp(const char *name)
{
    size_t size = strlen(name);

    return size > 4 && strcmp(name + size - 4, "-ssp") == 0;
}

/* The run that this one is compared with; COMPARE_NONE: it is not there. */
static uint32_t cells_base(const struct compare_cells *s, const struct run_cells_figure *f,
                           const struct compare *c, uint32_t run)
{
    const char *base = run_cells_against(s->set, f, c->runs[run].name);

    if (s->set->runs_count == 0 && strcmp(base, "plain") == 0) {
        base = cells_is_ssp(c->runs[run].name) ? "plain-ssp" : "plain-bsp";
    }
    return compare_find(c, base);
}

static double cells_time(const struct compare *c, uint32_t run)
{
    return compare_timed(c, run) ? compare_time(c, run) : (double)NAN;
}

/* Of ssp it is lan with ssp, if somebody asked for that. */
static double cells_by_lan(const struct compare *c, uint32_t run)
{
    uint32_t lan = compare_find(c, "lan-ssp");

    return cells_is_ssp(c->runs[run].name) && lan != COMPARE_NONE && c->runs[lan].known
               ? cells_time(c, run) / cells_time(c, lan)
               : compare_by_lan(c, run);
}

static double cells_dollars(const struct compare *c, uint32_t run)
{
    const struct run_outcome *o = &c->runs[run].outcome;

    return o->priced && compare_timed(c, run) ? o->cost.total : (double)NAN;
}

/* What a run has sent or spent at its end, at the moment when it met the goal: that was up to
 * evaluate.every clocks before, and every clock is taken for the same. */
static double cells_until(const struct compare *c, uint32_t run, double at_the_end)
{
    const struct run_outcome *o = &c->runs[run].outcome;

    return o->clocks > 0 ? at_the_end * fmin(1, compare_clocks(c, run) / (double)o->clocks)
                         : at_the_end;
}

/* Part of the base's bytes that a run did without until it was as good. */
static double cells_saved(const struct compare *c, uint32_t base, uint32_t run)
{
    bool there = base != COMPARE_NONE && compare_timed(c, base) && compare_timed(c, run);

    return there && c->runs[base].outcome.bytes > 0
               ? 1 - cells_until(c, run, c->runs[run].outcome.bytes) /
                         cells_until(c, base, c->runs[base].outcome.bytes)
               : (double)NAN;
}

/* Seconds of a worker, mean. Processes count compression with waiting; here it is computing. */
static double cells_seconds(const struct compare_cells *s, const struct run_cells_figure *f,
                            uint32_t cell, uint32_t run)
{
    const struct compare *c = s->cells[cell].c;
    const struct run_outcome *o = &c->runs[run].outcome;
    bool beside = s->cells[cell].cell->local && isfinite(o->codec_s);
    double codec = beside ? o->codec_s : 0;
    double sum =
        f->show == RUN_SHOW_COMPUTATION ? o->compute_s + codec : o->read_s + o->end_s - codec;

    return o->workers > 0 && compare_timed(c, run) ? cells_until(c, run, sum) / o->workers
                                                   : (double)NAN;
}

double compare_cells_value(const struct compare_cells *s, const struct run_cells_figure *f,
                           uint32_t cell, uint32_t run)
{
    const struct compare *c = s->cells[cell].c;
    uint32_t base;

    if (c == NULL || run >= c->count || !c->runs[run].known) {
        return NAN;
    }
    base = cells_base(s, f, c, run);
    if (base != COMPARE_NONE && !c->runs[base].known) {
        base = COMPARE_NONE;
    }
    switch (f->show) {
    case RUN_SHOW_TIME:
        return cells_time(c, run);
    case RUN_SHOW_SPEED:
        return base == COMPARE_NONE ? (double)NAN : cells_time(c, base) / cells_time(c, run);
    case RUN_SHOW_BY_LAN:
        return cells_by_lan(c, run);
    case RUN_SHOW_CLOCKS:
        return compare_timed(c, run) ? compare_clocks(c, run) : (double)NAN;
    case RUN_SHOW_DOLLARS:
        return cells_dollars(c, run);
    case RUN_SHOW_CHEAPER:
        return base == COMPARE_NONE ? (double)NAN : cells_dollars(c, base) / cells_dollars(c, run);
    case RUN_SHOW_BYTES:
        return (double)c->runs[run].outcome.wan_bytes;
    case RUN_SHOW_INSIGNIFICANT:
        return c->runs[run].outcome.small[RUN_PART_ONE_PERCENT];
    case RUN_SHOW_SAVED:
        return cells_saved(c, base, run);
    case RUN_SHOW_COMMUNICATION:
    case RUN_SHOW_COMPUTATION:
        return cells_seconds(s, f, cell, run);
    case RUN_SHOW_OBJECTIVE:
    case RUN_SHOWS:
        break;
    }
    return c->runs[run].outcome.objective;
}

double compare_cells_by_paper(const struct compare_cells *s, const struct run_cells_figure *f,
                              uint32_t cell, uint32_t run)
{
    const struct compare *c = s->cells[cell].c;
    const struct run_cells_paper *p =
        c == NULL ? NULL : run_cells_paper(f, cell, c->runs[run].name);
    double value = compare_cells_value(s, f, cell, run);

    if (p == NULL || !(p->low > 0) || isnan(value)) {
        return NAN;
    }
    return value < p->low ? value / p->low : value > p->high ? value / p->high : 1;
}

double compare_cells_by_twin(const struct compare_cells *s, const struct run_cells_figure *f,
                             uint32_t cell, uint32_t run)
{
    uint32_t twin = s->cells[cell].cell->twin, same;

    if (twin >= s->count || s->cells[twin].c == NULL || s->cells[cell].c == NULL) {
        return NAN;
    }
    same = compare_find(s->cells[twin].c, s->cells[cell].c->runs[run].name);
    return same == COMPARE_NONE
               ? (double)NAN
               : compare_cells_value(s, f, cell, run) / compare_cells_value(s, f, twin, same);
}

/* Words. */

void compare_cells_say(enum run_cells_show show, double value, struct text *out)
{
    if (!isfinite(value)) {
        text_add(out, "-");
        return;
    }
    switch (show) {
    case RUN_SHOW_TIME:
    case RUN_SHOW_COMMUNICATION:
    case RUN_SHOW_COMPUTATION:
        figure_time(value, out);
        return;
    case RUN_SHOW_SPEED:
    case RUN_SHOW_BY_LAN:
    case RUN_SHOW_CHEAPER:
        text_addf(out, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
        return;
    case RUN_SHOW_CLOCKS:
        text_addf(out, "%.10g", round(value * 10) / 10);
        return;
    case RUN_SHOW_DOLLARS:
        run_page_usd(out, value);
        return;
    case RUN_SHOW_BYTES:
        figure_bytes((uint64_t)value, out);
        return;
    case RUN_SHOW_INSIGNIFICANT:
    case RUN_SHOW_SAVED:
        text_addf(out, "%.1f %%", value * 100);
        return;
    case RUN_SHOW_OBJECTIVE:
    case RUN_SHOWS:
        break;
    }
    figure_number(value, out);
}

void compare_cells_say_paper(enum run_cells_show show, const struct run_cells_paper *paper,
                             struct text *out)
{
    if (paper == NULL) {
        text_add(out, "-");
        return;
    }
    compare_cells_say(show, paper->low, out);
    if (paper->high > paper->low) {
        text_add(out, "..");
        compare_cells_say(show, paper->high, out);
    }
}

/* Does it compare runs? */
static bool cells_compares(enum run_cells_show show)
{
    return show == RUN_SHOW_SPEED || show == RUN_SHOW_CHEAPER || show == RUN_SHOW_SAVED;
}

/* What runs are compared with: the base, if any is; else what the first is. */
static void cells_say_base(const struct run_cells *set, const struct run_cells_figure *f,
                           struct text *out)
{
    bool each = set->runs_count == 0 && strcmp(set->base, "plain") == 0, more = false;
    const char *said = NULL;

    for (uint32_t i = 0; i < set->runs_count; i++) {
        const char *against = run_cells_against(set, f, set->runs[i].name);

        if (!run_cells_shows(f, set->runs[i].name)) {
            continue;
        }
        more = more || (said != NULL && strcmp(said, against) != 0);
        said = said == NULL || strcmp(against, set->base) == 0 ? against : said;
    }
    text_addf(out, " %s%s", said != NULL ? said : set->base,
              each   ? " with the same barrier"
              : more ? " or another run"
                     : "");
}

void compare_cells_say_end(const struct compare_cells *s, const struct run_cells_figure *f,
                           uint32_t cell, uint32_t run, struct text *out)
{
    const struct compare *c = s->cells[cell].c;
    const struct compare_run *r = &c->runs[run];
    const char *against = run_cells_against(s->set, f, r->name);

    text_add(out, compare_end(c, r));
    if (!r->known) {
        text_addf(out, ": %s", r->why.text);
    } else if (cells_compares(f->show) && strcmp(against, s->set->base) != 0) {
        text_addf(out, "; by %s", against);
    }
}

void compare_cells_say_show(const struct compare_cells *s, const struct run_cells_figure *f,
                            struct text *out)
{
    static const char *const words[RUN_SHOWS] = {
        [RUN_SHOW_TIME] = "time to the goal",
        [RUN_SHOW_SPEED] = "times as fast as",
        [RUN_SHOW_BY_LAN] = "times the time of lan (of lan-ssp for ssp, if it is there)",
        [RUN_SHOW_CLOCKS] = "clocks to the goal",
        [RUN_SHOW_DOLLARS] = "dollars",
        [RUN_SHOW_CHEAPER] = "times cheaper than",
        [RUN_SHOW_BYTES] = "bytes between regions",
        [RUN_SHOW_INSIGNIFICANT] = "part of the workers' changes that are at most 1 % of the value",
        [RUN_SHOW_OBJECTIVE] = "objective at the end",
        [RUN_SHOW_SAVED] = "bytes of all members to the goal, how much fewer than",
        [RUN_SHOW_COMMUNICATION] = "a worker's time to the goal waiting for network and barriers",
        [RUN_SHOW_COMPUTATION] = "a worker's time to the goal computing and compressing",
    };

    text_add(out, words[f->show]);
    if (cells_compares(f->show)) {
        cells_say_base(s->set, f, out);
    }
}

void compare_cells_say_state(const struct compare_cell *cell, struct text *out)
{
    bool cut = cell->state == COMPARE_CELL_CUT;

    if (!cell->chosen) {
        text_add(out, "was not asked for");
    } else if (cell->state == COMPARE_CELL_WAITS) {
        text_add(out, "did not begin");
    } else if (cell->state == COMPARE_CELL_FAILED) {
        text_addf(out, "failed: %s", cell->why.text);
    } else if (cut && (cell->c == NULL || !cell->c->goal.there)) {
        text_add(out, "was interrupted before there was a goal");
    }
}

bool compare_cells_has(const struct compare_cells *s, const struct run_cells_figure *f,
                       uint32_t cell)
{
    const struct compare_cell *it = &s->cells[cell];
    bool runs = it->c == NULL || !it->c->goal.there;

    for (uint32_t i = 0; !runs && i < it->c->count; i++) {
        runs = run_cells_shows(f, it->c->runs[i].name);
    }
    return it->chosen && runs;
}

void compare_cells_file(const struct compare_cells *s, const struct run_cells_figure *f,
                        const char *end, char out[COMPARE_CELLS_FILE_BYTES])
{
    bool first = f == s->set->figures;

    (void)snprintf(out, COMPARE_CELLS_FILE_BYTES, "set%s%.48s.%s", first ? "" : "-",
                   first ? "" : f->name, end);
}

/* The table. */

/* Columns of a name. */
static int view_names(const struct compare_cells *s)
{
    size_t longest = VIEW_NAME;

    for (uint32_t i = 0; i < s->set->runs_count; i++) {
        size_t size = strlen(s->set->runs[i].name);

        longest = size > longest ? size : longest;
    }
    return (int)longest;
}

/* Right-aligned, in @columns; UTF-8 does not occur in figures. */
static void view_cell(struct text *out, int columns, const char *chars)
{
    text_addf(out, " %*s", columns, chars);
}

static void view_ratio(struct text *out, int columns, double value)
{
    char chars[32];

    (void)snprintf(chars, sizeof(chars), "%.2f", value);
    view_cell(out, columns, isfinite(value) ? chars : "-");
}

/* The same by other thresholds. */
static void view_parts(const struct run_outcome *o, struct text *out)
{
    text_add(out, "      at most ");
    for (uint32_t i = 0; i < RUN_PARTS; i++) {
        text_addf(out, "%s%s: ", i > 0 ? ", " : "", run_part_names[i]);
        compare_cells_say(RUN_SHOW_INSIGNIFICANT, o->small[i], out);
    }
    text_add(out, "\n");
}

static void view_run(const struct compare_cells *s, const struct run_cells_figure *f, uint32_t cell,
                     uint32_t run, struct text *out)
{
    const struct compare *c = s->cells[cell].c;
    const struct compare_run *r = &c->runs[run];
    char chars[96];
    struct text t;

    text_addf(out, "    %-*s", view_names(s), r->name);
    text_init_fixed(&t, chars, sizeof(chars));
    compare_cells_say(f->show, compare_cells_value(s, f, cell, run), &t);
    view_cell(out, 12, chars);
    text_clear(&t);
    compare_cells_say_paper(f->show, run_cells_paper(f, cell, r->name), &t);
    view_cell(out, 14, chars);
    view_ratio(out, 9, compare_cells_by_paper(s, f, cell, run));
    if (s->cells[cell].cell->twin < s->count) {
        view_ratio(out, 9, compare_cells_by_twin(s, f, cell, run));
    } else {
        view_cell(out, 9, "");
    }
    text_add(out, "  ");
    compare_cells_say_end(s, f, cell, run, out);
    text_add(out, "\n");
    if (r->known && f->show == RUN_SHOW_INSIGNIFICANT) {
        view_parts(&r->outcome, out);
    }
}

static void view_one(const struct compare_cells *s, const struct run_cells_figure *f,
                     uint32_t index, bool color, struct text *out)
{
    const struct compare_cell *cell = &s->cells[index];
    char why[ERR_TEXT_BYTES + 64];
    struct text t;

    text_init_fixed(&t, why, sizeof(why));
    compare_cells_say_state(cell, &t);
    text_addf(out, "  %s%s%s (%s)%s%s\n", cli_style(color, CLI_NAME), cell->cell->name,
              cli_style(color, CLI_PLAIN), cell->cell->local ? "local" : "sim",
              cell->cell->about[0] != '\0' ? ": " : "", cell->cell->about);
    if (why[0] != '\0') {
        text_addf(out, "    %s%s%s\n", cli_style(color, CLI_DOUBTFUL), why,
                  cli_style(color, CLI_PLAIN));
        return;
    }
    for (uint32_t i = 0; i < cell->c->count; i++) {
        if (run_cells_shows(f, cell->c->runs[i].name)) {
            view_run(s, f, index, i, out);
        }
    }
}

void compare_cells_view(const struct compare_cells *s, const struct run_cells_figure *f, bool color,
                        struct text *out)
{
    text_addf(out, "%s%s%s", cli_style(color, CLI_HEADING), f->name, cli_style(color, CLI_PLAIN));
    text_addf(out, "%s%s\n  value: ", f->about[0] != '\0' ? ": " : "", f->about);
    compare_cells_say_show(s, f, out);
    if (f->source[0] != '\0') {
        text_addf(out, "; paper: %s", f->source);
    }
    text_addf(out, "\n\n%s%*s %14s %9s %9s  end%s\n", cli_style(color, CLI_FAINT),
              view_names(s) + 17, "value", "paper", "by paper", "by twin",
              cli_style(color, CLI_PLAIN));
    for (uint32_t i = 0; i < s->count; i++) {
        if (compare_cells_has(s, f, i)) {
            view_one(s, f, i, color, out);
        }
    }
    text_add(out, "\n");
}

/* CSV. */

static void csv_real(double value, struct text *out)
{
    text_add(out, ",");
    if (isfinite(value)) {
        text_addf(out, "%.9g", value);
    }
}

static void csv_run(const struct compare_cells *s, const struct run_cells_figure *f, uint32_t cell,
                    uint32_t run, struct text *out)
{
    const struct compare *c = s->cells[cell].c;
    const struct compare_run *r = &c->runs[run];
    const struct run_cells_paper *p = run_cells_paper(f, cell, r->name);

    text_addf(out, "%s,%s,%s,", s->cells[cell].cell->name,
              s->cells[cell].cell->local ? "local" : "sim", r->name);
    compare_csv_word(compare_end(c, r), out);
    csv_real(compare_cells_value(s, f, cell, run), out);
    csv_real(p != NULL ? p->low : (double)NAN, out);
    csv_real(p != NULL ? p->high : (double)NAN, out);
    csv_real(compare_cells_by_paper(s, f, cell, run), out);
    csv_real(compare_cells_by_twin(s, f, cell, run), out);
    csv_real(r->known ? compare_clocks(c, run) : (double)NAN, out);
    csv_real(r->known ? compare_time(c, run) : (double)NAN, out);
    csv_real(r->known ? (double)r->outcome.wan_bytes : (double)NAN, out);
    csv_real(r->known && r->outcome.priced ? r->outcome.cost.total : (double)NAN, out);
    csv_real(r->known ? r->outcome.small[RUN_PART_ONE_PERCENT] : (double)NAN, out);
    csv_real(r->known ? r->outcome.objective : (double)NAN, out);
    text_add(out, "\n");
}

/* Named: with the name of the figure first. */
static void csv_head(bool named, struct text *out)
{
    text_addf(out,
              "%scell,on,run,end,value,paper_low,paper_high,by_paper,by_twin,clocks,time_s,"
              "wan_bytes,total_usd,insignificant,objective\n",
              named ? "figure," : "");
}

static void csv_rows(const struct compare_cells *s, const struct run_cells_figure *f, bool named,
                     struct text *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct compare *c = s->cells[i].c;

        for (uint32_t j = 0; c != NULL && j < c->count; j++) {
            if (run_cells_shows(f, c->runs[j].name)) {
                text_addf(out, "%s%s", named ? f->name : "", named ? "," : "");
                csv_run(s, f, i, j, out);
            }
        }
    }
}

void compare_cells_csv(const struct compare_cells *s, const struct run_cells_figure *f,
                       struct text *out)
{
    csv_head(false, out);
    csv_rows(s, f, false, out);
}

void compare_cells_csv_all(const struct compare_cells *s, struct text *out)
{
    bool named = s->set->figures_count > 1;

    csv_head(named, out);
    for (uint32_t i = 0; i < s->set->figures_count; i++) {
        csv_rows(s, &s->set->figures[i], named, out);
    }
}

/* JSON. */

static json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *json_parts(const struct compare_run *r)
{
    json_t *parts = json_object();

    for (uint32_t i = 0; i < RUN_PARTS; i++) {
        (void)json_object_set_new(parts, run_part_names[i],
                                  json_number(r->known ? r->outcome.small[i] : (double)NAN));
    }
    return parts;
}

static json_t *json_run(const struct compare_cells *s, const struct run_cells_figure *f,
                        uint32_t cell, uint32_t run)
{
    const struct compare *c = s->cells[cell].c;
    const struct compare_run *r = &c->runs[run];
    const struct run_cells_paper *p = run_cells_paper(f, cell, r->name);
    json_t *paper = p == NULL ? json_null() : json_pack("[f, f]", p->low, p->high);

    return json_pack(
        "{s:s, s:s, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", r->name, "end",
        compare_end(c, r), "reached", (int)r->reached, "why", r->why.text, "value",
        json_number(compare_cells_value(s, f, cell, run)), "paper", paper, "by_paper",
        json_number(compare_cells_by_paper(s, f, cell, run)), "by_twin",
        json_number(compare_cells_by_twin(s, f, cell, run)), "clocks",
        json_number(r->known ? compare_clocks(c, run) : (double)NAN), "time_s",
        json_number(r->known ? compare_time(c, run) : (double)NAN), "total_usd",
        json_number(r->known && r->outcome.priced ? r->outcome.cost.total : (double)NAN),
        "objective", json_number(r->known ? r->outcome.objective : (double)NAN), "insignificant_at",
        json_parts(r));
}

static json_t *json_cell(const struct compare_cells *s, const struct run_cells_figure *f,
                         uint32_t index)
{
    static const char *const states[] = {"waits", "done", "cut", "failed"};
    const struct compare_cell *cell = &s->cells[index];
    json_t *runs = json_array();

    for (uint32_t i = 0; cell->c != NULL && i < cell->c->count; i++) {
        if (run_cells_shows(f, cell->c->runs[i].name)) {
            (void)json_array_append_new(runs, json_run(s, f, index, i));
        }
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:b, s:s?, s:o}", "name", cell->cell->name, "on",
                     cell->cell->local ? "local" : "sim", "state", states[cell->state], "why",
                     cell->why.text, "chosen", (int)cell->chosen, "twin",
                     cell->cell->twin < s->count ? s->cells[cell->cell->twin].cell->name : NULL,
                     "runs", runs);
}

static json_t *json_cells(const struct compare_cells *s, const struct run_cells_figure *f)
{
    json_t *cells = json_array();

    for (uint32_t i = 0; i < s->count; i++) {
        (void)json_array_append_new(cells, json_cell(s, f, i));
    }
    return cells;
}

/* What runs are compared with that are not with the base; NULL: there are none. */
static json_t *json_against(const struct run_cells *set, const struct run_cells_figure *f)
{
    json_t *against = NULL;

    for (uint32_t i = 0; i < set->runs_count; i++) {
        if (f->against[i] != NULL) {
            against = against == NULL ? json_object() : against;
            (void)json_object_set_new(against, set->runs[i].name, json_string(f->against[i]));
        }
    }
    return against;
}

static json_t *json_also(const struct compare_cells *s)
{
    json_t *also = s->set->figures_count > 1 ? json_array() : NULL;

    for (uint32_t i = 1; i < s->set->figures_count; i++) {
        const struct run_cells_figure *f = &s->set->figures[i];

        (void)json_array_append_new(
            also, json_pack("{s:s, s:s, s:s, s:s, s:o*, s:o}", "name", f->name, "about", f->about,
                            "source", f->source, "show", run_cells_show_name(f->show), "against",
                            json_against(s->set, f), "cells", json_cells(s, f)));
    }
    return also;
}

json_t *compare_cells_json(const struct compare_cells *s)
{
    const struct run_cells_figure *f = s->set->figures;

    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o*, s:s, s:o, s:o*}", "set", s->set->name,
                     "about", f->about, "source", f->source, "show", run_cells_show_name(f->show),
                     "base", s->set->base, "against", json_against(s->set, f), "dir", s->dir,
                     "cells", json_cells(s, f), "also", json_also(s));
}
