/* The echo client: send updates, remember nothing across its own crashes. */

#include "base/mem.h"
#include "sim/echo/state.h"
#include "wire/broadcast.h"
#include "wire/push.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    ECHO_FLOAT_BELOW = 1000,
    ECHO_REJOIN_MS = 500,
    ECHO_BATCH = 64,
    ECHO_NO_MEMORY_MS = 1, /* Until a send that found no memory is tried again. */
};

static const struct net_endpoint_events echo_client_events;

void echo_client_observe(struct echo_node *n)
{
    struct net_peer_stats stats;

    if (n->peer == NULL) {
        return;
    }
    net_peer_stats(n->peer, &stats);
    if (stats.acked_sequence != n->acked_seen) {
        n->acked_seen = stats.acked_sequence;
        sim_oracle_acked(n->echo->oracle, n->number, n->incarnation, stats.acked_sequence);
    }
}

static bool echo_client_finished(const struct echo_node *n)
{
    return sim_oracle_acked_count(n->echo->oracle, n->number) + (n->sent - n->acked_seen) >=
           n->config.updates;
}

/* Fill a frame with random whole numbers. */
static enum err echo_client_frame_make(struct echo_node *n, struct buf **frame_out,
                                       uint64_t *value_out)
{
    uint32_t floats = 1 + (uint32_t)rng_below(&n->rng, n->config.floats_max);
    struct wire_push push = {
        .chunk = {.chunk = (uint32_t)rng_below(&n->rng, ECHO_CHUNKS),
                  .clock = n->sent + 1,
                  .weight = 1,
                  .payload_bytes = floats * 4},
        .id = {.incarnation = n->incarnation, .number = n->sent + 1},
    };
    struct buf *frame;
    uint64_t value = 0;
    uint8_t *payload;
    enum err rc = wire_chunk_take(n->pool, floats * 4, &frame);

    if (rc != OK) {
        return rc;
    }
    payload = buf_bytes(frame);
    for (uint32_t i = 0; i < floats; i++) {
        uint64_t whole = rng_below(&n->rng, ECHO_FLOAT_BELOW);
        float f = (float)whole;

        memcpy(payload + (size_t)i * 4, &f, sizeof(f));
        value += whole;
    }
    wire_push_seal(frame, &push);
    *frame_out = frame;
    *value_out = value;
    return OK;
}

/* Send one update. False when it must wait. */
static bool echo_client_send(struct echo_node *n)
{
    struct buf *frame;
    uint64_t value;
    enum err rc;

    if (echo_client_frame_make(n, &frame, &value) != OK) {
        return false;
    }
    rc = net_peer_send_sealed(n->peer, NET_DATA, frame);
    if (rc != OK) {
        buf_unref(frame);
        n->blocked = rc == ERR_AGAIN; /* Then writable() will tell. */
        return false;
    }
    n->sent++;
    n->echo->updates_sent++;
    sim_oracle_sent(n->echo->oracle, n->number, n->incarnation, n->sent, value);
    return true;
}

static void echo_client_tick(struct loop_timer *timer, void *user)
{
    struct echo_node *n = user;
    int64_t gap_ns = n->config.gap_ns;
    int batch = gap_ns == 0 ? ECHO_BATCH : 1;
    bool sent = true;

    if (n->peer == NULL) {
        return;
    }
    echo_client_observe(n);
    n->blocked = false;
    for (int i = 0; i < batch && sent && !echo_client_finished(n); i++) {
        sent = echo_client_send(n);
    }
    if (echo_client_finished(n)) {
        loop_timer_start_in(timer, INT64_C(1000000000)); /* In case a crash undoes it. */
    } else if (!sent && !n->blocked) {
        loop_timer_start_in(timer, (int64_t)ECHO_NO_MEMORY_MS * 1000000);
    } else if (!n->blocked) {
        loop_timer_start_in(timer, rng_between(&n->rng, 1, 2 * gap_ns + 1));
    }
}

static void echo_client_up(struct net_peer *peer, bool restarted, void *user)
{
    struct echo_node *n = user;

    sim_trace(n->echo->world, n->host, "%s is up%s", net_peer_identity(peer)->name,
              restarted ? ", restarted" : "");
    loop_timer_start_in(&n->tick, 0);
}

