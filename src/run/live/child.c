#include "run/live/child.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHILD_WORDS_BYTES = 2048, CHILD_WORDS_LINES = 3 };

/* What it says: lines of JSON. */

static void child_line(struct run_child *c, const char *line, size_t size)
{
    json_t *news = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);

    if (json_is_object(news)) {
        c->events->said(c, news, c->user);
    }
    json_decref(news);
}

static void child_take(struct run_child *c, size_t size)
{
    char *begin = c->line, *end;

    c->line_size += size;
    while ((end = memchr(begin, '\n', c->line_size)) != NULL) {
        size_t length = (size_t)(end - begin) + 1;

        child_line(c, begin, length - 1);
        begin += length;
        c->line_size -= length;
    }
    if (c->line_size == RUN_CHILD_LINE_BYTES) {
        c->line_size = 0; /* No line of ours is so long. */
    }
    memmove(c->line, begin, c->line_size);
}

static void child_close(struct loop_poll **poll, int *fd)
{
    loop_poll_destroy(*poll);
    *poll = NULL;
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

/* All that is there now. */
static void child_hear(int events, void *user)
{
    struct run_child *c = user;
    ssize_t n;

    (void)events;
    while (c->out >= 0) {
        n = read(c->out, c->line + c->line_size, RUN_CHILD_LINE_BYTES - c->line_size);
        if (n > 0) {
            child_take(c, (size_t)n);
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else {
            if (n == 0 || errno != EAGAIN) {
                child_close(&c->hears, &c->out);
            }
            return;
        }
    }
}

static void child_exited(struct loop_child *process, int64_t status, int signum, void *user)
{
    struct run_child *c = user;

    (void)process;
    child_hear(0, c); /* Its last words come first. */
    child_close(&c->hears, &c->out);
    child_close(&c->tells, &c->in);
    loop_child_destroy(c->process);
    c->process = NULL;
    c->line_size = 0;
    c->orders_size = 0;
    c->events->ended(c, status, signum, c->user);
}

/* Orders. */

static void child_pour(int events, void *user)
{
    struct run_child *c = user;
    size_t done = 0;

    (void)events;
    while (c->in >= 0 && done < c->orders_size) {
        ssize_t n = write(c->in, c->orders + done, c->orders_size - done);

        if (n > 0) {
            done += (size_t)n;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            done = c->orders_size; /* It has closed its ears; its end will be told. */
        }
    }
    c->orders_size -= done;
    memmove(c->orders, c->orders + done, c->orders_size);
    if (c->tells != NULL) {
        loop_poll_want(c->tells, c->orders_size > 0 ? LOOP_WRITABLE : 0);
    }
}

static enum err child_room(struct run_child *c, size_t more)
{
    size_t room = c->orders_room == 0 ? 256 : c->orders_room;
    char *orders;

    while (room < c->orders_size + more) {
        room *= 2;
    }
    if (room == c->orders_room) {
        return OK;
    }
    orders = mem_zalloc(room);
    if (orders == NULL) {
        return ERR_NOMEM;
    }
    if (c->orders_size > 0) {
        memcpy(orders, c->orders, c->orders_size);
    }
    mem_free(c->orders);
    c->orders = orders;
    c->orders_room = room;
    return OK;
}

enum err run_child_tell(struct run_child *c, const char *line)
{
    size_t size = strlen(line);
    enum err rc;

    if (c->in < 0) {
        return OK; /* It has ended, or takes none. */
    }
    rc = child_room(c, size + 1);
    if (rc == OK) {
        memcpy(c->orders + c->orders_size, line, size);
        c->orders[c->orders_size + size] = '\n';
        c->orders_size += size + 1;
        child_pour(0, c);
    }
    return rc;
}

void run_child_hush(struct run_child *c)
{
    if (c->orders_size > 0) {
        (void)fcntl(c->in, F_SETFL, 0); /* The rest, however long it takes. */
        child_pour(0, c);
    }
    child_close(&c->tells, &c->in);
}

/* Starting. */

enum err run_child_init(struct run_child *c, struct loop *loop, const char *log,
                        const struct run_child_events *events, void *user)
{
    *c = (struct run_child){.loop = loop, .events = events, .user = user, .out = -1, .in = -1};
    if (strlen(log) >= sizeof(c->log)) {
        return ERR_TOO_BIG;
    }
    memcpy(c->log, log, strlen(log) + 1);
    c->line = mem_zalloc(RUN_CHILD_LINE_BYTES);
    return c->line == NULL ? ERR_NOMEM : OK;
}

/* A pipe of which we keep one end, which does not block. */
static enum err child_pipe(int *ours, int *theirs, bool we_read)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return ERR_IO;
    }
    *ours = ends[we_read ? 0 : 1];
    *theirs = ends[we_read ? 1 : 0];
    (void)fcntl(*ours, F_SETFL, O_NONBLOCK);
    return OK;
}

