/* The figures of the paper on APSP as a page, and as pictures that stand alone. */

#include "cli/plan/paper.h"
#include "run/map/plan_map.h"
#include "run/report/page.h"
#include "run/report/svg.h"

#include <math.h>
#include <string.h>

enum { PAGE_PLACING = 5, PAGE_ROUTING = 4, PAGE_SERIES = 5, PAGE_NAME = 96 };

static const char *const page_placing[PAGE_PLACING] = {"random", "most connected, mean of ties",
                                                       "most connected", "APSP", "exact"};
static const uint32_t page_placing_styles[PAGE_PLACING] = {3, 4, 2, 1, 0};
static const char *const page_bars[PAGE_PLACING] = {"b3", "b4", "b2", "b1", "b0"};

static const char *const page_routing[PAGE_ROUTING] = {"load balancing", "shortest paths", "APSP",
                                                       "exact"};
static const uint32_t page_routing_styles[PAGE_ROUTING] = {3, 2, 1, 0};

/* What a figure's curves are. */
struct page_kind {
    uint32_t figure;
    const char *const *names;
    const uint32_t *styles;
    uint32_t count;
};

static const struct page_kind page_fig5 = {5, page_placing, page_placing_styles, PAGE_PLACING};
static const struct page_kind page_fig6 = {6, page_routing, page_routing_styles, PAGE_ROUTING};

static double page_placed(const struct cli_paper_ways *w, uint32_t way)
{
    const double all[PAGE_PLACING] = {w->random_s, w->tie_mean_s, w->connected_s, w->apsp_s,
                                      w->exact_s};

    return all[way];
}

static double page_routed(const struct cli_paper_ways *w, uint32_t way)
{
    const double all[PAGE_ROUTING] = {w->balanced_s, w->shortest_s, w->routed_s, w->exact_s};

    return all[way];
}

static double page_said(uint32_t map, uint32_t net, uint32_t way)
{
    const struct cli_paper_net *n = &cli_paper_nets[net];

    return way == 0   ? n->random_s[map]
           : way == 2 ? n->connected_s[map]
           : way == 3 ? n->apsp_s[map]
                      : (double)NAN;
}

/* Curves of one network. */
static void page_chart(const struct cli_paper *p, uint32_t map, const struct page_kind *kind,
                       struct text *out)
{
    struct run_svg_point points[PAGE_SERIES][CLI_PAPER_STEPS];
    struct run_svg_series series[PAGE_SERIES];
    char id[PAGE_NAME], title[PAGE_NAME];
    struct run_svg_chart chart = {.id = id,
                                  .title = title,
                                  .words = "Seconds for a push and pull of ResNet152, by the rate "
                                           "of the longest link; the shortest has 5000 Mbit/s",
                                  .x_is = "rate of the longest link (Mbit/s)",
                                  .y_is = "push and pull",
                                  .series = series,
                                  .series_count = kind->count,
                                  .goal = NAN};
    double most = 0;

    (void)snprintf(id, sizeof(id), "fig%u-%u", kind->figure, map);
    (void)snprintf(title, sizeof(title), "Figure %u, %s", kind->figure, p->maps[map].name);
    for (uint32_t s = 0; s < kind->count; s++) {
        for (uint32_t i = 0; i < CLI_PAPER_STEPS; i++) {
            const struct cli_paper_ways *w = &p->maps[map].sweep[i];
            double y = kind->figure == 5 ? page_placed(w, s) : page_routed(w, s);

            points[s][i] = (struct run_svg_point){.x = cli_paper_lower(i), .y = y};
            most = fmax(most, y);
        }
        series[s] = (struct run_svg_series){.name = kind->names[s],
                                            .points = points[s],
                                            .count = CLI_PAPER_STEPS,
                                            .style = kind->styles[s]};
    }
    run_svg_axis_linear(&chart.x, RUN_SVG_PLAIN, cli_paper_lower(0),
                        cli_paper_lower(CLI_PAPER_STEPS - 1), 9, false);
    run_svg_axis_linear(&chart.y, RUN_SVG_SECONDS, 0, most, 5, true);
    run_svg_chart(&chart, out);
}

