/* Mirrors, case by case: what is taken, what is believed, what is sent, who is waited for. What is
 * kept is in mirror_keep_test.c, the ways between groups in mirror_way_test.c, random fleets in
 * mirror_test.c. */

#include "sync/testing_peers.h"

#include <string.h>

static const struct mirror_config plain = {.staleness = 2, .life = 1};

/* The chain of pieces. */

static void test_a_piece_that_follows_is_taken_and_a_known_one_is_dropped(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    assert_int_equal(testing_judge(&m, 0, 1, nr(0), nr(3)), MIRROR_TAKE);
    assert_int_equal(testing_judge(&m, 0, 1, nr(3), nr(7)), MIRROR_TAKE);
    assert_int_equal(mirror_contained(&m, 0, 1), nr(7));
    assert_int_equal(testing_judge(&m, 0, 1, nr(0), nr(3)), MIRROR_DROP);
    assert_int_equal(testing_judge(&m, 0, 1, nr(3), nr(7)), MIRROR_DROP);
    assert_int_equal(testing_judge(&m, 0, 1, nr(0), nr(7)), MIRROR_DROP);
    assert_int_equal(testing_judge(&m, 1, 1, nr(0), nr(2)), MIRROR_TAKE); /* By chunk ... */
    assert_int_equal(testing_judge(&m, 0, 2, nr(0), nr(2)), MIRROR_TAKE); /* ... and site. */
    assert_int_equal(mirror_contained(&m, 0, 1), nr(7));
    assert_false(m.sites[1].doubt);
    mirror_deinit(&m);
}

static void test_a_piece_is_held_until_the_one_before_it_has_come(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    assert_int_equal(testing_judge(&m, 0, 1, nr(3), nr(7)), MIRROR_HOLD);
    assert_int_equal(m.sites[1].holding, 1);
    assert_int_equal(testing_judge_held(&m, 0, 1, nr(3), nr(7)), MIRROR_HOLD);
    assert_int_equal(m.sites[1].holding, 1); /* It is the same one. */
    assert_int_equal(testing_judge(&m, 0, 1, nr(0), nr(3)), MIRROR_TAKE);
    assert_int_equal(testing_judge_held(&m, 0, 1, nr(3), nr(7)), MIRROR_TAKE);
    assert_int_equal(m.sites[1].holding, 0);
    assert_int_equal(mirror_contained(&m, 0, 1), nr(7));
    mirror_deinit(&m);
}

static void test_a_piece_across_what_is_contained_is_refused_and_asked_for(void **state)
{
    struct mirror_report report;
    uint32_t before;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    mirror_say(&m, 1, &report);
    before = report.request;
    assert_int_equal(testing_judge(&m, 0, 1, nr(0), nr(3)), MIRROR_TAKE);
    assert_int_equal(testing_judge(&m, 0, 1, nr(0), nr(5)), MIRROR_REFUSE);
    assert_int_equal(mirror_contained(&m, 0, 1), nr(3));
    assert_true(mirror_say_due(&m, 1));
    mirror_say(&m, 1, &report);
    assert_int_equal(report.request, before + 1);
    assert_int_equal(report.stable, nr(0));
    assert_false(m.sites[2].doubt);
    mirror_deinit(&m);
}

static void test_a_merged_piece_is_taken_whole_or_not_at_all(void **state)
{
    struct mirror_range ranges[] = {{1, nr(0), nr(2)}, {2, nr(0), nr(4)}};
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 3);
    assert_int_equal(mirror_judge(&m, 0, ranges, 2, false, true), MIRROR_TAKE);
    assert_int_equal(mirror_judge(&m, 0, ranges, 2, false, true), MIRROR_DROP);
    assert_int_equal(testing_judge(&m, 1, 1, nr(0), nr(2)), MIRROR_TAKE);
    testing_mark(&m, 3, 1, nr(0), nr(2), 1);
    assert_int_equal(mirror_judge(&m, 1, ranges, 2, false, true), MIRROR_REFUSE);
    assert_int_equal(mirror_contained(&m, 1, 2), 0);
    assert_true(m.sites[2].doubt);
    assert_false(m.sites[1].doubt); /* What is stable of it needs no asking. */
    assert_int_equal(testing_judge(&m, 2, 2, nr(0), nr(4)), MIRROR_TAKE);
    ranges[0] = (struct mirror_range){1, nr(2), nr(3)};
    assert_int_equal(mirror_judge(&m, 2, ranges, 2, false, true), MIRROR_REFUSE);
    assert_true(m.sites[1].doubt);
    mirror_deinit(&m);
}

static void test_a_merged_piece_with_an_early_part_is_held_for_all_its_sites(void **state)
{
    struct mirror_range ranges[] = {{1, nr(0), nr(2)}, {2, nr(1), nr(4)}};
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    assert_int_equal(mirror_judge(&m, 0, ranges, 2, false, true), MIRROR_HOLD);
    assert_int_equal(m.sites[1].holding, 1);
    assert_int_equal(m.sites[2].holding, 1);
    assert_int_equal(mirror_contained(&m, 0, 1), 0);
    assert_int_equal(testing_judge(&m, 0, 2, nr(0), nr(1)), MIRROR_TAKE);
    assert_int_equal(mirror_judge(&m, 0, ranges, 2, true, true), MIRROR_TAKE);
    assert_int_equal(m.sites[1].holding + m.sites[2].holding, 0);
    mirror_deinit(&m);
}

