/* The maps of this repository: whole, priced, alike where they are cuts of each other, and true to
 * what Gaia's authors say of their measurements, as far as topologies/README.md claims it. */

#include "topo/file.h"
#include "topo/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct topo *load(const char *path)
{
    struct topo *t = NULL;
    struct err_text why = {""};

    if (topo_file_load(path, &t, &why) != OK) {
        fail_msg("%s", why.text);
    }
    return t;
}

static uint32_t region(const struct topo *t, const char *name)
{
    uint32_t index = 0;

    assert_true(topo_region_find(t, name, &index));
    return index;
}

static uint64_t rate(const struct topo *t, const char *from, const char *to)
{
    return topo_link_between(t, region(t, from), region(t, to))->bytes_per_s;
}

struct pairs {
    uint32_t from, to; /* The worst. */
    double worst;
    double mean;
    double best;
};

static struct pairs pairs_of(const struct topo *t)
{
    struct pairs p = {.worst = 1e30};
    uint32_t n = topo_regions(t);

    for (uint32_t a = 0; a < n; a++) {
        for (uint32_t b = 0; b < n; b++) {
            double r = (double)topo_link_between(t, a, b)->bytes_per_s;

            if (a != b) {
                p.mean += r / (n * (n - 1));
                p.best = r > p.best ? r : p.best;
            }
            if (a != b && r < p.worst) {
                p.worst = r;
                p.from = a;
                p.to = b;
            }
        }
    }
    return p;
}

static void assert_worst(const struct topo *t)
{
    struct pairs p = pairs_of(t);
    uint32_t singapore = region(t, "singapore"), sao_paulo = region(t, "sao-paulo");

    assert_true((p.from == singapore && p.to == sao_paulo) ||
                (p.from == sao_paulo && p.to == singapore));
}

static void assert_within(double value, double least, double most)
{
    if (!(value >= least && value <= most)) {
        fail_msg("%g is not from %g to %g", value, least, most);
    }
}

/* Gaia's eleven regions in its order. */
static const char *const eleven[] = {"virginia",  "california", "oregon",   "ireland",
                                     "frankfurt", "tokyo",      "seoul",    "singapore",
                                     "sydney",    "mumbai",     "sao-paulo"};

static const struct {
    const char *path;
    uint32_t regions;
} maps[] = {
    {"topologies/ec2-11.json", 11},
    {"topologies/ec2-11-parallel.json", 11},
    {"topologies/virginia-california.json", 2},
    {"topologies/singapore-sao-paulo.json", 2},
    {"topologies/three-regions.json", 3},
};
enum { MAPS = sizeof(maps) / sizeof(maps[0]) };

static void test_maps_are_whole_meshes_with_places_and_prices(void **state)
{
    static const char *const classes[] = {"cpu", "gpu", "small"};

    (void)state;
    for (uint32_t i = 0; i < MAPS; i++) {
        struct topo *t = load(maps[i].path);

        assert_int_equal(topo_regions(t), maps[i].regions);
        assert_true(strlen(topo_source(t)) > 0);
        for (uint32_t a = 0; a < topo_regions(t); a++) {
            uint64_t nusd[3];

            assert_true(topo_region_at(t, a)->placed);
            for (uint32_t c = 0; c < 3; c++) {
                assert_true(topo_region_price(t, a, classes[c], &nusd[c]));
            }
            assert_true(0 < nusd[2] && nusd[2] < nusd[0] && nusd[0] < nusd[1]);
            for (uint32_t b = 0; b < topo_regions(t); b++) {
                assert_true(a == b || topo_link_own(t, a, b)->price_nusd_per_gb > 0);
            }
        }
        topo_destroy(t);
    }
}

static void test_a_lan_is_faster_than_every_link(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MAPS; i++) {
        struct topo *t = load(maps[i].path);

        assert_true((double)topo_lan(t)->bytes_per_s > 2 * pairs_of(t).best);
        topo_destroy(t);
    }
}

/* Gaia: 15 times the mean pair, 60 times the worst one. Both at once cannot be had with these
 * figures; each is missed by less than a sixth. */
static void test_the_lan_stands_to_the_links_as_gaia_says(void **state)
{
    struct topo *t = load("topologies/ec2-11.json");
    struct pairs p = pairs_of(t);
    double lan = (double)topo_lan(t)->bytes_per_s;

    (void)state;
    assert_worst(t);
    assert_within(lan / p.mean, 15, 15 * 7.0 / 6);
    assert_within(lan / p.worst, 60 * 5.0 / 6, 60);
    topo_destroy(t);
}

/* Gaia: up to 12 times the far ones, as Oregon - California and Tokyo - Seoul. */
static void test_near_pairs_stand_to_far_ones_as_gaia_says(void **state)
{
    struct topo *t = load("topologies/ec2-11.json");
    struct pairs p = pairs_of(t);

    (void)state;
    assert_within(p.best / p.worst, 11.9, 12.05);
    assert_within((double)rate(t, "oregon", "california") / p.worst, 11.9, 12.05);
    assert_within((double)rate(t, "tokyo", "seoul") / p.worst, 10, 12.05);
    topo_destroy(t);
}

