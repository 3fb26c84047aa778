/* Curves with axes, names at their ends, and what happened below the axis. */

#include "run/report/svg.h"

#include <math.h>
#include <string.h>

/* The picture's own units; the page scales them. Letters are 12 high, or 15 on a phone. */
#define CHART_WIDE 460.0
#define CHART_LEFT 58.0
#define CHART_RIGHT 24.0
#define CHART_RIGHT_NAMED 100.0
#define CHART_TOP 30.0
#define CHART_HIGH 190.0
#define CHART_FOOT 46.0
#define CHART_LANE 17.0
#define CHART_LETTER 7.4 /* How wide one is, about. */
#define CHART_LINE 14.0

enum { CHART_TRIES = 96, CHART_NAME_LETTERS = 16 };

/* Where the plot is. */
struct chart_box {
    double left;
    double right;
    double top;
    double bottom;
};

static double chart_x(const struct run_svg_chart *c, const struct chart_box *b, double value)
{
    return b->left + run_svg_axis_part(&c->x, value) * (b->right - b->left);
}

static double chart_y(const struct run_svg_chart *c, const struct chart_box *b, double value)
{
    return b->bottom - run_svg_axis_part(&c->y, value) * (b->bottom - b->top);
}

static void chart_axis_name(const char *name, const struct run_svg_axis *a, struct text *out)
{
    run_svg_escape(out, name);
    if (a->unit[0] != '\0') {
        text_addf(out, " (%s)", a->unit);
    }
}

static void chart_grid(const struct run_svg_chart *c, const struct chart_box *b, struct text *out)
{
    text_add(out, "<g class=\"grid\">");
    for (uint32_t i = 0; i < c->y.ticks_count; i++) {
        double y = chart_y(c, b, c->y.ticks[i]);

        text_addf(out, "<path d=\"M%.1f %.1fH%.1f\"/>", b->left, y, b->right);
    }
    text_addf(out, "</g><path class=\"axis\" d=\"M%.1f %.1fH%.1f", b->left, b->bottom, b->right);
    for (uint32_t i = 0; i < c->x.ticks_count; i++) {
        text_addf(out, "M%.1f %.1fv4", chart_x(c, b, c->x.ticks[i]), b->bottom);
    }
    text_add(out, "\"/><g class=\"tick\">");
    for (uint32_t i = 0; i < c->y.ticks_count; i++) {
        text_addf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", b->left - 6,
                  chart_y(c, b, c->y.ticks[i]) + 4);
        run_svg_axis_label(&c->y, c->y.ticks[i], out);
        text_add(out, "</text>");
    }
    for (uint32_t i = 0; i < c->x.ticks_count; i++) {
        text_addf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                  chart_x(c, b, c->x.ticks[i]), b->bottom + 18);
        run_svg_axis_label(&c->x, c->x.ticks[i], out);
        text_add(out, "</text>");
    }
    text_addf(out, "</g><text class=\"name\" x=\"4\" y=\"13\">");
    chart_axis_name(c->y_is, &c->y, out);
    text_addf(out, "</text><text class=\"name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">",
              b->right, b->bottom + 37 + CHART_LANE * c->lanes_count);
    chart_axis_name(c->x_is, &c->x, out);
    text_add(out, "</text>");
}

static void chart_lines(const struct run_svg_chart *c, const struct chart_box *b, struct text *out)
{
    for (uint32_t i = 0; i < c->series_count; i++) {
        const struct run_svg_series *s = &c->series[i];
        uint32_t style = s->style % RUN_SVG_STYLES;

        if (s->count == 0) {
            continue;
        }
        text_addf(out, "<path class=\"line s%u\" d=\"", style);
        for (uint32_t j = 0; j < s->count; j++) {
            text_addf(out, "%s%.1f %.1f", j == 0 ? "M" : "L", chart_x(c, b, s->points[j].x),
                      chart_y(c, b, s->points[j].y));
        }
        text_addf(out, "\"/><circle class=\"dot s%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", style,
                  chart_x(c, b, s->points[s->count - 1].x),
                  chart_y(c, b, s->points[s->count - 1].y));
    }
}

/* Names. */

struct chart_name {
    double x;
    double y;
    double wide;
};

static bool chart_hits(const struct chart_name *a, const struct chart_name *b)
{
    return fabs(a->y - b->y) < CHART_LINE && a->x < b->x + b->wide && b->x < a->x + a->wide;
}

/* Near the end of its curve, where no other name is: above and below in turns. */
static void chart_place(const struct chart_box *b, struct chart_name *names, uint32_t count)
{
    struct chart_name *n = &names[count];
    double at = n->y;

    for (int i = 0; i < CHART_TRIES; i++) {
        int step = (i + 1) / 2 * (i % 2 == 0 ? 1 : -1);
        bool free = true;

        n->y = at + CHART_LINE / 4 * step;
        free = n->y > b->top - 2 && n->y < b->bottom + 5;
        for (uint32_t j = 0; j < count && free; j++) {
            free = !chart_hits(n, &names[j]);
        }
        if (free) {
            return;
        }
    }
    n->y = at;
}

