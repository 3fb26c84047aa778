/* Tests of plan/place: bounds, the best plan against all plans, rates and loads. */

#include "plan/place.h"

#include "base/mem.h"
#include "plan/place_core.h"
#include "plan/place_plain.h"
#include "plan/testing_graph.h"

/* cmocka wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#define NEAR 1e-9

/* A random problem on a graph that is small enough to try everything. */
static struct topo_graph *random_problem(struct rng *rng, struct plan_place_problem *p)
{
    uint32_t nodes = 2 + (uint32_t)rng_below(rng, 5);
    struct topo_graph *g = testing_graph(rng, nodes, (uint32_t)rng_below(rng, 5));

    *p = (struct plan_place_problem){
        .graph = g, .paths = PLAN_PLACE_AUTO, .server = PLAN_PLACE_NOWHERE};
    p->bytes = 1e6 * (1 + (double)rng_below(rng, 100));
    p->model = rng_chance(rng, 500000) ? PLAN_PLACE_HOPS : PLAN_PLACE_PIPELINED;
    p->duplex = rng_chance(rng, 500000) ? TOPO_DUPLEX_SHARED : TOPO_DUPLEX_FULL;
    p->reserve = rng_chance(rng, 300000) ? 0.25 : 0;
    return g;
}

/* The least value over all choices of paths for one server, by trying all; infinite: none. */
static double try_all(struct place_core *c)
{
    uint32_t choice[16] = {0};
    double least = INFINITY;
    uint32_t f = 0;

    while (f < c->routes.flows) {
        least = fmin(least, place_cost_of(c, choice).value);
        for (f = 0; f < c->routes.flows; f++) {
            if (++choice[f] < c->routes.first[f + 1] - c->routes.first[f]) {
                break;
            }
            choice[f] = 0;
        }
    }
    return least;
}

static double try_all_servers(const struct plan_place_problem *problem)
{
    struct plan_place_problem p = *problem;
    double least = INFINITY;

    p.paths = PLAN_PLACE_ALL;
    for (uint32_t n = 0; n < p.graph->nodes_count; n++) {
        struct place_core c;

        if ((p.no_server == NULL || !p.no_server[n]) && place_core_init(&c, &p, n, NULL) == OK) {
            least = fmin(least, try_all(&c));
            place_core_deinit(&c);
        }
    }
    return least;
}

/* What is reported is what the paths take, and no link carries more than it can. */
static void check_plan(const struct plan_place_problem *p, struct plan_place_answer *a)
{
    const struct topo_graph *g = p->graph;
    double loads[64];
    double rates[16];
    double time_s;
    double usd;

    for (uint32_t f = 0; f < a->flows_count; f++) {
        rates[f] = a->flows[f].mbps;
    }
    assert_true(plan_place_measure(p, a->server, a->flows, a->flows_count, &time_s, &usd));
    assert_true(fabs(time_s - a->time_s) <= NEAR * time_s);
    assert_true(a->usd < 0 || fabs(usd - a->usd) <= NEAR * usd);
    for (uint32_t f = 0; f < a->flows_count; f++) {
        assert_true(fabs(rates[f] - a->flows[f].mbps) <= NEAR * rates[f]);
    }
    plan_place_loads(p, a->flows, a->flows_count, loads);
    for (uint32_t e = 0; e < g->edges_count; e++) {
        assert_true(loads[e] <= g->edges[e].mbps * (1 - p->reserve) * (1 + NEAR));
    }
    for (uint32_t i = 0; i < a->candidates_count; i++) {
        const struct plan_place_candidate *c = &a->candidates[i];

        assert_true(!c->possible || c->lp_bound <= c->bound * (1 + NEAR));
        assert_true(!c->possible || c->bound <= c->value * (1 + NEAR) || c->bound <= a->value);
    }
    assert_true(a->bound <= a->value);
    assert_true(a->baselines.shortest_s >= a->bound * (1 - NEAR) || p->goal != PLAN_PLACE_TIME);
}

