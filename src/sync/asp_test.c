/* Thresholds that follow the links: each rule as a row of a table, then whole runs on a simple
 * link. */

#include "sync/asp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND_NS INT64_C(1000000000)

enum { SCALE = 1000000 };

/* Thresholds are compared in millionths. */
static void soft_is(const struct asp *a, double expected)
{
    assert_int_equal((int64_t)(asp_soft(a) * SCALE + 0.5), (int64_t)(expected * SCALE + 0.5));
}

static struct asp asp_of(enum asp_goal goal, uint64_t budget_bytes, uint64_t clocks)
{
    struct asp_config config = {
        .goal = goal, .barrier = true, .budget_bytes = budget_bytes, .clocks = clocks};
    struct asp a;

    asp_init(&a, &config);
    return a;
}

/* One link, one clock of a second; @before: what the link had still to drain of clocks before. */
static void step(struct asp *a, uint64_t number, uint64_t made, uint64_t rate, uint64_t before)
{
    struct asp_link link = {.bytes_per_s = rate, .backlog_bytes = before + made};
    struct asp_clock clock = {.clock = number,
                              .took_ns = SECOND_NS,
                              .made_bytes = made,
                              .copies = 1,
                              .links = &link,
                              .links_count = 1};

    asp_step(a, &clock);
}

static void test_at_first_only_what_must_be_sent_is(void **state)
{
    struct asp a = asp_of(ASP_SPEED, 0, 0);

    (void)state;
    soft_is(&a, 1);
    assert_false(a.bound);
    assert_false(a.over);
}

/* From 0.5: sinks below one half of the link, rises above 85 parts of 100, stays between. */
static void test_the_soft_threshold_follows_the_use_of_the_link(void **state)
{
    static const struct {
        const char *what;
        uint64_t made, rate, backlog;
        double soft;
    } rows[] = {
        {"idle", 0, 1000, 0, 0.4},
        {"a little", 100, 1000, 0, 0.4},
        {"just below the band", 499, 1000, 0, 0.4},
        {"the lower end of the band", 500, 1000, 0, 0.5},
        {"in the band", 700, 1000, 0, 0.5},
        {"the upper end of the band", 850, 1000, 0, 0.5},
        {"just above the band", 851, 1000, 0, 0.8},
        {"twice what it carries", 2000, 1000, 0, 0.8},
        {"what waits counts: idle", 200, 1000, 299, 0.4},
        {"what waits counts: band", 200, 1000, 300, 0.5},
        {"what waits counts: busy", 0, 1000, 900, 0.8},
        {"rate not known, all drained", 700, 0, 0, 0.4},
        {"rate not known, something waits", 700, 0, 1, 0.4},
    };

    (void)state;
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct asp a = asp_of(ASP_SPEED, 0, 0);

        a.soft = 0.5;
        step(&a, 1, rows[i].made, rows[i].rate, rows[i].backlog);
        if ((int64_t)(a.soft * SCALE + 0.5) != (int64_t)(rows[i].soft * SCALE + 0.5)) {
            fail_msg("%s: %f, not %f", rows[i].what, a.soft, rows[i].soft);
        }
    }
}

static void test_the_soft_threshold_stays_between_its_least_and_the_hard_one(void **state)
{
    struct asp a = asp_of(ASP_SPEED, 0, 0);

    (void)state;
    for (uint64_t c = 1; c <= 100; c++) {
        double before = asp_soft(&a);

        step(&a, c, 0, 1000, 0);
        assert_true(asp_soft(&a) <= before);
    }
    soft_is(&a, 0.01);
    for (uint64_t c = 101; c <= 200; c++) {
        double before = asp_soft(&a);

        step(&a, c, 5000, 1000, 0);
        assert_true(asp_soft(&a) >= before);
    }
    soft_is(&a, 1);
}

static void test_it_rises_faster_than_it_sinks(void **state)
{
    struct asp a = asp_of(ASP_SPEED, 0, 0);

    (void)state;
    a.soft = 0.5;
    step(&a, 1, 0, 1000, 0);
    step(&a, 2, 0, 1000, 0);
    step(&a, 3, 1000, 1000, 0);
    assert_true(asp_soft(&a) > 0.5);
}

static void test_the_busiest_link_decides(void **state)
{
    struct asp_link links[] = {{.bytes_per_s = 100000, .backlog_bytes = 900},
                               {.bytes_per_s = 1000, .backlog_bytes = 900},
                               {.backlog_bytes = 900}};
    struct asp_clock clock = {.clock = 1,
                              .took_ns = SECOND_NS,
                              .made_bytes = 900,
                              .copies = 3,
                              .links = links,
                              .links_count = 3};
    struct asp a = asp_of(ASP_SPEED, 0, 0);

    (void)state;
    a.soft = 0.5;
    asp_step(&a, &clock);
    soft_is(&a, 0.8);
    links[1].bytes_per_s = 100000;
    asp_step(&a, &clock);
    soft_is(&a, 0.64);
    assert_int_equal(a.sent_bytes, 5400);
}

