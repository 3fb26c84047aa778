#include "run/map/plan_page.h"

#include "base/figure.h"
#include "base/mem.h"
#include "run/map/plan_map.h"
#include "run/report/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_WORDS = 1024,
    PAGE_BARS = 12,   /* Candidates that are shown at once. */
    PAGE_LINKS = 15,  /* Links likewise. */
    PAGE_FLOWS = 40,  /* More than that are folded. */
    PAGE_ROWS = 2000, /* Of a table, whatever the network. */
};

struct plan_page {
    const struct run_plan_page *p;
    const struct topo_graph *g;
    const struct plan_place_answer *a;
    uint32_t *order; /* Candidates, the best first. */
    uint32_t ranked;
    double *load; /* Used of every link, 0 to 1. */
};

struct words {
    char chars[PAGE_WORDS];
    struct text text;
};

static struct text *words(struct words *w)
{
    text_init_fixed(&w->text, w->chars, sizeof(w->chars));
    return &w->text;
}

static const char *page_name(const struct plan_page *g, uint32_t node)
{
    return run_plan_name(g->g, g->p->names, node);
}

/* A value of the goal. */
static void page_value(const struct plan_page *g, double value, struct text *out)
{
    if (g->p->problem->goal == PLAN_PLACE_DOLLARS) {
        run_page_usd(out, value);
    } else {
        run_plan_time(out, value);
    }
}

static double page_gap(const struct plan_place_answer *a)
{
    return a->optimal || !(a->value > 0) ? 0 : (a->value - a->bound) / a->value;
}

/* The heading. */

/* With fewer paths than there are, a proof is one for these only. */
static void page_proof(const struct plan_page *g, struct text *t)
{
    const struct plan_place_answer *a = g->a;
    struct words with;

    (void)words(&with);
    if (a->paths != PLAN_PLACE_ALL) {
        text_addf(&with.text, " with %u path%s each", a->paths, a->paths == 1 ? "" : "s");
    }
    if (a->optimal) {
        text_addf(t, ", which is proven to be the least%s%s.", with.chars,
                  g->p->problem->server != PLAN_PLACE_NOWHERE ? " for this server" : "");
    } else {
        text_addf(t, "; no plan%s has less than ", with.chars);
        page_value(g, a->bound, t);
        text_add(t, ", so at most ");
        run_page_percent(t, page_gap(a));
        text_add(t, " is left to gain.");
    }
}

static void page_sentence(const struct plan_page *g, struct text *t)
{
    const struct plan_place_problem *p = g->p->problem;
    const struct plan_place_answer *a = g->a;

    text_addf(t, "Put the server in %s: a push and pull of ", page_name(g, a->server));
    figure_bytes((uint64_t)p->bytes, t);
    text_add(t, " takes ");
    run_plan_time(t, a->time_s);
    if (a->usd >= 0) {
        text_add(t, " and costs ");
        run_page_usd(t, a->usd);
    }
    page_proof(g, t);
    text_add(t, p->model == PLAN_PLACE_HOPS
                    ? " Each hop takes its time again (model hops)."
                    : " Relays pass on what comes while it comes (model pipelined).");
}

static void page_head(const struct plan_page *g, struct text *out)
{
    const struct plan_place_effort *e = g->p->effort;
    struct words w;

    page_sentence(g, words(&w));
    text_addf(out, "<p class=\"lead\"><span class=\"pill %s\">%s</span>",
              g->a->optimal ? "good" : "warn", g->a->optimal ? "proven" : "not proven");
    run_svg_escape(out, w.chars);
    text_add(out, "</p>\n<p class=\"from\">");
    run_svg_escape(out, g->p->file);
    text_addf(out, ": %u regions, %u links whose directions %s. Method %s, %u draws of seed %llu.",
              g->g->nodes_count, g->g->edges_count,
              g->p->problem->duplex == TOPO_DUPLEX_SHARED ? "share their rate"
                                                          : "have their rate each",
              e->method == PLAN_PLACE_EXACT   ? "exact"
              : e->method == PLAN_PLACE_ROUND ? "round"
                                              : "lp",
              e->draws, (unsigned long long)e->seed);
    text_add(out, "</p>\n");
}

