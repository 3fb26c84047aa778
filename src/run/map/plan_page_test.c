/* Pages of plans: everything that a plan has is there, whatever its network is like. */

#include "run/map/plan_page.h"

#include "base/mem.h"
#include "run/map/plan_map.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A network of the planner's JSON, a plan for it, and its page. */
struct made {
    struct topo_graph *g;
    struct plan_place_problem problem;
    struct plan_place_effort effort;
    struct plan_place_answer answer;
    struct run_plan_page page;
    struct text out;
};

static void begin(struct made *m, const char *json, enum plan_place_method method)
{
    struct err_text text = {""};

    *m = (struct made){.problem = {.bytes = 92e6,
                                   .model = PLAN_PLACE_PIPELINED,
                                   .duplex = TOPO_DUPLEX_SHARED,
                                   .paths = PLAN_PLACE_AUTO,
                                   .server = PLAN_PLACE_NOWHERE},
                       .effort = {.method = method, .draws = 20, .seed = 1}};
    if (topo_graph_parse("net.json", json, strlen(json), &m->g, &text) != OK) {
        fail_msg("%s", text.text);
    }
    m->problem.graph = m->g;
    m->page = (struct run_plan_page){
        .file = "net.json", .problem = &m->problem, .effort = &m->effort, .answer = &m->answer};
}

static void solve(struct made *m)
{
    struct err_text text = {""};

    if (plan_place_solve(&m->problem, &m->effort, &m->answer, &text) != OK) {
        fail_msg("%s", text.text);
    }
}

static void print(struct made *m)
{
    assert_int_equal(text_init(&m->out, RUN_PAGE_BYTES_MAX), OK);
    assert_int_equal(run_plan_page(&m->page, &m->out), OK);
    assert_false(m->out.failed);
}

static void make(struct made *m, const char *json, enum plan_place_method method)
{
    begin(m, json, method);
    solve(m);
    print(m);
}

static void unmake(struct made *m)
{
    plan_place_answer_deinit(&m->answer);
    topo_graph_free(m->g);
    text_deinit(&m->out);
}

static void expect(const struct made *m, const char *part)
{
    if (strstr(m->out.chars, part) == NULL) {
        fail_msg("'%s' is not in the page", part);
    }
}

static void refuse(const struct made *m, const char *part)
{
    if (strstr(m->out.chars, part) != NULL) {
        fail_msg("'%s' is in the page", part);
    }
}

static uint32_t count(const struct made *m, const char *part)
{
    uint32_t found = 0;

    for (const char *s = strstr(m->out.chars, part); s != NULL; s = strstr(s + 1, part)) {
        found++;
    }
    return found;
}

static const char pacific[] =
    "{\"name\":\"over the Pacific\",\"regions\":["
    "{\"id\":\"t\",\"name\":\"Tokyo\",\"lat\":35.7,\"lon\":139.7},"
    "{\"id\":\"o\",\"name\":\"Oregon\",\"lat\":45.6,\"lon\":-121.2},"
    "{\"id\":\"i\",\"name\":\"Iowa\",\"lat\":41.3,\"lon\":-95.9},"
    "{\"id\":\"s\",\"name\":\"Sydney\",\"lat\":-33.9,\"lon\":151.2}],"
    "\"links\":[{\"a\":\"t\",\"b\":\"o\",\"mbps\":1000},{\"a\":\"o\",\"b\":\"i\",\"mbps\":4000},"
    "{\"a\":\"t\",\"b\":\"s\",\"mbps\":600},{\"a\":\"s\",\"b\":\"o\",\"mbps\":800}]}";

static void test_all_regions_flows_and_links_are_there(void **state)
{
    struct made m;

    (void)state;
    make(&m, pacific, PLAN_PLACE_EXACT);
    expect(&m, "<h1>over the Pacific</h1>");
    expect(&m, ">proven</span>Put the server in Oregon: a push and pull of 92");
    expect(&m, "Coastlines: Natural Earth.");
    assert_int_equal(count(&m, "<path class=\"link"), 4 + 2 + 6); /* And the legend's. */
    assert_int_equal(count(&m, "<path class=\"flow"), 3 + 3);     /* And the table's. */
    assert_int_equal(count(&m, "<text class=\"label"), 4);
    assert_int_equal(count(&m, "<circle class=\"node"), 3 + 1);
    assert_int_equal(count(&m, "class=\"node server\""), 1 + 1);
    expect(&m, "<title>Tokyo \xe2\x86\x92 Oregon: ");
    expect(&m, "; it is the server: ");
    expect(&m, ">random server<");
    expect(&m, "most connected: Oregon");
    refuse(&m, "<script");
    refuse(&m, "http://");
    refuse(&m, "https://");
    refuse(&m, "nan");
    refuse(&m, "inf ");
    unmake(&m);
}

