/* The echo server: count on disk, acknowledge, send back. */

#include "base/bytes.h"
#include "base/mem.h"
#include "sim/disk.h"
#include "sim/echo/state.h"
#include "wire/broadcast.h"
#include "wire/push.h"

#include <inttypes.h>
#include <string.h>

enum { ECHO_FLOAT_MAX = 1 << 20, ECHO_RETRY_MS = 100 };

struct echo_held {
    struct wire_header header;
    struct buf *body;
};

/* What the server has of a client: updates that wait for room for their echo. */
struct echo_session {
    struct echo_held held[ECHO_WINDOW_DEFAULT];
    uint32_t first;
    uint32_t end;
};

bool echo_value(const uint8_t *payload, uint32_t bytes, uint64_t *value_out)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i + 4 <= bytes; i += 4) {
        float f;

        memcpy(&f, payload + i, sizeof(f));
        if (!(f >= 0.0f && f <= (float)ECHO_FLOAT_MAX)) {
            return false;
        }
        sum += (uint64_t)f;
    }
    *value_out = sum;
    return true;
}

struct echo_node *echo_find_client(struct sim_echo *e, const char *name)
{
    for (uint32_t i = 0; i < e->nodes_count; i++) {
        if (!e->nodes[i]->server && strcmp(e->nodes[i]->identity.name, name) == 0) {
            return e->nodes[i];
        }
    }
    return NULL;
}

enum err echo_node_open(struct echo_node *n)
{
    sim_transport_init(&n->transport, n->host, &n->identity);
    return buf_pool_create(ECHO_POOL_BYTES, &n->pool);
}

void echo_node_stop(struct sim_host *host, void *user)
{
    struct echo_node *n = user;

    (void)host;
    loop_timer_deinit(&n->tick);
    loop_timer_deinit(&n->rejoin);
    net_endpoint_destroy(n->endpoint);
    buf_pool_destroy(n->pool);
    sim_ledger_close(n->ledger);
    n->endpoint = NULL;
    n->pool = NULL;
    n->ledger = NULL;
    n->peer = NULL;
}

/* A record that was on disk, but that nobody heard of before the crash, counts from now on. */
static void echo_server_found(const struct sim_ledger_entry *entry, void *user)
{
    struct echo_node *n = user;
    struct echo_node *client = echo_find_client(n->echo, entry->client);

    CHECK(client != NULL);
    sim_oracle_recovered(n->echo->oracle, client->number, entry->incarnation, entry->sequence,
                         entry->value);
}

static void echo_server_resume(const struct pki_identity *who, uint64_t incarnation,
                               uint64_t session, struct net_window *received, void *user)
{
    struct echo_node *n = user;
    const struct sim_ledger_client *known = sim_ledger_find(n->ledger, who->name);

    if (known != NULL && known->incarnation == incarnation && session == 0) {
        *received = known->window;
    }
}

static void echo_server_up(struct net_peer *peer, bool restarted, void *user)
{
    struct echo_node *n = user;

    sim_trace(n->echo->world, n->host, "%s is up%s", net_peer_identity(peer)->name,
              restarted ? ", restarted" : "");
}

static void echo_server_down(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct echo_node *n = user;

    (void)why;
    sim_trace(n->echo->world, n->host, "%s is down: %s", net_peer_identity(peer)->name, text);
}

static void echo_session_free(struct net_peer *peer);

static void echo_server_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct echo_node *n = user;

    (void)why;
    echo_session_free(peer);
    sim_trace(n->echo->world, n->host, "%s is lost: %s", net_peer_identity(peer)->name, text);
    sim_oracle_excuse_echoes(n->echo->oracle);
}

/* Take an update that waited, or one that just came: count it, acknowledge it, send it back. */
static enum err echo_server_take(struct echo_node *n, struct net_peer *peer,
                                 const struct wire_header *header, const uint8_t *body);

static struct echo_session *echo_session_get(struct net_peer *peer)
{
    struct echo_session *s = net_peer_user(peer);

    if (s == NULL) {
        s = mem_zalloc(sizeof(*s));
        if (s != NULL) {
            net_peer_set_user(peer, s);
        }
    }
    return s;
}

static void echo_session_free(struct net_peer *peer)
{
    struct echo_session *s = net_peer_user(peer);

    if (s != NULL) {
        for (uint32_t i = s->first; i != s->end; i++) {
            buf_unref(s->held[i % ECHO_WINDOW_DEFAULT].body);
        }
        mem_free(s);
        net_peer_set_user(peer, NULL);
    }
}

/* Keep an update until its echo can be sent. It is not acknowledged meanwhile, so there are never
 * more of them than the client's window. Stopping to read instead would be a deadlock: what makes
 * room are acknowledgements that come the same way. */
static enum err echo_server_hold(struct echo_node *n, struct echo_session *s,
                                 const struct net_frame *frame)
{
    struct echo_held *held = &s->held[s->end % ECHO_WINDOW_DEFAULT];
    enum err rc;

    if (s->end - s->first == ECHO_WINDOW_DEFAULT) {
        return ERR_PEER;
    }
    rc = net_frame_keep(frame, n->pool, &held->body);
    if (rc == OK) {
        held->header = frame->header;
        s->end++;
    }
    return rc;
}

static void echo_server_writable(struct net_peer *peer, void *user)
{
    struct echo_session *s = net_peer_user(peer);
    enum err rc = OK;

    struct echo_node *n = user;

    while (s != NULL && s->first != s->end && rc == OK &&
           net_peer_has_room(peer, s->held[s->first % ECHO_WINDOW_DEFAULT].header.body_bytes)) {
        struct echo_held *held = &s->held[s->first % ECHO_WINDOW_DEFAULT];

        rc = echo_server_take(n, peer, &held->header, buf_bytes(held->body));
        if (rc == OK) {
            buf_unref(held->body);
            s->first++;
        }
    }
    if (rc != OK) {
        loop_timer_start_in(&n->tick, (int64_t)ECHO_RETRY_MS * 1000000); /* The disk, perhaps. */
    }
}

