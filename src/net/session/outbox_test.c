/* The outbox: its limits, and thousands of random steps beside a naive list that never forgets. */

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "net/session/outbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { FRAMES_MAX = 50, BYTES_MAX = 6000, SLOTS = 3, STEPS = 20000, SEEDS = 6, OLD_ACKS = 4 };

/* A frame that was ever added; number i is at index i. */
struct model_frame {
    struct buf *body;
    uint32_t body_bytes;
    uint8_t slot;
    uint8_t priority;
    uint64_t clock;
    bool sent;     /* Ever. */
    bool on_wire;  /* On the connection that its slot has now. */
    bool received; /* The other end said so when it connected. */
    bool resent;
    bool acked;
    bool reported;
};

static struct {
    struct net_outbox box;
    struct buf_pool *pool;
    struct rng rng;
    struct model_frame frames[STEPS + 1];
    uint64_t last; /* Number of the last frame added. */
    uint64_t base; /* Everything up to here is acknowledged. */
    bool attached[SLOTS];
    struct net_window received; /* What the other end holds. */
    struct net_window acked;    /* What it has acknowledged, or will. */
    struct wire_window old[OLD_ACKS];
    bool reports;
    bool draining; /* The owner adds no more. */
} m;

static struct buf *take_body(struct buf_pool *pool, uint32_t bytes)
{
    struct buf *body = NULL;

    if (bytes > 0) {
        assert_int_equal(buf_take(pool, 0, bytes, &body), OK);
        memset(buf_append(body, bytes), (int)bytes, bytes);
    }
    return body;
}

static uint64_t bodies_held(struct buf_pool *pool)
{
    struct buf_pool_stats stats;

    buf_pool_stats(pool, &stats);
    return stats.buffers_used;
}

static void model_begin(uint64_t seed, bool reports)
{
    memset(&m, 0, sizeof(m));
    m.reports = reports;
    rng_init(&m.rng, seed);
    assert_int_equal(buf_pool_create(1 << 20, &m.pool), OK);
    net_outbox_init(&m.box, FRAMES_MAX, BYTES_MAX);
    if (reports) {
        net_outbox_want_reports(&m.box);
    }
    net_window_init(&m.received, 0);
    net_window_init(&m.acked, 0);
}

static uint64_t model_bytes(void)
{
    uint64_t bytes = 0;

    for (uint64_t s = m.base + 1; s <= m.last; s++) {
        bytes += m.frames[s].acked ? 0 : WIRE_HEADER_BYTES + m.frames[s].body_bytes;
    }
    return bytes;
}

static bool is_of_an_odd_chunk(const struct wire_header *header)
{
    return header->chunk % 2 == 1;
}

static void model_compare_clocks(void)
{
    uint64_t after = m.base + rng_below(&m.rng, 4);
    uint64_t min = UINT64_MAX;

    for (uint64_t s = m.base + 1; s <= m.last; s++) {
        if (s > after && !m.frames[s].acked && s % 2 == 1 && m.frames[s].clock < min) {
            min = m.frames[s].clock;
        }
    }
    assert_int_equal(net_outbox_clock_min(&m.box, after, is_of_an_odd_chunk), min);
}

/* Everything that can be asked, and that each body is held exactly until it is acknowledged. */
static void model_compare(void)
{
    uint64_t bodies = 0;

    for (uint64_t s = m.base + 1; s <= m.last; s++) {
        bodies += !m.frames[s].acked && m.frames[s].body != NULL;
    }
    assert_int_equal(net_outbox_base(&m.box), m.base);
    assert_int_equal(net_outbox_frames(&m.box), m.last - m.base);
    assert_int_equal(net_outbox_bytes(&m.box), model_bytes());
    assert_int_equal(net_outbox_roomy(&m.box),
                     m.last - m.base <= FRAMES_MAX / 2 && model_bytes() <= BYTES_MAX / 2);
    assert_int_equal(bodies_held(m.pool), bodies);
    model_compare_clocks();
}

