/* Files of sites around a centre: every key, plans inside and beside, what is refused and how, what
 * sites are told, and that servers of a run are told the same. */

#include "run/file/sites_file.h"
#include "run/testing.h"
#include "run/wan/between.h"

#include <stdlib.h>
#include <unistd.h>

/* west - mid - east, and a detour by north; sites are not in the order of their names. */
#define MAP                                                                                        \
    "topology:\n"                                                                                  \
    "  regions: [r-west, mid, east, north]\n"                                                      \
    "  links: [{between: [r-west, mid], rate: 80mbit, rtt: 10ms},\n"                               \
    "          {between: [mid, east], rate: 40mbit, rtt: 10ms},\n"                                 \
    "          {from: mid, to: north, rate: 16mbit, rtt: 10ms},\n"                                 \
    "          {from: north, to: mid, rate: 8mbit, rtt: 10ms},\n"                                  \
    "          {from: r-west, to: east, rate: 8mbit, rtt: 10ms},\n"                                \
    "          {between: [north, east], rate: 24mbit, rtt: 10ms}]\n"
#define SITES                                                                                      \
    "sites: [{name: west, region: r-west}, {region: mid}, {region: east}, {region: north}]\n"
#define FILE_OF(between) "run: test\n" MAP SITES between "job: {name: mf}\nstop: {clocks: 70}\n"

#define PLAN                                                                                       \
    "  plan:\n"                                                                                    \
    "    server: east\n"                                                                           \
    "    flows:\n"                                                                                 \
    "      - {from: r-west, path: [r-west, mid, east], mbps: 20}\n"                                \
    "      - {from: mid, path: [mid, east], mbps: 20}\n"                                           \
    "      - {from: north, path: [north, east]}\n"

enum { EAST, MID, NORTH, WEST }; /* By name. */

static void place(const struct run_file *f, uint32_t site, struct net_address *out, void *user)
{
    (void)f;
    (void)user;
    *out = (struct net_address){.scheme = NET_SCHEME_TCP, .host = "127.0.0.1"};
    (void)snprintf(out->port, sizeof(out->port), "%u", 20000 + site);
}

static struct run_betweens *create(const struct run_file *f)
{
    struct run_betweens *b = NULL;
    struct err_text text = {""};

