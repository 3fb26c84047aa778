/* Mirrors in groups, case by case: who is hub, what a hub adds up, waits for and passes on, and
 * what goes directly after all. */

#include "sync/testing_groups.h"

/* Who is hub. */

static void test_those_named_are_hubs_first_and_then_any(void **state)
{
    struct mirror m;

    (void)state;
    testing_open(&m, &grouped, NEAR, groups_of, 4);
    hubs_set(&m, NEAR, FAR, 2, 1);
    hubs_set(&m, FAR, NEAR, 4, MIRROR_NOBODY);
    testing_begin_all(&m);
    way_is(&m, 2, 4);
    mirror_down(&m, 2, 0);
    way_is(&m, 1, 4);
    mirror_down(&m, 1, 0);
    way_is(&m, MIRROR_SELF, 4);
    mirror_down(&m, 4, 0);
    way_is(&m, MIRROR_SELF, 3);
    testing_meet(&m, 2);
    testing_meet(&m, 4);
    way_is(&m, 2, 4);
    mirror_deinit(&m);
}

static void test_without_names_the_first_of_a_group_is_hub(void **state)
{
    struct mirror m;

    (void)state;
    testing_open(&m, &grouped, NEAR, groups_of, 4);
    testing_begin_all(&m);
    way_is(&m, MIRROR_SELF, 3);
    mirror_deinit(&m);
}

static void test_with_nobody_in_the_other_group_all_goes_directly(void **state)
{
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, 1, 3);
    mirror_down(&m, 3, 0);
    mirror_down(&m, 4, 0);
    way_is(&m, MIRROR_NOBODY, MIRROR_NOBODY);
    testing_make(&m, 0, 1);
    mirror_advance(&m, 1);
    assert_int_equal(testing_look(&m, 1)->groups, 0);
    mirror_up(&m, 4, true, 0);
    way_is(&m, MIRROR_NOBODY, MIRROR_NOBODY); /* It has not said what it has. */
    testing_confirm(&m, 4, nr(0));
    way_is(&m, 1, 4);
    (void)testing_sends_own(&m, 4, 0, nr(0), nr(1)); /* What was made before. */
    mirror_deinit(&m);
}

static void test_a_fresh_site_is_no_hub(void **state)
{
    struct mirror_report report = {.number = nr_of(2, 0), .floor = nr_of(2, 0), .fresh = true};
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, 1, 3);
    mirror_up(&m, 3, true, 0);
    assert_int_equal(mirror_hear(&m, 3, &report, 0), OK);
    way_is(&m, 1, 4);
    mirror_deinit(&m);
}

static void test_who_begins_last_uses_hubs_at_once(void **state)
{
    struct mirror m;

    (void)state;
    testing_open(&m, &grouped, NEAR, groups_of, 4);
    hubs_set(&m, NEAR, FAR, MIRROR_SELF, MIRROR_NOBODY);
    hubs_set(&m, FAR, NEAR, 3, MIRROR_NOBODY);
    for (uint32_t i = 1; i <= 4; i++) {
        mirror_up(&m, i, true, 0);
        testing_confirm(&m, i, nr(0));
    }
    mirror_begin(&m, 0);
    way_is(&m, MIRROR_SELF, 3);
    mirror_deinit(&m);
}

/* Our own pieces. */

static void test_a_piece_goes_to_our_group_and_to_others_by_the_hub(void **state)
{
    const struct mirror_frame *frame;
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, 1, 3);
    testing_make(&m, 0, 1);
    mirror_advance(&m, 1);
    frame = testing_sends_own(&m, 1, 0, nr(0), nr(1)); /* For itself and for passing on. */
    assert_int_equal(frame->groups, TO_FAR);
    frame = testing_sends_own(&m, 2, 0, nr(0), nr(1));
    assert_int_equal(frame->groups, 0);
    testing_quiet(&m, 3);
    testing_quiet(&m, 4);
    frame = testing_send(&m, 1);
    assert_int_equal(frame->kind, MIRROR_MARKS);
    assert_int_equal(frame->mark_count, 2);
    assert_int_equal(frame->marks[0].groups, 0);
    assert_int_equal(frame->marks[1].groups, TO_FAR);
    assert_int_equal(frame->marks[1].number, nr(1));
    assert_int_equal(frame->marks[1].clock, 1);
    assert_int_equal(testing_sends_mark(&m, 2).groups, 0);
    mirror_deinit(&m);
}

static void test_the_hub_sends_its_own_to_the_hub_there(void **state)
{
    const struct mirror_frame *frame;
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, MIRROR_SELF, 3);
    testing_make(&m, 0, 1);
    frame = testing_sends_own(&m, 3, 0, nr(0), nr(1));
    assert_int_equal(frame->groups, TO_FAR);
    testing_quiet(&m, 4);
    mirror_deinit(&m);
}

