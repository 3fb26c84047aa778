/* Sums over workers: rows in order and complete, and the same as a naive count. */

#include "run/trainer/tally.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { WORKERS_MAX = 6, CLOCKS_MAX = 400 };

static void assert_near(double got, double wanted, double within)
{
    assert_true(fabs(got - wanted) <= within);
}

struct given {
    uint32_t count;
    struct run_row rows[CLOCKS_MAX];
};

static void given_row(const struct run_row *row, void *user)
{
    struct given *g = user;

    assert_true(g->count < CLOCKS_MAX);
    assert_true(g->count == 0 || row->clock > g->rows[g->count - 1].clock);
    g->rows[g->count++] = *row;
}

static struct run_tally *make(uint32_t workers, struct given *g)
{
    struct run_tally *t = NULL;

    memset(g, 0, sizeof(*g));
    assert_int_equal(run_tally_create(workers, given_row, g, &t), OK);
    return t;
}

static struct run_clock clock_of(uint64_t clock, double loss_sum)
{
    return (struct run_clock){.clock = clock,
                              .next = clock + 1,
                              .samples = 10,
                              .loss_sum = loss_sum,
                              .read_ns = 2000000000,
                              .compute_ns = 1000000000,
                              .end_ns = 1000000000};
}

static struct run_evaluation judged(uint64_t clock, double sum, double count)
{
    return (struct run_evaluation){
        .clock = clock, .score = {.objective_sum = sum, .count = count, .correct = 3, .tested = 4}};
}

static void end_clock(struct run_tally *t, uint32_t rank, uint64_t clock, double loss, int64_t at)
{
    struct run_clock c = clock_of(clock, loss);

    run_tally_clock(t, rank, &c, at);
}

static void test_a_row_is_given_when_all_have_gone_beyond_it(void **state)
{
    struct given g;
    struct run_tally *t = make(2, &g);

    (void)state;
    run_tally_joined(t, 0, 1);
    run_tally_joined(t, 1, 1);
    end_clock(t, 0, 1, 5, 100);
    end_clock(t, 1, 1, 15, 300);
    assert_int_equal(g.count, 0); /* They may still judge it. */
    end_clock(t, 0, 2, 5, 400);
    assert_int_equal(g.count, 0);
    end_clock(t, 1, 2, 5, 500);
    assert_int_equal(g.count, 1);
    assert_int_equal(g.rows[0].clock, 1);
    assert_int_equal(g.rows[0].now_ns, 300);
    assert_int_equal(g.rows[0].workers, 2);
    assert_near(g.rows[0].loss, 1, 0);
    assert_near(g.rows[0].samples, 20, 0);
    assert_near(g.rows[0].read_s, 2, 1e-12);
    assert_near(g.rows[0].compute_s, 1, 1e-12);
    assert_false(g.rows[0].evaluated);
    assert_true(isnan(g.rows[0].objective));
    assert_int_equal(run_tally_clock_all(t), 2);
    assert_near(run_tally_waiting(t), 0.75, 1e-12);
    run_tally_finish(t);
    assert_int_equal(g.count, 2);
    run_tally_destroy(t);
}

static void test_an_evaluation_is_known_as_soon_as_all_have_judged(void **state)
{
    struct run_evaluation one = judged(1, 10, 5), two = judged(1, 20, 5);
    struct given g;
    struct run_tally *t = make(2, &g);
    uint32_t count = 0;

    (void)state;
    run_tally_joined(t, 0, 1);
    run_tally_joined(t, 1, 1);
    end_clock(t, 0, 1, 1, 1);
    end_clock(t, 1, 1, 1, 1);
    run_tally_evaluated(t, 0, &one, 2);
    assert_int_equal(run_tally_score(t)->clock, 0);
    run_tally_evaluated(t, 1, &two, 3);
    assert_int_equal(run_tally_score(t)->clock, 1);
    assert_near(run_tally_score(t)->objective, 3, 0);
    assert_near(run_tally_score(t)->accuracy, 0.75, 0);
    assert_near(run_tally_history(t, &count)[0], 3, 0);
    assert_int_equal(count, 1);
    run_tally_finish(t);
    assert_int_equal(g.count, 1);
    assert_true(g.rows[0].evaluated);
    assert_near(g.rows[0].objective, 3, 0);
    (void)run_tally_history(t, &count);
    assert_int_equal(count, 1); /* Not twice. */
    run_tally_destroy(t);
}

