/* The loop itself: timers and tasks on the manual backend, with a transcript of who was called
 * when, and what is different on the real one. */

#include "base/mem.h"
#include "loop/clock.h"
#include "loop/loop.h"
#include "loop/testing.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LETTERS = 4, SAID_BYTES = 64 };

struct stage;

/* A timer and a task that write their letter when called, small for the timer. */
struct letter {
    struct loop_timer timer;
    struct loop_task task;
    struct stage *stage;
    char name;
    void (*then)(struct letter *l);
};

struct stage {
    struct loop *loop;
    struct letter letters[LETTERS];
    char said[SAID_BYTES];
    size_t said_bytes;
    int wakes;
};

static void say(struct stage *s, char name)
{
    assert_true(s->said_bytes + 1 < sizeof(s->said));
    s->said[s->said_bytes++] = name;
}

static void letter_fired(struct loop_timer *timer, void *user)
{
    struct letter *l = user;

    assert_ptr_equal(timer, &l->timer);
    assert_false(loop_timer_active(timer));
    say(l->stage, (char)(l->name - 'A' + 'a'));
    if (l->then != NULL) {
        l->then(l);
    }
}

static void letter_run(struct loop_task *task, void *user)
{
    struct letter *l = user;

    assert_ptr_equal(task, &l->task);
    say(l->stage, l->name);
    if (l->then != NULL) {
        l->then(l);
    }
}

static void stage_set(struct stage *s, struct loop *loop)
{
    memset(s, 0, sizeof(*s));
    s->loop = loop;
    for (int i = 0; i < LETTERS; i++) {
        struct letter *l = &s->letters[i];

        l->stage = s;
        l->name = (char)('A' + i);
        assert_int_equal(loop_timer_init(&l->timer, loop, letter_fired, l), OK);
        loop_task_init(&l->task, loop, letter_run, l);
    }
}

static void stage_manual(struct stage *s)
{
    struct loop *loop;

    assert_int_equal(loop_create_manual(100, &loop), OK);
    stage_set(s, loop);
}

static void stage_real(struct stage *s)
{
    struct loop *loop;

    assert_int_equal(loop_create(&loop), OK);
    stage_set(s, loop);
}

static void stage_clear(struct stage *s)
{
    for (int i = 0; i < LETTERS; i++) {
        loop_timer_deinit(&s->letters[i].timer);
        loop_task_cancel(&s->letters[i].task);
    }
    loop_destroy(s->loop);
}

static struct loop_timer *timer_of(struct stage *s, char name)
{
    return &s->letters[name - 'a'].timer;
}

static struct loop_task *task_of(struct stage *s, char name)
{
    return &s->letters[name - 'A'].task;
}

static void test_timers_fire_in_the_order_of_their_times(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    loop_timer_start(timer_of(&s, 'a'), 130);
    loop_timer_start(timer_of(&s, 'b'), 110);
    loop_timer_start(timer_of(&s, 'c'), 120);
    loop_timer_start(timer_of(&s, 'd'), 131);
    loop_manual_advance(s.loop, 130);
    assert_string_equal(s.said, "bca");
    assert_true(loop_timer_active(timer_of(&s, 'd')));
    stage_clear(&s);
}

static void test_equal_times_fire_first_in_first_out(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    for (char name = 'd'; name >= 'a'; name--) {
        loop_timer_start(timer_of(&s, name), 110);
    }
    loop_timer_start(timer_of(&s, 'c'), 110);
    loop_manual_advance(s.loop, 110);
    assert_string_equal(s.said, "dbac");
    stage_clear(&s);
}

static void test_a_timer_fires_once_and_not_early(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    loop_timer_start_in(timer_of(&s, 'a'), 10);
    loop_manual_advance(s.loop, 109);
    assert_string_equal(s.said, "");
    loop_manual_advance(s.loop, 110);
    assert_string_equal(s.said, "a");
    loop_manual_advance(s.loop, 1000);
    assert_string_equal(s.said, "a");
    stage_clear(&s);
}