    if (run_betweens_create(f, place, NULL, &b, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return b;
}

static void test_sites_are_joined_as_the_map_says_at_the_slower_rate(void **state)
{
    struct run_file *f = testing_parse(FILE_OF("between: {preset: central}\n"));
    struct run_betweens *b = create(f);
    const struct node_between *west = run_between_at(b, 0);

    (void)state;
    assert_true(west->central && !west->shared);
    assert_int_equal(west->links_count, 4); /* West to east is one way. */
    for (uint32_t i = 0; i < west->links_count; i++) {
        const struct site_link *l = &west->links[i];
        bool first = l->a < l->b;
        uint32_t low = first ? l->a : l->b, high = first ? l->b : l->a;

        assert_int_equal(l->bytes_per_s, low == MID && high == WEST     ? 10000000
                                         : low == EAST && high == MID   ? 5000000
                                         : low == MID && high == NORTH  ? 1000000
                                         : low == EAST && high == NORTH ? 3000000
                                                                        : 0);
    }
    assert_string_equal(west->others[0].name, "mid");
    assert_false(west->others[0].indirect);
    assert_true(west->others[1].indirect && west->others[2].indirect);
    assert_int_equal(west->plan.epoch, 0);
    assert_true(west->move_gain == 0.1 && west->reserve == 0);
    assert_int_equal(west->change_percent, 25);
    assert_int_equal(west->away_ns, INT64_C(5000000000));
    assert_int_equal(west->no_centre, 0);
    assert_int_equal(west->clocks, 70);
    run_betweens_destroy(b);
    run_file_free(f);
}

static void test_who_may_be_the_centre_and_pass_on_is_told(void **state)
{
    struct run_file *f = testing_parse(
        FILE_OF("between: {preset: central, no_centre: [west, mid],\n"
                "          no_relay: [north], move_gain: 25%, replan: 7%, reserve: 5%}\n"));
    struct run_betweens *b = create(f);

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(run_between_at(b, i)->no_centre, 1 << WEST | 1 << MID);
        assert_int_equal(run_between_at(b, i)->no_relay, 1 << NORTH);
        assert_true(run_between_at(b, i)->move_gain == 0.25);
        assert_true(run_between_at(b, i)->reserve == 0.05);
        assert_int_equal(run_between_at(b, i)->change_percent, 7);
    }
    run_betweens_destroy(b);
    run_file_free(f);
    f = testing_parse(FILE_OF("between: {preset: central, centre: north}\n"));
    b = create(f);
    assert_int_equal(run_between_at(b, 0)->no_centre, 1 << WEST | 1 << MID | 1 << EAST);
    run_betweens_destroy(b);
    run_file_free(f);
}

static void expect_plan(const struct node_plan *plan, double scale)
{
    assert_int_equal(plan->epoch, 1);
    assert_int_equal(plan->centre, EAST);
    assert_int_equal(plan->active, 15);
    assert_int_equal(plan->paths[EAST].count, 0);
    assert_int_equal(plan->paths[WEST].count, 3);
    assert_int_equal(plan->paths[WEST].sites[0], WEST);
    assert_int_equal(plan->paths[WEST].sites[1], MID);
    assert_int_equal(plan->paths[WEST].sites[2], EAST);
    assert_int_equal(plan->paths[WEST].bytes_per_s, (uint64_t)(2500000 * scale));
    assert_int_equal(plan->paths[WEST].rates[0], (uint64_t)(10000000 * scale));
    assert_int_equal(plan->paths[WEST].rates[1], (uint64_t)(5000000 * scale));
    assert_int_equal(plan->paths[NORTH].count, 2);
    assert_int_equal(plan->paths[NORTH].bytes_per_s, 0);
}

static void test_a_plan_names_sites_or_regions(void **state)
{
    struct run_file *f = testing_parse(FILE_OF("between:\n  preset: central\n" PLAN));
    struct run_betweens *b = create(f);

    (void)state;
    expect_plan(&run_between_at(b, 0)->plan, 1);
    expect_plan(&run_between_at(b, 3)->plan, 1);
    run_betweens_destroy(b);
    run_file_free(f);
}

static void test_rates_of_plans_are_those_of_the_map(void **state)
{
    struct run_file *f =
        testing_parse(FILE_OF("links: {scale: 1/2}\nbetween:\n  preset: central\n" PLAN));
    struct run_betweens *b = create(f);

    (void)state;
    expect_plan(&run_between_at(b, 0)->plan, 0.5);
    run_betweens_destroy(b);
    run_file_free(f);
}

/* As `strait plan place --json` writes it. */
static void test_a_plan_may_be_another_file(void **state)
{
    static const char plan[] =
        "{\"schema\":1,\"server\":\"east\",\"time_s\":1.5,\"reserve\":0.1,\"optimal\":true,\n"
        " \"flows\":[{\"from\":\"mid\",\"path\":[\"mid\",\"east\"],\"mbps\":20},\n"
        "  {\"from\":\"r-west\",\"path\":[\"r-west\",\"mid\",\"east\"],\"mbps\":20.0},\n"
        "  {\"from\":\"north\",\"path\":[\"north\",\"east\"]}],\"candidates\":[]}\n";
    static const char yaml[] = FILE_OF("between: {preset: central, plan: p.json}\n");
    static const char other[] = FILE_OF("between: {preset: central, plan: p.json, reserve: 0}\n");
    char folder[] = "/tmp/strait-central-XXXXXX", path[64];
    struct err_text text = {""};
    struct run_file *f = NULL;
    struct run_betweens *b;
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/p.json", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(plan, file) >= 0 && fclose(file) == 0);
    if (run_file_parse("r.yaml", folder, yaml, strlen(yaml), &f, &text) != OK) {
        fail_msg("%s", text.text);
    }
    b = create(f);
    expect_plan(&run_between_at(b, 0)->plan, 1);
    assert_true(run_between_at(b, 0)->reserve == 0.1);
    run_betweens_destroy(b);
    run_file_free(f);
    f = NULL; /* What the run file says counts. */
    assert_int_equal(run_file_parse("r.yaml", folder, other, strlen(other), &f, &text), OK);
    assert_true(f->between.central.reserve == 0);
    run_file_free(f);
    assert_int_equal(unlink(path), 0);
    f = NULL;
    assert_int_equal(run_file_parse("r.yaml", folder, yaml, strlen(yaml), &f, &text),
                     ERR_NOT_FOUND);
    assert_non_null(strstr(text.text, "r.yaml:11:34: between.plan: "));
    assert_non_null(strstr(text.text, path));
    assert_int_equal(rmdir(folder), 0);
}

static void test_printing_is_reading_backwards(void **state)
{
    static const char *const betweens[] = {
        "between: {preset: central}\n",
        "between: {preset: central, centre: mid, no_relay: [mid], move_gain: 0, streams: 2,\n"
        "          reserve: 0.125}\n",
        "links: {scale: 1/3}\n"
        "between:\n  preset: central\n  no_centre: [west]\n  away: 5s\n  leave_out: any\n" PLAN,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(betweens) / sizeof(betweens[0]); i++) {
        struct run_file *f, *again;
        struct text one, two;
        char yaml[4096];

        (void)snprintf(yaml, sizeof(yaml), FILE_OF("%s"), betweens[i]);
        f = testing_parse(yaml);
        assert_int_equal(text_init(&one, 1 << 16), OK);
        assert_int_equal(text_init(&two, 1 << 16), OK);
        run_file_print(f, &one);
        assert_false(one.failed);
        again = testing_parse(one.chars);
        run_file_print(again, &two);
        assert_string_equal(one.chars, two.chars);
        assert_int_equal(again->between.preset, RUN_CENTRAL);
        assert_int_equal(again->between.central.centre, f->between.central.centre);
        assert_int_equal(again->between.central.no_centre, f->between.central.no_centre);
        assert_int_equal(again->between.central.no_relay, f->between.central.no_relay);
        assert_true(again->between.central.reserve == f->between.central.reserve);
        text_deinit(&one);
        text_deinit(&two);
        run_file_free(again);
        run_file_free(f);
    }
}

static void expect_same(const struct node_between *a, const struct node_between *b)
{
    assert_true(a->central && b->central && a->shared == b->shared);
    assert_int_equal(a->links_count, b->links_count);
    assert_memory_equal(a->links, b->links, a->links_count * sizeof(*a->links));
    assert_memory_equal(&a->plan, &b->plan, sizeof(a->plan));
    assert_int_equal(a->no_centre, b->no_centre);
    assert_int_equal(a->no_relay, b->no_relay);
    assert_true(a->reserve == b->reserve);
    assert_true(a->move_gain == b->move_gain && a->change_percent == b->change_percent);
    assert_int_equal(a->others_count, b->others_count);
    for (uint32_t i = 0; i < a->others_count; i++) {
        assert_string_equal(a->others[i].name, b->others[i].name);
        assert_int_equal(a->others[i].indirect, b->others[i].indirect);
    }
}

static void test_servers_of_a_run_are_told_what_simulated_ones_are(void **state)
{
    struct run_file *f = testing_parse(
        FILE_OF("links: {scale: 1/2}\nbetween:\n  preset: central\n  no_relay: [west]\n" PLAN));
    struct run_betweens *b = create(f);

    (void)state;
    for (uint32_t i = 0; i < f->sites_count; i++) {
        struct run_sites_reader reader = {.site = f->sites[i].name, .lanes = f->lanes};
        struct err_text text = {""};
        struct run_sites *s = NULL;
        struct text out;

        assert_int_equal(text_init(&out, 1 << 16), OK);
        run_sites_print(f, i, place, NULL, &out);
        if (run_sites_parse("s.yaml", out.chars, out.size, &reader, &s, &text) != OK) {
            fail_msg("%s\n%s", text.text, out.chars);
        }
        expect_same(run_sites_between(s), run_between_at(b, i));
        run_sites_free(s);
        text_deinit(&out);
    }
    run_betweens_destroy(b);
    run_file_free(f);
}

#define PLACES                                                                                     \
    "sites: [{name: a, address: \"tcp://127.0.0.1:1\"}, {name: b, address: "                       \
    "\"tcp://127.0.0.1:2\"},\n"                                                                    \
    "        {name: c, address: \"tcp://127.0.0.1:3\"}]\n"

static void test_servers_that_are_told_of_no_links_have_all_of_unknown_rate(void **state)
{
    static const char yaml[] = PLACES "between: {preset: central}\n";
    const struct run_sites_reader reader = {.site = "b", .lanes = 1};
    struct err_text text = {""};
    struct run_sites *s = NULL;

    (void)state;
    if (run_sites_parse("s.yaml", yaml, strlen(yaml), &reader, &s, &text) != OK) {
        fail_msg("%s", text.text);
    }
    assert_int_equal(run_sites_between(s)->links_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(run_sites_between(s)->links[i].bytes_per_s, 0);
    }
    assert_false(run_sites_between(s)->others[0].indirect ||
                 run_sites_between(s)->others[1].indirect);
    run_sites_free(s);
}

struct wrong {
    const char *yaml;
    const char *complaint;
};

static const struct wrong wrongs[] = {
    {"between: {preset: central, threshold: 1%}\n",
     "11:39: between.threshold: is not for 'preset: central', where all that changes is sent, and "
     "waited for, in every round: leave it out"},
    {"between: {preset: central, centre: mud}\n",
     "11:36: between.centre: there is no site 'mud': did you mean 'mid'?"},
    {"between: {preset: central, centre: mid, no_centre: [mid]}\n",
     "11:52: between.no_centre: does not go with 'centre', which says that no other site may be "
     "it: "
     "leave one of the two out"},
    {"between: {preset: central, no_centre: [mid, east, west, north]}\n",
     "11:39: between.no_centre: names all sites: one of them must be the centre"},
    {"between: {preset: central, no_relay: [mid, r-west]}\n",
     "11:44: between.no_relay[1]: there is no site 'r-west': did you mean 'west'?"},
    {"between: {preset: central, centre: north, no_relay: [mid]}\n",
     "10:8: sites: no site can be the centre of all: from 'west' there is no way to 'north'; add "
     "links, or take sites out of no_centre or no_relay"},
    {"between: {preset: central, replan: 0}\n", "11:36: between.replan: has to be a part of a "
                                                "link's rate, from 1% to 1000%, such as 25%: when "
                                                "it changes by more, another plan is made"},
    {"between: {preset: central, reserve: 1}\n",
     "11:37: between.reserve: has to be the part of each link that plans leave to others, from 0 "
     "to below 1, or a percentage, such as 5%"},
    {"between: {preset: central, reserve: [1]}\n",
     "11:37: between.reserve: has to be the part of each link that plans leave to others, from 0 "
     "to below 1, or a percentage, such as 5%"},
    {"between: {preset: central, move_gain: 1}\n",
     "11:39: between.move_gain: has to be a part of a round's time, from 0 to below 1, or a "
     "percentage, such as 10%"},
    {"between: {preset: central}\nsync: {barrier: ssp, staleness: 2}\n",
     "12:17: sync.barrier: 'ssp' does not go with between.preset central, whose rounds have all "
     "workers of all sites in them: write bsp"},
    {"between: {preset: central}\nbudget: {max_gb: 1}\n",
     "12:9: budget: does not go with between.preset central, which sends the same in every round: "
     "leave it out, or take preset gaia"},
    {"between: {preset: central, plan: p.json}\n",
     "11:34: between.plan: has to be {server: SITE, flows: [...]}"},
    {"between: {preset: central, plan: [1]}\n",
     "11:34: between.plan: has to be the path of a plan, or {server: SITE, flows: [...]}"},
    {"between: {preset: central, plan: {server: mid}}\n",
     "11:34: between.plan.flows: has to be a list of {from: SITE, path: [SITE, ...], mbps: "
     "NUMBER}"},
    {"between: {preset: central, no_centre: [mid], plan: {server: mid, flows: []}}\n",
     "11:61: between.plan.server: 'mid' may not be the centre"},
    {"between: {preset: central, plan: {server: mid, flows: []}}\n",
     "11:55: between.plan.flows: no flow is from 'west'"},
    {"between: {preset: central, plan: {server: mid, flows: [{from: mid}]}}\n",
     "11:56: between.plan.flows[0].path: 'mid' is the server itself"},
    {"between: {preset: central, plan: {server: mid, flows: [{from: east, path: [east]}]}}\n",
     "11:75: between.plan.flows[0].path: has to be a list of 2 to 16 sites, from the first to the "
     "server"},
    {"between: {preset: central, plan: {server: mid, flows: [{from: east, path: [north, mid]}]}}\n",
     "11:75: between.plan.flows[0].path: has to lead from 'east' to 'mid'"},
    {"between: {preset: central, plan: {server: east, flows: [{from: west, path: [west, "
     "east]}]}}\n",
     "11:76: between.plan.flows[0].path: there is no link from 'west' to 'east'"},
    {"between: {preset: central, plan: {server: east,\n"
     "          flows: [{from: mid, path: [mid, north, mid, east]}]}}\n",
     "12:37: between.plan.flows[0].path: 'mid' is there twice"},
    {"between: {preset: central, no_relay: [north], plan: {server: east,\n"
     "          flows: [{from: mid, path: [mid, north, east]}]}}\n",
     "12:37: between.plan.flows[0].path: leads through 'north', which may not pass on what is for "
     "others (no_relay)"},
    {"between: {preset: central, plan: {server: east,\n"
     "          flows: [{from: mid, path: [mid, east], mbps: -1}]}}\n",
     "12:56: between.plan.flows[0].mbps: has to be a number of Mbit/s above zero, up to 1e+09"},
    {"between: {preset: central, plan: {server: east,\n"
     "          flows: [{from: mid, path: [mid, east]}, {from: mid, path: [mid, east]}]}}\n",
     "12:69: between.plan.flows[1].path: 'mid' has another flow already"},
};

static void test_what_is_wrong_is_refused_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        struct err_text text = {""};
        struct run_file *f = NULL;
        char yaml[4096], expected[400];

