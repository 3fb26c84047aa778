#include "emu/traffic/filler.h"

#include "base/list.h"
#include "base/mem.h"

enum {
    FILLER_AGAIN_MS = 100,
    FILLER_BYTES = 64 * 1024, /* Of zeros, */
    FILLER_AT_ONCE = 16,      /* so many times in a call, */
    FILLER_CALLS = 2,         /* and so many calls before others have their turn. */
    FILLER_READ_BYTES = 1 << 20,
};

/* Begins here. The first byte says of which kind it is. */
struct filler_flow {
    struct list link;
    struct filler *filler;
    struct filler_order order;
    struct net_stream *stream; /* NULL: it will be dialled again. */
    bool said;                 /* The first byte is out. */
    struct loop_timer again;
};

/* Comes from elsewhere. */
struct filler_end {
    struct list link;
    struct filler *filler;
    struct net_stream *stream;
    bool known; /* The first byte has come. */
    uint32_t kind;
};

struct filler {
    struct filler_config config;
    struct net_listener *listener;
    struct list flows;
    struct list ends;
    uint32_t flows_count;
    uint32_t ends_count;
    uint64_t received[FILLER_KINDS_MAX];
    uint8_t *zeros;
    uint8_t *read;
};

/* What comes. */

static void end_free(struct filler_end *e)
{
    e->stream->ops->destroy(e->stream, true);
    list_remove(&e->link);
    e->filler->ends_count--;
    mem_free(e);
}

/* A kind that there is not ends it. */
static bool end_take(struct filler_end *e, size_t size)
{
    struct filler *f = e->filler;

    if (!e->known) {
        e->known = true;
        e->kind = f->read[0];
    }
    if (e->kind >= FILLER_KINDS_MAX) {
        return false;
    }
    f->received[e->kind] += size;
    return true;
}

static void end_event(struct net_stream *s, int events, void *user)
{
    struct filler_end *e = user;
    struct iovec iov = {.iov_base = e->filler->read, .iov_len = FILLER_READ_BYTES};
    size_t done = 0;
    enum err rc = events & NET_STREAM_FAILED ? ERR_CLOSED : OK;

    if (events & NET_STREAM_OPENED) {
        s->ops->want(s, NET_STREAM_READABLE);
    }
    for (int i = 0; i < FILLER_CALLS && rc == OK && (events & NET_STREAM_READABLE); i++) {
        rc = s->ops->read(s, &iov, 1, &done);
        if (rc == OK && !end_take(e, done)) {
            rc = ERR_CLOSED;
        }
    }
    if (rc != OK && rc != ERR_AGAIN) {
        end_free(e);
    }
}

static bool filler_admit(const struct net_source *source, void *user)
{
    const struct filler *f = user;

    (void)source;
    return f->ends_count < FILLER_FLOWS_MAX;
}

static void filler_accepted(struct net_stream *s, const struct net_source *source, void *user)
{
    struct filler *f = user;
    struct filler_end *e = s == NULL ? NULL : mem_zalloc(sizeof(*e));

    (void)source;
    if (e == NULL) {
        if (s != NULL) {
            s->ops->destroy(s, true);
        }
        return;
    }
    *e = (struct filler_end){.filler = f, .stream = s};
    s->event = end_event;
    s->user = e;
    list_push_back(&f->ends, &e->link);
    f->ends_count++;
}

/* What goes. */

static void flow_later(struct filler_flow *w)
{
    if (w->stream != NULL) {
        w->stream->ops->destroy(w->stream, true);
        w->stream = NULL;
    }
    loop_timer_start_in(&w->again, (int64_t)FILLER_AGAIN_MS * 1000000);
}

/* As much as there is room for; false: the connection is gone. */
static bool flow_fill(struct filler_flow *w)
{
    struct net_stream *s = w->stream;
    uint8_t kind = (uint8_t)w->order.kind;
    struct iovec iov[FILLER_AT_ONCE + 1];
    enum err rc = OK;

    for (int i = 0; i < FILLER_CALLS && rc == OK; i++) {
        int count = 0;
        size_t done = 0;

        if (!w->said) {
            iov[count++] = (struct iovec){.iov_base = &kind, .iov_len = 1};
        }
        for (int k = 0; k < FILLER_AT_ONCE; k++) {
            iov[count++] = (struct iovec){.iov_base = w->filler->zeros, .iov_len = FILLER_BYTES};
        }
        rc = s->ops->write(s, iov, count, &done);
        w->said = w->said || rc == OK;
    }
    return rc == OK || rc == ERR_AGAIN;
}

