/* What a site is told of filters and trees: checked, as JSON and back. */

#include "node/control.h"
#include "node/lane/report.h"
#include "node/site/site.h"
#include "node/worker/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct node_site a_site(const char *push, const char *broadcast)
{
    struct node_site site = {.name = "eu",
                             .shards = 1,
                             .lanes = 1,
                             .delivery = NODE_BROADCAST,
                             .sync = {.policy = &sync_bsp, .members_min = 1}};

    site.push.on = push != NULL;
    site.broadcast.on = broadcast != NULL;
    assert_true(push == NULL || codec_chain_parse(push, &site.push.chain, NULL) == OK);
    assert_true(broadcast == NULL ||
                codec_chain_parse(broadcast, &site.broadcast.chain, NULL) == OK);
    return site;
}

static void test_what_was_said_comes_back(void **state)
{
    struct node_site site = a_site("dvf:low=0.1,up=0.3 | auto", "norm:delta=2 | gaps | f16");
    struct node_site back;
    json_t *json;

    (void)state;
    site.required = 6250000;
    site.tree = (struct node_tree){.degree = 5, .depth = 3, .leaf_cost = 0.1F};
    json = node_site_to_json(&site);
    assert_int_equal(node_site_from_json(json, &back), OK);
    assert_true(back.push.on && codec_chain_equal(&back.push.chain, &site.push.chain));
    assert_true(back.broadcast.on &&
                codec_chain_equal(&back.broadcast.chain, &site.broadcast.chain));
    assert_int_equal(back.required, 6250000);
    assert_memory_equal(&back.tree, &site.tree, sizeof(site.tree));
    json_decref(json);
}

static void test_what_was_not_said_is_not_told(void **state)
{
    struct node_site site = a_site(NULL, NULL);
    json_t *json = node_site_to_json(&site);

    (void)state;
    assert_null(json_object_get(json, "push"));
    assert_null(json_object_get(json, "broadcast"));
    assert_null(json_object_get(json, "required"));
    assert_null(json_object_get(json, "tree"));
    json_decref(json);
}

static void test_trees_are_read_as_they_are_printed(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"degree=1,depth=1", "degree=1,depth=1,leaf=0"},
        {"degree=64,depth=16,leaf=1000", "degree=64,depth=16,leaf=1000"},
        {"degree=5,depth=3,leaf=0.5", "degree=5,depth=3,leaf=0.5"},
        {"degree=5,depth=3,leaf=-0", "degree=5,depth=3,leaf=0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[NODE_TREE_TEXT_BYTES];
        struct node_tree tree;

        assert_int_equal(node_tree_parse(cases[i].in, &tree, NULL), OK);
        node_tree_print(&tree, out, sizeof(out));
        assert_string_equal(out, cases[i].out);
    }
}

static void test_what_was_passed_on_is_read_as_it_was_written(void **state)
{
    struct node_passed in = {.frames = 3, .bytes = INT64_MAX, .dropped = 1};
    struct node_passed out = {0};
    json_t *json = node_passed_to_json(&in);

    (void)state;
    assert_true(node_passed_from_json(json, &out));
    assert_memory_equal(&in, &out, sizeof(in));
    (void)json_object_set_new(json, "dropped", json_integer(-1));
    assert_false(node_passed_from_json(json, &out));
    assert_int_equal(out.frames, 0);
    assert_false(node_passed_from_json(NULL, &out));
    json_decref(json);
}

static void test_what_is_no_tree_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "5",
        "degree=5",
        "degree=0,depth=3",
        "degree=65,depth=3",
        "degree=5,depth=0",
        "degree=5,depth=17",
        "degree=-5,depth=3",
        "degree=5,depth=3,",
        "degree=5,depth=3,leaf=",
        "degree=5,depth=3,leaf=-1",
        "degree=5,depth=3,leaf=nan",
        "degree=5,depth=3,leaf=1001",
        "degree=5,depth=3,leaf=1 ",
        "depth=3,degree=5",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct err_text text = {""};
        struct node_tree tree;

        assert_int_equal(node_tree_parse(wrong[i], &tree, &text), ERR_INVALID);
        assert_non_null(strstr(text.text, "degree=D,depth=H"));
    }
}

static void check_refused(const struct node_site *site, const char *part)
{
    struct err_text text = {""};
    json_t *json = node_site_to_json(site);
    struct node_site back;

    assert_int_equal(node_site_check(site, &text), ERR_INVALID);
    if (strstr(text.text, part) == NULL) {
        fail_msg("'%s' has no '%s'", text.text, part);
    }
    assert_int_equal(node_site_from_json(json, &back), ERR_MALFORMED);
    json_decref(json);
}

static void test_what_does_not_go_together_is_refused(void **state)
{
    struct node_site site = a_site("dvf:delta=1", NULL);

    (void)state;
    site.required = 1;
    check_refused(&site, "no chain has two");
    site = a_site(NULL, "dvf:delta=1");
    site.delivery = NODE_PULL;
    check_refused(&site, "needs delivery: broadcast");
    site = a_site(NULL, NULL);
    site.tree = (struct node_tree){.degree = 2, .depth = 2};
    site.delivery = NODE_PULL;
    check_refused(&site, "needs delivery: broadcast");
    site.delivery = NODE_BROADCAST;
    assert_int_equal(node_site_check(&site, NULL), OK);
    site.tree.degree = 65;
    check_refused(&site, "1 to 64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_said_comes_back),
        cmocka_unit_test(test_what_was_not_said_is_not_told),
        cmocka_unit_test(test_trees_are_read_as_they_are_printed),
        cmocka_unit_test(test_what_was_passed_on_is_read_as_it_was_written),
        cmocka_unit_test(test_what_is_no_tree_is_refused),
        cmocka_unit_test(test_what_does_not_go_together_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
