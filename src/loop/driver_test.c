/* Drivers as callers see them: many threads that enter, wait and leave. */

#include "base/mem.h"
#include "base/rng.h"
#include "loop/driver.h"
#include "loop/testing_driver.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 8, SECTIONS = 2000, VOLLEYS = 1000, STORM_ROUNDS = 200 };

static void *act_count(void *arg)
{
    struct actor *a = arg;
    struct rng rng;

    rng_init(&rng, a->index);
    for (int i = 0; i < SECTIONS; i++) {
        rig_count(a->rig, rng_chance(&rng, 200000));
    }
    return NULL;
}

static void test_one_thread_at_a_time_owns_the_loop(void **state)
{
    struct actor actors[THREADS];
    struct rig rig;

    (void)state;
    rig_open(&rig);
    actors_start(actors, THREADS, &rig, act_count);
    actors_join(actors, THREADS);
    rig_enter(&rig);
    assert_int_equal(rig.count, THREADS * SECTIONS);
    assert_true(rig.moves >= THREADS);
    rig_leave(&rig, false);
    rig_close(&rig);
}

/* Two threads that wait for each other, all the time inside. */
static void *act_volley(void *arg)
{
    struct actor *a = arg;
    struct actor *other = a->index == 0 ? a + 1 : a - 1;

    rig_enter(a->rig);
    for (int i = 0; i < VOLLEYS; i++) {
        rig_wait(a->rig, &a->done);
        a->done = false;
        other->done = true;
        a->calls++;
    }
    rig_leave(a->rig, false);
    return NULL;
}

static void test_a_wait_ends_when_another_thread_makes_it_true(void **state)
{
    struct actor actors[2];
    struct rig rig;

    (void)state;
    rig_open(&rig);
    rig_enter(&rig);
    actors_start(actors, 2, &rig, act_volley);
    actors[0].done = true;
    rig_leave(&rig, false);
    actors_join(actors, 2);
    assert_int_equal(actors[0].calls, VOLLEYS);
    assert_int_equal(actors[1].calls, VOLLEYS);
    assert_true(actors[0].done);
    rig_close(&rig);
}

static void *act_wait(void *arg)
{
    struct actor *a = arg;

    rig_enter(a->rig);
    rig_wait(a->rig, &a->done);
    a->returned = true;
    rig_leave(a->rig, false);
    return NULL;
}

static void test_each_of_many_is_woken_for_what_it_waits_for(void **state)
{
    struct actor actors[THREADS];
    struct rng rng;
    struct rig rig;

    (void)state;
    rng_init(&rng, 1);
    rig_open(&rig);
    for (int round = 0; round < 20; round++) {
        actors_start(actors, THREADS, &rig, act_wait);
        rig_enter(&rig);
        for (uint64_t left = THREADS; left > 0; left--) {
            uint64_t i = rng_below(&rng, THREADS);

            while (actors[i].done) {
                i = (i + 1) % THREADS;
            }
            actors[i].done = true;
            rig_wait(&rig, &actors[i].returned);
            for (i = 0; i < THREADS; i++) {
                assert_int_equal(actors[i].returned, actors[i].done);
            }
        }
        rig_leave(&rig, false);
        actors_join(actors, THREADS);
    }
    rig_close(&rig);
}

/* Never sleeps: posts itself again. */
struct restless {
    struct rig *rig;
    struct loop_task task;
    uint64_t runs;
};

static void restless_run(struct loop_task *task, void *user)
{
    struct restless *r = user;

    CHECK(rig_is_mine(r->rig) && !r->rig->inside);
    r->runs++;
    loop_task_post(task);
}

static void *act_visit(void *arg)
{
    struct actor *a = arg;

    for (int i = 0; i < 200; i++) {
        rig_count(a->rig, false);
    }
    return NULL;
}

