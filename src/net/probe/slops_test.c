/* Tests of the bandwidth search against a fluid model of one queue: capacity, cross traffic that
 * may fluctuate, jitter, and clocks that are coarse, apart and drifting. */

#include "net/probe/slops.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A path; rates in bytes per second. */
struct path {
    double capacity;
    double cross;       /* Mean. */
    double cross_swing; /* 0..1: share of the mean by which it changes now and then. */
    double jitter_ns;   /* Uniform, added after the queue. */
    double spike_ns;    /* Of one frame in fifty. */
    int64_t tick_ns;    /* Of the receiver's clock. */
    double drift;       /* Of the receiver's clock. */
    uint32_t loss_ppm;
    uint64_t seed;
};

/* The state of the queue. */
struct model {
    const struct path *path;
    struct rng rng;
    double now_s;
    double queue_bytes;
    double cross_now;
    double cross_until_s;
    int64_t offset_ns;
};

static void model_init(struct model *model, const struct path *path)
{
    *model = (struct model){.path = path, .cross_now = path->cross};
    rng_init(&model->rng, path->seed);
    model->offset_ns = rng_between(&model->rng, -INT64_C(4000000000000), INT64_C(4000000000000));
}

/* Let time pass: cross traffic comes, the queue drains. */
static void model_advance(struct model *model, double seconds)
{
    const struct path *path = model->path;

    while (seconds > 0) {
        double step = seconds < 0.002 ? seconds : 0.002;

        if (model->now_s >= model->cross_until_s) {
            double swing = path->cross_swing * (2 * rng_unit(&model->rng) - 1);

            model->cross_now = path->cross * (1 + swing);
            model->cross_until_s = model->now_s + 0.001 + 0.01 * rng_unit(&model->rng);
        }
        model->queue_bytes += (model->cross_now - path->capacity) * step;
        if (model->queue_bytes < 0) {
            model->queue_bytes = 0;
        }
        model->now_s += step;
        seconds -= step;
    }
}

/* Send a train; returns how many delays came back. */
static uint32_t model_send(struct model *model, const struct net_slops_train *train,
                           int64_t *delays_ns, uint32_t *lost_out)
{
    const struct path *path = model->path;
    uint32_t n = 0;

    *lost_out = 0;
    for (uint32_t i = 0; i < train->count; i++) {
        double delay_ns, at_ns;
        int64_t tick = path->tick_ns > 0 ? path->tick_ns : 1;

        model->queue_bytes += train->frame_bytes;
        delay_ns = model->queue_bytes / path->capacity * 1e9 + 20e6;
        delay_ns += path->jitter_ns * rng_unit(&model->rng);
        if (rng_chance(&model->rng, 20000)) {
            delay_ns += path->spike_ns;
        }
        at_ns = model->now_s * 1e9 * (path->drift - 1) + delay_ns;
        if (rng_chance(&model->rng, path->loss_ppm)) {
            ++*lost_out;
        } else {
            delays_ns[n++] = (model->offset_ns + (int64_t)at_ns) / tick * tick;
        }
        model_advance(model, (double)train->spacing_ns / 1e9);
    }
    model_advance(model, (double)train->pause_ns / 1e9);
    return n;
}

/* Measure; checks on the way what every train must obey. */
static struct net_slops_estimate measure(const struct path *path,
                                         const struct net_slops_config *config)
{
    struct net_slops m;
    struct net_slops_train train, again;
    struct net_slops_estimate estimate;
    struct model model;
    uint32_t number = 0;

    model_init(&model, path);
    assert_int_equal(net_slops_init(&m, config), OK);
    while (net_slops_next(&m, &train)) {
        int64_t delays_ns[NET_SLOPS_COUNT_MAX];
        uint32_t lost, n;

        assert_false(net_slops_done(&m, &estimate));
        assert_true(net_slops_next(&m, &again));
        assert_memory_equal(&train, &again, sizeof(train));
        assert_int_equal(train.number, ++number);
        assert_in_range(train.count, NET_SLOPS_COUNT_MIN, config->count);
        assert_true(train.frame_bytes <= config->frame_bytes);
        assert_true(train.spacing_ns * train.count <= NET_SLOPS_TRAIN_NS_MAX);
        assert_true(train.rate >= config->rate_min);
        assert_true(train.rate <= config->rate_max + config->rate_max / 1000);
        n = model_send(&model, &train, delays_ns, &lost);
        assert_int_equal(net_slops_report(&m, delays_ns, n, lost), OK);
    }
    assert_true(net_slops_done(&m, &estimate));
    assert_true(estimate.trains <= NET_SLOPS_TRAINS_MAX);
    assert_int_equal(estimate.trains, number);
    return estimate;
}

