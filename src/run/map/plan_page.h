/* The page of one plan: where the server goes, how everybody reaches it, what else was looked at
 * and how it compares. One file of HTML (run/report/page.h); the same plan gives the same bytes. */

#ifndef RUN_MAP_PLAN_PAGE_H
#define RUN_MAP_PLAN_PAGE_H

#include "plan/place.h"
#include "run/report/page.h"

struct run_plan_page {
    const char *file;         /* Of the network, as its user named it. */
    const char *const *names; /* Of regions; NULL: those of the graph. */
    const struct plan_place_problem *problem;
    const struct plan_place_effort *effort;
    const struct plan_place_answer *answer;
};

/* Write it. ERR_NOMEM; that the page is too long shows in @out. */
MUST_USE enum err run_plan_page(const struct run_plan_page *p, struct text *out);

#endif
