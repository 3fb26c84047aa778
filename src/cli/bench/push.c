/* strait bench push: full rounds against bare sockets. */

#include "cli/bench/push.h"

#include "cli/bench/bench.h"
#include "cli/command/commands.h"
#include "cli/command/context.h"
#include "cli/command/error.h"

#include <jansson.h>
#include <stdio.h>

struct push_turns {
    int64_t ours[BENCH_TURNS_MAX];
    int64_t floor[BENCH_TURNS_MAX];
    int64_t ours_cpu[BENCH_TURNS_MAX];
    int64_t floor_cpu[BENCH_TURNS_MAX];
    uint64_t server_bytes;
};

static enum err push_measure(struct cli_context *ctx, const struct bench_push *b, uint32_t turns,
                             struct push_turns *t, struct err_text *text)
{
    enum err rc = OK;

    for (uint32_t i = 0; i < turns && rc == OK; i++) {
        struct bench_push_result ours, floor;

        cli_note(ctx, "turn %u of %u", i + 1, turns);
        rc = bench_push_floor(b, &floor, text);
        if (rc == OK) {
            rc = bench_push_ours(b, &ours, text);
        }
        if (rc == OK) {
            t->floor[i] = floor.round_ns;
            t->ours[i] = ours.round_ns;
            t->floor_cpu[i] = floor.cpu_ns;
            t->ours_cpu[i] = ours.cpu_ns;
            t->server_bytes =
                ours.server_bytes > t->server_bytes ? ours.server_bytes : t->server_bytes;
        }
    }
    return rc;
}

/* Where the processor time goes that the floor does not need. */
struct push_beyond {
    double copy_ms, check_ms, finite_ms, rest_ms;
};

static struct push_beyond push_beyond(double beyond_ns, const struct bench_push_costs *c)
{
    return (struct push_beyond){
        .copy_ms = (double)c->copy_ns / 1e6,
        .check_ms = (double)c->check_ns / 1e6,
        .finite_ms = (double)c->finite_ns / 1e6,
        .rest_ms = (beyond_ns - (double)(c->copy_ns + c->check_ns + c->finite_ns)) / 1e6};
}

static enum cli_exit push_report(struct cli_context *ctx, const struct bench_push *b,
                                 uint32_t turns, struct push_turns *t,
                                 const struct bench_push_costs *costs)
{
    double ours = (double)bench_quantile(t->ours, turns, 500000);
    double floor = (double)bench_quantile(t->floor, turns, 500000);
    double bytes = (double)b->elements * 4;
    double ours_cpu = (double)bench_quantile(t->ours_cpu, turns, 500000);
    double floor_cpu = (double)bench_quantile(t->floor_cpu, turns, 500000);
    struct push_beyond beyond = push_beyond(ours_cpu - floor_cpu, costs);

    if (ctx->json) {
        return cli_json(ctx,
                        json_pack("{s:i, s:i, s:I, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:I,"
                                  " s:{s:f, s:f, s:f, s:f}}",
                                  "workers", (int)b->workers, "servers", (int)b->servers, "bytes",
                                  (json_int_t)bytes, "rounds", (int)b->rounds, "turns", (int)turns,
                                  "round_ms", ours / 1e6, "floor_round_ms", floor / 1e6, "ratio",
                                  floor / ours, "gb_per_s", 2 * bytes * b->workers / ours, "cpu_ms",
                                  ours_cpu / 1e6, "floor_cpu_ms", floor_cpu / 1e6, "server_bytes",
                                  (json_int_t)t->server_bytes, "cpu_beyond_floor", "copy_ms",
                                  beyond.copy_ms, "checksum_ms", beyond.check_ms, "finite_ms",
                                  beyond.finite_ms, "rest_ms", beyond.rest_ms));
    }
    cli_out(ctx, "%u workers, %u servers, %.0f MB, %u rounds, medians of %u turns\n", b->workers,
            b->servers, bytes / 1e6, b->rounds, turns);
    cli_out(ctx, "  ours   %8.2f ms a round  %6.2f GB/s  %8.1f ms CPU\n", ours / 1e6,
            2 * bytes * b->workers / ours, ours_cpu / 1e6);
    cli_out(ctx, "  floor  %8.2f ms a round  %6.2f GB/s  %8.1f ms CPU\n", floor / 1e6,
            2 * bytes * b->workers / floor, floor_cpu / 1e6);
    cli_out(ctx, "  ratio  %8.2f               most memory of a server %.0f MB\n", floor / ours,
            (double)t->server_bytes / 1e6);
    cli_out(ctx,
            "  beyond the floor, CPU of all processes a round, each measured alone:\n"
            "    updates copied into frames %.1f ms, checksums %.1f ms, looking for NaN %.1f ms,\n"
            "    frames, acknowledgements, waking up, and the kernel's part %+.1f ms\n",
            beyond.copy_ms, beyond.check_ms, beyond.finite_ms, beyond.rest_ms);
    return CLI_DONE;
}

