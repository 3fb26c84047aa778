/* Tests of plan/routes: all simple paths, and the shortest k of them. */

#include "base/mem.h"
#include "plan/routes.h"
#include "plan/testing_graph.h"

/* cmocka wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static bool passes(const struct plan_routes *r, uint32_t path, uint32_t node)
{
    for (uint32_t i = 1; i < plan_routes_hops(r, path); i++) {
        if (plan_routes_nodes(r, path)[i] == node) {
            return true;
        }
    }
    return false;
}

/* By hops, then nodes. */
static int compare(const struct plan_routes *r, uint32_t a, uint32_t b)
{
    uint32_t m = plan_routes_hops(r, a);
    uint32_t n = plan_routes_hops(r, b);

    if (m != n) {
        return m < n ? -1 : 1;
    }
    for (uint32_t i = 0; i <= m; i++) {
        uint32_t x = plan_routes_nodes(r, a)[i];
        uint32_t y = plan_routes_nodes(r, b)[i];

        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return 0;
}

/* Each path goes from its source to the target over links that join its nodes, none twice, and
 * those of a flow are in order. */
static void check_routes(const struct topo_graph *g, const struct plan_routes *r, uint32_t target)
{
    for (uint32_t f = 0; f < r->flows; f++) {
        assert_true(r->first[f] < r->first[f + 1]);
        for (uint32_t p = r->first[f]; p < r->first[f + 1]; p++) {
            const uint32_t *node = plan_routes_nodes(r, p);
            const uint32_t *edge = plan_routes_edges(r, p);
            uint32_t hops = plan_routes_hops(r, p);

            assert_int_equal(node[0], r->source[f]);
            assert_int_equal(node[hops], target);
            for (uint32_t i = 0; i < hops; i++) {
                const struct topo_edge *e = &g->edges[edge[i]];

                assert_true((e->a == node[i] && e->b == node[i + 1]) ||
                            (e->b == node[i] && e->a == node[i + 1]));
                for (uint32_t k = 0; k < i; k++) {
                    assert_int_not_equal(node[i], node[k]);
                }
            }
            assert_true(p == r->first[f] || compare(r, p - 1, p) < 0);
        }
    }
}

/* The number of simple paths, counted in another way: by recursion from the source. */
static uint32_t count_paths(const struct topo_graph *g, uint32_t from, uint32_t to, bool *used)
{
    const struct topo_node *n = &g->nodes[from];
    uint32_t count = 0;

    if (from == to) {
        return 1;
    }
    used[from] = true;
    for (uint32_t i = 0; i < n->degree; i++) {
        uint32_t next = g->ends[n->first + i].node;

        count += used[next] ? 0 : count_paths(g, next, to, used);
    }
    used[from] = false;
    return count;
}

static void all_simple_paths_are_found_in_order(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < testing_graphs(300); seed++) {
        const struct plan_routes_rules none = {0};
        struct plan_routes r;
        struct topo_graph *g;
        struct rng rng;
        uint32_t nodes;
        bool few;

        rng_init(&rng, seed);
        nodes = 2 + (uint32_t)rng_below(&rng, 7);
        g = testing_graph(&rng, nodes, (uint32_t)rng_below(&rng, 8));
        assert_int_equal(plan_routes_find(g, &none, 0, 0, &r, NULL), OK);
        assert_int_equal(r.flows, nodes - 1);
        check_routes(g, &r, 0);
        for (uint32_t f = 0; f < r.flows; f++) {
            bool used[16] = {false};

            assert_int_equal(r.first[f + 1] - r.first[f], count_paths(g, r.source[f], 0, used));
        }
        assert_int_equal(plan_routes_few(g, &none, 0, r.paths, &few), OK);
        assert_true(few);
        assert_int_equal(plan_routes_few(g, &none, 0, r.paths - 1, &few), OK);
        assert_false(few);
        plan_routes_deinit(&r);
        topo_graph_free(g);
    }
}

static void random_rules(struct rng *rng, const struct topo_graph *g, bool *silent, bool *no_relay,
                         bool *no_edge)
{
    for (uint32_t n = 0; n < g->nodes_count; n++) {
        silent[n] = rng_chance(rng, 200000);
        no_relay[n] = rng_chance(rng, 150000);
    }
    for (uint32_t e = 0; e < g->edges_count; e++) {
        no_edge[e] = rng_chance(rng, 50000);
    }
}

