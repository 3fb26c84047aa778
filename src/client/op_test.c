/* Operations in the background. */

#include "base/rng.h"
#include "client/testing_calls.h"

#include <math.h>

/* Push, clock, pull in the background, with all barriers and deliveries. */
static void run_push(const char *barrier, enum node_delivery delivery)
{
    enum { ROWS = 7, WIDTH = 30000, COUNT = ROWS * WIDTH, CLOCKS = 3 };
    struct client_testing_site t = {0};
    float *update = floats_of(3, COUNT), *out = floats_of(0, COUNT);
    strait_op *push, *clock, *pull;
    uint64_t value = 0;
    strait *s;
    int table;

    testing_site_start(&t, barrier, delivery, 2, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", ROWS, WIDTH);
    for (uint64_t c = 1; c <= CLOCKS; c++) {
        OKAY(strait_push_begin(s, table, 0, COUNT, update, 1, &push));
        OKAY(strait_clock_begin(s, 1, &clock));
        OKAY(strait_wait(clock, T));
        OKAY(strait_op_value(clock, &value));
        assert_int_equal(value, c + 1);
        assert_int_equal(strait_test(push), 1); /* It goes before the end of its clock. */
        OKAY(strait_pull_begin(s, table, 0, COUNT, out, &pull));
        OKAY(strait_wait(pull, T));
        assert_int_equal(strait_test(pull), 1);
        assert_floats(out, COUNT, (float)(3 * c));
        OKAY(strait_op_free(push));
        OKAY(strait_op_free(clock));
        OKAY(strait_op_free(pull));
    }
    leave_worker(s);
    testing_site_stop(&t);
    free(update);
    free(out);
}

static void test_pushed_chunks_arrive_before_their_clock_ends(void **state)
{
    (void)state;
    run_push("bsp", NODE_BROADCAST);
    run_push("bsp", NODE_PULL);
    run_push("ssp", NODE_PULL);
    run_push("tap", NODE_PULL);
}

static void run_exchange(enum node_delivery delivery)
{
    enum { ROWS = 3, WIDTH = 50000, COUNT = ROWS * WIDTH };
    struct client_testing_site t = {0};
    float *a_floats = floats_of(1, COUNT), *b_floats = floats_of(10, COUNT);
    strait_op *a_op, *b_op;
    uint64_t value;
    strait *a, *b;
    int table;

    testing_site_start(&t, "bsp", delivery, 2, 2);
    join_two(&t, &a, &b);
    table = make_table(a, "w", ROWS, WIDTH);
    assert_int_equal(make_table(b, "w", ROWS, WIDTH), table);
    OKAY(strait_exchange_begin(a, table, a_floats, 1, a_floats, &a_op));
    if (delivery == NODE_BROADCAST) { /* Else the clock has ended, and reading waits. */
        FAILS(strait_update(a, table, 0, 1, b_floats), STRAIT_E_BUSY, "clock is being ended");
        FAILS(strait_clock(a, 1, T, NULL), STRAIT_E_BUSY, "clock is being ended");
        FAILS(strait_clock_begin(a, 1, &b_op), STRAIT_E_BUSY, "clock is being ended");
        FAILS(strait_push_begin(a, table, 0, COUNT, b_floats, 1, &b_op), STRAIT_E_BUSY,
              "being ended");
    }
    assert_int_equal(strait_test(a_op), 0); /* The other one is missing. */
    FAILS(strait_wait(a_op, 0.02), STRAIT_E_TIMEOUT, "not done after 0.02 s: ");
    FAILS(strait_op_value(a_op, &value), STRAIT_E_BUSY, "not done");
    OKAY(strait_exchange_begin(b, table, b_floats, 1, b_floats, &b_op));
    OKAY(strait_wait(a_op, T));
    OKAY(strait_wait(b_op, T));
    OKAY(strait_wait(b_op, 0)); /* Again: the same. */
    OKAY(strait_op_value(b_op, &value));
    assert_int_equal(value, 2);
    assert_floats(a_floats, COUNT, 11);
    assert_floats(b_floats, COUNT, 11);
    OKAY(strait_op_free(a_op));
    OKAY(strait_op_free(b_op));
    OKAY(strait_update(a, table, 0, 1, b_floats));
    leave_worker(a);
    leave_worker(b);
    testing_site_stop(&t);
    free(a_floats);
    free(b_floats);
}

static void test_exchange_gives_everybody_the_sum(void **state)
{
    (void)state;
    run_exchange(NODE_BROADCAST);
    run_exchange(NODE_PULL);
}

static void test_rows_are_pulled_in_the_order_of_naming(void **state)
{
    enum { ROWS = 1000, WIDTH = 3, NAMED = 200 };
    struct client_testing_site t = {0};
    float all[ROWS * WIDTH], out[NAMED][WIDTH], ordered[NAMED][WIDTH];
    int64_t rows[NAMED], order[NAMED];
    strait_op *op, *second;
    struct rng rng;
    strait *s;
    int table;

    (void)state;
    rng_init(&rng, 3);
    testing_site_start(&t, "tap", NODE_PULL, 2, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", ROWS, WIDTH);
    for (int i = 0; i < ROWS * WIDTH; i++) {
        all[i] = (float)i;
    }
    for (int i = 0; i < NAMED; i++) {
        rows[i] = (int64_t)rng_below(&rng, ROWS);
        order[i] = i * 5;
    }
    OKAY(strait_update(s, table, 0, ROWS * WIDTH, all));
    OKAY(strait_clock(s, 1, T, NULL));
    OKAY(strait_pull_rows_begin(s, table, rows, NAMED, out[0], &op));
    OKAY(strait_pull_rows_begin(s, table, order, NAMED, ordered[0], &second));
    OKAY(strait_wait(second, T));
    OKAY(strait_wait(op, T));
    for (int i = 0; i < NAMED; i++) {
        assert_memory_equal(out[i], &all[rows[i] * WIDTH], sizeof(out[i]));
        assert_memory_equal(ordered[i], &all[order[i] * WIDTH], sizeof(out[i]));
    }
    OKAY(strait_op_free(op));
    OKAY(strait_op_free(second));
    leave_worker(s);
    testing_site_stop(&t);
}

static void test_a_chunk_goes_once_in_a_clock(void **state)
{
    struct client_testing_site t = {0};
    float floats[4] = {1, 1, 1, 1};
    strait_op *op;
    strait *s;
    int table;

    (void)state;
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", 1, 4);
    OKAY(strait_push_begin(s, table, 0, 4, floats, 1, &op));
    OKAY(strait_wait(op, T));
    OKAY(strait_op_free(op));
    FAILS(strait_push_begin(s, table, 0, 4, floats, 1, &op), STRAIT_E_EXISTS, "in this clock");
    FAILS(strait_update(s, table, 0, 1, floats), STRAIT_E_EXISTS, "in this clock");
    FAILS(strait_update_rows(s, table, (int64_t[1]){0}, 1, floats), STRAIT_E_EXISTS, "this clock");
    OKAY(strait_clock(s, 1, T, NULL));
    OKAY(strait_update(s, table, 0, 4, floats));
    FAILS(strait_push_begin(s, table, 0, 4, floats, 1, &op), STRAIT_E_EXISTS, "in this clock");
    OKAY(strait_clock(s, 1, T, NULL));
    OKAY(strait_read(s, table, 0, 4, floats, T));
    assert_floats(floats, 4, 2);
    leave_worker(s);
    testing_site_stop(&t);
}

static void test_an_update_that_is_not_finite_is_refused_by_the_servers(void **state)
{
    struct strait_state info = {.size = sizeof(info)};
    struct client_testing_site t = {0};
    float floats[4] = {1, NAN, 1, 1}, out[4];
    strait_op *op;
    strait *s;
    int table;

    (void)state;
    testing_site_start(&t, "bsp", NODE_PULL, 1, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", 1, 4);
    OKAY(strait_exchange_begin(s, table, floats, 1, out, &op));
    OKAY(strait_wait(op, T));
    OKAY(strait_op_free(op));
    assert_floats(out, 4, 0);
    OKAY(strait_info(s, &info));
    assert_int_equal(info.refused, 1);
    leave_worker(s);
    testing_site_stop(&t);
}

static void test_an_operation_may_be_given_up(void **state)
{
    struct client_testing_site t = {0};
    float *floats = floats_of(1, 8), *out = floats_of(0, 8);
    uint64_t clock = 0;
    strait_op *op;
    strait *a, *b;
    int table;

    (void)state;
    testing_site_start(&t, "bsp", NODE_PULL, 1, 2);
    join_two(&t, &a, &b);
    table = make_table(a, "w", 2, 4);
    OKAY(strait_update(a, table, 0, 8, floats));
    OKAY(strait_clock(a, 1, T, NULL));
    OKAY(strait_pull_begin(a, table, 0, 8, out, &op)); /* It waits for the other one. */
    FAILS(strait_wait(op, 0.01), STRAIT_E_TIMEOUT, "clock 2");
    OKAY(strait_op_free(op));
    free(out); /* Nobody writes to it any more. */
    FAILS(strait_read(a, table, 0, 8, floats, 0.01), STRAIT_E_TIMEOUT, "clock 2");
    OKAY(strait_clock(b, 1, T, NULL));
    OKAY(strait_read(a, table, 0, 8, floats, T));
    assert_floats(floats, 8, 1);

    /* The end of a clock is not taken back: neither alone nor in an exchange. */
    OKAY(strait_clock_begin(a, 1, &op));
    OKAY(strait_op_free(op));
    OKAY(strait_clock(b, 1, T, &clock));
    assert_int_equal(clock, 3);
    OKAY(strait_read(a, table, 0, 1, floats, T));
    OKAY(strait_exchange_begin(b, make_table(b, "w", 2, 4), floats, 1, floats, &op));
    while (strait_read(b, table, 0, 1, floats, 0) == STRAIT_OK) {
    }
    OKAY(strait_op_free(op)); /* It has ended its clock, and is reading. */
    OKAY(strait_clock(a, 1, T, &clock));
    assert_int_equal(clock, 4);
    OKAY(strait_clock(b, 1, T, &clock));
    assert_int_equal(clock, 5);
    leave_worker(a);
    leave_worker(b);
    testing_site_stop(&t);
    free(floats);
}

/* Freed at any moment of it, an exchange leaves a worker that goes on. */
static void test_an_exchange_may_be_given_up_at_any_moment(void **state)
{
    enum { COUNT = 4 * 65536, ROUNDS = 12 };
    struct client_testing_site t = {0};
    float *floats = floats_of(1, COUNT);
    strait_op *op;
    strait *s;
    int table;

    (void)state;
    testing_site_start(&t, "bsp", NODE_BROADCAST, 2, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", 4, 65536);
    for (int i = 0; i < ROUNDS; i++) {
        int code;

        OKAY(strait_exchange_begin(s, table, floats, 1, floats, &op));
        for (int k = 0; k < i; k++) {
            code = strait_wait(op, 0); /* Each runs a turn. */
            assert_true(code == STRAIT_OK || code == STRAIT_E_TIMEOUT);
        }
        OKAY(strait_op_free(op));
        do {
            code = strait_clock(s, 1, T, NULL);
        } while (code == STRAIT_E_BUSY);
        OKAY(code);
    }
    leave_worker(s);
    testing_site_stop(&t);
    free(floats);
}

static void test_leaving_ends_what_is_under_way(void **state)
{
    struct client_testing_site t = {0};
    float floats[4] = {0};
    strait_op *clock;
    strait *a, *b;

    (void)state;
    testing_site_start(&t, "bsp", NODE_BROADCAST, 1, 2);
    join_two(&t, &a, &b);
    OKAY(strait_clock_begin(a, 1, &clock));
    FAILS(strait_clock(b, 1, 0, NULL), STRAIT_E_TIMEOUT, "");
    OKAY(strait_clock(b, 1, T, NULL));
    OKAY(strait_wait(clock, T));
    OKAY(strait_op_free(clock));
    OKAY(strait_clock_begin(a, 1, &clock)); /* The other one does not come. */
    FAILS(strait_wait(clock, 0.01), STRAIT_E_TIMEOUT, "clock 3");
    OKAY(strait_leave(a, T));
    FAILS(strait_wait(clock, T), STRAIT_E_CANCELLED, "the worker left");
    FAILS(strait_op_value(clock, NULL), STRAIT_E_CANCELLED, "the worker left");
    assert_int_equal(strait_test(clock), 1);
    OKAY(strait_op_free(clock));
    OKAY(strait_clock(b, 1, T, NULL)); /* Nobody waits for the one who left. */
    OKAY(strait_read(b, make_table(b, "w", 1, 4), 0, 4, floats, T));
    leave_worker(b);
    OKAY(strait_close(a));
    testing_site_stop(&t);
}

/* Interrupted while it joins, a worker can leave: nobody waits for it. */
static void test_a_worker_may_leave_while_it_joins(void **state)
{
    struct client_testing_site t = {0};
    uint64_t clock = 0;
    strait *a, *b, *c;

    (void)state;
    testing_site_start(&t, "bsp", NODE_PULL, 2, 2);
    a = open_worker(&t, ", \"rank\": 0");
    FAILS_SOON(strait_join(a, 0.01, NULL), STRAIT_E_TIMEOUT, "has not let this worker in");
    OKAY(strait_leave(a, T));
    b = open_worker(&t, ", \"rank\": 1");
    c = open_worker(&t, ", \"rank\": 2");
    FAILS_SOON(strait_join(b, 0.01, NULL), STRAIT_E_TIMEOUT, "has not let this worker in");
    OKAY(strait_join(c, T, &clock));
    OKAY(strait_join(b, T, &clock));
    OKAY(strait_clock(b, 1, T, NULL));
    OKAY(strait_clock(c, 1, T, NULL));
    OKAY(strait_read(b, make_table(b, "w", 1, 1), 0, 1, (float[1]){0}, T));
    OKAY(strait_join(a, T, &clock)); /* And come back. */
    leave_worker(a);
    leave_worker(b);
    leave_worker(c);
    testing_site_stop(&t);
}

static void test_operations_that_are_never_freed_have_a_limit(void **state)
{
    enum { LIMIT = 4096 };
    static strait_op *ops[LIMIT];
    struct client_testing_site t = {0};
    strait_op *more;
    strait *s;
    int table;

    (void)state;
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", 1, 1);
    for (int i = 0; i < LIMIT; i++) {
        OKAY(strait_pull_begin(s, table, 0, 0, NULL, &ops[i]));
    }
    FAILS(strait_pull_begin(s, table, 0, 0, NULL, &more), STRAIT_E_BUSY, "have not been freed");
    OKAY(strait_clock(s, 1, T, NULL)); /* Those who wait themselves are not in the way. */
    OKAY(strait_op_free(ops[7]));
    OKAY(strait_pull_begin(s, table, 0, 0, NULL, &more));
    assert_ptr_not_equal(more, ops[7]);
    FAILS(strait_wait(ops[7], T), STRAIT_E_HANDLE, "freed");
    OKAY(strait_leave(s, T));
    OKAY(strait_close(s)); /* Frees the rest. */
    testing_site_stop(&t);
}

static void test_background_calls_fail_cleanly_at_every_allocation(void **state)
{
    enum { NAMED = 40 };
    struct client_testing_site t = {0};
    float out[NAMED];
    int64_t rows[NAMED];
    strait_op *op;
    strait *s;
    int table, failures = 0;

    (void)state;
    testing_site_start(&t, "bsp", NODE_BROADCAST, 1, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", NAMED, 1);
    for (int i = 0; i < NAMED; i++) {
        rows[i] = NAMED - 1 - i;
    }
    for (uint64_t k = 1; k < 12; k++) {
        int code;

        mem_fail_at(k, 1);
        code = strait_pull_rows_begin(s, table, rows, NAMED, out, &op);
        mem_fail_at(0, 0);
        failures += code == STRAIT_E_NO_MEMORY;
        assert_true(code == STRAIT_OK || code == STRAIT_E_NO_MEMORY);
        if (code == STRAIT_OK) {
            OKAY(strait_wait(op, T));
            OKAY(strait_op_free(op));
        }
    }
    assert_true(failures >= 4);
    leave_worker(s);
    testing_site_stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pushed_chunks_arrive_before_their_clock_ends),
        cmocka_unit_test(test_exchange_gives_everybody_the_sum),
        cmocka_unit_test(test_rows_are_pulled_in_the_order_of_naming),
        cmocka_unit_test(test_a_chunk_goes_once_in_a_clock),
        cmocka_unit_test(test_an_update_that_is_not_finite_is_refused_by_the_servers),
        cmocka_unit_test(test_an_operation_may_be_given_up),
        cmocka_unit_test(test_an_exchange_may_be_given_up_at_any_moment),
        cmocka_unit_test(test_leaving_ends_what_is_under_way),
        cmocka_unit_test(test_a_worker_may_leave_while_it_joins),
        cmocka_unit_test(test_operations_that_are_never_freed_have_a_limit),
        cmocka_unit_test(test_background_calls_fail_cleanly_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