/* The answer is within @percent of what is free. */
static void check_within(const struct path *path, const struct net_slops_config *config,
                         double percent)
{
    struct net_slops_estimate e = measure(path, config);
    double free_rate = path->capacity - path->cross;
    double middle = ((double)e.low + (double)e.high) / 2;
    double error = 100 * (middle - free_rate) / free_rate;

    if (e.at_least || error > percent || error < -percent) {
        fail_msg("seed %llu, capacity %.0f, free %.0f: [%llu, %llu]%s after %u trains, %+.1f %%",
                 (unsigned long long)path->seed, path->capacity, free_rate,
                 (unsigned long long)e.low, (unsigned long long)e.high,
                 e.at_least ? " at least" : "", e.trains, error);
    }
}

static const struct net_slops_config usual = {
    .rate_min = 500000, .rate_max = 500000000, .frame_bytes = 65536, .count = 100};

static void test_quiet_path_within_ten_percent(void **state)
{
    struct rng rng;
    (void)state;

    rng_init(&rng, 1);
    for (uint64_t seed = 0; seed < 500; seed++) {
        double capacity = 1e6 * (1 + 399 * rng_unit(&rng) * rng_unit(&rng) * rng_unit(&rng));
        struct path path = {.capacity = capacity,
                            .cross = rng_unit(&rng) < 0.5 ? 0 : capacity * 0.6 * rng_unit(&rng),
                            .drift = 1,
                            .seed = seed};

        if (path.capacity - path.cross > 550000) {
            check_within(&path, &usual, 10);
        }
    }
}

static void test_noisy_path_within_twenty_percent(void **state)
{
    struct rng rng;
    (void)state;

    rng_init(&rng, 2);
    for (uint64_t seed = 0; seed < 500; seed++) {
        double capacity = 2e6 * (1 + 99 * rng_unit(&rng) * rng_unit(&rng));
        struct path path = {.capacity = capacity,
                            .cross = capacity * 0.5 * rng_unit(&rng),
                            .cross_swing = 0.3,
                            .jitter_ns = 500e3,
                            .spike_ns = 5e6,
                            .tick_ns = 1000,
                            .drift = 1 + 200e-6 * (rng_unit(&rng) - 0.5),
                            .seed = seed};

        check_within(&path, &usual, 20);
    }
}

static void test_coarse_clock_within_twenty_percent(void **state)
{
    struct rng rng;
    (void)state;

    rng_init(&rng, 3);
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct path path = {.capacity = 2e6 * (1 + 99 * rng_unit(&rng)),
                            .tick_ns = 1000000,
                            .drift = 1,
                            .seed = seed};

        check_within(&path, &usual, 20);
    }
}

/* Drifting clocks alone must not look like a queue that fills. */
static void test_drift_is_not_a_queue(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct path path = {.capacity = 1e12, .drift = 1 + 500e-6, .seed = seed};

        assert_true(measure(&path, &usual).at_least);
    }
}

static void test_fast_path_is_at_least_the_limit(void **state)
{
    struct path path = {.capacity = 1e10, .cross = 1e9, .jitter_ns = 200e3, .drift = 1};
    struct net_slops_estimate e;
    (void)state;

    for (uint64_t seed = 0; seed < 200; seed++) {
        path.seed = seed;
        e = measure(&path, &usual);
        assert_true(e.at_least);
        assert_int_equal(e.low, usual.rate_max);
        assert_int_equal(e.high, usual.rate_max);
    }
}

