/* strait sim: run a scenario in the simulated world, or a site drawn by seed, once or with many
 * seeds. */

#include "cli/sim/sim.h"

#include "base/log.h"
#include "cli/command/commands.h"
#include "cli/command/context.h"
#include "cli/command/env.h"
#include "cli/output/file.h"
#include "loop/clock.h"
#include "sim/scenario/scenario.h"

#include <inttypes.h>
#include <string.h>

enum {
    SIM_TRACE_BYTES_MAX = 1 << 28,
    SIM_PROGRESS_MS = 200,
    SIM_PROGRESS_PLAIN_MS = 5000,
    SIM_BARRIERS = 3,
};

static const char *const sim_barriers[SIM_BARRIERS] = {"bsp", "ssp", "tap"};

/* Sums over many runs. */
struct sim_sums {
    uint64_t runs;
    uint64_t events;
    int64_t virtual_ns;
    uint64_t fired[SIM_FAULT_KINDS];
    struct sim_echo_totals totals;
    struct sim_drill_totals site;
    uint64_t sites[SIM_BARRIERS][2]; /* By barrier and delivery. */
    uint64_t lost_all;
};

static void sums_add_site(struct sim_sums *s, const struct sim_scenario_result *r)
{
    s->site.updates += r->site.updates;
    s->site.rebases += r->site.rebases;
    s->site.restores += r->site.restores;
    s->site.duplicates += r->site.duplicates;
    s->site.refused += r->site.refused;
    s->site.snapshots += r->site.snapshots;
    s->site.checkpoints += r->site.checkpoints;
    s->lost_all += r->lost_all;
    for (int b = 0; b < SIM_BARRIERS; b++) {
        s->sites[b][r->delivery == NODE_BROADCAST] += strcmp(r->barrier, sim_barriers[b]) == 0;
    }
}

static void sums_add(struct sim_sums *s, const struct sim_scenario_result *r)
{
    s->runs++;
    s->events += r->events;
    s->virtual_ns += r->now_ns;
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        s->fired[i] += r->fired[i];
    }
    if (r->is_site) {
        sums_add_site(s, r);
    }
    s->totals.updates_sent += r->totals.updates_sent;
    s->totals.updates_acked += r->totals.updates_acked;
    s->totals.updates_counted += r->totals.updates_counted;
    s->totals.echoes += r->totals.echoes;
    s->totals.frames_resent += r->totals.frames_resent;
    s->totals.frames_duplicate += r->totals.frames_duplicate;
    s->totals.frames_refused += r->totals.frames_refused;
    s->totals.connections += r->totals.connections;
    s->totals.silent += r->totals.silent;
}

static json_t *sim_totals_json(const struct sim_echo_totals *t)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "updates_sent",
                     (json_int_t)t->updates_sent, "updates_acked", (json_int_t)t->updates_acked,
                     "updates_counted", (json_int_t)t->updates_counted, "echoes",
                     (json_int_t)t->echoes, "frames_resent", (json_int_t)t->frames_resent,
                     "frames_duplicate", (json_int_t)t->frames_duplicate, "frames_refused",
                     (json_int_t)t->frames_refused, "connections", (json_int_t)t->connections,
                     "silent", (json_int_t)t->silent);
}

static json_t *sim_site_json(const struct sim_drill_totals *t)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "updates_counted",
                     (json_int_t)t->updates, "rebases", (json_int_t)t->rebases, "restores",
                     (json_int_t)t->restores, "duplicates", (json_int_t)t->duplicates, "refused",
                     (json_int_t)t->refused, "snapshots", (json_int_t)t->snapshots, "checkpoints",
                     (json_int_t)t->checkpoints);
}

static json_t *sim_links_json(const struct sim_scenario_result *r)
{
    json_t *links = json_array();

    for (uint32_t i = 0; i < r->links_count; i++) {
        const struct sim_link_report *l = &r->links[i];

        json_array_append_new(links, json_pack("{s:s, s:s, s:I, s:f, s:f}", "from", l->from, "to",
                                               l->to, "bytes", (json_int_t)l->bytes, "usd",
                                               (double)l->cost_nusd * 1e-9, "utilisation",
                                               l->utilisation));
    }
    return links;
}

