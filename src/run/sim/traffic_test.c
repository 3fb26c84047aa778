/* Runs whose members share network cards, among themselves and with other people's traffic: times
 * that can be told by hand. */

#include "run/sim/sim.h"

#include "run/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A run, and what was seen of it. */
struct seen {
    double took_s;
    uint64_t wan_bytes;
    uint64_t all_bytes;
    uint64_t way_bytes[2]; /* From the first region to the second, and back, if there are two. */
    uint64_t background_bytes;
    uint32_t on, off; /* Events. */
    uint64_t told;    /* Bytes that the latter told of. */
    int64_t first_ns; /* When it was on first. */
    uint64_t hash;
};

static void seen_event(int64_t now_ns, const char *kind, const char *who, const char *text,
                       void *user)
{
    struct seen *s = user;
    unsigned long bytes;

    if (strcmp(kind, "background") != 0) {
        return;
    }
    assert_string_equal(who, "shuffle");
    if (strncmp(text, "on, ", 4) == 0) {
        s->first_ns = s->on++ == 0 ? now_ns : s->first_ns;
    } else {
        assert_int_equal(sscanf(text, "off, %lu bytes", &bytes), 1);
        s->told += bytes;
        s->off++;
    }
}

static void seen_over(const struct run_picture *picture, const struct run_result *result,
                      void *user)
{
    struct seen *s = user;

    (void)result;
    s->wan_bytes = run_traffic_total(picture->traffic);
    s->all_bytes = run_traffic_all(picture->traffic);
    for (uint32_t i = 0; i < 2 && picture->traffic->regions == 2; i++) {
        s->way_bytes[i] = run_traffic_between(picture->traffic, i, 1 - i);
    }
    s->background_bytes = picture->background_bytes;
}

static void run_yaml(const char *yaml, struct seen *s)
{
    struct run_watcher watcher = {.event = seen_event, .over = seen_over, .user = s};
    struct run_sim_options options = {.trace = true};
    struct run_file *f = testing_parse(yaml);
    struct run_sim_result result;
    struct err_text text = {""};

    *s = (struct seen){.took_s = 0};
    if (run_sim(f, &watcher, &options, &result, &text) != OK) {
        fail_msg("%s", text.text);
    }
    assert_int_equal(result.base.end, RUN_END_CLOCKS);
    s->took_s = (double)result.base.took_ns * 1e-9;
    s->hash = result.transcript_hash;
    run_file_free(f);
}

/* What a run of one region takes, in seconds. */
static double took_s(const char *links, const char *servers, uint32_t workers, const char *rest)
{
    struct seen s;
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
    run_yaml(yaml, &s);
    return s.took_s;
}

