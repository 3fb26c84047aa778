#include "plan/place_plain.h"

#include "plan/place_model.h"
#include "plan/solver.h"

#include <math.h>
#include <stdio.h>

static void plain_solve(struct place_model *m, double seconds, struct plan_place_plain *out)
{
    double scale = m->core->problem->goal == PLAN_PLACE_TIME ? m->unit : m->money;
    Cbc_Model *cbc = plan_solver.Cbc_newModel();
    char limit[32];

    (void)snprintf(limit, sizeof(limit), "%.3f", fmax(0.001, seconds));
    plan_solver.Cbc_setLogLevel(cbc, 0);
    plan_solver.Cbc_setParameter(cbc, "timeMode", "elapsed");
    plan_solver.Cbc_setParameter(cbc, "seconds", limit);
    plan_solver.Cbc_loadProblem(cbc, m->columns, m->rows, m->start, m->index, m->value, NULL,
                                m->most, m->cost, m->row_least, m->row_most);
    for (uint32_t path = 0; path < m->core->routes.paths; path++) {
        plan_solver.Cbc_setInteger(cbc, (int)path);
    }
    (void)plan_solver.Cbc_solve(cbc);
    out->possible = plan_solver.Cbc_bestSolution(cbc) != NULL;
    out->proven =
        plan_solver.Cbc_isProvenOptimal(cbc) != 0 || plan_solver.Cbc_isProvenInfeasible(cbc) != 0;
    out->value = out->possible ? plan_solver.Cbc_getObjValue(cbc) * scale : 0;
    plan_solver.Cbc_deleteModel(cbc);
}

enum err plan_place_plain(const struct plan_place_problem *p, uint32_t server, double seconds,
                          struct plan_place_plain *out, struct err_text *text)
{
    struct place_model m;
    struct place_core c;
    enum err rc = plan_solver_load(text);

    if (rc != OK) {
        return rc;
    }
    rc = place_core_init(&c, p, server, text);
    *out = (struct plan_place_plain){.proven = rc == ERR_NOT_FOUND};
    if (rc != OK) {
        return rc == ERR_NOT_FOUND ? OK : rc;
    }
    rc = place_model_init(&m, &c);
    if (rc == OK) {
        plain_solve(&m, seconds, out);
        place_model_deinit(&m);
    }
    place_core_deinit(&c);
    return rc == ERR_NOMEM ? err_text_set(text, rc, "out of memory") : rc;
}
