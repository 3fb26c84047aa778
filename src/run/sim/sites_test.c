/* Runs over several sites in the simulator: they learn what one site learns, in every layout, by
 * every way of sharing, and it is counted what they shared and what it cost. */

#include "base/mem.h"
#include "run/cost/bill.h"
#include "run/file/set.h"
#include "run/sim/sim.h"
#include "run/testing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SITES = 3 };

/* One run, and what was seen of it. */
struct seen {
    double first_objective;
    double objective;
    uint64_t scored; /* The clock of that. */
    int64_t scored_ns;
    uint64_t wan_bytes;
    uint64_t clocks[16];
    uint32_t lives[16];
    bool shared;
    struct run_share shares[SITES];
    bool bound;
    bool priced;
    struct run_cost_part cost;
    struct run_cost_part sites[SITES];
    struct run_sim_result result;
};

static void seen_row(const struct run_row *row, const struct run_traffic *traffic, void *user)
{
    struct seen *s = user;

    if (row->evaluated && isnan(s->first_objective)) {
        s->first_objective = row->objective;
    }
    if (row->evaluated) {
        s->scored_ns = row->now_ns;
    }
    s->wan_bytes = run_traffic_total(traffic);
}

static void seen_over(const struct run_picture *p, const struct run_result *result, void *user)
{
    struct seen *s = user;
    struct run_cost *cost = NULL;
    struct err_text why;

    (void)result;
    s->objective = run_tally_score(p->tally)->objective;
    s->scored = run_tally_score(p->tally)->clock;
    s->wan_bytes = run_traffic_total(p->traffic);
    for (uint32_t i = 0; i < p->file->workers; i++) {
        s->clocks[i] = run_tally_worker(p->tally, i)->clock;
        s->lives[i] = run_tally_worker(p->tally, i)->lives;
    }
    s->shared = p->shares != NULL;
    s->bound = run_bill_bound(p);
    s->priced = run_bill_create(p, &cost, &why) == OK;
    for (uint32_t i = 0; i < p->file->sites_count; i++) {
        if (p->shares != NULL) {
            s->shares[i] = p->shares[i];
        }
        if (s->priced) {
            run_bill_site(cost, p->file, i, &s->sites[i]);
        }
    }
    if (s->priced) {
        s->cost = *run_cost_parts(cost);
    }
    run_cost_destroy(cost);
}

static void run_parsed(const struct run_file *f, struct seen *s)
{
    struct run_watcher watcher = {.row = seen_row, .over = seen_over, .user = s};
    struct run_sim_options options = {.trace = true};
    struct err_text text = {""};

    *s = (struct seen){.first_objective = NAN, .objective = NAN};
    if (run_sim(f, &watcher, &options, &s->result, &text) != OK) {
        fail_msg("%s", text.text);
    }
}

static void run_yaml(const char *yaml, struct seen *s)
{
    struct run_file *f = testing_parse(yaml);

    run_parsed(f, s);
    run_file_free(f);
}

#define REGIONS                                                                                    \
    "run: test\n"                                                                                  \
    "seed: 11\n"                                                                                   \
    "topology:\n"                                                                                  \
    "  lan: {rate: 10gbit, delay: 50us}\n"                                                         \
    "  regions:\n"                                                                                 \
    "    - {name: eu, usd_per_hour: 0.9}\n"                                                        \
    "    - {name: us, usd_per_hour: 0.8}\n"                                                        \
    "    - {name: ap, usd_per_hour: 1}\n"
#define MAP REGIONS "  default_link: {rate: 100mbit, rtt: 60ms, price: 0.02}\n"
/* A clock takes longer than the way: what others learn is not late. */
#define NEAR                                                                                       \
    REGIONS "  default_link: {rate: 100mbit, rtt: 2ms, price: 0.02}\ncompute: {gflops: 0.001}\n"
#define THREE                                                                                      \
    "sites: [{region: eu, workers: 2}, {region: us, workers: 2},\n"                                \
    "        {region: ap, workers: [{slowdown: 2}]}]\n"
