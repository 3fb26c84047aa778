/* The solvers, CBC for integer programs and CLP for linear ones, by their C interfaces. They are
 * loaded when they are first needed. Call them as plan_solver.Cbc_newModel(). */

#ifndef PLAN_SOLVER_H
#define PLAN_SOLVER_H

#include "base/err.h"

#include <coin/Cbc_C_Interface.h>
#include <coin/Clp_C_Interface.h>

#define PLAN_SOLVER_CBC(X)                                                                         \
    X(Cbc_addCol)                                                                                  \
    X(Cbc_addRow)                                                                                  \
    X(Cbc_bestSolution)                                                                            \
    X(Cbc_deleteModel)                                                                             \
    X(Cbc_getBestPossibleObjValue)                                                                 \
    X(Cbc_getColSolution)                                                                          \
    X(Cbc_getObjValue)                                                                             \
    X(Cbc_isProvenInfeasible)                                                                      \
    X(Cbc_isProvenOptimal)                                                                         \
    X(Cbc_loadProblem)                                                                             \
    X(Cbc_newModel)                                                                                \
    X(Cbc_setAllowableGap)                                                                         \
    X(Cbc_setCutoff)                                                                               \
    X(Cbc_setInteger)                                                                              \
    X(Cbc_setLogLevel)                                                                             \
    X(Cbc_setMIPStartI)                                                                            \
    X(Cbc_setObjSense)                                                                             \
    X(Cbc_setParameter)                                                                            \
    X(Cbc_solve)

#define PLAN_SOLVER_CLP(X)                                                                         \
    X(Clp_deleteModel)                                                                             \
    X(Clp_dual)                                                                                    \
    X(Clp_dualRowSolution)                                                                         \
    X(Clp_loadProblem)                                                                             \
    X(Clp_newModel)                                                                                \
    X(Clp_primalColumnSolution)                                                                    \
    X(Clp_setLogLevel)                                                                             \
    X(Clp_status)

#define PLAN_SOLVER_POINTER(function) __typeof__(function) *function;

struct plan_solver {
    PLAN_SOLVER_CBC(PLAN_SOLVER_POINTER)
    PLAN_SOLVER_CLP(PLAN_SOLVER_POINTER)
};

extern struct plan_solver plan_solver;

/* Before the first call of a solver, by one thread; again is harmless. ERR_IO with @text. */
MUST_USE enum err plan_solver_load(struct err_text *text);

#endif
