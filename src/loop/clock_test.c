/* Clocks: they go on, and not back. */

#include "loop/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { READS = 100000 };

static void test_monotonic_time_never_goes_back(void **state)
{
    int64_t first_ns = clock_mono_ns();
    int64_t last_ns = first_ns;

    (void)state;
    for (int i = 0; i < READS; i++) {
        int64_t now_ns = clock_mono_ns();

        assert_true(now_ns >= last_ns);
        last_ns = now_ns;
    }
    assert_true(last_ns > first_ns);
}

static void test_work_uses_processor_time(void **state)
{
    int64_t first_ns = clock_cpu_ns();
    int64_t last_ns = first_ns;

    (void)state;
    for (int i = 0; i < READS; i++) {
        int64_t now_ns = clock_cpu_ns();

        assert_true(now_ns >= last_ns);
        last_ns = now_ns;
    }
    assert_true(last_ns > first_ns);
}

static void test_the_wall_clock_counts_microseconds_since_1970(void **state)
{
    (void)state;
    assert_true(clock_wall_us() > INT64_C(1700000000000000)); /* 2023 */
    assert_true(clock_wall_us() < INT64_C(7000000000000000)); /* 2191 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_monotonic_time_never_goes_back),
        cmocka_unit_test(test_work_uses_processor_time),
        cmocka_unit_test(test_the_wall_clock_counts_microseconds_since_1970),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
