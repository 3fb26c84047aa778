/* Sessions while both processes live: greeting, refusing, windows, good-bye. */

#include "suites.h"

#include "guest.h"
#include "node.h"
#include "wire/ack.h"
#include "wire/clock.h"

static void test_hello_and_welcome_make_a_session(void **state)
{
    struct conf_session s;

    conf_session_open(&s, *state);
    s.a->incarnation = 11;
    s.b->incarnation = 22;
    conf_session_wait(&s, 1);
    assert_true(net_peer_dialled(s.a->peer));
    assert_false(net_peer_dialled(s.b->peer));
    assert_int_equal(net_peer_incarnation(s.a->peer), 22);
    assert_int_equal(net_peer_incarnation(s.b->peer), 11);
    assert_true(pki_identity_equal(net_peer_identity(s.a->peer), &s.world->b.identity));
    assert_true(pki_identity_equal(net_peer_identity(s.b->peer), &s.world->a.identity));
    assert_ptr_equal(net_endpoint_peer(s.b->endpoint, 0), s.b->peer);
    assert_null(net_endpoint_peer(s.b->endpoint, 1));
    assert_int_equal(s.a->restarts + s.b->restarts, 0);
    assert_int_equal(conf_node_send(s.a, NET_DATA, 1, 0, 1000), OK);
    assert_int_equal(conf_node_send(s.b, NET_DATA, 1, 0, 100000), OK);
    conf_until(s.world, conf_node_idle, s.a, CONF_LIMIT_NS);
    conf_until(s.world, conf_node_idle, s.b, CONF_LIMIT_NS);
    assert_int_equal(s.a->frames, 1);
    assert_int_equal(s.b->frames, 1);
}

static void test_a_hello_that_the_certificate_does_not_support_is_refused(void **state)
{
    struct conf_session s;

    conf_session_open(&s, *state);
    if (!s.world->carrier->authenticated) {
        skip();
    }
    assert_int_equal(
        pki_identity_make(WIRE_ROLE_WORKER, "eu", "impostor", &s.a->config.identity, NULL), OK);
    conf_node_start(s.b);
    conf_node_listen(s.b);
    conf_node_start(s.a);
    conf_node_dial(s.a, &s.b->at, 1);
    conf_until(s.world, conf_node_lost, s.a, CONF_LIMIT_NS);
    assert_int_equal(s.a->why, ERR_REFUSED);
    assert_non_null(strstr(s.a->text.text, "certificate"));
    assert_int_equal(s.b->ups, 0);
    assert_int_equal(obs_counter_value(s.world->b.counters.hellos_refused), 1);
}

/* Say hello by hand and be refused. */
static struct wire_refuse session_refused(struct conf_node *node, const struct wire_hello *hello,
                                          uint16_t extra)
{
    struct conf_raw *raw = conf_guest_dial(node, hello, extra);
    struct conf_answer answer = conf_guest_answer(raw, 0);
    struct wire_refuse refuse = {0};

    assert_int_equal(answer.header.type, WIRE_REFUSE);
    assert_int_equal(wire_refuse_decode(answer.body, answer.header.body_bytes, &refuse), OK);
    conf_until(node->side->world, conf_raw_failed, raw, 3 * CONF_S);
    assert_int_equal(node->ups, 0);
    return refuse;
}

static void test_another_version_is_refused_with_both_versions_named(void **state)
{
    struct conf_session s;
    struct wire_hello hello;
    struct wire_refuse refuse;

    conf_session_open(&s, *state);
    conf_node_start(s.b);
    conf_node_listen(s.b);
    hello = conf_hello(s.b);
    hello.version_min = WIRE_VERSION_MAX + 1;
    hello.version_max = WIRE_VERSION_MAX + 6;
    refuse = session_refused(s.b, &hello, 0);
    assert_int_equal(refuse.code, WIRE_REFUSAL_VERSION);
    assert_non_null(memmem(refuse.text, refuse.text_bytes, "2 to 7", 6));
    assert_non_null(memmem(refuse.text, refuse.text_bytes, "1 to 1", 6));
    assert_non_null(memmem(refuse.text, refuse.text_bytes, "run the same release", 20));
    /* A range that ends with ours is fine. */
    hello = conf_hello(s.b);
    hello.version_max = WIRE_VERSION_MAX + 6;
    assert_int_equal(conf_guest_answer(conf_guest_dial(s.b, &hello, 0), 0).header.type,
                     WIRE_WELCOME);
}

