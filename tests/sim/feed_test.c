/* Feeds: sites that hold back what is too small, under every kind of fault, by seed: nothing is
 * lost, and no more is held back than Lemma 1 allows. The first seeds have their transcripts'
 * hashes in tests/sim/feed.hashes; STRAIT_UPDATE_GOLDEN=1 writes them anew. With STRAIT_LONG=1
 * there are three times as many. */

#include "sim/stress/feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEEDS = 15, SEEDS_LONG = 90, CALM_SEEDS = 20, GOLDEN_SEEDS = 10 };

#define GOLDEN "tests/sim/feed.hashes"

static void run(const struct sim_feed_config *config, struct sim_feed_result *result)
{
    struct err_text text = {0};

    if (sim_feed_run(config, result, &text) != OK) {
        fail_msg("seed %" PRIu64 ": %s", config->seed, text.text);
    }
    if (result->verdict[0] != '\0') {
        fail_msg("seed %" PRIu64 ", faults %" PRIx64 ": %s (%s)", config->seed, config->faults,
                 result->verdict, result->about);
    }
}

static void test_feeds_lose_nothing_and_everything_happens_in_them(void **state)
{
    const uint64_t seeds = getenv("STRAIT_LONG") != NULL ? SEEDS_LONG : SEEDS;
    uint64_t fired[SIM_FAULT_KINDS] = {0};
    uint64_t pushes = 0, taken = 0, bounds = 0, copies = 0, deaths = 0;
    uint64_t trees = 0, detours = 0, passed = 0, broadcasts = 0, snapshots = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct sim_feed_config config = {.seed = seed, .tree = -1, .faults = SIM_FAULTS_ALL};
        struct sim_feed_result result;

        run(&config, &result);
        pushes += result.pushes;
        taken += result.taken;
        bounds += result.bounds;
        copies += result.copies;
        deaths += result.deaths;
        trees += result.trees;
        detours += result.detours;
        passed += result.passed;
        broadcasts += result.broadcasts;
        snapshots += result.snapshots;
        for (int i = 0; i < SIM_FAULT_KINDS; i++) {
            fired[i] += result.fired[i];
        }
        sim_feed_result_deinit(&result);
    }
    print_message("pushed %" PRIu64 ", taken %" PRIu64 ", bounds %" PRIu64 ", copies %" PRIu64
                  ", deaths %" PRIu64 "\n",
                  pushes, taken, bounds, copies, deaths);
    print_message("trees %" PRIu64 ", detours %" PRIu64 ", passed on %" PRIu64
                  ", sent by lanes %" PRIu64 ", whole %" PRIu64 "\n",
                  trees, detours, passed, broadcasts, snapshots);
    assert_true(trees > seeds && detours > seeds / 10 && passed > 20 * seeds);
    assert_true(taken > 100 * seeds && bounds > 10 * seeds && copies > 50 * seeds);
    assert_true(pushes >= taken && deaths > seeds / 8);
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        bool disk = i >= SIM_FAULT_DISK_FULL;
        bool here = i != SIM_FAULT_KILL && i != SIM_FAULT_POWER && !disk;

        if (here && fired[i] <= seeds / 50) {
            fail_msg("%s happened %" PRIu64 " times", sim_fault_name((enum sim_fault_kind)i),
                     fired[i]);
        }
    }
}

/* By hand: what each may hold back at most, they do hold back. */
static void test_the_bound_is_nearly_reached(void **state)
{
    double tightest = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= CALM_SEEDS; seed++) {
        struct sim_feed_config config = {.seed = seed, .chain = "norm:delta=0.3"};
        struct sim_feed_result result;

        run(&config, &result);
        tightest = result.tightest > tightest ? result.tightest : tightest;
        sim_feed_result_deinit(&result);
    }
    print_message("at most %.3f of what is allowed\n", tightest);
    assert_true(tightest > 0.3 && tightest <= 1.000001);
}

/* Also of a table with momentum and means. */
static void test_a_threshold_of_zero_is_as_none_to_the_bit(void **state)
{
    static const char *const chains[] = {"all | dense", "dvf:delta=0", "norm:delta=0 | sparse",
                                         "all | auto"};

    (void)state;
    for (uint64_t seed = 1; seed <= CALM_SEEDS; seed++) {
        struct sim_feed_config plain = {.seed = seed, .barrier = "bsp", .chain = ""};
        struct sim_feed_config sparsified = {
            .seed = seed, .barrier = "bsp", .chain = chains[seed % 4]};
        struct sim_feed_result a, b;

        run(&plain, &a);
        run(&sparsified, &b);
        assert_int_equal(a.values_hash, b.values_hash);
        assert_true(b.pushes > 0 && a.pushes == 0);
        sim_feed_result_deinit(&a);
        sim_feed_result_deinit(&b);
    }
}

static void test_a_seed_is_the_same_everywhere(void **state)
{
    bool update = getenv("STRAIT_UPDATE_GOLDEN") != NULL;
    FILE *golden = fopen(GOLDEN, update ? "w" : "r");

    (void)state;
    assert_non_null(golden);
    for (uint64_t seed = 1; seed <= GOLDEN_SEEDS; seed++) {
        /* Not squeezed: how long that is depends on the library. */
        struct sim_feed_config config = {.seed = seed,
                                         .chain = "dvf:low=0.05,up=0.5 | bitmap",
                                         .tree = -1,
                                         .faults = SIM_FAULTS_ALL};
        struct sim_feed_result result;

        run(&config, &result);
        if (update) {
            (void)fprintf(golden, "%" PRIu64 " %016" PRIx64 "\n", seed, result.transcript_hash);
        } else {
            uint64_t number, hash;

            assert_int_equal(fscanf(golden, "%" SCNu64 " %" SCNx64, &number, &hash), 2);
            assert_int_equal(number, seed);
            if (hash != result.transcript_hash) {
                fail_msg("seed %" PRIu64 ": %016" PRIx64 ", not %016" PRIx64, seed,
                         result.transcript_hash, hash);
            }
        }
        sim_feed_result_deinit(&result);
    }
    (void)fclose(golden);
}

/* Seeds of strait sim --feed that broke, as those in drill_test.c. */
static void test_seeds_that_broke_once_hold(void **state)
{
    static const uint64_t seeds[] = {
        3000870,   /* The one in drill_test.c. */
        700001574, /* The checker took an update that waits for memory for a residual. */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        const struct sim_feed_config config = {
            .seed = seeds[i], .tree = -1, .faults = SIM_FAULTS_ALL};
        struct sim_feed_result result;

        run(&config, &result);
        sim_feed_result_deinit(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feeds_lose_nothing_and_everything_happens_in_them),
        cmocka_unit_test(test_the_bound_is_nearly_reached),
        cmocka_unit_test(test_a_threshold_of_zero_is_as_none_to_the_bit),
        cmocka_unit_test(test_a_seed_is_the_same_everywhere),
        cmocka_unit_test(test_seeds_that_broke_once_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
