/* strait sim --convoy: several sites that close their rounds together, around a centre, drawn by
 * seed, once or with many seeds. */

#include "cli/command/error.h"
#include "cli/sim/sim.h"
#include "sim/stress/convoy.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

/* What many seeds add up to; of .about the last one. */
struct convoy_sums {
    uint64_t runs;
    uint64_t lost_all; /* Of these. */
    int64_t virtual_ns;
    struct sim_convoy_result all;
};

static void convoy_add(struct convoy_sums *s, const struct sim_convoy_result *r)
{
    const struct node_central_stats *one = &r->totals;
    struct node_central_stats *t = &s->all.totals;

    s->runs++;
    s->lost_all += r->lost_all;
    s->virtual_ns += r->now_ns;
    s->all.events += r->events;
    s->all.rounds += r->rounds;
    t->sums_taken += one->sums_taken;
    t->results_taken += one->results_taken;
    t->wholes_taken += one->wholes_taken;
    t->passed += one->passed;
    t->stale += one->stale;
    t->refused += one->refused;
    t->plans += one->plans;
    t->carried += one->carried;
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        s->all.fired[i] += r->fired[i];
    }
    (void)snprintf(s->all.about, sizeof(s->all.about), "%s", r->about);
}

static json_t *convoy_json(const struct sim_convoy_result *a)
{
    const struct node_central_stats *t = &a->totals;

    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "rounds",
                     (json_int_t)a->rounds, "plans", (json_int_t)t->plans, "sums",
                     (json_int_t)t->sums_taken, "results", (json_int_t)t->results_taken, "wholes",
                     (json_int_t)t->wholes_taken, "passed", (json_int_t)t->passed, "stale",
                     (json_int_t)t->stale, "refused", (json_int_t)t->refused, "carried",
                     (json_int_t)t->carried, "faults", cli_sim_faults_json(a->fired));
}

static enum cli_exit convoy_report(struct cli_context *ctx, uint64_t seed, int64_t took_ns,
                                   void *user)
{
    const struct convoy_sums *s = user;
    const struct node_central_stats *t = &s->all.totals;

    if (ctx->json) {
        return cli_json(ctx,
                        json_pack("{s:s, s:I, s:I, s:b, s:I, s:f, s:I, s:f, s:o}", "kind", "convoy",
                                  "seed", (json_int_t)seed, "runs", (json_int_t)s->runs, "ok", 1,
                                  "lost_all", (json_int_t)s->lost_all, "virtual_s",
                                  (double)s->virtual_ns / 1e9, "events", (json_int_t)s->all.events,
                                  "took_s", (double)took_ns / 1e9, "totals", convoy_json(&s->all)));
    }
    cli_out(ctx,
            "%sok%s  %" PRIu64 " convoys from seed %" PRIu64 ", %.0f s of virtual time, %" PRIu64
            " events in %.1f s\n",
            cli_style(ctx->color_out, CLI_GOOD), cli_style(ctx->color_out, CLI_PLAIN), s->runs,
            seed, (double)s->virtual_ns / 1e9, s->all.events, (double)took_ns / 1e9);
    if (s->runs == 1) {
        cli_out(ctx, "  convoy     %s\n", s->all.about);
    }
    cli_out(ctx, "  rounds     %" PRIu64 " of chunks, by %" PRIu64 " plans\n", s->all.rounds,
            t->plans);
    if (s->lost_all > 0) {
        cli_out(ctx,
                "  lost       in %" PRIu64 " convoys all sites died before one could take a copy "
                "of another\n",
                s->lost_all);
    }
    cli_out(ctx,
            "  frames     %" PRIu64 " sums and %" PRIu64 " results taken, %" PRIu64
            " chunks whole, %" PRIu64 " passed on, %" PRIu64 " of an older plan, %" PRIu64
            " refused\n",
            t->sums_taken, t->results_taken, t->wholes_taken, t->passed, t->stale, t->refused);
    cli_out(ctx, "  carried    %" PRIu64 " sums counted in a later round than they were made for\n",
            t->carried);
    cli_sim_faults_line(ctx, s->all.fired);
    return CLI_DONE;
}

/* One seed; what it found is added up. */
static enum cli_exit convoy_one(struct cli_context *ctx, uint64_t seed, bool trace, void *user)
{
    struct sim_convoy_config config = sim_convoy_by_seed(seed);
    struct sim_convoy_result result;
    struct err_text text = {0};
    enum cli_exit status = CLI_DONE;

    config.trace = trace;
    if (sim_convoy_run(&config, &result, &text) != OK) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "%s", text.text);
    }
    if (trace) {
        cli_out(ctx, "%s", result.transcript.chars);
    }
    convoy_add(user, &result);
    if (result.verdict[0] != '\0') {
        status = cli_sim_broken(ctx, "--convoy", seed, result.verdict, result.about);
    }
    sim_convoy_result_deinit(&result);
    return status;
}

enum cli_exit cli_sim_convoy(struct cli_context *ctx, uint64_t seed)
{
    struct convoy_sums sums = {0};
    struct cli_seeds seeds = {
        .what = "convoys", .one = convoy_one, .report = convoy_report, .user = &sums};

    return cli_sim_seeds(ctx, seed, &seeds);
}
