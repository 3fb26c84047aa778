/* strait plan place for people: a sentence, and tables of flows, regions, links and failures. */

#include "cli/plan/place.h"

#include "base/mem.h"
#include "cli/output/figure.h"
#include "cli/output/grid.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    VIEW_FIRST = 5,      /* Rows of a table of the best or the worst. */
    VIEW_FLOWS_MAX = 40, /* What is more is for programs. */
    VIEW_BESIDE = 14,    /* Columns beside a flow's name and path. */
    VIEW_FIGURE_BYTES = 32,
    VIEW_PATH_BYTES = 3072,
    VIEW_SENTENCE_BYTES = 4096,
};

struct view_figure {
    char chars[VIEW_FIGURE_BYTES];
};

/* Three digits, as these are compared with each other. */
static const char *view_time(double seconds, struct view_figure *out)
{
    struct text t;

    text_init_fixed(&t, out->chars, sizeof(out->chars));
    if (seconds >= 0.9995 && seconds < 999.5) {
        text_addf(&t, "%.*f s", seconds < 9.995 ? 2 : seconds < 99.95 ? 1 : 0, seconds);
    } else {
        figure_time(seconds, &t);
    }
    return out->chars;
}

static const char *view_bytes(double bytes, struct view_figure *out)
{
    struct text t;

    text_init_fixed(&t, out->chars, sizeof(out->chars));
    figure_bytes((uint64_t)bytes, &t);
    return out->chars;
}

/* Of the goal. */
static const char *view_value(const struct cli_place *p, double value, struct view_figure *out)
{
    if (p->problem.goal == PLAN_PLACE_TIME) {
        return view_time(value, out);
    }
    (void)snprintf(out->chars, sizeof(out->chars), "%.4g USD", value);
    return out->chars;
}

/* The sentence. */

/* With fewer paths than there are, a proof is one for these only. */
static void view_proof(const struct cli_place *p, struct text *out)
{
    const struct plan_place_answer *a = &p->answer;
    struct view_figure bound;
    char paths[VIEW_FIGURE_BYTES] = "";

    if (a->paths != PLAN_PLACE_ALL) {
        (void)snprintf(paths, sizeof(paths), " with %u path%s each", a->paths,
                       a->paths == 1 ? "" : "s");
    }
    if (a->optimal) {
        text_addf(out, ", which is proven to be the least%s", paths);
    } else {
        text_addf(out, " (no plan%s is below %s: the best one is at most %.2g %% better)", paths,
                  view_value(p, a->bound, &bound), 100 * cli_place_gap(a));
    }
}

static void view_headline(struct cli_place *p)
{
    const struct plan_place_answer *a = &p->answer;
    bool timed = p->problem.goal == PLAN_PLACE_TIME;
    struct view_figure bytes, time;
    char chars[VIEW_SENTENCE_BYTES];
    struct text s;

    text_init_fixed(&s, chars, sizeof(chars));
    text_addf(&s,
              p->problem.server == PLAN_PLACE_NOWHERE ? "Put the server in %s: a push and pull"
                                                      : "With the server in %s a push and pull",
              p->labels[a->server].chars);
    text_addf(&s, " of %s ", view_bytes(p->problem.bytes, &bytes));
    if (timed) {
        text_addf(&s, "takes %s", view_time(a->time_s, &time));
    } else {
        text_addf(&s, "costs %.4g dollars", a->usd);
    }
    view_proof(p, &s);
    if (!timed) {
        text_addf(&s, ", and takes %s", view_time(a->time_s, &time));
    } else if (a->usd >= 0) {
        text_addf(&s, "; it costs %.4g dollars", a->usd);
    }
    if (p->problem.usd_limit > 0) {
        text_addf(&s, " of the %.4g that are allowed", p->problem.usd_limit);
    }
    text_add(&s, ".");
    cli_wrap(p->ctx->out, chars, 0, 0, p->ctx->width);
}

static void view_assumed(struct cli_place *p)
{
    const struct plan_place_problem *q = &p->problem;
    char chars[VIEW_SENTENCE_BYTES];
    struct text s;

    text_init_fixed(&s, chars, sizeof(chars));
    text_add(&s, q->model == PLAN_PLACE_HOPS ? "Each hop takes the whole time again"
                                             : "Relays pass on what comes while it comes");
    text_add(&s, q->duplex == TOPO_DUPLEX_SHARED ? "; both directions of a link share its rate"
                                                 : "; each direction of a link has its rate");
    if (p->answer.paths == PLAN_PLACE_ALL) {
        text_add(&s, "; all simple paths");
    } else {
        text_addf(&s, "; the %u shortest paths of each region", p->answer.paths);
    }
    if (q->reserve > 0) {
        text_addf(&s, "; %.3g %% of every link left free", 100 * q->reserve);
    }
    text_add(&s, ".");
    cli_wrap(p->ctx->out, chars, 0, 0, p->ctx->width);
}