static void test_when_a_hub_is_lost_what_it_had_goes_directly(void **state)
{
    struct mirror_mark mark;
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, 1, 3);
    testing_make(&m, 0, 1);
    mirror_advance(&m, 1);
    testing_drain(&m, 1);
    testing_drain(&m, 2);
    mirror_down(&m, 1, 0);
    way_is(&m, MIRROR_SELF, 3);
    (void)testing_sends_own(&m, 3, 0, nr(0), nr(1));
    (void)testing_sends_own(&m, 4, 0, nr(0), nr(1));
    mark = testing_sends_mark(&m, 4);
    assert_int_equal(mark.number, nr(1));
    assert_int_equal(mark.clock, 1);
    testing_make(&m, 0, 2); /* The next one goes by the new hub. */
    testing_quiet(&m, 4);
    assert_int_equal(testing_sends_own(&m, 3, 0, nr(1), nr(2))->groups, TO_FAR);
    mirror_deinit(&m);
}

static void test_a_hub_that_is_another_process_has_lost_what_it_had(void **state)
{
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, 1, 3);
    testing_make(&m, 0, 1);
    testing_drain(&m, 1);
    testing_quiet(&m, 4);
    testing_meet(&m, 3);
    way_is(&m, 1, 3);
    (void)testing_sends_own(&m, 4, 0, nr(0), nr(1));
    (void)testing_sends_own(&m, 3, 0, nr(0), nr(1));
    mirror_deinit(&m);
}

static void test_what_hubs_carry_and_nobody_reports_goes_directly(void **state)
{
    struct mirror_config config = grouped;
    struct mirror m;

    (void)state;
    config.stall_ns = 150;
    open_groups(&m, &config, 1, 3);
    testing_make(&m, 0, 1);
    testing_make(&m, 0, 1);
    testing_drain(&m, 1);
    testing_confirm(&m, 3, nr(2));
    assert_false(mirror_tick(&m, 149));
    testing_quiet(&m, 4);
    assert_false(mirror_tick(&m, 150));
    (void)testing_sends_own(&m, 4, 0, nr(0), nr(1)); /* It may have one: they are not added up. */
    (void)testing_sends_own(&m, 4, 0, nr(1), nr(2));
    assert_true(testing_sends_mark(&m, 4).whole);
    testing_quiet(&m, 4);
    testing_make(&m, 0, 1); /* After that it is the hubs' again. */
    testing_quiet(&m, 4);
    mirror_deinit(&m);
}

static void test_without_a_time_for_it_nothing_is_taken_for_stalled(void **state)
{
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, 1, 3);
    testing_make(&m, 0, 1);
    testing_drain(&m, 1);
    assert_false(mirror_tick(&m, INT64_C(1) << 60));
    testing_quiet(&m, 4);
    mirror_deinit(&m);
}

/* What a hub passes on. */

static void test_a_hub_adds_up_pieces_of_several_sites_with_its_own(void **state)
{
    const struct mirror_frame *frame;
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, MIRROR_SELF, 3);
    assert_int_equal(passes(&m, 1, 0, TO_FAR, 1, nr(0), nr(1)), 1);
    assert_int_equal(passes(&m, 2, 0, TO_FAR, 2, nr(0), nr(5)), 1);
    assert_int_equal(passes(&m, 2, 1, TO_FAR, 2, nr(0), nr(6)), 1);
    assert_int_equal(passes(&m, 1, 0, TO_FAR, 1, nr(1), nr(2)), 1);
    testing_make(&m, 0, 1);
    assert_int_equal(m.sites[3].relays_bytes, 4 * TESTING_BYTES);
    frame = testing_send(&m, 3);
    assert_int_equal(frame->kind, MIRROR_PIECE);
    assert_int_equal(frame->chunk, 0);
    assert_int_equal(frame->groups, TO_FAR);
    assert_int_equal(frame->token_count, 4);
    assert_ptr_equal(frame->tokens[3], testing_payload(1));
    assert_int_equal(frame->range_count, 3); /* Each site once. */
    assert_int_equal(frame->ranges[0].site, 1);
    assert_int_equal(frame->ranges[0].prev, nr(0));
    assert_int_equal(frame->ranges[0].number, nr(2));
    assert_int_equal(frame->ranges[1].site, 2);
    assert_int_equal(frame->ranges[1].number, nr(5));
    assert_int_equal(frame->ranges[2].site, MIRROR_SELF);
    assert_int_equal(frame->ranges[2].number, nr(1));
    assert_int_equal(released(&m), 3);
    frame = testing_send(&m, 3);
    assert_int_equal(frame->chunk, 1);
    assert_int_equal(frame->token_count, 1);
    assert_int_equal(m.sites[3].relays_bytes, 0);
    testing_drain(&m, 3);
    testing_quiet(&m, 4);
    mirror_deinit(&m);
}

/* One is missing between them: the receiver could stand there. */
static void test_a_hub_does_not_add_up_what_does_not_follow(void **state)
{
    const struct mirror_frame *frame;
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, MIRROR_SELF, 3);
    (void)passes(&m, 1, 0, TO_FAR, 1, nr(0), nr(1));
    (void)passes(&m, 1, 0, TO_FAR, 1, nr(2), nr(3));
    frame = testing_send(&m, 3);
    assert_int_equal(frame->range_count, 1);
    assert_int_equal(frame->ranges[0].number, nr(1));
    frame = testing_send(&m, 3);
    assert_int_equal(frame->range_count, 1);
    assert_int_equal(frame->ranges[0].prev, nr(2));
    mirror_deinit(&m);
}

