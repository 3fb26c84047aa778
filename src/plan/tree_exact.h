/* The best tree there is, by a solver for integer programs (CBC). The model is layered: it says how
 * many workers of each class are at each depth, so that it has no cycles. Slow next to
 * plan_tree_grow(), and not for threads that others wait for.
 */

#ifndef PLAN_TREE_EXACT_H
#define PLAN_TREE_EXACT_H

#include "plan/tree.h"

/* Variables of the model at most; larger problems get plan_tree_grow()'s answer. */
enum { PLAN_TREE_VARIABLES_MAX = 50 * 1000 };

struct plan_tree_effort {
    double seconds; /* At most, on the clock; not exact to the second for large problems. */
    bool plain;     /* Each worker a class of its own: the same answer, later. For tests. */
    bool relax;     /* plan_tree_grow()'s tree, but the bound of the linear relaxation. */
};

/* Find the best tree, or when time is up the best so far with a bound. Errors as
 * plan_tree_grow(). */
MUST_USE enum err plan_tree_solve(const struct plan_tree_problem *p,
                                  const struct plan_tree_effort *effort, uint32_t *parent_out,
                                  struct plan_tree_answer *out, struct err_text *text);

#endif
