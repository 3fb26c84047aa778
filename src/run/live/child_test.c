/* Children that speak lines of JSON and take orders: shells that do as they are told here. */

#include "run/live/child.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct seen {
    struct loop *loop;
    struct run_child child;
    char log[64];
    uint32_t lines;
    char last[128]; /* "word" of the last line. */
    size_t last_size;
    bool ended;
    int64_t status;
    int signum;
};

static void said(struct run_child *c, const json_t *news, void *user)
{
    struct seen *s = user;
    const char *word = json_string_value(json_object_get(news, "word"));

    (void)c;
    s->lines++;
    if (word != NULL) {
        s->last_size = strlen(word);
        (void)snprintf(s->last, sizeof(s->last), "%s", word);
    }
}

static void ended(struct run_child *c, int64_t status, int signum, void *user)
{
    struct seen *s = user;

    (void)c;
    s->ended = true;
    s->status = status;
    s->signum = signum;
    loop_stop(s->loop);
}

static const struct run_child_events events = {.said = said, .ended = ended};

static void seen_open(struct seen *s)
{
    int fd;

    memset(s, 0, sizeof(*s));
    (void)snprintf(s->log, sizeof(s->log), "/tmp/strait-child-XXXXXX");
    fd = mkstemp(s->log);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(loop_create(&s->loop), OK);
    assert_int_equal(run_child_init(&s->child, s->loop, s->log, &events, s), OK);
}

static void seen_start(struct seen *s, const char *script, bool orders)
{
    const char *argv[] = {"sh", "-c", script, NULL};

    assert_int_equal(run_child_start(&s->child, argv, orders), OK);
    assert_true(run_child_runs(&s->child));
}

static void seen_wait(struct seen *s)
{
    while (!s->ended) {
        loop_run(s->loop);
    }
    assert_false(run_child_runs(&s->child));
}

static void seen_close(struct seen *s)
{
    run_child_release(&s->child);
    loop_destroy(s->loop);
    assert_int_equal(unlink(s->log), 0);
}

static void test_objects_are_heard_and_all_else_is_not(void **state)
{
    struct seen s;

    (void)state;
    seen_open(&s);
    seen_start(&s,
               "echo no; echo '[1]'; echo '{\"word\":\"a\"}'; printf '{\"word\":'; "
               "echo '\"b\"}'; printf '{\"word\":\"torn'; exit 3",
               false);
    seen_wait(&s);
    assert_int_equal(s.lines, 2);
    assert_string_equal(s.last, "b");
    assert_int_equal(s.status, 3);
    seen_close(&s);
}

static void test_orders_are_taken_in_their_order_also_when_there_are_many(void **state)
{
    static char order[4096];
    struct seen s;

    (void)state;
    seen_open(&s);
    /* It looks at them when they have all been given: a pipe does not hold so many. */
    seen_start(&s,
               "n=0; while read -r line; do n=$((n + ${#line})); done; "
               "echo \"{\\\"word\\\":\\\"$n\\\"}\"",
               true);
    memset(order, 'x', sizeof(order) - 1);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(run_child_tell(&s.child, order), OK);
    }
    run_child_hush(&s.child);
    seen_wait(&s);
    assert_string_equal(s.last, "409500");
    assert_int_equal(run_child_tell(&s.child, "too late"), OK);
    seen_close(&s);
}

static void test_a_line_that_is_too_long_is_left_out(void **state)
{
    struct seen s;

    (void)state;
    seen_open(&s);
    seen_start(&s,
               "printf '{\"word\":\"'; head -c 300000 /dev/zero | tr '\\0' x; echo '\"}'; "
               "echo '{\"word\":\"short\"}'",
               false);
    seen_wait(&s);
    assert_int_equal(s.lines, 1);
    assert_string_equal(s.last, "short");
    seen_close(&s);
}

static void test_signals_reach_it_and_it_may_be_started_again(void **state)
{
    struct seen s;

    (void)state;
    seen_open(&s);
    seen_start(&s, "exec tail -f /dev/null", false);
    run_child_signal(&s.child, SIGKILL);
    seen_wait(&s);
    assert_int_equal(s.signum, SIGKILL);
    run_child_signal(&s.child, SIGKILL); /* It does not run: nothing happens. */
    s.ended = false;
    seen_start(&s, "echo 'error: first' >&2; echo '  try: strait help' >&2; exit 1", false);
    seen_wait(&s);
    run_child_last_words(&s.child, s.last, sizeof(s.last));
    assert_string_equal(s.last, "error: first");
    seen_close(&s);
}

static void test_one_that_is_released_is_gone(void **state)
{
    struct seen s;

    (void)state;
    seen_open(&s);
    seen_start(&s, "exec tail -f /dev/null", true);
    seen_close(&s);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    assert_int_equal(errno, ECHILD);
}

static void test_what_cannot_be_started_is_told(void **state)
{
    const char *argv[] = {"/no/such/program", NULL};
    char path[RUN_CHILD_PATH_BYTES + 1];
    struct seen s;

    (void)state;
    seen_open(&s);
    assert_int_not_equal(run_child_start(&s.child, argv, true), OK);
    assert_false(run_child_runs(&s.child));
    seen_close(&s);
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(loop_create(&s.loop), OK);
    assert_int_equal(run_child_init(&s.child, s.loop, path, &events, &s), ERR_TOO_BIG);
    run_child_release(&s.child);
    loop_destroy(s.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_are_heard_and_all_else_is_not),
        cmocka_unit_test(test_orders_are_taken_in_their_order_also_when_there_are_many),
        cmocka_unit_test(test_a_line_that_is_too_long_is_left_out),
        cmocka_unit_test(test_signals_reach_it_and_it_may_be_started_again),
        cmocka_unit_test(test_one_that_is_released_is_gone),
        cmocka_unit_test(test_what_cannot_be_started_is_told),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
