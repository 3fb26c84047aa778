/* Storms: the built-in scenario with hundreds of seeds and every kind of fault, all invariants
 * checked after every event. The first seeds have their transcripts' hashes in
 * tests/sim/storm.hashes, so that every compiler is held to the same bytes; STRAIT_UPDATE_GOLDEN=1
 * writes them anew. With STRAIT_LONG=1 there are four times as many. */

#include "sim/scenario/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 300, SEEDS_LONG = 1200, GOLDEN_SEEDS = 40 };

static struct sim_scenario *builtin(void)
{
    const char *script = sim_scenario_builtin();
    struct sim_scenario *scenario;
    struct err_text text = {0};

    if (sim_scenario_parse("built-in", script, strlen(script), &scenario, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return scenario;
}

static void run_seed(const struct sim_scenario *scenario, uint64_t seed,
                     struct sim_scenario_result *result)
{
    struct sim_scenario_options options = {.seed = seed};
    struct err_text text = {0};

    if (sim_scenario_run(scenario, &options, result, &text) != OK) {
        fail_msg("seed %" PRIu64 ": %s", seed, text.text);
    }
    if (result->verdict[0] != '\0') {
        fail_msg("seed %" PRIu64 ": %s (strait sim --seed %" PRIu64 " --transcript)", seed,
                 result->verdict, seed);
    }
}

static void test_storms_hold_and_every_fault_fires(void **state)
{
    const uint64_t seeds = getenv("STRAIT_LONG") != NULL ? SEEDS_LONG : SEEDS;
    struct sim_scenario *scenario = builtin();
    uint64_t fired[SIM_FAULT_KINDS] = {0};
    uint64_t duplicates = 0, resent = 0, refused = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct sim_scenario_result result;

        run_seed(scenario, seed, &result);
        for (int i = 0; i < SIM_FAULT_KINDS; i++) {
            fired[i] += result.fired[i];
        }
        duplicates += result.totals.frames_duplicate;
        resent += result.totals.frames_resent;
        refused += result.totals.frames_refused;
        sim_scenario_result_deinit(&result);
    }
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        print_message("%s %" PRIu64 "\n", sim_fault_name((enum sim_fault_kind)i), fired[i]);
        if ((SIM_FAULTS_STORES & SIM_FAULT_BIT(i)) == 0) { /* An echo server stores no files. */
            assert_true(fired[i] > seeds / 10);
        }
    }
    assert_true(duplicates > 0 && resent > 0 && refused > 0);
    sim_scenario_destroy(scenario);
}

static void test_transcripts_are_the_same_bytes_everywhere(void **state)
{
    const char *path = "tests/sim/storm.hashes";
    bool update = getenv("STRAIT_UPDATE_GOLDEN") != NULL;
    struct sim_scenario *scenario = builtin();
    FILE *file = fopen(path, update ? "we" : "re");

    (void)state;
    assert_non_null(file);
    for (uint64_t seed = 1; seed <= GOLDEN_SEEDS; seed++) {
        struct sim_scenario_result result;
        uint64_t golden_seed, golden_hash;

        run_seed(scenario, seed, &result);
        if (update) {
            (void)fprintf(file, "%" PRIu64 " %016" PRIx64 "\n", seed, result.transcript_hash);
        } else {
            assert_int_equal(fscanf(file, "%" SCNu64 " %" SCNx64, &golden_seed, &golden_hash), 2);
            assert_true(golden_seed == seed);
            if (golden_hash != result.transcript_hash) {
                fail_msg("seed %" PRIu64 ": the transcript is not what it was", seed);
            }
        }
        sim_scenario_result_deinit(&result);
    }
    assert_int_equal(fclose(file), 0);
    sim_scenario_destroy(scenario);
}

/* Seeds of strait sim that broke. */
static void test_seeds_that_broke_once_hold(void **state)
{
    static const uint64_t seeds[] = {
        700006861, /* A client without memory tried again each nanosecond. */
    };
    struct sim_scenario *scenario = builtin();

    (void)state;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        struct sim_scenario_result result;

        run_seed(scenario, seeds[i], &result);
        sim_scenario_result_deinit(&result);
    }
    sim_scenario_destroy(scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_storms_hold_and_every_fault_fires),
        cmocka_unit_test(test_transcripts_are_the_same_bytes_everywhere),
        cmocka_unit_test(test_seeds_that_broke_once_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