static void the_bound_is_below_the_best_and_the_best_below_the_rounded(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < testing_graphs(2000); seed++) {
        struct plan_place_effort effort = {.draws = 5, .seed = seed};
        struct plan_place_answer exact, rounded, plain, lp;
        struct plan_place_problem p;
        struct topo_graph *g;
        struct rng rng;
        double least;

        rng_init(&rng, seed);
        g = random_problem(&rng, &p);
        least = try_all_servers(&p);
        effort.method = PLAN_PLACE_EXACT;
        assert_int_equal(plan_place_solve(&p, &effort, &exact, NULL), OK);
        effort.method = PLAN_PLACE_ROUND;
        assert_int_equal(plan_place_solve(&p, &effort, &rounded, NULL), OK);
        effort.plain = true;
        assert_int_equal(plan_place_solve(&p, &effort, &plain, NULL), OK);
        effort.method = PLAN_PLACE_LP;
        assert_int_equal(plan_place_solve(&p, &effort, &lp, NULL), OK);
        check_plan(&p, &exact);
        check_plan(&p, &rounded);
        check_plan(&p, &plain);
        check_plan(&p, &lp);
        assert_true(exact.optimal);
        assert_true(fabs(exact.value - least) <= NEAR * least);
        assert_true(rounded.bound <= least * (1 + NEAR));
        assert_true(rounded.value >= least * (1 - NEAR));
        assert_true(plain.value >= rounded.value * (1 - NEAR));
        assert_true(lp.bound <= least * (1 + NEAR) && lp.value >= least * (1 - NEAR));
        plan_place_answer_deinit(&exact);
        plan_place_answer_deinit(&rounded);
        plan_place_answer_deinit(&plain);
        plan_place_answer_deinit(&lp);
        topo_graph_free(g);
    }
}

/* Dollars, dollars as a limit, and what is ruled out. */
static void whatever_is_asked_for_the_best_plan_is_found(void **state)
{
    uint32_t impossible = 0;

    (void)state;
    for (uint32_t seed = 0; seed < testing_graphs(1000); seed++) {
        struct plan_place_effort effort = {.method = PLAN_PLACE_EXACT, .draws = 5, .seed = seed};
        bool no_server[16], no_relay[16], no_edge[64], silent[16];
        struct plan_place_problem p;
        struct plan_place_answer a;
        struct topo_graph *g;
        struct rng rng;
        double least;
        enum err rc;

        rng_init(&rng, seed);
        g = random_problem(&rng, &p);
        for (uint32_t i = 0; i < 64; i++) {
            no_edge[i] = rng_chance(&rng, 50000);
            no_server[i % 16] = rng_chance(&rng, 200000);
            no_relay[i % 16] = rng_chance(&rng, 100000);
            silent[i % 16] = rng_chance(&rng, 100000);
        }
        p.no_server = no_server;
        p.no_relay = no_relay;
        p.no_edge = no_edge;
        p.silent = silent;
        p.goal = rng_chance(&rng, 500000) ? PLAN_PLACE_TIME : PLAN_PLACE_DOLLARS;
        if (rng_chance(&rng, 500000)) {
            p.usd_limit = p.bytes * 1e-9 * (0.1 + rng_unit(&rng));
        }
        if (plan_place_check(&p, NULL) != OK) {
            topo_graph_free(g);
            continue;
        }
        least = try_all_servers(&p);
        rc = plan_place_solve(&p, &effort, &a, NULL);
        assert_int_equal(rc, least < INFINITY ? OK : ERR_NOT_FOUND);
        impossible += rc != OK;
        if (rc == OK) {
            check_plan(&p, &a);
            assert_true(fabs(a.value - least) <= 1e-6 * least + 1e-12);
            assert_false(no_server[a.server]);
            plan_place_answer_deinit(&a);
        }
        topo_graph_free(g);
    }
    assert_true(impossible > 0 || getenv("STRAIT_VALGRIND") != NULL);
}

static void a_general_solver_finds_the_same(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < testing_graphs(300); seed++) {
        struct plan_place_problem p;
        struct topo_graph *g;
        struct rng rng;
        double least = INFINITY;

        rng_init(&rng, seed);
        g = random_problem(&rng, &p);
        p.paths = PLAN_PLACE_ALL;
        for (uint32_t n = 0; n < g->nodes_count; n++) {
            struct plan_place_plain one;

            assert_int_equal(plan_place_plain(&p, n, 60, &one, NULL), OK);
            assert_true(one.possible && one.proven);
            least = fmin(least, one.value);
        }
        assert_true(fabs(least - try_all_servers(&p)) <= 1e-6 * least);
        topo_graph_free(g);
    }
}

