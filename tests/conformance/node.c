/* Endpoints, sessions, and the checks that hold in every test of them. */

#include "node.h"

#include "link.h"

#include <stdio.h>

static void node_enter(struct conf_node *node)
{
    assert_int_equal(node->side->world->calls, 0);
}

static void node_note(struct conf_node *node, enum err why, const char *text)
{
    node->why = why;
    (void)snprintf(node->text.text, sizeof(node->text.text), "%s", text);
}

static void node_resume(const struct pki_identity *who, uint64_t incarnation, uint64_t session,
                        struct net_window *received, void *user)
{
    struct conf_node *node = user;

    (void)session;
    assert_true(who->site[0] != '\0' && incarnation != 0);
    if (node->on_resume != NULL) {
        node->on_resume(node, received);
    }
}

static void node_up(struct net_peer *peer, bool restarted, void *user)
{
    struct conf_node *node = user;

    node_enter(node);
    assert_true(net_peer_is_up(peer));
    node->peer = peer;
    node->ups++;
    node->restarts += restarted;
    if (node->on_up != NULL) {
        node->on_up(node, peer);
    }
}

static enum err node_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    struct conf_node *node = user;

    node_enter(node);
    node->frames++;
    return node->on_frame == NULL ? OK : node->on_frame(node, peer, frame);
}

static void node_acked(struct net_peer *peer, const struct wire_header *header, void *user)
{
    struct conf_node *node = user;

    node_enter(node);
    assert_int_equal(node->losses, 0);
    node->on_acked(node, peer, header);
}

static void node_writable(struct net_peer *peer, void *user)
{
    struct conf_node *node = user;

    (void)peer;
    node_enter(node);
    node->writables++;
    if (node->on_writable != NULL) {
        node->on_writable(node);
    }
}

static void node_down(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct conf_node *node = user;

    node_enter(node);
    assert_false(net_peer_is_up(peer));
    node->downs++;
    node_note(node, why, text);
}

static void node_connect_failed(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct conf_node *node = user;

    (void)peer;
    node_enter(node);
    node->troubles++;
    node_note(node, why, text);
}

static void node_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct conf_node *node = user;

    node_enter(node);
    node->losses++;
    node_note(node, why, text);
    if (node->peer == peer) {
        node->peer = NULL;
    }
    if (node->on_lost != NULL) {
        node->on_lost(node, peer);
    }
}

#define NODE_EVENTS                                                                                \
    .resume = node_resume, .up = node_up, .frame = node_frame, .writable = node_writable,          \
    .down = node_down, .connect_failed = node_connect_failed, .lost = node_lost

static const struct net_endpoint_events node_events = {NODE_EVENTS};
static const struct net_endpoint_events node_events_acked = {NODE_EVENTS, .acked = node_acked};

void conf_node_stop(struct conf_node *node)
{
    net_endpoint_destroy(node->endpoint);
    node->endpoint = NULL;
    node->peer = NULL;
}

static void node_end(void *thing)
{
    conf_node_stop(thing);
}

struct conf_node *conf_node_new(struct conf_side *side)
{
    struct conf_node *node = conf_new(side, sizeof(*node), node_end);

    node->side = side;
    node->incarnation = 1;
    node->config.redial_ns = 5 * CONF_MS;
    node->config.redial_max_ns = 50 * CONF_MS;
    return node;
}

void conf_node_start(struct conf_node *node)
{
    struct net_endpoint_config config = node->config;
    enum err rc;

    config.loop = node->side->loop;
    config.pool = node->side->pool;
    config.registry = node->side->registry;
    config.identity = config.identity.role == 0 ? node->side->identity : config.identity;
    config.incarnation = node->incarnation;
    config.seed = 1;
    config.insecure = !node->side->world->carrier->authenticated;
    config.events = node->on_acked == NULL ? &node_events : &node_events_acked;
    config.user = node;
    CONF_CALL(node->side->world, rc = net_endpoint_create(&config, &node->endpoint));
    if (rc != OK) {
        node->endpoint = NULL;
        node_note(node, rc, "not created");
    }
}

void conf_node_listen(struct conf_node *node)
{
    struct net_address at = node->at.host[0] == '\0' ? node->side->world->at : node->at;
    struct err_text text = {0};
    enum err rc;

    CONF_CALL(node->side->world, rc = net_endpoint_listen(node->endpoint, node->side->transport,
                                                          &at, &node->at, &text));
    node_note(node, rc, text.text);
}

void conf_node_dial(struct conf_node *node, const struct net_address *to, uint16_t streams)
{
    enum err rc;

    CONF_CALL(node->side->world, rc = net_endpoint_dial(node->endpoint, node->side->transport, to,
                                                        streams, &node->peer));
    if (rc != OK) {
        node->peer = NULL;
        node_note(node, rc, "not dialled");
    }
}

enum err conf_node_send(struct conf_node *node, enum net_priority priority, uint32_t chunk,
                        uint64_t clock, size_t size)
{
    struct buf *body = conf_body(node->side, size, chunk * 1000003u + clock);
    struct wire_header header;
    enum err rc;

    if (body == NULL) {
        return ERR_NOMEM;
    }
    header = conf_header(priority == NET_DATA ? conf_data_type(node->side) : WIRE_CONTROL, body);
    header.chunk = chunk;
    header.clock = clock;
    CONF_CALL(node->side->world, rc = net_peer_send(node->peer, priority, &header, body));
    if (rc != OK) {
        buf_unref(body);
    }
    return rc;
}

bool conf_node_up(void *user)
{
    struct conf_node *node = user;

    return node->peer != NULL && net_peer_is_up(node->peer);
}

bool conf_node_lost(void *user)
{
    struct conf_node *node = user;

    return node->losses > 0;
}

bool conf_node_down(void *user)
{
    struct conf_node *node = user;

    return node->downs > 0;
}

bool conf_node_troubled(void *user)
{
    struct conf_node *node = user;

    return node->troubles > 0;
}

bool conf_node_idle(void *user)
{
    struct conf_node *node = user;
    struct net_peer_stats stats;

    if (node->peer == NULL) {
        return false;
    }
    net_peer_stats(node->peer, &stats);
    return stats.unacked_frames == 0;
}

void conf_session_open(struct conf_session *s, struct conf_world *w)
{
    *s = (struct conf_session){w, conf_node_new(&w->a), conf_node_new(&w->b)};
}

void conf_session_wait(struct conf_session *s, uint16_t streams)
{
    conf_node_start(s->b);
    conf_node_listen(s->b);
    conf_node_start(s->a);
    conf_node_dial(s->a, &s->b->at, streams);
    conf_until(s->world, conf_session_up, s, CONF_LIMIT_NS);
}

bool conf_session_up(void *user)
{
    struct conf_session *s = user;

    return conf_node_up(s->a) && conf_node_up(s->b);
}

bool conf_session_lost(void *user)
{
    struct conf_session *s = user;

    return s->a->losses > 0 && s->b->losses > 0;
}
