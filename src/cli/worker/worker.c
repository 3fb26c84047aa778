/* strait worker: joins a site and trains. */

#include "base/figure.h"
#include "base/log.h"
#include "cli/codec/recording.h"
#include "cli/command/commands.h"
#include "cli/member/detour.h"
#include "cli/member/security.h"
#include "cli/worker/job.h"
#include "loop/clock.h"
#include "net/entropy.h"
#include "node/control.h"
#include "run/live/process.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKER_SHOW_MS = 200, WORKER_LINE_MS = 5000 };

struct worker {
    struct cli_context *ctx;
    struct run_work work;
    struct node_site site;
    uint32_t rank;
    uint32_t workers; /* As given; zero: as the site says. */
    struct node_pace paces[NODE_LANES_MAX];
    uint32_t paces_count;
    struct run_clock last;
    double waited_s;
    double computed_s;
    int64_t shown_ns;
    bool line; /* There is one to draw over. */
};

/* The first signal asks us to leave, the second ends us. */
static volatile sig_atomic_t worker_signal;

static void worker_caught(int signum)
{
    if (worker_signal != 0) {
        _exit(signum == SIGTERM ? CLI_TERMINATED : CLI_INTERRUPTED);
    }
    worker_signal = signum;
}

static bool worker_interrupted(void *user)
{
    (void)user;
    return worker_signal != 0;
}

static void worker_signals(void)
{
    struct sigaction action = {.sa_handler = worker_caught};

    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

/* Telling. */

static void worker_clear(struct worker *w)
{
    if (w->line) {
        (void)fprintf(w->ctx->err, "\r\033[K");
        w->line = false;
    }
}

/* Print an event as one line of JSON. @object gets a "schema" and is released. */
static void worker_json(struct worker *w, json_t *object)
{
    json_t *whole = json_pack("{s:i}", "schema", CLI_JSON_SCHEMA);
    char *text = NULL;

    if (whole != NULL && object != NULL && json_object_update_missing(whole, object) == 0) {
        text = json_dumps(whole, JSON_COMPACT | JSON_REAL_PRECISION(12));
    }
    cli_out(w->ctx, "%s\n", text != NULL ? text : "{\"schema\":1,\"event\":\"no_memory\"}");
    free(text);
    json_decref(object);
    json_decref(whole);
    cli_flush(w->ctx);
}

static json_t *worker_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *worker_lanes(const struct run_process_lane *lanes, uint32_t count)
{
    json_t *out = json_array();

    for (uint32_t i = 0; i < count; i++) {
        (void)json_array_append_new(
            out, json_pack("[I, I]", (json_int_t)lanes[i].sent, (json_int_t)lanes[i].received));
    }
    return out;
}

static void worker_joined(uint64_t clock, void *user)
{
    struct worker *w = user;
    const struct node_site *site = &w->site;

    worker_clear(w);
    cli_note(w->ctx, "joined site %s as worker %u of %u: %s, %s and %s, from clock %" PRIu64 " on",
             site->name, w->rank, w->work.workers, w->work.job, site->sync.policy->name,
             node_delivery_name(site->delivery), clock);
    if (w->ctx->json) {
        worker_json(w, json_pack("{s:s, s:s, s:i, s:i, s:s, s:I}", "event", "joined", "site",
                                 site->name, "rank", (int)w->rank, "workers", (int)w->work.workers,
                                 "job", w->work.job, "clock", (json_int_t)clock));
    }
}

/* It is told when the worker has time for it. */
static json_int_t worker_ago(int64_t then_ns)
{
    return clock_mono_ns() - then_ns;
}

static json_t *worker_large(const struct run_clock *c)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < RUN_PARTS; i++) {
        (void)json_array_append_new(list, json_integer((json_int_t)c->large[i]));
    }
    return list;
}