static enum cli_exit sim_one_json(struct cli_context *ctx, uint64_t seed,
                                  const struct sim_scenario_result *r)
{
    char hash[20];
    json_t *out;

    (void)snprintf(hash, sizeof(hash), "%016" PRIx64, r->transcript_hash);
    out = json_pack(
        "{s:s, s:I, s:b, s:s, s:f, s:I, s:s, s:o, s:o, s:o}", "kind", r->is_site ? "site" : "echo",
        "seed", (json_int_t)seed, "held", r->verdict[0] == '\0', "verdict", r->verdict, "virtual_s",
        (double)r->now_ns * 1e-9, "events", (json_int_t)r->events, "transcript_hash", hash,
        "totals", r->is_site ? sim_site_json(&r->site) : sim_totals_json(&r->totals), "faults",
        cli_sim_faults_json(r->fired), "links", sim_links_json(r));
    if (r->is_site) {
        (void)snprintf(hash, sizeof(hash), "%016" PRIx64, r->values_hash);
        (void)json_object_update_new(out, json_pack("{s:s, s:s, s:s, s:s, s:b}", "site", r->about,
                                                    "barrier", r->barrier, "delivery",
                                                    node_delivery_name(r->delivery), "values_hash",
                                                    hash, "lost_all", (int)r->lost_all));
    }
    return cli_json(ctx, out);
}

static void sim_print_totals(struct cli_context *ctx, const struct sim_echo_totals *t)
{
    cli_out(ctx,
            "  updates    %" PRIu64 " sent, %" PRIu64 " counted, %" PRIu64 " acknowledged, %" PRIu64
            " came back\n",
            t->updates_sent, t->updates_counted, t->updates_acked, t->echoes);
    cli_out(ctx,
            "  frames     %" PRIu64 " resent, %" PRIu64 " recognised as duplicates, %" PRIu64
            " refused\n",
            t->frames_resent, t->frames_duplicate, t->frames_refused);
    cli_out(ctx, "  links      %" PRIu64 " connections, %" PRIu64 " ended by silence\n",
            t->connections, t->silent);
}

static void sim_print_site(struct cli_context *ctx, const struct sim_drill_totals *t)
{
    cli_out(ctx,
            "  updates    %" PRIu64 " counted, %" PRIu64 " recognised as duplicates, %" PRIu64
            " refused\n",
            t->updates, t->duplicates, t->refused);
    cli_out(ctx,
            "  recovery   %" PRIu64 " rebases, %" PRIu64 " restores to an older state, %" PRIu64
            " checkpoints\n",
            t->rebases, t->restores, t->checkpoints);
}

static void sim_print_one(struct cli_context *ctx, uint64_t seed,
                          const struct sim_scenario_result *r)
{
    cli_out(ctx, "%sseed %" PRIu64 "%s  %.3f s of virtual time, %" PRIu64 " events\n",
            cli_style(ctx->color_out, CLI_HEADING), seed, cli_style(ctx->color_out, CLI_PLAIN),
            (double)r->now_ns * 1e-9, r->events);
    if (r->is_site) {
        cli_out(ctx, "  site       %s\n", r->about);
        sim_print_site(ctx, &r->site);
    } else {
        sim_print_totals(ctx, &r->totals);
    }
    cli_sim_faults_line(ctx, r->fired);
    for (uint32_t i = 0; i < r->links_count; i++) {
        const struct sim_link_report *l = &r->links[i];

        cli_out(ctx, "  %-10s %s to %s: %.3f MB, %.2f %% used, $%.6f\n", i == 0 ? "traffic" : "",
                l->from, l->to, (double)l->bytes * 1e-6, l->utilisation * 100,
                (double)l->cost_nusd * 1e-9);
    }
    if (r->is_site) {
        cli_out(ctx, "  values     %016" PRIx64 "\n", r->values_hash);
    }
    cli_out(ctx, "  transcript %016" PRIx64 "\n", r->transcript_hash);
    if (r->is_site) {
        cli_out(ctx, "  verdict    %s%s\n",
                r->verdict[0] == '\0' ? "every invariant held" : r->verdict,
                r->lost_all ? "; the site lost all it had and began anew" : "");
    }
}

