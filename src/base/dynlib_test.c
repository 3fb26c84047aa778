/* Tests of libraries that are loaded when they are needed: the C library's own, and none. */

#include "base/dynlib.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static double (*cosine)(double);
static double (*other)(double);

static void test_a_function_of_a_loaded_library_can_be_called(void **state)
{
    const struct dynlib_function functions[] = {{"cos", &cosine}};
    struct err_text text = {""};

    (void)state;
    assert_int_equal(dynlib_load("libm.so.6", "a test", "libc6", functions, 1, &text), OK);
    assert_true(cosine(0) == 1);
}

static void test_a_library_that_is_missing_is_named_with_its_package(void **state)
{
    struct err_text text = {""};

    (void)state;
    assert_int_equal(dynlib_load("libnowhere.so.7", "the test", "nowhere7", NULL, 0, &text),
                     ERR_IO);
    assert_non_null(strstr(text.text, "the test"));
    assert_non_null(strstr(text.text, "libnowhere.so.7"));
    assert_non_null(strstr(text.text, "install nowhere7"));
}

static void test_nothing_is_set_if_a_function_is_missing(void **state)
{
    const struct dynlib_function functions[] = {{"cos", &other}, {"no_such_function", &other}};
    struct err_text text = {""};

    (void)state;
    assert_int_equal(dynlib_load("libm.so.6", "a test", "libc6", functions, 2, &text), ERR_IO);
    assert_non_null(strstr(text.text, "no_such_function"));
    assert_true(other == NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_function_of_a_loaded_library_can_be_called),
        cmocka_unit_test(test_a_library_that_is_missing_is_named_with_its_package),
        cmocka_unit_test(test_nothing_is_set_if_a_function_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
