/* strait lab exec: run a program on a host of a lab. */

#include "cli/command/commands.h"
#include "cli/lab/lab.h"
#include "emu/lab/inside.h"
#include "emu/lab/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXEC_NOT_FOUND = 127, EXEC_NOT_RUN = 126, EXEC_SIGNALLED = 128, EXEC_NOT_INSIDE = 125 };

/* "tokyo", "tokyo/2" or "tokyo/router". */
struct exec_target {
    char region[TOPO_NAME_BYTES];
    bool router;
    json_int_t index;
};

static bool exec_target_parse(const char *word, struct exec_target *out)
{
    size_t size = strcspn(word, "/");
    const char *rest = word[size] == '/' ? word + size + 1 : "0";
    char *end = NULL;

    if (size == 0 || size >= sizeof(out->region)) {
        return false;
    }
    *out = (struct exec_target){.router = strcmp(rest, "router") == 0};
    memcpy(out->region, word, size);
    out->index = out->router ? 0 : strtol(rest, &end, 10);
    return out->router || (*rest >= '0' && *rest <= '9' && *end == '\0');
}

/* The host, or NULL with the error printed. */
static const json_t *exec_find(struct cli_context *ctx, const json_t *show, const char *word,
                               enum cli_exit *status)
{
    struct exec_target target;
    const json_t *list, *place;
    size_t i, of_region = 0;

    if (!exec_target_parse(word, &target)) {
        *status = cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait lab show",
                            "'%s': a region is wanted, or REGION/NUMBER, or REGION/router", word);
        return NULL;
    }
    list = json_object_get(show, target.router ? "routers" : "hosts");
    json_array_foreach(list, i, place)
    {
        const char *region = json_string_value(json_object_get(place, "region"));

        if (region == NULL || strcmp(region, target.region) != 0) {
            continue;
        }
        of_region++;
        if (target.router || json_integer_value(json_object_get(place, "index")) == target.index) {
            return place;
        }
    }
    *status = of_region > 0
                  ? cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait lab show",
                              "%s has %zu host%s: there is no number %" JSON_INTEGER_FORMAT,
                              target.region, of_region, of_region == 1 ? "" : "s", target.index)
                  : cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait lab show",
                              "no host in a region '%s'", target.region);
    return NULL;
}

/* The way in. Its number must be the one that the lab said: the keeper's may be another's by now.
 */
static int exec_open(const json_t *place)
{
    const char *path = json_string_value(json_object_get(place, "ns"));
    json_int_t number = json_integer_value(json_object_get(place, "number"));
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && lab_inside_number(fd) != (uint64_t)number) {
        (void)close(fd);
        errno = ENOENT;
        fd = -1;
    }
    return fd;
}

_Noreturn static void exec_become(struct cli_context *ctx, int ns, pid_t parent,
                                  const sigset_t *mask)
{
    const char *argv[CLI_ARGUMENTS_MAX + 1];
    size_t count = 0;

    for (; cli_argument(ctx, count + 1) != NULL; count++) {
        argv[count] = cli_argument(ctx, count + 1);
    }
    argv[count] = NULL;
    CHECK(argv[0] != NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setns(ns, CLONE_NEWNET) != 0 || getppid() != parent) {
        _exit(EXEC_NOT_INSIDE);
    }
    (void)setenv(LAB_MARK, cli_text(ctx, "name"), 1);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    (void)execvp(argv[0], (char *const *)(uintptr_t)argv);
    (void)fprintf(ctx->err, "strait lab exec: %s: %s\n", argv[0], strerror(errno));
    (void)fflush(ctx->err);
    _exit(errno == ENOENT ? EXEC_NOT_FOUND : EXEC_NOT_RUN);
}

struct exec_watch {
    pid_t child;
    int child_fd;
    int keeper_fd;
    int signals;
    bool lab_gone;
};

/* What we are told is for the program. What the terminal says it hears itself. */
static void exec_pass_signal(const struct exec_watch *w)
{
    struct signalfd_siginfo info;

    if (read(w->signals, &info, sizeof(info)) == (ssize_t)sizeof(info) && info.ssi_code <= 0) {
        (void)kill(w->child, (int)info.ssi_signo);
    }
}

