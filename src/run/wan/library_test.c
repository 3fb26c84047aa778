/* Significance functions out of libraries. */

#include "base/mem.h"
#include "run/wan/library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct codec_filter named(const char *name)
{
    struct codec_filter filter = {.measure = CODEC_CUSTOM};

    (void)snprintf(filter.name, sizeof(filter.name), "%s", name);
    return filter;
}

static void test_a_function_of_a_library_is_called_with_what_it_judges(void **state)
{
    struct codec_filter filter = named("mixed");
    const float values[] = {1, 2, 3, 4}, held[] = {5, 6, 7, 8};
    struct run_library *library = NULL;
    struct err_text text = {""};
    float out[4];

    (void)state;
    assert_int_equal(run_library_open(TESTING_SIGNIFICANCE, &filter, &library, &text), OK);
    filter.custom(values, held, 4, 2, out, filter.user);
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(out[i] == values[i] + held[i] * 10 + 200);
    }
    run_library_close(library);
    run_library_close(NULL);
}

static void test_what_is_wrong_with_a_library_is_said(void **state)
{
    static const struct {
        const char *path, *name, *text;
        enum err rc;
    } rows[] = {
        {"/nowhere/libmine.so", "mixed",
         "significance 'mixed': /nowhere/libmine.so: cannot open shared object file: No such file "
         "or directory",
         ERR_NOT_FOUND},
        {"libm.so.6", "mixed",
         "significance 'mixed': libm.so.6 is not made for version 1 of significance functions: "
         "write STRAIT_SIGNIFICANCE_LIBRARY in it once, and build it with this Strait's strait.h",
         ERR_INVALID},
        {TESTING_SIGNIFICANCE, "other",
         "significance 'other': " TESTING_SIGNIFICANCE
         " has no function strait_significance_other: write STRAIT_SIGNIFICANCE(other) in it",
         ERR_NOT_FOUND},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct codec_filter filter = named(rows[i].name);
        struct run_library *library = NULL;
        struct err_text text = {""};

        assert_int_equal(run_library_open(rows[i].path, &filter, &library, &text), rows[i].rc);
        assert_string_equal(text.text, rows[i].text);
        assert_null(library);
        assert_null(filter.custom);
    }
}

static void test_without_memory_nothing_is_loaded(void **state)
{
    struct codec_filter filter = named("mixed");
    struct run_library *library = NULL;
    struct err_text text = {""};

    (void)state;
    mem_fail_at(1, 1);
    assert_int_equal(run_library_open(TESTING_SIGNIFICANCE, &filter, &library, &text), ERR_NOMEM);
    mem_fail_at(0, 0);
    assert_null(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_function_of_a_library_is_called_with_what_it_judges),
        cmocka_unit_test(test_what_is_wrong_with_a_library_is_said),
        cmocka_unit_test(test_without_memory_nothing_is_loaded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
