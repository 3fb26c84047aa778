/* Opening, refusing, and frames both ways: what every carrier does when nothing goes wrong. */

#include "suites.h"

#include "link.h"
#include "wire/broadcast.h"
#include "wire/push.h"

static void test_a_connection_opens_at_both_ends(void **state)
{
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    assert_int_equal(pair.a->opened, 1);
    assert_int_equal(pair.b->opened, 1);
    if (pair.world->carrier->authenticated) {
        const struct net_stream *s = net_conn_stream(pair.b->conn);

        assert_true(s->authenticated);
        assert_true(pki_identity_equal(&s->identity, &pair.world->a.identity));
        s = net_conn_stream(pair.a->conn);
        assert_true(pki_identity_equal(&s->identity, &pair.world->b.identity));
    }
    conf_pair_close(&pair);
}

static void test_nobody_listening_is_unreachable(void **state)
{
    struct conf_world *w = *state;
    struct conf_link *link = conf_link_new(&w->a);

    conf_link_dial(link, &w->closed);
    conf_until(w, conf_link_closed, link, CONF_LIMIT_NS);
    assert_int_equal(link->why, ERR_UNREACHABLE);
    assert_int_equal(link->opened, 0);
}

static void test_a_closed_listener_is_unreachable(void **state)
{
    struct conf_pair pair;
    struct net_address address;

    conf_pair_open(&pair, *state);
    address = pair.door->listener->address;
    pair.door->listener->ops->destroy(pair.door->listener);
    pair.door->listener = NULL;
    conf_link_dial(pair.a, &address);
    conf_until(pair.world, conf_link_closed, pair.a, CONF_LIMIT_NS);
    assert_int_equal(pair.a->why, ERR_UNREACHABLE);
}

static void test_an_unknown_host_is_unreachable(void **state)
{
    struct conf_world *w = *state;
    struct conf_link *link = conf_link_new(&w->a);
    struct net_address nobody = w->closed;

    if (nobody.scheme != NET_SCHEME_UNIX) {
        strcpy(nobody.host, "no-such-host.invalid");
    }
    conf_link_dial(link, &nobody);
    conf_until(w, conf_link_closed, link, CONF_LIMIT_NS);
    assert_int_equal(link->why, ERR_UNREACHABLE);
}

/* Send frames with bodies of these sizes from one link to the other, one after the other. */
static void exchange_sizes(struct conf_pair *pair, struct conf_link *from, struct conf_link *to,
                           const uint32_t *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct buf *body = conf_body(from->side, sizes[i], i);
        uint32_t frames = to->frames;
        uint64_t hash = conf_hash_add(to->hash, buf_bytes(body), sizes[i]);

        buf_unref(body);
        assert_int_equal(conf_send(from, NET_DATA, sizes[i], i), OK);
        while (to->frames == frames) {
            assert_true(conf_step(pair->world, conf_now_ns(pair->world) + CONF_LIMIT_NS));
        }
        assert_int_equal(to->frames, frames + 1);
        assert_true(to->hash == hash);
    }
}

static void test_frames_of_all_sizes_arrive_both_ways(void **state)
{
    static const uint32_t sizes[] = {
        0,     1,          2,      63,          64,          65,    1983,  1984,       1985,
        2047,  2048,       2049,   16383,       16384,       16385, 32703, 32704,      32705,
        32767, 32768,      32769,  65471,       65472,       65473, 65535, 65536,      65537,
        70000, 256 * 1024, 262145, 4096 * 1023, 4096 * 1024, 3,     0,     4096 * 1024};
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    exchange_sizes(&pair, pair.a, pair.b, sizes, sizeof(sizes) / sizeof(sizes[0]));
    exchange_sizes(&pair, pair.b, pair.a, sizes, sizeof(sizes) / sizeof(sizes[0]));
    conf_pair_close(&pair);
}

static void test_frames_of_every_small_size_arrive_in_one_go(void **state)
{
    struct conf_pair pair;
    uint64_t hash = 0;
    uint32_t sent = 0;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    for (uint32_t size = 0; size < 70000; size += size < 300 ? 1 : 997) {
        struct buf *body = conf_body(&pair.world->a, size, size);
        enum err rc;

        hash = conf_hash_add(hash, buf_bytes(body), size);
        buf_unref(body);
        while ((rc = conf_send(pair.a, NET_DATA, size, size)) == ERR_AGAIN) {
            (void)conf_step(pair.world, conf_now_ns(pair.world) + CONF_S);
        }
        assert_int_equal(rc, OK);
        sent++;
    }
    while (pair.b->frames < sent) {
        assert_true(conf_step(pair.world, conf_now_ns(pair.world) + CONF_LIMIT_NS));
    }
    assert_true(pair.b->hash == hash);
    conf_pair_close(&pair);
}

