/* Runs around a centre in the simulator: they take the time that plans say, learn what one site
 * learns, and go on by another plan when links or sites fail, without losing or repeating an
 * update. */

#include "base/mem.h"
#include "plan/place.h"
#include "run/sim/sim.h"
#include "run/testing.h"
#include "topo/file.h"

#include <math.h>
#include <stdlib.h>

enum { SITES_MAX = 64, CLOCKS_MAX = 256 };

/* Where sanitizers look at it there is less of it. */
static bool is_long(void)
{
    return getenv("STRAIT_LONG") != NULL;
}

/* One run, and what was seen of it. */
struct seen {
    double ended_s[CLOCKS_MAX]; /* By clock. */
    uint64_t clocks;
    double objective;
    double accuracy;
    uint32_t plans;
    char plan[256]; /* The last one. */
    struct run_share shares[SITES_MAX];
    uint64_t bytes; /* Between regions. */
    struct run_sim_result result;
};

static void seen_row(const struct run_row *row, const struct run_traffic *traffic, void *user)
{
    struct seen *s = user;

    (void)traffic;
    assert_true(row->clock < CLOCKS_MAX);
    s->ended_s[row->clock] = (double)row->now_ns * 1e-9;
    s->clocks = row->clock > s->clocks ? row->clock : s->clocks;
}

static void seen_event(int64_t now_ns, const char *kind, const char *who, const char *text,
                       void *user)
{
    struct seen *s = user;

    (void)now_ns;
    (void)who;
    if (strcmp(kind, "plan") == 0) {
        s->plans++;
        (void)snprintf(s->plan, sizeof(s->plan), "%s", text);
    }
}

static void seen_over(const struct run_picture *p, const struct run_result *result, void *user)
{
    struct seen *s = user;

    (void)result;
    s->objective = run_tally_score(p->tally)->objective;
    s->accuracy = run_tally_score(p->tally)->accuracy;
    s->bytes = run_traffic_total(p->traffic);
    for (uint32_t i = 0; i < p->file->sites_count && p->shares != NULL; i++) {
        s->shares[i] = p->shares[i];
    }
}

static void run_parsed(const struct run_file *f, struct seen *s)
{
    struct run_watcher watcher = {
        .row = seen_row, .event = seen_event, .over = seen_over, .user = s};
    struct run_sim_options options = {.trace = false};
    struct err_text text = {""};

    *s = (struct seen){.objective = NAN};
    if (run_sim(f, &watcher, &options, &s->result, &text) != OK) {
        fail_msg("%s", text.text);
    }
    assert_int_equal(s->result.base.end, RUN_END_CLOCKS);
}

static void run_yaml(const char *yaml, struct seen *s)
{
    struct run_file *f = testing_parse(yaml);

    run_parsed(f, s);
    run_file_free(f);
}

/* What plans say. */

static const char *region_name(const struct topo_graph *g, uint32_t node)
{
    return g->nodes[node].id;
}

/* A run file with one worker in each region, and the best plan of all. */
static void plan_yaml(const struct topo *t, double bytes, double scale, double reserve,
                      struct text *out, double *time_s)
{
    struct plan_place_problem problem = {.bytes = bytes,
                                         .model = PLAN_PLACE_PIPELINED,
                                         .duplex = topo_duplex(t),
                                         .reserve = reserve,
                                         .paths = PLAN_PLACE_AUTO,
                                         .server = PLAN_PLACE_NOWHERE};
    const struct plan_place_effort effort = {.method = PLAN_PLACE_EXACT, .draws = 50, .seed = 1};
    struct plan_place_answer answer;
    struct err_text text = {""};
    struct topo_graph *g = NULL;

