/* Tests of sync/links, what a neighbour is sent: the words and the plan that it does not have and
 * that no other site sends. links_storm_test.c has whole networks. */

#include "sync/testing_links.h"

#include <string.h>

#define BATCH (50 * UINT64_C(1000000))
#define FORWARD (2 * BATCH)

/* From that neighbour. */
static enum links_verdict take_from(uint32_t from, uint32_t site, uint64_t up)
{
    struct links_word word = word_of(site, 1, up);

    return links_take(&l, from, &word, 0);
}

/* All that is pending for a neighbour; the last word of it. */
static uint64_t sent(uint32_t neighbour, uint64_t now, struct links_word *last)
{
    uint64_t pending = links_pending(&l, neighbour, now);

    for (uint32_t s = 0; s < l.sites; s++) {
        if ((pending >> s & 1) != 0) {
            links_pending_get(&l, neighbour, s, now, last);
        }
    }
    return pending;
}

static void say(uint64_t now)
{
    struct links_word word;

    links_say(&l, now, &word);
}

/* Site 0 of @sites, and who its neighbours are. */
static void begin(uint32_t sites, uint64_t up)
{
    start(sites, 0);
    sees(up, 0);
    say(0);
}

static void test_a_neighbour_gets_each_word_of_ours_once_and_then_what_changed(void **state)
{
    struct links_word word;

    (void)state;
    begin(4, 0x6);
    assert_int_equal(sent(3, 0, &word), 0); /* Its link is down. */
    assert_int_equal(sent(1, 0, &word), 0x1);
    assert_true(word.site == 0 && word.since == 0 && word.count == 3);
    assert_int_equal(sent(1, S, &word), 0);
    links_set_rate(&l, 2, 500);
    links_set_up(&l, 3, true, S);
    assert_int_equal(sent(1, S, &word), 0); /* It was not said. */
    say(S);
    assert_int_equal(sent(1, S, &word), 0x1);
    assert_true(word.number == 2 && word.since == 1 && word.count == 2);
    assert_true(word.entries[0].neighbour == 2 && word.entries[0].bytes_per_s == 500);
    assert_true(word.entries[1].neighbour == 3 && word.entries[1].up);
    assert_int_equal(sent(2, S, &word), 0x1); /* It missed one. */
    assert_true(word.since == 0 && word.count == 3);
    links_set_memory(&l, true, S);
    say(S);
    assert_int_equal(sent(1, 2 * S, &word), 0x1);
    assert_true(word.number == 3 && word.since == 2 && word.count == 0 && word.remembers);
    links_set_up(&l, 1, false, S);
    say(S);
    assert_int_equal(sent(1, 2 * S, &word), 0);
}

static void test_words_go_in_batches(void **state)
{
    struct links_word word;

    (void)state;
    begin(4, 0x2);
    assert_int_equal(links_pending_deadline(&l), 0);
    assert_int_equal(sent(1, S, &word), 0x1);
    assert_true(links_pending_deadline(&l) == LINKS_NEVER);
    links_set_up(&l, 2, true, S);
    say(S);
    assert_int_equal(sent(1, S + BATCH - 1, &word), 0);
    assert_int_equal(sent(2, S, &word), 0x1); /* Each has its own. */
    assert_true(links_pending_deadline(&l) == S + BATCH);
    assert_int_equal(sent(1, S + BATCH, &word), 0x1);
}

static void test_words_of_others_wait_for_the_word_of_the_neighbour_and_a_moment(void **state)
{
    struct links_word word;

    (void)state;
    begin(4, 0x6);
    assert_int_equal(take_from(2, 2, 0x9), LINKS_NEW);
    assert_int_equal(take_from(2, 3, 0x4), LINKS_NEW);
    assert_int_equal(sent(1, S, &word), 0x1);
    assert_int_equal(take_from(1, 1, 0x1), LINKS_NEW);
    assert_int_equal(links_pending(&l, 1, S), 0);
    links_set_up(&l, 1, false, 2 * S);
    links_set_up(&l, 1, true, 2 * S);
    assert_true(links_pending_deadline(&l) == 0); /* Our own for 2. */
    assert_int_equal(sent(2, 2 * S, &word), 0x3);
    assert_true(links_pending_deadline(&l) == 2 * S + FORWARD);
    assert_int_equal(links_pending(&l, 1, 2 * S + FORWARD - 1), 0);
    assert_int_equal(links_pending(&l, 1, 2 * S + FORWARD), 0xc);
}