static void model_add(void)
{
    struct model_frame f = {
        .body_bytes = (uint32_t)(rng_chance(&m.rng, 200000) ? 0 : rng_below(&m.rng, 200)),
        .slot = (uint8_t)rng_below(&m.rng, SLOTS),
        .priority = (uint8_t)rng_below(&m.rng, NET_PRIORITIES),
        .clock = rng_below(&m.rng, 50),
    };
    struct wire_header header = {
        .body_bytes = f.body_bytes, .chunk = (uint32_t)m.last + 1, .clock = f.clock};
    bool full = m.last - m.base >= FRAMES_MAX ||
                model_bytes() + WIRE_HEADER_BYTES + f.body_bytes > BYTES_MAX;
    enum err rc;

    f.body = take_body(m.pool, f.body_bytes);
    rc = net_outbox_add(&m.box, f.slot, (enum net_priority)f.priority, &header, f.body);
    assert_int_equal(rc, full ? ERR_AGAIN : OK);
    if (full) {
        assert_int_equal(header.sequence, 0);
        buf_unref(f.body);
        return;
    }
    m.frames[++m.last] = f;
    assert_int_equal(header.sequence, m.last);
}

/* The first that its slot still has to send, or zero. */
static uint64_t model_next(uint8_t slot, uint8_t priority)
{
    for (uint64_t s = m.base + 1; m.attached[slot] && s <= m.last; s++) {
        const struct model_frame *f = &m.frames[s];

        if (f->slot == slot && f->priority == priority && !f->acked && !f->received &&
            !f->on_wire) {
            return s;
        }
    }
    return 0;
}

static void model_send(void)
{
    uint8_t slot = (uint8_t)rng_below(&m.rng, SLOTS);
    uint8_t priority = (uint8_t)rng_below(&m.rng, NET_PRIORITIES);
    uint64_t s = model_next(slot, priority);
    struct net_outbox_entry *e = net_outbox_peek(&m.box, slot, (enum net_priority)priority);
    struct model_frame *f = &m.frames[s];

    if (s == 0) {
        assert_null(e);
        return;
    }
    assert_non_null(e);
    assert_ptr_equal(net_outbox_peek(&m.box, slot, (enum net_priority)priority), e);
    assert_int_equal(e->header.sequence, s);
    assert_int_equal(e->header.chunk, s);
    assert_int_equal(e->header.body_bytes, f->body_bytes);
    assert_ptr_equal(e->body, f->body);
    assert_int_equal((e->header.flags & WIRE_FLAG_RESENT) != 0, f->resent);
    if (rng_chance(&m.rng, 900000)) {
        net_outbox_sent(&m.box, e);
        f->sent = f->on_wire = true;
        if (rng_chance(&m.rng, 700000)) {
            (void)net_window_add(&m.received, s);
        }
    }
}

static void model_attach(void)
{
    uint8_t slot = (uint8_t)rng_below(&m.rng, SLOTS);
    uint32_t again = 0;

    if (m.attached[slot] && rng_chance(&m.rng, 500000)) {
        net_outbox_detach(&m.box, slot);
        m.attached[slot] = false;
        return;
    }
    m.attached[slot] = true;
    for (uint64_t s = m.base + 1; s <= m.last; s++) {
        struct model_frame *f = &m.frames[s];

        if (f->slot == slot && !f->acked) {
            f->on_wire = false;
            f->received = net_window_judge(&m.received, s) == NET_WINDOW_DUPLICATE;
            if (f->sent && !f->received) {
                f->resent = true;
                again++;
            }
        }
    }
    assert_int_equal(net_outbox_attach(&m.box, slot, &m.received), again);
}

/* The next frame that the owner must be told of, or zero. */
static uint64_t model_report_next(void)
{
    for (uint64_t s = m.base + 1; m.reports && s <= m.last; s++) {
        if (m.frames[s].acked && !m.frames[s].reported) {
            return s;
        }
    }
    return 0;
}

static void model_advance(void)
{
    while (m.base < m.last && m.frames[m.base + 1].acked &&
           (!m.reports || m.frames[m.base + 1].reported)) {
        m.base++;
    }
}

/* Each frame is told of once, in order, with its header; the owner adds more in between. */
static void model_report(void)
{
    struct wire_header header;
    uint64_t s;

    while ((s = model_report_next()) != 0) {
        assert_true(net_outbox_report(&m.box, &header));
        assert_int_equal(header.sequence, s);
        assert_int_equal(header.chunk, s);
        assert_int_equal(header.body_bytes, m.frames[s].body_bytes);
        m.frames[s].reported = true;
        model_advance();
        model_compare();
        while (!m.draining && m.last < STEPS && rng_chance(&m.rng, 300000)) {
            model_add();
        }
    }
    assert_false(net_outbox_report(&m.box, &header));
    assert_false(net_outbox_report(&m.box, &header));
}

