/* strait sim --fleet: several sites that share one model, drawn by seed, once or with many seeds.
 */

#include "cli/sim.h"

#include "cli/error.h"
#include "loop/clock.h"
#include "sim/fleet.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

enum { FLEET_PROGRESS_MS = 200, FLEET_PROGRESS_PLAIN_MS = 5000 };

/* What many seeds add up to. */
struct fleet_sums {
    uint64_t runs;
    uint64_t events;
    uint64_t reads;
    int64_t virtual_ns;
    struct node_mirror_stats totals;
    uint64_t fired[SIM_FAULT_KINDS];
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
}

static json_t *fleet_json(const struct fleet_sums *s)
{
    const struct node_mirror_stats *t = &s->totals;
    json_t *faults = json_object();

    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        (void)json_object_set_new(faults, sim_fault_name((enum sim_fault_kind)i),
                                  json_integer((json_int_t)s->fired[i]));
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:o}", "made",
                     (json_int_t)t->pieces_made, "taken", (json_int_t)t->pieces_taken, "dropped",
                     (json_int_t)t->pieces_dropped, "held", (json_int_t)t->pieces_held, "refused",
                     (json_int_t)t->pieces_refused, "relayed", (json_int_t)t->relayed, "barriers",
                     (json_int_t)t->barriers_met, "barriers_passed", (json_int_t)t->barriers_passed,
                     "copies", (json_int_t)t->copies, "reads", (json_int_t)s->reads,
                     "waited_clock_s", (double)t->waited_clock_ns / 1e9, "waited_barrier_s",
                     (double)t->waited_barrier_ns / 1e9, "faults", faults);
}

static enum cli_exit fleet_report(struct cli_context *ctx, uint64_t seed,
                                  const struct fleet_sums *s, const char *about, int64_t took_ns)
{
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
        cli_out(ctx, "  fleet      %s\n", about);
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
    cli_out(ctx, "  faults    ");
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        if (s->fired[i] > 0) {
            cli_out(ctx, " %s %" PRIu64, sim_fault_name((enum sim_fault_kind)i), s->fired[i]);
        }
    }
    cli_out(ctx, "\n");
    return CLI_DONE;
}

static void fleet_progress(struct cli_context *ctx, uint64_t done, int64_t *shown_ns)
{
    int64_t now_ns = clock_mono_ns();
    int64_t every_ms = ctx->progress ? FLEET_PROGRESS_MS : FLEET_PROGRESS_PLAIN_MS;

    if (ctx->quiet || now_ns - *shown_ns < every_ms * 1000000) {
        return;
    }
    *shown_ns = now_ns;
    if (ctx->progress) {
        (void)fprintf(ctx->err, "\r%" PRIu64 " fleets ", done);
        (void)fflush(ctx->err);
    } else {
        cli_note(ctx, "%" PRIu64 " fleets", done);
    }
}

/* One seed; what it found is added up. */
static enum cli_exit fleet_one(struct cli_context *ctx, uint64_t seed, bool trace,
                               struct fleet_sums *sums, char *about, size_t size)
{
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
    (void)snprintf(about, size, "%s", result.about);
    if (result.verdict[0] != '\0') {
        char hint[96];

        (void)snprintf(hint, sizeof(hint), "strait sim --fleet --seed %" PRIu64 " --transcript",
                       seed);
        status = cli_error(ctx, CLI_ERROR_SIM_BROKEN, hint, "seed %" PRIu64 ": %s (%s)", seed,
                           result.verdict, result.about);
    }
    sim_fleet_result_deinit(&result);
    return status;
}

enum cli_exit cli_sim_fleet(struct cli_context *ctx, uint64_t seed)
{
    bool trace = cli_flag(ctx, "transcript");
    uint64_t runs = trace ? 1 : (uint64_t)cli_number(ctx, "runs");
    int64_t start_ns = clock_mono_ns();
    int64_t shown_ns = start_ns;
    int64_t until_ns = cli_given(ctx, "for") ? start_ns + cli_number(ctx, "for") * 1000 : INT64_MAX;
    struct fleet_sums sums = {0};
    char about[160] = "";

    for (uint64_t i = 0; (i < runs || until_ns != INT64_MAX) && clock_mono_ns() < until_ns; i++) {
        enum cli_exit status = fleet_one(ctx, seed + i, trace, &sums, about, sizeof(about));

        if (status != CLI_DONE) {
            return status;
        }
        fleet_progress(ctx, i + 1, &shown_ns);
    }
    if (ctx->progress) {
        (void)fprintf(ctx->err, "\r\033[K");
    }
    return trace ? CLI_DONE : fleet_report(ctx, seed, &sums, about, clock_mono_ns() - start_ns);
}
