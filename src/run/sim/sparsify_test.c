/* Sparsification in simulated runs: less goes over the links, all clocks are there, and compression
 * takes its time. */

#include "run/sim/sim.h"

#include "run/testing.h"

#include <math.h>

struct seen {
    uint64_t clocks;
    uint64_t wan_bytes;
    double objective;
    int64_t compute_ns; /* Of the first worker. */
    struct node_sparsify_totals sparsified;
    struct node_sparsify_totals served;
    struct run_sim_result result;
};

static void seen_over(const struct run_picture *p, const struct run_result *result, void *user)
{
    struct seen *s = user;

    assert_int_equal(result->end, RUN_END_CLOCKS);
    s->clocks = run_tally_clock_all(p->tally);
    s->wan_bytes = run_traffic_total(p->traffic);
    s->objective = run_tally_score(p->tally)->objective;
    s->compute_ns = run_tally_worker(p->tally, 0)->compute_ns;
    s->sparsified = run_tally_sparsified(p->tally);
    s->served = p->served;
}

/* Workers of one site in two regions. */
static struct seen seen_run(const char *links, const char *sync, const char *slowdown)
{
    struct seen s = {0};
    struct run_watcher watcher = {.over = seen_over, .user = &s};
    struct err_text text = {""};
    struct run_file *f;
    char yaml[1024];

    (void)snprintf(yaml, sizeof(yaml),
                   "run: sparsify\n"
                   "topology:\n"
                   "  regions: [eu, us]\n"
                   "  links: [{between: [eu, us], rate: 20mbit, rtt: 20ms}]\n"
                   "servers: [{region: eu}, {region: us}]\n"
                   "workers: [{region: eu, slowdown: %s}, {region: us, count: 2}]\n"
                   "links: {%s}\nsync: {%s}\n"
                   "job: {name: logreg}\n"
                   "compute: {time: 10ms}\nstop: {clocks: 40}\n",
                   slowdown, links, sync);
    f = testing_parse(yaml);
    if (run_sim(f, &watcher, NULL, &s.result, &text) != OK) {
        fail_msg("%s", text.text);
    }
    run_file_free(f);
    return s;
}

static void test_less_is_sent_and_as_much_is_learnt(void **state)
{
    struct seen plain = seen_run("scale: 1", "delivery: broadcast", "1");
    struct seen sparsified =
        seen_run("scale: 1", "delivery: broadcast, filter: dvf:delta=0.005 | auto", "1");

    (void)state;
    assert_int_equal(plain.clocks, 40);
    assert_int_equal(sparsified.clocks, 40);
    assert_int_equal(plain.sparsified.elements, 0);
    assert_true(sparsified.wan_bytes < plain.wan_bytes);
    assert_true(sparsified.sparsified.sent_elements < sparsified.sparsified.elements);
    assert_true(sparsified.served.sent_elements < sparsified.served.elements);
    assert_true(fabs(sparsified.objective - plain.objective) < 0.1 * plain.objective);
}

/* What encodings cost is part of the step, on slow machines more of it. */
static void test_compression_takes_time(void **state)
{
    struct seen plain = seen_run("scale: 1", "delivery: broadcast", "1");
    struct seen sparsified = seen_run("scale: 1", "delivery: broadcast, filter: all | dense", "1");
    struct seen slow = seen_run("scale: 1", "delivery: broadcast, filter: all | dense", "3");
    int64_t codec_ns = sparsified.sparsified.encode_ns + sparsified.sparsified.decode_ns;

    (void)state;
    assert_int_equal(plain.compute_ns, 400000000);
    assert_true(codec_ns > 0 && sparsified.served.encode_ns > 0 && sparsified.served.decode_ns > 0);
    /* All workers do the same, and the first step has nothing to pay for yet. */
    assert_in_range(sparsified.compute_ns - plain.compute_ns, codec_ns / 3 * 38 / 40, codec_ns / 3);
    assert_in_range(slow.compute_ns - 3 * plain.compute_ns, codec_ns * 38 / 40, codec_ns);
}

/* A small model stands for a large one, whose chunks take longer. */
static void test_at_scale_it_takes_as_long_as_at_full_size(void **state)
{
    struct seen full = seen_run("scale: 1", "delivery: broadcast, filter: all | dense", "1");
    struct seen model = seen_run("scale: 1/10", "delivery: broadcast, filter: all | dense", "1");

    (void)state;
    assert_int_equal(model.sparsified.elements, full.sparsified.elements);
    assert_in_range(model.sparsified.encode_ns, full.sparsified.encode_ns * 9,
                    full.sparsified.encode_ns * 11);
}

static void test_workers_alone_may_sparsify(void **state)
{
    struct seen s = seen_run("scale: 1", "push: norm:delta=0.01 | gaps | zstd", "1");

    (void)state;
    assert_int_equal(s.clocks, 40);
    assert_true(s.sparsified.sent_elements < s.sparsified.elements && s.sparsified.bytes > 0);
    assert_int_equal(s.sparsified.decode_ns, 0);
    assert_int_equal(s.served.elements, 0);
    assert_true(s.served.decode_ns > 0);
}

static void test_the_same_run_is_the_same_each_time(void **state)
{
    struct seen a = seen_run("scale: 1", "delivery: broadcast, filter: dvf:delta=0.005", "1");
    struct seen b = seen_run("scale: 1", "delivery: broadcast, filter: dvf:delta=0.005", "1");

    (void)state;
    assert_int_equal(a.result.transcript_hash, b.result.transcript_hash);
    assert_int_equal(a.result.base.took_ns, b.result.base.took_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_less_is_sent_and_as_much_is_learnt),
        cmocka_unit_test(test_compression_takes_time),
        cmocka_unit_test(test_at_scale_it_takes_as_long_as_at_full_size),
        cmocka_unit_test(test_workers_alone_may_sparsify),
        cmocka_unit_test(test_the_same_run_is_the_same_each_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