static void test_starting_again_replaces_the_time(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    loop_timer_start(timer_of(&s, 'a'), 110);
    loop_timer_start(timer_of(&s, 'a'), 120);
    loop_timer_start(timer_of(&s, 'b'), 150);
    loop_timer_start(timer_of(&s, 'b'), 115);
    loop_manual_advance(s.loop, 119);
    assert_string_equal(s.said, "b");
    loop_manual_advance(s.loop, 200);
    assert_string_equal(s.said, "ba");
    stage_clear(&s);
}

static void test_a_stopped_timer_stays_silent(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    loop_timer_start(timer_of(&s, 'a'), 110);
    loop_timer_stop(timer_of(&s, 'a'));
    loop_timer_stop(timer_of(&s, 'a'));
    assert_false(loop_timer_active(timer_of(&s, 'a')));
    assert_true(loop_manual_next_ns(s.loop) == LOOP_NEVER);
    loop_manual_advance(s.loop, 200);
    assert_string_equal(s.said, "");
    stage_clear(&s);
}

static void then_start_for_the_past(struct letter *l)
{
    loop_timer_start(&l->timer, 0);
}

static void test_a_timer_that_restarts_for_the_past_gets_one_call_a_turn(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    s.letters[0].then = then_start_for_the_past;
    loop_timer_start(timer_of(&s, 'a'), 101);
    loop_timer_start(timer_of(&s, 'b'), 102);
    loop_timer_start(timer_of(&s, 'c'), 103);
    loop_timer_start(timer_of(&s, 'd'), 1000);
    loop_manual_advance(s.loop, 110);
    assert_string_equal(s.said, "abc");
    assert_int_equal(loop_manual_next_ns(s.loop), 110);
    loop_manual_advance(s.loop, 110);
    assert_string_equal(s.said, "abca");
    loop_manual_advance(s.loop, 1000);
    assert_string_equal(s.said, "abcaad");
    stage_clear(&s);
}

static void then_disturb_the_others(struct letter *l)
{
    struct stage *s = l->stage;

    loop_timer_stop(timer_of(s, 'b'));
    loop_timer_deinit(timer_of(s, 'c'));
    loop_timer_start_in(timer_of(s, 'd'), 50);
    assert_true(loop_timer_active(timer_of(s, 'd')));
}

static void test_a_callback_may_stop_deinit_and_move_those_that_are_due(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    s.letters[0].then = then_disturb_the_others;
    for (char name = 'a'; name <= 'd'; name++) {
        loop_timer_start(timer_of(&s, name), 110);
    }
    loop_manual_advance(s.loop, 110);
    assert_string_equal(s.said, "a");
    assert_int_equal(loop_manual_next_ns(s.loop), 160);
    loop_manual_advance(s.loop, 160);
    assert_string_equal(s.said, "ad");
    stage_clear(&s);
}

static void then_deinit_itself(struct letter *l)
{
    loop_timer_deinit(&l->timer);
    memset(&l->timer, 0, sizeof(l->timer));
}

static void then_start_in_ten(struct letter *l)
{
    loop_timer_start_in(&l->timer, 10);
}

static void test_a_callback_may_restart_or_deinit_its_own_timer(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    s.letters[0].then = then_start_in_ten;
    s.letters[1].then = then_deinit_itself;
    loop_timer_start(timer_of(&s, 'a'), 110);
    loop_timer_start(timer_of(&s, 'b'), 110);
    loop_manual_advance(s.loop, 110);
    loop_manual_advance(s.loop, 119);
    loop_manual_advance(s.loop, 120);
    assert_string_equal(s.said, "aba");
    stage_clear(&s);
}

static void test_a_zeroed_timer_or_task_can_be_released(void **state)
{
    struct loop_timer timer = {0};
    struct loop_task task = {0};

    (void)state;
    loop_timer_stop(&timer);
    assert_false(loop_timer_active(&timer));
    loop_timer_deinit(&timer);
    loop_timer_deinit(&timer);
    loop_task_cancel(&task);
    loop_destroy(NULL);
}