static void test_a_word_does_not_go_to_whom_it_came_from_nor_to_whom_its_site_sends_it(void **state)
{
    struct links_word word;

    (void)state;
    begin(4, 0xe);
    assert_int_equal(take_from(1, 1, 0x5), LINKS_NEW); /* 1 - 2; nobody sees 3. */
    assert_int_equal(take_from(2, 2, 0x3), LINKS_NEW);
    assert_int_equal(take_from(3, 3, 0x1), LINKS_NEW);
    assert_int_equal(sent(1, S, &word), 0x9);
    assert_int_equal(sent(2, S, &word), 0x9);
    assert_int_equal(sent(3, S, &word), 0x7);
    assert_int_equal(take_from(1, 1, 0x1), LINKS_NEW); /* The link to 2 is down. */
    assert_int_equal(sent(2, 2 * S, &word), 0x2);
    assert_true(word.site == 1 && word.since == 0);
}

static void test_of_the_neighbours_of_both_the_first_one_sends(void **state)
{
    (void)state;
    for (uint32_t self = 1; self < 4; self++) { /* 0 and 4 are joined by 1, 2 and 3. */
        start(5, self);
        sees(0x11, 0);
        say(0);
        assert_int_equal(take_from(0, 0, 0xe), LINKS_NEW);
        assert_int_equal(take_from(4, 4, 0xe), LINKS_NEW);
        assert_int_equal(links_pending(&l, 4, S), 1u << self | (self == 1));
        assert_int_equal(take_from(0, 0, 0xc), LINKS_NEW); /* Without 1, as 0 sees it. */
        assert_int_equal(links_pending(&l, 4, S), 1u << self | (self <= 2));
        links_deinit(&l);
    }
    start(5, 1);
}

static void test_the_word_of_a_site_that_is_not_reached_goes_to_all(void **state)
{
    struct links_word word;

    (void)state;
    begin(4, 0x6);
    sent(1, 0, &word);
    sent(2, 0, &word);
    assert_int_equal(take_from(1, 1, 0xd), LINKS_NEW); /* All are joined but 0 and 3. */
    assert_int_equal(take_from(2, 2, 0xb), LINKS_NEW);
    assert_int_equal(take_from(1, 3, 0x6), LINKS_NEW);
    assert_int_equal(links_pending(&l, 2, S), 0);
    assert_int_equal(take_from(1, 1, 0x5), LINKS_NEW);
    assert_int_equal(links_pending(&l, 2, S), 0);
    assert_int_equal(take_from(2, 2, 0x3), LINKS_NEW);
    assert_int_equal(links_pending(&l, 1, S), 0); /* It came from there. */
    assert_int_equal(links_pending(&l, 2, S), 0x8);
}

static void test_who_lost_its_session_gets_all_again(void **state)
{
    struct links_word word;

    (void)state;
    begin(3, 0x6);
    assert_int_equal(take_from(1, 1, 0x1), LINKS_NEW);
    assert_int_equal(take_from(2, 2, 0x1), LINKS_NEW);
    assert_int_equal(sent(1, S, &word), 0x5);
    links_neighbour_reset(&l, 1);
    assert_int_equal(sent(1, S, &word), 0x1); /* Its own word has not come again. */
    assert_true(word.since == 0);
    assert_int_equal(take(&(struct links_word){.site = 1, .life = 1, .number = 1}, S), LINKS_OLD);
    assert_int_equal(sent(1, 2 * S, &word), 0x4);
}

static struct links_word change_of(uint32_t site, uint32_t since, uint32_t to)
{
    return (struct links_word){.site = site, .life = 1, .number = to, .since = since};
}

static void test_changes_go_on_top_of_what_they_follow(void **state)
{
    struct links_word word = word_of(1, 1, 0xd), got;

    (void)state;
    begin(4, 0xe);
    word.number = 5;
    hear(&word, 0);
    word = change_of(1, 6, 7);
    assert_int_equal(take(&word, 0), LINKS_WRONG); /* Nobody said 6 here. */
    word.since = 7;
    assert_int_equal(take(&word, 0), LINKS_WRONG); /* It follows itself. */
    word.since = 3;
    word.entries[word.count++] = (struct links_entry){.neighbour = 2, .bytes_per_s = 9};
    hear(&word, 0);
    assert_true(links_word_get(&l, 1, &got));
    assert_true(got.number == 7 && got.since == 0 && got.count == 3);
    assert_true(got.entries[0].up && !got.entries[1].up && got.entries[1].bytes_per_s == 9);
    assert_true(got.entries[2].up);
    assert_int_equal(take(&word, 0), LINKS_OLD);
    word.life = 2;
    assert_int_equal(take(&word, 0), LINKS_WRONG); /* Of that one no word is known. */
    word.since = 0;
    hear(&word, 0);
    assert_true(links_word_get(&l, 1, &got) && got.count == 1);
}

