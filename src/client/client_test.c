/* The library as an application uses it: a member's life, with real sockets and a server on other
 * threads. */

#include "base/rng.h"
#include "client/testing_calls.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

static void test_one_worker_reads_what_it_has_sent(void **state)
{
    struct client_testing_site t = {0};
    float update[20], out[20];
    uint64_t clock = 0, next = 0;
    strait *s;
    int table;

    (void)state;
    testing_site_start(&t, "bsp", NODE_BROADCAST, 2, 1);
    s = open_worker(&t, "");
    OKAY(strait_join(s, T, &clock));
    assert_int_equal(clock, 1);
    table = make_table(s, "w", 5, 4);
    for (int i = 0; i < 20; i++) {
        update[i] = (float)i;
    }
    OKAY(strait_update(s, table, 0, 20, update));
    OKAY(strait_update(s, table, 4, 4, update));
    OKAY(strait_clock(s, 1, T, &next));
    assert_int_equal(next, 2);
    OKAY(strait_read(s, table, 0, 20, out, T));
    for (int i = 0; i < 20; i++) {
        assert_true(out[i] == (float)(i + (i >= 4 && i < 8 ? i - 4 : 0)));
    }
    leave_worker(s);
    testing_site_stop(&t);
}

/* Rows in any order, some more than once, against a plain array. */
static void run_rows(const char *barrier, enum node_delivery delivery)
{
    enum { ROWS = 300, WIDTH = 7, NAMED = 40, CLOCKS = 5 };
    struct client_testing_site t = {0};
    float model[ROWS][WIDTH] = {{0}}, update[NAMED][WIDTH], out[NAMED][WIDTH];
    int64_t rows[NAMED];
    struct rng rng;
    strait *s;
    int table;

    rng_init(&rng, 7);
    testing_site_start(&t, barrier, delivery, 3, 1);
    s = join_worker(&t, "");
    table = make_table(s, "rows", ROWS, WIDTH);
    for (int c = 0; c < CLOCKS; c++) {
        for (int i = 0; i < NAMED; i++) {
            rows[i] = i == 5 ? rows[0] : (int64_t)rng_below(&rng, ROWS);
            for (int k = 0; k < WIDTH; k++) {
                update[i][k] = (float)rng_below(&rng, 100);
                model[rows[i]][k] += update[i][k];
            }
        }
        OKAY(strait_update_rows(s, table, rows, NAMED, update[0]));
        OKAY(strait_clock(s, 1, T, NULL));
        for (int i = 0; i < NAMED; i++) {
            rows[i] = c == 0 ? i * 7 : i == 5 ? rows[0] : (int64_t)rng_below(&rng, ROWS);
        }
        OKAY(strait_read_rows(s, table, rows, NAMED, out[0], T));
        for (int i = 0; i < NAMED; i++) {
            assert_memory_equal(out[i], model[rows[i]], sizeof(out[i]));
        }
    }
    leave_worker(s);
    testing_site_stop(&t);
}

static void test_rows_come_in_any_order_and_more_than_once(void **state)
{
    (void)state;
    run_rows("bsp", NODE_BROADCAST);
    run_rows("bsp", NODE_PULL);
    run_rows("tap", NODE_PULL);
    run_rows("ssp", NODE_PULL);
}

static void test_nothing_is_nothing_to_do(void **state)
{
    struct client_testing_site t = {0};
    strait_op *op;
    strait *s;
    int table;

    (void)state;
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", 2, 2);
    OKAY(strait_read(s, table, 4, 0, NULL, T));
    OKAY(strait_read_rows(s, table, NULL, 0, NULL, T));
    OKAY(strait_update(s, table, 0, 0, NULL));
    OKAY(strait_update_rows(s, table, NULL, 0, NULL));
    OKAY(strait_clock(s, 1, T, NULL)); /* An empty clock. */
    OKAY(strait_push_begin(s, table, 0, 0, NULL, 1, &op));
    assert_int_equal(strait_test(op), 1);
    OKAY(strait_wait(op, 0));
    OKAY(strait_op_free(op));
    OKAY(strait_pull_begin(s, table, 0, 0, NULL, &op));
    OKAY(strait_wait(op, 0));
    OKAY(strait_op_free(op));
    OKAY(strait_pull_rows_begin(s, table, NULL, 0, NULL, &op));
    OKAY(strait_wait(op, T));
    OKAY(strait_op_free(op));
    OKAY(strait_op_free(NULL));
    OKAY(strait_close(NULL));
    leave_worker(s);
    testing_site_stop(&t);
}