static void test_the_far_future_is_never(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    loop_timer_start_in(timer_of(&s, 'a'), INT64_MAX - 50);
    assert_true(loop_timer_active(timer_of(&s, 'a')));
    assert_true(loop_manual_next_ns(s.loop) == LOOP_NEVER);
    loop_manual_advance(s.loop, INT64_MAX - 1);
    assert_string_equal(s.said, "");
    stage_clear(&s);
}

static void then_post_the_next(struct letter *l)
{
    struct stage *s = l->stage;

    if (l->name < 'D') {
        loop_task_post(&s->letters[l->name - 'A' + 1].task);
    }
}

static void test_tasks_run_at_the_end_of_the_turn(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    s.letters[1].then = then_post_the_next;
    loop_task_post(task_of(&s, 'A'));
    loop_timer_start(timer_of(&s, 'b'), 100);
    assert_string_equal(s.said, "");
    loop_manual_advance(s.loop, 100);
    assert_string_equal(s.said, "bAC");
    stage_clear(&s);
}

static void test_tasks_that_tasks_post_run_too(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    for (int i = 0; i < LETTERS; i++) {
        s.letters[i].then = then_post_the_next;
    }
    loop_task_post(task_of(&s, 'A'));
    loop_manual_advance(s.loop, 100);
    assert_string_equal(s.said, "ABCD");
    assert_true(loop_manual_next_ns(s.loop) == LOOP_NEVER);
    stage_clear(&s);
}

static void then_post_itself_twice(struct letter *l)
{
    loop_task_post(&l->task);
    loop_task_post(&l->task);
}

static void test_posting_twice_runs_once(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    loop_task_post(task_of(&s, 'B'));
    loop_task_post(task_of(&s, 'A'));
    loop_task_post(task_of(&s, 'B'));
    loop_manual_advance(s.loop, 100);
    assert_string_equal(s.said, "BA");
    loop_manual_advance(s.loop, 100);
    assert_string_equal(s.said, "BA");
    stage_clear(&s);
}

static void test_a_task_that_posts_itself_does_not_keep_the_loop(void **state)
{
    struct stage s;
    size_t first;

    (void)state;
    stage_manual(&s);
    s.letters[0].then = then_post_itself_twice;
    loop_task_post(task_of(&s, 'A'));
    loop_manual_advance(s.loop, 100);
    first = s.said_bytes;
    assert_true(first > 1);
    assert_int_equal(loop_manual_next_ns(s.loop), 100);
    s.letters[0].then = NULL;
    loop_manual_advance(s.loop, 100);
    assert_int_equal(s.said_bytes, first + 1);
    stage_clear(&s);
}

static void make_late(struct stage *s, char name)
{
    struct letter *l = &s->letters[name - 'A'];

    loop_task_init_late(&l->task, s->loop, letter_run, l);
}

static void test_a_late_task_runs_after_all_others(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    make_late(&s, 'A');
    make_late(&s, 'D');
    s.letters[1].then = then_post_the_next;
    loop_task_post(task_of(&s, 'D'));
    loop_task_post(task_of(&s, 'A'));
    loop_task_post(task_of(&s, 'A'));
    assert_int_equal(loop_manual_next_ns(s.loop), 100);
    loop_task_post(task_of(&s, 'B'));
    loop_manual_advance(s.loop, 100);
    assert_string_equal(s.said, "BCDA");
    loop_task_post(task_of(&s, 'D'));
    loop_task_cancel(task_of(&s, 'D'));
    assert_true(loop_manual_next_ns(s.loop) == LOOP_NEVER);
    stage_clear(&s);
}

static void test_a_late_task_runs_even_if_another_posts_itself(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    make_late(&s, 'D');
    s.letters[0].then = then_post_itself_twice;
    loop_task_post(task_of(&s, 'D'));
    loop_task_post(task_of(&s, 'A'));
    loop_manual_advance(s.loop, 100);
    assert_int_equal(s.said[s.said_bytes - 1], 'D');
    stage_clear(&s);
}

static void then_cancel_the_others(struct letter *l)
{
    for (int i = 0; i < LETTERS; i++) {
        loop_task_cancel(&l->stage->letters[i].task);
    }
}

