/* Convoys: several sites that close their rounds together, around a centre, by seed: whatever the
 * network is like and whatever goes wrong with it, all who go by a plan have the same result of a
 * round, and in the end everything counts once. The first seeds have their transcripts' hashes in
 * tests/sim/convoy.hashes, so that every compiler is held to the same bytes; STRAIT_UPDATE_GOLDEN=1
 * writes them anew. With STRAIT_LONG=1 there are four times as many. */

#include "sim/stress/convoy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEEDS = 100,
    SEEDS_LONG = 400,
    CALM_SEEDS = 60,
    DEATH_SEEDS = 60,
    GOLDEN_SEEDS = 20,
    FORGET_SEED = 8000, /* Rare: one in some thousand. */
    FORGET_SEEDS = 4000
};

#define GOLDEN STRAIT_SOURCE_DIR "/tests/sim/convoy.hashes"

static void run_config(const struct sim_convoy_config *config, struct sim_convoy_result *result)
{
    struct err_text text = {""};

    if (sim_convoy_run(config, result, &text) != OK) {
        fail_msg("seed %" PRIu64 ": %s", config->seed, text.text);
    }
    if (result->verdict[0] != '\0') {
        fail_msg("seed %" PRIu64 ", faults %" PRIx64 ": %s (%s)", config->seed, config->faults,
                 result->verdict, result->about);
    }
}

static void run(uint64_t seed, uint64_t faults, struct sim_convoy_result *result)
{
    const struct sim_convoy_config config = {.seed = seed, .delivery = -1, .faults = faults};

    run_config(&config, result);
}

static void test_calm_convoys_need_no_more_than_their_rounds(void **state)
{
    uint64_t rounds = 0;
    uint64_t passed = 0;

    (void)state;
    for (uint64_t seed = 0; seed < CALM_SEEDS; seed++) {
        struct sim_convoy_result r;

        run(seed, 0, &r);
        rounds += r.rounds;
        passed += r.totals.passed;
        assert_int_equal(r.totals.refused, 0);
        assert_int_equal(r.totals.carried, 0);
        /* Links are not as was thought at first, so there may be another plan. */
        assert_true(r.totals.plans > 0 || r.totals.wholes_taken == 0);
        sim_convoy_result_deinit(&r);
    }
    assert_true(rounds > 10 * CALM_SEEDS && passed > 10 * CALM_SEEDS);
}

static void test_convoys_hold_and_everything_happens_in_them(void **state)
{
    uint64_t seeds = getenv("STRAIT_LONG") != NULL ? SEEDS_LONG : SEEDS;
    struct node_central_stats sum = {0};
    uint64_t fired[SIM_FAULT_KINDS] = {0};

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct sim_convoy_result r;

        run(seed, SIM_CONVOY_STORM, &r);
        sum.sums_taken += r.totals.sums_taken;
        sum.results_taken += r.totals.results_taken;
        sum.wholes_taken += r.totals.wholes_taken;
        sum.passed += r.totals.passed;
        sum.stale += r.totals.stale;
        sum.carried += r.totals.carried;
        sum.plans += r.totals.plans;
        assert_int_equal(r.totals.refused, 0);
        for (uint32_t i = 0; i < SIM_FAULT_KINDS; i++) {
            fired[i] += r.fired[i];
        }
        sim_convoy_result_deinit(&r);
    }
    assert_true(sum.sums_taken > 10 * seeds && sum.results_taken > 10 * seeds);
    print_message("%" PRIu64 " plans, %" PRIu64 " frames stale, %" PRIu64 " chunks whole, %" PRIu64
                  " sums carried\n",
                  sum.plans, sum.stale, sum.wholes_taken, sum.carried);
    assert_true(sum.passed > 10 * seeds && sum.plans > seeds / 4 && sum.stale > 0);
    assert_true(sum.wholes_taken > 0 && sum.carried > 0);
    for (uint32_t i = 0; i < SIM_FAULT_KINDS; i++) {
        if (fired[i] <= seeds / 20 && (SIM_CONVOY_STORM >> i & 1) != 0) {
            fail_msg("%s happened %" PRIu64 " times", sim_fault_name((enum sim_fault_kind)i),
                     fired[i]);
        }
    }
}

/* Processes that die take with them what they have not sent; but copies stay the same, and rounds
 * go on. */
