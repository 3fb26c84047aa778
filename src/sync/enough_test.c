/* Two thresholds and the links: transcripts, and random schedules. */

#include "sync/enough.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { REQUIRED = 1000, LINKS = 4 };

/* "900" was measured, "900+" is at least that, "?" is not known. */
static struct enough_link link_of(const char *word)
{
    struct enough_link link = {.known = word[0] != '?'};
    char plus = '\0';

    (void)sscanf(word, "%lu%c", &link.bytes_per_s, &plus);
    link.at_least = plus == '+';
    return link;
}

/* A line for each look: the links, separated by spaces; "->" what it should say then: "low" or
 * "up", and perhaps the link that should be measured. */
static void play(const char *const *lines)
{
    struct enough e;

    enough_init(&e, &(struct enough_config){.required = REQUIRED});
    for (; *lines != NULL; lines++) {
        struct enough_link links[LINKS];
        char copy[128], said[32], *rest = copy;
        uint32_t count = 0, probe;

        (void)snprintf(copy, sizeof(copy), "%s", *lines);
        for (char *word = strsep(&rest, " "); strcmp(word, "->") != 0; word = strsep(&rest, " ")) {
            links[count++] = link_of(word);
        }
        probe = enough_step(&e, links, count);
        (void)snprintf(said, sizeof(said), "%s", enough_up(&e) ? "up" : "low");
        if (probe != ENOUGH_NO_LINK) {
            (void)snprintf(said, sizeof(said), "%s, measure %u", enough_up(&e) ? "up" : "low",
                           probe);
        }
        if (strcmp(said, rest) != 0) {
            fail_msg("'%s': it is %s", *lines, said);
        }
    }
}

#define PLAY(...) play((const char *const[]){__VA_ARGS__, NULL})

static void test_it_starts_up_and_goes_low_after_three_good_looks(void **state)
{
    (void)state;
    PLAY("5000 -> up", "5000 -> up", "5000 -> low", "5000 -> low");
    PLAY("5000+ -> up", "5000+ -> up", "5000+ -> low");
}

static void test_one_short_link_is_enough_to_go_up_at_once(void **state)
{
    (void)state;
    PLAY("5000 5000 -> up", "5000 5000 -> up", "5000 5000 -> low", "5000 1000 -> up",
         "5000 5000 -> up", "5000 5000 -> up", "5000 5000 -> low");
}

static void test_more_than_required_is_strictly_more(void **state)
{
    (void)state;
    PLAY("2000 -> up", "2000 -> up", "2000 -> low", "1001 -> low", "1000 -> up");
}

static void test_it_comes_back_only_well_above_what_is_required(void **state)
{
    (void)state;
    PLAY("1100 -> up", "1100 -> up", "1100 -> up", "1100 -> up", "1101 -> up", "1101 -> up",
         "1101 -> low", "1050 -> low", "1050 -> low");
    PLAY("2000 -> up", "2000 -> up", "1050 -> up", "2000 -> up", "2000 -> up", "2000 -> low");
}

static void test_what_is_not_known_changes_nothing_and_is_to_be_measured(void **state)
{
    (void)state;
    PLAY("5000 ? -> up, measure 1", "5000 ? -> up, measure 1", "5000 ? -> up, measure 1",
         "5000 2000 -> up", "5000 2000 -> up", "5000 2000 -> low", "? 2000 -> low, measure 0",
         "? ? -> low, measure 0", "? 900 -> up, measure 0");
}

static void test_a_link_that_was_hardly_used_does_not_count_as_short(void **state)
{
    (void)state;
    PLAY("5000 -> up", "5000 -> up", "5000 -> low", "10+ -> low, measure 0",
         "1000+ -> low, measure 0", "1000 -> up", "10+ -> up, measure 0");
}

static void test_without_links_nothing_changes(void **state)
{
    (void)state;
    PLAY("-> up", "-> up", "-> up", "-> up", "5000 -> up", "-> up", "5000 -> up", "5000 -> low",
         "-> low");
}