/* With the same rules, the shortest k are the first k of all. */
static void the_shortest_k_are_the_first_k_of_all(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < testing_graphs(2000); seed++) {
        bool silent[16], no_relay[16], no_edge[64];
        const struct plan_routes_rules rules = {
            .silent = silent, .no_relay = no_relay, .no_edge = no_edge};
        struct plan_routes all;
        struct plan_routes some;
        struct topo_graph *g;
        struct rng rng;
        uint32_t target;
        uint32_t nodes;
        enum err rc;

        rng_init(&rng, seed);
        nodes = 2 + (uint32_t)rng_below(&rng, 9);
        g = testing_graph(&rng, nodes, (uint32_t)rng_below(&rng, 12));
        random_rules(&rng, g, silent, no_relay, no_edge);
        target = (uint32_t)rng_below(&rng, nodes);
        rc = plan_routes_find(g, &rules, target, 0, &all, NULL);
        for (uint32_t k = 1; k < 6; k++) {
            assert_int_equal(plan_routes_find(g, &rules, target, k, &some, NULL), rc);
            if (rc != OK) {
                continue;
            }
            check_routes(g, &some, target);
            assert_int_equal(some.flows, all.flows);
            for (uint32_t f = 0; f < all.flows; f++) {
                uint32_t has = some.first[f + 1] - some.first[f];
                uint32_t there = all.first[f + 1] - all.first[f];

                assert_int_equal(has, there < k ? there : k);
                for (uint32_t i = 0; i < has; i++) {
                    uint32_t p = some.first[f] + i;
                    uint32_t q = all.first[f] + i;

                    assert_int_equal(plan_routes_hops(&some, p), plan_routes_hops(&all, q));
                    assert_memory_equal(plan_routes_nodes(&some, p), plan_routes_nodes(&all, q),
                                        (plan_routes_hops(&all, q) + 1) * sizeof(uint32_t));
                    for (uint32_t n = 0; n < nodes; n++) {
                        assert_false(no_relay[n] && passes(&some, p, n));
                    }
                }
            }
            plan_routes_deinit(&some);
        }
        if (rc == OK) {
            plan_routes_deinit(&all);
        }
        topo_graph_free(g);
    }
}

static void a_node_that_is_cut_off_is_named(void **state)
{
    bool no_relay[3] = {false, true, false};
    const struct plan_routes_rules rules = {.no_relay = no_relay};
    struct topo_node nodes[3] = {
        {.id = "a", .name = "Paris"}, {.id = "b"}, {.id = "c", .name = "Rome"}};
    struct topo_edge edges[2] = {{.a = 0, .b = 1, .mbps = 1}, {.a = 1, .b = 2, .mbps = 1}};
    struct topo_graph values = {.nodes = nodes, .nodes_count = 3, .edges = edges, .edges_count = 2};
    struct topo_graph *g;
    struct plan_routes r;
    struct err_text text = {""};

    (void)state;
    assert_int_equal(topo_graph_create(&values, &g, &text), OK);
    assert_int_equal(plan_routes_find(g, &rules, 0, 0, &r, &text), ERR_NOT_FOUND);
    assert_string_equal(text.text, "no path is left from Rome to Paris");
    topo_graph_free(g);
}

static void each_allocation_may_fail(void **state)
{
    const struct plan_routes_rules none = {0};
    struct topo_graph *g;
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    g = testing_graph(&rng, 8, 10);
    for (uint32_t k = 0; k < 3; k += 2) {
        enum err rc = ERR_NOMEM;

        for (uint64_t i = 1; rc == ERR_NOMEM; i++) {
            struct plan_routes r;

            mem_fail_at(i, 1);
            rc = plan_routes_find(g, &none, 1, k, &r, NULL);
            mem_fail_at(0, 0);
            if (rc == OK) {
                plan_routes_deinit(&r);
            }
        }
        assert_int_equal(rc, OK);
    }
    topo_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_simple_paths_are_found_in_order),
        cmocka_unit_test(the_shortest_k_are_the_first_k_of_all),
        cmocka_unit_test(a_node_that_is_cut_off_is_named),
        cmocka_unit_test(each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
