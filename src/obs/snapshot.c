/* Collect, sort, join; then write in one of two formats. */

#include "obs/snapshot.h"

#include "base/mem.h"
#include "obs/registry.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One series of one registry at first, one of the whole snapshot after joining. */
struct snapshot_entry {
    const struct obs_series *series;
    uint32_t registry; /* Which one; decides who is last. */
    union {
        uint64_t counter;
        double gauge;
        struct obs_distribution *histogram; /* Owned by the snapshot. */
    };
};

struct obs_snapshot {
    struct snapshot_entry *entries;
    uint32_t count;
};

static int snapshot_labels_compare(const struct obs_series *a, const struct obs_series *b)
{
    for (uint32_t i = 0; i < a->labels_count && i < b->labels_count; i++) {
        int order = strcmp(a->labels[i].key, b->labels[i].key);

        order = order != 0 ? order : strcmp(a->labels[i].value, b->labels[i].value);
        if (order != 0) {
            return order;
        }
    }
    return (a->labels_count > b->labels_count) - (a->labels_count < b->labels_count);
}

static int snapshot_series_compare(const struct obs_series *a, const struct obs_series *b)
{
    int order = strcmp(a->family->name, b->family->name);

    return order != 0 ? order : snapshot_labels_compare(a, b);
}

static int snapshot_entry_compare(const void *left, const void *right)
{
    const struct snapshot_entry *a = left, *b = right;
    int order = snapshot_series_compare(a->series, b->series);

    return order != 0 ? order : (a->registry > b->registry) - (a->registry < b->registry);
}

/* List all series, unsorted and without values. */
static enum err snapshot_collect(struct obs_snapshot *s, struct obs_registry *const *registries,
                                 uint32_t count)
{
    uint32_t counts[OBS_REGISTRIES_MAX];
    size_t total = 0;

    for (uint32_t r = 0; r < count; r++) {
        counts[r] = atomic_load_explicit(&registries[r]->series_count, memory_order_acquire);
        total += counts[r];
    }
    s->entries = mem_calloc(total + 1, sizeof(*s->entries));
    if (s->entries == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t r = 0; r < count; r++) {
        for (uint32_t i = 0; i < counts[r]; i++) {
            s->entries[s->count++] =
                (struct snapshot_entry){.series = registries[r]->series[i], .registry = r};
        }
    }
    return OK;
}

/* Start the value of an entry that stands for a whole group. */
static enum err snapshot_entry_start(struct snapshot_entry *e)
{
    const struct obs_family *f = e->series->family;

    if (f->kind == OBS_COUNTER) {
        e->counter = 0;
    } else if (f->kind == OBS_GAUGE) {
        e->gauge = f->merge == OBS_MERGE_LAST ? (double)NAN : 0.0;
    } else {
        e->histogram = mem_zalloc(sizeof(*e->histogram));
        if (e->histogram == NULL) {
            return ERR_NOMEM;
        }
        obs_distribution_init(e->histogram);
    }
    return OK;
}

static void snapshot_entry_join(struct snapshot_entry *e, const struct obs_series *series)
{
    const struct obs_family *f = e->series->family;
    struct obs_distribution d;
    double gauge;

    switch (f->kind) {
    case OBS_COUNTER:
        e->counter += obs_counter_value(&series->counter);
        break;
    case OBS_GAUGE:
        gauge = obs_gauge_value(&series->gauge);
        if (f->merge == OBS_MERGE_SUM) {
            e->gauge += gauge;
        } else if (!isnan(gauge)) {
            e->gauge = gauge;
        }
        break;
    case OBS_HISTOGRAM:
        obs_histogram_read(series->histogram, &d);
        obs_distribution_merge(e->histogram, &d);
        break;
    }
}

/* Registries of different versions of the code, say, may disagree. Entries are sorted. */
static enum err snapshot_check(const struct obs_snapshot *s)
{
    for (uint32_t i = 1; i < s->count; i++) {
        const struct obs_family *a = s->entries[i - 1].series->family;
        const struct obs_family *b = s->entries[i].series->family;

        if (strcmp(a->name, b->name) == 0 && !obs_family_equal(a, b)) {
            return ERR_INVALID;
        }
    }
    return OK;
}

/* A gauge that nobody has set yet says nothing. */
static bool snapshot_entry_unset(const struct snapshot_entry *e)
{
    const struct obs_family *f = e->series->family;

    return f->kind == OBS_GAUGE && f->merge == OBS_MERGE_LAST && isnan(e->gauge);
}

/* Make one entry of each group of equal series. On error, .count is the number of entries that
 * were finished. */
static enum err snapshot_join(struct obs_snapshot *s)
{
    uint32_t total = s->count;
    uint32_t i = 0;