/* Flows. */

static void view_path(const struct cli_place *p, const struct plan_place_flow *f, bool ids,
                      struct text *out)
{
    const char *arrow = figure_utf8() ? " → " : " > ";

    for (uint32_t i = 0; i <= f->hops; i++) {
        const char *name = ids ? p->graph->nodes[f->nodes[i]].id : p->labels[f->nodes[i]].chars;

        text_addf(out, "%s%s", i > 0 ? arrow : "", name);
    }
}

/* Does a path with all of its names fit into a line, beside the rest? */
static bool view_fits(const struct cli_place *p, const struct plan_place_flow *f)
{
    char path[VIEW_PATH_BYTES];
    struct text t;

    text_init_fixed(&t, path, sizeof(path));
    view_path(p, f, false, &t);
    return !t.failed && grid_width(path) + grid_width(p->labels[f->from].chars) + VIEW_BESIDE <=
                            (size_t)p->ctx->width;
}

static void view_flow(const struct cli_place *p, const struct plan_place_flow *f, bool ids,
                      struct grid *g)
{
    char path[VIEW_PATH_BYTES];
    struct text t;

    text_init_fixed(&t, path, sizeof(path));
    view_path(p, f, ids, &t);
    grid_add(g, "%s", p->labels[f->from].chars);
    grid_add(g, "%s", t.failed ? "..." : path);
    grid_add(g, "%.4g", f->mbps);
}

/* If names are too long for one of the paths, all have ids. */
static void view_flows(struct cli_place *p)
{
    const struct plan_place_answer *a = &p->answer;
    uint32_t shown = a->flows_count < VIEW_FLOWS_MAX ? a->flows_count : VIEW_FLOWS_MAX;
    bool ids = false;
    struct grid g;

    if (grid_init(&g, "llr") != OK) {
        return;
    }
    for (uint32_t i = 0; i < shown && !ids; i++) {
        ids = !view_fits(p, &a->flows[i]);
    }
    grid_add(&g, "from");
    grid_add(&g, ids ? "path, by ids" : "path");
    grid_add(&g, "Mbit/s");
    for (uint32_t i = 0; i < shown; i++) {
        view_flow(p, &a->flows[i], ids, &g);
    }
    cli_out(p->ctx, "\n");
    grid_print(p->ctx, &g);
    grid_deinit(&g);
    if (shown < a->flows_count) {
        cli_out(p->ctx, "  and %u more: --json has all\n", a->flows_count - shown);
    }
}

/* Regions. */

static bool view_found(const struct plan_place_candidate *c)
{
    return c->possible && c->value < INFINITY;
}

static bool view_before(const struct plan_place_candidate *a, const struct plan_place_candidate *b)
{
    if (view_found(a) != view_found(b)) {
        return view_found(a);
    }
    return view_found(a) && a->value < b->value;
}

static const char *view_state(const struct cli_place *p, const struct plan_place_candidate *c)
{
    if (!view_found(c)) {
        return "no plan";
    }
    if (c->proven) {
        return "proven";
    }
    return p->effort.method != PLAN_PLACE_EXACT ? "rounded"
           : c->pruned                          ? "ruled out by its bound"
           : cli_place_settled(p, c)            ? "ruled out by the solver"
                                                : "not proven";
}

static void view_candidate(const struct cli_place *p, const struct plan_place_candidate *c,
                           struct grid *g)
{
    struct view_figure value, bound;

    grid_add(g, "%s", p->labels[c->server].chars);
    grid_add(g, "%s", view_found(c) ? view_value(p, c->value, &value) : "-");
    grid_add(g, "%s", c->possible ? view_value(p, c->bound, &bound) : "-");
    grid_add(g, "%s", view_state(p, c));
}

