/* Runs whose members share network cards: times that can be told by hand. */

#include "run/sim.h"

#include "run/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* What a run of one region takes, in seconds. */
static double took_s(const char *links, const char *servers, uint32_t workers, const char *rest)
{
    static const struct run_watcher watcher = {.row = NULL};
    struct run_sim_result result;
    struct err_text text = {""};
    struct run_file *f;
    char yaml[2048];

    (void)snprintf(yaml, sizeof(yaml),
                   "run: cards\n"
                   "topology: {regions: [eu]}\n"
                   "links: {%s}\n"
                   "servers: %s\n"
                   "workers: [{region: eu, count: %u}]\n"
                   "evaluate: {every: 0}\n"
                   "compute: {time: 1ns}\n"
                   "%s",
                   links, servers, workers, rest);
    f = testing_parse(yaml);
    if (run_sim(f, &watcher, NULL, &result, &text) != OK) {
        fail_msg("%s", text.text);
    }
    assert_int_equal(result.base.end, RUN_END_CLOCKS);
    run_file_free(f);
    return (double)result.base.took_ns * 1e-9;
}

static void assert_near(double is, double should_be, double part)
{
    if (is < should_be * (1 - part) || is > should_be * (1 + part)) {
        fail_msg("%g s instead of %g s", is, should_be);
    }
}

#define TWO_MB "job: {name: synthetic, options: {mb: 2}}\nstop: {clocks: 5}\n"
#define CARD "card: 20mbit" /* 2 MB take 0.8 s. */

/* Each clock moves the model out of the server's card once for each worker, and back. */
static void test_workers_share_the_card_of_their_server(void **state)
{
    (void)state;
    assert_near(took_s(CARD, "[{region: eu}]", 1, TWO_MB), 5 * 2 * 0.8, 0.03);
    assert_near(took_s(CARD, "[{region: eu}]", 8, TWO_MB), 5 * 2 * 0.8 * 8, 0.03);
    assert_near(took_s("scale: 1/10, card: 200mbit", "[{region: eu}]", 8, TWO_MB), 5 * 2 * 0.8 * 8,
                0.03);
    assert_true(took_s("scale: 1", "[{region: eu}]", 8, TWO_MB) < 0.2);
}

/* A server is one host, however many lanes it has; two servers are two. */
static void test_lanes_share_a_card_and_servers_do_not(void **state)
{
    (void)state;
    assert_near(took_s(CARD, "[{region: eu, lanes: 4}]", 4, TWO_MB), 5 * 2 * 0.8 * 4, 0.06);
    assert_near(took_s(CARD, "[{region: eu}, {region: eu}]", 4, TWO_MB), 5 * 2 * 0.8 * 2, 0.06);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_share_the_card_of_their_server),
        cmocka_unit_test(test_lanes_share_a_card_and_servers_do_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
