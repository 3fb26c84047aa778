#include "run/trainer/judge.h"

#include "base/err.h"

#include <math.h>
#include <string.h>

void run_judge_init(struct run_judge *j, uint64_t clocks, double change, bool rising)
{
    CHECK(clocks <= RUN_JUDGE_CLOCKS_MAX);
    *j = (struct run_judge){.clocks = clocks, .change = change, .rising = rising};
}

/* Servers drop updates that are not finite, so a model may stay where it is just before. */
static bool judge_diverged(struct run_judge *j, double objective)
{
    double worse;

    if (!isfinite(objective)) {
        return true;
    }
    if (!j->started) {
        j->started = true;
        j->first_ever = objective;
    }
    worse = j->rising ? j->first_ever - objective : objective - j->first_ever;
    return worse > RUN_JUDGE_WORSE * fmax(fabs(j->first_ever), 1);
}

/* Only what is inside the window, and the last one before it, is of use. */
static void judge_keep(struct run_judge *j, uint64_t clock, double objective)
{
    uint32_t old = 0;

    while (old + 1 < j->count && j->seen[old + 1].clock + j->clocks <= clock) {
        old++;
    }
    j->count -= old;
    memmove(j->seen, j->seen + old, j->count * sizeof(j->seen[0]));
    CHECK(j->count < sizeof(j->seen) / sizeof(j->seen[0]));
    j->seen[j->count++] = (struct run_judge_seen){.clock = clock, .objective = objective};
}

static bool judge_converged(const struct run_judge *j)
{
    double low = j->seen[0].objective, high = low;

    if (j->seen[0].clock + j->clocks > j->seen[j->count - 1].clock) {
        return false;
    }
    for (uint32_t i = 1; i < j->count; i++) {
        low = j->seen[i].objective < low ? j->seen[i].objective : low;
        high = j->seen[i].objective > high ? j->seen[i].objective : high;
    }
    return high == low || high - low < j->change * fabs(j->seen[0].objective);
}

enum run_verdict run_judge_next(struct run_judge *j, uint64_t clock, double objective)
{
    if (j->count > 0 && clock <= j->seen[j->count - 1].clock) {
        return RUN_GOES_ON;
    }
    if (judge_diverged(j, objective)) {
        return RUN_DIVERGED;
    }
    if (clock < j->after) {
        return RUN_GOES_ON;
    }
    judge_keep(j, clock, objective);
    return j->clocks > 0 && judge_converged(j) ? RUN_CONVERGED : RUN_GOES_ON;
}
