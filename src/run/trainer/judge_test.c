/* Whether a training has converged or diverged: curves of every kind. */

#include "run/trainer/judge.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The first clock at which the verdict is not to go on; zero: none. */
static uint64_t clock_of(struct run_judge *j, uint32_t every, const double *objectives,
                         uint32_t count, enum run_verdict *verdict_out)
{
    for (uint32_t i = 0; i < count; i++) {
        *verdict_out = run_judge_next(j, (uint64_t)(i + 1) * every, objectives[i]);
        if (*verdict_out != RUN_GOES_ON) {
            return (uint64_t)(i + 1) * every;
        }
    }
    return 0;
}

static void test_a_falling_objective_converges_when_it_falls_no_more(void **state)
{
    static const double objectives[] = {10, 5, 3, 2, 1.99, 1.985, 1.98};
    struct run_judge j;
    enum run_verdict verdict;

    (void)state;
    run_judge_init(&j, 10, 0.02, false);
    assert_int_equal(clock_of(&j, 10, objectives, 7, &verdict), 50); /* 0.5 % over 10 clocks */
    assert_int_equal(verdict, RUN_CONVERGED);
    run_judge_init(&j, 20, 0.02, false);
    assert_int_equal(clock_of(&j, 10, objectives, 7, &verdict), 60);
    run_judge_init(&j, 30, 0.001, false);
    assert_int_equal(clock_of(&j, 10, objectives, 7, &verdict), 0);
}

/* Log-likelihoods are negative and rise. */
static void test_a_negative_objective_that_rises_converges_too(void **state)
{
    static const double objectives[] = {-9, -7, -6, -5.5, -5.45, -5.44};
    struct run_judge j;
    enum run_verdict verdict;

    (void)state;
    run_judge_init(&j, 1, 0.02, true);
    assert_int_equal(clock_of(&j, 1, objectives, 6, &verdict), 5);
    assert_int_equal(verdict, RUN_CONVERGED);
}

static void test_the_change_is_less_and_not_equal(void **state)
{
    static const double equal[] = {100, 98}, less[] = {100, 98.0001};
    struct run_judge j;
    enum run_verdict verdict;

    (void)state;
    run_judge_init(&j, 1, 0.02, false);
    assert_int_equal(clock_of(&j, 1, equal, 2, &verdict), 0);
    run_judge_init(&j, 1, 0.02, false);
    assert_int_equal(clock_of(&j, 1, less, 2, &verdict), 2);
}

/* It is back where it was, but not at rest. */
static void test_swinging_is_not_converging(void **state)
{
    static const double objectives[] = {2, 3, 2, 3, 2, 3, 2, 3, 2};
    struct run_judge j;
    enum run_verdict verdict;

    (void)state;
    run_judge_init(&j, 2, 0.02, false);
    assert_int_equal(clock_of(&j, 1, objectives, 9, &verdict), 0);
}

static void test_zero_that_stays_has_converged(void **state)
{
    static const double objectives[] = {1, 0, 0};
    struct run_judge j;
    enum run_verdict verdict;

    (void)state;
    run_judge_init(&j, 1, 0.02, false);
    assert_int_equal(clock_of(&j, 1, objectives, 3, &verdict), 3);
    assert_int_equal(verdict, RUN_CONVERGED);
}

/* A training that stands still at first has not converged. */
static void test_clocks_before_the_first_that_counts_do_not(void **state)
{
    struct run_judge j;

    (void)state;
    run_judge_init(&j, 10, 0.02, false);
    j.after = 50;
    for (uint64_t clock = 5; clock < 60; clock += 5) {
        assert_int_equal(run_judge_next(&j, clock, 1), RUN_GOES_ON);
    }
    assert_int_equal(run_judge_next(&j, 60, 1), RUN_CONVERGED);
    run_judge_init(&j, 10, 0.02, false);
    j.after = 50;
    assert_int_equal(run_judge_next(&j, 1, (double)NAN), RUN_DIVERGED);
}

static void test_what_is_not_finite_diverges_and_never_converges(void **state)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};
    struct run_judge j;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        run_judge_init(&j, 1, 0.02, i == 1);
        assert_int_equal(run_judge_next(&j, 1, values[i]), RUN_DIVERGED);
        assert_int_equal(run_judge_next(&j, 2, values[i]), RUN_DIVERGED);
        run_judge_init(&j, 0, 0.02, i == 1);
        assert_int_equal(run_judge_next(&j, 1, 3), RUN_GOES_ON);
        assert_int_equal(run_judge_next(&j, 2, values[i]), RUN_DIVERGED);
    }
}

