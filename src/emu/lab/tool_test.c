/* Tests of tools: what their complaints mean, and that one that cannot be run is told so. What
 * really runs is for tests/e2e/lab_test.py. */

#include "emu/lab/tool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char batch[] = "link set lo up\nlink set foo up\nlink set bar up\n";

static void check(enum lab_tool_name name, const char *output, const char *wanted)
{
    char chars[ERR_TEXT_BYTES];
    struct text text;

    text_init_fixed(&text, chars, sizeof(chars));
    lab_tool_complaint(name, batch, output, &text);
    assert_string_equal(chars, wanted);
}

static void test_complaints_name_the_line_of_the_batch(void **state)
{
    (void)state;
    check(LAB_IP, "Cannot find device \"foo\"\nCommand failed -:2\n",
          "ip, line 2, \"link set foo up\": Cannot find device \"foo\"");
    check(LAB_TC, "Error: Specified qdisc kind is unknown.\nCommand failed -:1\n",
          "tc, line 1, \"link set lo up\": Error: Specified qdisc kind is unknown.");
    check(LAB_NFT,
          "/dev/stdin:3:37-37: Error: syntax error, unexpected '}'\nlink set bar up\n   ^\n",
          "nft, line 3, \"link set bar up\": Error: syntax error, unexpected '}'");
}

static void test_complaints_without_a_place_or_words_are_told_too(void **state)
{
    (void)state;
    check(LAB_IP, "", "ip: no reason given");
    check(LAB_IP, "\n\n", "ip: no reason given");
    check(LAB_TC, "Command failed -:9\n", "tc: no reason given");
    check(LAB_NFT, "netlink: Error: cache initialization failed: Operation not permitted\n",
          "nft: netlink: Error: cache initialization failed: Operation not permitted");
    check(LAB_IP, "a\033[2Jb", "ip: a\\x1b[2Jb");
}

static void test_a_tool_without_a_namespace_fails_with_its_name(void **state)
{
    const struct lab_tool_config config = {.name = LAB_TC, .ns = -1, .batch = "qdisc show\n"};
    struct err_text text = {""};

    (void)state;
    assert_int_equal(lab_tool_run(&config, &text), ERR_IO);
    assert_string_equal(text.text, "tc cannot enter its namespace");
}

static void test_an_empty_batch_needs_no_tool(void **state)
{
    const struct lab_tool_config config = {.name = LAB_TC, .ns = -1, .batch = ""};

    (void)state;
    assert_int_equal(lab_tool_run(&config, NULL), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complaints_name_the_line_of_the_batch),
        cmocka_unit_test(test_complaints_without_a_place_or_words_are_told_too),
        cmocka_unit_test(test_a_tool_without_a_namespace_fails_with_its_name),
        cmocka_unit_test(test_an_empty_batch_needs_no_tool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
