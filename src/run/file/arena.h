/* Memory that is released all at once. A run file is a heap of small texts and lists, some of them
 * made by libcyaml; whatever happens while it is read, nothing of it stays behind. */

#ifndef RUN_FILE_ARENA_H
#define RUN_FILE_ARENA_H

#include "base/err.h"

struct run_arena;

MUST_USE enum err run_arena_create(struct run_arena **arena_out);

/* NULL is allowed. */
void run_arena_destroy(struct run_arena *a);

/* Zeroed bytes, or NULL. */
MUST_USE void *run_arena_alloc(struct run_arena *a, size_t count, size_t size);

/* A copy of @chars, or NULL. */
MUST_USE char *run_arena_strdup(struct run_arena *a, const char *chars);

/* As realloc(), with the arena first: what libcyaml calls for memory. Zero @size: release. */
void *run_arena_realloc(void *arena, void *p, size_t size);

#endif