static void test_an_unknown_critical_field_is_refused_with_a_reason(void **state)
{
    struct conf_session s;
    struct wire_hello hello;
    struct wire_refuse refuse;

    conf_session_open(&s, *state);
    conf_node_start(s.b);
    conf_node_listen(s.b);
    hello = conf_hello(s.b);
    refuse = session_refused(s.b, &hello, 0x8000 | 999);
    assert_int_equal(refuse.code, WIRE_REFUSAL_FIELD);
    assert_non_null(memmem(refuse.text, refuse.text_bytes, "field", 5));
    assert_int_equal(obs_counter_value(s.world->b.counters.refused[WIRE_REASON_FIELD]), 1);
}

static void test_an_unknown_optional_field_is_ignored(void **state)
{
    struct conf_session s;
    struct wire_hello hello;

    conf_session_open(&s, *state);
    conf_node_start(s.b);
    conf_node_listen(s.b);
    hello = conf_hello(s.b);
    assert_int_equal(conf_guest_answer(conf_guest_dial(s.b, &hello, 999), 0).header.type,
                     WIRE_WELCOME);
    conf_until(s.world, conf_node_up, s.b, CONF_LIMIT_NS);
}

static void test_no_heartbeat_comes_before_the_greeting(void **state)
{
    struct conf_session s;
    struct wire_hello hello;
    struct conf_raw *raw;

    conf_session_open(&s, *state);
    s.b->config.heartbeat_ns = 50 * CONF_MS;
    conf_node_start(s.b);
    conf_node_listen(s.b);
    raw = conf_raw_new(&s.world->a);
    conf_raw_dial(raw, &s.b->at);
    conf_until(s.world, conf_raw_opened, raw, CONF_LIMIT_NS);
    conf_pass(s.world, 500 * CONF_MS);
    assert_int_equal(raw->got, 0);
    assert_false(raw->failed);
    hello = conf_hello(s.b);
    conf_guest_say_hello(raw, &hello, 0);
    assert_int_equal(conf_guest_answer(raw, 0).header.type, WIRE_WELCOME);
}

static void test_dialling_oneself_is_noticed(void **state)
{
    struct conf_session s;

    conf_session_open(&s, *state);
    conf_node_start(s.b);
    conf_node_listen(s.b);
    conf_node_dial(s.b, &s.b->at, 1);
    conf_until(s.world, conf_node_lost, s.b, CONF_LIMIT_NS);
    assert_int_equal(s.b->why, ERR_REFUSED);
    assert_non_null(strstr(s.b->text.text, "yourself"));
}

/* Frames of a chunk must come in the order of their clocks. */
struct session_chunks {
    uint64_t next[64];
};

static enum err session_in_order(struct conf_node *node, struct net_peer *peer,
                                 const struct net_frame *frame)
{
    struct session_chunks *chunks = node->user;

    (void)peer;
    assert_int_equal(frame->header.clock, chunks->next[frame->header.chunk]++);
    return OK;
}

static void test_four_streams_share_the_work_and_keep_chunks_in_order(void **state)
{
    struct session_chunks chunks = {{0}};
    struct faulty_transport *counting;
    struct net_peer_stats stats;
    struct conf_session s;

    conf_session_open(&s, *state);
    counting = conf_faulty(&s.world->a);
    s.b->user = &chunks;
    s.b->on_frame = session_in_order;
    conf_session_wait(&s, 4);
    net_peer_stats(s.a->peer, &stats);
    assert_int_equal(stats.streams_live, 4);
    for (uint32_t i = 0; i < 3200; i++) {
        enum err rc;

        while ((rc = conf_node_send(s.a, NET_DATA, i % 64, i / 64, 1000)) == ERR_AGAIN) {
            (void)conf_step(s.world, conf_now_ns(s.world) + CONF_S);
        }
        assert_int_equal(rc, OK);
    }
    conf_until(s.world, conf_node_idle, s.a, CONF_LIMIT_NS);
    assert_int_equal(s.b->frames, 3200);
    assert_int_equal(counting->streams_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(faulty_written(counting, i) >= 700 * 1064);
    }
    assert_int_equal(s.b->ups, 1);
    conf_node_stop(s.a);
}

