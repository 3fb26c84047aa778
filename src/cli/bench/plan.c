/* strait bench plan: how long plans take, beside a general solver with the same problem. */

#include "base/mem.h"
#include "cli/bench/bench.h"
#include "cli/command/commands.h"
#include "cli/plan/place.h"
#include "loop/clock.h"
#include "plan/place_plain.h"
#include "topo/known.h"

#include <math.h>
#include <string.h>

enum {
    BENCH_PLAN_ROUNDS_MAX = 99,
    BENCH_PLAN_BYTES = 92 * 1000 * 1000, /* ResNet50, as the paper has it. */
    BENCH_PLAN_ENOUGH_S = 10,            /* After that there are no more rounds. */
};

/* Of a plan's value: solvers stop at tolerances. */
#define BENCH_PLAN_SAME 1e-5

struct bench_plan {
    struct cli_context *ctx;
    const char *name; /* Of the network. */
    const struct topo_graph *graph;
    struct plan_place_problem problem;
    uint32_t rounds;
    double limit_s;
    int64_t until_ns;
    json_t *list;
};

/* One side, one problem. */
struct bench_plan_side {
    double cpu_s; /* The median. */
    uint32_t candidates;
    uint32_t pruned;
    uint32_t questions;
    uint32_t proven; /* Candidates that nothing is left to be found at. */
    double value;
    uint32_t server;
    bool optimal;
};

static double bench_plan_left(void *user)
{
    const struct bench_plan *b = user;

    return (double)(b->until_ns - clock_mono_ns()) * 1e-9;
}

/* Ours. */

static void bench_plan_count(const struct plan_place_answer *a, struct bench_plan_side *out)
{
    *out = (struct bench_plan_side){.candidates = a->candidates_count,
                                    .value = a->value,
                                    .server = a->server,
                                    .optimal = a->optimal};
    for (uint32_t i = 0; i < a->candidates_count; i++) {
        const struct plan_place_candidate *c = &a->candidates[i];

        out->pruned += c->possible && c->pruned;
        out->questions += c->questions;
        out->proven += !c->possible || c->proven || c->bound >= a->value * (1 - BENCH_PLAN_SAME);
    }
}

static enum err bench_plan_ours(struct bench_plan *b, enum plan_place_method method,
                                struct bench_plan_side *out, struct err_text *text)
{
    const struct plan_place_effort effort = {
        .method = method, .draws = 100, .seed = 1, .left = bench_plan_left, .user = b};
    struct plan_place_answer answer;
    enum err rc = plan_place_solve(&b->problem, &effort, &answer, text);

    if (rc == OK) {
        bench_plan_count(&answer, out);
        b->problem.paths = answer.paths; /* What the other side has to look at, too. */
        plan_place_answer_deinit(&answer);
    }
    return rc;
}

/* Theirs: every server, as long as there is time. */
static enum err bench_plan_plain(struct bench_plan *b, struct bench_plan_side *out,
                                 struct err_text *text)
{
    enum err rc = OK;

    *out = (struct bench_plan_side){.candidates = b->graph->nodes_count, .value = INFINITY};
    for (uint32_t n = 0; n < b->graph->nodes_count && rc == OK && bench_plan_left(b) > 0; n++) {
        struct plan_place_plain one;

        rc = plan_place_plain(&b->problem, n, bench_plan_left(b), &one, text);
        out->proven += rc == OK && one.proven;
        if (rc == OK && one.possible && one.value < out->value) {
            out->value = one.value;
            out->server = n;
        }
    }
    out->optimal = out->proven == out->candidates;
    return rc;
}

/* Rounds of one side; @plain: theirs. */
static enum err bench_plan_side(struct bench_plan *b, bool plain, enum plan_place_method method,
                                struct bench_plan_side *out, struct err_text *text)
{
    int64_t cpu_ns[BENCH_PLAN_ROUNDS_MAX] = {0};
    int64_t all_ns = 0;
    uint32_t rounds = 0;
    enum err rc = OK;

    while (rc == OK && rounds < b->rounds && all_ns < (int64_t)BENCH_PLAN_ENOUGH_S * 1000000000) {
        int64_t begun_ns = clock_cpu_ns();

        b->until_ns = clock_mono_ns() + (int64_t)(b->limit_s * 1e9);
        rc = plain ? bench_plan_plain(b, out, text) : bench_plan_ours(b, method, out, text);
        cpu_ns[rounds] = clock_cpu_ns() - begun_ns;
        all_ns += cpu_ns[rounds++];
    }
    out->cpu_s = (double)bench_quantile(cpu_ns, rounds, 500000) * 1e-9;
    return rc;
}

