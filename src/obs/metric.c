/* Creating series: names are checked here, once, so that exporting need not. */

#include "obs/metric.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "obs/registry.h"

#include <math.h>
#include <string.h>

enum {
    METRIC_LE_FIRST_NS = 10, /* 2^10 ns is a microsecond. */
    METRIC_LE_LAST_NS = 36,  /* 2^36 ns is 69 seconds. */
    METRIC_LE_LAST = 30,
    METRIC_LE_LIMIT = 62, /* The largest power of two in an int64_t. */
};

enum err obs_registry_create(uint32_t series_limit, struct obs_registry **registry_out)
{
    struct obs_registry *r;

    CHECK(series_limit > 0 && series_limit <= OBS_SERIES_MAX);
    r = mem_zalloc(sizeof(*r));
    if (r == NULL) {
        return ERR_NOMEM;
    }
    r->series_limit = series_limit;
    if (map_init(&r->families, series_limit) != OK) {
        goto err_free;
    }
    if (map_init(&r->lookup, series_limit) != OK) {
        goto err_families;
    }
    r->series = mem_calloc(series_limit, sizeof(struct obs_series *));
    if (r->series == NULL) {
        goto err_lookup;
    }
    *registry_out = r;
    return OK;

err_lookup:
    map_deinit(&r->lookup);
err_families:
    map_deinit(&r->families);
err_free:
    mem_free(r);
    return ERR_NOMEM;
}

static void metric_series_free(struct obs_series *s)
{
    if (s->family->kind == OBS_HISTOGRAM) {
        mem_free(s->histogram);
    }
    mem_free(s);
}

void obs_registry_destroy(struct obs_registry *registry)
{
    uint32_t cursor = 0;
    uint64_t key;
    void *family;

    if (registry == NULL) {
        return;
    }
    for (uint32_t i = 0; i < registry->series_count; i++) {
        metric_series_free(registry->series[i]);
    }
    while (map_next(&registry->families, &cursor, &key, &family)) {
        mem_free(family);
    }
    map_deinit(&registry->families);
    map_deinit(&registry->lookup);
    mem_free(registry->series);
    mem_free(registry);
}

/* Letters, digits and underscores, no digit first. Colons are for recording rules. */
static bool metric_is_word(const char *word)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_";

    return word[0] != '\0' && (word[0] < '0' || word[0] > '9') &&
           word[strspn(word, allowed)] == '\0';
}

static bool metric_ends_with(const char *name, const char *suffix)
{
    size_t size = strlen(name), suffix_size = strlen(suffix);

    return size > suffix_size && strcmp(name + size - suffix_size, suffix) == 0;
}

/* Only counters are a total; the other endings are those of the parts of a histogram. */
static bool metric_name_valid(const char *name, enum obs_kind kind)
{
    return metric_is_word(name) && metric_ends_with(name, "_total") == (kind == OBS_COUNTER) &&
           !metric_ends_with(name, "_bucket") && !metric_ends_with(name, "_count") &&
           !metric_ends_with(name, "_sum");
}

static bool metric_label_valid(const struct obs_label *label)
{
    return label->key != NULL && label->value != NULL && metric_is_word(label->key) &&
           strncmp(label->key, "__", 2) != 0 && strcmp(label->key, "le") != 0 &&
           strcmp(label->key, "quantile") != 0 && text_is_utf8(label->value);
}

static enum err metric_desc_check(const struct obs_desc *desc, enum obs_kind kind)
{
    bool valid = desc->name != NULL && desc->help != NULL && metric_name_valid(desc->name, kind) &&
                 desc->help[0] != '\0' && text_is_utf8(desc->help) && desc->le_min >= 0 &&
                 desc->le_max >= 0 && (desc->divisor <= 1 || kind != OBS_GAUGE);
    size_t bytes = 0;

    if (!valid) {
        return ERR_INVALID;
    }
    if (strlen(desc->name) >= OBS_NAME_BYTES_MAX || strlen(desc->help) >= OBS_HELP_BYTES_MAX ||
        desc->labels_count > OBS_LABELS_MAX) {
        return ERR_TOO_BIG;
    }
    for (uint32_t i = 0; i < desc->labels_count; i++) {
        if (!metric_label_valid(&desc->labels[i])) {
            return ERR_INVALID;
        }
        bytes += strlen(desc->labels[i].key) + strlen(desc->labels[i].value) + 2;
    }
    return bytes > OBS_LABEL_BYTES_MAX ? ERR_TOO_BIG : OK;
}

