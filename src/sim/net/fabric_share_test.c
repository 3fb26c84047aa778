/* The sharing against a naive model: water-filling from scratch in long double, with every flow
 * looked at after every event, on random networks and schedules. */

#include "sim/net/testing_fabric.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

enum {
    MODEL_LINKS = 16,
    MODEL_FLOWS = 32,
    MODEL_SEGMENTS = 4, /* Per flow. */
};

struct model_flow {
    bool live;
    sim_flow_id id;
    uint32_t links[SIM_FABRIC_PATH_LINKS_MAX];
    uint32_t links_count;
    long double cap; /* Zero: none. */
    long double rate;
    long double sped; /* The rate before this instant. */
    long double left; /* Of the first segment; may be a little negative. */
    long double slip; /* How far .left may be wrong, because the fabric's rates are rounded. */
    uint64_t bytes[MODEL_SEGMENTS];
    uint64_t tokens[MODEL_SEGMENTS];
    uint32_t count;
};

/* Bytes per second by which rounding may change a rate: some units of 2^-24. */
#define MODEL_SLIP (16.0L / (1 << 24))

/* The fabric under test and the naive model of it. */
struct model {
    struct sim_fabric *fabric;
    struct rng rng;
    int64_t now_ns;
    uint32_t links_count;
    uint64_t capacity[MODEL_LINKS];
    long double carried[MODEL_LINKS];
    uint64_t finished[MODEL_LINKS];
    struct model_flow flows[MODEL_FLOWS];
    uint64_t token;
    bool reentrant; /* Callbacks change things. */
    uint64_t completions;
    int64_t last_ns; /* Of the last completion, for the order. */
    sim_flow_id last_id;
    bool disturbed; /* Something was enqueued at .last_ns. */
};

/* The smallest rate at which a link is full or a flow at its cap, the fed ones taken off. */
static long double model_level(const struct model *m, const bool *fed)
{
    long double level = INFINITY;

    for (uint32_t l = 0; l < m->links_count; l++) {
        long double left = (long double)m->capacity[l];
        uint32_t hungry = 0;

        for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
            for (uint32_t k = 0; k < m->flows[i].links_count; k++) {
                if (m->flows[i].count > 0 && m->flows[i].links[k] == l) {
                    left -= fed[i] ? m->flows[i].rate : 0;
                    hungry += !fed[i];
                }
            }
        }
        if (hungry > 0 && left / hungry < level) {
            level = left / hungry;
        }
    }
    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        const struct model_flow *w = &m->flows[i];

        if (w->count > 0 && !fed[i] && w->cap > 0 && w->cap < level) {
            level = w->cap;
        }
    }
    return level < 0 ? 0 : level;
}

static bool model_link_full(const struct model *m, uint32_t link, const bool *fed,
                            long double level)
{
    long double used = 0;

    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        for (uint32_t k = 0; k < m->flows[i].links_count; k++) {
            if (m->flows[i].count > 0 && m->flows[i].links[k] == link) {
                used += fed[i] ? m->flows[i].rate : level;
            }
        }
    }
    return used >= (long double)m->capacity[link] * (1 - 1e-15L);
}

/* Progressive filling, from scratch. */
static void model_share(struct model *m)
{
    bool fed[MODEL_FLOWS] = {false};
    bool stop[MODEL_FLOWS];
    bool more = true;

    while (more) {
        long double level = model_level(m, fed);

        more = false;
        memset(stop, 0, sizeof(stop));
        for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
            struct model_flow *w = &m->flows[i];

            if (w->count == 0 || fed[i]) {
                continue;
            }
            stop[i] = w->cap > 0 && level >= w->cap;
            for (uint32_t k = 0; k < w->links_count; k++) {
                stop[i] = stop[i] || model_link_full(m, w->links[k], fed, level);
            }
        }
        for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
            if (stop[i]) {
                m->flows[i].rate = level;
                fed[i] = true;
                more = true;
            }
        }
    }
}

