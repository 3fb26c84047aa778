/* Reading histograms. Recording is inline, in the header. */

#include "obs/histogram.h"

enum { HISTOGRAM_CUTS = 1 << OBS_BUCKET_BITS };

_Static_assert(OBS_BUCKETS == 489, "the last bucket ends at INT64_MAX");

int64_t obs_bucket_upper(uint32_t index)
{
    uint32_t shift;

    if (index <= 2 * HISTOGRAM_CUTS) {
        return index;
    }
    if (index >= OBS_BUCKETS - 1) {
        return INT64_MAX;
    }
    shift = ((index - 1) >> OBS_BUCKET_BITS) - 1;
    return (int64_t)((index - 1) % HISTOGRAM_CUTS + HISTOGRAM_CUTS + 1) << shift;
}

void obs_histogram_init(struct obs_histogram *h)
{
    for (uint32_t i = 0; i < OBS_BUCKETS; i++) {
        atomic_init(&h->buckets[i], 0);
    }
    atomic_init(&h->sum, 0);
    atomic_init(&h->min, INT64_MAX);
    atomic_init(&h->max, -1);
}

void obs_histogram_read(const struct obs_histogram *h, struct obs_distribution *d_out)
{
    d_out->count = 0;
    for (uint32_t i = 0; i < OBS_BUCKETS; i++) {
        d_out->buckets[i] = atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
        d_out->count += d_out->buckets[i];
    }
    d_out->sum = atomic_load_explicit(&h->sum, memory_order_relaxed);
    d_out->min = atomic_load_explicit(&h->min, memory_order_relaxed);
    d_out->max = atomic_load_explicit(&h->max, memory_order_relaxed);
    /* Read in the middle of the first record: not recorded yet. */
    if (d_out->count == 0 || d_out->min > d_out->max) {
        obs_distribution_init(d_out);
    }
}

void obs_distribution_init(struct obs_distribution *d)
{
    *d = (struct obs_distribution){.min = INT64_MAX, .max = -1};
}

void obs_distribution_merge(struct obs_distribution *to, const struct obs_distribution *from)
{
    for (uint32_t i = 0; i < OBS_BUCKETS; i++) {
        to->buckets[i] += from->buckets[i];
    }
    to->count += from->count;
    if (__builtin_add_overflow(to->sum, from->sum, &to->sum)) {
        to->sum = UINT64_MAX;
    }
    to->min = from->min < to->min ? from->min : to->min;
    to->max = from->max > to->max ? from->max : to->max;
}

uint64_t obs_distribution_at_most(const struct obs_distribution *d, int64_t value)
{
    uint32_t last = obs_bucket_index(value);
    uint64_t count = 0;

    for (uint32_t i = 0; i <= last; i++) {
        count += d->buckets[i];
    }
    return count;
}

/* Return the bucket of the value of rank @rank, which is from 1 to the count. */
static uint32_t histogram_rank_bucket(const struct obs_distribution *d, uint64_t rank)
{
    uint32_t i = 0;

    for (uint64_t seen = d->buckets[0]; seen < rank; seen += d->buckets[i]) {
        i++;
    }
    return i;
}

int64_t obs_distribution_quantile(const struct obs_distribution *d, double q)
{
    double wanted = q * (double)d->count;
    uint64_t rank = wanted >= (double)d->count ? d->count : wanted > 0 ? (uint64_t)wanted : 0;
    uint32_t bucket;
    int64_t lower, middle;

    if (d->count == 0) {
        return 0;
    }
    rank += (double)rank < wanted && rank < d->count;
    if (rank <= 1 || rank == d->count) {
        return rank <= 1 ? d->min : d->max;
    }
    bucket = histogram_rank_bucket(d, rank);
    lower = bucket == 0 ? 0 : obs_bucket_upper(bucket - 1) + 1;
    middle = lower + (obs_bucket_upper(bucket) - lower) / 2;
    middle = middle > d->max ? d->max : middle;
    return middle < d->min ? d->min : middle;
}
