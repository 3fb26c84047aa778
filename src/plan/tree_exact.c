#include "plan/tree_exact.h"

#include "base/mem.h"
#include "plan/solver.h"
#include "plan/tree_model.h"

#include <stdio.h>
#include <string.h>

/* What is not told apart: a part of the objective. */
#define EXACT_GAP 1e-7

/* Rounding. Of trees that cost the same the one that is dealt out in order is nicer to read. */
#define EXACT_SAME 1e-12

/* What one run of the solver gave. .values is NULL if it found nothing. */
struct exact_found {
    double *values;
    double bound; /* In units of the model. */
    bool proven;
};

static Cbc_Model *exact_load(const struct plan_model *m, double seconds)
{
    Cbc_Model *solver = plan_solver.Cbc_newModel();
    char limit[32];

    plan_solver.Cbc_setLogLevel(solver, 0);
    plan_solver.Cbc_loadProblem(solver, m->columns, m->rows, m->start, m->row, m->value, m->least,
                                m->most, m->cost, m->row_least, m->row_most);
    plan_solver.Cbc_setObjSense(solver, 1);
    for (int i = 0; i < m->integers; i++) {
        plan_solver.Cbc_setInteger(solver, i);
    }
    (void)snprintf(limit, sizeof(limit), "%.3f", seconds);
    plan_solver.Cbc_setParameter(solver, "timeMode", "elapsed");
    plan_solver.Cbc_setParameter(solver, "seconds", limit);
    plan_solver.Cbc_setAllowableGap(solver, 1e-9);
    return solver;
}

static void exact_begin_with(Cbc_Model *solver, const struct plan_model *m, const double *values)
{
    int *index = mem_calloc((size_t)m->columns, sizeof(*index));

    /* Without memory it begins with nothing: slower, not wrong. */
    for (int i = 0; i < m->columns && index != NULL; i++) {
        index[i] = i;
    }
    if (index != NULL) {
        plan_solver.Cbc_setMIPStartI(solver, m->columns, index, values);
    }
    mem_free(index);
}

/* @values has a tree to begin with, and gets the best. */
static void exact_run(const struct plan_model *m, double seconds, double *values,
                      struct exact_found *out)
{
    Cbc_Model *solver = exact_load(m, seconds);
    const double *found;

    *out = (struct exact_found){0};
    if (m->integers > 0) {
        exact_begin_with(solver, m, values);
    }
    (void)plan_solver.Cbc_solve(solver);
    found = m->integers > 0 ? plan_solver.Cbc_bestSolution(solver)
                            : plan_solver.Cbc_getColSolution(solver);
    out->proven = plan_solver.Cbc_isProvenOptimal(solver) != 0;
    if (found != NULL && (m->integers > 0 || out->proven)) {
        memcpy(values, found, (size_t)m->columns * sizeof(*values));
        out->values = values;
    }
    out->bound = m->integers > 0 ? plan_solver.Cbc_getBestPossibleObjValue(solver)
                                 : plan_solver.Cbc_getObjValue(solver);
    plan_solver.Cbc_deleteModel(solver);
}

/* A tree of the solver's answer. Its heuristics may leave edges that are not whole; with the depths
 * fixed there are some that are. */
static enum err exact_tree(struct plan_model *m, double *values, double seconds, uint32_t *parent)
{
    enum err rc = plan_model_to_tree(m, values, parent);
    struct exact_found found;

    if (rc == ERR_MALFORMED) {
        plan_model_fix(m, values);
        exact_run(m, seconds, values, &found);
        if (found.values != NULL) {
            rc = plan_model_to_tree(m, values, parent);
        }
    }
    return rc;
}

/* Take over what is better than @out: the tree, the bound. */
static enum err exact_take(struct plan_model *m, const struct plan_tree_effort *effort,
                           struct exact_found *found, uint32_t *parent_out,
                           struct plan_tree_answer *out)
{
    const struct plan_core *c = m->core;
    double bound = found->bound * c->scale + c->leaf_cost * c->workers;
    uint32_t *parent = mem_calloc(c->workers, sizeof(*parent));
    struct plan_tree_answer answer = *out;
    enum err rc = parent == NULL ? ERR_NOMEM : OK;

    if (rc == OK && found->values != NULL && !effort->relax) {
        rc = exact_tree(m, found->values, effort->seconds, parent);
        if (rc == OK && plan_tree_measure(c->problem, parent, &answer) &&
            answer.objective <= out->objective * (1 + EXACT_SAME)) {
            *out = answer;
            memcpy(parent_out, parent, c->workers * sizeof(*parent));
        }
        rc = rc == ERR_MALFORMED ? OK : rc; /* Then there is still the tree it began with. */
    }
    mem_free(parent);
    /* A solver that was stopped knows less than it would have to for a bound above a tree. */
    if (bound > out->bound && (found->proven || (!effort->relax && bound < out->objective))) {
        out->bound = bound < out->objective ? bound : out->objective;
    }
    out->optimal = out->objective - out->bound <= EXACT_GAP * out->objective;
    out->bound = out->optimal ? out->objective : out->bound;
    return rc;
}

static enum err exact_search(const struct plan_core *c, const struct plan_tree_effort *effort,
                             uint32_t *parent_out, struct plan_tree_answer *out)
{
    struct exact_found found;
    struct plan_model m;
    double *values = NULL;
    enum err rc = plan_model_init(&m, c);

    if (rc != OK) {
        return rc;
    }
    values = mem_calloc((size_t)m.columns, sizeof(*values));
    rc = values == NULL ? ERR_NOMEM : plan_model_from_tree(&m, parent_out, values);
    if (rc == OK) {
        m.integers = effort->relax ? 0 : m.integers;
        exact_run(&m, effort->seconds, values, &found);
        rc = exact_take(&m, effort, &found, parent_out, out);
    }
    mem_free(values);
    plan_model_deinit(&m);
    return rc;
}

enum err plan_tree_solve(const struct plan_tree_problem *p, const struct plan_tree_effort *effort,
                         uint32_t *parent_out, struct plan_tree_answer *out, struct err_text *text)
{
    enum err rc = plan_tree_grow(p, parent_out, out, text);
    struct plan_core c;

    if (rc == OK && out->optimal && !effort->relax) {
        out->method = PLAN_TREE_EXACT; /* It meets its own bound. */
    }
    if (rc != OK || out->optimal) {
        return rc;
    }
    rc = plan_solver_load(text);
    if (rc == OK) {
        rc = plan_core_init(&c, p, effort->plain, text);
    }
    if (rc != OK) {
        return rc;
    }
    if (plan_model_columns(&c) <= PLAN_TREE_VARIABLES_MAX) {
        out->method = effort->relax ? PLAN_TREE_HEURISTIC : PLAN_TREE_EXACT;
        rc = exact_search(&c, effort, parent_out, out);
    }
    plan_core_deinit(&c);
    return rc == OK ? OK : err_text_set(text, rc, "out of memory");
}