static void model_advance(struct model *m, int64_t now_ns)
{
    long double seconds = (long double)(now_ns - m->now_ns) / SECOND_NS;

    assert_true(now_ns >= m->now_ns);
    if (now_ns == m->now_ns) {
        return;
    }
    model_share(m);
    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        struct model_flow *w = &m->flows[i];

        if (w->count > 0) {
            w->left -= w->rate * seconds;
            w->sped = w->rate;
            w->slip += seconds * MODEL_SLIP;
            for (uint32_t k = 0; k < w->links_count; k++) {
                m->carried[w->links[k]] += w->rate * seconds;
            }
        }
    }
    m->now_ns = now_ns;
}

static uint32_t model_random_live(struct model *m)
{
    uint32_t start = (uint32_t)rng_below(&m->rng, MODEL_FLOWS);

    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        if (m->flows[(start + i) % MODEL_FLOWS].live) {
            return (start + i) % MODEL_FLOWS;
        }
    }
    return MODEL_FLOWS;
}

/* Round numbers make ties, odd ones make remainders. */
static uint64_t model_random_rate(struct model *m)
{
    static const uint64_t round[] = {1000000, 2000000, 4000000, 12500000, 125000000};

    if (rng_chance(&m->rng, 600000)) {
        return round[rng_below(&m->rng, sizeof(round) / sizeof(round[0]))];
    }
    return 500000 + rng_below(&m->rng, 200000000);
}

static void model_add(struct model *m)
{
    struct model_flow *w = NULL;
    uint64_t cap = rng_chance(&m->rng, 300000) ? model_random_rate(m) / 2 : 0;
    uint32_t count = 1 + (uint32_t)rng_below(&m->rng, SIM_FABRIC_PATH_LINKS_MAX);

    for (uint32_t i = 0; i < MODEL_FLOWS && w == NULL; i++) {
        w = m->flows[i].live ? NULL : &m->flows[i];
    }
    if (w == NULL) {
        return;
    }
    *w = (struct model_flow){.live = true, .cap = (long double)cap};
    while (w->links_count < count && w->links_count < m->links_count) {
        uint32_t link = (uint32_t)rng_below(&m->rng, m->links_count);
        bool known = false;

        for (uint32_t k = 0; k < w->links_count; k++) {
            known = known || w->links[k] == link;
        }
        if (!known) {
            w->links[w->links_count++] = link;
        }
    }
    w->id = flow_new(m->fabric, w->links_count, w->links, cap);
}

static void model_enqueue(struct model *m)
{
    uint32_t i = model_random_live(m);
    struct model_flow *w = &m->flows[i % MODEL_FLOWS];
    uint64_t bytes = rng_chance(&m->rng, 500000) ? 1 + rng_below(&m->rng, 2000)
                                                 : 1 + rng_below(&m->rng, 4 << 20);

    if (i == MODEL_FLOWS || w->count == MODEL_SEGMENTS) {
        return;
    }
    enqueue(m->fabric, w->id, bytes, ++m->token, m->now_ns);
    if (w->count == 0) {
        w->left = (long double)bytes;
        w->slip = 1e-9L;
    }
    w->bytes[w->count] = bytes;
    w->tokens[w->count++] = m->token;
    m->disturbed = true;
}

static void dropped(sim_flow_id flow, uint64_t token, void *user)
{
    struct model_flow *w = user;

    assert_int_equal(flow, w->id);
    assert_true(w->count > 0);
    assert_int_equal(token, w->tokens[0]);
    w->count--;
    memmove(w->tokens, w->tokens + 1, w->count * sizeof(w->tokens[0]));
}

static void model_remove(struct model *m)
{
    uint32_t i = model_random_live(m);

    if (i < MODEL_FLOWS) {
        struct model_flow *w = &m->flows[i];
        uint32_t count = w->count;

        assert_int_equal(sim_fabric_flow_remove(m->fabric, w->id, m->now_ns, dropped, w), count);
        assert_int_equal(w->count, 0);
        *w = (struct model_flow){0};
    }
}

