/* Options: what is taken, and what is said about the rest. */

#include "client/option.h"
#include "node/site/site.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct client_options parse(const char *json)
{
    struct client_options o;
    struct err_text text = {""};

    if (client_option_parse(json, &o, &text) != OK) {
        fail_msg("%s: %s", json, text.text);
    }
    return o;
}

static void test_little_is_needed(void **state)
{
    struct client_options o = parse("{\"join\": \"tcp://127.0.0.1:7000\", \"insecure\": true}");

    (void)state;
    assert_int_equal(o.join.scheme, NET_SCHEME_TCP);
    assert_string_equal(o.join.host, "127.0.0.1");
    assert_string_equal(o.join.port, "7000");
    assert_string_equal(o.cert, "");
    assert_string_equal(o.name, "");
    assert_int_equal(o.rank, NODE_RANK_ANY);
    assert_int_equal(o.streams, 1);
    assert_int_equal(o.pool_bytes, UINT64_C(1) << 30);
    assert_int_equal(o.cache_bytes, UINT64_C(1) << 28);
    assert_int_equal(o.pace_bytes_per_s, 0);
}

static void test_everything_can_be_said(void **state)
{
    struct client_options o =
        parse("{\"join\": \"tcp://10.0.0.1:7000\", \"insecure\": \"twice\", \"name\": \"w1\", "
              "\"site\": \"eu\", \"rank\": 255, \"streams\": 16, \"pool_mb\": 16, \"cache_mb\": 1, "
              "\"pace\": \"100mbit\"}");

    (void)state;
    assert_string_equal(o.name, "w1");
    assert_string_equal(o.site, "eu");
    assert_int_equal(o.rank, 255);
    assert_int_equal(o.streams, 16);
    assert_int_equal(o.pool_bytes, 16 << 20);
    assert_int_equal(o.cache_bytes, 1 << 20);
    assert_int_equal(o.pace_bytes_per_s, 12500000);
    o = parse("{\"join\": \"eu.example.org:7000\", \"cert\": \"certs\", \"name\": \"w1\"}");
    assert_int_equal(o.join.scheme, NET_SCHEME_TLS);
    assert_string_equal(o.cert, "certs");
    o = parse("{\"join\": \"localhost:7000\", \"insecure\": true}");
    assert_int_equal(o.join.scheme, NET_SCHEME_TCP);
    o = parse("{\"join\": \"unix:/tmp/s\", \"insecure\": true}");
    assert_int_equal(o.join.scheme, NET_SCHEME_UNIX);
}

/* Everything that is wrong, with the whole sentence. */
static const struct {
    const char *json;
    const char *text;
} wrong[] = {
    {NULL, "options: there are none"},
    {"", "options: line 1, column 0: '[' or '{' expected near end of file"},
    {"{", "options: line 1, column 1: string or '}' expected near end of file"},
    {"{\"join\": \"x:1\",\n\"name\" 3}", "options: line 2, column 8: ':' expected near '3'"},
    {"[]", "options: not an object: write {\"join\": ...}"},
    {"{}", "option \"join\" is missing: where is the site's first server?"},
    {"{\"join\": 7}", "option \"join\": a text is wanted"},
    {"{\"join\": \"\"}", "option \"join\": 1 to 279 characters are wanted"},
    {"{\"join\": \"x:1\", \"join\": \"y:1\"}",
     "options: line 1, column 22: duplicate object key near '\"join\"'"},
    {"{\"jion\": \"x:1\"}", "options: unknown key \"jion\": did you mean 'join'?"},
    {"{\"pool\": 3}", "options: unknown key \"pool\": did you mean 'pool_mb'?"},
    {"{\"timeout\": 3}",
     "options: unknown key \"timeout\": there are join, cert, name, site, rank, "
     "streams, insecure, pool_mb, cache_mb, pace, "
     "relay, agg, edge"},
    {"{\"join\": \"sim://x:1\", \"insecure\": true}",
     "option \"join\": not an address of a real machine"},
    {"{\"join\": \"x:1\"}", "join tls://x:1: a member's certificate is needed: \"cert\": \"DIR\" "
                            "(strait cert issue makes one)"},
    {"{\"join\": \"tls://x:1\", \"insecure\": true}",
     "join tls://x:1: \"insecure\" is for tcp:// addresses; leave it away, or write tcp://"},
    {"{\"join\": \"tcp://127.0.0.1:1\"}", "join tcp://127.0.0.1:1: not encrypted; use tls:// with "
                                          "\"cert\", or say \"insecure\": true"},
    {"{\"join\": \"tcp://127.0.0.1:1\", \"insecure\": false}",
     "join tcp://127.0.0.1:1: not encrypted; use tls:// with \"cert\", or say \"insecure\": true"},
    {"{\"join\": \"tcp://10.0.0.1:1\", \"insecure\": true}",
     "join tcp://10.0.0.1:1: not encrypted, and not on this machine; if that is really wanted, say "
     "\"insecure\": \"twice\""},
    {"{\"join\": \"tcp://127.0.0.1:1\", \"insecure\": true, \"cert\": \"x\"}",
     "join tcp://127.0.0.1:1: \"cert\" is for tls:// addresses; leave it away, or write tls://"},
    {"{\"join\": \"x:1\", \"insecure\": 2}",
     "option \"insecure\": true, false or \"twice\" is wanted"},
    {"{\"join\": \"x:1\", \"insecure\": \"thrice\"}",
     "option \"insecure\": true, false or \"twice\" is wanted"},
    {"{\"join\": \"x:1\", \"cert\": \"c\", \"site\": \"eu\"}",
     "option \"site\": with TLS the certificate says the site; leave it away"},
    {"{\"join\": \"x:1\", \"cert\": \"c\", \"name\": \"a/b\"}",
     "option \"name\": letters, digits, '.', '_' and '-' are wanted"},
    {"{\"join\": \"x:1\", \"cert\": \"c\", \"rank\": 256}",
     "option \"rank\": a whole number from 0 to 255 is wanted"},
    {"{\"join\": \"x:1\", \"cert\": \"c\", \"rank\": -1}",
     "option \"rank\": a whole number from 0 to 255 is wanted"},
    {"{\"join\": \"x:1\", \"cert\": \"c\", \"rank\": 1.5}",
     "option \"rank\": a whole number from 0 to 255 is wanted"},
    {"{\"join\": \"x:1\", \"cert\": \"c\", \"streams\": 0}",
     "option \"streams\": a whole number from 1 to 16 is wanted"},
    {"{\"join\": \"x:1\", \"cert\": \"c\", \"pool_mb\": 15}",
     "option \"pool_mb\": a whole number from 16 to 1073741824 is wanted"},
    {"{\"join\": \"x:1\", \"cert\": \"c\", \"cache_mb\": \"1\"}",
     "option \"cache_mb\": a whole number from 1 to 1073741824 is wanted"},
};

