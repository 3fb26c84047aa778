/* The objective of a run against time, clocks, bytes and dollars. */

#include "base/mem.h"
#include "run/report/state.h"

#include <inttypes.h>
#include <math.h>

enum { CURVES_COLUMNS = 220, CURVES_POINTS = CURVES_COLUMNS * 4, CURVES_LOG_FROM = 50 };

enum curves_kind { CURVES_TIME, CURVES_CLOCKS, CURVES_BYTES, CURVES_USD, CURVES_KINDS };

static const struct {
    const char *title, *x_is, *id, *column;
    enum run_svg_unit unit;
} curves_kinds[CURVES_KINDS] = {
    [CURVES_TIME] = {"against time", "time since the start", "time", "time_s", RUN_SVG_SECONDS},
    [CURVES_CLOCKS] = {"against clocks", "clocks", "clocks", "clock", RUN_SVG_PLAIN},
    [CURVES_BYTES] = {"against bytes between regions", "sent between regions", "bytes", "wan_bytes",
                      RUN_SVG_BYTES},
    [CURVES_USD] = {"against dollars for transfer", "paid for transfer", "dollars", "wan_usd",
                    RUN_SVG_DOLLARS},
};

static double curves_x(const struct run_reading_point *p, enum curves_kind kind)
{
    return kind == CURVES_TIME     ? p->time_s
           : kind == CURVES_CLOCKS ? (double)p->clock
           : kind == CURVES_BYTES  ? p->wan_bytes
                                   : p->wan_usd;
}

/* What can be drawn, thinned. */
struct curves_picture {
    struct run_svg_point *all;
    struct run_svg_point *few;
    uint32_t count;
    double x_max;
    double y_min;
    double y_max;
};

static void curves_points(const struct run_reading_curve *curve, enum curves_kind kind,
                          struct curves_picture *p)
{
    uint32_t count = 0;

    p->x_max = 0;
    p->y_min = p->y_max = NAN;
    for (uint32_t i = 0; i < curve->count; i++) {
        double x = curves_x(&curve->points[i], kind), y = curve->points[i].value;

        if (isfinite(x)) {
            p->all[count++] = (struct run_svg_point){.x = x, .y = y};
            p->x_max = x > p->x_max ? x : p->x_max;
            p->y_min = y >= p->y_min ? p->y_min : y;
            p->y_max = y <= p->y_max ? p->y_max : y;
        }
    }
    p->count = run_svg_thin(p->all, count, CURVES_COLUMNS, p->few);
}

static void curves_words(const struct run_reading *r, const struct run_reading_curve *curve,
                         enum curves_kind kind, const struct curves_picture *p, struct text *t)
{
    const struct run_svg_point *first = &p->few[0], *last = &p->few[p->count - 1];

    text_addf(t, "%s goes from ", curve->loss ? "The loss" : report_objective(r));
    figure_number(first->y, t);
    text_add(t, " to ");
    figure_number(last->y, t);
    text_add(t, " while ");
    switch (kind) {
    case CURVES_TIME:
        text_add(t, "time goes up to ");
        figure_time(p->x_max, t);
        break;
    case CURVES_CLOCKS:
        text_addf(t, "clocks go up to %.0f", p->x_max);
        break;
    case CURVES_BYTES:
        text_add(t, "bytes go up to ");
        figure_bytes((uint64_t)p->x_max, t);
        break;
    default:
        text_add(t, "dollars go up to ");
        run_page_usd(t, p->x_max);
        break;
    }
    text_add(t, ".");
}