#define MF                                                                                         \
    "job: {name: mf, options: {users: 60, items: 40, ratings: 900, rank: 4, batch: 100, "          \
    "lr: 0.05}}\n"
#define FORTY "evaluate: {every: 5}\nstop: {clocks: 40}\n"

static void expect_all_clocks(const struct seen *s, uint32_t workers, uint64_t clocks)
{
    if (s->result.base.end != RUN_END_CLOCKS) {
        fail_msg("%s: %s", run_end_name(s->result.base.end), s->result.base.text.text);
    }
    for (uint32_t i = 0; i < workers; i++) {
        assert_int_equal(s->clocks[i], clocks);
    }
    assert_true(s->objective < s->first_objective);
}

static void test_sites_learn_what_one_site_learns(void **state)
{
    struct seen sites, plain, lan;

    (void)state;
    run_yaml(NEAR THREE MF FORTY, &sites);
    run_yaml(NEAR THREE MF FORTY "layout: plain\n", &plain);
    run_yaml(NEAR THREE MF FORTY "layout: lan\n", &lan);
    expect_all_clocks(&sites, 5, 40);
    expect_all_clocks(&plain, 5, 40);
    expect_all_clocks(&lan, 5, 40);
    assert_true(fabs(plain.objective - lan.objective) < 0.01 * lan.objective);
    assert_true(fabs(sites.objective - lan.objective) < 0.05 * lan.objective);
    assert_int_equal(lan.wan_bytes, 0);
    assert_true(sites.wan_bytes > 0 && plain.wan_bytes > 0);
    assert_true(sites.result.base.took_ns < plain.result.base.took_ns);
    assert_true(lan.result.base.took_ns < sites.result.base.took_ns);
    assert_true(sites.shared && !plain.shared && !lan.shared);
}

static void test_the_same_file_is_the_same_run(void **state)
{
    struct seen one, two;

    (void)state;
    run_yaml(MAP THREE MF FORTY, &one);
    run_yaml(MAP THREE MF FORTY, &two);
    assert_int_equal(one.result.events, two.result.events);
    assert_int_equal(one.result.base.took_ns, two.result.base.took_ns);
    assert_int_equal(one.result.transcript_hash, two.result.transcript_hash);
    assert_int_equal(one.wan_bytes, two.wan_bytes);
    assert_memory_equal(&one.objective, &two.objective, sizeof(double));
}

static void test_every_job_learns_at_several_sites(void **state)
{
    static const struct {
        const char *job;
        uint32_t clocks;
    } jobs[] = {
        {"logreg, options: {samples: 600, features: 100, nonzeros: 6, batch: 40}", 30},
        {"lda, options: {documents: 60, vocabulary: 80, tokens: 20, topics: 4, truth: 4, batch: 5}",
         40},
        {"lenet, options: {train: 200, eval: 60, conv1: 4, conv2: 8, hidden: 16, batch: 16, "
         "warmup: 0, lr: 0.02}",
         20},
        {"mlp, options: {train: 300, eval: 60, hidden: 16, batch: 16, warmup: 0, lr: 0.05}", 40},
        {"synthetic, options: {elements: 3000, width: 10, compute_ms: 3}", 10},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        struct run_file *f;
        struct seen s;
        char yaml[2048];
        bool rising;

        (void)snprintf(yaml, sizeof(yaml),
                       NEAR THREE "job: {name: %s}\nevaluate: {every: 5}\nstop: {clocks: %u}\n",
                       jobs[i].job, jobs[i].clocks);
        f = testing_parse(yaml);
        run_parsed(f, &s);
        rising = app_find(f->job.name)->rising;
        assert_int_equal(s.result.base.end, RUN_END_CLOCKS);
        if (rising ? s.objective <= s.first_objective : s.objective >= s.first_objective) {
            fail_msg("%s: %g at first, %g at last", f->job.name, s.first_objective, s.objective);
        }
        run_file_free(f);
    }
}

