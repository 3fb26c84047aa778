/* Ending a connection at every moment, also from inside its own callbacks: closed() comes exactly
 * once and last, and nothing is called from inside the call that caused it (the links check both).
 */

#include "suites.h"

#include "link.h"

static void cancel_close(struct conf_link *link)
{
    CONF_CALL(link->side->world, net_conn_close(link->conn, ERR_CANCELLED, "enough"));
}

static void test_a_dial_can_be_cancelled(void **state)
{
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    conf_link_dial(pair.a, &pair.door->listener->address);
    cancel_close(pair.a);
    assert_int_equal(pair.a->closed, 0);
    conf_until(pair.world, conf_link_closed, pair.a, CONF_LIMIT_NS);
    assert_int_equal(pair.a->why, ERR_CANCELLED);
    assert_string_equal(pair.a->text.text, "enough");
    assert_int_equal(pair.a->opened, 0);
    conf_settle(pair.world);
}

static void test_a_dial_can_be_cancelled_at_every_step(void **state)
{
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    for (int steps = 0; steps < 20; steps++) {
        struct conf_link *link = conf_link_new(pair.door->side);
        struct conf_link *dialler = conf_link_new(pair.a->side);

        pair.door->links[0] = link;
        pair.door->guests = 0;
        conf_link_dial(dialler, &pair.door->listener->address);
        for (int i = 0; i < steps; i++) {
            (void)conf_step(pair.world, conf_now_ns(pair.world) + CONF_MS);
        }
        cancel_close(dialler);
        conf_until(pair.world, conf_link_closed, dialler, CONF_LIMIT_NS);
        conf_settle(pair.world);
        assert_int_equal(dialler->closed, 1);
    }
}

static void test_a_dial_to_an_unknown_host_can_be_cancelled(void **state)
{
    struct conf_world *w = *state;
    struct conf_link *link = conf_link_new(&w->a);
    struct net_address nobody = w->closed;

    if (nobody.scheme != NET_SCHEME_UNIX) {
        strcpy(nobody.host, "no-such-host.invalid");
    }
    conf_link_dial(link, &nobody);
    if (link->conn != NULL) {
        cancel_close(link);
        conf_until(w, conf_link_closed, link, CONF_LIMIT_NS);
        assert_int_equal(link->why, ERR_CANCELLED);
    }
    conf_settle(w);
}

static void test_closing_in_opened_is_allowed(void **state)
{
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    pair.a->on_opened = cancel_close;
    conf_link_dial(pair.a, &pair.door->listener->address);
    conf_until(pair.world, conf_pair_closed, &pair, CONF_LIMIT_NS);
    assert_int_equal(pair.a->why, ERR_CANCELLED);
    assert_int_equal(pair.b->why, ERR_CLOSED);
}

static void test_closing_in_opened_of_the_accepted_end_is_allowed(void **state)
{
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    pair.b->on_opened = cancel_close;
    conf_link_dial(pair.a, &pair.door->listener->address);
    conf_until(pair.world, conf_pair_closed, &pair, CONF_LIMIT_NS);
    assert_int_equal(pair.a->why, ERR_CLOSED);
}

static enum err cancel_in_frame(struct conf_link *link, const struct net_frame *frame)
{
    (void)frame;
    if (link->frames == 3) {
        cancel_close(link);
    }
    return OK;
}

static enum err cancel_by_error(struct conf_link *link, const struct net_frame *frame)
{
    (void)frame;
    return link->frames == 3 ? ERR_REFUSED : OK;
}

static void cancel_with_frames(struct conf_world *w,
                               enum err (*on_frame)(struct conf_link *, const struct net_frame *),
                               size_t size, enum err why)
{
    struct conf_pair pair;

    conf_pair_open(&pair, w);
    pair.b->on_frame = on_frame;
    conf_pair_wait(&pair);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(conf_send(pair.a, NET_DATA, size, i), OK);
    }
    conf_until(w, conf_pair_closed, &pair, CONF_LIMIT_NS);
    assert_int_equal(pair.b->frames, 3);
    assert_int_equal(pair.b->why, why);
    assert_int_equal(pair.a->why, ERR_CLOSED);
    pair.door->listener->ops->destroy(pair.door->listener);
    pair.door->listener = NULL;
}

static void test_closing_in_frame_is_allowed_and_no_frame_follows(void **state)
{
    cancel_with_frames(*state, cancel_in_frame, 100, ERR_CANCELLED);
    cancel_with_frames(*state, cancel_in_frame, 200000, ERR_CANCELLED);
}

static void test_an_error_from_frame_closes_with_that_error(void **state)
{
    cancel_with_frames(*state, cancel_by_error, 100, ERR_REFUSED);
    cancel_with_frames(*state, cancel_by_error, 200000, ERR_REFUSED);
}

static void cancel_in_writable(struct conf_link *link, enum net_priority priority)
{
    (void)priority;
    cancel_close(link);
}

static void test_closing_in_writable_is_allowed(void **state)
{
    struct conf_pair pair;
    enum err rc;

    conf_pair_open(&pair, *state);
    pair.a->on_writable = cancel_in_writable;
    conf_pair_wait(&pair);
    while ((rc = conf_send(pair.a, NET_DATA, 1024 * 1024, 0)) == OK) {
    }
    assert_int_equal(rc, ERR_AGAIN);
    conf_until(pair.world, conf_pair_closed, &pair, CONF_LIMIT_NS);
    assert_int_equal(pair.a->why, ERR_CANCELLED);
    assert_int_equal(pair.a->writable[NET_DATA], 1);
}

