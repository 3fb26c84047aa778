#include "cli/run/budget.h"

#include "cli/output/figure.h"

#include <inttypes.h>
#include <math.h>

static void budget_change(const char *what, double with, double without, struct text *out)
{
    if (isfinite(with) && isfinite(without) && without > 0) {
        text_addf(out, "%s%+.1f %%", what, (with / without - 1) * 100);
    } else {
        text_addf(out, "%s-", what);
    }
}

void budget_compare(const struct run_outcome *with, const struct run_outcome *without,
                    struct text *out)
{
    text_addf(out, "%" PRIu64 " clocks instead of %" PRIu64, with->clocks, without->clocks);
    budget_change(", time ", with->time_s, without->time_s, out);
    text_add(out, ", objective ");
    figure_number(with->objective, out);
    text_add(out, " instead of ");
    figure_number(without->objective, out);
    budget_change("; traffic ", (double)with->wan_bytes, (double)without->wan_bytes, out);
    budget_change(", dollars ", with->cost.total, without->cost.total, out);
}
