/* One handle in many threads, and many handles in many threads. CHECK on other threads than the
 * first, for cmocka's assertions are for that one only. */

#include "client/testing_calls.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 6 };

#define CHECK_OKAY(call) CHECK((call) == STRAIT_OK)

struct actor {
    pthread_t thread;
    int index;
    const struct client_testing_site *site;
    strait *s;
    strait_op *op;
    int table;
    _Atomic int *running;
    int code;
    uint64_t done;
};

static void actors_run(struct actor *actors, int count, void *(*act)(void *arg))
{
    for (int i = 0; i < count; i++) {
        actors[i].index = i;
        assert_int_equal(pthread_create(&actors[i].thread, NULL, act, &actors[i]), 0);
    }
}

static void actors_join(struct actor *actors, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(pthread_join(actors[i].thread, NULL), 0);
    }
}

/* Adds one to its own row again and again, and reads; others are ending clocks meanwhile. */
static void *act_add(void *arg)
{
    struct actor *a = arg;
    const int64_t row = a->index;
    const float one = 1;
    float out;

    while (a->done < 200) {
        int code = strait_update_rows(a->s, a->table, &row, 1, &one);

        CHECK(code == STRAIT_OK || code == STRAIT_E_BUSY);
        a->done += code == STRAIT_OK;
        if (code == STRAIT_E_BUSY) {
            (void)sched_yield();
        }
        if (a->done % 16 == 0) {
            CHECK_OKAY(strait_read(a->s, a->table, (uint64_t)row, 1, &out, T));
        }
    }
    (*a->running)--;
    return NULL;
}

static void *act_clock(void *arg)
{
    struct actor *a = arg;

    while (*a->running > 0) {
        CHECK_OKAY(strait_clock(a->s, 1, T, NULL));
    }
    return NULL;
}

static void run_one_handle(const char *barrier, enum node_delivery delivery)
{
    struct client_testing_site t = {0};
    struct actor actors[THREADS] = {0}, clocker = {0};
    _Atomic int running = THREADS;
    float out[THREADS];

    testing_site_start(&t, barrier, delivery, 2, 1);
    clocker.s = join_worker(&t, "");
    clocker.table = make_table(clocker.s, "w", THREADS, 1);
    clocker.running = &running;
    for (int i = 0; i < THREADS; i++) {
        actors[i] = (struct actor){.s = clocker.s, .table = clocker.table, .running = &running};
    }
    actors_run(actors, THREADS, act_add);
    actors_run(&clocker, 1, act_clock);
    actors_join(actors, THREADS);
    actors_join(&clocker, 1);
    OKAY(strait_clock(clocker.s, 1, T, NULL));
    OKAY(strait_read(clocker.s, clocker.table, 0, THREADS, out, T));
    assert_floats(out, THREADS, 200);
    leave_worker(clocker.s);
    testing_site_stop(&t);
}

static void test_many_threads_share_a_handle(void **state)
{
    (void)state;
    run_one_handle("tap", NODE_PULL);
    run_one_handle("bsp", NODE_BROADCAST);
}

/* A worker of its own. */
static void *act_work(void *arg)
{
    enum { CLOCKS = 20 };
    struct actor *a = arg;
    char options[TESTING_OPTIONS_BYTES], more[32];
    float update[10], out[10];
    int table;

    (void)snprintf(more, sizeof(more), ", \"rank\": %d", a->index);
    CHECK_OKAY(strait_open(testing_options(a->site, more, options), &a->s));
    CHECK_OKAY(strait_join(a->s, T, NULL));
    CHECK_OKAY(strait_table_create(a->s, "w", 10, 1, NULL, T, &table));
    for (int i = 0; i < 10; i++) {
        update[i] = (float)(a->index + 1);
    }
    for (int c = 0; c < CLOCKS; c++) {
        CHECK_OKAY(strait_update(a->s, table, 0, 10, update));
        CHECK_OKAY(strait_clock(a->s, 1, T, NULL));
        CHECK_OKAY(strait_read(a->s, table, 0, 10, out, T));
        for (int i = 0; i < 10; i++) {
            CHECK(out[i] == (float)((c + 1) * THREADS * (THREADS + 1) / 2));
        }
    }
    CHECK_OKAY(strait_leave(a->s, T));
    CHECK_OKAY(strait_close(a->s));
    return NULL;
}

