/* The search and the judgement. Thresholds and the two trend metrics are Pathload's (section 4.2 of
 * "End-to-end available bandwidth: measurement methodology, dynamics, and relation with TCP
 * throughput"); its fleets of twelve streams are votes of up to three here, since probes share the
 * link with work. All arithmetic is on integers that were bounded first: delays are a peer's. */

#include "net/probe/slops.h"

enum {
    SLOPS_PCT_RISING = 66, /* Percent of group medians that rise. */
    SLOPS_PCT_FLAT = 54,
    SLOPS_PDT_RISING = 55, /* Percent of the way that was upward. */
    SLOPS_PDT_FLAT = 45,
    SLOPS_SLOPE_PER_MILLE = 2,        /* A smaller rise may be the clocks drifting apart. */
    SLOPS_LOST_PERCENT = 10,          /* More lost frames: too fast, whatever the delays. */
    SLOPS_VOTES = 2,                  /* Trains that must agree, */
    SLOPS_VOTES_MAX = 3,              /* of so many. */
    SLOPS_CLIMB = 4,                  /* Factor between rates until delays rise. */
    SLOPS_RESOLUTION = 20,            /* The answer is high - low <= high / this. */
    SLOPS_PAUSE_TRAINS = SLOPS_CLIMB, /* A train at CLIMB times the free rate drains in less. */
    SLOPS_FRAME_BYTES_USUAL = 1400,   /* Smaller frames are mostly headers: rather send fewer. */
    SLOPS_GROUPS_MAX = 12,
};

#define SLOPS_SECOND_NS INT64_C(1000000000)

/* Delays are compared after cutting them to this: no path holds back for 1000 seconds. */
#define SLOPS_DELAY_NS_MAX (1000 * SLOPS_SECOND_NS)

/* The highest rate with which all products below fit 64 bits. */
#define SLOPS_RATE_MAX (UINT64_C(1) << 36)

enum slops_trend { SLOPS_UNCLEAR, SLOPS_FLAT, SLOPS_RISING };

/* Trains. */

static uint64_t slops_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t slops_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The smallest frame that is used while fewer frames will do. */
static uint32_t slops_frame_floor(const struct net_slops_config *config)
{
    return (uint32_t)slops_min(config->frame_bytes, SLOPS_FRAME_BYTES_USUAL);
}

enum err net_slops_init(struct net_slops *m, const struct net_slops_config *config)
{
    uint64_t reach;
    uint64_t floor_bytes;

    if (config->rate_min == 0 || config->rate_max < config->rate_min ||
        config->rate_max > SLOPS_RATE_MAX || config->count < NET_SLOPS_COUNT_MIN ||
        config->count > NET_SLOPS_COUNT_MAX || config->frame_bytes < NET_SLOPS_FRAME_BYTES_MIN) {
        return ERR_INVALID;
    }
    floor_bytes = (uint64_t)slops_frame_floor(config) * NET_SLOPS_COUNT_MIN;
    if (floor_bytes * SLOPS_SECOND_NS / config->rate_min > NET_SLOPS_TRAIN_NS_MAX) {
        return ERR_INVALID;
    }
    reach = (uint64_t)config->frame_bytes * SLOPS_SECOND_NS / NET_SLOPS_SPACING_NS_MIN;
    *m = (struct net_slops){.config = *config};
    m->config.rate_max = slops_max(slops_min(config->rate_max, reach), config->rate_min);
    m->rate = m->config.rate_min;
    return OK;
}

/* Lay out a train of @rate: as long as wanted if its frames may be so large, and not longer than
 * allowed. */
static void slops_lay_out(const struct net_slops_config *config, uint64_t rate,
                          struct net_slops_train *out)
{
    uint64_t want_bytes = rate / (SLOPS_SECOND_NS / NET_SLOPS_TRAIN_NS);
    uint64_t most_bytes = rate / (SLOPS_SECOND_NS / NET_SLOPS_TRAIN_NS_MAX);
    uint64_t frame_bytes = slops_min(
        slops_max(want_bytes / config->count, slops_frame_floor(config)), config->frame_bytes);
    uint64_t count = slops_min(config->count, most_bytes / frame_bytes);