static void test_a_task_can_be_taken_back(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    loop_task_post(task_of(&s, 'A'));
    loop_task_cancel(task_of(&s, 'A'));
    loop_task_cancel(task_of(&s, 'A'));
    assert_true(loop_manual_next_ns(s.loop) == LOOP_NEVER);
    for (char name = 'A'; name <= 'D'; name++) {
        loop_task_post(task_of(&s, name));
    }
    s.letters[1].then = then_cancel_the_others;
    loop_manual_advance(s.loop, 100);
    assert_string_equal(s.said, "AB");
    stage_clear(&s);
}

static void test_a_manual_loop_tells_when_it_wants_to_run(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    assert_true(loop_is_manual(s.loop));
    assert_true(loop_manual_next_ns(s.loop) == LOOP_NEVER);
    loop_timer_start(timer_of(&s, 'a'), 150);
    assert_int_equal(loop_manual_next_ns(s.loop), 150);
    loop_timer_start(timer_of(&s, 'b'), 50);
    assert_int_equal(loop_manual_next_ns(s.loop), 100);
    loop_manual_advance(s.loop, 120);
    assert_int_equal(loop_now_ns(s.loop), 120);
    assert_int_equal(loop_manual_next_ns(s.loop), 150);
    loop_task_post(task_of(&s, 'A'));
    assert_int_equal(loop_manual_next_ns(s.loop), 120);
    stage_clear(&s);
}

static void count_wake(struct loop *loop, void *user)
{
    struct stage *s = user;

    assert_ptr_equal(loop, s->loop);
    s->wakes++;
}

static void test_a_manual_loop_calls_when_it_wants_to_run_earlier(void **state)
{
    struct stage s;

    (void)state;
    stage_manual(&s);
    loop_manual_on_wake(s.loop, count_wake, &s);
    loop_timer_start(timer_of(&s, 'a'), 150);
    assert_int_equal(s.wakes, 1);
    loop_timer_start(timer_of(&s, 'b'), 160);
    assert_int_equal(s.wakes, 1);
    loop_timer_start(timer_of(&s, 'b'), 140);
    assert_int_equal(s.wakes, 2);
    loop_task_post(task_of(&s, 'A'));
    assert_int_equal(s.wakes, 3);
    loop_task_post(task_of(&s, 'A'));
    loop_task_post(task_of(&s, 'B'));
    assert_int_equal(s.wakes, 3);
    loop_manual_on_wake(s.loop, NULL, NULL);
    loop_timer_start(timer_of(&s, 'b'), 130);
    assert_int_equal(s.wakes, 3);
    stage_clear(&s);
}

/* Let a child do @what and see whether a failed check stopped it. */
static bool dies(void (*what)(void))
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        (void)close(2);
        (void)alarm(60); /* Should it hang instead. */
        what();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void go_back_in_time(void)
{
    struct loop *loop = NULL;

    if (loop_create_manual(100, &loop) == OK) {
        loop_manual_advance(loop, 100);
        loop_manual_advance(loop, 99);
    }
}

static void forget_a_timer(void)
{
    struct loop_timer timer;
    struct loop *loop = NULL;

    if (loop_create_manual(100, &loop) == OK &&
        loop_timer_init(&timer, loop, letter_fired, NULL) == OK) {
        loop_destroy(loop);
    }
}

static void test_misuse_stops_the_process(void **state)
{
    (void)state;
    assert_true(dies(go_back_in_time));
    assert_true(dies(forget_a_timer));
}

static void test_no_memory_for_a_loop_is_reported(void **state)
{
    struct loop *loop = NULL;

    (void)state;
    mem_fail_at(1, 1);
    assert_int_equal(loop_create_manual(0, &loop), ERR_NOMEM);
    mem_fail_at(1, 1);
    assert_int_equal(loop_create(&loop), ERR_NOMEM);
    assert_null(loop);
}

