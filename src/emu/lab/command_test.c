/* Tests of commands: what is understood, and what is said of what is not. */

#include "emu/lab/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct lab_command parsed(const char *line)
{
    struct lab_command c = {.given = 99};
    struct err_text text = {""};

    if (lab_command_parse(line, strlen(line), &c, &text) != OK) {
        fail_msg("%s: %s", line, text.text);
    }
    return c;
}

static void refused(const char *line, const char *why)
{
    struct lab_command c;
    struct err_text text = {""};

    assert_int_equal(lab_command_parse(line, strlen(line), &c, &text), ERR_MALFORMED);
    assert_string_equal(text.text, why);
}

static void test_set_takes_the_figures_that_are_named(void **state)
{
    struct lab_command c = parsed("set tokyo  oregon rate=50mbit delay=20ms\tjitter=1ms loss=1%\r");

    (void)state;
    assert_int_equal(c.kind, LAB_SET);
    assert_string_equal(c.from, "tokyo");
    assert_string_equal(c.to, "oregon");
    assert_true(c.both);
    assert_int_equal(c.given, LAB_RATE | LAB_DELAY | LAB_JITTER | LAB_LOSS);
    assert_int_equal(c.bytes_per_s, 6250000);
    assert_int_equal(c.delay_ns, 20000000);
    assert_int_equal(c.jitter_ns, 1000000);
    assert_int_equal(c.loss_ppm, 10000);
    c = parsed("set a b there delay=0");
    assert_false(c.both);
    assert_int_equal(c.given, LAB_DELAY);
}

static void test_links_are_cut_and_healed_one_way_or_both(void **state)
{
    (void)state;
    assert_int_equal(parsed("cut a b").kind, LAB_CUT);
    assert_true(parsed("cut a b").both);
    assert_true(parsed("cut a b both").both);
    assert_false(parsed("cut a b there").both);
    assert_int_equal(parsed("heal a b").kind, LAB_HEAL);
}

static void test_others_stand_alone(void **state)
{
    (void)state;
    assert_int_equal(parsed("show").kind, LAB_SHOW);
    assert_int_equal(parsed("  reset ").kind, LAB_RESET);
    assert_int_equal(parsed("quit").kind, LAB_QUIT);
    refused("quit now", "quit stands alone");
}

static void test_mistakes_are_told_with_what_is_allowed(void **state)
{
    (void)state;
    refused("", "a command is wanted, as in show");
    refused("cutt a b", "no command 'cutt': did you mean 'cut'?");
    refused("explode", "no command 'explode': there are set, cut, heal, show, reset, quit");
    refused("set a", "set: two regions are wanted, as in set A B rate=50mbit");
    refused("cut", "cut: two regions are wanted, as in cut A B");
    refused("set a b", "set: nothing to set; rate=, delay=, jitter= or loss= is wanted");
    refused("set a a rate=1mbit", "set: from a to itself there is no link; LANs stay as they are");
    refused("set a b rat=1mbit", "no figure 'rat': did you mean 'rate'?");
    refused("set a b 1mbit", "'1mbit': wanted is rate=, delay=, jitter= or loss= with a value");
    refused("set a b rate=1mbit rate=2mbit", "rate= is there twice");
    refused("cut a b sideways",
            "cut: 'sideways' is too much: there or both may follow the regions");
    refused("cut a/b c", "'a/b' cannot be a region's name");
    refused("cut \033[2J c", "'\\x1b[2J' cannot be a region's name");
    refused("show 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", "more than 16 words");
}

static void test_values_that_cannot_be_are_told_with_their_units(void **state)
{
    struct lab_command c;
    struct err_text text = {""};
    static const char *const lines[] = {"set a b rate=fast", "set a b delay=20",
                                        "set a b loss=101%", "set a b jitter=-1ms"};

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_int_equal(lab_command_parse(lines[i], strlen(lines[i]), &c, &text), ERR_MALFORMED);
        assert_true(strlen(text.text) > 10);
    }
}

static void test_too_long_a_line_is_refused(void **state)
{
    char line[LAB_COMMAND_BYTES_MAX + 1];
    struct lab_command c;
    struct err_text text = {""};

    (void)state;
    memset(line, ' ', sizeof(line));
    memcpy(line, "show", 4);
    assert_int_equal(lab_command_parse(line, LAB_COMMAND_BYTES_MAX, &c, &text), OK);
    assert_int_equal(lab_command_parse(line, sizeof(line), &c, &text), ERR_MALFORMED);
    line[6] = '\0';
    assert_int_equal(lab_command_parse(line, 10, &c, &text), ERR_MALFORMED);
}

static void test_what_is_printed_is_read_as_the_same(void **state)
{
    static const char *const lines[] = {"set a b both rate=50mbit delay=20ms jitter=1ms loss=0.01%",
                                        "set a b there delay=0ns",
                                        "cut a b both",
                                        "heal a b there",
                                        "show",
                                        "reset",
                                        "quit"};
    char chars[LAB_COMMAND_BYTES_MAX];
    struct text text;

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct lab_command c = parsed(lines[i]);

        text_init_fixed(&text, chars, sizeof(chars));
        lab_command_print(&c, &text);
        assert_string_equal(chars, lines[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_takes_the_figures_that_are_named),
        cmocka_unit_test(test_links_are_cut_and_healed_one_way_or_both),
        cmocka_unit_test(test_others_stand_alone),
        cmocka_unit_test(test_mistakes_are_told_with_what_is_allowed),
        cmocka_unit_test(test_values_that_cannot_be_are_told_with_their_units),
        cmocka_unit_test(test_too_long_a_line_is_refused),
        cmocka_unit_test(test_what_is_printed_is_read_as_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