static void test_the_largest_rates_do_not_overflow(void **state)
{
    struct enough_link link = {.known = true, .bytes_per_s = UINT64_MAX};
    struct enough e;

    (void)state;
    enough_init(&e, &(struct enough_config){.required = UINT64_MAX - 5, .patience = 1});
    assert_int_equal(enough_step(&e, &link, 1), ENOUGH_NO_LINK);
    assert_true(enough_up(&e));
    enough_init(&e, &(struct enough_config){.required = UINT64_MAX / 2, .patience = 1});
    (void)enough_step(&e, &link, 1);
    assert_false(enough_up(&e));
}

/* Whatever comes: never low with a link that was measured as short, and low only after as many
 * good looks as it takes. */
static void test_random_schedules_keep_the_rules(void **state)
{
    uint32_t lows = 0, ups = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint32_t count, patience, good = 0;
        struct enough e;
        struct rng rng;

        rng_init(&rng, seed);
        count = 1 + (uint32_t)rng_below(&rng, LINKS);
        patience = 1 + (uint32_t)rng_below(&rng, 5);
        enough_init(&e, &(struct enough_config){.required = REQUIRED, .patience = patience});
        for (uint32_t look = 0; look < 300; look++) {
            struct enough_link links[LINKS];
            bool was_up = enough_up(&e), is_short = false, all_good = true;

            for (uint32_t i = 0; i < count; i++) {
                links[i] = (struct enough_link){.known = rng_below(&rng, 16) != 0,
                                                .at_least = rng_below(&rng, 4) == 0,
                                                .bytes_per_s = 950 + rng_below(&rng, 1500)};
                is_short = is_short || (links[i].known && !links[i].at_least &&
                                        links[i].bytes_per_s <= REQUIRED);
                all_good = all_good && links[i].known && links[i].bytes_per_s > 1100;
            }
            (void)enough_step(&e, links, count);
            good = all_good ? good + 1 : 0;
            assert_false(is_short && !enough_up(&e));
            if (was_up && !enough_up(&e)) {
                assert_true(good >= patience);
                lows++;
            } else if (!was_up && enough_up(&e)) {
                assert_true(is_short);
                ups++;
            }
        }
    }
    assert_true(lows > 1000 && ups > 1000);
}

/* Around what is required, by less than the margin in either direction: it goes up at most once and
 * then stays. Around the margin: low at most once. */
static void test_noise_within_the_margin_does_not_make_it_flap(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t middle = seed % 2 == 0 ? 1050 : 1150;
        uint32_t changes = 0;
        struct enough e;
        struct rng rng;

        rng_init(&rng, seed);
        enough_init(&e, &(struct enough_config){.required = REQUIRED});
        for (uint32_t look = 0; look < 1000; look++) {
            struct enough_link link = {.known = true,
                                       .bytes_per_s = middle - 49 + rng_below(&rng, 99)};
            bool was_up = enough_up(&e);

            (void)enough_step(&e, &link, 1);
            changes += was_up != enough_up(&e);
        }
        assert_int_equal(changes, seed % 2 == 0 ? 0 : 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_starts_up_and_goes_low_after_three_good_looks),
        cmocka_unit_test(test_one_short_link_is_enough_to_go_up_at_once),
        cmocka_unit_test(test_more_than_required_is_strictly_more),
        cmocka_unit_test(test_it_comes_back_only_well_above_what_is_required),
        cmocka_unit_test(test_what_is_not_known_changes_nothing_and_is_to_be_measured),
        cmocka_unit_test(test_a_link_that_was_hardly_used_does_not_count_as_short),
        cmocka_unit_test(test_without_links_nothing_changes),
        cmocka_unit_test(test_the_largest_rates_do_not_overflow),
        cmocka_unit_test(test_random_schedules_keep_the_rules),
        cmocka_unit_test(test_noise_within_the_margin_does_not_make_it_flap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
