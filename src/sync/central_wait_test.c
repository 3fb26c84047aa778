/* Tests of sync/central: for whom a site waits, and when nothing is under way any more. */

#include "sync/central.h"

/* cmocka wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SITES = 3, CHUNKS = 2, CENTRE = 1 };

struct trio {
    struct central sites[SITES];
};

static void trio_init(struct trio *t)
{
    for (uint32_t i = 0; i < SITES; i++) {
        assert_int_equal(central_init(&t->sites[i], SITES, i, false), OK);
        assert_int_equal(central_reserve(&t->sites[i], CHUNKS), OK);
        central_grow(&t->sites[i], CHUNKS, 0);
    }
}

static void trio_deinit(struct trio *t)
{
    for (uint32_t i = 0; i < SITES; i++) {
        central_deinit(&t->sites[i]);
    }
}

static void expect_wait(const struct central *c, enum central_wait wait, uint32_t site)
{
    uint32_t whom;

    assert_int_equal(central_waits(c, &whom), wait);
    assert_int_equal(whom, site);
}

static void stands(struct trio *t, uint32_t site)
{
    struct central_stand stand = central_stand(&t->sites[site]);

    assert_int_equal(central_stood(&t->sites[CENTRE], site, &stand), OK);
}

static void begin(struct trio *t)
{
    const struct central_plan plan = {.epoch = 1, .centre = CENTRE, .active = 7};
    const uint64_t voids[1] = {0};

    for (uint32_t i = 0; i < SITES; i++) {
        assert_true(central_adopt(&t->sites[i], &plan));
    }
    for (uint32_t i = 0; i < SITES; i++) {
        stands(t, i);
    }
    assert_true(central_begin(&t->sites[CENTRE]));
    central_go(&t->sites[0], 1, voids, 1);
    central_go(&t->sites[2], 1, voids, 1);
}

static void sums(struct trio *t, uint32_t site, uint32_t chunk, uint64_t round)
{
    central_gathered(&t->sites[site], chunk, round);
    assert_int_equal(central_sum(&t->sites[CENTRE], 1, site, chunk, round), CENTRAL_TAKE);
}

static void enters(struct trio *t, uint32_t site, uint32_t chunk, uint64_t round)
{
    (void)central_entered(&t->sites[site], chunk, round, 7);
    central_acked(&t->sites[CENTRE], 1, site, chunk, round);
}

static void test_a_plan_is_waited_for(void **state)
{
    const struct central_plan plan = {.epoch = 1, .centre = CENTRE, .active = 3};
    struct trio t;

    (void)state;
    trio_init(&t);
    expect_wait(&t.sites[0], CENTRAL_WAIT_PLAN, CENTRAL_SITES_MAX);
    for (uint32_t i = 0; i < SITES; i++) {
        assert_true(central_adopt(&t.sites[i], &plan));
    }
    expect_wait(&t.sites[0], CENTRAL_WAIT_PLAN, CENTRE);
    expect_wait(&t.sites[2], CENTRAL_WAIT_PLAN, CENTRAL_SITES_MAX); /* It is left out. */
    stands(&t, CENTRE);
    expect_wait(&t.sites[CENTRE], CENTRAL_WAIT_PLAN, 0);
    assert_false(central_is_quiet(&t.sites[CENTRE]));
    stands(&t, 0);
    assert_true(central_begin(&t.sites[CENTRE]));
    expect_wait(&t.sites[CENTRE], CENTRAL_WAIT_NOBODY, CENTRAL_SITES_MAX);
    trio_deinit(&t);
}

static void test_a_plan_may_begin_before_there_is_a_table(void **state)
{
    const struct central_plan plan = {.epoch = 1, .centre = 0, .active = 1};
    struct central_stand stand;
    struct central c;

    (void)state;
    assert_int_equal(central_init(&c, 1, 0, false), OK);
    assert_true(central_adopt(&c, &plan));
    stand = central_stand(&c);
    assert_int_equal(central_stood(&c, 0, &stand), OK);
    assert_true(central_begin(&c));
    central_voids(&c, 0, NULL); /* There is nothing to be written. */
    assert_true(central_is_quiet(&c));
    expect_wait(&c, CENTRAL_WAIT_NOBODY, CENTRAL_SITES_MAX);
    central_deinit(&c);
}

