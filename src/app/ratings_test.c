/* Ratings: formats, renumbering, parts of workers, errors with their lines, what is generated. */

#include "app/ratings.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum err parse(const char *chars, uint32_t rank, uint32_t workers, struct ratings *out,
                      struct err_text *text)
{
    return ratings_parse("u.data", chars, strlen(chars), rank, workers, out, text);
}

static void assert_rating(const struct ratings *r, uint32_t i, uint32_t user, uint32_t item,
                          float value)
{
    assert_true(i < r->count);
    assert_int_equal(r->list[i].user, user);
    assert_int_equal(r->list[i].item, item);
    assert_true(r->list[i].value == value);
}

/* The same three ratings in every format. */
static const char *const formats[] = {
    "7 100 3.5\n2 50 1\n7 50 5\n",
    "7\t100\t3.5\t964982703\n2\t50\t1\t5\n\n7\t50\t5\t0",
    "  7   100 3.5  \r\n\r\n2 50 1\r\n7 50 5\r\n",
    "7::100::3.5::964982703\n2::50::1::964982703\n7::50::5::1\n",
    "7::100::3.5\n2::50::1\n7::50::5",
    "userId,movieId,rating,timestamp\n7,100,3.5,1\n2,50,1,1\n7,50,5,1\n",
    "7,100,3.5\n2,50,1\n7,50,5\n",
    "\xef\xbb\xbf\"user\",\"item\",\"rating\"\r\n7, 100, 3.5\r\n2, 50 ,1.0\r\n7,50,5e0,x,y\r\n",
    "user_id\titem_id\trating\n007\t0100\t3.5\n2\t50\t+1\n7\t50\t5\n",
    "# a comment\n7 100 3.5 what follows is not read\n2 50 1\n7 50 5\n",
};

static void test_all_formats_say_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct err_text text = {""};
        struct ratings r;

        if (parse(formats[i], 0, 1, &r, &text) != OK) {
            fail_msg("format %zu: %s", i, text.text);
        }
        assert_int_equal(r.users, 2);
        assert_int_equal(r.items, 2);
        assert_int_equal(r.user_count, 2);
        assert_int_equal(r.count, 3);
        assert_rating(&r, 0, 1, 1, 3.5f);
        assert_rating(&r, 1, 0, 0, 1);
        assert_rating(&r, 2, 1, 0, 5);
        ratings_deinit(&r);
    }
}

static const struct {
    const char *chars;
    const char *why;
} bad[] = {
    {"", "u.data:0: there are no ratings: expected lines of user, item and rating"},
    {"\n\n", "u.data:2: there are no ratings"},
    {"user,item,rating\n", "u.data:1: there are no ratings"},
    {"1 2\n", "u.data:1: expected a space, found the end of the line"},
    {"1 2 3\n1 2 x\n", "u.data:2: expected a rating, a number such as 0.5, found 'x'"},
    {"1 2 3\n1\n", "u.data:2: expected a space, found the end of the line"},
    {"1 2 3\nx 2 3\n", "u.data:2: expected a user, a whole number from 0 to"},
    {"-1 2 3\n", "u.data:1: expected a user"},
    {"1 -2 3\n", "u.data:1: expected an item, a whole number"},
    {"1 2.5 3\n", "u.data:1: expected a space, found '.5 3'"},
    {"1 2 3x\n", "u.data:1: expected a space, found 'x'"},
    {"1 2 nan\n", "u.data:1: expected a rating"},
    {"1 2 1e39\n", "u.data:1: expected a rating"},
    {"1 2 3\n\n1,2,3\n", "u.data:3: expected a space, found ',2,3'"},
    {"1,2,3\n1 2 3\n", "u.data:2: expected ',', found '2 3'"},
    {"1,2,3 4\n", "u.data:1: expected ',', found '4'"},
    {"1::2::3\n1::2:3\n", "u.data:2: expected '::', found ':3'"},
    {"1:2:3\n", "u.data:1: expected a space, found ':2:3'"},
    {"1;2;3\n", "u.data:1: expected a space, found ';2;3'"},
    {"1 18446744073709551616 3\n", "u.data:1: expected an item"},
    {"user item rating\nuser item rating\n", "u.data:2: expected a user"},
};

