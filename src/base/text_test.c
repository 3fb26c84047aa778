/* Growing text: limits, and escapes that hold whatever comes in. */

#include "base/mem.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_a_text_grows(void **state)
{
    struct text t;

    (void)state;
    assert_int_equal(text_init(&t, 100000), OK);
    assert_string_equal(t.chars, "");
    for (int i = 0; i < 5000; i++) {
        text_addf(&t, "%04d,", i);
    }
    assert_false(t.failed);
    assert_int_equal(t.size, 25000);
    assert_int_equal(strlen(t.chars), 25000);
    assert_memory_equal(t.chars + 24990, "4998,4999,", 10);
    text_clear(&t);
    text_add(&t, "again");
    assert_string_equal(t.chars, "again");
    text_deinit(&t);
}

/* Fill up to one below the limit, by each way of adding; the limit itself fits, one more does not.
 */
static void test_the_limit_is_exact_and_what_does_not_fit_is_dropped_whole(void **state)
{
    (void)state;
    for (size_t limit = 1; limit < 1100; limit += 27) {
        for (int way = 0; way < 3; way++) {
            struct text t;

            assert_int_equal(text_init(&t, limit), OK);
            for (size_t i = 1; i < limit; i++) {
                text_add(&t, "x");
            }
            way == 0   ? text_add(&t, "y")
            : way == 1 ? text_addf(&t, "%c", 'y')
                       : text_add_bytes(&t, "y", 1);
            assert_false(t.failed);
            assert_int_equal(t.size, limit);
            way == 0   ? text_add(&t, "zz")
            : way == 1 ? text_addf(&t, "zz")
                       : text_add_bytes(&t, "zz", 2);
            assert_true(t.failed);
            assert_int_equal(strlen(t.chars), limit);
            assert_int_equal(t.chars[limit - 1], 'y');
            text_deinit(&t);
        }
    }
}

static void test_after_a_failure_nothing_is_added_until_cleared(void **state)
{
    struct text t;

    (void)state;
    assert_int_equal(text_init(&t, 4), OK);
    text_add(&t, "abcde");
    text_add(&t, "a");
    text_addf(&t, "%d", 1);
    text_add_json(&t, "");
    text_add_printable(&t, "p");
    assert_true(t.failed);
    assert_string_equal(t.chars, "");
    text_clear(&t);
    text_add(&t, "abcd");
    assert_false(t.failed);
    assert_string_equal(t.chars, "abcd");
    text_deinit(&t);
}

static void test_no_memory_fails_the_text_and_keeps_what_was_there(void **state)
{
    struct text t;

    (void)state;
    mem_fail_at(1, 1);
    assert_int_equal(text_init(&t, 100), ERR_NOMEM);
    for (int way = 0; way < 2; way++) {
        assert_int_equal(text_init(&t, 10000), OK);
        text_add(&t, "kept");
        mem_fail_at(1, 1);
        if (way == 0) {
            text_addf(&t, "%0500d", 1);
        } else {
            for (int i = 0; i < 100; i++) {
                text_add(&t, "12345");
            }
        }
        mem_fail_at(0, 0);
        assert_true(t.failed);
        assert_memory_equal(t.chars, "kept", 4);
        assert_int_equal(strlen(t.chars), t.size);
        text_deinit(&t);
    }
}

static void test_a_fixed_text_stays_in_its_storage(void **state)
{
    char storage[9] = "xxxxxxxx";
    uint64_t allocations = mem_allocations();
    struct text t;

    (void)state;
    text_init_fixed(&t, storage, 8);
    text_add(&t, "123");
    text_addf(&t, "%d", 4567);
    assert_false(t.failed);
    assert_string_equal(storage, "1234567");
    text_addf(&t, "%d", 8);
    assert_true(t.failed);
    assert_string_equal(storage, "1234567");
    assert_int_equal(storage[8], '\0');
    assert_int_equal(mem_allocations(), allocations);
}

struct escape {
    const char *in;
    const char *out;
};

static void expect(const struct escape *cases, size_t count,
                   void (*add)(struct text *t, const char *chars))
{
    for (size_t i = 0; i < count; i++) {
        struct text t;

        assert_int_equal(text_init(&t, 1000), OK);
        add(&t, cases[i].in);
        assert_string_equal(t.chars, cases[i].out);
        text_deinit(&t);
    }
}

static void test_json_strings_are_escaped(void **state)
{
    static const struct escape cases[] = {
        {"", "\"\""},
        {"plain", "\"plain\""},
        {"a\"b\\c/", "\"a\\\"b\\\\c/\""},
        {"\n\t\x01\x1f\x7f", "\"\\u000a\\u0009\\u0001\\u001f\\u007f\""},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\x8a", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\x8a\""},
    };

    (void)state;
    expect(cases, sizeof(cases) / sizeof(cases[0]), text_add_json);
}

static void test_bytes_that_are_not_utf8_become_replacement_characters(void **state)
{
    static const struct escape cases[] = {
        {"\x80", "\"\\ufffd\""},                       /* Continuation without a start. */
        {"\xc3", "\"\\ufffd\""},                       /* Cut by the end. */
        {"\xc3z", "\"\\ufffdz\""},                     /* Cut by a letter. */
        {"\xe2\x82", "\"\\ufffd\\ufffd\""},            /* Cut in the middle. */
        {"\xc0\xaf", "\"\\ufffd\\ufffd\""},            /* Overlong, 2 bytes. */
        {"\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\""}, /* Overlong, 3 bytes. */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* A surrogate. */
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* Above U+10FFFF. */
        {"\xff\xfe", "\"\\ufffd\\ufffd\""},
    };

    (void)state;
    expect(cases, sizeof(cases) / sizeof(cases[0]), text_add_json);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_false(text_is_utf8(cases[i].in));
    }
    assert_true(text_is_utf8(""));
    assert_true(text_is_utf8("z\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\x8a\xf4\x8f\xbf\xbf"));
}

static void test_printable_text_cannot_leave_its_line(void **state)
{
    static const struct escape cases[] = {
        {"plain \\ \"", "plain \\ \""},
        {"a\nb\tc\rd", "a\\nb\\tc\\x0dd"},
        {"\033[2J\x7f", "\\x1b[2J\\x7f"},
        {"\xc3\xa9\xe2\x82\xac", "\xc3\xa9\xe2\x82\xac"},
        {"\xc2\x9b"
         "2J",
         "\\xc2\\x9b2J"}, /* U+009B is an escape sequence in one character. */
        {"\xc2\xa0", "\xc2\xa0"},
        {"\xff\xc3", "\\xff\\xc3"},
    };

    (void)state;
    expect(cases, sizeof(cases) / sizeof(cases[0]), text_add_printable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_text_grows),
        cmocka_unit_test(test_the_limit_is_exact_and_what_does_not_fit_is_dropped_whole),
        cmocka_unit_test(test_after_a_failure_nothing_is_added_until_cleared),
        cmocka_unit_test(test_no_memory_fails_the_text_and_keeps_what_was_there),
        cmocka_unit_test(test_a_fixed_text_stays_in_its_storage),
        cmocka_unit_test(test_json_strings_are_escaped),
        cmocka_unit_test(test_bytes_that_are_not_utf8_become_replacement_characters),
        cmocka_unit_test(test_printable_text_cannot_leave_its_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
