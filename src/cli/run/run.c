/* strait run: an experiment as a file says, simulated or with real processes. */

#include "cli/run/run.h"

#include "base/mem.h"
#include "base/private_dir.h"
#include "cli/codec/recording.h"
#include "cli/command/commands.h"
#include "cli/command/env.h"
#include "cli/member/security.h"
#include "emu/lab/lab.h"
#include "loop/clock.h"
#include "run/cost/bill.h"
#include "run/file/set.h"
#include "run/live/live.h"
#include "run/sim/sim.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RUN_SETS_MAX = 64, RUN_COMMAND_BYTES = 1024 };

/* The file, with what --set says, and then @more unless it is NULL. */
static enum cli_exit run_load(struct cli_context *ctx, const char *more, struct run_file **file_out)
{
    const char *settings[RUN_SETS_MAX + 1];
    const char *path = cli_argument(ctx, 0);
    struct err_text text = {""};
    uint32_t count = 0;
    enum err rc;

    for (const char *s; (s = cli_text_at(ctx, "set", count)) != NULL; count++) {
        if (count == RUN_SETS_MAX) {
            return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "--set: more than %d settings",
                             RUN_SETS_MAX);
        }
        settings[count] = s;
    }
    settings[count] = more;
    rc = run_set_load(path, settings, count + (more != NULL), file_out, &text);
    if (rc == OK) {
        rc = run_sim_check(*file_out, path, &text);
        if (rc != OK) {
            run_file_free(*file_out);
        }
    }
    if (rc == ERR_NOT_FOUND || rc == ERR_IO) {
        return cli_error(ctx, CLI_ERROR_FILE, NULL, "%s", text.text);
    }
    if (rc == ERR_INVALID) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait help run", "--set %s", text.text);
    }
    return rc == OK ? CLI_DONE : cli_error(ctx, CLI_ERROR_RUN_FILE, NULL, "%s", text.text);
}

/* Where records go if nobody says where: never into the folder that one happens to be in. */
enum cli_exit run_default_dir(struct cli_context *ctx, const char *name, char *out, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    time_t now_s = (time_t)(clock_wall_us() / 1000000);
    char stamp[32] = "";
    struct tm tm;

    if (gmtime_r(&now_s, &tm) != NULL) {
        (void)strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
    }
    if (state != NULL && state[0] == '/') {
        (void)snprintf(out, size, "%s/strait/runs/%s-%s", state, name, stamp);
    } else if (home != NULL && home[0] == '/') {
        (void)snprintf(out, size, "%s/.local/state/strait/runs/%s-%s", home, name, stamp);
    } else {
        char called[128];
        struct err_text text = {""};

        (void)snprintf(called, sizeof(called), "strait-%.80s-%s", name, stamp);
        if (private_dir_new(env_tmp(), called, out, size, &text) != OK) {
            return cli_error(ctx, CLI_ERROR_FILE, NULL, "%s", text.text);
        }
    }
    return CLI_DONE;
}

/* The command as it can be typed again, roughly. */
static void run_command(struct cli_context *ctx, char *out, size_t size)
{
    struct text text;

    text_init_fixed(&text, out, size);
    text_addf(&text, "strait run %s --on %s", cli_argument(ctx, 0), cli_text(ctx, "on"));
    text_add(&text, cli_flag(ctx, "estimate") ? " --estimate" : "");
    if (cli_given(ctx, "hosts")) {
        text_addf(&text, " --hosts %s", cli_text(ctx, "hosts"));
    }
    if (cli_given(ctx, "record-updates")) {
        text_addf(&text, " --record-updates %s", cli_text(ctx, "record-updates"));
    }
    for (size_t i = 0; cli_text_at(ctx, "set", i) != NULL; i++) {
        text_addf(&text, " --set '%s'", cli_text_at(ctx, "set", i));
    }
}

static enum cli_exit run_open_record(struct cli_context *ctx, const struct run_file *f,
                                     struct run_record **record_out)
{
    char dir[1024], command[RUN_COMMAND_BYTES];
    struct run_record_config config = {.dir = cli_text(ctx, "output"),
                                       .file = f,
                                       .backend =
                                           cli_flag(ctx, "estimate") ? "sim" : cli_text(ctx, "on"),
                                       .command = command,
                                       .started_us = clock_wall_us()};
    struct err_text text = {""};
    enum err rc;

    *record_out = NULL;
    if (cli_flag(ctx, "no-record")) {
        return CLI_DONE;
    }
    if (config.dir == NULL) {
        enum cli_exit status = run_default_dir(ctx, f->name, dir, sizeof(dir));

        if (status != CLI_DONE) {
            return status;
        }
        config.dir = dir;
    }
    run_command(ctx, command, sizeof(command));
    rc = run_record_create(&config, record_out, &text);
    return rc == OK ? CLI_DONE
                    : cli_error(ctx, rc == ERR_EXISTS ? CLI_ERROR_EXISTS : CLI_ERROR_FILE, NULL,
                                "%s", text.text);
}