static void model_take_ack(const struct wire_window *acked)
{
    assert_int_equal(net_outbox_ack(&m.box, acked), OK);
    for (uint64_t s = m.base + 1; s <= m.last; s++) {
        uint64_t i = s - acked->base - 1;

        m.frames[s].acked = m.frames[s].acked || s <= acked->base ||
                            (i < LIMIT_WINDOW_FRAMES && ((acked->bits[i / 64] >> (i % 64)) & 1));
    }
    model_advance();
    model_report();
}

/* The other end acknowledges some of what it holds, in any order; or an old ack comes late. */
static void model_ack(void)
{
    struct wire_window *old = &m.old[rng_below(&m.rng, OLD_ACKS)];

    if (rng_chance(&m.rng, 300000)) {
        model_take_ack(old);
        return;
    }
    for (uint64_t s = m.base + 1; s <= m.last; s++) {
        if (net_window_judge(&m.received, s) == NET_WINDOW_DUPLICATE &&
            rng_chance(&m.rng, 400000)) {
            (void)net_window_add(&m.acked, s);
        }
    }
    net_window_to_wire(&m.acked, old);
    if (rng_chance(&m.rng, 700000)) {
        model_take_ack(old);
    }
}

/* An ack for something that was never sent changes nothing, whatever else it says. */
static void model_lie(void)
{
    struct wire_window lie;
    uint64_t s = m.base + 1;

    while (s <= m.last && m.frames[s].sent) {
        s++;
    }
    net_window_to_wire(&m.received, &lie);
    if (rng_chance(&m.rng, 500000) && s - lie.base - 1 < LIMIT_WINDOW_FRAMES) {
        lie.bits[(s - lie.base - 1) / 64] |= (uint64_t)1 << ((s - lie.base - 1) % 64);
    } else {
        lie.base = rng_chance(&m.rng, 100000) ? UINT64_MAX : s + rng_below(&m.rng, 3);
    }
    assert_int_equal(net_outbox_ack(&m.box, &lie), ERR_PEER);
}

/* With both ends willing, all that is left goes through. */
static void model_drain(void)
{
    m.draining = true;
    for (uint64_t s = m.base + 1; s <= m.last; s++) {
        (void)net_window_add(&m.acked, s);
    }
    for (uint8_t slot = 0; slot < SLOTS; slot++) {
        (void)net_outbox_attach(&m.box, slot, &m.received);
        for (int p = 0; p < NET_PRIORITIES; p++) {
            struct net_outbox_entry *e;

            while ((e = net_outbox_peek(&m.box, slot, (enum net_priority)p)) != NULL) {
                net_outbox_sent(&m.box, e);
            }
        }
    }
    net_window_to_wire(&m.acked, &m.old[0]);
    model_take_ack(&m.old[0]);
    assert_int_equal(net_outbox_frames(&m.box), 0);
}

static void run_random_steps(bool reports)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        model_begin(seed, reports);
        for (int step = 0; step < STEPS; step++) {
            uint64_t dice = rng_below(&m.rng, 100);

            if (dice < 40 && m.last < STEPS) {
                model_add();
            } else if (dice < 80) {
                model_send();
            } else if (dice < 84) {
                model_attach();
            } else if (dice < 97) {
                model_ack();
            } else {
                model_lie();
            }
            model_compare();
        }
        assert_true(m.base > STEPS / 20);
        if (seed % 2 == 0) {
            model_drain();
            assert_int_equal(bodies_held(m.pool), 0);
        }
        net_outbox_deinit(&m.box);
        assert_int_equal(bodies_held(m.pool), 0);
        buf_pool_destroy(m.pool);
    }
}

static void test_random_steps_agree_with_a_naive_list(void **state)
{
    (void)state;
    run_random_steps(false);
}

static void test_every_acknowledged_frame_is_reported_once(void **state)
{
    (void)state;
    run_random_steps(true);
}

static enum err add_plain(struct net_outbox *o, uint32_t body_bytes, struct buf *body)
{
    struct wire_header header = {.body_bytes = body_bytes};

    return net_outbox_add(o, 0, NET_DATA, &header, body);
}

static void attach_fresh(struct net_outbox *o, uint8_t slot)
{
    struct net_window nothing;

    net_window_init(&nothing, 0);
    assert_int_equal(net_outbox_attach(o, slot, &nothing), 0);
}