static void test_tables_are_made_once_and_found_by_others(void **state)
{
    struct strait_table info = {.size = sizeof(info)};
    struct client_testing_site t = {0};
    strait *a, *b;
    int first, second, found;

    (void)state;
    testing_site_start(&t, "tap", NODE_PULL, 2, 1);
    a = join_worker(&t, ", \"rank\": 0");
    b = join_worker(&t, ", \"rank\": 1");
    OKAY(strait_table_create(a, "net.w1", 300, 1000,
                             "{\"apply\": \"sgd lr=0.5\", \"init\": \"normal 0.02\", "
                             "\"combine\": \"mean\"}",
                             T, &first));
    OKAY(strait_table_create(a, "net.w2", 3, 1, NULL, T, &second));
    assert_int_not_equal(first, second);
    OKAY(strait_table_find(b, "net.w2", T, &found));
    assert_int_equal(found, second);
    OKAY(strait_table_find(b, "net.w1", T, &found));
    assert_int_equal(found, first);
    OKAY(strait_table_find(b, "net.w1", T, &found)); /* It is here by now. */
    FAILS(strait_table_find(b, "net.w3", T, &found), STRAIT_E_NOT_FOUND, "no table of that name");
    FAILS(strait_table_find(b, "a-name-that-is-longer-than-any-table-has", T, &found),
          STRAIT_E_NOT_FOUND, "so long a name");
    FAILS(strait_table_find(b, NULL, T, &found), STRAIT_E_INVALID, "no name");
    OKAY(strait_table_info(b, first, &info));
    assert_int_equal(info.rows, 300);
    assert_int_equal(info.width, 1000);
    assert_int_equal(info.chunk, 65 * 1000);
    assert_string_equal(info.name, "net.w1");
    assert_string_equal(info.apply, "sgd lr=0.5");
    assert_string_equal(info.combine, "mean");
    assert_non_null(strstr(info.init, "normal 0.02"));
    FAILS(strait_table_create(b, "net.w1", 300, 999, NULL, T, &found), STRAIT_E_EXISTS,
          "another shape");
    OKAY(strait_table_create(b, "net.w1", 300, 1000,
                             "{\"apply\": \"sgd lr=0.5\", \"init\": \"normal 0.02\", "
                             "\"combine\": \"mean\"}",
                             T, NULL));
    leave_worker(a);
    leave_worker(b);
    testing_site_stop(&t);
}

/* A structure of an application that was built with an older or newer header. */
static void test_structures_may_be_older_or_newer(void **state)
{
    struct {
        struct strait_state info;
        char more[16];
    } newer;
    struct strait_state info = {.size = sizeof(info)};
    struct client_testing_site t = {0};
    strait *s;

    (void)state;
    testing_site_start(&t, "ssp", NODE_PULL, 2, 1);
    s = open_worker(&t, ", \"rank\": 9");
    OKAY(strait_join(s, T, NULL));
    OKAY(strait_info(s, &info));
    assert_int_equal(info.size, sizeof(info));
    assert_int_equal(info.rank, 9);
    assert_int_equal(info.clock, 1);
    assert_int_equal(info.lanes, 2);
    assert_int_equal(info.broadcast, 0);
    assert_int_equal(info.staleness, 2);
    assert_string_equal(info.barrier, "ssp");
    assert_string_equal(info.site, "home");

    memset(&newer, 0x55, sizeof(newer));
    newer.info.size = sizeof(newer);
    OKAY(strait_info(s, &newer.info));
    assert_int_equal(newer.info.rank, 9);
    assert_int_equal(newer.info.size, sizeof(newer));
    for (size_t i = 0; i < sizeof(newer.more); i++) {
        assert_int_equal(newer.more[i], 0);
    }

    memset(&info, 0x55, sizeof(info));
    info.size = offsetof(struct strait_state, rebases);
    OKAY(strait_info(s, &info));
    assert_int_equal(info.clock, 1);
    assert_int_equal(info.rebases, UINT64_C(0x5555555555555555)); /* Not known to that one. */

    info.size = 0;
    FAILS(strait_info(s, &info), STRAIT_E_INVALID, "set .size");
    FAILS(strait_info(s, NULL), STRAIT_E_INVALID, "no place");
    leave_worker(s);
    testing_site_stop(&t);
}

