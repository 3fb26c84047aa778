/* strait plan place --json. docs/PLAN.md has the keys. */

#include "cli/plan/place.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As the file has it. */
static json_t *json_id(const struct topo_graph *g, uint32_t node)
{
    const struct topo_node *n = &g->nodes[node];
    long long number;

    errno = 0;
    number = n->numbered ? strtoll(n->id, NULL, 10) : 0;
    return n->numbered && errno == 0 ? json_integer((json_int_t)number) : json_string(n->id);
}

/* There are no infinite numbers in JSON, and a price that is not known is below zero. */
static json_t *json_figure(double value)
{
    return isfinite(value) && value >= 0 ? json_real(value) : json_null();
}

static json_t *json_flow(const struct cli_place *p, const struct plan_place_flow *f)
{
    json_t *path = json_array();

    for (uint32_t i = 0; i <= f->hops; i++) {
        (void)json_array_append_new(path, json_id(p->graph, f->nodes[i]));
    }
    return json_pack("{s:o, s:o, s:f}", "from", json_id(p->graph, f->from), "path", path, "mbps",
                     f->mbps);
}

static json_t *json_flows(const struct cli_place *p)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < p->answer.flows_count; i++) {
        (void)json_array_append_new(list, json_flow(p, &p->answer.flows[i]));
    }
    return list;
}

static json_t *json_candidates(const struct cli_place *p)
{
    bool timed = p->problem.goal == PLAN_PLACE_TIME;
    json_t *list = json_array();

    for (uint32_t i = 0; i < p->answer.candidates_count; i++) {
        const struct plan_place_candidate *c = &p->answer.candidates[i];
        bool found = c->possible && c->value < INFINITY;
        json_t *one = json_pack(
            "{s:o, s:b, s:o, s:o, s:o, s:b, s:b}", "server", json_id(p->graph, c->server),
            "possible", (int)found, "time_s", found ? json_figure(c->time_s) : json_null(),
            "lp_bound_s", timed && c->possible ? json_figure(c->lp_bound) : json_null(), "bound_s",
            timed && c->possible ? json_figure(c->bound) : json_null(), "pruned",
            (int)(found && c->pruned), "proven", (int)(found && c->proven));

        if (!timed) {
            (void)json_object_set_new(one, "usd", found ? json_figure(c->usd) : json_null());
            (void)json_object_set_new(one, "usd_bound",
                                      c->possible ? json_figure(c->bound) : json_null());
        }
        (void)json_array_append_new(list, one);
    }
    return list;
}

static json_t *json_baselines(const struct cli_place *p)
{
    const struct plan_place_baselines *b = &p->answer.baselines;
    bool one = p->problem.server != PLAN_PLACE_NOWHERE;

    return json_pack(
        "{s:o, s:o, s:o, s:o}", "random_s", one ? json_null() : json_figure(b->random),
        "most_connected",
        one ? json_null()
            : json_pack("{s:o, s:o, s:o, s:o}", "server", json_id(p->graph, b->connected), "time_s",
                        json_figure(b->connected_s), "tie_mean_s", json_figure(b->tie_mean_s),
                        "tie_worst_s", json_figure(b->tie_worst_s)),
        "shortest_path_s", json_figure(b->shortest_s), "load_balancing_s",
        json_figure(b->balanced_s));
}

static json_t *json_links(const struct cli_place *p)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < p->graph->edges_count; i++) {
        const struct topo_edge *e = &p->graph->edges[i];

        (void)json_array_append_new(list,
                                    json_pack("{s:o, s:o, s:f, s:f}", "a", json_id(p->graph, e->a),
                                              "b", json_id(p->graph, e->b), "mbps", e->mbps,
                                              "used_mbps", p->used_mbps[i]));
    }
    return list;
}

static json_t *json_statistics(const struct cli_place *p)
{
    json_int_t pruned = 0, proven = 0, questions = 0, paths = 0, dropped = 0;

    for (uint32_t i = 0; i < p->answer.candidates_count; i++) {
        const struct plan_place_candidate *c = &p->answer.candidates[i];

        pruned += c->possible && c->pruned;
        proven += c->possible && !c->pruned && cli_place_settled(p, c);
        questions += c->questions;
        paths += c->paths;
        dropped += c->dropped;
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "candidates",
                     (json_int_t)p->answer.candidates_count, "pruned", pruned, "proven", proven,
                     "questions", questions, "paths", paths, "dropped", dropped);
}