static void test_the_hub_of_the_other_group_passes_to_all_but_whom_it_came_from(void **state)
{
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, MIRROR_SELF, 3);
    assert_int_equal(passes(&m, 3, 0, TO_NEAR, 3, nr(0), nr(1)), 2);
    for (uint32_t i = 1; i <= 2; i++) {
        const struct mirror_frame *frame = testing_send(&m, i);

        assert_int_equal(frame->kind, MIRROR_PIECE);
        assert_int_equal(frame->groups, 0); /* They keep it. */
        assert_int_equal(frame->ranges[0].site, 3);
    }
    assert_int_equal(passes(&m, 1, 0, TO_NEAR, 3, nr(1), nr(2)), 1);
    testing_quiet(&m, 1);
    mirror_deinit(&m);
}

static void test_marks_go_behind_the_pieces_that_they_speak_of(void **state)
{
    const struct mirror_frame *frame;
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, MIRROR_SELF, 3);
    (void)passes(&m, 1, 0, TO_FAR, 1, nr(0), nr(1));
    marks(&m, 1, TO_FAR, 1, nr(0), nr(1), 1);
    (void)passes(&m, 1, 1, TO_FAR, 1, nr(0), nr(2));
    marks(&m, 1, TO_FAR, 1, nr(0), nr(2), 2);
    assert_int_equal(testing_send(&m, 3)->kind, MIRROR_PIECE);
    assert_int_equal(testing_send(&m, 3)->kind, MIRROR_PIECE);
    frame = testing_send(&m, 3);
    assert_int_equal(frame->kind, MIRROR_MARKS);
    assert_int_equal(frame->mark_count, 1);
    assert_int_equal(frame->marks[0].site, 1);
    assert_int_equal(frame->marks[0].groups, TO_FAR);
    assert_int_equal(frame->marks[0].answer, 0);
    assert_int_equal(frame->marks[0].from, nr(0));
    assert_int_equal(frame->marks[0].number, nr(2));
    assert_int_equal(frame->marks[0].clock, 2);
    testing_quiet(&m, 3);
    mirror_deinit(&m);
}

/* The link is never idle: three pieces come for each that goes. Marks go between them, each behind
 * all that it speaks of. */
static void test_marks_are_not_held_up_by_pieces_that_come_later(void **state)
{
    uint64_t came[2] = {nr(0), nr(0)}, gone[2] = {nr(0), nr(0)}, first[2] = {0, 0};
    uint64_t number = nr(0), marked = nr(0);
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, MIRROR_SELF, 3);
    for (uint64_t clock = 1; clock <= 20; clock++) {
        const struct mirror_frame *frame;

        for (uint32_t i = 0; i < 3; i++) {
            uint32_t c = (uint32_t)(clock + i) % 2;

            number++;
            first[c] = came[c] == gone[c] ? number : first[c];
            (void)passes(&m, 1, c, TO_FAR, 1, came[c], number);
            came[c] = number;
        }
        marks(&m, 1, TO_FAR, 1, nr(0), number, clock);
        frame = testing_send(&m, 3);
        if (frame->kind == MIRROR_PIECE) {
            gone[frame->chunk] = frame->ranges[0].number;
            continue;
        }
        assert_true(frame->marks[0].number > marked);
        marked = frame->marks[0].number;
        for (uint32_t c = 0; c < 2; c++) {
            assert_true(came[c] == gone[c] || first[c] > marked);
        }
    }
    assert_true(marked > nr(3 * 10));
    mirror_deinit(&m);
}

static void test_a_member_that_was_away_gets_no_mark_that_lies(void **state)
{
    struct mirror_mark mark;
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, MIRROR_SELF, 3);
    mirror_down(&m, 1, 0);
    assert_int_equal(passes(&m, 3, 0, TO_NEAR, 3, nr(0), nr(1)), 1);
    testing_meet(&m, 1);
    testing_drain(&m, 1);
    assert_int_equal(passes(&m, 3, 0, TO_NEAR, 3, nr(1), nr(2)), 2);
    marks(&m, 3, TO_NEAR, 3, nr(0), nr(2), 2);
    for (uint32_t i = 1; i <= 2; i++) {
        while (testing_look(&m, i)->kind == MIRROR_PIECE) {
            (void)testing_send(&m, i);
        }
        mark = testing_sends_mark(&m, i);
        assert_int_equal(mark.site, 3);
        assert_int_equal(mark.from, i == 1 ? nr(1) : nr(0));
        assert_int_equal(mark.number, nr(2));
    }
    mirror_deinit(&m);
}

