/* Waiting for what is about to come: each rule, then runs against two sites that are late by
 * different times. */

#include "sync/fresh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { NEAR = 1, FAR = 2, SITES = 3, CLOCK_NS = 1000 };

static struct mirror_site sites[SITES];
static struct mirror m;
static struct fresh f;

/* Two other sites are there; a tenth of a clock is worth waiting. */
static int open_two(void **state)
{
    (void)state;
    memset(sites, 0, sizeof(sites));
    for (uint32_t i = 1; i < SITES; i++) {
        sites[i].up = true;
    }
    m = (struct mirror){.sites = sites, .sites_count = SITES};
    fresh_init(&f, 0.1);
    fresh_begin(&f, 0);
    return 0;
}

static void comes(uint32_t site, uint64_t clock, int64_t now_ns)
{
    sites[site].clock = clock;
    fresh_look(&f, &m, now_ns);
}

static void reads(uint64_t clock, int64_t now_ns)
{
    uint32_t whom = MIRROR_NOBODY;
    int64_t until_ns = 0;

    assert_true(fresh_may_read(&f, &m, clock, now_ns, &whom, &until_ns));
}

static void waits(uint64_t clock, int64_t now_ns, uint32_t for_site, int64_t until_ns)
{
    uint32_t whom = MIRROR_NOBODY;
    int64_t until = 0;

    assert_false(fresh_may_read(&f, &m, clock, now_ns, &whom, &until));
    assert_int_equal(whom, for_site);
    assert_int_equal(until, until_ns);
}

static void test_nobody_waits_before_the_first_clock(void **state)
{
    (void)state;
    reads(1, 0);
    reads(1, 500);
}

static void test_readers_wait_for_the_clock_that_is_over_but_not_for_long(void **state)
{
    (void)state;
    fresh_closed(&f, &m, 1, CLOCK_NS);
    waits(2, 1000, NEAR, 1100);
    waits(2, 1099, NEAR, 1100);
    reads(2, 1100);
    comes(NEAR, 1, 1150);
    comes(FAR, 1, 1160);
    fresh_closed(&f, &m, 2, 2000); /* Both were later than a tenth: they are not waited for. */
    reads(3, 2000);
}

static void test_who_came_soon_the_last_time_is_waited_for(void **state)
{
    (void)state;
    fresh_closed(&f, &m, 1, CLOCK_NS);
    waits(2, 1000, NEAR, 1100);
    comes(NEAR, 1, 1050);
    waits(2, 1050, FAR, 1100);
    comes(FAR, 1, 1300);
    reads(2, 1300);
    fresh_closed(&f, &m, 2, 2000);
    waits(3, 2000, NEAR, 2100);
    comes(NEAR, 2, 2040);
    reads(3, 2040); /* The far one was late by 300 of 1000. */
    comes(FAR, 2, 2060);
    fresh_closed(&f, &m, 3, 3000); /* Its link has become faster. */
    comes(NEAR, 3, 3001);
    waits(4, 3001, FAR, 3100);
}

static void test_those_who_are_ahead_are_not_late(void **state)
{
    (void)state;
    comes(NEAR, 2, 900);
    comes(FAR, 1, 950);
    fresh_closed(&f, &m, 1, CLOCK_NS);
    reads(2, 1000);
    fresh_closed(&f, &m, 2, 2000);
    waits(3, 2000, FAR, 2100); /* It was here before us the last time. */
}

static void test_only_the_newest_clock_waits(void **state)
{
    (void)state;
    fresh_closed(&f, &m, 1, CLOCK_NS);
    fresh_closed(&f, &m, 2, 2000);
    reads(2, 2000);
    reads(1, 2000);
    fresh_closed(&f, &m, 1, 2500); /* Known: it does not begin anew. */
    assert_int_equal(f.closed_ns, 2000);
}

/* A chunk may be complete before the whole clock is: its reader is the first to know. */
static void test_a_clock_is_over_for_the_first_who_asks(void **state)
{
    (void)state;
    waits(2, 1000, NEAR, 1100);
    fresh_closed(&f, &m, 1, 1040);
    waits(2, 1050, NEAR, 1100);
    comes(NEAR, 1, 1060);
    comes(FAR, 1, 1070);
    assert_int_equal(f.sites[FAR].late_ns, 70);
    reads(2, 1070);
}