static json_t *run_fired_json(const uint64_t *fired)
{
    json_t *faults = json_object();

    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        if (fired[i] > 0) {
            (void)json_object_set_new(faults, sim_fault_name((enum sim_fault_kind)i),
                                      json_integer((json_int_t)fired[i]));
        }
    }
    return faults;
}

enum cli_exit run_not_begun(struct cli_context *ctx, const struct run_file *f, enum err rc,
                            const struct err_text *text)
{
    if (rc == ERR_NOMEM) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "%s", text->text);
    }
    if (rc == ERR_EXISTS) {
        return cli_error(ctx, CLI_ERROR_EXISTS, NULL, "%s", text->text);
    }
    return cli_error(ctx, CLI_ERROR_JOB, "strait worker --jobs", "%s:%u: %s", cli_argument(ctx, 0),
                     f->job.line, text->text);
}

static enum cli_exit run_on_sim(struct cli_context *ctx, const struct run_file *f,
                                struct run_record *record, const struct run_recording *recording)
{
    struct run_sim_options options = {.recording = recording};
    struct run_sim_result result;
    struct run_shown shown;
    struct err_text text = {""};
    int64_t start_ns = clock_mono_ns();
    enum cli_exit status;
    enum err rc;

    run_shown_begin(&shown, ctx, "sim", record);
    rc = run_sim(f, &shown.watcher, &options, &result, &text);
    if (rc == OK) {
        run_shown_add(&shown, "faults", run_fired_json(result.fired));
        run_shown_add(&shown, "events", json_integer((json_int_t)result.events));
        run_shown_add(&shown, "real_s", json_real((double)(clock_mono_ns() - start_ns) * 1e-9));
    }
    status = run_shown_end(&shown);
    return rc == OK ? status : run_not_begun(ctx, f, rc, &text);
}

enum cli_exit run_program(struct cli_context *ctx, char *out, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", out, size - 1);

    if (n < 0) {
        return cli_error(ctx, CLI_ERROR_FILE, NULL, "/proc/self/exe: %s", strerror(errno));
    }
    out[n] = '\0';
    return CLI_DONE;
}

/* Where members leave their words and checkpoints if no record is kept; gone afterwards. */
enum cli_exit run_temporary(struct cli_context *ctx, char *out, size_t size)
{
    struct err_text text = {""};

    return private_dir_new(env_tmp(), "strait-run", out, size, &text) == OK
               ? CLI_DONE
               : cli_error(ctx, CLI_ERROR_FILE, NULL, "%s", text.text);
}