static void test_async_sites_wait_for_nobody(void **state)
{
    struct seen gaia, async;

    (void)state;
    run_yaml(MAP THREE MF FORTY "between: {staleness: 1}\n", &gaia);
    run_yaml(MAP THREE MF FORTY "between: {preset: async}\n", &async);
    expect_all_clocks(&gaia, 5, 40);
    assert_int_equal(async.result.base.end, RUN_END_CLOCKS);
    for (uint32_t i = 0; i < SITES; i++) {
        assert_int_equal(async.shares[i].sums.waited_clock_ns, 0);
        assert_int_equal(async.shares[i].sums.barriers_raised, 0);
        assert_true(async.shares[i].sums.pieces_made > 0);
    }
    assert_true(gaia.shares[0].sums.waited_clock_ns > 0);
    assert_true(async.result.base.took_ns < gaia.result.base.took_ns);
}

/* Waiting as long as it takes is the same as allowing no staleness; never waiting is faster and
 * reads older values; with links so slow that it takes longer than a tenth nobody waits. */
static void test_readers_wait_for_what_is_about_to_come_and_see_it(void **state)
{
    static const char counts[] =
        "sites: [{region: eu, workers: 2}, {region: us, workers: 2}, {region: ap, workers: 2}]\n"
        "job: {name: lda, options: {documents: 60, vocabulary: 80, tokens: 20, topics: 4, truth: 4,"
        " batch: 5}}\nevaluate: {every: 5}\nstop: {clocks: 20}\n";
    static const char *const terms[] = {"staleness: 0, fresh: 0", "fresh: 1", "fresh: 0"};
    struct seen seen[3], slow;
    char yaml[2048];

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        (void)snprintf(yaml, sizeof(yaml), NEAR "%sbetween: {threshold: 0, %s}\n", counts,
                       terms[i]);
        run_yaml(yaml, &seen[i]);
    }
    assert_memory_equal(&seen[0].objective, &seen[1].objective, sizeof(double));
    assert_true(seen[2].objective != seen[1].objective);
    assert_true(seen[2].result.base.took_ns < seen[1].result.base.took_ns);
    for (uint32_t i = 0; i < SITES; i++) {
        assert_int_equal(seen[0].shares[i].sums.waited_fresh_ns, 0);
        assert_true(seen[1].shares[i].sums.waited_fresh_ns > 0);
        assert_int_equal(seen[1].shares[i].sums.waited_clock_ns, 0);
        assert_int_equal(seen[2].shares[i].sums.waited_fresh_ns, 0);
    }
    (void)snprintf(yaml, sizeof(yaml),
                   MAP "%scompute: {gflops: 0.001}\nbetween: {threshold: 0, fresh: 10%%}\n",
                   counts);
    run_yaml(yaml, &slow);
    for (uint32_t i = 0; i < SITES; i++) { /* Once for each of two others, and each of its lanes. */
        assert_true(slow.shares[i].sums.waited_fresh_ns < slow.result.base.took_ns / 10);
    }
}

static void test_a_function_of_the_users_says_what_is_significant(void **state)
{
    static const char *const names[] = {"everything", "nothing"};
    struct seen seen[2];

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        char yaml[2048];

        (void)snprintf(yaml, sizeof(yaml),
                       MAP THREE MF FORTY "between: {significance: custom %s, library: '%s', "
                                          "threshold: 1}\n",
                       names[i], TESTING_SIGNIFICANCE);
        run_yaml(yaml, &seen[i]);
        expect_all_clocks(&seen[i], 5, 40);
    }
    for (uint32_t i = 0; i < SITES; i++) {
        assert_true(run_share_insignificant(&seen[0].shares[i]) == 0);
        assert_true(seen[1].shares[i].sums.elements_sent <
                    seen[0].shares[i].sums.elements_sent / 20);
    }
}

static void test_a_library_that_is_not_there_is_refused_before_anything_starts(void **state)
{
    struct run_file *f = testing_parse(
        MAP THREE MF FORTY "between: {significance: custom a, library: /nowhere/a.so}\n");
    struct run_sim_result result;
    struct err_text text = {""};

    (void)state;
    assert_int_equal(run_sim(f, &(struct run_watcher){0}, NULL, &result, &text), ERR_NOT_FOUND);
    assert_non_null(strstr(text.text, "significance 'a': /nowhere/a.so: cannot open"));
    run_file_free(f);
}

