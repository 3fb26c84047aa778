/* Addresses: a table of good and bad ones. */

#include "net/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN
#define HOST_255 FIFTY FIFTY FIFTY FIFTY FIFTY "abcde"
#define PATH_107 "/" FIFTY FIFTY "abcdef"

static const struct {
    const char *chars;
    enum net_scheme scheme;
    const char *host;
    const char *port;
    const char *formatted; /* NULL: as written. */
} good[] = {
    {"tls://eu.example.org:7423", NET_SCHEME_TLS, "eu.example.org", "7423", NULL},
    {"tcp://10.0.0.1:80", NET_SCHEME_TCP, "10.0.0.1", "80", NULL},
    {"sim://eu-s1:1", NET_SCHEME_SIM, "eu-s1", "1", NULL},
    {"localhost:7423", NET_SCHEME_TLS, "localhost", "7423", "tls://localhost:7423"},
    {"tcp://h:0", NET_SCHEME_TCP, "h", "0", NULL},
    {"tcp://h:65535", NET_SCHEME_TCP, "h", "65535", NULL},
    {"tcp://h:00080", NET_SCHEME_TCP, "h", "00080", NULL},
    {"tls://[::1]:80", NET_SCHEME_TLS, "::1", "80", NULL},
    {"[2001:db8::7]:443", NET_SCHEME_TLS, "2001:db8::7", "443", "tls://[2001:db8::7]:443"},
    {"tcp://[fe80::1%eth0]:9", NET_SCHEME_TCP, "fe80::1%eth0", "9", NULL},
    {"tcp://[::ffff:10.0.0.1]:9", NET_SCHEME_TCP, "::ffff:10.0.0.1", "9", NULL},
    {"tcp://[host]:9", NET_SCHEME_TCP, "host", "9", "tcp://host:9"},
    {"tcp://m\xc3\xbcnchen:9", NET_SCHEME_TCP, "m\xc3\xbcnchen", "9", NULL},
    {"tls://unix:80", NET_SCHEME_TLS, "unix", "80", NULL},
    {"tls://" HOST_255 ":65535", NET_SCHEME_TLS, HOST_255, "65535", NULL},
    {"unix:/run/strait.sock", NET_SCHEME_UNIX, "/run/strait.sock", "", NULL},
    {"unix:relative", NET_SCHEME_UNIX, "relative", "", NULL},
    {"unix:///run/s", NET_SCHEME_UNIX, "/run/s", "", "unix:/run/s"},
    {"unix:////run/s", NET_SCHEME_UNIX, "//run/s", "", NULL},
    {"unix:/a:b c[d]://e", NET_SCHEME_UNIX, "/a:b c[d]://e", "", NULL},
    {"unix:" PATH_107, NET_SCHEME_UNIX, PATH_107, "", NULL},
};

/* What is wrong, and a piece of the advice. */
static const struct {
    const char *chars;
    const char *advice;
} bad[] = {
    {"", "write HOST:PORT"},
    {"localhost", "write HOST:PORT"},
    {"tls://", "write HOST:PORT"},
    {"tls://localhost", "write HOST:PORT"},
    {"tls://localhost:", "write HOST:PORT"},
    {"tls://localhost:port", "port up to 65535"},
    {"tls://localhost:65536", "port up to 65535"},
    {"tls://localhost:99999", "port up to 65535"},
    {"tls://localhost:000080", "port up to 65535"},
    {"tls://localhost:18446744073709551617", "port up to 65535"},
    {"tls://localhost:-1", "port up to 65535"},
    {"tls://localhost:+1", "port up to 65535"},
    {"tls://localhost: 1", "port up to 65535"},
    {"tls://localhost:1 ", "port up to 65535"},
    {"tls://localhost:80/", "port up to 65535"},
    {"tls://:80", "write HOST:PORT"},
    {"tls://[]:80", "write HOST:PORT"},
    {":80", "write HOST:PORT"},
    {"tls://[::1]", "write HOST:PORT"},
    {"tls://::1:80", "[::1]:PORT"},
    {"2001:db8::7:443", "[::1]:PORT"},
    {"tls://[::1:80", "[::1]:PORT"},
    {"tls://::1]:80", "[::1]:PORT"},
    {"tcp://[[::1]]:80", "only HOST:PORT"},
    {"tcp://[:80", "only HOST:PORT"},
    {"tcp://a b:80", "without spaces"},
    {"tcp:// a:80", "without spaces"},
    {"tcp://a\n:80", "without spaces"},
    {"tcp://me@host:80", "a user"},
    {"tcp://host/path:80", "a path"},
    {"tcp://\x7f:80", "only HOST:PORT"},
    {"tls://" HOST_255 "f:1", "1 to 255"},
    {"http://localhost:80", "use tls://, tcp:// or unix:"},
    {"TLS://localhost:80", "use tls://, tcp:// or unix:"},
    {"tlss://localhost:80", "use tls://, tcp:// or unix:"},
    {"://localhost:80", "use tls://, tcp:// or unix:"},
    {"unix:", "1 to 107"},
    {"unix://", "1 to 107"},
    {"unix:" PATH_107 "g", "1 to 107"},
};

