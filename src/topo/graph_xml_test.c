/* GraphML: what is read, what becomes of several edges, what is refused with which words; and the
 * Internet Topology Zoo, where it is. */

#include "base/mem.h"
#include "base/text.h"
#include "topo/file.h"
#include "topo/graph.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HEAD                                                                                       \
    "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"                                                 \
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
#define KEYS                                                                                       \
    "<key attr.name=\"Latitude\" attr.type=\"double\" for=\"node\" id=\"d1\"/>\n"                  \
    "<key attr.name=\"Longitude\" attr.type=\"double\" for=\"node\" id=\"d2\"/>\n"                 \
    "<key attr.name=\"label\" attr.type=\"string\" for=\"node\" id=\"d3\"/>\n"                     \
    "<key attr.name=\"LinkSpeedRaw\" attr.type=\"double\" for=\"edge\" id=\"d4\"/>\n"              \
    "<key attr.name=\"Country\" attr.type=\"string\" for=\"node\" id=\"d5\"/>\n"
#define GRAPH HEAD KEYS "<graph edgedefault=\"undirected\">\n"
#define DIRECTED HEAD KEYS "<graph edgedefault=\"directed\">\n"
#define AB "<node id=\"a\"/><node id=\"b\"/>\n"
#define FAST(from, to, speed)                                                                      \
    "<edge source=\"" from "\" target=\"" to "\"><data key=\"d4\">" speed "</data></edge>\n"
#define EDGE(from, to) "<edge source=\"" from "\" target=\"" to "\"/>\n"
#define PLACED(id, longitude)                                                                      \
    "<node id=\"" id "\"><data key=\"d1\">0</data><data key=\"d2\">" longitude "</data></node>\n"
#define END "</graph></graphml>\n"

static struct topo_graph *parse(const char *xml)
{
    struct topo_graph *g = NULL;
    struct err_text why = {""};

    if (topo_graph_parse("g.graphml", xml, strlen(xml), &g, &why) != OK) {
        fail_msg("%s", why.text);
    }
    return g;
}

static void test_a_network_is_read(void **state)
{
    struct topo_graph *g =
        parse(HEAD KEYS
              "<key attr.name=\"Network\" for=\"graph\" id=\"d6\"/>\n"
              "<key attr.name=\"label\" for=\"graph\" id=\"d7\"/>\n"
              "<key attr.name=\"Latitude\" attr.type=\"int\" for=\"node\" id=\"d8\"/>\n"
              "<graph edgedefault=\"undirected\"><desc>x</desc><data key=\"d7\">x</data>\n"
              "<data key=\"d6\">Test\n net</data>\n"
              "<node id=\"0\"><data key=\"d1\"> 52.4\n</data><data key=\"d5\">NL</data>"
              "<data key=\"d2\">4.9</data><data key=\"d3\"> Den\n  Haag </data></node>\n"
              "<node id=\"01\"><data key=\"d8\">-5</data><data key=\"d2\">5</data></node>\n"
              "<node id=\"n&amp;\"><data key=\"d1\">4.9</data></node>\n"
              "<edge id=\"e\" source=\"0\" target=\"01\"><data key=\"d4\">1e9</data></edge>\n"
              "<edge source=\"n&amp;\" target=\"0\"><data key=\"d4\">2500000</data></edge>\n" END);

    (void)state;
    assert_string_equal(g->name, "Test net");
    assert_int_equal(g->duplex, TOPO_DUPLEX_SHARED);
    assert_int_equal(g->nodes_count, 3);
    assert_string_equal(g->nodes[0].id, "0");
    assert_string_equal(g->nodes[0].name, "Den Haag");
    assert_true(g->nodes[0].numbered && g->nodes[0].placed);
    assert_true(g->nodes[0].latitude == 52.4 && g->nodes[0].longitude == 4.9);
    assert_true(g->nodes[0].usd_per_hour < 0);
    assert_string_equal(g->nodes[1].name, "01");
    assert_true(!g->nodes[1].numbered && g->nodes[1].placed && g->nodes[1].latitude == -5);
    assert_string_equal(g->nodes[2].id, "n&");
    assert_false(g->nodes[2].placed); /* A latitude alone. */
    assert_int_equal(g->edges_count, 2);
    assert_true(g->edges[0].mbps == 1000 && g->edges[0].rtt_ms < 0 && g->edges[0].usd_per_gb < 0);
    assert_true(g->edges[1].a == 2 && g->edges[1].b == 0 && g->edges[1].mbps == 2.5);
    assert_int_equal(g->notes_count, 0);
    topo_graph_free(g);
}

