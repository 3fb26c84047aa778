/* Comparisons as a table with bars and sentences, as CSV and as JSON. */

#include "cli/compare/compare.h"
#include "cli/output/figure.h"
#include "cli/run/budget.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    VIEW_NAME = 14,      /* Columns of a name, at least ... */
    VIEW_NAME_MAX = 24,  /* ... and at most. */
    VIEW_BARS_REST = 32, /* Columns beside the bars. */
    VIEW_BARS_MIN = 10,
    VIEW_CELL_BYTES = 48,
    VIEW_SENTENCE_BYTES = 2048,
};

uint32_t compare_find(const struct compare *c, const char *name)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (strcmp(c->runs[i].name, name) == 0) {
            return i;
        }
    }
    return COMPARE_NONE;
}

bool compare_timed(const struct compare *c, uint32_t run)
{
    const struct compare_run *r = run < c->count ? &c->runs[run] : NULL;

    return r != NULL && r->known && compare_time(c, run) > 0 && (r->reached || !c->goal.there);
}

double compare_time(const struct compare *c, uint32_t run)
{
    double reached_s = c->runs[run].scalars.reached_s;

    return c->runs[run].reached && isfinite(reached_s) ? reached_s : c->runs[run].outcome.time_s;
}

double compare_clocks(const struct compare *c, uint32_t run)
{
    double clock = c->runs[run].scalars.reached_clock;

    return c->runs[run].reached && isfinite(clock) ? clock : (double)c->runs[run].outcome.clocks;
}

double compare_speed(const struct compare *c, uint32_t run)
{
    return compare_timed(c, run) && compare_timed(c, c->base)
               ? compare_time(c, c->base) / compare_time(c, run)
               : (double)NAN;
}

double compare_by_lan(const struct compare *c, uint32_t run)
{
    return compare_timed(c, run) && compare_timed(c, c->lan)
               ? compare_time(c, run) / compare_time(c, c->lan)
               : (double)NAN;
}

/* "goal" is what every run was sent to. */
const char *compare_end(const struct compare *c, const struct compare_run *r)
{
    return !r->known                                              ? "no result"
           : c->goal.there && strcmp(r->outcome.end, "goal") == 0 ? "reached"
                                                                  : r->outcome.end;
}

/* The table. */

/* A cell that ends in its column, with a space before it; what is beyond ASCII is not in there. */
static void view_cell(struct text *out, int width, const char *chars)
{
    text_addf(out, " %*s", width, chars);
}

static void view_ratio(struct text *out, int width, double value)
{
    char cell[VIEW_CELL_BYTES];

    (void)snprintf(cell, sizeof(cell), value >= 100 ? "%.0f" : "%.2f", value);
    view_cell(out, width, isfinite(value) ? cell : "-");
}

static void view_usd(struct text *out, int width, bool known, double usd)
{
    char cell[VIEW_CELL_BYTES];

    (void)snprintf(cell, sizeof(cell), usd >= 100 ? "$%.2f" : "$%.4f", usd);
    view_cell(out, width, known ? cell : "no price");
}

static int view_name_columns(const struct compare *c)
{
    size_t longest = VIEW_NAME;

    for (uint32_t i = 0; i < c->count; i++) {
        size_t size = strlen(c->runs[i].name);

        longest = size > longest ? size : longest;
    }
    return longest < VIEW_NAME_MAX ? (int)longest : VIEW_NAME_MAX;
}

static void view_heads(const struct compare_view *v, struct text *out)
{
    const struct compare *c = v->compare;
    char speed[COMPARE_NAME_BYTES + 4] = "";

    if (c->base != COMPARE_NONE) {
        (void)snprintf(speed, sizeof(speed), "x %.12s",
                       c->lan != COMPARE_NONE ? "plain" : c->runs[c->base].name);
    }
    text_addf(out, "  %s%-*s %-11s %7s %12s", cli_style(v->color, CLI_FAINT), view_name_columns(c),
              "", "end", "clocks", "time");
    if (c->base != COMPARE_NONE) {
        text_addf(out, " %*s", c->lan != COMPARE_NONE ? 7 : 14, speed);
    }
    text_addf(out, "%s %9s %10s", c->lan != COMPARE_NONE ? "   x lan" : "", "WAN GB", "dollars");
    if (v->wide) {
        text_addf(out, " %10s %10s %10s", "computing", "waiting", "transfer");
    }
    text_addf(out, " %9s %10s%s\n", "kept back", "objective", cli_style(v->color, CLI_PLAIN));
}