static void page_charts(const struct cli_paper *p, const struct page_kind *kind, struct text *out)
{
    text_addf(out, "<div class=\"figures\" id=\"fig%u\">\n", kind->figure);
    for (uint32_t i = 0; i < CLI_PAPER_MAPS; i++) {
        text_addf(out, "<figure><h3>%s</h3>", p->maps[i].name);
        page_chart(p, i, kind, out);
        run_page_legend(out, kind->names, kind->styles, kind->count);
        text_add(out, "</figure>\n");
    }
    text_addf(out, "</div>\n<p class=\"from\"><code>fig%u.csv</code>, <code>fig%u.svg</code></p>\n",
              kind->figure, kind->figure);
}

/* Table III. */

static void page_percent(double percent, struct text *out)
{
    text_addf(out, "<td class=\"n\">%.1f %%</td>", percent);
}

static void page_row(const struct cli_paper *p, uint32_t map, uint32_t net, uint32_t model,
                     struct text *out)
{
    const struct cli_paper_ways *w = &p->maps[map].table[net][model];
    const struct cli_paper_net *n = &cli_paper_nets[net];

    text_addf(out, "<tr><td>%s</td><td>%s</td><td class=\"n\">%.0f MB</td>", p->maps[map].name,
              n->name, n->bytes * 1e-6);
    for (uint32_t way = 0; way < PAGE_PLACING; way++) {
        double said = model == PLAN_PLACE_HOPS ? page_said(map, net, way) : (double)NAN;

        text_addf(out, "<td class=\"n\">%.2f", page_placed(w, way));
        if (isfinite(said)) {
            text_addf(out, " <span class=\"soft\">(%.2f)</span>", said);
        }
        text_add(out, "</td>");
    }
    text_addf(out, "<td>%s</td>", p->maps[map].graph->nodes[w->exact].name);
    page_percent(cli_paper_less(w->exact_s, w->random_s), out);
    page_percent(cli_paper_less(w->exact_s, w->tie_mean_s), out);
    page_percent(cli_paper_less(w->exact_s, w->connected_s), out);
    text_add(out, "</tr>\n");
}

static void page_table(const struct cli_paper *p, uint32_t model, struct text *out)
{
    text_addf(out,
              "<h3 style=\"margin-top:18px\">%s</h3><div class=\"scroll\"><table class=\"table3\" "
              "id=\"table3-%u\"><tr><th></th><th></th><th class=\"n\">size</th>",
              model == PLAN_PLACE_HOPS ? "Model hops, and the paper's figures in brackets"
                                       : "Model pipelined, as relays really behave",
              model);
    for (uint32_t way = 0; way < PAGE_PLACING; way++) {
        text_addf(out, "<th class=\"n\">%s</th>", page_placing[way]);
    }
    text_add(out, "<th>at</th><th class=\"n\">less than random</th><th class=\"n\">less than the "
                  "mean of ties</th><th class=\"n\">less than most connected</th></tr>\n");
    for (uint32_t i = 0; i < CLI_PAPER_MAPS * CLI_PAPER_NETS; i++) {
        page_row(p, i / CLI_PAPER_NETS, i % CLI_PAPER_NETS, model, out);
    }
    text_add(out, "</table></div>\n");
}

/* Figure 4. */

static void page_bar(const struct cli_paper *p, uint32_t map, uint32_t net, uint32_t way,
                     double most, struct text *out)
{
    const struct cli_paper_ways *w = &p->maps[map].table[net][PLAN_PLACE_HOPS];
    struct run_svg_part part = {.size = page_placed(w, way), .style = page_bars[way]};
    char words[PAGE_NAME];

    (void)snprintf(words, sizeof(words), "%s, %s: %.2f s", cli_paper_nets[net].name,
                   page_placing[way], part.size);
    text_addf(out, "<span class=\"who\">%s</span>", way == 0 ? cli_paper_nets[net].name : "");
    run_svg_bar(&part, 1, most, words, out);
    text_addf(out, "<span class=\"how\">%.2f s</span>\n", part.size);
}

