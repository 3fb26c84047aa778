/* The linear relaxation, Problem 4 of the paper as "least T", by CLP. The bound is not CLP's
 * objective but what its prices prove: for prices y >= 0 of links and z >= 0 of the limit, with
 * sum of y <= (T's part in the goal) + z h, no choice is below
 *
 *     sum over flows of min over p of (goal's part of p + z usd(p) + sum of y w s on p) - z limit
 *
 * which holds whatever the solver's tolerances are. */

#include "base/mem.h"
#include "plan/place_model.h"
#include "plan/solver.h"

#include <math.h>

/* What a flow costs at least at these prices. */
static double lp_least(const struct place_model *m, uint32_t flow, const double *price,
                       double limit)
{
    struct place_core *c = m->core;
    double least = INFINITY;

    for (uint32_t path = c->routes.first[flow]; path < c->routes.first[flow + 1]; path++) {
        double cost = place_model_cost(m, path) + (limit > 0 ? limit * c->usd[path] / m->money : 0);

        for (int i = m->start[path]; m->index[i] < m->links; i++) {
            cost += price[m->index[i]] * m->value[i];
        }
        least = fmin(least, cost);
    }
    return least;
}

/* The bound that CLP's prices prove. They come with the sign of a row that is at its most: not
 * above zero. */
static double lp_bound(const struct place_model *m, const double *dual, double *price)
{
    struct place_core *c = m->core;
    bool limited = c->problem->usd_limit > 0;
    double limit = limited ? fmax(0, -dual[m->rows - 1]) : 0;
    double room = m->time_cost + limit * c->usd_per_s * m->unit / m->money;
    double bound = limited ? -limit * c->problem->usd_limit / m->money : 0;
    double sum = 0;

    for (int i = 0; i < m->links; i++) {
        price[i] = fmax(0, -dual[i]);
        sum += price[i];
    }
    for (int i = 0; i < m->links && sum > 0; i++) {
        price[i] *= room / sum;
    }
    for (uint32_t f = 0; f < c->routes.flows; f++) {
        bound += lp_least(m, f, price, limit);
    }
    return bound * (c->problem->goal == PLAN_PLACE_TIME ? m->unit : m->money);
}

static enum err lp_solve(struct place_model *m, double *share_out, double *bound_out)
{
    Clp_Simplex *clp = plan_solver.Clp_newModel();
    double *price = mem_calloc((size_t)m->links + 1, sizeof(*price));
    enum err rc = price == NULL ? ERR_NOMEM : OK;

    plan_solver.Clp_setLogLevel(clp, 0);
    if (rc == OK) {
        plan_solver.Clp_loadProblem(clp, m->columns, m->rows, m->start, m->index, m->value, NULL,
                                    m->most, m->cost, m->row_least, m->row_most);
        (void)plan_solver.Clp_dual(clp, 0);
        rc = plan_solver.Clp_status(clp) == 1 ? ERR_NOT_FOUND : OK;
    }
    if (rc == OK) {
        const double *x = plan_solver.Clp_primalColumnSolution(clp);

        for (uint32_t path = 0; path < m->core->routes.paths; path++) {
            share_out[path] = fmax(0, x[path]);
        }
        *bound_out = lp_bound(m, plan_solver.Clp_dualRowSolution(clp), price);
    }
    mem_free(price);
    plan_solver.Clp_deleteModel(clp);
    return rc;
}

enum err place_lp(struct place_core *c, double *share_out, double *bound_out)
{
    struct place_model m;
    enum err rc = place_model_init(&m, c);

    if (rc == OK) {
        rc = lp_solve(&m, share_out, bound_out);
        place_model_deinit(&m);
    }
    return rc;
}