static void echo_client_writable(struct net_peer *peer, void *user)
{
    struct echo_node *n = user;

    (void)peer;
    loop_timer_start_in(&n->tick, 0);
}

static void echo_client_down(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct echo_node *n = user;

    (void)why;
    sim_trace(n->echo->world, n->host, "%s is down: %s", net_peer_identity(peer)->name, text);
}

static void echo_client_connect_failed(struct net_peer *peer, enum err why, const char *text,
                                       void *user)
{
    struct echo_node *n = user;

    (void)peer;
    (void)why;
    sim_trace(n->echo->world, n->host, "cannot reach %s: %s", n->server_name, text);
}

/* The session is over: begin another, as a new incarnation. */
static void echo_client_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct echo_node *n = user;

    (void)peer;
    (void)why;
    echo_client_observe(n);
    sim_trace(n->echo->world, n->host, "the session is lost: %s", text);
    n->peer = NULL;
    loop_timer_start_in(&n->rejoin, (int64_t)ECHO_REJOIN_MS * 1000000);
}

static enum err echo_client_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    struct echo_node *n = user;
    struct wire_broadcast back;
    uint64_t value;
    enum err rc;

    (void)peer;
    if (frame->header.type != WIRE_BROADCAST) {
        return ERR_PEER;
    }
    rc = wire_broadcast_decode(&frame->header, frame->body, frame->header.body_bytes, &back);
    if (rc != OK || back.chunk.chunk >= ECHO_CHUNKS ||
        !echo_value(back.chunk.payload, back.chunk.payload_bytes, &value)) {
        return ERR_PEER;
    }
    if (back.chunk.clock <= n->echoed[back.chunk.chunk]) {
        return ERR_PEER; /* Out of order within a chunk. */
    }
    n->echoed[back.chunk.chunk] = back.chunk.clock;
    n->echo->echoes++;
    sim_oracle_echoed(n->echo->oracle, n->number, n->incarnation, back.chunk.clock, value);
    return OK;
}

static const struct net_endpoint_events echo_client_events = {
    .up = echo_client_up,
    .frame = echo_client_frame,
    .writable = echo_client_writable,
    .down = echo_client_down,
    .connect_failed = echo_client_connect_failed,
    .lost = echo_client_lost,
};

/* Begin an incarnation: a new endpoint and a new session. */
static enum err echo_client_join(struct echo_node *n)
{
    struct net_endpoint_config config = {
        .loop = sim_host_loop(n->host),
        .pool = n->pool,
        .registry = n->echo->registry,
        .identity = n->identity,
        .incarnation = n->incarnation + 1,
        .seed = rng_next(&n->rng),
        .window_frames = n->config.window,
        .events = &echo_client_events,
        .user = n,
    };
    struct net_address to = {.scheme = NET_SCHEME_SIM, .port = "7000"};
    enum err rc;

    (void)snprintf(to.host, sizeof(to.host), "%s", n->server_name);
    n->incarnation++;
    n->sent = 0;
    n->acked_seen = 0;
    n->blocked = false;
    memset(n->echoed, 0, sizeof(n->echoed));
    rc = net_endpoint_create(&config, &n->endpoint);
    if (rc == OK) {
        rc = net_endpoint_dial(n->endpoint, &n->transport.base, &to, n->config.streams, &n->peer);
    }
    return rc;
}

static void echo_client_rejoin(struct loop_timer *timer, void *user)
{
    struct echo_node *n = user;

    net_endpoint_destroy(n->endpoint);
    n->endpoint = NULL;
    if (echo_client_join(n) != OK) {
        n->peer = NULL;
        loop_timer_start_in(timer, (int64_t)ECHO_REJOIN_MS * 1000000);
    }
}

enum err echo_client_start(struct sim_host *host, void *user)
{
    struct echo_node *n = user;
    enum err rc = echo_node_open(n);

    if (rc == OK) {
        rc = loop_timer_init(&n->tick, sim_host_loop(host), echo_client_tick, n);
    }
    if (rc == OK) {
        rc = loop_timer_init(&n->rejoin, sim_host_loop(host), echo_client_rejoin, n);
    }
    if (rc == OK) {
        rc = echo_client_join(n);
    }
    if (rc != OK) {
        echo_node_stop(host, n);
    }
    return rc;
}