static void worker_clock_json(struct worker *w, struct run_process *p, const struct run_clock *c)
{
    struct run_process_lane lanes[NODE_LANES_MAX];
    uint32_t count = run_process_traffic(p, lanes, NODE_LANES_MAX);
    json_t *sparsified = c->sparsified.encode_ns + c->sparsified.decode_ns > 0
                             ? node_sparsify_totals_to_json(&c->sparsified)
                             : NULL;

    worker_json(w,
                json_pack("{s:s, s:I, s:I, s:I, s:b, s:I, s:o, s:I, s:I, s:I, s:I, s:o, s:o, "
                          "s:o*, s:b, s:I}",
                          "event", "clock", "ago_ns", worker_ago(c->ended_ns), "clock",
                          (json_int_t)c->clock, "next", (json_int_t)c->next, "rebased",
                          (int)c->rebased, "samples", (json_int_t)c->samples, "loss_sum",
                          worker_real(c->loss_sum), "read_ns", (json_int_t)c->read_ns, "compute_ns",
                          (json_int_t)c->compute_ns, "end_ns", (json_int_t)c->end_ns, "elements",
                          (json_int_t)c->elements, "large", worker_large(c), "lanes",
                          worker_lanes(lanes, count), "sparsified", sparsified, "upper",
                          (int)c->upper, "lost_from", (json_int_t)(c->rebased ? c->lost_from : 0)));
}

/* How it goes, now and then. */
static void worker_show(struct worker *w, const struct run_clock *c)
{
    int64_t now_ns = clock_mono_ns();
    int64_t every_ms = w->ctx->progress ? WORKER_SHOW_MS : WORKER_LINE_MS;
    double all = w->waited_s + w->computed_s;
    char of[24] = "", loss[32], line[160];
    struct text text;

    if (w->ctx->quiet || w->ctx->json || now_ns - w->shown_ns < every_ms * 1000000) {
        return;
    }
    w->shown_ns = now_ns;
    if (w->work.clocks > 0) {
        (void)snprintf(of, sizeof(of), "/%" PRIu64, w->work.clocks);
    }
    text_init_fixed(&text, loss, sizeof(loss));
    figure_value(c->loss_sum / c->samples, &text);
    (void)snprintf(line, sizeof(line), "clock %" PRIu64 "%s  loss %s  waiting %.0f %%", c->clock,
                   of, loss, all > 0 ? w->waited_s / all * 100 : 0);
    if (w->ctx->progress) {
        (void)fprintf(w->ctx->err, "\r%s\033[K", line);
        (void)fflush(w->ctx->err);
        w->line = true;
    } else {
        cli_note(w->ctx, "%s", line);
    }
}

static void worker_clock(struct run_process *p, const struct run_clock *c, void *user)
{
    struct worker *w = user;
    char lost[RUN_LOST_BYTES];

    w->last = *c;
    w->waited_s += (double)(c->read_ns + c->end_ns) * 1e-9;
    w->computed_s += (double)c->compute_ns * 1e-9;
    if (w->ctx->json) {
        worker_clock_json(w, p, c);
    }
    if (c->rebased) {
        worker_clear(w);
        run_clock_lost_text(c, lost);
        cli_note(w->ctx, "left out meanwhile: %s", lost);
    }
    worker_show(w, c);
}

static void worker_evaluated(const struct run_evaluation *e, void *user)
{
    struct worker *w = user;

    if (w->ctx->json) {
        worker_json(w,
                    json_pack("{s:s, s:I, s:I, s:o, s:f, s:f, s:f}", "event", "evaluated", "ago_ns",
                              worker_ago(e->at_ns), "clock", (json_int_t)e->clock, "objective_sum",
                              worker_real(e->score.objective_sum), "count", e->score.count,
                              "correct", e->score.correct, "tested", e->score.tested));
    }
}

