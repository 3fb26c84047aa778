/* Tests of the budget: what one machine can emulate. */

#include "emu/lab/budget.h"

#include "emu/lab/testing.h"

static void test_small_links_are_within_the_budget(void **state)
{
    struct lab_plan *plan = lab_testing_plan();
    const struct budget b = budget_of(plan);
    char chars[1024];
    struct text text;

    (void)state;
    /* Only a and b have hosts: 100 and 20 Mbit/s. */
    assert_int_equal(b.wanted_bytes_per_s, 15000000);
    assert_int_equal(b.widest_bytes_per_s, 12500000);
    assert_int_equal(b.able_bytes_per_s, 35000 * 9000);
    assert_true(b.enough);
    text_init_fixed(&text, chars, sizeof(chars));
    budget_say(&b, plan->mtu, &text);
    assert_string_equal(chars, "");
    mem_free(plan);
}

static void test_too_much_is_said_with_figures_and_a_remedy(void **state)
{
    struct lab_plan *plan = lab_testing_plan();
    struct budget b;
    char chars[1024];
    struct text text;

    (void)state;
    plan->mtu = 1500;
    lab_plan_link_at(plan, 0, 1)->bytes_per_s = 125000000;
    b = budget_of(plan);
    assert_false(b.enough);
    text_init_fixed(&text, chars, sizeof(chars));
    budget_say(&b, plan->mtu, &text);
    assert_false(text.failed);
    assert_non_null(strstr(chars, "have 1.0 Gbit/s in all, and one machine emulates about 0.4"));
    assert_non_null(strstr(chars, "divide the rates by 3 (links.scale"));
    assert_non_null(strstr(chars, "one link alone has 1.0 Gbit/s"));
    assert_non_null(strstr(chars, "--mtu 9000 carries 2.5 Gbit/s"));
    mem_free(plan);
}

static void test_the_sum_does_not_wrap(void **state)
{
    struct lab_plan *plan = lab_testing_plan();

    (void)state;
    lab_plan_link_at(plan, 0, 1)->bytes_per_s = UINT64_MAX - 5;
    assert_true(budget_of(plan).wanted_bytes_per_s == UINT64_MAX);
    assert_false(budget_of(plan).enough);
    mem_free(plan);
}

static void test_exactly_enough_is_enough(void **state)
{
    struct lab_plan *plan = lab_testing_plan();

    (void)state;
    lab_plan_link_at(plan, 1, 0)->joined = false;
    lab_plan_link_at(plan, 0, 1)->bytes_per_s = (uint64_t)BUDGET_PACKETS_PER_S * plan->mtu;
    assert_true(budget_of(plan).enough);
    lab_plan_link_at(plan, 0, 1)->bytes_per_s++;
    assert_false(budget_of(plan).enough);
    mem_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_links_are_within_the_budget),
        cmocka_unit_test(test_too_much_is_said_with_figures_and_a_remedy),
        cmocka_unit_test(test_the_sum_does_not_wrap),
        cmocka_unit_test(test_exactly_enough_is_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