static void run_many_handles(enum node_delivery delivery)
{
    struct client_testing_site t = {0};
    struct actor actors[THREADS] = {0};

    testing_site_start(&t, "bsp", delivery, 2, THREADS);
    for (int i = 0; i < THREADS; i++) {
        actors[i].site = &t;
    }
    actors_run(actors, THREADS, act_work);
    actors_join(actors, THREADS);
    testing_site_stop(&t);
}

static void test_every_thread_may_be_a_worker(void **state)
{
    (void)state;
    run_many_handles(NODE_BROADCAST);
    run_many_handles(NODE_PULL);
}

/* Waits for what never comes. */
static void *act_wait(void *arg)
{
    struct actor *a = arg;
    float out[1];

    (*a->running)++;
    switch (a->index % 4) {
    case 0:
        a->code = strait_join(a->s, -1, NULL);
        break;
    case 1:
        a->code = strait_wait(a->op, -1);
        break;
    case 2:
        a->code = strait_table_find(a->s, "w", -1, NULL);
        break;
    default:
        a->code = strait_read(a->s, a->table, 0, 1, out, -1);
        break;
    }
    return NULL;
}

/* Start threads that wait, of which some may not have begun to. */
static void wait_in_threads(struct actor *actors, int count, strait *s, strait_op *op, int table,
                            _Atomic int *running)
{
    for (int i = 0; i < count; i++) {
        actors[i] = (struct actor){.s = s, .op = op, .table = table, .running = running};
    }
    actors_run(actors, count, act_wait);
    while (*running < count) {
        (void)sched_yield();
    }
}

static void run_close(bool interrupt)
{
    struct client_testing_site t = {0};
    struct actor actors[THREADS];
    _Atomic int running = 0;
    float out[1];
    strait_op *op;
    strait *s;
    int table;

    testing_site_start(&t, "bsp", NODE_PULL, 1, 1);
    s = join_worker(&t, "");
    table = make_table(s, "x", 1, 1);
    testing_lane_kill(&t, 0);
    OKAY(strait_pull_begin(s, table, 0, 1, out, &op));
    wait_in_threads(actors, THREADS, s, op, table, &running);
    if (interrupt) {
        /* Those who were not waiting yet need another one. */
        for (int i = 0; i < 5; i++) {
            strait_interrupt(s);
            assert_int_equal(strait_wait(op, 0.02), STRAIT_E_TIMEOUT);
        }
    }
    OKAY(strait_close(s));
    actors_join(actors, THREADS);
    for (int i = 0; i < THREADS; i++) {
        if (i % 4 == 0) {
            /* It was a member. */
            assert_true(actors[i].code == STRAIT_OK || actors[i].code == STRAIT_E_HANDLE ||
                        actors[i].code == STRAIT_E_CLOSED);
        } else {
            assert_true(actors[i].code == STRAIT_E_CLOSED || actors[i].code == STRAIT_E_HANDLE ||
                        (interrupt && actors[i].code == STRAIT_E_CANCELLED));
        }
    }
    testing_site_stop(&t);
}

static void test_closing_ends_the_waits_of_all_threads(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        run_close(i % 2 == 1);
    }
}

static void *act_close(void *arg)
{
    struct actor *a = arg;

    a->code = strait_close(a->s);
    return NULL;
}

static void test_of_many_who_close_one_does(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct actor actors[THREADS] = {0};
        int closed = 0;
        strait *s;

        OKAY(strait_open("{\"join\": \"127.0.0.1:1\", \"insecure\": true}", &s));
        for (int i = 0; i < THREADS; i++) {
            actors[i].s = s;
        }
        actors_run(actors, THREADS, act_close);
        actors_join(actors, THREADS);
        for (int i = 0; i < THREADS; i++) {
            closed += actors[i].code == STRAIT_OK;
            assert_true(actors[i].code == STRAIT_OK || actors[i].code == STRAIT_E_HANDLE ||
                        actors[i].code == STRAIT_E_CLOSED);
        }
        assert_int_equal(closed, 1);
    }
}

/* Looks at the worker without entering its loop, until it is gone. */
static void *act_look(void *arg)
{
    struct actor *a = arg;

    (*a->running)++;
    do {
        size_t size = 0;

        a->code = a->index % 2 == 0 ? strait_test(a->op) : strait_metrics_json(a->s, NULL, &size);
        (void)sched_yield();
    } while (a->code >= 0 || a->code == STRAIT_E_TOO_BIG);
    return NULL;
}