static void test_what_waits_for_a_member_goes_with_its_session(void **state)
{
    struct mirror_mark mark;
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, MIRROR_SELF, 3);
    assert_int_equal(passes(&m, 3, 0, TO_NEAR, 3, nr(0), nr(1)), 2);
    marks(&m, 3, TO_NEAR, 3, nr(0), nr(1), 1);
    mirror_down(&m, 1, 0);
    assert_int_equal(released(&m), 1);
    assert_int_equal(m.sites[1].relays_bytes, 0);
    testing_meet(&m, 1);
    testing_drain(&m, 1);
    testing_quiet(&m, 1); /* Neither the piece nor the mark. */
    marks(&m, 3, TO_NEAR, 3, nr(0), nr(1), 2);
    mark = testing_sends_mark(&m, 1);
    assert_int_equal(mark.from, nr(1)); /* Who has all up to here may believe it. */
    mirror_deinit(&m);
}

/* A peer with another configuration. */
static void test_without_groups_nothing_is_passed_on(void **state)
{
    struct mirror_config config = {.staleness = 2, .life = 1};
    struct mirror m;

    (void)state;
    testing_mesh(&m, &config, 2);
    assert_int_equal(passes(&m, 1, 0, TO_NEAR | TO_FAR, 1, nr(0), nr(1)), 0);
    marks(&m, 1, TO_NEAR | TO_FAR, 1, nr(0), nr(1), 1);
    assert_int_equal(m.sites[1].stable, nr(1));
    testing_quiet(&m, 2);
    mirror_deinit(&m);
}

static void test_bits_of_groups_that_there_are_not_mean_nothing(void **state)
{
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, MIRROR_SELF, 3);
    assert_int_equal(passes(&m, 1, 0, ~0u & ~(uint32_t)(TO_NEAR | TO_FAR), 1, nr(0), nr(1)), 0);
    marks(&m, 1, 1u << 31, 1, nr(0), nr(1), 1);
    assert_int_equal(m.sites[1].stable, nr(1));
    testing_quiet(&m, 2);
    testing_quiet(&m, 3);
    mirror_deinit(&m);
}

/* Marks of ourselves to thirty groups and of sixty sites: more than one frame takes. */
static void test_marks_that_find_no_place_go_in_the_next_frame(void **state)
{
    struct mirror_config config = {.staleness = 2, .life = 1, .groups = MIRROR_GROUPS_MAX};
    uint32_t groups[MIRROR_SITES_MAX - 1], marks_count = 0, frames = 0;
    struct mirror m;

    (void)state;
    for (uint32_t i = 0; i < MIRROR_SITES_MAX - 1; i++) {
        groups[i] = i % MIRROR_GROUPS_MAX;
    }
    testing_open(&m, &config, 0, groups, MIRROR_SITES_MAX - 1);
    for (uint32_t g = 1; g < MIRROR_GROUPS_MAX; g++) {
        hubs_set(&m, 0, g, 1, MIRROR_NOBODY); /* Site 1 is hub of our group for all. */
    }
    testing_begin_all(&m);
    mirror_advance(&m, 1);
    for (uint32_t i = 2; i < MIRROR_SITES_MAX; i++) {
        marks(&m, i, 1u, i, nr(0), nr(0), 1);
    }
    while (testing_send(&m, 1)->kind == MIRROR_MARKS) {
        frames++;
    }
    assert_int_equal(frames, 2);
    assert_int_equal(m.sites[1].passed_due, 0);
    for (uint32_t g = 1; g < MIRROR_GROUPS_MAX; g++) {
        marks_count += m.ways[g].marked_clock == 1;
    }
    assert_int_equal(marks_count, MIRROR_GROUPS_MAX - 1);
    mirror_deinit(&m);
}

/* Gathering. */

static void open_gathering(struct mirror *m)
{
    struct mirror_config config = grouped;

    config.gather_ns = 20;
    open_groups(m, &config, MIRROR_SELF, 3);
}

/* All of a clock is on its way to the other group. */
static void clock_goes(struct mirror *m, uint32_t pieces, uint32_t marks_count)
{
    for (uint32_t i = 0; i < pieces; i++) {
        assert_int_equal(testing_send(m, 3)->kind, MIRROR_PIECE);
    }
    assert_int_equal(testing_look(m, 3)->kind, MIRROR_MARKS);
    assert_int_equal(testing_send(m, 3)->mark_count, marks_count);
    testing_quiet(m, 3);
}

static void test_a_hub_waits_until_all_of_its_group_have_sent(void **state)
{
    struct mirror m;

    (void)state;
    open_gathering(&m);
    for (uint64_t c = 1; c <= 3; c++) {
        (void)passes(&m, 1, 0, TO_FAR, 1, nr(c - 1), nr(c));
        marks(&m, 1, TO_FAR, 1, nr(0), nr(c), c);
        testing_quiet(&m, 3);
        testing_make(&m, 0, c);
        mirror_advance(&m, c);
        testing_quiet(&m, 3);
        (void)passes(&m, 2, 0, TO_FAR, 2, nr(c - 1), nr(c));
        testing_quiet(&m, 3);
        marks(&m, 2, TO_FAR, 2, nr(0), nr(c), c);
        assert_int_equal(testing_look(&m, 3)->token_count, 3); /* In one. */
        clock_goes(&m, 1, 3);
    }
    mirror_deinit(&m);
}

