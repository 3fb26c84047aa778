/* Reports of sites in, links and networks out. */

#include "cli/plan/cluster_links.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/output/testing_json.h"

#include <stdio.h>
#include <stdlib.h>

enum { REPORT_BYTES = 65536, LINES_BYTES = 8192 };

/* A site of one lane, with what it has beside. */
#define REPORT(site, between)                                                                      \
    "{'site': '" site                                                                              \
    "', 'lanes': [{'lane': 0, 'status': {'lanes': 1, 'begun': true, 'table_bytes': 5000, "         \
    "'between': {" between "}}}]}"
#define LANE(more) "{'status': {'lanes': 2, 'begun': true, 'table_bytes': 1000, " more "}}"
#define TWO_LANES(site, first, second)                                                             \
    "{'site': '" site "', 'lanes': [" LANE(first) "," LANE(second) "]}"
#define SITES(list) "'sites': [" list "]"
#define OTHER(name, more) "{'site': '" name "', 'up': true, " more "}"

static uint32_t find(const struct cluster_links *c, const char *name)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (strcmp(c->sites[i].name, name) == 0) {
            return i;
        }
    }
    fail_msg("there is no site %s", name);
    return 0;
}

static enum err add(struct cluster_links *c, const char *site, const char *text,
                    struct err_text *why)
{
    json_t *report = json_of(text);
    enum err rc = cluster_links_add(c, c->count == 0 ? 0 : find(c, site), report, why);

    json_decref(report);
    return rc;
}

/* A cluster of these reports, each taken; NULL is the last. */
static struct cluster_links *cluster_of(const char *const *sites, const char *const *texts)
{
    struct cluster_links *c = cluster_links_create();
    struct err_text why = {""};

    assert_non_null(c);
    for (size_t i = 0; texts[i] != NULL; i++) {
        if (add(c, sites[i], texts[i], &why) != OK) {
            fail_msg("%s: %s", sites[i], why.text);
        }
    }
    return c;
}

static void expect_links(const struct cluster_links *c, const char *expected)
{
    static const char *const states[] = {"up", "down", "unsaid"};
    char lines[LINES_BYTES];
    struct text out;

    text_init_fixed(&out, lines, sizeof(lines));
    for (uint32_t a = 0; a < c->count; a++) {
        for (uint32_t b = a + 1; b < c->count; b++) {
            struct cluster_link l, back;

            if (!cluster_links_get(c, a, b, &l)) {
                assert_false(cluster_links_get(c, b, a, &back));
                continue;
            }
            assert_true(cluster_links_get(c, b, a, &back) && back.bytes_per_s == l.bytes_per_s &&
                        back.state == l.state && back.by_a == l.by_b && back.by == l.by);
            text_addf(&out, "%s-%s %s %llu B/s %llu us by %s%s%s\n", c->sites[a].name,
                      c->sites[b].name, states[l.state], (unsigned long long)l.bytes_per_s,
                      (unsigned long long)l.rtt_us, l.by_a ? "a" : "", l.by_b ? "b" : "",
                      l.by == CLUSTER_NOBODY ? "" : c->sites[l.by].name);
        }
    }
    assert_string_equal(lines, expected);
}

/* A line for the duplex, each link and each note. */
static void expect_graph(const struct cluster_links *c, double assume_mbps, const char *expected)
{
    struct topo_graph *g = NULL;
    struct err_text why = {""};
    char lines[LINES_BYTES];
    struct text out;

    if (cluster_links_graph(c, "tcp://h:1", assume_mbps, &g, &why) != OK) {
        fail_msg("%s", why.text);
    }
    text_init_fixed(&out, lines, sizeof(lines));
    text_addf(&out, "%s, %s, %u sites\n", g->name,
              g->duplex == TOPO_DUPLEX_SHARED ? "shared" : "full", g->nodes_count);
    for (uint32_t i = 0; i < g->edges_count; i++) {
        const struct topo_edge *e = &g->edges[i];

        text_addf(&out, "%s-%s %g Mbit/s %g ms\n", g->nodes[e->a].id, g->nodes[e->b].id, e->mbps,
                  e->rtt_ms);
    }
    for (uint32_t i = 0; i < g->notes_count; i++) {
        text_addf(&out, "%s\n", g->notes[i]);
    }
    assert_string_equal(lines, expected);
    topo_graph_free(g);
}

