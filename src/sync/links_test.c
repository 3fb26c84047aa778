/* Tests of sync/links, rule by rule: one site that hears words of others. links_storm_test.c has
 * whole networks. */

#include "base/mem.h"
#include "sync/testing_links.h"

#include <string.h>

/* Words. */

static void test_of_two_words_the_later_life_counts_then_the_higher_number(void **state)
{
    struct links_word word = word_of(1, 5, 1);

    (void)state;
    start(3, 0);
    word.number = 7;
    assert_int_equal(take(&word, 0), LINKS_NEW);
    assert_int_equal(take(&word, 0), LINKS_OLD);
    word.number = 6;
    assert_int_equal(take(&word, 0), LINKS_OLD);
    word.number = 8;
    assert_int_equal(take(&word, 0), LINKS_NEW);
    word.life = 4;
    word.number = 100;
    assert_int_equal(take(&word, 0), LINKS_OLD);
    word.life = 6;
    word.number = 1;
    assert_int_equal(take(&word, 0), LINKS_NEW);
    assert_int_equal(links_life(&l, 1), 6);
}

static void wrong(struct links_word word)
{
    assert_int_equal(take(&word, 0), LINKS_WRONG);
}

static void test_words_that_cannot_be_are_wrong(void **state)
{
    struct links_word good = word_of(1, 5, 0x5);
    struct links_word word;

    (void)state;
    start(3, 0);
    word = good;
    word.site = 3;
    wrong(word);
    word = good;
    word.count = 3; /* More neighbours than there are. */
    wrong(word);
    word.count = UINT32_MAX;
    wrong(word);
    word = good;
    word.number = 0;
    wrong(word);
    word = good;
    word.life = UINT64_MAX;
    wrong(word);
    word = good;
    word.epoch = 1; /* Later than the latest. */
    wrong(word);
    word.epoch = word.top = LINKS_EPOCH_LAST + 1;
    wrong(word);
    word = good;
    word.entries[1].neighbour = 3;
    wrong(word);
    word.entries[1].neighbour = 1; /* Itself. */
    wrong(word);
    word.entries[1].neighbour = 0; /* Twice. */
    wrong(word);
    word = good;
    word.entries[0].bytes_per_s = LINKS_RATE_MAX + 1;
    wrong(word);
    assert_int_equal(take(&good, 0), LINKS_NEW);
}

static void test_what_changes_is_said_once(void **state)
{
    struct links_word word;

    (void)state;
    start(3, 1);
    assert_true(links_due(&l, 0)); /* That it is there. */
    links_say(&l, 0, &word);
    assert_true(word.site == 1 && word.life == 1 && word.number == 1 && word.count == 0);
    assert_false(links_due(&l, 10 * S));
    links_set_up(&l, 2, true, 0);
    assert_true(links_due(&l, 0));
    links_say(&l, 0, &word);
    assert_true(word.number == 2 && word.count == 1 && !word.remembers);
    assert_true(word.entries[0].neighbour == 2 && word.entries[0].up);
    links_set_up(&l, 2, true, 0);
    links_set_memory(&l, false, 0);
    links_set_top(&l, 0);
    assert_false(links_due(&l, 10 * S));
    links_set_memory(&l, true, 0);
    assert_true(links_due(&l, 0));
    links_set_up(&l, 2, false, 0);
    links_set_top(&l, 9);
    links_say(&l, 0, &word);
    assert_true(word.number == 3 && word.remembers && word.top == 9 && word.epoch == 0);
    assert_true(word.count == 1 && !word.entries[0].up);
}

static void test_a_rate_is_said_again_when_it_differs_by_a_tenth_once_a_second(void **state)
{
    struct links_config c = config();
    struct links_word word;

    (void)state;
    c.away_ns = 0; /* There will be no plan. */
    start_with(3, 0, c);
    links_set_up(&l, 1, true, 0);
    links_say(&l, S, &word);
    links_set_rate(&l, 2, 100); /* It is not known to be a neighbour. */
    content(S, LINKS_NEVER);
    links_set_rate(&l, 1, 1000);
    assert_false(links_due(&l, 2 * S - 1));
    assert_true(links_deadline(&l) == 2 * S);
    assert_true(links_due(&l, 2 * S));
    links_say(&l, 2 * S, &word);
    assert_int_equal(word.entries[0].bytes_per_s, 1000);
    links_set_rate(&l, 1, 1100);
    assert_true(links_deadline(&l) == LINKS_NEVER && !links_due(&l, 10 * S));
    links_set_rate(&l, 1, 900);
    assert_false(links_due(&l, 10 * S));
    links_set_rate(&l, 1, 1101);
    assert_true(links_due(&l, 10 * S));
    links_set_rate(&l, 1, 0);
    assert_true(links_due(&l, 10 * S));
    links_set_rate(&l, 1, UINT64_MAX);
    links_say(&l, 10 * S, &word);
    assert_true(word.entries[0].bytes_per_s == LINKS_RATE_MAX);
    assert_false(links_due(&l, 20 * S));
}

