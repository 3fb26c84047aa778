/* Names to addresses. Nothing here needs a network: the one name is in every hosts file, the other
 * is reserved never to exist (RFC 6761). */

#include "base/mem.h"
#include "loop/clock.h"
#include "loop/resolve.h"
#include "loop/testing.h"

#include <netdb.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct answer {
    int calls;
    enum err rc;
    int addresses;
    uint16_t port;
};

static void resolved(enum err rc, const struct addrinfo *list, void *user)
{
    struct answer *a = user;

    a->calls++;
    a->rc = rc;
    for (; list != NULL; list = list->ai_next) {
        struct sockaddr_in v4;

        assert_true(list->ai_family == AF_INET || list->ai_family == AF_INET6);
        assert_int_equal(list->ai_socktype, SOCK_STREAM);
        assert_true(list->ai_addrlen >= sizeof(v4));
        /* The port is at the same place in both families. */
        memcpy(&v4, list->ai_addr, sizeof(v4));
        a->port = ntohs(v4.sin_port);
        a->addresses++;
    }
}

static void test_localhost_has_an_address(void **state)
{
    struct loop_resolve *resolve;
    struct answer a = {0};
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_int_equal(loop_resolve_start(loop, "localhost", "7423", resolved, &a, &resolve), OK);
    assert_int_equal(a.calls, 0);
    TESTING_TURN_UNTIL(loop, a.calls > 0);
    assert_int_equal(a.calls, 1);
    assert_int_equal(a.rc, OK);
    assert_true(a.addresses > 0);
    assert_int_equal(a.port, 7423);
    loop_destroy(loop);
}

static void test_a_name_that_cannot_exist_is_unreachable(void **state)
{
    struct loop_resolve *resolve;
    struct answer a = {0};
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_int_equal(loop_resolve_start(loop, "name.invalid", "1", resolved, &a, &resolve), OK);
    TESTING_TURN_UNTIL(loop, a.calls > 0);
    assert_int_equal(a.rc, ERR_UNREACHABLE);
    assert_int_equal(a.addresses, 0);
    loop_destroy(loop);
}

static void test_a_cancelled_resolve_is_not_answered(void **state)
{
    struct loop_resolve *first, *second, *third;
    struct answer cancelled = {0}, a = {0};
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_int_equal(loop_resolve_start(loop, "localhost", "1", resolved, &cancelled, &first), OK);
    assert_int_equal(loop_resolve_start(loop, "localhost", "2", resolved, &a, &second), OK);
    assert_int_equal(loop_resolve_start(loop, "localhost", "3", resolved, &cancelled, &third), OK);
    loop_resolve_cancel(third);
    loop_resolve_cancel(first);
    TESTING_TURN_UNTIL(loop, a.calls > 0);
    assert_int_equal(a.port, 2);
    assert_int_equal(loop_resolve_start(loop, "localhost", "1", resolved, &cancelled, &first), OK);
    loop_resolve_cancel(first);
    loop_destroy(loop);
    assert_int_equal(cancelled.calls, 0);
}

static void test_no_memory_is_reported(void **state)
{
    struct loop_resolve *resolve = NULL;
    struct answer a = {0};
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    mem_fail_at(1, 1);
    assert_int_equal(loop_resolve_start(loop, "localhost", "1", resolved, &a, &resolve), ERR_NOMEM);
    assert_null(resolve);
    loop_destroy(loop);
    assert_int_equal(a.calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_localhost_has_an_address),
        cmocka_unit_test(test_a_name_that_cannot_exist_is_unreachable),
        cmocka_unit_test(test_a_cancelled_resolve_is_not_answered),
        cmocka_unit_test(test_no_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