static void test_what_is_our_own_is_known(void **state)
{
    struct mirror_range ranges[] = {{MIRROR_SELF, nr(0), nr(1)}, {1, nr(0), nr(1)}};
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    assert_int_equal(mirror_judge(&m, 0, ranges, 1, false, true), MIRROR_DROP);
    assert_int_equal(mirror_judge(&m, 0, ranges, 2, false, true), MIRROR_REFUSE);
    assert_int_equal(mirror_contained(&m, 0, MIRROR_SELF), 0);
    assert_true(m.sites[1].doubt);
    mirror_deinit(&m);
}

static void test_a_new_life_begins_at_its_base(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    assert_int_equal(testing_judge(&m, 0, 1, nr(0), nr(5)), MIRROR_TAKE);
    assert_int_equal(testing_judge(&m, 0, 1, nr_of(2, 1), nr_of(2, 2)), MIRROR_HOLD);
    assert_int_equal(testing_judge(&m, 0, 1, nr_of(2, 0), nr_of(2, 1)), MIRROR_TAKE);
    assert_int_equal(testing_judge_held(&m, 0, 1, nr_of(2, 1), nr_of(2, 2)), MIRROR_TAKE);
    assert_int_equal(testing_judge(&m, 0, 1, nr(5), nr(6)), MIRROR_DROP); /* Too late. */
    assert_int_equal(mirror_contained(&m, 0, 1), nr_of(2, 2));
    mirror_deinit(&m);
}

/* Marks. */

static void test_a_mark_moves_number_and_clock_and_is_reported(void **state)
{
    struct mirror_report report;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    mirror_say(&m, 1, &report);
    assert_false(mirror_say_due(&m, 1));
    testing_mark(&m, 1, 1, nr(0), nr(4), 3);
    assert_int_equal(m.sites[1].stable, nr(4));
    assert_int_equal(m.sites[1].clock, 3);
    assert_true(mirror_moved(&m));
    assert_false(mirror_moved(&m));
    assert_true(mirror_say_due(&m, 1));
    mirror_say(&m, 1, &report);
    assert_int_equal(report.stable, nr(4));
    testing_mark(&m, 1, 1, nr(0), nr(4), 4); /* A clock without a piece. */
    assert_int_equal(m.sites[1].clock, 4);
    assert_true(mirror_moved(&m));
    testing_mark(&m, 1, 1, nr(0), nr(3), 2); /* Nothing goes back. */
    assert_int_equal(m.sites[1].stable, nr(4));
    assert_int_equal(m.sites[1].clock, 4);
    assert_false(mirror_moved(&m));
    mirror_deinit(&m);
}

static void test_a_mark_from_above_what_is_stable_waits(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    testing_mark(&m, 2, 1, nr(3), nr(6), 5);
    assert_int_equal(m.sites[1].stable, nr(0));
    assert_int_equal(m.sites[1].clock, 0);
    testing_mark(&m, 1, 1, nr(0), nr(2), 1);
    assert_int_equal(m.sites[1].stable, nr(2));
    testing_mark(&m, 1, 1, nr(0), nr(3), 2);
    assert_int_equal(m.sites[1].stable, nr(6));
    assert_int_equal(m.sites[1].clock, 5);
    mirror_deinit(&m);
}

static void test_a_piece_that_is_held_keeps_a_mark_back(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    assert_int_equal(testing_judge(&m, 0, 1, nr(1), nr(2)), MIRROR_HOLD);
    testing_mark(&m, 1, 1, nr(0), nr(2), 1);
    assert_int_equal(m.sites[1].stable, nr(0));
    testing_mark(&m, 2, 2, nr(0), nr(2), 1); /* Of others it does not. */
    assert_int_equal(m.sites[2].stable, nr(2));
    assert_int_equal(testing_judge(&m, 0, 1, nr(0), nr(1)), MIRROR_TAKE);
    assert_int_equal(m.sites[1].stable, nr(0));
    assert_int_equal(testing_judge_held(&m, 0, 1, nr(1), nr(2)), MIRROR_TAKE);
    assert_int_equal(m.sites[1].stable, nr(2));
    assert_int_equal(m.sites[1].clock, 1);
    mirror_deinit(&m);
}

static void test_of_two_marks_that_wait_the_one_with_the_later_clock_counts(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    assert_int_equal(testing_judge(&m, 0, 1, nr(1), nr(2)), MIRROR_HOLD);
    testing_mark(&m, 1, 1, nr(0), nr(2), 1);
    testing_mark(&m, 1, 1, nr(0), nr(2), 2); /* A clock without a piece. */
    assert_int_equal(testing_judge(&m, 0, 1, nr(0), nr(1)), MIRROR_TAKE);
    assert_int_equal(testing_judge_held(&m, 0, 1, nr(1), nr(2)), MIRROR_TAKE);
    assert_int_equal(m.sites[1].stable, nr(2));
    assert_int_equal(m.sites[1].clock, 2); /* It will not be said again. */
    mirror_deinit(&m);
}

