/* Descriptors and signals on the real loop. */

#include "base/mem.h"
#include "loop/child.h"
#include "loop/clock.h"
#include "loop/loop.h"
#include "loop/resolve.h"
#include "loop/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* One watched descriptor and what was said about it. */
struct watch {
    struct loop *loop;
    struct loop_poll *poll;
    int fd;
    int other_fd;
    int calls;
    int events; /* Of the last call. */
    void (*then)(struct watch *w);
    struct watch *victim;
};

static void watch_ready(int events, void *user)
{
    struct watch *w = user;

    w->calls++;
    w->events = events;
    if (w->then != NULL) {
        w->then(w);
    }
}

static void watch_open(struct watch *w, struct loop *loop, int fd, int other_fd)
{
    *w = (struct watch){.loop = loop, .fd = fd, .other_fd = other_fd};
    assert_int_equal(loop_poll_create(loop, fd, watch_ready, w, &w->poll), OK);
}

/* Watch the reading end of a new pipe. */
static void watch_pipe(struct watch *w, struct loop *loop)
{
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    watch_open(w, loop, fds[0], fds[1]);
    loop_poll_want(w->poll, LOOP_READABLE);
}

static void watch_socket(struct watch *w, struct loop *loop)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    watch_open(w, loop, fds[0], fds[1]);
}

static void watch_close(struct watch *w)
{
    loop_poll_destroy(w->poll);
    w->poll = NULL;
    if (w->fd >= 0) {
        (void)close(w->fd);
        (void)close(w->other_fd);
        w->fd = -1;
    }
}