static void echo_server_retry(struct loop_timer *timer, void *user)
{
    struct echo_node *n = user;
    struct net_peer *peer;

    (void)timer;
    for (uint32_t i = 0; (peer = net_endpoint_peer(n->endpoint, i)) != NULL; i++) {
        echo_server_writable(peer, n);
    }
}

static enum err echo_server_count(struct echo_node *n, const struct sim_ledger_entry *entry)
{
    struct echo_node *client = echo_find_client(n->echo, entry->client);
    enum err rc = sim_ledger_commit(n->ledger, entry);

    if (rc == OK && client != NULL) {
        sim_oracle_counted(n->echo->oracle, client->number, entry->incarnation, entry->sequence,
                           entry->value);
        sim_trace(n->echo->world, n->host, "counts %s/%" PRIu64 "#%" PRIu64, entry->client,
                  entry->incarnation, entry->sequence);
    } else if (rc == ERR_EXISTS && client != NULL) {
        /* The ledger saves us, but recognising duplicates is the session's task. */
        sim_oracle_delivered_twice(n->echo->oracle, client->number, entry->incarnation,
                                   entry->sequence);
    } else if (rc != OK) {
        sim_trace(n->echo->world, n->host, "cannot count %s/%" PRIu64 "#%" PRIu64 ": %s",
                  entry->client, entry->incarnation, entry->sequence, err_string(rc));
    }
    return rc;
}

static enum err echo_server_take(struct echo_node *n, struct net_peer *peer,
                                 const struct wire_header *header, const uint8_t *body)
{
    struct sim_ledger_entry entry = {.wall_us = sim_host_wall_us(n->host)};
    struct wire_push push;
    struct wire_broadcast back;
    struct buf *reply;
    enum err rc = wire_push_decode(header, body, header->body_bytes, &push);

    if (rc != OK || !echo_value(push.chunk.payload, push.chunk.payload_bytes, &entry.value)) {
        return ERR_PEER;
    }
    memcpy(entry.client, net_peer_identity(peer)->name, sizeof(entry.client));
    entry.incarnation = net_peer_incarnation(peer);
    entry.sequence = header->sequence;
    back = (struct wire_broadcast){.chunk = push.chunk};
    back.chunk.weight = 1;
    rc = wire_broadcast_encode(n->pool, &back, &reply);
    if (rc != OK) {
        return rc;
    }
    rc = echo_server_count(n, &entry);
    if (rc != OK) {
        buf_unref(reply);
        return rc;
    }
    net_peer_ack(peer, entry.sequence);
    if (net_peer_send_sealed(peer, NET_DATA, reply) != OK) {
        buf_unref(reply); /* No memory: the update counts, its echo is lost. */
        sim_oracle_excuse_echoes(n->echo->oracle);
    }
    return OK;
}

static enum err echo_server_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    struct echo_node *n = user;
    struct echo_session *s = echo_session_get(peer);

    if (frame->header.type != WIRE_PUSH) {
        return ERR_PEER;
    }
    if (s == NULL) {
        return ERR_NOMEM;
    }
    if (s->first != s->end || !net_peer_has_room(peer, frame->header.body_bytes)) {
        return echo_server_hold(n, s, frame);
    }
    return echo_server_take(n, peer, &frame->header, frame->body);
}

static const struct net_endpoint_events echo_server_events = {
    .resume = echo_server_resume,
    .up = echo_server_up,
    .frame = echo_server_frame,
    .writable = echo_server_writable,
    .down = echo_server_down,
    .lost = echo_server_lost,
};

/* What is held belongs to peers that end without a word when the host goes down. */
static void echo_server_drop_held(struct echo_node *n)
{
    struct net_peer *peer;

    for (uint32_t i = 0; n->endpoint != NULL && (peer = net_endpoint_peer(n->endpoint, i)) != NULL;
         i++) {
        echo_session_free(peer);
    }
}

void echo_server_stop(struct sim_host *host, void *user)
{
    struct echo_node *n = user;

    echo_server_drop_held(n);
    sim_oracle_excuse_echoes(n->echo->oracle);
    echo_node_stop(host, user);
}

enum err echo_server_start(struct sim_host *host, void *user)
{
    struct echo_node *n = user;
    struct net_endpoint_config config = {
        .loop = sim_host_loop(host),
        .registry = n->echo->registry,
        .identity = n->identity,
        .incarnation = sim_host_starts(host),
        .seed = rng_next(&n->rng),
        .manual_ack = true,
        .window_frames = ECHO_WINDOW_DEFAULT,
        .events = &echo_server_events,
        .user = n,
    };
    struct net_address at = {.scheme = NET_SCHEME_SIM, .port = "7000"};
    enum err rc = echo_node_open(n);

    if (rc == OK) {
        rc = loop_timer_init(&n->tick, config.loop, echo_server_retry, n);
    }
    if (rc == OK) {
        rc = sim_ledger_open(sim_host_disk(host), echo_server_found, n, &n->ledger);
    }
    if (rc == OK) {
        config.pool = n->pool;
        rc = net_endpoint_create(&config, &n->endpoint);
    }
    if (rc == OK) {
        rc = net_endpoint_listen(n->endpoint, &n->transport.base, &at, NULL, NULL);
    }
    if (rc != OK) {
        echo_node_stop(host, n);
    }
    return rc;
}
