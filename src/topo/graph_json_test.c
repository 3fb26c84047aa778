/* Planner's JSON: what is read, what is assumed and said, and what is refused with which words. */

#include "base/mem.h"
#include "base/text.h"
#include "topo/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct topo_graph *parse(const char *json)
{
    struct topo_graph *g = NULL;
    struct err_text why = {""};

    if (topo_graph_parse("g.json", json, strlen(json), &g, &why) != OK) {
        fail_msg("%s", why.text);
    }
    return g;
}

static void test_a_network_is_read(void **state)
{
    struct topo_graph *g = parse(
        "{\"schema\": 1, \"name\": \"three\", \"duplex\": \"full\", \"source\": [\"a\", \"b\"],\n"
        "\"regions\": [{\"id\": \"ams\", \"name\": \"Amsterdam\", \"lat\": 52.4, \"lon\": 4.9,\n"
        " \"usd_per_hour\": 0.5}, {\"id\": 7}, \"s\xc3\xa3o paulo\"],\n"
        "\"links\": [{\"a\": 7, \"b\": \"ams\", \"mbps\": 100, \"rtt_ms\": 2.5,\n"
        " \"usd_per_gb\": 0.02}, {\"a\": \"s\xc3\xa3o paulo\", \"b\": \"7\", \"mbps\": 1e9}]}");
    uint32_t node = 0, edge = 0;

    (void)state;
    assert_string_equal(g->name, "three");
    assert_int_equal(g->duplex, TOPO_DUPLEX_FULL);
    assert_int_equal(g->nodes_count, 3);
    assert_string_equal(g->nodes[0].name, "Amsterdam");
    assert_true(g->nodes[0].placed && g->nodes[0].latitude == 52.4);
    assert_true(g->nodes[0].longitude == 4.9 && g->nodes[0].usd_per_hour == 0.5);
    assert_false(g->nodes[0].numbered);
    assert_string_equal(g->nodes[1].id, "7");
    assert_string_equal(g->nodes[1].name, "7");
    assert_true(g->nodes[1].numbered && !g->nodes[1].placed && g->nodes[1].usd_per_hour < 0);
    assert_true(topo_graph_find(g, "s\xc3\xa3o paulo", &node));
    assert_int_equal(node, 2);
    assert_int_equal(g->edges_count, 2);
    assert_true(topo_graph_edge(g, 0, 1, &edge));
    assert_true(g->edges[edge].mbps == 100 && g->edges[edge].rtt_ms == 2.5);
    assert_true(g->edges[edge].usd_per_gb == 0.02 && g->edges[edge].km < 0);
    assert_true(g->edges[1].rtt_ms < 0 && g->edges[1].usd_per_gb < 0);
    assert_int_equal(g->notes_count, 0);
    topo_graph_free(g);
}

static void test_directions_share_unless_the_file_says_otherwise(void **state)
{
    struct topo_graph *g = parse("\xef\xbb\xbf {\"regions\": [1, 2], \"source\": \"here\",\n"
                                 "\"links\": [{\"a\": 1, \"b\": 2, \"mbps\": 1}]}");

    (void)state;
    assert_int_equal(g->duplex, TOPO_DUPLEX_SHARED);
    assert_string_equal(g->name, "");
    topo_graph_free(g);
    g = parse("{\"regions\": [1, 2], \"links\": [{\"a\": 1, \"b\": 2, \"mbps\": 1}],\n"
              "\"duplex\": \"shared\"}");
    assert_int_equal(g->duplex, TOPO_DUPLEX_SHARED);
    topo_graph_free(g);
}

#define PLACES                                                                                     \
    "{\"regions\": [{\"id\": \"a\", \"lat\": 0, \"lon\": 0}, {\"id\": \"b\", \"lat\": 0, "         \
    "\"lon\": 1},\n{\"id\": \"c\", \"lat\": 0, \"lon\": 4}, \"d\"],\n"