static void test_a_hub_does_not_wait_for_who_is_away_or_done(void **state)
{
    struct mirror_report report = {.number = nr(0), .floor = nr(0), .stable = nr(0), .done = true};
    struct mirror m;

    (void)state;
    open_gathering(&m);
    mirror_down(&m, 1, 0);
    assert_int_equal(mirror_hear(&m, 2, &report, 0), OK);
    testing_make(&m, 0, 1);
    testing_quiet(&m, 3);
    mirror_advance(&m, 1);
    clock_goes(&m, 1, 1);
    mirror_deinit(&m);
}

static void test_a_hub_waits_so_long_at_most(void **state)
{
    struct mirror m;

    (void)state;
    open_gathering(&m);
    (void)passes(&m, 1, 0, TO_FAR, 1, nr(0), nr(1));
    marks(&m, 1, TO_FAR, 1, nr(0), nr(1), 1);
    assert_false(mirror_tick(&m, 100));
    assert_false(mirror_tick(&m, 119));
    testing_quiet(&m, 3);
    assert_false(mirror_tick(&m, 120));
    clock_goes(&m, 1, 1);
    (void)passes(&m, 1, 0, TO_FAR, 1, nr(1), nr(2)); /* And then it waits again. */
    testing_quiet(&m, 3);
    assert_false(mirror_tick(&m, 130));
    assert_false(mirror_tick(&m, 149));
    testing_quiet(&m, 3);
    assert_false(mirror_tick(&m, 150));
    assert_int_equal(testing_look(&m, 3)->kind, MIRROR_PIECE);
    mirror_deinit(&m);
}

static void test_time_counts_from_when_something_waits(void **state)
{
    struct mirror m;

    (void)state;
    open_gathering(&m);
    assert_false(mirror_tick(&m, 100)); /* Nothing has come yet. */
    assert_false(mirror_tick(&m, 900));
    (void)passes(&m, 1, 0, TO_FAR, 1, nr(0), nr(1));
    testing_quiet(&m, 3);
    assert_false(mirror_tick(&m, 901));
    testing_quiet(&m, 3);
    assert_false(mirror_tick(&m, 921));
    assert_int_equal(testing_look(&m, 3)->kind, MIRROR_PIECE);
    mirror_deinit(&m);
}

static void test_our_own_pieces_wait_so_long_at_most_too(void **state)
{
    struct mirror m;

    (void)state;
    open_gathering(&m);
    testing_make(&m, 0, 1);
    assert_false(mirror_tick(&m, 100));
    testing_quiet(&m, 3);
    assert_false(mirror_tick(&m, 120));
    assert_int_equal(testing_send(&m, 3)->kind, MIRROR_PIECE);
    testing_drain(&m, 3);
    mirror_advance(&m, 1); /* A clock is something too. */
    assert_false(mirror_tick(&m, 200));
    testing_quiet(&m, 3);
    assert_false(mirror_tick(&m, 220));
    assert_int_equal(testing_look(&m, 3)->kind, MIRROR_MARKS);
    mirror_deinit(&m);
}

/* Who had sent before time was up is waited for again. */
static void test_after_the_time_all_are_waited_for_again(void **state)
{
    struct mirror m;

    (void)state;
    open_gathering(&m);
    mirror_advance(&m, 1);
    marks(&m, 1, TO_FAR, 1, nr(0), nr(0), 1);
    assert_false(mirror_tick(&m, 100));
    assert_false(mirror_tick(&m, 120));
    testing_drain(&m, 3);
    marks(&m, 2, TO_FAR, 2, nr(0), nr(0), 1);
    testing_quiet(&m, 3);
    marks(&m, 1, TO_FAR, 1, nr(0), nr(0), 2);
    mirror_advance(&m, 2);
    clock_goes(&m, 0, 4); /* Three to pass on, and ours for itself. */
    mirror_deinit(&m);
}

/* Want of memory. */

static void test_what_is_lost_for_want_of_memory_is_in_no_mark(void **state)
{
    struct mirror_range range = {.site = 3, .prev = nr(0), .number = nr(1)};
    uint32_t kept;
    uint64_t k = 0;
    enum err rc;

    (void)state;
    do {
        struct mirror m;

        open_groups(&m, &grouped, MIRROR_SELF, 3);
        kept = 0;
        mem_fail_at(++k, 1);
        rc = mirror_pass(&m, 3, 0, 1, TO_NEAR, &range, 1, TESTING_BYTES, keep, &kept);
        mem_fail_at(0, 0);
        assert_int_equal(rc, k <= 2 ? ERR_NOMEM : OK);
        assert_int_equal(kept, k <= 2 ? 1 : 2);
        marks(&m, 3, TO_NEAR, 3, nr(0), nr(1), 1);
        for (uint32_t i = 1; i <= 2; i++) {
            bool lost = i == k;

            assert_int_equal(m.sites[i].relays_bytes, lost ? 0 : TESTING_BYTES);
            assert_int_equal(testing_look(&m, i)->kind, lost ? MIRROR_MARKS : MIRROR_PIECE);
            while (testing_look(&m, i)->kind == MIRROR_PIECE) {
                (void)testing_send(&m, i);
            }
            assert_int_equal(testing_sends_mark(&m, i).from, lost ? nr(1) : nr(0));
        }
        mirror_deinit(&m);
    } while (rc != OK);
    assert_int_equal(k, 3);
}