/* Which stream of three the next frame takes: the only one that got bytes. */
static uint32_t session_stream_of(struct conf_session *s, const struct faulty_transport *counting,
                                  struct buf *frame)
{
    uint64_t before[3];
    uint32_t stream = 3;
    enum err rc;

    for (uint32_t i = 0; i < 3; i++) {
        before[i] = faulty_written(counting, i);
    }
    CONF_CALL(s->world, rc = net_peer_send_sealed(s->a->peer, NET_DATA, frame));
    assert_int_equal(rc, OK);
    conf_until(s->world, conf_node_idle, s->a, CONF_LIMIT_NS);
    for (uint32_t i = 0; i < 3; i++) {
        if (faulty_written(counting, i) != before[i]) {
            assert_int_equal(stream, 3);
            stream = i;
        }
    }
    return stream;
}

static struct buf *session_chunk(struct conf_session *s, uint16_t table, uint32_t chunk)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX, .type = WIRE_ROWS_PUSH, .table = table, .chunk = chunk};
    struct buf *frame;

    assert_int_equal(wire_frame_take(s->world->a.pool, 0, &frame), OK);
    wire_frame_seal(frame, &header);
    return frame;
}

static void test_a_chunk_its_state_and_its_clock_have_a_stream_of_their_own(void **state)
{
    struct faulty_transport *counting;
    struct conf_session s;

    conf_session_open(&s, *state);
    s.a->config.heartbeat_ns = s.b->config.heartbeat_ns = 1000 * CONF_S;
    counting = conf_faulty(&s.world->a);
    conf_session_wait(&s, 3);
    conf_settle(s.world);
    for (uint16_t i = 0; i < 9; i++) {
        struct wire_clock clock = {.stream = i % 3, .clock = i};
        struct wire_header header = {.type = WIRE_ROWS_PUSH, .table = i, .chunk = 7};
        uint32_t plane = WIRE_TABLE_PLANE | i;
        struct buf *frame;

        assert_int_equal(wire_clock_encode(s.world->a.pool, WIRE_CLOCK, &clock, &frame), OK);
        assert_int_equal(session_stream_of(&s, counting, frame), i % 3);
        frame = session_chunk(&s, i, 7);
        assert_int_equal(session_stream_of(&s, counting, frame), wire_stream(&header, 3));
        frame = session_chunk(&s, (uint16_t)plane, 7);
        assert_int_equal(session_stream_of(&s, counting, frame), wire_stream(&header, 3));
    }
    conf_node_stop(s.a);
}

static void test_good_bye_ends_the_session_at_both_ends(void **state)
{
    struct conf_session s;

    conf_session_open(&s, *state);
    conf_session_wait(&s, 2);
    CONF_CALL(s.world, net_peer_close(s.a->peer, "done here"));
    conf_until(s.world, conf_session_lost, &s, 3 * CONF_S);
    assert_int_equal(s.a->why, OK);
    assert_int_equal(s.b->why, OK);
    assert_string_equal(s.b->text.text, "done here");
    assert_int_equal(s.a->losses + s.b->losses, 2);
    assert_null(net_endpoint_peer(s.a->endpoint, 0));
    assert_null(net_endpoint_peer(s.b->endpoint, 0));
}

/* Keep sending for as long as there is room. */
static void session_flood(struct conf_node *node)
{
    while (node->peer != NULL && conf_node_send(node, NET_DATA, 1, 0, 60000) == OK) {
    }
}

static void test_good_bye_arrives_in_the_middle_of_traffic(void **state)
{
    struct conf_session s;

    conf_session_open(&s, *state);
    s.a->on_writable = s.b->on_writable = session_flood;
    conf_session_wait(&s, 2);
    session_flood(s.a);
    session_flood(s.b);
    while (s.b->frames < 500 || s.a->frames < 500) {
        assert_true(conf_step(s.world, conf_now_ns(s.world) + CONF_LIMIT_NS));
    }
    s.a->on_writable = s.b->on_writable = NULL;
    CONF_CALL(s.world, net_peer_close(s.b->peer, "enough"));
    conf_until(s.world, conf_session_lost, &s, 5 * CONF_S);
    assert_int_equal(s.b->why, OK);
    assert_int_equal(s.a->why, OK);
    assert_string_equal(s.a->text.text, "enough");
}

