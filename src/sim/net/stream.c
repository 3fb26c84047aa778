/* Ends of simulated connections as net_streams; connecting, accepting, resetting. */

#include "sim/net/stream.h"

#include "base/mem.h"
#include "sim/net/tube.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIM_SYN_RETRY_NS INT64_C(1000000000)

struct sim_listener {
    struct net_listener base;
    struct sim_transport *transport;
    struct list link; /* In the host's list. */
    uint16_t port;
    struct net_accept accept;
    struct list backlog; /* Connections nobody has looked at yet. */
    struct loop_task task;
};

struct sim_tubes *sim_tubes_of(struct sim_world *w)
{
    return w->tubes;
}

void sim_end_poke(struct sim_end *end)
{
    if (end->ready.loop != NULL && end->state != SIM_END_GONE && end->host->on) {
        loop_task_post(&end->ready);
    }
}

static bool sim_end_usable(const struct sim_end *end)
{
    return end->state == SIM_END_OPENING || end->state == SIM_END_OPEN;
}

void sim_end_fail(struct sim_end *end, enum err what)
{
    if (sim_end_usable(end) && !end->say_failed) {
        end->say_failed = true;
        end->base.failure = what;
        end->late = false;
        sim_end_poke(end);
    }
}

static void sim_end_told(struct sim_event *event, struct sim_world *w)
{
    struct sim_end *end = LIST_ENTRY(event, struct sim_end, told);

    (void)w;
    if (!end->host->on) {
        return;
    }
    if (end->told_what != OK) {
        sim_end_fail(end, end->told_what);
    } else if (end->state == SIM_END_OPENING) {
        end->state = SIM_END_OPEN;
        end->say_opened = true;
        sim_end_poke(end);
    }
}

void sim_end_tell(struct sim_end *end, enum err what, int64_t extra_ns)
{
    struct sim_world *w = end->tube->world;
    struct sim_link *link = sim_end_other(end)->out.link;

    if (!sim_end_usable(end) || sim_link_is_cut(link) || end->tube->stalled) {
        return;
    }
    end->told_what = what;
    CHECK(sim_event_at(w, &end->told,
                       w->now_ns + link->config.delay_ns + link->extra_delay_ns + extra_ns) == OK);
}

/* The host looks at the end. The owner may destroy it in event(): nothing is touched after. */
static void sim_end_look(struct loop_task *task, void *user)
{
    struct sim_end *end = user;
    struct sim_pipe *in = &sim_end_other(end)->out;
    int events = 0;

    (void)task;
    if (end->say_failed) {
        end->base.event(&end->base, NET_STREAM_FAILED, end->base.user);
        return;
    }
    if (end->say_opened) {
        end->say_opened = false;
        if (end->wanted != 0) {
            sim_end_poke(end);
        }
        end->base.event(&end->base, NET_STREAM_OPENED, end->base.user);
        return;
    }
    if (end->state != SIM_END_OPEN) {
        return;
    }
    if ((end->wanted & NET_STREAM_READABLE) && (in->a > in->r || in->fin_arrived)) {
        events |= NET_STREAM_READABLE;
    }
    if ((end->wanted & NET_STREAM_WRITABLE) && sim_pipe_room(&end->out) > 0) {
        events |= NET_STREAM_WRITABLE;
    }
    if (events != 0) {
        end->base.event(&end->base, events, end->base.user);
    }
}

static enum err sim_stream_write(struct net_stream *s, const struct iovec *iov, int count,
                                 size_t *done_out)
{
    struct sim_end *end = (struct sim_end *)s;
    struct mem_plan plan;
    enum err rc;

    if (end->say_failed) {
        return end->base.failure;
    }
    plan = mem_fail_suspend();
    rc = sim_pipe_write(&end->out, iov, count, done_out);
    mem_fail_resume(plan);
    return rc;
}

