/* Two lanes, each with an endpoint of its own, that talk over tcp or tls: buffers are given back on
 * the other thread, and everything stops cleanly. For ThreadSanitizer above all. */

#include "fixture.h"

#include "base/hash.h"
#include "loop/clock.h"
#include "loop/lane.h"
#include "net/session/endpoint.h"
#include "tls_client.h"

#include <sched.h>
#include <stdlib.h>

enum { LANES_FRAMES = 2000, LANES_BODY_BYTES = 40000, LANES_KEPT = 16 };

struct lanes_end {
    struct conf_side side;
    struct lane *lane;
    struct net_endpoint *endpoint;
    struct net_peer *peer;
    struct net_address at;
    struct lanes_end *other;
    uint32_t sent;
    struct buf *kept[LANES_KEPT]; /* Received here, given back by the other lane. */
    uint32_t kept_count;
    _Atomic uint32_t received;
    _Atomic bool ready;
    _Atomic uint32_t returned;
};

static void lanes_pump(struct lanes_end *end)
{
    while (end->peer != NULL && end->sent < LANES_FRAMES) {
        struct wire_header header = {.version = WIRE_VERSION_MAX, .chunk = end->sent};
        struct buf *body;

        if (buf_take(end->side.pool, WIRE_HEADER_BYTES, LANES_BODY_BYTES, &body) != OK) {
            return;
        }
        memset(buf_append(body, LANES_BODY_BYTES), (int)end->sent, LANES_BODY_BYTES);
        header.type =
            end->side.identity.role == WIRE_ROLE_WORKER ? WIRE_ROWS_PUSH : WIRE_ROWS_VALUES;
        header.body_bytes = LANES_BODY_BYTES;
        header.body_check = hash_bytes(buf_bytes(body), LANES_BODY_BYTES);
        if (net_peer_send(end->peer, NET_DATA, &header, body) != OK) {
            buf_unref(body);
            return;
        }
        end->sent++;
    }
}

static void lanes_up(struct net_peer *peer, bool restarted, void *user)
{
    struct lanes_end *end = user;

    (void)restarted;
    end->peer = peer;
    lanes_pump(end);
}

struct lanes_bag {
    struct lanes_end *from;
    uint32_t count;
    struct buf *bufs[LANES_KEPT];
};

static void lanes_give_back(void *user)
{
    struct lanes_bag *bag = user;

    for (uint32_t i = 0; i < bag->count; i++) {
        buf_unref(bag->bufs[i]);
    }
    atomic_fetch_add(&bag->from->returned, bag->count);
    free(bag);
}

/* Send what was kept to the other lane to be given back there. */
static void lanes_hand_over(struct lanes_end *end)
{
    struct lanes_bag *bag = malloc(sizeof(*bag));

    *bag = (struct lanes_bag){.from = end, .count = end->kept_count};
    memcpy(bag->bufs, end->kept, sizeof(bag->bufs));
    end->kept_count = 0;
    if (lane_post(end->other->lane, lanes_give_back, bag) != OK) {
        lanes_give_back(bag);
    }
}

static enum err lanes_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    struct lanes_end *end = user;

    (void)peer;
    CHECK(frame->header.body_bytes == LANES_BODY_BYTES && frame->body[7] == frame->body[39999]);
    CHECK(net_frame_keep(frame, end->side.pool, &end->kept[end->kept_count]) == OK);
    if (++end->kept_count == LANES_KEPT) {
        lanes_hand_over(end);
    }
    atomic_fetch_add(&end->received, 1);
    return OK;
}

static void lanes_writable(struct net_peer *peer, void *user)
{
    (void)peer;
    lanes_pump(user);
}

static void lanes_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct lanes_end *end = user;

    (void)peer;
    (void)why;
    (void)text;
    end->peer = NULL;
}

static const struct net_endpoint_events lanes_events = {
    .up = lanes_up,
    .frame = lanes_frame,
    .writable = lanes_writable,
    .lost = lanes_lost,
};

static bool lanes_tls;

