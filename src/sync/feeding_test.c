/* Who feeds whom: by hand, and at random with trees that are drawn. */

#include "sync/feeding.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MS = 1000000 };

static struct feeding feeding;
static uint32_t told[SYNC_MEMBERS_MAX];

/* Members 0 to @count - 1, all of them relays, with a chain of parents: 0 - 1 - 2 ... */
static void chain(uint32_t count)
{
    uint32_t parents[SYNC_MEMBERS_MAX];

    feeding_init(&feeding);
    for (uint32_t r = 0; r < count; r++) {
        feeding_join(&feeding, r, true, 0);
        parents[r] = r == 0 ? FEEDING_LANE : r - 1;
    }
    assert_int_equal(feeding_due_ns(&feeding), FEEDING_SETTLE_MS * (int64_t)MS);
    assert_int_equal(feeding_plan(&feeding, parents, 20 * (int64_t)MS, told), count - 1);
    assert_int_equal(told[0], 1);
    assert_int_equal(feeding_due_ns(&feeding), SYNC_NEVER);
    assert_true(feeding_invariant(&feeding));
}

static void test_the_lane_sends_until_the_parent_does(void **state)
{
    (void)state;
    chain(3);
    for (uint32_t r = 0; r < 3; r++) {
        assert_true(feeding_direct(&feeding, r));
    }
    assert_true(feeding_on(&feeding, 1, feeding_epoch(&feeding, 1)));
    assert_false(feeding_direct(&feeding, 1));
    assert_true(feeding_direct(&feeding, 2));
    assert_false(feeding_on(&feeding, 2, feeding_epoch(&feeding, 2) + 1));
    assert_true(feeding_direct(&feeding, 2));
    assert_false(feeding_on(&feeding, 0, feeding_epoch(&feeding, 0))); /* The lane is its parent. */
    assert_false(feeding_on(&feeding, 9, 0));
    assert_true(feeding_invariant(&feeding));
}

static void test_who_was_fed_by_one_that_left_is_the_lanes(void **state)
{
    (void)state;
    chain(4);
    for (uint32_t r = 1; r < 4; r++) {
        assert_true(feeding_on(&feeding, r, feeding_epoch(&feeding, r)));
    }
    feeding_leave(&feeding, 1, 50 * (int64_t)MS);
    assert_true(feeding_direct(&feeding, 2));
    assert_int_equal(feeding_parent(&feeding, 2), FEEDING_LANE);
    assert_false(feeding_direct(&feeding, 3));
    assert_int_equal(feeding_due_ns(&feeding), (50 + FEEDING_SETTLE_MS) * (int64_t)MS);
    assert_true(feeding_invariant(&feeding));
    feeding_leave(&feeding, 1, 50 * (int64_t)MS); /* Twice is once. */
    assert_true(feeding_invariant(&feeding));
}

static void test_a_parent_that_fails_is_shunned_longer_each_time(void **state)
{
    int64_t now = 0;

    (void)state;
    chain(3);
    for (uint32_t i = 0; i < 9; i++) {
        const uint32_t parents[] = {FEEDING_LANE, 0, FEEDING_LANE};
        uint32_t doublings = i < FEEDING_SHUN_DOUBLINGS ? i : FEEDING_SHUN_DOUBLINGS - 1;
        int64_t until = now + ((int64_t)FEEDING_SHUN_MS * MS << doublings);

        assert_true(feeding_relays(&feeding, 0, now));
        assert_true(feeding_off(&feeding, 1, feeding_epoch(&feeding, 1), now));
        assert_true(feeding_direct(&feeding, 1));
        assert_false(feeding_relays(&feeding, 0, now));
        assert_false(feeding_relays(&feeding, 0, until - 1));
        assert_true(feeding_relays(&feeding, 0, until));
        assert_int_equal(feeding_plan(&feeding, NULL, now + 1, told), i == 0 ? 1 : 0);
        assert_int_equal(feeding_due_ns(&feeding), until); /* It may be one again. */
        now = until;
        (void)feeding_plan(&feeding, parents, now, told);
    }
    now += (int64_t)FEEDING_FORGIVE_MS * MS + 1;
    assert_true(feeding_off(&feeding, 1, feeding_epoch(&feeding, 1), now));
    assert_true(feeding_relays(&feeding, 0, now + (int64_t)FEEDING_SHUN_MS * MS));
}

static void test_an_old_complaint_harms_nobody(void **state)
{
    uint32_t parents[] = {FEEDING_LANE, 0, 0};
    uint32_t epoch;

    (void)state;
    chain(3);
    epoch = feeding_epoch(&feeding, 2);
    assert_int_equal(feeding_plan(&feeding, parents, 1, told), 1);
    assert_int_equal(told[0], 2);
    assert_false(feeding_off(&feeding, 2, epoch, 2));
    assert_true(feeding_relays(&feeding, 0, 2) && feeding_relays(&feeding, 1, 2));
    assert_int_equal(feeding_parent(&feeding, 2), 0);
}

/* A tree over those present, as a planner makes them: parents are relays, earlier in the order. */
static void draw_tree(struct rng *rng, int64_t now, uint32_t *parents)
{
    uint32_t relays[SYNC_MEMBERS_MAX];
    uint32_t count = 0;

    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX; r++) {
        parents[r] = FEEDING_LANE;
        if (feeding_present(&feeding, r)) {
            if (count > 0 && rng_below(rng, 4) != 0) {
                parents[r] = relays[rng_below(rng, count)];
            }
            if (feeding_relays(&feeding, r, now)) {
                relays[count++] = r;
            }
        }
    }
}

static void test_random_schedules_always_lead_to_the_lane(void **state)
{
    uint32_t ons = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint32_t parents[SYNC_MEMBERS_MAX];
        int64_t now = 0;
        struct rng rng;

        rng_init(&rng, seed);
        feeding_init(&feeding);
        for (uint32_t step = 0; step < 200; step++) {
            uint32_t rank = (uint32_t)rng_below(&rng, 12);

            now += (int64_t)rng_below(&rng, 3000) * MS;
            switch (rng_below(&rng, 6)) {
            case 0:
                feeding_join(&feeding, rank, rng_below(&rng, 4) != 0, now);
                break;
            case 1:
                feeding_leave(&feeding, rank, now);
                break;
            case 2:
            case 3:
                ons += feeding_on(&feeding, rank,
                                  feeding_epoch(&feeding, rank) + (rng_below(&rng, 5) == 0));
                break;
            case 4:
                (void)feeding_off(&feeding, rank, feeding_epoch(&feeding, rank), now);
                break;
            default:
                if (feeding_due_ns(&feeding) <= now) {
                    draw_tree(&rng, now, parents);
                    (void)feeding_plan(&feeding, rng_below(&rng, 9) == 0 ? NULL : parents, now,
                                       told);
                    assert_true(feeding_due_ns(&feeding) > now);
                }
            }
            assert_true(feeding_invariant(&feeding));
        }
    }
    assert_true(ons > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_lane_sends_until_the_parent_does),
        cmocka_unit_test(test_who_was_fed_by_one_that_left_is_the_lanes),
        cmocka_unit_test(test_a_parent_that_fails_is_shunned_longer_each_time),
        cmocka_unit_test(test_an_old_complaint_harms_nobody),
        cmocka_unit_test(test_random_schedules_always_lead_to_the_lane),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