static void page_fig4(const struct cli_paper *p, struct text *out)
{
    text_add(out, "<div class=\"figures\" id=\"fig4\">\n");
    for (uint32_t map = 0; map < CLI_PAPER_MAPS; map++) {
        double most = p->maps[map].table[CLI_PAPER_NETS - 1][PLAN_PLACE_HOPS].random_s;

        text_addf(out, "<figure><h3>%s</h3>", p->maps[map].name);
        run_page_keys(out, page_placing, page_bars, PAGE_PLACING);
        text_add(out, "<div class=\"bars\" style=\"row-gap:3px\">\n");
        for (uint32_t i = 0; i < CLI_PAPER_NETS * PAGE_PLACING; i++) {
            page_bar(p, map, i / PAGE_PLACING, i % PAGE_PLACING, most, out);
        }
        text_add(out, "</div></figure>\n");
    }
    text_add(out, "</div>\n<p class=\"from\"><code>fig4.csv</code></p>\n");
}

/* The page. */

static enum err page_maps(const struct cli_paper *p, struct text *out)
{
    enum err rc = OK;

    for (uint32_t i = 0; i < CLI_PAPER_MAPS && rc == OK; i++) {
        const struct cli_paper_map *m = &p->maps[i];
        const struct run_plan_map map = {
            .id = i == 0 ? "map-0" : "map-1", .title = m->name, .graph = m->graph};

        text_addf(out, "<div class=\"card\"><h3>%s: %u regions, %u links</h3>\n", m->name,
                  m->graph->nodes_count, m->graph->edges_count);
        rc = run_plan_map(&map, out);
        text_add(out, "</div>\n");
    }
    return rc;
}

static void page_lead(const struct cli_paper *p, struct text *out)
{
    text_add(out, "<p class=\"lead\">");
    for (uint32_t i = 0; i < CLI_PAPER_MAPS; i++) {
        const struct cli_paper_map *m = &p->maps[i];
        const struct cli_paper_ways *w = &m->table[CLI_PAPER_SWEPT][PLAN_PLACE_HOPS];

        text_addf(out,
                  "On %s the best place for the server is %s: a push and pull takes %.1f %% less "
                  "than with a random one and %.1f %% less than with the most connected%s. ",
                  m->name, m->graph->nodes[w->exact].name, cli_paper_less(w->exact_s, w->random_s),
                  cli_paper_less(w->exact_s, w->tie_mean_s),
                  w->ties > 1 ? " ones, on average" : "");
    }
    text_add(out, "Tables and figures 3 to 6 of the paper on APSP (Journal of Communications and "
                  "Networks, 2023), reckoned again.</p>\n");
}

enum err cli_paper_page(const struct cli_paper *p, struct text *out)
{
    enum err rc;

    run_page_open(out, "figures of a paper", "APSP: where to put the server");
    run_plan_map_style(out);
    text_add(out, "<style>table.table3 th{white-space:normal;vertical-align:bottom;"
                  "max-width:9em}</style>\n");
    page_lead(p, out);
    text_add(out, "<h2>What differs from the paper</h2>\n<ul style=\"padding-left:1.2em\">\n");
    for (uint32_t i = 0; i < CLI_PAPER_NOTES; i++) {
        text_add(out, "<li>");
        run_svg_escape(out, cli_paper_notes[i]);
        text_add(out, "</li>\n");
    }
    text_add(out, "</ul>\n<h2>Figure 3: the networks</h2>\n");
    rc = page_maps(p, out);
    text_add(out, "<h2>Tables II and III: seconds for a push and pull</h2>\n");
    page_table(p, PLAN_PLACE_HOPS, out);
    page_table(p, PLAN_PLACE_PIPELINED, out);
    text_add(out, "<p class=\"from\"><code>table3.csv</code></p>\n"
                  "<h2>Figure 4: choosing the server</h2>\n<p class=\"soft\">Model hops.</p>\n");
    page_fig4(p, out);
    text_add(out, "<h2>Figure 5: choosing the server, by the spread of rates</h2>\n<p "
                  "class=\"soft\">ResNet152, model hops. The shortest link has 5000 Mbit/s, the "
                  "longest what is below; at the right all are the same.</p>\n");
    page_charts(p, &page_fig5, out);
    text_add(out, "<h2>Figure 6: choosing the paths</h2>\n<p class=\"soft\">The same, with the "
                  "server at its exact place.</p>\n");
    page_charts(p, &page_fig6, out);
    text_add(out, "<footer><code>strait plan paper -o DIR</code> wrote this, strait " STRAIT_VERSION
                  ". docs/EXPERIMENTS.md has it in words.</footer>\n");
    run_page_close(out);
    return rc;
}

