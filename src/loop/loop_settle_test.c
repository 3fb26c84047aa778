/* Sleeping beside a loop: its descriptor has to tell of everything that wants a turn, and what it
 * cannot tell of has to be known before. */

#include "loop/clock.h"
#include "loop/state.h"
#include "loop/testing.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static bool is_readable(const struct loop *loop, int wait_ms)
{
    struct pollfd fd = {.fd = uv_backend_fd(&loop->uv), .events = POLLIN};

    return poll(&fd, 1, wait_ms) == 1;
}

static void note_fired(struct loop_timer *timer, void *user)
{
    (void)timer;
    *(bool *)user = true;
}

static void note_run(struct loop_task *task, void *user)
{
    (void)task;
    *(bool *)user = true;
}

static void note_ready(int events, void *user)
{
    (void)events;
    *(bool *)user = true;
}

static void test_a_settled_loop_tells_of_its_timers(void **state)
{
    struct loop_timer timer;
    bool fired = false;
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_int_equal(loop_timer_init(&timer, loop, note_fired, &fired), OK);
    loop_turn(loop, 0);
    assert_true(loop_settle(loop));
    assert_false(is_readable(loop, 0));
    loop_timer_start_in(&timer, 3600000 * TESTING_MS);
    assert_true(loop_settle(loop));
    assert_false(is_readable(loop, 0));
    loop_timer_start_in(&timer, 50 * TESTING_MS);
    if (loop_settle(loop)) {
        assert_true(is_readable(loop, 60000));
    }
    assert_false(loop_settle(loop));
    loop_turn(loop, 0);
    assert_true(fired);
    assert_true(loop_settle(loop));
    loop_timer_start(&timer, INT64_MIN);
    assert_false(loop_settle(loop));
    loop_timer_deinit(&timer);
    loop_destroy(loop);
}

static void test_a_loop_is_not_settled_while_something_wants_a_turn(void **state)
{
    struct loop_poll *poll;
    struct loop_task task;
    bool noted = false;
    struct loop *loop;
    int fds[2];

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_int_equal(pipe(fds), 0);
    assert_false(loop_settle(loop));
    loop_turn(loop, 0);
    assert_true(loop_settle(loop));
    loop_task_init(&task, loop, note_run, &noted);
    loop_task_post(&task);
    assert_false(loop_settle(loop));
    loop_turn(loop, 0);
    assert_true(noted && loop_settle(loop));
    noted = false;
    assert_int_equal(write(fds[1], "a", 1), 1);
    assert_int_equal(loop_poll_create(loop, fds[0], note_ready, &noted, &poll), OK);
    loop_poll_want(poll, LOOP_READABLE);
    assert_false(loop_settle(loop));
    loop_turn(loop, 0);
    assert_true(noted && loop_settle(loop) && is_readable(loop, 0));
    loop_poll_destroy(poll);
    assert_false(loop_settle(loop));
    loop_turn(loop, 0);
    assert_true(loop_settle(loop) && !is_readable(loop, 0));
    (void)close(fds[0]);
    (void)close(fds[1]);
    loop_destroy(loop);
}

static void test_an_early_alarm_ends_a_turn_and_is_gone(void **state)
{
    int64_t start_ns = clock_mono_ns();
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    loop_wake_by(loop, start_ns + 2 * TESTING_MS);
    loop_turn_until(loop, LOOP_NEVER);
    assert_true(clock_mono_ns() >= start_ns + 2 * TESTING_MS);
    assert_true(loop_settle(loop));
    assert_false(is_readable(loop, 0));
    loop_destroy(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_settled_loop_tells_of_its_timers),
        cmocka_unit_test(test_a_loop_is_not_settled_while_something_wants_a_turn),
        cmocka_unit_test(test_an_early_alarm_ends_a_turn_and_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
