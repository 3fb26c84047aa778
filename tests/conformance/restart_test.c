/* Processes that end and come back: incarnations, checkpoints, grace. */

#include "suites.h"

#include "guest.h"
#include "node.h"
#include "sim/net/link.h"

/* Remember which sequence numbers came, and acknowledge up to a limit. */
struct restart_log {
    uint64_t ack_until;
    uint64_t resume_base;
    uint32_t count;
    uint64_t sequences[64];
};

static enum err restart_note(struct conf_node *node, struct net_peer *peer,
                             const struct net_frame *frame)
{
    struct restart_log *log = node->user;

    assert_true(log->count < 64);
    log->sequences[log->count++] = frame->header.sequence;
    if (frame->header.sequence <= log->ack_until) {
        net_peer_ack(peer, frame->header.sequence);
    }
    return OK;
}

static void restart_resume(struct conf_node *node, struct net_window *received)
{
    struct restart_log *log = node->user;

    if (log->resume_base != 0) {
        net_window_init(received, log->resume_base);
    }
}

static bool restart_acked_ten(void *user)
{
    struct conf_node *node = user;
    struct net_peer_stats stats;

    net_peer_stats(node->peer, &stats);
    return stats.acked_sequence == 10;
}

/* a sends twenty frames; b acknowledges ten, and is then started anew with @log. */
static void restart_receiver(struct conf_session *s, struct conf_world *w, struct restart_log *log)
{
    struct restart_log first = {.ack_until = 10};

    conf_session_open(s, w);
    s->b->config.manual_ack = true;
    s->b->user = &first;
    s->b->on_frame = restart_note;
    s->b->on_resume = restart_resume;
    conf_session_wait(s, 1);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(conf_node_send(s->a, NET_DATA, i, 0, 100), OK);
    }
    while (first.count < 20) {
        assert_true(conf_step(w, conf_now_ns(w) + CONF_LIMIT_NS));
    }
    conf_until(w, restart_acked_ten, s->a, CONF_LIMIT_NS);
    conf_node_stop(s->b);
    s->b->user = log;
    s->b->incarnation = 2;
    conf_node_start(s->b);
    conf_node_listen(s->b);
    conf_until(w, conf_node_idle, s->a, CONF_LIMIT_NS);
    assert_int_equal(s->a->restarts, 1);
    assert_int_equal(s->a->losses, 0);
}

static void test_what_was_not_acknowledged_comes_again_to_a_restarted_receiver(void **state)
{
    struct restart_log log = {.ack_until = 100};
    struct conf_session s;

    restart_receiver(&s, *state, &log);
    assert_int_equal(log.count, 10);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(log.sequences[i], 11 + i);
    }
}

static void test_a_restarted_receiver_gets_only_what_its_checkpoint_lacks(void **state)
{
    struct restart_log log = {.ack_until = 100, .resume_base = 17};
    struct conf_session s;

    restart_receiver(&s, *state, &log);
    assert_int_equal(log.count, 3);
    assert_int_equal(log.sequences[0], 18);
}

static void test_a_checkpoint_that_has_everything_is_acknowledged(void **state)
{
    struct restart_log log = {.ack_until = 100, .resume_base = 20};
    struct conf_session s;

    restart_receiver(&s, *state, &log);
    assert_int_equal(log.count, 0);
}

/* Acknowledge all but the first, until told otherwise. */
static enum err restart_hold_first(struct conf_node *node, struct net_peer *peer,
                                   const struct net_frame *frame)
{
    const bool *hold = node->user;

    if (frame->header.sequence != 1 || !*hold) {
        net_peer_ack(peer, frame->header.sequence);
    }
    return OK;
}

/* Numbers 2 to 20 were acknowledged by a process that is gone: they do not come again, and their
 * places stay empty for as long as the session lasts. */