/* What the columns from dollars on say. */
static void view_rest(const struct compare_view *v, const struct run_outcome *o, struct text *out)
{
    char cell[VIEW_CELL_BYTES];
    struct text t;

    view_usd(out, 10, o->priced, o->cost.total);
    if (v->wide) {
        view_usd(out, 10, o->priced, o->cost.compute);
        view_usd(out, 10, o->priced, o->cost.waiting);
        view_usd(out, 10, o->priced, o->cost.transfer);
    }
    (void)snprintf(cell, sizeof(cell), "%.1f %%", o->insignificant * 100);
    view_cell(out, 9, isfinite(o->insignificant) ? cell : "-");
    text_init_fixed(&t, cell, sizeof(cell));
    figure_number(o->objective, &t);
    view_cell(out, 10, cell);
    text_add(out, "\n");
}

static void view_row(const struct compare_view *v, uint32_t index, struct text *out)
{
    const struct compare *c = v->compare;
    const struct compare_run *r = &c->runs[index];
    const struct run_outcome *o = &r->outcome;
    char cell[VIEW_CELL_BYTES];
    struct text t;

    text_addf(out, "  %s%-*s%s %-11.11s", cli_style(v->color, CLI_NAME), view_name_columns(c),
              r->name, cli_style(v->color, CLI_PLAIN), compare_end(c, r));
    if (!r->known) {
        text_addf(out, " %s\n", r->why.text);
        return;
    }
    (void)snprintf(cell, sizeof(cell), "%.10g", round(compare_clocks(c, index) * 10) / 10);
    view_cell(out, 7, cell);
    text_init_fixed(&t, cell, sizeof(cell));
    figure_time(compare_time(c, index), &t);
    view_cell(out, 12, cell);
    if (c->base != COMPARE_NONE) {
        view_ratio(out, c->lan != COMPARE_NONE ? 7 : 14, compare_speed(c, index));
    }
    if (c->lan != COMPARE_NONE) {
        view_ratio(out, 7, compare_by_lan(c, index));
    }
    (void)snprintf(cell, sizeof(cell), "%.4g", (double)o->wan_bytes * 1e-9);
    view_cell(out, 9, cell);
    view_rest(v, o, out);
}

/* Runs that nobody sent to a goal are compared up to what all of them came to, if there is that. */
static double view_bar_time(const struct compare *c, uint32_t run)
{
    return c->goal.there || isnan(c->aim) ? compare_time(c, run) : c->runs[run].reach.time_s;
}

static void view_bars_title(const struct compare_view *v, struct text *out)
{
    const struct compare *c = v->compare;

    text_addf(out, "\n  %s", cli_style(v->color, CLI_FAINT));
    if (c->goal.there || isnan(c->aim)) {
        text_add(out, c->goal.there ? "time to the goal" : "time");
    } else {
        text_add(out, "time to ");
        figure_number(c->aim, out);
        text_add(out, ", which all of them came to");
    }
    text_addf(out, "%s\n", cli_style(v->color, CLI_PLAIN));
}

static void view_bars(const struct compare_view *v, struct text *out)
{
    const struct compare *c = v->compare;
    int cells = v->width - VIEW_BARS_REST;
    double most = 0;

    for (uint32_t i = 0; i < c->count; i++) {
        most = c->runs[i].known && view_bar_time(c, i) > most ? view_bar_time(c, i) : most;
    }
    if (most <= 0) {
        return;
    }
    view_bars_title(v, out);
    for (uint32_t i = 0; i < c->count; i++) {
        const struct compare_run *r = &c->runs[i];

        if (!r->known) {
            continue;
        }
        text_addf(out, "  %-*s %s", view_name_columns(c), r->name,
                  cli_style(v->color, compare_timed(c, i) ? CLI_GOOD : CLI_DOUBTFUL));
        figure_length(view_bar_time(c, i) / most, cells < VIEW_BARS_MIN ? VIEW_BARS_MIN : cells,
                      v->utf8, out);
        text_addf(out, "%s ", cli_style(v->color, CLI_PLAIN));
        figure_time(view_bar_time(c, i), out);
        text_addf(out, "%s\n", compare_timed(c, i) ? "" : ", and not there");
    }
}

