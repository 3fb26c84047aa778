/* What the background thread of a driver does while nobody calls, and what becomes of it in a
 * forked child. */

#include "loop/driver.h"
#include "loop/testing_driver.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Something on the loop that tells a thread which does not drive. */
struct bell {
    struct rig *rig;
    struct loop_timer timer;
    struct loop_task task;
    struct gate gate;
    pthread_t ringer;
    char name[32];
    sigset_t mask;
};

static void bell_ring(struct bell *b)
{
    CHECK(rig_is_mine(b->rig) && !b->rig->inside);
    b->ringer = pthread_self();
    (void)pthread_getname_np(pthread_self(), b->name, sizeof(b->name));
    (void)pthread_sigmask(SIG_SETMASK, NULL, &b->mask);
    gate_pass(&b->gate);
}

static void bell_fired(struct loop_timer *timer, void *user)
{
    (void)timer;
    bell_ring(user);
}

static void bell_run(struct loop_task *task, void *user)
{
    (void)task;
    bell_ring(user);
}

static void bell_open(struct bell *b, struct rig *rig)
{
    memset(b, 0, sizeof(*b));
    b->rig = rig;
    gate_init(&b->gate);
    rig_enter(rig);
    assert_int_equal(loop_timer_init(&b->timer, rig->loop, bell_fired, b), OK);
    loop_task_init(&b->task, rig->loop, bell_run, b);
    rig_leave(rig, false);
}

static void bell_close(struct bell *b)
{
    rig_enter(b->rig);
    loop_timer_deinit(&b->timer);
    loop_task_cancel(&b->task);
    rig_leave(b->rig, false);
}

static void test_timers_and_tasks_run_while_nobody_calls(void **state)
{
    uint32_t rings = 0;
    struct bell bell;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    bell_open(&bell, &rig);
    for (int busy = 0; busy < 2; busy++) {
        for (int64_t delay_ns = 0; delay_ns < 3 * TESTING_MS; delay_ns += TESTING_MS / 10) {
            rig_enter(&rig);
            loop_timer_start_in(&bell.timer, delay_ns);
            rig_leave(&rig, busy != 0);
            gate_await(&bell.gate, ++rings);
            rig_enter(&rig);
            assert_false(pthread_equal(bell.ringer, pthread_self()));
            loop_task_post(&bell.task);
            rig_leave(&rig, busy != 0);
            gate_await(&bell.gate, ++rings);
        }
    }
    bell_close(&bell);
    rig_close(&rig);
}

/* Long waits send the background thread to a deeper sleep than short ones. */
static void test_the_background_thread_is_back_after_a_long_wait(void **state)
{
    bool never = false;
    struct bell bell;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    bell_open(&bell, &rig);
    for (uint32_t i = 0; i < 5; i++) {
        rig_enter(&rig);
        for (int n = 0; n < 10; n++) {
            int64_t deadline_ns = loop_now_ns(rig.loop) + LOOP_DRIVER_IDLE_NS;

            assert_int_equal(rig_wait_as(&rig, &never, deadline_ns, NULL, NULL), ERR_TIMEOUT);
        }
        loop_timer_start_in(&bell.timer, TESTING_MS);
        rig_leave(&rig, false);
        gate_await(&bell.gate, i + 1);
    }
    bell_close(&bell);
    rig_close(&rig);
}

/* Calls in quick succession that neither wait nor have anything urgent. */
static void *act_visit_until_done(void *arg)
{
    struct actor *a = arg;
    bool done = false;

    while (!done) {
        rig_enter(a->rig);
        done = a->done;
        rig_leave(a->rig, false);
    }
    return NULL;
}