static void test_what_is_beyond_all_bounds_has_diverged(void **state)
{
    struct run_judge j;

    (void)state;
    run_judge_init(&j, 0, 0, false);
    assert_int_equal(run_judge_next(&j, 1, 2), RUN_GOES_ON);
    assert_int_equal(run_judge_next(&j, 2, 2e6), RUN_GOES_ON);
    assert_int_equal(run_judge_next(&j, 3, 2.1e6), RUN_DIVERGED);
    run_judge_init(&j, 0, 0, false);
    assert_int_equal(run_judge_next(&j, 1, 1e-9), RUN_GOES_ON); /* Nearly nothing at first. */
    assert_int_equal(run_judge_next(&j, 2, 0.5), RUN_GOES_ON);
    assert_int_equal(run_judge_next(&j, 3, 1.1e6), RUN_DIVERGED);
    run_judge_init(&j, 0, 0, true);
    assert_int_equal(run_judge_next(&j, 1, -2), RUN_GOES_ON);
    assert_int_equal(run_judge_next(&j, 2, 1e12), RUN_GOES_ON); /* Better, however much. */
    assert_int_equal(run_judge_next(&j, 3, -2.1e6), RUN_DIVERGED);
}

static void test_an_evaluation_that_comes_again_says_nothing(void **state)
{
    struct run_judge j;

    (void)state;
    run_judge_init(&j, 1, 0.02, false);
    assert_int_equal(run_judge_next(&j, 5, 3), RUN_GOES_ON);
    assert_int_equal(run_judge_next(&j, 5, 3), RUN_GOES_ON);
    assert_int_equal(run_judge_next(&j, 4, NAN), RUN_GOES_ON);
    assert_int_equal(run_judge_next(&j, 6, 3), RUN_CONVERGED);
}

/* Against all evaluations, looked at anew each time; evaluations may be left out. */
static void test_random_curves_are_judged_as_by_the_definition(void **state)
{
    uint32_t converged = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        double objectives[300];
        uint64_t clocks[300];
        struct run_judge j;
        struct rng rng;
        uint64_t window, clock = 0;

        rng_init(&rng, seed);
        window = 1 + rng_below(&rng, 40);
        run_judge_init(&j, window, 0.05, seed % 2 == 0);
        for (uint32_t i = 0; i < 300; i++) {
            double low = INFINITY, high = -INFINITY, first = NAN;
            bool expected = false;

            clock += 1 + rng_below(&rng, 3);
            clocks[i] = clock;
            objectives[i] = 1 + 10 * exp(-(double)i / 20) + (double)rng_below(&rng, 100) / 2000;
            for (uint32_t k = i + 1; k-- > 0 && isnan(first);) {
                low = objectives[k] < low ? objectives[k] : low;
                high = objectives[k] > high ? objectives[k] : high;
                if (clocks[k] + window <= clock) {
                    first = objectives[k];
                    expected = high - low < 0.05 * first;
                }
            }
            assert_int_equal(run_judge_next(&j, clock, objectives[i]),
                             expected ? RUN_CONVERGED : RUN_GOES_ON);
            converged += expected;
        }
    }
    assert_true(converged > 1000);
}

static void test_the_longest_window_has_room(void **state)
{
    struct run_judge j;

    (void)state;
    run_judge_init(&j, RUN_JUDGE_CLOCKS_MAX, 0.02, false);
    for (uint64_t c = 1; c <= 5 * RUN_JUDGE_CLOCKS_MAX; c++) {
        assert_int_equal(run_judge_next(&j, c, 1e6 / (double)c), RUN_GOES_ON);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_falling_objective_converges_when_it_falls_no_more),
        cmocka_unit_test(test_a_negative_objective_that_rises_converges_too),
        cmocka_unit_test(test_the_change_is_less_and_not_equal),
        cmocka_unit_test(test_swinging_is_not_converging),
        cmocka_unit_test(test_zero_that_stays_has_converged),
        cmocka_unit_test(test_clocks_before_the_first_that_counts_do_not),
        cmocka_unit_test(test_what_is_not_finite_diverges_and_never_converges),
        cmocka_unit_test(test_what_is_beyond_all_bounds_has_diverged),
        cmocka_unit_test(test_an_evaluation_that_comes_again_says_nothing),
        cmocka_unit_test(test_random_curves_are_judged_as_by_the_definition),
        cmocka_unit_test(test_the_longest_window_has_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
