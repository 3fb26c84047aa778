/* strait sim --feed: a site that holds back what is small, in both directions, and passes sums on
 * by trees, drawn by seed, once or with many seeds. */

#include "cli/command/error.h"
#include "cli/sim/sim.h"
#include "sim/stress/feed.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

/* What many seeds add up to; the tightest bound and the last of .about. */
struct feed_sums {
    uint64_t runs;
    int64_t virtual_ns;
    struct sim_feed_result all;
};

static void feed_add(struct feed_sums *s, const struct sim_feed_result *r)
{
    struct sim_feed_result *a = &s->all;

    s->runs++;
    s->virtual_ns += r->now_ns;
    a->events += r->events;
    a->pushes += r->pushes;
    a->taken += r->taken;
    a->bounds += r->bounds;
    a->tightest = r->tightest > a->tightest ? r->tightest : a->tightest;
    a->copies += r->copies;
    a->deaths += r->deaths;
    a->trees += r->trees;
    a->detours += r->detours;
    a->passed += r->passed;
    a->broadcasts += r->broadcasts;
    a->snapshots += r->snapshots;
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        a->fired[i] += r->fired[i];
    }
    (void)snprintf(a->about, sizeof(a->about), "%s", r->about);
}

static json_t *feed_json(const struct sim_feed_result *a)
{
    return json_pack("{s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "pushed",
                     (json_int_t)a->pushes, "taken", (json_int_t)a->taken, "bounds",
                     (json_int_t)a->bounds, "tightest", a->tightest, "copies",
                     (json_int_t)a->copies, "deaths", (json_int_t)a->deaths, "trees",
                     (json_int_t)a->trees, "detours", (json_int_t)a->detours, "passed",
                     (json_int_t)a->passed, "broadcasts", (json_int_t)a->broadcasts, "snapshots",
                     (json_int_t)a->snapshots, "faults", cli_sim_faults_json(a->fired));
}

static enum cli_exit feed_report(struct cli_context *ctx, uint64_t seed, int64_t took_ns,
                                 void *user)
{
    const struct feed_sums *s = user;
    const struct sim_feed_result *a = &s->all;

    if (ctx->json) {
        return cli_json(ctx, json_pack("{s:s, s:I, s:I, s:b, s:f, s:I, s:f, s:o}", "kind", "feed",
                                       "seed", (json_int_t)seed, "runs", (json_int_t)s->runs, "ok",
                                       1, "virtual_s", (double)s->virtual_ns / 1e9, "events",
                                       (json_int_t)a->events, "took_s", (double)took_ns / 1e9,
                                       "totals", feed_json(a)));
    }
    cli_out(ctx,
            "%sok%s  %" PRIu64 " feeds from seed %" PRIu64 ", %.0f s of virtual time, %" PRIu64
            " events in %.1f s\n",
            cli_style(ctx->color_out, CLI_GOOD), cli_style(ctx->color_out, CLI_PLAIN), s->runs,
            seed, (double)s->virtual_ns / 1e9, a->events, (double)took_ns / 1e9);
    if (s->runs == 1) {
        cli_out(ctx, "  feed       %s\n", a->about);
    }
    cli_out(ctx, "  updates    %" PRIu64 " pushed, %" PRIu64 " taken; %" PRIu64 " workers died\n",
            a->pushes, a->taken, a->deaths);
    cli_out(ctx,
            "  held back  %.1f %% at most of what is allowed, in %" PRIu64 " rounds; %" PRIu64
            " copies compared\n",
            a->tightest * 100, a->bounds, a->copies);
    cli_out(ctx,
            "  sums       %" PRIu64 " sent by lanes, %" PRIu64 " passed on by workers, %" PRIu64
            " chunks sent whole; %" PRIu64 " trees, %" PRIu64 " detours\n",
            a->broadcasts, a->passed, a->snapshots, a->trees, a->detours);
    cli_sim_faults_line(ctx, a->fired);
    return CLI_DONE;
}

/* One seed; what it found is added up. */
static enum cli_exit feed_one(struct cli_context *ctx, uint64_t seed, bool trace, void *user)
{
    struct sim_feed_config config = {
        .seed = seed, .tree = -1, .faults = SIM_FAULTS_ALL, .trace = trace};
    struct sim_feed_result result;
    struct err_text text = {0};
    enum cli_exit status = CLI_DONE;

    if (sim_feed_run(&config, &result, &text) != OK) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "%s", text.text);
    }
    if (trace) {
        cli_out(ctx, "%s", result.transcript.chars);
    }
    feed_add(user, &result);
    if (result.verdict[0] != '\0') {
        status = cli_sim_broken(ctx, "--feed", seed, result.verdict, result.about);
    }
    sim_feed_result_deinit(&result);
    return status;
}

enum cli_exit cli_sim_feed(struct cli_context *ctx, uint64_t seed)
{
    struct feed_sums sums = {0};
    struct cli_seeds seeds = {
        .what = "feeds", .one = feed_one, .report = feed_report, .user = &sums};

    return cli_sim_seeds(ctx, seed, &seeds);
}