static void test_slow_path_is_below_the_lowest_rate(void **state)
{
    struct path path = {.capacity = 100000, .drift = 1};
    struct net_slops_estimate e = measure(&path, &usual);
    (void)state;

    assert_false(e.at_least);
    assert_int_equal(e.low, 0);
    assert_int_equal(e.high, usual.rate_min);
    assert_true(e.trains <= 3);
}

/* What frames of the allowed size cannot reach is not claimed. */
static void test_limit_is_what_frames_can_reach(void **state)
{
    struct net_slops_config config = usual;
    struct path path = {.capacity = 1e12, .drift = 1};
    struct net_slops_estimate e;
    (void)state;

    config.frame_bytes = 1500;
    config.rate_max = UINT64_C(1) << 36;
    e = measure(&path, &config);
    assert_true(e.at_least);
    assert_int_equal(e.low, UINT64_C(1500) * 1000000000 / NET_SLOPS_SPACING_NS_MIN);
}

static void test_few_lost_frames_do_not_matter(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct path path = {.capacity = 20e6,
                            .cross = 5e6,
                            .jitter_ns = 100e3,
                            .drift = 1,
                            .loss_ppm = 20000,
                            .seed = seed};

        check_within(&path, &usual, 10);
    }
}

static void test_many_lost_frames_mean_too_fast(void **state)
{
    struct path path = {.capacity = 1e9, .drift = 1, .loss_ppm = 500000};
    struct net_slops_estimate e = measure(&path, &usual);
    (void)state;

    assert_int_equal(e.low, 0);
    assert_int_equal(e.high, usual.rate_min);
}

static void test_missing_reports_end_the_search(void **state)
{
    struct net_slops m;
    struct net_slops_train train;
    struct net_slops_estimate e;
    (void)state;

    assert_int_equal(net_slops_init(&m, &usual), OK);
    while (net_slops_next(&m, &train)) {
        assert_int_equal(net_slops_report(&m, NULL, 0, 0), OK);
    }
    assert_true(net_slops_done(&m, &e));
    assert_true(e.at_least);
    assert_int_equal(e.low, 0); /* Nothing was learnt. */
    assert_true(e.trains <= NET_SLOPS_TRAINS_MAX);
}

static void test_absurd_reports_are_harmless(void **state)
{
    static const int64_t extremes[] = {INT64_MIN, INT64_MAX, 0, -1, 1, INT64_MIN + 1};
    struct rng rng;
    (void)state;

    rng_init(&rng, 4);
    for (int round = 0; round < 2000; round++) {
        struct net_slops m;
        struct net_slops_train train;
        struct net_slops_estimate e;
        uint32_t trains = 0;

        assert_int_equal(net_slops_init(&m, &usual), OK);
        while (net_slops_next(&m, &train)) {
            int64_t delays_ns[NET_SLOPS_COUNT_MAX];
            uint32_t n = (uint32_t)rng_below(&rng, train.count + 1);

            for (uint32_t i = 0; i < n; i++) {
                delays_ns[i] = round % 4 == 0   ? (int64_t)rng_next(&rng)
                               : round % 4 == 1 ? extremes[rng_below(&rng, 6)]
                               : round % 4 == 2 ? extremes[i < n / 2 ? 0 : 1]
                                                : extremes[i < n / 2 ? 1 : 0];
            }
            assert_int_equal(net_slops_report(&m, delays_ns, n, train.count - n), OK);
            assert_true(++trains <= NET_SLOPS_TRAINS_MAX);
        }
        assert_true(net_slops_done(&m, &e));
        assert_true(e.low <= e.high && e.high <= usual.rate_max);
    }
}

