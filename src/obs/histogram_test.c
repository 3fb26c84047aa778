/* Histograms: bucket bounds, quantiles within the stated error, merging. */

#include "base/rng.h"
#include "obs/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { VALUES = 5000 };

/* Too large for the stack of a test with sanitizers; one at a time is used. */
static struct obs_histogram histogram, other, all;
static struct obs_distribution distribution, from, merged;

static void test_every_bucket_ends_where_the_next_begins(void **state)
{
    (void)state;
    assert_int_equal(obs_bucket_index(0), 0);
    for (uint32_t i = 0; i < OBS_BUCKETS; i++) {
        int64_t upper = obs_bucket_upper(i);

        assert_int_equal(obs_bucket_index(upper), i);
        if (i + 1 < OBS_BUCKETS) {
            assert_int_equal(obs_bucket_index(upper + 1), i + 1);
        }
    }
    assert_int_equal(obs_bucket_upper(OBS_BUCKETS - 1), INT64_MAX);
}

static void test_a_bucket_is_at_most_an_eighth_of_its_lower_bound_wide(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < OBS_BUCKETS; i++) {
        int64_t lower = obs_bucket_upper(i - 1) + 1;
        int64_t width = obs_bucket_upper(i) - lower + 1;

        assert_true(width == 1 || width <= lower / 8);
    }
}

static void test_each_power_of_two_is_an_upper_bound(void **state)
{
    (void)state;
    for (int k = 0; k < 63; k++) {
        assert_int_equal(obs_bucket_upper(obs_bucket_index(INT64_C(1) << k)), INT64_C(1) << k);
    }
}

static void test_an_empty_histogram_has_nothing(void **state)
{
    (void)state;
    obs_histogram_init(&histogram);
    obs_histogram_read(&histogram, &distribution);
    assert_int_equal(distribution.count, 0);
    assert_int_equal(distribution.sum, 0);
    assert_int_equal(obs_distribution_quantile(&distribution, 0.5), 0);
    assert_int_equal(obs_distribution_at_most(&distribution, 1024), 0);
}

static void test_count_sum_min_and_max_are_exact(void **state)
{
    (void)state;
    obs_histogram_init(&histogram);
    obs_histogram_record(&histogram, 1000);
    obs_histogram_record(&histogram, 17);
    obs_histogram_record(&histogram, 123456789);
    obs_histogram_read(&histogram, &distribution);
    assert_int_equal(distribution.count, 3);
    assert_int_equal(distribution.sum, 123457806);
    assert_int_equal(distribution.min, 17);
    assert_int_equal(distribution.max, 123456789);
    assert_int_equal(obs_distribution_quantile(&distribution, 0), 17);
    assert_int_equal(obs_distribution_quantile(&distribution, 1), 123456789);
}

static void test_below_zero_counts_as_zero_and_the_sum_saturates(void **state)
{
    (void)state;
    obs_histogram_init(&histogram);
    obs_histogram_record(&histogram, INT64_MIN);
    obs_histogram_record(&histogram, -1);
    obs_histogram_read(&histogram, &distribution);
    assert_int_equal(distribution.buckets[0], 2);
    assert_int_equal(distribution.sum, 0);
    assert_int_equal(distribution.max, 0);
    for (int i = 0; i < 3; i++) {
        obs_histogram_record(&histogram, INT64_MAX);
    }
    obs_histogram_read(&histogram, &distribution);
    assert_int_equal(distribution.sum, UINT64_MAX);
    assert_int_equal(distribution.max, INT64_MAX);
    assert_int_equal(obs_distribution_quantile(&distribution, 0.8), INT64_MAX - INT64_MAX / 32);
    merged = distribution;
    obs_distribution_merge(&merged, &distribution);
    assert_int_equal(merged.sum, UINT64_MAX);
    assert_int_equal(merged.count, 10);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Values of all magnitudes up to 2^@bits. */
static void draw(struct rng *r, uint64_t bits, int64_t *values)
{
    for (int i = 0; i < VALUES; i++) {
        values[i] = (int64_t)(rng_next(r) >> (64 - rng_between(r, 1, (int64_t)bits)));
    }
}

static void test_quantiles_are_within_a_sixteenth_of_the_sorted_data(void **state)
{
    static const double quantiles[] = {0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1};
    static int64_t values[VALUES];
    struct rng r;

    (void)state;
    rng_init(&r, 1);
    for (uint64_t bits = 1; bits < 64; bits += 2) {
        obs_histogram_init(&histogram);
        draw(&r, bits, values);
        for (int i = 0; i < VALUES; i++) {
            obs_histogram_record(&histogram, values[i]);
        }
        obs_histogram_read(&histogram, &distribution);
        qsort(values, VALUES, sizeof(values[0]), compare);
        for (size_t q = 0; q < sizeof(quantiles) / sizeof(quantiles[0]); q++) {
            double rank = quantiles[q] * VALUES;
            int64_t index = (int64_t)rank + ((double)(int64_t)rank < rank) - 1;
            int64_t exact = values[index < 0 ? 0 : index];
            int64_t error = obs_distribution_quantile(&distribution, quantiles[q]) - exact;

            assert_true(llabs(error) <= exact / 16);
        }
    }
}

static void test_at_most_counts_exactly_at_powers_of_two(void **state)
{
    static int64_t values[VALUES];
    struct rng r;

    (void)state;
    rng_init(&r, 2);
    draw(&r, 40, values);
    obs_histogram_init(&histogram);
    for (int i = 0; i < VALUES; i++) {
        values[i] += i % 3 == 0 ? 1 - (values[i] & -values[i]) : 0;
        values[i] = i % 5 == 0 ? INT64_C(1) << i % 40 : values[i];
        obs_histogram_record(&histogram, values[i]);
    }
    obs_histogram_read(&histogram, &distribution);
    for (int k = 0; k < 63; k++) {
        uint64_t count = 0;

        for (int i = 0; i < VALUES; i++) {
            count += values[i] <= INT64_C(1) << k;
        }
        assert_int_equal(obs_distribution_at_most(&distribution, INT64_C(1) << k), count);
    }
}

static void test_merging_equals_recording_the_union(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, 3);
    obs_histogram_init(&histogram);
    obs_histogram_init(&other);
    obs_histogram_init(&all);
    for (int i = 0; i < VALUES; i++) {
        int64_t value = rng_between(&r, 0, 1000000);

        obs_histogram_record(rng_chance(&r, 300000) ? &histogram : &other, value);
        obs_histogram_record(&all, value);
    }
    obs_distribution_init(&merged);
    obs_histogram_read(&histogram, &from);
    obs_distribution_merge(&merged, &from);
    obs_histogram_read(&other, &from);
    obs_distribution_merge(&merged, &from);
    obs_histogram_read(&all, &from);
    assert_memory_equal(&merged, &from, sizeof(merged));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_bucket_ends_where_the_next_begins),
        cmocka_unit_test(test_a_bucket_is_at_most_an_eighth_of_its_lower_bound_wide),
        cmocka_unit_test(test_each_power_of_two_is_an_upper_bound),
        cmocka_unit_test(test_an_empty_histogram_has_nothing),
        cmocka_unit_test(test_count_sum_min_and_max_are_exact),
        cmocka_unit_test(test_below_zero_counts_as_zero_and_the_sum_saturates),
        cmocka_unit_test(test_quantiles_are_within_a_sixteenth_of_the_sorted_data),
        cmocka_unit_test(test_at_most_counts_exactly_at_powers_of_two),
        cmocka_unit_test(test_merging_equals_recording_the_union),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