    out->frame_bytes = (uint32_t)frame_bytes;
    out->count = (uint32_t)slops_max(count, NET_SLOPS_COUNT_MIN);
    out->spacing_ns = (int64_t)(frame_bytes * SLOPS_SECOND_NS / rate);
    out->rate = frame_bytes * SLOPS_SECOND_NS / (uint64_t)out->spacing_ns;
    out->pause_ns = out->spacing_ns * out->count * SLOPS_PAUSE_TRAINS;
}

bool net_slops_next(struct net_slops *m, struct net_slops_train *train_out)
{
    if (m->finished) {
        return false;
    }
    if (!m->waiting) {
        slops_lay_out(&m->config, m->rate, &m->train);
        m->train.number = ++m->trains;
        m->waiting = true;
    }
    *train_out = m->train;
    return true;
}

/* Judgement. */

/* The difference of two delays, cut to +-SLOPS_DELAY_NS_MAX. */
static int64_t slops_difference(int64_t a, int64_t b)
{
    int64_t difference;

    if (__builtin_sub_overflow(a, b, &difference)) {
        return a > b ? SLOPS_DELAY_NS_MAX : -SLOPS_DELAY_NS_MAX;
    }
    return difference > SLOPS_DELAY_NS_MAX    ? SLOPS_DELAY_NS_MAX
           : difference < -SLOPS_DELAY_NS_MAX ? -SLOPS_DELAY_NS_MAX
                                              : difference;
}

/* The median of a few delays, relative to @origin. */
static int64_t slops_median(const int64_t *delays_ns, uint32_t n, int64_t origin)
{
    int64_t sorted[NET_SLOPS_COUNT_MAX] = {0};

    CHECK(n > 0 && n <= NET_SLOPS_COUNT_MAX);
    for (uint32_t i = 0; i < n; i++) {
        int64_t value = slops_difference(delays_ns[i], origin);
        uint32_t at = i;

        for (; at > 0 && sorted[at - 1] > value; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = value;
    }
    return sorted[n / 2];
}

static uint32_t slops_sqrt(uint32_t n)
{
    uint32_t root = 0;

    while ((root + 1) * (root + 1) <= n) {
        root++;
    }
    return root;
}

/* One metric's opinion. */
static enum slops_trend slops_opinion(int64_t value, int64_t rising, int64_t flat)
{
    return value > rising ? SLOPS_RISING : value < flat ? SLOPS_FLAT : SLOPS_UNCLEAR;
}

/* Pairwise comparison test and pairwise difference test over the medians of sqrt(n) groups: the
 * first sees steady growth, the second growth from beginning to end. */
static enum slops_trend slops_trend(const int64_t *delays_ns, uint32_t n, int64_t duration_ns)
{
    uint32_t groups = slops_sqrt(n);
    int64_t first = 0, last = 0, way = 0, ups = 0;
    enum slops_trend pct, pdt;

    CHECK(groups >= 3 && groups <= SLOPS_GROUPS_MAX);
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t from = g * n / groups;
        uint32_t to = (g + 1) * n / groups;
        int64_t median = slops_median(delays_ns + from, to - from, delays_ns[0]);

        if (g == 0) {
            first = median;
        } else {
            ups += median > last;
            way += median > last ? median - last : last - median;
        }
        last = median;
    }
    if (last - first <= duration_ns * SLOPS_SLOPE_PER_MILLE / 1000) {
        return SLOPS_FLAT;
    }
    CHECK(way > 0); /* At least as long as the rise. */
    pct = slops_opinion(100 * ups / (groups - 1), SLOPS_PCT_RISING, SLOPS_PCT_FLAT);
    pdt = slops_opinion(100 * (last - first) / way, SLOPS_PDT_RISING, SLOPS_PDT_FLAT);
    if (pct == SLOPS_UNCLEAR || pct == pdt) {
        return pdt;
    }
    return pdt == SLOPS_UNCLEAR ? pct : SLOPS_UNCLEAR;
}