/* Pictures that stand alone: the colours of run/report/page.h without variables, which not
 * everybody who shows a file of SVG knows. */

static const char page_svg_style[] =
    "<style>text{font:12px system-ui,\"Noto Sans\",\"DejaVu Sans\",sans-serif;fill:#18222d}"
    ".tick text,.name{fill:#586673}.head{font-weight:600;font-size:14px}.bg{fill:#fff}"
    ".grid path{stroke:#eceef0;fill:none}.axis{stroke:#586673;fill:none}"
    ".line{fill:none;stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}"
    ".s0{stroke:#0072b2}.s1{stroke:#c84e00;stroke-dasharray:8 4}"
    ".s2{stroke:#00805c;stroke-dasharray:2 4}.s3{stroke:#a4387c;stroke-dasharray:10 3 2 3}"
    ".s4{stroke:#866a00;stroke-dasharray:14 4}.dot.s4{fill:#866a00}"
    ".line.dot,.dot{stroke:none}.dot.s0{fill:#0072b2}.dot.s1{fill:#c84e00}.dot.s2{fill:#00805c}"
    ".dot.s3{fill:#a4387c}"
    "@media(prefers-color-scheme:dark){text{fill:#e7edf3}.tick text,.name{fill:#9dabb8}"
    ".bg{fill:#10161c}.grid path{stroke:#25303b}.axis{stroke:#9dabb8}.s0{stroke:#5ab6ee}"
    ".s1{stroke:#ff9650}.s2{stroke:#34c79d}.s3{stroke:#e892c6}.s4{stroke:#dcc04a}.dot.s4{fill:#"
    "dcc04a}.dot.s0{fill:#5ab6ee}"
    ".dot.s1{fill:#ff9650}.dot.s2{fill:#34c79d}.dot.s3{fill:#e892c6}}</style>\n"
    "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n";

static void page_svg(const struct cli_paper *p, const struct page_kind *kind, struct text *out)
{
    double x = 60;

    text_addf(out,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 940 330\" role=\"img\" "
              "aria-label=\"APSP, figure %u\">%s",
              kind->figure, page_svg_style);
    for (uint32_t i = 0; i < CLI_PAPER_MAPS; i++) {
        text_addf(out,
                  "<text class=\"head\" x=\"%u\" y=\"20\">%s</text>\n<svg x=\"%u\" y=\"28\" "
                  "width=\"460\" height=\"266\">",
                  i * 475 + 8, p->maps[i].name, i * 475 + 4);
        page_chart(p, i, kind, out);
        text_add(out, "</svg>\n");
    }
    for (uint32_t s = 0; s < kind->count; s++) {
        text_addf(out,
                  "<path class=\"line s%u\" d=\"M%.0f 313h34\"/><text x=\"%.0f\" "
                  "y=\"317\">%s</text>\n",
                  kind->styles[s], x, x + 41, kind->names[s]);
        x += 41 + 7.2 * (double)strlen(kind->names[s]) + 26;
    }
    text_add(out, "</svg>\n");
}

void cli_paper_svg5(const struct cli_paper *p, struct text *out)
{
    page_svg(p, &page_fig5, out);
}

void cli_paper_svg6(const struct cli_paper *p, struct text *out)
{
    page_svg(p, &page_fig6, out);
}
