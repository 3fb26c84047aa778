/* Topology files: what is read, what is refused with which words, and that printing is reading
 * backwards. */

#include "topo/file.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HEAD "{\"strait_topology\": 1,\n"
#define TWO HEAD "\"regions\": [\"eu\", \"us\"],\n"

static struct topo *parse(const char *json)
{
    struct topo *t = NULL;
    struct err_text why = {""};

    if (topo_file_parse("t.json", json, strlen(json), &t, &why) != OK) {
        fail_msg("%s", why.text);
    }
    return t;
}

static void test_a_file_is_read(void **state)
{
    struct topo *t =
        parse(HEAD "\"name\": \"a map\", \"source\": [\"here\", \"there\"],\n"
                   "\"lan\": {\"rate\": \"10gbit\", \"delay\": \"100us\"},\n"
                   "\"regions\": [\"eu\", {\"name\": \"us\", \"latitude\": 38.5,\n"
                   "              \"longitude\": -78}, {\"name\": \"asia\"}],\n"
                   "\"links\": [{\"between\": [\"eu\", \"us\"], \"rate\": \"100mbit\",\n"
                   "             \"rtt\": \"81ms\", \"jitter\": \"2ms\", \"loss\": \"0.1%\",\n"
                   "             \"stream\": \"8mbit\", \"price\": 0.02},\n"
                   "            {\"from\": \"us\", \"to\": \"asia\", \"rate\": \"1MB/s\",\n"
                   "             \"delay\": \"90ms\", \"price\": 1}],\n"
                   "\"default_link\": {\"rate\": \"8kbit\", \"delay\": \"1s\"}}");
    const struct topo_link *l = topo_link_between(t, 0, 1);

    (void)state;
    assert_string_equal(topo_name(t), "a map");
    assert_string_equal(topo_source(t), "here\nthere");
    assert_int_equal(topo_regions(t), 3);
    assert_false(topo_region_at(t, 0)->placed);
    assert_true(topo_region_at(t, 1)->placed);
    assert_true(topo_region_at(t, 1)->latitude == 38.5);
    assert_true(topo_region_at(t, 1)->longitude == -78);
    assert_int_equal(l->bytes_per_s, 12500000);
    assert_int_equal(l->delay_ns, 40500000);
    assert_int_equal(l->jitter_ns, 2000000);
    assert_int_equal(l->loss_ppm, 1000);
    assert_int_equal(l->stream_bytes_per_s, 1000000);
    assert_int_equal(l->price_nusd_per_gb, 20000000);
    assert_true(topo_link_equal(l, topo_link_between(t, 1, 0)));
    assert_int_equal(topo_link_between(t, 1, 2)->price_nusd_per_gb, 1000000000);
    assert_true(l->priced);
    assert_false(topo_default(t)->priced);
    assert_int_equal(topo_link_between(t, 2, 1)->bytes_per_s, 1000);
    assert_int_equal(topo_lan(t)->bytes_per_s, 1250000000);
    assert_int_equal(topo_lan(t)->delay_ns, 100000);
    topo_destroy(t);
}

static void test_directions_are_apart_unless_the_file_says_otherwise(void **state)
{
    struct topo *t = parse(TWO "\"links\": []}");

    (void)state;
    assert_int_equal(topo_duplex(t), TOPO_DUPLEX_FULL);
    topo_destroy(t);
    t = parse(TWO "\"duplex\": \"full\"}");
    assert_int_equal(topo_duplex(t), TOPO_DUPLEX_FULL);
    topo_destroy(t);
    t = parse(TWO "\"duplex\": \"shared\"}");
    assert_int_equal(topo_duplex(t), TOPO_DUPLEX_SHARED);
    topo_destroy(t);
}