static void test_order_and_prefixes_do_not_matter(void **state)
{
    struct topo_graph *g =
        parse("\xef\xbb\xbf<g:graphml xmlns:g=\"http://graphml.graphdrawing.org/xmlns\">\n"
              "<!-- no keys --><g:graph>\n<g:edge source=\"b\" target=\"a\"/>\n"
              "<g:node id=\"a\"><g:data key=\"x\"><y:Shape><y:Fill/>1</y:Shape></g:data></g:node>\n"
              "<g:node id=\"b\"><g:port name=\"p\"/></g:node></g:graph></g:graphml>");

    (void)state;
    assert_int_equal(g->edges_count, 1);
    assert_true(g->edges[0].a == 1 && g->edges[0].mbps == 2750);
    assert_string_equal(g->name, "");
    assert_string_equal(g->notes[0], "1 of 1 links has no speed in the file: 2750 Mbit/s each, "
                                     "because no length is known");
    topo_graph_free(g);
}

static void test_edges_without_a_speed_have_it_by_distance(void **state)
{
    struct topo_graph *g = parse(GRAPH PLACED("a", "0") PLACED("b", "1")
                                     PLACED("c", "4") "<node id=\"d\"/>" EDGE("a", "b")
                                         EDGE("b", "c") FAST("a", "c", "7e6") EDGE("c", "d") END);

    (void)state;
    assert_true(g->edges[0].mbps == 5000);
    assert_true(g->edges[1].mbps > 1999.9 && g->edges[1].mbps < 2000.1);
    assert_true(g->edges[2].mbps == 7);
    assert_true(g->edges[3].mbps > 2499.9 && g->edges[3].mbps < 2500.1);
    assert_int_equal(g->notes_count, 2);
    assert_string_equal(g->notes[0], "3 of 4 links have no speed in the file: 5000 Mbit/s for the "
                                     "shortest to 500 for the longest, linear in distance");
    assert_string_equal(g->notes[1], "1 of these has an end without a place: as fast as one of "
                                     "mean length");
    topo_graph_free(g);
}

static void test_edges_of_a_pair_are_added(void **state)
{
    struct topo_graph *g =
        parse(GRAPH AB "<node id=\"c\"/>" FAST("a", "b", "1e6") FAST("b", "a", "2e6") EDGE("b", "a")
                  FAST("c", "a", "4e6") EDGE("c", "c") EDGE("a", "a") FAST("a", "b", "8e6") END);

    (void)state;
    assert_int_equal(g->edges_count, 2);
    assert_true(g->edges[0].mbps == 1 + 2 + 2750 + 8);
    assert_true(g->edges[1].mbps == 4);
    assert_int_equal(g->notes_count, 3);
    assert_string_equal(g->notes[0], "2 edges join a node with itself: left out");
    assert_string_equal(g->notes[1],
                        "1 of 2 links is made of several edges: the sum of their speeds");
    assert_string_equal(g->notes[2], "1 of 2 links has no speed in the file: 2750 Mbit/s each, "
                                     "because no length is known");
    topo_graph_free(g);
}

