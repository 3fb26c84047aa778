/* strait lab up: make a lab and leave it running. */

#include "base/fd.h"
#include "base/mem.h"
#include "cli/command/commands.h"
#include "cli/lab/lab.h"
#include "emu/lab/plan.h"
#include "emu/lab/request.h"
#include "run/file/file.h"
#include "run/file/set.h"
#include "topo/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UP_HEAD_BYTES = 4096, UP_GONE_MS = 2000 };

/* Of the two kinds of file, only topologies are JSON. */
static bool up_is_topology(const char *path)
{
    char head[UP_HEAD_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : fd_read_all(fd, head, sizeof(head));
    ssize_t at = 0;

    if (fd >= 0) {
        (void)close(fd);
    }
    while (at < n && strchr(" \t\r\n", head[at]) != NULL) {
        at++;
    }
    return at < n && head[at] == '{';
}

static enum cli_exit up_file_bad(struct cli_context *ctx, enum err rc, enum cli_error_id id,
                                 const char *text)
{
    return cli_error(ctx,
                     rc == ERR_NOT_FOUND || rc == ERR_IO ? CLI_ERROR_FILE
                     : rc == ERR_NOMEM                   ? CLI_ERROR_NO_MEMORY
                                                         : id,
                     NULL, "%s", text);
}

/* What the keeper is asked for. @run_out: the run file, which the caller releases, if it is one. */
static enum cli_exit up_request(struct cli_context *ctx, struct text *out)
{
    const char *path = cli_argument(ctx, 0);
    uint32_t hosts = (uint32_t)cli_number(ctx, "hosts"), mtu = (uint32_t)cli_number(ctx, "mtu");
    struct err_text text = {""};
    struct run_file *run = NULL;
    struct topo *topo = NULL;
    enum err rc;

    if (up_is_topology(path)) {
        rc = topo_file_load(path, &topo, &text);
        if (rc != OK) {
            return up_file_bad(ctx, rc, CLI_ERROR_TOPOLOGY, text.text);
        }
    } else {
        rc = run_set_load(path, NULL, 0, &run, &text);
        if (rc != OK) {
            return up_file_bad(ctx, rc, CLI_ERROR_RUN_FILE, text.text);
        }
    }
    lab_request_print(run != NULL ? run->topo : topo, hosts, mtu, out);
    topo_destroy(topo);
    run_file_free(run);
    return out->failed ? cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "no memory for a topology")
                       : CLI_DONE;
}

/* A lab may be refused for what the file says: better now, with the file's name. */
static enum cli_exit up_check(struct cli_context *ctx, const struct text *request)
{
    struct lab_plan *plan = NULL;
    struct err_text text = {""};
    enum err rc = lab_request_parse(request->chars, request->size, &plan, &text);

    if (rc != OK) {
        return cli_error(ctx, CLI_ERROR_TOPOLOGY, NULL, "%s: %s", cli_argument(ctx, 0), text.text);
    }
    mem_free(plan);
    return CLI_DONE;
}

/* The lock of a lab that does not run; what a dead one left is cleared. */
static enum cli_exit up_lock(struct cli_context *ctx, const struct lab_place *p, int *lock_out)
{
    uint32_t ended, left = 0;

    *lock_out = lab_lock(p, true);
    if (*lock_out < 0 && errno == EWOULDBLOCK && lab_keeper(p) == 0) {
        *lock_out = lab_lock_wait(p, UP_GONE_MS); /* What a dead keeper had started is ending. */
        *lock_out = *lock_out < 0 && errno == ENOENT ? lab_lock(p, true) : *lock_out;
    }
    if (*lock_out < 0 && errno == EWOULDBLOCK) {
        return cli_error(ctx, CLI_ERROR_LAB_RUNS, "strait lab show", "lab %s runs already",
                         p->name);
    }
    if (*lock_out < 0) {
        return cli_error(ctx, CLI_ERROR_LAB_REFUSED, NULL, "%s: %s%s", p->dir, strerror(errno),
                         errno == EACCES || errno == EPERM ? "; a lab needs root" : "");
    }
    if (access(p->state, F_OK) == 0 || access(p->control, F_OK) == 0) {
        ended = lab_clear_processes(p, &left);
        (void)unlink(p->state);
        (void)unlink(p->control);
        cli_note(ctx, "lab %s was not taken down, its keeper is dead: cleared%s", p->name,
                 ended > 0 ? ", and what still ran inside was ended" : "");
    }
    return CLI_DONE;
}