/* The invariants did not hold: say which, and how to see it again. */
static enum cli_exit sim_broken(struct cli_context *ctx, const char *script, uint64_t seed,
                                const char *verdict)
{
    const char *what = cli_flag(ctx, "site") ? "--site" : script;
    char again[512];

    (void)snprintf(again, sizeof(again), "strait sim %s%s--seed %" PRIu64 " --transcript",
                   what == NULL ? "" : what, what == NULL ? "" : " ", seed);
    return cli_error(ctx, CLI_ERROR_SIM_BROKEN, again, "seed %" PRIu64 ": %s", seed, verdict);
}

/* The script as given, or a site by seed, or the built-in one. */
static enum cli_exit sim_load(struct cli_context *ctx, const char *path,
                              struct sim_scenario **scenario_out)
{
    struct err_text text = {0};
    struct text script = {0};
    enum err rc;

    if (cli_flag(ctx, "site")) {
        rc = sim_scenario_draw_site(scenario_out);
        return rc == OK ? CLI_DONE
                        : cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "no memory for a scenario");
    }
    if (path == NULL) {
        rc = sim_scenario_parse("built-in", sim_scenario_builtin(), strlen(sim_scenario_builtin()),
                                scenario_out, &text);
    } else {
        rc = cli_file_read(path, SIM_SCENARIO_BYTES_MAX, &script, &text);
        if (rc != OK) {
            return cli_error(ctx, CLI_ERROR_FILE, NULL, "%s", text.text);
        }
        rc = sim_scenario_parse(path, script.chars, script.size, scenario_out, &text);
        text_deinit(&script);
    }
    return rc == OK ? CLI_DONE
                    : cli_error(ctx, CLI_ERROR_SCENARIO, "strait help sim", "%s", text.text);
}

static enum cli_exit sim_one(struct cli_context *ctx, const char *path,
                             const struct sim_scenario *scenario, uint64_t seed)
{
    bool trace = cli_flag(ctx, "transcript");
    struct sim_scenario_options options = {
        .seed = seed, .trace = trace, .trace_bytes_max = SIM_TRACE_BYTES_MAX};
    struct sim_scenario_result result;
    struct err_text text = {0};
    enum cli_exit status = CLI_DONE;

    if (sim_scenario_run(scenario, &options, &result, &text) != OK) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "%s", text.text);
    }
    if (trace) {
        cli_out(ctx, "%s", result.transcript.chars);
    } else if (ctx->json) {
        status = sim_one_json(ctx, seed, &result);
    } else {
        sim_print_one(ctx, seed, &result);
    }
    if (status == CLI_DONE && result.verdict[0] != '\0') {
        status = sim_broken(ctx, path, seed, result.verdict);
    }
    sim_scenario_result_deinit(&result);
    return status;
}

static void sim_progress(struct cli_context *ctx, uint64_t done, uint64_t runs, int64_t *shown_ns)
{
    int64_t now_ns = clock_mono_ns();
    int64_t every_ms = ctx->progress ? SIM_PROGRESS_MS : SIM_PROGRESS_PLAIN_MS;

    if (ctx->quiet || now_ns - *shown_ns < every_ms * 1000000) {
        return;
    }
    *shown_ns = now_ns;
    if (ctx->progress) {
        (void)fprintf(ctx->err, "\r%" PRIu64 " of %" PRIu64 " runs ", done, runs);
        (void)fflush(ctx->err);
    } else {
        cli_note(ctx, "%" PRIu64 " of %" PRIu64 " runs", done, runs);
    }
}

static json_t *sim_kinds_json(const struct sim_sums *s)
{
    json_t *kinds = json_object();

    for (int b = 0; b < SIM_BARRIERS; b++) {
        json_object_set_new(kinds, sim_barriers[b],
                            json_pack("{s:I, s:I}", "pull", (json_int_t)s->sites[b][0], "broadcast",
                                      (json_int_t)s->sites[b][1]));
    }
    return kinds;
}

static void sim_print_kinds(struct cli_context *ctx, const struct sim_sums *s)
{
    char line[SIM_BARRIERS * 2 * 48] = "";
    size_t size = 0;

    for (int i = 0; i < SIM_BARRIERS * 2; i++) {
        uint64_t count = s->sites[i / 2][i % 2];

        if (count > 0) {
            size += (size_t)snprintf(line + size, sizeof(line) - size, "%s%" PRIu64 " %s %s",
                                     size == 0 ? "" : ", ", count, sim_barriers[i / 2],
                                     node_delivery_name(i % 2 == 0 ? NODE_PULL : NODE_BROADCAST));
        }
    }
    cli_out(ctx, "  sites      ");
    cli_wrap(ctx->out, line, 13, 13, ctx->width);
}

