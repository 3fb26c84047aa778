/* Files that describe trees to be planned: what is read, and what is refused with which words. */

#include "plan/tree_file.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PLACED                                                                                     \
    "\"workers\": [{\"id\": \"w1\", \"agg\": \"a\", \"edge\": 1},\n"                               \
    "{\"id\": \"w2\", \"agg\": \"a\", \"edge\": 2}, {\"id\": \"w3\", \"agg\": \"b\", \"edge\": "   \
    "1}],\n"                                                                                       \
    "\"servers\": [{\"id\": \"s1\", \"agg\": \"a\", \"edge\": 1},\n"                               \
    "{\"id\": \"s2\", \"agg\": \"b\", \"edge\": 1}]"
#define LIMITS ",\n\"degree\": 2, \"depth\": 3"
#define MEASURED                                                                                   \
    "\"workers\": [{\"id\": \"w1\"}, {\"id\": \"w2\"}],\n\"servers\": [{\"id\": \"s\"}]"

static struct plan_tree_file *parse(const char *json)
{
    struct plan_tree_file *f = NULL;
    struct err_text why = {""};

    if (plan_tree_file_parse("t.json", json, strlen(json), &f, &why) != OK) {
        fail_msg("%s", why.text);
    }
    return f;
}

static void refused(const char *json, const char *words)
{
    struct plan_tree_file *f = NULL;
    struct err_text why = {""};

    assert_int_equal(plan_tree_file_parse("t.json", json, strlen(json), &f, &why), ERR_MALFORMED);
    assert_null(f);
    assert_string_equal(why.text, words);
}

static void test_places_are_read(void **state)
{
    struct plan_tree_file *f = parse("{" PLACED LIMITS "}");
    const struct plan_tree_problem *p = &f->problem;
    char chars[64];
    struct text place;

    (void)state;
    assert_int_equal(p->workers, 3);
    assert_int_equal(p->servers, 2);
    assert_int_equal(p->degree, 2);
    assert_int_equal(p->depth, 3);
    assert_true(p->leaf_cost == 0);
    assert_true(plan_tree_cost(p, 0, 1) == 0.5);
    assert_true(plan_tree_cost(p, 0, 2) == 1); /* Racks of other aggregations are others. */
    assert_true(plan_tree_cost(p, 3, 0) == 0.1);
    assert_true(plan_tree_cost(p, PLAN_TREE_ROOT, 2) == 1.1);
    assert_string_equal(plan_tree_file_id(f, 2), "w3");
    assert_string_equal(plan_tree_file_id(f, 4), "s2");
    text_init_fixed(&place, chars, sizeof(chars));
    plan_tree_file_place(f, 1, &place);
    assert_string_equal(chars, "a/2");
    plan_tree_file_free(f);
    f = parse("{" PLACED LIMITS ", \"leaf_cost\": 0.25, \"edge_cost\": 1, \"agg_cost\": 2,"
              "\"core_cost\": 3}");
    assert_true(f->problem.leaf_cost == 0.25);
    assert_true(plan_tree_cost(&f->problem, PLAN_TREE_ROOT, 1) == 5);
    plan_tree_file_free(f);
}

static void test_measured_costs_are_read(void **state)
{
    struct plan_tree_file *f =
        parse("{" MEASURED LIMITS ", \"costs\": {\"s\": {\"w1\": 1, \"w2\": 2.5},\n"
              "\"w1\": {\"w2\": 3, \"w1\": 0, \"s\": 4}, \"w2\": {\"w1\": 0}}}");

    (void)state;
    assert_true(plan_tree_cost(&f->problem, 0, 1) == 3);
    assert_true(plan_tree_cost(&f->problem, 1, 0) == 0);
    assert_true(plan_tree_cost(&f->problem, PLAN_TREE_ROOT, 1) == 2.5);
    plan_tree_file_free(f);
}

