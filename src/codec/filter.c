#include "codec/filter.h"

#include "base/rounding.h"
#include "base/text.h"
#include "codec/loops.h"

#include <string.h>

enum { FILTER_TEXT_MAX = 256 }; /* Longer ones are nothing that people write. */

static const char *const filter_measures[CODEC_MEASURES] = {"relative", "absolute", "row-norm",
                                                            "product", "custom"};
static const char *const filter_grains[CODEC_GRAINS] = {"element", "row"};

const char *codec_measure_name(enum codec_measure measure)
{
    return filter_measures[measure];
}

const char *codec_grain_name(enum codec_grain grain)
{
    return filter_grains[grain];
}

/* Return where @name is in the first @count of @names, or @count. */
static uint32_t filter_find(const char *const *names, uint32_t count, const char *name)
{
    uint32_t i = 0;

    while (i < count && strcmp(names[i], name) != 0) {
        i++;
    }
    return i;
}

uint32_t codec_filter_find(const struct codec_filter *filter, const char *table)
{
    uint32_t i = 0;

    while (i < filter->tables_count && strcmp(filter->tables[i], table) != 0) {
        i++;
    }
    return i;
}

/* As tables are called. */
static bool filter_table_valid(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
    size_t size = strlen(name);

    return size > 0 && size < CODEC_TABLE_BYTES && strspn(name, letters) == size &&
           strchr("-_.", name[0]) == NULL;
}

/* As functions are called. */
static enum err filter_set_name(const char *in, const char *name, struct codec_filter *filter,
                                struct err_text *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t size = strlen(name);

    if (filter->name[0] != '\0' || size >= CODEC_TABLE_BYTES || strspn(name, letters) != size ||
        (name[0] >= '0' && name[0] <= '9')) {
        return err_text_set(text, ERR_INVALID,
                            "significance '%.100s': custom is followed by one name of 1 to %d "
                            "lower-case letters, digits and '_', which starts with no digit",
                            in, CODEC_TABLE_BYTES - 1);
    }
    memcpy(filter->name, name, size + 1);
    return OK;
}

static enum err filter_add_table(const char *in, const char *name, struct codec_filter *filter,
                                 struct err_text *text)
{
    if (filter->measure == CODEC_CUSTOM) {
        return filter_set_name(in, name, filter, text);
    }
    if (filter->measure != CODEC_PRODUCT) {
        return err_text_set(text, ERR_INVALID,
                            "significance '%.100s': '%.50s' does not belong there; only product is "
                            "followed by names of tables",
                            in, name);
    }
    if (!filter_table_valid(name)) {
        return err_text_set(text, ERR_INVALID,
                            "significance '%.100s': '%.50s' is no name of a table: it has 1 to %d "
                            "lower-case letters, digits, '-', '_' and '.', and starts with one of "
                            "the first two",
                            in, name, CODEC_TABLE_BYTES - 1);
    }
    if (codec_filter_find(filter, name) < filter->tables_count) {
        return err_text_set(text, ERR_INVALID, "significance '%.100s': table '%s' is there twice",
                            in, name);
    }
    if (filter->tables_count == CODEC_PRODUCT_MAX) {
        return err_text_set(text, ERR_INVALID,
                            "significance '%.100s': a product has %d to %d tables", in,
                            CODEC_PRODUCT_MIN, CODEC_PRODUCT_MAX);
    }
    memcpy(filter->tables[filter->tables_count++], name, strlen(name) + 1);
    return OK;
}

/* The first word, which is the measure. */
static enum err filter_set_measure(const char *in, const char *name, struct codec_filter *filter,
                                   struct err_text *text)
{
    uint32_t measure = filter_find(filter_measures, CODEC_MEASURES, name);

    if (measure == CODEC_MEASURES) {
        return err_text_set(text, ERR_INVALID,
                            "significance '%.100s': '%.50s' is unknown; there are relative, "
                            "absolute, row-norm, product TABLE TABLE and custom NAME",
                            in, name);
    }
    filter->measure = (enum codec_measure)measure;
    return OK;
}