static void expect_no_graph(const struct cluster_links *c, const char *expected)
{
    struct topo_graph *g = NULL;
    struct err_text why = {""};

    assert_int_equal(cluster_links_graph(c, "", 0, &g, &why), ERR_NOT_FOUND);
    assert_string_equal(why.text, expected);
    assert_null(g);
}

/* Sites that share by pieces. */

#define EAST                                                                                       \
    TWO_LANES(                                                                                     \
        "east",                                                                                    \
        "'between': {" SITES(OTHER("west", "'delivery': 600, 'rtt_us': 900, 'address': "           \
                                           "'h:2'") "," OTHER("north", "'rtt_us': 70000")) "}",    \
        "'between': {" SITES(OTHER("west", "'delivery': 400, 'rtt_us': 800") "," OTHER(            \
            "north", "'delivery': 0")) "}")
#define WEST                                                                                       \
    REPORT("west", SITES(OTHER("east", "'delivery': 2000, 'address': 'tcp://h:1'") "," OTHER(      \
                       "north", "'delivery': 500000")))
#define WEST_WITHOUT_NORTH                                                                         \
    REPORT("west", SITES(OTHER("east", "'delivery': 2000") ","                                     \
                                                           "{'site': 'north', 'up': false}"))

static void test_a_link_has_the_rate_of_its_slower_direction(void **state)
{
    struct cluster_links *c =
        cluster_of((const char *[]){"east", "west"}, (const char *[]){EAST, WEST, NULL});

    (void)state;
    assert_string_equal(c->sites[0].name, "east");
    assert_string_equal(c->sites[find(c, "west")].address, "h:2");
    assert_true(c->sites[0].answered && !c->sites[find(c, "north")].answered && c->first == 0);
    assert_string_equal(c->sites[find(c, "north")].address, "");
    expect_links(c, "east-north up 0 B/s 70000 us by a\n"
                    "east-west up 1000 B/s 800 us by ab\n"
                    "north-west up 500000 B/s 0 us by b\n");
    expect_graph(c, 0,
                 "tcp://h:1, full, 3 sites\n"
                 "east-west 0.008 Mbit/s 0.8 ms\n"
                 "north-west 4 Mbit/s -1 ms\n"
                 "1 link not measured yet, and left out: east - north\n"
                 "1 site without an answer, so only others speak of links there: north\n");
    expect_graph(c, 2.5,
                 "tcp://h:1, full, 3 sites\n"
                 "east-north 2.5 Mbit/s 70 ms\n"
                 "east-west 0.008 Mbit/s 0.8 ms\n"
                 "north-west 4 Mbit/s -1 ms\n"
                 "1 link not measured yet, and taken for 2.5 Mbit/s: east - north\n"
                 "1 site without an answer, so only others speak of links there: north\n");
    cluster_links_destroy(c);
}

static void test_it_is_the_same_whoever_is_asked_first(void **state)
{
    struct cluster_links *c =
        cluster_of((const char *[]){"west", "east"}, (const char *[]){WEST, EAST, NULL});

    (void)state;
    assert_int_equal(c->first, find(c, "west"));
    expect_links(c, "east-north up 0 B/s 70000 us by a\n"
                    "east-west up 1000 B/s 800 us by ab\n"
                    "north-west up 500000 B/s 0 us by b\n");
    cluster_links_destroy(c);
}

static void test_what_nobody_has_an_end_of_is_not_known(void **state)
{
    struct cluster_links *c = cluster_of((const char *[]){"east"}, (const char *[]){EAST, NULL});

    (void)state;
    expect_links(c, "east-north up 0 B/s 70000 us by a\n"
                    "east-west up 1000 B/s 800 us by a\n"
                    "north-west unsaid 0 B/s 0 us by \n");
    expect_no_graph(
        c, "not connected: 'north' has no link, so it cannot be reached from 'east'; 2 "
           "of the 3 regions hang together with 'east' (of its links 0 down, 2 not measured); "
           "links are measured when there is traffic on them: wait, or say --assume "
           "RATE for those that are not yet");
    expect_graph(c, 1,
                 "tcp://h:1, full, 3 sites\n"
                 "east-north 1 Mbit/s 70 ms\n"
                 "east-west 0.008 Mbit/s 0.8 ms\n"
                 "north-west 1 Mbit/s -1 ms\n"
                 "2 links not measured yet, and taken for 1 Mbit/s: east - north, north - west\n"
                 "2 sites without an answer, so only others speak of links there: north, west\n");
    cluster_links_destroy(c);
}

