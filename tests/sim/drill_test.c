/* Drills: whole sites under every kind of fault, by seed, with all invariants checked as things
 * happen. The first seeds have their transcripts' hashes in tests/sim/drill.hashes, so that every
 * compiler is held to the same bytes; STRAIT_UPDATE_GOLDEN=1 writes them anew. With STRAIT_LONG=1
 * there are more than three times as many. */

#include "sim/stress/drill.h"

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

enum {
    SEEDS = 150,
    SEEDS_LONG = 2000,
    GOLDEN_SEEDS = 40,
    ALONE_SEEDS = 8,
    ORDER_SEEDS = 12,
    SCRIPT_SEEDS = 60,
    BARRIERS = 3,
};

static const char *const barriers[BARRIERS] = {"bsp", "ssp", "tap"};

/* What happened, by barrier and delivery. */
struct tally {
    uint64_t runs;
    uint64_t updates;
    uint64_t rebases;
    uint64_t restores;
    uint64_t duplicates;
    uint64_t refused;
    uint64_t snapshots;
    uint64_t checkpoints;
};

static void run(const struct sim_drill_config *config, struct sim_drill_result *result)
{
    struct err_text text = {0};

    if (sim_drill_run(config, result, &text) != OK) {
        fail_msg("seed %" PRIu64 ": %s", config->seed, text.text);
    }
    if (result->verdict[0] != '\0') {
        fail_msg("seed %" PRIu64 ", faults %" PRIx64 ": %s (%s)", config->seed, config->faults,
                 result->verdict, result->about);
    }
}

static struct sim_drill_config by_seed(uint64_t seed, uint64_t faults)
{
    return (struct sim_drill_config){
        .seed = seed, .delivery = -1, .checkpoints = -1, .faults = faults};
}

static void tally_add(struct tally *t, const struct sim_drill_result *r)
{
    t->runs++;
    t->updates += r->totals.updates;
    t->rebases += r->totals.rebases;
    t->restores += r->totals.restores;
    t->duplicates += r->totals.duplicates;
    t->refused += r->totals.refused;
    t->snapshots += r->totals.snapshots;
    t->checkpoints += r->totals.checkpoints;
}

static void tally_print(const struct tally *t, const char *barrier, enum node_delivery delivery)
{
    print_message("%s %s: %" PRIu64 " runs, %" PRIu64 " updates, %" PRIu64 " rebases, %" PRIu64
                  " restores, %" PRIu64 " duplicates, %" PRIu64 " refused, %" PRIu64
                  " snapshots, %" PRIu64 " checkpoints\n",
                  barrier, node_delivery_name(delivery), t->runs, t->updates, t->rebases,
                  t->restores, t->duplicates, t->refused, t->snapshots, t->checkpoints);
}

/* Every cell has seen enough of everything that can happen in it: of all seeds, that is. */
static void tally_judge(const struct tally *t, const char *barrier, enum node_delivery delivery)
{
    bool rounds = sync_policy_find(barrier)->rounds; /* Without rounds nobody is ever late. */

    assert_true(t->runs > SEEDS_LONG / 10);
    assert_true(t->updates > 50 * t->runs);
    assert_true(t->rebases > 5);
    assert_true(t->restores > 15);
    assert_true(!rounds || t->refused > 50);
    assert_true(t->duplicates > 0); /* Lanes start from what they acknowledged: there are few. */
    assert_true(t->checkpoints > t->runs);
    assert_true(delivery == NODE_PULL || t->snapshots > t->runs);
}

