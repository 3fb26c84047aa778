/* strait sim --fleet: several sites that share one model, drawn by seed, once or with many seeds.
 */

#include "cli/sim/sim.h"

#include "cli/command/error.h"
#include "sim/stress/fleet.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

/* What many seeds add up to. */
struct fleet_sums {
    uint64_t runs;
    uint64_t events;
    uint64_t reads;
    int64_t virtual_ns;
    struct node_mirror_stats totals;
    uint64_t fired[SIM_FAULT_KINDS];
    char about[160]; /* The last one. */
};

static void fleet_add(struct fleet_sums *s, const struct sim_fleet_result *r)
{
    s->runs++;
    s->events += r->events;
    s->reads += r->reads;
    s->virtual_ns += r->now_ns;
    s->totals.pieces_made += r->totals.pieces_made;
    s->totals.pieces_taken += r->totals.pieces_taken;
    s->totals.pieces_dropped += r->totals.pieces_dropped;
    s->totals.pieces_held += r->totals.pieces_held;
    s->totals.pieces_refused += r->totals.pieces_refused;
    s->totals.relayed += r->totals.relayed;
    s->totals.barriers_met += r->totals.barriers_met;
    s->totals.barriers_passed += r->totals.barriers_passed;
    s->totals.copies += r->totals.copies;
    s->totals.waited_clock_ns += r->totals.waited_clock_ns;
    s->totals.waited_barrier_ns += r->totals.waited_barrier_ns;
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        s->fired[i] += r->fired[i];
    }
    (void)snprintf(s->about, sizeof(s->about), "%s", r->about);
}

static json_t *fleet_json(const struct fleet_sums *s)
{
    const struct node_mirror_stats *t = &s->totals;

    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:o}", "made",
                     (json_int_t)t->pieces_made, "taken", (json_int_t)t->pieces_taken, "dropped",
                     (json_int_t)t->pieces_dropped, "held", (json_int_t)t->pieces_held, "refused",
                     (json_int_t)t->pieces_refused, "relayed", (json_int_t)t->relayed, "barriers",
                     (json_int_t)t->barriers_met, "barriers_passed", (json_int_t)t->barriers_passed,
                     "copies", (json_int_t)t->copies, "reads", (json_int_t)s->reads,
                     "waited_clock_s", (double)t->waited_clock_ns / 1e9, "waited_barrier_s",
                     (double)t->waited_barrier_ns / 1e9, "faults", cli_sim_faults_json(s->fired));
}

static enum cli_exit fleet_report(struct cli_context *ctx, uint64_t seed, int64_t took_ns,
                                  void *user)
{
    const struct fleet_sums *s = user;
    const struct node_mirror_stats *t = &s->totals;

    if (ctx->json) {
        return cli_json(ctx, json_pack("{s:s, s:I, s:I, s:b, s:f, s:I, s:f, s:o}", "kind", "fleet",
                                       "seed", (json_int_t)seed, "runs", (json_int_t)s->runs, "ok",
                                       1, "virtual_s", (double)s->virtual_ns / 1e9, "events",
                                       (json_int_t)s->events, "took_s", (double)took_ns / 1e9,
                                       "totals", fleet_json(s)));
    }
    cli_out(ctx,
            "%sok%s  %" PRIu64 " fleets from seed %" PRIu64 ", %.0f s of virtual time, %" PRIu64
            " events in %.1f s\n",
            cli_style(ctx->color_out, CLI_GOOD), cli_style(ctx->color_out, CLI_PLAIN), s->runs,
            seed, (double)s->virtual_ns / 1e9, s->events, (double)took_ns / 1e9);
    if (s->runs == 1) {
        cli_out(ctx, "  fleet      %s\n", s->about);
    }
    cli_out(ctx,
            "  pieces     %" PRIu64 " made, %" PRIu64 " taken, %" PRIu64 " dropped, %" PRIu64
            " held, %" PRIu64 " refused, %" PRIu64 " passed on\n",
            t->pieces_made, t->pieces_taken, t->pieces_dropped, t->pieces_held, t->pieces_refused,
            t->relayed);
    cli_out(ctx,
            "  readers    %" PRIu64 " judged, waited %.1f s for clocks and %.1f s for %" PRIu64
            " barriers, %" PRIu64 " passed on; %" PRIu64 " copies\n",
            s->reads, (double)t->waited_clock_ns / 1e9, (double)t->waited_barrier_ns / 1e9,
            t->barriers_met, t->barriers_passed, t->copies);
    cli_sim_faults_line(ctx, s->fired);
    return CLI_DONE;
}

/* One seed; what it found is added up. */
static enum cli_exit fleet_one(struct cli_context *ctx, uint64_t seed, bool trace, void *user)
{
    struct fleet_sums *sums = user;
    struct sim_fleet_config config = {.seed = seed,
                                      .groups = -1,
                                      .delivery = -1,
                                      .checkpoints = -1,
                                      .faults = SIM_FAULTS_ALL,
                                      .trace = trace};
    struct sim_fleet_result result;
    struct err_text text = {0};
    enum cli_exit status = CLI_DONE;

    if (sim_fleet_run(&config, &result, &text) != OK) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "%s", text.text);
    }
    if (trace) {
        cli_out(ctx, "%s", result.transcript.chars);
    }
    fleet_add(sums, &result);
    if (result.verdict[0] != '\0') {
        status = cli_sim_broken(ctx, "--fleet", seed, result.verdict, result.about);
    }
    sim_fleet_result_deinit(&result);
    return status;
}

enum cli_exit cli_sim_fleet(struct cli_context *ctx, uint64_t seed)
{
    struct fleet_sums sums = {0};
    struct cli_seeds seeds = {
        .what = "fleets", .one = fleet_one, .report = fleet_report, .user = &sums};

    return cli_sim_seeds(ctx, seed, &seeds);
}