static enum cli_exit sim_report_many_json(struct cli_context *ctx, uint64_t seed, bool site,
                                          const struct sim_sums *s, int64_t took_ns)
{
    json_t *out =
        json_pack("{s:s, s:I, s:I, s:b, s:f, s:I, s:f, s:o, s:o}", "kind", site ? "site" : "echo",
                  "seed", (json_int_t)seed, "runs", (json_int_t)s->runs, "held", 1, "virtual_s",
                  (double)s->virtual_ns * 1e-9, "events", (json_int_t)s->events, "seconds",
                  (double)took_ns * 1e-9, "totals",
                  site ? sim_site_json(&s->site) : sim_totals_json(&s->totals), "faults",
                  cli_sim_faults_json(s->fired));

    if (site) {
        (void)json_object_set_new(out, "sites", sim_kinds_json(s));
        (void)json_object_set_new(out, "lost_all", json_integer((json_int_t)s->lost_all));
    }
    return cli_json(ctx, out);
}

static enum cli_exit sim_report_many(struct cli_context *ctx, uint64_t seed, bool site,
                                     const struct sim_sums *s, int64_t took_ns)
{
    if (ctx->json) {
        return sim_report_many_json(ctx, seed, site, s, took_ns);
    }
    cli_out(ctx,
            "%sall %" PRIu64 " runs held%s  seeds %" PRIu64 " to %" PRIu64
            ", %.0f s of virtual time, %" PRIu64 " events in %.1f s\n",
            cli_style(ctx->color_out, CLI_GOOD), s->runs, cli_style(ctx->color_out, CLI_PLAIN),
            seed, seed + s->runs - 1, (double)s->virtual_ns * 1e-9, s->events,
            (double)took_ns * 1e-9);
    if (site) {
        sim_print_kinds(ctx, s);
        sim_print_site(ctx, &s->site);
    } else {
        sim_print_totals(ctx, &s->totals);
    }
    cli_sim_faults_line(ctx, s->fired);
    return CLI_DONE;
}

/* Many seeds, stopping at the first that breaks something. */
static enum cli_exit sim_many(struct cli_context *ctx, const char *path,
                              const struct sim_scenario *scenario, uint64_t seed, uint64_t runs)
{
    struct sim_sums sums = {0};
    int64_t start_ns = clock_mono_ns();
    int64_t shown_ns = start_ns;
    int64_t until_ns = cli_given(ctx, "for") ? start_ns + cli_number(ctx, "for") * 1000 : INT64_MAX;

    for (uint64_t i = 0; (i < runs || until_ns != INT64_MAX) && clock_mono_ns() < until_ns; i++) {
        struct sim_scenario_options options = {.seed = seed + i};
        struct sim_scenario_result result;
        struct err_text text = {0};
        enum cli_exit status = CLI_DONE;

        if (sim_scenario_run(scenario, &options, &result, &text) != OK) {
            return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "%s", text.text);
        }
        sums_add(&sums, &result);
        sim_progress(ctx, i + 1, runs, &shown_ns);
        if (result.verdict[0] != '\0') {
            status = sim_broken(ctx, path, seed + i, result.verdict);
        }
        sim_scenario_result_deinit(&result);
        if (status != CLI_DONE) {
            return status;
        }
    }
    if (ctx->progress) {
        (void)fprintf(ctx->err, "\r\033[K");
    }
    return sim_report_many(ctx, seed, sim_scenario_is_site(scenario), &sums,
                           clock_mono_ns() - start_ns);
}

static enum cli_exit sim_list_faults(struct cli_context *ctx)
{
    static const char *const targets[] = {"HOST", "REGION REGION", "(a connection)"};
    static const char *const amounts[] = {"", " PERCENT", " TIME", " NUMBER"};
    json_t *list = json_array();

    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        enum sim_fault_kind kind = (enum sim_fault_kind)i;

