#include "plan/solver.h"

#include "base/dynlib.h"

#define SOLVER_PACKAGE "coinor-libcbc3"
#define SOLVER_FUNCTION(function) {#function, &plan_solver.function},

struct plan_solver plan_solver;

enum err plan_solver_load(struct err_text *text)
{
    static const struct dynlib_function cbc[] = {PLAN_SOLVER_CBC(SOLVER_FUNCTION)};
    static const struct dynlib_function clp[] = {PLAN_SOLVER_CLP(SOLVER_FUNCTION)};
    enum err rc = OK;

    if (plan_solver.Cbc_newModel == NULL) {
        rc = dynlib_load(STRAIT_CBC_SONAME, "exact planning", SOLVER_PACKAGE, cbc,
                         sizeof(cbc) / sizeof(cbc[0]), text);
    }
    if (rc == OK && plan_solver.Clp_newModel == NULL) {
        rc = dynlib_load(STRAIT_CLP_SONAME, "exact planning", SOLVER_PACKAGE, clp,
                         sizeof(clp) / sizeof(clp[0]), text);
    }
    return rc;
}
