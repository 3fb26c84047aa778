/* The best plan as a general solver finds it, to compare with: nothing is known of bounds, of other
 * servers, or of what a better plan would need. */

#ifndef PLAN_PLACE_PLAIN_H
#define PLAN_PLACE_PLAIN_H

#include "plan/place.h"

struct plan_place_plain {
    bool possible;
    bool proven; /* .value is the least; else time was up. */
    double value;
};

/* The integer program of one server, by CBC as it comes; .paths of the problem is not
 * PLAN_PLACE_AUTO. Errors as plan_place_do(). */
MUST_USE enum err plan_place_plain(const struct plan_place_problem *p, uint32_t server,
                                   double seconds, struct plan_place_plain *out,
                                   struct err_text *text);

#endif