static void test_a_loop_that_never_sleeps_lets_others_in(void **state)
{
    struct actor visitors[2], waiter;
    struct restless restless = {0};
    struct rig rig;

    (void)state;
    rig_open(&rig);
    rig_enter(&rig);
    restless.rig = &rig;
    loop_task_init(&restless.task, rig.loop, restless_run, &restless);
    loop_task_post(&restless.task);
    rig_leave(&rig, true);
    /* First only the background thread is there, then somebody waits. */
    actors_start(visitors, 2, &rig, act_visit);
    actors_join(visitors, 2);
    actors_start(&waiter, 1, &rig, act_wait);
    actors_start(visitors, 2, &rig, act_visit);
    actors_join(visitors, 2);
    rig_enter(&rig);
    assert_false(waiter.returned);
    waiter.done = true;
    rig_leave(&rig, false);
    actors_join(&waiter, 1);
    rig_enter(&rig);
    assert_true(restless.runs > 0);
    assert_int_equal(rig.count, 800);
    loop_task_cancel(&restless.task);
    rig_leave(&rig, false);
    rig_close(&rig);
}

static void test_a_wait_times_out_and_not_before(void **state)
{
    struct rig rig;
    bool never = false;

    (void)state;
    rig_open(&rig);
    rig_enter(&rig);
    assert_int_equal(rig_wait_as(&rig, &never, INT64_MIN, NULL, NULL), ERR_TIMEOUT);
    assert_int_equal(rig_wait_as(&rig, &never, 0, NULL, NULL), ERR_TIMEOUT);
    for (int64_t us = 0; us < 3000; us += 100) {
        int64_t deadline_ns = loop_now_ns(rig.loop) + us * 1000;

        assert_int_equal(rig_wait_as(&rig, &never, deadline_ns, NULL, NULL), ERR_TIMEOUT);
        assert_true(loop_now_ns(rig.loop) >= deadline_ns);
    }
    rig_leave(&rig, false);
    rig_close(&rig);
}

static void *act_time_out(void *arg)
{
    struct actor *a = arg;
    struct rng rng;

    rng_init(&rng, a->index);
    for (int i = 0; i < 50; i++) {
        int64_t deadline_ns = clock_mono_ns() + rng_between(&rng, 0, TESTING_MS);

        rig_enter(a->rig);
        CHECK(rig_wait_as(a->rig, &a->done, deadline_ns, NULL, NULL) == ERR_TIMEOUT);
        CHECK(clock_mono_ns() >= deadline_ns);
        rig_leave(a->rig, false);
    }
    return NULL;
}

static void test_those_who_do_not_drive_time_out_too(void **state)
{
    struct actor actors[THREADS];
    struct rig rig;

    (void)state;
    rig_open(&rig);
    actors_start(actors, THREADS, &rig, act_time_out);
    actors_join(actors, THREADS);
    rig_close(&rig);
}

/* Interrupts at the call that brings it to zero. */
static bool actor_interrupted(void *user)
{
    struct actor *a = user;

    CHECK(a->self == rig_self() && a->calls > 0);
    return --a->calls == 0;
}

static void *act_until_interrupted(void *arg)
{
    struct actor *a = arg;

    a->self = rig_self();
    a->calls = 3;
    rig_enter(a->rig);
    CHECK(rig_wait_as(a->rig, &a->done, LOOP_NEVER, actor_interrupted, a) == ERR_CANCELLED);
    rig_leave(a->rig, false);
    return NULL;
}

static void test_an_interrupt_ends_a_wait_though_nothing_happens(void **state)
{
    struct actor actors[3];
    struct rig rig;

    (void)state;
    rig_open(&rig);
    actors_start(actors, 1, &rig, act_until_interrupted);
    actors_join(actors, 1);
    assert_int_equal(actors[0].calls, 0);
    actors_start(actors, 3, &rig, act_until_interrupted);
    actors_join(actors, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(actors[i].calls, 0);
    }
    rig_close(&rig);
}

/* Waits for nothing, and is not the one who drives: another has entered since. */
struct sleeper {
    struct actor actor;
    struct gate waiting;
    int64_t deadline_ns;
    enum err rc;
};