static void send_all(struct net_outbox *o)
{
    struct net_outbox_entry *e;

    while ((e = net_outbox_peek(o, 0, NET_DATA)) != NULL) {
        net_outbox_sent(o, e);
    }
}

static void test_frames_are_limited_exactly(void **state)
{
    static const uint32_t limits[] = {1, 2, 15, 16, 17, 20, 100, LIMIT_WINDOW_FRAMES};

    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct wire_window acked = {0};
        struct net_outbox o;

        net_outbox_init(&o, limits[i], UINT64_MAX / 2);
        attach_fresh(&o, 0);
        for (int round = 0; round < 3; round++) {
            for (uint32_t n = 0; n < limits[i]; n++) {
                assert_int_equal(add_plain(&o, 0, NULL), OK);
            }
            assert_int_equal(add_plain(&o, 0, NULL), ERR_AGAIN);
            assert_false(net_outbox_roomy(&o));
            send_all(&o);
            /* All but the first: the window cannot move. */
            if (limits[i] > 1) {
                acked.bits[0] = 2;
                assert_int_equal(net_outbox_ack(&o, &acked), OK);
                assert_int_equal(add_plain(&o, 0, NULL), ERR_AGAIN);
            }
            acked.base += limits[i];
            acked.bits[0] = 0;
            assert_int_equal(net_outbox_ack(&o, &acked), OK);
            assert_true(net_outbox_roomy(&o));
        }
        net_outbox_deinit(&o);
    }
}

static void test_bytes_are_limited_exactly(void **state)
{
    enum { BODY = 36, EACH = WIRE_HEADER_BYTES + BODY };
    struct wire_window acked = {.base = 0};
    struct buf_pool *pool;
    struct net_outbox o;
    struct buf *body;

    (void)state;
    assert_int_equal(buf_pool_create(1 << 20, &pool), OK);
    net_outbox_init(&o, 100, 3 * EACH);
    attach_fresh(&o, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(add_plain(&o, BODY, take_body(pool, BODY)), OK);
    }
    assert_int_equal(net_outbox_bytes(&o), 3 * EACH);
    body = take_body(pool, BODY);
    assert_int_equal(add_plain(&o, BODY, body), ERR_AGAIN);
    assert_int_equal(add_plain(&o, 0, NULL), ERR_AGAIN);
    send_all(&o);
    /* Bytes are free as soon as a frame is acknowledged, also behind a gap. */
    acked.bits[0] = 2;
    assert_int_equal(net_outbox_ack(&o, &acked), OK);
    assert_int_equal(net_outbox_bytes(&o), 2 * EACH);
    assert_int_equal(add_plain(&o, BODY, body), OK);
    assert_int_equal(add_plain(&o, 0, NULL), ERR_AGAIN);
    net_outbox_deinit(&o);
    assert_int_equal(bodies_held(pool), 0);
    buf_pool_destroy(pool);
}

static void test_an_ack_of_what_was_not_sent_is_the_peers_fault(void **state)
{
    struct wire_window acked = {.base = 3};
    struct net_outbox o;

    (void)state;
    net_outbox_init(&o, 100, 100000);
    assert_int_equal(net_outbox_ack(&o, &acked), ERR_PEER);
    attach_fresh(&o, 0);
    assert_int_equal(add_plain(&o, 0, NULL), OK);
    assert_int_equal(add_plain(&o, 0, NULL), OK);
    send_all(&o);
    assert_int_equal(add_plain(&o, 0, NULL), OK);
    assert_int_equal(net_outbox_ack(&o, &acked), ERR_PEER); /* Three was added, but not sent. */
    acked.base = 0;
    acked.bits[0] = 1 | 4;
    assert_int_equal(net_outbox_ack(&o, &acked), ERR_PEER);
    acked.bits[0] = 0;
    acked.bits[WIRE_WINDOW_WORDS - 1] = (uint64_t)1 << 63;
    assert_int_equal(net_outbox_ack(&o, &acked), ERR_PEER);
    assert_int_equal(net_outbox_frames(&o), 3);
    assert_int_equal(net_outbox_base(&o), 0);
    send_all(&o);
    memset(&acked, 0, sizeof(acked));
    acked.base = 3;
    assert_int_equal(net_outbox_ack(&o, &acked), OK);
    assert_int_equal(net_outbox_ack(&o, &acked), OK);
    assert_int_equal(net_outbox_frames(&o), 0);
    net_outbox_deinit(&o);
}

