/* Tests of plan/place_quick: next to the best plans, and what it promises of its own. */

#include "plan/place_quick.h"

#include "base/mem.h"
#include "plan/testing_graph.h"

/* cmocka wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

static struct topo_graph *random_problem(uint64_t seed, struct plan_place_problem *p)
{
    struct topo_graph *g;
    struct rng rng;
    uint32_t nodes;

    rng_init(&rng, seed);
    nodes = 2 + (uint32_t)rng_below(&rng, 11);
    g = testing_graph(&rng, nodes, (uint32_t)rng_below(&rng, 12));
    *p = (struct plan_place_problem){.graph = g,
                                     .bytes = 1e7,
                                     .paths = PLAN_PLACE_AUTO,
                                     .server = PLAN_PLACE_NOWHERE,
                                     .model = PLAN_PLACE_PIPELINED,
                                     .duplex = TOPO_DUPLEX_FULL};
    return g;
}

static void a_quick_plan_is_a_plan_and_not_far_from_the_best(void **state)
{
    uint32_t runs = testing_graphs(500);
    double above = 0;
    double most = 0;

    (void)state;
    for (uint32_t seed = 0; seed < runs; seed++) {
        const struct plan_place_effort effort = {.method = PLAN_PLACE_EXACT, .draws = 5};
        struct plan_place_problem p;
        struct plan_place_answer best;
        struct plan_quick quick;
        struct topo_graph *g = random_problem(seed, &p);
        double time_s;
        double usd;

        assert_int_equal(plan_place_quick(&p, PLAN_PLACE_NOWHERE, 0, &quick, NULL), OK);
        assert_int_equal(plan_place_solve(&p, &effort, &best, NULL), OK);
        assert_true(
            plan_place_measure(&p, quick.server, quick.flows, quick.flows_count, &time_s, &usd));
        assert_true(fabs(time_s - quick.time_s) <= 1e-9 * time_s);
        assert_true(quick.time_s >= best.time_s * (1 - 1e-9));
        above += quick.time_s / best.time_s - 1;
        most = fmax(most, quick.time_s / best.time_s - 1);
        plan_quick_deinit(&quick);
        plan_place_answer_deinit(&best);
        topo_graph_free(g);
    }
    print_message("quick plans take %.1f %% longer than the best, at most %.0f %%\n",
                  100 * above / runs, 100 * most);
    assert_true(above / runs < 0.05);
}

static void a_server_stays_unless_it_pays(void **state)
{
    struct plan_place_problem p;
    struct topo_graph *g = random_problem(4, &p);
    struct plan_quick best;

    (void)state;
    assert_int_equal(plan_place_quick(&p, PLAN_PLACE_NOWHERE, 0, &best, NULL), OK);
    for (uint32_t n = 0; n < g->nodes_count; n++) {
        struct plan_quick a, b;

        assert_int_equal(plan_place_quick(&p, n, 0.99, &a, NULL), OK);
        assert_int_equal(a.server, n); /* Nothing is a hundred times as quick. */
        assert_true(a.time_s == a.kept_s);
        assert_int_equal(plan_place_quick(&p, n, 0, &b, NULL), OK);
        assert_true(fabs(b.time_s - best.time_s) <= 1e-9 * best.time_s);
        assert_true(b.kept_s == a.kept_s);
        plan_quick_deinit(&a);
        plan_quick_deinit(&b);
    }
    plan_quick_deinit(&best);
    topo_graph_free(g);
}

static void without_a_way_there_is_no_plan(void **state)
{
    struct topo_node nodes[3] = {
        {.id = "a", .name = "a"}, {.id = "b", .name = "b"}, {.id = "c", .name = "c"}};
    struct topo_edge edges[2] = {{.a = 0, .b = 1, .mbps = 8}, {.a = 1, .b = 2, .mbps = 80}};
    struct topo_graph values = {.nodes = nodes, .nodes_count = 3, .edges = edges, .edges_count = 2};
    bool barred[3] = {false, true, false};
    struct plan_place_problem p = {.bytes = 1,
                                   .paths = PLAN_PLACE_AUTO,
                                   .server = PLAN_PLACE_NOWHERE,
                                   .no_relay = barred,
                                   .no_server = barred};
    struct plan_quick quick;
    struct err_text text = {""};
    struct topo_graph *g;

    (void)state;
    assert_int_equal(topo_graph_create(&values, &g, &text), OK);
    p.graph = g;
    assert_int_equal(plan_place_quick(&p, 0, 0, &quick, &text), ERR_NOT_FOUND);
    topo_graph_free(g);
}

static void each_allocation_may_fail(void **state)
{
    struct plan_place_problem p;
    struct topo_graph *g = random_problem(6, &p);
    enum err rc = ERR_NOMEM;

    (void)state;
    for (uint64_t i = 1; rc == ERR_NOMEM; i++) {
        struct plan_quick quick;

        mem_fail_at(i, 1);
        rc = plan_place_quick(&p, 0, 0.1, &quick, NULL);
        mem_fail_at(0, 0);
        if (rc == OK) {
            plan_quick_deinit(&quick);
        }
    }
    assert_int_equal(rc, OK);
    topo_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quick_plan_is_a_plan_and_not_far_from_the_best),
        cmocka_unit_test(a_server_stays_unless_it_pays),
        cmocka_unit_test(without_a_way_there_is_no_plan),
        cmocka_unit_test(each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
