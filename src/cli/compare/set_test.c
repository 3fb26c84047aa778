/* Settings of comparisons: what is said makes the run that its name promises, of any file. */

#include "cli/compare/compare.h"
#include "run/cost/bill.h"
#include "run/file/set.h"
#include "run/testing.h"
#include "sync/mirror.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MAP                                                                                        \
    "run: test\n"                                                                                  \
    "topology:\n"                                                                                  \
    "  regions: [{name: eu, usd_per_hour: 1}, {name: us, usd_per_hour: 1}]\n"                      \
    "  default_link: {rate: 100mbit, rtt: 60ms, price: 0.02}\n"                                    \
    "sites: [{region: eu, workers: 2}, {region: us, workers: 2}]\n"                                \
    "job: {name: mf, data_gb: 3}\n"

/* Files that say nothing, and files that say what others must not keep. */
static const char *const files[] = {
    MAP "stop: {clocks: 100}\n",
    MAP "stop: {time: 60s}\nsync: {barrier: ssp, staleness: 5, delivery: broadcast}\n"
        "between: {preset: async}\nlayout: lan\nbudget: {max_usd: 1}\n",
    MAP "stop: {objective: 0.1}\nsync: {order: fixed, deadline: 9s}\nlayout: centralised\n"
        "between: {staleness: 7, barrier: true, threshold: 2%}\nbudget: {max_gb: 1, max_usd: 2}\n",
    MAP "stop: {converged: {change: 1%, clocks: 30}}\nsync: {barrier: tap}\n",
    MAP "stop: {clocks: 100}\nbetween: {preset: central, centre: eu, away: 9s}\n",
};

/* The file with the settings on top. */
static struct run_file *apply(const char *yaml, const struct compare_settings *s)
{
    const char *settings[COMPARE_SETTINGS_MAX];
    struct err_text why = {""};
    struct run_file *f;
    struct text out;

    for (uint32_t i = 0; i < s->count; i++) {
        settings[i] = s->items[i];
    }
    assert_int_equal(text_init(&out, RUN_FILE_BYTES_MAX), OK);
    if (run_set_apply("r.yaml", yaml, strlen(yaml), settings, s->count, &out, &why) != OK) {
        fail_msg("%s", why.text);
    }
    f = testing_parse(out.chars);
    text_deinit(&out);
    return f;
}

static void check(const struct run_file *before, const struct run_file *f, const char *name)
{
    bool ssp = strstr(name, "-ssp") != NULL, gaia = strncmp(name, "gaia", 4) == 0;
    bool async = strcmp(name, "async") == 0, central = strcmp(name, "central") == 0;

    assert_int_equal(f->sync.barrier, ssp ? RUN_SSP : RUN_BSP);
    assert_int_equal(f->sync.delivery, before->sync.delivery);
    assert_int_equal(f->sync.deadline_ns, before->sync.deadline_ns);
    assert_int_equal(f->sync.staleness, !ssp ? 0 : before->sync.barrier == RUN_SSP ? 5 : 2);
    assert_int_equal(f->layout, gaia || async || central           ? RUN_SITES
                                : strncmp(name, "plain", 5) == 0   ? RUN_PLAIN
                                : strcmp(name, "centralised") == 0 ? RUN_CENTRALISED
                                                                   : RUN_LAN);
    if (gaia || async || central) {
        assert_int_equal(f->sites_count, 2);
        assert_int_equal(f->between.preset, gaia ? RUN_GAIA : async ? RUN_ASYNC : RUN_CENTRAL);
        assert_true(central || f->between.threshold == before->between.threshold);
    }
    if (central && before->between.preset == RUN_CENTRAL) {
        assert_int_equal(f->between.away_ns, INT64_C(9000000000));
    }
    if (async) {
        assert_true(f->between.staleness == MIRROR_UNBOUNDED && !f->between.barrier);
    } else if (gaia) {
        assert_true(f->between.staleness != MIRROR_UNBOUNDED && f->between.barrier);
    }
    if (strcmp(name, "gaia-bsp-free") == 0) {
        assert_true(f->budget.max_usd == 0 && f->budget.max_gb == 1e9);
    } else {
        assert_true(f->budget.max_usd == before->budget.max_usd);
    }
}

static void test_every_setting_is_what_its_name_says_for_every_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct run_file *before = testing_parse(files[i]);

        for (size_t k = 0; compare_names[k] != NULL; k++) {
            struct compare_settings s;
            struct run_file *f;

            if (strcmp(compare_names[k], "central") == 0 && run_bill_has_budget(before)) {
                continue; /* It is left out. */
            }
            compare_settings(before, compare_names[k], &s);
            f = apply(files[i], &s);
            check(before, f, compare_names[k]);
            run_file_free(f);
        }
        run_file_free(before);
    }
}

static void test_lan_ends_when_it_has_converged_or_at_the_limits_of_the_file(void **state)
{
    static const struct {
        uint64_t limit;
        int64_t time_s;
        double change;
        uint32_t clocks;
    } wanted[] = {{100, 0, 0.02, 10},
                  {0, 60, 0.02, 10},
                  {10000, 0, 0.02, 10},
                  {10000, 0, 0.01, 30},
                  {100, 0, 0.02, 10}};

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct run_file *before = testing_parse(files[i]), *f;
        struct compare_goal goal = {.there = false};
        struct compare_settings s;

        compare_settings(before, "lan", &s);
        compare_settings_converge(before, &goal, &s);
        f = apply(files[i], &s);
        assert_int_equal(f->stop.clocks, wanted[i].limit);
        assert_int_equal(f->stop.time_ns, wanted[i].time_s * 1000000000);
        assert_false(f->stop.has_objective);
        assert_true(f->stop.converged.change == wanted[i].change);
        assert_int_equal(f->stop.converged.clocks, wanted[i].clocks);
        assert_true(goal.change == wanted[i].change);
        run_file_free(f);
        run_file_free(before);
    }
}

static void test_rare_evaluations_make_the_window_longer(void **state)
{
    static const char yaml[] = MAP "stop: {clocks: 100}\nevaluate: {every: 25}\n";
    struct run_file *before = testing_parse(yaml), *f;
    struct compare_goal goal = {.there = false};
    struct compare_settings s = {.count = 0};

    (void)state;
    compare_settings_converge(before, &goal, &s);
    f = apply(yaml, &s);
    assert_int_equal(f->stop.converged.clocks, 25);
    run_file_free(f);
    run_file_free(before);
}

static void test_the_others_end_at_the_goal_to_the_last_bit(void **state)
{
    struct compare_goal goal = {.there = true, .objective = -1.0 / 3, .limit_clocks = 70};

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct run_file *before = testing_parse(files[i]), *f;
        struct compare_settings s = {.count = 0};

        compare_settings_reach(before, &goal, &s);
        f = apply(files[i], &s);
        assert_true(f->stop.has_objective && f->stop.objective == -1.0 / 3);
        assert_int_equal(f->stop.clocks, 70);
        assert_int_equal(f->stop.converged.clocks, 0);
        assert_int_equal(f->stop.time_ns, before->stop.time_ns);
        run_file_free(f);
        run_file_free(before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_setting_is_what_its_name_says_for_every_file),
        cmocka_unit_test(test_lan_ends_when_it_has_converged_or_at_the_limits_of_the_file),
        cmocka_unit_test(test_rare_evaluations_make_the_window_longer),
        cmocka_unit_test(test_the_others_end_at_the_goal_to_the_last_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
