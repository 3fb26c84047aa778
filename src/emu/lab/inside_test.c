/* Tests of finding processes inside namespaces, as far as that goes without any. */

#include "emu/lab/inside.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_a_mark_is_a_whole_variable(void **state)
{
    static const char environment[] = "PATH=/bin\0STRAIT_LAB=one\0XSTRAIT_LAB=two\0A=";
    size_t size = sizeof(environment); /* With the last end. */

    (void)state;
    assert_true(lab_inside_marked(environment, size, "STRAIT_LAB=one"));
    assert_true(lab_inside_marked(environment, size, "PATH=/bin"));
    assert_true(lab_inside_marked(environment, size, "A="));
    assert_false(lab_inside_marked(environment, size, "STRAIT_LAB=on"));
    assert_false(lab_inside_marked(environment, size, "STRAIT_LAB=one1"));
    assert_false(lab_inside_marked(environment, size, "STRAIT_LAB=two"));
    assert_false(lab_inside_marked(environment, size, ""));
    assert_false(lab_inside_marked("", 0, "A"));
    assert_false(lab_inside_marked("A=1", 3, "A=1")); /* Cut off: it may go on. */
}

static void test_nobody_is_in_a_namespace_that_is_not_there(void **state)
{
    const uint64_t numbers[] = {0, 1};
    const struct lab_inside inside = {.numbers = numbers, .count = 2};
    uint32_t left = 9;
    pid_t pids[4];

    (void)state;
    assert_int_equal(lab_inside_find(&inside, pids, 4), 0);
    assert_int_equal(lab_inside_end(&inside, 1, &left), 0);
    assert_int_equal(left, 0);
}

static void test_a_mark_counts_only_in_other_namespaces(void **state)
{
    const struct lab_inside inside = {.mark = "STRAIT_LAB=of-no-lab"};
    int hold[2];
    pid_t pids[4], child;

    (void)state;
    assert_int_equal(pipe(hold), 0);
    child = fork();
    if (child == 0) {
        char *const argv[] = {"/bin/cat", NULL};
        char *const env[] = {"STRAIT_LAB=of-no-lab", NULL};

        (void)dup2(hold[0], STDIN_FILENO);
        (void)close(hold[0]);
        (void)close(hold[1]);
        (void)execve(argv[0], argv, env);
        _exit(1);
    }
    (void)close(hold[0]);
    assert_int_equal(lab_inside_find(&inside, pids, 4), 0); /* It is where we are. */
    (void)close(hold[1]);
    assert_true(waitpid(child, NULL, 0) == child);
}

static void test_the_number_is_that_of_the_namespace(void **state)
{
    int ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_true(ns >= 0);
    assert_true(lab_inside_number(ns) > 0);
    (void)close(ns);
    assert_true(lab_inside_number(-1) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mark_is_a_whole_variable),
        cmocka_unit_test(test_nobody_is_in_a_namespace_that_is_not_there),
        cmocka_unit_test(test_a_mark_counts_only_in_other_namespaces),
        cmocka_unit_test(test_the_number_is_that_of_the_namespace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