/* The keeper. */

struct up_keeper {
    pid_t pid;
    int in;  /* To it, ... */
    int out; /* ... and from it. */
};

_Noreturn static void up_become(const struct lab_place *p, const char *program, int in, int out,
                                int lock)
{
    const char *const argv[] = {"strait", "lab",   "keep", "--name", p->name,
                                "--json", "--log", "info", NULL};
    int log = open(p->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    (void)setsid();
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    if (chdir("/") == 0 && log >= 0 && dup2(in, STDIN_FILENO) >= 0 &&
        dup2(out, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0 &&
        (lock == LAB_LOCK_FD ? fcntl(lock, F_SETFD, 0) : dup2(lock, LAB_LOCK_FD)) >= 0) {
        (void)execv(program, (char *const *)(uintptr_t)argv);
    }
    _exit(CLI_FAILED);
}

static enum cli_exit up_start(struct cli_context *ctx, const struct lab_place *p, int lock,
                              struct up_keeper *keeper)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    char program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

    if (n < 0 || pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        return cli_error(ctx, CLI_ERROR_LAB, NULL, "the keeper cannot be started: %s",
                         strerror(errno));
    }
    program[n] = '\0';
    cli_flush(ctx);
    keeper->pid = fork();
    if (keeper->pid == 0) {
        up_become(p, program, in[0], out[1], lock);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    keeper->in = in[1];
    keeper->out = out[0];
    if (keeper->pid < 0) {
        return cli_error(ctx, CLI_ERROR_LAB, NULL, "the keeper cannot be started: %s",
                         strerror(errno));
    }
    return CLI_DONE;
}

/* Its first line, or NULL. */
static json_t *up_hear(const struct up_keeper *keeper)
{
    struct text line = {0};
    char piece[16 * 1024];
    json_t *said = NULL;
    ssize_t n = 1;

    if (text_init(&line, LAB_REQUEST_BYTES_MAX) != OK) {
        return NULL;
    }
    while (n > 0 && strchr(line.chars, '\n') == NULL && !line.failed) {
        n = read(keeper->out, piece, sizeof(piece));
        n = n < 0 && errno == EINTR ? 1 : n;
        text_add_bytes(&line, piece, n > 0 ? (size_t)n : 0);
    }
    said = json_loadb(line.chars, strcspn(line.chars, "\n"), JSON_REJECT_DUPLICATES, NULL);
    text_deinit(&line);
    return said;
}

/* It did not come up: say why, as far as it told us. */
static enum cli_exit up_failed(struct cli_context *ctx, const struct lab_place *p,
                               const struct up_keeper *keeper, const json_t *said)
{
    const char *text = json_string_value(json_object_get(said, "text"));
    int status = 0;

    while (waitpid(keeper->pid, &status, 0) < 0 && errno == EINTR) {
    }
    lab_clear_files(p);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CLI_REFUSED) {
        return cli_error(ctx, CLI_ERROR_LAB_REFUSED, NULL, "%s", text == NULL ? "?" : text);
    }
    return cli_error(ctx, CLI_ERROR_LAB, NULL, "the keeper ended before the lab was up: %s",
                     text == NULL ? "it gave no reason" : text);
}

static enum cli_exit up_say(struct cli_context *ctx, const struct lab_place *p)
{
    json_t *show = NULL;
    enum cli_exit status = lab_ask(ctx, p, "show", &show);
    const char *region;

    if (status != CLI_DONE) {
        return status;
    }
    if (ctx->json) {
        return cli_json(ctx, show);
    }
    lab_print(ctx, p->name, show);
    region = json_string_value(
        json_object_get(json_array_get(json_object_get(show, "hosts"), 0), "region"));
    cli_next(ctx, "strait lab exec %s bash", region == NULL ? "REGION" : region);
    cli_next(ctx, "strait lab set A B rate=50mbit delay=20ms");
    cli_next(ctx, "strait lab down");
    json_decref(show);
    return CLI_DONE;
}

static enum cli_exit up_locked(struct cli_context *ctx, const struct lab_place *p,
                               const struct text *request, int lock)
{
    struct up_keeper keeper = {.in = -1, .out = -1};
    enum cli_exit status = up_start(ctx, p, lock, &keeper);
    json_t *said;

    if (status != CLI_DONE) {
        lab_clear_files(p);
        return status;
    }
    (void)!fd_write_all(keeper.in, request->chars, request->size); /* Else it says so. */
    (void)close(keeper.in);
    said = up_hear(&keeper);
    if (json_is_string(json_object_get(said, "event")) &&
        strcmp(json_string_value(json_object_get(said, "event")), "ready") == 0) {
        status = up_say(ctx, p);
    } else {
        status = up_failed(ctx, p, &keeper, said);
    }
    (void)close(keeper.out);
    json_decref(said);
    return status;
}

static enum cli_exit up_run(struct cli_context *ctx)
{
    struct text request = {0};
    struct lab_place place;
    int lock = -1;
    enum cli_exit status = lab_place_given(ctx, &place);

    if (status == CLI_DONE && text_init(&request, LAB_REQUEST_BYTES_MAX) != OK) {
        status = cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "no memory for a topology");
    }
    if (status == CLI_DONE) {
        status = up_request(ctx, &request);
    }
    if (status == CLI_DONE) {
        status = up_check(ctx, &request);
    }
    if (status == CLI_DONE) {
        status = up_lock(ctx, &place, &lock);
    }
    if (status == CLI_DONE) {
        status = up_locked(ctx, &place, &request, lock);
        (void)close(lock);
    }
    text_deinit(&request);
    return status;
}

