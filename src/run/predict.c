#include "run/predict.h"

#include "base/mem.h"
#include "run/sim/sim.h"

static void predict_over(const struct run_picture *picture, const struct run_result *result,
                         void *user)
{
    struct run_prediction *out = user;

    out->known = result->end == RUN_END_CLOCKS;
    out->time_s = (double)result->took_ns * 1e-9;
    out->clocks = run_tally_clock_all(picture->tally);
    out->wan_bytes = run_traffic_total(picture->traffic);
}

/* By worker: the mean of its steps. A worker that has ended none takes as long as the others; false
 * if nobody has, as when all have gone on from a checkpoint and ended at once. */
static bool predict_steps(const struct run_file *f, const struct run_tally *tally, int64_t *out,
                          double *mean_s_out)
{
    int64_t sum_ns = 0;
    uint64_t clocks = 0;

    for (uint32_t i = 0; i < f->workers; i++) {
        const struct run_tally_worker *w = run_tally_worker(tally, i);

        sum_ns += w->compute_ns;
        clocks += w->clocks;
        out[i] = w->clocks == 0 ? -1 : w->compute_ns / (int64_t)w->clocks;
    }
    if (clocks == 0) {
        return false;
    }
    for (uint32_t i = 0; i < f->workers; i++) {
        out[i] = out[i] < 0 ? sum_ns / (int64_t)clocks : out[i];
    }
    *mean_s_out = (double)sum_ns * 1e-9 / (double)clocks;
    return true;
}

/* Who asked is asked too, but gets what is theirs. */
struct predict_ask {
    struct run_prediction *out;
    enum run_wish (*tick)(void *user);
    void *user;
};

static enum run_wish predict_tick(void *user)
{
    const struct predict_ask *ask = user;

    return ask->tick != NULL && ask->tick(ask->user) == RUN_WISH_STOP ? RUN_WISH_STOP
                                                                      : RUN_WISH_NOTHING;
}

static void predict_told(const struct run_picture *picture, const struct run_result *result,
                         void *user)
{
    const struct predict_ask *ask = user;

    predict_over(picture, result, ask->out);
}

enum err run_predict(const struct run_file *f, const struct run_tally *tally,
                     enum run_wish (*tick)(void *user), void *user, struct run_prediction *out,
                     struct err_text *text)
{
    struct predict_ask ask = {.out = out, .tick = tick, .user = user};
    struct run_watcher watcher = {.tick = predict_tick, .over = predict_told, .user = &ask};
    uint64_t clocks = run_tally_clock_all(tally);
    struct run_file same = *f;
    struct run_sim_result result;
    int64_t *steps;
    enum err rc = OK;

    *out = (struct run_prediction){.known = false};
    if (clocks == 0) {
        return OK;
    }
    steps = mem_calloc(f->workers, sizeof(*steps));
    if (steps == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for the prediction");
    }
    same.stop = (struct run_stop){.clocks = clocks};
    if (predict_steps(f, tally, steps, &out->compute_s)) {
        rc =
            run_sim(&same, &watcher, &(struct run_sim_options){.compute_ns = steps}, &result, text);
    }
    mem_free(steps);
    return rc;
}
