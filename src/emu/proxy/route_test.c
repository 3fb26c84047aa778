/* Routes, one by one and from files. */

#include "emu/proxy/route.h"

#include "base/mem.h"
#include "emu/proxy/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_a_route_has_two_addresses_and_a_way(void **state)
{
    struct emu_routes r = {0};

    (void)state;
    assert_int_equal(emu_routes_add(&r, "127.0.0.1:0=10.0.0.1:7400", NULL), OK);
    assert_int_equal(emu_routes_add(&r, "there:localhost:80=[::1]:81", NULL), OK);
    assert_int_equal(emu_routes_add(&r, "back:[::1]:0=example.org:443", NULL), OK);
    assert_int_equal(r.count, 3);
    assert_int_equal(r.list[0].way, EMU_THERE);
    assert_int_equal(r.list[0].listen.scheme, NET_SCHEME_TCP);
    assert_string_equal(r.list[0].listen.port, "0");
    assert_string_equal(r.list[0].target.host, "10.0.0.1");
    assert_int_equal(r.list[1].way, EMU_THERE);
    assert_string_equal(r.list[1].target.host, "::1");
    assert_int_equal(r.list[2].way, EMU_BACK);
    assert_string_equal(r.list[2].target.port, "443");
    emu_routes_deinit(&r);
}

static void test_what_is_no_route_is_refused_with_a_reason(void **state)
{
    static const char *const wrong[] = {"",
                                        "127.0.0.1:80",
                                        "=",
                                        "a=b",
                                        "127.0.0.1:0=127.0.0.1:0",
                                        "127.0.0.1:0=127.0.0.1:000",
                                        ":1=:2",
                                        "there:80=127.0.0.1:90",
                                        "127.0.0.1:99999=127.0.0.1:1",
                                        "h:1=h:",
                                        "unix:/tmp/x=127.0.0.1:1"};
    struct emu_routes r = {0};
    char much[2000];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct err_text text = {""};

        if (emu_routes_add(&r, wrong[i], &text) != ERR_MALFORMED) {
            fail_msg("'%s' is a route", wrong[i]);
        }
        assert_true(text.text[0] != '\0');
    }
    memset(much, 'a', sizeof(much));
    memcpy(much + sizeof(much) - 8, ":1=b:1", 7);
    assert_int_equal(emu_routes_add(&r, much, NULL), ERR_MALFORMED);
    assert_int_equal(r.count, 0);
    emu_routes_deinit(&r);
}

static void test_a_file_has_one_route_a_line(void **state)
{
    const char *file = "# links\n"
                       "127.0.0.1:1=127.0.0.1:2 # the first\n"
                       "\n"
                       " \tback:127.0.0.1:3=127.0.0.1:4\r\n"
                       "127.0.0.1:5=127.0.0.1:6";
    struct emu_routes r = {0};

    (void)state;
    assert_int_equal(emu_routes_add_lines(&r, "f", file, strlen(file), NULL), OK);
    assert_int_equal(r.count, 3);
    assert_int_equal(r.list[1].way, EMU_BACK);
    assert_string_equal(r.list[2].target.port, "6");
    emu_routes_deinit(&r);
}

static void test_a_mistake_in_a_file_is_found(void **state)
{
    const char *file = "127.0.0.1:1=127.0.0.1:2\nnonsense\n";
    struct err_text text = {""};
    struct emu_routes r = {0};

    (void)state;
    assert_int_equal(emu_routes_add_lines(&r, "links", file, strlen(file), &text), ERR_MALFORMED);
    assert_non_null(strstr(text.text, "links:2: "));
    assert_int_equal(emu_routes_add_lines(&r, "links", "a\0b", 3, &text), ERR_MALFORMED);
    assert_non_null(strstr(text.text, "links:1: "));
    emu_routes_deinit(&r);
}

static void test_there_are_not_more_than_the_limit(void **state)
{
    struct err_text text = {""};
    struct emu_routes r = {0};

    (void)state;
    for (int i = 0; i < EMU_ROUTES_MAX; i++) {
        assert_int_equal(emu_routes_add(&r, "127.0.0.1:0=127.0.0.1:1", NULL), OK);
    }
    assert_int_equal(emu_routes_add(&r, "127.0.0.1:0=127.0.0.1:1", &text), ERR_TOO_BIG);
    assert_non_null(strstr(text.text, "4096"));
    emu_routes_deinit(&r);
}

static void test_without_memory_there_is_no_route_more(void **state)
{
    struct emu_routes r = {0};

    (void)state;
    mem_fail_at(1, 1);
    assert_int_equal(emu_routes_add(&r, "127.0.0.1:0=127.0.0.1:1", NULL), ERR_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(r.count, 0);
    emu_routes_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_route_has_two_addresses_and_a_way),
        cmocka_unit_test(test_what_is_no_route_is_refused_with_a_reason),
        cmocka_unit_test(test_a_file_has_one_route_a_line),
        cmocka_unit_test(test_a_mistake_in_a_file_is_found),
        cmocka_unit_test(test_there_are_not_more_than_the_limit),
        cmocka_unit_test(test_without_memory_there_is_no_route_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
