/* Scripts: what is read, what is refused with which words; and a broken world is noticed. */

#include "sim/scenario.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define TWO "region eu\nregion us\nlink eu us rate=8mbit delay=10ms\nserver s1 eu\n"
#define ONE_CLIENT TWO "client w1 us server=s1 updates=5 gap=10ms\n"

static void expect_refused(const char *script, const char *complaint)
{
    struct sim_scenario *scenario = NULL;
    struct err_text text = {0};
    enum err rc = sim_scenario_parse("x.sim", script, strlen(script), &scenario, &text);

    assert_true(rc == ERR_MALFORMED || rc == ERR_TOO_BIG);
    assert_null(scenario);
    if (strstr(text.text, complaint) == NULL) {
        fail_msg("expected '%s' in '%s'", complaint, text.text);
    }
}

static void run(const char *script, struct sim_scenario_result *result)
{
    struct sim_scenario_options options = {.seed = 3};
    struct sim_scenario *scenario;
    struct err_text text = {0};

    if (sim_scenario_parse("x.sim", script, strlen(script), &scenario, &text) != OK) {
        fail_msg("%s", text.text);
    }
    assert_int_equal(sim_scenario_run(scenario, &options, result, &text), OK);
    sim_scenario_destroy(scenario);
}

static void test_mistakes_are_named_with_their_line(void **state)
{
    (void)state;
    expect_refused("regoin eu\n", "x.sim:1: 'regoin' is no statement");
    expect_refused("region eu\n\n# c\nregion eu\n", "x.sim:4: region 'eu' is there already");
    expect_refused("region a/b\n", "x.sim:1: 'a/b' is no name");
    expect_refused("region eu\nlink eu us rate=1mbit\n", "x.sim:2: no region 'us'");
    expect_refused("region eu\nlink eu eu rate=1mbit\n", "joins two regions");
    expect_refused("region eu\nregion us\nlink eu us delay=1ms\n",
                   "x.sim:3: the link needs a rate");
    expect_refused("region eu\nregion us\nlink eu us rate=1mbits\n", "x.sim:3: ");
    expect_refused("region eu\nregion us\nlink eu us speed=1\n", "rate= delay= jitter=");
    expect_refused("region eu\nregion us\nlink eu us rate=1mbit price=cheap\n", "is no price");
    expect_refused("region eu\nserver s1 eu\nserver s1 eu\n", "since line 2");
    expect_refused("region eu\nclient w1 eu server=s1\n", "x.sim:2: no server 's1'");
    expect_refused("region eu\nclient w1 eu updates=5\n", "needs a server");
    expect_refused(TWO, "nobody does anything");
    expect_refused(ONE_CLIENT "at 1s explode\n", "x.sim:6: no fault 'explode'");
    expect_refused(ONE_CLIENT "at 1s kill s9 for 1s\n", "x.sim:6: no host 's9'");
    expect_refused(ONE_CLIENT "at 1s cut eu us\n", "end the line with 'for TIME'");
    expect_refused(ONE_CLIENT "at soon reset\n", "x.sim:6: ");
    expect_refused(ONE_CLIENT "at 1s reset now\n", "'now' is too much here");
    expect_refused(ONE_CLIENT "at 1s spike eu us -5ms for 1s\n", "is negative");
    expect_refused(ONE_CLIENT "storm from 2s to 1s every 1ms\n", "has no length");
    expect_refused(ONE_CLIENT "storm from 1s to 2s every 1ms only kill,rain\n", "no fault 'rain'");
    expect_refused("client w1 eu server=s1 updates=x\n", "no region 'eu'");
    expect_refused("region eu\nserver s1 eu\nclient w1 eu server=s1 updates=x\n",
                   "'x' is not a whole number");
    expect_refused("region eu\nserver s1 eu\nclient w1 eu server=s1 streams=99\n", "not between");
}