static void test_numbers_that_never_come_again_do_not_end_a_session(void **state)
{
    struct conf_session s;
    bool hold = true;

    conf_session_open(&s, *state);
    s.b->config.manual_ack = true;
    s.b->user = &hold;
    s.b->on_frame = restart_hold_first;
    conf_session_wait(&s, 1);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(conf_node_send(s.a, NET_DATA, i, 0, 100), OK);
    }
    while (s.b->frames < 20) {
        assert_true(conf_step(*state, conf_now_ns(*state) + CONF_LIMIT_NS));
    }
    conf_settle(*state);
    conf_node_stop(s.b);
    hold = false;
    s.b->incarnation = 2;
    conf_node_start(s.b);
    conf_node_listen(s.b);
    conf_until(*state, conf_node_idle, s.a, CONF_LIMIT_NS);
    assert_int_equal(s.a->restarts, 1);
    for (uint32_t i = 0; i < 3 * LIMIT_WINDOW_FRAMES; i++) {
        assert_int_equal(conf_node_send(s.a, NET_DATA, i, 1, 8), OK);
        if (i % 1000 == 999) {
            conf_until(*state, conf_node_idle, s.a, CONF_LIMIT_NS);
        }
    }
    conf_until(*state, conf_node_idle, s.a, CONF_LIMIT_NS);
    assert_int_equal(s.a->losses, 0);
    assert_int_equal(s.b->losses, 0);
}

static void test_a_restarted_dialler_supersedes_its_old_process(void **state)
{
    struct conf_node *second;
    struct conf_session s;

    conf_session_open(&s, *state);
    conf_session_wait(&s, 2);
    second = conf_node_new(&s.world->a);
    second->incarnation = 2;
    conf_node_start(second);
    conf_node_dial(second, &s.b->at, 2);
    conf_until(s.world, conf_node_up, second, CONF_LIMIT_NS);
    conf_until(s.world, conf_session_lost, &s, CONF_LIMIT_NS);
    /* The old one came back and was told why it is not wanted. */
    assert_int_equal(s.a->why, ERR_REFUSED);
    assert_non_null(strstr(s.a->text.text, "newer"));
    assert_int_equal(s.b->restarts, 1);
    assert_int_equal(s.b->losses, 1);
    conf_until(s.world, conf_node_up, s.b, CONF_LIMIT_NS);
    assert_int_equal(net_peer_incarnation(s.b->peer), 2);
    assert_int_equal(conf_node_send(second, NET_DATA, 1, 0, 100), OK);
    conf_until(s.world, conf_node_idle, second, CONF_LIMIT_NS);
    assert_int_equal(second->losses, 0);
}

static void test_a_peer_that_does_not_come_back_is_lost_after_grace(void **state)
{
    struct conf_session s;
    int64_t started_ns;

    conf_session_open(&s, *state);
    s.b->config.grace_ns = 300 * CONF_MS;
    conf_session_wait(&s, 2);
    conf_node_stop(s.a);
    conf_until(s.world, conf_node_down, s.b, CONF_LIMIT_NS);
    started_ns = conf_now_ns(s.world);
    conf_until(s.world, conf_node_lost, s.b, CONF_LIMIT_NS);
    assert_true(conf_now_ns(s.world) - started_ns >= 290 * CONF_MS);
    assert_int_equal(s.b->why, ERR_TIMEOUT);
    assert_null(net_endpoint_peer(s.b->endpoint, 0));
}

static void test_who_comes_back_after_grace_is_told_so(void **state)
{
    struct conf_session s;
    struct faulty_transport *a;

    conf_session_open(&s, *state);
    s.b->config.grace_ns = 100 * CONF_MS;
    s.a->config.redial_ns = s.a->config.redial_max_ns = CONF_S;
    a = conf_faulty(&s.world->a);
    conf_session_wait(&s, 1);
    faulty_reset(a, 0);
    conf_until(s.world, conf_session_lost, &s, CONF_LIMIT_NS);
    assert_int_equal(s.b->why, ERR_TIMEOUT);
    assert_int_equal(s.a->why, ERR_REFUSED);
    assert_non_null(strstr(s.a->text.text, "ended"));
    conf_node_stop(s.a);
}

