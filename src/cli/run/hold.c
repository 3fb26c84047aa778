/* strait hold: the far end of a run on other machines. Not for people: `strait run --on hosts`
 * starts it by ssh. It is told in one line of JSON (run/live/parcel.h) what to put into a folder
 * and which command of strait to start in it, passes on what that says, and then takes orders as
 * lines:
 *
 *     signal TERM|KILL|STOP|CONT|INT     for the process
 *     still                              whoever gave the orders is still there
 *
 * When orders end, or nothing is heard for a minute, the process is ended: nobody outlives the run.
 * The last line is {"event":"held-end","status":0,"signal":0}. Only commands of strait are started,
 * so that a key for ssh can be bound to it: command="strait hold". */

#include "base/fd.h"
#include "base/mem.h"
#include "base/private_dir.h"
#include "cli/command/commands.h"
#include "cli/command/context.h"
#include "loop/child.h"
#include "loop/loop.h"
#include "run/live/parcel.h"
#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HOLD_SILENCE_S = 60,
    HOLD_PATIENCE_S = 3, /* Between TERM and KILL. */
    HOLD_PATH_BYTES = RUN_PARCEL_PATH_BYTES + PATH_MAX,
    HOLD_ORDER_BYTES = 64,
};

static const char hold_mark[] = ".strait-run"; /* In folders that were made here. */

struct hold {
    struct cli_context *ctx;
    struct run_parcel *parcel;
    char *line; /* The first one, and then orders. */
    size_t size;
    size_t rest; /* Where the orders begin. */
    char dir[HOLD_PATH_BYTES];
    struct loop *loop;
    struct loop_poll *ears;
    struct loop_timer timer;
    struct loop_signal *signals[3];
    struct loop_child *child;
    bool ending;
    bool over;
    int64_t status;
    int signum;
};

/* The first line. */

static enum cli_exit hold_bad(struct hold *h, const char *why)
{
    return cli_error(h->ctx, CLI_ERROR_BAD_VALUE, NULL, "hold: %s", why);
}

static enum cli_exit hold_read(struct hold *h)
{
    struct err_text text = {""};
    const char *end = NULL;

    h->line = mem_zalloc(RUN_PARCEL_BYTES_MAX + 1);
    if (h->line == NULL) {
        return cli_error(h->ctx, CLI_ERROR_NO_MEMORY, NULL, "hold: out of memory");
    }
    while (end == NULL) {
        struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
        ssize_t n = poll(&ready, 1, HOLD_SILENCE_S * 1000) == 1
                        ? read(STDIN_FILENO, h->line + h->size, RUN_PARCEL_BYTES_MAX - h->size)
                        : 0;

        if (n <= 0) {
            return hold_bad(h, h->size == RUN_PARCEL_BYTES_MAX
                                   ? "the first line is too long"
                                   : "standard input ended before its first line did; strait run "
                                     "--on hosts starts this command");
        }
        end = memchr(h->line + h->size, '\n', (size_t)n);
        h->size += (size_t)n;
    }
    h->rest = (size_t)(end - h->line) + 1;
    if (run_parcel_parse(h->line, h->rest - 1, &h->parcel, &text) != OK) {
        return hold_bad(h, text.text);
    }
    h->size -= h->rest;
    memmove(h->line, h->line + h->rest, h->size);
    return CLI_DONE;
}

/* Folders. */

static enum cli_exit hold_place(struct hold *h)
{
    const char *home = getenv("HOME");
    const char *dir;
    int size;

    CHECK(h->parcel != NULL);
    dir = h->parcel->dir;
    if (dir[0] == '~' && (home == NULL || home[0] != '/')) {
        return hold_bad(h, "dir begins with ~, but HOME is not set here: give the host a dir that "
                           "begins with /");
    }
    size = dir[0] == '~' ? snprintf(h->dir, sizeof(h->dir), "%s%s", home, dir + 1)
                         : snprintf(h->dir, sizeof(h->dir), "%s", dir);

    return size < RUN_PARCEL_PATH_BYTES ? CLI_DONE : hold_bad(h, "the path of dir is too long");
}

