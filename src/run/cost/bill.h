/* The bill of a run: what run/cost/cost.h makes of its picture. One machine for each worker; it
 * computes while it computes, and waits for the network while it reads and while it ends a clock.
 * If the file says that a region has several machines, the workers of a site stand for so many
 * together.
 */

#ifndef RUN_COST_BILL_H
#define RUN_COST_BILL_H

#include "run/cost/cost.h"

/* As run_cost_create(): ERR_INVALID with the price that is missing. */
MUST_USE enum err run_bill_create(const struct run_picture *p, struct run_cost **cost_out,
                                  struct err_text *text);

/* A site's part: that of its region, or all of it if it is the only one. */
void run_bill_site(const struct run_cost *c, const struct run_file *f, uint32_t site,
                   struct run_cost_part *out);

/* Has the file a budget, and did it matter: is it used up, or did it hold the soft threshold of
 * some lane up at the end? */
bool run_bill_has_budget(const struct run_file *f);
bool run_bill_bound(const struct run_picture *p);

/* Is what has gone within the budget? False also if a price is missing that says so. */
bool run_bill_holds(const struct run_picture *p);

#endif
