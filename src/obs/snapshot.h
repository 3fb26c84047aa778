/* What several registries hold at one time, joined and sorted by name and labels, as Prometheus
 * text or as JSON.
 *
 * Series of the same name and labels become one: counters and histograms are added up, gauges as
 * their obs_merge says. Any thread may take a snapshot; each value in it is one that the series
 * had, but updates made meanwhile may be seen in one series and not yet in another. */

#ifndef OBS_SNAPSHOT_H
#define OBS_SNAPSHOT_H

#include "base/err.h"
#include "base/text.h"
#include "obs/metric.h"

struct obs_snapshot;

enum {
    OBS_REGISTRIES_MAX = 256, /* In one snapshot. */
    OBS_JSON_SCHEMA = 1,
};

/* The snapshot borrows names and labels: the registries must outlive it. ERR_INVALID if they
 * disagree about a family, ERR_TOO_BIG above OBS_REGISTRIES_MAX, ERR_NOMEM. */
MUST_USE enum err obs_snapshot_create(struct obs_registry *const *registries, uint32_t count,
                                      struct obs_snapshot **snapshot_out);

/* NULL is allowed. */
void obs_snapshot_destroy(struct obs_snapshot *snapshot);

/* Add the text exposition format, version 0.0.4. If it does not fit, @out is failed. */
void obs_snapshot_prometheus(const struct obs_snapshot *snapshot, struct text *out);

/* Add one line of JSON, without a newline:
 *
 *     {"schema":1,"counters":[{"name":"x_total","labels":{"site":"eu"},"value":1}],"gauges":[...],
 *      "histograms":[{"name":"y_seconds","labels":{},"count":2,"sum":0.3,"min":0.1,"max":0.2,
 *      "p50":0.1,"p90":0.2,"p99":0.2,"p999":0.2,"buckets":[[0.1,1],[0.2,1]]}]}
 *
 * Values are in exported units. Buckets are [largest value, count], not cumulative, the empty ones
 * left out. A number that JSON cannot write, or that an empty histogram does not have, is null. If
 * it does not fit, @out is failed. */
void obs_snapshot_json(const struct obs_snapshot *snapshot, struct text *out);

#endif