static void test_who_looks_at_a_word_of_its_own_sees_what_it_said(void **state)
{
    struct links_word word;
    struct links_word got;

    (void)state;
    start(3, 0);
    assert_false(links_word_get(&l, 0, &got));
    assert_false(links_word_get(&l, 1, &got));
    links_set_up(&l, 1, true, 0);
    links_set_rate(&l, 1, 50);
    links_say(&l, 0, &word);
    links_set_rate(&l, 1, 70); /* Not said yet. */
    assert_true(links_word_get(&l, 0, &got));
    assert_memory_equal(&got, &word, sizeof(got));
    links_set_up(&l, 1, false, 0);
    assert_false(links_word_get(&l, 0, &got));
}

static void test_words_are_passed_on_as_they_came(void **state)
{
    struct links_word word = word_of(2, 7, 0x3);
    struct links_word got;

    (void)state;
    start(3, 0);
    word.entries[1].up = false;
    word.entries[1].bytes_per_s = 12345;
    word.top = 9;
    word.epoch = 6;
    hear(&word, 0);
    assert_true(links_word_get(&l, 2, &got));
    assert_memory_equal(&got, &word, sizeof(got));
}

static void test_a_word_of_an_earlier_life_is_answered_by_a_higher_number(void **state)
{
    struct links_config c = config();
    struct links_word early = word_of(0, 3, 0x2);
    struct links_word word;

    (void)state;
    assert_int_equal(links_init(&l, 3, 0, 10, &c, 0), OK);
    links_say(&l, 0, &word);
    assert_int_equal(take(&word, 0), LINKS_OLD); /* It came round. */
    assert_false(links_due(&l, 0));
    assert_int_equal(take(&early, 0), LINKS_OLD);
    assert_true(links_due(&l, 0));
    early.top = 8;
    assert_int_equal(take(&early, 0), LINKS_OLD);
    links_say(&l, 0, &word);
    assert_true(word.life == 10 && word.number == 2 && word.count == 0 && word.top == 8);
}

/* A clock may have been set back. Others must see that this is another process. */
static void test_who_finds_a_later_life_of_its_own_begins_a_later_one(void **state)
{
    struct links_word later = word_of(0, 20, 0x2);
    struct links_word word;

    (void)state;
    start(3, 0);
    links_say(&l, 0, &word);
    assert_int_equal(take(&later, 0), LINKS_OLD);
    links_say(&l, 0, &word);
    assert_true(word.life == 21 && word.number == 1);
    word.number = 5; /* The same life, but it was not this one that said so. */
    assert_int_equal(take(&word, 0), LINKS_OLD);
    links_say(&l, 0, &word);
    assert_true(word.life == 22 && word.number == 1);
}

/* The network. */

static void test_a_link_is_joined_if_both_ends_say_so(void **state)
{
    (void)state;
    start(4, 0);
    links_set_up(&l, 1, true, 0);
    assert_false(links_joined(&l, 0, 1));
    assert_int_equal(links_reached(&l), 0x1);
    heard(1, 0x5, 0);
    assert_true(links_joined(&l, 0, 1) && links_joined(&l, 1, 0));
    assert_false(links_joined(&l, 1, 2));
    assert_int_equal(links_reached(&l), 0x3);
    heard(2, 0xa, 0);
    assert_int_equal(links_reached(&l), 0x7);
    heard(3, 0x0, 0);
    assert_int_equal(links_reached(&l), 0x7);
    links_set_up(&l, 1, false, 0);
    assert_int_equal(links_reached(&l), 0x1);
    assert_true(links_joined(&l, 1, 2));
}

