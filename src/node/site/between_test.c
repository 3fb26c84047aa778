/* What sites tell each other of how they share, and how a difference is said. */

#include "node/site/between.h"

#include "node/testing.h"

#include <jansson.h>

/* What site @name says whose list has these others. */
static json_t *terms_of(const char *name, const char *const *others, uint32_t count)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 1, 1);
    struct node_other_site sites[4] = {0};
    struct node_between b;
    json_t *out;

    (void)snprintf(site.name, sizeof(site.name), "%s", name);
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(sites[i].name, sizeof(sites[i].name), "%s", others[i]);
    }
    node_between_init(&b);
    b.others = sites;
    b.others_count = count;
    out = node_between_to_json(&b, &site);
    assert_non_null(out);
    return out;
}

/* Both sides find the same words, or none. */
static void expect(const json_t *east, const json_t *west, const char *words)
{
    struct err_text one = {""}, two = {""};
    enum err rc = words == NULL ? OK : ERR_INVALID;

    assert_int_equal(node_between_compare(east, "east", west, "west", &one), rc);
    assert_int_equal(node_between_compare(west, "west", east, "east", &two), rc);
    assert_string_equal(one.text, words == NULL ? "" : words);
    assert_string_equal(two.text, words == NULL ? "" : words);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__})

static void test_the_order_of_a_list_does_not_matter(void **state)
{
    json_t *east = terms_of("east", LIST("west", "north", "a"), 3);
    json_t *west = terms_of("west", LIST("a", "north", "east"), 3);

    (void)state;
    expect(east, west, NULL);
    json_decref(east);
    json_decref(west);
}

static void test_a_site_that_only_one_list_has_is_named(void **state)
{
    json_t *two = terms_of("east", LIST("west"), 1);
    json_t *more = terms_of("east", LIST("west", "north"), 2);
    json_t *west = terms_of("west", LIST("east", "south"), 2);

    (void)state;
    expect(two, west,
           "site south is in the list of site west and not in that of site east: all sites must "
           "have the same list; start one of them again with the other's");
    expect(more, west, /* Each has one that the other lacks: one at a time. */
           "site north is in the list of site east and not in that of site west: all sites must "
           "have the same list; start one of them again with the other's");
    json_decref(two);
    json_decref(more);
    json_decref(west);
}

/* As a peer might send it that is wrong, or older. */
static void test_a_list_that_is_none_differs_too(void **state)
{
    static const char *const lists[] = {
        "null", "7", "[]", "{}", "[\"east\",\"east\",\"west\"]", "[\"east\",5,\"west\"]"};
    json_t *east = terms_of("east", LIST("west"), 1);
    struct err_text text = {""};

    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        json_t *west = terms_of("west", LIST("east"), 1);

        assert_int_equal(
            json_object_set_new(west, "sites", json_loads(lists[i], JSON_DECODE_ANY, NULL)), 0);
        assert_int_equal(node_between_compare(east, "east", west, "west", &text), ERR_INVALID);
        assert_non_null(strstr(text.text, "all sites must have the same"));
        json_decref(west);
    }
    assert_int_equal(node_between_compare(east, "east", NULL, "west", &text), ERR_INVALID);
    assert_string_equal(text.text,
                        "sites: [\"east\",\"west\"] at site east, none at site west: all "
                        "sites must have the same; start one of them again with the "
                        "other's");
    json_decref(east);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_order_of_a_list_does_not_matter),
        cmocka_unit_test(test_a_site_that_only_one_list_has_is_named),
        cmocka_unit_test(test_a_list_that_is_none_differs_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