static void test_calls_without_end_do_not_keep_the_loop_from_its_turns(void **state)
{
    struct actor actors[3];
    struct bell bell;
    struct rig rig;

    (void)state;
    for (uint64_t count = 1; count <= 3; count++) {
        rig_open(&rig);
        bell_open(&bell, &rig);
        actors_start(actors, count, &rig, act_visit_until_done);
        for (uint32_t i = 0; i < 5; i++) {
            rig_enter(&rig);
            loop_task_post(&bell.task);
            rig_leave(&rig, i % 2 == 1);
            gate_await(&bell.gate, i + 1);
        }
        rig_enter(&rig);
        for (uint64_t i = 0; i < count; i++) {
            actors[i].done = true;
        }
        rig_leave(&rig, false);
        actors_join(actors, count);
        bell_close(&bell);
        rig_close(&rig);
    }
}

static void *act_wait(void *arg)
{
    struct actor *a = arg;

    rig_enter(a->rig);
    rig_wait(a->rig, &a->done);
    rig_leave(a->rig, false);
    return NULL;
}

static void actor_fired(struct loop_timer *timer, void *user)
{
    struct actor *a = user;

    (void)timer;
    CHECK(rig_is_mine(a->rig) && !a->rig->inside);
    a->done = true;
}

static void test_nor_do_they_keep_others_from_what_they_wait_for(void **state)
{
    struct actor visitors[3], waiter;
    struct loop_timer timer;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    actors_start(visitors, 3, &rig, act_visit_until_done);
    for (int i = 0; i < 20; i++) {
        rig_enter(&rig);
        assert_int_equal(loop_timer_init(&timer, rig.loop, actor_fired, &waiter), OK);
        actors_start(&waiter, 1, &rig, act_wait);
        loop_timer_start_in(&timer, TESTING_MS);
        rig_leave(&rig, false);
        actors_join(&waiter, 1);
        rig_enter(&rig);
        loop_timer_deinit(&timer);
        rig_leave(&rig, false);
    }
    rig_enter(&rig);
    for (int i = 0; i < 3; i++) {
        visitors[i].done = true;
    }
    rig_leave(&rig, false);
    actors_join(visitors, 3);
    rig_close(&rig);
}

static void test_a_timer_set_before_a_longer_wait_fires_in_it(void **state)
{
    struct bell bell;
    struct rig rig;
    bool never = false;

    (void)state;
    rig_open(&rig);
    bell_open(&bell, &rig);
    rig_enter(&rig);
    loop_timer_start_in(&bell.timer, TESTING_MS);
    assert_int_equal(rig_wait_as(&rig, &never, loop_now_ns(rig.loop) + 5 * TESTING_MS, NULL, NULL),
                     ERR_TIMEOUT);
    assert_true(pthread_equal(bell.ringer, pthread_self()));
    rig_leave(&rig, false);
    bell_close(&bell);
    rig_close(&rig);
}

static void test_the_background_thread_has_a_name_and_no_signals(void **state)
{
    struct bell bell;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    bell_open(&bell, &rig);
    rig_enter(&rig);
    loop_task_post(&bell.task);
    rig_leave(&rig, true);
    gate_await(&bell.gate, 1);
    assert_string_equal(bell.name, "driver");
    assert_int_equal(sigismember(&bell.mask, SIGINT), 1);
    assert_int_equal(sigismember(&bell.mask, SIGUSR1), 1);
    bell_close(&bell);
    rig_close(&rig);
}

/* Two socket pairs; the second is watched when the first has been read. */
struct chain {
    struct rig *rig;
    struct gate gate;
    struct loop_poll *polls[2];
    int ours[2];
    int theirs[2];
};

static void chain_read(struct chain *c, int i)
{
    char byte;

    CHECK(rig_is_mine(c->rig) && !c->rig->inside);
    CHECK(read(c->ours[i], &byte, 1) == 1);
    gate_pass(&c->gate);
}

static void chain_second_ready(int events, void *user)
{
    (void)events;
    chain_read(user, 1);
}

static void chain_first_ready(int events, void *user)
{
    struct chain *c = user;

    (void)events;
    chain_read(c, 0);
    CHECK(loop_poll_create(c->rig->loop, c->ours[1], chain_second_ready, c, &c->polls[1]) == OK);
    loop_poll_want(c->polls[1], LOOP_READABLE);
}

