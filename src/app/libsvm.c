#include "app/libsvm.h"

#include "app/option.h"
#include "app/scan.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>

enum {
    LIBSVM_COUNTED_IN = 4, /* One of so many generated features counts. */
    LIBSVM_STREAM_WEIGHTS = 1,
    LIBSVM_STREAM_SAMPLES = 2,
};

/* What a first reading of the whole file finds out. */
struct libsvm_survey {
    uint32_t samples;
    uint32_t features;
    double label_min;
    double label_max;
};

void libsvm_deinit(struct libsvm *l)
{
    mem_free(l->starts);
    mem_free(l->positive);
    mem_free(l->entries);
    *l = (struct libsvm){0};
}

/* Go to the next sample. */
static bool libsvm_next(struct scan *s)
{
    while (scan_line(s)) {
        if (*s->at != '#') {
            return true;
        }
    }
    return false;
}

/* True if the rest of the line says nothing. */
static bool libsvm_at_end(struct scan *s)
{
    return scan_at_end(s) || *s->at == '#';
}

static enum err libsvm_read_label(struct scan *s, double *out)
{
    enum err rc = scan_double(s, "a label", out);

    if (rc == OK && !scan_spaces(s) && !libsvm_at_end(s)) {
        rc = scan_expected(s, "a space");
    }
    return rc;
}

/* Take one "feature:value" and the space after it; features ascend from more than @last. */
static enum err libsvm_read_entry(struct scan *s, uint32_t last, struct libsvm_entry *out)
{
    uint64_t feature;
    double value;
    struct scan at = *s;
    enum err rc = scan_u64(s, "a feature", 1, LIBSVM_FEATURES_MAX, &feature);

    if (rc == OK && feature <= last) {
        rc = scan_error(&at, "feature %llu after %u: they must ascend", (unsigned long long)feature,
                        last);
    }
    if (rc == OK && !scan_word(s, ":")) {
        rc = scan_expected(s, "':' and the value of the feature");
    }
    if (rc == OK) {
        rc = scan_double(s, "the value of the feature", &value);
    }
    if (rc == OK && !scan_spaces(s) && !libsvm_at_end(s)) {
        rc = scan_expected(s, "a space");
    }
    if (rc == OK) {
        *out = (struct libsvm_entry){.feature = (uint32_t)feature, .value = (float)value};
    }
    return rc;
}

/* Take the rest of a line: *@count_out entries, kept in @entries unless that is NULL. */
static enum err libsvm_read_entries(struct scan *s, struct libsvm_entry *entries,
                                    uint64_t *count_out, uint32_t *last_out)
{
    struct libsvm_entry entry = {0};
    uint64_t count = 0;

    while (!libsvm_at_end(s)) {
        enum err rc = libsvm_read_entry(s, entry.feature, &entry);

        if (rc != OK) {
            return rc;
        }
        if (entries != NULL) {
            entries[count] = entry;
        }
        count++;
    }
    *count_out = count;
    *last_out = entry.feature;
    return OK;
}

/* Read everything once: is it right, and how much is it? */
static enum err libsvm_survey(struct scan s, double threshold, struct libsvm_survey *out)
{
    struct libsvm_survey v = {0};
    uint64_t count;
    uint32_t last;
    double label;
    enum err rc = OK;

    while (rc == OK && libsvm_next(&s)) {
        rc = libsvm_read_label(&s, &label);
        if (rc == OK) {
            rc = libsvm_read_entries(&s, NULL, &count, &last);
        }
        if (rc == OK && v.samples == LIBSVM_SAMPLES_MAX) {
            rc = err_text_set(s.text, ERR_TOO_BIG, "%s: more than %d samples; split it", s.name,
                              LIBSVM_SAMPLES_MAX);
        }
        if (rc == OK) {
            v.label_min = v.samples == 0 || label < v.label_min ? label : v.label_min;
            v.label_max = v.samples == 0 || label > v.label_max ? label : v.label_max;
            v.features = last > v.features ? last : v.features;
            v.samples++;
        }
    }
    if (rc == OK && v.samples == 0) {
        rc = scan_error(&s, "there are no samples: expected lines such as '+1 3:0.5 17:1'");
    }
    /* With labels such as 1 and 2, and the usual threshold, one class would be all there is. */
    if (rc == OK && v.label_min < v.label_max &&
        (v.label_min > threshold || v.label_max <= threshold)) {
        rc = scan_error(&s,
                        "labels go from %g to %g, so none is on the other side of the "
                        "threshold %g: choose another one",
                        v.label_min, v.label_max, threshold);
    }
    if (rc == OK) {
        *out = v;
    }
    return rc;
}

static void libsvm_set_part(struct libsvm *l, uint32_t samples, uint32_t rank, uint32_t workers)
{
    uint64_t first, end;

    app_part(samples, rank, workers, &first, &end);
    l->samples = samples;
    l->first = (uint32_t)first;
    l->count = (uint32_t)(end - first);
}

/* Make room for the samples; *@out has the part. */
static enum err libsvm_alloc_samples(struct libsvm *l)
{
    l->starts = mem_calloc((size_t)l->count + 1, sizeof(*l->starts));
    l->positive = mem_calloc(l->count, sizeof(*l->positive));
    return l->starts == NULL || l->positive == NULL ? ERR_NOMEM : OK;
}