static void test_who_is_gone_is_no_part_of_the_network(void **state)
{
    struct cluster_links *c = cluster_of(
        (const char *[]){"east", "west"},
        (const char *[]){REPORT("east", SITES(OTHER("west", "'delivery': 1000000") "," OTHER(
                                            "north", "'left_out': true, 'delivery': 5"))),
                         WEST_WITHOUT_NORTH, NULL});

    (void)state;
    expect_links(c, "east-north down 5 B/s 0 us by a\n"
                    "east-west up 2000 B/s 0 us by ab\n"
                    "north-west down 0 B/s 0 us by b\n");
    expect_graph(c, 0,
                 "tcp://h:1, full, 2 sites\n"
                 "east-west 0.016 Mbit/s -1 ms\n"
                 "2 links down, and left out: east - north, north - west\n"
                 "1 site left out, as all links there are down: north\n");
    cluster_links_destroy(c);
}

static void test_a_link_is_down_if_one_of_its_ends_or_lanes_says_so(void **state)
{
    struct cluster_links *c = cluster_of(
        (const char *[]){"a", "b"},
        (const char *[]){TWO_LANES("a", "'between': {" SITES(OTHER("b", "'delivery': 8")) "}",
                                   "'between': {" SITES("{'site': 'b', 'up': false}") "}"),
                         REPORT("b", SITES(OTHER("a", "'delivery': 8"))), NULL});

    (void)state;
    expect_links(c, "a-b down 8 B/s 0 us by ab\n");
    expect_no_graph(c,
                    "of the links between its 2 sites none is up and of known rate (1 down, 0 not "
                    "measured)");
    cluster_links_destroy(c);
}

/* Sites around a centre. */

#define CENTRAL(links, more)                                                                       \
    "'central': {'names': ['a', 'b', 'c', 'd'], 'links': [" links                                  \
    "], 'round_bytes': 92000000" more "}"

static void test_around_a_centre_each_has_heard_of_all_links(void **state)
{
    struct cluster_links *c = cluster_of(
        (const char *[]){"b", "c"},
        (const char *[]){
            REPORT("b",
                   SITES(OTHER("a", "'rtt_us': 2000, 'delivery': 7, 'address': 'h:1'") "," OTHER(
                       "c", "'linked': false")) ", " CENTRAL("[1, 0, 1, 125000], [3, 2, 1, 250000, "
                                                             "17], [1, 3, 0, 99]",
                                                             "")),
            REPORT("c", SITES(OTHER("d", "'rtt_us': 30")) ", " CENTRAL(
                            "[2, 3, 1, 500000], [0, 1, 0, 1]", ", 'shared': true")),
            NULL});

    (void)state;
    assert_true(c->central && c->shared && c->count == 4);
    expect_links(c, "a-b up 125000 B/s 2000 us by b\n"
                    "b-d down 99 B/s 0 us by a\n"
                    "c-d up 500000 B/s 30 us by a\n");
    assert_int_equal(cluster_links_bytes(c), 92000000);
    expect_no_graph(c, "not connected: 'c' cannot be reached from 'a'; of the 4 regions 2 hang "
                       "together with 'a', 2 with 'c' (of its links 1 down, 0 not measured)");
    cluster_links_destroy(c);
}

static void test_who_may_not_be_the_centre_or_pass_on_is_known(void **state)
{
    struct cluster_links *c = cluster_of(
        (const char *[]){"a", "b"},
        (const char *[]){REPORT("a", CENTRAL("[0, 1, 1, 10]", ", 'no_centre': [1, 99, -1, 'x', 3], "
                                                              "'no_relay': [0], 'reserve': 0.25")),
                         REPORT("b", CENTRAL("[0, 1, 1, 10]", ", 'no_centre': {}, 'reserve': 7")),
                         NULL});

    (void)state;
    assert_true(c->reserve == 0.25);
    for (uint32_t i = 0; i < c->count; i++) {
        assert_int_equal(c->sites[i].no_centre, i == 1 || i == 3);
        assert_int_equal(c->sites[i].no_relay, i == 0);
    }
    cluster_links_destroy(c);
}

