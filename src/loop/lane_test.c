/* Lanes: threads that take calls in order and finish them before they end. */

#include "base/limits.h"
#include "base/mem.h"
#include "loop/lane.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { CALLS = 1000, LANES = 100, VOLLEYS = 2000 };

/* Written on the lane, read after lane_stop(). */
struct tally {
    struct lane *lane;
    pthread_t thread;
    char name[32];
    sigset_t mask;
    uint32_t count;
    bool ordered;
};

struct call {
    struct tally *tally;
    uint32_t index;
};

static void tally_call(void *user)
{
    struct call *call = user;
    struct tally *t = call->tally;

    t->ordered = (t->count == 0 || t->ordered) && t->count == call->index;
    t->count++;
    t->thread = pthread_self();
}

static void post(struct lane *lane, void (*run)(void *user), void *user)
{
    enum err rc;

    while ((rc = lane_post(lane, run, user)) == ERR_AGAIN) {
        (void)sched_yield();
    }
    assert_int_equal(rc, OK);
}

static void test_what_was_posted_before_the_stop_is_done_in_order(void **state)
{
    static struct call calls[CALLS];
    struct tally t = {0};

    (void)state;
    assert_int_equal(lane_start("test", &t.lane), OK);
    for (uint32_t i = 0; i < CALLS; i++) {
        calls[i] = (struct call){&t, i};
        post(t.lane, tally_call, &calls[i]);
    }
    lane_stop(t.lane);
    assert_int_equal(t.count, CALLS);
    assert_true(t.ordered);
    assert_false(pthread_equal(t.thread, pthread_self()));
}

static void test_a_lane_may_end_without_having_worked(void **state)
{
    struct lane *lane;

    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(lane_start("idle", &lane), OK);
        assert_non_null(lane_loop(lane));
        lane_stop(lane);
    }
    lane_stop(NULL);
}

static void look_around(void *user)
{
    struct tally *t = user;

    (void)pthread_getname_np(pthread_self(), t->name, sizeof(t->name));
    (void)pthread_sigmask(SIG_SETMASK, NULL, &t->mask);
    t->count++;
}

static void test_a_lane_has_its_name_as_far_as_the_kernel_takes_it(void **state)
{
    struct tally t = {0};

    (void)state;
    assert_int_equal(lane_start("lane-with-a-long-name", &t.lane), OK);
    post(t.lane, look_around, &t);
    lane_stop(t.lane);
    assert_string_equal(t.name, "lane-with-a-lon");
}

static void test_a_hundred_lanes_work_side_by_side(void **state)
{
    static struct tally tallies[LANES];
    static struct call calls[LANES][10];
    struct rlimit limit;

    (void)state;
    /* Each has about six descriptors. */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < LANES; i++) {
        assert_int_equal(lane_start("many", &tallies[i].lane), OK);
    }
    for (uint32_t n = 0; n < 10; n++) {
        for (int i = 0; i < LANES; i++) {
            calls[i][n] = (struct call){&tallies[i], n};
            post(tallies[i].lane, tally_call, &calls[i][n]);
        }
    }
    for (int i = 0; i < LANES; i++) {
        lane_stop(tallies[i].lane);
        assert_int_equal(tallies[i].count, 10);
        assert_true(tallies[i].ordered);
    }
}

static void test_waiting_for_a_lane_waits_for_all_that_was_posted(void **state)
{
    static struct call calls[CALLS];
    struct tally t = {0};
    struct loop *loop;

    (void)state;
    assert_int_equal(lane_start("awaited", &t.lane), OK);
    lane_wait(t.lane);
    for (uint32_t i = 0; i < CALLS; i++) {
        calls[i] = (struct call){&t, i};
        post(t.lane, tally_call, &calls[i]);
        if (i % 100 == 99) {
            lane_wait(t.lane);
            assert_int_equal(t.count, i + 1);
        }
    }
    lane_stop(t.lane);
    t = (struct tally){0};
    assert_int_equal(loop_create_manual(7, &loop), OK);
    assert_int_equal(lane_start_inline(loop, &t.lane), OK);
    calls[0] = (struct call){&t, 0};
    post(t.lane, tally_call, &calls[0]);
    lane_wait(t.lane);
    assert_int_equal(t.count, 1);
    lane_stop(t.lane);
    loop_destroy(loop);
}

/* Holds a lane until it is opened. */
struct gate {
    pthread_mutex_t mutex;
};

static void wait_at_gate(void *user)
{
    struct gate *g = user;

    (void)pthread_mutex_lock(&g->mutex);
    (void)pthread_mutex_unlock(&g->mutex);
}

