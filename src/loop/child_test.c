/* Child processes: real ones, short-lived or killed. */

#include "base/mem.h"
#include "loop/child.h"
#include "loop/clock.h"
#include "loop/testing.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct ended {
    struct loop_child *child;
    int calls;
    int64_t status;
    int signum;
};

static void child_exited(struct loop_child *child, int64_t status, int signum, void *user)
{
    struct ended *e = user;

    assert_ptr_equal(child, e->child);
    e->calls++;
    e->status = status;
    e->signum = signum;
}

static void spawn(struct loop *loop, const char *const *argv, int out_fd, struct ended *e)
{
    struct loop_child_config config = {
        .argv = argv, .stdout_fd = out_fd, .stderr_fd = -1, .exited = child_exited, .user = e};

    *e = (struct ended){0};
    assert_int_equal(loop_child_spawn(loop, &config, &e->child), OK);
    assert_true(loop_child_pid(e->child) > 0);
}

static void spawn_shell(struct loop *loop, const char *script, int out_fd, struct ended *e)
{
    const char *const argv[] = {"sh", "-c", script, NULL};

    spawn(loop, argv, out_fd, e);
}

/* A child that stays until it is killed. */
static void spawn_patient(struct loop *loop, struct ended *e)
{
    static const char *const argv[] = {"sleep", "600", NULL};

    spawn(loop, argv, -1, e);
}

static void test_the_exit_status_is_reported(void **state)
{
    struct loop *loop;
    struct ended e;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    for (int status = 0; status < 256; status += 85) {
        char script[] = "exit 000";

        script[5] = (char)('0' + status / 100);
        script[6] = (char)('0' + status / 10 % 10);
        script[7] = (char)('0' + status % 10);
        spawn_shell(loop, script, -1, &e);
        assert_int_equal(e.calls, 0);
        TESTING_TURN_UNTIL(loop, e.calls == 1);
        assert_int_equal(e.status, status);
        assert_int_equal(e.signum, 0);
        loop_child_destroy(e.child);
    }
    loop_destroy(loop);
}

static void test_the_signal_that_ended_it_is_reported(void **state)
{
    struct loop *loop;
    struct ended e;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    spawn_shell(loop, "kill -TERM $$", -1, &e);
    TESTING_TURN_UNTIL(loop, e.calls == 1);
    assert_int_equal(e.status, 0);
    assert_int_equal(e.signum, SIGTERM);
    loop_child_destroy(e.child);
    loop_destroy(loop);
}

static void test_a_child_can_be_killed_once(void **state)
{
    struct loop *loop;
    struct ended e;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    spawn_patient(loop, &e);
    assert_int_equal(loop_child_signal(e.child, 0), OK);
    assert_int_equal(loop_child_signal(e.child, SIGKILL), OK);
    TESTING_TURN_UNTIL(loop, e.calls == 1);
    assert_int_equal(e.signum, SIGKILL);
    assert_int_equal(loop_child_signal(e.child, SIGKILL), ERR_NOT_FOUND);
    loop_child_destroy(e.child);
    loop_destroy(loop);
}

/* Read all that comes until the last writer is gone. */
static void read_all(int fd, char *out, size_t size)
{
    size_t used = 0;
    ssize_t n;

    while ((n = read(fd, out + used, size - used - 1)) > 0) {
        used += (size_t)n;
    }
    assert_int_equal(n, 0);
    out[used] = '\0';
}

static void test_standard_output_and_error_go_where_they_are_told(void **state)
{
    static const char *const argv[] = {"/bin/sh", "-c", "echo $WORD; echo error >&2; cat", NULL};
    static const char *const env[] = {"WORD=hello", "PATH=/usr/bin:/bin", NULL};
    struct loop_child_config config = {.argv = argv, .env = env, .exited = child_exited};
    struct ended e = {0};
    char said[64];
    struct loop *loop;
    int out[2], error[2];

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(error, O_CLOEXEC), 0);
    config.stdout_fd = out[1];
    config.stderr_fd = error[1];
    config.user = &e;
    assert_int_equal(loop_child_spawn(loop, &config, &e.child), OK);
    (void)close(out[1]);
    (void)close(error[1]);
    read_all(out[0], said, sizeof(said));
    assert_string_equal(said, "hello\n");
    read_all(error[0], said, sizeof(said));
    assert_string_equal(said, "error\n");
    TESTING_TURN_UNTIL(loop, e.calls == 1);
    assert_int_equal(e.status, 0);
    (void)close(out[0]);
    (void)close(error[0]);
    loop_child_destroy(e.child);
    loop_destroy(loop);
}