static void test_a_frame_that_was_never_sent_is_sent_whatever_the_peer_says(void **state)
{
    struct net_window boast;
    struct net_outbox o;

    (void)state;
    net_outbox_init(&o, 100, 100000);
    assert_int_equal(add_plain(&o, 0, NULL), OK);
    net_window_init(&boast, 1000);
    assert_int_equal(net_outbox_attach(&o, 0, &boast), 0);
    assert_non_null(net_outbox_peek(&o, 0, NET_DATA));
    assert_null(net_outbox_peek(&o, 0, NET_CONTROL));
    assert_null(net_outbox_peek(&o, 1, NET_DATA));
    net_outbox_detach(&o, 0);
    assert_null(net_outbox_peek(&o, 0, NET_DATA));
    net_outbox_deinit(&o);
}

static void test_a_shared_body_loses_one_reference(void **state)
{
    struct wire_window acked = {.base = 1};
    struct buf_pool *pool;
    struct net_outbox o;
    struct buf *body;

    (void)state;
    assert_int_equal(buf_pool_create(1 << 20, &pool), OK);
    net_outbox_init(&o, 100, 100000);
    attach_fresh(&o, 0);
    body = take_body(pool, 10);
    assert_int_equal(add_plain(&o, 10, buf_ref(body)), OK);
    assert_int_equal(add_plain(&o, 10, buf_ref(body)), OK);
    send_all(&o);
    assert_int_equal(net_outbox_ack(&o, &acked), OK);
    assert_int_equal(net_outbox_ack(&o, &acked), OK);
    assert_false(buf_unique(body));
    net_outbox_deinit(&o);
    assert_true(buf_unique(body));
    buf_unref(body);
    assert_int_equal(bodies_held(pool), 0);
    buf_pool_destroy(pool);
}

/* Add frames while allocation number @k of the outbox fails; returns false if there was none. */
static bool grow_with_failure(struct buf_pool *pool, uint64_t k)
{
    enum { FRAMES = 300 };
    struct mem_plan plan = {.countdown = k, .fail_count = 1};
    bool failed = false;
    struct net_outbox o;

    net_outbox_init(&o, FRAMES, 1000000);
    attach_fresh(&o, 0);
    for (uint64_t s = 1; s <= FRAMES; s++) {
        struct buf *body = take_body(pool, 5);
        enum err rc;

        mem_fail_resume(plan);
        rc = add_plain(&o, 5, body);
        plan = mem_fail_suspend();
        if (rc != OK) {
            assert_int_equal(rc, ERR_NOMEM);
            assert_int_equal(net_outbox_frames(&o), s - 1);
            assert_int_equal(net_outbox_bytes(&o), (s - 1) * (WIRE_HEADER_BYTES + 5));
            failed = true;
            assert_int_equal(add_plain(&o, 5, body), OK);
        }
    }
    for (uint64_t s = 1; s <= FRAMES; s++) {
        struct net_outbox_entry *e = net_outbox_peek(&o, 0, NET_DATA);

        assert_int_equal(e->header.sequence, s);
        net_outbox_sent(&o, e);
    }
    net_outbox_deinit(&o);
    assert_int_equal(bodies_held(pool), 0);
    return failed;
}

static void test_growth_without_memory_changes_nothing(void **state)
{
    struct buf_pool *pool;
    uint64_t k = 1;

    (void)state;
    assert_int_equal(buf_pool_create(1 << 20, &pool), OK);
    while (grow_with_failure(pool, k)) {
        k++;
        assert_true(k < 20);
    }
    assert_true(k > 3);
    buf_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_steps_agree_with_a_naive_list),
        cmocka_unit_test(test_every_acknowledged_frame_is_reported_once),
        cmocka_unit_test(test_frames_are_limited_exactly),
        cmocka_unit_test(test_bytes_are_limited_exactly),
        cmocka_unit_test(test_an_ack_of_what_was_not_sent_is_the_peers_fault),
        cmocka_unit_test(test_a_frame_that_was_never_sent_is_sent_whatever_the_peer_says),
        cmocka_unit_test(test_a_shared_body_loses_one_reference),
        cmocka_unit_test(test_growth_without_memory_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
