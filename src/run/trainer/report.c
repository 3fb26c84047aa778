/* Reports: each clock's loss, and evaluations. The answer says when it is over. */

#include "run/trainer/state.h"

#include <math.h>

static void trainer_reported(struct node_op *op, void *user)
{
    struct run_trainer *t = user;

    t->report_busy = false;
    if (op->rc == ERR_NOMEM) {
        t->due = t->report_due ? t->due : t->reporting;
        t->report_due = true;
        loop_timer_start_in(&t->timer, TRAINER_RETRY_NS);
        return;
    }
    /* A report that was refused is not worth the end of the training. */
    t->stop = op->rc == OK && op->value != 0 ? op->value : t->stop;
    run_trainer_report(t);
    if (t->state == TRAINER_READING && t->under_way == 0 && !t->retry) {
        run_trainer_went(t);
    }
}

void run_trainer_report(struct run_trainer *t)
{
    if (t->report_busy || !t->report_due) {
        return;
    }
    t->reporting = t->due;
    t->report_due = false;
    t->report_busy = true;
    t->report = (struct node_op){.finished = trainer_reported, .user = t};
    node_worker_report(t->config.node, &t->reporting, &t->report);
}

/* What is not finite cannot be told: a job that has diverged reaches no goal. */
void run_trainer_report_clock(struct run_trainer *t)
{
    t->due = (struct node_report){
        .clock = t->clock - 1,
        .loss_sum = isfinite(t->now.loss_sum) ? t->now.loss_sum : 0,
        .samples = isfinite(t->now.loss_sum) ? t->now.samples : 0,
    };
}

void run_trainer_report_score(struct run_trainer *t)
{
    const struct app_score *score = &t->judged.score;

    if (isfinite(score->objective_sum)) {
        t->due.evaluated = true;
        t->due.objective_sum = score->objective_sum;
        t->due.objective_count = score->count;
        t->due.correct = score->correct;
        t->due.tested = score->tested;
    }
}

/* All must hear of the end before they are beyond it, so nobody computes while two reports are not
 * answered for (node/lane/report.c counts on that). */
bool run_trainer_may_step(const struct run_trainer *t)
{
    return !(t->report_busy && t->report_due);
}
