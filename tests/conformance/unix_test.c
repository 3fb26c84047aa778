/* What only unix sockets have: files that stay behind, and paths with a limit. */

#include "suites.h"

#include "link.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static enum err unix_listen(struct conf_world *w, struct net_listener **listener,
                            struct err_text *text)
{
    struct net_accept accept = {0};

    return w->b.transport->ops->listen(w->b.transport, &w->at, &accept, listener, text);
}

static void test_a_stale_socket_file_is_replaced(void **state)
{
    struct conf_world *w = *state;
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    struct conf_pair pair;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    strcpy(un.sun_path, w->at.host);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    assert_int_equal(close(fd), 0); /* As a crash leaves it: the file stays. */
    assert_int_equal(access(w->at.host, F_OK), 0);
    conf_pair_open(&pair, w);
    conf_pair_wait(&pair);
    conf_pair_close(&pair);
    pair.door->listener->ops->destroy(pair.door->listener);
    pair.door->listener = NULL;
    assert_int_not_equal(access(w->at.host, F_OK), 0);
}

static void test_a_living_socket_is_not_replaced(void **state)
{
    struct net_listener *listener;
    struct err_text text = {0};
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    assert_int_equal(unix_listen(pair.world, &listener, &text), ERR_IO);
    assert_non_null(strstr(text.text, pair.world->at.host));
    assert_non_null(strstr(text.text, "in use"));
    conf_pair_wait(&pair);
    conf_pair_close(&pair);
}

static void test_a_file_that_is_no_socket_is_left_alone(void **state)
{
    struct conf_world *w = *state;
    struct net_listener *listener;
    struct err_text text = {0};
    FILE *file = fopen(w->at.host, "w");

    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(unix_listen(w, &listener, &text), ERR_IO);
    assert_int_equal(access(w->at.host, F_OK), 0);
}

static void test_a_path_that_is_too_long_is_refused(void **state)
{
    struct conf_world *w = *state;
    struct conf_link *link = conf_link_new(&w->a);
    struct net_listener *listener;
    struct err_text text = {0};

    memset(w->at.host, 'x', 108);
    w->at.host[108] = '\0';
    assert_int_equal(unix_listen(w, &listener, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, "too long"));
    conf_link_dial(link, &w->at);
    conf_until(w, conf_link_closed, link, CONF_LIMIT_NS);
    assert_int_equal(link->why, ERR_INVALID);
}

const struct CMUnitTest conf_unix_tests[] = {
    CONF_TEST(test_a_stale_socket_file_is_replaced),
    CONF_TEST(test_a_living_socket_is_not_replaced),
    CONF_TEST(test_a_file_that_is_no_socket_is_left_alone),
    CONF_TEST(test_a_path_that_is_too_long_is_refused),
};
const size_t conf_unix_count = sizeof(conf_unix_tests) / sizeof(conf_unix_tests[0]);
