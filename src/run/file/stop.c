/* When a run is over. */

#include "run/file/state.h"
#include "run/trainer/judge.h"

#include <stdlib.h>
#include <string.h>

enum { STOP_CLOCKS_MAX = 1000000000 };

#define STOP_TIME_MAX_NS INT64_C(31622400000000000) /* A year. */
#define STOP_CHANGE_MIN 1e-9

static enum err stop_change(struct file_reader *r)
{
    const struct run_yaml *node = file_find(r, "stop.converged.change");
    double *change = &r->f->stop.converged.change;

    *change = RUN_JUDGE_CHANGE;
    if (node != NULL && (node->kind != RUN_YAML_TEXT || !file_read_part(node->chars, change) ||
                         !(*change >= STOP_CHANGE_MIN && *change <= 1))) {
        return file_fail(r, ERR_MALFORMED, "stop.converged.change",
                         "has to be a number or a percentage from %g to 1, such as 2%%",
                         STOP_CHANGE_MIN);
    }
    return OK;
}

/* "true", "false", or a mapping. */
static enum err stop_converged(struct file_reader *r)
{
    const struct run_yaml *node = file_find(r, "stop.converged");
    const struct run_yaml *clocks = file_find(r, "stop.converged.clocks");
    const struct run_yaml *after = file_find(r, "stop.converged.after");
    struct run_converged *c = &r->f->stop.converged;
    bool text = node != NULL && node->kind == RUN_YAML_TEXT;
    enum err rc = OK;

    if (node == NULL || (text && strcmp(node->chars, "false") == 0)) {
        return OK;
    }
    if (text && strcmp(node->chars, "true") != 0) {
        return file_fail(r, ERR_MALFORMED, "stop.converged",
                         "has to be true, or {change: 2%%, clocks: 10}");
    }
    if (!text) {
        rc = file_check_converged(r, node, "stop.converged");
    }
    if (rc == OK) {
        c->clocks = clocks == NULL ? 0 : (uint32_t)strtoul(clocks->chars, NULL, 10);
        rc = file_u32(r, "stop.converged.clocks", &c->clocks, RUN_JUDGE_CLOCKS, 1,
                      RUN_JUDGE_CLOCKS_MAX);
    }
    if (rc == OK) {
        c->after = after == NULL ? 0 : (uint32_t)strtoul(after->chars, NULL, 10);
        rc = file_u32(r, "stop.converged.after", &c->after, 0, 0, STOP_CLOCKS_MAX);
    }
    return rc == OK ? stop_change(r) : rc;
}

/* What needs evaluations has them. */
static enum err stop_evaluated(const struct file_reader *r)
{
    const struct run_stop *s = &r->f->stop;
    uint32_t every = r->f->evaluate.every;
    const char *what = s->has_objective           ? "stop.objective"
                       : s->accuracy > 0          ? "stop.accuracy"
                       : s->converged.clocks != 0 ? "stop.converged"
                                                  : NULL;

    if (every == 0 && what != NULL) {
        return file_fail(r, ERR_MALFORMED, what,
                         "needs evaluations, and evaluate.every is 0: write a number of clocks");
    }
    if (s->converged.clocks != 0 && every > s->converged.clocks) {
        return file_fail(r, ERR_MALFORMED, "stop.converged",
                         "is judged over %u clocks, and evaluate.every is %u: evaluate at least as "
                         "often, or write more clocks",
                         s->converged.clocks, every);
    }
    return OK;
}

enum err file_stop(struct file_reader *r)
{
    struct run_stop *s = &r->f->stop;
    enum err rc = file_whole(r, "stop.clocks", &s->clocks, 0, 1, STOP_CLOCKS_MAX);

    s->has_objective = file_find(r, "stop.objective") != NULL;
    if (rc == OK) {
        rc = file_number(r, "stop.accuracy", &s->accuracy, 0, 0.001, 1);
    }
    if (rc == OK) {
        rc = stop_converged(r);
    }
    if (rc == OK) {
        rc = file_time(r, "stop.time", &s->time_ns, 0, 1, STOP_TIME_MAX_NS);
    }
    if (rc == OK && s->clocks == 0 && !s->has_objective && !(s->accuracy > 0) &&
        s->converged.clocks == 0 && s->time_ns == 0) {
        return file_fail(r, ERR_MALFORMED, "stop",
                         "nothing ends the run: write one of clocks, objective, accuracy, "
                         "converged, time");
    }
    return rc == OK ? stop_evaluated(r) : rc;
}