static void test_without_its_ends_a_link_is_what_the_first_has_heard(void **state)
{
    struct cluster_links *c = cluster_of(
        (const char *[]){"a", "b"},
        (const char *[]){REPORT("a", CENTRAL("[0, 1, 1, 10], [2, 3, 1, 250000], [1, 2, 1, 0]", "")),
                         REPORT("b", CENTRAL("[0, 1, 1, 20], [1, 2, 1, 40], [2, 3, 0, 30]", "")),
                         NULL});

    (void)state;
    expect_links(c, "a-b up 10 B/s 0 us by ab\n"
                    "b-c up 40 B/s 0 us by a\n"
                    "c-d up 250000 B/s 0 us by a\n");
    cluster_links_destroy(c);
}

/* Bytes. */

static void test_the_model_is_as_large_as_a_site_whose_lanes_all_answered_says(void **state)
{
    struct cluster_links *c =
        cluster_of((const char *[]){"east", "west"}, (const char *[]){EAST, WEST, NULL});
    struct cluster_links *half = cluster_of(
        (const char *[]){"east"},
        (const char *[]){
            "{'site': 'east', 'lanes': [" LANE("'between': {" SITES(OTHER(
                "west", "'delivery': 1")) "}") ", {'lane': 1, 'error': 'connection refused'}]}",
            NULL});

    (void)state;
    assert_int_equal(c->sites[find(c, "east")].table_bytes, 2000);
    assert_int_equal(cluster_links_bytes(c), 5000);
    assert_int_equal(cluster_links_bytes(half), 0);
    cluster_links_destroy(c);
    cluster_links_destroy(half);
}

static void test_the_bytes_of_a_round_are_the_mean_of_what_lanes_say(void **state)
{
    struct cluster_links *c = cluster_of(
        (const char *[]){"a"},
        (const char *[]){
            TWO_LANES("a",
                      "'between': {'central': {'names': ['a', 'b'], 'links': [[0, 1, 1, 5]], "
                      "'round_bytes': 1048000.0}}",
                      "'between': {'central': {'round_bytes': 552000.0}}"),
            NULL});
    struct cluster_links *without =
        cluster_of((const char *[]){"a"},
                   (const char *[]){TWO_LANES("a",
                                              "'between': {'central': {'names': ['a', 'b'], "
                                              "'round_bytes': 1}}",
                                              "'between': {'central': {'round_bytes': 1}}"),
                                    NULL});

    (void)state;
    assert_int_equal(cluster_links_bytes(c), 800000);
    assert_int_equal(without->round_bytes, 0);
    cluster_links_destroy(c);
    cluster_links_destroy(without);
}

/* What cannot be. */

static void expect_refused(const char *first, enum err rc, const char *words)
{
    struct cluster_links *c = cluster_links_create();
    struct err_text why = {""};

    assert_int_equal(add(c, "", first, &why), rc);
    assert_string_equal(why.text, words);
    assert_int_equal(c->count, 0);
    cluster_links_destroy(c);
}

static void test_a_first_report_without_other_sites_is_refused(void **state)
{
    (void)state;
    expect_refused("{'site': 'home', 'lanes': [{'status': {}}]}", ERR_NOT_FOUND,
                   "site home has no others to share with");
    expect_refused("{'site': 'home', 'lanes': [{'status': {'between': 7}}]}", ERR_NOT_FOUND,
                   "site home has no others to share with");
    expect_refused(REPORT("home", SITES("")), ERR_NOT_FOUND, "site home knows of no others");
    expect_refused(
        REPORT("home", SITES(OTHER("home", "'delivery': 1") ",7,"
                                                            "{'site': 'no name'},{'site': 8}, {}")),
        ERR_NOT_FOUND, "site home knows of no others");
    expect_refused(REPORT("no name", ""), ERR_INVALID, "it does not say which site it is");
    expect_refused("{'lanes': [{'status': {}}]}", ERR_INVALID, "it does not say which site it is");
    expect_refused("{'site': 'home', 'lanes': 3}", ERR_INVALID, "it does not say which site it is");
    expect_refused("[]", ERR_INVALID, "it does not say which site it is");
}

static void test_too_many_sites_are_refused(void **state)
{
    static char text[REPORT_BYTES];
    struct text t;

    (void)state;
    text_init_fixed(&t, text, sizeof(text));
    text_add(&t, "{'site': 'home', 'lanes': [{'status': {'between': {'sites': [");
    for (int i = 0; i < CLUSTER_SITES_MAX; i++) {
        text_addf(&t, "%s{'site': 's%d'}", i == 0 ? "" : ",", i);
    }
    text_add(&t, "]}}}]}");
    expect_refused(text, ERR_INVALID, "it names more than 64 sites");
}