/* "49 % less", of a baseline. */
static void page_less(double time, double than, struct text *out)
{
    double part = than > 0 ? (than - time) / than : (double)NAN;

    if (isfinite(part) && fabs(part) < 1e-9) {
        text_add(out, "0 % less");
        return;
    }
    run_page_percent(out, fabs(part));
    text_add(out, part >= 0 ? " less" : " more");
}

static uint32_t page_fullest(const struct plan_page *g)
{
    uint32_t best = 0;

    for (uint32_t e = 1; e < g->g->edges_count; e++) {
        best = g->load[e] > g->load[best] + 1e-12 ? e : best;
    }
    return best;
}

static void page_tiles(const struct plan_page *g, struct text *out)
{
    const struct plan_place_baselines *b = &g->a->baselines;
    const struct topo_edge *full = &g->g->edges[page_fullest(g)];
    struct words value, more;

    text_add(out, "<div class=\"tiles\">\n");
    figure_bytes((uint64_t)g->p->problem->bytes, words(&more));
    text_add(&more.text, " each way");
    run_plan_time(words(&value), g->a->time_s);
    run_page_tile(out, "push and pull", value.chars, more.chars);
    if (g->p->problem->server == PLAN_PLACE_NOWHERE) {
        page_less(g->a->time_s, b->random, words(&value));
        text_add(words(&more), "all servers' mean: ");
        run_plan_time(&more.text, b->random);
        run_page_tile(out, "than a random server", value.chars, more.chars);
        page_less(g->a->time_s, b->connected_s, words(&value));
        text_addf(words(&more), "%s: ", page_name(g, b->connected));
        run_plan_time(&more.text, b->connected_s);
        run_page_tile(out, "than the most connected", value.chars, more.chars);
    }
    text_addf(words(&value), "%s \xe2\x80\x93 %s", page_name(g, full->a), page_name(g, full->b));
    run_plan_rate(words(&more), full->mbps);
    text_add(&more.text, ", used ");
    run_page_percent(&more.text, g->load[page_fullest(g)]);
    run_page_tile(out, "fullest link", value.chars, more.chars);
    text_add(out, "</div>\n");
}

/* Flows. */

static void page_flow(const struct plan_page *g, uint32_t flow, struct text *out)
{
    const struct plan_place_flow *f = &g->a->flows[flow];
    const char *colour = run_plan_map_flow(g->a, flow);

    text_add(out, "<tr><td class=\"path\">");
    if (colour[0] != '\0') {
        text_addf(out,
                  "<svg class=\"swatch\" viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path "
                  "class=\"flow %s\" style=\"stroke-width:3\" d=\"M2 5H24\"/></svg>",
                  colour);
    }
    run_plan_path(out, g->g, g->p->names, f);
    text_addf(out, "</td><td class=\"n\">%u</td><td class=\"n\">%.1f</td></tr>\n", f->hops,
              f->mbps);
}

static void page_flows(const struct plan_page *g, struct text *out)
{
    text_addf(out,
              "<h2>Flows</h2>\n<p class=\"soft\">One from each region that has workers, by one "
              "path; what comes back takes the same. With these rates all are done at the same "
              "time.</p>\n%s<div class=\"scroll\"><table id=\"flows\"><tr><th>path</th><th "
              "class=\"n\">hops</th><th class=\"n\">Mbit/s</th></tr>\n",
              g->a->flows_count > PAGE_FLOWS ? "<details><summary>All flows</summary>" : "");
    for (uint32_t f = 0; f < g->a->flows_count && f < PAGE_ROWS; f++) {
        page_flow(g, f, out);
    }
    text_add(out, "</table></div>");
    if (g->a->flows_count > PAGE_ROWS) {
        text_addf(out, "<p class=\"soft\">And %u more.</p>", g->a->flows_count - PAGE_ROWS);
    }
    text_addf(out, "%s\n", g->a->flows_count > PAGE_FLOWS ? "</details>" : "");
}

