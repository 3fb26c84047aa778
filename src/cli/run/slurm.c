/* strait run --on slurm, outside of a job: write the batch script, submit it, and follow the job
 * until it is over. What runs in the job is the same command with --inside. */

#include "base/mem.h"
#include "cli/member/security.h"
#include "cli/run/capture.h"
#include "cli/run/run.h"
#include "loop/loop.h"
#include "run/backend/slurm.h"
#include "topo/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SLURM_TICK_MS = 300,
    SLURM_ASK_TICKS = 4, /* So often Slurm is asked how the job is. */
    SLURM_PATIENCE_TICKS = 200,
    SLURM_SAID_BYTES = 16 * 1024,
    SLURM_RESULT_BYTES_MAX = 4 << 20,
};

struct slurm {
    struct cli_context *ctx;
    char dir[PATH_MAX];
    uint64_t job;
    struct loop *loop;
    struct loop_timer tick;
    struct loop_signal *signals[2];
    uint32_t ticks;
    enum run_slurm_state state;
    char reason[128]; /* Why it waits, as was told last. */
    int exit_status;
    off_t read; /* Of what the job says to people. */
    char line[1024];
    size_t line_size;
    int caught;
    uint32_t caught_at; /* Tick. */
    bool over;
};

/* Writing. */

static enum cli_exit slurm_absolute(struct cli_context *ctx, const char *path, char *out,
                                    size_t size)
{
    char cwd[PATH_MAX];

    if (getcwd(cwd, sizeof(cwd)) == NULL) {
        return cli_error(ctx, CLI_ERROR_FILE, NULL, "the working directory: %s", strerror(errno));
    }
    if (path[0] == '\0') {
        out[0] = '\0';
        return CLI_DONE;
    }
    if (snprintf(out, size, "%s%s%s", path[0] == '/' ? "" : cwd, path[0] == '/' ? "" : "/", path) >=
            (int)size ||
        !run_slurm_path_good(out)) {
        return cli_error(
            ctx, CLI_ERROR_BAD_VALUE, NULL,
            "%s: the path stands in a batch script, where it must not be long nor hold "
            "spaces, quotes or percent signs: choose another one",
            path);
    }
    return CLI_DONE;
}

static enum cli_exit slurm_put(struct slurm *s, const char *name, const struct text *text)
{
    struct err_text why = {""};

    if (text->failed) {
        return cli_error(s->ctx, CLI_ERROR_NO_MEMORY, NULL, "run: out of memory for %s", name);
    }
    return run_folder_put(s->dir, name, text->chars, text->size, &why) == OK
               ? CLI_DONE
               : cli_error(s->ctx, CLI_ERROR_FILE, NULL, "%s", why.text);
}

/* What goes into the script has to stay on its line. */
static enum cli_exit slurm_check(struct cli_context *ctx, const char *program)
{
    const char *partition = cli_text(ctx, "partition"), *extra = cli_text(ctx, "sbatch");

    if (cli_flag(ctx, "no-record")) {
        return cli_error(ctx, CLI_ERROR_SETTINGS, NULL,
                         "run: --no-record: the script of a job is in its record; leave it away");
    }
    if (partition != NULL && (partition[0] == '\0' || strpbrk(partition, " \t\n'\"\\") != NULL)) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "--partition: has to be one word");
    }
    if (extra != NULL && (extra[0] != '-' || strchr(extra, '\n') != NULL)) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--sbatch: has to be options on one line, as \"--account=x --mem=8G\"");
    }
    if (!run_slurm_path_good(program)) {
        return cli_error(ctx, CLI_ERROR_FILE, NULL,
                         "%s: this path cannot stand in a batch script: install strait elsewhere",
                         program);
    }
    return CLI_DONE;
}

/* The folder of the record, which nobody else has. */
static enum cli_exit slurm_folder(struct slurm *s, const struct run_file *f)
{
    static const char *const names[] = {"run.yaml", "job.sbatch"};
    const char *given = cli_text(s->ctx, "output");
    char dir[1024], path[PATH_MAX + 16];
    struct err_text why = {""};
    enum cli_exit status =
        given == NULL ? run_default_dir(s->ctx, f->name, dir, sizeof(dir)) : CLI_DONE;