/* Alone, there is nobody to wait for: nothing is used. */
static void test_without_links_and_without_time_nothing_is_divided_by_zero(void **state)
{
    struct asp_link link = {.bytes_per_s = 1000};
    struct asp_clock clock = {.clock = 1, .made_bytes = 10, .copies = 1};
    struct asp a = asp_of(ASP_SPEED, 0, 0);

    (void)state;
    asp_step(&a, &clock);
    soft_is(&a, 0.8);
    clock.links = &link;
    clock.links_count = 1; /* The clock took no time at all. */
    asp_step(&a, &clock);
    soft_is(&a, 0.64);
    assert_false(asp_raises(&a, &clock, &link));
    link.backlog_bytes = 10;
    asp_step(&a, &clock);
    soft_is(&a, 0.512);
    assert_false(asp_raises(&a, &clock, &link));
}

static void test_goal_cost_sends_only_what_must_be_sent(void **state)
{
    struct asp a = asp_of(ASP_COST, 0, 0);

    (void)state;
    for (uint64_t c = 1; c <= 20; c++) {
        step(&a, c, c % 3, 1000, 0);
        soft_is(&a, 1);
    }
    assert_int_equal(a.sent_bytes, 21);
}

/* 1,000 bytes in 10 clocks: of what is left, each clock has its part. */
static void test_a_budget_holds_the_soft_threshold_up(void **state)
{
    struct asp a = asp_of(ASP_SPEED, 1000, 10);

    (void)state;
    a.soft = 0.5;
    step(&a, 1, 100, 100000, 0); /* 900 left for 9: just enough. */
    assert_false(a.bound);
    soft_is(&a, 0.4);
    step(&a, 2, 101, 100000, 0); /* 799 left for 8. */
    assert_true(a.bound);
    assert_false(a.over);
    soft_is(&a, 0.64);
    step(&a, 3, 50, 100000, 0); /* 749 left for 7. */
    assert_false(a.bound);
    soft_is(&a, 0.512);
}

static void test_a_budget_that_is_used_up_ends_the_soft_threshold(void **state)
{
    struct asp a = asp_of(ASP_SPEED, 1000, 10);

    (void)state;
    a.soft = 0.1;
    step(&a, 1, 999, 100000, 0);
    assert_true(a.bound);
    assert_false(a.over);
    soft_is(&a, 0.16);
    step(&a, 2, 1, 100000, 0);
    assert_true(a.over);
    soft_is(&a, 1);
    step(&a, 3, 0, 100000, 0); /* Nothing is made: still over. */
    assert_true(a.over);
    soft_is(&a, 1);
}

static void test_a_budget_counts_every_copy(void **state)
{
    struct asp_link link = {.bytes_per_s = 100000};
    struct asp_clock clock = {.clock = 1,
                              .took_ns = SECOND_NS,
                              .made_bytes = 20,
                              .copies = 10,
                              .links = &link,
                              .links_count = 1};
    struct asp a = asp_of(ASP_SPEED, 1000, 10);

    (void)state;
    asp_step(&a, &clock);
    assert_int_equal(a.sent_bytes, 200);
    assert_true(a.bound);
}

/* As many clocks as there have been are still to come, as far as anybody knows. */
static void test_a_budget_without_an_end_is_spent_evenly(void **state)
{
    struct asp a = asp_of(ASP_SPEED, 1000, 0);

    (void)state;
    step(&a, 1, 300, 100000, 0); /* 700 left for 2. */
    assert_false(a.bound);
    step(&a, 2, 200, 100000, 0); /* 500 left for 3. */
    assert_true(a.bound);
    for (uint64_t c = 3; c < 1000; c++) {
        uint64_t left = 1000 - a.sent_bytes;

        step(&a, c, left / (c + 2), 100000, 0);
        assert_false(a.bound);
        assert_false(a.over);
    }
}

static void test_a_barrier_is_raised_when_a_link_cannot_drain_the_clock(void **state)
{
    static const struct {
        const char *what;
        bool barrier;
        uint64_t made, rate, backlog;
        int64_t took_ns;
        bool raises;
        uint64_t passed;
    } rows[] = {
        {"less than it drains", true, 999, 1000, 0, SECOND_NS, false, 0},
        {"just what it drains", true, 1000, 1000, 0, SECOND_NS, false, 0},
        {"one byte more", true, 1001, 1000, 0, SECOND_NS, true, 0},
        {"what waits counts, equal", true, 400, 1000, 600, SECOND_NS, false, 0},
        {"what waits counts, more", true, 400, 1000, 601, SECOND_NS, true, 0},
        {"nothing is made: nothing to announce", true, 0, 1000, 9000, SECOND_NS, false, 0},
        {"a hub that only passes on", true, 0, 1000, 1001, SECOND_NS, true, 1},
        {"... and its link drains it", true, 0, 1000, 1000, SECOND_NS, false, 1000},
        {"rate not known", true, 9000, 0, 0, SECOND_NS, false, 0},
        {"a longer clock drains more", true, 2000, 1000, 0, 2 * SECOND_NS, false, 0},
        {"a shorter one less", true, 600, 1000, 0, SECOND_NS / 2, true, 0},
        {"switched off", false, 5000, 1000, 0, SECOND_NS, false, 0},
    };

    (void)state;
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct asp_link link = {.bytes_per_s = rows[i].rate,
                                .backlog_bytes = rows[i].backlog + rows[i].made};
        struct asp_clock clock = {.clock = 1,
                                  .took_ns = rows[i].took_ns,
                                  .made_bytes = rows[i].made,
                                  .passed_bytes = rows[i].passed,
                                  .copies = 1,
                                  .links = &link,
                                  .links_count = 1};
        struct asp a = asp_of(ASP_SPEED, 0, 0);

        a.config.barrier = rows[i].barrier;
        if (asp_raises(&a, &clock, &link) != rows[i].raises) {
            fail_msg("%s: should %sraise a barrier", rows[i].what, rows[i].raises ? "" : "not ");
        }
    }
}