/* Small numbers of rows, so that looking for each is quick enough. */
static void view_candidates(struct cli_place *p)
{
    const struct plan_place_answer *a = &p->answer;
    const struct plan_place_candidate *last = NULL;
    struct grid g;

    if (a->candidates_count < 2 || grid_init(&g, "lrrl") != OK) {
        return;
    }
    grid_add(&g, "server in");
    grid_add(&g, p->problem.goal == PLAN_PLACE_TIME ? "takes" : "costs");
    grid_add(&g, "no less than");
    grid_add(&g, "%s", "");
    for (uint32_t row = 0; row < VIEW_FIRST && row < a->candidates_count; row++) {
        const struct plan_place_candidate *next = NULL;

        for (uint32_t i = 0; i < a->candidates_count; i++) {
            const struct plan_place_candidate *c = &a->candidates[i];
            bool after = last == NULL || view_before(last, c) ||
                         (!view_before(c, last) && c->server > last->server);

            if (after && (next == NULL || view_before(c, next))) {
                next = c;
            }
        }
        if (next == NULL) {
            break;
        }
        view_candidate(p, next, &g);
        last = next;
    }
    cli_out(p->ctx, "\n");
    grid_print(p->ctx, &g);
    grid_deinit(&g);
}

static void view_statistics(struct cli_place *p)
{
    uint32_t pruned = 0, settled = 0, open = 0, impossible = 0;
    uint64_t questions = 0, paths = 0, dropped = 0;
    char chars[VIEW_SENTENCE_BYTES];
    struct view_figure time;
    struct text s;

    for (uint32_t i = 0; i < p->answer.candidates_count; i++) {
        const struct plan_place_candidate *c = &p->answer.candidates[i];

        impossible += !view_found(c);
        pruned += view_found(c) && c->pruned;
        settled += view_found(c) && !c->pruned && cli_place_settled(p, c);
        open += view_found(c) && !c->pruned && !cli_place_settled(p, c);
        questions += c->questions;
        paths += c->paths;
        dropped += c->dropped;
    }
    text_init_fixed(&s, chars, sizeof(chars));
    text_addf(&s, "%u candidate%s: ", p->answer.candidates_count,
              p->answer.candidates_count == 1 ? "" : "s");
    if (pruned > 0) {
        text_addf(&s, "%u ruled out by their bound, ", pruned);
    }
    text_addf(&s, "%u proven", settled);
    if (open > 0) {
        text_addf(&s, ", %u not proven", open);
    }
    if (impossible > 0) {
        text_addf(&s, ", %u without a plan", impossible);
    }
    text_addf(&s, "; %" PRIu64 " paths", paths);
    if (questions > 0) {
        text_addf(&s, ", %" PRIu64 " question%s to the solver", questions,
                  questions == 1 ? "" : "s");
    }
    if (dropped > 0) {
        text_addf(&s, ", %" PRIu64 " paths too slow alone", dropped);
    }
    text_addf(&s, "; %s.", view_time(p->seconds, &time));
    cli_wrap(p->ctx->out, chars, 2, 0, p->ctx->width);
}

/* Baselines. */

static void view_less(struct cli_place *p, double other_s, const char *than)
{
    double less = 100 * (1 - p->answer.time_s / other_s);
    struct view_figure time;

    if (fabs(less) < 0.05) {
        cli_out(p->ctx, "  as long as %s\n", than);
    } else {
        cli_out(p->ctx, "  %.3g %% %s than %s (%s)\n", fabs(less), less > 0 ? "less" : "more", than,
                view_time(other_s, &time));
    }
}

static void view_baselines(struct cli_place *p)
{
    const struct plan_place_baselines *b = &p->answer.baselines;
    char than[VIEW_SENTENCE_BYTES];
    struct view_figure mean, worst;

    cli_out(p->ctx, "\nThat is\n");
    if (p->problem.server == PLAN_PLACE_NOWHERE) {
        view_less(p, b->random, "a server at random, in the mean");
        (void)snprintf(than, sizeof(than), "the server where most links are, in %s",
                       p->labels[b->connected].chars);
        view_less(p, b->connected_s, than);
        if (b->tie_worst_s > b->tie_mean_s) {
            cli_out(p->ctx, "    of those with as many links: %s in the mean, %s at most\n",
                    view_time(b->tie_mean_s, &mean), view_time(b->tie_worst_s, &worst));
        }
    }
    (void)snprintf(than, sizeof(than), "the shortest paths to %s",
                   p->labels[p->answer.server].chars);
    view_less(p, b->shortest_s, than);
    view_less(p, b->balanced_s, "paths with the fewest flows for their rate");
}

/* Links. */

static double view_fullness(const struct cli_place *p, uint32_t edge)
{
    return p->used_mbps[edge] / p->graph->edges[edge].mbps;
}

static void view_link_name(const struct cli_place *p, uint32_t edge, struct grid *g)
{
    const struct topo_edge *e = &p->graph->edges[edge];

    grid_add(g, "%s %s %s", p->labels[e->a].chars, figure_utf8() ? "–" : "-",
             p->labels[e->b].chars);
}

