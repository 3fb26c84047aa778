/* Bytes that grow: content against a plain array, and the limit. */

#include "store/grow.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_what_was_added_is_there_up_to_the_limit(void **state)
{
    static uint8_t want[20000];
    struct grow g = {0};
    size_t size = 0;
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (size_t i = 0; i < sizeof(want); i++) {
        want[i] = (uint8_t)rng_next(&rng);
    }
    while (size < sizeof(want)) {
        size_t more = (size_t)rng_below(&rng, 600);
        enum err rc = grow_add(&g, want + size, more, sizeof(want));

        if (more > sizeof(want) - size) {
            assert_int_equal(rc, ERR_FULL);
            more = sizeof(want) - size;
            rc = grow_add(&g, want + size, more, sizeof(want));
        }
        assert_int_equal(rc, OK);
        size += more;
        assert_int_equal(g.size, size);
        assert_true(size == 0 || memcmp(g.bytes, want, size) == 0);
    }
    assert_int_equal(grow_add(&g, want, 1, sizeof(want)), ERR_FULL);
    assert_int_equal(grow_add(&g, NULL, 0, sizeof(want)), OK);
    assert_int_equal(grow_add(&g, want, 1, 10), ERR_FULL);
    grow_deinit(&g);
    assert_null(g.bytes);
    assert_int_equal(grow_add(&g, NULL, 0, 0), OK);
    assert_int_equal(grow_add(&g, want, 1, 0), ERR_FULL);
    assert_null(g.bytes);
}

static void test_no_memory_leaves_what_was_there(void **state)
{
    struct grow g = {0};

    (void)state;
    mem_fail_at(1, 1);
    assert_int_equal(grow_add(&g, "abc", 3, 1000), ERR_NOMEM);
    assert_int_equal(grow_add(&g, "abc", 3, 1000), OK);
    mem_fail_at(1, 1);
    assert_int_equal(grow_add(&g, (uint8_t[500]){0}, 500, 1000), ERR_NOMEM);
    assert_int_equal(g.size, 3);
    assert_memory_equal(g.bytes, "abc", 3);
    grow_deinit(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_added_is_there_up_to_the_limit),
        cmocka_unit_test(test_no_memory_leaves_what_was_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
