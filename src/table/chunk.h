/* Where the floats of tables are: the chunks of some shards (a server's) or all of them (a worker's
 * copy). Chunks are numbered 0, 1, ... in the order in which their tables were added, ascending
 * within a table; this index changes only when a table before it is dropped, so other modules keep
 * what they know of a chunk in arrays of their own. Not thread-safe. */

#ifndef TABLE_CHUNK_H
#define TABLE_CHUNK_H

#include "table/schema.h"

enum { TABLE_PLANE_ALIGN = 64 }; /* Every chunk's planes start at a multiple of this many bytes. */

/* The index of a chunk that is not held. */
#define TABLE_STORE_NONE UINT32_MAX

struct table_store;

/* An empty store of the chunks that belong to the @held_count shards of @held, of @shards (1 to
 * TABLE_SHARDS_MAX). NULL: of all of them. ERR_INVALID if a shard does not exist or is named twice,
 * ERR_NOMEM. */
MUST_USE enum err table_store_create(uint32_t shards, const uint32_t *held, uint32_t held_count,
                                     struct table_store **store_out);

/* NULL is allowed. */
void table_store_destroy(struct table_store *s);

/* Add table @id (below TABLE_COUNT_MAX) with its initial values; the state starts at zero. @schema
 * is copied. A table of which no chunk is held is added too. ERR_EXISTS, ERR_TOO_BIG (the id),
 * ERR_NOMEM; then nothing changed. Pointers to other chunks stay as they are. */
MUST_USE enum err table_store_add_table(struct table_store *s, uint16_t id,
                                        const struct table_schema *schema);

/* Remove table @id, which must exist, and its memory. Chunks with larger indices move down: the
 * first index that was removed and how many are in the last two. */
void table_store_drop(struct table_store *s, uint16_t id, uint32_t *first_out, uint32_t *count_out);

/* NULL if there is no such table. Valid as long as the table. */
const struct table_schema *table_store_schema(const struct table_store *s, uint16_t id);

/* How many chunks are held: indices are below. */
uint32_t table_store_count(const struct table_store *s);

/* The index of a chunk, or TABLE_STORE_NONE if there is no such chunk or it is not held. In
 * constant time. The numbers may come from outside. */
uint32_t table_store_find(const struct table_store *s, uint16_t id, uint32_t chunk);

/* Of the chunk @index, which must be below the count. */
uint16_t table_store_table(const struct table_store *s, uint32_t index);
uint32_t table_store_chunk(const struct table_store *s, uint32_t index);
uint32_t table_store_elements(const struct table_store *s, uint32_t index);
float *table_store_values(const struct table_store *s, uint32_t index);
/* NULL if the table's applier keeps none. */
float *table_store_state(const struct table_store *s, uint32_t index);

/* All memory that the store has taken. */
uint64_t table_store_bytes(const struct table_store *s);

#endif