static void test_metrics_are_json_of_the_size_they_say(void **state)
{
    struct client_testing_site t = {0};
    size_t size = 0, small = 10;
    char few[10];
    char *json;
    strait *s;

    (void)state;
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    s = join_worker(&t, "");
    FAILS(strait_metrics_json(s, NULL, &size), STRAIT_E_TOO_BIG, "bytes are needed");
    assert_true(size > 100);
    FAILS(strait_metrics_json(s, few, &small), STRAIT_E_TOO_BIG, "bytes are needed");
    size += 1000; /* It grows. */
    json = calloc(1, size);
    OKAY(strait_metrics_json(s, json, &size));
    assert_int_equal(strlen(json) + 1, size);
    assert_int_equal(strncmp(json, "{\"schema\":1,", 12), 0);
    assert_non_null(strstr(json, "strait_"));
    FAILS(strait_metrics_json(s, json, NULL), STRAIT_E_INVALID, "no size");
    free(json);
    leave_worker(s);
    testing_site_stop(&t);
}

static void test_wrong_arguments_are_refused_with_a_sentence(void **state)
{
    const int64_t rows[3] = {0, 9, -1}, beyond[1] = {10};
    struct strait_table info = {.size = sizeof(info)};
    struct client_testing_site t = {0};
    float floats[8] = {0};
    strait_op *op;
    strait *s;
    int table, wide;

    (void)state;
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", 10, 4);
    wide = make_table(s, "wide", 2, 100000);
    FAILS(strait_read(s, table, 0, 41, floats, T), STRAIT_E_INVALID, "beyond the end");
    FAILS(strait_read(s, table, 41, 1, floats, T), STRAIT_E_INVALID, "which has 40");
    FAILS(strait_read(s, table, UINT64_MAX, UINT64_MAX, floats, T), STRAIT_E_INVALID, "beyond");
    FAILS(strait_read(s, table, 0, 4, NULL, T), STRAIT_E_INVALID, "floats is NULL");
    FAILS(strait_read(s, table, 0, 4, floats, NAN), STRAIT_E_INVALID, "not a number");
    FAILS(strait_read(s, 99, 0, 4, floats, T), STRAIT_E_NOT_FOUND, "no table 99");
    FAILS(strait_read(s, -1, 0, 4, floats, T), STRAIT_E_NOT_FOUND, "no table -1");
    FAILS(strait_read(s, 256, 0, 4, floats, T), STRAIT_E_NOT_FOUND, "no table 256");
    FAILS(strait_table_info(s, 99, &info), STRAIT_E_NOT_FOUND, "no table 99");
    FAILS(strait_read_rows(s, table, rows, 3, floats, T), STRAIT_E_INVALID,
          "row -1 (number 2 of the list, from 0) is not in the table of 10 rows");
    FAILS(strait_read_rows(s, table, beyond, 1, floats, T), STRAIT_E_INVALID, "row 10");
    FAILS(strait_read_rows(s, table, NULL, 1, floats, T), STRAIT_E_INVALID, "rows is NULL");
    FAILS(strait_read_rows(s, wide, rows, 1, floats, T), STRAIT_E_INVALID, "by number");
    FAILS(strait_update_rows(s, table, rows, 2, NULL), STRAIT_E_INVALID, "floats is NULL");
    FAILS(strait_update(s, table, 39, 2, floats), STRAIT_E_INVALID, "beyond the end");
    floats[3] = NAN;
    FAILS(strait_update(s, table, 0, 8, floats), STRAIT_E_INVALID,
          "element 3 of the update is not");
    FAILS(strait_update_rows(s, table, rows, 2, floats), STRAIT_E_INVALID, "element 3");
    floats[3] = -INFINITY;
    FAILS(strait_update(s, table, 0, 8, floats), STRAIT_E_INVALID, "infinite");
    FAILS(strait_clock(s, 0, T, NULL), STRAIT_E_INVALID, "weight is 0");
    FAILS(strait_clock(s, 1, NAN, NULL), STRAIT_E_INVALID, "not a number");
    FAILS(strait_clock_begin(s, 0, &op), STRAIT_E_INVALID, "weight is 0");
    FAILS(strait_clock_begin(s, 1, NULL), STRAIT_E_INVALID, "no place");
    FAILS(strait_push_begin(s, table, 0, 40, floats, 0, &op), STRAIT_E_INVALID, "weight is 0");
    FAILS(strait_push_begin(s, table, 0, 39, floats, 1, &op), STRAIT_E_INVALID, "whole chunks");
    FAILS(strait_push_begin(s, table, 0, 40, floats, 1, NULL), STRAIT_E_INVALID, "no place");
    FAILS(strait_pull_begin(s, table, 0, 4, floats, NULL), STRAIT_E_INVALID, "no place");
    FAILS(strait_pull_rows_begin(s, table, rows, 2, floats, NULL), STRAIT_E_INVALID, "no place");
    FAILS(strait_exchange_begin(s, table, floats, 1, NULL, &op), STRAIT_E_INVALID, "values");
    FAILS(strait_exchange_begin(s, table, NULL, 1, floats, &op), STRAIT_E_INVALID, "NULL");
    FAILS(strait_table_create(s, "Big", 1, 1, NULL, T, NULL), STRAIT_E_INVALID, "lower-case");
    FAILS(strait_table_create(s, NULL, 1, 1, NULL, T, NULL), STRAIT_E_INVALID, "name");
    FAILS(strait_table_create(s, "z", 0, 1, NULL, T, NULL), STRAIT_E_INVALID, "z");
    FAILS(strait_table_create(s, "z", UINT64_MAX, 3, NULL, T, NULL), STRAIT_E_TOO_BIG, "z");
    FAILS(strait_table_create(s, "z", 1, 1, "{\"aply\": \"add\"}", T, NULL), STRAIT_E_INVALID,
          "did you mean 'apply'?");
    FAILS(strait_table_create(s, "z", 1, 1, "{\"apply\": \"sgd\"}", T, NULL), STRAIT_E_INVALID,
          "lr");
    FAILS(strait_why(s, NULL, 0), STRAIT_E_INVALID, "no place");
    FAILS(strait_open("{}", NULL), STRAIT_E_INVALID, "no place");
    leave_worker(s);
    testing_site_stop(&t);
}

