/* The solver's trees: as good as the best of all trees, the same with and without classes, bounds
 * below and grown trees above; and what happens when time is up. */

#include "plan/tree_exact.h"

#include "base/mem.h"
#include "plan/testing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { RACK_RUNS = 40, MATRIX_RUNS = 12, BRUTE_WORKERS_MAX = 6 };

static const struct plan_tree_effort plenty = {.seconds = 60};
static struct testing_problem t;

/* All trees, one parent after the other; those that cost more than the best so far are left. */
struct brute {
    const struct plan_tree_problem *p;
    uint32_t parent[BRUTE_WORKERS_MAX];
    uint32_t children[BRUTE_WORKERS_MAX + 1];
    double best;
};

static void brute_from(struct brute *b, uint32_t i, double cost)
{
    uint32_t n = b->p->workers;
    struct plan_tree_answer a;

    if (cost >= b->best) {
        return;
    }
    if (i == n) {
        if (plan_tree_measure(b->p, b->parent, &a) && a.objective < b->best) {
            b->best = a.objective;
        }
        return;
    }
    for (uint32_t above = 0; above <= n; above++) {
        if (above != i && b->children[above] < b->p->degree) {
            b->parent[i] = above == n ? PLAN_TREE_ROOT : above;
            b->children[above]++;
            brute_from(b, i + 1, cost + plan_tree_cost(b->p, b->parent[i], i));
            b->children[above]--;
        }
    }
}

static double brute_best(const struct plan_tree_problem *p)
{
    struct brute b = {.p = p, .best = INFINITY};

    brute_from(&b, 0, 0);
    return b.best;
}

static void near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b)) + 1e-12)) {
        fail_msg("%.12g is not %.12g", a, b);
    }
}

/* Solve it, and check what can be checked without knowing the best. */
static struct plan_tree_answer solve(const struct plan_tree_effort *effort)
{
    struct plan_tree_answer a = {0}, measured = {0};
    struct err_text text = {""};

    if (plan_tree_solve(&t.p, effort, t.parent, &a, &text) != OK) {
        fail_msg("%s", text.text);
    }
    assert_true(plan_tree_measure(&t.p, t.parent, &measured));
    assert_true(a.objective == measured.objective);
    assert_int_equal(a.depth, measured.depth);
    assert_int_equal(a.leaves, measured.leaves);
    assert_true(a.bound <= a.objective);
    assert_int_equal(a.optimal, a.bound == a.objective);
    return a;
}

static void check_all_limits(void)
{
    for (uint32_t degree = 1; degree <= t.p.workers; degree++) {
        for (uint32_t depth = 1; depth <= t.p.workers; depth++) {
            t.p.degree = degree;
            t.p.depth = depth;
            if (plan_tree_possible(&t.p, NULL) == OK) {
                struct plan_tree_answer a = solve(&plenty);

                assert_true(a.optimal);
                near(a.objective, brute_best(&t.p));
            }
        }
    }
}

static void test_no_tree_of_racks_is_better_than_the_solvers(void **state)
{
    static const double leaf_costs[] = {0, 0.3, 2};
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (uint32_t run = 0; run < testing_runs(6); run++) {
        do {
            testing_racks(&t, &rng, 2, 2, 3);
        } while (t.p.workers > BRUTE_WORKERS_MAX);
        t.p.leaf_cost = leaf_costs[run % 3];
        check_all_limits();
    }
}

static void test_no_tree_of_measured_costs_is_better_than_the_solvers(void **state)
{
    static const double leaf_costs[] = {0, 1, 6};
    struct rng rng;

    (void)state;
    rng_init(&rng, 2);
    for (uint32_t run = 0; run < testing_runs(6); run++) {
        testing_matrix(&t, &rng, BRUTE_WORKERS_MAX - run);
        t.p.leaf_cost = leaf_costs[run % 3];
        check_all_limits();
    }
}

static void test_masked_workers_are_leaves_in_the_best_tree(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 3);
    for (uint32_t run = 0; run < testing_runs(10); run++) {
        testing_matrix(&t, &rng, 6);
        t.p.leaf_only = t.leaf_only;
        t.leaf_only[rng_below(&rng, 6)] = t.leaf_only[rng_below(&rng, 6)] = true;
        t.p.degree = 2 + run % 2;
        t.p.depth = 3;
        t.p.leaf_cost = run % 3;
        near(solve(&plenty).objective, brute_best(&t.p));
    }
}

static void test_classes_do_not_change_the_optimum(void **state)
{
    const struct plan_tree_effort plain = {.seconds = 60, .plain = true};
    struct rng rng;

    (void)state;
    rng_init(&rng, 4);
    for (uint32_t run = 0; run < testing_runs(RACK_RUNS); run++) {
        struct plan_tree_answer a, b;

        testing_racks(&t, &rng, 2, 2, 3);
        testing_limits(&t, &rng);
        a = solve(&plenty);
        b = solve(&plain);
        assert_true(a.optimal && b.optimal);
        near(a.objective, b.objective);
    }
}