static json_t *json_failure(const struct cli_place *p, const struct cli_place_failure *f)
{
    const struct topo_edge *e = &p->graph->edges[f->edge];

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "a", json_id(p->graph, e->a), "b",
                     json_id(p->graph, e->b), "kept_time_s",
                     f->kept ? json_figure(f->kept_s) : json_null(), "server",
                     f->moved ? json_id(p->graph, f->server) : json_null(), "time_s",
                     f->moved ? json_figure(f->time_s) : json_null(), "optimal", (int)f->optimal);
}

static void json_failures(const struct cli_place *p, json_t *whole)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < p->graph->edges_count; i++) {
        (void)json_array_append_new(list, json_failure(p, &p->failures[i]));
    }
    (void)json_object_set_new(whole, "failures", list);
    (void)json_object_set_new(whole, "worst",
                              json_failure(p, &p->failures[cli_place_fail_worst(p)]));
}

static json_t *json_notes(const struct cli_place *p)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < p->graph->notes_count; i++) {
        (void)json_array_append_new(list, json_string(p->graph->notes[i]));
    }
    return list;
}

/* Of regions that are called otherwise than their id says. */
static json_t *json_names(const struct cli_place *p)
{
    json_t *names = json_object();

    for (uint32_t i = 0; i < p->graph->nodes_count; i++) {
        const struct topo_node *n = &p->graph->nodes[i];

        if (strcmp(n->id, n->name) != 0) {
            (void)json_object_set_new(names, n->id, json_string(n->name));
        }
    }
    return names;
}

/* What was asked. */
static json_t *json_asked(const struct cli_place *p)
{
    static const char *const methods[] = {
        [PLAN_PLACE_ROUND] = "round", [PLAN_PLACE_EXACT] = "exact", [PLAN_PLACE_LP] = "lp"};
    const struct plan_place_problem *q = &p->problem;

    return json_pack("{s:s, s:I, s:s, s:s, s:s, s:s, s:o, s:o, s:f, s:I, s:I, s:f}", "topology",
                     p->graph->name, "bytes", (json_int_t)q->bytes, "objective",
                     q->goal == PLAN_PLACE_TIME ? "time" : "dollars", "method",
                     methods[p->effort.method], "model",
                     q->model == PLAN_PLACE_HOPS ? "hops" : "pipelined", "duplex",
                     q->duplex == TOPO_DUPLEX_SHARED ? "shared" : "full", "paths",
                     p->answer.paths == PLAN_PLACE_ALL ? json_string("all")
                                                       : json_integer((json_int_t)p->answer.paths),
                     "usd_limit", q->usd_limit > 0 ? json_real(q->usd_limit) : json_null(),
                     "reserve", q->reserve, "draws", (json_int_t)p->effort.draws, "seed",
                     (json_int_t)p->effort.seed, "seconds", p->seconds);
}

json_t *cli_place_json(const struct cli_place *p)
{
    const struct plan_place_answer *a = &p->answer;
    bool timed = p->problem.goal == PLAN_PLACE_TIME;
    json_t *asked = json_asked(p);
    json_t *whole =
        json_pack("{s:o, s:f, s:o, s:o, s:b, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "server",
                  json_id(p->graph, a->server), "time_s", a->time_s, "lp_bound_s",
                  timed ? json_figure(a->lp_bound) : json_null(), "bound_s",
                  timed ? json_figure(a->bound) : json_null(), "optimal", (int)a->optimal, "gap",
                  cli_place_gap(a), "usd", json_figure(a->usd), "usd_bound",
                  timed ? json_null() : json_figure(a->bound), "flows", json_flows(p), "candidates",
                  json_candidates(p), "baselines", json_baselines(p), "links", json_links(p));

    if (whole != NULL && p->failures != NULL) {
        json_failures(p, whole);
    }
    if (whole == NULL || asked == NULL || json_object_update(whole, asked) != 0 ||
        json_object_set_new(whole, "statistics", json_statistics(p)) != 0 ||
        json_object_set_new(whole, "names", json_names(p)) != 0 ||
        json_object_set_new(whole, "notes", json_notes(p)) != 0) {
        json_decref(whole);
        whole = NULL;
    }
    json_decref(asked);
    return whole;
}
