/* acked(): the owner of a session is told of each frame of its own that the other end has dealt
 * with, once, whatever happens to connections and processes in between. */

#include "suites.h"

#include "base/rng.h"
#include "link.h"
#include "node.h"

enum { ACKED_CHUNKS = 9, ACKED_FRAMES = 3000 };

/* What was sent, by number, and what came of it. */
struct acked_frame {
    uint32_t chunk;
    uint64_t clock;
    uint32_t size;
    uint8_t type;
    uint32_t told;
};

struct acked {
    struct conf_session session;
    struct acked_frame frames[ACKED_FRAMES + 1];
    uint32_t sent;
    uint32_t told;
    uint32_t left; /* Frames that acked() itself shall send. */
    struct rng rng;
};

static void acked_note(struct conf_node *node, struct net_peer *peer,
                       const struct wire_header *header)
{
    struct acked *t = node->user;
    struct acked_frame *f = &t->frames[header->sequence];

    assert_ptr_equal(peer, node->peer);
    assert_true(header->sequence > 0 && header->sequence <= t->sent);
    assert_int_equal(f->told, 0);
    assert_int_equal(header->chunk, f->chunk);
    assert_int_equal(header->clock, f->clock);
    assert_int_equal(header->body_bytes, f->size);
    assert_int_equal(header->type, f->type);
    f->told++;
    t->told++;
}

static enum err acked_send(struct acked *t, enum net_priority priority, uint32_t size)
{
    struct conf_node *a = t->session.a;
    uint32_t number = t->sent + 1;
    struct acked_frame f = {
        .chunk = number % ACKED_CHUNKS,
        .clock = number,
        .size = size,
        .type = (uint8_t)(priority == NET_DATA ? conf_data_type(a->side) : WIRE_CONTROL),
    };
    enum err rc;

    assert_true(number <= ACKED_FRAMES);
    t->frames[number] = f;
    t->sent = number; /* Before: no acked() may come from inside. */
    rc = conf_node_send(a, priority, f.chunk, f.clock, size);
    if (rc != OK) {
        t->sent--;
    }
    return rc;
}

static void acked_send_many(struct acked *t, uint32_t frames)
{
    for (uint32_t i = 0; i < frames; i++) {
        assert_int_equal(acked_send(t, i % 5 == 0 ? NET_CONTROL : NET_DATA, i % 300), OK);
    }
}

static void acked_end(void *thing)
{
    (void)thing; /* It holds nothing. */
}

static struct acked *acked_open(struct conf_world *w)
{
    struct acked *t = conf_new(&w->a, sizeof(*t), acked_end);

    conf_session_open(&t->session, w);
    t->session.a->user = t;
    t->session.a->on_acked = acked_note;
    rng_init(&t->rng, 11);
    return t;
}

/* Each of the first @count frames was told of, none of the others. */
static void acked_check(const struct acked *t, uint32_t count)
{
    assert_int_equal(t->told, count);
    for (uint32_t i = 1; i <= t->sent; i++) {
        assert_int_equal(t->frames[i].told, i <= count ? 1 : 0);
    }
}

static void test_each_frame_is_acknowledged_to_its_owner_once(void **state)
{
    struct acked *t = acked_open(*state);

    conf_session_wait(&t->session, 3);
    acked_send_many(t, 500);
    assert_int_equal(t->told, 0);
    conf_until(t->session.world, conf_node_idle, t->session.a, CONF_LIMIT_NS);
    acked_check(t, 500);
    conf_settle(t->session.world);
    acked_check(t, 500);
}

static void test_only_what_is_dealt_with_is_acknowledged_to_the_owner(void **state)
{
    struct acked *t = acked_open(*state);
    struct conf_node *b = t->session.b;

    b->config.manual_ack = true;
    conf_session_wait(&t->session, 2);
    acked_send_many(t, 20);
    while (b->frames < 20) {
        assert_true(conf_step(t->session.world, conf_now_ns(t->session.world) + CONF_LIMIT_NS));
    }
    conf_settle(t->session.world);
    assert_int_equal(t->told, 0);
    for (uint64_t i = 20; i > 10; i--) { /* Not in order, and behind a gap. */
        CONF_CALL(t->session.world, net_peer_ack(b->peer, i));
    }
    while (t->told < 10) {
        assert_true(conf_step(t->session.world, conf_now_ns(t->session.world) + CONF_LIMIT_NS));
    }
    for (uint32_t i = 1; i <= 20; i++) {
        assert_int_equal(t->frames[i].told, i > 10 ? 1 : 0);
    }
    for (uint64_t i = 1; i <= 10; i++) {
        CONF_CALL(t->session.world, net_peer_ack(b->peer, i));
    }
    conf_until(t->session.world, conf_node_idle, t->session.a, CONF_LIMIT_NS);
    acked_check(t, 20);
}