    assert_int_equal(topo_graph_from(t, NULL, &g, &text), OK);
    problem.graph = g;
    if (plan_place_solve(&problem, &effort, &answer, &text) != OK) {
        fail_msg("%s", text.text);
    }
    assert_true(answer.optimal);
    *time_s = answer.time_s;
    text_add(out, "run: plan\ntopology:\n  ");
    topo_print(t, 2, out);
    text_addf(out, "\nlinks: {scale: %.6g, lan: {rate: 2000gbit, delay: 50us}}\nsites:\n", scale);
    for (uint32_t i = 0; i < topo_regions(t); i++) {
        text_addf(out, "  - {region: %s}\n", topo_region_at(t, i)->name);
    }
    text_addf(out,
              "between:\n  preset: central\n  reserve: %g\n  plan:\n    server: %s\n    flows:\n",
              reserve, region_name(g, answer.server));
    for (uint32_t i = 0; i < answer.flows_count; i++) {
        const struct plan_place_flow *f = &answer.flows[i];

        text_addf(out, "      - {from: %s, mbps: %.9g, path: [", region_name(g, f->from), f->mbps);
        for (uint32_t k = 0; k <= f->hops; k++) {
            text_addf(out, "%s%s", k == 0 ? "" : ", ", region_name(g, f->nodes[k]));
        }
        text_add(out, "]}\n");
    }
    text_addf(out,
              "job: {name: synthetic, options: {elements: %.0f, fine: 10, chunk: 6000}}\n"
              "compute: {time: 1ms}\nevaluate: {every: 0}\nstop: {clocks: 5}\n",
              bytes * scale / 4);
    plan_place_answer_deinit(&answer);
    topo_graph_free(g);
}

static void expect_planned_time(const char *name, enum topo_duplex duplex, double reserve)
{
    struct err_text text = {""};
    struct topo *t = NULL;
    struct text yaml;
    struct seen s;
    double time_s, took_s;

    if (topo_file_load(name, &t, &text) != OK) {
        fail_msg("%s", text.text);
    }
    topo_duplex_set(t, duplex);
    assert_int_equal(text_init(&yaml, 1 << 18), OK);
    plan_yaml(t, 2e9, 0.003, reserve, &yaml, &time_s);
    assert_false(yaml.failed);
    run_yaml(yaml.chars, &s);
    took_s = (s.ended_s[5] - s.ended_s[2]) / 3;
    print_message("%s, %s, %g %% left: planned %.3f s, took %.3f s (%+.1f %%)\n",
                  strrchr(name, '/') + 1, duplex == TOPO_DUPLEX_FULL ? "full" : "shared",
                  reserve * 100, time_s, took_s, (took_s / time_s - 1) * 100);
    assert_true(fabs(took_s / time_s - 1) < 0.05);
    assert_int_equal(s.plans, 1);
    text_deinit(&yaml);
    topo_destroy(t);
}

static void test_a_run_takes_the_time_that_its_plan_says(void **state)
{
    (void)state;
    expect_planned_time(STRAIT_SOURCE_DIR "/topologies/internet2.json", TOPO_DUPLEX_SHARED, 0);
    if (is_long()) {
        expect_planned_time(STRAIT_SOURCE_DIR "/topologies/internet2.json", TOPO_DUPLEX_FULL, 0);
        expect_planned_time(STRAIT_SOURCE_DIR "/topologies/b4.json", TOPO_DUPLEX_FULL, 0);
        expect_planned_time(STRAIT_SOURCE_DIR "/topologies/b4.json", TOPO_DUPLEX_FULL, 0.05);
        expect_planned_time(STRAIT_SOURCE_DIR "/topologies/b4.json", TOPO_DUPLEX_SHARED, 0);
    }
}

/* Sites that are joined by some links only. */

#define RING                                                                                       \
    "run: ring\n"                                                                                  \
    "topology:\n"                                                                                  \
    "  regions: [a, b, c, d, e]\n"                                                                 \
    "  links:\n"                                                                                   \
    "    - {between: [a, b], rate: 80mbit, delay: 10ms}\n"                                         \
    "    - {between: [b, c], rate: 80mbit, delay: 10ms}\n"                                         \
    "    - {between: [c, d], rate: 40mbit, delay: 10ms}\n"                                         \
    "    - {between: [d, a], rate: 40mbit, delay: 10ms}\n"                                         \
    "    - {between: [c, e], rate: 80mbit, delay: 10ms}\n"                                         \
    "    - {between: [d, e], rate: 40mbit, delay: 10ms}\n"
#define FIVE "sites: [{region: a}, {region: b}, {region: c}, {region: d}, {region: e}]\n"
#define MOVE(clocks)                                                                               \
    "job: {name: synthetic, options: {elements: 400000, fine: 10, chunk: 10000}}\n"                \
    "compute: {time: 10ms}\nevaluate: {every: 10}\nstop: {clocks: " clocks "}\n"

/* Every update of every worker is in the model, once. */
static void expect_exact(const struct seen *s, uint64_t clocks, uint32_t workers)
{
    assert_int_equal(s->clocks, clocks);
    assert_true(s->objective == (double)(clocks * workers));
    assert_true(s->accuracy == 1);
}