static void *act_sleep(void *arg)
{
    struct sleeper *s = arg;
    struct actor *a = &s->actor;

    a->self = rig_self();
    rig_enter(a->rig);
    gate_pass(&s->waiting); /* Who enters from now on can only do so while this one waits. */
    s->rc =
        rig_wait_as(a->rig, &a->done, s->deadline_ns, a->calls > 0 ? actor_interrupted : NULL, a);
    a->returned = true;
    rig_leave(a->rig, false);
    return NULL;
}

static enum err sleep_while_another_drives(struct rig *rig, int64_t deadline_ns, uint64_t calls)
{
    struct sleeper s = {.actor = {.rig = rig, .calls = calls}, .deadline_ns = deadline_ns};

    gate_init(&s.waiting);
    assert_int_equal(pthread_create(&s.actor.thread, NULL, act_sleep, &s), 0);
    gate_await(&s.waiting, 1);
    rig_enter(rig);
    rig_wait(rig, &s.actor.returned);
    rig_leave(rig, false);
    assert_int_equal(pthread_join(s.actor.thread, NULL), 0);
    return s.rc;
}

static void test_who_sleeps_while_another_drives_ends_its_wait_itself(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig);
    assert_int_equal(sleep_while_another_drives(&rig, LOOP_NEVER, 3), ERR_CANCELLED);
    for (int64_t ms = 0; ms < 10; ms++) {
        int64_t deadline_ns = clock_mono_ns() + ms * TESTING_MS;

        assert_int_equal(sleep_while_another_drives(&rig, deadline_ns, 0), ERR_TIMEOUT);
        assert_true(clock_mono_ns() >= deadline_ns);
    }
    rig_close(&rig);
}

static bool never_asked(void *user)
{
    (void)user;
    fail();
    return true;
}

static void test_what_is_true_already_needs_no_wait(void **state)
{
    bool done = true;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    rig_enter(&rig);
    assert_int_equal(rig_wait_as(&rig, &done, INT64_MIN, never_asked, NULL), OK);
    rig_leave(&rig, false);
    rig_close(&rig);
}

static void *act_echo(void *arg)
{
    int fd = *(int *)arg;
    char byte;

    while (read(fd, &byte, 1) == 1) {
        CHECK(write(fd, &byte, 1) == 1);
    }
    return NULL;
}

static void ping_ready(int events, void *user)
{
    struct actor *a = user;

    (void)events;
    CHECK(rig_is_mine(a->rig) && !a->rig->inside);
    CHECK(read(a->fd, &a->byte, 1) == 1);
    a->done = true;
}

static void *act_ping(void *arg)
{
    struct actor *a = arg;
    pthread_t echo;
    int fds[2];

    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    CHECK(pthread_create(&echo, NULL, act_echo, &fds[1]) == 0);
    a->fd = fds[0];
    rig_enter(a->rig);
    CHECK(loop_poll_create(a->rig->loop, a->fd, ping_ready, a, &a->poll) == OK);
    loop_poll_want(a->poll, LOOP_READABLE);
    rig_leave(a->rig, false);
    for (int i = 0; i < 500; i++) {
        char byte = (char)(i % 100);

        rig_enter(a->rig);
        a->done = false;
        CHECK(write(a->fd, &byte, 1) == 1);
        rig_wait(a->rig, &a->done);
        CHECK(a->byte == byte);
        rig_leave(a->rig, false);
    }
    rig_enter(a->rig);
    loop_poll_destroy(a->poll);
    rig_leave(a->rig, false);
    (void)close(fds[0]);
    CHECK(pthread_join(echo, NULL) == 0);
    (void)close(fds[1]);
    return NULL;
}

static void test_calls_drive_the_loop_for_what_they_wait_for(void **state)
{
    struct actor actors[4];
    struct rig rig;

    (void)state;
    rig_open(&rig);
    for (uint64_t threads = 1; threads <= 4; threads += 3) {
        actors_start(actors, threads, &rig, act_ping);
        actors_join(actors, threads);
    }
    rig_close(&rig);
}

