/* Detours: lists that are understood, lists that are not, and the connection that takes one. */

#include "net/detour.h"

#include "base/mem.h"
#include "loop/loop.h"
#include "net/stream/socket.h"
#include "net/stream/socket_fd.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct net_address address(const char *chars)
{
    struct net_address a;
    struct err_text text = {""};

    assert_int_equal(net_address_parse(chars, &a, &text), OK);
    return a;
}

static void
test_an_address_with_a_detour_is_dialled_elsewhere_and_others_where_they_are(void **state)
{
    static const char list[] = "# a comment, and an empty line\n\n"
                               "tcp://10.0.0.7:7400 tcp://127.2.3.1:7400 # and one behind\r\n"
                               "\ttls://eu:1\ttls://[::1]:2";
    struct net_detours *d = NULL;
    struct err_text text = {""};
    struct net_address from = address("tcp://10.0.0.7:7400"), eu = address("tls://eu:1");
    struct net_address other = address("tcp://10.0.0.7:7401"), tls = address("tls://10.0.0.7:7400");

    (void)state;
    assert_int_equal(net_detours_parse("list", list, strlen(list), &d, &text), OK);
    assert_int_equal(net_detours_count(d), 2);
    assert_string_equal(net_detours_find(d, &from)->host, "127.2.3.1");
    assert_string_equal(net_detours_find(d, &eu)->host, "::1");
    assert_ptr_equal(net_detours_find(d, &other), &other);
    assert_ptr_equal(net_detours_find(d, &tls), &tls);
    assert_ptr_equal(net_detours_find(NULL, &from), &from);
    net_detours_free(d);
}

static void test_what_is_wrong_is_told_with_its_line(void **state)
{
    static const struct {
        const char *list;
        const char *told;
    } cases[] = {
        {"tcp://a:1\n", "list:1: write two addresses: FROM TO"},
        {"\ntcp://a:1 tcp://b:1 tcp://c:1\n", "list:2: write two addresses: FROM TO"},
        {"tcp://a:1 tls://b:1", "list:1: both addresses need the same scheme"},
        {"tcp://a:1 tcp://b:1\ntcp://a:1 tcp://c:1", "list:2: this address has a detour already"},
        {"tcp://a:1 tcp://b:70000", "list:1: "},
    };
    char twice[2 * NET_ADDRESS_BYTES + 100];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct net_detours *d = NULL;
        struct err_text text = {""};

        assert_int_equal(net_detours_parse("list", cases[i].list, strlen(cases[i].list), &d, &text),
                         ERR_MALFORMED);
        assert_memory_equal(text.text, cases[i].told, strlen(cases[i].told));
        assert_null(d);
    }
    memset(twice, 'x', sizeof(twice));
    struct net_detours *d = NULL;
    struct err_text text = {""};

    assert_int_equal(net_detours_parse("list", twice, sizeof(twice), &d, &text), ERR_MALFORMED);
    assert_int_equal(net_detours_parse("list", "a\0b c:1", 7, &d, &text), ERR_MALFORMED);
    assert_int_equal(net_detours_parse("list", twice, NET_DETOURS_BYTES_MAX + 1, &d, &text),
                     ERR_TOO_BIG);
}

static void test_no_memory_is_an_error_wherever_it_ends(void **state)
{
    char list[2048] = "";
    enum err rc;
    uint64_t k = 0;

    (void)state;
    for (int i = 0; i < 40; i++) {
        size_t used = strlen(list);

        (void)snprintf(list + used, sizeof(list) - used, "tcp://a:%d tcp://b:%d\n", i, i);
    }
    do {
        struct net_detours *d = NULL;
        struct err_text text = {""};

        mem_fail_at(++k, 1);
        rc = net_detours_parse("list", list, strlen(list), &d, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        net_detours_free(d);
    } while (rc != OK);
    assert_true(k > 3);
}

/* Dialling. */

struct dialled {
    struct loop *loop;
    enum err rc;
    int fd;
};

static void dialled(enum err rc, int fd, const char *why, void *user)
{
    struct dialled *d = user;

    (void)why;
    d->rc = rc;
    d->fd = fd;
    loop_stop(d->loop);
}

static int listener(char *port, size_t size)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    (void)snprintf(port, size, "%u", ntohs(at.sin_port));
    return fd;
}

static void test_a_dialler_takes_the_detour(void **state)
{
    struct net_address to = address("tcp://no-such-host.invalid:7400");
    struct net_socket_options options = {.send_buffer_bytes = 0};
    struct net_dialer *dialer;
    struct net_detours *d = NULL;
    struct err_text text = {""};
    struct dialled got = {.fd = -1};
    char port[NET_PORT_BYTES + 6], list[128];
    int fd = listener(port, sizeof(port));

    (void)state;
    (void)snprintf(list, sizeof(list), "tcp://no-such-host.invalid:7400 tcp://127.0.0.1:%s", port);
    assert_int_equal(net_detours_parse("list", list, strlen(list), &d, &text), OK);
    options.detours = d;
    assert_int_equal(loop_create(&got.loop), OK);
    assert_int_equal(net_dialer_start(got.loop, &to, &options, dialled, &got, &dialer), OK);
    loop_run(got.loop);
    assert_int_equal(got.rc, OK);
    assert_true(got.fd >= 0);
    (void)close(got.fd);
    (void)close(fd);
    loop_destroy(got.loop);
    net_detours_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_an_address_with_a_detour_is_dialled_elsewhere_and_others_where_they_are),
        cmocka_unit_test(test_what_is_wrong_is_told_with_its_line),
        cmocka_unit_test(test_no_memory_is_an_error_wherever_it_ends),
        cmocka_unit_test(test_a_dialler_takes_the_detour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
