/* Memory: zeroed, counted, and failing when a test wants it to. */

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_memory_comes_zeroed(void **state)
{
    static const char zeros[1000];
    char *p = mem_zalloc(sizeof(zeros));
    char *q = mem_calloc(10, 100);

    (void)state;
    assert_memory_equal(p, zeros, sizeof(zeros));
    assert_memory_equal(q, zeros, sizeof(zeros));
    mem_free(p);
    mem_free(q);
    mem_free(NULL);
}

static void test_a_product_that_overflows_is_no_memory(void **state)
{
    (void)state;
    assert_null(mem_calloc(SIZE_MAX / 2, 3));
    assert_null(mem_calloc(3, SIZE_MAX / 2));
}

static void test_strdup_copies(void **state)
{
    char original[] = "strait";
    char *copy = mem_strdup(original);

    (void)state;
    original[0] = 'x';
    assert_string_equal(copy, "strait");
    mem_free(copy);
}

static void test_what_is_held_is_counted(void **state)
{
    int64_t before = mem_bytes_held();
    char *p = mem_zalloc(1000), *q = mem_strdup("strait");

    (void)state;
    assert_in_range(mem_bytes_held() - before, 1007, 1200);
    mem_free(p);
    assert_in_range(mem_bytes_held() - before, 7, 100);
    mem_fail_at(1, 1);
    assert_null(mem_zalloc(1000));
    assert_in_range(mem_bytes_held() - before, 7, 100);
    mem_free(q);
    mem_free(NULL);
    assert_int_equal(mem_bytes_held(), before);
}

static void test_only_the_kth_allocation_fails(void **state)
{
    uint64_t failures = mem_failures();
    uint64_t allocations = mem_allocations();

    (void)state;
    mem_fail_at(3, 1);
    for (int i = 1; i <= 5; i++) {
        void *p = i % 2 == 0 ? mem_zalloc(8) : mem_strdup("x");

        assert_int_equal(p == NULL, i == 3);
        mem_free(p);
    }
    assert_int_equal(mem_failures() - failures, 1);
    assert_int_equal(mem_allocations() - allocations, 5);
}

static void test_several_failures_in_a_row(void **state)
{
    (void)state;
    mem_fail_at(2, 3);
    for (int i = 1; i <= 6; i++) {
        void *p = mem_zalloc(8);

        assert_int_equal(p == NULL, i >= 2 && i <= 4);
        mem_free(p);
    }
}

static void test_zero_calls_the_failure_off(void **state)
{
    void *p;

    (void)state;
    mem_fail_at(1, 1);
    mem_fail_at(0, 0);
    p = mem_zalloc(8);
    assert_non_null(p);
    mem_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_comes_zeroed),
        cmocka_unit_test(test_a_product_that_overflows_is_no_memory),
        cmocka_unit_test(test_strdup_copies),
        cmocka_unit_test(test_what_is_held_is_counted),
        cmocka_unit_test(test_only_the_kth_allocation_fails),
        cmocka_unit_test(test_several_failures_in_a_row),
        cmocka_unit_test(test_zero_calls_the_failure_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
