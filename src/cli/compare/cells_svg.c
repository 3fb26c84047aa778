/* The picture of a set: a bar for every run of every cell, and the paper's figures as marks. */

#include "cli/compare/cells.h"
#include "run/report/svg.h"

#include <math.h>
#include <string.h>

enum {
    SVG_WIDE = 720,
    SVG_NAMES = 132,  /* Columns of names, at least, ... */
    SVG_LETTER = 7,   /* (of one letter of them) */
    SVG_VALUES = 128, /* ... and of figures, at the right. */
    SVG_ROW = 20,
    SVG_HEAD = 32, /* Of a cell. */
    SVG_TOP = 26,
    SVG_BAR = 12,
};

/* Bars that differ more than this are shown by decades. */
#define SVG_LOG 200

struct svg {
    const struct compare_cells *s;
    const struct run_cells_figure *f;
    struct run_svg_axis x;
    double y;
    int names;
};

/* Colours as those of run/report/page.h, for a file that stands alone. */
static const char svg_style[] =
    "<style>text{font:12px system-ui,\"Noto Sans\",\"DejaVu Sans\",sans-serif;fill:#18222d}"
    ".soft{fill:#586673}.head{font-weight:600}.track{fill:#eceef0}.paper{stroke:#18222d;"
    "stroke-width:2;fill:none}.b0{fill:#0072b2}.b1{fill:#c84e00}.b2{fill:#00805c}.b3{fill:#a4387c}"
    ".b4{fill:#866a00}.b5{fill:#5348b5}.b6{fill:#5c6670}.b7{fill:#8a3b22}.bg{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#e7edf3}.soft{fill:#9dabb8}.track{fill:#25303b}"
    ".paper{stroke:#e7edf3}.bg{fill:#10161c}.b0{fill:#5ab6ee}.b1{fill:#ff9650}.b2{fill:#34c79d}"
    ".b3{fill:#e892c6}.b4{fill:#dcc04a}.b5{fill:#aca4fb}.b6{fill:#aeb8c2}.b7{fill:#dd9a7c}}"
    "</style>\n<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n";

static const char svg_inline_style[] =
    "<style>.track{fill:var(--grid)}.paper{stroke:var(--ink);stroke-width:2;fill:none}"
    "svg .head{font-weight:600}svg text.soft{fill:var(--soft)}</style>\n";

/* The least and the greatest of all that is drawn. */
static void svg_range(const struct compare_cells *s, const struct run_cells_figure *f,
                      double *least, double *most)
{
    *least = NAN;
    *most = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct compare *c = s->cells[i].c;

        for (uint32_t j = 0; c != NULL && j < c->count; j++) {
            bool shown = run_cells_shows(f, c->runs[j].name);
            const struct run_cells_paper *p = run_cells_paper(f, i, c->runs[j].name);
            double value = shown ? compare_cells_value(s, f, i, j) : (double)NAN;

            *most = value > *most ? value : *most;
            *most = p != NULL && p->high > *most ? p->high : *most;
            *least = value > 0 && !(value >= *least) ? value : *least;
        }
    }
}

static double svg_x(const struct svg *v, double value)
{
    double part = run_svg_axis_part(&v->x, value);

    return v->names + part * (SVG_WIDE - v->names - SVG_VALUES);
}

static void svg_text(double x, double y, const char *class, const char *chars, struct text *out)
{
    text_addf(out, "<text class=\"%s\" x=\"%.0f\" y=\"%.0f\">", class, x, y);
    run_svg_escape(out, chars);
    text_add(out, "</text>");
}

/* A line across the bar, or from one end of the range to the other. */
static void svg_paper(const struct svg *v, const struct run_cells_paper *p, struct text *out)
{
    double low = svg_x(v, p->low), high = svg_x(v, p->high), top = v->y - 2;

    text_addf(out, "<path class=\"paper\" d=\"M%.1f %.1fv%d", low, top, SVG_BAR + 4);
    if (p->high > p->low) {
        text_addf(out, "M%.1f %.1fv%dM%.1f %.1fH%.1f", high, top, SVG_BAR + 4, low,
                  v->y + SVG_BAR / 2.0, high);
    }
    text_add(out, "\"/>");
}

/* Runs of one name have one colour in all cells, and if they are not the set's own, in all sets. */
static uint32_t svg_colour(const struct compare_cells *s, const char *name)
{
    const struct run_cells_run *own = run_cells_find(s->set, name);
    uint32_t i = 0;

    if (own != NULL) {
        return (uint32_t)(own - s->set->runs) % RUN_SVG_STYLES;
    }

    while (compare_names[i] != NULL && strcmp(compare_names[i], name) != 0) {
        i++;
    }
    return i % RUN_SVG_STYLES;
}