static bool acked_done(void *user)
{
    struct acked *t = user;

    while (t->sent < ACKED_FRAMES && t->session.a->peer != NULL) {
        enum net_priority priority = t->sent % 5 == 0 ? NET_CONTROL : NET_DATA;
        uint32_t size = (uint32_t)rng_below(&t->rng, rng_chance(&t->rng, 20000) ? 60000 : 300);
        enum err rc = acked_send(t, priority, size);

        if (rc == ERR_AGAIN) {
            return false;
        }
        assert_int_equal(rc, OK);
    }
    return t->sent == ACKED_FRAMES && conf_node_idle(t->session.a);
}

static void acked_under_cuts(struct conf_world *w, uint16_t streams)
{
    struct faulty_transport *ways[] = {conf_faulty(&w->a), conf_faulty(&w->b)};
    int64_t until_ns = conf_now_ns(w) + 60 * CONF_S;
    struct acked *t = acked_open(w);
    uint32_t cut_at = 50;

    t->session.a->config.window_frames = 200;
    conf_session_wait(&t->session, streams);
    while (!acked_done(t)) {
        struct faulty_transport *way = ways[rng_below(&t->rng, 2)];

        if (t->session.b->frames >= cut_at && way->streams_count > 0) {
            faulty_reset(way, (uint32_t)rng_below(&t->rng, way->streams_count));
            cut_at += (uint32_t)rng_below(&t->rng, 300);
        }
        assert_true(conf_step(w, until_ns));
    }
    assert_true(ways[0]->resets + ways[1]->resets > 5);
    acked_check(t, ACKED_FRAMES);
    conf_node_stop(t->session.a);
    conf_node_stop(t->session.b);
}

static void test_cut_connections_tell_of_no_frame_twice(void **state)
{
    acked_under_cuts(*state, 1);
}

static void test_cut_connections_of_four_streams_tell_of_no_frame_twice(void **state)
{
    acked_under_cuts(*state, 4);
}

/* The new process knows of frames up to the number in .user. */
static void acked_resume(struct conf_node *node, struct net_window *received)
{
    net_window_init(received, *(uint64_t *)node->user);
}

static void acked_restart(struct acked *t, uint64_t known)
{
    struct conf_node *b = t->session.b;

    conf_node_stop(b);
    b->incarnation++;
    b->user = &known;
    b->on_resume = acked_resume;
    b->config.manual_ack = false;
    conf_node_start(b);
    conf_node_listen(b);
    conf_until(t->session.world, conf_session_up, &t->session, CONF_LIMIT_NS);
    conf_until(t->session.world, conf_node_idle, t->session.a, CONF_LIMIT_NS);
}

/* The receiver acknowledged 30 of 100 frames and dies; what its successor says is told once. */
static void test_a_restarted_receiver_acknowledges_no_frame_twice(void **state)
{
    static const uint64_t known[] = {0, 30, 60, 100};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct acked *t = acked_open(*state);

        t->session.b->config.manual_ack = true;
        conf_session_wait(&t->session, 4);
        acked_send_many(t, 100);
        while (t->session.b->frames < 100) {
            assert_true(conf_step(*state, conf_now_ns(*state) + CONF_LIMIT_NS));
        }
        for (uint64_t n = 1; n <= 30; n++) {
            CONF_CALL(t->session.world, net_peer_ack(t->session.b->peer, n));
        }
        while (t->told < 30) {
            assert_true(conf_step(*state, conf_now_ns(*state) + CONF_LIMIT_NS));
        }
        acked_check(t, 30);
        acked_restart(t, known[i]);
        acked_check(t, 100);
        assert_int_equal(t->session.a->restarts, 1);
        conf_node_stop(t->session.a);
        conf_node_stop(t->session.b);
    }
}