        if (ctx->json) {
            json_array_append_new(list, json_string(sim_fault_name(kind)));
        } else {
            cli_out(ctx, "  %-12s %s%s%s\n", sim_fault_name(kind), targets[sim_fault_target(kind)],
                    amounts[sim_fault_amount(kind)], sim_fault_lasts(kind) ? " for TIME" : "");
        }
    }
    if (ctx->json) {
        return cli_json(ctx, json_pack("{s:o}", "faults", list));
    }
    json_decref(list);
    return CLI_DONE;
}

/* What simulated hosts log has the time of this machine, and is in the transcript with theirs: it
 * is shown only if somebody asked for it. */
static void sim_hush(const struct cli_context *ctx)
{
    if (!cli_given(ctx, "log") && !cli_given(ctx, "verbose") && env_read().log == NULL) {
        log_teardown();
    }
}

/* What is drawn by seed. */
struct sim_drawn {
    const char *option;
    const char *what;
    enum cli_exit (*run)(struct cli_context *ctx, uint64_t seed); /* NULL: as scripts are. */
};

static const struct sim_drawn sim_drawn[] = {
    {"fleet", "several sites by seed", cli_sim_fleet},
    {"feed", "a site that holds back what is small, by seed", cli_sim_feed},
    {"convoy", "several sites around a centre, by seed", cli_sim_convoy},
    {"site", "a site by seed", NULL},
};

enum { SIM_DRAWN_COUNT = sizeof(sim_drawn) / sizeof(sim_drawn[0]) };

/* It takes no script, and is one thing only. *out: NULL if nothing is. */
static enum cli_exit sim_drawn_find(struct cli_context *ctx, const char *path,
                                    const struct sim_drawn **out)
{
    *out = NULL;
    for (size_t i = 0; i < SIM_DRAWN_COUNT; i++) {
        const struct sim_drawn *d = &sim_drawn[i];

        if (!cli_flag(ctx, d->option)) {
            continue;
        }
        if (*out != NULL) {
            return cli_error(ctx, CLI_ERROR_SETTINGS, "strait help sim",
                             "--%s draws %s: it takes no script, and not --%s", (*out)->option,
                             (*out)->what, d->option);
        }
        *out = d;
    }
    if (*out != NULL && path != NULL) {
        return cli_error(ctx, CLI_ERROR_SETTINGS, "strait help sim",
                         "--%s draws %s and takes no script%s", (*out)->option, (*out)->what,
                         (*out)->run == NULL ? ": a script with a line that begins with \"site\" "
                                               "is a site without this option"
                                             : "");
    }
    return CLI_DONE;
}

static enum cli_exit sim_run(struct cli_context *ctx)
{
    const char *path = cli_argument(ctx, 0);
    struct sim_scenario *scenario = NULL;
    const struct sim_drawn *drawn;
    enum cli_exit status;
    uint64_t seed;

    if (cli_flag(ctx, "faults")) {
        return sim_list_faults(ctx);
    }
    if (cli_flag(ctx, "builtin")) {
        cli_out(ctx, "%s",
                cli_flag(ctx, "site") ? sim_scenario_builtin_site() : sim_scenario_builtin());
        return CLI_DONE;
    }
    status = sim_drawn_find(ctx, path, &drawn);
    if (status != CLI_DONE) {
        return status;
    }
    sim_hush(ctx);
    if (drawn != NULL && drawn->run != NULL) {
        return drawn->run(ctx, cli_given(ctx, "seed") ? (uint64_t)cli_number(ctx, "seed") : 1);
    }
    status = sim_load(ctx, path, &scenario);
    if (status != CLI_DONE) {
        return status;
    }
    seed = cli_given(ctx, "seed") ? (uint64_t)cli_number(ctx, "seed") : sim_scenario_seed(scenario);
    if (cli_given(ctx, "runs") || cli_given(ctx, "for")) {
        status = sim_many(ctx, path, scenario, seed, (uint64_t)cli_number(ctx, "runs"));
    } else {
        status = sim_one(ctx, path, scenario, seed);
    }
    sim_scenario_destroy(scenario);
    return status;
}