static void svg_run(struct svg *v, uint32_t cell, uint32_t run, struct text *out)
{
    const struct compare *c = v->s->cells[cell].c;
    const struct run_cells_paper *p = run_cells_paper(v->f, cell, c->runs[run].name);
    double value = compare_cells_value(v->s, v->f, cell, run);
    char chars[128];
    struct text t;

    text_init_fixed(&t, chars, sizeof(chars));
    text_addf(out, "<rect class=\"track\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>",
              v->names, v->y, SVG_WIDE - v->names - SVG_VALUES, SVG_BAR);
    if (isfinite(value)) {
        double wide = svg_x(v, value) - v->names;

        text_addf(out, "<rect class=\"b%u\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>",
                  svg_colour(v->s, c->runs[run].name), v->names, v->y, wide < 1 ? 1 : wide,
                  SVG_BAR);
        compare_cells_say(v->f->show, value, &t);
    } else {
        text_add(&t, compare_end(c, &c->runs[run]));
    }
    if (p != NULL) {
        svg_paper(v, p, out);
        text_add(&t, " (");
        compare_cells_say_paper(v->f->show, p, &t);
        text_add(&t, ")");
    }
    svg_text(6, v->y + SVG_BAR - 2, "soft", c->runs[run].name, out);
    svg_text(SVG_WIDE - SVG_VALUES + 8, v->y + SVG_BAR - 2, "figure", chars, out);
    text_add(out, "\n");
    v->y += SVG_ROW;
}

static void svg_cell(struct svg *v, uint32_t index, struct text *out)
{
    const struct compare_cell *cell = &v->s->cells[index];
    char head[512], why[ERR_TEXT_BYTES + 64];
    struct text t;

    text_init_fixed(&t, why, sizeof(why));
    compare_cells_say_state(cell, &t);
    (void)snprintf(head, sizeof(head), "%.48s%s%s%.90s%s%.90s", cell->cell->name,
                   cell->cell->local ? ", live" : "", cell->cell->about[0] != '\0' ? ": " : "",
                   cell->cell->about, why[0] != '\0' ? "; " : "", why);
    svg_text(6, v->y + SVG_HEAD - 12, "head", head, out);
    text_add(out, "\n");
    v->y += SVG_HEAD - 6;
    for (uint32_t i = 0; why[0] == '\0' && i < cell->c->count; i++) {
        if (run_cells_shows(v->f, cell->c->runs[i].name)) {
            svg_run(v, index, i, out);
        }
    }
}

static int svg_names(const struct run_cells *set)
{
    int wide = SVG_NAMES;

    for (uint32_t i = 0; i < set->runs_count; i++) {
        int own = (int)strlen(set->runs[i].name) * SVG_LETTER + 16;

        wide = own > wide ? own : wide;
    }
    return wide;
}

static double svg_tall(const struct compare_cells *s, const struct run_cells_figure *f)
{
    double tall = SVG_TOP + 8;

    for (uint32_t i = 0; i < s->count; i++) {
        const struct compare *c = s->cells[i].c;
        char why[ERR_TEXT_BYTES + 64];
        struct text t;

        text_init_fixed(&t, why, sizeof(why));
        compare_cells_say_state(&s->cells[i], &t);
        tall += compare_cells_has(s, f, i) ? SVG_HEAD - 6 : 0;
        for (uint32_t j = 0; why[0] == '\0' && j < c->count; j++) {
            tall += run_cells_shows(f, c->runs[j].name) ? SVG_ROW : 0;
        }
    }
    return tall;
}

void compare_cells_svg(const struct compare_cells *s, const struct run_cells_figure *f, bool alone,
                       struct text *out)
{
    struct svg v = {.s = s, .f = f, .y = SVG_TOP, .names = svg_names(s->set)};
    double least, most;
    char what[256];
    struct text t;

    svg_range(s, f, &least, &most);
    if (least > 0 && most > least * SVG_LOG) {
        run_svg_axis_log(&v.x, RUN_SVG_PLAIN, least / 2, most);
    } else {
        run_svg_axis_linear(&v.x, RUN_SVG_PLAIN, 0, most > 0 ? most : 1, 4, false);
    }
    text_init_fixed(&t, what, sizeof(what));
    compare_cells_say_show(s, f, &t);
    text_addf(&t, "%s; marks and brackets: the paper", v.x.log ? ", by decades" : "");
    text_addf(out, "<svg %sclass=\"set\" role=\"img\" viewBox=\"0 0 %d %.0f\"%s aria-label=\"",
              alone ? "xmlns=\"http://www.w3.org/2000/svg\" " : "", SVG_WIDE, svg_tall(s, f),
              alone ? "" : " style=\"width:100%;height:auto\"");
    run_svg_escape(out, f->name);
    text_add(out, "\">");
    text_add(out, alone ? svg_style : svg_inline_style);
    svg_text(6, 16, "soft", what, out);
    text_add(out, "\n");
    for (uint32_t i = 0; i < s->count; i++) {
        if (compare_cells_has(s, f, i)) {
            svg_cell(&v, i, out);
        }
    }
    text_add(out, "</svg>\n");
}