static void test_odd_bytes_are_refused(void **state)
{
    static const char zero[] = "region eu\nregion \0us\n";
    struct sim_scenario *scenario = NULL;
    struct err_text text = {0};
    char longest[SIM_SCENARIO_LINE_BYTES + 2];

    (void)state;
    assert_int_equal(sim_scenario_parse("x", zero, sizeof(zero) - 1, &scenario, &text),
                     ERR_MALFORMED);
    assert_non_null(strstr(text.text, "x:2: the line has a zero byte"));
    memset(longest, '#', sizeof(longest));
    assert_int_equal(sim_scenario_parse("x", longest, sizeof(longest), &scenario, &text),
                     ERR_MALFORMED);
    assert_int_equal(sim_scenario_parse("x", "", SIM_SCENARIO_BYTES_MAX + 1, &scenario, &text),
                     ERR_TOO_BIG);
}

static void test_limits_are_told(void **state)
{
    char script[SIM_REGIONS_MAX * 16 + 64];
    size_t size = 0;

    (void)state;
    for (int i = 0; i <= SIM_REGIONS_MAX; i++) {
        size += (size_t)snprintf(script + size, sizeof(script) - size, "region r%d\n", i);
    }
    expect_refused(script, "more than 64 regions");
}

static void test_a_quiet_run_does_its_work(void **state)
{
    struct sim_scenario_result result;

    (void)state;
    run(ONE_CLIENT "run 10s\n", &result);
    assert_string_equal(result.verdict, "");
    assert_int_equal(result.totals.updates_counted, 5);
    assert_int_equal(result.totals.echoes, 5);
    assert_int_equal(result.links_count, 2);
    assert_true(result.links[0].bytes > 0 && result.links[1].bytes > 0);
    sim_scenario_result_deinit(&result);
}

static void test_prices_add_up(void **state)
{
    struct sim_scenario_result result;

    (void)state;
    run("region eu\nregion us\nlink eu us rate=80mbit delay=1ms price=0.09\nserver s1 eu\n"
        "client w1 us server=s1 updates=100 gap=1ms floats=4000\n",
        &result);
    assert_string_equal(result.verdict, "");
    for (uint32_t i = 0; i < result.links_count; i++) {
        assert_true(result.links[i].cost_nusd == result.links[i].bytes * 90000000 / 1000000000);
    }
    sim_scenario_result_deinit(&result);
}

static void test_work_that_cannot_be_done_is_a_verdict(void **state)
{
    struct sim_scenario_result result;

    (void)state;
    run(ONE_CLIENT "at 0 cut eu us for 100s\nrun 20s\n", &result);
    assert_non_null(strstr(result.verdict, "w1: 0 of 5 acknowledged"));
    sim_scenario_result_deinit(&result);
}

static void test_regions_that_are_not_joined_cannot_talk(void **state)
{
    struct sim_scenario_result result;

    (void)state;
    run("region eu\nregion us\nserver s1 eu\nclient w1 us server=s1 updates=1\nrun 5s\n", &result);
    assert_non_null(strstr(result.verdict, "0 of 1 acknowledged"));
    sim_scenario_result_deinit(&result);
}

static void test_memory_that_fails_at_any_point_is_an_error(void **state)
{
    struct sim_scenario_options options = {.seed = 3};
    struct sim_scenario *scenario = NULL;
    struct err_text text = {0};
    uint64_t failed = 0;

    (void)state;
    assert_int_equal(sim_scenario_parse("x", ONE_CLIENT, strlen(ONE_CLIENT), &scenario, &text), OK);
    for (uint64_t k = 1; k < 40; k++) {
        struct sim_scenario_result result;
        enum err rc;

        mem_fail_at(k, 1);
        rc = sim_scenario_run(scenario, &options, &result, &text);
        mem_fail_at(0, 0);
        if (rc == OK) {
            sim_scenario_result_deinit(&result);
        } else {
            assert_int_equal(rc, ERR_NOMEM);
            failed++;
        }
    }
    assert_true(failed > 10);
    sim_scenario_destroy(scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes_are_named_with_their_line),
        cmocka_unit_test(test_odd_bytes_are_refused),
        cmocka_unit_test(test_limits_are_told),
        cmocka_unit_test(test_a_quiet_run_does_its_work),
        cmocka_unit_test(test_prices_add_up),
        cmocka_unit_test(test_work_that_cannot_be_done_is_a_verdict),
        cmocka_unit_test(test_regions_that_are_not_joined_cannot_talk),
        cmocka_unit_test(test_memory_that_fails_at_any_point_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