static void acked_then_send(struct conf_node *node, struct net_peer *peer,
                            const struct wire_header *header)
{
    struct acked *t = node->user;

    acked_note(node, peer, header);
    if (t->left > 0) {
        t->left--;
        assert_int_equal(acked_send(t, NET_DATA, 1000), OK);
    }
}

/* With room for one frame only, the next one fits as soon as acked() speaks of the last. */
static void test_the_owner_may_send_when_a_frame_is_acknowledged(void **state)
{
    struct acked *t = acked_open(*state);

    t->session.a->on_acked = acked_then_send;
    t->session.a->config.window_frames = 1;
    t->left = 200;
    conf_session_wait(&t->session, 2);
    assert_int_equal(acked_send(t, NET_DATA, 1000), OK);
    while (t->told < 201) {
        assert_true(conf_step(*state, conf_now_ns(*state) + CONF_LIMIT_NS));
    }
    acked_check(t, 201);
    assert_int_equal(t->session.b->frames, 201);
}

/* Many are acknowledged at once, and more are sent from each call than there were places: the
 * outbox grows meanwhile. */
static void test_the_owner_may_send_much_when_frames_are_acknowledged(void **state)
{
    struct acked *t = acked_open(*state);

    t->session.a->on_acked = acked_then_send;
    t->left = 2000;
    conf_session_wait(&t->session, 3);
    acked_send_many(t, 40);
    while (t->told < 2040) {
        assert_true(conf_step(*state, conf_now_ns(*state) + CONF_LIMIT_NS));
    }
    acked_check(t, 2040);
}

static void acked_then_close(struct conf_node *node, struct net_peer *peer,
                             const struct wire_header *header)
{
    acked_note(node, peer, header);
    net_peer_close(peer, "that was all"); /* Again and again: only the first counts. */
}

static void test_the_owner_may_end_the_session_when_a_frame_is_acknowledged(void **state)
{
    struct acked *t = acked_open(*state);
    uint32_t told;

    t->session.a->on_acked = acked_then_close;
    t->session.a->config.window_frames = 300;
    conf_session_wait(&t->session, 2);
    acked_send_many(t, 300);
    assert_int_equal(acked_send(t, NET_DATA, 0), ERR_AGAIN);
    conf_until(t->session.world, conf_session_lost, &t->session, 5 * CONF_S);
    told = t->told;
    assert_true(told > 0);
    assert_int_equal(t->session.a->why, OK);
    assert_int_equal(t->session.a->losses, 1);
    assert_int_equal(t->session.a->writables, 0); /* Nobody is to send any more. */
    conf_settle(t->session.world);
    assert_int_equal(t->told, told); /* Nothing after lost(). */
}

/* Both ways at once: each end hears of its own frames only. */
static void test_both_ends_hear_of_their_own_frames(void **state)
{
    struct conf_world *w = *state;
    struct acked *t = acked_open(w);

    conf_session_wait(&t->session, 2);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(acked_send(t, NET_DATA, 50000), OK);
        assert_int_equal(conf_node_send(t->session.b, NET_DATA, i, i, 50000), OK);
    }
    conf_until(w, conf_node_idle, t->session.a, CONF_LIMIT_NS);
    conf_until(w, conf_node_idle, t->session.b, CONF_LIMIT_NS);
    acked_check(t, 100);
    assert_int_equal(t->session.a->frames, 100);
}

const struct CMUnitTest conf_acked_tests[] = {
    CONF_TEST(test_each_frame_is_acknowledged_to_its_owner_once),
    CONF_TEST(test_only_what_is_dealt_with_is_acknowledged_to_the_owner),
    CONF_TEST(test_cut_connections_tell_of_no_frame_twice),
    CONF_TEST(test_cut_connections_of_four_streams_tell_of_no_frame_twice),
    CONF_TEST(test_a_restarted_receiver_acknowledges_no_frame_twice),
    CONF_TEST(test_the_owner_may_send_when_a_frame_is_acknowledged),
    CONF_TEST(test_the_owner_may_send_much_when_frames_are_acknowledged),
    CONF_TEST(test_the_owner_may_end_the_session_when_a_frame_is_acknowledged),
    CONF_TEST(test_both_ends_hear_of_their_own_frames),
};
const size_t conf_acked_count = sizeof(conf_acked_tests) / sizeof(conf_acked_tests[0]);