static void test_only_members_read_and_update(void **state)
{
    struct client_testing_site t = {0};
    float floats[4] = {0};
    uint64_t clock = 0;
    strait_op *op;
    strait *s;
    int table;

    (void)state;
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    s = open_worker(&t, "");
    table = make_table(s, "w", 1, 4);
    FAILS(strait_read(s, table, 0, 4, floats, T), STRAIT_E_NOT_JOINED, "strait_join() first");
    FAILS(strait_update(s, table, 0, 4, floats), STRAIT_E_NOT_JOINED, "strait_join() first");
    FAILS(strait_clock(s, 1, T, NULL), STRAIT_E_NOT_JOINED, "strait_join() first");
    FAILS(strait_clock_begin(s, 1, &op), STRAIT_E_NOT_JOINED, "strait_join() first");
    FAILS(strait_push_begin(s, table, 0, 4, floats, 1, &op), STRAIT_E_NOT_JOINED, "strait_join()");
    FAILS(strait_pull_begin(s, table, 0, 4, floats, &op), STRAIT_E_NOT_JOINED, "strait_join()");
    FAILS(strait_save(s, T, NULL), STRAIT_E_NOT_JOINED, "strait_join() first");
    OKAY(strait_leave(s, T)); /* It is not there: so it has left. */
    OKAY(strait_join(s, T, &clock));
    assert_int_equal(clock, 1);
    OKAY(strait_clock(s, 1, T, NULL));
    clock = 0;
    OKAY(strait_join(s, T, &clock)); /* It is there: nothing changes. */
    assert_int_equal(clock, 2);
    OKAY(strait_leave(s, T));
    FAILS(strait_read(s, table, 0, 4, floats, T), STRAIT_E_NOT_JOINED, "strait_join() first");
    OKAY(strait_join(s, T, &clock));
    assert_true(clock >= 2);
    OKAY(strait_read(s, table, 0, 4, floats, T));
    leave_worker(s);
    testing_site_stop(&t);
}