static void test_directions_of_a_pair_are_one_link(void **state)
{
    struct topo_graph *g =
        parse(DIRECTED AB "<node id=\"c\"/><node id=\"d\"/>" FAST("a", "b", "4e6")
                  FAST("b", "a", "1e6") FAST("b", "a", "2e6")
                      FAST("c", "b", "9e6") "<edge source=\"a\" target=\"d\" "
                                            "directed=\"false\"><data key=\"d4\">5e6</data>"
                                            "</edge>" END);

    (void)state;
    assert_int_equal(g->edges_count, 3);
    assert_true(g->edges[0].mbps == 3 && g->edges[1].mbps == 9 && g->edges[2].mbps == 5);
    assert_int_equal(g->notes_count, 3);
    assert_string_equal(g->notes[0],
                        "1 of 3 links is made of several edges: the sum of their speeds");
    assert_string_equal(g->notes[1], "1 of 3 links has edges for each direction: the slower speed");
    assert_string_equal(g->notes[2],
                        "1 of 3 links has edges for one direction only: taken as both");
    topo_graph_free(g);
    g = parse(GRAPH AB "<edge directed=\"true\" source=\"a\" target=\"b\"/>" END);
    assert_string_equal(g->notes[0],
                        "1 of 1 links has edges for one direction only: taken as both");
    topo_graph_free(g);
}

static void test_keys_may_have_defaults(void **state)
{
    struct topo_graph *g = parse(
        HEAD "<key id=\"a\" for=\"edge\" attr.name=\"LinkSpeedRaw\"><default>3e6</default>\n"
             "</key><key id=\"b\" attr.name=\"Latitude\"><default>7</default></key>\n"
             "<key id=\"c\" for=\"all\" attr.name=\"Longitude\"/>\n"
             "<key id=\"d\" for=\"node\" attr.name=\"LinkSpeedRaw\"><default>9</default>\n"
             "</key><graph edgedefault=\"undirected\">\n"
             "<node id=\"a\"><data key=\"c\">8</data></node><node id=\"b\"/>\n"
             "<node id=\"c\"/>" EDGE(
                 "a", "b") "<edge source=\"b\" target=\"c\"><data key=\"a\">4e6</data></edge>" END);

    (void)state;
    assert_true(g->edges[0].mbps == 3 && g->edges[1].mbps == 4);
    assert_true(g->nodes[0].placed && g->nodes[0].latitude == 7 && g->nodes[0].longitude == 8);
    assert_false(g->nodes[1].placed);
    topo_graph_free(g);
}

static void test_a_label_that_cannot_be_a_name_is_none(void **state)
{
    static const char *const labels[] = {"", " \n ", "a\xc2\x85z", "\xe2\x80\xa8"};
    struct text xml;

    (void)state;
    assert_int_equal(text_init(&xml, 1 << 16), OK);
    for (size_t i = 0; i < COUNT(labels); i++) {
        struct topo_graph *g;

        text_clear(&xml);
        text_addf(&xml, GRAPH "<node id=\"x\"><data key=\"d3\">%s</data></node>", labels[i]);
        text_add(&xml, AB EDGE("a", "x") EDGE("a", "b") END);
        g = parse(xml.chars);
        assert_string_equal(g->nodes[0].name, "x");
        topo_graph_free(g);
    }
    text_deinit(&xml);
}

static void test_a_long_label_is_cut_between_characters(void **state)
{
    struct topo_graph *g;
    struct text xml;

    (void)state;
    assert_int_equal(text_init(&xml, 1 << 16), OK);
    text_add(&xml, GRAPH "<node id=\"x\"><data key=\"d3\">a");
    for (int i = 0; i < 500; i++) {
        text_add(&xml, "\xc3\xbc");
    }
    text_add(&xml, "</data></node>" AB EDGE("a", "x") EDGE("a", "b") END);
    g = parse(xml.chars);
    assert_int_equal(strlen(g->nodes[0].name), 127);
    assert_true(text_is_utf8(g->nodes[0].name));
    topo_graph_free(g);
    text_deinit(&xml);
}