static int run_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void run_temporary_remove(const char *dir)
{
    (void)nftw(dir, run_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static enum cli_exit run_live_in(struct cli_context *ctx, const struct run_file *f,
                                 struct run_record *record, const char *dir,
                                 const struct run_remote *remote,
                                 const struct run_recording *recording)
{
    char program[PATH_MAX], opening[128];
    struct run_live_options options = {.on = cli_text(ctx, "on"),
                                       .program = program,
                                       .dir = dir,
                                       .temporary = record == NULL,
                                       .recording = recording,
                                       .predict = !cli_flag(ctx, "no-prediction"),
                                       .hosts = remote->hosts,
                                       .command = remote->words == NULL ? NULL : remote->command,
                                       .insecure = remote->insecure,
                                       .tidy = cli_flag(ctx, "tidy")};
    struct run_live_result result;
    struct run_shown shown;
    struct err_text text = {""};
    enum cli_exit status = run_program(ctx, program, sizeof(program));
    enum err rc;

    if (remote->hosts != NULL && remote->insecure == 0) {
        security_hold_keys();
    }
    if (status != CLI_DONE) {
        return status;
    }
    run_shown_begin(&shown, ctx, options.on, record);
    (void)snprintf(opening, sizeof(opening), "%u server%s and %u worker%s as processes; %s",
                   f->servers_count, f->servers_count == 1 ? "" : "s", f->workers,
                   f->workers == 1 ? "" : "s", run_live_about(options.on));
    shown.opening = opening;
    rc = run_live(f, &shown.watcher, &options, &result, &text);
    if (rc == OK) {
        run_shown_add(&shown, "kills", json_integer(result.kills));
        run_shown_add(&shown, "restarts", json_integer(result.restarts));
    }
    status = run_shown_end(&shown);
    return rc == OK ? status : run_not_begun(ctx, f, rc, &text);
}

static enum cli_exit run_on_live(struct cli_context *ctx, const struct run_file *f,
                                 struct run_record *record, const struct run_remote *remote,
                                 const struct run_recording *recording)
{
    char dir[256];
    enum cli_exit status;

    if (record != NULL) {
        return run_live_in(ctx, f, record, run_record_dir(record), remote, recording);
    }
    status = run_temporary(ctx, dir, sizeof(dir));
    if (status == CLI_DONE) {
        status = run_live_in(ctx, f, NULL, dir, remote, recording);
        run_temporary_remove(dir);
    }
    return status;
}

static enum cli_exit run_dry(struct cli_context *ctx, const struct run_file *f)
{
    struct text text;

    if (text_init(&text, RUN_PRINT_BYTES_MAX) != OK) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot print the run file");
    }
    run_file_print(f, &text);
    cli_out(ctx, "%s", text.chars);
    text_deinit(&text);
    return CLI_DONE;
}

/* A record only where somebody wants one. */
static enum cli_exit run_guess(struct cli_context *ctx, const struct run_file *f)
{
    struct run_record *record = NULL;
    struct run_file *without = NULL;
    enum cli_exit status = CLI_DONE;

    if (run_bill_has_budget(f) && f->sites_count > 1) {
        /* As much as there can be. */
        status = run_load(ctx, "budget={max_gb: 1000000000}", &without);
    }
    if (status == CLI_DONE && cli_text(ctx, "output") != NULL) {
        status = run_open_record(ctx, f, &record);
    }
    if (status == CLI_DONE) {
        status = run_estimate(ctx, f, without, record);
    }
    run_record_destroy(record);
    run_file_free(without);
    return status;
}

/* A lab that cannot be leaves no record. */
static enum cli_exit run_check_lab(struct cli_context *ctx)
{
    struct err_text text = {""};

    if (strcmp(cli_text(ctx, "on"), "lab") != 0 || lab_able(&text) == OK) {
        return CLI_DONE;
    }
    return cli_error(ctx, CLI_ERROR_LAB_REFUSED, NULL, "%s", text.text);
}

/* Nor does a run that wants what this ground has not. */
static enum cli_exit run_check_ground(struct cli_context *ctx, const struct run_file *f)
{
    struct err_text text = {""};

    if (strcmp(cli_text(ctx, "on"), "sim") == 0 ||
        run_live_check(f, cli_text(ctx, "on"), &text) == OK) {
        return CLI_DONE;
    }
    return cli_error(ctx, CLI_ERROR_RUN_FILE, NULL, "%s: %s", cli_argument(ctx, 0), text.text);
}

/* What is asked of this machine and of others is asked before there is a record. */
static enum cli_exit run_real(struct cli_context *ctx, const struct run_file *f)
{
    struct run_remote remote = {.hosts = NULL};
    struct run_recording recording = {.dir = NULL};
    struct run_record *record = NULL;
    char program[PATH_MAX], updates[PATH_MAX];
    enum cli_exit status = run_program(ctx, program, sizeof(program));

    if (status == CLI_DONE) {
        status = run_check_ground(ctx, f);
    }
    if (status == CLI_DONE) {
        status = run_check_lab(ctx);
    }
    if (status == CLI_DONE) {
        status = recording_begin(ctx, f, &recording, updates, sizeof(updates));
    }
    if (status == CLI_DONE) {
        status = run_remote_open(ctx, f, program, &remote);
    }
    if (status == CLI_DONE && strcmp(cli_text(ctx, "on"), "slurm") == 0 && remote.hosts == NULL) {
        return run_slurm_outside(ctx, f, program);
    }
    if (status == CLI_DONE) {
        status = run_open_record(ctx, f, &record);
    }
    if (status == CLI_DONE) {
        status = strcmp(cli_text(ctx, "on"), "sim") == 0
                     ? run_on_sim(ctx, f, record, &recording)
                     : run_on_live(ctx, f, record, &remote, &recording);
        recording_end(ctx, &recording);
    }
    run_record_destroy(record);
    run_remote_close(&remote);
    return status;
}

static enum cli_exit run_run(struct cli_context *ctx)
{
    struct run_file *f = NULL;
    enum cli_exit status = run_load(ctx, NULL, &f);

    if (status != CLI_DONE) {
        return status;
    }
    if (cli_flag(ctx, "dry-run")) {
        status = run_dry(ctx, f);
    } else if (cli_flag(ctx, "estimate")) {
        status = run_guess(ctx, f);
    } else {
        status = run_real(ctx, f);
    }
    run_file_free(f);
    return status;
}

const struct cli_command cli_command_run = {
    .path = "run",
    .summary = "train as a run file says, simulated or with real processes",
    .group = CLI_GROUP_RUN,
    .paragraphs =
        (const char *const[]){
            "A run file (YAML) names a map of regions and links, servers, workers, a job, how they "
            "synchronise, what goes wrong, and when it is over; docs/RUNFILE.md has every key, and "
            "the folder runs/ has examples.",
            "--on sim trains for real in virtual time: the same protocol code as in real "
            "processes, on links with the rates, delays and prices of the map, deterministic. "
            "--on local starts a process for every server and worker on this machine, in the clear "
            "on loopback, and one for every link between regions, which has its rate, delay and "
            "jitter. --on lab does it in network namespaces with links of the kernel, and needs "
            "root (docs/LAB.md). A member that is killed is started again. At the end the "
            "simulator says how long it thinks that all of it takes.",
            "--on hosts starts the members on the machines of a file, by ssh, with certificates "
            "that are made for the run; --on slurm submits a job with a node for each site, and "
            "follows it (docs/RUNS.md).",
            "A record of each run is kept in a folder: run.yaml, env.json, events.jsonl, "
            "scalars.csv, links.csv, summary.json, report.html (docs/RECORD.md). Ctrl-C ends a run "
            "cleanly, and a second one at once.",
            NULL},
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "FILE", .help = "a run file", .kind = CLI_FILE}, {0}},
    .options =
        (const struct cli_option[]){
            {.name = "on",
             .placeholder = "WHERE",
             .fallback = "sim",
             .kind = CLI_WORDS,
             .words = "sim local lab hosts slurm",
             .help = "sim: in virtual time; local: as processes on this machine; lab: the same "
                     "in network namespaces, as root; hosts: on the machines of --hosts, by ssh; "
                     "slurm: as a job, one site per node"},
            {.name = "hosts",
             .placeholder = "HOSTS",
             .kind = CLI_FILE,
             .help =
                 "with --on hosts: the machines, which region each is of, and how to get there"},
            {.name = "ssh",
             .placeholder = "COMMAND",
             .help = "with --on hosts: this in place of ssh, as in \"ssh -p 2222 -i key\"; words "
                     "are separated by spaces"},
            {.name = "tidy",
             .help =
                 "with --on hosts or slurm: leave nothing on the machines, not even checkpoints"},
            {.name = "partition",
             .placeholder = "NAME",
             .help = "with --on slurm: as sbatch has it"},
            {.name = "time",
             .placeholder = "TIME",
             .kind = CLI_DURATION,
             .min = 60000000,
             .max = INT64_C(366) * 86400 * 1000000,
             .help = "with --on slurm: how long the job may take, as 2h"},
            {.name = "sbatch",
             .placeholder = "OPTIONS",
             .help = "with --on slurm: more options of sbatch, as \"--account=x --mem=8G\""},
            {.name = "submit",
             .placeholder = "HOW",
             .fallback = "yes",
             .kind = CLI_WORDS,
             .words = "yes no",
             .help = "with --on slurm; no: only write the script"},
            {.name = "detach", .help = "with --on slurm: do not wait for the end of the job"},
            {.name = "inside", .help = "with --on slurm: what the script of the job runs"},
            SECURITY_OPTION_INSECURE,
            {.name = "set",
             .placeholder = "KEY=VALUE",
             .repeats = true,
             .help = "take this instead of what the file says, as in stop.clocks=10 or "
                     "job.options.lr=0.1"},
            {.name = "dry-run",
             .letter = 'n',
             .help = "check the file, print it with all defaults, and stop"},
            {.name = "estimate",
             .help = "start nothing: simulate it and say what it will take, and what a budget "
                     "costs; no record unless --output"},
            {.name = "output",
             .letter = 'o',
             .placeholder = "DIR",
             .kind = CLI_DIR,
             .help = "where to keep the record; default: a new folder below "
                     "~/.local/state/strait/runs"},
            {.name = "no-record", .help = "keep no record"},
            RECORDING_OPTIONS("a worker"),
            {.name = "record-worker",
             .placeholder = "NUMBER",
             .fallback = "0",
             .help = "which worker that is, from 0 on, or all"},
            {.name = "no-prediction",
             .help = "with processes: do not simulate the run at its end, to compare"},
            {0}},
    .examples =
        (const struct cli_example[]){
            {"strait run runs/mf-11-regions.yaml", "eleven regions, in virtual time"},
            {"strait run runs/logreg.yaml --on local --set stop.clocks=50", "real processes"},
            {"strait run runs/lda.yaml -n", "see what would be run"},
            {"strait run runs/gaia-mf-3.yaml --estimate", "see what it will take"},
            {"strait run runs/logreg.yaml --record-updates updates", "for strait codec try"},
            {"strait run runs/gaia-mf-3.yaml --on hosts --hosts hosts.yaml", "on other machines"},
            {"strait run runs/gaia-mf-3.yaml --on slurm --time 2h", "as a job of Slurm"},
            {0}},
    .run = run_run,
};