    s->count = 0;
    while (i < total) {
        struct snapshot_entry entry = s->entries[i];
        enum err rc = snapshot_entry_start(&entry);

        if (rc != OK) {
            return rc;
        }
        while (i < total && snapshot_series_compare(entry.series, s->entries[i].series) == 0) {
            snapshot_entry_join(&entry, s->entries[i++].series);
        }
        if (!snapshot_entry_unset(&entry)) {
            s->entries[s->count++] = entry;
        }
    }
    return OK;
}

enum err obs_snapshot_create(struct obs_registry *const *registries, uint32_t count,
                             struct obs_snapshot **snapshot_out)
{
    struct obs_snapshot *s;
    enum err rc;

    if (count > OBS_REGISTRIES_MAX) {
        return ERR_TOO_BIG;
    }
    s = mem_zalloc(sizeof(*s));
    if (s == NULL) {
        return ERR_NOMEM;
    }
    rc = snapshot_collect(s, registries, count);
    if (rc != OK) {
        goto err_free;
    }
    qsort(s->entries, s->count, sizeof(*s->entries), snapshot_entry_compare);
    rc = snapshot_check(s);
    if (rc != OK) {
        goto err_free;
    }
    rc = snapshot_join(s);
    if (rc != OK) {
        goto err_destroy;
    }
    *snapshot_out = s;
    return OK;

err_free:
    s->count = 0; /* No entry has a value yet. */
err_destroy:
    obs_snapshot_destroy(s);
    return rc;
}

void obs_snapshot_destroy(struct obs_snapshot *snapshot)
{
    if (snapshot == NULL) {
        return;
    }
    for (uint32_t i = 0; i < snapshot->count; i++) {
        if (snapshot->entries[i].series->family->kind == OBS_HISTOGRAM) {
            mem_free(snapshot->entries[i].histogram);
        }
    }
    mem_free(snapshot->entries);
    mem_free(snapshot);
}

/* Add the shortest decimal that reads back as @value, with a point whatever the locale says. */
static void snapshot_add_double(struct text *out, double value)
{
    char chars[32];
    char *comma;
    int digits = 15;

    do {
        (void)snprintf(chars, sizeof(chars), "%.*g", digits, value);
    } while (strtod(chars, NULL) != value && ++digits <= 17);
    comma = strchr(chars, ',');
    if (comma != NULL) {
        *comma = '.';
    }
    text_add(out, chars);
}

/* Add a recorded value in the exported unit. */
static void snapshot_add_scaled(struct text *out, uint64_t value, uint32_t divisor)
{
    if (divisor == 1) {
        text_addf(out, "%" PRIu64, value);
    } else {
        snapshot_add_double(out, (double)value / divisor);
    }
}

/* Escape as the exposition format wants it: HELP leaves quotes alone, label values do not. */
static void prometheus_add_escaped(struct text *out, const char *chars, bool quotes)
{
    for (; *chars != '\0'; chars++) {
        if (*chars == '\n') {
            text_add(out, "\\n");
        } else if (*chars == '\\' || (quotes && *chars == '"')) {
            text_addf(out, "\\%c", *chars);
        } else {
            text_add_bytes(out, chars, 1);
        }
    }
}

static void prometheus_add_header(struct text *out, const struct obs_family *f)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};

    text_addf(out, "# HELP %s ", f->name);
    prometheus_add_escaped(out, f->help, false);
    text_addf(out, "\n# TYPE %s %s\n", f->name, types[f->kind]);
}

/* Add `name_suffix{labels` and leave the braces open for one more label, if there will be one. */
static void prometheus_add_series(struct text *out, const struct obs_series *s, const char *suffix,
                                  bool one_more)
{
    text_addf(out, "%s%s", s->family->name, suffix);
    for (uint32_t i = 0; i < s->labels_count; i++) {
        text_addf(out, "%s%s=\"", i == 0 ? "{" : ",", s->labels[i].key);
        prometheus_add_escaped(out, s->labels[i].value, true);
        text_add(out, "\"");
    }
    if (one_more) {
        text_add(out, s->labels_count == 0 ? "{" : ",");
    } else {
        text_add(out, s->labels_count == 0 ? " " : "} ");
    }
}

static void prometheus_add_histogram(struct text *out, const struct obs_series *s,
                                     const struct obs_distribution *d)
{
    const struct obs_family *f = s->family;

    for (uint32_t k = f->le_first; k <= f->le_last; k++) {
        prometheus_add_series(out, s, "_bucket", true);
        text_add(out, "le=\"");
        snapshot_add_scaled(out, UINT64_C(1) << k, f->divisor);
        text_addf(out, "\"} %" PRIu64 "\n", obs_distribution_at_most(d, INT64_C(1) << k));
    }
    prometheus_add_series(out, s, "_bucket", true);
    text_addf(out, "le=\"+Inf\"} %" PRIu64 "\n", d->count);
    prometheus_add_series(out, s, "_sum", false);
    snapshot_add_scaled(out, d->sum, f->divisor);
    text_add(out, "\n");
    prometheus_add_series(out, s, "_count", false);
    text_addf(out, "%" PRIu64 "\n", d->count);
}

