#include "run/report/svg.h"

#include <math.h>
#include <string.h>

/* Words. */

static size_t svg_utf8_size(const unsigned char *s)
{
    size_t size = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
    char one[5] = "";

    for (size_t i = 0; i < size; i++) {
        if (s[i] == '\0') {
            return 0;
        }
        one[i] = (char)s[i];
    }
    return size > 0 && text_is_utf8(one) ? size : 0;
}

void run_svg_escape(struct text *out, const char *chars)
{
    const unsigned char *s = (const unsigned char *)chars;

    while (*s != '\0') {
        size_t size = svg_utf8_size(s);

        if (*s == '&') {
            text_add(out, "&amp;");
        } else if (*s == '<') {
            text_add(out, "&lt;");
        } else if (*s == '>') {
            text_add(out, "&gt;");
        } else if (*s == '"') {
            text_add(out, "&quot;");
        } else if (*s == '\'') {
            text_add(out, "&#39;");
        } else if (size == 0 || (*s < 0x20 && *s != '\n') || *s == 0x7f) {
            text_add(out, "\xef\xbf\xbd");
        } else {
            text_add_bytes(out, (const char *)s, size);
        }
        s += size > 0 ? size : 1;
    }
}

/* Axes. */

/* The largest unit in which @max is at least one or so. */
static void svg_unit_of(struct run_svg_axis *a, enum run_svg_unit unit, double max)
{
    static const struct {
        enum run_svg_unit unit;
        double from;
        double factor;
        const char *name;
    } units[] = {
        {RUN_SVG_SECONDS, 172800, 86400, "days"},
        {RUN_SVG_SECONDS, 7200, 3600, "h"},
        {RUN_SVG_SECONDS, 120, 60, "min"},
        {RUN_SVG_SECONDS, 0.5, 1, "s"},
        {RUN_SVG_SECONDS, 0, 1e-3, "ms"},
        {RUN_SVG_BYTES, 1e12, 1e12, "TB"},
        {RUN_SVG_BYTES, 1e9, 1e9, "GB"},
        {RUN_SVG_BYTES, 1e6, 1e6, "MB"},
        {RUN_SVG_BYTES, 1e3, 1e3, "kB"},
        {RUN_SVG_BYTES, 0, 1, "B"},
        {RUN_SVG_DOLLARS, 0.02, 1, "dollars"},
        {RUN_SVG_DOLLARS, 2e-5, 1e-3, "thousandths of a dollar"},
        {RUN_SVG_DOLLARS, 0, 1e-6, "millionths of a dollar"},
    };

    a->factor = 1;
    a->unit = "";
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (units[i].unit == unit && max >= units[i].from) {
            a->factor = units[i].factor;
            a->unit = units[i].name;
            return;
        }
    }
}

/* 1, 2 or 5 times a power of ten, so that @range has about @wanted of it. */
static double svg_step(double range, uint32_t wanted)
{
    double rough = range / wanted, power = pow(10, floor(log10(rough)));
    double times = rough / power;

    return power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
}

void run_svg_axis_linear(struct run_svg_axis *a, enum run_svg_unit unit, double min, double max,
                         uint32_t wanted, bool round)
{
    double first, room;

    CHECK(isfinite(min) && isfinite(max) && min <= max && wanted > 0);
    *a = (struct run_svg_axis){.log = false};
    if (!(max - min > fabs(max) * 1e-12)) { /* One value: it gets the middle. */
        room = max == 0 ? 1 : fabs(max) / 2;
        max += room;
        min = min >= 0 && min - room < 0 ? 0 : min - room;
    }
    svg_unit_of(a, unit, max);
    a->step = svg_step((max - min) / a->factor, wanted) * a->factor;
    a->min = round ? floor(min / a->step + 1e-9) * a->step : min;
    a->max = round ? ceil(max / a->step - 1e-9) * a->step : max;
    first = ceil(a->min / a->step - 1e-9);
    for (uint32_t i = 0; i < RUN_SVG_TICKS_MAX; i++) {
        double tick = (first + i) * a->step;

        if (tick > a->max + a->step * 1e-6) {
            break;
        }
        a->ticks[a->ticks_count++] = tick;
    }
}