static bool hold_make_above(const char *dir)
{
    char path[HOLD_PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s", dir);
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            if (mkdir(path, 0700) != 0 && errno != EEXIST) {
                return false;
            }
            *at = '/';
        }
    }
    return true;
}

static bool hold_put(const char *dir, const char *name, const char *text, unsigned mode)
{
    char path[HOLD_PATH_BYTES];
    bool good;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    (void)unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode_t)mode);
    good = fd >= 0 && fd_write_all(fd, text, strlen(text));
    if (fd >= 0 && close(fd) != 0) {
        good = false;
    }
    return good;
}

/* Several members of a run may do so at a time. */
static bool hold_leave_mark(const char *dir)
{
    char path[HOLD_PATH_BYTES + 16];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, hold_mark);
    fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd >= 0 && close(fd) == 0;
}

/* Folders and files of the member, in the folder that we are in. */
static enum err hold_unpack_files(const struct run_parcel *p, struct err_text *text)
{
    enum err rc = OK;

    for (uint32_t i = 0; i < p->folders_count && rc == OK; i++) {
        rc = private_dir_make(p->folders[i], text);
    }
    for (uint32_t i = 0; i < p->files_count && rc == OK; i++) {
        if (!hold_put(".", p->files[i].name, p->files[i].text, p->files[i].secret ? 0600 : 0644)) {
            rc = err_text_set(text, ERR_IO, "%s: %s", p->files[i].name, strerror(errno));
        }
    }
    return rc;
}

/* DIR, DIR/MEMBER and what is in it; then we are in there. Keys will be there: the folders are
 * private. */
static enum err hold_unpack(struct hold *h, struct err_text *text)
{
    size_t size = strlen(h->dir);
    enum err rc = hold_make_above(h->dir)
                      ? private_dir_make(h->dir, text)
                      : err_text_set(text, ERR_IO, "%.900s: %s", h->dir, strerror(errno));

    if (rc == OK && !hold_leave_mark(h->dir)) {
        rc = err_text_set(text, ERR_IO, "%.900s: %s", h->dir, strerror(errno));
    }
    (void)snprintf(h->dir + size, sizeof(h->dir) - size, "/%s", h->parcel->member);
    if (rc == OK) {
        rc = private_dir_make(h->dir, text);
    }
    if (rc == OK && chdir(h->dir) != 0) {
        rc = err_text_set(text, ERR_IO, "%.900s: %s", h->dir, strerror(errno));
    }
    return rc == OK ? hold_unpack_files(h->parcel, text) : rc;
}

static void hold_forget_secrets(const struct hold *h)
{
    for (uint32_t i = 0; i < h->parcel->files_count; i++) {
        if (h->parcel->files[i].secret) {
            (void)unlink(h->parcel->files[i].name);
        }
    }
}

/* Keeping the process. */

static void hold_signal(struct hold *h, int signum)
{
    if (h->child != NULL) {
        pid_t pid = (pid_t)loop_child_pid(h->child);

        /* Its group, once it has one of its own. */
        if (kill(-pid, signum) != 0) {
            (void)kill(pid, signum);
        }
    }
}

static void hold_end(struct hold *h)
{
    if (!h->ending) {
        h->ending = true;
        hold_signal(h, SIGTERM);
        hold_signal(h, SIGCONT);
        loop_timer_start_in(&h->timer, HOLD_PATIENCE_S * INT64_C(1000000000));
    }
}

static void hold_timer(struct loop_timer *timer, void *user)
{
    struct hold *h = user;

    (void)timer;
    if (h->ending) {
        hold_signal(h, SIGKILL);
    } else {
        cli_note(h->ctx, "hold: nothing was heard for %d s: %s ends", HOLD_SILENCE_S,
                 h->parcel->member);
        hold_end(h);
    }
}

static void hold_caught(int signum, void *user)
{
    (void)signum;
    hold_end(user);
}

static void hold_order(struct hold *h, const char *order)
{
    static const struct {
        const char *order;
        int signum;
    } signals[] = {{"signal TERM", SIGTERM},
                   {"signal KILL", SIGKILL},
                   {"signal STOP", SIGSTOP},
                   {"signal CONT", SIGCONT},
                   {"signal INT", SIGINT}};

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (strcmp(order, signals[i].order) == 0) {
            hold_signal(h, signals[i].signum);
            return;
        }
    }
    if (strcmp(order, "still") != 0) {
        cli_note(h->ctx, "hold: not an order: %.40s", order);
    }
}