static void test_links_without_a_rate_have_it_by_distance(void **state)
{
    struct topo_graph *g =
        parse(PLACES "\"links\": [{\"a\": \"a\", \"b\": \"b\"}, {\"a\": \"b\", \"b\": \"c\"},\n"
                     "{\"a\": \"a\", \"b\": \"c\"}, {\"a\": \"c\", \"b\": \"d\"}]}");

    (void)state;
    assert_true(g->edges[0].mbps == 5000);
    assert_true(g->edges[1].mbps > 1999.9 && g->edges[1].mbps < 2000.1);
    assert_true(g->edges[2].mbps == 500);
    assert_true(g->edges[3].mbps > 2499.9 && g->edges[3].mbps < 2500.1);
    assert_int_equal(g->notes_count, 2);
    assert_string_equal(g->notes[0], "4 of 4 links have no speed in the file: 5000 Mbit/s for the "
                                     "shortest to 500 for the longest, linear in distance");
    assert_string_equal(g->notes[1], "1 of these has an end without a place: as fast as one of "
                                     "mean length");
    topo_graph_free(g);
}

static void test_lengths_of_all_links_set_the_rates_of_some(void **state)
{
    struct topo_graph *g =
        parse(PLACES "\"links\": [{\"a\": \"a\", \"b\": \"b\", \"mbps\": 7}, {\"a\": \"b\",\n"
                     "\"b\": \"c\"}, {\"a\": \"a\", \"b\": \"c\", \"mbps\": 8},\n"
                     "{\"a\": \"c\", \"b\": \"d\", \"mbps\": 9}]}");

    (void)state;
    assert_true(g->edges[0].mbps == 7 && g->edges[2].mbps == 8 && g->edges[3].mbps == 9);
    assert_true(g->edges[1].mbps > 1999.9 && g->edges[1].mbps < 2000.1);
    assert_int_equal(g->notes_count, 1);
    assert_string_equal(g->notes[0], "1 of 4 links has no speed in the file: 5000 Mbit/s for the "
                                     "shortest to 500 for the longest, linear in distance");
    topo_graph_free(g);
}

static void test_rates_are_alike_where_lengths_say_nothing(void **state)
{
    struct topo_graph *g = parse("{\"regions\": [1, 2], \"links\": [{\"a\": 1, \"b\": 2}]}");

    (void)state;
    assert_true(g->edges[0].mbps == 2750);
    assert_int_equal(g->notes_count, 1);
    assert_string_equal(g->notes[0], "1 of 1 links has no speed in the file: 2750 Mbit/s each, "
                                     "because no length is known");
    topo_graph_free(g);
    g = parse(PLACES "\"links\": [{\"a\": \"a\", \"b\": \"b\"}, {\"a\": \"b\", \"b\": \"d\"},\n"
                     "{\"a\": \"d\", \"b\": \"c\"}]}");
    assert_true(g->edges[0].mbps == 2750 && g->edges[2].mbps == 2750);
    assert_string_equal(g->notes[0], "3 of 3 links have no speed in the file: 2750 Mbit/s each, "
                                     "because all are of one length");
    topo_graph_free(g);
}

static void test_a_topology_is_read_too(void **state)
{
    struct topo_graph *g =
        parse("{\"strait_topology\": 1, \"name\": \"map\", \"duplex\": \"shared\",\n"
              "\"regions\": [{\"name\": \"eu\", \"usd_per_hour\": {\"cpu\": 2, \"gpu\": 3}}, "
              "\"us\"],\n\"links\": [{\"between\": [\"eu\", \"us\"], \"rate\": \"8mbit\", "
              "\"rtt\": \"3ms\"}]}");

    (void)state;
    assert_string_equal(g->name, "map");
    assert_int_equal(g->duplex, TOPO_DUPLEX_SHARED);
    assert_true(g->nodes[0].usd_per_hour == 2 && g->nodes[1].usd_per_hour < 0);
    assert_true(g->edges[0].mbps == 8 && g->edges[0].rtt_ms == 3);
    topo_graph_free(g);
}

