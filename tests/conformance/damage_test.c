/* Streams that misbehave: fragments, flipped bits, resets in the middle of a frame. */

#include "suites.h"

#include "link.h"

/* Both sides behind faulty transports. */
struct damage {
    struct faulty_transport *a;
    struct faulty_transport *b;
    struct conf_pair pair;
};

static void damage_open(struct damage *d, struct conf_world *w)
{
    d->a = conf_faulty(&w->a);
    d->b = conf_faulty(&w->b);
    conf_pair_open(&d->pair, w);
}

/* Go back to what was before. */
static void damage_close(struct damage *d)
{
    struct conf_world *w = d->pair.world;

    d->pair.door->listener->ops->destroy(d->pair.door->listener);
    d->pair.door->listener = NULL;
    w->a.transport = d->a->inner;
    w->b.transport = d->b->inner;
}

static void damage_exchange(struct conf_pair *pair, const uint32_t *sizes, uint32_t count)
{
    uint64_t there = 0, back = 0;

    conf_pair_wait(pair);
    for (uint32_t i = 0; i < count; i++) {
        struct buf *body = conf_body(&pair->world->a, sizes[i], i);

        there = conf_hash_add(there, buf_bytes(body), sizes[i]);
        buf_unref(body);
        body = conf_body(&pair->world->b, sizes[i], i + 100);
        back = conf_hash_add(back, buf_bytes(body), sizes[i]);
        buf_unref(body);
        assert_int_equal(conf_send(pair->a, NET_DATA, sizes[i], i), OK);
        assert_int_equal(conf_send(pair->b, NET_DATA, sizes[i], i + 100), OK);
    }
    while (pair->a->frames < count || pair->b->frames < count) {
        assert_true(conf_step(pair->world, conf_now_ns(pair->world) + CONF_LIMIT_NS));
        assert_int_equal(pair->a->closed + pair->b->closed, 0);
    }
    assert_true(pair->b->hash == there);
    assert_true(pair->a->hash == back);
    conf_pair_close(pair);
}

static void test_frames_survive_reads_and_writes_of_one_byte(void **state)
{
    static const uint32_t sizes[] = {0, 1, 63, 64, 65, 2000, 2048, 0, 17, 33000, 5};
    struct damage d;

    damage_open(&d, *state);
    d.a->plan = d.b->plan = (struct faulty_plan){.read_max = 1, .write_max = 1};
    damage_exchange(&d.pair, sizes, sizeof(sizes) / sizeof(sizes[0]));
}

static void test_frames_survive_odd_fragments(void **state)
{
    static const uint32_t sizes[] = {0, 70000, 32768, 32705, 1, 256 * 1024, 4097, 0, 65536};
    struct damage d;

    damage_open(&d, *state);
    d.a->plan = (struct faulty_plan){.read_max = 61, .write_max = 4093};
    d.b->plan = (struct faulty_plan){.read_max = 127, .write_max = 63};
    damage_exchange(&d.pair, sizes, sizeof(sizes) / sizeof(sizes[0]));
}

/* Let the bit at byte @at of the second frame flip on the way from a to b. */
static void damage_flip(struct conf_world *w, uint64_t at, size_t size, enum err why,
                        enum wire_reason reason)
{
    struct damage d;
    struct obs_counter *counter = w->b.counters.refused[reason];
    uint64_t before = obs_counter_value(counter);

    damage_open(&d, w);
    d.a->plan.flip_at = WIRE_HEADER_BYTES + 10 + at + 1;
    conf_pair_wait(&d.pair);
    assert_int_equal(conf_send(d.pair.a, NET_DATA, 10, 0), OK);
    assert_int_equal(conf_send(d.pair.a, NET_DATA, size, 1), OK);
    assert_int_equal(conf_send(d.pair.a, NET_DATA, 10, 2), OK);
    conf_until(w, conf_pair_closed, &d.pair, CONF_LIMIT_NS);
    assert_int_equal(d.a->flips, 1);
    assert_int_equal(d.pair.b->frames, 1);
    assert_int_equal(d.pair.b->why, why);
    assert_int_equal(obs_counter_value(counter), before + 1);
    assert_string_equal(d.pair.b->text.text, wire_reason_name(reason));
    damage_close(&d);
}

static void test_a_bit_flipped_in_a_header_closes_and_is_counted(void **state)
{
    damage_flip(*state, 0, 100, ERR_MALFORMED, WIRE_REASON_MAGIC);
    for (uint64_t at = 4; at < WIRE_HEADER_BYTES; at += 4) {
        damage_flip(*state, at, 100, ERR_MALFORMED, WIRE_REASON_HEADER_CHECK);
    }
}

static void test_a_bit_flipped_in_a_body_closes_and_is_counted(void **state)
{
    damage_flip(*state, WIRE_HEADER_BYTES, 1, ERR_CORRUPT, WIRE_REASON_BODY_CHECK);
    damage_flip(*state, WIRE_HEADER_BYTES + 99, 100, ERR_CORRUPT, WIRE_REASON_BODY_CHECK);
    damage_flip(*state, WIRE_HEADER_BYTES + 20000, 40000, ERR_CORRUPT, WIRE_REASON_BODY_CHECK);
    damage_flip(*state, WIRE_HEADER_BYTES + 199999, 200000, ERR_CORRUPT, WIRE_REASON_BODY_CHECK);
}