/* A sender that keeps the queue full. */
struct exchange_flow {
    uint32_t size;
    uint64_t left;
    uint64_t sent;
    uint64_t hash;
    uint64_t bytes_used_max;
};

static void exchange_pump(struct conf_link *link, enum net_priority priority)
{
    struct exchange_flow *flow = link->user;

    for (; flow->left > 0; flow->left--) {
        struct buf *body = conf_body(link->side, flow->size, flow->sent);
        struct wire_header header;
        uint64_t hash;

        if (body == NULL) {
            fail_msg("the pool is empty");
        }
        hash = conf_hash_add(flow->hash, buf_bytes(body), flow->size);
        header = conf_header(conf_data_type(link->side), body);
        header.clock = flow->sent;
        if (net_conn_send(link->conn, priority, &header, body) != OK) {
            buf_unref(body);
            return;
        }
        flow->hash = hash;
        flow->sent++;
    }
}

static enum err exchange_in_order(struct conf_link *link, const struct net_frame *frame)
{
    assert_int_equal(frame->header.clock, link->frames - 1);
    return OK;
}

static void exchange_stream(struct conf_pair *pair, struct exchange_flow *flow)
{
    uint32_t before = pair->b->frames;
    uint64_t hash = pair->b->hash;
    struct buf_pool_stats stats;

    flow->hash = hash;
    flow->sent = before;
    pair->a->user = flow;
    pair->a->on_writable = exchange_pump;
    pair->b->on_frame = exchange_in_order;
    exchange_pump(pair->a, NET_DATA);
    while (flow->left > 0 || pair->b->frames < flow->sent) {
        assert_true(conf_step(pair->world, conf_now_ns(pair->world) + CONF_LIMIT_NS));
    }
    assert_true(pair->b->hash == flow->hash);
    buf_pool_stats(pair->world->a.pool, &stats);
    /* The queue, and what the sender was about to add. */
    assert_true(stats.bytes_used_max <= LIMIT_SEND_QUEUE_BYTES + 2 * BUF_BYTES_MAX);
    buf_pool_stats(pair->world->b.pool, &stats);
    assert_true(stats.bytes_used_max <= 2 * BUF_BYTES_MAX + 128 * 1024);
}

static void test_a_huge_transfer_arrives_in_bounded_memory(void **state)
{
    struct exchange_flow small = {.size = 256 * 1024, .left = 256};
    struct exchange_flow large = {.size = 4 * 1024 * 1024, .left = 16};
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    exchange_stream(&pair, &small);
    exchange_stream(&pair, &large);
    assert_int_equal(pair.b->bytes, 128 * 1024 * 1024);
    conf_pair_close(&pair);
}

static void test_many_small_frames_arrive_in_order(void **state)
{
    struct exchange_flow flow = {.size = 24, .left = 100000};
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    exchange_stream(&pair, &flow);
    conf_pair_close(&pair);
}

static void test_frames_sent_before_opening_arrive(void **state)
{
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    conf_link_dial(pair.a, &pair.door->listener->address);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(conf_send(pair.a, NET_DATA, i * 1000, i), OK);
    }
    conf_until(pair.world, conf_pair_opened, &pair, CONF_LIMIT_NS);
    while (pair.b->frames < 10) {
        assert_true(conf_step(pair.world, conf_now_ns(pair.world) + CONF_LIMIT_NS));
    }
    conf_pair_close(&pair);
}

/* A server: keeps the first push of a round as its accumulator. */
static enum err exchange_keep(struct conf_link *link, const struct net_frame *frame)
{
    struct buf *kept;

    assert_int_equal(frame->header.type, WIRE_PUSH);
    assert_int_equal(net_frame_keep(frame, link->side->pool, &kept), OK);
    *(struct buf **)link->user = kept;
    return OK;
}