#define TWO "{\"regions\": [\"paris\", {\"id\": 2, \"name\": \"Rome\"}],\n"
#define JOINED "\"links\": [{\"a\": \"paris\", \"b\": 2, \"mbps\": 1}]}"
#define LINK TWO "\"links\": [{\"a\": \"paris\", \"b\": 2,\n"
#define LONG_64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NOT_AN_ID                                                                                  \
    "is not an id: write a text of 1 to 128 bytes without control characters, or a whole number"

struct wrong {
    const char *json;
    const char *complaint;
};

static const struct wrong wrongs[] = {
    {"", "g.json:1:1: not JSON: '[' or '{' expected near end of file"},
    {"\"a\"", "g.json:1:3: not JSON: '[' or '{' expected near '\"a\"'"},
    {"{\"regions\": [1,\n 2], \"regions\": []}",
     "g.json:2:14: not JSON: duplicate object key near '\"regions\"'"},
    {"[]", "g.json:1:1: is a list, but has to be an object {...}"},
    {"{}", "g.json:1:1: there are no regions: \"regions\" needs at least 2"},
    {"{\"region\": []}", "g.json:1:2: region: no such key: did you mean 'regions'?"},
    {"{\"edges\": []}", "g.json:1:2: edges: no such key: there are schema, name, duplex, source, "
                        "regions, links"},
    {"{\"schema\": 2}", "g.json:1:2: schema: this program reads version 1 of such files only"},
    {"{\"schema\": \"1\"}", "g.json:1:2: schema: this program reads version 1 of such files only"},
    {"{\"name\": 1}", "g.json:1:2: name: is a number: write a text in quotes"},
    {"{\"name\": \"a\\nb\"}",
     "g.json:1:2: name: has to be a text of up to 128 bytes without control characters"},
    {"{\"name\": \"" LONG_64 LONG_64 "1\"}",
     "g.json:1:2: name: has to be a text of up to 128 bytes without control characters"},
    {"{\n\"duplex\": \"half\"}",
     "g.json:2:1: duplex: has to be \"shared\" (both directions of a link share its rate) or "
     "\"full\" (each has it)"},
    {"{\"duplex\": 1}",
     "g.json:1:2: duplex: has to be \"shared\" (both directions of a link share its rate) or "
     "\"full\" (each has it)"},
    {"{\"source\": 1}", "g.json:1:2: source: write a text or a list of texts"},
    {"{\"source\": [\"a\", 1]}", "g.json:1:2: source: write a text or a list of texts"},
    {"{\"regions\": {}}", "g.json:1:2: regions: is an object, but has to be a list [...]"},
    {"{\"regions\": []}", "g.json:1:2: regions: has no entry: at least 2 are needed"},
    {"{\"regions\": [1]}", "g.json:1:2: regions: has one entry: at least 2 are needed"},
    {"{\"regions\": [1, 2]}", "g.json:1:1: there are no links: \"links\" needs at least 1"},
    {TWO "\"links\": []}", "g.json:2:1: links: has no entry: at least 1 is needed"},
    {TWO "\"links\": \"x\"}", "g.json:2:1: links: is a text, but has to be a list [...]"},

    /* Regions. */
    {"{\"regions\": [1, null],\n\"links\": [1]}", "g.json:1:17: regions[1]: " NOT_AN_ID},
    {"{\"regions\": [1, 2.5],\n\"links\": [1]}", "g.json:1:17: regions[1]: " NOT_AN_ID},
    {"{\"regions\": [1, \"\"],\n\"links\": [1]}", "g.json:1:17: regions[1]: " NOT_AN_ID},
    {"{\"regions\": [1, \"a\\u0000\"],\n\"links\": [1]}", "g.json:1:17: regions[1]: " NOT_AN_ID},
    {"{\"regions\": [1, {\"id\": \"a\\tb\"}],\n\"links\": [1]}",
     "g.json:1:18: regions[1].id: " NOT_AN_ID},
    {"{\"regions\": [1, {\"id\": [1]}],\n\"links\": [1]}",
     "g.json:1:18: regions[1].id: " NOT_AN_ID},
    {"{\"regions\": [1, {\"id\": \"" LONG_64 LONG_64 "1\"}],\n\"links\": [1]}",
     "g.json:1:18: regions[1].id: " NOT_AN_ID},
    {"{\"regions\": [1, {\"name\": \"a\"}],\n\"links\": [1]}",
     "g.json:1:17: regions[1]: needs an \"id\""},
    {"{\"regions\": [{\"id\": 1, \"nam\": \"a\"}, 2],\n\"links\": [1]}",
     "g.json:1:24: regions[0].nam: no such key: did you mean 'name'?"},
    {"{\"regions\": [{\"id\": 1, \"latitude\": 1}, 2],\n\"links\": [1]}",
     "g.json:1:24: regions[0].latitude: no such key: there are id, name, lat, lon, usd_per_hour"},
    {"{\"regions\": [{\"id\": 1, \"name\": 5}, 2],\n\"links\": [1]}",
     "g.json:1:24: regions[0].name: is a number: write a text in quotes"},
    {"{\"regions\": [\"a\", {\"id\": \"a\"}],\n\"links\": [1]}",
     "g.json:1:20: regions[1].id: 'a' is the id of regions[0] too: each has its own"},
    {"{\"regions\": [1, \"1\"],\n\"links\": [1]}",
     "g.json:1:17: regions[1]: '1' is the id of regions[0] too: each has its own, and a number is "
     "the same as its text"},
    {"{\"regions\": [{\"id\": 1, \"lat\": 1}, 2],\n\"links\": [1]}",
     "g.json:1:24: regions[0].lat: a place needs both lat and lon"},
    {"{\"regions\": [{\"id\": 1, \"lon\": 1}, 2],\n\"links\": [1]}",
     "g.json:1:24: regions[0].lon: a place needs both lat and lon"},
    {"{\"regions\": [{\"id\": 1, \"lat\": 91, \"lon\": 1}, 2],\n\"links\": [1]}",
     "g.json:1:24: regions[0].lat: has to be from -90 to 90"},
    {"{\"regions\": [{\"id\": 1, \"lat\": 9,\n\"lon\": -181}, 2],\n\"links\": [1]}",
     "g.json:2:1: regions[0].lon: has to be from -180 to 180"},
    {"{\"regions\": [{\"id\": 1, \"lat\": \"9\", \"lon\": 1}, 2],\n\"links\": [1]}",
     "g.json:1:24: regions[0].lat: is a text: write a number, without quotes"},
    {"{\"regions\": [{\"id\": 1, \"usd_per_hour\": -1}, 2],\n\"links\": [1]}",
     "g.json:1:24: regions[0].usd_per_hour: has to be from 0 to 1000000"},
    {"{\"regions\": [{\"id\": 1, \"usd_per_hour\": 1000001}, 2],\n\"links\": [1]}",
     "g.json:1:24: regions[0].usd_per_hour: has to be from 0 to 1000000"},
    {"{\"regions\": [{\"id\": 1, \"usd_per_hour\": {\"cpu\": 1}}, 2],\n\"links\": [1]}",
     "g.json:1:24: regions[0].usd_per_hour: is an object: write a number, without quotes"},

    /* Links. */
    {TWO "\"links\": [1]}", "g.json:2:11: links[0]: is a number, but has to be an object {...}"},
    {TWO "\"links\": [{\"a\": 2}]}",
     "g.json:2:11: links[0]: needs \"a\" and \"b\", the ids of the regions it joins"},
    {TWO "\"links\": [{\"b\": 2}]}",
     "g.json:2:11: links[0]: needs \"a\" and \"b\", the ids of the regions it joins"},
    {TWO "\"links\": [{\"a\": \"pari\", \"b\": 2}]}",
     "g.json:2:12: links[0].a: there is no region 'pari': did you mean 'paris'?"},
    {TWO "\"links\": [{\"a\": \"paris\", \"b\": 3}]}",
     "g.json:2:26: links[0].b: there is no region '3': the regions are paris, 2"},
    {TWO "\"links\": [{\"a\": \"paris\", \"b\": \"Rome\"}]}",
     "g.json:2:26: links[0].b: 'Rome' is the name of the region '2': write its id"},
    {TWO "\"links\": [{\"a\": \"paris\", \"b\": true}]}", "g.json:2:26: links[0].b: " NOT_AN_ID},
    {TWO "\"links\": [{\"a\": \"2\", \"b\": 2}]}",
     "g.json:2:11: links[0]: joins the region '2' with itself: a link joins two"},
    {TWO "\"links\": [{\"a\": 2, \"b\": \"paris\"},\n {\"a\": \"paris\", \"b\": 2}]}",
     "g.json:3:2: links[1]: joins 'paris' and '2', as links[0] in line 2, column 11 does: one link "
     "joins a pair, both ways"},
    {LINK "\"mbits\": 1}]}", "g.json:3:1: links[0].mbits: no such key: did you mean 'mbps'?"},
    {LINK "\"speed\": 1}]}",
     "g.json:3:1: links[0].speed: no such key: there are a, b, mbps, rtt_ms, usd_per_gb"},
    {LINK "\"mbps\": 0}]}",
     "g.json:3:1: links[0].mbps: has to be above zero, and at most 1000000000"},
    {LINK "\"mbps\": -5}]}",
     "g.json:3:1: links[0].mbps: has to be above zero, and at most 1000000000"},
    {LINK "\"mbps\": 1e-7}]}", "g.json:3:1: links[0].mbps: has to be from 1e-06 to 1000000000"},
    {LINK "\"mbps\": 1e10}]}", "g.json:3:1: links[0].mbps: has to be from 1e-06 to 1000000000"},
    {LINK "\"mbps\": \"100\"}]}",
     "g.json:3:1: links[0].mbps: is a text: write a number, without quotes"},
    {LINK "\"mbps\": null}]}",
     "g.json:3:1: links[0].mbps: is nothing: write a number, without quotes"},
    {LINK "\"mbps\": NaN}]}", "g.json:3:11: not JSON: invalid token near 'NaN': write a finite "
                              "number, or leave the key out"},
    {LINK "\"mbps\": Infinity}]}",
     "g.json:3:16: not JSON: invalid token near 'Infinity': write a finite number, or leave the "
     "key out"},
    {LINK "\"mbps\": -Infinity}]}",
     "g.json:3:9: not JSON: invalid token near '-': write a finite number, or leave the key out"},
    {LINK "\"mbps\": 1e999}]}", "g.json:3:13: not JSON: real number overflow near '1e999'"},
    {LINK "\"mbps\": 99999999999999999999}]}",
     "g.json:3:28: not JSON: too big integer near '99999999999999999999'"},
    {LINK "\"rtt_ms\": -1}]}", "g.json:3:1: links[0].rtt_ms: has to be from 0 to 120000"},
    {LINK "\"usd_per_gb\": 1001}]}", "g.json:3:1: links[0].usd_per_gb: has to be from 0 to 1000"},

    /* Not connected. */
    {"{\"regions\": [1, 2,\n 3], \"links\": [{\"a\": 1, \"b\": 2}]}",
     "g.json:2:2: regions[2]: not connected: '3' has no link, so it cannot be reached from '1'; 2 "
     "of the 3 regions hang together with '1'"},
    {"{\"regions\": [1, 2, 3, {\"id\": 4, \"name\": \"Lima\"}, 5],\n"
     "\"links\": [{\"a\": 1, \"b\": 2}, {\"a\": 3, \"b\": 4}, {\"a\": 4, \"b\": 5}]}",
     "g.json:1:14: regions[0]: not connected: '1' cannot be reached from '3'; of the 5 regions 3 "
     "hang together with '3', 2 with '1'"},
    {"{\"regions\": [1, 2, 3, {\"id\": 4, \"name\": \"Lima\"}, 5, 6],\n"
     "\"links\": [{\"a\": 1, \"b\": 2}, {\"a\": 5, \"b\": 4}, {\"a\": 1, \"b\": 3}]}",
     "g.json:1:23: regions[3]: not connected: '4' (Lima) cannot be reached from '1'; of the 6 "
     "regions 3 hang together with '1', 2 with '4' (Lima), 1 with neither"},

    /* Topologies. */
    {"{\"strait_topology\": 2}",
     "g.json:1:2: strait_topology: this program reads version 1 of topologies only"},
    {"{\"strait_topology\": 1, \"regions\": [\"eu\"]}",
     "g.json:1:1: 1 region: a network needs at least 2"},
    {"{\"strait_topology\": 1, \"regions\": [\"eu\", \"us\"]}",
     "g.json:1:1: there is no link between the 2 regions"},
    {"{\"strait_topology\": 1, \"regions\": [\"eu\", \"us\",\n\"asia\"], \"links\": [{\"between\": "
     "[\"eu\", \"us\"],\n\"rate\": \"1mbit\", \"rtt\": \"1ms\"}]}",
     "g.json:2:1: regions[2]: not connected: 'asia' has no link, so it cannot be reached from "
     "'eu'; "
     "2 of the 3 regions hang together with 'eu'"},
};