/* The smallest k with 2^k not below @bound. */
static uint32_t metric_log2_up(int64_t bound)
{
    uint32_t k = 0;

    while (k < METRIC_LE_LIMIT && INT64_C(1) << k < bound) {
        k++;
    }
    return k;
}

/* Fill @f from a description that was checked. */
static enum err metric_family_init(struct obs_family *f, const struct obs_desc *desc,
                                   enum obs_kind kind)
{
    bool ns = desc->divisor == OBS_NS;

    *f = (struct obs_family){
        .kind = kind,
        .merge = desc->merge,
        .divisor = desc->divisor == 0 ? 1 : desc->divisor,
        .le_first = desc->le_min != 0 ? metric_log2_up(desc->le_min)
                    : ns              ? METRIC_LE_FIRST_NS
                                      : 0,
        .le_last = desc->le_max != 0 ? metric_log2_up(desc->le_max)
                   : ns              ? METRIC_LE_LAST_NS
                                     : METRIC_LE_LAST,
    };
    memcpy(f->name, desc->name, strlen(desc->name));
    memcpy(f->help, desc->help, strlen(desc->help));
    return f->le_first <= f->le_last ? OK : ERR_INVALID;
}

bool obs_family_equal(const struct obs_family *a, const struct obs_family *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->help, b->help) == 0 && a->kind == b->kind &&
           a->merge == b->merge && a->divisor == b->divisor && a->le_first == b->le_first &&
           a->le_last == b->le_last;
}

/* Find the family of that name, or the free key where it would go. */
static struct obs_family *metric_family_find(const struct obs_registry *r, const char *name,
                                             uint64_t *key_out)
{
    uint64_t key = hash_text(name);
    struct obs_family *f = map_get(&r->families, key);

    while (f != NULL && strcmp(f->name, name) != 0) {
        f = map_get(&r->families, ++key);
    }
    *key_out = key;
    return f;
}

/* Copy the labels into @s, sorted by key. ERR_INVALID if a key is there twice. */
static enum err metric_series_label(struct obs_series *s, const struct obs_desc *desc)
{
    char *at = s->chars;

    for (uint32_t i = 0; i < desc->labels_count; i++) {
        const struct obs_label *label = &desc->labels[i];
        uint32_t place = i;
        struct obs_label copy;

        copy.key = at;
        at = stpcpy(at, label->key) + 1;
        copy.value = at;
        at = stpcpy(at, label->value) + 1;
        while (place > 0 && strcmp(s->labels[place - 1].key, copy.key) > 0) {
            s->labels[place] = s->labels[place - 1];
            place--;
        }
        if (place > 0 && strcmp(s->labels[place - 1].key, copy.key) == 0) {
            return ERR_INVALID;
        }
        s->labels[place] = copy;
    }
    s->labels_count = desc->labels_count;
    return OK;
}

static bool metric_series_equal(const struct obs_series *a, const char *name,
                                const struct obs_series *b)
{
    if (a->labels_count != b->labels_count || strcmp(a->family->name, name) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < a->labels_count; i++) {
        if (strcmp(a->labels[i].key, b->labels[i].key) != 0 ||
            strcmp(a->labels[i].value, b->labels[i].value) != 0) {
            return false;
        }
    }
    return true;
}

/* Find the series that has the labels of @like, or the free key where it would go. */
static struct obs_series *metric_series_find(const struct obs_registry *r, const char *name,
                                             const struct obs_series *like, uint64_t *key_out)
{
    uint64_t key = hash_text(name);
    struct obs_series *s;

    for (uint32_t i = 0; i < like->labels_count; i++) {
        uint64_t parts[3] = {key, hash_text(like->labels[i].key), hash_text(like->labels[i].value)};

        key = hash_bytes(parts, sizeof(parts));
    }
    s = map_get(&r->lookup, key);
    while (s != NULL && !metric_series_equal(s, name, like)) {
        s = map_get(&r->lookup, ++key);
    }
    *key_out = key;
    return s;
}