/* A peer that is ended hears the reason, also if more is queued for it than there is room for. */
static void session_end_full(struct conf_node *node)
{
    for (int i = 0; i < 2 * LIMIT_SEND_QUEUE_FRAMES; i++) {
        assert_int_equal(conf_node_send(node, NET_CONTROL, 0, 0, 3000), OK);
    }
    net_peer_expel(node->peer, NET_EXPEL_PROTOCOL, "it is ended in the middle of all that");
}

static void test_the_reason_of_an_end_finds_room_in_a_full_queue(void **state)
{
    struct conf_session s;

    conf_session_open(&s, *state);
    conf_session_wait(&s, 2);
    CONF_CALL(s.world, session_end_full(s.a));
    assert_true(obs_counter_value(s.world->a.counters.queue_full) > 0);
    conf_until(s.world, conf_session_lost, &s, 5 * CONF_S);
    assert_int_equal(s.b->why, ERR_REFUSED);
    assert_non_null(strstr(s.b->text.text, "in the middle of all that"));
}

static void test_closing_before_anybody_answers_is_allowed(void **state)
{
    struct conf_world *w = *state;
    struct conf_node *node = conf_node_new(&w->a);

    conf_node_start(node);
    conf_node_dial(node, &w->closed, 3);
    conf_until(w, conf_node_troubled, node, CONF_LIMIT_NS);
    assert_int_equal(node->why, ERR_UNREACHABLE);
    CONF_CALL(w, net_peer_close(node->peer, "never mind"));
    conf_until(w, conf_node_lost, node, CONF_LIMIT_NS);
    assert_int_equal(node->why, OK);
    assert_int_equal(node->ups + node->downs, 0);
}

static void test_an_endpoint_destroyed_in_mid_traffic_leaks_nothing(void **state)
{
    struct buf_pool_stats stats;
    struct conf_session s;

    conf_session_open(&s, *state);
    conf_session_wait(&s, 4);
    session_flood(s.a);
    session_flood(s.b);
    while (s.b->frames < 100) {
        assert_true(conf_step(s.world, conf_now_ns(s.world) + CONF_LIMIT_NS));
    }
    conf_node_stop(s.a);
    conf_node_stop(s.b);
    conf_settle(s.world);
    buf_pool_stats(s.world->a.pool, &stats);
    assert_int_equal(stats.buffers_used, 0);
    buf_pool_stats(s.world->b.pool, &stats);
    assert_int_equal(stats.buffers_used, 0);
}

static void session_fill(struct conf_node *node, size_t size, uint32_t frames)
{
    struct net_peer_stats stats;

    for (uint32_t i = 0; i < frames; i++) {
        assert_int_equal(conf_node_send(node, NET_DATA, i, 0, size), OK);
    }
    assert_int_equal(conf_node_send(node, NET_DATA, 0, 0, size), ERR_AGAIN);
    net_peer_stats(node->peer, &stats);
    assert_int_equal(stats.unacked_frames, frames);
    assert_int_equal(stats.sent_sequence, frames);
}

static void test_a_full_window_says_again_and_writable_follows(void **state)
{
    struct conf_session s;

    conf_session_open(&s, *state);
    s.a->config.window_frames = 8;
    s.b->config.manual_ack = true;
    conf_session_wait(&s, 1);
    session_fill(s.a, 100, 8);
    while (s.b->frames < 8) {
        assert_true(conf_step(s.world, conf_now_ns(s.world) + CONF_LIMIT_NS));
    }
    conf_settle(s.world);
    assert_int_equal(s.a->writables, 0);
    for (uint64_t i = 1; i <= 8; i++) {
        CONF_CALL(s.world, net_peer_ack(s.b->peer, 9 - i)); /* In any order. */
    }
    conf_until(s.world, conf_node_idle, s.a, CONF_LIMIT_NS);
    assert_int_equal(s.a->writables, 1);
    assert_int_equal(conf_node_send(s.a, NET_DATA, 0, 0, 100), OK);
}