static void test_prices_are_read_if_they_are_there(void **state)
{
    struct topo *t = parse(
        HEAD
        "\"regions\": [\"eu\", {\"name\": \"us\", \"usd_per_hour\": 0.796},\n"
        "  {\"name\": \"asia\", \"usd_per_hour\": {\"gpu\": 1000000, \"small\": 0.000000001,\n"
        "                                         \"idle\": 0}}],\n"
        "\"links\": [{\"from\": \"eu\", \"to\": \"us\", \"rate\": \"1mbit\", \"rtt\": \"1ms\"},\n"
        "            {\"from\": \"us\", \"to\": \"eu\", \"rate\": \"1mbit\", \"rtt\": \"1ms\",\n"
        "             \"price\": 0}]}");
    uint64_t nusd = 0;

    (void)state;
    assert_false(topo_region_price(t, 0, "cpu", &nusd));
    assert_true(topo_region_price(t, 1, "cpu", &nusd));
    assert_int_equal(nusd, 796000000);
    assert_true(topo_region_price(t, 2, "gpu", &nusd));
    assert_int_equal(nusd, TOPO_HOUR_MAX_NUSD);
    assert_true(topo_region_price(t, 2, "small", &nusd));
    assert_int_equal(nusd, 1);
    assert_true(topo_region_price(t, 2, "idle", &nusd));
    assert_int_equal(nusd, 0);
    assert_false(topo_region_price(t, 2, "cpu", &nusd));
    assert_false(topo_link_between(t, 0, 1)->priced);
    assert_true(topo_link_between(t, 1, 0)->priced); /* Known, and nothing. */
    topo_destroy(t);
}

#define PRICED HEAD "\"regions\": [{\"name\": \"eu\",\n \"usd_per_hour\": "

struct wrong {
    const char *json;
    const char *complaint;
};