/* Candidates. */

static void page_candidate_words(const struct plan_page *g, const struct plan_place_candidate *c,
                                 struct text *t)
{
    if (c->proven) {
        text_add(t, "proven");
    } else if (c->pruned) {
        text_add(t, "ruled out: no plan for it has less than ");
        page_value(g, c->lp_bound, t);
    } else if (c->bound >= g->a->value * (1 - 1e-9)) {
        text_add(t, "looked at: no plan for it is below the best one");
    } else {
        text_add(t, "the least is between ");
        page_value(g, c->bound, t);
        text_add(t, " and this");
    }
}

static void page_candidate(const struct plan_page *g, uint32_t rank, double most, struct text *out)
{
    const struct plan_place_candidate *c = &g->a->candidates[g->order[rank]];
    double bound = c->proven ? c->value : fmin(c->bound, c->value);
    struct run_svg_part parts[] = {
        {.size = bound, .style = c->pruned ? "b6" : "b0"},
        {.size = c->value - bound, .style = c->pruned ? "b6 pale" : "b0 pale"}};
    struct words said, value;

    page_candidate_words(g, c, words(&said));
    text_add(words(&value), c->proven || rank == 0 ? "" : "\xe2\x89\xa4 ");
    page_value(g, c->value, &value.text);
    text_add(out, "<div class=\"who\">");
    run_svg_escape(out, page_name(g, c->server));
    text_add(out, "</div><div>");
    run_svg_bar(parts, 2, most, said.chars, out);
    text_add(out, "</div><div class=\"how\">");
    run_svg_escape(out, value.chars);
    text_add(out, "</div><div class=\"words\">");
    run_svg_escape(out, said.chars);
    text_add(out, "</div>\n");
}

static void page_candidates(const struct plan_page *g, struct text *out)
{
    static const char *const names[] = {"no plan has less", "up to the best that was found",
                                        "ruled out by its bound"};
    static const char *const styles[] = {"b0", "b0 pale", "b6"};
    uint32_t shown = g->ranked < PAGE_BARS ? g->ranked : PAGE_BARS, pruned = 0, proven = 0;
    double most = 0;

    for (uint32_t i = 0; i < g->ranked; i++) {
        const struct plan_place_candidate *c = &g->a->candidates[g->order[i]];

        pruned += c->pruned;
        proven += c->proven;
        most = i < shown ? fmax(most, c->value) : most;
    }
    text_addf(out,
              "<h2>Where else it could be</h2>\n<p class=\"soft\">%u of %u regions can hold the "
              "server: %u proven, %u ruled out by their bound.%s</p>\n<div class=\"card\">",
              g->ranked, g->g->nodes_count, proven, pruned,
              shown < g->ranked ? " The best of them:" : "");
    run_page_keys(out, names, styles, 3);
    text_add(out, "<div class=\"bars\" id=\"candidates\">\n");
    for (uint32_t i = 0; i < shown; i++) {
        page_candidate(g, i, most, out);
    }
    text_add(out, "</div></div>\n");
}

/* Baselines. */

static void page_baseline(const struct plan_page *g, const char *name, double time, double most,
                          const char *more, struct text *out)
{
    struct run_svg_part part = {.size = time,
                                .style = time <= g->a->time_s * (1 + 1e-9) ? "b2" : "b4"};
    struct words said;

    run_plan_time(words(&said), time);
    text_add(out, "<div class=\"who\">");
    run_svg_escape(out, name);
    text_add(out, "</div><div>");
    run_svg_bar(&part, 1, most, said.chars, out);
    text_addf(out, "</div><div class=\"how\">%s</div><div class=\"words\">", said.chars);
    run_svg_escape(out, more);
    text_add(out, "</div>\n");
}