/* What came out. */

static const char *bench_plan_model(const struct bench_plan *b)
{
    return b->problem.model == PLAN_PLACE_HOPS ? "hops" : "pipelined";
}

static json_t *bench_plan_json(const struct bench_plan *b, const char *method,
                               const struct bench_plan_side *s)
{
    return json_pack("{s:s, s:s, s:s, s:f, s:I, s:I, s:I, s:I, s:b, s:f, s:s}", "network", b->name,
                     "model", bench_plan_model(b), "method", method, "seconds", s->cpu_s,
                     "candidates", (json_int_t)s->candidates, "pruned", (json_int_t)s->pruned,
                     "proven", (json_int_t)s->proven, "questions", (json_int_t)s->questions,
                     "optimal", (int)s->optimal, "time_s", isfinite(s->value) ? s->value : 0,
                     "server", b->graph->nodes[s->server].id);
}

static void bench_plan_say(struct bench_plan *b, const char *method,
                           const struct bench_plan_side *s)
{
    if (!b->ctx->json) {
        cli_out(b->ctx,
                "  %-9s  %-6s  %9.4f s  %4u regions, %4u ruled out by bounds, asked %3u x  "
                "%.5g s%s\n",
                bench_plan_model(b), method, s->cpu_s, s->candidates, s->pruned, s->questions,
                s->value, s->optimal ? ", the least" : "");
        cli_flush(b->ctx);
    }
}

/* The other side of the exact one, and the ratio. */
static enum cli_exit bench_plan_against(struct bench_plan *b, const struct bench_plan_side *ours,
                                        json_t *row)
{
    struct bench_plan_side s = {0};
    struct err_text text = {""};
    double times;

    if (bench_plan_side(b, true, PLAN_PLACE_EXACT, &s, &text) != OK) {
        return cli_error(b->ctx, CLI_ERROR_BENCH, NULL, "bench plan: %s: the general solver: %s",
                         b->name, text.text);
    }
    if (s.optimal && ours->optimal && fabs(s.value - ours->value) > BENCH_PLAN_SAME * s.value) {
        return cli_error(b->ctx, CLI_ERROR_BENCH, NULL,
                         "bench plan: %s: %.9g s is the least, says the general solver, and we say "
                         "%.9g s",
                         b->name, s.value, ours->value);
    }
    times = s.cpu_s / ours->cpu_s;
    (void)json_object_set_new(row, "against",
                              json_pack("{s:s, s:f, s:I, s:I, s:b, s:f}", "what",
                                        "CBC, the integer program of every region, without bounds",
                                        "seconds", s.cpu_s, "candidates", (json_int_t)s.candidates,
                                        "proven", (json_int_t)s.proven, "time_was_up",
                                        (int)!s.optimal, "ratio", times));
    if (!b->ctx->json) {
        cli_out(b->ctx, "             CBC     %9.4f s  %4u regions, %4u proven%s  %s%.3g x ours\n",
                s.cpu_s, s.candidates, s.proven, s.optimal ? "" : " when time was up",
                s.optimal ? "" : "at least ", times);
        cli_flush(b->ctx);
    }
    return CLI_DONE;
}

static enum cli_exit bench_plan_problem(struct bench_plan *b)
{
    static const struct {
        const char *name;
        enum plan_place_method method;
    } methods[] = {{"exact", PLAN_PLACE_EXACT}, {"round", PLAN_PLACE_ROUND}, {"lp", PLAN_PLACE_LP}};
    enum cli_exit status = CLI_DONE;

    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]) && status == CLI_DONE; i++) {
        struct bench_plan_side s = {0};
        struct err_text text = {""};
        json_t *row;

        if (bench_plan_side(b, false, methods[i].method, &s, &text) != OK) {
            return cli_error(b->ctx, CLI_ERROR_BENCH, NULL, "bench plan: %s: %s", b->name,
                             text.text);
        }
        row = bench_plan_json(b, methods[i].name, &s);
        bench_plan_say(b, methods[i].name, &s);
        if (methods[i].method == PLAN_PLACE_EXACT && !cli_flag(b->ctx, "alone")) {
            status = bench_plan_against(b, &s, row);
        }
        (void)json_array_append_new(b->list, row);
    }
    return status;
}

static enum cli_exit bench_plan_network(struct bench_plan *b)
{
    enum cli_exit status = CLI_DONE;