static void test_sums_and_results_are_waited_for(void **state)
{
    uint64_t in;
    struct trio t;

    (void)state;
    trio_init(&t);
    begin(&t);
    for (uint32_t i = 0; i < SITES; i++) {
        assert_true(central_is_quiet(&t.sites[i]));
    }
    sums(&t, CENTRE, 0, 1);
    sums(&t, CENTRE, 1, 1);
    assert_false(central_is_quiet(&t.sites[CENTRE]));
    expect_wait(&t.sites[CENTRE], CENTRAL_WAIT_SUM, 0); /* The first of two. */
    sums(&t, 0, 0, 1);
    expect_wait(&t.sites[0], CENTRAL_WAIT_RESULT, CENTRE);
    assert_false(central_is_quiet(&t.sites[0]));
    expect_wait(&t.sites[CENTRE], CENTRAL_WAIT_SUM, 2); /* Missed in more chunks. */
    sums(&t, 2, 0, 1);
    expect_wait(&t.sites[2], CENTRAL_WAIT_RESULT, CENTRE);
    (void)central_closed(&t.sites[CENTRE], 0, &in);
    enters(&t, 0, 0, 1);
    expect_wait(&t.sites[0], CENTRAL_WAIT_NOBODY, CENTRAL_SITES_MAX);
    assert_true(central_is_quiet(&t.sites[0]));
    trio_deinit(&t);
}

static void test_who_has_no_workers_is_waited_for_to_get_results(void **state)
{
    uint64_t in;
    struct trio t;

    (void)state;
    trio_init(&t);
    begin(&t);
    central_idle(&t.sites[CENTRE], 2, 0);
    for (uint64_t round = 1; round <= 2; round++) {
        sums(&t, CENTRE, 0, round);
        expect_wait(&t.sites[CENTRE], CENTRAL_WAIT_SUM, 0);
        sums(&t, 0, 0, round);
        if (round == 1) {
            (void)central_closed(&t.sites[CENTRE], 0, &in);
            assert_false(central_is_quiet(&t.sites[CENTRE]));
            enters(&t, 0, 0, round);
        }
    }
    expect_wait(&t.sites[CENTRE], CENTRAL_WAIT_TAKEN, 2);
    enters(&t, 2, 0, 1);
    (void)central_closed(&t.sites[CENTRE], 0, &in);
    enters(&t, 0, 0, 2);
    enters(&t, 2, 0, 2);
    assert_true(central_is_quiet(&t.sites[CENTRE]));
    trio_deinit(&t);
}

static void test_copies_are_waited_for(void **state)
{
    const struct central_plan plan = {.epoch = 2, .centre = CENTRE, .active = 7};
    const uint64_t voids[1] = {1};
    const uint64_t counted[SITES] = {0};
    struct trio t;

    (void)state;
    trio_init(&t);
    begin(&t);
    for (uint32_t i = 0; i < SITES; i++) {
        assert_true(central_adopt(&t.sites[i], &plan));
    }
    central_go(&t.sites[0], 2, voids, 1);
    expect_wait(&t.sites[0], CENTRAL_WAIT_COPY, CENTRE);
    assert_false(central_is_quiet(&t.sites[0]));
    (void)central_copied(&t.sites[0], 0, 0, counted);
    expect_wait(&t.sites[0], CENTRAL_WAIT_NOBODY, CENTRAL_SITES_MAX);
    trio_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plan_is_waited_for),
        cmocka_unit_test(test_a_plan_may_begin_before_there_is_a_table),
        cmocka_unit_test(test_sums_and_results_are_waited_for),
        cmocka_unit_test(test_who_has_no_workers_is_waited_for_to_get_results),
        cmocka_unit_test(test_copies_are_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
