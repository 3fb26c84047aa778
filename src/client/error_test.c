/* Codes and sentences. */

#include "client/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Stands for a handle. */
static const void *handle_of(uintptr_t number)
{
    return (const void *)(number * 16);
}

static const char *last(uintptr_t number)
{
    return strait_last_error((const strait *)handle_of(number));
}

static void test_every_error_of_ours_has_a_code(void **state)
{
    static const struct {
        enum err rc;
        int code;
    } pairs[] = {
        {OK, STRAIT_OK},
        {ERR_AGAIN, STRAIT_E_NO_MEMORY},
        {ERR_INVALID, STRAIT_E_INVALID},
        {ERR_MALFORMED, STRAIT_E_PROTOCOL},
        {ERR_TOO_BIG, STRAIT_E_TOO_BIG},
        {ERR_NOT_FOUND, STRAIT_E_NOT_FOUND},
        {ERR_EXISTS, STRAIT_E_EXISTS},
        {ERR_CANCELLED, STRAIT_E_CANCELLED},
        {ERR_CLOSED, STRAIT_E_PROTOCOL},
        {ERR_TIMEOUT, STRAIT_E_TIMEOUT},
        {ERR_TLS, STRAIT_E_CERT},
        {ERR_UNREACHABLE, STRAIT_E_PROTOCOL},
        {ERR_CORRUPT, STRAIT_E_PROTOCOL},
        {ERR_PEER, STRAIT_E_PROTOCOL},
        {ERR_REFUSED, STRAIT_E_REFUSED},
        {ERR_VERSION, STRAIT_E_PROTOCOL},
        {ERR_NOMEM, STRAIT_E_NO_MEMORY},
        {ERR_IO, STRAIT_E_SYSTEM},
        {ERR_FULL, STRAIT_E_SYSTEM},
        {(enum err) - 999, STRAIT_E_PROTOCOL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        assert_int_equal(client_error_code(pairs[i].rc), pairs[i].code);
        assert_int_equal(strncmp(strait_error_name(pairs[i].code), "STRAIT_", 7), 0);
    }
    assert_string_equal(strait_error_name(1), "an unknown code");
}

static void test_the_last_sentence_of_a_handle_is_kept(void **state)
{
    (void)state;
    assert_string_equal(strait_last_error(NULL), "");
    assert_int_equal(client_error(handle_of(1), STRAIT_E_BUSY, "one %d", 1), STRAIT_E_BUSY);
    assert_int_equal(client_error_pass(handle_of(2), ERR_NOMEM, NULL), STRAIT_E_NO_MEMORY);
    assert_string_equal(last(1), "one 1");
    assert_string_equal(last(2), err_string(ERR_NOMEM));
    assert_string_equal(last(3), "");
    assert_string_equal(strait_last_error(NULL), err_string(ERR_NOMEM));
    assert_int_equal(client_error_pass(handle_of(1), OK, "not looked at"), STRAIT_OK);
    assert_string_equal(last(1), "one 1");
    (void)client_error(handle_of(1), STRAIT_E_BUSY, "%s again", last(1)); /* Of itself. */
    assert_string_equal(last(1), "one 1 again");
    assert_string_equal(strait_last_error(NULL), "one 1 again");
}

static void test_of_many_handles_the_latest_are_kept(void **state)
{
    char long_text[2 * ERR_TEXT_BYTES];

    (void)state;
    for (uintptr_t i = 10; i < 30; i++) {
        (void)client_error(handle_of(i), STRAIT_E_BUSY, "number %zu", (size_t)i);
        (void)client_error(handle_of(10), STRAIT_E_BUSY, "number 10");
    }
    assert_string_equal(last(10), "number 10");
    assert_string_equal(last(29), "number 29");
    assert_string_equal(last(11), "");
    memset(long_text, 'x', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    (void)client_error(handle_of(1), STRAIT_E_BUSY, "%s", long_text);
    assert_int_equal(strlen(last(1)), ERR_TEXT_BYTES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_error_of_ours_has_a_code),
        cmocka_unit_test(test_the_last_sentence_of_a_handle_is_kept),
        cmocka_unit_test(test_of_many_handles_the_latest_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
