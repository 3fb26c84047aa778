/* The insides of a registry, private to src/obs: metric.c fills it, snapshot.c reads it.
 *
 * The array of series only grows, and a series does not change after its pointer was stored: a
 * reader on another thread loads the count (acquire) and may follow that many pointers. */

#ifndef OBS_REGISTRY_H
#define OBS_REGISTRY_H

#include "base/map.h"
#include "obs/metric.h"

enum obs_kind { OBS_COUNTER, OBS_GAUGE, OBS_HISTOGRAM };

/* All series of one name. */
struct obs_family {
    char name[OBS_NAME_BYTES_MAX];
    char help[OBS_HELP_BYTES_MAX];
    enum obs_kind kind;
    enum obs_merge merge;
    uint32_t divisor;
    uint32_t le_first; /* Exported buckets: log2 of the first and last bound. */
    uint32_t le_last;
};

struct obs_series {
    const struct obs_family *family;
    union {
        struct obs_counter counter;
        struct obs_gauge gauge;
        struct obs_histogram *histogram;
    };
    uint32_t labels_count;
    struct obs_label labels[OBS_LABELS_MAX]; /* Sorted by key; point into .chars. */
    char chars[OBS_LABEL_BYTES_MAX];
};

struct obs_registry {
    struct map families; /* By hash of the name. */
    struct map lookup;   /* Series by hash of name and labels. */
    uint32_t series_limit;
    _Atomic uint32_t series_count;
    struct obs_series **series;
};

/* True if both families would export the same HELP, TYPE and bounds. */
bool obs_family_equal(const struct obs_family *a, const struct obs_family *b);

#endif