        (void)snprintf(yaml, sizeof(yaml), FILE_OF("%s"), wrongs[i].yaml);
        assert_int_equal(run_file_parse("r.yaml", NULL, yaml, strlen(yaml), &f, &text),
                         ERR_MALFORMED);
        (void)snprintf(expected, sizeof(expected), "r.yaml:%s", wrongs[i].complaint);
        if (strcmp(text.text, expected) != 0) {
            fail_msg("\"%s\", not \"%s\"", text.text, expected);
        }
    }
}

static const struct wrong wrong_places[] = {
    {"between: {centre: a}\n",
     "3:19: between.centre: belongs to 'preset: central': leave it out, or write that"},
    {"links: [{a: a, b: b}]\n", "3:8: links: belong to 'preset: central'"},
    {"between: {preset: central}\nlinks: []\n", "4:8: links: has to be a list of links such as"},
    {"between: {preset: central}\nlinks: [{a: a, b: b, c: 1}]\n",
     "4:25: links[0]: has to be {a: SITE, b: SITE, rate: 100mbit}"},
    {"between: {preset: central}\nlinks: [x]\n", "4:9: links[0].a: has to be the name of a site"},
    {"between: {preset: central}\nlinks: [{a: a}]\n",
     "4:9: links[0].b: has to be the name of a site"},
    {"between: {preset: central}\nlinks: [{a: a, b: d}]\n",
     "4:19: links[0].b: there is no site 'd'"},
    {"between: {preset: central}\nlinks: [{a: a, b: a}]\n",
     "4:19: links[0].b: a link has two ends"},
    {"between: {preset: central}\nlinks: [{a: a, b: b}, {a: b, b: a}]\n",
     "4:33: links[1].b: there is a link between these two already"},
    {"between: {preset: central}\nlinks: [{a: a, b: b, rate: fast}]\n", "4:28: links[0].rate: "},
    {"between: {preset: central}\nlinks: [{a: a, b: b, rate: 0}]\n", "4:28: links[0].rate: "},
    {"between: {preset: central}\nlinks: [{a: a, b: b, rate: 10mbit}]\n",
     "4:8: links: no site can be the centre of all: from 'c' there is no way to 'a'; add links"},
};

