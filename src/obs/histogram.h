/* Histograms of integers with logarithmic buckets, each power of two cut into eight:
 *
 *     0 | 1 | 2 | ... | 16 | 17-18 | 19-20 | ... | 31-32 | 33-36 | ...
 *
 * Values up to 16 are exact; above, a bucket is at most an eighth of its lower bound wide. Upper
 * bounds are inclusive and every power of two is one, so that the `le` buckets of Prometheus are
 * exact. Values below zero count as zero. One thread records; another may read. */

#ifndef OBS_HISTOGRAM_H
#define OBS_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

enum {
    OBS_BUCKET_BITS = 3,                                               /* Log2 of cuts. */
    OBS_BUCKETS = 1 + (64 - OBS_BUCKET_BITS) * (1 << OBS_BUCKET_BITS), /* For all of int64_t. */
};

/* Created with obs_histogram_create(), in obs/metric.h. Fields are private to src/obs. */
struct obs_histogram {
    _Atomic uint64_t buckets[OBS_BUCKETS];
    _Atomic uint64_t sum; /* Stops at its maximum instead of wrapping. */
    _Atomic int64_t min;  /* INT64_MAX while empty. */
    _Atomic int64_t max;  /* -1 while empty. */
};

/* What a histogram held when it was read; may be copied. */
struct obs_distribution {
    uint64_t buckets[OBS_BUCKETS];
    uint64_t count; /* The sum of the buckets. */
    uint64_t sum;
    int64_t min; /* Of the recorded values, exactly; see .count first. */
    int64_t max;
};

/* The bucket of a value that is not negative. */
static inline uint32_t obs_bucket_index(int64_t value)
{
    uint64_t below = (uint64_t)value - 1;
    uint32_t shift;

    if (value <= 1 << OBS_BUCKET_BITS) {
        return (uint32_t)value;
    }
    shift = 63 - (uint32_t)__builtin_clzll(below) - OBS_BUCKET_BITS;
    return 1 + (shift << OBS_BUCKET_BITS) + (uint32_t)(below >> shift);
}

/* The largest value of a bucket. */
int64_t obs_bucket_upper(uint32_t index);

void obs_histogram_init(struct obs_histogram *h);

/* Owner only. */
static inline void obs_histogram_record(struct obs_histogram *h, int64_t value)
{
    int64_t v = value < 0 ? 0 : value;
    _Atomic uint64_t *bucket = &h->buckets[obs_bucket_index(v)];
    uint64_t sum = atomic_load_explicit(&h->sum, memory_order_relaxed);

    if (__builtin_add_overflow(sum, (uint64_t)v, &sum)) {
        sum = UINT64_MAX;
    }
    atomic_store_explicit(bucket, atomic_load_explicit(bucket, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    atomic_store_explicit(&h->sum, sum, memory_order_relaxed);
    if (v < atomic_load_explicit(&h->min, memory_order_relaxed)) {
        atomic_store_explicit(&h->min, v, memory_order_relaxed);
    }
    if (v > atomic_load_explicit(&h->max, memory_order_relaxed)) {
        atomic_store_explicit(&h->max, v, memory_order_relaxed);
    }
}

/* Any thread. While values are being recorded, the last few may be in some fields only. */
void obs_histogram_read(const struct obs_histogram *h, struct obs_distribution *d_out);

/* An empty one, to merge into. */
void obs_distribution_init(struct obs_distribution *d);

/* Add @from to @to, as if all values had been recorded in one histogram. */
void obs_distribution_merge(struct obs_distribution *to, const struct obs_distribution *from);

/* Return how many values were at most @value, where @value is the upper bound of a bucket. */
uint64_t obs_distribution_at_most(const struct obs_distribution *d, int64_t value);

/* Return the value of rank ceil(@q * count), @q from 0 to 1, with a relative error of at most 1/16:
 * the middle of its bucket. The first and the last rank are exact. Zero if empty. */
int64_t obs_distribution_quantile(const struct obs_distribution *d, double q);

#endif
