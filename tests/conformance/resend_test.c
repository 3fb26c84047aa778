/* Connections that are cut at random moments: each frame reaches the other side exactly once, and
 * in order within its chunk and priority. */

#include "suites.h"

#include "base/hash.h"
#include "base/rng.h"
#include "guest.h"
#include "node.h"

enum { RESEND_CHUNKS = 7, RESEND_FRAMES = 5000 };

/* What one node sends and has received. */
struct resend_end {
    uint32_t sent;
    uint64_t clock[NET_PRIORITIES][RESEND_CHUNKS];
    uint64_t next[NET_PRIORITIES][RESEND_CHUNKS];
};

struct resend {
    struct conf_session session;
    struct resend_end a;
    struct resend_end b;
    struct rng rng;
};

static enum err resend_frame(struct conf_node *node, struct net_peer *peer,
                             const struct net_frame *frame)
{
    struct resend_end *end = node->user;
    int priority = frame->header.type == WIRE_CONTROL ? NET_CONTROL : NET_DATA;

    (void)peer;
    assert_true(frame->header.chunk < RESEND_CHUNKS);
    assert_int_equal(frame->header.clock, end->next[priority][frame->header.chunk]);
    end->next[priority][frame->header.chunk]++;
    return OK;
}

/* Send what the window takes. */
static void resend_pump(struct resend *r, struct conf_node *node, struct resend_end *end)
{
    while (end->sent < RESEND_FRAMES && node->peer != NULL) {
        uint32_t chunk = end->sent % RESEND_CHUNKS;
        enum net_priority priority = end->sent % 5 == 0 ? NET_CONTROL : NET_DATA;
        size_t size =
            rng_chance(&r->rng, 20000) ? rng_below(&r->rng, 60000) : rng_below(&r->rng, 300);
        enum err rc = conf_node_send(node, priority, chunk, end->clock[priority][chunk], size);

        if (rc == ERR_AGAIN) {
            return;
        }
        assert_int_equal(rc, OK);
        end->clock[priority][chunk]++;
        end->sent++;
    }
}

static bool resend_done(void *user)
{
    struct resend *r = user;

    resend_pump(r, r->session.a, &r->a);
    if (r->session.b->peer != NULL) {
        resend_pump(r, r->session.b, &r->b);
    }
    return r->a.sent == RESEND_FRAMES && r->b.sent == RESEND_FRAMES &&
           conf_node_idle(r->session.a) && conf_node_idle(r->session.b);
}

/* Run with cuts until all is sent and acknowledged; returns how many connections were cut. */
static uint32_t resend_run(struct resend *r, struct faulty_transport *a, struct faulty_transport *b)
{
    struct conf_world *w = r->session.world;
    int64_t until_ns = conf_now_ns(w) + 60 * CONF_S;
    uint32_t cut_at = 50;

    while (!resend_done(r)) {
        struct faulty_transport *t = rng_chance(&r->rng, 500000) ? a : b;

        if (r->session.a->frames + r->session.b->frames >= cut_at && t->streams_count > 0) {
            faulty_reset(t, (uint32_t)rng_below(&r->rng, t->streams_count));
            cut_at += (uint32_t)rng_below(&r->rng, 400);
        }
        if (!conf_step(w, until_ns)) {
            fail_msg("not done in time: a got %u, b got %u", r->session.a->frames,
                     r->session.b->frames);
        }
    }
    return a->resets + b->resets;
}

static void resend_with(struct conf_world *w, uint64_t seed, uint16_t streams, uint32_t window)
{
    struct resend r = {0};
    struct faulty_transport *a = conf_faulty(&w->a), *b = conf_faulty(&w->b);

    rng_init(&r.rng, seed);
    conf_session_open(&r.session, w);
    r.session.a->user = &r.a;
    r.session.b->user = &r.b;
    r.session.a->on_frame = r.session.b->on_frame = resend_frame;
    r.session.a->config.window_frames = r.session.b->config.window_frames = window;
    conf_session_wait(&r.session, streams);
    assert_true(resend_run(&r, a, b) > 10);
    assert_int_equal(r.session.a->frames, RESEND_FRAMES);
    assert_int_equal(r.session.b->frames, RESEND_FRAMES);
    assert_int_equal(r.session.a->losses + r.session.b->losses, 0);
    assert_int_equal(r.session.a->restarts + r.session.b->restarts, 0);
    assert_true(obs_counter_value(w->a.counters.resent) > 0);
    conf_node_stop(r.session.a);
    conf_node_stop(r.session.b);
    w->a.transport = a->inner;
    w->b.transport = b->inner;
}

static void test_cut_connections_lose_and_double_nothing(void **state)
{
    resend_with(*state, 1, 1, 0);
    resend_with(*state, 2, 1, 64);
}