static void test_one_who_left_after_judging_is_counted(void **state)
{
    struct run_evaluation one = judged(1, 10, 5), two = judged(1, 20, 5);
    struct given g;
    struct run_tally *t = make(2, &g);

    (void)state;
    run_tally_joined(t, 0, 1);
    run_tally_joined(t, 1, 1);
    end_clock(t, 0, 1, 1, 1);
    run_tally_evaluated(t, 0, &one, 2);
    run_tally_left(t, 0);
    end_clock(t, 1, 1, 1, 3);
    run_tally_evaluated(t, 1, &two, 4);
    assert_near(run_tally_score(t)->objective, 3, 0);
    run_tally_left(t, 1);
    assert_int_equal(run_tally_clock_all(t), 1);
    run_tally_destroy(t);
}

static void test_nobody_waits_for_one_who_is_away(void **state)
{
    struct given g;
    struct run_tally *t = make(2, &g);

    (void)state;
    run_tally_joined(t, 0, 1);
    run_tally_joined(t, 1, 1);
    end_clock(t, 1, 1, 1, 1);
    run_tally_away(t, 1);
    for (uint64_t c = 1; c <= 5; c++) {
        end_clock(t, 0, c, 1, (int64_t)c);
    }
    assert_int_equal(g.count, 4);
    assert_int_equal(g.rows[0].workers, 2);
    assert_int_equal(g.rows[1].workers, 1);
    run_tally_joined(t, 1, 8);
    assert_int_equal(run_tally_worker(t, 1)->lives, 2);
    end_clock(t, 0, 6, 1, 6);
    end_clock(t, 0, 7, 1, 7);
    end_clock(t, 0, 8, 1, 8);
    assert_int_equal(g.rows[g.count - 1].clock, 6); /* From now on it is waited for. */
    run_tally_destroy(t);
}

static void test_a_jump_leaves_no_empty_rows(void **state)
{
    struct run_clock c = clock_of(1, 1);
    struct given g;
    struct run_tally *t = make(1, &g);

    (void)state;
    run_tally_joined(t, 0, 1);
    c.next = 50;
    c.rebased = true;
    run_tally_clock(t, 0, &c, 1);
    end_clock(t, 0, 50, 1, 2);
    end_clock(t, 0, 51, 1, 3);
    run_tally_finish(t);
    assert_int_equal(g.count, 3);
    assert_int_equal(g.rows[0].rebased, 1);
    assert_int_equal(g.rows[1].clock, 50);
    assert_int_equal(run_tally_worker(t, 0)->rebased, 1);
    run_tally_destroy(t);
}

/* tap: one may be thousands of clocks behind; the memory for rows is bounded. */
static void test_rows_do_not_wait_for_ever(void **state)
{
    struct run_tally *t = NULL;

    (void)state;
    assert_int_equal(run_tally_create(2, NULL, NULL, &t), OK);
    run_tally_joined(t, 0, 1);
    run_tally_joined(t, 1, 1);
    for (uint64_t c = 1; c <= 3 * RUN_TALLY_ROWS_MAX; c++) {
        end_clock(t, 0, c, 1, (int64_t)c);
    }
    assert_int_equal(run_tally_last(t)->clock, 2 * RUN_TALLY_ROWS_MAX);
    end_clock(t, 1, 1, 1, 1); /* Too late for its row, and counted all the same. */
    assert_int_equal(run_tally_worker(t, 1)->clocks, 1);
    run_tally_destroy(t);
}

static void test_the_history_keeps_its_shape(void **state)
{
    struct run_tally *t = NULL;
    const double *history;
    uint32_t count = 0;

    (void)state;
    assert_int_equal(run_tally_create(1, NULL, NULL, &t), OK);
    run_tally_joined(t, 0, 1);
    for (uint64_t c = 1; c <= 10 * RUN_TALLY_HISTORY; c++) {
        struct run_evaluation e = judged(c, (double)c, 1);

        end_clock(t, 0, c, 1, (int64_t)c);
        run_tally_evaluated(t, 0, &e, (int64_t)c);
    }
    history = run_tally_history(t, &count);
    assert_in_range(count, RUN_TALLY_HISTORY / 2, RUN_TALLY_HISTORY);
    for (uint32_t i = 1; i < count; i++) {
        assert_true(history[i] > history[i - 1]);
    }
    assert_near(history[count - 1], 10.0 * RUN_TALLY_HISTORY, 0);
    run_tally_destroy(t);
}

/* Random lives of workers against a count that keeps everything. */
struct naive {
    double loss[CLOCKS_MAX];
    double samples[CLOCKS_MAX];
    uint32_t workers[CLOCKS_MAX];
};

