/* Trees: what is one, what it costs, when there is none, and that grown ones are trees, no worse
 * than the bound, the same each time, and kind to those who have much to do. */

#include "plan/tree.h"

#include "base/mem.h"
#include "plan/testing.h"
#include "plan/tree_core.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { RANDOM_RUNS = 300 };

static struct testing_problem t;

/* Six workers in two racks of one aggregation, one server in the first rack. */
static struct plan_tree_problem *six(uint32_t degree, uint32_t depth, double leaf_cost)
{
    memset(&t, 0, sizeof(t));
    for (uint32_t i = 0; i < 6; i++) {
        t.places[i] = (struct plan_tree_place){.agg = 1, .edge = i / 3};
    }
    t.places[6] = t.places[0];
    t.p = (struct plan_tree_problem){.workers = 6,
                                     .servers = 1,
                                     .places = t.places,
                                     .edge_cost = 0.1,
                                     .agg_cost = 0.5,
                                     .core_cost = 1,
                                     .degree = degree,
                                     .depth = depth,
                                     .leaf_cost = leaf_cost};
    return &t.p;
}

static void test_a_tree_costs_its_edges_and_its_leaves(void **state)
{
    const uint32_t parent[] = {PLAN_TREE_ROOT, 0, 0, 0, 3, 3};
    struct plan_tree_problem *p = six(3, 3, 2);
    struct plan_tree_answer a;

    (void)state;
    assert_true(plan_tree_measure(p, parent, &a));
    assert_int_equal(a.depth, 3);
    assert_int_equal(a.leaves, 4);
    assert_true(fabs(a.objective - (0.1 + 0.1 + 0.1 + 0.5 + 0.1 + 0.1 + 4 * 2)) < 1e-12);
    p->servers = 2; /* Each sends to the child of the root. */
    t.places[7] = (struct plan_tree_place){.agg = 2, .edge = 0};
    assert_true(plan_tree_measure(p, parent, &a));
    assert_true(fabs(a.objective - (1 + 1.0 + 8)) < 1e-12);
}

static void test_what_is_no_tree_is_not_measured(void **state)
{
    const uint32_t cycle[] = {1, 0, PLAN_TREE_ROOT, 2, 2, 3}, itself[] = {0, 0, 0, 0, 0, 0};
    const uint32_t deep[] = {PLAN_TREE_ROOT, 0, 1, 2, 0, 0}, nobody[] = {6, 0, 0, 0, 3, 3};
    const uint32_t wide[] = {PLAN_TREE_ROOT, 0, 0, 0, 0, 3},
                   good[] = {PLAN_TREE_ROOT, 0, 0, 0, 3, 3};
    struct plan_tree_problem *p = six(3, 3, 0);
    struct plan_tree_answer a;

    (void)state;
    assert_false(plan_tree_measure(p, cycle, &a));
    assert_false(plan_tree_measure(p, itself, &a));
    assert_false(plan_tree_measure(p, deep, &a));
    assert_false(plan_tree_measure(p, wide, &a));
    assert_false(plan_tree_measure(p, nobody, &a));
    assert_true(plan_tree_measure(p, good, &a));
    t.leaf_only[3] = true;
    p->leaf_only = t.leaf_only;
    assert_false(plan_tree_measure(p, good, &a));
}

static void test_too_small_a_tree_is_refused_with_numbers_that_would_do(void **state)
{
    struct plan_tree_answer a;
    struct err_text text = {""};
    uint32_t parent[6];

    (void)state;
    assert_int_equal(plan_tree_grow(six(1, 5, 0), parent, &a, &text), ERR_INVALID);
    assert_string_equal(text.text, "6 workers do not fit into a tree of degree 1 and depth 5: "
                                   "degree 2 would do, or depth 6");
    assert_int_equal(plan_tree_possible(six(2, 1, 0), &text), ERR_INVALID);
    assert_string_equal(text.text, "6 workers do not fit into a tree of degree 2 and depth 1: "
                                   "degree 6 would do, or depth 2");
    assert_int_equal(plan_tree_possible(six(2, 2, 0), &text), OK);
    t.p.leaf_only = t.leaf_only;
    for (uint32_t i = 1; i < 6; i++) {
        t.leaf_only[i] = true;
    }
    assert_int_equal(plan_tree_possible(&t.p, &text), ERR_INVALID);
    assert_string_equal(text.text,
                        "6 workers, of which 5 must not have children, do not fit into a "
                        "tree of degree 2 and depth 2: degree 3 would do");
    t.p.degree = 3;
    assert_int_equal(plan_tree_grow(&t.p, parent, &a, &text), OK);
    assert_int_equal(parent[0], PLAN_TREE_ROOT);
}