static void test_a_wait_that_is_too_long_says_for_whom(void **state)
{
    struct client_testing_site t = {0};
    char why[200];
    uint64_t clock = 0;
    strait *s, *other;
    int table;

    (void)state;
    OKAY(strait_open("{\"join\": \"tcp://127.0.0.1:1\", \"insecure\": true}", &s));
    FAILS(strait_join(s, 0.01, NULL), STRAIT_E_TIMEOUT, "127.0.0.1:1 cannot be reached");
    assert_int_equal(strait_why(s, why, sizeof(why)), 1); /* It goes on joining. */
    assert_non_null(strstr(why, "127.0.0.1:1 cannot be reached"));
    FAILS(strait_table_create(s, "w", 1, 1, NULL, 0, NULL), STRAIT_E_TIMEOUT, "not done after 0 s");
    FAILS(strait_join(s, 0, NULL), STRAIT_E_TIMEOUT, "cannot be reached");
    OKAY(strait_leave(s, T));
    assert_int_equal(strait_why(s, why, sizeof(why)), 0);
    assert_string_equal(why, "");
    OKAY(strait_close(s));

    testing_site_start(&t, "bsp", NODE_BROADCAST, 1, 2);
    s = open_worker(&t, ", \"rank\": 0");
    other = open_worker(&t, ", \"rank\": 1");
    FAILS(strait_join(s, 0.05, &clock), STRAIT_E_TIMEOUT, "not done after 0.05 s: ");
    FAILS(strait_join(other, 0, NULL), STRAIT_E_TIMEOUT, "not done");
    OKAY(strait_join(s, T, &clock)); /* The other one goes on joining by itself. */
    assert_int_equal(clock, 1);
    OKAY(strait_join(other, T, NULL));
    table = make_table(s, "w", 1, 4);
    FAILS(strait_clock(s, 1, 0.05, NULL), STRAIT_E_TIMEOUT, "clock 2: lane 0");
    FAILS(strait_update(s, table, 0, 1, (float[1]){0}), STRAIT_E_BUSY, "clock is being ended");
    OKAY(strait_read(s, table, 0, 1, (float[1]){0}, T)); /* Reading is not in the way. */
    OKAY(strait_clock(other, 1, T, NULL));
    OKAY(strait_clock(s, 0, T, &clock)); /* Goes on with the same clock, as the weight shows. */
    assert_int_equal(clock, 2);
    OKAY(strait_update(s, table, 0, 1, (float[1]){0}));
    leave_worker(s);
    leave_worker(other);
    testing_site_stop(&t);
}

/* Ends the waits of a worker again and again, until told not to. */
struct interrupter {
    strait *s;
    _Atomic bool stop;
    pthread_t thread;
};

static void *interrupter_main(void *arg)
{
    struct interrupter *i = arg;

    while (!i->stop) {
        strait_interrupt(i->s);
        (void)sched_yield();
    }
    return NULL;
}

static void test_a_wait_can_be_interrupted_by_another_thread(void **state)
{
    struct interrupter i = {0};
    strait *s;

    (void)state;
    OKAY(strait_open("{\"join\": \"tcp://127.0.0.1:1\", \"insecure\": true}", &s));
    i.s = s;
    assert_int_equal(pthread_create(&i.thread, NULL, interrupter_main, &i), 0);
    FAILS(strait_join(s, -1, NULL), STRAIT_E_CANCELLED, "interrupted");
    FAILS(strait_table_find(s, "w", -1, NULL), STRAIT_E_CANCELLED, "interrupted");
    i.stop = true;
    assert_int_equal(pthread_join(i.thread, NULL), 0);
    i = (struct interrupter){0}; /* All handles. */
    assert_int_equal(pthread_create(&i.thread, NULL, interrupter_main, &i), 0);
    FAILS(strait_join(s, -1, NULL), STRAIT_E_CANCELLED, "interrupted");
    i.stop = true;
    assert_int_equal(pthread_join(i.thread, NULL), 0);
    strait_interrupt(s); /* Nobody waits: it is not kept for the next one. */
    FAILS(strait_join(s, 0, NULL), STRAIT_E_TIMEOUT, "not done");
    OKAY(strait_close(s));
    strait_interrupt(s); /* Of a closed one: nothing. */
}

static strait *signalled;

static void on_alarm(int number)
{
    (void)number;
    strait_interrupt(signalled);
    (void)alarm(1); /* The first may have come before the wait. */
}

