/* strait lab keep: the process that is a lab. Not for people: `strait lab up` starts it in the
 * background, and a run as its child.
 *
 * One line of JSON comes on standard input (emu/lab/request.h), and one goes out: {"event":"ready",
 * ...}, or {"event":"error","text":...} and it ends. As a child it then says {"event":"status",...}
 * again and again, takes commands (emu/lab/command.h) on standard input and answers each with a
 * line; the end of its input is its end. In the background (--name) it is told by its socket. */

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command/commands.h"
#include "cli/lab/lab.h"
#include "emu/lab/command.h"
#include "emu/lab/control.h"
#include "emu/lab/lab.h"
#include "emu/lab/request.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEEP_SIGNALS = 3, KEEP_EVERY_MS = 500 };

struct lab_supervisor {
    struct cli_context *ctx;
    const struct lab_place *place; /* NULL: not in the background. */
    struct loop *loop;
    struct lab *lab;
    struct lab_control *control;
    struct loop_signal *signals[KEEP_SIGNALS];
    struct loop_poll *input;
    char line[LAB_COMMAND_BYTES_MAX + 1];
    size_t size;
    bool over;
    enum cli_exit status;
};

static void keep_end(struct lab_supervisor *k, enum cli_exit status)
{
    k->over = true;
    k->status = status;
    loop_stop(k->loop);
}

/* A line of JSON, which is released. */
static void keep_say(struct cli_context *ctx, json_t *event)
{
    char *text = event == NULL ? NULL : json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(9));

    cli_out(ctx, "%s\n", text != NULL ? text : "{\"event\":\"error\",\"text\":\"out of memory\"}");
    cli_flush(ctx);
    free(text);
    json_decref(event);
}

static enum cli_exit keep_failed(struct cli_context *ctx, enum err rc, const char *text)
{
    keep_say(ctx, json_pack("{s:s, s:s}", "event", "error", "text", text));
    return rc == ERR_REFUSED ? CLI_REFUSED : CLI_FAILED;
}

static void keep_said(json_t *event, void *user)
{
    struct lab_supervisor *k = user;

    keep_say(k->ctx, event);
    if (k->ctx->out_errno != 0) {
        keep_end(k, CLI_FAILED); /* Nobody listens any more. */
    }
}

static void keep_over(const char *why, void *user)
{
    struct lab_supervisor *k = user;

    if (why != NULL) {
        LOG_ERR("lab", "%s", why);
        if (k->place == NULL) {
            keep_say(k->ctx, json_pack("{s:s, s:s}", "event", "error", "text", why));
        }
    }
    keep_end(k, why == NULL ? CLI_DONE : CLI_FAILED);
}

static void keep_signal(int signum, void *user)
{
    LOG_INF("lab", "signal %d: going down", signum);
    keep_end(user, CLI_DONE);
}

/* Standard input. */

static void keep_commands(struct lab_supervisor *k)
{
    char *end;

    while ((end = memchr(k->line, '\n', k->size)) != NULL || k->size == sizeof(k->line)) {
        size_t length = end == NULL ? k->size : (size_t)(end - k->line);
        size_t used = end == NULL ? length : length + 1;

        lab_tell(k->lab, k->line, length, keep_said, k);
        memmove(k->line, k->line + used, k->size - used);
        k->size -= used;
    }
}

static void keep_input(int events, void *user)
{
    struct lab_supervisor *k = user;
    ssize_t n = read(STDIN_FILENO, k->line + k->size, sizeof(k->line) - k->size);

    (void)events;
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (n <= 0) {
        loop_poll_want(k->input, 0);
        keep_end(k, CLI_DONE);
        return;
    }
    k->size += (size_t)n;
    keep_commands(k);
}

/* The first line; what was read beyond it is kept. */
static enum err keep_request(struct lab_supervisor *k, struct lab_plan **plan_out,
                             struct err_text *text)
{
    struct text line = {0};
    enum err rc = text_init(&line, LAB_REQUEST_BYTES_MAX);
    char *end = NULL;
    ssize_t n = 1;

    while (rc == OK && end == NULL && n > 0 && !line.failed) {
        n = read(STDIN_FILENO, k->line, sizeof(k->line));
        if (n < 0 && errno == EINTR) {
            n = 1;
            continue;
        }
        k->size = n > 0 ? (size_t)n : 0;
        end = memchr(k->line, '\n', k->size);
        text_add_bytes(&line, k->line, end != NULL ? (size_t)(end - k->line) : k->size);
    }
    if (end != NULL) {
        k->size -= (size_t)(end - k->line) + 1;
        memmove(k->line, end + 1, k->size);
    } else {
        k->size = 0;
    }
    if (rc != OK || line.failed) {
        rc = err_text_set(text, ERR_TOO_BIG, "the request is larger than %d bytes",
                          LAB_REQUEST_BYTES_MAX);
    } else {
        rc = lab_request_parse(line.chars, line.size, plan_out, text);
    }
    text_deinit(&line);
    return rc;
}

/* The background. */

static enum err keep_write(const char *path, const char *chars, struct err_text *text)
{
    char next[LAB_PATH_BYTES + 8];
    int fd;

    (void)snprintf(next, sizeof(next), "%s.next", path);
    fd = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || !fd_write_all(fd, chars, strlen(chars)) || close(fd) != 0 ||
        rename(next, path) != 0) {
        return err_text_set(text, ERR_IO, "%s: %s", path, strerror(errno));
    }
    return OK;
}