static enum cli_exit bench_push_run(struct cli_context *ctx)
{
    struct bench_push b = {
        .workers = (uint32_t)cli_number(ctx, "workers"),
        .servers = (uint32_t)cli_number(ctx, "servers"),
        .elements = (uint64_t)cli_number(ctx, "mb") * 1000000 / 4,
        .rounds = (uint32_t)cli_number(ctx, "rounds"),
        .congestion = cli_text(ctx, "congestion"),
    };
    uint32_t turns = (uint32_t)cli_number(ctx, "turns");
    struct push_turns t = {.server_bytes = 0};
    struct bench_push_costs costs;
    struct err_text text = {""};

    cli_flush(ctx);
    if (push_measure(ctx, &b, turns, &t, &text) != OK) {
        return cli_error(ctx, CLI_ERROR_BENCH, NULL, "bench push: %s", text.text);
    }
    if (bench_push_costs(&b, &costs) != OK) {
        return cli_error(ctx, CLI_ERROR_BENCH, NULL, "bench push: no memory for the model");
    }
    return push_report(ctx, &b, turns, &t, &costs);
}

const struct cli_command cli_command_bench_push = {
    .path = "bench push",
    .summary = "measure full rounds against bare sockets",
    .paragraphs =
        (const char *const[]){
            "Every worker pushes an update of the whole model, servers add them up and broadcast "
            "the sums, everybody enters them: real lanes and workers, a process each, over "
            "loopback TCP. The floor moves the same bytes in the same pieces over bare sockets "
            "and does the same additions, without headers, checks, acknowledgements or anything "
            "that survives a fault. The two take turns, and the medians are compared.",
            NULL},
    .options =
        (const struct cli_option[]){
            CLI_OPTION_NUMBER("workers", "N", "2", "how many workers", 1, BENCH_WORKERS_MAX),
            CLI_OPTION_NUMBER("servers", "P", "1", "how many servers, of one lane each", 1,
                              BENCH_SERVERS_MAX),
            CLI_OPTION_NUMBER("mb", "M", "64", "size of the model in 10^6 bytes", 1, 4000),
            CLI_OPTION_NUMBER("rounds", "NUMBER", "10", "timed rounds of a turn", 1, 10000),
            CLI_OPTION_NUMBER("turns", "NUMBER", "5", "how often both sides take their turn", 1,
                              BENCH_TURNS_MAX),
            {.name = "congestion",
             .placeholder = "NAME",
             .fallback = "cubic",
             .help = "congestion control of both sides"},
            {0}},
    .examples =
        (const struct cli_example[]){
            {"strait bench push --workers 4 --mb 64", "four workers, one server"},
            {"strait bench push --mb 256 --workers 4 --json", "a model of the size of AlexNet"},
            {0}},
    .run = bench_push_run,
};