static void test_a_wait_can_be_interrupted_by_a_signal_handler(void **state)
{
    struct sigaction action = {.sa_handler = on_alarm}, before;

    (void)state;
    OKAY(strait_open("{\"join\": \"tcp://127.0.0.1:1\", \"insecure\": true}", &signalled));
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    (void)alarm(1);
    FAILS(strait_join(signalled, -1, NULL), STRAIT_E_CANCELLED, "interrupted");
    (void)alarm(0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    OKAY(strait_close(signalled));
}

static void test_a_handle_that_is_none_is_recognised(void **state)
{
    struct client_testing_site t = {0};
    struct strait_state info = {.size = sizeof(info)};
    float floats[4] = {0};
    strait_op *op, *second;
    strait *s, *again;
    char text[8];
    size_t size = 0;
    int table;

    (void)state;
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", 1, 4);
    OKAY(strait_pull_begin(s, table, 0, 4, floats, &op));
    OKAY(strait_pull_begin(s, table, 0, 4, floats, &second));
    FAILS(strait_join((strait *)(void *)op, T, NULL), STRAIT_E_HANDLE, "not a handle of this kind");
    FAILS(strait_close((strait *)(void *)op), STRAIT_E_HANDLE, "not a handle of this kind");
    FAILS(strait_wait((strait_op *)(void *)s, T), STRAIT_E_HANDLE, "not a handle of this kind");
    FAILS(strait_op_free((strait_op *)(void *)s), STRAIT_E_HANDLE, "not a handle of this kind");
    FAILS(strait_join((strait *)(void *)&t, T, NULL), STRAIT_E_HANDLE, "not a handle of this kind");
    FAILS(strait_join(NULL, T, NULL), STRAIT_E_HANDLE, "the handle is NULL");
    FAILS(strait_wait(NULL, T), STRAIT_E_HANDLE, "the handle is NULL");
    OKAY(strait_wait(op, T));
    OKAY(strait_op_free(op));
    FAILS(strait_op_free(op), STRAIT_E_HANDLE, "freed");
    FAILS(strait_wait(op, T), STRAIT_E_HANDLE, "freed");
    FAILS(strait_test(op), STRAIT_E_HANDLE, "freed");
    FAILS(strait_op_value(op, NULL), STRAIT_E_HANDLE, "freed");
    leave_worker(s);
    FAILS(strait_close(s), STRAIT_E_HANDLE, "closed");
    FAILS(strait_join(s, T, NULL), STRAIT_E_HANDLE, "closed");
    FAILS(strait_leave(s, T), STRAIT_E_HANDLE, "closed");
    FAILS(strait_clock(s, 1, T, NULL), STRAIT_E_HANDLE, "closed");
    FAILS(strait_read(s, table, 0, 4, floats, T), STRAIT_E_HANDLE, "closed");
    FAILS(strait_update(s, table, 0, 4, floats), STRAIT_E_HANDLE, "closed");
    FAILS(strait_info(s, &info), STRAIT_E_HANDLE, "closed");
    FAILS(strait_why(s, text, sizeof(text)), STRAIT_E_HANDLE, "closed");
    FAILS(strait_metrics_json(s, NULL, &size), STRAIT_E_HANDLE, "closed");
    FAILS(strait_save(s, T, NULL), STRAIT_E_HANDLE, "closed");
    FAILS(strait_table_save(s, table, "x", T), STRAIT_E_HANDLE, "closed");
    FAILS(strait_wait(second, T), STRAIT_E_HANDLE, "closed");
    again = open_worker(&t, ""); /* In the same place. */
    assert_ptr_not_equal(again, s);
    FAILS(strait_join(s, T, NULL), STRAIT_E_HANDLE, "closed");
    FAILS(strait_wait(second, T), STRAIT_E_HANDLE, "freed");
    FAILS(strait_op_free(second), STRAIT_E_HANDLE, "freed");
    OKAY(strait_close(again));
    testing_site_stop(&t);
}

static void test_sentences_are_kept_by_handle(void **state)
{
    strait *a, *b;

    (void)state;
    OKAY(strait_open("{\"join\": \"127.0.0.1:1\", \"insecure\": true}", &a));
    OKAY(strait_open("{\"join\": \"127.0.0.1:2\", \"insecure\": true}", &b));
    assert_string_equal(strait_last_error(a), "");
    FAILS(strait_join(a, 0.01, NULL), STRAIT_E_TIMEOUT, "127.0.0.1:1");
    FAILS(strait_join(b, 0.01, NULL), STRAIT_E_TIMEOUT, "127.0.0.1:2");
    assert_non_null(strstr(strait_last_error(a), "127.0.0.1:1"));
    assert_non_null(strstr(strait_last_error(b), "127.0.0.1:2"));
    FAILS(strait_open("{", &a), STRAIT_E_INVALID, "line 1");
    assert_non_null(strstr(strait_last_error(b), "127.0.0.1:2"));
    OKAY(strait_close(a));
    OKAY(strait_close(b));
    assert_non_null(strstr(strait_last_error(b), "127.0.0.1:2"));
    assert_string_equal(strait_error_name(0), "STRAIT_OK");
    assert_string_equal(strait_error_name(-9999), "an unknown code");
    assert_string_equal(strait_version_text(), STRAIT_VERSION);
    assert_true(strait_version() >= 100);
}

static void test_the_site_may_refuse_a_worker(void **state)
{
    struct client_testing_site t = {0};
    strait *a, *b;

    (void)state;
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    a = join_worker(&t, ", \"rank\": 3, \"name\": \"anna\"");
    b = open_worker(&t, ", \"rank\": 3, \"name\": \"bert\"");
    FAILS(strait_join(b, T, NULL), STRAIT_E_EXISTS, "rank 3 belongs to worker anna");
    FAILS(strait_save(a, T, NULL), STRAIT_E_INVALID, "keeps no checkpoints");
    OKAY(strait_close(b));
    leave_worker(a);
    testing_site_stop(&t);
}

/* The default for SIGPIPE is to end the process: the library must not get it. */
static void test_a_server_that_dies_and_comes_back_is_found_again(void **state)
{
    struct client_testing_site t = {.stored = true};
    float out[4], update[4] = {1, 2, 3, 4};
    uint64_t number = 0;
    strait *s;
    int table;

    (void)state;
    testing_site_start(&t, "bsp", NODE_BROADCAST, 2, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", 1, 4);
    OKAY(strait_update(s, table, 0, 4, update));
    OKAY(strait_clock(s, 1, T, NULL));
    OKAY(strait_save(s, T, &number));
    assert_true(number > 0);
    testing_lane_kill(&t, 0);
    testing_lane_kill(&t, 1);
    OKAY(strait_update(s, table, 0, 4, update));
    FAILS_SOON(strait_clock(s, 1, 0.05, NULL), STRAIT_E_TIMEOUT, "cannot be reached");
    testing_lane_start(&t, 0);
    testing_lane_start(&t, 1);
    OKAY(strait_clock(s, 1, T, NULL));
    OKAY(strait_read(s, table, 0, 4, out, T));
    for (int i = 0; i < 4; i++) {
        assert_true(out[i] == 2 * update[i]);
    }
    leave_worker(s);
    testing_site_stop(&t);
}

static void test_a_worker_that_cannot_leave_yet_is_neither_in_nor_out(void **state)
{
    struct client_testing_site t = {.stored = true};
    float floats[1] = {1};
    uint64_t clock = 0;
    strait *s;
    int table;

    (void)state;
    testing_site_start(&t, "bsp", NODE_BROADCAST, 1, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", 1, 1);
    testing_lane_kill(&t, 0);
    OKAY(strait_update(s, table, 0, 1, floats));
    FAILS_SOON(strait_clock(s, 1, 0.01, NULL), STRAIT_E_TIMEOUT, "cannot be reached");
    FAILS(strait_leave(s, 0.01), STRAIT_E_TIMEOUT, "cannot be reached");
    FAILS(strait_join(s, T, NULL), STRAIT_E_BUSY, "is leaving");
    FAILS(strait_read(s, table, 0, 1, floats, T), STRAIT_E_BUSY, "is leaving");
    FAILS(strait_clock(s, 1, T, NULL), STRAIT_E_BUSY, "is leaving");
    testing_lane_start(&t, 0);
    OKAY(strait_leave(s, T)); /* Goes on. */
    OKAY(strait_join(s, T, &clock));
    OKAY(strait_read(s, table, 0, 1, floats, T));
    leave_worker(s);
    testing_site_stop(&t);
}

static void test_opening_fails_cleanly_at_every_allocation(void **state)
{
    const char *options = "{\"join\": \"tcp://127.0.0.1:1\", \"insecure\": true}";
    uint64_t failures = 0;
    strait *s = NULL;

    (void)state;
    for (uint64_t k = 1; s == NULL; k++) {
        int code;

        mem_fail_at(k, 1);
        code = strait_open(options, &s);
        mem_fail_at(0, 0);
        assert_true(code == STRAIT_OK || code == STRAIT_E_NO_MEMORY);
        failures += code != STRAIT_OK;
    }
    assert_true(failures >= 5);
    OKAY(strait_close(s));
}

static void test_calls_fail_cleanly_at_every_allocation(void **state)
{
    const int64_t rows[3] = {7, 2, 7};
    struct client_testing_site t = {0};
    float update[3] = {1, 2, 4}, out[10];
    strait *s;
    int table;

    (void)state;
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", 10, 1);
    for (uint64_t k = 1; k < 10; k++) {
        int code;

        mem_fail_at(k, 1);
        code = strait_update_rows(s, table, rows, 3, update);
        if (code != STRAIT_OK) {
            mem_fail_at(0, 0);
            assert_int_equal(code, STRAIT_E_NO_MEMORY);
            continue;
        }
        mem_fail_at(0, 0);
        OKAY(strait_clock(s, 1, T, NULL));
        OKAY(strait_read(s, table, 0, 10, out, T));
        assert_true(out[7] == 5 && out[2] == 2 && out[0] == 0); /* Counted once. */
        for (k = 1; k < 10; k++) {
            mem_fail_at(k, 1);
            code = strait_read_rows(s, table, rows, 3, out, T);
            mem_fail_at(0, 0);
            assert_true(code == STRAIT_E_NO_MEMORY || code == STRAIT_OK);
        }
        assert_true(code == STRAIT_OK && out[0] == 5 && out[1] == 2 && out[2] == 5);
        leave_worker(s);
        testing_site_stop(&t);
        return;
    }
    fail_msg("an update needs more than nine allocations");
}

static void test_a_full_pool_takes_nothing_in_part(void **state)
{
    enum { ROWS = 200 };
    struct client_testing_site t = {0};
    float *update = floats_of(1, (uint64_t)ROWS * 65536);
    float *out = floats_of(0, (uint64_t)ROWS * 65536);
    strait *s;
    int table;

    (void)state;
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    s = join_worker(&t, ", \"pool_mb\": 24");
    table = make_table(s, "big", ROWS, 65536);
    OKAY(strait_update(s, table, 0, 10 * 65536, update));
    FAILS(strait_update(s, table, 0, (uint64_t)ROWS * 65536, update), STRAIT_E_NO_MEMORY,
          "pool_mb");
    OKAY(strait_clock(s, 1, T, NULL));
    OKAY(strait_read(s, table, 0, (uint64_t)ROWS * 65536, out, T));
    assert_floats(out, 10 * 65536, 1);
    assert_floats(out + 10 * 65536, (uint64_t)(ROWS - 10) * 65536, 0);
    leave_worker(s);
    testing_site_stop(&t);
    free(update);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_worker_reads_what_it_has_sent),
        cmocka_unit_test(test_rows_come_in_any_order_and_more_than_once),
        cmocka_unit_test(test_nothing_is_nothing_to_do),
        cmocka_unit_test(test_tables_are_made_once_and_found_by_others),
        cmocka_unit_test(test_structures_may_be_older_or_newer),
        cmocka_unit_test(test_metrics_are_json_of_the_size_they_say),
        cmocka_unit_test(test_wrong_arguments_are_refused_with_a_sentence),
        cmocka_unit_test(test_only_members_read_and_update),
        cmocka_unit_test(test_a_wait_that_is_too_long_says_for_whom),
        cmocka_unit_test(test_a_wait_can_be_interrupted_by_another_thread),
        cmocka_unit_test(test_a_wait_can_be_interrupted_by_a_signal_handler),
        cmocka_unit_test(test_a_handle_that_is_none_is_recognised),
        cmocka_unit_test(test_sentences_are_kept_by_handle),
        cmocka_unit_test(test_the_site_may_refuse_a_worker),
        cmocka_unit_test(test_a_server_that_dies_and_comes_back_is_found_again),
        cmocka_unit_test(test_a_worker_that_cannot_leave_yet_is_neither_in_nor_out),
        cmocka_unit_test(test_opening_fails_cleanly_at_every_allocation),
        cmocka_unit_test(test_calls_fail_cleanly_at_every_allocation),
        cmocka_unit_test(test_a_full_pool_takes_nothing_in_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