static void test_a_held_piece_that_is_lost_is_asked_for(void **state)
{
    struct mirror_range range = {1, nr(1), nr(2)};
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    assert_int_equal(mirror_judge(&m, 0, &range, 1, false, true), MIRROR_HOLD);
    testing_mark(&m, 1, 1, nr(0), nr(2), 1);
    mirror_lose(&m, &range, 1);
    assert_int_equal(m.sites[1].holding, 0);
    assert_int_equal(m.sites[1].stable, nr(0)); /* The mark was about what is lost. */
    assert_true(m.sites[1].doubt);
    mirror_deinit(&m);
}

static void test_in_doubt_only_the_answer_is_believed_and_only_a_whole_one_ends_it(void **state)
{
    struct mirror_mark mark = {.site = 1, .from = nr(0), .number = nr(4), .clock = 4};
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    mirror_up(&m, 1, true, 0);
    assert_true(m.sites[1].doubt);
    mark.answer = m.sites[1].request;
    mirror_marked(&m, 2, &mark); /* Not from the site itself. */
    mark.answer = m.sites[1].request - 1;
    mark.whole = true;
    mirror_marked(&m, 1, &mark); /* The answer to an earlier request. */
    assert_int_equal(m.sites[1].stable, nr(0));
    mark.answer = m.sites[1].request;
    mark.whole = false;
    mark.number = nr(2);
    mark.clock = 2;
    mirror_marked(&m, 1, &mark);
    assert_int_equal(m.sites[1].stable, nr(2));
    assert_true(m.sites[1].doubt);
    testing_mark(&m, 2, 1, nr(0), nr(9), 9);
    assert_int_equal(m.sites[1].stable, nr(2));
    testing_mark(&m, 1, 1, nr(0), nr(4), 4);
    assert_false(m.sites[1].doubt);
    testing_mark(&m, 2, 1, nr(0), nr(9), 9);
    assert_int_equal(m.sites[1].stable, nr(9));
    mirror_deinit(&m);
}

static void test_a_new_life_has_a_clock_of_its_own(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    testing_mark(&m, 1, 1, nr(0), nr(4), 9);
    testing_mark(&m, 1, 1, nr_of(2, 0), nr_of(2, 0), 5);
    assert_int_equal(m.sites[1].stable, nr_of(2, 0));
    assert_int_equal(m.sites[1].clock, 5);
    mirror_deinit(&m);
}

static void test_a_mark_says_only_clocks_whose_pieces_have_gone(void **state)
{
    struct mirror_mark mark;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    testing_make(&m, 0, 1);
    mirror_advance(&m, 1);
    testing_make(&m, 1, 2);
    mirror_advance(&m, 2);
    testing_make(&m, 2, 3); /* Clock 3 is still open. */
    (void)testing_sends_own(&m, 1, 0, nr(0), nr(1));
    mark = testing_sends_mark(&m, 1); /* A whole clock has gone: it is said at once. */
    assert_int_equal(mark.number, nr(1));
    assert_int_equal(mark.clock, 1);
    (void)testing_sends_own(&m, 1, 1, nr(0), nr(2));
    mark = testing_sends_mark(&m, 1);
    assert_int_equal(mark.number, nr(2));
    assert_int_equal(mark.clock, 2);
    (void)testing_sends_own(&m, 1, 2, nr(0), nr(3));
    mark = testing_sends_mark(&m, 1);
    assert_int_equal(mark.number, nr(3));
    assert_int_equal(mark.clock, 2);
    mirror_advance(&m, 3);
    mark = testing_sends_mark(&m, 1);
    assert_int_equal(mark.clock, 3);
    testing_quiet(&m, 1);
    mirror_deinit(&m);
}

static void test_what_comes_late_of_a_life_before_counts_no_more(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    assert_int_equal(testing_judge(&m, 0, 1, nr(3), nr(4)), MIRROR_HOLD);
    testing_hear(&m, 1, nr_of(2, 0), 0, nr(0), 0);
    m.sites[1].torn = false; /* As if all had agreed. */
    assert_int_equal(testing_judge_held(&m, 0, 1, nr(3), nr(4)), MIRROR_DROP);
    assert_int_equal(m.sites[1].holding, 0);
    assert_int_equal(testing_judge(&m, 0, 1, nr(0), nr(3)), MIRROR_DROP);
    assert_int_equal(mirror_contained(&m, 0, 1), 0);
    testing_mark(&m, 1, 1, nr_of(2, 0), nr_of(2, 0), 2);
    testing_mark(&m, 2, 1, nr(0), nr(4), 9); /* By a hub: that was another clock. */
    assert_int_equal(m.sites[1].stable, nr_of(2, 0));
    assert_int_equal(m.sites[1].clock, 2);
    mirror_deinit(&m);
}

/* Say of a chunk that is not there yet. */
static void test_a_piece_that_cannot_be_judged_yet_keeps_marks_back(void **state)
{
    struct mirror_range range = {1, nr(0), nr(1)};
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    mirror_hold(&m, &range, 1);
    testing_mark(&m, 1, 1, nr(0), nr(1), 1);
    assert_int_equal(m.sites[1].stable, nr(0));
    assert_int_equal(mirror_grow(&m, 1), OK);
    assert_int_equal(mirror_judge(&m, TESTING_CHUNKS, &range, 1, true, true), MIRROR_TAKE);
    assert_int_equal(m.sites[1].stable, nr(1));
    mirror_deinit(&m);
}

