/* The words that a link understands. */

#include "emu/proxy/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { BOTH = 1 << EMU_THERE | 1 << EMU_BACK };

static struct emu_order order_of(const char *line)
{
    struct emu_order order = {0};
    struct err_text text = {""};

    if (emu_order_parse(line, strlen(line), &order, &text) != OK) {
        fail_msg("'%s': %s", line, text.text);
    }
    return order;
}

static void check(const char *line, enum emu_fault fault, uint32_t ways, uint64_t amount,
                  int64_t for_ns)
{
    struct emu_order order = order_of(line);

    assert_int_equal(order.verb, EMU_VERB_FAULT);
    assert_int_equal(order.fault, fault);
    assert_int_equal(order.ways, ways);
    assert_int_equal(order.amount, amount);
    assert_int_equal(order.for_ns, for_ns);
}

static void test_orders_are_understood(void **state)
{
    (void)state;
    check("rate 20mbit", EMU_FAULT_RATE, BOTH, 2500000, 0);
    check("rate 1gbit there", EMU_FAULT_RATE, 1 << EMU_THERE, 125000000, 0);
    check("delay 50ms back for 2s", EMU_FAULT_DELAY, 1 << EMU_BACK, 50000000, 2000000000);
    check("delay 0", EMU_FAULT_DELAY, BOTH, 0, 0);
    check("jitter 5ms for 100ms there", EMU_FAULT_JITTER, 1 << EMU_THERE, 5000000, 100000000);
    check("cut", EMU_FAULT_CUT, BOTH, 1, 0);
    check("\tcut   back \r", EMU_FAULT_CUT, 1 << EMU_BACK, 1, 0);
    check("stall for 2s", EMU_FAULT_STALL, BOTH, 1, 2000000000);
    check("drain 10kbit for 3s", EMU_FAULT_DRAIN, BOTH, 1250, 3000000000);
    check("drain off", EMU_FAULT_DRAIN, BOTH, 0, 0);
    check("flip 3", EMU_FAULT_FLIP, BOTH, 3, 0);
    check("flip off there", EMU_FAULT_FLIP, 1 << EMU_THERE, 0, 0);
    check("flip every 1MB back", EMU_FAULT_FLIP, 1 << EMU_BACK, 1000000, 0);
    assert_true(order_of("flip every 1MB").every);
    assert_false(order_of("flip 7").every);
    check("fragments on", EMU_FAULT_FRAGMENTS, BOTH, 1, 0);
    check("fragments off", EMU_FAULT_FRAGMENTS, BOTH, 0, 0);
    check("reset", EMU_FAULT_RESET, BOTH, 1, 0);
    check("reset for 1s", EMU_FAULT_RESET, BOTH, 1, 1000000000);
    check("refuse for 1s", EMU_FAULT_REFUSE, BOTH, 1, 1000000000);
    assert_int_equal(order_of("heal").verb, EMU_VERB_HEAL);
    assert_int_equal(order_of("heal there").ways, 1 << EMU_THERE);
    assert_int_equal(order_of("show").verb, EMU_VERB_SHOW);
    assert_int_equal(order_of("quit").verb, EMU_VERB_QUIT);
    assert_int_equal(order_of("").verb, EMU_VERB_NONE);
    assert_int_equal(order_of("   ").verb, EMU_VERB_NONE);
    assert_int_equal(order_of(" # cut").verb, EMU_VERB_NONE);
}

static void test_what_is_no_order_is_refused_with_how_it_should_look(void **state)
{
    static const struct {
        const char *line;
        const char *says;
    } cases[] = {
        {"cutt", "did you mean 'cut'?"},
        {"xyzzyxyzzy", "there are rate, delay"},
        {"rate", "write: rate 20mbit"},
        {"rate 20", "unit"},
        {"rate 0", "a rate of zero is a cut"},
        {"rate 99999tbit", "more than can be emulated"},
        {"rate 20mbit there back", "'back' does not belong there"},
        {"rate 20mbit for", "there is no value"},
        {"rate 20mbit for 0", "a time is above zero"},
        {"rate 20mbit for 1s for 1s", "'for' does not belong there"},
        {"delay 2h", "too long"},
        {"cut for 48h", "too long"},
        {"delay fast", "fast"},
        {"drain 0", "a rate of zero is a cut"},
        {"flip", "write: flip 3"},
        {"flip 0", "from 1 to"},
        {"flip -1", "from 1 to"},
        {"flip 99999999999999999999999999", "from 1 to"},
        {"flip every", "there is no value"},
        {"flip every 0", "a size is above zero"},
        {"flip every day", "day"},
        {"fragments", "there is no value"},
        {"fragments maybe", "it is on or off"},
        {"reset there", "'there' does not belong there; write: reset"},
        {"heal for 1s", "'for' does not belong there"},
        {"show me", "'me' does not belong there"},
        {"cut there for 1s and then some more faults", "too many words"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct emu_order order = {.amount = 42};
        struct err_text text = {""};

        assert_int_equal(emu_order_parse(cases[i].line, strlen(cases[i].line), &order, &text),
                         ERR_MALFORMED);
        if (strstr(text.text, cases[i].says) == NULL) {
            fail_msg("'%s' gives: %s", cases[i].line, text.text);
        }
        assert_int_equal(order.amount, 42);
    }
}

static void test_lines_that_are_too_long_or_no_text_are_refused(void **state)
{
    char line[EMU_ORDER_BYTES_MAX + 1];
    struct emu_order order;

    (void)state;
    memset(line, ' ', sizeof(line));
    memcpy(line, "cut", 3);
    assert_int_equal(emu_order_parse(line, sizeof(line) - 1, &order, NULL), OK);
    assert_int_equal(emu_order_parse(line, sizeof(line), &order, NULL), ERR_MALFORMED);
    assert_int_equal(emu_order_parse("cut\0heal", 8, &order, NULL), ERR_MALFORMED);
    assert_int_equal(emu_order_parse("cut\x1b[2J", 7, &order, NULL), ERR_MALFORMED);
}

static void test_each_fault_has_a_name_that_is_understood(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < EMU_FAULTS; i++) {
        assert_true(emu_fault_name((enum emu_fault)i)[0] != '\0');
    }
    assert_string_equal(emu_fault_name(EMU_FAULT_REFUSE), "refuse");
    assert_string_equal(emu_fault_name(EMU_FAULTS), "");
    assert_string_equal(emu_way_name(EMU_THERE), "there");
    assert_string_equal(emu_way_name(EMU_BACK), "back");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders_are_understood),
        cmocka_unit_test(test_what_is_no_order_is_refused_with_how_it_should_look),
        cmocka_unit_test(test_lines_that_are_too_long_or_no_text_are_refused),
        cmocka_unit_test(test_each_fault_has_a_name_that_is_understood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
