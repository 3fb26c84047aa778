/* The endpoint: listening, dialling, strangers, and who is there. */

#include "net/session/endpoint.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/session/peer_state.h"

enum {
    NET_CONTROL_POOL_BYTES = 4 * 1024 * 1024,
    NET_GRACE_MS = 30000,
    NET_REDIAL_MS = 100,
    NET_REDIAL_MAX_MS = 5000,
};

static int64_t net_default_ms(int64_t value_ns, int64_t default_ms)
{
    return value_ns != 0 ? value_ns : default_ms * 1000000;
}

enum err net_endpoint_create(const struct net_endpoint_config *config,
                             struct net_endpoint **endpoint_out)
{
    struct net_endpoint *e = mem_zalloc(sizeof(*e));
    enum err rc;

    if (e == NULL) {
        return ERR_NOMEM;
    }
    CHECK(config->incarnation != 0 && config->window_frames <= LIMIT_WINDOW_FRAMES);
    e->config = *config;
    e->config.heartbeat_ns = net_default_ms(config->heartbeat_ns, LIMIT_HEARTBEAT_MS);
    e->config.grace_ns = net_default_ms(config->grace_ns, NET_GRACE_MS);
    e->config.redial_ns = net_default_ms(config->redial_ns, NET_REDIAL_MS);
    e->config.redial_max_ns = net_default_ms(config->redial_max_ns, NET_REDIAL_MAX_MS);
    if (e->config.window_frames == 0) {
        e->config.window_frames = LIMIT_WINDOW_FRAMES;
    }
    if (e->config.window_bytes == 0) {
        e->config.window_bytes = LIMIT_WINDOW_BYTES;
    }
    rng_init(&e->rng, config->seed);
    list_init(&e->peers);
    list_init(&e->strangers);
    list_init(&e->listeners);
    rc = net_counters_init(&e->counters, config->registry);
    if (rc == OK) {
        rc = buf_pool_create(NET_CONTROL_POOL_BYTES, &e->control_pool);
    }
    if (rc == OK) {
        rc = net_admit_init(&e->admit);
        e->admit_ready = rc == OK;
    }
    if (rc != OK) {
        net_endpoint_destroy(e);
        return rc;
    }
    *endpoint_out = e;
    return OK;
}

void net_endpoint_adopt(struct net_endpoint *e)
{
    buf_pool_adopt(e->control_pool);
}

enum err net_peer_create(struct net_endpoint *e, uint16_t streams, struct net_peer **peer_out)
{
    struct net_peer *p;
    enum err rc;

    if (e->peers_count == LIMIT_PEERS) {
        return ERR_TOO_BIG;
    }
    p = mem_zalloc(sizeof(*p));
    if (p == NULL) {
        return ERR_NOMEM;
    }
    e->peers_count++;
    rc = net_peer_init(p, e, streams);
    if (rc != OK) {
        net_peer_free(p);
        return rc;
    }
    list_push_back(&e->peers, &p->link);
    *peer_out = p;
    return OK;
}

void net_peer_free(struct net_peer *p)
{
    for (uint16_t i = 0; i < p->streams; i++) {
        loop_timer_deinit(&p->slots[i].redial);
        net_conn_abandon(p->slots[i].conn);
    }
    loop_timer_deinit(&p->grace);
    loop_timer_deinit(&p->ack_timer);
    net_probe_deinit(p);
    loop_task_cancel(&p->ack);
    loop_task_cancel(&p->end);
    net_outbox_deinit(&p->outbox);
    list_remove(&p->link);
    p->endpoint->peers_count--;
    mem_free(p);
}

static void net_stranger_free(struct net_stranger *s)
{
    list_remove(&s->link);
    net_conn_abandon(s->conn);
    net_admit_done(&s->endpoint->admit);
    mem_free(s);
}

void net_endpoint_destroy(struct net_endpoint *e)
{
    struct list *link;

    if (e == NULL) {
        return;
    }
    while ((link = list_first(&e->listeners)) != NULL) {
        struct net_bound *bound = LIST_ENTRY(link, struct net_bound, link);

        list_remove(link);
        bound->listener->ops->destroy(bound->listener);
        mem_free(bound);
    }
    while ((link = list_first(&e->strangers)) != NULL) {
        net_stranger_free(LIST_ENTRY(link, struct net_stranger, link));
    }
    while ((link = list_first(&e->peers)) != NULL) {
        net_peer_free(LIST_ENTRY(link, struct net_peer, link));
    }
    if (e->admit_ready) {
        net_admit_deinit(&e->admit);
    }
    buf_pool_destroy(e->control_pool);
    mem_free(e);
}

static void net_stranger_opened(struct net_conn *conn, void *user)
{
    (void)conn;
    (void)user;
}