static void the_same_seed_gives_the_same_plan(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < testing_graphs(100); seed++) {
        struct plan_place_effort effort = {.method = PLAN_PLACE_ROUND, .draws = 3, .seed = seed};
        struct plan_place_answer a, b;
        struct plan_place_problem p = {.bytes = 1e8, .paths = 3, .server = PLAN_PLACE_NOWHERE};
        struct topo_graph *g;
        struct rng rng;

        rng_init(&rng, seed);
        g = testing_graph(&rng, 12, 14);
        p.graph = g;
        assert_int_equal(plan_place_solve(&p, &effort, &a, NULL), OK);
        assert_int_equal(plan_place_solve(&p, &effort, &b, NULL), OK);
        assert_int_equal(a.server, b.server);
        assert_memory_equal(&a.time_s, &b.time_s, sizeof(a.time_s));
        for (uint32_t f = 0; f < a.flows_count; f++) {
            assert_int_equal(a.flows[f].hops, b.flows[f].hops);
            assert_memory_equal(a.flows[f].nodes, b.flows[f].nodes,
                                (a.flows[f].hops + 1) * sizeof(uint32_t));
        }
        plan_place_answer_deinit(&a);
        plan_place_answer_deinit(&b);
        topo_graph_free(g);
    }
}

/* Everything is linear in what is sent (A7). */
static void twice_the_bytes_take_twice_the_time(void **state)
{
    struct plan_place_effort effort = {.method = PLAN_PLACE_EXACT, .draws = 10};
    struct plan_place_problem p = {.paths = PLAN_PLACE_AUTO, .server = PLAN_PLACE_NOWHERE};
    struct plan_place_answer a, b;
    struct topo_graph *g;
    struct rng rng;

    (void)state;
    rng_init(&rng, 3);
    g = testing_graph(&rng, 9, 8);
    p.graph = g;
    p.bytes = 1e8;
    assert_int_equal(plan_place_solve(&p, &effort, &a, NULL), OK);
    p.bytes = 2e8;
    assert_int_equal(plan_place_solve(&p, &effort, &b, NULL), OK);
    assert_int_equal(a.server, b.server);
    assert_true(fabs(2 * a.time_s - b.time_s) <= NEAR * b.time_s);
    plan_place_answer_deinit(&a);
    plan_place_answer_deinit(&b);
    topo_graph_free(g);
}

/* A line of three: the middle has one hop from each end, of which the slower one counts. */
static void a_line_is_planned_by_hand(void **state)
{
    struct topo_node nodes[3] = {
        {.id = "a", .name = "a"}, {.id = "b", .name = "b"}, {.id = "c", .name = "c"}};
    struct topo_edge edges[2] = {{.a = 0, .b = 1, .mbps = 8}, {.a = 1, .b = 2, .mbps = 80}};
    struct topo_graph values = {.nodes = nodes, .nodes_count = 3, .edges = edges, .edges_count = 2};
    struct plan_place_effort effort = {.method = PLAN_PLACE_EXACT, .draws = 1};
    struct plan_place_problem p = {
        .bytes = 1e6, .paths = PLAN_PLACE_AUTO, .server = PLAN_PLACE_NOWHERE};
    struct plan_place_answer a;
    struct topo_graph *g;

    (void)state;
    assert_int_equal(topo_graph_create(&values, &g, NULL), OK);
    p.graph = g;
    assert_int_equal(plan_place_solve(&p, &effort, &a, NULL), OK);
    assert_int_equal(a.server, 1);
    assert_true(fabs(a.time_s - 2) < NEAR); /* There and back, 1 MB at 1 MB/s. */
    assert_true(fabs(a.flows[0].mbps - 8) < NEAR);
    assert_true(fabs(a.flows[1].mbps - 8) < NEAR); /* No need to be quicker than the other. */
    assert_true(fabs(a.baselines.tie_worst_s - 2) < NEAR);
    /* a: two flows of weight 1 and 2 share the slow link: 6 s; c: weight 2 there: 4 s. */
    assert_true(fabs(a.baselines.random - (6.0 + 2 + 4) / 3) < NEAR);
    plan_place_answer_deinit(&a);
    p.server = 0;
    p.model = PLAN_PLACE_PIPELINED;
    p.duplex = TOPO_DUPLEX_FULL;
    assert_int_equal(plan_place_solve(&p, &effort, &a, NULL), OK);
    assert_true(fabs(a.time_s - 2) < NEAR); /* Two flows on the slow link, both ways at once. */
    plan_place_answer_deinit(&a);
    topo_graph_free(g);
}

