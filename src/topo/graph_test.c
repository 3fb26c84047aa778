/* Graphs of values: what is refused, who is whose neighbour, lengths and rates by them, and the way
 * to a topology and back. */

#include "topo/graph.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct topo_node node(const char *id)
{
    struct topo_node n = {.usd_per_hour = -1};

    (void)strcpy(n.id, id);
    return n;
}

static struct topo_node placed(const char *id, double latitude, double longitude)
{
    struct topo_node n = node(id);

    n.placed = true;
    n.latitude = latitude;
    n.longitude = longitude;
    return n;
}

static struct topo_edge edge(uint32_t a, uint32_t b, double mbps)
{
    return (struct topo_edge){.a = a, .b = b, .mbps = mbps, .rtt_ms = -1, .usd_per_gb = -1};
}

/* Four nodes in a ring with one chord; the caller may spoil it. */
struct ring {
    struct topo_node nodes[4];
    struct topo_edge edges[5];
    struct topo_graph g;
};

static void ring_init(struct ring *r)
{
    *r = (struct ring){
        .nodes = {placed("a", 0, 0), placed("b", 0, 1), placed("c", 0, 3), node("d")},
        .edges = {edge(3, 0, 10), edge(2, 1, 20), edge(0, 1, 30), edge(2, 3, 40), edge(0, 2, 50)},
    };
    r->g = (struct topo_graph){.name = "ring",
                               .duplex = TOPO_DUPLEX_FULL,
                               .nodes = r->nodes,
                               .nodes_count = 4,
                               .edges = r->edges,
                               .edges_count = 5};
}

static struct topo_graph *create(const struct topo_graph *values)
{
    struct topo_graph *g = NULL;
    struct err_text why = {""};

    if (topo_graph_create(values, &g, &why) != OK) {
        fail_msg("%s", why.text);
    }
    return g;
}

static void test_neighbours_are_in_order(void **state)
{
    static const uint32_t others[4][3] = {{1, 2, 3}, {0, 2}, {0, 1, 3}, {0, 2}};
    struct topo_graph *g;
    struct ring r;

    (void)state;
    ring_init(&r);
    g = create(&r.g);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(g->nodes[i].degree, i % 2 == 0 ? 3 : 2);
        for (uint32_t k = 0; k < g->nodes[i].degree; k++) {
            const struct topo_end *end = &g->ends[g->nodes[i].first + k];
            const struct topo_edge *e = &g->edges[end->edge];

            assert_int_equal(end->node, others[i][k]);
            assert_true((e->a == i && e->b == end->node) || (e->b == i && e->a == end->node));
        }
    }
    assert_string_equal(g->nodes[2].name, "c"); /* It had none. */
    topo_graph_free(g);
    topo_graph_free(NULL);
}

static void test_links_are_found_from_both_ends(void **state)
{
    struct topo_graph *g;
    struct ring r;
    uint32_t found = 9;

    (void)state;
    ring_init(&r);
    g = create(&r.g);
    for (uint32_t i = 0; i < g->edges_count; i++) {
        assert_true(topo_graph_edge(g, g->edges[i].a, g->edges[i].b, &found));
        assert_int_equal(found, i);
        assert_true(topo_graph_edge(g, g->edges[i].b, g->edges[i].a, &found));
        assert_int_equal(found, i);
    }
    assert_false(topo_graph_edge(g, 1, 3, &found));
    assert_false(topo_graph_edge(g, 2, 2, &found));
    topo_graph_free(g);
}

static void test_names_are_looked_up_behind_ids(void **state)
{
    struct topo_graph *g;
    struct ring r;
    uint32_t found = 9;

    (void)state;
    ring_init(&r);
    (void)strcpy(r.nodes[0].name, "b");
    (void)strcpy(r.nodes[1].name, "Bern");
    (void)strcpy(r.nodes[2].name, "Zug");
    (void)strcpy(r.nodes[3].name, "Zug");
    g = create(&r.g);
    assert_true(topo_graph_find(g, "b", &found));
    assert_int_equal(found, 1);
    assert_true(topo_graph_find(g, "Bern", &found));
    assert_int_equal(found, 1);
    assert_false(topo_graph_find(g, "Zug", &found)); /* Which one? */
    assert_false(topo_graph_find(g, "e", &found));
    assert_int_equal(found, 1);
    topo_graph_free(g);
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.10g is not %.10g", value, expected);
    }
}