struct child_ends {
    int in;
    int out;
    int log;
};

static enum err child_open(struct run_child *c, bool orders, struct child_ends *ends)
{
    enum err rc = child_pipe(&c->out, &ends->out, true);

    if (rc == OK && orders) {
        rc = child_pipe(&c->in, &ends->in, false);
    }
    if (rc == OK) {
        ends->log = open(c->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        rc = ends->log < 0 ? ERR_IO : OK;
    }
    if (rc == OK) {
        rc = loop_poll_create(c->loop, c->out, child_hear, c, &c->hears);
    }
    if (rc == OK && orders) {
        rc = loop_poll_create(c->loop, c->in, child_pour, c, &c->tells);
    }
    return rc;
}

static void child_close_ends(const struct child_ends *ends)
{
    const int fds[] = {ends->in, ends->out, ends->log};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
}

enum err run_child_start(struct run_child *c, const char *const *argv, bool orders)
{
    struct child_ends ends = {.in = -1, .out = -1, .log = -1};
    enum err rc = child_open(c, orders, &ends);

    if (rc == OK) {
        struct loop_child_config config = {.argv = argv,
                                           .stdin_fd = orders ? ends.in : 0,
                                           .stdout_fd = ends.out,
                                           .stderr_fd = ends.log,
                                           .exited = child_exited,
                                           .user = c};

        loop_poll_want(c->hears, LOOP_READABLE);
        rc = loop_child_spawn(c->loop, &config, &c->process);
    }
    child_close_ends(&ends);
    if (rc != OK) {
        child_close(&c->hears, &c->out);
        child_close(&c->tells, &c->in);
    }
    return rc;
}

bool run_child_runs(const struct run_child *c)
{
    return c->process != NULL;
}

void run_child_signal(struct run_child *c, int signum)
{
    if (c->process != NULL) {
        /* It may have ended just now: then its end is on the way to us. */
        enum err rc = loop_child_signal(c->process, signum);

        CHECK(rc == OK || rc == ERR_NOT_FOUND);
    }
}

void run_child_release(struct run_child *c)
{
    run_child_signal(c, SIGKILL);
    loop_child_destroy(c->process);
    c->process = NULL;
    child_close(&c->hears, &c->out);
    child_close(&c->tells, &c->in);
    mem_free(c->line);
    mem_free(c->orders);
    c->line = NULL;
    c->orders = NULL;
}

/* Its last words: what was printed last, without the hints of where to read more. */

static size_t child_log_tail(const struct run_child *c, char out[CHILD_WORDS_BYTES])
{
    off_t size;
    ssize_t n = 0;
    int fd;

    fd = open(c->log, O_RDONLY | O_CLOEXEC);
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
    if (strncmp(line, "srun:", 5) == 0) {
        /* That a task has ended is known, and so is how. */
        return strstr(line, "Exited with exit code") != NULL || strstr(line, "cpu binding") != NULL;
    }
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

void run_child_last_words(const struct run_child *c, char *out, size_t size)
{
    char tail[CHILD_WORDS_BYTES];
    const char *lines[CHILD_WORDS_LINES];
    uint32_t count = 0;
    char *rest = NULL;

    out[0] = '\0';
    tail[child_log_tail(c, tail)] = '\0';
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