#define LONG_64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct wrong {
    const char *xml;
    const char *complaint;
};

static const struct wrong wrongs[] = {
    {"<", "g.graphml:1:1: not XML: unclosed token"},
    {"<graphml>", "g.graphml:1:10: not XML: no element found"},
    {"<graphml>\n<graph></node>", "g.graphml:2:10: not XML: mismatched tag"},
    {" <?xml version=\"1.0\"?><graphml/>",
     "g.graphml:1:2: not XML: XML or text declaration not at start of entity"},
    {"<graphml a=\"1\" a=\"2\"/>", "g.graphml:1:16: not XML: duplicate attribute"},
    {"<svg/>", "g.graphml:1:1: begins with <svg>: GraphML begins with <graphml>, and anything else "
               "is JSON"},
    {"<graphml/>", "g.graphml:1:1: there is no <graph>"},
    {HEAD "<graph/>\n <graph/></graphml>",
     "g.graphml:4:2: a second <graph>: one file is one network"},
    {HEAD "<graph/></graphml>", "g.graphml:1:1: 0 regions: a network needs at least 2"},
    {HEAD "<graph>" AB "</graph></graphml>",
     "g.graphml:1:1: there is no link between the 2 regions"},
    {HEAD "<graph><node id=\"a\">\n<graph/></node></graph></graphml>",
     "g.graphml:4:1: a graph inside of a node or an edge is not read: put its nodes beside the "
     "others"},
    {HEAD "<graph>" AB "<edge source=\"a\" target=\"b\">\n<graph/></edge></graph></graphml>",
     "g.graphml:5:1: a graph inside of a node or an edge is not read: put its nodes beside the "
     "others"},
    {HEAD "<graph>\n\n <hyperedge/></graph></graphml>",
     "g.graphml:5:2: a hyperedge is not read: write an <edge> for each pair it joins"},

    /* Definitions. */
    {"<!DOCTYPE graphml [<!ENTITY a \"b\">]>\n<graphml/>",
     "g.graphml:1:19: defines entities or the like in its <!DOCTYPE>: leave these out"},
    {"<!DOCTYPE graphml [\n<!ENTITY % a \"b\"> %a;]>\n<graphml/>",
     "g.graphml:1:19: defines entities or the like in its <!DOCTYPE>: leave these out"},
    {"<!DOCTYPE graphml SYSTEM \"http://x/y.dtd\" [<!ATTLIST node id CDATA \"1\">]>\n<graphml/>",
     "g.graphml:1:43: defines entities or the like in its <!DOCTYPE>: leave these out"},
    {"<!DOCTYPE graphml SYSTEM \"/etc/passwd\">\n<graphml>&x;</graphml>",
     "g.graphml:2:10: the entity 'x' is not known: write the characters themselves"},
    {"<graphml>&x;</graphml>", "g.graphml:1:10: not XML: undefined entity"},

    /* Nodes. */
    {GRAPH "<node/>" END,
     "g.graphml:9:1: a node needs an id of 1 to 128 bytes without control characters"},
    {GRAPH "<node id=\"\"/>" END,
     "g.graphml:9:1: a node needs an id of 1 to 128 bytes without control characters"},
    {GRAPH "<node id=\"\xc2\x9b\"/>" END,
     "g.graphml:9:1: a node needs an id of 1 to 128 bytes without control characters"},
    {GRAPH "<node id=\"" LONG_64 LONG_64 "1\"/>" END,
     "g.graphml:9:1: a node needs an id of 1 to 128 bytes without control characters"},
    {GRAPH "<node id=\"a\"/>\n <node id=\"a\"/>" END,
     "g.graphml:10:2: 'a' is the id of the node in line 9 too: each has its own"},
    {GRAPH "<node id=\"a\">\n<data key=\"d1\">NaN</data></node>" END,
     "g.graphml:10:1: node 'a': Latitude: 'NaN' is not a number: write one such as 48.86, or leave "
     "it out"},
    {GRAPH "<node id=\"\xc3\xbc\"><data key=\"d2\">1,5</data></node>" END,
     "g.graphml:9:14: node '\xc3\xbc': Longitude: '1,5' is not a number: write one such as 48.86, "
     "or leave it out"},
    {GRAPH "<node id=\"a\"><data key=\"d2\"/></node>" END,
     "g.graphml:9:14: node 'a': Longitude: '' is not a number: write one such as 48.86, or leave "
     "it out"},
    {GRAPH "<node id=\"a\"><data key=\"d2\">1 2</data></node>" END,
     "g.graphml:9:14: node 'a': Longitude: '1 2' is not a number: write one such as 48.86, or "
     "leave it out"},
    {GRAPH "<node id=\"a\"><data key=\"d2\">0x10</data></node>" END,
     "g.graphml:9:14: node 'a': Longitude: '0x10' is not a number: write one such as 48.86, or "
     "leave it out"},
    {GRAPH "<node id=\"a\"><data key=\"d2\">-inf</data></node>" END,
     "g.graphml:9:14: node 'a': Longitude: '-inf' is not a number: write one such as 48.86, or "
     "leave it out"},
    {GRAPH "<node id=\"a\"><data key=\"d1\">90.5</data></node>" END,
     "g.graphml:9:14: node 'a': Latitude: has to be from -90 to 90"},
    {GRAPH "<node id=\"a\"><data key=\"d2\">1e999</data></node>" END,
     "g.graphml:9:14: node 'a': Longitude: has to be from -180 to 180"},
    {HEAD
     "<key id=\"a\" for=\"node\" attr.name=\"Latitude\">\n<default>x</default></key></graphml>",
     "g.graphml:4:1: default: Latitude: 'x' is not a number: write one such as 48.86, or leave it "
     "out"},
    {HEAD "<key id=\"" LONG_64 "1\" for=\"node\" attr.name=\"Latitude\"/></graphml>",
     "g.graphml:3:1: more than 32 keys of the same names, or one with an id of more than 64 "
     "bytes"},

    /* Edges. */
    {GRAPH AB "<edge source=\"a\"/>" END,
     "g.graphml:10:1: an edge needs source and target, the ids of the nodes it joins"},
    {GRAPH AB "<edge target=\"a\"/>" END,
     "g.graphml:10:1: an edge needs source and target, the ids of the nodes it joins"},
    {GRAPH "<node id=\"paris\"/><node id=\"rome\"/>\n" EDGE("paris", "rom") END,
     "g.graphml:10:1: there is no node 'rom': did you mean 'rome'?"},
    {GRAPH AB EDGE("&#x9b;zz", "b") END,
     "g.graphml:10:1: there is no node '\\xc2\\x9bzz': the nodes are a, b"},
    {GRAPH AB FAST("a", "b", "0") END,
     "g.graphml:10:29: edge 'a' - 'b': LinkSpeedRaw: is 0: has to be above zero, in bit/s; leave "
     "it out if it is not known"},
    {GRAPH AB FAST("a", "b", "-1e6") END,
     "g.graphml:10:29: edge 'a' - 'b': LinkSpeedRaw: is -1e6: has to be above zero, in bit/s; "
     "leave it out if it is not known"},
    {GRAPH AB FAST("a", "b", "1e16") END,
     "g.graphml:10:29: edge 'a' - 'b': LinkSpeedRaw: has to be from 1 to 1e+15"},
    {GRAPH AB FAST("a", "b", "10G") END,
     "g.graphml:10:29: edge 'a' - 'b': LinkSpeedRaw: '10G' is not a number: write one such as "
     "48.86, or leave it out"},

    /* Not connected. */
    {GRAPH AB EDGE("a", "b") "  <node id=\"c\"><data key=\"d3\">Rome</data></node>" END,
     "g.graphml:11:3: not connected: 'c' (Rome) has no link, so it cannot be reached from 'a'; 2 "
     "of the 3 regions hang together with 'a'"},
};