static void worker_say(struct worker *w, const char *event, const char *text)
{
    worker_clear(w);
    cli_note(w->ctx, "%s%s", strcmp(event, "waiting") == 0 ? "waiting: " : "", text);
    if (w->ctx->json) {
        worker_json(w, json_pack("{s:s, s:s}", "event", event, "text", text));
    }
}

static void worker_notice(const char *text, void *user)
{
    worker_say(user, "notice", text);
}

static void worker_unrecorded(const char *text, void *user)
{
    worker_say(user, "unrecorded", text);
}

static void worker_waiting(const char *text, void *user)
{
    worker_say(user, "waiting", text);
}

/* On each line of the log: "worker-3", once that is known. @site may be NULL. */
static void worker_origin(const char *site, uint32_t rank)
{
    char member[24] = "worker";

    if (rank != NODE_RANK_ANY) {
        (void)snprintf(member, sizeof(member), "worker-%" PRIu32, rank);
    }
    log_set_origin(site, member);
}

/* What is to be done: by options, else by the site. */

static enum err worker_plan(const struct node_site *site, uint32_t rank, struct run_work *work,
                            struct err_text *text, void *user)
{
    struct worker *w = user;

    w->site = *site;
    w->rank = rank;
    worker_origin(site->name, rank);
    if (worker_job_read(w->ctx, work) != CLI_DONE) {
        return ERR_INVALID; /* It was printed, by the same check, before we began. */
    }
    if (work->job[0] == '\0') {
        return err_text_set(text, ERR_INVALID,
                            "what is to be trained? Say --job NAME here, or to the server");
    }
    work->workers = w->workers != 0      ? w->workers
                    : work->workers != 0 ? work->workers
                                         : site->sync.members_min;
    if ((cli_given(w->ctx, "part") ? (uint32_t)cli_number(w->ctx, "part") : rank) >=
        work->workers) {
        /* More came than were expected: data are cut into parts by those who were. */
        return err_text_set(text, ERR_INVALID,
                            "this is %s %u, counted from 0, and there are %u: say --workers "
                            "NUMBER to all of them",
                            cli_given(w->ctx, "part") ? "part" : "worker",
                            cli_given(w->ctx, "part") ? (uint32_t)cli_number(w->ctx, "part") : rank,
                            work->workers);
    }
    return OK;
}

static const struct run_process_events worker_events = {
    .plan = worker_plan,
    .joined = worker_joined,
    .clock = worker_clock,
    .evaluated = worker_evaluated,
    .notice = worker_notice,
    .unrecorded = worker_unrecorded,
    .waiting = worker_waiting,
};

/* Options. */

/* The first of some variables that is set, as a number; @fallback if none is. */
static enum cli_exit worker_env(struct cli_context *ctx, const char *const *names, uint32_t max,
                                uint32_t fallback, uint32_t *out)
{
    *out = fallback;
    for (; *names != NULL; names++) {
        const char *value = getenv(*names);
        char *end;
        unsigned long number;

        if (value == NULL || value[0] == '\0') {
            continue;
        }
        number = strtoul(value, &end, 10);
        if (value[0] < '0' || value[0] > '9' || *end != '\0' || number > max) {
            return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL,
                             "worker: the environment has %s=%s: a whole number up to %u is wanted",
                             *names, value, max);
        }
        *out = (uint32_t)number;
        return CLI_DONE;
    }
    return CLI_DONE;
}

static enum cli_exit worker_place(struct cli_context *ctx, struct worker *w, uint32_t *rank_out)
{
    static const char *const ranks[] = {"STRAIT_RANK",          "RANK",     "SLURM_PROCID",
                                        "OMPI_COMM_WORLD_RANK", "PMI_RANK", NULL};
    static const char *const sizes[] = {"STRAIT_WORKERS",       "WORLD_SIZE", "SLURM_NTASKS",
                                        "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",   NULL};
    enum cli_exit status = worker_env(ctx, ranks, SYNC_MEMBERS_MAX - 1, NODE_RANK_ANY, rank_out);