static void test_what_could_not_be_passed_on_at_all_is_in_no_mark(void **state)
{
    struct mirror_range range = {.site = 3, .prev = nr(0), .number = nr(1)};
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, MIRROR_SELF, 3);
    mirror_pass_failed(&m, TO_NEAR, &range, 1);
    marks(&m, 3, TO_NEAR, 3, nr(0), nr(1), 1);
    for (uint32_t i = 1; i <= 2; i++) {
        assert_int_equal(testing_sends_mark(&m, i).from, nr(1));
    }
    assert_int_equal(passes(&m, 3, 0, TO_NEAR, 3, nr(1), nr(2)), 2); /* The next one goes. */
    mirror_deinit(&m);
}

static const struct mirror_config mesh = {.staleness = 2, .life = 1};

/* What hubs bring while the site's own answer is on its way is mostly in that; it is asked again
 * when the answer is there, and only if something is not in it. */
static void test_a_site_is_asked_once_for_all_that_hubs_bring_in_vain(void **state)
{
    struct mirror_range ranges[] = {{1, nr(0), nr(2)}, {2, nr(0), nr(3)}};
    struct mirror m;
    uint32_t asked;

    (void)state;
    testing_mesh(&m, &mesh, 4);
    for (uint32_t c = 0; c < 3; c++) {
        assert_int_equal(testing_judge(&m, c, 1, nr(0), nr(2)), MIRROR_TAKE);
    }
    assert_int_equal(mirror_judge(&m, 0, ranges, 2, false, false), MIRROR_REFUSE);
    asked = m.sites[2].request;
    ranges[1].number = nr(5);
    assert_int_equal(mirror_judge(&m, 1, ranges, 2, false, false), MIRROR_REFUSE);
    assert_int_equal(m.sites[2].request, asked);
    testing_mark(&m, 2, 2, nr(0), nr(5), 5); /* The whole answer, with all of that. */
    assert_false(m.sites[2].doubt);
    assert_int_equal(m.sites[2].request, asked);

    ranges[1] = (struct mirror_range){2, nr(0), nr(7)};
    assert_int_equal(mirror_judge(&m, 0, ranges, 2, false, false), MIRROR_REFUSE);
    ranges[1].number = nr(9);
    assert_int_equal(mirror_judge(&m, 1, ranges, 2, false, false), MIRROR_REFUSE);
    assert_int_equal(m.sites[2].request, asked + 1);
    testing_mark(&m, 2, 2, nr(0), nr(8), 8); /* Too early for the second. */
    assert_true(m.sites[2].doubt);
    assert_int_equal(m.sites[2].request, asked + 2);
    assert_int_equal(m.sites[2].stable, nr(8));

    ranges[1].number = nr(11); /* The answer itself does not fit: there will be no better one. */
    assert_int_equal(mirror_judge(&m, 2, ranges, 2, false, true), MIRROR_REFUSE);
    assert_int_equal(m.sites[2].request, asked + 3);
    mirror_deinit(&m);
}

/* Chunk after chunk goes with all that has come together of it meanwhile. */
static void test_what_waited_goes_together_chunk_by_chunk(void **state)
{
    const struct mirror_frame *frame;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &mesh, 3);
    for (uint64_t clock = 1; clock <= 3; clock++) {
        for (uint32_t c = 0; c < 3; c++) {
            testing_make(&m, c, clock);
        }
        mirror_advance(&m, clock);
    }
    assert_int_equal(mirror_waiting_bytes(&m, 1), 3 * TESTING_BYTES);
    for (uint32_t c = 0; c < 3; c++) {
        frame = testing_send(&m, 1);
        assert_int_equal(frame->kind, MIRROR_PIECE);
        assert_int_equal(frame->chunk, c);
        assert_int_equal(frame->token_count, 3);
        assert_int_equal(frame->clock, 3);
    }
    assert_int_equal(mirror_waiting_bytes(&m, 1), 0);
    assert_int_equal(testing_sends_mark(&m, 1).clock, 3);

    /* Again, after its session was lost: it may have some of it, so each piece goes alone. */
    mirror_down(&m, 1, 0);
    mirror_up(&m, 1, true, 0);
    testing_request(&m, 1, nr(0));
    for (uint32_t i = 0; i < 9; i++) {
        do {
            frame = testing_send(&m, 1);
        } while (frame->kind == MIRROR_MARKS);
        assert_int_equal(frame->kind, MIRROR_PIECE);
        assert_int_equal(frame->token_count, 1);
    }
    mirror_deinit(&m);
}

