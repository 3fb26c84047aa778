/* Mirrors: seeded random fleets. Single cases are in mirror_case_test.c, mirror_keep_test.c and
 * mirror_way_test.c. With STRAIT_LONG=1 there are ten times as many fleets. */

#include "sync/testing_mirror.h"

enum { FLEETS = 500, FLEETS_LONG = 10, FLEETS_VALGRIND = 50, STEPS = 3000, STEPS_CALM = 300 };

/* What happened in all fleets of a test. */
struct totals {
    uint64_t fleets, taken, dropped, held, refused, merged, relayed, copies, restarts, lost, paused,
        left_out;
};

/* The fleet that runs: a failure must say which. */
static struct {
    uint64_t seed; /* Zero: none. */
    bool groups, forget;
} running;

static void fleet_agrees(struct testing_fleet *f)
{
    for (uint32_t i = 0; i < f->sites_count; i++) {
        const struct mirror *m = &f->sites[i].m;

        assert_false(m->fresh);
        assert_false(mirror_needs_copy(m));
        for (uint32_t c = 0; c < TESTING_CHUNKS; c++) {
            if (f->sites[i].values[c] != f->sites[0].values[c]) {
                fail_msg("site %u has %" PRId64 " in chunk %u, site 0 has %" PRId64, i,
                         f->sites[i].values[c], c, f->sites[0].values[c]);
            }
        }
        if (m->log_bytes != 0) {
            fail_msg("site %u still keeps %" PRIu64 " bytes", i, m->log_bytes);
        }
        for (uint32_t k = 1; k < m->sites_count; k++) {
            assert_false(m->sites[k].left_out);
            assert_int_equal(m->sites[k].holding, 0);
            assert_int_equal(m->sites[k].relays_bytes, 0);
            assert_int_equal(mirror_waiting_bytes(m, k), 0);
        }
    }
}

static void run_fleet(struct testing_fleet *f)
{
    struct rng rng;
    uint32_t sites, groups;

    rng_init(&rng, running.seed ^ 77);
    sites = 2 + (uint32_t)rng_below(&rng, TESTING_SITES - 1);
    groups = running.groups ? 1 + (uint32_t)rng_below(&rng, 3) : 0;
    testing_fleet_open(f, running.seed, sites, groups > sites ? sites : groups,
                       !running.forget && rng_chance(&rng, 500000), rng_below(&rng, 4));
    f->may_forget = running.forget;
    for (uint32_t a = 0; a < sites; a++) {
        for (uint32_t b = 0; b < a; b++) {
            testing_connect(f, a, b);
        }
    }
    for (uint32_t i = 0; i < STEPS; i++) {
        testing_step(f, i > STEPS_CALM);
    }
    testing_settle(f);
    fleet_agrees(f);
    testing_fleet_close(f);
}

static uint64_t fleets_count(void)
{
    if (getenv("STRAIT_VALGRIND") != NULL) {
        return FLEETS / FLEETS_VALGRIND;
    }
    return getenv("STRAIT_LONG") != NULL ? FLEETS * FLEETS_LONG : FLEETS;
}

static struct totals run_fleets(bool groups, bool forget)
{
    static struct testing_fleet f;
    struct totals t = {.fleets = fleets_count()};

    running.groups = groups;
    running.forget = forget;
    for (uint64_t seed = 1; seed <= t.fleets; seed++) {
        running.seed = seed;
        run_fleet(&f);
        t.taken += f.taken;
        t.dropped += f.dropped;
        t.held += f.held;
        t.refused += f.refused;
        t.merged += f.merged;
        t.relayed += f.relayed;
        t.copies += f.copies;
        t.restarts += f.restarts;
        t.lost += f.lost_sessions;
        t.paused += f.paused_sessions;
        t.left_out += f.left_out;
    }
    running.seed = 0;
    return t;
}

/* Said also if the test ends in the middle of a fleet. */
static int say_seed(void **state)
{
    (void)state;
    if (running.seed != 0) {
        print_error("seed %" PRIu64 ", %s groups, %s\n", running.seed,
                    running.groups ? "with" : "without",
                    running.forget ? "sites forget" : "sites do not forget");
        running.seed = 0;
    }
    return 0;
}

/* A run in which something did not happen shows nothing about it. */
static void often(const char *what, const struct totals *t, uint64_t count, uint64_t per_hundred)
{
    print_message("    %s: %" PRIu64 "\n", what, count);
    if (t->fleets >= FLEETS && count * 100 < t->fleets * per_hundred) { /* Not of a handful. */
        fail_msg("%s: only %" PRIu64 " in %" PRIu64 " fleets", what, count, t->fleets);
    }
}

static void often_in_any(const struct totals *t)
{
    often("taken", t, t->taken, 5000);
    often("dropped", t, t->dropped, 300);
    often("merged", t, t->merged, 500);
    often("lost sessions", t, t->lost, 500);
    often("paused sessions", t, t->paused, 100);
    often("restarts", t, t->restarts, 20);
}

static void often_with_hubs(const struct totals *t)
{
    often("relayed", t, t->relayed, 300);
    often("held", t, t->held, 5);
    often("refused", t, t->refused, 20);
}

static void test_a_mesh_agrees_in_the_end_and_never_lies(void **state)
{
    struct totals t = run_fleets(false, false);

    (void)state;
    often_in_any(&t);
    often("left out or back", &t, t.left_out, 5);
}

static void test_groups_with_hubs_agree_in_the_end_and_never_lie(void **state)
{
    struct totals t = run_fleets(true, false);

    (void)state;
    often_in_any(&t);
    often_with_hubs(&t);
}

static void test_a_mesh_whose_sites_forget_takes_copies_and_agrees(void **state)
{
    struct totals t = run_fleets(false, true);

    (void)state;
    often_in_any(&t);
    often("copies", &t, t.copies, 20);
}

static void test_groups_whose_sites_forget_take_copies_and_agree(void **state)
{
    struct totals t = run_fleets(true, true);

    (void)state;
    often_in_any(&t);
    often_with_hubs(&t);
    often("copies", &t, t.copies, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_mesh_agrees_in_the_end_and_never_lies, say_seed),
        cmocka_unit_test_teardown(test_groups_with_hubs_agree_in_the_end_and_never_lie, say_seed),
        cmocka_unit_test_teardown(test_a_mesh_whose_sites_forget_takes_copies_and_agrees, say_seed),
        cmocka_unit_test_teardown(test_groups_whose_sites_forget_take_copies_and_agree, say_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