static void test_mistakes_are_named_with_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(wrongs); i++) {
        struct topo_graph *g = NULL;
        struct err_text why = {""};
        size_t size = strlen(wrongs[i].xml);
        enum err rc = topo_graph_parse("g.graphml", wrongs[i].xml, size, &g, &why);

        assert_true(rc == ERR_MALFORMED || rc == ERR_TOO_BIG);
        assert_null(g);
        assert_string_equal(why.text, wrongs[i].complaint);
    }
}

static void too_big(const struct text *xml, const char *complaint)
{
    struct topo_graph *g = NULL;
    struct err_text why = {""};

    assert_false(xml->failed);
    assert_int_equal(topo_graph_parse("g.graphml", xml->chars, xml->size, &g, &why), ERR_TOO_BIG);
    assert_null(g);
    assert_string_equal(why.text, complaint);
}

static void test_limits_are_kept(void **state)
{
    struct text xml;

    (void)state;
    assert_int_equal(text_init(&xml, 8 << 20), OK);
    text_add(&xml, GRAPH);
    for (int i = 0; i <= TOPO_GRAPH_NODES_MAX; i++) {
        text_addf(&xml, "<node id=\"%d\"/>", i);
    }
    text_add(&xml, "\n" END);
    too_big(&xml, "g.graphml:9:68523: more than 4096 nodes");
    text_clear(&xml);
    text_add(&xml, GRAPH);
    for (int i = 0; i < 400; i++) {
        text_addf(&xml, "<node id=\"%d\"/>", i);
    }
    for (int i = 0; i < 400 * 400; i++) {
        if (i / 400 < i % 400) {
            text_addf(&xml, "\n<edge source=\"%d\" target=\"%d\"/>", i / 400, i % 400);
        }
    }
    text_add(&xml, END);
    too_big(&xml, "g.graphml:65546:1: more than 65536 pairs of nodes are joined");
    text_clear(&xml);
    text_add(&xml, GRAPH);
    for (int i = 0; i < 1 << 20; i++) {
        text_add(&xml, "<a>");
    }
    too_big(&xml, "g.graphml:9:187: elements in more than 64 others");
    text_clear(&xml);
    text_add(&xml, GRAPH AB " " FAST("a", "b", "1e15") FAST("a", "b", "1e15") END);
    too_big(&xml, "g.graphml:10:2: the edges of this pair have more than 1e9 Mbit/s together");
    text_deinit(&xml);
}