static void chart_names(const struct run_svg_chart *c, const struct chart_box *b, struct text *out)
{
    struct chart_name names[RUN_SVG_SERIES_MAX];
    uint32_t count = 0;

    CHECK(c->series_count <= RUN_SVG_SERIES_MAX);
    text_add(out, "<g class=\"names\">");
    for (uint32_t i = 0; i < c->series_count; i++) {
        const struct run_svg_series *s = &c->series[i];
        size_t letters = strlen(s->name);
        double x, y;

        if (s->count == 0) {
            continue;
        }
        letters = letters < CHART_NAME_LETTERS ? letters : CHART_NAME_LETTERS;
        x = chart_x(c, b, s->points[s->count - 1].x);
        y = chart_y(c, b, s->points[s->count - 1].y);
        names[count] =
            (struct chart_name){.x = x + 7, .y = y + 4, .wide = CHART_LETTER * (double)letters + 6};
        if (names[count].x + names[count].wide > CHART_WIDE) {
            names[count].x = CHART_WIDE - names[count].wide;
        }
        chart_place(b, names, count);
        if (fabs(names[count].y - 4 - y) > 2) {
            text_addf(out, "<path class=\"leader s%u\" d=\"M%.1f %.1fL%.1f %.1f\"/>",
                      s->style % RUN_SVG_STYLES, x, y, names[count].x - 1, names[count].y - 4);
        }
        text_addf(out, "<text class=\"s%u\" x=\"%.1f\" y=\"%.1f\">", s->style % RUN_SVG_STYLES,
                  names[count].x, names[count].y);
        run_svg_escape(out, s->name);
        text_add(out, "</text>");
        count++;
    }
    text_add(out, "</g>");
}

/* Lanes. */

static void chart_mark(double x, double y, uint32_t lane, struct text *out)
{
    static const char *const shapes[RUN_SVG_LANES_MAX] = {
        "m-4 -4l8 8m0 -8l-8 8", /* A cross, ... */
        "m-4 4h8l-4 -8z",       /* ... upwards, ... */
        "m-4 -4h8l-4 8z",       /* ... downwards, ... */
        "m-4 0l4 -4l4 4l-4 4z", /* ... a diamond. */
    };

    text_addf(out, "<path class=\"mark m%u\" d=\"M%.1f %.1f%s\">", lane, x, y, shapes[lane]);
}

static void chart_lanes(const struct run_svg_chart *c, const struct chart_box *b, struct text *out)
{
    for (uint32_t lane = 0; lane < c->lanes_count; lane++) {
        double y = b->bottom + 31 + CHART_LANE * lane;

        text_addf(out,
                  "<path class=\"lane\" d=\"M%.1f %.1fH%.1f\"/><text class=\"lanename\" "
                  "x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">",
                  b->left, y, b->right, b->left - 6, y + 4);
        run_svg_escape(out, c->lanes[lane]);
        text_add(out, "</text>");
    }
    for (uint32_t i = 0; i < c->marks_count; i++) {
        const struct run_svg_mark *m = &c->marks[i];
        double x = chart_x(c, b, m->x);

        if (m->lane == 0) {
            text_addf(out, "<path class=\"when\" d=\"M%.1f %.1fV%.1f\"/>", x, b->top, b->bottom);
        }
        chart_mark(x, b->bottom + 31 + CHART_LANE * m->lane, m->lane, out);
        text_add(out, "<title>");
        run_svg_escape(out, m->words);
        text_add(out, "</title></path>");
    }
}

void run_svg_chart(const struct run_svg_chart *c, struct text *out)
{
    struct chart_box b = {.left = CHART_LEFT,
                          .right = CHART_WIDE - (c->named ? CHART_RIGHT_NAMED : CHART_RIGHT),
                          .top = CHART_TOP,
                          .bottom = CHART_TOP + CHART_HIGH};

    CHECK(c->lanes_count <= RUN_SVG_LANES_MAX);
    text_addf(out,
              "<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
              "aria-labelledby=\"%s-t %s-d\"><title id=\"%s-t\">",
              CHART_WIDE, b.bottom + CHART_FOOT + CHART_LANE * c->lanes_count, c->id, c->id, c->id);
    run_svg_escape(out, c->title);
    text_addf(out, "</title><desc id=\"%s-d\">", c->id);
    run_svg_escape(out, c->words);
    text_add(out, "</desc>");
    chart_grid(c, &b, out);
    chart_lanes(c, &b, out);
    if (isfinite(c->goal)) {
        text_addf(out, "<path class=\"goal\" d=\"M%.1f %.1fH%.1f\"/>", b.left,
                  chart_y(c, &b, c->goal), b.right);
    }
    chart_lines(c, &b, out);
    if (c->named) {
        chart_names(c, &b, out);
    }
    text_add(out, "</svg>");
}