static void test_one_of_the_servers_can_be_chosen(void **state)
{
    struct plan_tree_file *f = parse("{" PLACED LIMITS "}");
    struct err_text why = {""};

    (void)state;
    assert_int_equal(plan_tree_file_choose(f, "s3", &why), ERR_NOT_FOUND);
    assert_string_equal(why.text, "there is no such server: did you mean 's1'?");
    assert_int_equal(plan_tree_file_choose(f, "s2", &why), OK);
    assert_int_equal(f->problem.servers, 1);
    assert_true(plan_tree_cost(&f->problem, PLAN_TREE_ROOT, 2) == 0.1);
    assert_string_equal(plan_tree_file_id(f, 3), "s2");
    plan_tree_file_free(f);
    f = parse(
        "{\"workers\": [{\"id\": \"w\"}], \"servers\": [{\"id\": \"s\"}, {\"id\": \"u\"}]" LIMITS
        ", \"costs\": {\"s\": {\"w\": 1}, \"u\": {\"w\": 2}}}");
    assert_int_equal(plan_tree_file_choose(f, "u", &why), OK);
    assert_true(plan_tree_cost(&f->problem, PLAN_TREE_ROOT, 0) == 2);
    plan_tree_file_free(f);
}

static void test_what_is_wrong_has_a_place_and_a_remedy(void **state)
{
    (void)state;
    refused("{", "t.json:1:1: not JSON: string or '}' expected near end of file");
    refused("[]", "t.json:1:1: is a list, but has to be an object {...}");
    refused("{" PLACED LIMITS ",\n\"degre\": 2}",
            "t.json:6:1: degre: no such key: did you mean 'degree'?");
    refused("{" PLACED ", \"depth\": 3}", "t.json:1:1: needs \"degree\": how many children each "
                                          "may have");
    refused("{" PLACED ", \"degree\": 0, \"depth\": 3}",
            "t.json:4:39: degree: has to be a whole number from 1 to 1000000: how many children "
            "each may have");
    refused("{" PLACED ",\n\"degree\": 2, \"depth\": 2.5}",
            "t.json:5:14: depth: has to be a whole number from 1 to 1000000: how far from the "
            "root a worker may be");
    refused("{" PLACED LIMITS ", \"leaf_cost\": -1}",
            "t.json:5:26: leaf_cost: has to be from 0 to 1000000000");
    refused("{" PLACED LIMITS ", \"leaf_cost\": \"1\"}",
            "t.json:5:26: leaf_cost: is a text: write a number, without quotes");
    refused("{\"workers\": [], \"servers\": []" LIMITS "}",
            "t.json:1:2: workers: there are no workers: \"workers\" needs at least one");
    refused("{\"workers\": [{\"id\": \"w\", \"agg\": 1, \"edge\": 1}]" LIMITS "}",
            "t.json:1:1: there are no servers: \"servers\" needs at least one");
    refused("{\"workers\": {}, \"servers\": []" LIMITS "}",
            "t.json:1:2: workers: is an object, but has to be a list [...]");
}

static void test_what_is_wrong_with_nodes_is_said(void **state)
{
    (void)state;
    refused("{\"workers\": [{\"id\": \"w\", \"agg\": 1}], \"servers\": [{\"id\": \"s\"}]" LIMITS
            "}",
            "t.json:1:14: workers[0]: needs \"edge\", the name of its edge switch; or give "
            "\"costs\" for all");
    refused("{\"workers\": [{\"id\": \"\", \"agg\": 1, \"edge\": 1}],\n"
            "\"servers\": [{\"id\": \"s\"}]" LIMITS "}",
            "t.json:1:15: workers[0].id: has to be a text of 1 to 128 bytes without control "
            "characters");
    refused("{\"workers\": [{\"id\": \"w\", \"agg\": [], \"edge\": 1}],\n"
            "\"servers\": [{\"id\": \"s\"}]" LIMITS "}",
            "t.json:1:26: workers[0].agg: has to be a whole number, or a text of 1 to 128 bytes "
            "without control characters");
    refused("{\"workers\": [{\"id\": \"w\", \"agg\": 1, \"edge\": 1}],\n"
            "\"servers\": [{\"id\": \"w\", \"agg\": 1, \"edge\": 1}]" LIMITS "}",
            "t.json:2:14: servers[0].id: is the id of workers[0] too: each has its own");
    refused("{\"workers\": [1], \"servers\": [{\"id\": \"s\"}]" LIMITS "}",
            "t.json:1:14: workers[0]: is a number, but has to be an object {...}");
    refused("{\"workers\": [{\"agg\": 1, \"edge\": 1}], \"servers\": [1]" LIMITS "}",
            "t.json:1:14: workers[0]: needs an \"id\"");
}

