/* strait plan place: where to put the global server, and by which paths the others reach it. */

#include "cli/plan/place.h"

#include "base/mem.h"
#include "cli/command/commands.h"
#include "cli/member/security.h"
#include "cli/plan/cluster_ask.h"
#include "cli/status/status.h"
#include "loop/clock.h"

#include <math.h>
#include <signal.h>
#include <string.h>

double cli_place_gap(const struct plan_place_answer *a)
{
    return a->value > 0 ? fmax(0, (a->value - a->bound) / a->value) : 0;
}

bool cli_place_settled(const struct cli_place *p, const struct plan_place_candidate *c)
{
    return c->proven ||
           (p->effort.method == PLAN_PLACE_EXACT && c->bound >= p->answer.value * (1 - 1e-9));
}

/* Why there is no plan. If it is about one server, who cannot reach it. */
static void place_why_not(const struct cli_place *p, struct err_text *text)
{
    const struct plan_place_problem *q = &p->problem;
    const struct plan_routes_rules rules = {
        .silent = q->silent, .no_relay = q->no_relay, .no_edge = q->no_edge};
    struct plan_routes routes = {0};

    if (q->server != PLAN_PLACE_NOWHERE &&
        plan_routes_find(p->graph, &rules, q->server, 1, &routes, text) == OK) {
        plan_routes_deinit(&routes);
    }
}

static enum cli_exit place_failed(struct cli_place *p, enum err rc, struct err_text *text)
{
    switch (rc) {
    case ERR_CANCELLED:
        return pool_signal() == SIGTERM ? CLI_TERMINATED : CLI_INTERRUPTED;
    case ERR_NOT_FOUND:
        place_why_not(p, text);
        return cli_error(p->ctx, CLI_ERROR_NO_PLACE, NULL, "%s: %s", p->file, text->text);
    case ERR_TOO_BIG:
        return cli_error(p->ctx, CLI_ERROR_SETTINGS, NULL,
                         "%s: %s: --paths 16 takes the shortest 16 of each region", p->file,
                         text->text);
    case ERR_CORRUPT:
        return cli_error(p->ctx, CLI_ERROR_PLAN_BROKEN, NULL, "%s: %s", p->file, text->text);
    case ERR_NOMEM:
        return cli_error(p->ctx, CLI_ERROR_NO_MEMORY, NULL, "%s: out of memory", p->file);
    default:
        return cli_error(p->ctx, CLI_ERROR_PLAN_PROCESS, NULL, "%s: %s", p->file, text->text);
    }
}

static enum err place_solve(struct cli_place *p, struct err_text *text)
{
    int64_t begun_ns = clock_mono_ns();
    enum err rc;

    p->until_ns = begun_ns + (int64_t)(p->limit_s * 1e9);
    rc = plan_place_solve(&p->problem, &p->effort, &p->answer, text);
    if (rc == OK) {
        rc = cli_place_verify(&p->problem, &p->answer, text);
    }
    if (rc == OK && cli_text(p->ctx, "fail") != NULL) {
        rc = cli_place_fail(p, text);
    }
    cli_place_show_end(&p->shown);
    p->seconds = (double)(clock_mono_ns() - begun_ns) * 1e-9;
    if (rc == OK) {
        p->used_mbps = mem_calloc(p->graph->edges_count, sizeof(*p->used_mbps));
        rc = p->used_mbps == NULL ? ERR_NOMEM : OK;
    }
    if (rc == OK) {
        plan_place_loads(&p->problem, p->answer.flows, p->answer.flows_count, p->used_mbps);
    }
    return rc;
}

/* The answer, and then the page: who cannot write it has the answer nevertheless. */
static enum cli_exit place_told(struct cli_place *p)
{
    const char *html = cli_text(p->ctx, "html");
    enum cli_exit status = CLI_DONE;

    for (uint32_t i = 0; i < p->graph->notes_count && !p->ctx->json; i++) {
        cli_note(p->ctx, "note: %s", p->graph->notes[i]);
    }
    if (p->ctx->json) {
        status = cli_json(p->ctx, cli_place_json(p));
    } else if (html == NULL || strcmp(html, "-") != 0) {
        cli_place_view(p);
    }
    return html != NULL && status == CLI_DONE ? cli_place_page(p) : status;
}

static enum cli_exit place_run(struct cli_context *ctx)
{
    const char *html = cli_text(ctx, "html");
    struct err_text text = {"out of memory"};
    struct cli_place p;
    enum cli_exit status;
    enum err rc;

    if (ctx->json && html != NULL && strcmp(html, "-") == 0) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait help plan place",
                         "--html: with --json the page cannot go to standard output too");
    }
    status = cli_place_ask(ctx, &p);
    if (status == CLI_DONE) {
        rc = place_solve(&p, &text);
        status = rc == OK ? place_told(&p) : place_failed(&p, rc, &text);
    }
    cli_place_deinit(&p);
    return status;
}