    if (status == CLI_DONE) {
        status = slurm_absolute(s->ctx, given == NULL ? dir : given, s->dir, sizeof(s->dir) - 16);
    }
    for (size_t i = 0; i < 2 && status == CLI_DONE; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", s->dir, names[i]);
        if (access(path, F_OK) == 0) {
            status = cli_error(s->ctx, CLI_ERROR_EXISTS, NULL,
                               "%s holds another run: choose another folder", s->dir);
        }
    }
    if (status == CLI_DONE && run_folder_make(s->dir, &why) != OK) {
        status = cli_error(s->ctx, CLI_ERROR_FILE, NULL, "%s", why.text);
    }
    return status;
}

static enum cli_exit slurm_write(struct slurm *s, const struct run_file *f, const char *program)
{
    const char *library = f->between.library == NULL ? "" : f->between.library;
    char data[PATH_MAX], from[PATH_MAX];
    struct run_slurm_script script = {.file = f,
                                      .program = program,
                                      .dir = s->dir,
                                      .data = data,
                                      .library = from,
                                      .partition = cli_text(s->ctx, "partition"),
                                      .extra = cli_text(s->ctx, "sbatch"),
                                      .limit_s = cli_number(s->ctx, "time") / 1000000,
                                      .insecure = security_insecure(s->ctx),
                                      .tidy = cli_flag(s->ctx, "tidy")};
    enum cli_exit status = slurm_absolute(s->ctx, f->job.data, data, sizeof(data));
    struct text text;

    if (status == CLI_DONE) {
        status = slurm_absolute(s->ctx, library, from, sizeof(from));
    }
    if (status != CLI_DONE) {
        return status;
    }
    if (text_init(&text, RUN_PRINT_BYTES_MAX) != OK) {
        return cli_error(s->ctx, CLI_ERROR_NO_MEMORY, NULL, "run: out of memory");
    }
    run_file_print(f, &text);
    status = slurm_put(s, "job.yaml", &text);
    text_clear(&text);
    run_slurm_script(&script, &text);
    if (status == CLI_DONE) {
        status = slurm_put(s, "job.sbatch", &text);
    }
    text_deinit(&text);
    return status;
}

static enum cli_exit slurm_submit(struct slurm *s)
{
    char path[PATH_MAX + 16], said[SLURM_SAID_BYTES];
    const char *const argv[] = {"sbatch", "--parsable", path, NULL};
    int status = 0;
    enum err rc;

    (void)snprintf(path, sizeof(path), "%s/job.sbatch", s->dir);
    rc = capture(argv, said, sizeof(said), &status);
    s->job = rc == OK && status == 0 ? run_slurm_job(said) : 0;
    if (rc == ERR_NOT_FOUND) {
        return cli_error(s->ctx, CLI_ERROR_HOSTS, NULL,
                         "there is no sbatch on this machine: go to one from which jobs are "
                         "submitted; the script is %s",
                         path);
    }
    said[strcspn(said, "\n")] = s->job == 0 && strchr(said, '\n') != NULL ? ' ' : '\0';
    if (s->job == 0) {
        return cli_error(s->ctx, CLI_ERROR_HOSTS, NULL, "sbatch refuses %s: %.600s", path,
                         rc == OK ? said : err_string(rc));
    }
    return CLI_DONE;
}

/* Following. */

