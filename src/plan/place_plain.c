#include "plan/place_plain.h"

#include "plan/place_model.h"

#include <coin/Cbc_C_Interface.h>
#include <math.h>
#include <stdio.h>

static void plain_solve(struct place_model *m, double seconds, struct plan_place_plain *out)
{
    double scale = m->core->problem->goal == PLAN_PLACE_TIME ? m->unit : m->money;
    Cbc_Model *cbc = Cbc_newModel();
    char limit[32];

    (void)snprintf(limit, sizeof(limit), "%.3f", fmax(0.001, seconds));
    Cbc_setLogLevel(cbc, 0);
    Cbc_setParameter(cbc, "timeMode", "elapsed");
    Cbc_setParameter(cbc, "seconds", limit);
    Cbc_loadProblem(cbc, m->columns, m->rows, m->start, m->index, m->value, NULL, m->most, m->cost,
                    m->row_least, m->row_most);
    for (uint32_t path = 0; path < m->core->routes.paths; path++) {
        Cbc_setInteger(cbc, (int)path);
    }
    (void)Cbc_solve(cbc);
    out->possible = Cbc_bestSolution(cbc) != NULL;
    out->proven = Cbc_isProvenOptimal(cbc) != 0 || Cbc_isProvenInfeasible(cbc) != 0;
    out->value = out->possible ? Cbc_getObjValue(cbc) * scale : 0;
    Cbc_deleteModel(cbc);
}

enum err plan_place_plain(const struct plan_place_problem *p, uint32_t server, double seconds,
                          struct plan_place_plain *out, struct err_text *text)
{
    struct place_model m;
    struct place_core c;
    enum err rc = place_core_init(&c, p, server, text);

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