static void test_a_session_whose_streams_never_all_come_is_lost_after_grace(void **state)
{
    struct conf_session s;
    struct wire_hello hello;
    struct conf_raw *raw;

    conf_session_open(&s, *state);
    s.b->config.grace_ns = 300 * CONF_MS;
    conf_node_start(s.b);
    conf_node_listen(s.b);
    hello = conf_hello(s.b);
    hello.stream_count = 2;
    raw = conf_guest_dial(s.b, &hello, 0);
    assert_int_equal(conf_guest_answer(raw, 0).header.type, WIRE_WELCOME);
    conf_raw_end(raw, true);
    conf_until(s.world, conf_node_lost, s.b, CONF_LIMIT_NS);
    assert_int_equal(s.b->ups, 0);
    assert_null(net_endpoint_peer(s.b->endpoint, 0));
}

static void test_somebody_else_at_the_old_address_is_refused(void **state)
{
    struct conf_session s;

    conf_session_open(&s, *state);
    if (s.world->carrier->authenticated) {
        skip(); /* There the hello must agree with the certificate anyway. */
    }
    conf_session_wait(&s, 1);
    conf_node_stop(s.b);
    assert_int_equal(pki_identity_make(WIRE_ROLE_SERVER, "eu", "c", &s.b->config.identity, NULL),
                     OK);
    s.b->incarnation = 2;
    s.a->troubles = 0;
    conf_node_start(s.b);
    conf_node_listen(s.b);
    while (s.a->troubles == 0 || s.a->why != ERR_REFUSED) {
        assert_true(conf_step(s.world, conf_now_ns(s.world) + CONF_LIMIT_NS));
    }
    assert_non_null(strstr(s.a->text.text, "somebody else"));
    assert_int_equal(s.a->ups, 1);
}

/* The next stream that reaches the door, welcomed by a process of that incarnation. */
static struct conf_raw *restart_welcome(struct conf_door *door, uint64_t incarnation)
{
    struct conf_raw *raw = conf_raw_new(door->side);

    door->raw = raw;
    conf_until(door->side->world, conf_raw_opened, raw, CONF_LIMIT_NS);
    conf_guest_welcome(raw, incarnation, 2);
    return raw;
}

static void test_a_new_process_behind_one_stream_ends_the_streams_to_the_old_one(void **state)
{
    struct conf_world *w = *state;
    struct conf_node *node = conf_node_new(&w->a);
    struct conf_door *door = conf_door_open(&w->b);
    struct conf_raw *first, *second;

    node->config.heartbeat_ns = 100 * CONF_S; /* Silence is not what this is about. */
    conf_node_start(node);
    conf_node_dial(node, &door->listener->address, 2);
    first = restart_welcome(door, 50);
    second = restart_welcome(door, 50);
    conf_until(w, conf_node_up, node, CONF_LIMIT_NS);
    conf_guest_send(second, WIRE_ROWS_VALUES, 7, 0);
    conf_settle(w);
    assert_int_equal(node->frames, 1);
    conf_raw_end(first, true);
    (void)restart_welcome(door, 51);
    /* The second stream still leads to the old process: its numbers mean nothing any more. */
    conf_until(w, conf_raw_failed, second, CONF_LIMIT_NS);
    assert_int_equal(node->downs, 1);
    second = restart_welcome(door, 51);
    conf_until(w, conf_node_up, node, CONF_LIMIT_NS);
    assert_int_equal(node->ups, 2);
    assert_int_equal(node->restarts, 1);
    conf_guest_send(second, WIRE_ROWS_VALUES, 7, 0);
    conf_settle(w);
    assert_int_equal(node->frames, 2);
}

/* Frames of a chunk in order, to a receiver that keeps nothing. */
struct restart_chunks {
    uint64_t next[8];
};

static enum err restart_in_order(struct conf_node *node, struct net_peer *peer,
                                 const struct net_frame *frame)
{
    struct restart_chunks *chunks = node->user;

    (void)peer;
    assert_true(frame->header.clock >= chunks->next[frame->header.chunk]);
    chunks->next[frame->header.chunk] = frame->header.clock + 1;
    return OK;
}