static void put(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void read_one(struct watch *w)
{
    char byte;

    assert_int_equal(read(w->fd, &byte, 1), 1);
}

static void test_a_readable_pipe_is_reported_until_it_is_read(void **state)
{
    struct loop *loop;
    struct watch w;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    watch_pipe(&w, loop);
    loop_turn(loop, 0);
    assert_int_equal(w.calls, 0);
    put(w.other_fd, "abc");
    for (int i = 1; i <= 5; i++) {
        loop_turn(loop, LOOP_NEVER);
        assert_int_equal(w.calls, i);
        assert_int_equal(w.events, LOOP_READABLE);
    }
    w.then = read_one;
    for (int i = 6; i <= 8; i++) {
        loop_turn(loop, LOOP_NEVER);
        assert_int_equal(w.calls, i);
    }
    loop_turn(loop, 0);
    assert_int_equal(w.calls, 8);
    watch_close(&w);
    loop_destroy(loop);
}

static void test_only_what_is_wanted_is_reported(void **state)
{
    struct loop *loop;
    struct watch w;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    watch_socket(&w, loop);
    put(w.other_fd, "abc");
    loop_turn(loop, 0);
    assert_int_equal(w.calls, 0);
    loop_poll_want(w.poll, LOOP_WRITABLE);
    loop_turn(loop, LOOP_NEVER);
    assert_int_equal(w.events, LOOP_WRITABLE);
    loop_poll_want(w.poll, LOOP_READABLE);
    loop_turn(loop, LOOP_NEVER);
    assert_int_equal(w.events, LOOP_READABLE);
    loop_poll_want(w.poll, LOOP_READABLE | LOOP_WRITABLE);
    loop_turn(loop, LOOP_NEVER);
    assert_int_equal(w.events, LOOP_READABLE | LOOP_WRITABLE);
    loop_poll_want(w.poll, 0);
    loop_poll_want(w.poll, 0);
    loop_turn(loop, 0);
    assert_int_equal(w.calls, 3);
    loop_poll_want(w.poll, LOOP_READABLE);
    loop_poll_want(w.poll, LOOP_READABLE);
    loop_turn(loop, LOOP_NEVER);
    assert_int_equal(w.calls, 4);
    watch_close(&w);
    loop_destroy(loop);
}

static void want_no_more(struct watch *w)
{
    loop_poll_want(w->poll, 0);
}

static void silence_the_victim(struct watch *w)
{
    loop_poll_want(w->victim->poll, 0);
}

static void test_wanting_less_in_a_callback_counts_at_once(void **state)
{
    struct watch a, b;
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    watch_pipe(&a, loop);
    watch_pipe(&b, loop);
    put(a.other_fd, "a");
    put(b.other_fd, "b");
    a.then = silence_the_victim;
    a.victim = &b;
    b.then = silence_the_victim;
    b.victim = &a;
    loop_turn(loop, LOOP_NEVER);
    assert_int_equal(a.calls + b.calls, 1);
    a.then = b.then = want_no_more;
    loop_turn(loop, LOOP_NEVER);
    loop_turn(loop, 0);
    assert_int_equal(a.calls + b.calls, 2);
    watch_close(&a);
    watch_close(&b);
    loop_destroy(loop);
}

static void close_the_victim(struct watch *w)
{
    if (w->victim->poll != NULL) {
        watch_close(w->victim);
    }
}

static void test_no_call_follows_when_another_callback_destroys(void **state)
{
    struct watch a, b;
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    watch_pipe(&a, loop);
    watch_pipe(&b, loop);
    put(a.other_fd, "a");
    put(b.other_fd, "b");
    a.then = b.then = close_the_victim;
    a.victim = &b;
    b.victim = &a;
    loop_turn(loop, LOOP_NEVER);
    assert_int_equal(a.calls + b.calls, 1);
    loop_turn(loop, LOOP_NEVER);
    assert_int_equal(a.calls + b.calls, 2);
    watch_close(&a);
    watch_close(&b);
    loop_destroy(loop);
}

/* Close, and watch a new pipe that gets the same descriptors. */
static void close_and_open_again(struct watch *w)
{
    int fd = w->fd;

    watch_close(w);
    watch_pipe(w->victim, w->loop);
    assert_int_equal(w->victim->fd, fd);
}

static void test_a_callback_may_destroy_and_reuse_its_descriptor(void **state)
{
    struct loop *loop;
    struct watch old, new;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    watch_pipe(&old, loop);
    put(old.other_fd, "a");
    old.then = close_and_open_again;
    old.victim = &new;
    loop_turn(loop, LOOP_NEVER);
    assert_int_equal(old.calls, 1);
    loop_turn(loop, 0);
    assert_int_equal(new.calls, 0);
    put(new.other_fd, "b");
    loop_turn(loop, LOOP_NEVER);
    assert_int_equal(old.calls, 1);
    assert_int_equal(new.calls, 1);
    watch_close(&new);
    loop_destroy(loop);
}

static void test_the_end_of_the_other_side_is_readable(void **state)
{
    struct watch pipe_end, socket_end;
    struct loop *loop;
    char byte;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    watch_pipe(&pipe_end, loop);
    watch_socket(&socket_end, loop);
    loop_poll_want(socket_end.poll, LOOP_READABLE);
    (void)close(pipe_end.other_fd);
    (void)close(socket_end.other_fd);
    TESTING_TURN_UNTIL(loop, pipe_end.calls > 0 && socket_end.calls > 0);
    assert_int_equal(pipe_end.events, LOOP_READABLE);
    assert_int_equal(socket_end.events, LOOP_READABLE);
    assert_int_equal(read(pipe_end.fd, &byte, 1), 0);
    assert_int_equal(read(socket_end.fd, &byte, 1), 0);
    pipe_end.other_fd = socket_end.other_fd = -1;
    watch_close(&pipe_end);
    watch_close(&socket_end);
    loop_destroy(loop);
}

static void test_an_error_counts_as_what_is_watched_for(void **state)
{
    struct loop *loop;
    struct watch w;
    int fds[2];

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    watch_open(&w, loop, fds[1], -1);
    (void)close(fds[0]);
    loop_poll_want(w.poll, LOOP_WRITABLE);
    for (int i = 1; i <= 3; i++) {
        loop_turn(loop, LOOP_NEVER);
        assert_int_equal(w.calls, i);
        assert_int_equal(w.events, LOOP_WRITABLE);
    }
    assert_int_equal(write(w.fd, "a", 1), -1);
    assert_int_equal(errno, EPIPE);
    w.then = want_no_more;
    loop_turn(loop, LOOP_NEVER);
    loop_turn(loop, 0);
    assert_int_equal(w.calls, 4);
    watch_close(&w);
    loop_destroy(loop);
}

static void test_what_cannot_be_watched_is_refused(void **state)
{
    struct loop_poll *poll = NULL;
    struct loop *loop;
    struct watch w;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_int_equal(loop_poll_create(loop, fd, watch_ready, NULL, &poll), ERR_IO);
    assert_int_equal(loop_poll_create(loop, 99999, watch_ready, NULL, &poll), ERR_IO);
    watch_pipe(&w, loop);
    assert_int_equal(loop_poll_create(loop, w.fd, watch_ready, NULL, &poll), ERR_INVALID);
    assert_null(poll);
    (void)close(fd);
    watch_close(&w);
    loop_poll_destroy(NULL);
    loop_destroy(loop);
}

struct caught {
    struct loop_signal *signal;
    int calls;
    int signum;
    bool destroy;
};

static void signal_caught(int signum, void *user)
{
    struct caught *c = user;

    c->calls++;
    c->signum = signum;
    if (c->destroy) {
        loop_signal_destroy(c->signal);
        c->signal = NULL;
    }
}

static void test_a_signal_is_caught_by_each_that_waits_for_it(void **state)
{
    struct caught a = {0}, b = {0}, other = {0};
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_int_equal(loop_signal_create(loop, SIGUSR1, signal_caught, &a, &a.signal), OK);
    assert_int_equal(loop_signal_create(loop, SIGUSR1, signal_caught, &b, &b.signal), OK);
    assert_int_equal(loop_signal_create(loop, SIGUSR2, signal_caught, &other, &other.signal), OK);
    assert_int_equal(raise(SIGUSR1), 0);
    TESTING_TURN_UNTIL(loop, a.calls == 1 && b.calls == 1);
    assert_int_equal(a.signum, SIGUSR1);
    b.destroy = true;
    assert_int_equal(raise(SIGUSR1), 0);
    TESTING_TURN_UNTIL(loop, a.calls == 2 && b.calls == 2);
    assert_int_equal(raise(SIGUSR1), 0);
    TESTING_TURN_UNTIL(loop, a.calls == 3);
    loop_turn(loop, 0);
    assert_int_equal(b.calls, 2);
    assert_int_equal(other.calls, 0);
    loop_signal_destroy(a.signal);
    loop_signal_destroy(other.signal);
    loop_signal_destroy(NULL);
    loop_destroy(loop);
}

static void test_a_destroyed_handler_misses_even_what_was_raised_before(void **state)
{
    struct caught a = {0}, b = {0};
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_int_equal(loop_signal_create(loop, SIGUSR1, signal_caught, &a, &a.signal), OK);
    assert_int_equal(loop_signal_create(loop, SIGUSR1, signal_caught, &b, &b.signal), OK);
    assert_int_equal(raise(SIGUSR1), 0);
    loop_signal_destroy(a.signal);
    TESTING_TURN_UNTIL(loop, b.calls == 1);
    loop_turn(loop, 0);
    assert_int_equal(a.calls, 0);
    assert_int_equal(raise(SIGUSR1), 0);
    loop_signal_destroy(b.signal);
    loop_destroy(loop);
    assert_int_equal(b.calls, 1);
}

static void test_a_signal_that_cannot_be_caught_is_refused(void **state)
{
    struct caught c = {0};
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_int_equal(loop_signal_create(loop, 0, signal_caught, &c, &c.signal), ERR_INVALID);
    assert_int_equal(loop_signal_create(loop, SIGKILL, signal_caught, &c, &c.signal), ERR_INVALID);
    assert_null(c.signal);
    loop_destroy(loop);
}

static void never_resolved(enum err rc, const struct addrinfo *list, void *user)
{
    (void)rc;
    (void)list;
    (void)user;
    fail();
}

static void test_a_manual_loop_has_no_outside_world(void **state)
{
    static const char *const argv[] = {"true", NULL};
    struct loop_child_config config = {.argv = argv, .stdout_fd = -1, .stderr_fd = -1};
    struct loop_resolve *resolve;
    struct loop_signal *signal;
    struct loop_child *child;
    struct loop_poll *poll;
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create_manual(0, &loop), OK);
    assert_int_equal(loop_poll_create(loop, 0, watch_ready, NULL, &poll), ERR_INVALID);
    assert_int_equal(loop_signal_create(loop, SIGUSR1, signal_caught, NULL, &signal), ERR_INVALID);
    assert_int_equal(loop_child_spawn(loop, &config, &child), ERR_INVALID);
    assert_int_equal(loop_resolve_start(loop, "localhost", "1", never_resolved, NULL, &resolve),
                     ERR_INVALID);
    loop_destroy(loop);
}

