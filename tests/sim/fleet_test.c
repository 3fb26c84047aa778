/* Fleets: several sites that share one model, under every kind of fault, by seed, with conservation
 * and bounds checked as things happen. The first seeds have their transcripts' hashes in
 * tests/sim/fleet.hashes, so that every compiler is held to the same bytes; STRAIT_UPDATE_GOLDEN=1
 * writes them anew. With STRAIT_LONG=1 there are seven times as many. */

#include "sim/stress/fleet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 125, SEEDS_LONG = 900, CALM_SEEDS = 100, GOLDEN_SEEDS = 20 };

#define GOLDEN "tests/sim/fleet.hashes"

static void run(const struct sim_fleet_config *config, struct sim_fleet_result *result)
{
    struct err_text text = {0};

    if (sim_fleet_run(config, result, &text) != OK) {
        fail_msg("seed %" PRIu64 ": %s", config->seed, text.text);
    }
    if (result->verdict[0] != '\0') {
        fail_msg("seed %" PRIu64 ", faults %" PRIx64 ": %s (%s)", config->seed, config->faults,
                 result->verdict, result->about);
    }
}

static struct sim_fleet_config by_seed(uint64_t seed, uint64_t faults)
{
    return (struct sim_fleet_config){
        .seed = seed, .groups = -1, .delivery = -1, .checkpoints = -1, .faults = faults};
}

static void add(struct node_mirror_stats *sum, const struct node_mirror_stats *s)
{
    sum->pieces_made += s->pieces_made;
    sum->pieces_taken += s->pieces_taken;
    sum->pieces_dropped += s->pieces_dropped;
    sum->pieces_held += s->pieces_held;
    sum->pieces_refused += s->pieces_refused;
    sum->relayed += s->relayed;
    sum->barriers_raised += s->barriers_raised;
    sum->barriers_met += s->barriers_met;
    sum->barriers_passed += s->barriers_passed;
    sum->copies += s->copies;
    sum->waited_clock_ns += s->waited_clock_ns;
    sum->waited_barrier_ns += s->waited_barrier_ns;
}

static void test_fleets_hold_and_everything_happens_in_them(void **state)
{
    struct node_mirror_stats sum = {0};
    uint64_t fired[SIM_FAULT_KINDS] = {0};
    uint64_t reads = 0;
    const uint64_t seeds = getenv("STRAIT_LONG") != NULL ? SEEDS_LONG : SEEDS;

    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct sim_fleet_config config = by_seed(seed, SIM_FAULTS_ALL);
        struct sim_fleet_result result;

        run(&config, &result);
        add(&sum, &result.totals);
        reads += result.reads;
        for (int i = 0; i < SIM_FAULT_KINDS; i++) {
            fired[i] += result.fired[i];
        }
        sim_fleet_result_deinit(&result);
    }
    print_message("made %" PRIu64 ", taken %" PRIu64 ", dropped %" PRIu64 ", held %" PRIu64
                  ", refused %" PRIu64 ", relayed %" PRIu64 ", barriers %" PRIu64
                  ", passed on %" PRIu64 ", reads %" PRIu64
                  ", waited %.0f s for clocks, %.1f s for barriers\n",
                  sum.pieces_made, sum.pieces_taken, sum.pieces_dropped, sum.pieces_held,
                  sum.pieces_refused, sum.relayed, sum.barriers_met, sum.barriers_passed, reads,
                  (double)sum.waited_clock_ns / 1e9, (double)sum.waited_barrier_ns / 1e9);
    assert_true(sum.pieces_taken > 50 * seeds);
    assert_true(sum.pieces_dropped > seeds);
    assert_true(sum.pieces_held > seeds / 10 && sum.pieces_refused > seeds / 50);
    assert_true(sum.relayed > 5 * seeds);
    assert_true(sum.barriers_met > seeds && sum.waited_barrier_ns > 0);
    assert_true(sum.waited_clock_ns > 0);
    assert_true(reads > 20 * seeds);
    if (seeds != SEEDS_LONG) {
        return; /* What is rare may not be in these. */
    }
    assert_true(sum.barriers_passed > seeds / 20 && sum.copies > 0);
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        if (fired[i] <= seeds / 50) {
            fail_msg("%s happened %" PRIu64 " times", sim_fault_name((enum sim_fault_kind)i),
                     fired[i]);
        }
    }
}

/* Seeds that broke once. A lane whose worker left while it waited for the others to come back
 * shared what it held back: the updates that these were to send again. A site made its tables while
 * a connection was down, and never told the other site of them. A chunk of a copy was read before a
 * delta of the site that takes it came there, and came here after the delta was confirmed. */
static void test_fleets_that_broke_once_hold(void **state)
{
    static const uint64_t seeds[] = {500089,  500747,   600101,   3002289,
                                     6001068, 63000153, 63001508, 83000481};

    (void)state;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        struct sim_fleet_config config = by_seed(seeds[i], SIM_FAULTS_ALL);
        struct sim_fleet_result result;

        run(&config, &result);
        sim_fleet_result_deinit(&result);
    }
}

static void test_fleets_without_faults_agree(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CALM_SEEDS; seed++) {
        struct sim_fleet_config config = by_seed(seed, 0);
        struct sim_fleet_result result;

        run(&config, &result);
        assert_true(result.totals.pieces_taken > 0);
        sim_fleet_result_deinit(&result);
    }
}

static void test_a_seed_is_the_same_everywhere(void **state)
{
    bool update = getenv("STRAIT_UPDATE_GOLDEN") != NULL;
    FILE *golden = fopen(GOLDEN, update ? "w" : "r");

    (void)state;
    assert_non_null(golden);
    for (uint64_t seed = 1; seed <= GOLDEN_SEEDS; seed++) {
        struct sim_fleet_config config = by_seed(seed, SIM_FAULTS_ALL);
        struct sim_fleet_result result;

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
        sim_fleet_result_deinit(&result);
    }
    (void)fclose(golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fleets_hold_and_everything_happens_in_them),
        cmocka_unit_test(test_fleets_that_broke_once_hold),
        cmocka_unit_test(test_fleets_without_faults_agree),
        cmocka_unit_test(test_a_seed_is_the_same_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
