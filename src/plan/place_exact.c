/* The best choice of paths, by CBC.
 *
 * Of time alone it is not asked for the least T, whose relaxation says little, but whether there is
 * a choice below the best known: a link then has room for a whole number of weights, the largest
 * whose time is below that, and paths that are too heavy for one of their links are left out. Each
 * yes gives a better choice and the question is asked again; the first no is the proof.
 *
 * Where dollars matter it solves the program of place_model.h with whole x. */

#include "base/mem.h"
#include "plan/place_model.h"
#include "plan/solver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The longest that CBC may look at one question, if nobody has said how long it may. */
#define EXACT_SECONDS 3600.0

enum exact_said { EXACT_YES, EXACT_NO, EXACT_LATE };

static double exact_left(const struct plan_place_effort *effort)
{
    return effort->left == NULL ? EXACT_SECONDS : effort->left(effort->user);
}

static enum exact_said exact_run(Cbc_Model *cbc, const struct plan_place_effort *effort)
{
    char limit[32];

    (void)snprintf(limit, sizeof(limit), "%.3f", fmax(0.001, exact_left(effort)));
    plan_solver.Cbc_setLogLevel(cbc, 0);
    plan_solver.Cbc_setParameter(cbc, "presolve",
                                 "off"); /* CoinUtils 2.11 leaks there if there is no answer. */
    plan_solver.Cbc_setParameter(cbc, "timeMode", "elapsed");
    plan_solver.Cbc_setParameter(cbc, "seconds", limit);
    (void)plan_solver.Cbc_solve(cbc);
    if (plan_solver.Cbc_isProvenInfeasible(cbc)) {
        return EXACT_NO;
    }
    return plan_solver.Cbc_bestSolution(cbc) != NULL ? EXACT_YES : EXACT_LATE;
}

/* A question: the paths that are left, and how much room each resource has. */
struct exact_question {
    struct place_core *core;
    uint32_t *path; /* Of each column. */
    int columns;
    double *room; /* Of each resource, in weights. */
    int *row;     /* Of each resource, or -1: there is room for all. */
    int links;
};

static enum err exact_init(struct exact_question *q, struct place_core *c)
{
    *q = (struct exact_question){.core = c};
    q->path = mem_calloc((size_t)c->routes.paths + 1, sizeof(*q->path));
    q->room = mem_calloc(c->resources, sizeof(*q->room));
    q->row = mem_calloc(c->resources, sizeof(*q->row));
    return q->path == NULL || q->room == NULL || q->row == NULL ? ERR_NOMEM : OK;
}

static void exact_deinit(struct exact_question *q)
{
    mem_free(q->path);
    mem_free(q->room);
    mem_free(q->row);
}

static bool exact_fits(const struct exact_question *q, uint32_t path)
{
    const uint32_t *resource = place_resources(q->core, path);
    double weight = place_weight(q->core, path);

    for (uint32_t i = 0; i < plan_routes_hops(&q->core->routes, path); i++) {
        if (q->room[resource[i]] < weight) {
            return false;
        }
    }
    return true;
}

/* Ask for choices below @value. False if there are none because a flow has no path left. */
static bool exact_ask(struct exact_question *q, double value)
{
    const struct plan_routes *r = &q->core->routes;
    double below = value * (1 - PLACE_SAME);

    q->columns = 0;
    q->links = 0;
    for (uint32_t e = 0; e < q->core->resources; e++) {
        q->room[e] = fmax(0, ceil(below / q->core->seconds[e]) - 1);
        q->row[e] = -1;
    }
    for (uint32_t f = 0; f < r->flows; f++) {
        int before = q->columns;

        for (uint32_t path = r->first[f]; path < r->first[f + 1]; path++) {
            if (exact_fits(q, path)) {
                q->path[q->columns++] = path;
            }
        }
        if (q->columns == before) {
            return false;
        }
    }
    return true;
}

static void exact_rows(struct exact_question *q, Cbc_Model *cbc)
{
    for (int i = 0; i < q->columns; i++) {
        const uint32_t *resource = place_resources(q->core, q->path[i]);

        for (uint32_t h = 0; h < plan_routes_hops(&q->core->routes, q->path[i]); h++) {
            if (q->row[resource[h]] < 0) {
                q->row[resource[h]] = q->links++;
                plan_solver.Cbc_addRow(cbc, "", 0, NULL, NULL, 'L', q->room[resource[h]]);
            }
        }
    }
    for (uint32_t f = 0; f < q->core->routes.flows; f++) {
        plan_solver.Cbc_addRow(cbc, "", 0, NULL, NULL, 'E', 1);
    }
}

static enum err exact_columns(struct exact_question *q, Cbc_Model *cbc)
{
    uint32_t n = q->core->problem->graph->nodes_count;
    double *value = mem_calloc((size_t)n + 1, sizeof(*value));
    int *index = mem_calloc((size_t)n + 1, sizeof(*index));
    uint32_t flow = 0;

    for (int i = 0; i < q->columns && value != NULL && index != NULL; i++) {
        const uint32_t *resource = place_resources(q->core, q->path[i]);
        uint32_t hops = plan_routes_hops(&q->core->routes, q->path[i]);

        while (q->path[i] >= q->core->routes.first[flow + 1]) {
            flow++;
        }
        for (uint32_t h = 0; h < hops; h++) {
            index[h] = q->row[resource[h]];
            value[h] = place_weight(q->core, q->path[i]);
        }
        index[hops] = q->links + (int)flow;
        value[hops] = 1;
        plan_solver.Cbc_addCol(cbc, "", 0, 1, 0, 1, (int)hops + 1, index, value);
    }
    mem_free(value);
    mem_free(index);
    return value == NULL || index == NULL ? ERR_NOMEM : OK;
}