static const struct wrong wrongs[] = {
    {"", "t.json:1:1: not JSON: '[' or '{' expected near end of file"},
    {"{\"a\": 1,\n \"a\": 2}", "t.json:2:4: not JSON: duplicate object key near '\"a\"'"},
    {"{\n  \"a\" 1}", "t.json:2:7: not JSON: ':' expected near '1'"},
    {"[]", "t.json:1:1: is a list, but has to be an object {...}"},
    {"{}", "t.json:1:1: not a topology: it has to say \"strait_topology\": 1"},
    {"{\n \"strait_topology\": 2}",
     "t.json:2:2: strait_topology: this program reads version 1 of topologies only"},
    {"{\"strait_topology\": \"1\"}",
     "t.json:1:2: strait_topology: this program reads version 1 of topologies only"},
    {HEAD "\"region\": []}", "t.json:2:1: region: no such key: did you mean 'regions'?"},
    {HEAD "\"bandwidth\": []}",
     "t.json:2:1: bandwidth: no such key: there are strait_topology, name, source, duplex, lan, "
     "regions, links, default_link"},
    {HEAD "\"a\\u001b[2J.b\": 1}",
     "t.json:1:1: a\\x1b[2J.b: no such key: there are strait_topology, name, source, duplex, lan, "
     "regions, links, default_link"},
    {HEAD "\"name\": 5}", "t.json:2:1: name: is a number: write a text, such as \"three regions\""},
    {HEAD "\"name\": \"a\\u0000b\"}", "t.json:2:1: name: has a control character: leave it out"},
    {HEAD "\"name\": "
          "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
     "t.json:2:1: name: has more than 64 bytes"},
    {HEAD "\"source\": [1]}",
     "t.json:2:1: source: write a text or a list of texts, each without control "
     "characters"},
    {HEAD "\"duplex\": \"half\"}",
     "t.json:2:1: duplex: has to be \"full\" (each direction of a link has its rate) or \"shared\" "
     "(both share it)"},
    {HEAD "\"duplex\": true}",
     "t.json:2:1: duplex: is true or false: write a text, such as \"shared\""},
    {HEAD "\"duplex\": \"shared\", \"regions\": [\"eu\", \"us\"], \"links\": [\n"
          " {\"from\": \"us\", \"to\": \"eu\", \"rate\": \"2mbit\", \"rtt\": \"1ms\"},\n"
          " {\"from\": \"eu\", \"to\": \"us\", \"rate\": \"1mbit\", \"rtt\": \"1ms\"}]}",
     "t.json:4:2: links[1]: has 1mbit from eu to us and 2mbit back, but with \"duplex\": "
     "\"shared\" there is one rate for both"},
    {HEAD "\"duplex\": \"shared\", \"regions\": [\"eu\", \"us\"], \"links\": [\n"
          " {\"from\": \"us\", \"to\": \"eu\", \"rate\": \"2mbit\", \"rtt\": \"1ms\"}],\n"
          " \"default_link\": {\"rate\": \"1mbit\", \"rtt\": \"1ms\"}}",
     "t.json:3:2: links[0]: has 1mbit from eu to us and 2mbit back, but with \"duplex\": "
     "\"shared\" there is one rate for both"},
    {HEAD "\"name\": NaN}",
     "t.json:2:11: not JSON: invalid token near 'NaN': write a finite number, "
     "or leave the key out"},
    {HEAD "\"links\": []}", "t.json:1:1: there is no region: \"regions\" needs at least one"},
    {HEAD "\"regions\": []}",
     "t.json:2:1: regions: there is no region: \"regions\" needs at least one"},
    {HEAD "\"regions\": {}}", "t.json:2:1: regions: is an object, but has to be a list [...]"},
    {HEAD "\"regions\": [null]}",
     "t.json:2:13: regions[0]: is nothing: write a name in quotes, or an object {\"name\": ...}"},
    {HEAD "\"regions\": [{}]}", "t.json:2:13: regions[0]: needs a name"},
    {HEAD "\"regions\": [{\"name\": 1}]}",
     "t.json:2:14: regions[0].name: is a number: write a name in quotes"},
    {HEAD "\"regions\": [{\"nam\": 1}]}",
     "t.json:2:14: regions[0].nam: no such key: did you mean 'name'?"},
    {HEAD "\"regions\": [\"a b\"]}",
     "t.json:2:13: regions[0]: not a name: use 1 to 64 of the characters A-Z a-z 0-9 . _ -"},
    {HEAD "\"regions\": [\"a\",\n {\"name\": \"a\"}]}",
     "t.json:3:3: regions[1].name: 'a' is there already"},
    {HEAD "\"regions\": [{\"name\": \"a\", \"latitude\": 1}]}",
     "t.json:2:27: regions[0].latitude: a place needs both latitude and longitude"},
    {HEAD "\"regions\": [{\"name\": \"a\", \"latitude\": 91, \"longitude\": 0}]}",
     "t.json:2:27: regions[0].latitude: has to be from -90 to 90"},
    {HEAD "\"regions\": [{\"name\": \"a\", \"latitude\": \"1\", \"longitude\": 0}]}",
     "t.json:2:27: regions[0].latitude: is a text: write a number, without quotes"},
    {HEAD "\"regions\": [{\"name\": \"a\", \"usd_per_hou\": 1}]}",
     "t.json:2:27: regions[0].usd_per_hou: no such key: did you mean 'usd_per_hour'?"},
    {PRICED "\"0.8\"}]}", "t.json:3:2: regions[0].usd_per_hour: is a text: write a number, or one "
                          "for each class, as in {\"cpu\": 0.796}"},
    {PRICED "1000000.1}]}", "t.json:3:2: regions[0].usd_per_hour: has to be from 0 to 1000000"},
    {PRICED "-1}]}", "t.json:3:2: regions[0].usd_per_hour: has to be from 0 to 1000000"},
    {PRICED "{}}]}", "t.json:3:18: regions[0].usd_per_hour: has 0 classes: 1 to 8 are allowed, as "
                     "in {\"cpu\": 0.796}"},
    {PRICED "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1}}]}",
     "t.json:3:18: regions[0].usd_per_hour: has 9 classes: 1 to 8 are allowed, as in {\"cpu\": "
     "0.796}"},
    {PRICED "{\"cpu\": 1, \"GPU\": 2}}]}",
     "t.json:3:29: regions[0].usd_per_hour.GPU: not a class of machines: use 1 to 16 of the "
     "characters a-z 0-9 -"},
    {PRICED "{\"a-class-of-17-ch\": 1, \"a-class-of-17-cha\": 2}}]}",
     "t.json:3:42: regions[0].usd_per_hour.a-class-of-17-cha: not a class of machines: use 1 to 16 "
     "of the characters a-z 0-9 -"},
    {PRICED "{\"cpu\": 1,\n\"gpu\": 1e7}}]}",
     "t.json:4:1: regions[0].usd_per_hour.gpu: has to be from 0 to 1000000"},
    {PRICED "{\"cpu\": null}}]}",
     "t.json:3:19: regions[0].usd_per_hour.cpu: is nothing: write a number, without quotes"},
    {TWO "\"lan\": {\"price\": 1}}", "t.json:3:9: lan.price: no such key: there are rate, delay"},
    {TWO "\"links\": [5]}", "t.json:3:11: links[0]: is a number, but has to be an object {...}"},
    {TWO "\"links\": [{}]}",
     "t.json:3:11: links[0]: needs either \"between\" with two regions (both ways alike) or "
     "\"from\" and \"to\" (one way)"},
    {TWO "\"links\": [{\"from\": \"eu\"}]}",
     "t.json:3:11: links[0]: needs either \"between\" with two regions (both ways alike) or "
     "\"from\" and \"to\" (one way)"},
    {TWO "\"links\": [{\"from\": \"eu\", \"between\": [\"eu\", \"us\"]}]}",
     "t.json:3:11: links[0]: needs either \"between\" with two regions (both ways alike) or "
     "\"from\" and \"to\" (one way)"},
    {TWO "\"links\": [{\"between\": [\"eu\"]}]}",
     "t.json:3:12: links[0].between: write a list of two regions, such as [\"a\", \"b\"]"},
    {TWO "\"links\": [{\"between\": [\"eu\", \"uss\"]}]}",
     "t.json:3:30: links[0].between[1]: there is no region 'uss': did you mean 'us'?"},
    {TWO "\"links\": [{\"from\": \"eu\",\n \"to\": \"mars\"}]}",
     "t.json:4:2: links[0].to: there is no region 'mars': the regions are eu, us"},
    {TWO "\"links\": [{\"between\": [\"eu\", \"eu\"]}]}",
     "t.json:3:11: links[0]: joins a region with itself: its inside is the \"lan\""},
    {TWO "\"links\": [{\"between\": [\"eu\", \"us\"], \"delay\": \"1ms\"}]}",
     "t.json:3:11: links[0]: needs a rate, such as \"100mbit\""},
    {TWO "\"links\": [{\"between\": [\"eu\", \"us\"], \"rate\": 100}]}",
     "t.json:3:37: links[0].rate: is a number: write a text, such as \"100mbit\""},
    {TWO "\"links\": [{\"between\": [\"eu\", \"us\"], \"rate\": \"100mbut\"}]}",
     "t.json:3:37: links[0].rate: '100mbut' is not a rate: write a number and its unit (bit, kbit, "
     "mbit, gbit, tbit, B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s or TiB/s), such as "
     "100mbit"},
    {TWO "\"links\": [{\"between\": [\"eu\", \"us\"], \"rate\": \"3tbit\"}]}",
     "t.json:3:37: links[0].rate: has to be above zero and at most 2.199023255552tbit"},
    {TWO "\"links\": [{\"between\": [\"eu\", \"us\"], \"rate\": \"1mbit\"}]}",
     "t.json:3:11: links[0]: needs a delay (one way) or an rtt (both ways), such as \"40ms\""},
    {TWO "\"links\": [{\"between\": [\"eu\", \"us\"], \"rate\": \"1mbit\", \"delay\": \"1ms\",\n"
         "\"rtt\": \"2ms\"}]}",
     "t.json:4:1: links[0].rtt: there is a delay too: give one of both (rtt is twice the delay)"},
    {TWO "\"links\": [{\"between\": [\"eu\", \"us\"], \"rate\": \"1mbit\", \"delay\": \"61s\"}]}",
     "t.json:3:54: links[0].delay: has to be at most 60s"},
    {TWO "\"links\": [{\"between\": [\"eu\", \"us\"], \"rate\": \"1mbit\", \"delay\": \"1ms\",\n"
         "\"loss\": \"1\"}]}",
     "t.json:4:1: links[0].loss: '1' is not a percentage: write a number and its unit (%), such as "
     "10%"},
    {TWO "\"links\": [{\"between\": [\"eu\", \"us\"], \"rate\": \"1mbit\", \"delay\": \"1ms\",\n"
         "\"price\": -1}]}",
     "t.json:4:1: links[0].price: has to be from 0 to 1000"},
    {TWO "\"links\": [{\"between\": [\"eu\", \"us\"], \"rate\": \"1mbit\", \"delay\": \"1ms\"},\n"
         "{\"from\": \"us\", \"to\": \"eu\", \"rate\": \"1mbit\", \"delay\": \"1ms\"}]}",
     "t.json:4:1: links[1]: the way from us to eu is there already, in links[0]"},
    {TWO "\"default_link\": {\"rate\": \"1mbit\", \"from\": \"eu\"}}",
     "t.json:3:35: default_link.from: no such key: there are rate, delay, rtt, jitter, loss, "
     "stream, price"},
};

