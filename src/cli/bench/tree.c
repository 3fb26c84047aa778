/* strait bench tree: how long a broadcast takes, from lanes to all workers, directly and by trees,
 * in the simulated world. */

#include "cli/bench/bench.h"
#include "cli/command/commands.h"
#include "cli/command/context.h"
#include "cli/command/error.h"
#include "sim/stress/broadcast.h"

#include <jansson.h>

/* One of both sides of the comparison. */
struct tree_case {
    const char *name;
    bool tree;
    bool sparsified;
};

static const struct tree_case tree_cases[] = {
    {"direct", false, false},
    {"tree", true, false},
    {"direct, held back", false, true},
    {"tree, held back", true, true},
};

static enum cli_exit tree_config(struct cli_context *ctx, struct sim_broadcast_config *out)
{
    struct err_text why = {""};

    *out = (struct sim_broadcast_config){
        .workers = (uint32_t)cli_number(ctx, "workers"),
        .servers = (uint32_t)cli_number(ctx, "servers"),
        .elements = (uint64_t)cli_number(ctx, "elements"),
        .card_rate = (uint64_t)cli_number(ctx, "card") / 8,
        .racks = (uint32_t)cli_number(ctx, "racks"),
        .sent = (double)cli_number(ctx, "sent") / 100,
        .rounds = (uint32_t)cli_number(ctx, "rounds"),
        .seed = 1,
    };
    if (node_tree_parse(cli_text(ctx, "tree"), &out->tree, &why) != OK) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "--tree: %s", why.text);
    }
    if (codec_chain_parse("dvf:delta=0.01 | bitmap", &out->sparsify.chain, &why) != OK) {
        return cli_error(ctx, CLI_ERROR_BENCH, NULL, "bench tree: %s", why.text);
    }
    return CLI_DONE;
}

static void tree_report(struct cli_context *ctx, const struct tree_case *c,
                        const struct sim_broadcast_result *r, double direct_s, json_t *list)
{
    json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:I, s:I}", "name", c->name,
                                          "last_s", r->last_s, "mean_s", r->mean_s, "times_direct",
                                          direct_s / r->last_s, "lane_frames", (json_int_t)r->sent,
                                          "worker_frames_max", (json_int_t)r->most));
    if (!ctx->json) {
        cli_out(
            ctx,
            "  %-18s %8.1f ms to the last worker, %8.1f to one  %5.2f x  %6llu frames by lanes, "
            "at most %llu by a worker\n",
            c->name, r->last_s * 1e3, r->mean_s * 1e3, direct_s / r->last_s,
            (unsigned long long)r->sent, (unsigned long long)r->most);
        cli_flush(ctx);
    }
}

static enum cli_exit bench_tree_run(struct cli_context *ctx)
{
    struct sim_broadcast_config config;
    enum cli_exit status = tree_config(ctx, &config);
    json_t *list = json_array();
    double direct_s = 0;

    if (status == CLI_DONE && !ctx->json) {
        cli_out(ctx, "%u workers, %u servers, %.1f MB to each worker, cards of %.0f Mbit/s\n",
                config.workers, config.servers, (double)config.elements * 4e-6,
                (double)config.card_rate * 8e-6);
    }
    for (size_t i = 0; i < sizeof(tree_cases) / sizeof(tree_cases[0]) && status == CLI_DONE; i++) {
        struct sim_broadcast_config one = config;
        struct sim_broadcast_result result;
        struct err_text why = {""};

        one.tree = tree_cases[i].tree ? config.tree : (struct node_tree){0};
        one.sparsify.on = tree_cases[i].sparsified;
        one.sent = tree_cases[i].sparsified ? config.sent : 1;
        if (sim_broadcast_run(&one, &result, &why) != OK) {
            status = cli_error(ctx, CLI_ERROR_BENCH, NULL, "bench tree: %s: %s", tree_cases[i].name,
                               why.text);
            break;
        }
        direct_s = i == 0 ? result.last_s : direct_s;
        tree_report(ctx, &tree_cases[i], &result, direct_s, list);
    }
    if (status != CLI_DONE || !ctx->json) {
        json_decref(list);
        return status;
    }
    return cli_json(ctx,
                    json_pack("{s:i, s:i, s:I, s:I, s:f, s:o}", "workers", (int)config.workers,
                              "servers", (int)config.servers, "elements",
                              (json_int_t)config.elements, "card_bytes_per_s",
                              (json_int_t)config.card_rate, "sent", config.sent, "ways", list));
}

const struct cli_command cli_command_bench_tree = {
    .path = "bench tree",
    .summary = "measure how long a broadcast takes, directly and by trees",
    .paragraphs =
        (const char *const[]){
            "The real protocol code in the simulated world: hosts with equal network cards, the "
            "only thing that is slow. A round of updates is closed at one moment; from then on it "
            "counts until the last worker has all of it, and until a worker has in the mean. "
            "Directly each lane sends to all workers; by trees workers pass on what comes, chunk "
            "by "
            "chunk. Then the same with what is too small held back.",
            NULL},
    .options =
        (const struct cli_option[]){
            CLI_OPTION_NUMBER("workers", "NUMBER", "40", "workers", 1, SIM_BROADCAST_WORKERS_MAX),
            CLI_OPTION_NUMBER("servers", "NUMBER", "10", "servers, with a lane each", 1,
                              SIM_BROADCAST_SERVERS_MAX),
            CLI_OPTION_NUMBER("elements", "NUMBER", "2000000", "floats of the model", 1, 1 << 30),
            {.name = "card",
             .placeholder = "RATE",
             .fallback = "1gbit",
             .kind = CLI_RATE,
             .help = "what a host's network card carries each way"},
            {.name = "tree",
             .placeholder = "TREE",
             .fallback = "degree=5,depth=3,leaf=0.5",
             .help = "as strait server --tree has it"},
            CLI_OPTION_NUMBER("racks", "NUMBER", "0",
                              "hosts are dealt out to so many; 0: all alike", 0,
                              SIM_BROADCAST_SERVERS_MAX),
            CLI_OPTION_NUMBER("sent", "PERCENT", "30", "how much is large enough to be sent", 0,
                              100),
            CLI_OPTION_NUMBER("rounds", "NUMBER", "1", "the mean of so many", 1, 1000),
            {0}},
    .examples = (const struct cli_example[]){{"strait bench tree --json", "for a record"}, {0}},
    .run = bench_tree_run,
};