static enum err sim_stream_read(struct net_stream *s, const struct iovec *iov, int count,
                                size_t *done_out)
{
    struct sim_end *end = (struct sim_end *)s;
    struct mem_plan plan;
    enum err rc;

    if (end->say_failed) {
        return end->base.failure;
    }
    plan = mem_fail_suspend();
    rc = sim_pipe_read(&sim_end_other(end)->out, iov, count, done_out);
    mem_fail_resume(plan);
    return rc;
}

static void sim_stream_want(struct net_stream *s, int events)
{
    struct sim_end *end = (struct sim_end *)s;
    int fresh = events & ~end->wanted;
    struct sim_pipe *in = &sim_end_other(end)->out;

    end->wanted = events;
    if (((fresh & NET_STREAM_READABLE) && (in->a > in->r || in->fin_arrived)) ||
        ((fresh & NET_STREAM_WRITABLE) && sim_pipe_room(&end->out) > 0)) {
        sim_end_poke(end);
    }
}

static void sim_stream_info(struct net_stream *s, struct net_stream_info *out)
{
    struct sim_end *end = (struct sim_end *)s;
    struct sim_link *there = end->out.link, *back = sim_end_other(end)->out.link;
    int64_t rtt_ns = there->config.delay_ns + there->extra_delay_ns + back->config.delay_ns +
                     back->extra_delay_ns;

    *out = (struct net_stream_info){
        .rtt_ns = rtt_ns,
        .rtt_least_ns = rtt_ns,
        .delivery_bytes_per_s = end->out.rate,
        .acked_bytes = end->out.k,
        .unsent_bytes = end->out.w - end->out.t,
    };
}

static void sim_stream_finish(struct net_stream *s)
{
    struct sim_end *end = (struct sim_end *)s;
    struct mem_plan plan = mem_fail_suspend();

    if (end->state == SIM_END_OPEN && !end->say_failed) {
        sim_pipe_finish(&end->out);
    }
    mem_fail_resume(plan);
}

static enum err sim_stream_pace(struct net_stream *s, uint64_t bytes_per_s)
{
    struct sim_end *end = (struct sim_end *)s;

    if (end->say_failed) {
        return ERR_CLOSED;
    }
    sim_pipe_pace(&end->out, bytes_per_s);
    return OK;
}

/* Free the connection once neither end has an owner. */
static void sim_end_release(struct sim_end *end)
{
    struct sim_end *other = sim_end_other(end);

    end->state = SIM_END_GONE;
    list_remove(&end->link);
    if (end->ready.loop != NULL) {
        loop_task_cancel(&end->ready);
        end->ready.loop = NULL;
    }
    if (other->state == SIM_END_GONE || other->state == SIM_END_NONE) {
        sim_tube_free(end->tube);
    }
}

static void sim_stream_destroy(struct net_stream *s, bool abort)
{
    struct sim_end *end = (struct sim_end *)s;
    struct mem_plan plan = mem_fail_suspend();

    if (end->muted || end->say_failed) {
        sim_pipe_stop(&end->out);
    } else if (abort && !end->killed) {
        sim_pipe_stop(&end->out);
        sim_end_tell(sim_end_other(end), ERR_CLOSED, 0);
    } else if (end->state == SIM_END_OPEN) {
        sim_pipe_finish(&end->out);
    }
    sim_end_release(end);
    mem_fail_resume(plan);
}

static const struct net_stream_ops sim_stream_ops = {
    .write = sim_stream_write,
    .read = sim_stream_read,
    .want = sim_stream_want,
    .info = sim_stream_info,
    .finish = sim_stream_finish,
    .pace = sim_stream_pace,
    .destroy = sim_stream_destroy,
};

static void sim_end_own(struct sim_end *end, const struct pki_identity *other)
{
    end->base.ops = &sim_stream_ops;
    end->base.authenticated = true;
    end->base.identity = *other;
    loop_task_init(&end->ready, end->host->loop, sim_end_look, end);
    list_push_back(&end->host->ends, &end->link);
}