/* Which path of each flow the solver chose. False if it did not choose one of each. */
static bool exact_choice(const struct plan_routes *r, const uint32_t *path, uint32_t columns,
                         const double *x, uint32_t *choice_out)
{
    uint32_t column = 0;

    for (uint32_t f = 0; f < r->flows; f++) {
        bool chosen = false;

        for (; column < columns && path[column] < r->first[f + 1]; column++) {
            if (x[column] > 0.5) {
                choice_out[f] = path[column] - r->first[f];
                chosen = true;
            }
        }
        if (!chosen) {
            return false;
        }
    }
    return true;
}

/* Answer the question; on EXACT_YES with a choice. */
static enum err exact_answer(struct exact_question *q, const struct plan_place_effort *effort,
                             enum exact_said *said_out, uint32_t *choice_out)
{
    Cbc_Model *cbc = plan_solver.Cbc_newModel();
    enum err rc;

    exact_rows(q, cbc);
    rc = exact_columns(q, cbc);
    if (rc == OK) {
        *said_out = exact_run(cbc, effort);
        if (*said_out == EXACT_YES &&
            !exact_choice(&q->core->routes, q->path, (uint32_t)q->columns,
                          plan_solver.Cbc_bestSolution(cbc), choice_out)) {
            *said_out = EXACT_LATE;
        }
    }
    plan_solver.Cbc_deleteModel(cbc);
    return rc;
}

/* Keep @choice, improved, if it is better; else the solver has told us nothing. */
static bool exact_take(struct place_core *c, uint32_t *choice,
                       struct plan_place_candidate *candidate)
{
    struct place_cost cost;

    place_improve(c, choice);
    cost = place_cost_of(c, choice);
    if (!(cost.value < candidate->value)) {
        return false;
    }
    memcpy(candidate->choice, choice, c->routes.flows * sizeof(*choice));
    candidate->value = cost.value;
    candidate->time_s = cost.time_s;
    candidate->usd = cost.usd;
    return true;
}

static enum err exact_time(struct place_core *c, const struct plan_place_effort *effort,
                           double best, struct plan_place_candidate *candidate, uint32_t *choice)
{
    struct exact_question q;
    enum exact_said said = EXACT_YES;
    enum err rc = exact_init(&q, c);

    while (rc == OK && said == EXACT_YES) {
        double below = fmin(best, candidate->value);

        if (!exact_ask(&q, below)) {
            said = EXACT_NO;
        } else {
            candidate->questions++;
            rc = exact_answer(&q, effort, &said, choice);
        }
        candidate->dropped = c->routes.paths - (uint32_t)q.columns;
        if (rc == OK && said == EXACT_NO) {
            candidate->bound = fmax(candidate->bound, below);
            candidate->proven = candidate->value <= below;
        } else if (rc == OK && said == EXACT_YES && !exact_take(c, choice, candidate)) {
            said = EXACT_LATE;
        }
    }
    exact_deinit(&q);
    return rc;
}

/* Where dollars matter. */
static enum err exact_dollars(struct place_core *c, const struct plan_place_effort *effort,
                              double best, struct plan_place_candidate *candidate, uint32_t *choice)
{
    struct place_model m;
    enum err rc = place_model_init(&m, c);
    uint32_t *path = rc == OK ? mem_calloc((size_t)c->routes.paths + 1, sizeof(*path)) : NULL;
    double below = fmin(best, candidate->value);
    double scale = rc != OK ? 1 : c->problem->goal == PLAN_PLACE_TIME ? m.unit : m.money;
    enum exact_said said;
    Cbc_Model *cbc;

    if (path == NULL) {
        place_model_deinit(&m);
        return rc == OK ? ERR_NOMEM : rc;
    }
    cbc = plan_solver.Cbc_newModel();
    plan_solver.Cbc_loadProblem(cbc, m.columns, m.rows, m.start, m.index, m.value, NULL, m.most,
                                m.cost, m.row_least, m.row_most);
    for (uint32_t i = 0; i < c->routes.paths; i++) {
        plan_solver.Cbc_setInteger(cbc, (int)i);
        path[i] = i;
    }
    plan_solver.Cbc_setAllowableGap(cbc, PLACE_SAME);
    if (below < INFINITY) {
        plan_solver.Cbc_setCutoff(cbc, below / scale * (1 - PLACE_SAME));
    }
    said = exact_run(cbc, effort);
    if (said == EXACT_YES && exact_choice(&c->routes, path, c->routes.paths,
                                          plan_solver.Cbc_bestSolution(cbc), choice)) {
        (void)exact_take(c, choice, candidate);
    }
    if (said == EXACT_NO) {
        candidate->bound = fmax(candidate->bound, below);
        candidate->proven = candidate->value <= below;
    } else if (said == EXACT_YES && plan_solver.Cbc_isProvenOptimal(cbc)) {
        candidate->bound = fmin(candidate->value, plan_solver.Cbc_getObjValue(cbc) * scale);
        candidate->proven = candidate->value <= candidate->bound * (1 + 1e-6);
    }
    plan_solver.Cbc_deleteModel(cbc);
    mem_free(path);
    place_model_deinit(&m);
    return rc;
}

enum err place_prove(struct place_core *c, const struct plan_place_effort *effort, double best,
                     struct plan_place_candidate *candidate)
{
    uint32_t *choice = mem_calloc((size_t)c->routes.flows + 1, sizeof(*choice));
    enum err rc = ERR_NOMEM;

    if (choice != NULL) {
        rc = place_priced(c->problem) ? exact_dollars(c, effort, best, candidate, choice)
                                      : exact_time(c, effort, best, candidate, choice);
    }
    mem_free(choice);
    return rc;
}