/* Everything at once, by seed. */
static void actor_fired(struct loop_timer *timer, void *user)
{
    struct actor *a = user;

    (void)timer;
    CHECK(rig_is_mine(a->rig) && !a->rig->inside);
    a->done = true;
}

struct fickle {
    struct rng *rng;
    bool said;
};

static bool fickle_interrupted(void *user)
{
    struct fickle *f = user;

    CHECK(!f->said);
    f->said = rng_chance(f->rng, 300000);
    return f->said;
}

static void storm_wait(struct actor *a, struct rng *rng)
{
    struct fickle fickle = {rng, false};
    bool limited = rng_chance(rng, 500000);
    bool asked = rng_chance(rng, 300000);
    int64_t deadline_ns = clock_mono_ns() + rng_between(rng, 0, TESTING_MS / 2);
    enum err rc;

    rig_enter(a->rig);
    a->done = false;
    loop_timer_start_in(&a->timer, rng_between(rng, 0, TESTING_MS / 2));
    rc = rig_wait_as(a->rig, &a->done, limited ? deadline_ns : LOOP_NEVER,
                     asked ? fickle_interrupted : NULL, &fickle);
    CHECK(rc != OK || a->done);
    CHECK(rc != ERR_TIMEOUT || (limited && clock_mono_ns() >= deadline_ns));
    CHECK((rc == ERR_CANCELLED) == fickle.said);
    a->calls += rc == OK;
    loop_timer_stop(&a->timer);
    rig_leave(a->rig, rng_chance(rng, 300000));
}

/* Make what another waits for come true early. */
static void storm_help(struct actor *a, struct rng *rng)
{
    struct actor *all = a - a->index;

    rig_enter(a->rig);
    all[rng_below(rng, THREADS)].done = true;
    a->rig->count++;
    rig_leave(a->rig, rng_chance(rng, 300000));
}

static void *act_storm(void *arg)
{
    struct actor *a = arg;
    struct rng rng;

    rng_init(&rng, 100 + a->index);
    rig_enter(a->rig);
    CHECK(loop_timer_init(&a->timer, a->rig->loop, actor_fired, a) == OK);
    rig_leave(a->rig, false);
    for (int i = 0; i < STORM_ROUNDS; i++) {
        storm_wait(a, &rng);
        storm_help(a, &rng);
        if (rng_chance(&rng, 20000)) {
            (void)sched_yield();
        }
    }
    rig_enter(a->rig);
    loop_timer_deinit(&a->timer);
    rig_leave(a->rig, true);
    return NULL;
}

static void test_storms_of_calls_keep_the_rules(void **state)
{
    struct actor actors[THREADS];
    uint64_t succeeded = 0;
    struct rig rig;

    (void)state;
    for (int round = 0; round < 3; round++) {
        rig_open(&rig);
        actors_start(actors, THREADS, &rig, act_storm);
        actors_join(actors, THREADS);
        assert_int_equal(rig.count, THREADS * STORM_ROUNDS);
        for (int i = 0; i < THREADS; i++) {
            succeeded += actors[i].calls;
        }
        rig_close(&rig);
    }
    assert_true(succeeded > 0);
}

static void test_a_driver_may_end_at_once_or_while_it_works(void **state)
{
    struct actor actors[2];
    struct restless restless;
    struct rig rig;

    (void)state;
    loop_driver_destroy(NULL);
    for (int i = 0; i < 50; i++) {
        rig_open(&rig);
        if (i % 2 == 0) {
            rig_enter(&rig);
            restless = (struct restless){.rig = &rig};
            loop_task_init(&restless.task, rig.loop, restless_run, &restless);
            loop_task_post(&restless.task);
            rig_leave(&rig, i % 4 == 0);
            actors_start(actors, 2, &rig, act_visit);
            actors_join(actors, 2);
            rig_enter(&rig);
            loop_task_cancel(&restless.task);
            rig_leave(&rig, true);
        }
        rig_close(&rig);
    }
}

static void enter_twice(struct loop_driver *driver)
{
    loop_driver_enter(driver);
    loop_driver_enter(driver);
}