static void test_mistakes_are_named_with_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(wrongs); i++) {
        struct topo_graph *g = NULL;
        struct err_text why = {""};
        size_t size = strlen(wrongs[i].json);

        assert_int_equal(topo_graph_parse("g.json", wrongs[i].json, size, &g, &why), ERR_MALFORMED);
        assert_null(g);
        assert_string_equal(why.text, wrongs[i].complaint);
    }
}

static void too_big(const char *json, size_t size, const char *complaint)
{
    struct topo_graph *g = NULL;
    struct err_text why = {""};

    assert_int_equal(topo_graph_parse("g.json", json, size, &g, &why), ERR_TOO_BIG);
    assert_null(g);
    assert_string_equal(why.text, complaint);
}

static void test_limits_are_kept(void **state)
{
    struct text json;
    char *large = calloc(1, TOPO_GRAPH_FILE_BYTES_MAX + 1);

    (void)state;
    assert_non_null(large);
    too_big(large, TOPO_GRAPH_FILE_BYTES_MAX + 1, "g.json: larger than 16777216 bytes");
    free(large);
    assert_int_equal(text_init(&json, 1 << 20), OK);
    text_add(&json, "{\"regions\": [0");
    for (int i = 1; i <= TOPO_GRAPH_NODES_MAX; i++) {
        text_addf(&json, ", %d", i);
    }
    text_add(&json, "]}");
    too_big(json.chars, json.size,
            "g.json:1:2: regions: has 4097 entries: at most 4096 are allowed");
    text_clear(&json);
    text_add(&json, TWO "\"links\": [0");
    for (int i = 1; i <= TOPO_GRAPH_LINKS_MAX; i++) {
        text_add(&json, ", 0");
    }
    text_add(&json, "]}");
    too_big(json.chars, json.size,
            "g.json:2:1: links: has 65537 entries: at most 65536 are allowed");
    text_deinit(&json);
}