/* We have the lock; who wants to know who holds it finds it there. False if we do not. */
static bool keep_sign_lock(const struct lab_place *p)
{
    struct stat held, wanted;
    char chars[24];
    int size = snprintf(chars, sizeof(chars), "%d\n", (int)getpid());

    return fstat(LAB_LOCK_FD, &held) == 0 && stat(p->lock, &wanted) == 0 &&
           held.st_ino == wanted.st_ino && held.st_dev == wanted.st_dev &&
           fcntl(LAB_LOCK_FD, F_SETFD, FD_CLOEXEC) == 0 && ftruncate(LAB_LOCK_FD, 0) == 0 &&
           pwrite(LAB_LOCK_FD, chars, (size_t)size, 0) == size;
}

static enum err keep_publish(struct lab_supervisor *k, struct err_text *text)
{
    json_t *ready = lab_ready(k->lab);
    char *chars = ready == NULL ? NULL : json_dumps(ready, JSON_INDENT(2));
    enum err rc = chars == NULL ? err_text_set(text, ERR_NOMEM, "no memory")
                                : keep_write(k->place->state, chars, text);

    free(chars);
    json_decref(ready);
    if (rc == OK) {
        (void)unlink(k->place->control);
        rc = lab_control_create(k->loop, k->lab, k->place->control, &k->control, text);
    }
    return rc;
}

/* Nobody hears us any more, and nobody needs to. */
static void keep_hush(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (nothing >= 0) {
        (void)dup2(nothing, STDIN_FILENO);
        (void)dup2(nothing, STDOUT_FILENO);
        (void)close(nothing);
    }
}

static enum err keep_watch(struct lab_supervisor *k, struct err_text *text)
{
    static const int signals[KEEP_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};
    enum err rc = OK;

    for (int i = 0; rc == OK && i < KEEP_SIGNALS; i++) {
        rc = loop_signal_create(k->loop, signals[i], keep_signal, k, &k->signals[i]);
    }
    if (rc == OK && k->place == NULL) {
        rc = loop_poll_create(k->loop, STDIN_FILENO, keep_input, k, &k->input);
    }
    if (rc != OK) {
        return err_text_set(text, rc,
                            "signals and standard input cannot be watched: %s; the latter must be "
                            "a pipe",
                            err_string(rc));
    }
    return k->place == NULL ? OK : keep_publish(k, text);
}

static void keep_go(struct lab_supervisor *k)
{
    keep_say(k->ctx, lab_ready(k->lab));
    if (k->ctx->out_errno != 0) {
        k->status = CLI_FAILED; /* Who asked for it has gone. */
        return;
    }
    if (k->place != NULL) {
        keep_hush();
    } else {
        loop_poll_want(k->input, LOOP_READABLE);
        keep_commands(k);
    }
    if (!k->over) {
        loop_run(k->loop);
    }
}

static void keep_release(struct lab_supervisor *k)
{
    for (int i = 0; i < KEEP_SIGNALS; i++) {
        if (k->signals[i] != NULL) {
            loop_signal_destroy(k->signals[i]);
        }
    }
    loop_poll_destroy(k->input);
    if (k->control != NULL) {
        lab_control_stop(k->control);
    }
    lab_destroy(k->lab);
    lab_control_destroy(k->control);
    loop_destroy(k->loop);
}

static enum cli_exit keep_lab(struct lab_supervisor *k)
{
    struct lab_config config = {.said = keep_said, .over = keep_over, .user = k};
    struct err_text text = {""};
    enum err rc = keep_request(k, &config.plan, &text);

    if (rc == OK) {
        rc = loop_create(&k->loop);
        if (rc == OK) {
            config.loop = k->loop;
            config.every_ns = k->place == NULL ? KEEP_EVERY_MS * INT64_C(1000000) : 0;
            rc = lab_create(&config, &k->lab, &text);
        }
        if (rc != OK) {
            mem_free(config.plan);
        }
    }
    if (rc == OK) {
        rc = keep_watch(k, &text);
    }
    if (rc == OK) {
        keep_go(k);
    } else {
        k->status = keep_failed(k->ctx, rc, text.text);
    }
    keep_release(k);
    return k->status;
}

static enum cli_exit keep_run(struct cli_context *ctx)
{
    struct lab_supervisor k = {.ctx = ctx};
    struct lab_place place;
    enum cli_exit status;

    if (cli_text(ctx, "name") != NULL) {
        status = lab_place_given(ctx, &place);
        if (status != CLI_DONE) {
            return status;
        }
        if (!keep_sign_lock(&place)) {
            return cli_error(ctx, CLI_ERROR_LAB, "strait lab up FILE",
                             "lab keep --name: only strait lab up can start that");
        }
        k.place = &place;
    }
    status = keep_lab(&k);
    if (k.place != NULL) {
        lab_clear_files(&place);
    }
    return status;
}

const struct cli_command cli_command_lab_keep = {
    .path = "lab keep",
    .summary = "be a lab, as a line on standard input says",
    .hidden = true,
    .options =
        (const struct cli_option[]){
            {.name = "name", .placeholder = "NAME", .help = "in the background, under this name"},
            {0}},
    .run = keep_run,
};