/* clang-format off */
static const struct cli_option place_options[] = {
    {.name = "bytes", .placeholder = "SIZE", .kind = CLI_SIZE, .min = 1, .max = INT64_C(1) << 50,
     .help = "what each region pushes, and pulls: the size of the model; default with --join: "
             "what the cluster has"},
    {.name = "join", .placeholder = "ADDRESS",
     .help = "plan with the links of a running cluster, instead of TOPOLOGY: where the first "
             "server of one of its sites is"},
    STATUS_OPTION_CERT,
    SECURITY_OPTION_NAME,
    SECURITY_OPTION_INSECURE,
    STATUS_OPTION_TIMEOUT,
    CLUSTER_OPTION_ASSUME,
    {.name = "model", .placeholder = "MODEL", .fallback = "hops", .kind = CLI_WORDS,
     .words = "hops pipelined",
     .help = "hops: each hop takes the whole time again, as the paper has it; pipelined: relays "
             "pass on what comes while it comes, as ours do"},
    {.name = "paths", .placeholder = "all|K",
     .help = "paths of each region that are looked at: all simple ones, or the K shortest; "
             "default: all if they are few, else 16"},
    {.name = "method", .placeholder = "METHOD", .fallback = "exact", .kind = CLI_WORDS,
     .words = "exact round lp",
     .help = "exact: the best plan, with a proof; round: the linear program, rounded at random; "
             "lp: the region of the least bound alone, for comparison"},
    CLI_OPTION_NUMBER("draws", "N", "100", "how often paths are drawn at random; the best counts",
                      1, PLAN_PLACE_DRAWS_MAX),
    CLI_OPTION_NUMBER("seed", "N", "1", "of what is drawn at random", 0, INT64_MAX),
    {.name = "objective", .placeholder = "WHAT", .fallback = "time", .kind = CLI_WORDS,
     .words = "time dollars", .help = "what is to be least, of one push and pull"},
    {.name = "usd-limit", .placeholder = "DOLLARS", .kind = CLI_DECIMAL,
     .help = "the least time that costs at most so much per push and pull"},
    {.name = "server", .placeholder = "ID", .help = "only plan paths and rates to this region"},
    {.name = "no-server", .placeholder = "IDS", .repeats = true,
     .help = "regions that may not hold the server, with commas"},
    {.name = "no-relay", .placeholder = "IDS", .repeats = true,
     .help = "regions that may not pass on what others send, with commas"},
    {.name = "only", .placeholder = "IDS", .repeats = true,
     .help = "regions that have workers, with commas; the rest may pass on, and hold the server; "
             "default: all have"},
    {.name = "avoid", .placeholder = "A:B,...", .repeats = true,
     .help = "links that are not to be used"},
    {.name = "reserve", .placeholder = "PART",
     .help = "how much of every link is left to others, as in 10%"},
    {.name = "duplex", .placeholder = "HOW", .kind = CLI_WORDS, .words = "shared full",
     .help = "shared: both directions of a link share its rate; full: each has it; default: what "
             "the file says"},
    {.name = "fail", .placeholder = "WHAT", .kind = CLI_WORDS, .words = "links",
     .help = "also plan for each link that fails, one at a time: if the server stays, and if it "
             "may move"},
    {.name = "time", .placeholder = "TIME", .fallback = "60s", .kind = CLI_DURATION, .min = 1000,
     .max = INT64_C(24) * 3600 * 1000000,
     .help = "how long the proof may take; then the best plan so far counts, with the gap that is "
             "proven"},
    {.name = "html", .placeholder = "FILE", .kind = CLI_FILE,
     .help = "also write a page with a map, or only that to standard output with -"},
    CLI_OPTION_NUMBER("jobs", "N", NULL,
                      "processes at once; default: as many as there are processors", 1,
                      POOL_JOBS_MAX),
    {0},
};
/* clang-format on */

const struct cli_command cli_command_plan_place = {
    .path = "plan place",
    .summary = "plan where to put the global server, and by which paths",
    .paragraphs =
        (const char *const[]){
            "TOPOLOGY says which regions there are and which links join them, how fast: JSON with "
            "\"regions\" and \"links\", one of our topology files, or GraphML as the Internet "
            "Topology Zoo has it. The answer is the region for the global server, one path from "
            "each other region and a rate for each of these flows, so that the slowest push and "
            "pull is shortest. docs/PLAN.md has the model, topologies/README.md the files.",
            "With --join the network is that of a running cluster, as \"strait plan links\" shows "
            "it: its sites, and what they have measured of the links between them.",
            "Regions with a bound that is not below the best plan are ruled out; for the others "
            "the solver is asked whether there is anything better, until it says no. When --time "
            "is up the answer is the best plan that was found, with a bound: no plan takes less. "
            "The same problem and seed give the same answer, whatever --jobs is.",
            "Regions are named by id or, if only one has it, by name. Options that take several "
            "may also be repeated.",
            NULL},
    .arguments = (const struct cli_argument[]){{.placeholder = "TOPOLOGY",
                                                .help = "the network; - for standard input",
                                                .kind = CLI_FILE,
                                                .optional = true},
                                               {0}},
    .options = place_options,
    .examples =
        (const struct cli_example[]){
            {"strait plan place topologies/ec2-11.json --bytes 92MB", "for ResNet50"},
            {"strait plan place net.json --bytes 240MB --model pipelined --json > plan.json",
             "with relays as ours are; for programs"},
            {"strait plan place net.json --bytes 92MB --no-server tokyo,sydney --avoid lon:nyc",
             "not there, and not by that link"},
            {"strait plan place net.json --bytes 92MB --usd-limit 0.05",
             "the quickest one that costs at most five cents"},
            {"strait plan place Kdl.graphml --bytes 92MB --paths 4 --method round",
             "hundreds of regions"},
            {"strait plan place net.json --bytes 92MB --fail links", "and if a link fails?"},
            {"strait plan place net.json --bytes 92MB --html plan.html", "with a map"},
            {"strait plan place --join tls://s0.example.org:7400 --cert certs --model pipelined",
             "for a cluster that runs, and the model that it has"},
            {0}},
    .run = place_run,
};