static void assert_near(double is, double should_be, double part)
{
    if (is < should_be * (1 - part) || is > should_be * (1 + part)) {
        fail_msg("%g instead of %g", is, should_be);
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

#define TWO_HOSTS                                                                                  \
    "run: shared\n"                                                                                \
    "topology: {regions: [eu]}\n"                                                                  \
    "servers: [{region: eu}]\n"                                                                    \
    "workers: [{region: eu}]\n"                                                                    \
    "evaluate: {every: 0}\n"                                                                       \
    "compute: {time: 1ns}\n" TWO_MB
#define SHUFFLE "background: [{name: shuffle, flows: 1, steady: true, "

/* There are two hosts, so the flow is beside what is read or beside what is pushed: one of both
 * takes twice as long, and the flow has what is left of the card. */
static void test_a_flow_has_its_fair_share_of_a_card(void **state)
{
    struct seen s;

    (void)state;
    run_yaml(TWO_HOSTS "links: {" CARD "}\n" SHUFFLE "on: 1h}]\n", &s);
    assert_near(s.took_s, 5 * (0.8 + 1.6), 0.02);
    assert_near((double)s.background_bytes, s.took_s * 2.5e6 - 10e6, 0.02);
    assert_int_equal(s.on, 1);
    assert_int_equal(s.off, 0);
    assert_int_equal(s.wan_bytes, 0);
    assert_near((double)s.all_bytes, 5 * 2 * 2e6, 0.02); /* Inside of the region, and ours alone. */
    /* At scale it is the same run, and bytes are as at full size. */
    run_yaml(TWO_HOSTS "links: {scale: 1/10, card: 200mbit}\n" SHUFFLE "on: 1h}]\n", &s);
    assert_near(s.took_s, 5 * (0.8 + 1.6), 0.02);
    assert_near((double)s.background_bytes, s.took_s * 25e6 - 100e6, 0.02);
    assert_near((double)s.all_bytes, 5 * 2 * 20e6, 0.02);
}

/* A quarter of the card is somebody else's: what is beside it takes 4/3 as long. */
static void test_a_flow_has_no_more_than_its_rate(void **state)
{
    struct seen s;

    (void)state;
    run_yaml(TWO_HOSTS "links: {" CARD "}\n" SHUFFLE "on: 1h, rate: 5mbit}]\n", &s);
    assert_near(s.took_s, 5 * (0.8 + 0.8 * 4 / 3), 0.02);
    assert_near((double)s.background_bytes, s.took_s * 0.625e6, 0.001);
}

/* From 1 s to 3 s and from 7 s to 9 s; the run would take 8 s and is held up meanwhile. */
static void test_it_is_on_and_off_when_it_should_be(void **state)
{
    struct seen s;

    (void)state;
    run_yaml(TWO_HOSTS "links: {" CARD "}\n" SHUFFLE "on: 2s, off: 4s, after: 1s, until: 10s}]\n",
             &s);
    assert_int_equal(s.on, 2);
    assert_int_equal(s.off, 2);
    assert_int_equal(s.first_ns, 1000000000);
    assert_int_equal(s.told, s.background_bytes);
    /* Between half a card and a whole one all the time that it was on. */
    assert_in_range(s.background_bytes, 5000000, 10000000);
    assert_near(s.took_s, 8 + (10e6 - (double)s.background_bytes) / 2.5e6, 0.05);
}

#define TWO_REGIONS                                                                                \
    "run: apart\n"                                                                                 \
    "topology: {regions: [eu, us], default_link: {rate: 20mbit, delay: 10ms, price: 1}}\n"         \
    "servers: [{region: eu}]\n"                                                                    \
    "workers: [{region: us}]\n"                                                                    \
    "evaluate: {every: 0}\n"                                                                       \
    "compute: {time: 1ns}\n" TWO_MB

/* Links are shared like cards, and the run pays for what is its own. */
static void test_links_between_regions_are_shared_and_not_billed(void **state)
{
    struct seen alone, beside;

    (void)state;
    run_yaml(TWO_REGIONS, &alone);
    run_yaml(TWO_REGIONS SHUFFLE "on: 1h}]\n", &beside);
    assert_near(alone.took_s, 5 * 1.6, 0.06);
    assert_near(beside.took_s, 5 * 2.4, 0.06);
    assert_near((double)beside.wan_bytes, (double)alone.wan_bytes, 0.01);
    assert_near((double)beside.background_bytes, beside.took_s * 2.5e6 - 10e6, 0.06);
    assert_int_equal(alone.background_bytes, 0);
}

#define CROSSED(duplex)                                                                            \
    "run: crossed\n"                                                                               \
    "topology: {duplex: " duplex ", regions: [eu, us],\n"                                          \
    "           links: [{between: [eu, us], rate: 8mbit, delay: 1ms}]}\n"                          \
    "servers: [{region: eu}, {region: us}]\n"                                                      \
    "workers: [{region: eu}, {region: us}]\n"                                                      \
    "evaluate: {every: 0}\n"                                                                       \
    "compute: {time: 1ns}\n" TWO_MB

/* Three quarters of the model are at one of the servers. So 1.5 MB go one way while 0.5 MB go the
 * other way when it is pushed, and back when it is read, at 1 MB/s. */
static void test_directions_that_share_a_rate_take_twice_as_long(void **state)
{
    struct seen full, shared;

    (void)state;
    run_yaml(CROSSED("full"), &full);
    run_yaml(CROSSED("shared"), &shared);
    assert_near(full.took_s, 5 * 2 * 1.5, 0.03);
    assert_near(shared.took_s, 5 * 2 * 2.0, 0.03);
    for (int way = 0; way < 2; way++) {
        assert_near((double)full.way_bytes[way], 5 * 2e6, 0.03);
        assert_near((double)shared.way_bytes[way], 5 * 2e6, 0.03);
    }
}

#define CROWD(seed)                                                                                \
    "run: crowd\n"                                                                                 \
    "seed: " seed "\n"                                                                             \
    "topology: {regions: [eu]}\n"                                                                  \
    "links: {card: 100mbit}\n"                                                                     \
    "servers: [{region: eu}, {region: eu}]\n"                                                      \
    "workers: [{region: eu, count: 6}]\n"                                                          \
    "background: [{name: shuffle, flows: 10, on: 300ms, off: 500ms}]\n"                            \
    "compute: {time: 20ms}\n" TWO_MB

static void test_the_same_seed_gives_the_same_run(void **state)
{
    struct seen one, two, other;

    (void)state;
    run_yaml(CROWD("1"), &one);
    run_yaml(CROWD("1"), &two);
    run_yaml(CROWD("2"), &other);
    assert_true(one.hash == two.hash && one.hash != other.hash);
    assert_int_equal(one.background_bytes, two.background_bytes);
    assert_true(one.background_bytes != other.background_bytes);
    assert_true(one.on > 2 && one.off + 1 >= one.on);
}

static void test_memory_may_run_out(void **state)
{
    struct run_file *f = testing_parse("run: tiny\n"
                                       "topology: {regions: [eu]}\n"
                                       "servers: [{region: eu}]\n"
                                       "workers: [{region: eu}]\n"
                                       "background: [{flows: 3, on: 1ms, off: 1ms}]\n"
                                       "job: {name: synthetic, options: {elements: 64}}\n"
                                       "stop: {clocks: 1}\n");

    (void)state;
    testing_starve(f, 20);
    run_file_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_share_the_card_of_their_server),
        cmocka_unit_test(test_lanes_share_a_card_and_servers_do_not),
        cmocka_unit_test(test_a_flow_has_its_fair_share_of_a_card),
        cmocka_unit_test(test_a_flow_has_no_more_than_its_rate),
        cmocka_unit_test(test_it_is_on_and_off_when_it_should_be),
        cmocka_unit_test(test_links_between_regions_are_shared_and_not_billed),
        cmocka_unit_test(test_directions_that_share_a_rate_take_twice_as_long),
        cmocka_unit_test(test_the_same_seed_gives_the_same_run),
        cmocka_unit_test(test_memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
