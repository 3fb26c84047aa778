/* Some rows of one chunk: sparse updates and reads.
 *
 * Row numbers count through the whole table, are 4 bytes each and may start anywhere: they are read
 * where a frame has them (wire/rows.h). @values and @sum are the chunk's elements. The table's
 * rows must be addressable: table_has_rows(). */

#ifndef TABLE_ROWS_H
#define TABLE_ROWS_H

#include "table/schema.h"

/* The @index-th row number of a list. */
uint32_t table_rows_get(const void *rows, uint32_t index);

/* A frame names rows of many chunks. How many of the list, from its first on, are in the chunk that
 * the first is in: 1 to @count. @count is not zero, the list ascends strictly. */
uint32_t table_rows_run(const struct table_schema *s, const void *rows, uint32_t count);

/* True if the list ascends strictly and all of it is in @chunk of the table: the others rely on
 * that, so whoever got the list from outside asks this first. */
MUST_USE bool table_rows_valid(const struct table_schema *s, uint32_t chunk, const void *rows,
                               uint32_t count);

/* For each row of the list: its elements in @sum += scale * those in @x, where the rows stand one
 * after the other. Product rounded, then added: the same bits everywhere. */
void table_rows_add(const struct table_schema *s, uint32_t chunk, const void *rows, uint32_t count,
                    float scale, const float *x, float *sum);

/* The same if all of @x and of the result is finite: true. Else nothing changed: false. */
MUST_USE bool table_rows_add_checked(const struct table_schema *s, uint32_t chunk, const void *rows,
                                     uint32_t count, float scale, const float *x, float *sum);

/* Copy the rows of the list from @values to @out, one after the other. */
void table_rows_gather(const struct table_schema *s, uint32_t chunk, const void *rows,
                       uint32_t count, const float *values, float *out);

#endif
