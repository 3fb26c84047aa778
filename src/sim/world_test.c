/* The world's own checks. */

#include "sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int64_t again_ns;

static void happens_again(struct sim_event *event, struct sim_world *w)
{
    assert_int_equal(sim_event_at(w, event, sim_world_now_ns(w) + again_ns), OK);
}

/* One event that happens again and again, @gap_ns later; true if the world says that it is stuck.
 */
static bool is_stuck(int64_t gap_ns, uint64_t events)
{
    struct sim_world_config config = {.seed = 1};
    struct sim_world *w = NULL;
    struct sim_event event;
    bool stuck;

    again_ns = gap_ns;
    assert_int_equal(sim_world_create(&config, &w), OK);
    sim_event_init(&event, happens_again);
    assert_int_equal(sim_event_at(w, &event, 0), OK);
    while (sim_world_events(w) < events && sim_world_step(w, SIM_NEVER)) {
    }
    stuck = sim_world_broken(w) != NULL;
    sim_event_cancel(w, &event);
    sim_world_destroy(w);
    return stuck;
}

static void test_a_clock_that_hardly_moves_is_a_livelock(void **state)
{
    (void)state;
    assert_true(is_stuck(0, 4000000));
    assert_false(is_stuck(1000, 4000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_clock_that_hardly_moves_is_a_livelock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