/* All whole lines that are there. */
static void hold_orders(struct hold *h)
{
    char *begin = h->line, *end;

    while ((end = memchr(begin, '\n', h->size)) != NULL) {
        *end = '\0';
        hold_order(h, begin);
        h->size -= (size_t)(end - begin) + 1;
        begin = end + 1;
    }
    memmove(h->line, begin, h->size);
    if (h->size > HOLD_ORDER_BYTES) {
        h->size = 0; /* No order is so long. */
    }
}

static void hold_hear(int events, void *user)
{
    struct hold *h = user;
    ssize_t n = read(STDIN_FILENO, h->line + h->size, RUN_PARCEL_BYTES_MAX - h->size);

    (void)events;
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (n <= 0) {
        loop_poll_destroy(h->ears);
        h->ears = NULL;
        hold_end(h);
        return;
    }
    h->size += (size_t)n;
    if (!h->ending) {
        loop_timer_start_in(&h->timer, HOLD_SILENCE_S * INT64_C(1000000000));
    }
    hold_orders(h);
}

static void hold_exited(struct loop_child *child, int64_t status, int signum, void *user)
{
    struct hold *h = user;

    /* Whoever it has started is of its group. */
    (void)kill(-(pid_t)loop_child_pid(child), SIGKILL);
    h->over = true;
    h->status = status;
    h->signum = signum;
    loop_stop(h->loop);
}

static enum err hold_spawn(struct hold *h)
{
    const char *argv[RUN_PARCEL_ARGS_MAX + 8];
    char program[PATH_MAX], pid[16];
    struct loop_child_config config = {
        .argv = argv, .stdout_fd = -1, .stderr_fd = -1, .exited = hold_exited, .user = h};
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    size_t count = 0;

    if (n < 0) {
        return ERR_IO;
    }
    program[n] = '\0';
    (void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
    argv[count++] = program;
    argv[count++] = "tied";
    argv[count++] = pid;
    argv[count++] = "--";
    argv[count++] = program;
    for (uint32_t i = 1; i <= h->parcel->argv_count; i++) {
        argv[count++] = h->parcel->argv[i]; /* The last is NULL. */
    }
    return loop_child_spawn(h->loop, &config, &h->child);
}

static enum err hold_open(struct hold *h)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    enum err rc = loop_create(&h->loop);

    if (rc == OK) {
        rc = loop_timer_init(&h->timer, h->loop, hold_timer, h);
    }
    for (size_t i = 0; i < 3 && rc == OK; i++) {
        rc = loop_signal_create(h->loop, signals[i], hold_caught, h, &h->signals[i]);
    }
    if (rc == OK) {
        rc = loop_poll_create(h->loop, STDIN_FILENO, hold_hear, h, &h->ears);
    }
    if (rc == OK) {
        loop_poll_want(h->ears, LOOP_READABLE);
        loop_timer_start_in(&h->timer, HOLD_SILENCE_S * INT64_C(1000000000));
        rc = hold_spawn(h);
    }
    return rc;
}

static void hold_close(struct hold *h)
{
    loop_child_destroy(h->child);
    loop_poll_destroy(h->ears);
    for (size_t i = 0; i < 3; i++) {
        if (h->signals[i] != NULL) {
            loop_signal_destroy(h->signals[i]);
        }
    }
    loop_timer_deinit(&h->timer);
    loop_destroy(h->loop);
}

static enum cli_exit hold_keep(struct hold *h)
{
    struct err_text text = {""};
    enum err rc;