/* Start @s at zero; a gauge of the kind that is not summed starts as "never set". */
static enum err metric_value_init(struct obs_series *s)
{
    if (s->family->kind == OBS_COUNTER) {
        atomic_init(&s->counter.value, 0);
        return OK;
    }
    if (s->family->kind == OBS_GAUGE) {
        atomic_init(&s->gauge.value, s->family->merge == OBS_MERGE_LAST ? (double)NAN : 0.0);
        return OK;
    }
    s->histogram = mem_zalloc(sizeof(*s->histogram));
    if (s->histogram == NULL) {
        return ERR_NOMEM;
    }
    obs_histogram_init(s->histogram);
    return OK;
}

/* Add @s, and its family if that is new. Neither table can be full: each holds as many entries as
 * there may be series. */
static void metric_publish(struct obs_registry *r, struct obs_series *s, uint64_t key,
                           struct obs_family *family_new, uint64_t family_key)
{
    uint32_t count = atomic_load_explicit(&r->series_count, memory_order_relaxed);
    enum err rc = map_add(&r->lookup, key, s);

    CHECK(rc == OK);
    if (family_new != NULL) {
        rc = map_add(&r->families, family_key, family_new);
        CHECK(rc == OK);
    }
    r->series[count] = s;
    atomic_store_explicit(&r->series_count, count + 1, memory_order_release);
}

/* Put @s, which has its labels, under the family that looks like @want. */
static enum err metric_series_add(struct obs_registry *r, struct obs_series *s, uint64_t key,
                                  const struct obs_family *want)
{
    struct obs_family *family_new = NULL;
    uint64_t family_key;
    enum err rc;

    if (r->series_count >= r->series_limit) {
        return ERR_TOO_BIG;
    }
    s->family = metric_family_find(r, want->name, &family_key);
    if (s->family == NULL) {
        family_new = mem_zalloc(sizeof(*family_new));
        if (family_new == NULL) {
            return ERR_NOMEM;
        }
        *family_new = *want;
        s->family = family_new;
    }
    rc = metric_value_init(s);
    if (rc != OK) {
        mem_free(family_new);
        return rc;
    }
    metric_publish(r, s, key, family_new, family_key);
    return OK;
}

static enum err metric_create(struct obs_registry *r, const struct obs_desc *desc,
                              enum obs_kind kind, struct obs_series **series_out)
{
    const struct obs_family *family;
    struct obs_family want;
    struct obs_series *s, *found;
    uint64_t key;
    enum err rc = metric_desc_check(desc, kind);

    if (rc == OK) {
        rc = metric_family_init(&want, desc, kind);
    }
    if (rc != OK) {
        return rc;
    }
    family = metric_family_find(r, want.name, &key);
    if (family != NULL && !obs_family_equal(family, &want)) {
        return ERR_INVALID;
    }
    s = mem_zalloc(sizeof(*s));
    if (s == NULL) {
        return ERR_NOMEM;
    }
    rc = metric_series_label(s, desc);
    found = rc == OK ? metric_series_find(r, want.name, s, &key) : NULL;
    if (rc == OK && found == NULL) {
        rc = metric_series_add(r, s, key, &want);
        found = s;
    }
    if (rc != OK || found != s) {
        mem_free(s);
    }
    if (rc == OK) {
        *series_out = found;
    }
    return rc;
}

enum err obs_counter_create(struct obs_registry *registry, const struct obs_desc *desc,
                            struct obs_counter **counter_out)
{
    struct obs_series *s;
    enum err rc = metric_create(registry, desc, OBS_COUNTER, &s);

    if (rc == OK) {
        *counter_out = &s->counter;
    }
    return rc;
}

enum err obs_gauge_create(struct obs_registry *registry, const struct obs_desc *desc,
                          struct obs_gauge **gauge_out)
{
    struct obs_series *s;
    enum err rc = metric_create(registry, desc, OBS_GAUGE, &s);

    if (rc == OK) {
        *gauge_out = &s->gauge;
    }
    return rc;
}

enum err obs_histogram_create(struct obs_registry *registry, const struct obs_desc *desc,
                              struct obs_histogram **histogram_out)
{
    struct obs_series *s;
    enum err rc = metric_create(registry, desc, OBS_HISTOGRAM, &s);

    if (rc == OK) {
        *histogram_out = s->histogram;
    }
    return rc;
}
