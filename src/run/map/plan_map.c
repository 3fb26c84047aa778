#include "run/map/plan_map.h"

#include "base/figure.h"
#include "base/mem.h"
#include "run/map/plan_map_state.h"
#include "run/report/page.h"

#include <math.h>
#include <stdlib.h>

enum { MAP_STEPS = 5 }; /* Of the load's colours. */

static const char map_style[] =
    "<style>:root{--land:#e6e8e3;--sea:#f6f9fb;--l0:#aab2b9;--l1:#8fc1e3;--l2:#5aa0d0;--l3:#2b7bb5;"
    "--l4:#0f5488;--l5:#06304f}"
    "@media(prefers-color-scheme:dark){:root{--land:#28323b;--sea:#151c23;--l0:#59646e;"
    "--l1:#2f6288;--l2:#3a80b2;--l3:#57a0d4;--l4:#8cc4ee;--l5:#d3eaff}}"
    "svg.map{display:block;width:100%;min-width:700px;height:auto;border-radius:6px;"
    "background:var(--sea)}"
    ".land{fill:var(--land);fill-rule:evenodd}.link{fill:none;stroke-linecap:round;opacity:.85}."
    "under .link{opacity:.5}"
    ".link.l0{stroke-dasharray:2 4;stroke-linecap:butt}"
    ".l0{stroke:var(--l0)}.l1{stroke:var(--l1)}.l2{stroke:var(--l2)}.l3{stroke:var(--l3)}"
    ".l4{stroke:var(--l4)}.l5{stroke:var(--l5)}"
    ".flow{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    ".f0,.f8{stroke:var(--s0)}.f1,.f9{stroke:var(--s1)}.f2,.f10{stroke:var(--s2)}"
    ".f3,.f11{stroke:var(--s3)}.f4,.f12{stroke:var(--s4)}.f5,.f13{stroke:var(--s5)}"
    ".f6,.f14{stroke:var(--s6)}.f7,.f15{stroke:var(--s7)}"
    ".f8,.f9,.f10,.f11,.f12,.f13,.f14,.f15{stroke-dasharray:7 4}"
    ".flows:hover .flow{opacity:.25}.flows .flow:hover{opacity:1;stroke-width:4.5}"
    ".node{fill:var(--ink);stroke:var(--card);stroke-width:1.5}"
    ".node.idle{fill:var(--card);stroke:var(--ink)}"
    ".node.server{fill:var(--over);stroke:var(--card);stroke-width:2}"
    ".node.next{fill:var(--card);stroke:var(--over);stroke-width:2}"
    "svg text.digit{fill:var(--over);font-weight:700;font-size:11px}"
    "svg.map .label{stroke:var(--sea);stroke-width:3.5px;stroke-linejoin:round;"
    "paint-order:stroke;font-size:12px}svg.map .strong{font-weight:700;font-size:13px}"
    ".lead-line{stroke:var(--soft);stroke-width:1;fill:none}"
    "svg.ramp{width:24px;height:16px;vertical-align:middle;margin-right:6px}"
    "svg.swatch{width:26px;height:10px;vertical-align:middle;margin-right:7px}</style>\n";

void run_plan_map_style(struct text *out)
{
    text_add(out, map_style);
}

const char *run_plan_map_flow(const struct plan_place_answer *a, uint32_t flow)
{
    static const char *const classes[RUN_PLAN_MAP_FLOWS] = {"f0",  "f1",  "f2",  "f3", "f4",  "f5",
                                                            "f6",  "f7",  "f8",  "f9", "f10", "f11",
                                                            "f12", "f13", "f14", "f15"};

    return a->flows_count <= RUN_PLAN_MAP_FLOWS ? classes[flow % RUN_PLAN_MAP_FLOWS] : "";
}

void run_plan_time(struct text *out, double seconds)
{
    if (seconds >= 0.9995 && seconds < 99.95) {
        text_addf(out, seconds < 9.995 ? "%.2f s" : "%.1f s", seconds);
    } else {
        figure_time(seconds, out);
    }
}

void run_plan_rate(struct text *out, double mbps)
{
    text_addf(out, mbps >= 100 ? "%.0f Mbit/s" : "%.3g Mbit/s", mbps);
}

const char *run_plan_name(const struct topo_graph *g, const char *const *names, uint32_t node)
{
    return names != NULL ? names[node] : g->nodes[node].name;
}

void run_plan_path(struct text *out, const struct topo_graph *g, const char *const *names,
                   const struct plan_place_flow *f)
{
    for (uint32_t i = 0; i <= f->hops; i++) {
        text_add(out, i > 0 ? " \xe2\x86\x92 " : "");
        run_svg_escape(out, run_plan_name(g, names, f->nodes[i]));
    }
}