static void test_the_same_plan_has_the_same_page(void **state)
{
    struct made a, b;

    (void)state;
    make(&a, pacific, PLAN_PLACE_ROUND);
    make(&b, pacific, PLAN_PLACE_ROUND);
    assert_string_equal(a.out.chars, b.out.chars);
    unmake(&a);
    unmake(&b);
}

static void test_a_server_that_was_said_is_not_compared_with_others(void **state)
{
    struct made m;

    (void)state;
    begin(&m, pacific, PLAN_PLACE_EXACT);
    m.problem.server = 0;
    solve(&m);
    print(&m);
    expect(&m, "Put the server in Tokyo");
    expect(&m, "the least for this server.");
    refuse(&m, "random server");
    unmake(&m);
}

static void test_dollars_are_shown_where_they_are_the_goal(void **state)
{
    static const char priced[] = "{\"regions\":[\"a\",\"b\",\"c\"],\"links\":["
                                 "{\"a\":\"a\",\"b\":\"b\",\"mbps\":100,\"usd_per_gb\":0.02},"
                                 "{\"a\":\"b\",\"b\":\"c\",\"mbps\":100,\"usd_per_gb\":0.09},"
                                 "{\"a\":\"a\",\"b\":\"c\",\"mbps\":50,\"usd_per_gb\":0.05}]}";
    struct made m;

    (void)state;
    begin(&m, priced, PLAN_PLACE_EXACT);
    m.problem.goal = PLAN_PLACE_DOLLARS;
    solve(&m);
    print(&m);
    expect(&m, " and costs $0.0");
    expect(&m, "<div class=\"how\">$0.0");
    unmake(&m);
}

static void test_without_places_there_are_rings(void **state)
{
    struct made m;

    (void)state;
    make(&m,
         "{\"regions\":[\"a\",\"b\",3],\"links\":[{\"a\":\"a\",\"b\":\"b\",\"mbps\":10},"
         "{\"a\":\"b\",\"b\":3,\"mbps\":10}]}",
         PLAN_PLACE_EXACT);
    expect(&m, "The file has no places for these regions: they are in rings around the server");
    expect(&m, "<h1>net.json</h1>");
    refuse(&m, "class=\"land\"");
    refuse(&m, "nan");
    unmake(&m);
}

static void test_a_region_without_a_place_is_between_its_neighbours(void **state)
{
    struct made m;

    (void)state;
    make(&m,
         "{\"regions\":[{\"id\":\"x\",\"lat\":10,\"lon\":170},{\"id\":\"y\",\"lat\":20,"
         "\"lon\":-170},\"z\"],\"links\":[{\"a\":\"x\",\"b\":\"z\",\"mbps\":10},"
         "{\"a\":\"y\",\"b\":\"z\",\"mbps\":10}]}",
         PLAN_PLACE_EXACT);
    expect(&m, "The file has no places for 1 of the regions: they are drawn between");
    expect(&m, "class=\"land\"");
    refuse(&m, "nan");
    unmake(&m);
}

/* A ring of many, as planner's JSON. */
static void ring_of(uint32_t nodes, struct text *json)
{
    text_add(json, "{\"regions\":[");
    for (uint32_t i = 0; i < nodes; i++) {
        text_addf(json, "%s{\"id\":%u,\"lat\":%.2f,\"lon\":%.2f}", i > 0 ? "," : "", i,
                  40 * sin(i * 6.28 / nodes), 60 * cos(i * 6.28 / nodes));
    }
    text_add(json, "],\"links\":[");
    for (uint32_t i = 0; i < nodes; i++) {
        text_addf(json, "%s{\"a\":%u,\"b\":%u,\"mbps\":100}", i > 0 ? "," : "", i, (i + 1) % nodes);
    }
    text_add(json, "]}");
}

