/* What a table is: its name and shape, how it starts, how updates enter it. Fixed once created. */

#ifndef TABLE_SCHEMA_H
#define TABLE_SCHEMA_H

#include "table/apply.h"
#include "table/init.h"

enum {
    TABLE_NAME_BYTES = 32,   /* With its end. */
    TABLE_COUNT_MAX = 256,   /* Tables of a site. */
    TABLE_WIDTH_MAX = 65535, /* Of tables that are read and updated by row. */
    TABLE_SHARDS_MAX = 4096, /* Of a site. */
};

#define TABLE_ELEMENTS_MAX (UINT64_C(1) << 36)

/* How the updates of several workers become one. */
enum table_combine {
    TABLE_SUM,     /* Sum of updates. */
    TABLE_MEAN,    /* Divided by how many there are. */
    TABLE_SAMPLES, /* Weighted by the samples behind each: sum(w u) / sum(w). */
};

struct table_schema {
    char name[TABLE_NAME_BYTES]; /* Lower-case letters, digits, then also '-', '_', '.'. */
    uint64_t rows;
    uint32_t width;
    uint32_t chunk; /* Elements of a chunk at most; zero: LIMIT_CHUNK_ELEMENTS. */
    enum table_combine combine;
    struct table_init init;
    struct table_apply apply;
};

/* The texts of a schema as users write them. */
struct table_schema_text {
    const char *name;
    uint64_t rows;
    uint32_t width;
    const char *init;    /* NULL: "zeros". */
    const char *apply;   /* NULL: "add". */
    const char *combine; /* NULL: "sum". */
    uint32_t chunk;      /* Zero: as many as can be. */
};

/* ERR_INVALID with a text that says which part and what is allowed; ERR_TOO_BIG. */
MUST_USE enum err table_schema_parse(const struct table_schema_text *in, struct table_schema *out,
                                     struct err_text *text);

MUST_USE bool table_schema_equal(const struct table_schema *a, const struct table_schema *b);

const char *table_combine_name(enum table_combine combine);

/* Chunks: at most .chunk elements each, or one row if a row is longer than that, and whole rows if
 * a row fits into LIMIT_CHUNK_ELEMENTS, so that no row is ever in two chunks. All but the last are
 * equal. Smaller ones spread a small table over more lanes. */
uint32_t table_chunk_elements(const struct table_schema *s); /* Of all but the last. */
uint32_t table_chunk_count(const struct table_schema *s);
uint32_t table_chunk_size(const struct table_schema *s, uint32_t chunk); /* Elements of this one. */
uint64_t table_elements(const struct table_schema *s);

/* Rows can be addressed: a row fits into a chunk and into a rows frame, and there are at most 2^32
 * of them. The next two are for such tables only. */
bool table_has_rows(const struct table_schema *s);
uint32_t table_rows_per_chunk(const struct table_schema *s);
/* Where a row is. Of a row beyond the table: a chunk that may be the last or beyond. */
uint32_t table_row_chunk(const struct table_schema *s, uint32_t row);

/* Which of @shards (not zero) a chunk belongs to: (table * step + chunk) % shards, where step is
 * the first number from floor(5/8 shards) on that has no divisor but 1 in common with shards. The
 * same everywhere and for ever: it is part of the wire protocol. Chunks of a table go round the
 * shards, and @shards tables that follow each other all start on different ones. */
uint32_t table_chunk_shard(uint16_t table, uint32_t chunk, uint32_t shards);

#endif
