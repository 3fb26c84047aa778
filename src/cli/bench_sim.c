/* strait bench sim: how many events of the simulated world pass in a second. */

#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "loop/clock.h"
#include "sim/scenario.h"

#include <inttypes.h>
#include <string.h>

enum { BENCH_SIM_ROUNDS_MAX = 51 };

struct bench_scenario {
    const char *name;
    const char *what;
    const char *script;
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
     "run 600s\n"},
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
     "run 600s\n"},
    {"storm", "the built-in scenario: five clients and every kind of fault", NULL},
};

static enum cli_exit bench_sim_fail(struct cli_context *ctx, const char *name, const char *why)
{
    return cli_error(ctx, CLI_ERROR_BENCH, "strait doctor", "bench sim: %s: %s", name, why);
}

/* One workload, several rounds; the median time of an event. */
static enum cli_exit bench_sim_one(struct cli_context *ctx, const struct bench_scenario *b,
                                   uint32_t rounds, json_t *list)
{
    const char *script = b->script == NULL ? sim_scenario_builtin() : b->script;
    int64_t cpu_ns[BENCH_SIM_ROUNDS_MAX];
    struct sim_scenario *scenario;
    struct sim_scenario_result result;
    struct err_text text = {0};
    uint64_t events = 0;
    double virtual_s = 0, median_ns, rate;

    if (sim_scenario_parse(b->name, script, strlen(script), &scenario, &text) != OK) {
        return bench_sim_fail(ctx, b->name, text.text);
    }
    for (uint32_t i = 0; i < rounds; i++) {
        struct sim_scenario_options options = {.seed = 1, .untraced = true};
        int64_t start_ns = clock_cpu_ns();
        enum err rc = sim_scenario_run(scenario, &options, &result, &text);

        cpu_ns[i] = clock_cpu_ns() - start_ns;
        if (rc != OK || result.verdict[0] != '\0') {
            sim_scenario_destroy(scenario);
            return bench_sim_fail(ctx, b->name, rc != OK ? text.text : result.verdict);
        }
        events = result.events;
        virtual_s = (double)result.now_ns * 1e-9;
        sim_scenario_result_deinit(&result);
    }
    sim_scenario_destroy(scenario);
    median_ns = (double)bench_quantile(cpu_ns, rounds, 500000);
    rate = (double)events * 1e9 / median_ns;
    json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:f, s:f, s:f}", "name", b->name, "what",
                                          b->what, "events", (json_int_t)events, "cpu_s",
                                          median_ns * 1e-9, "events_per_s", rate, "virtual_s",
                                          virtual_s));
    if (!ctx->json) {
        cli_out(ctx, "  %-8s %6.2f M events/s   %8" PRIu64 " events, %.1f s of virtual time in %.2f s\n"
                     "           %s\n",
                b->name, rate * 1e-6, events, virtual_s, median_ns * 1e-9, b->what);
        cli_flush(ctx);
    }
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
        return cli_json(ctx, json_pack("{s:o, s:I}", "workloads", list, "rounds",
                                       (json_int_t)rounds));
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
            "transcript. An event is one thing that happens at an instant of virtual time: a segment "
            "leaves the links, a segment or an acknowledgement arrives, a host runs, a fault begins "
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