static void prometheus_add_gauge(struct text *out, double value)
{
    if (isnan(value)) {
        text_add(out, "NaN");
    } else if (isinf(value)) {
        text_add(out, value > 0 ? "+Inf" : "-Inf");
    } else {
        snapshot_add_double(out, value);
    }
}

static void prometheus_add_entry(struct text *out, const struct snapshot_entry *e)
{
    const struct obs_family *f = e->series->family;

    if (f->kind == OBS_HISTOGRAM) {
        prometheus_add_histogram(out, e->series, e->histogram);
        return;
    }
    prometheus_add_series(out, e->series, "", false);
    if (f->kind == OBS_COUNTER) {
        snapshot_add_scaled(out, e->counter, f->divisor);
    } else {
        prometheus_add_gauge(out, e->gauge);
    }
    text_add(out, "\n");
}

void obs_snapshot_prometheus(const struct obs_snapshot *snapshot, struct text *out)
{
    const char *name = "";

    for (uint32_t i = 0; i < snapshot->count; i++) {
        const struct snapshot_entry *e = &snapshot->entries[i];

        if (strcmp(name, e->series->family->name) != 0) {
            name = e->series->family->name;
            prometheus_add_header(out, e->series->family);
        }
        prometheus_add_entry(out, e);
    }
}

static void json_add_labels(struct text *out, const struct obs_series *s)
{
    text_add(out, "{\"name\":");
    text_add_json(out, s->family->name);
    text_add(out, ",\"labels\":{");
    for (uint32_t i = 0; i < s->labels_count; i++) {
        text_add(out, i == 0 ? "" : ",");
        text_add_json(out, s->labels[i].key);
        text_add(out, ":");
        text_add_json(out, s->labels[i].value);
    }
    text_add(out, "}");
}

static void json_add_buckets(struct text *out, const struct obs_distribution *d, uint32_t divisor)
{
    const char *separator = "";

    text_add(out, ",\"buckets\":[");
    for (uint32_t i = 0; i < OBS_BUCKETS; i++) {
        if (d->buckets[i] != 0) {
            text_addf(out, "%s[", separator);
            snapshot_add_scaled(out, (uint64_t)obs_bucket_upper(i), divisor);
            text_addf(out, ",%" PRIu64 "]", d->buckets[i]);
            separator = ",";
        }
    }
    text_add(out, "]");
}

static void json_add_distribution(struct text *out, const struct obs_distribution *d,
                                  uint32_t divisor)
{
    const struct {
        const char *name;
        int64_t value;
    } values[] = {
        {"min", d->min},
        {"max", d->max},
        {"p50", obs_distribution_quantile(d, 0.5)},
        {"p90", obs_distribution_quantile(d, 0.9)},
        {"p99", obs_distribution_quantile(d, 0.99)},
        {"p999", obs_distribution_quantile(d, 0.999)},
    };

    text_addf(out, ",\"count\":%" PRIu64 ",\"sum\":", d->count);
    snapshot_add_scaled(out, d->sum, divisor);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        text_addf(out, ",\"%s\":", values[i].name);
        if (d->count == 0) {
            text_add(out, "null");
        } else {
            snapshot_add_scaled(out, (uint64_t)values[i].value, divisor);
        }
    }
    json_add_buckets(out, d, divisor);
}

static void json_add_entry(struct text *out, const struct snapshot_entry *e)
{
    const struct obs_family *f = e->series->family;

    json_add_labels(out, e->series);
    if (f->kind == OBS_HISTOGRAM) {
        json_add_distribution(out, e->histogram, f->divisor);
    } else if (f->kind == OBS_COUNTER) {
        text_add(out, ",\"value\":");
        snapshot_add_scaled(out, e->counter, f->divisor);
    } else {
        text_add(out, ",\"value\":");
        if (isfinite(e->gauge)) {
            snapshot_add_double(out, e->gauge);
        } else {
            text_add(out, "null");
        }
    }
    text_add(out, "}");
}

void obs_snapshot_json(const struct obs_snapshot *snapshot, struct text *out)
{
    static const char *const sections[] = {"counters", "gauges", "histograms"};

    text_addf(out, "{\"schema\":%d", OBS_JSON_SCHEMA);
    for (uint32_t kind = OBS_COUNTER; kind <= OBS_HISTOGRAM; kind++) {
        const char *separator = "";

        text_addf(out, ",\"%s\":[", sections[kind]);
        for (uint32_t i = 0; i < snapshot->count; i++) {
            if (snapshot->entries[i].series->family->kind == kind) {
                text_add(out, separator);
                json_add_entry(out, &snapshot->entries[i]);
                separator = ",";
            }
        }
        text_add(out, "]");
    }
    text_add(out, "}");
}