static void flow_event(struct net_stream *s, int events, void *user)
{
    struct filler_flow *w = user;

    if (events & NET_STREAM_FAILED) {
        flow_later(w);
        return;
    }
    if (events & NET_STREAM_OPENED) {
        if (w->order.bytes_per_s > 0) {
            (void)s->ops->pace(s, w->order.bytes_per_s); /* What cannot, is not held back. */
        }
        s->ops->want(s, NET_STREAM_WRITABLE);
    }
    if ((events & NET_STREAM_WRITABLE) && !flow_fill(w)) {
        flow_later(w);
    }
}

static void flow_dial(struct filler_flow *w)
{
    struct net_transport *t = w->filler->config.transport;

    w->said = false;
    if (t->ops->dial(t, &w->order.to, &w->stream) != OK) {
        w->stream = NULL;
        flow_later(w);
        return;
    }
    w->stream->event = flow_event;
    w->stream->user = w;
}

static void flow_again(struct loop_timer *timer, void *user)
{
    (void)timer;
    flow_dial(user);
}

static void flow_free(struct filler_flow *w)
{
    if (w->stream != NULL) {
        w->stream->ops->destroy(w->stream, true);
    }
    loop_timer_deinit(&w->again);
    list_remove(&w->link);
    w->filler->flows_count--;
    mem_free(w);
}

static enum err flow_begin(struct filler *f, const struct filler_order *order)
{
    struct filler_flow *w;

    if (f->flows_count == FILLER_FLOWS_MAX) {
        return ERR_TOO_BIG;
    }
    w = mem_zalloc(sizeof(*w));
    if (w == NULL || loop_timer_init(&w->again, f->config.loop, flow_again, w) != OK) {
        mem_free(w);
        return ERR_NOMEM;
    }
    w->filler = f;
    w->order = *order;
    list_push_back(&f->flows, &w->link);
    f->flows_count++;
    flow_dial(w);
    return OK;
}

enum err filler_do(struct filler *f, const struct filler_order *order)
{
    if (order->begin) {
        return flow_begin(f, order);
    }
    for (struct list *link = f->flows.next, *next; link != &f->flows; link = next) {
        struct filler_flow *w = LIST_ENTRY(link, struct filler_flow, link);

        next = link->next;
        if (w->order.kind == order->kind) {
            flow_free(w);
        }
    }
    return OK;
}

/* All of it. */

enum err filler_create(const struct filler_config *config, struct filler **filler_out,
                       struct err_text *text)
{
    struct filler *f = mem_zalloc(sizeof(*f));
    enum err rc = f == NULL ? ERR_NOMEM : OK;

    if (rc == OK) {
        struct net_accept accept = {filler_admit, filler_accepted, f};

        f->config = *config;
        list_init(&f->flows);
        list_init(&f->ends);
        f->zeros = mem_zalloc(FILLER_BYTES);
        f->read = mem_zalloc(FILLER_READ_BYTES);
        rc = f->zeros == NULL || f->read == NULL
                 ? ERR_NOMEM
                 : config->transport->ops->listen(config->transport, &config->at, &accept,
                                                  &f->listener, text);
    }
    if (rc != OK) {
        filler_destroy(f);
        return rc == ERR_NOMEM ? err_text_set(text, rc, "no memory for a filler") : rc;
    }
    *filler_out = f;
    return OK;
}

void filler_destroy(struct filler *f)
{
    struct list *link;

    if (f == NULL) {
        return;
    }
    if (f->listener != NULL) {
        f->listener->ops->destroy(f->listener);
    }
    while ((link = list_first(&f->flows)) != NULL) {
        flow_free(LIST_ENTRY(link, struct filler_flow, link));
    }
    while ((link = list_first(&f->ends)) != NULL) {
        end_free(LIST_ENTRY(link, struct filler_end, link));
    }
    mem_free(f->zeros);
    mem_free(f->read);
    mem_free(f);
}

const struct net_address *filler_address(const struct filler *f)
{
    return &f->listener->address;
}

uint32_t filler_flows(const struct filler *f)
{
    return f->flows_count;
}

uint64_t filler_received(const struct filler *f, uint32_t kind)
{
    CHECK(kind < FILLER_KINDS_MAX);
    return f->received[kind];
}
