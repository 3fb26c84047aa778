/* Thresholds that follow the network, in simulated runs: a worker whose link becomes slow holds
 * back more, and less again when it heals; jitter changes nothing. */

#include "run/sim/sim.h"

#include "run/testing.h"

enum { STAGE_CLOCKS = 200 };

struct stage {
    uint32_t upper[STAGE_CLOCKS + 1]; /* By clock: workers that hold back more, */
    double time_s[STAGE_CLOCKS + 1];  /* and when it ended. */
    uint32_t changes;                 /* After the first time that nobody did. */
    uint64_t sent;                    /* By worker 0 until then, in bytes. */
    struct run_sim_result result;
};

static void stage_row(const struct run_row *row, const struct run_traffic *traffic, void *user)
{
    struct stage *s = user;

    s->sent = run_traffic_between(traffic, 1, 0);
    s->upper[row->clock] = row->upper;
    s->time_s[row->clock] = (double)row->now_ns * 1e-9;
}

static void stage_count(struct stage *s)
{
    uint32_t clock = 1;

    while (clock <= STAGE_CLOCKS && s->upper[clock] > 0) {
        clock++;
    }
    for (; clock < STAGE_CLOCKS; clock++) {
        s->changes += s->upper[clock] != s->upper[clock + 1];
    }
}

/* Worker 0 is in a region of its own, the others are with the server. */
static struct stage stage_run_job(const char *link, const char *sync, const char *job,
                                  const char *rest)
{
    struct stage s = {.changes = 0};
    struct run_watcher watcher = {.row = stage_row, .user = &s};
    struct err_text text = {""};
    struct run_file *f;
    char yaml[1024];

    (void)snprintf(yaml, sizeof(yaml),
                   "run: look\n"
                   "topology:\n"
                   "  regions: [near, far]\n"
                   "  lan: {rate: 1gbit, delay: 100us}\n"
                   "  links: [{between: [near, far], %s}]\n"
                   "servers: [{region: near}]\n"
                   "workers: [{region: far}, {region: near, count: 2}]\n"
                   "sync: {delivery: broadcast, %s}\n"
                   "job: {name: synthetic, options: {elements: %s}\nstop: {clocks: %d}\n%s",
                   link, sync, job, STAGE_CLOCKS, rest);
    f = testing_parse(yaml);
    if (run_sim(f, &watcher, NULL, &s.result, &text) != OK) {
        fail_msg("%s", text.text);
    }
    assert_int_equal(s.result.base.end, RUN_END_CLOCKS);
    stage_count(&s);
    run_file_free(f);
    return s;
}

/* In a clock each sends and gets 800 kB, which takes 160 ms at 40 Mbit/s. */
static struct stage stage_run(const char *link, const char *sync, const char *rest)
{
    return stage_run_job(link, sync, "200000}}\ncompute: {time: 100ms", rest);
}

#define CHAIN "filter: 'dvf:low=1e-6,up=1e-5 | dense', required: 20mbit"
#define LINK "rate: 40mbit, rtt: 20ms"

/* All begin with the upper threshold, and find out soon that links are good. */
static void test_good_links_make_all_send_more_soon(void **state)
{
    struct stage s = stage_run(LINK, CHAIN, "");

    (void)state;
    assert_int_equal(s.upper[1], 3);
    assert_int_equal(s.upper[10], 0);
    assert_int_equal(s.changes, 0);
}

static void test_a_slow_link_makes_its_worker_hold_back_until_it_heals(void **state)
{
    struct stage s = stage_run(LINK, CHAIN, "faults: ['at 20s slow far near 20% for 20s']\n");
    double up_s = 0, low_s = 0;

    (void)state;
    for (uint32_t clock = 10; clock <= STAGE_CLOCKS; clock++) {
        if (s.upper[clock] == 1 && up_s == 0) {
            up_s = s.time_s[clock];
        }
        if (s.upper[clock] == 0 && up_s > 0 && low_s == 0) {
            low_s = s.time_s[clock];
        }
        assert_true(s.upper[clock] <= 1); /* The others have their own links. */
    }
    assert_true(up_s >= 20 && up_s < 22);
    assert_true(low_s >= 40 && low_s < 43);
    assert_int_equal(s.changes, 2);
}

/* A link that carries less than is required is never used for more. */
static void test_what_is_not_enough_stays_so(void **state)
{
    struct stage s = stage_run("rate: 15mbit, rtt: 20ms", CHAIN, "");

    (void)state;
    for (uint32_t clock = 1; clock <= STAGE_CLOCKS; clock++) {
        assert_true(s.upper[clock] >= 1);
    }
    assert_int_equal(s.upper[STAGE_CLOCKS], 1);
}

static void test_jitter_does_not_make_it_go_up_and_down(void **state)
{
    static const char *const links[] = {
        "rate: 40mbit, rtt: 20ms, jitter: 10ms",
        "rate: 30mbit, rtt: 100ms, jitter: 30ms",
        "rate: 26mbit, rtt: 4ms, jitter: 2ms",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        struct stage s = stage_run(links[i], CHAIN, "");

        if (s.upper[STAGE_CLOCKS] != 0 || s.changes != 0) {
            fail_msg("%s: %u changes, %u at the end", links[i], s.changes, s.upper[STAGE_CLOCKS]);
        }
    }
}

/* A few bytes now and then show nothing of what a link carries: probes do, while it is idle. They
 * are as large as ever on links that are slow only because the model is small: there are fewer. */
static void test_links_that_are_hardly_used_are_probed(void **state)
{
    struct stage good = stage_run_job(LINK, CHAIN, "1000}}\ncompute: {time: 20s", "");
    struct stage bad =
        stage_run_job("rate: 15mbit, rtt: 20ms", CHAIN, "1000}}\ncompute: {time: 20s", "");
    struct stage model = stage_run_job("rate: 1500mbit, rtt: 20ms",
                                       "filter: 'dvf:low=1e-6,up=1e-5 | dense', required: 2gbit",
                                       "1000}}\ncompute: {time: 20s", "links: {scale: 1/100}\n");

    (void)state;
    assert_true(model.sent < bad.sent); /* As at full size: what probes take of a link. */
    assert_int_equal(good.upper[1], 3);
    assert_int_equal(good.upper[STAGE_CLOCKS], 0);
    assert_int_equal(good.changes, 0);
    assert_int_equal(bad.upper[STAGE_CLOCKS], 1);
}

/* Nothing depends on links: nobody looks at them. */
static void test_one_threshold_needs_no_looks(void **state)
{
    struct stage one = stage_run(LINK, "filter: 'dvf:delta=1e-6 | dense'", "");
    struct stage two = stage_run(LINK, CHAIN, "");

    (void)state;
    assert_int_equal(one.upper[1], 0);
    assert_true(one.result.events < two.result.events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_links_make_all_send_more_soon),
        cmocka_unit_test(test_a_slow_link_makes_its_worker_hold_back_until_it_heals),
        cmocka_unit_test(test_what_is_not_enough_stays_so),
        cmocka_unit_test(test_jitter_does_not_make_it_go_up_and_down),
        cmocka_unit_test(test_links_that_are_hardly_used_are_probed),
        cmocka_unit_test(test_one_threshold_needs_no_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