static void test_too_many_calls_are_refused_and_the_others_done(void **state)
{
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER};
    static struct call calls[LIMIT_MAILBOX_MESSAGES + 1];
    struct tally t = {0};
    uint32_t posted = 0;
    enum err rc = OK;

    (void)state;
    assert_int_equal(pthread_mutex_lock(&gate.mutex), 0);
    assert_int_equal(lane_start("slow", &t.lane), OK);
    post(t.lane, wait_at_gate, &gate);
    while (rc == OK) {
        assert_true(posted <= LIMIT_MAILBOX_MESSAGES);
        calls[posted] = (struct call){&t, posted};
        rc = lane_post(t.lane, tally_call, &calls[posted]);
        posted += rc == OK;
    }
    assert_int_equal(rc, ERR_AGAIN);
    assert_true(posted >= LIMIT_MAILBOX_MESSAGES - 1);
    assert_int_equal(pthread_mutex_unlock(&gate.mutex), 0);
    lane_stop(t.lane);
    assert_int_equal(t.count, posted);
    assert_true(t.ordered);
}

/* Two lanes that pass a ball. */
struct court {
    struct lane *lanes[2];
    pthread_mutex_t mutex;
    pthread_cond_t over;
    uint32_t volleys;
};

static void court_hit(void *user)
{
    struct court *c = user;
    bool last;

    (void)pthread_mutex_lock(&c->mutex);
    last = ++c->volleys == VOLLEYS;
    if (last) {
        (void)pthread_cond_signal(&c->over);
    }
    (void)pthread_mutex_unlock(&c->mutex);
    if (!last) {
        CHECK(lane_post(c->lanes[c->volleys % 2], court_hit, c) == OK);
    }
}

static void test_lanes_may_call_each_other(void **state)
{
    struct court c = {.mutex = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};
    struct timespec limit;

    (void)state;
    (void)clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 60;
    assert_int_equal(lane_start("left", &c.lanes[0]), OK);
    assert_int_equal(lane_start("right", &c.lanes[1]), OK);
    assert_int_equal(lane_post(c.lanes[0], court_hit, &c), OK);
    (void)pthread_mutex_lock(&c.mutex);
    while (c.volleys < VOLLEYS) {
        assert_int_equal(pthread_cond_timedwait(&c.over, &c.mutex, &limit), 0);
    }
    (void)pthread_mutex_unlock(&c.mutex);
    lane_stop(c.lanes[0]);
    lane_stop(c.lanes[1]);
}

/* A timer made, fired and released on the lane. */
struct clockwork {
    struct lane *lane;
    struct loop_timer timer;
    pthread_mutex_t mutex;
    pthread_cond_t over;
    bool fired;
};

static void clockwork_fired(struct loop_timer *timer, void *user)
{
    struct clockwork *c = user;

    loop_timer_deinit(timer);
    (void)pthread_mutex_lock(&c->mutex);
    c->fired = true;
    (void)pthread_cond_signal(&c->over);
    (void)pthread_mutex_unlock(&c->mutex);
}

static void clockwork_begin(void *user)
{
    struct clockwork *c = user;

    CHECK(loop_timer_init(&c->timer, lane_loop(c->lane), clockwork_fired, c) == OK);
    loop_timer_start_in(&c->timer, 1000000);
}

static void test_timers_fire_on_the_loop_of_a_lane(void **state)
{
    struct clockwork c = {.mutex = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};
    struct timespec limit;

    (void)state;
    (void)clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 60;
    assert_int_equal(lane_start("clock", &c.lane), OK);
    assert_int_equal(lane_post(c.lane, clockwork_begin, &c), OK);
    (void)pthread_mutex_lock(&c.mutex);
    while (!c.fired) {
        assert_int_equal(pthread_cond_timedwait(&c.over, &c.mutex, &limit), 0);
    }
    (void)pthread_mutex_unlock(&c.mutex);
    lane_stop(c.lane);
}

