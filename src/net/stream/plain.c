/* Streams straight on a socket, without TLS: tcp and unix. */

#include "base/mem.h"
#include "net/stream/socket.h"
#include "net/stream/socket_fd.h"

#include <stdio.h>

struct net_plain {
    struct net_stream base;
    struct loop *loop;
    struct net_dialer *dialer; /* While connecting. */
    int fd;
    struct loop_poll *poll;
    struct loop_task opened; /* Accepted streams are open at once, but say so from the loop. */
    uint64_t written_bytes;
    uint64_t acked_bytes; /* Unix sockets: at least that much was read. */
};

struct net_plain_listen {
    struct loop *loop;
    struct net_accept accept;
    struct net_listener base;
    struct net_listener *acceptor;
};

static void net_plain_ready(int events, void *user)
{
    struct net_plain *p = user;
    int wanted = 0;

    if (events & LOOP_READABLE) {
        wanted |= NET_STREAM_READABLE;
    }
    if (events & LOOP_WRITABLE) {
        wanted |= NET_STREAM_WRITABLE;
    }
    p->base.event(&p->base, wanted, p->base.user);
}

static void net_plain_destroy(struct net_stream *s, bool abort)
{
    struct net_plain *p = (struct net_plain *)s;

    net_dialer_cancel(p->dialer);
    loop_task_cancel(&p->opened);
    loop_poll_destroy(p->poll);
    if (p->fd >= 0) {
        net_socket_close(p->fd, abort);
    }
    mem_free(p);
}

static enum err net_plain_write(struct net_stream *s, const struct iovec *iov, int count,
                                size_t *done_out)
{
    struct net_plain *p = (struct net_plain *)s;
    enum err rc = net_socket_write(p->fd, iov, count, done_out);

    if (rc == OK) {
        p->written_bytes += *done_out;
    }
    return rc;
}

static enum err net_plain_read(struct net_stream *s, const struct iovec *iov, int count,
                               size_t *done_out)
{
    return net_socket_read(((struct net_plain *)s)->fd, iov, count, done_out);
}

static void net_plain_want(struct net_stream *s, int events)
{
    struct net_plain *p = (struct net_plain *)s;
    int wanted = 0;

    if (p->poll == NULL) {
        return;
    }
    if (events & NET_STREAM_READABLE) {
        wanted |= LOOP_READABLE;
    }
    if (events & NET_STREAM_WRITABLE) {
        wanted |= LOOP_WRITABLE;
    }
    loop_poll_want(p->poll, wanted);
}

/* A unix socket tells what its unread bytes occupy, which is more than they are: what is left when
 * that is taken off has been read for sure. */
static uint64_t net_plain_acked(struct net_plain *p, uint64_t occupied_bytes)
{
    if (p->written_bytes > occupied_bytes && p->written_bytes - occupied_bytes > p->acked_bytes) {
        p->acked_bytes = p->written_bytes - occupied_bytes;
    }
    return p->acked_bytes;
}

static void net_plain_info(struct net_stream *s, struct net_stream_info *out)
{
    struct net_plain *p = (struct net_plain *)s;

    *out = (struct net_stream_info){0};
    if (p->fd >= 0) {
        net_socket_info(p->fd, out);
        if (out->acked_bytes == 0) {
            out->acked_bytes = net_plain_acked(p, out->unsent_bytes);
        }
    }
}

static void net_plain_finish(struct net_stream *s)
{
    net_socket_finish(((struct net_plain *)s)->fd);
}

static enum err net_plain_pace(struct net_stream *s, uint64_t bytes_per_s)
{
    return net_socket_pace(((struct net_plain *)s)->fd, bytes_per_s);
}

static const struct net_stream_ops net_plain_ops = {
    .write = net_plain_write,
    .read = net_plain_read,
    .want = net_plain_want,
    .info = net_plain_info,
    .finish = net_plain_finish,
    .pace = net_plain_pace,
    .destroy = net_plain_destroy,
};

static void net_plain_say_opened(struct loop_task *task, void *user)
{
    struct net_plain *p = user;

    (void)task;
    if (p->base.failure != OK) {
        p->base.event(&p->base, NET_STREAM_FAILED, p->base.user);
    } else {
        p->base.event(&p->base, NET_STREAM_OPENED, p->base.user);
    }
}