static void model_link_change(struct model *m)
{
    uint32_t link = (uint32_t)rng_below(&m->rng, m->links_count);

    m->capacity[link] = rng_chance(&m->rng, 300000) ? 0 : model_random_rate(m);
    assert_int_equal(sim_fabric_link_set(m->fabric, link, m->capacity[link], m->now_ns), OK);
}

static void model_cap_change(struct model *m)
{
    uint32_t i = model_random_live(m);
    uint64_t cap = rng_chance(&m->rng, 300000) ? 0 : model_random_rate(m) / 2;

    if (i < MODEL_FLOWS) {
        m->flows[i].cap = (long double)cap;
        m->disturbed = true;
        assert_int_equal(sim_fabric_flow_set(m->fabric, m->flows[i].id, cap, m->now_ns), OK);
    }
}

/* The rates are those of the model; no link is overloaded; each flow has a bottleneck. */
static void model_check_rates(struct model *m)
{
    long double load[MODEL_LINKS] = {0};
    long double fastest[MODEL_LINKS] = {0};

    model_share(m);
    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        const struct model_flow *w = &m->flows[i];
        long double want = w->count > 0 ? w->rate : 0;
        long double rate = w->live ? (long double)sim_fabric_flow_rate_exact(m->fabric, w->id) : 0;

        assert_true(fabsl(rate - want) <= 1e-9L * want);
        for (uint32_t k = 0; k < w->links_count; k++) {
            load[w->links[k]] += rate;
            fastest[w->links[k]] = fmaxl(fastest[w->links[k]], rate);
        }
    }
    for (uint32_t l = 0; l < m->links_count; l++) {
        assert_true(load[l] <= (long double)m->capacity[l]);
        assert_int_equal(sim_fabric_link_load(m->fabric, l), (uint64_t)load[l]);
    }
    check_fabric(m->fabric);
    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        const struct model_flow *w = &m->flows[i];
        long double rate = w->live ? (long double)sim_fabric_flow_rate_exact(m->fabric, w->id) : 0;
        bool limited = w->count == 0 || (w->cap > 0 && rate == w->cap);

        for (uint32_t k = 0; k < w->links_count; k++) {
            uint32_t l = w->links[k];
            long double slack = (long double)m->capacity[l] - load[l];

            limited = limited || (slack < 1e-4L && rate >= fastest[l] - 1e-4L);
        }
        assert_true(limited);
    }
}

static void model_check_bytes(struct model *m)
{
    for (uint32_t l = 0; l < m->links_count; l++) {
        long double fluid = (long double)sim_fabric_link_fluid_bytes(m->fabric, l);

        assert_int_equal(sim_fabric_link_bytes(m->fabric, l), m->finished[l]);
        assert_true(fabsl(fluid - m->carried[l]) < 2);
    }
    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        const struct model_flow *w = &m->flows[i];
        uint64_t backlog = 0;

        for (uint32_t k = 0; k < w->count; k++) {
            backlog += w->bytes[k];
        }
        if (w->live) {
            assert_int_equal(sim_fabric_flow_backlog(m->fabric, w->id), backlog);
        }
    }
}

static void model_callback_change(struct model *m)
{
    m->disturbed = true;
    switch (rng_below(&m->rng, 7)) {
    case 0:
        model_remove(m);
        break;
    case 6:
        model_cap_change(m);
        break;
    case 1:
        model_add(m);
        break;
    case 2:
        model_link_change(m);
        break;
    case 3:
        model_check_rates(m);
        break;
    default:
        model_enqueue(m);
    }
}