static void lanes_open_transport(struct lanes_end *end)
{
    struct net_tls_config config;

    if (!lanes_tls) {
        net_socket_transport_init(&end->side.socket, lane_loop(end->lane), NULL);
        end->side.transport = &end->side.socket.base;
        return;
    }
    config = tls_config(end->side.identity.name, end->side.identity.name);
    CHECK(net_tls_transport_create(lane_loop(end->lane), &config, &end->side.tls, NULL) == OK);
    end->side.transport = net_tls_transport_base(end->side.tls);
}

/* On the lane: everything that will live there. */
static void lanes_start(void *user)
{
    struct lanes_end *end = user;
    struct net_endpoint_config config = {.loop = lane_loop(end->lane),
                                         .incarnation = 1,
                                         .insecure = !lanes_tls,
                                         .window_bytes = 8 * 1024 * 1024,
                                         .events = &lanes_events,
                                         .user = end};

    lanes_open_transport(end);
    CHECK(buf_pool_create(CONF_POOL_BYTES, &end->side.pool) == OK);
    CHECK(obs_registry_create(256, &end->side.registry) == OK);
    config.pool = end->side.pool;
    config.registry = end->side.registry;
    config.identity = end->side.identity;
    CHECK(net_endpoint_create(&config, &end->endpoint) == OK);
    if (end->side.identity.role == WIRE_ROLE_SERVER) {
        CHECK(net_endpoint_listen(end->endpoint, end->side.transport, &end->at, &end->at, NULL) ==
              OK);
    } else {
        struct net_peer *peer;

        CHECK(net_endpoint_dial(end->endpoint, end->side.transport, &end->other->at, 2, &peer) ==
              OK);
    }
    atomic_store(&end->ready, true);
}

static void lanes_end_endpoint(void *user)
{
    struct lanes_end *end = user;

    net_endpoint_destroy(end->endpoint);
    net_tls_transport_destroy(end->side.tls);
    while (end->kept_count > 0) {
        buf_unref(end->kept[--end->kept_count]);
    }
    atomic_store(&end->ready, false);
}

static void lanes_free(void *user)
{
    struct lanes_end *end = user;

    buf_pool_destroy(end->side.pool);
    obs_registry_destroy(end->side.registry);
    atomic_store(&end->ready, true);
}

/* Have it done on the lane, and wait for it. */
static void lanes_call(struct lanes_end *end, void (*run)(void *user), bool ready)
{
    assert_int_equal(lane_post(end->lane, run, end), OK);
    while (atomic_load(&end->ready) != ready) {
        (void)sched_yield();
    }
}

static void lanes_make(struct lanes_end *end, struct lanes_end *other, enum wire_role role,
                       const char *name)
{
    end->other = other;
    assert_int_equal(pki_identity_make(role, "eu", name, &end->side.identity, NULL), OK);
    assert_int_equal(
        net_address_parse(lanes_tls ? "tls://127.0.0.1:0" : "tcp://127.0.0.1:0", &end->at, NULL),
        OK);
    assert_int_equal(lane_start(name, &end->lane), OK);
}

static void test_two_lanes_exchange_buffers_and_stop(void **state)
{
    struct lanes_end *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
    int64_t until_ns = clock_mono_ns() + 120 * CONF_S;

    (void)state;
    lanes_make(a, b, WIRE_ROLE_WORKER, "a");
    lanes_make(b, a, WIRE_ROLE_SERVER, "b");
    lanes_call(b, lanes_start, true);
    lanes_call(a, lanes_start, true);
    while (atomic_load(&a->received) < LANES_FRAMES || atomic_load(&b->received) < LANES_FRAMES) {
        assert_true(clock_mono_ns() < until_ns);
        (void)sched_yield();
    }
    lanes_call(a, lanes_end_endpoint, false);
    lanes_call(b, lanes_end_endpoint, false);
    while (atomic_load(&a->returned) < LANES_FRAMES / LANES_KEPT * LANES_KEPT ||
           atomic_load(&b->returned) < LANES_FRAMES / LANES_KEPT * LANES_KEPT) {
        (void)sched_yield();
    }
    lanes_call(a, lanes_free, true);
    lanes_call(b, lanes_free, true);
    lane_stop(a->lane);
    lane_stop(b->lane);
    free(a);
    free(b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_lanes_exchange_buffers_and_stop)};
    int failed;

    lanes_tls = argc > 1 && strcmp(argv[1], "tls") == 0;
    (void)conf_pki_dir();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    conf_pki_remove();
    return failed;
}