void run_svg_axis_log(struct run_svg_axis *a, enum run_svg_unit unit, double min, double max)
{
    static const double few[] = {1, 2, 5};
    double decades;
    int power, stride;

    CHECK(min > 0 && max >= min && isfinite(max));
    *a = (struct run_svg_axis){.log = true};
    max = max > min * 1.1 ? max : min * 10;
    svg_unit_of(a, unit, max);
    a->min = min;
    a->max = max;
    decades = log10(max / min);
    stride = (int)(decades / 6) + 1;
    power = (int)floor(log10(min / a->factor));
    for (; a->factor * pow(10, power) <= max; power += stride) {
        for (uint32_t i = 0; i < (decades < 2.5 ? 3 : 1); i++) {
            double tick = few[i] * pow(10, power) * a->factor;

            if (tick >= min * 0.999 && tick <= max * 1.001 && a->ticks_count < RUN_SVG_TICKS_MAX) {
                a->ticks[a->ticks_count++] = tick;
            }
        }
    }
}

double run_svg_axis_part(const struct run_svg_axis *a, double value)
{
    double part = a->log ? (value > a->min ? log(value / a->min) / log(a->max / a->min) : 0)
                         : (value - a->min) / (a->max - a->min);

    return part < 0 ? 0 : part > 1 ? 1 : part;
}

void run_svg_axis_label(const struct run_svg_axis *a, double tick, struct text *out)
{
    double shown = tick / a->factor, step = a->log ? shown : a->step / a->factor;
    int decimals = step > 0 && step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;

    if (fabs(shown) < step * 1e-6) {
        text_add(out, "0");
    } else if (fabs(shown) >= 1e6 || decimals > 7) {
        text_addf(out, "%.3g", shown);
    } else {
        text_addf(out, "%.*f", decimals, shown);
    }
}

/* Curves. */

uint32_t run_svg_thin(const struct run_svg_point *in, uint32_t count, uint32_t columns,
                      struct run_svg_point *out)
{
    uint32_t kept = 0;

    CHECK(columns > 0);
    if (count <= columns * 4) {
        memcpy(out, in, count * sizeof(*in));
        return count;
    }
    for (uint32_t c = 0; c < columns; c++) {
        uint32_t from = (uint32_t)((uint64_t)count * c / columns);
        uint32_t to = (uint32_t)((uint64_t)count * (c + 1) / columns);
        uint32_t least = from, most = from;

        for (uint32_t i = from; i < to; i++) {
            least = in[i].y < in[least].y ? i : least;
            most = in[i].y > in[most].y ? i : most;
        }
        for (uint32_t i = from; i < to; i++) {
            if (i == from || i == least || i == most || i + 1 == to) {
                out[kept++] = in[i];
            }
        }
    }
    return kept;
}

/* Bars. */

void run_svg_bar(const struct run_svg_part *parts, uint32_t count, double whole, const char *words,
                 struct text *out)
{
    double at = 0;

    text_add(out, "<svg class=\"bar\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" "
                  "role=\"img\" aria-label=\"");
    run_svg_escape(out, words);
    text_add(out, "\"><title>");
    run_svg_escape(out, words);
    text_add(out, "</title>");
    for (uint32_t i = 0; i < count; i++) {
        double wide = whole > 0 && parts[i].size > 0 ? parts[i].size / whole * 1000 : 0;

        wide = wide > 1000 - at ? 1000 - at : wide;
        wide = parts[i].size > 0 && wide < 1 ? 1 : wide; /* A little is not nothing. */
        if (wide > 0) {
            text_addf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"10\"/>",
                      parts[i].style, at > 999 ? (double)999 : at, wide);
        }
        at += wide;
    }
    text_add(out, "</svg>");
}