static void test_signals_are_not_delivered_to_lanes(void **state)
{
    struct timespec none = {0};
    sigset_t usr1, before, after, pending;
    struct tally t = {0};

    (void)state;
    (void)sigemptyset(&usr1);
    (void)sigaddset(&usr1, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
    assert_int_equal(lane_start("deaf", &t.lane), OK);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &usr1, &after), 0);
    assert_int_equal(sigismember(&after, SIGUSR1), sigismember(&before, SIGUSR1));
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
    /* Nobody listens to it: it would end the process if the lane could get it. */
    assert_int_equal(kill(getpid(), SIGUSR1), 0);
    post(t.lane, look_around, &t);
    lane_stop(t.lane);
    assert_int_equal(t.count, 1);
    assert_int_equal(sigismember(&t.mask, SIGUSR1), 1);
    assert_int_equal(sigismember(&t.mask, SIGTERM), 1);
    assert_int_equal(sigismember(&t.mask, SIGINT), 1);
    assert_int_equal(sigpending(&pending), 0);
    assert_int_equal(sigismember(&pending, SIGUSR1), 1);
    assert_int_equal(sigtimedwait(&usr1, NULL, &none), SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

static void test_an_inline_lane_runs_on_its_manual_loop(void **state)
{
    struct call calls[5];
    struct tally t = {0};
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create_manual(7, &loop), OK);
    assert_int_equal(lane_start_inline(loop, &t.lane), OK);
    assert_ptr_equal(lane_loop(t.lane), loop);
    for (uint32_t i = 0; i < 5; i++) {
        calls[i] = (struct call){&t, i};
        assert_int_equal(lane_post(t.lane, tally_call, &calls[i]), OK);
        assert_int_equal(t.count, i < 3 ? 0 : 3);
        if (i == 2) {
            assert_int_equal(loop_manual_next_ns(loop), 7);
            loop_manual_advance(loop, 7);
        }
    }
    lane_stop(t.lane);
    assert_int_equal(t.count, 5);
    assert_true(t.ordered);
    assert_true(pthread_equal(t.thread, pthread_self()));
    assert_true(loop_manual_next_ns(loop) == LOOP_NEVER);
    loop_manual_advance(loop, 8);
    assert_int_equal(t.count, 5);
    loop_destroy(loop);
}

/* A call that posts itself again, from the lane. */
struct echo {
    struct lane_call call;
    struct lane *lane;
    uint32_t count;
};

static void echo_again(void *user)
{
    struct echo *e = user;

    if (++e->count < CALLS) {
        CHECK(lane_post_call(e->lane, &e->call) == OK);
    }
}

static void test_a_call_of_the_callers_needs_no_memory(void **state)
{
    struct echo *e = calloc(1, sizeof(*e));
    struct loop *loop;

    (void)state;
    assert_non_null(e);
    assert_int_equal(loop_create_manual(0, &loop), OK);
    assert_int_equal(lane_start_inline(loop, &e->lane), OK);
    e->call = (struct lane_call){.run = echo_again, .user = e};
    mem_fail_at(1, UINT64_MAX);
    assert_int_equal(lane_post_call(e->lane, &e->call), OK);
    mem_fail_at(0, 0);
    for (int64_t i = 1; i <= CALLS; i++) {
        loop_manual_advance(loop, i);
    }
    assert_int_equal(e->count, CALLS);
    lane_stop(e->lane);
    loop_destroy(loop);
    free(e);
}

static void free_call(void *user)
{
    free(user);
}

static void test_a_call_may_be_released_by_itself(void **state)
{
    struct lane *lane;

    (void)state;
    assert_int_equal(lane_start("frees", &lane), OK);
    for (int i = 0; i < 10; i++) {
        struct lane_call *call = calloc(1, sizeof(*call));

        assert_non_null(call);
        *call = (struct lane_call){.run = free_call, .user = call};
        assert_int_equal(lane_post_call(lane, call), OK);
    }
    lane_stop(lane);
}

static void test_no_memory_is_reported(void **state)
{
    struct lane *lane = NULL;
    struct loop *loop;
    enum err rc = ERR_NOMEM;

    (void)state;
    for (uint64_t k = 1; rc != OK; k++) {
        assert_true(k < 20);
        mem_fail_at(k, 1);
        rc = lane_start("poor", &lane);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
    }
    mem_fail_at(1, 1);
    assert_int_equal(lane_post(lane, look_around, NULL), ERR_NOMEM);
    lane_stop(lane);
    assert_int_equal(loop_create_manual(0, &loop), OK);
    rc = ERR_NOMEM;
    for (uint64_t k = 1; rc != OK; k++) {
        assert_true(k < 20);
        mem_fail_at(k, 1);
        rc = lane_start_inline(loop, &lane);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
    }
    lane_stop(lane);
    loop_destroy(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_posted_before_the_stop_is_done_in_order),
        cmocka_unit_test(test_a_lane_may_end_without_having_worked),
        cmocka_unit_test(test_a_lane_has_its_name_as_far_as_the_kernel_takes_it),
        cmocka_unit_test(test_a_hundred_lanes_work_side_by_side),
        cmocka_unit_test(test_waiting_for_a_lane_waits_for_all_that_was_posted),
        cmocka_unit_test(test_too_many_calls_are_refused_and_the_others_done),
        cmocka_unit_test(test_lanes_may_call_each_other),
        cmocka_unit_test(test_timers_fire_on_the_loop_of_a_lane),
        cmocka_unit_test(test_signals_are_not_delivered_to_lanes),
        cmocka_unit_test(test_an_inline_lane_runs_on_its_manual_loop),
        cmocka_unit_test(test_a_call_of_the_callers_needs_no_memory),
        cmocka_unit_test(test_a_call_may_be_released_by_itself),
        cmocka_unit_test(test_no_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