static void test_mistakes_are_named_with_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(wrongs); i++) {
        struct topo *t = NULL;
        struct err_text why = {""};
        enum err rc = topo_file_parse("t.json", wrongs[i].json, strlen(wrongs[i].json), &t, &why);

        assert_true(rc == ERR_MALFORMED || rc == ERR_TOO_BIG);
        assert_null(t);
        assert_string_equal(why.text, wrongs[i].complaint);
    }
}

static void test_more_than_the_limits_is_refused(void **state)
{
    struct err_text why = {""};
    struct topo *t = NULL;
    struct text json;
    char *large = test_calloc(1, TOPO_FILE_BYTES_MAX + 1);

    (void)state;
    assert_int_equal(topo_file_parse("t.json", large, TOPO_FILE_BYTES_MAX + 1, &t, &why),
                     ERR_TOO_BIG);
    assert_string_equal(why.text, "t.json: larger than 4194304 bytes");
    test_free(large);
    assert_int_equal(text_init(&json, 1 << 20), OK);
    text_add(&json, HEAD "\"regions\": [\"r\"");
    for (uint32_t i = 0; i < TOPO_REGIONS_MAX; i++) {
        text_addf(&json, ", \"r%u\"", i);
    }
    text_add(&json, "]}");
    assert_int_equal(topo_file_parse("t.json", json.chars, json.size, &t, &why), ERR_TOO_BIG);
    assert_string_equal(why.text, "t.json:2:1: regions: has 65 entries: at most 64 are allowed");
    text_clear(&json);
    text_add(&json, HEAD "\"regions\": [\"r\"], \"links\": [1");
    for (uint32_t i = 0; i < TOPO_LINKS_MAX; i++) {
        text_add(&json, ", 1");
    }
    text_add(&json, "]}");
    assert_int_equal(topo_file_parse("t.json", json.chars, json.size, &t, &why), ERR_TOO_BIG);
    assert_string_equal(why.text, "t.json:2:19: links: has 4097 entries: at most 4096 are allowed");
    text_deinit(&json);
    assert_null(t);
}

