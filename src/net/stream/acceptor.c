/* Listening sockets. A stranger costs one accept() until it has been admitted. */

#include "base/log.h"
#include "base/mem.h"
#include "net/stream/socket.h"
#include "net/stream/socket_fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { NET_ACCEPTS_PER_TURN = 64, NET_BACKLOG = 512, NET_ACCEPT_RETRY_MS = 50 };

struct net_acceptor {
    struct net_listener base;
    struct loop *loop;
    struct net_socket_options options;
    int fd;
    struct loop_poll *poll;
    struct loop_timer retry; /* After the process ran out of descriptors. */
    bool (*admit)(const struct net_source *source, void *user);
    void (*accepted)(int fd, const struct net_source *source, void *user);
    void *user;
};

static void net_acceptor_destroy(struct net_listener *listener)
{
    struct net_acceptor *a = (struct net_acceptor *)listener;

    loop_poll_destroy(a->poll);
    loop_timer_deinit(&a->retry);
    if (a->fd >= 0) {
        (void)close(a->fd);
        if (a->base.address.scheme == NET_SCHEME_UNIX) {
            (void)unlink(a->base.address.host);
        }
    }
    mem_free(a);
}

static const struct net_listener_ops net_acceptor_ops = {.destroy = net_acceptor_destroy};

static void net_source_of(int fd, const struct sockaddr_storage *from, struct net_source *out)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
    struct ucred user = {0};
    socklen_t size = sizeof(user);

    *out = (struct net_source){0};
    if (from->ss_family == AF_INET6) {
        memcpy(out->key, &v6->sin6_addr, 16);
        (void)inet_ntop(AF_INET6, &v6->sin6_addr, out->text, sizeof(out->text));
    } else if (from->ss_family == AF_INET) {
        out->key[10] = 0xff;
        out->key[11] = 0xff;
        memcpy(out->key + 12, &v4->sin_addr, 4);
        (void)inet_ntop(AF_INET, &v4->sin_addr, out->text, sizeof(out->text));
    } else {
        (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &size);
        memcpy(out->key, &user.uid, sizeof(user.uid));
        out->key[15] = 1;
        (void)snprintf(out->text, sizeof(out->text), "uid %u", user.uid);
    }
}

static void net_acceptor_retry(struct loop_timer *timer, void *user)
{
    struct net_acceptor *a = user;

    (void)timer;
    loop_poll_want(a->poll, LOOP_READABLE);
}

/* Return false when there is nobody more to accept now. */
static bool net_acceptor_one(struct net_acceptor *a)
{
    struct sockaddr_storage from = {0};
    socklen_t size = sizeof(from);
    struct net_source source;
    int fd = accept4(a->fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
        LOG_ERR("net", "cannot accept: %s; trying again in %d ms", strerror(errno),
                NET_ACCEPT_RETRY_MS);
        loop_poll_want(a->poll, 0);
        loop_timer_start_in(&a->retry, (int64_t)NET_ACCEPT_RETRY_MS * 1000000);
        return false;
    }
    if (fd < 0) {
        return errno == ECONNABORTED || errno == EINTR;
    }
    net_source_of(fd, &from, &source);
    if (!a->admit(&source, a->user)) {
        net_socket_close(fd, true);
        return true;
    }
    net_socket_tune(fd, from.ss_family != AF_UNIX, &a->options);
    a->accepted(fd, &source, a->user);
    return true;
}

static void net_acceptor_ready(int events, void *user)
{
    struct net_acceptor *a = user;

    (void)events;
    for (int i = 0; i < NET_ACCEPTS_PER_TURN && net_acceptor_one(a); i++) {
    }
}

/* A socket file that nobody listens on is left over from a crash. Other files are none of ours,
 * though connecting to them is refused likewise. */