static void test_a_host_that_loses_its_power_comes_back_as_a_new_process(void **state)
{
    struct conf_world *w = *state;
    struct restart_chunks chunks = {{0}};
    struct conf_node *again;
    struct conf_session s;

    if (!w->carrier->simulated) {
        skip();
    }
    conf_session_open(&s, w);
    conf_session_wait(&s, 4);
    for (uint32_t i = 0; i < 400; i++) {
        assert_int_equal(conf_node_send(s.a, NET_DATA, i % 8, i / 8, 5000), OK);
    }
    while (s.b->frames < 50) {
        assert_true(conf_step(w, conf_now_ns(w) + CONF_LIMIT_NS));
    }
    sim_host_crash(w->b.host, true);
    conf_pass(w, 500 * CONF_MS);
    sim_host_start(w->b.host);
    again = conf_node_new(&w->b);
    again->incarnation = 2;
    again->at = s.b->at;
    again->user = &chunks;
    again->on_frame = restart_in_order;
    conf_node_start(again);
    conf_node_listen(again);
    conf_until(w, conf_node_idle, s.a, 30 * CONF_S);
    assert_int_equal(s.a->restarts, 1);
    assert_int_equal(s.a->losses, 0);
    assert_true(s.b->frames + again->frames >= 400);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(chunks.next[i], 50);
    }
}

static void test_a_partition_ends_and_the_session_goes_on(void **state)
{
    struct conf_world *w = *state;
    struct sim_link *there, *back;
    struct conf_session s;

    if (!w->carrier->simulated) {
        skip();
    }
    conf_session_open(&s, w);
    conf_session_wait(&s, 2);
    there = sim_link_between(w->sim, sim_host_region(w->a.host), sim_host_region(w->b.host));
    back = sim_link_between(w->sim, sim_host_region(w->b.host), sim_host_region(w->a.host));
    sim_link_cut(w->sim, there);
    sim_link_cut(w->sim, back);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(conf_node_send(s.a, NET_DATA, i, 0, 1000), OK);
        assert_int_equal(conf_node_send(s.b, NET_DATA, i, 0, 1000), OK);
    }
    conf_until(w, conf_node_down, s.a, 10 * CONF_S);
    conf_until(w, conf_node_down, s.b, 10 * CONF_S);
    conf_pass(w, 10 * CONF_S);
    assert_int_equal(s.a->frames + s.b->frames, 0);
    sim_link_heal(w->sim, there);
    sim_link_heal(w->sim, back);
    conf_until(w, conf_session_up, &s, 10 * CONF_S);
    conf_until(w, conf_node_idle, s.a, CONF_LIMIT_NS);
    conf_until(w, conf_node_idle, s.b, CONF_LIMIT_NS);
    assert_int_equal(s.a->frames, 100);
    assert_int_equal(s.b->frames, 100);
    assert_int_equal(s.a->losses + s.b->losses + s.a->restarts + s.b->restarts, 0);
}

const struct CMUnitTest conf_restart_tests[] = {
    CONF_TEST(test_what_was_not_acknowledged_comes_again_to_a_restarted_receiver),
    CONF_TEST(test_a_restarted_receiver_gets_only_what_its_checkpoint_lacks),
    CONF_TEST(test_a_checkpoint_that_has_everything_is_acknowledged),
    CONF_TEST(test_numbers_that_never_come_again_do_not_end_a_session),
    CONF_TEST(test_a_restarted_dialler_supersedes_its_old_process),
    CONF_TEST(test_a_peer_that_does_not_come_back_is_lost_after_grace),
    CONF_TEST(test_who_comes_back_after_grace_is_told_so),
    CONF_TEST(test_a_session_whose_streams_never_all_come_is_lost_after_grace),
    CONF_TEST(test_somebody_else_at_the_old_address_is_refused),
    CONF_TEST(test_a_new_process_behind_one_stream_ends_the_streams_to_the_old_one),
    CONF_TEST(test_a_host_that_loses_its_power_comes_back_as_a_new_process),
    CONF_TEST(test_a_partition_ends_and_the_session_goes_on),
};
const size_t conf_restart_count = sizeof(conf_restart_tests) / sizeof(conf_restart_tests[0]);