static void random_prices(struct rng *rng, struct topo_region *r)
{
    r->prices_count = (uint32_t)rng_below(rng, TOPO_CLASSES_MAX + 1);
    for (uint32_t i = 0; i < r->prices_count; i++) {
        (void)snprintf(r->prices[i].class, TOPO_CLASS_BYTES, "%u-%c",
                       (uint32_t)rng_below(rng, 1000000), (char)('a' + i));
        r->prices[i].nusd_per_hour =
            (rng_next(rng) >> rng_below(rng, 64)) % (TOPO_HOUR_MAX_NUSD + 1);
    }
    if (r->prices_count == 1 && rng_chance(rng, 500000)) {
        r->prices[0].class[0] = '\0';
    }
}

/* A topology with every kind of figure, by seed. */
static struct topo *random_topo(struct rng *rng, uint32_t regions)
{
    bool shared = rng_chance(rng, 500000);
    struct topo *t = NULL;

    assert_int_equal(topo_create(&t), OK);
    topo_duplex_set(t, shared ? TOPO_DUPLEX_SHARED : TOPO_DUPLEX_FULL);
    for (uint32_t i = 0; i < regions; i++) {
        struct topo_region r = {.placed = rng_chance(rng, 500000)};

        (void)snprintf(r.name, sizeof(r.name), "r%u.%u", i, (uint32_t)rng_below(rng, 1000));
        if (r.placed) {
            r.latitude = (double)rng_below(rng, 180001) / 1000 - 90;
            r.longitude = (double)rng_next(rng) / 0x1p64 * 360 - 180;
        }
        random_prices(rng, &r);
        assert_int_equal(topo_region_add(t, &r), OK);
    }
    for (uint32_t k = 0; k < regions * regions; k++) {
        uint32_t a = (uint32_t)rng_below(rng, regions), b = (uint32_t)rng_below(rng, regions);
        struct topo_link l = {
            .bytes_per_s = 1 + (rng_next(rng) >> (26 + rng_below(rng, 38))),
            .stream_bytes_per_s = rng_chance(rng, 300000) ? rng_below(rng, TOPO_RATE_MAX) : 0,
            .delay_ns = (int64_t)rng_below(rng, TOPO_TIME_MAX_NS),
            .jitter_ns = rng_chance(rng, 300000) ? (int64_t)rng_below(rng, 1000000000) : 0,
            .loss_ppm = rng_chance(rng, 300000) ? (uint32_t)rng_below(rng, 1000001) : 0,
            .priced = rng_chance(rng, 700000),
        };

        l.bytes_per_s = shared ? 125000 : l.bytes_per_s; /* The same both ways. */
        l.price_nusd_per_gb =
            l.priced && rng_chance(rng, 900000) ? rng_below(rng, TOPO_PRICE_MAX_NUSD + 1) : 0;

        if (a == b) {
            assert_int_equal(topo_default_set(t, rng_chance(rng, 500000) ? &l : NULL), OK);
        } else {
            assert_int_equal(topo_link_set(t, a, b, &l), OK);
            if (rng_chance(rng, 500000)) {
                assert_int_equal(topo_link_set(t, b, a, &l), OK);
            }
        }
    }
    return t;
}