static void expect_other_refused(const char *text, const char *words)
{
    struct cluster_links *c = cluster_of((const char *[]){"east"}, (const char *[]){EAST, NULL});
    struct err_text why = {""};

    assert_int_equal(add(c, "west", text, &why), ERR_INVALID);
    assert_string_equal(why.text, words);
    expect_links(c, "east-north up 0 B/s 70000 us by a\n"
                    "east-west up 1000 B/s 800 us by a\n"
                    "north-west unsaid 0 B/s 0 us by \n");
    cluster_links_destroy(c);
}

static void test_another_site_is_taken_only_for_what_it_is(void **state)
{
    (void)state;
    expect_other_refused(REPORT("north", SITES(OTHER("east", "'delivery': 1"))),
                         "it says that it is site north");
    expect_other_refused(REPORT("west", SITES("") ", 'central': {}"),
                         "it is around a centre, and the others are not");
    expect_other_refused("{'site': 'west', 'lanes': [{'status': {}}]}",
                         "site west has no others to share with");
    expect_other_refused("{'site': 'west', 'lanes': []}", "it does not say which site it is");
}

static void test_a_site_is_taken_once(void **state)
{
    struct cluster_links *c = cluster_of((const char *[]){"east"}, (const char *[]){EAST, NULL});
    struct err_text why = {""};

    (void)state;
    assert_int_equal(add(c, "east", EAST, &why), ERR_INVALID);
    assert_string_equal(why.text, "site east has answered already");
    expect_links(c, "east-north up 0 B/s 70000 us by a\n"
                    "east-west up 1000 B/s 800 us by a\n"
                    "north-west unsaid 0 B/s 0 us by \n");
    cluster_links_destroy(c);
}

static void test_figures_that_cannot_be_are_not_known(void **state)
{
    struct cluster_links *c = cluster_of(
        (const char *[]){"a"},
        (const char *[]){
            REPORT("a",
                   SITES(OTHER("b", "'delivery': -5, 'rtt_us': 1e300") "," OTHER(
                       "c",
                       "'delivery': "
                       "922337203685"
                       "4775807, "
                       "'rtt_us': "
                       "-1") "," OTHER("c",
                                       "'delivery': 4") "," OTHER("d",
                                                                  "'delivery': '7', 'rtt_us': [], "
                                                                  "'address': "
                                                                  "9") ","
                                                                       "{'site': 'e', 'up': 'yes', "
                                                                       "'delivery': 1.5}")),
            NULL});

    (void)state;
    assert_string_equal(c->sites[find(c, "d")].address, "");
    assert_int_equal(c->count, 5);
    for (uint32_t i = 1; i < 5; i++) {
        struct cluster_link l;

        assert_true(cluster_links_get(c, 0, i, &l));
        assert_int_equal(l.bytes_per_s, i == 4 ? 1 : 0);
        assert_int_equal(l.rtt_us, 0);
        assert_int_equal(l.state, i == 4 ? CLUSTER_DOWN : CLUSTER_UP);
    }
    cluster_links_destroy(c);
}

static void test_links_with_numbers_of_nobody_are_left_out(void **state)
{
    struct cluster_links *c = cluster_of(
        (const char *[]){"a"},
        (const char *[]){
            REPORT("a", CENTRAL("[0, 4, 1, 1], [0, -1, 1, 1], [0, 0, 1, 1], [0], 7, [0, '1', 1, 1],"
                                "[4294967296, 1, 1, 1], [0, 1.0, 1, 1], [1, 2, 2, 5], {}, null,"
                                "[0, 1, true, 1e15], [0, 1, 1, 77]",
                                ", 'shared': 1")),
            NULL});

    (void)state;
    assert_false(c->shared);
    expect_links(c, "a-b up 0 B/s 0 us by a\n"
                    "b-c down 5 B/s 0 us by a\n");
    cluster_links_destroy(c);
}

/* Files. */