static enum err exchange_take_broadcast(struct conf_link *link, const struct net_frame *frame)
{
    struct wire_broadcast *out = link->user;
    enum err rc = wire_broadcast_decode(&frame->header, frame->body, frame->header.body_bytes, out);

    assert_int_equal(rc, OK);
    assert_int_equal(out->member_count, WIRE_MEMBERS_MAX);
    assert_int_equal(wire_member(out->members, WIRE_MEMBERS_MAX - 1).rank, WIRE_MEMBERS_MAX - 1);
    for (uint32_t i = 0; i < out->chunk.payload_bytes; i++) {
        assert_int_equal(out->chunk.payload[i], (uint8_t)(i * 7));
    }
    return OK;
}

static void exchange_push(struct conf_pair *pair, uint32_t payload_bytes)
{
    struct wire_push push = {.chunk = {.weight = 1, .clock = 1}, .id = {1, 1}};
    uint32_t before = pair->b->frames;
    struct buf *frame;
    enum err rc;

    assert_int_equal(wire_chunk_take(pair->world->a.pool, payload_bytes, &frame), OK);
    for (uint32_t i = 0; i < payload_bytes; i++) {
        buf_bytes(frame)[i] = (uint8_t)(i * 7);
    }
    wire_push_seal(frame, &push);
    CONF_CALL(pair->world, rc = net_conn_send_sealed(pair->a->conn, NET_DATA, frame));
    assert_int_equal(rc, OK);
    while (pair->b->frames == before) {
        assert_true(conf_step(pair->world, conf_now_ns(pair->world) + CONF_LIMIT_NS));
    }
}

/* With the longest list of members, and without a buffer of the next larger class. */
static void exchange_round(struct conf_pair *pair, uint32_t payload_bytes)
{
    struct wire_member members[WIRE_MEMBERS_MAX];
    struct wire_broadcast back = {{.weight = 1, .clock = 1}, WIRE_MEMBERS_MAX, members};
    uint32_t before = pair->a->frames;
    struct wire_broadcast out;
    struct buf *kept = NULL;
    enum err rc;

    for (uint32_t i = 0; i < WIRE_MEMBERS_MAX; i++) {
        members[i] = (struct wire_member){i, i};
    }
    pair->b->user = &kept;
    pair->a->user = &out;
    exchange_push(pair, payload_bytes);
    assert_true(buf_unique(kept));
    buf_truncate(kept, payload_bytes);
    assert_true(payload_bytes < LIMIT_CHUNK_BYTES || buf_tailroom(kept) < 4096);
    wire_broadcast_seal(kept, &back);
    CONF_CALL(pair->world, rc = net_conn_send_sealed(pair->b->conn, NET_DATA, kept));
    assert_int_equal(rc, OK);
    while (pair->a->frames == before) {
        assert_true(conf_step(pair->world, conf_now_ns(pair->world) + CONF_LIMIT_NS));
    }
    assert_int_equal(out.chunk.payload_bytes, payload_bytes);
}

static void test_a_push_becomes_a_broadcast_in_the_buffer_it_came_in(void **state)
{
    /* Some of them would just fill a buffer of their class. */
    static const uint32_t sizes[] = {4, 1968, 16304, 32768, 40000, 69552, LIMIT_CHUNK_BYTES};
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    pair.b->on_frame = exchange_keep;
    pair.a->on_frame = exchange_take_broadcast;
    conf_pair_wait(&pair);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        exchange_round(&pair, sizes[i]);
    }
    conf_pair_close(&pair);
}

const struct CMUnitTest conf_exchange_tests[] = {
    CONF_TEST(test_a_connection_opens_at_both_ends),
    CONF_TEST(test_nobody_listening_is_unreachable),
    CONF_TEST(test_a_closed_listener_is_unreachable),
    CONF_TEST(test_an_unknown_host_is_unreachable),
    CONF_TEST(test_frames_of_all_sizes_arrive_both_ways),
    CONF_TEST(test_frames_of_every_small_size_arrive_in_one_go),
    CONF_TEST(test_frames_sent_before_opening_arrive),
    CONF_TEST(test_a_push_becomes_a_broadcast_in_the_buffer_it_came_in),
    CONF_TEST(test_a_huge_transfer_arrives_in_bounded_memory),
    CONF_TEST(test_many_small_frames_arrive_in_order),
};
const size_t conf_exchange_count = sizeof(conf_exchange_tests) / sizeof(conf_exchange_tests[0]);