static void test_groups_send_through_their_hubs(void **state)
{
    struct seen s;

    (void)state;
    run_yaml(MAP THREE MF FORTY "between:\n"
                                "  groups:\n"
                                "    - {name: west, sites: [eu, us], hubs: {east: [us, eu]}}\n"
                                "    - {name: east, sites: [ap], hubs: {west: ap}}\n",
             &s);
    expect_all_clocks(&s, 5, 40);
    assert_true(s.shares[1].sums.relayed > 0); /* us, for eu. */
    assert_int_equal(s.shares[0].sums.relayed, 0);
}

static void test_servers_may_broadcast_inside_of_sites(void **state)
{
    struct seen s;

    (void)state;
    run_yaml(MAP "sites: [{region: eu, servers: 2, workers: 2},\n"
                 "        {region: us, servers: [{name: x, lanes: 2}], workers: 2}]\n" MF FORTY
                 "sync: {delivery: broadcast, barrier: ssp, staleness: 1}\nshards: 4\n",
             &s);
    expect_all_clocks(&s, 4, 40);
    assert_int_equal(s.shares[0].lanes, 2);
    assert_true(s.shares[0].sums.pieces_taken > 0);
}

static void test_a_filter_keeps_back_what_is_not_significant(void **state)
{
    struct seen all, some;

    (void)state;
    run_yaml(MAP THREE MF FORTY "between: {threshold: 0, goal: cost}\n", &all);
    run_yaml(MAP THREE MF FORTY "between: {threshold: 50%, goal: cost}\n", &some);
    expect_all_clocks(&some, 5, 40);
    assert_true(some.wan_bytes < all.wan_bytes);
    for (uint32_t i = 0; i < SITES; i++) {
        assert_true(run_share_insignificant(&some.shares[i]) >
                    run_share_insignificant(&all.shares[i]) + 0.1);
        assert_true(run_share_insignificant(&some.shares[i]) < 1);
    }
}

/* Nothing is significant by the hard threshold: the soft one sinks until something is. A budget
 * that is used up keeps it where it was. */
static void test_a_budget_makes_sites_send_less(void **state)
{
#define SLOW                                                                                       \
    MAP "sites: [{region: eu, slowdown: 100}, {region: us, slowdown: 100}]\n"                      \
        "job: {name: mf, options: {users: 300, items: 200, ratings: 4500, batch: 500, lr: "        \
        "0.05}}\n"                                                                                 \
        "evaluate: {every: 5}\nstop: {clocks: 60}\ncompute: {gflops: 0.01}\n"                      \
        "between: {significance: absolute, threshold: 100}\n"
    struct seen rich, held;

    (void)state;
    run_yaml(SLOW, &rich);
    run_yaml(SLOW "budget: {max_gb: 0.000001}\n", &held);
    expect_all_clocks(&rich, 2, 60);
    expect_all_clocks(&held, 2, 60);
    assert_true(rich.shares[0].sums.soft < 0.5);
    assert_true(held.shares[0].sums.soft == 1);
    assert_true(held.shares[0].sums.elements_sent < rich.shares[0].sums.elements_sent);
    assert_true(held.wan_bytes < rich.wan_bytes);
    assert_true(held.bound && !rich.bound);
}