static void test_a_window_full_of_bytes_says_again(void **state)
{
    struct conf_session s;

    conf_session_open(&s, *state);
    s.a->config.window_bytes = 10 * (1000 + WIRE_HEADER_BYTES);
    s.b->config.manual_ack = true;
    conf_session_wait(&s, 1);
    session_fill(s.a, 1000, 10);
    while (s.b->frames < 10) {
        assert_true(conf_step(s.world, conf_now_ns(s.world) + CONF_LIMIT_NS));
    }
    for (uint64_t i = 1; i <= 10; i++) {
        CONF_CALL(s.world, net_peer_ack(s.b->peer, i));
    }
    conf_until(s.world, conf_node_idle, s.a, CONF_LIMIT_NS);
    assert_int_equal(s.a->writables, 1);
}

/* A guest whose hello was answered. */
static struct conf_raw *session_guest(struct conf_session *s, struct conf_world *w)
{
    struct wire_hello hello;
    struct conf_raw *raw;

    conf_session_open(s, w);
    conf_node_start(s->b);
    conf_node_listen(s->b);
    hello = conf_hello(s->b);
    raw = conf_guest_dial(s->b, &hello, 0);
    assert_int_equal(conf_guest_answer(raw, 0).header.type, WIRE_WELCOME);
    conf_until(w, conf_node_up, s->b, CONF_LIMIT_NS);
    return raw;
}

/* The last acknowledgement that the guest got must be this one. */
struct session_acked {
    struct conf_raw *raw;
    uint64_t base;
    uint64_t bits;
};

static bool session_acked(void *user)
{
    struct session_acked *wanted = user;
    struct wire_window last = {0};
    size_t at = 0;

    while (wanted->raw->got >= at + WIRE_HEADER_BYTES) {
        const uint8_t *bytes = wanted->raw->bytes + at;
        struct wire_header header;
        enum wire_reason reason;

        assert_int_equal(wire_header_decode(bytes, &header, &reason), OK);
        at += WIRE_HEADER_BYTES + header.body_bytes;
        if (wanted->raw->got < at) {
            break;
        }
        if (header.type == WIRE_ACK) {
            assert_int_equal(wire_ack_decode(bytes + WIRE_HEADER_BYTES, header.body_bytes, &last),
                             OK);
        }
    }
    return last.base == wanted->base && last.bits[0] == wanted->bits;
}

static void test_a_replayed_frame_is_counted_once(void **state)
{
    struct conf_session s;
    struct conf_raw *raw = session_guest(&s, *state);
    struct session_acked first = {raw, 1, 0}, gap = {raw, 1, 2};
    struct obs_counter *duplicates = s.world->b.counters.duplicates;

    conf_guest_send(raw, WIRE_PUSH, 1, 0);
    conf_until(s.world, session_acked, &first, CONF_LIMIT_NS);
    conf_guest_send(raw, WIRE_PUSH, 1, 0);
    conf_guest_send(raw, WIRE_PUSH, 1, WIRE_FLAG_RESENT);
    conf_guest_send(raw, WIRE_PUSH, 3, 0);
    conf_until(s.world, session_acked, &gap, CONF_LIMIT_NS);
    assert_int_equal(s.b->frames, 2);
    assert_int_equal(obs_counter_value(duplicates), 2);
}

/* The guest sends something that no member sends: it is told so, and its session ends. */
static void session_offend(struct conf_session *s, struct conf_raw *raw, enum wire_reason reason)
{
    struct obs_counter *counter = s->world->b.counters.refused[reason];

    struct wire_refuse bye = {0};

    for (uint32_t i = 0; bye.code == 0; i++) {
        struct conf_answer answer = conf_guest_answer(raw, i);

        if (answer.header.type == WIRE_BYE) {
            assert_int_equal(wire_refuse_decode(answer.body, answer.header.body_bytes, &bye), OK);
            assert_int_equal(bye.code, WIRE_REFUSAL_BUSY);
        }
    }
    conf_raw_end(raw, false);
    conf_until(s->world, conf_node_lost, s->b, CONF_S);
    assert_int_equal(s->b->why, ERR_PEER);
    assert_int_equal(obs_counter_value(counter), 1);
    assert_int_equal(obs_counter_value(s->world->b.counters.expelled[NET_EXPEL_PROTOCOL]), 1);
}

