/* Pictures as SVG: curves with axes, and bars. Pure: figures in, text out. Colours, dashes and
 * sizes of letters are those of the page that the picture is put into (run/report/page.h), by
 * classes: s0, s1, ... for series. Every picture has words for those who do not see it. */

#ifndef RUN_REPORT_SVG_H
#define RUN_REPORT_SVG_H

#include "base/text.h"

#include <stdint.h>

enum {
    RUN_SVG_TICKS_MAX = 16,
    RUN_SVG_STYLES = 8, /* Of series that the page can tell apart. */
    RUN_SVG_SERIES_MAX = 32,
    RUN_SVG_LANES_MAX = 4,
};

/* Add @chars as text of HTML and SVG, also in quotes: what means something there is escaped, what
 * is no text (control characters, bytes that are not UTF-8) becomes U+FFFD. */
void run_svg_escape(struct text *out, const char *chars);

/* Axes. */

enum run_svg_unit { RUN_SVG_PLAIN, RUN_SVG_SECONDS, RUN_SVG_BYTES, RUN_SVG_DOLLARS };

struct run_svg_axis {
    bool log;
    double min; /* What is at its two ends. */
    double max;
    double factor;    /* Figures are shown divided by this, ... */
    const char *unit; /* ... in this: "s", "min", "MB"; empty for plain ones. */
    double step;      /* Between two ticks, unless it is logarithmic. */
    double ticks[RUN_SVG_TICKS_MAX];
    uint32_t ticks_count;
};

/* From @min to @max with about @wanted ticks at round figures. @round: the ends become ticks. If
 * both are the same there is some room around them. */
void run_svg_axis_linear(struct run_svg_axis *a, enum run_svg_unit unit, double min, double max,
                         uint32_t wanted, bool round);

/* The same by decades; both must be above zero. What is below @min later is shown at its end. */
void run_svg_axis_log(struct run_svg_axis *a, enum run_svg_unit unit, double min, double max);

/* Where a value is between the ends, from 0 to 1. */
double run_svg_axis_part(const struct run_svg_axis *a, double value);

/* A tick as people read it, without the unit: "0.25". */
void run_svg_axis_label(const struct run_svg_axis *a, double tick, struct text *out);

/* Curves. */

struct run_svg_point {
    double x;
    double y;
};

/* Leave out points until there are at most four for each of @columns, and keep the first, the last,
 * the least and the greatest of every column. @out has room for @count points or for four times
 * @columns, whichever is less. Returns how many. */
uint32_t run_svg_thin(const struct run_svg_point *in, uint32_t count, uint32_t columns,
                      struct run_svg_point *out);

struct run_svg_series {
    const char *name;
    const struct run_svg_point *points;
    uint32_t count;
    uint32_t style;
};

/* Something that happened, below the axis. */
struct run_svg_mark {
    double x;
    uint32_t lane;
    const char *words;
};

struct run_svg_chart {
    const char *id;    /* Of its words; another one for each picture of a page. */
    const char *title; /* What it is, for those who do not see it; ... */
    const char *words; /* ... and what it shows. */
    const char *x_is;  /* What the axes are; the units are added. */
    const char *y_is;
    struct run_svg_axis x;
    struct run_svg_axis y;
    const struct run_svg_series *series;
    uint32_t series_count;
    bool named;               /* Names of the series at their ends. */
    double goal;              /* A line across; NaN: none. */
    const char *const *lanes; /* Names, from the top down. */
    uint32_t lanes_count;
    const struct run_svg_mark *marks;
    uint32_t marks_count;
};

void run_svg_chart(const struct run_svg_chart *c, struct text *out);

/* Bars. */

struct run_svg_part {
    double size;
    const char *style; /* A class. */
};

/* Parts behind each other, of a bar that is @whole long; @words say it. It is as wide as its
 * place. */
void run_svg_bar(const struct run_svg_part *parts, uint32_t count, double whole, const char *words,
                 struct text *out);

#endif