/* Sentences. */

/* Words of @chars in lines of at most @width columns, all indented. */
static void view_wrap(const char *chars, int width, struct text *out)
{
    int column = 0;

    while (*chars != '\0') {
        size_t size = strcspn(chars, " ");

        if (column > 2 && column + 1 + (int)size > width) {
            text_add(out, "\n");
            column = 0;
        }
        text_add(out, column == 0 ? "  " : " ");
        text_add_bytes(out, chars, size);
        column += (column == 0 ? 2 : 1) + (int)size;
        chars += size + strspn(chars + size, " ");
    }
    text_add(out, column > 0 ? "\n" : "");
}

void compare_say_goal(const struct compare *c, struct text *out)
{
    const struct compare_goal *g = &c->goal;
    const struct compare_run *setter;

    if (!g->there) {
        return;
    }
    setter = &c->runs[c->setter];
    text_add(out, "The goal is ");
    figure_number(g->objective, out);
    text_addf(out, " (%s): what %s had ", setter->outcome.objective_is, setter->name);
    if (g->converged) {
        text_addf(out, "when it had changed by less than %.3g %% over %u clocks", g->change * 100,
                  g->change_clocks);
    } else {
        text_addf(out, "at its end, without having converged (less than %.3g %% over %u clocks)",
                  g->change * 100, g->change_clocks);
    }
    text_addf(out, "; it was that good at clock %" PRIu64 " for the first time. ", g->clock);
    if (g->limit_clocks > 0) {
        text_addf(out, "The others have %" PRIu64 " clocks for it (%s%s)", g->limit_clocks,
                  g->limit_said ? "stop.clocks of the file" : "ten times those of ",
                  g->limit_said ? "" : setter->name);
    } else {
        text_add(out, "The others have the time that the file gives them");
    }
    text_add(out, "; when they reached it is read off the straight line between two evaluations.");
    if (setter->outcome.scale < 1) {
        text_addf(out, " Scale 1:%.6g: bytes and dollars as at full size.",
                  1 / setter->outcome.scale);
    }
}

/* "34 % computing, 60 % reading, 6 % ending clocks" */
static void view_parts(const struct run_outcome *o, struct text *out)
{
    double all = o->compute_s + o->read_s + o->end_s;

    if (all > 0) {
        text_addf(out,
                  "%.0f %% of the workers' time computing, %.0f %% reading, %.0f %% ending "
                  "clocks",
                  o->compute_s / all * 100, o->read_s / all * 100, o->end_s / all * 100);
    }
    if (o->codec_s > 0) {
        text_add(out, "; compressing took ");
        figure_time(o->codec_s, out);
    }
    if (o->waited_clock_s > 0 || o->waited_barrier_s > 0 || o->waited_fresh_s > 0 ||
        o->waited_room_s > 0) {
        text_add(out, "; reads waited ");
        figure_time(o->waited_clock_s, out);
        text_add(out, " for other sites' clocks, ");
        figure_time(o->waited_barrier_s, out);
        text_add(out, " for barriers, ");
        figure_time(o->waited_fresh_s, out);
        text_add(out, " for what was about to come, ");
        figure_time(o->waited_room_s, out);
        text_add(out, " for room");
    }
}

/* How near it came, and where its time went. */
void compare_say_missed(const struct compare *c, const struct compare_run *r, struct text *out)
{
    text_addf(out, "%s ", r->name);
    if (c->goal.there && r->scalars.last_clock > 0) {
        text_add(out, "came to ");
        figure_number(r->scalars.best, out);
        text_addf(out, " at clock %" PRIu64 "; ", r->scalars.best_clock);
    }
    if (r->outcome.why.text[0] != '\0') {
        text_addf(out, "%s; ", r->outcome.why.text);
    }
    view_parts(&r->outcome, out);
    text_add(out, ".");
}