/* Against places whose distance is known in closed form, and two cities. */
static void test_distances_are_those_of_a_sphere(void **state)
{
    double half = 3.14159265358979323846 * 6371;

    (void)state;
    assert_true(topo_graph_km(12, 34, 12, 34) == 0);
    assert_near(topo_graph_km(0, 0, 0, 180), half, 1e-6);
    assert_near(topo_graph_km(90, 0, -90, 77), half, 1e-6);
    assert_near(topo_graph_km(0, 0, 0, 1), half / 180, 1e-9);
    assert_near(topo_graph_km(0, 179.5, 0, -179.5), half / 180, 1e-9);
    assert_near(topo_graph_km(30, 10, -30, -170), half, 1e-3);
    assert_near(topo_graph_km(48.8566, 2.3522, 52.52, 13.405), 877.5, 0.5);
    assert_true(topo_graph_km(1, 2, 3, 4) == topo_graph_km(3, 4, 1, 2));
}

static void test_lengths_are_known_where_both_ends_have_places(void **state)
{
    struct topo_graph *g;
    struct ring r;

    (void)state;
    ring_init(&r);
    g = create(&r.g);
    assert_true(g->edges[0].km < 0 && g->edges[3].km < 0);
    assert_near(g->edges[2].km, topo_graph_km(0, 0, 0, 1), 1e-9);
    assert_near(g->edges[1].km, 2 * topo_graph_km(0, 0, 0, 1), 1e-9);
    topo_graph_free(g);
}

static void test_rates_by_distance_are_linear(void **state)
{
    struct topo_graph *g;
    struct ring r;

    (void)state;
    ring_init(&r);
    g = create(&r.g);
    topo_graph_by_distance(g, 900, 100);
    assert_true(g->edges[2].mbps == 900);
    assert_near(g->edges[1].mbps, 500, 1e-6);
    assert_true(g->edges[4].mbps == 100);
    assert_near(g->edges[0].mbps, 500, 1e-6); /* The mean of 1, 2 and 3 degrees. */
    assert_near(g->edges[3].mbps, 500, 1e-6);
    topo_graph_free(g);
    r.g.edges_count = 3;
    r.nodes[0].placed = false;
    g = create(&r.g); /* One length is known. */
    topo_graph_by_distance(g, 900, 100);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(g->edges[i].mbps == 500);
    }
    topo_graph_free(g);
}

static void refused(const struct topo_graph *values, enum err expected, const char *words)
{
    struct topo_graph *g = NULL;
    struct err_text why = {""};

    assert_int_equal(topo_graph_create(values, &g, &why), expected);
    assert_null(g);
    assert_string_equal(why.text, words);
}

static void test_sizes_are_checked(void **state)
{
    struct ring r;

    (void)state;
    ring_init(&r);
    r.g.nodes_count = 1;
    refused(&r.g, ERR_INVALID, "1 region: a network needs at least 2");
    r.g.nodes_count = 0;
    refused(&r.g, ERR_INVALID, "0 regions: a network needs at least 2");
    r.g.nodes_count = 4;
    r.g.edges_count = 0;
    refused(&r.g, ERR_INVALID, "there is no link between the 4 regions");
    r.g.edges_count = TOPO_GRAPH_LINKS_MAX + 1;
    refused(&r.g, ERR_TOO_BIG, "4 regions and 65537 links: at most 4096 and 65536 are allowed");
    r.g.nodes_count = TOPO_GRAPH_NODES_MAX + 1;
    refused(&r.g, ERR_TOO_BIG, "4097 regions and 65537 links: at most 4096 and 65536 are allowed");
    ring_init(&r);
    (void)strcpy(r.g.name, "a\nb");
    refused(&r.g, ERR_INVALID, "the name is not a text of up to 128 bytes");
}

static void spoil_node(int what, struct topo_node *n)
{
    switch (what) {
    case 0:
        n->id[0] = '\0';
        break;
    case 1:
        (void)strcpy(n->id, "a\033");
        break;
    case 2:
        memset(n->id, 'a', sizeof(n->id));
        break;
    case 3:
        (void)strcpy(n->name, "a\xff");
        break;
    case 4:
        n->numbered = true;
        break;
    case 5:
        n->latitude = 91;
        break;
    case 6:
        n->longitude = NAN;
        break;
    case 7:
        n->usd_per_hour = 1e7;
        break;
    case 8:
        n->usd_per_hour = NAN;
        break;
    default:
        n->usd_per_hour = -INFINITY;
        break;
    }
}