static void test_as_many_regions_as_there_may_be_are_read(void **state)
{
    struct topo_graph *g;
    struct text json;

    (void)state;
    assert_int_equal(text_init(&json, 1 << 20), OK);
    text_add(&json, "{\"regions\": [0");
    for (int i = 1; i < TOPO_GRAPH_NODES_MAX; i++) {
        text_addf(&json, ", %d", i);
    }
    text_add(&json, "], \"links\": [{\"a\": 0, \"b\": 1}");
    for (int i = 2; i < TOPO_GRAPH_NODES_MAX; i++) {
        text_addf(&json, ", {\"a\": %d, \"b\": %d}", i, i / 2);
    }
    text_add(&json, "]}");
    g = parse(json.chars);
    assert_int_equal(g->nodes_count, TOPO_GRAPH_NODES_MAX);
    assert_int_equal(g->edges_count, TOPO_GRAPH_NODES_MAX - 1);
    topo_graph_free(g);
    text_deinit(&json);
}

static void test_nesting_without_end_is_refused(void **state)
{
    enum { DEEP = 1 << 20 };
    struct topo_graph *g = NULL;
    struct err_text why = {""};
    char *deep = malloc(DEEP);

    (void)state;
    assert_non_null(deep);
    memset(deep, '[', DEEP);
    assert_int_equal(topo_graph_parse("g.json", deep, DEEP, &g, &why), ERR_MALFORMED);
    assert_non_null(strstr(why.text, "not JSON: maximum parsing depth reached"));
    free(deep);
}

