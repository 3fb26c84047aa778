/* Tests of sync/links: why another plan is needed, whom that is about, and when none is. */

#include "sync/testing_links.h"

static void about_nobody(struct links_wish wish)
{
    assert_int_equal(wish.about.count, 0);
}

static void about_site(struct links_wish wish, uint32_t site)
{
    assert_int_equal(wish.about.count, 1);
    assert_int_equal(wish.about.sites[0], site);
}

static void about_link(struct links_wish wish, uint32_t a, uint32_t b)
{
    assert_int_equal(wish.about.count, 2);
    assert_int_equal(wish.about.sites[0], a);
    assert_int_equal(wish.about.sites[1], b);
}

static void test_the_first_plan_is_about_nobody(void **state)
{
    (void)state;
    ring(0, config());
    assert_false(links_is_content(&l));
    about_nobody(expect(5, LINKS_FIRST, 0xf));
}

static void test_who_is_gone_is_named(void **state)
{
    (void)state;
    ring_around_zero(0);
    assert_true(links_is_content(&l));
    heard(1, 0x1, 5);
    heard(3, 0x1, 5);
    assert_false(links_is_content(&l)); /* At once: it is not there. */
    about_site(expect(5 + AWAY, LINKS_GONE, 0xb), 2);
}

static void test_a_lost_centre_is_named(void **state)
{
    (void)state;
    ring_around_zero(1);
    sees(0x4, 5);
    heard(3, 0x4, 5);
    about_site(expect(5 + AWAY, LINKS_LOST, 0xe), 0);
}

static void test_who_is_back_is_named(void **state)
{
    struct links_path paths[] = {path(1, 0, 0, 0), path(2, 1, 0, 0), {0}, path(2, 3, 0, 0)};

    (void)state;
    ring(0, config());
    heard(2, 0, 0);
    assert_int_equal(links_plan_set(&l, 4, 0, 0xb, paths), LINKS_NEW);
    assert_true(links_is_content(&l));
    heard(2, 0x2, 5);
    assert_false(links_is_content(&l));
    about_site(expect(5, LINKS_BACK, 0xf), 2);
}

static void test_a_broken_link_is_named(void **state)
{
    (void)state;
    ring_around_zero(0);
    heard(1, 0x1, 5);
    about_link(expect(5, LINKS_BROKEN, 0xf), 2, 1);
    assert_false(links_is_content(&l));
}

static void test_a_link_whose_rate_has_changed_is_named(void **state)
{
    struct links_word word;

    (void)state;
    ring_around_zero(0);
    links_set_rate(&l, 3, 1000);
    links_say(&l, 5, &word);
    content(5, 5 + SETTLE);
    about_link(expect(5 + SETTLE, LINKS_CHANGED, 0xf), 0, 3);
    assert_true(links_is_content(&l)); /* It does, only not as well. */
}

static void test_who_asks_names_nobody(void **state)
{
    (void)state;
    ring_around_zero(2);
    links_ask(&l);
    assert_false(links_is_content(&l));
    about_nobody(expect(5, LINKS_ASKED, 0xf));
}

static void test_nobody_is_content_while_a_later_plan_is_on_its_way(void **state)
{
    struct links_word word;

    (void)state;
    ring_around_zero(0);
    word = word_of(1, 1, 0x5);
    word.epoch = word.top = 5;
    hear(&word, 5);
    assert_false(links_is_content(&l));
    follow_around_zero(5);
    assert_true(links_is_content(&l));
}

static void test_reasons_are_found_by_their_names(void **state)
{
    enum links_why found;

    (void)state;
    for (int why = LINKS_CONTENT; why <= LINKS_CHANGED; why++) {
        assert_true(links_why_find(links_why_name((enum links_why)why), &found));
        assert_int_equal(found, why);
    }
    assert_false(links_why_find("because", &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_the_first_plan_is_about_nobody, end),
        cmocka_unit_test_teardown(test_who_is_gone_is_named, end),
        cmocka_unit_test_teardown(test_a_lost_centre_is_named, end),
        cmocka_unit_test_teardown(test_who_is_back_is_named, end),
        cmocka_unit_test_teardown(test_a_broken_link_is_named, end),
        cmocka_unit_test_teardown(test_a_link_whose_rate_has_changed_is_named, end),
        cmocka_unit_test_teardown(test_who_asks_names_nobody, end),
        cmocka_unit_test_teardown(test_nobody_is_content_while_a_later_plan_is_on_its_way, end),
        cmocka_unit_test(test_reasons_are_found_by_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
