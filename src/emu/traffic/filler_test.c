/* Fillers: orders, and real flows between two of them on loopback. */

#include "emu/traffic/filler.h"

#include "base/mem.h"
#include "net/stream/socket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)
#define TO "tcp://127.0.0.1:7000"

static void test_orders_are_read(void **state)
{
    static const char begin[] = "begin 15 12500000 " TO, end[] = "end 0";
    struct filler_order o;
    struct err_text text = {""};

    (void)state;
    assert_int_equal(filler_order_parse(begin, strlen(begin), &o, &text), OK);
    assert_true(o.begin);
    assert_int_equal(o.kind, 15);
    assert_int_equal(o.bytes_per_s, 12500000);
    assert_string_equal(o.to.host, "127.0.0.1");
    assert_string_equal(o.to.port, "7000");
    assert_int_equal(filler_order_parse(end, strlen(end), &o, &text), OK);
    assert_false(o.begin);
    assert_int_equal(o.kind, 0);
}

static void test_other_words_are_refused(void **state)
{
    static const char *const lines[] = {"",
                                        "begin",
                                        "begin 0 0",
                                        "begin 16 0 " TO,
                                        "begin 0 x " TO,
                                        "begin 0 -1 " TO,
                                        "begin 0 0 " TO " 1",
                                        "begin 0 999999999999 " TO,
                                        "end",
                                        "end 16",
                                        "end 1 1",
                                        "stop 1",
                                        "begin 0 0 tcp://nowhere"};
    char large[FILLER_ORDER_BYTES_MAX + 2];

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct filler_order o;
        struct err_text text = {""};

        assert_int_equal(filler_order_parse(lines[i], strlen(lines[i]), &o, &text), ERR_MALFORMED);
        assert_true(text.text[0] != '\0');
    }
    memset(large, 'a', sizeof(large));
    assert_int_equal(
        filler_order_parse(large, sizeof(large), &(struct filler_order){0}, &(struct err_text){""}),
        ERR_MALFORMED);
}

struct pair {
    struct loop *loop;
    struct net_socket_transport transport;
    struct filler *fillers[2];
};

static enum err pair_make(struct pair *p, int i, const char *port)
{
    struct filler_config config = {
        .loop = p->loop,
        .transport = &p->transport.base,
        .at = {.scheme = NET_SCHEME_TCP, .host = "127.0.0.1"},
    };
    struct err_text text = {""};

    (void)snprintf(config.at.port, sizeof(config.at.port), "%s", port);
    return filler_create(&config, &p->fillers[i], &text);
}

static void pair_open(struct pair *p)
{
    struct net_socket_options options = {.congestion = ""};

    *p = (struct pair){.loop = NULL};
    assert_int_equal(loop_create(&p->loop), OK);
    net_socket_transport_init(&p->transport, p->loop, &options);
    assert_int_equal(pair_make(p, 0, "0"), OK);
    assert_int_equal(pair_make(p, 1, "0"), OK);
}

static void pair_close(struct pair *p)
{
    filler_destroy(p->fillers[0]);
    filler_destroy(p->fillers[1]);
    loop_destroy(p->loop);
}

static void begin(struct pair *p, int from, const struct net_address *to, uint32_t kind,
                  uint64_t rate)
{
    struct filler_order order = {.begin = true, .kind = kind, .bytes_per_s = rate, .to = *to};

    assert_int_equal(filler_do(p->fillers[from], &order), OK);
}

/* Until the other has so much of a kind. */
static void wait_for(struct pair *p, int at, uint32_t kind, uint64_t bytes)
{
    int64_t give_up_ns = loop_now_ns(p->loop) + 20 * SECOND;

    while (filler_received(p->fillers[at], kind) < bytes) {
        loop_turn(p->loop, SECOND);
        assert_true(loop_now_ns(p->loop) < give_up_ns);
    }
}