static void test_no_memory_for_a_timer_leaves_the_loop_usable(void **state)
{
    enum { TIMERS = 200 };
    static struct loop_timer timers[TIMERS];
    uint64_t failures = 0;
    struct stage s;

    (void)state;
    for (uint64_t k = 1; k < 8; k++) {
        stage_manual(&s);
        failures = mem_failures();
        mem_fail_at(k, 1);
        for (int i = 0; i < TIMERS; i++) {
            enum err rc = loop_timer_init(&timers[i], s.loop, letter_fired, &s.letters[0]);

            if (rc != OK) {
                assert_int_equal(rc, ERR_NOMEM);
                assert_int_equal(loop_timer_init(&timers[i], s.loop, letter_fired, NULL), OK);
            }
            loop_timer_start(&timers[i], 1000);
        }
        mem_fail_at(0, 0);
        loop_timer_start(timer_of(&s, 'a'), 100);
        loop_manual_advance(s.loop, 100);
        assert_string_equal(s.said, "a");
        for (int i = 0; i < TIMERS; i++) {
            loop_timer_deinit(&timers[i]);
        }
        stage_clear(&s);
        if (mem_failures() == failures) {
            break; /* There were fewer allocations than k. */
        }
        assert_true(k < 7);
    }
}

/* Leave the process @room descriptors more than it has open. */
static void leave_descriptors(const struct rlimit *before, int room)
{
    struct rlimit limit = *before;
    int free_fd = dup(0);

    assert_true(free_fd >= 0);
    (void)close(free_fd);
    limit.rlim_cur = (rlim_t)(free_fd + room);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void test_a_process_without_descriptors_gets_an_error(void **state)
{
    struct loop *loop = NULL;
    struct rlimit before;
    enum err rc = ERR_IO;

    (void)state;
    /* The first loop of a process makes the pipe for signals: libuv gives up if it cannot. */
    assert_int_equal(loop_create(&loop), OK);
    loop_destroy(loop);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int room = 0; rc != OK; room++) {
        leave_descriptors(&before, room);
        rc = loop_create(&loop);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_true(rc == OK || (rc == ERR_IO && room < 16));
    }
    loop_turn(loop, 0);
    loop_destroy(loop);
}

struct alarm {
    struct loop_timer timer;
    int64_t at_ns;
    int64_t *last_ns;
    int *left;
};

static void alarm_fired(struct loop_timer *timer, void *user)
{
    struct alarm *a = user;

    (void)timer;
    assert_true(clock_mono_ns() >= a->at_ns);
    assert_true(*a->last_ns <= a->at_ns);
    *a->last_ns = a->at_ns;
    --*a->left;
}

static void test_real_timers_fire_in_order_and_not_early(void **state)
{
    enum { ALARMS = 200 };
    static struct alarm alarms[ALARMS];
    int64_t start_ns, last_ns = 0;
    int left = ALARMS;
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_false(loop_is_manual(loop));
    start_ns = loop_now_ns(loop);
    for (int i = 0; i < ALARMS; i++) {
        struct alarm *a = &alarms[i];

        *a = (struct alarm){
            .at_ns = start_ns + (i * 7919 % ALARMS) * 50021, .last_ns = &last_ns, .left = &left};
        assert_int_equal(loop_timer_init(&a->timer, loop, alarm_fired, a), OK);
        loop_timer_start(&a->timer, a->at_ns);
    }
    while (left > 0) {
        loop_turn(loop, LOOP_NEVER);
    }
    for (int i = 0; i < ALARMS; i++) {
        loop_timer_deinit(&alarms[i].timer);
    }
    loop_destroy(loop);
}

static void then_stop_the_loop(struct letter *l)
{
    loop_task_post(task_of(l->stage, 'B'));
    loop_stop(l->stage->loop);
}

static void test_stop_ends_the_run_after_the_turn(void **state)
{
    struct stage s;

    (void)state;
    stage_real(&s);
    s.letters[0].then = then_stop_the_loop;
    loop_timer_start_in(timer_of(&s, 'a'), 1000);
    loop_run(s.loop);
    assert_string_equal(s.said, "aB");
    loop_timer_start(timer_of(&s, 'a'), 0);
    loop_run(s.loop);
    assert_string_equal(s.said, "aBaB");
    stage_clear(&s);
}