enum err run_plan_loads(const struct plan_place_problem *p, const struct plan_place_answer *a,
                        double **load_out)
{
    double *load = mem_calloc(p->graph->edges_count, sizeof(*load)), sum = 0;

    if (load == NULL) {
        return ERR_NOMEM;
    }
    plan_place_loads(p, a->flows, a->flows_count, load);
    for (uint32_t e = 0; e < p->graph->edges_count; e++) {
        load[e] /= p->graph->edges[e].mbps;
        sum += load[e];
    }
    if (a->flows_count > 0 && !(sum > 0)) { /* There was no room to reckon. */
        mem_free(load);
        return ERR_NOMEM;
    }
    *load_out = load;
    return OK;
}

/* Who comes next. */

struct map_ranked {
    double value;
    uint32_t candidate;
    bool server;
};

static int map_ranked_compare(const void *a, const void *b)
{
    const struct map_ranked *x = a, *y = b;

    return x->server != y->server ? (x->server ? -1 : 1)
           : x->value != y->value ? (x->value < y->value ? -1 : 1)
                                  : (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

enum err run_plan_rank(const struct plan_place_answer *a, uint32_t **order_out, uint32_t *count_out)
{
    struct map_ranked *all = mem_calloc((size_t)a->candidates_count + 1, sizeof(*all));
    uint32_t *order = mem_calloc((size_t)a->candidates_count + 1, sizeof(*order));
    uint32_t count = 0;

    if (all == NULL || order == NULL) {
        mem_free(all);
        mem_free(order);
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < a->candidates_count; i++) {
        const struct plan_place_candidate *c = &a->candidates[i];

        if (c->possible && c->value < INFINITY) {
            all[count++] = (struct map_ranked){
                .value = c->value, .candidate = i, .server = c->server == a->server};
        }
    }
    qsort(all, count, sizeof(*all), map_ranked_compare);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = all[i].candidate;
    }
    mem_free(all);
    *order_out = order;
    *count_out = count;
    return OK;
}

/* The whole. */

static bool map_init(struct plan_map *m, const struct run_plan_map *p)
{
    uint32_t nodes = p->graph->nodes_count;

    *m = (struct plan_map){.p = p, .g = p->graph, .slowest = INFINITY};
    m->places = mem_calloc(nodes, sizeof(*m->places));
    m->points = mem_calloc(nodes, sizeof(*m->points));
    m->rank = mem_calloc(nodes, sizeof(*m->rank));
    m->candidate = mem_calloc(nodes, sizeof(*m->candidate));
    m->flow = mem_calloc(nodes, sizeof(*m->flow));
    m->links = mem_calloc(p->graph->edges_count, sizeof(*m->links));
    return m->places != NULL && m->points != NULL && m->rank != NULL && m->candidate != NULL &&
           m->flow != NULL && m->links != NULL;
}

static void map_deinit(struct plan_map *m)
{
    mem_free(m->places);
    mem_free(m->points);
    mem_free(m->rank);
    mem_free(m->candidate);
    mem_free(m->flow);
    mem_free(m->links);
}

static enum err map_plan(struct plan_map *m)
{
    const struct plan_place_answer *a = m->p->answer;
    uint32_t *order = NULL, count = 0;
    double *load = NULL;

    if (run_plan_rank(a, &order, &count) != OK || run_plan_loads(m->p->problem, a, &load) != OK) {
        mem_free(order);
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = a->candidates[order[i]].server;

        m->candidate[node] = order[i];
        m->rank[node] = i < RUN_PLAN_MAP_NEXT ? i + 1 : 0;
    }
    for (uint32_t e = 0; e < m->g->edges_count; e++) {
        m->links[e].load = load[e];
    }
    for (uint32_t f = 0; f < a->flows_count; f++) {
        m->flow[a->flows[f].from] = f;
        for (uint32_t i = 0; i < a->flows[f].hops; i++) {
            m->links[a->flows[f].edges[i]].flows++;
        }
    }
    mem_free(load);
    mem_free(order);
    return OK;
}

static enum err map_gather(struct plan_map *m)
{
    for (uint32_t n = 0; n < m->g->nodes_count; n++) {
        m->candidate[n] = UINT32_MAX;
        m->flow[n] = UINT32_MAX;
    }
    for (uint32_t e = 0; e < m->g->edges_count; e++) {
        m->fastest = fmax(m->fastest, m->g->edges[e].mbps);
        m->slowest = fmin(m->slowest, m->g->edges[e].mbps);
    }
    return m->p->answer == NULL ? OK : map_plan(m);
}

/* Links. */

static double map_width(const struct plan_map *m, double mbps)
{
    double most = m->g->nodes_count > 60 ? 6 : 13;

    return 1.5 + (most - 1.5) * sqrt(mbps / m->fastest);
}

static uint32_t map_step(const struct plan_map *m, double load)
{
    uint32_t step = (uint32_t)ceil(load * MAP_STEPS - 1e-9);

    return m->p->answer == NULL ? 2 : load <= 0 ? 0 : step < 1 ? 1 : step > 5 ? 5 : step;
}

/* Are there too many links to draw those that are not used? */
static bool map_crowded(const struct plan_map *m)
{
    return m->p->answer != NULL && m->g->edges_count > RUN_PLAN_MAP_LINKS;
}

static void map_link(const struct plan_map *m, uint32_t e, struct text *out)
{
    const struct plan_map_link *l = &m->links[e];
    const struct run_map_way *w = &l->way;
    const struct topo_edge *edge = &m->g->edges[e];

    text_addf(out, "<path class=\"link l%u\" stroke-width=\"%.1f\" d=\"", map_step(m, l->load),
              map_width(m, edge->mbps) * (m->p->answer != NULL && l->load <= 0 ? 0.5 : 1));
    for (uint32_t i = 0; i < w->count; i++) {
        text_addf(out, "M%.1f %.1fL%.1f %.1f", w->lines[i].from.x, w->lines[i].from.y,
                  w->lines[i].to.x, w->lines[i].to.y);
    }
    text_add(out, "\"><title>");
    run_svg_escape(out, run_plan_name(m->g, m->p->names, edge->a));
    text_add(out, " \xe2\x80\x93 ");
    run_svg_escape(out, run_plan_name(m->g, m->p->names, edge->b));
    text_add(out, ": ");
    run_plan_rate(out, edge->mbps);
    if (edge->km >= 0) {
        text_addf(out, ", %.0f km", edge->km);
    }
    if (m->p->answer != NULL) {
        text_add(out, ", used ");
        run_page_percent(out, l->load);
        text_addf(out, " by %u flow%s", l->flows, l->flows == 1 ? "" : "s");
    }
    text_add(out, "</title></path>\n");
}

/* Regions. */

double plan_map_radius(const struct plan_map *m, uint32_t node)
{
    return m->rank[node] == 1 ? 12 : m->rank[node] > 1 ? 8 : m->g->nodes_count > 60 ? 2.4 : 5;
}

static void map_star(struct run_svg_point at, double radius, struct text *out)
{
    for (uint32_t i = 0; i < 10; i++) {
        double turn = M_PI * (i / 5.0 - 0.5), away = i % 2 == 0 ? radius : radius * 0.45;

        text_addf(out, "%s%.1f %.1f", i == 0 ? "M" : "L", at.x + cos(turn) * away,
                  at.y + sin(turn) * away);
    }
    text_add(out, "Z");
}

static void map_words(const struct plan_map *m, uint32_t node, struct text *out)
{
    const struct plan_place_answer *a = m->p->answer;

    text_add(out, "<title>");
    run_svg_escape(out, run_plan_name(m->g, m->p->names, node));
    text_addf(out, ": %u link%s", m->g->nodes[node].degree,
              m->g->nodes[node].degree == 1 ? "" : "s");
    if (a != NULL && m->flow[node] != UINT32_MAX) {
        text_add(out, "; sends by ");
        run_plan_path(out, m->g, m->p->names, &a->flows[m->flow[node]]);
        text_add(out, " at ");
        run_plan_rate(out, a->flows[m->flow[node]].mbps);
    }
    if (a != NULL && m->candidate[node] != UINT32_MAX) {
        const struct plan_place_candidate *c = &a->candidates[m->candidate[node]];

        text_add(out, node == a->server ? "; it is the server: " : "; with the server here ");
        text_add(out, c->proven || node == a->server ? "" : "at most ");
        run_plan_time(out, c->time_s);
    }
    text_add(out, "</title>");
}

static void map_node(const struct plan_map *m, uint32_t node, struct text *out)
{
    const struct plan_place_problem *p = m->p->problem;
    struct run_svg_point at = m->points[node];
    bool idle = p != NULL && p->silent != NULL && p->silent[node];
    double radius = plan_map_radius(m, node);

    text_add(out, "<g>");
    map_words(m, node, out);
    if (m->rank[node] == 1) {
        text_add(out, "<path class=\"node server\" d=\"");
        map_star(at, radius, out);
        text_add(out, "\"/>");
    } else {
        text_addf(out, "<circle class=\"node%s%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>",
                  idle ? " idle" : "", m->rank[node] > 1 ? " next" : "", at.x, at.y, radius);
    }
    if (m->rank[node] > 1) {
        text_addf(out,
                  "<text class=\"digit\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%u</text>",
                  at.x, at.y + 4, m->rank[node]);
    }
    text_add(out, "</g>\n");
}

static void map_nodes(const struct plan_map *m, bool ranked, struct text *out)
{
    for (uint32_t n = 0; n < m->g->nodes_count; n++) {
        if ((m->rank[n] > 0) == ranked) {
            map_node(m, n, out);
        }
    }
}

/* Legend. */

static void map_legend_width(const struct plan_map *m, double mbps, struct text *out)
{
    text_addf(out,
              "<li><svg class=\"ramp\" viewBox=\"0 0 22 14\" aria-hidden=\"true\"><path "
              "class=\"link l2\" stroke-width=\"%.1f\" d=\"M3 7H19\"/></svg>",
              map_width(m, mbps));
    run_plan_rate(out, mbps);
    text_add(out, "</li>");
}

static void map_legend(const struct plan_map *m, struct text *out)
{
    static const char *const words[] = {"not used", "used up to 20 %", "40 %", "60 %", "80 %",
                                        "100 %"};

    text_add(out, "<ul class=\"legend\">");
    if (m->p->answer != NULL) {
        text_add(out, "<li><svg class=\"ramp\" viewBox=\"0 0 22 22\" aria-hidden=\"true\"><path "
                      "class=\"node server\" d=\"");
        map_star((struct run_svg_point){.x = 11, .y = 11}, 11, out);
        text_add(out, "\"/></svg>the server</li><li><svg class=\"ramp\" viewBox=\"0 0 22 18\" "
                      "aria-hidden=\"true\"><circle class=\"node next\" cx=\"11\" cy=\"9\" "
                      "r=\"8\"/></svg>the places that come next</li>");
    }
    map_legend_width(m, m->slowest, out);
    if (m->fastest > m->slowest) {
        map_legend_width(m, m->fastest, out);
    }
    for (uint32_t i = 0; i <= MAP_STEPS && m->p->answer != NULL; i++) {
        text_addf(out,
                  "<li><svg class=\"ramp\" viewBox=\"0 0 22 12\" aria-hidden=\"true\"><path "
                  "class=\"link l%u\" stroke-width=\"7\" d=\"M4 6H18\"/></svg>%s</li>",
                  i, words[i]);
    }
    text_add(out, "</ul>\n");
}

static void map_caption(const struct plan_map *m, struct text *out)
{
    const struct plan_place_answer *a = m->p->answer;

    text_add(out, "<p class=\"from\">");
    if (!m->placed) {
        text_add(out, "The file has no places for these regions: they are in rings around ");
        text_add(out, a != NULL ? "the server" : "the one with the most links");
        text_add(out, ", by the number of links between.");
    } else {
        text_add(out, "Coastlines: Natural Earth.");
        if (m->guessed > 0) {
            text_addf(out,
                      " The file has no places for %u of the regions: they are drawn between "
                      "their neighbours.",
                      m->guessed);
        }
    }
    if (map_crowded(m)) {
        text_add(out, " Links that are not used are not drawn, there are so many.");
    }
    if (a != NULL && !plan_map_drawn(m)) {
        text_add(out, " There are too many flows to draw them one by one: the links' colours say "
                      "where they go.");
    }
    text_add(out, "</p>\n");
}

static enum err map_draw(struct plan_map *m, struct text *out)
{
    enum err rc;

    text_addf(out,
              "<div class=\"scroll\"><svg class=\"map\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
              "aria-labelledby=\"%s-t\"><title id=\"%s-t\">",
              m->wide, m->high, m->p->id, m->p->id);
    run_svg_escape(out, m->p->title);
    text_add(out, "</title>\n");
    if (m->placed) {
        text_add(out, "<path class=\"land\" d=\"");
        run_map_land(&m->map, out);
        text_add(out, "\"/>\n");
    }
    text_addf(out, "<g class=\"links%s\">\n", plan_map_drawn(m) ? " under" : "");
    for (uint32_t e = 0; e < m->g->edges_count; e++) {
        if (!map_crowded(m) || m->links[e].load > 0) {
            map_link(m, e, out);
        }
    }
    text_add(out, "</g>\n");
    plan_map_flows(m, out);
    map_nodes(m, false, out);
    rc = plan_map_names(m, out);
    map_nodes(m, true, out); /* Those that matter on top. */
    text_add(out, "</svg></div>\n");
    map_legend(m, out);
    map_caption(m, out);
    return rc;
}

enum err run_plan_map(const struct run_plan_map *p, struct text *out)
{
    struct plan_map m;
    enum err rc = map_init(&m, p) ? OK : ERR_NOMEM;

    rc = rc == OK ? map_gather(&m) : rc;
    rc = rc == OK ? plan_map_lay(&m) : rc;
    rc = rc == OK ? map_draw(&m, out) : rc;
    map_deinit(&m);
    return rc;
}