static void curves_draw(const struct run_reading *r, const struct run_reading_curve *curve,
                        enum curves_kind kind, const struct curves_picture *p,
                        const struct report_marks *marks, struct text *out)
{
    struct run_svg_series series = {.name = "", .points = p->few, .count = p->count};
    struct report_words title, words;
    struct run_svg_chart chart = {.id = curves_kinds[kind].id,
                                  .title = title.chars,
                                  .words = words.chars,
                                  .x_is = curves_kinds[kind].x_is,
                                  .y_is = curve->loss ? "loss per sample" : report_objective(r),
                                  .series = &series,
                                  .series_count = 1,
                                  .goal = r->file->stop.has_objective && !curve->loss
                                              ? r->file->stop.objective
                                              : (double)NAN};
    double end = kind == CURVES_TIME && r->last_s > p->x_max ? r->last_s : p->x_max;

    text_addf(report_words(&title), "%s %s", chart.y_is, curves_kinds[kind].title);
    curves_words(r, curve, kind, p, report_words(&words));
    run_svg_axis_linear(&chart.x, curves_kinds[kind].unit, 0, end, 5, false);
    if (p->y_min > 0 && p->y_max > p->y_min * CURVES_LOG_FROM) {
        run_svg_axis_log(&chart.y, RUN_SVG_PLAIN, p->y_min, p->y_max);
    } else {
        run_svg_axis_linear(&chart.y, RUN_SVG_PLAIN, p->y_min, p->y_max, 4, true);
    }
    if (kind == CURVES_TIME) {
        chart.lanes = report_lanes;
        chart.lanes_count = marks->lanes;
        chart.marks = marks->marks;
        chart.marks_count = marks->count;
    }
    if (!(chart.goal >= chart.y.min && chart.goal <= chart.y.max)) {
        chart.goal = NAN;
    }
    run_svg_chart(&chart, out);
}

static void curves_figure(const struct run_reading *r, const struct run_reading_curve *curve,
                          enum curves_kind kind, struct curves_picture *p,
                          const struct report_marks *marks, struct text *out)
{
    curves_points(curve, kind, p);
    text_addf(out, "<figure><h3>%s %s</h3>", curve->loss ? "Loss" : "Objective",
              curves_kinds[kind].title);
    if (p->count == 0) {
        text_addf(out, "<p class=\"soft\">%s</p></figure>\n",
                  curve->count == 0      ? "Nothing was judged yet."
                  : kind == CURVES_BYTES ? "The record does not say: an older Strait wrote it."
                                         : "It is not known: a link that was used has no price, "
                                           "or an older Strait wrote the record.");
        return;
    }
    curves_draw(r, curve, kind, p, marks, out);
    text_addf(out,
              "<figcaption class=\"from\">%s<code>scalars.csv</code>: <code>%s</code>, "
              "<code>%s</code>%s</figcaption></figure>\n",
              kind != CURVES_TIME && p->x_max == 0 ? "It stayed at zero. " : "",
              curves_kinds[kind].column, curve->loss ? "loss" : "objective",
              kind == CURVES_TIME && marks->count > 0 ? "; <code>events.jsonl</code>" : "");
}

enum err report_curves(const struct run_reading *r, struct text *out)
{
    struct report_marks *marks = mem_zalloc(sizeof(*marks));
    struct curves_picture picture = {.all = NULL};
    struct run_reading_curve curve;
    enum err rc = run_reading_curve(r->rows, r->rows_count, &curve);

    picture.all = mem_calloc((size_t)r->rows_count + 1, sizeof(*picture.all));
    picture.few = mem_calloc(CURVES_POINTS, sizeof(*picture.few));
    if (rc != OK || marks == NULL || picture.all == NULL || picture.few == NULL) {
        rc = ERR_NOMEM;
    } else {
        report_marks(r, marks);
        text_add(out, "<h2>How good, when, and for how much</h2>\n");
        text_addf(out, "<p class=\"soft\">%s is better.%s</p>\n<div class=\"figures\">\n",
                  curve.loss || !report_rising(r) ? "Less" : "More",
                  curve.loss ? " The run was never evaluated: this is the loss on the samples of "
                               "each clock."
                             : "");
        for (int kind = 0; kind < CURVES_KINDS; kind++) {
            curves_figure(r, &curve, (enum curves_kind)kind, &picture, marks, out);
        }
        text_add(out, "</div>\n");
    }
    mem_free(curve.points);
    mem_free(picture.all);
    mem_free(picture.few);
    mem_free(marks);
    return rc;
}