/* What the plan saves of it, and what else is known. */
static void page_against(const struct plan_page *g, double time, const char *what, struct words *w)
{
    text_add(words(w), "the plan takes ");
    page_less(g->a->time_s, time, &w->text);
    text_addf(&w->text, "; %s", what);
}

static void page_baselines(const struct plan_page *g, struct text *out)
{
    const struct plan_place_baselines *b = &g->a->baselines;
    bool all = g->p->problem->server == PLAN_PLACE_NOWHERE;
    double most = fmax(fmax(b->shortest_s, b->balanced_s), g->a->time_s);
    struct words w, name;

    most = all ? fmax(most, fmax(b->random, b->connected_s)) : most;
    text_add(out, "<h2>What simpler ways would take</h2>\n<div class=\"card\"><div class=\"bars\" "
                  "id=\"baselines\">\n");
    page_baseline(g, "this plan", g->a->time_s, most, "", out);
    if (all) {
        page_against(g, b->random, "the mean of all servers, each with good paths", &w);
        page_baseline(g, "random server", b->random, most, w.chars, out);
        page_against(g, b->connected_s, "with good paths; of all with as many links the mean is ",
                     &w);
        run_plan_time(&w.text, b->tie_mean_s);
        text_add(&w.text, ", the worst ");
        run_plan_time(&w.text, b->tie_worst_s);
        text_addf(words(&name), "most connected: %s", page_name(g, b->connected));
        page_baseline(g, name.chars, b->connected_s, most, w.chars, out);
    }
    page_against(g, b->shortest_s, "the same server, everybody by a path of the fewest hops", &w);
    page_baseline(g, "shortest paths", b->shortest_s, most, w.chars, out);
    page_against(g, b->balanced_s, "the same server, paths by the fewest flows for a link's rate",
                 &w);
    page_baseline(g, "load balancing", b->balanced_s, most, w.chars, out);
    text_add(out, "</div></div>\n");
}

/* Links. */

struct page_load {
    double load;
    uint32_t edge;
};

static int page_load_compare(const void *a, const void *b)
{
    const struct page_load *x = a, *y = b;

    return x->load != y->load ? (x->load > y->load ? -1 : 1)
                              : (x->edge > y->edge) - (x->edge < y->edge);
}

static void page_link(const struct plan_page *g, const struct page_load *l, struct text *out)
{
    const struct topo_edge *e = &g->g->edges[l->edge];
    struct run_svg_part part = {.size = l->load, .style = "b0"};
    struct words said;

    run_page_percent(words(&said), l->load);
    text_add(out, "<tr><td>");
    run_svg_escape(out, page_name(g, e->a));
    text_add(out, " \xe2\x80\x93 ");
    run_svg_escape(out, page_name(g, e->b));
    text_addf(out, "</td><td class=\"n\">%.0f</td><td class=\"n\">%.0f</td><td class=\"loadbar\">",
              e->mbps, e->mbps * l->load);
    run_svg_bar(&part, 1, 1, said.chars, out);
    text_addf(out, "</td><td class=\"n\">%s</td></tr>\n", said.chars);
}

static enum err page_links(const struct plan_page *g, struct text *out)
{
    static const char head[] = "<div class=\"scroll\"><table class=\"links\"><tr><th>link</th>"
                               "<th class=\"n\">Mbit/s</th><th class=\"n\">used</th><th></th>"
                               "<th class=\"n\"></th></tr>\n";
    uint32_t count = g->g->edges_count;
    struct page_load *loads = mem_calloc(count, sizeof(*loads));

