#include "plan/place.h"

#include "base/mem.h"
#include "plan/place_core.h"
#include "plan/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Proofs are begun so many at a time, whoever does them, so that the same problem always takes the
 * same course. */
enum { PLACE_PROOFS = 2 };

/* Is it a problem? */

static bool place_sends(const struct plan_place_problem *p, uint32_t node)
{
    return p->silent == NULL || !p->silent[node];
}

static enum err place_check_prices(const struct plan_place_problem *p, struct err_text *text)
{
    const struct topo_graph *g = p->graph;

    for (uint32_t e = 0; e < g->edges_count; e++) {
        if (g->edges[e].usd_per_gb < 0 && (p->no_edge == NULL || !p->no_edge[e])) {
            return err_text_set(text, ERR_INVALID,
                                "the link between %s and %s has no price (usd_per_gb), which is "
                                "not the same as 0: give one, or plan for time alone",
                                g->nodes[g->edges[e].a].name, g->nodes[g->edges[e].b].name);
        }
    }
    return OK;
}

enum err plan_place_check(const struct plan_place_problem *p, struct err_text *text)
{
    const struct topo_graph *g = p->graph;
    uint32_t senders = 0;
    uint32_t servers = 0;

    if (!(p->bytes > 0) || !isfinite(p->bytes)) {
        return err_text_set(text, ERR_INVALID, "there must be something to send");
    }
    if (!(p->reserve >= 0 && p->reserve < 1)) {
        return err_text_set(text, ERR_INVALID, "a reserve is 0 to below 1 of each link");
    }
    for (uint32_t n = 0; n < g->nodes_count; n++) {
        senders += place_sends(p, n);
        servers += place_may_serve(p, n);
    }
    if (servers == 0) {
        return p->server == PLAN_PLACE_NOWHERE
                   ? err_text_set(text, ERR_INVALID,
                                  "no region may hold the server: all are ruled "
                                  "out")
                   : err_text_set(text, ERR_INVALID, "%s may not hold the server: it is ruled out",
                                  g->nodes[p->server].name);
    }
    if (senders < 2) {
        return err_text_set(text, ERR_INVALID,
                            "there must be two regions that have something to "
                            "send");
    }
    return place_priced(p) ? place_check_prices(p, text) : OK;
}

/* One server. */

static enum err place_bound_stage(struct place_core *c, const struct plan_place_effort *effort,
                                  struct plan_place_candidate *candidate)
{
    double *share = mem_calloc((size_t)c->routes.paths + 1, sizeof(*share));
    struct place_cost cost;
    enum err rc = share == NULL ? ERR_NOMEM : OK;

    candidate->flows = c->routes.flows;
    candidate->paths = c->routes.paths;
    candidate->choice = mem_calloc((size_t)c->routes.flows + 1, sizeof(*candidate->choice));
    if (rc == OK && candidate->choice == NULL) {
        rc = ERR_NOMEM;
    }
    if (rc == OK) {
        rc = place_lp(c, share, &candidate->lp_bound);
    }
    if (rc == OK) {
        rc = place_round(c, share, effort, candidate->choice, &cost);
    }
    if (rc == OK) {
        candidate->possible = true;
        candidate->value = cost.value;
        candidate->time_s = cost.time_s;
        candidate->usd = cost.usd;
        /* Prices prove it to the last bit or so; a choice that meets it is the best. */
        candidate->lp_bound = fmin(candidate->lp_bound, candidate->value);
        candidate->bound = candidate->lp_bound;
        candidate->proven = candidate->value <= candidate->bound * (1 + PLACE_SAME);
    }
    mem_free(share);
    return rc == ERR_NOT_FOUND ? OK : rc;
}

/* What those who search say of @choice against what its paths and links take. */
static enum err place_verify(struct place_core *c, const uint32_t *choice, double time_s,
                             struct err_text *text)
{
    uint32_t count = c->routes.flows;
    struct plan_place_flow *flows = mem_calloc((size_t)count + 1, sizeof(*flows));
    double measured_s = 0;
    double usd = 0;
    bool same;