const struct cli_command cli_command_sim = {
    .path = "sim",
    .summary = "run a scenario in the simulated world",
    .group = CLI_GROUP_RUN,
    .paragraphs =
        (const char *const[]){
            "Builds regions, links and hosts from a script, runs an echo cluster or a whole site "
            "on them with the same protocol code that real processes use, lets faults happen, and "
            "checks after every event that no acknowledged update is lost or counted twice, that "
            "nothing goes back, that limits hold, and that everything gets done once the faults "
            "stop.",
            "A script has one statement a line: seed NUMBER; lan [rate= delay= host=]; region "
            "NAME; link REGION REGION rate=100mbit [delay=40ms jitter= loss=0.1% price=0.02 "
            "stream=]; server NAME REGION; client NAME REGION server=NAME [updates= gap= floats= "
            "window= streams=]; at TIME FAULT [TARGET] [AMOUNT] [for TIME]; storm from TIME to "
            "TIME every TIME [only FAULT,FAULT]; run TIME. What follows a # is a comment.",
            "With a line that begins with \"site\" it is a site, which has workers instead of "
            "clients: site [barrier=bsp|ssp|tap staleness= delivery=pull|broadcast checkpoints= "
            "deadline= order=fixed|any updates=whole|thirds clocks= tables= shards= commit= grace= "
            "restore=]; server NAME REGION [lanes=]; worker NAME REGION [streams= compute= joins= "
            "leaves=]; expect [updates= rebases= restores= duplicates= refused= checkpoints=].",
            "Virtual time: an hour takes a moment. The same script and seed give the same "
            "transcript, byte for byte. Without a script, a built-in one with three regions and "
            "all kinds of faults is run; --builtin prints it as a start for your own. With --site, "
            "the seed draws a site, its workers and what goes wrong with it; with --fleet, several "
            "sites that share one model: checked is then that each copy holds just what it must, "
            "that no reader misses more than it may, and that all copies agree in the end. With "
            "--feed, it is a site that holds back what is small of updates and sums, with and "
            "without trees: checked is then that nothing is lost, that no more is held back than "
            "is allowed, and that copies of one version are the same bits. With --convoy, it is "
            "several sites that close their rounds together, around a centre: checked is then that "
            "all have the same result of a round, and that every update counts once.",
            NULL},
    .arguments = (const struct cli_argument[]){{.placeholder = "SCRIPT",
                                                .help = "a scenario; - for standard input",
                                                .kind = CLI_FILE,
                                                .optional = true},
                                               {0}},
    .options =
        (const struct cli_option[]){
            {.name = "seed",
             .placeholder = "NUMBER",
             .help = "seed of all randomness; default: the script's, or 1",
             .kind = CLI_NUMBER,
             .max = INT64_MAX},
            {.name = "runs",
             .placeholder = "NUMBER",
             .fallback = "1",
             .help = "run so many seeds, one after the other; stop at the first that breaks",
             .kind = CLI_NUMBER,
             .min = 1,
             .max = 1000000000},
            {.name = "for",
             .placeholder = "DURATION",
             .help = "run new seeds until this much real time has passed",
             .kind = CLI_DURATION},
            {.name = "transcript", .help = "print every event worth a line instead of a summary"},
            {.name = "faults", .help = "list the kinds of faults and how scripts write them"},
            {.name = "site", .help = "draw a site with faults by seed, instead of a script"},
            {.name = "fleet", .help = "draw several sites that share one model, with faults"},
            {.name = "feed", .help = "draw a site that holds back what is small, with faults"},
            {.name = "convoy", .help = "draw several sites around a centre, with faults"},
            {.name = "builtin", .help = "print the built-in scenario; with --site, one of a site"},
            {0}},
    .examples =
        (const struct cli_example[]){
            {"strait sim", "three regions, all kinds of faults, one seed"},
            {"strait sim --runs 1000", "a thousand seeds"},
            {"strait sim --site --runs 500", "five hundred sites, each with faults of its own"},
            {"strait sim --fleet --runs 100", "a hundred times two to six sites"},
            {"strait sim --feed --runs 100", "a hundred sites with filters, trees and faults"},
            {"strait sim --convoy --runs 100", "a hundred times two to six sites around a centre"},
            {"strait sim --site --builtin > my.sim", "a start for the script of a site"},
            {"strait sim my.sim --seed 7 --transcript | less", "read what happened"},
            {0}},
    .run = sim_run,
};