static void test_a_number_longer_than_its_room_is_none(void **state)
{
    struct topo_graph *g = NULL;
    struct err_text why = {""};
    struct text xml;

    (void)state;
    assert_int_equal(text_init(&xml, 1 << 16), OK);
    text_add(&xml, GRAPH "<node id=\"a\"><data key=\"d1\">1");
    for (int i = 0; i < 1000; i++) {
        text_add(&xml, " ");
    }
    text_add(&xml, "2</data></node>" END);
    assert_int_equal(topo_graph_parse("g.graphml", xml.chars, xml.size, &g, &why), ERR_MALFORMED);
    assert_string_equal(why.text, "g.graphml:9:14: node 'a': Latitude: '1' is not a number: write "
                                  "one such as 48.86, or leave it out");
    text_deinit(&xml);
}

static void test_running_out_of_memory_is_said(void **state)
{
    static const char xml[] = GRAPH AB EDGE("a", "b") END;
    enum err rc = ERR_NOMEM;

    (void)state;
    for (uint64_t k = 1; rc != OK; k++) {
        struct topo_graph *g = NULL;
        struct err_text why = {""};
        int64_t before = mem_bytes_held();

        mem_fail_at(k, 1);
        rc = topo_graph_parse("g.graphml", xml, strlen(xml), &g, &why);
        mem_fail_at(0, 0);
        assert_true(rc == (g == NULL ? ERR_NOMEM : OK));
        assert_string_equal(why.text, rc == OK ? "" : "g.graphml: out of memory");
        topo_graph_free(g);
        assert_int_equal(mem_bytes_held(), before);
        assert_true(k < 20);
    }
}