/* A tenth of the model on a tenth of the links, ten machines on links of one: the same run. */
static void test_a_model_at_scale_takes_the_time_of_the_whole(void **state)
{
#define SIZED(elements)                                                                            \
    MAP "sites: [{region: eu}, {region: us}]\n"                                                    \
        "job: {name: synthetic, options: {elements: " elements ", width: 10, compute_ms: 200}}\n"  \
        "between: {threshold: 0, goal: cost, staleness: 0}\nstop: {clocks: 10}\n"                  \
        "evaluate: {every: 0}\n"
    struct seen whole, part, many;

    (void)state;
    run_yaml(SIZED("400000"), &whole);
    run_yaml(SIZED("40000") "links: {scale: 1/10}\n", &part);
    run_yaml(SIZED("400000") "links: {scale: 1/10, machines: 10, lan: {rate: 100gbit}}\n", &many);
    assert_true(whole.priced && part.priced);
    assert_true(fabs((double)part.wan_bytes / (double)whole.wan_bytes - 1) < 0.03);
    assert_true(fabs((double)part.result.base.took_ns / (double)whole.result.base.took_ns - 1) <
                0.03);
    assert_true(fabs((double)part.cost.transfer_nusd / (double)whole.cost.transfer_nusd - 1) <
                0.03);
    /* But for a heartbeat ahead of what all wait for. */
    assert_true(fabs((double)many.result.base.took_ns / (double)whole.result.base.took_ns - 1) <
                0.0001);
    /* Of a model ten times as large; only heartbeats are fewer. */
    assert_true(fabs((double)many.wan_bytes / (double)whole.wan_bytes / 10 - 1) < 0.001);
}

static void test_every_layout_ends_when_it_has_converged(void **state)
{
    static const char *const layouts[] = {"sites", "plain", "lan"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct run_file *f;
        char yaml[2048];
        struct seen s;

        (void)snprintf(yaml, sizeof(yaml),
                       MAP THREE MF "layout: %s\nevaluate: {every: 5}\n"
                                    "stop: {converged: {change: 0.5, clocks: 10}, clocks: 400}\n",
                       layouts[i]);
        f = testing_parse(yaml);
        run_parsed(f, &s);
        assert_int_equal(s.result.base.end, RUN_END_CONVERGED);
        assert_true(s.scored >= 15 && s.scored < 400);
        assert_int_equal(s.scored_ns, s.result.base.took_ns); /* At once. */
        run_file_free(f);
    }
}

static void test_a_training_that_diverges_ends_and_says_so(void **state)
{
    static const char *const layouts[] = {"sites", "lan"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char yaml[2048];
        struct seen s;

        (void)snprintf(yaml, sizeof(yaml),
                       MAP THREE "job: {name: mf, options: {users: 60, items: 40, ratings: 900, "
                                 "rank: 4, batch: 100, lr: 10}}\nlayout: %s\n" FORTY,
                       layouts[i]);
        run_yaml(yaml, &s);
        assert_int_equal(s.result.base.end, RUN_END_DIVERGED);
        assert_non_null(strstr(s.result.base.text.text, "diverged"));
        assert_true(s.scored < 40);
    }
}

/* The same training as on a LAN, after 4 GB of ap's and 8 of us's have gone at 12.5 MB/s. */
static void test_a_centralised_run_moves_its_data_first(void **state)
{
#define DATA                                                                                       \
    "job: {name: mf, data_gb: 20, options: {users: 60, items: 40, ratings: 900, rank: 4, batch: "  \
    "100, lr: 0.05}}\nlan_region: eu\n"
    const int64_t move_ns = INT64_C(640000000000) + 30000000;
    struct seen lan, central, late;

    (void)state;
    run_yaml(MAP THREE DATA FORTY "layout: lan\n", &lan);
    run_yaml(MAP THREE DATA FORTY "layout: centralised\n", &central);
    expect_all_clocks(&central, 5, 40);
    assert_int_equal(central.result.base.took_ns, lan.result.base.took_ns + move_ns);
    assert_int_equal(central.scored_ns, lan.scored_ns + move_ns);
    assert_memory_equal(&central.objective, &lan.objective, sizeof(double));
    assert_int_equal(lan.wan_bytes, 0);
    assert_int_equal(central.wan_bytes, UINT64_C(12000000000));
    assert_int_equal(central.cost.transfer_nusd, 240000000);
    assert_int_equal(central.cost.compute_nusd, lan.cost.compute_nusd);
    assert_true(central.cost.wait_nusd > lan.cost.wait_nusd + 300000000);
    run_yaml(MAP THREE DATA "evaluate: {every: 5}\nstop: {clocks: 40, time: 600s}\n"
                            "layout: centralised\n",
             &late);
    assert_int_equal(late.result.base.end, RUN_END_TIME);
}

