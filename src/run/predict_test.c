/* What the simulator says of runs that were real: here of tallies that are made up. */

#include "run/predict.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A clock moves next to nothing: it takes what the step takes, and a round trip or two. */
static const char yaml[] = "run: test\n"
                           "topology:\n"
                           "  regions: [eu, us]\n"
                           "  links: [{between: [eu, us], rate: 1gbit, delay: 1ms}]\n"
                           "servers: [{region: eu}]\n"
                           "workers: [{region: eu}, {region: us}]\n"
                           "job: {name: synthetic, options: {elements: 64, compute_ms: 5000}}\n"
                           "evaluate: {every: 0}\n"
                           "stop: {clocks: 1000, time: 1s}\n";

static struct run_file *open_file(void)
{
    struct err_text text = {""};
    struct run_file *f = NULL;

    assert_int_equal(run_file_parse("a.yaml", NULL, yaml, strlen(yaml), &f, &text), OK);
    return f;
}

/* Both workers have ended @clocks, with steps of that many milliseconds. */
static struct run_tally *open_tally(uint64_t clocks, int64_t first_ms, int64_t second_ms)
{
    struct run_tally *t = NULL;

    assert_int_equal(run_tally_create(2, NULL, NULL, &t), OK);
    for (uint32_t rank = 0; rank < 2; rank++) {
        run_tally_joined(t, rank, 1);
        for (uint64_t c = 1; c <= clocks; c++) {
            struct run_clock clock = {.clock = c,
                                      .next = c + 1,
                                      .samples = 1,
                                      .compute_ns = (rank == 0 ? first_ms : second_ms) * 1000000};

            run_tally_clock(t, rank, &clock, 0);
        }
    }
    return t;
}

static void test_steps_take_what_was_measured_up_to_the_clock_that_was_reached(void **state)
{
    struct run_file *f = open_file();
    struct run_tally *t = open_tally(10, 100, 300);
    struct run_prediction p;
    struct err_text text = {""};

    (void)state;
    assert_int_equal(run_predict(f, t, NULL, NULL, &p, &text), OK);
    assert_true(p.known);
    assert_int_equal(p.clocks, 10);
    assert_true(fabs(p.compute_s - 0.2) < 1e-9);
    /* The slower one: 10 steps of 300 ms, and what it takes to meet and to send. */
    assert_true(p.time_s >= 3 && p.time_s < 3.2);
    assert_true(p.wan_bytes > 0);
    run_tally_destroy(t);
    run_file_free(f);
}

static void test_of_nothing_nothing_is_known(void **state)
{
    struct run_file *f = open_file();
    struct run_tally *t = open_tally(0, 0, 0);
    struct run_prediction p;
    struct err_text text = {""};

    (void)state;
    assert_int_equal(run_predict(f, t, NULL, NULL, &p, &text), OK);
    assert_false(p.known);
    run_tally_destroy(t);
    run_file_free(f);
}

/* Nor if workers have gone on from a clock that others ended, and then ended none. */
static void test_of_who_has_just_come_nothing_is_known(void **state)
{
    struct run_file *f = open_file();
    struct run_tally *t = open_tally(0, 0, 0);
    struct run_prediction p;
    struct err_text text = {""};

    (void)state;
    run_tally_joined(t, 0, 8);
    run_tally_joined(t, 1, 8);
    assert_int_equal(run_predict(f, t, NULL, NULL, &p, &text), OK);
    assert_false(p.known);
    run_tally_destroy(t);
    run_file_free(f);
}

static enum run_wish stop(void *user)
{
    (void)user;
    return RUN_WISH_STOP;
}

static void test_who_has_enough_need_not_wait(void **state)
{
    struct run_file *f = open_file();
    struct run_tally *t = open_tally(100, 10, 10);
    struct run_prediction p;
    struct err_text text = {""};

    (void)state;
    assert_int_equal(run_predict(f, t, stop, NULL, &p, &text), OK);
    assert_false(p.known);
    run_tally_destroy(t);
    run_file_free(f);
}

static void test_no_memory_is_told(void **state)
{
    struct run_file *f = open_file();
    struct run_tally *t = open_tally(2, 1, 1);
    struct run_prediction p;
    struct err_text text = {""};

    (void)state;
    mem_fail_at(1, 1);
    assert_int_equal(run_predict(f, t, NULL, NULL, &p, &text), ERR_NOMEM);
    mem_fail_at(0, 0);
    assert_string_equal(text.text, "no memory for the prediction");
    run_tally_destroy(t);
    run_file_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_take_what_was_measured_up_to_the_clock_that_was_reached),
        cmocka_unit_test(test_of_nothing_nothing_is_known),
        cmocka_unit_test(test_of_who_has_just_come_nothing_is_known),
        cmocka_unit_test(test_who_has_enough_need_not_wait),
        cmocka_unit_test(test_no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