static void test_a_rate_is_the_smaller_one_of_both_ends(void **state)
{
    struct links_word word;

    (void)state;
    start(2, 0);
    links_set_up(&l, 1, true, 0);
    heard(1, 0x1, 0);
    assert_int_equal(links_rate(&l, 0, 1), 0);
    word = word_of(1, 1, 0x1);
    word.entries[0].bytes_per_s = 500;
    hear(&word, 0);
    assert_int_equal(links_rate(&l, 0, 1), 500);
    links_set_rate(&l, 1, 400);
    links_say(&l, 0, &word);
    assert_int_equal(links_rate(&l, 0, 1), 400);
    assert_int_equal(links_rate(&l, 1, 0), 400);
    links_set_rate(&l, 1, 600);
    links_say(&l, 2 * S, &word);
    assert_int_equal(links_rate(&l, 0, 1), 500);
    heard(1, 0, 0); /* It does not speak of it any more. */
    assert_int_equal(links_rate(&l, 0, 1), 600);
}

static void test_as_many_sites_as_there_may_be_in_a_row(void **state)
{
    struct links_wish wish;

    (void)state;
    start(64, 0);
    links_set_up(&l, 1, true, 0);
    for (uint32_t s = 1; s < 64; s++) {
        heard(s, UINT64_C(1) << (s - 1) | (s < 63 ? UINT64_C(1) << (s + 1) : 0), 0);
    }
    links_set_memory(&l, true, 0);
    assert_true(links_reached(&l) == UINT64_MAX);
    assert_true(links_look(&l, 0, &wish));
    assert_true(wish.why == LINKS_FIRST && wish.epoch == 64 && wish.active == UINT64_MAX);
}

/* Plans. */

static void test_the_first_plan_waits_for_all_or_until_they_are_away(void **state)
{
    (void)state;
    start(3, 0);
    sees(0x6, 5);
    heard(1, 0x1, 5);
    content(5, AWAY); /* Since the beginning 2 was not seen. */
    content(AWAY - 1, AWAY);
    links_set_memory(&l, true, AWAY - 1);
    (void)expect(AWAY, LINKS_FIRST, 0x3);
    links_deinit(&l);
    start(3, 0);
    links_set_memory(&l, true, 0);
    sees(0x6, 5);
    heard(1, 0x1, 5);
    heard(2, 0x1, 6);
    (void)expect(6, LINKS_FIRST, 0x7);
}

static void test_if_nobody_is_ever_away_plans_are_for_all(void **state)
{
    struct links_config c = config();

    (void)state;
    c.away_ns = 0;
    ring(0, c);
    follow_around_zero(4);
    sees(0x8, 10); /* The path of 1 is broken, */
    heard(2, 0x8, 10);
    content(1000 * S, LINKS_NEVER); /* and there is no other way. */
    heard(2, 0xa, 1000 * S);
    (void)expect(1000 * S, LINKS_BROKEN, 0xf);
}

static void test_a_broken_path_needs_a_plan_if_there_is_another_way(void **state)
{
    (void)state;
    ring_around_zero(0);
    heard(2, 0x2, 5); /* 2 - 3 is down: no path has it. */
    content(5, LINKS_NEVER);
    heard(2, 0xa, 6);
    heard(1, 0x1, 7); /* 2 - 1 is. */
    (void)expect(7, LINKS_BROKEN, 0xf);
}

/* A plan was given, and all links of the ring but 1 - 2 are up at 5. */
static void ring_begins_without_a_link(void)
{
    struct links_config c = config();

    c.settle_ns = S;
    start_with(4, 0, c);
    links_set_memory(&l, true, 0);
    follow_around_zero(4);
    sees(0xa, 5);
    heard(1, 0x1, 5);
    heard(2, 0xa, 5);
    heard(3, 0x5, 5);
    assert_int_equal(links_reached(&l), 0xf);
    content(5, LATE);
}

static void test_links_that_never_were_up_are_waited_for_at_the_start(void **state)
{
    (void)state;
    ring_begins_without_a_link();
    content(LATE - 1, LATE);
    assert_false(links_is_content(&l));
    (void)expect(LATE, LINKS_BROKEN, 0xf);
}

