/* What a budget cost a run, and what it saved. */

#ifndef CLI_RUN_BUDGET_H
#define CLI_RUN_BUDGET_H

#include "base/text.h"
#include "run/record/outcome.h"

/* "50 clocks instead of 40, time +25.0 %, objective 0.12 instead of 0.11; traffic -50.0 %, dollars
 * -50.0 %": the same run with and without it. */
void budget_compare(const struct run_outcome *with, const struct run_outcome *without,
                    struct text *out);

#endif