static void test_a_missing_program_is_not_found(void **state)
{
    static const char *const argv[] = {"strait-no-such-program", NULL};
    static const char *const folder[] = {"/", NULL};
    struct loop_child_config config = {
        .argv = argv, .stdout_fd = -1, .stderr_fd = -1, .exited = child_exited};
    struct loop_child *child = NULL;
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_int_equal(loop_child_spawn(loop, &config, &child), ERR_NOT_FOUND);
    config.argv = folder;
    assert_int_equal(loop_child_spawn(loop, &config, &child), ERR_IO);
    assert_null(child);
    loop_turn(loop, 0);
    loop_destroy(loop);
}

static void test_a_destroyed_child_runs_on_unwatched(void **state)
{
    struct ended e, after;
    struct loop *loop;
    int status = 0;
    int pid;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    spawn_patient(loop, &e);
    pid = loop_child_pid(e.child);
    loop_child_destroy(e.child);
    assert_int_equal(kill(pid, SIGKILL), 0);
    spawn_shell(loop, "exit 3", -1, &after);
    TESTING_TURN_UNTIL(loop, after.calls == 1);
    assert_int_equal(after.status, 3);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    loop_turn(loop, 0);
    assert_int_equal(e.calls, 0);
    loop_child_destroy(after.child);
    loop_child_destroy(NULL);
    loop_destroy(loop);
}

static void destroy_when_exited(struct loop_child *child, int64_t status, int signum, void *user)
{
    child_exited(child, status, signum, user);
    loop_child_destroy(child);
}

static void test_many_children_may_be_destroyed_as_they_exit(void **state)
{
    enum { CHILDREN = 20 };
    static const char *const argv[] = {"true", NULL};
    struct loop_child_config config = {
        .argv = argv, .stdout_fd = -1, .stderr_fd = -1, .exited = destroy_when_exited};
    struct ended children[CHILDREN] = {{0}};
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    for (int i = 0; i < CHILDREN; i++) {
        config.user = &children[i];
        assert_int_equal(loop_child_spawn(loop, &config, &children[i].child), OK);
    }
    for (int i = 0; i < CHILDREN; i++) {
        TESTING_TURN_UNTIL(loop, children[i].calls > 0);
    }
    loop_turn(loop, 0);
    for (int i = 0; i < CHILDREN; i++) {
        assert_int_equal(children[i].calls, 1);
        assert_int_equal(children[i].status, 0);
    }
    loop_destroy(loop);
}

static void test_no_memory_is_reported(void **state)
{
    static const char *const argv[] = {"true", NULL};
    struct loop_child_config config = {
        .argv = argv, .stdout_fd = -1, .stderr_fd = -1, .exited = child_exited};
    struct loop_child *child = NULL;
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    mem_fail_at(1, 1);
    assert_int_equal(loop_child_spawn(loop, &config, &child), ERR_NOMEM);
    assert_null(child);
    loop_destroy(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_exit_status_is_reported),
        cmocka_unit_test(test_the_signal_that_ended_it_is_reported),
        cmocka_unit_test(test_a_child_can_be_killed_once),
        cmocka_unit_test(test_standard_output_and_error_go_where_they_are_told),
        cmocka_unit_test(test_a_missing_program_is_not_found),
        cmocka_unit_test(test_a_destroyed_child_runs_on_unwatched),
        cmocka_unit_test(test_many_children_may_be_destroyed_as_they_exit),
        cmocka_unit_test(test_no_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