static void test_what_is_wrong_with_costs_is_said(void **state)
{
    (void)state;
    refused("{" MEASURED LIMITS
            ",\n\"costs\": {\"s\": {\"w1\": 1, \"w2\": 1}, \"w1\": {\"w2\": 1}}}",
            "t.json:4:10: costs: needs \"w2\": what it costs from there to every worker");
    refused("{" MEASURED LIMITS ",\n\"costs\": {\"s\": {\"w1\": 1}, \"w1\": {\"w2\": 1},"
            "\"w2\": {\"w1\": 1}}}",
            "t.json:4:16: costs.s: needs \"w2\": what it costs from there to that worker");
    refused("{" MEASURED LIMITS
            ",\n\"costs\": {\"s\": {\"w1\": 1, \"w2\": -1}, \"w1\": {\"w2\": 1},"
            "\"w2\": {\"w1\": 1}}}",
            "t.json:4:26: costs.s.w2: has to be from 0 to 1000000000");
    refused("{" MEASURED LIMITS ",\n\"costs\": {\"x\": {}}}",
            "t.json:4:11: costs.x: there is no worker or server of that id");
    refused("{" MEASURED LIMITS ",\n\"edge_cost\": 1, \"costs\": {}}",
            "t.json:4:1: edge_cost: there are \"costs\" too: give one of both");
    refused("{" PLACED LIMITS ",\n\"costs\": {}}",
            "t.json:1:14: workers[0]: has a place, but there are \"costs\" too: give one of both");
    refused("{" MEASURED LIMITS ",\n\"costs\": null}",
            "t.json:4:10: costs: is nothing, but has to be an object {...}");
}

static void test_limits_are_kept(void **state)
{
    struct plan_tree_file *f = NULL;
    struct err_text why = {""};
    struct text json;

    (void)state;
    assert_int_equal(text_init(&json, 1 << 20), OK);
    text_add(&json, "{\"workers\": [{}");
    for (int i = 0; i < PLAN_TREE_WORKERS_MAX; i++) {
        text_add(&json, ", {}");
    }
    text_add(&json, "]}");
    refused(json.chars, "t.json:1:2: workers: has 1025 entries: at most 1024 are allowed");
    assert_int_equal(
        plan_tree_file_parse("t.json", json.chars, (size_t)PLAN_TREE_FILE_BYTES_MAX + 1, &f, &why),
        ERR_TOO_BIG);
    text_deinit(&json);
}

static void test_running_out_of_memory_is_said(void **state)
{
    static const char *const files[] = {
        "{" PLACED LIMITS "}",
        "{" MEASURED LIMITS ", \"costs\": {\"s\": {\"w1\": 1, \"w2\": 2}, \"w1\": {\"w2\": 3},"
        "\"w2\": {\"w1\": 0}}}"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        enum err rc = ERR_NOMEM;

        for (uint64_t k = 1; rc != OK; k++) {
            struct plan_tree_file *f = NULL;
            int64_t before = mem_bytes_held();

            mem_fail_at(k, 1);
            rc = plan_tree_file_parse("t.json", files[i], strlen(files[i]), &f, NULL);
            mem_fail_at(0, 0);
            assert_true(rc == (f == NULL ? ERR_NOMEM : OK));
            plan_tree_file_free(f);
            assert_int_equal(mem_bytes_held(), before);
            assert_true(k < 10);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_are_read),
        cmocka_unit_test(test_measured_costs_are_read),
        cmocka_unit_test(test_one_of_the_servers_can_be_chosen),
        cmocka_unit_test(test_what_is_wrong_has_a_place_and_a_remedy),
        cmocka_unit_test(test_what_is_wrong_with_nodes_is_said),
        cmocka_unit_test(test_what_is_wrong_with_costs_is_said),
        cmocka_unit_test(test_limits_are_kept),
        cmocka_unit_test(test_running_out_of_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