/* Until the program ends. If the lab ends first, so does the program. */
static void exec_wait(struct exec_watch *w)
{
    struct pollfd fds[] = {{.fd = w->child_fd, .events = POLLIN},
                           {.fd = w->signals, .events = POLLIN},
                           {.fd = w->keeper_fd, .events = POLLIN}};

    while (fds[0].revents == 0) {
        if (poll(fds, 3, -1) < 0 && errno != EINTR) {
            return;
        }
        if (fds[1].revents != 0) {
            exec_pass_signal(w);
        }
        if (fds[2].revents != 0) {
            /* The lab asks it to end, and has patience; the last word is here. */
            w->lab_gone = true;
            (void)kill(w->child, SIGTERM);
            if (poll(fds, 1, 1000) == 0) {
                (void)kill(w->child, SIGKILL);
            }
            fds[2].fd = -1;
            fds[2].revents = 0;
        }
    }
}

static enum cli_exit exec_status(struct cli_context *ctx, const struct exec_watch *w)
{
    int status = 0;

    while (waitpid(w->child, &status, 0) < 0 && errno == EINTR) {
    }
    if (w->lab_gone) {
        cli_note(ctx, "the lab has ended, and the program with it");
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXEC_NOT_INSIDE) {
        return cli_error(ctx, CLI_ERROR_LAB, NULL, "the namespace cannot be entered");
    }
    return (enum cli_exit)(WIFSIGNALED(status) ? EXEC_SIGNALLED + WTERMSIG(status)
                                               : WEXITSTATUS(status));
}

static enum cli_exit exec_inside(struct cli_context *ctx, int ns, pid_t keeper)
{
    static const int passed[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                 SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};
    struct exec_watch w = {.keeper_fd = (int)syscall(SYS_pidfd_open, keeper, 0)};
    pid_t parent = getpid();
    sigset_t mask, before;

    (void)sigemptyset(&mask);
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        (void)sigaddset(&mask, passed[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &mask, &before);
    w.signals = signalfd(-1, &mask, SFD_CLOEXEC);
    cli_flush(ctx);
    w.child = w.keeper_fd < 0 || w.signals < 0 ? -1 : fork();
    if (w.child == 0) {
        exec_become(ctx, ns, parent, &before);
    }
    w.child_fd = w.child < 0 ? -1 : (int)syscall(SYS_pidfd_open, w.child, 0);
    if (w.child_fd < 0) {
        return cli_error(ctx, CLI_ERROR_LAB, NULL, "cannot start a process: %s", strerror(errno));
    }
    exec_wait(&w);
    return exec_status(ctx, &w);
}

static enum cli_exit exec_run(struct cli_context *ctx)
{
    struct lab_place place;
    json_t *show = NULL;
    const json_t *host;
    enum cli_exit status = lab_place_given(ctx, &place);
    int ns;

    if (status == CLI_DONE && cli_argument(ctx, 1) == NULL) {
        status = cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, "strait lab exec REGION -- COMMAND",
                           "lab exec: no command");
    }
    if (status == CLI_DONE) {
        status = lab_ask(ctx, &place, "show", &show);
    }
    if (status != CLI_DONE) {
        return status;
    }
    host = exec_find(ctx, show, cli_argument(ctx, 0), &status);
    if (host != NULL) {
        ns = exec_open(host);
        status =
            ns < 0 ? cli_error(ctx, CLI_ERROR_LAB, NULL, "the host cannot be entered: %s",
                               strerror(errno))
                   : exec_inside(ctx, ns, (pid_t)json_integer_value(json_object_get(show, "pid")));
        if (ns >= 0) {
            (void)close(ns);
        }
    }
    json_decref(show);
    return status;
}

const struct cli_command cli_command_lab_exec = {
    .path = "lab exec",
    .summary = "run a program on a host of a lab",
    .paragraphs =
        (const char *const[]){
            "The program has the network of that host and all else of this machine: files, "
            "processes, terminal. Its exit status is ours (128 and the signal's number if one "
            "ended "
            "it, 127 if it is not there), and signals that we get are passed on. It ends when the "
            "lab ends.",
            "REGION is the first host of a region, REGION/2 the third, REGION/router the router.",
            NULL},
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "WHERE", .help = "REGION, REGION/NUMBER or REGION/router"},
            {.placeholder = "COMMAND",
             .help = "the program and its arguments; put -- before it if one has a dash",
             .repeats = true},
            {0}},
    .options = (const struct cli_option[]){LAB_OPTION_NAME, {0}},
    .examples =
        (const struct cli_example[]){
            {"strait lab exec frankfurt bash", "a shell on the first host"},
            {"strait lab exec virginia -- iperf3 -c 10.64.0.2", "how fast is it"},
            {"strait lab exec frankfurt/router -- tc -s class show dev wan0",
             "what a router has queued"},
            {0}},
    .run = exec_run,
};