static void test_wrong_links_of_servers_are_refused_with_their_place(void **state)
{
    const struct run_sites_reader reader = {.site = "b", .lanes = 1};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong_places) / sizeof(wrong_places[0]); i++) {
        struct err_text text = {""};
        struct run_sites *s = NULL;
        char yaml[1024], expected[400];

        (void)snprintf(yaml, sizeof(yaml), PLACES "%s", wrong_places[i].yaml);
        assert_int_equal(run_sites_parse("s.yaml", yaml, strlen(yaml), &reader, &s, &text),
                         ERR_MALFORMED);
        (void)snprintf(expected, sizeof(expected), "s.yaml:%s", wrong_places[i].complaint);
        if (strncmp(text.text, expected, strlen(expected)) != 0) {
            fail_msg("\"%s\", not \"%s\"", text.text, expected);
        }
    }
}

static void test_spoilt_files_get_an_answer(void **state)
{
    (void)state;
    testing_spoil(FILE_OF("between:\n  preset: central\n  no_centre: [west]\n" PLAN), 7, 24);
}

static void test_no_memory_is_reported(void **state)
{
    static const char yaml[] = FILE_OF("between:\n  preset: central\n" PLAN);
    enum err rc = ERR_NOMEM;

    (void)state;
    for (uint64_t k = 1; rc != OK; k++) {
        struct err_text text = {""};
        struct run_file *f = NULL;

        mem_fail_at(k, 1);
        rc = run_file_parse("r.yaml", NULL, yaml, strlen(yaml), &f, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        run_file_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sites_are_joined_as_the_map_says_at_the_slower_rate),
        cmocka_unit_test(test_who_may_be_the_centre_and_pass_on_is_told),
        cmocka_unit_test(test_a_plan_names_sites_or_regions),
        cmocka_unit_test(test_rates_of_plans_are_those_of_the_map),
        cmocka_unit_test(test_a_plan_may_be_another_file),
        cmocka_unit_test(test_printing_is_reading_backwards),
        cmocka_unit_test(test_servers_of_a_run_are_told_what_simulated_ones_are),
        cmocka_unit_test(test_servers_that_are_told_of_no_links_have_all_of_unknown_rate),
        cmocka_unit_test(test_what_is_wrong_is_refused_with_its_place),
        cmocka_unit_test(test_wrong_links_of_servers_are_refused_with_their_place),
        cmocka_unit_test(test_spoilt_files_get_an_answer),
        cmocka_unit_test(test_no_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