    if (status == CLI_DONE) {
        status = worker_env(ctx, sizes, SYNC_MEMBERS_MAX, 0, &w->workers);
    }
    if (cli_given(ctx, "rank")) {
        *rank_out = (uint32_t)cli_number(ctx, "rank");
    }
    if (cli_given(ctx, "workers")) {
        w->workers = (uint32_t)cli_number(ctx, "workers");
    }
    return status;
}

/* "LANE=TO/FROM,..." in bytes per second, as `strait run` writes it. */
static enum cli_exit worker_paces(struct cli_context *ctx, struct worker *w)
{
    const char *given = cli_text(ctx, "pace-lanes");
    const char *at = given == NULL ? "" : given;

    while (*at != '\0') {
        unsigned lane = 0;
        struct node_pace pace = {0};
        int used = 0;

        if (sscanf(at, "%3u=%18" SCNu64 "/%18" SCNu64 "%n", &lane, &pace.to, &pace.from, &used) !=
                3 ||
            lane >= NODE_LANES_MAX || (at[used] != '\0' && at[used] != ',')) {
            return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL,
                             "--pace-lanes %s: write LANE=TO/FROM,... in bytes per second", given);
        }
        w->paces[lane] = pace;
        w->paces_count = lane >= w->paces_count ? lane + 1 : w->paces_count;
        at += used + (at[used] == ',');
    }
    return CLI_DONE;
}

static enum cli_exit worker_identity(struct cli_context *ctx, uint32_t rank,
                                     struct run_process_config *config)
{
    const char *name = cli_text(ctx, "name");
    struct err_text text = {""};
    char made[32];
    uint64_t number = 0;

    if (name == NULL && rank != NODE_RANK_ANY) {
        (void)snprintf(made, sizeof(made), "w%u", rank);
        name = made;
    } else if (name == NULL) {
        /* A name makes two workers one, so each gets its own. */
        if (entropy_u64(&number) != OK) {
            return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "the system gives no randomness");
        }
        (void)snprintf(made, sizeof(made), "w-%016" PRIx64, number);
        name = made;
    }
    if (pki_identity_make(WIRE_ROLE_WORKER, "local", name, &config->identity, &text) != OK) {
        return cli_error(ctx, CLI_ERROR_BAD_IDENTITY, NULL, "--name: %s", text.text);
    }
    return CLI_DONE;
}

static enum cli_exit worker_door(struct cli_context *ctx, struct run_process_config *config,
                                 struct pki_member_files *files)
{
    const char *join = cli_text(ctx, "join");
    enum cli_exit status;

    if (join == NULL) {
        return cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, NULL,
                         "worker: where is the site? Say --join ADDRESS; its server prints it");
    }
    config->options.detours = ctx->detours;
    status = security_address(ctx, "join", join, &config->join);
    if (status != CLI_DONE || config->join.scheme != NET_SCHEME_TLS) {
        return status == CLI_DONE ? worker_identity(ctx, config->rank, config) : status;
    }
    status = security_find(ctx, files);
    if (status == CLI_DONE) {
        config->tls = (struct net_tls_config){
            .cert_path = files->cert,
            .key_path = files->key,
            .ca_path = files->ca,
            .crl_path = files->crl,
            /* Workers too: in a tree they pass sums on to each other. */
            .roles_accepted = WIRE_ROLE_WORKER,
            .roles_dialled = WIRE_ROLE_SERVER | WIRE_ROLE_WORKER,
            .options = {.detours = ctx->detours},
        };
    }
    return status;
}