static void view_links(struct cli_place *p)
{
    bool *taken = mem_calloc(p->graph->edges_count, sizeof(*taken));
    struct grid g;

    if (taken == NULL || grid_init(&g, "lrrr") != OK) {
        mem_free(taken);
        return;
    }
    grid_add(&g, "fullest links");
    grid_add(&g, "Mbit/s");
    grid_add(&g, "used");
    grid_add(&g, "%s", "");
    for (uint32_t row = 0; row < VIEW_FIRST && row < p->graph->edges_count; row++) {
        uint32_t fullest = UINT32_MAX;

        for (uint32_t e = 0; e < p->graph->edges_count; e++) {
            if (!taken[e] && (fullest == UINT32_MAX ||
                              view_fullness(p, e) > view_fullness(p, fullest) * (1 + 1e-9))) {
                fullest = e;
            }
        }
        taken[fullest] = true;
        view_link_name(p, fullest, &g);
        grid_add(&g, "%.4g", p->graph->edges[fullest].mbps);
        grid_add(&g, "%.4g", p->used_mbps[fullest]);
        grid_add(&g, "%.0f %%", 100 * view_fullness(p, fullest));
    }
    cli_out(p->ctx, "\n");
    grid_print(p->ctx, &g);
    grid_deinit(&g);
    mem_free(taken);
}

/* Failures. */

static void view_failure(const struct cli_place *p, const struct cli_place_failure *f,
                         struct grid *g)
{
    struct view_figure time;

    view_link_name(p, f->edge, g);
    grid_add(g, "%s", f->kept ? view_time(f->kept_s, &time) : "not possible");
    grid_add(g, "%s", f->moved ? p->labels[f->server].chars : "nowhere");
    grid_add(g, "%s", f->moved ? view_time(f->time_s, &time) : "-");
}

static void view_worst(struct cli_place *p, const struct cli_place_failure *f)
{
    const struct topo_edge *e = &p->graph->edges[f->edge];
    struct view_figure kept, moved;
    char chars[VIEW_SENTENCE_BYTES];
    struct text s;

    text_init_fixed(&s, chars, sizeof(chars));
    text_addf(&s, "Of %u links the one between %s and %s is missed most: ", p->graph->edges_count,
              p->labels[e->a].chars, p->labels[e->b].chars);
    if (f->kept) {
        text_addf(&s, "it then takes %s by other paths", view_time(f->kept_s, &kept));
    } else {
        text_addf(&s, "without it %s is not reached from everywhere",
                  p->labels[p->answer.server].chars);
    }
    if (p->problem.server != PLAN_PLACE_NOWHERE) {
        text_add(&s, ".");
    } else if (!f->moved) {
        text_add(&s, ", and neither is any other region.");
    } else if (f->server == p->answer.server) {
        text_add(&s, ", and no other region is better.");
    } else {
        text_addf(&s, ", and %s with the server in %s.", view_time(f->time_s, &moved),
                  p->labels[f->server].chars);
    }
    cli_wrap(p->ctx->out, chars, 0, 0, p->ctx->width);
}

static void view_failures(struct cli_place *p)
{
    uint32_t links = p->graph->edges_count;
    bool *taken = mem_calloc(links, sizeof(*taken));
    struct grid g;

    if (taken == NULL || grid_init(&g, "lrlr") != OK) {
        mem_free(taken);
        return;
    }
    grid_add(&g, "link that fails");
    grid_add(&g, "server stays");
    grid_add(&g, "best server");
    grid_add(&g, "takes");
    for (uint32_t row = 0; row < VIEW_FIRST && row < links; row++) {
        uint32_t worst = UINT32_MAX;

        for (uint32_t e = 0; e < links; e++) {
            if (!taken[e] && (worst == UINT32_MAX ||
                              cli_place_fail_worse(&p->failures[e], &p->failures[worst]))) {
                worst = e;
            }
        }
        taken[worst] = true;
        view_failure(p, &p->failures[worst], &g);
    }
    cli_out(p->ctx, "\n");
    view_worst(p, &p->failures[cli_place_fail_worst(p)]);
    grid_print(p->ctx, &g);
    grid_deinit(&g);
    mem_free(taken);
}

void cli_place_view(struct cli_place *p)
{
    view_headline(p);
    view_assumed(p);
    view_flows(p);
    view_candidates(p);
    view_statistics(p);
    view_baselines(p);
    view_links(p);
    if (p->failures != NULL) {
        view_failures(p);
    }
}