static void test_a_handle_may_be_closed_while_others_look(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) {
        struct client_testing_site t = {0};
        struct actor actors[THREADS];
        _Atomic int running = 0;
        strait_op *op;
        strait *s;

        testing_site_start(&t, "tap", NODE_PULL, 1, 1);
        s = join_worker(&t, "");
        OKAY(strait_pull_begin(s, make_table(s, "w", 1, 1), 0, 0, NULL, &op));
        for (int i = 0; i < THREADS; i++) {
            actors[i] = (struct actor){.s = s, .op = op, .running = &running};
        }
        actors_run(actors, THREADS, act_look);
        while (running < THREADS) {
            (void)sched_yield();
        }
        OKAY(strait_close(s));
        actors_join(actors, THREADS);
        for (int i = 0; i < THREADS; i++) {
            assert_true(actors[i].code == STRAIT_E_HANDLE || actors[i].code == STRAIT_E_CLOSED);
        }
        testing_site_stop(&t);
    }
}

static void *act_wait_op(void *arg)
{
    struct actor *a = arg;

    (*a->running)++;
    a->code = strait_wait(a->op, -1);
    return NULL;
}

/* Several wait for one operation; then it is done, or freed. */
static void run_wait_together(bool freed)
{
    struct client_testing_site t = {0};
    struct actor actors[THREADS] = {0};
    _Atomic int running = 0;
    float floats[4] = {0};
    strait_op *op;
    strait *a, *b;
    int table;

    testing_site_start(&t, "bsp", NODE_PULL, 1, 2);
    join_two(&t, &a, &b);
    table = make_table(a, "w", 1, 4);
    OKAY(strait_clock(a, 1, T, NULL));
    OKAY(strait_pull_begin(a, table, 0, 4, floats, &op));
    for (int i = 0; i < THREADS; i++) {
        actors[i] = (struct actor){.op = op, .running = &running};
    }
    actors_run(actors, THREADS, act_wait_op);
    while (running < THREADS) {
        (void)sched_yield();
    }
    if (freed) {
        OKAY(strait_op_free(op));
    }
    OKAY(strait_clock(b, 1, T, NULL));
    actors_join(actors, THREADS);
    for (int i = 0; i < THREADS; i++) {
        if (freed) {
            assert_true(actors[i].code == STRAIT_E_CANCELLED || actors[i].code == STRAIT_E_HANDLE);
        } else {
            assert_int_equal(actors[i].code, STRAIT_OK);
        }
    }
    if (!freed) {
        OKAY(strait_op_free(op));
    }
    leave_worker(a);
    leave_worker(b);
    testing_site_stop(&t);
}

static void test_many_threads_wait_for_one_operation(void **state)
{
    (void)state;
    run_wait_together(false);
    run_wait_together(true);
}

static void *act_clock_on(void *arg)
{
    struct actor *a = arg;

    (*a->running)++;
    a->code = strait_clock(a->s, 1, T, &a->done);
    return NULL;
}

/* Two more wait for a clock that is being ended already: all get the same next one. A thread that
 * is late ends the next clock, for which the other worker has left. */
static void test_those_who_wait_for_the_end_of_a_clock_get_the_next_one(void **state)
{
    struct client_testing_site t = {0};
    struct actor actors[2];
    _Atomic int running = 0;
    strait *a, *b;

    (void)state;
    testing_site_start(&t, "bsp", NODE_BROADCAST, 1, 2);
    join_two(&t, &a, &b);
    FAILS(strait_clock(a, 1, 0, NULL), STRAIT_E_TIMEOUT, "");
    for (int i = 0; i < 2; i++) {
        actors[i] = (struct actor){.s = a, .running = &running};
    }
    actors_run(actors, 2, act_clock_on);
    while (running < 2) {
        (void)sched_yield();
    }
    FAILS(strait_clock(a, 1, 0.05, NULL), STRAIT_E_TIMEOUT, "clock 2");
    leave_worker(b);
    actors_join(actors, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(actors[i].code, STRAIT_OK);
        assert_in_range(actors[i].done, 2, 4);
    }
    leave_worker(a);
    testing_site_stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_threads_share_a_handle),
        cmocka_unit_test(test_every_thread_may_be_a_worker),
        cmocka_unit_test(test_closing_ends_the_waits_of_all_threads),
        cmocka_unit_test(test_of_many_who_close_one_does),
        cmocka_unit_test(test_a_handle_may_be_closed_while_others_look),
        cmocka_unit_test(test_many_threads_wait_for_one_operation),
        cmocka_unit_test(test_those_who_wait_for_the_end_of_a_clock_get_the_next_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