/* Saved state is found by its rank: it must be the same the next time. */
static enum cli_exit worker_state(struct cli_context *ctx, struct run_process_config *config)
{
    config->state_dir = cli_text(ctx, "state");
    config->state_every = (uint32_t)cli_number(ctx, "state-every");
    if (config->state_dir == NULL && cli_given(ctx, "state-every")) {
        return cli_error(ctx, CLI_ERROR_SETTINGS, NULL, "--state-every: where to? Say --state DIR");
    }
    if (config->state_dir != NULL && config->rank == NODE_RANK_ANY && !cli_given(ctx, "name") &&
        !cli_given(ctx, "cert")) {
        return cli_error(ctx, CLI_ERROR_SETTINGS, NULL,
                         "--state: the worker must be the same one when it is started again: say "
                         "--rank NUMBER or --name NAME");
    }
    return CLI_DONE;
}

/* The end. */

static enum cli_exit worker_failed(struct worker *w, const struct run_process_result *r)
{
    enum cli_error_id id = CLI_ERROR_RUN_FAILED;

    if (r->rc == ERR_NOMEM) {
        id = CLI_ERROR_NO_MEMORY;
    } else if (r->rc == ERR_TOO_BIG && r->stage == RUN_PROCESS_TRAINING) {
        id = CLI_ERROR_TABLE_TOO_BIG;
    } else if (r->rc == ERR_TIMEOUT) {
        id = CLI_ERROR_UNREACHABLE;
    } else if (r->stage == RUN_PROCESS_JOB) {
        id = CLI_ERROR_JOB;
    } else if (r->stage == RUN_PROCESS_STATE) {
        id = CLI_ERROR_STATE;
    } else if (r->stage == RUN_PROCESS_START) {
        id = r->rc == ERR_REFUSED ? CLI_ERROR_PEER_REFUSED : CLI_ERROR_BAD_CERT;
    }
    if (w->ctx->json) {
        worker_json(w, json_pack("{s:s, s:s}", "event", "failed", "text", r->text.text));
    }
    return cli_error(w->ctx, id, id == CLI_ERROR_JOB ? "strait worker --jobs" : NULL, "worker: %s",
                     r->text.text);
}

static enum cli_exit worker_over(struct worker *w, const struct run_process_result *r)
{
    uint64_t sent = 0, received = 0;
    double all = w->waited_s + w->computed_s;

    worker_clear(w);
    for (uint32_t i = 0; i < r->lanes_count; i++) {
        sent += r->lanes[i].sent;
        received += r->lanes[i].received;
    }
    if (r->rc != OK && r->rc != ERR_CANCELLED) {
        return worker_failed(w, r);
    }
    if (w->ctx->json) {
        worker_json(w, json_pack("{s:s, s:I, s:I, s:I, s:I, s:o}", "event", "left", "clock",
                                 (json_int_t)r->clock, "rebases", (json_int_t)r->rebases, "refused",
                                 (json_int_t)r->refused, "lost_from", (json_int_t)r->lost_from,
                                 "lanes", worker_lanes(r->lanes, r->lanes_count)));
    }
    if (r->lost_from > 0) {
        cli_note(w->ctx,
                 "clocks %" PRIu64 " to %" PRIu64
                 " may not count: a server restarted without them before this worker had left",
                 r->lost_from, r->clock);
    }
    cli_note(w->ctx,
             "left after clock %" PRIu64 ": %.3f MB sent, %.3f MB received, waited %.0f %% of the "
             "time",
             r->clock, (double)sent * 1e-6, (double)received * 1e-6,
             all > 0 ? w->waited_s / all * 100 : 0);
    return r->rc == OK ? CLI_DONE : worker_signal == SIGTERM ? CLI_TERMINATED : CLI_INTERRUPTED;
}

/* Where other workers reach this one, if the site has trees. */
static enum cli_exit worker_relay(struct cli_context *ctx, struct run_process_config *config)
{
    const char *relay = cli_text(ctx, "relay");

    if (relay == NULL) {
        return CLI_DONE;
    }
    config->relay_off = strcmp(relay, "off") == 0;
    return config->relay_off ? CLI_DONE : security_address(ctx, "relay", relay, &config->relay);
}