static enum err filter_read_measure(const char *in, struct codec_filter *filter,
                                    struct err_text *text)
{
    char chars[FILTER_TEXT_MAX];
    uint32_t words = 0;
    char *rest = chars;
    char *word;
    enum err rc = OK;

    if (strlen(in) < sizeof(chars)) {
        memcpy(chars, in, strlen(in) + 1);
        while (rc == OK && (word = strsep(&rest, " ")) != NULL) {
            if (*word != '\0') {
                rc = words++ == 0 ? filter_set_measure(in, word, filter, text)
                                  : filter_add_table(in, word, filter, text);
            }
        }
    }
    if (rc == OK && words == 0) {
        return err_text_set(text, ERR_INVALID,
                            "significance '%.100s': write relative, absolute, row-norm, product "
                            "TABLE TABLE or custom NAME",
                            in);
    }
    if (rc == OK && filter->measure == CODEC_PRODUCT && filter->tables_count < CODEC_PRODUCT_MIN) {
        return err_text_set(text, ERR_INVALID,
                            "significance '%.100s': a product has %d to %d tables", in,
                            CODEC_PRODUCT_MIN, CODEC_PRODUCT_MAX);
    }
    if (rc == OK && filter->measure == CODEC_CUSTOM && filter->name[0] == '\0') {
        return err_text_set(text, ERR_INVALID,
                            "significance '%.100s': write the name of your function behind it", in);
    }
    return rc;
}

static enum err filter_read_grain(const char *in, struct codec_filter *filter,
                                  struct err_text *text)
{
    bool norm = filter->measure == CODEC_ROW_NORM;
    uint32_t grain = norm ? CODEC_ROW : CODEC_ELEMENT;

    if (in != NULL) {
        grain = filter_find(filter_grains, CODEC_GRAINS, in);
    }
    if (grain == CODEC_GRAINS) {
        return err_text_set(text, ERR_INVALID,
                            "granularity '%.100s' is unknown; there are element and row", in);
    }
    if (norm && grain != CODEC_ROW) {
        return err_text_set(text, ERR_INVALID,
                            "granularity '%.100s': row-norm judges whole rows; write row, or leave "
                            "it out",
                            in);
    }
    filter->grain = (enum codec_grain)grain;
    return OK;
}

enum err codec_filter_parse(const char *measure, const char *grain, struct codec_filter *out,
                            struct err_text *text)
{
    struct codec_filter filter = {.measure = CODEC_RELATIVE};
    enum err rc = measure == NULL ? OK : filter_read_measure(measure, &filter, text);

    if (rc == OK) {
        rc = filter_read_grain(grain, &filter, text);
    }
    if (rc == OK) {
        *out = filter;
    }
    return rc;
}

void codec_filter_print(const struct codec_filter *filter, char *out, size_t size)
{
    struct text t;

    text_init_fixed(&t, out, size);
    text_add(&t, filter_measures[filter->measure]);
    for (uint32_t i = 0; i < filter->tables_count; i++) {
        text_addf(&t, " %s", filter->tables[i]);
    }
    text_addf(&t, "%s%s", filter->name[0] == '\0' ? "" : " ", filter->name);
    CHECK(!t.failed);
}

bool codec_filter_equal(const struct codec_filter *a, const struct codec_filter *b)
{
    bool same = a->measure == b->measure && a->grain == b->grain && a->custom == b->custom &&
                a->user == b->user && a->tables_count == b->tables_count &&
                strcmp(a->name, b->name) == 0;

    for (uint32_t i = 0; same && i < a->tables_count; i++) {
        same = strcmp(a->tables[i], b->tables[i]) == 0;
    }
    return same;
}

enum err codec_threshold_check(const char *what, double v, struct err_text *text)
{
    if (v >= 0 && v <= (double)CODEC_THRESHOLD_MAX) {
        return OK;
    }
    return err_text_set(text, ERR_INVALID, "%s is %g, but must be a number from 0 to %.0f", what, v,
                        (double)CODEC_THRESHOLD_MAX);
}

float codec_threshold(float v, uint64_t clock)
{
    unsigned mode = rounding_enter();
    float now = codec_decay(v, clock);

    rounding_leave(mode);
    return now;
}
