#include "app/option.h"

#include "app/scan.h"
#include "base/nearest.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

enum { OPTION_WORD_CHARS = 32 }; /* Of a key in a message. */

static const struct app_option *option_find(const struct app_config *c, const char *key)
{
    for (uint32_t i = 0; i < c->option_count; i++) {
        if (strcmp(c->options[i].key, key) == 0) {
            return &c->options[i];
        }
    }
    return NULL;
}

/* Say what is wrong with @o: "job mf, option rank (line 7): ". */
static enum err option_refuse(const struct app_config *c, const struct app_option *o,
                              const char *why, struct err_text *text)
{
    char where[32] = "";
    struct text line;

    if (o->line != 0) {
        text_init_fixed(&line, where, sizeof(where));
        text_addf(&line, " (line %u)", o->line);
    }
    return err_text_set(text, ERR_INVALID, "job %s, option %.*s%s: %s", c->job, OPTION_WORD_CHARS,
                        o->key, where, why);
}

enum err app_option_u32(const struct app_config *c, const char *key, uint32_t fallback,
                        uint32_t min, uint32_t max, uint32_t *out, struct err_text *text)
{
    const struct app_option *o = option_find(c, key);
    char why[160];
    struct text t;
    uint64_t value;

    CHECK(fallback >= min && fallback <= max);
    if (o == NULL) {
        *out = fallback;
        return OK;
    }
    if (!scan_text_u64(o->value, &value) || value < min || value > max) {
        text_init_fixed(&t, why, sizeof(why));
        text_addf(&t, "'%.32s' is not a whole number from %u to %u", o->value, min, max);
        return option_refuse(c, o, why, text);
    }
    *out = (uint32_t)value;
    return OK;
}

enum err app_option_double(const struct app_config *c, const char *key, double fallback, double min,
                           double max, double *out, struct err_text *text)
{
    const struct app_option *o = option_find(c, key);
    char why[160];
    struct text t;
    double value;

    CHECK(fallback >= min && fallback <= max);
    if (o == NULL) {
        *out = fallback;
        return OK;
    }
    if (!scan_text_double(o->value, &value) || value < min || value > max) {
        text_init_fixed(&t, why, sizeof(why));
        text_addf(&t, "'%.32s' is not a number from %g to %g", o->value, min, max);
        return option_refuse(c, o, why, text);
    }
    *out = value;
    return OK;
}

const char *app_option_text(const struct app_config *c, const char *key, const char *fallback)
{
    const struct app_option *o = option_find(c, key);

    return o == NULL ? fallback : o->value;
}

static enum err option_unknown(const struct app_config *c, const struct app_option *o,
                               const char *const *keys, struct err_text *text)
{
    char why[ERR_TEXT_BYTES];
    struct nearest near;
    struct text t;

    nearest_init(&near, o->key);
    for (uint32_t i = 0; keys[i] != NULL; i++) {
        nearest_offer(&near, keys[i]);
    }
    text_init_fixed(&t, why, sizeof(why));
    text_addf(&t, "it has no such option; %s", nearest_hint(&near, "there are"));
    return option_refuse(c, o, why, text);
}

enum err app_option_check(const struct app_config *c, const char *const *keys,
                          struct err_text *text)
{
    for (uint32_t i = 0; i < c->option_count; i++) {
        const struct app_option *o = &c->options[i];
        bool known = strcmp(o->key, "chunk") == 0;

        for (uint32_t k = 0; keys[k] != NULL && !known; k++) {
            known = strcmp(o->key, keys[k]) == 0;
        }
        if (!known) {
            return option_unknown(c, o, keys, text);
        }
        if (option_find(c, o->key) != o) {
            return option_refuse(c, o, "it was given before; leave one of them out", text);
        }
    }
    return OK;
}

const char *app_option_data(const struct app_config *c)
{
    return c->data == NULL || c->data[0] == '\0' ? NULL : c->data;
}

enum err app_option_generated(const struct app_config *c, const char *const *keys,
                              struct err_text *text)
{
    for (uint32_t i = 0; app_option_data(c) != NULL && keys[i] != NULL; i++) {
        const struct app_option *o = option_find(c, keys[i]);

        if (o != NULL) {
            return option_refuse(c, o, "it is for generated data; leave it or the file out", text);
        }
    }
    return OK;
}

void app_table_seed(struct app_table *table, uint64_t seed)
{
    size_t size = strlen(table->init);
    struct text t;

    text_init_fixed(&t, table->init + size, sizeof(table->init) - size);
    if (seed != 0) {
        text_addf(&t, " seed=%" PRIu64, seed);
    }
    CHECK(!t.failed);
}

void app_part(uint64_t count, uint32_t rank, uint32_t workers, uint64_t *first, uint64_t *end)
{
    uint64_t least = count / workers, more = count % workers;

    CHECK(rank < workers);
    *first = least * rank + (rank < more ? rank : more);
    *end = *first + least + (rank < more);
}