static void test_flows_go_on_until_they_are_ended_and_are_counted_by_kind(void **state)
{
    struct filler_order end = {.begin = false, .kind = 3};
    struct pair p;
    uint64_t before;

    (void)state;
    pair_open(&p);
    begin(&p, 0, filler_address(p.fillers[1]), 3, 0);
    begin(&p, 0, filler_address(p.fillers[1]), 4, 0);
    begin(&p, 1, filler_address(p.fillers[0]), 3, 0);
    assert_int_equal(filler_flows(p.fillers[0]), 2);
    wait_for(&p, 1, 3, 10 << 20);
    wait_for(&p, 1, 4, 10 << 20);
    wait_for(&p, 0, 3, 10 << 20);
    assert_int_equal(filler_received(p.fillers[0], 4), 0);
    assert_int_equal(filler_do(p.fillers[0], &end), OK);
    assert_int_equal(filler_flows(p.fillers[0]), 1);
    assert_int_equal(filler_flows(p.fillers[1]), 1);
    before = filler_received(p.fillers[1], 4);
    wait_for(&p, 1, 4, before + (10 << 20));
    pair_close(&p);
}

static void test_a_flow_has_no_more_than_its_rate(void **state)
{
    int64_t start_ns;
    struct pair p;

    (void)state;
    pair_open(&p);
    start_ns = loop_now_ns(p.loop);
    begin(&p, 0, filler_address(p.fillers[1]), 0, 4000000);
    wait_for(&p, 1, 0, 1000000);
    /* A quarter of a second, less what TCP sends at once in the beginning. */
    assert_true(loop_now_ns(p.loop) - start_ns > SECOND / 10);
    pair_close(&p);
}

static void test_who_is_not_there_is_dialled_again(void **state)
{
    struct net_address at;
    struct pair p;

    (void)state;
    pair_open(&p);
    at = *filler_address(p.fillers[1]);
    filler_destroy(p.fillers[1]);
    p.fillers[1] = NULL;
    begin(&p, 0, &at, 0, 0);
    loop_turn(p.loop, SECOND / 10);
    assert_int_equal(pair_make(&p, 1, at.port), OK);
    wait_for(&p, 1, 0, 1);
    pair_close(&p);
}

static void test_who_cannot_listen_says_so(void **state)
{
    struct pair p;
    char port[NET_PORT_BYTES];

    (void)state;
    pair_open(&p);
    (void)snprintf(port, sizeof(port), "%s", filler_address(p.fillers[0])->port);
    filler_destroy(p.fillers[1]);
    p.fillers[1] = NULL;
    assert_true(pair_make(&p, 1, port) != OK);
    pair_close(&p);
}

static void test_memory_may_run_out(void **state)
{
    enum err rc = ERR_NOMEM;
    struct pair p;
    uint64_t k;

    (void)state;
    pair_open(&p);
    filler_destroy(p.fillers[1]);
    p.fillers[1] = NULL;
    for (k = 1; rc != OK; k++) {
        mem_fail_at(k, 1);
        rc = pair_make(&p, 1, "0");
        mem_fail_at(0, 0);
    }
    assert_true(k > 3);
    for (k = 1, rc = ERR_NOMEM; rc != OK; k++) {
        struct filler_order order = {.begin = true, .to = *filler_address(p.fillers[1])};

        mem_fail_at(k, 1);
        rc = filler_do(p.fillers[0], &order);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
    }
    wait_for(&p, 1, 0, 1);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders_are_read),
        cmocka_unit_test(test_other_words_are_refused),
        cmocka_unit_test(test_flows_go_on_until_they_are_ended_and_are_counted_by_kind),
        cmocka_unit_test(test_a_flow_has_no_more_than_its_rate),
        cmocka_unit_test(test_who_is_not_there_is_dialled_again),
        cmocka_unit_test(test_who_cannot_listen_says_so),
        cmocka_unit_test(test_memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