/* What waits, for whom, and for which groups by it: what may have to be announced. */

static void waits(const struct mirror *m, uint32_t site, uint32_t index, uint64_t payload,
                  uint32_t groups)
{
    uint32_t its = 99;

    assert_ptr_equal(mirror_waiting(m, site, index, &its), testing_payload(payload));
    assert_int_equal(its, groups);
}

static void waits_no_more(const struct mirror *m, uint32_t site, uint32_t count)
{
    uint32_t groups;

    assert_null(mirror_waiting(m, site, count, &groups));
    assert_int_equal(mirror_waiting_bytes(m, site), count * TESTING_BYTES);
}

static void newest_is(const struct mirror *m, uint32_t chunk, uint32_t site, uint64_t payload,
                      uint32_t groups)
{
    uint32_t its = 99;

    assert_ptr_equal(mirror_newest(m, chunk, site, &its), testing_payload(payload));
    assert_int_equal(its, groups);
}

static void newest_waits_not(const struct mirror *m, uint32_t chunk, uint32_t site)
{
    uint32_t groups;

    assert_null(mirror_newest(m, chunk, site, &groups));
}

static void test_what_goes_by_the_hub_waits_for_the_hub_alone(void **state)
{
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, 1, 3);
    testing_make(&m, 0, 1);
    testing_make(&m, 1, 1);
    newest_is(&m, 0, 1, 1, TO_FAR); /* For itself too. */
    newest_is(&m, 0, 2, 1, 0);
    newest_waits_not(&m, 0, 3);
    newest_waits_not(&m, 0, 4);
    waits(&m, 1, 0, 1, TO_FAR);
    waits(&m, 1, 1, 2, TO_FAR);
    waits_no_more(&m, 1, 2);
    waits_no_more(&m, 2, 2);
    waits_no_more(&m, 3, 0);
    waits_no_more(&m, 4, 0);
    testing_drain(&m, 1);
    newest_waits_not(&m, 0, 1);
    waits_no_more(&m, 1, 0);
    waits_no_more(&m, 2, 2);
    waits_no_more(&m, 4, 0); /* The hub has it, and not we. */
    mirror_deinit(&m);
}

static void test_what_a_hub_is_to_pass_on_waits_behind_its_own(void **state)
{
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, MIRROR_SELF, 3);
    testing_make(&m, 0, 1);
    assert_int_equal(passes(&m, 1, 0, TO_FAR, 1, nr(0), nr(1)), 1);
    assert_int_equal(passes(&m, 2, 1, TO_FAR, 2, nr(0), nr(5)), 1);
    newest_is(&m, 0, 3, 1, TO_FAR);
    newest_is(&m, 0, 1, 1, 0);
    newest_waits_not(&m, 0, 4);
    waits(&m, 3, 0, 1, TO_FAR);
    waits(&m, 3, 1, 500, TO_FAR);
    waits(&m, 3, 2, 500, TO_FAR);
    waits_no_more(&m, 3, 3);
    waits(&m, 1, 0, 1, 0); /* What it sent itself does not come back to it. */
    waits_no_more(&m, 1, 1);
    waits_no_more(&m, 4, 0);
    testing_drain(&m, 3);
    waits_no_more(&m, 3, 0);
    newest_waits_not(&m, 0, 3);
    mirror_deinit(&m);
}

static void test_what_came_for_our_group_waits_for_each_member(void **state)
{
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, MIRROR_SELF, 3);
    assert_int_equal(passes(&m, 3, 0, TO_NEAR, 4, nr(0), nr(2)), 2);
    for (uint32_t i = 1; i <= 2; i++) {
        waits(&m, i, 0, 500, 0);
        waits_no_more(&m, i, 1);
    }
    waits_no_more(&m, 3, 0);
    mirror_down(&m, 1, 0); /* It will ask for it. */
    waits_no_more(&m, 1, 0);
    waits_no_more(&m, 2, 1);
    (void)released(&m);
    mirror_deinit(&m);
}

/* Also while a hub waits for the others of its group. */
static void test_what_is_gathered_waits(void **state)
{
    struct mirror_config config = grouped;
    struct mirror m;

    (void)state;
    config.gather_ns = 100;
    open_groups(&m, &config, MIRROR_SELF, 3);
    (void)passes(&m, 1, 0, TO_FAR, 1, nr(0), nr(1));
    testing_make(&m, 1, 1);
    testing_quiet(&m, 3);
    newest_is(&m, 1, 3, 1, TO_FAR);
    waits(&m, 3, 0, 1, TO_FAR);
    waits(&m, 3, 1, 500, TO_FAR);
    waits_no_more(&m, 3, 2);
    mirror_deinit(&m);
}