    if (flows == NULL) {
        return ERR_NOMEM;
    }
    place_flows(c, choice, flows);
    same = place_measure(c->problem, c->routes.target, flows, count, c->load, &measured_s, &usd) &&
           fabs(measured_s - time_s) <= PLACE_SAME * time_s;
    memset(c->load, 0, c->resources * sizeof(*c->load));
    mem_free(flows);
    return same ? OK
                : err_text_set(text, ERR_CORRUPT,
                               "the paths to %s take %.17g s, but the planner says %.17g s",
                               c->problem->graph->nodes[c->routes.target].name, measured_s, time_s);
}

enum err plan_place_do(struct plan_place_task *task)
{
    struct plan_place_candidate *candidate = task->candidate;
    struct place_core c;
    enum err rc = plan_solver_load(task->text);

    if (rc != OK) {
        return rc;
    }
    rc = place_core_init(&c, task->problem, candidate->server, task->text);
    if (rc != OK) {
        return rc == ERR_NOT_FOUND ? OK : rc; /* Then it is not possible. */
    }
    rc = task->stage == PLAN_PLACE_BOUND_STAGE
             ? place_bound_stage(&c, task->effort, candidate)
             : place_prove(&c, task->effort, task->best, candidate);
    if (rc == OK && candidate->possible && candidate->value < INFINITY) {
        rc = place_verify(&c, candidate->choice, candidate->time_s, task->text);
    }
    place_core_deinit(&c);
    return rc == ERR_NOMEM ? err_text_set(task->text, rc, "out of memory") : rc;
}

/* All servers. */

struct place_solve {
    const struct plan_place_problem *problem;
    const struct plan_place_effort *effort;
    struct plan_place_answer *answer;
    struct plan_place_task *tasks;
    struct err_text *text;
    double best; /* Value so far. */
};

static enum err place_run(struct place_solve *s, uint32_t count, const char *what)
{
    enum err rc = OK;

    if (s->effort->spread != NULL) {
        return s->effort->spread(s->tasks, count, s->effort->user);
    }
    for (uint32_t i = 0; i < count && rc == OK; i++) {
        rc = plan_place_do(&s->tasks[i]);
        if (s->effort->progress != NULL) {
            s->effort->progress(i + 1, count, what, s->effort->user);
        }
    }
    return rc;
}

static void place_task(struct place_solve *s, uint32_t task, uint32_t candidate,
                       enum plan_place_stage stage)
{
    s->tasks[task] = (struct plan_place_task){.problem = s->problem,
                                              .effort = s->effort,
                                              .stage = stage,
                                              .best = s->best,
                                              .candidate = &s->answer->candidates[candidate],
                                              .text = s->text};
}

static enum err place_bounds(struct place_solve *s)
{
    struct plan_place_answer *a = s->answer;
    enum err rc;

    for (uint32_t i = 0; i < a->candidates_count; i++) {
        place_task(s, i, i, PLAN_PLACE_BOUND_STAGE);
    }
    rc = place_run(s, a->candidates_count, "bounds");
    for (uint32_t i = 0; i < a->candidates_count; i++) {
        if (a->candidates[i].possible) {
            s->best = fmin(s->best, a->candidates[i].value);
        }
    }
    return rc;
}

/* The next candidate whose bound is the least of those that were not looked at, and below the best
 * value: or false. */
static bool place_next(const struct place_solve *s, const bool *looked, uint32_t *candidate_out)
{
    const struct plan_place_answer *a = s->answer;
    double least = s->best * (1 - PLACE_SAME);
    bool found = false;

    for (uint32_t i = 0; i < a->candidates_count; i++) {
        const struct plan_place_candidate *c = &a->candidates[i];

        if (c->possible && !looked[i] && !c->proven && c->bound < least) {
            least = c->bound;
            *candidate_out = i;
            found = true;
        }
    }
    return found;
}

static enum err place_proofs(struct place_solve *s)
{
    struct plan_place_answer *a = s->answer;
    bool *looked = mem_calloc((size_t)a->candidates_count + 1, sizeof(*looked));
    enum err rc = looked == NULL ? ERR_NOMEM : OK;
    uint32_t count = 1;