static void test_errors_have_their_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ratings r = {.count = 77};
        struct err_text text = {""};

        if (parse(bad[i].chars, 0, 1, &r, &text) != ERR_MALFORMED) {
            fail_msg("'%s' was accepted", bad[i].chars);
        }
        assert_int_equal(r.count, 77);
        if (strncmp(text.text, bad[i].why, strlen(bad[i].why)) != 0) {
            fail_msg("'%s' for '%s'", text.text, bad[i].chars);
        }
        assert_int_equal(parse(bad[i].chars, 0, 1, &r, NULL), ERR_MALFORMED);
    }
}

static void test_ids_of_any_size_are_renumbered_in_order(void **state)
{
    struct ratings r;

    (void)state;
    assert_int_equal(parse("18446744073709551615 0 1\n"
                           "4294967296 18446744073709551615 2\n"
                           "0 65536 3\n"
                           "255 255 4\n"
                           "256 255 5\n",
                           0, 1, &r, NULL),
                     OK);
    assert_int_equal(r.users, 5);
    assert_int_equal(r.items, 4);
    assert_rating(&r, 0, 4, 0, 1);
    assert_rating(&r, 1, 3, 3, 2);
    assert_rating(&r, 2, 0, 2, 3);
    assert_rating(&r, 3, 1, 1, 4);
    assert_rating(&r, 4, 2, 1, 5);
    ratings_deinit(&r);
}

/* A random file as text, and what a naive reader makes of it. */
enum { LINES = 300, IDS = 40 };

static char random_file[LINES * 64];
static uint64_t random_ids[2][IDS];
static uint32_t random_lines[LINES][2]; /* Places in the above. */

static void make_random_file(uint64_t seed)
{
    char *at = random_file;
    struct rng r;

    rng_init(&r, seed);
    for (uint32_t i = 0; i < 2 * IDS; i++) {
        random_ids[i % 2][i / 2] = rng_next(&r) >> rng_below(&r, 60);
    }
    for (uint32_t i = 0; i < LINES; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            random_lines[i][k] = (uint32_t)rng_below(&r, IDS);
        }
        at += sprintf(at, "%llu %llu %u\n", (unsigned long long)random_ids[0][random_lines[i][0]],
                      (unsigned long long)random_ids[1][random_lines[i][1]], i);
    }
}

/* How many different used ids are below the one of line @line. */
static uint32_t naive_number(uint32_t line, uint32_t which, uint32_t *distinct_out)
{
    uint64_t id = random_ids[which][random_lines[line][which]];
    uint32_t below = 0, distinct = 0;

    for (uint32_t i = 0; i < LINES; i++) {
        uint64_t other = random_ids[which][random_lines[i][which]];
        uint32_t first = 0;

        while (random_ids[which][random_lines[first][which]] != other) {
            first++;
        }
        distinct += first == i;
        below += first == i && other < id;
    }
    *distinct_out = distinct;
    return below;
}

static void test_parts_are_the_whole_for_any_number_of_workers(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        uint32_t users, items, naive[LINES][2];

        make_random_file(seed);
        for (uint32_t i = 0; i < LINES; i++) {
            naive[i][0] = naive_number(i, 0, &users);
            naive[i][1] = naive_number(i, 1, &items);
        }
        for (uint32_t workers = 1; workers <= IDS + 5; workers += 4) {
            uint32_t seen = 0, next_user = 0;

            for (uint32_t rank = 0; rank < workers; rank++) {
                struct ratings r;

                assert_int_equal(parse(random_file, rank, workers, &r, NULL), OK);
                assert_int_equal(r.users, users);
                assert_int_equal(r.items, items);
                assert_int_equal(r.user_first, next_user);
                next_user += r.user_count;
                for (uint32_t i = 0; i < r.count; i++) {
                    uint32_t line = (uint32_t)r.list[i].value;

                    assert_true(r.list[i].user < r.user_count);
                    assert_true(i == 0 || r.list[i].value > r.list[i - 1].value);
                    assert_int_equal(r.user_first + r.list[i].user, naive[line][0]);
                    assert_int_equal(r.list[i].item, naive[line][1]);
                }
                seen += r.count;
                ratings_deinit(&r);
            }
            assert_int_equal(seen, LINES);
            assert_int_equal(next_user, users);
        }
    }
}

static void test_a_cut_file_is_read_or_refused(void **state)
{
    static const char all[] = "user,item,rating\n1,2,3.5,7\n4,5,1e0\n1,5,2\n";

    (void)state;
    for (size_t size = 0; size < sizeof(all); size++) {
        char *copy = malloc(size + 1);
        struct ratings r;
        enum err rc;

        assert_non_null(copy);
        memcpy(copy, all, size);
        rc = ratings_parse("x", copy, size, 0, 2, &r, NULL);
        assert_true(rc == OK || rc == ERR_MALFORMED);
        if (rc == OK) {
            ratings_deinit(&r);
        }
        free(copy);
    }
}