static void test_links_that_were_up_once_are_not_waited_for(void **state)
{
    (void)state;
    ring_begins_without_a_link();
    heard(1, 0x5, 20);
    content(20, 5 + S); /* 2 - 3 may be better. */
    heard(2, 0x8, 30);
    (void)expect(30, LINKS_BROKEN, 0xf);
}

static void test_all_who_are_missing_must_be_away(void **state)
{
    (void)state;
    ring_around_zero(0);
    sees(0x8, 5);
    heard(2, 0x8, 5); /* 1 is missing, */
    heard(3, 0x1, 9); /* and 2. */
    content(9, 9 + AWAY);
    content(5 + AWAY, 9 + AWAY);
    (void)expect(9 + AWAY, LINKS_GONE, 0x9);
}

static void test_who_is_missing_is_left_out_when_it_is_away(void **state)
{
    (void)state;
    ring_around_zero(0);
    heard(1, 0x1, 5);
    heard(3, 0x1, 20);
    content(20, 20 + AWAY);
    heard(3, 0x5, 30);                   /* It comes back: nobody is missing any more, */
    (void)expect(30, LINKS_BROKEN, 0xf); /* but it has another way. */
    heard(3, 0x1, 31);
    content(31, 31 + AWAY);
    content(30 + AWAY, 31 + AWAY);
    (void)expect(31 + AWAY, LINKS_GONE, 0xb);
}

static void test_a_lost_centre_is_missed_like_others(void **state)
{
    (void)state;
    ring_around_zero(1);
    sees(0x4, 5);
    heard(3, 0x4, 8);
    content(8, 8 + AWAY);
    (void)expect(8 + AWAY, LINKS_LOST, 0xe);
}

static void test_who_is_back_is_taken_in(void **state)
{
    struct links_path paths[] = {path(1, 0, 0, 0), path(2, 1, 0, 0), {0}, path(2, 3, 0, 0)};

    (void)state;
    ring(0, config());
    heard(2, 0, 0);
    assert_int_equal(links_plan_set(&l, 4, 0, 0xb, paths), LINKS_NEW);
    content(0, LINKS_NEVER); /* It is not active: nobody misses it. */
    heard(2, 0x2, 5);
    (void)expect(5, LINKS_BACK, 0xf);
}

static void test_who_has_restarted_is_taken_in_anew(void **state)
{
    struct links_word word;

    (void)state;
    ring_around_zero(0);
    word = word_of(2, 2, 0xa);
    word.remembers = false;
    hear(&word, 5);
    (void)expect(5, LINKS_BACK, 0xf);
}

static void test_who_forgets_is_taken_in_anew(void **state)
{
    struct links_word word;

    (void)state;
    ring_around_zero(0);
    word = word_of(2, 1, 0xa);
    word.remembers = false;
    hear(&word, 5);
    (void)expect(5, LINKS_BACK, 0xf);
    follow_around_zero(5);
    content(5, LINKS_NEVER); /* That plan knows. */
    links_set_memory(&l, false, 6);
    links_set_memory(&l, true, 6);
    (void)expect(6, LINKS_BACK, 0xf);
}

/* The plan was made by somebody who had heard of the restart already. */
static void test_a_later_life_than_is_known_here_is_no_need(void **state)
{
    struct links_path paths[] = {path(1, 0, 0, 0), path(2, 1, 0, 0), path(3, 2, 1, 0),
                                 path(2, 3, 0, 0)};
    struct links_word word;

    (void)state;
    ring(0, config());
    paths[2].life = 2;
    assert_int_equal(links_plan_set(&l, 4, 0, 0xf, paths), LINKS_NEW);
    content(0, LINKS_NEVER);
    word = word_of(2, 2, 0xa);
    word.remembers = false;
    hear(&word, 5);
    content(5, LINKS_NEVER);
    paths[2].life = 0; /* Whoever is there, or comes first: but there was one already. */
    assert_int_equal(links_plan_set(&l, 8, 0, 0xf, paths), LINKS_NEW);
    content(5, LINKS_NEVER);
}

static void test_while_somebody_is_missing_others_wait_too(void **state)
{
    struct links_word word;

    (void)state;
    ring_around_zero(0);
    sees(0x8, 5);
    heard(2, 0x8, 5); /* 1 is missing, 2 has another path, */
    content(5, 5 + AWAY);
    word = word_of(3, 2, 0x5); /* and 3 has restarted. */
    hear(&word, 6);
    content(6, 5 + AWAY);
    (void)expect(5 + AWAY, LINKS_GONE, 0xd);
}