static void test_figures_of_nodes_are_checked(void **state)
{
    struct ring r;

    (void)state;
    for (int i = 0; i < 10; i++) {
        ring_init(&r);
        spoil_node(i, &r.nodes[2]);
        refused(&r.g, ERR_INVALID, "node 2 has a figure out of its limits");
    }
    ring_init(&r);
    (void)strcpy(r.nodes[3].id, "a");
    refused(&r.g, ERR_INVALID, "node 3 has the id of another one");
}

static void test_figures_of_links_are_checked(void **state)
{
    static const double rates[] = {0, -1, 1e-7, 1e10, NAN, INFINITY};
    struct ring r;

    (void)state;
    for (size_t i = 0; i < COUNT(rates) + 6; i++) {
        ring_init(&r);
        r.edges[1].mbps = i < COUNT(rates) ? rates[i] : 1;
        r.edges[1].a = i == COUNT(rates) ? 4 : 2;
        r.edges[1].b = i == COUNT(rates) + 1 ? 2 : 1;
        r.edges[1].rtt_ms = i == COUNT(rates) + 2 ? NAN : i == COUNT(rates) + 3 ? 1e6 : 0;
        r.edges[1].usd_per_gb = i == COUNT(rates) + 4 ? NAN : i == COUNT(rates) + 5 ? 1e6 : 0;
        refused(&r.g, ERR_INVALID, "link 1 has a figure out of its limits");
    }
    ring_init(&r);
    r.edges[4] = edge(1, 0, 1);
    refused(&r.g, ERR_INVALID, "nodes 0 and 1 are joined twice");
}

static void test_what_falls_apart_is_refused(void **state)
{
    struct ring r;

    (void)state;
    ring_init(&r);
    r.g.edges_count = 1;
    refused(&r.g, ERR_INVALID,
            "not connected: 'b' has no link, so it cannot be reached from 'a'; 2 of the 4 regions "
            "hang together with 'a', 1 with neither");
    r.g.edges_count = 2;
    refused(&r.g, ERR_INVALID,
            "not connected: 'b' cannot be reached from 'a'; of the 4 regions 2 hang together with "
            "'a', 2 with 'b'");
}

static void test_a_graph_of_a_topology_has_the_slower_direction(void **state)
{
    static const struct topo_link fast = {
        .bytes_per_s = 2000000, .delay_ns = 1000000, .priced = true, .price_nusd_per_gb = 20000000};
    static const struct topo_link slow = {
        .bytes_per_s = 1000000, .delay_ns = 3000000, .priced = true, .price_nusd_per_gb = 40000000};
    struct topo_region region = {.name = "eu", .prices_count = 2, .placed = true, .latitude = 1};
    struct topo_graph *g = NULL;
    struct topo *t = NULL;
    struct err_text why = {""};

    (void)state;
    region.prices[0] = (struct topo_price){"cpu", 500000000};
    region.prices[1] = (struct topo_price){"gpu", 900000000};
    assert_int_equal(topo_create(&t), OK);
    assert_int_equal(topo_region_add(t, &region), OK);
    assert_int_equal(topo_region_add(t, &(struct topo_region){.name = "us"}), OK);
    assert_int_equal(topo_region_add(t, &(struct topo_region){.name = "asia"}), OK);
    assert_int_equal(topo_link_set(t, 0, 1, &fast), OK);
    assert_int_equal(topo_link_set(t, 1, 0, &slow), OK);
    assert_int_equal(topo_link_set(t, 1, 2, &fast), OK); /* One way. */
    assert_int_equal(topo_graph_from(t, "gpu", &g, &why), ERR_INVALID);
    assert_string_equal(why.text,
                        "not connected: 'asia' has no link, so it cannot be reached from 'eu'; 2 "
                        "of the 3 regions hang together with 'eu'");
    assert_int_equal(topo_link_set(t, 0, 2, &fast), OK);
    assert_int_equal(topo_link_set(t, 2, 0, &fast), OK);
    assert_int_equal(topo_graph_from(t, "gpu", &g, &why), OK);
    assert_int_equal(g->edges_count, 2);
    assert_int_equal(g->duplex, TOPO_DUPLEX_FULL);
    assert_true(g->edges[0].mbps == 8 && g->edges[0].rtt_ms == 4);
    assert_true(g->edges[0].usd_per_gb == 0.03);
    assert_true(g->edges[1].mbps == 16 && g->edges[1].rtt_ms == 2);
    assert_true(g->nodes[0].placed && g->nodes[0].latitude == 1);
    assert_true(g->nodes[0].usd_per_hour == 0.9 && g->nodes[1].usd_per_hour < 0);
    assert_int_equal(g->notes_count, 2);
    assert_string_equal(g->notes[0],
                        "1 of 2 links is not as fast both ways: the slower rate for both");
    assert_string_equal(g->notes[1], "1 link goes one way only: left out");
    topo_graph_free(g);
    topo_destroy(t);
}