/* Half of the clocks that the mirror clock allows, but one at least; if it allows any number, one.
 */
static void test_a_barrier_comes_before_the_mirror_clock(void **state)
{
    static const struct {
        uint64_t staleness, clocks;
    } rows[] = {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 2}, {16, 8}, {UINT64_MAX, 1}};

    (void)state;
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct asp_link link = {.bytes_per_s = 1000, .backlog_bytes = rows[i].clocks * 1000};
        struct asp_clock clock = {.clock = 1,
                                  .took_ns = SECOND_NS,
                                  .made_bytes = 1,
                                  .copies = 1,
                                  .links = &link,
                                  .links_count = 1};
        struct asp a = asp_of(ASP_SPEED, 0, 0);

        a.config.staleness = rows[i].staleness;
        assert_false(asp_raises(&a, &clock, &link));
        link.backlog_bytes++;
        assert_true(asp_raises(&a, &clock, &link));
    }
}

/* A link that drains its rate each clock, and updates whose sizes are such that a threshold half
 * as high lets twice as many through. Returns the use after the last clock. */
static double run_link(struct asp *a, uint64_t rate, uint64_t hard_bytes, uint32_t clocks)
{
    uint64_t backlog = 0;
    double use = 0;

    for (uint32_t c = 1; c <= clocks; c++) {
        uint64_t made = (uint64_t)((double)hard_bytes / asp_soft(a));

        use = (double)(backlog + made) / (double)rate;
        step(a, c, made, rate, backlog);
        backlog = backlog + made > rate ? backlog + made - rate : 0;
    }
    return use;
}

static void test_many_clocks_lead_to_a_use_between_the_bounds(void **state)
{
    uint32_t inside = 0;

    (void)state;
    for (uint64_t hard = 1; hard <= 1000; hard++) {
        struct asp a = asp_of(ASP_SPEED, 0, 0);
        double use = run_link(&a, 100000, hard * 100, 400);

        if (hard < 5) { /* Even all there is does not fill one half of the link. */
            soft_is(&a, 0.01);
        } else if (hard > 850) { /* What must be sent is too much already. */
            soft_is(&a, 1);
        } else if (use < 0.5 || use > 0.85) {
            fail_msg("%u hundred bytes must go: use is %f", (unsigned)hard, use);
        } else {
            inside++;
        }
    }
    assert_int_equal(inside, 846);
}

/* It does not swing for ever: once it is in the band it stays there. */
static void test_a_threshold_in_the_band_rests(void **state)
{
    struct asp a = asp_of(ASP_SPEED, 0, 0);
    double rest;

    (void)state;
    (void)run_link(&a, 100000, 7300, 400);
    rest = asp_soft(&a);
    (void)run_link(&a, 100000, 7300, 50);
    soft_is(&a, rest);
    assert_true(rest < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_first_only_what_must_be_sent_is),
        cmocka_unit_test(test_the_soft_threshold_follows_the_use_of_the_link),
        cmocka_unit_test(test_the_soft_threshold_stays_between_its_least_and_the_hard_one),
        cmocka_unit_test(test_it_rises_faster_than_it_sinks),
        cmocka_unit_test(test_the_busiest_link_decides),
        cmocka_unit_test(test_without_links_and_without_time_nothing_is_divided_by_zero),
        cmocka_unit_test(test_goal_cost_sends_only_what_must_be_sent),
        cmocka_unit_test(test_a_budget_holds_the_soft_threshold_up),
        cmocka_unit_test(test_a_budget_that_is_used_up_ends_the_soft_threshold),
        cmocka_unit_test(test_a_budget_counts_every_copy),
        cmocka_unit_test(test_a_budget_without_an_end_is_spent_evenly),
        cmocka_unit_test(test_a_barrier_is_raised_when_a_link_cannot_drain_the_clock),
        cmocka_unit_test(test_a_barrier_comes_before_the_mirror_clock),
        cmocka_unit_test(test_many_clocks_lead_to_a_use_between_the_bounds),
        cmocka_unit_test(test_a_threshold_in_the_band_rests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