static void cancel_the_other(struct conf_link *link)
{
    struct conf_link *other = link->user;

    if (other->conn != NULL) {
        cancel_close(other);
    }
}

static void test_closing_another_connection_in_closed_is_allowed(void **state)
{
    struct conf_pair pair;
    struct conf_link *second;

    conf_pair_open(&pair, *state);
    second = conf_link_new(&pair.world->a);
    pair.door->links[1] = conf_link_new(&pair.world->b);
    conf_pair_wait(&pair);
    conf_link_dial(second, &pair.door->listener->address);
    conf_until(pair.world, conf_link_opened, second, CONF_LIMIT_NS);
    pair.a->user = second;
    pair.a->on_closed = cancel_the_other;
    cancel_close(pair.a);
    conf_until(pair.world, conf_link_closed, second, CONF_LIMIT_NS);
    conf_until(pair.world, conf_pair_closed, &pair, CONF_LIMIT_NS);
    conf_settle(pair.world);
    assert_int_equal(pair.a->closed, 1);
    assert_int_equal(second->closed, 1);
}

static void test_closing_twice_tells_the_first_reason_once(void **state)
{
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    CONF_CALL(pair.world, net_conn_close(pair.a->conn, OK, "first"));
    CONF_CALL(pair.world, net_conn_close(pair.a->conn, ERR_PEER, "second"));
    CONF_CALL(pair.world, net_conn_close_soft(pair.a->conn));
    assert_int_equal(conf_send(pair.a, NET_DATA, 10, 0), ERR_CLOSED);
    assert_int_equal(pair.a->closed, 0);
    conf_until(pair.world, conf_pair_closed, &pair, CONF_LIMIT_NS);
    conf_settle(pair.world);
    assert_int_equal(pair.a->why, OK);
    assert_string_equal(pair.a->text.text, "first");
    assert_int_equal(pair.a->closed, 1);
}

static void test_an_abandoned_connection_calls_nothing(void **state)
{
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    assert_int_equal(conf_send(pair.a, NET_DATA, 100000, 0), OK);
    CONF_CALL(pair.world, net_conn_abandon(pair.a->conn));
    pair.a->conn = NULL;
    conf_until(pair.world, conf_link_closed, pair.b, CONF_LIMIT_NS);
    assert_int_equal(pair.a->closed, 0);
    assert_int_equal(pair.b->why, ERR_CLOSED);
}

static void test_a_soft_close_delivers_what_was_queued(void **state)
{
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    /* The other end talks too: what it says is on its way while we leave. */
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(conf_send(pair.a, NET_DATA, 1024 * 1024, i), OK);
        assert_int_equal(conf_send(pair.b, NET_DATA, 1024 * 1024, i), OK);
    }
    CONF_CALL(pair.world, net_conn_close_soft(pair.a->conn));
    assert_int_equal(conf_send(pair.a, NET_DATA, 10, 0), ERR_CLOSED);
    while (pair.b->frames < 8) {
        assert_true(conf_step(pair.world, conf_now_ns(pair.world) + CONF_LIMIT_NS));
    }
    conf_until(pair.world, conf_link_closed, pair.a, CONF_LIMIT_NS);
    conf_until(pair.world, conf_link_closed, pair.b, CONF_LIMIT_NS);
    assert_int_equal(pair.a->why, OK);
    assert_int_equal(pair.b->why, ERR_CLOSED);
}

static void test_a_soft_close_towards_a_deaf_peer_ends(void **state)
{
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    CONF_CALL(pair.world, net_conn_pause(pair.b->conn, true));
    while (conf_send(pair.a, NET_DATA, 1024 * 1024, 0) == OK) {
        conf_settle(pair.world);
    }
    CONF_CALL(pair.world, net_conn_close_soft(pair.a->conn));
    conf_until(pair.world, conf_link_closed, pair.a, CONF_LIMIT_NS);
}

const struct CMUnitTest conf_cancel_tests[] = {
    CONF_TEST(test_a_dial_can_be_cancelled),
    CONF_TEST(test_a_dial_can_be_cancelled_at_every_step),
    CONF_TEST(test_a_dial_to_an_unknown_host_can_be_cancelled),
    CONF_TEST(test_closing_in_opened_is_allowed),
    CONF_TEST(test_closing_in_opened_of_the_accepted_end_is_allowed),
    CONF_TEST(test_closing_in_frame_is_allowed_and_no_frame_follows),
    CONF_TEST(test_an_error_from_frame_closes_with_that_error),
    CONF_TEST(test_closing_in_writable_is_allowed),
    CONF_TEST(test_closing_another_connection_in_closed_is_allowed),
    CONF_TEST(test_closing_twice_tells_the_first_reason_once),
    CONF_TEST(test_an_abandoned_connection_calls_nothing),
    CONF_TEST(test_a_soft_close_delivers_what_was_queued),
    CONF_TEST(test_a_soft_close_towards_a_deaf_peer_ends),
};
const size_t conf_cancel_count = sizeof(conf_cancel_tests) / sizeof(conf_cancel_tests[0]);