/* The first thing a stranger says must be hello, or a request to enrol. */
static enum err net_stranger_frame(struct net_conn *conn, const struct net_frame *frame, void *user)
{
    struct net_stranger *s = user;
    const struct net_endpoint_config *config = &s->endpoint->config;
    enum err rc;

    if (frame->header.type == WIRE_ENROLL && config->events->enrol != NULL &&
        !net_conn_stream(conn)->authenticated) {
        s->enrolling = true;
        return config->events->enrol(conn, &s->source, frame, config->user);
    }
    rc = net_greet_stranger(s, frame);
    if (s->conn == NULL) {
        net_admit_credit(&s->endpoint->admit, s->source.key);
        net_stranger_free(s);
    }
    return rc;
}

static void net_stranger_closed(struct net_conn *conn, enum err why, const char *text, void *user)
{
    struct net_stranger *s = user;
    const struct net_endpoint_config *config = &s->endpoint->config;

    if (why != OK) {
        LOG_INF("net", "stranger %s: %s", s->source.text, text);
    }
    if (s->enrolling && config->events->enrol_ended != NULL) {
        config->events->enrol_ended(conn, config->user);
    }
    s->conn = NULL;
    net_stranger_free(s);
}

static const struct net_conn_events net_stranger_events = {
    .opened = net_stranger_opened,
    .frame = net_stranger_frame,
    .closed = net_stranger_closed,
};

static bool net_endpoint_admit(const struct net_source *source, void *user)
{
    struct net_endpoint *e = user;

    if (net_admit_try(&e->admit, source->key, loop_now_ns(e->config.loop)) == NET_ADMIT) {
        return true;
    }
    obs_counter_add(e->counters.strangers_refused, 1);
    LOG_WRN("net", "%s connects too often; refused", source->text);
    return false;
}

static void net_endpoint_accepted(struct net_stream *stream, const struct net_source *source,
                                  void *user)
{
    struct net_endpoint *e = user;
    struct net_stranger *s = stream == NULL ? NULL : mem_zalloc(sizeof(*s));
    struct net_conn_config config = {
        .loop = e->config.loop,
        .pool = e->config.pool,
        .control_pool = e->control_pool,
        .counters = &e->counters,
        .heartbeat_ns = e->config.heartbeat_ns,
        .stranger_ns = (int64_t)LIMIT_STRANGER_MS * 1000000,
        .events = &net_stranger_events,
        .user = s,
    };

    if (s == NULL || net_conn_create(&config, stream, &s->conn) != OK) {
        mem_free(s);
        if (stream != NULL) {
            stream->ops->destroy(stream, true);
        }
        net_admit_done(&e->admit);
        return;
    }
    s->endpoint = e;
    s->source = *source;
    list_push_back(&e->strangers, &s->link);
}

enum err net_endpoint_listen(struct net_endpoint *e, struct net_transport *transport,
                             const struct net_address *at, struct net_address *bound_out,
                             struct err_text *text)
{
    struct net_accept accept = {net_endpoint_admit, net_endpoint_accepted, e};
    struct net_bound *bound = mem_zalloc(sizeof(*bound));
    enum err rc;

    if (bound == NULL) {
        return ERR_NOMEM;
    }
    rc = transport->ops->listen(transport, at, &accept, &bound->listener, text);
    if (rc != OK) {
        mem_free(bound);
        return rc;
    }
    list_push_back(&e->listeners, &bound->link);
    if (bound_out != NULL) {
        *bound_out = bound->listener->address;
    }
    return OK;
}

enum err net_endpoint_dial(struct net_endpoint *e, struct net_transport *transport,
                           const struct net_address *to, uint16_t streams,
                           struct net_peer **peer_out)
{
    struct net_peer *p;
    enum err rc;

    CHECK(streams > 0 && streams <= LIMIT_STREAMS_PER_PEER);
    rc = net_peer_create(e, streams, &p);
    if (rc != OK) {
        return rc;
    }
    p->dialled = true;
    p->session = (uint64_t)e->config.part << NET_PART_SHIFT | e->sessions++;
    p->transport = transport;
    p->address = *to;
    for (uint16_t i = 0; i < streams; i++) {
        loop_timer_start_in(&p->slots[i].redial, 0);
    }
    *peer_out = p;
    return OK;
}

void net_endpoint_credit(struct net_endpoint *e, const struct net_source *source)
{
    net_admit_credit(&e->admit, source->key);
}

struct net_peer *net_endpoint_peer(struct net_endpoint *e, uint32_t index)
{
    LIST_FOREACH (link, &e->peers) {
        if (index-- == 0) {
            return LIST_ENTRY(link, struct net_peer, link);
        }
    }
    return NULL;
}