/* A completion must be the model's, within a nanosecond: never early, at most one late. */
static void model_done(sim_flow_id flow, uint64_t token, int64_t at_ns, void *user)
{
    struct model *m = user;
    struct model_flow *w = NULL;

    if (at_ns != m->last_ns) {
        m->disturbed = false;
    }
    assert_true(at_ns > m->last_ns ||
                (at_ns == m->last_ns && (flow >= m->last_id || m->disturbed)));
    m->last_ns = at_ns;
    m->last_id = flow;
    model_advance(m, at_ns);
    assert_int_equal(sim_fabric_now_ns(m->fabric), at_ns);
    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        w = m->flows[i].live && m->flows[i].id == flow ? &m->flows[i] : w;
    }
    assert_non_null(w);
    assert_true(w->count > 0);
    assert_int_equal(w->tokens[0], token);
    assert_true(w->left <= w->slip);
    assert_true(w->left >= -w->sped * 1e-9L - w->slip);
    for (uint32_t k = 0; k < w->links_count; k++) {
        m->finished[w->links[k]] += w->bytes[0];
    }
    w->count--;
    memmove(w->tokens, w->tokens + 1, w->count * sizeof(w->tokens[0]));
    memmove(w->bytes, w->bytes + 1, w->count * sizeof(w->bytes[0]));
    w->left = w->count > 0 ? w->left + (long double)w->bytes[0] : 0;
    m->completions++;
    while (m->reentrant && rng_chance(&m->rng, 400000)) {
        model_callback_change(m);
    }
}

/* Nothing that is due at the model's time was kept back. */
static void model_check_due(struct model *m)
{
    for (uint32_t i = 0; i < MODEL_FLOWS; i++) {
        assert_true(m->flows[i].count == 0 || m->flows[i].left > -m->flows[i].slip);
    }
}

static void model_run_until(struct model *m, int64_t now_ns)
{
    sim_fabric_advance(m->fabric, now_ns, model_done, m);
    model_advance(m, now_ns);
    model_check_due(m);
}

static void model_step(struct model *m)
{
    int64_t next_ns = sim_fabric_next_ns(m->fabric);

    switch (rng_below(&m->rng, 13)) {
    case 0:
        model_add(m);
        break;
    case 12:
        model_cap_change(m);
        break;
    case 1:
        if (rng_chance(&m->rng, 300000)) {
            model_remove(m);
        }
        break;
    case 2:
        if (rng_chance(&m->rng, 300000)) {
            model_link_change(m);
        }
        break;
    case 3: /* To a time at which nothing happens, perhaps. */
        model_run_until(m, m->now_ns + rng_between(&m->rng, 0, 20 * 1000 * 1000));
        break;
    case 4:
    case 5:
    case 6:
        if (next_ns != SIM_FABRIC_NEVER) {
            model_run_until(m, next_ns);
        }
        break;
    default:
        model_enqueue(m);
    }
}

static uint64_t model_run(uint64_t seed, uint32_t steps, bool reentrant)
{
    struct model m = {.reentrant = reentrant, .last_ns = -1};

    rng_init(&m.rng, seed);
    m.fabric = fabric_new(MODEL_LINKS, MODEL_FLOWS, MODEL_FLOWS * MODEL_SEGMENTS);
    m.links_count = 1 + (uint32_t)rng_below(&m.rng, MODEL_LINKS);
    for (uint32_t l = 0; l < m.links_count; l++) {
        m.capacity[l] = model_random_rate(&m);
        assert_int_equal(link_new(m.fabric, m.capacity[l]), l);
    }
    for (uint32_t n = (uint32_t)rng_below(&m.rng, MODEL_FLOWS + 1); n > 0; n--) {
        model_add(&m);
    }
    for (uint32_t i = 0; i < steps; i++) {
        model_step(&m);
        model_check_rates(&m);
        model_check_bytes(&m);
    }
    sim_fabric_destroy(m.fabric);
    return m.completions;
}

static void test_random_networks_match_the_naive_model(void **state)
{
    uint64_t completions = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        completions += model_run(seed, 60, seed % 2 == 1);
    }
    assert_true(completions > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_networks_match_the_naive_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