/* Merging. */

static void test_pieces_that_follow_each_other_are_added_up(void **state)
{
    const struct mirror_frame *frame;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    testing_make(&m, 0, 1);
    testing_make(&m, 1, 1);
    mirror_advance(&m, 1);
    testing_make(&m, 0, 2);
    frame = testing_sends_own(&m, 1, 0, nr(0), nr(3));
    assert_int_equal(frame->clock, 2);
    assert_int_equal(frame->token_count, 2);
    assert_ptr_equal(frame->tokens[0], testing_payload(1));
    assert_ptr_equal(frame->tokens[1], testing_payload(3));
    frame = testing_sends_own(&m, 1, 1, nr(0), nr(2));
    assert_int_equal(frame->token_count, 1);
    mirror_deinit(&m);
}

static void test_a_frame_has_so_many_payloads_at_most(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    for (uint32_t i = 0; i < MIRROR_MERGE_MAX + 2; i++) {
        testing_make(&m, 0, 1);
    }
    (void)testing_sends_own(&m, 1, 0, nr(0), nr(MIRROR_MERGE_MAX));
    (void)testing_sends_own(&m, 1, 0, nr(MIRROR_MERGE_MAX), nr(MIRROR_MERGE_MAX + 2));
    mirror_deinit(&m);
}

/* It may have got any of them: a sum over what it has it could not use. */
static void test_what_is_sent_again_is_not_added_up(void **state)
{
    struct mirror_mark mark;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    for (uint32_t i = 0; i < 3; i++) {
        testing_make(&m, 0, 1);
    }
    (void)testing_sends_own(&m, 1, 0, nr(0), nr(3));
    testing_make(&m, 0, 1);
    testing_make(&m, 0, 1);
    testing_request(&m, 1, nr(0));
    (void)testing_sends_own(&m, 1, 0, nr(0), nr(1));
    (void)testing_sends_own(&m, 1, 0, nr(1), nr(2));
    (void)testing_sends_own(&m, 1, 0, nr(2), nr(3));
    (void)testing_sends_own(&m, 1, 0, nr(3), nr(5)); /* These it cannot have. */
    mark = testing_sends_mark(&m, 1);
    assert_int_equal(mark.answer, 1);
    assert_true(mark.whole);
    assert_int_equal(mark.from, nr(0));
    assert_int_equal(mark.number, nr(5));
    mirror_deinit(&m);
}

static void test_what_waits_for_a_site_is_known(void **state)
{
    struct mirror m;
    uint32_t groups = 99;

    (void)state;
    testing_mesh(&m, &plain, 2);
    testing_make(&m, 0, 1);
    testing_make(&m, 1, 1);
    testing_make(&m, 2, 1);
    (void)testing_sends_own(&m, 1, 0, nr(0), nr(1));
    assert_int_equal(mirror_waiting_bytes(&m, 1), 2 * TESTING_BYTES);
    assert_int_equal(mirror_waiting_bytes(&m, 2), 3 * TESTING_BYTES);
    assert_ptr_equal(mirror_waiting(&m, 1, 0, &groups), testing_payload(2));
    assert_int_equal(groups, 0);
    assert_ptr_equal(mirror_waiting(&m, 1, 1, &groups), testing_payload(3));
    assert_null(mirror_waiting(&m, 1, 2, &groups));
    assert_null(mirror_newest(&m, 0, 1, &groups));
    assert_ptr_equal(mirror_newest(&m, 0, 2, &groups), testing_payload(1));
    assert_ptr_equal(mirror_newest(&m, 1, 1, &groups), testing_payload(2));
    assert_null(mirror_newest(&m, 3, 1, &groups)); /* None was made. */
    testing_drain(&m, 1);
    assert_int_equal(mirror_waiting_bytes(&m, 1), 0);
    assert_null(mirror_waiting(&m, 1, 0, &groups));
    assert_null(mirror_newest(&m, 2, 1, &groups));
    mirror_deinit(&m);
}

/* Reports. */

static void test_pieces_are_let_go_when_all_sites_have_them(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    for (uint32_t i = 0; i < 3; i++) {
        testing_make(&m, i, 1);
    }
    assert_int_equal(m.log_bytes, 3 * TESTING_BYTES);
    testing_confirm(&m, 1, nr(3));
    assert_null(mirror_release(&m));
    testing_confirm(&m, 2, nr(2));
    assert_int_equal(m.floor, nr(2));
    assert_ptr_equal(mirror_release(&m), testing_payload(1));
    assert_ptr_equal(mirror_release(&m), testing_payload(2));
    assert_null(mirror_release(&m));
    assert_int_equal(m.log_bytes, TESTING_BYTES);
    mirror_deinit(&m);
}

