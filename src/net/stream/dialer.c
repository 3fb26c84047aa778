/* From an address to a connected descriptor, one candidate after the other. */

#include "base/mem.h"
#include "loop/resolve.h"
#include "net/stream/socket.h"
#include "net/stream/socket_fd.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { NET_CANDIDATES_MAX = 8 };

struct net_candidate {
    struct sockaddr_storage address;
    socklen_t size;
};

struct net_dialer {
    struct loop *loop;
    struct net_socket_options options;
    struct net_address to;
    struct loop_resolve *resolve;
    struct loop_task next;
    struct net_candidate candidates[NET_CANDIDATES_MAX];
    uint32_t candidates_count;
    uint32_t candidates_tried;
    int fd;
    struct loop_poll *poll;
    enum err last;
    char why[128];
    void (*done)(enum err rc, int fd, const char *why, void *user);
    void *user;
};

static void net_dialer_forget_fd(struct net_dialer *d)
{
    loop_poll_destroy(d->poll);
    d->poll = NULL;
    if (d->fd >= 0) {
        net_socket_close(d->fd, true);
        d->fd = -1;
    }
}

void net_dialer_cancel(struct net_dialer *d)
{
    if (d == NULL) {
        return;
    }
    if (d->resolve != NULL) {
        loop_resolve_cancel(d->resolve);
    }
    loop_task_cancel(&d->next);
    net_dialer_forget_fd(d);
    mem_free(d);
}

static void net_dialer_finish(struct net_dialer *d, enum err rc, int fd)
{
    void (*done)(enum err rc, int fd, const char *why, void *user) = d->done;
    void *user = d->user;
    char why[sizeof(d->why)];

    memcpy(why, d->why, sizeof(why));
    net_dialer_cancel(d);
    done(rc, fd, why, user);
}

static void net_dialer_failed(struct net_dialer *d, int error)
{
    d->last = net_socket_err(error);
    if (d->last == ERR_AGAIN) {
        d->last = ERR_UNREACHABLE; /* A unix socket with too many waiting before us. */
    }
    (void)snprintf(d->why, sizeof(d->why), "%s", strerror(error));
    net_dialer_forget_fd(d);
    loop_task_post(&d->next);
}

static void net_dialer_connected(int events, void *user)
{
    struct net_dialer *d = user;
    int error = 0;
    socklen_t size = sizeof(error);
    int fd;

    (void)events;
    if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
        net_dialer_failed(d, error == 0 ? errno : error);
        return;
    }
    fd = d->fd;
    d->fd = -1;
    net_dialer_finish(d, OK, fd);
}

static void net_dialer_try(struct loop_task *task, void *user)
{
    struct net_dialer *d = user;
    const struct net_candidate *c;
    int family;

    (void)task;
    if (d->candidates_tried == d->candidates_count) {
        net_dialer_finish(d, d->last, -1);
        return;
    }
    c = &d->candidates[d->candidates_tried++];
    family = c->address.ss_family;
    d->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (d->fd < 0) {
        net_dialer_failed(d, errno);
        return;
    }
    net_socket_tune(d->fd, family != AF_UNIX, &d->options);
    if (connect(d->fd, (const struct sockaddr *)&c->address, c->size) != 0 &&
        errno != EINPROGRESS) {
        net_dialer_failed(d, errno);
        return;
    }
    if (loop_poll_create(d->loop, d->fd, net_dialer_connected, d, &d->poll) != OK) {
        net_dialer_failed(d, ENOMEM);
        return;
    }
    loop_poll_want(d->poll, LOOP_WRITABLE);
}

static void net_dialer_resolved(enum err rc, const struct addrinfo *list, void *user)
{
    struct net_dialer *d = user;

    d->resolve = NULL;
    if (rc != OK) {
        (void)snprintf(d->why, sizeof(d->why), "host name not found");
    }
    for (; list != NULL && d->candidates_count < NET_CANDIDATES_MAX; list = list->ai_next) {
        struct net_candidate *c = &d->candidates[d->candidates_count];

        if (list->ai_addrlen <= sizeof(c->address)) {
            memcpy(&c->address, list->ai_addr, list->ai_addrlen);
            c->size = list->ai_addrlen;
            d->candidates_count++;
        }
    }
    loop_task_post(&d->next);
}

static enum err net_dialer_unix(struct net_dialer *d)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&d->candidates[0].address;

    if (strlen(d->to.host) >= sizeof(un->sun_path)) {
        return ERR_INVALID;
    }
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, d->to.host, strlen(d->to.host));
    d->candidates[0].size = sizeof(*un);
    d->candidates_count = 1;
    loop_task_post(&d->next);
    return OK;
}

/* An address in digits needs no resolver; a name goes to it. */
static enum err net_dialer_resolve(struct net_dialer *d)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *list = NULL;

    if (getaddrinfo(d->to.host, d->to.port, &hints, &list) != 0) {
        return loop_resolve_start(d->loop, d->to.host, d->to.port, net_dialer_resolved, d,
                                  &d->resolve);
    }
    net_dialer_resolved(OK, list, d);
    freeaddrinfo(list);
    return OK;
}

enum err net_dialer_start(struct loop *loop, const struct net_address *to,
                          const struct net_socket_options *options,
                          void (*done)(enum err rc, int fd, const char *why, void *user),
                          void *user, struct net_dialer **dialer_out)
{
    struct net_dialer *d = mem_zalloc(sizeof(*d));
    enum err rc;

    if (d == NULL) {
        return ERR_NOMEM;
    }
    d->loop = loop;
    d->options = *options;
    d->to = *net_detours_find(options->detours, to);
    d->fd = -1;
    d->last = ERR_UNREACHABLE;
    d->done = done;
    d->user = user;
    loop_task_init(&d->next, loop, net_dialer_try, d);
    rc = d->to.scheme == NET_SCHEME_UNIX ? net_dialer_unix(d) : net_dialer_resolve(d);
    if (rc != OK) {
        mem_free(d);
        return rc;
    }
    *dialer_out = d;
    return OK;
}