static void test_a_network_is_read_as_it_was_written(void **state)
{
    struct cluster_links *c =
        cluster_of((const char *[]){"east", "west"}, (const char *[]){EAST, WEST, NULL});
    struct topo_graph *g = NULL, *again = NULL;
    struct err_text why = {""};
    json_t *json;
    char *text;

    (void)state;
    assert_int_equal(cluster_links_graph(c, "tcp://h:1", 3, &g, &why), OK);
    json = cluster_links_json(g, "a test");
    text = json_dumps(json, JSON_REAL_PRECISION(9));
    if (topo_graph_parse("n.json", text, strlen(text), &again, &why) != OK) {
        fail_msg("%s: %s", why.text, text);
    }
    assert_string_equal(again->name, "tcp://h:1");
    assert_int_equal(again->duplex, TOPO_DUPLEX_FULL);
    assert_int_equal(again->edges_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(again->edges[i].mbps == g->edges[i].mbps);
        assert_true(again->edges[i].rtt_ms == g->edges[i].rtt_ms);
    }
    assert_int_equal(json_array_size(json_object_get(json, "source")), 1 + g->notes_count);
    assert_int_equal(again->notes_count, 0);
    free(text);
    json_decref(json);
    topo_graph_free(again);
    topo_graph_free(g);
    cluster_links_destroy(c);
}

static void test_notes_name_as_many_as_fit(void **state)
{
    static char text[REPORT_BYTES];
    struct cluster_links *c;
    struct topo_graph *g = NULL;
    struct err_text why = {""};
    struct text t;

    (void)state;
    text_init_fixed(&t, text, sizeof(text));
    text_add(&t, "{'site': 'home', 'lanes': [{'status': {'between': {'sites': [");
    for (int i = 1; i < CLUSTER_SITES_MAX; i++) {
        text_addf(&t, "%s{'site': 'a-site-with-a-long-name-%02d', 'up': %s, 'delivery': 1}",
                  i == 1 ? "" : ",", i, i < 10 ? "false" : "true");
    }
    text_add(&t, "]}}}]}");
    c = cluster_of((const char *[]){"home"}, (const char *[]){text, NULL});
    assert_int_equal(cluster_links_graph(c, "", 1, &g, &why), OK);
    assert_string_equal(g->notes[0],
                        "9 links down, and left out: a-site-with-a-long-name-01 - home, "
                        "a-site-with-a-long-name-02 - home, a-site-with-a-long-name-03 - home, "
                        "a-site-with-a-long-name-04 - home and 5 more");
    assert_int_equal(g->edges_count, 64 * 63 / 2 - 9);
    topo_graph_free(g);
    cluster_links_destroy(c);
}

static void test_no_memory_is_said(void **state)
{
    struct cluster_links *c =
        cluster_of((const char *[]){"east", "west"}, (const char *[]){EAST, WEST, NULL});
    struct topo_graph *g = NULL;
    struct err_text why = {""};
    enum err rc = ERR_NOMEM;
    uint32_t k = 0;

    (void)state;
    for (; rc == ERR_NOMEM; k++) {
        mem_fail_at(k + 1, 1);
        rc = cluster_links_graph(c, "", 0, &g, &why);
        mem_fail_at(0, 0);
    }
    assert_int_equal(rc, OK);
    assert_true(k > 3);
    mem_fail_at(1, 1);
    assert_null(cluster_links_create());
    mem_fail_at(0, 0);
    topo_graph_free(g);
    cluster_links_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_link_has_the_rate_of_its_slower_direction),
        cmocka_unit_test(test_it_is_the_same_whoever_is_asked_first),
        cmocka_unit_test(test_what_nobody_has_an_end_of_is_not_known),
        cmocka_unit_test(test_who_is_gone_is_no_part_of_the_network),
        cmocka_unit_test(test_a_link_is_down_if_one_of_its_ends_or_lanes_says_so),
        cmocka_unit_test(test_around_a_centre_each_has_heard_of_all_links),
        cmocka_unit_test(test_who_may_not_be_the_centre_or_pass_on_is_known),
        cmocka_unit_test(test_without_its_ends_a_link_is_what_the_first_has_heard),
        cmocka_unit_test(test_the_model_is_as_large_as_a_site_whose_lanes_all_answered_says),
        cmocka_unit_test(test_the_bytes_of_a_round_are_the_mean_of_what_lanes_say),
        cmocka_unit_test(test_a_first_report_without_other_sites_is_refused),
        cmocka_unit_test(test_too_many_sites_are_refused),
        cmocka_unit_test(test_another_site_is_taken_only_for_what_it_is),
        cmocka_unit_test(test_a_site_is_taken_once),
        cmocka_unit_test(test_figures_that_cannot_be_are_not_known),
        cmocka_unit_test(test_links_with_numbers_of_nobody_are_left_out),
        cmocka_unit_test(test_a_network_is_read_as_it_was_written),
        cmocka_unit_test(test_notes_name_as_many_as_fit),
        cmocka_unit_test(test_no_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