/* What the job says to people, line by line. */
static void slurm_pass_on(struct slurm *s)
{
    char path[PATH_MAX + 64], clean[4 * sizeof(s->line)];
    struct text text;
    int fd;
    char c;

    (void)snprintf(path, sizeof(path), "%s/slurm-%" PRIu64 ".err", s->dir, s->job);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || lseek(fd, s->read, SEEK_SET) != s->read) {
        s->read = fd < 0 ? s->read : 0;
    }
    while (fd >= 0 && read(fd, &c, 1) == 1) {
        s->read++;
        if (c != '\n' && s->line_size < sizeof(s->line) - 1) {
            s->line[s->line_size++] = c;
        }
        if (c == '\n') {
            s->line[s->line_size] = '\0';
            s->line_size = 0;
            text_init_fixed(&text, clean, sizeof(clean));
            text_add_printable(&text, s->line);
            cli_note(s->ctx, "%s", clean);
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static void slurm_note_waiting(struct slurm *s, const char *said)
{
    char reason[sizeof(s->reason)];

    if (run_slurm_value(said, "Reason", reason, sizeof(reason)) && strcmp(reason, s->reason) != 0 &&
        strcmp(reason, "None") != 0) {
        memcpy(s->reason, reason, sizeof(reason));
        cli_note(s->ctx, "job %" PRIu64 " waits: %s", s->job, reason);
    }
}

static void slurm_ask(struct slurm *s)
{
    char said[SLURM_SAID_BYTES], value[32], number[24];
    const char *const argv[] = {"scontrol", "show", "job", "-o", number, NULL};
    enum run_slurm_state before = s->state;
    int status = 0;

    (void)snprintf(number, sizeof(number), "%" PRIu64, s->job);
    if (capture(argv, said, sizeof(said), &status) != OK || status != 0) {
        /* Long gone, if Slurm says so; else it may be busy. */
        s->over = strstr(said, "Invalid job id") != NULL;
        return;
    }
    if (!run_slurm_value(said, "JobState", value, sizeof(value))) {
        return;
    }
    s->state = run_slurm_state(value);
    s->over = s->state > RUN_SLURM_RUNS;
    if (s->state == RUN_SLURM_WAITS) {
        slurm_note_waiting(s, said);
    } else if (s->state == RUN_SLURM_RUNS && before == RUN_SLURM_WAITS) {
        cli_note(s->ctx, "job %" PRIu64 " runs", s->job);
    }
    if (run_slurm_value(said, "ExitCode", value, sizeof(value))) {
        int code = 0, signum = 0;

        if (sscanf(value, "%d:%d", &code, &signum) == 2) {
            s->exit_status = signum != 0 ? 128 + signum : code;
        }
    }
}

/* Only the run itself is told, so that it ends in order; a job that waits is taken away, and so is
 * one that does not end. */
static void slurm_cancel(struct slurm *s, bool gently)
{
    char number[24], said[256];
    const char *const soft[] = {"scancel", "--batch", "--signal=TERM", number, NULL};
    const char *const hard[] = {"scancel", number, NULL};
    int status = 0;

    (void)snprintf(number, sizeof(number), "%" PRIu64, s->job);
    if (capture(gently ? soft : hard, said, sizeof(said), &status) != OK || status != 0) {
        cli_note(s->ctx, "scancel %s: %.200s", number, said);
    }
}

static void slurm_caught(int signum, void *user)
{
    struct slurm *s = user;

    if (s->caught != 0) {
        slurm_cancel(s, false);
        s->over = true;
        loop_stop(s->loop);
        return;
    }
    s->caught = signum;
    s->caught_at = s->ticks;
    cli_note(s->ctx, "job %" PRIu64 " is told to end; once more cancels it at once", s->job);
    slurm_ask(s);
    slurm_cancel(s, s->state == RUN_SLURM_RUNS);
}

static void slurm_tick(struct loop_timer *timer, void *user)
{
    struct slurm *s = user;

    slurm_pass_on(s);
    if (s->ticks++ % SLURM_ASK_TICKS == 0) {
        slurm_ask(s);
    }
    if (s->caught != 0 && s->ticks == s->caught_at + SLURM_PATIENCE_TICKS) {
        slurm_cancel(s, false);
    }
    if (s->over) {
        slurm_pass_on(s);
        loop_stop(s->loop);
    } else {
        loop_timer_start_in(timer, SLURM_TICK_MS * INT64_C(1000000));
    }
}

static enum err slurm_watch(struct slurm *s)
{
    enum err rc = loop_create(&s->loop);

    if (rc == OK) {
        rc = loop_timer_init(&s->tick, s->loop, slurm_tick, s);
    }
    if (rc == OK) {
        rc = loop_signal_create(s->loop, SIGINT, slurm_caught, s, &s->signals[0]);
    }
    if (rc == OK) {
        rc = loop_signal_create(s->loop, SIGTERM, slurm_caught, s, &s->signals[1]);
    }
    if (rc == OK) {
        loop_timer_start_in(&s->tick, 0);
        while (!s->over) {
            loop_run(s->loop);
        }
    }
    for (int i = 0; i < 2; i++) {
        if (s->signals[i] != NULL) {
            loop_signal_destroy(s->signals[i]);
        }
    }
    loop_timer_deinit(&s->tick);
    loop_destroy(s->loop);
    return rc;
}

/* The end. */

static enum cli_exit slurm_show_json(struct slurm *s)
{
    char path[PATH_MAX + 64];
    json_t *summary;

    (void)snprintf(path, sizeof(path), "%s/summary.json", s->dir);
    summary = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    if (summary == NULL) {
        return CLI_DONE; /* Why there is none was said, or will be. */
    }
    (void)json_object_set_new(summary, "record", json_string(s->dir));
    (void)json_object_set_new(summary, "job", json_integer((json_int_t)s->job));
    return cli_json(s->ctx, summary);
}

/* What the run in the job has printed as its result. */
static enum cli_exit slurm_show(struct slurm *s)
{
    char path[PATH_MAX + 64];
    struct text text = {0};

    if (s->ctx->json) {
        return slurm_show_json(s);
    }
    (void)snprintf(path, sizeof(path), "%s/slurm-%" PRIu64 ".out", s->dir, s->job);
    if (topo_file_read(path, SLURM_RESULT_BYTES_MAX, &text, NULL) == OK) {
        cli_out(s->ctx, "%s", text.chars);
        text_deinit(&text);
    }
    return CLI_DONE;
}

static enum cli_exit slurm_judge(struct slurm *s)
{
    if (s->caught != 0) {
        return s->caught == SIGINT ? CLI_INTERRUPTED : CLI_TERMINATED;
    }
    switch (s->state) {
    case RUN_SLURM_CANCELLED:
        return cli_error(s->ctx, CLI_ERROR_RUN_FAILED, NULL,
                         "job %" PRIu64 " was cancelled; what there is is in %s", s->job, s->dir);
    case RUN_SLURM_TIMEOUT:
        return cli_error(s->ctx, CLI_ERROR_RUN_FAILED, NULL,
                         "job %" PRIu64 " was at the end of its time: give it more with --time; "
                         "what there is is in %s",
                         s->job, s->dir);
    case RUN_SLURM_FAILED:
        return cli_error(s->ctx, CLI_ERROR_RUN_FAILED, NULL,
                         "Slurm ended job %" PRIu64 ": see scontrol show job %" PRIu64 " and %s",
                         s->job, s->job, s->dir);
    default:
        break;
    }
    return s->exit_status == 0 ? CLI_DONE
                               : cli_error(s->ctx, CLI_ERROR_RUN_FAILED, NULL,
                                           "the run in job %" PRIu64
                                           " ended with status %d: see %s/slurm-%" PRIu64 ".err",
                                           s->job, s->exit_status, s->dir, s->job);
}

static enum cli_exit slurm_follow(struct slurm *s)
{
    enum cli_exit status;

    cli_note(s->ctx,
             "job %" PRIu64 " is submitted; to watch it: squeue -j %" PRIu64
             ", tail -f %s/slurm-%" PRIu64 ".err",
             s->job, s->job, s->dir, s->job);
    if (cli_flag(s->ctx, "detach")) {
        if (s->ctx->json) {
            return cli_json(s->ctx,
                            json_pack("{s:I, s:s}", "job", (json_int_t)s->job, "record", s->dir));
        }
        cli_out(s->ctx, "job %" PRIu64 ", record %s\n", s->job, s->dir);
        return CLI_DONE;
    }
    if (slurm_watch(s) != OK) {
        return cli_error(s->ctx, CLI_ERROR_NO_MEMORY, NULL, "run: the job cannot be followed");
    }
    status = slurm_show(s);
    return status == CLI_DONE ? slurm_judge(s) : status;
}

enum cli_exit run_slurm_outside(struct cli_context *ctx, const struct run_file *f,
                                const char *program)
{
    static struct slurm s; /* Too large for the stack. */
    enum cli_exit status;

    s = (struct slurm){.ctx = ctx};
    status = slurm_check(ctx, program);
    if (status == CLI_DONE) {
        status = slurm_folder(&s, f);
    }
    if (status == CLI_DONE) {
        status = slurm_write(&s, f, program);
    }
    if (status == CLI_DONE && strcmp(cli_text(ctx, "submit"), "no") == 0) {
        cli_out(ctx, "%s/job.sbatch\n", s.dir);
        cli_next(ctx, "sbatch %s/job.sbatch", s.dir);
        return CLI_DONE;
    }
    if (status == CLI_DONE) {
        status = slurm_submit(&s);
    }
    return status == CLI_DONE ? slurm_follow(&s) : status;
}