static void test_cut_connections_of_four_streams_lose_and_double_nothing(void **state)
{
    resend_with(*state, 3, 4, 0);
    resend_with(*state, 4, 4, 100);
}

static void test_cuts_and_fragments_together_lose_nothing(void **state)
{
    struct conf_world *w = *state;
    struct faulty_transport *t = conf_faulty(&w->a);

    t->plan = (struct faulty_plan){.read_max = 777, .write_max = 333};
    resend_with(w, 5, 2, 0);
}

/* A lost acknowledgement must come again by itself, also when nothing else is to be said. */
static void test_an_acknowledgement_lost_with_its_connection_comes_again(void **state)
{
    struct conf_session s;
    struct faulty_transport *b;

    conf_session_open(&s, *state);
    b = conf_faulty(&s.world->b);
    conf_session_wait(&s, 1);
    /* b gets the frame, but the next thing it says, the acknowledgement, is lost. */
    b->plan.reset_at = faulty_written(b, 0) + 1;
    faulty_replan(b);
    b->plan.reset_at = 0;
    assert_int_equal(conf_node_send(s.a, NET_DATA, 1, 0, 100), OK);
    conf_until(s.world, conf_node_idle, s.a, CONF_LIMIT_NS);
    assert_int_equal(b->resets, 1);
    assert_int_equal(s.b->frames, 1);
    conf_node_stop(s.b);
}

static void test_a_session_survives_a_short_absence(void **state)
{
    struct conf_session s;
    struct faulty_transport *a;

    conf_session_open(&s, *state);
    s.b->config.grace_ns = 5 * CONF_S;
    a = conf_faulty(&s.world->a);
    conf_session_wait(&s, 2);
    faulty_reset(a, 0);
    faulty_reset(a, 1);
    conf_until(s.world, conf_node_down, s.a, CONF_LIMIT_NS);
    conf_until(s.world, conf_session_up, &s, CONF_LIMIT_NS);
    conf_pass(s.world, s.world->carrier->simulated ? 10 * CONF_S : 100 * CONF_MS);
    assert_int_equal(s.a->ups, 2);
    assert_int_equal(s.a->losses + s.b->losses, 0);
    conf_node_stop(s.a);
}

static void test_frames_sent_while_down_arrive_later(void **state)
{
    struct conf_session s;

    conf_session_open(&s, *state);
    conf_node_start(s.b);
    conf_node_listen(s.b);
    conf_node_stop(s.b);
    conf_node_start(s.a);
    conf_node_dial(s.a, &s.b->at, 3);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(conf_node_send(s.a, NET_DATA, i, 0, 10000), OK);
    }
    conf_until(s.world, conf_node_troubled, s.a, CONF_LIMIT_NS);
    conf_node_start(s.b);
    conf_node_listen(s.b);
    conf_until(s.world, conf_node_idle, s.a, CONF_LIMIT_NS);
    assert_int_equal(s.b->frames, 100);
    assert_int_equal(s.a->ups, 1);
    assert_int_equal(obs_counter_value(s.world->a.counters.resent), 0);
}

static void test_a_paused_peer_receives_nothing_until_it_goes_on(void **state)
{
    struct conf_session s;
    struct faulty_transport *a;

    conf_session_open(&s, *state);
    a = conf_faulty(&s.world->a);
    conf_session_wait(&s, 2);
    CONF_CALL(s.world, net_peer_pause(s.b->peer, true));
    for (uint32_t i = 0; i < 40; i++) {
        assert_int_equal(conf_node_send(s.a, NET_DATA, i, 0, 1000), OK);
    }
    conf_settle(s.world);
    assert_int_equal(s.b->frames, 0);
    faulty_reset(a, 0); /* The pause outlives a connection. */
    conf_until(s.world, conf_session_up, &s, CONF_LIMIT_NS);
    conf_pass(s.world, 200 * CONF_MS);
    assert_int_equal(s.b->frames, 0);
    CONF_CALL(s.world, net_peer_pause(s.b->peer, false));
    conf_until(s.world, conf_node_idle, s.a, CONF_LIMIT_NS);
    assert_int_equal(s.b->frames, 40);
    conf_node_stop(s.a);
}

const struct CMUnitTest conf_resend_tests[] = {
    CONF_TEST(test_cut_connections_lose_and_double_nothing),
    CONF_TEST(test_cut_connections_of_four_streams_lose_and_double_nothing),
    CONF_TEST(test_cuts_and_fragments_together_lose_nothing),
    CONF_TEST(test_an_acknowledgement_lost_with_its_connection_comes_again),
    CONF_TEST(test_a_session_survives_a_short_absence),
    CONF_TEST(test_frames_sent_while_down_arrive_later),
    CONF_TEST(test_a_paused_peer_receives_nothing_until_it_goes_on),
};
const size_t conf_resend_count = sizeof(conf_resend_tests) / sizeof(conf_resend_tests[0]);