static void test_thousands_of_drills_hold_and_everything_happens_in_them(void **state)
{
    struct tally tallies[BARRIERS][2] = {{{0}}};
    const uint64_t seeds = getenv("STRAIT_LONG") != NULL ? SEEDS_LONG : SEEDS;
    uint64_t fired[SIM_FAULT_KINDS] = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct sim_drill_config config = by_seed(seed, SIM_FAULTS_ALL);
        struct sim_drill_result result;

        run(&config, &result);
        for (int i = 0; i < SIM_FAULT_KINDS; i++) {
            fired[i] += result.fired[i];
        }
        for (int b = 0; b < BARRIERS; b++) {
            if (strcmp(result.site.sync.policy->name, barriers[b]) == 0) {
                tally_add(&tallies[b][result.site.delivery == NODE_BROADCAST], &result);
            }
        }
        sim_drill_result_deinit(&result);
    }
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        print_message("%s %" PRIu64 "\n", sim_fault_name((enum sim_fault_kind)i), fired[i]);
        assert_true(fired[i] > (seeds == SEEDS_LONG ? seeds / 20 : 0));
    }
    for (int b = 0; b < BARRIERS; b++) {
        tally_print(&tallies[b][0], barriers[b], NODE_PULL);
        tally_print(&tallies[b][1], barriers[b], NODE_BROADCAST);
    }
    for (int b = 0; b < BARRIERS && seeds == SEEDS_LONG; b++) {
        tally_judge(&tallies[b][0], barriers[b], NODE_PULL);
        tally_judge(&tallies[b][1], barriers[b], NODE_BROADCAST);
    }
}

static void test_each_kind_of_fault_alone_and_none_at_all_hold(void **state)
{
    (void)state;
    for (int kind = -1; kind < SIM_FAULT_KINDS; kind++) {
        for (uint64_t seed = 1; seed <= ALONE_SEEDS; seed++) {
            struct sim_drill_config config =
                by_seed(seed, kind < 0 ? 0 : UINT64_C(1) << (unsigned)kind);
            struct sim_drill_result result;

            run(&config, &result);
            sim_drill_result_deinit(&result);
        }
    }
}

/* The values of a job on so many servers, without faults. */
static uint64_t values_on(uint64_t seed, uint32_t servers, bool fixed)
{
    struct sim_drill_config config = {.seed = seed,
                                      .barrier = "bsp",
                                      .delivery = (int)(seed % 2),
                                      .checkpoints = 0,
                                      .workers = 5,
                                      .servers = servers,
                                      .fixed_order = fixed,
                                      .deadline_ns = INT64_C(120000000000),
                                      .rough = true};
    struct sim_drill_result result;

    run(&config, &result);
    sim_drill_result_deinit(&result);
    return result.values_hash;
}

static void test_with_a_fixed_order_values_do_not_depend_on_the_servers(void **state)
{
    uint32_t differ = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= ORDER_SEEDS; seed++) {
        assert_true(values_on(seed, 1, true) == values_on(seed, 3, true));
        differ += values_on(seed, 1, false) != values_on(seed, 3, false);
    }
    assert_true(differ > 0); /* Else order would not matter in these jobs. */
}

static void test_transcripts_are_the_same_bytes_everywhere(void **state)
{
    const char *path = "tests/sim/drill.hashes";
    bool update = getenv("STRAIT_UPDATE_GOLDEN") != NULL;
    FILE *file = fopen(path, update ? "we" : "re");

    (void)state;
    assert_non_null(file);
    for (uint64_t seed = 1; seed <= GOLDEN_SEEDS; seed++) {
        struct sim_drill_config config = by_seed(seed, SIM_FAULTS_ALL);
        struct sim_drill_result result;
        uint64_t golden_seed, golden_hash;

        run(&config, &result);
        if (update) {
            (void)fprintf(file, "%" PRIu64 " %016" PRIx64 "\n", seed, result.transcript_hash);
        } else {
            assert_int_equal(fscanf(file, "%" SCNu64 " %" SCNx64, &golden_seed, &golden_hash), 2);
            assert_true(golden_seed == seed);
            if (golden_hash != result.transcript_hash) {
                fail_msg("seed %" PRIu64 ": the transcript is not what it was", seed);
            }
        }
        sim_drill_result_deinit(&result);
    }
    assert_int_equal(fclose(file), 0);
}

static void test_keeping_the_transcript_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ALONE_SEEDS; seed++) {
        struct sim_drill_config config = by_seed(seed, SIM_FAULTS_ALL);
        struct sim_drill_result plain, kept;

        run(&config, &plain);
        config.trace = true;
        run(&config, &kept);
        assert_true(plain.transcript_hash == kept.transcript_hash);
        assert_true(kept.transcript.size > 0);
        sim_drill_result_deinit(&plain);
        sim_drill_result_deinit(&kept);
    }
}