static void chain_open(struct chain *c, struct rig *rig)
{
    memset(c, 0, sizeof(*c));
    c->rig = rig;
    gate_init(&c->gate);
    for (int i = 0; i < 2; i++) {
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        c->ours[i] = fds[0];
        c->theirs[i] = fds[1];
    }
}

static void chain_close(struct chain *c)
{
    rig_enter(c->rig);
    for (int i = 0; i < 2; i++) {
        loop_poll_destroy(c->polls[i]);
        (void)close(c->ours[i]);
        (void)close(c->theirs[i]);
    }
    rig_leave(c->rig, false);
}

static void test_descriptors_are_watched_while_nobody_calls(void **state)
{
    struct chain c;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    for (int round = 0; round < 40; round++) {
        chain_open(&c, &rig);
        rig_enter(&rig);
        assert_int_equal(loop_poll_create(rig.loop, c.ours[0], chain_first_ready, &c, &c.polls[0]),
                         OK);
        loop_poll_want(c.polls[0], LOOP_READABLE);
        rig_leave(&rig, round % 2 == 0);
        assert_int_equal(write(c.theirs[0], "a", 1), 1);
        gate_await(&c.gate, 1);
        assert_int_equal(write(c.theirs[1], "b", 1), 1);
        gate_await(&c.gate, 2);
        chain_close(&c);
    }
    rig_close(&rig);
}

static void test_a_deadline_in_the_past_lets_happen_what_is_ready(void **state)
{
    bool never = false;
    struct chain c;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    chain_open(&c, &rig);
    rig_enter(&rig);
    assert_int_equal(loop_poll_create(rig.loop, c.ours[0], chain_first_ready, &c, &c.polls[0]), OK);
    loop_poll_want(c.polls[0], LOOP_READABLE);
    assert_int_equal(write(c.theirs[0], "a", 1), 1);
    assert_int_equal(rig_wait_as(&rig, &never, 0, NULL, NULL), ERR_TIMEOUT);
    assert_int_equal(c.gate.count, 1);
    rig_leave(&rig, false);
    chain_close(&c);
    rig_close(&rig);
}

static void *act_visit(void *arg)
{
    struct actor *a = arg;

    for (int i = 0; i < 2000; i++) {
        rig_count(a->rig, i % 4 == 0);
    }
    return NULL;
}

static void test_a_forked_child_forgets_and_the_parent_goes_on(void **state)
{
    struct actor actors[2];
    struct bell bell;
    struct chain c;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    bell_open(&bell, &rig);
    chain_open(&c, &rig);
    rig_enter(&rig);
    assert_int_equal(loop_poll_create(rig.loop, c.ours[0], chain_first_ready, &c, &c.polls[0]), OK);
    loop_poll_want(c.polls[0], LOOP_READABLE);
    loop_timer_start_in(&bell.timer, 5 * TESTING_MS);
    rig_leave(&rig, false);
    actors_start(actors, 2, &rig, act_visit);
    for (int i = 0; i < 20; i++) {
        int status = -1;
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0) {
            (void)alarm(60); /* Should it hang. */
            loop_driver_forget(rig.driver);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    actors_join(actors, 2);
    gate_await(&bell.gate, 1);
    assert_int_equal(write(c.theirs[0], "a", 1), 1);
    gate_await(&c.gate, 1);
    chain_close(&c);
    bell_close(&bell);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers_and_tasks_run_while_nobody_calls),
        cmocka_unit_test(test_the_background_thread_is_back_after_a_long_wait),
        cmocka_unit_test(test_calls_without_end_do_not_keep_the_loop_from_its_turns),
        cmocka_unit_test(test_nor_do_they_keep_others_from_what_they_wait_for),
        cmocka_unit_test(test_a_timer_set_before_a_longer_wait_fires_in_it),
        cmocka_unit_test(test_the_background_thread_has_a_name_and_no_signals),
        cmocka_unit_test(test_descriptors_are_watched_while_nobody_calls),
        cmocka_unit_test(test_a_deadline_in_the_past_lets_happen_what_is_ready),
        cmocka_unit_test(test_a_forked_child_forgets_and_the_parent_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
