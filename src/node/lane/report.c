/* Reports of workers. */

#include "node/lane/report.h"

#include "node/lane/state.h"
#include "node/worker/worker.h"

#include <math.h>

json_t *node_report_to_json(const struct node_report *r)
{
    return json_pack("{s:I, s:f, s:f, s:b, s:f, s:f, s:f, s:f}", "clock", (json_int_t)r->clock,
                     "loss_sum", r->loss_sum, "samples", r->samples, "evaluated", (int)r->evaluated,
                     "objective_sum", r->objective_sum, "objective_count", r->objective_count,
                     "correct", r->correct, "tested", r->tested);
}

json_t *node_passed_to_json(const struct node_passed *passed)
{
    return json_pack("{s:I, s:I, s:I}", "frames", (json_int_t)passed->frames, "bytes",
                     (json_int_t)passed->bytes, "dropped", (json_int_t)passed->dropped);
}

bool node_passed_from_json(const json_t *fields, struct node_passed *out)
{
    if (!json_is_object(fields) || !node_json_u64(fields, "frames", INT64_MAX, 0, &out->frames) ||
        !node_json_u64(fields, "bytes", INT64_MAX, 0, &out->bytes) ||
        !node_json_u64(fields, "dropped", INT64_MAX, 0, &out->dropped)) {
        *out = (struct node_passed){0};
        return false;
    }
    return true;
}

static bool report_number(const json_t *fields, const char *key, double *out)
{
    const json_t *value = json_object_get(fields, key);

    *out = json_number_value(value);
    return json_is_number(value) && isfinite(*out);
}

/* The last clock that all members have judged, or UINT64_MAX if there are none. */
static uint64_t report_evaluated(const struct node_lane *l, uint64_t *last_out)
{
    uint64_t evaluated = UINT64_MAX;

    *last_out = 0;
    for (uint32_t r = 0; r < NODE_NAMES_MAX; r++) {
        const struct node_report_state *report = &l->names[r].report;

        if (sync_is_member(&l->sync, r)) {
            evaluated = report->evaluated < evaluated ? report->evaluated : evaluated;
            *last_out = report->clock > *last_out ? report->clock : *last_out;
        }
    }
    return evaluated;
}

/* The evaluation of the newest clock that all members have judged; what those said who have judged
 * it and left is part of it. */
static void report_judge(struct node_lane *l)
{
    const struct node_goal *goal = &l->config.site.goal;
    double objective = 0, count = 0, correct = 0, tested = 0;
    uint64_t last;
    uint64_t evaluated = report_evaluated(l, &last);

    for (uint32_t r = 0; r < NODE_NAMES_MAX; r++) {
        const struct node_report_state *report = &l->names[r].report;

        if (!sync_is_member(&l->sync, r) && report->evaluated < evaluated) {
            continue;
        }
        objective += report->objective_sum;
        count += report->objective_count;
        correct += report->correct;
        tested += report->tested;
    }
    if (evaluated == 0 || evaluated == UINT64_MAX || evaluated <= l->evaluated || count <= 0) {
        return;
    }
    l->evaluated = evaluated;
    l->objective = objective / count;
    l->accuracy = tested > 0 ? correct / tested : 0;
    if (l->stop_clock == 0 &&
        ((goal->has_objective &&
          (goal->rising ? l->objective >= goal->objective : l->objective <= goal->objective)) ||
         (goal->accuracy > 0 && tested > 0 && l->accuracy >= goal->accuracy))) {
        /* Nobody can be further than this. */
        l->stop_clock = last + l->config.site.sync.staleness + 2;
    }
}

bool node_report_take(struct node_lane *l, uint32_t rank, const json_t *fields, uint64_t *stop_out)
{
    struct node_report_state *report = &l->names[rank].report;
    struct node_report_state in = {0};

    if (!node_json_u64(fields, "clock", INT64_MAX, 0, &in.clock) ||
        !report_number(fields, "loss_sum", &in.loss_sum) ||
        !report_number(fields, "samples", &in.samples) ||
        !report_number(fields, "objective_sum", &in.objective_sum) ||
        !report_number(fields, "objective_count", &in.objective_count) ||
        !report_number(fields, "correct", &in.correct) ||
        !report_number(fields, "tested", &in.tested)) {
        return false;
    }
    in.sparsifies =
        node_sparsify_state_from_json(json_object_get(fields, "sparsified"), &in.sparsified);
    in.passes = node_passed_from_json(json_object_get(fields, "passed"), &in.passed);
    report->sparsifies = in.sparsifies;
    report->sparsified = in.sparsified;
    report->passes = in.passes;
    report->passed = in.passed;
    report->clock = in.clock;
    report->loss_sum = in.loss_sum;
    report->samples = in.samples;
    if (json_is_true(json_object_get(fields, "evaluated"))) {
        in.evaluated = in.clock;
        *report = in;
        report_judge(l);
    }
    *stop_out = l->stop_clock;
    return true;
}

json_t *node_report_status(const struct node_lane *l)
{
    double loss = 0, samples = 0;
    uint64_t clock = 0;
    json_t *out;

    for (uint32_t r = 0; r < NODE_NAMES_MAX; r++) {
        if (sync_is_member(&l->sync, r)) {
            loss += l->names[r].report.loss_sum;
            samples += l->names[r].report.samples;
            clock = l->names[r].report.clock > clock ? l->names[r].report.clock : clock;
        }
    }
    out = json_pack("{s:I}", "clock", (json_int_t)clock);
    if (samples > 0) {
        (void)json_object_set_new(out, "loss", json_real(loss / samples));
    }
    if (l->evaluated > 0) {
        (void)json_object_set_new(out, "evaluated", json_integer((json_int_t)l->evaluated));
        (void)json_object_set_new(out, "objective", json_real(l->objective));
        (void)json_object_set_new(out, "accuracy", json_real(l->accuracy));
    }
    if (l->stop_clock > 0) {
        (void)json_object_set_new(out, "stop", json_integer((json_int_t)l->stop_clock));
    }
    return out;
}
