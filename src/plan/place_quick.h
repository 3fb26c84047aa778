/* A good plan of plan/place.h at once, without a solver, a clock or randomness: for servers at
 * work. For each server the shortest few paths of all flows are balanced and improved on. Who does
 * not call others of that family is not linked with solvers. */

#ifndef PLAN_PLACE_QUICK_H
#define PLAN_PLACE_QUICK_H

#include "plan/place.h"

enum { PLAN_QUICK_PATHS = 6 }; /* Of each flow, unless the problem says otherwise. */

struct plan_quick {
    uint32_t server;
    double time_s;
    double kept_s; /* If the server stayed where it is; infinite: it cannot. */
    struct plan_place_flow *flows;
    uint32_t flows_count;
    struct plan_routes routes; /* Holds what .flows borrow. */
};

/* The best server, or @stay if no other is quicker by more than @gain of its time (0: any gain
 * will do). PLAN_PLACE_NOWHERE: there is none to stay. Goals are times; prices do not matter.
 * ERR_INVALID, ERR_NOT_FOUND, ERR_NOMEM with @text. */
MUST_USE enum err plan_place_quick(const struct plan_place_problem *p, uint32_t stay, double gain,
                                   struct plan_quick *out, struct err_text *text);
void plan_quick_deinit(struct plan_quick *q);

#endif