static void leave_without_entering(struct loop_driver *driver)
{
    loop_driver_leave(driver, false);
}

static void wait_without_entering(struct loop_driver *driver)
{
    bool done = false;

    (void)!loop_driver_wait(driver, &done, 0, NULL, NULL);
}

static void enter_after_forgetting(struct loop_driver *driver)
{
    loop_driver_forget(driver);
    loop_driver_enter(driver);
}

static void leave_in_a_turn(struct loop_task *task, void *user)
{
    (void)task;
    loop_driver_leave(user, false);
}

static void leave_from_the_loop(struct loop_driver *driver)
{
    struct loop_task task;
    bool done = false;

    loop_driver_enter(driver);
    loop_task_init(&task, loop_driver_loop(driver), leave_in_a_turn, driver);
    loop_task_post(&task);
    (void)!loop_driver_wait(driver, &done, LOOP_NEVER, NULL, NULL);
}

static void test_mistakes_of_callers_end_the_process(void **state)
{
    static void (*const mistakes[])(struct loop_driver * driver) = {
        enter_twice, leave_without_entering, wait_without_entering, enter_after_forgetting,
        leave_from_the_loop};

    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        int status = 0;
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0) {
            struct loop_driver *driver;

            (void)close(2);
            (void)alarm(60);
            if (loop_driver_create("child", &driver) == OK) {
                mistakes[i](driver);
            }
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

static void test_no_memory_is_reported(void **state)
{
    struct loop_driver *driver = NULL;
    enum err rc = ERR_NOMEM;
    uint64_t failed = 0;

    (void)state;
    for (uint64_t k = 1; rc != OK; k++) {
        assert_true(k < 20);
        mem_fail_at(k, 1);
        rc = loop_driver_create("poor", &driver);
        mem_fail_at(0, 0);
        assert_true(rc == OK || (rc == ERR_NOMEM && driver == NULL));
        failed += rc == ERR_NOMEM;
    }
    assert_true(failed >= 3);
    loop_driver_destroy(driver);
}

/* The lowest is looked for each time, because libuv leaks one when it fails. */
static int free_descriptor(void)
{
    int fd = dup(1);

    assert_true(fd >= 0);
    (void)close(fd);
    return fd;
}

static void test_no_descriptors_are_reported(void **state)
{
    struct loop_driver *driver = NULL;
    struct rlimit before, limit;
    enum err rc = ERR_IO;
    rlim_t given = 0;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (limit = before; rc != OK; given++) {
        assert_true(given < 20);
        limit.rlim_cur = (rlim_t)free_descriptor() + given;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        rc = loop_driver_create("poor", &driver);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_true(rc == OK || (rc == ERR_IO && driver == NULL));
    }
    assert_true(given > 3);
    loop_driver_destroy(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread_at_a_time_owns_the_loop),
        cmocka_unit_test(test_a_wait_ends_when_another_thread_makes_it_true),
        cmocka_unit_test(test_each_of_many_is_woken_for_what_it_waits_for),
        cmocka_unit_test(test_a_loop_that_never_sleeps_lets_others_in),
        cmocka_unit_test(test_a_wait_times_out_and_not_before),
        cmocka_unit_test(test_those_who_do_not_drive_time_out_too),
        cmocka_unit_test(test_an_interrupt_ends_a_wait_though_nothing_happens),
        cmocka_unit_test(test_who_sleeps_while_another_drives_ends_its_wait_itself),
        cmocka_unit_test(test_what_is_true_already_needs_no_wait),
        cmocka_unit_test(test_calls_drive_the_loop_for_what_they_wait_for),
        cmocka_unit_test(test_storms_of_calls_keep_the_rules),
        cmocka_unit_test(test_a_driver_may_end_at_once_or_while_it_works),
        cmocka_unit_test(test_mistakes_of_callers_end_the_process),
        cmocka_unit_test(test_no_memory_is_reported),
        cmocka_unit_test(test_no_descriptors_are_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