static void test_an_acknowledgement_of_what_was_never_sent_is_an_offence(void **state)
{
    struct conf_session s;
    struct conf_raw *raw = session_guest(&s, *state);
    struct wire_window acked = {.base = 5};
    struct buf *frame;

    assert_int_equal(wire_ack_encode(s.world->a.pool, &acked, &frame), OK);
    conf_raw_write(raw, buf_bytes(frame), buf_size(frame));
    buf_unref(frame);
    session_offend(&s, raw, WIRE_REASON_BODY);
}

static void test_a_sequence_beyond_the_window_is_an_offence(void **state)
{
    struct conf_session s;
    struct conf_raw *raw = session_guest(&s, *state);

    conf_guest_send(raw, WIRE_PUSH, LIMIT_WINDOW_FRAMES + 1, 0);
    session_offend(&s, raw, WIRE_REASON_BODY);
    assert_int_equal(s.b->frames, 0);
}

/* A frame of the handshake is about its connection, and may have come twice on the way. */
static void test_a_second_hello_ends_the_connection_and_not_the_session(void **state)
{
    struct conf_session s;
    struct conf_raw *raw = session_guest(&s, *state);

    conf_guest_send(raw, WIRE_HELLO, 0, 0);
    conf_until(s.world, conf_raw_failed, raw, CONF_S);
    conf_until(s.world, conf_node_down, s.b, CONF_S);
    assert_int_equal(obs_counter_value(s.world->b.counters.refused[WIRE_REASON_TYPE]), 1);
    assert_int_equal(obs_counter_value(s.world->b.counters.expelled[NET_EXPEL_PROTOCOL]), 0);
    assert_int_equal(s.b->losses, 0);
}

static enum err session_refuse_first(struct conf_node *node, struct net_peer *peer,
                                     const struct net_frame *frame)
{
    (void)peer;
    (void)frame;
    return node->frames == 1 ? ERR_INVALID : OK;
}

static void test_a_frame_that_was_not_taken_comes_again(void **state)
{
    struct conf_session s;

    conf_session_open(&s, *state);
    s.b->on_frame = session_refuse_first;
    conf_session_wait(&s, 1);
    assert_int_equal(conf_node_send(s.a, NET_DATA, 1, 0, 100), OK);
    conf_until(s.world, conf_node_idle, s.a, CONF_LIMIT_NS);
    assert_int_equal(s.b->frames, 2);
    assert_int_equal(s.a->downs, 1);
    assert_int_equal(obs_counter_value(s.world->a.counters.resent), 1);
}

static enum err session_offended(struct conf_node *node, struct net_peer *peer,
                                 const struct net_frame *frame)
{
    (void)node;
    (void)peer;
    return frame->header.clock == 99 ? ERR_REFUSED : OK; /* Without a word. */
}

/* The other end still has the old one, with its numbers; nothing of it may get into the new one. */
static void test_a_new_session_takes_the_place_of_one_that_only_one_end_has_ended(void **state)
{
    struct conf_session s;
    struct net_peer *before;

    conf_session_open(&s, *state);
    s.a->on_frame = session_offended;
    conf_session_wait(&s, 3);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(conf_node_send(s.a, NET_DATA, i, i, 1000), OK);
        assert_int_equal(conf_node_send(s.b, NET_DATA, i, i, 1000), OK);
    }
    conf_until(s.world, conf_node_idle, s.a, CONF_LIMIT_NS);
    conf_until(s.world, conf_node_idle, s.b, CONF_LIMIT_NS);
    before = s.b->peer;
    assert_int_equal(conf_node_send(s.b, NET_DATA, 1, 99, 1000), OK);
    assert_int_equal(conf_node_send(s.b, NET_DATA, 2, 7, 1000), OK);
    conf_until(s.world, conf_node_lost, s.a, CONF_LIMIT_NS);
    assert_int_equal(s.b->losses, 0);
    s.a->frames = s.b->frames = s.a->ups = s.b->ups = 0;
    conf_node_dial(s.a, &s.b->at, 3);
    conf_until(s.world, conf_session_up, &s, CONF_LIMIT_NS);
    conf_until(s.world, conf_node_lost, s.b, CONF_LIMIT_NS);
    assert_ptr_not_equal(s.b->peer, before);
    assert_int_equal(s.a->restarts + s.b->restarts, 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(conf_node_send(s.a, NET_DATA, i, i, 1000), OK);
        assert_int_equal(conf_node_send(s.b, NET_DATA, i, i, 1000), OK);
    }
    conf_until(s.world, conf_node_idle, s.a, CONF_LIMIT_NS);
    conf_until(s.world, conf_node_idle, s.b, CONF_LIMIT_NS);
    assert_int_equal(s.a->frames, 3);
    assert_int_equal(s.b->frames, 3);
    assert_null(net_endpoint_peer(s.b->endpoint, 1));
}