static struct sim_listener *sim_listener_find(struct sim_host *host, uint16_t port)
{
    LIST_FOREACH (link, &host->listeners) {
        struct sim_listener *l = LIST_ENTRY(link, struct sim_listener, link);

        if (l->port == port) {
            return l;
        }
    }
    return NULL;
}

/* The first packet of a connection reaches the other machine. */
static void sim_tube_syn(struct sim_event *event, struct sim_world *w)
{
    struct sim_tube *tube = LIST_ENTRY(event, struct sim_tube, syn);
    struct sim_end *dialler = &tube->ends[0], *other = &tube->ends[1];
    struct sim_listener *l;

    if (sim_link_is_cut(dialler->out.link)) {
        sim_link_wait(dialler->out.link, &tube->syn_heal);
        return;
    }
    if (!other->host->on) {
        CHECK(sim_event_at(w, event, w->now_ns + SIM_SYN_RETRY_NS) == OK);
        return;
    }
    l = sim_listener_find(other->host, tube->port);
    if (l == NULL) {
        sim_end_tell(dialler, ERR_UNREACHABLE, 0);
        return;
    }
    other->state = SIM_END_OPEN;
    dialler->base.identity = l->transport->identity;
    list_push_back(&l->backlog, &tube->backlog);
    loop_task_post(&l->task);
    sim_end_tell(dialler, OK, 0);
}

static void sim_tube_syn_healed(struct sim_waiter *waiter, struct sim_world *w)
{
    struct sim_tube *tube = LIST_ENTRY(waiter, struct sim_tube, syn_heal);

    CHECK(sim_event_at(w, &tube->syn, w->now_ns + tube->ends[0].out.link->config.delay_ns) == OK);
}

static enum err sim_transport_dial_now(struct sim_transport *t, const struct net_address *to,
                                       struct net_stream **stream_out)
{
    struct sim_world *w = t->host->world;
    struct sim_host *host = sim_world_host(w, to->host);
    struct sim_tube *tube;
    struct sim_end *end;
    enum err rc;

    if (host == NULL) {
        return ERR_UNREACHABLE;
    }
    if (t->host->starved > 0) {
        t->host->starved_met++;
        return ERR_IO;
    }
    rc = sim_tube_create(w, t->host, host, &tube);
    if (rc != OK) {
        return rc;
    }
    tube->port = (uint16_t)atoi(to->port);
    tube->dialler = t->identity;
    tube->syn_heal.healed = sim_tube_syn_healed;
    sim_event_init(&tube->syn, sim_tube_syn);
    end = &tube->ends[0];
    end->state = SIM_END_OPENING;
    sim_event_init(&end->told, sim_end_told);
    sim_event_init(&tube->ends[1].told, sim_end_told);
    sim_end_own(end, &t->identity); /* Who answers is known when the answer sets out. */
    CHECK(sim_event_at(w, &tube->syn, w->now_ns + sim_link_travel_ns(w, end->out.link)) == OK);
    *stream_out = &end->base;
    return OK;
}

static enum err sim_transport_dial(struct net_transport *base, const struct net_address *to,
                                   struct net_stream **stream_out)
{
    struct mem_plan plan;
    enum err rc;

    if (to->scheme != NET_SCHEME_SIM) {
        return ERR_INVALID;
    }
    plan = mem_fail_suspend();
    rc = sim_transport_dial_now((struct sim_transport *)base, to, stream_out);
    mem_fail_resume(plan);
    return rc;
}

