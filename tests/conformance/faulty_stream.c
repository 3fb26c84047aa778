/* The contract of a stream says that a short count means "no more now", so a stream that cuts calls
 * short has to announce by itself that there is more. */

#include "faulty_stream.h"

#include <stdlib.h>

struct faulty_stream {
    struct net_stream base;
    struct faulty_transport *transport;
    struct net_stream *inner; /* NULL once reset. */
    struct list link;
    struct faulty_plan plan;
    uint64_t written;
    int wanted;
    int pending; /* Events that we owe the owner. */
    struct loop_task wake;
};

static void faulty_owe(struct faulty_stream *f, int events)
{
    f->pending |= events;
    loop_task_post(&f->wake);
}

static bool faulty_stalled(const struct faulty_stream *f)
{
    return f->plan.stall_at != 0 && f->written + 1 >= f->plan.stall_at;
}

static void faulty_woken(struct loop_task *task, void *user)
{
    struct faulty_stream *f = user;
    int events = f->pending & (f->wanted | NET_STREAM_FAILED);

    (void)task;
    f->pending = 0;
    if (events & NET_STREAM_FAILED) {
        f->base.event(&f->base, NET_STREAM_FAILED, f->base.user);
    } else if (events != 0 && f->inner != NULL && !faulty_stalled(f)) {
        f->base.event(&f->base, events, f->base.user);
    }
}

static void faulty_event(struct net_stream *inner, int events, void *user)
{
    struct faulty_stream *f = user;

    f->base.authenticated = inner->authenticated;
    f->base.identity = inner->identity;
    f->base.failure = inner->failure;
    f->base.why = inner->why;
    if (faulty_stalled(f) && (events & (NET_STREAM_OPENED | NET_STREAM_FAILED)) == 0) {
        inner->ops->want(inner, 0);
        return;
    }
    f->base.event(&f->base, events, f->base.user);
}

static void faulty_fail(struct faulty_stream *f)
{
    if (f->inner != NULL) {
        f->inner->ops->destroy(f->inner, true);
        f->inner = NULL;
        f->transport->resets++;
        f->base.failure = ERR_CLOSED;
        faulty_owe(f, NET_STREAM_FAILED);
    }
}

/* Cut @iov to @max bytes in @out; returns how many pieces are left. */
static int faulty_cut(const struct iovec *iov, int count, size_t max, struct iovec *out)
{
    int n = 0;

    for (int i = 0; i < count && max > 0; i++) {
        if (iov[i].iov_len > 0) {
            out[n] = iov[i];
            out[n].iov_len = iov[i].iov_len < max ? iov[i].iov_len : max;
            max -= out[n++].iov_len;
        }
    }
    return n;
}

static size_t faulty_total(const struct iovec *iov, int count)
{
    size_t total = 0;

    for (int i = 0; i < count; i++) {
        total += iov[i].iov_len;
    }
    return total;
}

/* How many bytes may go out before the next thing that goes wrong. */
static size_t faulty_write_max(const struct faulty_stream *f, size_t wanted)
{
    const uint64_t next = f->written + 1;
    const struct faulty_plan *p = &f->plan;

    if (p->write_max != 0 && wanted > p->write_max) {
        wanted = p->write_max;
    }
    if (p->flip_at >= next && wanted > p->flip_at - next) {
        wanted = p->flip_at == next ? 1 : p->flip_at - next;
    }
    if (p->reset_at >= next && wanted > p->reset_at - next) {
        wanted = p->reset_at - next;
    }
    if (p->stall_at >= next && wanted > p->stall_at - next) {
        wanted = p->stall_at - next;
    }
    return wanted;
}

static enum err faulty_write(struct net_stream *s, const struct iovec *iov, int count,
                             size_t *done_out)
{
    struct faulty_stream *f = (struct faulty_stream *)s;
    size_t wanted = faulty_total(iov, count), max = faulty_write_max(f, wanted);
    struct iovec cut[NET_STREAM_IOV_MAX];
    uint8_t flipped;
    enum err rc;

    if (f->inner == NULL) {
        return ERR_CLOSED;
    }
    if (f->plan.reset_at == f->written + 1) {
        faulty_fail(f);
        return ERR_CLOSED;
    }
    if (max == 0) {
        return ERR_AGAIN;
    }
    count = faulty_cut(iov, count, max, cut);
    if (f->plan.flip_at == f->written + 1) {
        flipped = *(const uint8_t *)cut[0].iov_base ^ 0x10;
        cut[0].iov_base = &flipped;
    }
    rc = f->inner->ops->write(f->inner, cut, count, done_out);
    if (rc == OK) {
        f->transport->flips += f->plan.flip_at == f->written + 1;
        f->written += *done_out;
        if (*done_out == max && max < wanted) {
            faulty_owe(f, NET_STREAM_WRITABLE);
        }
    }
    return rc;
}

static enum err faulty_read(struct net_stream *s, const struct iovec *iov, int count,
                            size_t *done_out)
{
    struct faulty_stream *f = (struct faulty_stream *)s;
    size_t wanted = faulty_total(iov, count), max = wanted;
    struct iovec cut[NET_STREAM_IOV_MAX];
    enum err rc;

    if (f->inner == NULL) {
        return ERR_CLOSED;
    }
    if (faulty_stalled(f)) {
        return ERR_AGAIN;
    }
    if (f->plan.read_max != 0 && max > f->plan.read_max) {
        max = f->plan.read_max;
    }
    count = faulty_cut(iov, count, max, cut);
    rc = f->inner->ops->read(f->inner, cut, count, done_out);
    f->base.why = f->inner->why;
    if (rc == OK && *done_out == max && max < wanted) {
        faulty_owe(f, NET_STREAM_READABLE);
    }
    return rc;
}

