/* Memory that runs out: for every k the k-th allocation fails once, during set-up and exchange.
 * Nothing may crash or leak, and what could be set up must work in the end. */

#include "suites.h"

#include "base/mem.h"
#include "link.h"
#include "node.h"

enum { MEMORY_FRAMES = 40, MEMORY_K_MAX = 2000, MEMORY_K_SIM = 150 };

struct memory {
    struct conf_session session;
    uint32_t sent_a;
    uint32_t sent_b;
};

static void memory_pump(struct conf_node *node, uint32_t *sent)
{
    while (node->peer != NULL && *sent < MEMORY_FRAMES) {
        if (conf_node_send(node, NET_DATA, *sent, *sent, *sent * 2000) != OK) {
            return; /* Tried again in the next turn. */
        }
        ++*sent;
    }
}

static bool memory_done(void *user)
{
    struct memory *m = user;

    memory_pump(m->session.a, &m->sent_a);
    memory_pump(m->session.b, &m->sent_b);
    return m->session.a->losses + m->session.b->losses > 0 ||
           (m->sent_a == MEMORY_FRAMES && m->sent_b == MEMORY_FRAMES &&
            conf_node_idle(m->session.a) && conf_node_idle(m->session.b));
}

/* Start both ends, as far as that works. */
static bool memory_start(struct memory *m)
{
    struct conf_session *s = &m->session;

    conf_node_start(s->b);
    if (s->b->endpoint == NULL) {
        return false;
    }
    conf_node_listen(s->b);
    if (s->b->why != OK) {
        return false;
    }
    conf_node_start(s->a);
    if (s->a->endpoint == NULL) {
        return false;
    }
    conf_node_dial(s->a, &s->b->at, 2);
    return s->a->peer != NULL;
}

static void test_a_session_survives_the_failure_of_any_allocation(void **state)
{
    struct conf_world *w = *state;
    struct memory m;
    uint64_t failures;
    uint32_t k = 0, worked = 0;

    conf_session_open(&m.session, w);
    m.session.a->config.heartbeat_ns = m.session.b->config.heartbeat_ns = 200 * CONF_MS;
    do {
        k++;
        assert_true(k < MEMORY_K_MAX);
        failures = mem_failures();
        m.sent_a = m.sent_b = 0;
        m.session.a->losses = m.session.b->losses = m.session.b->why = 0;
        memset(&m.session.b->at, 0, sizeof(m.session.b->at));
        conf_fail_alloc(w, k);
        if (memory_start(&m)) {
            conf_until(w, memory_done, &m, CONF_LIMIT_NS);
            worked++;
        }
        conf_fail_alloc(w, 0);
        conf_node_stop(m.session.a);
        conf_node_stop(m.session.b);
        /* A simulated host counts the allocations of each of its runs, so there is no last one. */
    } while (w->carrier->simulated ? k < MEMORY_K_SIM : mem_failures() > failures);
    assert_true(k > 20 && worked > 5 && mem_failures() > 20);
}

/* Whoever was admitted and then not served must not count as a stranger for ever. */
static void test_a_listener_survives_the_failure_of_an_accept(void **state)
{
    struct conf_world *w = *state;
    struct conf_node *node = conf_node_new(&w->b);
    struct conf_session s = {w, conf_node_new(&w->a), node};
    struct conf_raw *raw = conf_raw_new(&w->a);
    uint32_t attempts = w->carrier->simulated ? 2 * LIMIT_STRANGERS : 40;

    conf_node_start(node);
    conf_node_listen(node);
    for (uint32_t i = 0; i < attempts; i++) {
        raw->failed = raw->opened = false;
        conf_fail_alloc(w, 1 + i % 8);
        conf_raw_dial(raw, &node->at);
        conf_pass(w, 10 * CONF_MS);
        conf_fail_alloc(w, 0);
        conf_raw_end(raw, true);
        conf_pass(w, 50 * CONF_MS); /* Stay below the rate of one source. */
    }
    conf_node_start(s.a);
    conf_node_dial(s.a, &node->at, 1);
    conf_until(w, conf_session_up, &s, CONF_LIMIT_NS);
}

const struct CMUnitTest conf_memory_tests[] = {
    CONF_TEST(test_a_session_survives_the_failure_of_any_allocation),
    CONF_TEST(test_a_listener_survives_the_failure_of_an_accept),
};
const size_t conf_memory_count = sizeof(conf_memory_tests) / sizeof(conf_memory_tests[0]);