    if (!b->ctx->json) {
        cli_out(b->ctx, "%s: %u regions, %u links\n", b->name, b->graph->nodes_count,
                b->graph->edges_count);
    }
    for (int model = PLAN_PLACE_HOPS; model <= PLAN_PLACE_PIPELINED && status == CLI_DONE;
         model++) {
        int64_t paths = cli_number(b->ctx, "paths");

        b->problem = (struct plan_place_problem){
            .graph = b->graph,
            .bytes = BENCH_PLAN_BYTES,
            .model = (enum plan_place_model)model,
            .duplex = b->graph->duplex,
            .paths = paths > 0 ? (uint32_t)paths : PLAN_PLACE_AUTO,
            .server = PLAN_PLACE_NOWHERE,
        };
        status = bench_plan_problem(b);
    }
    return status;
}

/* The networks of the paper. */
static enum cli_exit bench_plan_known(struct bench_plan *b)
{
    enum cli_exit status = CLI_DONE;

    for (const struct topo_known *k = topo_knowns; k->name != NULL && status == CLI_DONE; k++) {
        struct err_text text = {""};
        struct topo_graph *graph = NULL;

        if (topo_known_graph(k->name, &graph, &text) != OK) {
            return cli_error(b->ctx, CLI_ERROR_NO_MEMORY, NULL, "%s", text.text);
        }
        b->name = k->name;
        b->graph = graph;
        status = bench_plan_network(b);
        topo_graph_free(graph);
    }
    return status;
}

static enum cli_exit bench_plan_files(struct bench_plan *b)
{
    enum cli_exit status = CLI_DONE;

    for (size_t i = 0; cli_argument(b->ctx, i) != NULL && status == CLI_DONE; i++) {
        struct topo_graph *graph = NULL;

        status = cli_place_read(b->ctx, cli_argument(b->ctx, i), &graph);
        if (status == CLI_DONE) {
            b->name = cli_place_file(cli_argument(b->ctx, i));
            b->graph = graph;
            status = bench_plan_network(b);
        }
        topo_graph_free(graph);
    }
    return status;
}

static enum cli_exit bench_plan_run(struct cli_context *ctx)
{
    struct bench_plan b = {.ctx = ctx,
                           .rounds = (uint32_t)cli_number(ctx, "rounds"),
                           .limit_s = (double)cli_number(ctx, "time") * 1e-6,
                           .list = json_array()};
    enum cli_exit status =
        cli_argument(ctx, 0) == NULL ? bench_plan_known(&b) : bench_plan_files(&b);

    if (status == CLI_DONE && ctx->json) {
        return cli_json(ctx, json_pack("{s:I, s:I, s:f, s:o}", "bytes",
                                       (json_int_t)BENCH_PLAN_BYTES, "rounds", (json_int_t)b.rounds,
                                       "limit_s", b.limit_s, "plans", b.list));
    }
    json_decref(b.list);
    return status;
}

const struct cli_command cli_command_bench_plan = {
    .path = "bench plan",
    .summary = "measure how long plans for the global server take",
    .paragraphs =
        (const char *const[]){
            "Plans as \"strait plan place\" makes them for 92 MB, on one core, with each method "
            "and "
            "model; and beside the exact ones the same problem as a general solver has it: one "
            "integer program for each region, without bounds. Without a file the networks are B4 "
            "and Internet2. Seconds are of the processor, the median of several rounds.",
            NULL},
    .arguments = (const struct cli_argument[]){{.placeholder = "FILE",
                                                .help = "networks, as for \"strait plan place\"",
                                                .kind = CLI_FILE,
                                                .optional = true,
                                                .repeats = true},
                                               {0}},
    .options =
        (const struct cli_option[]){
            CLI_OPTION_NUMBER("paths", "K", NULL,
                              "the K shortest paths of each region; default: all if they are few, "
                              "else 16",
                              1, PLAN_ROUTES_K_MAX),
            {.name = "time",
             .placeholder = "TIME",
             .fallback = "60s",
             .kind = CLI_DURATION,
             .min = 1000,
             .max = INT64_C(24) * 3600 * 1000000,
             .help = "how long either side may take for one problem"},
            CLI_OPTION_NUMBER("rounds", "N", "5",
                              "repetitions, unless that takes more than ten seconds", 1,
                              BENCH_PLAN_ROUNDS_MAX),
            {.name = "alone", .help = "without the general solver"},
            {0}},
    .examples =
        (const struct cli_example[]){
            {"strait bench plan --json", "for a record"},
            {"strait bench plan Kdl.graphml --paths 4 --rounds 1 --alone", "hundreds of regions"},
            {0}},
    .run = bench_plan_run,
};