static void test_long_texts_do_not_hide_the_complaint(void **state)
{
    struct topo_graph *g = NULL;
    struct err_text why = {""};
    static const char json[] = "{\"regions\": [\"" LONG_64 LONG_64 "\", \"x\"],\n\"links\": "
                               "[{\"a\": \"x\", \"b\": \"x" LONG_64 "\"}]}";

    (void)state;
    assert_int_equal(topo_graph_parse("g.json", json, strlen(json), &g, &why), ERR_MALFORMED);
    assert_string_equal(why.text, "g.json:2:22: links[0].b: there is no region 'x" LONG_64
                                  "': the regions are " LONG_64 LONG_64 ", x");
}

static void test_running_out_of_memory_is_said(void **state)
{
    static const char *const files[] = {
        TWO JOINED, "{\"strait_topology\": 1, \"name\": \"x\", \"source\": \"y\", \"regions\": "
                    "[\"eu\", \"us\"], \"default_link\": {\"rate\": \"1mbit\", \"rtt\": \"1ms\"}}"};

    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        enum err rc = ERR_NOMEM;

        for (uint64_t k = 1; rc != OK; k++) {
            struct topo_graph *g = NULL;
            struct err_text why = {""};
            int64_t before = mem_bytes_held();

            mem_fail_at(k, 1);
            rc = topo_graph_parse("g.json", files[i], strlen(files[i]), &g, &why);
            mem_fail_at(0, 0);
            assert_true(rc == (g == NULL ? ERR_NOMEM : OK));
            assert_string_equal(why.text, rc == OK ? "" : "g.json: out of memory");
            topo_graph_free(g);
            assert_int_equal(mem_bytes_held(), before);
            assert_true(k < 20);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_network_is_read),
        cmocka_unit_test(test_directions_share_unless_the_file_says_otherwise),
        cmocka_unit_test(test_links_without_a_rate_have_it_by_distance),
        cmocka_unit_test(test_lengths_of_all_links_set_the_rates_of_some),
        cmocka_unit_test(test_rates_are_alike_where_lengths_say_nothing),
        cmocka_unit_test(test_a_topology_is_read_too),
        cmocka_unit_test(test_mistakes_are_named_with_their_place),
        cmocka_unit_test(test_limits_are_kept),
        cmocka_unit_test(test_as_many_regions_as_there_may_be_are_read),
        cmocka_unit_test(test_nesting_without_end_is_refused),
        cmocka_unit_test(test_long_texts_do_not_hide_the_complaint),
        cmocka_unit_test(test_running_out_of_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