static void test_sites_learn_what_one_site_learns(void **state)
{
#define LEARN(layout)                                                                              \
    RING "sites: [{region: a, workers: 2}, {region: b}, {region: c, workers: 2}, {region: d}]\n"   \
         "between: {preset: central}\nlayout: " layout "\n"                                        \
         "job: {name: mf, options: {rank: 4, users: 60, items: 40, ratings: 1200}}\n"              \
         "compute: {time: 10ms}\nsync: {order: fixed}\n"                                           \
         "evaluate: {every: 10}\nstop: {clocks: 20}\n"
    struct seen apart, together, again;

    (void)state;
    run_yaml(LEARN("sites"), &apart);
    run_yaml(LEARN("sites"), &again);
    run_yaml(LEARN("lan"), &together);
    assert_true(fabs(apart.objective / together.objective - 1) < 1e-4);
    assert_true(apart.objective == again.objective);
    assert_true(apart.ended_s[20] == again.ended_s[20]);
}

static void test_every_way_of_it_is_exact(void **state)
{
    static const char *const ways[] = {
        "sync: {delivery: broadcast}\n",
        "sync: {order: fixed}\n",
        "shards: 4\n",
        "",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i += is_long() ? 1 : 2) {
        char yaml[4096];
        struct seen s;

        (void)snprintf(yaml, sizeof(yaml),
                       RING "sites: [{region: a, lanes: 2, workers: 2}, {region: b, servers: 2},\n"
                            "        {region: c, lanes: 2}, {region: d, lanes: 2},\n"
                            "        {region: e, lanes: 2, workers: 3}]\n"
                            "between: {preset: central}\n" MOVE("20") "%s",
                       ways[i]);
        run_yaml(yaml, &s);
        expect_exact(&s, 20, 8);
        for (uint32_t k = 0; k < 5; k++) {
            assert_true(s.shares[k].around);
            assert_int_equal(s.shares[k].lanes, 2);
        }
    }
}

static void test_who_may_not_pass_on_does_not(void **state)
{
    struct seen free_run, held;

    (void)state;
    run_yaml(RING FIVE "between: {preset: central, centre: b}\n" MOVE("10"), &free_run);
    run_yaml(RING FIVE "between: {preset: central, centre: b, no_relay: [c]}\n" MOVE("10"), &held);
    expect_exact(&free_run, 10, 5);
    expect_exact(&held, 10, 5);
    assert_true(free_run.shares[2].central.passed > 0);
    assert_int_equal(held.shares[2].central.passed, 0);
    assert_true(held.shares[0].central.passed > 0); /* So it goes by a. */
    assert_true(held.ended_s[10] > free_run.ended_s[10] * 1.5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(held.shares[i].central.sums_taken > 0, i == 1);
    }
}

/* How long the clock took that ended last before @at_s; evaluations come in between. */
static double round_at(const struct seen *s, double at_s)
{
    double took_s = 0;

    for (uint64_t i = 2; i <= s->clocks; i++) {
        if (s->ended_s[i] < at_s && i % 10 > 2) {
            took_s = s->ended_s[i] - s->ended_s[i - 1];
        }
    }
    return took_s;
}

static void test_a_cut_means_another_plan_and_its_end_the_best_one_again(void **state)
{
    struct seen s;

    (void)state;
    run_yaml(RING FIVE "between: {preset: central, away: 20s}\n" MOVE(
                 "80") "faults: [at 5s cut b c for 15s]\n",
             &s);
    expect_exact(&s, 80, 5);
    assert_int_equal(s.plans, 3);
    assert_non_null(strstr(s.plan, "because the link b - c has changed"));
    assert_true(round_at(&s, 15) > 1.5 * round_at(&s, 5));
    assert_true(round_at(&s, 1e9) < 1.1 * round_at(&s, 5));
}

/* The plans that sites make on their own too. */
static void test_every_plan_leaves_to_others_what_it_is_told_to(void **state)
{
    static const double at_s[] = {5, 20, 1e9}; /* Before the cut, in it, and behind it. */
    struct seen all, half;

    (void)state;
    run_yaml(RING FIVE "between: {preset: central, away: 60s}\n" MOVE(
                 "80") "faults: [at 5s cut b c for 15s]\n",
             &all);
    run_yaml(RING FIVE "between: {preset: central, away: 60s, reserve: 50%}\n" MOVE(
                 "40") "faults: [at 5s cut b c for 15s]\n",
             &half);
    expect_exact(&half, 40, 5);
    assert_true(half.plans >= 2);
    for (size_t i = 0; i < 3; i++) {
        double ratio = round_at(&half, at_s[i]) / round_at(&all, at_s[i]);

        print_message("before %g s: rounds of %.2f s and %.2f s\n", at_s[i],
                      round_at(&all, at_s[i]), round_at(&half, at_s[i]));
        assert_true(ratio > 1.6 && ratio < 2.2);
    }
}