/* A site sees only itself: the run is over when all together are as good as that. */
static void test_the_goal_is_that_of_all_sites_together(void **state)
{
    struct seen s;

    (void)state;
    run_yaml(MAP THREE MF "evaluate: {every: 4}\nstop: {objective: 0.5, clocks: 400}\n", &s);
    assert_int_equal(s.result.base.end, RUN_END_GOAL);
    assert_true(s.objective <= 0.5);
    assert_true(s.scored > 0 && s.scored < 400 && s.scored % 4 == 0);
    assert_int_equal(s.result.base.took_ns, s.scored_ns);
}

static void test_what_it_costs_is_known_by_site(void **state)
{
    struct run_cost_part sum = {0};
    struct seen s;

    (void)state;
    run_yaml(MAP THREE MF FORTY, &s);
    assert_true(s.priced);
    for (uint32_t i = 0; i < SITES; i++) {
        assert_true(s.sites[i].compute_nusd > 0 && s.sites[i].wait_nusd > 0);
        sum.compute_nusd += s.sites[i].compute_nusd;
        sum.wait_nusd += s.sites[i].wait_nusd;
        sum.transfer_nusd += s.sites[i].transfer_nusd;
    }
    assert_memory_equal(&sum, &s.cost, sizeof(sum));
    assert_true(s.cost.transfer_nusd > 0);
    run_yaml(MAP THREE MF FORTY "layout: plain\n", &s);
    assert_memory_equal(&s.sites[0], &s.cost, sizeof(s.cost));
}

static void test_workers_and_links_may_fail(void **state)
{
    struct seen s;

    (void)state;
    run_yaml(MAP THREE MF FORTY "faults: [at 300ms kill w1 for 200ms, at 500ms cut eu ap for 2s, "
                                "at 1s kill w4 for 100ms]\n",
             &s);
    expect_all_clocks(&s, 5, 40);
    assert_int_equal(s.result.fired[SIM_FAULT_KILL], 2);
    assert_int_equal(s.result.fired[SIM_FAULT_CUT], 1);
}

/* All hosts of it at once; it comes back with a copy of another site's model. */
static void test_a_site_may_fail(void **state)
{
    struct seen s;

    (void)state;
    run_yaml(MAP THREE MF "evaluate: {every: 5}\nstop: {clocks: 150}\n"
                          "faults: [at 600ms kill site us for 1s]\n",
             &s);
    if (s.result.base.end != RUN_END_CLOCKS) {
        fail_msg("%s", s.result.base.text.text);
    }
    assert_int_equal(s.result.fired[SIM_FAULT_KILL], 3);
    assert_int_equal(s.lives[1], 1);
    assert_int_equal(s.lives[2], 2);
    assert_int_equal(s.lives[3], 2);
    assert_true(s.shares[0].sums.copies + s.shares[2].sums.copies > 0);
}

static void test_storms_are_survived(void **state)
{
    static const char *const syncs[] = {"{deadline: 20s, delivery: broadcast}",
                                        "{deadline: 20s, delivery: pull, barrier: ssp}"};
    uint32_t deaths = 0;

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        struct run_file *f;
        struct seen s;
        char yaml[2048];

        (void)snprintf(yaml, sizeof(yaml),
                       MAP THREE MF "sync: %s\nevaluate: {every: 50}\nstop: {clocks: 400}\n"
                                    "compute: {gflops: 0.0015}\n"
                                    "faults: [storm from 500ms to 4s every 200ms]\n",
                       syncs[i % 2]);
        f = testing_parse(yaml);
        f->seed = 300 + i;
        run_parsed(f, &s);
        if (s.result.base.end != RUN_END_CLOCKS) {
            fail_msg("seed %u: %s", 300 + i, s.result.base.text.text);
        }
        for (uint32_t w = 0; w < 5; w++) {
            assert_int_equal(s.clocks[w], 400);
            deaths += s.lives[w] - 1;
        }
        run_file_free(f);
    }
    assert_true(deaths > 5);
}

