/* Scripts: what is read, what is refused with which words; and a broken world is noticed. */

#include "sim/scenario/scenario.h"

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
#define SITE "site clocks=3 tables=2\n"
#define ONE_WORKER TWO "worker w1 us compute=10ms\n"

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

static void test_mistakes_in_a_site_are_named_with_their_line(void **state)
{
    (void)state;
    expect_refused("site barrier=spp\n", "x.sim:1: no barrier 'spp'; there are bsp ssp tap");
    expect_refused("site delivery=push\n", "no delivery 'push'; there are pull broadcast");
    expect_refused("site order=random\n", "no order 'random'; there are fixed any");
    expect_refused("site updates=halves\n", "no updates 'halves'; there are whole thirds");
    expect_refused("site staleness=2000\n", "2000 is not between 0 and 1024");
    expect_refused("site checkpoints=x\n", "'x' is not a whole number");
    expect_refused("site clocks=0\n", "0 is not between 1 and 1000");
    expect_refused("site tables=6\n", "6 is not between 1 and 5");
    expect_refused("site shards=0\n", "0 is not between 1 and 4096");
    expect_refused("site deadline=5\n", "x.sim:1: ");
    expect_refused("site commit=fast\n", "x.sim:1: ");
    expect_refused("site grace=-1s\n", "x.sim:1: ");
    expect_refused("site restore=1\n", "x.sim:1: ");
    expect_refused("site speed=9\n", "'speed=9' is not of barrier= staleness= delivery=");
    expect_refused("site\n\nsite\n", "x.sim:3: the site is described already, in line 1");
    expect_refused("region eu\nserver s1 eu lanes=17\n", "17 is not between 1 and 16");
    expect_refused("region eu\nserver s1 eu threads=2\n", "'threads=2' is not of lanes=");
    expect_refused("worker w1\n", "x.sim:1: write: worker NAME REGION");
    expect_refused("worker w1 eu\n", "x.sim:1: no region 'eu'");
    expect_refused(SITE TWO "worker s1 eu\n", "x.sim:6: 's1' is there already, since line 5");
    expect_refused(SITE TWO "worker w1 eu streams=0\n", "x.sim:6: 0 is not between 1 and");
    expect_refused(SITE TWO "worker w1 eu compute=slow\n", "x.sim:6: ");
    expect_refused(SITE TWO "worker w1 eu joins=later\n", "x.sim:6: ");
    expect_refused(SITE TWO "worker w1 eu leaves=0\n", "x.sim:6: 0 is not between 1 and 1000");
    expect_refused(SITE TWO "worker w1 eu updates=5\n",
                   "'updates=5' is not of streams= compute= joins= leaves=");
    expect_refused(SITE ONE_WORKER "expect\n", "x.sim:7: write: expect");
    expect_refused(SITE ONE_WORKER "expect losses=0\n", "x.sim:7: 'losses=0' is not of updates=");
    expect_refused(SITE ONE_WORKER "expect rebases=few\n", "'few' is not a whole number");
}

static void test_what_does_not_go_together_is_told_with_what_to_do(void **state)
{
    (void)state;
    expect_refused(SITE ONE_CLIENT,
                   "x.sim:6: a client is of an echo cluster, but line 1 describes a site: write "
                   "'worker', or remove that line");
    expect_refused(ONE_WORKER, "x.sim:5: a worker needs a site: add a line 'site barrier=bsp'");
    expect_refused(ONE_CLIENT "server s2 eu lanes=2\n", "x.sim:6: lanes are of a site: add");
    expect_refused(ONE_CLIENT "expect rebases=0\n", "x.sim:6: only sites have these counts: add");
    expect_refused(SITE TWO, "x.sim:1: a site needs a worker: add 'worker NAME REGION'");
    expect_refused("region eu\nsite\nworker w1 eu\n", "x.sim:2: a site needs a server: add");
    expect_refused("site barrier=bsp staleness=1\n" ONE_WORKER, "x.sim:1: staleness 1: bsp allows");
    expect_refused("site barrier=tap order=fixed\n" ONE_WORKER, "x.sim:1: a fixed order");
    expect_refused("site shards=1\n" ONE_WORKER "server s2 us\n", "x.sim:1: 1 shards: at least");
    expect_refused("site clocks=4\n" TWO "worker w1 us leaves=5\n",
                   "x.sim:6: leaves=5, but the site has 4 clocks: take an earlier one");
    expect_refused("site clocks=1000\n" ONE_WORKER "worker w2 us\n",
                   "x.sim:1: 10000 updates of 5 tables by 2 workers are too many: at most 8000");
    expect_refused(SITE ONE_WORKER "at 1s kill s1 for 1s\n",
                   "x.sim:7: a server may die, and nobody else has what it knows: write 'site "
                   "checkpoints=2' or 'site delivery=broadcast'");
    expect_refused(SITE ONE_WORKER "storm from 1s to 2s every 1s only cut,power\n",
                   "x.sim:7: a server may die");
    expect_refused(SITE ONE_WORKER "at 1s kill s9 for 1s\n", "x.sim:7: no host 's9'");
}