static void test_what_a_lost_hub_had_waits_for_the_sites_themselves(void **state)
{
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, 1, 3);
    testing_make(&m, 0, 1);
    testing_drain(&m, 1);
    mirror_down(&m, 1, 0);
    way_is(&m, MIRROR_SELF, 3);
    newest_is(&m, 0, 3, 1, 0);
    newest_is(&m, 0, 4, 1, 0);
    waits(&m, 4, 0, 1, 0);
    testing_make(&m, 1, 1); /* This one by the hub over there. */
    newest_is(&m, 1, 3, 2, TO_FAR);
    newest_waits_not(&m, 1, 4);
    waits_no_more(&m, 3, 2);
    waits_no_more(&m, 4, 1);
    mirror_deinit(&m);
}

static void test_next_hops_are_where_pieces_are_passed_on_to(void **state)
{
    struct mirror m;

    (void)state;
    open_groups(&m, &grouped, MIRROR_SELF, 3);
    assert_int_equal(mirror_next_hops(&m, 1, TO_FAR), 1u << 3);
    assert_int_equal(mirror_next_hops(&m, 3, TO_NEAR), 1u << 1 | 1u << 2);
    assert_int_equal(mirror_next_hops(&m, 1, TO_NEAR | TO_FAR), 1u << 2 | 1u << 3);
    assert_int_equal(mirror_next_hops(&m, 3, TO_FAR), 0); /* It came from there. */
    assert_int_equal(mirror_next_hops(&m, 1, 0), 0);
    assert_int_equal(mirror_hop_groups(&m, 1), 0);
    assert_int_equal(mirror_hop_groups(&m, 3), TO_FAR);
    mirror_down(&m, 3, 0);
    assert_int_equal(mirror_next_hops(&m, 1, TO_FAR), 1u << 4);
    mirror_down(&m, 4, 0);
    assert_int_equal(mirror_next_hops(&m, 1, TO_FAR), 0);
    mirror_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_those_named_are_hubs_first_and_then_any),
        cmocka_unit_test(test_without_names_the_first_of_a_group_is_hub),
        cmocka_unit_test(test_with_nobody_in_the_other_group_all_goes_directly),
        cmocka_unit_test(test_a_fresh_site_is_no_hub),
        cmocka_unit_test(test_who_begins_last_uses_hubs_at_once),
        cmocka_unit_test(test_a_piece_goes_to_our_group_and_to_others_by_the_hub),
        cmocka_unit_test(test_the_hub_sends_its_own_to_the_hub_there),
        cmocka_unit_test(test_when_a_hub_is_lost_what_it_had_goes_directly),
        cmocka_unit_test(test_a_hub_that_is_another_process_has_lost_what_it_had),
        cmocka_unit_test(test_what_hubs_carry_and_nobody_reports_goes_directly),
        cmocka_unit_test(test_without_a_time_for_it_nothing_is_taken_for_stalled),
        cmocka_unit_test(test_a_hub_adds_up_pieces_of_several_sites_with_its_own),
        cmocka_unit_test(test_a_hub_does_not_add_up_what_does_not_follow),
        cmocka_unit_test(test_the_hub_of_the_other_group_passes_to_all_but_whom_it_came_from),
        cmocka_unit_test(test_marks_go_behind_the_pieces_that_they_speak_of),
        cmocka_unit_test(test_marks_are_not_held_up_by_pieces_that_come_later),
        cmocka_unit_test(test_a_member_that_was_away_gets_no_mark_that_lies),
        cmocka_unit_test(test_what_waits_for_a_member_goes_with_its_session),
        cmocka_unit_test(test_without_groups_nothing_is_passed_on),
        cmocka_unit_test(test_bits_of_groups_that_there_are_not_mean_nothing),
        cmocka_unit_test(test_marks_that_find_no_place_go_in_the_next_frame),
        cmocka_unit_test(test_a_hub_waits_until_all_of_its_group_have_sent),
        cmocka_unit_test(test_a_hub_does_not_wait_for_who_is_away_or_done),
        cmocka_unit_test(test_a_hub_waits_so_long_at_most),
        cmocka_unit_test(test_time_counts_from_when_something_waits),
        cmocka_unit_test(test_our_own_pieces_wait_so_long_at_most_too),
        cmocka_unit_test(test_after_the_time_all_are_waited_for_again),
        cmocka_unit_test(test_what_is_lost_for_want_of_memory_is_in_no_mark),
        cmocka_unit_test(test_what_could_not_be_passed_on_at_all_is_in_no_mark),
        cmocka_unit_test(test_a_site_is_asked_once_for_all_that_hubs_bring_in_vain),
        cmocka_unit_test(test_what_waited_goes_together_chunk_by_chunk),
        cmocka_unit_test(test_what_goes_by_the_hub_waits_for_the_hub_alone),
        cmocka_unit_test(test_what_a_hub_is_to_pass_on_waits_behind_its_own),
        cmocka_unit_test(test_what_came_for_our_group_waits_for_each_member),
        cmocka_unit_test(test_what_is_gathered_waits),
        cmocka_unit_test(test_what_a_lost_hub_had_waits_for_the_sites_themselves),
        cmocka_unit_test(test_next_hops_are_where_pieces_are_passed_on_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