const struct cli_command cli_command_lab_up = {
    .path = "lab up",
    .summary = "make a lab of a topology, and leave it running",
    .paragraphs =
        (const char *const[]){
            "Region R, counted from 0, has the addresses 10.(64+R).0.0/16; its router is .0.1 and "
            "its hosts are .0.2 and so on. Hosts of a region are joined by a LAN of the topology's "
            "rate; its delay is not emulated. Links have the rates, delays, jitter and loss of the "
            "topology; of a run file, those that the run has (links.scale).",
            "One machine carries about 2.5 Gbit/s between regions in all with packets of 9000 "
            "bytes, and 0.4 Gbit/s with 1500: the lab says if a topology has more.",
            NULL},
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "FILE", .help = "a topology file or a run file", .kind = CLI_FILE},
            {0}},
    .options =
        (const struct cli_option[]){
            {.name = "name",
             .placeholder = "NAME",
             .fallback = "lab",
             .help = "what to call it, for several at once"},
            CLI_OPTION_NUMBER("hosts", "COUNT", "1", "hosts in each region", 0, LAB_HOSTS_MAX),
            CLI_OPTION_NUMBER("mtu", "BYTES", "9000", "largest packet, everywhere", LAB_MTU_MIN,
                              LAB_MTU_MAX),
            {0}},
    .examples =
        (const struct cli_example[]){
            {"strait lab up topologies/three-regions.json", "three regions, a host in each"},
            {"strait lab up runs/gaia-mf-3.yaml --hosts 3", "the map of a run"},
            {0}},
    .run = up_run,
};
