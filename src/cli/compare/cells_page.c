/* The page of a set: of each figure a picture and a table of its runs, and where each cell has its
 * own page. */

#include "base/figure.h"
#include "cli/compare/cells.h"
#include "run/report/page.h"
#include "run/report/svg.h"

#include <math.h>

static void page_ratio(double value, struct text *out)
{
    text_addf(out, isfinite(value) ? "<td class=\"n\">%.2f</td>" : "<td class=\"n\">-</td>", value);
}

static void page_run(const struct compare_cells *s, const struct run_cells_figure *f, uint32_t cell,
                     uint32_t run, struct text *out)
{
    const struct compare *c = s->cells[cell].c;
    const struct compare_run *r = &c->runs[run];
    char end[ERR_TEXT_BYTES + 64];
    struct text t;

    text_add(out, "<tr><td>");
    run_svg_escape(out, s->cells[cell].cell->name);
    text_addf(out, "</td><td>%s</td><td>", s->cells[cell].cell->local ? "local" : "sim");
    run_svg_escape(out, r->name);
    text_add(out, "</td><td class=\"n\">");
    compare_cells_say(f->show, compare_cells_value(s, f, cell, run), out);
    text_add(out, "</td><td class=\"n\">");
    compare_cells_say_paper(f->show, run_cells_paper(f, cell, r->name), out);
    text_add(out, "</td>");
    page_ratio(compare_cells_by_paper(s, f, cell, run), out);
    page_ratio(compare_cells_by_twin(s, f, cell, run), out);
    text_add(out, "<td class=\"n\">");
    if (r->known) {
        figure_time(compare_time(c, run), out);
    }
    text_add(out, "</td><td>");
    text_init_fixed(&t, end, sizeof(end));
    compare_cells_say_end(s, f, cell, run, &t);
    run_svg_escape(out, end);
    text_add(out, "</td></tr>\n");
}

static void page_table(const struct compare_cells *s, const struct run_cells_figure *f,
                       struct text *out)
{
    char file[COMPARE_CELLS_FILE_BYTES];

    text_add(out, "<div class=\"card\"><div class=\"scroll\"><table><tr><th>cell</th><th>on</th>"
                  "<th>run</th><th class=\"n\">value</th><th class=\"n\">paper</th><th "
                  "class=\"n\">by paper</th><th class=\"n\">by twin</th><th class=\"n\">time</th>"
                  "<th>end</th></tr>\n");
    for (uint32_t i = 0; i < s->count; i++) {
        const struct compare *c = s->cells[i].c;

        for (uint32_t j = 0; c != NULL && j < c->count; j++) {
            if (run_cells_shows(f, c->runs[j].name)) {
                page_run(s, f, i, j, out);
            }
        }
    }
    compare_cells_file(s, f, "csv", file);
    text_addf(out,
              "</table></div><p class=\"from\"><code>%s</code>; by paper: the value by the "
              "paper's; by twin: of a cell that runs live, by the same run simulated</p></div>\n",
              file);
}

/* What each cell is, and its own page. */
static void page_cells(const struct compare_cells *s, struct text *out)
{
    text_add(out, "<h2>Cells</h2>\n");
    for (uint32_t i = 0; i < s->count; i++) {
        const struct compare_cell *cell = &s->cells[i];
        bool there = cell->c != NULL && cell->c->goal.there;
        char why[ERR_TEXT_BYTES + 64];
        struct text t;

        if (!cell->chosen) {
            continue;
        }
        text_init_fixed(&t, why, sizeof(why));
        compare_cells_say_state(cell, &t);
        text_add(out, "<p>");
        if (there) {
            text_addf(out, "<a href=\"./%s/compare.html\">", cell->cell->name);
        }
        run_svg_escape(out, cell->cell->name);
        text_addf(out, "%s%s", there ? "</a>" : "", cell->cell->about[0] != '\0' ? ": " : "");
        run_svg_escape(out, cell->cell->about);
        text_add(out, " <span class=\"soft\">");
        run_svg_escape(out, why[0] != '\0' ? why : cell->cell->path);
        text_add(out, "</span></p>\n");
    }
}

static void page_figure(const struct compare_cells *s, const struct run_cells_figure *f,
                        struct text *out)
{
    char what[256];
    struct text t;

    text_init_fixed(&t, what, sizeof(what));
    compare_cells_say_show(s, f, &t);
    text_add(out, "<p class=\"lead\">");
    run_svg_escape(out, f->about);
    text_add(out, "</p>\n<p class=\"soft\">Values: ");
    run_svg_escape(out, what);
    if (f->source[0] != '\0') {
        text_add(out, "; paper: ");
        run_svg_escape(out, f->source);
    }
    text_add(out, "</p>\n<div class=\"card\">");
    compare_cells_svg(s, f, false, out);
    text_add(out, "</div>\n");
    page_table(s, f, out);
}

void compare_cells_page(const struct compare_cells *s, struct text *out)
{
    run_page_open(out, "set of comparisons", s->set->name);
    for (uint32_t i = 0; i < s->set->figures_count; i++) {
        if (i > 0) { /* The first is below that of the page. */
            text_addf(out, "<h2>%s</h2>\n", s->set->figures[i].name);
        }
        page_figure(s, &s->set->figures[i], out);
    }
    page_cells(s, out);
    text_add(out, "<footer>Written by Strait " STRAIT_VERSION " with <code>set.svg</code>, "
                  "<code>set.csv</code> and <code>set.json</code> beside it.</footer>\n");
    run_page_close(out);
}
