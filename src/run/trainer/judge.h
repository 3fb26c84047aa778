/* Judges by its evaluations whether a training is over: it has converged (G11: the objective has
 * changed by less than a part of itself over so many clocks), or it has diverged. Pure.
 *
 *     objective  o
 *                 o   o                     change: from the largest to the smallest
 *                   o   o o o               value inside, as a part of the first of them
 *                       |-----|  .clocks
 */

#ifndef RUN_TRAINER_JUDGE_H
#define RUN_TRAINER_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RUN_JUDGE_CLOCKS_MAX = 1000,
    RUN_JUDGE_CLOCKS = 10, /* By default, as the next. */
};

#define RUN_JUDGE_CHANGE 0.02
#define RUN_JUDGE_WORSE 1e6 /* Times the first objective, or times 1: so far off is diverged. */

struct run_judge {
    uint64_t clocks; /* Zero: it is not asked whether it converges. */
    double change;
    uint64_t after; /* The window begins there at the earliest; the owner may set it. */
    bool rising;    /* More is better. */
    bool started;
    double first_ever;
    uint32_t count; /* Of .seen, oldest first. */
    struct run_judge_seen {
        uint64_t clock;
        double objective;
    } seen[RUN_JUDGE_CLOCKS_MAX + 1]; /* From the last that is .clocks old on. */
};

enum run_verdict { RUN_GOES_ON, RUN_CONVERGED, RUN_DIVERGED };

/* @clocks at most RUN_JUDGE_CLOCKS_MAX. */
void run_judge_init(struct run_judge *j, uint64_t clocks, double change, bool rising);

/* The next evaluation. One that is not of a later clock than the last says nothing. */
enum run_verdict run_judge_next(struct run_judge *j, uint64_t clock, double objective);

#endif