static void test_sites_that_are_away_left_out_or_done_are_not_waited_for(void **state)
{
    (void)state;
    fresh_closed(&f, &m, 1, CLOCK_NS);
    sites[NEAR].up = false;
    waits(2, 1010, FAR, 1100);
    sites[FAR].left_out = true;
    reads(2, 1020);
    sites[NEAR].up = true;
    waits(2, 1030, NEAR, 1100);
    sites[NEAR].done = true;
    reads(2, 1040);
}

static void test_a_site_that_never_comes_is_waited_for_once(void **state)
{
    (void)state;
    sites[FAR].up = false;
    fresh_closed(&f, &m, 1, CLOCK_NS);
    waits(2, 1000, NEAR, 1100);
    fresh_closed(&f, &m, 2, 2100);
    reads(3, 2100);
    comes(NEAR, 1, 2200); /* A clock and more late. */
    assert_int_equal(f.sites[NEAR].late_ns, 100 + 1100);
    fresh_closed(&f, &m, 3, 3100);
    reads(4, 3100);
}

/* One that came back in mid-run counts from where it was let in. */
static void test_offsets_count(void **state)
{
    (void)state;
    sites[FAR].up = false;
    fresh_closed(&f, &m, 1, CLOCK_NS);
    sites[NEAR].offset = 1;
    fresh_look(&f, &m, 1010);
    reads(2, 1010);
}

static void test_with_no_part_of_a_clock_nobody_waits(void **state)
{
    (void)state;
    fresh_init(&f, 0);
    fresh_begin(&f, 0);
    fresh_closed(&f, &m, 1, CLOCK_NS);
    reads(2, CLOCK_NS);
}

static void test_after_a_pause_the_length_of_a_clock_is_learnt_anew(void **state)
{
    (void)state;
    sites[FAR].up = false;
    fresh_closed(&f, &m, 1, CLOCK_NS);
    fresh_begin(&f, 1000000);
    reads(2, 1000001);
    fresh_closed(&f, &m, 2, 1001000);
    assert_int_equal(f.took_ns, 1000);
}

/* All comes 40 after each clock, whether clocks take 500 or 1000: worth it in the second case. */
static void test_clocks_that_become_longer_make_waiting_worth_it(void **state)
{
    int64_t now_ns = 0;
    uint32_t waited[2] = {0, 0};

    (void)state;
    for (uint64_t clock = 1; clock <= 40; clock++) {
        bool late = clock > 20;
        uint32_t whom;
        int64_t until_ns;

        now_ns += late ? 1000 : 300;
        fresh_closed(&f, &m, clock, now_ns);
        waited[late] += !fresh_may_read(&f, &m, clock + 1, now_ns, &whom, &until_ns);
        comes(NEAR, clock, now_ns + 40);
        comes(FAR, clock, now_ns + 40);
    }
    assert_int_equal(waited[0], 1); /* The first one, when nothing was known. */
    assert_int_equal(waited[1], 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nobody_waits_before_the_first_clock, open_two),
        cmocka_unit_test_setup(test_readers_wait_for_the_clock_that_is_over_but_not_for_long,
                               open_two),
        cmocka_unit_test_setup(test_who_came_soon_the_last_time_is_waited_for, open_two),
        cmocka_unit_test_setup(test_those_who_are_ahead_are_not_late, open_two),
        cmocka_unit_test_setup(test_only_the_newest_clock_waits, open_two),
        cmocka_unit_test_setup(test_a_clock_is_over_for_the_first_who_asks, open_two),
        cmocka_unit_test_setup(test_sites_that_are_away_left_out_or_done_are_not_waited_for,
                               open_two),
        cmocka_unit_test_setup(test_a_site_that_never_comes_is_waited_for_once, open_two),
        cmocka_unit_test_setup(test_offsets_count, open_two),
        cmocka_unit_test_setup(test_with_no_part_of_a_clock_nobody_waits, open_two),
        cmocka_unit_test_setup(test_after_a_pause_the_length_of_a_clock_is_learnt_anew, open_two),
        cmocka_unit_test_setup(test_clocks_that_become_longer_make_waiting_worth_it, open_two),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