static void test_there_may_be_too_many_hosts(void **state)
{
    char script[4096] = "region eu\nsite clocks=1\nserver s eu\n";
    size_t size = strlen(script);

    (void)state;
    for (int i = 0; i <= SIM_DRILL_WORKERS_MAX; i++) {
        size += (size_t)snprintf(script + size, sizeof(script) - size, "worker w%d eu\n", i);
    }
    expect_refused(script, "x.sim:36: more than 32 workers");
    size = (size_t)snprintf(script, sizeof(script), "region eu\nsite\nworker w eu\n");
    for (int i = 0; i <= SIM_DRILL_SERVERS_MAX; i++) {
        size += (size_t)snprintf(script + size, sizeof(script) - size, "server s%d eu\n", i);
    }
    expect_refused(script, "x.sim:2: more than 16 servers");
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

static void test_a_site_does_its_work_and_is_described(void **state)
{
    struct sim_scenario_result result;

    (void)state;
    run("site barrier=ssp staleness=2 checkpoints=2 clocks=4 tables=2 shards=5 commit=1ms grace=2s "
        "restore=4s deadline=30s order=any updates=whole\n" TWO
        "server s2 us lanes=2\nworker w1 us streams=2 compute=20ms\nworker w2 eu\n",
        &result);
    assert_string_equal(result.verdict, "");
    assert_true(result.is_site && !result.lost_all);
    assert_string_equal(result.barrier, "ssp");
    assert_int_equal(result.delivery, NODE_PULL);
    assert_string_equal(result.about, "ssp pull, staleness 2, lanes 3, workers 2, clocks 4, a "
                                      "checkpoint every 2");
    assert_int_equal(result.site.updates, 4 * 2 * 2);
    assert_true(result.site.checkpoints > 0);
    assert_true(result.links_count == 2 && result.links[0].bytes > 0);
    sim_scenario_result_deinit(&result);
}

static void test_workers_come_late_and_leave_early(void **state)
{
    struct sim_scenario_result result;

    (void)state;
    run("site clocks=6 tables=1\n" TWO "worker w1 eu compute=300ms\n"
        "worker w2 eu compute=300ms leaves=2\nworker w3 eu joins=700ms compute=300ms\n",
        &result);
    assert_string_equal(result.verdict, "");
    assert_true(result.site.updates >= 6 + 2 + 1 && result.site.updates < 6 + 2 + 6);
    sim_scenario_result_deinit(&result);
    run("site clocks=2 tables=1\n" TWO "worker w1 eu joins=1s\n", &result); /* Nobody else. */
    assert_string_equal(result.verdict, "");
    assert_int_equal(result.site.updates, 2);
    sim_scenario_result_deinit(&result);
}

static void test_a_site_that_cannot_get_done_is_a_verdict(void **state)
{
    struct sim_scenario_result result;

    (void)state;
    run(SITE ONE_WORKER "run 20ms\n", &result);
    assert_non_null(strstr(result.verdict, "I6: worker 0 (w1) does not get beyond clock 0"));
    sim_scenario_result_deinit(&result);
}

static void test_other_counts_than_expected_are_a_verdict(void **state)
{
    struct sim_scenario_result result;

    (void)state;
    run(SITE ONE_WORKER "expect updates=6 rebases=0 restores=0 duplicates=0 refused=0 "
                        "checkpoints=0\n",
        &result);
    assert_string_equal(result.verdict, "");
    sim_scenario_result_deinit(&result);
    run(SITE ONE_WORKER "expect updates=7\n", &result);
    assert_string_equal(result.verdict, "line 7 expects updates=7, but it is 6");
    sim_scenario_result_deinit(&result);
}

static void test_the_site_that_is_built_in_holds(void **state)
{
    struct sim_scenario_result result;

    (void)state;
    run(sim_scenario_builtin_site(), &result);
    assert_string_equal(result.verdict, "");
    assert_true(result.fired[SIM_FAULT_KILL] > 0 && result.fired[SIM_FAULT_CUT] > 0);
    sim_scenario_result_deinit(&result);
}

static void test_a_site_is_drawn_by_seed(void **state)
{
    struct sim_scenario_options options = {.seed = 8, .trace = true};
    struct sim_scenario_result one, two;
    struct sim_scenario *scenario;
    struct err_text text = {0};

    (void)state;
    assert_int_equal(sim_scenario_draw_site(&scenario), OK);
    assert_true(sim_scenario_is_site(scenario) && sim_scenario_seed(scenario) == 1);
    assert_int_equal(sim_scenario_run(scenario, &options, &one, &text), OK);
    options.seed = 9;
    options.trace = false;
    assert_int_equal(sim_scenario_run(scenario, &options, &two, &text), OK);
    assert_string_equal(one.verdict, "");
    assert_string_equal(two.verdict, "");
    assert_true(one.transcript.size > 0 && two.transcript.size == 0);
    assert_true(one.transcript_hash != two.transcript_hash);
    assert_int_equal(one.links_count, 6);
    sim_scenario_result_deinit(&one);
    sim_scenario_result_deinit(&two);
    sim_scenario_destroy(scenario);
}

/* Run @script with the k-th allocation failing, for many k; how often that was an error. */
static uint64_t fail_memory(const char *script, uint64_t most)
{
    struct sim_scenario_options options = {.seed = 3, .trace = true, .trace_bytes_max = 1 << 20};
    struct sim_scenario *scenario = NULL;
    struct err_text text = {0};
    uint64_t failed = 0;

    assert_int_equal(sim_scenario_parse("x", script, strlen(script), &scenario, &text), OK);
    for (uint64_t k = 1; k < most; k++) {
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
    sim_scenario_destroy(scenario);
    return failed;
}

static void test_memory_that_fails_at_any_point_is_an_error(void **state)
{
    (void)state;
    assert_true(fail_memory(ONE_CLIENT, 40) > 10);
    assert_true(fail_memory(SITE ONE_WORKER "worker w2 us joins=1s\nat 1s cut eu us for 1s\n", 80) >
                10);
}

static void test_memory_that_fails_while_reading_is_an_error(void **state)
{
    struct sim_scenario *scenario = NULL;
    struct err_text text = {0};

    (void)state;
    mem_fail_at(1, 1);
    assert_int_equal(sim_scenario_parse("x", ONE_CLIENT, strlen(ONE_CLIENT), &scenario, &text),
                     ERR_NOMEM);
    mem_fail_at(1, 1);
    assert_int_equal(sim_scenario_draw_site(&scenario), ERR_NOMEM);
    mem_fail_at(0, 0);
    assert_null(scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes_are_named_with_their_line),
        cmocka_unit_test(test_mistakes_in_a_site_are_named_with_their_line),
        cmocka_unit_test(test_what_does_not_go_together_is_told_with_what_to_do),
        cmocka_unit_test(test_there_may_be_too_many_hosts),
        cmocka_unit_test(test_odd_bytes_are_refused),
        cmocka_unit_test(test_limits_are_told),
        cmocka_unit_test(test_a_quiet_run_does_its_work),
        cmocka_unit_test(test_prices_add_up),
        cmocka_unit_test(test_work_that_cannot_be_done_is_a_verdict),
        cmocka_unit_test(test_regions_that_are_not_joined_cannot_talk),
        cmocka_unit_test(test_a_site_does_its_work_and_is_described),
        cmocka_unit_test(test_workers_come_late_and_leave_early),
        cmocka_unit_test(test_a_site_that_cannot_get_done_is_a_verdict),
        cmocka_unit_test(test_other_counts_than_expected_are_a_verdict),
        cmocka_unit_test(test_the_site_that_is_built_in_holds),
        cmocka_unit_test(test_a_site_is_drawn_by_seed),
        cmocka_unit_test(test_memory_that_fails_at_any_point_is_an_error),
        cmocka_unit_test(test_memory_that_fails_while_reading_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