static void test_a_default_link_joins_all_pairs(void **state)
{
    static const struct topo_link slow = {.bytes_per_s = 1000000, .delay_ns = 3000000};
    static const struct topo_link fast = {.bytes_per_s = 9000000, .delay_ns = 1000000};
    struct topo_graph *g = NULL;
    struct topo *t = NULL;
    struct err_text why = {""};

    (void)state;
    assert_int_equal(topo_create(&t), OK);
    for (int i = 0; i < TOPO_REGIONS_MAX; i++) {
        struct topo_region r = {.placed = false};

        (void)snprintf(r.name, sizeof(r.name), "r%d", i);
        assert_int_equal(topo_region_add(t, &r), OK);
    }
    assert_int_equal(topo_default_set(t, &slow), OK);
    assert_int_equal(topo_link_set(t, 5, 3, &fast), OK);
    assert_int_equal(topo_graph_from(t, "cpu", &g, &why), OK);
    assert_int_equal(g->edges_count, TOPO_REGIONS_MAX * (TOPO_REGIONS_MAX - 1) / 2);
    for (uint32_t i = 0; i < g->edges_count; i++) {
        assert_true(g->edges[i].mbps == 8 && g->edges[i].usd_per_gb < 0);
    }
    topo_graph_free(g);
    topo_destroy(t);
}

static void test_the_way_to_a_topology_and_back_loses_nothing(void **state)
{
    struct topo_graph *g, *again = NULL;
    struct topo *t = NULL;
    struct err_text why = {""};
    struct ring r;

    (void)state;
    ring_init(&r);
    r.g.duplex = TOPO_DUPLEX_SHARED;
    r.nodes[1].usd_per_hour = 0.796;
    for (uint32_t i = 0; i < 5; i++) {
        r.edges[i].rtt_ms = i + 0.5;
        r.edges[i].usd_per_gb = i == 2 ? -1 : 0.02 * i;
    }
    g = create(&r.g);
    assert_int_equal(topo_graph_topology(g, &t, &why), OK);
    assert_int_equal(topo_duplex(t), TOPO_DUPLEX_SHARED);
    assert_true(topo_link_equal(topo_link_own(t, 0, 1), topo_link_own(t, 1, 0)));
    assert_int_equal(topo_graph_from(t, "cpu", &again, &why), OK);
    assert_string_equal(again->name, g->name);
    assert_int_equal(again->duplex, g->duplex);
    assert_int_equal(again->nodes_count, 4);
    assert_int_equal(again->edges_count, 5);
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(again->nodes[i].id, g->nodes[i].id);
        assert_int_equal(again->nodes[i].placed, g->nodes[i].placed);
        assert_true(again->nodes[i].longitude == g->nodes[i].longitude);
        assert_true(again->nodes[i].usd_per_hour == g->nodes[i].usd_per_hour);
    }
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t k = 0;

        assert_true(topo_graph_edge(again, g->edges[i].a, g->edges[i].b, &k));
        assert_true(again->edges[k].mbps == g->edges[i].mbps);
        assert_true(again->edges[k].rtt_ms == g->edges[i].rtt_ms);
        assert_true(again->edges[k].usd_per_gb == g->edges[i].usd_per_gb);
    }
    topo_graph_free(again);
    topo_graph_free(g);
    topo_destroy(t);
}

