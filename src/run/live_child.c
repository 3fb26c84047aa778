/* Processes of a run of processes: started, heard, ended. */

#include "base/mem.h"
#include "run/live_state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHILD_WORDS_BYTES = 2048, CHILD_WORDS_LINES = 3 };

/* What it says: lines of JSON. */

static void child_line(struct live_member *m, const char *line, size_t size)
{
    json_t *event = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);

    if (json_is_object(event)) {
        live_said(m, event);
    }
    json_decref(event);
}

static void child_take(struct live_member *m, size_t size)
{
    char *end;

    m->line_size += size;
    while ((end = memchr(m->line, '\n', m->line_size)) != NULL) {
        size_t length = (size_t)(end - m->line) + 1;

        child_line(m, m->line, length - 1);
        memmove(m->line, m->line + length, m->line_size - length);
        m->line_size -= length;
    }
    if (m->line_size == LIVE_LINE_BYTES) {
        m->line_size = 0; /* No line of ours is so long. */
    }
}

static void child_hush(struct live_member *m)
{
    loop_poll_destroy(m->poll);
    m->poll = NULL;
    if (m->out >= 0) {
        (void)close(m->out);
        m->out = -1;
    }
}

/* All that is there now. */
static void child_hear(int events, void *user)
{
    struct live_member *m = user;
    ssize_t n;

    (void)events;
    while (m->out >= 0) {
        n = read(m->out, m->line + m->line_size, LIVE_LINE_BYTES - m->line_size);
        if (n > 0) {
            child_take(m, (size_t)n);
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else {
            if (n == 0 || errno != EAGAIN) {
                child_hush(m);
            }
            return;
        }
    }
}

static void child_exited(struct loop_child *child, int64_t status, int signum, void *user)
{
    struct live_member *m = user;

    (void)child;
    child_hear(0, m); /* Its last words come first. */
    child_hush(m);
    loop_child_destroy(m->child);
    m->child = NULL;
    m->line_size = 0;
    live_died(m, status, signum);
}

/* Starting. */

static enum err child_files(struct live_member *m, int *out_write, int *log)
{
    char path[LIVE_PATH_BYTES + 64];
    int ends[2];

    (void)snprintf(path, sizeof(path), "%s/%s.log", m->live->options.dir, m->name);
    *log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (*log < 0) {
        return ERR_IO;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        (void)close(*log);
        return ERR_IO;
    }
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    m->out = ends[0];
    *out_write = ends[1];
    return OK;
}

static enum err child_spawn(struct live_member *m, int out, int log)
{
    struct loop_child_config config = {
        .stdout_fd = out, .stderr_fd = log, .exited = child_exited, .user = m};
    struct live_args args;
    enum err rc = live_args_make(m, &args);

    if (rc == OK) {
        config.argv = (const char *const *)args.items;
        rc = loop_child_spawn(m->live->loop, &config, &m->child);
        live_args_free(&args);
    }
    return rc;
}

enum err live_start(struct live_member *m)
{
    int out = -1, log = -1;
    enum err rc = child_files(m, &out, &log);

    if (rc != OK) {
        return rc;
    }
    rc = loop_poll_create(m->live->loop, m->out, child_hear, m, &m->poll);
    if (rc == OK) {
        loop_poll_want(m->poll, LOOP_READABLE);
        rc = child_spawn(m, out, log);
    }
    (void)close(out);
    (void)close(log);
    if (rc != OK) {
        child_hush(m);
        return rc;
    }
    m->ready = false;
    m->stopped = false;
    m->lives++;
    m->started_ns = live_now(m->live);
    return OK;
}

void live_signal(struct live_member *m, int signum)
{
    if (m->child != NULL) {
        /* It may have ended just now: then its end is on the way to us. */
        enum err rc = loop_child_signal(m->child, signum);

        CHECK(rc == OK || rc == ERR_NOT_FOUND);
    }
}

void live_release(struct live_member *m)
{
    live_signal(m, SIGKILL);
    loop_child_destroy(m->child);
    m->child = NULL;
    child_hush(m);
    loop_timer_deinit(&m->timer);
    mem_free(m->line);
    mem_free(m->before);
    mem_free(m->now);
}

/* Its last words: what was printed last, without the hints of where to read more. */

static size_t child_log_tail(const struct live_member *m, char out[CHILD_WORDS_BYTES])
{
    char path[LIVE_PATH_BYTES + 64];
    off_t size;
    ssize_t n = 0;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s.log", m->live->options.dir, m->name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    size = lseek(fd, 0, SEEK_END);
    if (size > CHILD_WORDS_BYTES - 1) {
        (void)lseek(fd, size - (CHILD_WORDS_BYTES - 1), SEEK_SET);
    } else {
        (void)lseek(fd, 0, SEEK_SET);
    }
    n = read(fd, out, CHILD_WORDS_BYTES - 1);
    (void)close(fd);
    return n < 0 ? 0 : (size_t)n;
}

/* True for a line that says where to read on. */
static bool child_is_hint(const char *line)
{
    line += strspn(line, " ");
    return *line == '\0' || strncmp(line, "try:", 4) == 0 || strncmp(line, "more:", 5) == 0;
}

/* The message of an error that was printed as JSON; false: the line is something else. */
static bool child_error(const char *line, char *out, size_t size)
{
    json_t *object = json_loads(line, 0, NULL);
    const json_t *error = json_object_get(object, "error");
    const char *id = json_string_value(json_object_get(error, "id"));
    const char *message = json_string_value(json_object_get(error, "message"));

    if (id != NULL && message != NULL) {
        (void)snprintf(out, size, "%s: %s", id, message);
    }
    json_decref(object);
    return error != NULL;
}

void live_last_words(const struct live_member *m, char *out, size_t size)
{
    char tail[CHILD_WORDS_BYTES];
    const char *lines[CHILD_WORDS_LINES];
    uint32_t count = 0;
    char *rest = NULL;

    out[0] = '\0';
    tail[child_log_tail(m, tail)] = '\0';
    for (char *line = strtok_r(tail, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (!child_is_hint(line)) {
            lines[count++ % CHILD_WORDS_LINES] = line;
        }
    }
    if (count > 0 && child_error(lines[(count - 1) % CHILD_WORDS_LINES], out, size)) {
        return;
    }
    for (uint32_t i = count > CHILD_WORDS_LINES ? count - CHILD_WORDS_LINES : 0; i < count; i++) {
        size_t used = strlen(out);

        (void)snprintf(out + used, size - used, "%s%s", used == 0 ? "" : " | ",
                       lines[i % CHILD_WORDS_LINES]);
    }
}