static void test_what_is_printed_is_read_the_same(void **state)
{
    static const char *const sources[] = {"", "one", "two\nlines", "\n", "\"quoted\" \xc3\xa4\\"};
    struct rng rng;

    (void)state;
    rng_init(&rng, 11);
    for (uint32_t i = 0; i < 200; i++) {
        struct topo *t = random_topo(&rng, i == 0 ? TOPO_REGIONS_MAX : 1 + i % 9);
        struct topo *again;
        struct text text;

        assert_int_equal(topo_describe(t, i % 2 == 0 ? "" : "map \"x\"", sources[i % 5]), OK);
        assert_int_equal(text_init(&text, TOPO_PRINT_BYTES_MAX), OK);
        topo_print(t, i % 3, &text);
        assert_false(text.failed);
        again = parse(text.chars);
        assert_true(topo_equal(t, again));
        text_deinit(&text);
        topo_destroy(again);
        topo_destroy(t);
    }
}

static void test_printing_is_for_people(void **state)
{
    struct topo *t = parse(
        HEAD "\"regions\": [{\"name\": \"eu\", \"usd_per_hour\": 1},\n"
             "{\"name\": \"us\", \"usd_per_hour\": {\"cpu\": 0.7960, \"gpu\": 2.6}}, \"asia\"],\n"
             "\"source\": \"a book\", \"links\": [{\"between\": [\"us\", \"eu\"], \"rate\": "
             "\"0.1gbit\", \"rtt\": \"81ms\", \"price\": 0.020}],\n"
             "\"default_link\": {\"rate\": \"1gbit\", \"delay\": \"1ms\", \"price\": 0}}");
    struct text text;

    (void)state;
    assert_int_equal(text_init(&text, 4096), OK);
    topo_print(t, 0, &text);
    assert_string_equal(
        text.chars, "{\n"
                    "  \"strait_topology\": 1,\n"
                    "  \"source\": \"a book\",\n"
                    "  \"lan\": {\"rate\": \"40gbit\", \"delay\": \"50us\"},\n"
                    "  \"regions\": [\n"
                    "    {\"name\": \"eu\", \"usd_per_hour\": 1.0},\n"
                    "    {\"name\": \"us\", \"usd_per_hour\": {\"cpu\": 0.796, \"gpu\": 2.6}},\n"
                    "    {\"name\": \"asia\"}\n"
                    "  ],\n"
                    "  \"links\": [\n"
                    "    {\"between\": [\"eu\", \"us\"], \"rate\": \"100mbit\", \"delay\": "
                    "\"40.5ms\", \"price\": 0.02}\n"
                    "  ],\n"
                    "  \"default_link\": {\"rate\": \"1gbit\", \"delay\": \"1ms\", \"price\": "
                    "0.0}\n"
                    "}");
    text_deinit(&text);
    topo_destroy(t);
}

