#include "run/watch.h"

#include "base/buf.h"
#include "base/mem.h"
#include "net/endpoint.h"
#include "net/entropy.h"
#include "net/socket.h"
#include "node/control.h"
#include "obs/metric.h"

enum { WATCH_POOL_BYTES = 16 << 20, WATCH_SERIES = 256 };

struct watch_lane {
    struct net_address at;
    struct net_peer *peer; /* NULL while there is no session. */
    uint32_t asked;        /* The call that is not answered; zero: none. */
};

struct run_watch {
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_socket_transport transport;
    struct net_endpoint *endpoint;
    struct watch_lane *lanes;
    uint32_t lanes_count;
    struct loop_timer timer;
    int64_t every_ns;
    uint32_t calls;
    void (*seen)(uint32_t lane, const struct json_t *status, void *user);
    void *user;
};

static struct watch_lane *watch_lane_of(struct run_watch *w, const struct net_peer *peer)
{
    uint32_t i = 0;

    while (i < w->lanes_count && w->lanes[i].peer != peer) {
        i++;
    }
    return i < w->lanes_count ? &w->lanes[i] : NULL;
}

static void watch_ask(struct run_watch *w, struct watch_lane *l)
{
    json_t *fields = json_object();

    if (l->peer != NULL && net_peer_is_up(l->peer) && l->asked == 0 &&
        node_control_send(l->peer, w->pool, NODE_OP_STATUS, w->calls + 1, fields) == OK) {
        l->asked = ++w->calls;
    }
    json_decref(fields);
}

/* A lane that was lost is dialled again. */
static void watch_tick(struct loop_timer *timer, void *user)
{
    struct run_watch *w = user;

    for (uint32_t i = 0; i < w->lanes_count; i++) {
        struct watch_lane *l = &w->lanes[i];

        if (l->peer == NULL &&
            net_endpoint_dial(w->endpoint, &w->transport.base, &l->at, 1, &l->peer) != OK) {
            l->peer = NULL;
        }
        watch_ask(w, l);
    }
    loop_timer_start_in(timer, w->every_ns);
}

static void watch_up(struct net_peer *peer, bool restarted, void *user)
{
    struct run_watch *w = user;
    struct watch_lane *l = watch_lane_of(w, peer);

    (void)restarted;
    if (l != NULL) {
        l->asked = 0;
        watch_ask(w, l);
    }
}

static enum err watch_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    struct run_watch *w = user;
    struct watch_lane *l = watch_lane_of(w, peer);
    uint16_t operation;
    uint32_t call;
    json_t *fields;

    if (l == NULL || frame->header.type != WIRE_CONTROL ||
        node_control_read(frame, &operation, &call, &fields) != OK) {
        return OK; /* Whatever it is, it is not for us. */
    }
    if (operation == (NODE_OP_STATUS | NODE_ANSWER) && call == l->asked) {
        l->asked = 0;
        if (node_control_error(fields, NULL) == OK) {
            w->seen((uint32_t)(l - w->lanes), fields, w->user);
        }
    }
    json_decref(fields);
    return OK;
}

static void watch_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct watch_lane *l = watch_lane_of(user, peer);

    (void)why;
    (void)text;
    if (l != NULL) {
        l->peer = NULL;
        l->asked = 0;
    }
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

enum err run_watch_create(struct loop *loop, const struct net_address *lanes, uint32_t count,
                          int64_t every_ns,
                          void (*seen)(uint32_t lane, const struct json_t *status, void *user),
                          void *user, struct run_watch **watch_out)
{
    struct run_watch *w = mem_zalloc(sizeof(*w));
    enum err rc;

    if (w == NULL) {
        return ERR_NOMEM;
    }
    w->lanes = mem_calloc(count, sizeof(*w->lanes));
    w->every_ns = every_ns;
    w->seen = seen;
    w->user = user;
    rc = w->lanes == NULL ? ERR_NOMEM : watch_open(w, loop);
    if (rc != OK) {
        run_watch_destroy(w);
        return rc;
    }
    for (; w->lanes_count < count; w->lanes_count++) {
        w->lanes[w->lanes_count].at = lanes[w->lanes_count];
    }
    loop_timer_start_in(&w->timer, 0);
    *watch_out = w;
    return OK;
}

void run_watch_every(struct run_watch *w, int64_t every_ns)
{
    w->every_ns = every_ns;
    loop_timer_start_in(&w->timer, 0);
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
    mem_free(w->lanes);
    mem_free(w);
}