static void play(uint64_t seed)
{
    static struct naive naive;
    static struct given g;
    struct rng rng;
    uint32_t workers;
    uint64_t at[WORKERS_MAX];
    bool in[WORKERS_MAX];
    struct run_tally *t;
    int64_t now_ns = 0;

    rng_init(&rng, seed);
    memset(&naive, 0, sizeof(naive));
    workers = 1 + (uint32_t)rng_below(&rng, WORKERS_MAX);
    t = make(workers, &g);
    for (uint32_t w = 0; w < workers; w++) {
        at[w] = 1;
        in[w] = true;
        run_tally_joined(t, w, 1);
    }
    for (uint32_t i = 0; i < 600; i++) {
        uint32_t w = (uint32_t)rng_below(&rng, workers);
        uint64_t low = UINT64_MAX, high = 0;

        for (uint32_t k = 0; k < workers; k++) {
            low = in[k] && at[k] < low ? at[k] : low;
            high = at[k] > high ? at[k] : high;
        }
        low = low == UINT64_MAX ? high : low; /* Nobody is there. */
        now_ns++;
        if (!in[w]) {
            /* Back where the others are: nothing of it is for rows that were given out. */
            at[w] = low > at[w] ? low : at[w];
            in[w] = true;
            run_tally_joined(t, w, at[w]);
        } else if (rng_below(&rng, 20) == 0) {
            in[w] = false;
            run_tally_away(t, w);
        } else if (at[w] < low + 4 && at[w] < CLOCKS_MAX) {
            end_clock(t, w, at[w], (double)w, now_ns);
            naive.loss[at[w]] += (double)w;
            naive.samples[at[w]] += 10;
            naive.workers[at[w]]++;
            at[w]++;
        }
    }
    run_tally_finish(t);
    for (uint32_t i = 0; i < g.count; i++) {
        uint64_t c = g.rows[i].clock;

        assert_int_equal(g.rows[i].workers, naive.workers[c]);
        assert_near(g.rows[i].samples, naive.samples[c], 0);
        assert_near(g.rows[i].loss, naive.loss[c] / naive.samples[c], 1e-12);
    }
    run_tally_destroy(t);
}

static void test_random_lives_are_counted_as_a_naive_count_does(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        play(seed);
    }
}

static void test_no_memory_is_told(void **state)
{
    struct run_tally *t = NULL;
    uint64_t k = 1;

    (void)state;
    for (;; k++) {
        enum err rc;

        mem_fail_at(k, 1);
        rc = run_tally_create(3, NULL, NULL, &t);
        mem_fail_at(0, 0);
        if (rc == OK) {
            break;
        }
        assert_int_equal(rc, ERR_NOMEM);
    }
    assert_int_equal(k, 4);
    run_tally_destroy(t);
}

static void test_what_only_some_have_judged_at_the_end_is_not_judged(void **state)
{
    struct run_evaluation five = {.clock = 5, .score = {.objective_sum = 8, .count = 4}};
    struct run_evaluation six = {.clock = 6, .score = {.objective_sum = 1, .count = 4}};
    struct given g;
    struct run_tally *t = make(2, &g);

    (void)state;
    run_tally_joined(t, 0, 5);
    run_tally_joined(t, 1, 5);
    end_clock(t, 0, 5, 1, 10);
    end_clock(t, 1, 5, 1, 10);
    run_tally_evaluated(t, 0, &five, 11);
    run_tally_evaluated(t, 1, &five, 11);
    end_clock(t, 0, 6, 1, 12);
    run_tally_evaluated(t, 0, &six, 13);
    run_tally_finish(t);
    assert_int_equal(run_tally_score(t)->clock, 5);
    assert_near(run_tally_score(t)->objective, 2, 0);
    assert_true(run_tally_score(t)->judged);
    assert_true(g.rows[g.count - 2].evaluated);
    assert_int_equal(g.rows[g.count - 1].clock, 6);
    assert_false(g.rows[g.count - 1].evaluated);
    assert_true(isnan(g.rows[g.count - 1].objective));
    run_tally_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_row_is_given_when_all_have_gone_beyond_it),
        cmocka_unit_test(test_an_evaluation_is_known_as_soon_as_all_have_judged),
        cmocka_unit_test(test_one_who_left_after_judging_is_counted),
        cmocka_unit_test(test_nobody_waits_for_one_who_is_away),
        cmocka_unit_test(test_a_jump_leaves_no_empty_rows),
        cmocka_unit_test(test_rows_do_not_wait_for_ever),
        cmocka_unit_test(test_the_history_keeps_its_shape),
        cmocka_unit_test(test_random_lives_are_counted_as_a_naive_count_does),
        cmocka_unit_test(test_no_memory_is_told),
        cmocka_unit_test(test_what_only_some_have_judged_at_the_end_is_not_judged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
