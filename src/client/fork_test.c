/* The child of a fork: the parent's handles are of no use there, and nothing hangs. */

#include "client/testing_calls.h"

#include <sys/wait.h>
#include <unistd.h>

/* In the child: 0, or the number of the line that failed. No assertion, for that would go on with
 * the parent's tests. */
#define TRY(condition)                                                                             \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return __LINE__ % 250 + 1;                                                             \
        }                                                                                          \
    } while (0)

/* Run @child in a fork, and expect it to end well. */
static void in_child(int (*child)(const struct client_testing_site *t, strait *s, strait_op *op,
                                  int table),
                     const struct client_testing_site *t, strait *s, strait_op *op, int table)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        _exit(child(t, s, op, table));
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) != 0) {
        fail_msg("the child failed at a line that is %d modulo 250", WEXITSTATUS(status) - 1);
    }
}

static int child_uses(const struct client_testing_site *t, strait *s, strait_op *op, int table)
{
    struct strait_state info = {.size = sizeof(info)};
    struct strait_table about = {.size = sizeof(about)};
    char text[64];
    size_t size = 0;
    float floats[4] = {0};
    strait_op *more;

    (void)t;
    TRY(strait_join(s, -1, NULL) == STRAIT_E_FORKED);
    TRY(strstr(strait_last_error(s), "parent process") != NULL);
    TRY(strait_leave(s, -1) == STRAIT_E_FORKED);
    TRY(strait_clock(s, 1, -1, NULL) == STRAIT_E_FORKED);
    TRY(strait_clock_begin(s, 1, &more) == STRAIT_E_FORKED);
    TRY(strait_read(s, table, 0, 4, floats, -1) == STRAIT_E_FORKED);
    TRY(strait_read_rows(s, table, (int64_t[1]){0}, 1, floats, -1) == STRAIT_E_FORKED);
    TRY(strait_update(s, table, 0, 4, floats) == STRAIT_E_FORKED);
    TRY(strait_update_rows(s, table, (int64_t[1]){0}, 1, floats) == STRAIT_E_FORKED);
    TRY(strait_push_begin(s, table, 0, 4, floats, 1, &more) == STRAIT_E_FORKED);
    TRY(strait_pull_begin(s, table, 0, 4, floats, &more) == STRAIT_E_FORKED);
    TRY(strait_pull_rows_begin(s, table, (int64_t[1]){0}, 1, floats, &more) == STRAIT_E_FORKED);
    TRY(strait_exchange_begin(s, table, floats, 1, floats, &more) == STRAIT_E_FORKED);
    TRY(strait_wait(op, -1) == STRAIT_E_FORKED);
    TRY(strait_test(op) == STRAIT_E_FORKED);
    TRY(strait_op_value(op, NULL) == STRAIT_E_FORKED);
    TRY(strait_op_free(op) == STRAIT_E_FORKED);
    TRY(strait_save(s, -1, NULL) == STRAIT_E_FORKED);
    TRY(strait_table_save(s, table, "/dev/null", -1) == STRAIT_E_FORKED);
    TRY(strait_table_load(s, table, "/dev/null", -1) == STRAIT_E_FORKED);
    TRY(strait_table_create(s, "x", 1, 1, NULL, -1, NULL) == STRAIT_E_FORKED);
    TRY(strait_table_find(s, "w", -1, NULL) == STRAIT_E_FORKED);
    TRY(strait_table_info(s, table, &about) == STRAIT_E_FORKED);
    TRY(strait_info(s, &info) == STRAIT_E_FORKED);
    TRY(strait_why(s, text, sizeof(text)) == STRAIT_E_FORKED);
    TRY(strait_metrics_json(s, NULL, &size) == STRAIT_E_FORKED);
    strait_interrupt(s);
    TRY(strait_close(s) == STRAIT_OK);
    TRY(strait_close(s) == STRAIT_E_HANDLE);
    TRY(strait_join(s, -1, NULL) == STRAIT_E_HANDLE);
    TRY(strait_wait(op, -1) == STRAIT_E_HANDLE);
    return 0;
}

/* It has a handle of its own, in the place of the one it has closed, or beside it. */
static int child_works(const struct client_testing_site *t, strait *s, strait_op *op, int table)
{
    char options[TESTING_OPTIONS_BYTES];
    float floats[4] = {0};
    strait *own;

    (void)op;
    (void)table;
    (void)s;
    TRY(strait_open(testing_options(t, ", \"rank\": 5", options), &own) == STRAIT_OK);
    TRY(own != s);
    TRY(strait_join(own, T, NULL) == STRAIT_OK);
    TRY(strait_table_find(own, "w", T, &table) == STRAIT_OK);
    TRY(strait_read(own, table, 0, 4, floats, T) == STRAIT_OK);
    TRY(floats[3] == 4);
    TRY(strait_read(s, table, 0, 4, floats, T) == STRAIT_E_FORKED);
    TRY(strait_close(s) == STRAIT_OK);
    TRY(strait_leave(own, T) == STRAIT_OK);
    TRY(strait_close(own) == STRAIT_OK);
    return 0;
}

static int child_of_child(const struct client_testing_site *t, strait *s, strait_op *op, int table)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        _exit(child_uses(t, s, op, table));
    }
    TRY(pid > 0 && waitpid(pid, &status, 0) == pid);
    TRY(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return child_uses(t, s, op, table);
}

static void test_a_child_can_only_close(void **state)
{
    struct client_testing_site t = {0};
    float floats[4] = {1, 2, 3, 4}, out[4];
    strait_op *op;
    strait *s;
    int table;

    (void)state;
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", 1, 4);
    OKAY(strait_update(s, table, 0, 4, floats));
    OKAY(strait_clock(s, 1, T, NULL));
    OKAY(strait_pull_begin(s, table, 0, 4, out, &op));
    in_child(child_uses, &t, s, op, table);
    in_child(child_of_child, &t, s, op, table);
    in_child(child_works, &t, s, op, table);
    OKAY(strait_wait(op, T)); /* The parent has not noticed. */
    OKAY(strait_op_free(op));
    OKAY(strait_update(s, table, 0, 4, floats));
    OKAY(strait_clock(s, 1, T, NULL));
    OKAY(strait_read(s, table, 0, 4, out, T));
    assert_true(out[3] == 8);
    leave_worker(s);
    testing_site_stop(&t);
}

/* Forked while the parent's threads are inside: pins and locks come with the memory. */
static void test_forks_at_any_moment(void **state)
{
    struct client_testing_site t = {0};
    float out[4];
    strait_op *op;
    strait *s;
    int table;

    (void)state;
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", 1, 4);
    for (int i = 0; i < 30; i++) {
        OKAY(strait_pull_begin(s, table, 0, 4, out, &op)); /* The background thread has work. */
        in_child(child_uses, &t, s, op, table);
        OKAY(strait_wait(op, T));
        OKAY(strait_op_free(op));
    }
    leave_worker(s);
    testing_site_stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_child_can_only_close),
        cmocka_unit_test(test_forks_at_any_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