/* What a budget cost, and what it saved, against the same run without it. */
void compare_say_budget(const struct compare *c, struct text *out)
{
    uint32_t with = compare_find(c, "gaia-bsp"), without = compare_find(c, "gaia-bsp-free");
    const struct run_outcome *a, *b;

    if (with == COMPARE_NONE || without == COMPARE_NONE || !c->runs[with].known ||
        !c->runs[without].known) {
        return;
    }
    a = &c->runs[with].outcome;
    b = &c->runs[without].outcome;
    text_add(out, "The budget (");
    if (isfinite(a->budget.max_usd)) {
        text_addf(out, "$%g%s", a->budget.max_usd, isfinite(a->budget.max_gb) ? ", " : "");
    }
    if (isfinite(a->budget.max_gb)) {
        text_addf(out, "%g GB", a->budget.max_gb);
    }
    text_addf(out, ") %s gaia-bsp: ", a->budget.bound ? "bound" : "did not bind");
    budget_compare(a, b, out);
    text_add(out, ".");
}

void compare_say_prices(const struct compare *c, struct text *out)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->runs[i].known && !c->runs[i].outcome.priced) {
            text_addf(out, "Dollars are not known: %s.", c->runs[i].outcome.note.text);
            return;
        }
    }
}

static void view_sentence(const struct compare_view *v,
                          void (*say)(const struct compare *c, struct text *out), struct text *out)
{
    char chars[VIEW_SENTENCE_BYTES] = "";
    struct text t;

    text_init_fixed(&t, chars, sizeof(chars));
    say(v->compare, &t);
    view_wrap(chars, v->width, out);
}

void compare_view(const struct compare_view *v, struct text *out)
{
    const struct compare *c = v->compare;

    text_addf(out, "%s%s%s\n", cli_style(v->color, CLI_HEADING), c->title,
              cli_style(v->color, CLI_PLAIN));
    view_heads(v, out);
    for (uint32_t i = 0; i < c->count; i++) {
        view_row(v, i, out);
    }
    view_bars(v, out);
    text_add(out, "\n");
    view_sentence(v, compare_say_goal, out);
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->runs[i].known && (!c->goal.there || !c->runs[i].reached || v->wide)) {
            char chars[VIEW_SENTENCE_BYTES];
            struct text t;

            text_init_fixed(&t, chars, sizeof(chars));
            compare_say_missed(c, &c->runs[i], &t);
            view_wrap(chars, v->width, out);
        }
    }
    view_sentence(v, compare_say_budget, out);
    view_sentence(v, compare_say_prices, out);
    view_wrap(c->note.text, v->width, out);
}

/* For other programs. */

static void csv_real(double value, struct text *out)
{
    text_add(out, ",");
    if (isfinite(value)) {
        topo_print_number(value, out);
    }
}

void compare_csv(const struct compare *c, struct text *out)
{
    text_add(out, "name,end,reached,clocks,time_s,speed,by_lan,wan_bytes,compute_usd,waiting_usd,"
                  "transfer_usd,total_usd,insignificant,objective,best,compute_s,read_s,end_s,"
                  "waited_clock_s,waited_barrier_s,waited_fresh_s,waited_room_s,move_s,"
                  "codec_seconds\n");
    for (uint32_t i = 0; i < c->count; i++) {
        const struct compare_run *r = &c->runs[i];
        const struct run_outcome *o = &r->outcome;

        if (!r->known) {
            compare_csv_word(r->name, out);
            text_add(out, ",,0,,,,,,,,,,,,,,,,,,,,,\n");
            continue;
        }
        compare_csv_word(r->name, out);
        text_addf(out, ",%s,%d", o->end, r->reached);
        csv_real(compare_clocks(c, i), out);
        csv_real(compare_time(c, i), out);
        csv_real(compare_speed(c, i), out);
        csv_real(compare_by_lan(c, i), out);
        text_addf(out, ",%" PRIu64, o->wan_bytes);
        csv_real(o->cost.compute, out);
        csv_real(o->cost.waiting, out);
        csv_real(o->cost.transfer, out);
        csv_real(o->cost.total, out);
        csv_real(o->insignificant, out);
        csv_real(o->objective, out);
        csv_real(r->scalars.last_clock > 0 ? r->scalars.best : (double)NAN, out);
        csv_real(o->compute_s, out);
        csv_real(o->read_s, out);
        csv_real(o->end_s, out);
        csv_real(o->waited_clock_s, out);
        csv_real(o->waited_barrier_s, out);
        csv_real(o->waited_fresh_s, out);
        csv_real(o->waited_room_s, out);
        csv_real(o->move_s, out);
        csv_real(o->codec_s, out);
        text_add(out, "\n");
    }
}