static void test_a_plan_that_is_coming_is_waited_for(void **state)
{
    struct links_word word;

    (void)state;
    ring_around_zero(0);
    word = word_of(1, 1, 0x1);
    word.epoch = word.top = 9;
    hear(&word, 5); /* Its path is broken, and it knows better. */
    content(5, LINKS_NEVER);
    sees(0x8, 6); /* It takes the plan with it. */
    heard(2, 0xa, 6);
    content(6, 6 + AWAY);
    (void)expect(6 + AWAY, LINKS_GONE, 0xd);
}

static void measure(uint64_t bytes_per_s, uint64_t now)
{
    struct links_word word;

    links_set_rate(&l, 1, bytes_per_s);
    links_say(&l, now, &word);
}

static void test_rates_that_have_changed_for_long_need_a_plan(void **state)
{
    (void)state;
    ring_around_zero(0);
    measure(1000, 5); /* The plan did not know. */
    content(5, 5 + SETTLE);
    (void)expect(5 + SETTLE, LINKS_CHANGED, 0xf);
    links_plan_keep(&l);
    content(5 + SETTLE, LINKS_NEVER);
    measure(1250, 200);
    content(200, LINKS_NEVER);
    measure(1251, 200);
    content(200, 200 + SETTLE);
    measure(1000, 250);
    content(250, LINKS_NEVER);
    measure(749, 260);
    content(260, 260 + SETTLE);
    measure(0, 270); /* It is not known to have changed. */
    content(270, LINKS_NEVER);
    measure(749, 280);
    content(280, 280 + SETTLE);
    (void)expect(280 + SETTLE, LINKS_CHANGED, 0xf);
}

static void test_links_that_come_up_may_make_another_plan_better(void **state)
{
    (void)state;
    ring_around_zero(0);
    heard(2, 0x2, 5); /* 2 - 3 is down: no path has it. */
    content(5, LINKS_NEVER);
    follow_around_zero(7);
    heard(2, 0xa, 10);
    content(10, 10 + SETTLE);
    heard(2, 0x2, 20);
    content(20, LINKS_NEVER);
    heard(2, 0xa, 30);
    content(30, 30 + SETTLE);
    (void)expect(30 + SETTLE, LINKS_CHANGED, 0xf);
    links_plan_keep(&l);
    content(30 + SETTLE, LINKS_NEVER);
}

static void test_only_the_centre_looks_at_rates(void **state)
{
    struct links_word word;

    (void)state;
    ring_around_zero(1);
    links_set_rate(&l, 0, 1000);
    links_say(&l, 0, &word);
    content(0, LINKS_NEVER);
    content(10 * SETTLE, LINKS_NEVER);
}

static void test_who_cannot_do_with_the_plan_asks(void **state)
{
    (void)state;
    ring_around_zero(2);
    links_ask(&l);
    (void)expect(5, LINKS_ASKED, 0xf);
    content(5, 5 + 4 * TURN);
    follow_around_zero(7);
    content(5, LINKS_NEVER);
}

/* Turns. */

/* 1 - 2 is down; 0 is the centre. */
static void break_path(uint32_t self, uint64_t now)
{
    if (self == 1) {
        sees(0x1, now);
    } else {
        heard(1, 0x1, now);
    }
}

static void test_the_centre_proposes_first_then_the_others(void **state)
{
    struct links_path around_two[] = {path(3, 0, 1, 2), path(2, 1, 2, 0), path(1, 2, 0, 0),
                                      path(2, 3, 2, 0)};

    (void)state;
    for (uint32_t self = 0; self < 4; self++) {
        ring_around_zero(self);
        break_path(self, 5);
        if (self != 0) {
            content(5, 5 + self * TURN);
            content(5 + self * TURN - 1, 5 + self * TURN);
        }
        (void)expect(5 + self * TURN, LINKS_BROKEN, 0xf);
        links_deinit(&l);
    }
    ring(1, config());
    assert_int_equal(links_plan_set(&l, 4, 2, 0xf, around_two), LINKS_NEW);
    break_path(1, 5);
    content(5, 5 + 2 * TURN); /* After 2 and 0. */
}