static void test_convoys_get_over_deaths(void **state)
{
    uint64_t killed = 0;
    uint64_t wholes = 0;

    (void)state;
    for (uint64_t seed = 0; seed < DEATH_SEEDS; seed++) {
        const struct sim_convoy_config config = {.seed = seed,
                                                 .sites = 4,
                                                 .delivery = -1,
                                                 .faults = SIM_CONVOY_STORM | SIM_CONVOY_DEATHS};
        struct sim_convoy_result r;

        run_config(&config, &r);
        killed += r.fired[SIM_FAULT_KILL];
        wholes += r.totals.wholes_taken;
        sim_convoy_result_deinit(&r);
    }
    assert_true(killed > DEATH_SEEDS && wholes > DEATH_SEEDS / 4);
}

/* Seeds of strait sim --convoy that broke. A site restarted when all of its workers were done, so
 * that the others waited for its sums for ever, and a frame for its process before was blamed on a
 * site that keeps the rules; sites that had restarted undid all rounds; a worker's update entered a
 * sum that had been sent; a site that had promised a sum sent none; a newcomer was forgotten; a sum
 * that was refused was closed as a round of no updates, which stopped the server. */
static void test_seeds_that_broke_once_hold(void **state)
{
    static const uint64_t seeds[] = {1003998, 3003652, 1001917, 2000253, 2000488, 2006863};

    (void)state;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        const struct sim_convoy_config config = sim_convoy_by_seed(seeds[i]);
        struct sim_convoy_result r;

        run_config(&config, &r);
        assert_false(r.lost_all);
        sim_convoy_result_deinit(&r);
    }
}

static void test_sites_whose_processes_only_die_get_over_it(void **state)
{
    static const uint64_t seeds[] = {326, 513}; /* Nobody had a chunk; words for a dead process. */

    (void)state;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        struct sim_convoy_config config = sim_convoy_by_seed(seeds[i]);
        struct sim_convoy_result r;

        config.faults = SIM_FAULT_BIT(SIM_FAULT_KILL) | SIM_FAULT_BIT(SIM_FAULT_POWER);
        run_config(&config, &r);
        sim_convoy_result_deinit(&r);
    }
}

/* All sites died before any could take a copy of another one. */
static void test_what_all_sites_forget_is_lost(void **state)
{
    bool lost_all = false;

    (void)state;
    for (uint64_t seed = FORGET_SEED; seed < FORGET_SEED + FORGET_SEEDS && !lost_all; seed++) {
        struct sim_convoy_config config = sim_convoy_by_seed(seed);
        struct sim_convoy_result r;

        config.faults = SIM_FAULT_BIT(SIM_FAULT_KILL) | SIM_FAULT_BIT(SIM_FAULT_POWER);
        run_config(&config, &r);
        lost_all = r.lost_all;
        sim_convoy_result_deinit(&r);
    }
    assert_true(lost_all);
}

static void test_every_compiler_sees_the_same_convoys(void **state)
{
    bool update = getenv("STRAIT_UPDATE_GOLDEN") != NULL;
    FILE *file = fopen(GOLDEN, update ? "we" : "re");

    (void)state;
    assert_non_null(file);
    for (uint64_t seed = 0; seed < GOLDEN_SEEDS; seed++) {
        struct sim_convoy_result r;
        uint64_t number;
        uint64_t hash;

        run(seed, seed % 2 == 0 ? 0 : SIM_CONVOY_STORM, &r);
        if (update) {
            (void)fprintf(file, "%" PRIu64 " %016" PRIx64 "\n", seed, r.transcript_hash);
        } else {
            assert_int_equal(fscanf(file, "%" SCNu64 " %" SCNx64, &number, &hash), 2);
            assert_int_equal(number, seed);
            if (hash != r.transcript_hash) {
                fail_msg("seed %" PRIu64 " went another way: if that is intended, run with "
                         "STRAIT_UPDATE_GOLDEN=1",
                         seed);
            }
        }
        sim_convoy_result_deinit(&r);
    }
    (void)fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calm_convoys_need_no_more_than_their_rounds),
        cmocka_unit_test(test_convoys_hold_and_everything_happens_in_them),
        cmocka_unit_test(test_convoys_get_over_deaths),
        cmocka_unit_test(test_seeds_that_broke_once_hold),
        cmocka_unit_test(test_sites_whose_processes_only_die_get_over_it),
        cmocka_unit_test(test_what_all_sites_forget_is_lost),
        cmocka_unit_test(test_every_compiler_sees_the_same_convoys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