static void test_relaxations_are_below_and_grown_trees_above(void **state)
{
    const struct plan_tree_effort relax = {.seconds = 60, .relax = true};
    struct rng rng;

    (void)state;
    rng_init(&rng, 5);
    for (uint32_t run = 0; run < testing_runs(RACK_RUNS + MATRIX_RUNS); run++) {
        struct plan_tree_answer exact, relaxed, grown;

        if (run % 4 != 3) {
            testing_racks(&t, &rng, 2, 3, 4);
        } else {
            testing_matrix(&t, &rng, 8);
        }
        testing_limits(&t, &rng);
        assert_int_equal(plan_tree_grow(&t.p, t.parent, &grown, NULL), OK);
        relaxed = solve(&relax);
        exact = solve(&plenty);
        assert_true(exact.optimal);
        assert_true(relaxed.objective == grown.objective);
        assert_true(relaxed.bound >= grown.bound);
        assert_true(relaxed.bound <= exact.objective * (1 + 1e-6));
        assert_true(exact.objective <= grown.objective);
        assert_int_equal(relaxed.method, PLAN_TREE_HEURISTIC);
    }
}

/* Forty workers and ten servers, as in docs/PLAN.md. */
static void test_a_small_cluster_is_solved(void **state)
{
    struct plan_tree_answer a;

    (void)state;
    memset(&t, 0, sizeof(t));
    for (uint32_t i = 0; i < 40; i++) {
        t.places[i] = (struct plan_tree_place){.agg = i / 20, .edge = i / 5};
    }
    for (uint32_t s = 0; s < 10; s++) {
        t.places[40 + s] = t.places[s * 4];
    }
    t.p = (struct plan_tree_problem){.workers = 40,
                                     .servers = 10,
                                     .places = t.places,
                                     .edge_cost = 0.1,
                                     .agg_cost = 0.5,
                                     .core_cost = 1,
                                     .degree = 5,
                                     .depth = 3};
    a = solve(&plenty);
    assert_true(a.optimal);
    assert_int_equal(a.method, PLAN_TREE_EXACT);
}

static void test_when_time_is_up_there_is_a_tree_and_a_bound(void **state)
{
    const struct plan_tree_effort hurry = {.seconds = 0.01};
    struct plan_tree_answer a;
    struct rng rng;

    (void)state;
    rng_init(&rng, 6);
    testing_matrix(&t, &rng, 40);
    t.p.degree = 3;
    t.p.depth = 5;
    t.p.leaf_cost = 2;
    a = solve(&hurry);
    assert_false(a.optimal);
    assert_true(a.bound > 0 && a.bound < a.objective);
}

static void test_more_than_the_solver_can_hold_is_grown(void **state)
{
    struct plan_tree_answer a;
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    testing_matrix(&t, &rng, 60);
    t.p.degree = 2;
    t.p.depth = 60;
    a = solve(&plenty);
    assert_int_equal(a.method, PLAN_TREE_HEURISTIC);
}

/* What the solver prints would be among our results. */
static void test_the_solver_says_nothing(void **state)
{
    char path[] = "/tmp/strait_plan_XXXXXX";
    int saved[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)}, fd = mkstemp(path);
    struct plan_tree_answer a;
    struct rng rng;

    (void)state;
    rng_init(&rng, 8);
    testing_racks(&t, &rng, 3, 4, 5);
    testing_limits(&t, &rng);
    assert_true(fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    a = solve(&plenty);
    testing_matrix(&t, &rng, 12);
    testing_limits(&t, &rng);
    a = solve(&(struct plan_tree_effort){.seconds = 0.2});
    (void)fflush(stdout);
    (void)dup2(saved[0], STDOUT_FILENO);
    (void)dup2(saved[1], STDERR_FILENO);
    assert_true(a.objective > 0);
    assert_int_equal(lseek(fd, 0, SEEK_END), 0);
    (void)unlink(path);
    (void)close(fd);
    (void)close(saved[0]);
    (void)close(saved[1]);
}

static void test_running_out_of_memory_is_said(void **state)
{
    struct plan_tree_answer a;
    struct err_text text;
    enum err rc = ERR_NOMEM;
    uint64_t k;

    (void)state;
    memset(&t, 0, sizeof(t));
    for (uint32_t i = 0; i < 9; i++) {
        t.places[i] = (struct plan_tree_place){.agg = i / 5, .edge = i / 3};
    }
    t.p = (struct plan_tree_problem){.workers = 9,
                                     .servers = 1,
                                     .places = t.places,
                                     .edge_cost = 0.1,
                                     .agg_cost = 0.5,
                                     .core_cost = 1,
                                     .degree = 2,
                                     .depth = 3,
                                     .leaf_cost = 0.3};
    for (k = 1; rc != OK && k < 200; k++) {
        int64_t before = mem_bytes_held();

        mem_fail_at(k, 1);
        rc = plan_tree_solve(&t.p, &plenty, t.parent, &a, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        assert_int_equal(mem_bytes_held(), before);
    }
    assert_int_equal(rc, OK);
    assert_true(k > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_tree_of_racks_is_better_than_the_solvers),
        cmocka_unit_test(test_no_tree_of_measured_costs_is_better_than_the_solvers),
        cmocka_unit_test(test_masked_workers_are_leaves_in_the_best_tree),
        cmocka_unit_test(test_classes_do_not_change_the_optimum),
        cmocka_unit_test(test_relaxations_are_below_and_grown_trees_above),
        cmocka_unit_test(test_a_small_cluster_is_solved),
        cmocka_unit_test(test_when_time_is_up_there_is_a_tree_and_a_bound),
        cmocka_unit_test(test_more_than_the_solver_can_hold_is_grown),
        cmocka_unit_test(test_the_solver_says_nothing),
        cmocka_unit_test(test_running_out_of_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
