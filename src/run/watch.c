#include "run/watch.h"

#include "base/buf.h"
#include "base/mem.h"
#include "net/endpoint.h"
#include "net/entropy.h"
#include "net/socket.h"
#include "node/control.h"
#include "obs/metric.h"

enum { WATCH_POOL_BYTES = 16 << 20, WATCH_SERIES = 256 };

struct run_watch {
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_socket_transport transport;
    struct net_endpoint *endpoint;
    struct net_address lane;
    struct net_peer *peer; /* NULL while there is no session. */
    struct loop_timer timer;
    int64_t every_ns;
    uint32_t calls;
    uint32_t asked; /* The call that is not answered; zero: none. */
    void (*seen)(const struct json_t *status, void *user);
    void *user;
};

static void watch_ask(struct run_watch *w)
{
    json_t *fields = json_object();

    if (w->peer != NULL && net_peer_is_up(w->peer) && w->asked == 0 &&
        node_control_send(w->peer, w->pool, NODE_OP_STATUS, w->calls + 1, fields) == OK) {
        w->asked = ++w->calls;
    }
    json_decref(fields);
}

/* A lane that was lost is dialled again. */
static void watch_tick(struct loop_timer *timer, void *user)
{
    struct run_watch *w = user;

    if (w->peer == NULL &&
        net_endpoint_dial(w->endpoint, &w->transport.base, &w->lane, 1, &w->peer) != OK) {
        w->peer = NULL;
    }
    watch_ask(w);
    loop_timer_start_in(timer, w->every_ns);
}

static void watch_up(struct net_peer *peer, bool restarted, void *user)
{
    struct run_watch *w = user;

    (void)peer;
    (void)restarted;
    w->asked = 0;
    watch_ask(w);
}

static enum err watch_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    struct run_watch *w = user;
    uint16_t operation;
    uint32_t call;
    json_t *fields;

    (void)peer;
    if (frame->header.type != WIRE_CONTROL ||
        node_control_read(frame, &operation, &call, &fields) != OK) {
        return OK; /* Whatever it is, it is not for us. */
    }
    if (operation == (NODE_OP_STATUS | NODE_ANSWER) && call == w->asked) {
        w->asked = 0;
        if (node_control_error(fields, NULL) == OK) {
            w->seen(fields, w->user);
        }
    }
    json_decref(fields);
    return OK;
}

static void watch_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct run_watch *w = user;

    (void)peer;
    (void)why;
    (void)text;
    w->peer = NULL;
    w->asked = 0;
}

static const struct net_endpoint_events watch_events = {
    .up = watch_up,
    .frame = watch_frame,
    .lost = watch_lost,
};

static enum err watch_open(struct run_watch *w, struct loop *loop)
{
    struct net_endpoint_config config = {
        .loop = loop, .insecure = true, .events = &watch_events, .user = w};
    enum err rc = buf_pool_create(WATCH_POOL_BYTES, &w->pool);

    if (rc == OK) {
        rc = obs_registry_create(WATCH_SERIES, &w->registry);
    }
    if (rc == OK) {
        rc = loop_timer_init(&w->timer, loop, watch_tick, w);
    }
    if (rc == OK) {
        rc = pki_identity_make(WIRE_ROLE_OPERATOR, "local", "run", &config.identity, NULL);
    }
    if (rc == OK) {
        rc = entropy_u64(&config.seed);
    }
    if (rc == OK) {
        config.incarnation = config.seed | 1;
        config.pool = w->pool;
        config.registry = w->registry;
        net_socket_transport_init(&w->transport, loop, NULL);
        rc = net_endpoint_create(&config, &w->endpoint);
    }
    return rc;
}

enum err run_watch_create(struct loop *loop, const struct net_address *lane, int64_t every_ns,
                          void (*seen)(const struct json_t *status, void *user), void *user,
                          struct run_watch **watch_out)
{
    struct run_watch *w = mem_zalloc(sizeof(*w));
    enum err rc;

    if (w == NULL) {
        return ERR_NOMEM;
    }
    w->lane = *lane;
    w->every_ns = every_ns;
    w->seen = seen;
    w->user = user;
    rc = watch_open(w, loop);
    if (rc != OK) {
        run_watch_destroy(w);
        return rc;
    }
    loop_timer_start_in(&w->timer, 0);
    *watch_out = w;
    return OK;
}

void run_watch_destroy(struct run_watch *w)
{
    if (w == NULL) {
        return;
    }
    net_endpoint_destroy(w->endpoint);
    loop_timer_deinit(&w->timer);
    obs_registry_destroy(w->registry);
    buf_pool_destroy(w->pool);
    mem_free(w);
}