static enum cli_exit worker_run(struct cli_context *ctx)
{
    static struct worker w; /* Too large for the stack. */
    static struct run_process_result result;
    struct pki_member_files files;
    struct run_recording recording;
    struct run_process_config config = {
        .streams = (uint16_t)cli_number(ctx, "streams"),
        .pool_bytes = (uint64_t)cli_number(ctx, "pool"),
        .compute_ns = cli_number(ctx, "compute-time") * 1000,
        .patience_ns = cli_number(ctx, "patience") * 1000,
        .pace_bytes_per_s = (uint64_t)cli_number(ctx, "pace") / 8,
        .agg = cli_text(ctx, "agg"),
        .edge = cli_text(ctx, "edge"),
        .events = &worker_events,
        .interrupted = worker_interrupted,
        .user = &w,
    };
    enum cli_exit status;

    if (cli_flag(ctx, "jobs")) {
        return worker_job_list(ctx);
    }
    w = (struct worker){.ctx = ctx};
    run_work_init(&w.work);
    status = worker_job_read(ctx, &w.work); /* What is wrong is told before anybody is asked. */
    if (status == CLI_DONE) {
        status = worker_place(ctx, &w, &config.rank);
    }
    if (status == CLI_DONE) {
        status = cli_detours_read(ctx);
    }
    if (status == CLI_DONE) {
        status = worker_paces(ctx, &w);
    }
    if (status == CLI_DONE) {
        status = worker_state(ctx, &config);
    }
    if (status == CLI_DONE) {
        status = worker_relay(ctx, &config);
    }
    if (status == CLI_DONE) {
        status = recording_read(ctx, &recording);
    }
    if (status == CLI_DONE) {
        status = worker_door(ctx, &config, &files);
    }
    if (status != CLI_DONE) {
        return status;
    }
    worker_origin(NULL, config.rank);
    config.has_part = cli_given(ctx, "part");
    config.part = (uint32_t)cli_number(ctx, "part");
    config.recording = &recording;
    config.work = &w.work;
    config.paces = w.paces;
    config.paces_count = w.paces_count;
    worker_signals();
    run_process(&config, &result);
    return worker_over(&w, &result);
}