static void test_a_request_rewinds_to_what_is_stable(void **state)
{
    struct mirror_mark mark;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    testing_make(&m, 0, 1);
    testing_make(&m, 1, 1);
    testing_drain(&m, 1);
    testing_drain(&m, 2);
    testing_request(&m, 1, nr(1));
    testing_quiet(&m, 2);
    (void)testing_sends_own(&m, 1, 1, nr(0), nr(2));
    mark = testing_sends_mark(&m, 1);
    assert_int_equal(mark.from, nr(1));
    assert_int_equal(mark.number, nr(2));
    assert_int_equal(mark.answer, 1);
    assert_true(mark.whole);
    testing_quiet(&m, 1);
    mirror_deinit(&m);
}

static void test_an_answer_is_given_even_if_nothing_was_missing(void **state)
{
    struct mirror_mark mark;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    testing_request(&m, 1, nr(0));
    mark = testing_sends_mark(&m, 1);
    assert_int_equal(mark.answer, 1);
    assert_true(mark.whole);
    testing_quiet(&m, 1);
    mirror_deinit(&m);
}

static void test_a_report_that_cannot_be_true_is_refused(void **state)
{
    struct mirror_report ahead = {.stable = nr(1), .number = nr(0), .floor = nr(0)};
    struct mirror_report gone = {.stable = nr(0), .number = nr(3), .floor = nr(4)};
    struct mirror_site before;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    memcpy(&before, &m.sites[1], sizeof(before));
    assert_int_equal(mirror_hear(&m, 1, &ahead, 9), ERR_PEER);
    assert_int_equal(mirror_hear(&m, 1, &gone, 9), ERR_PEER);
    assert_memory_equal(&before, &m.sites[1], sizeof(before));
    mirror_deinit(&m);
}

/* Both ends of it: the one keeps no more, the other one hears so. */
static void test_who_misses_what_is_not_kept_needs_a_copy(void **state)
{
    struct mirror_report report = {.number = nr(0), .floor = nr(0), .stable = 0, .request = 7};
    struct mirror m, other;

    (void)state;
    testing_mesh(&m, &plain, 1);
    testing_mesh(&other, &plain, 1);
    testing_make(&m, 0, 1);
    testing_make(&m, 0, 1);
    testing_confirm(&m, 1, nr(2));
    mirror_up(&m, 1, true, 0);
    assert_int_equal(mirror_hear(&m, 1, &report, 0), OK); /* It has lost all of it. */
    assert_int_equal(m.sites[1].confirmed, nr(2));
    assert_true(mirror_say_due(&m, 1));
    mirror_say(&m, 1, &report);
    assert_int_equal(report.floor, nr(2));
    report.stable = nr(0);
    assert_false(mirror_needs_copy(&other));
    assert_int_equal(mirror_hear(&other, 1, &report, 0), OK);
    assert_true(mirror_needs_copy(&other));
    mirror_adopt_site(&other, 1, nr(2), 1);
    assert_false(mirror_needs_copy(&other));
    mirror_deinit(&m);
    mirror_deinit(&other);
}

static void test_reports_say_who_is_away(void **state)
{
    struct mirror_report report;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 3);
    mirror_say(&m, 1, &report);
    assert_int_equal(report.away, 0);
    mirror_down(&m, 2, 5);
    mirror_down(&m, 3, 5);
    assert_true(mirror_say_due(&m, 1));
    assert_false(mirror_say_due(&m, 2)); /* There is no way to say it. */
    mirror_say(&m, 1, &report);
    assert_int_equal(report.away, 1u << 2 | 1u << 3);
    mirror_up(&m, 3, false, 6);
    mirror_say(&m, 1, &report);
    assert_int_equal(report.away, 1u << 2);
    mirror_deinit(&m);
}

static void test_for_a_fresh_site_all_is_kept_and_nothing_sent(void **state)
{
    struct mirror_report report = {.number = nr_of(2, 0), .floor = nr_of(2, 0), .fresh = true};
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    testing_make(&m, 0, 1);
    mirror_up(&m, 1, true, 0);
    assert_int_equal(mirror_hear(&m, 1, &report, 0), OK);
    testing_make(&m, 1, 1);
    testing_quiet(&m, 1);
    testing_confirm(&m, 2, nr(2));
    assert_int_equal(m.floor, nr(0));
    report.fresh = false; /* It took a copy of somebody who had the first one. */
    report.stable = nr(1);
    report.request = 1;
    assert_int_equal(mirror_hear(&m, 1, &report, 0), OK);
    assert_int_equal(m.floor, nr(1));
    (void)testing_sends_own(&m, 1, 1, nr(0), nr(2));
    mirror_deinit(&m);
}

static void test_a_fresh_machine_sends_nothing_and_asks_for_nothing(void **state)
{
    struct mirror_report report;
    uint32_t groups[1] = {0};
    struct mirror m;

    (void)state;
    testing_open(&m, &plain, 0, groups, 1);
    mirror_up(&m, 1, true, 0);
    testing_confirm(&m, 1, nr(0));
    testing_quiet(&m, 1);
    mirror_say(&m, 1, &report);
    assert_true(report.fresh);
    assert_int_equal(report.request, 0);
    mirror_begin(&m, 0);
    assert_true(mirror_say_due(&m, 1));
    mirror_say(&m, 1, &report);
    assert_false(report.fresh);
    assert_int_equal(report.request, 1);
    assert_int_equal(testing_send(&m, 1)->kind, MIRROR_MARKS);
    mirror_deinit(&m);
}