/* A link may have gone down and up again between two words that say the same of it. */
static void test_changes_are_passed_on_only_to_whom_they_say_enough(void **state)
{
    struct links_word first = word_of(2, 1, 0x1), word, got;

    (void)state;
    begin(4, 0x6);
    sent(1, 0, &word);
    assert_int_equal(take_from(1, 1, 0x1), LINKS_NEW);
    hear(&first, 0); /* From 1, which has 2. */
    word = change_of(2, first.number, first.number + 2);
    word.entries[word.count++] = (struct links_entry){.neighbour = 0, .bytes_per_s = 8};
    assert_int_equal(links_take(&l, 2, &word, 0), LINKS_NEW);
    assert_int_equal(sent(1, S, &got), 0x4);
    assert_true(got.since == first.number && got.number == word.number && got.count == 1);
    word = word_of(2, 1, 0x1);
    word.number = first.number + 9;
    assert_int_equal(links_take(&l, 2, &word, 0), LINKS_NEW);
    assert_int_equal(sent(1, 2 * S, &got), 0x4);
    assert_true(got.since == 0 && got.count == 1); /* What 2 said meanwhile is not known. */
}

/* Plans. */

/* All four in a row, around site 0. */
static void follow_row(uint32_t epoch)
{
    struct links_path paths[] = {path(1, 0, 0, 0), path(2, 1, 0, 0), path(3, 2, 1, 0),
                                 path(3, 3, 1, 0)};

    assert_int_equal(links_plan_set(&l, epoch, 0, 0xf, paths), LINKS_NEW);
    say(0);
}

static void test_a_plan_goes_once_to_whom_the_site_that_made_it_does_not_send_it(void **state)
{
    struct links_word word = word_of(2, 1, 0x3);

    (void)state;
    begin(4, 0xe);
    follow_row(6); /* Made by 2. */
    for (uint32_t n = 1; n < 4; n++) {
        assert_false(links_plan_is_pending(&l, n)); /* Nothing is known of them. */
    }
    assert_int_equal(take_from(1, 1, 0x5), LINKS_NEW);
    assert_int_equal(take_from(3, 3, 0x1), LINKS_NEW);
    word.epoch = word.top = 6;
    assert_int_equal(links_take(&l, 2, &word, 0), LINKS_NEW);
    assert_false(links_plan_is_pending(&l, 2)); /* It follows it. */
    assert_false(links_plan_is_pending(&l, 1)); /* It is joined with 2. */
    assert_true(links_plan_is_pending(&l, 3));
    links_plan_known(&l, 3, 6);
    assert_false(links_plan_is_pending(&l, 3));
    links_neighbour_reset(&l, 3);
    assert_int_equal(take_from(3, 3, 0x1), LINKS_NEW);
    assert_true(links_plan_is_pending(&l, 3));
    links_plan_known(&l, 3, 5); /* An earlier one. */
    assert_true(links_plan_is_pending(&l, 3));
}

static void test_a_site_that_restarted_without_its_plan_does_not_send_it(void **state)
{
    struct links_word word;

    (void)state;
    begin(4, 0x2);
    follow_row(6);
    assert_int_equal(take_from(1, 1, 0x5), LINKS_NEW);
    assert_int_equal(take_from(1, 2, 0x2), LINKS_NEW);
    assert_true(links_plan_is_pending(&l, 1));
    assert_int_equal(sent(1, 0, &word), 0x1); /* Before the plan, whenever the last batch was. */
    links_set_up(&l, 3, true, 0);
    say(0);
    assert_int_equal(sent(1, 0, &word), 0x1);
    links_plan_known(&l, 1, 6);
    links_set_memory(&l, true, 0);
    say(0);
    assert_int_equal(sent(1, 0, &word), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_neighbour_gets_each_word_of_ours_once_and_then_what_changed),
        TEST(test_words_go_in_batches),
        TEST(test_words_of_others_wait_for_the_word_of_the_neighbour_and_a_moment),
        TEST(test_a_word_does_not_go_to_whom_it_came_from_nor_to_whom_its_site_sends_it),
        TEST(test_of_the_neighbours_of_both_the_first_one_sends),
        TEST(test_the_word_of_a_site_that_is_not_reached_goes_to_all),
        TEST(test_who_lost_its_session_gets_all_again),
        TEST(test_changes_go_on_top_of_what_they_follow),
        TEST(test_changes_are_passed_on_only_to_whom_they_say_enough),
        TEST(test_a_plan_goes_once_to_whom_the_site_that_made_it_does_not_send_it),
        TEST(test_a_site_that_restarted_without_its_plan_does_not_send_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