/* Scripts give what seeds alone do not: late joiners, early leavers, workers of different speed. */
static void test_a_described_site_holds_under_storms(void **state)
{
    static const char *const sites[] = {
        "site barrier=bsp checkpoints=2 clocks=12 tables=4 deadline=2s grace=1s\n",
        "site barrier=ssp staleness=2 checkpoints=1 clocks=12 tables=5 commit=80ms\n",
        "site barrier=tap checkpoints=3 clocks=12 tables=3 shards=7\n",
    };
    const char *rest = "region eu\nregion us\nlink eu us rate=20mbit delay=30ms jitter=3ms\n"
                       "server s0 eu lanes=2\nserver s1 us\n"
                       "worker w0 eu compute=200ms\nworker w1 us streams=2\n"
                       "worker w2 us compute=10ms joins=2s\nworker w3 eu leaves=5\n"
                       "storm from 300ms to 6s every 300ms\nrun 400s\n";

    (void)state;
    for (uint64_t seed = 1; seed <= SCRIPT_SEEDS; seed++) {
        struct sim_scenario_options options = {.seed = seed};
        struct sim_scenario_result result;
        struct sim_scenario *scenario;
        struct err_text text = {0};
        char script[1024];

        (void)snprintf(script, sizeof(script), "%s%s", sites[seed % 3], rest);
        assert_int_equal(sim_scenario_parse("x", script, strlen(script), &scenario, &text), OK);
        assert_int_equal(sim_scenario_run(scenario, &options, &result, &text), OK);
        if (result.verdict[0] != '\0') {
            fail_msg("seed %" PRIu64 ": %s (%s)", seed, result.verdict, result.about);
        }
        sim_scenario_result_deinit(&result);
        sim_scenario_destroy(scenario);
    }
}

/* Seeds of strait sim --site that broke. */
static void test_seeds_that_broke_once_hold(void **state)
{
    static const uint64_t seeds[] = {
        3001991,   /* The worker that passed on the last sums by a tree left before it acknowledged
                    * them, so that nobody did. */
        3005203,   /* A server died before a worker knew that its updates were refused. */
        6002699,   /* Sums by a tree overtook the chunk that a worker waited for to open a table. */
        7007065,   /* There was no room to tell a worker that it had missed a deadline. */
        8001713,   /* A worker had no memory to ask for the site, and never asked again. */
        5001132,   /* A worker that joined anew discarded the only copy. */
        5000034,   /* A worker gave up more clocks than it said; */
        7002596,   /* it took acknowledgements of refused frames for others; */
        41000670,  /* the end of a refused clock counted. */
        8002559,   /* A server that stood still itself gave its workers no time to come back. */
        31007959,  /* A worker with a newer copy came while another one's was fetched. */
        31010960,  /* A worker that had been a member was admitted as a new one after a restart. */
        31016763,  /* The only copy of a table was with a worker that stood still. */
        61008166,  /* A lane took a new worker for the first of a site that others knew. */
        101013626, /* Rows that were cached before a server went back passed for newer ones. */
        111008861, /* A copy that was offered and did not come was not reported as lost; */
        600009653, /* nor what a server had not any more when a worker left it. */
        1795134498013, /* Nor what it had acknowledged before it left the worker out once. */
        600007397,     /* The first server began anew beside another one that had restarted too. */
        51004483, /* Several rounds closed before a worker below a tree was told of the first. */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        struct sim_drill_config config = by_seed(seeds[i], SIM_FAULTS_ALL);
        struct sim_drill_result result;

        run(&config, &result);
        sim_drill_result_deinit(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thousands_of_drills_hold_and_everything_happens_in_them),
        cmocka_unit_test(test_each_kind_of_fault_alone_and_none_at_all_hold),
        cmocka_unit_test(test_with_a_fixed_order_values_do_not_depend_on_the_servers),
        cmocka_unit_test(test_transcripts_are_the_same_bytes_everywhere),
        cmocka_unit_test(test_keeping_the_transcript_changes_nothing),
        cmocka_unit_test(test_a_described_site_holds_under_storms),
        cmocka_unit_test(test_seeds_that_broke_once_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