static void test_a_session_that_goes_on_repeats_nothing(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    testing_make(&m, 0, 1);
    testing_drain(&m, 1);
    mirror_down(&m, 1, 1);
    testing_make(&m, 1, 1);
    testing_quiet(&m, 1);
    mirror_up(&m, 1, false, 2);
    assert_false(m.sites[1].doubt);
    (void)testing_sends_own(&m, 1, 1, nr(0), nr(2));
    testing_drain(&m, 1);
    mirror_deinit(&m);
}

/* Readers. */

static void test_a_reader_may_be_ahead_by_the_staleness_and_no_more(void **state)
{
    static const uint64_t bounds[] = {0, 1, 2, 7, MIRROR_STALENESS_MAX};

    (void)state;
    for (uint32_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        struct mirror_config config = {.staleness = bounds[i], .life = 1};
        uint64_t slowest = 10, next = slowest + 1;
        uint32_t whom = MIRROR_NOBODY;
        struct mirror m;

        testing_mesh(&m, &config, 3);
        testing_mark(&m, 1, 1, nr(0), nr(0), slowest + 5);
        testing_mark(&m, 2, 2, nr(0), nr(0), slowest);
        testing_mark(&m, 3, 3, nr(0), nr(0), slowest + 1);
        assert_true(mirror_may_read(&m, 1, &whom));
        assert_true(bounds[i] == 0 || mirror_may_read(&m, next + bounds[i] - 1, &whom));
        assert_true(mirror_may_read(&m, next + bounds[i], &whom));
        assert_false(mirror_may_read(&m, next + bounds[i] + 1, &whom));
        assert_int_equal(whom, 2);
        testing_mark(&m, 2, 2, nr(0), nr(0), slowest + 1);
        assert_true(mirror_may_read(&m, next + bounds[i] + 1, &whom));
        mirror_deinit(&m);
    }
}

static void test_without_a_bound_nobody_waits(void **state)
{
    struct mirror_config config = {.staleness = MIRROR_UNBOUNDED, .life = 1};
    uint32_t whom;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &config, 1);
    assert_true(mirror_may_read(&m, UINT64_MAX, &whom));
    mirror_deinit(&m);
    testing_mesh(&m, &plain, 0); /* Alone. */
    assert_true(mirror_may_read(&m, UINT64_MAX, &whom));
    mirror_deinit(&m);
}

static void test_a_site_that_is_done_is_waited_for_until_all_of_it_is_here(void **state)
{
    struct mirror_report report = {
        .number = nr(2), .floor = nr(0), .stable = nr(0), .clock = 1, .done = true};
    uint32_t whom;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    testing_mark(&m, 2, 2, nr(0), nr(0), 50);
    assert_int_equal(mirror_hear(&m, 1, &report, 0), OK);
    testing_mark(&m, 1, 1, nr(0), nr(1), 0);
    assert_false(mirror_may_read(&m, 20, &whom));
    assert_int_equal(whom, 1);
    testing_mark(&m, 1, 1, nr(0), nr(2), 1);
    assert_true(mirror_may_read(&m, 20, &whom));
    mirror_finish(&m);
    assert_true(mirror_say_due(&m, 1));
    mirror_say(&m, 1, &report);
    assert_true(report.done);
    mirror_go_on(&m);
    assert_true(mirror_say_due(&m, 1));
    mirror_say(&m, 1, &report);
    assert_false(report.done);
    mirror_deinit(&m);
}

/* Who is away. */

static void test_a_site_is_left_out_when_it_is_away_for_so_long(void **state)
{
    struct mirror_config config = {.staleness = 0, .life = 1, .away_ns = 100};
    uint32_t whom;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &config, 2);
    testing_mark(&m, 2, 2, nr(0), nr(0), 50);
    mirror_down(&m, 1, 1000);
    assert_false(mirror_tick(&m, 1000));
    assert_false(mirror_tick(&m, 1099));
    assert_false(mirror_may_read(&m, 10, &whom));
    assert_true(mirror_tick(&m, 1100));
    assert_true(mirror_may_read(&m, 10, &whom));
    assert_false(mirror_tick(&m, 1101)); /* It is said once. */
    mirror_deinit(&m);
}

static void test_one_that_is_back_in_between_is_not_left_out(void **state)
{
    struct mirror_config config = {.staleness = 0, .life = 1, .away_ns = 100};
    struct mirror m;

    (void)state;
    testing_mesh(&m, &config, 1);
    mirror_down(&m, 1, 0);
    assert_false(mirror_tick(&m, 0));
    mirror_up(&m, 1, false, 60);
    assert_false(mirror_tick(&m, 60));
    mirror_down(&m, 1, 61);
    assert_false(mirror_tick(&m, 61));
    assert_false(mirror_tick(&m, 160));
    assert_true(mirror_tick(&m, 161));
    mirror_deinit(&m);
}

static void test_one_that_dies_before_it_has_said_anything_is_left_out_too(void **state)
{
    struct mirror_config config = {.staleness = 0, .life = 1, .away_ns = 100};
    struct mirror m;

    (void)state;
    testing_mesh(&m, &config, 1);
    mirror_down(&m, 1, 0);
    mirror_up(&m, 1, true, 10); /* A new process, which dies at once. */
    mirror_down(&m, 1, 20);
    assert_false(mirror_tick(&m, 20));
    assert_true(mirror_tick(&m, 120));
    mirror_deinit(&m);
}

