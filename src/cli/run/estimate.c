/* strait run --estimate: what a run will take, from a simulation of it; nothing is started. If it
 * has a budget, it is simulated without it as well, to see what the budget costs. */

#include "cli/run/budget.h"
#include "cli/run/run.h"
#include "run/cost/bill.h"
#include "run/record/outcome.h"
#include "run/sim/sim.h"

/* The run without its budget: only its summary is wanted. */
struct estimate {
    struct run_shown *shown;
    json_t *summary;
};

static enum run_wish estimate_tick(void *user)
{
    struct estimate *e = user;

    return e->shown->watcher.tick(e->shown);
}

static void estimate_show(const struct run_picture *picture, void *user)
{
    struct estimate *e = user;

    e->shown->watcher.show(picture, e->shown);
}

static void estimate_over(const struct run_picture *picture, const struct run_result *result,
                          void *user)
{
    struct estimate *e = user;

    run_shown_clear(e->shown);
    e->summary =
        result->end == RUN_END_INTERRUPTED ? NULL : (json_t *)run_summary(picture, "sim", result);
}

static void estimate_print(struct cli_context *ctx, const json_t *with, const json_t *without)
{
    struct run_outcome a, b;
    struct err_text why;
    char line[512];
    struct text t;

    if (run_outcome_parse(with, &a, &why) != OK || run_outcome_parse(without, &b, &why) != OK) {
        return;
    }
    text_init_fixed(&t, line, sizeof(line));
    budget_compare(&a, &b, &t);
    cli_out(ctx, "  %s%-10s%s against no budget: %s\n", cli_style(ctx->color_out, CLI_FAINT), "",
            cli_style(ctx->color_out, CLI_PLAIN), line);
}

enum cli_exit run_estimate(struct cli_context *ctx, const struct run_file *f,
                           const struct run_file *without, struct run_record *record)
{
    struct run_shown shown;
    struct estimate e = {.shown = &shown};
    struct run_watcher watcher = {
        .tick = estimate_tick, .show = estimate_show, .over = estimate_over, .user = &e};
    struct run_sim_result result;
    struct err_text text = {""};
    enum cli_exit status;
    enum err rc;

    if (!ctx->json) {
        cli_out(ctx, "%sestimate%s, by simulation; nothing was started\n",
                cli_style(ctx->color_out, CLI_HEADING), cli_style(ctx->color_out, CLI_PLAIN));
    }
    run_shown_begin(&shown, ctx, "sim", record);
    rc = run_sim(f, &shown.watcher, NULL, &result, &text);
    if (rc == OK && without != NULL && shown.status == CLI_DONE) {
        rc = run_sim(without, &watcher, NULL, &result, &text);
    }
    if (rc == OK) {
        if (e.summary != NULL && !ctx->json) {
            estimate_print(ctx, shown.json, e.summary);
        }
        run_shown_add(&shown, "estimate", json_true());
        run_shown_add(&shown, "without_budget", e.summary != NULL ? e.summary : json_null());
    }
    status = run_shown_end(&shown);
    return rc == OK ? status : run_not_begun(ctx, f, rc, &text);
}