/* The Zoo. */

struct zoo {
    uint32_t read;
    uint32_t refused;
};

static void zoo_file(const char *path, struct zoo *z)
{
    struct topo_graph *g = NULL;
    struct err_text why = {""};
    struct text bytes = {0};
    enum err rc = topo_file_read(path, TOPO_GRAPH_FILE_BYTES_MAX, &bytes, &why);

    if (rc != OK) {
        fail_msg("%s", why.text);
    }
    rc = topo_graph_parse("zoo", bytes.chars, bytes.size, &g, &why);
    if (rc == OK) {
        z->read++;
        assert_true(g->nodes_count >= 2 && g->name[0] != '\0');
    } else if (rc != ERR_MALFORMED || strstr(why.text, ": not connected: ") == NULL) {
        fail_msg("%s: %s", path, why.text);
    } else {
        z->refused++;
    }
    topo_graph_free(g);
    text_deinit(&bytes);
}

/* All files of a folder; false if there is none. */
static bool zoo_folder(const char *folder, struct zoo *z)
{
    char pattern[600];
    glob_t found;
    bool any;

    (void)snprintf(pattern, sizeof(pattern), "%s/*.graphml", folder);
    any = glob(pattern, 0, NULL, &found) == 0;
    for (size_t i = 0; any && i < found.gl_pathc; i++) {
        zoo_file(found.gl_pathv[i], z);
    }
    globfree(&found);
    return any;
}

/* With the folder whose topologies/ has the Zoo's archive: 276 networks, of which 23 fall apart. */
static void test_the_zoo_is_read(void **state)
{
    char folder[] = "/tmp/strait_zoo_XXXXXX", path[512], command[1400];
    const char *data = getenv("STRAIT_DATA");
    struct zoo z = {0};

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/topologies/topology_zoo_graphml.tar.gz",
                   data == NULL ? "" : data);
    if (data == NULL || access(path, R_OK) != 0) {
        print_message("STRAIT_DATA does not name a folder with topologies/topology_zoo_graphml."
                      "tar.gz\n");
        skip();
    }
    assert_non_null(mkdtemp(folder));
    (void)snprintf(command, sizeof(command), "tar -xzf '%s' -C %s", path, folder);
    assert_int_equal(system(command), 0);
    (void)snprintf(path, sizeof(path), "%s/graphml", folder);
    assert_true(zoo_folder(path, &z));
    (void)snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    print_message("%u networks were read, %u fall apart\n", z.read, z.refused);
    assert_int_equal(z.read, 253);
    assert_int_equal(z.refused, 23);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_network_is_read),
        cmocka_unit_test(test_order_and_prefixes_do_not_matter),
        cmocka_unit_test(test_edges_without_a_speed_have_it_by_distance),
        cmocka_unit_test(test_edges_of_a_pair_are_added),
        cmocka_unit_test(test_directions_of_a_pair_are_one_link),
        cmocka_unit_test(test_keys_may_have_defaults),
        cmocka_unit_test(test_a_label_that_cannot_be_a_name_is_none),
        cmocka_unit_test(test_a_long_label_is_cut_between_characters),
        cmocka_unit_test(test_mistakes_are_named_with_their_place),
        cmocka_unit_test(test_limits_are_kept),
        cmocka_unit_test(test_a_number_longer_than_its_room_is_none),
        cmocka_unit_test(test_running_out_of_memory_is_said),
        cmocka_unit_test(test_the_zoo_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
