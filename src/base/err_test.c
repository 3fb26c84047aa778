/* Error codes: each has a scope and a description of its own. */

#include "base/err.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
    enum err rc;
    enum err_scope scope;
} codes[] = {
    {OK, ERR_SCOPE_NONE},          {ERR_AGAIN, ERR_SCOPE_NONE},
    {ERR_INVALID, ERR_SCOPE_CALL}, {ERR_MALFORMED, ERR_SCOPE_CALL},
    {ERR_TOO_BIG, ERR_SCOPE_CALL}, {ERR_NOT_FOUND, ERR_SCOPE_CALL},
    {ERR_EXISTS, ERR_SCOPE_CALL},  {ERR_CANCELLED, ERR_SCOPE_CALL},
    {ERR_CLOSED, ERR_SCOPE_CONN},  {ERR_TIMEOUT, ERR_SCOPE_CONN},
    {ERR_TLS, ERR_SCOPE_CONN},     {ERR_UNREACHABLE, ERR_SCOPE_CONN},
    {ERR_CORRUPT, ERR_SCOPE_CONN}, {ERR_PEER, ERR_SCOPE_PEER},
    {ERR_REFUSED, ERR_SCOPE_PEER}, {ERR_VERSION, ERR_SCOPE_PEER},
    {ERR_NOMEM, ERR_SCOPE_NODE},   {ERR_IO, ERR_SCOPE_NODE},
    {ERR_FULL, ERR_SCOPE_NODE},
};

enum { CODES = sizeof(codes) / sizeof(codes[0]) };

static void test_each_code_breaks_what_its_group_says(void **state)
{
    (void)state;
    for (int i = 0; i < CODES; i++) {
        assert_int_equal(err_scope(codes[i].rc), codes[i].scope);
    }
}

static void test_each_code_has_a_description_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < CODES; i++) {
        const char *text = err_string(codes[i].rc);

        assert_string_not_equal(text, "unknown error");
        assert_true(text[strlen(text) - 1] != '.');
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(text, err_string(codes[k].rc));
        }
    }
    assert_string_equal(err_string((enum err) - 999), "unknown error");
}

static void test_a_text_is_set_and_the_code_comes_back(void **state)
{
    struct err_text text;

    (void)state;
    assert_int_equal(err_text_set(&text, ERR_INVALID, "line %d: no such site", 7), ERR_INVALID);
    assert_string_equal(text.text, "line 7: no such site");
    assert_int_equal(err_text_set(NULL, ERR_IO, "nobody listens"), ERR_IO);
}

static void test_a_long_text_is_cut(void **state)
{
    struct err_text text;

    (void)state;
    assert_int_equal(err_text_set(&text, ERR_IO, "%01000d", 1), ERR_IO);
    assert_int_equal(strlen(text.text), ERR_TEXT_BYTES - 1);
}

static void test_a_failed_check_stops_the_process(void **state)
{
    int status = 0;
    pid_t child;

    (void)state;
    CHECK(1 + 1 == 2);
    child = fork();
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        CHECK(1 + 1 == 3);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_code_breaks_what_its_group_says),
        cmocka_unit_test(test_each_code_has_a_description_of_its_own),
        cmocka_unit_test(test_a_text_is_set_and_the_code_comes_back),
        cmocka_unit_test(test_a_long_text_is_cut),
        cmocka_unit_test(test_a_failed_check_stops_the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