static void test_a_site_that_was_never_there_is_waited_for(void **state)
{
    struct mirror_config config = {.staleness = 0, .life = 1, .away_ns = 100};
    uint32_t groups[1] = {0};
    struct mirror m;

    (void)state;
    testing_open(&m, &config, 0, groups, 1);
    mirror_begin(&m, 0);
    assert_false(mirror_tick(&m, 0));
    assert_false(mirror_tick(&m, 1000));
    assert_false(m.sites[1].left_out);
    mirror_deinit(&m);
}

static void test_with_majority_the_smaller_part_leaves_nobody_out(void **state)
{
    struct mirror_config config = {.staleness = 0, .life = 1, .away_ns = 100, .majority = true};
    struct mirror m;

    (void)state;
    testing_mesh(&m, &config, 3);
    mirror_down(&m, 2, 0);
    mirror_down(&m, 3, 0);
    m.sites[1].away = 1u << 2 | 1u << 3;
    assert_false(mirror_tick(&m, 0));
    assert_false(mirror_tick(&m, 1000)); /* Two of four are not more than half. */
    testing_meet(&m, 2);
    m.sites[2].away = 1u << 3;
    assert_false(mirror_tick(&m, 2000));
    assert_true(mirror_tick(&m, 2100));
    assert_true(m.sites[3].left_out);
    assert_false(m.sites[2].left_out);
    mirror_deinit(&m);
}

static void test_with_majority_one_that_somebody_sees_is_not_left_out(void **state)
{
    struct mirror_config config = {.staleness = 0, .life = 1, .away_ns = 100, .majority = true};
    struct mirror_report report = {.number = nr(0), .floor = nr(0), .stable = nr(0)};
    struct mirror m;

    (void)state;
    testing_mesh(&m, &config, 2);
    mirror_down(&m, 2, 0);
    assert_false(mirror_tick(&m, 0));
    assert_false(mirror_tick(&m, 1000));
    report.away = 1u << 2; /* Now they agree; time counts from here. */
    assert_int_equal(mirror_hear(&m, 1, &report, 1000), OK);
    assert_false(mirror_tick(&m, 1001));
    assert_false(mirror_tick(&m, 1100));
    assert_true(mirror_tick(&m, 1101));
    mirror_deinit(&m);
}

static void test_for_one_that_is_left_out_only_a_majority_keeps_nothing(void **state)
{
    struct mirror_config config = {.staleness = 0, .life = 1, .away_ns = 100};

    (void)state;
    for (uint32_t majority = 0; majority < 2; majority++) {
        struct mirror m;

        config.majority = majority == 1;
        testing_mesh(&m, &config, 2);
        testing_make(&m, 0, 1);
        testing_confirm(&m, 1, nr(1));
        mirror_down(&m, 2, 0);
        m.sites[1].away = 1u << 2;
        assert_false(mirror_tick(&m, 0));
        assert_true(mirror_tick(&m, 100));
        assert_int_equal(mirror_release(&m) != NULL, config.majority);
        assert_true(mirror_invariant(&m));
        testing_meet(&m, 2); /* It is back and goes on from what is kept. */
        assert_int_equal(m.sites[2].confirmed, majority == 1 ? nr(1) : nr(0));
        mirror_deinit(&m);
    }
}

static void test_one_that_is_back_counts_from_where_we_are(void **state)
{
    struct mirror_config config = {.staleness = 0, .life = 1, .away_ns = 100};
    uint32_t whom;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &config, 1);
    testing_mark(&m, 1, 1, nr(0), nr(0), 4);
    mirror_down(&m, 1, 0);
    assert_false(mirror_tick(&m, 0));
    assert_true(mirror_tick(&m, 100));
    mirror_advance(&m, 10);
    mirror_up(&m, 1, true, 200);
    testing_hear(&m, 1, nr(2), 4, nr(0), 200);
    assert_false(mirror_tick(&m, 201)); /* In doubt. */
    testing_mark(&m, 1, 1, nr(0), nr(1), 4);
    assert_false(mirror_tick(&m, 202)); /* Not all of it is here. */
    assert_true(mirror_may_read(&m, 30, &whom));
    testing_mark(&m, 1, 1, nr(0), nr(2), 4);
    assert_true(mirror_tick(&m, 203));
    assert_true(mirror_may_read(&m, 11, &whom));
    assert_false(mirror_may_read(&m, 12, &whom));
    testing_mark(&m, 1, 1, nr(0), nr(2), 5);
    assert_true(mirror_may_read(&m, 12, &whom));
    mirror_deinit(&m);
}