static void test_of_many_regions_only_some_have_names(void **state)
{
    struct text json;
    struct made m;

    (void)state;
    assert_int_equal(text_init(&json, 1 << 20), OK);
    ring_of(120, &json);
    make(&m, json.chars, PLAN_PLACE_ROUND);
    assert_int_equal(count(&m, "<text class=\"label"), RUN_PLAN_MAP_NEXT);
    assert_int_equal(count(&m, "<path class=\"flow"), 0);
    assert_int_equal(count(&m, "<circle class=\"node"), 119 + 1);
    expect(&m, "There are too many flows to draw them one by one");
    expect(&m, "The other 105 links");
    unmake(&m);
    text_deinit(&json);
}

static void test_of_very_many_links_those_are_drawn_that_are_used(void **state)
{
    enum { NODES = 130 }; /* Each joined to each. */
    uint32_t links;
    struct text json;
    struct made m;

    (void)state;
    assert_int_equal(text_init(&json, 1 << 20), OK);
    text_add(&json, "{\"regions\":[0");
    for (uint32_t i = 1; i < NODES; i++) {
        text_addf(&json, ",%u", i);
    }
    text_add(&json, "],\"links\":[{\"a\":0,\"b\":1,\"mbps\":100}");
    for (uint32_t i = 2; i < NODES; i++) {
        for (uint32_t k = 0; k < i; k++) {
            text_addf(&json, ",{\"a\":%u,\"b\":%u,\"mbps\":100}", i, k);
        }
    }
    text_add(&json, "]}");
    begin(&m, json.chars, PLAN_PLACE_ROUND);
    m.problem.paths = 2;
    m.problem.server = 0;
    solve(&m);
    print(&m);
    links = count(&m, "<path class=\"link");
    assert_in_range(links, NODES - 1, NODES * 4);
    expect(&m, "the least with 2 paths each for this server.");
    expect(&m, "Links that are not used are not drawn");
    expect(&m, "<p class=\"soft\">And 6385 more.</p>");
    unmake(&m);
    text_deinit(&json);
}

static void test_names_from_outside_stay_words(void **state)
{
    struct made m;

    (void)state;
    make(&m,
         "{\"name\":\"<i>&\",\"regions\":[{\"id\":\"a\",\"name\":\"<script>x</script>\"},"
         "{\"id\":\"b\",\"name\":\"\\\"quoted\\\" with a name that is much longer than its room\"}]"
         ",\"links\":[{\"a\":\"a\",\"b\":\"b\",\"mbps\":10}]}",
         PLAN_PLACE_EXACT);
    refuse(&m, "<script");
    refuse(&m, "<i>");
    expect(&m, "&lt;script&gt;x&lt;/script&gt;");
    expect(&m, "\xe2\x80\xa6"); /* Cut off. */
    unmake(&m);
}

static void test_out_of_memory_is_said(void **state)
{
    enum err rc = ERR_NOMEM;
    struct made m;
    uint64_t k;

    (void)state;
    begin(&m, pacific, PLAN_PLACE_EXACT);
    solve(&m);
    for (k = 1; rc != OK; k++) {
        assert_int_equal(text_init(&m.out, RUN_PAGE_BYTES_MAX), OK);
        mem_fail_at(k, 1);
        rc = run_plan_page(&m.page, &m.out);
        mem_fail_at(0, 0);
        rc = rc == OK && m.out.failed ? ERR_NOMEM : rc;
        if (rc != OK) {
            assert_int_equal(rc, ERR_NOMEM);
            text_deinit(&m.out);
        }
    }
    assert_true(k > 20);
    unmake(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_regions_flows_and_links_are_there),
        cmocka_unit_test(test_the_same_plan_has_the_same_page),
        cmocka_unit_test(test_a_server_that_was_said_is_not_compared_with_others),
        cmocka_unit_test(test_dollars_are_shown_where_they_are_the_goal),
        cmocka_unit_test(test_without_places_there_are_rings),
        cmocka_unit_test(test_a_region_without_a_place_is_between_its_neighbours),
        cmocka_unit_test(test_of_many_regions_only_some_have_names),
        cmocka_unit_test(test_of_very_many_links_those_are_drawn_that_are_used),
        cmocka_unit_test(test_names_from_outside_stay_words),
        cmocka_unit_test(test_out_of_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
