/* strait bench sim: how many events of the simulated world pass in a second. */

#include "cli/bench/bench.h"
#include "cli/command/commands.h"
#include "cli/command/context.h"
#include "loop/clock.h"
#include "sim/scenario/scenario.h"

#include <string.h>

enum { BENCH_SIM_ROUNDS_MAX = 51 };

struct bench_scenario {
    const char *name;
    const char *what;
    const char *script; /* NULL: the built-in one. */
    uint32_t seeds;     /* Run one after the other. */
};

/* Over all seeds of one round. */
struct bench_sim_sum {
    uint64_t events;
    uint64_t link_bytes;
    double virtual_s;
};

/* An event is one thing that happens at an instant of virtual time: a segment leaves the links, a
 * segment or an acknowledgement arrives, a host runs, a fault begins or ends. */
static const struct bench_scenario bench_scenarios[] = {
    {"echo", "12 clients in 3 regions, small updates at their own pace",
     "region eu\nregion us\nregion ap\n"
     "link eu us rate=1gbit delay=40ms\nlink eu ap rate=500mbit delay=90ms\n"
     "link us ap rate=500mbit delay=70ms\nserver s1 eu\nserver s2 us\nserver s3 ap\n"
     "client w1 eu server=s1 updates=4000 gap=2ms\nclient w2 us server=s1 updates=4000 gap=2ms\n"
     "client w3 ap server=s1 updates=4000 gap=2ms\nclient w4 eu server=s2 updates=4000 gap=2ms\n"
     "client w5 us server=s2 updates=4000 gap=2ms\nclient w6 ap server=s2 updates=4000 gap=2ms\n"
     "client w7 eu server=s3 updates=4000 gap=2ms\nclient w8 us server=s3 updates=4000 gap=2ms\n"
     "client w9 ap server=s3 updates=4000 gap=2ms\nclient x1 eu server=s2 updates=4000 gap=2ms\n"
     "client x2 us server=s3 updates=4000 gap=2ms\nclient x3 ap server=s1 updates=4000 gap=2ms\n"
     "run 600s\n",
     1},
    {"shared", "12 clients that saturate one link with 16 KiB updates",
     "region eu\nregion us\nlink eu us rate=1gbit delay=20ms\nserver s1 eu\n"
     "client w1 us server=s1 updates=2000 gap=0 floats=4096 window=32\n"
     "client w2 us server=s1 updates=2000 gap=0 floats=4096 window=32\n"
     "client w3 us server=s1 updates=2000 gap=0 floats=4096 window=32\n"
     "client w4 us server=s1 updates=2000 gap=0 floats=4096 window=32\n"
     "client w5 us server=s1 updates=2000 gap=0 floats=4096 window=32\n"
     "client w6 us server=s1 updates=2000 gap=0 floats=4096 window=32\n"
     "client w7 us server=s1 updates=2000 gap=0 floats=4096 window=32\n"
     "client w8 us server=s1 updates=2000 gap=0 floats=4096 window=32\n"
     "client w9 us server=s1 updates=2000 gap=0 floats=4096 window=32\n"
     "client x1 us server=s1 updates=2000 gap=0 floats=4096 window=32\n"
     "client x2 us server=s1 updates=2000 gap=0 floats=4096 window=32\n"
     "client x3 us server=s1 updates=2000 gap=0 floats=4096 window=32\n"
     "run 600s\n",
     1},
    {"storm", "100 seeds of the built-in scenario: five clients, every kind of fault", NULL, 100},
};

static enum cli_exit bench_sim_fail(struct cli_context *ctx, const char *name, const char *why)
{
    return cli_error(ctx, CLI_ERROR_BENCH, "strait doctor", "bench sim: %s: %s", name, why);
}

/* One round of a workload. */
static enum err bench_sim_round(const struct bench_scenario *b, const struct sim_scenario *scenario,
                                struct bench_sim_sum *sum, struct err_text *text)
{
    for (uint32_t seed = 1; seed <= b->seeds; seed++) {
        struct sim_scenario_options options = {.seed = seed, .untraced = true};
        struct sim_scenario_result result;
        enum err rc = sim_scenario_run(scenario, &options, &result, text);

        if (rc != OK) {
            return rc;
        }
        sum->events += result.events;
        sum->virtual_s += (double)result.now_ns * 1e-9;
        for (uint32_t i = 0; i < result.links_count; i++) {
            sum->link_bytes += result.links[i].bytes;
        }
        if (result.verdict[0] != '\0') {
            rc = err_text_set(text, ERR_INVALID, "seed %u: %s", seed, result.verdict);
        }
        sim_scenario_result_deinit(&result);
        if (rc != OK) {
            return rc;
        }
    }
    return OK;
}