/* Also with a mask, which makes some limits impossible. */
static void test_grown_trees_are_trees_and_not_below_the_bound(void **state)
{
    struct plan_tree_answer a, measured, again;
    uint32_t parent[TESTING_WORKERS_MAX];
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (uint32_t run = 0; run < testing_runs(RANDOM_RUNS); run++) {
        if (run % 3 == 0) {
            testing_matrix(&t, &rng, 1 + (uint32_t)rng_below(&rng, 30));
        } else {
            testing_racks(&t, &rng, 3, 4, 6);
        }
        for (uint32_t i = 0; i < t.p.workers; i++) {
            t.leaf_only[i] = rng_below(&rng, 4) == 0;
            t.load[i] = (uint32_t)rng_below(&rng, 5);
        }
        t.p.leaf_only = run % 2 == 0 ? t.leaf_only : NULL;
        t.p.load = run % 5 == 0 ? t.load : NULL;
        t.p.quick = run % 7 == 0;
        t.p.degree = 8;
        t.p.depth = 5;
        if (plan_tree_possible(&t.p, NULL) != OK) {
            t.p.leaf_only = NULL;
        }
        testing_limits(&t, &rng);
        assert_int_equal(plan_tree_grow(&t.p, t.parent, &a, NULL), OK);
        assert_true(plan_tree_measure(&t.p, t.parent, &measured));
        assert_true(measured.objective == a.objective);
        assert_true(a.bound <= a.objective);
        assert_int_equal(a.method, PLAN_TREE_HEURISTIC);
        assert_int_equal(plan_tree_grow(&t.p, parent, &again, NULL), OK);
        assert_memory_equal(parent, t.parent, t.p.workers * sizeof(*parent));
    }
}

static void test_limits_that_are_just_enough_are_enough(void **state)
{
    struct plan_tree_answer a;
    struct rng rng;

    (void)state;
    rng_init(&rng, 2);
    for (uint32_t degree = 1; degree <= 4; degree++) {
        for (uint32_t depth = 1; depth <= 4; depth++) {
            uint32_t holds = 0, level = 1;

            for (uint32_t h = 0; h < depth; h++) {
                holds += level *= degree;
            }
            if (holds > 60) {
                continue;
            }
            testing_matrix(&t, &rng, holds);
            t.p.degree = degree;
            t.p.depth = depth;
            assert_int_equal(plan_tree_grow(&t.p, t.parent, &a, NULL), OK);
            assert_int_equal(a.depth, depth);
            testing_matrix(&t, &rng, holds + 1);
            t.p.degree = degree;
            t.p.depth = depth;
            assert_int_equal(plan_tree_grow(&t.p, t.parent, &a, NULL), ERR_INVALID);
        }
    }
}

/* Twelve of one rack, of which four relay; these have no children elsewhere. */
static void test_those_with_less_to_do_relay(void **state)
{
    uint32_t children[12] = {0};
    struct plan_tree_answer a;

    (void)state;
    memset(&t, 0, sizeof(t));
    t.p = (struct plan_tree_problem){.workers = 12,
                                     .servers = 1,
                                     .places = t.places,
                                     .degree = 3,
                                     .depth = 3,
                                     .edge_cost = 0.1,
                                     .load = t.load};
    for (uint32_t i = 0; i < 12; i++) {
        t.load[i] = i % 3 == 0 ? 0 : 9;
    }
    assert_int_equal(plan_tree_grow(&t.p, t.parent, &a, NULL), OK);
    for (uint32_t i = 0; i < 12; i++) {
        if (t.parent[i] != PLAN_TREE_ROOT) {
            children[t.parent[i]]++;
        }
    }
    for (uint32_t i = 0; i < 12; i++) {
        assert_int_equal(children[i] > 0 && t.load[i] == 9, 0);
        assert_true(children[i] <= 3);
    }
}

/* Racks are classes; of measured costs those are that are the same seen from everywhere. */
static void test_workers_that_can_change_places_are_a_class(void **state)
{
    struct plan_core c;

    (void)state;
    assert_int_equal(plan_core_init(&c, six(3, 3, 0), false, NULL), OK);
    assert_int_equal(c.classes, 2);
    plan_core_deinit(&c);
    assert_int_equal(plan_core_init(&c, &t.p, true, NULL), OK);
    assert_int_equal(c.classes, 6);
    plan_core_deinit(&c);
    for (uint32_t from = 0; from < 7; from++) {
        for (uint32_t to = 0; to < 6; to++) {
            t.costs[from * 6 + to] = plan_tree_cost(&t.p, from, to);
        }
    }
    t.p.places = NULL;
    t.p.costs = t.costs;
    assert_int_equal(plan_core_init(&c, &t.p, false, NULL), OK);
    assert_int_equal(c.classes, 2);
    plan_core_deinit(&c);
    t.costs[1 * 6 + 4] = 0.7;
    assert_int_equal(plan_core_init(&c, &t.p, false, NULL), OK);
    assert_int_equal(c.classes, 4); /* {0, 2}, {1}, {3, 5}, {4}. */
    plan_core_deinit(&c);
}

static void test_running_out_of_memory_is_said(void **state)
{
    struct plan_tree_answer a;
    struct err_text text;
    struct rng rng;
    enum err rc = ERR_NOMEM;

    (void)state;
    rng_init(&rng, 3);
    testing_racks(&t, &rng, 2, 3, 4);
    t.p.degree = 4;
    t.p.depth = 4;
    for (uint64_t k = 1; rc != OK; k++) {
        int64_t before = mem_bytes_held();

        mem_fail_at(k, 1);
        rc = plan_tree_grow(&t.p, t.parent, &a, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        assert_int_equal(mem_bytes_held(), before);
        assert_true(k < 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tree_costs_its_edges_and_its_leaves),
        cmocka_unit_test(test_what_is_no_tree_is_not_measured),
        cmocka_unit_test(test_too_small_a_tree_is_refused_with_numbers_that_would_do),
        cmocka_unit_test(test_grown_trees_are_trees_and_not_below_the_bound),
        cmocka_unit_test(test_limits_that_are_just_enough_are_enough),
        cmocka_unit_test(test_those_with_less_to_do_relay),
        cmocka_unit_test(test_workers_that_can_change_places_are_a_class),
        cmocka_unit_test(test_running_out_of_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