static json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Where it was as good as the aim. */
static json_t *json_reach(const struct compare_run *r)
{
    const struct run_reading_reach *reach = &r->reach;

    return isnan(reach->clock)
               ? json_null()
               : json_pack("{s:f, s:f, s:o, s:o}", "clocks", reach->clock, "time_s", reach->time_s,
                           "wan_bytes", json_number(reach->wan_bytes), "wan_usd",
                           json_number(reach->wan_usd));
}

static json_t *json_run(const struct compare *c, uint32_t index)
{
    const struct compare_run *r = &c->runs[index];
    const struct run_outcome *o = &r->outcome;
    json_t *run = json_pack("{s:s, s:s, s:b, s:s}", "name", r->name, "record", r->record, "reached",
                            (int)r->reached, "why", r->known ? o->why.text : r->why.text);

    if (run == NULL || !r->known) {
        return run;
    }
    (void)json_object_update_new(
        run, json_pack("{s:s, s:f, s:f, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o}",
                       "end", o->end, "clocks", compare_clocks(c, index), "time_s",
                       compare_time(c, index), "speed", json_number(compare_speed(c, index)),
                       "by_lan", json_number(compare_by_lan(c, index)), "wan_bytes",
                       (json_int_t)o->wan_bytes, "compute_usd", json_number(o->cost.compute),
                       "waiting_usd", json_number(o->cost.waiting), "transfer_usd",
                       json_number(o->cost.transfer), "total_usd", json_number(o->cost.total),
                       "cost_note", o->note.text, "insignificant", json_number(o->insignificant),
                       "objective", json_number(o->objective), "best",
                       json_number(r->scalars.last_clock > 0 ? r->scalars.best : (double)NAN)));
    (void)json_object_update_new(
        run, json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "compute_s", o->compute_s,
                       "read_s", o->read_s, "end_s", o->end_s, "waited_clock_s", o->waited_clock_s,
                       "waited_barrier_s", o->waited_barrier_s, "waited_fresh_s", o->waited_fresh_s,
                       "waited_room_s", o->waited_room_s, "move_s", json_number(o->move_s),
                       "codec_seconds", json_number(o->codec_s)));
    (void)json_object_set_new(run, "aim", json_reach(r));
    return run;
}

static json_t *json_goal(const struct compare *c)
{
    const struct compare_goal *g = &c->goal;
    const struct run_outcome *setter;

    if (!g->there) {
        return json_null();
    }
    setter = &c->runs[c->setter].outcome;
    return json_pack("{s:o, s:s, s:b, s:b, s:f, s:i, s:I, s:o}", "objective",
                     json_number(g->objective), "objective_is", setter->objective_is, "rising",
                     (int)setter->rising, "converged", (int)g->converged, "change", g->change,
                     "change_clocks", (int)g->change_clocks, "clock", (json_int_t)g->clock,
                     "limit_clocks",
                     g->limit_clocks > 0 ? json_integer((json_int_t)g->limit_clocks) : json_null());
}

json_t *compare_json(const struct compare *c)
{
    json_t *runs = json_array();

    for (uint32_t i = 0; i < c->count; i++) {
        (void)json_array_append_new(runs, json_run(c, i));
    }
    return json_pack("{s:s, s:o, s:o, s:s?, s:s?, s:o, s:s}", "run", c->title, "goal", json_goal(c),
                     "aim", json_number(c->aim), "base",
                     c->base < c->count ? c->runs[c->base].name : NULL, "dir",
                     c->dir[0] != '\0' ? c->dir : NULL, "runs", runs, "note", c->note.text);
}