static void bench_sim_report(struct cli_context *ctx, const struct bench_scenario *b,
                             const struct bench_sim_sum *sum, double cpu_s, json_t *list)
{
    double rate = (double)sum->events / cpu_s;

    json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:f, s:f, s:f, s:f}", "name", b->name,
                                          "what", b->what, "events", (json_int_t)sum->events,
                                          "cpu_s", cpu_s, "events_per_s", rate, "link_gb_per_s",
                                          (double)sum->link_bytes * 1e-9 / cpu_s, "virtual_s",
                                          sum->virtual_s));
    if (!ctx->json) {
        cli_out(ctx,
                "  %-7s %6.2f M events/s  %5.2f GB/s over links  %.0f s of virtual time in %.2f s\n"
                "          %s\n",
                b->name, rate * 1e-6, (double)sum->link_bytes * 1e-9 / cpu_s, sum->virtual_s, cpu_s,
                b->what);
        cli_flush(ctx);
    }
}

/* One workload, several rounds; the median counts. */
static enum cli_exit bench_sim_one(struct cli_context *ctx, const struct bench_scenario *b,
                                   uint32_t rounds, json_t *list)
{
    const char *script = b->script == NULL ? sim_scenario_builtin() : b->script;
    int64_t cpu_ns[BENCH_SIM_ROUNDS_MAX];
    struct bench_sim_sum sum = {0};
    struct sim_scenario *scenario;
    struct err_text text = {0};
    enum err rc = sim_scenario_parse(b->name, script, strlen(script), &scenario, &text);

    if (rc != OK) {
        return bench_sim_fail(ctx, b->name, text.text);
    }
    for (uint32_t i = 0; i < rounds && rc == OK; i++) {
        int64_t start_ns = clock_cpu_ns();

        sum = (struct bench_sim_sum){0};
        rc = bench_sim_round(b, scenario, &sum, &text);
        cpu_ns[i] = clock_cpu_ns() - start_ns;
    }
    sim_scenario_destroy(scenario);
    if (rc != OK) {
        return bench_sim_fail(ctx, b->name, text.text);
    }
    bench_sim_report(ctx, b, &sum, (double)bench_quantile(cpu_ns, rounds, 500000) * 1e-9, list);
    return CLI_DONE;
}

static enum cli_exit bench_sim_run(struct cli_context *ctx)
{
    uint32_t rounds = (uint32_t)cli_number(ctx, "rounds");
    json_t *list = json_array();
    enum cli_exit status = CLI_DONE;

    for (size_t i = 0; i < sizeof(bench_scenarios) / sizeof(bench_scenarios[0]); i++) {
        if (status == CLI_DONE) {
            status = bench_sim_one(ctx, &bench_scenarios[i], rounds, list);
        }
    }
    if (status == CLI_DONE && ctx->json) {
        return cli_json(ctx,
                        json_pack("{s:o, s:I}", "workloads", list, "rounds", (json_int_t)rounds));
    }
    json_decref(list);
    return status;
}

const struct cli_command cli_command_bench_sim = {
    .path = "bench sim",
    .summary = "measure how fast the simulated world runs",
    .paragraphs =
        (const char *const[]){
            "Runs scenarios on one core, all invariants checked after every event, without a "
            "transcript. An event is one thing that happens at an instant of virtual time: a "
            "segment "
            "leaves the links, a segment or an acknowledgement arrives, a host runs, a fault "
            "begins "
            "or ends.",
            NULL},
    .options = (const struct cli_option[]){{.name = "rounds",
                                            .placeholder = "NUMBER",
                                            .fallback = "5",
                                            .help = "repetitions; the median counts",
                                            .kind = CLI_NUMBER,
                                            .min = 1,
                                            .max = BENCH_SIM_ROUNDS_MAX},
                                           {0}},
    .examples = (const struct cli_example[]){{"strait bench sim --json", "for a record"}, {0}},
    .run = bench_sim_run,
};