static enum err net_plain_create(struct loop *loop, struct net_plain **out)
{
    struct net_plain *p = mem_zalloc(sizeof(*p));

    if (p == NULL) {
        return ERR_NOMEM;
    }
    p->base.ops = &net_plain_ops;
    p->loop = loop;
    p->fd = -1;
    loop_task_init(&p->opened, loop, net_plain_say_opened, p);
    *out = p;
    return OK;
}

static void net_plain_dialled(enum err rc, int fd, const char *why, void *user)
{
    struct net_plain *p = user;

    p->dialer = NULL;
    p->fd = fd;
    if (rc == OK) {
        rc = loop_poll_create(p->loop, fd, net_plain_ready, p, &p->poll);
    }
    p->base.failure = rc;
    (void)err_text_set(&p->base.why, rc, "%s", why);
    net_plain_say_opened(NULL, p);
}

static enum err net_plain_dial(struct net_transport *t, const struct net_address *to,
                               struct net_stream **stream_out)
{
    struct net_socket_transport *transport = (struct net_socket_transport *)t;
    struct net_plain *p;
    enum err rc;

    if (to->scheme != NET_SCHEME_TCP && to->scheme != NET_SCHEME_UNIX) {
        return ERR_INVALID;
    }
    rc = net_plain_create(transport->loop, &p);
    if (rc != OK) {
        return rc;
    }
    rc = net_dialer_start(transport->loop, to, &transport->options, net_plain_dialled, p,
                          &p->dialer);
    if (rc != OK) {
        mem_free(p);
        return rc;
    }
    *stream_out = &p->base;
    return OK;
}

static bool net_plain_admit(const struct net_source *source, void *user)
{
    struct net_plain_listen *l = user;

    return l->accept.admit == NULL || l->accept.admit(source, l->accept.user);
}

static void net_plain_accepted(int fd, const struct net_source *source, void *user)
{
    struct net_plain_listen *l = user;
    struct net_plain *p;

    if (net_plain_create(l->loop, &p) != OK) {
        net_socket_close(fd, true);
        l->accept.accepted(NULL, source, l->accept.user);
        return;
    }
    if (loop_poll_create(l->loop, fd, net_plain_ready, p, &p->poll) != OK) {
        net_socket_close(fd, true);
        mem_free(p);
        l->accept.accepted(NULL, source, l->accept.user);
        return;
    }
    p->fd = fd;
    loop_task_post(&p->opened);
    l->accept.accepted(&p->base, source, l->accept.user);
}

static void net_plain_unlisten(struct net_listener *listener)
{
    struct net_plain_listen *l = LIST_ENTRY(listener, struct net_plain_listen, base);

    l->acceptor->ops->destroy(l->acceptor);
    mem_free(l);
}

static const struct net_listener_ops net_plain_listener_ops = {.destroy = net_plain_unlisten};

static enum err net_plain_listen(struct net_transport *t, const struct net_address *at,
                                 const struct net_accept *accept,
                                 struct net_listener **listener_out, struct err_text *text)
{
    struct net_socket_transport *transport = (struct net_socket_transport *)t;
    struct net_plain_listen *l;
    enum err rc;

    if (at->scheme != NET_SCHEME_TCP && at->scheme != NET_SCHEME_UNIX) {
        return err_text_set(text, ERR_INVALID, "%s addresses need another transport",
                            net_scheme_name(at->scheme));
    }
    l = mem_zalloc(sizeof(*l));
    if (l == NULL) {
        return ERR_NOMEM;
    }
    l->loop = transport->loop;
    l->accept = *accept;
    rc = net_acceptor_create(transport->loop, at, &transport->options, net_plain_admit,
                             net_plain_accepted, l, &l->acceptor, text);
    if (rc != OK) {
        mem_free(l);
        return rc;
    }
    l->base = (struct net_listener){&net_plain_listener_ops, l->acceptor->address};
    *listener_out = &l->base;
    return OK;
}

static const struct net_transport_ops net_socket_transport_ops = {
    .dial = net_plain_dial,
    .listen = net_plain_listen,
};

void net_socket_transport_init(struct net_socket_transport *t, struct loop *loop,
                               const struct net_socket_options *options)
{
    *t = (struct net_socket_transport){.base.ops = &net_socket_transport_ops, .loop = loop};
    if (options != NULL) {
        t->options = *options;
    }
}