static void test_no_memory_is_reported(void **state)
{
    struct loop_signal *signal = NULL;
    struct loop_poll *poll = NULL;
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    mem_fail_at(1, 1);
    assert_int_equal(loop_poll_create(loop, 0, watch_ready, NULL, &poll), ERR_NOMEM);
    mem_fail_at(1, 1);
    assert_int_equal(loop_signal_create(loop, SIGUSR1, signal_caught, NULL, &signal), ERR_NOMEM);
    assert_null(poll);
    assert_null(signal);
    loop_turn(loop, 0);
    loop_destroy(loop);
}

static void test_a_loop_does_not_end_before_its_descriptors(void **state)
{
    struct loop *loop;
    struct watch w;
    int status = 0;
    pid_t child;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    watch_pipe(&w, loop);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(2);
        (void)alarm(60); /* Should it hang instead. */
        loop_destroy(loop);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    watch_close(&w);
    loop_destroy(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_readable_pipe_is_reported_until_it_is_read),
        cmocka_unit_test(test_only_what_is_wanted_is_reported),
        cmocka_unit_test(test_wanting_less_in_a_callback_counts_at_once),
        cmocka_unit_test(test_no_call_follows_when_another_callback_destroys),
        cmocka_unit_test(test_a_callback_may_destroy_and_reuse_its_descriptor),
        cmocka_unit_test(test_the_end_of_the_other_side_is_readable),
        cmocka_unit_test(test_an_error_counts_as_what_is_watched_for),
        cmocka_unit_test(test_what_cannot_be_watched_is_refused),
        cmocka_unit_test(test_a_signal_is_caught_by_each_that_waits_for_it),
        cmocka_unit_test(test_a_destroyed_handler_misses_even_what_was_raised_before),
        cmocka_unit_test(test_a_signal_that_cannot_be_caught_is_refused),
        cmocka_unit_test(test_a_manual_loop_has_no_outside_world),
        cmocka_unit_test(test_no_memory_is_reported),
        cmocka_unit_test(test_a_loop_does_not_end_before_its_descriptors),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