static enum slops_trend slops_judge(const struct net_slops_train *train, const int64_t *delays_ns,
                                    uint32_t n, uint32_t lost)
{
    if (lost * 100 > train->count * SLOPS_LOST_PERCENT) {
        return SLOPS_RISING;
    }
    if (n < NET_SLOPS_COUNT_MIN - NET_SLOPS_COUNT_MIN / 4) {
        return SLOPS_UNCLEAR;
    }
    return slops_trend(delays_ns, n, train->spacing_ns * n);
}

/* The search. */

/* True if nothing worth knowing is between @low and @high. */
static bool slops_close(uint64_t low, uint64_t high)
{
    return high - low <= slops_max(high / SLOPS_RESOLUTION, 1);
}

/* Choose the next rate, or finish. */
static void slops_advance(struct net_slops *m)
{
    uint64_t low = slops_max(m->low, m->config.rate_min);
    uint64_t tried = slops_max(m->low, m->grey_high); /* As high as it is not too much. */

    m->rising = 0;
    m->flat = 0;
    m->unclear = 0;
    if (m->high == 0) {
        m->finished = tried >= m->config.rate_max;
        m->rate = slops_min(tried * SLOPS_CLIMB, m->config.rate_max);
    } else if (m->high <= m->config.rate_min) {
        m->finished = true;
    } else if (m->grey_low == 0) {
        m->finished = slops_close(low, m->high);
        m->rate = low + (m->high - low) / 2;
    } else if (!slops_close(m->grey_high, m->high)) {
        m->rate = m->grey_high + (m->high - m->grey_high) / 2;
    } else {
        m->finished = slops_close(low, m->grey_low);
        m->rate = low + (m->grey_low - low) / 2;
    }
}

/* The trains at .rate agreed, or never will: narrow the interval. */
static void slops_conclude(struct net_slops *m, enum slops_trend trend)
{
    if (trend == SLOPS_FLAT) {
        m->low = m->rate;
        if (m->grey_high <= m->low) {
            m->grey_low = m->grey_high = 0;
        }
    } else if (trend == SLOPS_RISING) {
        m->high = m->rate;
        if (m->grey_low >= m->high) {
            m->grey_low = m->grey_high = 0;
        }
    } else {
        m->grey_low = m->grey_low == 0 ? m->rate : slops_min(m->grey_low, m->rate);
        m->grey_high = slops_max(m->grey_high, m->rate);
    }
    slops_advance(m);
}

enum err net_slops_report(struct net_slops *m, const int64_t *delays_ns, uint32_t n, uint32_t lost)
{
    enum slops_trend trend;

    if (!m->waiting || n > m->train.count || lost > m->train.count - n) {
        return ERR_INVALID;
    }
    m->waiting = false;
    trend = slops_judge(&m->train, delays_ns, n, lost);
    m->rising += trend == SLOPS_RISING;
    m->flat += trend == SLOPS_FLAT;
    m->unclear += trend == SLOPS_UNCLEAR;
    /* While climbing, one flat train is enough to go on: the rates above will tell. */
    if (m->flat >= SLOPS_VOTES ||
        (m->flat > 0 && m->rising == 0 && m->high == 0 && m->rate < m->config.rate_max)) {
        slops_conclude(m, SLOPS_FLAT);
    } else if (m->rising >= SLOPS_VOTES) {
        slops_conclude(m, SLOPS_RISING);
    } else if (m->rising + m->flat + m->unclear >= SLOPS_VOTES_MAX) {
        slops_conclude(m, SLOPS_UNCLEAR);
    }
    if (m->trains >= NET_SLOPS_TRAINS_MAX) {
        m->finished = true;
    }
    return OK;
}

bool net_slops_done(const struct net_slops *m, struct net_slops_estimate *out)
{
    if (!m->finished) {
        return false;
    }
    *out = (struct net_slops_estimate){.low = m->low,
                                       .high = m->high == 0 ? m->config.rate_max : m->high,
                                       .at_least = m->high == 0,
                                       .trains = m->trains};
    return true;
}