static void faulty_want(struct net_stream *s, int events)
{
    struct faulty_stream *f = (struct faulty_stream *)s;
    int fresh = events & ~f->wanted;

    f->wanted = events;
    if (f->inner != NULL) {
        f->inner->ops->want(f->inner, events);
        /* Below us there may be bytes that no event will announce any more. */
        if (fresh != 0 && (f->plan.read_max != 0 || f->plan.write_max != 0)) {
            faulty_owe(f, fresh);
        }
    }
}

static void faulty_info(struct net_stream *s, struct net_stream_info *out)
{
    struct faulty_stream *f = (struct faulty_stream *)s;

    *out = (struct net_stream_info){0};
    if (f->inner != NULL) {
        f->inner->ops->info(f->inner, out);
    }
}

static void faulty_finish(struct net_stream *s)
{
    struct faulty_stream *f = (struct faulty_stream *)s;

    if (f->inner != NULL) {
        f->inner->ops->finish(f->inner);
    }
}

static enum err faulty_pace(struct net_stream *s, uint64_t bytes_per_s)
{
    struct faulty_stream *f = (struct faulty_stream *)s;

    return f->inner == NULL ? ERR_CLOSED : f->inner->ops->pace(f->inner, bytes_per_s);
}

static void faulty_destroy(struct net_stream *s, bool abort)
{
    struct faulty_stream *f = (struct faulty_stream *)s;

    if (f->inner != NULL) {
        f->inner->ops->destroy(f->inner, abort);
    }
    loop_task_cancel(&f->wake);
    list_remove(&f->link);
    f->transport->streams_count--;
    free(f);
}

static const struct net_stream_ops faulty_ops = {
    .write = faulty_write,
    .read = faulty_read,
    .want = faulty_want,
    .info = faulty_info,
    .finish = faulty_finish,
    .pace = faulty_pace,
    .destroy = faulty_destroy,
};

static struct net_stream *faulty_wrap(struct faulty_transport *t, struct net_stream *inner)
{
    struct faulty_stream *f = calloc(1, sizeof(*f));

    CHECK(f != NULL);
    f->base.ops = &faulty_ops;
    f->transport = t;
    f->inner = inner;
    f->plan = t->plan;
    loop_task_init(&f->wake, t->loop, faulty_woken, f);
    list_push_back(&t->streams, &f->link);
    t->streams_count++;
    inner->event = faulty_event;
    inner->user = f;
    return &f->base;
}

static enum err faulty_dial(struct net_transport *base, const struct net_address *to,
                            struct net_stream **stream_out)
{
    struct faulty_transport *t = (struct faulty_transport *)base;
    struct net_stream *inner;
    enum err rc = t->inner->ops->dial(t->inner, to, &inner);

    if (rc == OK) {
        *stream_out = faulty_wrap(t, inner);
    }
    return rc;
}

static bool faulty_admit(const struct net_source *source, void *user)
{
    struct faulty_listen *l = user;

    return l->accept.admit == NULL || l->accept.admit(source, l->accept.user);
}

static void faulty_accepted(struct net_stream *inner, const struct net_source *source, void *user)
{
    struct faulty_listen *l = user;

    l->accept.accepted(inner == NULL ? NULL : faulty_wrap(l->transport, inner), source,
                       l->accept.user);
}

static enum err faulty_listen(struct net_transport *base, const struct net_address *at,
                              const struct net_accept *accept, struct net_listener **listener_out,
                              struct err_text *text)
{
    struct faulty_transport *t = (struct faulty_transport *)base;
    struct faulty_listen *l = &t->listens[t->listens_count++];
    struct net_accept ours = {faulty_admit, faulty_accepted, l};

    CHECK(t->listens_count <= FAULTY_LISTENERS_MAX);
    *l = (struct faulty_listen){t, *accept};
    return t->inner->ops->listen(t->inner, at, &ours, listener_out, text);
}

static const struct net_transport_ops faulty_transport_ops = {
    .dial = faulty_dial,
    .listen = faulty_listen,
};

void faulty_transport_init(struct faulty_transport *t, struct net_transport *inner,
                           struct loop *loop)
{
    *t = (struct faulty_transport){.base.ops = &faulty_transport_ops, .inner = inner, .loop = loop};
    list_init(&t->streams);
}

void faulty_reset(struct faulty_transport *t, uint32_t index)
{
    LIST_FOREACH (link, &t->streams) {
        if (index-- == 0) {
            faulty_fail(LIST_ENTRY(link, struct faulty_stream, link));
            return;
        }
    }
}

uint64_t faulty_written(const struct faulty_transport *t, uint32_t index)
{
    LIST_FOREACH (link, &t->streams) {
        if (index-- == 0) {
            return LIST_ENTRY(link, struct faulty_stream, link)->written;
        }
    }
    return 0;
}

void faulty_replan(struct faulty_transport *t)
{
    LIST_FOREACH (link, &t->streams) {
        struct faulty_stream *f = LIST_ENTRY(link, struct faulty_stream, link);

        f->plan = t->plan;
        faulty_owe(f, f->wanted);
    }
}