static void test_files_are_loaded(void **state)
{
    char path[] = "/tmp/strait-topo-XXXXXX";
    int fd = mkstemp(path);
    struct topo *t = NULL;
    struct err_text why = {""};
    char expected[128];

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, TWO "\"links\": []}", strlen(TWO) + 12), strlen(TWO) + 12);
    (void)close(fd);
    assert_int_equal(topo_file_load(path, &t, &why), OK);
    assert_int_equal(topo_regions(t), 2);
    topo_destroy(t);
    t = NULL;
    assert_int_equal(truncate(path, TOPO_FILE_BYTES_MAX + 1), 0);
    assert_int_equal(topo_file_load(path, &t, &why), ERR_TOO_BIG);
    (void)snprintf(expected, sizeof(expected), "%s: larger than 4194304 bytes", path);
    assert_string_equal(why.text, expected);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(topo_file_load(path, &t, &why), ERR_NOT_FOUND);
    (void)snprintf(expected, sizeof(expected), "%s: No such file or directory", path);
    assert_string_equal(why.text, expected);
    assert_int_equal(topo_file_load("/tmp", &t, &why), ERR_IO);
    assert_string_equal(why.text, "/tmp: not a regular file");
    assert_int_equal(topo_file_load("/dev/zero", &t, &why), ERR_IO);
    assert_null(t);
}

static void test_memory_may_run_out_anywhere(void **state)
{
    static const char json[] = TWO "\"source\": \"x\"}";
    char path[] = "/tmp/strait-topo-XXXXXX";
    int fd = mkstemp(path);
    uint64_t failed = 0;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, json, sizeof(json) - 1), sizeof(json) - 1);
    (void)close(fd);
    for (uint64_t k = 1;; k++) {
        struct topo *t = NULL;
        struct err_text why = {""};
        enum err rc;

        mem_fail_at(k, 1);
        rc = topo_file_load(path, &t, &why);
        mem_fail_at(0, 0);
        if (rc == OK) {
            topo_destroy(t);
            break;
        }
        failed++;
        assert_int_equal(rc, ERR_NOMEM);
        assert_null(t);
        assert_non_null(strstr(why.text, ": out of memory"));
    }
    assert_true(failed >= 4); /* The bytes, the reader, the topology, its source. */
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_is_read),
        cmocka_unit_test(test_directions_are_apart_unless_the_file_says_otherwise),
        cmocka_unit_test(test_prices_are_read_if_they_are_there),
        cmocka_unit_test(test_mistakes_are_named_with_their_place),
        cmocka_unit_test(test_more_than_the_limits_is_refused),
        cmocka_unit_test(test_what_is_printed_is_read_the_same),
        cmocka_unit_test(test_printing_is_for_people),
        cmocka_unit_test(test_files_are_loaded),
        cmocka_unit_test(test_memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