/* An old session whose connection comes late must not push the new one out. */
static void test_an_older_session_is_refused_where_a_newer_one_is(void **state)
{
    struct conf_session s;
    struct wire_hello hello;
    struct conf_answer answer;
    struct wire_refuse refuse;

    conf_session_open(&s, *state);
    conf_node_start(s.b);
    conf_node_listen(s.b);
    hello = conf_hello(s.b);
    hello.session = 2;
    assert_int_equal(conf_guest_answer(conf_guest_dial(s.b, &hello, 0), 0).header.type,
                     WIRE_WELCOME);
    conf_until(s.world, conf_node_up, s.b, CONF_LIMIT_NS);
    hello.session = 1;
    answer = conf_guest_answer(conf_guest_dial(s.b, &hello, 0), 0);
    assert_int_equal(answer.header.type, WIRE_REFUSE);
    assert_int_equal(wire_refuse_decode(answer.body, answer.header.body_bytes, &refuse), OK);
    assert_int_equal(refuse.code, WIRE_REFUSAL_SUPERSEDED);
    assert_non_null(memmem(refuse.text, refuse.text_bytes, "newer session", 13));
    assert_int_equal(s.b->losses, 0);
}

const struct CMUnitTest conf_session_tests[] = {
    CONF_TEST(test_a_new_session_takes_the_place_of_one_that_only_one_end_has_ended),
    CONF_TEST(test_an_older_session_is_refused_where_a_newer_one_is),
    CONF_TEST(test_hello_and_welcome_make_a_session),
    CONF_TEST(test_a_hello_that_the_certificate_does_not_support_is_refused),
    CONF_TEST(test_another_version_is_refused_with_both_versions_named),
    CONF_TEST(test_an_unknown_critical_field_is_refused_with_a_reason),
    CONF_TEST(test_an_unknown_optional_field_is_ignored),
    CONF_TEST(test_no_heartbeat_comes_before_the_greeting),
    CONF_TEST(test_dialling_oneself_is_noticed),
    CONF_TEST(test_four_streams_share_the_work_and_keep_chunks_in_order),
    CONF_TEST(test_a_chunk_its_state_and_its_clock_have_a_stream_of_their_own),
    CONF_TEST(test_good_bye_ends_the_session_at_both_ends),
    CONF_TEST(test_good_bye_arrives_in_the_middle_of_traffic),
    CONF_TEST(test_the_reason_of_an_end_finds_room_in_a_full_queue),
    CONF_TEST(test_closing_before_anybody_answers_is_allowed),
    CONF_TEST(test_an_endpoint_destroyed_in_mid_traffic_leaks_nothing),
    CONF_TEST(test_a_full_window_says_again_and_writable_follows),
    CONF_TEST(test_a_window_full_of_bytes_says_again),
    CONF_TEST(test_a_replayed_frame_is_counted_once),
    CONF_TEST(test_an_acknowledgement_of_what_was_never_sent_is_an_offence),
    CONF_TEST(test_a_sequence_beyond_the_window_is_an_offence),
    CONF_TEST(test_a_second_hello_ends_the_connection_and_not_the_session),
    CONF_TEST(test_a_frame_that_was_not_taken_comes_again),
};
const size_t conf_session_count = sizeof(conf_session_tests) / sizeof(conf_session_tests[0]);