static void test_a_turn_ends_when_its_wait_is_over(void **state)
{
    int64_t start_ns = clock_mono_ns();
    struct stage s;

    (void)state;
    stage_real(&s);
    loop_timer_start(timer_of(&s, 'a'), LOOP_NEVER);
    loop_timer_start_in(timer_of(&s, 'b'), TESTING_MS);
    loop_timer_stop(timer_of(&s, 'b'));
    loop_turn(s.loop, 0);
    loop_turn(s.loop, 3 * TESTING_MS);
    assert_true(clock_mono_ns() - start_ns >= 3 * TESTING_MS);
    loop_turn(s.loop, 1);
    assert_string_equal(s.said, "");
    stage_clear(&s);
}

static void test_a_turn_does_not_wait_while_tasks_do(void **state)
{
    struct stage s;

    (void)state;
    stage_real(&s);
    s.letters[0].then = then_post_the_next;
    loop_task_post(task_of(&s, 'A'));
    loop_turn(s.loop, LOOP_NEVER);
    assert_string_equal(s.said, "AB");
    stage_clear(&s);
}

static void test_a_real_timer_for_the_past_fires_in_each_turn_once(void **state)
{
    struct stage s;

    (void)state;
    stage_real(&s);
    s.letters[0].then = then_start_for_the_past;
    loop_timer_start(timer_of(&s, 'a'), -5);
    loop_timer_start(timer_of(&s, 'b'), 1);
    loop_turn(s.loop, LOOP_NEVER);
    assert_string_equal(s.said, "ab");
    loop_turn(s.loop, LOOP_NEVER);
    assert_string_equal(s.said, "aba");
    stage_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers_fire_in_the_order_of_their_times),
        cmocka_unit_test(test_equal_times_fire_first_in_first_out),
        cmocka_unit_test(test_a_timer_fires_once_and_not_early),
        cmocka_unit_test(test_starting_again_replaces_the_time),
        cmocka_unit_test(test_a_stopped_timer_stays_silent),
        cmocka_unit_test(test_a_timer_that_restarts_for_the_past_gets_one_call_a_turn),
        cmocka_unit_test(test_a_callback_may_stop_deinit_and_move_those_that_are_due),
        cmocka_unit_test(test_a_callback_may_restart_or_deinit_its_own_timer),
        cmocka_unit_test(test_a_zeroed_timer_or_task_can_be_released),
        cmocka_unit_test(test_the_far_future_is_never),
        cmocka_unit_test(test_tasks_run_at_the_end_of_the_turn),
        cmocka_unit_test(test_tasks_that_tasks_post_run_too),
        cmocka_unit_test(test_posting_twice_runs_once),
        cmocka_unit_test(test_a_task_that_posts_itself_does_not_keep_the_loop),
        cmocka_unit_test(test_a_task_can_be_taken_back),
        cmocka_unit_test(test_a_late_task_runs_after_all_others),
        cmocka_unit_test(test_a_late_task_runs_even_if_another_posts_itself),
        cmocka_unit_test(test_a_manual_loop_tells_when_it_wants_to_run),
        cmocka_unit_test(test_a_manual_loop_calls_when_it_wants_to_run_earlier),
        cmocka_unit_test(test_misuse_stops_the_process),
        cmocka_unit_test(test_no_memory_for_a_loop_is_reported),
        cmocka_unit_test(test_no_memory_for_a_timer_leaves_the_loop_usable),
        cmocka_unit_test(test_a_process_without_descriptors_gets_an_error),
        cmocka_unit_test(test_real_timers_fire_in_order_and_not_early),
        cmocka_unit_test(test_stop_ends_the_run_after_the_turn),
        cmocka_unit_test(test_a_turn_ends_when_its_wait_is_over),
        cmocka_unit_test(test_a_turn_does_not_wait_while_tasks_do),
        cmocka_unit_test(test_a_real_timer_for_the_past_fires_in_each_turn_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