static bool net_acceptor_stale(const struct sockaddr_un *un)
{
    struct stat file;
    int probe;
    bool stale;

    if (stat(un->sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) {
        return false;
    }
    probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (probe < 0) {
        return false;
    }
    stale = connect(probe, (const struct sockaddr *)un, sizeof(*un)) != 0 && errno == ECONNREFUSED;
    (void)close(probe);
    return stale;
}

static enum err net_acceptor_bind_unix(struct net_acceptor *a, const struct net_address *at)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};

    if (strlen(at->host) >= sizeof(un.sun_path)) {
        errno = ENAMETOOLONG;
        return ERR_INVALID;
    }
    memcpy(un.sun_path, at->host, strlen(at->host));
    a->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (a->fd < 0) {
        return ERR_IO;
    }
    if (bind(a->fd, (struct sockaddr *)&un, sizeof(un)) != 0) {
        int error = errno;
        bool stale = error == EADDRINUSE && net_acceptor_stale(&un);

        if (!stale || unlink(at->host) != 0 ||
            bind(a->fd, (struct sockaddr *)&un, sizeof(un)) != 0) {
            (void)close(a->fd);
            a->fd = -1;
            errno = stale ? errno : error;
            return ERR_IO;
        }
    }
    return OK;
}

static enum err net_acceptor_bind_tcp(struct net_acceptor *a, const struct net_address *at)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    const uint32_t one = 1;
    enum err rc = ERR_IO;

    if (getaddrinfo(at->host, at->port, &hints, &list) != 0) {
        errno = EADDRNOTAVAIL;
        return ERR_IO;
    }
    a->fd = socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (a->fd >= 0) {
        (void)setsockopt(a->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        rc = bind(a->fd, list->ai_addr, list->ai_addrlen) == 0 ? OK : ERR_IO;
    }
    freeaddrinfo(list);
    return rc;
}

/* Port 0 asks the system for one: say which it was. */
static void net_acceptor_learn_port(struct net_acceptor *a)
{
    struct sockaddr_storage bound = {0};
    struct sockaddr_in6 v6 = {0};
    struct sockaddr_in v4 = {0};
    socklen_t size = sizeof(bound);

    if (getsockname(a->fd, (struct sockaddr *)&bound, &size) == 0 && bound.ss_family != AF_UNIX) {
        memcpy(&v6, &bound, sizeof(v6));
        memcpy(&v4, &bound, sizeof(v4));
        (void)snprintf(a->base.address.port, sizeof(a->base.address.port), "%u",
                       ntohs(bound.ss_family == AF_INET6 ? v6.sin6_port : v4.sin_port));
    }
}

static enum err net_acceptor_open(struct net_acceptor *a, const struct net_address *at)
{
    enum err rc = at->scheme == NET_SCHEME_UNIX ? net_acceptor_bind_unix(a, at)
                                                : net_acceptor_bind_tcp(a, at);

    /* Connections inherit this, and so have it for their first bytes. */
    if (rc == OK) {
        net_socket_tune(a->fd, at->scheme != NET_SCHEME_UNIX, &a->options);
    }
    if (rc == OK && listen(a->fd, NET_BACKLOG) != 0) {
        rc = ERR_IO;
    }
    if (rc == OK) {
        rc = loop_poll_create(a->loop, a->fd, net_acceptor_ready, a, &a->poll);
    }
    return rc;
}

enum err net_acceptor_create(struct loop *loop, const struct net_address *at,
                             const struct net_socket_options *options,
                             bool (*admit)(const struct net_source *source, void *user),
                             void (*accepted)(int fd, const struct net_source *source, void *user),
                             void *user, struct net_listener **listener_out, struct err_text *text)
{
    struct net_acceptor *a = mem_zalloc(sizeof(*a));
    char where[NET_ADDRESS_BYTES];
    enum err rc;

    if (a == NULL) {
        return ERR_NOMEM;
    }
    a->base = (struct net_listener){.ops = &net_acceptor_ops, .address = *at};
    a->loop = loop;
    a->options = *options;
    a->fd = -1;
    a->admit = admit;
    a->accepted = accepted;
    a->user = user;
    rc = loop_timer_init(&a->retry, loop, net_acceptor_retry, a);
    if (rc == OK) {
        rc = net_acceptor_open(a, at);
    }
    if (rc != OK) {
        (void)err_text_set(text, rc, "cannot listen on %s: %s", net_address_format(at, where),
                           strerror(errno));
        net_acceptor_destroy(&a->base);
        return rc;
    }
    net_acceptor_learn_port(a);
    loop_poll_want(a->poll, LOOP_READABLE);
    *listener_out = &a->base;
    return OK;
}