static void test_many_connections_get_more_than_one(void **state)
{
    struct topo *one = load("topologies/ec2-11.json");
    struct topo *many = load("topologies/ec2-11-parallel.json");

    (void)state;
    assert_worst(many);
    for (uint32_t a = 0; a < 11; a++) {
        assert_string_equal(topo_region_at(one, a)->name, eleven[a]);
        assert_string_equal(topo_region_at(many, a)->name, eleven[a]);
        for (uint32_t b = 0; b < 11; b++) {
            const struct topo_link *o = topo_link_between(one, a, b);
            const struct topo_link *m = topo_link_between(many, a, b);

            if (a != b) {
                assert_true(o->bytes_per_s == topo_link_between(one, b, a)->bytes_per_s);
                assert_true(o->bytes_per_s < m->bytes_per_s &&
                            m->bytes_per_s < 64 * o->bytes_per_s);
                assert_true(o->delay_ns == m->delay_ns);
                assert_true(o->price_nusd_per_gb == m->price_nusd_per_gb);
            }
        }
    }
    assert_non_null(strstr(topo_source(one), "ec2-11-parallel.json"));
    assert_non_null(strstr(topo_source(many), "ec2-11.json"));
    topo_destroy(one);
    topo_destroy(many);
}

/* Every region and link of a cut is that of the whole. */
static void assert_cut(const char *path, const char *whole_path)
{
    struct topo *cut = load(path), *whole = load(whole_path);
    uint32_t n = topo_regions(cut);

    assert_true(topo_link_equal(topo_lan(cut), topo_lan(whole)));
    for (uint32_t a = 0; a < n; a++) {
        const struct topo_region *here = topo_region_at(cut, a);
        uint32_t wa = region(whole, here->name);
        const struct topo_region *there = topo_region_at(whole, wa);

        assert_true(here->latitude == there->latitude && here->longitude == there->longitude);
        assert_int_equal(here->prices_count, there->prices_count);
        for (uint32_t i = 0; i < here->prices_count; i++) {
            assert_string_equal(here->prices[i].class, there->prices[i].class);
            assert_true(here->prices[i].nusd_per_hour == there->prices[i].nusd_per_hour);
        }
        for (uint32_t b = 0; b < n; b++) {
            uint32_t wb = region(whole, topo_region_at(cut, b)->name);

            assert_true(
                topo_link_equal(topo_link_between(cut, a, b), topo_link_between(whole, wa, wb)));
        }
    }
    topo_destroy(cut);
    topo_destroy(whole);
}

static void test_cuts_have_the_figures_of_the_whole(void **state)
{
    (void)state;
    assert_cut("topologies/virginia-california.json", "topologies/ec2-11.json");
    assert_cut("topologies/singapore-sao-paulo.json", "topologies/ec2-11.json");
    assert_cut("topologies/three-regions.json", "topologies/ec2-11-parallel.json");
}

/* Links by distance, as the planner sees them: @nodes, @links, and the rule of topo/graph.h. */
static void assert_by_distance(const char *path, uint32_t nodes, uint32_t links)
{
    struct topo *t = load(path);
    struct topo_graph *g = NULL, *rule = NULL;
    struct err_text why = {""};

    assert_int_equal(topo_duplex(t), TOPO_DUPLEX_SHARED);
    assert_int_equal(topo_graph_from(t, "cpu", &g, &why), OK);
    assert_int_equal(topo_graph_from(t, "cpu", &rule, &why), OK);
    assert_int_equal(g->nodes_count, nodes);
    assert_int_equal(g->edges_count, links);
    assert_int_equal(g->notes_count, 0);
    topo_graph_by_distance(rule, TOPO_GRAPH_NEAR_MBPS, TOPO_GRAPH_FAR_MBPS);
    for (uint32_t i = 0; i < links; i++) {
        assert_within(g->edges[i].mbps, rule->edges[i].mbps - 0.0006, rule->edges[i].mbps + 0.0006);
        assert_within(g->edges[i].rtt_ms - g->edges[i].km / 100, -0.0006, 0.0006);
    }
    assert_true((double)topo_lan(t)->bytes_per_s * 8 / 1e6 > 2 * TOPO_GRAPH_NEAR_MBPS);
    topo_graph_free(rule);
    topo_graph_free(g);
    topo_destroy(t);
}

static void test_rates_of_carriers_are_by_distance(void **state)
{
    (void)state;
    assert_by_distance("topologies/b4.json", 12, 19);
    assert_by_distance("topologies/internet2.json", 9, 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps_are_whole_meshes_with_places_and_prices),
        cmocka_unit_test(test_a_lan_is_faster_than_every_link),
        cmocka_unit_test(test_the_lan_stands_to_the_links_as_gaia_says),
        cmocka_unit_test(test_near_pairs_stand_to_far_ones_as_gaia_says),
        cmocka_unit_test(test_many_connections_get_more_than_one),
        cmocka_unit_test(test_cuts_have_the_figures_of_the_whole),
        cmocka_unit_test(test_rates_of_carriers_are_by_distance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