static void test_a_link_that_is_slow_is_left_and_tried_again(void **state)
{
    struct seen s;

    (void)state;
    run_yaml(RING FIVE "between: {preset: central}\n" MOVE(
                 "160") "faults: [at 5s slow b c 10% for 20s, at 5s slow c b 10% for 20s]\n",
             &s);
    expect_exact(&s, 160, 5);
    assert_true(s.plans >= 3);
    assert_true(round_at(&s, 25) < 3 * round_at(&s, 5)); /* Not ten times as long. */
    assert_true(round_at(&s, 1e9) < 1.1 * round_at(&s, 5));
}

static void test_sites_may_fail_the_centre_too(void **state)
{
    static const char *const faults[] = {
        "at 5s kill site b for 12s", "at 5s kill site c for 12s", "at 5s kill site e for 12s",
        "at 5s kill c-s0 for 500ms", "at 5s kill w1 for 2s",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        char yaml[4096];
        struct seen s;

        (void)snprintf(yaml, sizeof(yaml),
                       RING FIVE
                       "between: {preset: central, away: 3s}\n" MOVE("60") "faults: [%s]\n",
                       faults[i]);
        run_yaml(yaml, &s);
        assert_int_equal(s.clocks, 60);
        assert_true(s.objective > 0 && s.objective <= 300);
        assert_true(s.accuracy == 1);
        assert_true(round_at(&s, 1e9) < 1.1 * round_at(&s, 5));
    }
}

/* With checkpoints everything may fail at once: the newest of all sites counts. */
static void test_all_sites_go_on_from_checkpoints(void **state)
{
    struct seen whole, one, servers;

    (void)state;
    run_yaml(RING FIVE "between: {preset: central}\n" MOVE(
                 "30") "checkpoint: {every: 3}\n"
                       "faults: [at 3s kill site a for 1s, at 3s kill site b for 1s,\n"
                       "         at 3s kill site c for 1s, at 3s kill site d for 1s,\n"
                       "         at 3s kill site e for 1s]\n",
             &whole);
    expect_exact(&whole, 30, 5); /* Workers begin again where the checkpoints are. */
    run_yaml(RING FIVE "between: {preset: central}\n" MOVE(
                 "30") "checkpoint: {every: 3}\n"
                       "faults: [at 3s kill a-s0 for 1s, at 3s kill b-s0 for 1s,\n"
                       "         at 3s kill c-s0 for 1s, at 3s kill d-s0 for 1s,\n"
                       "         at 3s kill e-s0 for 1s]\n",
             &servers);
    assert_int_equal(servers.clocks, 30);
    assert_true(servers.objective >= 5 * 26 && servers.objective <= 5 * 30);
    run_yaml(RING FIVE
             "between: {preset: central}\n" MOVE("30") "checkpoint: {every: 3}\n"
                                                       "faults: [at 3s kill site b for 1s]\n",
             &one);
    assert_int_equal(one.clocks, 30);
    assert_true(one.shares[1].central.wholes_taken > 0); /* Others are ahead of its checkpoint. */
    assert_true(one.objective > 5 * 29 && one.objective <= 5 * 30);
}

/* The centre's disk is full all the time, others' fail now and then: rounds go on, and when all
 * have died the newest checkpoint that is whole counts. The centre has none: its worker begins too
 * early, and is told. */
static void test_disks_may_fail(void **state)
{
#define DISKS                                                                                      \
    RING FIVE "between: {preset: central, centre: b}\n" MOVE(                                      \
        "30") "checkpoint: {every: 3}\n"                                                           \
              "faults: [at 100ms disk-full b-s0 1000, at 1s disk-short c-s0 3,\n"                  \
              "         at 1s disk-sync a-s0 2, at 2s disk-rename d-s0 2"
#define DIE(site) ", at 4200ms kill site " site " for 1s"
    struct seen alive, died;

    (void)state;
    run_yaml(DISKS "]\n", &alive);
    expect_exact(&alive, 30, 5);
    run_yaml(DISKS DIE("a") DIE("b") DIE("c") DIE("d") DIE("e") "]\n", &died);
    assert_int_equal(died.clocks, 30);
    assert_true(died.accuracy == 1);
    /* Of each worker the update of an open round may be lost. */
    assert_true(died.objective >= 5 * 30 - 5 && died.objective <= 5 * 30);
}