/* The listener's program looks at who came. */
static void sim_listener_look(struct loop_task *task, void *user)
{
    struct sim_listener *l = user;
    struct list *link = list_first(&l->backlog);
    struct net_source source = {0};
    struct sim_tube *tube;
    struct sim_end *end;

    if (link == NULL) {
        return;
    }
    if (l->transport->host->starved > 0) {
        l->transport->host->starved_met++;
        return; /* They wait: sim_stream_host_fed(). */
    }
    tube = LIST_ENTRY(link, struct sim_tube, backlog);
    end = &tube->ends[1];
    list_remove(link);
    if (!list_empty(&l->backlog)) {
        loop_task_post(task);
    }
    memcpy(source.key, &tube->ends[0].host->index, sizeof(tube->ends[0].host->index));
    (void)snprintf(source.text, sizeof(source.text), "%.63s", tube->ends[0].host->name);
    sim_end_own(end, &tube->dialler);
    if (l->accept.admit != NULL && !l->accept.admit(&source, l->accept.user)) {
        sim_stream_destroy(&end->base, true);
        return;
    }
    end->say_opened = true;
    sim_end_poke(end);
    l->accept.accepted(&end->base, &source, l->accept.user);
}

static void sim_listener_destroy(struct net_listener *base)
{
    struct sim_listener *l = (struct sim_listener *)base;
    struct list *link;

    while ((link = list_first(&l->backlog)) != NULL) {
        struct sim_tube *tube = LIST_ENTRY(link, struct sim_tube, backlog);

        list_remove(link);
        if (tube->ends[1].host->on) {
            sim_end_tell(&tube->ends[0], ERR_CLOSED, 0);
        }
        sim_end_release(&tube->ends[1]);
    }
    loop_task_cancel(&l->task);
    list_remove(&l->link);
    mem_free(l);
}

static const struct net_listener_ops sim_listener_ops = {.destroy = sim_listener_destroy};

static enum err sim_transport_listen(struct net_transport *base, const struct net_address *at,
                                     const struct net_accept *accept,
                                     struct net_listener **listener_out, struct err_text *text)
{
    struct sim_transport *t = (struct sim_transport *)base;
    uint16_t port = (uint16_t)atoi(at->port);
    struct sim_listener *l;

    if (at->scheme != NET_SCHEME_SIM) {
        return err_text_set(text, ERR_INVALID, "not an address of a simulated host");
    }
    if (port == 0) {
        port = t->host->port_next++;
    }
    if (sim_listener_find(t->host, port) != NULL) {
        return err_text_set(text, ERR_EXISTS, "port %u of %s is taken", port, t->host->name);
    }
    l = mem_zalloc(sizeof(*l));
    if (l == NULL) {
        return ERR_NOMEM;
    }
    l->base = (struct net_listener){&sim_listener_ops, *at};
    (void)snprintf(l->base.address.host, sizeof(l->base.address.host), "%s", t->host->name);
    (void)snprintf(l->base.address.port, sizeof(l->base.address.port), "%u", port);
    l->transport = t;
    l->port = port;
    l->accept = *accept;
    list_init(&l->backlog);
    loop_task_init(&l->task, t->host->loop, sim_listener_look, l);
    list_push_back(&t->host->listeners, &l->link);
    *listener_out = &l->base;
    return OK;
}

static const struct net_transport_ops sim_transport_ops = {
    .dial = sim_transport_dial,
    .listen = sim_transport_listen,
};

void sim_transport_init(struct sim_transport *t, struct sim_host *host,
                        const struct pki_identity *identity)
{
    *t =
        (struct sim_transport){.base.ops = &sim_transport_ops, .host = host, .identity = *identity};
}

enum err sim_streams_create(struct sim_world *w)
{
    w->tubes = mem_zalloc(sizeof(*w->tubes));
    if (w->tubes == NULL) {
        return ERR_NOMEM;
    }
    list_init(&w->tubes->all);
    return OK;
}

void sim_streams_destroy(struct sim_world *w)
{
    mem_free(w->tubes);
    w->tubes = NULL;
}

void sim_stream_host_fed(struct sim_host *host)
{
    LIST_FOREACH (link, &host->listeners) {
        loop_task_post(&LIST_ENTRY(link, struct sim_listener, link)->task);
    }
}

void sim_stream_host_off(struct sim_host *host, bool silent)
{
    LIST_FOREACH (link, &host->ends) {
        struct sim_end *end = LIST_ENTRY(link, struct sim_end, link);

        end->muted = silent;
        end->killed = !silent;
    }
}