static enum err libsvm_alloc_entries(struct libsvm *l)
{
    l->entries = mem_calloc(l->starts[l->count], sizeof(*l->entries));
    return l->entries == NULL ? ERR_NOMEM : OK;
}

/* Read this worker's lines, from the first of which @s starts: first how many entries each has,
 * then the entries. The survey found nothing wrong in them. */
static void libsvm_read_part(struct scan s, double threshold, struct libsvm *l)
{
    bool again = l->entries != NULL;

    for (uint32_t i = 0; i < l->count; i++) {
        uint64_t count = 0;
        uint32_t last;
        double label;
        bool found = libsvm_next(&s) && libsvm_read_label(&s, &label) == OK;

        found = found && libsvm_read_entries(&s, again ? l->entries + l->starts[i] : NULL, &count,
                                             &last) == OK;
        CHECK(found);
        l->positive[i] = label > threshold;
        l->starts[i + 1] = l->starts[i] + count;
    }
}

enum err libsvm_parse(const char *name, const void *bytes, size_t size, double threshold,
                      uint32_t rank, uint32_t workers, struct libsvm *out, struct err_text *text)
{
    struct libsvm l = {0};
    struct libsvm_survey v = {0};
    struct scan s;
    enum err rc;

    scan_init(&s, name, bytes, size, text);
    rc = libsvm_survey(s, threshold, &v);
    if (rc != OK) {
        return rc;
    }
    l.features = v.features;
    libsvm_set_part(&l, v.samples, rank, workers);
    for (uint32_t i = 0; i < l.first; i++) {
        (void)libsvm_next(&s);
    }
    rc = libsvm_alloc_samples(&l);
    if (rc == OK) {
        libsvm_read_part(s, threshold, &l);
        rc = libsvm_alloc_entries(&l);
    }
    if (rc != OK) {
        libsvm_deinit(&l);
        return err_text_set(text, rc, "%s: out of memory", name);
    }
    libsvm_read_part(s, threshold, &l);
    *out = l;
    return OK;
}

static int libsvm_compare(const void *a, const void *b)
{
    uint32_t x = ((const struct libsvm_entry *)a)->feature;
    uint32_t y = ((const struct libsvm_entry *)b)->feature;

    return x < y ? -1 : x > y;
}

/* Generate one sample into @entries: ascending, a feature that was drawn twice once. */
static uint32_t libsvm_generate_sample(const struct libsvm_plan *plan, const float *weights,
                                       struct rng r, struct libsvm_entry *entries,
                                       bool *positive_out)
{
    double score = 2 * (rng_unit(&r) + rng_unit(&r) - 1);
    uint32_t kept = 0;

    for (uint32_t k = 0; k < plan->nonzeros; k++) {
        double u = rng_unit(&r);

        /* Features with small numbers are more frequent, as in most data. */
        entries[k].feature = 1 + (uint32_t)((0.1 + 0.9 * u) * u * plan->features);
        entries[k].value = (float)(0.5 + rng_unit(&r));
    }
    qsort(entries, plan->nonzeros, sizeof(*entries), libsvm_compare);
    for (uint32_t k = 0; k < plan->nonzeros; k++) {
        if (kept == 0 || entries[k].feature != entries[kept - 1].feature) {
            score += (double)weights[entries[k].feature] * (double)entries[k].value;
            entries[kept++] = entries[k];
        }
    }
    *positive_out = score > 0;
    return kept;
}

static void libsvm_generate_part(const struct libsvm_plan *plan, float *weights, struct libsvm *l)
{
    struct rng seed, samples, r;

    rng_init(&seed, plan->seed);
    r = rng_fork(&seed, LIBSVM_STREAM_WEIGHTS);
    samples = rng_fork(&seed, LIBSVM_STREAM_SAMPLES);
    for (uint32_t k = 1; k <= plan->features; k++) {
        double weight = rng_unit(&r) * 8 - 4;

        weights[k] = rng_below(&r, LIBSVM_COUNTED_IN) == 0 ? (float)weight : 0;
    }
    for (uint32_t i = 0; i < l->count; i++) {
        l->starts[i + 1] =
            l->starts[i] + libsvm_generate_sample(plan, weights, rng_fork(&samples, l->first + i),
                                                  l->entries + l->starts[i], &l->positive[i]);
    }
}

enum err libsvm_generate(const struct libsvm_plan *plan, uint32_t rank, uint32_t workers,
                         struct libsvm *out)
{
    struct libsvm l = {.features = plan->features};
    float *weights = mem_calloc((size_t)plan->features + 1, sizeof(*weights));
    enum err rc;

    CHECK(plan->nonzeros <= plan->features && plan->features <= LIBSVM_FEATURES_MAX);
    libsvm_set_part(&l, plan->samples, rank, workers);
    rc = weights == NULL ? ERR_NOMEM : libsvm_alloc_samples(&l);
    if (rc == OK) {
        /* As much as there can be; duplicates make it a little less. */
        l.entries = mem_calloc((size_t)l.count * plan->nonzeros, sizeof(*l.entries));
        rc = l.entries == NULL ? ERR_NOMEM : OK;
    }
    if (rc == OK) {
        libsvm_generate_part(plan, weights, &l);
        *out = l;
    } else {
        libsvm_deinit(&l);
    }
    mem_free(weights);
    return rc;
}
