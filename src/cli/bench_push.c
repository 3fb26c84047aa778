/* strait bench push: full rounds against bare sockets. */

#include "cli/bench_push.h"

#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/error.h"

#include <jansson.h>
#include <stdio.h>

enum { PUSH_TURNS_MAX = 99 };

struct push_turns {
    int64_t ours[PUSH_TURNS_MAX];
    int64_t floor[PUSH_TURNS_MAX];
    int64_t ours_cpu[PUSH_TURNS_MAX];
    int64_t floor_cpu[PUSH_TURNS_MAX];
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

static enum cli_exit push_report(struct cli_context *ctx, const struct bench_push *b,
                                 uint32_t turns, struct push_turns *t)
{
    double ours = (double)bench_quantile(t->ours, turns, 500000);
    double floor = (double)bench_quantile(t->floor, turns, 500000);
    double bytes = (double)b->elements * 4;
    double ours_cpu = (double)bench_quantile(t->ours_cpu, turns, 500000);
    double floor_cpu = (double)bench_quantile(t->floor_cpu, turns, 500000);

    if (ctx->json) {
        return cli_json(ctx,
                        json_pack("{s:i, s:i, s:I, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:I}",
                                  "workers", (int)b->workers, "servers", (int)b->servers, "bytes",
                                  (json_int_t)bytes, "rounds", (int)b->rounds, "turns", (int)turns,
                                  "round_ms", ours / 1e6, "floor_round_ms", floor / 1e6, "ratio",
                                  floor / ours, "gb_per_s", 2 * bytes * b->workers / ours, "cpu_ms",
                                  ours_cpu / 1e6, "floor_cpu_ms", floor_cpu / 1e6, "server_bytes",
                                  (json_int_t)t->server_bytes));
    }
    cli_out(ctx, "%u workers, %u servers, %.0f MB, %u rounds, medians of %u turns\n", b->workers,
            b->servers, bytes / 1e6, b->rounds, turns);
    cli_out(ctx, "  ours   %8.2f ms a round  %6.2f GB/s  %8.0f ms CPU\n", ours / 1e6,
            2 * bytes * b->workers / ours, ours_cpu / 1e6);
    cli_out(ctx, "  floor  %8.2f ms a round  %6.2f GB/s  %8.0f ms CPU\n", floor / 1e6,
            2 * bytes * b->workers / floor, floor_cpu / 1e6);
    cli_out(ctx, "  ratio  %8.2f               most memory of a server %.0f MB\n", floor / ours,
            (double)t->server_bytes / 1e6);
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
    struct err_text text = {""};

    cli_flush(ctx);
    if (push_measure(ctx, &b, turns, &t, &text) != OK) {
        return cli_error(ctx, CLI_ERROR_BENCH, NULL, "bench push: %s", text.text);
    }
    return push_report(ctx, &b, turns, &t);
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
    .options = (const struct cli_option[]){{.name = "workers",
                                            .placeholder = "N",
                                            .fallback = "2",
                                            .help = "how many workers",
                                            .kind = CLI_NUMBER,
                                            .min = 1,
                                            .max = BENCH_PUSH_WORKERS_MAX},
                                           {.name = "servers",
                                            .placeholder = "P",
                                            .fallback = "1",
                                            .help = "how many servers, of one lane each",
                                            .kind = CLI_NUMBER,
                                            .min = 1,
                                            .max = BENCH_PUSH_SERVERS_MAX},
                                           {.name = "mb",
                                            .placeholder = "M",
                                            .fallback = "64",
                                            .help = "size of the model in 10^6 bytes",
                                            .kind = CLI_NUMBER,
                                            .min = 1,
                                            .max = 4000},
                                           {.name = "rounds",
                                            .placeholder = "NUMBER",
                                            .fallback = "10",
                                            .help = "timed rounds of a turn",
                                            .kind = CLI_NUMBER,
                                            .min = 1,
                                            .max = 10000},
                                           {.name = "turns",
                                            .placeholder = "NUMBER",
                                            .fallback = "5",
                                            .help = "how often both sides take their turn",
                                            .kind = CLI_NUMBER,
                                            .min = 1,
                                            .max = PUSH_TURNS_MAX},
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