static void test_reports_that_do_not_fit_are_refused(void **state)
{
    struct net_slops m, before;
    struct net_slops_train train;
    int64_t delays_ns[NET_SLOPS_COUNT_MAX] = {0};
    (void)state;

    assert_int_equal(net_slops_init(&m, &usual), OK);
    assert_int_equal(net_slops_report(&m, delays_ns, 1, 0), ERR_INVALID); /* Nothing is out. */
    assert_true(net_slops_next(&m, &train));
    memcpy(&before, &m, sizeof(m));
    assert_int_equal(net_slops_report(&m, delays_ns, train.count + 1, 0), ERR_INVALID);
    assert_int_equal(net_slops_report(&m, delays_ns, train.count, 1), ERR_INVALID);
    assert_int_equal(net_slops_report(&m, delays_ns, 1, UINT32_MAX), ERR_INVALID);
    assert_int_equal(net_slops_report(&m, delays_ns, UINT32_MAX, UINT32_MAX), ERR_INVALID);
    assert_memory_equal(&m, &before, sizeof(m));
    assert_int_equal(net_slops_report(&m, delays_ns, train.count, 0), OK);
    assert_int_equal(net_slops_report(&m, delays_ns, train.count, 0), ERR_INVALID);
}

static void test_senseless_configurations_are_refused(void **state)
{
    struct net_slops m;
    struct net_slops_config c = usual;
    (void)state;

    c.rate_min = 0;
    assert_int_equal(net_slops_init(&m, &c), ERR_INVALID);
    c = usual;
    c.rate_max = c.rate_min - 1;
    assert_int_equal(net_slops_init(&m, &c), ERR_INVALID);
    c = usual;
    c.rate_max = UINT64_MAX;
    assert_int_equal(net_slops_init(&m, &c), ERR_INVALID);
    c = usual;
    c.count = NET_SLOPS_COUNT_MIN - 1;
    assert_int_equal(net_slops_init(&m, &c), ERR_INVALID);
    c.count = NET_SLOPS_COUNT_MAX + 1;
    assert_int_equal(net_slops_init(&m, &c), ERR_INVALID);
    c = usual;
    c.frame_bytes = NET_SLOPS_FRAME_BYTES_MIN - 1;
    assert_int_equal(net_slops_init(&m, &c), ERR_INVALID);
    c = usual;
    c.rate_min = 10000; /* Sixteen usual frames would take more than two seconds. */
    assert_int_equal(net_slops_init(&m, &c), ERR_INVALID);
    c.frame_bytes = NET_SLOPS_FRAME_BYTES_MIN;
    assert_int_equal(net_slops_init(&m, &c), OK);
    c.frame_bytes = UINT32_MAX;
    c.rate_min = 50000;
    c.rate_max = UINT64_C(1) << 36;
    assert_int_equal(net_slops_init(&m, &c), OK);
}

/* Every corner of the configuration gives trains within their limits. */
static void test_trains_stay_within_their_limits(void **state)
{
    static const uint32_t frames[] = {256, 1400, 1500, 65536, 4194304};
    static const uint32_t counts[] = {16, 17, 36, 100, 128};
    (void)state;

    for (size_t f = 0; f < 5; f++) {
        for (size_t c = 0; c < 5; c++) {
            struct net_slops_config config = {.rate_min = 50000,
                                              .rate_max = 5000000000,
                                              .frame_bytes = frames[f],
                                              .count = counts[c]};
            struct path path = {.capacity = 3e6, .drift = 1};

            (void)measure(&path, &config);
            path.capacity = 1e12;
            assert_true(measure(&path, &config).at_least);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quiet_path_within_ten_percent),
        cmocka_unit_test(test_noisy_path_within_twenty_percent),
        cmocka_unit_test(test_coarse_clock_within_twenty_percent),
        cmocka_unit_test(test_drift_is_not_a_queue),
        cmocka_unit_test(test_fast_path_is_at_least_the_limit),
        cmocka_unit_test(test_slow_path_is_below_the_lowest_rate),
        cmocka_unit_test(test_limit_is_what_frames_can_reach),
        cmocka_unit_test(test_few_lost_frames_do_not_matter),
        cmocka_unit_test(test_many_lost_frames_mean_too_fast),
        cmocka_unit_test(test_missing_reports_end_the_search),
        cmocka_unit_test(test_absurd_reports_are_harmless),
        cmocka_unit_test(test_reports_that_do_not_fit_are_refused),
        cmocka_unit_test(test_senseless_configurations_are_refused),
        cmocka_unit_test(test_trains_stay_within_their_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
