#include "emu/lab/control.h"

#include "base/fd.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "emu/lab/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    CONTROL_CALLERS_MAX = 16,
    CONTROL_BACKLOG = 16,
    CONTROL_ANSWER_BYTES_MAX = 16 << 20,
};

struct control_caller {
    struct list link;
    struct lab_control *control;
    int fd;
    struct loop_poll *poll;
    char line[LAB_COMMAND_BYTES_MAX + 1];
    size_t size;
    char *answer; /* NULL: not there yet. */
    size_t sent;
    bool told; /* The lab has the line. */
};

struct lab_control {
    struct loop *loop;
    struct lab *lab;
    int fd;
    struct loop_poll *poll;
    struct list callers;
    uint32_t callers_count;
};

static void control_forget(struct control_caller *c)
{
    c->control->callers_count--;
    list_remove(&c->link);
    loop_poll_destroy(c->poll);
    (void)close(c->fd);
    free(c->answer);
    mem_free(c);
}

static void control_send(struct control_caller *c)
{
    size_t size = strlen(c->answer);

    while (c->sent < size) {
        ssize_t n = send(c->fd, c->answer + c->sent, size - c->sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            loop_poll_want(c->poll, LOOP_WRITABLE);
            return;
        }
        if (n < 0) {
            break;
        }
        c->sent += (size_t)n;
    }
    control_forget(c);
}

static void control_answered(json_t *answer, void *user)
{
    struct control_caller *c = user;

    c->answer = answer == NULL ? NULL : json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(answer);
    if (c->answer == NULL) {
        control_forget(c);
        return;
    }
    control_send(c);
}

/* A line is there, or too much for one. */
static void control_hear(struct control_caller *c)
{
    char *end = memchr(c->line, '\n', c->size);

    if (end == NULL && c->size < sizeof(c->line)) {
        return;
    }
    c->told = true;
    loop_poll_want(c->poll, 0);
    lab_tell(c->control->lab, c->line, end == NULL ? c->size : (size_t)(end - c->line),
             control_answered, c);
}

static void control_caller_ready(int events, void *user)
{
    struct control_caller *c = user;
    ssize_t n;

    (void)events;
    if (c->answer != NULL) {
        control_send(c);
        return;
    }
    n = recv(c->fd, c->line + c->size, sizeof(c->line) - c->size, 0);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (n <= 0) {
        control_forget(c);
        return;
    }
    c->size += (size_t)n;
    control_hear(c);
}

static void control_accept(int events, void *user)
{
    struct lab_control *control = user;
    int fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct control_caller *c;

    (void)events;
    if (fd < 0) {
        return;
    }
    c = control->callers_count < CONTROL_CALLERS_MAX ? mem_zalloc(sizeof(*c)) : NULL;
    if (c == NULL || loop_poll_create(control->loop, fd, control_caller_ready, c, &c->poll) != OK) {
        mem_free(c);
        (void)close(fd);
        return;
    }
    c->control = control;
    c->fd = fd;
    list_push_back(&control->callers, &c->link);
    control->callers_count++;
    loop_poll_want(c->poll, LOOP_READABLE);
}

static enum err control_address(const char *path, struct sockaddr_un *out, struct err_text *text)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(out->sun_path)) {
        return err_text_set(text, ERR_IO, "%.300s: too long for the path of a socket", path);
    }
    memcpy(out->sun_path, path, strlen(path) + 1);
    return OK;
}

enum err lab_control_create(struct loop *loop, struct lab *lab, const char *path,
                            struct lab_control **control_out, struct err_text *text)
{
    struct lab_control *control = mem_zalloc(sizeof(*control));
    struct sockaddr_un address;
    enum err rc;

    if (control == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for a socket");
    }
    control->loop = loop;
    control->lab = lab;
    list_init(&control->callers);
    control->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    rc = control_address(path, &address, text);
    if (rc == OK && (control->fd < 0 ||
                     bind(control->fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
                     listen(control->fd, CONTROL_BACKLOG) != 0)) {
        rc = err_text_set(text, ERR_IO, "%.300s: %s", path, strerror(errno));
    }
    if (rc == OK) {
        rc = loop_poll_create(loop, control->fd, control_accept, control, &control->poll);
        if (rc != OK) {
            (void)err_text_set(text, rc, "%.300s cannot be watched: %s", path, err_string(rc));
        }
    }
    if (rc != OK) {
        lab_control_destroy(control);
        return rc;
    }
    loop_poll_want(control->poll, LOOP_READABLE);
    *control_out = control;
    return OK;
}

void lab_control_stop(struct lab_control *control)
{
    struct list *next;

    loop_poll_destroy(control->poll);
    control->poll = NULL;
    for (struct list *l = control->callers.next; l != &control->callers; l = next) {
        struct control_caller *c = LIST_ENTRY(l, struct control_caller, link);

        next = l->next;
        if (!c->told) {
            control_forget(c);
        }
    }
}

void lab_control_destroy(struct lab_control *control)
{
    struct list *first;

    if (control == NULL) {
        return;
    }
    while ((first = list_first(&control->callers)) != NULL) {
        control_forget(LIST_ENTRY(first, struct control_caller, link));
    }
    loop_poll_destroy(control->poll);
    if (control->fd >= 0) {
        (void)close(control->fd);
    }
    mem_free(control);
}

/* The other side. */

static enum err control_hear_all(int fd, const char *path, struct text *out, struct err_text *text)
{
    char piece[16 * 1024];
    ssize_t n;

    do {
        n = recv(fd, piece, sizeof(piece), 0);
        if (n < 0 && errno == EAGAIN) {
            return err_text_set(text, ERR_TIMEOUT, "%.300s: no answer in time", path);
        }
        if (n < 0 && errno != EINTR) {
            return err_text_set(text, ERR_IO, "%.300s: %s", path, strerror(errno));
        }
        text_add_bytes(out, piece, n > 0 ? (size_t)n : 0);
    } while (n != 0);
    return out->failed ? err_text_set(text, ERR_NOMEM, "no memory for an answer") : OK;
}

static enum err control_say(int fd, const char *path, const char *line, json_t **answer_out,
                            struct err_text *text)
{
    struct text heard = {0};
    enum err rc = text_init(&heard, CONTROL_ANSWER_BYTES_MAX);

    if (rc != OK) {
        return err_text_set(text, rc, "no memory for an answer");
    }
    if (!fd_write_all(fd, line, strlen(line)) || !fd_write_all(fd, "\n", 1)) {
        rc = err_text_set(text, ERR_IO, "%.300s: %s", path, strerror(errno));
    }
    if (rc == OK) {
        rc = control_hear_all(fd, path, &heard, text);
    }
    if (rc == OK) {
        *answer_out = json_loadb(heard.chars, heard.size, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(*answer_out)) {
            json_decref(*answer_out);
            rc =
                err_text_set(text, ERR_MALFORMED, "%.300s: the lab ended before it answered", path);
        }
    }
    text_deinit(&heard);
    return rc;
}

enum err lab_control_ask(const char *path, const char *line, int wait_s, json_t **answer_out,
                         struct err_text *text)
{
    const struct timeval wait = {.tv_sec = wait_s};
    struct sockaddr_un address;
    enum err rc = control_address(path, &address, text);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (rc == OK && fd < 0) {
        rc = err_text_set(text, ERR_IO, "%.300s: %s", path, strerror(errno));
    }
    if (rc == OK) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
        if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
            rc = err_text_set(text, ERR_UNREACHABLE, "%.300s: %s", path, strerror(errno));
        }
    }
    if (rc == OK) {
        rc = control_say(fd, path, line, answer_out, text);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}
