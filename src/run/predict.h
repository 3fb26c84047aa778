/* What the simulator says of a run that was real: the same file, with the time that each worker's
 * steps really took, up to the clock that was reached. */

#ifndef RUN_PREDICT_H
#define RUN_PREDICT_H

#include "run/backend.h"

struct run_prediction {
    bool known;
    double time_s;
    uint64_t clocks;
    uint64_t wan_bytes;
    double compute_s; /* Of a step, measured, mean over the workers. */
};

/* Simulate it. @tick as in struct run_watcher, with @user: RUN_WISH_STOP gives up, and nothing is
 * known. ERR_NOMEM, or what run_sim() says, with @text. */
MUST_USE enum err run_predict(const struct run_file *f, const struct run_tally *tally,
                              enum run_wish (*tick)(void *user), void *user,
                              struct run_prediction *out, struct err_text *text);

#endif