const struct cli_command cli_command_worker = {
    .path = "worker",
    .summary = "join a site and train",
    .group = CLI_GROUP_RUN,
    .paragraphs =
        (const char *const[]){
            "Joins the site whose first server is at ADDRESS; the server prints the command. What "
            "is trained, on which data and for how long comes from the server if it was given "
            "there, and options here come first. --jobs lists the jobs and their options.",
            "Data are cut into as many parts as there are workers, and each takes the part of its "
            "rank. The rank comes from --rank, else from STRAIT_RANK, RANK, SLURM_PROCID, "
            "OMPI_COMM_WORLD_RANK or PMI_RANK, else the site gives one; the number of workers from "
            "--workers, else from STRAIT_WORKERS, WORLD_SIZE, SLURM_NTASKS, OMPI_COMM_WORLD_SIZE "
            "or PMI_SIZE, else from the site.",
            "Some jobs keep something of their own between clocks: lda the topics of its tokens, "
            "mf the factors of its users. With --state it is saved before the update of a clock "
            "goes out, so a worker that was killed and is started again with the same rank goes "
            "on where it was. Without, it begins anew, and lda would then count its tokens twice.",
            "If the connection breaks or a server is started again, the worker waits for it and "
            "goes on. Ctrl-C leaves cleanly: what was sent is counted, and nobody waits for this "
            "worker; a second one ends it at once.",
            "With --json each event is one line: joined, clock, evaluated, notice, waiting, left, "
            "failed.",
            NULL},
    .options =
        (const struct cli_option[]){
            {.name = "join",
             .placeholder = "ADDRESS",
             .help = "where the site's first server is, as it printed it"},
            DETOUR_OPTION,
            {.name = "cert",
             .placeholder = "DIR",
             .kind = CLI_DIR,
             .help = "the folder with the worker's certificate"},
            {.name = "name",
             .placeholder = "NAME",
             .help = "whose certificate in that folder, if there are several; with --insecure what "
                     "to be called"},
            SECURITY_OPTION_INSECURE,
            WORKER_JOB_OPTIONS("; default: what the site says"),
            {.name = "jobs", .help = "list the jobs and their options, and stop"},
            {.name = "rank",
             .placeholder = "NUMBER",
             .kind = CLI_NUMBER,
             .max = SYNC_MEMBERS_MAX - 1,
             .help = "which worker this is, from 0 on"},
            {.name = "workers",
             .placeholder = "NUMBER",
             .kind = CLI_NUMBER,
             .min = 1,
             .max = SYNC_MEMBERS_MAX,
             .help = "into how many parts the data are cut"},
            {.name = "part",
             .placeholder = "NUMBER",
             .kind = CLI_NUMBER,
             .max = SYNC_MEMBERS_MAX - 1,
             .help = "which of them is its, from 0 on; default: that of its rank. With several "
                     "sites ranks begin at 0 in each of them, parts do not"},
            {.name = "state",
             .placeholder = "DIR",
             .kind = CLI_DIR,
             .help = "save there what the job keeps of its own, and go on from it when started "
                     "again"},
            {.name = "state-every",
             .placeholder = "CLOCKS",
             .kind = CLI_NUMBER,
             .max = 1000000000,
             .help = "save it so often; 0, the default: each clock, but jobs that only lose time "
                     "by it write at most 4 MiB per clock"},
            RECORDING_OPTIONS("this worker"),
            {.name = "compute-time",
             .placeholder = "TIME",
             .kind = CLI_DURATION,
             .min = 0,
             .max = INT64_C(86400) * 1000000,
             .help =
                 "a step takes so long, however soon it was computed: to run on a small machine "
                 "what a large one would"},
            {.name = "streams",
             .placeholder = "NUMBER",
             .fallback = "1",
             .kind = CLI_NUMBER,
             .min = 1,
             .max = LIMIT_STREAMS_PER_PEER,
             .help = "connections to each lane; several are faster over long links"},
            {.name = "patience",
             .placeholder = "TIME",
             .fallback = "10m",
             .kind = CLI_DURATION,
             .min = 0,
             .max = INT64_C(86400) * 1000000,
             .help = "give up if a server cannot be reached for so long; 0: never"},
            {.name = "pool",
             .placeholder = "SIZE",
             .fallback = "1GiB",
             .kind = CLI_SIZE,
             .min = 16 << 20,
             .max = INT64_C(1) << 40,
             .help = "most memory for what is collected, sent and received"},
            {.name = "pace",
             .placeholder = "RATE",
             .kind = CLI_RATE,
             .help = "send at most so fast to each lane"},
            {.name = "relay",
             .placeholder = "ADDRESS",
             .help = "where to listen for other workers, in a site whose sums go by trees: "
                     "tls://HOST:PORT or tcp://HOST:PORT; off: pass nothing on. Default: any port, "
                     "where the servers are reached from"},
            {.name = "agg",
             .placeholder = "NAME",
             .help = "the aggregation switch that this worker is behind, for trees"},
            {.name = "edge", .placeholder = "NAME", .help = "and the switch of its rack"},
            {.name = "pace-lanes",
             .placeholder = "LANE=TO/FROM,...",
             .help = "for single lanes, in bytes per second: what is sent there, and what the lane "
                     "is asked to send; 0: no limit"},
            {0}},
    .examples =
        (const struct cli_example[]){
            {"strait worker --join tcp://127.0.0.1:7400 --insecure", "what the server says"},
            {"strait worker --join tls://eu:7400 --cert certs --job lenet "
             "--clocks 500",
             "with a job of its own"},
            {0}},
    .run = worker_run,
};