static void test_who_is_not_there_has_no_turn(void **state)
{
    (void)state;
    ring_around_zero(2);
    sees(0x8, 5);
    heard(0, 0x8, 5); /* 1 is missing. */
    content(5, 5 + AWAY);
    content(5 + AWAY, 5 + AWAY + TURN);
    (void)expect(5 + AWAY + TURN, LINKS_GONE, 0xd);
    links_deinit(&l);
    ring_around_zero(2);
    heard(1, 0x4, 5);
    heard(3, 0x4, 5); /* 0 is, the centre. */
    content(5 + AWAY, 5 + AWAY + TURN);
    (void)expect(5 + AWAY + TURN, LINKS_LOST, 0xe);
}

static void test_a_need_that_passes_begins_anew(void **state)
{
    (void)state;
    ring_around_zero(1);
    break_path(1, 5);
    content(5, 5 + TURN);
    sees(0x5, 7);
    content(7, LINKS_NEVER);
    break_path(1, 8);
    content(5 + TURN, 5 + 2 * TURN);
    follow_around_zero(8); /* Another plan is no better, but it is another. */
    content(20, 20 + TURN);
}

static void test_who_has_proposed_in_vain_waits_for_the_others(void **state)
{
    (void)state;
    ring_around_zero(1);
    break_path(1, 5);
    content(5, 5 + TURN);
    (void)expect(5 + TURN, LINKS_BROKEN, 0xf);
    content(5 + TURN, 5 + 5 * TURN);
    (void)expect(5 + 5 * TURN, LINKS_BROKEN, 0xf);
    content(5 + 5 * TURN, 5 + 9 * TURN);
}

static void test_who_remembers_nothing_leaves_it_to_others(void **state)
{
    struct links_word word;

    (void)state;
    start(3, 0);
    sees(0x6, 0);
    for (uint32_t s = 1; s < 3; s++) {
        word = word_of(s, 1, 0x1);
        word.remembers = s == 2;
        hear(&word, 0);
    }
    content(0, LINKS_NEVER);
    content(100 * AWAY, LINKS_NEVER);
    word = word_of(2, 1, 0x1);
    word.remembers = false; /* Nobody does: then all may. */
    hear(&word, 100 * AWAY);
    (void)expect(100 * AWAY, LINKS_FIRST, 0x7);
}

static void test_who_remembers_nothing_is_passed_over(void **state)
{
    struct links_word word;

    (void)state;
    ring_around_zero(2);
    word = word_of(0, 2, 0xa); /* The centre has restarted. */
    word.remembers = false;
    hear(&word, 5);
    content(5, 5 + TURN);
    (void)expect(5 + TURN, LINKS_BACK, 0xf);
}

static void test_changes_come_in_bursts(void **state)
{
    struct links_config c = config();

    (void)state;
    c.quiet_ns = 3;
    ring(0, c);
    follow_around_zero(4);
    content(5, LINKS_NEVER);
    heard(1, 0x1, 5);
    content(5, 8);
    heard(2, 0x8, 7); /* Nothing else follows from it, but more may come. */
    content(8, 10);
    (void)expect(10, LINKS_BROKEN, 0xf);
}

static void test_a_link_that_never_rests_keeps_nobody_waiting(void **state)
{
    struct links_config c = config();
    uint64_t now;

    (void)state;
    c.quiet_ns = 3;
    ring(0, c);
    follow_around_zero(4);
    heard(1, 0x1, 5);
    for (now = 5; now < 5 + 10 * 3; now++) {
        heard(2, now % 2 == 0 ? 0x8 : 0xa, now);
        content(now, now + 3 < 35 ? now + 3 : 35);
    }
    heard(2, 0x8, now);
    (void)expect(now, LINKS_BROKEN, 0xf);
}

/* Majorities. */

static void test_half_of_the_sites_are_no_majority(void **state)
{
    struct links_config c = config();

    (void)state;
    c.majority = true;
    ring(0, c);
    follow_around_zero(4);
    for (uint32_t s = 2; s < 4; s++) {
        struct links_word word = word_of(s, 1, 0x2);

        word.remembers = false;
        hear(&word, 5);
    }
    sees(0x2, 5);
    heard(1, 0x1, 5);
    content(5, 5 + AWAY);
    content(5 + AWAY, LINKS_NEVER); /* Two of four. */
    heard(1, 0x5, 6 + AWAY);
    (void)expect(6 + AWAY, LINKS_GONE, 0x7);
}