enum { GOOD = sizeof(good) / sizeof(good[0]), BAD = sizeof(bad) / sizeof(bad[0]) };

static void test_good_addresses_are_understood(void **state)
{
    (void)state;
    for (int i = 0; i < GOOD; i++) {
        struct err_text text = {""};
        struct net_address a;

        if (net_address_parse(good[i].chars, &a, &text) != OK) {
            fail_msg("%s", text.text);
        }
        assert_int_equal(a.scheme, good[i].scheme);
        assert_string_equal(a.host, good[i].host);
        assert_string_equal(a.port, good[i].port);
    }
}

static void test_what_is_written_is_understood_again(void **state)
{
    (void)state;
    for (int i = 0; i < GOOD; i++) {
        char chars[NET_ADDRESS_BYTES];
        struct net_address a, b;

        assert_int_equal(net_address_parse(good[i].chars, &a, NULL), OK);
        assert_ptr_equal(net_address_format(&a, chars), chars);
        assert_string_equal(chars, good[i].formatted == NULL ? good[i].chars : good[i].formatted);
        assert_int_equal(net_address_parse(chars, &b, NULL), OK);
        assert_int_equal(a.scheme, b.scheme);
        assert_string_equal(a.host, b.host);
        assert_string_equal(a.port, b.port);
    }
}

static void test_bad_addresses_are_refused_with_advice(void **state)
{
    (void)state;
    for (int i = 0; i < BAD; i++) {
        struct net_address a, before;
        struct err_text text = {""};

        memset(&a, 0x5a, sizeof(a));
        memset(&before, 0x5a, sizeof(before));
        if (net_address_parse(bad[i].chars, &a, &text) != ERR_INVALID) {
            fail_msg("'%s' was accepted", bad[i].chars);
        }
        assert_memory_equal(&a, &before, sizeof(a));
        if (strstr(text.text, bad[i].advice) == NULL) {
            fail_msg("'%s' for '%s'", text.text, bad[i].chars);
        }
        assert_ptr_equal(strstr(text.text, "address '"), text.text);
        assert_int_equal(net_address_parse(bad[i].chars, &a, NULL), ERR_INVALID);
    }
}

static void test_a_very_long_address_is_quoted_in_part(void **state)
{
    static char chars[100001];
    struct err_text text;
    struct net_address a;

    (void)state;
    memset(chars, 'a', sizeof(chars) - 1);
    assert_int_equal(net_address_parse(chars, &a, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, "write HOST:PORT"));
    memcpy(chars + sizeof(chars) - 4, ":80", 4);
    assert_int_equal(net_address_parse(chars, &a, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, "1 to 255"));
}

static void test_schemes_have_names(void **state)
{
    (void)state;
    assert_string_equal(net_scheme_name(NET_SCHEME_TCP), "tcp");
    assert_string_equal(net_scheme_name(NET_SCHEME_TLS), "tls");
    assert_string_equal(net_scheme_name(NET_SCHEME_UNIX), "unix");
    assert_string_equal(net_scheme_name(NET_SCHEME_SIM), "sim");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_addresses_are_understood),
        cmocka_unit_test(test_what_is_written_is_understood_again),
        cmocka_unit_test(test_bad_addresses_are_refused_with_advice),
        cmocka_unit_test(test_a_very_long_address_is_quoted_in_part),
        cmocka_unit_test(test_schemes_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
