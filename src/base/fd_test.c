/* Whole reads and writes: over a pipe that holds less than is sent, with signals in between. */

#include "base/fd.h"

#include "base/rng.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 1 << 20, PIECE = 3000 }; /* A pipe holds 64 KiB. */

static uint8_t sent[BYTES];
static uint8_t got[BYTES + PIECE];

static void on_signal(int number)
{
    (void)number;
}

/* Calls that block are interrupted, not restarted. */
static void let_signals_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

/* In the child, which has no test to fail. */
#define TRY(expr) ((expr) ? (void)0 : _exit(1))

/* A pipe with a child at the other end, which interrupts us after each piece. */
static pid_t start(int ends[2], void (*child)(const int ends[2]))
{
    struct rng rng;
    pid_t pid;

    rng_init(&rng, 5);
    for (size_t i = 0; i < BYTES; i++) {
        sent[i] = (uint8_t)rng_next(&rng);
    }
    memset(got, 0, sizeof(got));
    let_signals_interrupt();
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        child(ends);
        _exit(0);
    }
    return pid;
}

static void ended_well(pid_t pid)
{
    int status = 0;
    pid_t ended;

    do {
        ended = waitpid(pid, &status, 0);
    } while (ended < 0 && errno == EINTR);
    assert_int_equal(ended, pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void child_sends(const int ends[2])
{
    for (size_t at = 0; at < BYTES; at += PIECE) {
        size_t size = BYTES - at < PIECE ? BYTES - at : PIECE;

        TRY(write(ends[1], sent + at, size) == (ssize_t)size);
        TRY(kill(getppid(), SIGUSR1) == 0);
    }
}

static void test_what_comes_in_pieces_is_read_whole(void **state)
{
    int ends[2];
    pid_t pid = start(ends, child_sends);

    (void)state;
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(fd_read_all(ends[0], got, 10), 10);
    assert_int_equal(fd_read_all(ends[0], got + 10, BYTES - 9), BYTES - 10); /* And the end. */
    assert_memory_equal(got, sent, BYTES);
    assert_int_equal(fd_read_all(ends[0], got, 1), 0);
    assert_int_equal(close(ends[0]), 0);
    ended_well(pid);
}

static void child_receives(const int ends[2])
{
    size_t done = 0;
    ssize_t n;

    TRY(close(ends[1]) == 0);
    while ((n = read(ends[0], got + done, PIECE)) > 0) {
        done += (size_t)n;
        TRY(done <= BYTES && kill(getppid(), SIGUSR1) == 0);
    }
    TRY(done == BYTES && memcmp(got, sent, BYTES) == 0);
}

static void test_what_goes_in_pieces_is_written_whole(void **state)
{
    int ends[2];
    pid_t pid = start(ends, child_receives);

    (void)state;
    assert_int_equal(close(ends[0]), 0);
    assert_true(fd_write_all(ends[1], sent, BYTES));
    assert_true(fd_write_all(ends[1], NULL, 0));
    assert_int_equal(close(ends[1]), 0);
    ended_well(pid);
}

static void test_errors_of_the_system_are_passed_on(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fd_read_all(ends[1], got, 1), -1);
    assert_int_equal(errno, EBADF);
    assert_false(fd_write_all(ends[0], sent, 1));
    assert_int_equal(errno, EBADF);
    assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    assert_int_equal(close(ends[0]), 0);
    assert_false(fd_write_all(ends[1], sent, 1));
    assert_int_equal(errno, EPIPE);
    assert_int_equal(close(ends[1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_comes_in_pieces_is_read_whole),
        cmocka_unit_test(test_what_goes_in_pieces_is_written_whole),
        cmocka_unit_test(test_errors_of_the_system_are_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