static void test_out_of_memory_at_every_allocation(void **state)
{
    const struct ratings_plan plan = {.users = 3, .items = 3, .ratings = 5, .seed = 1};
    struct ratings r;
    uint64_t k;

    (void)state;
    for (uint32_t rank = 0; rank < 3; rank++) {
        enum err rc = ERR_NOMEM;

        for (k = 1; rc == ERR_NOMEM; k++) {
            struct err_text text = {""};

            mem_fail_at(k, 1);
            rc = parse(formats[0], rank, 3, &r, &text);
            mem_fail_at(0, 0);
            assert_true(rc == OK || strstr(text.text, "out of memory") != NULL);
        }
        assert_int_equal(rc, OK);
        assert_int_equal(k, 8);
        ratings_deinit(&r);
        for (k = 1, rc = ERR_NOMEM; rc == ERR_NOMEM; k++) {
            mem_fail_at(k, 1);
            rc = ratings_generate(&plan, rank, 3, &r);
            mem_fail_at(0, 0);
        }
        assert_int_equal(rc, OK);
        assert_int_equal(k, 5);
        ratings_deinit(&r);
    }
}

static void test_what_is_generated_does_not_depend_on_the_workers(void **state)
{
    const struct ratings_plan plan = {.users = 50, .items = 30, .ratings = 700, .seed = 9};
    struct ratings whole;

    (void)state;
    assert_int_equal(ratings_generate(&plan, 0, 1, &whole), OK);
    assert_int_equal(whole.count, 700);
    for (uint32_t workers = 1; workers <= 60; workers++) {
        uint32_t at = 0;

        for (uint32_t rank = 0; rank < workers; rank++) {
            struct ratings part;

            assert_int_equal(ratings_generate(&plan, rank, workers, &part), OK);
            assert_int_equal(part.users, 50);
            assert_int_equal(part.items, 30);
            for (uint32_t i = 0; i < part.count; i++, at++) {
                assert_rating(&part, i, whole.list[at].user - part.user_first, whole.list[at].item,
                              whole.list[at].value);
            }
            ratings_deinit(&part);
        }
        assert_int_equal(at, 700);
    }
    ratings_deinit(&whole);
}

static void test_generated_ratings_look_like_ratings(void **state)
{
    const struct ratings_plan plan = {.users = 100, .items = 50, .ratings = 4000, .seed = 3};
    uint32_t by_item[50] = {0}, by_user[100] = {0};
    static bool seen[100][50];
    struct ratings r;

    (void)state;
    assert_int_equal(ratings_generate(&plan, 0, 1, &r), OK);
    for (uint32_t i = 0; i < r.count; i++) {
        float halves = r.list[i].value * 2;

        assert_true(halves >= 1 && halves <= 10 && halves == (float)(int)halves);
        assert_false(seen[r.list[i].user][r.list[i].item]);
        seen[r.list[i].user][r.list[i].item] = true;
        by_item[r.list[i].item]++;
        by_user[r.list[i].user]++;
    }
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(by_user[i], 40);
    }
    assert_true(by_item[0] > by_item[49]);
    ratings_deinit(&r);
}

static void test_all_pairs_can_be_generated(void **state)
{
    const struct ratings_plan plan = {.users = 4, .items = 5, .ratings = 20, .seed = 3};
    struct ratings r;

    (void)state;
    assert_int_equal(ratings_generate(&plan, 0, 1, &r), OK);
    assert_int_equal(r.count, 20);
    ratings_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_formats_say_the_same),
        cmocka_unit_test(test_errors_have_their_line),
        cmocka_unit_test(test_ids_of_any_size_are_renumbered_in_order),
        cmocka_unit_test(test_parts_are_the_whole_for_any_number_of_workers),
        cmocka_unit_test(test_a_cut_file_is_read_or_refused),
        cmocka_unit_test(test_out_of_memory_at_every_allocation),
        cmocka_unit_test(test_what_is_generated_does_not_depend_on_the_workers),
        cmocka_unit_test(test_generated_ratings_look_like_ratings),
        cmocka_unit_test(test_all_pairs_can_be_generated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