static void what_is_no_problem_is_refused(void **state)
{
    struct plan_place_problem p = {.bytes = 1, .server = PLAN_PLACE_NOWHERE};
    bool all[2] = {true, true};
    struct err_text text;
    struct topo_graph *g;
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    g = testing_graph(&rng, 2, 0);
    p.graph = g;
    assert_int_equal(plan_place_check(&p, &text), OK);
    p.bytes = NAN;
    assert_int_equal(plan_place_check(&p, &text), ERR_INVALID);
    p.bytes = 1;
    p.reserve = 1;
    assert_int_equal(plan_place_check(&p, &text), ERR_INVALID);
    p.reserve = 0;
    p.no_server = all;
    assert_int_equal(plan_place_check(&p, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, "no region may hold the server"));
    p.no_server = NULL;
    p.silent = all;
    assert_int_equal(plan_place_check(&p, &text), ERR_INVALID);
    p.silent = NULL;
    p.goal = PLAN_PLACE_DOLLARS;
    g->edges[0].usd_per_gb = -1;
    assert_int_equal(plan_place_check(&p, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, "has no price"));
    topo_graph_free(g);
}

static void each_allocation_may_fail(void **state)
{
    struct plan_place_effort effort = {.method = PLAN_PLACE_EXACT, .draws = 1};
    struct plan_place_problem p = {
        .bytes = 1e6, .paths = PLAN_PLACE_AUTO, .server = PLAN_PLACE_NOWHERE};
    enum err rc = ERR_NOMEM;
    struct topo_graph *g;
    struct rng rng;

    (void)state;
    rng_init(&rng, 5);
    g = testing_graph(&rng, 5, 3);
    p.graph = g;
    for (uint64_t i = 1; rc != OK; i++) {
        struct plan_place_answer a;

        mem_fail_at(i, 1);
        rc = plan_place_solve(&p, &effort, &a, NULL);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        if (rc == OK) {
            assert_true(a.optimal);
            plan_place_answer_deinit(&a);
        }
    }
    topo_graph_free(g);
}

/* Proofs stop when the time is up, and what was found until then stays. */
static double no_time(void *user)
{
    (void)user;
    return 0;
}

static void without_time_the_answer_has_a_gap(void **state)
{
    struct plan_place_effort effort = {.method = PLAN_PLACE_EXACT, .draws = 1, .left = no_time};
    struct plan_place_problem p = {.bytes = 1e6, .paths = 4, .server = PLAN_PLACE_NOWHERE};
    uint32_t open = 0;

    (void)state;
    for (uint32_t seed = 0; seed < testing_graphs(80); seed++) {
        struct plan_place_answer a;
        struct topo_graph *g;
        struct rng rng;

        rng_init(&rng, seed);
        g = testing_graph(&rng, 16, 16);
        p.graph = g;
        assert_int_equal(plan_place_solve(&p, &effort, &a, NULL), OK);
        assert_true(a.bound <= a.value);
        open += !a.optimal;
        plan_place_answer_deinit(&a);
        topo_graph_free(g);
    }
    assert_true(open > 0 || getenv("STRAIT_VALGRIND") != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_is_below_the_best_and_the_best_below_the_rounded),
        cmocka_unit_test(whatever_is_asked_for_the_best_plan_is_found),
        cmocka_unit_test(a_general_solver_finds_the_same),
        cmocka_unit_test(the_same_seed_gives_the_same_plan),
        cmocka_unit_test(twice_the_bytes_take_twice_the_time),
        cmocka_unit_test(a_line_is_planned_by_hand),
        cmocka_unit_test(what_is_no_problem_is_refused),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(without_time_the_answer_has_a_gap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