/* a fails in the middle of a frame. */
static void damage_reset(struct conf_world *w, uint64_t at, size_t size)
{
    struct damage d;

    damage_open(&d, w);
    d.a->plan.reset_at = WIRE_HEADER_BYTES + 10 + at;
    conf_pair_wait(&d.pair);
    assert_int_equal(conf_send(d.pair.a, NET_DATA, 10, 0), OK);
    while (d.pair.b->frames == 0) {
        assert_true(conf_step(w, conf_now_ns(w) + CONF_LIMIT_NS));
    }
    assert_int_equal(conf_send(d.pair.a, NET_DATA, size, 1), OK);
    conf_until(w, conf_pair_closed, &d.pair, 2 * CONF_S);
    assert_int_equal(d.a->resets, 1);
    assert_int_equal(d.pair.b->frames, 1);
    assert_int_equal(d.pair.a->why, ERR_CLOSED);
    assert_int_equal(d.pair.b->why, ERR_CLOSED);
    damage_close(&d);
}

static void test_a_reset_in_the_middle_of_a_frame_closes_at_once(void **state)
{
    static const struct {
        uint64_t at;
        size_t size;
    } cases[] = {{1, 100},       {2, 100},       {63, 100},         {64, 100},
                 {65, 100},      {163, 100},     {64, 40000},       {65, 40000},
                 {20000, 40000}, {40063, 40000}, {100000, 4000000}, {4000063, 4000000}};
    struct buf_pool_stats stats;
    struct conf_world *w = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        damage_reset(w, cases[i].at, cases[i].size);
    }
    buf_pool_stats(w->b.pool, &stats);
    assert_int_equal(stats.buffers_used, 0);
}

static void test_a_raw_half_frame_and_a_reset_deliver_nothing(void **state)
{
    struct conf_world *w = *state;
    struct conf_link *link = conf_link_new(&w->b);
    struct conf_door *door = conf_door_open(&w->b);
    struct conf_raw *raw = conf_raw_new(&w->a);
    uint8_t body[1000] = {0}, frame[1200];
    size_t size = conf_encode(WIRE_CONTROL, body, sizeof(body), frame);

    door->links[0] = link;
    conf_raw_dial(raw, &door->listener->address);
    conf_until(w, conf_raw_opened, raw, CONF_LIMIT_NS);
    conf_until(w, conf_link_opened, link, CONF_LIMIT_NS);
    conf_raw_write(raw, frame, size / 2);
    conf_raw_end(raw, true);
    conf_until(w, conf_link_closed, link, 2 * CONF_S);
    assert_int_equal(link->frames, 0);
    assert_int_equal(link->why, ERR_CLOSED);
}

static void test_whole_frames_before_a_clean_end_are_delivered(void **state)
{
    struct conf_world *w = *state;
    struct conf_link *link = conf_link_new(&w->b);
    struct conf_door *door = conf_door_open(&w->b);
    struct conf_raw *raw = conf_raw_new(&w->a);
    uint8_t body[1000] = {0}, frame[1200];
    size_t size = conf_encode(WIRE_CONTROL, body, sizeof(body), frame);

    door->links[0] = link;
    conf_raw_dial(raw, &door->listener->address);
    conf_until(w, conf_raw_opened, raw, CONF_LIMIT_NS);
    for (int i = 0; i < 500; i++) {
        conf_raw_write(raw, frame, size);
    }
    conf_raw_end(raw, false);
    conf_until(w, conf_link_closed, link, 2 * CONF_S);
    assert_int_equal(link->frames, 500);
}

static void test_writing_to_a_peer_that_has_gone_is_an_error_and_no_signal(void **state)
{
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    CONF_CALL(pair.world, net_conn_pause(pair.a->conn, true)); /* It does not hear the end. */
    CONF_CALL(pair.world, net_conn_close(pair.b->conn, OK, NULL));
    conf_until(pair.world, conf_link_closed, pair.b, CONF_LIMIT_NS);
    while (pair.a->conn != NULL) {
        (void)conf_send(pair.a, NET_DATA, 100, 0);
        conf_settle(pair.world);
    }
    assert_int_equal(pair.a->why, ERR_CLOSED);
}

static void test_a_stalled_peer_is_found_by_its_silence(void **state)
{
    struct conf_world *w = *state;
    struct damage d;

    damage_open(&d, w);
    d.b->plan.stall_at = 1;
    d.pair.a->heartbeat_ns = w->carrier->simulated ? CONF_S : 50 * CONF_MS;
    conf_pair_wait(&d.pair);
    assert_int_equal(conf_send(d.pair.a, NET_DATA, 1000, 0), OK);
    conf_until(d.pair.world, conf_link_closed, d.pair.a, CONF_LIMIT_NS);
    assert_int_equal(d.pair.a->why, ERR_TIMEOUT);
    assert_int_equal(d.pair.b->frames, 0);
}

const struct CMUnitTest conf_damage_tests[] = {
    CONF_TEST(test_frames_survive_reads_and_writes_of_one_byte),
    CONF_TEST(test_frames_survive_odd_fragments),
    CONF_TEST(test_a_bit_flipped_in_a_header_closes_and_is_counted),
    CONF_TEST(test_a_bit_flipped_in_a_body_closes_and_is_counted),
    CONF_TEST(test_a_reset_in_the_middle_of_a_frame_closes_at_once),
    CONF_TEST(test_a_raw_half_frame_and_a_reset_deliver_nothing),
    CONF_TEST(test_whole_frames_before_a_clean_end_are_delivered),
    CONF_TEST(test_writing_to_a_peer_that_has_gone_is_an_error_and_no_signal),
    CONF_TEST(test_a_stalled_peer_is_found_by_its_silence),
};
const size_t conf_damage_count = sizeof(conf_damage_tests) / sizeof(conf_damage_tests[0]);