static void test_a_fault_of_a_site_is_refused_with_its_line(void **state)
{
    struct err_text text = {""};
    struct run_file *f = testing_parse(MAP THREE MF FORTY "faults:\n"
                                                          "  - at 1s kill site eu for 2s\n"
                                                          "  - at 2s kill site us for nothing\n"
                                                          "  - at 2s kill w0 for 1s\n");

    (void)state;
    assert_int_equal(run_sim_check(f, "test.yaml", &text), ERR_MALFORMED);
    assert_non_null(strstr(text.text, "test.yaml:17: faults[1]: "));
    run_file_free(f);
}

/* Every allocation that is not a host's. */
static void test_no_memory_is_told(void **state)
{
    struct run_file *f = testing_parse(
        MAP "sites: [{region: eu}, {region: us}]\nbetween:\n"
            "  groups: [{name: a, sites: [eu], hubs: {b: eu}}, {name: b, sites: [us]}]\n"
            "job: {name: synthetic, options: {elements: 100}}\nstop: {clocks: 2}\n");

    (void)state;
    testing_starve(f, 30);
    run_file_free(f);
}

static void load(const char *setting, struct run_file **file_out)
{
    static const char path[] = STRAIT_SOURCE_DIR "/runs/gaia-mf-3.yaml";
    struct err_text text = {""};

    if (run_set_load(path, &setting, 1, file_out, &text) != OK) {
        fail_msg("%s", text.text);
    }
}

static void test_the_example_comes_near_to_one_site_on_a_lan(void **state)
{
    static const char *const settings[] = {"layout=sites", "layout=lan"};
    struct seen s[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct run_file *f;

        load(settings[i], &f);
        run_parsed(f, &s[i]);
        assert_int_equal(s[i].result.base.end, RUN_END_CLOCKS);
        assert_true(s[i].priced);
        run_file_free(f);
    }
    assert_true(s[1].objective < 0.2 * s[1].first_objective);
    assert_true(fabs(s[0].objective - s[1].objective) < 0.02 * s[1].objective);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sites_learn_what_one_site_learns),
        cmocka_unit_test(test_the_same_file_is_the_same_run),
        cmocka_unit_test(test_every_job_learns_at_several_sites),
        cmocka_unit_test(test_async_sites_wait_for_nobody),
        cmocka_unit_test(test_readers_wait_for_what_is_about_to_come_and_see_it),
        cmocka_unit_test(test_a_function_of_the_users_says_what_is_significant),
        cmocka_unit_test(test_a_library_that_is_not_there_is_refused_before_anything_starts),
        cmocka_unit_test(test_groups_send_through_their_hubs),
        cmocka_unit_test(test_servers_may_broadcast_inside_of_sites),
        cmocka_unit_test(test_a_filter_keeps_back_what_is_not_significant),
        cmocka_unit_test(test_a_budget_makes_sites_send_less),
        cmocka_unit_test(test_a_model_at_scale_takes_the_time_of_the_whole),
        cmocka_unit_test(test_every_layout_ends_when_it_has_converged),
        cmocka_unit_test(test_a_training_that_diverges_ends_and_says_so),
        cmocka_unit_test(test_a_centralised_run_moves_its_data_first),
        cmocka_unit_test(test_the_goal_is_that_of_all_sites_together),
        cmocka_unit_test(test_what_it_costs_is_known_by_site),
        cmocka_unit_test(test_workers_and_links_may_fail),
        cmocka_unit_test(test_a_site_may_fail),
        cmocka_unit_test(test_storms_are_survived),
        cmocka_unit_test(test_a_fault_of_a_site_is_refused_with_its_line),
        cmocka_unit_test(test_no_memory_is_told),
        cmocka_unit_test(test_the_example_comes_near_to_one_site_on_a_lan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