    if (hold_unpack(h, &text) != OK) {
        return cli_error(h->ctx, CLI_ERROR_FILE, NULL, "hold: %s", text.text);
    }
    rc = hold_open(h);
    if (rc == OK) {
        hold_orders(h);
        while (!h->over) {
            loop_run(h->loop);
        }
    }
    hold_close(h);
    hold_forget_secrets(h);
    if (rc != OK) {
        return cli_error(h->ctx, CLI_ERROR_RUN_FAILED, NULL, "hold: %s cannot be started: %s",
                         h->parcel->member, err_string(rc));
    }
    cli_out(h->ctx, "{\"event\":\"held-end\",\"status\":%" PRId64 ",\"signal\":%d}\n", h->status,
            h->signum);
    return (enum cli_exit)(h->signum != 0 ? 128 + h->signum : h->status & 0xff);
}

/* Answering, and removing. */

static enum cli_exit hold_answer(struct hold *h)
{
    char problem[RUN_PARCEL_PATH_BYTES + 128] = "";
    json_t *answer;
    char *line;

    if (!hold_make_above(h->dir) || (mkdir(h->dir, 0700) != 0 && errno != EEXIST) ||
        access(h->dir, W_OK | X_OK) != 0) {
        (void)snprintf(problem, sizeof(problem), "%.1000s cannot be written: %s", h->dir,
                       strerror(errno));
    }
    for (uint32_t i = 0; i < h->parcel->paths_count && problem[0] == '\0'; i++) {
        if (access(h->parcel->paths[i], R_OK) != 0) {
            (void)snprintf(problem, sizeof(problem),
                           "%.1000s: %s; it has to be there under the "
                           "same path",
                           h->parcel->paths[i], strerror(errno));
        }
    }
    answer = json_pack("{s:s, s:s, s:{s:i, s:i}, s:s*}", "event", "host", "version", STRAIT_VERSION,
                       "wire", "min", WIRE_VERSION_MIN, "max", WIRE_VERSION_MAX, "problem",
                       problem[0] == '\0' ? NULL : problem);
    line = answer == NULL ? NULL : json_dumps(answer, JSON_COMPACT);
    if (line != NULL) {
        cli_out(h->ctx, "%s\n", line);
    }
    free(line);
    json_decref(answer);
    return line != NULL ? CLI_DONE
                        : cli_error(h->ctx, CLI_ERROR_NO_MEMORY, NULL, "hold: out of memory");
}

static int hold_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* Only what was made here. Several hosts of a run may be one machine: the first to give the folder
 * another name removes it, and for the others it is gone. */
static enum cli_exit hold_remove(struct hold *h)
{
    char path[HOLD_PATH_BYTES + 16], gone[HOLD_PATH_BYTES + 32];
    bool marked;

    (void)snprintf(path, sizeof(path), "%s/%s", h->dir, hold_mark);
    (void)snprintf(gone, sizeof(gone), "%s.gone-%d", h->dir, (int)getpid());
    marked = access(path, F_OK) == 0;
    if (marked && rename(h->dir, gone) == 0) {
        if (nftw(gone, hold_remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0) {
            return cli_error(h->ctx, CLI_ERROR_FILE, NULL, "hold: %s: %s", gone, strerror(errno));
        }
    } else if (access(h->dir, F_OK) == 0) {
        return cli_error(h->ctx, CLI_ERROR_FILE, NULL, "hold: %s stays: %s", h->dir,
                         marked ? strerror(errno) : "it is not the folder of a run");
    }
    cli_out(h->ctx, "{\"event\":\"removed\"}\n");
    return CLI_DONE;
}

static enum cli_exit hold_run(struct cli_context *ctx)
{
    static struct hold h; /* Too large for the stack. */
    enum cli_exit status;

    h = (struct hold){.ctx = ctx};
    (void)setsid(); /* Ctrl-C at a terminal is for whoever gives the orders. */
    status = hold_read(&h);
    if (status == CLI_DONE) {
        status = hold_place(&h);
    }
    if (status == CLI_DONE) {
        status = h.parcel->kind == RUN_PARCEL_HOLD  ? hold_keep(&h)
                 : h.parcel->kind == RUN_PARCEL_ASK ? hold_answer(&h)
                                                    : hold_remove(&h);
    }
    run_parcel_free(h.parcel);
    mem_free(h.line);
    return status;
}

const struct cli_command cli_command_hold = {
    .path = "hold",
    .summary = "keep a member of a run for another machine",
    .group = CLI_GROUP_RUN,
    .hidden = true,
    .run = hold_run,
};