/* Its session went on, but pieces that it never got are gone: no mark may be about these. */
static void test_one_that_was_left_out_gets_no_mark_about_what_was_let_go(void **state)
{
    struct mirror_config config = {.staleness = 0, .life = 1, .away_ns = 100, .majority = true};
    struct mirror_report report;
    struct mirror_mark mark;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &config, 2);
    mirror_down(&m, 2, 0);
    m.sites[1].away = 1u << 2;
    testing_make(&m, 0, 1);
    mirror_advance(&m, 1);
    assert_false(mirror_tick(&m, 0));
    assert_true(mirror_tick(&m, 100));
    testing_confirm(&m, 1, nr(1));
    assert_int_equal(m.floor, nr(1));
    mirror_up(&m, 2, false, 200);
    mark = testing_sends_mark(&m, 2);
    assert_int_equal(mark.from, nr(1));
    mirror_say(&m, 2, &report);
    assert_int_equal(report.floor, nr(1)); /* So it will take a copy. */
    mirror_deinit(&m);
}

static void test_nobody_waits_for_a_late_site_before_it_has_caught_up(void **state)
{
    uint32_t site, whom;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    testing_mark(&m, 1, 1, nr(0), nr(0), 40);
    mirror_advance(&m, 40);
    assert_int_equal(mirror_add_site(&m, 0, 0, &site), OK);
    assert_false(mirror_may_read(&m, 41, &whom));
    mirror_late_site(&m, site);
    assert_true(mirror_may_read(&m, 41, &whom));
    testing_meet(&m, site);
    assert_true(mirror_tick(&m, 1));
    testing_mark(&m, 1, 1, nr(0), nr(0), 50);
    assert_true(mirror_may_read(&m, 43, &whom));
    assert_false(mirror_may_read(&m, 44, &whom));
    assert_int_equal(whom, site);
    mirror_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_piece_that_follows_is_taken_and_a_known_one_is_dropped),
        cmocka_unit_test(test_a_piece_is_held_until_the_one_before_it_has_come),
        cmocka_unit_test(test_a_piece_across_what_is_contained_is_refused_and_asked_for),
        cmocka_unit_test(test_a_merged_piece_is_taken_whole_or_not_at_all),
        cmocka_unit_test(test_a_merged_piece_with_an_early_part_is_held_for_all_its_sites),
        cmocka_unit_test(test_what_is_our_own_is_known),
        cmocka_unit_test(test_a_new_life_begins_at_its_base),
        cmocka_unit_test(test_a_mark_moves_number_and_clock_and_is_reported),
        cmocka_unit_test(test_a_mark_from_above_what_is_stable_waits),
        cmocka_unit_test(test_a_piece_that_is_held_keeps_a_mark_back),
        cmocka_unit_test(test_of_two_marks_that_wait_the_one_with_the_later_clock_counts),
        cmocka_unit_test(test_a_held_piece_that_is_lost_is_asked_for),
        cmocka_unit_test(test_in_doubt_only_the_answer_is_believed_and_only_a_whole_one_ends_it),
        cmocka_unit_test(test_a_new_life_has_a_clock_of_its_own),
        cmocka_unit_test(test_a_mark_says_only_clocks_whose_pieces_have_gone),
        cmocka_unit_test(test_what_comes_late_of_a_life_before_counts_no_more),
        cmocka_unit_test(test_a_piece_that_cannot_be_judged_yet_keeps_marks_back),
        cmocka_unit_test(test_pieces_that_follow_each_other_are_added_up),
        cmocka_unit_test(test_a_frame_has_so_many_payloads_at_most),
        cmocka_unit_test(test_what_is_sent_again_is_not_added_up),
        cmocka_unit_test(test_what_waits_for_a_site_is_known),
        cmocka_unit_test(test_pieces_are_let_go_when_all_sites_have_them),
        cmocka_unit_test(test_a_request_rewinds_to_what_is_stable),
        cmocka_unit_test(test_an_answer_is_given_even_if_nothing_was_missing),
        cmocka_unit_test(test_a_report_that_cannot_be_true_is_refused),
        cmocka_unit_test(test_who_misses_what_is_not_kept_needs_a_copy),
        cmocka_unit_test(test_reports_say_who_is_away),
        cmocka_unit_test(test_for_a_fresh_site_all_is_kept_and_nothing_sent),
        cmocka_unit_test(test_a_fresh_machine_sends_nothing_and_asks_for_nothing),
        cmocka_unit_test(test_a_session_that_goes_on_repeats_nothing),
        cmocka_unit_test(test_a_reader_may_be_ahead_by_the_staleness_and_no_more),
        cmocka_unit_test(test_without_a_bound_nobody_waits),
        cmocka_unit_test(test_a_site_that_is_done_is_waited_for_until_all_of_it_is_here),
        cmocka_unit_test(test_a_site_is_left_out_when_it_is_away_for_so_long),
        cmocka_unit_test(test_one_that_is_back_in_between_is_not_left_out),
        cmocka_unit_test(test_one_that_dies_before_it_has_said_anything_is_left_out_too),
        cmocka_unit_test(test_a_site_that_was_never_there_is_waited_for),
        cmocka_unit_test(test_with_majority_the_smaller_part_leaves_nobody_out),
        cmocka_unit_test(test_with_majority_one_that_somebody_sees_is_not_left_out),
        cmocka_unit_test(test_for_one_that_is_left_out_only_a_majority_keeps_nothing),
        cmocka_unit_test(test_one_that_is_back_counts_from_where_we_are),
        cmocka_unit_test(test_one_that_was_left_out_gets_no_mark_about_what_was_let_go),
        cmocka_unit_test(test_nobody_waits_for_a_late_site_before_it_has_caught_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
