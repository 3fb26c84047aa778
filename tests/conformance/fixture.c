/* The parts of the fixture that all carriers share: sides, time, conditions. */

#include "fixture.h"

#include "base/mem.h"
#include "loop/clock.h"

#include <stdlib.h>

enum { CONF_SERIES = 128, CONF_SETTLE_TURNS = 64 };

const struct conf_carrier *conf_carrier;

static void conf_side_open(struct conf_world *w, struct conf_side *side, enum wire_role role,
                           const char *name)
{
    side->world = w;
    assert_int_equal(pki_identity_make(role, "eu", name, &side->identity, NULL), OK);
    assert_int_equal(buf_pool_create(CONF_POOL_BYTES, &side->pool), OK);
    assert_int_equal(obs_registry_create(CONF_SERIES, &side->registry), OK);
    assert_int_equal(net_counters_init(&side->counters, side->registry), OK);
}

void *conf_new(struct conf_side *side, size_t size, void (*end)(void *thing))
{
    void *thing = calloc(1, size);

    assert_true(thing != NULL && side->things_count < CONF_THINGS_MAX);
    side->things[side->things_count++] = (struct conf_thing){end, thing};
    return thing;
}

void conf_side_end(struct conf_side *side)
{
    for (uint32_t i = side->things_count; i > 0; i--) {
        side->things[i - 1].end(side->things[i - 1].thing);
    }
}

static void conf_side_close(struct conf_side *side)
{
    for (uint32_t i = 0; i < side->things_count; i++) {
        free(side->things[i].thing);
    }
    obs_registry_destroy(side->registry);
    buf_pool_destroy(side->pool);
}

int conf_setup(void **state)
{
    struct conf_world *w = calloc(1, sizeof(*w));

    w->carrier = conf_carrier;
    conf_side_open(w, &w->a, WIRE_ROLE_WORKER, "a");
    conf_side_open(w, &w->b, WIRE_ROLE_SERVER, "b");
    w->carrier->open(w);
    *state = w;
    return 0;
}

int conf_teardown(void **state)
{
    struct conf_world *w = *state;

    mem_fail_at(0, 0);
    conf_side_end(&w->a);
    conf_side_end(&w->b);
    w->carrier->close(w);
    conf_side_close(&w->a);
    conf_side_close(&w->b);
    free(w);
    return 0;
}

int64_t conf_now_ns(const struct conf_world *w)
{
    return w->carrier->simulated ? sim_world_now_ns(w->sim) : clock_mono_ns();
}

bool conf_step(struct conf_world *w, int64_t until_ns)
{
    int64_t left_ns = until_ns - conf_now_ns(w);

    if (w->carrier->simulated) {
        return sim_world_step(w->sim, until_ns);
    }
    loop_turn(w->loop, left_ns < 0 ? 0 : left_ns);
    return conf_now_ns(w) < until_ns;
}

void conf_until(struct conf_world *w, bool (*done)(void *user), void *user, int64_t limit_ns)
{
    int64_t until_ns = conf_now_ns(w) + limit_ns;

    while (!done(user)) {
        if (!conf_step(w, until_ns) && !done(user)) {
            fail_msg("condition not met in %lld ms", (long long)(limit_ns / CONF_MS));
        }
    }
}

void conf_pass(struct conf_world *w, int64_t ns)
{
    int64_t until_ns = conf_now_ns(w) + ns;

    while (conf_step(w, until_ns)) {
    }
}

void conf_settle(struct conf_world *w)
{
    if (w->carrier->simulated) {
        conf_pass(w, 100 * CONF_MS);
        return;
    }
    for (int i = 0; i < CONF_SETTLE_TURNS; i++) {
        loop_turn(w->loop, i % 8 == 7 ? CONF_MS : 0);
    }
}

void conf_fail_alloc(struct conf_world *w, uint32_t k)
{
    if (w->carrier->simulated) {
        sim_host_fail_alloc(w->a.host, k);
        sim_host_fail_alloc(w->b.host, k);
    }
    mem_fail_at(k, k == 0 ? 0 : 1);
}
