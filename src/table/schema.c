#include "table/schema.h"

#include "base/limits.h"
#include "table/spec.h"

#include <string.h>

enum { SCHEMA_COMBINES = TABLE_SAMPLES + 1 };

#define SCHEMA_ROWS_MAX (UINT64_C(1) << 32) /* What a row number of 4 bytes can tell apart. */

static const char *const schema_combines[SCHEMA_COMBINES] = {"sum", "mean", "samples"};

const char *table_combine_name(enum table_combine combine)
{
    return schema_combines[combine];
}

static bool schema_name_valid(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
    size_t size = strlen(name);

    return size > 0 && size < TABLE_NAME_BYTES && strspn(name, letters) == size &&
           strchr("-_.", name[0]) == NULL;
}

static enum err schema_parse_shape(const struct table_schema_text *in, struct table_schema *s,
                                   struct err_text *text)
{
    uint64_t elements;

    if (in->name == NULL || !schema_name_valid(in->name)) {
        return err_text_set(
            text, ERR_INVALID,
            "table '%.50s': a name has 1 to %d lower-case letters, digits, '-', '_' "
            "and '.', and starts with a letter or digit",
            in->name == NULL ? "" : in->name, TABLE_NAME_BYTES - 1);
    }
    if (in->rows == 0 || in->width == 0) {
        return err_text_set(text, ERR_INVALID,
                            "table '%s': %llu rows of %u: both must be at least 1", in->name,
                            (unsigned long long)in->rows, (unsigned)in->width);
    }
    if (__builtin_mul_overflow(in->rows, in->width, &elements) || elements > TABLE_ELEMENTS_MAX) {
        return err_text_set(text, ERR_TOO_BIG,
                            "table '%s': %llu rows of %u are more than %llu elements, the largest "
                            "table: split it",
                            in->name, (unsigned long long)in->rows, (unsigned)in->width,
                            (unsigned long long)TABLE_ELEMENTS_MAX);
    }
    if (in->chunk > LIMIT_CHUNK_ELEMENTS) {
        return err_text_set(text, ERR_INVALID,
                            "table '%s': chunks of %u elements: they have 1 to %d, or leave it out",
                            in->name, in->chunk, LIMIT_CHUNK_ELEMENTS);
    }
    memcpy(s->name, in->name, strlen(in->name) + 1);
    s->chunk = in->chunk == LIMIT_CHUNK_ELEMENTS ? 0 : in->chunk;
    s->rows = in->rows;
    s->width = in->width;
    return OK;
}

static enum err schema_parse_combine(const struct table_schema_text *in, struct table_schema *s,
                                     struct err_text *text)
{
    uint32_t combine = TABLE_SUM;

    if (in->combine != NULL) {
        combine = table_spec_find(schema_combines, SCHEMA_COMBINES, in->combine);
    }
    if (combine == SCHEMA_COMBINES) {
        return err_text_set(text, ERR_INVALID,
                            "table '%s': combine '%.50s' is unknown; there are sum, mean and "
                            "samples",
                            in->name, in->combine);
    }
    s->combine = (enum table_combine)combine;
    return OK;
}

enum err table_schema_parse(const struct table_schema_text *in, struct table_schema *out,
                            struct err_text *text)
{
    struct err_text inner = {""};
    struct table_schema s = {0};
    enum err rc = schema_parse_shape(in, &s, text);

    if (rc == OK) {
        rc = schema_parse_combine(in, &s, text);
    }
    if (rc != OK) {
        return rc;
    }
    rc = table_init_parse(in->init == NULL ? "zeros" : in->init, &s.init, &inner);
    if (rc == OK) {
        rc = table_apply_parse(in->apply == NULL ? "add" : in->apply, &s.apply, &inner);
    }
    if (rc != OK) {
        return err_text_set(text, rc, "table '%s': %.450s", in->name, inner.text);
    }
    *out = s;
    return OK;
}

bool table_schema_equal(const struct table_schema *a, const struct table_schema *b)
{
    return strcmp(a->name, b->name) == 0 && a->rows == b->rows && a->width == b->width &&
           a->chunk == b->chunk && a->combine == b->combine &&
           table_init_equal(&a->init, &b->init) && table_apply_equal(&a->apply, &b->apply);
}

uint64_t table_elements(const struct table_schema *s)
{
    return s->rows * s->width;
}

static uint32_t schema_chunk_most(const struct table_schema *s)
{
    uint32_t most = s->chunk == 0 ? LIMIT_CHUNK_ELEMENTS : s->chunk;

    return s->width > most && s->width <= LIMIT_CHUNK_ELEMENTS ? s->width : most;
}

uint32_t table_chunk_elements(const struct table_schema *s)
{
    uint32_t most = schema_chunk_most(s);

    return s->width > most ? most : most / s->width * s->width;
}

uint32_t table_chunk_count(const struct table_schema *s)
{
    uint32_t each = table_chunk_elements(s);

    return (uint32_t)((table_elements(s) + each - 1) / each);
}

uint32_t table_chunk_size(const struct table_schema *s, uint32_t chunk)
{
    uint32_t each = table_chunk_elements(s);
    uint64_t left = table_elements(s) - (uint64_t)chunk * each;

    CHECK(chunk < table_chunk_count(s));
    return left < each ? (uint32_t)left : each;
}

bool table_has_rows(const struct table_schema *s)
{
    return s->width <= TABLE_WIDTH_MAX && s->rows <= SCHEMA_ROWS_MAX;
}

uint32_t table_rows_per_chunk(const struct table_schema *s)
{
    CHECK(table_has_rows(s));
    return schema_chunk_most(s) / s->width;
}

uint32_t table_row_chunk(const struct table_schema *s, uint32_t row)
{
    return row / table_rows_per_chunk(s);
}

static uint32_t schema_common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Tables of few chunks are common (the layers of a network), so where a table starts matters. A
 * step that has no divisor in common with the number of shards visits all of them before it comes
 * back; one of about 0.62 of their number keeps tables that follow each other apart. */
uint32_t table_chunk_shard(uint16_t table, uint32_t chunk, uint32_t shards)
{
    uint32_t step;

    CHECK(shards > 0);
    step = (uint32_t)((uint64_t)shards * 5 / 8);
    while (schema_common_divisor(shards, step) != 1) {
        step++;
    }
    return (uint32_t)(((uint64_t)table * step + chunk) % shards);
}
