/* strait sim: what campaigns of seeds have in common, whatever is drawn by them. */

#include "cli/command/error.h"
#include "cli/sim/sim.h"
#include "loop/clock.h"
#include "sim/fault.h"

#include <inttypes.h>
#include <stdio.h>

enum { SEEDS_PROGRESS_MS = 200, SEEDS_PROGRESS_PLAIN_MS = 5000 };

static void seeds_progress(struct cli_context *ctx, const char *what, uint64_t done,
                           int64_t *shown_ns)
{
    int64_t now_ns = clock_mono_ns();
    int64_t every_ms = ctx->progress ? SEEDS_PROGRESS_MS : SEEDS_PROGRESS_PLAIN_MS;

    if (ctx->quiet || now_ns - *shown_ns < every_ms * 1000000) {
        return;
    }
    *shown_ns = now_ns;
    if (ctx->progress) {
        (void)fprintf(ctx->err, "\r%" PRIu64 " %s ", done, what);
        (void)fflush(ctx->err);
    } else {
        cli_note(ctx, "%" PRIu64 " %s", done, what);
    }
}

enum cli_exit cli_sim_seeds(struct cli_context *ctx, uint64_t seed, const struct cli_seeds *seeds)
{
    bool trace = cli_flag(ctx, "transcript");
    uint64_t runs = trace ? 1 : (uint64_t)cli_number(ctx, "runs");
    int64_t start_ns = clock_mono_ns();
    int64_t shown_ns = start_ns;
    int64_t until_ns =
        cli_given(ctx, "for") && !trace ? start_ns + cli_number(ctx, "for") * 1000 : INT64_MAX;

    for (uint64_t i = 0; (i < runs || until_ns != INT64_MAX) && clock_mono_ns() < until_ns; i++) {
        enum cli_exit status = seeds->one(ctx, seed + i, trace, seeds->user);

        if (status != CLI_DONE) {
            return status;
        }
        seeds_progress(ctx, seeds->what, i + 1, &shown_ns);
    }
    if (ctx->progress) {
        (void)fprintf(ctx->err, "\r\033[K");
    }
    return trace ? CLI_DONE : seeds->report(ctx, seed, clock_mono_ns() - start_ns, seeds->user);
}

json_t *cli_sim_faults_json(const uint64_t *fired)
{
    json_t *faults = json_object();

    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        (void)json_object_set_new(faults, sim_fault_name((enum sim_fault_kind)i),
                                  json_integer((json_int_t)fired[i]));
    }
    return faults;
}

void cli_sim_faults_line(struct cli_context *ctx, const uint64_t *fired)
{
    char line[SIM_FAULT_KINDS * 32] = "none";
    size_t size = 0;

    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        if (fired[i] > 0) {
            size += (size_t)snprintf(line + size, sizeof(line) - size, "%s%s %" PRIu64,
                                     size == 0 ? "" : ", ", sim_fault_name((enum sim_fault_kind)i),
                                     fired[i]);
        }
    }
    cli_out(ctx, "  faults     ");
    cli_wrap(ctx->out, line, 13, 13, ctx->width);
}

enum cli_exit cli_sim_broken(struct cli_context *ctx, const char *what, uint64_t seed,
                             const char *verdict, const char *about)
{
    char again[96];

    (void)snprintf(again, sizeof(again), "strait sim %s --seed %" PRIu64 " --transcript", what,
                   seed);
    return cli_error(ctx, CLI_ERROR_SIM_BROKEN, again, "seed %" PRIu64 ": %s (%s)", seed, verdict,
                     about);
}
