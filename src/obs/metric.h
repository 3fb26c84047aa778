/* Counters, gauges and histograms of one lane, by name and labels.
 *
 * A registry and what is in it belong to one thread, the only one that creates and updates; another
 * thread may take a snapshot (obs/snapshot.h) at any time. Creating is for start-up and for the
 * control path; an update is one relaxed store, without a lock or an allocation.
 *
 * Names follow the conventions of Prometheus: base units, `_total` at the end of counters. Labels
 * are sites, links and small fixed sets, never tensors. */

#ifndef OBS_METRIC_H
#define OBS_METRIC_H

#include "base/err.h"
#include "obs/histogram.h"

#include <stdatomic.h>
#include <stdint.h>

struct obs_registry;

enum {
    OBS_SERIES_MAX = 65536,    /* Series of one registry, at most. */
    OBS_LABELS_MAX = 8,        /* Labels of one series. */
    OBS_LABEL_BYTES_MAX = 512, /* Keys and values of one series, with terminators. */
    OBS_NAME_BYTES_MAX = 128,  /* A name, with terminator. */
    OBS_HELP_BYTES_MAX = 256,  /* A help text, with terminator. */
};

/* Recorded units in one exported unit, for obs_desc.divisor: what is recorded in nanoseconds is
 * exported in seconds. */
enum { OBS_NS = 1000000000, OBS_US = 1000000, OBS_MS = 1000 };

/* How a snapshot of several registries joins gauges of the same name and labels. Counters and
 * histograms are always added up. */
enum obs_merge {
    OBS_MERGE_SUM,  /* Quantities: connections, queued bytes. */
    OBS_MERGE_LAST, /* States: a clock, a round-trip time. The last registry that set it wins; not
                     * exported before it is set. */
};

struct obs_label {
    const char *key;
    const char *value;
};

/* What a series is called. All text is copied; the order of labels does not matter. */
struct obs_desc {
    const char *name;
    const char *help;               /* One sentence. */
    const struct obs_label *labels; /* NULL if there are none. */
    uint32_t labels_count;
    uint32_t divisor;     /* Counters and histograms: OBS_NS and so on; 0 is 1. */
    enum obs_merge merge; /* Gauges. */
    int64_t le_min;       /* Histograms: the smallest and the largest bound of the exported */
    int64_t le_max;       /* buckets, in recorded units, rounded up to powers of two. Zero:
                           * 2^10 (1 us) to 2^36 (69 s) if the divisor is OBS_NS, else 1 to 2^30. */
};

/* Updated by the functions below only. */
struct obs_counter {
    _Atomic uint64_t value;
};

struct obs_gauge {
    _Atomic double value;
};

/* Create an empty registry for at most @series_limit series (at least one, at most
 * OBS_SERIES_MAX). The memory for the series themselves is taken when they are created. */
MUST_USE enum err obs_registry_create(uint32_t series_limit, struct obs_registry **registry_out);

/* Ends every counter, gauge and histogram in it. NULL is allowed. */
void obs_registry_destroy(struct obs_registry *registry);

/* Create a series, or return the one that has this name and these labels already. It belongs to the
 * registry and lives as long. ERR_INVALID if a name, label or help text breaks the rules, or if the
 * name is taken by a family with another kind, help, divisor, merge or bounds; ERR_TOO_BIG at a
 * limit; ERR_NOMEM. Nothing is changed on error. */
MUST_USE enum err obs_counter_create(struct obs_registry *registry, const struct obs_desc *desc,
                                     struct obs_counter **counter_out);
MUST_USE enum err obs_gauge_create(struct obs_registry *registry, const struct obs_desc *desc,
                                   struct obs_gauge **gauge_out);
MUST_USE enum err obs_histogram_create(struct obs_registry *registry, const struct obs_desc *desc,
                                       struct obs_histogram **histogram_out);

/* One writer, so a load and a store do what would otherwise take a locked instruction. */
static inline void obs_counter_add(struct obs_counter *c, uint64_t n)
{
    uint64_t value = atomic_load_explicit(&c->value, memory_order_relaxed);

    atomic_store_explicit(&c->value, value + n, memory_order_relaxed);
}

static inline uint64_t obs_counter_value(const struct obs_counter *c)
{
    return atomic_load_explicit(&c->value, memory_order_relaxed);
}

static inline void obs_gauge_set(struct obs_gauge *g, double value)
{
    atomic_store_explicit(&g->value, value, memory_order_relaxed);
}

/* For gauges that are summed; one that was never set is zero. */
static inline void obs_gauge_add(struct obs_gauge *g, double n)
{
    double value = atomic_load_explicit(&g->value, memory_order_relaxed);

    atomic_store_explicit(&g->value, value + n, memory_order_relaxed);
}

static inline double obs_gauge_value(const struct obs_gauge *g)
{
    return atomic_load_explicit(&g->value, memory_order_relaxed);
}

#endif