static void test_a_topology_has_round_trips_and_names_that_a_graph_lacks(void **state)
{
    struct topo_graph *g;
    struct topo *t = NULL;
    struct err_text why = {""};
    struct ring r;

    (void)state;
    ring_init(&r);
    (void)strcpy(r.nodes[1].id, "New York");
    (void)strcpy(r.nodes[2].id, "r1");
    memset(r.g.name, 'x', 63);
    (void)strcpy(r.g.name + 63, "\xc3\xbc!");
    r.edges[2].mbps = TOPO_GRAPH_MBPS_MIN;
    g = create(&r.g);
    assert_int_equal(topo_graph_topology(g, &t, &why), OK);
    assert_string_equal(topo_region_at(t, 0)->name, "a");
    assert_string_equal(topo_region_at(t, 1)->name, "r1.2");
    assert_string_equal(topo_region_at(t, 2)->name, "r1");
    assert_int_equal(strlen(topo_name(t)), 63); /* Half a character is none. */
    assert_int_equal(topo_link_own(t, 0, 1)->delay_ns,
                     llround(topo_graph_km(0, 0, 0, 1) / 200000 * 1e9));
    assert_int_equal(topo_link_own(t, 0, 1)->bytes_per_s, 1);
    assert_int_equal(topo_link_own(t, 0, 3)->delay_ns, 500000);
    assert_false(topo_link_own(t, 0, 3)->priced);
    topo_graph_free(g);
    topo_destroy(t);
}

static void test_what_cannot_run_has_no_topology(void **state)
{
    struct topo_node nodes[TOPO_REGIONS_MAX + 1];
    struct topo_edge edges[TOPO_REGIONS_MAX];
    struct topo_graph many = {
        .nodes = nodes, .nodes_count = COUNT(nodes), .edges = edges, .edges_count = COUNT(edges)};
    struct topo_graph *g;
    struct topo *t = NULL;
    struct err_text why = {""};
    struct ring r;
    char id[16];

    (void)state;
    for (uint32_t i = 0; i < COUNT(nodes); i++) {
        (void)snprintf(id, sizeof(id), "%u", i);
        nodes[i] = node(id);
        nodes[i].numbered = true;
        edges[i > 0 ? i - 1 : 0] = edge(0, i > 0 ? i : 1, 1);
    }
    g = create(&many);
    assert_int_equal(topo_graph_topology(g, &t, &why), ERR_TOO_BIG);
    assert_string_equal(why.text, "65 regions: what runs has at most 64");
    topo_graph_free(g);
    ring_init(&r);
    r.edges[0].mbps = 3e6;
    g = create(&r.g);
    assert_int_equal(topo_graph_topology(g, &t, &why), ERR_TOO_BIG);
    assert_string_equal(why.text, "the link between 'd' and 'a' has 3000000 Mbit/s: what runs has "
                                  "at most 2.199023255552tbit");
    assert_null(t);
    topo_graph_free(g);
}

static void test_running_out_of_memory_is_said(void **state)
{
    enum err rc = ERR_NOMEM;
    struct ring r;

    (void)state;
    ring_init(&r);
    for (uint64_t k = 1; rc != OK; k++) {
        struct topo_graph *g = NULL, *again = NULL;
        struct topo *t = NULL;
        struct err_text why = {""};
        int64_t before = mem_bytes_held();

        mem_fail_at(k, 1);
        rc = topo_graph_create(&r.g, &g, &why);
        if (rc == OK) {
            rc = topo_graph_topology(g, &t, &why);
        }
        if (rc == OK) {
            rc = topo_graph_from(t, "cpu", &again, &why);
        }
        mem_fail_at(0, 0);
        assert_true(rc == (again == NULL ? ERR_NOMEM : OK));
        assert_string_equal(why.text, rc == OK ? "" : "out of memory");
        topo_graph_free(again);
        topo_destroy(t);
        topo_graph_free(g);
        assert_int_equal(mem_bytes_held(), before);
        assert_true(k < 30);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours_are_in_order),
        cmocka_unit_test(test_links_are_found_from_both_ends),
        cmocka_unit_test(test_names_are_looked_up_behind_ids),
        cmocka_unit_test(test_distances_are_those_of_a_sphere),
        cmocka_unit_test(test_lengths_are_known_where_both_ends_have_places),
        cmocka_unit_test(test_rates_by_distance_are_linear),
        cmocka_unit_test(test_sizes_are_checked),
        cmocka_unit_test(test_figures_of_nodes_are_checked),
        cmocka_unit_test(test_figures_of_links_are_checked),
        cmocka_unit_test(test_what_falls_apart_is_refused),
        cmocka_unit_test(test_a_graph_of_a_topology_has_the_slower_direction),
        cmocka_unit_test(test_a_default_link_joins_all_pairs),
        cmocka_unit_test(test_the_way_to_a_topology_and_back_loses_nothing),
        cmocka_unit_test(test_a_topology_has_round_trips_and_names_that_a_graph_lacks),
        cmocka_unit_test(test_what_cannot_run_has_no_topology),
        cmocka_unit_test(test_running_out_of_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