static void test_what_is_wrong_is_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct client_options o = {.rank = 77};
        struct err_text text = {""};

        assert_int_equal(client_option_parse(wrong[i].json, &o, &text), ERR_INVALID);
        assert_string_equal(text.text, wrong[i].text);
        assert_int_equal(o.rank, 77); /* Nothing was written. */
    }
}

static void test_texts_that_end_in_others_words(void **state)
{
    char *large = calloc(1, CLIENT_OPTION_BYTES_MAX + 2);
    struct client_options o;
    struct err_text text = {""};

    (void)state;
    assert_int_equal(client_option_parse("{\"join\": \"x:99999\", \"cert\": \"c\"}", &o, &text),
                     ERR_INVALID);
    assert_int_equal(strncmp(text.text, "option \"join\": ", 15), 0);
    assert_int_equal(
        client_option_parse("{\"join\": \"x:1\", \"cert\": \"c\", \"pace\": \"9\"}", &o, &text),
        ERR_INVALID);
    assert_int_equal(strncmp(text.text, "option \"pace\": ", 15), 0);
    memset(large, ' ', CLIENT_OPTION_BYTES_MAX + 1);
    assert_int_equal(client_option_parse(large, &o, &text), ERR_INVALID);
    assert_string_equal(text.text, "options: the text is longer than 64 KiB");
    free(large);
}

static void test_tables_have_options_too(void **state)
{
    struct table_schema schema;
    struct err_text text = {""};

    (void)state;
    assert_int_equal(client_option_schema("w", 3, 4, NULL, &schema, &text), OK);
    assert_int_equal(schema.apply.kind, TABLE_ADD);
    assert_int_equal(schema.combine, TABLE_SUM);
    assert_int_equal(schema.init.kind, TABLE_INIT_ZEROS);
    assert_int_equal(client_option_schema("w", 3, 4,
                                          "{\"combine\": \"samples\", \"init\": \"uniform 0.5\", "
                                          "\"apply\": \"momentum lr=0.1 mu=0.9\"}",
                                          &schema, &text),
                     OK);
    assert_int_equal(schema.apply.kind, TABLE_MOMENTUM);
    assert_int_equal(schema.combine, TABLE_SAMPLES);
    assert_int_equal(schema.init.kind, TABLE_INIT_UNIFORM);
    assert_int_equal(client_option_schema("w", 3, 4, "{\"shape\": 3}", &schema, &text),
                     ERR_INVALID);
    assert_string_equal(text.text, "options of the table: unknown key \"shape\": there are apply, "
                                   "init, combine, chunk");
    assert_int_equal(client_option_schema("w", 300, 4, "{\"chunk\": 64}", &schema, &text), OK);
    assert_int_equal(table_chunk_elements(&schema), 64);
    assert_int_equal(client_option_schema("w", 3, 4, "{\"chunk\": 65537}", &schema, &text),
                     ERR_INVALID);
    assert_string_equal(text.text, "option \"chunk\": a whole number from 1 to 65536 is wanted");
    assert_int_equal(client_option_schema("w", 3, 4, "{\"apply\": 3}", &schema, &text),
                     ERR_INVALID);
    assert_string_equal(text.text, "option \"apply\": a text is wanted");
    assert_int_equal(client_option_schema("w", 3, 4, "{\"init\": true}", &schema, &text),
                     ERR_INVALID);
    assert_int_equal(
        client_option_schema("w", 3, 4, "{\"combine\": \"a-much-too-long-word\"}", &schema, &text),
        ERR_INVALID);
    assert_int_equal(client_option_schema("w", 3, 4, "3", &schema, &text), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_little_is_needed),
        cmocka_unit_test(test_everything_can_be_said),
        cmocka_unit_test(test_what_is_wrong_is_said),
        cmocka_unit_test(test_texts_that_end_in_others_words),
        cmocka_unit_test(test_tables_have_options_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