static void test_a_plan_that_no_longer_pays_is_not_made(void **state)
{
    struct seen s;

    (void)state;
    /* The link is back 10 clocks before the end: too few for what beginning anew takes. */
    run_yaml(RING FIVE "between: {preset: central, away: 20s}\n" MOVE(
                 "30") "faults: [at 5s cut b c for 10s]\n",
             &s);
    expect_exact(&s, 30, 5);
    assert_int_equal(s.plans, 2);
}

/* All sites are joined with all others, and all links come up in the first second. */
static void run_mesh(uint32_t sites, uint32_t clocks, struct seen *s)
{
    struct text yaml;

    assert_int_equal(text_init(&yaml, 1 << 20), OK);
    text_add(&yaml, "run: mesh\ntopology:\n  strait_topology: 1\n  name: mesh\n  regions:\n");
    for (uint32_t i = 0; i < sites; i++) {
        text_addf(&yaml, "    - {name: r%u}\n", i);
    }
    text_add(&yaml, "  lan: {rate: 10gbit, delay: 50us}\n  links:\n");
    for (uint32_t i = 0; i < sites; i++) {
        for (uint32_t k = 0; k < i; k++) {
            text_addf(&yaml, "    - {between: [r%u, r%u], rate: %umbit, rtt: %ums}\n", k, i,
                      100 + (i * 37 + k * 91) % 900, 10 + (i * 53 + k * 29) % 190);
        }
    }
    text_add(&yaml, "sites:\n");
    for (uint32_t i = 0; i < sites; i++) {
        text_addf(&yaml, "  - {region: r%u}\n", i);
    }
    text_addf(&yaml,
              "between: {preset: central}\n"
              "job: {name: synthetic, options: {elements: 100, fine: 10}}\n"
              "compute: {time: 10ms}\nevaluate: {every: 0}\nstop: {clocks: %u}\n",
              clocks);
    run_yaml(yaml.chars, s);
    text_deinit(&yaml);
}

/* Each site tells each other one what changed, in batches, and nobody repeats it. What that takes
 * is counted, not timed. */
static void test_in_a_full_mesh_words_and_plans_go_to_each_site_once(void **state)
{
    uint32_t sites = is_long() ? 64 : 22, clocks = is_long() ? 20 : 5;
    uint64_t words = 0, messages = 0, plans = 0;
    struct seen s;

    (void)state;
    run_mesh(sites, clocks, &s);
    assert_int_equal(s.clocks, clocks);
    for (uint32_t i = 0; i < sites; i++) {
        words += s.shares[i].central.words_sent;
        messages += s.shares[i].central.plans_sent;
        plans += s.shares[i].central.plans;
    }
    assert_in_range(messages, 1, plans * sites);
    assert_in_range(words, 1, 20 * (uint64_t)sites * sites);
    assert_in_range(s.bytes, 1, 20000 * (uint64_t)sites * sites); /* Mostly sessions. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_takes_the_time_that_its_plan_says),
        cmocka_unit_test(test_sites_learn_what_one_site_learns),
        cmocka_unit_test(test_every_way_of_it_is_exact),
        cmocka_unit_test(test_who_may_not_pass_on_does_not),
        cmocka_unit_test(test_a_cut_means_another_plan_and_its_end_the_best_one_again),
        cmocka_unit_test(test_in_a_full_mesh_words_and_plans_go_to_each_site_once),
    };
    const struct CMUnitTest more[] = {
        cmocka_unit_test(test_every_plan_leaves_to_others_what_it_is_told_to),
        cmocka_unit_test(test_a_link_that_is_slow_is_left_and_tried_again),
        cmocka_unit_test(test_sites_may_fail_the_centre_too),
        cmocka_unit_test(test_all_sites_go_on_from_checkpoints),
        cmocka_unit_test(test_disks_may_fail),
        cmocka_unit_test(test_a_plan_that_no_longer_pays_is_not_made),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    return is_long() ? failed + cmocka_run_group_tests(more, NULL, NULL) : failed;
}