/* Five sites that all see 0. */
static void star(const char *memories)
{
    struct links_config c = config();

    c.majority = true;
    start_with(5, 0, c);
    links_set_memory(&l, memories[0] == 'y', 0);
    sees(0x1e, 0);
    for (uint32_t s = 1; s < 5; s++) {
        struct links_word word = word_of(s, 1, 0x1);

        word.remembers = memories[s] == 'y';
        if (memories[s] != '?') {
            hear(&word, 0);
        }
    }
}

static void test_most_of_those_that_remember_must_be_there(void **state)
{
    static const struct {
        const char *memories; /* '?': it was never heard of. */
        uint64_t missing;
        bool enough;
    } cases[] = {
        {"ynnyy", 0x18, false}, {"yynyy", 0x18, false}, {"yyyyy", 0x18, true},
        {"ynnny", 0x10, false}, {"yynny", 0x10, true},  {"ynnn?", 0x00, false},
        {"yynn?", 0x00, true},  {"nnnn?", 0x00, false}, {"nnnnn", 0x18, true},
        {"nnnnn", 0x00, true},  {"ynnn?", 0x00, false}, {"yyy??", 0x00, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct links_wish wish;

        star(cases[i].memories);
        sees(0x1e & ~cases[i].missing, 0);
        assert_int_equal(links_look(&l, AWAY, &wish), cases[i].enough);
        links_deinit(&l);
    }
    star("yyyyy");
}

/* Epochs. */

static void test_epochs_are_unique_and_higher_than_all_that_are_known(void **state)
{
    struct links_wish wish;
    struct links_word word;

    (void)state;
    for (uint32_t self = 0; self < 2; self++) {
        ring(self, config());
        follow_around_zero(4);
        word = word_of(2, 1, 0xa);
        word.top = 17;
        hear(&word, 0);
        links_ask(&l);
        assert_true(links_look(&l, 0, &wish));
        assert_int_equal(wish.epoch, self == 0 ? 20 : 21);
        links_set_top(&l, 20);
        links_ask(&l);
        assert_true(links_look(&l, 100, &wish));
        assert_int_equal(wish.epoch, self == 0 ? 24 : 21);
        links_deinit(&l);
    }
    start(4, 0);
}

static void test_the_plan_with_the_highest_epoch_counts(void **state)
{
    struct links_path paths[] = {path(1, 0, 0, 0), path(2, 1, 0, 0)};
    struct links_word word;

    (void)state;
    start(2, 1);
    links_set_top(&l, 9);
    links_say(&l, 0, &word);
    assert_int_equal(links_plan_set(&l, 4, 0, 0x3, paths), LINKS_NEW);
    assert_true(links_due(&l, 0));
    links_say(&l, 0, &word);
    assert_true(word.epoch == 4 && word.top == 9);
    assert_int_equal(links_plan_set(&l, 4, 0, 0x3, paths), LINKS_OLD);
    assert_int_equal(links_plan_set(&l, 3, 0, 0x3, paths), LINKS_OLD);
    assert_false(links_due(&l, 0));
    assert_int_equal(links_plan_set(&l, 12, 0, 0x3, paths), LINKS_NEW);
    links_say(&l, 0, &word);
    assert_true(word.epoch == 12 && word.top == 12);
}

static void test_plans_that_cannot_be_are_wrong(void **state)
{
    struct links_path good[] = {path(1, 0, 0, 0), path(2, 1, 0, 0), path(3, 2, 1, 0)};
    struct links_path paths[3];

    (void)state;
    start(3, 1);
    assert_int_equal(links_plan_set(&l, 0, 0, 0x7, good), LINKS_WRONG);
    assert_int_equal(links_plan_set(&l, LINKS_EPOCH_LAST + 1, 0, 0x7, good), LINKS_WRONG);
    assert_int_equal(links_plan_set(&l, 1, 3, 0x7, good), LINKS_WRONG);
    assert_int_equal(links_plan_set(&l, 1, 0, 0x6, good), LINKS_WRONG);
    assert_int_equal(links_plan_set(&l, 1, 0, 0xf, good), LINKS_WRONG);
    assert_int_equal(links_plan_set(&l, 1, 1, 0x7, good), LINKS_WRONG);
    for (uint32_t i = 0; i < 7; i++) {
        memcpy(paths, good, sizeof(good));
        paths[2].count = i == 0 ? 0 : i == 1 ? LINKS_PATH_MAX + 1 : i == 2 ? 2 : 3;
        paths[2].sites[0] = i == 3 ? 1 : 2;
        paths[2].sites[1] = i == 4 ? 2 : i == 5 ? 3 : 1;
        paths[2].rates[1] = i == 6 ? LINKS_RATE_MAX + 1 : 0;
        assert_int_equal(links_plan_set(&l, 1, 0, 0x7, paths), LINKS_WRONG);
    }
    paths[2] = (struct links_path){0}; /* Of who is not active nothing is said. */
    assert_int_equal(links_plan_set(&l, 1, 0, 0x3, paths), LINKS_NEW);
}

static void test_without_memory_there_is_nothing(void **state)
{
    struct links_config c = config();
    enum err rc = ERR_NOMEM;

    (void)state;
    for (uint64_t k = 1; rc != OK; k++) {
        int64_t held = mem_bytes_held();

        mem_fail_at(k, 1);
        rc = links_init(&l, 5, 0, 1, &c, 0);
        mem_fail_at(0, 0);
        assert_int_equal(rc, k <= 8 ? ERR_NOMEM : OK);
        assert_true(rc == OK || mem_bytes_held() == held);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_of_two_words_the_later_life_counts_then_the_higher_number),
        TEST(test_words_that_cannot_be_are_wrong),
        TEST(test_what_changes_is_said_once),
        TEST(test_a_rate_is_said_again_when_it_differs_by_a_tenth_once_a_second),
        TEST(test_who_looks_at_a_word_of_its_own_sees_what_it_said),
        TEST(test_words_are_passed_on_as_they_came),
        TEST(test_a_word_of_an_earlier_life_is_answered_by_a_higher_number),
        TEST(test_who_finds_a_later_life_of_its_own_begins_a_later_one),
        TEST(test_a_link_is_joined_if_both_ends_say_so),
        TEST(test_a_rate_is_the_smaller_one_of_both_ends),
        TEST(test_as_many_sites_as_there_may_be_in_a_row),
        TEST(test_the_first_plan_waits_for_all_or_until_they_are_away),
        TEST(test_if_nobody_is_ever_away_plans_are_for_all),
        TEST(test_a_broken_path_needs_a_plan_if_there_is_another_way),
        TEST(test_links_that_never_were_up_are_waited_for_at_the_start),
        TEST(test_links_that_were_up_once_are_not_waited_for),
        TEST(test_all_who_are_missing_must_be_away),
        TEST(test_who_is_missing_is_left_out_when_it_is_away),
        TEST(test_a_lost_centre_is_missed_like_others),
        TEST(test_who_is_back_is_taken_in),
        TEST(test_who_has_restarted_is_taken_in_anew),
        TEST(test_who_forgets_is_taken_in_anew),
        TEST(test_a_later_life_than_is_known_here_is_no_need),
        TEST(test_while_somebody_is_missing_others_wait_too),
        TEST(test_a_plan_that_is_coming_is_waited_for),
        TEST(test_rates_that_have_changed_for_long_need_a_plan),
        TEST(test_links_that_come_up_may_make_another_plan_better),
        TEST(test_only_the_centre_looks_at_rates),
        TEST(test_who_cannot_do_with_the_plan_asks),
        TEST(test_the_centre_proposes_first_then_the_others),
        TEST(test_who_is_not_there_has_no_turn),
        TEST(test_a_need_that_passes_begins_anew),
        TEST(test_who_has_proposed_in_vain_waits_for_the_others),
        TEST(test_who_remembers_nothing_leaves_it_to_others),
        TEST(test_who_remembers_nothing_is_passed_over),
        TEST(test_changes_come_in_bursts),
        TEST(test_a_link_that_never_rests_keeps_nobody_waiting),
        TEST(test_half_of_the_sites_are_no_majority),
        TEST(test_most_of_those_that_remember_must_be_there),
        TEST(test_epochs_are_unique_and_higher_than_all_that_are_known),
        TEST(test_the_plan_with_the_highest_epoch_counts),
        TEST(test_plans_that_cannot_be_are_wrong),
        TEST(test_without_memory_there_is_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