    if (loads == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t e = 0; e < count; e++) {
        loads[e] = (struct page_load){.load = g->load[e], .edge = e};
    }
    qsort(loads, count, sizeof(*loads), page_load_compare);
    text_addf(out, "<h2>Links</h2>\n%s", head);
    for (uint32_t i = 0; i < count && i < PAGE_LINKS; i++) {
        page_link(g, &loads[i], out);
    }
    text_add(out, "</table></div>\n");
    if (count > PAGE_LINKS) {
        text_addf(out, "<details><summary>The other %u links</summary>%s", count - PAGE_LINKS,
                  head);
        for (uint32_t i = PAGE_LINKS; i < count && i < PAGE_ROWS; i++) {
            page_link(g, &loads[i], out);
        }
        text_add(out, "</table></div>");
        if (count > PAGE_ROWS) {
            text_addf(out, "<p class=\"soft\">And %u more.</p>", count - PAGE_ROWS);
        }
        text_add(out, "</details>\n");
    }
    mem_free(loads);
    return OK;
}

/* Notes. */

static void page_notes(const struct plan_page *g, struct text *out)
{
    const struct plan_place_problem *p = g->p->problem;

    text_add(out, "<h2>Notes</h2>\n<ul class=\"notes\">\n");
    for (uint32_t i = 0; i < g->g->notes_count; i++) {
        text_add(out, "<li>");
        run_svg_escape(out, g->g->notes[i]);
        text_add(out, "</li>\n");
    }
    if (g->a->paths == PLAN_PLACE_ALL) {
        text_add(out, "<li>All paths that meet no region twice were looked at.</li>\n");
    } else {
        text_addf(out,
                  "<li>Of each flow the %u paths of the fewest hops were looked at; what is proven "
                  "is proven for these.</li>\n",
                  g->a->paths);
    }
    if (p->reserve > 0) {
        text_addf(out, "<li>%.3g %% of every link is left to others.</li>\n", p->reserve * 100);
    }
    text_add(out, p->model == PLAN_PLACE_HOPS
                      ? "<li>With the model hops a relay sends on when it has all, as the paper "
                        "on APSP reckons; Strait's relays stream, which the model pipelined "
                        "describes.</li>\n"
                      : "");
    text_add(out, "</ul>\n<footer>Written by strait " STRAIT_VERSION
                  ", without scripts, from one plan. docs/PLAN.md has the model.</footer>\n");
}

static enum err page_all(struct plan_page *g, struct text *out)
{
    const struct run_plan_map map = {.id = "map",
                                     .title = "The network, the server and the flows",
                                     .graph = g->g,
                                     .names = g->p->names,
                                     .problem = g->p->problem,
                                     .answer = g->a};
    enum err rc;

    run_page_open(out, "plan of a server's place", g->g->name[0] != '\0' ? g->g->name : g->p->file);
    run_plan_map_style(out);
    text_add(out, "<style>td.path{white-space:normal;min-width:11em;padding-left:33px;"
                  "text-indent:-33px}td.loadbar{min-width:90px;width:30%}"
                  "ul.notes{padding-left:1.2em}</style>\n");
    page_head(g, out);
    page_tiles(g, out);
    text_add(out, "<h2>Map</h2>\n<div class=\"card\">\n");
    rc = run_plan_map(&map, out);
    text_add(out, "</div>\n");
    page_flows(g, out);
    page_candidates(g, out);
    page_baselines(g, out);
    rc = rc == OK ? page_links(g, out) : rc;
    page_notes(g, out);
    run_page_close(out);
    return rc;
}

enum err run_plan_page(const struct run_plan_page *p, struct text *out)
{
    struct plan_page g = {.p = p, .g = p->problem->graph, .a = p->answer};
    enum err rc = run_plan_rank(p->answer, &g.order, &g.ranked);

    rc = rc == OK ? run_plan_loads(p->problem, p->answer, &g.load) : rc;
    rc = rc == OK ? page_all(&g, out) : rc;
    mem_free(g.order);
    mem_free(g.load);
    return rc;
}