    while (rc == OK && count > 0) {
        uint32_t next;

        for (count = 0; count < PLACE_PROOFS && place_next(s, looked, &next); count++) {
            place_task(s, count, next, PLAN_PLACE_PROOF_STAGE);
            looked[next] = true;
        }
        rc = count == 0 ? OK : place_run(s, count, "proofs");
        for (uint32_t i = 0; i < count; i++) {
            s->best = fmin(s->best, s->tasks[i].candidate->value);
        }
    }
    for (uint32_t i = 0; i < a->candidates_count && rc == OK; i++) {
        a->candidates[i].pruned = !looked[i] && !a->candidates[i].proven;
    }
    mem_free(looked);
    return rc;
}

static enum err place_choose(struct place_solve *s)
{
    struct plan_place_answer *a = s->answer;
    bool by_bound = s->effort->method == PLAN_PLACE_LP;
    const struct plan_place_candidate *best = NULL;

    a->bound = INFINITY;
    for (uint32_t i = 0; i < a->candidates_count; i++) {
        const struct plan_place_candidate *c = &a->candidates[i];

        if (!c->possible) {
            continue;
        }
        a->bound = fmin(a->bound, c->bound);
        if (best == NULL || (by_bound ? c->lp_bound < best->lp_bound : c->value < best->value)) {
            best = c;
        }
    }
    if (best == NULL || !(best->value < INFINITY)) {
        return s->problem->usd_limit > 0
                   ? err_text_set(s->text, ERR_NOT_FOUND,
                                  "no plan was found that costs at most %.6g dollars; the cheapest "
                                  "one is found with --objective dollars",
                                  s->problem->usd_limit)
                   : err_text_set(
                         s->text, ERR_NOT_FOUND,
                         "no region can be reached from all others: too much is ruled out");
    }
    a->server = best->server;
    a->value = best->value;
    a->time_s = best->time_s;
    a->usd = best->usd;
    a->lp_bound = best->lp_bound;
    a->bound = fmin(a->bound, a->value);
    a->optimal = a->value <= a->bound * (1 + PLACE_SAME);
    return OK;
}

/* Baselines. */

static void place_connected(const struct plan_place_problem *p, struct plan_place_answer *a)
{
    struct plan_place_baselines *b = &a->baselines;
    uint32_t most = 0;
    uint32_t ties = 0;
    uint32_t possible = 0;

    for (uint32_t i = 0; i < a->candidates_count; i++) {
        const struct plan_place_candidate *c = &a->candidates[i];
        uint32_t degree = p->graph->nodes[c->server].degree;

        if (!c->possible || !(c->value < INFINITY)) {
            continue;
        }
        possible++;
        b->random += c->time_s;
        if (degree > most) {
            most = degree;
            ties = 0;
            b->connected = c->server;
            b->connected_s = c->time_s;
            b->tie_mean_s = 0;
            b->tie_worst_s = 0;
        }
        if (degree == most) {
            ties++;
            b->tie_mean_s += c->time_s;
            b->tie_worst_s = fmax(b->tie_worst_s, c->time_s);
        }
    }
    b->random /= possible;
    b->tie_mean_s /= ties;
}

/* What the server found would take with paths that are chosen in a simple way. */
static enum err place_routed(struct place_solve *s, struct place_core *c)
{
    struct plan_place_baselines *b = &s->answer->baselines;
    uint32_t *choice = mem_calloc((size_t)c->routes.flows + 1, sizeof(*choice));
    enum err rc;

    if (choice == NULL) {
        return ERR_NOMEM;
    }
    b->shortest_s = place_cost_of(c, choice).time_s; /* Each flow's first path. */
    rc = place_verify(c, choice, b->shortest_s, s->text);
    if (rc == OK) {
        place_balance(c, choice);
        b->balanced_s = place_cost_of(c, choice).time_s;
        rc = place_verify(c, choice, b->balanced_s, s->text);
    }
    mem_free(choice);
    return rc;
}

/* From the server and its paths to the answer. */
static enum err place_finish(struct place_solve *s, struct place_core *c)
{
    struct plan_place_answer *a = s->answer;
    const struct plan_place_candidate *best = a->candidates;
    enum err rc = place_routed(s, c);

    if (rc != OK) {
        return rc;
    }
    a->flows = mem_calloc((size_t)c->routes.flows + 1, sizeof(*a->flows));
    if (a->flows == NULL) {
        return ERR_NOMEM;
    }
    while (best->server != a->server) {
        best++;
    }
    a->flows_count = c->routes.flows;
    place_flows(c, best->choice, a->flows);
    for (uint32_t f = 0; f < a->flows_count; f++) {
        a->flows[f].mbps = place_factor(s->problem) *
                           place_weight(c, c->routes.first[f] + best->choice[f]) *
                           s->problem->bytes / a->time_s / 125e3;
    }
    a->routes = c->routes;
    c->routes = (struct plan_routes){0};
    return OK;
}

static enum err place_begin(struct place_solve *s)
{
    const struct topo_graph *g = s->problem->graph;
    struct plan_place_answer *a = s->answer;

    a->candidates = mem_calloc(g->nodes_count, sizeof(*a->candidates));
    s->tasks = mem_calloc((size_t)g->nodes_count + PLACE_PROOFS, sizeof(*s->tasks));
    if (a->candidates == NULL || s->tasks == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t n = 0; n < g->nodes_count; n++) {
        if (place_may_serve(s->problem, n)) {
            a->candidates[a->candidates_count++] =
                (struct plan_place_candidate){.server = n, .usd = -1, .lp_bound = INFINITY};
        }
    }
    return OK;
}

static enum err place_all(struct place_solve *s)
{
    struct place_core c;
    enum err rc = place_begin(s);

    if (rc == OK) {
        rc = place_bounds(s);
    }
    if (rc == OK && s->effort->method == PLAN_PLACE_EXACT) {
        rc = place_proofs(s);
    }
    if (rc == OK) {
        rc = place_choose(s);
    }
    if (rc == OK) {
        place_connected(s->problem, s->answer);
        rc = place_core_init(&c, s->problem, s->answer->server, s->text);
        if (rc == OK) {
            rc = place_finish(s, &c);
            place_core_deinit(&c);
        }
    }
    return rc;
}

/* How many paths, if nobody said so. */
static enum err place_few(struct plan_place_problem *p)
{
    const struct plan_routes_rules rules = {
        .silent = p->silent, .no_relay = p->no_relay, .no_edge = p->no_edge};
    bool few = true;
    enum err rc = OK;

    for (uint32_t n = 0; n < p->graph->nodes_count && few && rc == OK; n++) {
        if (place_may_serve(p, n)) {
            rc = plan_routes_few(p->graph, &rules, n, PLAN_PLACE_AUTO_MAX, &few);
        }
    }
    p->paths = few ? PLAN_PLACE_ALL : PLAN_PLACE_PATHS_AUTO;
    return rc;
}

enum err plan_place_solve(const struct plan_place_problem *problem,
                          const struct plan_place_effort *effort, struct plan_place_answer *out,
                          struct err_text *text)
{
    struct plan_place_problem p = *problem;
    struct place_solve s = {
        .problem = &p, .effort = effort, .answer = out, .text = text, .best = INFINITY};
    enum err rc = plan_place_check(&p, text);

    *out = (struct plan_place_answer){0};
    if (rc == OK && p.paths == PLAN_PLACE_AUTO) {
        rc = place_few(&p);
    }
    if (rc == OK) {
        out->paths = p.paths;
        rc = place_all(&s);
    }
    mem_free(s.tasks);
    if (rc != OK) {
        plan_place_answer_deinit(out);
    }
    return rc == ERR_NOMEM ? err_text_set(text, rc, "out of memory") : rc;
}

void plan_place_answer_deinit(struct plan_place_answer *a)
{
    for (uint32_t i = 0; i < a->candidates_count; i++) {
        mem_free(a->candidates[i].choice);
    }
    mem_free(a->candidates);
    mem_free(a->flows);
    plan_routes_deinit(&a->routes);
    *a = (struct plan_place_answer){0};
}
